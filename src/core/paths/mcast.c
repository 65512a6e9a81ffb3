/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "core/paths/mcast.h"

#include <string.h>

/* Breadth first from every center. */
static void grow_trees(const struct osr_spf *spf, uint8_t *seen, uint32_t *queue, uint32_t *parent)
{
	const struct osr_fabric *fabric = spf->f;
	uint32_t head = 0, tail = 0;

	memset(parent, 0xff, fabric->n_switches * sizeof(*parent));
	for (uint32_t k = 0; k < fabric->n_components; k++) {
		seen[spf->center[k]] = 1;
		queue[tail++] = spf->center[k];
		while (head < tail) {
			uint32_t v = queue[head++];

			for (uint32_t c = fabric->chan_row[v]; c < fabric->chan_row[v + 1]; c++) {
				uint32_t u = fabric->chan_dst[c];

				if (seen[u])
					continue;
				seen[u] = 1;
				parent[u] = fabric->chan_rev[c];
				queue[tail++] = u;
			}
		}
	}
}

/* Keeps what lies between an end port and the root; `keep` comes in zeroed. */
static void prune(const struct osr_fabric *fabric, uint8_t *keep, uint32_t *parent)
{
	for (uint32_t v = 0; v < fabric->n_switches; v++) {
		uint32_t u = v;

		while (fabric->sw_sources[v] && !keep[u]) {
			keep[u] = 1;
			u = parent[u] == OSR_NONE ? u : fabric->chan_dst[parent[u]];
		}
	}
	for (uint32_t v = 0; v < fabric->n_switches; v++)
		if (!keep[v])
			parent[v] = OSR_NONE;
}

static enum osr_status paths_mcast_make_tree(const struct osr_spf *spf, bool pruned,
					     struct osr_arena *scratch, uint32_t *parent,
					     struct osr_diag *diag)
{
	const struct osr_fabric *fabric = spf->f;
	struct osr_arena_mark mark = osr_arena_mark(scratch);
	uint32_t *queue = osr_alloc(scratch, fabric->n_switches, sizeof(*queue));
	uint8_t *seen = osr_calloc(scratch, fabric->n_switches, 1);
	uint8_t *keep = osr_calloc(scratch, fabric->n_switches, 1);

	if (!parent || !queue || !seen || !keep)
		return osr_fail(diag, OSR_NOMEM, "out of memory for the multicast spanning order");
	grow_trees(spf, seen, queue, parent);
	if (pruned)
		prune(fabric, keep, parent);
	osr_arena_reset(scratch, mark);
	return OSR_OK;
}

enum osr_status osr_mcast_order(const struct osr_spf *spf, struct osr_arena *scratch,
				struct osr_arena *result, struct osr_routing *routing,
				struct osr_diag *diag)
{
	routing->mcast_parent =
		osr_alloc(result, spf->f->n_switches, sizeof(*routing->mcast_parent));
	return paths_mcast_make_tree(spf, true, scratch, routing->mcast_parent, diag);
}

enum osr_status osr_mcast_tree(const struct osr_spf *spf, struct osr_arena *scratch,
			       uint32_t *parent, struct osr_diag *diag)
{
	return paths_mcast_make_tree(spf, false, scratch, parent, diag);
}

enum osr_status osr_mcast_take(const struct osr_fabric *fabric, const uint32_t *tree,
			       struct osr_arena *scratch, uint32_t *parent, struct osr_diag *diag)
{
	struct osr_arena_mark mark = osr_arena_mark(scratch);
	uint8_t *keep = osr_calloc(scratch, fabric->n_switches, 1);

	if (!keep)
		return osr_fail(diag, OSR_NOMEM, "out of memory for the multicast spanning order");
	memcpy(parent, tree, fabric->n_switches * sizeof(*parent));
	prune(fabric, keep, parent);
	osr_arena_reset(scratch, mark);
	return OSR_OK;
}

/* A packet that came in over `in` leaves over `out`: unless that sends it back. */
static void paths_mcast_depend(struct osr_cdg *cdg, uint32_t in, uint32_t out)
{
	const struct osr_fabric *fabric = cdg->f;

	if (out != fabric->chan_rev[in])
		cdg->weight[osr_cdg_slot(
			cdg, in, (uint8_t)(out - fabric->chan_row[fabric->chan_src[out]]))] =
			UINT32_MAX;
}

void osr_mcast_depend(const uint32_t *parent, struct osr_cdg *cdg)
{
	const struct osr_fabric *fabric = cdg->f;

	for (uint32_t v = 0; v < fabric->n_switches; v++) {
		uint32_t up = parent[v];

		/* out runs over the tree's channels that leave v, in over those that enter it. */
		for (uint32_t out = fabric->chan_row[v]; out < fabric->chan_row[v + 1]; out++) {
			bool down = parent[fabric->chan_dst[out]] == fabric->chan_rev[out];

			if (out != up && !down)
				continue;
			if (up != OSR_NONE)
				paths_mcast_depend(cdg, fabric->chan_rev[up], out);
			for (uint32_t c = fabric->chan_row[v]; c < fabric->chan_row[v + 1]; c++)
				if (parent[fabric->chan_dst[c]] == fabric->chan_rev[c])
					paths_mcast_depend(cdg, fabric->chan_rev[c], out);
		}
	}
}

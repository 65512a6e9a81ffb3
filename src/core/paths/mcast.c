/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include <osmroutes/mcast.h>

#include <string.h>

/* Breadth first from every center. */
static void grow_trees(const struct osr_spf *s, uint8_t *seen, uint32_t *queue, uint32_t *parent)
{
	const struct osr_fabric *f = s->f;
	uint32_t head = 0, tail = 0;

	memset(parent, 0xff, f->n_switches * sizeof(*parent));
	for (uint32_t k = 0; k < f->n_components; k++) {
		seen[s->center[k]] = 1;
		queue[tail++] = s->center[k];
		while (head < tail) {
			uint32_t v = queue[head++];

			for (uint32_t c = f->chan_row[v]; c < f->chan_row[v + 1]; c++) {
				uint32_t u = f->chan_dst[c];

				if (seen[u])
					continue;
				seen[u] = 1;
				parent[u] = f->chan_rev[c];
				queue[tail++] = u;
			}
		}
	}
}

/* Keeps what lies between an end port and the root; `keep` comes in zeroed. */
static void prune(const struct osr_fabric *f, uint8_t *keep, uint32_t *parent)
{
	for (uint32_t v = 0; v < f->n_switches; v++) {
		uint32_t u = v;

		while (f->sw_sources[v] && !keep[u]) {
			keep[u] = 1;
			u = parent[u] == OSR_NONE ? u : f->chan_dst[parent[u]];
		}
	}
	for (uint32_t v = 0; v < f->n_switches; v++)
		if (!keep[v])
			parent[v] = OSR_NONE;
}

static enum osr_status make_tree(const struct osr_spf *s, bool pruned, struct osr_arena *scratch,
				 uint32_t *parent, struct osr_diag *diag)
{
	const struct osr_fabric *f = s->f;
	struct osr_arena_mark mark = osr_arena_mark(scratch);
	uint32_t *queue = osr_alloc(scratch, f->n_switches, sizeof(*queue));
	uint8_t *seen = osr_calloc(scratch, f->n_switches, 1);
	uint8_t *keep = osr_calloc(scratch, f->n_switches, 1);

	if (!parent || !queue || !seen || !keep)
		return osr_fail(diag, OSR_NOMEM, "out of memory for the multicast spanning order");
	if (s->product)
		osr_product_tree(s->product, s->plan, 0, parent);
	else
		grow_trees(s, seen, queue, parent);
	if (pruned)
		prune(f, keep, parent);
	osr_arena_reset(scratch, mark);
	return OSR_OK;
}

enum osr_status osr_mcast_order(const struct osr_spf *s, struct osr_arena *scratch,
				struct osr_arena *result, struct osr_routing *r,
				struct osr_diag *diag)
{
	r->mcast_parent = osr_alloc(result, s->f->n_switches, sizeof(*r->mcast_parent));
	return make_tree(s, true, scratch, r->mcast_parent, diag);
}

enum osr_status osr_mcast_tree(const struct osr_spf *s, struct osr_arena *scratch, uint32_t *parent,
			       struct osr_diag *diag)
{
	return make_tree(s, false, scratch, parent, diag);
}

enum osr_status osr_mcast_take(const struct osr_fabric *f, const uint32_t *tree,
			       struct osr_arena *scratch, uint32_t *parent, struct osr_diag *diag)
{
	struct osr_arena_mark mark = osr_arena_mark(scratch);
	uint8_t *keep = osr_calloc(scratch, f->n_switches, 1);

	if (!keep)
		return osr_fail(diag, OSR_NOMEM, "out of memory for the multicast spanning order");
	memcpy(parent, tree, f->n_switches * sizeof(*parent));
	prune(f, keep, parent);
	osr_arena_reset(scratch, mark);
	return OSR_OK;
}

/* A packet that came in over `in` leaves over `out`: unless that sends it back. */
static void depend(struct osr_cdg *g, uint32_t in, uint32_t out)
{
	const struct osr_fabric *f = g->f;

	if (out != f->chan_rev[in])
		g->weight[osr_cdg_slot(g, in, (uint8_t)(out - f->chan_row[f->chan_src[out]]))] =
			UINT32_MAX;
}

void osr_mcast_depend(const uint32_t *parent, struct osr_cdg *g)
{
	const struct osr_fabric *f = g->f;

	for (uint32_t v = 0; v < f->n_switches; v++) {
		uint32_t up = parent[v];

		/* out runs over the tree's channels that leave v, in over those that enter it. */
		for (uint32_t out = f->chan_row[v]; out < f->chan_row[v + 1]; out++) {
			bool down = parent[f->chan_dst[out]] == f->chan_rev[out];

			if (out != up && !down)
				continue;
			if (up != OSR_NONE)
				depend(g, f->chan_rev[up], out);
			for (uint32_t c = f->chan_row[v]; c < f->chan_row[v + 1]; c++)
				if (parent[f->chan_dst[c]] == f->chan_rev[c])
					depend(g, f->chan_rev[c], out);
		}
	}
}

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Shortest paths within an order of the switches: up first, then down. See spf.h.
 *
 * A switch with a shortest path that only goes down takes no other; the rest go up to a switch that
 * has a path. Then whatever next hops are chosen, no route turns from down to up.
 */
#include <string.h>

#include "spf_private.h"

enum { PATH_NONE, PATH_DOWN, PATH_UP };

/* May a shortest path of this kind go on from v to the closer neighbour u? */
static inline bool order_allows(const struct osr_spf *spf, const uint8_t *kind, uint32_t v,
				uint32_t u, uint8_t as)
{
	bool up = spf->place[u] < spf->place[v];

	return as == PATH_DOWN ? !up && kind[u] == PATH_DOWN : up && kind[u] != PATH_NONE;
}

static uint8_t order_kind(const struct osr_spf *spf, const uint8_t *dist8, const uint8_t *kind,
			  uint32_t v)
{
	const struct osr_fabric *fabric = spf->f;
	uint8_t best = PATH_NONE;

	for (uint32_t c = fabric->chan_row[v]; c < fabric->chan_row[v + 1]; c++) {
		uint32_t u = fabric->chan_dst[c];

		if (dist8[u] != (uint8_t)(dist8[v] - 1))
			continue;
		if (order_allows(spf, kind, v, u, PATH_DOWN))
			return PATH_DOWN;
		if (order_allows(spf, kind, v, u, PATH_UP))
			best = PATH_UP;
	}
	return best;
}

uint32_t osr__spf_graph_in_order(struct osr_spf *spf, uint32_t root)
{
	const struct osr_fabric *fabric = spf->f;
	struct osr_spf_scratch *scratch = spf->scratch;
	const uint16_t *order = spf->order + (size_t)root * fabric->n_switches;
	const uint8_t *dist8 = scratch->dist8 + (size_t)root * fabric->n_switches;
	uint8_t *kind = scratch->kind;
	uint32_t n = 0, n_barred = 0;

	kind[root] = PATH_DOWN;
	for (uint32_t i = 1; i < spf->n_order[root]; i++) {
		uint32_t v = order[i];

		scratch->edge_row[i] = n;
		kind[v] = order_kind(spf, dist8, kind, v);
		n_barred += kind[v] == PATH_NONE && fabric->sw_sources[v];
		for (uint32_t c = fabric->chan_row[v]; c < fabric->chan_row[v + 1]; c++) {
			uint32_t u = fabric->chan_dst[c];

			if (dist8[u] != (uint8_t)(dist8[v] - 1) ||
			    (kind[v] != PATH_NONE && !order_allows(spf, kind, v, u, kind[v])))
				continue;
			scratch->edge_chan[n] = c;
			scratch->edge_next[n++] = u;
		}
	}
	scratch->edge_row[spf->n_order[root]] = n;
	return n_barred;
}

/* All routes made so far. */
static void order_forget(struct osr_spf *spf)
{
	spf->n_rounds = 0;
	spf->scratch->dealt = spf->scratch->singly = false;
	for (uint32_t c = 0; c < spf->f->n_channels; c++)
		spf->weight[c] &= HOP_MASK;
}

enum osr_status osr_spf_keep_order(struct osr_spf *spf, struct osr_arena *arena, uint64_t *n_barred,
				   struct osr_diag *diag)
{
	enum osr_status st;

	*n_barred = 0;
	for (uint32_t root = 0; root < spf->f->n_switches; root++)
		if (spf->f->sw_sources[root])
			*n_barred += osr__spf_graph_in_order(spf, root);
	if (*n_barred)
		return OSR_OK;
	st = osr__spf_branches_init(spf, arena, diag);
	if (st)
		return st;
	order_forget(spf);
	return OSR_OK;
}

void osr_spf_leave_order(struct osr_spf *spf)
{
	spf->place = spf->by_place = NULL;
	order_forget(spf);
	osr_spf_first(spf);
}

/* ---- longer paths for those without a shortest one -------------------------------------------- */

/*
 * hop[] and len[] of the switches towards root: the shortest paths down of those that have none,
 * breadth first from those that go down anyhow.
 */
static void order_extend_down(struct osr_spf *spf, uint32_t root, uint8_t *hop)
{
	const struct osr_fabric *fabric = spf->f;
	struct osr_spf_scratch *scratch = spf->scratch;
	const uint16_t *order = spf->order + (size_t)root * fabric->n_switches;
	const uint8_t *dist8 = scratch->dist8 + (size_t)root * fabric->n_switches;
	uint32_t *len = scratch->count, *queue = scratch->active, n = 0;

	for (uint32_t i = 0; i < spf->n_order[root]; i++) {
		len[order[i]] = dist8[order[i]];
		if (scratch->kind[order[i]] == PATH_DOWN)
			queue[n++] = order[i];
	}
	/* Not strictly by length where a longer path meets shorter ones; legal it is. */
	for (uint32_t i = 0; i < n; i++) {
		uint32_t u = queue[i];

		for (uint32_t c = fabric->chan_row[u]; c < fabric->chan_row[u + 1]; c++) {
			uint32_t v = fabric->chan_dst[c];

			if (scratch->kind[v] != PATH_NONE || spf->place[v] > spf->place[u])
				continue;
			scratch->kind[v] = PATH_DOWN;
			len[v] = len[u] + 1;
			hop[v] = (uint8_t)(fabric->chan_rev[c] - fabric->chan_row[v]);
			queue[n++] = v;
		}
	}
}

/* All others go up, to the neighbour with the shortest path; from the top of the order down. */
static bool order_extend_up(struct osr_spf *spf, uint32_t root, uint8_t *hop)
{
	const struct osr_fabric *fabric = spf->f;
	struct osr_spf_scratch *scratch = spf->scratch;
	uint32_t *len = scratch->count;
	bool all = true;

	for (uint32_t i = 0; i < fabric->n_switches; i++) {
		uint32_t v = spf->by_place[i], best = OSR_NONE;

		if (scratch->kind[v] != PATH_NONE ||
		    fabric->sw_component[v] != fabric->sw_component[root])
			continue;
		for (uint32_t c = fabric->chan_row[v]; c < fabric->chan_row[v + 1]; c++) {
			uint32_t u = fabric->chan_dst[c];

			if (spf->place[u] < spf->place[v] && scratch->kind[u] != PATH_NONE &&
			    (best == OSR_NONE || len[u] < len[fabric->chan_dst[best]]))
				best = c;
		}
		all &= best != OSR_NONE;
		if (best == OSR_NONE)
			continue;
		scratch->kind[v] = PATH_UP;
		len[v] = len[fabric->chan_dst[best]] + 1;
		hop[v] = (uint8_t)(best - fabric->chan_row[v]);
	}
	return all;
}

/*
 * Marks in `on` the switches whose routes to root are asked for and have no shortest path in the order,
 * and those that their longer paths pass. Nothing is sent from one switch's port 0 to another's:
 * such routes keep their shortest path.
 */
static uint32_t order_mark_asked(struct osr_spf *spf, uint32_t root, uint8_t *on)
{
	const struct osr_fabric *fabric = spf->f;
	uint32_t n = 0;

	memset(on, 0, fabric->n_switches);
	for (uint32_t v = 0; v < fabric->n_switches; v++)
		n += on[v] = fabric->sw_component[v] == fabric->sw_component[root] &&
			     spf->scratch->kind[v] == PATH_NONE &&
			     (fabric->sw_sources[root] || fabric->sw_sources[v]);
	return n;
}

static void order_mark_passed(struct osr_spf *spf, const uint8_t *was, const uint8_t *hop,
			      uint8_t *on)
{
	const struct osr_fabric *fabric = spf->f;

	for (uint32_t s = 0; s < fabric->n_switches; s++) {
		uint32_t v = s;

		while (on[s] && was[v] == PATH_NONE) {
			v = fabric->chan_dst[fabric->chan_row[v] + hop[v]];
			if (was[v] != PATH_NONE || on[v])
				break;
			on[v] = 1;
		}
	}
}

/* Gives the marked switches their longer path to d; returns how many routes to d are longer then. */
static uint32_t order_apply(struct osr_spf *spf, uint32_t root, uint32_t d, const uint8_t *hop,
			    const uint8_t *on)
{
	const struct osr_fabric *fabric = spf->f;
	const uint16_t *order = spf->order + (size_t)root * fabric->n_switches;
	uint8_t *to = spf->hop + (size_t)d * fabric->n_switches, *longer = spf->scratch->via;
	uint32_t n = 0;

	longer[root] = 0;
	for (uint32_t i = 1; i < spf->n_order[root]; i++) {
		uint32_t v = order[i];

		if (on[v])
			to[v] = hop[v];
		longer[v] = on[v] || longer[fabric->chan_dst[fabric->chan_row[v] + to[v]]];
		n += longer[v];
	}
	return n;
}

bool osr_spf_complete_order(struct osr_spf *spf, uint32_t *n_longer)
{
	const struct osr_fabric *fabric = spf->f;
	size_t n_switches = fabric->n_switches;
	uint8_t *hop = spf->scratch->saved, *on = hop + n_switches, *was = on + n_switches;
	bool all = true;

	for (uint32_t root = 0; root < n_switches; root++) {
		osr__spf_graph_in_order(spf, root);
		if (!order_mark_asked(spf, root, on))
			continue;
		memcpy(was, spf->scratch->kind, n_switches);
		order_extend_down(spf, root, hop);
		all &= order_extend_up(spf, root, hop);
		if (!all)
			break;
		order_mark_passed(spf, was, hop, on);
		for (uint32_t k = spf->dest_row[root]; k < spf->dest_row[root + 1]; k++)
			*n_longer += order_apply(spf, root, spf->dest_list[k], hop, on);
	}
	return all;
}

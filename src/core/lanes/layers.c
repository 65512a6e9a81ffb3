/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * See lanes.h. A layering is one byte for each route (dest, source switch): the layer in which it travels.
 *
 * Sweeps go over a destination's tree in settling order: from the far end towards the destination to count what
 * passes an edge, from the destination outwards to hand down that a route is cut.
 */
#include <string.h>

#include "core/paths/mcast.h"

#include "lanes_private.h"

/* ---- one layer ------------------------------------------------------------------------------- */

/*
 * Every dependency of counted routes with weight 1. Of end ports, to which every switch sends, switch by switch, not tree
 * by tree: the weights of a switch lie together. sends[n_switches] is overwritten.
 */
static void layers_mark(const struct osr_spf *spf, const struct osr_cdg *g, uint32_t *sends)
{
	const struct osr_fabric *fabric = spf->f;
	size_t n = fabric->n_switches;

	memset(g->weight, 0, g->n_slots * sizeof(*g->weight));
	for (uint32_t root = 0; root < n; root++) {
		const uint32_t *dest = spf->dest_list + spf->dest_row[root];
		uint32_t n_dests = spf->dest_row[root + 1] - spf->dest_row[root], slot;

		/* Port 0 comes last. Only switches with end ports send to it, and those that they send through. */
		for (; n_dests && osr__is_sp0(fabric, dest[n_dests - 1]); n_dests--) {
			const uint8_t *hop = spf->hop + dest[n_dests - 1] * n;

			memcpy(sends, fabric->sw_sources, n * sizeof(*sends));
			for (uint32_t i = spf->n_order[root];
			     spf->alias[dest[n_dests - 1]] == OSR_NONE && i-- > 1;) {
				uint32_t v = spf->order[root * n + i];

				slot = osr__dependency(g, hop, root, v);
				if (slot == OSR_NONE || !sends[v])
					continue;
				g->weight[slot] = 1;
				sends[osr__next_switch(fabric, hop, v)] = 1;
			}
		}
		for (uint32_t v = 0; v < n; v++)
			for (uint32_t k = 0; k < n_dests; k++) {
				const uint8_t *hop = spf->hop + dest[k] * n;

				slot = hop[v] == OSR_NO_PATH ? OSR_NONE
							     : osr__dependency(g, hop, root, v);
				if (slot != OSR_NONE)
					g->weight[slot] = 1;
			}
	}
}

enum osr_status osr_layers_single(struct osr_lanes_job *job, bool *fits)
{
	const struct osr_spf *spf = job->s;
	struct osr_routing *routing = job->r;
	struct osr_arena_mark mark = osr_arena_mark(job->scratch), before;
	bool multicast = job->req->multicast;
	uint32_t *sends = osr_alloc(job->scratch, spf->f->n_switches, sizeof(*sends)), *rank;
	struct osr_cdg g;
	enum osr_status st = osr_cdg_init(&g, spf->f, job->scratch, job->diag);

	*fits = false;
	routing->n_vls = 1;
	if (!st && multicast)
		st = osr_mcast_order(spf, job->scratch, job->result, routing, job->diag);
	if (st)
		return st;
	before = osr_arena_mark(job->result);
	rank = osr_alloc(job->result, spf->f->n_channels, sizeof(*rank));
	if (!sends || osr_arena_failed(job->result, job->diag))
		return osr_fail(job->diag, OSR_NOMEM, "out of memory for one lane");
	layers_mark(spf, &g, sends);
	if (multicast)
		osr_mcast_depend(routing->mcast_parent, &g);
	*fits = osr_cdg_sort(&g, job->scratch, rank);
	if (osr_arena_failed(job->scratch, job->diag))
		return OSR_NOMEM;
	if (*fits) {
		/* One graph without a cycle for everything, on every VL: any packet may use any SL. */
		routing->rank = rank;
		routing->n_layers = routing->n_layers_one_way = 1;
		routing->mcast_vl = multicast ? 0 : routing->mcast_vl;
		routing->claims |= OSR_CLAIM_DEADLOCK_FREE | OSR_CLAIM_REVERSIBLE |
				   OSR_CLAIM_ANY_SL | (multicast ? OSR_CLAIM_MULTICAST : 0);
	} else {
		osr_arena_reset(job->result, before);
	}
	osr_arena_reset(job->scratch, mark);
	return OSR_OK;
}

/* ---- layer by layer -------------------------------------------------------------------------- */

/* Adds up what each edge carries in this layer. */
static void layers_weigh(struct layering *w, uint8_t layer)
{
	const struct osr_fabric *fabric = w->f;
	uint32_t n = fabric->n_switches, *count = w->count;

	memset(w->g.weight, 0, w->g.n_slots * sizeof(*w->g.weight));
	for (uint32_t d = 0; d < fabric->n_dests; d++) {
		const uint8_t *hop = w->s->hop + (size_t)d * n, *row = w->layer + (size_t)d * n;
		uint32_t root = fabric->dest_switch[d];
		const uint16_t *order = w->s->order + (size_t)root * n;

		if (!w->left[d])
			continue;
		for (uint32_t v = 0; v < n; v++)
			count[v] = row[v] == layer;
		for (uint32_t v = 0; osr__is_sp0(fabric, d) && v < n; v++)
			count[v] &= fabric->sw_sources[v] != 0;
		for (uint32_t i = w->s->n_order[root]; i-- > 1;) {
			uint32_t v = order[i], slot;

			if (!count[v] || (slot = osr__dependency(&w->g, hop, root, v)) == OSR_NONE)
				continue;
			w->g.weight[slot] += count[v];
			count[osr__next_switch(fabric, hop, v)] += count[v];
		}
	}
	if (layer == 0 && w->job->req->multicast)
		osr_mcast_depend(w->job->r->mcast_parent, &w->g);
}

/* Routes of this layer with an edge that is backward in its order move to the next one; false: nothing is there. */
static bool layers_cut(struct layering *w, uint8_t layer)
{
	const struct osr_fabric *fabric = w->f;
	const uint32_t *rank = w->rank + (size_t)layer * fabric->n_channels;
	uint32_t n = fabric->n_switches, *onward = w->count;
	bool any = false;

	for (uint32_t d = 0; d < fabric->n_dests; d++) {
		const uint8_t *hop = w->s->hop + (size_t)d * n;
		uint8_t *row = w->layer + (size_t)d * n, *cut = w->cut;
		uint32_t root = fabric->dest_switch[d];
		const uint16_t *order = w->s->order + (size_t)root * n;
		bool ends = !w->left[d];

		w->left[d] = 0;
		cut[root] = 0;
		onward[root] = UINT32_MAX; /* the rank of the channel by which a switch sends on */
		for (uint32_t i = 1; !ends && i < w->s->n_order[root]; i++) {
			uint32_t v = order[i], c = fabric->chan_row[v] + hop[v],
				 u = fabric->chan_dst[c];

			onward[v] = rank[c];
			cut[v] = cut[u] | (onward[u] < rank[c]);
			row[v] += cut[v] && row[v] == layer && osr__is_counted(fabric, d, v);
			w->left[d] |= row[v] > layer;
		}
		any |= w->left[d];
	}
	return any;
}

/*
 * Where the layer is free of cycles its topological order is the certificate. By the paper's ways it is then, and
 * routes have moved on already.
 */
static enum osr_status layers_next(struct layering *w, uint8_t layer, bool *done)
{
	struct osr_arena *scratch = w->job->scratch;
	uint32_t *rank = w->rank + (size_t)layer * w->f->n_channels;
	enum osr_status st = OSR_OK;

	layers_weigh(w, layer);
	if (w->heuristic != OSR_HEURISTIC_ORDER)
		st = osr__break_cycles(w, layer);
	if (!st && !osr_cdg_sort(&w->g, scratch, rank))
		st = osr_arena_failed(scratch, w->job->diag)
			     ? OSR_NOMEM
			     : osr_cdg_order(&w->g, w->s->center, scratch, rank, w->job->diag);
	*done = !st && !layers_cut(w, layer);
	return st;
}

enum osr_status osr__layers_assign(const struct osr_lanes_job *job, enum osr_heuristic heuristic,
				   bool pairs, uint32_t *orders, uint32_t *n_layers)
{
	const struct osr_spf *spf = job->s;
	const struct osr_fabric *fabric = spf->f;
	size_t n = fabric->n_switches;
	struct osr_arena *scratch = job->scratch;
	struct osr_arena_mark mark = osr_arena_mark(scratch);
	struct layering w = { .job = job,
			      .s = spf,
			      .f = fabric,
			      .heuristic = heuristic,
			      .limit = job->req->max_vls,
			      .layer = job->r->sl,
			      .rank = orders,
			      .left = osr_alloc(scratch, fabric->n_dests, 1),
			      .count = osr_alloc(scratch, n, sizeof(*w.count)),
			      .cut = osr_alloc(scratch, n, 1) };
	bool done = false;
	enum osr_status st = osr_cdg_init(&w.g, fabric, scratch, job->diag);

	if (st || osr_arena_failed(scratch, job->diag))
		return OSR_NOMEM;
	if (!pairs)
		memset(w.layer, 0, fabric->n_dests * n);
	for (uint32_t d = 0; d < fabric->n_dests; d++)
		w.left[d] = spf->alias[d] == OSR_NONE;
	if (heuristic == OSR_HEURISTIC_ONLINE) {
		st = osr__add_online(&w, pairs);
		done = true;
	}
	for (; !st && !done && w.n_layers < w.limit; w.n_layers++)
		st = layers_next(&w, (uint8_t)w.n_layers, &done);
	*n_layers = w.n_layers;
	osr_arena_reset(scratch, mark);
	return st || done ? st : OSR_NO_VL;
}

enum osr_status osr__layers_finish(const struct osr_lanes_job *job, const uint32_t *orders,
				   uint32_t n_layers)
{
	const struct osr_fabric *fabric = job->s->f;
	struct osr_routing *routing = job->r;
	uint8_t swap;
	enum osr_status st = osr__tables_certify(job, orders, n_layers, job->req->multicast, &swap);

	for (size_t i = 0; !st && i < (size_t)fabric->n_dests * fabric->n_switches; i++)
		routing->sl[i] = osr__tables_vl(routing->sl[i], swap);
	if (!st)
		osr__tables_share_sls(job->s, routing->sl);
	routing->n_layers = routing->n_layers_one_way = (uint8_t)n_layers;
	routing->mcast_vl = job->req->mcast_vl;
	return st;
}

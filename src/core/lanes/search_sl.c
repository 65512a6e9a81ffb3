/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * See ordered.h. From the outside in:
 *	osr_ordered_route()	  rounds; then detours, and SLs and certificate
 *	osr_ordered_mend()	  detours for given trees (dor.c)
 *	search.c		    rounds, trees
 *	osr__search_improve_sl()    the channel orders for the routes made under them
 *	tables_sl.c		  SLs and certificate
 */
#include "core/lanes/ordered.h"

#include <string.h>

#include "core/paths/mcast.h"
#include "core/lanes/updown.h"

#include "search.h"
#include "tables.h"

/*
 * Weighs the dependencies of the routes whose lowest VL is k. Routes without one go to the last order, and weigh
 * more: those that found a way before have others.
 */
static void sl_weigh(struct osr__search *w, uint32_t k)
{
	const struct osr_fabric *fabric = w->f;
	const struct osr_spf *spf = w->s;
	uint32_t n = fabric->n_switches, *count = spf->scratch->count;

	memset(w->g.weight, 0, w->g.n_slots * sizeof(*w->g.weight));
	for (uint32_t d = 0; d < fabric->n_dests; d++) {
		const uint8_t *hop = spf->hop + (size_t)d * n, *mask = w->masks + (size_t)d * n;
		uint32_t root = fabric->dest_switch[d];
		const uint16_t *order = spf->order + (size_t)root * n;

		if (spf->alias[d] != OSR_NONE)
			continue;
		for (uint32_t v = 0; v < n; v++) {
			uint32_t lowest =
				mask[v] ? (uint32_t)__builtin_ctz(mask[v]) : w->n_lanes - 1;

			count[v] = lowest != k ? 0 : mask[v] ? 1 : w->boost;
		}
		for (uint32_t i = spf->n_order[root]; i-- > 1;) {
			uint32_t v = order[i], c = fabric->chan_row[v] + hop[v],
				 u = fabric->chan_dst[c];

			if (!count[v] || u == root)
				continue;
			w->g.weight[osr_cdg_slot(&w->g, c, hop[u])] += count[v];
			count[u] += count[v];
		}
	}
}

/* The k-th order; the first one gets the escape tree forward. */
static enum osr_status sl_improve(struct osr__search *w, uint32_t k)
{
	sl_weigh(w, k);
	if (k == 0)
		osr_mcast_depend(w->escape, &w->g);
	return osr_cdg_order(&w->g, w->s->center, w->scratch,
			     w->rank + (size_t)k * w->f->n_channels, w->diag);
}

/* The last order is where the routes without one are counted; all that the others have is legal in them. */
enum osr_status osr__search_improve_sl(struct osr__search *w)
{
	enum osr_status st = sl_improve(w, w->n_lanes - 1);

	osr__search_set_reach(w);
	return st;
}

/* The first order, which was fitted to trees without it, gets the escape tree forward. */
static enum osr_status sl_keep_escape(struct osr__search *w)
{
	enum osr_status st;

	osr__search_count_failed(w);
	st = sl_improve(w, 0);
	osr__search_set_reach(w);
	return st;
}

static enum osr_status sl_init(struct osr__search *w, const struct osr_lane_work *work,
			       uint32_t *orders)
{
	struct osr_routing *routing = work->r;
	const struct osr_fabric *fabric = work->s->f;
	enum osr_status st;

	if (!routing->sl)
		routing->sl =
			osr_calloc(work->result, (size_t)fabric->n_dests * fabric->n_switches, 1);
	if (!routing->sl)
		return osr_fail(work->diag, OSR_NOMEM, "out of memory for the SLs of %u LIDs",
				fabric->n_dests);
	*w = (struct osr__search){ .s = work->s,
				   .f = fabric,
				   .scratch = work->scratch,
				   .diag = work->diag,
				   .n_lanes = work->req->max_vls < OSR_ORDERED_MAX
						      ? work->req->max_vls
						      : OSR_ORDERED_MAX,
				   .rank = orders,
				   .masks = routing->sl };
	st = osr__search_init(w, false);
	return st ? st : osr_mcast_tree(w->s, w->scratch, w->escape, w->diag);
}

#define MANY                                                                                       \
	20 /* 1 in so many routes without a legal way: on one lane, another order is called for */

/* One lane: an order searched for the pairs it serves. */
static enum osr_status sl_start_updown(struct osr__search *w, const struct osr_lane_work *work)
{
	struct osr_updown updown;
	enum osr_status st =
		osr_updown_search(w->s, OSR_UPDOWN_EFFORT, w->scratch, &updown, w->diag);

	if (st)
		return st;
	osr_updown_rank(&updown, w->f, w->rank);
	osr__search_set_reach(w);
	memcpy(w->escape, updown.parent, w->f->n_switches * sizeof(*w->escape));
	return work->r->mcast_parent ? osr_mcast_take(w->f, updown.parent, w->scratch,
						      work->r->mcast_parent, w->diag)
				     : OSR_OK;
}

static enum osr_status sl_search(struct osr__search *w, const struct osr_lane_work *work)
{
	bool single = w->n_lanes == 1;
	uint64_t many = single ? osr__search_n_routes(w) / MANY : UINT64_MAX, least;
	enum osr_status st;

	w->best_rank =
		osr_alloc(w->scratch, w->n_lanes * (size_t)w->f->n_channels, sizeof(*w->best_rank));
	if (osr_arena_failed(w->scratch, w->diag))
		return OSR_NOMEM;
	osr__search_set_reach(w);
	osr__search_count_failed(w);
	st = single ? osr__search_improve_sl(w) : OSR_OK;
	if (!st)
		st = osr__search_rounds(w, OSR__SEARCH_ROUNDS, single, many, &least);
	/* Detours need the escape tree; what has no legal way yet may find one when all trees are routed anew. */
	if (!st && least && !single) {
		st = sl_keep_escape(w);
		if (!st)
			st = osr__search_rounds(w, OSR__SEARCH_ROUNDS, true, many, &least);
	}
	if (!st && least > many) {
		st = sl_start_updown(w, work);
		if (!st)
			st = osr__search_rounds(w, 1, true, UINT64_MAX, &least);
	}
	if (st)
		return st;
	if (least)
		osr__search_route_all(w, OSR__SEARCH_LAST);
	st = osr__search_ease(w, w->s->scratch->mixed ? 0 : osr_spf_bound(w->f), UINT64_MAX);
	work->r->n_longer = osr__search_count_longer(w);
	return st;
}

enum osr_status osr_ordered_route(const struct osr_lane_work *work,
				  const struct osr_ordered_options *opt, uint32_t *orders)
{
	struct osr_arena_mark mark = osr_arena_mark(work->scratch);
	struct osr__search w;
	enum osr_status st = sl_init(&w, work, orders);

	if (!st)
		st = sl_search(&w, work);
	if (!st)
		st = osr__tables_sl(&w, work, opt->reversible);
	osr_arena_reset(work->scratch, mark);
	return st;
}

enum osr_status osr_ordered_mend(const struct osr_lane_work *work, uint32_t *order,
				 const uint32_t *tree)
{
	struct osr_arena_mark mark = osr_arena_mark(work->scratch);
	struct osr__search w;
	enum osr_status st = sl_init(&w, work, order);

	if (!st) {
		memcpy(w.escape, tree, w.f->n_switches * sizeof(*tree));
		osr__search_set_reach(&w);
		if (osr__search_count_failed(&w))
			osr__search_route_all(&w, OSR__SEARCH_MEND);
		st = osr__search_ease(&w, osr_spf_bound(w.f), UINT64_MAX);
		work->r->n_longer = osr__search_count_longer(&w);
	}
	if (!st && work->r->mcast_parent) {
		/* The order knows nothing of multicast: one of what it allows and of the tree together. */
		for (uint32_t e = 0; e < w.g.n_slots; e++)
			w.g.weight[e] = w.forward[e] & 1;
		osr_mcast_depend(work->r->mcast_parent, &w.g);
		if (!osr_cdg_sort(&w.g, w.scratch, w.rank))
			st = osr_fail(work->diag, OSR_NOMEM,
				      "out of memory for the order of multicast");
	}
	if (!st)
		st = osr__tables_sl(&w, work, false);
	osr_arena_reset(work->scratch, mark);
	return st;
}

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Lanes by SL: routing with the channel dependency graph in view: it never fails, on any number of
 * VLs.
 *
 * lanes.h cuts the cycles of the routes that are there; where that takes more lanes than there are, this
 * module routes again under K channel orders, one per VL, beginning with those of the layers. A route is legal on VL k if every step
 * goes forward in order k, so whatever is legal is deadlock-free, and the orders are the
 * certificate.
 *
 * Every destination's tree is settled as in spf.h, but a switch now also knows the set of VLs (a
 * bit mask) on which its route is legal:
 *	mask(v) = mask(next) & { k : (v -> next) before (next -> ...) in order k }
 * Among the shortest continuations it takes the lightest with a mask that is not empty. A price on
 * channels that few others may continue into keeps room for the switches further out; a
 * destination is tried with several prices, and the one that leaves the fewest switches without a
 * legal shortest route is taken. After a round the last order is improved (cdg.h) for the routes that
 * have no other, and for those without a legal way, which weigh more from round to round; the next round
 * routes again the trees that are not legal.
 *
 * If the orders that were fitted to the routes leave more than 1 in 20 of them without a legal shortest way, an up-down
 * order searched for the pairs it serves (updown.h) replaces the first.
 *
 * In the end switches without a legal shortest route take the shortest legal detour. If none exists, some switches of that
 * tree are put on ways that are legal on the first VL alone, or on the escape tree: a spanning tree whose dependencies
 * order 0 keeps forward. In the worst case a whole destination ends there, so every pair of a component is reached.
 *
 * At last entries move off the busiest channels to legal routes as long.
 *
 * The idea of routing within a dependency graph that keeps an escape tree is that of Nue (Domke,
 * Hoefler, HPDC 2016). DIFFERS: shortest legal routes over a mask of VLs for every source, instead
 * of a partition of the destinations over VLs.
 *
 * From the outside in:
 *	osr__lanes_sl()		  layers for the paths there are, or others within orders; then replies
 *	layers.c		    layers
 *	sl_search()		    rounds; then detours
 *	osr__ordered_mend()	  detours for given trees (dor.c)
 *	search.c		    rounds, trees
 *	osr__search_improve_sl()    the channel orders for the routes made under them
 *	tables_sl.c		  SLs and certificate
 */
#include <string.h>

#include "core/paths/mcast.h"

#include "lanes_private.h"
#include "updown.h"

/*
 * Weighs the dependencies of the routes whose lowest VL is k. Routes without one go to the last order, and weigh
 * more: those that found a way before have others. both: those of pairs without a VL in common instead.
 */
static void sl_weigh(struct osr__search *w, uint32_t k, const uint8_t *both)
{
	const struct osr_fabric *fabric = w->f;
	const struct osr_spf *spf = w->s;
	uint32_t n = fabric->n_switches, *count = spf->scratch->count;

	memset(w->g.weight, 0, w->g.n_slots * sizeof(*w->g.weight));
	for (uint32_t d = 0; d < fabric->n_dests; d++) {
		const uint8_t *hop = spf->hop + (size_t)d * n, *mask = w->masks + (size_t)d * n;
		uint32_t root = fabric->dest_switch[d];
		const uint16_t *order = spf->order + (size_t)root * n;
		bool sp0 = osr__is_sp0(fabric, d);

		if (spf->alias[d] != OSR_NONE)
			continue;
		for (uint32_t v = 0; v < n; v++) {
			uint32_t lowest =
				mask[v] ? (uint32_t)__builtin_ctz(mask[v]) : w->n_lanes - 1;

			count[v] = lowest != k ? 0 : mask[v] ? 1 : w->boost;
			if (both)
				count[v] = !both[(size_t)root * n + v];
			count[v] = sp0 && !fabric->sw_sources[v] ? 0 : count[v];
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
static enum osr_status sl_improve(struct osr__search *w, uint32_t k, const uint8_t *both)
{
	sl_weigh(w, k, both);
	if (k == 0)
		osr_mcast_depend(w->escape, &w->g);
	return osr_cdg_order(&w->g, w->s->center, w->scratch,
			     w->rank + (size_t)k * w->f->n_channels, w->diag);
}

/* The last order is where the routes without one are counted; all that the others have is legal in them. */
enum osr_status osr__search_improve_sl(struct osr__search *w)
{
	enum osr_status st = sl_improve(w, w->n_lanes - 1, NULL);

	osr__search_set_reach(w);
	return st;
}

/* Lanes that masks have a bit for. */
static uint32_t sl_most(const struct osr_lanes_job *job)
{
	return job->req->max_vls < OSR_ORDERED_MAX ? job->req->max_vls : OSR_ORDERED_MAX;
}

static enum osr_status sl_init(struct osr__search *w, const struct osr_lanes_job *job,
			       uint32_t n_lanes, uint32_t *orders)
{
	const struct osr_fabric *fabric = job->s->f;
	/* Of several lanes masks become SLs where they are. */
	uint8_t *masks = n_lanes > 1 ? job->r->sl
				     : osr_calloc(job->scratch,
						  (size_t)fabric->n_dests * fabric->n_switches, 1);
	enum osr_status st;

	if (!masks)
		return osr_fail(job->diag, OSR_NOMEM, "out of memory for the lanes of %u LIDs",
				fabric->n_dests);
	*w = (struct osr__search){ .s = job->s,
				   .f = fabric,
				   .scratch = job->scratch,
				   .diag = job->diag,
				   .n_lanes = n_lanes,
				   .rank = orders,
				   .masks = masks };
	st = osr__search_init(w, false);
	return st ? st : osr_mcast_tree(w->s, w->scratch, w->escape, w->diag);
}

#define MANY 20 /* 1 in so many routes without a legal way: another first order is called for */

/* The first order is one up and down, searched for the pairs it serves. */
static enum osr_status sl_start_updown(struct osr__search *w, const struct osr_lanes_job *job)
{
	struct osr_updown updown;
	enum osr_status st =
		osr_updown_search(w->s, OSR_UPDOWN_EFFORT, w->scratch, &updown, w->diag);

	if (st)
		return st;
	osr_order_updown(w->f, updown.place, w->rank);
	osr__search_set_reach(w);
	memcpy(w->escape, updown.parent, w->f->n_switches * sizeof(*w->escape));
	return job->r->mcast_parent ? osr_mcast_take(w->f, updown.parent, w->scratch, job->result,
						     job->r, w->diag)
				    : OSR_OK;
}

static enum osr_status sl_search(struct osr__search *w, const struct osr_lanes_job *job)
{
	bool single = w->n_lanes == 1;
	uint64_t many = osr__search_n_routes(w) / MANY, least;
	enum osr_status st;

	w->best_rank =
		osr_alloc(w->scratch, w->n_lanes * (size_t)w->f->n_channels, sizeof(*w->best_rank));
	if (osr_arena_failed(w->scratch, w->diag))
		return OSR_NOMEM;
	osr__search_set_reach(w);
	osr__search_count_failed(w);
	/* On one lane the order of a round may be the last; the one that layers left knows nothing of the escape tree. */
	st = single ? osr__search_improve_sl(w) : OSR_OK;
	if (!st)
		st = osr__search_rounds(w, OSR__SEARCH_ROUNDS, single, many, &least);
	/*
	 * Detours need an order in which all reach all, to which the first was not fitted: where many need them it is one up and
	 * down, else the escape tree's. What has no legal way yet may find one when all trees are routed anew.
	 */
	if (!st && least > many)
		st = sl_start_updown(w, job);
	else if (!st && least && !single) {
		osr__search_count_failed(w);
		st = sl_improve(w, 0, NULL);
		osr__search_set_reach(w);
	}
	if (!st && least > (single ? many : 0))
		st = osr__search_rounds(w, single ? 1 : OSR__SEARCH_ROUNDS, true, UINT64_MAX,
					&least);
	if (st)
		return st;
	if (least)
		osr__search_route_all(w, OSR__SEARCH_LAST);
	st = osr__search_ease(w, w->s->scratch->mixed ? 0 : osr_spf_bound(w->f), 0);
	job->r->n_longer = osr__search_count_longer(w);
	return st;
}

/*
 * More orders, each for the pairs of switches without a VL in common for all between them, as long as there are such
 * pairs. both: see lanes_private.h. *all: none is left; otherwise the orders are as before.
 */
static enum osr_status sl_pair(struct osr__search *w, uint32_t limit, uint8_t *both, bool *all)
{
	uint32_t n_before = w->n_lanes;
	enum osr_status st = OSR_OK;

	*all = osr__tables_join(w, both);
	while (!st && !*all && w->n_lanes < limit) {
		st = sl_improve(w, w->n_lanes++, both);
		osr__search_set_reach(w);
		osr__search_count_failed(w);
		*all = osr__tables_join(w, both);
	}
	if (!*all) {
		w->n_lanes = n_before;
		osr__search_set_reach(w);
		osr__search_count_failed(w);
	}
	return st;
}

static enum osr_status sl_no_vl(const struct osr_lanes_job *job, bool pairs)
{
	return osr_fail(
		job->diag, OSR_NO_VL,
		"more than the %u virtual lane%s of the budget are needed to break all cycles%s",
		job->req->max_vls, job->req->max_vls == 1 ? "" : "s",
		pairs ? " with replies on the SL of their request" : "");
}

/* Both directions of every pair on one SL, where layers have been found (fits) or orders. */
static enum osr_status sl_replies(struct osr__search *w, const struct osr_lanes_job *job,
				  enum osr_heuristic heuristic, bool fits, uint8_t *both, bool *all)
{
	uint32_t n_lanes, *orders = osr_alloc(w->scratch, (size_t)OSR_MAX_VLS * w->f->n_channels,
					      sizeof(*orders));
	enum osr_status st = osr_arena_failed(w->scratch, w->diag) ? OSR_NOMEM : OSR_OK;

	if (!st && fits && heuristic == OSR_HEURISTIC_ONLINE) {
		st = osr__layers_assign(job, heuristic, true, orders, &n_lanes);
		if (!st && n_lanes <= OSR_ORDERED_MAX) {
			w->rank = orders;
			w->n_lanes = n_lanes;
			osr__search_set_reach(w);
			osr__search_count_failed(w);
		}
		fits = false;
	}
	if (st && st != OSR_NO_VL)
		return st;
	return sl_pair(w, fits ? sl_most(job) : w->n_lanes, both, all);
}

enum osr_status osr__lanes_sl(struct osr_lanes_job *job, bool *done)
{
	struct osr_lanes_job mine = *job; /* may have another request */
	const struct osr_layers_options *opt = &job->opt->layers;
	struct osr_arena_mark mark = osr_arena_mark(job->scratch);
	size_t n = job->s->f->n_switches;
	struct osr_routing *routing = job->r;
	struct osr_request one = *job->req;
	struct osr_spf_saved saved;
	struct osr__search w;
	uint32_t n_layers;
	uint8_t *both = NULL;
	bool fits, replies = false, must = opt->reversible == OSR_REVERSIBLE_ON;
	enum osr_status st;

	*done = true;
	one.max_vls = 1;
	routing->claims = 0;
	routing->sl = osr_alloc(job->result, job->s->f->n_dests * n, 1);
	if (!routing->sl)
		return osr_fail(job->diag, OSR_NOMEM, "out of memory for SLs");
	st = osr__layers_assign(&mine, opt->heuristic, false, job->orders, &n_layers);
	fits = !st;
	routing->strategy = fits ? "layers" : "paths within orders";
	if (st == OSR_NO_VL)
		st = job->opt->detours ? OSR_OK : sl_no_vl(&mine, false);
	if (!st && fits && (opt->reversible == OSR_REVERSIBLE_OFF || n_layers > OSR_ORDERED_MAX)) {
		st = must ? sl_no_vl(&mine, true)
			  : osr__layers_finish(&mine, job->orders, n_layers);
		osr_arena_reset(job->scratch, mark);
		return st;
	}
	if (!st)
		st = sl_init(&w, &mine, fits ? n_layers : sl_most(&mine), job->orders);
	if (!st && must)
		st = osr_spf_save(job->s, job->scratch, &saved, job->diag);
	if (!st && fits) {
		osr__search_set_reach(&w);
		osr__search_count_failed(&w);
	} else if (!st) {
		st = sl_search(&w, &mine);
	}
	if (!st && opt->reversible != OSR_REVERSIBLE_OFF) {
		both = osr_alloc(job->scratch, n * n, 1);
		st = both ? sl_replies(&w, &mine, opt->heuristic, fits, both, &replies)
			  : osr_fail(job->diag, OSR_NOMEM, "out of memory for the SLs of pairs");
	}
	if (!st && must && !replies) {
		/* On one VL everything is safe for everyone, replies included. */
		routing->strategy = "paths within one order";
		osr_spf_restore(job->s, &saved);
		mine.req = &one;
		st = job->opt->detours ? sl_init(&w, &mine, 1, job->orders) : sl_no_vl(&mine, true);
		if (!st)
			st = sl_search(&w, &mine);
	}
	if (!st)
		st = osr__tables_sl(&w, &mine, replies ? both : NULL);
	if (!st && fits && w.n_lanes > 1)
		routing->n_layers_one_way = (uint8_t)n_layers;
	osr_arena_reset(job->scratch, mark);
	return st;
}

enum osr_status osr__ordered_mend(const struct osr_lanes_job *job, uint32_t *order,
				  const uint32_t *tree, uint64_t enough)
{
	struct osr_arena_mark mark = osr_arena_mark(job->scratch);
	struct osr_routing *routing = job->r;
	struct osr_request one = *job->req;
	struct osr_lanes_job mine = *job;
	struct osr__search w;
	enum osr_status st = sl_init(&w, job, 1, order);

	one.max_vls = 1;
	mine.req = &one;
	if (st)
		return st;
	memcpy(w.escape, tree, w.f->n_switches * sizeof(*tree));
	osr__search_set_reach(&w);
	osr__search_route_all(&w, OSR__SEARCH_MEND);
	if (w.n_failed) {
		if (enough != UINT64_MAX)
			st = osr__search_ease(&w, enough, 0);
		routing->n_longer = osr__search_count_longer(&w);
	}
	if (!st && job->req->multicast) {
		/* The order knows nothing of multicast: one of what it allows and of the tree together. */
		for (uint32_t e = 0; e < w.g.n_slots; e++)
			w.g.weight[e] = w.forward[e] & 1;
		if (osr_mcast_take(w.f, tree, w.scratch, job->result, routing, w.diag))
			return OSR_NOMEM;
		osr_mcast_depend(routing->mcast_parent, &w.g);
		if (!osr_cdg_sort(&w.g, w.scratch, w.rank))
			st = osr_fail(w.diag, OSR_NOMEM,
				      "out of memory for the order of multicast");
	}
	if (!st)
		st = osr__tables_sl(&w, &mine, NULL);
	osr_arena_reset(job->scratch, mark);
	return st;
}

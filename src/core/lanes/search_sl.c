/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Lanes by SL: an order of the channels for each lane, and for each route the set of lanes in whose
 * orders it rises, as a mask. Whatever a mask allows is free of deadlock, and the orders are the
 * certificate.
 *
 * First the paths are as they are. Each order is fitted (fit.h) to the routes that rise in none of
 * those before it, until all rise in one (Domke 2011, section IV; layers). The papers' ways to cut
 * cycles are in layers_paper.c.
 *
 * Where that takes more lanes than there are, this module routes again under K orders, beginning
 * with those (search.h): it never fails, on any number of VLs. After a round the last order is
 * improved for the routes that have no other, and for those without a legal way, which weigh more
 * from round to round; the next round routes again the trees that are not legal. If the orders
 * leave more than 1 in 20 routes without a legal shortest way, an up-down order searched for the
 * pairs it serves (updown.h) replaces the first. In the end switches without one take the shortest
 * legal detour, or go along the escape tree, whose dependencies order 0 keeps forward; and entries
 * move off the busiest channels to legal routes as long.
 *
 * The idea of routing within a dependency graph that keeps an escape tree is that of Nue (Domke,
 * Hoefler, HPDC 2016). DIFFERS: shortest legal routes over a mask of VLs for every source, instead
 * of a partition of the destinations over VLs.
 *
 * From the outside in:
 *	osr_lanes_sl()		  lanes for the paths there are, or others within orders; then replies
 *	sl_layers()		    the paths there are
 *	sl_search()		    rounds; then detours
 *	osr_lanes_mend()	  detours for given trees (dor.c)
 *	search.c		    rounds, trees
 *	osr_search_improve_sl()    the channel orders for the routes made under them
 *	tables_sl.c		  SLs and certificate
 */
#include <string.h>

#include "core/route/span.h"

#include "lanes_private.h"
#include "updown.h"

#include <osmroutes/each.h>

/*
 * Weighs the dependencies of the routes whose lowest VL is k. Routes without a VL go to the last
 * order, and weigh more, because routes that found a VL previously have other VLs. both: the
 * dependencies of pairs without a VL in common instead.
 */
static void sl_weigh(struct osr_search *search, uint32_t k, const uint8_t *both)
{
	const struct osr_fabric *fabric = search->fabric;
	const struct osr_spf *spf = search->spf;
	uint32_t n = fabric->n_switches, *count = spf->scratch->count;

	memset(search->weights.weight, 0,
	       osr_n_turns(search->fabric) * sizeof(*search->weights.weight));
	OSR_EACH_DEST(d, fabric) {
		const uint8_t *hop = spf->hop + (size_t)d * n,
			      *mask = search->masks + (size_t)d * n;
		uint32_t root = fabric->dest_switch[d];
		const uint16_t *order = spf->order + (size_t)root * n;
		bool any = false;

		if (spf->alias[d] != OSR_NONE)
			continue;
		for (uint32_t v = 0; v < n; v++) {
			uint32_t lowest = mask[v] ? (uint32_t)__builtin_ctz(mask[v])
						  : search->order.n_lanes - 1;

			count[v] = mask[v] ? 1 : search->boost;
			if (both)
				count[v] = !both[(size_t)root * n + v];
			else if (lowest != k)
				count[v] = 0;
			if (!osr_search_counts(search, d, v))
				count[v] = 0;
			any |= count[v] != 0;
		}
		for (uint32_t i = any ? spf->n_order[root] : 0; i-- > 1;) {
			uint32_t v = order[i], c = fabric->chan_row[v] + hop[v],
				 u = fabric->chan_dst[c];

			if (!count[v] || u == root)
				continue;
			search->weights.weight[search->fabric->turn_row[c] + hop[u]] += count[v];
			count[u] += count[v];
		}
	}
}

/* The k-th order, for its routes and for a spanning tree (NULL: none). */
static enum osr_status sl_improve(struct osr_search *search, uint32_t k, const uint8_t *both,
				  const uint32_t *tree, enum osr_heuristic heuristic)
{
	enum osr_status st = OSR_OK;

	sl_weigh(search, k, both);
	if (tree)
		osr_span_weigh(tree, &search->weights);
	if (heuristic != OSR_HEURISTIC_ORDER)
		st = osr_break_cycles(search, heuristic);
	if (!st)
		st = osr_fit_order(&search->weights, search->spf->center, search->scratch,
				   search->order.rank + (size_t)k * search->fabric->n_channels,
				   search->diag);
	osr_order_set_rises(&search->order);
	return st;
}

/*
 * Routes without a VL are counted in the last order; every route of the other orders is legal in
 * its own. The first order gets the escape tree forward.
 */
enum osr_status osr_search_improve_sl(struct osr_search *search)
{
	return sl_improve(search, search->order.n_lanes - 1, NULL,
			  search->order.n_lanes == 1 ? search->escape : NULL, OSR_HEURISTIC_ORDER);
}

static enum osr_status sl_init(struct osr_search *search, const struct osr_lanes_job *job,
			       uint8_t *masks, uint32_t *orders)
{
	enum osr_status st;

	*search = (struct osr_search){ .spf = job->spf,
				       .fabric = job->spf->fabric,
				       .scratch = job->scratch,
				       .diag = job->diag,
				       .order = { .n_lanes = 1, .rank = orders },
				       .masks = masks };
	if (osr_arena_failed(job->scratch, job->diag) || osr_arena_failed(job->result, job->diag))
		return OSR_NOMEM;
	st = osr_search_init(search, false);
	return st ? st
		  : osr_span_from_centers(search->spf, search->scratch, search->escape,
					  search->diag);
}

enum osr_status osr_layers_single(struct osr_lanes_job *job, bool *fits)
{
	struct osr_arena_mark mark = osr_arena_mark(job->scratch);
	const struct osr_fabric *fabric = job->spf->fabric;
	struct osr_routing *routing = job->routing;
	uint32_t *rank = osr_alloc(job->scratch, fabric->n_channels, sizeof(*rank));
	uint8_t *masks = osr_calloc(job->scratch, (size_t)fabric->n_dests * fabric->n_switches, 1);
	struct osr_search search;
	enum osr_status st = sl_init(&search, job, masks, rank);

	*fits = false;
	routing->n_vls = 1;
	if (!st && job->req->multicast)
		st = osr_span_take(fabric, search.escape, job->scratch, job->result, routing,
				   job->diag);
	if (st)
		return st;
	sl_weigh(&search, 0, NULL);
	if (job->req->multicast)
		osr_span_weigh(routing->mcast_parent, &search.weights);
	*fits = osr_fit_sort(&search.weights, job->scratch, rank);
	if (osr_arena_failed(job->scratch, job->diag))
		return OSR_NOMEM;
	if (*fits)
		st = osr_tables_sl(&search, job, NULL);
	osr_arena_reset(job->scratch, mark);
	return st;
}

/*
 * Lanes for the routes as they are, one after the other, up to `most`; *left: routes that none of
 * them takes.
 */
static enum osr_status sl_layers(struct osr_search *search, const struct osr_lanes_job *job,
				 uint32_t most, uint64_t *left)
{
	enum osr_heuristic heuristic = job->opt->layers.heuristic;
	const uint32_t *mcast = job->req->multicast ? job->routing->mcast_parent : NULL;
	enum osr_status st = OSR_OK;

	if (heuristic == OSR_HEURISTIC_ONLINE) {
		st = osr_layers_online(search, mcast, most, false, search->order.rank,
				       &search->order.n_lanes);
		osr_order_set_rises(&search->order);
		*left = osr_search_count_failed(search);
		return st == OSR_NO_VL ? OSR_OK : st;
	}
	memset(search->masks, 0, (size_t)search->fabric->n_dests * search->fabric->n_switches);
	*left = 1;
	for (uint32_t k = 0; !st && *left && k < most; k++) {
		search->order.n_lanes = k + 1;
		st = sl_improve(search, k, NULL, k ? NULL : mcast, heuristic);
		*left = osr_search_count_failed(search);
	}
	return st;
}

/* if more than 1 route in this many has no legal way, another first order is searched */
#define MANY 50

/* The first order is one up and down, searched for the pairs it serves. */
static enum osr_status sl_start_updown(struct osr_search *search, const struct osr_lanes_job *job)
{
	struct osr_updown updown;
	enum osr_status st = osr_updown_search(search->spf, OSR_UPDOWN_EFFORT, search->scratch,
					       &updown, search->diag);

	if (st)
		return st;
	osr_span_rank(search->fabric, updown.place, search->order.rank);
	osr_order_set_rises(&search->order);
	memcpy(search->escape, updown.parent, search->fabric->n_switches * sizeof(*search->escape));
	return job->routing->mcast_parent
		       ? osr_span_take(search->fabric, updown.parent, search->scratch, job->result,
				       job->routing, search->diag)
		       : OSR_OK;
}

static enum osr_status sl_search(struct osr_search *search, const struct osr_lanes_job *job)
{
	bool single = search->order.n_lanes == 1;
	uint64_t many = osr_search_n_routes(search) / MANY, least = 0;
	enum osr_status st;

	/*
	 * On one lane the order of a round may be the last one. The order that layers left knows no
	 * escape tree.
	 */
	st = single ? osr_search_improve_sl(search) : OSR_OK;
	if (!st)
		st = osr_search_rounds(search, OSR_SEARCH_ROUNDS, single, many, &least);
	/*
	 * Detours need a first order in which every switch reaches every other one: an up-down
	 * order where many routes need detours, else one that keeps the escape tree. All trees are
	 * then routed again, since more routes may be legal now.
	 */
	if (!st && least > many)
		st = sl_start_updown(search, job);
	else if (!st && least && !single) {
		osr_search_count_failed(search);
		st = sl_improve(search, 0, NULL, search->escape, OSR_HEURISTIC_ORDER);
	}
	if (!st && single && least > many)
		st = osr_search_rounds(search, 1, true, UINT64_MAX, &least);
	else if (!st && !single && least)
		st = osr_search_rounds(search, OSR_SEARCH_ROUNDS, true, UINT64_MAX, &least);
	if (st)
		return st;
	if (least)
		osr_search_route_all(search, OSR_SEARCH_DETOUR);
	osr_search_ease(search, search->spf->scratch->mixed ? 0 : search->spf->least, 0);
	job->routing->n_longer = osr_search_count_longer(search);
	return OSR_OK;
}

/*
 * More orders, each for the pairs of switches without a VL in common for all between them, as long
 * as there are such pairs. both: see lanes_private.h. *all: none is left; otherwise the orders are
 * as before.
 */
static enum osr_status sl_pair(struct osr_search *search, uint32_t limit, uint8_t *both, bool *all)
{
	uint32_t n_before = search->order.n_lanes;
	enum osr_status st = OSR_OK;

	*all = osr_tables_join(search, both);
	while (!st && !*all && search->order.n_lanes < limit) {
		search->order.n_lanes++;
		st = sl_improve(search, search->order.n_lanes - 1, both, NULL, OSR_HEURISTIC_ORDER);
		osr_search_count_failed(search);
		*all = osr_tables_join(search, both);
	}
	if (!*all) {
		search->order.n_lanes = n_before;
		osr_order_set_rises(&search->order);
		osr_search_count_failed(search);
	}
	return st;
}

static enum osr_status sl_no_vl(const struct osr_lanes_job *job, uint32_t most, bool pairs)
{
	return osr_fail(job->diag, OSR_NO_VL,
			"more than %s%u virtual lane%s%s are needed to break all cycles%s",
			most < job->req->max_vls ? "" : "the ", most, most == 1 ? "" : "s",
			most < job->req->max_vls ? "" : " of the budget",
			pairs ? " with replies on the SL of their request" : "");
}

#define PAIRS_MOST (1 << 22) /* routes; beyond them first fit of pairs takes seconds */

/*
 * Pair after pair of switches, with all routes between them, into the first lane that takes it.
 * OSR_NO_VL, and the orders as before, where some pair finds none.
 */
static enum osr_status sl_first_fit(struct osr_search *search, const struct osr_lanes_job *job,
				    uint32_t most)
{
	uint32_t n_lanes,
		*orders = osr_alloc(search->scratch, (size_t)most * search->fabric->n_channels,
				    sizeof(*orders));
	enum osr_status st =
		osr_arena_failed(search->scratch, search->diag)
			? OSR_NOMEM
			: osr_layers_online(search,
					    job->req->multicast ? job->routing->mcast_parent : NULL,
					    most, true, orders, &n_lanes);

	if (st)
		return st;
	search->order.rank = orders;
	search->order.n_lanes = n_lanes;
	osr_order_set_rises(&search->order);
	osr_search_count_failed(search);
	return OSR_OK;
}

/*
 * Both directions of every pair on one SL, where lanes have been found for the paths as they are
 * (fits), or others: more orders for the pairs that are left, or else first fit.
 */
static enum osr_status sl_replies(struct osr_search *search, const struct osr_lanes_job *job,
				  uint32_t most, bool fits, uint8_t *both, bool *all)
{
	bool online = fits && job->opt->layers.heuristic == OSR_HEURISTIC_ONLINE;
	enum osr_status st = OSR_OK;

	*all = false;
	if (!online)
		st = sl_pair(search, fits ? most : search->order.n_lanes, both, all);
	if (st || *all || (!online && osr_search_n_routes(search) > PAIRS_MOST))
		return st;
	st = sl_first_fit(search, job, most);
	if (!st)
		*all = osr_tables_join(search, both);
	return st == OSR_NO_VL ? OSR_OK : st;
}

enum osr_status osr_lanes_sl(struct osr_lanes_job *job, bool *done)
{
	const struct osr_lanes_options *opt = job->opt;
	enum osr_reversible reversible = opt->layers.reversible;
	struct osr_arena_mark mark = osr_arena_mark(job->scratch);
	size_t n = job->spf->fabric->n_switches;
	struct osr_routing *routing = job->routing;
	uint32_t n_layers, most = job->req->max_vls < OSR_LANES_BY_SL_MAX ? job->req->max_vls
									  : OSR_LANES_BY_SL_MAX;
	struct osr_spf_saved saved;
	struct osr_search search;
	uint64_t left;
	uint8_t *both = osr_alloc(job->scratch, n * n, 1);
	bool replies = false, must = reversible == OSR_REVERSIBLE_ON;
	enum osr_status st;

	*done = true;
	routing->claims = 0;
	routing->sl = osr_alloc(job->result, job->spf->fabric->n_dests * n, 1);
	st = sl_init(&search, job, routing->sl, job->orders);
	if (!st)
		st = sl_layers(&search, job, most, &left);
	if (!st && must)
		st = osr_spf_save(job->spf, job->scratch, &saved, job->diag);
	if (st)
		return st;
	n_layers = search.order.n_lanes;
	routing->strategy = left ? "paths within orders" : "layers";
	if (left)
		st = opt->detours ? sl_search(&search, job) : sl_no_vl(job, most, false);
	if (!st && reversible != OSR_REVERSIBLE_OFF)
		st = sl_replies(&search, job, most, !left, both, &replies);
	if (!st && must && !replies) {
		/* On one VL everything is safe for everyone, replies included. */
		routing->strategy = "paths within one order";
		osr_spf_restore(job->spf, &saved);
		st = opt->detours ? sl_init(&search, job, routing->sl, job->orders)
				  : sl_no_vl(job, most, true);
		if (!st) {
			osr_order_set_rises(&search.order);
			osr_search_count_failed(&search);
			st = sl_search(&search, job);
		}
	}
	if (!st)
		st = osr_tables_sl(&search, job, replies ? both : NULL);
	if (!st && !left && search.order.n_lanes > 1)
		routing->n_layers_one_way =
			(uint8_t)(n_layers < search.order.n_lanes ? n_layers
								  : search.order.n_lanes);
	osr_arena_reset(job->scratch, mark);
	return st;
}

enum osr_status osr_lanes_mend(const struct osr_lanes_job *job, uint32_t *order,
			       const uint32_t *tree, uint64_t enough)
{
	struct osr_arena_mark mark = osr_arena_mark(job->scratch);
	const struct osr_fabric *fabric = job->spf->fabric;
	struct osr_routing *routing = job->routing;
	struct osr_search search;
	enum osr_status st = sl_init(
		&search, job,
		osr_calloc(job->scratch, (size_t)fabric->n_dests * fabric->n_switches, 1), order);

	if (st)
		return st;
	memcpy(search.escape, tree, search.fabric->n_switches * sizeof(*tree));
	osr_order_set_rises(&search.order);
	osr_search_route_all(&search, OSR_SEARCH_MEND);
	if (search.n_failed) {
		if (enough != UINT64_MAX)
			osr_search_ease(&search, enough, 0);
		routing->n_longer = osr_search_count_longer(&search);
	}
	if (!st && job->req->multicast) {
		/*
		 * The order knows no multicast: make one of everything that it allows and of the
		 * tree.
		 */
		for (uint32_t e = 0; e < osr_n_turns(search.fabric); e++)
			search.weights.weight[e] = search.order.rises[e] & 1;
		if (osr_span_take(search.fabric, tree, search.scratch, job->result, routing,
				  search.diag))
			return OSR_NOMEM;
		osr_span_weigh(routing->mcast_parent, &search.weights);
		if (!osr_fit_sort(&search.weights, search.scratch, search.order.rank))
			st = osr_fail(search.diag, OSR_NOMEM,
				      "out of memory for the order of multicast");
	}
	if (!st)
		st = osr_tables_sl(&search, job, NULL);
	osr_arena_reset(job->scratch, mark);
	return st;
}

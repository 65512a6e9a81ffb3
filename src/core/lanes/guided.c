/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * See guided.h. From the outside in:
 *	osr_guided_route()	rounds; then SLs and certificate
 *	osr_guided_keep()	the same for trees that are given (dor.c)
 *	improve_orders()	  the channel orders for the routes made under them
 *	route_dest()		  one tree: rip up, settle at several prices, count
 *	guided_tree.c		    shortest routes and their masks
 *	guided_detour.c		    last round: whatever is left, over longer legal routes
 *	guided_polish.c		  single LIDs off the most loaded channel
 *	guided_lanes.c		  SLs and certificate
 */
#include <string.h>

#include <osmroutes/mcast.h>
#include <osmroutes/updown.h>

#include "guided_private.h"

#define MAX_BOOST 16 /* weight of routes without a legal way, after some rounds */
#define FEW 100      /* routes worth going on for, even if some rounds bring nothing */

/* ---- orders ---------------------------------------------------------------------------------- */

static void set_legal(struct guide *w)
{
	const struct osr_fabric *f = w->f;

	memset(w->legal, 0, w->g.n_slots);
	for (uint32_t k = 0; k < w->n_orders; k++) {
		const uint32_t *rank = w->rank + (size_t)k * f->n_channels;

		for (uint32_t c = 0; c < f->n_channels; c++) {
			const uint32_t *next = rank + f->chan_row[f->chan_dst[c]];

			for (uint32_t e = w->g.row[c]; e < w->g.row[c + 1]; e++)
				w->legal[e] |= (uint8_t)((rank[c] < next[e - w->g.row[c]]) << k);
		}
	}
}

static void set_freedom(struct guide *w)
{
	const struct osr_fabric *f = w->f;

	for (uint32_t v = 0; v < f->n_switches; v++) {
		uint32_t row = f->chan_row[v], end = f->chan_row[v + 1];

		for (uint32_t c = row; c < end; c++) {
			for (uint32_t k = 0; k < w->n_orders; k++) {
				uint32_t n = 0;

				for (uint32_t o = row; o < end; o++)
					n += o != c &&
					     (w->legal[w->g.row[f->chan_rev[o]] + c - row] >> k &
					      1);
				w->freedom[(size_t)c * w->n_orders + k] =
					(uint8_t)(end - row > 1 ? 64 * n / (end - row - 1) : 64);
			}
		}
	}
}

/*
 * Weighs the dependencies of the routes whose lowest VL is k, and of a spanning tree. Routes
 * without one go to the last order, and weigh more: those that found a way before have others.
 */
static void weigh_order(struct guide *w, uint32_t k, const uint32_t *tree)
{
	const struct osr_fabric *f = w->f;
	const struct osr_spf *s = w->s;
	uint32_t n = f->n_switches, *count = s->scratch->count;

	memset(w->g.weight, 0, w->g.n_slots * sizeof(*w->g.weight));
	for (uint32_t d = 0; d < f->n_dests; d++) {
		const uint8_t *hop = s->hop + (size_t)d * n, *mask = w->mask + (size_t)d * n;
		uint32_t root = f->dest_switch[d];
		const uint16_t *order = s->order + (size_t)root * n;

		if (s->alias[d] != OSR_NONE)
			continue;
		for (uint32_t v = 0; v < n; v++) {
			uint32_t lowest =
				mask[v] ? (uint32_t)__builtin_ctz(mask[v]) : w->n_orders - 1;

			count[v] = lowest != k ? 0 : mask[v] ? 1 : w->boost;
		}
		for (uint32_t i = s->n_order[root]; i-- > 1;) {
			uint32_t v = order[i], c = f->chan_row[v] + hop[v], u = f->chan_dst[c];

			if (!count[v] || u == root)
				continue;
			w->g.weight[osr_cdg_slot(&w->g, c, hop[u])] += count[v];
			count[u] += count[v];
		}
	}
	if (tree)
		osr_mcast_depend(tree, &w->g);
}

static enum osr_status improve_order(struct guide *w, uint32_t k, uint32_t passes,
				     struct osr_arena *scratch, struct osr_diag *diag)
{
	weigh_order(w, k, k == 0 ? w->escape : NULL);
	return osr_cdg_order(&w->g, w->s->center, passes, scratch,
			     w->rank + (size_t)k * w->f->n_channels, diag);
}

static enum osr_status improve_orders(struct guide *w, uint32_t passes, struct osr_arena *scratch,
				      struct osr_diag *diag)
{
	enum osr_status st = OSR_OK;

	for (uint32_t k = 0; !st && k < w->n_orders; k++)
		st = improve_order(w, k, passes, scratch, diag);
	return st;
}

static void rip_up(struct guide *w, uint32_t root, uint32_t d)
{
	struct osr_spf *s = w->s;
	const uint16_t *order = s->order + (size_t)root * w->f->n_switches;
	const uint8_t *hop = s->hop + (size_t)d * w->f->n_switches;
	uint32_t n = s->n_order[root], ignored = 0;

	if (w->detoured[d]) {
		osr__guided_measure(w, root, hop);
		n = osr__guided_sort(w, root, d, &ignored);
		order = w->order;
	}
	osr__spf_count(s, order, n, hop, (uint64_t)-1);
	w->detoured[d] = 0;
}

static void route_dest(struct guide *w, uint32_t root, uint32_t d, bool last, struct osr_routing *r)
{
	const struct osr_fabric *f = w->f;
	struct osr_spf *s = w->s;
	const uint16_t *order = s->order + (size_t)root * f->n_switches;
	const uint8_t *hop = s->hop + (size_t)d * f->n_switches;
	bool counts = f->term_weight[f->dest_term[d]] != 0;
	uint32_t n = s->n_order[root], n_failed;

	if (counts)
		rip_up(w, root, d);
	n_failed = osr__guided_settle_best(w, root, d);
	w->n_failed += n_failed;
	if (last && n_failed) {
		osr__guided_detour(w, root, d);
		n = osr__guided_sort(w, root, d, &r->n_longer);
		order = w->order;
		w->detoured[d] = 1;
	}
	if (counts)
		osr__spf_count(s, order, n, hop, 1);
}

static void route_round(struct guide *w, bool last, struct osr_routing *r)
{
	const struct osr_spf *s = w->s;

	set_legal(w);
	set_freedom(w);
	w->n_failed = 0;
	r->n_longer = 0;
	for (uint32_t root = 0; root < w->f->n_switches; root++) {
		bool found = false;

		for (uint32_t k = s->dest_row[root]; k < s->dest_row[root + 1]; k++) {
			if (s->alias[s->dest_list[k]] != OSR_NONE)
				continue;
			if (!found)
				osr__spf_graph(w->s, root);
			found = true;
			route_dest(w, root, s->dest_list[k], last, r);
		}
	}
}

/* All trees; or until more than `enough` routes have failed. */
static void keep_trees(struct guide *w, uint64_t enough)
{
	w->n_failed = 0;
	for (uint32_t d = 0; d < w->f->n_dests && w->n_failed <= enough; d++)
		if (w->s->alias[d] == OSR_NONE)
			w->n_failed += osr__guided_keep_tree(w, w->f->dest_switch[d], d);
}

/* Routes again the dests whose trees are not legal as they stand. */
static void repair_round(struct guide *w)
{
	struct osr_spf *s = w->s;
	const struct osr_fabric *f = s->f;

	set_legal(w);
	set_freedom(w);
	w->n_failed = 0;
	for (uint32_t root = 0; root < f->n_switches; root++) {
		const uint16_t *order = s->order + (size_t)root * f->n_switches;
		bool found = false;

		for (uint32_t k = s->dest_row[root]; k < s->dest_row[root + 1]; k++) {
			uint32_t d = s->dest_list[k];
			const uint8_t *hop = s->hop + (size_t)d * f->n_switches;
			bool counts = f->term_weight[f->dest_term[d]] != 0;

			if (s->alias[d] != OSR_NONE || !osr__guided_keep_tree(w, root, d))
				continue;
			if (!found)
				osr__spf_graph(s, root);
			found = true;
			if (counts)
				osr__spf_count(s, order, s->n_order[root], hop, (uint64_t)-1);
			w->n_failed += osr__guided_settle_best(w, root, d);
			if (counts)
				osr__spf_count(s, order, s->n_order[root], hop, 1);
		}
	}
}

/* Gives the dests that keep_trees() found wanting their detours. */
static void mend_trees(struct guide *w, struct osr_routing *r)
{
	const struct osr_fabric *f = w->f;
	struct osr_spf *s = w->s;

	for (uint32_t d = 0; d < f->n_dests; d++) {
		const uint8_t *hop = s->hop + (size_t)d * f->n_switches;
		const uint8_t *mask = w->mask + (size_t)d * f->n_switches;
		uint32_t root = f->dest_switch[d], n = s->n_order[root];
		const uint16_t *order = s->order + (size_t)root * f->n_switches;
		bool counts = f->term_weight[f->dest_term[d]] != 0, whole = true;

		for (uint32_t v = 0; v < f->n_switches; v++)
			whole &= mask[v] != 0;
		if (s->alias[d] != OSR_NONE || whole)
			continue;
		if (counts)
			osr__spf_count(s, order, n, hop, (uint64_t)-1);
		osr__guided_detour(w, root, d);
		n = osr__guided_sort(w, root, d, &r->n_longer);
		if (counts)
			osr__spf_count(s, w->order, n, hop, 1);
	}
}

static enum osr_status guide_init(struct guide *w, struct osr_spf *s, const struct osr_request *req,
				  uint32_t n_orders, uint32_t *orders, struct osr_arena *scratch,
				  struct osr_arena *result, struct osr_routing *r,
				  struct osr_diag *diag)
{
	const struct osr_fabric *f = s->f;
	size_t n = f->n_switches;
	uint64_t sum = 0;
	enum osr_status st;

	if (!r->sl)
		r->sl = osr_calloc(result, (size_t)f->n_dests * f->n_switches, 1);
	if (!r->sl)
		return osr_fail(diag, OSR_NOMEM, "out of memory for the SLs of %u LIDs",
				f->n_dests);
	*w = (struct guide){
		.s = s, .f = f, .rank = orders, .mask = r->sl, .mcast_parent = r->mcast_parent
	};
	w->n_orders = n_orders < OSR_GUIDED_MAX ? n_orders : OSR_GUIDED_MAX;
	st = osr_cdg_init(&w->g, f, scratch, diag);
	if (st)
		return st;
	w->legal = osr_alloc(scratch, w->g.n_slots, 1);
	w->freedom = osr_alloc(scratch, f->n_channels, w->n_orders);
	w->escape = osr_alloc(scratch, n, sizeof(*w->escape));
	w->len = osr_alloc(scratch, n, sizeof(*w->len));
	w->head = osr_alloc(scratch, n + 1, sizeof(*w->head));
	w->link = osr_alloc(scratch, n, sizeof(*w->link));
	w->key = osr_alloc(scratch, n, sizeof(*w->key));
	w->waiting = osr_alloc(scratch, n, sizeof(*w->waiting));
	w->new_mask = osr_alloc(scratch, n, 1);
	w->forced = osr_alloc(scratch, n, 1);
	w->escape_hop = osr_alloc(scratch, n, 1);
	w->order = osr_alloc(scratch, n, sizeof(*w->order));
	w->detoured = osr_calloc(scratch, f->n_dests, 1);
	w->boost = 1;
	if (!w->detoured || !w->legal || !w->freedom || !w->escape || !w->len || !w->head ||
	    !w->link || !w->key || !w->waiting || !w->new_mask || !w->forced || !w->escape_hop ||
	    !w->order)
		return osr_fail(diag, OSR_NOMEM,
				"out of memory for routing within %u channel orders", w->n_orders);
	for (uint32_t c = 0; c < f->n_channels; c++)
		sum += s->weight[c] >> HOP_BITS;
	w->mean = f->n_channels ? sum / f->n_channels : 0;
	return osr_mcast_tree(s, scratch, w->escape, diag);
}

#define MAX_STALE 2
#define DETOUR_COST 10 /* to move a dest with detours takes about so many times as long */
#define MANY                                                                                       \
	20 /* 1 in so many routes without a legal way: on one lane, another order is called for */

/*
 * Rounds of routing and improving the orders, until every route is legal. Leaves the best orders
 * seen, and in *least how many routes have no legal shortest way under them; stops when it no
 * longer gets better and more than a few routes are without one: detours it will be.
 */
static enum osr_status find_orders(struct guide *w, const struct osr_guided_options *opt,
				   uint32_t *best, uint64_t *least, struct osr_arena *scratch,
				   struct osr_routing *r, struct osr_diag *diag)
{
	size_t size = (size_t)w->n_orders * w->f->n_channels * sizeof(*best);
	uint32_t stale = 0;

	*least = UINT64_MAX;
	for (uint32_t i = 1; i <= opt->rounds; i++) {
		enum osr_status st;

		route_round(w, false, r);
		stale = w->n_failed > *least - *least / 10 ? stale + 1 : 0;
		if (w->n_failed < *least) {
			*least = w->n_failed;
			memcpy(best, w->rank, size);
		}
		if (!w->n_failed || i == opt->rounds || (stale == MAX_STALE && w->n_failed > FEW))
			break;
		w->boost = 1u << i < MAX_BOOST ? 1u << i : MAX_BOOST;
		st = improve_orders(w, opt->sift_passes, scratch, diag);
		if (st)
			return st;
	}
	memcpy(w->rank, best, size);
	return OSR_OK;
}

/* How many routes have no legal shortest way in the only order, however they are chosen. */
static uint64_t count_barred(struct guide *w)
{
	const struct osr_spf *s = w->s;
	uint64_t sum = 0;

	set_legal(w);
	for (uint32_t root = 0; root < w->f->n_switches; root++) {
		uint32_t n = 0;

		for (uint32_t k = s->dest_row[root]; k < s->dest_row[root + 1]; k++)
			n += s->alias[s->dest_list[k]] == OSR_NONE;
		if (!n)
			continue;
		osr__spf_graph(w->s, root);
		sum += (uint64_t)n * osr__guided_barred(w, root, s->dest_list[s->dest_row[root]]);
	}
	return sum;
}

/*
 * One lane: where too many routes are barred in the order that was fitted to them, an order
 * searched for the pairs it serves, if it serves more.
 */
static enum osr_status try_updown(struct guide *w, const struct osr_guided_options *opt,
				  uint32_t *before, struct osr_arena *scratch,
				  struct osr_routing *r, struct osr_diag *diag)
{
	uint64_t n_routes = (uint64_t)w->f->n_dests * w->f->n_switches, n_barred = count_barred(w);
	size_t size = w->f->n_channels * sizeof(*before);
	struct osr_updown u;
	enum osr_status st;

	if (n_barred <= n_routes / MANY)
		return OSR_OK;
	st = osr_updown_search(w->s, opt->effort, scratch, &u, diag);
	if (st)
		return st;
	memcpy(before, w->rank, size);
	osr_updown_rank(&u, w->f, w->rank);
	w->exact = count_barred(w) < n_barred;
	if (!w->exact) {
		memcpy(w->rank, before, size);
		return OSR_OK;
	}
	memcpy(w->escape, u.parent, w->f->n_switches * sizeof(*w->escape));
	return r->mcast_parent ? osr_mcast_take(w->f, u.parent, scratch, r->mcast_parent, diag)
			       : OSR_OK;
}

static enum osr_status route_within(struct guide *w, const struct osr_guided_options *opt,
				    struct osr_arena *scratch, struct osr_routing *r,
				    struct osr_diag *diag)
{
	size_t size = (size_t)w->n_orders * w->f->n_channels;
	uint32_t *best = osr_alloc(scratch, size, sizeof(*best));
	uint64_t least;
	enum osr_status st;

	if (!best)
		return osr_fail(diag, OSR_NOMEM, "out of memory for the orders of %u channels",
				w->f->n_channels);
	/* One improvement at least, so that order 0 keeps the escape tree forward. */
	set_legal(w);
	keep_trees(w, UINT64_MAX);
	st = improve_orders(w, opt->sift_passes, scratch, diag);
	if (!st && w->n_orders == 1 && !w->s->product)
		st = try_updown(w, opt, best, scratch, r, diag);
	if (st)
		return st;
	if (w->exact) {
		/* The order stays: one round to balance the legal routes, one with the detours. */
		route_round(w, false, r);
		route_round(w, true, r);
		osr__guided_polish(w, opt->moves / DETOUR_COST, r);
		return OSR_OK;
	}
	st = find_orders(w, opt, best, &least, scratch, r, diag);
	if (!st && least)
		route_round(w, true, r);
	if (!st)
		osr__guided_polish(w, opt->moves / (w->n_failed ? DETOUR_COST : 1), r);
	return st;
}

enum osr_status osr_guided_route(struct osr_spf *s, const struct osr_request *req,
				 const struct osr_guided_options *opt, uint32_t *orders,
				 struct osr_arena *scratch, struct osr_arena *result,
				 struct osr_routing *r, struct osr_diag *diag)
{
	struct osr_arena_mark mark = osr_arena_mark(scratch);
	struct guide w;
	enum osr_status st = guide_init(&w, s, req, req->max_vls, orders, scratch, result, r, diag);

	if (!st)
		st = route_within(&w, opt, scratch, r, diag);
	if (!st)
		st = osr__guided_finish(&w, req, opt->reversible, scratch, result, r, diag);
	osr_arena_reset(scratch, mark);
	return st;
}

enum osr_status osr_guided_keep(struct osr_spf *s, const struct osr_request *req,
				const struct osr_guided_options *opt, bool mend, uint32_t *orders,
				struct osr_arena *scratch, struct osr_arena *result,
				struct osr_routing *r, bool *kept, struct osr_diag *diag)
{
	struct osr_arena_mark mark = osr_arena_mark(scratch);
	struct guide w;
	enum osr_status st = guide_init(&w, s, req, req->max_vls, orders, scratch, result, r, diag);

	*kept = false;
	if (!st) {
		set_legal(&w);
		keep_trees(&w, mend ? UINT64_MAX : 0);
		*kept = w.n_failed == 0 || mend;
	}
	if (!st && w.n_failed && mend)
		mend_trees(&w, r);
	if (*kept)
		st = osr__guided_finish(&w, req, opt->reversible, scratch, result, r, diag);
	osr_arena_reset(scratch, mark);
	return st;
}

#define MAX_REPAIR_BOOST 1024
#define A_HANDFUL 700 /* 1 in so many */
#define ALWAYS_TOLERATED 2000 /* routes to repair that cost next to nothing */

/* Rounds of repair until all is legal, or it no longer gets better by a quarter. */
static enum osr_status repair(struct guide *w, const struct osr_guided_options *opt,
			      uint64_t tolerated, struct osr_arena *scratch, struct osr_diag *diag)
{
	uint64_t before = UINT64_MAX, few = (uint64_t)w->f->n_dests * w->f->n_switches / A_HANDFUL;

	set_legal(w);
	keep_trees(w, tolerated);
	for (uint32_t i = 0; w->n_failed && w->n_failed <= tolerated && i < opt->rounds; i++) {
		enum osr_status st;

		repair_round(w);
		/* A handful is worth going on for, even if some rounds bring nothing. */
		if (!w->n_failed || (w->n_failed > few && w->n_failed > before - before / 4))
			break;
		before = w->n_failed;
		w->boost = 2u << i < MAX_REPAIR_BOOST ? 2u << i : MAX_REPAIR_BOOST;
		/*
		 * Only the last order has to change: it is where the routes without one are
		 * counted.
		 */
		if (i + 1 < opt->rounds &&
		    (st = improve_order(w, w->n_orders - 1, opt->sift_passes, scratch, diag)))
			return st;
	}
	return OSR_OK;
}

static bool reroute_legal(void *ctx, uint32_t root, uint32_t d)
{
	return osr__guided_settle(ctx, root, d, 0) == 0;
}

enum osr_status osr_guided_reduce(struct osr_spf *s, const struct osr_request *req,
				  const struct osr_guided_options *opt, uint32_t n_orders,
				  uint32_t tolerance, const uint32_t *orders,
				  struct osr_arena *scratch, struct osr_arena *result,
				  struct osr_routing *r, bool *fits, struct osr_diag *diag)
{
	const struct osr_fabric *f = s->f;
	struct osr_arena_mark mark = osr_arena_mark(scratch), before = osr_arena_mark(result);
	size_t size = (size_t)f->n_dests * f->n_switches, m = f->n_channels;
	uint8_t *hop = osr_alloc(scratch, size, 1);
	uint32_t *rank = osr_alloc(scratch, n_orders * m, sizeof(*rank));
	uint64_t *weight = osr_alloc(scratch, m, sizeof(*weight));
	struct osr_routing reduced = *r;
	enum osr_status st = OSR_NOMEM;
	struct guide w;

	*fits = false;
	reduced.claims = 0;
	reduced.sl = osr_calloc(result, size, 1);
	if (!hop || !rank || !weight || !reduced.sl) {
		osr_fail(diag, OSR_NOMEM, "out of memory for fewer lanes");
		goto out;
	}
	memcpy(hop, s->hop, size);
	memcpy(weight, s->weight, m * sizeof(*weight));
	memcpy(rank, orders, n_orders * m * sizeof(*rank));
	st = guide_init(&w, s, req, n_orders, rank, scratch, result, &reduced, diag);
	if (!st)
		st = repair(&w, opt, size / tolerance + ALWAYS_TOLERATED, scratch,
			    diag);
	if (st)
		goto out;
	*fits = w.n_failed == 0;
	if (*fits) {
		/* What was routed again went where it was legal, not where there was room. */
		osr__spf_polish(s, opt->moves, &(struct osr__spf_mover){ &w, reroute_legal, NULL });
		keep_trees(&w, UINT64_MAX);
		st = osr__guided_finish(&w, req, opt->reversible, scratch, result, &reduced, diag);
		*r = reduced;
	} else {
		memcpy(s->hop, hop, size);
		memcpy(s->weight, weight, m * sizeof(*weight));
	}
out:
	if (!*fits)
		osr_arena_reset(result, before);
	osr_arena_reset(scratch, mark);
	return st;
}

/*
 * A topological order puts channels that are not in use anywhere. Those with a parallel channel in
 * use get its place, so that routes may move from one to the other.
 */
static void place_idle(struct guide *w)
{
	const struct osr_fabric *f = w->f;
	uint8_t *used =
		w->freedom; /* [n_channels], not needed by osr__guided_settle() at price 0 */

	memset(used, 0, f->n_channels);
	for (size_t d = 0; d < f->n_dests; d++)
		for (uint32_t v = 0; v < f->n_switches; v++)
			if (w->s->hop[d * f->n_switches + v] != OSR_NO_PATH)
				used[f->chan_row[v] + w->s->hop[d * f->n_switches + v]] = 1;
	for (uint32_t v = 0; w->mcast_parent && v < f->n_switches; v++)
		if (w->mcast_parent[v] != OSR_NONE)
			used[w->mcast_parent[v]] = used[f->chan_rev[w->mcast_parent[v]]] = 1;
	for (uint32_t c = 0; c < f->n_channels; c++) {
		uint32_t v = f->chan_src[c];

		for (uint32_t o = f->chan_row[v]; o < f->chan_row[v + 1] && !used[c]; o++) {
			if (f->chan_dst[o] != f->chan_dst[c] || !used[o])
				continue;
			w->rank[c] = w->rank[o];
			break;
		}
	}
}

/*
 * Routes a dest again within the order; if that leaves anybody without a route, it keeps the tree
 * it had.
 */
static void refine_dest(struct guide *w, uint32_t root, uint32_t d, uint8_t *saved)
{
	struct osr_spf *s = w->s;
	size_t n = w->f->n_switches;
	const uint16_t *order = s->order + root * n;
	uint8_t *hop = s->hop + d * n;

	memcpy(saved, hop, n);
	osr__spf_count(s, order, s->n_order[root], hop, (uint64_t)-1);
	if (osr__guided_settle(w, root, d, 0))
		memcpy(hop, saved, n);
	osr__spf_count(s, order, s->n_order[root], hop, 1);
}

enum osr_status osr_guided_refine(struct osr_spf *s, const struct osr_request *req,
				  const struct osr_spf_options *opt, uint32_t *rank,
				  struct osr_arena *scratch, struct osr_arena *result,
				  struct osr_routing *r, struct osr_diag *diag)
{
	const struct osr_fabric *f = s->f;
	struct osr_arena_mark mark = osr_arena_mark(scratch), before = osr_arena_mark(result);
	uint8_t *saved = osr_alloc(scratch, f->n_switches, 1);
	struct guide w;
	enum osr_status st = guide_init(&w, s, req, 1, rank, scratch, result, r, diag);

	if (!st && !saved)
		st = osr_fail(diag, OSR_NOMEM,
			      "out of memory for balancing within a channel order");
	if (!st) {
		place_idle(&w);
		set_legal(&w);
	}
	for (uint32_t round = 0; !st && round < opt->max_rounds; round++) {
		for (uint32_t root = 0; root < f->n_switches; root++) {
			bool found = false;

			for (uint32_t k = s->dest_row[root]; k < s->dest_row[root + 1]; k++) {
				uint32_t d = s->dest_list[k];

				if (!f->term_weight[f->dest_term[d]])
					continue;
				if (!found)
					osr__spf_graph(s, root);
				found = true;
				refine_dest(&w, root, d, saved);
			}
		}
		s->n_rounds++;
	}
	if (!st)
		osr__spf_polish(s, opt->max_moves,
				&(struct osr__spf_mover){ &w, reroute_legal, NULL });
	osr__spf_share(s);
	r->sl = NULL; /* the masks: on one VL any SL will do */
	osr_arena_reset(result, before);
	osr_arena_reset(scratch, mark);
	return st;
}

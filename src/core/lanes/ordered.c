/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * See ordered.h. From the outside in:
 *	osr_ordered_route()	rounds; then SLs and certificate
 *	osr_ordered_keep()	the same for trees that are given (dor.c)
 *	improve_orders()	  the channel orders for the routes made under them
 *	ordered_route_dest()		  one tree: rip up, settle at several prices, count
 *	ordered_tree.c		    shortest routes and their masks
 *	legal_tree.c		    prices; last round: whatever is left, over longer legal routes;
 *				    single LIDs off the most loaded channel
 *	ordered_lanes.c		  SLs and certificate
 */
#include <string.h>

#include "core/paths/mcast.h"
#include "core/lanes/updown.h"

#include "ordered_private.h"

#define MAX_BOOST 16 /* weight of routes without a legal way, after some rounds */
#define FEW 100      /* routes worth going on for, even if some rounds bring nothing */

/* ---- orders ---------------------------------------------------------------------------------- */

static void set_legal(struct guide *w)
{
	const struct osr_fabric *fabric = w->t.f;

	memset(w->legal, 0, w->g.n_slots);
	for (uint32_t k = 0; k < w->n_orders; k++) {
		const uint32_t *rank = w->rank + (size_t)k * fabric->n_channels;

		for (uint32_t c = 0; c < fabric->n_channels; c++) {
			const uint32_t *next = rank + fabric->chan_row[fabric->chan_dst[c]];

			for (uint32_t e = w->g.row[c]; e < w->g.row[c + 1]; e++)
				w->legal[e] |= (uint8_t)((rank[c] < next[e - w->g.row[c]]) << k);
		}
	}
}

static void set_freedom(struct guide *w)
{
	const struct osr_fabric *fabric = w->t.f;

	for (uint32_t v = 0; v < fabric->n_switches; v++) {
		uint32_t row = fabric->chan_row[v], end = fabric->chan_row[v + 1];

		for (uint32_t c = row; c < end; c++) {
			for (uint32_t k = 0; k < w->n_orders; k++) {
				uint32_t n = 0;

				for (uint32_t o = row; o < end; o++)
					n += o != c &&
					     (w->legal[w->g.row[fabric->chan_rev[o]] + c - row] >>
						      k &
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
	const struct osr_fabric *fabric = w->t.f;
	const struct osr_spf *spf = w->t.s;
	uint32_t n = fabric->n_switches, *count = spf->scratch->count;

	memset(w->g.weight, 0, w->g.n_slots * sizeof(*w->g.weight));
	for (uint32_t d = 0; d < fabric->n_dests; d++) {
		const uint8_t *hop = spf->hop + (size_t)d * n, *mask = w->mask + (size_t)d * n;
		uint32_t root = fabric->dest_switch[d];
		const uint16_t *order = spf->order + (size_t)root * n;

		if (spf->alias[d] != OSR_NONE)
			continue;
		for (uint32_t v = 0; v < n; v++) {
			uint32_t lowest =
				mask[v] ? (uint32_t)__builtin_ctz(mask[v]) : w->n_orders - 1;

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
	if (tree)
		osr_mcast_depend(tree, &w->g);
}

static enum osr_status improve_order(struct guide *w, uint32_t k)
{
	weigh_order(w, k, k == 0 ? w->t.escape : NULL);
	return osr_cdg_order(&w->g, w->t.s->center, w->work->scratch,
			     w->rank + (size_t)k * w->t.f->n_channels, w->work->diag);
}

static enum osr_status improve_orders(struct guide *w)
{
	enum osr_status st = OSR_OK;

	for (uint32_t k = 0; !st && k < w->n_orders; k++)
		st = improve_order(w, k);
	return st;
}

static void ordered_rip_up(struct guide *w, uint32_t root, uint32_t d)
{
	struct osr_spf *spf = w->t.s;
	const uint16_t *order = spf->order + (size_t)root * w->t.f->n_switches;
	const uint8_t *hop = spf->hop + (size_t)d * w->t.f->n_switches;
	uint32_t n = spf->n_order[root], ignored = 0;

	if (w->t.detoured[d]) {
		osr__legal_list(&w->t, root, hop, false);
		n = osr__legal_sort(&w->t, root, d, &ignored);
		order = w->t.order;
	}
	osr__spf_count(spf, order, n, hop, (uint64_t)-1);
	w->t.detoured[d] = 0;
}

static void ordered_route_dest(struct guide *w, uint32_t root, uint32_t d, bool last)
{
	const struct osr_fabric *fabric = w->t.f;
	struct osr_spf *spf = w->t.s;
	const uint16_t *order = spf->order + (size_t)root * fabric->n_switches;
	const uint8_t *hop = spf->hop + (size_t)d * fabric->n_switches;
	bool counts = fabric->term_weight[fabric->dest_term[d]] != 0;
	uint32_t n = spf->n_order[root], n_failed;

	if (counts)
		ordered_rip_up(w, root, d);
	n_failed = osr__legal_settle_best(&w->t, root, d);
	w->n_failed += n_failed;
	if (last && n_failed) {
		osr__legal_detour(&w->t, root, d);
		n = osr__legal_sort(&w->t, root, d, &w->work->r->n_longer);
		order = w->t.order;
		w->t.detoured[d] = 1;
	}
	if (counts)
		osr__spf_count(spf, order, n, hop, 1);
}

static void ordered_route_round(struct guide *w, bool last)
{
	const struct osr_spf *spf = w->t.s;

	set_legal(w);
	set_freedom(w);
	w->n_failed = 0;
	w->work->r->n_longer = 0;
	for (uint32_t root = 0; root < w->t.f->n_switches; root++) {
		bool found = false;

		for (uint32_t k = spf->dest_row[root]; k < spf->dest_row[root + 1]; k++) {
			if (spf->alias[spf->dest_list[k]] != OSR_NONE)
				continue;
			if (!found)
				osr__spf_graph(w->t.s, root);
			found = true;
			ordered_route_dest(w, root, spf->dest_list[k], last);
		}
	}
}

#define KEEP_AT_ONCE 16 /* dests that a thread takes */

struct keeping {
	const struct guide *w;
	uint64_t n_failed, enough;
	uint32_t next; /* dest */
};

static void ordered_keep_part(void *ctx, uint32_t i)
{
	struct keeping *x = ctx;
	struct guide mine = *x->w; /* the masks at hand are this thread's */
	uint32_t first, n = mine.t.f->n_dests;

	(void)i;
	while ((first = __atomic_fetch_add(&x->next, KEEP_AT_ONCE, __ATOMIC_RELAXED)) < n) {
		uint64_t n_failed = 0;

		for (uint32_t d = first; d < n && d - first < KEEP_AT_ONCE; d++)
			if (mine.t.s->alias[d] == OSR_NONE)
				n_failed +=
					osr__ordered_keep_tree(&mine, mine.t.f->dest_switch[d], d);
		if (__atomic_add_fetch(&x->n_failed, n_failed, __ATOMIC_RELAXED) > x->enough)
			return;
	}
}

/* All trees; or until more than `enough` routes have failed. */
static void ordered_keep_trees(struct guide *w, uint64_t enough)
{
	const struct osr_fabric *fabric = w->t.f;
	const struct osr_arena *scratch = w->work->scratch;
	struct keeping x = { .w = w, .enough = enough };

	osr_threads_run(scratch, ordered_keep_part, &x,
			osr_threads_parts(scratch, (uint64_t)fabric->n_dests * fabric->n_switches));
	w->n_failed = x.n_failed;
}

/* By the masks of d's tree: does every route to it have a VL? */
static bool tree_is_whole(const struct guide *w, uint32_t d)
{
	const struct osr_spf *spf = w->t.s;
	const uint8_t *mask = w->mask + (size_t)d * spf->f->n_switches;
	uint32_t root = spf->f->dest_switch[d];
	const uint16_t *order = spf->order + (size_t)root * spf->f->n_switches;
	bool whole = true;

	if (spf->n_order[root] == spf->f->n_switches)
		return !memchr(mask, 0, spf->f->n_switches);
	for (uint32_t i = 1; i < spf->n_order[root]; i++)
		whole &= mask[order[i]] != 0;
	return whole;
}

#define MANY_ROUTES (1u << 22) /* where it takes seconds to route all trees anew */
#define NEARLY_BUSIEST 200     /* one in so many below the largest weight */

static void mark_busy(struct osr_spf *spf)
{
	uint64_t most = 0;

	for (uint32_t c = 0; c < spf->f->n_channels; c++)
		most = most < spf->weight[c] ? spf->weight[c] : most;
	for (uint32_t c = 0; c < spf->f->n_channels; c++)
		spf->weight[c] |= spf->weight[c] > most - most / NEARLY_BUSIEST ? OSR__BUSY : 0;
}

static void clear_busy(struct osr_spf *spf)
{
	for (uint32_t c = 0; c < spf->f->n_channels; c++)
		spf->weight[c] &= ~OSR__BUSY;
}

/*
 * Routes again the dests whose trees are not legal as they stand. `patch`: only the switches without a
 * legal route go on another way, and the busiest channels get no more routes.
 */
static void repair_round(struct guide *w, bool patch)
{
	struct osr_spf *spf = w->t.s;
	const struct osr_fabric *fabric = spf->f;

	set_freedom(w);
	if (patch)
		mark_busy(spf);
	w->n_failed = 0;
	for (uint32_t root = 0; root < fabric->n_switches; root++) {
		const uint16_t *order = spf->order + (size_t)root * fabric->n_switches;
		bool found = patch;

		for (uint32_t k = spf->dest_row[root]; k < spf->dest_row[root + 1]; k++) {
			uint32_t d = spf->dest_list[k];
			const uint8_t *hop = spf->hop + (size_t)d * fabric->n_switches;
			bool counts = fabric->term_weight[fabric->dest_term[d]] != 0;

			if (spf->alias[d] != OSR_NONE || tree_is_whole(w, d))
				continue;
			if (!found)
				osr__spf_graph(spf, root);
			found = true;
			if (counts)
				osr__spf_count(spf, order, spf->n_order[root], hop, (uint64_t)-1);
			w->n_failed += patch ? osr__ordered_patch(w, root, d)
					     : osr__legal_settle_best(&w->t, root, d);
			if (counts)
				osr__spf_count(spf, order, spf->n_order[root], hop, 1);
		}
	}
	if (patch)
		clear_busy(spf);
}

/* Gives the dests that ordered_keep_trees() found wanting their detours. */
static void mend_trees(struct guide *w)
{
	const struct osr_fabric *fabric = w->t.f;
	struct osr_spf *spf = w->t.s;

	for (uint32_t d = 0; d < fabric->n_dests; d++) {
		const uint8_t *hop = spf->hop + (size_t)d * fabric->n_switches;
		const uint8_t *mask = w->mask + (size_t)d * fabric->n_switches;
		uint32_t root = fabric->dest_switch[d], n = spf->n_order[root];
		const uint16_t *order = spf->order + (size_t)root * fabric->n_switches;
		bool counts = fabric->term_weight[fabric->dest_term[d]] != 0, whole = true;

		for (uint32_t v = 0; v < fabric->n_switches; v++)
			whole &= mask[v] != 0;
		if (spf->alias[d] != OSR_NONE || whole)
			continue;
		if (counts)
			osr__spf_count(spf, order, n, hop, (uint64_t)-1);
		osr__ordered_aim(w, d);
		osr__legal_detour(&w->t, root, d);
		n = osr__legal_sort(&w->t, root, d, &w->work->r->n_longer);
		if (counts)
			osr__spf_count(spf, w->t.order, n, hop, 1);
	}
}

static enum osr_status guide_init(struct guide *w, const struct osr_lane_work *work,
				  uint32_t n_orders, uint32_t *orders)
{
	struct osr_spf *spf = work->s;
	const struct osr_fabric *fabric = spf->f;
	struct osr_arena *scratch = work->scratch;
	struct osr_routing *routing = work->r;
	struct osr_diag *diag = work->diag;
	uint32_t k_max;
	enum osr_status st;

	if (!routing->sl)
		routing->sl =
			osr_calloc(work->result, (size_t)fabric->n_dests * fabric->n_switches, 1);
	if (!routing->sl)
		return osr_fail(diag, OSR_NOMEM, "out of memory for the SLs of %u LIDs",
				fabric->n_dests);
	k_max = n_orders < OSR_ORDERED_MAX ? n_orders : OSR_ORDERED_MAX;
	*w = (struct guide){ .t = { .s = spf,
				    .f = fabric,
				    .over = osr__ordered_over,
				    .settle = osr__ordered_settle,
				    .all = (uint8_t)((1u << k_max) - 1) },
			     .work = work,
			     .n_orders = k_max,
			     .rank = orders,
			     .mask = routing->sl,
			     .mcast_parent = routing->mcast_parent,
			     .boost = 1 };
	st = osr_cdg_init(&w->g, fabric, scratch, diag);
	if (st)
		return st;
	w->legal = osr_alloc(scratch, w->g.n_slots, 1);
	w->freedom = osr_alloc(scratch, fabric->n_channels, w->n_orders);
	if (!w->legal || !w->freedom || !osr__legal_alloc(&w->t, scratch))
		return osr_fail(diag, OSR_NOMEM,
				"out of memory for routing within %u channel orders", w->n_orders);
	osr__legal_set_mean(&w->t);
	return osr_mcast_tree(spf, scratch, w->t.escape, diag);
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
static enum osr_status ordered_find_orders(struct guide *w, const struct osr_ordered_options *opt,
					   uint32_t *best, uint64_t *least)
{
	size_t size = (size_t)w->n_orders * w->t.f->n_channels * sizeof(*best);
	uint32_t stale = 0;

	*least = UINT64_MAX;
	for (uint32_t i = 1; i <= opt->rounds; i++) {
		enum osr_status st;

		ordered_route_round(w, false);
		stale = w->n_failed > *least - *least / 10 ? stale + 1 : 0;
		if (w->n_failed < *least) {
			*least = w->n_failed;
			memcpy(best, w->rank, size);
		}
		if (!w->n_failed || i == opt->rounds || (stale == MAX_STALE && w->n_failed > FEW))
			break;
		w->boost = 1u << i < MAX_BOOST ? 1u << i : MAX_BOOST;
		st = improve_orders(w);
		if (st)
			return st;
	}
	memcpy(w->rank, best, size);
	return OSR_OK;
}

/* How many routes have no legal shortest way in the only order, however they are chosen. */
static uint64_t count_barred(struct guide *w)
{
	const struct osr_spf *spf = w->t.s;
	uint64_t sum = 0;

	set_legal(w);
	for (uint32_t root = 0; root < w->t.f->n_switches; root++) {
		uint32_t n = 0;

		for (uint32_t k = spf->dest_row[root]; k < spf->dest_row[root + 1]; k++)
			n += spf->alias[spf->dest_list[k]] == OSR_NONE;
		if (!n)
			continue;
		osr__spf_graph(w->t.s, root);
		sum += (uint64_t)n *
		       osr__ordered_barred(w, root, spf->dest_list[spf->dest_row[root]]);
	}
	return sum;
}

/*
 * One lane: where too many routes are barred in the order that was fitted to them, an order
 * searched for the pairs it serves, if it serves more.
 */
static enum osr_status try_updown(struct guide *w, const struct osr_ordered_options *opt,
				  uint32_t *before)
{
	const struct osr_lane_work *work = w->work;
	uint64_t n_routes = (uint64_t)w->t.f->n_dests * w->t.f->n_switches,
		 n_barred = count_barred(w);
	size_t size = w->t.f->n_channels * sizeof(*before);
	struct osr_updown updown;
	enum osr_status st;

	if (n_barred <= n_routes / MANY)
		return OSR_OK;
	st = osr_updown_search(w->t.s, OSR_UPDOWN_EFFORT, work->scratch, &updown, work->diag);
	if (st)
		return st;
	memcpy(before, w->rank, size);
	osr_updown_rank(&updown, w->t.f, w->rank);
	w->t.exact = count_barred(w) < n_barred;
	if (!w->t.exact) {
		memcpy(w->rank, before, size);
		return OSR_OK;
	}
	memcpy(w->t.escape, updown.parent, w->t.f->n_switches * sizeof(*w->t.escape));
	return work->r->mcast_parent ? osr_mcast_take(w->t.f, updown.parent, work->scratch,
						      work->r->mcast_parent, work->diag)
				     : OSR_OK;
}

/* What was tried and taken back has left its masks behind; and some trees have got shorter. */
static void ordered_polish(struct guide *w, uint32_t n_moves)
{
	const struct osr_fabric *fabric = w->t.f;

	if (!n_moves)
		return;
	w->work->r->n_longer = osr__legal_polish(&w->t, n_moves);
	for (uint32_t d = 0; d < fabric->n_dests; d++) {
		if (w->t.s->alias[d] != OSR_NONE)
			continue;
		osr__ordered_aim(w, d);
		osr__legal_list(&w->t, fabric->dest_switch[d],
				w->t.s->hop + (size_t)d * fabric->n_switches, true);
	}
}

static enum osr_status route_within(struct guide *w, const struct osr_ordered_options *opt)
{
	size_t size = (size_t)w->n_orders * w->t.f->n_channels;
	uint32_t *best = osr_alloc(w->work->scratch, size, sizeof(*best));
	uint64_t least;
	enum osr_status st;

	if (!best)
		return osr_fail(w->work->diag, OSR_NOMEM,
				"out of memory for the orders of %u channels", w->t.f->n_channels);
	/* One improvement at least, so that order 0 keeps the escape tree forward. */
	set_legal(w);
	ordered_keep_trees(w, UINT64_MAX);
	st = improve_orders(w);
	if (!st && w->n_orders == 1 && !w->t.s->product)
		st = try_updown(w, opt, best);
	if (st)
		return st;
	if (w->t.exact) {
		/* The order stays: one round to balance the legal routes, one with the detours. */
		ordered_route_round(w, false);
		ordered_route_round(w, true);
		ordered_polish(w, opt->moves / DETOUR_COST);
		return OSR_OK;
	}
	st = ordered_find_orders(w, opt, best, &least);
	if (!st && least)
		ordered_route_round(w, true);
	if (!st)
		ordered_polish(w, opt->moves / (w->n_failed ? DETOUR_COST : 1));
	return st;
}

enum osr_status osr_ordered_route(const struct osr_lane_work *work,
				  const struct osr_ordered_options *opt, uint32_t *orders)
{
	struct osr_arena_mark mark = osr_arena_mark(work->scratch);
	struct guide w;
	enum osr_status st = guide_init(&w, work, work->req->max_vls, orders);

	if (!st)
		st = route_within(&w, opt);
	if (!st)
		st = osr__ordered_finish(&w, opt->reversible);
	osr_arena_reset(work->scratch, mark);
	return st;
}

enum osr_status osr_ordered_keep(const struct osr_lane_work *work,
				 const struct osr_ordered_options *opt, bool mend, uint32_t *orders,
				 bool *kept)
{
	struct osr_arena_mark mark = osr_arena_mark(work->scratch);
	struct guide w;
	enum osr_status st = guide_init(&w, work, work->req->max_vls, orders);

	*kept = false;
	if (!st) {
		set_legal(&w);
		ordered_keep_trees(&w, mend ? UINT64_MAX : 0);
		*kept = w.n_failed == 0 || mend;
	}
	if (!st && w.n_failed && mend)
		mend_trees(&w);
	if (*kept)
		st = osr__ordered_finish(&w, opt->reversible);
	osr_arena_reset(work->scratch, mark);
	return st;
}

#define MAX_REPAIR_BOOST 1024
#define A_HANDFUL 700         /* 1 in so many */
#define ALWAYS_TOLERATED 2000 /* routes to repair that cost next to nothing */

/*
 * Rounds of repair until all is legal, or it no longer gets better by a quarter. In large fabrics with
 * several lanes, as long as it does, rounds only patch: what that leaves is little, and the next order is
 * fitted to it.
 */
static enum osr_status repair(struct guide *w, const struct osr_ordered_options *opt,
			      uint64_t tolerated)
{
	uint64_t before = UINT64_MAX, n_routes = (uint64_t)w->t.f->n_dests * w->t.f->n_switches,
		 few = n_routes / A_HANDFUL;
	bool patch = n_routes >= MANY_ROUTES && w->n_orders > 1, stuck;

	set_legal(w);
	ordered_keep_trees(w, tolerated);
	for (uint32_t i = 0; w->n_failed && w->n_failed <= tolerated && i < opt->rounds; i++) {
		enum osr_status st;

		if (i) {
			set_legal(w);
			ordered_keep_trees(w, UINT64_MAX);
		}
		repair_round(w, patch);
		/* A handful is worth going on for, even if some rounds bring nothing. */
		stuck = w->n_failed > before - before / 4;
		if (!w->n_failed || (w->n_failed > few && stuck && !patch))
			break;
		patch = patch && !stuck && i + 2 < opt->rounds;
		before = w->n_failed;
		w->boost = !patch && 2u << i < MAX_REPAIR_BOOST ? 2u << i : MAX_REPAIR_BOOST;
		/*
		 * Only the last order has to change: it is where the routes without one are
		 * counted.
		 */
		if (i + 1 < opt->rounds && (st = improve_order(w, w->n_orders - 1)))
			return st;
	}
	return OSR_OK;
}

static bool reroute_legal(void *ctx, uint32_t root, uint32_t d)
{
	return osr__ordered_settle(ctx, root, d, 0) == 0;
}

enum osr_status osr_ordered_reduce(const struct osr_lane_work *work,
				   const struct osr_ordered_options *opt, uint32_t n_orders,
				   uint32_t tolerance, const uint32_t *orders, bool *fits)
{
	struct osr_spf *spf = work->s;
	const struct osr_fabric *fabric = spf->f;
	struct osr_arena *scratch = work->scratch, *result = work->result;
	struct osr_arena_mark mark = osr_arena_mark(scratch), before = osr_arena_mark(result);
	size_t size = (size_t)fabric->n_dests * fabric->n_switches, m = fabric->n_channels;
	uint32_t *rank = osr_alloc(scratch, n_orders * m, sizeof(*rank));
	struct osr_spf_saved saved;
	struct osr_routing reduced = *work->r;
	struct osr_lane_work within = *work;
	enum osr_status st = osr_spf_save(spf, scratch, &saved, work->diag);
	struct guide w;

	*fits = false;
	reduced.claims = 0;
	reduced.sl = osr_calloc(result, size, 1);
	if (st || osr_arena_failed(result, work->diag)) {
		st = OSR_NOMEM;
		goto out;
	}
	memcpy(rank, orders, n_orders * m * sizeof(*rank));
	within.r = &reduced;
	st = guide_init(&w, &within, n_orders, rank);
	if (!st)
		st = repair(&w, opt, size / tolerance + ALWAYS_TOLERATED);
	if (st)
		goto out;
	*fits = w.n_failed == 0;
	if (*fits) {
		/* What was routed again went where it was legal, not where there was room. */
		if (osr__spf_polish(spf, opt->moves,
				    &(struct osr__spf_mover){ &w, reroute_legal, NULL }))
			ordered_keep_trees(&w, UINT64_MAX);
		st = osr__ordered_finish(&w, opt->reversible);
		*work->r = reduced;
	} else {
		osr_spf_restore(spf, &saved);
	}
out:
	if (!*fits)
		osr_arena_reset(result, before);
	osr_arena_reset(scratch, mark);
	return st;
}

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * See search.h. From the outside in:
 *	osr__search_rounds()	 routing and improving the order in turns
 *	osr__search_route_all()	   one round
 *	osr__search_route()	     one tree: ripped up, settled, with detours
 *	search_tree.c		       shortest legal routes, longer ones
 *	search_sl.c, turn_order.c  a better order for the routes as they are
 *	osr__search_ease()	 entries off the busiest channel (moves.h), to routes that are legal, too
 */
#include "search.h"

#include <string.h>

#include "core/paths/moves.h"

/* Measured on random graphs, dragonflies and tori of scripts/bench, and on fabrics of real sites. */
static const struct {
	uint32_t boost;     /* weight of a route without a legal way */
	uint32_t few;       /* where 1 in so many has none, */
	uint32_t few_boost; /* they may weigh so much */
	uint32_t max_stale; /* rounds that gain less than 1 in 20; */
	uint32_t sl_few; /* by SL it goes on for so many routes: later rounds find ways for them */
	uint32_t sample_few; /* of a sample 1 in so many routes may have none */
} search_tuning = {
	.boost = 4,
	.few = 700,
	.few_boost = 1024,
	.max_stale = 3,
	.sl_few = 100,
	.sample_few = 10000,
};

/* ---- setting up ------------------------------------------------------------------------------ */

enum osr_status osr__search_init(struct osr__search *w, bool by_turn)
{
	size_t n = w->f->n_switches, n_nodes = w->order.n_lanes * (size_t)w->f->n_channels;
	struct osr_arena *scratch = w->scratch;
	enum osr_status st = osr_weights_init(&w->weights, w->f, scratch, w->diag);

	if (st)
		return st;
	w->order.fabric = w->f;
	w->escape = osr_alloc(scratch, n, sizeof(*w->escape));
	w->detoured = osr_calloc(scratch, w->f->n_dests, 1);
	w->len = osr_alloc(scratch, n, sizeof(*w->len));
	w->head = osr_alloc(scratch, n + 1, sizeof(*w->head));
	w->link = osr_alloc(scratch, n, sizeof(*w->link));
	w->key = osr_alloc(scratch, n, sizeof(*w->key));
	w->waiting = osr_alloc(scratch, n, sizeof(*w->waiting));
	w->new_mask = osr_alloc(scratch, n, 1);
	w->escape_hop = osr_alloc(scratch, n, 1);
	w->near_first = osr_alloc(scratch, n, sizeof(*w->near_first));
	w->saved = osr_alloc(scratch, n, 1);
	w->order.rises = osr_alloc(scratch, osr_n_turns(w->f), 1);
	if (by_turn) {
		w->order.rank = osr_alloc(scratch, n_nodes, sizeof(*w->order.rank));
		w->order.lane = osr_alloc(scratch, osr_n_turns(w->f), 1);
		w->order.to_rank = osr_alloc(scratch, osr_n_turns(w->f), sizeof(*w->order.to_rank));
		w->n_used = osr_alloc(scratch, osr_n_turns(w->f), sizeof(*w->n_used));
		w->pinned = osr_alloc(scratch, osr_n_turns(w->f), 1);
		w->mask = osr_alloc(scratch, n, 1);
	}
	w->n_sampled = UINT32_MAX;
	w->boost = 1;
	return osr_arena_failed(scratch, w->diag) ? OSR_NOMEM : OSR_OK;
}

/* ---- the sample ------------------------------------------------------------------------------ */

uint64_t osr__search_n_routes(const struct osr__search *w)
{
	uint64_t n_trees = 0;

	for (uint32_t k = 0; k < w->f->n_dests; k++)
		n_trees += osr__search_takes(w, k);
	return n_trees * w->f->n_switches;
}

/* ---- rounds ---------------------------------------------------------------------------------- */

void osr__search_use(struct osr__search *w, uint32_t d, uint32_t sign)
{
	const struct osr_fabric *fabric = w->f;
	const uint8_t *hop = w->s->hop + (size_t)d * fabric->n_switches;
	uint32_t root = fabric->dest_switch[d];
	const uint16_t *order = w->s->order + (size_t)root * fabric->n_switches;

	for (uint32_t i = w->n_used ? w->s->n_order[root] : 0; i-- > 1;) {
		uint32_t c = fabric->chan_row[order[i]] + hop[order[i]], u = fabric->chan_dst[c];

		if (u != root)
			w->n_used[w->f->turn_row[c] + hop[u]] += sign;
	}
}

void osr__search_route(struct osr__search *w, uint32_t d, enum osr__search_mode mode,
		       uint32_t *laid_out)
{
	const struct osr_fabric *fabric = w->f;
	struct osr_spf *spf = w->s;
	uint32_t root = fabric->dest_switch[d], n = spf->n_order[root], n_failed = UINT32_MAX,
		 ignored = 0;
	const uint16_t *order = spf->order + (size_t)root * fabric->n_switches;
	uint8_t *hop = spf->hop + (size_t)d * fabric->n_switches;
	bool counts = fabric->term_weight[fabric->dest_term[d]] != 0;

	if (mode != OSR__SEARCH_ALL)
		n_failed = osr__search_mark(w, d);
	if (!n_failed)
		return;
	if (*laid_out != root)
		osr__spf_graph(spf, root);
	*laid_out = root;
	if (counts)
		osr__spf_count(spf, order, n, hop, (uint64_t)-1);
	osr__search_use(w, d, (uint32_t)-1);
	if (mode != OSR__SEARCH_MEND) {
		/* Settled again, unless that leaves more without a legal route. */
		uint32_t before = n_failed;

		memcpy(w->saved, hop, fabric->n_switches);
		n_failed = osr__search_settle(w, root, d,
					      mode == OSR__SEARCH_DETOUR && w->order.n_lanes > 1);
		if (n_failed > before) {
			memcpy(hop, w->saved, fabric->n_switches);
			n_failed = osr__search_mark(w, d);
		}
	}
	w->n_failed += n_failed;
	if (mode >= OSR__SEARCH_DETOUR && n_failed) {
		osr__search_detour(w, root, d, mode == OSR__SEARCH_MEND);
		n = osr__search_trace(w, root, d, &ignored);
		order = w->near_first;
		w->detoured[d] = 1;
	}
	if (counts)
		osr__spf_count(spf, order, n, hop, 1);
	osr__search_use(w, d, 1);
}

void osr__search_route_all(struct osr__search *w, enum osr__search_mode mode)
{
	uint32_t laid_out = OSR_NONE;

	w->n_failed = 0;
	for (uint32_t k = 0; k < w->f->n_dests; k++)
		if (osr__search_takes(w, k))
			osr__search_route(w, w->s->dest_list[k], mode, &laid_out);
}

struct search_counting {
	const struct osr__search *w;
	uint64_t n_failed;
};

static void search_count_dest(void *ctx, uint32_t i, uint32_t k)
{
	struct search_counting *x = ctx;
	struct osr__search mine = *x->w; /* the masks at hand are this thread's */
	uint32_t n_failed =
		osr__search_takes(&mine, k) ? osr__search_mark(&mine, mine.s->dest_list[k]) : 0;

	(void)i;
	if (n_failed)
		__atomic_add_fetch(&x->n_failed, n_failed, __ATOMIC_RELAXED);
}

uint64_t osr__search_count_failed(const struct osr__search *w)
{
	uint64_t n_dests = w->f->n_dests;
	struct search_counting x = { .w = w };
	uint32_t n_parts = w->masks ? osr_threads_parts(w->scratch, n_dests * w->f->n_switches) : 1;

	osr_threads_share(w->scratch, search_count_dest, &x, n_parts, w->f->n_dests);
	return x.n_failed;
}

enum osr_status osr__search_rounds(struct osr__search *w, uint32_t max_rounds, bool all,
				   uint64_t most, uint64_t *least)
{
	uint64_t n_routes = osr__search_n_routes(w), few = n_routes / search_tuning.few,
		 /* What is left of a sample finds another way when all is routed. */
		tolerated = w->n_sampled != UINT32_MAX ? n_routes / search_tuning.sample_few : 0;
	struct osr_arena_mark mark = osr_arena_mark(w->scratch);
	size_t ranks_size = (size_t)w->order.n_lanes * w->f->n_channels * sizeof(*w->order.rank),
	       lanes_size = w->order.lane ? osr_n_turns(w->f) : 0;
	uint32_t stale = 0, boost_most;
	uint8_t *best_rank = osr_alloc(w->scratch, ranks_size, 1),
		*best_lane = osr_alloc(w->scratch, lanes_size, 1);
	enum osr_status st = osr_arena_failed(w->scratch, w->diag) ? OSR_NOMEM : OSR_OK;

	if (st)
		return st;
	*least = UINT64_MAX;
	w->boost = w->order.lane ? 2 : 1;
	for (uint32_t i = 1; !st; i++) {
		osr__search_route_all(w, i == 1 && all ? OSR__SEARCH_ALL : OSR__SEARCH_REPAIR);
		stale = w->n_failed > *least - *least / 20 || w->n_failed == *least ? stale + 1 : 0;
		if (w->n_failed < *least) {
			*least = w->n_failed;
			memcpy(best_rank, w->order.rank, ranks_size);
			if (w->order.lane)
				memcpy(best_lane, w->order.lane, lanes_size);
		}
		if (w->n_failed <= tolerated || w->n_failed > most ||
		    i >= (w->n_failed > few || max_rounds <= 2 ? max_rounds : OSR__SEARCH_ROUNDS) ||
		    (stale >= search_tuning.max_stale &&
		     (w->order.lane || w->n_failed > search_tuning.sl_few)))
			break;
		boost_most = w->n_failed > few ? search_tuning.boost : search_tuning.few_boost;
		w->boost = 2 * w->boost < boost_most ? 2 * w->boost : boost_most;
		st = w->order.lane ? osr__search_improve_turn(w) : osr__search_improve_sl(w);
	}
	memcpy(w->order.rank, best_rank, ranks_size);
	if (w->order.lane)
		memcpy(w->order.lane, best_lane, lanes_size);
	osr_order_set_rises(&w->order);
	osr_arena_reset(w->scratch, mark);
	return st;
}

/* ---- balance ----------------------------------------------------------------------------------- */

/* Masks of v and of all that send through it, if v sends to d by c; 0 of one of them: false, and masks are as before. */
static bool ease_may(struct osr__moves *m, uint32_t d, uint32_t v, uint32_t c, const uint32_t *list,
		     uint32_t n)
{
	struct osr__search *w = m->ctx;
	const struct osr_fabric *fabric = w->f;
	uint8_t *hop = w->s->hop + (size_t)d * fabric->n_switches, *seen = w->new_mask,
		was = hop[v];
	uint32_t root = fabric->dest_switch[d], *path = w->waiting, depth = 0;
	bool legal;

	osr__search_aim(w, d);
	memcpy(w->saved, w->mask, fabric->n_switches);
	memset(seen, 0, fabric->n_switches);
	hop[v] = (uint8_t)(c - fabric->chan_row[v]);
	for (uint32_t u = v; u != root; u = fabric->chan_dst[fabric->chan_row[u] + hop[u]])
		path[depth++] = u;
	w->mask[root] = w->order.all;
	while (depth--)
		w->mask[path[depth]] = osr__search_start(
			w, hop, root, fabric->chan_row[path[depth]] + hop[path[depth]]);
	legal = w->mask[v];
	seen[v] = 1;
	for (uint32_t i = 0; legal && i < n; i++) {
		uint32_t u = list[i], by = fabric->chan_row[u] + hop[u];

		if (seen[u] || !seen[fabric->chan_dst[by]])
			continue;
		seen[u] = 1;
		w->mask[u] = osr__search_start(w, hop, root, by);
		legal = w->mask[u];
	}
	hop[v] = was;
	w->detoured[d] |= legal && m->extra;
	if (!legal)
		memcpy(w->mask, w->saved, fabric->n_switches);
	return legal;
}

#define EASE_EXTRA 2 /* channels by which a route may get longer for balance */

void osr__search_ease(struct osr__search *w, uint64_t enough, uint64_t spare)
{
	uint32_t m = w->f->n_channels;
	struct osr__moves moves = *w->s->scratch->moves;
	uint64_t sum, mean;

	if (!m)
		return;
	moves.open = false;
	moves.place = NULL;
	moves.extra = spare ? EASE_EXTRA : 0;
	moves.spare = spare;
	moves.ctx = w;
	moves.may = ease_may;
	osr__spf_busiest(w->s, &sum);
	/* As for shortest paths: that is near enough to the mean. */
	mean = (sum + sum / 25) / m;
	osr__spf_move(w->s, &moves, mean < enough ? enough : mean);
}

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * See search.h. From the outside in:
 *	osr_search_rounds()	 routing and improving the order in turns
 *	osr_search_route_all()	   one round
 *	osr_search_route()	     one tree: ripped up, settled, with detours
 *	search_tree.c		       shortest legal routes, longer ones
 *	search_sl.c, turn_order.c  a better order for the routes as they are
 *	osr_search_ease()	 entries off the busiest channel (moves.h), to routes that are legal, too
 */
#include "search.h"

#include <string.h>

#include "core/paths/moves.h"

#include <osmroutes/each.h>

/*
 * Measured on random graphs, dragonflies and tori of scripts/study bench, and on fabrics of real sites.
 */
static const struct {
	uint32_t boost;     /* weight of a route without a legal way */
	uint32_t few;       /* where fewer than 1 route in this many has none, */
	uint32_t few_boost; /* such a route may weigh this much */
	uint32_t max_stale; /* rounds that gain less than 1 in 20; */
	/* by SL rounds go on for this many routes: later rounds find ways for them */
	uint32_t sl_few;
	uint32_t sample_few; /* of a sample 1 route in this many may have none */
} search_tuning = {
	.boost = 4,
	.few = 700,
	.few_boost = 1024,
	.max_stale = 3,
	.sl_few = 100,
	.sample_few = 10000,
};

/* ---- setting up ------------------------------------------------------------------------------ */

enum osr_status osr_search_init(struct osr_search *search, bool by_turn)
{
	size_t n = search->fabric->n_switches,
	       n_nodes = search->order.n_lanes * (size_t)search->fabric->n_channels;
	struct osr_arena *scratch = search->scratch;
	enum osr_status st =
		osr_weights_init(&search->weights, search->fabric, scratch, search->diag);

	if (st)
		return st;
	search->order.fabric = search->fabric;
	search->escape = osr_alloc(scratch, n, sizeof(*search->escape));
	search->detoured = osr_calloc(scratch, search->fabric->n_dests, 1);
	search->len = osr_alloc(scratch, n, sizeof(*search->len));
	search->head = osr_alloc(scratch, n + 1, sizeof(*search->head));
	search->link = osr_alloc(scratch, n, sizeof(*search->link));
	search->key = osr_alloc(scratch, n, sizeof(*search->key));
	search->waiting = osr_alloc(scratch, n, sizeof(*search->waiting));
	search->new_mask = osr_alloc(scratch, n, 1);
	search->escape_hop = osr_alloc(scratch, n, 1);
	osr_tree_alloc(&search->tree, search->fabric, scratch);
	search->saved = osr_alloc(scratch, n, 1);
	search->order.rises = osr_alloc(scratch, osr_n_turns(search->fabric), 1);
	if (by_turn) {
		search->order.rank = osr_alloc(scratch, n_nodes, sizeof(*search->order.rank));
		search->order.lane = osr_alloc(scratch, osr_n_turns(search->fabric), 1);
		search->order.to_rank = osr_alloc(scratch, osr_n_turns(search->fabric),
						  sizeof(*search->order.to_rank));
		search->n_used =
			osr_alloc(scratch, osr_n_turns(search->fabric), sizeof(*search->n_used));
		search->pinned = osr_alloc(scratch, osr_n_turns(search->fabric), 1);
		search->mask = osr_alloc(scratch, n, 1);
	}
	search->n_sampled = UINT32_MAX;
	search->boost = 1;
	return osr_arena_failed(scratch, search->diag) ? OSR_NOMEM : OSR_OK;
}

/* ---- the sample ------------------------------------------------------------------------------ */

uint64_t osr_search_n_routes(const struct osr_search *search)
{
	uint64_t n_trees = 0;

	OSR_EACH_DEST(k, search->fabric)
		n_trees += osr_search_takes(search, k);
	return n_trees * search->fabric->n_switches;
}

/* ---- rounds ---------------------------------------------------------------------------------- */

void osr_search_use(struct osr_search *search, uint32_t d, uint32_t sign)
{
	const struct osr_fabric *fabric = search->fabric;
	const uint8_t *hop = search->spf->hop + (size_t)d * fabric->n_switches;
	uint32_t root = fabric->dest_switch[d];
	const uint16_t *order = search->spf->order + (size_t)root * fabric->n_switches;

	if (!search->n_used)
		return;
	OSR_EACH_FAR_FIRST(v, order, search->spf->n_order[root])
	{
		uint32_t c = fabric->chan_row[v] + hop[v], u = fabric->chan_dst[c];

		if (u != root)
			search->n_used[search->fabric->turn_row[c] + hop[u]] += sign;
	}
}

void osr_search_route(struct osr_search *search, uint32_t d, enum osr_search_mode mode,
		      uint32_t *laid_out)
{
	const struct osr_fabric *fabric = search->fabric;
	struct osr_spf *spf = search->spf;
	uint32_t root = fabric->dest_switch[d], n = spf->n_order[root], n_failed = UINT32_MAX;
	const uint16_t *order = spf->order + (size_t)root * fabric->n_switches;
	uint8_t *hop = spf->hop + (size_t)d * fabric->n_switches;
	bool counts = fabric->term_weight[fabric->dest_term[d]] != 0;

	if (mode != OSR_SEARCH_ALL)
		n_failed = osr_search_mark(search, d);
	if (!n_failed)
		return;
	if (*laid_out != root)
		osr_spf_graph(spf, root);
	*laid_out = root;
	if (counts)
		osr_spf_count_order(spf, order, n, hop, (uint64_t)-1);
	osr_search_use(search, d, (uint32_t)-1);
	if (mode != OSR_SEARCH_MEND) {
		/* Settled again, unless that leaves more without a legal route. */
		uint32_t before = n_failed;

		memcpy(search->saved, hop, fabric->n_switches);
		n_failed = osr_search_settle(
			search, root, d, mode == OSR_SEARCH_DETOUR && search->order.n_lanes > 1);
		if (n_failed > before) {
			memcpy(hop, search->saved, fabric->n_switches);
			n_failed = osr_search_mark(search, d);
		}
	}
	search->n_failed += n_failed;
	if (mode >= OSR_SEARCH_DETOUR && n_failed) {
		osr_search_detour(search, root, d, mode == OSR_SEARCH_MEND);
		osr_search_trace(search, root, d);
		n = search->tree.n;
		order = search->tree.near_first;
		search->detoured[d] = 1;
	}
	if (counts)
		osr_spf_count_order(spf, order, n, hop, 1);
	osr_search_use(search, d, 1);
}

void osr_search_route_all(struct osr_search *search, enum osr_search_mode mode)
{
	uint32_t laid_out = OSR_NONE;

	search->n_failed = 0;
	OSR_EACH_DEST(k, search->fabric)
		if (osr_search_takes(search, k))
			osr_search_route(search, search->spf->dest_list[k], mode, &laid_out);
}

struct search_counting {
	const struct osr_search *search;
	uint64_t n_failed;
};

static void search_count_dest(void *ctx, uint32_t i, uint32_t k)
{
	struct search_counting *counting = ctx;
	struct osr_search mine = *counting->search; /* the masks at hand are this thread's */
	uint32_t n_failed =
		osr_search_takes(&mine, k) ? osr_search_mark(&mine, mine.spf->dest_list[k]) : 0;

	(void)i;
	if (n_failed)
		__atomic_add_fetch(&counting->n_failed, n_failed, __ATOMIC_RELAXED);
}

uint64_t osr_search_count_failed(const struct osr_search *search)
{
	uint64_t n_dests = search->fabric->n_dests;
	struct search_counting counting = { .search = search };
	uint32_t n_parts = search->masks ? osr_threads_parts(search->scratch,
							     n_dests * search->fabric->n_switches)
					 : 1;

	osr_threads_share(search->scratch, search_count_dest, &counting, n_parts,
			  search->fabric->n_dests);
	return counting.n_failed;
}

enum osr_status osr_search_rounds(struct osr_search *search, uint32_t max_rounds, bool all,
				  uint64_t most, uint64_t *least)
{
	uint64_t n_routes = osr_search_n_routes(search), few = n_routes / search_tuning.few,
		 /*
		  * Routes of a sample that have no legal way find another one when all LIDs are
		  * routed.
		  */
		tolerated =
			search->n_sampled != UINT32_MAX ? n_routes / search_tuning.sample_few : 0;
	struct osr_arena_mark mark = osr_arena_mark(search->scratch);
	size_t ranks_size = (size_t)search->order.n_lanes * search->fabric->n_channels *
			    sizeof(*search->order.rank),
	       lanes_size = search->order.lane ? osr_n_turns(search->fabric) : 0;
	uint32_t stale = 0, boost_most;
	uint8_t *best_rank = osr_alloc(search->scratch, ranks_size, 1),
		*best_lane = osr_alloc(search->scratch, lanes_size, 1);
	enum osr_status st = osr_arena_failed(search->scratch, search->diag) ? OSR_NOMEM : OSR_OK;

	if (st)
		return st;
	*least = UINT64_MAX;
	search->boost = search->order.lane ? 2 : 1;
	for (uint32_t i = 1; !st; i++) {
		osr_search_route_all(search, i == 1 && all ? OSR_SEARCH_ALL : OSR_SEARCH_REPAIR);
		stale = search->n_failed > *least - *least / 20 || search->n_failed == *least
				? stale + 1
				: 0;
		if (search->n_failed < *least) {
			*least = search->n_failed;
			memcpy(best_rank, search->order.rank, ranks_size);
			if (search->order.lane)
				memcpy(best_lane, search->order.lane, lanes_size);
		}
		if (search->n_failed <= tolerated || search->n_failed > most ||
		    i >= (search->n_failed > few || max_rounds <= 2 ? max_rounds
								    : OSR_SEARCH_ROUNDS) ||
		    (stale >= search_tuning.max_stale &&
		     (search->order.lane || search->n_failed > search_tuning.sl_few)))
			break;
		boost_most = search->n_failed > few ? search_tuning.boost : search_tuning.few_boost;
		search->boost = 2 * search->boost < boost_most ? 2 * search->boost : boost_most;
		st = search->order.lane ? osr_search_improve_turn(search)
					: osr_search_improve_sl(search);
	}
	memcpy(search->order.rank, best_rank, ranks_size);
	if (search->order.lane)
		memcpy(search->order.lane, best_lane, lanes_size);
	osr_order_set_rises(&search->order);
	osr_arena_reset(search->scratch, mark);
	return st;
}

/* ---- balance --------------------------------------------------------------------------------- */

/*
 * Sets the masks of v and of all switches that send through it, as if v sent to d by c. False: one
 * of them would be 0, and the masks are unchanged.
 */
static bool ease_may(struct osr_moves *moves, uint32_t d, uint32_t v, uint32_t c,
		     const uint16_t *list, uint32_t n)
{
	struct osr_search *search = moves->ctx;
	const struct osr_fabric *fabric = search->fabric;
	uint8_t *hop = search->spf->hop + (size_t)d * fabric->n_switches, *seen = search->new_mask,
		was = hop[v];
	uint32_t root = fabric->dest_switch[d], *path = search->waiting, depth = 0;
	bool legal;

	osr_search_aim(search, d);
	memcpy(search->saved, search->mask, fabric->n_switches);
	memset(seen, 0, fabric->n_switches);
	hop[v] = (uint8_t)(c - fabric->chan_row[v]);
	for (uint32_t u = v; u != root; u = fabric->chan_dst[fabric->chan_row[u] + hop[u]])
		path[depth++] = u;
	search->mask[root] = search->order.all;
	while (depth--)
		search->mask[path[depth]] = osr_search_start(
			search, hop, root, fabric->chan_row[path[depth]] + hop[path[depth]]);
	legal = search->mask[v];
	seen[v] = 1;
	for (uint32_t i = 0; i < n; i++) {
		if (!legal)
			break;

		uint32_t u = list[i], by = fabric->chan_row[u] + hop[u];

		if (seen[u] || !seen[fabric->chan_dst[by]])
			continue;
		seen[u] = 1;
		search->mask[u] = osr_search_start(search, hop, root, by);
		legal = search->mask[u];
	}
	hop[v] = was;
	search->detoured[d] |= legal && moves->extra;
	if (!legal)
		memcpy(search->mask, search->saved, fabric->n_switches);
	return legal;
}

#define EASE_EXTRA 2 /* channels by which a route may get longer for balance */

void osr_search_ease(struct osr_search *search, uint64_t enough, uint64_t spare)
{
	uint32_t m = search->fabric->n_channels;
	struct osr_moves moves = *search->spf->scratch->moves;
	uint64_t sum, mean;

	if (!m)
		return;
	moves.open = false;
	moves.place = NULL;
	moves.extra = spare ? EASE_EXTRA : 0;
	moves.spare = spare;
	moves.ctx = search;
	moves.may = ease_may;
	osr_spf_busiest(search->spf, &sum);
	/* As for shortest paths: that is near enough to the mean. */
	mean = (sum + sum / 25) / m;
	osr_spf_move(search->spf, &moves, mean < enough ? enough : mean);
}

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The order of the nodes (lane, channel), and the lanes of turns: see turn.h. From the outside in:
 *	osr_turn_start_updown()   two orders to start from
 *	osr_turn_start_fitted()
 *	osr_search_improve_turn()  for the routes as they are
 *	turn_weigh()		     what they weigh on each triple
 *	turn_choose_lanes()	     the lane of each turn, the order being fixed
 *	osr_fit_sift()		     the order, the lanes being fixed (fit.c)
 */
#include <osmroutes/each.h>

#include <string.h>

#include "core/route/span.h"

#include "core/order/order.h"

#include "turn.h"

/* ---- where to start -------------------------------------------------------------------------- */

/*
 * Turns of the escape tree, up and then down: the nodes to which they lead stay in place.
 * Overwrites weights.
 */
void osr_turn_pin(struct osr_search *search)
{
	memset(search->weights.weight, 0,
	       osr_n_turns(search->fabric) * sizeof(*search->weights.weight));
	osr_span_weigh(search->escape, &search->weights);
	for (uint32_t t = 0; t < osr_n_turns(search->fabric); t++)
		search->pinned[t] = search->weights.weight[t] != 0;
}

/*
 * Down on lane 0, up on lane 0, down on lane 1, up on lane 1, ...; turns into a channel that goes
 * down are on lane 1, the others on lane 0. So a path may begin with any channel, then go up, then
 * down; which turns from down to up end a path (on lane 1) is left to turn_choose_lanes().
 */
enum osr_status osr_turn_start_updown(struct osr_search *search, const struct osr_updown *updown)
{
	const struct osr_fabric *fabric = search->fabric;
	struct osr_arena *scratch = search->scratch;
	struct osr_arena_mark mark = osr_arena_mark(scratch);
	uint32_t m = fabric->n_channels, *key = osr_alloc(scratch, m, sizeof(*key)),
		 *from = osr_alloc(scratch, m, sizeof(*from)),
		 *to = osr_alloc(scratch, m, sizeof(*to));

	if (osr_arena_failed(scratch, NULL))
		return osr_turn_nomem(search->diag);
	/* Half of the channels go up, and these come second. */
	osr_span_rank(fabric, updown->place, key);
	osr_order_place(key, m, from, to, search->order.rank);
	for (uint32_t c = 0; c < m; c++)
		search->order.rank[c] = search->order.rank[c] < m / 2
						? search->order.rank[c] + m / 2
						: search->order.rank[c] - m / 2;
	for (uint32_t l = 1; l < search->order.n_lanes; l++)
		for (uint32_t c = 0; c < m; c++)
			search->order.rank[(size_t)l * m + c] = l * m + search->order.rank[c];
	OSR_EVERY_CHANNEL(c, fabric) {
		uint32_t v = fabric->chan_dst[c];

		OSR_EACH_TURN(t, search->fabric, c) {
			uint32_t next = fabric->chan_dst[fabric->chan_row[v] + t -
							 search->fabric->turn_row[c]];

			search->order.lane[t] = updown->place[next] > updown->place[v];
		}
	}
	memcpy(search->escape, updown->parent, fabric->n_switches * sizeof(*search->escape));
	osr_turn_pin(search);
	osr_order_set_rises(&search->order);
	osr_arena_reset(scratch, mark);
	return OSR_OK;
}

/*
 * By how many routes each turn is taken that have come by another one before, in
 * search->weights.weight; whether routes go on after it, as lane 1, or not, as the last lane.
 */
static void turn_count_dependencies(struct osr_search *search)
{
	const struct osr_fabric *fabric = search->fabric;
	const struct osr_spf *spf = search->spf;
	uint32_t n = fabric->n_switches, *count = spf->scratch->count;

	memset(search->weights.weight, 0,
	       osr_n_turns(search->fabric) * sizeof(*search->weights.weight));
	memset(search->order.lane, (int)search->order.n_lanes - 1, osr_n_turns(search->fabric));
	OSR_EACH_DEST(d, fabric) {
		const uint8_t *hop = spf->hop + (size_t)d * n;
		uint32_t root = fabric->dest_switch[d];
		const uint16_t *order = spf->order + (size_t)root * n;

		if (spf->alias[d] != OSR_NONE)
			continue;
		memset(count, 0, n * sizeof(*count));
		OSR_EACH_FAR_FIRST(v, order, spf->n_order[root])
		{
			uint32_t c = fabric->chan_row[v] + hop[v], u = fabric->chan_dst[c], t;

			count[u] += count[v] + 1;
			if (u == root)
				continue;
			t = search->fabric->turn_row[c] + hop[u];
			search->weights.weight[t] += count[v];
			if (fabric->chan_dst[fabric->chan_row[u] + hop[u]] != root)
				search->order.lane[t] = 1;
		}
	}
}

/*
 * Lanes by the kind of port from which packets come. Packets of end ports are on lane 0, to which
 * no turn leads, so a route's first hop is free. After a turn from which a route goes on, packets
 * are on lane 1; after a turn with which routes only end, they are on the last lane, where nothing
 * waits. Lane 1 has the order that suits the present routes. With three lanes or more the turns of
 * lane 1 have no cycle if no route has more than three channels; with two lanes, if the fabric has
 * diameter 2.
 */
enum osr_status osr_turn_start_fitted(struct osr_search *search)
{
	const struct osr_spf *spf = search->spf;
	uint32_t m = search->fabric->n_channels;
	enum osr_status st =
		osr_span_from_centers(spf, search->scratch, search->escape, search->diag);

	if (st)
		return st;
	osr_turn_pin(search);
	turn_count_dependencies(search);
	for (uint32_t t = 0; t < osr_n_turns(search->fabric); t++) {
		search->order.lane[t] = search->pinned[t] ? 1 : search->order.lane[t];
		search->weights.weight[t] =
			search->order.lane[t] == 1 ? search->weights.weight[t] : 0;
	}
	osr_span_weigh(search->escape, &search->weights);
	st = osr_fit_order(&search->weights, spf->center, search->scratch, search->order.rank,
			   search->diag);
	for (uint32_t l = 1; l < search->order.n_lanes; l++)
		for (uint32_t c = 0; c < m; c++)
			search->order.rank[(size_t)l * m + c] = l * m + search->order.rank[c];
	osr_order_set_rises(&search->order);
	return st;
}

/* ---- weights of the routes ------------------------------------------------------------------- */

#define TURN_UNIT 16 /* weight of a route; a turn that no route uses yet, but may use, weighs 1 */

/*
 * Each route on its triples, and on the turn it begins with; those without a legal way weigh more,
 * and triples that no route uses but some shortest path could, very little.
 */
static void turn_weigh(struct osr_search *search)
{
	const struct osr_fabric *fabric = search->fabric;
	const struct osr_spf *spf = search->spf;
	uint32_t n = fabric->n_switches, *count = spf->scratch->count, unit = TURN_UNIT;
	uint32_t n_triples = search->triple_row[osr_n_turns(search->fabric)];

	memset(search->weights.weight, 0,
	       osr_n_turns(search->fabric) * sizeof(*search->weights.weight));
	for (uint32_t i = 0; i < n_triples; i++)
		search->triple[i] &= 1;
	OSR_EACH_DEST(k, fabric) {
		uint32_t d = spf->dest_list[k], root = fabric->dest_switch[d];
		const uint8_t *hop = spf->hop + (size_t)d * n;
		const uint16_t *order = spf->order + (size_t)root * n;

		if (!osr_search_takes(search, k))
			continue;
		osr_search_mark(search, d);
		for (uint32_t v = 0; v < n; v++)
			count[v] = search->mask[v] ? unit : unit * search->boost;
		OSR_EACH_FAR_FIRST(v, order, spf->n_order[root])
		{
			uint32_t c0 = fabric->chan_row[v] + hop[v], u = fabric->chan_dst[c0];
			uint32_t t01, x;

			if (u == root)
				continue;
			t01 = search->fabric->turn_row[c0] + hop[u];
			x = fabric->chan_dst[fabric->chan_row[u] + hop[u]];
			search->weights.weight[t01] +=
				search->mask[v] ? unit : unit * search->boost;
			if (x != root)
				search->triple[search->triple_row[t01] + hop[x]] += count[v];
			count[u] += count[v];
		}
	}
}

/* ---- lanes ----------------------------------------------------------------------------------- */

/* Triples that begin with turn t: as many as channels go on behind it, or none. */
static inline uint32_t turn_n_triples(const struct osr_search *search, uint32_t t)
{
	return search->triple_row[t + 1] - search->triple_row[t];
}

/*
 * The weight that is backward before each turn from c1, by its lane: cost[lane * OSR_TURN_HOPS +
 * hop].
 */
static void turn_cost_before(const struct osr_search *search, uint32_t c1, uint64_t *cost)
{
	const struct osr_fabric *fabric = search->fabric;
	uint32_t v = fabric->chan_src[c1], row = fabric->chan_row[v],
		 first = fabric->chan_row[fabric->chan_dst[c1]];
	uint32_t n = search->fabric->turn_row[c1 + 1] - search->fabric->turn_row[c1];

	for (uint32_t l = 0; l < search->order.n_lanes; l++) {
		const uint32_t *rank = search->order.rank + (size_t)l * fabric->n_channels + first;
		uint64_t *sum = cost + (size_t)l * OSR_TURN_HOPS;

		for (uint32_t h = 0; h < n; h++)
			sum[h] = search->order.rank[c1] < rank[h]
					 ? 0
					 : search->weights.weight[search->fabric->turn_row[c1] + h];
		for (uint32_t o = row; o < fabric->chan_row[v + 1]; o++) {
			uint32_t t01 = search->fabric->turn_row[fabric->chan_rev[o]] + c1 - row,
				 at = search->order.to_rank[t01];
			const uint32_t *weight = search->triple + search->triple_row[t01];
			uint32_t n_after =
				search->weights.weight[t01] ? turn_n_triples(search, t01) : 0;

			for (uint32_t h = 0; h < n_after; h++)
				sum[h] += at < rank[h] ? 0 : weight[h];
		}
	}
}

/*
 * The lane of every turn that leaves the least weight backward, one after the other; prng as in
 * osr_fit_sift().
 */
static void turn_choose_lanes(struct osr_search *search, struct osr_prng *prng)
{
	const struct osr_fabric *fabric = search->fabric;

	OSR_EVERY_CHANNEL(c1, fabric) {
		uint32_t first = fabric->chan_row[fabric->chan_dst[c1]];

		turn_cost_before(search, c1, search->cost);
		OSR_EACH_TURN(t, search->fabric, c1) {
			uint32_t hop = t - search->fabric->turn_row[c1], c2 = first + hop,
				 best_lane = 0;
			/* Behind the turn, which leads to c2. */
			const uint32_t *weight = search->triple + search->triple_row[t],
				       *at = search->order.to_rank + search->fabric->turn_row[c2];
			uint32_t n_behind =
				search->weights.weight[t] ? turn_n_triples(search, t) : 0;
			uint64_t best = UINT64_MAX;

			if (search->pinned[t] || c2 == fabric->chan_rev[c1])
				continue;
			for (uint32_t l = 0; l < search->order.n_lanes; l++) {
				uint32_t rank =
					search->order.rank[(size_t)l * fabric->n_channels + c2];
				uint64_t cost = search->cost[(size_t)l * OSR_TURN_HOPS + hop];

				for (uint32_t h = 0; h < n_behind; h++)
					cost += rank < at[h] ? 0 : weight[h];
				if (cost < best ||
				    (cost == best && (prng ? osr_prng_next(prng) & 1
							   : l == search->order.lane[t]))) {
					best = cost;
					best_lane = l;
				}
			}
			search->order.lane[t] = (uint8_t)best_lane;
			search->order.to_rank[t] =
				search->order.rank[(size_t)best_lane * fabric->n_channels + c2];
		}
	}
}

/* ---- order ----------------------------------------------------------------------------------- */

struct osr_weights osr_turn_nodes(const struct osr_search *search)
{
	struct osr_weights nodes = search->weights;

	nodes.n_lanes = search->order.n_lanes;
	nodes.lane = search->order.lane;
	nodes.weight = osr_calloc(search->scratch,
				  (size_t)search->order.n_lanes * osr_n_turns(search->fabric),
				  sizeof(*nodes.weight));
	return nodes;
}

static void turn_add(uint32_t *weight, uint32_t more)
{
	*weight = more < UINT32_MAX - *weight ? *weight + more : UINT32_MAX;
}

enum osr_status osr_search_improve_turn(struct osr_search *search)
{
	struct osr_arena_mark mark = osr_arena_mark(search->scratch);
	/*
	 * Random choices among equals let the search leave local minima. Three lanes have few of
	 * them, and the orders of trees, for which all LIDs are sampled, are good as they are.
	 */
	bool draws = search->order.n_lanes <= 2 && search->n_sampled != UINT32_MAX;
	struct osr_prng start = { 3 }, *prng = draws ? &start : NULL;
	struct osr_weights nodes;

	turn_weigh(search);
	turn_choose_lanes(search, prng);
	nodes = osr_turn_nodes(search);
	if (!nodes.weight)
		return osr_turn_nomem(search->diag);
	/*
	 * A route from lane 0 of c0, and all routes that take turn t of it, to the turns behind.
	 * Turns of the escape tree must rise.
	 */
	OSR_EVERY_CHANNEL(c0, search->fabric)
		OSR_EACH_TURN(t, search->fabric, c0) {
			uint32_t c1 = osr_turn_next(search->fabric, c0, t),
				 n = turn_n_triples(search, t);
			const uint32_t *triple = search->triple + search->triple_row[t];
			uint32_t *on = nodes.weight +
				       (size_t)search->order.lane[t] * osr_n_turns(search->fabric);

			turn_add(&nodes.weight[t],
				 search->pinned[t] ? UINT32_MAX : search->weights.weight[t]);
			for (uint32_t next = search->fabric->turn_row[c1];
			     (search->weights.weight[t] || search->pinned[t]) &&
			     next < search->fabric->turn_row[c1 + 1];
			     next++)
				turn_add(&on[next],
					 search->pinned[t] && search->pinned[next] ? UINT32_MAX
					 : n ? triple[next - search->fabric->turn_row[c1]]
					     : 0);
		}
	if (!osr_fit_sift(&nodes, prng, search->scratch, search->order.rank))
		return osr_turn_nomem(search->diag);
	osr_arena_reset(search->scratch, mark);
	osr_order_set_rises(&search->order);
	return OSR_OK;
}

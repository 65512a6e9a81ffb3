/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include <osmroutes/each.h>

#include "core/order/order.h"

#include <stdlib.h>
#include <string.h>

/* ---- for searches ---------------------------------------------------------------------------- */

static void order_set_turn(struct osr_order *order, uint32_t c0, uint32_t turn)
{
	size_t m = order->fabric->n_channels;
	uint32_t c1 = osr_turn_next(order->fabric, c0, turn);
	uint8_t rises = 0;

	for (uint32_t l = 0; l < order->n_lanes; l++) {
		uint32_t next = order->lane ? order->lane[turn] : l;

		rises |= (uint8_t)((order->rank[l * m + c0] < order->rank[next * m + c1]) << l);
	}
	order->rises[turn] = rises;
	if (order->lane)
		order->to_rank[turn] = order->rank[order->lane[turn] * m + c1];
}

void osr_order_set_rises(struct osr_order *order)
{
	const struct osr_fabric *fabric = order->fabric;

	order->all = (uint8_t)((1u << order->n_lanes) - 1);
	OSR_EVERY_CHANNEL(c, fabric)
		OSR_EACH_TURN(turn, fabric, c)
			order_set_turn(order, c, turn);
}

void osr_order_relabel(struct osr_order *order, uint32_t c0, uint32_t c1, uint8_t lane)
{
	uint32_t turn = osr_turn(order->fabric, c0, c1);

	order->lane[turn] = lane;
	order_set_turn(order, c0, turn);
}

/* ---- known orders ---------------------------------------------------------------------------- */

void osr_order_number(const struct osr_fabric *fabric, const uint32_t *roots, uint32_t *place,
		      uint32_t *by_place)
{
	uint32_t head = 0, tail = 0;

	memset(place, 0xff, fabric->n_switches * sizeof(*place));
	for (uint32_t k = 0; k < fabric->n_components; k++) {
		place[roots[k]] = tail;
		by_place[tail++] = roots[k];
		for (; head < tail; head++) {
			uint32_t v = by_place[head];

			OSR_EACH_CHANNEL(c, fabric, v) {
				uint32_t u = fabric->chan_dst[c];

				if (place[u] != OSR_NONE)
					continue;
				place[u] = tail;
				by_place[tail++] = u;
			}
		}
	}
}

/* ---- an order that grows --------------------------------------------------------------------- */

/*
 * Searches may look at this many nodes for each node; then no node moves any more, which bounds the
 * time.
 */
#define ORDER_WORK 256

static int order_by_number(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

/*
 * The ranks of everything reachable from `start`, or with `back` of everything that reaches it,
 * ranked no further than `end`, ascending in list[]. Until then list[] holds the nodes already
 * looked at from the front, and the nodes that wait for it from the rear. Returns their number, or
 * 0 if `end` itself is reached.
 */
static uint32_t order_reach(struct osr_order *order, uint32_t start, uint32_t end, bool back,
			    uint32_t *list)
{
	const struct osr_fabric *fabric = order->fabric;
	uint32_t m = fabric->n_channels, n_nodes = order->n_lanes * m, n = 0, waits = n_nodes,
		 limit = order->rank[end];
	bool found = false;

	list[--waits] = start;
	order->seen[start] = 1;
	while (waits < n_nodes && !found) {
		uint32_t node = list[waits++], c = node % m, l = node / m,
			 s = back ? fabric->chan_src[c] : fabric->chan_dst[c];

		list[n++] = node;
		order->work++;
		OSR_EACH_CHANNEL(o, fabric, s) {
			uint32_t far = back ? fabric->chan_rev[o] : o;
			uint32_t turn = back ? osr_turn(fabric, far, c) : osr_turn(fabric, c, far);
			uint16_t used = order->used[turn], lanes = 0;

			/* The lanes of the far channel whose nodes the turn joins with this one. */
			if (order->lane && back)
				lanes = order->lane[turn] == l ? used : 0;
			else if (!order->vl)
				lanes = osr_order_next(order, turn, used & (uint16_t)(1u << l));
			for (; order->vl && used; used &= (uint16_t)(used - 1)) {
				uint32_t class = (uint32_t)__builtin_ctz(used);

				if (osr_order_lane(order, class, c) == l)
					lanes |=
						(uint16_t)(1u << osr_order_lane(order, class, far));
			}
			for (; lanes && !found; lanes &= (uint16_t)(lanes - 1)) {
				uint32_t next = (uint32_t)__builtin_ctz(lanes) * m + far,
					 rank = order->rank[next];

				found = next == end;
				if (found || order->seen[next] ||
				    (back ? rank < limit : rank > limit))
					continue;
				order->seen[next] = 1;
				list[--waits] = next;
			}
		}
	}
	for (uint32_t k = waits; k < n_nodes; k++)
		order->seen[list[k]] = 0;
	for (uint32_t k = 0; k < n; k++) {
		order->seen[list[k]] = 0;
		list[k] = order->rank[list[k]];
	}
	if (found)
		return 0;
	qsort(list, n, sizeof(*list), order_by_number);
	return n;
}

void osr_order_place(const uint32_t *keys, uint32_t n, uint32_t *from, uint32_t *to, uint32_t *rank)
{
	uint32_t count[256];

	for (uint32_t i = 0; i < n; i++)
		from[i] = i;
	if (n)
		for (unsigned shift = 0; shift < 32; shift += 8) {
			uint32_t sum = 0, *swap = from;

			memset(count, 0, sizeof(count));
			for (uint32_t i = 0; i < n; i++)
				count[keys[i] >> shift & 0xff]++;
			if (count[keys[0] >> shift & 0xff] == n)
				continue;
			for (uint32_t i = 0; i < 256; i++) {
				uint32_t k = count[i];

				count[i] = sum;
				sum += k;
			}
			for (uint32_t i = 0; i < n; i++)
				to[count[keys[from[i]] >> shift & 0xff]++] = from[i];
			from = to;
			to = swap;
		}
	for (uint32_t i = 0; i < n; i++)
		rank[from[i]] = i;
}

enum osr_status osr_order_init(struct osr_order *order, const struct osr_fabric *fabric,
			       uint32_t n_lanes, bool by_turn, const uint32_t *keys,
			       uint32_t longest, struct osr_arena *scratch, struct osr_diag *diag)
{
	uint32_t m = fabric->n_channels, n_nodes = n_lanes * m, n_turns = osr_n_turns(fabric);

	*order = (struct osr_order){ .fabric = fabric,
				     .n_lanes = n_lanes,
				     .max_log = longest,
				     .max_work = (uint64_t)ORDER_WORK * n_lanes * m };
	order->used = osr_calloc(scratch, n_turns, sizeof(*order->used));
	order->never = osr_calloc(scratch, n_turns, sizeof(*order->never));
	order->lane = by_turn ? osr_calloc(scratch, n_turns, 1) : NULL;
	order->log = osr_alloc(scratch, longest, sizeof(*order->log));
	order->rank = osr_alloc(scratch, n_nodes, sizeof(*order->rank));
	order->after = osr_alloc(scratch, n_nodes, sizeof(*order->after));
	order->before = osr_alloc(scratch, n_nodes, sizeof(*order->before));
	order->at = osr_alloc(scratch, n_nodes, sizeof(*order->at));
	order->seen = osr_calloc(scratch, n_nodes, 1);
	if (osr_arena_failed(scratch, diag))
		return OSR_NOMEM;
	osr_order_place(keys, n_nodes, order->after, order->before, order->rank);
	for (uint32_t k = 0; k < n_nodes; k++)
		order->at[order->rank[k]] = k;
	return OSR_OK;
}

static bool order_log(struct osr_order *order, uint32_t turn)
{
	if (order->n_log == order->max_log)
		return false;
	order->log[order->n_log++] = (struct osr_order_step){
		.turn = turn, .used = order->used[turn], .lane = order->lane ? order->lane[turn] : 0
	};
	return true;
}

bool osr_order_add(struct osr_order *order, uint32_t c1, uint32_t c2, uint16_t lanes)
{
	uint32_t turn = osr_turn(order->fabric, c1, c2), mark = order->n_log,
		 m = order->fabric->n_channels, *after = order->after, *before = order->before,
		 n_after, n_before, n;
	uint16_t fresh = lanes & (uint16_t)~order->used[turn];
	/*
	 * Is every turn with which this one may close a cycle there for good, its own lane
	 * included?
	 */
	bool final = !mark && (!order->lane || order->used[turn]);

	if (!fresh)
		return true;
	if (fresh & order->never[turn] || !order_log(order, turn))
		return false;
	for (; fresh; fresh &= (uint16_t)(fresh - 1)) {
		uint32_t l = (uint32_t)__builtin_ctz(fresh),
			 tail = osr_order_lane(order, l, c1) * m + c1,
			 head = (order->lane ? order->lane[turn] : osr_order_lane(order, l, c2)) *
					m +
				c2;
		uint16_t bit = (uint16_t)(1u << l);
		bool falls = order->rank[tail] >= order->rank[head],
		     idle = order->work > order->max_work;

		n_after = falls && !idle && tail != head
				  ? order_reach(order, head, tail, false, after)
				  : 0;
		/*
		 * Nodes may have moved for an earlier lane. That does no harm, because all used
		 * turns still rise.
		 */
		if (falls && !n_after) {
			order->never[turn] |= final && !idle ? bit : 0;
			osr_order_undo(order, mark);
			return false;
		}
		if (falls) {
			/*
			 * Both lists keep their inner order; all of before[] comes before all of
			 * after[]. Without a cycle the head does not reach the tail.
			 */
			n_before = order_reach(order, tail, head, true, before);
			n = n_before + n_after;
			memcpy(before + n_before, after, n_after * sizeof(*after));
			memcpy(after, before, n * sizeof(*before));
			qsort(after, n, sizeof(*after), order_by_number);
			for (uint32_t k = 0; k < n; k++)
				before[k] = order->at[before[k]];
			for (uint32_t k = 0; k < n; k++) {
				order->rank[before[k]] = after[k];
				order->at[after[k]] = before[k];
			}
		}
		order->used[turn] |= bit;
		final &= !order->lane; /* of other lanes the graph knows nothing of this one */
	}
	return true;
}

bool osr_order_set_lane(struct osr_order *order, uint32_t turn, uint8_t lane)
{
	if (!order_log(order, turn))
		return false;
	order->lane[turn] = lane;
	return true;
}

void osr_order_undo(struct osr_order *order, uint32_t n_log)
{
	while (order->n_log > n_log) {
		const struct osr_order_step *was = &order->log[--order->n_log];

		order->used[was->turn] = was->used;
		if (order->lane)
			order->lane[was->turn] = was->lane;
	}
}

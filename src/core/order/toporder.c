/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "core/order/toporder.h"

/* Heapsort of vertices by key: no memory, no worst case. */
static void toporder_sift_down(uint32_t *list, uint32_t at, uint32_t n, const uint32_t *key)
{
	for (;;) {
		uint32_t child = 2 * at + 1, x;

		if (child >= n)
			return;
		if (child + 1 < n && key[list[child]] < key[list[child + 1]])
			child++;
		if (key[list[at]] >= key[list[child]])
			return;
		x = list[at];
		list[at] = list[child];
		list[child] = x;
		at = child;
	}
}

static void toporder_sort(uint32_t *list, uint32_t n, const uint32_t *key)
{
	for (uint32_t i = n / 2; i-- > 0;)
		toporder_sift_down(list, i, n, key);
	for (uint32_t i = n; i-- > 1;) {
		uint32_t x = list[0];

		list[0] = list[i];
		list[i] = x;
		toporder_sift_down(list, 0, i, key);
	}
}

enum osr_status osr_toporder_init(struct osr_toporder *order, struct osr_arena *scratch,
				  struct osr_diag *diag)
{
	size_t n = order->n;

	order->after = osr_alloc(scratch, n, sizeof(*order->after));
	order->before = osr_alloc(scratch, n, sizeof(*order->before));
	order->places = osr_alloc(scratch, n, sizeof(*order->places));
	order->near = osr_alloc(scratch, order->max_degree, sizeof(*order->near));
	order->seen = osr_calloc(scratch, n, sizeof(*order->seen));
	return osr_arena_failed(scratch, diag) ? OSR_NOMEM : OSR_OK;
}

/*
 * Everything reachable from `start` that is ranked no further than `end`, into list[]: what was looked
 * at from the front, what waits for it from the rear. False if `end` itself is reached.
 */
static bool toporder_reach(struct osr_toporder *order, uint32_t start, uint32_t end, bool back,
			   uint32_t *list, uint32_t *n_list)
{
	uint32_t n = 0, waits = order->n, limit = order->rank[end];
	bool found = false;

	list[--waits] = start;
	order->seen[start] = 1;
	while (waits < order->n && !found) {
		uint32_t vertex = list[waits++], degree;

		list[n++] = vertex;
		order->work++;
		degree = order->edges(order->graph, vertex, back, order->near);
		for (uint32_t k = 0; k < degree && !found; k++) {
			uint32_t next = order->near[k], rank = order->rank[next];

			found = next == end;
			if (found || order->seen[next] || (back ? rank < limit : rank > limit))
				continue;
			order->seen[next] = 1;
			list[--waits] = next;
		}
	}
	*n_list = n;
	for (uint32_t k = 0; k < n; k++)
		order->seen[list[k]] = 0;
	for (uint32_t k = waits; k < order->n; k++)
		order->seen[list[k]] = 0;
	return !found;
}

/* Both lists keep their inner order; all of before[] comes before all of after[]. */
static void toporder_share_places(struct osr_toporder *order, uint32_t n_before, uint32_t n_after)
{
	uint32_t *rank = order->rank, *after = order->after, *before = order->before, i = 0, j = 0;

	toporder_sort(before, n_before, rank);
	toporder_sort(after, n_after, rank);
	for (uint32_t k = 0; k < n_before + n_after; k++) {
		bool is_after = j == n_before || (i < n_after && rank[after[i]] < rank[before[j]]);

		order->places[k] = rank[is_after ? after[i++] : before[j++]];
	}
	for (j = 0; j < n_before; j++)
		rank[before[j]] = order->places[j];
	for (i = 0; i < n_after; i++)
		rank[after[i]] = order->places[n_before + i];
}

bool osr_toporder_rise(struct osr_toporder *order, uint32_t tail, uint32_t head)
{
	order->n_after = order->n_before = 0;
	if (order->rank[tail] < order->rank[head])
		return true;
	if (tail == head ||
	    !toporder_reach(order, head, tail, false, order->after, &order->n_after))
		return false;
	/* Without a cycle the head is not among what reaches the tail. */
	toporder_reach(order, tail, head, true, order->before, &order->n_before);
	toporder_share_places(order, order->n_before, order->n_after);
	return true;
}

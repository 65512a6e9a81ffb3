/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * An order of the nodes (lane, channel) in which given dependencies rise, if there is one: of all such orders
 * one that is near another order. Kahn's algorithm, with a heap for the nodes that could be next.
 */
#include <string.h>

#include "turn_private.h"

struct turn_heap {
	const uint32_t *near; /* [n_nodes] or NULL */
	uint32_t *node, n;
};

static bool turn_heap_before(const struct turn_heap *heap, uint32_t a, uint32_t b)
{
	if (heap->near && heap->near[a] != heap->near[b])
		return heap->near[a] < heap->near[b];
	return a < b;
}

static void turn_heap_push(struct turn_heap *heap, uint32_t node)
{
	uint32_t i = heap->n++;

	for (; i && turn_heap_before(heap, node, heap->node[(i - 1) / 2]); i = (i - 1) / 2)
		heap->node[i] = heap->node[(i - 1) / 2];
	heap->node[i] = node;
}

static uint32_t turn_heap_pop(struct turn_heap *heap)
{
	uint32_t top = heap->node[0], last = heap->node[--heap->n], i = 0;

	for (;;) {
		uint32_t child = 2 * i + 1;

		if (child + 1 < heap->n &&
		    turn_heap_before(heap, heap->node[child + 1], heap->node[child]))
			child++;
		if (child >= heap->n || !turn_heap_before(heap, heap->node[child], last))
			break;
		heap->node[i] = heap->node[child];
		i = child;
	}
	heap->node[i] = last;
	return top;
}

/* What waits for packets that hold `node`: 1 more, or, once the node has its place, 1 less. */
static void sort_count(const struct osr__search *w, const uint16_t *feed, uint32_t node,
		       uint32_t *in, struct turn_heap *heap)
{
	uint32_t m = w->f->n_channels, c = node % m, lane = node / m;

	for (uint32_t t = w->g.row[c]; t < w->g.row[c + 1]; t++) {
		uint32_t to = w->lane[t] * m + osr_cdg_target(&w->g, c, t);

		if (!(feed[t] >> lane & 1))
			continue;
		if (!heap)
			in[to]++;
		else if (--in[to] == 0)
			turn_heap_push(heap, to);
	}
}

bool osr__turn_sort(const struct osr__search *w, const uint16_t *feed, const uint32_t *near,
		    uint32_t *work, uint32_t *rank)
{
	uint32_t n = w->n_lanes * w->f->n_channels, n_done = 0, *in = work;
	struct turn_heap heap = { .near = near, .node = work + n };

	memset(in, 0, n * sizeof(*in));
	for (uint32_t node = 0; node < n; node++)
		sort_count(w, feed, node, in, NULL);
	for (uint32_t node = 0; node < n; node++)
		if (!in[node])
			turn_heap_push(&heap, node);
	while (heap.n) {
		uint32_t node = turn_heap_pop(&heap);

		rank[node] = n_done++;
		sort_count(w, feed, node, in, &heap);
	}
	return n_done == n;
}

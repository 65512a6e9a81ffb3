/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The three edge heuristics of Domke 2011, Algorithm 2: a depth-first search of the layer's graph; when a cycle
 * closes, all routes that induce the edge chosen of it move to the next layer, and the search goes on where it
 * stood. Each edge goes once, so it ends; a channel is done when no cycle through it is left, and edges only go.
 */
#include "layers_private.h"

#include <assert.h>
#include <string.h>

#define DONE UINT32_MAX

struct search {
	struct layering *w;
	uint8_t layer;
	uint32_t *place; /* [n_channels] position on the stack + 1; 0: not on it; or DONE */
	uint32_t *stack; /* [n_channels] channels of the current path */
	uint32_t *edge;  /* [n_channels] slot by which stack[i] looks onwards */
	uint32_t depth;
	uint64_t n_moved;
};

/* v's route to d leaves the layer. What shares an edge with multicast (UINT32_MAX) is not counted there. */
static void move_route(struct search *q, uint32_t d, uint32_t v)
{
	struct layering *w = q->w;
	const uint8_t *hop = w->s->hop + (size_t)d * w->s->f->n_switches;
	uint32_t root = w->s->f->dest_switch[d], slot;

	osr__layer_row(w, d)[v] = q->layer + 1;
	w->more[d]++;
	q->n_moved++;
	while ((slot = osr__dependency(w, hop, root, v)) != OSR_NONE) {
		if (w->g->weight[slot] != UINT32_MAX)
			w->g->weight[slot]--;
		v = osr__next_switch(w, hop, v);
	}
}

/* All routes of this layer that induce the edge of this slot, from channel c: those that pass its source. */
static void move_edge(struct search *q, uint32_t c, uint32_t slot)
{
	struct layering *w = q->w;
	const struct osr_fabric *fabric = w->s->f;
	uint32_t n = fabric->n_switches, u = fabric->chan_src[c];

	for (uint32_t d = 0; d < fabric->n_dests && w->g->weight[slot]; d++) {
		const uint8_t *hop = w->s->hop + (size_t)d * n, *row = osr__layer_row(w, d);
		uint32_t root = fabric->dest_switch[d];
		const uint16_t *order = w->s->order + (size_t)root * n;

		if (!w->busy[d] || osr_spf_channel(w->s, d, u) != c ||
		    osr__dependency(w, hop, root, u) != slot)
			continue;
		w->cut[root] = 0;
		for (uint32_t i = 1; i < w->s->n_order[root]; i++) {
			uint32_t v = order[i];

			w->cut[v] = v == u || w->cut[osr__next_switch(w, hop, v)];
			if (w->cut[v] && row[v] == q->layer && osr__is_counted(fabric, d, v))
				move_route(q, d, v);
		}
	}
	assert(!w->g->weight[slot]);
}

/* The place on the stack whose outgoing edge goes, of the cycle stack[from] .. stack[depth - 1]. */
static uint32_t layers_cycle_choose(const struct search *q, uint32_t from)
{
	const uint32_t *weight = q->w->g->weight;
	enum osr_heuristic heuristic = q->w->opt->heuristic;
	uint32_t best = from;

	for (uint32_t i = from; i < q->depth; i++) {
		uint32_t mine = weight[q->edge[i]], theirs = weight[q->edge[best]];

		/* Multicast (UINT32_MAX) cannot be moved: whatever else there is goes first. */
		if (theirs == UINT32_MAX || (heuristic == OSR_HEURISTIC_WEAKEST && mine < theirs) ||
		    (heuristic == OSR_HEURISTIC_HEAVIEST && mine > theirs && mine != UINT32_MAX))
			best = i;
	}
	return best;
}

static void layers_cycle_push(struct search *q, uint32_t c)
{
	q->stack[q->depth] = c;
	q->edge[q->depth] = q->w->g->row[c];
	q->place[c] = ++q->depth;
}

static void search_from(struct search *q, uint32_t start)
{
	const struct osr_cdg *cdg = q->w->g;

	layers_cycle_push(q, start);
	while (q->depth) {
		uint32_t top = q->depth - 1, c = q->stack[top], slot = q->edge[top], next, keep;

		if (slot == cdg->row[c + 1]) {
			q->place[c] = DONE;
			q->depth = top;
			if (q->depth)
				q->edge[q->depth - 1]++;
			continue;
		}
		next = osr_cdg_target(cdg, c, slot);
		if (!cdg->weight[slot] || q->place[next] == DONE) {
			q->edge[top]++;
		} else if (!q->place[next]) {
			layers_cycle_push(q, next);
		} else {
			/* A cycle. The routes that go may take edges further down the stack with them. */
			uint32_t cut = layers_cycle_choose(q, q->place[next] - 1);

			move_edge(q, q->stack[cut], q->edge[cut]);
			for (keep = 0; cdg->weight[q->edge[keep]]; keep++)
				;
			/* What is left unfinished above is searched again later. */
			while (q->depth > keep + 1)
				q->place[q->stack[--q->depth]] = 0;
		}
	}
}

enum osr_status osr__break_cycles(struct layering *w, uint8_t layer, struct osr_arena *scratch,
				  uint64_t *n_moved, struct osr_diag *diag)
{
	struct osr_arena_mark mark = osr_arena_mark(scratch);
	uint32_t n = w->s->f->n_channels;
	struct search q = { .w = w,
			    .layer = layer,
			    .place = osr_calloc(scratch, n, sizeof(*q.place)),
			    .stack = osr_alloc(scratch, n, sizeof(*q.stack)),
			    .edge = osr_alloc(scratch, n, sizeof(*q.edge)) };

	if (osr_arena_failed(scratch, diag))
		return OSR_NOMEM;
	memset(w->more, 0, w->s->f->n_dests * sizeof(*w->more));
	for (uint32_t c = 0; c < n; c++)
		if (q.place[c] != DONE)
			search_from(&q, c);
	*n_moved = q.n_moved;
	osr_arena_reset(scratch, mark);
	return OSR_OK;
}

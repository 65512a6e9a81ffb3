/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "layers_private.h"

#include <assert.h>
#include <string.h>

struct search {
	struct layering *w;
	uint8_t layer;
	uint8_t *hops;   /* [n_switches * n_dests] the tables, switch by switch */
	uint32_t *place; /* [n_channels] position on the stack + 1; 0: not on it */
	uint8_t *done;   /* [n_channels] no cycle through here is left */
	uint32_t *stack; /* [n_channels] channels of the current path */
	uint32_t *edge;  /* [n_channels] slot by which stack[i] looks onwards */
	uint32_t depth;
	uint64_t n_moved;
};

/* ---- moving routes -------------------------------------------------------------------------- */

/* Multicast (UINT32_MAX) cannot be moved, and what shares its edges is not counted there. */
static void layers_cycle_take_out(struct layering *w, uint32_t d, uint32_t v)
{
	const uint8_t *hop = w->s->hop + (size_t)d * w->s->f->n_switches;
	uint32_t root = w->s->f->dest_switch[d], slot;

	while ((slot = osr__dependency(w, hop, root, v)) != OSR_NONE) {
		if (w->g->weight[slot] != UINT32_MAX)
			w->g->weight[slot]--;
		v = osr__next_switch(w, hop, v);
	}
}

/* All routes from switch a to the LIDs behind switch b. */
static void take_out_all(struct layering *w, uint32_t a, uint32_t b)
{
	const struct osr_spf *spf = w->s;

	for (uint32_t k = spf->dest_row[b]; k < spf->dest_row[b + 1]; k++) {
		uint32_t d = spf->dest_list[k];

		if (spf->alias[d] == OSR_NONE && osr__is_counted(spf->f, d, a))
			layers_cycle_take_out(w, d, a);
	}
}

/* The unit that v's route to d belongs to. */
static void move_unit(struct search *q, uint32_t d, uint32_t v)
{
	struct layering *w = q->w;
	uint32_t root = w->s->f->dest_switch[d], n = w->s->f->n_switches;

	q->n_moved++;
	osr__layer_row(w, d)[v] = q->layer + 1;
	w->more[d]++;
	if (!w->pairs) {
		layers_cycle_take_out(w, d, v);
		return;
	}
	w->layer[(size_t)v * n + root] = q->layer + 1;
	take_out_all(w, v, root);
	take_out_all(w, root, v);
}

/* Every unit of this layer whose route to d passes switch u. */
static void move_branch(struct search *q, uint32_t d, uint32_t u)
{
	struct layering *w = q->w;
	const struct osr_fabric *fabric = w->s->f;
	const uint8_t *hop = w->s->hop + (size_t)d * fabric->n_switches,
		      *row = osr__layer_row(w, d);
	uint32_t root = fabric->dest_switch[d];
	const uint16_t *order = w->s->order + (size_t)root * fabric->n_switches;
	uint8_t *cut = w->cut;

	cut[root] = 0;
	for (uint32_t i = 1; i < w->s->n_order[root]; i++) {
		uint32_t v = order[i];

		cut[v] = v == u || cut[osr__next_switch(w, hop, v)];
		if (cut[v] && row[v] == q->layer && osr__is_counted(fabric, d, v))
			move_unit(q, d, v);
	}
}

/* Moves all routes that induce the edge from channel c1 to the channel of this slot. */
static void move_edge(struct search *q, uint32_t c1, uint32_t slot)
{
	const struct layering *w = q->w;
	const struct osr_fabric *fabric = w->s->f;
	uint32_t u = fabric->chan_src[c1], v = fabric->chan_dst[c1];
	const uint8_t *at_u = q->hops + (size_t)u * fabric->n_dests,
		      *at_v = q->hops + (size_t)v * fabric->n_dests;
	uint8_t hop_u = (uint8_t)(c1 - fabric->chan_row[u]),
		hop_v = (uint8_t)(slot - w->g->row[c1]);

	for (uint32_t d = 0; d < fabric->n_dests && w->g->weight[slot]; d++)
		if (at_u[d] == hop_u && at_v[d] == hop_v && w->busy[d])
			move_branch(q, d, u);
	assert(!w->g->weight[slot]);
}

/* ---- the search ----------------------------------------------------------------------------- */

/* The place on the stack whose outgoing edge goes, of the cycle stack[from] .. stack[depth-1]. */
static uint32_t layers_cycle_choose(const struct search *q, uint32_t from)
{
	const uint32_t *weight = q->w->g->weight;
	enum osr_heuristic heuristic = q->w->opt->heuristic;
	uint32_t best = from;

	for (uint32_t i = from; i < q->depth; i++) {
		uint32_t mine = weight[q->edge[i]], theirs = weight[q->edge[best]];

		/* Multicast (UINT32_MAX) cannot be moved: whatever else there is goes first. */
		if (theirs == UINT32_MAX)
			best = i;
		else if (heuristic == OSR_HEURISTIC_WEAKEST && mine < theirs)
			best = i;
		else if (heuristic == OSR_HEURISTIC_HEAVIEST && mine > theirs && mine != UINT32_MAX)
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

/* Leaves the stack down to `depth` entries; what is left unfinished is searched again later. */
static void unwind(struct search *q, uint32_t depth)
{
	while (q->depth > depth)
		q->place[q->stack[--q->depth]] = 0;
}

/* A cycle closed at the top. The routes that go may take edges further down the stack with them. */
static void break_cycle(struct search *q, uint32_t from)
{
	uint32_t i = layers_cycle_choose(q, from);

	move_edge(q, q->stack[i], q->edge[i]);
	for (i = 0; q->w->g->weight[q->edge[i]]; i++)
		;
	unwind(q, i + 1);
}

static void search_from(struct search *q, uint32_t start)
{
	const struct osr_cdg *cdg = q->w->g;

	layers_cycle_push(q, start);
	while (q->depth) {
		uint32_t top = q->depth - 1, c = q->stack[top], slot = q->edge[top], next;

		if (slot == cdg->row[c + 1]) {
			q->done[c] = 1;
			unwind(q, top);
			if (q->depth)
				q->edge[q->depth - 1]++;
			continue;
		}
		next = osr_cdg_target(cdg, c, slot);
		if (!cdg->weight[slot] || q->done[next])
			q->edge[top]++;
		else if (!q->place[next])
			layers_cycle_push(q, next);
		else
			break_cycle(q, q->place[next] - 1);
	}
}

/* Which trees use an edge is asked for each cycle: two rows of this tell. */
static void layers_cycle_transpose(struct search *q)
{
	const struct osr_spf *spf = q->w->s;
	uint32_t n = spf->f->n_switches, n_dests = spf->f->n_dests;

	for (uint32_t d = 0; d < n_dests; d++)
		for (uint32_t v = 0; v < n; v++)
			q->hops[(size_t)v * n_dests + d] = spf->hop[(size_t)d * n + v];
}

enum osr_status osr__break_cycles(struct layering *w, uint8_t layer, struct osr_arena *scratch,
				  uint64_t *n_moved, struct osr_diag *diag)
{
	struct osr_arena_mark mark = osr_arena_mark(scratch);
	uint32_t n = w->s->f->n_channels;
	struct search q = { .w = w, .layer = layer };

	q.hops = osr_alloc(scratch, (size_t)w->s->f->n_switches * w->s->f->n_dests, 1);
	q.place = osr_calloc(scratch, n, sizeof(*q.place));
	q.done = osr_calloc(scratch, n, 1);
	q.stack = osr_alloc(scratch, n, sizeof(*q.stack));
	q.edge = osr_alloc(scratch, n, sizeof(*q.edge));
	if (!q.hops || !q.place || !q.done || !q.stack || !q.edge)
		return osr_fail(diag, OSR_NOMEM, "out of memory for the search of cycles");
	layers_cycle_transpose(&q);
	/* A pair has routes to LIDs of both its switches: later layers look at all dests. */
	for (uint32_t d = 0; d < w->s->f->n_dests; d++)
		w->more[d] = w->pairs ? w->s->f->n_switches : 0;
	for (uint32_t c = 0; c < n; c++)
		if (!q.done[c])
			search_from(&q, c);
	*n_moved = q.n_moved;
	osr_arena_reset(scratch, mark);
	return OSR_OK;
}

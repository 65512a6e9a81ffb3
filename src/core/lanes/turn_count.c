/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* How many routes take each turn: a walk over all trees, by several threads. */
#include "turn_private.h"

struct turn_counting {
	const struct osr__search *w;
	uint32_t **n_used; /* [n_slots] of each thread */
};

static void turn_count_tree(void *ctx, uint32_t i, uint32_t d)
{
	const struct turn_counting *x = ctx;
	const struct osr__search *w = x->w;
	const struct osr_fabric *fabric = w->f;
	const uint8_t *hop = w->s->hop + (size_t)d * fabric->n_switches;
	uint32_t root = fabric->dest_switch[d], *n_used = x->n_used[i];

	if (w->s->alias[d] != OSR_NONE)
		return;
	for (uint32_t v = 0; v < fabric->n_switches; v++) {
		uint32_t c = fabric->chan_row[v] + hop[v], u;

		if (v == root || hop[v] == OSR_NO_PATH)
			continue;
		u = fabric->chan_dst[c];
		if (u == root)
			continue;
		n_used[w->g.row[c] + hop[u]]++;
	}
}

uint32_t *osr__turn_count_used(const struct osr__search *w)
{
	struct osr_arena *scratch = w->scratch;
	size_t n_switches = w->f->n_switches, n_slots = w->g.n_slots;
	uint32_t n = osr_threads_parts(scratch, w->f->n_dests * n_switches);
	uint32_t *n_used = osr_calloc(scratch, n_slots, sizeof(*n_used));
	struct osr_arena_mark mark = osr_arena_mark(scratch);
	struct turn_counting x = { .w = w, .n_used = osr_alloc(scratch, n, sizeof(*x.n_used)) };

	for (uint32_t i = 0; i < n && !osr_arena_failed(scratch, NULL); i++)
		x.n_used[i] = i ? osr_calloc(scratch, n_slots, sizeof(*n_used)) : n_used;
	if (osr_arena_failed(scratch, NULL))
		return NULL;
	osr_threads_share(scratch, turn_count_tree, &x, n, w->f->n_dests);
	for (uint32_t i = 1; i < n; i++)
		for (size_t t = 0; t < n_slots; t++)
			n_used[t] += x.n_used[i][t];
	osr_arena_reset(scratch, mark);
	return n_used;
}

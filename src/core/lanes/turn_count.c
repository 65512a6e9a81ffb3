/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* How many routes take each turn: a walk over all trees, by several threads. */
#include "turn_private.h"

#define COUNT_AT_ONCE 16 /* LIDs that a thread takes */

struct turn_counting {
	const struct turns *w;
	bool all;
	uint32_t **n_used; /* [n_slots] of each thread */
	uint32_t next;     /* LID */
};

static void turn_count_tree(const struct turns *w, uint32_t d, uint32_t *n_used)
{
	const struct osr_fabric *fabric = w->t.f;
	const uint8_t *hop = w->t.s->hop + (size_t)d * fabric->n_switches;
	uint32_t root = fabric->dest_switch[d];

	for (uint32_t v = 0; v < fabric->n_switches; v++) {
		uint32_t c = fabric->chan_row[v] + hop[v], u;

		if (v == root || hop[v] == OSR_NO_PATH)
			continue;
		u = fabric->chan_dst[c];
		if (u != root)
			n_used[w->g.row[c] + hop[u]]++;
	}
}

static void turn_count_part(void *ctx, uint32_t i)
{
	struct turn_counting *x = ctx;
	uint32_t first, n = x->w->t.f->n_dests;

	while ((first = __atomic_fetch_add(&x->next, COUNT_AT_ONCE, __ATOMIC_RELAXED)) < n)
		for (uint32_t d = first; d < n && d - first < COUNT_AT_ONCE; d++)
			if (x->all || x->w->t.s->alias[d] == OSR_NONE)
				turn_count_tree(x->w, d, x->n_used[i]);
}

uint32_t *osr__turn_count_used(const struct turns *w, bool all, struct osr_arena *scratch)
{
	size_t n_switches = w->t.f->n_switches, n_slots = w->g.n_slots;
	uint32_t n = osr_threads_parts(scratch, w->t.f->n_dests * n_switches);
	uint32_t *n_used = osr_calloc(scratch, n_slots, sizeof(*n_used));
	struct osr_arena_mark mark = osr_arena_mark(scratch);
	struct turn_counting x = { .w = w,
				   .all = all,
				   .n_used = osr_alloc(scratch, n, sizeof(*x.n_used)) };

	for (uint32_t i = 0; i < n && !osr_arena_failed(scratch, NULL); i++)
		x.n_used[i] = i ? osr_calloc(scratch, n_slots, sizeof(*n_used)) : n_used;
	if (osr_arena_failed(scratch, NULL))
		return NULL;
	osr_threads_run(scratch, turn_count_part, &x, n);
	for (uint32_t i = 1; i < n; i++)
		for (size_t t = 0; t < n_slots; t++)
			n_used[t] += x.n_used[i][t];
	osr_arena_reset(scratch, mark);
	return n_used;
}

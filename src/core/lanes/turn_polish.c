/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The last step of balancing (spf_polish.c) within the order of nodes: see turn.h. */
#include "turn_private.h"

struct turn_mover {
	struct turns *w;
	uint32_t n_longer; /* of the tree that was removed last */
};

/* Adds or removes the routes of d's tree, which may have detours; returns how many are longer. */
static uint32_t turn_count_tree(struct turns *w, uint32_t d, uint64_t sign)
{
	uint32_t root = w->f->dest_switch[d], n_longer = 0, n;
	const uint8_t *hop = w->s->hop + (size_t)d * w->f->n_switches;

	osr__turn_measure(w, root, hop);
	n = osr__turn_sort(w, root, d, &n_longer);
	if (sign)
		osr__spf_count(w->s, w->order, n, hop, sign);
	return n_longer;
}

static void turn_polish_count(void *ctx, uint32_t d, uint64_t sign)
{
	struct turn_mover *m = ctx;
	struct turns *w = m->w;
	const struct osr_spf *s = w->s;
	uint32_t root = w->f->dest_switch[d];

	m->n_longer = 0;
	if (w->detoured[d])
		m->n_longer = turn_count_tree(w, d, sign);
	else
		osr__spf_count(w->s, s->order + (size_t)root * w->f->n_switches, s->n_order[root],
			       s->hop + (size_t)d * w->f->n_switches, sign);
}

/* Balance shall not cost longer routes. */
static bool turn_polish_reroute(void *ctx, uint32_t root, uint32_t d)
{
	struct turn_mover *m = ctx;
	uint32_t before = m->n_longer;

	if (!osr__turn_settle_best(m->w, root, d))
		return true;
	if (!before || !m->w->detoured[d])
		return false;
	osr__turn_detour(m->w, root, d);
	return turn_count_tree(m->w, d, 0) <= before;
}

uint32_t osr__turn_polish(struct turns *w, uint32_t n_moves)
{
	struct turn_mover m = { .w = w };
	uint32_t n_longer = 0;

	if (n_moves)
		osr__spf_polish(w->s, n_moves,
				&(struct osr__spf_mover){ &m, turn_polish_reroute,
							  turn_polish_count });
	for (uint32_t d = 0; d < w->f->n_dests; d++)
		if (w->s->alias[d] == OSR_NONE && w->detoured[d])
			n_longer += turn_count_tree(w, d, 0);
	return n_longer;
}

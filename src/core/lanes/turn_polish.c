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
	struct turn_mover *mover = ctx;
	struct turns *w = mover->w;
	const struct osr_spf *spf = w->s;
	uint32_t root = w->f->dest_switch[d];

	mover->n_longer = 0;
	if (w->detoured[d])
		mover->n_longer = turn_count_tree(w, d, sign);
	else
		osr__spf_count(w->s, spf->order + (size_t)root * w->f->n_switches,
			       spf->n_order[root], spf->hop + (size_t)d * w->f->n_switches, sign);
}

/* Balance shall not cost longer routes. */
static bool turn_polish_reroute(void *ctx, uint32_t root, uint32_t d)
{
	struct turn_mover *mover = ctx;
	uint32_t before = mover->n_longer;

	if (!osr__turn_settle_best(mover->w, root, d))
		return true;
	if (!before || !mover->w->detoured[d])
		return false;
	osr__turn_detour(mover->w, root, d);
	return turn_count_tree(mover->w, d, 0) <= before;
}

uint32_t osr__turn_polish(struct turns *w, uint32_t n_moves)
{
	struct turn_mover mover = { .w = w };
	uint32_t n_longer = 0;

	if (n_moves)
		osr__spf_polish(
			w->s, n_moves,
			&(struct osr__spf_mover){ &mover, turn_polish_reroute, turn_polish_count });
	for (uint32_t d = 0; d < w->f->n_dests; d++)
		if (w->s->alias[d] == OSR_NONE && w->detoured[d])
			n_longer += turn_count_tree(w, d, 0);
	return n_longer;
}

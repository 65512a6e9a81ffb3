/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The last step of balancing (spf_polish.c) for trees with detours: see ordered.h. */
#include "ordered_private.h"

struct mover {
	struct guide *w;
	uint32_t n_longer; /* of the tree that was taken out last */
};

/* Lists the switches of d's tree in w->order, each after the one it sends to. */
static uint32_t list_tree(struct guide *w, uint32_t d, uint32_t *n_longer)
{
	uint32_t root = w->f->dest_switch[d];

	osr__ordered_measure(w, root, w->s->hop + (size_t)d * w->f->n_switches);
	return osr__ordered_sort(w, root, d, n_longer);
}

static void ordered_polish_count(void *ctx, uint32_t d, uint64_t sign)
{
	struct mover *m = ctx;
	struct guide *w = m->w;
	uint32_t n;

	m->n_longer = 0;
	n = list_tree(w, d, &m->n_longer);
	osr__spf_count(w->s, w->order, n, w->s->hop + (size_t)d * w->f->n_switches, sign);
}

/* Balance shall not cost longer routes. */
static bool ordered_polish_reroute(void *ctx, uint32_t root, uint32_t d)
{
	struct mover *m = ctx;
	uint32_t before = m->n_longer, now = 0;

	if (osr__ordered_settle_best(m->w, root, d))
		osr__ordered_detour(m->w, root, d);
	list_tree(m->w, d, &now);
	return now <= before;
}

/* What was tried and taken back has left its masks behind; and some trees have got shorter. */
static void set_masks(struct guide *w, struct osr_routing *routing)
{
	const struct osr_fabric *fabric = w->f;

	routing->n_longer = 0;
	for (uint32_t d = 0; d < fabric->n_dests; d++) {
		const uint8_t *hop = w->s->hop + (size_t)d * fabric->n_switches;
		uint8_t *mask = w->mask + (size_t)d * fabric->n_switches;
		uint32_t n;

		if (w->s->alias[d] != OSR_NONE)
			continue;
		n = list_tree(w, d, &routing->n_longer);
		for (uint32_t i = 1; i < n; i++) {
			uint32_t v = w->order[i];

			mask[v] = mask_over(w, hop, mask, fabric->dest_switch[d],
					    fabric->chan_row[v] + hop[v]);
		}
	}
}

void osr__ordered_polish(struct guide *w, uint32_t n_moves, struct osr_routing *routing)
{
	struct mover m = { .w = w };

	if (!n_moves)
		return;
	osr__spf_polish(
		w->s, n_moves,
		&(struct osr__spf_mover){ &m, ordered_polish_reroute, ordered_polish_count });
	set_masks(w, routing);
}

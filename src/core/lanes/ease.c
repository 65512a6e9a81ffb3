/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Balance within an order: entries move off the busiest channel (moves.h), to routes as long that are legal in the order
 * and on the lanes that are there. What comes through the switch comes along, so its routes have to be legal, too.
 */
#include <string.h>

#include "core/paths/moves.h"
#include "search.h"

/* Masks of v and of all that send through it, if v sends to d by c; 0 of one of them: false, and masks are as before. */
static bool ease_may(struct osr__moves *m, uint32_t d, uint32_t v, uint32_t c, const uint32_t *list,
		     uint32_t n)
{
	struct osr__search *w = m->ctx;
	const struct osr_fabric *fabric = w->f;
	uint8_t *hop = w->s->hop + (size_t)d * fabric->n_switches, *seen = w->new_mask,
		was = hop[v];
	uint32_t root = fabric->dest_switch[d], *path = w->waiting, depth = 0;
	bool legal;

	osr__search_aim(w, d);
	memcpy(w->saved, w->mask, fabric->n_switches);
	memset(seen, 0, fabric->n_switches);
	hop[v] = (uint8_t)(c - fabric->chan_row[v]);
	for (uint32_t u = v; u != root; u = fabric->chan_dst[fabric->chan_row[u] + hop[u]])
		path[depth++] = u;
	w->mask[root] = w->all;
	while (depth--)
		w->mask[path[depth]] = osr__search_start(
			w, hop, root, fabric->chan_row[path[depth]] + hop[path[depth]]);
	legal = w->mask[v];
	seen[v] = 1;
	for (uint32_t i = 0; legal && i < n; i++) {
		uint32_t u = list[i], by = fabric->chan_row[u] + hop[u];

		if (seen[u] || !seen[fabric->chan_dst[by]])
			continue;
		seen[u] = 1;
		w->mask[u] = osr__search_start(w, hop, root, by);
		legal = w->mask[u];
	}
	hop[v] = was;
	w->detoured[d] |= legal && m->extra;
	if (!legal)
		memcpy(w->mask, w->saved, fabric->n_switches);
	return legal;
}

#define EASE_EXTRA 2   /* channels by which a route may get longer for balance, */
#define EASE_SPARE 200 /* and one in so many routes may */

enum osr_status osr__search_ease(struct osr__search *w, uint64_t enough, uint64_t most)
{
	const struct osr_fabric *fabric = w->f;
	struct osr_spf *spf = w->s;
	struct osr_arena_mark mark = osr_arena_mark(w->scratch);
	struct osr__moves moves = { .f = fabric,
				    .lft = spf->hop,
				    .hops = true,
				    .unit = spf->scratch->mixed ? spf->unit : NULL,
				    .ctx = w,
				    .may = ease_may };
	uint64_t sum, n_sent = 0; /* by hosts, to one LID */

	if (!fabric->n_channels)
		return OSR_OK;
	for (uint32_t v = 0; v < fabric->n_switches; v++)
		n_sent += fabric->sw_sources[v];
	moves.load = osr_alloc(w->scratch, fabric->n_channels, sizeof(*moves.load));
	if (osr__moves_init(&moves, w->scratch, w->diag))
		return OSR_NOMEM;
	for (uint32_t c = 0; c < fabric->n_channels; c++)
		moves.load[c] = spf->weight[c] >> HOP_BITS;
	osr__spf_busiest(spf, &sum);
	/* As for shortest paths: that is near enough to the mean. */
	moves.goal = (sum + sum / 25) / fabric->n_channels;
	moves.goal = moves.aim = moves.goal < enough ? enough : moves.goal;
	osr__moves_run(&moves);
	moves.extra = EASE_EXTRA;
	moves.spare = osr__search_n_routes(w) / fabric->n_switches * n_sent / EASE_SPARE;
	moves.goal = moves.aim = most;
	if (most != UINT64_MAX)
		osr__moves_run(&moves);
	for (uint32_t c = 0; c < fabric->n_channels; c++)
		spf->weight[c] = moves.load[c] << HOP_BITS | (spf->weight[c] & HOP_MASK);
	osr_arena_reset(w->scratch, mark);
	return OSR_OK;
}

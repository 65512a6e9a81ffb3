/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "angara_private.h"

#include <string.h>

enum osr_status osr__picks_init(struct osr__picks *s, const struct osr_angara *a,
				struct osr_arena *scratch, struct osr_diag *diag)
{
	*s = (struct osr__picks){ .a = a, .n_channels = a->t->n_nodes * a->t->n_dirs };
	s->pick = osr_calloc(scratch, a->n_pairs, sizeof(*s->pick));
	s->load = osr_calloc(scratch, s->n_channels, sizeof(*s->load));
	if (!s->pick || !s->load)
		return osr_fail(diag, OSR_NOMEM, "out of memory for the routes of %u nodes",
				a->n_set);
	return OSR_OK;
}

void osr__picks_add(struct osr__picks *s, uint32_t pair, uint32_t k, uint32_t n)
{
	const uint32_t *channel = osr_angara_channels(s->a, pair, k);

	for (uint32_t h = 0; h < s->a->hops[pair]; h++)
		s->load[channel[h]] += n;
}

uint32_t osr__picks_max(const struct osr__picks *s)
{
	uint32_t most = 0;

	for (uint32_t c = 0; c < s->n_channels; c++)
		most = s->load[c] > most ? s->load[c] : most;
	return most;
}

uint32_t osr__choice_of(const struct osr_angara *a, uint32_t pair, const uint32_t *channel,
			uint32_t hops)
{
	for (uint32_t k = 0; hops == a->hops[pair] && k < osr_angara_n_choices(a, pair); k++)
		if (!memcmp(channel, osr_angara_channels(a, pair, k), hops * sizeof(*channel)))
			return k;
	return OSR_NO_NODE;
}

struct osr_angara_options osr_angara_defaults(void)
{
	return (struct osr_angara_options){ .unique_first = true,
					    .rounds = 16,
					    .moves = 20000,
					    .seed = 1,
					    .population = 100,
					    .mutation_permille = 20,
					    .patience = 30 };
}

enum osr_status osr_angara_route(const struct osr_angara *a, enum osr_angara_algorithm algorithm,
				 const struct osr_angara_options *opt, struct osr_arena *scratch,
				 struct osr_srcroute *route, struct osr_angara_stats *stats,
				 struct osr_diag *diag)
{
	struct osr_arena_mark mark = osr_arena_mark(scratch);
	struct osr__picks s;
	enum osr_status st = osr__picks_init(&s, a, scratch, diag);

	*stats = (struct osr_angara_stats){ 0 };
	if (!st && algorithm == OSR_ANGARA_BFS)
		st = osr__bfs(&s, opt, scratch, diag);
	else if (!st && algorithm == OSR_ANGARA_GENETIC)
		st = osr__genetic(&s, opt, scratch, stats, diag);
	else if (!st)
		st = osr__sssp(&s, opt, scratch, stats, diag);
	if (!st && algorithm == OSR_ANGARA_BALANCE)
		st = osr__balance(&s, opt, scratch, stats, diag);
	for (uint32_t p = 0; !st && p < a->n_pairs; p++)
		route[p] = osr_angara_n_choices(a, p)
				   ? a->choice[a->row[p] + s.pick[p]]
				   : (struct osr_srcroute){ OSR_NO_DIR, OSR_NO_DIR, 0, 0 };
	osr_arena_reset(scratch, mark);
	return st;
}

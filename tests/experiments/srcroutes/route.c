/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "srcroutes_private.h"

#include <string.h>

static enum osr_status picks_init(struct osr__picks *picks, const struct osr_srcroutes *routes,
				  struct osr_arena *scratch, struct osr_diag *diag)
{
	*picks = (struct osr__picks){ .a = routes,
				      .n_channels = routes->t->n_nodes * routes->t->n_dirs };
	picks->pick = osr_calloc(scratch, routes->n_pairs, sizeof(*picks->pick));
	picks->load = osr_calloc(scratch, picks->n_channels, sizeof(*picks->load));
	if (osr_arena_failed(scratch, diag))
		return OSR_NOMEM;
	return OSR_OK;
}

void osr__picks_add(struct osr__picks *picks, uint32_t pair, uint32_t k, uint32_t n)
{
	const uint32_t *channel = osr_srcroutes_channels(picks->a, pair, k);

	for (uint32_t h = 0; h < picks->a->hops[pair]; h++)
		picks->load[channel[h]] += n;
}

uint32_t osr__picks_max(const struct osr__picks *picks)
{
	uint32_t most = 0;

	for (uint32_t c = 0; c < picks->n_channels; c++)
		most = picks->load[c] > most ? picks->load[c] : most;
	return most;
}

uint32_t osr__choice_of(const struct osr_srcroutes *routes, uint32_t pair, const uint32_t *channel,
			uint32_t hops)
{
	for (uint32_t k = 0;
	     hops == routes->hops[pair] && k < osr_srcroutes_n_choices(routes, pair); k++)
		if (!memcmp(channel, osr_srcroutes_channels(routes, pair, k),
			    hops * sizeof(*channel)))
			return k;
	return OSR_NO_NODE;
}

enum osr_status osr_srcroutes_route(const struct osr_srcroutes *routes,
				    enum osr_srcroutes_algorithm algorithm,
				    const struct osr_srcroutes_options *opt,
				    struct osr_arena *scratch, struct osr_srcroute *route,
				    struct osr_srcroutes_stats *stats, struct osr_diag *diag)
{
	struct osr_arena_mark mark = osr_arena_mark(scratch);
	struct osr__picks picks;
	enum osr_status st = picks_init(&picks, routes, scratch, diag);

	*stats = (struct osr_srcroutes_stats){ 0 };
	if (!st && algorithm == OSR_SRCROUTES_BFS)
		st = osr__bfs(&picks, opt, scratch, diag);
	else if (!st && algorithm == OSR_SRCROUTES_GENETIC)
		st = osr__genetic(&picks, opt, scratch, stats, diag);
	else if (!st)
		st = osr__sssp(&picks, opt, scratch, stats, diag);
	if (!st && algorithm == OSR_SRCROUTES_BALANCE)
		st = osr__balance_choices(&picks, opt, scratch, stats, diag);
	for (uint32_t p = 0; !st && p < routes->n_pairs; p++)
		route[p] = osr_srcroutes_n_choices(routes, p)
				   ? routes->choice[routes->row[p] + picks.pick[p]]
				   : (struct osr_srcroute){ OSR_NO_DIR, OSR_NO_DIR, 0, 0 };
	osr_arena_reset(scratch, mark);
	return st;
}

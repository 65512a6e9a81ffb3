/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Lanes by turn without a search, where no shortest route has more than three channels: see turn.h. A
 * channel that most often is the second of three is a middle one, the others are outer ones: the global
 * cables of a dragonfly, and none where the diameter is 2. A turn into a middle channel is on lane 0 if it
 * comes from an outer one; all other turns are on lane 1. With the order
 *	outer on lane 0 < middle on lane 0 < middle on lane 1 < outer on lane 1
 * legal are all routes of two channels that do not end in two outer ones of a longer route, and of three
 *	outer, middle, outer;	middle, middle, outer;	outer, middle, middle.
 * Turns of the escape tree, up and then down, are on a lane of their own, between the middle and the
 * outer ones of lane 1, as many may follow one another; where there are no middle channels lane 1 serves.
 *
 * Source: DF-D2 for diameter 2 (Schneider, Bibartiu, Hoefler, HOTI 2016), DLA for dragonflies
 * (Maglione-Mathey et al., JPDC 2021). DIFFERS: nothing is known of groups or positions; what is a middle
 * channel is counted in the routes, and multicast has its place in the order.
 */
#include <string.h>

#include "core/paths/mcast.h"

#include "turn_private.h"

/* Measured on dragonflies, Slim Fly, full meshes and random graphs of scripts/bench. */
static const struct {
	uint32_t most_illegal; /* 1 in so many routes may be illegal at first, */
	uint32_t most_failed;  /* and when all trees have been routed within the order */
} middle_tuning = { 3, 10000 };

/* How often a channel is the first or last of three, and the second. */
struct middle_count {
	uint32_t outer, middle;
};

/* False: some route has more than three channels. */
static bool middle_count_routes(const struct osr__search *w, struct middle_count *count)
{
	const struct osr_fabric *fabric = w->f;
	const struct osr_spf *spf = w->s;
	uint32_t n = fabric->n_switches;

	for (uint32_t d = 0; d < fabric->n_dests; d++) {
		const uint8_t *hop = spf->hop + (size_t)d * n;
		uint32_t root = fabric->dest_switch[d];
		const uint16_t *order = spf->order + (size_t)root * n;

		if (spf->alias[d] != OSR_NONE)
			continue;
		for (uint32_t i = spf->n_order[root]; i-- > 1;) {
			uint32_t c0 = fabric->chan_row[order[i]] + hop[order[i]];
			uint32_t u = fabric->chan_dst[c0], c1, x, c2;

			if (u == root)
				break; /* and all that is nearer */
			c1 = fabric->chan_row[u] + hop[u];
			x = fabric->chan_dst[c1];
			if (x == root)
				continue;
			c2 = fabric->chan_row[x] + hop[x];
			if (fabric->chan_dst[c2] != root)
				return false;
			count[c0].outer++;
			count[c1].middle++;
			count[c2].outer++;
		}
	}
	return true;
}

/* Channels in an order in which the turns of the escape tree, which w->g.weight has alone, rise. */
static bool middle_sequence(const struct osr__search *w, uint32_t *sequence)
{
	uint32_t m = w->f->n_channels, *rank = osr_alloc(w->scratch, m, sizeof(*rank));

	if (!rank || !osr_cdg_sort(&w->g, w->scratch, rank))
		return false;
	for (uint32_t c = 0; c < m; c++)
		sequence[rank[c]] = c;
	return true;
}

/* Ranks of channels of one kind on one lane, in this sequence, from *at on. */
static void middle_place(struct osr__search *w, const uint32_t *sequence, const uint8_t *is_middle,
			 bool middle, uint32_t lane, uint32_t *at)
{
	size_t m = w->f->n_channels;

	for (size_t i = 0; i < m; i++)
		if (!!is_middle[sequence[i]] == middle)
			w->rank[lane * m + sequence[i]] = (*at)++;
}

static void middle_order(struct osr__search *w, const uint32_t *sequence, const uint8_t *is_middle)
{
	uint32_t at = 0;
	size_t m = w->f->n_channels;

	middle_place(w, sequence, is_middle, false, 0, &at);
	middle_place(w, sequence, is_middle, true, 0, &at);
	middle_place(w, sequence, is_middle, true, 1, &at);
	for (size_t i = 0; i < m && w->n_lanes > 2; i++)
		w->rank[2 * m + sequence[i]] = at++;
	middle_place(w, sequence, is_middle, false, 1, &at);
}

static void middle_lanes(struct osr__search *w, const uint8_t *is_middle)
{
	const struct osr_fabric *fabric = w->f;

	for (uint32_t c1 = 0; c1 < fabric->n_channels; c1++) {
		const uint8_t *next = is_middle + fabric->chan_row[fabric->chan_dst[c1]];

		for (uint32_t t = w->g.row[c1]; t < w->g.row[c1 + 1]; t++)
			w->lane[t] = w->pinned[t] ? (uint8_t)(w->n_lanes - 1)
						  : is_middle[c1] || !next[t - w->g.row[c1]];
	}
	osr__search_set_reach(w);
}

enum osr_status osr__turn_start_middle(struct osr__search *w, bool *fits)
{
	struct osr_arena *scratch = w->scratch;
	const struct osr_fabric *fabric = w->f;
	uint64_t n_routes = (uint64_t)fabric->n_dests * fabric->n_switches;
	struct osr_arena_mark mark = osr_arena_mark(scratch);
	uint32_t m = fabric->n_channels, n_middle = 0;
	struct middle_count *count = osr_calloc(scratch, m, sizeof(*count));
	uint8_t *is_middle = osr_alloc(scratch, m, 1);
	uint32_t *sequence = osr_alloc(scratch, m, sizeof(*sequence));
	enum osr_status st = OSR_OK;

	*fits = false;
	if (!count || !is_middle || !sequence)
		return osr__turn_nomem(w->diag);
	if (middle_count_routes(w, count)) {
		for (uint32_t c = 0; c < m; c++) {
			is_middle[c] = count[c].middle > count[c].outer;
			n_middle += is_middle[c];
		}
		*fits = n_middle ? w->n_lanes > 2 : w->n_lanes > 1;
	}
	if (*fits) {
		w->n_lanes = n_middle ? 3 : 2;
		st = osr_mcast_tree(w->s, scratch, w->escape, w->diag);
		if (!st)
			osr__turn_pin(w);
		if (!st && !middle_sequence(w, sequence))
			st = osr__turn_nomem(w->diag);
	}
	if (*fits && !st) {
		middle_order(w, sequence, is_middle);
		middle_lanes(w, is_middle);
		w->n_failed = osr__search_count_failed(w);
		*fits = w->n_failed * middle_tuning.most_illegal <= n_routes;
	}
	osr_arena_reset(scratch, mark);
	return st;
}

bool osr__turn_middle_serves(const struct osr__search *w)
{
	uint64_t n_routes = (uint64_t)w->f->n_dests * w->f->n_switches;

	return w->n_failed * middle_tuning.most_failed <= n_routes;
}

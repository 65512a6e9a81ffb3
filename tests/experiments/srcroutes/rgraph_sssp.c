/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Algorithm 3 of the paper, lines as printed there:
 *	2-8	unique routes are settled first
 *	10	pairs are sorted and grouped by turns, hops and source
 *	11-18	settle_group(): shortest paths for what is left of the group; those that share no
 *		channel with each other are taken, the others are searched again
 *
 * DIFFERS, unless `literal`: algorithm 4 looks for the least weight among all shortest paths of the
 * routing graph, and the choices of a pair are these paths. So the search is a minimum over a few
 * sums. Only ties may fall out differently: to the first choice here, to the first path met there.
 */
#include "srcroutes_private.h"

#include <stdlib.h>
#include <string.h>

struct settle {
	struct osr__picks *s;
	const struct osr_srcroutes *a;
	const struct osr_srcroutes_options *opt;
	struct osr_srcroutes_stats *stats;
	struct osr_diag *diag;
	uint64_t *order; /* [n_order] sorted: turns, hops, pair */
	uint32_t n_order;
	uint32_t *pair;  /* [n_nodes] what is left of a group */
	uint16_t *best;  /* [n_nodes] the choice found for it */
	uint32_t *taken; /* [n_channels] stamp: on a route of this batch */
	uint32_t stamp;

	/* Only if `literal`. */
	struct osr_rgraph g;
	struct osr_rg_search search;
	uint64_t *weight; /* [n_channels] */
	uint8_t *want;    /* [n_nodes] */
	uint32_t *path;   /* [OSR_SRCROUTE_MAX_HOPS] */
};

/* Turns of a pair's first choice, the one with the fewest extra steps. */
static uint32_t count_turns(const struct osr_srcroutes *routes, uint32_t pair)
{
	const uint32_t *channel = osr_srcroutes_channels(routes, pair, 0);
	uint32_t n = 0, nd = routes->t->n_dirs;

	for (uint32_t h = 1; h < routes->hops[pair]; h++)
		n += channel[h] % nd != channel[h - 1] % nd;
	return n;
}

static int rgraph_sssp_ascending(const void *x, const void *y)
{
	uint64_t a = *(const uint64_t *)x, b = *(const uint64_t *)y;

	return (a > b) - (a < b);
}

/* Turns, then hops; pairs are numbered by source, then destination. */
static uint64_t group_key(const struct osr_srcroutes *routes, uint32_t pair)
{
	return (uint64_t)count_turns(routes, pair) << 48 | (uint64_t)routes->hops[pair] << 32 |
	       pair;
}

static void sort_and_group(struct settle *w)
{
	const struct osr_srcroutes *routes = w->a;

	for (uint32_t p = 0; p < routes->n_pairs; p++) {
		uint32_t n = osr_srcroutes_n_choices(routes, p);

		if (n > 1 || (n && !w->opt->unique_first))
			w->order[w->n_order++] = group_key(routes, p);
		else if (n)
			osr__picks_add(w->s, p, 0, 1);
	}
	qsort(w->order, w->n_order, sizeof(*w->order), rgraph_sssp_ascending);
}

/* ---- algorithm 4 ---------------------------------------------------------------------------- */

static uint32_t cheapest_choice(const struct settle *w, uint32_t pair)
{
	uint32_t best = 0, hops = w->a->hops[pair];
	uint64_t least = UINT64_MAX;

	for (uint32_t k = 0; k < osr_srcroutes_n_choices(w->a, pair); k++) {
		const uint32_t *channel = osr_srcroutes_channels(w->a, pair, k);
		uint64_t sum = 0;

		for (uint32_t h = 0; h < hops; h++)
			sum += w->s->load[channel[h]];
		if (sum < least) {
			least = sum;
			best = k;
		}
	}
	return best;
}

static enum osr_status search_graph(struct settle *w, uint32_t n)
{
	const struct osr_srcroutes *routes = w->a;
	uint64_t base = (uint64_t)routes->t->n_nodes * routes->t->n_nodes;

	memset(w->want, 0, routes->t->n_nodes);
	for (uint32_t i = 0; i < n; i++)
		w->want[w->pair[i] % routes->t->n_nodes] = 1;
	for (uint32_t c = 0; c < w->s->n_channels; c++)
		w->weight[c] = base + w->s->load[c];
	osr_rgraph_sssp(&w->g, w->pair[0] / routes->t->n_nodes, w->weight, w->want, n, &w->search);
	for (uint32_t i = 0; i < n; i++) {
		uint32_t hops = osr_rgraph_trace(&w->g, w->search.parent,
						 w->pair[i] % routes->t->n_nodes, w->path);
		uint32_t k = osr__choice_of(routes, w->pair[i], w->path, hops);

		if (k == OSR_NO_NODE)
			return osr_fail(w->diag, OSR_BUG,
					"the routing graph has a path of %u hops from node %u to "
					"%u that is not among the shortest legal routes",
					hops, w->pair[i] / routes->t->n_nodes,
					w->pair[i] % routes->t->n_nodes);
		w->best[i] = (uint16_t)k;
	}
	return OSR_OK;
}

static enum osr_status build_sssp(struct settle *w, uint32_t n)
{
	w->stats->n_sssp_calls++;
	if (w->opt->literal)
		return search_graph(w, n);
	for (uint32_t i = 0; i < n; i++)
		w->best[i] = (uint16_t)cheapest_choice(w, w->pair[i]);
	return OSR_OK;
}

/* ---- algorithm 3 ---------------------------------------------------------------------------- */

/* Does this route share a channel with one of the batch? If not, it joins it. */
static bool join_batch(struct settle *w, uint32_t pair, uint32_t k)
{
	const uint32_t *channel = osr_srcroutes_channels(w->a, pair, k);

	for (uint32_t h = 0; h < w->a->hops[pair]; h++)
		if (w->taken[channel[h]] == w->stamp)
			return false;
	for (uint32_t h = 0; h < w->a->hops[pair]; h++)
		w->taken[channel[h]] = w->stamp;
	return true;
}

/* Lines 12 to 18 for the n pairs in w->pair[]. */
static enum osr_status settle_group(struct settle *w, uint32_t n)
{
	while (n) {
		enum osr_status st = build_sssp(w, n);
		uint32_t n_left = 0;

		if (st)
			return st;
		w->stamp++;
		for (uint32_t i = 0; i < n; i++) {
			uint32_t p = w->pair[i];

			if (join_batch(w, p, w->best[i])) {
				w->s->pick[p] = w->best[i];
				osr__picks_add(w->s, p, w->best[i], 1);
			} else {
				w->pair[n_left++] = p;
			}
		}
		n = n_left;
	}
	return OSR_OK;
}

static bool same_group(const struct settle *w, uint32_t i, uint32_t j)
{
	uint64_t x = w->order[i], y = w->order[j];

	return x >> 32 == y >> 32 &&
	       (uint32_t)x / w->a->t->n_nodes == (uint32_t)y / w->a->t->n_nodes;
}

static enum osr_status settle_init(struct settle *w, struct osr_arena *scratch)
{
	const struct osr_srcroutes *routes = w->a;
	enum osr_status st = OSR_OK;

	w->order = osr_alloc(scratch, routes->n_pairs, sizeof(*w->order));
	w->pair = osr_alloc(scratch, routes->t->n_nodes, sizeof(*w->pair));
	w->best = osr_alloc(scratch, routes->t->n_nodes, sizeof(*w->best));
	w->taken = osr_calloc(scratch, w->s->n_channels, sizeof(*w->taken));
	if (osr_arena_failed(scratch, w->diag))
		return OSR_NOMEM;
	if (!w->opt->literal)
		return OSR_OK;
	w->weight = osr_alloc(scratch, w->s->n_channels, sizeof(*w->weight));
	w->want = osr_alloc(scratch, routes->t->n_nodes, 1);
	w->path = osr_alloc(scratch, OSR_SRCROUTE_MAX_HOPS, sizeof(*w->path));
	if (osr_arena_failed(scratch, w->diag))
		return OSR_NOMEM;
	st = osr_rgraph_init(&w->g, routes->turns, scratch, w->diag);
	return st ? st : osr_rg_search_init(&w->search, &w->g, scratch, w->diag);
}

enum osr_status osr__sssp(struct osr__picks *picks, const struct osr_srcroutes_options *opt,
			  struct osr_arena *scratch, struct osr_srcroutes_stats *stats,
			  struct osr_diag *diag)
{
	struct settle w = { .s = picks, .a = picks->a, .opt = opt, .stats = stats, .diag = diag };
	enum osr_status st = settle_init(&w, scratch);

	if (st)
		return st;
	sort_and_group(&w);
	for (uint32_t i = 0, n; !st && i < w.n_order; i += n) {
		for (n = 0; i + n < w.n_order && same_group(&w, i, i + n); n++)
			w.pair[n] = (uint32_t)w.order[i + n];
		st = settle_group(&w, n);
	}
	return st;
}

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The paper's algorithms but for the genetic search (genetic.c): a choice for every pair.
 */
#include "srcroutes_private.h"

#include <stdlib.h>
#include <string.h>

void osr__picks_add(struct osr__picks *picks, uint32_t pair, uint32_t k)
{
	const uint32_t *channel = osr_srcroutes_channels(picks->a, pair, k);

	for (uint32_t h = 0; h < picks->a->hops[pair]; h++)
		picks->load[channel[h]]++;
}

static int ascending(const void *x, const void *y)
{
	uint64_t a = *(const uint64_t *)x, b = *(const uint64_t *)y;

	return (a > b) - (a < b);
}

/* ---- algorithms 1 and 2: breadth-first search ------------------------------------------------ */

/*
 * A source's routes form a tree in the routing graph; a vertex belongs to the first one of the level
 * before that leads to it, and vertices with little weight on their outgoing edges come first.
 *
 * What the paper leaves open: the weight of a vertex with several outgoing edges is that of the
 * lightest one, which comes closest to its table 2; of equal vertices the one discovered first comes
 * first; edges are followed in the order of directions. Length in GET_MAX_REMOTE is that of the
 * routes from the last source.
 */
struct bfs {
	struct osr__picks *s;
	const struct osr_srcroutes *a;
	struct osr_diag *diag;
	struct osr_rgraph g;
	uint32_t *parent;       /* [n_vertices] OSR_NO_NODE: not met */
	uint64_t *queue, *next; /* [n_vertices] vertex; while sorting, weight and place before it */
	uint32_t *sorted;       /* [n_vertices] */
	uint32_t *path;         /* [OSR_SRCROUTE_MAX_HOPS] from the end back */
	uint8_t *processed;     /* [n_nodes] */
};

/* Edges to the end vertex cross no link and weigh nothing; they do not count. */
static uint64_t outgoing_weight(const struct bfs *w, uint32_t v)
{
	uint32_t node = v / w->g.n_states, state = v % w->g.n_states;
	uint64_t least = UINT64_MAX;

	for (uint32_t k = w->g.row[state]; k < w->g.row[state + 1]; k++) {
		struct osr_rg_step step = w->g.step[k];
		uint64_t l;

		if (step.dir == OSR_NO_DIR || osr_rg_next(&w->g, node, state, step) == OSR_NO_NODE)
			continue;
		l = w->s->load[node * w->a->t->n_dirs + step.dir];
		least = l < least ? l : least;
	}
	return least == UINT64_MAX ? 0 : least;
}

static void bfs_build_tree(struct bfs *w, uint32_t source)
{
	uint32_t n = 1, n_next;

	memset(w->parent, 0xff, (size_t)w->a->t->n_nodes * w->g.n_states * sizeof(*w->parent));
	w->queue[0] = source * w->g.n_states;
	for (; n; n = n_next) {
		/* Line 9 of algorithm 2: ascending weight, then the order of discovery. */
		for (uint32_t i = 0; i < n; i++)
			w->next[i] = outgoing_weight(w, (uint32_t)w->queue[i]) << 24 | i;
		qsort(w->next, n, sizeof(*w->next), ascending);
		for (uint32_t i = 0; i < n; i++)
			w->sorted[i] = (uint32_t)w->queue[w->next[i] & 0xffffff];
		n_next = 0;
		for (uint32_t i = 0; i < n; i++) {
			uint32_t u = w->sorted[i], node = u / w->g.n_states;
			uint32_t state = u % w->g.n_states;

			for (uint32_t k = w->g.row[state]; k < w->g.row[state + 1]; k++) {
				uint32_t v = osr_rg_next(&w->g, node, state, w->g.step[k]);

				if (v == OSR_NO_NODE || w->parent[v] != OSR_NO_NODE)
					continue;
				w->parent[v] = u;
				w->queue[n_next++] = v;
			}
		}
	}
}

/* Lines 19 to 31. A route in the routing graph is the choice with the same channels. */
static enum osr_status bfs_take_routes(struct bfs *w, uint32_t source)
{
	const struct osr_srcroutes *routes = w->a;

	for (uint32_t j = 0; j < routes->t->n_nodes; j++) {
		uint32_t pair = source * routes->t->n_nodes + j, n, hops, k = 0;

		if (j == source || !routes->hops[pair])
			continue;
		hops = osr_rgraph_trace(&w->g, w->parent, j, w->path);
		n = hops == routes->hops[pair] ? osr_srcroutes_n_choices(routes, pair) : 0;
		while (k < n && memcmp(w->path, osr_srcroutes_channels(routes, pair, k),
				       hops * sizeof(*w->path)))
			k++;
		if (k == n)
			return osr_fail(w->diag, OSR_BUG,
					"breadth-first search found a route of %u hops from node "
					"%u to %u that is not among the shortest legal ones",
					hops, source, j);
		w->s->pick[pair] = (uint16_t)k;
		osr__picks_add(w->s, pair, k);
	}
	return OSR_OK;
}

/*
 * DIFFERS: what the last source does not reach has no length; then it is the first one that is
 * left, instead of the last source once more.
 */
static uint32_t max_remote(const struct bfs *w, uint32_t last)
{
	const struct osr_srcroutes *routes = w->a;
	uint32_t best = routes->t->n_nodes;

	for (uint32_t j = 0; j < routes->t->n_nodes; j++)
		if (!w->processed[j] && (best == routes->t->n_nodes ||
					 routes->hops[last * routes->t->n_nodes + best] <
						 routes->hops[last * routes->t->n_nodes + j]))
			best = j;
	return best;
}

static enum osr_status bfs(struct osr__picks *picks, struct osr_arena *scratch,
			   struct osr_diag *diag)
{
	const struct osr_srcroutes *routes = picks->a;
	struct bfs w = { .s = picks, .a = routes, .diag = diag };
	enum osr_status st = osr_rgraph_init(&w.g, routes->turns, scratch, diag);
	size_t n = (size_t)routes->t->n_nodes * w.g.n_states;

	if (st)
		return st;
	w.parent = osr_alloc(scratch, n, sizeof(*w.parent));
	w.queue = osr_alloc(scratch, n, sizeof(*w.queue));
	w.next = osr_alloc(scratch, n, sizeof(*w.next));
	w.sorted = osr_alloc(scratch, n, sizeof(*w.sorted));
	w.path = osr_alloc(scratch, OSR_SRCROUTE_MAX_HOPS, sizeof(*w.path));
	w.processed = osr_calloc(scratch, routes->t->n_nodes, 1);
	if (osr_arena_failed(scratch, diag))
		return OSR_NOMEM;
	for (uint32_t source = 0; !st && source < routes->t->n_nodes;
	     source = max_remote(&w, source)) {
		bfs_build_tree(&w, source);
		st = bfs_take_routes(&w, source);
		w.processed[source] = 1;
	}
	return st;
}

/* ---- algorithms 3 and 4: shortest paths by load ---------------------------------------------- */

/*
 * Lines of algorithm 3 as printed:
 *	2-8	unique routes are settled first
 *	10	pairs are sorted and grouped by turns, hops and source
 *	11-18	settle_group(): shortest paths for what is left of the group; those that share no
 *		channel with each other are taken, the others are searched again
 *
 * DIFFERS: algorithm 4 looks for the least weight among all shortest paths of the routing graph, and
 * the choices of a pair are these paths. So the search is a minimum over a few sums. Only ties may
 * fall out differently: to the first choice here, to the first path met there.
 */
struct settle {
	struct osr__picks *s;
	const struct osr_srcroutes *a;
	uint64_t *order; /* [n_order] sorted: turns, hops, pair */
	uint32_t n_order;
	uint32_t *pair;  /* [n_nodes] what is left of a group */
	uint16_t *best;  /* [n_nodes] the choice found for it */
	uint32_t *taken; /* [n_channels] stamp: on a route of this batch */
	uint32_t stamp;
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

/* By turns, then hops; pairs are numbered by source, then destination. */
static void sort_and_group(struct settle *w, bool unique_first)
{
	const struct osr_srcroutes *routes = w->a;

	for (uint32_t p = 0; p < routes->n_pairs; p++) {
		uint32_t n = osr_srcroutes_n_choices(routes, p);

		if (n > 1 || (n && !unique_first))
			w->order[w->n_order++] = (uint64_t)count_turns(routes, p) << 48 |
						 (uint64_t)routes->hops[p] << 32 | p;
		else if (n)
			osr__picks_add(w->s, p, 0);
	}
	qsort(w->order, w->n_order, sizeof(*w->order), ascending);
}

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

/* Lines 12 to 18 for the n pairs in w->pair[]. Returns the calls of BUILD_SSSP. */
static uint32_t settle_group(struct settle *w, uint32_t n)
{
	uint32_t n_calls = 0;

	while (n) {
		uint32_t n_left = 0;

		n_calls++;
		for (uint32_t i = 0; i < n; i++)
			w->best[i] = (uint16_t)cheapest_choice(w, w->pair[i]);
		w->stamp++;
		for (uint32_t i = 0; i < n; i++) {
			uint32_t p = w->pair[i];

			if (join_batch(w, p, w->best[i])) {
				w->s->pick[p] = w->best[i];
				osr__picks_add(w->s, p, w->best[i]);
			} else {
				w->pair[n_left++] = p;
			}
		}
		n = n_left;
	}
	return n_calls;
}

static bool same_group(const struct settle *w, uint32_t i, uint32_t j)
{
	uint64_t x = w->order[i], y = w->order[j];

	return x >> 32 == y >> 32 &&
	       (uint32_t)x / w->a->t->n_nodes == (uint32_t)y / w->a->t->n_nodes;
}

static enum osr_status sssp(struct osr__picks *picks, const struct osr_srcroutes_options *opt,
			    struct osr_arena *scratch, struct osr_srcroutes_stats *stats,
			    struct osr_diag *diag)
{
	const struct osr_srcroutes *routes = picks->a;
	struct settle w = { .s = picks, .a = routes };

	w.order = osr_alloc(scratch, routes->n_pairs, sizeof(*w.order));
	w.pair = osr_alloc(scratch, routes->t->n_nodes, sizeof(*w.pair));
	w.best = osr_alloc(scratch, routes->t->n_nodes, sizeof(*w.best));
	w.taken = osr_calloc(scratch, picks->n_channels, sizeof(*w.taken));
	if (osr_arena_failed(scratch, diag))
		return OSR_NOMEM;
	sort_and_group(&w, opt->unique_first);
	for (uint32_t i = 0, n; i < w.n_order; i += n) {
		for (n = 0; i + n < w.n_order && same_group(&w, i, i + n); n++)
			w.pair[n] = (uint32_t)w.order[i + n];
		stats->n_sssp_calls += settle_group(&w, n);
	}
	return OSR_OK;
}

/* ---- all ------------------------------------------------------------------------------------- */

enum osr_status osr_srcroutes_route(const struct osr_srcroutes *routes,
				    enum osr_srcroutes_algorithm algorithm,
				    const struct osr_srcroutes_options *opt,
				    struct osr_arena *scratch, struct osr_srcroute *route,
				    struct osr_srcroutes_stats *stats, struct osr_diag *diag)
{
	struct osr_arena_mark mark = osr_arena_mark(scratch);
	struct osr__picks picks = { .a = routes,
				    .n_channels = routes->t->n_nodes * routes->t->n_dirs };
	enum osr_status st;

	*stats = (struct osr_srcroutes_stats){ 0 };
	picks.pick = osr_calloc(scratch, routes->n_pairs, sizeof(*picks.pick));
	picks.load = osr_calloc(scratch, picks.n_channels, sizeof(*picks.load));
	if (osr_arena_failed(scratch, diag))
		st = OSR_NOMEM;
	else if (algorithm == OSR_SRCROUTES_BFS)
		st = bfs(&picks, scratch, diag);
	else if (algorithm == OSR_SRCROUTES_GENETIC)
		st = osr__genetic(&picks, opt, scratch, stats, diag);
	else
		st = sssp(&picks, opt, scratch, stats, diag);
	for (uint32_t p = 0; !st && p < routes->n_pairs; p++)
		route[p] = osr_srcroutes_n_choices(routes, p)
				   ? routes->choice[routes->row[p] + picks.pick[p]]
				   : (struct osr_srcroute){ OSR_NO_DIR, OSR_NO_DIR, 0, 0 };
	osr_arena_reset(scratch, mark);
	return st;
}

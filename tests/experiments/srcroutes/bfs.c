/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Algorithms 1 and 2 of the paper. A source's routes form a tree in the routing graph; a vertex
 * belongs to the first one of the level before that leads to it, and vertices with little weight on
 * their outgoing edges come first.
 *
 * What the paper leaves open is an option: the weight of a vertex with several outgoing edges, and
 * which of two equal vertices comes first. Edges are followed in the order of directions. Length in
 * GET_MAX_REMOTE is that of the routes from the last source.
 */
#include "srcroutes_private.h"

#include <stdlib.h>
#include <string.h>

#include <osmroutes/prng.h>

struct bfs {
	struct osr__picks *s;
	const struct osr_srcroutes *a;
	const struct osr_srcroutes_options *opt;
	struct osr_prng prng;
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
	uint64_t sum = 0, least = UINT64_MAX;

	for (uint32_t k = w->g.row[state]; k < w->g.row[state + 1]; k++) {
		struct osr_rg_step step = w->g.step[k];
		uint64_t l;

		if (step.dir == OSR_NO_DIR || osr_rg_next(&w->g, node, state, step) == OSR_NO_NODE)
			continue;
		l = w->s->load[node * w->a->t->n_dirs + step.dir];
		sum += l;
		least = l < least ? l : least;
	}
	if (w->opt->bfs_weight == OSR_SRCROUTES_BFS_NONE || least == UINT64_MAX)
		return 0;
	return w->opt->bfs_weight == OSR_SRCROUTES_BFS_SUM ? sum : least;
}

static int bfs_ascending(const void *x, const void *y)
{
	uint64_t a = *(const uint64_t *)x, b = *(const uint64_t *)y;

	return (a > b) - (a < b);
}

/* An order of discovery drawn at random. */
static void shuffle(struct bfs *w, uint32_t n)
{
	for (uint32_t i = n; i > 1; i--) {
		uint32_t j = osr_prng_below(&w->prng, i);
		uint64_t v = w->queue[i - 1];

		w->queue[i - 1] = w->queue[j];
		w->queue[j] = v;
	}
}

/* Line 9 of algorithm 2: ascending weight, then the order of discovery. */
static void sort_level(struct bfs *w, uint32_t n)
{
	if (w->opt->bfs_ties)
		shuffle(w, n);
	for (uint32_t i = 0; i < n; i++)
		w->next[i] = outgoing_weight(w, (uint32_t)w->queue[i]) << 24 | i;
	qsort(w->next, n, sizeof(*w->next), bfs_ascending);
	for (uint32_t i = 0; i < n; i++)
		w->sorted[i] = (uint32_t)w->queue[w->next[i] & 0xffffff];
}

static void bfs_build_tree(struct bfs *w, uint32_t source)
{
	uint32_t n = 1, n_next;

	memset(w->parent, 0xff, (size_t)w->a->t->n_nodes * w->g.n_states * sizeof(*w->parent));
	w->queue[0] = source * w->g.n_states;
	for (; n; n = n_next) {
		sort_level(w, n);
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

static enum osr_status take_routes(struct bfs *w, uint32_t source)
{
	const struct osr_srcroutes *routes = w->a;

	for (uint32_t j = 0; j < routes->t->n_nodes; j++) {
		uint32_t pair = source * routes->t->n_nodes + j, hops, k;

		if (j == source || !routes->hops[pair])
			continue;
		/* Lines 19 to 31. */
		hops = osr_rgraph_trace(&w->g, w->parent, j, w->path);
		k = osr__choice_of(routes, pair, w->path, hops);
		if (k == OSR_NO_NODE)
			return osr_fail(w->diag, OSR_BUG,
					"breadth-first search found a route of %u hops from node "
					"%u to %u that is not among the shortest legal ones",
					hops, source, j);
		w->s->pick[pair] = (uint16_t)k;
		osr__picks_add(w->s, pair, k, 1);
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

static enum osr_status bfs_init(struct bfs *w, struct osr_arena *scratch)
{
	const struct osr_srcroutes *routes = w->a;
	enum osr_status st = osr_rgraph_init(&w->g, routes->turns, scratch, w->diag);
	size_t n = (size_t)routes->t->n_nodes * w->g.n_states;

	if (st)
		return st;
	w->parent = osr_alloc(scratch, n, sizeof(*w->parent));
	w->queue = osr_alloc(scratch, n, sizeof(*w->queue));
	w->next = osr_alloc(scratch, n, sizeof(*w->next));
	w->sorted = osr_alloc(scratch, n, sizeof(*w->sorted));
	w->path = osr_alloc(scratch, OSR_SRCROUTE_MAX_HOPS, sizeof(*w->path));
	w->processed = osr_calloc(scratch, routes->t->n_nodes, 1);
	if (osr_arena_failed(scratch, w->diag))
		return OSR_NOMEM;
	return OSR_OK;
}

enum osr_status osr__bfs(struct osr__picks *picks, const struct osr_srcroutes_options *opt,
			 struct osr_arena *scratch, struct osr_diag *diag)
{
	struct bfs w = {
		.s = picks, .a = picks->a, .opt = opt, .prng = { opt->bfs_ties }, .diag = diag
	};
	enum osr_status st = bfs_init(&w, scratch);

	for (uint32_t source = 0; !st && source < picks->a->t->n_nodes;
	     source = max_remote(&w, source)) {
		bfs_build_tree(&w, source);
		st = take_routes(&w, source);
		w.processed[source] = 1;
	}
	return st;
}

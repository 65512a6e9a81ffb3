/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "srcroutes/srctraffic.h"

#include <string.h>

struct traffic {
	const struct osr_torus *t;
	const struct osr_srcroute *route;
	uint32_t height;   /* of the matrix that is transposed */
	uint32_t *load;    /* [n_nodes * n_dirs] */
	uint32_t *path;    /* [OSR_SRCROUTE_MAX_HOPS] */
	uint32_t *n_worst; /* [n_nodes^2 + 1] pairs by the largest load on their route */
};

const char *osr_srcpattern_name(enum osr_srcpattern pattern)
{
	static const char *const names[] = { "transpose", "neighbor", "tornado", "alltoall" };

	return pattern < OSR_N_SRCPATTERNS ? names[pattern] : "?";
}

/* The only position that i sends to; unless all send to all. */
static uint32_t partner(const struct traffic *w, enum osr_srcpattern pattern, uint32_t i)
{
	uint32_t n = w->t->n_nodes, width = n / w->height;

	switch (pattern) {
	case OSR_SRCPATTERN_TRANSPOSE:
		return i % width * w->height + i / width;
	case OSR_SRCPATTERN_NEIGHBOR:
		return (i + 1) % n;
	default:
		return (i + (n + 1) / 2 - 1) % n;
	}
}

/* The channels of the route from position i to j; 0: it does not send. */
static uint32_t srctraffic_trace(struct traffic *w, uint32_t i, uint32_t j)
{
	struct osr_srcroute srcroute = w->route[(size_t)i * w->t->n_nodes + j];

	if (i == j || osr_srcroute_is_none(srcroute))
		return 0;
	return osr_srcroute_channels(w->t, i, j, srcroute, w->path);
}

static void srctraffic_add(struct traffic *w, uint32_t i, uint32_t j)
{
	uint32_t n = srctraffic_trace(w, i, j);

	while (n)
		w->load[w->path[--n]]++;
}

static void srctraffic_look(struct traffic *w, uint32_t i, uint32_t j)
{
	uint32_t n = srctraffic_trace(w, i, j), worst = 0;

	while (n) {
		uint32_t l = w->load[w->path[--n]];

		worst = l > worst ? l : worst;
	}
	w->n_worst[worst]++;
}

static void all(struct traffic *w, enum osr_srcpattern pattern,
		void (*visit)(struct traffic *w, uint32_t i, uint32_t j))
{
	for (uint32_t i = 0; i < w->t->n_nodes; i++) {
		if (pattern != OSR_SRCPATTERN_ALLTOALL)
			visit(w, i, partner(w, pattern, i));
		else
			for (uint32_t j = 0; j < w->t->n_nodes; j++)
				visit(w, i, j);
	}
}

/* Counted first, so that the sum has one order. */
static void sum_up(const struct traffic *w, struct osr_srctraffic *out)
{
	double sum = 0;

	for (uint32_t worst = 1; worst <= w->t->n_nodes * w->t->n_nodes; worst++) {
		if (!w->n_worst[worst])
			continue;
		out->n_pairs += w->n_worst[worst];
		out->max_load = worst;
		sum += (double)w->n_worst[worst] / worst;
	}
	out->bandwidth = out->n_pairs ? sum / out->n_pairs : 0;
}

enum osr_status osr_srctraffic(const struct osr_torus *torus, const struct osr_srcroute *route,
			       enum osr_srcpattern pattern, struct osr_arena *scratch,
			       struct osr_srctraffic *out, struct osr_diag *diag)
{
	struct osr_arena_mark mark = osr_arena_mark(scratch);
	struct traffic w = { .t = torus, .route = route, .height = 1 };
	uint32_t n = torus->n_nodes;

	*out = (struct osr_srctraffic){ 0 };
	for (uint32_t h = 1; h * h <= n; h++)
		if (n % h == 0)
			w.height = h;
	w.load = osr_calloc(scratch, (size_t)torus->n_nodes * torus->n_dirs, sizeof(*w.load));
	w.path = osr_alloc(scratch, OSR_SRCROUTE_MAX_HOPS, sizeof(*w.path));
	w.n_worst = osr_calloc(scratch, (size_t)n * n + 1, sizeof(*w.n_worst));
	if (osr_arena_failed(scratch, diag)) {
		osr_arena_reset(scratch, mark);
		return OSR_NOMEM;
	}
	all(&w, pattern, srctraffic_add);
	all(&w, pattern, srctraffic_look);
	sum_up(&w, out);
	osr_arena_reset(scratch, mark);
	return OSR_OK;
}

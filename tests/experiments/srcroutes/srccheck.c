/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * See srccheck.h. Coordinates and hops are computed here once more, from the sizes of the torus
 * alone; of its tables only the answer to "is this channel there?" is used.
 */
#include "srcroutes/srccheck.h"

#include <math.h>
#include <string.h>

struct judge {
	const struct osr_torus *t;
	const uint32_t *rank;
	struct osr_diag *diag;
	uint32_t *load;  /* [n_nodes * n_dirs] */
	uint8_t *closed; /* [n_nodes * n_dirs] on a whole ring */
	uint32_t *path;  /* [OSR_SRCROUTE_MAX_HOPS] channels of the route at hand */
	uint32_t from, to;
};

/* The node next to this one; the direction is a dimension and a sign. */
static uint32_t srccheck_move(const struct osr_torus *torus, uint32_t node, uint32_t dim, bool up)
{
	uint32_t below = 1, x;

	for (uint32_t i = dim + 1; i < torus->n_dims; i++)
		below *= torus->size[i];
	x = node / below % torus->size[dim];
	if (up)
		return x + 1 < torus->size[dim] ? node + below : node - x * below;
	return x ? node - below : node + (torus->size[dim] - 1) * below;
}

static bool is_there(const struct osr_torus *torus, uint32_t channel)
{
	return torus->next[channel] != UINT32_MAX;
}

/* Marks the channels of all rings that have lost nothing. */
static void find_rings(struct judge *w)
{
	const struct osr_torus *torus = w->t;

	for (uint32_t c = 0; c < torus->n_nodes * torus->n_dirs; c++) {
		uint32_t dir = c % torus->n_dirs, dim = dir % torus->n_dims, v = c / torus->n_dirs,
			 n = 0;

		while (n < torus->size[dim] && is_there(torus, v * torus->n_dirs + dir)) {
			v = srccheck_move(torus, v, dim, dir < torus->n_dims);
			n++;
		}
		w->closed[c] = n == torus->size[dim] && torus->size[dim] > 2;
	}
}

static enum osr_status srccheck_refuse(const struct judge *w, const char *why)
{
	return osr_fail(w->diag, OSR_CHECK_FAILED, "the route from node %u to node %u %s", w->from,
			w->to, why);
}

/*
 * One hop more, from *at: the channel must be there, and the certificate must say that it may be
 * waited for by the one before.
 */
static enum osr_status srccheck_hop(struct judge *w, uint32_t *at, uint32_t dir, uint32_t *n)
{
	const struct osr_torus *torus = w->t;
	uint32_t c = *at * torus->n_dirs + dir;

	if (*n == OSR_SRCROUTE_MAX_HOPS)
		return srccheck_refuse(w, "has no end");
	if (!is_there(torus, c))
		return srccheck_refuse(w, "uses a channel that is not there");
	if (*n) {
		uint32_t before = w->path[*n - 1];
		bool same_ring = before % torus->n_dirs == dir && w->closed[before] && w->closed[c];

		if (same_ring ? w->rank[c] != w->rank[before] : w->rank[c] <= w->rank[before])
			return srccheck_refuse(w,
					       "takes a turn that the certificate does not allow");
	}
	w->path[(*n)++] = c;
	*at = srccheck_move(torus, *at, dir % torus->n_dims, dir < torus->n_dims);
	return OSR_OK;
}

/* The header of a packet: what may stand in it. */
static enum osr_status check_form(const struct judge *w, struct osr_srcroute srcroute)
{
	const struct osr_torus *torus = w->t;

	if (srcroute.first != OSR_NO_DIR && srcroute.first >= torus->n_dims)
		return srccheck_refuse(w, "has a first step that is not positive");
	if (srcroute.last != OSR_NO_DIR &&
	    (srcroute.last < torus->n_dims || srcroute.last >= torus->n_dirs))
		return srccheck_refuse(w, "has a last step that is not negative");
	if (srcroute.plus & srcroute.minus)
		return srccheck_refuse(w, "uses both directions of a dimension");
	if ((srcroute.plus | srcroute.minus) >> torus->n_dims)
		return srccheck_refuse(w, "uses a dimension that is not there");
	if (!(srcroute.plus | srcroute.minus) && srcroute.last != OSR_NO_DIR)
		return srccheck_refuse(w, "has a last step, but nothing before it");
	return OSR_OK;
}

/* Hops in one direction until the coordinate is that of the node `to`. */
static enum osr_status srccheck_run(struct judge *w, uint32_t *at, uint32_t to, uint32_t dir,
				    uint32_t *n)
{
	const struct osr_torus *torus = w->t;
	uint32_t dim = dir % torus->n_dims, below = 1, hops = 0;
	enum osr_status st = OSR_OK;

	for (uint32_t i = dim + 1; i < torus->n_dims; i++)
		below *= torus->size[i];
	while (!st && *at / below % torus->size[dim] != to / below % torus->size[dim]) {
		st = srccheck_hop(w, at, dir, n);
		hops++;
	}
	return st || hops ? st : srccheck_refuse(w, "has a direction bit that it does not use");
}

static enum osr_status srccheck_follow(struct judge *w, struct osr_srcroute srcroute, uint32_t *n)
{
	const struct osr_torus *torus = w->t;
	uint32_t at = w->from, to = w->to;
	enum osr_status st = check_form(w, srcroute);

	if (!st && srcroute.first != OSR_NO_DIR)
		st = srccheck_hop(w, &at, srcroute.first, n);
	if (!st && srcroute.last != OSR_NO_DIR)
		to = srccheck_move(torus, to, srcroute.last % torus->n_dims, true);
	for (uint32_t i = 0; !st && i < torus->n_dims; i++)
		if (srcroute.plus >> i & 1)
			st = srccheck_run(w, &at, to, i, n);
	for (uint32_t i = 0; !st && i < torus->n_dims; i++)
		if (srcroute.minus >> i & 1)
			st = srccheck_run(w, &at, to, i + torus->n_dims, n);
	if (!st && srcroute.last != OSR_NO_DIR)
		st = srccheck_hop(w, &at, srcroute.last, n);
	return !st && at != w->to ? srccheck_refuse(w, "ends somewhere else") : st;
}

/* Hops around no obstacle, dimension by dimension. */
static uint32_t least_hops(const struct osr_torus *torus, uint32_t from, uint32_t to)
{
	uint32_t sum = 0;

	for (uint32_t i = torus->n_dims; i-- > 0;) {
		uint32_t x = from % torus->size[i], y = to % torus->size[i], up, down;

		up = (y + torus->size[i] - x) % torus->size[i];
		down = (x + torus->size[i] - y) % torus->size[i];
		if (!torus->ring[i])
			sum += y > x ? up : down;
		else
			sum += up < down ? up : down;
		from /= torus->size[i];
		to /= torus->size[i];
	}
	return sum;
}

static enum osr_status check_route(struct judge *w, struct osr_srcroute srcroute,
				   struct osr_srcverdict *srcverdict)
{
	uint32_t n = 0;
	enum osr_status st;

	if (srcroute.first == OSR_NO_DIR && srcroute.last == OSR_NO_DIR && !srcroute.plus &&
	    !srcroute.minus) {
		srcverdict->n_missing++;
		return OSR_OK;
	}
	st = srccheck_follow(w, srcroute, &n);
	for (uint32_t h = 0; !st && h < n; h++)
		w->load[w->path[h]]++;
	srcverdict->n_routes++;
	srcverdict->n_hops += n;
	srcverdict->n_extra += (srcroute.first != OSR_NO_DIR) + (srcroute.last != OSR_NO_DIR);
	srcverdict->n_longer += n > least_hops(w->t, w->from, w->to);
	srcverdict->max_hops = n > srcverdict->max_hops ? n : srcverdict->max_hops;
	return st;
}

static void srccheck_measure(const struct judge *w, struct osr_srcverdict *srcverdict)
{
	uint32_t n_all = w->t->n_nodes * w->t->n_dirs, n = 0;
	double sum = 0;

	srcverdict->min_load = UINT32_MAX;
	for (uint32_t c = 0; c < n_all; c++) {
		if (!is_there(w->t, c))
			continue;
		n++;
		srcverdict->max_load =
			w->load[c] > srcverdict->max_load ? w->load[c] : srcverdict->max_load;
		srcverdict->min_load =
			w->load[c] < srcverdict->min_load ? w->load[c] : srcverdict->min_load;
	}
	if (!n) {
		srcverdict->min_load = 0;
		return;
	}
	srcverdict->mean_load = (double)srcverdict->n_hops / n;
	for (uint32_t c = 0; c < n_all; c++) {
		double gap = w->load[c] - srcverdict->mean_load;

		if (is_there(w->t, c))
			sum += gap * gap * gap * gap;
	}
	srcverdict->sigma4 = sqrt(sqrt(sum / n));
}

static enum osr_status judge_init(struct judge *w, struct osr_arena *scratch)
{
	size_t n = (size_t)w->t->n_nodes * w->t->n_dirs;

	w->load = osr_calloc(scratch, n, sizeof(*w->load));
	w->closed = osr_alloc(scratch, n, 1);
	w->path = osr_alloc(scratch, OSR_SRCROUTE_MAX_HOPS, sizeof(*w->path));
	if (osr_arena_failed(scratch, w->diag))
		return OSR_NOMEM;
	find_rings(w);
	return OSR_OK;
}

enum osr_status osr_srccheck(const struct osr_torus *torus, const struct osr_srcroute *route,
			     const uint32_t *rank, struct osr_arena *scratch, uint32_t *load,
			     struct osr_srcverdict *srcverdict, struct osr_diag *diag)
{
	struct osr_arena_mark mark = osr_arena_mark(scratch);
	struct judge w = { .t = torus, .rank = rank, .diag = diag };
	enum osr_status st = judge_init(&w, scratch);

	*srcverdict = (struct osr_srcverdict){ 0 };
	for (uint32_t i = 0; !st && i < torus->n_nodes; i++) {
		for (uint32_t j = 0; !st && j < torus->n_nodes; j++) {
			w.from = i;
			w.to = j;
			if (i != j)
				st = check_route(&w, route[(size_t)i * torus->n_nodes + j],
						 srcverdict);
		}
	}
	if (!st)
		srccheck_measure(&w, srcverdict);
	if (!st && load)
		memcpy(load, w.load, (size_t)torus->n_nodes * torus->n_dirs * sizeof(*load));
	osr_arena_reset(scratch, mark);
	return st;
}

/* ---- patterns ------------------------------------------------------------------------------- */

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

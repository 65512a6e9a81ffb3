/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * See srccheck.h. Coordinates and hops are computed here once more, from the sizes of the torus
 * alone; of its tables only the answer to "is this channel there?" is used.
 */
#include <osmroutes/srccheck.h>

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
static uint32_t move(const struct osr_torus *t, uint32_t node, uint32_t dim, bool up)
{
	uint32_t below = 1, x;

	for (uint32_t i = dim + 1; i < t->n_dims; i++)
		below *= t->size[i];
	x = node / below % t->size[dim];
	if (up)
		return x + 1 < t->size[dim] ? node + below : node - x * below;
	return x ? node - below : node + (t->size[dim] - 1) * below;
}

static bool is_there(const struct osr_torus *t, uint32_t channel)
{
	return t->next[channel] != UINT32_MAX;
}

/* Marks the channels of all rings that have lost nothing. */
static void find_rings(struct judge *w)
{
	const struct osr_torus *t = w->t;

	for (uint32_t c = 0; c < t->n_nodes * t->n_dirs; c++) {
		uint32_t dir = c % t->n_dirs, dim = dir % t->n_dims, v = c / t->n_dirs, n = 0;

		while (n < t->size[dim] && is_there(t, v * t->n_dirs + dir)) {
			v = move(t, v, dim, dir < t->n_dims);
			n++;
		}
		w->closed[c] = n == t->size[dim] && t->size[dim] > 2;
	}
}

static enum osr_status refuse(const struct judge *w, const char *why)
{
	return osr_fail(w->diag, OSR_CHECK_FAILED, "the route from node %u to node %u %s", w->from,
			w->to, why);
}

/*
 * One hop more, from *at: the channel must be there, and the certificate must say that it may be
 * waited for by the one before.
 */
static enum osr_status hop(struct judge *w, uint32_t *at, uint32_t dir, uint32_t *n)
{
	const struct osr_torus *t = w->t;
	uint32_t c = *at * t->n_dirs + dir;

	if (*n == OSR_SRCROUTE_MAX_HOPS)
		return refuse(w, "has no end");
	if (!is_there(t, c))
		return refuse(w, "uses a channel that is not there");
	if (*n) {
		uint32_t before = w->path[*n - 1];
		bool same_ring = before % t->n_dirs == dir && w->closed[before] && w->closed[c];

		if (same_ring ? w->rank[c] != w->rank[before] : w->rank[c] <= w->rank[before])
			return refuse(w, "takes a turn that the certificate does not allow");
	}
	w->path[(*n)++] = c;
	*at = move(t, *at, dir % t->n_dims, dir < t->n_dims);
	return OSR_OK;
}

/* The header of a packet: what may stand in it. */
static enum osr_status check_form(const struct judge *w, struct osr_srcroute r)
{
	const struct osr_torus *t = w->t;

	if (r.first != OSR_NO_DIR && r.first >= t->n_dims)
		return refuse(w, "has a first step that is not positive");
	if (r.last != OSR_NO_DIR && (r.last < t->n_dims || r.last >= t->n_dirs))
		return refuse(w, "has a last step that is not negative");
	if (r.plus & r.minus)
		return refuse(w, "uses both directions of a dimension");
	if ((r.plus | r.minus) >> t->n_dims)
		return refuse(w, "uses a dimension that is not there");
	if (!(r.plus | r.minus) && r.last != OSR_NO_DIR)
		return refuse(w, "has a last step, but nothing before it");
	return OSR_OK;
}

/* Hops in one direction until the coordinate is that of the node `to`. */
static enum osr_status run(struct judge *w, uint32_t *at, uint32_t to, uint32_t dir, uint32_t *n)
{
	const struct osr_torus *t = w->t;
	uint32_t dim = dir % t->n_dims, below = 1, hops = 0;
	enum osr_status st = OSR_OK;

	for (uint32_t i = dim + 1; i < t->n_dims; i++)
		below *= t->size[i];
	while (!st && *at / below % t->size[dim] != to / below % t->size[dim]) {
		st = hop(w, at, dir, n);
		hops++;
	}
	return st || hops ? st : refuse(w, "has a direction bit that it does not use");
}

static enum osr_status follow(struct judge *w, struct osr_srcroute r, uint32_t *n)
{
	const struct osr_torus *t = w->t;
	uint32_t at = w->from, to = w->to;
	enum osr_status st = check_form(w, r);

	if (!st && r.first != OSR_NO_DIR)
		st = hop(w, &at, r.first, n);
	if (!st && r.last != OSR_NO_DIR)
		to = move(t, to, r.last % t->n_dims, true);
	for (uint32_t i = 0; !st && i < t->n_dims; i++)
		if (r.plus >> i & 1)
			st = run(w, &at, to, i, n);
	for (uint32_t i = 0; !st && i < t->n_dims; i++)
		if (r.minus >> i & 1)
			st = run(w, &at, to, i + t->n_dims, n);
	if (!st && r.last != OSR_NO_DIR)
		st = hop(w, &at, r.last, n);
	return !st && at != w->to ? refuse(w, "ends somewhere else") : st;
}

/* Hops around no obstacle, dimension by dimension. */
static uint32_t least_hops(const struct osr_torus *t, uint32_t from, uint32_t to)
{
	uint32_t sum = 0;

	for (uint32_t i = t->n_dims; i-- > 0;) {
		uint32_t x = from % t->size[i], y = to % t->size[i], up, down;

		up = (y + t->size[i] - x) % t->size[i];
		down = (x + t->size[i] - y) % t->size[i];
		if (!t->ring[i])
			sum += y > x ? up : down;
		else
			sum += up < down ? up : down;
		from /= t->size[i];
		to /= t->size[i];
	}
	return sum;
}

static enum osr_status check_route(struct judge *w, struct osr_srcroute r, struct osr_srcverdict *v)
{
	uint32_t n = 0;
	enum osr_status st;

	if (r.first == OSR_NO_DIR && r.last == OSR_NO_DIR && !r.plus && !r.minus) {
		v->n_missing++;
		return OSR_OK;
	}
	st = follow(w, r, &n);
	for (uint32_t h = 0; !st && h < n; h++)
		w->load[w->path[h]]++;
	v->n_routes++;
	v->n_hops += n;
	v->n_extra += (r.first != OSR_NO_DIR) + (r.last != OSR_NO_DIR);
	v->n_longer += n > least_hops(w->t, w->from, w->to);
	v->max_hops = n > v->max_hops ? n : v->max_hops;
	return st;
}

static void measure(const struct judge *w, struct osr_srcverdict *v)
{
	uint32_t n_all = w->t->n_nodes * w->t->n_dirs, n = 0;
	double sum = 0;

	v->min_load = UINT32_MAX;
	for (uint32_t c = 0; c < n_all; c++) {
		if (!is_there(w->t, c))
			continue;
		n++;
		v->max_load = w->load[c] > v->max_load ? w->load[c] : v->max_load;
		v->min_load = w->load[c] < v->min_load ? w->load[c] : v->min_load;
	}
	if (!n) {
		v->min_load = 0;
		return;
	}
	v->mean_load = (double)v->n_hops / n;
	for (uint32_t c = 0; c < n_all; c++) {
		double gap = w->load[c] - v->mean_load;

		if (is_there(w->t, c))
			sum += gap * gap * gap * gap;
	}
	v->sigma4 = sqrt(sqrt(sum / n));
}

static enum osr_status judge_init(struct judge *w, struct osr_arena *scratch)
{
	size_t n = (size_t)w->t->n_nodes * w->t->n_dirs;

	w->load = osr_calloc(scratch, n, sizeof(*w->load));
	w->closed = osr_alloc(scratch, n, 1);
	w->path = osr_alloc(scratch, OSR_SRCROUTE_MAX_HOPS, sizeof(*w->path));
	if (!w->load || !w->closed || !w->path)
		return osr_fail(w->diag, OSR_NOMEM, "out of memory to check the routes");
	find_rings(w);
	return OSR_OK;
}

enum osr_status osr_srccheck(const struct osr_torus *t, const uint32_t *set, uint32_t n_set,
			     const struct osr_srcroute *route, const uint32_t *rank,
			     struct osr_arena *scratch, uint32_t *load, struct osr_srcverdict *v,
			     struct osr_diag *diag)
{
	struct osr_arena_mark mark = osr_arena_mark(scratch);
	struct judge w = { .t = t, .rank = rank, .diag = diag };
	enum osr_status st = judge_init(&w, scratch);

	*v = (struct osr_srcverdict){ 0 };
	for (uint32_t i = 0; !st && i < n_set; i++) {
		for (uint32_t j = 0; !st && j < n_set; j++) {
			w.from = set[i];
			w.to = set[j];
			if (i != j)
				st = check_route(&w, route[(size_t)i * n_set + j], v);
		}
	}
	if (!st)
		measure(&w, v);
	if (!st && load)
		memcpy(load, w.load, (size_t)t->n_nodes * t->n_dirs * sizeof(*load));
	osr_arena_reset(scratch, mark);
	return st;
}

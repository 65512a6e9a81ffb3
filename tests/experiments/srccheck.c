/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* See srcroutes.h. Coordinates and hops are computed here once more, from the sizes of the torus alone. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "srcroutes.h"

struct judge {
	const struct torus *t;
	const uint32_t *rank;
	uint32_t path[SRCROUTE_MAX_HOPS]; /* channels of the route at hand */
	uint32_t n;
};

static uint32_t coordinate(const struct torus *t, uint32_t node, uint32_t dim)
{
	for (uint32_t i = t->n_dims; --i > dim;)
		node /= t->size[i];
	return node % t->size[dim];
}

/* The node next to this one; NO_NODE: the line ends here. */
static uint32_t move(const struct torus *t, uint32_t node, uint32_t dir)
{
	uint32_t dim = dir % t->n_dims, below = 1, x = coordinate(t, node, dim),
		 size = t->size[dim];

	for (uint32_t i = dim + 1; i < t->n_dims; i++)
		below *= t->size[i];
	if (dir < t->n_dims)
		return x + 1 < size ? node + below : size == 2 ? NO_NODE : node - x * below;
	return x ? node - below : size == 2 ? NO_NODE : node + (size - 1) * below;
}

/* One hop more: the channel must be there, and the certificate must say that the one before may wait for it. */
static const char *hop(struct judge *w, uint32_t *at, uint32_t dir)
{
	uint32_t c = *at * w->t->n_dirs + dir, next = move(w->t, *at, dir);

	if (w->n == SRCROUTE_MAX_HOPS)
		return "has no end";
	if (next == NO_NODE)
		return "uses a channel that is not there";
	if (w->n) {
		uint32_t before = w->path[w->n - 1];
		bool ring = before % w->t->n_dirs == dir && w->t->size[dir % w->t->n_dims] > 2;

		if (ring ? w->rank[c] != w->rank[before] : w->rank[c] <= w->rank[before])
			return "takes a turn that the certificate does not allow";
	}
	w->path[w->n++] = c;
	*at = next;
	return NULL;
}

/* Fills path[] with a route; says what is wrong with it, or NULL. */
static const char *follow(struct judge *w, struct srcroute r, uint32_t from, uint32_t to)
{
	const struct torus *t = w->t;
	uint32_t at = from, end = to;
	const char *why = NULL;

	/* What may stand in the header of a packet. */
	w->n = 0;
	if (r.first != NO_DIR && r.first >= t->n_dims)
		return "has a first step that is not positive";
	if (r.last != NO_DIR && (r.last < t->n_dims || r.last >= t->n_dirs))
		return "has a last step that is not negative";
	if (r.plus & r.minus)
		return "uses both directions of a dimension";
	if ((r.plus | r.minus) >> t->n_dims)
		return "uses a dimension that is not there";
	if (!(r.plus | r.minus) && r.last != NO_DIR)
		return "has a last step, but nothing before it";
	if (r.first != NO_DIR)
		why = hop(w, &at, r.first);
	if (r.last != NO_DIR)
		end = move(t, to, r.last % t->n_dims);
	if (end == NO_NODE)
		return "uses a channel that is not there";
	/* In each direction until the coordinate is that of the end. */
	for (uint32_t dir = 0; !why && dir < t->n_dirs; dir++) {
		uint32_t dim = dir % t->n_dims, before = w->n;

		if (!((dir < t->n_dims ? r.plus : r.minus) >> dim & 1))
			continue;
		while (!why && coordinate(t, at, dim) != coordinate(t, end, dim))
			why = hop(w, &at, dir);
		if (!why && w->n == before)
			return "has a direction bit that it does not use";
	}
	if (!why && r.last != NO_DIR)
		why = hop(w, &at, r.last);
	return !why && at != to ? "ends somewhere else" : why;
}

/* Dimension by dimension. */
static uint32_t least_hops(const struct torus *t, uint32_t from, uint32_t to)
{
	uint32_t sum = 0;

	for (uint32_t i = 0; i < t->n_dims; i++) {
		uint32_t x = coordinate(t, from, i), y = coordinate(t, to, i);
		uint32_t gap = x < y ? y - x : x - y;

		sum += t->size[i] > 2 && t->size[i] - gap < gap ? t->size[i] - gap : gap;
	}
	return sum;
}

bool srccheck(const struct torus *t, const struct srcroute *route, const uint32_t *rank,
	      struct srcverdict *v)
{
	struct judge w = { .t = t, .rank = rank };
	uint32_t n = t->n_nodes, n_all = n * t->n_dirs, n_live = 0;
	uint32_t *load = calloc(n_all, sizeof(*load));
	const char *why = NULL;
	double sum = 0;

	*v = (struct srcverdict){ .min_load = UINT32_MAX };
	for (uint32_t p = 0; !why && p < n * n; p++) {
		if (p / n == p % n)
			continue;
		why = follow(&w, route[p], p / n, p % n);
		if (why)
			snprintf(v->why, sizeof(v->why), "the route from node %u to node %u %s",
				 p / n, p % n, why);
		for (uint32_t h = 0; h < w.n; h++)
			load[w.path[h]]++;
		v->n_hops += w.n;
		v->n_longer += w.n > least_hops(t, p / n, p % n);
		v->max_hops = w.n > v->max_hops ? w.n : v->max_hops;
	}
	/* Loads, of channels that are there. */
	for (uint32_t c = 0; c < n_all; c++) {
		if (move(t, c / t->n_dirs, c % t->n_dirs) == NO_NODE)
			continue;
		n_live++;
		v->max_load = load[c] > v->max_load ? load[c] : v->max_load;
		v->min_load = load[c] < v->min_load ? load[c] : v->min_load;
	}
	for (uint32_t c = 0; c < n_all; c++) {
		double gap = load[c] - (double)v->n_hops / n_live;

		if (move(t, c / t->n_dirs, c % t->n_dirs) != NO_NODE)
			sum += gap * gap * gap * gap;
	}
	v->sigma4 = sqrt(sqrt(sum / n_live));
	free(load);
	return !why;
}

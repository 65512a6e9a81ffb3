/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * See srcroutes.h. Coordinates and hops are computed here once more, from the sizes of the torus
 * alone.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "srcroutes.h"

struct judge {
	const struct torus *torus;
	const uint32_t *rank;
	uint32_t path[SRCROUTE_MAX_HOPS]; /* channels of the route at hand */
	uint32_t n;
};

static uint32_t coordinate(const struct torus *torus, uint32_t node, uint32_t dim)
{
	for (uint32_t i = torus->n_dims; --i > dim;)
		node /= torus->size[i];
	return node % torus->size[dim];
}

/* The node next to this one; NO_NODE: the line ends here. */
static uint32_t move(const struct torus *torus, uint32_t node, uint32_t dir)
{
	uint32_t dim = dir % torus->n_dims, below = 1, x = coordinate(torus, node, dim),
		 size = torus->size[dim];

	for (uint32_t i = dim + 1; i < torus->n_dims; i++)
		below *= torus->size[i];
	if (dir < torus->n_dims)
		return x + 1 < size ? node + below : size == 2 ? NO_NODE : node - x * below;
	return x ? node - below : size == 2 ? NO_NODE : node + (size - 1) * below;
}

/*
 * One hop more: the channel must be there, and the certificate must say that the one before may
 * wait for it.
 */
static const char *hop(struct judge *judge, uint32_t *at, uint32_t dir)
{
	uint32_t c = *at * judge->torus->n_dirs + dir, next = move(judge->torus, *at, dir);

	if (judge->n == SRCROUTE_MAX_HOPS)
		return "has no end";
	if (next == NO_NODE)
		return "uses a channel that is not there";
	if (judge->n) {
		uint32_t before = judge->path[judge->n - 1];
		bool ring = before % judge->torus->n_dirs == dir &&
			    judge->torus->size[dir % judge->torus->n_dims] > 2;

		if (ring ? judge->rank[c] != judge->rank[before]
			 : judge->rank[c] <= judge->rank[before])
			return "takes a turn that the certificate does not allow";
	}
	judge->path[judge->n++] = c;
	*at = next;
	return NULL;
}

/* Fills path[] with a route; says what is wrong with it, or NULL. */
static const char *follow(struct judge *judge, struct srcroute srcroute, uint32_t from, uint32_t to)
{
	const struct torus *torus = judge->torus;
	uint32_t at = from, end = to;
	const char *why = NULL;

	/* What may stand in the header of a packet. */
	judge->n = 0;
	if (srcroute.first != NO_DIR && srcroute.first >= torus->n_dims)
		return "has a first step that is not positive";
	if (srcroute.last != NO_DIR &&
	    (srcroute.last < torus->n_dims || srcroute.last >= torus->n_dirs))
		return "has a last step that is not negative";
	if (srcroute.plus & srcroute.minus)
		return "uses both directions of a dimension";
	if ((srcroute.plus | srcroute.minus) >> torus->n_dims)
		return "uses a dimension that is not there";
	if (!(srcroute.plus | srcroute.minus) && srcroute.last != NO_DIR)
		return "has a last step, but nothing before it";
	if (srcroute.first != NO_DIR)
		why = hop(judge, &at, srcroute.first);
	if (srcroute.last != NO_DIR)
		end = move(torus, to, srcroute.last % torus->n_dims);
	if (end == NO_NODE)
		return "uses a channel that is not there";
	/* In each direction until the coordinate is that of the end. */
	for (uint32_t dir = 0; !why && dir < torus->n_dirs; dir++) {
		uint32_t dim = dir % torus->n_dims, before = judge->n;

		if (!((dir < torus->n_dims ? srcroute.plus : srcroute.minus) >> dim & 1))
			continue;
		while (!why && coordinate(torus, at, dim) != coordinate(torus, end, dim))
			why = hop(judge, &at, dir);
		if (!why && judge->n == before)
			return "has a direction bit that it does not use";
	}
	if (!why && srcroute.last != NO_DIR)
		why = hop(judge, &at, srcroute.last);
	return !why && at != to ? "ends somewhere else" : why;
}

/* Dimension by dimension. */
static uint32_t least_hops(const struct torus *torus, uint32_t from, uint32_t to)
{
	uint32_t sum = 0;

	for (uint32_t i = 0; i < torus->n_dims; i++) {
		uint32_t x = coordinate(torus, from, i), y = coordinate(torus, to, i);
		uint32_t gap = x < y ? y - x : x - y;

		sum += torus->size[i] > 2 && torus->size[i] - gap < gap ? torus->size[i] - gap
									: gap;
	}
	return sum;
}

bool srccheck(const struct torus *torus, const struct srcroute *route, const uint32_t *rank,
	      struct srcverdict *verdict)
{
	struct judge judge = { .torus = torus, .rank = rank };
	uint32_t n = torus->n_nodes, n_all = n * torus->n_dirs, n_live = 0;
	uint32_t *load = calloc(n_all, sizeof(*load));
	const char *why = NULL;
	double sum = 0;

	*verdict = (struct srcverdict){ .min_load = UINT32_MAX };
	for (uint32_t p = 0; !why && p < n * n; p++) {
		if (p / n == p % n)
			continue;
		why = follow(&judge, route[p], p / n, p % n);
		if (why)
			snprintf(verdict->why, sizeof(verdict->why),
				 "the route from node %u to node %u %s", p / n, p % n, why);
		for (uint32_t h = 0; h < judge.n; h++)
			load[judge.path[h]]++;
		verdict->n_hops += judge.n;
		verdict->n_longer += judge.n > least_hops(torus, p / n, p % n);
		verdict->max_hops = judge.n > verdict->max_hops ? judge.n : verdict->max_hops;
	}
	/* Loads, of channels that are there. */
	for (uint32_t c = 0; c < n_all; c++) {
		if (move(torus, c / torus->n_dirs, c % torus->n_dirs) == NO_NODE)
			continue;
		n_live++;
		verdict->max_load = load[c] > verdict->max_load ? load[c] : verdict->max_load;
		verdict->min_load = load[c] < verdict->min_load ? load[c] : verdict->min_load;
	}
	for (uint32_t c = 0; c < n_all; c++) {
		double gap = load[c] - (double)verdict->n_hops / n_live;

		if (move(torus, c / torus->n_dirs, c % torus->n_dirs) != NO_NODE)
			sum += gap * gap * gap * gap;
	}
	verdict->sigma4 = sqrt(sqrt(sum / n_live));
	free(load);
	return !why;
}

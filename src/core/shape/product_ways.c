/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * From the outside in:
 *	knit_squares()	opposite sides of a square go the same way, and so do the sides of a triangle
 *	choose_dims()	the directions at one switch, in pairs; a dimension crosses all others
 *	go_straight()	all other directions, by elimination
 */
#include "product_private.h"

#include <string.h>

#include "neighbours.h"

static enum osr_status prepare_edges(struct finder *finder)
{
	const struct osr_fabric *fabric = finder->fabric;
	size_t n = fabric->n_switches, m = fabric->n_channels;

	finder->row = osr_alloc(finder->scratch, n + 1, sizeof(*finder->row));
	finder->near = osr_alloc(finder->scratch, m, sizeof(*finder->near));
	finder->from = osr_alloc(finder->scratch, m, sizeof(*finder->from));
	finder->back = osr_alloc(finder->scratch, m, sizeof(*finder->back));
	finder->way = osr_alloc(finder->scratch, m, sizeof(*finder->way));
	finder->code = osr_alloc(finder->scratch, m, sizeof(*finder->code));
	finder->dim = osr_alloc(finder->scratch, m, 1);
	finder->queue = osr_alloc(finder->scratch, n, sizeof(*finder->queue));
	finder->seen = osr_alloc(finder->scratch, n, sizeof(*finder->seen));
	if (osr_arena_failed(finder->scratch, finder->diag))
		return OSR_NOMEM;
	osr_neighbours(fabric, finder->row, finder->near, NULL, finder->seen);
	finder->n_edges = finder->row[n];
	OSR_EACH_SWITCH(v, fabric) {
		uint32_t degree = finder->row[v + 1] - finder->row[v];

		if (degree > finder->most)
			finder->most = degree;
		EACH_EDGE(e, finder, v)
			finder->from[e] = v;
	}
	EVERY_EDGE(e, finder) {
		finder->back[e] = finder->row[finder->near[e]];
		while (finder->near[finder->back[e]] != finder->from[e])
			finder->back[e]++;
	}
	finder->knit = osr_calloc(finder->scratch, (size_t)finder->n_edges * finder->most,
				  sizeof(*finder->knit));
	if (osr_arena_failed(finder->scratch, finder->diag))
		return OSR_NOMEM;
	osr_set_init(finder->way, finder->n_edges);
	EVERY_EDGE(e, finder)
		osr_invariant(finder->back[finder->back[e]] == e);
	return finder->n_edges ? OSR_OK
			       : product_refuse(finder, "there is no cable between switches");
}

/* ---- squares --------------------------------------------------------------------------------- */

static void join_edges(const struct finder *finder, uint32_t e, uint32_t g)
{
	osr_set_join(finder->way, e, g);
	osr_set_join(finder->way, finder->back[e], finder->back[g]);
}

/*
 * Two edges lead from v either to a neighbour of v, a triangle, or to the far corner of a square.
 * In a product, however much of it is missing, the far corner has two ways from v; in most other
 * fabrics a corner with three turns up soon.
 *
 * The sides of a triangle go the same way, one after the other. So a ring of 3 has two directions;
 * in a larger clique an edge and its reverse go the same way, by which cliques are recognised.
 */
static enum osr_status knit_squares(struct finder *finder)
{
	uint32_t n = finder->fabric->n_switches, *at = finder->seen, *ways = finder->queue,
		 *first = osr_alloc(finder->scratch, n, sizeof(*first));

	if (!first)
		return osr_fail(finder->diag, OSR_NOMEM, "out of memory for squares of %u switches",
				n);
	memset(at, 0xff, n * sizeof(*at));
	memset(ways, 0xff, n * sizeof(*ways));
	OSR_EACH_SWITCH(v, finder->fabric) {
		uint32_t begin = finder->row[v];

		/* Values that earlier switches left in at[] lie before this row. */
		EACH_EDGE(e, finder, v)
			at[finder->near[e]] = e;
		EACH_EDGE(e, finder, v)
			EACH_EDGE(g, finder, finder->near[e]) {
				uint32_t w = finder->near[g], far = first[w], side;

				if (w == v)
					continue;
				if (at[w] != OSR_NONE && at[w] >= begin) {
					join_edges(finder, e, g);
					*knit_of(finder, e, at[w]) = true;
					continue;
				}
				if (ways[w] == 2 * v + 1)
					return product_refuse(finder,
							      "its squares do not fit together");
				first[w] = g;
				ways[w] = ways[w] == 2 * v ? 2 * v + 1 : 2 * v;
				/* The first way, or a clique that lacks a cable. */
				if (ways[w] == 2 * v ||
				    are_adjacent(finder, finder->from[far], finder->from[g]))
					continue;
				side = at[finder->from[far]];
				*knit_of(finder, e, side) = true;
				*knit_of(finder, side, e) = true;
				join_edges(finder, e, far);
				join_edges(finder, side, g);
			}
	}
	return OSR_OK;
}

/* ---- directions ------------------------------------------------------------------------------ */

static void name_way(struct finder *finder, uint32_t e, uint32_t way)
{
	uint32_t set = osr_set_of(finder->way, e),
		 reverse = osr_set_of(finder->way, finder->back[e]);

	finder->code[reverse] = way ^ 1;
	finder->code[set] = way;
}

/*
 * The dimensions, from the directions in which the root has edges: each direction crosses all
 * others somewhere, except its reverse.
 */
static enum osr_status choose_dims(struct finder *finder, uint32_t root)
{
	uint32_t n = 0, cross[2 * OSR_MAX_DIMS] = { 0 }, whole = 0, first[2 * OSR_MAX_DIMS];
	struct osr_product *product = finder->product;

	EVERY_EDGE(e, finder)
		finder->code[e] = NO_DIM;
	EACH_EDGE(e, finder, root) {
		if (way_of(finder, e) != NO_DIM) {
			/* In a clique, and in a ring of 3, whose triangles have both directions. */
			whole |= 1u << way_of(finder, e) / 2;
			continue;
		}
		if (n == 2 * OSR_MAX_DIMS)
			return product_refuse(finder, "it would have more than 15 dimensions");
		first[n] = e;
		name_way(finder, e, 2 * n++);
	}
	EVERY_EDGE(e, finder)
		EACH_EDGE(g, finder, finder->from[e]) {
			uint32_t a = way_of(finder, e), b = way_of(finder, g);

			if (a != NO_DIM && b != NO_DIM && a / 2 != b / 2 && *knit_of(finder, e, g))
				cross[a / 2] |= 1u << b / 2;
		}
	for (uint32_t i = 0; i < n; i++) {
		uint32_t left = ((1u << n) - 1) & ~cross[i] & ~(1u << i), j, k = product->n_dims;

		if (left & (left - 1) || (left && whole & (left | 1u << i)))
			return product_refuse(finder, "its squares do not fit together");
		j = left ? osr_lowest_bit(left) : n;
		if (j < i)
			continue;
		if (k == OSR_MAX_DIMS)
			return product_refuse(finder, "it would have more than 15 dimensions");
		name_way(finder, first[i], 2 * k);
		if (j < n)
			name_way(finder, first[j], 2 * k + 1);
		product->factor[k] = OSR_FACTOR_PATH;
		if (osr_set_of(finder->way, first[i]) ==
		    osr_set_of(finder->way, finder->back[first[i]]))
			product->factor[k] = OSR_FACTOR_CLIQUE;
		product->n_dims++;
	}
	product->coord =
		osr_alloc(finder->scratch, (size_t)finder->fabric->n_switches * product->n_dims,
			  sizeof(*product->coord));
	finder->label =
		osr_calloc(finder->scratch, (size_t)finder->fabric->n_switches * product->n_dims,
			   sizeof(*finder->label));
	return osr_arena_failed(finder->scratch, finder->diag) ? OSR_NOMEM : OSR_OK;
}

static uint32_t reverse_ways(uint32_t ways)
{
	return (ways & 0x55555555) << 1 | (ways >> 1 & 0x55555555);
}

/* For an edge without a direction, the directions that no switch bars at either end. */
static uint32_t ways_left(const struct finder *finder, const uint32_t *bar, uint32_t e)
{
	uint32_t set = osr_set_of(finder->way, e), back = osr_set_of(finder->way, finder->back[e]);

	if (finder->code[set] != NO_DIM || set == back)
		return 0;
	return ~(bar[set] | reverse_ways(bar[back]));
}

/* Bars the directions that an edge cannot have, at both of its ends; all: those that there are. */
static void bar_ways(const struct finder *finder, uint32_t all, uint32_t *bar)
{
	EVERY_EDGE(e, finder)
		bar[e] = ~all;
	EVERY_EDGE(e, finder) {
		uint32_t set = osr_set_of(finder->way, e);

		if (finder->code[set] != NO_DIM)
			continue;
		EACH_EDGE(g, finder, finder->from[e]) {
			uint32_t way = way_of(finder, g);

			if (way != NO_DIM)
				bar[set] |= *knit_of(finder, e, g) ? 3u << (way & ~1u) : 1u << way;
		}
	}
}

/* Names each edge that has one direction left. Was there one? */
static bool name_forced(struct finder *finder, const uint32_t *bar)
{
	bool named = false;

	EVERY_EDGE(e, finder) {
		uint32_t left = ways_left(finder, bar, e);

		if (__builtin_popcount(left) != 1)
			continue;
		name_way(finder, e, osr_lowest_bit(left));
		named = true;
	}
	return named;
}

/*
 * Names the first edge, and an edge of the same switch, that can go straight on in one way only. Is
 * there one?
 */
static bool name_straight(struct finder *finder, const uint32_t *bar)
{
	EVERY_EDGE(e, finder) {
		uint32_t on = OSR_NONE, n = 0, ways = 0;

		EACH_EDGE(g, finder, finder->from[e]) {
			uint32_t left = ways_left(finder, bar, g);

			if (way_of(finder, g) != NO_DIM)
				left = 1u << way_of(finder, g);
			left = reverse_ways(left) & ways_left(finder, bar, e);
			if (!left || g == e || *knit_of(finder, e, g))
				continue;
			n++;
			on = g;
			ways = left;
		}
		if (n != 1 || __builtin_popcount(ways) != 1)
			continue;
		name_way(finder, e, osr_lowest_bit(ways));
		name_way(finder, on, osr_lowest_bit(ways) ^ 1);
		return true;
	}
	return false;
}

/*
 * All other directions by elimination: a square tells that two edges are of different dimensions,
 * and no switch has two edges in one direction, except in a clique. A set with one direction left
 * takes it; a scrap with more directions left waits for place_rest() (product.c). If `bold`, and no
 * direction is forced, two edges of a switch go straight on if they can in one way only.
 */
static enum osr_status go_straight(struct finder *finder, bool bold)
{
	uint32_t *bar = osr_alloc(finder->scratch, finder->n_edges, sizeof(*bar)), all = 0;
	bool named;

	if (!bar)
		return osr_fail(finder->diag, OSR_NOMEM, "out of memory for %u edges",
				finder->n_edges);
	for (uint32_t k = 0; k < finder->product->n_dims; k++)
		if (finder->product->factor[k] != OSR_FACTOR_CLIQUE)
			all |= 3u << 2 * k;
	do {
		bar_ways(finder, all, bar);
		named = name_forced(finder, bar);
		if (!named && bold)
			named = name_straight(finder, bar);
	} while (named);
	EVERY_EDGE(e, finder) {
		uint32_t way = way_of(finder, e);

		osr_invariant(way == NO_DIM || way / 2 < finder->product->n_dims);
		finder->dim[e] = NO_DIM;
		if (way != NO_DIM)
			finder->dim[e] = way / 2;
	}
	return OSR_OK;
}

enum osr_status osr_product_edges(struct finder *finder)
{
	enum osr_status st = prepare_edges(finder);

	return st ? st : knit_squares(finder);
}

enum osr_status osr_product_ways(struct finder *finder, uint32_t root, bool bold)
{
	enum osr_status st = choose_dims(finder, root);

	return st ? st : go_straight(finder, bold);
}

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * See product.h. Recognition gives the edges, each seen from both of its ends, directions of
 * dimensions. From the outside in:
 *	knit_squares()	opposite sides of a square go the same way, and so do the sides of a triangle
 *	choose_dims()	the directions at one switch, in pairs; a dimension crosses all others
 *	go_straight()	all others by elimination
 *	spread_labels()	coordinates as if rings were infinite lines, then modulo what closes
 *	name_cliques()	coordinates in cliques
 *	place_rest()	switches to which only edges without a direction lead
 *	product_verify()	nothing was assumed so far that is not checked here
 */
#include <osmroutes/each.h>
#include <osmroutes/product.h>

#include <stdlib.h>
#include <string.h>

#include <osmroutes/set.h>

#include "neighbours.h"

#define NO_DIM 255

struct finder {
	const struct osr_fabric *fabric;
	struct osr_product *product;
	struct osr_arena *scratch;
	struct osr_diag *diag;
	/*
	 * Edges of v are row[v] .. row[v + 1] - 1, to near[]; parallel cables once. back: the same
	 * from the other end.
	 */
	uint32_t *row, *near, *from, *back, n_edges;
	/* [n_edges] disjoint sets: edges that go the same way, by squares and triangles */
	uint32_t *way;
	/* [n_edges * most] edges of the same switch with which it has a square or triangle */
	bool *knit;
	uint32_t most;   /* edges of a switch */
	uint32_t *code;  /* [n_edges] of each such set the direction, see way_of() */
	uint8_t *dim;    /* [n_edges] NO_DIM: not known */
	int32_t *label;  /* [n_switches * OSR_MAX_DIMS] */
	uint32_t *queue; /* [n_switches] */
	uint32_t *seen;  /* [n_switches] */
	uint32_t *owner; /* [n_places] the switch there, or OSR_NONE */
};

static enum osr_status no(struct finder *finder, const char *why)
{
	return osr_fail(finder->diag, OSR_NOT_APPLICABLE, "not a torus, mesh or HyperX: %s", why);
}

static enum osr_status product_prepare(struct finder *finder)
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
		finder->most = finder->row[v + 1] - finder->row[v] > finder->most
				       ? finder->row[v + 1] - finder->row[v]
				       : finder->most;
		for (uint32_t e = finder->row[v]; e < finder->row[v + 1]; e++)
			finder->from[e] = v;
	}
	for (uint32_t e = 0; e < finder->n_edges; e++) {
		finder->back[e] = finder->row[finder->near[e]];
		while (finder->near[finder->back[e]] != finder->from[e])
			finder->back[e]++;
	}
	finder->knit = osr_calloc(finder->scratch, (size_t)finder->n_edges * finder->most,
				  sizeof(*finder->knit));
	if (osr_arena_failed(finder->scratch, finder->diag))
		return OSR_NOMEM;
	osr_set_init(finder->way, finder->n_edges);
	return finder->n_edges ? OSR_OK : no(finder, "there is no cable between switches");
}

/* ---- squares --------------------------------------------------------------------------------- */

static void join_edges(const struct finder *finder, uint32_t e, uint32_t g)
{
	osr_set_join(finder->way, e, g);
	osr_set_join(finder->way, finder->back[e], finder->back[g]);
}

/* Have e and g, an edge of the same switch, a square or triangle? */
static bool *knit_of(const struct finder *finder, uint32_t e, uint32_t g)
{
	return &finder->knit[(size_t)e * finder->most + g - finder->row[finder->from[e]]];
}

static bool are_adjacent(const struct finder *finder, uint32_t v, uint32_t u)
{
	for (uint32_t e = finder->row[v]; e < finder->row[v + 1]; e++)
		if (finder->near[e] == u)
			return true;
	return false;
}

/*
 * Where two edges lead from v: to a neighbour of v, a triangle; or to the far corner of a square,
 * to which there are two ways in a product, however much of it is missing. Most other fabrics have
 * three soon.
 *
 * The sides of a triangle go the same way, one after the other. That gives a ring of 3 two
 * directions. In a larger clique an edge and its reverse go the same way then, by which cliques are
 * told.
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
	for (uint32_t v = 0; v < n; v++) {
		uint32_t begin = finder->row[v], end = finder->row[v + 1];

		/* Values that earlier switches left in at[] lie before this row. */
		for (uint32_t e = begin; e < end; e++)
			at[finder->near[e]] = e;
		for (uint32_t e = begin; e < end; e++)
			for (uint32_t g = finder->row[finder->near[e]];
			     g < finder->row[finder->near[e] + 1]; g++) {
				uint32_t w = finder->near[g], far = first[w], side;

				if (w == v)
					continue;
				if (at[w] != OSR_NONE && at[w] >= begin) {
					join_edges(finder, e, g);
					*knit_of(finder, e, at[w]) = true;
					continue;
				}
				if (ways[w] == 2 * v + 1)
					return no(finder, "its squares do not fit together");
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

/*
 * The direction of an edge: 2 k and 2 k + 1 belong to dimension k, 2 k alone to a clique; NO_DIM:
 * unknown.
 */
static uint32_t way_of(const struct finder *finder, uint32_t e)
{
	return finder->code[osr_set_of(finder->way, e)];
}

static void name_way(struct finder *finder, uint32_t e, uint32_t way)
{
	uint32_t set = osr_set_of(finder->way, e),
		 reverse = osr_set_of(finder->way, finder->back[e]);

	finder->code[reverse] = way ^ 1;
	finder->code[set] = way;
}

/*
 * The dimensions, from the directions in which the root has edges: each crosses all others
 * somewhere, but for the one that is its reverse.
 */
static enum osr_status choose_dims(struct finder *finder, uint32_t root)
{
	uint32_t n = 0, cross[2 * OSR_MAX_DIMS] = { 0 }, whole = 0, first[2 * OSR_MAX_DIMS];
	struct osr_product *product = finder->product;

	for (uint32_t e = 0; e < finder->n_edges; e++)
		finder->code[e] = NO_DIM;
	for (uint32_t e = finder->row[root]; e < finder->row[root + 1]; e++) {
		if (way_of(finder, e) != NO_DIM) {
			/* In a clique, and in a ring of 3, whose triangles have both directions. */
			whole |= 1u << way_of(finder, e) / 2;
			continue;
		}
		if (n == 2 * OSR_MAX_DIMS)
			return no(finder, "it would have more than 15 dimensions");
		first[n] = e;
		name_way(finder, e, 2 * n++);
	}
	for (uint32_t e = 0; e < finder->n_edges; e++)
		for (uint32_t g = finder->row[finder->from[e]];
		     g < finder->row[finder->from[e] + 1]; g++) {
			uint32_t a = way_of(finder, e), b = way_of(finder, g);

			if (a != NO_DIM && b != NO_DIM && a / 2 != b / 2 && *knit_of(finder, e, g))
				cross[a / 2] |= 1u << b / 2;
		}
	for (uint32_t i = 0; i < n; i++) {
		uint32_t left = ((1u << n) - 1) & ~cross[i] & ~(1u << i), j, k = product->n_dims;

		if (left & (left - 1) || (left && whole & (left | 1u << i)))
			return no(finder, "its squares do not fit together");
		j = left ? (uint32_t)__builtin_ctz(left) : n;
		if (j < i)
			continue;
		if (k == OSR_MAX_DIMS)
			return no(finder, "it would have more than 15 dimensions");
		name_way(finder, first[i], 2 * k);
		if (j < n)
			name_way(finder, first[j], 2 * k + 1);
		product->factor[k] = osr_set_of(finder->way, first[i]) ==
						     osr_set_of(finder->way, finder->back[first[i]])
					     ? OSR_FACTOR_CLIQUE
					     : OSR_FACTOR_PATH;
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

	return finder->code[set] != NO_DIM || set == back ? 0
							  : ~(bar[set] | reverse_ways(bar[back]));
}

/*
 * All other directions by elimination: a square tells that two edges are of different dimensions,
 * and no switch has two edges in one direction, but in a clique. A set with one direction left
 * takes it; a scrap with more waits for place_rest(). If `bold`, and nothing else is left, two
 * edges of a switch that can go straight on in one way only do so.
 */
static enum osr_status go_straight(struct finder *finder, bool bold)
{
	uint32_t *bar = osr_alloc(finder->scratch, finder->n_edges, sizeof(*bar)), all = 0;

	if (!bar)
		return osr_fail(finder->diag, OSR_NOMEM, "out of memory for %u edges",
				finder->n_edges);
	for (uint32_t k = 0; k < finder->product->n_dims; k++)
		all |= finder->product->factor[k] == OSR_FACTOR_CLIQUE ? 0 : 3u << 2 * k;
	for (bool again = true; again;) {
		again = false;
		for (uint32_t e = 0; e < finder->n_edges; e++)
			bar[e] = ~all;
		for (uint32_t e = 0; e < finder->n_edges; e++)
			for (uint32_t v = finder->from[e], g = finder->row[v];
			     g < finder->row[v + 1]; g++) {
				uint32_t way = way_of(finder, g);

				if (way != NO_DIM && way_of(finder, e) == NO_DIM)
					bar[osr_set_of(finder->way, e)] |=
						*knit_of(finder, e, g) ? 3u << (way & ~1u)
								       : 1u << way;
			}
		for (uint32_t e = 0; e < finder->n_edges; e++) {
			uint32_t left = ways_left(finder, bar, e);

			if (__builtin_popcount(left) != 1)
				continue;
			name_way(finder, e, (uint32_t)__builtin_ctz(left));
			again = true;
		}
		for (uint32_t e = 0; bold && e < finder->n_edges && !again; e++) {
			uint32_t on = OSR_NONE, n = 0, ways = 0;

			for (uint32_t v = finder->from[e], g = finder->row[v];
			     g < finder->row[v + 1]; g++) {
				uint32_t left = way_of(finder, g) != NO_DIM
							? 1u << way_of(finder, g)
							: ways_left(finder, bar, g);

				left = reverse_ways(left) & ways_left(finder, bar, e);
				if (!left || g == e || *knit_of(finder, e, g))
					continue;
				n++;
				on = g;
				ways = left;
			}
			if (n != 1 || __builtin_popcount(ways) != 1)
				continue;
			name_way(finder, e, (uint32_t)__builtin_ctz(ways));
			name_way(finder, on, (uint32_t)__builtin_ctz(ways) ^ 1);
			again = true;
		}
	}
	for (uint32_t e = 0; e < finder->n_edges; e++)
		finder->dim[e] =
			way_of(finder, e) == NO_DIM ? NO_DIM : (uint8_t)(way_of(finder, e) / 2);
	return OSR_OK;
}

/* ---- coordinates ----------------------------------------------------------------------------- */

static int32_t *label_of(const struct finder *finder, uint32_t v)
{
	return finder->label + (size_t)v * finder->product->n_dims;
}

static uint16_t *coord_of(const struct finder *finder, uint32_t v)
{
	return finder->product->coord + (size_t)v * finder->product->n_dims;
}

static bool has_place(const struct finder *finder, uint32_t v)
{
	return coord_of(finder, v)[0] != OSR_NO_PLACE;
}

/*
 * The largest component's switch with the most edges, of these that whose edges are of the largest
 * sets: squares around it are whole, and its directions cross somewhere. The lowest of equals.
 */
static uint32_t product_root(const struct finder *finder)
{
	const struct osr_fabric *fabric = finder->fabric;
	uint32_t *n = finder->queue, *size = finder->code, main = 0, root = OSR_NONE;
	uint64_t most = 0;

	memset(n, 0, fabric->n_components * sizeof(*n));
	OSR_EACH_SWITCH(v, fabric)
		n[fabric->sw_component[v]]++;
	for (uint32_t k = 1; k < fabric->n_components; k++)
		main = n[k] > n[main] ? k : main;
	memset(size, 0, finder->n_edges * sizeof(*size));
	for (uint32_t e = 0; e < finder->n_edges; e++)
		size[osr_set_of(finder->way, e)]++;
	OSR_EACH_SWITCH(v, fabric) {
		uint64_t rank = 0;

		for (uint32_t e = finder->row[v]; e < finder->row[v + 1]; e++) {
			rank += (UINT64_C(1) << 40) + size[osr_set_of(finder->way, e)];
			for (uint32_t g = finder->row[v]; g < finder->row[v + 1]; g++)
				rank += *knit_of(finder, e, g) ? 1 << 24 : 0;
		}
		if (fabric->sw_component[v] == main && rank > most) {
			root = v;
			most = rank;
		}
	}
	return root;
}

static uint32_t gcd(uint32_t a, uint32_t b)
{
	while (b) {
		uint32_t r = a % b;

		a = b;
		b = r;
	}
	return a;
}

/* Breadth first; where a row meets itself, two opinions about a label tell how long a ring is. */
static enum osr_status spread_labels(struct finder *finder, uint32_t root)
{
	struct osr_product *product = finder->product;
	int32_t lo[OSR_MAX_DIMS] = { 0 }, hi[OSR_MAX_DIMS] = { 0 };
	uint32_t period[OSR_MAX_DIMS] = { 0 }, n = 0;

	memset(finder->seen, 0, finder->fabric->n_switches * sizeof(*finder->seen));
	finder->seen[root] = 1;
	finder->queue[n++] = root;
	for (uint32_t i = 0; i < n; i++)
		for (uint32_t v = finder->queue[i], e = finder->row[v]; e < finder->row[v + 1];
		     e++) {
			int32_t *from = label_of(finder, v),
				*to = label_of(finder, finder->near[e]),
				step = way_of(finder, e) % 2 ? -1 : 1;

			if (finder->dim[e] == NO_DIM)
				continue;
			if (!finder->seen[finder->near[e]]) {
				memcpy(to, from, product->n_dims * sizeof(*to));
				to[finder->dim[e]] += step;
				finder->seen[finder->near[e]] = 1;
				finder->queue[n++] = finder->near[e];
			}
			for (uint32_t k = 0; k < product->n_dims; k++) {
				int32_t gap = to[k] - from[k];

				gap -= k == finder->dim[e] ? step : 0;
				period[k] = gcd(period[k], (uint32_t)abs(gap));
				lo[k] = to[k] < lo[k] ? to[k] : lo[k];
				hi[k] = to[k] > hi[k] ? to[k] : hi[k];
			}
		}
	for (uint32_t k = 0; k < product->n_dims; k++) {
		uint32_t size = period[k] ? period[k] : (uint32_t)(hi[k] - lo[k]) + 1;

		if (product->factor[k] == OSR_FACTOR_CLIQUE)
			continue;
		if (size < (period[k] ? 3 : 2) || size > finder->fabric->n_switches + 1)
			return no(finder, "its rows close differently");
		product->size[k] = size;
		product->factor[k] = period[k] ? OSR_FACTOR_RING : OSR_FACTOR_PATH;
		if (size < 3 || (size == 3 && period[k]))
			product->factor[k] = OSR_FACTOR_CLIQUE;
		product->n_rings += product->factor[k] == OSR_FACTOR_RING;
		/* The root is the origin of rings. */
		if (period[k])
			lo[k] = -(-lo[k] + (int32_t)size - 1) / (int32_t)size * (int32_t)size;
		OSR_EACH_SWITCH(v, finder->fabric)
			label_of(finder, v)[k] = (label_of(finder, v)[k] - lo[k]) % (int32_t)size;
	}
	return OSR_OK;
}

/*
 * A part that is connected without the cables of a clique is one member of it; members are numbered
 * by their first switch.
 */
static enum osr_status name_cliques(struct finder *finder)
{
	uint32_t n = finder->fabric->n_switches, *member = finder->queue;
	struct osr_product *product = finder->product;

	for (uint32_t k = 0; k < product->n_dims; k++) {
		if (product->size[k])
			continue;
		osr_set_init(member, n);
		for (uint32_t e = 0; e < finder->n_edges; e++)
			if (finder->dim[e] != k && finder->dim[e] != NO_DIM &&
			    finder->seen[finder->from[e]])
				osr_set_join(member, finder->from[e], finder->near[e]);
		for (uint32_t v = 0; v < n; v++) {
			uint32_t first = osr_set_of(member, v);

			if (finder->seen[v])
				label_of(finder, v)[k] = first == v ? (int32_t)product->size[k]++
								    : label_of(finder, first)[k];
		}
		if (product->size[k] > 256)
			return no(finder, "a dimension is neither a ring, a line nor a full mesh");
	}
	return OSR_OK;
}

/*
 * Coordinates are labels; rings first, then lines, then cliques; larger ones first; of equals those
 * that lack more cables.
 */
static void sort_dims(struct finder *finder)
{
	struct osr_product *product = finder->product, old = *product;
	uint64_t key[OSR_MAX_DIMS];
	uint8_t order[OSR_MAX_DIMS] = { 0 };

	for (uint32_t i = 0; i < old.n_dims; i++) {
		uint32_t k = i;

		key[i] = (uint64_t)old.factor[i] << 48 | (uint64_t)old.size[i] << 32;
		for (uint32_t e = 0; e < finder->n_edges; e++)
			key[i] -= finder->dim[e] == i;
		for (; k && key[i] > key[order[k - 1]]; k--)
			order[k] = order[k - 1];
		order[k] = (uint8_t)i;
	}
	for (uint32_t k = 0; k < old.n_dims; k++) {
		product->size[k] = old.size[order[k]];
		product->factor[k] = old.factor[order[k]];
		OSR_EACH_SWITCH(v, finder->fabric)
			coord_of(finder, v)[k] = finder->seen[v]
							 ? (uint16_t)label_of(finder, v)[order[k]]
							 : OSR_NO_PLACE;
	}
}

/* ---- places ---------------------------------------------------------------------------------- */

static uint32_t place_of(const struct osr_product *product, const uint16_t *at)
{
	uint32_t place = 0;

	for (uint32_t k = 0; k < product->n_dims; k++)
		place = place * product->size[k] + at[k];
	return place;
}

/* Is going from coordinate a to b one cable in this dimension? */
static bool one_step(const struct osr_product *product, uint32_t dim, uint32_t a, uint32_t b)
{
	uint32_t gap = a < b ? b - a : a - b;

	if (product->factor[dim] == OSR_FACTOR_CLIQUE)
		return gap != 0;
	return gap == 1 ||
	       (product->factor[dim] == OSR_FACTOR_RING && gap == product->size[dim] - 1);
}

/* The dimension in which two places are neighbours; NO_DIM: they are not. */
static uint8_t dim_between(const struct osr_product *product, const uint16_t *a, const uint16_t *b)
{
	uint8_t dim = NO_DIM;

	for (uint32_t k = 0; k < product->n_dims; k++) {
		if (a[k] == b[k])
			continue;
		if (dim != NO_DIM || !one_step(product, k, a[k], b[k]))
			return NO_DIM;
		dim = (uint8_t)k;
	}
	return dim;
}

/* Is this place free, and beside all neighbours of v that have one? */
static bool place_fits(const struct finder *finder, uint32_t v, const uint16_t *at)
{
	if (finder->owner[place_of(finder->product, at)] != OSR_NONE)
		return false;
	for (uint32_t e = finder->row[v]; e < finder->row[v + 1]; e++)
		if (has_place(finder, finder->near[e]) &&
		    dim_between(finder->product, at, coord_of(finder, finder->near[e])) == NO_DIM)
			return false;
	return true;
}

/* How many places fit; the first one is written to at[]. */
static uint32_t product_candidates(const struct finder *finder, uint32_t v, uint16_t *at)
{
	uint16_t trial[OSR_MAX_DIMS];
	uint32_t n = 0, e = finder->row[v];

	while (e < finder->row[v + 1] && !has_place(finder, finder->near[e]))
		e++;
	if (e == finder->row[v + 1])
		return 0;
	memcpy(trial, coord_of(finder, finder->near[e]), finder->product->n_dims * sizeof(*trial));
	for (uint32_t k = 0; k < finder->product->n_dims; k++) {
		uint16_t there = trial[k];

		for (uint32_t to = 0; to < finder->product->size[k]; to++) {
			trial[k] = (uint16_t)to;
			if (one_step(finder->product, k, there, to) &&
			    place_fits(finder, v, trial) && !n++)
				memcpy(at, trial, finder->product->n_dims * sizeof(*at));
		}
		trial[k] = there;
	}
	return n;
}

/* The switch for which the fewest places fit comes first: often it is one. */
static void place_rest(struct finder *finder)
{
	for (;;) {
		uint32_t best = OSR_NONE, least = UINT32_MAX;
		uint16_t at[OSR_MAX_DIMS], trial[OSR_MAX_DIMS];

		for (uint32_t v = 0; v < finder->fabric->n_switches && least > 1; v++) {
			uint32_t n =
				has_place(finder, v) ? 0 : product_candidates(finder, v, trial);

			if (!n || n >= least)
				continue;
			best = v;
			least = n;
			memcpy(at, trial, sizeof(at));
		}
		if (best == OSR_NONE)
			return;
		memcpy(coord_of(finder, best), at, finder->product->n_dims * sizeof(*at));
		finder->owner[place_of(finder->product, at)] = best;
	}
}

/* Switches by place, for the switches that have one by now. */
static enum osr_status own_places(struct finder *finder)
{
	struct osr_product *product = finder->product;
	uint64_t n = 1;

	for (uint32_t k = 0; k < product->n_dims; k++) {
		n *= product->size[k];
		if (n / 4 * 3 > finder->fabric->n_switches)
			return no(finder, "too much of it is missing, if it is one");
	}
	product->n_places = (uint32_t)n;
	finder->owner = osr_alloc(finder->scratch, n, sizeof(*finder->owner));
	if (!finder->owner)
		return osr_fail(finder->diag, OSR_NOMEM, "out of memory for %u places",
				(uint32_t)n);
	memset(finder->owner, 0xff, n * sizeof(*finder->owner));
	OSR_EACH_SWITCH(v, finder->fabric) {
		uint32_t *owner = has_place(finder, v)
					  ? &finder->owner[place_of(product, coord_of(finder, v))]
					  : NULL;

		if (owner && *owner != OSR_NONE)
			return no(finder, "two switches would have the same coordinates");
		if (owner)
			*owner = v;
	}
	return OSR_OK;
}

static enum osr_status product_verify(struct finder *finder, uint32_t root)
{
	const struct osr_fabric *fabric = finder->fabric;
	struct osr_product *product = finder->product;
	uint32_t n_links = 0;
	char a[32], b[32];

	OSR_EACH_SWITCH(v, fabric) {
		uint16_t at[OSR_MAX_DIMS];

		if (!has_place(finder, v)) {
			if (fabric->sw_component[v] == fabric->sw_component[root])
				return osr_fail(finder->diag, OSR_NOT_APPLICABLE,
						"not a torus, mesh or HyperX: switch %s fits "
						"nowhere",
						osr_switch_name(fabric, v, a));
			continue;
		}
		product->n_placed++;
		for (uint32_t e = finder->row[v]; e < finder->row[v + 1]; e++) {
			if (dim_between(product, coord_of(finder, v),
					coord_of(finder, finder->near[e])) == NO_DIM)
				return osr_fail(finder->diag, OSR_NOT_APPLICABLE,
						"not a torus, mesh or HyperX: the cable between "
						"switches %s and %s changes more than one "
						"coordinate",
						osr_switch_name(fabric, v, a),
						osr_switch_name(fabric, finder->near[e], b));
		}
		/* Cables that are missing, from one of their ends. */
		memcpy(at, coord_of(finder, v), product->n_dims * sizeof(*at));
		for (uint32_t k = 0; k < product->n_dims; k++) {
			uint16_t here = at[k];

			for (uint32_t to = 0; to < product->size[k]; to++) {
				uint32_t u;

				at[k] = (uint16_t)to;
				u = one_step(product, k, here, to)
					    ? finder->owner[place_of(product, at)]
					    : OSR_NONE;
				if (u == OSR_NONE || u < v)
					continue;
				n_links++;
				product->n_dead_links += !are_adjacent(finder, v, u);
			}
			at[k] = here;
		}
	}
	if (4 * (product->n_places - product->n_placed) > product->n_places ||
	    4 * product->n_dead_links > n_links)
		return no(finder, "too much of it is missing, if it is one");
	product->chan_dim = osr_alloc(finder->scratch, fabric->n_channels, 1);
	if (!product->chan_dim)
		return osr_fail(finder->diag, OSR_NOMEM, "out of memory for %u channels",
				fabric->n_channels);
	OSR_EVERY_CHANNEL(c, fabric)
		product->chan_dim[c] =
			has_place(finder, fabric->chan_src[c])
				? dim_between(product, coord_of(finder, fabric->chan_src[c]),
					      coord_of(finder, fabric->chan_dst[c]))
				: NO_DIM;
	return OSR_OK;
}

enum osr_status osr_product_find(const struct osr_fabric *fabric, struct osr_arena *scratch,
				 struct osr_product *product, struct osr_diag *diag)
{
	struct finder finder = {
		.fabric = fabric, .product = product, .scratch = scratch, .diag = diag
	};
	enum osr_status st;
	uint32_t root;

	if ((st = product_prepare(&finder)) || (st = knit_squares(&finder)))
		return st;
	root = product_root(&finder);
	st = OSR_NOT_APPLICABLE;
	for (int bold = 0; st == OSR_NOT_APPLICABLE && bold <= 1; bold++) {
		*product = (struct osr_product){ .fabric = fabric };
		if ((st = choose_dims(&finder, root)) || (st = go_straight(&finder, bold)) ||
		    (st = spread_labels(&finder, root)) || (st = name_cliques(&finder)))
			continue;
		sort_dims(&finder);
		if ((st = own_places(&finder)))
			continue;
		place_rest(&finder);
		st = product_verify(&finder, root);
	}
	if (!st && diag)
		diag->text[0] = 0;
	return st;
}

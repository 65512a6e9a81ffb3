/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * See product.h. Recognition gives the edges, each seen from both of its ends, directions of dimensions. From the outside
 * in:
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
	const struct osr_fabric *f;
	struct osr_product *p;
	struct osr_arena *scratch;
	struct osr_diag *diag;
	/* Edges of v are row[v] .. row[v + 1] - 1, to near[]; parallel cables once. back: the same from the other end. */
	uint32_t *row, *near, *from, *back, n_edges;
	uint32_t *
		way; /* [n_edges] disjoint sets: edges that go the same way, by squares and triangles */
	bool *knit; /* [n_edges * most] edges of the same switch with which it has a square or triangle */
	uint32_t most;   /* edges of a switch */
	uint32_t *code;  /* [n_edges] of each such set the direction, see way_of() */
	uint8_t *dim;    /* [n_edges] NO_DIM: not known */
	int32_t *label;  /* [n_switches * OSR_MAX_DIMS] */
	uint32_t *queue; /* [n_switches] */
	uint32_t *seen;  /* [n_switches] */
	uint32_t *owner; /* [n_places] the switch there, or OSR_NONE */
};

static enum osr_status no(struct finder *x, const char *why)
{
	return osr_fail(x->diag, OSR_NOT_APPLICABLE, "not a torus, mesh or HyperX: %s", why);
}

static enum osr_status product_prepare(struct finder *x)
{
	const struct osr_fabric *fabric = x->f;
	size_t n = fabric->n_switches, m = fabric->n_channels;

	x->row = osr_alloc(x->scratch, n + 1, sizeof(*x->row));
	x->near = osr_alloc(x->scratch, m, sizeof(*x->near));
	x->from = osr_alloc(x->scratch, m, sizeof(*x->from));
	x->back = osr_alloc(x->scratch, m, sizeof(*x->back));
	x->way = osr_alloc(x->scratch, m, sizeof(*x->way));
	x->code = osr_alloc(x->scratch, m, sizeof(*x->code));
	x->dim = osr_alloc(x->scratch, m, 1);
	x->queue = osr_alloc(x->scratch, n, sizeof(*x->queue));
	x->seen = osr_alloc(x->scratch, n, sizeof(*x->seen));
	if (osr_arena_failed(x->scratch, x->diag))
		return OSR_NOMEM;
	osr__neighbours(fabric, x->row, x->near, NULL, x->seen);
	x->n_edges = x->row[n];
	for (uint32_t v = 0; v < n; v++) {
		x->most = x->row[v + 1] - x->row[v] > x->most ? x->row[v + 1] - x->row[v] : x->most;
		for (uint32_t e = x->row[v]; e < x->row[v + 1]; e++)
			x->from[e] = v;
	}
	for (uint32_t e = 0; e < x->n_edges; e++) {
		x->back[e] = x->row[x->near[e]];
		while (x->near[x->back[e]] != x->from[e])
			x->back[e]++;
	}
	x->knit = osr_calloc(x->scratch, (size_t)x->n_edges * x->most, sizeof(*x->knit));
	if (osr_arena_failed(x->scratch, x->diag))
		return OSR_NOMEM;
	osr_set_init(x->way, x->n_edges);
	return x->n_edges ? OSR_OK : no(x, "there is no cable between switches");
}

/* ---- squares --------------------------------------------------------------------------------- */

static void join_edges(const struct finder *x, uint32_t e, uint32_t g)
{
	osr_set_join(x->way, e, g);
	osr_set_join(x->way, x->back[e], x->back[g]);
}

/* Have e and g, an edge of the same switch, a square or triangle? */
static bool *knit_of(const struct finder *x, uint32_t e, uint32_t g)
{
	return &x->knit[(size_t)e * x->most + g - x->row[x->from[e]]];
}

static bool are_adjacent(const struct finder *x, uint32_t v, uint32_t u)
{
	for (uint32_t e = x->row[v]; e < x->row[v + 1]; e++)
		if (x->near[e] == u)
			return true;
	return false;
}

/*
 * Where two edges lead from v: to a neighbour of v, a triangle; or to the far corner of a square, to which there are
 * two ways in a product, however much of it is missing. Most other fabrics have three soon.
 *
 * The sides of a triangle go the same way, one after the other. That gives a ring of 3 two directions. In a larger
 * clique an edge and its reverse go the same way then, by which cliques are told.
 */
static enum osr_status knit_squares(struct finder *x)
{
	uint32_t n = x->f->n_switches, *at = x->seen, *ways = x->queue,
		 *first = osr_alloc(x->scratch, n, sizeof(*first));

	if (!first)
		return osr_fail(x->diag, OSR_NOMEM, "out of memory for squares of %u switches", n);
	memset(at, 0xff, n * sizeof(*at));
	memset(ways, 0xff, n * sizeof(*ways));
	for (uint32_t v = 0; v < n; v++) {
		uint32_t begin = x->row[v], end = x->row[v + 1];

		/* What earlier switches left in at[] lies before this row. */
		for (uint32_t e = begin; e < end; e++)
			at[x->near[e]] = e;
		for (uint32_t e = begin; e < end; e++)
			for (uint32_t g = x->row[x->near[e]]; g < x->row[x->near[e] + 1]; g++) {
				uint32_t w = x->near[g], far = first[w], side;

				if (w == v)
					continue;
				if (at[w] != OSR_NONE && at[w] >= begin) {
					join_edges(x, e, g);
					*knit_of(x, e, at[w]) = true;
					continue;
				}
				if (ways[w] == 2 * v + 1)
					return no(x, "its squares do not fit together");
				first[w] = g;
				ways[w] = ways[w] == 2 * v ? 2 * v + 1 : 2 * v;
				/* The first way, or a clique that lacks a cable. */
				if (ways[w] == 2 * v || are_adjacent(x, x->from[far], x->from[g]))
					continue;
				side = at[x->from[far]];
				*knit_of(x, e, side) = true;
				*knit_of(x, side, e) = true;
				join_edges(x, e, far);
				join_edges(x, side, g);
			}
	}
	return OSR_OK;
}

/* ---- directions ------------------------------------------------------------------------------ */

/* The direction of an edge: 2 k and 2 k + 1 are those of dimension k, 2 k alone of a clique; NO_DIM: not known. */
static uint32_t way_of(const struct finder *x, uint32_t e)
{
	return x->code[osr_set_of(x->way, e)];
}

static void name_way(struct finder *x, uint32_t e, uint32_t way)
{
	uint32_t set = osr_set_of(x->way, e), reverse = osr_set_of(x->way, x->back[e]);

	x->code[reverse] = way ^ 1;
	x->code[set] = way;
}

/*
 * The dimensions, from the directions in which the root has edges: each crosses all others somewhere, but for the one
 * that is its reverse.
 */
static enum osr_status choose_dims(struct finder *x, uint32_t root)
{
	uint32_t n = 0, cross[2 * OSR_MAX_DIMS] = { 0 }, whole = 0, first[2 * OSR_MAX_DIMS];
	struct osr_product *product = x->p;

	for (uint32_t e = 0; e < x->n_edges; e++)
		x->code[e] = NO_DIM;
	for (uint32_t e = x->row[root]; e < x->row[root + 1]; e++) {
		if (way_of(x, e) != NO_DIM) {
			/* In a clique, and in a ring of 3, whose triangles have both directions. */
			whole |= 1u << way_of(x, e) / 2;
			continue;
		}
		if (n == 2 * OSR_MAX_DIMS)
			return no(x, "it would have more than 15 dimensions");
		first[n] = e;
		name_way(x, e, 2 * n++);
	}
	for (uint32_t e = 0; e < x->n_edges; e++)
		for (uint32_t g = x->row[x->from[e]]; g < x->row[x->from[e] + 1]; g++) {
			uint32_t a = way_of(x, e), b = way_of(x, g);

			if (a != NO_DIM && b != NO_DIM && a / 2 != b / 2 && *knit_of(x, e, g))
				cross[a / 2] |= 1u << b / 2;
		}
	for (uint32_t i = 0; i < n; i++) {
		uint32_t left = ((1u << n) - 1) & ~cross[i] & ~(1u << i), j, k = product->n_dims;

		if (left & (left - 1) || (left && whole & (left | 1u << i)))
			return no(x, "its squares do not fit together");
		j = left ? (uint32_t)__builtin_ctz(left) : n;
		if (j < i)
			continue;
		if (k == OSR_MAX_DIMS)
			return no(x, "it would have more than 15 dimensions");
		name_way(x, first[i], 2 * k);
		if (j < n)
			name_way(x, first[j], 2 * k + 1);
		product->factor[k] =
			osr_set_of(x->way, first[i]) == osr_set_of(x->way, x->back[first[i]])
				? OSR_FACTOR_CLIQUE
				: OSR_FACTOR_PATH;
		product->n_dims++;
	}
	product->coord = osr_alloc(x->scratch, (size_t)x->f->n_switches * product->n_dims,
				   sizeof(*product->coord));
	x->label = osr_calloc(x->scratch, (size_t)x->f->n_switches * product->n_dims,
			      sizeof(*x->label));
	return osr_arena_failed(x->scratch, x->diag) ? OSR_NOMEM : OSR_OK;
}

static uint32_t reverse_ways(uint32_t ways)
{
	return (ways & 0x55555555) << 1 | (ways >> 1 & 0x55555555);
}

/* Of an edge without a direction, those that no switch bars at either end. */
static uint32_t ways_left(const struct finder *x, const uint32_t *bar, uint32_t e)
{
	uint32_t set = osr_set_of(x->way, e), back = osr_set_of(x->way, x->back[e]);

	return x->code[set] != NO_DIM || set == back ? 0 : ~(bar[set] | reverse_ways(bar[back]));
}

/*
 * All other directions by elimination: a square tells that two edges are of different dimensions, and no switch has two
 * edges in one direction, but in a clique. A set with one direction left takes it; a scrap with more waits for
 * place_rest(). If `bold`, and nothing else is left, two edges of a switch that can go straight on in one way only do so.
 */
static enum osr_status go_straight(struct finder *x, bool bold)
{
	uint32_t *bar = osr_alloc(x->scratch, x->n_edges, sizeof(*bar)), all = 0;

	if (!bar)
		return osr_fail(x->diag, OSR_NOMEM, "out of memory for %u edges", x->n_edges);
	for (uint32_t k = 0; k < x->p->n_dims; k++)
		all |= x->p->factor[k] == OSR_FACTOR_CLIQUE ? 0 : 3u << 2 * k;
	for (bool again = true; again;) {
		again = false;
		for (uint32_t e = 0; e < x->n_edges; e++)
			bar[e] = ~all;
		for (uint32_t e = 0; e < x->n_edges; e++)
			for (uint32_t v = x->from[e], g = x->row[v]; g < x->row[v + 1]; g++) {
				uint32_t way = way_of(x, g);

				if (way != NO_DIM && way_of(x, e) == NO_DIM)
					bar[osr_set_of(x->way, e)] |=
						*knit_of(x, e, g) ? 3u << (way & ~1u) : 1u << way;
			}
		for (uint32_t e = 0; e < x->n_edges; e++) {
			uint32_t left = ways_left(x, bar, e);

			if (__builtin_popcount(left) != 1)
				continue;
			name_way(x, e, (uint32_t)__builtin_ctz(left));
			again = true;
		}
		for (uint32_t e = 0; bold && e < x->n_edges && !again; e++) {
			uint32_t on = OSR_NONE, n = 0, ways = 0;

			for (uint32_t v = x->from[e], g = x->row[v]; g < x->row[v + 1]; g++) {
				uint32_t left = way_of(x, g) != NO_DIM ? 1u << way_of(x, g)
								       : ways_left(x, bar, g);

				left = reverse_ways(left) & ways_left(x, bar, e);
				if (!left || g == e || *knit_of(x, e, g))
					continue;
				n++;
				on = g;
				ways = left;
			}
			if (n != 1 || __builtin_popcount(ways) != 1)
				continue;
			name_way(x, e, (uint32_t)__builtin_ctz(ways));
			name_way(x, on, (uint32_t)__builtin_ctz(ways) ^ 1);
			again = true;
		}
	}
	for (uint32_t e = 0; e < x->n_edges; e++)
		x->dim[e] = way_of(x, e) == NO_DIM ? NO_DIM : (uint8_t)(way_of(x, e) / 2);
	return OSR_OK;
}

/* ---- coordinates ----------------------------------------------------------------------------- */

static int32_t *label_of(const struct finder *x, uint32_t v)
{
	return x->label + (size_t)v * x->p->n_dims;
}

static uint16_t *coord_of(const struct finder *x, uint32_t v)
{
	return x->p->coord + (size_t)v * x->p->n_dims;
}

static bool has_place(const struct finder *x, uint32_t v)
{
	return coord_of(x, v)[0] != OSR_NO_PLACE;
}

/*
 * The largest component's switch with the most edges, of these that whose edges are of the largest sets: squares around
 * it are whole, and its directions cross somewhere. The lowest of equals.
 */
static uint32_t product_root(const struct finder *x)
{
	const struct osr_fabric *fabric = x->f;
	uint32_t *n = x->queue, *size = x->code, main = 0, root = OSR_NONE;
	uint64_t most = 0;

	memset(n, 0, fabric->n_components * sizeof(*n));
	OSR_EACH_SWITCH(v, fabric)
		n[fabric->sw_component[v]]++;
	for (uint32_t k = 1; k < fabric->n_components; k++)
		main = n[k] > n[main] ? k : main;
	memset(size, 0, x->n_edges * sizeof(*size));
	for (uint32_t e = 0; e < x->n_edges; e++)
		size[osr_set_of(x->way, e)]++;
	OSR_EACH_SWITCH(v, fabric) {
		uint64_t rank = 0;

		for (uint32_t e = x->row[v]; e < x->row[v + 1]; e++) {
			rank += (UINT64_C(1) << 40) + size[osr_set_of(x->way, e)];
			for (uint32_t g = x->row[v]; g < x->row[v + 1]; g++)
				rank += *knit_of(x, e, g) ? 1 << 24 : 0;
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
static enum osr_status spread_labels(struct finder *x, uint32_t root)
{
	struct osr_product *product = x->p;
	int32_t lo[OSR_MAX_DIMS] = { 0 }, hi[OSR_MAX_DIMS] = { 0 };
	uint32_t period[OSR_MAX_DIMS] = { 0 }, n = 0;

	memset(x->seen, 0, x->f->n_switches * sizeof(*x->seen));
	x->seen[root] = 1;
	x->queue[n++] = root;
	for (uint32_t i = 0; i < n; i++)
		for (uint32_t v = x->queue[i], e = x->row[v]; e < x->row[v + 1]; e++) {
			int32_t *from = label_of(x, v), *to = label_of(x, x->near[e]),
				step = way_of(x, e) % 2 ? -1 : 1;

			if (x->dim[e] == NO_DIM)
				continue;
			if (!x->seen[x->near[e]]) {
				memcpy(to, from, product->n_dims * sizeof(*to));
				to[x->dim[e]] += step;
				x->seen[x->near[e]] = 1;
				x->queue[n++] = x->near[e];
			}
			for (uint32_t k = 0; k < product->n_dims; k++) {
				int32_t gap = to[k] - from[k];

				gap -= k == x->dim[e] ? step : 0;
				period[k] = gcd(period[k], (uint32_t)abs(gap));
				lo[k] = to[k] < lo[k] ? to[k] : lo[k];
				hi[k] = to[k] > hi[k] ? to[k] : hi[k];
			}
		}
	for (uint32_t k = 0; k < product->n_dims; k++) {
		uint32_t size = period[k] ? period[k] : (uint32_t)(hi[k] - lo[k]) + 1;

		if (product->factor[k] == OSR_FACTOR_CLIQUE)
			continue;
		if (size < (period[k] ? 3 : 2) || size > x->f->n_switches + 1)
			return no(x, "its rows close differently");
		product->size[k] = size;
		product->factor[k] = period[k] ? OSR_FACTOR_RING : OSR_FACTOR_PATH;
		if (size < 3 || (size == 3 && period[k]))
			product->factor[k] = OSR_FACTOR_CLIQUE;
		product->n_rings += product->factor[k] == OSR_FACTOR_RING;
		/* The root is the origin of rings. */
		if (period[k])
			lo[k] = -(-lo[k] + (int32_t)size - 1) / (int32_t)size * (int32_t)size;
		OSR_EACH_SWITCH(v, x->f)
			label_of(x, v)[k] = (label_of(x, v)[k] - lo[k]) % (int32_t)size;
	}
	return OSR_OK;
}

/* What is connected without the cables of a clique is one member of it; members are numbered by their first switch. */
static enum osr_status name_cliques(struct finder *x)
{
	uint32_t n = x->f->n_switches, *member = x->queue;
	struct osr_product *product = x->p;

	for (uint32_t k = 0; k < product->n_dims; k++) {
		if (product->size[k])
			continue;
		osr_set_init(member, n);
		for (uint32_t e = 0; e < x->n_edges; e++)
			if (x->dim[e] != k && x->dim[e] != NO_DIM && x->seen[x->from[e]])
				osr_set_join(member, x->from[e], x->near[e]);
		for (uint32_t v = 0; v < n; v++) {
			uint32_t first = osr_set_of(member, v);

			if (x->seen[v])
				label_of(x, v)[k] = first == v ? (int32_t)product->size[k]++
							       : label_of(x, first)[k];
		}
		if (product->size[k] > 256)
			return no(x, "a dimension is neither a ring, a line nor a full mesh");
	}
	return OSR_OK;
}

/* Coordinates are labels; rings first, then lines, then cliques; larger ones first; of equals those that lack more cables. */
static void sort_dims(struct finder *x)
{
	struct osr_product *product = x->p, old = *product;
	uint64_t key[OSR_MAX_DIMS];
	uint8_t order[OSR_MAX_DIMS] = { 0 };

	for (uint32_t i = 0; i < old.n_dims; i++) {
		uint32_t k = i;

		key[i] = (uint64_t)old.factor[i] << 48 | (uint64_t)old.size[i] << 32;
		for (uint32_t e = 0; e < x->n_edges; e++)
			key[i] -= x->dim[e] == i;
		for (; k && key[i] > key[order[k - 1]]; k--)
			order[k] = order[k - 1];
		order[k] = (uint8_t)i;
	}
	for (uint32_t k = 0; k < old.n_dims; k++) {
		product->size[k] = old.size[order[k]];
		product->factor[k] = old.factor[order[k]];
		OSR_EACH_SWITCH(v, x->f)
			coord_of(x, v)[k] =
				x->seen[v] ? (uint16_t)label_of(x, v)[order[k]] : OSR_NO_PLACE;
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
static bool place_fits(const struct finder *x, uint32_t v, const uint16_t *at)
{
	if (x->owner[place_of(x->p, at)] != OSR_NONE)
		return false;
	for (uint32_t e = x->row[v]; e < x->row[v + 1]; e++)
		if (has_place(x, x->near[e]) &&
		    dim_between(x->p, at, coord_of(x, x->near[e])) == NO_DIM)
			return false;
	return true;
}

/* How many places fit; the first one is written to at[]. */
static uint32_t product_candidates(const struct finder *x, uint32_t v, uint16_t *at)
{
	uint16_t trial[OSR_MAX_DIMS];
	uint32_t n = 0, e = x->row[v];

	while (e < x->row[v + 1] && !has_place(x, x->near[e]))
		e++;
	if (e == x->row[v + 1])
		return 0;
	memcpy(trial, coord_of(x, x->near[e]), x->p->n_dims * sizeof(*trial));
	for (uint32_t k = 0; k < x->p->n_dims; k++) {
		uint16_t there = trial[k];

		for (uint32_t to = 0; to < x->p->size[k]; to++) {
			trial[k] = (uint16_t)to;
			if (one_step(x->p, k, there, to) && place_fits(x, v, trial) && !n++)
				memcpy(at, trial, x->p->n_dims * sizeof(*at));
		}
		trial[k] = there;
	}
	return n;
}

/* The switch for which the fewest places fit comes first: often it is one. */
static void place_rest(struct finder *x)
{
	for (;;) {
		uint32_t best = OSR_NONE, least = UINT32_MAX;
		uint16_t at[OSR_MAX_DIMS], trial[OSR_MAX_DIMS];

		for (uint32_t v = 0; v < x->f->n_switches && least > 1; v++) {
			uint32_t n = has_place(x, v) ? 0 : product_candidates(x, v, trial);

			if (!n || n >= least)
				continue;
			best = v;
			least = n;
			memcpy(at, trial, sizeof(at));
		}
		if (best == OSR_NONE)
			return;
		memcpy(coord_of(x, best), at, x->p->n_dims * sizeof(*at));
		x->owner[place_of(x->p, at)] = best;
	}
}

/* Switches by place, for those that have one by now. */
static enum osr_status own_places(struct finder *x)
{
	struct osr_product *product = x->p;
	uint64_t n = 1;

	for (uint32_t k = 0; k < product->n_dims; k++) {
		n *= product->size[k];
		if (n / 4 * 3 > x->f->n_switches)
			return no(x, "too much of it is missing, if it is one");
	}
	product->n_places = (uint32_t)n;
	x->owner = osr_alloc(x->scratch, n, sizeof(*x->owner));
	if (!x->owner)
		return osr_fail(x->diag, OSR_NOMEM, "out of memory for %u places", (uint32_t)n);
	memset(x->owner, 0xff, n * sizeof(*x->owner));
	OSR_EACH_SWITCH(v, x->f) {
		uint32_t *owner =
			has_place(x, v) ? &x->owner[place_of(product, coord_of(x, v))] : NULL;

		if (owner && *owner != OSR_NONE)
			return no(x, "two switches would have the same coordinates");
		if (owner)
			*owner = v;
	}
	return OSR_OK;
}

static enum osr_status product_verify(struct finder *x, uint32_t root)
{
	const struct osr_fabric *fabric = x->f;
	struct osr_product *product = x->p;
	uint32_t n_links = 0;
	char a[32], b[32];

	OSR_EACH_SWITCH(v, fabric) {
		uint16_t at[OSR_MAX_DIMS];

		if (!has_place(x, v)) {
			if (fabric->sw_component[v] == fabric->sw_component[root])
				return osr_fail(x->diag, OSR_NOT_APPLICABLE,
						"not a torus, mesh or HyperX: switch %s fits "
						"nowhere",
						osr_switch_name(fabric, v, a));
			continue;
		}
		product->n_placed++;
		for (uint32_t e = x->row[v]; e < x->row[v + 1]; e++) {
			if (dim_between(product, coord_of(x, v), coord_of(x, x->near[e])) == NO_DIM)
				return osr_fail(x->diag, OSR_NOT_APPLICABLE,
						"not a torus, mesh or HyperX: the cable between "
						"switches %s and %s changes more than one "
						"coordinate",
						osr_switch_name(fabric, v, a),
						osr_switch_name(fabric, x->near[e], b));
		}
		/* Cables that are missing, from one of their ends. */
		memcpy(at, coord_of(x, v), product->n_dims * sizeof(*at));
		for (uint32_t k = 0; k < product->n_dims; k++) {
			uint16_t here = at[k];

			for (uint32_t to = 0; to < product->size[k]; to++) {
				uint32_t u;

				at[k] = (uint16_t)to;
				u = one_step(product, k, here, to) ? x->owner[place_of(product, at)]
								   : OSR_NONE;
				if (u == OSR_NONE || u < v)
					continue;
				n_links++;
				product->n_dead_links += !are_adjacent(x, v, u);
			}
			at[k] = here;
		}
	}
	if (4 * (product->n_places - product->n_placed) > product->n_places ||
	    4 * product->n_dead_links > n_links)
		return no(x, "too much of it is missing, if it is one");
	product->chan_dim = osr_alloc(x->scratch, fabric->n_channels, 1);
	if (!product->chan_dim)
		return osr_fail(x->diag, OSR_NOMEM, "out of memory for %u channels",
				fabric->n_channels);
	for (uint32_t c = 0; c < fabric->n_channels; c++)
		product->chan_dim[c] =
			has_place(x, fabric->chan_src[c])
				? dim_between(product, coord_of(x, fabric->chan_src[c]),
					      coord_of(x, fabric->chan_dst[c]))
				: NO_DIM;
	return OSR_OK;
}

enum osr_status osr_product_find(const struct osr_fabric *fabric, struct osr_arena *scratch,
				 struct osr_product *product, struct osr_diag *diag)
{
	struct finder x = { .f = fabric, .p = product, .scratch = scratch, .diag = diag };
	enum osr_status st;
	uint32_t root;

	if ((st = product_prepare(&x)) || (st = knit_squares(&x)))
		return st;
	root = product_root(&x);
	st = OSR_NOT_APPLICABLE;
	for (int bold = 0; st == OSR_NOT_APPLICABLE && bold <= 1; bold++) {
		*product = (struct osr_product){ .f = fabric };
		if ((st = choose_dims(&x, root)) || (st = go_straight(&x, bold)) ||
		    (st = spread_labels(&x, root)) || (st = name_cliques(&x)))
			continue;
		sort_dims(&x);
		if ((st = own_places(&x)))
			continue;
		place_rest(&x);
		st = product_verify(&x, root);
	}
	if (!st && diag)
		diag->text[0] = 0;
	return st;
}

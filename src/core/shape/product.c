/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * See product.h. After product_ways.c:
 *	spread_labels()	coordinates as if rings were infinite lines, then modulo the length that closes
 *	name_cliques()	coordinates in cliques
 *	place_rest()	switches to which only edges without a direction lead
 *	product_verify()	nothing was assumed so far that is not checked here
 */
#include "product_private.h"

#include <stdlib.h>
#include <string.h>

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
 * Of the largest component, the switch with the most edges; of several, the switch whose edges
 * belong to the largest sets. Squares around it are whole, and its directions cross somewhere. The
 * lowest of equals.
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
		if (n[k] > n[main])
			main = k;
	memset(size, 0, finder->n_edges * sizeof(*size));
	EVERY_EDGE(e, finder)
		size[osr_set_of(finder->way, e)]++;
	OSR_EACH_SWITCH(v, fabric) {
		uint64_t rank = 0;

		EACH_EDGE(e, finder, v) {
			rank += (UINT64_C(1) << 40) + size[osr_set_of(finder->way, e)];
			EACH_EDGE(g, finder, v)
				if (*knit_of(finder, e, g))
					rank += 1 << 24;
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

/*
 * Coordinates as if rings were infinite lines, breadth first. Where a row meets itself, the two
 * labels of one switch tell how long the ring is.
 */
static enum osr_status spread_labels(struct finder *finder, uint32_t root)
{
	struct osr_product *product = finder->product;
	int32_t lo[OSR_MAX_DIMS] = { 0 }, hi[OSR_MAX_DIMS] = { 0 };
	uint32_t period[OSR_MAX_DIMS] = { 0 }, n = 0;

	memset(finder->seen, 0, finder->fabric->n_switches * sizeof(*finder->seen));
	finder->seen[root] = 1;
	finder->queue[n++] = root;
	for (uint32_t i = 0; i < n; i++)
		EACH_EDGE(e, finder, finder->queue[i]) {
			int32_t *from = label_of(finder, finder->from[e]),
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

				if (k == finder->dim[e])
					gap -= step;
				period[k] = gcd(period[k], abs(gap));
				if (to[k] < lo[k])
					lo[k] = to[k];
				if (to[k] > hi[k])
					hi[k] = to[k];
			}
		}
	for (uint32_t k = 0; k < product->n_dims; k++) {
		uint32_t size = period[k] ? period[k] : (uint32_t)(hi[k] - lo[k]) + 1;

		if (product->factor[k] == OSR_FACTOR_CLIQUE)
			continue;
		if (size < (period[k] ? 3 : 2) || size > finder->fabric->n_switches + 1)
			return product_refuse(finder, "its rows close differently");
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
 * A part that is connected without the cables of a clique is one member of the clique. Members are
 * numbered by their first switch.
 */
static enum osr_status name_cliques(struct finder *finder)
{
	uint32_t n = finder->fabric->n_switches, *member = finder->queue;
	struct osr_product *product = finder->product;

	for (uint32_t k = 0; k < product->n_dims; k++) {
		if (product->size[k])
			continue;
		osr_set_init(member, n);
		EVERY_EDGE(e, finder)
			if (finder->dim[e] != k && finder->dim[e] != NO_DIM &&
			    finder->seen[finder->from[e]])
				osr_set_join(member, finder->from[e], finder->near[e]);
		OSR_EACH_SWITCH(v, finder->fabric) {
			uint32_t first = osr_set_of(member, v);

			if (!finder->seen[v])
				continue;
			osr_invariant(first <= v && finder->seen[first]);
			label_of(finder, v)[k] = label_of(finder, first)[k];
			if (first == v)
				label_of(finder, v)[k] = product->size[k]++;
		}
		if (product->size[k] > 256)
			return product_refuse(
				finder, "a dimension is neither a ring, a line nor a full mesh");
	}
	return OSR_OK;
}

static uint16_t final_coord(const struct finder *finder, uint32_t v, uint8_t k)
{
	int32_t label = label_of(finder, v)[k];

	if (!finder->seen[v])
		return OSR_NO_PLACE;
	osr_invariant(label >= 0 && label < OSR_NO_PLACE);
	return label;
}

/*
 * Coordinates are labels, with the dimensions in another order: rings first, then lines, then
 * cliques; larger ones first; of equals the dimension that lacks more cables.
 */
static void sort_dims(struct finder *finder)
{
	struct osr_product *product = finder->product, old = *product;
	uint64_t key[OSR_MAX_DIMS];
	uint8_t order[OSR_MAX_DIMS] = { 0 };

	for (uint32_t i = 0; i < old.n_dims; i++) {
		uint32_t k = i;

		key[i] = (uint64_t)old.factor[i] << 48 | (uint64_t)old.size[i] << 32;
		EVERY_EDGE(e, finder)
			key[i] -= finder->dim[e] == i;
		for (; k && key[i] > key[order[k - 1]]; k--)
			order[k] = order[k - 1];
		order[k] = i;
	}
	for (uint32_t k = 0; k < old.n_dims; k++) {
		product->size[k] = old.size[order[k]];
		product->factor[k] = old.factor[order[k]];
		OSR_EACH_SWITCH(v, finder->fabric)
			coord_of(finder, v)[k] = final_coord(finder, v, order[k]);
	}
}

/* ---- places ---------------------------------------------------------------------------------- */

static uint32_t place_of(const struct osr_product *product, const uint16_t *at)
{
	uint32_t place = 0;

	for (uint32_t k = 0; k < product->n_dims; k++) {
		osr_invariant(at[k] < product->size[k]);
		place = place * product->size[k] + at[k];
	}
	osr_invariant(place < product->n_places);
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
		dim = k;
	}
	return dim;
}

/* Is this place free, and beside all neighbours of v that have one? */
static bool place_fits(const struct finder *finder, uint32_t v, const uint16_t *at)
{
	if (finder->owner[place_of(finder->product, at)] != OSR_NONE)
		return false;
	EACH_EDGE(e, finder, v)
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
			trial[k] = to;
			if (!one_step(finder->product, k, there, to) ||
			    !place_fits(finder, v, trial))
				continue;
			if (!n++)
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

		OSR_EACH_SWITCH(v, finder->fabric) {
			uint32_t n;

			if (has_place(finder, v))
				continue;
			n = product_candidates(finder, v, trial);
			if (!n || n >= least)
				continue;
			best = v;
			least = n;
			memcpy(at, trial, sizeof(at));
			if (least == 1)
				break;
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
			return product_refuse(finder, "too much of it is missing, if it is one");
	}
	product->n_places = n;
	finder->owner = osr_alloc(finder->scratch, n, sizeof(*finder->owner));
	if (!finder->owner)
		return osr_fail(finder->diag, OSR_NOMEM, "out of memory for %u places",
				(uint32_t)n);
	memset(finder->owner, 0xff, n * sizeof(*finder->owner));
	OSR_EACH_SWITCH(v, finder->fabric) {
		uint32_t *owner;

		if (!has_place(finder, v))
			continue;
		owner = &finder->owner[place_of(product, coord_of(finder, v))];
		if (*owner != OSR_NONE)
			return product_refuse(finder,
					      "two switches would have the same coordinates");
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
		EACH_EDGE(e, finder, v) {
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

				if (!one_step(product, k, here, to))
					continue;
				at[k] = to;
				u = finder->owner[place_of(product, at)];
				if (u == OSR_NONE || u < v)
					continue;
				n_links++;
				product->n_dead_links += !are_adjacent(finder, v, u);
			}
			at[k] = here;
		}
	}
	osr_invariant(product->n_placed <= product->n_places && product->n_dead_links <= n_links);
	if (4 * (product->n_places - product->n_placed) > product->n_places ||
	    4 * product->n_dead_links > n_links)
		return product_refuse(finder, "too much of it is missing, if it is one");
	product->chan_dim = osr_alloc(finder->scratch, fabric->n_channels, 1);
	if (!product->chan_dim)
		return osr_fail(finder->diag, OSR_NOMEM, "out of memory for %u channels",
				fabric->n_channels);
	OSR_EVERY_CHANNEL(c, fabric) {
		product->chan_dim[c] = NO_DIM;
		if (!has_place(finder, fabric->chan_src[c]))
			continue;
		product->chan_dim[c] = dim_between(product, coord_of(finder, fabric->chan_src[c]),
						   coord_of(finder, fabric->chan_dst[c]));
		osr_invariant(product->chan_dim[c] != NO_DIM);
	}
	return OSR_OK;
}

static enum osr_status product_try(struct finder *finder, uint32_t root, bool bold)
{
	enum osr_status st;

	*finder->product = (struct osr_product){ .fabric = finder->fabric };
	if ((st = osr_product_ways(finder, root, bold)) || (st = spread_labels(finder, root)) ||
	    (st = name_cliques(finder)))
		return st;
	sort_dims(finder);
	st = own_places(finder);
	if (st)
		return st;
	place_rest(finder);
	return product_verify(finder, root);
}

enum osr_status osr_product_find(const struct osr_fabric *fabric, struct osr_arena *scratch,
				 struct osr_product *product, struct osr_diag *diag)
{
	struct finder finder = {
		.fabric = fabric, .product = product, .scratch = scratch, .diag = diag
	};
	enum osr_status st;
	uint32_t root;

	st = osr_product_edges(&finder);
	if (st)
		return st;
	root = product_root(&finder);
	st = product_try(&finder, root, false);
	if (st == OSR_NOT_APPLICABLE)
		st = product_try(&finder, root, true);
	if (!st && diag)
		diag->text[0] = 0;
	return st;
}

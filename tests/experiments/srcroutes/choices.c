/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * All shortest legal routes of all pairs: see srcroutes.h. First shapes, the routes of the torus distance by
 * displacement; then every pair is looked at twice, to count and to fill arrays of the right size.
 */
#include "srcroutes_private.h"

#include <string.h>

#define FAR UINT32_MAX /* a line has no such direction */

/* ---- shapes --------------------------------------------------------------------------------- */

/*
 * Routes as short as the distance look the same between all pairs of nodes that lie the same way
 * apart, but for failures and for turns that are allowed in some places only. Here they are listed
 * once for every displacement, with every extra step that makes a difference to the hops: a first
 * step by a higher direction than the body starts with, a last step by a lower one than it ends
 * with.
 */
struct shape {
	struct osr_srcroute r;
	uint8_t low;  /* the direction behind the first step */
	uint8_t high; /* the direction before the last one */
};

/* Displacements are numbered: a digit for each dimension, base[i] many of them. */
struct shapes {
	const struct osr_torus *t;
	uint32_t base[OSR_TORUS_MAX_DIMS];
	uint32_t n;          /* displacements */
	uint32_t *row;       /* [n + 1] into shape */
	struct shape *shape; /* fewer extra steps first */
	uint16_t *hops;      /* [n] */
	uint8_t *coord;      /* [n_nodes * n_dims] */
};

/* The displacement between two nodes. */
static inline uint32_t displacement(const struct shapes *shapes, uint32_t from, uint32_t to)
{
	const struct osr_torus *torus = shapes->t;
	const uint8_t *x = shapes->coord + from * torus->n_dims,
		      *y = shapes->coord + to * torus->n_dims;
	uint32_t d = 0;

	for (uint32_t i = 0; i < torus->n_dims; i++) {
		int gap = (int)y[i] - (int)x[i];

		d = d * shapes->base[i] + (uint32_t)(gap < 0 ? gap + (int)shapes->base[i] : gap);
	}
	return d;
}

/* Hops up and down a dimension by which two coordinates differ. */
static void count_hops(const struct osr_torus *torus, uint32_t dim, uint32_t x, uint32_t y,
		       uint32_t *up, uint32_t *down)
{
	uint32_t size = torus->size[dim];

	*up = y > x ? y - x : torus->ring[dim] ? y + size - x : FAR;
	*down = y < x ? x - y : torus->ring[dim] ? x + size - y : FAR;
}

/* The lowest and the highest direction of a body, in the order of directions. */
static uint32_t lowest(const struct osr_torus *torus, uint8_t plus, uint8_t minus)
{
	return plus ? (uint32_t)__builtin_ctz(plus)
		    : torus->n_dims + (uint32_t)__builtin_ctz(minus);
}

static uint32_t highest(const struct osr_torus *torus, uint8_t plus, uint8_t minus)
{
	return minus ? torus->n_dims + 31 - (uint32_t)__builtin_clz(minus)
		     : 31 - (uint32_t)__builtin_clz(plus);
}

/*
 * Directions of a route, hop by hop; up[i] and down[i] are the hops of its body in dimension i.
 * Returns how many.
 */
static uint32_t list_dirs(const struct osr_torus *torus, struct osr_srcroute srcroute,
			  const uint32_t *up, const uint32_t *down, uint8_t *dirs)
{
	uint32_t n = 0;

	if (srcroute.first != OSR_NO_DIR)
		dirs[n++] = srcroute.first;
	for (uint32_t i = 0; i < torus->n_dims; i++)
		for (uint32_t k = 0; srcroute.plus >> i & 1 && k < up[i]; k++)
			dirs[n++] = (uint8_t)i;
	for (uint32_t i = 0; i < torus->n_dims; i++)
		for (uint32_t k = 0; srcroute.minus >> i & 1 && k < down[i]; k++)
			dirs[n++] = (uint8_t)(torus->n_dims + i);
	if (srcroute.last != OSR_NO_DIR)
		dirs[n++] = srcroute.last;
	return n;
}

struct lister {
	struct shapes *s;
	uint32_t up[OSR_TORUS_MAX_DIMS], down[OSR_TORUS_MAX_DIMS]; /* 0: not this way */
	bool filling;
	uint32_t n; /* shapes so far */
};

/* The bodies' directions, less a step that is made before or after. */
static uint8_t without(uint8_t bits, uint32_t dim, uint32_t hops)
{
	return hops > 1 ? bits : bits & (uint8_t) ~(1u << dim);
}

static void add_shape(struct lister *w, uint32_t first, uint32_t last, uint8_t plus, uint8_t minus)
{
	const struct osr_torus *torus = w->s->t;
	struct shape shape = { .r = { (uint8_t)first, (uint8_t)last, plus, minus } };

	if (first != OSR_NO_DIR)
		shape.r.plus = without(plus, first, w->up[first]);
	if (last != OSR_NO_DIR)
		shape.r.minus = without(minus, last - torus->n_dims, w->down[last - torus->n_dims]);
	if (!(shape.r.plus | shape.r.minus))
		return;
	shape.low = (uint8_t)lowest(torus, shape.r.plus, shape.r.minus);
	shape.high = (uint8_t)highest(torus, shape.r.plus, shape.r.minus);
	if (first != OSR_NO_DIR && shape.low >= first)
		return;
	if (last != OSR_NO_DIR && shape.high <= last)
		return;
	if (w->filling)
		w->s->shape[w->n] = shape;
	w->n++;
}

/* All ways around the rings whose halves are equally long, for these extra steps. */
static void shapes_choose_signs(struct lister *w, uint32_t first, uint32_t last, uint32_t dim,
				uint8_t plus, uint8_t minus)
{
	const struct osr_torus *torus = w->s->t;

	while (dim < torus->n_dims && !w->up[dim] && !w->down[dim])
		dim++;
	if (dim < torus->n_dims) {
		uint8_t bit = (uint8_t)(1u << dim);

		if (w->up[dim])
			shapes_choose_signs(w, first, last, dim + 1, plus | bit, minus);
		if (w->down[dim])
			shapes_choose_signs(w, first, last, dim + 1, plus, minus | bit);
		return;
	}
	if (first != OSR_NO_DIR && !(plus >> first & 1))
		return;
	if (last != OSR_NO_DIR && !(minus >> (last - torus->n_dims) & 1))
		return;
	add_shape(w, first, last, plus, minus);
}

/* Fewer extra steps first. */
static void list_shapes(struct lister *w)
{
	uint32_t n = w->s->t->n_dims;

	shapes_choose_signs(w, OSR_NO_DIR, OSR_NO_DIR, 0, 0, 0);
	for (uint32_t i = 1; i < n; i++)
		shapes_choose_signs(w, i, OSR_NO_DIR, 0, 0, 0);
	for (uint32_t k = n; k + 1 < 2 * n; k++)
		shapes_choose_signs(w, OSR_NO_DIR, k, 0, 0, 0);
	for (uint32_t i = 1; i < n; i++)
		for (uint32_t k = n; k + 1 < 2 * n; k++)
			shapes_choose_signs(w, i, k, 0, 0, 0);
}

/* The shorter way in each dimension, or both. Returns the hops of all. */
static uint32_t take_displacement(struct lister *w, uint32_t d)
{
	const struct osr_torus *torus = w->s->t;
	uint32_t sum = 0;

	for (uint32_t i = torus->n_dims; i-- > 0;) {
		uint32_t digit = d % w->s->base[i], up = 0, down = 0;

		d /= w->s->base[i];
		if (digit && torus->ring[i])
			count_hops(torus, i, 0, digit, &up, &down);
		else if (digit < torus->size[i])
			up = digit;
		else
			down = w->s->base[i] - digit;
		sum += !down || (up && up < down) ? up : down;
		w->up[i] = down && up > down ? 0 : up;
		w->down[i] = up && down > up ? 0 : down;
	}
	return sum;
}

static void list_all(struct lister *w)
{
	w->n = 0;
	for (uint32_t d = 0; d < w->s->n; d++) {
		uint32_t hops = take_displacement(w, d);

		w->s->hops[d] = (uint16_t)hops;
		w->s->row[d] = w->n;
		if (hops)
			list_shapes(w);
	}
	w->s->row[w->s->n] = w->n;
}

static enum osr_status shapes_init(struct shapes *shapes, const struct osr_torus *torus,
				   struct osr_arena *scratch, struct osr_diag *diag)
{
	struct lister w = { .s = shapes };

	*shapes = (struct shapes){ .t = torus, .n = 1 };
	for (uint32_t i = 0; i < torus->n_dims; i++) {
		shapes->base[i] = torus->ring[i] ? torus->size[i] : 2 * torus->size[i] - 1;
		shapes->n *= shapes->base[i];
	}
	shapes->row = osr_alloc(scratch, shapes->n + 1, sizeof(*shapes->row));
	shapes->hops = osr_alloc(scratch, shapes->n, sizeof(*shapes->hops));
	shapes->coord = osr_alloc(scratch, (size_t)torus->n_nodes * torus->n_dims, 1);
	if (shapes->row && shapes->hops && shapes->coord) {
		list_all(&w);
		shapes->shape = osr_alloc(scratch, w.n, sizeof(*shapes->shape));
	}
	if (osr_arena_failed(scratch, diag))
		return OSR_NOMEM;
	w.filling = true;
	list_all(&w);
	for (uint32_t u = 0; u < torus->n_nodes; u++)
		for (uint32_t i = 0; i < torus->n_dims; i++)
			shapes->coord[u * torus->n_dims + i] =
				(uint8_t)osr_torus_coord(torus, u, i);
	return OSR_OK;
}

/* ---- choices -------------------------------------------------------------------------------- */

struct finder {
	struct osr_srcroutes *a;
	const struct osr_torus *t;
	struct osr_diag *diag;
	struct shapes shapes;
	uint8_t *dirs; /* [hops] of the route at hand */

	/* Where the next route is written to; NULL while counting. */
	struct osr_srcroute *choice;
	uint32_t *channel;
};

/* Are the turns behind the first step and before the last one allowed at these nodes? */
static bool turns_allowed(const struct finder *w, const struct shape *shape, uint32_t from,
			  uint32_t to)
{
	const struct osr_torus *torus = w->t;
	const uint16_t *after = w->a->turns->after;
	uint32_t nd = torus->n_dirs;

	if (shape->r.first != OSR_NO_DIR) {
		uint32_t at = torus->next[from * nd + shape->r.first];

		if (at == OSR_NO_NODE || !(after[at * nd + shape->r.first] >> shape->low & 1))
			return false;
	}
	if (shape->r.last != OSR_NO_DIR) {
		uint32_t at = torus->next[to * nd + osr_dir_back(torus, shape->r.last)];

		if (at == OSR_NO_NODE || !(after[at * nd + shape->high] >> shape->r.last & 1))
			return false;
	}
	return true;
}

/* Walks dirs[] and writes down the channels. */
static void choices_walk(const struct finder *w, uint32_t node, const uint8_t *dirs, uint32_t n,
			 uint32_t *channel)
{
	for (uint32_t k = 0; k < n; k++) {
		channel[k] = node * w->t->n_dirs + dirs[k];
		node = w->t->next[channel[k]];
	}
}

/* Hops of the body of a shape in each dimension. */
static void body_hops(const struct finder *w, struct osr_srcroute srcroute, uint32_t from,
		      uint32_t to, uint32_t *up, uint32_t *down)
{
	const struct osr_torus *torus = w->t;

	for (uint32_t i = 0; i < torus->n_dims; i++) {
		uint32_t x = w->shapes.coord[from * torus->n_dims + i];
		uint32_t y = w->shapes.coord[to * torus->n_dims + i];

		count_hops(torus, i, x, y, &up[i], &down[i]);
		up[i] -= srcroute.first == i;
		down[i] -= srcroute.last == i + torus->n_dims;
	}
}

/* Routes as short as the distance: how many, and while filling which. All of their channels are there. */
static uint32_t try_shapes(struct finder *w, uint32_t from, uint32_t to, uint32_t d)
{
	const struct shapes *shapes = &w->shapes;
	uint32_t n_found = 0, hops = shapes->hops[d];

	for (uint32_t k = shapes->row[d]; k < shapes->row[d + 1]; k++) {
		const struct shape *shape = &shapes->shape[k];
		uint32_t up[OSR_TORUS_MAX_DIMS], down[OSR_TORUS_MAX_DIMS];

		if (!turns_allowed(w, shape, from, to))
			continue;
		n_found++;
		if (!w->channel)
			continue;
		body_hops(w, shape->r, from, to, up, down);
		list_dirs(w->t, shape->r, up, down, w->dirs);
		choices_walk(w, from, w->dirs, hops, w->channel);
		w->channel += hops;
		*w->choice++ = shape->r;
	}
	return n_found;
}

static enum osr_status count_all(struct finder *w, struct osr_arena *arena)
{
	struct osr_srcroutes *routes = w->a;
	uint64_t n_channels = 0, n_choices = 0;
	uint32_t n = w->t->n_nodes;

	for (uint32_t p = 0; p < routes->n_pairs; p++) {
		uint32_t i = p / n, j = p % n, d = displacement(&w->shapes, i, j);
		uint32_t hops = w->shapes.hops[d], found = i == j ? 0 : try_shapes(w, i, j, d);

		routes->row[p] = (uint32_t)n_choices;
		routes->first_channel[p] = n_channels;
		routes->n_unique += found == 1;
		routes->hops[p] = (uint16_t)hops;
		n_choices += found;
		n_channels += (uint64_t)found * hops;
		if (n_choices > UINT32_MAX)
			return osr_fail(w->diag, OSR_NOMEM, "%u nodes have more than 2^32 routes",
					n);
	}
	routes->row[routes->n_pairs] = (uint32_t)n_choices;
	routes->choice = osr_alloc(arena, n_choices, sizeof(*routes->choice));
	routes->channel = osr_alloc(arena, n_channels, sizeof(*routes->channel));
	return osr_arena_failed(arena, w->diag) ? OSR_NOMEM : OSR_OK;
}

static void fill_all(struct finder *w)
{
	struct osr_srcroutes *routes = w->a;
	uint32_t n = w->t->n_nodes;

	w->choice = routes->choice;
	w->channel = routes->channel;
	for (uint32_t p = 0; p < routes->n_pairs; p++)
		if (routes->hops[p])
			try_shapes(w, p / n, p % n, displacement(&w->shapes, p / n, p % n));
}

static enum osr_status finder_init(struct finder *w, struct osr_arena *scratch)
{
	enum osr_status st = shapes_init(&w->shapes, w->t, scratch, w->diag);
	size_t hops = 0;

	if (st)
		return st;
	for (uint32_t i = 0; i < w->t->n_dims; i++)
		hops += w->t->size[i];
	w->dirs = osr_alloc(scratch, hops, 1);
	return osr_arena_failed(scratch, w->diag) ? OSR_NOMEM : OSR_OK;
}

enum osr_status osr_srcroutes_init(struct osr_srcroutes *routes, const struct osr_turns *turns,
				   struct osr_arena *scratch, struct osr_arena *result,
				   struct osr_diag *diag)
{
	struct osr_arena_mark mark = osr_arena_mark(scratch);
	struct finder w = { .a = routes, .t = turns->t, .diag = diag };
	enum osr_status st;

	*routes = (struct osr_srcroutes){ .t = turns->t, .turns = turns };
	routes->n_pairs = turns->t->n_nodes * turns->t->n_nodes;
	routes->row = osr_alloc(result, (size_t)routes->n_pairs + 1, sizeof(*routes->row));
	routes->hops = osr_alloc(result, routes->n_pairs, sizeof(*routes->hops));
	routes->first_channel = osr_alloc(result, routes->n_pairs, sizeof(*routes->first_channel));
	if (osr_arena_failed(result, diag))
		return OSR_NOMEM;
	st = finder_init(&w, scratch);
	if (!st)
		st = count_all(&w, result);
	if (!st)
		fill_all(&w);
	osr_arena_reset(scratch, mark);
	return st;
}

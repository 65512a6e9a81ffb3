/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Routes as short as the distance look the same between all pairs of nodes that lie the same way
 * apart, but for failures and for turns that are allowed in some places only. Here they are listed
 * once for every displacement, with every extra step that makes a difference to the hops: a first
 * step by a higher direction than the body starts with, a last step by a lower one than it ends
 * with.
 */
#include "choices_private.h"

void osr__count_hops(const struct osr_torus *torus, uint32_t dim, uint32_t x, uint32_t y,
		     uint32_t *up, uint32_t *down)
{
	uint32_t size = torus->size[dim];

	*up = y > x ? y - x : torus->ring[dim] ? y + size - x : OSR__FAR;
	*down = y < x ? x - y : torus->ring[dim] ? x + size - y : OSR__FAR;
}

uint32_t osr__lowest(const struct osr_torus *torus, uint8_t plus, uint8_t minus)
{
	return plus ? (uint32_t)__builtin_ctz(plus)
		    : torus->n_dims + (uint32_t)__builtin_ctz(minus);
}

uint32_t osr__highest(const struct osr_torus *torus, uint8_t plus, uint8_t minus)
{
	return minus ? torus->n_dims + 31 - (uint32_t)__builtin_clz(minus)
		     : 31 - (uint32_t)__builtin_clz(plus);
}

uint32_t osr__list_dirs(const struct osr_torus *torus, struct osr_srcroute srcroute,
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
	struct osr__shapes *s;
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
	struct osr__shape shape = { .r = { (uint8_t)first, (uint8_t)last, plus, minus } };

	if (first != OSR_NO_DIR)
		shape.r.plus = without(plus, first, w->up[first]);
	if (last != OSR_NO_DIR)
		shape.r.minus = without(minus, last - torus->n_dims, w->down[last - torus->n_dims]);
	if (!(shape.r.plus | shape.r.minus))
		return;
	shape.low = (uint8_t)osr__lowest(torus, shape.r.plus, shape.r.minus);
	shape.high = (uint8_t)osr__highest(torus, shape.r.plus, shape.r.minus);
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
			osr__count_hops(torus, i, 0, digit, &up, &down);
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

enum osr_status osr__shapes_init(struct osr__shapes *shapes, const struct osr_torus *torus,
				 struct osr_arena *scratch, struct osr_diag *diag)
{
	struct lister w = { .s = shapes };

	*shapes = (struct osr__shapes){ .t = torus, .n = 1 };
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

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * All shortest legal routes of all pairs: see srcroutes.h.
 *	choices.c	every pair is looked at twice, first to count, then to fill arrays of the
 *			right size
 *	shapes.c	what routes of the torus distance look like, by displacement
 */
#include "choices_private.h"

#include <string.h>

struct finder {
	struct osr_srcroutes *a;
	const struct osr_torus *t;
	struct osr_diag *diag;
	struct osr__shapes shapes;
	uint8_t *dirs; /* [hops] of the route at hand */

	/* Where the next route is written to; NULL while counting. */
	struct osr_srcroute *choice;
	uint32_t *channel;
};

/* Are the turns behind the first step and before the last one allowed at these nodes? */
static bool turns_allowed(const struct finder *w, const struct osr__shape *shape, uint32_t from,
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

		osr__count_hops(torus, i, x, y, &up[i], &down[i]);
		up[i] -= srcroute.first == i;
		down[i] -= srcroute.last == i + torus->n_dims;
	}
}

/* Routes as short as the distance: how many, and while filling which. All of their channels are there. */
static uint32_t try_shapes(struct finder *w, uint32_t from, uint32_t to, uint32_t d)
{
	const struct osr__shapes *shapes = &w->shapes;
	uint32_t n_found = 0, hops = shapes->hops[d];

	for (uint32_t k = shapes->row[d]; k < shapes->row[d + 1]; k++) {
		const struct osr__shape *shape = &shapes->shape[k];
		uint32_t up[OSR_TORUS_MAX_DIMS], down[OSR_TORUS_MAX_DIMS];

		if (!turns_allowed(w, shape, from, to))
			continue;
		n_found++;
		if (!w->channel)
			continue;
		body_hops(w, shape->r, from, to, up, down);
		osr__list_dirs(w->t, shape->r, up, down, w->dirs);
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
		uint32_t i = p / n, j = p % n, d = osr__displacement(&w->shapes, i, j);
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
			try_shapes(w, p / n, p % n, osr__displacement(&w->shapes, p / n, p % n));
}

static enum osr_status finder_init(struct finder *w, struct osr_arena *scratch)
{
	enum osr_status st = osr__shapes_init(&w->shapes, w->t, scratch, w->diag);
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

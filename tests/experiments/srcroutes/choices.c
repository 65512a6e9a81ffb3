/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * All shortest legal routes of all pairs: see srcroutes.h.
 *	choices.c	every pair is looked at twice, first to count, then to fill arrays of the
 *			right size
 *	shapes.c	what routes of the torus distance look like, by displacement
 *	detours.c	what is left to a pair when failures allow none of these
 */
#include "choices_private.h"

#include <string.h>

struct finder {
	struct osr_srcroutes *a;
	const struct osr_torus *t;
	struct osr_diag *diag;
	struct osr__shapes shapes;
	struct osr__detours detours;
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

/* Walks dirs[] and writes down the channels. False if one is not there. */
static bool choices_walk(const struct finder *w, uint32_t node, const uint8_t *dirs, uint32_t n,
			 uint32_t *channel)
{
	for (uint32_t k = 0; k < n; k++) {
		uint32_t c = node * w->t->n_dirs + dirs[k];

		node = w->t->next[c];
		if (node == OSR_NO_NODE)
			return false;
		if (channel)
			channel[k] = c;
	}
	return true;
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

/*
 * Routes as short as the distance. With nothing taken out of the torus all of their channels are
 * there, and counting need not look.
 */
static uint32_t try_shapes(struct finder *w, uint32_t from, uint32_t to, uint32_t d)
{
	const struct osr__shapes *shapes = &w->shapes;
	uint32_t n_found = 0, hops = shapes->hops[d];

	for (uint32_t k = shapes->row[d]; k < shapes->row[d + 1]; k++) {
		const struct osr__shape *shape = &shapes->shape[k];
		uint32_t up[OSR_TORUS_MAX_DIMS], down[OSR_TORUS_MAX_DIMS];

		if (!turns_allowed(w, shape, from, to))
			continue;
		if (w->channel || !w->t->whole) {
			body_hops(w, shape->r, from, to, up, down);
			osr__list_dirs(w->t, shape->r, up, down, w->dirs);
			if (!choices_walk(w, from, w->dirs, hops, w->channel))
				continue;
		}
		n_found++;
		if (!w->channel)
			continue;
		w->channel += hops;
		*w->choice++ = shape->r;
	}
	return n_found;
}

/* The number of choices, and their hops. */
static uint32_t choices_count_pair(struct finder *w, uint32_t from, uint32_t to, uint32_t *hops)
{
	uint32_t d = osr__displacement(&w->shapes, from, to), n = try_shapes(w, from, to, d);

	*hops = w->shapes.hops[d];
	if (n || w->t->whole)
		return n;
	osr__detours_find(&w->detours, from, to);
	*hops = w->detours.hops;
	return w->detours.n_found;
}

static void fill_pair(struct finder *w, uint32_t from, uint32_t to, uint32_t hops)
{
	uint32_t d = osr__displacement(&w->shapes, from, to);
	struct osr__detours *detours = &w->detours;

	if (hops == w->shapes.hops[d]) {
		try_shapes(w, from, to, d);
		return;
	}
	osr__detours_find(detours, from, to);
	for (uint32_t k = 0; k < detours->n_found; k++) {
		choices_walk(w, from, detours->dirs + (size_t)k * hops, hops, w->channel);
		w->channel += hops;
		*w->choice++ = detours->r[k];
	}
}

static enum osr_status count_all(struct finder *w, struct osr_arena *arena)
{
	struct osr_srcroutes *routes = w->a;
	uint64_t n_channels = 0, n_choices = 0;

	for (uint32_t p = 0; p < routes->n_pairs; p++) {
		uint32_t i = p / routes->n_set, j = p % routes->n_set, hops = 0, n = 0;

		routes->row[p] = (uint32_t)n_choices;
		routes->first_channel[p] = n_channels;
		if (i != j) {
			n = choices_count_pair(w, routes->set[i], routes->set[j], &hops);
			routes->n_unroutable += !n;
			routes->n_unique += n == 1;
		}
		routes->hops[p] = (uint16_t)(n ? hops : 0);
		n_choices += n;
		n_channels += (uint64_t)n * hops;
		if (n_choices > UINT32_MAX)
			return osr_fail(w->diag, OSR_NOMEM, "%u nodes have more than 2^32 routes",
					routes->n_set);
	}
	routes->row[routes->n_pairs] = (uint32_t)n_choices;
	routes->choice = osr_alloc(arena, n_choices, sizeof(*routes->choice));
	routes->channel = osr_alloc(arena, n_channels, sizeof(*routes->channel));
	return osr_arena_failed(arena, w->diag) ? OSR_NOMEM : OSR_OK;
}

static void fill_all(struct finder *w)
{
	struct osr_srcroutes *routes = w->a;

	w->choice = routes->choice;
	w->channel = routes->channel;
	for (uint32_t p = 0; p < routes->n_pairs; p++)
		if (routes->hops[p])
			fill_pair(w, routes->set[p / routes->n_set], routes->set[p % routes->n_set],
				  routes->hops[p]);
}

static enum osr_status check_set(const struct osr_torus *torus, const uint32_t *set, uint32_t n_set,
				 struct osr_diag *diag)
{
	if (!n_set)
		return osr_fail(diag, OSR_INVAL, "the set of nodes to be routed is empty");
	for (uint32_t i = 0; i < n_set; i++) {
		if (set[i] >= torus->n_nodes)
			return osr_fail(diag, OSR_INVAL, "there is no node %u: the torus has %u",
					set[i], torus->n_nodes);
		if (i && set[i] <= set[i - 1])
			return osr_fail(diag, OSR_INVAL,
					"node %u is in the set twice, or the nodes are not in "
					"ascending order",
					set[i]);
		if (torus->dead[set[i]])
			return osr_fail(diag, OSR_INVAL, "node %u is to be routed, but has failed",
					set[i]);
	}
	return OSR_OK;
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
	return osr__detours_init(&w->detours, w->a->turns, w->shapes.coord, scratch, w->diag);
}

enum osr_status osr_srcroutes_init(struct osr_srcroutes *routes, const struct osr_turns *turns,
				   const uint32_t *set, uint32_t n_set, struct osr_arena *scratch,
				   struct osr_arena *result, struct osr_diag *diag)
{
	struct osr_arena_mark mark = osr_arena_mark(scratch);
	struct finder w = { .a = routes, .t = turns->t, .diag = diag };
	enum osr_status st = check_set(turns->t, set, n_set, diag);

	if (st)
		return st;
	*routes =
		(struct osr_srcroutes){ .t = turns->t, .turns = turns, .n_set = n_set, .set = set };
	routes->n_pairs = n_set * n_set;
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

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * From coordinates, perhaps not of all switches, to a grid:
 *	osr__grid_finish()	all of the following
 *	place_rest()		switches that no row reached, by their neighbours
 *	verify()		nothing was assumed so far that is not checked here
 *	list_channels()		channels by direction
 */
#include "grid_private.h"

#include <string.h>

/* ---- switches that no row reached ------------------------------------------------------------ */

static uint32_t place_of(const struct osr_grid_shape *s, const uint16_t *x)
{
	uint32_t place = 0;

	for (uint32_t i = 0; i < s->n_dims; i++)
		place = place * s->size[i] + x[i];
	return place;
}

/* One step from x; false at the end of a line. */
static bool step(const struct osr_grid_shape *s, uint16_t *x, uint32_t dir)
{
	uint32_t i = dir / 2, n = s->size[i];

	if (!s->ring[i] && x[i] == (dir % 2 ? 0 : n - 1))
		return false;
	x[i] = (uint16_t)((x[i] + (dir % 2 ? n - 1 : 1)) % n);
	return true;
}

/* Which step leads from x to y; NO_DIR if none does. */
static uint32_t step_between(const struct osr_grid_shape *s, const uint16_t *x, const uint16_t *y)
{
	uint32_t dir = NO_DIR;

	for (uint32_t i = 0; i < s->n_dims; i++) {
		uint32_t n = s->size[i], gap = (y[i] + n - x[i]) % n;

		if (!gap)
			continue;
		if (dir != NO_DIR)
			return NO_DIR;
		if (gap == 1 && (s->ring[i] || x[i] + 1u < n))
			dir = 2 * i;
		else if (gap == n - 1 && (s->ring[i] || x[i]))
			dir = 2 * i + 1;
		else
			return NO_DIR;
	}
	return dir;
}

static bool fits(const struct grid_work *w, uint32_t v, const uint16_t *x, const uint32_t *owner)
{
	if (owner[place_of(&w->shape, x)] != OSR_NONE)
		return false;
	for (uint32_t e = w->row[v]; e < w->row[v + 1]; e++)
		if (has_place(w, w->adj[e]) &&
		    step_between(&w->shape, x, coord_of(w, w->adj[e])) == NO_DIR)
			return false;
	return true;
}

/* Free places next to all neighbours of v that have one, into dirs[]: steps from *near, one of them. */
static uint32_t candidates(const struct grid_work *w, uint32_t v, const uint32_t *owner,
			   uint32_t *near, uint8_t *dirs)
{
	uint32_t n = 0, e = w->row[v];

	while (e < w->row[v + 1] && !has_place(w, w->adj[e]))
		e++;
	*near = e < w->row[v + 1] ? w->adj[e] : OSR_NONE;
	for (uint32_t dir = 0; dir < 2 * w->shape.n_dims && *near != OSR_NONE; dir++) {
		uint16_t x[MAX_DIMS];

		memcpy(x, coord_of(w, *near), sizeof(x));
		if (step(&w->shape, x, dir) && fits(w, v, x, owner))
			dirs[n++] = (uint8_t)dir;
	}
	return n;
}

#define MAX_GUESSES 256

struct rest {
	struct grid_work *w;
	uint32_t *owner;
	uint32_t *trail; /* who has been placed */
	uint32_t n_trail, n_guesses;
};

static void place(struct rest *r, uint32_t v, uint32_t near, uint32_t dir)
{
	uint16_t *x = coord_of(r->w, v);

	memcpy(x, coord_of(r->w, near), MAX_DIMS * sizeof(*x));
	step(&r->w->shape, x, dir);
	r->owner[place_of(&r->w->shape, x)] = v;
	r->trail[r->n_trail++] = v;
}

static void take_back(struct rest *r, uint32_t n)
{
	while (r->n_trail > n) {
		uint16_t *x = coord_of(r->w, r->trail[--r->n_trail]);

		r->owner[place_of(&r->w->shape, x)] = OSR_NONE;
		x[0] = OSR_NO_PLACE;
	}
}

/* Who has the fewest candidates: often there is only one. OSR_NONE: nobody is left in reach. */
static uint32_t choose(const struct rest *r, uint32_t *near, uint8_t *dirs, uint32_t *n_dirs)
{
	uint32_t best = OSR_NONE;

	*n_dirs = MAX_DIRS + 1;
	for (uint32_t v = 0; v<r->w->f->n_switches && * n_dirs> 1; v++) {
		uint8_t some[MAX_DIRS];
		uint32_t u, n;

		if (has_place(r->w, v))
			continue;
		n = candidates(r->w, v, r->owner, &u, some);
		if (u == OSR_NONE || n >= *n_dirs)
			continue;
		best = v;
		*near = u;
		*n_dirs = n;
		memcpy(dirs, some, n);
	}
	return best;
}

/* Where there are several candidates, the first with which everybody finds a place. */
static bool place_rest(struct rest *r)
{
	uint32_t mark = r->n_trail, v, near, n;
	uint8_t dirs[MAX_DIRS];

	while ((v = choose(r, &near, dirs, &n)) != OSR_NONE && n == 1)
		place(r, v, near, dirs[0]);
	if (v == OSR_NONE)
		return true;
	for (uint32_t k = 0; k < n && r->n_guesses < MAX_GUESSES; k++) {
		uint32_t here = r->n_trail;

		r->n_guesses++;
		place(r, v, near, dirs[k]);
		if (place_rest(r))
			return true;
		take_back(r, here);
	}
	take_back(r, mark);
	return false;
}

/* ---- what is checked ------------------------------------------------------------------------- */

static enum osr_status number_places(const struct grid_work *w, struct osr_grid *g)
{
	uint64_t n = 1;

	for (uint32_t i = 0; i < w->shape.n_dims; i++) {
		n *= w->shape.size[i];
		if (n / 4 * 3 > w->f->n_switches)
			return osr__grid_no(w, "too much of it is missing, if it is one");
	}
	g->n_places = (uint32_t)n;
	return OSR_OK;
}

/* Who is where; two at one place are a contradiction. */
static enum osr_status own_places(struct grid_work *w, uint32_t *owner, uint32_t n_places)
{
	char a[32], b[32];

	memset(owner, 0xff, n_places * sizeof(*owner));
	for (uint32_t v = 0; v < w->f->n_switches; v++) {
		uint32_t *o;

		if (!has_place(w, v))
			continue;
		o = &owner[place_of(&w->shape, coord_of(w, v))];
		if (*o != OSR_NONE)
			return osr_fail(w->diag, OSR_NOT_APPLICABLE,
					"not a torus or mesh: switches %s and %s would have the "
					"same coordinates",
					osr_switch_name(w->f, *o, a), osr_switch_name(w->f, v, b));
		*o = v;
	}
	return OSR_OK;
}

static void fill_near(const struct grid_work *w, struct osr_grid *g)
{
	uint32_t n_dirs = 2 * g->shape.n_dims;

	memset(g->near, 0xff, (size_t)w->f->n_switches * n_dirs * sizeof(*g->near));
	for (uint32_t v = 0; v < w->f->n_switches; v++)
		for (uint32_t e = w->row[v]; e < w->row[v + 1] && has_place(w, v); e++)
			g->near[(size_t)v * n_dirs +
				step_between(&w->shape, coord_of(w, v), coord_of(w, w->adj[e]))] =
				w->adj[e];
}

static enum osr_status verify(const struct grid_work *w, struct osr_grid *g, const uint32_t *owner)
{
	const struct osr_fabric *f = w->f;
	uint32_t main = f->sw_component[first_placed(w)], n_links = 0;
	char a[32], b[32];

	for (uint32_t v = 0; v < f->n_switches; v++) {
		if (!has_place(w, v)) {
			if (f->sw_component[v] == main)
				return osr_fail(w->diag, OSR_NOT_APPLICABLE,
						"not a torus or mesh: switch %s fits nowhere",
						osr_switch_name(f, v, a));
			continue;
		}
		g->n_placed++;
		for (uint32_t e = w->row[v]; e < w->row[v + 1]; e++)
			if (step_between(&w->shape, coord_of(w, v), coord_of(w, w->adj[e])) ==
			    NO_DIR)
				return osr_fail(w->diag, OSR_NOT_APPLICABLE,
						"not a torus or mesh: the cable between switches "
						"%s and %s runs askew",
						osr_switch_name(f, v, a),
						osr_switch_name(f, w->adj[e], b));
		for (uint32_t dir = 0; dir < 2 * w->shape.n_dims; dir += 2) {
			uint16_t x[MAX_DIMS];
			uint32_t u;

			memcpy(x, coord_of(w, v), sizeof(x));
			if (!step(&w->shape, x, dir))
				continue;
			u = owner[place_of(&w->shape, x)];
			if (u == OSR_NONE)
				continue;
			n_links++;
			g->n_dead_links += osr__grid_edge(w, v, u) == OSR_NONE;
		}
	}
	g->n_dead_switches = g->n_places - g->n_placed;
	if (4ull * g->n_dead_switches > g->n_places || 4ull * g->n_dead_links > n_links)
		return osr__grid_no(w, "too much of it is missing, if it is one");
	return OSR_OK;
}

/* Channels of each switch by direction. */
static enum osr_status list_channels(const struct grid_work *w, struct osr_grid *g,
				     struct osr_arena *result)
{
	const struct osr_fabric *f = w->f;
	uint32_t n_dirs = 2 * g->shape.n_dims, n = 0;

	g->hop_row = osr_alloc(result, (size_t)f->n_switches * (n_dirs + 1), sizeof(*g->hop_row));
	g->hop_list = osr_alloc(result, f->n_channels, 1);
	g->chan_dir = osr_alloc(result, f->n_channels, 1);
	if (!g->hop_row || !g->hop_list || !g->chan_dir)
		return osr__grid_nomem(w->diag);
	memset(g->chan_dir, NO_DIR, f->n_channels);
	for (uint32_t v = 0; v < f->n_switches; v++) {
		uint32_t first = f->chan_row[v];

		n = 0;
		for (uint32_t dir = 0; dir < n_dirs; dir++) {
			uint32_t u = osr_grid_near(g, v, dir);

			g->hop_row[(size_t)v * (n_dirs + 1) + dir] = (uint16_t)n;
			for (uint32_t c = first; c < f->chan_row[v + 1] && u != OSR_NONE; c++)
				if (f->chan_dst[c] == u) {
					g->hop_list[first + n++] = (uint8_t)(c - first);
					g->chan_dir[c] = (uint8_t)dir;
				}
		}
		g->hop_row[(size_t)v * (n_dirs + 1) + n_dirs] = (uint16_t)n;
	}
	return OSR_OK;
}

/* From coordinates, perhaps not of all switches, to a grid. */
enum osr_status osr__grid_finish(struct grid_work *w, struct osr_arena *scratch,
				 struct osr_arena *result, struct osr_grid *g)
{
	size_t n = w->f->n_switches, n_dims = w->shape.n_dims;
	struct rest r = { .w = w };
	enum osr_status st;
	uint32_t *owner;

	*g = (struct osr_grid){ .f = w->f, .shape = w->shape };
	st = number_places(w, g);
	if (st)
		return st;
	r.owner = owner = osr_alloc(scratch, g->n_places, sizeof(*owner));
	r.trail = osr_alloc(scratch, n, sizeof(*r.trail));
	g->coord = osr_alloc(result, n * n_dims, sizeof(*g->coord));
	g->near = osr_alloc(result, n * 2 * n_dims, sizeof(*g->near));
	if (!owner || !r.trail || !g->coord || !g->near)
		return osr__grid_nomem(w->diag);
	st = own_places(w, owner, g->n_places);
	if (st)
		return st;
	place_rest(&r);
	st = verify(w, g, owner);
	if (st)
		return st;
	for (size_t v = 0; v < n; v++)
		memcpy(g->coord + v * n_dims, coord_of(w, (uint32_t)v), n_dims * sizeof(*g->coord));
	fill_near(w, g);
	return list_channels(w, g, result);
}

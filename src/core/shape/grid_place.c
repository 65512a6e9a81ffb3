/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * From coordinates, perhaps not of all switches, to a grid:
 *	osr__grid_finish()	all of the following
 *	place_rest()		switches that no row reached, by their neighbours
 *	grid_place_verify()		nothing was assumed so far that is not checked here
 *	list_channels()		channels by direction
 */
#include "grid_private.h"

#include <string.h>

/* ---- switches that no row reached ------------------------------------------------------------ */

static uint32_t place_of(const struct osr_grid_shape *grid_shape, const uint16_t *x)
{
	uint32_t place = 0;

	for (uint32_t i = 0; i < grid_shape->n_dims; i++)
		place = place * grid_shape->size[i] + x[i];
	return place;
}

/* One step from x; false at the end of a line. */
static bool grid_place_step(const struct osr_grid_shape *grid_shape, uint16_t *x, uint32_t dir)
{
	uint32_t i = dir / 2, n = grid_shape->size[i];

	if (!grid_shape->ring[i] && x[i] == (dir % 2 ? 0 : n - 1))
		return false;
	x[i] = (uint16_t)((x[i] + (dir % 2 ? n - 1 : 1)) % n);
	return true;
}

/* Which step leads from x to y; NO_DIR if none does. */
static uint32_t step_between(const struct osr_grid_shape *grid_shape, const uint16_t *x,
			     const uint16_t *y)
{
	uint32_t dir = NO_DIR;

	for (uint32_t i = 0; i < grid_shape->n_dims; i++) {
		uint32_t n = grid_shape->size[i], gap = (y[i] + n - x[i]) % n;

		if (!gap)
			continue;
		if (dir != NO_DIR)
			return NO_DIR;
		if (gap == 1 && (grid_shape->ring[i] || x[i] + 1u < n))
			dir = 2 * i;
		else if (gap == n - 1 && (grid_shape->ring[i] || x[i]))
			dir = 2 * i + 1;
		else
			return NO_DIR;
	}
	return dir;
}

static bool grid_place_fits(const struct grid_work *grid, uint32_t v, const uint16_t *x,
			    const uint32_t *owner)
{
	if (owner[place_of(&grid->shape, x)] != OSR_NONE)
		return false;
	for (uint32_t e = grid->row[v]; e < grid->row[v + 1]; e++)
		if (has_place(grid, grid->adj[e]) &&
		    step_between(&grid->shape, x, coord_of(grid, grid->adj[e])) == NO_DIR)
			return false;
	return true;
}

/* Free places next to all neighbours of v that have one, into dirs[]: steps from *near, one of them. */
static uint32_t candidates(const struct grid_work *grid, uint32_t v, const uint32_t *owner,
			   uint32_t *near, uint8_t *dirs)
{
	uint32_t n = 0, e = grid->row[v];

	while (e < grid->row[v + 1] && !has_place(grid, grid->adj[e]))
		e++;
	*near = e < grid->row[v + 1] ? grid->adj[e] : OSR_NONE;
	for (uint32_t dir = 0; dir < 2 * grid->shape.n_dims && *near != OSR_NONE; dir++) {
		uint16_t x[MAX_DIMS];

		memcpy(x, coord_of(grid, *near), sizeof(x));
		if (grid_place_step(&grid->shape, x, dir) && grid_place_fits(grid, v, x, owner))
			dirs[n++] = (uint8_t)dir;
	}
	return n;
}

#define MAX_GUESSES 256

struct rest {
	struct grid_work *w;
	uint32_t *owner;
	uint32_t *trail; /* switches that have been placed */
	uint32_t n_trail, n_guesses;
};

static void grid_place_place(struct rest *r, uint32_t v, uint32_t near, uint32_t dir)
{
	uint16_t *x = coord_of(r->w, v);

	memcpy(x, coord_of(r->w, near), MAX_DIMS * sizeof(*x));
	grid_place_step(&r->w->shape, x, dir);
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

/* The switch with the fewest candidates: often there is only one. OSR_NONE: none is left in reach. */
static uint32_t grid_place_choose(const struct rest *r, uint32_t *near, uint8_t *dirs,
				  uint32_t *n_dirs)
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

	while ((v = grid_place_choose(r, &near, dirs, &n)) != OSR_NONE && n == 1)
		grid_place_place(r, v, near, dirs[0]);
	if (v == OSR_NONE)
		return true;
	for (uint32_t k = 0; k < n && r->n_guesses < MAX_GUESSES; k++) {
		uint32_t here = r->n_trail;

		r->n_guesses++;
		grid_place_place(r, v, near, dirs[k]);
		if (place_rest(r))
			return true;
		take_back(r, here);
	}
	take_back(r, mark);
	return false;
}

/* ---- what is checked ------------------------------------------------------------------------- */

/* Switches by place; two at one place are a contradiction. */
static enum osr_status own_places(struct grid_work *grid, uint32_t *owner, uint32_t n_places)
{
	char a[32], b[32];

	memset(owner, 0xff, n_places * sizeof(*owner));
	for (uint32_t v = 0; v < grid->f->n_switches; v++) {
		uint32_t *o;

		if (!has_place(grid, v))
			continue;
		o = &owner[place_of(&grid->shape, coord_of(grid, v))];
		if (*o != OSR_NONE)
			return osr_fail(grid->diag, OSR_NOT_APPLICABLE,
					"not a torus or mesh: switches %s and %s would have the "
					"same coordinates",
					osr_switch_name(grid->f, *o, a),
					osr_switch_name(grid->f, v, b));
		*o = v;
	}
	return OSR_OK;
}

static enum osr_status grid_place_verify(const struct grid_work *w, struct osr_grid *grid,
					 const uint32_t *owner)
{
	const struct osr_fabric *fabric = w->f;
	uint32_t main = fabric->sw_component[first_placed(w)], n_links = 0;
	char a[32], b[32];

	for (uint32_t v = 0; v < fabric->n_switches; v++) {
		if (!has_place(w, v)) {
			if (fabric->sw_component[v] == main)
				return osr_fail(w->diag, OSR_NOT_APPLICABLE,
						"not a torus or mesh: switch %s fits nowhere",
						osr_switch_name(fabric, v, a));
			continue;
		}
		grid->n_placed++;
		for (uint32_t e = w->row[v]; e < w->row[v + 1]; e++)
			if (step_between(&w->shape, coord_of(w, v), coord_of(w, w->adj[e])) ==
			    NO_DIR)
				return osr_fail(w->diag, OSR_NOT_APPLICABLE,
						"not a torus or mesh: the cable between switches "
						"%s and %s changes more than one coordinate",
						osr_switch_name(fabric, v, a),
						osr_switch_name(fabric, w->adj[e], b));
		for (uint32_t dir = 0; dir < 2 * w->shape.n_dims; dir += 2) {
			uint16_t x[MAX_DIMS];
			uint32_t u;

			memcpy(x, coord_of(w, v), sizeof(x));
			if (!grid_place_step(&w->shape, x, dir))
				continue;
			u = owner[place_of(&w->shape, x)];
			if (u == OSR_NONE)
				continue;
			n_links++;
			grid->n_dead_links += osr__grid_edge(w, v, u) == OSR_NONE;
		}
	}
	grid->n_dead_switches = grid->n_places - grid->n_placed;
	if (4ull * grid->n_dead_switches > grid->n_places || 4ull * grid->n_dead_links > n_links)
		return osr__grid_no(w, "too much of it is missing, if it is one");
	return OSR_OK;
}

/* Channels by direction. */
static enum osr_status list_channels(const struct grid_work *w, struct osr_grid *grid,
				     struct osr_arena *result)
{
	const struct osr_fabric *fabric = w->f;
	size_t n_dirs = 2 * (size_t)grid->shape.n_dims, n = fabric->n_switches * n_dirs;

	grid->chan = osr_alloc(result, n, sizeof(*grid->chan));
	grid->chan_dir = osr_alloc(result, fabric->n_channels, 1);
	if (osr_arena_failed(result, w->diag))
		return OSR_NOMEM;
	memset(grid->chan, 0xff, n * sizeof(*grid->chan));
	for (uint32_t c = 0; c < fabric->n_channels; c++) {
		uint32_t v = fabric->chan_src[c], u = fabric->chan_dst[c], dir = NO_DIR;

		if (has_place(w, v))
			dir = step_between(&w->shape, coord_of(w, v), coord_of(w, u));
		grid->chan_dir[c] = (uint8_t)dir;
		if (dir != NO_DIR && grid->chan[v * n_dirs + dir] == OSR_NONE)
			grid->chan[v * n_dirs + dir] = c;
	}
	return OSR_OK;
}

/* From coordinates, perhaps not of all switches, to a grid. */
enum osr_status osr__grid_finish(struct grid_work *w, struct osr_arena *scratch,
				 struct osr_arena *result, struct osr_grid *grid)
{
	size_t n = w->f->n_switches, n_dims = w->shape.n_dims;
	struct rest r = { .w = w };
	uint64_t n_places = 1;
	enum osr_status st;
	uint32_t *owner;

	*grid = (struct osr_grid){ .f = w->f, .shape = w->shape };
	for (uint32_t i = 0; i < n_dims; i++) {
		n_places *= w->shape.size[i];
		if (n_places / 4 * 3 > n)
			return osr__grid_no(w, "too much of it is missing, if it is one");
	}
	grid->n_places = (uint32_t)n_places;
	r.owner = owner = osr_alloc(scratch, grid->n_places, sizeof(*owner));
	r.trail = osr_alloc(scratch, n, sizeof(*r.trail));
	grid->coord = osr_alloc(result, n * n_dims, sizeof(*grid->coord));
	if (osr_arena_failed(scratch, w->diag) || osr_arena_failed(result, w->diag))
		return OSR_NOMEM;
	st = own_places(w, owner, grid->n_places);
	if (st)
		return st;
	place_rest(&r);
	st = grid_place_verify(w, grid, owner);
	if (st)
		return st;
	for (size_t v = 0; v < n; v++)
		memcpy(grid->coord + v * n_dims, coord_of(w, (uint32_t)v),
		       n_dims * sizeof(*grid->coord));
	return list_channels(w, grid, result);
}

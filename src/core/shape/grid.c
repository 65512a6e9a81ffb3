/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * See grid.h. From the outside in:
 *	osr_grid_find()		edges, seeds, and for each seed that bears labels:
 *	grid_fold()			labels become coordinates; a ring of 4 becomes two lines of 2
 *	osr__grid_take_frame()		the given frame, if it fits; else
 *	osr__grid_choose_frame()		the one that follows from the lowest GUIDs
 *	place_rest()		switches that no row reached, by their neighbours
 *	verify()		nothing was assumed so far that is not checked here
 *	list_channels()		channels by direction
 */
#include "grid_private.h"
#include "neighbours.h"

#include <stdio.h>
#include <string.h>

#define MAX_SEEDS 12
#define MORE_SEEDS 96 /* where so many bear no grid */

/* ---- edges ----------------------------------------------------------------------------------- */

static enum osr_status find_edges(struct grid_work *grid, struct osr_arena *scratch)
{
	const struct osr_fabric *fabric = grid->f;
	uint32_t *mark = osr_alloc(scratch, fabric->n_switches, sizeof(*mark));

	grid->row = osr_alloc(scratch, (size_t)fabric->n_switches + 1, sizeof(*grid->row));
	grid->adj = osr_alloc(scratch, fabric->n_channels, sizeof(*grid->adj));
	grid->edge_dir = osr_alloc(scratch, fabric->n_channels, 1);
	if (osr_arena_failed(scratch, grid->diag))
		return OSR_NOMEM;
	osr__neighbours(fabric, grid->row, grid->adj, NULL, mark);
	for (uint32_t v = 0; v < fabric->n_switches; v++)
		if (grid->row[v + 1] - grid->row[v] > MAX_DIRS)
			return osr__grid_no(grid, "a switch has cables to more than 24 others");
	if (!grid->row[fabric->n_switches])
		return osr__grid_no(grid, "there is no cable between switches");
	return OSR_OK;
}

static enum osr_status grid_allocate(struct grid_work *grid, struct osr_arena *scratch)
{
	size_t n = grid->f->n_switches;

	grid->label = osr_alloc(scratch, n * MAX_DIMS, sizeof(*grid->label));
	grid->coord = osr_alloc(scratch, n * MAX_DIMS, sizeof(*grid->coord));
	grid->near = osr_alloc(scratch, n * MAX_DIRS, sizeof(*grid->near));
	grid->placed = osr_alloc(scratch, n, sizeof(*grid->placed));
	grid->n_open = osr_alloc(scratch, n, 1);
	grid->square = osr_alloc(scratch, n, sizeof(*grid->square));
	grid->straight = osr_alloc(scratch, n, sizeof(*grid->straight));
	grid->in_square = osr_alloc(scratch, n, sizeof(*grid->in_square));
	grid->in_straight = osr_alloc(scratch, n, sizeof(*grid->in_straight));
	grid->have = osr_alloc(scratch, MAX_DIRS * (2 * n + 1), sizeof(*grid->have));
	grid->lack = osr_alloc(scratch, MAX_DIRS * (2 * n + 1), sizeof(*grid->lack));
	if (osr_arena_failed(scratch, grid->diag))
		return OSR_NOMEM;
	return OSR_OK;
}

static uint32_t main_component(const struct osr_fabric *fabric)
{
	uint32_t best = 0, best_n = 0;

	for (uint32_t k = 0; k < fabric->n_components; k++) {
		uint32_t n = 0;

		for (uint32_t v = 0; v < fabric->n_switches; v++)
			n += fabric->sw_component[v] == k;
		if (n > best_n) {
			best = k;
			best_n = n;
		}
	}
	return best;
}

/* ---- coordinates ----------------------------------------------------------------------------- */

/* A ring of 4 is two lines of 2: 0 1 2 3 become 00 10 11 01. */
static bool grid_split_fours(struct grid_work *grid)
{
	struct osr_grid_shape *grid_shape = &grid->shape;

	for (uint32_t i = 0; i < grid_shape->n_dims; i++) {
		if (!grid_shape->ring[i] || grid_shape->size[i] != 4)
			continue;
		if (grid_shape->n_dims == MAX_DIMS)
			return false;
		grid_shape->ring[i] = grid_shape->ring[grid_shape->n_dims] = false;
		grid_shape->size[i] = grid_shape->size[grid_shape->n_dims] = 2;
		for (uint32_t v = 0; v < grid->f->n_switches; v++) {
			uint16_t *x = coord_of(grid, v);

			if (x[0] == OSR_NO_PLACE)
				continue;
			x[grid_shape->n_dims] = x[i] / 2;
			x[i] = x[i] == 1 || x[i] == 2;
		}
		grid_shape->n_dims++;
	}
	return true;
}

/* Labels modulo the rings, or counted from the lowest. False if a size is out of bounds. */
static bool grid_fold(struct grid_work *grid)
{
	int32_t lo[MAX_DIMS] = { 0 }, hi[MAX_DIMS] = { 0 };

	for (uint32_t v = 0; v < grid->f->n_switches; v++)
		for (uint32_t i = 0; i < grid->n_dims && grid->placed[v]; i++) {
			int32_t x = grid->label[(size_t)v * MAX_DIMS + i];

			lo[i] = x < lo[i] ? x : lo[i];
			hi[i] = x > hi[i] ? x : hi[i];
		}
	grid->shape = (struct osr_grid_shape){ .n_dims = grid->n_dims };
	for (uint32_t i = 0; i < grid->n_dims; i++) {
		uint32_t size = grid->period[i] ? grid->period[i] : (uint32_t)(hi[i] - lo[i] + 1);

		if (size < (grid->period[i] ? 3 : 2) || size > grid->f->n_switches + 1)
			return false;
		grid->shape.ring[i] = grid->period[i] != 0;
		grid->shape.size[i] = (uint16_t)size;
	}
	for (uint32_t v = 0; v < grid->f->n_switches; v++)
		for (uint32_t i = 0; i < grid->n_dims; i++) {
			int32_t n = grid->shape.size[i];
			int32_t x = grid->label[(size_t)v * MAX_DIMS + i] - lo[i];

			coord_of(grid, v)[i] = grid->placed[v] ? (uint16_t)(x % n) : OSR_NO_PLACE;
		}
	return grid_split_fours(grid);
}

static enum osr_status grid_settle(struct grid_work *w, const struct osr_grid_frame *frame,
				   struct osr_arena *scratch, struct osr_arena *result,
				   struct osr_grid *grid)
{
	bool taken = false;
	enum osr_status st;

	if (!grid_fold(w))
		return osr__grid_no(w, "its rows close differently");
	if (frame) {
		st = osr__grid_take_frame(w, frame, scratch, &taken);
		if (st)
			return st;
	}
	if (!taken)
		osr__grid_choose_frame(w);
	return osr__grid_finish(w, scratch, result, grid);
}

/* Seeds from all over the fabric: what is missing is in few places. */
static enum osr_status try_seeds(struct grid_work *w, uint32_t degree, uint32_t *n_left,
				 const struct osr_grid_frame *frame, struct osr_arena *scratch,
				 struct osr_arena *result, struct osr_grid *grid)
{
	uint32_t n = w->f->n_switches, main = main_component(w->f), stride = n / MAX_SEEDS + 1;
	struct osr_grid trial;

	for (uint32_t k = 0; k < stride; k++)
		for (uint32_t v = k; v < n && *n_left; v += stride) {
			enum osr_status st = OSR_NOT_APPLICABLE;

			if (w->f->sw_component[v] != main || w->row[v + 1] - w->row[v] != degree)
				continue;
			w->planted = true;
			for (enum grid_courage c = GRID_PLAIN;
			     c <= GRID_EXCLUDING && st == OSR_NOT_APPLICABLE && w->planted; c++)
				st = osr__grid_grow(w, v, c)
					     ? grid_settle(w, frame, scratch, result, &trial)
					     : osr__grid_no(w, "its squares do not fit together");
			/* Fewer places, then fewer cables that would have to be missing. */
			if (!st && (!grid->f || trial.n_places < grid->n_places ||
				    (trial.n_places == grid->n_places &&
				     trial.n_dead_links < grid->n_dead_links)))
				*grid = trial;
			*n_left -= w->planted;
			if (st && st != OSR_NOT_APPLICABLE)
				return st;
			if (grid->f && !grid->n_dead_switches && !grid->n_dead_links)
				return OSR_OK;
		}
	return grid->f ? OSR_OK : OSR_NOT_APPLICABLE;
}

enum osr_status osr_grid_find(const struct osr_fabric *fabric, const struct osr_grid_frame *frame,
			      struct osr_arena *scratch, struct osr_arena *result,
			      struct osr_grid *grid, struct osr_diag *diag)
{
	static const uint32_t rounds[] = { MAX_SEEDS, MORE_SEEDS };
	struct grid_work w = { .f = fabric, .diag = diag };
	uint32_t most = 0;
	enum osr_status st = find_edges(&w, scratch);

	if (!st)
		st = grid_allocate(&w, scratch);
	if (st)
		return st;
	*grid = (struct osr_grid){ 0 };
	st = osr__grid_no(&w, "its squares do not fit together");
	/* Switches of many cables first, since they know all dimensions. */
	for (uint32_t v = 0; v < fabric->n_switches; v++)
		if (w.row[v + 1] - w.row[v] > most)
			most = w.row[v + 1] - w.row[v];
	for (uint32_t k = 0; k < 2 && st == OSR_NOT_APPLICABLE; k++) {
		uint32_t n_left = rounds[k];

		for (uint32_t degree = most; degree && n_left && st == OSR_NOT_APPLICABLE; degree--)
			st = try_seeds(&w, degree, &n_left, frame, scratch, result, grid);
	}
	if (!st && diag)
		diag->text[0] = 0;
	return st;
}

/* ---- grids as described ---------------------------------------------------------------------- */

/* Coordinates as listed; those of other switches follow from their neighbours. */
static enum osr_status take_list(struct grid_work *grid, const struct osr_grid_frame *frame,
				 struct osr_arena *scratch)
{
	uint32_t n_dims = frame->shape.n_dims, n = 0;
	uint32_t *known = osr_alloc(scratch, grid->f->n_switches, sizeof(*known));

	if (osr_arena_failed(scratch, grid->diag))
		return OSR_NOMEM;
	osr__grid_look_up(grid->f, frame, known);
	for (uint32_t v = 0; v < grid->f->n_switches; v++) {
		uint16_t *x = coord_of(grid, v);

		x[0] = OSR_NO_PLACE;
		if (known[v] == OSR_NONE)
			continue;
		n++;
		for (uint32_t i = 0; i < n_dims; i++)
			x[i] = frame->coord[(size_t)known[v] * n_dims + i];
	}
	if (!n)
		return osr_fail(grid->diag, OSR_NOT_APPLICABLE,
				"the hints give coordinates of %u switches, but of none that is "
				"here",
				frame->n);
	grid->shape = frame->shape;
	return grid_split_fours(grid) ? OSR_OK
				      : osr__grid_no(grid, "it would have more than 12 dimensions");
}

static enum osr_status take_ports(struct grid_work *grid, const uint8_t *port_dir,
				  struct osr_arena *scratch)
{
	const struct osr_fabric *fabric = grid->f;

	grid->port_dir = osr_alloc(scratch, grid->row[fabric->n_switches], 1);
	if (osr_arena_failed(scratch, grid->diag))
		return OSR_NOMEM;
	memset(grid->port_dir, NO_DIR, grid->row[fabric->n_switches]);
	for (uint32_t c = 0; c < fabric->n_channels; c++) {
		uint32_t v = fabric->chan_src[c], u = fabric->chan_dst[c],
			 dir = port_dir[fabric->chan_port[c]];
		uint32_t e = osr__grid_edge(grid, v, u), back = osr__grid_edge(grid, u, v);
		char buf[32];

		if (dir == NO_DIR)
			continue;
		if ((grid->port_dir[e] != NO_DIR && grid->port_dir[e] != dir) ||
		    (grid->port_dir[back] != NO_DIR && grid->port_dir[back] != (dir ^ 1)))
			return osr_fail(grid->diag, OSR_NOT_APPLICABLE,
					"the hints contradict the cable at switch %s port %u: its "
					"ends or those beside it lead in other directions",
					osr_switch_name(fabric, v, buf), fabric->chan_port[c]);
		grid->port_dir[e] = (uint8_t)dir;
		grid->port_dir[back] = (uint8_t)(dir ^ 1);
	}
	return OSR_OK;
}

/* Labels along the ports, folded into the given shape. */
static enum osr_status walk_ports(struct grid_work *grid, const struct osr_grid_shape *shape)
{
	uint32_t seed = 0, main = main_component(grid->f);
	struct osr_grid_shape folded = *shape;

	while (grid->f->sw_component[seed] != main)
		seed++;
	grid->n_dims = shape->n_dims;
	if (!osr__grid_walk(grid, seed))
		return osr_fail(grid->diag, OSR_NOT_APPLICABLE,
				"the hints contradict the cables: two paths along the ports lead "
				"to different coordinates");
	for (uint32_t i = 0; i < shape->n_dims; i++) {
		if (grid->period[i] && (!shape->ring[i] || grid->period[i] != shape->size[i]))
			return osr_fail(grid->diag, OSR_NOT_APPLICABLE,
					"the hints say that dimension %u is a %s of %u, but along "
					"its ports it is a ring of %u",
					i + 1, shape->ring[i] ? "ring" : "line", shape->size[i],
					grid->period[i]);
		/* A line is as long as said even if its ends are missing: count from the lowest. */
		if (shape->ring[i])
			grid->period[i] = shape->size[i];
	}
	if (!grid_fold(grid))
		return osr__grid_no(grid, "its rows close differently");
	/* grid_fold() has split rings of 4; the described shape has to follow. */
	for (uint32_t i = 0; i < shape->n_dims; i++)
		if (!shape->ring[i] && grid->shape.size[i] < shape->size[i])
			grid->shape.size[i] = folded.size[i];
	return OSR_OK;
}

enum osr_status osr_grid_place(const struct osr_fabric *fabric, const struct osr_grid_frame *frame,
			       const uint8_t *port_dir, struct osr_arena *scratch,
			       struct osr_arena *result, struct osr_grid *grid,
			       struct osr_diag *diag)
{
	struct grid_work w = { .f = fabric, .diag = diag };
	enum osr_status st = find_edges(&w, scratch);

	if (!st)
		st = grid_allocate(&w, scratch);
	if (!st && frame->n)
		st = take_list(&w, frame, scratch);
	else if (!st)
		st = take_ports(&w, port_dir, scratch);
	if (!st && !frame->n)
		st = walk_ports(&w, &frame->shape);
	if (!st && !frame->n)
		osr__grid_choose_frame(&w);
	return st ? st : osr__grid_finish(&w, scratch, result, grid);
}

const char *osr_grid_name(const struct osr_grid_shape *grid_shape, char buf[64])
{
	uint32_t n_rings = 0, at = 0;

	for (uint32_t i = 0; i < grid_shape->n_dims; i++)
		n_rings += grid_shape->ring[i];
	at = (uint32_t)snprintf(buf, 64, "%s ", n_rings ? "torus" : "mesh");
	for (uint32_t i = 0; i < grid_shape->n_dims && at < 56; i++)
		at += (uint32_t)snprintf(
			buf + at, 64 - at, "%s%u%s", i ? "x" : "", grid_shape->size[i],
			n_rings && !grid_shape->ring[i] && grid_shape->size[i] > 2 ? "m" : "");
	return buf;
}

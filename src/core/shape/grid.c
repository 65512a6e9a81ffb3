/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * See grid.h. From the outside in:
 *	osr_grid_find()		edges, seeds, and for each seed that bears labels:
 *	grid_fold()			labels become coordinates; a ring of 4 becomes two lines of 2
 *	grid_choose_frame()		as follows from the lowest GUIDs
 *	place_rest()		switches that no row reached, by their neighbours
 *	verify()		nothing was assumed so far that is not checked here
 *	list_channels()		channels by direction
 */
#include "grid_private.h"
#include "neighbours.h"

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

/* ---- the frame ------------------------------------------------------------------------------- */

/* How dimension `to` of a new frame is read off dimension `from` of the old one. */
struct axis {
	uint32_t from;
	bool flip;
	uint32_t shift;
};

static void grid_frame_turn(struct grid_work *grid, const struct osr_grid_shape *shape,
			    const struct axis *axis)
{
	uint16_t x[MAX_DIMS];

	for (uint32_t v = 0; v < grid->f->n_switches; v++) {
		uint16_t *at = coord_of(grid, v);

		if (at[0] == OSR_NO_PLACE)
			continue;
		memcpy(x, at, sizeof(x));
		for (uint32_t i = 0; i < shape->n_dims; i++) {
			uint32_t n = shape->size[i], c = x[axis[i].from] % n;

			c = axis[i].flip ? n - c : c;
			at[i] = (uint16_t)((c + axis[i].shift) % n);
		}
	}
	grid->shape = *shape;
}

/*
 * The switch of the lowest GUID is the origin of rings, and lies in the lower half of lines; the
 * lowest one that can tell decides which way a ring rises.
 */
static struct axis choose_axis(const struct grid_work *grid, uint32_t i)
{
	uint32_t n = grid->shape.size[i], origin = coord_of(grid, first_placed(grid))[i];
	bool ring = grid->shape.ring[i];

	for (uint32_t v = 0; v < grid->f->n_switches; v++) {
		uint32_t x;

		if (!has_place(grid, v))
			continue;
		x = coord_of(grid, v)[i];
		x = ring ? 2 * ((x + n - origin) % n) : 2 * x + 1;
		if ((ring && x == 0) || x == n)
			continue;
		if (x < n)
			break;
		return (struct axis){ i, true, ring ? origin : n - 1 };
	}
	return (struct axis){ i, false, ring ? n - origin : 0 };
}

/* Rings first, then longer ones, then that in which the first switch to differ is further on. */
static bool comes_before(const struct grid_work *grid, uint32_t i, uint32_t j)
{
	const struct osr_grid_shape *grid_shape = &grid->shape;

	if (grid_shape->ring[i] != grid_shape->ring[j])
		return grid_shape->ring[i];
	if (grid_shape->size[i] != grid_shape->size[j])
		return grid_shape->size[i] > grid_shape->size[j];
	for (uint32_t v = 0; v < grid->f->n_switches; v++)
		if (has_place(grid, v) && coord_of(grid, v)[i] != coord_of(grid, v)[j])
			return coord_of(grid, v)[i] < coord_of(grid, v)[j];
	return i < j;
}

static void grid_choose_frame(struct grid_work *grid)
{
	struct osr_grid_shape grid_shape = grid->shape, sorted = { .n_dims = grid_shape.n_dims };
	struct axis axis[MAX_DIMS] = { { 0 } }, by_rank[MAX_DIMS] = { { 0 } };

	for (uint32_t i = 0; i < grid_shape.n_dims; i++)
		axis[i] = choose_axis(grid, i);
	grid_frame_turn(grid, &grid_shape, axis);
	for (uint32_t i = 0; i < grid_shape.n_dims; i++) {
		uint32_t rank = 0;

		for (uint32_t j = 0; j < grid_shape.n_dims; j++)
			rank += i != j && comes_before(grid, j, i);
		by_rank[rank] = (struct axis){ .from = i };
		sorted.size[rank] = grid_shape.size[i];
		sorted.ring[rank] = grid_shape.ring[i];
	}
	grid_frame_turn(grid, &sorted, by_rank);
}

static enum osr_status grid_settle(struct grid_work *w, struct osr_arena *scratch,
				   struct osr_arena *result, struct osr_grid *grid)
{
	if (!grid_fold(w))
		return osr__grid_no(w, "its rows close differently");
	grid_choose_frame(w);
	return osr__grid_finish(w, scratch, result, grid);
}

/* Seeds from all over the fabric: what is missing is in few places. */
static enum osr_status try_seeds(struct grid_work *w, uint32_t degree, uint32_t *n_left,
				 struct osr_arena *scratch, struct osr_arena *result,
				 struct osr_grid *grid)
{
	uint32_t n = w->f->n_switches, main = main_component(w->f), stride = n / MAX_SEEDS + 1;
	struct osr_grid trial;

	for (uint32_t k = 0; k < stride; k++)
		for (uint32_t v = k; v < n && *n_left; v += stride) {
			enum osr_status st = OSR_NOT_APPLICABLE;

			if (w->f->sw_component[v] != main || w->row[v + 1] - w->row[v] != degree)
				continue;
			w->planted = true;
			for (unsigned bold = 0; bold < 2 && st == OSR_NOT_APPLICABLE && w->planted;
			     bold++)
				st = osr__grid_grow(w, v, bold)
					     ? grid_settle(w, scratch, result, &trial)
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

enum osr_status osr_grid_find(const struct osr_fabric *fabric, struct osr_arena *scratch,
			      struct osr_arena *result, struct osr_grid *grid,
			      struct osr_diag *diag)
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
			st = try_seeds(&w, degree, &n_left, scratch, result, grid);
	}
	if (!st && diag)
		diag->text[0] = 0;
	return st;
}

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The frame: which switch is the origin, which way coordinates rise, which dimension comes first. */
#include "grid_private.h"

#include <string.h>

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

void osr__grid_choose_frame(struct grid_work *grid)
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

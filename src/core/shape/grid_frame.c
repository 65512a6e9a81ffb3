/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Coordinates as somebody else has them:
 *	osr__grid_take_frame()		as the given frame, if it fits; else
 *	osr__grid_choose_frame()	as follows from the lowest GUIDs
 */
#include "grid_private.h"

#include <osmroutes/routing.h>

#include <assert.h>
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

/* The shift that most switches known to the frame agree on, and how many do. */
static uint32_t vote(const struct grid_work *grid, const struct osr_grid_frame *frame,
		     const uint32_t *known, uint32_t to, struct axis *axis, uint32_t *count)
{
	uint32_t n = frame->shape.size[to], dims = frame->shape.n_dims, best = 0;

	memset(count, 0, n * sizeof(*count));
	for (uint32_t v = 0; v < grid->f->n_switches; v++) {
		uint32_t c;

		if (known[v] == OSR_NONE || !has_place(grid, v))
			continue;
		c = coord_of(grid, v)[axis->from] % n;
		c = axis->flip ? n - c : c;
		count[(frame->coord[(size_t)known[v] * dims + to] + n - c % n) % n]++;
	}
	for (uint32_t k = 1; k < n; k++)
		if (count[k] > count[best])
			best = k;
	axis->shift = best;
	return count[best];
}

static bool may_be(const struct osr_grid_shape *found, uint32_t from,
		   const struct osr_grid_shape *want, uint32_t to)
{
	if (found->ring[from])
		return want->ring[to] && found->size[from] == want->size[to];
	/* A line may be what is left of a longer one, or of a ring. */
	return found->size[from] <= want->size[to];
}

/* Rows of `guid` (ascending) by switch. */
void osr__grid_look_up(const struct osr_fabric *fabric, const struct osr_grid_frame *frame,
		       uint32_t *known)
{
	uint32_t k = 0;

	for (uint32_t v = 0; v < fabric->n_switches; v++) {
		while (k < frame->n && frame->guid[k] < fabric->sw_guid[v])
			k++;
		known[v] = k < frame->n && frame->guid[k] == fabric->sw_guid[v] &&
					   frame->coord[(size_t)k * frame->shape.n_dims] !=
						   OSR_NO_PLACE
				   ? k
				   : OSR_NONE;
	}
}

/* True if every switch that the frame knows is where it was, but for one in eight. */
enum osr_status osr__grid_take_frame(struct grid_work *grid, const struct osr_grid_frame *frame,
				     struct osr_arena *scratch, bool *taken)
{
	uint32_t n = grid->f->n_switches, n_known = 0, used = 0;
	uint32_t *known = osr_alloc(scratch, n, sizeof(*known));
	uint32_t *count = osr_alloc(scratch, UINT16_MAX + 1, sizeof(*count));
	struct axis axis[MAX_DIMS] = { { 0 } };

	*taken = false;
	if (osr_arena_failed(scratch, grid->diag))
		return OSR_NOMEM;
	osr__grid_look_up(grid->f, frame, known);
	for (uint32_t v = 0; v < n; v++)
		n_known += known[v] != OSR_NONE && has_place(grid, v);
	if (!n_known || frame->shape.n_dims != grid->shape.n_dims)
		return OSR_OK;
	for (uint32_t to = 0; to < frame->shape.n_dims; to++) {
		uint32_t best = 0;

		for (uint32_t k = 0; k < 2 * grid->shape.n_dims; k++) {
			struct axis a = { .from = k / 2, .flip = k % 2 };
			uint32_t votes;

			if (used >> a.from & 1 || !may_be(&grid->shape, a.from, &frame->shape, to))
				continue;
			votes = vote(grid, frame, known, to, &a, count);
			if (votes > best) {
				best = votes;
				axis[to] = a;
			}
		}
		if (best * 8 < n_known * 7 || !best)
			return OSR_OK;
		used |= 1u << axis[to].from;
	}
	grid_frame_turn(grid, &frame->shape, axis);
	*taken = true;
	return OSR_OK;
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

/* ---- as bytes -------------------------------------------------------------------------------- */

/* Then the GUIDs, then the coordinates. */
struct frame_head {
	struct osr_grid_shape shape;
	uint32_t n, zero;
};

static_assert(sizeof(struct osr_grid_shape) == 4 + 3 * MAX_DIMS && sizeof(struct frame_head) == 48,
	      "no holes");

enum osr_status osr_grid_remember(const struct osr_grid *grid, struct osr_arena *arena,
				  struct osr_notes *notes, struct osr_diag *diag)
{
	size_t n = grid->f->n_switches, guids = n * sizeof(*grid->f->sw_guid),
	       coords = n * grid->shape.n_dims * sizeof(*grid->coord);
	struct frame_head *head = osr_alloc(arena, sizeof(*head) + guids + coords, 1);

	if (osr_arena_failed(arena, diag))
		return OSR_NOMEM;
	*head = (struct frame_head){ .n = (uint32_t)n };
	head->shape.n_dims = grid->shape.n_dims;
	memcpy(head->shape.size, grid->shape.size, grid->shape.n_dims * sizeof(uint16_t));
	memcpy(head->shape.ring, grid->shape.ring, grid->shape.n_dims * sizeof(bool));
	memcpy(head + 1, grid->f->sw_guid, guids);
	memcpy((char *)(head + 1) + guids, grid->coord, coords);
	*notes = (struct osr_notes){ head, sizeof(*head) + guids + coords };
	return OSR_OK;
}

static bool frame_shape_is_valid(const struct frame_head *head)
{
	const uint8_t *ring = (const uint8_t *)head + offsetof(struct frame_head, shape.ring);

	if (head->shape.n_dims < 1 || head->shape.n_dims > MAX_DIMS)
		return false;
	for (uint32_t i = 0; i < MAX_DIMS; i++)
		if (ring[i] > 1 ||
		    (i < head->shape.n_dims && head->shape.size[i] < (head->shape.ring[i] ? 3 : 2)))
			return false;
	return true;
}

bool osr_grid_frame_read(const struct osr_notes *notes, struct osr_grid_frame *frame)
{
	const struct frame_head *head = notes->data;
	uint32_t n_dims;

	if (notes->size < sizeof(*head) || !head->n || !frame_shape_is_valid(head))
		return false;
	n_dims = head->shape.n_dims;
	if (notes->size != sizeof(*head) + head->n * (sizeof(*frame->guid) +
						      (uint64_t)n_dims * sizeof(*frame->coord)))
		return false;
	*frame = (struct osr_grid_frame){ .shape = head->shape, .n = head->n };
	frame->guid = (const uint64_t *)(head + 1);
	frame->coord = (const uint16_t *)(frame->guid + frame->n);
	for (uint32_t k = 0; k < frame->n; k++) {
		const uint16_t *x = frame->coord + (size_t)k * n_dims;

		if (k && frame->guid[k - 1] >= frame->guid[k])
			return false;
		for (uint32_t i = 0; i < n_dims && x[0] != OSR_NO_PLACE; i++)
			if (x[i] >= frame->shape.size[i])
				return false;
	}
	return true;
}

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Where a picture has the switches. Fat trees: a row for each level, sub-trees side by side. Tori, meshes and
 * HyperX: a grid of the first two dimensions, one beside the other for the others. Groups all to all within, as of
 * a dragonfly: a circle of circles. Anything else: one circle, or a row for each level.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <osmroutes/grid.h>
#include <osmroutes/pgft.h>
#include <osmroutes/product.h>
#include <osmroutes/set.h>

#include "cli/report.h"

#define ROW 120.0 /* between levels */
#define MARGIN 30.0

struct seat {
	uint32_t level, tree, a, b, v;
};

static int compare_seats(const void *x, const void *y)
{
	const struct seat *p = x, *q = y;

	if (p->level != q->level)
		return p->level < q->level ? -1 : 1;
	if (p->tree != q->tree)
		return p->tree < q->tree ? -1 : 1;
	if (p->a != q->a)
		return p->a < q->a ? -1 : 1;
	if (p->b != q->b)
		return p->b < q->b ? -1 : 1;
	return (p->v > q->v) - (p->v < q->v);
}

/* Rows, from the hosts at the bottom upwards; within one, sub-trees are neighbours. */
static bool place_rows(const struct report *p, struct osr_arena *arena, struct report_picture *pic)
{
	const struct osr_fabric *fabric = p->f;
	struct seat *seat = osr_alloc(arena, fabric->n_switches, sizeof(*seat));
	uint32_t n_of[256] = { 0 }, seen[256] = { 0 };
	struct osr_diag diag;
	struct osr_pgft tree;
	bool known;

	if (!seat)
		return false;
	known = !osr_pgft_find(fabric, &(struct osr_pgft_options){ .max_missing = 30 }, arena,
			       &tree, &diag);
	for (uint32_t v = 0; v < fabric->n_switches; v++) {
		seat[v] = (struct seat){ .level = p->level[v], .v = v };
		if (known && tree.sw_level[v]) {
			seat[v].tree = tree.sw_tree[v];
			seat[v].a = tree.sw_a[v];
			seat[v].b = tree.sw_b[v];
		}
		n_of[p->level[v]]++;
	}
	qsort(seat, fabric->n_switches, sizeof(*seat), compare_seats);
	pic->height = ROW * (p->n_levels - 1) + 2 * MARGIN;
	for (uint32_t i = 0; i < fabric->n_switches; i++) {
		uint32_t level = seat[i].level;

		pic->at[seat[i].v].x = REPORT_WIDTH * (seen[level]++ + 0.5) / n_of[level];
		pic->at[seat[i].v].y = pic->height - MARGIN - ROW * level;
	}
	pic->rows = true;
	pic->caption = "Rows are levels, the switches with most of the hosts at the bottom; "
		       "sub-trees stand side by side.";
	return true;
}

/* The first two dimensions down and across, then planes across and down. */
static void place_coordinates(const struct osr_fabric *fabric, const uint16_t *coord,
			      uint32_t n_dims, const uint32_t *size, struct report_picture *pic)
{
	uint32_t across = 1, down = 1;
	double x_step, y_step;

	for (uint32_t i = 0; i < n_dims; i++) {
		if (i % 2)
			down *= size[i];
		else
			across *= size[i];
	}
	x_step = (REPORT_WIDTH - 2 * MARGIN) / across;
	y_step = down == 1 ? 80 : x_step < 60 ? (x_step < 14 ? 14 : x_step) : 60;
	pic->height = y_step * down + 2 * MARGIN;
	for (uint32_t v = 0; v < fabric->n_switches; v++) {
		uint32_t place[2] = { 0, 0 }, scale[2] = { 1, 1 };
		double gap[2] = { 0, 0 };

		for (uint32_t i = 0; i < n_dims; i++) {
			uint32_t k = i % 2, c = coord[(size_t)v * n_dims + i];

			place[k] += c * scale[k];
			scale[k] *= size[i];
			/* Nodes of a plane lie closer than planes. */
			gap[k] += i > 1 ? 0 : 0.15 * ((double)size[i] / 2 - c - 0.5) / size[i];
		}
		/* A little aslant, so that cables around do not hide those between. */
		pic->at[v].x = MARGIN + x_step * (place[0] + 0.5 + gap[0]) +
			       0.12 * x_step * (place[1] % 3);
		pic->at[v].y = MARGIN + y_step * (place[1] + 0.5 + gap[1]) +
			       0.12 * y_step * (place[0] % 3);
	}
	pic->caption = "Every switch stands at its coordinates; from the third dimension on planes "
		       "stand side by side.";
}

static bool place_grid(const struct report *p, struct osr_arena *arena, struct report_picture *pic)
{
	const struct osr_fabric *fabric = p->f;
	uint32_t size[OSR_MAX_DIMS + 1];
	struct osr_product product;
	struct osr_diag diag;
	struct osr_grid grid;

	if (!osr_product_find(fabric, arena, &product, &diag)) {
		if (product.n_dims < 2)
			return false;
		place_coordinates(fabric, product.coord, product.n_dims, product.size, pic);
		return true;
	}
	if (osr_grid_find(fabric, arena, arena, &grid, &diag) ||
	    grid.n_placed != fabric->n_switches)
		return false;
	for (uint32_t i = 0; i < grid.shape.n_dims; i++)
		size[i] = grid.shape.size[i];
	place_coordinates(fabric, grid.coord, grid.shape.n_dims, size, pic);
	return true;
}

/* Neighbours that both ends of a channel have. */
static uint32_t shared_neighbours(const struct osr_fabric *fabric, uint32_t c, uint32_t *stamp)
{
	uint32_t u = fabric->chan_src[c], v = fabric->chan_dst[c], n = 0;

	for (uint32_t e = fabric->chan_row[u]; e < fabric->chan_row[u + 1]; e++)
		stamp[fabric->chan_dst[e]] = c + 1;
	for (uint32_t e = fabric->chan_row[v]; e < fabric->chan_row[v + 1]; e++)
		if (stamp[fabric->chan_dst[e]] == c + 1) {
			stamp[fabric->chan_dst[e]] = 0;
			n++;
		}
	return n;
}

/* Groups are joined by cables whose ends share more than half of what any two share; false: none, or one. */
static bool find_groups(const struct osr_fabric *fabric, struct osr_arena *arena, uint32_t *group)
{
	uint32_t *stamp = osr_calloc(arena, fabric->n_switches, sizeof(*stamp));
	uint32_t *shared = osr_alloc(arena, (size_t)fabric->n_channels + 1, sizeof(*shared));
	uint32_t most = 0, n = 0;

	if (!stamp || !shared)
		return false;
	osr_set_init(group, fabric->n_switches);
	for (uint32_t c = 0; c < fabric->n_channels; c++) {
		shared[c] = shared_neighbours(fabric, c, stamp);
		most = shared[c] > most ? shared[c] : most;
	}
	for (uint32_t c = 0; c < fabric->n_channels && most; c++)
		if (2 * shared[c] > most)
			osr_set_join(group, fabric->chan_src[c], fabric->chan_dst[c]);
	for (uint32_t v = 0; v < fabric->n_switches; v++) {
		group[v] = osr_set_of(group, v);
		n += group[v] == v;
	}
	return n > 1 && 3 * n <= fabric->n_switches;
}

/* A circle of groups, each a circle. */
static bool place_groups(const struct report *p, struct osr_arena *arena,
			 struct report_picture *pic)
{
	const struct osr_fabric *fabric = p->f;
	uint32_t *group = osr_alloc(arena, fabric->n_switches, sizeof(*group));
	uint32_t *number = osr_alloc(arena, fabric->n_switches, sizeof(*number));
	uint32_t *members = osr_calloc(arena, fabric->n_switches, sizeof(*members));
	uint32_t *seen = osr_calloc(arena, fabric->n_switches, sizeof(*seen));
	uint32_t n = 0;
	double far, near;

	if (!group || !number || !members || !seen || !find_groups(fabric, arena, group))
		return false;
	for (uint32_t v = 0; v < fabric->n_switches; v++) {
		if (group[v] == v)
			number[v] = n++;
		members[group[v]]++;
	}
	pic->height = REPORT_WIDTH;
	near = 2.2 * REPORT_WIDTH / n < REPORT_WIDTH / 8 ? 1.1 * REPORT_WIDTH / n
							 : REPORT_WIDTH / 16;
	far = REPORT_WIDTH / 2 - MARGIN - near;
	for (uint32_t v = 0; v < fabric->n_switches; v++) {
		double turn = 2 * M_PI * number[group[v]] / n;
		double own = turn + 2 * M_PI * seen[group[v]]++ / members[group[v]];

		pic->at[v].x = REPORT_WIDTH / 2 + far * sin(turn) + near * sin(own);
		pic->at[v].y = pic->height / 2 - far * cos(turn) - near * cos(own);
	}
	pic->caption = "Small circles are groups of switches that are joined all to all.";
	return true;
}

bool report_place(const struct report *p, struct osr_arena *arena, struct report_picture *pic)
{
	*pic = (struct report_picture){ .at = osr_alloc(arena, p->f->n_switches,
							sizeof(*pic->at)) };
	if (!pic->at)
		return false;
	if (p->n_levels > 1)
		return place_rows(p, arena, pic);
	if (!place_grid(p, arena, pic) && !place_groups(p, arena, pic)) {
		uint32_t n = p->f->n_switches;

		/* Nothing else fits: a circle. */
		pic->height = REPORT_WIDTH * 0.7;
		for (uint32_t v = 0; v < n; v++) {
			double turn = 2 * M_PI * v / n;

			pic->at[v].x = REPORT_WIDTH / 2 + (pic->height / 2 - MARGIN) * sin(turn);
			pic->at[v].y = pic->height / 2 - (pic->height / 2 - MARGIN) * cos(turn);
		}
		pic->caption = "Switches stand on a circle: no tree, grid or groups of switches "
			       "were recognised.";
	}
	return true;
}

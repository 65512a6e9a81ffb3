/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * See trees.h. In order:
 *	gaps and runs		where rows are interrupted
 *	plain ways		those of the intact grid
 *	dependencies		what all these ways need
 *	measuring		how many are longer than they could be
 * Ways for those left over are in mend.c, multicast in spread.c.
 */
#include "trees.h"

#include <string.h>

/* ---- gaps and runs --------------------------------------------------------------------------- */

static uint32_t stride_of(const struct osr_grid_shape *grid_shape, uint32_t i)
{
	uint32_t stride = 1;

	for (uint32_t k = grid_shape->n_dims; k-- > i + 1;)
		stride *= grid_shape->size[k];
	return stride;
}

/* Who is where: owner[n_places]. */
static void find_owners(const struct osr_grid *grid, uint32_t *owner)
{
	memset(owner, 0xff, grid->n_places * sizeof(*owner));
	for (uint32_t v = 0; v < grid->f->n_switches; v++) {
		uint32_t place = 0;

		for (uint32_t i = 0; i < grid->shape.n_dims; i++)
			place = place * grid->shape.size[i] + osr_grid_coord(grid, v)[i];
		owner[place] = v;
	}
}

/* The row of places first, first + stride, ... in dimension i. */
static void measure_row(struct trees *t, const uint32_t *owner, uint32_t i, uint32_t first,
			uint32_t stride)
{
	const struct osr_grid *grid = t->p->g;
	uint32_t n = grid->shape.size[i], n_dims = grid->shape.n_dims;
	uint16_t gap = WHOLE;

	for (uint32_t a = 0; a < n; a++) {
		uint32_t v = owner[first + a * stride];

		if (gap == WHOLE && (v == OSR_NONE || osr_grid_near(grid, v, 2 * i) == OSR_NONE))
			gap = (uint16_t)a;
	}
	for (uint32_t a = 0; a < n; a++) {
		uint32_t v = owner[first + a * stride];

		if (v == OSR_NONE)
			continue;
		t->gap[(size_t)v * n_dims + i] = gap;
		for (uint32_t way = UP; way <= DOWN; way++) {
			uint32_t u = v, steps = 0;

			while (steps < n && (u = osr_grid_near(grid, u, 2 * i + way)) != OSR_NONE)
				steps++;
			t->run[((size_t)v * n_dims + i) * 2 + way] = (uint16_t)steps;
		}
	}
}

static void measure_rows(struct trees *t, const uint32_t *owner)
{
	const struct osr_grid *grid = t->p->g;

	for (uint32_t i = 0; i < grid->shape.n_dims; i++) {
		uint32_t stride = stride_of(&grid->shape, i), n = grid->shape.size[i];

		for (uint32_t first = 0; first < grid->n_places; first++)
			if (first / stride % n == 0)
				measure_row(t, owner, i, first, stride);
	}
}

/* Whose row the k-th dest has, of a switch whose dests begin at `first` and whose hosts end at `end`. */
static uint32_t model_of(const struct trees *t, uint32_t first, uint32_t end, uint32_t k)
{
	bool odd_one = t->p->n_variants == 2 && k + 1 == end && (end - first) % 2;

	return t->dest_list[odd_one ? k : first + (k - first) % t->p->n_variants];
}

/*
 * Dests by switch, CAs and routers first; every second one of those may have a row of its own, and
 * the last of an odd number.
 */
static void trees_group_dests(struct trees *t)
{
	const struct osr_fabric *fabric = t->p->g->f;
	uint32_t *row = t->dest_row;

	for (uint32_t d = 0; d < fabric->n_dests; d++)
		row[fabric->dest_switch[d] + 1]++;
	for (uint32_t v = 0; v < fabric->n_switches; v++)
		row[v + 1] += row[v];
	for (uint32_t pass = 2; pass-- > 0;)
		for (uint32_t d = fabric->n_dests; d-- > 0;)
			if (angara__is_host(fabric, d) == !pass)
				t->dest_list[--row[fabric->dest_switch[d] + 1]] = d;
	memmove(row, row + 1, fabric->n_switches * sizeof(*row));
	row[fabric->n_switches] = fabric->n_dests;
	for (uint32_t v = 0; v < fabric->n_switches; v++) {
		uint32_t end = row[v];

		while (end < row[v + 1] && angara__is_host(fabric, t->dest_list[end]))
			end++;
		for (uint32_t k = row[v]; k < row[v + 1]; k++)
			t->model[t->dest_list[k]] = model_of(t, row[v], end, k);
	}
}

static uint32_t variant_of(const struct trees *t, uint32_t d)
{
	const struct osr_fabric *fabric = t->p->g->f;
	uint32_t first = t->dest_row[fabric->dest_switch[d]], n = 0;

	while (first + n < t->dest_row[fabric->dest_switch[d] + 1] &&
	       angara__is_host(fabric, t->dest_list[first + n]))
		n++;
	if (t->p->n_variants == 2 && n % 2 && d == t->dest_list[first + n - 1])
		return 2;
	return d != t->dest_list[first];
}

enum osr_status angara__trees_init(struct trees *t, const struct plan *p, uint8_t *row,
				   struct osr_arena *scratch, struct osr_diag *diag)
{
	const struct osr_grid *grid = p->g;
	size_t n = grid->f->n_switches, n_dims = p->n_dims;
	uint32_t *owner = osr_alloc(scratch, grid->n_places, sizeof(*owner));

	*t = (struct trees){ .p = p, .row = row };
	t->gap = osr_alloc(scratch, n * n_dims, sizeof(*t->gap));
	t->run = osr_alloc(scratch, n * 2 * n_dims, sizeof(*t->run));
	t->dest_row = osr_calloc(scratch, n + 1, sizeof(*t->dest_row));
	t->dest_list = osr_alloc(scratch, grid->f->n_dests, sizeof(*t->dest_list));
	t->model = osr_alloc(scratch, grid->f->n_dests, sizeof(*t->model));
	t->turn = osr_alloc(scratch, grid->f->n_dests, sizeof(*t->turn));
	t->hops = osr_alloc(scratch, n, sizeof(*t->hops));
	t->queue = osr_alloc(scratch, n, sizeof(*t->queue));
	t->by_hops = osr_alloc(scratch, n, sizeof(*t->by_hops));
	if (osr_arena_failed(scratch, diag))
		return OSR_NOMEM;
	for (uint32_t d = 0; d < grid->f->n_dests; d++)
		t->turn[d] = d;
	find_owners(grid, owner);
	measure_rows(t, owner);
	trees_group_dests(t);
	return OSR_OK;
}

/* ---- plain ways ------------------------------------------------------------------------------ */

/* The other way round if the first one is interrupted; NO_WAY if both are. */
static uint32_t way_in_row(const struct trees *t, uint32_t v, uint32_t i, const uint16_t *x,
			   const uint16_t *y, uint32_t variant)
{
	const struct osr_grid_shape *grid_shape = &t->p->g->shape;
	const uint16_t *run = &t->run[((size_t)v * grid_shape->n_dims + i) * 2];
	uint32_t n = grid_shape->size[i], up = (y[i] + n - x[i]) % n;
	uint32_t way = grid_shape->ring[i] ? angara__way(t->p, i, x, y, variant) : x[i] > y[i];

	if (run[way] >= (way == UP ? up : n - up))
		return way;
	return run[!way] >= (way == UP ? n - up : up) ? !way : NO_WAY;
}

/* Only along a whole row does the order have such a step in front. */
static bool may_be_early(const struct trees *t, uint32_t v, uint32_t dir)
{
	uint32_t n_dims = t->p->n_dims, i = dir / 2;
	uint16_t gap = t->gap[(size_t)v * n_dims + i];

	return (gap == WHOLE || gap == t->p->g->shape.size[i] - 1) &&
	       osr_grid_near(t->p->g, v, dir) != OSR_NONE;
}

/* In the order of dimensions. */
static uint8_t first_way(const struct plan *p, uint32_t ways)
{
	for (uint32_t k = 0; k < p->n_dims; k++) {
		uint32_t way = ways >> (2 * p->order[k]) & 3;

		if (way)
			return (uint8_t)(2 * p->order[k] + (way >> 1));
	}
	return NO_WAY;
}

static uint8_t plain_dir(const struct trees *t, uint32_t v, uint32_t root, uint32_t variant)
{
	const struct plan *p = t->p;
	const uint16_t *x = osr_grid_coord(p->g, v), *y = osr_grid_coord(p->g, root);
	uint32_t early, last = p->order[p->n_dims - 1];

	if (p->free)
		return first_way(p, angara__ways(p, x, y));
	if (angara__early(p, x, y, variant, &early) && may_be_early(t, v, 2 * last + early))
		return (uint8_t)(2 * last + early);
	for (uint32_t k = 0; k < p->n_dims; k++) {
		uint32_t i = p->order[k], way;

		if (x[i] == y[i])
			continue;
		way = way_in_row(t, v, i, x, y, variant);
		return (uint8_t)(way == NO_WAY ? NO_WAY : 2 * i + way);
	}
	return NO_WAY;
}

/* Who sends to somebody without a way has none. */
static void cut_ways(struct trees *t, uint8_t *row, uint32_t root)
{
	uint32_t n = t->p->g->f->n_switches;

	angara__trees_hops(t, row, root);
	for (uint32_t v = 0; v < n; v++)
		if (t->hops[v] == OSR_NONE)
			row[v] = NO_WAY;
}

void angara__trees_plain(struct trees *t)
{
	const struct osr_fabric *fabric = t->p->g->f;
	bool whole = !t->p->g->n_dead_links && !t->p->g->n_dead_switches;

	for (uint32_t d = 0; d < fabric->n_dests; d++) {
		uint32_t root = fabric->dest_switch[d];
		uint8_t *row = t->row + (size_t)d * fabric->n_switches;
		uint32_t variant;

		if (t->model[d] != d)
			continue;
		variant = variant_of(t, d);
		for (uint32_t v = 0; v < fabric->n_switches; v++)
			row[v] = plain_dir(t, v, root, variant);
		if (!whole)
			cut_ways(t, row, root);
	}
}

/* ---- dependencies ---------------------------------------------------------------------------- */

uint32_t angara__trees_hops(struct trees *t, const uint8_t *row, uint32_t root)
{
	const struct osr_grid *grid = t->p->g;
	uint32_t n = 0, n_dirs = 2 * t->p->n_dims;

	memset(t->hops, 0xff, grid->f->n_switches * sizeof(*t->hops));
	t->hops[root] = 0;
	t->by_hops[n++] = root;
	for (uint32_t k = 0; k < n; k++) {
		uint32_t u = t->by_hops[k];

		for (uint32_t dir = 0; dir < n_dirs; dir++) {
			uint32_t v = osr_grid_near(grid, u, dir);

			if (v == OSR_NONE || v == root || row[v] != (dir ^ 1))
				continue;
			t->hops[v] = t->hops[u] + 1;
			t->by_hops[n++] = v;
		}
	}
	return n;
}

static uint16_t lane1_of(const struct plan *p, uint32_t v, uint32_t dir)
{
	return p->lane1[2 * (p->lane_row[dir / 2] + osr_grid_coord(p->g, v)[dir / 2]) + dir % 2];
}

static void trees_depend(struct trees *t, const uint8_t *row, uint32_t root, uint16_t *sls)
{
	const struct plan *p = t->p;
	const struct osr_grid *grid = p->g;
	uint32_t n = angara__trees_hops(t, row, root);

	memset(sls, 0, grid->f->n_switches * sizeof(*sls));
	for (uint32_t k = n; k-- > 1;) {
		uint32_t v = t->by_hops[k], u = osr_grid_near(grid, v, row[v]);
		uint16_t now, after;

		sls[v] |= (uint16_t)(1u << angara__sl(p, osr_grid_coord(grid, v),
						      osr_grid_coord(grid, root)));
		sls[u] |= sls[v];
		if (u == root)
			continue;
		now = lane1_of(p, v, row[v]);
		after = lane1_of(p, u, row[u]);
		*angara__used(t->o, v, row[v], row[u]) |=
			(uint16_t)(((sls[v] & ~now & ~after) != 0) |
				   ((sls[v] & ~now & after) != 0) << 1 |
				   ((sls[v] & now & ~after) != 0) << 2 |
				   ((sls[v] & now & after) != 0) << 3);
	}
}

void angara__trees_depend(struct trees *t, uint16_t *sls)
{
	const struct osr_fabric *fabric = t->p->g->f;

	for (uint32_t d = 0; d < fabric->n_dests; d++)
		if (t->model[d] == d)
			trees_depend(t, t->row + (size_t)d * fabric->n_switches,
				     fabric->dest_switch[d], sls);
}

/* ---- measuring ------------------------------------------------------------------------------- */

/* Breadth first: distances into queue order, hops[] from the row. */
static uint32_t trees_count_longer(struct trees *t, const uint8_t *row, uint32_t root)
{
	const struct osr_grid *grid = t->p->g;
	uint32_t n = 0, longer = 0, level = 0, end = 1;

	angara__trees_hops(t, row, root);
	/* by_hops[] has done its work: it marks who was seen. */
	memset(t->by_hops, 0, grid->f->n_switches * sizeof(*t->by_hops));
	t->by_hops[root] = 1;
	t->queue[n++] = root;
	for (uint32_t k = 0; k < n; k++) {
		if (k == end) {
			level++;
			end = n;
		}
		for (uint32_t dir = 0; dir < 2 * t->p->n_dims; dir++) {
			uint32_t u = osr_grid_near(grid, t->queue[k], dir);

			if (u == OSR_NONE || t->by_hops[u])
				continue;
			t->by_hops[u] = 1;
			longer += t->hops[u] > level + 1;
			t->queue[n++] = u;
		}
	}
	return longer;
}

void angara__trees_measure(struct trees *t)
{
	const struct osr_fabric *fabric = t->p->g->f;

	t->n_longer = 0;
	for (uint32_t d = 0; d < fabric->n_dests; d++) {
		uint32_t root = fabric->dest_switch[d], n = 0;

		if (t->model[d] != d)
			continue;
		for (uint32_t k = t->dest_row[root]; k < t->dest_row[root + 1]; k++)
			n += t->model[t->dest_list[k]] == d;
		t->n_longer +=
			n * trees_count_longer(t, t->row + (size_t)d * fabric->n_switches, root);
	}
}

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * See grid.h. From the outside in:
 *	osr__grid_grow()	plants a seed, then lets squares and straight rows tell directions
 *	plant()			which edges of the seed lie in one dimension
 *	follow_squares()	p, u, w, q a square and p-q known: u-w runs in the same direction
 *	grid_grow_go_straight()		one edge left: it goes on where the row came from
 *	grid_grow_assign()		an edge has a direction; its far end a label
 */
#include "grid_private.h"

#include <stdlib.h>
#include <string.h>

static uint32_t *near_of(const struct grid_work *grid, uint32_t v)
{
	return grid->near + (size_t)v * MAX_DIRS;
}

static uint32_t gcd(uint32_t a, uint32_t b)
{
	while (b) {
		uint32_t r = a % b;

		a = b;
		b = r;
	}
	return a;
}

/* The slice of the grid that v lies in, seen in direction dir: an index into have[] and lack[]. */
static size_t slice(const struct grid_work *grid, uint32_t v, uint32_t dir)
{
	size_t n = grid->f->n_switches;

	return dir * (2 * n + 1) + n + (size_t)grid->label[(size_t)v * MAX_DIMS + dir / 2];
}

static void grid_grow_push(struct grid_work *grid, uint32_t v)
{
	uint32_t n = grid->f->n_switches;

	if (!grid->n_open[v])
		return;
	if (!grid->in_square[v]) {
		grid->in_square[v] = true;
		grid->square[(grid->square_head + grid->n_square++) % n] = v;
	}
	if (grid->n_open[v] == 1 && !grid->in_straight[v]) {
		grid->in_straight[v] = true;
		grid->straight[(grid->straight_head + grid->n_straight++) % n] = v;
	}
}

static void push_around(struct grid_work *grid, uint32_t v)
{
	grid_grow_push(grid, v);
	for (uint32_t e = grid->row[v]; e < grid->row[v + 1]; e++)
		if (grid->placed[grid->adj[e]])
			grid_grow_push(grid, grid->adj[e]);
}

/* Label of u as seen along an edge; a second opinion tells how long the ring is. */
static void label_end(struct grid_work *grid, uint32_t v, uint32_t dir, uint32_t u)
{
	const int32_t *from = grid->label + (size_t)v * MAX_DIMS;
	int32_t *to = grid->label + (size_t)u * MAX_DIMS;
	int32_t step = dir % 2 ? -1 : 1;

	for (uint32_t i = 0; i < grid->n_dims; i++) {
		int32_t x = from[i] + (i == dir / 2 ? step : 0);

		if (grid->placed[u])
			grid->period[i] = gcd(grid->period[i], (uint32_t)abs(x - to[i]));
		else
			to[i] = x;
	}
	grid->placed[u] = true;
}

static void note_complete(struct grid_work *grid, uint32_t v)
{
	for (uint32_t dir = 0; dir < 2 * grid->n_dims && !grid->n_open[v]; dir++)
		grid->lack[slice(grid, v, dir)] += near_of(grid, v)[dir] == OSR_NONE;
}

static bool grid_grow_assign(struct grid_work *grid, uint32_t v, uint32_t e, uint32_t dir)
{
	uint32_t u = grid->adj[e], back = osr__grid_edge(grid, u, v);
	uint32_t *there = &near_of(grid, v)[dir], *here = &near_of(grid, u)[dir ^ 1];

	if (grid->edge_dir[e] != NO_DIR || grid->edge_dir[back] != NO_DIR)
		return grid->edge_dir[e] == dir && grid->edge_dir[back] == (dir ^ 1);
	if (*there != OSR_NONE || *here != OSR_NONE)
		return false;
	*there = u;
	*here = v;
	grid->edge_dir[e] = (uint8_t)dir;
	grid->edge_dir[back] = (uint8_t)(dir ^ 1);
	grid->n_open[v]--;
	grid->n_open[u]--;
	label_end(grid, v, dir, u);
	grid->have[slice(grid, v, dir)]++;
	grid->have[slice(grid, u, dir ^ 1)]++;
	note_complete(grid, v);
	note_complete(grid, u);
	push_around(grid, v);
	push_around(grid, u);
	return true;
}

/* Two neighbours of v lie in one dimension if adjacent (a ring of 3) or on no common square. */
static bool same_dim(const struct grid_work *grid, uint32_t v, uint32_t a, uint32_t b)
{
	if (osr__grid_edge(grid, a, b) != OSR_NONE)
		return true;
	for (uint32_t e = grid->row[a]; e < grid->row[a + 1]; e++)
		if (grid->adj[e] != v && osr__grid_edge(grid, b, grid->adj[e]) != OSR_NONE)
			return false;
	return true;
}

static void clear_labels(struct grid_work *grid)
{
	size_t n = grid->f->n_switches;

	memset(grid->edge_dir, NO_DIR, grid->row[n]);
	memset(grid->period, 0, sizeof(grid->period));
	memset(grid->label, 0, n * MAX_DIMS * sizeof(*grid->label));
	memset(grid->near, 0xff, n * MAX_DIRS * sizeof(*grid->near));
	memset(grid->placed, 0, n * sizeof(*grid->placed));
	memset(grid->have, 0, 2 * grid->n_dims * (2 * n + 1) * sizeof(*grid->have));
	memset(grid->lack, 0, 2 * grid->n_dims * (2 * n + 1) * sizeof(*grid->lack));
	memset(grid->in_square, 0, n * sizeof(*grid->in_square));
	memset(grid->in_straight, 0, n * sizeof(*grid->in_straight));
	for (uint32_t v = 0; v < n; v++)
		grid->n_open[v] = (uint8_t)(grid->row[v + 1] - grid->row[v]);
	grid->n_square = grid->n_straight = 0;
}

static bool plant(struct grid_work *grid, uint32_t v)
{
	uint32_t first = grid->row[v], degree = grid->row[v + 1] - first;
	uint8_t dir[MAX_DIRS];

	memset(dir, NO_DIR, sizeof(dir));
	grid->n_dims = 0;
	for (uint32_t a = 0; a < degree; a++) {
		uint32_t mine = dir[a];

		if (mine == NO_DIR) {
			if (grid->n_dims == MAX_DIMS)
				return false;
			mine = dir[a] = (uint8_t)(2 * grid->n_dims++);
		}
		for (uint32_t b = a + 1; b < degree; b++) {
			if (!same_dim(grid, v, grid->adj[first + a], grid->adj[first + b]))
				continue;
			/* A third one in the same dimension: something is missing here. */
			if (mine % 2 || dir[b] != NO_DIR)
				return false;
			for (uint32_t c = 0; c < degree; c++)
				if (dir[c] == (mine ^ 1))
					return false;
			dir[b] = (uint8_t)(mine ^ 1);
		}
	}
	clear_labels(grid);
	grid->placed[v] = true;
	for (uint32_t a = 0; a < degree; a++)
		if (!grid_grow_assign(grid, v, first + a, dir[a]))
			return false;
	return true;
}

/* NO_DIR: no square tells; otherwise the direction, *clear false if squares contradict. */
static uint32_t by_square(const struct grid_work *grid, uint32_t u, uint32_t far, bool *clear)
{
	uint32_t n_dirs = 2 * grid->n_dims, found = NO_DIR;

	for (uint32_t t = 0; t < n_dirs; t++) {
		uint32_t p = near_of(grid, u)[t];

		if (p == OSR_NONE || p == far)
			continue;
		for (uint32_t s = 0; s < n_dirs; s++) {
			uint32_t q = near_of(grid, p)[s];

			if (s / 2 == t / 2 || q == OSR_NONE || q == u || s == found ||
			    osr__grid_edge(grid, q, far) == OSR_NONE)
				continue;
			*clear &= found == NO_DIR;
			found = s;
		}
	}
	return found;
}

static bool follow_squares(struct grid_work *grid, uint32_t u)
{
	for (uint32_t e = grid->row[u]; e < grid->row[u + 1]; e++) {
		bool clear = true;
		uint32_t dir;

		if (grid->edge_dir[e] != NO_DIR)
			continue;
		dir = by_square(grid, u, grid->adj[e], &clear);
		if (!clear || (dir != NO_DIR && !grid_grow_assign(grid, u, e, dir)))
			return false;
	}
	return true;
}

/*
 * Were u-far in direction c, it would lie opposite the edges in that direction at u's neighbours,
 * and others as far along as u would have such an edge, too. How much speaks for it, or (below 0)
 * against it?
 */
static int32_t evidence(const struct grid_work *grid, uint32_t u, uint32_t far, uint32_t c)
{
	int32_t n = (int32_t)grid->have[slice(grid, u, c)] - (int32_t)grid->lack[slice(grid, u, c)];

	for (uint32_t s = 0; s < 2 * grid->n_dims; s++) {
		uint32_t p = near_of(grid, u)[s], q = p == OSR_NONE ? p : near_of(grid, p)[c];

		if (s / 2 != c / 2 && q != OSR_NONE && osr__grid_edge(grid, q, far) == OSR_NONE)
			n = (n > 0 ? 0 : n) - 1;
	}
	return n;
}

/*
 * Opposite a known edge if nothing speaks against it, or where most speaks for it; nowhere if that
 * is two directions. If no other direction is left and that counts, anything may speak against it.
 */
static bool grid_grow_go_straight(struct grid_work *grid, uint32_t u)
{
	uint32_t open = grid->row[u], n = 0, n_free = 0, dir = 0;
	int32_t most = INT32_MIN;

	if (grid->n_open[u] != 1)
		return true;
	while (grid->edge_dir[open] != NO_DIR)
		open++;
	for (uint32_t c = 0; c < 2 * grid->n_dims; c++) {
		int32_t how;

		if (near_of(grid, u)[c] != OSR_NONE)
			continue;
		n_free++;
		how = evidence(grid, u, grid->adj[open], c);
		if (how <= 0 && near_of(grid, u)[c ^ 1] == OSR_NONE)
			continue;
		n = how > most ? 1 : n + (how == most);
		dir = how > most ? c : dir;
		most = how > most ? how : most;
	}
	if (grid->bold && n_free == 1)
		most = 0;
	return n != 1 || most < 0 || grid_grow_assign(grid, u, open, dir);
}

static uint32_t pop(uint32_t *queue, uint32_t *head, uint32_t *count, bool *in, uint32_t n)
{
	uint32_t v = queue[*head];

	*head = (*head + 1) % n;
	--*count;
	in[v] = false;
	return v;
}

/* Squares first, as long as there are any; then rows go on where nothing speaks against it. */
static bool grid_grow_drain(struct grid_work *grid)
{
	uint32_t n = grid->f->n_switches;

	while (grid->n_square + grid->n_straight) {
		uint32_t v;

		if (grid->n_square) {
			v = pop(grid->square, &grid->square_head, &grid->n_square, grid->in_square,
				n);
			if (!follow_squares(grid, v))
				return false;
			continue;
		}
		v = pop(grid->straight, &grid->straight_head, &grid->n_straight, grid->in_straight,
			n);
		if (!grid_grow_go_straight(grid, v))
			return false;
	}
	return true;
}

/*
 * Two switches that differ in one dimension only, by more than a line allows, and have a cable or
 * another switch between them: how long is the ring? 0: they tell nothing.
 */
static uint32_t ring_between(const struct grid_work *grid, uint32_t v, uint32_t u, uint32_t hops,
			     uint32_t *dim)
{
	const int32_t *a = grid->label + (size_t)v * MAX_DIMS,
		      *b = grid->label + (size_t)u * MAX_DIMS;
	uint32_t n = 0;

	for (uint32_t i = 0; i < grid->n_dims; i++)
		if (a[i] != b[i]) {
			n++;
			*dim = i;
		}
	n = n == 1 ? (uint32_t)abs(a[*dim] - b[*dim]) + hops : 0;
	return n < 5 || grid->period[*dim] ? 0 : n;
}

/* The lengths that most such pairs agree on; a row that is longer than that is none. */
static void close_rows(struct grid_work *grid)
{
	uint32_t n = grid->f->n_switches, *votes = grid->square, dim, size;

	for (uint32_t i = 0; i < grid->n_dims; i++) {
		uint32_t best = 0;

		if (grid->period[i])
			continue;
		memset(votes, 0, n * sizeof(*votes));
		for (uint32_t m = 0; m < n; m++)
			for (uint32_t e = grid->row[m]; e < grid->row[m + 1]; e++) {
				uint32_t u = grid->adj[e];

				if (!grid->placed[u] || grid->edge_dir[e] != NO_DIR)
					continue;
				size = grid->placed[m] ? ring_between(grid, m, u, 1, &dim) : 0;
				if (size && dim == i && size < n)
					votes[size]++;
				for (uint32_t k = grid->row[m]; k < e && !grid->placed[m]; k++) {
					uint32_t v = grid->adj[k];

					size = grid->placed[v] ? ring_between(grid, v, u, 2, &dim)
							       : 0;
					if (size && dim == i && size < n)
						votes[size]++;
				}
			}
		for (uint32_t k = 1; k < n; k++)
			best = votes[k] > votes[best] ? k : best;
		grid->period[i] = best;
	}
}

bool osr__grid_grow(struct grid_work *grid, uint32_t seed, bool bold)
{
	grid->bold = bold;
	grid->planted = plant(grid, seed);
	if (!grid->planted || !grid_grow_drain(grid))
		return false;
	if (bold)
		close_rows(grid);
	return true;
}

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* grid_private.h - what the files of grids share. */
#ifndef OSR_CORE_GRID_PRIVATE_H
#define OSR_CORE_GRID_PRIVATE_H

#include <osmroutes/grid.h>

#define MAX_DIMS OSR_GRID_MAX_DIMS
#define MAX_DIRS (2 * MAX_DIMS)
#define NO_DIR 255

/* A grid in the making. An edge is one direction of a cable, or of several parallel ones. */
struct grid_work {
	const struct osr_fabric *f;
	struct osr_diag *diag;
	uint32_t *row, *adj; /* edges of v: row[v] .. row[v + 1] - 1, to adj[] */
	uint8_t *edge_dir;   /* [edges] NO_DIR: not known yet */

	/* Growing: labels are coordinates as if rings were infinite lines. */
	bool bold;    /* where one direction is left, it goes on whatever speaks against it */
	bool planted; /* the seed's neighbourhood is that of a grid */
	uint32_t n_dims;
	uint32_t period[MAX_DIMS]; /* 0: no row met itself */
	int32_t *label;            /* [n_switches * MAX_DIMS] */
	uint32_t *near;            /* [n_switches * MAX_DIRS] */
	bool *placed;              /* [n_switches] */
	uint8_t *n_open;           /* [n_switches] edges without a direction */
	/*
	 * By direction and label (see slice()): switches that have an edge there, and switches all
	 * of whose edges are known and that have none.
	 */
	uint32_t *have, *lack; /* [MAX_DIRS * (2 * n_switches + 1)] */
	/* Two queues of switches: a square may tell a direction, and a row may go straight on. */
	uint32_t *square, *straight; /* [n_switches], rings */
	bool *in_square, *in_straight;
	uint32_t square_head, n_square, straight_head, n_straight;

	/* Then: coordinates. */
	struct osr_grid_shape shape;
	uint16_t *coord; /* [n_switches * MAX_DIMS] */
};

/* The edge from v to u, or OSR_NONE. */
static inline uint32_t osr__grid_edge(const struct grid_work *grid, uint32_t v, uint32_t u)
{
	for (uint32_t e = grid->row[v]; e < grid->row[v + 1]; e++)
		if (grid->adj[e] == u)
			return e;
	return OSR_NONE;
}

/*
 * Labels for as many switches as possible, starting from this one; the others are left to
 * osr__grid_finish(). False if its neighbourhood is not that of a grid, or if labels contradict each
 * other. Bold: a row goes on where no other direction is left, and one with both ends at one cable or switch is a ring.
 * Memory is there already.
 */
bool osr__grid_grow(struct grid_work *grid, uint32_t seed, bool bold);

/* From coordinates, perhaps not of all switches, to a grid. */
enum osr_status osr__grid_finish(struct grid_work *w, struct osr_arena *scratch,
				 struct osr_arena *result, struct osr_grid *grid);

static inline enum osr_status osr__grid_no(const struct grid_work *grid, const char *why)
{
	return osr_fail(grid->diag, OSR_NOT_APPLICABLE, "not a torus or mesh: %s", why);
}

static inline uint16_t *coord_of(const struct grid_work *grid, uint32_t v)
{
	return grid->coord + (size_t)v * MAX_DIMS;
}

static inline bool has_place(const struct grid_work *grid, uint32_t v)
{
	return coord_of(grid, v)[0] != OSR_NO_PLACE;
}

static inline uint32_t first_placed(const struct grid_work *grid)
{
	uint32_t v = 0;

	while (!has_place(grid, v))
		v++;
	return v;
}

#endif

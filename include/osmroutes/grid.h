/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * grid.h - tori and meshes with holes: where each switch of the bare graph belongs.
 *
 * product.h asks whether a fabric is exactly a product of rings, lines and cliques. This page asks
 * for rings and lines only, and takes them damaged: switches and cables may be missing. Taking
 * something out of a torus makes no new squares, so two sides of a square that lie opposite each
 * other run along the same dimension, whatever else is gone. From a switch whose neighbourhood is
 * whole, coordinates grow square by square; where a row leaves the region known so far, the one
 * cable that closes no square goes straight on. A row that meets itself is a ring.
 *
 * Nothing is believed that is not checked at the end: every cable joins neighbours, no place is
 * taken twice, and at least three quarters of all places and cables are there.
 *
 * A ring of 4 is the product of two single cables, and is always reported as two lines of 2: places
 * 0 1 2 3 of the ring are 00 10 11 01. Parallel cables count once. Switches of a component that is
 * not the largest have no place (OSR_NO_PLACE).
 *
 * Coordinates are the same whatever the order of discovery. Ports and cabling order do not matter;
 * the frame (which switch is the origin, which way coordinates rise, which of two dimensions of one
 * size comes first) follows from the lowest GUIDs.
 */
#ifndef OSMROUTES_GRID_H
#define OSMROUTES_GRID_H

#include <osmroutes/fabric.h>

#define OSR_GRID_MAX_DIMS 12 /* six rings of 4 */
#define OSR_NO_PLACE UINT16_MAX

/* The shape, without a fabric. Directions: 2 * i goes up in dimension i, 2 * i + 1 down. */
struct osr_grid_shape {
	uint32_t n_dims;
	uint16_t size[OSR_GRID_MAX_DIMS]; /* 2 or more */
	bool ring[OSR_GRID_MAX_DIMS];     /* else a line; rings have 3, 5 or more */
};

struct osr_grid {
	const struct osr_fabric *f;
	struct osr_grid_shape shape;
	uint32_t n_places;                      /* product of the sizes */
	uint32_t n_placed;                      /* switches with a place */
	uint32_t n_dead_switches, n_dead_links; /* places, and cables between placed switches */
	uint16_t *coord;                        /* [n_switches * n_dims] */
	uint32_t *
		chan; /* [n_switches * 2 * n_dims] the first channel in each direction, or OSR_NONE */
	uint8_t *chan_dir; /* [n_channels] */
};

/*
 * OSR_NOT_APPLICABLE with the reason if the fabric is no torus or mesh. The grid's arrays live in `result`.
 * O(channels * degree^3).
 */
enum osr_status osr_grid_find(const struct osr_fabric *fabric, struct osr_arena *scratch,
			      struct osr_arena *result, struct osr_grid *grid,
			      struct osr_diag *diag);

static inline const uint16_t *osr_grid_coord(const struct osr_grid *grid, uint32_t sw)
{
	return grid->coord + (size_t)sw * grid->shape.n_dims;
}

#endif

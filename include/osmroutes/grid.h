/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * grid.h - tori and meshes by direction, as a routing graph sees them.
 *
 * Source: Mukosey, Semenov, Tretiakov: Optimized Graph Based Routing Algorithm for the Angara
 * Interconnect (section 3): of n dimensions, directions 0 .. n-1 are +X +Y +Z +K, n .. 2n-1 are
 * -X -Y -Z -K. A packet uses them in this order.
 *
 * A product (product.h) whose rings of 3 are cliques and whose rings of 4 are two lines of 2.
 * DIFFERS from the paper, whose nodes know their coordinates: two lines of 2 make a ring of 4
 * wherever there are two, because a direction around a ring is loaded evenly and a line is not.
 */
#ifndef OSMROUTES_GRID_H
#define OSMROUTES_GRID_H

#include <osmroutes/product.h>

struct osr_grid {
	uint32_t n_dims, n_dirs; /* 2 * n_dims */
	uint32_t size[OSR_MAX_DIMS];
	bool ring[OSR_MAX_DIMS];
	uint16_t *at; /* [n_switches * n_dims] */
	uint8_t *dir; /* [n_channels] */
};

static inline uint32_t osr_grid_dim(const struct osr_grid *grid, uint32_t dir)
{
	return dir < grid->n_dims ? dir : dir - grid->n_dims;
}

static inline uint32_t osr_grid_back(const struct osr_grid *grid, uint32_t dir)
{
	return dir < grid->n_dims ? dir + grid->n_dims : dir - grid->n_dims;
}

/*
 * OSR_NOT_APPLICABLE, with the reason: no product, a switch without a place, a full mesh of 4 or
 * more. In `scratch`.
 */
enum osr_status osr_grid_find(const struct osr_fabric *fabric, struct osr_arena *scratch,
			      struct osr_grid *grid, struct osr_diag *diag);

/* How a route keeps to the rules of section 2.1. */
enum osr_grid_rule {
	OSR_GRID_IN_ORDER,   /* directions in order, of each dimension one */
	OSR_GRID_FIRST_STEP, /* its first step, a positive one, breaks this */
	OSR_GRID_LAST_STEP,  /* its last step, a negative one, does */
	OSR_GRID_BOTH_STEPS,
	OSR_GRID_AGAINST, /* more than these break it */
};

/* Of a route by its n directions. */
enum osr_grid_rule osr_grid_judge(const struct osr_grid *grid, const uint8_t *dir, uint32_t n);

#endif

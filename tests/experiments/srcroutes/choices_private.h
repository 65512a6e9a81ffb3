/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* choices_private.h - the two files that find all shortest legal routes: see choices.c. */
#ifndef OSR_CHOICES_PRIVATE_H
#define OSR_CHOICES_PRIVATE_H

#include "srcroutes/srcroutes.h"

#define OSR__FAR UINT32_MAX /* a line has no such direction */

/* Hops up and down a dimension by which two coordinates differ. */
void osr__count_hops(const struct osr_torus *torus, uint32_t dim, uint32_t x, uint32_t y,
		     uint32_t *up, uint32_t *down);

/* The lowest and the highest direction of a body, in the order of directions. */
uint32_t osr__lowest(const struct osr_torus *torus, uint8_t plus, uint8_t minus);
uint32_t osr__highest(const struct osr_torus *torus, uint8_t plus, uint8_t minus);

/*
 * Directions of a route, hop by hop; up[i] and down[i] are the hops of its body in dimension i.
 * Returns how many.
 */
uint32_t osr__list_dirs(const struct osr_torus *torus, struct osr_srcroute srcroute,
			const uint32_t *up, const uint32_t *down, uint8_t *dirs);

/* ---- shapes.c: routes as short as the torus distance, by displacement ----------------------- */

struct osr__shape {
	struct osr_srcroute r;
	uint8_t low;  /* the direction behind the first step */
	uint8_t high; /* the direction before the last one */
};

/* Displacements are numbered: a digit for each dimension, base[i] many of them. */
struct osr__shapes {
	const struct osr_torus *t;
	uint32_t base[OSR_TORUS_MAX_DIMS];
	uint32_t n;               /* displacements */
	uint32_t *row;            /* [n + 1] into shape */
	struct osr__shape *shape; /* fewer extra steps first */
	uint16_t *hops;           /* [n] */
	uint8_t *coord;           /* [n_nodes * n_dims] */
};

enum osr_status osr__shapes_init(struct osr__shapes *shapes, const struct osr_torus *torus,
				 struct osr_arena *scratch, struct osr_diag *diag);

/* The displacement between two nodes. */
static inline uint32_t osr__displacement(const struct osr__shapes *shapes, uint32_t from,
					 uint32_t to)
{
	const struct osr_torus *torus = shapes->t;
	const uint8_t *x = shapes->coord + from * torus->n_dims,
		      *y = shapes->coord + to * torus->n_dims;
	uint32_t d = 0;

	for (uint32_t i = 0; i < torus->n_dims; i++) {
		int gap = (int)y[i] - (int)x[i];

		d = d * shapes->base[i] + (uint32_t)(gap < 0 ? gap + (int)shapes->base[i] : gap);
	}
	return d;
}

#endif

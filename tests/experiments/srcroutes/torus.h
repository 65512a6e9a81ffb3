/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * torus.h - a whole torus of compute nodes, as the Angara interconnect is one: every node has a router
 * of its own, and packets are steered by directions.
 *
 * Source: Mukosey, Semenov, Tretiakov: Optimized Graph Based Routing Algorithm for the Angara
 * Interconnect, section 3 (below: the paper).
 *
 * Nodes are numbered by their coordinates, the last dimension fastest: node (x, y, z) of an A x B x
 * C torus is (x * B + y) * C + z. Directions are numbered in the order in which a packet may use
 * them: 0 .. n-1 are +X +Y +Z +K, n .. 2n-1 are -X -Y -Z -K. A channel is one direction of a link,
 * and has the number node * n_dirs + direction, where node is the one it leaves.
 *
 * A dimension of 2 has one cable between its two nodes, so it is a line (the paper, section 5.1: "a
 * mesh"): there is no +Y out of y = 1. Larger ones are rings. A box of a
 * torus that is not as long as its dimension is a line there, too.
 */
#ifndef OSMROUTES_TORUS_H
#define OSMROUTES_TORUS_H

#include <stdbool.h>
#include <stdint.h>

#include <osmroutes/arena.h>
#include <osmroutes/status.h>

#define OSR_TORUS_MAX_DIMS 6
#define OSR_TORUS_MAX_SIDE 255
#define OSR_TORUS_MAX_NODES 8192 /* routes are kept for every pair */
#define OSR_NO_DIR 255
#define OSR_NO_NODE UINT32_MAX

struct osr_torus {
	uint32_t n_dims;
	uint32_t n_dirs; /* 2 * n_dims */
	uint32_t n_nodes;
	uint32_t size[OSR_TORUS_MAX_DIMS];   /* 2 .. 255 */
	uint32_t stride[OSR_TORUS_MAX_DIMS]; /* node + stride[i]: one further in dimension i */
	bool ring[OSR_TORUS_MAX_DIMS];
	uint32_t *next; /* [n_nodes * n_dirs] where the channel leads; OSR_NO_NODE: none */
};

/* OSR_INVAL for 0 or more than 6 dimensions, a side below 2 or above 255, more than 8,192 nodes; OSR_NOMEM. */
enum osr_status osr_torus_init(struct osr_torus *torus, uint32_t n_dims, const uint32_t *size,
			       struct osr_arena *arena, struct osr_diag *diag);

static inline uint32_t osr_torus_coord(const struct osr_torus *torus, uint32_t node, uint32_t dim)
{
	return node / torus->stride[dim] % torus->size[dim];
}

/* The dimension of a direction, and the direction that leads back. */
static inline uint32_t osr_dir_dim(const struct osr_torus *torus, uint32_t dir)
{
	return dir < torus->n_dims ? dir : dir - torus->n_dims;
}

static inline uint32_t osr_dir_back(const struct osr_torus *torus, uint32_t dir)
{
	return dir < torus->n_dims ? dir + torus->n_dims : dir - torus->n_dims;
}

#endif

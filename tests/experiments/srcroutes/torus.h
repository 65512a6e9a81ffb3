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

/*
 * A route as its sender writes it into a packet: first step, direction bits, last step
 * (section 2.1).
 *
 * From the sender a packet makes the first step, if there is one; then all its hops in the
 * directions of the bits, in the order +X +Y +Z +K -X -Y -Z -K, as many in each as the way to the
 * receiver takes; then the last step, if there is one.
 */
struct osr_srcroute {
	uint8_t first; /* a positive direction, or OSR_NO_DIR */
	uint8_t last;  /* a negative direction, or OSR_NO_DIR */
	uint8_t plus;  /* bit i: the hops in dimension i are positive */
	uint8_t minus; /* bit i: they are negative; never both */
};

/* No route is longer: all the way around in each dimension but one hop, and two extra steps. */
#define OSR_SRCROUTE_MAX_HOPS (OSR_TORUS_MAX_DIMS * (OSR_TORUS_MAX_SIDE - 1) + 2)

static inline bool osr_srcroute_is_none(struct osr_srcroute srcroute)
{
	return srcroute.first == OSR_NO_DIR && srcroute.last == OSR_NO_DIR && !srcroute.plus &&
	       !srcroute.minus;
}

/*
 * The channels of a route, in channel[OSR_SRCROUTE_MAX_HOPS]; returns how many. 0 if it leads over
 * a channel that is not there, not to `to`, or if a direction bit is set that no hop uses. Whether
 * its turns are allowed is not asked.
 */
uint32_t osr_srcroute_channels(const struct osr_torus *torus, uint32_t from, uint32_t to,
			       struct osr_srcroute srcroute, uint32_t *channel);

#endif

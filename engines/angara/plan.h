/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * plan.h - how a grid is to be routed, from its shape alone: the order of dimensions, which way
 * around rings, service levels, and the virtual lane of each service level on each channel.
 *
 * A packet uses the dimensions in a fixed order, in each of them one direction only (the direction
 * bits of the paper). Within a ring of 5 or more, packets would wait for each other in a circle; so
 * its lanes are two. A service level is a number with one digit for each such ring, its *state*:
 *	0	the route does not cross the ring's dateline, the link between places n-1 and 0:
 *		lane 0, which nobody uses on that link
 *	1	it does: lane 1. No shortest way across the dateline uses the link between n/2 - 1
 *		and n/2 as well, so lane 1 has a link that nobody uses, too
 *	2, 3	see below
 * The route from b to a crosses the dateline if the one from a to b does; so replies are safe on
 * the service level of their request, if opposite places of a ring go opposite ways. Which way is
 * decided by a parity over the coordinates in later dimensions, which both ends see alike, so that
 * half the pairs go either way.
 *
 * In the last dimension nothing is left to tell, and choosing by the two places alone leaves links
 * above the mean, in rings of 6 and 8 more than 10 %. There, opposite places go the same way, even
 * ones up, odd ones down: as far as 16 service levels go, states 2, 3, ... stand for two opposite
 * pairs each, and the lane follows from where on the ring the packet is: one of the two routes of a
 * pair lies on one side of it, the other on the other.
 *
 * In rings of 6, 10, ... one pair is left over, for which half the LIDs of a switch go up and half
 * down. Of an odd number of LIDs one remains. In tori of sixes, some routes to it step along the last
 * dimension first, the way that its others do not go: see angara__early().
 */
#ifndef ANGARA_PLAN_H
#define ANGARA_PLAN_H

#include <osmroutes/grid.h>

#define UP 0
#define DOWN 1
#define MAX_DIMS OSR_GRID_MAX_DIMS

struct plan {
	const struct osr_grid *g;
	uint32_t n_dims, n_rings; /* rings of 5 or more */
	uint8_t order[MAX_DIMS];  /* dimensions as packets use them */
	uint8_t turn[MAX_DIMS];   /* the inverse: when a dimension has its turn */
	uint8_t weight[MAX_DIMS]; /* of the digit; 0: none */
	uint8_t n_states[MAX_DIMS];
	uint8_t n_sls;
	/* 2: the LIDs of a switch do not all take the same way; the odd one out is variant 2 */
	uint8_t n_variants;
	/*
	 * Bit x: packets on service level x use lane 1 where they leave place a of dimension i
	 * upwards (or downwards): lane1[2 * (lane_row[i] + a)] (or the next one).
	 */
	uint32_t lane_row[MAX_DIMS];
	uint16_t *lane1;
};

/* False if the service levels do not suffice: more than four rings of 5 or more. */
bool angara__plan(struct plan *p, const struct osr_grid *grid, uint16_t *lane1);

/* Room that lane1 needs. */
uint32_t angara__plan_size(const struct osr_grid *grid);

/* Which way around a whole ring of dimension i, from switch v to the place of d. */
uint32_t angara__way(const struct plan *p, uint32_t i, const uint16_t *from, const uint16_t *to,
		     uint32_t variant);

/*
 * Do packets to this LID leave `from` along the last dimension, and then begin with the others? *way
 * says where. Such a step leads towards the middle on lane 0, where it fits in front of everything.
 */
bool angara__early(const struct plan *p, const uint16_t *from, const uint16_t *to, uint32_t variant,
		   uint32_t *way);

/* The service level of packets from one place to another, whatever has died in between. */
uint8_t angara__sl(const struct plan *p, const uint16_t *from, const uint16_t *to);

static inline uint32_t angara__lane(const struct plan *p, uint32_t v, uint32_t dir, uint32_t sl)
{
	uint32_t i = dir / 2, a = osr_grid_coord(p->g, v)[i];

	return p->lane1[2 * (p->lane_row[i] + a) + dir % 2] >> sl & 1;
}

#endif

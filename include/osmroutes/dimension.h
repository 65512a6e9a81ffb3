/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * dimension.h - how a whole product is routed, from its shape alone: the order of dimensions, which way around rings,
 * service levels, and the virtual lane of each service level on each channel.
 *
 * Source: Mukosey, Semenov, Tretiakov: Optimized Graph Based Routing Algorithm for the Angara Interconnect: direction
 * order, direction bits, steps in front of a route where they close no cycle (section 3). The order of directions is
 * +X -X +Y -Y ...; DIFFERS from the paper's (first all positive ones, then all negative), which loads the outer rows of
 * lines with nearly twice their mean, and has no way on where a ring is interrupted. DIFFERS too: InfiniBand has no
 * bubble rule, so service levels say which datelines a route crosses; and a route is known at every switch on its way,
 * so that those of a LID form a tree.
 *
 * A packet uses the dimensions in a fixed order, in each of them one direction only (the direction bits of the paper).
 * Within a ring of 5 or more, packets would wait for each other in a circle; so its lanes are two. A service level is a
 * number with one digit for each such ring, its *state*:
 *	0	the route does not cross the ring's dateline, the link between places n-1 and 0:
 *		lane 0, which nobody uses on that link
 *	1	it does: lane 1. No shortest way across the dateline uses the link between n/2 - 1
 *		and n/2 as well, so lane 1 has a link that nobody uses, too
 *	2, 3	see below
 * The route from b to a crosses the dateline if the one from a to b does; so replies are safe on the service level of
 * their request, if opposite places of a ring go opposite ways. Which way is decided by a parity over the coordinates in
 * later dimensions, which both ends see alike, so that half the pairs go either way.
 *
 * In the last dimension nothing is left to tell, and choosing by the two places alone leaves links above the mean, in
 * rings of 6 and 8 more than 10 %. There, opposite places go the same way, even ones up, odd ones down: as far as 16
 * service levels go, states 2, 3, ... stand for two opposite pairs each, and the lane follows from where on the ring the
 * packet is: one of the two routes of a pair lies on one side of it, the other on the other.
 *
 * In rings of 6, 10, ... one pair is left over, for which half the LIDs of a switch go up and half down: variants 0 and 1.
 * Of an odd number of LIDs one remains, variant 2. In tori of sixes, some routes to it step along the last dimension
 * first, the way that its others do not go.
 */
#ifndef OSMROUTES_DIMENSION_H
#define OSMROUTES_DIMENSION_H

#include <osmroutes/product.h>

#define OSR_DOR_SLS 16

struct osr_dor_plan {
	const struct osr_product *p;
	uint8_t order[OSR_MAX_DIMS];  /* dimensions as packets use them */
	uint8_t turn[OSR_MAX_DIMS];   /* the inverse: when a dimension has its turn */
	uint8_t weight[OSR_MAX_DIMS]; /* of the digit; 0: none */
	uint8_t n_states[OSR_MAX_DIMS];
	uint8_t n_sls;
	uint8_t n_variants; /* 2: the LIDs of a switch do not all take the same way */
};

/* Of a whole product. False if the service levels do not suffice: more than four rings. */
bool osr_dor_plan(const struct osr_product *product, struct osr_dor_plan *plan);

/* Hops from every switch to dest d: minimal. hop[n_switches]; the own switch is not set. */
void osr_dor_route(const struct osr_dor_plan *plan, uint32_t d, uint32_t variant, uint8_t *hop);

/* A spanning tree inwards, to the middle of each dimension, all turns of which rise on lane 0: parent[n_switches] channels. */
void osr_dor_tree(const struct osr_dor_plan *plan, uint32_t *parent);

/* The service level of packets from v to the LIDs of another switch: 0 to n_sls - 1. */
uint8_t osr_dor_sl(const struct osr_dor_plan *plan, uint32_t v, uint32_t root);

/* The lane of a packet on channel c. SL n_sls is for pairs that a repair leaves no way on their own: lane 1 anywhere. */
uint32_t osr_dor_lane(const struct osr_dor_plan *plan, uint32_t c, uint32_t sl);

/*
 * The certificate of lanes 0 and 1, or of one lane without rings: rank[n_lanes * n_channels]. By dimension, and within
 * rings from the link that the lane does not use. Lane 0 is numbered inside out, so that steps towards the middle of a later
 * dimension may come in front of everything: a first step, and all of multicast.
 */
enum osr_status osr_dor_rank(const struct osr_dor_plan *plan, uint32_t n_lanes,
			     struct osr_arena *scratch, uint32_t *rank, struct osr_diag *diag);

/*
 * On one lane with rings: dimensions in their order, rings from place 0 on both ways round, so that no packet passes
 * through it. rank[n_channels]. Few routes are not legal, and these are the other way round.
 */
void osr_dor_ring_order(const struct osr_dor_plan *plan, uint32_t *rank);

#endif

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * srcroutes.h - routing tables of the Angara interconnect: a route for every pair of a job's nodes,
 * made by the three algorithms of the paper (see torus.h).
 *
 * Routes are the sender's: a table entry holds what goes into the header of a packet, and that is a
 * first step, the direction bits, and a last step (section 2.1). The number of hops in each
 * direction follows from the two nodes. With none of the three there is no route.
 *
 * A run:
 *	osr_torus_init(&t, ...)				what there is
 *	osr_turns_find(&t, ...)				what is allowed
 *	osr_srcroutes_init(&a, &turns, ...)		all shortest legal routes of all pairs
 *	osr_srcroutes_route(&a, algorithm, ...)		one of them for every pair
 *	osr_srccheck()					srccheck.h: the judge, and the metrics
 */
#ifndef OSMROUTES_SRCROUTES_H
#define OSMROUTES_SRCROUTES_H

#include "srcroutes/rgraph.h"

/*
 * All shortest legal routes, called the *choices* of a pair; a pair is (i, j), i * n_nodes + j.
 * They come in a fixed order: fewer extra steps first. No two of a pair are
 * the same sequence of hops.
 *
 * Found without the routing graph: a first step, a last step and the directions used determine a
 * route, so the possible combinations are tried, those of the least hops first. A test compares
 * with the paths of the routing graph.
 */
struct osr_srcroutes {
	const struct osr_torus *t;
	const struct osr_turns *turns;
	uint32_t n_pairs;            /* n_nodes^2 */
	uint32_t *row;               /* [n_pairs + 1] into choice; empty: i == j */
	struct osr_srcroute *choice; /* [row[n_pairs]] */
	uint16_t *hops;              /* [n_pairs] of each choice; 0: i == j */
	uint64_t *first_channel;     /* [n_pairs] into channel */
	uint32_t *channel;           /* hops[p] of each choice, one choice after the other */
	uint32_t n_unique;           /* pairs with a single one */
};

/* OSR_NOMEM. Time and memory: O(choices * hops). */
enum osr_status osr_srcroutes_init(struct osr_srcroutes *routes, const struct osr_turns *turns,
				   struct osr_arena *scratch, struct osr_arena *result,
				   struct osr_diag *diag);

static inline uint32_t osr_srcroutes_n_choices(const struct osr_srcroutes *routes, uint32_t pair)
{
	return routes->row[pair + 1] - routes->row[pair];
}

/* The channels of choice number k (from 0) of a pair: hops[pair] of them. */
static inline const uint32_t *osr_srcroutes_channels(const struct osr_srcroutes *routes,
						     uint32_t pair, uint32_t k)
{
	return routes->channel + routes->first_channel[pair] + (uint64_t)k * routes->hops[pair];
}

enum osr_srcroutes_algorithm {
	OSR_SRCROUTES_BFS,     /* algorithms 1 and 2 */
	OSR_SRCROUTES_GENETIC, /* section 4.2 */
	OSR_SRCROUTES_SSSP,    /* algorithms 3 and 4 */
	OSR_N_SRCROUTES
};

struct osr_srcroutes_options {
	bool unique_first;          /* SSSP: stage one, "unique routes"; off for figure 4 only */
	uint64_t seed;              /* GENETIC */
	uint32_t population;        /* GENETIC: chromosomes kept from one generation to the next */
	uint32_t mutation_permille; /* GENETIC: of a child's gene */
	uint32_t patience;          /* GENETIC: generations without improvement before it stops */
};

struct osr_srcroutes_stats {
	uint32_t n_sssp_calls;  /* SSSP: of BUILD_SSSP */
	uint32_t n_generations; /* GENETIC */
};

/*
 * route[n_pairs] receives a choice for every pair that has one, {OSR_NO_DIR, OSR_NO_DIR, 0, 0} for
 * the others. Deterministic; the seed is all that GENETIC draws from.
 *
 * BFS takes the first shortest path its search meets, section 4.1. O(|N| (V + E)) of the routing
 * graph, and sorting. SSSP: O(calls * choices of a source). GENETIC: slow.
 */
enum osr_status osr_srcroutes_route(const struct osr_srcroutes *routes,
				    enum osr_srcroutes_algorithm algorithm,
				    const struct osr_srcroutes_options *opt,
				    struct osr_arena *scratch, struct osr_srcroute *route,
				    struct osr_srcroutes_stats *stats, struct osr_diag *diag);

#endif

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * srccheck.h - the judge of source routes: it knows what the hardware permits and how large the
 * torus is, and believes nothing else. It shares no code with what makes the routes.
 *
 * Every route is followed node by node. It is legal if its first step is positive and its last one
 * negative, its direction bits name no dimension twice, and every channel it uses is there. The
 * certificate is a rank for every channel; along every route it must rise, except between two
 * channels of the same direction around a whole ring, where it must stay (there the bubble rule
 * holds, see turns.h). Then no set of packets can wait for each other in a circle.
 *
 * The metrics are those of the paper, section 1.1: gamma_c is the number of routes on channel c,
 * C the set of channels that are there, gamma_perfect = sum of gamma_c / |C|,
 * sigma(k) = (sum of |gamma_perfect - gamma_c|^k / |C|)^(1/k), D the hops of a route.
 */
#ifndef OSMROUTES_SRCCHECK_H
#define OSMROUTES_SRCCHECK_H

#include "srcroutes/srcroute.h"

struct osr_srcverdict {
	uint64_t n_routes, n_missing; /* pairs with and without a route */
	uint64_t n_longer;            /* routes longer than the torus distance: around failures */
	uint32_t max_load, min_load;  /* gamma */
	double mean_load;             /* gamma_perfect */
	double sigma4;
	uint32_t max_hops; /* max D */
	uint64_t n_hops;   /* of all routes */
	uint64_t n_extra;  /* first and last steps in use */
};

/*
 * route[n_nodes * n_nodes] from i to j at i * n_nodes + j; route[i][i] is
 * ignored. rank[n_nodes * n_dirs]. load, if not NULL, receives gamma of every channel
 * [n_nodes * n_dirs], 0 where there is none.
 *
 * OSR_CHECK_FAILED names the first route that is not legal or not in rank. A missing route is no
 * mistake, it is counted. O(hops of all routes).
 */
enum osr_status osr_srccheck(const struct osr_torus *torus, const struct osr_srcroute *route,
			     const uint32_t *rank, struct osr_arena *scratch, uint32_t *load,
			     struct osr_srcverdict *srcverdict, struct osr_diag *diag);

#endif

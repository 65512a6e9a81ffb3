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

#include "srcroutes/torus.h"

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

/*
 * Communication patterns over source routes: how crowded channels become when only
 * some nodes send, all at once and the same amount.
 *
 * Source: the patterns of section 5.2 of the paper of torus.h. It measured them on a machine; here
 * stands what the routes decide. Ranks are node numbers, as if a job's processes were
 * placed in that order.
 */
enum osr_srcpattern {
	OSR_SRCPATTERN_TRANSPOSE, /* i = a w + b to b h + a; h w = n, h as large as h <= w allows */
	OSR_SRCPATTERN_NEIGHBOR,  /* i to i + 1 mod n */
	OSR_SRCPATTERN_TORNADO,   /* i to i + ceil(n / 2) - 1 mod n */
	OSR_SRCPATTERN_ALLTOALL,  /* everybody to everybody else */
	OSR_N_SRCPATTERNS
};

/* "transpose", "neighbor", "tornado", "alltoall". */
const char *osr_srcpattern_name(enum osr_srcpattern pattern);

struct osr_srctraffic {
	uint32_t n_pairs;  /* that send; nobody sends to itself */
	uint32_t max_load; /* most routes in use on one channel: what the slowest waits for */
	double bandwidth;  /* mean over pairs of 1 / the largest load on the route */
};

/*
 * route as for osr_srccheck(), which must have passed. A pair without a route does not
 * send. OSR_NOMEM. O(n_nodes^2 + hops).
 */
enum osr_status osr_srctraffic(const struct osr_torus *torus, const struct osr_srcroute *route,
			       enum osr_srcpattern pattern, struct osr_arena *scratch,
			       struct osr_srctraffic *out, struct osr_diag *diag);

#endif

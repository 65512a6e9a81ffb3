/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * srctraffic.h - communication patterns over source routes: how crowded channels become when only
 * some nodes send, all at once and the same amount.
 *
 * Source: the patterns of section 5.2 of the paper of torus.h. It measured them on a machine; here
 * stands what the routes decide. Ranks are node numbers, as if a job's processes were
 * placed in that order.
 */
#ifndef OSMROUTES_SRCTRAFFIC_H
#define OSMROUTES_SRCTRAFFIC_H

#include "srcroutes/srcroute.h"

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

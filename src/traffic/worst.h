/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * worst.h - the permutation of end ports that loads one channel most, exactly.
 *
 * Source: Towles, Dally: Worst-case traffic for oblivious routing functions, SPAA 2002. The worst traffic for a channel
 * is a matching of greatest weight between sources and destinations, where a pair weighs the share of its packets that
 * cross the channel. With one path for each pair that is 1 or 0, so it is the largest matching among the pairs whose
 * route crosses the channel; the worst of all channels is the worst of the routing.
 *
 * End ports of CAs and routers send and receive, to base LIDs, each as fast as its cable. Where the cables of end ports
 * differ, one with units[t] > 1 counts as so many that share its table entries; what it sends may be divided. That
 * is the worst of all traffic in which no end port sends or receives more than it can. Routes that do not arrive
 * load nothing.
 *
 * All end ports of a switch share their routes, so sources are matched switch by switch: O(E) for each augmenting path
 * of a channel with E pairs of switch and destination, 64 of them at a time. A channel cannot carry more than
 * its sources or its destinations, which leaves few channels to be matched.
 */
#ifndef OSMROUTES_WORST_H
#define OSMROUTES_WORST_H

#include "traffic/survey.h"

/* How fast the cables are: rate[n_channels] > 0 Gb/s, units[n_terminals] of `unit` Gb/s for each end port, 0 for SP0. */
struct osr_rates {
	const uint32_t *rate, *units;
	uint32_t unit;
};

struct osr_worst {
	uint32_t channel; /* the busiest; OSR_NONE: no route crosses one */
	uint32_t flow;    /* units on it */
	double load;      /* their rate over that of the channel */
	/* The witness: [flow] of one unit each, ascending by `to`; the other end ports may do what they like. */
	struct osr_pair *pairs;
};

/* `routing` is finished and need not be checked. The pairs live in `arena`. */
enum osr_status osr_worst_find(const struct osr_fabric *fabric, const struct osr_routing *routing,
			       const struct osr_rates *rates, struct osr_arena *arena,
			       struct osr_arena *scratch, struct osr_worst *worst,
			       struct osr_diag *diag);

#endif

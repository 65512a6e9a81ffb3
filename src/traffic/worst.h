/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * worst.h - the permutation of end ports that loads one channel most, exactly.
 *
 * Source: Towles, Dally: Worst-case traffic for oblivious routing functions, SPAA 2002. The worst
 * traffic for a channel is a matching of greatest weight between sources and destinations, where a
 * pair weighs the share of its packets that cross the channel. With one path for each pair that is
 * 1 or 0, so it is the largest matching among the pairs whose route crosses the channel; the worst
 * of all channels is the worst of the routing.
 *
 * End ports of CAs and routers send and receive, to base LIDs, each as fast as its cable. If their
 * cables differ, an end port with units[t] > 1 counts as units[t] end ports with the same table
 * entries, so its traffic may be divided. This is the worst of all traffic in which no end port
 * sends or receives more than it can. Routes that do not arrive load nothing.
 *
 * All end ports of a switch share their routes, so sources are matched switch by switch: O(E) for
 * each augmenting path of a channel with E pairs of switch and destination, 64 of them at a time. A
 * channel cannot carry more than its sources or its destinations, which leaves few channels to be
 * matched.
 */
#ifndef OSMROUTES_WORST_H
#define OSMROUTES_WORST_H

#include "traffic/survey.h"

/*
 * How fast the cables are: rate[n_channels] > 0 Gb/s, units[n_terminals] of `unit` Gb/s for each
 * end port, 0 for SP0.
 */
struct osr_rates {
	const uint32_t *rate, *units;
	uint32_t unit;
};

struct osr_worst {
	uint32_t channel; /* the busiest; OSR_NONE: no route crosses one */
	uint32_t flow;    /* units on it */
	double load;      /* their rate divided by the rate of the channel */
	/*
	 * The witness: [flow] of one unit each, ascending by `to`; the other end ports may do what
	 * they like.
	 */
	struct osr_pair *pairs;
};

/* `routing` is finished and need not be checked. The pairs live in `arena`. */
enum osr_status osr_worst_find(const struct osr_fabric *fabric, const struct osr_routing *routing,
			       const struct osr_rates *rates, struct osr_arena *arena,
			       struct osr_arena *scratch, struct osr_worst *worst,
			       struct osr_diag *diag);

/*
 * The least load that the busiest channel of any routing by destination must carry under the worst
 * permutation: one path for each destination, which all end ports of a switch share. Load: Gb/s of
 * flows / rate.
 *
 * Let some routing keep to this load, so that no permutation brings more than W(c) units over
 * channel c. By König's theorem a set X(c) of sources and a set Y(c) of destinations, W(c) units
 * together, then cover all pairs whose route crosses c. With N units in all and p(s) of them on
 * switch s:
 *
 * 1. Cuts. A permutation sends min(n, N - n) units out of switches that have n: the channels that
 *    lead out must have as many in the sum of W.
 * 2. Injection. All p(s) units of s go to a destination by one channel. If that has W(c) < p(s),
 *    X(c) cannot hold them all, so the destination is in Y(c). If it is so for all channels that
 *    leave s, sum of W(c) >= N - p(s).
 * 3. Counting, after Borodin and Hopcroft (1985), Kaklamanis, Krizanc and Tsantilas (1991). For
 *    destination t, of switch r, let T be r and the switches whose channel towards t has t in Y. A
 *    route with t in Y of each of its channels begins in T. On any other route the last channel c
 *    without t in Y(c) ends in T, and the source is in X(c). So N is at most the sum over s in T of
 *    p(s) + I(s), where I(s) adds |X(c)| over the channels that enter s. Switch s is in T for at
 *    most p(s) + O(s) units t, where O(s) adds |Y(c)| over the channels that leave s. So N^2 is at
 *    most the sum over all s of (p(s) + O(s)) (p(s) + I(s)), and both factors are at most N. With
 *    O(s) and I(s) no more than B(s), the lesser of N - p(s) and the sum of W around s, O I <= (O +
 *    I) B / 2, and each channel a -> b adds no more than W(c) times the greater of p(a) + B(a) / 2
 *    and p(b) + B(b) / 2. Values within a component are summed, where there are several.
 *
 * The bound is the least load above which none of the three is broken, found by bisection over
 * whole units. O(log(units) * levels * (switches + channels)). 0 without hosts.
 */
enum osr_status osr_worst_bound(const struct osr_fabric *fabric, const struct osr_rates *rates,
				struct osr_arena *scratch, double *bound, struct osr_diag *diag);

#endif

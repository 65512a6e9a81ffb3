/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * bound.h - the least load that the busiest channel carries in any routing.
 *
 * Load is counted as check.h does: a route for each end port of a CA or router that sends, and each
 * LID of another one.
 */
#ifndef OSMROUTES_BOUND_H
#define OSMROUTES_BOUND_H

#include <osmroutes/routing.h>

/*
 * Cuts, in both directions: around single switches, and around the pieces that are left if the switches
 * from some distance to all hosts on are removed (in trees: the pods of every level). Good for any
 * routing, not only minimal ones. O(levels * (switches + channels)).
 */
enum osr_status osr_bound_cut(const struct osr_fabric *fabric, struct osr_arena *scratch,
			      uint64_t *bound, struct osr_diag *diag);

/*
 * The least load that the busiest channel of any routing by destination must carry under the worst permutation:
 * one path for each destination, which all end ports of a switch share. units[n_terminals]: what an end port sends
 * and receives, in units of `unit` Gb/s; rate[n_channels] > 0 Gb/s; load: Gb/s of flows / rate.
 *
 * Let some routing keep to this load, so that no permutation brings more than W(c) units over channel c. By König's
 * theorem a set X(c) of sources and a set Y(c) of destinations, W(c) units together, then cover all pairs whose route
 * crosses c. With N units in all and p(s) of them on switch s:
 *
 * 1. Cuts. A permutation sends min(n, N - n) units out of switches that have n: the channels that lead out must
 *    have as many in the sum of W.
 * 2. Injection. All p(s) units of s go to a destination by one channel. If that has W(c) < p(s), X(c) cannot hold
 *    them all, so the destination is in Y(c). If it is so for all channels that leave s, sum of W(c) >= N - p(s).
 * 3. Counting, after Borodin and Hopcroft (1985), Kaklamanis, Krizanc and Tsantilas (1991). For destination t, of
 *    switch r, let T be r and the switches whose channel towards t has t in Y. A route with t in Y of each of its
 *    channels begins in T. On any other route the last channel c without t in Y(c) ends in T, and the source is in
 *    X(c). So N is at most the sum over s in T of p(s) + I(s), where I(s) adds |X(c)| over the channels that enter s.
 *    Switch s is in T for at most p(s) + O(s) units t, where O(s) adds |Y(c)| over the channels that leave s. So N^2
 *    is at most the sum over all s of (p(s) + O(s)) (p(s) + I(s)), and both factors are at most N. With O(s) and I(s)
 *    no more than B(s), the lesser of N - p(s) and the sum of W around s,
 *    O I <= (O + I) B / 2, and each channel a -> b adds no more than W(c) times the greater of p(a) + B(a) / 2 and
 *    p(b) + B(b) / 2. What is within a component is summed, where there are several.
 *
 * The bound is the least load above which none of the three is broken, found by bisection over whole units.
 * O(log(units) * levels * (switches + channels)). 0 without hosts.
 */
enum osr_status osr_bound_permutation(const struct osr_fabric *fabric, const uint32_t *units,
				      uint32_t unit, const uint32_t *rate,
				      struct osr_arena *scratch, double *bound,
				      struct osr_diag *diag);

/*
 * The load that is said everywhere: efi_bound in JSON, "the least possible" for people. The best of the cuts,
 * of those around parts that a search finds (bridges among them), and of the mean if every route were as short
 * as it can be, so good for any routing, also one with longer routes.
 * O(switches^2 + diameter * switches * channels / 64), beside the cuts.
 */
enum osr_status osr_bound_load(const struct osr_fabric *fabric, struct osr_arena *scratch,
			       uint64_t *bound, struct osr_diag *diag);

/*
 * What a full route of fabric can be expected to reach, by one of another fabric, mostly of this one before a
 * fault: no better than that was against its own bound; then->load may be unknown. *least is
 * osr_bound_cut() of fabric.
 */
enum osr_status osr_bound_expected(const struct osr_fabric *fabric, const struct osr_result *then,
				   struct osr_arena *scratch, uint64_t *least, uint64_t *expected,
				   struct osr_diag *diag);

#endif

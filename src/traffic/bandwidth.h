/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * bandwidth.h - effective bisection bandwidth.
 *
 * The effective bisection bandwidth (eBB) is the mean bandwidth of pairs (congestion.h) over many
 * random bisections (Hoefler, Schneider, Lumsdaine: Multistage Switches are not Crossbars, Cluster
 * 2008). The hosts are the CAs; a packet goes to the base LID of its destination.
 *
 * Random bisection number k = 0, 1, ... of a seed: the list of all hosts in fabric order (the list
 * that bisection k-1 left, for k > 0) is shuffled (prng.h, one stream for all); with h = hosts /
 * 2, list[i] then sends to list[h + i] for all i < h. With an odd number of hosts the last one
 * rests.
 *
 * All sums are taken in an order that the numbers below fix, so the doubles are the same on every
 * machine.
 *
 * Time O(patterns * hosts * hops). Scratch: a few words per host and per channel.
 */
#ifndef OSMROUTES_BANDWIDTH_H
#define OSMROUTES_BANDWIDTH_H

#include "traffic/survey.h"

struct osr_bandwidth {
	uint32_t n_hosts;
	uint32_t n_patterns;
	uint32_t n_pairs;        /* of one pattern */
	uint64_t n_no_path;      /* pairs that lead nowhere, all patterns together */
	uint32_t max_congestion; /* of any channel in any pattern */
	double mean;             /* eBB: the mean over patterns of their means over pairs */
	/*
	 * 95 % confidence: 1.96 standard errors of the means of the patterns, so the expected mean
	 * lies within mean +- half_width, if there are dozens of patterns. 0 for a single pattern.
	 */
	double half_width;
	double worst, best; /* means of single patterns */
};

/*
 * n_patterns > 0 random bisections: makes the survey (survey.h) that workers walk; phases and what `in` points at in
 * `arena` must outlive it. `routing` is finished (ports, not hops) and need not be checked: the survey reports a loop
 * (OSR_CHECK_FAILED), anything else that does not arrive counts in n_no_path. OSR_NOT_APPLICABLE if there are fewer
 * than two hosts. Its result goes into bandwidth.
 */
enum osr_status osr_bandwidth_prepare(const struct osr_fabric *fabric,
				      const struct osr_routing *routing, uint32_t n_patterns,
				      uint64_t seed, struct osr_arena *arena,
				      struct osr_phases *phases, struct osr_survey_in *in,
				      struct osr_bandwidth *bandwidth, struct osr_diag *diag);
void osr_bandwidth_fill(const struct osr_survey_sum *sum, struct osr_bandwidth *bandwidth);

#endif

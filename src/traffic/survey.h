/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * survey.h - traffic: pairs of senders and receivers, phase by phase, and their cost on a routing,
 * under one or many rankings.
 *
 * Ranks 0 .. n_ranks-1 are the processes of one program; the caller places them on hosts.
 * Communication patterns are written by share/examples/traffic-patterns. The pairs of a phase send
 * at once, each along its route; the next phase begins when all have arrived. The congestion of a
 * channel is how many routes cross it. The cables of end ports count as channels, one for each
 * direction; link rates are not looked at.
 *
 * - The bandwidth of a pair is 1 / the largest congestion on its path (Schneider, Hoefler,
 *   Lumsdaine: ORCS, Indiana University TR 675, 2009). A pair whose table entries lead nowhere
 *   gets 0.
 * - The hot spot degree of a phase is the largest congestion of any channel (Zahavi, D-Mod-K,
 *   section II).
 *
 * A meter is memory to walk on; one thread uses one at a time. It walks all pairs in step, so
 * O(pairs * hops), twice if bandwidth is asked for.
 *
 * A run puts the ranks of a sequence on a list of hosts, rank i on hosts[i], and measures every
 * phase. With `shuffle` each run shuffles the list that the run before it left (prng.h), so run k
 * of a seed is the same whatever is measured.
 *
 * A survey may be walked by several workers at once:
 *
 *	osr_survey_init(&s, &in, &arena, diag);
 *	osr_worker_init(&w[i], &s, &arena_of_i, diag);			for each worker
 *	while (osr_survey_take(&s, &w[i]))			one worker at a time: lock it
 *		st = osr_worker_run(&w[i], diag);			all at once
 *	osr_survey_sum(&s, &sum);
 *
 * Results have their places, and sums are taken in the order of the phases: the number of workers
 * changes nothing.
 */
#ifndef OSMROUTES_SURVEY_H
#define OSMROUTES_SURVEY_H

#include <osmroutes/prng.h>
#include <osmroutes/routing.h>

#define OSR_MAX_RANKS (UINT32_C(1) << 20)

/* Ranks here; elsewhere terminals, of any role. Both ends are different. */
struct osr_pair {
	uint32_t from, to;
};

/*
 * The pairs of phase k are pair[row[k]] .. pair[row[k + 1] - 1], both ends different and below
 * n_ranks.
 */
struct osr_phases {
	uint32_t n_ranks;
	uint32_t n_phases;
	const uint32_t *row; /* [n_phases + 1] */
	const struct osr_pair *pair;
};

struct osr_meter {
	const struct osr_fabric *fabric;
	const struct osr_routing *routing;
	uint32_t max_pairs;
	uint32_t n_pairs; /* of the phase at hand */

	/*
	 * After osr_meter_phase(): flows on each channel, out of each end port and into it. With
	 * bandwidth also the congestion of each pair, 0 for a pair without a path.
	 */
	uint32_t *load;     /* [n_channels] */
	uint32_t *sends;    /* [n_terminals] */
	uint32_t *receives; /* [n_terminals] */
	uint32_t *worst;    /* [n_pairs] */

	uint32_t *crossed; /* [n_channels + 1] the n_crossed channels that carry flows */
	uint32_t n_crossed;
	uint32_t *from, *dest, *at, *walking; /* [max_pairs] */
	uint32_t *n_worst;                    /* [max_pairs + 1] */
};

/* The result of a phase. */
struct osr_crossing {
	uint32_t n_pairs;
	uint32_t n_no_path; /* pairs that lead nowhere; they load the channels crossed */
	uint32_t hsd;       /* hot spot degree; 0 without pairs */
	double bandwidth;   /* sum over the pairs; 0 if not asked for */
};

/* Memory for phases of up to max_pairs pairs; lives in `arena`. */
enum osr_status osr_meter_init(struct osr_meter *meter, const struct osr_fabric *fabric,
			       const struct osr_routing *routing, uint32_t max_pairs,
			       struct osr_arena *arena, struct osr_diag *diag);

/*
 * One phase. pairs[n_pairs] are terminals, both ends different; an end port may send or receive
 * several times, to base LIDs. `r` is finished and need not be checked: a loop is reported
 * (OSR_CHECK_FAILED). Sums are taken by congestion, from 1 upwards, so the double is the same on
 * every machine.
 */
enum osr_status osr_meter_phase(struct osr_meter *meter, const struct osr_pair *pairs,
				uint32_t n_pairs, bool bandwidth, struct osr_crossing *crossing,
				struct osr_diag *diag);

struct osr_survey_in {
	const struct osr_fabric *fabric;
	const struct osr_routing *routing; /* finished; need not be checked */
	const struct osr_phases *phases;
	const uint32_t *hosts; /* [n_hosts] terminals, all different */
	uint32_t n_hosts;      /* phases->n_ranks or more: the first of the (shuffled) list */
	uint32_t n_runs;
	bool shuffle;
	bool bandwidth; /* else hot spot degrees alone, in half the time */
	uint64_t seed;
};

struct osr_survey {
	struct osr_survey_in in;
	struct osr_prng prng;
	uint32_t *list;              /* [n_hosts] hosts of the run at hand */
	uint64_t n_taken, n_all;     /* phases of all runs */
	struct osr_crossing *result; /* [n_all] */
};

struct osr_worker {
	struct osr_survey *survey;
	struct osr_meter meter;
	struct osr_pair *pairs; /* [n_pairs] of a phase, as terminals */
	uint32_t n_pairs;
	uint64_t at; /* index of the phase in result */
};

/* OSR_INVAL: no phase, no run, or more than 2^32 phases. */
enum osr_status osr_survey_init(struct osr_survey *survey, const struct osr_survey_in *in,
				struct osr_arena *arena, struct osr_diag *diag);
enum osr_status osr_worker_init(struct osr_worker *worker, struct osr_survey *survey,
				struct osr_arena *arena, struct osr_diag *diag);
bool osr_survey_take(struct osr_survey *survey, struct osr_worker *worker);
enum osr_status osr_worker_run(struct osr_worker *worker, struct osr_diag *diag);

/* A figure of one run: its mean over the runs, and their range. */
struct osr_spread {
	double mean;
	/*
	 * 95 % confidence: 1.96 standard errors of the runs, so the expected mean lies within
	 * mean +- half_width, if there are dozens of runs. 0 for one.
	 */
	double half_width;
	double min, max;
};

struct osr_survey_sum {
	uint32_t n_runs;
	uint32_t n_phases; /* of a run */
	uint64_t n_pairs;  /* of all runs */
	uint64_t n_no_path;
	uint32_t max_congestion;
	struct osr_spread bandwidth; /* of a run: the mean over all its pairs */
	struct osr_spread hsd;       /* of a run: the mean over its phases that have pairs */
	struct osr_spread hsd_sum;   /* of a run: their sum, ORCS's sum_max_cong */
};

/* After all phases have been run. */
void osr_survey_sum(const struct osr_survey *survey, struct osr_survey_sum *sum);

/* The CAs of a fabric in its order, by switch and port; returns how many. hosts[n_terminals]. */
uint32_t osr_survey_hosts(const struct osr_fabric *fabric, uint32_t *hosts);

/*
 * Effective bisection bandwidth (eBB): the mean bandwidth of pairs over n_patterns > 0 random
 * bisections (Hoefler, Schneider, Lumsdaine: Multistage Switches are not Crossbars, Cluster 2008),
 * which is bandwidth.mean of this survey. The hosts are the CAs; packets go to base LIDs. Of the
 * shuffled list of a run the first half sends to the second one; an odd host rests. phases and what
 * `in` points at, in `arena`, must outlive it. OSR_NOT_APPLICABLE: fewer than two hosts.
 */
enum osr_status osr_survey_bisections(const struct osr_fabric *fabric,
				      const struct osr_routing *routing, uint32_t n_patterns,
				      uint64_t seed, struct osr_arena *arena,
				      struct osr_phases *phases, struct osr_survey_in *in,
				      struct osr_diag *diag);

#endif

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * survey.h - a sequence of phases, measured on a routing under one or many rankings.
 *
 * A run puts the ranks of a sequence on a list of hosts, rank i on hosts[i], and measures every
 * phase. With `shuffle` each run shuffles the list that the run before it left (prng.h), so run k
 * of a seed is the same whatever is measured. A pattern that is random draws its phases from the
 * same stream, behind the shuffle of its run.
 *
 * A survey may be walked by several workers at once:
 *
 *	osr_survey_init(&s, &in, &arena, diag);
 *	osr_worker_init(&w[i], &s, &arena_of_i, diag);			for each worker
 *	while (osr_survey_take(&s, &w[i]))				one worker at a time: lock it
 *		st = osr_worker_run(&w[i], diag);			all at once
 *	osr_survey_sum(&s, &sum);
 *
 * Results have their places, and sums are taken in the order of the phases: the number of workers
 * changes nothing.
 */
#ifndef OSMROUTES_SURVEY_H
#define OSMROUTES_SURVEY_H

#include <osmroutes/prng.h>

#include "traffic/congestion.h"

struct osr_survey_in {
	const struct osr_fabric *f;
	const struct osr_routing *r; /* finished; need not be checked */
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
enum osr_status osr_survey_init(struct osr_survey *s, const struct osr_survey_in *in,
				struct osr_arena *arena, struct osr_diag *diag);
enum osr_status osr_worker_init(struct osr_worker *worker, struct osr_survey *s,
				struct osr_arena *arena, struct osr_diag *diag);
bool osr_survey_take(struct osr_survey *s, struct osr_worker *worker);
enum osr_status osr_worker_run(struct osr_worker *worker, struct osr_diag *diag);

/* A figure of one run: its mean over the runs, and what the runs had. */
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
void osr_survey_sum(const struct osr_survey *s, struct osr_survey_sum *sum);

/* The CAs of a fabric in its order, by switch and port; returns how many. hosts[n_terminals]. */
uint32_t osr_survey_hosts(const struct osr_fabric *fabric, uint32_t *hosts);

/*
 * Effective bisection bandwidth (eBB): the mean bandwidth of pairs (congestion.h) over n_patterns > 0
 * random bisections (Hoefler, Schneider, Lumsdaine: Multistage Switches are not Crossbars, Cluster
 * 2008), which is bandwidth.mean of this survey. The hosts are the CAs; packets go to base LIDs. Of the
 * shuffled list of a run the first half sends to the second one; an odd host rests. phases and what `in`
 * points at, in `arena`, must outlive it. OSR_NOT_APPLICABLE: fewer than two hosts.
 */
enum osr_status osr_survey_bisections(const struct osr_fabric *fabric,
				      const struct osr_routing *routing, uint32_t n_patterns,
				      uint64_t seed, struct osr_arena *arena,
				      struct osr_phases *phases, struct osr_survey_in *in,
				      struct osr_diag *diag);

#endif

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * analysis.h - everything that is measured of one set of tables: the verdict, loads of the
 * channels, random bisections.
 */
#ifndef OSR_CLI_ANALYSIS_H
#define OSR_CLI_ANALYSIS_H

#include <stdio.h>

#include "core/verify/verdict.h"
#include "cli/cli.h"
#include "cli/input.h"
#include "cli/source.h"
#include "io/trafficfile.h"
#include "cli/output.h"
#include "cli/pool.h"
#include "traffic/worst.h"

/* How all sub-commands say a verdict: the same keys, the same words, the same exit code. */

/* Fields of a row that cli_answers_say() sets. */
#define CLI_ANSWER_FIELDS                                                                          \
	{ "verdict", "verdict", OUT_TEXT, 0 },                                                     \
		{ "answers.reach", "  every LID is reached", OUT_TEXT, 0 },                        \
		{ "answers.no_loops", "  free of forwarding loops", OUT_TEXT, 0 },                 \
		{ "answers.lanes", "  no SL is dropped", OUT_TEXT, 0 },                            \
		{ "answers.groups", "  multicast arrives once", OUT_TEXT, 0 },                     \
		{ "answers.one_way", "deadlock-free", OUT_TEXT, 0 },                               \
		{ "answers.multicast", "  also with multicast", OUT_TEXT, 0 },                     \
		{ "answers.replies", "  also for replies", OUT_TEXT, 0 },                          \
		{ "answers.sl0", "  all traffic on SL 0", OUT_TEXT, 0 },                           \
	{                                                                                          \
		"answers.any_sl", "  on any SL", OUT_TEXT, 0                                       \
	}

/*
 * Into the current row, and a line for people if the verdict is not "proven". CLI_BAD if it is
 * "refuted". `name`: whose tables, or NULL.
 */
int cli_answers_say(struct out *out, const char *name, const struct osr_findings *found,
		    uint32_t required);

/*
 * Credit loops, a row for each step: fields of a section "loops", of several tables, and of a section
 * "loop".
 */
extern const struct out_field cli_loops_fields[];
#define cli_loop_fields (cli_loops_fields + 1)

/* The rows of "loops" if `name` is given, else of "loop". */
void cli_loop_say(struct out *out, const char *name, const struct osr_fabric *fabric,
		  const struct osr_loop *loop);
/* The credit loop that is worth showing, if there is one. */
void cli_answers_witness(struct out *out, const char *name, const struct osr_fabric *fabric,
			 const struct osr_findings *found, uint32_t required);

/*
 * The traffic that a sub-command measures: random bisections, and traffic files, each on hosts in
 * some order.
 */

#define CLI_MAX_TRAFFIC 64

struct cli_traffic {
	const char *path[CLI_MAX_TRAFFIC]; /* [n_flows] of the files */
	struct osr_traffic file[CLI_MAX_TRAFFIC];
	uint32_t n_flows;
	uint32_t n_bisections;
	uint32_t n_runs; /* of random rankings */
	uint64_t seed;
	const char *hosts_path;
	struct cli_pool pool;

	struct osr_arena arena;
	uint32_t *hosts, n_hosts; /* [n_hosts] in rank order */
};

#define CLI_TRAFFIC_INIT                                                                           \
	{                                                                                          \
		.n_bisections = 1000, .n_runs = 25, .seed = 1                                      \
	}

/* All of it; and --bisections and --threads alone; both for a struct cli_traffic. */
extern const struct cli_spec traffic_spec, bisections_spec;

/* Fields of a section of rows, one for each set of tables, pattern and ranking. */
extern const struct out_field cli_traffic_fields[];

enum osr_status cli_traffic_load(struct cli_traffic *traffic, const struct osr_fabric *fabric,
				 struct osr_diag *diag);
void cli_traffic_free(struct cli_traffic *traffic);

/* Rows of the section "patterns" of `out`. */
enum osr_status cli_traffic_measure(const struct cli_traffic *traffic,
				    const struct osr_fabric *fabric,
				    const struct osr_routing *routing, const char *tables,
				    struct out *out, struct osr_diag *diag);

/*
 * --worst[=FILE]: the permutation of end ports that loads one cable most, and what no routing can
 * do better (traffic/worst.h, core/paths/bound.h).
 */

struct cli_worst {
	bool asked;
	const char *path; /* of the traffic file, or NULL */
	FILE *file;
	struct osr_rates rates;
	struct osr_arena arena;
};

struct cli_worst_of {
	const char *tables;
	const struct osr_fabric *f;
	struct osr_worst worst;
	double bound;  /* of the load */
	uint32_t gbps; /* of one flow */
};

extern const struct cli_spec worst_spec;

#define CLI_WORST_FIELDS                                                                           \
	{ "worst.share", "worst permutation, rate left", OUT_REAL, 4 },                            \
		{ "worst.share_bound", "  no tables leave more than", OUT_REAL, 4 },               \
		{ "worst.flows", "  flows on one cable", OUT_COUNT },                              \
		{ "worst.gbps", NULL, OUT_COUNT },                                                 \
	{                                                                                          \
		"worst.cable", "  the cable", OUT_TEXT                                             \
	}

/* Rates of the cables; opens the file. Nothing, and no answer below, if it was not asked for. */
enum osr_status cli_worst_load(struct cli_worst *worst, const struct cli_input *in,
			       struct osr_diag *diag);
void cli_worst_say(struct out *out, const struct cli_worst_of *of);
enum osr_status cli_worst_free(struct cli_worst *worst, struct osr_diag *diag);

/* 1 / load, and 1 where the cables carry it all. */
static inline double cli_worst_share(double load)
{
	return load > 1 ? 1 / load : 1;
}

struct cli_analysis {
	/*
	 * OSR_OK; OSR_CHECK_FAILED: the verdict is "refuted", and there are figures; anything else:
	 * there are none.
	 */
	enum osr_status st;
	struct osr_diag diag;
	struct osr_findings found; /* with figures */
	bool has_figures;
	uint64_t least; /* load of any channel */
	/*
	 * Mean load of a routing whose routes are all minimal, and the deviation metric of the Angara
	 * paper (Mukosey, Semenov, Simonov; section 2): sigma(4), the mean of (perfect - load)^4 over
	 * all channels, to the power of 1/4.
	 */
	double perfect, sigma;
	double mean_hops;                 /* channels of a route between hosts */
	struct osr_survey_sum bisections; /* n_runs = 0: not asked for, or no two hosts */
	struct cli_worst_of worst;        /* f = NULL: not asked for */
	struct cli_stamp check;           /* of the sweep and of what it has left open */
	double bandwidth_ms;
};

/*
 * What a sweep has checked is not searched again; witnesses live in t->arena. name: of the tables.
 */
void cli_analyze_tables(const struct cli_traffic *traffic, struct cli_worst *worst,
			const char *name, const struct osr_fabric *fabric,
			struct cli_tables *tables, struct cli_analysis *analysis);

#endif

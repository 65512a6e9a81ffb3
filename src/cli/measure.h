/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * measure.h - what `route` measures of one set of tables: the verdict and the loads of the channels, bisections and
 * traffic files, and the worst permutation.
 */
#ifndef OSR_CLI_MEASURE_H
#define OSR_CLI_MEASURE_H

#include <stdio.h>

#include "cli/source.h"
#include "io/trafficfile.h"
#include "traffic/survey.h"
#include "traffic/worst.h"

/* The traffic that is measured: random bisections, and traffic files, each on hosts in some order. */

#define CLI_TRAFFIC_MAX 64

struct cli_traffic {
	const char *path[CLI_TRAFFIC_MAX]; /* [n_flows] of the files */
	struct osr_traffic file[CLI_TRAFFIC_MAX];
	uint32_t n_flows;
	uint32_t n_bisections;
	uint32_t n_runs; /* of random rankings */
	uint64_t seed;
	const char *hosts_path;
	struct cli_pool pool;

	struct osr_arena arena;
	uint32_t *hosts, n_hosts; /* [n_hosts] in rank order */
};

#define CLI_TRAFFIC                                                                                \
	{                                                                                          \
		.n_bisections = 1000, .n_runs = 25, .seed = 1                                      \
	}

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
	struct osr_worst worst;
	double bound;  /* of the load */
	uint32_t gbps; /* of one flow; 0: not asked for */
};

/* Everything that is measured of one set of tables: the verdict, loads of the channels, bisections. */
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

extern const struct cli_spec cli_bisections_spec; /* of struct cli_traffic, as the next one */
extern const struct cli_spec cli_traffic_spec;
extern const struct cli_spec cli_worst_spec; /* of struct cli_worst */
extern const struct out_field cli_traffic_fields[];

/* Reads the files and the hosts of the ranks. cli_traffic_free() in any case. */
enum osr_status cli_traffic_load(struct cli_traffic *traffic, const struct osr_fabric *fabric,
				 struct osr_diag *diag);
void cli_traffic_free(struct cli_traffic *traffic);
/* A row of `patterns` for each traffic file, in the order of its ranks and in random ones. */
enum osr_status cli_traffic_measure(const struct cli_traffic *traffic,
				    const struct osr_fabric *fabric,
				    const struct osr_routing *routing, const char *tables,
				    struct out *out, struct osr_diag *diag);

/* Rates of cables and end ports, and the file. cli_worst_free() in any case; it fails where the file was not written. */
enum osr_status cli_worst_load(struct cli_worst *worst, const struct cli_input *in,
			       struct osr_diag *diag);
enum osr_status cli_worst_free(struct cli_worst *worst, struct osr_diag *diag);
void cli_worst_say(struct out *out, const struct osr_fabric *f, const struct cli_worst_of *of);

/* Verdict, loads, bisections and the worst permutation of these tables into *analysis. */
void cli_analyze(const struct cli_traffic *traffic, struct cli_worst *worst, const char *name,
		 const struct osr_fabric *fabric, struct cli_tables *tables,
		 struct cli_analysis *analysis);

#endif

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * measure.h - what `route` and `report` find out about tables: verdict, loads, bisections, traffic
 * files, the worst permutation; a row of section "results" for each set.
 *
 *	st = cli_measure_load(&m, &run->in, diag);		with measure_spec as a part
 *	struct cli_measured o = { .name = "dfsssp" };		and o.t made
 *	st = cli_measure(&m, reference, &o, &run->out, diag);
 *	run->code = cli_measured_say(&run->out, &o);
 *	st = cli_measure_free(&m, diag);
 */
#ifndef OSR_CLI_MEASURE_H
#define OSR_CLI_MEASURE_H

#include "cli/keep.h"
#include "cli/load.h"
#include "cli/source.h"
#include "cli/verdicts.h"
#include "io/trafficfile.h"
#include "traffic/changes.h"
#include "traffic/survey.h"
#include "traffic/worst.h"

#define CLI_MAX_TRAFFIC 64

struct cli_measure {
	/* Traffic files, each on hosts in some order, and random bisections. */
	const char *path[CLI_MAX_TRAFFIC];
	struct osr_traffic file[CLI_MAX_TRAFFIC];
	uint32_t n_flows, n_bisections;
	uint32_t n_runs; /* of random rankings */
	uint64_t seed;
	const char *hosts_path;
	struct cli_pool pool;
	bool compares; /* there are several tables: what is each worth? */
	/*
	 * The permutation that loads one cable most (traffic/worst.h), into this traffic file, or
	 * NULL.
	 */
	bool worst;
	const char *worst_path;

	const struct cli_input *in;
	const struct osr_fabric *fabric; /* of that */
	uint32_t *hosts, n_hosts;        /* [n_hosts] in rank order */
	struct cli_bounds bounds;
	struct osr_rates rates;
	FILE *worst_file;
	struct osr_arena arena;
};

#define CLI_BISECTIONS_BY_SIZE UINT32_MAX /* until the fabric is known */
#define CLI_MEASURE_INIT                                                                           \
	{                                                                                          \
		.n_bisections = CLI_BISECTIONS_BY_SIZE, .n_runs = 25, .seed = 1                    \
	}

/* One engine's work on the fabric, or one file's tables. */
struct cli_measured {
	const char *name;
	const struct osr_fabric *fabric;
	struct cli_tables tables;
	struct cli_stored previous; /* that they start from */
	/*
	 * OSR_OK; OSR_CHECK_FAILED of tables that are there: their verdict is "refuted", and there
	 * are figures.
	 */
	enum osr_status st;
	struct osr_diag diag;
	struct cli_verdicts found; /* with figures */
	bool has_figures;
	uint64_t least; /* load of any channel */
	/*
	 * Mean load of a routing whose routes are all minimal, and the deviation metric of the
	 * Angara paper (Mukosey, Semenov, Simonov; section 2): sigma(4), the mean of (perfect -
	 * load)^4 over all channels, to the power of 1/4.
	 */
	double perfect, sigma;
	double mean_hops;                 /* channels of a route between hosts */
	struct osr_survey_sum bisections; /* n_runs = 0: not asked for, or no two hosts */
	struct osr_worth worth; /* of tables that are not refuted, if several are compared */
	struct osr_worst worst;
	double worst_bound;     /* of its load */
	uint32_t worst_gbps;    /* of one flow; 0: not asked for */
	struct cli_stamp check; /* of the sweep and of what it has left open */
	double bandwidth_ms;
	bool compared;
	struct osr_changes changes;
	struct cli_load load;
	double pairs_share; /* to be said */
	uint64_t n_lost;
	size_t memory_kb;
};

extern const struct cli_spec measure_spec; /* --bisections, --worst, --threads */

/* Files, hosts and the least load possible. The net is needed for --worst alone. */
enum osr_status cli_measure_load(struct cli_measure *measure, const struct cli_input *in,
				 struct osr_diag *diag);
/*
 * Figures of measured->t, unless that has failed; rows of "patterns" into `out`. What they are
 * compared with may be NULL.
 */
enum osr_status cli_measure(struct cli_measure *measure, const struct cli_measured *reference,
			    struct cli_measured *measured, struct out *out, struct osr_diag *diag);
/* OSR_INVAL: the file of the worst permutation could not be written. */
enum osr_status cli_measure_free(struct cli_measure *measure, struct osr_diag *diag);

/* Rows of "results", "hops" and "loops", with these fields; the exit code. */
extern const struct out_field cli_result_fields[], cli_hop_fields[], cli_traffic_fields[];
int cli_measured_say(struct out *out, const struct cli_measured *measured);

#endif

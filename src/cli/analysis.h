/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * analysis.h - everything that is measured of one set of tables: the checker's verdict, loads of the
 * channels, random bisections.
 */
#ifndef OSR_CLI_ANALYSIS_H
#define OSR_CLI_ANALYSIS_H

#include <osmroutes/check.h>
#include <osmroutes/loads.h>

#include "cli/input.h"
#include "cli/subject.h"
#include "cli/traffic.h"

struct cli_analysis {
	/*
	 * OSR_OK; OSR_CHECK_FAILED: all but the checker's figures can still be there; anything else:
	 * nothing is.
	 */
	enum osr_status st;
	struct osr_diag diag;
	struct osr_verdict verdict;
	bool has_loads;
	struct osr_balance balance;
	uint64_t hops[OSR_LOADS_MAX_HOPS + 1], n_routes, n_lost; /* between hosts */
	struct osr_bandwidth bandwidth; /* n_patterns = 0: not asked for, or no two hosts */
	double check_ms, bandwidth_ms;
};

/*
 * For argp: the options of all commands that measure. The inputs of these four are a struct
 * cli_input, cli_subjects, cli_traffic and out.
 */
extern const struct argp_child cli_analysis_children[];

/* Tables of a sweep are checked already. k: exponent of the deviation metric. */
void cli_analyze_tables(const struct cli_traffic *traffic, const struct osr_fabric *f,
			const struct cli_tables *t, uint32_t k, struct cli_analysis *a);

/* Channels of a route between hosts, mean. */
double cli_mean_hops(const struct cli_analysis *a);

#endif

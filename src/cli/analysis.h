/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * analysis.h - everything that is measured of one set of tables: the verdict, loads of the
 * channels, random bisections.
 */
#ifndef OSR_CLI_ANALYSIS_H
#define OSR_CLI_ANALYSIS_H

#include "traffic/loads.h"

#include "cli/answers.h"
#include "cli/cli.h"
#include "cli/input.h"
#include "cli/subject.h"
#include "cli/traffic.h"
#include "cli/worst_case.h"

struct cli_analysis {
	/*
	 * OSR_OK; OSR_CHECK_FAILED: the verdict is "refuted", and there are figures; anything else:
	 * there are none.
	 */
	enum osr_status st;
	struct osr_diag diag;
	struct osr_findings found;
	uint64_t n_from, n_longer; /* routes from switches; longer than minimal */
	uint32_t max_hops, max_longer;
	bool has_loads;
	struct osr_balance balance;
	uint64_t hops[OSR_LOADS_MAX_HOPS + 1], n_routes, n_lost; /* between hosts */
	struct osr_bandwidth bandwidth; /* n_patterns = 0: not asked for, or no two hosts */
	struct cli_worst_of worst;      /* f = NULL: not asked for */
	struct cli_stamp check;         /* of the sweep and of what it has left open */
	double bandwidth_ms;
};

/*
 * What a sweep has checked is not searched again; witnesses live in t->arena. name: of the tables.
 */
void cli_analyze_tables(const struct cli_traffic *traffic, struct cli_worst *worst,
			const char *name, const struct osr_fabric *fabric,
			struct cli_tables *tables, struct cli_analysis *analysis);

/* Channels of a route between hosts, mean. */
double cli_mean_hops(const struct cli_analysis *analysis);

#endif

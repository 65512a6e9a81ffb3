/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * traffic.h - the traffic that a sub-command measures: random bisections, and traffic files, each
 * on hosts in some order.
 *
 *	struct args a = { .traffic = CLI_TRAFFIC_INIT };
 *	argp_parse() with traffic_argp as a child, whose input is &a.traffic
 *	st = cli_traffic_load(&a.traffic, &fabric, &diag);	// files, hosts
 *	st = cli_traffic_bisect(&a.traffic, &fabric, &routing, &bandwidth, &diag);
 *	st = cli_traffic_measure(&a.traffic, &fabric, &routing, "dfsssp", &a.out, &diag);
 *	cli_traffic_free(&a.traffic);
 */
#ifndef OSR_CLI_TRAFFIC_H
#define OSR_CLI_TRAFFIC_H

#include "io/trafficfile.h"
#include "traffic/bandwidth.h"

#include "cli/output.h"
#include "cli/pool.h"

#define CLI_MAX_TRAFFIC 64

/* One file. */
struct cli_flow {
	const char *path;
	struct osr_traffic *file;
};

struct cli_traffic {
	struct cli_flow flow[CLI_MAX_TRAFFIC];
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

/* All of it; and --bisections and --threads alone, with the same input. */
extern const struct argp traffic_argp, bisections_argp;

/* Fields of a section of rows, one for each set of tables, pattern and ranking. */
#define CLI_TRAFFIC_FIELDS                                                                         \
	{ "tables", "tables of", OUT_TEXT, 0 }, { "pattern", "pattern", OUT_TEXT, 0 },             \
		{ "ranking", "ranking", OUT_TEXT, 0 }, { "ranks", "ranks", OUT_COUNT, 0 },         \
		{ "phases", "phases", OUT_COUNT, 0 }, { "runs", "runs", OUT_COUNT, 0 },            \
		{ "hsd", "hot spot", OUT_REAL, 3 }, { "hsd_half_width", "+-", OUT_REAL, 3 },       \
		{ "hsd_min", "least", OUT_REAL, 3 }, { "hsd_max", "most", OUT_REAL, 3 },           \
		{ "hsd_sum", NULL, OUT_REAL, 1 }, { "max_congestion", "worst", OUT_COUNT, 0 },     \
		{ "bandwidth", "bandwidth", OUT_REAL, 4 },                                         \
		{ "bandwidth_half_width", "+-", OUT_REAL, 4 },                                     \
		{ "bandwidth_min", NULL, OUT_REAL, 4 }, { "bandwidth_max", NULL, OUT_REAL, 4 },    \
		{ "pairs", NULL, OUT_COUNT, 0 }, { "pairs_no_path", "lost", OUT_COUNT, 0 },        \
	{                                                                                          \
		"cpu_ms", NULL, OUT_REAL, 1                                                        \
	}

enum osr_status cli_traffic_load(struct cli_traffic *traffic, const struct osr_fabric *fabric,
				 struct osr_diag *diag);
void cli_traffic_free(struct cli_traffic *traffic);

/* b->n_patterns = 0 if none were asked for. */
enum osr_status cli_traffic_bisect(const struct cli_traffic *traffic,
				   const struct osr_fabric *fabric,
				   const struct osr_routing *routing,
				   struct osr_bandwidth *bandwidth, struct osr_diag *diag);

/* Rows of the section "patterns" of `out`. */
enum osr_status cli_traffic_measure(const struct cli_traffic *traffic,
				    const struct osr_fabric *fabric,
				    const struct osr_routing *routing, const char *tables,
				    struct out *out, struct osr_diag *diag);

#endif

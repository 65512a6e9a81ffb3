/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "cli/traffic.h"

#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"

/* ---- the command line ----------------------------------------------------------------------- */

enum {
	OPT_BISECTIONS = 0x5000,
	OPT_TRAFFIC,
	OPT_HOSTS,
	OPT_RUNS,
	OPT_SEED,
};

static const struct argp_option bisections_options[] = {
	{ "bisections", OPT_BISECTIONS, "N", 0, "random bisections, 0 for none (default 1000)", 0 },
	{ NULL, 0, NULL, 0, NULL, 0 }
};

static const struct argp_option options[] = {
	{ "traffic", OPT_TRAFFIC, "FILE", 0, "phases of a traffic file, may be repeated", 0 },
	{ "hosts", OPT_HOSTS, "FILE", 0,
	  "hosts of the ranks, one a line, rank 0 first (default: all, in the order of the fabric)",
	  0 },
	{ "runs", OPT_RUNS, "N", 0,
	  "random orders of the ranks on the hosts, besides the one given (default 25)", 0 },
	{ "seed", OPT_SEED, "N", 0, "start of all random numbers (default 1)", 0 },
	{ NULL, 0, NULL, 0, NULL, 0 }
};

static void traffic_add(struct cli_traffic *traffic, const char *path, struct argp_state *state)
{
	if (traffic->n_flows == CLI_MAX_TRAFFIC)
		argp_error(state, "at most %d traffic files", CLI_MAX_TRAFFIC);
	traffic->flow[traffic->n_flows++] = (struct cli_flow){ .path = path };
}

static error_t bisections_parse(int key, char *arg, struct argp_state *state)
{
	struct cli_traffic *traffic = state->input;

	switch (key) {
	case OPT_BISECTIONS:
		traffic->n_bisections =
			(uint32_t)cli_take_number(arg, "bisections", 0, 10000000, state);
		return 0;
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &traffic->pool;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp_child pool_child[] = { { .argp = &pool_argp }, { NULL } };
const struct argp bisections_argp = { .options = bisections_options,
				      .parser = bisections_parse,
				      .children = pool_child };

static error_t traffic_parse(int key, char *arg, struct argp_state *state)
{
	struct cli_traffic *traffic = state->input;

	switch (key) {
	case OPT_TRAFFIC:
		traffic_add(traffic, arg, state);
		return 0;
	case OPT_HOSTS:
		traffic->hosts_path = arg;
		return 0;
	case OPT_RUNS:
		traffic->n_runs = (uint32_t)cli_take_number(arg, "runs", 0, 1000000, state);
		return 0;
	case OPT_SEED:
		traffic->seed = (uint64_t)cli_take_number(arg, "seed", 0, INT64_MAX, state);
		return 0;
	case ARGP_KEY_INIT:
		state->child_inputs[0] = traffic;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp_child bisections_child[] = { { .argp = &bisections_argp }, { NULL } };
const struct argp traffic_argp = { .options = options,
				   .parser = traffic_parse,
				   .children = bisections_child };

/* ---- reading -------------------------------------------------------------------------------- */

static enum osr_status load_hosts(struct cli_traffic *traffic, const struct osr_fabric *fabric,
				  struct osr_endports *endports, struct osr_diag *diag)
{
	traffic->hosts = osr_alloc(&traffic->arena, fabric->n_terminals, sizeof(*traffic->hosts));
	if (osr_arena_failed(&traffic->arena, diag))
		return OSR_NOMEM;
	if (traffic->hosts_path)
		return osr_hostlist_read(traffic->hosts_path, endports, traffic->hosts,
					 &traffic->n_hosts, diag);
	traffic->n_hosts = osr_survey_hosts(fabric, traffic->hosts);
	return OSR_OK;
}

static enum osr_status load_file(struct cli_flow *flow, struct osr_endports *endports,
				 struct osr_diag *diag)
{
	flow->file = calloc(1, sizeof(*flow->file));
	if (!flow->file)
		return osr_fail(diag, OSR_NOMEM, "%s: out of memory", flow->path);
	return osr_traffic_read(flow->path, endports, flow->file, diag);
}

enum osr_status cli_traffic_load(struct cli_traffic *traffic, const struct osr_fabric *fabric,
				 struct osr_diag *diag)
{
	struct osr_endports endports;
	enum osr_status st = osr_endports_init(&endports, fabric, &traffic->arena, diag);

	if (!st)
		st = load_hosts(traffic, fabric, &endports, diag);
	for (uint32_t i = 0; i < traffic->n_flows && !st; i++)
		st = load_file(&traffic->flow[i], &endports, diag);
	return st;
}

void cli_traffic_free(struct cli_traffic *traffic)
{
	for (uint32_t i = 0; i < traffic->n_flows; i++) {
		if (traffic->flow[i].file)
			osr_traffic_free(traffic->flow[i].file);
		free(traffic->flow[i].file);
		traffic->flow[i].file = NULL;
	}
	osr_arena_free(&traffic->arena);
}

/* ---- measuring ------------------------------------------------------------------------------ */

enum osr_status cli_traffic_bisect(const struct cli_traffic *traffic,
				   const struct osr_fabric *fabric,
				   const struct osr_routing *routing,
				   struct osr_bandwidth *bandwidth, struct osr_diag *diag)
{
	struct osr_arena arena = { 0 };
	struct osr_survey_sum sum;
	struct osr_survey_in in;
	struct osr_phases phases;
	enum osr_status st;

	*bandwidth = (struct osr_bandwidth){ 0 };
	if (!traffic->n_bisections)
		return OSR_OK;
	st = osr_bandwidth_prepare(fabric, routing, traffic->n_bisections, traffic->seed, &arena,
				   &phases, &in, bandwidth, diag);
	if (!st)
		st = cli_survey(&traffic->pool, &in, "bisections", &sum, diag);
	if (st)
		bandwidth->n_patterns = 0;
	else
		osr_bandwidth_fill(&sum, bandwidth);
	osr_arena_free(&arena);
	return st;
}

static void say_spread(struct out *out, const char *name, const struct osr_spread *x, bool several)
{
	char key[64];

	out_real(out, name, x->mean);
	if (!several)
		return;
	snprintf(key, sizeof(key), "%s_half_width", name);
	out_real(out, key, x->half_width);
	snprintf(key, sizeof(key), "%s_min", name);
	out_real(out, key, x->min);
	snprintf(key, sizeof(key), "%s_max", name);
	out_real(out, key, x->max);
}

/* One file, its ranks in order or not. One that names end ports says itself where its ranks are. */
static enum osr_status traffic_measure(const struct cli_traffic *traffic,
				       const struct cli_flow *flow, const char *ranking,
				       const struct osr_fabric *fabric,
				       const struct osr_routing *routing, const char *tables,
				       struct out *out, struct osr_diag *diag)
{
	const uint32_t *named = flow->file->hosts;
	bool random = !named && !strcmp(ranking, "random");
	struct osr_survey_in in = { .f = fabric,
				    .r = routing,
				    .phases = &flow->file->phases,
				    .hosts = named ? named : traffic->hosts,
				    .n_hosts =
					    named ? flow->file->phases.n_ranks : traffic->n_hosts,
				    .n_runs = random ? traffic->n_runs : 1,
				    .shuffle = random,
				    .bandwidth = true,
				    .seed = traffic->seed };
	double start = cli_cpu_ms();
	struct osr_survey_sum sum;
	enum osr_status st = cli_survey(&traffic->pool, &in, flow->path, &sum, diag);

	if (!st) {
		double ms = cli_cpu_ms() - start;

		out_row(out, "patterns");
		out_text(out, "tables", tables);
		out_text(out, "pattern", flow->path);
		out_text(out, "ranking", ranking);
		out_count(out, "ranks", flow->file->phases.n_ranks);
		out_count(out, "phases", sum.n_phases);
		out_count(out, "runs", sum.n_runs);
		say_spread(out, "hsd", &sum.hsd, sum.n_runs > 1);
		out_real(out, "hsd_sum", sum.hsd_sum.mean);
		out_count(out, "max_congestion", sum.max_congestion);
		say_spread(out, "bandwidth", &sum.bandwidth, sum.n_runs > 1);
		out_count(out, "pairs", sum.n_pairs);
		out_count(out, "pairs_no_path", sum.n_no_path);
		out_real(out, "cpu_ms", ms);
	}
	return st;
}

enum osr_status cli_traffic_measure(const struct cli_traffic *traffic,
				    const struct osr_fabric *fabric,
				    const struct osr_routing *routing, const char *tables,
				    struct out *out, struct osr_diag *diag)
{
	enum osr_status st = OSR_OK;

	for (uint32_t i = 0; i < traffic->n_flows && !st; i++) {
		const struct cli_flow *flow = &traffic->flow[i];
		bool named = flow->file->hosts;

		st = traffic_measure(traffic, flow, named ? "given" : "ordered", fabric, routing,
				     tables, out, diag);
		if (!st && !named && traffic->n_runs)
			st = traffic_measure(traffic, flow, "random", fabric, routing, tables, out,
					     diag);
	}
	return st;
}

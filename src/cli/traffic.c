/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "cli/traffic.h"

#include <stdlib.h>
#include <string.h>

#include "traffic/collective.h"

#include "cli/cli.h"
#include "io/trafficfile.h"

/* ---- the command line ----------------------------------------------------------------------- */

enum {
	OPT_BISECTIONS = 0x5000,
	OPT_PATTERN,
	OPT_TRAFFIC,
	OPT_HOSTS,
	OPT_RANKS,
	OPT_RANKING,
	OPT_RUNS,
	OPT_SEED,
	OPT_HSD_ONLY,
};

static const struct argp_option options[] = {
	{ "bisections", OPT_BISECTIONS, "N", 0, "random bisections, 0 for none (default 1000)", 0 },
	{ "pattern", OPT_PATTERN, "NAME[:N,..]", 0,
	  "a communication pattern, may be repeated; \"orcs\", \"cps\": all of them; \"list\"", 0 },
	{ "traffic", OPT_TRAFFIC, "FILE", 0, "phases of a traffic file, may be repeated", 0 },
	{ "hosts", OPT_HOSTS, "FILE", 0,
	  "hosts of the ranks, one a line, rank 0 first (default: all, in the order of the fabric)",
	  0 },
	{ "ranks", OPT_RANKS, "N", 0,
	  "number of ranks: the first hosts of the order (default: all)", 0 },
	{ "ranking", OPT_RANKING, "WORD", 0,
	  "put patterns on hosts in order, in random orders, or both: ordered, random, both "
	  "(default)",
	  0 },
	{ "runs", OPT_RUNS, "N", 0, "random orders for each pattern (default 25)", 0 },
	{ "seed", OPT_SEED, "N", 0, "start of all random numbers (default 1)", 0 },
	{ "hsd-only", OPT_HSD_ONLY, NULL, 0,
	  "hot spot degrees of patterns without bandwidth: faster", 0 },
	{ NULL, 0, NULL, 0, NULL, 0 }
};

static void traffic_add(struct cli_traffic *traffic, const char *name, const char *path,
			struct argp_state *state)
{
	if (traffic->n_flows == CLI_MAX_TRAFFIC)
		argp_error(state, "at most %d patterns and traffic files", CLI_MAX_TRAFFIC);
	traffic->flow[traffic->n_flows++] = (struct cli_flow){ .name = name, .path = path };
}

static void print_patterns(const char *title, const struct osr_pattern *(*row)(uint32_t i))
{
	const struct osr_pattern *pattern;

	printf("%s\n", title);
	for (uint32_t i = 0; (pattern = row(i)); i++) {
		char name[64];

		snprintf(name, sizeof(name), "%s%s%s", pattern->name, pattern->args ? ":" : "",
			 pattern->args ? pattern->args : "");
		printf("    %-28s %s\n", name, pattern->summary);
	}
}

/* Those that need no numbers and send something. */
static void traffic_add_all(struct cli_traffic *traffic,
			    const struct osr_pattern *(*row)(uint32_t i), struct argp_state *state)
{
	const struct osr_pattern *pattern;

	for (uint32_t i = 0; (pattern = row(i)); i++)
		if (!pattern->min_args && strcmp(pattern->name, "null") &&
		    strcmp(pattern->name, "alltoall"))
			traffic_add(traffic, pattern->name, NULL, state);
}

static void add_pattern(struct cli_traffic *traffic, const char *arg, struct argp_state *state)
{
	if (!strcmp(arg, "list")) {
		print_patterns("Patterns of ORCS, and some more:", osr_pattern_row);
		print_patterns("Collective permutation sequences:", osr_collective_row);
		exit(CLI_OK);
	}
	if (!strcmp(arg, "orcs"))
		traffic_add_all(traffic, osr_pattern_row, state);
	else if (!strcmp(arg, "cps"))
		traffic_add_all(traffic, osr_collective_row, state);
	else
		traffic_add(traffic, arg, NULL, state);
}

static enum cli_ranking take_ranking(const char *arg, struct argp_state *state)
{
	if (!strcmp(arg, "ordered"))
		return CLI_RANKING_ORDERED;
	if (!strcmp(arg, "random"))
		return CLI_RANKING_RANDOM;
	if (strcmp(arg, "both"))
		argp_error(state, "ranking \"%s\": expected ordered, random or both", arg);
	return CLI_RANKING_BOTH;
}

static error_t traffic_parse(int key, char *arg, struct argp_state *state)
{
	struct cli_traffic *traffic = state->input;

	switch (key) {
	case OPT_BISECTIONS:
		traffic->n_bisections =
			(uint32_t)cli_take_number(arg, "bisections", 0, 10000000, state);
		return 0;
	case OPT_PATTERN:
		add_pattern(traffic, arg, state);
		return 0;
	case OPT_TRAFFIC:
		traffic_add(traffic, arg, arg, state);
		return 0;
	case OPT_HOSTS:
		traffic->hosts_path = arg;
		return 0;
	case OPT_RANKS:
		traffic->n_ranks = (uint32_t)cli_take_number(arg, "ranks", 2, OSR_MAX_LID, state);
		return 0;
	case OPT_RANKING:
		traffic->ranking = take_ranking(arg, state);
		return 0;
	case OPT_RUNS:
		traffic->n_runs = (uint32_t)cli_take_number(arg, "runs", 1, 1000000, state);
		return 0;
	case OPT_SEED:
		traffic->seed = (uint64_t)cli_take_number(arg, "seed", 0, INT64_MAX, state);
		return 0;
	case OPT_HSD_ONLY:
		traffic->hsd_only = true;
		return 0;
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &traffic->pool;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp_child children[] = { { .argp = &pool_argp }, { NULL } };
const struct argp traffic_argp = { .options = options,
				   .parser = traffic_parse,
				   .children = children };

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
	enum osr_status st;

	flow->file = calloc(1, sizeof(*flow->file));
	if (!flow->file)
		return osr_fail(diag, OSR_NOMEM, "%s: out of memory", flow->path);
	st = osr_traffic_read(flow->path, endports, flow->file, diag);
	if (!st)
		osr_sequence_given(&flow->file->phases, &flow->sequence);
	return st;
}

enum osr_status cli_traffic_load(struct cli_traffic *traffic, const struct osr_fabric *fabric,
				 struct osr_diag *diag)
{
	struct osr_endports endports;
	enum osr_status st = osr_endports_init(&endports, fabric, &traffic->arena, diag);
	uint32_t n_ranks;

	if (!st)
		st = load_hosts(traffic, fabric, &endports, diag);
	if (st)
		return st;
	if (traffic->n_ranks > traffic->n_hosts)
		return osr_fail(diag, OSR_INVAL, "%u ranks do not fit on %u hosts",
				traffic->n_ranks, traffic->n_hosts);
	n_ranks = traffic->n_ranks ? traffic->n_ranks : traffic->n_hosts;
	for (uint32_t i = 0; i < traffic->n_flows && !st; i++) {
		struct cli_flow *flow = &traffic->flow[i];

		if (flow->path)
			st = load_file(flow, &endports, diag);
		else
			st = osr_sequence_parse(flow->name, n_ranks, &flow->sequence, diag);
	}
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
	struct osr_sequence sequence;
	enum osr_status st;

	*bandwidth = (struct osr_bandwidth){ 0 };
	if (!traffic->n_bisections)
		return OSR_OK;
	st = osr_bandwidth_prepare(fabric, routing, traffic->n_bisections, traffic->seed, &arena,
				   &sequence, &in, bandwidth, diag);
	if (!st)
		st = cli_survey(&traffic->pool, &in, "bisections", &sum, diag);
	if (st)
		bandwidth->n_patterns = 0;
	else
		osr_bandwidth_fill(&sum, bandwidth);
	osr_arena_free(&arena);
	return st;
}

/* One sequence on the hosts of traffic, ordered or not. */
static enum osr_status
measure_sequence(const struct cli_traffic *traffic, const struct osr_fabric *fabric,
		 const struct osr_routing *routing, const struct osr_sequence *sequence,
		 bool random, const char *name, struct osr_survey_sum *sum, struct osr_diag *diag)
{
	struct osr_survey_in in = { .f = fabric,
				    .r = routing,
				    .sequence = sequence,
				    .hosts = traffic->hosts,
				    .n_hosts = traffic->n_hosts,
				    .n_runs = random || sequence->pattern->random ? traffic->n_runs
										  : 1,
				    .shuffle = random,
				    .bandwidth = !traffic->hsd_only,
				    .seed = traffic->seed };

	return cli_survey(&traffic->pool, &in, name, sum, diag);
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

static void traffic_say(const struct cli_traffic *traffic, const struct cli_flow *flow,
			const char *tables, const char *ranking, const struct osr_survey_sum *sum,
			double ms, struct out *out)
{
	out_row(out, "patterns");
	out_text(out, "tables", tables);
	out_text(out, "pattern", flow->name);
	out_text(out, "ranking", ranking);
	out_count(out, "ranks", flow->sequence.n_ranks);
	out_count(out, "phases", sum->n_phases);
	out_count(out, "runs", sum->n_runs);
	say_spread(out, "hsd", &sum->hsd, sum->n_runs > 1);
	out_real(out, "hsd_sum", sum->hsd_sum.mean);
	out_count(out, "max_congestion", sum->max_congestion);
	if (!traffic->hsd_only)
		say_spread(out, "bandwidth", &sum->bandwidth, sum->n_runs > 1);
	out_count(out, "pairs", sum->n_pairs);
	out_count(out, "pairs_no_path", sum->n_no_path);
	out_real(out, "cpu_ms", ms);
}

/* A file that names end ports says itself where its ranks are. */
static enum osr_status measure_named(const struct cli_traffic *traffic, const struct cli_flow *flow,
				     const struct osr_fabric *fabric,
				     const struct osr_routing *routing, struct osr_survey_sum *sum,
				     struct osr_diag *diag)
{
	struct osr_survey_in in = { .f = fabric,
				    .r = routing,
				    .sequence = &flow->sequence,
				    .hosts = flow->file->hosts,
				    .n_hosts = flow->sequence.n_ranks,
				    .n_runs = 1,
				    .bandwidth = !traffic->hsd_only };

	return cli_survey(&traffic->pool, &in, flow->name, sum, diag);
}

static enum osr_status traffic_measure(const struct cli_traffic *traffic,
				       const struct cli_flow *flow, const struct osr_fabric *fabric,
				       const struct osr_routing *routing, const char *tables,
				       struct out *out, struct osr_diag *diag)
{
	double start = cli_cpu_ms();
	struct osr_survey_sum sum;
	enum osr_status st = OSR_OK;

	if (flow->file && flow->file->hosts) {
		st = measure_named(traffic, flow, fabric, routing, &sum, diag);
		if (!st)
			traffic_say(traffic, flow, tables, "given", &sum, cli_cpu_ms() - start,
				    out);
		return st;
	}
	for (int random = 0; random <= 1 && !st; random++) {
		if (!(traffic->ranking & (random ? CLI_RANKING_RANDOM : CLI_RANKING_ORDERED)))
			continue;
		start = cli_cpu_ms();
		st = measure_sequence(traffic, fabric, routing, &flow->sequence, random, flow->name,
				      &sum, diag);
		if (!st)
			traffic_say(traffic, flow, tables, random ? "random" : "ordered", &sum,
				    cli_cpu_ms() - start, out);
	}
	return st;
}

enum osr_status cli_traffic_measure(const struct cli_traffic *traffic,
				    const struct osr_fabric *fabric,
				    const struct osr_routing *routing, const char *tables,
				    struct out *out, struct osr_diag *diag)
{
	enum osr_status st = OSR_OK;

	for (uint32_t i = 0; i < traffic->n_flows && !st; i++)
		st = traffic_measure(traffic, &traffic->flow[i], fabric, routing, tables, out,
				     diag);
	return st;
}

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "cli/measure.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/paths/bound.h"

/* ---- measuring: options ----------------------------------------------------------------------- */

enum { OPT_WORST = 256 };

static const struct cli_option bisections_options[] = {
	{ "bisections", "N", "random bisections, 0 for none (default 1000)",
	  CLI_NUMBER(struct cli_traffic, n_bisections, 0, 10000000) },
	{ CLI_PART(pool_spec, struct cli_traffic, pool) },
	{ 0 }
};

static const struct cli_option traffic_options[] = {
	{ "traffic", "FILE", "phases of a traffic file, may be repeated",
	  CLI_LIST(struct cli_traffic, path, n_flows) },
	{ "hosts", "FILE",
	  "hosts of the ranks, one a line, rank 0 first (default: all, in the order of the fabric)",
	  CLI_TEXT(struct cli_traffic, hosts_path) },
	{ "runs", "N",
	  "random orders of the ranks on the hosts, besides the one given (default 25)",
	  CLI_NUMBER(struct cli_traffic, n_runs, 0, 1000000) },
	{ "seed", "N", "start of all random numbers (default 1)",
	  CLI_NUMBER(struct cli_traffic, seed, 0, INT64_MAX) },
	{ .part = &cli_bisections_spec },
	{ 0 }
};

const struct cli_spec cli_bisections_spec = { bisections_options };
const struct cli_spec cli_traffic_spec = { traffic_options };

/* ---- reading -------------------------------------------------------------------------------- */

static enum osr_status load_hosts(struct cli_traffic *traffic, const struct osr_fabric *fabric,
				  struct osr_endports *endports, struct osr_diag *diag)
{
	struct osr_lines in;

	traffic->hosts = osr_alloc(&traffic->arena, fabric->n_terminals, sizeof(*traffic->hosts));
	if (osr_arena_failed(&traffic->arena, diag))
		return OSR_NOMEM;
	if (traffic->hosts_path)
		return osr_hostlist_read(osr_lines_open(&in, traffic->hosts_path, diag), endports,
					 traffic->hosts, &traffic->n_hosts);
	traffic->n_hosts = osr_survey_hosts(fabric, traffic->hosts);
	return OSR_OK;
}

enum osr_status cli_traffic_load(struct cli_traffic *traffic, const struct osr_fabric *fabric,
				 struct osr_diag *diag)
{
	struct osr_endports endports;
	enum osr_status st = osr_endports_init(&endports, fabric, &traffic->arena, diag);

	if (!st)
		st = load_hosts(traffic, fabric, &endports, diag);
	for (uint32_t i = 0; i < traffic->n_flows && !st; i++) {
		struct osr_lines in;

		st = osr_traffic_read(osr_lines_open(&in, traffic->path[i], diag), &endports,
				      &traffic->file[i]);
	}
	return st;
}

void cli_traffic_free(struct cli_traffic *traffic)
{
	for (uint32_t i = 0; i < traffic->n_flows; i++)
		osr_traffic_free(&traffic->file[i]);
	osr_arena_free(&traffic->arena);
}

/* ---- measuring ------------------------------------------------------------------------------ */

/* bisections->n_runs = 0 if none were asked for, or cannot be. */
static enum osr_status traffic_bisect(const struct cli_traffic *traffic,
				      const struct osr_fabric *fabric,
				      const struct osr_routing *routing,
				      struct osr_survey_sum *bisections, struct osr_diag *diag)
{
	struct osr_arena arena = { 0 };
	struct osr_survey_in in;
	struct osr_phases phases;
	enum osr_status st = OSR_OK;

	if (traffic->n_bisections)
		st = osr_survey_bisections(fabric, routing, traffic->n_bisections, traffic->seed,
					   &arena, &phases, &in, diag);
	if (traffic->n_bisections && !st)
		st = cli_survey(&traffic->pool, &in, "bisections", bisections, diag);
	osr_arena_free(&arena);
	return st;
}

/* A row: a traffic file, its ranks in one order or several. */
struct measured {
	const char *tables, *pattern, *ranking;
	uint32_t n_ranks;
	struct osr_survey_sum sum;
	double ms;
};

#define OF(member) OUT_OF(struct measured, member)

enum { SEVERAL = 1 };

const struct out_field cli_traffic_fields[] = {
	{ "tables", "tables of", OUT_TEXT, 0, OF(tables) },
	{ "pattern", "pattern", OUT_TEXT, 0, OF(pattern) },
	{ "ranking", "ranking", OUT_TEXT, 0, OF(ranking) },
	{ "ranks", "ranks", OUT_COUNT, 0, OF(n_ranks) },
	{ "phases", "phases", OUT_COUNT, 0, OF(sum.n_phases) },
	{ "runs", "runs", OUT_COUNT, 0, OF(sum.n_runs) },
	{ "hsd", "hot spot", OUT_REAL, 3, OF(sum.hsd.mean) },
	{ "hsd_half_width", "+-", OUT_REAL, 3, OF(sum.hsd.half_width), SEVERAL },
	{ "hsd_min", "least", OUT_REAL, 3, OF(sum.hsd.min), SEVERAL },
	{ "hsd_max", "most", OUT_REAL, 3, OF(sum.hsd.max), SEVERAL },
	{ "hsd_sum", NULL, OUT_REAL, 1, OF(sum.hsd_sum.mean) },
	{ "max_congestion", "worst", OUT_COUNT, 0, OF(sum.max_congestion) },
	{ "bandwidth", "bandwidth", OUT_REAL, 4, OF(sum.bandwidth.mean) },
	{ "bandwidth_half_width", "+-", OUT_REAL, 4, OF(sum.bandwidth.half_width), SEVERAL },
	{ "bandwidth_min", NULL, OUT_REAL, 4, OF(sum.bandwidth.min), SEVERAL },
	{ "bandwidth_max", NULL, OUT_REAL, 4, OF(sum.bandwidth.max), SEVERAL },
	{ "pairs", NULL, OUT_COUNT, 0, OF(sum.n_pairs) },
	{ "pairs_no_path", "lost", OUT_COUNT, 0, OF(sum.n_no_path) },
	{ "cpu_ms", NULL, OUT_REAL, 1, OF(ms) },
	{ 0 }
};

/* One file, its ranks in order or not. One that names end ports says itself where its ranks are. */
static enum osr_status measure_file(const struct cli_traffic *traffic, uint32_t i,
				    const char *ranking, const struct osr_fabric *fabric,
				    const struct osr_routing *routing, const char *tables,
				    struct out *out, struct osr_diag *diag)
{
	const struct osr_traffic *file = &traffic->file[i];
	const uint32_t *named = file->hosts;
	bool random = !named && !strcmp(ranking, "random");
	struct osr_survey_in in = { .f = fabric,
				    .r = routing,
				    .phases = &file->phases,
				    .hosts = named ? named : traffic->hosts,
				    .n_hosts = named ? file->phases.n_ranks : traffic->n_hosts,
				    .n_runs = random ? traffic->n_runs : 1,
				    .shuffle = random,
				    .bandwidth = true,
				    .seed = traffic->seed };
	struct measured row = { .tables = tables,
				.pattern = traffic->path[i],
				.ranking = ranking,
				.n_ranks = file->phases.n_ranks };
	double start = cli_cpu_ms();
	enum osr_status st = cli_survey(&traffic->pool, &in, traffic->path[i], &row.sum, diag);

	row.ms = cli_cpu_ms() - start;
	if (!st) {
		out_row(out, "patterns");
		out_members(out, cli_traffic_fields, &row, row.sum.n_runs > 1 ? SEVERAL : 0);
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
		bool named = traffic->file[i].hosts;

		st = measure_file(traffic, i, named ? "given" : "ordered", fabric, routing, tables,
				  out, diag);
		if (!st && !named && traffic->n_runs)
			st = measure_file(traffic, i, "random", fabric, routing, tables, out, diag);
	}
	return st;
}

static const struct cli_option worst_options[] = { { "worst", "FILE",
						     "find the permutation of hosts that loads one "
						     "cable most, exactly; into FILE for --traffic",
						     .key = OPT_WORST,
						     .flags = OPTION_ARG_OPTIONAL },
						   { 0 } };

static error_t worst_parse(int key, char *arg, struct argp_state *state)
{
	struct cli_worst *worst = state->input;

	if (key != OPT_WORST)
		return ARGP_ERR_UNKNOWN;
	worst->asked = true;
	worst->path = arg;
	return 0;
}

const struct cli_spec cli_worst_spec = { worst_options, worst_parse };

/* The rate of the cable of each end port into rate[n_terminals], 0 where it is unknown. */
static void read_rates(const struct cli_input *in, uint32_t *rate)
{
	const struct osr_fabric *f = &in->fabric;

	for (uint32_t i = 0; i < in->net.n_nodes; i++) {
		const struct osr_net_node *node = &in->net.nodes[i];
		uint32_t v = node->type == OSR_NET_SWITCH ? osr_fabric_switch_by_guid(f, node->guid)
							  : OSR_NONE;

		for (uint32_t t = v == OSR_NONE ? 0 : f->term_row[v];
		     v != OSR_NONE && t < f->term_row[v + 1]; t++) {
			uint8_t width, speed;

			osr_net_link_rate(&in->net, node->port_row + f->term_port[t], &width,
					  &speed);
			rate[t] = f->term_weight[t] ? osr_rate_gbps(width, speed) : 0;
		}
	}
}

static uint32_t divisor(uint32_t a, uint32_t b)
{
	return b ? divisor(b, a % b) : a;
}

enum osr_status cli_worst_load(struct cli_worst *worst, const struct cli_input *in,
			       struct osr_diag *diag)
{
	const struct osr_fabric *f = &in->fabric;
	uint32_t fastest = 0, *rate, *units;

	if (!worst->asked)
		return OSR_OK;
	rate = osr_alloc(&worst->arena, f->n_channels, sizeof(*rate));
	units = osr_calloc(&worst->arena, f->n_terminals, sizeof(*units));
	if (osr_arena_failed(&worst->arena, diag))
		return OSR_NOMEM;
	read_rates(in, units);
	for (uint32_t t = 0; t < f->n_terminals; t++)
		fastest = units[t] > fastest ? units[t] : fastest;
	for (uint32_t c = 0; c < f->n_channels; c++)
		fastest = f->chan_rate[c] > fastest ? f->chan_rate[c] : fastest;
	/* A cable that does not say its rate is as fast as any. */
	fastest = fastest ? fastest : 1;
	for (uint32_t c = 0; c < f->n_channels; c++)
		rate[c] = f->chan_rate[c] ? f->chan_rate[c] : fastest;
	for (uint32_t t = 0; t < f->n_terminals; t++) {
		units[t] = !f->term_weight[t] ? 0 : units[t] ? units[t] : fastest;
		worst->rates.unit = divisor(worst->rates.unit, units[t]);
	}
	for (uint32_t t = 0; t < f->n_terminals; t++)
		units[t] /= worst->rates.unit ? worst->rates.unit : 1;
	worst->rates.rate = rate;
	worst->rates.units = units;
	if (worst->path && !(worst->file = fopen(worst->path, "w")))
		return osr_fail(diag, OSR_INVAL, "%s: %s", worst->path, strerror(errno));
	return OSR_OK;
}

static enum osr_status worst_find(struct cli_worst *worst, const char *tables,
				  const struct osr_fabric *fabric,
				  const struct osr_routing *routing, struct cli_worst_of *of,
				  struct osr_diag *diag)
{
	struct osr_arena scratch = { 0 };
	enum osr_status st;

	if (!worst->asked || !worst->rates.unit)
		return OSR_OK;
	of->gbps = worst->rates.unit;
	st = osr_worst_find(fabric, routing, &worst->rates, &worst->arena, &scratch, &of->worst,
			    diag);
	if (!st)
		st = osr_bound_permutation(fabric, worst->rates.units, worst->rates.unit,
					   worst->rates.rate, &scratch, &of->bound, diag);
	osr_arena_free(&scratch);
	if (st || !worst->file)
		return st;
	/* A phase for each set of tables. */
	fprintf(worst->file, "phase %s\n", tables);
	for (uint32_t i = 0; i < of->worst.flow; i++) {
		const struct osr_pair *pair = &of->worst.pairs[i];
		char from[32], to[32];

		fprintf(worst->file, "lid:%u lid:%u\t# %s %s\n", fabric->term_lid[pair->from],
			fabric->term_lid[pair->to], osr_terminal_name(fabric, pair->from, from),
			osr_terminal_name(fabric, pair->to, to));
	}
	return OSR_OK;
}

/* 1 / load, and 1 where the cables carry it all. */
static double worst_share(double load)
{
	return load > 1 ? 1 / load : 1;
}

void cli_worst_say(struct out *out, const struct osr_fabric *f, const struct cli_worst_of *of)
{
	uint32_t c = of->worst.channel;
	char from[32], to[32];

	if (!of->gbps)
		return;
	out_real(out, "worst.share", worst_share(of->worst.load));
	out_real(out, "worst.share_bound", worst_share(of->bound));
	out_count(out, "worst.flows", of->worst.flow);
	out_count(out, "worst.gbps", of->gbps);
	if (c != OSR_NONE)
		out_textf(out, "worst.cable", "%s:%u - %s",
			  osr_switch_name(f, f->chan_src[c], from), f->chan_port[c],
			  osr_switch_name(f, f->chan_dst[c], to));
}

enum osr_status cli_worst_free(struct cli_worst *worst, struct osr_diag *diag)
{
	FILE *file = worst->file;

	worst->file = NULL;
	osr_arena_free(&worst->arena);
	return file ? cli_written(file, worst->path, diag) : OSR_OK;
}

/* ---- all of it ------------------------------------------------------------------------------ */

/* How even the loads are. */
static void analysis_weigh(const struct osr_fabric *fabric, struct cli_analysis *analysis)
{
	const struct osr_audit *audit = &analysis->found.audit;
	uint64_t sum_hops = 0;
	double sum = 0;

	for (uint32_t h = 0; h <= OSR_AUDIT_MAX_HOPS; h++)
		sum_hops += h * audit->hops[h];
	if (audit->n_host_routes)
		analysis->mean_hops = (double)sum_hops / (double)audit->n_host_routes;
	if (!fabric->n_channels)
		return;
	analysis->least = UINT64_MAX;
	analysis->perfect = (double)audit->n_host_hops / fabric->n_channels;
	for (uint32_t c = 0; c < fabric->n_channels; c++) {
		double apart = fabs(analysis->perfect - (double)audit->load[c]);

		if (audit->load[c] < analysis->least)
			analysis->least = audit->load[c];
		sum += apart * apart * apart * apart;
	}
	analysis->sigma = pow(sum / fabric->n_channels, 1.0 / 4);
}

/* What the checker said of an engine's tables saves the search for what it has proven. */
static void analysis_verify_tables(const struct osr_fabric *fabric, struct cli_tables *tables,
				   struct osr_arena *scratch, struct cli_analysis *analysis)
{
	const struct osr_verdict *checked = tables->sweep.routed ? &tables->sweep.verdict : NULL;
	struct osr_inquiry ask = {
		.f = fabric, .gen = &tables->gen, .checked = checked, .figures = true
	};
	enum osr_question which;

	analysis->st = osr_verify(&ask, scratch, &tables->arena, &analysis->found, &analysis->diag);
	if (analysis->st)
		return;
	analysis->has_figures = true;
	if (osr_verdict_of(&analysis->found, OSR_REQUIRED, &which) == OSR_REFUTED)
		analysis->st = osr_fail(&analysis->diag, OSR_CHECK_FAILED, "%s",
					analysis->found.on[which].why);
}

void cli_analyze(const struct cli_traffic *traffic, struct cli_worst *worst, const char *name,
		 const struct osr_fabric *fabric, struct cli_tables *tables,
		 struct cli_analysis *analysis)
{
	const struct osr_routing *routing = &tables->routing;
	struct osr_arena scratch = { 0 };
	struct osr_diag diag = { "" };
	struct cli_stamp check = cli_now();
	enum osr_status st;
	double start;

	*analysis = (struct cli_analysis){ .st = OSR_OK };
	analysis_verify_tables(fabric, tables, &scratch, analysis);
	check = cli_since(check);
	analysis->check.cpu = tables->sweep.ms_check + check.cpu;
	analysis->check.wall = tables->sweep.wall_check + check.wall;
	if (analysis->st && analysis->st != OSR_CHECK_FAILED)
		goto out;
	analysis_weigh(fabric, analysis);
	st = worst_find(worst, name, fabric, routing, &analysis->worst, &diag);
	start = cli_cpu_ms();
	if (!st)
		st = traffic_bisect(traffic, fabric, routing, &analysis->bisections, &diag);
	analysis->bandwidth_ms = cli_cpu_ms() - start;
	/* Without hosts everything else can still be said; and what is wrong with the tables comes first. */
	if (st && st != OSR_NOT_APPLICABLE && !analysis->st) {
		analysis->st = st;
		analysis->diag = diag;
	}
out:
	osr_arena_free(&scratch);
}

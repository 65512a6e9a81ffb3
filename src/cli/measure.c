/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Every figure is one row of result_fields[], which feeds the table and the JSON. */
#include <osmroutes/each.h>

#include "cli/measure.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- options --------------------------------------------------------------------------------- */

enum { OPT_WORST = 256 };

static const struct cli_option options[] = {
	{ "bisections", "N",
	  "random bisections, 0 for none (default 1000, fewer of 1000 hosts and more)",
	  CLI_NUMBER(struct cli_measure, n_bisections, 0, 10000000) },
	{ "worst", "FILE",
	  "find the permutation of hosts that loads one cable most, exactly; into FILE for "
	  "--traffic",
	  .key = OPT_WORST, .arg_optional = true },
	{ CLI_PART(pool_spec, struct cli_measure, pool) },
	{ 0 },
};

static enum osr_status measure_parse(int key, const char *arg, void *args,
				     const struct cli_line *line)
{
	struct cli_measure *measure = args;

	(void)line;
	if (key != OPT_WORST)
		return OSR_NOT_APPLICABLE;
	measure->worst = true;
	measure->worst_path = arg;
	return OSR_OK;
}

const struct cli_spec measure_spec = { options, measure_parse };

/*
 * A million hosts in all bisections together: the more hosts, the less one bisection differs from
 * another. The mean is known within 0.0003 by 1,000 bisections of 1,000 hosts, and within 0.001 by
 * 100 of 11,664.
 */
static uint32_t usual_bisections(const struct osr_fabric *fabric)
{
	uint32_t n_hosts = 0, n;

	for (uint32_t t = 0; t < fabric->n_terminals; t++)
		n_hosts += fabric->term_role[t] == OSR_ROLE_CA;
	n = 1000000 / (n_hosts ? n_hosts : 1);
	if (n > 1000)
		return 1000;
	return n < 100 ? 100 : n;
}

/* Rates of cables and end ports, in units that divide all of these. */
static enum osr_status load_rates(struct cli_measure *measure, const struct cli_input *in,
				  struct osr_diag *diag)
{
	const struct osr_fabric *fabric = &in->fabric;
	uint32_t fastest = 0, *rate, *units;

	rate = osr_alloc(&measure->arena, fabric->n_channels, sizeof(*rate));
	units = osr_calloc(&measure->arena, fabric->n_terminals, sizeof(*units));
	if (osr_arena_failed(&measure->arena, diag))
		return OSR_NOMEM;
	for (uint32_t i = 0; i < in->net.n_nodes; i++) {
		const struct osr_net_node *node = &in->net.nodes[i];
		uint32_t v = node->type == OSR_NET_SWITCH
				     ? osr_fabric_switch_by_guid(fabric, node->guid)
				     : OSR_NONE;

		for (uint32_t t = v == OSR_NONE ? 0 : fabric->term_row[v];
		     v != OSR_NONE && t < fabric->term_row[v + 1]; t++) {
			uint8_t width, speed;

			osr_net_link_rate(&in->net, node->port_row + fabric->term_port[t], &width,
					  &speed);
			units[t] = fabric->term_weight[t] ? osr_rate_gbps(width, speed) : 0;
			fastest = units[t] > fastest ? units[t] : fastest;
		}
	}
	OSR_EVERY_CHANNEL(c, fabric)
		fastest = fabric->chan_rate[c] > fastest ? fabric->chan_rate[c] : fastest;
	/* A cable that does not say its rate is as fast as any. */
	fastest = fastest ? fastest : 1;
	OSR_EVERY_CHANNEL(c, fabric)
		rate[c] = fabric->chan_rate[c] ? fabric->chan_rate[c] : fastest;
	OSR_EVERY_TERMINAL(t, fabric) {
		uint32_t rest = units[t] = !fabric->term_weight[t] ? 0
					   : units[t]              ? units[t]
								   : fastest;

		/* The greatest common divisor. */
		while (rest) {
			uint32_t unit = measure->rates.unit;

			measure->rates.unit = rest;
			rest = unit % rest;
		}
	}
	OSR_EVERY_TERMINAL(t, fabric)
		units[t] /= measure->rates.unit ? measure->rates.unit : 1;
	measure->rates.rate = rate;
	measure->rates.units = units;
	return OSR_OK;
}

enum osr_status cli_measure_load(struct cli_measure *measure, const struct cli_input *in,
				 struct osr_diag *diag)
{
	struct osr_endports endports;
	struct osr_arena scratch = { 0 };
	struct osr_lines lines;
	enum osr_status st = osr_endports_init(&endports, &in->fabric, &measure->arena, diag);

	measure->fabric = &in->fabric;
	if (measure->n_bisections == CLI_BISECTIONS_BY_SIZE)
		measure->n_bisections = usual_bisections(&in->fabric);
	measure->in = in;
	measure->hosts =
		osr_alloc(&measure->arena, measure->fabric->n_terminals, sizeof(*measure->hosts));
	if (!st && osr_arena_failed(&measure->arena, diag))
		st = OSR_NOMEM;
	/* The hosts of the ranks, and the files. */
	if (!st && measure->hosts_path)
		st = osr_hostlist_read(osr_lines_open(&lines, measure->hosts_path, diag), &endports,
				       measure->hosts, &measure->n_hosts);
	else if (!st)
		measure->n_hosts = osr_survey_hosts(measure->fabric, measure->hosts);
	for (uint32_t i = 0; i < measure->n_flows && !st; i++)
		st = osr_traffic_read(osr_lines_open(&lines, measure->path[i], diag), &endports,
				      &measure->file[i]);
	if (!st && measure->worst)
		st = load_rates(measure, in, diag);
	if (!st && measure->worst_path && !(measure->worst_file = fopen(measure->worst_path, "w")))
		st = osr_fail(diag, OSR_INVAL, "%s: %s", measure->worst_path, strerror(errno));
	if (!st)
		st = cli_bounds_of(measure->fabric, &scratch, &measure->bounds, diag);
	osr_arena_free(&scratch);
	return st;
}

enum osr_status cli_measure_free(struct cli_measure *measure, struct osr_diag *diag)
{
	for (uint32_t i = 0; i < measure->n_flows; i++)
		osr_traffic_free(&measure->file[i]);
	osr_arena_free(&measure->arena);
	return measure->worst_file ? cli_written(measure->worst_file, measure->worst_path, diag)
				   : OSR_OK;
}

/* ---- surveys -------------------------------------------------------------------------------- */

struct surveying {
	struct osr_survey survey;
	struct osr_worker *worker; /* [n] of parts */
};

static void take_phase(void *ctx, uint32_t part)
{
	struct surveying *surveying = ctx;

	osr_survey_take(&surveying->survey, &surveying->worker[part]);
}

static enum osr_status run_phase(void *ctx, uint32_t part, uint32_t i, struct osr_diag *diag)
{
	struct surveying *surveying = ctx;

	(void)i;
	return osr_worker_run(&surveying->worker[part], diag);
}

/* All phases; `what` stands before the progress bar. */
static enum osr_status run_survey(const struct cli_pool *pool, const struct osr_survey_in *in,
				  const char *what, struct osr_survey_sum *sum,
				  struct osr_diag *diag)
{
	struct surveying surveying;
	struct osr_arena arena = { 0 };
	enum osr_status st = osr_survey_init(&surveying.survey, in, &arena, diag);
	uint32_t n = st ? 0 : cli_n_threads(pool, surveying.survey.n_all);

	surveying.worker = osr_alloc(&arena, n, sizeof(*surveying.worker));
	if (!st)
		st = osr_arena_failed(&arena, diag) ? OSR_NOMEM : OSR_OK;
	for (uint32_t i = 0; i < n && !st; i++)
		st = osr_worker_init(&surveying.worker[i], &surveying.survey, &arena, diag);
	if (!st)
		st = cli_each(pool, what, (uint32_t)surveying.survey.n_all, take_phase, run_phase,
			      &surveying, diag);
	if (!st)
		osr_survey_sum(&surveying.survey, sum);
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

/* Files, their ranks in order or not. One that names end ports says itself where its ranks are. */
static enum osr_status measure_files(const struct cli_measure *measure,
				     const struct cli_measured *measured, struct out *out,
				     struct osr_diag *diag)
{
	enum osr_status st = OSR_OK;

	for (uint32_t i = 0; i < 2 * measure->n_flows && !st; i++) {
		const struct osr_traffic *file = &measure->file[i / 2];
		const uint32_t *named = file->hosts;
		bool random = i % 2;
		struct osr_survey_in in = { .fabric = measured->fabric,
					    .routing = &measured->tables.routing,
					    .phases = &file->phases,
					    .hosts = named ? named : measure->hosts,
					    .n_hosts =
						    named ? file->phases.n_ranks : measure->n_hosts,
					    .n_runs = random ? measure->n_runs : 1,
					    .shuffle = random,
					    .bandwidth = true,
					    .seed = measure->seed };
		struct measured row = { .tables = measured->name,
					.pattern = measure->path[i / 2],
					.ranking = random  ? "random"
						   : named ? "given"
							   : "ordered",
					.n_ranks = file->phases.n_ranks };
		double start = cli_cpu_ms();

		if (random && (named || !measure->n_runs))
			continue;
		st = run_survey(&measure->pool, &in, row.pattern, &row.sum, diag);
		row.ms = cli_cpu_ms() - start;
		if (st)
			break;
		out_row(out, "patterns");
		out_members(out, cli_traffic_fields, &row, row.sum.n_runs > 1 ? SEVERAL : 0);
	}
	return st;
}

/* ---- one set of tables ----------------------------------------------------------------------- */

static enum osr_status find_worst(struct cli_measure *measure, struct cli_measured *measured,
				  struct osr_arena *scratch, struct osr_diag *diag)
{
	const struct osr_fabric *fabric = measured->fabric;
	enum osr_status st;

	if (!measure->worst || !measure->rates.unit)
		return OSR_OK;
	measured->worst_gbps = measure->rates.unit;
	st = osr_worst_find(fabric, &measured->tables.routing, &measure->rates, &measure->arena,
			    scratch, &measured->worst, diag);
	if (!st)
		st = osr_worst_bound(fabric, &measure->rates, scratch, &measured->worst_bound,
				     diag);
	if (st || !measure->worst_file)
		return st;
	/* A phase for each set of tables. */
	fprintf(measure->worst_file, "phase %s\n", measured->name);
	for (uint32_t i = 0; i < measured->worst.flow; i++) {
		const struct osr_pair *pair = &measured->worst.pairs[i];
		char from[32], to[32];

		fprintf(measure->worst_file, "lid:%u lid:%u\t# %s %s\n",
			fabric->term_lid[pair->from], fabric->term_lid[pair->to],
			osr_terminal_name(fabric, pair->from, from),
			osr_terminal_name(fabric, pair->to, to));
	}
	return OSR_OK;
}

/*
 * How even the loads are; for tables that no engine made also the figures that the checker of a
 * sweep would have given.
 */
static void weigh(const struct osr_fabric *fabric, struct cli_measured *measured)
{
	const struct osr_audit *audit = &measured->found.all.audit;
	const struct osr_answered *answers = measured->found.all.on;
	struct osr_verdict *verdict = &measured->tables.sweep.verdict;
	uint64_t sum_hops = 0;
	double sum = 0;

	for (uint32_t h = 0; h <= OSR_AUDIT_MAX_HOPS; h++)
		sum_hops += h * audit->hops[h];
	if (audit->n_host_routes)
		measured->mean_hops = (double)sum_hops / (double)audit->n_host_routes;
	if (!fabric->n_channels)
		return;
	measured->least = UINT64_MAX;
	measured->perfect = (double)audit->n_host_hops / fabric->n_channels;
	OSR_EVERY_CHANNEL(c, fabric) {
		double apart = fabs(measured->perfect - (double)audit->load[c]);

		if (audit->load[c] < measured->least)
			measured->least = audit->load[c];
		sum += apart * apart * apart * apart;
	}
	if (!measured->tables.sweep.routed) {
		verdict->efi = audit->efi;
		verdict->efi_per_capacity = audit->efi_per_capacity;
		verdict->n_host_routes = audit->n_host_routes;
		verdict->n_host_longer = audit->n_host_longer;
		verdict->n_vls = measured->tables.routing.n_vls;
		verdict->proven =
			(answers[OSR_ASK_REPLIES].answer == OSR_PROVEN) * OSR_CLAIM_REVERSIBLE |
			(answers[OSR_ASK_ANY_SL].answer == OSR_PROVEN) * OSR_CLAIM_ANY_SL;
	}
	measured->sigma = pow(sum / fabric->n_channels, 1.0 / 4);
}

/* Verdict, loads, the worst permutation and bisections. */
static void analyze(struct cli_measure *measure, struct cli_measured *measured,
		    struct osr_arena *scratch)
{
	struct osr_survey_in in;
	struct osr_phases phases;
	struct osr_diag diag = { "" };
	struct cli_stamp check = cli_now();
	/* The checker's answers about an engine's tables save the search for the proven ones. */
	struct osr_inquiry ask = { .fabric = measured->fabric,
				   .gen = &measured->tables.gen,
				   .checked = measured->tables.sweep.routed
						      ? &measured->tables.sweep.checked
						      : NULL };
	enum osr_question which;
	enum osr_status st = OSR_OK;
	double start;

	measured->st = cli_verify(&ask, scratch, &measured->tables.arena, &measured->found,
				  &measured->diag);
	if (!measured->st && cli_is_refuted(&measured->found, OSR_REQUIRED))
		measured->st = cli_verdicts_confirm(&measured->found, &measured->tables,
						    measure->in, &measured->diag);
	/*
	 * Half of an old and half of a new generation have no figures, and their routes may lead
	 * anywhere.
	 */
	if (measured->st || measured->found.changed)
		return;
	measured->has_figures = true;
	if (osr_verdict_of(&measured->found.hosts, OSR_REQUIRED, &which) == OSR_REFUTED)
		measured->st = osr_fail(&measured->diag, OSR_CHECK_FAILED, "%s",
					measured->found.hosts.on[which].why);
	check = cli_since(check);
	measured->check.cpu = measured->tables.sweep.ms_check + check.cpu;
	measured->check.wall = measured->tables.sweep.wall_check + check.wall;
	weigh(measured->fabric, measured);
	if (!measured->st && measure->compares)
		st = osr_worth_of(measured->fabric, &measured->tables.routing,
				  &measured->tables.sweep.verdict, scratch, &measured->worth,
				  &diag);
	if (!st)
		st = cli_load_of(measured->fabric, &measured->tables.routing,
				 &measured->found.all.audit, &measure->bounds, scratch,
				 &measured->load, &diag);
	if (!st)
		st = find_worst(measure, measured, scratch, &diag);
	start = cli_cpu_ms();
	if (!st && measure->n_bisections)
		st = osr_survey_bisections(measured->fabric, &measured->tables.routing,
					   measure->n_bisections, measure->seed, scratch, &phases,
					   &in, &diag);
	if (!st && measure->n_bisections)
		st = run_survey(&measure->pool, &in, "bisections", &measured->bisections, &diag);
	measured->bandwidth_ms = cli_cpu_ms() - start;
	/* Without hosts all other figures can still be given; errors of the tables come first. */
	if (st && st != OSR_NOT_APPLICABLE && !measured->st) {
		measured->st = st;
		measured->diag = diag;
	}
}

enum osr_status cli_measure(struct cli_measure *measure, const struct cli_measured *reference,
			    struct cli_measured *measured, struct out *out, struct osr_diag *diag)
{
	struct osr_arena scratch = { 0 };
	enum osr_status st = OSR_OK;

	measured->fabric = measure->fabric;
	measured->st = measured->tables.st;
	measured->diag = measured->tables.diag;
	if (measured->st)
		return OSR_OK;
	analyze(measure, measured, &scratch);
	if (measured->st == OSR_INVAL || measured->st == OSR_NOMEM) {
		osr_arena_free(&scratch);
		*diag = measured->diag;
		return measured->st;
	}
	measured->n_lost =
		measured->found.all.audit.n_host_pairs - measured->found.all.audit.n_host_routes;
	measured->memory_kb = measured->tables.sweep.memory >> 10;
	measured->compared = reference != NULL;
	if (measured->compared)
		st = osr_changes(measured->fabric, &reference->tables.routing, measured->fabric,
				 &measured->tables.routing, &scratch, &measured->changes, diag);
	if (measured->changes.n_pairs)
		measured->pairs_share =
			(double)measured->changes.n_path / (double)measured->changes.n_pairs;
	osr_arena_free(&scratch);
	if (!st)
		st = measure_files(measure, measured, out, diag);
	return st == OSR_CHECK_FAILED && measured->st ? OSR_OK : st; /* said already */
}

/* ---- the figures ---------------------------------------------------------------------------- */

/* Conditions of a figure. */
enum {
	OF_CHECK = 1,
	OF_LOADS = 2,
	OF_ENGINE = 4,
	OF_BISECTIONS = 8,
	OF_CHANGES = 16,
	OF_LIDS = 32
};

/* Where several are compared people do not see it. */
#define DETAIL OUT_DETAIL |

#define COUNT(member, when) OUT_COUNT, 0, OUT_OF(struct cli_measured, member), when
#define REAL(digits, member, when) OUT_REAL, digits, OUT_OF(struct cli_measured, member), when

/* For programs. */
const struct out_field cli_hop_fields[] = {
	{ "tables", NULL, OUT_TEXT },
	{ "hops", NULL, OUT_COUNT },
	{ "routes", NULL, OUT_COUNT },
	{ 0 },
};

const struct out_field cli_result_fields[] = {
	{ "tables", "tables of", OUT_TEXT },
	{ "status", NULL, OUT_TEXT },
	{ "message", NULL, OUT_TEXT },
	CLI_ANSWER_FIELDS,
	{ "worst.share", "worst permutation, rate left", OUT_REAL, 4 },
	{ "worst.share_bound", "  no tables leave more than", OUT_REAL, 4 },
	{ "worst.flows", "  flows on one cable", OUT_COUNT },
	{ "worst.gbps", NULL, OUT_COUNT },
	{ "worst.cable", "  the cable", OUT_TEXT },
	{ "digest", "digest", OUT_TEXT },
	{ "claimed.minimal", NULL, OUT_BOOL },
	{ "claimed.deadlock_free", NULL, OUT_BOOL },
	{ "claimed.reversible", NULL, OUT_BOOL },
	{ "claimed.any_sl", NULL, OUT_BOOL },
	{ "claimed.multicast", NULL, OUT_BOOL },
	{ "proven.minimal", NULL, OUT_BOOL },
	{ "proven.deadlock_free", NULL, OUT_BOOL },
	{ "proven.reversible", NULL, OUT_BOOL },
	{ "proven.any_sl", NULL, OUT_BOOL },
	{ "proven.multicast", NULL, OUT_BOOL },
	{ "efi", "edge forwarding index", COUNT(found.all.audit.efi, OF_LOADS) },
	{ "efi_per_capacity", "  scaled by link speed",
	  REAL(1, found.all.audit.efi_per_capacity, OF_LOADS) },
	{ "efi_bound", "    least possible", REAL(1, load.bound.first, DETAIL OF_LOADS) },
	{ "load", "    times the least possible", REAL(3, load.first, OF_LOADS) },
	CLI_LOAD_ALL_FIELDS(struct cli_measured, found.all.audit, OF_LOADS | OF_LIDS),
	{ "efi_mean", "  average", REAL(1, found.all.audit.efi_mean, OF_LOADS) },
	{ "efi_min", "  least used channel", COUNT(least, DETAIL OF_LOADS) },
	{ "efi_perfect", "  average if all minimal", REAL(1, perfect, DETAIL OF_LOADS) },
	{ "sigma", "  deviation sigma(k)", REAL(2, sigma, DETAIL OF_LOADS) },
	{ "host_routes", "routes between hosts", COUNT(found.all.audit.n_host_routes, OF_LOADS) },
	{ "host_routes_lost", "  that do not arrive", COUNT(n_lost, DETAIL OF_LOADS) },
	{ "mean_hops", "  channels, mean", REAL(3, mean_hops, DETAIL OF_LOADS) },
	{ "routes", "routes from switches", COUNT(found.all.audit.n_routes, OF_CHECK) },
	{ "max_hops", "  channels of the longest",
	  COUNT(found.all.audit.max_hops, DETAIL OF_CHECK) },
	{ "routes_longer", "  longer than minimal",
	  COUNT(found.all.audit.n_longer, DETAIL OF_CHECK) },
	{ "max_longer", "    by channels, at most",
	  COUNT(found.all.audit.max_longer, DETAIL OF_CHECK) },
	{ "no_path", "  without a path", COUNT(tables.sweep.verdict.n_no_path, DETAIL OF_ENGINE) },
	{ "vls", "VLs used", COUNT(tables.routing.n_vls, OF_ENGINE) },
	{ "layers_one_way", "  needed by requests",
	  COUNT(tables.routing.n_layers_one_way, DETAIL OF_ENGINE) },
	{ "layers", "  needed for this verdict", COUNT(tables.routing.n_layers, OF_ENGINE) },
	{ "ebb", "effective bisection bw", REAL(4, bisections.bandwidth.mean, OF_BISECTIONS) },
	{ "ebb_half_width", "  95 % confidence, +-",
	  REAL(5, bisections.bandwidth.half_width, OF_BISECTIONS) },
	{ "ebb_worst", "  worst pattern", REAL(4, bisections.bandwidth.min, DETAIL OF_BISECTIONS) },
	{ "ebb_best", "  best pattern", REAL(4, bisections.bandwidth.max, DETAIL OF_BISECTIONS) },
	{ "max_congestion", "  largest congestion",
	  COUNT(bisections.max_congestion, DETAIL OF_BISECTIONS) },
	{ "pairs_no_path", "  pairs without a path",
	  COUNT(bisections.n_no_path, DETAIL OF_BISECTIONS) },
	CLI_SPLIT_FIELDS(struct cli_measured, OF_LOADS | OF_LIDS),
	{ "route_ms.cpu", "route, ms CPU", REAL(1, tables.ms, OF_ENGINE) },
	{ "route_ms.wall", "  elapsed", REAL(1, tables.sweep.wall_route, DETAIL OF_ENGINE) },
	{ "spf_ms", "  of it shortest paths", REAL(1, tables.routing.ms_spf, DETAIL OF_ENGINE) },
	{ "layers_ms", "  of it virtual lanes",
	  REAL(1, tables.routing.ms_layers, DETAIL OF_ENGINE) },
	{ "check_ms.cpu", "check, ms CPU", REAL(1, check.cpu, OF_CHECK) },
	{ "check_ms.wall", "  elapsed", REAL(1, check.wall, DETAIL OF_CHECK) },
	{ "bandwidth_ms", "bandwidth, ms CPU", REAL(1, bandwidth_ms, OF_BISECTIONS) },
	{ "memory_kb", "memory of the engine, kB", COUNT(memory_kb, OF_ENGINE) },
	{ "pairs_changed", "pairs with another path", COUNT(changes.n_path, OF_CHANGES) },
	{ "pairs_changed_share", "  of all", REAL(4, pairs_share, OF_CHANGES) },
	{ "entries_changed", "LFT entries that differ",
	  COUNT(changes.n_entries_changed, OF_CHANGES) },
	{ 0 },
};

static void say_claims(struct out *out, const char *whose, uint32_t claims)
{
	static const struct {
		const char *name;
		uint32_t bit;
	} known[] = {
		{ "minimal", OSR_CLAIM_MINIMAL },
		{ "deadlock_free", OSR_CLAIM_DEADLOCK_FREE },
		{ "reversible", OSR_CLAIM_REVERSIBLE },
		{ "any_sl", OSR_CLAIM_ANY_SL },
		{ "multicast", OSR_CLAIM_MULTICAST },
	};
	char key[64];

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		snprintf(key, sizeof(key), "%s.%s", whose, known[i].name);
		out_bool(out, key, claims & known[i].bit);
	}
}

int cli_measured_say(struct out *out, const struct cli_measured *measured)
{
	/* That tables are refuted is their verdict; there are figures of them. */
	enum osr_status st =
		!measured->tables.st && measured->st == OSR_CHECK_FAILED ? OSR_OK : measured->st;
	const struct osr_routing *routing = &measured->tables.routing;
	const struct osr_fabric *fabric = measured->fabric;
	uint32_t c = measured->worst.channel;
	char from[32], to[32];
	int code = CLI_OK;

	OUT_ADD(out, "results", measured->name, osr_status_str(st), st ? measured->diag.text : "");
	if (st)
		out_note(out, "%s: %s", measured->name, measured->diag.text);
	if (measured->tables.sweep.routed) {
		/* The engine's claims about its tables, and the checker's proofs. */
		if (routing->note)
			out_note(out, "%s: %s", measured->name, routing->note);
		out_textf(out, "digest", "%016llx",
			  (unsigned long long)measured->tables.result.digest);
		say_claims(out, "claimed", routing->claims);
		say_claims(out, "proven", measured->tables.sweep.verdict.proven);
	}
	out_members(
		out, cli_result_fields, measured,
		(measured->tables.st || measured->found.changed ? 0 : OF_CHECK) |
			(measured->has_figures ? OF_LOADS : 0) |
			(measured->tables.sweep.routed && !measured->tables.st ? OF_ENGINE : 0) |
			(measured->bisections.n_runs ? OF_BISECTIONS : 0) |
			(measured->compared ? OF_CHANGES : 0) |
			(measured->load.n_lids > 1 ? OF_LIDS : 0));
	if (measured->worst_gbps) {
		/* 1 / load, and 1 where the cables carry it all. */
		out_real(out, "worst.share",
			 measured->worst.load > 1 ? 1 / measured->worst.load : 1);
		out_real(out, "worst.share_bound",
			 measured->worst_bound > 1 ? 1 / measured->worst_bound : 1);
		out_count(out, "worst.flows", measured->worst.flow);
		out_count(out, "worst.gbps", measured->worst_gbps);
		if (c != OSR_NONE)
			out_textf(out, "worst.cable", "%s:%u - %s",
				  osr_switch_name(fabric, fabric->chan_src[c], from),
				  fabric->chan_port[c],
				  osr_switch_name(fabric, fabric->chan_dst[c], to));
	}
	if (measured->tables.st) {
		out_text(out, "verdict",
			 measured->tables.sweep.routed ? osr_answer_name(OSR_REFUTED) : NULL);
		return CLI_BAD;
	}
	code = cli_verdicts_say(out, measured->name, &measured->found, OSR_REQUIRED);
	cli_verdicts_witness(out, measured->name, fabric, &measured->found, OSR_REQUIRED);
	/* Routes by their length. */
	for (uint32_t h = 0; measured->has_figures && h <= OSR_AUDIT_MAX_HOPS; h++)
		if (measured->found.all.audit.hops[h])
			OUT_ADD(out, "hops", measured->name, h, measured->found.all.audit.hops[h]);
	return st ? CLI_BAD : code;
}

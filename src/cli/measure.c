/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Every figure is one row of result_fields[], which feeds the table and the JSON. */
#include "cli/measure.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- what is to be measured ------------------------------------------------------------------ */

enum { OPT_WORST = 256 };

static const struct cli_option options[] = {
	{ "bisections", "N", "random bisections, 0 for none (default 1000)",
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
	struct cli_measure *m = args;

	(void)line;
	if (key != OPT_WORST)
		return OSR_NOT_APPLICABLE;
	m->worst = true;
	m->worst_path = arg;
	return OSR_OK;
}

const struct cli_spec measure_spec = { options, measure_parse };

/* Rates of cables and end ports, in units that divide all of these. */
static enum osr_status load_rates(struct cli_measure *m, const struct cli_input *in,
				  struct osr_diag *diag)
{
	const struct osr_fabric *f = &in->fabric;
	uint32_t fastest = 0, *rate, *units;

	rate = osr_alloc(&m->arena, f->n_channels, sizeof(*rate));
	units = osr_calloc(&m->arena, f->n_terminals, sizeof(*units));
	if (osr_arena_failed(&m->arena, diag))
		return OSR_NOMEM;
	for (uint32_t i = 0; i < in->net.n_nodes; i++) {
		const struct osr_net_node *node = &in->net.nodes[i];
		uint32_t v = node->type == OSR_NET_SWITCH ? osr_fabric_switch_by_guid(f, node->guid)
							  : OSR_NONE;

		for (uint32_t t = v == OSR_NONE ? 0 : f->term_row[v];
		     v != OSR_NONE && t < f->term_row[v + 1]; t++) {
			uint8_t width, speed;

			osr_net_link_rate(&in->net, node->port_row + f->term_port[t], &width,
					  &speed);
			units[t] = f->term_weight[t] ? osr_rate_gbps(width, speed) : 0;
			fastest = units[t] > fastest ? units[t] : fastest;
		}
	}
	for (uint32_t c = 0; c < f->n_channels; c++)
		fastest = f->chan_rate[c] > fastest ? f->chan_rate[c] : fastest;
	/* A cable that does not say its rate is as fast as any. */
	fastest = fastest ? fastest : 1;
	for (uint32_t c = 0; c < f->n_channels; c++)
		rate[c] = f->chan_rate[c] ? f->chan_rate[c] : fastest;
	for (uint32_t t = 0; t < f->n_terminals; t++) {
		uint32_t rest = units[t] = !f->term_weight[t] ? 0 : units[t] ? units[t] : fastest;

		/* The greatest common divisor. */
		while (rest) {
			uint32_t unit = m->rates.unit;

			m->rates.unit = rest;
			rest = unit % rest;
		}
	}
	for (uint32_t t = 0; t < f->n_terminals; t++)
		units[t] /= m->rates.unit ? m->rates.unit : 1;
	m->rates.rate = rate;
	m->rates.units = units;
	return OSR_OK;
}

enum osr_status cli_measure_load(struct cli_measure *m, const struct cli_input *in,
				 struct osr_diag *diag)
{
	struct osr_endports endports;
	struct osr_arena scratch = { 0 };
	struct osr_lines lines;
	enum osr_status st = osr_endports_init(&endports, &in->fabric, &m->arena, diag);

	m->f = &in->fabric;
	m->in = in;
	m->hosts = osr_alloc(&m->arena, m->f->n_terminals, sizeof(*m->hosts));
	if (!st && osr_arena_failed(&m->arena, diag))
		st = OSR_NOMEM;
	/* The hosts of the ranks, and the files. */
	if (!st && m->hosts_path)
		st = osr_hostlist_read(osr_lines_open(&lines, m->hosts_path, diag), &endports,
				       m->hosts, &m->n_hosts);
	else if (!st)
		m->n_hosts = osr_survey_hosts(m->f, m->hosts);
	for (uint32_t i = 0; i < m->n_flows && !st; i++)
		st = osr_traffic_read(osr_lines_open(&lines, m->path[i], diag), &endports,
				      &m->file[i]);
	if (!st && m->worst)
		st = load_rates(m, in, diag);
	if (!st && m->worst_path && !(m->worst_file = fopen(m->worst_path, "w")))
		st = osr_fail(diag, OSR_INVAL, "%s: %s", m->worst_path, strerror(errno));
	if (!st)
		st = cli_bounds_of(m->f, &scratch, &m->bounds, diag);
	osr_arena_free(&scratch);
	return st;
}

enum osr_status cli_measure_free(struct cli_measure *m, struct osr_diag *diag)
{
	for (uint32_t i = 0; i < m->n_flows; i++)
		osr_traffic_free(&m->file[i]);
	osr_arena_free(&m->arena);
	return m->worst_file ? cli_written(m->worst_file, m->worst_path, diag) : OSR_OK;
}

/* ---- surveys -------------------------------------------------------------------------------- */

struct surveying {
	struct osr_survey survey;
	struct osr_worker *worker; /* [n] of parts */
};

static void take_phase(void *ctx, uint32_t part)
{
	struct surveying *s = ctx;

	osr_survey_take(&s->survey, &s->worker[part]);
}

static enum osr_status run_phase(void *ctx, uint32_t part, uint32_t i, struct osr_diag *diag)
{
	struct surveying *s = ctx;

	(void)i;
	return osr_worker_run(&s->worker[part], diag);
}

/* All phases; `what` stands before the progress bar. */
static enum osr_status run_survey(const struct cli_pool *pool, const struct osr_survey_in *in,
				  const char *what, struct osr_survey_sum *sum,
				  struct osr_diag *diag)
{
	struct surveying s;
	struct osr_arena arena = { 0 };
	enum osr_status st = osr_survey_init(&s.survey, in, &arena, diag);
	uint32_t n = st ? 0 : cli_n_threads(pool, s.survey.n_all);

	s.worker = osr_alloc(&arena, n, sizeof(*s.worker));
	if (!st)
		st = osr_arena_failed(&arena, diag) ? OSR_NOMEM : OSR_OK;
	for (uint32_t i = 0; i < n && !st; i++)
		st = osr_worker_init(&s.worker[i], &s.survey, &arena, diag);
	if (!st)
		st = cli_each(pool, what, (uint32_t)s.survey.n_all, take_phase, run_phase, &s,
			      diag);
	if (!st)
		osr_survey_sum(&s.survey, sum);
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
static enum osr_status measure_files(const struct cli_measure *m, const struct cli_measured *o,
				     struct out *out, struct osr_diag *diag)
{
	enum osr_status st = OSR_OK;

	for (uint32_t i = 0; i < 2 * m->n_flows && !st; i++) {
		const struct osr_traffic *file = &m->file[i / 2];
		const uint32_t *named = file->hosts;
		bool random = i % 2;
		struct osr_survey_in in = { .f = o->f,
					    .r = &o->t.routing,
					    .phases = &file->phases,
					    .hosts = named ? named : m->hosts,
					    .n_hosts = named ? file->phases.n_ranks : m->n_hosts,
					    .n_runs = random ? m->n_runs : 1,
					    .shuffle = random,
					    .bandwidth = true,
					    .seed = m->seed };
		struct measured row = { .tables = o->name,
					.pattern = m->path[i / 2],
					.ranking = random  ? "random"
						   : named ? "given"
							   : "ordered",
					.n_ranks = file->phases.n_ranks };
		double start = cli_cpu_ms();

		if (random && (named || !m->n_runs))
			continue;
		st = run_survey(&m->pool, &in, row.pattern, &row.sum, diag);
		row.ms = cli_cpu_ms() - start;
		if (st)
			break;
		out_row(out, "patterns");
		out_members(out, cli_traffic_fields, &row, row.sum.n_runs > 1 ? SEVERAL : 0);
	}
	return st;
}

/* ---- one set of tables ----------------------------------------------------------------------- */

static enum osr_status find_worst(struct cli_measure *m, struct cli_measured *o,
				  struct osr_arena *scratch, struct osr_diag *diag)
{
	const struct osr_fabric *fabric = o->f;
	enum osr_status st;

	if (!m->worst || !m->rates.unit)
		return OSR_OK;
	o->worst_gbps = m->rates.unit;
	st = osr_worst_find(fabric, &o->t.routing, &m->rates, &m->arena, scratch, &o->worst, diag);
	if (!st)
		st = osr_worst_bound(fabric, &m->rates, scratch, &o->worst_bound, diag);
	if (st || !m->worst_file)
		return st;
	/* A phase for each set of tables. */
	fprintf(m->worst_file, "phase %s\n", o->name);
	for (uint32_t i = 0; i < o->worst.flow; i++) {
		const struct osr_pair *pair = &o->worst.pairs[i];
		char from[32], to[32];

		fprintf(m->worst_file, "lid:%u lid:%u\t# %s %s\n", fabric->term_lid[pair->from],
			fabric->term_lid[pair->to], osr_terminal_name(fabric, pair->from, from),
			osr_terminal_name(fabric, pair->to, to));
	}
	return OSR_OK;
}

/* How even the loads are; of tables that no engine made also what the checker of a sweep would have said. */
static void weigh(const struct osr_fabric *fabric, struct cli_measured *o)
{
	const struct osr_audit *audit = &o->found.all.audit;
	const struct osr_answered *answers = o->found.all.on;
	struct osr_verdict *verdict = &o->t.sweep.verdict;
	double sum = 0, fastest = 1;
	uint64_t sum_hops = 0;

	for (uint32_t h = 0; h <= OSR_AUDIT_MAX_HOPS; h++)
		sum_hops += h * audit->hops[h];
	if (audit->n_host_routes)
		o->mean_hops = (double)sum_hops / (double)audit->n_host_routes;
	if (!fabric->n_channels)
		return;
	o->least = UINT64_MAX;
	o->perfect = (double)audit->n_host_hops / fabric->n_channels;
	for (uint32_t c = 0; c < fabric->n_channels; c++) {
		double apart = fabs(o->perfect - (double)audit->load[c]);

		if (audit->load[c] < o->least)
			o->least = audit->load[c];
		sum += apart * apart * apart * apart;
		fastest = fmax(fastest, fabric->chan_rate[c]);
	}
	for (uint32_t c = 0; !o->t.sweep.routed && c < fabric->n_channels; c++) {
		double rate = fabric->chan_rate[c] ? fabric->chan_rate[c] : fastest;

		verdict->efi_per_capacity =
			fmax(verdict->efi_per_capacity, (double)audit->load[c] * fastest / rate);
	}
	if (!o->t.sweep.routed) {
		verdict->n_host_routes = audit->n_host_routes;
		verdict->n_host_longer = audit->n_host_longer;
		verdict->n_vls = o->t.routing.n_vls;
		verdict->proven =
			(answers[OSR_ASK_REPLIES].answer == OSR_PROVEN) * OSR_CLAIM_REVERSIBLE |
			(answers[OSR_ASK_ANY_SL].answer == OSR_PROVEN) * OSR_CLAIM_ANY_SL;
	}
	o->sigma = pow(sum / fabric->n_channels, 1.0 / 4);
}

/* Verdict, loads, the worst permutation and bisections. */
static void analyze(struct cli_measure *m, struct cli_measured *o, struct osr_arena *scratch)
{
	struct osr_survey_in in;
	struct osr_phases phases;
	struct osr_diag diag = { "" };
	struct cli_stamp check = cli_now();
	/* What the checker said of an engine's tables saves the search for what it has proven. */
	struct osr_inquiry ask = { .f = o->f,
				   .gen = &o->t.gen,
				   .checked = o->t.sweep.routed ? &o->t.sweep.checked : NULL };
	enum osr_question which;
	enum osr_status st = OSR_OK;
	double start;

	o->st = cli_verify(&ask, scratch, &o->t.arena, &o->found, &o->diag);
	if (!o->st && cli_is_refuted(&o->found, OSR_REQUIRED))
		o->st = cli_verdicts_confirm(&o->found, &o->t, m->in, &o->diag);
	/* Half of an old and half of a new generation have no figures, and their routes may lead anywhere. */
	if (o->st || o->found.changed)
		return;
	o->has_figures = true;
	if (osr_verdict_of(&o->found.hosts, OSR_REQUIRED, &which) == OSR_REFUTED)
		o->st = osr_fail(&o->diag, OSR_CHECK_FAILED, "%s", o->found.hosts.on[which].why);
	check = cli_since(check);
	o->check.cpu = o->t.sweep.ms_check + check.cpu;
	o->check.wall = o->t.sweep.wall_check + check.wall;
	weigh(o->f, o);
	if (!o->st && m->compares)
		st = osr_worth_of(o->f, &o->t.routing, &o->t.sweep.verdict, scratch, &o->worth,
				  &diag);
	if (!st)
		st = cli_load_of(o->f, &o->t.routing, &o->found.all.audit, &m->bounds, scratch,
				 &o->load, &diag);
	if (!st)
		st = find_worst(m, o, scratch, &diag);
	start = cli_cpu_ms();
	if (!st && m->n_bisections)
		st = osr_survey_bisections(o->f, &o->t.routing, m->n_bisections, m->seed, scratch,
					   &phases, &in, &diag);
	if (!st && m->n_bisections)
		st = run_survey(&m->pool, &in, "bisections", &o->bisections, &diag);
	o->bandwidth_ms = cli_cpu_ms() - start;
	/* Without hosts everything else can still be said; and what is wrong with the tables comes first. */
	if (st && st != OSR_NOT_APPLICABLE && !o->st) {
		o->st = st;
		o->diag = diag;
	}
}

enum osr_status cli_measure(struct cli_measure *m, const struct cli_measured *reference,
			    struct cli_measured *o, struct out *out, struct osr_diag *diag)
{
	struct osr_arena scratch = { 0 };
	enum osr_status st = OSR_OK;

	o->f = m->f;
	o->st = o->t.st;
	o->diag = o->t.diag;
	if (o->st)
		return OSR_OK;
	analyze(m, o, &scratch);
	if (o->st == OSR_INVAL || o->st == OSR_NOMEM) {
		osr_arena_free(&scratch);
		*diag = o->diag;
		return o->st;
	}
	o->n_lost = o->found.all.audit.n_host_pairs - o->found.all.audit.n_host_routes;
	o->memory_kb = o->t.sweep.memory >> 10;
	o->compared = reference != NULL;
	if (o->compared)
		st = osr_changes(o->f, &reference->t.routing, o->f, &o->t.routing, &scratch,
				 &o->changes, diag);
	if (o->changes.n_pairs)
		o->pairs_share = (double)o->changes.n_path / (double)o->changes.n_pairs;
	osr_arena_free(&scratch);
	if (!st)
		st = measure_files(m, o, out, diag);
	return st == OSR_CHECK_FAILED && o->st ? OSR_OK : st; /* said already */
}

/* ---- the figures ---------------------------------------------------------------------------- */

/* What must be there for a figure. */
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
	{ "tables", NULL, OUT_TEXT, 0 },
	{ "hops", NULL, OUT_COUNT, 0 },
	{ "routes", NULL, OUT_COUNT, 0 },
	{ 0 },
};

const struct out_field cli_result_fields[] = {
	{ "tables", "tables of", OUT_TEXT, 0 },
	{ "status", NULL, OUT_TEXT, 0 },
	{ "message", NULL, OUT_TEXT, 0 },
	CLI_ANSWER_FIELDS,
	{ "worst.share", "worst permutation, rate left", OUT_REAL, 4 },
	{ "worst.share_bound", "  no tables leave more than", OUT_REAL, 4 },
	{ "worst.flows", "  flows on one cable", OUT_COUNT },
	{ "worst.gbps", NULL, OUT_COUNT },
	{ "worst.cable", "  the cable", OUT_TEXT },
	{ "digest", "digest", OUT_TEXT, 0 },
	{ "claimed.minimal", NULL, OUT_BOOL, 0 },
	{ "claimed.deadlock_free", NULL, OUT_BOOL, 0 },
	{ "claimed.reversible", NULL, OUT_BOOL, 0 },
	{ "claimed.any_sl", NULL, OUT_BOOL, 0 },
	{ "claimed.multicast", NULL, OUT_BOOL, 0 },
	{ "proven.minimal", NULL, OUT_BOOL, 0 },
	{ "proven.deadlock_free", NULL, OUT_BOOL, 0 },
	{ "proven.reversible", NULL, OUT_BOOL, 0 },
	{ "proven.any_sl", NULL, OUT_BOOL, 0 },
	{ "proven.multicast", NULL, OUT_BOOL, 0 },
	{ "efi", "edge forwarding index", COUNT(found.all.audit.efi, OF_LOADS) },
	{ "efi_bound", "  least possible", COUNT(load.bound.first, DETAIL OF_LOADS) },
	{ "load", "  times the least possible", REAL(3, load.first, OF_LOADS) },
	CLI_LOAD_ALL_FIELDS(struct cli_measured, found.all.audit, OF_LOADS | OF_LIDS),
	{ "efi_mean", "  average", REAL(1, found.all.audit.efi_mean, OF_LOADS) },
	{ "efi_min", "  least used channel", COUNT(least, DETAIL OF_LOADS) },
	{ "efi_perfect", "  average if all minimal", REAL(1, perfect, DETAIL OF_LOADS) },
	{ "sigma", "  deviation sigma(k)", REAL(2, sigma, DETAIL OF_LOADS) },
	{ "efi_per_capacity", "  scaled by link speed",
	  REAL(1, t.sweep.verdict.efi_per_capacity, OF_LOADS) },
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
	{ "no_path", "  without a path", COUNT(t.sweep.verdict.n_no_path, DETAIL OF_ENGINE) },
	{ "vls", "VLs used", COUNT(t.routing.n_vls, OF_ENGINE) },
	{ "layers_one_way", "  needed by requests",
	  COUNT(t.routing.n_layers_one_way, DETAIL OF_ENGINE) },
	{ "layers", "  needed with replies", COUNT(t.routing.n_layers, DETAIL OF_ENGINE) },
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
	{ "route_ms.cpu", "route, ms CPU", REAL(1, t.ms, OF_ENGINE) },
	{ "route_ms.wall", "  elapsed", REAL(1, t.sweep.wall_route, DETAIL OF_ENGINE) },
	{ "spf_ms", "  of it shortest paths", REAL(1, t.routing.ms_spf, DETAIL OF_ENGINE) },
	{ "layers_ms", "  of it virtual lanes", REAL(1, t.routing.ms_layers, DETAIL OF_ENGINE) },
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

int cli_measured_say(struct out *out, const struct cli_measured *o)
{
	/* That tables are refuted is their verdict; there are figures of them. */
	enum osr_status st = !o->t.st && o->st == OSR_CHECK_FAILED ? OSR_OK : o->st;
	const struct osr_routing *routing = &o->t.routing;
	const struct osr_fabric *f = o->f;
	uint32_t c = o->worst.channel;
	char from[32], to[32];
	int code = CLI_OK;

	OUT_ADD(out, "results", o->name, osr_status_str(st), st ? o->diag.text : "");
	if (st)
		out_note(out, "%s: %s", o->name, o->diag.text);
	if (o->t.sweep.routed) {
		/* What an engine says of its tables, and the checker of them. */
		if (routing->note)
			out_note(out, "%s: %s", o->name, routing->note);
		out_textf(out, "digest", "%016llx", (unsigned long long)o->t.result.digest);
		say_claims(out, "claimed", routing->claims);
		say_claims(out, "proven", o->t.sweep.verdict.proven);
	}
	out_members(out, cli_result_fields, o,
		    (o->t.st || o->found.changed ? 0 : OF_CHECK) | (o->has_figures ? OF_LOADS : 0) |
			    (o->t.sweep.routed && !o->t.st ? OF_ENGINE : 0) |
			    (o->bisections.n_runs ? OF_BISECTIONS : 0) |
			    (o->compared ? OF_CHANGES : 0) | (o->load.n_lids > 1 ? OF_LIDS : 0));
	if (o->worst_gbps) {
		/* 1 / load, and 1 where the cables carry it all. */
		out_real(out, "worst.share", o->worst.load > 1 ? 1 / o->worst.load : 1);
		out_real(out, "worst.share_bound", o->worst_bound > 1 ? 1 / o->worst_bound : 1);
		out_count(out, "worst.flows", o->worst.flow);
		out_count(out, "worst.gbps", o->worst_gbps);
		if (c != OSR_NONE)
			out_textf(out, "worst.cable", "%s:%u - %s",
				  osr_switch_name(f, f->chan_src[c], from), f->chan_port[c],
				  osr_switch_name(f, f->chan_dst[c], to));
	}
	if (o->t.st) {
		out_text(out, "verdict", o->t.sweep.routed ? osr_answer_name(OSR_REFUTED) : NULL);
		return CLI_BAD;
	}
	code = cli_verdicts_say(out, o->name, &o->found, OSR_REQUIRED);
	cli_verdicts_witness(out, o->name, f, &o->found, OSR_REQUIRED);
	/* Routes by their length. */
	for (uint32_t h = 0; o->has_figures && h <= OSR_AUDIT_MAX_HOPS; h++)
		if (o->found.all.audit.hops[h])
			OUT_ADD(out, "hops", o->name, h, o->found.all.audit.hops[h]);
	return st ? CLI_BAD : code;
}

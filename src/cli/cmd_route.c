/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Routes a fabric, or reads tables, and measures both: several engines and files are columns. Every
 * figure is one row of `figures[]`, which feeds the table and the JSON.
 */
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <osmroutes/pgft.h>
#include <osmroutes/product.h>

#include "cli/source.h"
#include "conf/posix_threads.h"
#include "core/paths/bound.h"
#include "store/store.h"
#include "io/osmdump.h"
#include "io/trafficfile.h"
#include "traffic/changes.h"
#include "traffic/survey.h"
#include "traffic/worst.h"
#include "page_html.h"

/* The traffic that is measured: random bisections, and traffic files, each on hosts in some order. */

#define MAX_TRAFFIC 64

struct traffic {
	const char *path[MAX_TRAFFIC]; /* [n_flows] of the files */
	struct osr_traffic file[MAX_TRAFFIC];
	uint32_t n_flows;
	uint32_t n_bisections;
	uint32_t n_runs; /* of random rankings */
	uint64_t seed;
	const char *hosts_path;
	struct cli_pool pool;

	struct osr_arena arena;
	uint32_t *hosts, n_hosts; /* [n_hosts] in rank order */
};

/*
 * --worst[=FILE]: the permutation of end ports that loads one cable most, and what no routing can
 * do better (traffic/worst.h, core/paths/bound.h).
 */
struct worst_ask {
	bool asked;
	const char *path; /* of the traffic file, or NULL */
	FILE *file;
	struct osr_rates rates;
	struct osr_arena arena;
};

struct args {
	struct cli_run run;
	struct traffic traffic;
	struct worst_ask worst;
	struct osr_osmdump dump;
	const char *save, *previous;
	/* `report`: a page instead of the table. */
	bool is_report;
	const char *html; /* its file; NULL: standard output */
	struct osr_threads threads;
	uint64_t bound;            /* no routing has a lower edge forwarding index */
	struct outcome *reference; /* what the others are compared with; NULL: none yet */
	struct best {
		const char *name; /* NULL: none yet */
		enum osr_answer verdict;
		uint64_t efi;
		struct osr_spread ebb;
	} best;                  /* to be recommended */
	uint32_t n_done;         /* tables that there are */
	enum osr_status refused; /* why the page has nothing to show of the first */
};

/* One engine's work on the fabric, or one file's tables. */
struct outcome {
	const char *name;
	const struct osr_fabric *f;
	bool routed; /* an engine made the tables, so there are times and VLs */
	uint64_t bound;
	struct cli_stored previous;
	struct cli_tables t;
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
	struct osr_worst worst;
	double worst_bound;     /* of its load */
	uint32_t worst_gbps;    /* of one flow; 0: not asked for */
	struct cli_stamp check; /* of the sweep and of what it has left open */
	double bandwidth_ms;
	long rss_kb; /* of the process, whose peak is that of all engines so far */
	bool compared;
	struct osr_changes changes;
	double load, pairs_share; /* to be said */
	uint64_t n_lost;
	size_t memory_kb;
};

/* ---- traffic --------------------------------------------------------------------------------- */

/* Reads the files and the hosts of the ranks. */
static enum osr_status traffic_load(struct args *a, struct osr_diag *diag)
{
	const struct osr_fabric *fabric = &a->run.in.fabric;
	struct traffic *traffic = &a->traffic;
	struct osr_endports endports;
	struct osr_lines in;
	enum osr_status st = osr_endports_init(&endports, fabric, &traffic->arena, diag);

	traffic->hosts = osr_alloc(&traffic->arena, fabric->n_terminals, sizeof(*traffic->hosts));
	if (!st && osr_arena_failed(&traffic->arena, diag))
		st = OSR_NOMEM;
	if (st)
		return st;
	if (traffic->hosts_path)
		st = osr_hostlist_read(osr_lines_open(&in, traffic->hosts_path, diag), &endports,
				       traffic->hosts, &traffic->n_hosts);
	else
		traffic->n_hosts = osr_survey_hosts(fabric, traffic->hosts);
	for (uint32_t i = 0; i < traffic->n_flows && !st; i++)
		st = osr_traffic_read(osr_lines_open(&in, traffic->path[i], diag), &endports,
				      &traffic->file[i]);
	return st;
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

static const struct out_field traffic_fields[] = {
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
static enum osr_status measure_file(struct args *a, uint32_t i, const char *ranking,
				    const struct outcome *o, struct osr_diag *diag)
{
	const struct traffic *traffic = &a->traffic;
	const struct osr_traffic *file = &traffic->file[i];
	const uint32_t *named = file->hosts;
	bool random = !named && !strcmp(ranking, "random");
	struct osr_survey_in in = { .f = o->f,
				    .r = &o->t.routing,
				    .phases = &file->phases,
				    .hosts = named ? named : traffic->hosts,
				    .n_hosts = named ? file->phases.n_ranks : traffic->n_hosts,
				    .n_runs = random ? traffic->n_runs : 1,
				    .shuffle = random,
				    .bandwidth = true,
				    .seed = traffic->seed };
	struct measured row = { .tables = o->name,
				.pattern = traffic->path[i],
				.ranking = ranking,
				.n_ranks = file->phases.n_ranks };
	double start = cli_cpu_ms();
	enum osr_status st = run_survey(&traffic->pool, &in, traffic->path[i], &row.sum, diag);

	row.ms = cli_cpu_ms() - start;
	if (!st) {
		out_row(&a->run.out, "patterns");
		out_members(&a->run.out, traffic_fields, &row, row.sum.n_runs > 1 ? SEVERAL : 0);
	}
	return st;
}

/* ---- the worst permutation ------------------------------------------------------------------- */

/* Rates of cables and end ports, in units that divide all of these, and the file. */
static enum osr_status worst_load(struct worst_ask *worst, const struct cli_input *in,
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
			uint32_t unit = worst->rates.unit;

			worst->rates.unit = rest;
			rest = unit % rest;
		}
	}
	for (uint32_t t = 0; t < f->n_terminals; t++)
		units[t] /= worst->rates.unit ? worst->rates.unit : 1;
	worst->rates.rate = rate;
	worst->rates.units = units;
	if (worst->path && !(worst->file = fopen(worst->path, "w")))
		return osr_fail(diag, OSR_INVAL, "%s: %s", worst->path, strerror(errno));
	return OSR_OK;
}

static enum osr_status worst_find(struct worst_ask *worst, struct outcome *o,
				  struct osr_arena *scratch, struct osr_diag *diag)
{
	const struct osr_fabric *fabric = o->f;
	enum osr_status st;

	if (!worst->asked || !worst->rates.unit)
		return OSR_OK;
	o->worst_gbps = worst->rates.unit;
	st = osr_worst_find(fabric, &o->t.routing, &worst->rates, &worst->arena, scratch, &o->worst,
			    diag);
	if (!st)
		st = osr_bound_permutation(fabric, worst->rates.units, worst->rates.unit,
					   worst->rates.rate, scratch, &o->worst_bound, diag);
	if (st || !worst->file)
		return st;
	/* A phase for each set of tables. */
	fprintf(worst->file, "phase %s\n", o->name);
	for (uint32_t i = 0; i < o->worst.flow; i++) {
		const struct osr_pair *pair = &o->worst.pairs[i];
		char from[32], to[32];

		fprintf(worst->file, "lid:%u lid:%u\t# %s %s\n", fabric->term_lid[pair->from],
			fabric->term_lid[pair->to], osr_terminal_name(fabric, pair->from, from),
			osr_terminal_name(fabric, pair->to, to));
	}
	return OSR_OK;
}

static void worst_say(struct out *out, const struct outcome *o)
{
	const struct osr_fabric *f = o->f;
	uint32_t c = o->worst.channel;
	char from[32], to[32];

	if (!o->worst_gbps)
		return;
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

/* ---- all of it ------------------------------------------------------------------------------- */

/* How even the loads are. */
static void weigh(const struct osr_fabric *fabric, struct outcome *o)
{
	const struct osr_audit *audit = &o->found.audit;
	uint64_t sum_hops = 0;
	double sum = 0;

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
	}
	o->sigma = pow(sum / fabric->n_channels, 1.0 / 4);
}

/* Verdict, loads, the worst permutation and bisections of these tables. */
static void analyze(struct args *a, struct outcome *o)
{
	const struct osr_fabric *fabric = o->f;
	struct osr_arena scratch = { 0 };
	struct osr_survey_in in;
	struct osr_phases phases;
	struct osr_diag diag = { "" };
	struct cli_stamp check = cli_now();
	/* What the checker said of an engine's tables saves the search for what it has proven. */
	struct osr_inquiry ask = { .f = fabric,
				   .gen = &o->t.gen,
				   .checked = o->t.sweep.routed ? &o->t.sweep.verdict : NULL,
				   .figures = true };
	enum osr_question which;
	enum osr_status st;
	double start;

	o->st = osr_verify(&ask, &scratch, &o->t.arena, &o->found, &o->diag);
	o->has_figures = !o->st;
	if (!o->st && osr_verdict_of(&o->found, OSR_REQUIRED, &which) == OSR_REFUTED)
		o->st = osr_fail(&o->diag, OSR_CHECK_FAILED, "%s", o->found.on[which].why);
	check = cli_since(check);
	o->check.cpu = o->t.sweep.ms_check + check.cpu;
	o->check.wall = o->t.sweep.wall_check + check.wall;
	if (o->has_figures) {
		weigh(fabric, o);
		st = worst_find(&a->worst, o, &scratch, &diag);
		start = cli_cpu_ms();
		if (!st && a->traffic.n_bisections)
			st = osr_survey_bisections(fabric, &o->t.routing, a->traffic.n_bisections,
						   a->traffic.seed, &scratch, &phases, &in, &diag);
		if (!st && a->traffic.n_bisections)
			st = run_survey(&a->traffic.pool, &in, "bisections", &o->bisections, &diag);
		o->bandwidth_ms = cli_cpu_ms() - start;
		/* Without hosts everything else can still be said; and what is wrong with the tables comes first. */
		if (st && st != OSR_NOT_APPLICABLE && !o->st) {
			o->st = st;
			o->diag = diag;
		}
	}
	osr_arena_free(&scratch);
}

/* ---- the figures ---------------------------------------------------------------------------- */

/* What must be there for a figure. */
enum { OF_CHECK = 1, OF_LOADS = 2, OF_ENGINE = 4, OF_BISECTIONS = 8, OF_CHANGES = 16 };

/* Where several are compared people do not see it. */
#define DETAIL OUT_DETAIL |

#define COUNT(member, when) OUT_COUNT, 0, OUT_OF(struct outcome, member), when
#define REAL(digits, member, when) OUT_REAL, digits, OUT_OF(struct outcome, member), when

static unsigned route_has(const struct outcome *o)
{
	return (o->t.st ? 0 : OF_CHECK) | (o->has_figures ? OF_LOADS : 0) |
	       (o->routed && !o->t.st ? OF_ENGINE : 0) |
	       (o->bisections.n_runs > 0 ? OF_BISECTIONS : 0) | (o->compared ? OF_CHANGES : 0);
}

static const struct out_field head_fields[] = {
	CLI_INPUT_FIELDS,
	CLI_SUBJECTS_FIELDS,
	{ "bisections", NULL, OUT_COUNT, 0 },
	{ "seed", NULL, OUT_COUNT, 0 },
	{ "command_line", NULL, OUT_TEXT },
	{ "date", NULL, OUT_TEXT },
	{ 0 },
};

/* For programs. */
static const struct out_field hop_fields[] = {
	{ "tables", NULL, OUT_TEXT, 0 },
	{ "hops", NULL, OUT_COUNT, 0 },
	{ "routes", NULL, OUT_COUNT, 0 },
	{ 0 },
};

static const struct out_field result_fields[] = {
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
	{ "efi", "edge forwarding index", COUNT(found.audit.efi, OF_LOADS) },
	{ "efi_bound", "  least possible", COUNT(bound, DETAIL OF_LOADS) },
	{ "load", "  times the least possible", REAL(3, load, OF_LOADS) },
	{ "efi_mean", "  average", REAL(1, found.audit.efi_mean, OF_LOADS) },
	{ "efi_min", "  least used channel", COUNT(least, DETAIL OF_LOADS) },
	{ "efi_perfect", "  average if all minimal", REAL(1, perfect, DETAIL OF_LOADS) },
	{ "sigma", "  deviation sigma(k)", REAL(2, sigma, DETAIL OF_LOADS) },
	{ "efi_per_capacity", "  scaled by link speed",
	  REAL(1, t.sweep.verdict.efi_per_capacity, DETAIL OF_ENGINE) },
	{ "host_routes", "routes between hosts", COUNT(found.audit.n_host_routes, OF_LOADS) },
	{ "host_routes_lost", "  that do not arrive", COUNT(n_lost, DETAIL OF_LOADS) },
	{ "mean_hops", "  channels, mean", REAL(3, mean_hops, DETAIL OF_LOADS) },
	{ "routes", "routes from switches", COUNT(found.audit.n_routes, OF_CHECK) },
	{ "max_hops", "  channels of the longest", COUNT(found.audit.max_hops, DETAIL OF_CHECK) },
	{ "routes_longer", "  longer than minimal", COUNT(found.audit.n_longer, DETAIL OF_CHECK) },
	{ "max_longer", "    by channels, at most",
	  COUNT(found.audit.max_longer, DETAIL OF_CHECK) },
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
	{ "route_ms.cpu", "route, ms CPU", REAL(1, t.ms, OF_ENGINE) },
	{ "route_ms.wall", "  elapsed", REAL(1, t.sweep.wall_route, DETAIL OF_ENGINE) },
	{ "spf_ms", "  of it shortest paths", REAL(1, t.routing.ms_spf, DETAIL OF_ENGINE) },
	{ "layers_ms", "  of it virtual lanes", REAL(1, t.routing.ms_layers, DETAIL OF_ENGINE) },
	{ "check_ms.cpu", "check, ms CPU", REAL(1, check.cpu, OF_CHECK) },
	{ "check_ms.wall", "  elapsed", REAL(1, check.wall, DETAIL OF_CHECK) },
	{ "bandwidth_ms", "bandwidth, ms CPU", REAL(1, bandwidth_ms, OF_BISECTIONS) },
	{ "memory_kb", "memory of the engine, kB", COUNT(memory_kb, OF_ENGINE) },
	{ "peak_rss_kb", NULL, COUNT(rss_kb, OF_ENGINE) },
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

static int route_say(struct out *out, const struct outcome *o)
{
	/* That tables are refuted is their verdict; there are figures of them. */
	bool measured = !o->t.st && (!o->st || o->st == OSR_CHECK_FAILED);
	const struct osr_diag *why = o->t.st ? &o->t.diag : &o->diag;
	enum osr_status st = measured ? OSR_OK : o->t.st ? o->t.st : o->st;
	int code = CLI_OK;

	OUT_ADD(out, "results", o->name, osr_status_str(st), measured ? "" : why->text);
	if (st)
		out_note(out, "%s: %s", o->name, why->text);
	if (o->t.sweep.routed) {
		const struct osr_routing *routing = &o->t.routing;

		/* What an engine says of its tables, and the checker of them. */
		if (routing->note)
			out_note(out, "%s: %s", o->name, routing->note);
		out_textf(out, "digest", "%016llx", (unsigned long long)o->t.result.digest);
		say_claims(out, "claimed", routing->claims);
		say_claims(out, "proven", o->t.sweep.verdict.proven);
	}
	out_members(out, result_fields, o, route_has(o));
	worst_say(out, o);
	if (o->t.st)
		out_text(out, "verdict", o->t.sweep.routed ? osr_answer_name(OSR_REFUTED) : NULL);
	else
		code = cli_answers_say(out, o->name, &o->found, OSR_REQUIRED);
	if (!o->t.st)
		cli_answers_witness(out, o->name, o->f, &o->found, OSR_REQUIRED);
	/* Routes by their length. */
	for (uint32_t h = 0; o->has_figures && h <= OSR_AUDIT_MAX_HOPS; h++) {
		if (o->found.audit.hops[h])
			OUT_ADD(out, "hops", o->name, h, o->found.audit.hops[h]);
	}
	return st ? CLI_BAD : code;
}

/* ---- the page ------------------------------------------------------------------------------- */

/*
 * page.html with what `route` says in it as JSON: it draws itself, and needs no network. Its pictures need these
 * sections besides.
 */
static const struct out_field answer_fields[] = {
	{ "question", NULL, OUT_TEXT },
	{ "answer", NULL, OUT_TEXT },
	{ "why", NULL, OUT_TEXT },
	{ 0 },
};

static const struct out_field place_fields[] = {
	{ "name", NULL, OUT_TEXT },
	{ "guid", NULL, OUT_GUID },
	{ "hosts", NULL, OUT_COUNT },
	{ "tree", NULL, OUT_COUNT }, /* of a fat tree: pgft.h */
	{ "a", NULL, OUT_COUNT },
	{ "b", NULL, OUT_COUNT },
	{ "at", NULL, OUT_TEXT }, /* coordinates in a torus, mesh or HyperX */
	{ 0 },
};

static const struct out_field cable_fields[] = {
	{ "from", NULL, OUT_COUNT }, /* index of the switch */
	{ "from_port", NULL, OUT_COUNT },   { "to", NULL, OUT_COUNT },
	{ "to_port", NULL, OUT_COUNT },     { "routes", NULL, OUT_COUNT },
	{ "routes_back", NULL, OUT_COUNT }, { 0 },
};

static const struct out_field lane_fields[] = {
	{ "vl", NULL, OUT_COUNT },
	{ "routes", NULL, OUT_COUNT },
	{ 0 },
};

/* The place of each switch in a fat tree, or in a torus, mesh or HyperX; nothing elsewhere. */
static void say_switches(const struct osr_fabric *f, struct osr_arena *arena, struct out *out)
{
	struct osr_pgft tree;
	struct osr_product product;
	struct osr_diag diag;
	bool is_tree = !osr_pgft_find(f, &(struct osr_pgft_options){ .max_missing = 30 }, arena,
				      &tree, &diag);
	bool is_product = !osr_product_find(f, arena, &product, &diag) && product.n_dims > 1 &&
			  product.n_placed == f->n_switches;

	for (uint32_t v = 0; v < f->n_switches; v++) {
		char text[8 * OSR_MAX_DIMS] = "";
		size_t n = 0;

		OUT_ADD(out, "places", osr_switch_name(f, v, text), f->sw_guid[v],
			f->sw_sources[v]);
		if (is_tree && tree.sw_level[v]) {
			out_count(out, "tree", tree.sw_tree[v]);
			out_count(out, "a", tree.sw_a[v]);
			out_count(out, "b", tree.sw_b[v]);
		}
		for (uint32_t i = 0; is_product && i < product.n_dims; i++)
			n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%u", i ? "," : "",
					      osr_product_coord(&product, v)[i]);
		if (is_product)
			out_text(out, "at", text);
	}
}

/* Routes between hosts, by the VL of the first cable: as the first host of each switch sends, for they share their lanes. */
static void say_lanes(const struct osr_fabric *f, const struct osr_routing *routing,
		      struct out *out)
{
	uint64_t routes[OSR_MAX_VLS] = { 0 };

	for (uint32_t v = 0; routing->sl && v < f->n_switches; v++) {
		uint32_t row = f->term_row[v];

		while (row + 1 < f->term_row[v + 1] && f->term_role[row] == OSR_ROLE_SP0)
			row++;
		for (uint32_t d = 0; d < f->n_dests && f->sw_sources[v]; d++) {
			uint8_t port = osr_lft(routing, v, d), vl;

			if (v == f->dest_switch[d] || port == OSR_NO_PATH ||
			    !f->term_weight[f->dest_term[d]])
				continue;
			vl = cli_gen_sl2vl(routing, f, v, f->term_port[row],
					   port)[routing->sl[(size_t)d * f->n_switches + v]];
			if (vl < OSR_MAX_VLS)
				routes[vl] += f->sw_sources[v];
		}
	}
	for (uint32_t vl = 0; routing->sl && vl < routing->n_vls; vl++)
		OUT_ADD(out, "lanes", vl, routes[vl]);
}

/* Rows of these sections. */
static void page_say(const struct osr_fabric *f, const struct osr_routing *routing,
		     const struct osr_findings *found, struct out *out)
{
	const uint64_t *load = found->audit.load;
	struct osr_arena arena = { 0 };

	for (unsigned q = 0; q < OSR_N_QUESTIONS; q++)
		if (found->applies >> q & 1)
			OUT_ADD(out, "answers", osr_question_name((enum osr_question)q),
				osr_answer_name(found->on[q].answer), found->on[q].why);
	say_switches(f, &arena, out);
	for (uint32_t c = 0; c < f->n_channels; c++)
		if (c <= f->chan_rev[c])
			OUT_ADD(out, "cables", f->chan_src[c], f->chan_port[c], f->chan_dst[c],
				f->chan_port[f->chan_rev[c]], load[c], load[f->chan_rev[c]]);
	say_lanes(f, routing, out);
	osr_arena_free(&arena);
}

/* Everything that `out` has been told, in the page; OSR_INVAL: it cannot be written. */
static enum osr_status page_write(const struct out *out, const char *path, struct osr_diag *diag)
{
	const char *place = strstr(page, "@;");
	char *json = out_json(out);
	FILE *file = cli_create(path);

	if (!json)
		return osr_fail(diag, OSR_NOMEM, "out of memory for the page");
	if (file) {
		fwrite(page, 1, (size_t)(place - page), file);
		/* Names are data: none of them can end the script. */
		for (const char *c = json; *c; c++)
			if (*c == '<')
				fputs("\\u003c", file);
			else
				fputc(*c, file);
		fputs(place + 1, file);
	}
	free(json);
	return cli_written(file, path, diag);
}

/* ---- what is kept for the others ------------------------------------------------------------ */

static void outcome_free(struct outcome *o)
{
	if (!o)
		return;
	cli_tables_free(&o->t);
	cli_stored_free(&o->previous);
	free(o);
}

/* Proven before unknown, nothing refuted; then bandwidth beyond its error, then the busiest channel. */
static void take_best(struct best *best, const struct outcome *o)
{
	const struct best own = { .name = o->name,
				  .verdict = osr_verdict_of(&o->found, OSR_REQUIRED, NULL),
				  .efi = o->found.audit.efi,
				  .ebb = o->bisections.bandwidth };
	double more = own.ebb.mean - best->ebb.mean;
	bool better = own.efi < best->efi;

	if (own.verdict != best->verdict)
		better = own.verdict == OSR_PROVEN;
	else if (fabs(more) > own.ebb.half_width + best->ebb.half_width)
		better = more > 0;
	if (!best->name || better)
		*best = own;
}

/* ---- files ---------------------------------------------------------------------------------- */

/* What the checker refused is not written: nobody shall load it. */
static enum osr_status dump(const struct args *a, const struct outcome *o, struct osr_diag *diag)
{
	struct osr_osmdump how = a->dump;
	char sub[4096];
	enum osr_status st = OSR_OK;

	if (!how.dir || !o->routed || o->t.st)
		return OSR_OK;
	how.vls = a->run.who.link_vls;
	snprintf(sub, sizeof(sub), "%s/%s", how.dir, o->name);
	for (int deep = 0; deep < 2 && !st; deep++) {
		if (deep && a->run.who.n > 1)
			how.dir = sub;
		if (mkdir(how.dir, 0777) && errno != EEXIST)
			st = osr_fail(diag, OSR_INVAL, "%s: %s", how.dir, strerror(errno));
	}
	return st ? st
		  : osr_osmdump_write(&how, &a->run.in.net, &a->run.in.fabric, &o->t.routing, diag);
}

/* FILE, or FILE.ENGINE where there are several. */
static const char *file_of(const struct args *a, const struct outcome *o, const char *file,
			   char path[PATH_MAX])
{
	snprintf(path, PATH_MAX, a->run.who.n > 1 ? "%s.%s" : "%s", file, o->name);
	return path;
}

static enum osr_status route_save(const struct args *a, uint32_t i, const struct outcome *o,
				  struct osr_diag *diag)
{
	const struct osr_result *last = &o->t.result;
	size_t size = a->save && o->routed && !o->t.st ? osr_store_size(last) : 0;
	char path[PATH_MAX];
	void *buf;
	FILE *out;

	if (!size)
		return OSR_OK;
	buf = malloc(size);
	out = fopen(file_of(a, o, a->save, path), "wb");
	if (out && buf) {
		osr_store_write(last,
				osr_options_key(a->run.who.item[i].engine, &a->run.who.values[i]),
				buf, size);
		fwrite(buf, 1, size, out);
	}
	free(buf);
	return cli_written(out, path, diag);
}

static enum osr_status read_previous(const struct args *a, uint32_t i, struct outcome *o,
				     struct osr_diag *diag)
{
	const struct osr_fabric *fabric = &a->run.in.fabric;
	char path[PATH_MAX];
	enum osr_status st;
	uint32_t n_known;

	if (!a->previous || !o->routed)
		return OSR_OK;
	st = cli_stored_read(file_of(a, o, a->previous, path), a->run.who.item[i].engine,
			     &a->run.who.values[i], &o->previous, diag);
	if (!st && !osr_store_fits(&o->previous.last, fabric, &n_known))
		st = osr_fail(diag, OSR_INVAL,
			      "%.300s: tables of another fabric (%u of %u LIDs are in both)", path,
			      n_known, fabric->n_dests);
	return st;
}

/* ---- the work ------------------------------------------------------------------------------- */

static long peak_rss_kb(void)
{
	struct rusage u;

	return getrusage(RUSAGE_SELF, &u) ? 0 : u.ru_maxrss;
}

/* "WHAT NAME ..." at a terminal, until it is called without a name. */
static void busy(const char *what, const char *name)
{
	if (isatty(STDERR_FILENO) && name)
		fprintf(stderr, "\r%.40s %.40s ...", what, name);
	else if (isatty(STDERR_FILENO))
		fprintf(stderr, "\r%*s\r", 86, "");
}

static enum osr_status route_measure(struct args *a, uint32_t i, struct outcome *o,
				     struct osr_diag *diag)
{
	const struct osr_fabric *fabric = &a->run.in.fabric;
	struct osr_arena scratch = { 0 };
	enum osr_status st = read_previous(a, i, o, diag);

	if (st)
		return st;
	busy("tables of", o->name);
	cli_tables_make(&a->run.who, i, fabric, a->previous && o->routed ? &o->previous.last : NULL,
			&o->t);
	busy(NULL, NULL);
	o->rss_kb = peak_rss_kb();
	if (o->t.st == OSR_INVAL || o->t.st == OSR_NOMEM) {
		*diag = o->t.diag;
		return o->t.st;
	}
	if (o->t.st)
		return OSR_OK;
	st = dump(a, o, diag);
	if (!st)
		st = route_save(a, i, o, diag);
	if (st)
		return st;
	analyze(a, o);
	o->compared = a->reference != NULL;
	if (o->compared)
		st = osr_changes(fabric, &a->reference->t.routing, fabric, &o->t.routing, &scratch,
				 &o->changes, diag);
	osr_arena_free(&scratch);
	o->load = o->bound ? (double)o->found.audit.efi / (double)o->bound : NAN;
	o->n_lost = o->found.audit.n_host_pairs - o->found.audit.n_host_routes;
	o->memory_kb = o->t.sweep.memory >> 10;
	if (o->changes.n_pairs)
		o->pairs_share = (double)o->changes.n_path / (double)o->changes.n_pairs;
	for (uint32_t k = 0; k < a->traffic.n_flows && !st; k++) {
		bool named = a->traffic.file[k].hosts;

		st = measure_file(a, k, named ? "given" : "ordered", o, diag);
		if (!st && !named && a->traffic.n_runs)
			st = measure_file(a, k, "random", o, diag);
	}
	return st == OSR_CHECK_FAILED && o->st ? OSR_OK : st; /* said already */
}

static enum osr_status route_one(struct args *a, uint32_t i, struct osr_diag *diag)
{
	struct outcome *o = calloc(1, sizeof(*o));
	enum osr_status st;

	if (!o)
		return osr_fail(diag, OSR_NOMEM, "out of memory for the figures");
	o->f = &a->run.in.fabric;
	o->bound = a->bound;
	o->name = cli_subject_name(&a->run.who.item[i]);
	o->routed = a->run.who.item[i].engine != NULL;
	st = route_measure(a, i, o, diag);
	/* Asked for all, an engine for another kind of fabric gets no column. */
	if (!st && cli_subjects_skip(&a->run.who, i, &o->t)) {
		out_note(&a->run.out, "%s: %s", o->name, o->t.diag.text);
	} else if (!st) {
		const struct osr_engine *engine = a->run.who.item[i].engine;
		int said = route_say(&a->run.out, o);

		/* One of all engines that promises no freedom from deadlock is there for comparison. */
		if (said && (!a->run.who.all || !engine || o->t.st ||
			     engine->capabilities & OSR_ENGINE_DEADLOCK_FREE))
			a->run.code = said;
	}
	if (!st && a->is_report && o->t.st && !cli_subjects_skip(&a->run.who, i, &o->t))
		fprintf(stderr, "osmroutes: %s: %s\n", o->name, o->t.diag.text);
	/* A page is about the first tables that there are. */
	if (!st && a->is_report && !a->reference && o->has_figures)
		page_say(o->f, &o->t.routing, &o->found, &a->run.out);
	else if (!st && a->is_report && !a->reference && !a->refused)
		a->refused =
			osr_fail(diag, o->t.st ? o->t.st : o->st, "no page: there are no tables");
	if (!st && !o->t.st) {
		a->n_done++;
		if (!a->reference)
			a->reference = o;
		if (o->has_figures && o->st != OSR_CHECK_FAILED)
			take_best(&a->best, o);
	}
	if (o != a->reference)
		outcome_free(o);
	return st;
}

/*
 * What the others are compared with: the first that was named; if no engine was, the first file or the
 * live tables, or else dfsssp.
 */
static uint32_t reference_of(const struct cli_subjects *who)
{
	uint32_t found = 0;

	for (uint32_t i = 0; i < who->n && who->all; i++) {
		if (!who->item[i].engine)
			return i;
		if (!strcmp(who->item[i].engine->name, "dfsssp"))
			found = i;
	}
	return found;
}

static void say_best(struct args *a)
{
	const struct best *best = &a->best;

	if (a->n_done < 2)
		return;
	out_head(&a->run.out, "paths and entries against %s", a->reference->name);
	if (!best->name) {
		out_note(&a->run.out, "none of them can be recommended: every verdict is refuted");
		return;
	}
	out_note(&a->run.out,
		 "recommended here: %s, verdict %s, %llu routes on the busiest channel, effective "
		 "bisection bandwidth %.3f",
		 best->name, osr_answer_name(best->verdict), (unsigned long long)best->efi,
		 best->ebb.mean);
}

static enum osr_status route_all(struct args *a)
{
	struct osr_diag *diag = &a->run.diag;
	struct out *out = &a->run.out;
	uint32_t first = reference_of(&a->run.who);
	/* UTC; of SOURCE_DATE_EPOCH, where pages are to be the same byte by byte. */
	const char *epoch = getenv("SOURCE_DATE_EPOCH");
	time_t now = epoch ? (time_t)strtoll(epoch, NULL, 10) : time(NULL);
	enum osr_status st;
	char date[32] = "";
	struct tm utc;

	if (a->is_report && gmtime_r(&now, &utc))
		strftime(date, sizeof(date), "%Y-%m-%d %H:%M UTC", &utc);
	cli_run_say(&a->run, true);
	out_count(out, "bisections", a->traffic.n_bisections);
	out_count(out, "seed", a->traffic.seed);
	out_text(out, "command_line", a->is_report ? a->run.line : NULL);
	out_text(out, "date", a->is_report ? date : NULL);
	out_head(out, "%u random bisections from seed %llu", a->traffic.n_bisections,
		 (unsigned long long)a->traffic.seed);
	st = osr_bound_load(&a->run.in.fabric, &a->run.scratch, &a->bound, diag);
	if (!st)
		st = route_one(a, first, diag);
	for (uint32_t i = 0; i < a->run.who.n && !st; i++)
		if (i != first)
			st = route_one(a, i, diag);
	if (!st)
		say_best(a);
	if (!st && a->is_report && !a->reference)
		st = a->refused;
	outcome_free(a->reference);
	if (!st && a->is_report)
		st = page_write(out, a->html, diag);
	if (a->is_report && out->format == OUT_PEOPLE)
		out_drop(out);
	return st;
}

/* ---- the command line ----------------------------------------------------------------------- */

enum { OPT_WORST = 256 };

static const struct cli_option measure_options[] = {
	{ "bisections", "N", "random bisections, 0 for none (default 1000)",
	  CLI_NUMBER(struct args, traffic.n_bisections, 0, 10000000) },
	{ "worst", "FILE",
	  "find the permutation of hosts that loads one cable most, exactly; into FILE for "
	  "--traffic",
	  .key = OPT_WORST, .flags = OPTION_ARG_OPTIONAL },
	{ CLI_PART(pool_spec, struct args, traffic.pool) },
	{ CLI_PART(input_spec, struct args, run.in) },
	{ CLI_PART(subjects_spec, struct args, run.who) },
	{ 0 },
};

static error_t measure_parse(int key, char *arg, struct argp_state *state)
{
	struct args *a = state->input;

	if (key != OPT_WORST)
		return ARGP_ERR_UNKNOWN;
	a->worst.asked = true;
	a->worst.path = arg;
	return 0;
}

static const struct cli_spec measure_spec = { measure_options, measure_parse };

static const struct cli_option options[] = {
	{ "dump", "DIR",
	  "write the tables as OpenSM does under -D 0x43; several engines: one folder each in DIR",
	  CLI_TEXT(struct args, dump.dir) },
	{ "save", "FILE",
	  "write the result into a binary file for --tables and --previous; several engines: "
	  "FILE.ENGINE each",
	  CLI_TEXT(struct args, save) },
	{ "previous", "FILE",
	  "the sweep after this one: stored tables of route --save or of the plugin; several "
	  "engines: FILE.ENGINE each",
	  CLI_TEXT(struct args, previous) },
	{ "ibdmchk", NULL,
	  "with --dump: SLs for ibdmchk, a line for each end port and LID, which is long",
	  CLI_FLAG(struct args, dump.long_sl) },
	{ "traffic", "FILE", "phases of a traffic file, may be repeated",
	  CLI_LIST(struct args, traffic.path, traffic.n_flows) },
	{ "hosts", "FILE",
	  "hosts of the ranks, one a line, rank 0 first (default: all, in the order of the fabric)",
	  CLI_TEXT(struct args, traffic.hosts_path) },
	{ "runs", "N",
	  "random orders of the ranks on the hosts, besides the one given (default 25)",
	  CLI_NUMBER(struct args, traffic.n_runs, 0, 1000000) },
	{ "seed", "N", "start of all random numbers (default 1)",
	  CLI_NUMBER(struct args, traffic.seed, 0, INT64_MAX) },
	{ .part = &measure_spec },
	{ 0 },
};

static const struct cli_option report_options[] = {
	{ "html", "FILE",
	  "write the page to FILE instead of standard output, if that is no terminal",
	  CLI_TEXT(struct args, html) },
	{ .part = &measure_spec },
	{ 0 },
};

static error_t report_parse(int key, char *arg, struct argp_state *state)
{
	const struct args *a = state->input;

	if (key != ARGP_KEY_SUCCESS)
		return ARGP_ERR_UNKNOWN;
	if (a->run.out.format != OUT_PEOPLE && !a->html)
		argp_error(state, "--json and --csv need --html=FILE: the page would be on "
				  "standard output as well");
	if (!a->html && isatty(STDOUT_FILENO))
		argp_error(state, "the report is an HTML page, not for a terminal: --html=FILE "
				  "writes it to a file");
	return 0;
}

static enum osr_status route_work(void *args)
{
	struct args *a = args;
	struct cli_subjects *who = &a->run.who;
	struct cli_input *in = &a->run.in;
	struct osr_diag *diag = &a->run.diag, why;
	enum osr_status st, written = OSR_OK;
	bool routes = false, reads = false;

	who->req.clock_ms = cli_cpu_ms;
	who->req.wall_ms = cli_wall_ms;
	a->run.out.terse = who->n > 1;
	st = cli_subjects_load(who, in, diag);
	for (uint32_t i = 0; i < who->n; i++)
		*(who->item[i].engine ? &routes : &reads) = true;
	if (!st && !routes && (a->dump.dir || a->save || a->previous))
		st = osr_fail(
			diag, OSR_INVAL,
			"--dump, --save and --previous are for tables of engines; there are none");
	if (!st && a->save && !strcmp(a->save, "-"))
		st = osr_fail(diag, OSR_INVAL, "--save: stored tables need a file of their own");
	if (!st)
		st = worst_load(&a->worst, in, diag);
	a->threads = osr_threads_of((uint32_t)who->options.own.num[OPT_THREADS]);
	who->threads = &a->threads;
	/* The net itself is needed once more only if tables are read or dumped. */
	if (!a->dump.dir && !reads)
		osr_net_free(&in->net);
	if (!st)
		st = traffic_load(a, diag);
	if (!st)
		st = route_all(a);
	if (a->worst.file)
		written = cli_written(a->worst.file, a->worst.path, st ? &why : diag);
	for (uint32_t i = 0; i < a->traffic.n_flows; i++)
		osr_traffic_free(&a->traffic.file[i]);
	osr_arena_free(&a->traffic.arena);
	osr_arena_free(&a->worst.arena);
	return st ? st : written;
}

static const struct out_section sections[] = {
	{ "summary", OUT_HEAD, head_fields },    { "results", OUT_ACROSS, result_fields },
	{ "hops", OUT_ROWS, hop_fields },        { "patterns", OUT_ROWS, traffic_fields },
	{ "loops", OUT_ROWS, cli_loops_fields }, { "answers", OUT_ROWS, answer_fields },
	{ "places", OUT_ROWS, place_fields },    { "cables", OUT_ROWS, cable_fields },
	{ "lanes", OUT_ROWS, lane_fields },      { 0 },
};

#define INITIAL                                                                                    \
	.run = { CLI_RUN }, .traffic = {                                                           \
		.n_bisections = 1000,                                                              \
		.n_runs = 25,                                                                      \
		.seed = 1,                                                                         \
	}

const struct cli_command cli_route = {
	"route",
	"route a fabric, check and measure the tables; compare several",
	CLI_LOOK,
	{ options, NULL, "FILE",
	  "Routes the fabric of FILE (of ibnetdiscover or ibsim, or an opensm-subnet.lst), or "
	  "reads its tables, checks them and measures them: verdict, load of the channels, "
	  "length of the routes, effective bisection bandwidth, traffic, virtual lanes, CPU "
	  "time. Several engines and tables are columns, compared with the first." },
	sections,
	CLI_ARGS(INITIAL),
	.work = route_work
};

const struct cli_command cli_report = {
	"report",
	"one HTML page about a routing, with pictures",
	CLI_LOOK,
	{ report_options, report_parse, "FILE",
	  "Writes one HTML page about a routing of the fabric of FILE: verdicts, what to do, "
	  "a picture of the fabric and its loads, the busiest channels by name, virtual lanes, "
	  "length of the routes; with further engines and tables beside it. The page needs no "
	  "network." },
	sections,
	CLI_ARGS(INITIAL, .is_report = true),
	.work = route_work
};

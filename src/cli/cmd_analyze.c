/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * How good is a routing? And, of several on one fabric, which is the best here? Either engines make
 * them, or they are read from files. `compare` is `analyze` with all engines, and shows people less of
 * each. Every figure is one row of `figures[]`, which feeds the table and the JSON.
 */
#include <argp.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "traffic/changes.h"

#include "cli/analysis.h"
#include "cli/cli.h"
#include "cli/input.h"

enum { OPT_SIGMA = 256 };

static const struct argp_option options[] = {
	{ "sigma", OPT_SIGMA, "K", 0, "exponent of the deviation metric, 1 to 16 (default 4)", 0 },
	{ NULL, 0, NULL, 0, NULL, 0 }
};

struct args {
	struct cli_input in;
	struct cli_subjects who;
	struct cli_traffic traffic;
	struct cli_worst worst;
	struct out out;
	uint32_t sigma;
	struct outcome *reference; /* what the others are compared with; NULL: none yet */
	struct outcome *best;      /* to be recommended */
	uint32_t n_done;           /* tables that there are */
};

struct outcome {
	const char *name;
	const struct osr_fabric *f;
	bool routed; /* an engine made the tables, so there are times and VLs */
	struct cli_tables t;
	struct cli_analysis a;
	bool compared;
	struct osr_changes changes;
	uint32_t n_users; /* free it at 0 */
};

/* ---- the figures ---------------------------------------------------------------------------- */

enum figure_of { OF_CHECK, OF_LOADS, OF_ENGINE, OF_BISECTIONS, OF_CHANGES };

struct figure {
	const char *label, *key;
	enum figure_of of; /* what must be there for it */
	int digits;        /* behind the point, in the table; 0: a whole number */
	double (*value)(const struct outcome *o);
};

#define FIGURE(name, expression)                                                                   \
	static double name(const struct outcome *o)                                                \
	{                                                                                          \
		return (double)(expression);                                                       \
	}

FIGURE(analyze_efi, o->a.balance.efi)
FIGURE(efi_mean, o->a.balance.mean)
FIGURE(efi_min, o->a.balance.min)
FIGURE(efi_perfect, o->a.balance.perfect)
FIGURE(sigma, o->a.balance.sigma)
FIGURE(mean_hops, cli_mean_hops(&o->a))
FIGURE(analyze_max_hops, o->a.max_hops)
FIGURE(host_routes, o->a.n_routes)
FIGURE(analyze_lost, o->a.n_lost)
FIGURE(analyze_routes, o->a.n_from)
FIGURE(analyze_longer, o->a.n_longer)
FIGURE(max_longer, o->a.max_longer)
FIGURE(vls, o->t.routing.n_vls)
FIGURE(layers, o->t.routing.n_layers)
FIGURE(layers_one_way, o->t.routing.n_layers_one_way)
FIGURE(ebb, o->a.bandwidth.mean)
FIGURE(ebb_half_width, o->a.bandwidth.half_width)
FIGURE(ebb_worst, o->a.bandwidth.worst)
FIGURE(ebb_best, o->a.bandwidth.best)
FIGURE(max_congestion, o->a.bandwidth.max_congestion)
FIGURE(analyze_no_path, o->a.bandwidth.n_no_path)
FIGURE(route_ms, o->t.ms)
FIGURE(spf_ms, o->t.routing.ms_spf)
FIGURE(layers_ms, o->t.routing.ms_layers)
FIGURE(check_ms, o->a.check_ms)
FIGURE(bandwidth_ms, o->a.bandwidth_ms)
FIGURE(memory_kb, o->t.sweep.memory >> 10)
FIGURE(pairs_changed, o->changes.n_path)
FIGURE(pairs_share, o->changes.n_pairs ? (double)o->changes.n_path / (double)o->changes.n_pairs : 0)
FIGURE(analyze_entries_changed, o->changes.n_entries_changed)

static const struct figure figures[] = {
	{ "edge forwarding index", "efi", OF_LOADS, 0, analyze_efi },
	{ "  average", "efi_mean", OF_LOADS, 1, efi_mean },
	{ "  least used channel", "efi_min", OF_LOADS, 0, efi_min },
	{ "  average if all minimal", "efi_perfect", OF_LOADS, 1, efi_perfect },
	{ "  deviation sigma(k)", "sigma", OF_LOADS, 2, sigma },
	{ "routes between hosts", "host_routes", OF_LOADS, 0, host_routes },
	{ "  that do not arrive", "host_routes_lost", OF_LOADS, 0, analyze_lost },
	{ "  channels, mean", "mean_hops", OF_LOADS, 3, mean_hops },
	{ "routes from switches", "routes", OF_CHECK, 0, analyze_routes },
	{ "  channels of the longest", "max_hops", OF_CHECK, 0, analyze_max_hops },
	{ "  longer than minimal", "routes_longer", OF_CHECK, 0, analyze_longer },
	{ "    by channels, at most", "max_longer", OF_CHECK, 0, max_longer },
	{ "VLs used", "vls", OF_ENGINE, 0, vls },
	{ "  needed by requests", "layers_one_way", OF_ENGINE, 0, layers_one_way },
	{ "  needed with replies", "layers", OF_ENGINE, 0, layers },
	{ "effective bisection bw", "ebb", OF_BISECTIONS, 4, ebb },
	{ "  95 % confidence, +-", "ebb_half_width", OF_BISECTIONS, 5, ebb_half_width },
	{ "  worst pattern", "ebb_worst", OF_BISECTIONS, 4, ebb_worst },
	{ "  best pattern", "ebb_best", OF_BISECTIONS, 4, ebb_best },
	{ "  largest congestion", "max_congestion", OF_BISECTIONS, 0, max_congestion },
	{ "  pairs without a path", "pairs_no_path", OF_BISECTIONS, 0, analyze_no_path },
	{ "route, ms CPU", "route_ms", OF_ENGINE, 1, route_ms },
	{ "  of it shortest paths", "spf_ms", OF_ENGINE, 1, spf_ms },
	{ "  of it virtual lanes", "layers_ms", OF_ENGINE, 1, layers_ms },
	{ "check, ms CPU", "check_ms", OF_CHECK, 1, check_ms },
	{ "bandwidth, ms CPU", "bandwidth_ms", OF_BISECTIONS, 1, bandwidth_ms },
	{ "memory of the engine, kB", "memory_kb", OF_ENGINE, 0, memory_kb },
	{ "pairs with another path", "pairs_changed", OF_CHANGES, 0, pairs_changed },
	{ "  of all", "pairs_changed_share", OF_CHANGES, 4, pairs_share },
	{ "LFT entries that differ", "entries_changed", OF_CHANGES, 0, analyze_entries_changed },
};

static bool analyze_has(const struct outcome *o, enum figure_of of)
{
	switch (of) {
	case OF_LOADS:
		return o->a.has_loads;
	case OF_BISECTIONS:
		return o->a.bandwidth.n_patterns > 0;
	case OF_ENGINE:
		return o->routed && !o->t.st;
	case OF_CHANGES:
		return o->compared;
	default:
		return !o->t.st;
	}
}

#define N_FIGURES (sizeof(figures) / sizeof(figures[0]))

static const struct out_field head_fields[] = {
	CLI_INPUT_FIELDS,
	{ "patterns", NULL, OUT_COUNT, 0 },
	{ "seed", NULL, OUT_COUNT, 0 },
	{ NULL, NULL, 0, 0 },
};

static const struct out_field hop_fields[] = {
	{ "tables", "tables of", OUT_TEXT, 0 },
	{ "hops", "channels", OUT_COUNT, 0 },
	{ "routes", "routes between hosts", OUT_COUNT, 0 },
	{ NULL, NULL, 0, 0 },
};

/* In a comparison it is for programs. */
static const struct out_field quiet_hop_fields[] = {
	{ "tables", NULL, OUT_TEXT, 0 },
	{ "hops", NULL, OUT_COUNT, 0 },
	{ "routes", NULL, OUT_COUNT, 0 },
	{ NULL, NULL, 0, 0 },
};

static const struct out_field pattern_fields[] = { CLI_TRAFFIC_FIELDS, { NULL, NULL, 0, 0 } };

static const struct out_field first_fields[] = {
	{ "tables", "tables of", OUT_TEXT, 0 },
	{ "status", NULL, OUT_TEXT, 0 },
	{ "message", NULL, OUT_TEXT, 0 },
	CLI_ANSWER_FIELDS,
	CLI_WORST_FIELDS,
};

#define N_FIRST (sizeof(first_fields) / sizeof(first_fields[0]))
#define N_FIELDS (N_FIRST + N_FIGURES + 1)

/* What people see of a figure in a comparison: no details but those of `shown`. */
static const char *figure_label(const struct figure *figure, bool compare)
{
	static const char *const shown[] = { "efi_mean", "ebb_half_width", "pairs_changed_share" };

	for (size_t i = 0; i < sizeof(shown) / sizeof(shown[0]); i++)
		if (!strcmp(shown[i], figure->key))
			return figure->label;
	return compare && figure->label[0] == ' ' ? NULL : figure->label;
}

static void figure_fields(struct out_field fields[N_FIELDS], bool compare)
{
	memcpy(fields, first_fields, sizeof(first_fields));
	for (size_t r = 0; r < N_FIGURES; r++)
		fields[N_FIRST + r] =
			(struct out_field){ figures[r].key, figure_label(&figures[r], compare),
					    figures[r].digits ? OUT_REAL : OUT_COUNT,
					    figures[r].digits };
	fields[N_FIRST + N_FIGURES] = (struct out_field){ NULL, NULL, 0, 0 };
}

static void analyze_say_hops(struct out *out, const struct outcome *o)
{
	for (uint32_t h = 0; o->a.has_loads && h <= OSR_LOADS_MAX_HOPS; h++) {
		if (!o->a.hops[h])
			continue;
		out_row(out, "hops");
		out_text(out, "tables", o->name);
		out_count(out, "hops", h);
		out_count(out, "routes", o->a.hops[h]);
	}
}

static int analyze_say(struct out *out, const struct outcome *o)
{
	const struct osr_diag *why = o->t.st ? &o->t.diag : &o->a.diag;
	enum osr_status st = o->t.st ? o->t.st : o->a.st;
	int code = CLI_OK;

	out_row(out, "results");
	out_text(out, "tables", o->name);
	out_text(out, "status", osr_status_str(st));
	out_text(out, "message", why->text);
	if (st && st != OSR_CHECK_FAILED)
		out_note(out, "%s: %s", o->name, why->text);
	for (size_t r = 0; r < N_FIGURES; r++) {
		if (!analyze_has(o, figures[r].of))
			continue;
		if (figures[r].digits)
			out_real(out, figures[r].key, figures[r].value(o));
		else
			out_count(out, figures[r].key, (uint64_t)figures[r].value(o));
	}
	cli_worst_say(out, &o->a.worst);
	if (o->t.st)
		out_text(out, "verdict", o->t.sweep.routed ? osr_answer_name(OSR_REFUTED) : NULL);
	else
		code = cli_answers_say(out, o->name, &o->a.found, OSR_REQUIRED);
	if (!o->t.st)
		cli_answers_witness(out, o->name, o->f, &o->a.found, OSR_REQUIRED);
	analyze_say_hops(out, o);
	return st ? CLI_BAD : code;
}

/* ---- the work ------------------------------------------------------------------------------- */

static void release(struct outcome *o)
{
	if (!o || --o->n_users)
		return;
	cli_tables_free(&o->t);
	free(o);
}

static void keep(struct outcome **place, struct outcome *o)
{
	release(*place);
	*place = o;
	o->n_users++;
}

/* Proven before unknown, nothing refuted; then bandwidth beyond its error, then the busiest channel. */
static bool analyze_better(const struct outcome *o, const struct outcome *than)
{
	const struct osr_bandwidth *bandwidth = &o->a.bandwidth, *y = &than->a.bandwidth;
	enum osr_answer mine = osr_verdict_of(&o->a.found, OSR_REQUIRED, NULL);
	enum osr_answer theirs = osr_verdict_of(&than->a.found, OSR_REQUIRED, NULL);
	double apart = bandwidth->half_width + y->half_width;

	if (mine != theirs)
		return mine == OSR_PROVEN;
	if (bandwidth->mean - y->mean > apart || y->mean - bandwidth->mean > apart)
		return bandwidth->mean > y->mean;
	return o->a.balance.efi < than->a.balance.efi;
}

static enum osr_status analyze_measure(struct args *a, uint32_t i, struct outcome *o,
				       struct osr_diag *diag)
{
	const struct osr_fabric *fabric = &a->in.fabric;
	struct osr_arena scratch = { 0 };
	enum osr_status st = OSR_OK;

	cli_busy("tables of", o->name);
	cli_tables_make(&a->who, i, fabric, NULL, &o->t);
	cli_busy(NULL, NULL);
	if (o->t.st == OSR_INVAL || o->t.st == OSR_NOMEM) {
		*diag = o->t.diag;
		return o->t.st;
	}
	if (o->t.st)
		return OSR_OK;
	cli_analyze_tables(&a->traffic, &a->worst, o->name, fabric, &o->t, a->sigma, &o->a);
	o->compared = a->reference != NULL;
	if (o->compared)
		st = osr_changes(fabric, &a->reference->t.routing, fabric, &o->t.routing, &scratch,
				 &o->changes, diag);
	osr_arena_free(&scratch);
	if (!st)
		st = cli_traffic_measure(&a->traffic, fabric, &o->t.routing, o->name, &a->out,
					 diag);
	return st == OSR_CHECK_FAILED && o->a.st ? OSR_OK : st; /* said already */
}

static enum osr_status analyze(struct args *a, uint32_t i, int *code, struct osr_diag *diag)
{
	struct outcome *o = calloc(1, sizeof(*o));
	enum osr_status st;

	if (!o)
		return osr_fail(diag, OSR_NOMEM, "out of memory for an analysis");
	o->n_users = 1;
	o->f = &a->in.fabric;
	o->name = cli_subject_name(&a->who.item[i]);
	o->routed = a->who.item[i].engine != NULL;
	st = analyze_measure(a, i, o, diag);
	if (!st && !cli_subjects_skip(&a->who, i, &o->t)) {
		int said = analyze_say(&a->out, o);

		if (said && cli_subjects_counts(&a->who, i, o->t.st))
			*code = said;
	}
	if (!st && !o->t.st) {
		a->n_done++;
		if (!a->reference)
			keep(&a->reference, o);
		if (o->a.has_loads && o->a.st != OSR_CHECK_FAILED &&
		    (!a->best || analyze_better(o, a->best)))
			keep(&a->best, o);
	}
	release(o);
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
	const struct outcome *o = a->best;

	if (a->n_done < 2)
		return;
	out_head(&a->out, "paths and entries against %s", a->reference->name);
	if (!o) {
		out_note(&a->out, "none of them can be recommended: every verdict is refuted");
		return;
	}
	out_note(&a->out,
		 "recommended here: %s, verdict %s, %llu routes on the busiest channel, effective "
		 "bisection bandwidth %.3f",
		 o->name, osr_answer_name(osr_verdict_of(&o->a.found, OSR_REQUIRED, NULL)),
		 (unsigned long long)o->a.balance.efi, o->a.bandwidth.mean);
}

static int analyze_all(struct args *a)
{
	uint32_t first = reference_of(&a->who);
	struct osr_diag diag = { "" };
	int code = CLI_OK;
	enum osr_status st;

	out_row(&a->out, "summary");
	cli_input_say(&a->in, &a->out);
	cli_subjects_say(&a->who, &a->out);
	out_count(&a->out, "patterns", a->traffic.n_bisections);
	out_count(&a->out, "seed", a->traffic.seed);
	out_head(&a->out, "%u random bisections from seed %llu", a->traffic.n_bisections,
		 (unsigned long long)a->traffic.seed);
	st = analyze(a, first, &code, &diag);
	for (uint32_t i = 0; i < a->who.n && !st; i++)
		if (i != first)
			st = analyze(a, i, &code, &diag);
	if (!st)
		say_best(a);
	release(a->reference);
	release(a->best);
	if (!st)
		return out_end(&a->out, code);
	out_drop(&a->out);
	return cli_fail(st, &diag);
}

static error_t analyze_parse(int key, char *arg, struct argp_state *state)
{
	struct args *a = state->input;

	switch (key) {
	case OPT_SIGMA:
		a->sigma = (uint32_t)cli_take_number(arg, "sigma", 1, 16, state);
		return 0;
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &a->in;
		state->child_inputs[1] = &a->who;
		state->child_inputs[2] = &a->traffic;
		state->child_inputs[3] = &a->worst;
		state->child_inputs[4] = &a->out;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static int analyze_run(int argc, char **argv, const char *command, const char *doc)
{
	const bool compare = !strcmp(command, "compare");
	const struct argp argp = { .options = options,
				   .parser = analyze_parse,
				   .args_doc = "FILE",
				   .doc = doc,
				   .children = cli_analysis_children };
	struct out_field fields[N_FIELDS];
	const struct out_section sections[] = { { "summary", OUT_HEAD, head_fields },
						{ "results", OUT_ACROSS, fields },
						{ "hops", OUT_ROWS,
						  compare ? quiet_hop_fields : hop_fields },
						{ "patterns", OUT_ROWS, pattern_fields },
						{ "loops", OUT_ROWS, cli_loops_fields },
						{ NULL, 0, NULL } };
	struct args a = { .in = CLI_INPUT_INIT,
			  .who = CLI_SUBJECTS_INIT,
			  .traffic = CLI_TRAFFIC_INIT,
			  .out = { .command = command, .sections = sections },
			  .sigma = 4 };
	struct osr_diag diag = { "" };
	enum osr_status st;
	int code;

	figure_fields(fields, compare);
	a.who.all = compare;
	argp_parse(&argp, argc, argv, 0, NULL, &a);
	st = cli_subjects_load(&a.who, &a.in, &diag);
	if (!st)
		st = cli_worst_load(&a.worst, &a.in, &diag);
	cli_subjects_drop_net(&a.who, &a.in);
	if (!st)
		st = cli_traffic_load(&a.traffic, &a.in.fabric, &diag);
	code = st ? cli_fail(st, &diag) : analyze_all(&a);
	st = cli_worst_free(&a.worst, &diag);
	code = st ? cli_fail(st, &diag) : code;
	cli_traffic_free(&a.traffic);
	cli_subjects_free(&a.who);
	cli_input_free(&a.in);
	return code;
}

int cli_analyze(int argc, char **argv)
{
	return analyze_run(
		argc, argv, "analyze",
		"Measures how an engine or given tables route the fabric of FILE (of ibnetdiscover "
		"or ibsim, or an opensm-subnet.lst): verdict, load of the channels, length of the "
		"routes, effective bisection bandwidth, hot spots and bandwidth of communication "
		"patterns, virtual lanes, CPU time.");
}

int cli_compare(int argc, char **argv)
{
	return analyze_run(argc, argv, "compare",
			   "Compares engines (all, unless some are named) and tables of files on "
			   "the fabric of FILE: verdict, virtual lanes, balance, bandwidth, and "
			   "how much they differ from the first.");
}

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * How good is a routing? Either engines make it, or it is read from what an OpenSM wrote. Every figure
 * is one row of `figures[]`, which feeds the table and the JSON.
 */
#include <argp.h>
#include <stdlib.h>
#include <string.h>

#include <osmroutes/bandwidth.h>
#include <osmroutes/check.h>
#include <osmroutes/engine.h>

#include "cli/cli.h"
#include "cli/input.h"
#include "io/lftfile.h"

#define MAX_SUBJECTS 16
#define MAX_SETTINGS 32

enum { OPT_VLS = 256, OPT_LFT, OPT_PATTERNS, OPT_SEED };

static const struct argp_option options[] = {
	{ "engine", 'e', "NAME", 0, "routing engine, may be repeated (default dfsssp)", 0 },
	{ "option", 'o', "NAME=VALUE", 0, "option of the engines (see `osmroutes engines`)", 0 },
	{ "lft", OPT_LFT, "DUMP", 0,
	  "tables of an opensm-lfts.dump instead of an engine's, may be repeated", 0 },
	{ "vls", OPT_VLS, "N", 0, "data virtual lanes to be used at most, 1 to 15 (default 8)", 0 },
	{ "patterns", OPT_PATTERNS, "N", 0, "random bisections, 0 for none (default 1000)", 0 },
	{ "seed", OPT_SEED, "N", 0, "start of their random numbers (default 1)", 0 },
	{ NULL, 0, NULL, 0, NULL, 0 }
};

/* Whose tables: an engine's, or those of a file. */
struct subject {
	const struct osr_engine *engine;
	const char *lft;
};

struct args {
	struct cli_input in;
	struct out out;
	struct subject subject[MAX_SUBJECTS];
	uint32_t n_subjects;
	const char *setting[MAX_SETTINGS];
	uint32_t n_settings;
	struct osr_request req;
	uint32_t n_patterns;
	uint64_t seed;
};

struct outcome {
	const struct osr_fabric *f;
	const char *name;
	bool routed;		/* an engine made the tables, so there are times and VLs */
	enum osr_status st;	/* OSR_CHECK_FAILED: all but the checker's figures can still be there */
	struct osr_diag diag;
	struct osr_routing routing;
	struct osr_verdict verdict;
	struct osr_bandwidth bandwidth;	/* n_patterns = 0: not asked for, or no two hosts */
	double route_ms, check_ms, bandwidth_ms;
	size_t memory;		/* bytes the engine asked for, at its peaks */
};

/* ---- the work ------------------------------------------------------------------------------- */

static enum osr_status make_tables(const struct args *a, const struct subject *s,
				   const struct osr_values *v, struct osr_arena *scratch,
				   struct osr_arena *result, struct outcome *o)
{
	const struct osr_engine *e = s->engine;
	enum osr_status st = OSR_OK;

	if (!e)
		return osr_lftfile_read(s->lft, o->f, result, &o->routing, &o->diag);
	if (e->applies)
		st = e->applies(o->f, v, &o->diag);
	return st ? st : e->route(o->f, v, &a->req, NULL, scratch, result, &o->routing, &o->diag);
}

/*
 * Foreign tables need not satisfy our checker (stock ftree leaves out routes between switches), and yet
 * carry the traffic of hosts.
 */
static enum osr_status measure(const struct args *a, struct osr_arena *scratch, struct outcome *o)
{
	struct osr_diag diag = { "" };
	double start = cli_cpu_ms();
	enum osr_status st, check_st;

	check_st = osr_check(o->f, &o->routing, scratch, &o->verdict, &o->diag);
	o->check_ms = cli_cpu_ms() - start;
	if (!a->n_patterns || (check_st && check_st != OSR_CHECK_FAILED))
		return check_st;
	start = cli_cpu_ms();
	st = osr_bandwidth_bisect(o->f, &o->routing, a->n_patterns, a->seed, scratch, &o->bandwidth, &diag);
	o->bandwidth_ms = cli_cpu_ms() - start;
	/* Without hosts everything else can still be said. */
	if (st)
		o->bandwidth.n_patterns = 0;
	if (check_st || st == OSR_OK || st == OSR_NOT_APPLICABLE)
		return check_st;
	o->diag = diag;
	return st;
}

static void analyze(const struct args *a, const struct subject *s, const struct osr_values *v,
		    struct outcome *o)
{
	struct osr_arena scratch = { 0 }, result = { 0 };
	double start = cli_cpu_ms();

	o->routed = s->engine != NULL;
	o->name = s->engine ? s->engine->name : s->lft;
	o->st = make_tables(a, s, v, &scratch, &result, o);
	o->route_ms = cli_cpu_ms() - start;
	o->memory = scratch.peak + result.peak;
	if (!o->st)
		o->st = measure(a, &scratch, o);
	osr_arena_free(&scratch);
	osr_arena_free(&result);
}

/* ---- the figures ---------------------------------------------------------------------------- */

enum figure_of { OF_TABLES, OF_ENGINE, OF_PATTERNS };

struct figure {
	const char *label, *key;
	enum figure_of of;	/* what must be there for it */
	int digits;		/* behind the point, in the table; 0: a whole number */
	double (*value)(const struct outcome *o);
};

#define FIGURE(name, expression)                                                                   \
	static double name(const struct outcome *o)                                                \
	{                                                                                          \
		return (double)(expression);                                                       \
	}

/* Every route is counted on each of its channels, so the sum of all counts is the sum of lengths. */
static double mean_hops(const struct outcome *o)
{
	uint64_t sources = 0, lids = 0;

	for (uint32_t t = 0; t < o->f->n_terminals; t++) {
		sources += o->f->term_weight[t];
		lids += (uint64_t)o->f->term_weight[t] << o->f->term_lmc[t];
	}
	if (sources < 2)
		return 0;
	return o->verdict.efi_mean * o->f->n_channels / ((double)(sources - 1) * (double)lids);
}

FIGURE(efi, o->verdict.efi)
FIGURE(efi_mean, o->verdict.efi_mean)
FIGURE(max_hops, o->verdict.max_hops)
FIGURE(routes, o->verdict.n_routes)
FIGURE(longer, o->verdict.n_longer)
FIGURE(max_longer, o->verdict.max_longer)
FIGURE(vls, o->routing.n_vls)
FIGURE(layers, o->routing.n_layers)
FIGURE(layers_one_way, o->routing.n_layers_one_way)
FIGURE(ebb, o->bandwidth.mean)
FIGURE(ebb_half_width, o->bandwidth.half_width)
FIGURE(ebb_worst, o->bandwidth.worst)
FIGURE(ebb_best, o->bandwidth.best)
FIGURE(max_congestion, o->bandwidth.max_congestion)
FIGURE(no_path, o->bandwidth.n_no_path)
FIGURE(route_ms, o->route_ms)
FIGURE(spf_ms, o->routing.ms_spf)
FIGURE(layers_ms, o->routing.ms_layers)
FIGURE(check_ms, o->check_ms)
FIGURE(bandwidth_ms, o->bandwidth_ms)
FIGURE(memory_kb, o->memory >> 10)

static const struct figure figures[] = {
	{ "edge forwarding index", "efi", OF_TABLES, 0, efi },
	{ "  average", "efi_mean", OF_TABLES, 1, efi_mean },
	{ "channels of a route, mean", "mean_hops", OF_TABLES, 3, mean_hops },
	{ "  of the longest", "max_hops", OF_TABLES, 0, max_hops },
	{ "routes", "routes", OF_TABLES, 0, routes },
	{ "  longer than minimal", "routes_longer", OF_TABLES, 0, longer },
	{ "    by channels, at most", "max_longer", OF_TABLES, 0, max_longer },
	{ "VLs used", "vls", OF_ENGINE, 0, vls },
	{ "  needed one-way", "layers_one_way", OF_ENGINE, 0, layers_one_way },
	{ "  needed as given", "layers", OF_ENGINE, 0, layers },
	{ "effective bisection bw", "ebb", OF_PATTERNS, 4, ebb },
	{ "  95 % confidence, +-", "ebb_half_width", OF_PATTERNS, 5, ebb_half_width },
	{ "  worst pattern", "ebb_worst", OF_PATTERNS, 4, ebb_worst },
	{ "  best pattern", "ebb_best", OF_PATTERNS, 4, ebb_best },
	{ "  largest congestion", "max_congestion", OF_PATTERNS, 0, max_congestion },
	{ "  pairs without a path", "pairs_no_path", OF_PATTERNS, 0, no_path },
	{ "route, ms CPU", "route_ms", OF_ENGINE, 1, route_ms },
	{ "  of it shortest paths", "spf_ms", OF_ENGINE, 1, spf_ms },
	{ "  of it virtual lanes", "layers_ms", OF_ENGINE, 1, layers_ms },
	{ "check, ms CPU", "check_ms", OF_TABLES, 1, check_ms },
	{ "bandwidth, ms CPU", "bandwidth_ms", OF_PATTERNS, 1, bandwidth_ms },
	{ "memory of the engine, kB", "memory_kb", OF_ENGINE, 0, memory_kb },
};

static bool has(const struct outcome *o, const struct figure *row)
{
	if (row->of == OF_PATTERNS)
		return o->bandwidth.n_patterns > 0;
	return !o->st && (row->of == OF_TABLES || o->routed);
}

#define N_FIGURES (sizeof(figures) / sizeof(figures[0]))

static const struct out_field head_fields[] = {
	CLI_INPUT_FIELDS,
	{ "patterns", NULL, OUT_COUNT, 0 },
	{ "seed", NULL, OUT_COUNT, 0 },
	{ NULL, NULL, 0, 0 },
};

static void figure_fields(struct out_field fields[N_FIGURES + 4])
{
	*fields++ = (struct out_field){ "tables", "tables of", OUT_TEXT, 0 };
	*fields++ = (struct out_field){ "status", NULL, OUT_TEXT, 0 };
	*fields++ = (struct out_field){ "message", NULL, OUT_TEXT, 0 };
	for (size_t r = 0; r < N_FIGURES; r++)
		*fields++ = (struct out_field){ figures[r].key, figures[r].label,
						figures[r].digits ? OUT_REAL : OUT_COUNT,
						figures[r].digits };
	*fields = (struct out_field){ NULL, NULL, 0, 0 };
}

static void say(struct out *out, const struct outcome *o)
{
	out_row(out, "results");
	out_text(out, "tables", o->name);
	out_text(out, "status", osr_status_str(o->st));
	out_text(out, "message", o->diag.text);
	for (size_t r = 0; r < N_FIGURES; r++) {
		if (!has(o, &figures[r]))
			continue;
		if (figures[r].digits)
			out_real(out, figures[r].key, figures[r].value(o));
		else
			out_count(out, figures[r].key, (uint64_t)figures[r].value(o));
	}
	if (o->st)
		out_note(out, "%s: %s", o->name, o->diag.text);
}

/* ---- the command line ----------------------------------------------------------------------- */

static void add_subject(struct args *a, const char *engine, const char *lft, struct argp_state *state)
{
	struct subject s = { .engine = engine ? osr_engine_find(engine) : NULL, .lft = lft };

	if (engine && !s.engine)
		argp_error(state, "no engine \"%s\"; `osmroutes engines` lists them", engine);
	if (a->n_subjects == MAX_SUBJECTS)
		argp_error(state, "at most %d engines and dumps at a time", MAX_SUBJECTS);
	a->subject[a->n_subjects++] = s;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct args *a = state->input;

	switch (key) {
	case 'e':
		add_subject(a, arg, NULL, state);
		return 0;
	case 'o':
		if (a->n_settings == MAX_SETTINGS)
			argp_error(state, "at most %d options", MAX_SETTINGS);
		a->setting[a->n_settings++] = arg;
		return 0;
	case OPT_LFT:
		add_subject(a, NULL, arg, state);
		return 0;
	case OPT_VLS:
		a->req.max_vls = (uint8_t)cli_take_number(arg, "vls", 1, OSR_MAX_VLS, state);
		return 0;
	case OPT_PATTERNS:
		a->n_patterns = (uint32_t)cli_take_number(arg, "patterns", 0, 10000000, state);
		return 0;
	case OPT_SEED:
		a->seed = (uint64_t)cli_take_number(arg, "seed", 0, INT64_MAX, state);
		return 0;
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &a->in;
		state->child_inputs[1] = &a->out;
		return 0;
	case ARGP_KEY_END:
		if (!a->n_subjects)
			add_subject(a, "dfsssp", NULL, state);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

/* Options are an error of the command line, not of one engine: all are read before any is run. */
static enum osr_status take_settings(const struct args *a, struct osr_values *v, struct osr_diag *diag)
{
	enum osr_status st = OSR_OK;

	for (uint32_t i = 0; i < a->n_subjects; i++) {
		const struct osr_engine *e = a->subject[i].engine;

		if (!e)
			continue;
		osr_values_default(&v[i], e->params);
		for (uint32_t k = 0; k < a->n_settings && !st; k++)
			st = cli_set(&v[i], e->params, a->setting[k], diag);
	}
	return st;
}

static int analyze_all(struct args *a, const struct osr_values *v, struct outcome *o)
{
	int code = CLI_OK;

	out_row(&a->out, "summary");
	cli_input_say(&a->in, &a->out);
	out_count(&a->out, "patterns", a->n_patterns);
	out_count(&a->out, "seed", a->seed);
	out_head(&a->out, "%u random bisections from seed %llu", a->n_patterns,
		 (unsigned long long)a->seed);
	for (uint32_t i = 0; i < a->n_subjects; i++) {
		o[i].f = &a->in.fabric;
		analyze(a, &a->subject[i], &v[i], &o[i]);
		if (o[i].st == OSR_INVAL) {
			out_drop(&a->out);
			return cli_fail(o[i].st, &o[i].diag);
		}
		if (o[i].st)
			code = CLI_BAD;
		say(&a->out, &o[i]);
	}
	return out_end(&a->out, code);
}

int cli_analyze(int argc, char **argv)
{
	static const struct argp_child children[] = {
		{ &input_argp, 0, NULL, 0 }, { &out_argp, 0, NULL, 0 }, { NULL, 0, NULL, 0 }
	};
	static const struct argp argp = {
		options, parse, "FILE",
		"Says how good a routing of the fabric of FILE (ibnetdiscover or ibsim net file) is: load "
		"of the channels, effective bisection bandwidth over random bisections, length of the "
		"routes, virtual lanes, CPU time.",
		children, NULL, NULL
	};
	struct out_field fields[N_FIGURES + 4];
	const struct out_section sections[] = {
		{ "summary", OUT_HEAD, head_fields }, { "results", OUT_ACROSS, fields }, { NULL, 0, NULL }
	};
	struct args a = { .in = CLI_INPUT_INIT,
			  .out = { .command = "analyze", .sections = sections },
			  .n_patterns = 1000, .seed = 1,
			  .req = { .max_vls = 8, .clock_ms = cli_cpu_ms } };
	struct osr_values *v = calloc(MAX_SUBJECTS, sizeof(*v));
	struct outcome *o = calloc(MAX_SUBJECTS, sizeof(*o));
	struct osr_diag diag = { "" };
	enum osr_status st = OSR_NOMEM;
	int code;

	figure_fields(fields);
	argp_parse(&argp, argc, argv, 0, NULL, &a);
	if (v && o)
		st = take_settings(&a, v, &diag);
	if (!st)
		st = cli_input_load(&a.in, &diag);
	osr_net_free(&a.in.net);
	code = st ? cli_fail(st, &diag) : analyze_all(&a, v, o);
	cli_input_free(&a.in);
	free(v);
	free(o);
	return code;
}

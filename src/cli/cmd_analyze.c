/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * How good is a routing? Either engines make it, or it is read from a file. Every figure is one row
 * of `figures[]`, which feeds the table and the JSON.
 */
#include <argp.h>
#include <math.h>
#include <stdlib.h>

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
	struct out out;
	uint32_t sigma;
};

struct outcome {
	const struct osr_fabric *f;
	bool routed; /* an engine made the tables, so there are times and VLs */
	struct cli_tables t;
	struct cli_analysis a;
};

/* ---- the figures ---------------------------------------------------------------------------- */

enum figure_of { OF_CHECK, OF_LOADS, OF_ENGINE, OF_BISECTIONS };

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

FIGURE(efi, o->a.balance.efi)
FIGURE(efi_mean, o->a.balance.mean)
FIGURE(efi_min, o->a.balance.min)
FIGURE(efi_perfect, o->a.balance.perfect)
FIGURE(sigma, o->a.balance.sigma)
FIGURE(mean_hops, cli_mean_hops(&o->a))
FIGURE(max_hops, o->a.verdict.max_hops)
FIGURE(host_routes, o->a.n_routes)
FIGURE(lost, o->a.n_lost)
FIGURE(routes, o->a.verdict.n_routes)
FIGURE(longer, o->a.verdict.n_longer)
FIGURE(max_longer, o->a.verdict.max_longer)
FIGURE(vls, o->t.routing.n_vls)
FIGURE(layers, o->t.routing.n_layers)
FIGURE(layers_one_way, o->t.routing.n_layers_one_way)
FIGURE(ebb, o->a.bandwidth.mean)
FIGURE(ebb_half_width, o->a.bandwidth.half_width)
FIGURE(ebb_worst, o->a.bandwidth.worst)
FIGURE(ebb_best, o->a.bandwidth.best)
FIGURE(max_congestion, o->a.bandwidth.max_congestion)
FIGURE(no_path, o->a.bandwidth.n_no_path)
FIGURE(route_ms, o->t.ms)
FIGURE(spf_ms, o->t.routing.ms_spf)
FIGURE(layers_ms, o->t.routing.ms_layers)
FIGURE(check_ms, o->a.check_ms)
FIGURE(bandwidth_ms, o->a.bandwidth_ms)
FIGURE(memory_kb, o->t.memory >> 10)

static const struct figure figures[] = {
	{ "edge forwarding index", "efi", OF_LOADS, 0, efi },
	{ "  average", "efi_mean", OF_LOADS, 1, efi_mean },
	{ "  least used channel", "efi_min", OF_LOADS, 0, efi_min },
	{ "  average if all minimal", "efi_perfect", OF_LOADS, 1, efi_perfect },
	{ "  deviation sigma(k)", "sigma", OF_LOADS, 2, sigma },
	{ "routes between hosts", "host_routes", OF_LOADS, 0, host_routes },
	{ "  that do not arrive", "host_routes_lost", OF_LOADS, 0, lost },
	{ "  channels, mean", "mean_hops", OF_LOADS, 3, mean_hops },
	{ "routes from switches", "routes", OF_CHECK, 0, routes },
	{ "  channels of the longest", "max_hops", OF_CHECK, 0, max_hops },
	{ "  longer than minimal", "routes_longer", OF_CHECK, 0, longer },
	{ "    by channels, at most", "max_longer", OF_CHECK, 0, max_longer },
	{ "VLs used", "vls", OF_ENGINE, 0, vls },
	{ "  needed one-way", "layers_one_way", OF_ENGINE, 0, layers_one_way },
	{ "  needed as given", "layers", OF_ENGINE, 0, layers },
	{ "effective bisection bw", "ebb", OF_BISECTIONS, 4, ebb },
	{ "  95 % confidence, +-", "ebb_half_width", OF_BISECTIONS, 5, ebb_half_width },
	{ "  worst pattern", "ebb_worst", OF_BISECTIONS, 4, ebb_worst },
	{ "  best pattern", "ebb_best", OF_BISECTIONS, 4, ebb_best },
	{ "  largest congestion", "max_congestion", OF_BISECTIONS, 0, max_congestion },
	{ "  pairs without a path", "pairs_no_path", OF_BISECTIONS, 0, no_path },
	{ "route, ms CPU", "route_ms", OF_ENGINE, 1, route_ms },
	{ "  of it shortest paths", "spf_ms", OF_ENGINE, 1, spf_ms },
	{ "  of it virtual lanes", "layers_ms", OF_ENGINE, 1, layers_ms },
	{ "check, ms CPU", "check_ms", OF_CHECK, 1, check_ms },
	{ "bandwidth, ms CPU", "bandwidth_ms", OF_BISECTIONS, 1, bandwidth_ms },
	{ "memory of the engine, kB", "memory_kb", OF_ENGINE, 0, memory_kb },
};

static bool has(const struct outcome *o, enum figure_of of)
{
	switch (of) {
	case OF_LOADS:
		return o->a.has_loads;
	case OF_BISECTIONS:
		return o->a.bandwidth.n_patterns > 0;
	case OF_ENGINE:
		return o->routed && !o->t.st && !o->a.st;
	default:
		return !o->t.st && !o->a.st;
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

static const struct out_field pattern_fields[] = { CLI_TRAFFIC_FIELDS, { NULL, NULL, 0, 0 } };

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

static void say(struct out *out, const char *name, const struct outcome *o)
{
	const struct osr_diag *why = o->t.st ? &o->t.diag : &o->a.diag;
	enum osr_status st = o->t.st ? o->t.st : o->a.st;

	out_row(out, "results");
	out_text(out, "tables", name);
	out_text(out, "status", osr_status_str(st));
	out_text(out, "message", why->text);
	for (size_t r = 0; r < N_FIGURES; r++) {
		if (!has(o, figures[r].of))
			continue;
		if (figures[r].digits)
			out_real(out, figures[r].key, figures[r].value(o));
		else
			out_count(out, figures[r].key, (uint64_t)figures[r].value(o));
	}
	for (uint32_t h = 0; o->a.has_loads && h <= OSR_LOADS_MAX_HOPS; h++) {
		if (!o->a.hops[h])
			continue;
		out_row(out, "hops");
		out_text(out, "tables", name);
		out_count(out, "hops", h);
		out_count(out, "routes", o->a.hops[h]);
	}
	if (st)
		out_note(out, "%s: %s", name, why->text);
}

/* ---- the work ------------------------------------------------------------------------------- */

static enum osr_status analyze(struct args *a, uint32_t i, struct outcome *o, struct osr_diag *diag)
{
	const char *name = cli_subject_name(&a->who.item[i]);
	const struct osr_fabric *f = &a->in.fabric;
	enum osr_status st = OSR_OK;

	*o = (struct outcome){ .f = f, .routed = a->who.item[i].engine != NULL };
	cli_tables_make(&a->who, i, f, NULL, &o->t);
	if (!o->t.st)
		cli_analyze_tables(&a->traffic, f, &o->t, a->sigma, &o->a);
	if (!o->t.st)
		st = cli_traffic_measure(&a->traffic, f, &o->t.routing, name, &a->out, diag);
	if (st == OSR_CHECK_FAILED && o->a.st) /* said already */
		st = OSR_OK;
	if (!st && o->t.st == OSR_INVAL) {
		*diag = o->t.diag;
		return OSR_INVAL;
	}
	if (cli_subjects_skip(&a->who, i, &o->t))
		o->t.st = OSR_OK;
	else if (!st)
		say(&a->out, name, o);
	cli_tables_free(&o->t);
	return st;
}

static int analyze_all(struct args *a)
{
	struct outcome *o = malloc(sizeof(*o));
	struct osr_diag diag = { "" };
	enum osr_status st = o ? OSR_OK : OSR_NOMEM;
	int code = CLI_OK;

	out_row(&a->out, "summary");
	cli_input_say(&a->in, &a->out);
	out_count(&a->out, "patterns", a->traffic.n_bisections);
	out_count(&a->out, "seed", a->traffic.seed);
	out_head(&a->out, "%u random bisections from seed %llu", a->traffic.n_bisections,
		 (unsigned long long)a->traffic.seed);
	for (uint32_t i = 0; i < a->who.n && !st; i++) {
		st = analyze(a, i, o, &diag);
		if (o->t.st || o->a.st)
			code = CLI_BAD;
	}
	free(o);
	if (!st)
		return out_end(&a->out, code);
	out_drop(&a->out);
	return cli_fail(st, &diag);
}

static error_t parse(int key, char *arg, struct argp_state *state)
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
		state->child_inputs[3] = &a->out;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

int cli_analyze(int argc, char **argv)
{
	static const struct argp argp = {
		options,
		parse,
		"FILE",
		"Says how good a routing of the fabric of FILE (ibnetdiscover or ibsim net file) "
		"is: load "
		"of the channels, length of the routes, effective bisection bandwidth, hot spots "
		"and "
		"bandwidth of communication patterns, virtual lanes, CPU time.",
		cli_analysis_children,
		NULL,
		NULL
	};
	struct out_field fields[N_FIGURES + 4];
	const struct out_section sections[] = { { "summary", OUT_HEAD, head_fields },
						{ "results", OUT_ACROSS, fields },
						{ "hops", OUT_ROWS, hop_fields },
						{ "patterns", OUT_ROWS, pattern_fields },
						{ NULL, 0, NULL } };
	struct args a = { .in = CLI_INPUT_INIT,
			  .who = CLI_SUBJECTS_INIT,
			  .traffic = CLI_TRAFFIC_INIT,
			  .out = { .command = "analyze", .sections = sections },
			  .sigma = 4 };
	struct osr_diag diag = { "" };
	enum osr_status st;
	int code;

	figure_fields(fields);
	argp_parse(&argp, argc, argv, 0, NULL, &a);
	st = cli_subjects_load(&a.who, &a.in, &diag);
	osr_net_free(&a.in.net);
	if (!st)
		st = cli_traffic_load(&a.traffic, &a.in.fabric, &diag);
	code = st ? cli_fail(st, &diag) : analyze_all(&a);
	cli_traffic_free(&a.traffic);
	cli_subjects_free(&a.who);
	cli_input_free(&a.in);
	return code;
}

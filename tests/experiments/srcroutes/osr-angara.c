/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Source routes of the Angara interconnect: a torus, the turns it can afford, and a route for every
 * pair of nodes by one algorithm or several, judged.
 */
#include <stdlib.h>
#include <string.h>

#include "srcroutes/srcroutes.h"
#include "srcroutes/srccheck.h"
#include "srcroutes/srctraffic.h"

#include "cli/cli.h"
#include "cli/output.h"

#define MAX_SETTINGS 32

enum {
	P_TURNS,
	P_WEIGHT,
	P_TIES,
	P_LITERAL,
	P_UNIQUE,
	P_ROUNDS,
	P_MOVES,
	P_SEED,
	P_POPULATION,
	P_MUTATION,
	P_PATIENCE,
};

static const struct osr_param params[] = {
	{ "turns", OSR_PARAM_ENUM, "theorem2", 0, 0, "none|theorem2|exact",
	  "turns against the order of directions that are added" },
	{ "weight", OSR_PARAM_ENUM, "least", 0, 0, "least|sum|none",
	  "bfs: weight of a vertex, of its lightest edge or of all" },
	{ "ties", OSR_PARAM_UINT, "0", 0, UINT64_MAX, NULL,
	  "bfs: 0, vertices as discovered; else the seed of another order" },
	{ "literal", OSR_PARAM_BOOL, "no", 0, 0, NULL, "sssp: search the routing graph" },
	{ "unique_first", OSR_PARAM_BOOL, "yes", 0, 0, NULL, "sssp: settle unique routes first" },
	{ "rounds", OSR_PARAM_UINT, "16", 0, 1000, NULL, "balance: rip-up rounds at most" },
	{ "moves", OSR_PARAM_UINT, "20000", 0, UINT32_MAX, NULL,
	  "balance: moves at most to lower the largest load" },
	{ "seed", OSR_PARAM_UINT, "1", 0, UINT64_MAX, NULL, "genetic: of its random numbers" },
	{ "population", OSR_PARAM_UINT, "100", 2, 10000, NULL, "genetic: chromosomes" },
	{ "mutation", OSR_PARAM_UINT, "20", 0, 1000, NULL,
	  "genetic: per mille of a child's genes" },
	{ "patience", OSR_PARAM_UINT, "30", 1, 100000, NULL,
	  "genetic: generations without improvement before it stops" },
	{ NULL, 0, NULL, 0, 0, NULL, NULL },
};

static const char *const algorithms[] = { "bfs", "genetic", "sssp", "balance" };

struct args {
	const char *dims; /* "4x2x2x2" */
	struct out out;
	bool wanted[4];
	const char *setting[MAX_SETTINGS];
	uint32_t n_settings;
};

/* One run's shared state. */
struct session {
	const struct args *a;
	struct out *out;
	struct osr_arena scratch, result;
	struct osr_torus torus;
	struct osr_turns turns;
	struct osr_srcroutes ang;
	enum osr_turn_rule rule;
	struct osr_srcroutes_options options;
	struct osr_srcroute *route;
	double turns_ms, choices_ms;
};

/* ---- what is said --------------------------------------------------------------------------- */

static const struct out_field head_fields[] = {
	{ "dims", NULL, OUT_TEXT, 0 },
	{ "torus_nodes", NULL, OUT_COUNT, 0 },
	{ "turns_added", NULL, OUT_COUNT, 0 },
	{ "pairs", NULL, OUT_COUNT, 0 },
	{ "pairs_unique", NULL, OUT_COUNT, 0 },
	{ "choices", NULL, OUT_COUNT, 0 },
	{ "turns_ms", NULL, OUT_REAL, 1 },
	{ "choices_ms", NULL, OUT_REAL, 1 },
	{ NULL, NULL, 0, 0 },
};

static const struct out_field result_fields[] = {
	{ "algorithm", "algorithm", OUT_TEXT, 0 },
	{ "status", NULL, OUT_TEXT, 0 },
	{ "max_load", "largest load", OUT_COUNT, 0 },
	{ "min_load", "smallest load", OUT_COUNT, 0 },
	{ "mean_load", "mean load", OUT_REAL, 2 },
	{ "sigma4", "sigma(4)", OUT_REAL, 3 },
	{ "max_hops", "max D", OUT_COUNT, 0 },
	{ "hops", "hops of all routes", OUT_COUNT, 0 },
	{ "longer", "routes longer than the distance", OUT_COUNT, 0 },
	{ "extra_steps", "first and last steps", OUT_COUNT, 0 },
	{ "sssp_calls", "calls of BUILD_SSSP", OUT_COUNT, 0 },
	{ "generations", "generations", OUT_COUNT, 0 },
	{ "rounds", "rip-up rounds", OUT_COUNT, 0 },
	{ "moves", "moves", OUT_COUNT, 0 },
	{ "route_ms", "algorithm, ms CPU", OUT_REAL, 2 },
	{ "total_ms", "with turns and choices, ms CPU", OUT_REAL, 2 },
	{ "check_ms", "check, ms CPU", OUT_REAL, 2 },
	{ NULL, NULL, 0, 0 },
};

static const struct out_field pattern_fields[] = {
	{ "algorithm", "algorithm", OUT_TEXT, 0 }, { "pattern", "pattern", OUT_TEXT, 0 },
	{ "pairs", "pairs", OUT_COUNT, 0 },        { "max_load", "largest load", OUT_COUNT, 0 },
	{ "bandwidth", "bandwidth", OUT_REAL, 4 }, { NULL, NULL, 0, 0 },
};

static const struct out_section sections[] = {
	{ "summary", OUT_HEAD, head_fields },
	{ "results", OUT_ACROSS, result_fields },
	{ "patterns", OUT_ROWS, pattern_fields },
	{ NULL, 0, NULL },
};

static void say_head(struct session *s)
{
	const struct osr_srcroutes *routes = &s->ang;
	uint32_t n_pairs = routes->n_pairs - s->torus.n_nodes;

	out_head(s->out, "torus %s: %u nodes; %u turns added", s->a->dims, s->torus.n_nodes,
		 s->turns.n_added);
	out_head(s->out, "%u pairs, %u with a single route; %u routes", n_pairs, routes->n_unique,
		 routes->row[routes->n_pairs]);
	out_row(s->out, "summary");
	out_text(s->out, "dims", s->a->dims);
	out_count(s->out, "torus_nodes", s->torus.n_nodes);
	out_count(s->out, "turns_added", s->turns.n_added);
	out_count(s->out, "pairs", n_pairs);
	out_count(s->out, "pairs_unique", routes->n_unique);
	out_count(s->out, "choices", routes->row[routes->n_pairs]);
	out_real(s->out, "turns_ms", s->turns_ms);
	out_real(s->out, "choices_ms", s->choices_ms);
}

static void say_result(struct session *s, const char *algorithm,
		       const struct osr_srcverdict *srcverdict,
		       const struct osr_srcroutes_stats *stats, double route_ms, double check_ms)
{
	struct out *o = s->out;

	out_row(o, "results");
	out_text(o, "algorithm", algorithm);
	out_text(o, "status", "ok");
	out_count(o, "max_load", srcverdict->max_load);
	out_count(o, "min_load", srcverdict->min_load);
	out_real(o, "mean_load", srcverdict->mean_load);
	out_real(o, "sigma4", srcverdict->sigma4);
	out_count(o, "max_hops", srcverdict->max_hops);
	out_count(o, "hops", srcverdict->n_hops);
	out_count(o, "longer", srcverdict->n_longer);
	out_count(o, "extra_steps", srcverdict->n_extra);
	if (stats->n_sssp_calls)
		out_count(o, "sssp_calls", stats->n_sssp_calls);
	if (stats->n_generations)
		out_count(o, "generations", stats->n_generations);
	if (stats->n_rounds) {
		out_count(o, "rounds", stats->n_rounds);
		out_count(o, "moves", stats->n_moves);
	}
	out_real(o, "route_ms", route_ms);
	out_real(o, "total_ms", route_ms + s->turns_ms + s->choices_ms);
	out_real(o, "check_ms", check_ms);
}

/* ---- the work ------------------------------------------------------------------------------- */

static enum osr_status say_patterns(struct session *s, const char *algorithm, struct osr_diag *diag)
{
	for (int p = 0; p < OSR_N_SRCPATTERNS; p++) {
		struct osr_srctraffic traffic;
		enum osr_status st = osr_srctraffic(&s->torus, s->route, (enum osr_srcpattern)p,
						    &s->scratch, &traffic, diag);

		if (st)
			return st;
		out_row(s->out, "patterns");
		out_text(s->out, "algorithm", algorithm);
		out_text(s->out, "pattern", osr_srcpattern_name((enum osr_srcpattern)p));
		out_count(s->out, "pairs", traffic.n_pairs);
		out_count(s->out, "max_load", traffic.max_load);
		out_real(s->out, "bandwidth", traffic.bandwidth);
	}
	return OSR_OK;
}

static enum osr_status run_algorithm(struct session *s, int algorithm, struct osr_diag *diag)
{
	const char *name = algorithms[algorithm];
	struct osr_srcroutes_stats stats;
	struct osr_srcverdict srcverdict;
	double start = cli_cpu_ms(), middle;
	enum osr_status st = osr_srcroutes_route(&s->ang, (enum osr_srcroutes_algorithm)algorithm,
						 &s->options, &s->scratch, s->route, &stats, diag);

	middle = cli_cpu_ms();
	if (!st)
		st = osr_srccheck(&s->torus, s->route, s->turns.rank, &s->scratch, NULL,
				  &srcverdict, diag);
	if (st)
		return st;
	say_result(s, name, &srcverdict, &stats, middle - start, cli_cpu_ms() - middle);
	return say_patterns(s, name, diag);
}

/* "4x2x2x2" */
static enum osr_status make_torus(struct session *s, struct osr_diag *diag)
{
	uint32_t size[OSR_TORUS_MAX_DIMS], n = 0;
	const char *p = s->a->dims;

	for (char *end;; p = end + 1) {
		unsigned long x = strtoul(p, &end, 10);

		if (end == p || *p == '-' || *p == '+' || x > OSR_TORUS_MAX_NODES ||
		    n == OSR_TORUS_MAX_DIMS || (*end && *end != 'x'))
			return osr_fail(diag, OSR_INVAL,
					"dims \"%s\": expected up to 6 numbers as in 4x2x2x2",
					s->a->dims);
		size[n++] = (uint32_t)x;
		if (!*end)
			return osr_torus_init(&s->torus, n, size, &s->result, diag);
	}
}

static enum osr_status angara_prepare(struct session *s, struct osr_diag *diag)
{
	double start, middle;
	enum osr_status st = make_torus(s, diag);

	if (st)
		return st;
	start = cli_cpu_ms();
	st = osr_turns_find(&s->torus, s->rule, &s->scratch, &s->result, &s->turns, diag);
	middle = cli_cpu_ms();
	if (!st)
		st = osr_srcroutes_init(&s->ang, &s->turns, &s->scratch, &s->result, diag);
	s->turns_ms = middle - start;
	s->choices_ms = cli_cpu_ms() - middle;
	s->route = osr_alloc(&s->result, s->ang.n_pairs, sizeof(*s->route));
	if (!st && !s->route)
		st = osr_fail(diag, OSR_NOMEM, "out of memory for the routes");
	return st;
}

static enum osr_status run_all(struct session *s, struct osr_diag *diag)
{
	enum osr_status st = angara_prepare(s, diag);

	if (st)
		return st;
	say_head(s);
	for (int i = 0; !st && i < 4; i++)
		if (s->a->wanted[i])
			st = run_algorithm(s, i, diag);
	return st;
}

static enum osr_status take_settings(const struct args *a, struct session *s, struct osr_diag *diag)
{
	struct osr_values values;
	enum osr_status st = OSR_OK;

	osr_values_default(&values, params);
	for (uint32_t i = 0; !st && i < a->n_settings; i++)
		st = cli_set(&values, params, a->setting[i], diag);
	s->rule = (enum osr_turn_rule)values.num[P_TURNS];
	s->options = (struct osr_srcroutes_options){
		.unique_first = values.num[P_UNIQUE],
		.literal = values.num[P_LITERAL],
		.bfs_weight = (enum osr_srcroutes_bfs_weight)values.num[P_WEIGHT],
		.bfs_ties = values.num[P_TIES],
		.rounds = (uint32_t)values.num[P_ROUNDS],
		.moves = (uint32_t)values.num[P_MOVES],
		.seed = values.num[P_SEED],
		.population = (uint32_t)values.num[P_POPULATION],
		.mutation_permille = (uint32_t)values.num[P_MUTATION],
		.patience = (uint32_t)values.num[P_PATIENCE],
	};
	return st;
}

/* ---- the command line ----------------------------------------------------------------------- */

static void take_algorithm(struct args *a, const char *name, struct argp_state *state)
{
	bool found = false;

	for (int i = 0; i < 4; i++) {
		if (strcmp(name, algorithms[i]) && strcmp(name, "all"))
			continue;
		a->wanted[i] = true;
		found = true;
	}
	if (!found)
		argp_error(state, "algorithm \"%s\": expected bfs, genetic, sssp, balance or all",
			   name);
}

static const struct cli_option options[] = {
	{ "dims", "AxBx...", "a torus of these sides", CLI_TEXT(struct args, dims), .group = 1 },
	{ "algorithm", "NAME",
	  "bfs, genetic, sssp, balance or all; may be repeated (default balance)", .key = 'a',
	  .group = 3 },
	{ "option", "NAME=VALUE", "option of the algorithms, listed below", .key = 'o',
	  .group = 3 },
	{ 0 },
};

static error_t angara_parse(int key, char *arg, struct argp_state *state)
{
	struct args *a = state->input;

	switch (key) {
	case 'a':
		take_algorithm(a, arg, state);
		return 0;
	case 'o':
		if (a->n_settings == MAX_SETTINGS)
			argp_error(state, "\"%s\": more than %d options", arg, MAX_SETTINGS);
		a->setting[a->n_settings++] = arg;
		return 0;
	case ARGP_KEY_END:
		if (!a->dims)
			argp_error(state, "missing torus: --dims");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

/* The table of options behind --help. */
static char *help(int key, const char *text, void *input)
{
	char *buf = NULL;
	size_t size;
	FILE *out;

	if (key != ARGP_KEY_HELP_POST_DOC)
		return (char *)text;
	out = open_memstream(&buf, &size);
	if (!out)
		return (char *)text;
	fprintf(out, "Options of the algorithms, with -o:\n");
	cli_print_params(out, params);
	fclose(out);
	return buf;
}

static const struct cli_part parts[] = { { &out_spec, offsetof(struct args, out) }, { 0 } };

static const struct cli_spec spec = {
	.options = options,
	.parse = angara_parse,
	.parts = parts,
	.doc = "Source routes of the Angara interconnect: a route for every pair of nodes "
	       "of a torus, deadlock-free on one virtual channel.\v ",
	.help_filter = help,
};

int main(int argc, char **argv)
{
	struct args a = { .out = { .command = "angara", .sections = sections } };
	struct session s = { .a = &a, .out = &a.out };
	struct osr_diag diag = { "" };
	enum osr_status st;

	out_guard();
	argp_err_exit_status = CLI_USAGE;
	cli_parse(&spec, argc, argv, &a);
	if (!a.wanted[0] && !a.wanted[1] && !a.wanted[2])
		a.wanted[3] = true;
	st = take_settings(&a, &s, &diag);
	if (!st)
		st = run_all(&s, &diag);
	osr_arena_free(&s.scratch);
	osr_arena_free(&s.result);
	if (st) {
		out_drop(&a.out);
		return cli_fail(st, &diag);
	}
	return out_end(&a.out, CLI_OK);
}

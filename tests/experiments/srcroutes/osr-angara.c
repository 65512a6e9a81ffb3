/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Source routes of the Angara interconnect: a torus with its failures, the turns it can afford, and
 * a route for every pair of a job's nodes by one algorithm or several, judged.
 */
#include <stdlib.h>
#include <string.h>

#include "srcroutes/srcroutes.h"
#include "srcroutes/srccheck.h"
#include "srcroutes/srctraffic.h"

#include "srcroutes/angara.h"
#include "cli/cli.h"
#include "cli/output.h"

#define MAX_SETTINGS 32

enum {
	P_TURNS,
	P_ORDER,
	P_TURN_SEED,
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
	{ "order", OSR_PARAM_ENUM, "vertex", 0, 0, "vertex|direction|reverse|random",
	  "the order in which they are tried" },
	{ "turn_seed", OSR_PARAM_UINT, "1", 0, UINT64_MAX, NULL, "of the random order" },
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
	struct angara_input in;
	struct out out;
	bool wanted[4], routes;
	const char *setting[MAX_SETTINGS];
	uint32_t n_settings;
};

/* One run's shared state. */
struct session {
	const struct args *a;
	struct out *out;
	struct osr_arena scratch, result;
	struct angara_torus torus;
	struct osr_turns turns;
	struct osr_srcroutes ang;
	struct osr_turns_options turn_options;
	struct osr_srcroutes_options options;
	struct osr_srcroute *route;
	uint32_t *load;
	double turns_ms, choices_ms;
};

/* ---- what is said --------------------------------------------------------------------------- */

static const struct out_field head_fields[] = {
	{ "dims", NULL, OUT_TEXT, 0 },          { "lines", NULL, OUT_TEXT, 0 },
	{ "torus_nodes", NULL, OUT_COUNT, 0 },  { "set_nodes", NULL, OUT_COUNT, 0 },
	{ "failed_nodes", NULL, OUT_COUNT, 0 }, { "failed_links", NULL, OUT_COUNT, 0 },
	{ "turns_added", NULL, OUT_COUNT, 0 },  { "pairs", NULL, OUT_COUNT, 0 },
	{ "pairs_unique", NULL, OUT_COUNT, 0 }, { "pairs_unroutable", NULL, OUT_COUNT, 0 },
	{ "choices", NULL, OUT_COUNT, 0 },      { "turns_ms", NULL, OUT_REAL, 1 },
	{ "choices_ms", NULL, OUT_REAL, 1 },    { NULL, NULL, 0, 0 },
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

static const struct out_field channel_fields[] = {
	{ "node", "node", OUT_COUNT, 0 },
	{ "direction", "direction", OUT_TEXT, 0 },
	{ "to", "to", OUT_COUNT, 0 },
	{ "rank", "rank", OUT_COUNT, 0 },
	{ NULL, NULL, 0, 0 },
};

static const struct out_field turn_fields[] = {
	{ "node", "at node", OUT_COUNT, 0 },
	{ "from", "from", OUT_TEXT, 0 },
	{ "to", "to", OUT_TEXT, 0 },
	{ NULL, NULL, 0, 0 },
};

static const struct out_field route_fields[] = {
	{ "algorithm", "algorithm", OUT_TEXT, 0 },
	{ "from", "from", OUT_COUNT, 0 },
	{ "to", "to", OUT_COUNT, 0 },
	{ "first", "first step", OUT_TEXT, 0 },
	{ "bits", "direction bits", OUT_TEXT, 0 },
	{ "last", "last step", OUT_TEXT, 0 },
	{ "hops", "hops", OUT_TEXT, 0 },
	{ NULL, NULL, 0, 0 },
};

static const struct out_section sections[] = {
	{ "summary", OUT_HEAD, head_fields },
	{ "results", OUT_ACROSS, result_fields },
	{ "patterns", OUT_ROWS, pattern_fields },
	{ "channels", OUT_ROWS, channel_fields },
	{ "turns", OUT_ROWS, turn_fields },
	{ "routes", OUT_ROWS, route_fields },
	{ NULL, 0, NULL },
};

static void say_head(struct session *s)
{
	const struct osr_torus *torus = &s->torus.t;
	const struct osr_srcroutes *routes = &s->ang;
	uint32_t n_pairs = routes->n_pairs - routes->n_set;
	char dims[64] = "", lines[8] = "";
	size_t n_lines = 0;

	for (uint32_t i = 0, n = 0; i < torus->n_dims; i++) {
		n += (uint32_t)snprintf(dims + n, sizeof(dims) - n, i ? "x%u" : "%u",
					torus->size[i]);
		if (!torus->ring[i])
			lines[n_lines++] = "XYZKLM"[i];
	}
	out_head(s->out, "torus %s: %u nodes, %u of them routed; %u nodes and %u links failed",
		 dims, torus->n_nodes, routes->n_set, s->torus.n_failed_nodes,
		 s->torus.n_failed_links);
	out_head(s->out,
		 "%u turns added; %u pairs, %u with a single route, %u with none; %u routes",
		 s->turns.n_added, n_pairs, routes->n_unique, routes->n_unroutable,
		 routes->row[routes->n_pairs]);
	out_row(s->out, "summary");
	out_text(s->out, "dims", dims);
	out_text(s->out, "lines", lines);
	out_count(s->out, "torus_nodes", torus->n_nodes);
	out_count(s->out, "set_nodes", routes->n_set);
	out_count(s->out, "failed_nodes", s->torus.n_failed_nodes);
	out_count(s->out, "failed_links", s->torus.n_failed_links);
	out_count(s->out, "turns_added", s->turns.n_added);
	out_count(s->out, "pairs", n_pairs);
	out_count(s->out, "pairs_unique", routes->n_unique);
	out_count(s->out, "pairs_unroutable", routes->n_unroutable);
	out_count(s->out, "choices", routes->row[routes->n_pairs]);
	out_real(s->out, "turns_ms", s->turns_ms);
	out_real(s->out, "choices_ms", s->choices_ms);
}

static void say_channels(struct session *s)
{
	const struct osr_torus *torus = &s->torus.t;

	for (uint32_t c = 0; c < torus->n_nodes * torus->n_dirs; c++) {
		uint32_t v = torus->next[c], dir = c % torus->n_dirs;

		if (v == OSR_NO_NODE)
			continue;
		out_row(s->out, "channels");
		out_count(s->out, "node", c / torus->n_dirs);
		out_text(s->out, "direction", osr_dir_name(torus, dir));
		out_count(s->out, "to", v);
		out_count(s->out, "rank", s->turns.rank[c]);
		for (uint32_t to = 0; to < dir; to++) {
			if (!(s->turns.after[v * torus->n_dirs + dir] >> to & 1))
				continue;
			out_row(s->out, "turns");
			out_count(s->out, "node", v);
			out_text(s->out, "from", osr_dir_name(torus, dir));
			out_text(s->out, "to", osr_dir_name(torus, to));
		}
	}
}

/* Names of directions in a row, without blanks: "+X+X-Y". */
static void angara_add_name(const struct osr_torus *torus, char *text, size_t size, uint32_t dir)
{
	size_t n = strlen(text);

	snprintf(text + n, size - n, "%s", osr_dir_name(torus, dir));
}

static void say_route(struct session *s, const char *algorithm, uint32_t pair)
{
	const struct osr_torus *torus = &s->torus.t;
	struct osr_srcroute srcroute = s->route[pair];
	uint32_t from = s->torus.set[pair / s->torus.n_set],
		 to = s->torus.set[pair % s->torus.n_set];
	uint32_t channel[OSR_SRCROUTE_MAX_HOPS],
		n = osr_srcroute_channels(torus, from, to, srcroute, channel);
	char bits[32] = "", hops[2 * OSR_SRCROUTE_MAX_HOPS + 1] = "";

	for (uint32_t dir = 0; dir < torus->n_dirs; dir++)
		if ((dir < torus->n_dims ? srcroute.plus : srcroute.minus) >>
			    osr_dir_dim(torus, dir) &
		    1)
			angara_add_name(torus, bits, sizeof(bits), dir);
	for (uint32_t h = 0; h < n; h++)
		memcpy(hops + 2 * h, osr_dir_name(torus, channel[h] % torus->n_dirs), 3);
	out_row(s->out, "routes");
	out_text(s->out, "algorithm", algorithm);
	out_count(s->out, "from", from);
	out_count(s->out, "to", to);
	out_text(s->out, "first",
		 srcroute.first == OSR_NO_DIR ? NULL : osr_dir_name(torus, srcroute.first));
	out_text(s->out, "bits", bits);
	out_text(s->out, "last",
		 srcroute.last == OSR_NO_DIR ? NULL : osr_dir_name(torus, srcroute.last));
	out_text(s->out, "hops", hops);
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
		enum osr_status st =
			osr_srctraffic(&s->torus.t, s->torus.set, s->torus.n_set, s->route,
				       (enum osr_srcpattern)p, &s->scratch, &traffic, diag);

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
		st = osr_srccheck(&s->torus.t, s->torus.set, s->torus.n_set, s->route,
				  s->turns.rank, &s->scratch, NULL, &srcverdict, diag);
	if (st)
		return st;
	say_result(s, name, &srcverdict, &stats, middle - start, cli_cpu_ms() - middle);
	st = say_patterns(s, name, diag);
	for (uint32_t p = 0; !st && s->a->routes && p < s->ang.n_pairs; p++)
		if (s->ang.hops[p])
			say_route(s, name, p);
	return st;
}

static enum osr_status angara_prepare(struct session *s, struct osr_diag *diag)
{
	double start, middle;
	enum osr_status st = angara_torus_make(&s->a->in, &s->result, &s->torus, diag);

	if (st)
		return st;
	start = cli_cpu_ms();
	st = osr_turns_find(&s->torus.t, &s->turn_options, &s->scratch, &s->result, &s->turns,
			    diag);
	middle = cli_cpu_ms();
	if (!st)
		st = osr_srcroutes_init(&s->ang, &s->turns, s->torus.set, s->torus.n_set,
					&s->scratch, &s->result, diag);
	s->turns_ms = middle - start;
	s->choices_ms = cli_cpu_ms() - middle;
	s->route =
		osr_alloc(&s->result, (size_t)s->torus.n_set * s->torus.n_set, sizeof(*s->route));
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
	if (s->a->routes) {
		say_channels(s);
	}
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
	s->turn_options =
		(struct osr_turns_options){ .rule = (enum osr_turn_rule)values.num[P_TURNS],
					    .order = (enum osr_turn_order)values.num[P_ORDER],
					    .seed = values.num[P_TURN_SEED] };
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

static void angara_take_word(const char **list, uint32_t *n, uint32_t size, const char *arg,
			     struct argp_state *state)
{
	if (*n == size)
		argp_error(state, "\"%s\": more than %u of these", arg, size);
	list[(*n)++] = arg;
}

enum { OPT_FAIL_NODE = 256, OPT_FAIL_LINK };

static const struct cli_option options[] = {
	{ "dims", "AxBx...", "a torus of these sides", CLI_TEXT(struct args, in.dims), .group = 1 },
	{ "lines", "LETTERS", "dimensions out of XYZKLM that do not close, as sides of 2 never do",
	  CLI_TEXT(struct args, in.lines), .group = 1 },
	{ "box", "AxBx...", "the job's nodes: a box of these sides at the origin",
	  CLI_TEXT(struct args, in.box), .group = 1 },
	{ "fail-node", "NODE", "a failed node, may be repeated", .key = OPT_FAIL_NODE, .group = 2 },
	{ "fail-link", "NODE:DIR", "a failed link as in 5:+X, may be repeated",
	  .key = OPT_FAIL_LINK, .group = 2 },
	{ "algorithm", "NAME",
	  "bfs, genetic, sssp, balance or all; may be repeated (default balance)", .key = 'a',
	  .group = 3 },
	{ "option", "NAME=VALUE", "option of the algorithms, listed below", .key = 'o',
	  .group = 3 },
	{ "routes", NULL, "print routes, channels and turns, too", CLI_FLAG(struct args, routes),
	  .group = 3 },
	{ 0 },
};

static error_t angara_parse(int key, char *arg, struct argp_state *state)
{
	struct args *a = state->input;

	switch (key) {
	case OPT_FAIL_NODE:
		angara_take_word(a->in.fail_node, &a->in.n_fail_node, ANGARA_MAX_WORDS, arg, state);
		return 0;
	case OPT_FAIL_LINK:
		angara_take_word(a->in.fail_link, &a->in.n_fail_link, ANGARA_MAX_WORDS, arg, state);
		return 0;
	case 'a':
		take_algorithm(a, arg, state);
		return 0;
	case 'o':
		angara_take_word(a->setting, &a->n_settings, MAX_SETTINGS, arg, state);
		return 0;
	case ARGP_KEY_END:
		if (!a->in.dims)
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

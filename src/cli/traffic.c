/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "cli/traffic.h"

#include <stdlib.h>
#include <string.h>

#include <osmroutes/collective.h>

#include "cli/cli.h"
#include "io/trafficfile.h"

/* ---- the command line ----------------------------------------------------------------------- */

enum {
	OPT_BISECTIONS = 0x5000,
	OPT_PATTERNS,
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
	{ "patterns", OPT_PATTERNS, "N", OPTION_ALIAS | OPTION_HIDDEN, NULL, 0 },
	{ "pattern", OPT_PATTERN, "NAME[:N,..]", 0,
	  "a communication pattern, may be repeated; \"orcs\", \"cps\": all of them; \"list\"", 0 },
	{ "traffic", OPT_TRAFFIC, "FILE", 0, "phases of a traffic file, may be repeated", 0 },
	{ "hosts", OPT_HOSTS, "FILE", 0,
	  "hosts of the ranks, one a line, rank 0 first (default: all, in the order of the fabric)",
	  0 },
	{ "ranks", OPT_RANKS, "N", 0, "only so many, the first of the order (default: all hosts)",
	  0 },
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

static void add(struct cli_traffic *t, const char *name, const char *path, struct argp_state *state)
{
	if (t->n_flows == CLI_MAX_TRAFFIC)
		argp_error(state, "at most %d patterns and traffic files", CLI_MAX_TRAFFIC);
	t->flow[t->n_flows++] = (struct cli_flow){ .name = name, .path = path };
}

static void print_patterns(const char *title, const struct osr_pattern *(*row)(uint32_t i))
{
	const struct osr_pattern *p;

	printf("%s\n", title);
	for (uint32_t i = 0; (p = row(i)); i++) {
		char name[64];

		snprintf(name, sizeof(name), "%s%s%s", p->name, p->args ? ":" : "",
			 p->args ? p->args : "");
		printf("    %-28s %s\n", name, p->summary);
	}
}

/* Those that need no numbers and send something. */
static void add_all(struct cli_traffic *t, const struct osr_pattern *(*row)(uint32_t i),
		    struct argp_state *state)
{
	const struct osr_pattern *p;

	for (uint32_t i = 0; (p = row(i)); i++)
		if (!p->min_args && strcmp(p->name, "null") && strcmp(p->name, "alltoall"))
			add(t, p->name, NULL, state);
}

static void add_pattern(struct cli_traffic *t, const char *arg, struct argp_state *state)
{
	if (!strcmp(arg, "list")) {
		print_patterns("Patterns of ORCS, and some more:", osr_pattern_row);
		print_patterns("Collective permutation sequences:", osr_collective_row);
		exit(CLI_OK);
	}
	if (!strcmp(arg, "orcs"))
		add_all(t, osr_pattern_row, state);
	else if (!strcmp(arg, "cps"))
		add_all(t, osr_collective_row, state);
	else
		add(t, arg, NULL, state);
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

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct cli_traffic *t = state->input;

	switch (key) {
	case OPT_BISECTIONS:
	case OPT_PATTERNS:
		t->n_bisections = (uint32_t)cli_take_number(arg, "bisections", 0, 10000000, state);
		return 0;
	case OPT_PATTERN:
		add_pattern(t, arg, state);
		return 0;
	case OPT_TRAFFIC:
		add(t, arg, arg, state);
		return 0;
	case OPT_HOSTS:
		t->hosts_path = arg;
		return 0;
	case OPT_RANKS:
		t->n_ranks = (uint32_t)cli_take_number(arg, "ranks", 2, OSR_MAX_LID, state);
		return 0;
	case OPT_RANKING:
		t->ranking = take_ranking(arg, state);
		return 0;
	case OPT_RUNS:
		t->n_runs = (uint32_t)cli_take_number(arg, "runs", 1, 1000000, state);
		return 0;
	case OPT_SEED:
		t->seed = (uint64_t)cli_take_number(arg, "seed", 0, INT64_MAX, state);
		return 0;
	case OPT_HSD_ONLY:
		t->hsd_only = true;
		return 0;
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &t->pool;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp_child children[] = { { &pool_argp, 0, NULL, 0 }, { NULL, 0, NULL, 0 } };
const struct argp traffic_argp = { options, parse, NULL, NULL, children, NULL, NULL };

/* ---- reading -------------------------------------------------------------------------------- */

static enum osr_status load_hosts(struct cli_traffic *t, const struct osr_fabric *f,
				  const struct osr_endports *x, struct osr_diag *diag)
{
	t->hosts = osr_alloc(&t->arena, f->n_terminals, sizeof(*t->hosts));
	if (!t->hosts)
		return osr_fail(diag, OSR_NOMEM, "out of memory for %u hosts", f->n_terminals);
	if (t->hosts_path)
		return osr_hostlist_read(t->hosts_path, x, t->hosts, &t->n_hosts, diag);
	t->n_hosts = osr_survey_hosts(f, t->hosts);
	return OSR_OK;
}

static enum osr_status load_file(struct cli_flow *w, const struct osr_endports *x,
				 struct osr_diag *diag)
{
	enum osr_status st;

	w->file = calloc(1, sizeof(*w->file));
	if (!w->file)
		return osr_fail(diag, OSR_NOMEM, "%s: out of memory", w->path);
	st = osr_traffic_read(w->path, x, w->file, diag);
	if (!st)
		osr_sequence_given(&w->file->phases, &w->sequence);
	return st;
}

enum osr_status cli_traffic_load(struct cli_traffic *t, const struct osr_fabric *f,
				 struct osr_diag *diag)
{
	struct osr_endports x;
	enum osr_status st = osr_endports_init(&x, f, &t->arena, diag);
	uint32_t n_ranks;

	if (!st)
		st = load_hosts(t, f, &x, diag);
	if (st)
		return st;
	if (t->n_ranks > t->n_hosts)
		return osr_fail(diag, OSR_INVAL, "%u ranks do not fit on %u hosts", t->n_ranks,
				t->n_hosts);
	n_ranks = t->n_ranks ? t->n_ranks : t->n_hosts;
	for (uint32_t i = 0; i < t->n_flows && !st; i++) {
		struct cli_flow *w = &t->flow[i];

		if (w->path)
			st = load_file(w, &x, diag);
		else
			st = osr_sequence_parse(w->name, n_ranks, &w->sequence, diag);
	}
	return st;
}

void cli_traffic_free(struct cli_traffic *t)
{
	for (uint32_t i = 0; i < t->n_flows; i++) {
		if (t->flow[i].file)
			osr_traffic_free(t->flow[i].file);
		free(t->flow[i].file);
		t->flow[i].file = NULL;
	}
	osr_arena_free(&t->arena);
}

/* ---- measuring ------------------------------------------------------------------------------ */

enum osr_status cli_traffic_bisect(const struct cli_traffic *t, const struct osr_fabric *f,
				   const struct osr_routing *r, struct osr_bandwidth *b,
				   struct osr_diag *diag)
{
	struct osr_arena arena = { 0 };
	struct osr_survey_sum sum;
	struct osr_survey_in in;
	struct osr_sequence q;
	enum osr_status st;

	*b = (struct osr_bandwidth){ 0 };
	if (!t->n_bisections)
		return OSR_OK;
	st = osr_bandwidth_prepare(f, r, t->n_bisections, t->seed, &arena, &q, &in, b, diag);
	if (!st)
		st = cli_survey(&t->pool, &in, "bisections", &sum, diag);
	if (st)
		b->n_patterns = 0;
	else
		osr_bandwidth_fill(&sum, b);
	osr_arena_free(&arena);
	return st;
}

enum osr_status cli_traffic_sequence(const struct cli_traffic *t, const struct osr_fabric *f,
				     const struct osr_routing *r, const struct osr_sequence *q,
				     bool random, const char *name, struct osr_survey_sum *sum,
				     struct osr_diag *diag)
{
	struct osr_survey_in in = { .f = f,
				    .r = r,
				    .sequence = q,
				    .hosts = t->hosts,
				    .n_hosts = t->n_hosts,
				    .n_runs = random || q->pattern->random ? t->n_runs : 1,
				    .shuffle = random,
				    .bandwidth = !t->hsd_only,
				    .seed = t->seed };

	return cli_survey(&t->pool, &in, name, sum, diag);
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

static void say(const struct cli_traffic *t, const struct cli_flow *w, const char *tables,
		const char *ranking, const struct osr_survey_sum *sum, double ms, struct out *out)
{
	out_row(out, "patterns");
	out_text(out, "tables", tables);
	out_text(out, "pattern", w->name);
	out_text(out, "ranking", ranking);
	out_count(out, "ranks", w->sequence.n_ranks);
	out_count(out, "phases", sum->n_phases);
	out_count(out, "runs", sum->n_runs);
	say_spread(out, "hsd", &sum->hsd, sum->n_runs > 1);
	out_real(out, "hsd_sum", sum->hsd_sum.mean);
	out_count(out, "max_congestion", sum->max_congestion);
	if (!t->hsd_only)
		say_spread(out, "bandwidth", &sum->bandwidth, sum->n_runs > 1);
	out_count(out, "pairs", sum->n_pairs);
	out_count(out, "pairs_no_path", sum->n_no_path);
	out_real(out, "cpu_ms", ms);
}

/* A file that names end ports says itself where its ranks are. */
static enum osr_status measure_named(const struct cli_traffic *t, const struct cli_flow *w,
				     const struct osr_fabric *f, const struct osr_routing *r,
				     struct osr_survey_sum *sum, struct osr_diag *diag)
{
	struct osr_survey_in in = { .f = f,
				    .r = r,
				    .sequence = &w->sequence,
				    .hosts = w->file->hosts,
				    .n_hosts = w->sequence.n_ranks,
				    .n_runs = 1,
				    .bandwidth = !t->hsd_only };

	return cli_survey(&t->pool, &in, w->name, sum, diag);
}

static enum osr_status measure(const struct cli_traffic *t, const struct cli_flow *w,
			       const struct osr_fabric *f, const struct osr_routing *r,
			       const char *tables, struct out *out, struct osr_diag *diag)
{
	double start = cli_cpu_ms();
	struct osr_survey_sum sum;
	enum osr_status st = OSR_OK;

	if (w->file && w->file->hosts) {
		st = measure_named(t, w, f, r, &sum, diag);
		if (!st)
			say(t, w, tables, "given", &sum, cli_cpu_ms() - start, out);
		return st;
	}
	for (int random = 0; random <= 1 && !st; random++) {
		if (!(t->ranking & (random ? CLI_RANKING_RANDOM : CLI_RANKING_ORDERED)))
			continue;
		start = cli_cpu_ms();
		st = cli_traffic_sequence(t, f, r, &w->sequence, random, w->name, &sum, diag);
		if (!st)
			say(t, w, tables, random ? "random" : "ordered", &sum, cli_cpu_ms() - start,
			    out);
	}
	return st;
}

enum osr_status cli_traffic_measure(const struct cli_traffic *t, const struct osr_fabric *f,
				    const struct osr_routing *r, const char *tables,
				    struct out *out, struct osr_diag *diag)
{
	enum osr_status st = OSR_OK;

	for (uint32_t i = 0; i < t->n_flows && !st; i++)
		st = measure(t, &t->flow[i], f, r, tables, out, diag);
	return st;
}

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * osr-angara SIDES ALGORITHM [NAME=NUMBER...] - source routes of the Angara interconnect, judged, as JSON.
 * SIDES as in 4x2x2x2; ALGORITHM is bfs, genetic, sssp or all; NAME is unique_first (sssp), seed, population,
 * mutation (per mille of a child's genes) or patience (genetic).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <jansson.h>

#include "srcroutes/srccheck.h"
#include "srcroutes/srcroutes.h"

static const char *const algorithms[] = { "bfs", "genetic", "sssp" };

struct session {
	struct osr_arena scratch, result;
	struct osr_torus torus;
	struct osr_turns turns;
	struct osr_srcroutes routes;
	struct osr_srcroutes_options options;
	struct osr_srcroute *route;
	double prepare_ms; /* turns and choices */
	struct osr_diag diag;
};

static double cpu_ms(void)
{
	return (double)clock() * 1000 / CLOCKS_PER_SEC;
}

static int usage(void)
{
	fputs("usage: osr-angara SIDES bfs|genetic|sssp|all [unique_first=0|1] [seed=N] "
	      "[population=N] [mutation=N] [patience=N]\n",
	      stderr);
	return 2;
}

static bool take_option(struct session *s, const char *word)
{
	unsigned long long n;
	char name[16];

	if (sscanf(word, "%15[a-z_]=%llu", name, &n) != 2)
		return false;
	if (!strcmp(name, "unique_first"))
		s->options.unique_first = n;
	else if (!strcmp(name, "seed"))
		s->options.seed = n;
	else if (!strcmp(name, "population"))
		s->options.population = (uint32_t)n;
	else if (!strcmp(name, "mutation"))
		s->options.mutation_permille = (uint32_t)n;
	else if (!strcmp(name, "patience"))
		s->options.patience = (uint32_t)n;
	else
		return false;
	return true;
}

/* Turns and all shortest legal routes. */
static enum osr_status prepare(struct session *s, const char *sides)
{
	uint32_t size[OSR_TORUS_MAX_DIMS + 1] = { 0 }, n = 0;
	char *end = (char *)sides;
	double start = cpu_ms();
	enum osr_status st;

	do {
		size[n] = (uint32_t)strtoul(end + (n > 0), &end, 10);
		n++;
	} while (*end == 'x' && n <= OSR_TORUS_MAX_DIMS);
	st = *end ? osr_fail(&s->diag, OSR_INVAL, "\"%s\": expected sides as in 4x2x2x2", sides)
		  : osr_torus_init(&s->torus, n, size, &s->result, &s->diag);
	if (!st)
		st = osr_turns_find(&s->torus, &s->scratch, &s->result, &s->turns, &s->diag);
	if (!st)
		st = osr_srcroutes_init(&s->routes, &s->turns, &s->scratch, &s->result, &s->diag);
	if (st)
		return st;
	s->prepare_ms = cpu_ms() - start;
	s->route = osr_alloc(&s->result, s->routes.n_pairs, sizeof(*s->route));
	return osr_arena_failed(&s->result, &s->diag) ? OSR_NOMEM : OSR_OK;
}

/* One algorithm: its routes judged, and what patterns of communication make of them. */
static enum osr_status run(struct session *s, int algorithm, json_t *results, json_t *patterns)
{
	const char *name = algorithms[algorithm];
	struct osr_srcroutes_stats stats;
	struct osr_srcverdict v;
	double start = cpu_ms();
	enum osr_status st =
		osr_srcroutes_route(&s->routes, (enum osr_srcroutes_algorithm)algorithm,
				    &s->options, &s->scratch, s->route, &stats, &s->diag);
	double ms = s->prepare_ms + cpu_ms() - start;

	if (!st)
		st = osr_srccheck(&s->torus, s->route, s->turns.rank, &s->scratch, NULL, &v,
				  &s->diag);
	if (st)
		return st;
	json_array_append_new(results,
			      json_pack("{ss sI sI sf sf sI sI sI sI sI sI sf}", "algorithm", name,
					"max_load", (json_int_t)v.max_load, "min_load",
					(json_int_t)v.min_load, "mean_load", v.mean_load, "sigma4",
					v.sigma4, "max_hops", (json_int_t)v.max_hops, "hops",
					(json_int_t)v.n_hops, "longer", (json_int_t)v.n_longer,
					"extra_steps", (json_int_t)v.n_extra, "sssp_calls",
					(json_int_t)stats.n_sssp_calls, "generations",
					(json_int_t)stats.n_generations, "total_ms", ms));
	for (int p = 0; !st && p < OSR_N_SRCPATTERNS; p++) {
		struct osr_srctraffic traffic;

		st = osr_srctraffic(&s->torus, s->route, (enum osr_srcpattern)p, &s->scratch,
				    &traffic, &s->diag);
		if (!st)
			json_array_append_new(patterns,
					      json_pack("{ss ss sI sI sf}", "algorithm", name,
							"pattern",
							osr_srcpattern_name((enum osr_srcpattern)p),
							"pairs", (json_int_t)traffic.n_pairs,
							"max_load", (json_int_t)traffic.max_load,
							"bandwidth", traffic.bandwidth));
	}
	return st;
}

int main(int argc, char **argv)
{
	struct session s = { .options = { .unique_first = true,
					  .seed = 1,
					  .population = 100,
					  .mutation_permille = 20,
					  .patience = 30 } };
	json_t *results = json_array(), *patterns = json_array(), *all;
	enum osr_status st;
	bool wanted = false;

	if (argc < 3)
		return usage();
	for (int i = 3; i < argc; i++)
		if (!take_option(&s, argv[i]))
			return usage();
	st = prepare(&s, argv[1]);
	for (int i = 0; !st && i < OSR_N_SRCROUTES; i++) {
		if (strcmp(argv[2], algorithms[i]) && strcmp(argv[2], "all"))
			continue;
		wanted = true;
		st = run(&s, i, results, patterns);
	}
	if (st) {
		fprintf(stderr, "osr-angara: %s\n", s.diag.text);
		return 1;
	}
	if (!wanted)
		return usage();
	all = json_pack("{ss sI sI sI sI sI so so}", "dims", argv[1], "torus_nodes",
			(json_int_t)s.torus.n_nodes, "turns_added", (json_int_t)s.turns.n_added,
			"pairs", (json_int_t)(s.routes.n_pairs - s.torus.n_nodes), "pairs_unique",
			(json_int_t)s.routes.n_unique, "choices",
			(json_int_t)s.routes.row[s.routes.n_pairs], "results", results, "patterns",
			patterns);
	json_dumpf(all, stdout, JSON_INDENT(1) | JSON_REAL_PRECISION(6));
	putchar('\n');
	json_decref(all);
	osr_arena_free(&s.scratch);
	osr_arena_free(&s.result);
	return 0;
}

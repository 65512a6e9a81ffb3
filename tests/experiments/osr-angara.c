/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * osr-angara SIDES ALGORITHM [unique_first=0|1] [seed=N] - source routes of the Angara interconnect, judged, as JSON.
 * SIDES as in 4x2x2x2; ALGORITHM is bfs, genetic, sssp or all; unique_first is for sssp, the seed for genetic.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "srcroutes.h"

static double cpu_ms(void)
{
	return (double)clock() * 1000 / CLOCKS_PER_SEC;
}

/* One algorithm: its routes, judged. */
static bool run(struct srcroutes *r, enum srcroutes_algorithm algorithm, const char *name,
		const struct srcroutes_options *options, double prepare_ms)
{
	struct srcroute *route = calloc(r->n_pairs, sizeof(*route));
	struct srcverdict v;
	double start = cpu_ms(), ms;

	srcroutes_route(r, algorithm, options, route);
	ms = prepare_ms + cpu_ms() - start;
	if (!srccheck(&r->t, route, r->rank, &v)) {
		fprintf(stderr, "osr-angara: %s\n", v.why);
		return false;
	}
	printf("{\"algorithm\": \"%s\", \"max_load\": %u, \"min_load\": %u, \"sigma4\": %.6g, "
	       "\"max_hops\": %u, "
	       "\"sssp_calls\": %u, \"generations\": %u, \"total_ms\": %.6g}",
	       name, v.max_load, v.min_load, v.sigma4, v.max_hops, r->n_sssp_calls,
	       r->n_generations, ms);
	free(route);
	return true;
}

int main(int argc, char **argv)
{
	static const char *const algorithms[] = { "bfs", "genetic", "sssp" };
	struct srcroutes_options options = {
		.unique_first = true, .seed = 1, .population = 100, .patience = 30
	};
	uint32_t size[TORUS_MAX_DIMS + 1] = { 0 }, n = 0;
	char *end = argc < 3 ? "" : argv[1];
	double start = cpu_ms();
	struct srcroutes r;
	bool any = false;

	do {
		size[n] = (uint32_t)strtoul(end + (n > 0), &end, 10);
		n++;
	} while (*end == 'x' && n <= TORUS_MAX_DIMS);
	if (*end || !srcroutes_init(&r, n, size)) {
		fputs("osr-angara: expected sides of 2 to 255, as in 4x2x2x2, of at most 8,192 "
		      "nodes\n",
		      stderr);
		return 2;
	}
	start = cpu_ms() - start;
	for (int i = 3; i < argc; i++) {
		if (!strncmp(argv[i], "seed=", 5))
			options.seed = strtoull(argv[i] + 5, NULL, 10);
		else if (!strcmp(argv[i], "unique_first=0"))
			options.unique_first = false;
	}
	printf("{\"torus_nodes\": %u, \"turns_added\": %u, \"pairs\": %u, \"pairs_unique\": %u, "
	       "\"results\": [",
	       r.t.n_nodes, r.n_added, r.n_pairs - r.t.n_nodes, r.n_unique);
	for (int i = 0; i < N_SRCROUTES; i++) {
		if (strcmp(argv[2], algorithms[i]) && strcmp(argv[2], "all"))
			continue;
		printf(any ? ", " : "");
		any = true;
		if (!run(&r, (enum srcroutes_algorithm)i, algorithms[i], &options, start))
			return 1;
	}
	puts("]}");
	srcroutes_free(&r);
	return any ? 0 : 2;
}

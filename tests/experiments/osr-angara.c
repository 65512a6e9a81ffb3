/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * osr-angara SIDES - source routes of the Angara interconnect by each algorithm, judged, as JSON.
 * SIDES as in 4x2x2x2; sssp_all: all pairs, without "unique routes" first.
 */
#include <stdio.h>
#include <stdlib.h>

#include <osmroutes/clock.h>

#include "srcroutes.h"

int main(int argc, char **argv)
{
	static const char *const names[] = { "bfs", "sssp", "sssp_all" };
	uint32_t size[TORUS_MAX_DIMS + 1] = { 0 }, n = 0;
	char *end = argc == 2 ? argv[1] : "";
	double start = osr_clock_ms(CLOCK_PROCESS_CPUTIME_ID), prepared;
	struct srcroute *route;
	struct srcroutes srcroutes;

	do {
		size[n] = (uint32_t)strtoul(end + (n > 0), &end, 10);
		n++;
	} while (*end == 'x' && n <= TORUS_MAX_DIMS);
	if (*end || !srcroutes_init(&srcroutes, n, size)) {
		fputs("osr-angara: expected sides of 2 to 255, as in 4x2x2x2, of at most 4,096 "
		      "nodes\n",
		      stderr);
		return 2;
	}
	prepared = osr_clock_ms(CLOCK_PROCESS_CPUTIME_ID) - start;
	printf("{\"torus_nodes\": %u, \"turns_added\": %u, \"pairs\": %u, \"pairs_unique\": %u",
	       srcroutes.torus.n_nodes, srcroutes.n_added,
	       srcroutes.n_pairs - srcroutes.torus.n_nodes, srcroutes.n_unique);
	route = calloc(srcroutes.n_pairs, sizeof(*route));
	for (int i = 0; i < N_SRCROUTES; i++) {
		struct srcverdict verdict;

		start = osr_clock_ms(CLOCK_PROCESS_CPUTIME_ID);
		srcroutes_route(&srcroutes, (enum srcroutes_algorithm)i, route);
		start = osr_clock_ms(CLOCK_PROCESS_CPUTIME_ID) - start;
		if (!srccheck(&srcroutes.torus, route, srcroutes.rank, &verdict)) {
			fprintf(stderr, "osr-angara: %s\n", verdict.why);
			return 1;
		}
		printf(", \"%s\": {\"max_load\": %u, \"min_load\": %u, \"sigma4\": %.6g, "
		       "\"max_hops\": %u, \"sssp_calls\": %u, \"total_ms\": %.6g}",
		       names[i], verdict.max_load, verdict.min_load, verdict.sigma4,
		       verdict.max_hops, srcroutes.n_sssp_calls, prepared + start);
	}
	puts("}");
	free(route);
	srcroutes_free(&srcroutes);
	return 0;
}

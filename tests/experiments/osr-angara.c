/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * osr-angara SIDES - source routes of the Angara interconnect by each algorithm, judged, as JSON. SIDES as in 4x2x2x2;
 * sssp_all: all pairs, without "unique routes" first.
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
	struct srcroutes r;

	do {
		size[n] = (uint32_t)strtoul(end + (n > 0), &end, 10);
		n++;
	} while (*end == 'x' && n <= TORUS_MAX_DIMS);
	if (*end || !srcroutes_init(&r, n, size)) {
		fputs("osr-angara: expected sides of 2 to 255, as in 4x2x2x2, of at most 4,096 "
		      "nodes\n",
		      stderr);
		return 2;
	}
	prepared = osr_clock_ms(CLOCK_PROCESS_CPUTIME_ID) - start;
	printf("{\"torus_nodes\": %u, \"turns_added\": %u, \"pairs\": %u, \"pairs_unique\": %u",
	       r.t.n_nodes, r.n_added, r.n_pairs - r.t.n_nodes, r.n_unique);
	route = calloc(r.n_pairs, sizeof(*route));
	for (int i = 0; i < N_SRCROUTES; i++) {
		struct srcverdict v;

		start = osr_clock_ms(CLOCK_PROCESS_CPUTIME_ID);
		srcroutes_route(&r, (enum srcroutes_algorithm)i, route);
		start = osr_clock_ms(CLOCK_PROCESS_CPUTIME_ID) - start;
		if (!srccheck(&r.t, route, r.rank, &v)) {
			fprintf(stderr, "osr-angara: %s\n", v.why);
			return 1;
		}
		printf(", \"%s\": {\"max_load\": %u, \"min_load\": %u, \"sigma4\": %.6g, "
		       "\"max_hops\": %u, "
		       "\"sssp_calls\": %u, \"total_ms\": %.6g}",
		       names[i], v.max_load, v.min_load, v.sigma4, v.max_hops, r.n_sssp_calls,
		       prepared + start);
	}
	puts("}");
	free(route);
	srcroutes_free(&r);
	return 0;
}

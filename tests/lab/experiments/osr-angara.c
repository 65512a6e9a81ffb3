/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * osr-angara SIDES [ALGORITHM] - source routes of the Angara interconnect by each algorithm, judged,
 * as JSON. SIDES as in 4x2x2x2; sssp_all: all pairs, without "unique routes" first. With an
 * ALGORITHM instead its routes, a line each: "0,0 -> 1,2: +Y first +X +Y".
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <osmroutes/clock.h>

#include "srcroutes.h"

static const char *const names[] = { "bfs", "sssp", "sssp_all" };

static void print_node(const struct torus *torus, uint32_t node, const char *behind)
{
	for (uint32_t i = 0; i < torus->n_dims; i++)
		printf("%u%s", node / torus->stride[i] % torus->size[i],
		       i + 1 < torus->n_dims ? "," : behind);
}

/* What is written into the packets of each pair: first step, direction bits, last step. */
static void print_routes(const struct torus *torus, const struct srcroute *route)
{
	static const char axes[] = "XYZKAB";
	uint32_t n = torus->n_nodes;

	for (uint32_t p = 0; p < n * n; p++) {
		if (p / n == p % n)
			continue;
		print_node(torus, p / n, " -> ");
		print_node(torus, p % n, ":");
		if (route[p].first != NO_DIR)
			printf(" +%c first", axes[route[p].first]);
		for (uint32_t dir = 0; dir < torus->n_dirs; dir++)
			if ((dir < torus->n_dims ? route[p].plus : route[p].minus) >>
				    dir % torus->n_dims &
			    1)
				printf(" %c%c", dir < torus->n_dims ? '+' : '-',
				       axes[dir % torus->n_dims]);
		if (route[p].last != NO_DIR)
			printf(" -%c last", axes[route[p].last - torus->n_dims]);
		puts("");
	}
}

int main(int argc, char **argv)
{
	uint32_t size[TORUS_MAX_DIMS + 1] = { 0 }, n = 0;
	char *end = argc == 2 || argc == 3 ? argv[1] : "";
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
	route = calloc(srcroutes.n_pairs, sizeof(*route));
	for (int i = 0; argc == 3 && i < N_SRCROUTES; i++) {
		if (strcmp(argv[2], names[i]) != 0)
			continue;
		srcroutes_route(&srcroutes, (enum srcroutes_algorithm)i, route);
		print_routes(&srcroutes.torus, route);
		return 0;
	}
	if (argc == 3) {
		fputs("osr-angara: algorithms are bfs, sssp and sssp_all\n", stderr);
		return 2;
	}
	prepared = osr_clock_ms(CLOCK_PROCESS_CPUTIME_ID) - start;
	printf("{\"torus_nodes\": %u, \"turns_added\": %u, \"pairs\": %u, \"pairs_unique\": %u",
	       srcroutes.torus.n_nodes, srcroutes.n_added,
	       srcroutes.n_pairs - srcroutes.torus.n_nodes, srcroutes.n_unique);
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

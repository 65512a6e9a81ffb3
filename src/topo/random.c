/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Random connected fabrics: first a random tree over all switches, then cables between random
 * pairs. A pair that may not have (another) cable is drawn again; when luck has run out, the pairs
 * that are still possible are searched one after the other from a random start. If no pair is left
 * but two ports are free, a cable elsewhere is broken up and its ends led to these ports, as
 * Jellyfish (Singla et al., NSDI 2012) does; so regular graphs can be drawn.
 */
#include "topo/helper.h"

#include <stdlib.h>

#include <osmroutes/invariant.h>
#include <osmroutes/prng.h>

#define TRIES 1000

enum { R_SWITCHES, R_LINKS, R_HOSTS, R_SEED, R_DEGREE, R_PARALLEL };

static const struct osr_param params[] = {
	[R_SWITCHES] = { "switches", OSR_PARAM_UINT, "16", 1, 16000, NULL, "number of switches" },
	[R_LINKS] = { "links", OSR_PARAM_UINT, "32", 0, 1000000, NULL,
		      "cables between switches, at least switches - 1" },
	[R_HOSTS] = { "hosts", OSR_PARAM_UINT, "1", 0, 253, NULL, "hosts per switch" },
	[R_SEED] = { "seed", OSR_PARAM_UINT, "1", 0, UINT64_MAX, NULL,
		     "start of the random numbers" },
	[R_DEGREE] = { "degree", OSR_PARAM_UINT, "0", 0, 254, NULL,
		       "most cables to other switches; 0: as the ports allow" },
	[R_PARALLEL] = { "parallel", OSR_PARAM_BOOL, "no", 0, 0, NULL,
			 "allow several cables between two switches" },
	{ 0 },
};

struct graph {
	uint32_t n, n_links, max_degree;
	bool parallel;
	struct osr_prng prng;
	uint32_t n_cables;
	uint32_t *ends;   /* [2 * n_links] switches of each cable */
	uint32_t *degree; /* [n] */
	uint32_t *order;  /* [n] the switches, shuffled */
	uint8_t *linked;  /* [n * n / 8 + 1] bit map; only without parallel cables */
};

static bool is_linked(const struct graph *graph, uint32_t a, uint32_t b)
{
	size_t bit = (size_t)a * graph->n + b;

	return graph->linked[bit / 8] >> bit % 8 & 1;
}

static void flip_linked(struct graph *graph, uint32_t a, uint32_t b)
{
	size_t bit = (size_t)a * graph->n + b;

	osr_invariant(a != b && !graph->parallel);
	graph->linked[bit / 8] ^= 1 << bit % 8;
}

/* Both have a free port, and the graph stays simple unless parallel cables are welcome. */
static bool may_link(const struct graph *graph, uint32_t a, uint32_t b)
{
	return a != b && graph->degree[a] < graph->max_degree &&
	       graph->degree[b] < graph->max_degree && (graph->parallel || !is_linked(graph, a, b));
}

static void link_pair(struct graph *graph, uint32_t a, uint32_t b)
{
	osr_invariant(may_link(graph, a, b) && graph->n_cables < graph->n_links);
	graph->ends[2 * graph->n_cables] = a;
	graph->ends[2 * graph->n_cables + 1] = b;
	graph->n_cables++;
	graph->degree[a]++;
	graph->degree[b]++;
	if (!graph->parallel) {
		flip_linked(graph, a, b);
		flip_linked(graph, b, a);
	}
}

/*
 * Most cables are drawn at the first try while the graph is sparse; of dense ones every pair once,
 * from a random start.
 */
static bool add_drawn(struct graph *graph)
{
	uint32_t start;

	for (uint32_t i = 0; i < TRIES; i++) {
		uint32_t a = osr_prng_below(&graph->prng, graph->n),
			 b = osr_prng_below(&graph->prng, graph->n);

		if (may_link(graph, a, b)) {
			link_pair(graph, a, b);
			return true;
		}
	}
	start = osr_prng_below(&graph->prng, graph->n);
	for (uint32_t i = 0; i < graph->n; i++) {
		uint32_t a = (start + i) % graph->n;

		if (graph->degree[a] >= graph->max_degree)
			continue;
		for (uint32_t b = 0; b < graph->n; b++) {
			if (may_link(graph, a, b)) {
				link_pair(graph, a, b);
				return true;
			}
		}
	}
	return false;
}

/*
 * a and b are the same or linked, so they stay in one piece when the cable c - d goes, and c - a
 * and b - d tie the other piece, if there is one, to it again.
 */
static bool add_by_breaking(struct graph *graph)
{
	uint32_t a = 0, b, start;

	/* Two free ports, of one switch or of two that are linked already. */
	while (a < graph->n && graph->degree[a] >= graph->max_degree)
		a++;
	b = a;
	if (a < graph->n && graph->degree[a] + 1 >= graph->max_degree)
		b++;
	while (b < graph->n && graph->degree[b] >= graph->max_degree)
		b++;
	if (graph->n_cables == 0 || b >= graph->n)
		return false;
	start = osr_prng_below(&graph->prng, graph->n_cables);
	for (uint32_t i = 0; i < graph->n_cables; i++) {
		uint32_t at = (start + i) % graph->n_cables;
		uint32_t c = graph->ends[2 * at], d = graph->ends[2 * at + 1];

		if (c == a || c == b || d == a || d == b || is_linked(graph, a, c) ||
		    is_linked(graph, b, d))
			continue;
		osr_invariant(is_linked(graph, c, d) && graph->degree[c] && graph->degree[d]);
		flip_linked(graph, c, d);
		flip_linked(graph, d, c);
		graph->n_cables--;
		graph->ends[2 * at] = graph->ends[2 * graph->n_cables];
		graph->ends[2 * at + 1] = graph->ends[2 * graph->n_cables + 1];
		graph->degree[c]--;
		graph->degree[d]--;
		link_pair(graph, a, c);
		link_pair(graph, b, d);
		return true;
	}
	return false;
}

/* Links each switch, in random order, to one before it; false: none of them has a free port. */
static bool add_tree(struct graph *graph)
{
	const uint32_t *order = graph->order;

	for (uint32_t i = 0; i < graph->n; i++)
		graph->order[i] = i;
	osr_prng_shuffle(&graph->prng, graph->order, graph->n);
	for (uint32_t i = 1; i < graph->n; i++) {
		uint32_t start = osr_prng_below(&graph->prng, i), k = 0;

		while (k < i && !may_link(graph, order[(start + k) % i], order[i]))
			k++;
		if (k == i)
			return false;
		link_pair(graph, order[(start + k) % i], order[i]);
	}
	return true;
}

static enum osr_status random_make(const struct osr_topo_job *job)
{
	/*
	 * Ports of a switch for other switches: the rest beside hosts, at most as many as asked
	 * for.
	 */
	uint32_t ports = job->style->ports ? job->style->ports : OSR_NET_MAX_NODE_PORTS;
	uint32_t hosts = job->num[R_HOSTS], taken = hosts + job->style->mgmt;
	uint32_t left = ports > taken ? ports - taken : 0;
	uint32_t asked = job->num[R_DEGREE];
	struct graph graph = { .n = job->num[R_SWITCHES],
			       .n_links = job->num[R_LINKS],
			       .max_degree = asked && asked < left ? asked : left,
			       .parallel = job->num[R_PARALLEL],
			       .prng.state = job->num[R_SEED] };
	uint32_t most = 0, n_ports = 0;
	enum osr_status st = OSR_OK;
	char name[32];
	bool ok;

	if (graph.n_links + 1 < graph.n)
		return osr_fail(job->diag, OSR_INVAL,
				"%u switches need at least %u links to be connected", graph.n,
				graph.n - 1);
	graph.ends = calloc(2 * (size_t)graph.n_links + 1, sizeof(*graph.ends));
	graph.degree = calloc(graph.n, sizeof(*graph.degree));
	graph.order = calloc(graph.n, sizeof(*graph.order));
	graph.linked = calloc(graph.parallel ? 1 : (size_t)graph.n * graph.n / 8 + 1, 1);
	if (!graph.ends || !graph.degree || !graph.order || !graph.linked)
		st = osr_fail(job->diag, OSR_NOMEM, "out of memory for %u switches", graph.n);
	ok = !st && add_tree(&graph);
	while (ok && graph.n_cables < graph.n_links)
		ok = add_drawn(&graph) || (!graph.parallel && add_by_breaking(&graph));
	if (!st && !ok)
		st = osr_fail(job->diag, OSR_INVAL,
			      "only %u of %u cables fit between %u switches with at most %u each",
			      graph.n_cables, graph.n_links, graph.n, graph.max_degree);
	/* Switches get their cables in the order in which these were drawn, behind their hosts. */
	for (uint32_t s = 0; !st && s < graph.n; s++) {
		most = graph.degree[s] > most ? graph.degree[s] : most;
		graph.degree[s] = 0;
	}
	if (!st)
		st = osr_switch_ports(job, (uint64_t)hosts + most, &n_ports);
	for (uint32_t s = 0; !st && s < graph.n; s++) {
		osr_topo_name(name, sizeof(name), "s", s, graph.n);
		osr_switch(job, n_ports, name);
	}
	for (uint32_t c = 0; !st && c < graph.n_cables; c++) {
		uint32_t a = graph.ends[2 * c], b = graph.ends[2 * c + 1];

		osr_cable(job, a, hosts + ++graph.degree[a], b, hosts + ++graph.degree[b]);
	}
	if (!st)
		st = osr_net_status(job->net, job->diag);
	if (!st)
		st = osr_hosts(job, graph.n, hosts);
	free(graph.ends);
	free(graph.degree);
	free(graph.order);
	free(graph.linked);
	return st;
}

const struct osr_topo osr_topo_random = {
	.name = "random",
	.summary = "random connected fabric",
	.params = params,
	.make = random_make,
};

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Random connected fabrics: first a random tree over all switches, then cables between random
 * pairs. A pair that may not have (another) cable is drawn again; when luck has run out, the pairs
 * that are still possible are searched one after the other from a random start. If there are none
 * but two ports are free, a cable elsewhere is broken up and its ends led to these ports, as
 * Jellyfish (Singla et al., NSDI 2012) does; so regular graphs can be drawn.
 */
#include "topo/helper.h"

#include <stdlib.h>

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

static bool is_linked(const struct graph *g, uint32_t a, uint32_t b)
{
	size_t bit = (size_t)a * g->n + b;

	return g->linked[bit / 8] >> bit % 8 & 1;
}

static void flip_linked(struct graph *g, uint32_t a, uint32_t b)
{
	size_t bit = (size_t)a * g->n + b;

	g->linked[bit / 8] ^= (uint8_t)(1 << bit % 8);
}

/* Both have a free port, and the graph stays simple unless parallel cables are welcome. */
static bool may_link(const struct graph *g, uint32_t a, uint32_t b)
{
	return a != b && g->degree[a] < g->max_degree && g->degree[b] < g->max_degree &&
	       (g->parallel || !is_linked(g, a, b));
}

static void link_pair(struct graph *g, uint32_t a, uint32_t b)
{
	g->ends[2 * g->n_cables] = a;
	g->ends[2 * g->n_cables + 1] = b;
	g->n_cables++;
	g->degree[a]++;
	g->degree[b]++;
	if (!g->parallel) {
		flip_linked(g, a, b);
		flip_linked(g, b, a);
	}
}

/* Most cables are drawn at the first try while the graph is sparse; of dense ones every pair once, from a random start. */
static bool add_drawn(struct graph *g)
{
	uint32_t start;

	for (uint32_t i = 0; i < TRIES; i++) {
		uint32_t a = osr_prng_below(&g->prng, g->n), b = osr_prng_below(&g->prng, g->n);

		if (may_link(g, a, b)) {
			link_pair(g, a, b);
			return true;
		}
	}
	start = osr_prng_below(&g->prng, g->n);
	for (uint32_t i = 0; i < g->n; i++) {
		uint32_t a = (start + i) % g->n;

		for (uint32_t b = 0; b < g->n && g->degree[a] < g->max_degree; b++) {
			if (may_link(g, a, b)) {
				link_pair(g, a, b);
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
static bool add_by_breaking(struct graph *g)
{
	uint32_t a = 0, b = 0, n_free = 0, start;

	/* Two free ports, of one switch or of two that are linked already. */
	for (uint32_t s = 0; s < g->n; s++)
		for (uint32_t d = g->degree[s]; d < g->max_degree && n_free < 2; d++)
			*(n_free++ ? &b : &a) = s;
	if (g->n_cables == 0 || n_free < 2)
		return false;
	start = osr_prng_below(&g->prng, g->n_cables);
	for (uint32_t i = 0; i < g->n_cables; i++) {
		uint32_t at = (start + i) % g->n_cables;
		uint32_t c = g->ends[2 * at], d = g->ends[2 * at + 1];

		if (c == a || c == b || d == a || d == b || is_linked(g, a, c) ||
		    is_linked(g, b, d))
			continue;
		flip_linked(g, c, d);
		flip_linked(g, d, c);
		g->n_cables--;
		g->ends[2 * at] = g->ends[2 * g->n_cables];
		g->ends[2 * at + 1] = g->ends[2 * g->n_cables + 1];
		g->degree[c]--;
		g->degree[d]--;
		link_pair(g, a, c);
		link_pair(g, b, d);
		return true;
	}
	return false;
}

static enum osr_status random_make(const struct osr_topo_job *job)
{
	/* What the ports of a switch leave for other switches, and no more than was asked for. */
	uint32_t ports = job->style->ports ? job->style->ports : OSR_NET_MAX_NODE_PORTS;
	uint32_t hosts = (uint32_t)job->num[R_HOSTS], taken = hosts + job->style->mgmt;
	uint32_t left = ports > taken ? ports - taken : 0;
	uint32_t asked = (uint32_t)job->num[R_DEGREE];
	struct graph g = { .n = (uint32_t)job->num[R_SWITCHES],
			   .n_links = (uint32_t)job->num[R_LINKS],
			   .max_degree = asked && asked < left ? asked : left,
			   .parallel = job->num[R_PARALLEL],
			   .prng.state = job->num[R_SEED] };
	uint32_t most = 0, n_ports = 0;
	enum osr_status st = OSR_OK;
	char name[32];
	bool ok;

	if (g.n_links + 1 < g.n)
		return osr_fail(job->diag, OSR_INVAL,
				"%u switches need at least %u links to be connected", g.n, g.n - 1);
	g.ends = calloc(2 * (size_t)g.n_links + 1, sizeof(*g.ends));
	g.degree = calloc(g.n, sizeof(*g.degree));
	g.order = calloc(g.n, sizeof(*g.order));
	g.linked = calloc(g.parallel ? 1 : (size_t)g.n * g.n / 8 + 1, 1);
	if (!g.ends || !g.degree || !g.order || !g.linked)
		st = osr_fail(job->diag, OSR_NOMEM, "out of memory for %u switches", g.n);
	/* Each switch, in random order, hangs on one of those before it. */
	ok = !st;
	for (uint32_t i = 0; ok && i < g.n; i++)
		g.order[i] = i;
	if (ok)
		osr_prng_shuffle(&g.prng, g.order, g.n);
	for (uint32_t i = 1; ok && i < g.n; i++) {
		uint32_t start = osr_prng_below(&g.prng, i), k = 0;

		while (k < i && !may_link(&g, g.order[(start + k) % i], g.order[i]))
			k++;
		ok = k < i;
		if (ok)
			link_pair(&g, g.order[(start + k) % i], g.order[i]);
	}
	while (ok && g.n_cables < g.n_links)
		ok = add_drawn(&g) || (!g.parallel && add_by_breaking(&g));
	if (!st && !ok)
		st = osr_fail(job->diag, OSR_INVAL,
			      "only %u of %u cables fit between %u switches with at most %u each",
			      g.n_cables, g.n_links, g.n, g.max_degree);
	/* Switches get their cables in the order in which these were drawn, behind their hosts. */
	for (uint32_t s = 0; !st && s < g.n; s++) {
		most = g.degree[s] > most ? g.degree[s] : most;
		g.degree[s] = 0;
	}
	if (!st)
		st = osr__switch_ports(job, (uint64_t)hosts + most, &n_ports);
	for (uint32_t s = 0; !st && s < g.n; s++) {
		osr__name(name, sizeof(name), "s", s, g.n);
		osr__switch(job, n_ports, name);
	}
	for (uint32_t c = 0; !st && c < g.n_cables; c++) {
		uint32_t a = g.ends[2 * c], b = g.ends[2 * c + 1];

		osr__cable(job, a, hosts + ++g.degree[a], b, hosts + ++g.degree[b]);
	}
	if (!st)
		st = osr_net_status(job->net, job->diag);
	if (!st)
		st = osr__hosts(job, g.n, hosts);
	free(g.ends);
	free(g.degree);
	free(g.order);
	free(g.linked);
	return st;
}

const struct osr_topo osr__topo_random = {
	.name = "random",
	.summary = "random connected fabric",
	.params = params,
	.make = random_make,
};

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Bandwidth of a sequence of permutations on a routed fabric, by the flow-level simulator (figure 2
 * of the D-Mod-K paper):
 *
 *	osr-flow NET ENGINE HOSTS SEED TRAFFIC STAGES IN_FLIGHT HOST_MBPS LINK_MBPS
 *
 * HOSTS is a file of host names, rank 0 first; SEED 0 keeps that order, any other shuffles it.
 * STAGES: only the first so many, 0 for all. Every rank sends one message of the same size in each
 * stage that it takes part in. IN_FLIGHT 0: a barrier ends each stage. Otherwise ranks do not wait
 * for each other, and each has up to IN_FLIGHT messages of consecutive stages under way at once: it
 * stands for networks whose buffers hold so many messages of a host.
 *
 * Prints the part of the hosts' bandwidth that is reached (the time if every message had its host's
 * link for itself, over the time it takes), the most messages on one link at once, and the stages.
 */
#include "simulator/flow.h"
#include "io/trafficfile.h"
#include <osmroutes/prng.h>
#include <osmroutes/sweep.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/net.h"
#include "io/netfile.h"

#define MESSAGE 1e6 /* bytes; in this model the size cancels out */

struct lab {
	struct osr_arena arena, scratch;
	struct osr_net net;
	struct osr_fabric f;
	struct osr_routing r;
	struct osr_flow_net links;
	struct osr_diag diag;
	uint32_t *host, n_hosts; /* [n_hosts] terminals by rank */
	uint32_t *to;            /* [n_stages * n_hosts] rank, OSR_NONE: takes no part */
	uint32_t n_stages, in_flight;
	struct osr_flow_message *message; /* [n_hosts] all alike */
	uint32_t *sender;                 /* [n_hosts] of message i in a stage with a barrier */
};

static void die(const struct lab *x, const char *what)
{
	fprintf(stderr, "osr-flow: %s: %s\n", what, x->diag.text);
	exit(1);
}

static void *need(void *p)
{
	if (!p)
		abort();
	return p;
}

static void route(struct lab *x, const char *path, const char *engine)
{
	const struct osr_engine *e = osr_engine_find(engine);
	const struct osr_param none[] = { { NULL } };
	struct osr_values v;
	const struct osr_job job = { .engine = e,
				     .values = &v,
				     .request = { .max_vls = 8 },
				     .scratch = &x->scratch,
				     .arena = &x->arena,
				     .diag = &x->diag };
	struct osr_result now;
	struct osr_sweep sweep;
	struct osr_lines in;

	if (!e)
		die(x, engine);
	osr_values_default(&v, e->params ? e->params : none);
	if (osr_fabricfile_read(osr_lines_open(&in, path, &x->diag), &x->net) ||
	    osr_net_fabric(&x->net, -1, &x->arena, &x->f, &x->diag))
		die(x, path);
	now.fabric = x->f;
	if (osr_sweep(&job, &now, &sweep))
		die(x, path);
	x->r = now.routing;
	osr_arena_free(&x->scratch);
}

static uint32_t find_host(const struct lab *x, const char *name)
{
	for (uint32_t t = 0; t < x->f.n_terminals; t++)
		if (x->f.term_role[t] == OSR_ROLE_CA &&
		    !strcmp(x->f.names + x->f.term_name[t], name))
			return t;
	die(x, name);
	return OSR_NONE;
}

static void read_hosts(struct lab *x, const char *path, uint64_t seed)
{
	struct osr_prng prng = { .state = seed };
	FILE *file = fopen(path, "r");
	char line[256];

	if (!file)
		die(x, path);
	x->host = need(osr_alloc(&x->arena, x->f.n_terminals, sizeof(*x->host)));
	while (fgets(line, sizeof(line), file)) {
		line[strcspn(line, "\n")] = 0;
		if (x->n_hosts < x->f.n_terminals)
			x->host[x->n_hosts++] = find_host(x, line);
	}
	fclose(file);
	if (seed)
		osr_prng_shuffle(&prng, x->host, x->n_hosts);
}

static void read_stages(struct lab *x, const char *path, uint32_t most)
{
	struct osr_traffic traffic = { .hosts = NULL };
	const struct osr_phases *q = &traffic.phases;
	struct osr_lines in;

	if (osr_traffic_read(osr_lines_open(&in, path, &x->diag), NULL, &traffic))
		die(x, path);
	x->n_stages = most && most < q->n_phases ? most : q->n_phases;
	x->to = need(osr_alloc(&x->arena, (size_t)x->n_stages * x->n_hosts, sizeof(*x->to)));
	memset(x->to, 0xff, (size_t)x->n_stages * x->n_hosts * sizeof(*x->to));
	for (uint32_t k = 0; k < x->n_stages; k++)
		for (uint32_t i = q->row[k]; i < q->row[k + 1]; i++)
			x->to[(size_t)k * x->n_hosts + q->pair[i].from] = q->pair[i].to;
	osr_traffic_free(&traffic);
}

/* With a barrier, one application; otherwise one for each message that a rank may have under way. */
static bool phase(void *ctx, uint32_t app, uint32_t step, double now, struct osr_flow_phase *p)
{
	struct lab *x = ctx;
	uint32_t stage = x->in_flight ? step * x->in_flight + app % x->in_flight : step;
	const uint32_t *to = x->to + (size_t)stage * x->n_hosts;

	if (stage >= x->n_stages)
		return false;
	p->message = x->message;
	if (x->in_flight) {
		p->n_messages = to[app / x->in_flight] != OSR_NONE;
		return true;
	}
	for (uint32_t i = 0; i < x->n_hosts; i++)
		if (to[i] != OSR_NONE)
			x->sender[p->n_messages++] = i;
	return true;
}

static uint32_t path(void *ctx, uint32_t app, uint32_t step, uint32_t message, double now,
		     uint32_t *links)
{
	const struct lab *x = ctx;
	uint32_t stage = x->in_flight ? step * x->in_flight + app % x->in_flight : step;
	uint32_t rank = x->in_flight ? app / x->in_flight : x->sender[message];
	uint32_t from = x->host[rank], to = x->host[x->to[(size_t)stage * x->n_hosts + rank]];

	return osr_flow_links(&x->f, &x->r, from, x->f.lid_dest[x->f.term_lid[to]], links);
}

static double run(struct lab *x, double host_rate, double link_rate, struct osr_flow_stats *stats)
{
	static const struct osr_flow_ops ops = { .phase = phase, .path = path };
	struct osr_flow_limits limits = { .n_apps = 1, .max_messages = x->n_hosts };

	if (x->in_flight)
		limits = (struct osr_flow_limits){ .n_apps = x->n_hosts * x->in_flight,
						   .max_messages = 1 };
	limits.max_hops = x->f.n_switches + 1 < 32 ? x->f.n_switches + 1 : 32;
	x->links = osr_flow_fabric(&x->f, 1, &x->arena);
	/* Switches are alike, and so are hosts, whatever the file says of rates. */
	for (uint32_t l = 0; l < x->links.n_links; l++)
		((double *)x->links.capacity)[l] = l < x->f.n_channels ? link_rate : host_rate;
	x->message = need(osr_alloc(&x->arena, x->n_hosts, sizeof(*x->message)));
	x->sender = need(osr_alloc(&x->arena, x->n_hosts, sizeof(*x->sender)));
	for (uint32_t i = 0; i < x->n_hosts; i++)
		x->message[i] = (struct osr_flow_message){ .bytes = MESSAGE };
	*stats = osr_flow_run(&x->links, &ops, x, &limits);
	return x->n_stages * MESSAGE / host_rate / stats->end;
}

int main(int argc, char **argv)
{
	struct osr_flow_stats stats;
	struct lab x = { 0 };
	double reached;

	if (argc != 10) {
		fputs("osr-flow NET ENGINE HOSTS SEED TRAFFIC STAGES IN_FLIGHT HOST_MBPS "
		      "LINK_MBPS\n",
		      stderr);
		return 2;
	}
	route(&x, argv[1], argv[2]);
	read_hosts(&x, argv[3], strtoull(argv[4], NULL, 0));
	read_stages(&x, argv[5], (uint32_t)atoi(argv[6]));
	x.in_flight = (uint32_t)atoi(argv[7]);
	reached = run(&x, atof(argv[8]) * 1e6, atof(argv[9]) * 1e6, &stats);
	printf("%.6f %u %u\n", reached, stats.max_sharing, x.n_stages);
	osr_net_free(&x.net);
	osr_arena_free(&x.scratch);
	osr_arena_free(&x.arena);
	return 0;
}

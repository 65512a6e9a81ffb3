/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Traffic on routed fabrics by the flow-level simulator, one experiment a run. The evaluation of routing keys (Samuel,
 * Zahavi, Keslassy, Routing Keys, section IV):
 *
 *	osr-flow load SIDE SEED
 *		figure 4: a folded Clos of SIDE^2 hosts, 60 % of them send in applications of 10 flows
 *		on average; the most flows on one link
 *	osr-flow time SIDE APPS PERCENT SEED ROUTING KB [PHASES [REQUEST_US LATENCY_US]]
 *		figures 6 to 9: XGFT(3; SIDE,SIDE,SIDE; 1,SIDE,SIDE), hosts dealt out at random, phases of
 *		a 3D stencil with a barrier each, by the flow-level simulator; KB 0 draws 4 KB to 256 KB.
 *		REQUEST_US: between the end of a calculation and its messages, where there are keys;
 *		LATENCY_US: of every message, on whatever routing
 *		ROUTING: mesh dmodk sssp random conga ark nrk
 *
 *		Prints the longest communication time of an application, the end, the most messages on one link at a time.
 *
 * Bandwidth of a sequence of permutations (figure 2 of the D-Mod-K paper):
 *
 *	osr-flow stages NET ENGINE HOSTS SEED TRAFFIC STAGES IN_FLIGHT HOST_MBPS LINK_MBPS
 *		HOSTS is a file of host names, rank 0 first; SEED 0 keeps that order, any other shuffles it. STAGES: only
 *		the first so many, 0 for all. Every rank sends one message of the same size in each stage that it takes
 *		part in. IN_FLIGHT 0: a barrier ends each stage. Otherwise ranks do not wait for each other, and each has
 *		up to IN_FLIGHT messages of consecutive stages under way at once: it stands for networks whose buffers hold
 *		so many messages of a host.
 *		Prints the part of the hosts' bandwidth that is reached (the time if every message had its host's link for
 *		itself, over the time it takes), the most messages on one link at once, and the stages.
 *
 * All random numbers come from the seed.
 */
#include "simulator/flow.h"
#include "io/endports.h"
#include "io/netfile.h"
#include "io/trafficfile.h"
#include "keys/keys.h"
#include <osmroutes/prng.h>
#include <osmroutes/sweep.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "topo/topo.h"
#include "unit/sweeps.h"

#define MESSAGE 1e6 /* bytes of a stage; in this model the size cancels out */
#define GBPS 40
#define MAX_HOPS 8
#define TAU 160e-6         /* Conga: time constant of the discounting rate estimator */
#define FLOWLET_GAP 500e-6 /* Conga: a longer pause begins a flowlet */
#define AGE 10e-3          /* Conga: congestion of a remote link is forgotten after this */

enum routing { MESH, DMODK, SSSP, RANDOM, CONGA, ARK, NRK, N_ROUTINGS };
static const char *const routing_names[] = { "mesh",  "dmodk", "sssp", "random",
					     "conga", "ark",   "nrk" };

struct app {
	uint32_t n_ranks, side[3], *term; /* [n_ranks] */
	uint8_t order[6];                 /* directions */
	double calc, bytes, total;        /* of the present phase; all communication so far */
	struct osr_flow_message *message;
	struct osr_pair *pair; /* [n_pairs] of the present phase */
	uint32_t n_pairs;
	struct osr_prng prng; /* of its sizes and times, the same for every routing */
	uint64_t spread;      /* ARK: of its classes over the planes */
	bool active;
};

struct lab {
	struct osr_arena arena, scratch, keys;
	struct osr_fabric f;
	struct osr_pgft p;
	struct osr_routing base;
	struct osr_flow_net net;
	struct osr_diag diag;
	struct osr_prng prng;
	uint32_t *host, n_hosts;
	uint8_t *port;  /* [n_terminals * n_switches] entries of keys */
	uint32_t *load; /* [n_channels] flows of active keys */
	enum routing routing;
	struct app *app;
	uint32_t n_apps, n_phases;
	double utilization, kb;
	double request, latency; /* seconds */
	/* Conga */
	double *dre;                  /* [n_links] estimated rate */
	double *remote, *remote_time; /* [n_switches * n_switches * 16] by switch, target, plane */
	struct {
		double end;
		uint32_t links[MAX_HOPS], n;
	} * flowlet; /* [n_terminals], one partner */
	uint32_t *flowlet_to;
	double now;
	/* Stages */
	uint32_t *to; /* [n_stages * n_hosts] rank, OSR_NONE: takes no part */
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

static void grow(struct lab *x, unsigned levels, unsigned side)
{
	const struct osr_topo *topo = osr_topo_find("tree");
	struct osr_pgft_options opt = { 0 };
	struct osr_topo_style style = { 0 };
	struct osr_net net = { 0 };
	struct osr_values v;
	char m[64], w[64];

	snprintf(m, sizeof(m), levels == 2 ? "%u,%u" : "%u,%u,%u", side, side, side);
	snprintf(w, sizeof(w), levels == 2 ? "1,%u" : "1,%u,%u", side, side);
	osr_values_default(&v, topo->params);
	if (osr_values_set(&v, topo->params, "m", m, &x->diag) ||
	    osr_values_set(&v, topo->params, "w", w, &x->diag) ||
	    osr_topo_make(topo, &v, &style, &net, &x->diag) ||
	    osr_net_fabric(&net, 0, &x->arena, &x->f, &x->diag) ||
	    osr_pgft_find(&x->f, &opt, &x->arena, &x->p, &x->diag))
		die(x, "the tree");
	x->net = osr_flow_fabric(&x->f, GBPS * 1e9 / 8, GBPS * 1e9 / 8, &x->arena);
	osr_net_free(&net);
	x->host = need(osr_alloc(&x->arena, x->f.n_terminals, sizeof(*x->host)));
	for (uint32_t t = 0; t < x->f.n_terminals; t++)
		if (x->f.term_role[t] == OSR_ROLE_CA)
			x->host[x->n_hosts++] = t;
	x->port = need(osr_calloc(&x->arena, x->f.n_terminals, x->f.n_switches));
	x->load = need(osr_calloc(&x->arena, x->f.n_channels, sizeof(*x->load)));
}

static void route_base(struct lab *x, const char *name)
{
	const struct osr_request req = { .max_vls = 8 };
	struct osr_result now = { .fabric = x->f };
	struct osr_sweep sweep;

	if (!osr_engine_find(name) ||
	    test_route(name, "", req, NULL, &x->arena, &now, &sweep, &x->diag))
		die(x, name);
	x->base = now.routing;
}

/* Keys ----------------------------------------------------------------------------------------- */

static void place_key(struct lab *x, const struct osr_pair *pair, uint32_t n, uint64_t spread,
		      enum osr_key_choice choice)
{
	struct osr_key_job job = { &x->p, &x->scratch, &x->keys, &x->diag };
	struct osr_key_routes routes;
	struct osr_key key;

	if (osr_key_make(&job, pair, n, &key))
		die(x, "a key");
	key.spread = spread;
	if (osr_key_place(&job, &key, x->load, choice, &routes))
		die(x, "a key");
	for (uint32_t i = 0; i < routes.n_entries; i++)
		x->port[(size_t)routes.entry[i].term * x->f.n_switches + routes.entry[i].sw] =
			routes.entry[i].port;
	osr_arena_free(&x->keys);
}

/* The links of a pair by the entries of keys. */
static uint32_t follow(const struct lab *x, uint32_t from, uint32_t to, uint32_t *links)
{
	uint32_t at = x->f.term_switch[from], n = 0;

	links[n++] = x->f.n_channels + from;
	while (at != x->f.term_switch[to]) {
		links[n] = osr_port_channel(&x->f, at, x->port[(size_t)to * x->f.n_switches + at]);
		at = x->f.chan_dst[links[n++]];
	}
	links[n++] = x->f.n_channels + x->f.n_terminals + to;
	return n;
}

static void count(struct lab *x, const struct osr_pair *pair, uint32_t n, int sign)
{
	uint32_t links[MAX_HOPS];

	for (uint32_t i = 0; i < n; i++) {
		uint32_t hops = follow(x, pair[i].from, pair[i].to, links);

		for (uint32_t h = 1; h + 1 < hops; h++)
			x->load[links[h]] += (uint32_t)sign;
	}
}

/* Figure 4 ------------------------------------------------------------------------------------- */

static uint32_t most(const uint32_t *list, uint32_t n)
{
	uint32_t max = 0;

	for (uint32_t i = 0; i < n; i++)
		max = list[i] > max ? list[i] : max;
	return max;
}

static uint32_t arrive(struct lab *x, const struct osr_pair *pair, uint32_t n,
		       const uint32_t *first, uint32_t n_apps, enum osr_key_choice choice)
{
	memset(x->load, 0, x->f.n_channels * sizeof(*x->load));
	for (uint32_t a = 0; a < n_apps; a++) {
		uint32_t size = (a + 1 < n_apps ? first[a + 1] : n) - first[a];

		place_key(x, pair + first[a], size, a + 1, choice);
		count(x, pair + first[a], size, 1);
	}
	return most(x->load, x->f.n_channels);
}

static uint32_t by_table(struct lab *x, const struct osr_pair *pair, uint32_t n)
{
	uint32_t links[MAX_HOPS];

	memset(x->load, 0, x->f.n_channels * sizeof(*x->load));
	for (uint32_t i = 0; i < n; i++) {
		uint32_t d = x->f.lid_dest[x->f.term_lid[pair[i].to]];
		uint32_t hops = osr_flow_links(&x->f, &x->base, pair[i].from, d, links);

		for (uint32_t h = 1; h + 1 < hops; h++)
			x->load[links[h]]++;
	}
	return most(x->load, x->f.n_channels);
}

static int figure4(struct lab *x, unsigned side, uint64_t seed)
{
	uint32_t n, *from, *to, *first, n_apps = 0;
	struct osr_pair *pair;

	grow(x, 2, side);
	x->prng.state = seed;
	n = (x->n_hosts * 6 + 9) / 10;
	from = need(osr_alloc(&x->arena, x->n_hosts, sizeof(*from)));
	to = need(osr_alloc(&x->arena, x->n_hosts, sizeof(*to)));
	first = need(osr_alloc(&x->arena, n, sizeof(*first)));
	pair = need(osr_alloc(&x->arena, n, sizeof(*pair)));
	memcpy(from, x->host, x->n_hosts * sizeof(*from));
	memcpy(to, x->host, x->n_hosts * sizeof(*to));
	osr_prng_shuffle(&x->prng, from, x->n_hosts);
	osr_prng_shuffle(&x->prng, to, x->n_hosts);
	for (uint32_t i = 0; i < n; i++) {
		if (from[i] == to[i]) { /* whoever would send to himself changes with the next */
			uint32_t k = (i + 1) % x->n_hosts, swap = to[i];

			to[i] = to[k];
			to[k] = swap;
		}
		pair[i] = (struct osr_pair){ from[i], to[i] };
	}
	for (uint32_t at = 0; at < n; at += 1 + osr_prng_below(&x->prng, 19))
		first[n_apps++] = at;
	printf("%u %u %u ", x->n_hosts, n, n_apps);
	printf("%u ", arrive(x, pair, n, first, n_apps, OSR_KEY_AS_IS));
	printf("%u ", arrive(x, pair, n, first, n_apps, OSR_KEY_FINE));
	route_base(x, "dmodk");
	printf("%u\n", by_table(x, pair, n));
	return 0;
}

/* Figures 6 to 9: programs --------------------------------------------------------------------- */

static double uniform(struct osr_prng *r)
{
	return (double)(osr_prng_next(r) >> 11) / 9007199254740992.0;
}

/* Sides as equal as they can be. */
static void shape(struct app *a)
{
	uint32_t n = a->n_ranks, x = (uint32_t)cbrt((double)n + 0.5), y;

	while (n % x)
		x--;
	for (y = (uint32_t)sqrt((double)(n / x) + 0.5); n / x % y;)
		y--;
	a->side[0] = x;
	a->side[1] = y;
	a->side[2] = n / x / y;
}

/* The pairs of a direction; a side of 1 has none. */
static uint32_t stencil(const struct app *a, unsigned direction, struct osr_pair *pair)
{
	unsigned dim = direction / 2;
	uint32_t stride = dim == 0 ? 1 : dim == 1 ? a->side[0] : a->side[0] * a->side[1], n = 0;

	for (uint32_t i = 0; i < a->n_ranks; i++) {
		uint32_t c = i / stride % a->side[dim];
		uint32_t to = direction % 2 ? (c + a->side[dim] - 1) % a->side[dim]
					    : (c + 1) % a->side[dim];

		if (to != c)
			pair[n++] = (struct osr_pair){ a->term[i], a->term[i + (to - c) * stride] };
	}
	return n;
}

static void deal(struct lab *x)
{
	uint32_t each = x->n_hosts / x->n_apps;

	osr_prng_shuffle(&x->prng, x->host, x->n_hosts);
	x->app = need(osr_calloc(&x->arena, x->n_apps, sizeof(*x->app)));
	for (uint32_t i = 0; i < x->n_apps; i++) {
		struct app *a = &x->app[i];

		a->n_ranks = each;
		a->prng.state = a->spread = osr_prng_next(&x->prng);
		a->term = x->host + i * each;
		shape(a);
		a->message = need(osr_alloc(&x->arena, each, sizeof(*a->message)));
		a->pair = need(osr_alloc(&x->arena, each, sizeof(*a->pair)));
		for (uint8_t k = 0; k < 6; k++) {
			uint32_t at = osr_prng_below(&x->prng, k + 1u);

			a->order[k] = a->order[at];
			a->order[at] = k;
		}
	}
}

/* The mean of what `kb` draws: 4 KB times a power of two up to 256 KB. */
static double mean_bytes(const struct lab *x)
{
	return x->kb > 0 ? x->kb * 1024 : 4096 * 127.0 / 7;
}

static bool next_phase(void *ctx, uint32_t i, uint32_t step, double now, struct osr_flow_phase *p)
{
	struct lab *x = ctx;
	struct app *a = &x->app[i];
	double ideal = mean_bytes(x) / (GBPS * 1e9 / 8), begin;

	if (step == x->n_phases)
		return false;
	a->bytes = x->kb > 0 ? x->kb * 1024 : 4096.0 * (1u << osr_prng_below(&a->prng, 7));
	/* Calculation: uniform, half to one and a half of its mean. */
	a->calc = ideal * (1 / x->utilization - 1) * (0.5 + uniform(&a->prng));
	p->n_messages = a->n_pairs = stencil(a, a->order[step % 6], a->pair);
	begin = a->calc + x->latency + (x->routing >= ARK ? x->request : 0);
	for (uint32_t m = 0; m < p->n_messages; m++)
		a->message[m] = (struct osr_flow_message){ begin, a->bytes };
	p->message = a->message;
	p->calc = a->calc;
	a->active = false;
	return true;
}

static void start(struct lab *x, uint32_t i)
{
	struct app *a = &x->app[i];

	a->active = true;
	place_key(x, a->pair, a->n_pairs, a->spread++,
		  x->routing == ARK ? OSR_KEY_AS_IS : OSR_KEY_FINE);
	count(x, a->pair, a->n_pairs, 1);
}

/* Conga ---------------------------------------------------------------------------------------- */

static unsigned quantized(double rate)
{
	double part = rate / (GBPS * 1e9 / 8) * 8;

	return part >= 7 ? 7 : (unsigned)part;
}

static size_t cell(const struct lab *x, uint32_t s, uint32_t target, uint32_t q)
{
	return ((size_t)s * x->f.n_switches + target) * 16 + q;
}

/* The up-port of s towards the switch `target` of the same level: least congestion known. */
static uint32_t conga_port(struct lab *x, uint32_t s, uint32_t target, uint32_t n)
{
	uint32_t best[16], n_best = 0, least = 8;

	for (uint32_t q = 0; q < n; q++) {
		size_t at = cell(x, s, target, q);
		uint32_t here = quantized(x->dre[x->p.up[x->p.up_row[s] + q]]);
		uint32_t there = x->now - x->remote_time[at] < AGE ? quantized(x->remote[at]) : 0;
		uint32_t metric = here > there ? here : there;

		if (metric < least) {
			least = metric;
			n_best = 0;
		}
		if (metric == least)
			best[n_best++] = q;
	}
	return best[osr_prng_below(&x->prng, n_best)];
}

/*
 * From both ends up until they meet. Each switch takes what Conga knows to be least congested, or any that the pair decides
 * (ECMP).
 */
static uint32_t up_and_down(struct lab *x, uint32_t from, uint32_t to, uint32_t *links)
{
	const struct osr_pgft_tree *tree = &x->p.tree[0];
	uint32_t at = x->f.term_switch[from], end = x->f.term_switch[to], n = 0, n_down = 0;
	struct osr_prng pair = { ((uint64_t)from << 32) + to };
	bool conga = x->routing == CONGA;
	uint32_t down[2];

	if (conga && x->flowlet_to[from] == to && x->now - x->flowlet[from].end < FLOWLET_GAP) {
		memcpy(links, x->flowlet[from].links, sizeof(x->flowlet[from].links));
		return x->flowlet[from].n;
	}
	links[n++] = x->f.n_channels + from;
	while (at != end) {
		uint32_t w = tree->w[x->p.sw_level[at] + 1];
		uint32_t q = conga ? conga_port(x, at, end, w) : osr_prng_below(&pair, w);
		uint32_t up = x->p.up[x->p.up_row[at] + q], back = x->p.up[x->p.up_row[end] + q];

		links[n++] = up;
		down[n_down++] = x->f.chan_rev[back];
		at = x->f.chan_dst[up];
		end = x->f.chan_dst[back];
	}
	while (n_down)
		links[n++] = down[--n_down];
	links[n++] = x->f.n_channels + x->f.n_terminals + to;
	if (conga) {
		memcpy(x->flowlet[from].links, links, n * sizeof(*links));
		x->flowlet[from].n = n;
		x->flowlet_to[from] = to;
	}
	return n;
}

/* What the last switch saw on the way comes back to those that chose. */
static void conga_feedback(struct lab *x, uint32_t from)
{
	const uint32_t *links = x->flowlet[from].links;
	uint32_t n = x->flowlet[from].n;

	x->flowlet[from].end = x->now;
	for (uint32_t i = 1; i < n / 2; i++) {
		uint32_t s = x->f.chan_src[links[i]], target = x->f.chan_dst[links[n - 1 - i]],
			 q = 0;
		double worst = 0;

		for (uint32_t k = i + 1; k <= n - 1 - i; k++)
			worst = fmax(worst, x->dre[links[k]]);
		while (x->p.up[x->p.up_row[s] + q] != links[i])
			q++;
		x->remote[cell(x, s, target, q)] = worst;
		x->remote_time[cell(x, s, target, q)] = x->now;
	}
}

static void passed(void *ctx, double seconds, const double *link_rate)
{
	struct lab *x = ctx;
	double keep = exp(-seconds / TAU);

	x->now += seconds;
	for (uint32_t l = 0; x->routing == CONGA && l < x->f.n_channels; l++)
		x->dre[l] = x->dre[l] * keep + link_rate[l] * (1 - keep);
}

/* Figures 6 to 9: the run ---------------------------------------------------------------------- */

static uint32_t path_of(void *ctx, uint32_t i, uint32_t step, uint32_t message, double now,
			uint32_t *links)
{
	struct lab *x = ctx;
	struct app *a = &x->app[i];
	uint32_t from = a->pair[message].from, to = a->pair[message].to;

	switch (x->routing) {
	case MESH:
		links[0] = x->f.n_channels + from;
		links[1] = x->f.n_channels + x->f.n_terminals + to;
		return 2;
	case DMODK:
	case SSSP:
		return osr_flow_links(&x->f, &x->base, from, x->f.lid_dest[x->f.term_lid[to]],
				      links);
	case RANDOM:
	case CONGA:
		return up_and_down(x, from, to, links);
	default:
		if (!a->active)
			start(x, i);
		return follow(x, from, to, links);
	}
}

static void arrived(void *ctx, uint32_t i, uint32_t step, uint32_t message, double now)
{
	struct lab *x = ctx;

	if (x->routing == CONGA)
		conga_feedback(x, x->app[i].pair[message].from);
}

static void phase_over(void *ctx, uint32_t i, uint32_t step, double began, double now)
{
	struct lab *x = ctx;
	struct app *a = &x->app[i];

	a->total += now - began - a->calc;
	if (a->active)
		count(x, a->pair, a->n_pairs, -1);
	a->active = false;
}

static void prepare(struct lab *x)
{
	size_t cells = (size_t)x->f.n_switches * x->f.n_switches * 16;

	if (x->routing == DMODK || x->routing == SSSP)
		route_base(x, routing_names[x->routing]);
	if (x->routing != CONGA)
		return;
	x->dre = need(osr_calloc(&x->arena, x->net.n_links, sizeof(*x->dre)));
	x->remote = need(osr_calloc(&x->arena, cells, sizeof(*x->remote)));
	x->remote_time = need(osr_alloc(&x->arena, cells, sizeof(*x->remote_time)));
	x->flowlet = need(osr_calloc(&x->arena, x->f.n_terminals, sizeof(*x->flowlet)));
	x->flowlet_to = need(osr_alloc(&x->arena, x->f.n_terminals, sizeof(*x->flowlet_to)));
	for (size_t i = 0; i < cells; i++)
		x->remote_time[i] = -AGE;
	memset(x->flowlet_to, 0xff, x->f.n_terminals * sizeof(*x->flowlet_to));
}

static int run_time(struct lab *x, unsigned side, uint64_t seed)
{
	static const struct osr_flow_ops ops = { next_phase, path_of, arrived, phase_over, passed };
	struct osr_flow_limits limits = { x->n_apps, 0, MAX_HOPS };
	struct osr_flow_stats stats;
	double longest = 0;

	grow(x, 3, side);
	if (side > 16 || !x->n_apps || x->n_apps > x->n_hosts / 2)
		die(x, "sides up to 16, and two hosts an application at least");
	x->prng.state = seed;
	deal(x);
	prepare(x);
	limits.max_messages = x->app[0].n_ranks;
	stats = osr_flow_run(&x->net, &ops, x, &limits);
	for (uint32_t i = 0; i < x->n_apps; i++)
		longest = fmax(longest, x->app[i].total);
	printf("%.9g %.9g %u\n", longest, stats.end, stats.max_sharing);
	return 0;
}

/* Stages of a collective ----------------------------------------------------------------------- */

static void read_hosts(struct lab *x, const char *path, uint64_t seed)
{
	struct osr_prng prng = { .state = seed };
	struct osr_endports endports;
	struct osr_lines in;

	x->host = need(osr_alloc(&x->arena, x->f.n_terminals, sizeof(*x->host)));
	if (osr_endports_init(&endports, &x->f, &x->arena, &x->diag) ||
	    osr_hostlist_read(osr_lines_open(&in, path, &x->diag), &endports, x->host, &x->n_hosts))
		die(x, path);
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
static bool stage_phase(void *ctx, uint32_t app, uint32_t step, double now,
			struct osr_flow_phase *p)
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

static uint32_t stage_path(void *ctx, uint32_t app, uint32_t step, uint32_t message, double now,
			   uint32_t *links)
{
	const struct lab *x = ctx;
	uint32_t stage = x->in_flight ? step * x->in_flight + app % x->in_flight : step;
	uint32_t rank = x->in_flight ? app / x->in_flight : x->sender[message];
	uint32_t from = x->host[rank], to = x->host[x->to[(size_t)stage * x->n_hosts + rank]];

	return osr_flow_links(&x->f, &x->base, from, x->f.lid_dest[x->f.term_lid[to]], links);
}

/* The part of the hosts' bandwidth that is reached. */
static int run_stages(struct lab *x, char **argv)
{
	static const struct osr_flow_ops ops = { .phase = stage_phase, .path = stage_path };
	double host_rate = atof(argv[7]) * 1e6, link_rate = atof(argv[8]) * 1e6;
	struct osr_net net = { 0 };
	struct osr_flow_limits limits;
	struct osr_flow_stats stats;
	struct osr_lines in;

	if (osr_fabricfile_read(osr_lines_open(&in, argv[0], &x->diag), &net) ||
	    osr_net_fabric(&net, -1, &x->arena, &x->f, &x->diag))
		die(x, argv[0]);
	osr_net_free(&net);
	route_base(x, argv[1]);
	read_hosts(x, argv[2], strtoull(argv[3], NULL, 0));
	read_stages(x, argv[4], (uint32_t)atoi(argv[5]));
	x->in_flight = (uint32_t)atoi(argv[6]);
	limits.n_apps = x->in_flight ? x->n_hosts * x->in_flight : 1;
	limits.max_messages = x->in_flight ? 1 : x->n_hosts;
	limits.max_hops = x->f.n_switches + 1 < 32 ? x->f.n_switches + 1 : 32;
	x->net = osr_flow_fabric(&x->f, link_rate, host_rate, &x->arena);
	x->message = need(osr_alloc(&x->arena, x->n_hosts, sizeof(*x->message)));
	x->sender = need(osr_alloc(&x->arena, x->n_hosts, sizeof(*x->sender)));
	for (uint32_t i = 0; i < x->n_hosts; i++)
		x->message[i] = (struct osr_flow_message){ .bytes = MESSAGE };
	stats = osr_flow_run(&x->net, &ops, x, &limits);
	printf("%.6f %u %u\n", x->n_stages * MESSAGE / host_rate / stats.end, stats.max_sharing,
	       x->n_stages);
	return 0;
}

int main(int argc, char **argv)
{
	struct lab x = { 0 };

	if (argc == 4 && !strcmp(argv[1], "load"))
		return figure4(&x, (unsigned)atoi(argv[2]), strtoull(argv[3], NULL, 0));
	if (argc == 11 && !strcmp(argv[1], "stages"))
		return run_stages(&x, argv + 2);
	if ((argc == 8 || argc == 9 || argc == 11) && !strcmp(argv[1], "time")) {
		for (x.routing = MESH; x.routing < N_ROUTINGS; x.routing++)
			if (!strcmp(routing_names[x.routing], argv[6]))
				break;
		x.n_apps = (uint32_t)atoi(argv[3]);
		x.utilization = atof(argv[4]) / 100;
		x.kb = atof(argv[7]);
		x.n_phases = argc >= 9 ? (uint32_t)atoi(argv[8]) : 60;
		x.request = argc == 11 ? atof(argv[9]) * 1e-6 : 0;
		x.latency = argc == 11 ? atof(argv[10]) * 1e-6 : 0;
		if (x.routing < N_ROUTINGS && x.utilization > 0 && x.utilization <= 1)
			return run_time(&x, (unsigned)atoi(argv[2]), strtoull(argv[5], NULL, 0));
	}
	fputs("osr-flow load SIDE SEED\n"
	      "osr-flow time SIDE APPS PERCENT SEED ROUTING KB [PHASES]\n",
	      stderr);
	return 2;
}

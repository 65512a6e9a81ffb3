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
#include "io/endports.h"
#include "io/netfile.h"
#include "io/trafficfile.h"
#include "keys/keys.h"
#include <osmroutes/prng.h>
#include <osmroutes/sweep.h>

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "simulator/flow.h"
#include "unit/sweeps.h"
#include "unit/topos.h"

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
	double calc, total;               /* of the present phase; all communication so far */
	struct osr_pair *pair;            /* [n_pairs] of the present phase */
	uint32_t n_pairs;
	struct osr_prng prng; /* of its sizes and times, the same for every routing */
	uint64_t spread;      /* ARK: of its classes over the planes */
	bool active;
};

struct lab {
	struct osr_arena arena, scratch, keys;
	struct osr_fabric f;
	struct osr_pgft p;
	struct osr_routing base; /* or entries of keys */
	struct osr_flow_job job;
	struct osr_diag diag;
	struct osr_prng prng;
	uint32_t *host, n_hosts;
	uint32_t *load; /* [n_channels] flows of active keys */
	enum routing routing;
	struct app *app;
	uint32_t n_phases;
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
};

static _Noreturn void die(const struct lab *x, const char *what)
{
	fprintf(stderr, "osr-flow: %s: %s\n", what, x->diag.text);
	exit(1);
}

/* Zeroes that live as long as the lab. */
static void *get(struct lab *x, size_t n, size_t size)
{
	void *p = osr_calloc(&x->arena, n, size);

	if (!p)
		die(x, "out of memory");
	return p;
}

/*
 * Channel c is link c; link n_channels + t leads from terminal t to its switch, link n_channels + n_terminals + t back.
 * Rates of links between switches, and of those of terminals.
 */
static void set_links(struct lab *x, double link_rate, double host_rate)
{
	uint32_t n = x->f.n_channels + 2 * x->f.n_terminals;
	double *capacity = get(x, n, sizeof(*capacity));

	for (uint32_t l = 0; l < n; l++)
		capacity[l] = l < x->f.n_channels ? link_rate : host_rate;
	x->job.ctx = x;
	x->job.n_links = n;
	x->job.capacity = capacity;
}

/* A tree, and no entries. */
static void grow(struct lab *x, unsigned levels, unsigned side)
{
	struct osr_pgft_options opt = { 0 };
	char what[128];

	snprintf(what, sizeof(what),
		 levels == 2 ? "tree m=%1$u,%1$u w=1,%1$u" : "tree m=%1$u,%1$u,%1$u w=1,%1$u,%1$u",
		 side);
	topo_fabric(what, NULL, 0, &x->arena, &x->f);
	if (osr_pgft_find(&x->f, &opt, &x->arena, &x->p, &x->diag))
		die(x, "the tree");
	set_links(x, GBPS * 1e9 / 8, GBPS * 1e9 / 8);
	x->host = get(x, x->f.n_terminals, sizeof(*x->host));
	for (uint32_t t = 0; t < x->f.n_terminals; t++)
		if (x->f.term_role[t] == OSR_ROLE_CA)
			x->host[x->n_hosts++] = t;
	x->load = get(x, x->f.n_channels, sizeof(*x->load));
	x->base = (struct osr_routing){ .n_switches = x->f.n_switches, .n_dests = x->f.n_dests };
	x->base.lft = get(x, x->f.n_dests, x->f.n_switches);
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

/* The links from terminal to terminal by the tables; none if both are the same. */
static uint32_t follow(const struct lab *x, uint32_t from, uint32_t to, uint32_t *links)
{
	uint32_t at = x->f.term_switch[from], d = x->f.lid_dest[x->f.term_lid[to]], n = 0;

	if (from == to)
		return 0;
	links[n++] = x->f.n_channels + from;
	while (at != x->f.term_switch[to]) {
		assert(n + 1 < OSR_FLOW_HOPS);
		links[n] = osr_port_channel(&x->f, at, osr_lft(&x->base, at, d));
		at = x->f.chan_dst[links[n++]];
	}
	links[n++] = x->f.n_channels + x->f.n_terminals + to;
	return n;
}

/* Keys, and figure 4 --------------------------------------------------------------------------- */

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
	for (uint32_t i = 0; i < routes.n_entries; i++) {
		uint32_t d = x->f.lid_dest[x->f.term_lid[routes.entry[i].term]];

		x->base.lft[(size_t)d * x->f.n_switches + routes.entry[i].sw] =
			routes.entry[i].port;
	}
	osr_arena_free(&x->keys);
}

/* Flows of these pairs on every channel. Returns the most. */
static uint32_t count(struct lab *x, const struct osr_pair *pair, uint32_t n, int sign)
{
	uint32_t links[OSR_FLOW_HOPS], most = 0;

	for (uint32_t i = 0; i < n; i++) {
		uint32_t hops = follow(x, pair[i].from, pair[i].to, links);

		for (uint32_t h = 1; h + 1 < hops; h++)
			x->load[links[h]] += (uint32_t)sign;
	}
	for (uint32_t c = 0; c < x->f.n_channels; c++)
		most = x->load[c] > most ? x->load[c] : most;
	return most;
}

static int figure4(struct lab *x, unsigned side, uint64_t seed)
{
	uint32_t n, *from, *to, *first, n_apps = 0, most = 0;
	struct osr_pair *pair;

	grow(x, 2, side);
	x->prng.state = seed;
	n = (x->n_hosts * 6 + 9) / 10;
	from = get(x, x->n_hosts, sizeof(*from));
	to = get(x, x->n_hosts, sizeof(*to));
	first = get(x, n + (size_t)1, sizeof(*first));
	pair = get(x, n, sizeof(*pair));
	memcpy(from, x->host, x->n_hosts * sizeof(*from));
	memcpy(to, x->host, x->n_hosts * sizeof(*to));
	osr_prng_shuffle(&x->prng, from, x->n_hosts);
	osr_prng_shuffle(&x->prng, to, x->n_hosts);
	for (uint32_t i = 0; i < n; i++) {
		if (from[i] == to[i]) { /* a host that would send to itself changes with the next */
			uint32_t k = (i + 1) % x->n_hosts, swap = to[i];

			to[i] = to[k];
			to[k] = swap;
		}
		pair[i] = (struct osr_pair){ from[i], to[i] };
	}
	for (uint32_t at = 0; at < n; at += 1 + osr_prng_below(&x->prng, 19))
		first[n_apps++] = at;
	first[n_apps] = n;
	printf("%u %u %u ", x->n_hosts, n, n_apps);
	for (enum routing r = ARK; r <= NRK; r++) {
		memset(x->load, 0, x->f.n_channels * sizeof(*x->load));
		for (uint32_t a = 0; a < n_apps; a++) {
			const struct osr_pair *its = pair + first[a];
			uint32_t size = first[a + 1] - first[a];

			place_key(x, its, size, a + 1, r == ARK ? OSR_KEY_AS_IS : OSR_KEY_FINE);
			most = count(x, its, size, 1);
		}
		printf("%u ", most);
	}
	route_base(x, "dmodk");
	memset(x->load, 0, x->f.n_channels * sizeof(*x->load));
	printf("%u\n", count(x, pair, n, 1));
	return 0;
}

/* Figures 6 to 9: programs --------------------------------------------------------------------- */

static double uniform(struct osr_prng *r)
{
	return (double)(osr_prng_next(r) >> 11) / 9007199254740992.0;
}

/* Hosts dealt out, in boxes with sides as equal as they can be. */
static void deal(struct lab *x)
{
	uint32_t n = x->n_hosts / x->job.n_apps;

	osr_prng_shuffle(&x->prng, x->host, x->n_hosts);
	x->app = get(x, x->job.n_apps, sizeof(*x->app));
	for (uint32_t i = 0; i < x->job.n_apps; i++) {
		struct app *a = &x->app[i];
		uint32_t first = (uint32_t)cbrt((double)n + 0.5), second;

		while (n % first)
			first--;
		for (second = (uint32_t)sqrt((double)(n / first) + 0.5); n / first % second;)
			second--;
		a->side[0] = first;
		a->side[1] = second;
		a->side[2] = n / first / second;
		a->n_ranks = n;
		a->prng.state = a->spread = osr_prng_next(&x->prng);
		a->term = x->host + i * n;
		a->pair = get(x, n, sizeof(*a->pair));
		for (uint8_t k = 0; k < 6; k++) {
			uint32_t at = osr_prng_below(&x->prng, k + 1u);

			a->order[k] = a->order[at];
			a->order[at] = k;
		}
	}
}

static bool next_phase(void *ctx, uint32_t i, uint32_t step, struct osr_flow_phase *p)
{
	struct lab *x = ctx;
	struct app *a = &x->app[i];
	/* Of the mean of what `kb` draws: 4 KB times a power of two up to 256 KB. */
	double mean = x->kb > 0 ? x->kb * 1024 : 4096 * 127.0 / 7;
	double ideal = mean / (GBPS * 1e9 / 8), begin, bytes;
	unsigned direction = a->order[step % 6], dim = direction / 2;
	uint32_t stride = dim == 0 ? 1 : dim == 1 ? a->side[0] : a->side[0] * a->side[1];

	if (step == x->n_phases)
		return false;
	bytes = x->kb > 0 ? x->kb * 1024 : 4096.0 * (1u << osr_prng_below(&a->prng, 7));
	/* Calculation: uniform, half to one and a half of its mean. */
	a->calc = ideal * (1 / x->utilization - 1) * (0.5 + uniform(&a->prng));
	begin = a->calc + x->latency + (x->routing >= ARK ? x->request : 0);
	a->n_pairs = 0;
	/* To the neighbours in this direction; a side of 1 has none. */
	for (uint32_t k = 0; k < a->n_ranks; k++) {
		uint32_t side = a->side[dim], c = k / stride % side;
		uint32_t to = (direction % 2 ? c + side - 1 : c + 1) % side;

		if (to == c)
			continue;
		a->pair[a->n_pairs++] =
			(struct osr_pair){ a->term[k], a->term[k + (to - c) * stride] };
	}
	*p = (struct osr_flow_phase){ a->n_pairs, begin, bytes, a->calc };
	return true;
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

static void passed(void *ctx, double seconds, const double *link_rate, const struct osr_flow *flow,
		   uint32_t n)
{
	struct lab *x = ctx;
	double keep = exp(-seconds / TAU);

	x->now += seconds;
	for (uint32_t l = 0; l < x->f.n_channels; l++)
		x->dre[l] = x->dre[l] * keep + link_rate[l] * (1 - keep);
}

/* Figures 6 to 9: the run ---------------------------------------------------------------------- */

static uint32_t path_of(void *ctx, uint32_t i, uint32_t step, uint32_t message, uint32_t *links)
{
	struct lab *x = ctx;
	struct app *a = &x->app[i];
	uint32_t from = a->pair[message].from, to = a->pair[message].to;

	if (x->routing == MESH) {
		links[0] = x->f.n_channels + from;
		links[1] = x->f.n_channels + x->f.n_terminals + to;
		return 2;
	}
	if (x->routing == RANDOM || x->routing == CONGA)
		return up_and_down(x, from, to, links);
	if (x->routing >= ARK && !a->active) {
		a->active = true;
		place_key(x, a->pair, a->n_pairs, a->spread++,
			  x->routing == ARK ? OSR_KEY_AS_IS : OSR_KEY_FINE);
		count(x, a->pair, a->n_pairs, 1);
	}
	return follow(x, from, to, links);
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

static int run_time(struct lab *x, unsigned side, uint64_t seed)
{
	double longest = 0, end;
	uint32_t max_sharing;
	size_t cells;

	grow(x, 3, side);
	if (side > 16 || !x->job.n_apps || x->job.n_apps > x->n_hosts / 2)
		die(x, "sides up to 16, and two hosts an application at least");
	x->prng.state = seed;
	deal(x);
	if (x->routing == DMODK || x->routing == SSSP)
		route_base(x, routing_names[x->routing]);
	if (x->routing == CONGA) {
		cells = (size_t)x->f.n_switches * x->f.n_switches * 16;
		x->job.passed = passed;
		x->dre = get(x, x->job.n_links, sizeof(*x->dre));
		x->remote = get(x, cells, sizeof(*x->remote));
		x->remote_time = get(x, cells, sizeof(*x->remote_time));
		x->flowlet = get(x, x->f.n_terminals, sizeof(*x->flowlet));
		x->flowlet_to = get(x, x->f.n_terminals, sizeof(*x->flowlet_to));
		for (size_t i = 0; i < cells; i++)
			x->remote_time[i] = -AGE;
		memset(x->flowlet_to, 0xff, x->f.n_terminals * sizeof(*x->flowlet_to));
	}
	x->job.max_messages = x->app[0].n_ranks;
	x->job.phase = next_phase;
	x->job.path = path_of;
	x->job.arrived = arrived;
	x->job.phase_over = phase_over;
	end = osr_flow_run(&x->job, &max_sharing);
	for (uint32_t i = 0; i < x->job.n_apps; i++)
		longest = fmax(longest, x->app[i].total);
	printf("%.9g %.9g %u\n", longest, end, max_sharing);
	return 0;
}

/* Stages of a collective ----------------------------------------------------------------------- */

/* With a barrier, one application; otherwise one for each message that a rank may have under way. */
static bool stage_phase(void *ctx, uint32_t app, uint32_t step, struct osr_flow_phase *p)
{
	struct lab *x = ctx;

	*p = (struct osr_flow_phase){ x->job.max_messages, 0, MESSAGE, 0 };
	return (x->in_flight ? step * x->in_flight + app % x->in_flight : step) < x->n_stages;
}

static uint32_t stage_path(void *ctx, uint32_t app, uint32_t step, uint32_t message,
			   uint32_t *links)
{
	const struct lab *x = ctx;
	uint32_t stage = x->in_flight ? step * x->in_flight + app % x->in_flight : step;
	uint32_t rank = x->in_flight ? app / x->in_flight : message;
	uint32_t to = x->to[(size_t)stage * x->n_hosts + rank];

	return to == OSR_NONE ? 0 : follow(x, x->host[rank], x->host[to], links);
}

/* The part of the hosts' bandwidth that is reached. */
static int run_stages(struct lab *x, char **argv)
{
	double host_rate = atof(argv[7]) * 1e6, link_rate = atof(argv[8]) * 1e6, end;
	struct osr_prng prng = { .state = strtoull(argv[3], NULL, 0) };
	struct osr_traffic traffic = { .hosts = NULL };
	const struct osr_phases *q = &traffic.phases;
	uint32_t most = (uint32_t)atoi(argv[5]), max_sharing;
	struct osr_endports endports;
	struct osr_net net = { 0 };
	struct osr_lines in;

	if (osr_fabricfile_read(osr_lines_open(&in, argv[0], &x->diag), &net) ||
	    osr_net_fabric(&net, -1, &x->arena, &x->f, &x->diag))
		die(x, argv[0]);
	osr_net_free(&net);
	route_base(x, argv[1]);
	x->host = get(x, x->f.n_terminals, sizeof(*x->host));
	if (osr_endports_init(&endports, &x->f, &x->arena, &x->diag) ||
	    osr_hostlist_read(osr_lines_open(&in, argv[2], &x->diag), &endports, x->host,
			      &x->n_hosts))
		die(x, argv[2]);
	if (prng.state)
		osr_prng_shuffle(&prng, x->host, x->n_hosts);
	if (osr_traffic_read(osr_lines_open(&in, argv[4], &x->diag), NULL, &traffic))
		die(x, argv[4]);
	x->n_stages = most && most < q->n_phases ? most : q->n_phases;
	x->to = get(x, (size_t)x->n_stages * x->n_hosts, sizeof(*x->to));
	memset(x->to, 0xff, (size_t)x->n_stages * x->n_hosts * sizeof(*x->to));
	for (uint32_t k = 0; k < x->n_stages; k++)
		for (uint32_t i = q->row[k]; i < q->row[k + 1]; i++)
			x->to[(size_t)k * x->n_hosts + q->pair[i].from] = q->pair[i].to;
	osr_traffic_free(&traffic);
	x->in_flight = (uint32_t)atoi(argv[6]);
	set_links(x, link_rate, host_rate);
	x->job.n_apps = x->in_flight ? x->n_hosts * x->in_flight : 1;
	x->job.max_messages = x->in_flight ? 1 : x->n_hosts;
	x->job.phase = stage_phase;
	x->job.path = stage_path;
	end = osr_flow_run(&x->job, &max_sharing);
	printf("%.6f %u %u\n", x->n_stages * MESSAGE / host_rate / end, max_sharing, x->n_stages);
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
		x.job.n_apps = (uint32_t)atoi(argv[3]);
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

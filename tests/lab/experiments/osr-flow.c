/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Traffic on routed fabrics by the flow-level simulator, one experiment a run. The evaluation of
 * routing keys (Samuel, Zahavi, Keslassy, Routing Keys, section IV):
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
 *		Prints the longest communication time of an application, the end, the most messages on one link
 *		at a time.
 *
 * Bandwidth of a sequence of permutations (figure 2 of the D-Mod-K paper):
 *
 *	osr-flow stages NET ENGINE HOSTS SEED TRAFFIC STAGES IN_FLIGHT HOST_MBPS LINK_MBPS
 *		HOSTS is a file of host names, rank 0 first; SEED 0 keeps that order, any other shuffles it.
 *		STAGES: only
 *		the first so many, 0 for all. Every rank sends one message of the same size in each stage that
 *		it takes
 *		part in. IN_FLIGHT 0: a barrier ends each stage. Otherwise ranks do not wait for each other,
 *		and each has
 *		up to IN_FLIGHT messages of consecutive stages under way at once: it stands for networks whose
 *		buffers hold
 *		so many messages of a host.
 *		Prints the part of the hosts' bandwidth that is reached (the time if every message had its
 *		host's link for
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
	struct osr_fabric fabric;
	struct osr_pgft pgft;
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

static _Noreturn void die(const struct lab *lab, const char *what)
{
	fprintf(stderr, "osr-flow: %s: %s\n", what, lab->diag.text);
	exit(1);
}

/* Zeroes that live as long as the lab. */
static void *get(struct lab *lab, size_t n, size_t size)
{
	void *p = osr_calloc(&lab->arena, n, size);

	if (!p)
		die(lab, "out of memory");
	return p;
}

/*
 * Channel c is link c; link n_channels + t leads from terminal t to its switch, link n_channels +
 * n_terminals + t back. Rates of links between switches, and of those of terminals.
 */
static void set_links(struct lab *lab, double link_rate, double host_rate)
{
	uint32_t n = lab->fabric.n_channels + 2 * lab->fabric.n_terminals;
	double *capacity = get(lab, n, sizeof(*capacity));

	for (uint32_t l = 0; l < n; l++)
		capacity[l] = l < lab->fabric.n_channels ? link_rate : host_rate;
	lab->job.ctx = lab;
	lab->job.n_links = n;
	lab->job.capacity = capacity;
}

/* A tree, and no entries. */
static void grow(struct lab *lab, unsigned levels, unsigned side)
{
	struct osr_pgft_options opt = { 0 };
	char what[128];

	snprintf(what, sizeof(what),
		 levels == 2 ? "tree m=%1$u,%1$u w=1,%1$u" : "tree m=%1$u,%1$u,%1$u w=1,%1$u,%1$u",
		 side);
	topo_fabric(what, NULL, 0, &lab->arena, &lab->fabric);
	if (osr_pgft_find(&lab->fabric, &opt, &lab->arena, &lab->pgft, &lab->diag))
		die(lab, "the tree");
	set_links(lab, GBPS * 1e9 / 8, GBPS * 1e9 / 8);
	lab->host = get(lab, lab->fabric.n_terminals, sizeof(*lab->host));
	for (uint32_t t = 0; t < lab->fabric.n_terminals; t++)
		if (lab->fabric.term_role[t] == OSR_ROLE_CA)
			lab->host[lab->n_hosts++] = t;
	lab->load = get(lab, lab->fabric.n_channels, sizeof(*lab->load));
	lab->base = (struct osr_routing){ .n_switches = lab->fabric.n_switches,
					  .n_dests = lab->fabric.n_dests };
	lab->base.lft = get(lab, lab->fabric.n_dests, lab->fabric.n_switches);
}

static void route_base(struct lab *lab, const char *name)
{
	const struct osr_request req = { .max_vls = 8 };
	struct osr_result now = { .fabric = lab->fabric };
	struct osr_sweep sweep;

	if (!osr_engine_find(name) ||
	    test_route(name, "", req, NULL, &lab->arena, &now, &sweep, &lab->diag))
		die(lab, name);
	lab->base = now.routing;
}

/* The links from terminal to terminal by the tables; none if both are the same. */
static uint32_t follow(const struct lab *lab, uint32_t from, uint32_t to, uint32_t *links)
{
	uint32_t at = lab->fabric.term_switch[from],
		 d = lab->fabric.lid_dest[lab->fabric.term_lid[to]], n = 0;

	if (from == to)
		return 0;
	links[n++] = lab->fabric.n_channels + from;
	while (at != lab->fabric.term_switch[to]) {
		assert(n + 1 < OSR_FLOW_HOPS);
		links[n] = osr_port_channel(&lab->fabric, at, osr_lft(&lab->base, at, d));
		at = lab->fabric.chan_dst[links[n++]];
	}
	links[n++] = lab->fabric.n_channels + lab->fabric.n_terminals + to;
	return n;
}

/* Keys, and figure 4 --------------------------------------------------------------------------- */

static void place_key(struct lab *lab, const struct osr_pair *pair, uint32_t n, uint64_t spread,
		      enum osr_key_choice choice)
{
	struct osr_key_job job = { &lab->pgft, &lab->scratch, &lab->keys, &lab->diag };
	struct osr_key_routes routes;
	struct osr_key key;

	if (osr_key_make(&job, pair, n, &key))
		die(lab, "a key");
	key.spread = spread;
	if (osr_key_place(&job, &key, lab->load, choice, &routes))
		die(lab, "a key");
	for (uint32_t i = 0; i < routes.n_entries; i++) {
		uint32_t d = lab->fabric.lid_dest[lab->fabric.term_lid[routes.entry[i].term]];

		lab->base.lft[(size_t)d * lab->fabric.n_switches + routes.entry[i].sw] =
			routes.entry[i].port;
	}
	osr_arena_free(&lab->keys);
}

/* Flows of these pairs on every channel. Returns the most. */
static uint32_t count(struct lab *lab, const struct osr_pair *pair, uint32_t n, int sign)
{
	uint32_t links[OSR_FLOW_HOPS], most = 0;

	for (uint32_t i = 0; i < n; i++) {
		uint32_t hops = follow(lab, pair[i].from, pair[i].to, links);

		for (uint32_t h = 1; h + 1 < hops; h++)
			lab->load[links[h]] += (uint32_t)sign;
	}
	for (uint32_t c = 0; c < lab->fabric.n_channels; c++)
		most = lab->load[c] > most ? lab->load[c] : most;
	return most;
}

static int figure4(struct lab *lab, unsigned side, uint64_t seed)
{
	uint32_t n, *from, *to, *first, n_apps = 0, most = 0;
	struct osr_pair *pair;

	grow(lab, 2, side);
	lab->prng.state = seed;
	n = (lab->n_hosts * 6 + 9) / 10;
	from = get(lab, lab->n_hosts, sizeof(*from));
	to = get(lab, lab->n_hosts, sizeof(*to));
	first = get(lab, n + (size_t)1, sizeof(*first));
	pair = get(lab, n, sizeof(*pair));
	memcpy(from, lab->host, lab->n_hosts * sizeof(*from));
	memcpy(to, lab->host, lab->n_hosts * sizeof(*to));
	osr_prng_shuffle(&lab->prng, from, lab->n_hosts);
	osr_prng_shuffle(&lab->prng, to, lab->n_hosts);
	for (uint32_t i = 0; i < n; i++) {
		if (from[i] == to[i]) { /* a host that would send to itself changes with the next */
			uint32_t k = (i + 1) % lab->n_hosts, swap = to[i];

			to[i] = to[k];
			to[k] = swap;
		}
		pair[i] = (struct osr_pair){ from[i], to[i] };
	}
	for (uint32_t at = 0; at < n; at += 1 + osr_prng_below(&lab->prng, 19))
		first[n_apps++] = at;
	first[n_apps] = n;
	printf("%u %u %u ", lab->n_hosts, n, n_apps);
	for (enum routing r = ARK; r <= NRK; r++) {
		memset(lab->load, 0, lab->fabric.n_channels * sizeof(*lab->load));
		for (uint32_t a = 0; a < n_apps; a++) {
			const struct osr_pair *its = pair + first[a];
			uint32_t size = first[a + 1] - first[a];

			place_key(lab, its, size, a + 1, r == ARK ? OSR_KEY_AS_IS : OSR_KEY_FINE);
			most = count(lab, its, size, 1);
		}
		printf("%u ", most);
	}
	route_base(lab, "dmodk");
	memset(lab->load, 0, lab->fabric.n_channels * sizeof(*lab->load));
	printf("%u\n", count(lab, pair, n, 1));
	return 0;
}

/* Figures 6 to 9: programs --------------------------------------------------------------------- */

static double uniform(struct osr_prng *prng)
{
	return (double)(osr_prng_next(prng) >> 11) / 9007199254740992.0;
}

/* Hosts dealt out, in boxes with sides as equal as they can be. */
static void deal(struct lab *lab)
{
	uint32_t n = lab->n_hosts / lab->job.n_apps;

	osr_prng_shuffle(&lab->prng, lab->host, lab->n_hosts);
	lab->app = get(lab, lab->job.n_apps, sizeof(*lab->app));
	for (uint32_t i = 0; i < lab->job.n_apps; i++) {
		struct app *app = &lab->app[i];
		uint32_t first = (uint32_t)cbrt((double)n + 0.5), second;

		while (n % first)
			first--;
		for (second = (uint32_t)sqrt((double)(n / first) + 0.5); n / first % second;)
			second--;
		app->side[0] = first;
		app->side[1] = second;
		app->side[2] = n / first / second;
		app->n_ranks = n;
		app->prng.state = app->spread = osr_prng_next(&lab->prng);
		app->term = lab->host + i * n;
		app->pair = get(lab, n, sizeof(*app->pair));
		for (uint8_t k = 0; k < 6; k++) {
			uint32_t at = osr_prng_below(&lab->prng, k + 1u);

			app->order[k] = app->order[at];
			app->order[at] = k;
		}
	}
}

static bool next_phase(void *ctx, uint32_t i, uint32_t step, struct osr_flow_phase *phase)
{
	struct lab *lab = ctx;
	struct app *app = &lab->app[i];
	/* Of the mean of what `kb` draws: 4 KB times a power of two up to 256 KB. */
	double mean = lab->kb > 0 ? lab->kb * 1024 : 4096 * 127.0 / 7;
	double ideal = mean / (GBPS * 1e9 / 8), begin, bytes;
	unsigned direction = app->order[step % 6], dim = direction / 2;
	uint32_t stride = dim == 0 ? 1 : dim == 1 ? app->side[0] : app->side[0] * app->side[1];

	if (step == lab->n_phases)
		return false;
	bytes = lab->kb > 0 ? lab->kb * 1024 : 4096.0 * (1u << osr_prng_below(&app->prng, 7));
	/* Calculation: uniform, half to one and a half of its mean. */
	app->calc = ideal * (1 / lab->utilization - 1) * (0.5 + uniform(&app->prng));
	begin = app->calc + lab->latency + (lab->routing >= ARK ? lab->request : 0);
	app->n_pairs = 0;
	/* To the neighbours in this direction; a side of 1 has none. */
	for (uint32_t k = 0; k < app->n_ranks; k++) {
		uint32_t side = app->side[dim], c = k / stride % side;
		uint32_t to = (direction % 2 ? c + side - 1 : c + 1) % side;

		if (to == c)
			continue;
		app->pair[app->n_pairs++] =
			(struct osr_pair){ app->term[k], app->term[k + (to - c) * stride] };
	}
	*phase = (struct osr_flow_phase){ app->n_pairs, begin, bytes, app->calc };
	return true;
}

/* Conga ---------------------------------------------------------------------------------------- */

static unsigned quantized(double rate)
{
	double part = rate / (GBPS * 1e9 / 8) * 8;

	return part >= 7 ? 7 : (unsigned)part;
}

static size_t cell(const struct lab *lab, uint32_t s, uint32_t target, uint32_t q)
{
	return ((size_t)s * lab->fabric.n_switches + target) * 16 + q;
}

/* The up-port of s towards the switch `target` of the same level: least congestion known. */
static uint32_t conga_port(struct lab *lab, uint32_t s, uint32_t target, uint32_t n)
{
	uint32_t best[16], n_best = 0, least = 8;

	for (uint32_t q = 0; q < n; q++) {
		size_t at = cell(lab, s, target, q);
		uint32_t here = quantized(lab->dre[lab->pgft.up[lab->pgft.up_row[s] + q]]);
		uint32_t there =
			lab->now - lab->remote_time[at] < AGE ? quantized(lab->remote[at]) : 0;
		uint32_t metric = here > there ? here : there;

		if (metric < least) {
			least = metric;
			n_best = 0;
		}
		if (metric == least)
			best[n_best++] = q;
	}
	return best[osr_prng_below(&lab->prng, n_best)];
}

/*
 * From both ends up until they meet. Each switch takes what Conga knows to be least congested, or
 * any that the pair decides (ECMP).
 */
static uint32_t up_and_down(struct lab *lab, uint32_t from, uint32_t to, uint32_t *links)
{
	const struct osr_pgft_tree *tree = &lab->pgft.tree[0];
	uint32_t at = lab->fabric.term_switch[from], end = lab->fabric.term_switch[to], n = 0,
		 n_down = 0;
	struct osr_prng pair = { ((uint64_t)from << 32) + to };
	bool conga = lab->routing == CONGA;
	uint32_t down[2];

	if (conga && lab->flowlet_to[from] == to &&
	    lab->now - lab->flowlet[from].end < FLOWLET_GAP) {
		memcpy(links, lab->flowlet[from].links, sizeof(lab->flowlet[from].links));
		return lab->flowlet[from].n;
	}
	links[n++] = lab->fabric.n_channels + from;
	while (at != end) {
		uint32_t w = tree->w[lab->pgft.sw_level[at] + 1];
		uint32_t q = conga ? conga_port(lab, at, end, w) : osr_prng_below(&pair, w);
		uint32_t up = lab->pgft.up[lab->pgft.up_row[at] + q],
			 back = lab->pgft.up[lab->pgft.up_row[end] + q];

		links[n++] = up;
		down[n_down++] = lab->fabric.chan_rev[back];
		at = lab->fabric.chan_dst[up];
		end = lab->fabric.chan_dst[back];
	}
	while (n_down)
		links[n++] = down[--n_down];
	links[n++] = lab->fabric.n_channels + lab->fabric.n_terminals + to;
	if (conga) {
		memcpy(lab->flowlet[from].links, links, n * sizeof(*links));
		lab->flowlet[from].n = n;
		lab->flowlet_to[from] = to;
	}
	return n;
}

/* What the last switch saw on the way comes back to those that chose. */
static void conga_feedback(struct lab *lab, uint32_t from)
{
	const uint32_t *links = lab->flowlet[from].links;
	uint32_t n = lab->flowlet[from].n;

	lab->flowlet[from].end = lab->now;
	for (uint32_t i = 1; i < n / 2; i++) {
		uint32_t s = lab->fabric.chan_src[links[i]],
			 target = lab->fabric.chan_dst[links[n - 1 - i]], q = 0;
		double worst = 0;

		for (uint32_t k = i + 1; k <= n - 1 - i; k++)
			worst = fmax(worst, lab->dre[links[k]]);
		while (lab->pgft.up[lab->pgft.up_row[s] + q] != links[i])
			q++;
		lab->remote[cell(lab, s, target, q)] = worst;
		lab->remote_time[cell(lab, s, target, q)] = lab->now;
	}
}

static void passed(void *ctx, double seconds, const double *link_rate, const struct osr_flow *flow,
		   uint32_t n)
{
	struct lab *lab = ctx;
	double keep = exp(-seconds / TAU);

	lab->now += seconds;
	for (uint32_t l = 0; l < lab->fabric.n_channels; l++)
		lab->dre[l] = lab->dre[l] * keep + link_rate[l] * (1 - keep);
}

/* Figures 6 to 9: the run ---------------------------------------------------------------------- */

static uint32_t path_of(void *ctx, uint32_t i, uint32_t step, uint32_t message, uint32_t *links)
{
	struct lab *lab = ctx;
	struct app *app = &lab->app[i];
	uint32_t from = app->pair[message].from, to = app->pair[message].to;

	if (lab->routing == MESH) {
		links[0] = lab->fabric.n_channels + from;
		links[1] = lab->fabric.n_channels + lab->fabric.n_terminals + to;
		return 2;
	}
	if (lab->routing == RANDOM || lab->routing == CONGA)
		return up_and_down(lab, from, to, links);
	if (lab->routing >= ARK && !app->active) {
		app->active = true;
		place_key(lab, app->pair, app->n_pairs, app->spread++,
			  lab->routing == ARK ? OSR_KEY_AS_IS : OSR_KEY_FINE);
		count(lab, app->pair, app->n_pairs, 1);
	}
	return follow(lab, from, to, links);
}

static void arrived(void *ctx, uint32_t i, uint32_t step, uint32_t message, double now)
{
	struct lab *lab = ctx;

	if (lab->routing == CONGA)
		conga_feedback(lab, lab->app[i].pair[message].from);
}

static void phase_over(void *ctx, uint32_t i, uint32_t step, double began, double now)
{
	struct lab *lab = ctx;
	struct app *app = &lab->app[i];

	app->total += now - began - app->calc;
	if (app->active)
		count(lab, app->pair, app->n_pairs, -1);
	app->active = false;
}

static int run_time(struct lab *lab, unsigned side, uint64_t seed)
{
	double longest = 0, end;
	uint32_t max_sharing;
	size_t cells;

	grow(lab, 3, side);
	if (side > 16 || !lab->job.n_apps || lab->job.n_apps > lab->n_hosts / 2)
		die(lab, "sides up to 16, and two hosts an application at least");
	lab->prng.state = seed;
	deal(lab);
	if (lab->routing == DMODK || lab->routing == SSSP)
		route_base(lab, routing_names[lab->routing]);
	if (lab->routing == CONGA) {
		cells = (size_t)lab->fabric.n_switches * lab->fabric.n_switches * 16;
		lab->job.passed = passed;
		lab->dre = get(lab, lab->job.n_links, sizeof(*lab->dre));
		lab->remote = get(lab, cells, sizeof(*lab->remote));
		lab->remote_time = get(lab, cells, sizeof(*lab->remote_time));
		lab->flowlet = get(lab, lab->fabric.n_terminals, sizeof(*lab->flowlet));
		lab->flowlet_to = get(lab, lab->fabric.n_terminals, sizeof(*lab->flowlet_to));
		for (size_t i = 0; i < cells; i++)
			lab->remote_time[i] = -AGE;
		memset(lab->flowlet_to, 0xff, lab->fabric.n_terminals * sizeof(*lab->flowlet_to));
	}
	lab->job.max_messages = lab->app[0].n_ranks;
	lab->job.phase = next_phase;
	lab->job.path = path_of;
	lab->job.arrived = arrived;
	lab->job.phase_over = phase_over;
	end = osr_flow_run(&lab->job, &max_sharing);
	for (uint32_t i = 0; i < lab->job.n_apps; i++)
		longest = fmax(longest, lab->app[i].total);
	printf("%.9g %.9g %u\n", longest, end, max_sharing);
	return 0;
}

/* Stages of a collective ----------------------------------------------------------------------- */

/*
 * With a barrier, one application; otherwise one for each message that a rank may have under way.
 */
static bool stage_phase(void *ctx, uint32_t app, uint32_t step, struct osr_flow_phase *phase)
{
	struct lab *lab = ctx;

	*phase = (struct osr_flow_phase){ lab->job.max_messages, 0, MESSAGE, 0 };
	return (lab->in_flight ? step * lab->in_flight + app % lab->in_flight : step) <
	       lab->n_stages;
}

static uint32_t stage_path(void *ctx, uint32_t app, uint32_t step, uint32_t message,
			   uint32_t *links)
{
	const struct lab *lab = ctx;
	uint32_t stage = lab->in_flight ? step * lab->in_flight + app % lab->in_flight : step;
	uint32_t rank = lab->in_flight ? app / lab->in_flight : message;
	uint32_t to = lab->to[(size_t)stage * lab->n_hosts + rank];

	return to == OSR_NONE ? 0 : follow(lab, lab->host[rank], lab->host[to], links);
}

/* The part of the hosts' bandwidth that is reached. */
static int run_stages(struct lab *lab, char **argv)
{
	double host_rate = atof(argv[7]) * 1e6, link_rate = atof(argv[8]) * 1e6, end;
	struct osr_prng prng = { .state = strtoull(argv[3], NULL, 0) };
	struct osr_traffic traffic = { .hosts = NULL };
	const struct osr_phases *phases = &traffic.phases;
	uint32_t most = (uint32_t)atoi(argv[5]), max_sharing;
	struct osr_endports endports;
	struct osr_net net = { 0 };
	struct osr_lines in;

	if (osr_fabricfile_read(osr_lines_open(&in, argv[0], &lab->diag), &net) ||
	    osr_net_fabric(&net, -1, &lab->arena, &lab->fabric, &lab->diag))
		die(lab, argv[0]);
	osr_net_free(&net);
	route_base(lab, argv[1]);
	lab->host = get(lab, lab->fabric.n_terminals, sizeof(*lab->host));
	if (osr_endports_init(&endports, &lab->fabric, &lab->arena, &lab->diag) ||
	    osr_hostlist_read(osr_lines_open(&in, argv[2], &lab->diag), &endports, lab->host,
			      &lab->n_hosts))
		die(lab, argv[2]);
	if (prng.state)
		osr_prng_shuffle(&prng, lab->host, lab->n_hosts);
	if (osr_traffic_read(osr_lines_open(&in, argv[4], &lab->diag), NULL, &traffic))
		die(lab, argv[4]);
	lab->n_stages = most && most < phases->n_phases ? most : phases->n_phases;
	lab->to = get(lab, (size_t)lab->n_stages * lab->n_hosts, sizeof(*lab->to));
	memset(lab->to, 0xff, (size_t)lab->n_stages * lab->n_hosts * sizeof(*lab->to));
	for (uint32_t k = 0; k < lab->n_stages; k++)
		for (uint32_t i = phases->row[k]; i < phases->row[k + 1]; i++)
			lab->to[(size_t)k * lab->n_hosts + phases->pair[i].from] =
				phases->pair[i].to;
	osr_traffic_free(&traffic);
	lab->in_flight = (uint32_t)atoi(argv[6]);
	set_links(lab, link_rate, host_rate);
	lab->job.n_apps = lab->in_flight ? lab->n_hosts * lab->in_flight : 1;
	lab->job.max_messages = lab->in_flight ? 1 : lab->n_hosts;
	lab->job.phase = stage_phase;
	lab->job.path = stage_path;
	end = osr_flow_run(&lab->job, &max_sharing);
	printf("%.6f %u %u\n", lab->n_stages * MESSAGE / host_rate / end, max_sharing,
	       lab->n_stages);
	return 0;
}

int main(int argc, char **argv)
{
	struct lab lab = { 0 };

	if (argc == 4 && !strcmp(argv[1], "load"))
		return figure4(&lab, (unsigned)atoi(argv[2]), strtoull(argv[3], NULL, 0));
	if (argc == 11 && !strcmp(argv[1], "stages"))
		return run_stages(&lab, argv + 2);
	if ((argc == 8 || argc == 9 || argc == 11) && !strcmp(argv[1], "time")) {
		for (lab.routing = MESH; lab.routing < N_ROUTINGS; lab.routing++)
			if (!strcmp(routing_names[lab.routing], argv[6]))
				break;
		lab.job.n_apps = (uint32_t)atoi(argv[3]);
		lab.utilization = atof(argv[4]) / 100;
		lab.kb = atof(argv[7]);
		lab.n_phases = argc >= 9 ? (uint32_t)atoi(argv[8]) : 60;
		lab.request = argc == 11 ? atof(argv[9]) * 1e-6 : 0;
		lab.latency = argc == 11 ? atof(argv[10]) * 1e-6 : 0;
		if (lab.routing < N_ROUTINGS && lab.utilization > 0 && lab.utilization <= 1)
			return run_time(&lab, (unsigned)atoi(argv[2]), strtoull(argv[5], NULL, 0));
	}
	fputs("osr-flow load SIDE SEED\n"
	      "osr-flow time SIDE APPS PERCENT SEED ROUTING KB [PHASES]\n",
	      stderr);
	return 2;
}

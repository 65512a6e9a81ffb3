/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Planes of fat trees by exchange (core/planes): by what an automorphism leaves as it is, on whole
 * trees; by what plane 0 may be exceeded by, on damaged ones; against all tables that there are, on
 * very small ones; and after faults. Tables are judged by tables.h, which follows every packet.
 */
#include "test.h"

#include <math.h>

#include <osmroutes/each.h>
#include <osmroutes/split.h>
#include <osmroutes/sweep.h>

#include "core/planes/planes_private.h"
#include "fabrics.h"
#include "faults.h"
#include "sweeps.h"
#include "tables.h"
#include "topos.h"

#define MOST_LMC 3

struct tables {
	struct osr_arena arena, scratch;
	struct osr_fabric fabric, first;
	struct osr_result one; /* of `first` */
	struct osr_routing routing;
	struct planes_offer offer;
	struct osr_diag diag;
	enum osr_status st; /* of the exchange */
};

static const struct osr_request request = { .max_vls = 8, .multicast = true };

/* Other GUIDs, so that switches have another order. */
static void shuffle(struct osr_net *net, uint64_t seed)
{
	for (uint32_t i = 0; seed && i < net->n_nodes; i++)
		net->nodes[i].guid = test_random(&seed) | 1;
}

typedef enum osr_status exchanger(struct planes_in *in, struct planes_offer *offer,
				  struct osr_diag *why);

/* Plane 0 by an engine, and all planes by exchange, whatever the choice would be. */
static void make(struct osr_net *net, const char *engine, uint8_t lmc, exchanger *exchange,
		 struct tables *tables)
{
	struct planes_in in = { .fabric = &tables->fabric,
				.first = &tables->first,
				.scratch = &tables->scratch };
	struct osr_sweep sweep;

	*tables = (struct tables){ .diag = { "" } };
	if (osr_net_fabric(net, lmc, &tables->arena, &tables->fabric, &tables->diag) ||
	    osr_planes_first_fabric(&tables->fabric, &tables->arena, &tables->first, &tables->diag))
		fail_msg("%s", tables->diag.text);
	tables->one.fabric = tables->first;
	tables->st = test_route(engine, "", request, NULL, &tables->arena, &tables->one, &sweep,
				&tables->diag);
	if (tables->st)
		return;
	in.plane0 = &tables->one.routing;
	if (osr_planes_repeat(&tables->fabric, &tables->arena, &in.mates, &tables->diag))
		fail_msg("%s", tables->diag.text);
	tables->st = exchange(&in, &tables->offer, &tables->diag);
	if (tables->st)
		return;
	assert_int_equal(osr_planes_expand(&tables->fabric, &tables->first, &tables->offer.first,
					   &tables->offer.planes, &tables->offer.own,
					   &tables->arena, &tables->routing, &tables->diag),
			 OSR_OK);
}

static void drop(struct tables *tables)
{
	osr_arena_free(&tables->arena);
	osr_arena_free(&tables->scratch);
}

/* Channels from switch s to LID d. */
static uint32_t follow(const struct tables *tables, uint32_t s, uint32_t d, uint32_t *path)
{
	const struct osr_fabric *fabric = &tables->fabric;
	uint32_t n = 0;

	while (s != fabric->dest_switch[d]) {
		path[n] = osr_port_channel(fabric, s, osr_lft(&tables->routing, s, d));
		s = fabric->chan_dst[path[n++]];
		assert_true(n <= fabric->n_switches);
	}
	return n;
}

/*
 * Loads of plane k, in routes on a channel of the fastest rate. All routes are as long as in plane
 * 0.
 */
static void load_plane(const struct tables *tables, uint32_t k, double *load)
{
	const struct osr_fabric *fabric = &tables->fabric;
	uint32_t path[256], ignored[256];
	double fastest = 1;

	for (uint32_t c = 0; c < fabric->n_channels; c++) {
		fastest = fmax(fastest, fabric->chan_rate[c]);
		load[c] = 0;
	}
	OSR_EACH_DEST(d, fabric) {
		if (osr_plane_of(fabric, d) != k || !fabric->term_weight[fabric->dest_term[d]])
			continue;
		OSR_EACH_SWITCH(s, fabric) {
			uint32_t n = follow(tables, s, d, path);

			assert_int_equal(n, follow(tables, s, osr_first_dest(fabric, d), ignored));
			for (uint32_t i = 0; i < n; i++)
				load[path[i]] +=
					fabric->sw_sources[s] * fastest /
					(fabric->chan_rate[path[i]] ? fabric->chan_rate[path[i]]
								    : fastest);
		}
	}
}

static int by_load(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

/*
 * Claims of plane 0, rows of plane 0, and no channel carries more than `excess` times what the busiest
 * one does in plane 0, by the mean of all planes; `whole`: in each plane the same loads elsewhere.
 */
static void judge(const struct tables *tables, double excess, bool whole, const char *what)
{
	const struct osr_fabric *fabric = &tables->fabric;
	double *first = calloc(fabric->n_channels, sizeof(*first)),
	       *load = calloc(fabric->n_channels, sizeof(*load)),
	       *sum = calloc(fabric->n_channels, sizeof(*sum)), most = 0, most_of_all = 0;
	uint32_t n_own = 0;
	struct osr_verdict verdict;

	if (!table_judge(fabric, &tables->routing, &verdict))
		fail_msg("%s: wrong tables", what);
	assert_int_equal(verdict.proven, tables->one.routing.claims);
	assert_int_equal(tables->routing.n_vls, tables->one.routing.n_vls);
	OSR_EACH_DEST(d, &tables->first)
		assert_memory_equal(tables->one.routing.lft + (size_t)d * fabric->n_switches,
				    tables->routing.lft +
					    (size_t)fabric->lid_dest[tables->first.dest_lid[d]] *
						    fabric->n_switches,
				    fabric->n_switches);
	load_plane(tables, 0, first);
	for (uint32_t c = 0; c < fabric->n_channels; c++) {
		most = fmax(most, first[c]);
		sum[c] = first[c];
	}
	for (uint32_t k = 1; k < tables->routing.planes.n; k++) {
		load_plane(tables, k, load);
		for (uint32_t c = 0; c < fabric->n_channels; c++) {
			sum[c] += load[c];
			most_of_all = fmax(most_of_all, sum[c]);
		}
		qsort(load, fabric->n_channels, sizeof(*load), by_load);
		if (k == 1)
			qsort(first, fabric->n_channels, sizeof(*first), by_load);
		if (whole)
			assert_memory_equal(load, first, fabric->n_channels * sizeof(*load));
	}
	if (most_of_all > most * excess * tables->routing.planes.n)
		fail_msg("%s: %.1f on a channel in all planes, and at most %.1f in plane 0", what,
			 most_of_all, most);
	OSR_EACH_DEST(d, fabric)
		n_own += tables->routing.planes.tree_of[d] != osr_first_dest(fabric, d);
	if (!n_own)
		fail_msg("%s: nothing has changed places", what);
	free(first);
	free(load);
	free(sum);
}

static const char *const trees[] = {
	"tree m=4,4 w=1,4",         "tree m=6,5 w=1,3",     "tree m=4,5 w=1,2 p=1,2",
	"tree m=3,3,3 w=1,3,3",     "tree m=5,3,3 w=1,4,2", "tree m=4,3,2 w=1,2,3 p=1,2,1",
	"tree m=2,2,2,2 w=1,2,2,2",
};

#define N_TREES (sizeof(trees) / sizeof(*trees))

/* Cables by which leaf s sends to the LIDs of a port elsewhere, at least. */
static uint32_t fewest_ways(const struct tables *tables)
{
	const struct osr_fabric *fabric = &tables->fabric;
	uint32_t fewest = UINT32_MAX;

	OSR_EACH_DEST(first, fabric)
		OSR_EACH_SWITCH(s, fabric) {
			bool used[256] = { false };
			uint32_t n = 0;

			if (osr_plane_of(fabric, first) ||
			    !fabric->term_weight[fabric->dest_term[first]] ||
			    !fabric->sw_sources[s] || s == fabric->dest_switch[first])
				continue;
			for (uint32_t d = first;
			     d < fabric->n_dests && osr_first_dest(fabric, d) == first; d++) {
				uint8_t port = osr_lft(&tables->routing, s, d);

				n += !used[port];
				used[port] = true;
			}
			fewest = n < fewest ? n : fewest;
		}
	return fewest;
}

static void test_whole(void **state)
{
	for (unsigned i = 0; i < N_TREES * 2 * MOST_LMC; i++) {
		const char *what = trees[i % N_TREES],
			   *engine = i / N_TREES % 2 ? "dmodk" : "dfsssp";
		uint8_t lmc = (uint8_t)(1 + i / N_TREES / 2);
		struct osr_net net = { 0 };
		struct tables tables;
		struct osr_diag diag;
		char name[100];

		snprintf(name, sizeof(name), "%s on %s, LMC %u", engine, what, lmc);
		assert_int_equal(topo_net(what, NULL, &net, &diag), OSR_OK);
		shuffle(&net, i);
		make(&net, engine, lmc, osr_planes_exchange, &tables);
		if (tables.st)
			fail_msg("%s: %s", name, tables.diag.text);
		judge(&tables, 1, true, name);
		/* With four top switches for each leaf as many ways, until there are more LIDs. */
		if (strstr(what, "w=1,4"))
			assert_int_equal(fewest_ways(&tables), lmc < 2 ? 2 : 4);
		drop(&tables);
		osr_net_free(&net);
	}
}

/* All around: the same loads elsewhere; the first two LIDs are those of blocks; more ways than a block has. */
static void test_all_around(void **state)
{
	unsigned n_served = 0;

	for (unsigned i = 0; i < N_TREES * 2; i++) {
		const char *what = trees[i % N_TREES],
			   *engine = i / N_TREES % 2 ? "dmodk" : "dfsssp";
		struct osr_net net = { 0 };
		struct tables tables, blocks;
		struct osr_diag diag;

		assert_int_equal(topo_net(what, NULL, &net, &diag), OSR_OK);
		shuffle(&net, i);
		make(&net, engine, 3, osr_planes_exchange, &blocks);
		make(&net, engine, 3, osr_planes_exchange_round, &tables);
		assert_true(tables.st == OSR_OK || tables.st == OSR_NOT_APPLICABLE);
		n_served += !tables.st;
		if (!tables.st) {
			const struct osr_fabric *fabric = &tables.fabric;

			judge(&tables, 1, true, what);
			OSR_EACH_DEST(d, fabric)
				if (osr_plane_of(fabric, d) < 2)
					assert_memory_equal(
						tables.routing.lft + (size_t)d * fabric->n_switches,
						blocks.routing.lft + (size_t)d * fabric->n_switches,
						fabric->n_switches);
			if (strstr(what, "w=1,3"))
				assert_int_equal(fewest_ways(&tables), 3);
		}
		drop(&tables);
		drop(&blocks);
		osr_net_free(&net);
	}
	assert_true(n_served >= N_TREES);
}

/* Cables by which s may send to a LID over a route as long as that to the first LID. */
static uint32_t ways_from(const struct tables *tables, uint32_t s, uint32_t d)
{
	const struct osr_fabric *fabric = &tables->fabric;
	uint32_t path[256], length = follow(tables, s, d, path), n = 0;

	OSR_EACH_CHANNEL(c, fabric, s)
		n += follow(tables, fabric->chan_dst[c], d, path) + 1 == length;
	return n;
}

/*
 * The share of pairs of a leaf and a host elsewhere with as many ways out of the leaf as there are
 * LIDs, or cables that lead there.
 */
static double share_of_ways(const struct tables *tables)
{
	const struct osr_fabric *fabric = &tables->fabric;
	uint32_t n_all = 0, n_good = 0;

	OSR_EACH_DEST(first, fabric)
		OSR_EACH_SWITCH(s, fabric) {
			bool used[256] = { false };
			uint32_t n = 0, n_lids = 0, n_ways;

			if (osr_plane_of(fabric, first) || !fabric->sw_sources[s] ||
			    !fabric->term_weight[fabric->dest_term[first]] ||
			    s == fabric->dest_switch[first])
				continue;
			for (uint32_t d = first;
			     d < fabric->n_dests && osr_first_dest(fabric, d) == first; d++) {
				uint8_t port = osr_lft(&tables->routing, s, d);

				n += !used[port];
				used[port] = true;
				n_lids++;
			}
			n_ways = ways_from(tables, s, first);
			n_all++;
			n_good += n >= (n_lids < n_ways ? n_lids : n_ways);
		}
	return n_all ? (double)n_good / n_all : 1;
}

/*
 * Cables and top switches are missing: all planes together are balanced, and nearly all LIDs of a
 * host have ways of their own, as far as there are some.
 */
static void try_damaged(exchanger *exchange, double least)
{
	unsigned n_served = 0;
	double share = 0;

	for (unsigned i = 0; i < 60; i++) {
		const char *what = trees[i % N_TREES];
		struct osr_net net = { 0 }, damaged;
		struct osr_diag diag;
		struct tables tables;
		char name[100];

		snprintf(name, sizeof(name), "%s, damage %u", what, i);
		assert_int_equal(topo_net(what, NULL, &net, &diag), OSR_OK);
		degrade_net(&net,
			    (struct osr_degrade){ .n_links = i % 5,
						  .n_switches = i % 3 == 0,
						  .seed = i + 1,
						  .keep_connected = true },
			    &damaged);
		shuffle(&damaged, i);
		make(&damaged, "dfsssp", 1 + i % 3, exchange, &tables);
		assert_true(tables.st == OSR_OK || tables.st == OSR_NOT_APPLICABLE);
		if (!tables.st) {
			judge(&tables, 1.03, false, name);
			share += share_of_ways(&tables);
			n_served++;
		}
		drop(&tables);
		osr_net_free(&net);
		osr_net_free(&damaged);
	}
	assert_true(n_served >= 40);
	if (share < least * n_served)
		fail_msg("%.3f of all pairs have all ways", share / n_served);
}

static void test_damaged(void **state)
{
	try_damaged(osr_planes_exchange, 0.75);
}

static void test_ways(void **state)
{
	try_damaged(osr_planes_ways, 0.9);
}

/* ---- against all tables ---------------------------------------------------------------------- */

#define MOST_HOSTS 8

/* Two levels: the way from a leaf to a LID is its spine. */
struct small {
	const struct osr_fabric *fabric;
	uint32_t n_hosts, leaf[MOST_HOSTS]; /* numbers of switches */
	uint32_t n_leaves;
};

/*
 * by[plane][host][leaf]: spine. The mean of the slowest parts of flows over all bisections, each
 * flow in two parts.
 */
static double split_of(const struct small *small, uint32_t (*by)[MOST_HOSTS][MOST_HOSTS])
{
	uint32_t n = small->n_hosts, half = n / 2, order[MOST_HOSTS], n_all = 0;
	double sum = 0;

	/* All orders of the hosts, by counting in factorials. */
	for (uint32_t code = 0, all = 1; code < all; code++) {
		double up[MOST_HOSTS][MOST_HOSTS] = { 0 }, down[MOST_HOSTS][MOST_HOSTS] = { 0 };
		uint32_t left = code;
		bool used[MOST_HOSTS] = { false };

		for (uint32_t i = 0, product = 1; i < n && !code; i++)
			all = product *= n - i;
		for (uint32_t i = 0; i < n; i++) {
			uint32_t skip = left % (n - i), h = 0;

			left /= n - i;
			for (; used[h] || skip; h++)
				skip -= !used[h];
			used[h] = true;
			order[i] = h;
		}
		for (uint32_t i = 0; i < half; i++) {
			uint32_t a = small->leaf[order[i]], d = order[half + i], b = small->leaf[d];

			for (unsigned k = 0; k < 2 && a != b; k++) {
				up[a][by[k][d][a]] += 0.5;
				down[by[k][d][a]][b] += 0.5;
			}
		}
		for (uint32_t i = 0; i < half; i++) {
			uint32_t a = small->leaf[order[i]], d = order[half + i], b = small->leaf[d];
			double slowest = 1;

			for (unsigned k = 0; k < 2 && a != b; k++) {
				uint32_t spine = by[k][d][a];

				slowest = fmin(slowest, 1 / fmax(up[a][spine], down[spine][b]));
			}
			sum += slowest;
			n_all++;
		}
	}
	return sum / n_all;
}

/* No channel carries more in plane 1 than the busiest in plane 0. */
static bool within(const struct small *small, uint32_t (*by)[MOST_HOSTS][MOST_HOSTS])
{
	uint32_t most[2] = { 0 };

	for (unsigned k = 0; k < 2; k++) {
		uint32_t up[MOST_HOSTS][MOST_HOSTS] = { 0 }, down[MOST_HOSTS][MOST_HOSTS] = { 0 };

		for (uint32_t d = 0; d < small->n_hosts; d++)
			for (uint32_t i = 0; i < small->n_hosts; i++) {
				uint32_t a = small->leaf[i], b = small->leaf[d],
					 spine = by[k][d][a];

				if (a == b)
					continue;
				up[a][spine]++;
				down[spine][b]++;
				most[k] = up[a][spine] > most[k] ? up[a][spine] : most[k];
				most[k] = down[spine][b] > most[k] ? down[spine][b] : most[k];
			}
	}
	return most[1] <= most[0];
}

/* The best second plane that there is beside plane 0. */
static double best_of(const struct small *small, uint32_t n_spines,
		      uint32_t (*by)[MOST_HOSTS][MOST_HOSTS])
{
	uint32_t n = 0, host[64], leaf[64];
	double best = 0;

	for (uint32_t d = 0; d < small->n_hosts; d++)
		for (uint32_t a = 0; a < small->n_leaves; a++)
			if (a != small->leaf[d]) {
				host[n] = d;
				leaf[n++] = a;
			}
	for (uint64_t code = 0;; code++) {
		uint64_t left = code;

		for (uint32_t i = 0; i < n; i++, left /= n_spines)
			by[1][host[i]][leaf[i]] = (uint32_t)(left % n_spines);
		if (left)
			return best;
		if (within(small, by))
			best = fmax(best, split_of(small, by));
	}
}

static void test_best(void **state)
{
	static const struct {
		const char *what;
		uint32_t n_spines;
	} cases[] = { { "tree m=2,3 w=1,2", 2 },
		      { "tree m=3,2 w=1,3", 3 },
		      { "tree m=3,2 w=1,2", 2 } };

	for (unsigned i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		uint32_t by[2][MOST_HOSTS][MOST_HOSTS];
		struct osr_arena arena = { 0 };
		struct osr_result result = { 0 };
		struct small small = { .fabric = &result.fabric };
		struct osr_sweep sweep;
		struct osr_diag diag;
		uint32_t number[64];
		double ours, best;

		topo_fabric(cases[i].what, NULL, 1, &arena, &result.fabric);
		assert_int_equal(
			test_route("dfsssp", "", request, NULL, &arena, &result, &sweep, &diag),
			OSR_OK);
		/* Leaves and spines are numbered apart. */
		for (uint32_t v = 0, n_spines = 0; v < result.fabric.n_switches; v++)
			number[v] = result.fabric.sw_sources[v] ? small.n_leaves++ : n_spines++;
		OSR_EACH_DEST(d, &result.fabric) {
			uint32_t k = osr_plane_of(&result.fabric, d), h = small.n_hosts - k;

			if (!result.fabric.term_weight[result.fabric.dest_term[d]])
				continue;
			small.n_hosts += !k;
			small.leaf[h] = number[result.fabric.dest_switch[d]];
			OSR_EACH_SWITCH(v, &result.fabric) {
				uint32_t c = osr_port_channel(&result.fabric, v,
							      osr_lft(&result.routing, v, d));

				if (result.fabric.sw_sources[v] && c != OSR_NONE)
					by[k][h][number[v]] = number[result.fabric.chan_dst[c]];
			}
		}
		ours = split_of(&small, by);
		best = best_of(&small, cases[i].n_spines, by);
		if (ours * 1.01 < best)
			fail_msg("%s: %.4f of a link, %.4f is possible", cases[i].what, ours, best);
		osr_arena_free(&arena);
	}
}

/* ---- after faults ---------------------------------------------------------------------------- */

/* Entries that differ, by switch and LID. */
static uint64_t changed(const struct osr_result *before, const struct osr_result *now)
{
	uint64_t n_entries;

	return osr_routing_changed(before, &now->fabric, &now->routing, &n_entries);
}

/*
 * Each cable is away, and returns: as much changes with 2^LMC LIDs a port as 2^LMC times what
 * changes with one, and a half; no re-route is refused; and all tables are as before when the cable
 * is back.
 */
static void test_faults(void **state)
{
	static const char *const what = "tree m=5,3,3 w=1,4,2";
	uint64_t n_changed[2] = { 0 };

	for (unsigned lmc = 0; lmc <= 2; lmc += 2) {
		struct osr_arena arena = { 0 };
		struct osr_result whole = { 0 };
		struct osr_sweep sweep;
		struct osr_diag diag;
		struct faults faults;

		topo_fabric(what, NULL, (int)lmc, &arena, &whole.fabric);
		assert_int_equal(
			test_route("dfsssp", "", request, NULL, &arena, &whole, &sweep, &diag),
			OSR_OK);
		assert_true(!lmc || whole.routing.planes.kind[1] == OSR_PLANE_EXCHANGE);
		faults_new(&faults, &whole.fabric);
		for (uint32_t c = 0; c < whole.fabric.n_channels; c++) {
			struct osr_arena mine = { 0 };
			struct osr_result now = { 0 }, again = { 0 };

			if (c > whole.fabric.chan_rev[c])
				continue;
			faults_cable(&faults, c, true);
			faults_build(&faults, &mine, &now.fabric);
			faults_cable(&faults, c, false);
			assert_int_equal(test_route("dfsssp", "rebalance=0", request, &whole, &mine,
						    &now, &sweep, &diag),
					 OSR_OK);
			assert_true(now.routing.stable.kept && !sweep.refused);
			assert_true(sweep.verdict.proven & OSR_CLAIM_ANY_SL);
			n_changed[lmc != 0] += changed(&whole, &now);
			faults_build(&faults, &mine, &again.fabric);
			assert_int_equal(test_route("dfsssp", "rebalance=0", request, &now, &mine,
						    &again, &sweep, &diag),
					 OSR_OK);
			assert_int_equal(changed(&whole, &again), 0);
			osr_arena_free(&mine);
		}
		faults_free(&faults);
		osr_arena_free(&arena);
	}
	assert_in_range(n_changed[1], 1, 6 * n_changed[0]);
}

TEST_PROGRAM(test_whole, test_all_around, test_damaged, test_ways, test_best, test_faults)

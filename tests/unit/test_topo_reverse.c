/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Planes with the dimensions in reverse (core/planes/reverse.c), by what defines them: every second
 * LID of a host is sent to as plane 0 comes back. Whole fabrics, with switches in any order; few
 * lanes; after faults. Tables are judged by tables.h, which follows every packet.
 */
#include "test.h"

#include <osmroutes/each.h>
#include <osmroutes/sweep.h>

#include "fabrics.h"
#include "faults.h"
#include "sweeps.h"
#include "tables.h"
#include "topos.h"

static const struct osr_request request = { .max_vls = 8, .multicast = true };

/* A fabric with 2^LMC LIDs a host, its switches in an order of the seed's, and its tables. */
static void make(const char *what, uint64_t seed, int lmc, struct osr_request req,
		 struct osr_arena *arena, struct osr_result *result)
{
	struct osr_diag diag = { "" };
	struct osr_net net = { 0 };
	struct osr_sweep sweep;

	*result = (struct osr_result){ .confirmed = false };
	if (topo_net(what, NULL, &net, &diag))
		fail_msg("%s: %s", what, diag.text);
	for (uint32_t i = 0; seed && i < net.n_nodes; i++)
		net.nodes[i].guid = test_random(&seed) | 1;
	if (osr_net_fabric(&net, lmc, arena, &result->fabric, &diag) ||
	    test_route("dfsssp", "", req, NULL, arena, result, &sweep, &diag))
		fail_msg("%s: %s", what, diag.text);
	osr_net_free(&net);
}

/* Channels from switch s to LID d. */
static uint32_t follow(const struct osr_result *result, uint32_t s, uint32_t d, uint32_t *path)
{
	const struct osr_fabric *fabric = &result->fabric;
	uint32_t n = 0;

	while (s != fabric->dest_switch[d]) {
		path[n] = osr_port_channel(fabric, s, osr_lft(&result->routing, s, d));
		s = fabric->chan_dst[path[n++]];
		assert_true(n <= 8);
	}
	return n;
}

/*
 * Are the channels from s to d those by which plane 0 sends from d's switch to some host of s, the
 * other way round?
 */
static bool is_way_back(const struct osr_result *result, uint32_t s, uint32_t d)
{
	const struct osr_fabric *fabric = &result->fabric;
	uint32_t there[8], back[8], n = follow(result, s, d, there);

	OSR_EACH_TERMINAL(t, fabric, s) {
		uint32_t host = fabric->lid_dest[fabric->term_lid[t]], i = 0;

		if (!fabric->term_weight[t] ||
		    follow(result, fabric->dest_switch[d], host, back) != n)
			continue;
		while (i < n && there[i] == fabric->chan_rev[back[n - 1 - i]])
			i++;
		if (i == n)
			return true;
	}
	return false;
}

/* Routes on the busiest channel, to the LIDs of one plane. */
static uint32_t busiest(const struct osr_result *result, uint32_t k)
{
	const struct osr_fabric *fabric = &result->fabric;
	uint32_t *load = calloc(fabric->n_channels, sizeof(*load)), path[8], most = 0;

	OSR_EACH_DEST(d, fabric) {
		if (osr_plane_of(fabric, d) != k || !fabric->term_weight[fabric->dest_term[d]])
			continue;
		OSR_EACH_SWITCH(s, fabric) {
			uint32_t n = follow(result, s, d, path);

			for (uint32_t i = 0; i < n; i++)
				most = (load[path[i]] += fabric->sw_sources[s]) > most
					       ? load[path[i]]
					       : most;
		}
	}
	free(load);
	return most;
}

static const struct {
	const char *what;
	uint8_t n_vls;
} shapes[] = {
	{ "hyperx dims=5x5 hosts=4", 2 },     { "hyperx dims=7x4 hosts=3", 2 },
	{ "hyperx dims=4x4x4 hosts=3", 3 },   { "hyperx dims=5x4x3 hosts=4", 3 },
	{ "hyperx dims=3x3x3x2 hosts=2", 3 }, { "hypercube n=6 hosts=2", 3 },
};

#define N_SHAPES (sizeof(shapes) / sizeof(*shapes))

static void test_ways_back(void **state)
{
	unsigned n_reversed = 0;

	for (unsigned i = 0; i < 3 * N_SHAPES; i++) {
		struct osr_arena arena = { 0 };
		struct osr_result one, result;
		struct osr_verdict verdict;
		const char *what = shapes[i % N_SHAPES].what;
		const struct osr_fabric *fabric = &result.fabric;
		unsigned lmc = 1 + i / N_SHAPES;

		make(what, i, 0, request, &arena, &one);
		make(what, i, (int)lmc, request, &arena, &result);
		/* Elsewhere too little is to be gained. */
		if (result.routing.planes.kind[1] != OSR_PLANE_REVERSE) {
			assert_int_equal(result.routing.n_vls, 1);
			osr_arena_free(&arena);
			continue;
		}
		n_reversed++;
		assert_int_equal(result.routing.n_vls, shapes[i % N_SHAPES].n_vls);
		if (!table_judge(fabric, &result.routing, &verdict))
			fail_msg("%s: wrong tables", what);
		assert_int_equal(verdict.proven, one.routing.claims);
		OSR_EACH_DEST(d, fabric) {
			uint32_t k = osr_plane_of(fabric, d), first = osr_first_dest(fabric, d);

			OSR_EACH_SWITCH(s, fabric) {
				if (k % 2 && s != fabric->dest_switch[d])
					assert_true(is_way_back(&result, s, d));
				else
					assert_int_equal(osr_lft(&result.routing, s, d),
							 osr_lft(&result.routing, s, first));
			}
		}
		assert_int_equal(busiest(&result, 0), busiest(&one, 0));
		assert_int_equal(busiest(&result, 1), busiest(&one, 0));
		osr_arena_free(&arena);
	}
	assert_true(n_reversed >= 2 * N_SHAPES);
}

/*
 * With a lane less than it takes, and where service levels have lanes of their own, the first LID
 * is repeated.
 */
static void test_few_lanes(void **state)
{
	for (unsigned i = 0; i < 2 * N_SHAPES; i++) {
		struct osr_request few = request;
		struct osr_arena arena = { 0 };
		struct osr_result result;

		if (i < N_SHAPES)
			few.max_vls = shapes[i].n_vls - 1;
		else
			few.chosen_sls = 3;
		make(shapes[i % N_SHAPES].what, i, 1, few, &arena, &result);
		assert_true(result.routing.planes.kind[1] != OSR_PLANE_REVERSE);
		assert_int_equal(result.routing.n_vls, 1);
		osr_arena_free(&arena);
	}
}

/*
 * Each cable is away, and returns: all is proven that was, the tables are repaired, and at last
 * they are as before.
 */
static void test_faults(void **state)
{
	for (unsigned i = 0; i < N_SHAPES; i++) {
		struct osr_arena arena = { 0 };
		struct faults faults;
		struct osr_result whole;

		make(shapes[i].what, i, 1, request, &arena, &whole);
		faults_new(&faults, &whole.fabric);
		for (uint32_t c = 0; c < whole.fabric.n_channels; c += 17) {
			struct osr_arena mine = { 0 };
			struct osr_result now = { .confirmed = false }, again = now;
			struct osr_sweep sweep;
			struct osr_verdict verdict;
			struct osr_diag diag = { "" };

			faults_cable(&faults, c, true);
			faults_build(&faults, &mine, &now.fabric);
			faults_cable(&faults, c, false);
			if (test_route("dfsssp", "rebalance=0", request, &whole, &mine, &now,
				       &sweep, &diag))
				fail_msg("%s: %s", shapes[i].what, diag.text);
			if (!now.routing.stable.kept || sweep.refused)
				fail_msg("%s: %s", shapes[i].what, now.routing.stable.why);
			assert_true(table_judge(&now.fabric, &now.routing, &verdict));
			assert_int_equal(verdict.proven & whole.routing.claims & ~OSR_CLAIM_MINIMAL,
					 whole.routing.claims & ~OSR_CLAIM_MINIMAL);
			faults_build(&faults, &mine, &again.fabric);
			if (test_route("dfsssp", "rebalance=0", request, &now, &mine, &again,
				       &sweep, &diag))
				fail_msg("%s: %s", shapes[i].what, diag.text);
			assert_true(again.digest == whole.digest);
			osr_arena_free(&mine);
		}
		faults_free(&faults);
		osr_arena_free(&arena);
	}
}

TEST_PROGRAM(test_ways_back, test_few_lanes, test_faults)

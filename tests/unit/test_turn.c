/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Lanes by turn on random fabrics, with every budget: the judge of tables.h follows every packet of
 * every end port on every SL, and multicast, by the tables alone. Fabrics of diameter 2,
 * dragonflies: test_topo_bound.c; repairs: test_repair.c.
 */
#include "test.h"

#include <osmroutes/check.h>
#include "core/lanes/turn.h"
#include "core/repair/repair_private.h"

#include "fabrics.h"
#include "tables.h"
#include "tori.h"

struct turn_trial {
	uint16_t chosen_sls;
	struct test_fabric test;
	struct osr_arena scratch, result;
	struct osr_routing routing;
	struct osr_diag diag;
};

/* The loads that the search has kept step by step are those of the routes that it ends with. */
static void assert_loads_hold(const struct osr_spf *spf)
{
	const struct osr_fabric *fabric = spf->fabric;
	uint64_t *load = calloc(fabric->n_channels + 1, sizeof(*load));

	for (uint32_t d = 0; d < fabric->n_dests; d++)
		for (uint32_t from = 0; from < fabric->n_switches; from++) {
			const uint8_t *hop = spf->hop + (size_t)d * fabric->n_switches;
			uint32_t root = fabric->dest_switch[d];

			for (uint32_t v = from; v != root && hop[v] != OSR_NO_PATH;) {
				uint32_t c = fabric->chan_row[v] + hop[v];

				load[c] += (uint64_t)fabric->term_weight[fabric->dest_term[d]] *
					   fabric->sw_sources[from] * spf->unit[c];
				v = fabric->chan_dst[c];
			}
		}
	for (uint32_t c = 0; c < fabric->n_channels; c++)
		assert_int_equal(spf->weight[c] >> 8, load[c]);
	free(load);
}

static enum osr_status route_any_sl(struct turn_trial *trial, uint8_t vls, bool multicast,
				    enum osr_any_sl any_sl)
{
	const struct osr_lanes_options opt = {
		.any_sl = any_sl, .any_sl_cost = 5, .spf = { .max_rounds = 2 }, .detours = true
	};
	const struct osr_request req = { .max_vls = vls,
					 .multicast = multicast,
					 .chosen_sls = trial->chosen_sls };
	struct osr_spf spf;
	struct osr_lanes_job job = { .spf = &spf,
				     .req = &req,
				     .opt = &opt,
				     .scratch = &trial->scratch,
				     .result = &trial->result,
				     .routing = &trial->routing,
				     .diag = &trial->diag };
	enum osr_status st = osr_routing_init(&trial->routing, &trial->test.fabric, &trial->result,
					      &trial->diag);

	if (!st)
		st = osr_spf_init(&spf, &trial->test.fabric, &trial->routing, &opt.spf,
				  &trial->scratch, &trial->diag);
	if (!st)
		st = osr_lanes_route(&job);
	if (!st && osr_repair_is_by_turn(&trial->routing))
		assert_loads_hold(&spf);
	if (!st)
		osr_spf_finish(&spf);
	return st;
}

static void turn_trial_drop(struct turn_trial *trial)
{
	osr_arena_free(&trial->scratch);
	osr_arena_free(&trial->result);
	test_fabric_free(&trial->test);
}

/* By the judge, the checker, and the search for loops; replies and any SL always. */
static void assert_safe_on_any_sl(struct turn_trial *trial, bool multicast)
{
	const uint32_t least = OSR_CLAIM_DEADLOCK_FREE | OSR_CLAIM_REVERSIBLE | OSR_CLAIM_ANY_SL;
	struct osr_verdict judged, checked;

	assert_null(trial->routing.sl);
	assert_int_equal(trial->routing.claims & least, least);
	assert_int_equal(!!(trial->routing.claims & OSR_CLAIM_MULTICAST), multicast);
	if (!table_judge(&trial->test.fabric, &trial->routing, &judged))
		fail_msg("%s: a packet on some SL may deadlock or does not arrive",
			 trial->test.name);
	if (osr_check(&trial->test.fabric, &trial->routing, &trial->scratch, &checked,
		      &trial->diag))
		fail_msg("%s: %s", trial->test.name, trial->diag.text);
	assert_int_equal(checked.proven, trial->routing.claims);
	assert_int_equal(checked.n_longer, judged.n_longer);
	assert_int_equal(checked.n_longer, trial->routing.n_longer);
	assert_int_equal(table_loop(&trial->test.fabric, &trial->routing, trial->routing.claims),
			 0);
}

#define N_RANDOM 120

static void test_random_fabrics(void **state)
{
	unsigned n_by_turn = 0, n_longer = 0;

	for (unsigned i = 0; i < test_number("OSR_TURN_TRIALS", N_RANDOM); i++) {
		struct turn_trial trial = { 0 };
		bool multicast = i % 3 == 0;
		uint8_t vls = (uint8_t)(2 + i % 14);

		test_fabric_random(&trial.test, 3 + i % 37, (i * 11) % 80, 4711 + i);
		assert_int_equal(route_any_sl(&trial, vls, multicast, OSR_ANY_SL_ON), OSR_OK);
		assert_safe_on_any_sl(&trial, multicast);
		n_by_turn += trial.routing.sl2vl != NULL;
		n_longer += trial.routing.n_longer != 0;
		/* Lanes that the proof does not need share the load: none is idle. */
		if (trial.routing.sl2vl)
			assert_int_equal(trial.routing.n_vls, vls);
		turn_trial_drop(&trial);
	}
	/*
	 * Without fabrics that need lanes, and some that need detours, this would have tested
	 * nothing.
	 */
	assert_true(n_by_turn > N_RANDOM / 4);
	assert_true(n_longer > 0);
}

/*
 * Pairs of a ring of n whose every shortest way is one of three channels or more that has the
 * triple which must stay unused in its direction: d - 2 of each distance d from 3 to below n / 2,
 * in either direction.
 */
static uint64_t longer_pairs(uint64_t n)
{
	uint64_t pairs = 0;

	for (uint64_t d = 3; 2 * d < n; d++)
		pairs += 2 * (d - 2);
	return pairs;
}

/*
 * Tori: dimension order by turn, on any number of lanes. Within a ring a route is longer whatever
 * the routing does, so a single ring has exactly these, and more dimensions no fewer; dimension
 * order without a free first hop has all routes longer that are so in some ring, at least twice as
 * many as with it. The busiest channel of a ring of 8 carries 9 where 8 is the least of any
 * routing.
 */
static void test_tori(void **state)
{
	static const char *const tori[] = { "5r",   "8r",      "13r",    "6r 6r",    "8r 8r",
					    "8r 3", "7r 5r 2", "9r 4 2", "5r 5r 5r", "7r 7r" };

	for (unsigned i = 0; i < sizeof(tori) / sizeof(*tori); i++) {
		struct turn_trial trial = { 0 };
		struct test_torus torus = { .dims = tori[i], .hosts = 2, .shuffle = i };
		uint64_t n = 1, whole = 1, within = 0, lids;
		struct osr_verdict verdict;

		test_torus_draw(&torus, &trial.test);
		for (uint32_t k = 0; k < torus.n_dims; k++) {
			uint64_t size = torus.size[k];

			n *= size;
			whole *= size * size - (torus.ring[k] ? longer_pairs(size) : 0);
		}
		for (uint32_t k = 0; k < torus.n_dims; k++)
			within +=
				torus.ring[k] ? n / torus.size[k] * longer_pairs(torus.size[k]) : 0;
		lids = trial.test.fabric.n_dests / n;
		assert_int_equal(route_any_sl(&trial, (uint8_t)(2 + i), i % 3, OSR_ANY_SL_ON),
				 OSR_OK);
		assert_string_equal(trial.routing.strategy, "dimension order by turn");
		assert_safe_on_any_sl(&trial, i % 3);
		assert_true(trial.routing.n_longer >= within * lids);
		if (torus.n_dims == 1)
			assert_int_equal(trial.routing.n_longer, within * lids);
		else
			assert_true(2 * trial.routing.n_longer <= (n * n - whole) * lids);
		assert_int_equal(osr_check(&trial.test.fabric, &trial.routing, &trial.scratch,
					   &verdict, &trial.diag),
				 OSR_OK);
		if (!strcmp(tori[i], "8r 8r"))
			assert_true((double)verdict.efi <= test_torus_bound(&torus) * 9 / 8);
		if (!strcmp(tori[i], "5r 5r 5r"))
			assert_true((double)verdict.efi <= test_torus_bound(&torus));
		turn_trial_drop(&trial);
	}
}

/*
 * Cables missing from tori and meshes of several shapes: still dimension order, whose busiest
 * channel carries at most a quarter more than that of whole lines and rings of these dimensions has
 * to, where a search came to twice that.
 */
static void test_grids_with_holes(void **state)
{
	static const struct test_torus grids[] = {
		{ .dims = "6r 6r 6r", .dead_links = 1 }, { .dims = "6r 6r 6r", .dead_links = 2 },
		{ .dims = "6r 6r 6r", .dead_links = 3 }, { .dims = "6 6 6", .dead_links = 1 },
		{ .dims = "5r 5r 5r", .dead_links = 2 }, { .dims = "8r 8", .dead_links = 1 },
	};

	for (unsigned i = 0; i < sizeof(grids) / sizeof(*grids); i++) {
		struct turn_trial trial = { 0 };
		struct test_torus grid = grids[i];
		struct osr_verdict verdict;

		grid.hosts = 2;
		grid.fault_seed = grid.shuffle = i + 1;
		test_torus_draw(&grid, &trial.test);
		assert_int_equal(route_any_sl(&trial, (uint8_t)(2 + i % 3), i % 2, OSR_ANY_SL_ON),
				 OSR_OK);
		assert_string_equal(trial.routing.strategy, "dimension order by turn");
		assert_safe_on_any_sl(&trial, i % 2);
		assert_int_equal(osr_check(&trial.test.fabric, &trial.routing, &trial.scratch,
					   &verdict, &trial.diag),
				 OSR_OK);
		assert_true((double)verdict.efi <= test_torus_bound(&grid) * 5 / 4);
		turn_trial_drop(&trial);
	}
}

/* VLs of all pairs of ports for packets on this SL. */
static uint16_t vls_of_sl(const struct turn_trial *trial, uint32_t sl)
{
	const struct osr_fabric *fabric = &trial->test.fabric;
	uint16_t vls = (uint16_t)(1u << trial->routing.ca_sl2vl[sl]);

	for (uint32_t s = 0; s < fabric->n_switches; s++)
		for (uint32_t i = 0;
		     i < (fabric->sw_n_ports[s] + 1u) * (fabric->sw_n_ports[s] + 1u); i++)
			vls |= (uint16_t)(1u
					  << trial->routing
						     .sl2vl[trial->routing.sl2vl_row[s] + i][sl]);
	return vls;
}

/* SLs that somebody chooses have VLs of their own if there are two for each. */
static void test_classes(void **state)
{
	for (uint8_t vls = 2; vls <= 15; vls++) {
		struct turn_trial trial = { .chosen_sls = vls % 2 ? 0x9 : 0x32 };
		bool classes = vls >= 2 * __builtin_popcount(trial.chosen_sls);
		uint16_t first = vls % 2 ? 1 : 2, used = 0;

		test_fabric_random(&trial.test, 24, 60, vls);
		assert_int_equal(route_any_sl(&trial, vls, vls & 2, OSR_ANY_SL_ON), OSR_OK);
		assert_safe_on_any_sl(&trial, vls & 2);
		assert_non_null(trial.routing.sl2vl);
		for (uint32_t sl = 0; sl < 16; sl++) {
			if (!classes || !(trial.chosen_sls >> sl & 1)) {
				assert_int_equal(vls_of_sl(&trial, sl), vls_of_sl(&trial, 15));
				continue;
			}
			assert_int_equal(used & vls_of_sl(&trial, sl), 0);
			assert_true(__builtin_popcount(vls_of_sl(&trial, sl)) >= 2);
			used |= vls_of_sl(&trial, sl);
			assert_int_equal(first == 1u << sl,
					 vls_of_sl(&trial, sl) == vls_of_sl(&trial, 15));
		}
		turn_trial_drop(&trial);
	}
}

static bool on_order(const struct turn_trial *trial, uint32_t c)
{
	const struct osr_fabric *fabric = &trial->test.fabric;

	return trial->routing.mcast_parent &&
	       (trial->routing.mcast_parent[fabric->chan_src[c]] == c ||
		trial->routing.mcast_parent[fabric->chan_dst[c]] == fabric->chan_rev[c]);
}

/*
 * Does unicast or multicast go from the channel `in` by the channel `out` of the switch between
 * them?
 */
static bool turn_in_use(const struct turn_trial *trial, uint32_t in, uint32_t out)
{
	const struct osr_fabric *fabric = &trial->test.fabric;
	bool use = on_order(trial, in) && on_order(trial, out) && out != fabric->chan_rev[in];

	for (uint32_t d = 0; d < fabric->n_dests && !use; d++)
		use = osr_lft(&trial->routing, fabric->chan_src[in], d) == fabric->chan_port[in] &&
		      osr_lft(&trial->routing, fabric->chan_src[out], d) == fabric->chan_port[out];
	return use;
}

/*
 * Pairs of ports that no packet takes differ from nothing: wildcards serve them (SL2VL of a whole
 * row).
 */
static void test_idle_pairs(void **state)
{
	for (unsigned i = 0; i < 20; i++) {
		struct turn_trial trial = { 0 };
		const struct osr_fabric *fabric = &trial.test.fabric;

		test_fabric_random(&trial.test, 10 + i, 10 + 2 * i, 500 + i);
		assert_int_equal(route_any_sl(&trial, 2 + i % 3, i % 2, OSR_ANY_SL_ON), OSR_OK);
		for (uint32_t in = 0; trial.routing.sl2vl && in < fabric->n_channels; in++) {
			uint32_t s = fabric->chan_dst[in], count[16] = { 0 }, most = 0,
				 idle = OSR_NONE;
			const osr_sl2vl_t *row = trial.routing.sl2vl + trial.routing.sl2vl_row[s] +
						 fabric->chan_port[fabric->chan_rev[in]] *
							 (fabric->sw_n_ports[s] + 1u);

			for (uint32_t c = fabric->chan_row[s]; c < fabric->chan_row[s + 1]; c++) {
				uint8_t vl = row[fabric->chan_port[c]][0];

				if (turn_in_use(&trial, in, c))
					most = ++count[vl] > most ? count[vl] : most;
				else if (idle != OSR_NONE)
					assert_int_equal(vl, idle);
				else
					idle = vl;
			}
			assert_true(idle == OSR_NONE || count[idle] == most);
		}
		turn_trial_drop(&trial);
	}
}

static uint16_t lanes_in_use(const struct turn_trial *trial)
{
	const struct osr_fabric *fabric = &trial->test.fabric;
	uint16_t used = 0;

	for (uint32_t d = 0; d < fabric->n_dests; d++)
		for (uint32_t v = 0; v < fabric->n_switches; v++)
			if (v != fabric->dest_switch[d])
				used |= (uint16_t)(1u
						   << trial->routing
							      .sl[(size_t)d * fabric->n_switches +
								  v]);
	return used;
}

/*
 * By SL, too: whatever made the lanes (layers, orders on few lanes), all of the budget carry
 * routes, and each is free of deadlock.
 */
static void test_no_idle_lane(void **state)
{
	static const char *const strategies[] = { "dimension order", "layers",
						  "paths within orders" };
	bool seen[3] = { false };

	for (unsigned i = 0; i < 24; i++) {
		struct turn_trial trial = { 0 };
		struct osr_verdict judged;
		bool wide = i % 3 == 1;
		uint8_t vls = wide ? 8 : (uint8_t)(2 + i / 3);

		if (i % 3 == 0)
			test_fabric_ring(&trial.test, 16, 1);
		else
			test_fabric_random(&trial.test, wide ? 64 : 40, wide ? 78 + i % 2 * 2 : 60,
					   wide ? 88 + i % 2 * 2 : 40 + i);
		assert_int_equal(route_any_sl(&trial, vls, !wide && i % 2, OSR_ANY_SL_OFF), OSR_OK);
		assert_non_null(trial.routing.sl);
		for (unsigned k = 0; k < 3; k++)
			seen[k] |= !strcmp(trial.routing.strategy, strategies[k]);
		if (!table_judge(&trial.test.fabric, &trial.routing, &judged))
			fail_msg("%s, %s: may deadlock", trial.test.name, trial.routing.strategy);
		/*
		 * Dimension order knows its two lanes beforehand; its SLs say more than the lane.
		 */
		if (trial.routing.sl2vl) {
			assert_int_equal(trial.routing.n_vls, 2);
			turn_trial_drop(&trial);
			continue;
		}
		assert_int_equal(trial.routing.n_vls, vls);
		if (lanes_in_use(&trial) != (1u << vls) - 1)
			fail_msg("%s, %s: lanes in use: %x of %u", trial.test.name,
				 trial.routing.strategy, lanes_in_use(&trial), vls);
		turn_trial_drop(&trial);
	}
	for (unsigned k = 0; k < 3; k++)
		if (!seen[k])
			fail_msg("no trial of %s", strategies[k]);
}

/*
 * What auto may cost is a comparison with lanes by SL, by the checker's count: the load by a tenth,
 * 5 of 100 routes.
 */
static void test_auto_bound(void **state)
{
	unsigned n_by_turn = 0, n_by_sl = 0;

	for (unsigned i = 0; i < 60; i++) {
		struct turn_trial off = { 0 }, on = { 0 };
		struct osr_verdict by_sl, got;
		uint8_t vls = (uint8_t)(4 + 4 * (i % 2));

		test_fabric_random(&off.test, 10 + i, 10 + (i * 11) % 80, 815 + i);
		test_fabric_random(&on.test, 10 + i, 10 + (i * 11) % 80, 815 + i);
		assert_int_equal(route_any_sl(&off, vls, true, OSR_ANY_SL_OFF), OSR_OK);
		assert_int_equal(route_any_sl(&on, vls, true, OSR_ANY_SL_AUTO), OSR_OK);
		assert_int_equal(
			osr_check(&off.test.fabric, &off.routing, &off.scratch, &by_sl, &off.diag),
			OSR_OK);
		assert_int_equal(
			osr_check(&on.test.fabric, &on.routing, &on.scratch, &got, &on.diag),
			OSR_OK);
		n_by_sl += on.routing.sl != NULL;
		n_by_turn += off.routing.sl && !on.routing.sl;
		if (on.routing.sl)
			assert_int_equal(osr_routing_digest(&on.test.fabric, &on.routing),
					 osr_routing_digest(&off.test.fabric, &off.routing));
		if (off.routing.sl && !on.routing.sl) {
			assert_safe_on_any_sl(&on, true);
			assert_true(got.efi * 100 <= by_sl.efi * 110);
			assert_true((uint64_t)got.n_longer * 100 <=
				    100 * (uint64_t)by_sl.n_longer +
					    5 * (uint64_t)on.test.fabric.n_dests *
						    on.test.fabric.n_switches);
		}
		turn_trial_drop(&off);
		turn_trial_drop(&on);
	}
	print_message("%u by turn, %u by SL\n", n_by_turn, n_by_sl);
	assert_true(n_by_turn > 4 && n_by_sl > 2);
}

/*
 * Switches without hosts, whose LIDs weigh nothing, and slow links, on which a route weighs more.
 */
static void test_loads(void **state)
{
	unsigned n_longer = 0;

	for (unsigned i = 0; i < 24; i++) {
		struct turn_trial trial = { 0 };
		struct draft draft;
		uint64_t seed = i;
		uint32_t n = 24 + i;

		draft_new(&draft);
		for (uint32_t v = 0; v < n; v++)
			draft_switch(&draft);
		for (uint32_t v = 0; v < 2 * n; v++) {
			draft.rate = i & 1 && test_random(&seed) % 4 == 0 ? 100 : 400;
			draft_link(&draft, v % n,
				   (v + 1 + (v >= n) * (1 + test_random(&seed) % 9)) % n);
		}
		for (uint32_t v = 0; v < n; v += 1 + v % 2)
			draft_host(&draft, v);
		draft_build(&draft, &trial.test, "some hosts, some rates");
		assert_int_equal(route_any_sl(&trial, 2 + i % 3, false, OSR_ANY_SL_ON), OSR_OK);
		assert_safe_on_any_sl(&trial, false);
		n_longer += trial.routing.n_longer != 0;
		turn_trial_drop(&trial);
	}
	assert_true(n_longer > 4);
}

/*
 * SLs by turns in classes of so many lanes, each with the same ranks: what a repair reads from the
 * tables alone.
 */
static void test_lanes_of_a_class(void **state)
{
	for (unsigned lanes = 1; lanes <= 5; lanes++)
		for (unsigned n_classes = 1; n_classes * lanes <= OSR_MAX_VLS; n_classes++) {
			uint32_t rank[OSR_MAX_VLS * 2];
			struct osr_routing routing = { .n_channels = 2, .rank = rank };

			routing.n_vls = (uint8_t)(n_classes * lanes);
			for (unsigned i = 0; i < 2 * n_classes * lanes; i++)
				rank[i] = 7 * (i % (2 * lanes));
			for (unsigned sl = 0; sl < 16; sl++)
				routing.ca_sl2vl[sl] = (uint8_t)(sl % n_classes * lanes);
			assert_int_equal(osr_repair_lanes(&routing), lanes);
			if (n_classes == 1)
				continue;
			rank[2 * lanes]++;
			assert_int_equal(osr_repair_lanes(&routing), 0);
		}
}

TEST_PROGRAM(test_random_fabrics, test_tori, test_grids_with_holes, test_classes, test_no_idle_lane,
	     test_auto_bound, test_loads, test_idle_pairs, test_lanes_of_a_class)

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * dfsssp on fat trees with cables missing: one virtual lane, safe with any SL, and no route between
 * hosts longer than a breadth-first search of its own finds. The smaller tree needs four lanes if
 * shortest paths are cut by cycles instead. OSR_SEEDS=N: so many damaged trees of each kind.
 */
#include "test.h"

#include <osmroutes/sweep.h>
#include <osmroutes/treeorder.h>

#include "fabrics.h"
#include "sweeps.h"
#include "topos.h"

static void assert_shortest_between_hosts(const struct osr_fabric *fabric,
					  const struct osr_routing *routing)
{
	uint32_t *dist = calloc(fabric->n_switches, sizeof(*dist));

	for (uint32_t d = 0; d < fabric->n_dests; d++) {
		if (fabric->term_role[fabric->dest_term[d]] == OSR_ROLE_SP0)
			continue;
		test_distances(fabric, fabric->dest_switch[d], dist);
		for (uint32_t s = 0; s < fabric->n_switches; s++) {
			uint32_t at = s, hops = 0;

			for (; fabric->sw_sources[s] && at != fabric->dest_switch[d]; hops++)
				at = fabric->chan_dst[osr_port_channel(fabric, at,
								       osr_lft(routing, at, d))];
			assert_int_equal(hops, fabric->sw_sources[s] ? dist[s] : 0);
		}
	}
	free(dist);
}

/*
 * One lane, any SL, multicast, with more VLs than that shortest routes between hosts; returns the
 * EFI and the longer routes.
 */
static uint64_t route_on(const struct osr_fabric *fabric, uint8_t n_vls, uint64_t *n_longer)
{
	const struct osr_request req = { .max_vls = n_vls, .multicast = true };
	struct osr_arena arena = { 0 };
	struct osr_diag diag = { "" };
	struct osr_result now = { .fabric = *fabric };
	struct osr_sweep sweep;

	if (test_route("dfsssp", "", req, NULL, &arena, &now, &sweep, &diag))
		fail_msg("%s", diag.text);
	assert_int_equal(sweep.verdict.n_vls, 1);
	assert_int_equal(sweep.verdict.n_longer, now.routing.n_longer);
	assert_true(sweep.verdict.proven & OSR_CLAIM_ANY_SL);
	assert_true(sweep.verdict.proven & OSR_CLAIM_MULTICAST);
	if (n_vls > 1)
		assert_shortest_between_hosts(fabric, &now.routing);
	*n_longer = sweep.verdict.n_longer;
	osr_arena_free(&arena);
	return sweep.verdict.efi;
}

/* Seed 0: whole. Otherwise one link is missing, or 5 % of them. */
static uint64_t route_one(const char *what, uint64_t seed, bool one, uint64_t *n_longer)
{
	struct osr_degrade how = { .seed = seed,
				   .n_links = seed && one,
				   .links_percent = seed && !one ? 5 : 0,
				   .keep_connected = true };
	struct osr_arena arena = { 0 };
	struct osr_fabric fabric;
	uint64_t efi;

	assert_true(topo_broken(what, how, 0, &arena, &fabric).n_links > 0 || !seed);
	efi = route_on(&fabric, 8, n_longer);
	osr_arena_free(&arena);
	return efi;
}

/*
 * Damaged trees; with one link missing of a tree that narrows no route gets longer, those to port 0
 * of switches neither. Megafly (Dragonfly+): leaf, spine, spine, leaf is shortest between groups,
 * so hosts alone need one lane.
 */
static void test_one_lane(void **state)
{
	static const struct {
		const char *what;
		unsigned links, seeds; /* 1 missing, or 5 %; 0: OSR_SEEDS */
	} cases[] = {
		{ "tree m=5,8,8 w=1,8,6 p=1,1,2", 0, 0 }, { "tree m=4,6,4 w=1,6,3 p=1,1,2", 0, 0 },
		{ "tree m=6,12 w=1,6 p=1,2", 0, 0 },      { "tree m=6,6,4 w=1,3,3", 1, 20 },
		{ "megafly g=4 l=4 s=3 h=1 p=2", 0, 1 },  { "megafly g=10 l=6 s=6 h=2 p=2", 0, 1 },
		{ "megafly g=6 l=7 s=2 h=3 p=2", 0, 1 },  { "megafly g=9 l=7 s=4 h=2 p=2", 0, 1 },
		{ "megafly g=5 l=5 s=5 h=1 p=2", 0, 1 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		unsigned n = cases[i].seeds ? cases[i].seeds : test_number("OSR_SEEDS", 12);
		unsigned first = n > 1; /* seed 0 is whole */
		uint64_t n_longer;

		for (unsigned seed = first; seed < first + n; seed++) {
			route_one(cases[i].what, seed, cases[i].links, &n_longer);
			assert_true(!cases[i].links || !n_longer);
		}
	}
}

/*
 * More hosts on a leaf than links, but no multiple of them: whole trees of one LID over one link
 * each would put twice as many routes on some links as on others. What enters a leaf must share its
 * links, so no routing goes below hosts * (hosts elsewhere) / links; within 1/8 of that is asked.
 *
 * As many links as hosts on a leaf or more, and all leaves alike: what a leaf sends to one LID is
 * one piece, of as many routes as it has hosts. A bipartite multigraph has an edge colouring in any
 * number of colours that is even at every vertex (de Werra 1971), so no link needs more than hosts
 * elsewhere / links pieces, rounded up. The last one is so large that the closed form comes first;
 * with a link missing the rounds do it.
 */
static void test_balance(void **state)
{
	static const struct {
		const char *what;
		uint64_t hosts, leaves, links;
	} trees[] = {
		{ "tree m=6,12 w=1,4", 6, 12, 4 },
		{ "tree m=10,12 w=1,7", 10, 12, 7 },
		{ "tree m=9,16 w=1,7", 9, 16, 7 },
		{ "tree m=8,4,6 w=1,5,5", 8, 24, 5 },
		{ "tree m=11,16 w=1,14 p=1,2", 11, 16, 28 },
		{ "tree m=13,12 w=1,12 p=1,2", 13, 12, 24 },
		{ "tree m=9,10 w=1,14", 9, 10, 14 },
		{ "tree m=6,16 w=1,16", 6, 16, 16 },
		{ "tree m=18,18,18 w=1,18,18", 18, 18 * 18, 18 },
	};
	const size_t n = sizeof(trees) / sizeof(trees[0]);
	uint64_t n_longer, bound = 0;

	for (size_t i = 0; i < n; i++) {
		uint64_t hosts = trees[i].hosts, elsewhere = hosts * (trees[i].leaves - 1);
		uint64_t least = (elsewhere + trees[i].links - 1) / trees[i].links * hosts;
		uint64_t efi = route_one(trees[i].what, 0, false, &n_longer);

		bound = (hosts * elsewhere + trees[i].links - 1) / trees[i].links;
		if (trees[i].links < hosts)
			assert_in_range(efi, bound, bound + bound / 8);
		else
			assert_int_equal(efi, least);
		assert_int_equal(n_longer, 0);
	}
	assert_in_range(route_one(trees[n - 1].what, 1, true, &n_longer), bound, bound * 9 / 8);
	assert_int_equal(n_longer, 0);
}

/* `pods` of 4 leaves and 3 spines, leaves first; core i has a cable to spine i of each. */
static void draft_pods(struct draft *draft, uint32_t pods)
{
	for (uint32_t s = 0; s < pods * 7 + 3; s++)
		draft_switch(draft);
	for (uint32_t s = 0; s < pods * 7; s++)
		if (s % 7 >= 4)
			draft_link(draft, s, pods * 7 + s % 7 - 4);
}

/*
 * Leaf 0 has a cable to one spine alone, and a leaf in each of the other pods none to that of this
 * plane: their routes go up again from a leaf between two spines. If that is a leaf of pod 0, it
 * serves all of them; a second cable somewhere else is no reason for a leaf there.
 */
static void test_root_where_links_are_missing(void **state)
{
	struct test_fabric test;
	uint64_t n_longer;
	struct draft draft;

	draft_new(&draft);
	draft_pods(&draft, 3);
	for (uint32_t leaf = 0; leaf < 21; leaf++)
		for (uint32_t spine = 4; leaf % 7 < 4 && spine < 7; spine++)
			if (leaf ? leaf % 7 || spine != 5 : spine == 5)
				draft_link(&draft, leaf, leaf / 7 * 7 + spine);
	draft_link(&draft, 10, 11);
	for (uint32_t leaf = 0; leaf < 21; leaf++)
		for (uint32_t i = 0; leaf % 7 < 4 && i < 2; i++)
			draft_host(&draft, leaf);
	draft_build(&draft, &test, "a leaf with one spine");
	route_on(&test.fabric, 8, &n_longer);
	test_fabric_free(&test);
}

/*
 * One VL, a whole tree, a CA on every switch. What enters a pod shares its three cables. Beside
 * that the cables of one leaf carry what spines and cores of one plane send to the two others. Both
 * together are asked, within an eighth.
 */
static void test_service_on_one_vl(void **state)
{
	const uint32_t pods = 5, hosts = 8, n = pods * 7 + 3, inside = 4 * hosts + 7,
		       outside = (pods - 1) * inside + 3;
	struct test_fabric test;
	uint64_t n_longer, efi, own = inside * outside / 3,
				others = (uint64_t)2 * (pods + 1) * (pods + 1);
	struct draft draft;

	draft_new(&draft);
	draft_pods(&draft, pods);
	for (uint32_t s = 0; s < n; s++) {
		draft_host(&draft, s);
		for (uint32_t i = 0; i < hosts && s < pods * 7 && s % 7 < 4; i++)
			draft_host(&draft, s);
		for (uint32_t spine = 4; s < pods * 7 && s % 7 < 4 && spine < 7; spine++)
			draft_link(&draft, s, s / 7 * 7 + spine);
	}
	draft_build(&draft, &test, "a CA on every switch");
	efi = route_on(&test.fabric, 1, &n_longer);
	assert_in_range(efi, own, (own + others) * 9 / 8);
	test_fabric_free(&test);
}

static void assert_one_root(const struct osr_tree_order *order)
{
	uint32_t n_roots = 0;

	for (uint32_t v = 0; v < order->fabric->n_switches; v++) {
		bool below = false;

		assert_int_equal(order->by_number[order->number[v]], v);
		for (uint32_t c = order->fabric->chan_row[v]; c < order->fabric->chan_row[v + 1];
		     c++)
			below |= order->number[order->fabric->chan_dst[c]] < order->number[v];
		n_roots += !below;
	}
	assert_int_equal(n_roots, 1);
}

/*
 * Connected fabrics, trees by and large: all switches but one have a neighbour above, also those
 * outside the tree.
 */
static void test_order(void **state)
{
	unsigned n_orders = 0;

	for (unsigned i = 0; i < 40 * test_number("OSR_SEEDS", 10); i++) {
		uint32_t n = 3 + i % 12;
		struct osr_pgft_options opt = { .max_missing = 30 };
		struct osr_arena scratch = { 0 };
		struct osr_tree_order order;
		struct osr_diag why;
		struct osr_pgft tree;
		struct test_fabric test;

		test_fabric_random(&test, n, n + i % 4 - 1, 900 + i);
		if (!osr_pgft_find(&test.fabric, &opt, &scratch, &tree, &why)) {
			assert_int_equal(osr_tree_order_find(&tree, &scratch, &order, &why),
					 OSR_OK);
			assert_one_root(&order);
			n_orders++;
		}
		if (!osr_tree_order_tiers(&test.fabric, &scratch, &order, &why)) {
			assert_one_root(&order);
			n_orders++;
		}
		osr_arena_free(&scratch);
		test_fabric_free(&test);
	}
	assert_true(n_orders >= 100);
}

/*
 * One VL, a quarter of the links gone, too few for the tree: detours keep to one order, which the
 * escape tree fits.
 */
static void test_broken_on_one_vl(void **state)
{
	for (unsigned i = 0; i < 10 * test_number("OSR_SEEDS", 10); i++) {
		struct osr_degrade how = { .seed = i, .links_percent = 25 };
		struct osr_arena arena = { 0 };
		struct osr_fabric fabric;
		uint64_t n_longer;

		topo_broken("tree m=2,3,2 w=1,3,1", how, 0, &arena, &fabric);
		route_on(&fabric, 1, &n_longer);
		osr_arena_free(&arena);
	}
}

TEST_PROGRAM(test_order, test_broken_on_one_vl, test_one_lane, test_balance,
	     test_root_where_links_are_missing, test_service_on_one_vl)

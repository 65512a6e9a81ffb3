/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Statements of the papers as programs: algorithm 1 and the acyclic path partitioning problem of
 * Domke, Hoefler and Nagel (IPDPS 2011), and the example of the slides of Hoefler, Schneider and
 * Lumsdaine (HOTI 2009).
 */
#include "test.h"

#include "core/order/order.h"
#include "fabrics.h"
#include "sweeps.h"

#include <osmroutes/spf.h>

/* ---- algorithm 1 ----------------------------------------------------------------------------- */

struct replay {
	const struct osr_fabric *fabric;
	const struct osr_spf *spf;
	uint64_t *load; /* [n_channels] routes so far */
};

static uint64_t tree_weight(const struct replay *replay, uint32_t d, uint32_t v)
{
	uint64_t weight = 0;

	while (v != replay->fabric->dest_switch[d]) {
		uint32_t c = osr_spf_channel(replay->spf, d, v);

		weight += replay->load[c];
		v = replay->fabric->chan_dst[c];
	}
	return weight;
}

/* Every path to d is the lightest of the shortest ones; then each route to it weighs one more. */
static void replay_tree(struct replay *replay, uint32_t d, unsigned *n_others)
{
	const struct osr_fabric *fabric = replay->fabric;
	uint32_t n = fabric->n_switches, *hops = malloc(n * sizeof(*hops));

	test_distances(fabric, fabric->dest_switch[d], hops);
	for (uint32_t v = 0; v < n; v++)
		for (uint32_t c = fabric->chan_row[v];
		     hops[v] && hops[v] != OSR_NONE && c < fabric->chan_row[v + 1]; c++) {
			uint32_t u = fabric->chan_dst[c];
			uint64_t other = replay->load[c] + tree_weight(replay, d, u);

			if (hops[u] + 1 != hops[v])
				continue;
			assert_true(tree_weight(replay, d, v) <= other);
			*n_others += tree_weight(replay, d, v) < other;
		}
	for (uint32_t v = 0; v < n && fabric->term_weight[fabric->dest_term[d]]; v++)
		for (uint32_t u = v; hops[v] != OSR_NONE && u != fabric->dest_switch[d];) {
			uint32_t c = osr_spf_channel(replay->spf, d, u);

			replay->load[c] += fabric->sw_sources[v];
			u = fabric->chan_dst[c];
		}
	free(hops);
}

/* Destinations by switch and port; port 0 comes last. */
static void test_algorithm_1(void **state)
{
	const struct osr_spf_options opt = { .max_rounds = 0 };
	unsigned n_others = 0;

	for (uint64_t seed = 1; seed <= 30; seed++) {
		struct osr_arena arena = { 0 }, scratch = { 0 };
		struct osr_routing routing = { 0 };
		struct osr_diag diag = { "" };
		struct test_fabric test;
		struct osr_spf spf;
		struct replay replay = { &test.fabric, &spf, NULL };

		test_fabric_random(&test, 4 + (uint32_t)seed, 8 + 2 * (uint32_t)seed, seed);
		assert_int_equal(osr_routing_init(&routing, &test.fabric, &arena, &diag), OSR_OK);
		assert_int_equal(osr_spf_init(&spf, &test.fabric, &routing, &opt, &scratch, &diag),
				 OSR_OK);
		osr_spf_first(&spf);
		replay.load = calloc(test.fabric.n_channels + 1, sizeof(*replay.load));
		for (int own = 0; own <= 1; own++)
			for (uint32_t t = 0; t < test.fabric.n_terminals; t++) {
				uint32_t first = test.fabric.lid_dest[test.fabric.term_lid[t]];

				if ((test.fabric.term_role[t] == OSR_ROLE_SP0) != own)
					continue;
				for (uint32_t k = 0; k < 1u << test.fabric.term_lmc[t]; k++)
					if (spf.alias[first + k] == OSR_NONE)
						replay_tree(&replay, first + k, &n_others);
			}
		for (uint32_t c = 0; c < test.fabric.n_channels; c++)
			assert_int_equal(replay.load[c] * spf.unit[c], spf.weight[c] >> 8);
		free(replay.load);
		osr_arena_free(&arena);
		osr_arena_free(&scratch);
		test_fabric_free(&test);
	}
	assert_true(n_others > 1000);
}

/* ---- pi = 2 and pi = 1 ----------------------------------------------------------------------- */

/*
 * The slides show three nodes that P-SSSP routes with pi = 2 and P2-SSSP with pi = 1. Their drawing
 * is not in the text; here nodes 0 and 2 are joined by node 1 and by switch 3. Within one run of
 * P-SSSP the weights stay as they are: node 0 goes over node 1, whose own route takes the same
 * channel. P2-SSSP sends it over switch 3.
 */
static void test_slides(void **state)
{
	const struct osr_request req = { .max_vls = 8 };
	uint64_t efi[2];

	for (int by_pair = 0; by_pair <= 1; by_pair++) {
		struct osr_arena arena = { 0 };
		struct osr_diag diag = { "" };
		struct osr_result result;
		struct osr_sweep sweep;
		struct test_fabric test;
		struct draft draft;

		draft_new(&draft);
		for (uint32_t s = 0; s < 4; s++)
			draft_switch(&draft);
		draft_link(&draft, 0, 1);
		draft_link(&draft, 1, 2);
		for (uint32_t s = 0; s < 3; s++) {
			draft_link(&draft, s, 3);
			draft_host(&draft, s);
		}
		draft_build(&draft, &test, "slides");
		result = (struct osr_result){ .fabric = test.fabric };
		assert_int_equal(test_route("p2sssp",
					    by_pair ? "heuristic=none" : "heuristic=none step=dest",
					    req, NULL, &arena, &result, &sweep, &diag),
				 OSR_OK);
		efi[by_pair] = sweep.verdict.efi;
		osr_arena_free(&arena);
		test_fabric_free(&test);
	}
	assert_int_equal(efi[0], 2);
	assert_int_equal(efi[1], 1);
}

/* ---- acyclic path partitioning --------------------------------------------------------------- */

/* Do the channels of this path, added to a layer of the order, leave it without a cycle? */
static bool add_path(struct osr_order *order, const uint32_t *channel, uint32_t n, uint32_t layer)
{
	osr_order_begin(order);
	for (uint32_t i = 0; i + 1 < n; i++)
		if (!osr_order_add(order, channel[i], channel[i + 1], (uint16_t)(1u << layer))) {
			osr_order_undo(order, 0);
			return false;
		}
	return true;
}

static void start(struct osr_order *order, const struct osr_fabric *fabric, uint32_t n_layers,
		  struct osr_arena *arena)
{
	uint32_t *keys = osr_calloc(arena, n_layers * fabric->n_channels, sizeof(*keys));

	assert_int_equal(osr_order_init(order, fabric, n_layers, false, keys, 1000, arena, NULL),
			 OSR_OK);
	order->max_work = UINT64_MAX;
}

static uint32_t channel_between(const struct osr_fabric *fabric, uint32_t v, uint32_t u)
{
	uint32_t c = fabric->chan_row[v];

	while (fabric->chan_dst[c] != u)
		c++;
	return c;
}

/* Figure 3: p1 = bc, p2 = abc, p3 = cdab. {p1, p2} and {p3} are a cover; nothing smaller is. */
static void test_figure_3(void **state)
{
	static const char *const paths[] = { "bc", "abc", "cdab" };
	struct osr_arena arena = { 0 };
	struct osr_order order;
	struct test_fabric test;

	test_fabric_ring(&test, 4, 1);
	start(&order, &test.fabric, 2, &arena);
	for (uint32_t i = 0; i < 3; i++) {
		uint32_t channel[4], n = 0;

		for (const char *p = paths[i]; *p; p++, n++)
			channel[n] = channel_between(&test.fabric, (uint32_t)(*p - 'a'),
						     (uint32_t)(*p - 'a' + 1) % 4);
		assert_int_equal(add_path(&order, channel, n, 0), i < 2);
		if (i == 2)
			assert_true(add_path(&order, channel, n, 1));
	}
	osr_arena_free(&arena);
	test_fabric_free(&test);
}

#define MAX_NODES 6

/*
 * The generator of theorem 1. Node <v, {v, w}> is the channel from switch v to switch w, <v> the one
 * to v from a switch of its own; so p_v goes to each neighbour of v and back.
 */
static uint32_t generator(const struct osr_fabric *fabric, uint32_t n, const bool *edge, uint32_t v,
			  uint32_t *channel)
{
	uint32_t k = 0;

	channel[k++] = channel_between(fabric, n + v, v);
	for (uint32_t w = 0; w < n; w++) {
		if (!edge[v * n + w])
			continue;
		channel[k++] = channel_between(fabric, v, w);
		channel[k++] = channel_between(fabric, w, v);
	}
	return k;
}

/* The least number of the sets, each a bit mask of nodes, that cover all n; by all partitions. */
static uint32_t least_cover(const bool *good, uint32_t left)
{
	uint32_t least = left ? MAX_NODES : 0, first = left & -left;

	for (uint32_t set = left; set; set = (set - 1) & left)
		if (set & first && good[set]) {
			uint32_t n = 1 + least_cover(good, left & ~set);

			least = n < least ? n : least;
		}
	return least;
}

/*
 * Theorem 1: nodes of a graph have a colouring with k colours exactly if their paths have a cover
 * with k sets: (1) two neighbours close a cycle, (2) independent nodes do not.
 */
static void test_theorem_1(void **state)
{
	uint64_t random = 3;
	uint32_t n_by[MAX_NODES + 1] = { 0 };

	for (unsigned i = 0; i < 60; i++) {
		uint32_t n = 2 + i % (MAX_NODES - 1), all = (1u << n) - 1, k;
		bool edge[MAX_NODES * MAX_NODES] = { false }, independent[1 << MAX_NODES],
				      acyclic[1 << MAX_NODES];
		struct test_fabric test;
		struct draft draft;

		draft_new(&draft);
		for (uint32_t s = 0; s < 2 * n; s++)
			draft_switch(&draft);
		for (uint32_t v = 0; v < n; v++) {
			draft_link(&draft, v, n + v);
			draft_host(&draft, n + v);
			for (uint32_t w = 0; w < v; w++)
				if (test_random(&random) % 10 < 3 + i % 6) {
					draft_link(&draft, v, w);
					edge[v * n + w] = edge[w * n + v] = true;
				}
		}
		draft_build(&draft, &test, "theorem 1");
		for (uint32_t set = 0; set <= all; set++) {
			struct osr_arena arena = { 0 };
			struct osr_order order;

			start(&order, &test.fabric, 1, &arena);
			independent[set] = acyclic[set] = true;
			for (uint32_t v = 0; v < n; v++) {
				uint32_t channel[2 * MAX_NODES + 1];

				if (!(set >> v & 1))
					continue;
				acyclic[set] &=
					add_path(&order, channel,
						 generator(&test.fabric, n, edge, v, channel), 0);
				for (uint32_t w = 0; w < n; w++)
					independent[set] &= !(set >> w & 1 && edge[v * n + w]);
			}
			assert_int_equal(acyclic[set], independent[set]);
			osr_arena_free(&arena);
		}
		k = least_cover(acyclic, all);
		assert_int_equal(k, least_cover(independent, all));
		n_by[k]++;
		test_fabric_free(&test);
	}
	assert_true(n_by[2] && n_by[3] && n_by[4]);
}

TEST_PROGRAM(test_algorithm_1, test_slides, test_figure_3, test_theorem_1)

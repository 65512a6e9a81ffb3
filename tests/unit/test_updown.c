/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * updown.h against a slow count: for every pair, a walk over all shortest paths that go up, then
 * down.
 */
#include <osmroutes/span.h>
#include "test.h"

#include "core/lanes/updown.h"
#include "core/order/order.h"

#include "fabrics.h"

struct made {
	struct test_fabric test;
	struct osr_arena scratch, result;
	struct osr_routing routing;
	struct osr_spf spf;
	struct osr_diag diag;
};

static void make(struct made *made)
{
	struct osr_spf_options opt = { .max_rounds = 0 };

	memset(&made->scratch, 0, sizeof(made->scratch));
	memset(&made->result, 0, sizeof(made->result));
	memset(&made->routing, 0, sizeof(made->routing));
	assert_int_equal(osr_planes_first_fabric(&made->test.fabric, &made->test.arena,
						 &made->test.fabric, &made->diag),
			 OSR_OK);
	assert_int_equal(
		osr_routing_init(&made->routing, &made->test.fabric, &made->result, &made->diag),
		OSR_OK);
	assert_int_equal(osr_spf_init(&made->spf, &made->test.fabric, &made->routing, &opt,
				      &made->scratch, &made->diag),
			 OSR_OK);
}

static void unmake(struct made *made)
{
	osr_arena_free(&made->scratch);
	osr_arena_free(&made->result);
	test_fabric_free(&made->test);
}

/* Is there a path of this length, and may it still go up? */
static bool walk(const struct osr_fabric *fabric, const uint32_t *place, uint32_t v, uint32_t to,
		 uint32_t length, bool up)
{
	if (!length)
		return v == to;
	for (uint32_t c = fabric->chan_row[v]; c < fabric->chan_row[v + 1]; c++) {
		uint32_t u = fabric->chan_dst[c];
		bool higher = place[u] < place[v];

		if ((up || !higher) && walk(fabric, place, u, to, length - 1, higher))
			return true;
	}
	return false;
}

/*
 * Pairs of switches with hosts that such paths serve; every switch but one root per component has a
 * parent above it.
 */
static uint64_t count_served(struct made *made, uint32_t effort)
{
	const struct osr_fabric *fabric = &made->test.fabric;
	uint64_t pairs = 0, served = 0;
	uint32_t n_roots = 0;
	struct osr_updown updown;

	assert_int_equal(
		osr_updown_search(&made->spf, effort, &made->scratch, &updown, &made->diag),
		OSR_OK);
	for (uint32_t a = 0; a < fabric->n_switches; a++) {
		uint32_t dist[MAX_DRAFT_SWITCHES];

		test_distances(fabric, a, dist);
		for (uint32_t b = 0; b < fabric->n_switches; b++) {
			if (!fabric->sw_sources[a] || !fabric->sw_sources[b] || dist[b] == OSR_NONE)
				continue;
			pairs++;
			served += walk(fabric, updown.place, a, b, dist[b], true);
		}
		n_roots += updown.parent[a] == OSR_NONE;
		if (updown.parent[a] != OSR_NONE) {
			assert_int_equal(fabric->chan_src[updown.parent[a]], a);
			assert_true(updown.place[fabric->chan_dst[updown.parent[a]]] <
				    updown.place[a]);
		}
	}
	assert_int_equal(n_roots, fabric->n_components);
	assert_int_equal(pairs, updown.n_pairs);
	assert_int_equal(served, updown.n_served);
	return served;
}

static void test_searched(void **state)
{
	uint64_t sum_before = 0, sum_after = 0;

	for (unsigned i = 0; i < N_TEST_FABRICS + 40; i++) {
		uint32_t seed = i - N_TEST_FABRICS + 1, n = 4 + seed;
		uint64_t before, after;
		struct made made;

		if (i < N_TEST_FABRICS)
			test_fabric_named(&made.test, i);
		else
			test_fabric_random(&made.test, n, n + n / 2, seed);
		make(&made);
		before = count_served(&made, 0);
		after = count_served(&made, 1);
		assert_true(after >= before);
		sum_before += i < N_TEST_FABRICS ? 0 : before;
		sum_after += i < N_TEST_FABRICS ? 0 : after;
		unmake(&made);
	}
	/* Searching must be worth it. */
	assert_true(sum_after > sum_before + sum_before / 50);
}

static void test_rank(void **state)
{
	struct osr_updown updown;
	uint32_t rank[4 * 64];
	struct made made;

	test_fabric_random(&made.test, 20, 40, 7);
	make(&made);
	assert_int_equal(osr_updown_search(&made.spf, 1, &made.scratch, &updown, &made.diag),
			 OSR_OK);
	osr_span_rank(&made.test.fabric, updown.place, rank);
	for (uint32_t c = 0; c < made.test.fabric.n_channels; c++) {
		uint32_t v = made.test.fabric.chan_dst[c];
		bool up = updown.place[v] < updown.place[made.test.fabric.chan_src[c]];

		for (uint32_t o = made.test.fabric.chan_row[v];
		     o < made.test.fabric.chan_row[v + 1]; o++) {
			bool up_next = updown.place[made.test.fabric.chan_dst[o]] < updown.place[v];

			assert_int_equal(rank[c] < rank[o], up || !up_next);
		}
	}
	unmake(&made);
}

TEST_PROGRAM(test_searched, test_rank)

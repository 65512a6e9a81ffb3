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
	struct test_fabric t;
	struct osr_arena scratch, result;
	struct osr_routing r;
	struct osr_spf s;
	struct osr_diag diag;
};

static void make(struct made *m)
{
	struct osr_spf_options opt = { .max_rounds = 0 };

	memset(&m->scratch, 0, sizeof(m->scratch));
	memset(&m->result, 0, sizeof(m->result));
	memset(&m->r, 0, sizeof(m->r));
	assert_int_equal(osr_planes_first_fabric(&m->t.f, &m->t.arena, &m->t.f, &m->diag), OSR_OK);
	assert_int_equal(osr_routing_init(&m->r, &m->t.f, &m->result, &m->diag), OSR_OK);
	assert_int_equal(osr_spf_init(&m->s, &m->t.f, &m->r, &opt, &m->scratch, &m->diag), OSR_OK);
}

static void unmake(struct made *m)
{
	osr_arena_free(&m->scratch);
	osr_arena_free(&m->result);
	test_fabric_free(&m->t);
}

/* Is there a path of this length, and may it still go up? */
static bool walk(const struct osr_fabric *f, const uint32_t *place, uint32_t v, uint32_t to,
		 uint32_t length, bool up)
{
	if (!length)
		return v == to;
	for (uint32_t c = f->chan_row[v]; c < f->chan_row[v + 1]; c++) {
		uint32_t u = f->chan_dst[c];
		bool higher = place[u] < place[v];

		if ((up || !higher) && walk(f, place, u, to, length - 1, higher))
			return true;
	}
	return false;
}

/* Pairs of switches with hosts that such paths serve; every switch but one root per component has a parent above it. */
static uint64_t count_served(struct made *m, uint32_t effort)
{
	const struct osr_fabric *f = &m->t.f;
	uint64_t pairs = 0, served = 0;
	uint32_t n_roots = 0;
	struct osr_updown u;

	assert_int_equal(osr_updown_search(&m->s, effort, &m->scratch, &u, &m->diag), OSR_OK);
	for (uint32_t a = 0; a < f->n_switches; a++) {
		uint32_t dist[MAX_DRAFT_SWITCHES];

		test_distances(f, a, dist);
		for (uint32_t b = 0; b < f->n_switches; b++) {
			if (!f->sw_sources[a] || !f->sw_sources[b] || dist[b] == OSR_NONE)
				continue;
			pairs++;
			served += walk(f, u.place, a, b, dist[b], true);
		}
		n_roots += u.parent[a] == OSR_NONE;
		if (u.parent[a] != OSR_NONE) {
			assert_int_equal(f->chan_src[u.parent[a]], a);
			assert_true(u.place[f->chan_dst[u.parent[a]]] < u.place[a]);
		}
	}
	assert_int_equal(n_roots, f->n_components);
	assert_int_equal(pairs, u.n_pairs);
	assert_int_equal(served, u.n_served);
	return served;
}

static void test_searched(void **state)
{
	uint64_t sum_before = 0, sum_after = 0;

	for (unsigned i = 0; i < N_TEST_FABRICS + 40; i++) {
		uint32_t seed = i - N_TEST_FABRICS + 1, n = 4 + seed;
		uint64_t before, after;
		struct made m;

		if (i < N_TEST_FABRICS)
			test_fabric_named(&m.t, i);
		else
			test_fabric_random(&m.t, n, n + n / 2, seed);
		make(&m);
		before = count_served(&m, 0);
		after = count_served(&m, 1);
		assert_true(after >= before);
		sum_before += i < N_TEST_FABRICS ? 0 : before;
		sum_after += i < N_TEST_FABRICS ? 0 : after;
		unmake(&m);
	}
	/* Searching must be worth it. */
	assert_true(sum_after > sum_before + sum_before / 50);
}

static void test_rank(void **state)
{
	struct osr_updown u;
	uint32_t rank[4 * 64];
	struct made m;

	test_fabric_random(&m.t, 20, 40, 7);
	make(&m);
	assert_int_equal(osr_updown_search(&m.s, 1, &m.scratch, &u, &m.diag), OSR_OK);
	osr_span_rank(&m.t.f, u.place, rank);
	for (uint32_t c = 0; c < m.t.f.n_channels; c++) {
		uint32_t v = m.t.f.chan_dst[c];
		bool up = u.place[v] < u.place[m.t.f.chan_src[c]];

		for (uint32_t o = m.t.f.chan_row[v]; o < m.t.f.chan_row[v + 1]; o++) {
			bool up_next = u.place[m.t.f.chan_dst[o]] < u.place[v];

			assert_int_equal(rank[c] < rank[o], up || !up_next);
		}
	}
	unmake(&m);
}

TEST_PROGRAM(test_searched, test_rank)

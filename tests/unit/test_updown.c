/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * updown.h against a slow count: for every pair, a walk over all shortest paths that go up, then
 * down.
 */
#include "test.h"

#include "core/lanes/updown.h"
#include "core/order/cdg.h"

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

static void compare(struct made *m, uint32_t effort, uint64_t *n_served)
{
	const struct osr_fabric *f = &m->t.f;
	uint64_t pairs = 0, served = 0;
	struct osr_updown u, again;

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
	}
	assert_int_equal(pairs, u.n_pairs);
	assert_int_equal(served, u.n_served);
	*n_served = served;

	assert_int_equal(osr_updown_search(&m->s, effort, &m->scratch, &again, &m->diag), OSR_OK);
	assert_memory_equal(u.place, again.place, f->n_switches * sizeof(*u.place));
}

/* Every switch but one root per component has a parent above it. */
static void check_tree(struct made *m, uint32_t effort)
{
	const struct osr_fabric *f = &m->t.f;
	uint32_t n_roots = 0;
	struct osr_updown u;

	assert_int_equal(osr_updown_search(&m->s, effort, &m->scratch, &u, &m->diag), OSR_OK);
	for (uint32_t v = 0; v < f->n_switches; v++) {
		if (u.parent[v] == OSR_NONE) {
			n_roots++;
			continue;
		}
		assert_int_equal(f->chan_src[u.parent[v]], v);
		assert_true(u.place[f->chan_dst[u.parent[v]]] < u.place[v]);
	}
	assert_int_equal(n_roots, f->n_components);
}

static void test_named(void **state)
{
	for (unsigned i = 0; i < N_TEST_FABRICS; i++) {
		uint64_t before, after;
		struct made m;

		test_fabric_named(&m.t, i);
		make(&m);
		compare(&m, 0, &before);
		compare(&m, 1, &after);
		assert_true(after >= before);
		check_tree(&m, 1);
		unmake(&m);
	}
}

static void test_searched(void **state)
{
	uint64_t sum_before = 0, sum_after = 0;

	for (uint64_t seed = 1; seed <= 40; seed++) {
		uint32_t n = 4 + (uint32_t)seed;
		uint64_t before, after;
		struct made m;

		test_fabric_random(&m.t, n, n + n / 2, seed);
		make(&m);
		compare(&m, 0, &before);
		compare(&m, 1, &after);
		check_tree(&m, 1);
		assert_true(after >= before);
		sum_before += before;
		sum_after += after;
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
	osr_order_updown(&m.t.f, u.place, rank);
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

TEST_PROGRAM(test_named, test_searched, test_rank)

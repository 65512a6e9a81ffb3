/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* toporder.h against a search of the whole graph, while edges come and go. */
#include "test.h"

#include <osmroutes/prng.h>
#include "core/order/toporder.h"

#define MAX_N 40

struct matrix {
	uint32_t n;
	bool edge[MAX_N][MAX_N];
};

/* Every edge twice: repeats are allowed. */
static uint32_t matrix_edges(const void *graph, uint32_t vertex, bool back, uint32_t *out)
{
	const struct matrix *m = graph;
	uint32_t n = 0;

	for (uint32_t v = 0; v < m->n; v++)
		if (back ? m->edge[v][vertex] : m->edge[vertex][v]) {
			out[n++] = v;
			out[n++] = v;
		}
	return n;
}

static bool reaches(const struct matrix *m, uint32_t from, uint32_t to, bool *seen)
{
	if (from == to)
		return true;
	seen[from] = true;
	for (uint32_t v = 0; v < m->n; v++)
		if (m->edge[from][v] && !seen[v] && reaches(m, v, to, seen))
			return true;
	return false;
}

static void check_order(const struct matrix *m, const uint32_t *rank)
{
	bool taken[MAX_N] = { false };

	for (uint32_t v = 0; v < m->n; v++) {
		assert_true(rank[v] < m->n && !taken[rank[v]]);
		taken[rank[v]] = true;
		for (uint32_t u = 0; u < m->n; u++)
			assert_false(m->edge[u][v] && rank[u] >= rank[v]);
	}
}

/* One random graph; returns how many edges were refused. */
static uint32_t try_graph(uint32_t n, uint64_t seed)
{
	struct osr_arena arena = { 0 };
	struct osr_prng prng = { seed };
	struct matrix m = { .n = n };
	uint32_t rank[MAX_N], before[MAX_N], n_refused = 0;
	struct osr_toporder order = {
		.n = n, .max_degree = 2 * n, .edges = matrix_edges, .graph = &m, .rank = rank
	};

	for (uint32_t v = 0; v < n; v++)
		rank[v] = n - 1 - v;
	assert_int_equal(osr_toporder_init(&order, &arena, NULL), OSR_OK);
	for (uint32_t k = 0; k < 10 * n; k++) {
		uint32_t u = osr_prng_below(&prng, n), v = osr_prng_below(&prng, n);
		bool seen[MAX_N] = { false }, cycle = reaches(&m, v, u, seen);

		memcpy(before, rank, sizeof(before));
		assert_int_equal(osr_toporder_rise(&order, u, v), !cycle);
		if (cycle) {
			n_refused++;
			assert_memory_equal(before, rank, n * sizeof(*rank));
		} else {
			m.edge[u][v] = true;
		}
		check_order(&m, rank);
		u = osr_prng_below(&prng, n);
		v = osr_prng_below(&prng, n);
		m.edge[u][v] &= k % 4 != 0;
	}
	osr_arena_free(&arena);
	return n_refused;
}

static void any_graph(void **state)
{
	uint32_t n_refused = 0;

	(void)state;
	for (uint64_t seed = 1; seed <= 200; seed++)
		n_refused += try_graph(1 + (uint32_t)(seed % MAX_N), seed);
	assert_true(n_refused > 1000);
}

/*
 * What rises already is not searched; a cycle is found without a second search; what is ranked beyond the
 * two ends is not looked at.
 */
static void work(void **state)
{
	struct osr_arena arena = { 0 };
	struct matrix m = { .n = 6 };
	uint32_t rank[6] = { 0, 1, 2, 3, 4, 5 };
	struct osr_toporder order = {
		.n = 6, .max_degree = 12, .edges = matrix_edges, .graph = &m, .rank = rank
	};

	(void)state;
	assert_int_equal(osr_toporder_init(&order, &arena, NULL), OSR_OK);
	m.edge[0][2] = m.edge[2][3] = m.edge[3][4] = true;
	assert_true(osr_toporder_rise(&order, 4, 5));
	m.edge[4][5] = true;
	assert_int_equal(order.work, 0);
	assert_false(osr_toporder_rise(&order, 5, 2)); /* 2 3 4, whose edge leads to 5 */
	assert_int_equal(order.work, 3);
	assert_true(osr_toporder_rise(&order, 2, 1)); /* 1; 2, but not 0 */
	assert_int_equal(order.work, 5);
	assert_true(osr_toporder_rise(&order, 1, 0)); /* 0 2, but not 3; 1 */
	assert_int_equal(order.work, 8);
	m.edge[1][0] = true;
	check_order(&m, rank);
	osr_arena_free(&arena);
}

TEST_PROGRAM(any_graph, work)

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The orders of src/core/order: of the nodes (lane, channel), and of any graph. */
#include "test.h"

#include "core/order/node_order.h"
#include "fabrics.h"
#include <osmroutes/prng.h>
#include "core/order/toporder.h"

/*
 * ---- The order of nodes (lane, channel), against a matrix and a search for cycles in it: lanes by SL, and by turn.
 */

#define MAX_CHANNELS 64
#define N_LANES 3

/* Of each turn the lanes that take it, and the lane on which they go on. */
struct model {
	const struct osr_fabric *f;
	bool by_turn;
	uint16_t used[MAX_CHANNELS][MAX_CHANNELS];
	uint8_t lane[MAX_CHANNELS][MAX_CHANNELS];
};

/* Does a packet that holds channel c on this lane wait for (to_lane, to), over what others wait for? */
static bool leads_to(const struct model *x, unsigned lane, uint32_t c, unsigned to_lane,
		     uint32_t to, bool *seen)
{
	if (c == to && lane == to_lane)
		return true;
	if (seen[lane * MAX_CHANNELS + c])
		return false;
	seen[lane * MAX_CHANNELS + c] = true;
	for (uint32_t next = 0; next < x->f->n_channels; next++)
		if (x->used[c][next] >> lane & 1 &&
		    leads_to(x, x->by_turn ? x->lane[c][next] : lane, next, to_lane, to, seen))
			return true;
	return false;
}

/* All lanes, or none if one of them would close a cycle. */
static bool model_add(struct model *x, uint32_t c1, uint32_t c2, uint16_t lanes)
{
	uint16_t was = x->used[c1][c2];

	for (unsigned lane = 0; lane < N_LANES; lane++) {
		bool seen[N_LANES * MAX_CHANNELS] = { false };

		if (!(lanes >> lane & 1) || was >> lane & 1)
			continue;
		if (leads_to(x, x->by_turn ? x->lane[c1][c2] : lane, c2, lane, c1, seen)) {
			x->used[c1][c2] = was;
			return false;
		}
		x->used[c1][c2] |= (uint16_t)(1u << lane);
	}
	return true;
}

static void assert_same(const struct osr_order *order, const struct model *x)
{
	const struct osr_fabric *f = order->f;
	const uint32_t *rank = order->nodes.rank;

	for (uint32_t c = 0; c < f->n_channels; c++)
		for (uint32_t o = f->chan_row[f->chan_dst[c]]; o < f->chan_row[f->chan_dst[c] + 1];
		     o++) {
			uint32_t turn = osr_order_turn(order, c, o);

			assert_int_equal(order->used[turn], x->used[c][o]);
			assert_true(!x->by_turn || order->lane[turn] == x->lane[c][o]);
			for (unsigned lane = 0; lane < N_LANES; lane++)
				if (order->used[turn] >> lane & 1)
					assert_true(rank[lane * f->n_channels + c] <
						    rank[(x->by_turn ? x->lane[c][o] : lane) *
								 f->n_channels +
							 o]);
		}
}

/* Places 0 .. n-1 that rise with the keys, then with the nodes. */
static void assert_placed(const struct osr_order *order, const uint32_t *keys)
{
	uint32_t n = N_LANES * order->f->n_channels;

	for (uint32_t c = 0; c < n; c++) {
		uint32_t before = 0;

		for (uint32_t o = 0; o < n; o++)
			before += keys[o] < keys[c] || (keys[o] == keys[c] && o < c);
		assert_int_equal(order->nodes.rank[c], before);
	}
}

/* One transaction; what its first half has added stays, or nothing, or all. */
static void transaction(struct osr_order *order, struct model *x, uint64_t *seed,
			unsigned *n_refused)
{
	const struct osr_fabric *f = order->f;
	struct model *before = malloc(sizeof(*x)), *half = malloc(sizeof(*x));
	unsigned n_adds = 1 + test_random(seed) % 6, what = test_random(seed) % 3;
	uint32_t n_log = 0;

	memcpy(before, x, sizeof(*x));
	osr_order_begin(order);
	for (unsigned i = 0; i < n_adds; i++) {
		uint32_t c1 = (uint32_t)(test_random(seed) % f->n_channels), s = f->chan_dst[c1];
		uint32_t degree = f->chan_row[s + 1] - f->chan_row[s];
		uint32_t c2 = f->chan_row[s] + (uint32_t)(test_random(seed) % degree);
		uint16_t lanes = (uint16_t)(1 + test_random(seed) % ((1 << N_LANES) - 1));
		bool fits, rises;

		if (x->by_turn && !x->used[c1][c2]) {
			x->lane[c1][c2] = (uint8_t)(test_random(seed) % N_LANES);
			assert_true(osr_order_set_lane(order, osr_order_turn(order, c1, c2),
						       x->lane[c1][c2]));
		}
		fits = model_add(x, c1, c2, lanes);
		rises = osr_order_rises(order, c1, c2, lanes);
		assert_true(fits || !rises);
		assert_int_equal(osr_order_add(order, c1, c2, lanes), fits);
		*n_refused += !fits;
		if (i == n_adds / 2) {
			memcpy(half, x, sizeof(*x));
			n_log = order->n_log;
		}
	}
	if (what == 0)
		osr_order_undo(order, 0);
	else if (what == 1)
		osr_order_undo(order, n_log);
	if (what < 2)
		memcpy(x, what ? half : before, sizeof(*x));
	assert_same(order, x);
	free(before);
	free(half);
}

static void test_transactions(void **state)
{
	unsigned n_refused = 0, n = 0;

	for (unsigned i = 0; i < 80; i++) {
		struct osr_arena scratch = { 0 };
		struct test_fabric t;
		struct model *x = calloc(1, sizeof(*x));
		uint64_t seed = i;
		uint32_t keys[N_LANES * MAX_CHANNELS];
		struct osr_order order;

		test_fabric_random(&t, 4 + i % 6, 8 + i % 20, 70 + i);
		x->f = &t.f;
		x->by_turn = i >= 40;
		assert_in_range(t.f.n_channels, 1, MAX_CHANNELS);
		/* Of all sizes, and some alike. */
		for (size_t k = 0; k < (size_t)N_LANES * t.f.n_channels; k++)
			keys[k] =
				test_random(&seed) % 2
					? (uint32_t)(test_random(&seed) >> test_random(&seed) % 64)
					: (uint32_t)(k % 5);
		assert_int_equal(
			osr_order_init(&order, &t.f, N_LANES, x->by_turn, keys, 20, &scratch, NULL),
			OSR_OK);
		assert_placed(&order, keys);
		for (unsigned k = 0; k < 150; k++, n++)
			transaction(&order, x, &seed, &n_refused);
		osr_arena_free(&scratch);
		test_fabric_free(&t);
		free(x);
	}
	assert_true(n_refused > n / 4);
}

/* ---- toporder.h against a search of the whole graph, while edges come and go. */

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

TEST_PROGRAM(test_transactions, any_graph, work)

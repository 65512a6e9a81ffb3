/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Colourings by their definition: on small graphs against all there are, on larger ones against the bound of
 * Koenig's theorem.
 */
#include "test.h"

#include "keys/level.h"

#include "fabrics.h"

#define MAX_NODES 40
#define MAX_EDGES 800

static uint64_t seed;

static uint32_t below(uint32_t n)
{
	return (uint32_t)(test_random(&seed) % n);
}

/* Colourings ----------------------------------------------------------------------------------- */

struct demand {
	struct osr__demand d;
	struct osr__edge edge[MAX_EDGES];
	uint64_t may[2 * MAX_EDGES];
	uint32_t class_of[MAX_EDGES];
	uint32_t degree; /* the largest */
};

static void measure(struct demand *x)
{
	uint32_t left[MAX_NODES] = { 0 }, right[MAX_NODES] = { 0 };

	x->degree = 0;
	for (uint32_t e = 0; e < x->d.n_edges; e++) {
		uint32_t l = ++left[x->edge[e].left], r = ++right[x->edge[e].right];

		x->degree = l > x->degree ? l : x->degree;
		x->degree = r > x->degree ? r : x->degree;
	}
	x->d.edge = x->edge;
	x->d.words = (x->d.n_planes + 63) / 64;
}

/* Loads from the classes alone; every edge has one that it may have. */
static uint32_t judge(const struct demand *x, const struct osr__colouring *c)
{
	static uint32_t up[MAX_NODES][128], down[MAX_NODES][128];
	uint32_t size[128] = { 0 }, most = 0;

	memset(up, 0, sizeof(up));
	memset(down, 0, sizeof(down));
	for (uint32_t e = 0; e < x->d.n_edges; e++) {
		uint32_t q = x->class_of[e], w = x->edge[e].weight, load;

		assert_true(q < c->n_classes && c->n_classes <= x->d.n_planes);
		assert_true(osr__may(&x->d, e, q));
		load = up[x->edge[e].left][q] += w;
		most = load > most ? load : most;
		load = down[x->edge[e].right][q] += w;
		most = load > most ? load : most;
		size[q] += w;
	}
	assert_int_equal(most, c->load);
	assert_true(c->load >= c->bound);
	for (uint32_t q = 1; !x->d.may && q < c->n_classes; q++)
		assert_true(size[q] && size[q] <= size[q - 1]);
	return most;
}

static struct osr__colouring colour(struct demand *x)
{
	struct osr_arena scratch = { 0 };
	struct osr__colouring c;

	assert_int_equal(osr__colour(&x->d, &scratch, x->class_of, &c), OSR_OK);
	assert_int_equal(scratch.in_use, 0);
	osr_arena_free(&scratch);
	judge(x, &c);
	return c;
}

/* As many classes as the largest degree, no more: what matchings of largest cardinality miss. */
static void test_koenig(void **state)
{
	static struct demand x;

	seed = 2;
	for (unsigned round = 0; round < 2000; round++) {
		uint32_t n = 1 + below(MAX_NODES);
		struct osr__colouring c;

		x.d = (struct osr__demand){ .n_nodes = n, .n_planes = 1 + below(30) };
		x.d.n_edges = below(MAX_EDGES);
		for (uint32_t e = 0; e < x.d.n_edges; e++)
			x.edge[e] = (struct osr__edge){ below(n), below(1 + below(n)), 1 };
		measure(&x);
		c = colour(&x);
		assert_int_equal(c.load, (x.degree + x.d.n_planes - 1) / x.d.n_planes);
		assert_int_equal(c.bound, c.load);
		if (x.degree <= x.d.n_planes)
			assert_int_equal(c.n_classes, x.degree);
	}
}

/* Is there a colouring with at most this load? All of them are tried. */
static bool exists(const struct demand *x, uint32_t load, uint32_t e, uint32_t up[][8],
		   uint32_t down[][8])
{
	if (e == x->d.n_edges)
		return true;
	for (uint32_t q = 0; q < x->d.n_planes; q++) {
		uint32_t *u = &up[x->edge[e].left][q], *v = &down[x->edge[e].right][q];
		uint32_t w = x->edge[e].weight;
		bool found;

		if (!osr__may(&x->d, e, q) || *u + w > load || *v + w > load)
			continue;
		*u += w;
		*v += w;
		found = exists(x, load, e + 1, up, down);
		*u -= w;
		*v -= w;
		if (found)
			return true;
	}
	return false;
}

/* Small cases with missing cables, or weights: how often is the least load reached? */
static void small_cases(uint32_t max_weight, bool missing, unsigned *n, unsigned *n_least)
{
	static struct demand x;

	for (unsigned round = 0; round < 3000; round++) {
		uint32_t nodes = 2 + below(4), cut[2][8];
		uint32_t up[8][8] = { { 0 } }, down[8][8] = { { 0 } };
		struct osr__colouring c;

		x.d = (struct osr__demand){ .n_nodes = nodes, .n_planes = 2 + below(3) };
		x.d.n_edges = 1 + below(9);
		x.d.may = missing ? x.may : NULL;
		for (uint32_t v = 0; v < nodes; v++) {
			cut[0][v] = below(2) ? 0 : 1u << below(x.d.n_planes);
			cut[1][v] = cut[0][v];
		}
		for (uint32_t e = 0; e < x.d.n_edges; e++) {
			x.edge[e] = (struct osr__edge){ below(nodes), below(nodes),
							1 + below(max_weight) };
			x.may[e] = ((1u << x.d.n_planes) - 1) & ~cut[0][x.edge[e].left] &
				   ~cut[1][x.edge[e].right];
			if (!x.may[e])
				x.may[e] = 1;
		}
		measure(&x);
		c = colour(&x);
		*n_least += c.load == c.bound || !exists(&x, c.load - 1, 0, up, down);
		(*n)++;
	}
}

static void test_small_cases(void **state)
{
	unsigned n = 0, n_least = 0;

	seed = 3;
	small_cases(1, true, &n, &n_least);
	assert_true(n_least * 1000 >= n * 997);
	n = n_least = 0;
	small_cases(4, false, &n, &n_least);
	assert_true(n_least * 100 >= n * 95);
	n = n_least = 0;
	small_cases(3, true, &n, &n_least);
	assert_true(n_least * 100 >= n * 95);
}

static void test_memory(void **state)
{
	static struct demand x;

	x.d = (struct osr__demand){ .n_nodes = 8, .n_planes = 4, .n_edges = 30 };
	for (uint32_t e = 0; e < 30; e++) {
		x.edge[e] = (struct osr__edge){ e % 8, e * 3 % 8, 1 };
		x.may[e] = e % 5 ? 15 : 7;
	}
	measure(&x);
	for (unsigned missing = 0; missing < 2; missing++) {
		x.d.may = missing ? x.may : NULL;
		for (size_t n = 1;; n++) {
			struct osr_arena scratch = { .fail_after = n };
			struct osr__colouring c;
			enum osr_status st = osr__colour(&x.d, &scratch, x.class_of, &c);

			assert_int_equal(scratch.in_use, 0);
			osr_arena_free(&scratch);
			if (!st) {
				assert_true(n > 5);
				break;
			}
			assert_int_equal(st, OSR_NOMEM);
		}
	}
}

TEST_PROGRAM(test_koenig, test_small_cases, test_memory)

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Matchings and colourings by their definitions: on small graphs against all there are, on larger
 * ones against the bound of Koenig's theorem.
 */
#include "test.h"

#include "keys/colour.h"

#include "fabrics.h"

#define MAX_NODES 40
#define MAX_EDGES 800

static uint64_t seed;

static uint32_t below(uint32_t n)
{
	return (uint32_t)(test_random(&seed) % n);
}

/* Matchings ------------------------------------------------------------------------------------ */

struct best {
	const struct osr__match *m;
	uint32_t size, must_l, must_r;
	uint32_t left, right; /* nodes that have a mate, as bits */
};

static uint32_t count(const bool *must, uint32_t nodes)
{
	uint32_t n = 0;

	for (uint32_t v = 0; v < 32; v++)
		n += (nodes >> v & 1) && must[v];
	return n;
}

/* Every matching of the edges from e on; the largest of each number, on its own. */
static void enumerate(struct best *b, uint32_t e, uint32_t size)
{
	uint32_t l, r;

	if (e == b->m->n_edges) {
		uint32_t ml = count(b->m->must_l, b->left), mr = count(b->m->must_r, b->right);

		b->size = size > b->size ? size : b->size;
		b->must_l = ml > b->must_l ? ml : b->must_l;
		b->must_r = mr > b->must_r ? mr : b->must_r;
		return;
	}
	enumerate(b, e + 1, size);
	l = 1u << b->m->edge[e].left;
	r = 1u << b->m->edge[e].right;
	if (b->m->off[e] || (b->left & l) || (b->right & r))
		return;
	b->left |= l;
	b->right |= r;
	enumerate(b, e + 1, size + 1);
	b->left &= ~l;
	b->right &= ~r;
}

static void judge_matching(const struct osr__match *m)
{
	struct best b = { .m = m };
	uint32_t size = 0, must_l = 0, must_r = 0;

	for (uint32_t v = 0; v < m->n_nodes; v++) {
		uint32_t e = m->mate_l[v], back = m->mate_r[v];

		if (e != OSR_NONE) {
			assert_int_equal(m->edge[e].left, v);
			assert_int_equal(m->mate_r[m->edge[e].right], e);
			assert_false(m->off[e]);
			size++;
			must_l += m->must_l[v];
		}
		if (back != OSR_NONE) {
			assert_int_equal(m->mate_l[m->edge[back].left], back);
			must_r += m->must_r[v];
		}
	}
	enumerate(&b, 0, 0);
	assert_int_equal(size, b.size);
	assert_int_equal(must_l, b.must_l);
	assert_int_equal(must_r, b.must_r);
}

static void test_matchings(void **state)
{
	seed = 1;
	for (unsigned round = 0; round < 4000; round++) {
		uint32_t n = 1 + below(6), n_edges = below(13);
		struct osr__edge edge[13];
		struct osr_arena scratch = { 0 };
		struct osr__match m;

		for (uint32_t e = 0; e < n_edges; e++)
			edge[e] = (struct osr__edge){ below(n), below(n), 1 };
		assert_int_equal(osr__match_init(&m, n, edge, n_edges, &scratch), OSR_OK);
		for (uint32_t e = 0; e < n_edges; e++)
			m.off[e] = below(6) == 0;
		for (uint32_t v = 0; v < n; v++) {
			m.must_l[v] = below(2);
			m.must_r[v] = below(2);
		}
		osr__match_solve(&m);
		judge_matching(&m);
		osr_arena_free(&scratch);
	}
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

/*
 * A star with a path on it, where the largest matching passes by the centre: three edges, degree
 * two. Taking { 0-1, 1-0 } first would leave nothing out; { 0-0 } alone would need three.
 */
static void test_must_cover(void **state)
{
	static struct demand x = { .d = { .n_nodes = 3, .n_edges = 4, .n_planes = 2 },
				   .edge = { { 0, 0, 1 }, { 0, 1, 1 }, { 1, 1, 1 }, { 2, 0, 1 } } };

	measure(&x);
	assert_int_equal(x.degree, 2);
	assert_int_equal(colour(&x).load, 1);
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
	assert_true(n_least * 1000 >= n * 999);
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
				assert_true(n > 15);
				break;
			}
			assert_int_equal(st, OSR_NOMEM);
		}
	}
}

TEST_PROGRAM(test_matchings, test_koenig, test_must_cover, test_small_cases, test_memory)

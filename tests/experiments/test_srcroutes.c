/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Source routes on random tori. What the library finds as paths of the routing graph is found here a second time as
 * rows of hops; the certificate of the turns is judged by looking for cycles, the used direction sets by walking from
 * every channel.
 */
#include "test.h"

#include "srcroutes.h"
#include <osmroutes/prng.h>

#define N_RANDOM 80

struct trial {
	struct srcroutes a;
	struct srcroute *route;
	unsigned seed;
};

static void drop(struct trial *x)
{
	free(x->route);
	srcroutes_free(&x->a);
	free(x);
}

static struct trial *whole(uint32_t n_dims, const uint32_t *size)
{
	struct trial *x = calloc(1, sizeof(*x));

	assert_true(srcroutes_init(&x->a, n_dims, size));
	x->route = calloc(x->a.n_pairs, sizeof(*x->route));
	return x;
}

/* One to four dimensions. */
static struct trial *draw(unsigned seed)
{
	struct osr_prng prng = { seed };
	uint32_t n_dims = 1 + osr_prng_below(&prng, 4), size[4];
	struct trial *x;

	for (uint32_t i = 0; i < n_dims; i++)
		size[i] = 2 + osr_prng_below(&prng, n_dims < 3 ? 5 : 3);
	x = whole(n_dims, size);
	x->seed = seed;
	return x;
}

/* ---- the certificate ------------------------------------------------------------------------ */

static bool step_allowed(const struct trial *x, uint32_t c, uint32_t to)
{
	const struct torus *t = &x->a.t;
	uint32_t v = t->next[c], dir = c % t->n_dirs;

	if (v == NO_NODE || t->next[v * t->n_dirs + to] == NO_NODE)
		return false;
	if (dir != to && dir % t->n_dims == to % t->n_dims)
		return false;
	return to >= dir || (x->a.after[v * t->n_dirs + dir] >> to & 1);
}

static bool on_whole_ring(const struct trial *x, uint32_t c)
{
	const struct torus *t = &x->a.t;
	uint32_t dir = c % t->n_dirs, v = c / t->n_dirs, n = 0;

	while (t->next[v * t->n_dirs + dir] != NO_NODE && n++ < t->n_nodes) {
		v = t->next[v * t->n_dirs + dir];
		if (v == c / t->n_dirs)
			return true;
	}
	return false;
}

/* Directions of all channels that can be reached from channel c: B(u, D) of the paper. */
static uint32_t used_directions(const struct trial *x, uint32_t c)
{
	const struct torus *t = &x->a.t;
	uint32_t n = t->n_nodes * t->n_dirs, set = 0, top = 0;
	uint32_t *stack = malloc(n * sizeof(*stack));
	bool *seen = calloc(n, sizeof(*seen));

	stack[top++] = c;
	seen[c] = true;
	while (top) {
		uint32_t e = stack[--top];

		set |= 1u << e % t->n_dirs;
		for (uint32_t to = 0; to < t->n_dirs; to++) {
			uint32_t f = t->next[e] * t->n_dirs + to;

			if (!step_allowed(x, e, to) || seen[f])
				continue;
			seen[f] = true;
			stack[top++] = f;
		}
	}
	free(stack);
	free(seen);
	return set;
}

/*
 * Every permitted step rises, but around a whole ring. Equal ranks elsewhere would hide a cycle, so rings must not share
 * theirs either. "The second stage is performed until all possible edges are constructed."
 */
static void turns_are_certified_and_all_that_theorem_2_gives(void **state)
{
	for (unsigned i = 0; i < N_RANDOM; i++) {
		struct trial *x = draw(i);
		const struct torus *t = &x->a.t;
		uint32_t n_added = 0, nd = t->n_dirs;

		for (uint32_t k = 0; k < t->n_nodes * nd * nd; k++) {
			uint32_t c = k / nd, to = k % nd, dir = c % nd, e = t->next[c] * nd + to;
			bool tried = to < dir && (dir < t->n_dims) == (to < t->n_dims);

			if (t->next[c] == NO_NODE || t->next[e] == NO_NODE)
				continue;
			if (!step_allowed(x, c, to)) {
				assert_true(!tried || used_directions(x, e) >> dir & 1);
				continue;
			}
			n_added += tried;
			if (to == dir && on_whole_ring(x, c))
				assert_int_equal(x->a.rank[c], x->a.rank[e]);
			else
				assert_true(x->a.rank[c] < x->a.rank[e]);
		}
		assert_int_equal(n_added, x->a.n_added);
		drop(x);
	}
}

/* ---- choices and the routing graph ---------------------------------------------------------- */

/*
 * The rows of hops that begin with these h, each of which comes nearer: directions rise, but behind a first step in a
 * positive one and before a last step in a negative one. Returns how many; each is one of the choices.
 */
static uint32_t count_rows(const struct trial *x, uint32_t pair, uint32_t *path, uint32_t h)
{
	const struct srcroutes *a = &x->a;
	uint32_t nd = a->t.n_dirs, n = a->t.n_nodes, hops = a->hops[pair], n_rows = 0, k = 0;
	uint32_t last = h ? path[h - 1] % nd : 0, at = h ? a->t.next[path[h - 1]] : pair / n;

	if (h == hops) {
		while (k < srcroutes_n_choices(a, pair) &&
		       memcmp(path, srcroutes_channels(a, pair, k), hops * sizeof(*path)))
			k++;
		if (k == srcroutes_n_choices(a, pair))
			fail_msg("seed %u: pair %u lacks a route", x->seed, pair);
		return 1;
	}
	for (uint32_t dir = 0; dir < nd; dir++) {
		uint32_t next = a->t.next[at * nd + dir];
		bool first = h == 1 && last < a->t.n_dims;
		bool before_last = h + 1 == hops && dir >= a->t.n_dims;

		if (next == NO_NODE || a->hops[next * n + pair % n] != hops - h - 1 ||
		    (dir < last &&
		     (!step_allowed(x, path[h - 1], dir) || (!first && !before_last))))
			continue;
		path[h] = at * nd + dir;
		n_rows += count_rows(x, pair, path, h + 1);
	}
	return n_rows;
}

/* So the least weight over the choices is what algorithm 4 finds, where a hop weighs more than all loads. */
static void choices_are_all_legal_rows_of_hops(void **state)
{
	for (unsigned seed = 0; seed < N_RANDOM; seed++) {
		struct trial *x = draw(seed);
		uint32_t path[64];

		for (uint32_t p = 0; p < x->a.n_pairs; p++)
			if (x->a.hops[p])
				assert_int_equal(count_rows(x, p, path, 0),
						 srcroutes_n_choices(&x->a, p));
		drop(x);
	}
}

/* Section 3.1: 3^n + 2n + 1 vertices a node, and at most 2n 3^n + 1.5 n^2 + 1.5 n + 1 edges. */
static void the_graph_is_as_large_as_the_paper_says(void **state)
{
	const uint32_t size[] = { 3, 3, 3, 3 };

	for (uint32_t n = 1, p = 3; n <= 4; n++, p *= 3) {
		struct trial *x = whole(n, size);

		assert_int_equal(x->a.n_states, p + 2 * n + 1);
		assert_true(x->a.step_row[x->a.n_states] <=
			    2 * n * p + (3 * n * n + 3 * n) / 2 + 1 + p);
		drop(x);
	}
}

/* ---- algorithms ----------------------------------------------------------------------------- */

static struct srcverdict judged(struct trial *x, enum srcroutes_algorithm algorithm)
{
	struct srcverdict v;

	srcroutes_route(&x->a, algorithm, x->route);
	if (!srccheck(&x->a.t, x->route, x->a.rank, &v))
		fail_msg("seed %u, algorithm %d: %s", x->seed, algorithm, v.why);
	return v;
}

/* The same routes twice, too. */
static void all_algorithms_are_legal(void **state)
{
	for (unsigned seed = 0; seed < N_RANDOM; seed++) {
		struct trial *x = draw(seed), *y = draw(seed);
		struct srcverdict v[N_SRCROUTES];

		for (int i = 0; i < N_SRCROUTES; i++) {
			v[i] = judged(x, (enum srcroutes_algorithm)i);
			assert_int_equal(v[i].n_longer, 0);
			assert_int_equal(v[i].n_hops, v[0].n_hops);
			assert_int_equal(v[i].max_hops, v[0].max_hops);
			judged(y, (enum srcroutes_algorithm)i);
			for (uint32_t p = 0; p < x->a.n_pairs; p++)
				assert_memory_equal(&x->route[p], &y->route[p], sizeof(*x->route));
		}
		drop(x);
		drop(y);
	}
}

/* Table 2: no routes are below the optima of an integer program; those of sssp come within 4 % of the paper's. */
static void desmos(void **state)
{
	const uint32_t size[] = { 4, 2, 2, 2 };
	const uint32_t unique[] = { 0, 12, 32, 104, 304 }, best[] = { 0, 2, 4, 10, 26 };
	const uint32_t n_turns[] = { 0, 0, 8, 40, 144 }, paper[] = { 0, 2, 5, 12, 28 };

	for (uint32_t n = 1; n <= 4; n++) {
		struct trial *x = whole(n, size);

		if (n > 1) {
			assert_int_equal(x->a.n_added, n_turns[n]);
			assert_int_equal(x->a.n_unique, unique[n]);
		}
		for (int i = 0; i < N_SRCROUTES; i++) {
			struct srcverdict v = judged(x, (enum srcroutes_algorithm)i);

			assert_true(v.max_load >= best[n]);
			assert_true(i != SRCROUTES_SSSP || v.max_load * 100 <= paper[n] * 104);
			assert_int_equal(v.max_hops, n + 1);
		}
		drop(x);
	}
}

/* ---- the judge ------------------------------------------------------------------------------ */

static void the_judge_refuses(void **state)
{
	const uint32_t size[] = { 4, 4 };
	const uint8_t no = NO_DIR;
	/* Node 5 is (1, 1): +X +Y from node 0. Directions: +X +Y -X -Y. */
	const struct {
		struct srcroute r;
		uint32_t from, to;
		const char *why;
	} rows[] = {
		{ { 1, no, 1, 0 }, 0, 5, "certificate" },
		{ { no, no, 1, 0 }, 0, 5, "somewhere else" },
		{ { no, no, 3, 1 }, 0, 5, "both directions" },
		{ { no, no, 7, 0 }, 0, 5, "not there" },
		{ { 2, no, 3, 0 }, 0, 5, "not positive" },
		{ { no, 1, 3, 0 }, 0, 5, "not negative" },
		{ { no, 3, 0, 0 }, 5, 4, "nothing before" },
		{ { no, no, 3, 0 }, 0, 4, "does not use" },
		{ { no, no, 0, 0 }, 0, 4, "somewhere else" },
	};
	struct trial *x = whole(2, size);
	struct srcverdict v = judged(x, SRCROUTES_SSSP);

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct srcroute *place = &x->route[rows[i].from * x->a.t.n_nodes + rows[i].to],
				before = *place;

		*place = rows[i].r;
		assert_false(srccheck(&x->a.t, x->route, x->a.rank, &v));
		if (!strstr(v.why, rows[i].why))
			fail_msg("expected \"%s\", got \"%s\"", rows[i].why, v.why);
		*place = before;
	}
	x->a.rank[0] = x->a.rank[1];
	x->a.rank[4 * 4] = x->a.rank[4 * 4 + 1];
	assert_false(srccheck(&x->a.t, x->route, x->a.rank, &v));
	drop(x);
}

/* ---- errors --------------------------------------------------------------------------------- */

static void bad_input_is_refused(void **state)
{
	const uint32_t good[] = { 3, 3, 3, 3, 3, 3, 3 }, bad[] = { 3, 1 }, many[] = { 100, 100 };
	struct srcroutes r;

	assert_false(srcroutes_init(&r, 0, good));
	assert_false(srcroutes_init(&r, 7, good));
	assert_false(srcroutes_init(&r, 2, bad));
	assert_false(srcroutes_init(&r, 2, many));
}

TEST_PROGRAM(turns_are_certified_and_all_that_theorem_2_gives, choices_are_all_legal_rows_of_hops,
	     the_graph_is_as_large_as_the_paper_says, all_algorithms_are_legal, desmos,
	     the_judge_refuses, bad_input_is_refused)

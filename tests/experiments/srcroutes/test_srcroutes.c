/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Source routes on random tori. What the library finds by counting hops is
 * found here a second time by following every path of the routing graph; the certificate of the
 * turns is judged by looking for cycles, the used direction sets by walking from every channel.
 */
#include "test.h"

#include "srcroutes/srcroutes.h"
#include <osmroutes/prng.h>
#include "srcroutes/srccheck.h"

#define N_RANDOM 80

struct trial {
	struct osr_arena scratch, result;
	struct osr_torus t;
	struct osr_turns turns;
	struct osr_srcroutes a;
	struct osr_diag diag;
	struct osr_srcroute *route;
	char name[64];
};

static void drop(struct trial *x)
{
	free(x->route);
	osr_arena_free(&x->scratch);
	osr_arena_free(&x->result);
	free(x);
}

/* Everything up to the choices. */
static struct trial *whole(uint32_t n_dims, const uint32_t *size)
{
	struct trial *x = calloc(1, sizeof(*x));

	assert_int_equal(osr_torus_init(&x->t, n_dims, size, &x->result, &x->diag), OSR_OK);
	assert_int_equal(osr_turns_find(&x->t, &x->scratch, &x->result, &x->turns, &x->diag),
			 OSR_OK);
	assert_int_equal(osr_srcroutes_init(&x->a, &x->turns, &x->scratch, &x->result, &x->diag),
			 OSR_OK);
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
	snprintf(x->name, sizeof(x->name), "seed %u", seed);
	return x;
}

/* ---- the certificate ------------------------------------------------------------------------ */

static bool step_allowed(const struct trial *x, uint32_t c, uint32_t to)
{
	const struct osr_torus *t = &x->t;
	uint32_t v = t->next[c], dir = c % t->n_dirs;

	if (v == OSR_NO_NODE || t->next[v * t->n_dirs + to] == OSR_NO_NODE)
		return false;
	if (dir != to && dir % t->n_dims == to % t->n_dims)
		return false;
	return to >= dir || (x->turns.after[v * t->n_dirs + dir] >> to & 1);
}

static bool on_whole_ring(const struct trial *x, uint32_t c)
{
	const struct osr_torus *t = &x->t;
	uint32_t dir = c % t->n_dirs, v = c / t->n_dirs, n = 0;

	while (t->next[v * t->n_dirs + dir] != OSR_NO_NODE && n++ < t->n_nodes) {
		v = t->next[v * t->n_dirs + dir];
		if (v == c / t->n_dirs)
			return true;
	}
	return false;
}

/*
 * Every permitted step rises, but around a whole ring. Equal ranks elsewhere would hide a cycle, so
 * rings must not share theirs either.
 */
static void assert_certified(const struct trial *x)
{
	const struct osr_torus *t = &x->t;

	for (uint32_t c = 0; c < t->n_nodes * t->n_dirs; c++) {
		for (uint32_t to = 0; to < t->n_dirs; to++) {
			uint32_t e = t->next[c] * t->n_dirs + to;

			if (!step_allowed(x, c, to))
				continue;
			if (to == c % t->n_dirs && on_whole_ring(x, c))
				assert_int_equal(x->turns.rank[c], x->turns.rank[e]);
			else
				assert_true(x->turns.rank[c] < x->turns.rank[e]);
		}
	}
}

/* Directions of all channels that can be reached from channel c: B(u, D) of the paper. */
static uint32_t used_directions(const struct trial *x, uint32_t c)
{
	const struct osr_torus *t = &x->t;
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

/* "The second stage is performed until all possible edges are constructed." Returns those added. */
static uint32_t assert_complete(const struct trial *x)
{
	const struct osr_torus *t = &x->t;
	uint32_t n_added = 0;

	for (uint32_t c = 0; c < t->n_nodes * t->n_dirs; c++) {
		uint32_t dir = c % t->n_dirs, v = t->next[c];

		for (uint32_t to = 0; v != OSR_NO_NODE && to < dir; to++) {
			uint32_t e = v * t->n_dirs + to;

			if ((dir < t->n_dims) != (to < t->n_dims) || t->next[e] == OSR_NO_NODE)
				continue;
			if (step_allowed(x, c, to))
				n_added++;
			else
				assert_true(used_directions(x, e) >> dir & 1);
		}
	}
	return n_added;
}

static void turns_are_certified(void **state)
{
	for (unsigned i = 0; i < N_RANDOM; i++) {
		struct trial *x = draw(i);

		assert_certified(x);
		drop(x);
	}
}

static void theorem_2_adds_all_it_can(void **state)
{
	for (unsigned i = 0; i < N_RANDOM; i++) {
		struct trial *x = draw(i);

		assert_int_equal(assert_complete(x), x->turns.n_added);
		drop(x);
	}
}

/* ---- choices and the routing graph ---------------------------------------------------------- */

struct paths {
	const struct trial *x;
	struct osr_rgraph g;
	struct osr_rg_search s;
	uint32_t target, pair, n_found;
	bool known[4096];
};

/* Follows every shortest path back from the end vertex; each must be one of the choices. */
static void follow_back(struct paths *w, uint32_t v, uint32_t *path, uint32_t left)
{
	const struct osr_srcroutes *a = &w->x->a;
	uint32_t nd = a->t->n_dirs, node = v / w->g.n_states, state = v % w->g.n_states;

	if (!left) {
		uint32_t k = 0;

		assert_int_equal(state, 0);
		while (k < osr_srcroutes_n_choices(a, w->pair) &&
		       memcmp(path, osr_srcroutes_channels(a, w->pair, k),
			      a->hops[w->pair] * sizeof(*path)))
			k++;
		if (k == osr_srcroutes_n_choices(a, w->pair))
			fail_msg("%s: pair %u lacks a route", w->x->name, w->pair);
		w->n_found += !w->known[k];
		w->known[k] = true;
		return;
	}
	/* Whoever leads here by a step and is one hop nearer. */
	for (uint32_t dir = 0; dir < nd; dir++) {
		uint32_t from = a->t->next[node * nd + osr_dir_back(a->t, dir)];

		for (uint32_t s = 0; from != OSR_NO_NODE && s < w->g.n_states; s++) {
			if (w->s.distance[from * w->g.n_states + s] != left - 1)
				continue;
			for (uint32_t k = w->g.row[s]; k < w->g.row[s + 1]; k++) {
				if (w->g.step[k].dir != dir ||
				    osr_rg_next(&w->g, from, s, w->g.step[k]) != v)
					continue;
				path[left - 1] = from * nd + dir;
				follow_back(w, from * w->g.n_states + s, path, left - 1);
			}
		}
	}
}

static void assert_same_as_graph(struct paths *w, uint32_t i, uint32_t j)
{
	const struct osr_srcroutes *a = &w->x->a;
	uint32_t path[64], end = j * w->g.n_states + osr_rg_end(&w->g);
	uint64_t hops = w->s.distance[end];

	w->pair = i * a->t->n_nodes + j;
	assert_int_equal(hops, a->hops[w->pair]);
	memset(w->known, 0, sizeof(w->known));
	w->n_found = 0;
	for (uint32_t s = 1; s < osr_rg_end(&w->g); s++)
		if (w->s.distance[j * w->g.n_states + s] == hops)
			follow_back(w, j * w->g.n_states + s, path, (uint32_t)hops);
	assert_int_equal(w->n_found, osr_srcroutes_n_choices(a, w->pair));
}

static void choices_are_the_paths_of_the_graph(void **state)
{
	for (unsigned seed = 0; seed < N_RANDOM; seed++) {
		struct trial *x = draw(seed);
		struct paths *w = calloc(1, sizeof(*w));
		uint64_t *weight = malloc(x->t.n_nodes * x->t.n_dirs * sizeof(*weight));

		w->x = x;
		for (uint32_t c = 0; c < x->t.n_nodes * x->t.n_dirs; c++)
			weight[c] = 1;
		assert_int_equal(osr_rgraph_init(&w->g, &x->turns, &x->scratch, &x->diag), OSR_OK);
		assert_int_equal(osr_rg_search_init(&w->s, &w->g, &x->scratch, &x->diag), OSR_OK);
		for (uint32_t i = 0; i < x->t.n_nodes; i++) {
			osr_rgraph_sssp(&w->g, i, weight, &w->s);
			for (uint32_t j = 0; j < x->t.n_nodes; j++)
				if (i != j)
					assert_same_as_graph(w, i, j);
		}
		free(weight);
		free(w);
		drop(x);
	}
}

/* Algorithm 4 finds the least weight, and that is the least over the choices. */
static void algorithm_4_is_a_minimum_over_choices(void **state)
{
	for (unsigned seed = 0; seed < N_RANDOM; seed += 4) {
		struct trial *x = draw(seed);
		struct osr_prng prng = { seed };
		struct osr_rgraph g;
		struct osr_rg_search s;
		uint64_t *weight = malloc(x->t.n_nodes * x->t.n_dirs * sizeof(*weight));

		for (uint32_t c = 0; c < x->t.n_nodes * x->t.n_dirs; c++)
			weight[c] = 10000 + osr_prng_below(&prng, 100);
		assert_int_equal(osr_rgraph_init(&g, &x->turns, &x->scratch, &x->diag), OSR_OK);
		assert_int_equal(osr_rg_search_init(&s, &g, &x->scratch, &x->diag), OSR_OK);
		osr_rgraph_sssp(&g, 0, weight, &s);
		for (uint32_t j = 1; j < x->t.n_nodes; j++) {
			uint64_t least = UINT64_MAX;

			for (uint32_t k = 0; k < osr_srcroutes_n_choices(&x->a, j); k++) {
				uint64_t sum = 0;

				for (uint32_t h = 0; h < x->a.hops[j]; h++)
					sum += weight[osr_srcroutes_channels(&x->a, j, k)[h]];
				least = sum < least ? sum : least;
			}
			assert_int_equal(least, s.distance[j * g.n_states + osr_rg_end(&g)]);
		}
		free(weight);
		drop(x);
	}
}

/* Section 3.1: 3^n + 2n + 1 vertices a node, and at most 2n 3^n + 1.5 n^2 + 1.5 n + 1 edges. */
static void the_graph_is_as_large_as_the_paper_says(void **state)
{
	const uint32_t size[] = { 3, 3, 3, 3 };

	for (uint32_t n = 1; n <= 4; n++) {
		struct trial *x = whole(n, size);
		struct osr_rgraph g;
		uint32_t p = n == 1 ? 3 : n == 2 ? 9 : n == 3 ? 27 : 81;

		assert_int_equal(osr_rgraph_init(&g, &x->turns, &x->scratch, &x->diag), OSR_OK);
		assert_int_equal(g.n_states, p + 2 * n + 1);
		assert_true(g.row[g.n_states] <= 2 * n * p + (3 * n * n + 3 * n) / 2 + 1 + p);
		drop(x);
	}
}

/* ---- algorithms ----------------------------------------------------------------------------- */

static struct osr_srcverdict judged(struct trial *x, enum osr_srcroutes_algorithm algorithm,
				    const struct osr_srcroutes_options *opt)
{
	struct osr_srcroutes_stats stats;
	struct osr_srcverdict v;

	if (osr_srcroutes_route(&x->a, algorithm, opt, &x->scratch, x->route, &stats, &x->diag) ||
	    osr_srccheck(&x->t, x->route, x->turns.rank, &x->scratch, NULL, &v, &x->diag))
		fail_msg("%s, algorithm %d: %s", x->name, algorithm, x->diag.text);
	return v;
}

static struct osr_srcroutes_options default_options(void)
{
	return (struct osr_srcroutes_options){ .unique_first = true,
					       .seed = 1,
					       .population = 100,
					       .mutation_permille = 20,
					       .patience = 30 };
}

static void all_algorithms_are_legal(void **state)
{
	struct osr_srcroutes_options opt = default_options();

	opt.population = 10;
	opt.patience = 3;
	for (unsigned seed = 0; seed < N_RANDOM; seed++) {
		struct trial *x = draw(seed);
		struct osr_srcverdict v[OSR_N_SRCROUTES];

		opt.unique_first = seed % 3;
		for (int i = 0; i < OSR_N_SRCROUTES; i++)
			v[i] = judged(x, (enum osr_srcroutes_algorithm)i, &opt);
		for (int i = 0; i < OSR_N_SRCROUTES; i++) {
			assert_int_equal(v[i].n_missing, 0);
			assert_int_equal(v[i].n_hops, v[0].n_hops);
			assert_int_equal(v[i].max_hops, v[0].max_hops);
		}
		drop(x);
	}
}

/* Table 2: no routes are below the optima of an integer program; the genetic search reaches the paper's figures. */
static void desmos(void **state)
{
	const uint32_t size[] = { 4, 2, 2, 2 };
	const uint32_t unique[] = { 0, 12, 32, 104, 304 }, best[] = { 0, 2, 4, 10, 26 };
	const uint32_t n_turns[] = { 0, 0, 8, 40, 144 }, paper[] = { 0, 2, 4, 11, 27 };
	struct osr_srcroutes_options opt = default_options();

	for (uint32_t n = 1; n <= 4; n++) {
		struct trial *x = whole(n, size);

		if (n > 1) {
			assert_int_equal(x->turns.n_added, n_turns[n]);
			assert_int_equal(x->a.n_unique, unique[n]);
		}
		for (int i = 0; i < OSR_N_SRCROUTES; i++) {
			struct osr_srcverdict v = judged(x, (enum osr_srcroutes_algorithm)i, &opt);

			assert_true(v.max_load >= best[n]);
			assert_true(i != OSR_SRCROUTES_GENETIC || v.max_load <= paper[n]);
			assert_int_equal(v.max_hops, n + 1);
		}
		drop(x);
	}
}

static void same_input_same_routes(void **state)
{
	struct osr_srcroutes_options opt = default_options();

	opt.population = 10;
	opt.patience = 3;
	for (int i = 0; i < OSR_N_SRCROUTES; i++) {
		struct trial *x = draw(77), *y = draw(77);

		judged(x, (enum osr_srcroutes_algorithm)i, &opt);
		judged(y, (enum osr_srcroutes_algorithm)i, &opt);
		assert_memory_equal(x->route, y->route, x->a.n_pairs * sizeof(*x->route));
		drop(x);
		drop(y);
	}
}

/* ---- the judge ------------------------------------------------------------------------------ */

static enum osr_status judge(struct trial *x, struct osr_srcverdict *v)
{
	return osr_srccheck(&x->t, x->route, x->turns.rank, &x->scratch, NULL, v, &x->diag);
}

static void assert_refused(struct trial *x, struct osr_srcroute r, uint32_t from, uint32_t to,
			   const char *why)
{
	struct osr_srcroute *place = &x->route[from * x->t.n_nodes + to], before = *place;
	struct osr_srcverdict v;

	*place = r;
	assert_int_equal(judge(x, &v), OSR_CHECK_FAILED);
	if (!strstr(x->diag.text, why))
		fail_msg("expected \"%s\", got \"%s\"", why, x->diag.text);
	*place = before;
}

static void the_judge_refuses(void **state)
{
	const uint32_t size[] = { 4, 4 };
	const uint8_t no = OSR_NO_DIR;
	struct osr_srcroutes_options opt = default_options();
	struct trial *x = whole(2, size);
	struct osr_srcverdict v = judged(x, OSR_SRCROUTES_SSSP, &opt);

	assert_int_equal(v.n_routes, 16 * 15);
	/* Node 5 is (1, 1): +X +Y from node 0. Directions: +X +Y -X -Y. */
	assert_refused(x, (struct osr_srcroute){ 1, no, 1, 0 }, 0, 5, "certificate");
	assert_refused(x, (struct osr_srcroute){ no, no, 1, 0 }, 0, 5, "somewhere else");
	assert_refused(x, (struct osr_srcroute){ no, no, 3, 1 }, 0, 5, "both directions");
	assert_refused(x, (struct osr_srcroute){ no, no, 7, 0 }, 0, 5, "not there");
	assert_refused(x, (struct osr_srcroute){ 2, no, 3, 0 }, 0, 5, "not positive");
	assert_refused(x, (struct osr_srcroute){ no, 1, 3, 0 }, 0, 5, "not negative");
	assert_refused(x, (struct osr_srcroute){ no, 3, 0, 0 }, 5, 4, "nothing before");
	assert_refused(x, (struct osr_srcroute){ no, no, 3, 0 }, 0, 4, "does not use");
	x->turns.rank[0] = x->turns.rank[1];
	x->turns.rank[4 * 4] = x->turns.rank[4 * 4 + 1];
	assert_int_equal(judge(x, &v), OSR_CHECK_FAILED);
	drop(x);
}

/* ---- traffic, errors, memory ---------------------------------------------------------------- */

static void alltoall_is_the_load(void **state)
{
	struct osr_srcroutes_options opt = default_options();
	struct osr_srctraffic traffic;

	for (unsigned seed = 0; seed < 20; seed++) {
		struct trial *x = draw(seed);
		struct osr_srcverdict v = judged(x, OSR_SRCROUTES_BFS, &opt);

		for (int p = 0; p < OSR_N_SRCPATTERNS; p++) {
			assert_int_equal(osr_srctraffic(&x->t, x->route, (enum osr_srcpattern)p,
							&x->scratch, &traffic, &x->diag),
					 OSR_OK);
			assert_true(traffic.max_load <= v.max_load);
			assert_true(traffic.bandwidth <= 1);
		}
		/* The last one. */
		assert_int_equal(traffic.max_load, v.max_load);
		assert_int_equal(traffic.n_pairs, v.n_routes);
		drop(x);
	}
}

static void bad_input_is_refused(void **state)
{
	const uint32_t good[] = { 3, 3 }, bad[] = { 3, 1 }, many[] = { 100, 100 };
	struct osr_arena arena = { 0 };
	struct osr_diag diag;
	struct osr_torus t;

	assert_int_equal(osr_torus_init(&t, 0, good, &arena, &diag), OSR_INVAL);
	assert_int_equal(osr_torus_init(&t, 7, good, &arena, &diag), OSR_INVAL);
	assert_int_equal(osr_torus_init(&t, 2, bad, &arena, &diag), OSR_INVAL);
	assert_int_equal(osr_torus_init(&t, 2, many, &arena, &diag), OSR_INVAL);
	osr_arena_free(&arena);
}

TEST_PROGRAM(turns_are_certified, theorem_2_adds_all_it_can, choices_are_the_paths_of_the_graph,
	     algorithm_4_is_a_minimum_over_choices, the_graph_is_as_large_as_the_paper_says,
	     all_algorithms_are_legal, desmos, same_input_same_routes, the_judge_refuses,
	     alltoall_is_the_load, bad_input_is_refused)

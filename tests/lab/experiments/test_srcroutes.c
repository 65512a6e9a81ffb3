/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Source routes on random tori. What the library finds as paths of the routing graph is found here
 * a second time as rows of hops; the certificate of the turns is judged by looking for cycles, the
 * used direction sets by walking from every channel.
 */
#include "test.h"

#include "srcroutes.h"
#include <osmroutes/prng.h>

#define N_RANDOM 80

struct trial {
	struct srcroutes srcroutes;
	struct srcroute *route;
	unsigned seed;
};

static void drop(struct trial *trial)
{
	free(trial->route);
	srcroutes_free(&trial->srcroutes);
	free(trial);
}

static struct trial *whole(uint32_t n_dims, const uint32_t *size)
{
	struct trial *trial = calloc(1, sizeof(*trial));

	assert_true(srcroutes_init(&trial->srcroutes, n_dims, size));
	trial->route = calloc(trial->srcroutes.n_pairs, sizeof(*trial->route));
	return trial;
}

/* One to four dimensions. */
static struct trial *draw(unsigned seed)
{
	struct osr_prng prng = { seed };
	uint32_t n_dims = 1 + osr_prng_below(&prng, 4), size[4];
	struct trial *trial;

	for (uint32_t i = 0; i < n_dims; i++)
		size[i] = 2 + osr_prng_below(&prng, n_dims < 3 ? 5 : 3);
	trial = whole(n_dims, size);
	trial->seed = seed;
	return trial;
}

/* ---- the certificate ------------------------------------------------------------------------ */

static bool step_allowed(const struct trial *trial, uint32_t c, uint32_t to)
{
	const struct torus *torus = &trial->srcroutes.torus;
	uint32_t v = torus->next[c], dir = c % torus->n_dirs;

	if (v == NO_NODE || torus->next[v * torus->n_dirs + to] == NO_NODE)
		return false;
	if (dir != to && dir % torus->n_dims == to % torus->n_dims)
		return false;
	return to >= dir || (trial->srcroutes.after[v * torus->n_dirs + dir] >> to & 1);
}

static bool on_whole_ring(const struct trial *trial, uint32_t c)
{
	const struct torus *torus = &trial->srcroutes.torus;
	uint32_t dir = c % torus->n_dirs, v = c / torus->n_dirs, n = 0;

	while (torus->next[v * torus->n_dirs + dir] != NO_NODE && n++ < torus->n_nodes) {
		v = torus->next[v * torus->n_dirs + dir];
		if (v == c / torus->n_dirs)
			return true;
	}
	return false;
}

/* Directions of all channels that can be reached from channel c: B(u, D) of the paper. */
static uint32_t used_directions(const struct trial *trial, uint32_t c)
{
	const struct torus *torus = &trial->srcroutes.torus;
	uint32_t n = torus->n_nodes * torus->n_dirs, set = 0, top = 0;
	uint32_t *stack = malloc(n * sizeof(*stack));
	bool *seen = calloc(n, sizeof(*seen));

	stack[top++] = c;
	seen[c] = true;
	while (top) {
		uint32_t e = stack[--top];

		set |= 1u << e % torus->n_dirs;
		for (uint32_t to = 0; to < torus->n_dirs; to++) {
			uint32_t f = torus->next[e] * torus->n_dirs + to;

			if (!step_allowed(trial, e, to) || seen[f])
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
 * Every permitted step rises, but around a whole ring. Equal ranks elsewhere would hide a cycle, so
 * rings must not share theirs either. "The second stage is performed until all possible edges are
 * constructed."
 */
static void turns_are_certified_and_all_that_theorem_2_gives(void **state)
{
	for (unsigned i = 0; i < N_RANDOM; i++) {
		struct trial *trial = draw(i);
		const struct torus *torus = &trial->srcroutes.torus;
		uint32_t n_added = 0, nd = torus->n_dirs;

		for (uint32_t k = 0; k < torus->n_nodes * nd * nd; k++) {
			uint32_t c = k / nd, to = k % nd, dir = c % nd,
				 e = torus->next[c] * nd + to;
			bool tried = to < dir && (dir < torus->n_dims) == (to < torus->n_dims);

			if (torus->next[c] == NO_NODE || torus->next[e] == NO_NODE)
				continue;
			if (!step_allowed(trial, c, to)) {
				assert_true(!tried || used_directions(trial, e) >> dir & 1);
				continue;
			}
			n_added += tried;
			if (to == dir && on_whole_ring(trial, c))
				assert_int_equal(trial->srcroutes.rank[c],
						 trial->srcroutes.rank[e]);
			else
				assert_true(trial->srcroutes.rank[c] < trial->srcroutes.rank[e]);
		}
		assert_int_equal(n_added, trial->srcroutes.n_added);
		drop(trial);
	}
}

/* ---- choices and the routing graph ---------------------------------------------------------- */

/*
 * The rows of hops that begin with these h, each of which comes nearer: directions rise, but behind
 * a first step in a positive one and before a last step in a negative one. Returns how many; each
 * is one of the choices.
 */
static uint32_t count_rows(const struct trial *trial, uint32_t pair, uint32_t *path, uint32_t h)
{
	const struct srcroutes *srcroutes = &trial->srcroutes;
	uint32_t nd = srcroutes->torus.n_dirs, n = srcroutes->torus.n_nodes,
		 hops = srcroutes->hops[pair], n_rows = 0, k = 0;
	uint32_t last = h ? path[h - 1] % nd : 0,
		 at = h ? srcroutes->torus.next[path[h - 1]] : pair / n;

	if (h == hops) {
		while (k < srcroutes_n_choices(srcroutes, pair) &&
		       memcmp(path, srcroutes_channels(srcroutes, pair, k), hops * sizeof(*path)))
			k++;
		if (k == srcroutes_n_choices(srcroutes, pair))
			fail_msg("seed %u: pair %u lacks a route", trial->seed, pair);
		return 1;
	}
	for (uint32_t dir = 0; dir < nd; dir++) {
		uint32_t next = srcroutes->torus.next[at * nd + dir];
		bool first = h == 1 && last < srcroutes->torus.n_dims;
		bool before_last = h + 1 == hops && dir >= srcroutes->torus.n_dims;

		if (next == NO_NODE || srcroutes->hops[next * n + pair % n] != hops - h - 1 ||
		    (dir < last &&
		     (!step_allowed(trial, path[h - 1], dir) || (!first && !before_last))))
			continue;
		path[h] = at * nd + dir;
		n_rows += count_rows(trial, pair, path, h + 1);
	}
	return n_rows;
}

/*
 * So the least weight over the choices is what algorithm 4 finds, where a hop weighs more than all
 * loads.
 */
static void choices_are_all_legal_rows_of_hops(void **state)
{
	for (unsigned seed = 0; seed < N_RANDOM; seed++) {
		struct trial *trial = draw(seed);
		uint32_t path[64];

		for (uint32_t p = 0; p < trial->srcroutes.n_pairs; p++)
			if (trial->srcroutes.hops[p])
				assert_int_equal(count_rows(trial, p, path, 0),
						 srcroutes_n_choices(&trial->srcroutes, p));
		drop(trial);
	}
}

/* Section 3.1: 3^n + 2n + 1 vertices a node, and at most 2n 3^n + 1.5 n^2 + 1.5 n + 1 edges. */
static void the_graph_is_as_large_as_the_paper_says(void **state)
{
	const uint32_t size[] = { 3, 3, 3, 3 };

	for (uint32_t n = 1, p = 3; n <= 4; n++, p *= 3) {
		struct trial *trial = whole(n, size);

		assert_int_equal(trial->srcroutes.n_states, p + 2 * n + 1);
		assert_true(trial->srcroutes.step_row[trial->srcroutes.n_states] <=
			    2 * n * p + (3 * n * n + 3 * n) / 2 + 1 + p);
		drop(trial);
	}
}

/* ---- algorithms ----------------------------------------------------------------------------- */

static struct srcverdict judged(struct trial *trial, enum srcroutes_algorithm algorithm)
{
	struct srcverdict verdict;

	srcroutes_route(&trial->srcroutes, algorithm, trial->route);
	if (!srccheck(&trial->srcroutes.torus, trial->route, trial->srcroutes.rank, &verdict))
		fail_msg("seed %u, algorithm %d: %s", trial->seed, algorithm, verdict.why);
	return verdict;
}

/* The same routes twice, too. */
static void all_algorithms_are_legal(void **state)
{
	for (unsigned seed = 0; seed < N_RANDOM; seed++) {
		struct trial *x = draw(seed), *y = draw(seed);
		struct srcverdict verdict[N_SRCROUTES];

		for (int i = 0; i < N_SRCROUTES; i++) {
			verdict[i] = judged(x, (enum srcroutes_algorithm)i);
			assert_int_equal(verdict[i].n_longer, 0);
			assert_int_equal(verdict[i].n_hops, verdict[0].n_hops);
			assert_int_equal(verdict[i].max_hops, verdict[0].max_hops);
			judged(y, (enum srcroutes_algorithm)i);
			for (uint32_t p = 0; p < x->srcroutes.n_pairs; p++)
				assert_memory_equal(&x->route[p], &y->route[p], sizeof(*x->route));
		}
		drop(x);
		drop(y);
	}
}

/*
 * Table 2: no routes are below the optima of an integer program; those of sssp come within 4 % of
 * the paper's.
 */
static void desmos(void **state)
{
	const uint32_t size[] = { 4, 2, 2, 2 };
	const uint32_t unique[] = { 0, 12, 32, 104, 304 }, best[] = { 0, 2, 4, 10, 26 };
	const uint32_t n_turns[] = { 0, 0, 8, 40, 144 }, paper[] = { 0, 2, 5, 12, 28 };

	for (uint32_t n = 1; n <= 4; n++) {
		struct trial *trial = whole(n, size);

		if (n > 1) {
			assert_int_equal(trial->srcroutes.n_added, n_turns[n]);
			assert_int_equal(trial->srcroutes.n_unique, unique[n]);
		}
		for (int i = 0; i < N_SRCROUTES; i++) {
			struct srcverdict verdict = judged(trial, (enum srcroutes_algorithm)i);

			assert_true(verdict.max_load >= best[n]);
			assert_true(i != SRCROUTES_SSSP ||
				    verdict.max_load * 100 <= paper[n] * 104);
			assert_int_equal(verdict.max_hops, n + 1);
		}
		drop(trial);
	}
}

/* ---- the algorithms once more ---------------------------------------------------------------- */

struct again {
	const struct trial *trial;
	uint32_t *load; /* [channels] */
};

/* The route of a pair goes over these channels; its load is counted. */
static void expect_route(struct again *again, uint32_t pair, const uint32_t *channel)
{
	const struct srcroutes *srcroutes = &again->trial->srcroutes;
	struct srcroute found = again->trial->route[pair];
	uint32_t nd = srcroutes->torus.n_dirs, n = srcroutes->torus.n_dims, h = 0,
		 hops = srcroutes->hops[pair];

	for (uint32_t k = 0; k < hops; k++)
		again->load[channel[k]]++;
	if (found.first != NO_DIR)
		assert_int_equal(channel[h++] % nd, found.first);
	for (uint32_t dir = 0; dir < nd; dir++) {
		bool bit = (dir < n ? found.plus : found.minus) >> dir % n & 1;

		if (bit && channel[h] % nd != dir)
			fail_msg("seed %u: pair %u goes another way", again->trial->seed, pair);
		while (bit && h < hops - (found.last != NO_DIR) && channel[h] % nd == dir)
			h++;
	}
	if (found.last != NO_DIR)
		assert_int_equal(channel[h++] % nd, found.last);
	assert_int_equal(h, hops);
}

/* The vertex behind a step of the routing graph, or NO_NODE. */
static uint32_t behind(const struct srcroutes *srcroutes, uint32_t v, struct srcroutes_step step)
{
	uint32_t node = v / srcroutes->n_states, nd = srcroutes->torus.n_dirs,
		 last = srcroutes->last[v % srcroutes->n_states];

	if (step.dir == NO_DIR)
		return node * srcroutes->n_states + step.to;
	if (srcroutes->torus.next[node * nd + step.dir] == NO_NODE ||
	    (step.turn && !(srcroutes->after[node * nd + last] >> step.dir & 1)))
		return NO_NODE;
	return srcroutes->torus.next[node * nd + step.dir] * srcroutes->n_states + step.to;
}

static uint32_t lightest_edge(const struct again *again, uint32_t v)
{
	const struct srcroutes *srcroutes = &again->trial->srcroutes;
	uint32_t state = v % srcroutes->n_states, least = UINT32_MAX;

	for (uint32_t k = srcroutes->step_row[state]; k < srcroutes->step_row[state + 1]; k++) {
		struct srcroutes_step step = srcroutes->step[k];
		uint32_t c = v / srcroutes->n_states * srcroutes->torus.n_dirs + step.dir;

		if (step.dir != NO_DIR && behind(srcroutes, v, step) != NO_NODE &&
		    again->load[c] < least)
			least = again->load[c];
	}
	return least == UINT32_MAX ? 0 : least;
}

/*
 * Algorithm 2 from a source: of each level the vertex with the lightest edge comes next, of several
 * the one that was found first; it takes what nobody has taken.
 */
static void expect_tree(struct again *again, uint32_t source)
{
	const struct srcroutes *srcroutes = &again->trial->srcroutes;
	uint32_t n = srcroutes->torus.n_nodes, n_vertices = n * srcroutes->n_states,
		 nd = srcroutes->torus.n_dirs;
	uint32_t *parent = malloc(n_vertices * sizeof(*parent)),
		 *found = malloc(n_vertices * sizeof(*found)),
		 *weight = malloc(n_vertices * sizeof(*weight)), from = 0, to = 1, end, best;
	bool *done = calloc(n_vertices, sizeof(*done));

	memset(parent, 0xff, n_vertices * sizeof(*parent));
	found[0] = source * srcroutes->n_states;
	for (; from < to; from = end) {
		for (uint32_t i = from; i < to; i++)
			weight[found[i]] = lightest_edge(again, found[i]);
		for (end = to; true;) {
			best = NO_NODE;
			for (uint32_t i = from; i < end; i++)
				if (!done[found[i]] &&
				    (best == NO_NODE || weight[found[i]] < weight[best]))
					best = found[i];
			if (best == NO_NODE)
				break;
			done[best] = true;
			for (uint32_t k = srcroutes->step_row[best % srcroutes->n_states];
			     k < srcroutes->step_row[best % srcroutes->n_states + 1]; k++) {
				uint32_t v = behind(srcroutes, best, srcroutes->step[k]);

				if (v == NO_NODE || parent[v] != NO_NODE)
					continue;
				parent[v] = best;
				found[to++] = v;
			}
		}
	}
	for (uint32_t j = 0; j < n; j++) {
		uint32_t path[64], h = srcroutes->hops[source * n + j];

		for (uint32_t v = parent[(j + 1) * srcroutes->n_states - 1]; j != source;
		     v = parent[v]) {
			if (parent[v] == NO_NODE)
				break;
			path[--h] = parent[v] / srcroutes->n_states * nd +
				    srcroutes->last[v % srcroutes->n_states];
		}
		if (j != source)
			expect_route(again, source * n + j, path);
	}
	free(parent);
	free(found);
	free(weight);
	free(done);
}

/* Algorithm 1: each source is the farthest from the one before that is left. */
static void algorithms_1_and_2_by_definition(void **state)
{
	for (unsigned seed = 0; seed < N_RANDOM; seed += 4) {
		struct trial *trial = draw(seed);
		uint32_t n = trial->srcroutes.torus.n_nodes, source = 0;
		struct again again = { trial,
				       calloc((size_t)n * trial->srcroutes.torus.n_dirs, 4) };
		bool *done = calloc(n, sizeof(*done));

		srcroutes_route(&trial->srcroutes, SRCROUTES_BFS, trial->route);
		for (uint32_t left = n; left; left--) {
			uint32_t far = NO_NODE;

			expect_tree(&again, source);
			done[source] = true;
			for (uint32_t j = n; j-- > 0;)
				if (!done[j] && (far == NO_NODE ||
						 trial->srcroutes.hops[source * n + j] >=
							 trial->srcroutes.hops[source * n + far]))
					far = j;
			source = far;
		}
		free(done);
		free(again.load);
		drop(trial);
	}
}

static uint32_t n_turns(const struct srcroutes *srcroutes, uint32_t pair)
{
	const uint32_t *channel = srcroutes_channels(srcroutes, pair, 0);
	uint32_t n = 0, nd = srcroutes->torus.n_dirs;

	for (uint32_t h = 1; h < srcroutes->hops[pair]; h++)
		n += channel[h] % nd != channel[h - 1] % nd;
	return n;
}

/* A shortest path of least load; the first of several. */
static const uint32_t *lightest_path(const struct again *again, uint32_t pair)
{
	const struct srcroutes *srcroutes = &again->trial->srcroutes;
	const uint32_t *best = NULL;
	uint32_t least = UINT32_MAX;

	for (uint32_t k = 0; k < srcroutes_n_choices(srcroutes, pair); k++) {
		const uint32_t *channel = srcroutes_channels(srcroutes, pair, k);
		uint32_t sum = 0;

		for (uint32_t h = 0; h < srcroutes->hops[pair]; h++)
			sum += again->load[channel[h]];
		best = sum < least ? channel : best;
		least = sum < least ? sum : least;
	}
	return best;
}

/*
 * Lines 12 to 17 for one source, of pairs with so many turns and hops: paths under the loads so far;
 * those that share no channel with an earlier one of the batch are taken, the others wait.
 */
static unsigned expect_batches(struct again *again, uint32_t source, uint32_t turns, uint32_t hops)
{
	const struct srcroutes *srcroutes = &again->trial->srcroutes;
	uint32_t n = srcroutes->torus.n_nodes, n_left = 0, pair[4096];
	unsigned n_calls = 0;

	for (uint32_t p = source * n; p < (source + 1) * n; p++)
		if (srcroutes_n_choices(srcroutes, p) > 1 && srcroutes->hops[p] == hops &&
		    n_turns(srcroutes, p) == turns)
			pair[n_left++] = p;
	while (n_left) {
		const uint32_t *path[4096];
		uint32_t n_waiting = 0, n_batch = 0;

		for (uint32_t i = 0; i < n_left; i++)
			path[i] = lightest_path(again, pair[i]);
		for (uint32_t i = 0; i < n_left; i++) {
			bool crosses = false;

			for (uint32_t k = 0; k < n_batch * hops * hops; k++)
				crosses |=
					path[k / hops / hops][k / hops % hops] == path[i][k % hops];
			if (crosses) {
				pair[n_waiting++] = pair[i];
				continue;
			}
			expect_route(again, pair[i], path[i]);
			path[n_batch++] = path[i];
		}
		n_left = n_waiting;
		n_calls++;
	}
	return n_calls;
}

/* Algorithm 3: unique routes, then pairs by turns, hops and source, in batches. */
static void algorithm_3_by_definition(void **state)
{
	for (unsigned seed = 0; seed < N_RANDOM; seed += 4) {
		struct trial *trial = draw(seed);
		const struct srcroutes *srcroutes = &trial->srcroutes;
		uint32_t n = srcroutes->torus.n_nodes;
		struct again again = { trial, calloc((size_t)n * srcroutes->torus.n_dirs, 4) };
		unsigned n_calls = 0;

		srcroutes_route(&trial->srcroutes, SRCROUTES_SSSP, trial->route);
		for (uint32_t p = 0; p < n * n; p++)
			if (srcroutes_n_choices(srcroutes, p) == 1)
				expect_route(&again, p, srcroutes_channels(srcroutes, p, 0));
		for (uint32_t turns = 0; turns < 10; turns++)
			for (uint32_t hops = 1; hops < 12; hops++)
				for (uint32_t source = 0; source < n; source++)
					n_calls += expect_batches(&again, source, turns, hops);
		assert_int_equal(n_calls, srcroutes->n_sssp_calls);
		free(again.load);
		drop(trial);
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
	struct trial *trial = whole(2, size);
	struct srcverdict verdict = judged(trial, SRCROUTES_SSSP);

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct srcroute
			*place = &trial->route[rows[i].from * trial->srcroutes.torus.n_nodes +
					       rows[i].to],
			before = *place;

		*place = rows[i].r;
		assert_false(srccheck(&trial->srcroutes.torus, trial->route, trial->srcroutes.rank,
				      &verdict));
		if (!strstr(verdict.why, rows[i].why))
			fail_msg("expected \"%s\", got \"%s\"", rows[i].why, verdict.why);
		*place = before;
	}
	trial->srcroutes.rank[0] = trial->srcroutes.rank[1];
	trial->srcroutes.rank[4 * 4] = trial->srcroutes.rank[4 * 4 + 1];
	assert_false(
		srccheck(&trial->srcroutes.torus, trial->route, trial->srcroutes.rank, &verdict));
	drop(trial);
}

/* ---- errors --------------------------------------------------------------------------------- */

static void bad_input_is_refused(void **state)
{
	const uint32_t good[] = { 3, 3, 3, 3, 3, 3, 3 }, bad[] = { 3, 1 }, many[] = { 100, 100 };
	struct srcroutes srcroutes;

	assert_false(srcroutes_init(&srcroutes, 0, good));
	assert_false(srcroutes_init(&srcroutes, 7, good));
	assert_false(srcroutes_init(&srcroutes, 2, bad));
	assert_false(srcroutes_init(&srcroutes, 2, many));
}

TEST_PROGRAM(turns_are_certified_and_all_that_theorem_2_gives, choices_are_all_legal_rows_of_hops,
	     the_graph_is_as_large_as_the_paper_says, all_algorithms_are_legal,
	     algorithms_1_and_2_by_definition, algorithm_3_by_definition, desmos, the_judge_refuses,
	     bad_input_is_refused)

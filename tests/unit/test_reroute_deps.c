/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The dependency graphs of a re-route, against a matrix for each lane and a search for cycles in it. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "core/reroute/reroute_private.h"
#include "fabrics.h"

#define MAX_CHANNELS 64
#define N_LANES 3

struct model {
	uint32_t n;
	bool dep[N_LANES][MAX_CHANNELS][MAX_CHANNELS];
};

/* Does c come back to `to`, over what it depends on? */
static bool leads_to(const struct model *x, unsigned lane, uint32_t c, uint32_t to, bool *seen)
{
	if (c == to)
		return true;
	if (seen[c])
		return false;
	seen[c] = true;
	for (uint32_t next = 0; next < x->n; next++)
		if (x->dep[lane][c][next] && leads_to(x, lane, next, to, seen))
			return true;
	return false;
}

/* All lanes, or none if one of them would have a cycle. */
static bool model_add(struct model *x, uint32_t c1, uint32_t c2, uint16_t lanes)
{
	for (unsigned lane = 0; lane < N_LANES; lane++) {
		bool seen[MAX_CHANNELS] = { false };

		if (lanes >> lane & 1 && leads_to(x, lane, c2, c1, seen))
			return false;
	}
	for (unsigned lane = 0; lane < N_LANES; lane++)
		x->dep[lane][c1][c2] |= lanes >> lane & 1;
	return true;
}

static void assert_same(const struct osr__deps *deps, const struct model *x)
{
	const struct osr_fabric *f = deps->x;

	for (uint32_t c = 0; c < x->n; c++)
		for (uint32_t o = f->chan_row[f->chan_dst[c]]; o < f->chan_row[f->chan_dst[c] + 1];
		     o++)
			for (unsigned lane = 0; lane < N_LANES; lane++) {
				const uint32_t *pos = deps->pos + (size_t)lane * x->n;
				bool there = deps->dep[osr__deps_slot(deps, c, o)] >> lane & 1;

				assert_int_equal(there, x->dep[lane][c][o]);
				assert_true(!there || pos[c] < pos[o]);
			}
}

/* Places 0 .. n-1 that rise with the keys, then with the channels. */
static void assert_placed(const struct osr__deps *deps, const uint64_t *keys)
{
	uint32_t n = deps->x->n_channels;

	for (size_t lane = 0; lane < N_LANES; lane++)
		for (uint32_t c = 0; c < n; c++) {
			uint32_t before = 0;

			for (uint32_t o = 0; o < n; o++)
				before += keys[lane * n + o] < keys[lane * n + c] ||
					  (keys[lane * n + o] == keys[lane * n + c] && o < c);
			assert_int_equal(deps->pos[lane * n + c], before);
		}
}

/* One transaction; what its first half has added stays, or nothing, or all. */
static void transaction(struct osr__deps *deps, struct model *x, uint64_t *seed,
			unsigned *n_refused)
{
	const struct osr_fabric *f = deps->x;
	struct model *before = malloc(sizeof(*x)), *half = malloc(sizeof(*x));
	unsigned n_adds = 1 + test_random(seed) % 6, what = test_random(seed) % 3;
	uint32_t n_undo = 0;

	memcpy(before, x, sizeof(*x));
	osr__deps_begin(deps);
	for (unsigned i = 0; i < n_adds; i++) {
		uint32_t c1 = (uint32_t)(test_random(seed) % x->n), s = f->chan_dst[c1];
		uint32_t degree = f->chan_row[s + 1] - f->chan_row[s];
		uint32_t c2 = f->chan_row[s] + (uint32_t)(test_random(seed) % degree);
		uint16_t lanes = (uint16_t)(1 + test_random(seed) % ((1 << N_LANES) - 1));
		bool fits = model_add(x, c1, c2, lanes);

		assert_int_equal(osr__deps_add(deps, c1, c2, lanes), fits);
		*n_refused += !fits;
		if (i == n_adds / 2) {
			memcpy(half, x, sizeof(*x));
			n_undo = deps->n_undo;
		}
	}
	if (what == 0)
		osr__deps_undo(deps);
	else if (what == 1)
		osr__deps_undo_to(deps, n_undo);
	if (what < 2)
		memcpy(x, what ? half : before, sizeof(*x));
	assert_same(deps, x);
	free(before);
	free(half);
}

static void test_transactions(void **state)
{
	unsigned n_refused = 0, n = 0;

	for (unsigned i = 0; i < 40; i++) {
		struct osr_arena scratch = { 0 };
		struct test_fabric t;
		struct model *x = calloc(1, sizeof(*x));
		uint64_t seed = i, keys[N_LANES * MAX_CHANNELS];
		struct osr__deps deps;

		test_fabric_random(&t, 4 + i % 6, 8 + i % 20, 70 + i);
		x->n = t.f.n_channels;
		assert_in_range(x->n, 1, MAX_CHANNELS);
		/* Of all sizes, and some alike. */
		for (size_t k = 0; k < (size_t)N_LANES * x->n; k++)
			keys[k] = test_random(&seed) % 2
					  ? test_random(&seed) >> test_random(&seed) % 64
					  : k % 5;
		assert_int_equal(osr__deps_init(&deps, &t.f, N_LANES, keys, &scratch, NULL),
				 OSR_OK);
		assert_placed(&deps, keys);
		for (unsigned k = 0; k < 150; k++, n++)
			transaction(&deps, x, &seed, &n_refused);
		osr_arena_free(&scratch);
		test_fabric_free(&t);
		free(x);
	}
	assert_true(n_refused > n / 4);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_transactions) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The least load of bound.h on small random fabrics, sparse ones, with parallel cables and in several pieces,
 * against every set of switches: no more than the best of all cuts and of the mean, and no less than the cuts around
 * single switches and through the cables between two neighbours.
 */
#include "test.h"

#include <osmroutes/bound.h>
#include "fabrics.h"

#define MOST 9
#define FAR 1000000

/* What was drawn, kept here. */
struct drawing {
	uint32_t n;
	uint64_t hosts[MOST], all[MOST];
	const uint64_t *lids; /* [MOST] that are sent to: all, or one for each host */
	uint32_t cables[MOST][MOST];
};

static void draw(struct drawing *x, struct test_fabric *t, uint64_t seed)
{
	struct draft d;
	uint32_t n_more = (uint32_t)(test_random(&seed) % 5);

	memset(x, 0, sizeof(*x));
	draft_new(&d);
	x->n = 2 + (uint32_t)(test_random(&seed) % (MOST - 1));
	for (uint32_t v = 0; v < x->n; v++) {
		draft_switch(&d);
		d.lmc = (uint8_t)(test_random(&seed) % 2);
		x->hosts[v] = test_random(&seed) % 4;
		x->all[v] = x->hosts[v] << d.lmc;
		for (uint64_t i = 0; i < x->hosts[v]; i++)
			draft_host(&d, v);
	}
	/* A tree, now and then with a cable missing; and a few cables more, some of them parallel. */
	for (uint32_t i = 1; i < x->n + n_more; i++) {
		uint32_t a = i < x->n ? i : (uint32_t)(test_random(&seed) % x->n);
		uint32_t b = (uint32_t)(test_random(&seed) % (i < x->n ? i : x->n));

		if (a == b || (i < x->n && test_random(&seed) % 12 == 0))
			continue;
		draft_link(&d, a, b);
		x->cables[a][b]++;
		x->cables[b][a]++;
	}
	draft_build(&d, t, "sparse");
}

/* Hops between all pairs, FAR where there is no path. */
static void measure(const struct drawing *x, uint32_t hops[MOST][MOST])
{
	for (uint32_t a = 0; a < x->n; a++)
		for (uint32_t b = 0; b < x->n; b++)
			hops[a][b] = a == b ? 0 : x->cables[a][b] ? 1 : FAR;
	for (uint32_t k = 0; k < x->n; k++)
		for (uint32_t a = 0; a < x->n; a++)
			for (uint32_t b = 0; b < x->n; b++)
				if (hops[a][k] + hops[k][b] < hops[a][b])
					hops[a][b] = hops[a][k] + hops[k][b];
}

/* Routes over each of the cables around this set of switches, rounded up; *n_cables of them. */
static uint64_t around(const struct drawing *x, uint32_t hops[MOST][MOST], uint32_t set,
		       uint32_t *n_cables)
{
	uint64_t routes = 0;

	*n_cables = 0;
	for (uint32_t a = 0; a < x->n; a++)
		for (uint32_t b = 0; b < x->n; b++) {
			if (!(set >> a & 1) || set >> b & 1)
				continue;
			*n_cables += x->cables[a][b];
			routes += hops[a][b] < FAR ? x->hosts[a] * x->lids[b] : 0;
		}
	return *n_cables ? (routes + *n_cables - 1) / *n_cables : 0;
}

static uint64_t mean(const struct drawing *x, uint32_t hops[MOST][MOST])
{
	uint64_t sum = 0, n_channels = 0;

	for (uint32_t a = 0; a < x->n; a++)
		for (uint32_t b = 0; b < x->n; b++) {
			n_channels += x->cables[a][b];
			sum += hops[a][b] < FAR ? x->hosts[a] * x->lids[b] * hops[a][b] : 0;
		}
	return n_channels ? (sum + n_channels - 1) / n_channels : 0;
}

/* Do these cables, between two switches, join what nothing else does? */
static bool is_only_way(const struct drawing *x, uint32_t set)
{
	uint32_t from = OSR_NONE, to = OSR_NONE;

	for (uint32_t a = 0; a < x->n; a++)
		for (uint32_t b = 0; b < x->n; b++) {
			if (!(set >> a & 1) || set >> b & 1 || !x->cables[a][b])
				continue;
			if (from != OSR_NONE && (a != from || b != to))
				return false;
			from = a;
			to = b;
		}
	return from != OSR_NONE;
}

static void check_lids(const struct drawing *x, const struct osr_fabric *f, enum osr_lids which,
		       unsigned *n_decisive)
{
	uint32_t hops[MOST][MOST], n_cables;
	struct osr_arena scratch = { 0 };
	uint64_t bound, low, single = 0, only = 0, high;

	assert_int_equal(osr_bound_load(f, which, &scratch, &bound, NULL), OSR_OK);
	measure(x, hops);
	low = high = mean(x, hops);
	for (uint32_t set = 1; set < 1u << x->n; set++) {
		uint64_t load = around(x, hops, set, &n_cables);

		high = load > high ? load : high;
		if (!(set & (set - 1)))
			single = load > single ? load : single;
		else if (is_only_way(x, set))
			only = load > only ? load : only;
	}
	low = single > low ? single : low;
	*n_decisive += only > low;
	low = only > low ? only : low;
	assert_in_range(bound, low, high);
	osr_arena_free(&scratch);
}

static void check_drawing(struct drawing *x, const struct osr_fabric *f, unsigned *n_decisive)
{
	x->lids = x->hosts;
	check_lids(x, f, OSR_FIRST_LIDS, n_decisive);
	x->lids = x->all;
	check_lids(x, f, OSR_ALL_LIDS, n_decisive);
}

static void test_all_cuts(void **state)
{
	unsigned n = test_number("OSR_BOUND_DRAWINGS", 3000), n_decisive = 0;

	for (unsigned i = 0; i < n; i++) {
		struct drawing x;
		struct test_fabric t;

		draw(&x, &t, i);
		check_drawing(&x, &t.f, &n_decisive);
		test_fabric_free(&t);
	}
	/* Otherwise nothing was tried. */
	assert_true(n_decisive > n / 20);
}

TEST_PROGRAM(test_all_cuts)

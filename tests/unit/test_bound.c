/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The least load of bound.h on small random fabrics, sparse ones, with parallel cables and in
 * several pieces, of one speed or of several, against every set of switches: no more than the best
 * of all cuts and of the mean, and no less than the cuts around single switches and through the
 * cables between two neighbours.
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
	uint64_t capacity[MOST][MOST]; /* of these cables, in Gb/s */
	uint32_t fastest;
	bool mixed;
};

/* What does not divide another one evenly, too; 0 is unknown, and counts as the fastest. */
static const uint16_t rates[] = { 100, 56, 200, 0 };

static void draw(struct drawing *drawing, struct test_fabric *test, uint64_t seed)
{
	struct draft draft;
	bool several = seed % 2;
	uint32_t n_more = (uint32_t)(test_random(&seed) % 5);

	memset(drawing, 0, sizeof(*drawing));
	draft_new(&draft);
	drawing->n = 2 + (uint32_t)(test_random(&seed) % (MOST - 1));
	for (uint32_t v = 0; v < drawing->n; v++) {
		draft_switch(&draft);
		draft.lmc = (uint8_t)(test_random(&seed) % 2);
		drawing->hosts[v] = test_random(&seed) % 4;
		drawing->all[v] = drawing->hosts[v] << draft.lmc;
		for (uint64_t i = 0; i < drawing->hosts[v]; i++)
			draft_host(&draft, v);
	}
	/*
	 * A tree, now and then with a cable missing; and a few cables more, some of them parallel.
	 */
	for (uint32_t i = 1; i < drawing->n + n_more; i++) {
		uint32_t a = i < drawing->n ? i : (uint32_t)(test_random(&seed) % drawing->n);
		uint32_t b = (uint32_t)(test_random(&seed) % (i < drawing->n ? i : drawing->n));

		if (a == b || (i < drawing->n && test_random(&seed) % 12 == 0))
			continue;
		draft.rate = rates[several ? test_random(&seed) % 4 : 0];
		draft_link(&draft, a, b);
		drawing->cables[a][b]++;
		drawing->cables[b][a]++;
	}
	draft_build(&draft, test, "sparse");
	for (uint32_t c = 0; c < test->fabric.n_channels; c++)
		drawing->fastest = test->fabric.chan_rate[c] > drawing->fastest
					   ? test->fabric.chan_rate[c]
					   : drawing->fastest;
	for (uint32_t c = 0; c < test->fabric.n_channels; c++) {
		uint16_t rate = test->fabric.chan_rate[c];

		drawing->mixed |= rate && rate != drawing->fastest;
		drawing->capacity[test->fabric.chan_src[c]][test->fabric.chan_dst[c]] +=
			rate ? rate : drawing->fastest;
	}
}

/* Hops between all pairs, FAR where there is no path. */
static void measure(const struct drawing *drawing, uint32_t hops[MOST][MOST])
{
	for (uint32_t a = 0; a < drawing->n; a++)
		for (uint32_t b = 0; b < drawing->n; b++)
			hops[a][b] = a == b ? 0 : drawing->cables[a][b] ? 1 : FAR;
	for (uint32_t k = 0; k < drawing->n; k++)
		for (uint32_t a = 0; a < drawing->n; a++)
			for (uint32_t b = 0; b < drawing->n; b++)
				if (hops[a][k] + hops[k][b] < hops[a][b])
					hops[a][b] = hops[a][k] + hops[k][b];
}

/* What so many routes are for each of these cables: a whole number, if they are of one speed. */
static double share(const struct drawing *drawing, uint64_t routes, uint64_t n_cables,
		    uint64_t capacity)
{
	if (!n_cables)
		return 0;
	if (capacity == n_cables * drawing->fastest)
		return drawing->mixed ? (double)routes / (double)n_cables
				      : (double)((routes + n_cables - 1) / n_cables);
	return (double)routes * drawing->fastest / (double)capacity;
}

/* Routes over each of the cables around this set of switches. */
static double around(const struct drawing *drawing, uint32_t hops[MOST][MOST], uint32_t set)
{
	uint64_t routes = 0, n_cables = 0, capacity = 0;

	for (uint32_t a = 0; a < drawing->n; a++)
		for (uint32_t b = 0; b < drawing->n; b++) {
			if (!(set >> a & 1) || set >> b & 1)
				continue;
			n_cables += drawing->cables[a][b];
			capacity += drawing->capacity[a][b];
			routes += hops[a][b] < FAR ? drawing->hosts[a] * drawing->lids[b] : 0;
		}
	return share(drawing, routes, n_cables, capacity);
}

static double mean(const struct drawing *drawing, uint32_t hops[MOST][MOST])
{
	uint64_t sum = 0, n_channels = 0, capacity = 0;

	for (uint32_t a = 0; a < drawing->n; a++)
		for (uint32_t b = 0; b < drawing->n; b++) {
			n_channels += drawing->cables[a][b];
			capacity += drawing->capacity[a][b];
			sum += hops[a][b] < FAR ? drawing->hosts[a] * drawing->lids[b] * hops[a][b]
						: 0;
		}
	return share(drawing, sum, n_channels, capacity);
}

/* Do these cables, between two switches, join what nothing else does? */
static bool is_only_way(const struct drawing *drawing, uint32_t set)
{
	uint32_t from = OSR_NONE, to = OSR_NONE;

	for (uint32_t a = 0; a < drawing->n; a++)
		for (uint32_t b = 0; b < drawing->n; b++) {
			if (!(set >> a & 1) || set >> b & 1 || !drawing->cables[a][b])
				continue;
			if (from != OSR_NONE && (a != from || b != to))
				return false;
			from = a;
			to = b;
		}
	return from != OSR_NONE;
}

static void check_lids(const struct drawing *drawing, const struct osr_fabric *fabric,
		       enum osr_lids which, unsigned *n_decisive)
{
	struct osr_arena scratch = { 0 };
	double bound, low, single = 0, only = 0, high;
	uint32_t hops[MOST][MOST];

	assert_int_equal(osr_bound_load(fabric, which, &scratch, &bound, NULL), OSR_OK);
	measure(drawing, hops);
	low = high = mean(drawing, hops);
	for (uint32_t set = 1; set < 1u << drawing->n; set++) {
		double load = around(drawing, hops, set);

		high = load > high ? load : high;
		if (!(set & (set - 1)))
			single = load > single ? load : single;
		else if (is_only_way(drawing, set))
			only = load > only ? load : only;
	}
	low = single > low ? single : low;
	*n_decisive += only > low;
	low = only > low ? only : low;
	/* Real numbers where rates differ. */
	assert_true(bound > low - 1e-3 && bound < high + 1e-3);
	assert_true(drawing->mixed || bound == (double)(uint64_t)bound);
	osr_arena_free(&scratch);
}

static void check_drawing(struct drawing *drawing, const struct osr_fabric *fabric,
			  unsigned *n_decisive)
{
	drawing->lids = drawing->hosts;
	check_lids(drawing, fabric, OSR_FIRST_LIDS, n_decisive);
	drawing->lids = drawing->all;
	check_lids(drawing, fabric, OSR_ALL_LIDS, n_decisive);
}

static void test_all_cuts(void **state)
{
	unsigned n = test_number("OSR_BOUND_DRAWINGS", 3000), n_decisive = 0;

	for (unsigned i = 0; i < n; i++) {
		struct drawing drawing;
		struct test_fabric test;

		draw(&drawing, &test, i);
		check_drawing(&drawing, &test.fabric, &n_decisive);
		test_fabric_free(&test);
	}
	/* Otherwise nothing was tried. */
	assert_true(n_decisive > n / 20);
}

TEST_PROGRAM(test_all_cuts)

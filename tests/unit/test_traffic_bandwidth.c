/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Congestion and bandwidth where packets do not arrive, and of few hosts. tests/cli/bandwidth.py computes
 * whole bisections a second time.
 */
#include "test.h"

#include "traffic/bandwidth.h"

#include <math.h>

#include "fabrics.h"
#include "survey.h"
#include "tables.h"

/* Two switches with HOSTS hosts each and n_links cables between them. */
#define HOSTS 4

struct set {
	struct test_fabric t;
	struct osr_routing r;
	struct osr_arena tables, scratch;
	struct osr_diag diag;
	uint32_t host[2 * HOSTS]; /* terminals; those of the first switch first */
	uint32_t n_hosts;
};

static void find_hosts(struct set *x)
{
	x->n_hosts = 0;
	for (uint32_t t = 0; t < x->t.f.n_terminals; t++)
		if (x->t.f.term_role[t] == OSR_ROLE_CA && x->n_hosts < 2 * HOSTS)
			x->host[x->n_hosts++] = t;
}

static void draw_pair(struct set *x, unsigned n_links)
{
	struct draft d;
	uint32_t a, b;

	*x = (struct set){ 0 };
	draft_new(&d);
	a = draft_switch(&d);
	b = draft_switch(&d);
	for (unsigned i = 0; i < HOSTS; i++)
		draft_host(&d, a);
	for (unsigned i = 0; i < HOSTS; i++)
		draft_host(&d, b);
	for (unsigned i = 0; i < n_links; i++)
		draft_link(&d, a, b);
	draft_build(&d, &x->t, "pair");
	table_make(TABLE_SHORTEST, &x->t.f, &x->tables, 1, &x->r);
	find_hosts(x);
	assert_int_equal(x->n_hosts, 2 * HOSTS);
}

static void drop(struct set *x)
{
	assert_int_equal(x->scratch.in_use, 0);
	osr_arena_free(&x->tables);
	osr_arena_free(&x->scratch);
	test_fabric_free(&x->t);
}

/* One pattern, given by its pairs of terminals. */
static enum osr_status measure_pairs(const struct osr_fabric *fabric,
				     const struct osr_routing *routing,
				     const struct osr_pair *pairs, uint32_t n_pairs,
				     struct osr_arena *scratch, struct osr_bandwidth *bandwidth,
				     struct osr_diag *diag)
{
	struct osr_arena_mark mark = osr_arena_mark(scratch);
	struct osr_crossing crossing;
	struct osr_meter meter;
	enum osr_status st;

	*bandwidth = (struct osr_bandwidth){ .n_patterns = 1, .n_pairs = n_pairs };
	for (uint32_t t = 0; t < fabric->n_terminals; t++)
		bandwidth->n_hosts += fabric->term_role[t] == OSR_ROLE_CA;
	st = osr_meter_init(&meter, fabric, routing, n_pairs, scratch, diag);
	if (!st)
		st = osr_meter_phase(&meter, pairs, NULL, n_pairs, true, &crossing, diag);
	if (!st) {
		bandwidth->n_no_path = crossing.n_no_path;
		bandwidth->max_congestion = crossing.hsd;
		bandwidth->mean = bandwidth->worst = bandwidth->best = crossing.bandwidth / n_pairs;
	}
	osr_arena_reset(scratch, mark);
	return st;
}

/* All random bisections, by one worker. */
static enum osr_status bisect(const struct osr_fabric *fabric, const struct osr_routing *routing,
			      uint32_t n_patterns, uint64_t seed, struct osr_arena *scratch,
			      struct osr_bandwidth *bandwidth, struct osr_diag *diag)
{
	struct osr_arena_mark mark = osr_arena_mark(scratch);
	struct osr_survey_sum sum;
	struct osr_survey_in in;
	struct osr_phases phases;
	enum osr_status st;

	st = osr_bandwidth_prepare(fabric, routing, n_patterns, seed, scratch, &phases, &in,
				   bandwidth, diag);
	if (!st)
		st = test_survey(&in, scratch, &sum, diag);
	if (!st)
		osr_bandwidth_fill(&sum, bandwidth);
	osr_arena_reset(scratch, mark);
	return st;
}

static struct osr_bandwidth pairs(struct set *x, const struct osr_pair *list, uint32_t n)
{
	struct osr_bandwidth b;

	assert_int_equal(measure_pairs(&x->t.f, &x->r, list, n, &x->scratch, &b, &x->diag), OSR_OK);
	assert_int_equal(b.n_pairs, n);
	assert_int_equal(b.n_patterns, 1);
	return b;
}

static void test_no_path(void **state)
{
	struct osr_pair list[2];
	struct osr_bandwidth b;
	struct set x;
	uint32_t d;

	draw_pair(&x, 1);
	list[0] = (struct osr_pair){ x.host[0], x.host[HOSTS] };
	list[1] = (struct osr_pair){ x.host[1], x.host[2] };
	d = x.t.f.lid_dest[x.t.f.term_lid[x.host[HOSTS]]];
	for (uint32_t v = 0; v < 2; v++) {
		/* Missing where it starts, then wrong where it should end. */
		uint8_t *entry = &x.r.lft[(size_t)d * 2 + v], kept = *entry;

		*entry = v == x.t.f.term_switch[x.host[0]] ? OSR_NO_PATH : 0;
		b = pairs(&x, list, 2);
		assert_int_equal(b.n_no_path, 1);
		assert_true(b.mean == 0.5);
		*entry = kept;
	}
	drop(&x);
}

static void test_loop(void **state)
{
	struct osr_bandwidth b;
	struct osr_pair one;
	struct set x;
	uint32_t d;

	draw_pair(&x, 1);
	one = (struct osr_pair){ x.host[0], x.host[HOSTS] };
	d = x.t.f.lid_dest[x.t.f.term_lid[one.to]];
	/* The other switch sends it back. */
	x.r.lft[(size_t)d * 2 + x.t.f.term_switch[one.to]] =
		x.t.f.chan_port[x.t.f.chan_row[x.t.f.term_switch[one.to]]];
	assert_int_equal(measure_pairs(&x.t.f, &x.r, &one, 1, &x.scratch, &b, &x.diag),
			 OSR_CHECK_FAILED);
	assert_non_null(strstr(x.diag.text, "forwarding loop"));
	drop(&x);
}

/* Every bisection of two hosts is the one pair there is, in one direction or the other. */
static void test_few_hosts(void **state)
{
	struct osr_bandwidth b;
	struct set x = { 0 };
	struct draft d;

	draft_new(&d);
	draft_host(&d, draft_switch(&d));
	draft_build(&d, &x.t, "one host");
	table_make(TABLE_SHORTEST, &x.t.f, &x.tables, 1, &x.r);
	assert_int_equal(bisect(&x.t.f, &x.r, 1, 1, &x.scratch, &b, &x.diag), OSR_NOT_APPLICABLE);
	assert_non_null(strstr(x.diag.text, "two hosts"));
	drop(&x);

	test_fabric_ring(&x.t, 3, 1);
	x.tables = (struct osr_arena){ 0 };
	x.scratch = (struct osr_arena){ 0 };
	table_make(TABLE_SHORTEST, &x.t.f, &x.tables, 1, &x.r);
	assert_int_equal(bisect(&x.t.f, &x.r, 50, 7, &x.scratch, &b, &x.diag), OSR_OK);
	assert_int_equal(b.n_hosts, 3);
	assert_int_equal(b.n_pairs, 1); /* the odd one rests */
	assert_true(b.mean == 1 && b.half_width == 0 && b.max_congestion == 1);
	drop(&x);
}

static void test_out_of_memory(void **state)
{
	enum osr_status st = OSR_NOMEM;
	struct osr_bandwidth b;
	struct set x;

	draw_pair(&x, 2);
	for (size_t n = 1; st != OSR_OK; n++) {
		x.scratch.fail_after = n;
		st = bisect(&x.t.f, &x.r, 3, 1, &x.scratch, &b, &x.diag);
		assert_true(st == OSR_OK || st == OSR_NOMEM);
		assert_true(n < 100);
	}
	x.scratch.fail_after = 0;
	drop(&x);
}

TEST_PROGRAM(test_no_path, test_loop, test_few_hosts, test_out_of_memory)

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Surveys by one and by several workers, and channel loads, against walks of single routes.
 */
#include "test.h"

#include <osmroutes/check.h>
#include "traffic/bandwidth.h"
#include "traffic/loads.h"

#include <math.h>

#include "fabrics.h"
#include "survey.h"
#include "tables.h"

struct set {
	struct test_fabric t;
	struct osr_routing r;
	struct osr_arena tables, scratch;
	struct osr_diag diag;
	uint32_t hosts[512], n_hosts;
};

static void finish_as(struct set *x, enum table_kind kind)
{
	table_make(kind, &x->t.f, &x->tables, 1, &x->r);
	assert_true(x->t.f.n_terminals < 512);
	x->n_hosts = osr_survey_hosts(&x->t.f, x->hosts);
}

static void finish(struct set *x)
{
	finish_as(x, TABLE_SHORTEST);
}

static void drop(struct set *x)
{
	assert_int_equal(x->scratch.in_use, 0);
	osr_arena_free(&x->tables);
	osr_arena_free(&x->scratch);
	test_fabric_free(&x->t);
}

static struct osr_survey_in survey_in(const struct set *x, const struct osr_phases *q)
{
	return (struct osr_survey_in){ .f = &x->t.f,
				       .r = &x->r,
				       .phases = q,
				       .hosts = x->hosts,
				       .n_hosts = x->n_hosts,
				       .n_runs = 3,
				       .shuffle = true,
				       .bandwidth = true,
				       .seed = 5 };
}

/* Three workers, in an order that has nothing to do with the phases: the same bytes. */
static void several(struct set *x, const struct osr_phases *q)
{
	struct osr_survey_in in = survey_in(x, q);
	struct osr_survey_sum one, three;
	struct osr_worker w[3];
	struct osr_survey s;
	bool busy[3] = { false };
	struct osr_prng prng = { 9 };
	uint32_t n_busy = 0;
	bool more = true;

	assert_int_equal(test_survey(&in, &x->scratch, &one, &x->diag), OSR_OK);
	assert_int_equal(osr_survey_init(&s, &in, &x->scratch, &x->diag), OSR_OK);
	for (uint32_t i = 0; i < 3; i++)
		assert_int_equal(osr_worker_init(&w[i], &s, &x->scratch, &x->diag), OSR_OK);
	while (more || n_busy) {
		uint32_t i = osr_prng_below(&prng, 3);

		if (busy[i]) {
			assert_int_equal(osr_worker_run(&w[i], &x->diag), OSR_OK);
			busy[i] = false;
			n_busy--;
		} else if (more) {
			more = busy[i] = osr_survey_take(&s, &w[i]);
			n_busy += busy[i];
		}
	}
	osr_survey_sum(&s, &three);
	assert_memory_equal(&one, &three, sizeof(one));
	osr_arena_free(&x->scratch);
}

/* Every rank to the s-th behind it, s = 1 .. n - 1. */
static struct osr_phases shifts(struct set *x)
{
	uint32_t n = x->n_hosts, *row = osr_alloc(&x->tables, n, sizeof(*row));
	struct osr_pair *pair = osr_alloc(&x->tables, (size_t)n * n, sizeof(*pair));

	for (uint32_t s = 1; s < n; s++)
		for (uint32_t i = 0; i < n; i++)
			pair[(s - 1) * n + i] = (struct osr_pair){ i, (i + s) % n };
	for (uint32_t s = 0; s < n; s++)
		row[s] = s * n;
	return (struct osr_phases){ n, n - 1, row, pair };
}

static void test_workers(void **state)
{
	struct osr_survey_in in;
	struct osr_phases q, halves;
	struct osr_bandwidth b;
	struct set x = { 0 };

	test_fabric_ring(&x.t, 7, 3);
	finish(&x);
	q = shifts(&x);
	several(&x, &q);
	assert_int_equal(
		osr_bandwidth_prepare(&x.t.f, &x.r, 9, 1, &x.tables, &halves, &in, &b, &x.diag),
		OSR_OK);
	several(&x, &halves);
	drop(&x);
}

/* Phases of a file, one of them empty: no stage to be averaged. */
static void test_given(void **state)
{
	static const uint32_t row[] = { 0, 2, 2, 3 };
	static const struct osr_pair pair[] = { { 0, 2 }, { 1, 2 }, { 2, 0 } };
	struct osr_phases phases = { .n_ranks = 3, .n_phases = 3, .row = row, .pair = pair };
	struct osr_survey_sum sum;
	struct osr_survey_in in;
	struct set x = { 0 };

	test_fabric_ring(&x.t, 3, 1);
	finish(&x);
	in = survey_in(&x, &phases);
	assert_int_equal(test_survey(&in, &x.scratch, &sum, &x.diag), OSR_OK);
	assert_true(sum.hsd.mean == 1.5 && sum.hsd_sum.mean == 3);
	assert_true(sum.bandwidth.mean == 2.0 / 3);
	assert_int_equal(sum.n_pairs, 9);
	drop(&x);
}

/* Every route by itself. */
static void slow_loads(const struct set *x, uint64_t *load, uint64_t *hops)
{
	const struct osr_fabric *f = &x->t.f;

	for (uint32_t d = 0; d < f->n_dests; d++) {
		for (uint32_t t = 0; t < f->n_terminals; t++) {
			uint32_t s = f->term_switch[t], n = 0;

			if (!f->term_weight[t] || !f->term_weight[f->dest_term[d]] ||
			    t == f->dest_term[d])
				continue;
			for (; s != f->dest_switch[d]; n++) {
				uint32_t c = osr_port_channel(f, s, osr_lft(&x->r, s, d));

				load[c]++;
				s = f->chan_dst[c];
			}
			hops[n]++;
		}
	}
}

static void judge_loads(struct set *x)
{
	const struct osr_fabric *f = &x->t.f;
	uint64_t load[2048] = { 0 }, hops[OSR_LOADS_MAX_HOPS + 1] = { 0 }, minimal, total = 0;
	struct osr_loads l, part;
	struct osr_balance b;
	struct osr_verdict v;

	assert_true(f->n_channels <= 2048);
	slow_loads(x, load, hops);
	assert_int_equal(osr_loads_init(&l, f, &x->tables, &x->diag), OSR_OK);
	assert_int_equal(osr_loads_init(&part, f, &x->tables, &x->diag), OSR_OK);
	assert_int_equal(
		osr_loads_add(&l, f, &x->r, f->n_dests / 3, f->n_dests, &x->scratch, &x->diag),
		OSR_OK);
	assert_int_equal(osr_loads_add(&part, f, &x->r, 0, f->n_dests / 3, &x->scratch, &x->diag),
			 OSR_OK);
	osr_loads_join(&l, f, &part);
	assert_memory_equal(l.load, load, f->n_channels * sizeof(*load));
	assert_memory_equal(l.hops, hops, sizeof(hops));
	assert_true(l.n_no_path == 0);
	assert_int_equal(osr_loads_minimal(f, &x->scratch, &minimal, &x->diag), OSR_OK);
	for (uint32_t c = 0; c < f->n_channels; c++)
		total += load[c];
	assert_true(total >= minimal);
	assert_true(total == minimal || !(x->r.claims & OSR_CLAIM_MINIMAL));
	assert_int_equal(osr_check(f, &x->r, &x->scratch, &v, &x->diag), OSR_OK);
	osr_loads_balance(&l, f, minimal, 4, &b);
	assert_true(b.efi == v.efi && b.mean == v.efi_mean && b.efi_channel == v.efi_chan);
	osr_loads_balance(&l, f, minimal, 1, &b);
	assert_true(b.sigma >= 0 && b.sigma <= b.efi && b.perfect <= b.mean);
}

static void test_loads(void **state)
{
	for (uint64_t seed = 1; seed <= 60; seed++) {
		struct set x = { 0 };

		test_fabric_random(&x.t, 3 + seed % 20, 2 + seed % 30, seed);
		finish_as(&x, seed % 2 ? TABLE_SHORTEST : TABLE_UPDOWN);
		judge_loads(&x);
		drop(&x);
	}
}

/* Three switches in a ring, a host each: all six channels carry one route; then two go round. */
static void test_deviation(void **state)
{
	struct osr_balance b;
	struct osr_loads l;
	struct set x = { 0 };
	uint64_t minimal;
	uint32_t d, s, t;

	test_fabric_ring(&x.t, 3, 1);
	finish(&x);
	for (uint32_t pass = 0; pass < 2; pass++) {
		assert_int_equal(osr_loads_init(&l, &x.t.f, &x.tables, &x.diag), OSR_OK);
		osr_loads_add(&l, &x.t.f, &x.r, 0, x.t.f.n_dests, &x.scratch, &x.diag);
		osr_loads_minimal(&x.t.f, &x.scratch, &minimal, &x.diag);
		osr_loads_balance(&l, &x.t.f, minimal, 4, &b);
		assert_true(b.perfect == 1);
		if (!pass) {
			assert_true(b.sigma == 0 && b.efi == 1 && b.min == 1);
			assert_true(l.hops[0] == 0 && l.hops[1] == 6 && l.n_routes == 6);
		} else {
			/* One channel 0, two of them 2: the fourth root of 3/6. */
			assert_true(fabs(b.sigma - pow(0.5, 0.25)) < 1e-15);
			assert_true(b.efi == 2 && b.min == 0 && b.mean == 7.0 / 6);
			assert_true(l.hops[1] == 5 && l.hops[2] == 1);
		}
		/* The first host reaches the second by way of the third. */
		s = x.t.f.term_switch[x.hosts[0]];
		t = x.t.f.term_switch[x.hosts[1]];
		d = x.t.f.lid_dest[x.t.f.term_lid[x.hosts[1]]];
		for (uint32_t c = x.t.f.chan_row[s]; c < x.t.f.chan_row[s + 1]; c++)
			if (x.t.f.chan_dst[c] != t)
				x.r.lft[(size_t)d * 3 + s] = x.t.f.chan_port[c];
	}
	drop(&x);
}

/* Holes, loops and a wrong last port: what does not arrive is counted apart. */
static void test_lost(void **state)
{
	struct osr_loads l;
	struct set x = { 0 };
	uint32_t d, s, t;

	test_fabric_ring(&x.t, 3, 2);
	finish(&x);
	d = x.t.f.lid_dest[x.t.f.term_lid[x.hosts[0]]];
	s = x.t.f.term_switch[x.hosts[2]];
	t = x.t.f.term_switch[x.hosts[4]];
	x.r.lft[(size_t)d * 3 + s] = OSR_NO_PATH;
	assert_int_equal(osr_loads_init(&l, &x.t.f, &x.tables, &x.diag), OSR_OK);
	osr_loads_add(&l, &x.t.f, &x.r, d, d + 1, &x.scratch, &x.diag);
	assert_true(l.n_no_path == 2 && l.n_routes == 3);
	/* Two switches that send to each other. */
	for (uint32_t c = 0; c < x.t.f.n_channels; c++) {
		uint32_t a = x.t.f.chan_src[c], b = x.t.f.chan_dst[c];

		if ((a == s && b == t) || (a == t && b == s))
			x.r.lft[(size_t)d * 3 + a] = x.t.f.chan_port[c];
	}
	assert_int_equal(osr_loads_init(&l, &x.t.f, &x.tables, &x.diag), OSR_OK);
	osr_loads_add(&l, &x.t.f, &x.r, d, d + 1, &x.scratch, &x.diag);
	assert_true(l.n_no_path == 4 && l.n_routes == 1 && l.hops[0] == 1);
	x.r.lft[(size_t)d * 3 + x.t.f.dest_switch[d]] = 0;
	osr_loads_add(&l, &x.t.f, &x.r, d, d + 1, &x.scratch, &x.diag);
	assert_true(l.n_no_path == 9 && l.n_routes == 1);
	drop(&x);
}

static void test_out_of_memory(void **state)
{
	enum osr_status st = OSR_NOMEM;
	struct osr_survey_sum sum;
	struct osr_survey_in in;
	struct osr_phases q;
	struct set x = { 0 };
	uint64_t minimal;

	test_fabric_ring(&x.t, 5, 2);
	finish(&x);
	q = shifts(&x);
	in = survey_in(&x, &q);
	for (size_t n = 1; st; n++) {
		x.scratch.fail_after = n;
		st = test_survey(&in, &x.scratch, &sum, &x.diag);
		assert_true(!st || st == OSR_NOMEM);
	}
	st = OSR_NOMEM;
	for (size_t n = 1; st; n++) {
		struct osr_loads l;

		x.scratch.fail_after = n;
		st = osr_loads_init(&l, &x.t.f, &x.scratch, &x.diag);
		if (!st)
			st = osr_loads_add(&l, &x.t.f, &x.r, 0, 2, &x.scratch, &x.diag);
		if (!st)
			st = osr_loads_minimal(&x.t.f, &x.scratch, &minimal, &x.diag);
		assert_true(!st || st == OSR_NOMEM);
		osr_arena_free(&x.scratch);
	}
	x.scratch.fail_after = 0;
	in.n_runs = 0;
	assert_int_equal(test_survey(&in, &x.scratch, &sum, &x.diag), OSR_INVAL);
	drop(&x);
}

TEST_PROGRAM(test_workers, test_given, test_loads, test_deviation, test_lost, test_out_of_memory)

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The auditor on right tables (nothing to name, the checker's figures) and on tables with one fault of a known
 * kind at a known place: that one is named, and with which switch and LID.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "core/verify/audit.h"

#include "fabrics.h"
#include "tables.h"

static struct osr_arena scratch, result;
static struct osr_audit audit;

static void look(const struct osr_fabric *f, const struct osr_generation *gen)
{
	struct osr_diag diag = { "" };

	assert_int_equal(
		osr_audit(f, gen, OSR_CLAIM_REVERSIBLE, 100, &scratch, &result, &audit, &diag),
		OSR_OK);
	for (uint32_t i = 0; i < audit.n_listed; i++) {
		diag.text[0] = 0;
		osr_fault_say(f, &audit.fault[i], &diag);
		assert_true(diag.text[0] != 0);
	}
}

static void look_at(const struct osr_fabric *f, const struct osr_routing *r)
{
	struct osr_generation gen = { .routing = r };

	look(f, &gen);
}

static uint64_t n_faults(void)
{
	uint64_t n = 0;

	for (unsigned kind = 0; kind < OSR_N_FAULTS; kind++)
		n += audit.n_faults[kind];
	return n;
}

/* Is there one of this kind about this switch and LID? */
static bool named(enum osr_fault_kind kind, uint32_t sw, uint32_t dest)
{
	for (uint32_t i = 0; i < audit.n_listed; i++)
		if (audit.fault[i].kind == kind && audit.fault[i].sw == sw &&
		    audit.fault[i].dest == dest)
			return true;
	return false;
}

static uint8_t *entry(struct osr_routing *r, uint32_t s, uint32_t d)
{
	return &r->lft[(size_t)d * r->n_switches + s];
}

/* A LID of a host of another switch, so that packets pass from s to it. */
static uint32_t far_dest(const struct osr_fabric *f, uint32_t s)
{
	for (uint32_t d = 0; d < f->n_dests; d++)
		if (f->dest_switch[d] != s && f->term_weight[f->dest_term[d]])
			return d;
	return OSR_NONE;
}

static void test_right(void **state)
{
	struct osr_verdict v;

	for (uint64_t seed = 0; seed < 40; seed++) {
		enum table_kind kind = (enum table_kind)(seed % N_TABLE_KINDS);
		struct osr_arena arena = { 0 };
		struct test_fabric t;
		struct osr_routing r;

		test_fabric_random(&t, 3 + seed % 10, 12, seed);
		table_make(kind, &t.f, &arena, seed, &r);
		assert_int_equal(osr_check(&t.f, &r, &scratch, &v, NULL), OSR_OK);
		look_at(&t.f, &r);
		assert_int_equal(n_faults(), 0);
		assert_int_equal(audit.n_lost, 0);
		assert_int_equal(audit.efi, v.efi);
		assert_int_equal(audit.n_routes, v.n_routes);
		assert_int_equal(audit.n_longer, v.n_longer);
		assert_int_equal(audit.max_hops, v.max_hops);
		osr_arena_free(&arena);
		test_fabric_free(&t);
	}
}

static void test_one_fault(void **state)
{
	for (uint64_t seed = 0; seed < 40; seed++) {
		struct osr_arena arena = { 0 };
		struct test_fabric t;
		struct osr_routing right, r;
		uint32_t s, d, c, home;

		test_fabric_random(&t, 3 + seed % 10, 12, seed);
		table_make(TABLE_SHORTEST, &t.f, &arena, seed, &right);
		s = (uint32_t)(seed % t.f.n_switches);
		d = far_dest(&t.f, s);
		if (d == OSR_NONE || osr_lft(&right, s, d) == OSR_NO_PATH) {
			osr_arena_free(&arena);
			test_fabric_free(&t);
			continue;
		}
		table_copy(&t.f, &right, &arena, &r);
		*entry(&r, s, d) = OSR_NO_PATH;
		look_at(&t.f, &r);
		assert_int_equal(audit.n_faults[OSR_FAULT_HOLE], n_faults());
		assert_true(named(OSR_FAULT_HOLE, s, d));

		*entry(&r, s, d) = 0;
		look_at(&t.f, &r);
		assert_int_equal(audit.n_faults[OSR_FAULT_DEAD_END], n_faults());
		assert_true(named(OSR_FAULT_DEAD_END, s, d));

		/* The next switch sends it back. */
		c = osr_port_channel(&t.f, s, osr_lft(&right, s, d));
		home = t.f.dest_switch[d];
		table_copy(&t.f, &right, &arena, &r);
		if (t.f.chan_dst[c] != home) {
			*entry(&r, t.f.chan_dst[c], d) = t.f.chan_port[t.f.chan_rev[c]];
			look_at(&t.f, &r);
			assert_int_equal(audit.n_faults[OSR_FAULT_LOOP], 1);
			assert_int_equal(n_faults(), 1);
		}

		table_copy(&t.f, &right, &arena, &r);
		*entry(&r, home, d) = t.f.chan_port[t.f.chan_row[home]];
		look_at(&t.f, &r);
		assert_true(n_faults() > 0);
		osr_arena_free(&arena);
		test_fabric_free(&t);
	}
}

static void test_sls(void **state)
{
	struct osr_arena arena = { 0 };
	struct osr_generation gen = { .routing = NULL };
	struct osr_routing r;
	struct osr_paths p = { .n_rows = 1 };
	struct test_fabric t;
	uint32_t *row;
	uint8_t *sl;

	test_fabric_ring(&t, 4, 2);
	table_make(TABLE_SHORTEST, &t.f, &arena, 1, &r);
	row = osr_calloc(&arena, t.f.n_terminals, sizeof(*row));
	sl = osr_calloc(&arena, t.f.n_dests, 1);
	p.row = row;
	p.sl = sl;
	gen.routing = &r;
	gen.paths = &p;
	look(&t.f, &gen);
	assert_int_equal(n_faults(), 0);
	sl[far_dest(&t.f, 0)] = OSR_NO_SL;
	look(&t.f, &gen);
	assert_true(audit.n_faults[OSR_FAULT_NO_SL] > 0);
	assert_int_equal(audit.n_faults[OSR_FAULT_NO_SL], n_faults());
	osr_arena_free(&arena);

	table_make(TABLE_UPDOWN_SL2VL, &t.f, &arena, 2, &r);
	look_at(&t.f, &r);
	assert_int_equal(n_faults(), 0);
	for (unsigned in = 0; in <= t.f.sw_n_ports[0]; in++)
		for (unsigned out = 0; out <= t.f.sw_n_ports[0]; out++)
			memset(r.sl2vl[r.sl2vl_row[0] + in * (t.f.sw_n_ports[0] + 1u) + out], 15,
			       16);
	look_at(&t.f, &r);
	assert_true(audit.n_faults[OSR_FAULT_SL2VL] > 0);
	assert_int_equal(audit.n_faults[OSR_FAULT_SL2VL], n_faults());
	for (uint32_t i = 0; i < audit.n_listed; i++)
		assert_int_equal(audit.fault[i].sw, 0);
	osr_arena_free(&arena);
	test_fabric_free(&t);
}

/* More LIDs than one batch of senders has, and tables of end ports: the last host's drops what it sends. */
static void test_senders(void **state)
{
	struct osr_arena arena = { 0 };
	struct osr_generation gen = { .routing = NULL };
	struct test_fabric t;
	struct osr_routing r;
	osr_sl2vl_t *table;
	uint32_t last;

	test_fabric_ring(&t, 5, 20);
	table_make(TABLE_UPDOWN_SL2VL, &t.f, &arena, 1, &r);
	table = osr_calloc(&arena, t.f.n_terminals, sizeof(*table));
	gen.routing = &r;
	gen.term_sl2vl = table;
	look(&t.f, &gen);
	assert_int_equal(n_faults(), 0);
	for (last = t.f.n_terminals - 1; !t.f.term_weight[last]; last--)
		;
	memset(table[last], 15, sizeof(*table));
	look(&t.f, &gen);
	assert_true(audit.n_faults[OSR_FAULT_SL2VL] > 0);
	assert_int_equal(audit.n_faults[OSR_FAULT_SL2VL], n_faults());
	for (uint32_t i = 0; i < audit.n_listed; i++)
		assert_int_equal(audit.fault[i].term, last);
	osr_arena_free(&arena);
	test_fabric_free(&t);
}

/* What the first end port of all sends to its group leaves its switch by no cable. */
static void test_first_member(void **state)
{
	struct osr_arena arena = { 0 };
	uint16_t mlid = 0xc000;
	uint64_t(*ports)[4];
	struct osr_groups g = { .n = 1, .mlid = &mlid };
	struct osr_generation gen = { .groups = &g };
	struct test_fabric t;
	struct osr_routing r;
	uint32_t s;

	test_fabric_ring(&t, 4, 1);
	table_make(TABLE_SHORTEST, &t.f, &arena, 1, &r);
	gen.routing = &r;
	ports = osr_calloc(&arena, t.f.n_switches, sizeof(*ports));
	g.ports = (const uint64_t(*)[4])ports;
	s = t.f.term_switch[0];
	for (uint32_t c = 0; c < t.f.n_channels; c++)
		if (t.f.chan_dst[c] == s)
			ports[t.f.chan_src[c]][0] |= UINT64_C(1) << t.f.chan_port[c];
	ports[s][0] |= UINT64_C(1) << t.f.term_port[0];
	for (uint32_t i = 0; i < t.f.n_terminals; i++)
		if (t.f.term_weight[i] &&
		    t.f.chan_src[t.f.chan_rev[t.f.chan_row[s]]] == t.f.term_switch[i])
			ports[t.f.term_switch[i]][0] |= UINT64_C(1) << t.f.term_port[i];
	look(&t.f, &gen);
	assert_int_equal(audit.n_faults[OSR_FAULT_GROUP_SPLIT], 1);
	assert_int_equal(audit.n_faults[OSR_FAULT_GROUP_SPLIT], n_faults());
	osr_arena_free(&arena);
	test_fabric_free(&t);
}

/* One group around a ring of four: cut in one place it is right, closed it loops, cut twice it is split. */
static void test_groups(void **state)
{
	struct osr_arena arena = { 0 };
	uint16_t mlid = 0xc000;
	uint64_t(*ports)[4];
	struct osr_groups g = { .n = 1, .mlid = &mlid };
	struct osr_generation gen = { .groups = &g };
	struct test_fabric t;
	struct osr_routing r;

	test_fabric_ring(&t, 4, 1);
	table_make(TABLE_SHORTEST, &t.f, &arena, 1, &r);
	gen.routing = &r;
	ports = osr_calloc(&arena, t.f.n_switches, sizeof(*ports));
	g.ports = (const uint64_t(*)[4])ports;
	for (uint32_t i = 0; i < t.f.n_terminals; i++)
		if (t.f.term_weight[i])
			ports[t.f.term_switch[i]][0] |= UINT64_C(1) << t.f.term_port[i];
	for (unsigned round = 0; round < 3; round++) {
		for (uint32_t c = 0; c < t.f.n_channels; c++) {
			uint32_t a = t.f.chan_src[c], b = t.f.chan_dst[c];
			bool last = a + b == 3 && (a == 0 || b == 0);
			bool middle = a + b == 3 && !last;
			uint64_t bit = UINT64_C(1) << t.f.chan_port[c];

			if ((round == 0 && last) || (round == 2 && (last || middle)))
				ports[a][0] &= ~bit;
			else
				ports[a][0] |= bit;
		}
		look(&t.f, &gen);
		assert_int_equal(audit.n_faults[OSR_FAULT_GROUP_LOOP] > 0, round == 1);
		assert_int_equal(audit.n_faults[OSR_FAULT_GROUP_SPLIT] > 0, round == 2);
	}
	osr_arena_free(&arena);
	test_fabric_free(&t);
}

static void test_memory(void **state)
{
	struct osr_arena arena = { 0 };
	struct test_fabric t;
	struct osr_routing r;
	struct osr_diag diag;

	test_fabric_ring(&t, 5, 2);
	table_make(TABLE_UPDOWN_SL2VL, &t.f, &arena, 1, &r);
	*entry(&r, 1, far_dest(&t.f, 1)) = OSR_NO_PATH;
	for (unsigned which = 0; which < 2; which++)
		for (size_t n = 1, done = 0; done < 3; n++) {
			struct osr_generation gen = { .routing = &r };
			struct osr_arena s = { .fail_after = which ? 0 : n };
			struct osr_arena o = { .fail_after = which ? n : 0 };
			enum osr_status st;

			diag.text[0] = 0;
			st = osr_audit(&t.f, &gen, OSR_CLAIM_REVERSIBLE, 10, &s, &o, &audit, &diag);
			assert_true(st == OSR_OK || (st == OSR_NOMEM && diag.text[0]));
			done += st == OSR_OK;
			osr_arena_free(&s);
			osr_arena_free(&o);
		}
	osr_arena_free(&arena);
	test_fabric_free(&t);
}

static int tear_down(void **state)
{
	osr_arena_free(&scratch);
	osr_arena_free(&result);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_right),        cmocka_unit_test(test_one_fault),
		cmocka_unit_test(test_sls),          cmocka_unit_test(test_groups),
		cmocka_unit_test(test_memory),       cmocka_unit_test(test_senders),
		cmocka_unit_test(test_first_member),
	};

	return cmocka_run_group_tests(tests, NULL, tear_down);
}

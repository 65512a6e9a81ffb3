/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The table file: what goes in comes out, and nothing else is taken. See also fuzz_tablefile.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "fabrics.h"
#include "io/tablefile.h"
#include "tables.h"

static char path[64];

static int make_path(void **state)
{
	snprintf(path, sizeof(path), "/tmp/osr-tablefile-%d", (int)getpid());
	return 0;
}

static int remove_path(void **state)
{
	unlink(path);
	return 0;
}

static void same(const void *a, const void *b, size_t size)
{
	assert_true(!a == !b);
	if (a)
		assert_memory_equal(a, b, size);
}

static void round_trip(const struct osr_fabric *f, enum table_kind kind)
{
	struct osr_arena arena = { 0 }, scratch = { 0 };
	struct osr_tablefile file;
	struct osr_diag diag = { "" };
	struct osr_routing r, got;
	struct osr_verdict v, v_got;
	size_t n = (size_t)f->n_dests * f->n_switches;

	table_make(kind, f, &arena, 7, &r);
	r.engine = table_names[kind];
	if (osr_tablefile_write(path, f, &r, &diag) ||
	    osr_tablefile_open(path, f, &file, &got, &diag))
		fail_msg("%s: %s", table_names[kind], diag.text);
	assert_true(osr_tablefile_probe(path));
	assert_memory_equal(got.lft, r.lft, n);
	same(got.sl, r.sl, n);
	same(got.sl2vl_row, r.sl2vl_row, f->n_switches * sizeof(*r.sl2vl_row));
	same(got.rank, r.rank, (size_t)r.n_vls * f->n_channels * sizeof(*r.rank));
	same(got.mcast_parent, r.mcast_parent, f->n_switches * sizeof(*r.mcast_parent));
	assert_true(!got.sl2vl == !r.sl2vl);
	assert_memory_equal(got.ca_sl2vl, r.ca_sl2vl, 16);
	assert_string_equal(got.engine, r.engine);
	assert_int_equal(got.claims, r.claims);
	assert_int_equal(got.n_vls, r.n_vls);
	assert_int_equal(got.n_channels, r.n_channels);
	assert_true(osr_routing_digest(f, &got) == osr_routing_digest(f, &r));
	assert_int_equal(osr_check(f, &r, &scratch, &v, &diag),
			 osr_check(f, &got, &scratch, &v_got, &diag));
	assert_memory_equal(&v, &v_got, sizeof(v));
	osr_tablefile_close(&file);
	osr_arena_free(&arena);
	osr_arena_free(&scratch);
}

static void test_round_trip(void **state)
{
	struct test_fabric t;

	for (unsigned i = 0; i < N_TEST_FABRICS; i++) {
		test_fabric_named(&t, i);
		for (enum table_kind kind = 0; kind < N_TABLE_KINDS; kind++)
			round_trip(&t.f, kind);
		test_fabric_free(&t);
	}
}

static void refuse(const struct osr_fabric *f, const char *why)
{
	struct osr_tablefile file;
	struct osr_diag diag = { "" };
	struct osr_routing r;

	assert_int_equal(osr_tablefile_open(path, f, &file, &r, &diag), OSR_INVAL);
	if (!strstr(diag.text, why))
		fail_msg("\"%s\" does not say \"%s\"", diag.text, why);
	assert_null(file.map);
}

static void write_bytes(const void *data, size_t size)
{
	FILE *out = fopen(path, "wb");

	assert_true(out && fwrite(data, 1, size, out) == size && !fclose(out));
}

static void test_no_table_file(void **state)
{
	struct test_fabric t;

	test_fabric_ring(&t, 3, 1);
	unlink(path);
	refuse(&t.f, "No such file");
	assert_false(osr_tablefile_probe(path));
	write_bytes("", 0);
	refuse(&t.f, "not a table file");
	write_bytes("Unicast lids", 12);
	refuse(&t.f, "not a table file");
	assert_false(osr_tablefile_probe(path));
	write_bytes("OSRTABLE", 8);
	refuse(&t.f, "cut off");
	write_bytes("OSRTABLE\x02\0\0\0\0\0\0\0", 16);
	refuse(&t.f, "version 2");
	test_fabric_free(&t);
}

/* Other switches, other LIDs, a switch more. */
static void test_other_fabric(void **state)
{
	struct osr_arena arena = { 0 };
	struct test_fabric t, more, other;
	struct osr_routing r;
	struct draft d;
	uint16_t lid;

	test_fabric_ring(&t, 3, 1);
	test_fabric_ring(&more, 4, 1);
	table_make(TABLE_SHORTEST, &t.f, &arena, 1, &r);
	assert_int_equal(osr_tablefile_write(path, &t.f, &r, NULL), OSR_OK);
	refuse(&more.f, "3 switches");
	draft_new(&d);
	d.next_guid += 100;
	for (uint32_t s = 0; s < 3; s++)
		draft_host(&d, draft_switch(&d));
	draft_link(&d, 0, 1);
	draft_link(&d, 1, 2);
	draft_build(&d, &other, "other GUIDs");
	refuse(&other.f, "another fabric");
	lid = t.f.dest_lid[0];
	((uint16_t *)t.f.dest_lid)[0] = lid + 1;
	refuse(&t.f, "another fabric");
	((uint16_t *)t.f.dest_lid)[0] = lid;
	osr_arena_free(&arena);
	test_fabric_free(&t);
	test_fabric_free(&more);
	test_fabric_free(&other);
}

static void draw_chain(struct test_fabric *t, bool doubled)
{
	struct draft d;

	draft_new(&d);
	for (uint32_t s = 0; s < 3; s++)
		draft_host(&d, draft_switch(&d));
	draft_link(&d, 0, 1);
	draft_link(&d, 1, 2);
	if (doubled)
		draft_link(&d, 0, 1);
	draft_build(&d, t, "chain");
}

/* The same switches and LIDs with a cable less: the tables, but no certificate. */
static void test_other_cables(void **state)
{
	struct osr_arena arena = { 0 };
	struct test_fabric t, less;
	struct osr_tablefile file;
	struct osr_diag diag = { "" };
	struct osr_routing r, got;

	draw_chain(&t, true);
	draw_chain(&less, false);
	table_make(TABLE_UPDOWN, &t.f, &arena, 1, &r);
	assert_non_null(r.rank);
	assert_int_equal(osr_tablefile_write(path, &t.f, &r, &diag), OSR_OK);
	assert_int_equal(osr_tablefile_open(path, &less.f, &file, &got, &diag), OSR_OK);
	assert_memory_equal(got.lft, r.lft, (size_t)r.n_dests * r.n_switches);
	assert_true(!got.rank && !got.mcast_parent && !got.claims);
	assert_int_equal(got.n_channels, less.f.n_channels);
	osr_tablefile_close(&file);
	osr_arena_free(&arena);
	test_fabric_free(&t);
	test_fabric_free(&less);
}

static void test_cannot_write(void **state)
{
	struct osr_arena arena = { 0 };
	struct osr_diag diag = { "" };
	struct test_fabric t;
	struct osr_routing r;

	test_fabric_ring(&t, 3, 1);
	table_make(TABLE_SHORTEST, &t.f, &arena, 1, &r);
	assert_int_equal(osr_tablefile_write("/no/such/folder/x", &t.f, &r, &diag), OSR_INVAL);
	assert_non_null(strstr(diag.text, "/no/such/folder/x: No such"));
	assert_int_equal(osr_tablefile_write("/dev/full", &t.f, &r, &diag), OSR_INVAL);
	assert_non_null(strstr(diag.text, "No space left"));
	osr_arena_free(&arena);
	test_fabric_free(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_round_trip),   cmocka_unit_test(test_no_table_file),
		cmocka_unit_test(test_other_fabric), cmocka_unit_test(test_other_cables),
		cmocka_unit_test(test_cannot_write),
	};

	return cmocka_run_group_tests(tests, make_path, remove_path);
}

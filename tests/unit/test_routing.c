/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "test.h"

#include <osmroutes/routing.h>

#include "fabrics.h"
#include "tables.h"

static void test_init(void **state)
{
	struct osr_arena arena = { 0 };
	struct osr_diag diag = { 0 };
	struct test_fabric t;
	struct osr_routing r;

	test_fabric_ring(&t, 5, 2);
	memset(&r, 0xff, sizeof(r));
	assert_int_equal(osr_routing_init(&r, &t.f, &arena, &diag), OSR_OK);
	assert_int_equal(r.n_switches, 5);
	assert_int_equal(r.n_dests, 15);
	assert_int_equal(r.n_channels, 10);
	assert_int_equal(r.claims, 0);
	assert_null(r.sl);
	assert_null(r.rank);
	assert_null(r.mcast_parent);
	for (uint32_t d = 0; d < 15; d++)
		for (uint32_t s = 0; s < 5; s++)
			assert_int_equal(osr_lft(&r, s, d), OSR_NO_PATH);
	arena.fail_after = 1;
	assert_int_equal(osr_routing_init(&r, &t.f, &arena, &diag), OSR_NOMEM);
	assert_non_null(strstr(diag.text, "out of memory"));
	osr_arena_free(&arena);
	test_fabric_free(&t);
}

/* Equal for equal tables; different after any change of what would be programmed. */
static void test_digest(void **state)
{
	struct osr_arena arena = { 0 };
	struct test_fabric t, again, other;
	struct osr_routing r, copy;
	uint64_t digest;
	size_t n;

	test_fabric_ring(&t, 6, 1);
	test_fabric_ring(&again, 6, 1);
	test_fabric_ring(&other, 6, 2);
	table_make(TABLE_UPDOWN_SL2VL, &t.f, &arena, 1, &r);
	digest = osr_routing_digest(&t.f, &r);
	table_copy(&t.f, &r, &arena, &copy);
	assert_true(osr_routing_digest(&again.f, &copy) == digest);
	/* Not programmed: no change. */
	copy.rank[0]++;
	copy.n_rounds++;
	assert_true(osr_routing_digest(&t.f, &copy) == digest);
	n = (size_t)r.n_dests * r.n_switches;
	for (size_t i = 0; i < n; i++) {
		copy.lft[i] ^= 1;
		assert_true(osr_routing_digest(&t.f, &copy) != digest);
		copy.lft[i] ^= 1;
		copy.sl[i] ^= 1;
		assert_true(osr_routing_digest(&t.f, &copy) != digest);
		copy.sl[i] ^= 1;
	}
	copy.sl2vl[copy.sl2vl_row[5] + 624][15] ^= 1; /* the very last entry */
	assert_true(osr_routing_digest(&t.f, &copy) != digest);
	copy.sl2vl[copy.sl2vl_row[5] + 624][15] ^= 1;
	copy.ca_sl2vl[3] ^= 1;
	assert_true(osr_routing_digest(&t.f, &copy) != digest);
	copy.ca_sl2vl[3] ^= 1;
	assert_true(osr_routing_digest(&t.f, &copy) == digest);
	table_make(TABLE_UPDOWN, &t.f, &arena, 1, &copy);
	assert_true(osr_routing_digest(&t.f, &copy) != digest);
	table_make(TABLE_UPDOWN_SL2VL, &other.f, &arena, 1, &copy);
	assert_true(osr_routing_digest(&other.f, &copy) != digest);
	osr_arena_free(&arena);
	test_fabric_free(&t);
	test_fabric_free(&again);
	test_fabric_free(&other);
}

/* The SL of a pair without a path means nothing. */
static void test_digest_without_path(void **state)
{
	struct osr_arena arena = { 0 };
	struct test_fabric t;
	struct osr_routing r;
	uint64_t digest;
	bool split = false;

	for (unsigned i = 0; i < N_TEST_FABRICS && !split; i++) {
		test_fabric_named(&t, i);
		split = t.f.n_components > 1;
		if (!split)
			test_fabric_free(&t);
	}
	assert_true(split);
	table_make(TABLE_UPDOWN_SL, &t.f, &arena, 1, &r);
	digest = osr_routing_digest(&t.f, &r);
	for (size_t i = 0; i < (size_t)r.n_dests * r.n_switches; i++) {
		r.sl[i] ^= 1;
		assert_int_equal(osr_routing_digest(&t.f, &r) == digest, r.lft[i] == OSR_NO_PATH);
		r.sl[i] ^= 1;
	}
	osr_arena_free(&arena);
	test_fabric_free(&t);
}

/* The digest of one known table, so that no machine and no version computes another. */
static void test_digest_value(void **state)
{
	struct osr_arena arena = { 0 };
	struct test_fabric t;
	struct osr_routing r;

	test_fabric_ring(&t, 3, 1);
	table_make(TABLE_SHORTEST, &t.f, &arena, 1, &r);
	assert_true(osr_routing_digest(&t.f, &r) == 0xbc82ba3cf2344d33);
	osr_arena_free(&arena);
	test_fabric_free(&t);
}

/* A fabric of `n` switches in a line, without switch `without`, hosts keep their LIDs. */
static void line_without(struct test_fabric *t, uint32_t n, uint32_t without)
{
	struct osr_builder *b = osr_builder_new();
	uint32_t last = OSR_NONE;

	memset(t, 0, sizeof(*t));
	for (uint32_t i = 0; i < n; i++) {
		uint32_t s;

		if (i == without)
			continue;
		s = osr_builder_switch(b, &(struct osr_switch_in){ .guid = 100 + i, .n_ports = 8 });
		osr_builder_terminal(b,
				     &(struct osr_terminal_in){
					     .guid = 200 + i, .sw = s, .port = 8, .lid = 10 + i });
		if (last != OSR_NONE)
			osr_builder_link(
				b, &(struct osr_link_in){
					   .sw_a = last, .port_a = 2, .sw_b = s, .port_b = 1 });
		last = s;
	}
	assert_int_equal(osr_builder_build(b, &t->arena, &t->f, NULL), OSR_OK);
	osr_builder_free(b);
}

/* The definition, word by word. */
static uint64_t changed_slowly(const struct osr_fabric *was, const struct osr_routing *old,
			       const struct osr_fabric *is, const struct osr_routing *now)
{
	uint64_t changed = 0;

	for (uint32_t d = 0; d < is->n_dests; d++)
		for (uint32_t s = 0; s < is->n_switches; s++) {
			uint32_t od = OSR_NONE, os = osr_fabric_switch_by_guid(was, is->sw_guid[s]);

			for (uint32_t i = 0; i < was->n_dests; i++)
				if (was->dest_lid[i] == is->dest_lid[d])
					od = i;
			if (od == OSR_NONE || os == OSR_NONE)
				changed += osr_lft(now, s, d) != OSR_NO_PATH;
			else
				changed += osr_lft(now, s, d) != osr_lft(old, os, od);
		}
	return changed;
}

static void test_changed(void **state)
{
	for (uint32_t a = 0; a <= 7; a++)
		for (uint32_t b = 0; b <= 7; b++) {
			struct osr_arena arena = { 0 };
			struct osr_result before;
			struct osr_routing now;
			struct test_fabric was, is;
			uint64_t n, changed;

			line_without(&was, 7, a);
			line_without(&is, 7, b);
			before.fabric = was.f;
			table_make(TABLE_SHORTEST, &was.f, &arena, 0, &before.routing);
			table_make(TABLE_SHORTEST, &is.f, &arena, 0, &now);
			changed = osr_routing_changed(&before, &is.f, &now, &n);
			assert_int_equal(changed,
					 changed_slowly(&was.f, &before.routing, &is.f, &now));
			assert_int_equal(n, is.f.n_dests * is.f.n_switches);
			if (a == b)
				assert_int_equal(changed, 0);
			now.lft[5] ^= 1;
			assert_int_equal(osr_routing_changed(&before, &is.f, &now, &n),
					 changed_slowly(&was.f, &before.routing, &is.f, &now));
			osr_arena_free(&arena);
			test_fabric_free(&was);
			test_fabric_free(&is);
		}
}

static void test_changed_from_nothing(void **state)
{
	struct osr_arena arena = { 0 };
	struct osr_result before;
	struct test_fabric t;
	struct osr_routing r;
	uint64_t n;

	memset(&before, 0, sizeof(before));
	test_fabric_ring(&t, 4, 1);
	table_make(TABLE_SHORTEST, &t.f, &arena, 0, &r);
	assert_int_equal(osr_routing_changed(NULL, &t.f, &r, &n), 32);
	assert_int_equal(osr_routing_changed(&before, &t.f, &r, NULL), 32);
	assert_int_equal(n, 32);
	osr_arena_free(&arena);
	test_fabric_free(&t);
}

TEST_PROGRAM(test_init, test_digest, test_digest_without_path, test_digest_value, test_changed,
	     test_changed_from_nothing)

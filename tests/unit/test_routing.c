/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "test.h"

#include <osmroutes/routing.h>

#include "faults.h"
#include "tables.h"

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

/* A ring without one of its switches, and without another one. */
static void test_changed(void **state)
{
	struct test_fabric t;
	uint64_t n;

	test_fabric_ring(&t, 7, 1);
	for (uint32_t i = 0; i < 8 * 8; i++) {
		struct osr_result before = { 0 };
		struct osr_arena arena = { 0 };
		struct osr_routing now;
		struct osr_fabric is;
		struct faults faults;

		faults_new(&faults, &t.f);
		faults.sw[i / 8 % 7] = i / 8 < 7;
		faults_build(&faults, &arena, &before.fabric);
		faults.sw[i / 8 % 7] = false;
		faults.sw[i % 8 % 7] = i % 8 < 7;
		faults_build(&faults, &arena, &is);
		table_make(TABLE_SHORTEST, &before.fabric, &arena, 0, &before.routing);
		table_make(TABLE_SHORTEST, &is, &arena, 0, &now);
		for (unsigned k = 0; k < 2; k++) {
			uint64_t changed = osr_routing_changed(&before, &is, &now, &n);

			assert_int_equal(changed, changed_slowly(&before.fabric, &before.routing,
								 &is, &now));
			assert_int_equal(n, is.n_dests * is.n_switches);
			assert_true(changed == 0 || k || i / 8 != i % 8);
			now.lft[5] ^= 1;
		}
		/* From nothing, all that there is. */
		assert_int_equal(osr_routing_changed(NULL, &is, &now, &n), n);
		faults_free(&faults);
		osr_arena_free(&arena);
	}
	test_fabric_free(&t);
}

TEST_PROGRAM(test_digest, test_digest_without_path, test_digest_value, test_changed)

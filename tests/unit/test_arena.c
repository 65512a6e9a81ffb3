/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "test.h"

#include <osmroutes/arena.h>

static void test_aligned_and_apart(void **state)
{
	struct osr_arena arena = { 0 };
	unsigned char *piece[200];

	for (unsigned i = 0; i < 200; i++) {
		size_t n = i * i * 7; /* up to 280 kB: some get a block of their own */

		piece[i] = osr_alloc(&arena, n, 1);
		assert_non_null(piece[i]);
		assert_int_equal((uintptr_t)piece[i] % 64, 0);
		memset(piece[i], i, n);
	}
	for (unsigned i = 0; i < 200; i++)
		for (size_t j = 0; j < i * i * 7; j++)
			assert_int_equal(piece[i][j], i);
	osr_arena_free(&arena);
	assert_int_equal(arena.in_use, 0);
}

static void test_calloc_zeroes_used_memory(void **state)
{
	struct osr_arena arena = { 0 };
	void *first = osr_alloc(&arena, 1, 1); /* keeps the block */
	struct osr_arena_mark mark = osr_arena_mark(&arena);
	unsigned char *p = osr_alloc(&arena, 1000, 1);

	assert_non_null(first);
	assert_non_null(p);
	memset(p, 0xff, 1000);
	osr_arena_reset(&arena, mark);
	p = osr_calloc(&arena, 100, 10);
	for (unsigned i = 0; i < 1000; i++)
		assert_int_equal(p[i], 0);
	/* The first part was used, the rest is as it came. */
	osr_arena_reset(&arena, mark);
	p = osr_alloc(&arena, 3000, 1);
	memset(p, 0xff, 3000);
	osr_arena_reset(&arena, mark);
	assert_non_null(osr_alloc(&arena, 500, 1));
	p = osr_calloc(&arena, 100, 100);
	for (unsigned i = 0; i < 10000; i++)
		assert_int_equal(p[i], 0);
	osr_arena_free(&arena);
}

static void test_reset(void **state)
{
	struct osr_arena arena = { 0 };
	unsigned char *kept = osr_alloc(&arena, 100, 1);
	struct osr_arena_mark mark = osr_arena_mark(&arena);
	size_t in_use = arena.in_use;
	void *first, *again;

	memset(kept, 0x5a, 100);
	first = osr_alloc(&arena, 10, 1);
	assert_non_null(osr_alloc(&arena, 1 << 20, 3)); /* further blocks */
	assert_non_null(osr_alloc(&arena, 1 << 20, 1));
	assert_true(arena.peak >= 4 << 20);
	osr_arena_reset(&arena, mark);
	assert_int_equal(arena.in_use, in_use);
	again = osr_alloc(&arena, 10, 1);
#ifndef __SANITIZE_ADDRESS__ /* there every piece is a block */
	assert_ptr_equal(first, again);
#endif
	assert_non_null(first);
	assert_non_null(again);
	for (unsigned i = 0; i < 100; i++)
		assert_int_equal(kept[i], 0x5a);
	osr_arena_free(&arena);
	assert_non_null(osr_alloc(&arena, 1, 1)); /* usable after free */
	osr_arena_free(&arena);
}

static void test_overflow(void **state)
{
	struct osr_arena arena = { 0 };

	assert_null(osr_alloc(&arena, SIZE_MAX, 2));
	assert_true(osr_arena_failed(&arena, NULL));
	assert_null(osr_alloc(&arena, SIZE_MAX / 4 + 1, 4));
	assert_null(osr_alloc(&arena, SIZE_MAX - 10, 1));
	assert_null(osr_calloc(&arena, SIZE_MAX / 2, 3));
	assert_int_equal(arena.in_use, 0);
	assert_non_null(osr_alloc(&arena, 0, 8));
	osr_arena_free(&arena);
}

static void test_fail_after(void **state)
{
	struct osr_arena arena = { .fail_after = 3 };
	struct osr_diag diag = { "" };
	struct osr_arena_mark before, after;

	assert_non_null(osr_alloc(&arena, 1, 1));
	assert_non_null(osr_alloc(&arena, 1, 1));
	before = osr_arena_mark(&arena);
	assert_false(osr_arena_failed(&arena, &diag));
	assert_string_equal(diag.text, "");
	assert_null(osr_alloc(&arena, 1 << 20, 3));
	assert_non_null(osr_alloc(&arena, 1, 1));
	assert_true(osr_arena_failed(&arena, &diag));
	assert_non_null(strstr(diag.text, "3073 kB"));
	/* It sticks until all that is younger is gone. */
	after = osr_arena_mark(&arena);
	osr_arena_reset(&arena, after);
	assert_true(osr_arena_failed(&arena, NULL));
	osr_arena_reset(&arena, before);
	assert_false(osr_arena_failed(&arena, NULL));
	osr_arena_free(&arena);
}

TEST_PROGRAM(test_aligned_and_apart, test_calloc_zeroes_used_memory, test_reset, test_overflow,
	     test_fail_after)

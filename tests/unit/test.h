/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * test.h - cmocka, and the main() of a program of tests: TEST_PROGRAM(test_one, test_other) at its
 * end. OSR_ONLY=test_one in the environment: that one alone.
 */
#ifndef TEST_TEST_H
#define TEST_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <osmroutes/arena.h>

#define MAX_TESTS 32

/*
 * The n-th allocation of this thread from now on fails: n, counted down; 0: none does. malloc() and
 * the like, and those of arenas, are wrapped by the linker, for programs that CMakeLists.txt gives
 * failing.c.
 */
extern __thread size_t fail_at;

/* names: of the functions, as they stand in the sources, with commas between them. */
static inline int run_program(char *names, const CMUnitTestFunction function[], size_t n,
			      CMFixtureFunction tear_down)
{
	struct CMUnitTest tests[MAX_TESTS] = { { 0 } };
	char *rest = names;

	assert_true(n <= MAX_TESTS);
	for (size_t i = 0; i < n; i++) {
		tests[i].name = strtok_r(rest, ", \t\n", &rest);
		tests[i].test_func = function[i];
	}
	cmocka_set_test_filter(getenv("OSR_ONLY"));
	return _cmocka_run_group_tests("tests", tests, n, NULL, tear_down);
}

/*
 * Each allocation of either arena fails in turn: OSR_NOMEM and a sentence, unless it can do
 * without. Returns how many there are.
 */
typedef enum osr_status (*test_once)(void *ctx, struct osr_arena *scratch, struct osr_arena *result,
				     struct osr_diag *diag);

static inline size_t test_starve(test_once once, void *ctx)
{
	size_t n_all = 0;

	for (unsigned which = 0; which < 2; which++) {
		bool failed = true;

		for (size_t n = 1; failed; n++, n_all++) {
			struct osr_arena arena[2] = { { 0 }, { 0 } };
			struct osr_diag diag = { "" };
			enum osr_status st;

			arena[which].fail_after = n;
			st = once(ctx, &arena[0], &arena[1], &diag);
			failed = !arena[which].fail_after;
			assert_true(st == OSR_OK || (failed && st == OSR_NOMEM && diag.text[0]));
			osr_arena_free(&arena[0]);
			osr_arena_free(&arena[1]);
		}
	}
	return n_all - 2;
}

/* The same, and what to do after the last test. */
#define TEST_PROGRAM_THEN(tear_down, ...)                                                          \
	int main(void)                                                                             \
	{                                                                                          \
		static const CMUnitTestFunction function[] = { __VA_ARGS__ };                      \
		char names[] = #__VA_ARGS__;                                                       \
                                                                                                   \
		return run_program(names, function, sizeof(function) / sizeof(*function),          \
				   tear_down);                                                     \
	}

#define TEST_PROGRAM(...) TEST_PROGRAM_THEN(NULL, __VA_ARGS__)

#endif

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * What must hold of all patterns for any number of ranks, and what is refused.
 * tests/cli/patterns.py generates and measures them a second time.
 */
#include "test.h"

#include "traffic/collective.h"

#define MAX_N 70

static struct osr_pair pairs[MAX_N * MAX_N];

static struct osr_sequence sequence(const char *text, uint32_t n)
{
	struct osr_diag diag = { "" };
	struct osr_sequence q;

	if (osr_sequence_parse(text, n, &q, &diag))
		fail_msg("%s, %u ranks: %s", text, n, diag.text);
	assert_true(q.max_pairs <= MAX_N * MAX_N);
	return q;
}

/* What the header says of every pattern. */
static void judge(const struct osr_sequence *q)
{
	struct osr_prng prng = { 7 }, again = { 7 };
	static struct osr_pair second[MAX_N * MAX_N];
	uint32_t from[MAX_N], to[MAX_N];

	for (uint32_t k = 0; k < q->n_phases; k++) {
		uint32_t n = osr_sequence_phase(q, k, &prng, pairs);

		assert_true(n <= q->max_pairs);
		assert_int_equal(osr_sequence_phase(q, k, &again, second), n);
		assert_memory_equal(pairs, second, n * sizeof(*pairs));
		memset(from, 0, sizeof(from));
		memset(to, 0, sizeof(to));
		for (uint32_t i = 0; i < n; i++) {
			assert_true(pairs[i].from < q->n_ranks && pairs[i].to < q->n_ranks);
			assert_true(pairs[i].from != pairs[i].to);
			from[pairs[i].from]++;
			to[pairs[i].to]++;
		}
		for (uint32_t i = 0; q->pattern->permutation && i < q->n_ranks; i++)
			assert_true(from[i] <= 1 && to[i] <= 1);
	}
	if (!q->pattern->random)
		assert_true(prng.state == 7);
}

static void judge_row(const struct osr_pattern *p)
{
	for (uint32_t n = 2; n <= MAX_N; n++) {
		char text[64];
		uint32_t arg = 1 + n % 5;
		struct osr_sequence q;

		snprintf(text, sizeof(text), "%s", p->name);
		if (!strcmp(p->name, "stencil"))
			snprintf(text, sizeof(text), "stencil:%u,%u", n % 2 ? 1 : 2,
				 n % 2 ? n : n / 2);
		else if (!strcmp(p->name, "cps-doubling-tree"))
			snprintf(text, sizeof(text), "%s:%u,%u", p->name, arg, (n + arg - 1) / arg);
		else if (p->min_args)
			snprintf(text, sizeof(text), "%s:%u", p->name, arg);
		q = sequence(text, n);
		judge(&q);
	}
}

static void test_all(void **state)
{
	uint32_t n = 0;

	for (; osr_pattern_row(n); n++)
		judge_row(osr_pattern_row(n));
	assert_true(n >= 16);
	for (n = 0; osr_collective_row(n); n++)
		judge_row(osr_collective_row(n));
	assert_true(n >= 9);
}

/* All of recursive doubling's data flow: after the last stage everybody has heard of everybody. */
static void everybody_hears(const char *text, uint32_t n)
{
	struct osr_sequence q = sequence(text, n);
	static bool knows[MAX_N][MAX_N], next[MAX_N][MAX_N];

	memset(knows, 0, sizeof(knows));
	for (uint32_t i = 0; i < n; i++)
		knows[i][i] = true;
	for (uint32_t k = 0; k < q.n_phases; k++) {
		uint32_t n_pairs = osr_sequence_phase(&q, k, NULL, pairs);

		memcpy(next, knows, sizeof(knows));
		for (uint32_t i = 0; i < n_pairs; i++)
			for (uint32_t x = 0; x < n; x++)
				next[pairs[i].to][x] |= knows[pairs[i].from][x];
		memcpy(knows, next, sizeof(knows));
	}
	for (uint32_t i = 0; i < n; i++)
		for (uint32_t x = 0; x < n; x++)
			if (!knows[i][x])
				fail_msg("%s of %u: %u has not heard of %u", text, n, i, x);
}

static void test_reduce(void **state)
{
	char text[64];

	for (uint32_t n = 2; n <= MAX_N; n++) {
		everybody_hears("cps-dissemination", n);
		everybody_hears("cps-doubling-mpi", n);
		everybody_hears("bruck", n);
		everybody_hears("cps-shift", n);
		for (uint32_t m = 1; m <= 7; m++) {
			if (n % m)
				continue;
			snprintf(text, sizeof(text), "cps-doubling-tree:%u,%u", m, n / m);
			everybody_hears(text, n);
		}
	}
}

static void refuse(const char *text, uint32_t n, const char *why)
{
	struct osr_diag diag = { "" };
	struct osr_sequence q;

	assert_int_equal(osr_sequence_parse(text, n, &q, &diag), OSR_INVAL);
	if (!strstr(diag.text, why))
		fail_msg("%s: \"%s\" does not say \"%s\"", text, diag.text, why);
}

static void test_refused(void **state)
{
	refuse("shuffle", 4, "no pattern");
	refuse("", 4, "no pattern");
	refuse("a-name-that-is-longer-than-any-name-could-ever-be", 4, "no pattern");
	refuse("ring", 1, "2 to");
	refuse("ring", 0, "2 to");
	refuse("ring", UINT32_MAX, "2 to");
	refuse("ring:3", 4, "takes no numbers");
	refuse("neighbor", 4, "neighbor:N");
	refuse("neighbor:1,2", 4, "at most 1");
	refuse("neighbor:0", 4, "one or more");
	refuse("receivers:0", 4, "one or more");
	refuse("neighbor:", 4, "whole numbers");
	refuse("neighbor:x", 4, "whole numbers");
	refuse("neighbor:-1", 4, "whole numbers");
	refuse("neighbor:1,", 4, "whole numbers");
	refuse("neighbor:99999999999999999999", 4, "whole numbers");
	refuse("stencil:1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17", 4, "whole numbers");
	refuse("stencil:2,3", 7, "product");
	refuse("stencil:0,7", 7, "product");
	refuse("stencil:1048576,1048576,1048576", 7, "product");
	refuse("alltoall", 50000, "too many pairs");
	refuse("neighbor:50000", 50000, "too many pairs");
	refuse("cps-doubling-tree:2,2", 5, "4 end ports");
	refuse("cps-doubling-tree:2,0", 5, "product");
	refuse("cps-doubling-tree:1048576,1048576,1048576,1048576", 5, "product");
}

TEST_PROGRAM(test_all, test_reduce, test_refused)

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Stages of table 2 of the D-Mod-K paper and of its section VI; see collective.h. */
#include "traffic/collective.h"

#include <string.h>

/* ---- stages by powers of two ---------------------------------------------------------------- */

/* floor(log2 n) */
static uint32_t log_down(uint32_t n)
{
	uint32_t s = 0;

	while (n >>= 1)
		s++;
	return s;
}

static uint64_t one_each(const struct osr_sequence *sequence)
{
	return sequence->n_ranks;
}

static uint32_t by_distance(uint32_t n_ranks, uint32_t distance, struct osr_pair *pairs)
{
	for (uint32_t i = 0; i < n_ranks; i++)
		pairs[i] = (struct osr_pair){ i, (i + distance) % n_ranks };
	return n_ranks;
}

static uint32_t dissemination(const struct osr_sequence *sequence, uint32_t k,
			      struct osr_prng *prng, struct osr_pair *pairs)
{
	return by_distance(sequence->n_ranks, UINT32_C(1) << k, pairs);
}

static uint32_t tournament(const struct osr_sequence *sequence, uint32_t k, struct osr_prng *prng,
			   struct osr_pair *pairs)
{
	uint32_t step = UINT32_C(1) << k, n = 0;

	for (uint32_t i = 0; i + step < sequence->n_ranks; i += 2 * step)
		pairs[n++] = (struct osr_pair){ i + step, i };
	return n;
}

static uint32_t shift_stages(const struct osr_sequence *sequence)
{
	uint32_t all = sequence->n_ranks - 1;

	return sequence->n_args && sequence->arg[0] < all ? sequence->arg[0] : all;
}

static enum osr_status check_shift(const struct osr_sequence *sequence, struct osr_diag *diag)
{
	if (!sequence->n_args || sequence->arg[0])
		return OSR_OK;
	return osr_fail(diag, OSR_INVAL, "cps-shift: the number of stages has to be 1 or more");
}

static uint32_t collective_shift(const struct osr_sequence *sequence, uint32_t k,
				 struct osr_prng *prng, struct osr_pair *pairs)
{
	uint64_t all = sequence->n_ranks - 1, n = sequence->n_args ? shift_stages(sequence) : all;

	/* Of N stages the one in the middle of each N-th part. */
	return by_distance(sequence->n_ranks, (uint32_t)((2 * (uint64_t)k + 1) * all / (2 * n)) + 1,
			   pairs);
}

static uint32_t one_stage(const struct osr_sequence *sequence)
{
	return 1;
}

/* ---- recursive doubling ---------------------------------------------------------------------- */

/* Among the ranks below n. */
static uint32_t collective_exchange(uint32_t n_ranks, uint32_t step, struct osr_pair *pairs)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < n_ranks; i++)
		if ((i ^ step) < n_ranks)
			pairs[n++] = (struct osr_pair){ i, i ^ step };
	return n;
}

static uint32_t doubling(const struct osr_sequence *sequence, uint32_t k, struct osr_prng *prng,
			 struct osr_pair *pairs)
{
	return collective_exchange(sequence->n_ranks, UINT32_C(1) << k, pairs);
}

static uint32_t halving(const struct osr_sequence *sequence, uint32_t k, struct osr_prng *prng,
			struct osr_pair *pairs)
{
	return collective_exchange(sequence->n_ranks, UINT32_C(1) << (sequence->n_phases - 1 - k),
				   pairs);
}

/* Two stages more if N is no power of two. */
static uint32_t mpi_stages(const struct osr_sequence *sequence)
{
	uint32_t s = log_down(sequence->n_ranks);

	return s + (UINT32_C(1) << s < sequence->n_ranks ? 2 : 0);
}

static uint32_t doubling_mpi(const struct osr_sequence *sequence, uint32_t k, struct osr_prng *prng,
			     struct osr_pair *pairs)
{
	uint32_t s = log_down(sequence->n_ranks), power = UINT32_C(1) << s,
		 rest = sequence->n_ranks - power;

	if (!rest)
		return collective_exchange(power, UINT32_C(1) << k, pairs);
	if (k > 0 && k <= s)
		return collective_exchange(power, UINT32_C(1) << (k - 1), pairs);
	for (uint32_t i = 0; i < rest; i++)
		pairs[i] =
			k ? (struct osr_pair){ i, i + power } : (struct osr_pair){ i + power, i };
	return rest;
}

/* ---- recursive doubling that knows the tree (section VI) ------------------------------------- */

/* One level of the tree. */
struct level {
	uint32_t m;     /* its digit runs from 0 to m - 1 */
	uint32_t below; /* M_(l-1): ranks of one child */
	uint32_t L;     /* floor(log2 m) */
};

/* What a stage of a level does; the L_l stages in between are numbered from 0. */
enum { STAGE_PRE = -1, STAGE_POST = -2 };

static enum osr_status collective_check_tree(const struct osr_sequence *sequence,
					     struct osr_diag *diag)
{
	uint64_t n = 1;

	for (uint32_t l = 0; l < sequence->n_args && n; l++) {
		n *= sequence->arg[l];
		if (n > OSR_PATTERN_MAX_RANKS)
			n = 0;
	}
	if (!n)
		return osr_fail(diag, OSR_INVAL,
				"cps-doubling-tree: the product of all m must be 1 to %u",
				OSR_PATTERN_MAX_RANKS);
	if (n < sequence->n_ranks)
		return osr_fail(diag, OSR_INVAL,
				"cps-doubling-tree: %u ranks, and the tree has only %u end ports",
				sequence->n_ranks, (uint32_t)n);
	return OSR_OK;
}

/* Pairs of one stage; only counted if pairs is NULL. */
static uint32_t tree_stage(const struct osr_sequence *sequence, const struct level *v, int stage,
			   struct osr_pair *pairs)
{
	uint32_t power = UINT32_C(1) << v->L, n = 0;

	for (uint32_t i = 0; i < sequence->n_ranks; i++) {
		uint32_t digit = i / v->below % v->m, to = digit, j;
		struct osr_pair pair;

		if (stage >= 0 && digit < power)
			to = digit ^ (UINT32_C(1) << stage);
		else if (stage < 0 && digit >= power)
			to = digit - power;
		j = i + (to - digit) * v->below;
		if (to == digit || j >= sequence->n_ranks)
			continue;
		pair = stage == STAGE_POST ? (struct osr_pair){ j, i } : (struct osr_pair){ i, j };
		if (pairs)
			pairs[n] = pair;
		n++;
	}
	return n;
}

/*
 * Walks the stages that have a pair, levels upwards. Fills pairs and returns their number when the
 * wanted one is met; with want = UINT32_MAX returns the number of stages.
 */
static uint32_t tree_walk(const struct osr_sequence *sequence, uint32_t want,
			  struct osr_pair *pairs)
{
	struct level v = { .below = 1 };
	uint32_t at = 0;

	for (uint32_t l = 0; l < sequence->n_args; l++, v.below *= v.m) {
		uint32_t around;

		v.m = sequence->arg[l];
		v.L = log_down(v.m);
		around = UINT32_C(1) << v.L < v.m; /* E_l != M_l */
		for (uint32_t s = 0; s < v.L + 2 * around; s++) {
			int stage = (int)s - (int)around;

			if (stage == (int)v.L)
				stage = STAGE_POST;
			if (!tree_stage(sequence, &v, stage, NULL))
				continue;
			if (at++ == want)
				return tree_stage(sequence, &v, stage, pairs);
		}
	}
	return at;
}

static uint32_t tree_stages(const struct osr_sequence *sequence)
{
	return tree_walk(sequence, UINT32_MAX, NULL);
}

static uint32_t doubling_tree(const struct osr_sequence *sequence, uint32_t k,
			      struct osr_prng *prng, struct osr_pair *pairs)
{
	return tree_walk(sequence, k, pairs);
}

/* ---- the table ------------------------------------------------------------------------------- */

#define COLLECTIVE(n, stages, function, help)                                                      \
	{                                                                                          \
		.name = "cps-" n, .summary = help, .permutation = true, .n_phases = stages,        \
		.max_pairs = one_each, .phase = function                                           \
	}

static const struct osr_pattern collectives[] = {
	COLLECTIVE("dissemination", osr__log_phases, dissemination, "i -> i + 2^s, all ranks"),
	COLLECTIVE("tournament", osr__log_phases, tournament, "i + 2^s -> i, losers drop out"),
	{ .name = "cps-shift",
	  .summary = "i -> i + s, s = 1 .. N-1; with a number, only that many stages",
	  .args = "STAGES",
	  .max_args = 1,
	  .permutation = true,
	  .check = check_shift,
	  .n_phases = shift_stages,
	  .max_pairs = one_each,
	  .phase = collective_shift },
	COLLECTIVE("ring", one_stage, collective_shift, "i -> i + 1, one stage"),
	COLLECTIVE("binomial", osr__log_phases, osr__binomial_tree, "i -> i + 2^s for i < 2^s"),
	COLLECTIVE("doubling", osr__log_phases, doubling, "i <-> i xor 2^s"),
	COLLECTIVE("halving", osr__log_phases, halving, "i <-> i xor 2^s, from the largest"),
	COLLECTIVE("doubling-mpi", mpi_stages, doubling_mpi, "with a pre and a post stage"),
	{ .name = "cps-doubling-tree",
	  .summary = "level by level of a tree, with pre and post stages",
	  .args = "m1,m2,...",
	  .min_args = 1,
	  .max_args = OSR_PATTERN_MAX_ARGS,
	  .permutation = true,
	  .check = collective_check_tree,
	  .n_phases = tree_stages,
	  .max_pairs = one_each,
	  .phase = doubling_tree },
};

const struct osr_pattern *osr_collective_row(uint32_t i)
{
	return i < sizeof(collectives) / sizeof(collectives[0]) ? &collectives[i] : NULL;
}

const struct osr_pattern *osr_collective_find(const char *name)
{
	for (uint32_t i = 0; osr_collective_row(i); i++)
		if (!strcmp(collectives[i].name, name))
			return &collectives[i];
	return NULL;
}

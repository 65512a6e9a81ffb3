/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "traffic/pattern.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "traffic/collective.h"

/* ---- how many phases, how many pairs -------------------------------------------------------- */

static uint32_t no_phase(const struct osr_sequence *sequence)
{
	return 0;
}

static uint32_t one_phase(const struct osr_sequence *sequence)
{
	return 1;
}

static uint32_t n_phases(const struct osr_sequence *sequence)
{
	return sequence->n_ranks;
}

uint32_t osr__log_phases(const struct osr_sequence *sequence)
{
	uint32_t k = 0;

	while (UINT32_C(1) << k < sequence->n_ranks)
		k++;
	return k;
}

static uint64_t no_pair(const struct osr_sequence *sequence)
{
	return 0;
}

static uint64_t one_pair(const struct osr_sequence *sequence)
{
	return 1;
}

static uint64_t n_pairs(const struct osr_sequence *sequence)
{
	return sequence->n_ranks;
}

/* ---- bisections ----------------------------------------------------------------------------- */

static uint32_t bisect(const struct osr_sequence *sequence, uint32_t k, struct osr_prng *prng,
		       struct osr_pair *pairs)
{
	uint32_t n = sequence->n_ranks / 2;

	for (uint32_t i = 0; i < n; i++)
		pairs[i] = (struct osr_pair){ 2 * i, 2 * i + 1 };
	return n;
}

static uint32_t bisect_both(const struct osr_sequence *sequence, uint32_t k, struct osr_prng *prng,
			    struct osr_pair *pairs)
{
	uint32_t n = sequence->n_ranks / 2;

	for (uint32_t i = 0; i < n; i++) {
		pairs[2 * i] = (struct osr_pair){ 2 * i, 2 * i + 1 };
		pairs[2 * i + 1] = (struct osr_pair){ 2 * i + 1, 2 * i };
	}
	return 2 * n;
}

static uint32_t halves(const struct osr_sequence *sequence, uint32_t k, struct osr_prng *prng,
		       struct osr_pair *pairs)
{
	uint32_t n = sequence->n_ranks / 2;

	for (uint32_t i = 0; i < n; i++)
		pairs[i] = (struct osr_pair){ i, n + i };
	return n;
}

/* ---- random --------------------------------------------------------------------------------- */

/*
 * Each rank draws among the receivers that are left and are not itself; if the last is left with
 * itself, it swaps with one of those before it, drawn too. While they wait, receivers stand in the
 * `to` of the pairs behind the present one.
 */
static uint32_t permute(const struct osr_sequence *sequence, uint32_t k, struct osr_prng *prng,
			struct osr_pair *pairs)
{
	uint32_t n = sequence->n_ranks;

	for (uint32_t i = 0; i < n; i++)
		pairs[i] = (struct osr_pair){ i, i };
	for (uint32_t i = 0; i + 1 < n; i++) {
		uint32_t j, to;

		do
			j = i + osr_prng_below(prng, n - i);
		while (pairs[j].to == i);
		to = pairs[j].to;
		pairs[j].to = pairs[i].to;
		pairs[i].to = to;
	}
	if (pairs[n - 1].to == n - 1) {
		uint32_t j = osr_prng_below(prng, n - 1);

		pairs[n - 1].to = pairs[j].to;
		pairs[j].to = n - 1;
	}
	return n;
}

static enum osr_status check_receivers(const struct osr_sequence *sequence, struct osr_diag *diag)
{
	if (!sequence->arg[0])
		return osr_fail(diag, OSR_INVAL, "receivers:%u: expected one or more",
				sequence->arg[0]);
	return OSR_OK;
}

static uint32_t receivers(const struct osr_sequence *sequence, uint32_t k, struct osr_prng *prng,
			  struct osr_pair *pairs)
{
	uint32_t most = sequence->n_ranks / 2,
		 n_to = sequence->arg[0] < most ? sequence->arg[0] : most;
	uint32_t n = sequence->n_ranks - n_to;

	for (uint32_t i = 0; i < n; i++)
		pairs[i].from = n_to + i;
	for (uint32_t i = 0; i < n; i++) {
		uint32_t j = i + osr_prng_below(prng, n - i), from = pairs[j].from;

		pairs[j].from = pairs[i].from;
		pairs[i] = (struct osr_pair){ from, i % n_to };
	}
	return n;
}

/* ---- collectives as ORCS has them ----------------------------------------------------------- */

static uint32_t ring(const struct osr_sequence *sequence, uint32_t k, struct osr_prng *prng,
		     struct osr_pair *pairs)
{
	pairs[0] = (struct osr_pair){ k, (k + 1) % sequence->n_ranks };
	return 1;
}

static uint32_t bruck(const struct osr_sequence *sequence, uint32_t k, struct osr_prng *prng,
		      struct osr_pair *pairs)
{
	for (uint32_t i = 0; i < sequence->n_ranks; i++)
		pairs[i] = (struct osr_pair){ i, (i + (UINT32_C(1) << k)) % sequence->n_ranks };
	return sequence->n_ranks;
}

/* The largest power of two not above n. */
static uint32_t power_below(uint32_t n)
{
	uint32_t p = 1;

	while (p <= n / 2)
		p *= 2;
	return p;
}

static uint32_t recdbl(const struct osr_sequence *sequence, uint32_t k, struct osr_prng *prng,
		       struct osr_pair *pairs)
{
	uint32_t power = power_below(sequence->n_ranks), step = UINT32_C(1) << k, n = 0;

	if (step < power) {
		for (uint32_t i = 0; i < power; i++) {
			if (i & step)
				continue;
			pairs[n++] = (struct osr_pair){ i, i + step };
			pairs[n++] = (struct osr_pair){ i + step, i };
		}
		return n;
	}
	for (uint32_t i = 0; i < sequence->n_ranks - power; i++)
		pairs[n++] = (struct osr_pair){ i, i + power };
	return n;
}

uint32_t osr__binomial_tree(const struct osr_sequence *sequence, uint32_t k, struct osr_prng *prng,
			    struct osr_pair *pairs)
{
	uint32_t step = UINT32_C(1) << k, n = 0;

	for (uint32_t i = 0; i < step && i + step < sequence->n_ranks; i++)
		pairs[n++] = (struct osr_pair){ i, i + step };
	return n;
}

static uint32_t gather(const struct osr_sequence *sequence, uint32_t k, struct osr_prng *prng,
		       struct osr_pair *pairs)
{
	for (uint32_t i = 1; i < sequence->n_ranks; i++)
		pairs[i - 1] = (struct osr_pair){ i, 0 };
	return sequence->n_ranks - 1;
}

static uint32_t scatter(const struct osr_sequence *sequence, uint32_t k, struct osr_prng *prng,
			struct osr_pair *pairs)
{
	for (uint32_t i = 1; i < sequence->n_ranks; i++)
		pairs[i - 1] = (struct osr_pair){ 0, i };
	return sequence->n_ranks - 1;
}

static uint64_t all_pairs(const struct osr_sequence *sequence)
{
	return (uint64_t)sequence->n_ranks * (sequence->n_ranks - 1);
}

static uint32_t alltoall(const struct osr_sequence *sequence, uint32_t k, struct osr_prng *prng,
			 struct osr_pair *pairs)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < sequence->n_ranks; i++)
		for (uint32_t j = 0; j < sequence->n_ranks; j++)
			if (i != j)
				pairs[n++] = (struct osr_pair){ i, j };
	return n;
}

static uint32_t silence(const struct osr_sequence *sequence, uint32_t k, struct osr_prng *prng,
			struct osr_pair *pairs)
{
	return 0;
}

/* ---- neighbours ----------------------------------------------------------------------------- */

static enum osr_status check_neighbor(const struct osr_sequence *sequence, struct osr_diag *diag)
{
	if (!sequence->arg[0])
		return osr_fail(diag, OSR_INVAL, "neighbor:%u: expected one or more",
				sequence->arg[0]);
	return OSR_OK;
}

/* Neighbours that a rank can have at all. */
static uint32_t n_slots(const struct osr_sequence *sequence)
{
	return sequence->arg[0] < sequence->n_ranks - 1 ? sequence->arg[0] : sequence->n_ranks - 1;
}

static uint64_t neighbor_pairs(const struct osr_sequence *sequence)
{
	return (uint64_t)sequence->n_ranks * n_slots(sequence);
}

/* A free slot of rank k for rank i; n if none is free or i has one there already. */
static uint32_t slot_for(const struct osr_pair *slot, uint32_t n, uint32_t k, uint32_t i)
{
	uint32_t free_at = n;

	for (uint32_t l = 0; l < n; l++) {
		if (slot[k * n + l].to == i)
			return n;
		if (free_at == n && slot[k * n + l].to == UINT32_MAX)
			free_at = l;
	}
	return free_at;
}

/*
 * Who was refused once is refused for good: full ranks stay full, and so do those that i is with
 * already. So the search for the next neighbour of i goes on where the last one ended.
 */
static uint32_t neighbor(const struct osr_sequence *sequence, uint32_t k, struct osr_prng *prng,
			 struct osr_pair *pairs)
{
	uint32_t n = n_slots(sequence), n_all = sequence->n_ranks * n, n_out = 0;

	for (uint32_t s = 0; s < n_all; s++)
		pairs[s] = (struct osr_pair){ s / n, UINT32_MAX };
	for (uint32_t i = 0; i < sequence->n_ranks; i++) {
		uint32_t j = i + 1;

		for (uint32_t l = 0; l < n; l++) {
			uint32_t at = n;

			if (pairs[i * n + l].to != UINT32_MAX)
				continue;
			while (j < sequence->n_ranks && (at = slot_for(pairs, n, j, i)) == n)
				j++;
			if (j >= sequence->n_ranks)
				break;
			pairs[i * n + l].to = j;
			pairs[j * n + at].to = i;
		}
	}
	for (uint32_t s = 0; s < n_all; s++)
		if (pairs[s].to != UINT32_MAX)
			pairs[n_out++] = pairs[s];
	return n_out;
}

static uint64_t four_each(const struct osr_sequence *sequence)
{
	return 4 * (uint64_t)sequence->n_ranks;
}

/* The next rank from (x, y) by (dx, dy), jumping over places that no rank has. */
static uint32_t on_grid(const struct osr_sequence *sequence, uint32_t columns, uint32_t rank,
			int dx, int dy)
{
	uint32_t rows = (sequence->n_ranks + columns - 1) / columns;
	uint32_t x = rank % columns, y = rank / columns, at;

	do {
		x = (x + columns + (uint32_t)dx) % columns;
		y = (y + rows + (uint32_t)dy) % rows;
		at = y * columns + x;
	} while (at >= sequence->n_ranks);
	return at;
}

static uint32_t ceil_sqrt(uint32_t n)
{
	uint32_t x = 1;

	while ((uint64_t)x * x < n)
		x++;
	return x;
}

static uint32_t neighbor2d(const struct osr_sequence *sequence, uint32_t k, struct osr_prng *prng,
			   struct osr_pair *pairs)
{
	static const int step[4][2] = { { -1, 0 }, { 1, 0 }, { 0, -1 }, { 0, 1 } };
	uint32_t columns = ceil_sqrt(sequence->n_ranks), n = 0;

	for (uint32_t i = 0; i < sequence->n_ranks; i++) {
		uint32_t first = n;

		for (uint32_t d = 0; d < 4; d++) {
			uint32_t to = on_grid(sequence, columns, i, step[d][0], step[d][1]),
				 at = first;

			while (at < n && pairs[at].to != to)
				at++;
			if (to != i && at == n)
				pairs[n++] = (struct osr_pair){ i, to };
		}
	}
	return n;
}

static enum osr_status check_stencil(const struct osr_sequence *sequence, struct osr_diag *diag)
{
	uint64_t n = 1;

	for (uint32_t d = 0; d < sequence->n_args && n <= sequence->n_ranks; d++)
		n *= sequence->arg[d];
	if (n == sequence->n_ranks)
		return OSR_OK;
	return osr_fail(diag, OSR_INVAL,
			"stencil: the product of its sides must be the number of ranks, %u",
			sequence->n_ranks);
}

static uint32_t stencil_phases(const struct osr_sequence *sequence)
{
	return 2 * sequence->n_args;
}

static uint32_t stencil(const struct osr_sequence *sequence, uint32_t k, struct osr_prng *prng,
			struct osr_pair *pairs)
{
	uint32_t side = sequence->arg[k / 2], stride = 1, n = 0;

	for (uint32_t d = 0; d < k / 2; d++)
		stride *= sequence->arg[d];
	for (uint32_t i = 0; i < sequence->n_ranks; i++) {
		uint32_t x = i / stride % side;

		if (k % 2 == 0 && x + 1 < side)
			pairs[n++] = (struct osr_pair){ i, i + stride };
		else if (k % 2 == 1 && x > 0)
			pairs[n++] = (struct osr_pair){ i, i - stride };
	}
	return n;
}

/* ---- the table ------------------------------------------------------------------------------ */

#define PATTERN(n, phases, pairs, function, is_random, is_permutation, help)                       \
	{                                                                                          \
		.name = n, .summary = help, .random = is_random, .permutation = is_permutation,    \
		.n_phases = phases, .max_pairs = pairs, .phase = function                          \
	}

static const struct osr_pattern patterns[] = {
	PATTERN("bisect", one_phase, n_pairs, bisect, false, true, "2i -> 2i+1"),
	PATTERN("bisect_fb_sym", one_phase, n_pairs, bisect_both, false, true, "2i <-> 2i+1"),
	PATTERN("halves", one_phase, n_pairs, halves, false, true, "i -> n/2 + i"),
	PATTERN("rand", one_phase, n_pairs, permute, true, true, "a random permutation"),
	PATTERN("ring", n_phases, one_pair, ring, false, true, "one pair after the other"),
	PATTERN("bruck", osr__log_phases, n_pairs, bruck, false, true, "i -> i + 2^k, all ranks"),
	PATTERN("recdbl", osr__log_phases, n_pairs, recdbl, false, true, "recursive doubling"),
	PATTERN("tree", osr__log_phases, n_pairs, osr__binomial_tree, false, true,
		"binomial tree from rank 0"),
	PATTERN("gather", one_phase, n_pairs, gather, false, false, "all to rank 0"),
	PATTERN("scatter", one_phase, n_pairs, scatter, false, false, "rank 0 to all"),
	{ .name = "neighbor",
	  .summary = "each with its N nearest that have room",
	  .args = "N",
	  .min_args = 1,
	  .max_args = 1,
	  .check = check_neighbor,
	  .n_phases = one_phase,
	  .max_pairs = neighbor_pairs,
	  .phase = neighbor },
	PATTERN("neighbor2d", one_phase, four_each, neighbor2d, false, false,
		"four neighbours on a square grid"),
	{ .name = "receivers",
	  .summary = "all others to N receivers",
	  .args = "N",
	  .min_args = 1,
	  .max_args = 1,
	  .random = true,
	  .check = check_receivers,
	  .n_phases = one_phase,
	  .max_pairs = n_pairs,
	  .phase = receivers },
	PATTERN("null", no_phase, no_pair, silence, false, true, "nothing"),
	PATTERN("alltoall", one_phase, all_pairs, alltoall, false, false, "all pairs at once"),
	{ .name = "stencil",
	  .summary = "neighbours on a grid, dimension by dimension",
	  .args = "X,Y,...",
	  .min_args = 1,
	  .max_args = OSR_PATTERN_MAX_ARGS,
	  .permutation = true,
	  .check = check_stencil,
	  .n_phases = stencil_phases,
	  .max_pairs = n_pairs,
	  .phase = stencil },
};

const struct osr_pattern *osr_pattern_row(uint32_t i)
{
	return i < sizeof(patterns) / sizeof(patterns[0]) ? &patterns[i] : NULL;
}

const struct osr_pattern *osr_pattern_find(const char *name)
{
	for (uint32_t i = 0; osr_pattern_row(i); i++)
		if (!strcmp(patterns[i].name, name))
			return &patterns[i];
	return NULL;
}

/* ---- sequences ------------------------------------------------------------------------------ */

static enum osr_status check_args(const struct osr_pattern *pattern, uint32_t n_args,
				  struct osr_diag *diag)
{
	if (n_args >= pattern->min_args && n_args <= pattern->max_args)
		return OSR_OK;
	if (!pattern->args)
		return osr_fail(diag, OSR_INVAL, "the pattern %s takes no numbers", pattern->name);
	return osr_fail(diag, OSR_INVAL, "the pattern is written %s:%s, with at most %u numbers",
			pattern->name, pattern->args, pattern->max_args);
}

enum osr_status osr_sequence_make(const struct osr_pattern *pattern, uint32_t n_ranks,
				  const uint32_t *arg, uint32_t n_args,
				  struct osr_sequence *sequence, struct osr_diag *diag)
{
	enum osr_status st = check_args(pattern, n_args, diag);
	uint64_t pairs;

	if (st)
		return st;
	if (n_ranks < 2 || n_ranks > OSR_PATTERN_MAX_RANKS)
		return osr_fail(diag, OSR_INVAL, "a pattern needs 2 to %u ranks, not %u",
				OSR_PATTERN_MAX_RANKS, n_ranks);
	*sequence =
		(struct osr_sequence){ .pattern = pattern, .n_ranks = n_ranks, .n_args = n_args };
	if (n_args)
		memcpy(sequence->arg, arg, n_args * sizeof(*arg));
	if (pattern->check)
		st = pattern->check(sequence, diag);
	if (st)
		return st;
	pairs = pattern->max_pairs(sequence);
	if (pairs > INT32_MAX)
		return osr_fail(diag, OSR_INVAL, "%s of %u ranks has too many pairs at once",
				pattern->name, n_ranks);
	sequence->max_pairs = (uint32_t)pairs;
	sequence->n_phases = pattern->n_phases(sequence);
	return OSR_OK;
}

static uint32_t given_phase(const struct osr_sequence *sequence, uint32_t k, struct osr_prng *prng,
			    struct osr_pair *pairs)
{
	const uint32_t *row = &sequence->given->row[k];

	memcpy(pairs, sequence->given->pair + row[0], (row[1] - row[0]) * sizeof(*pairs));
	return row[1] - row[0];
}

void osr_sequence_given(const struct osr_phases *phases, struct osr_sequence *sequence)
{
	static const struct osr_pattern given = { .name = "given",
						  .summary = "phases of a file",
						  .phase = given_phase };
	uint32_t most = 0;

	for (uint32_t k = 0; k < phases->n_phases; k++) {
		uint32_t n = phases->row[k + 1] - phases->row[k];

		most = most < n ? n : most;
	}
	*sequence = (struct osr_sequence){ .pattern = &given,
					   .n_ranks = phases->n_ranks,
					   .n_phases = phases->n_phases,
					   .max_pairs = most,
					   .given = phases };
}

/* The numbers behind the colon. */
static bool parse_args(const char *text, uint32_t *arg, uint32_t *n_args)
{
	for (*n_args = 0; *n_args < OSR_PATTERN_MAX_ARGS; text++) {
		char *end;
		unsigned long x = strtoul(text, &end, 10);

		if (*text < '0' || *text > '9' || x > OSR_PATTERN_MAX_RANKS)
			return false;
		arg[(*n_args)++] = (uint32_t)x;
		text = end;
		if (!*text)
			return true;
		if (*text != ',')
			return false;
	}
	return false;
}

enum osr_status osr_sequence_parse(const char *text, uint32_t n_ranks,
				   struct osr_sequence *sequence, struct osr_diag *diag)
{
	uint32_t arg[OSR_PATTERN_MAX_ARGS], n_args = 0;
	const char *colon = strchr(text, ':');
	const struct osr_pattern *pattern;
	char name[32];

	snprintf(name, sizeof(name), "%.*s", colon ? (int)(colon - text) : (int)strlen(text), text);
	pattern = osr_pattern_find(name);
	if (!pattern)
		pattern = osr_collective_find(name);
	if (!pattern)
		return osr_fail(diag, OSR_INVAL, "no pattern \"%s\"", name);
	if (colon && !parse_args(colon + 1, arg, &n_args))
		return osr_fail(diag, OSR_INVAL,
				"%.40s: expected whole numbers, at most %u, with commas", text,
				OSR_PATTERN_MAX_ARGS);
	return osr_sequence_make(pattern, n_ranks, arg, n_args, sequence, diag);
}

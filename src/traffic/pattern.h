/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * pattern.h - communication patterns: who sends to whom, phase by phase.
 *
 * A pattern speaks of ranks 0 .. n_ranks-1, the processes of one program; which rank runs on which
 * host is somebody else's choice. It is a sequence of phases; the pairs of one phase send at once,
 * the next phase begins when all have arrived. What that costs on a routing is told by
 * congestion.h.
 *
 * The patterns here are those of the Oblivious Routing Congestion Simulator 2.0 (Schneider,
 * Hoefler, Lumsdaine: ORCS, Indiana University TR 675, 2009), under its names, and a few more that
 * ORCS does not have; the collective permutation sequences of the D-Mod-K paper are in
 * collective.h. n ranks, phase k = 0, 1, ...:
 *
 *	bisect		2i -> 2i+1. DIFFERS: ORCS advances its counter within the pair, which the
 *			language leaves open; this is what was meant
 *	bisect_fb_sym	2i -> 2i+1 and 2i+1 -> 2i
 *	halves		i -> floor(n/2) + i for i < floor(n/2): the same as bisect on a shuffled list of
 *			hosts, and what a bisection counts (ours)
 *	rand		a random permutation without fixed points: rank 0, 1, ... draws one of the receivers
 *			left, again while that is itself; should the last be left with itself, it swaps
 *			with one of the others, drawn. Who is drawn leaves its place to the first
 *	ring		n phases of one pair each: k -> (k+1) mod n
 *	bruck		i -> (i + 2^k) mod n while 2^k < n
 *	recdbl		i <-> i xor 2^k within the largest power of two p <= n; then, if p < n, i -> i + p
 *			for i < n - p
 *	tree		binomial: i -> i + 2^k for i < 2^k, i + 2^k < n
 *	gather		i -> 0 for all i > 0, at once
 *	scatter		0 -> i for all i > 0, at once
 *	neighbor:N	every rank with up to N others, the nearest to its right that have a slot free;
 *			both directions
 *	neighbor2d	to the four neighbours on a grid of ceil(sqrt(n)) columns that wraps around; holes
 *			of the last row are jumped over; each pair once
 *	receivers:N	ranks 0 .. N-1 receive, at most n/2 of them; the others send, drawn as above, to
 *			receiver 0, 1, ... in turn
 *	null		nothing
 *	alltoall	everybody to everybody else, at once (ours; collective.h has it in steps: shift)
 *	stencil:X,Y,..	on a grid X x Y x ... that does not wrap around, X fastest: for every dimension
 *			a phase upwards and a phase downwards (ours)
 *
 * Numbers behind the name are arg[]; a rank beyond the product of a stencil's sides is an error.
 */
#ifndef OSMROUTES_PATTERN_H
#define OSMROUTES_PATTERN_H

#include <stdbool.h>
#include <stdint.h>

#include <osmroutes/prng.h>
#include <osmroutes/status.h>

#define OSR_PATTERN_MAX_ARGS 16
#define OSR_PATTERN_MAX_RANKS (UINT32_C(1) << 20)

/* Ranks here; elsewhere terminals, of any role. Both ends are different. */
struct osr_pair {
	uint32_t from, to;
};

struct osr_pattern;

/* One pattern for one number of ranks. Plain data. */
struct osr_sequence {
	const struct osr_pattern *pattern;
	uint32_t n_ranks;
	uint32_t n_phases;
	uint32_t max_pairs; /* of any phase: room that osr_sequence_phase() may need */
	uint32_t n_args;
	uint32_t arg[OSR_PATTERN_MAX_ARGS];
	const struct osr_phases *given; /* osr_sequence_given() */
};

/*
 * Phases that somebody wrote down: those of phase k are pair[row[k]] .. pair[row[k + 1] - 1], both
 * ends different and below n_ranks.
 */
struct osr_phases {
	uint32_t n_ranks;
	uint32_t n_phases;
	const uint32_t *row; /* [n_phases + 1] */
	const struct osr_pair *pair;
};

struct osr_pattern {
	const char *name;
	const char *summary; /* one line */
	const char *args;    /* what stands behind the colon, "N"; NULL: nothing */
	uint32_t min_args, max_args;
	bool random;      /* phases draw from the generator: take them in order */
	bool permutation; /* in no phase does a rank send twice or receive twice */
	/* For osr_sequence_make(): numbers that make no sense are refused. NULL: all do. */
	enum osr_status (*check)(const struct osr_sequence *q, struct osr_diag *diag);
	uint32_t (*n_phases)(const struct osr_sequence *q);
	uint64_t (*max_pairs)(const struct osr_sequence *q);
	uint32_t (*phase)(const struct osr_sequence *q, uint32_t k, struct osr_prng *prng,
			  struct osr_pair *pairs);
};

/* The i-th pattern, NULL behind the last; or the one of this name, NULL if there is none. */
const struct osr_pattern *osr_pattern_row(uint32_t i);
const struct osr_pattern *osr_pattern_find(const char *name);

/*
 * Fills sequence for n_ranks >= 2. OSR_INVAL with a sentence: too many or too few numbers, numbers that
 * the pattern cannot be made of, more than 2^20 ranks, or 2^31 pairs and more at once.
 */
enum osr_status osr_sequence_make(const struct osr_pattern *pattern, uint32_t n_ranks,
				  const uint32_t *arg, uint32_t n_args,
				  struct osr_sequence *sequence, struct osr_diag *diag);

/*
 * The same from text, "NAME" or "NAME:1,2": a pattern, or a sequence of collective.h.
 */
enum osr_status osr_sequence_parse(const char *text, uint32_t n_ranks,
				   struct osr_sequence *sequence, struct osr_diag *diag);

/* Phases as a sequence; they must outlive it. */
void osr_sequence_given(const struct osr_phases *phases, struct osr_sequence *sequence);

/*
 * The pairs of phase k < q->n_phases into pairs[q->max_pairs]; returns how many, in an order that
 * depends on nothing else. `prng` may be NULL unless the pattern is random.
 */
static inline uint32_t osr_sequence_phase(const struct osr_sequence *sequence, uint32_t k,
					  struct osr_prng *prng, struct osr_pair *pairs)
{
	return sequence->pattern->phase(sequence, k, prng, pairs);
}

#endif

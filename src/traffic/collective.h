/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * collective.h - the collective permutation sequences: what MPI's global collectives send, phase
 * by phase.
 *
 * Source: Zahavi, Fat-Trees Routing and Node Ordering Providing Contention Free Traffic for MPI
 * Global Collectives; table 2, and section VI for the two recursive doublings with pre and post
 * stages. N ranks, stage s:
 *
 *	cps-dissemination	i -> (i + 2^s) mod N
 *	cps-tournament		i + 2^s -> i for i a multiple of 2^(s+1)
 *	cps-shift		i -> (i + s) mod N, s = 1 .. N-1
 *	cps-shift:STAGES	only so many of these stages, evenly spread: a sample (ours)
 *	cps-ring		i -> (i + 1) mod N: one stage
 *	cps-binomial		i -> i + 2^s for i < 2^s and i + 2^s < N
 *	cps-doubling		i <-> i xor 2^s, both below N
 *	cps-halving		the stages of cps-doubling from the last to the first
 *	cps-doubling-mpi	as the libraries do it for any N: with p = 2^floor(log2 N), first
 *				i + p -> i for i < N - p (the pre stage), then cps-doubling among the
 *				ranks below p, then i -> i + p (post). Pre and post only if p < N
 *	cps-doubling-tree:m1,m2,..	section VI, equations 3 to 7, on a PGFT(h; m1..mh; ..): for every
 *				level a pre stage, recursive doubling on the level's digit, a post stage
 *
 * DIFFERS from the text:
 * - Stages by 2^s: s = 0 .. ceil(log2 N) - 1. Table 2 says up to ceil(log2 N); there 2^s >= N.
 * - Recursive halving: table 2 has N / 2^s, which is no power of two unless N is. The text says
 *   both are one sequence played in reverse; so it is here.
 * - Equations 4 and 5 read "E_l <= j mod M_l" and pair j with i = j - E_l: the rank's digit of
 *   level l is at least 2^L_l. Printed are E_1 and m_l.
 * - Equation 7 XORs the digit of level l only. As printed, floor(i / M_(l-1)) xor 2^s leaves the
 *   group of M_l ranks when m_l is no power of two.
 * - Where ranks are fewer than the tree's end ports, pairs with a missing end are left out, and
 *   stages without a pair as well.
 *
 * These are patterns like those of pattern.h: osr_sequence_parse() knows them too.
 */
#ifndef OSMROUTES_COLLECTIVE_H
#define OSMROUTES_COLLECTIVE_H

#include "traffic/pattern.h"

/* The i-th sequence, NULL behind the last; or the one of this name, NULL if there is none. */
const struct osr_pattern *osr_collective_row(uint32_t i);
const struct osr_pattern *osr_collective_find(const char *name);

/* Steps of 1, 2, 4, ... that are below n: ceil(log2 n); and i -> i + 2^k for i < 2^k. Of pattern.c. */
uint32_t osr__log_phases(const struct osr_sequence *sequence);
uint32_t osr__binomial_tree(const struct osr_sequence *sequence, uint32_t k, struct osr_prng *prng,
			    struct osr_pair *pairs);

#endif

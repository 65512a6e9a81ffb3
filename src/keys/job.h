/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * job.h - one key for a whole job: a number j for each rank, and the routes to it by equation (1)
 * of D-Mod-K with that number instead of the place of the host in the tree.
 *
 * A sub-tree of height l has R_l = w_1 .. w_(l+1) p_(l+1) cables up. A packet to number j leaves
 * its sender's sub-tree by cable j mod R_l and enters the receiver's by the reverse of its cable
 * j mod R_l. Let the hosts of every sub-tree have consecutive ranks, and let n_l be the most hosts
 * in one of height l. In a stage of a shift the hosts of a sub-tree send to ranks that follow each
 * other, a *window* of at most n_l. If the numbers of every window, also of one from the last rank
 * to the first, are distinct mod R_l for every l, then no two flows go up by one cable. The
 * receivers in a sub-tree are such a window, too, and each gets one flow, so no two go down by one.
 * That serves every collective that is made of shifts: all-to-all by pairs, ring, dissemination,
 * Bruck, binomial trees.
 *
 * Numbers that hold:
 *	power of two	digits of the rank in radices that are powers of two. The exchange of ranks
 *			i and i xor k permutes the residues of a window: these are free, too
 *	stretched	blocks of at least n_l ranks begin at multiples of R_l, so that the step from
 *			the last rank to the first falls between blocks
 * Narrow ones come first: those that take the fewest planes leave most to other jobs. Which planes
 * is chosen as in NRK (keys.h), by expected load: with the fewest dead cables at the job's own
 * sub-trees, then with the smallest largest load.
 */
#ifndef OSMROUTES_KEYS_JOB_H
#define OSMROUTES_KEYS_JOB_H

#include "keys/keys.h"

/* Loads here are in this part of a flow. */
#define OSR_LOAD_UNIT 1024

/* What a key does for all stages of all shifts of a job. */
struct osr_job_worth {
	uint32_t contention; /* most flows on a cable between switches in a stage */
	uint64_t sum;        /* over the stages of the most in each */
	uint64_t meets;      /* its load times that of others, over all cables */
	uint32_t bound;      /* no routing has less in every stage */
	bool fits;           /* no stage has contention, and nobody is left out */
	bool exchanges;      /* the exchanges of i and i xor k are free, too */
	bool base;           /* those of the first LIDs: it has none of its own */
	uint32_t n_left_out; /* hosts without routes of the key */
};

/*
 * The order of ranks: place[i] of the list becomes rank i. Hosts of each sub-tree follow each
 * other, sub-trees in the order of their first host in the list. So a list that is in such an order
 * keeps it. Hosts that are on no leaf come last.
 */
enum osr_status osr_job_order(const struct osr_key_job *job, const uint32_t *term, uint32_t n,
			      uint32_t *place);

/* Which routes a job gets. */
enum osr_job_choice {
	OSR_JOB_KEY,   /* its own */
	OSR_JOB_FIRST, /* those of the first LIDs: no entries, what they are worth */
	OSR_JOB_EITHER, /* those of the first LIDs if they serve it as well, alone and beside others */
};

/*
 * Routes for the ranks on these terminals, OSR_NONE: gone. `load` [n_channels] is the expected load
 * of others, or NULL. `first` are the tables of the first LIDs, a port for (terminal, switch) at
 * terminal * n_switches + switch, or NULL: not known.
 *
 * routes->flows and max_load are in OSR_LOAD_UNIT: the mean over the stages of a shift.
 * OSR_NOT_APPLICABLE and OSR_INVAL as osr_key_make(). Time O(ranks * switches); where the windows
 * do not hold, or to compare with the first LIDs, O(ranks^2).
 */
enum osr_status osr_job_place(const struct osr_key_job *job, const uint32_t *term, uint32_t n,
			      const uint32_t *load, const uint8_t *first,
			      enum osr_job_choice choice, struct osr_job_worth *worth,
			      struct osr_key_routes *routes);

#endif

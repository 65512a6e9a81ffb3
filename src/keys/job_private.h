/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * job_private.h - what the files of a job's key share; private to src/keys.
 *
 *	job.c		the order of ranks, and the key as a whole: its worth beside the first LIDs
 *	job_numbers.c	the number of each rank: windows, and the planes
 *	job_tables.c	the ports that follow, the flows of each stage, and the load of cables
 */
#ifndef OSR_KEYS_JOB_PRIVATE_H
#define OSR_KEYS_JOB_PRIVATE_H

#include "keys/job.h"
#include "level.h"

/* The ranks on leaves of one tree, and their numbers. */
struct osr_ranks {
	const struct osr_pgft *pgft;
	const struct osr_pgft_tree *tree;
	bool whole;           /* no cable and no switch of the tree is missing */
	uint32_t n;           /* >= 2 */
	uint32_t n_elsewhere; /* that are on no leaf, beside these */
	const uint32_t *term; /* [n] */
	uint64_t *number;     /* [n] */
	const uint32_t *load; /* of others, or NULL */
	struct osr_arena *scratch;
	/* By level: the sub-tree of each rank, [n]; most ranks in one; cables up out of each. */
	uint32_t *a[OSR_PGFT_MAX_LEVELS + 1];
	uint32_t most[OSR_PGFT_MAX_LEVELS + 1];
	uint64_t cables[OSR_PGFT_MAX_LEVELS + 1];
};

/* The cable with this residue out of sub-tree a of level t: its channel up, or OSR_NONE. */
static inline uint32_t osr_cable(const struct osr_ranks *ranks, uint32_t t, uint32_t a,
				 uint64_t number)
{
	uint32_t b = (uint32_t)(number % ranks->tree->w_product[t]);
	uint64_t q = number % ranks->cables[t] / ranks->tree->w_product[t];

	return osr_up(ranks->pgft, osr_node(ranks->tree, t, a, b), (uint32_t)q);
}

/* Behind the last rank of a run in one sub-tree of level t, which begins at `rank`. */
static inline uint32_t osr_run_end(const struct osr_ranks *ranks, uint32_t t, uint32_t rank)
{
	uint32_t end = rank + 1;

	while (end < ranks->n && ranks->a[t][end] == ranks->a[t][rank])
		end++;
	return end;
}

/* Chooses the numbers. *windows: they hold; *powers: they are powers of two. OSR_NOMEM. */
enum osr_status osr_job_numbers(struct osr_ranks *ranks, bool *windows, bool *powers);

/*
 * Ports by rank and switch: port[r * n_switches + s] leads to rank r, 0: none. Those of the
 * numbers, only on switches that flows pass. OSR_NOMEM.
 */
enum osr_status osr_job_tables(const struct osr_ranks *ranks, uint8_t *port);

/* Tables of a job, by rank or, for those of the first LIDs, by terminal. */
struct osr_job_rows {
	const uint8_t *port;
	const uint32_t *row; /* of a rank; NULL: the rank itself */
};

enum osr_job_stages { OSR_SHIFTS, OSR_EXCHANGES };

/*
 * The most flows on a cable between switches over all stages; it stops above `enough`.
 * UINT32_MAX: no memory. *sum: of the most in each stage.
 */
uint32_t osr_job_contention(const struct osr_ranks *ranks, struct osr_job_rows rows,
			    enum osr_job_stages stages, uint32_t enough, uint64_t *sum);

/* links, flows and max_load of the routes; `meets` of worth. OSR_NOMEM. */
enum osr_status osr_job_loads(const struct osr_ranks *ranks, struct osr_job_rows rows,
			      struct osr_arena *arena, struct osr_job_worth *worth,
			      struct osr_key_routes *routes);

#endif

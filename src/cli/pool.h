/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * pool.h - work by several threads, and the measurements of src/traffic above all, with a progress bar
 * where somebody sits at a terminal. The number of threads changes no byte of what they find.
 */
#ifndef OSR_CLI_POOL_H
#define OSR_CLI_POOL_H

#include "cli/spec.h"
#include "traffic/survey.h"

struct cli_pool {
	uint32_t n_threads; /* 0: one for each processor */
};

/* --threads, for a struct cli_pool. */
extern const struct cli_spec pool_spec;

/*
 * work(ctx, part, i) for every i below n; each must write to what belongs to its i only, or to its part, of which
 * several work at once. Before it take(ctx, part), unless that is NULL: one after the other, in the order of i. A failure
 * ends it: that of the lowest i is told, and all below it have been done.
 */
typedef void (*cli_take_fn)(void *ctx, uint32_t part);
typedef enum osr_status (*cli_work_fn)(void *ctx, uint32_t part, uint32_t i, struct osr_diag *diag);

enum osr_status cli_each(const struct cli_pool *pool, const char *what, uint32_t n,
			 cli_take_fn take, cli_work_fn work, void *ctx, struct osr_diag *diag);

/* "WHAT NAME ..." at a terminal, until it is called without a name. */
void cli_busy(const char *what, const char *name);

/* All phases of a survey; `what` stands before the progress bar. */
enum osr_status cli_survey(const struct cli_pool *pool, const struct osr_survey_in *in,
			   const char *what, struct osr_survey_sum *sum, struct osr_diag *diag);

#endif

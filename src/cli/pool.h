/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * pool.h - the measurements of src/traffic by several threads, with a progress bar where somebody
 * sits at a terminal. The number of threads changes no byte of what they find.
 */
#ifndef OSR_CLI_POOL_H
#define OSR_CLI_POOL_H

#include <argp.h>

#include <osmroutes/loads.h>
#include <osmroutes/survey.h>

#define CLI_MAX_THREADS 256

struct cli_pool {
	uint32_t n_threads; /* 0: one for each processor */
};

/* --threads; the input is a struct cli_pool. */
extern const struct argp pool_argp;

/* All phases of a survey; `what` stands before the progress bar. */
enum osr_status cli_survey(const struct cli_pool *pool, const struct osr_survey_in *in,
			   const char *what, struct osr_survey_sum *sum, struct osr_diag *diag);

/* Loads of all routes; l was given by osr_loads_init(). */
enum osr_status cli_loads(const struct cli_pool *pool, const struct osr_fabric *f,
			  const struct osr_routing *r, struct osr_loads *l, struct osr_diag *diag);

#endif

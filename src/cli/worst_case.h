/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * worst_case.h - --worst[=FILE]: the permutation of end ports that loads one cable most, and what no routing
 * can do better (traffic/worst.h, core/paths/bound.h).
 *
 *	argp_parse() with worst_argp as a child, whose input is a struct cli_worst, {0} at first
 *	st = cli_worst_load(&worst, &in, &diag);	// while in.net is there
 *	st = cli_worst_find(&worst, "dfsssp", &fabric, &routing, &of, &diag);
 *	cli_worst_say(&out, &of);			// CLI_WORST_FIELDS of the current row
 *	st = cli_worst_free(&worst, &diag);
 */
#ifndef OSR_CLI_WORST_CASE_H
#define OSR_CLI_WORST_CASE_H

#include <stdio.h>

#include "traffic/worst.h"

#include "cli/input.h"
#include "cli/output.h"

struct cli_worst {
	bool asked;
	const char *path; /* of the traffic file, or NULL */
	FILE *file;
	struct osr_rates rates;
	struct osr_arena arena;
};

struct cli_worst_of {
	const char *tables;
	const struct osr_fabric *f;
	struct osr_worst worst;
	double bound;  /* of the load */
	uint32_t gbps; /* of one flow */
};

extern const struct argp worst_argp;

#define CLI_WORST_FIELDS                                                                           \
	{ "worst.share", "worst permutation, rate left", OUT_REAL, 4 },                            \
		{ "worst.share_bound", "  no tables leave more than", OUT_REAL, 4 },               \
		{ "worst.flows", "  flows on one cable", OUT_COUNT, 0 },                           \
		{ "worst.gbps", NULL, OUT_COUNT, 0 },                                              \
	{                                                                                          \
		"worst.cable", "  the cable", OUT_TEXT, 0                                          \
	}

/* Rates of the cables; opens the file. Nothing, and no answer below, if it was not asked for. */
enum osr_status cli_worst_load(struct cli_worst *worst, const struct cli_input *in,
			       struct osr_diag *diag);
enum osr_status cli_worst_find(struct cli_worst *worst, const char *tables,
			       const struct osr_fabric *fabric, const struct osr_routing *routing,
			       struct cli_worst_of *of, struct osr_diag *diag);
void cli_worst_say(struct out *out, const struct cli_worst_of *of);
enum osr_status cli_worst_free(struct cli_worst *worst, struct osr_diag *diag);

/* 1 / load, and 1 where the cables carry it all. */
static inline double cli_worst_share(double load)
{
	return load > 1 ? 1 / load : 1;
}

#endif

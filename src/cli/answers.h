/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * answers.h - how all sub-commands say a verdict (osmroutes/verdict.h): the same keys, the same words,
 * the same exit code.
 */
#ifndef OSR_CLI_ANSWERS_H
#define OSR_CLI_ANSWERS_H

#include "core/verify/verdict.h"

#include "cli/output.h"

/* Fields of a row that cli_answers_say() sets. */
#define CLI_ANSWER_FIELDS                                                                          \
	{ "verdict", "verdict", OUT_TEXT, 0 },                                                     \
		{ "answers.reach", "  every LID is reached", OUT_TEXT, 0 },                        \
		{ "answers.no_loops", "  free of forwarding loops", OUT_TEXT, 0 },                 \
		{ "answers.lanes", "  no SL is dropped", OUT_TEXT, 0 },                            \
		{ "answers.groups", "  multicast arrives once", OUT_TEXT, 0 },                     \
		{ "answers.one_way", "deadlock-free", OUT_TEXT, 0 },                               \
		{ "answers.multicast", "  also with multicast", OUT_TEXT, 0 },                     \
		{ "answers.replies", "  also for replies", OUT_TEXT, 0 },                          \
		{ "answers.sl0", "  all traffic on SL 0", OUT_TEXT, 0 },                           \
	{                                                                                          \
		"answers.any_sl", "  on any SL", OUT_TEXT, 0                                       \
	}

/*
 * Into the current row, and a line for people if the verdict is not "proven". CLI_BAD if it is
 * "refuted". `name`: whose tables, or NULL.
 */
int cli_answers_say(struct out *out, const char *name, const struct osr_findings *found,
		    uint32_t required);

/*
 * Credit loops, a row for each step: fields of a section "loops", of several tables, and of a section
 * "loop".
 */
extern const struct out_field cli_loops_fields[];
#define cli_loop_fields (cli_loops_fields + 1)

/* The rows of "loops" if `name` is given, else of "loop". */
void cli_loop_say(struct out *out, const char *name, const struct osr_fabric *fabric,
		  const struct osr_loop *loop);
/* The credit loop that is worth showing, if there is one. */
void cli_answers_witness(struct out *out, const char *name, const struct osr_fabric *fabric,
			 const struct osr_findings *found, uint32_t required);

#endif

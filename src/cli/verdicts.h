/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * verdicts.h - how all sub-commands ask for a verdict and say it: the same keys, the same words,
 * the same exit code.
 *
 * There are two: for the packets between hosts, which decides about the exit code, and for all
 * packets, those to and from port 0 of switches as well. Without the latter a fabric works:
 * switches are managed along directed routes.
 *
 *	st = cli_verify(&ask, &scratch, &result, &verdicts, diag);
 *	if (!st && cli_is_refuted(&verdicts, OSR_REQUIRED))
 *		st = cli_verdicts_confirm(&verdicts, &tables, &in, diag);
 *	...
 *	code = cli_verdicts_say(&out, NULL, &fabric, &verdicts, OSR_REQUIRED);
 */
#ifndef OSR_CLI_VERDICTS_H
#define OSR_CLI_VERDICTS_H

#include "cli/source.h"
#include "core/verify/verdict.h"

struct cli_verdicts {
	struct osr_findings hosts; /* without an audit */
	struct osr_findings all;   /* its audit is of all packets */
	bool changed;              /* the live fabric changed while it was read: nothing is known */
};

/* Of all packets, and between hosts. Witnesses and sentences live in `result`. */
enum osr_status cli_verify(const struct osr_inquiry *ask, struct osr_arena *scratch,
			   struct osr_arena *result, struct cli_verdicts *verdicts,
			   struct osr_diag *diag);

/* Is one of these questions refuted, of all packets? */
bool cli_is_refuted(const struct cli_verdicts *verdicts, uint32_t required);

/*
 * Tables of a live fabric that look wrong may be half of an old and half of a new generation. The
 * fabric is read once more: unless it is the same, all answers become unknown. Nothing is done
 * about tables that are not live.
 */
enum osr_status cli_verdicts_confirm(struct cli_verdicts *verdicts, const struct cli_tables *tables,
				     const struct cli_input *in, struct osr_diag *diag);

/* Fields of a row that cli_verdicts_say() sets. */
#define CLI_ANSWER_FIELDS                                                                          \
	{ "verdict", "verdict between hosts", OUT_TEXT },                                          \
		{ "answers.reach", "  every LID is reached", OUT_TEXT },                           \
		{ "answers.no_loops", "  free of forwarding loops", OUT_TEXT },                    \
		{ "answers.lanes", "  no SL is dropped", OUT_TEXT },                               \
		{ "answers.groups", "  multicast arrives once", OUT_TEXT },                        \
		{ "answers.one_way", "deadlock-free", OUT_TEXT },                                  \
		{ "answers.multicast", "  also with multicast", OUT_TEXT },                        \
		{ "answers.replies", "  also for replies", OUT_TEXT },                             \
		{ "answers.sl0", "  all traffic on SL 0", OUT_TEXT },                              \
		{ "answers.any_sl", "  on any SL", OUT_TEXT },                                     \
		{ "with_switches.verdict", "verdict with switches", OUT_TEXT },                    \
		{ "with_switches.reach", NULL, OUT_TEXT },                                         \
		{ "with_switches.no_loops", NULL, OUT_TEXT },                                      \
		{ "with_switches.lanes", NULL, OUT_TEXT },                                         \
		{ "with_switches.groups", NULL, OUT_TEXT },                                        \
		{ "with_switches.one_way", NULL, OUT_TEXT },                                       \
		{ "with_switches.multicast", NULL, OUT_TEXT },                                     \
		{ "with_switches.replies", NULL, OUT_TEXT },                                       \
		{ "with_switches.sl0", NULL, OUT_TEXT },                                           \
		{ "with_switches.any_sl", NULL, OUT_TEXT },                                        \
	{                                                                                          \
		"with_switches.why", NULL, OUT_TEXT, 0                                             \
	}

/*
 * Into the current row, and lines for people about everything not proven. CLI_BAD if the verdict
 * between hosts is "refuted". `name`: whose tables, or NULL.
 */
int cli_verdicts_say(struct out *out, const char *name, const struct cli_verdicts *verdicts,
		     uint32_t required);

/*
 * Credit loops, a row for each step: fields of a section "loops", of several tables, and of a
 * section "loop".
 */
extern const struct out_field cli_loops_fields[];
#define cli_loop_fields (cli_loops_fields + 1)

/* The rows of "loops" if `name` is given, else of "loop". */
void cli_loop_say(struct out *out, const char *name, const struct osr_fabric *fabric,
		  const struct osr_loop *loop);
/* The credit loop that is worth showing, if there is one. */
void cli_verdicts_witness(struct out *out, const char *name, const struct osr_fabric *fabric,
			  const struct cli_verdicts *verdicts, uint32_t required);

#endif

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * source.h - the one set of tables a sub-command asks questions of: those of an engine (-e, dfsssp unless
 * others are named), of dumps or a file of route --save, or those in the switches of --live. And what such commands
 * (path, users, check) have in common.
 *
 *	struct args a = { .ask = { .src = CLI_SOURCE_INIT, .out = ..., .n_words = 2, .expected = ... } };
 *	argp_parse() with ask_argp as a child, whose input is &a.ask
 *	st = cli_ask_begin(&a.ask, &diag);	// the tables; the row "summary" is begun
 *	... a.ask.word[0], a.ask.src.in.fabric, a.ask.src.gen ...
 *	return cli_ask_end(&a.ask, st, &diag, code);	// prints, frees
 */
#ifndef OSR_CLI_SOURCE_H
#define OSR_CLI_SOURCE_H

#include <argp.h>

#include "core/verify/union.h"

#include "cli/dumps.h"
#include "cli/input.h"
#include "cli/subject.h"

struct cli_source {
	struct cli_input in;
	struct cli_dumps dumps;
	struct cli_subjects who;
	bool needs_tables; /* no engine by default: tables or an engine must be named */
	bool is_engine;
	struct cli_tables made; /* of an engine */
	struct osr_generation gen;
};

#define CLI_SOURCE_INIT                                                                            \
	{                                                                                          \
		.in = CLI_INPUT_INIT, .dumps = CLI_DUMPS_INIT, .who = CLI_SUBJECTS_INIT            \
	}

struct cli_ask {
	struct cli_source src;
	struct out out;
	unsigned n_words;     /* before FILE, at most 2 */
	const char *expected; /* the error if one is missing */
	const char *word[2];
};

extern const struct argp ask_argp;

/* The tables alone, without a word about them. */
enum osr_status cli_source_load(struct cli_source *s, struct osr_diag *diag);

/* Begins the row "summary" with CLI_INPUT_FIELDS. */
enum osr_status cli_ask_begin(struct cli_ask *ask, struct osr_diag *diag);
int cli_ask_end(struct cli_ask *ask, enum osr_status st, const struct osr_diag *diag, int code);

/* "dfsssp", a file, or "the switches". */
const char *cli_source_name(const struct cli_source *s);

/* The SL of packets from a terminal to a dest; OSR_NO_SL: none is known. Any SL: that of --sl, or 0. */
uint8_t cli_source_sl(const struct cli_source *s, uint32_t term, uint32_t dest);
bool cli_source_any_sl(const struct cli_source *s);

/* The VL on which a terminal sends, and on which a switch passes a packet on; OSR_VL_UNSET: not known. */
uint8_t cli_source_term_vl(const struct cli_source *s, uint32_t term, uint8_t sl);
uint8_t cli_source_switch_vl(const struct cli_source *s, uint32_t sw, uint8_t in, uint8_t out,
			     uint8_t sl);

/* A cable in a row of output: the fields, and how they are filled. */
#define CLI_CABLE_FIELDS                                                                           \
	{ "from", NULL, OUT_TEXT, 0 }, { "from_port", NULL, OUT_COUNT, 0 },                        \
		{ "to", NULL, OUT_TEXT, 0 }, { "to_port", NULL, OUT_COUNT, 0 },                    \
	{                                                                                          \
		"cable", "from - to", OUT_TEXT, 0                                                  \
	}
void cli_say_cable(struct out *out, const char *from, unsigned from_port, const char *to,
		   unsigned to_port);

#endif

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * source.h - the one set of tables a sub-command asks questions of: those of an engine (-e, dfsssp unless
 * others are named), of dumps or a table file, or those in the switches of --live.
 *
 *	struct args a = { .src = CLI_SOURCE_INIT };
 *	argp_parse() with source_argp as a child, whose input is &a.src
 *	st = cli_source_load(&a.src, &diag);
 *	... a.src.in.fabric, a.src.gen ...
 *	cli_source_free(&a.src);
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
	bool is_engine;
	struct cli_tables made; /* of an engine */
	struct osr_generation gen;
};

#define CLI_SOURCE_INIT                                                                            \
	{                                                                                          \
		.in = CLI_INPUT_INIT, .dumps = CLI_DUMPS_INIT, .who = CLI_SUBJECTS_INIT            \
	}

/* -e, -o, --vls, --tables and all that dumps_argp has, FILE, --live, --lmc, --names */
extern const struct argp source_argp;

enum osr_status cli_source_load(struct cli_source *s, struct osr_diag *diag);
void cli_source_free(struct cli_source *s);

/* "dfsssp", a file, or "the switches". */
const char *cli_source_name(const struct cli_source *s);

/* The SL of packets from a terminal to a dest; OSR_NO_SL: none is known. Any SL: that of --sl, or 0. */
uint8_t cli_source_sl(const struct cli_source *s, uint32_t term, uint32_t dest);
bool cli_source_any_sl(const struct cli_source *s);

/* The VL on which a terminal sends, and on which a switch passes a packet on; OSR_VL_UNSET: not known. */
uint8_t cli_source_term_vl(const struct cli_source *s, uint32_t term, uint8_t sl);
uint8_t cli_source_switch_vl(const struct cli_source *s, uint32_t sw, uint8_t in, uint8_t out,
			     uint8_t sl);

#endif

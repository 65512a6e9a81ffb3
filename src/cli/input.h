/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * input.h - the fabric that a sub-command works on: FILE, or --live, and --lmc; read and built.
 *
 *	struct args a = { .in = CLI_INPUT_INIT };
 *	cli_parse() with input_spec as a part, which takes the argument FILE
 *	st = cli_input_load(&a.in, &diag);
 *	cli_input_say(&a.in, &out);	// a head section with CLI_INPUT_FIELDS, its row begun
 *	cli_input_free(&a.in);
 */
#ifndef OSR_CLI_INPUT_H
#define OSR_CLI_INPUT_H

#include <osmroutes/fabric.h>

#include "cli/cli.h"
#include "cli/live.h"
#include "cli/output.h"
#include "io/net.h"

struct cli_input {
	const char *path;     /* a file, or a directory of dumps with an opensm-subnet.lst */
	char *owned;          /* that in it, or NULL */
	bool is_live;         /* no file: the fabric this machine is connected to */
	char live_words[128]; /* what stands behind --live, in parts */
	struct cli_live live;
	char *lfts;         /* where LMCs are, if the file does not say them; or NULL; freed */
	const char *names;  /* node name map, or NULL */
	int lmc;            /* < 0: the LIDs of the file stay */
	struct osr_net net; /* what the file says; may be freed once the fabric is built */
	struct osr_arena arena;
	struct osr_fabric fabric;
	bool lmc_open; /* the file says no LMCs, and its LIDs leave more than 0 open */
	struct cli_stamp read;
};

#define CLI_INPUT_INIT                                                                             \
	{                                                                                          \
		.lmc = -1                                                                          \
	}

/* Fields that cli_input_say() sets. */
#define CLI_INPUT_FIELDS                                                                           \
	{ "fabric", NULL, OUT_TEXT },                                                              \
		{ "switches", NULL, OUT_COUNT, 0, OUT_OF(struct cli_input, fabric.n_switches) },   \
		{ "channels", NULL, OUT_COUNT, 0, OUT_OF(struct cli_input, fabric.n_channels) },   \
		{ "terminals", NULL, OUT_COUNT, 0, OUT_OF(struct cli_input, fabric.n_terminals) }, \
		{ "lids", NULL, OUT_COUNT, 0, OUT_OF(struct cli_input, fabric.n_dests) },          \
		{ "components", NULL, OUT_COUNT, 0,                                                \
		  OUT_OF(struct cli_input, fabric.n_components) },                                 \
		{ "read_ms.cpu", NULL, OUT_REAL, 1, OUT_OF(struct cli_input, read.cpu) },          \
	{                                                                                          \
		"read_ms.wall", NULL, OUT_REAL, 1, OUT_OF(struct cli_input, read.wall)             \
	}

#define CLI_NAMES_DOC "names of nodes: OpenSM's node name map, lines of GUID and \"name\""

extern const struct cli_spec input_spec;

#define CLI_LIVE_ARG "DEV:PORT:PKEY"
bool cli_is_directory(const char *path);

/* What stands behind --live, or NULL. */
void cli_take_live(struct cli_input *in, const char *arg, struct argp_state *state);

enum osr_status cli_input_load(struct cli_input *in, struct osr_diag *diag);
void cli_input_free(struct cli_input *in);

/* How to call it in a sentence: the path, "standard input" or "live fabric". */
const char *cli_input_name(const struct cli_input *in);

/* One line for people, and the fields above into the current row. */
void cli_input_say(const struct cli_input *in, struct out *o);

#endif

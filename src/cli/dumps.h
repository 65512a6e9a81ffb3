/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * dumps.h - the tables that a sub-command judges: from a directory of dumps, or file by file, or stored ones.
 *
 *	struct args a = { .in = CLI_INPUT_INIT, .tables = CLI_DUMPS_INIT };
 *	argp_parse() with dumps_argp as a child, whose input is &a.tables
 *	cli_dumps_from_input(&a.tables, &a.in);	FILE may be the directory
 *	st = cli_dumps_load(&a.tables, &a.in, &diag);
 *	... a.tables.t, a.tables.gen ...
 *	cli_dumps_free(&a.tables);
 */
#ifndef OSR_CLI_DUMPS_H
#define OSR_CLI_DUMPS_H

#include <argp.h>

#include "cli/input.h"
#include "cli/output.h"
#include "io/tables.h"

struct cli_dumps {
	const char *dir;                          /* or a file, which is then what lft names */
	const char *lft, *sl2vl, *paths, *groups; /* files; NULL: not given */
	bool is_live;                             /* read from the switches */
	enum cli_sa sa;                           /* how SLs are asked for */
	bool sl_optional; /* without an answer they are unknown, and sl_warning says so */
	struct osr_diag sl_warning;
	int sl;         /* all packets are on it; < 0: as the paths say */
	int mcast_sl;   /* of multicast packets */
	char *found[4]; /* names in dir, to be freed */

	struct osr_arena arena;
	struct osr_tables t;
	struct osr_generation gen;
	bool same_ca; /* all CAs have one SL2VL table, so that the checker can be asked */
	double read_cpu, read_wall; /* ms */
};

#define CLI_DUMPS_INIT                                                                             \
	{                                                                                          \
		.sl = -1                                                                           \
	}

/* All of unicast; and the tables of multicast, with the same input. */
extern const struct argp dumps_argp, groups_argp;

/*
 * If FILE is a directory of dumps, it is where the tables are too, and FILE its opensm-subnet.lst. If the
 * fabric is live and no tables are named, they are those in its switches.
 */
enum osr_status cli_dumps_from_input(struct cli_dumps *dumps, struct cli_input *in,
				     struct osr_diag *diag);

/*
 * Finds the files in the directory, and tells `in` where it may find LMCs; before `in` is loaded, or
 * NULL.
 */
void cli_dumps_find(struct cli_dumps *dumps, struct cli_input *in);

/* The tables are those in the switches of the live fabric `in`, which is still to be loaded. */
void cli_dumps_live(struct cli_dumps *dumps, struct cli_input *in);

/*
 * OSR_INVAL: no forwarding tables were named, or what osr_tables_read_*() say. Or with no more than is
 * needed: net is for GUIDs of nodes, or NULL; live where c->is_live.
 */
enum osr_status cli_dumps_load(struct cli_dumps *dumps, struct cli_input *in,
			       struct osr_diag *diag);
enum osr_status cli_dumps_read(struct cli_dumps *dumps, const struct osr_fabric *fabric,
			       const struct osr_net *net, struct cli_live *live,
			       struct osr_diag *diag);
void cli_dumps_free(struct cli_dumps *dumps);

/* Fields that cli_dumps_say() sets, and a line for people. */
#define CLI_DUMPS_FIELDS                                                                           \
	{ "tables.lfts", NULL, OUT_TEXT, 0 }, { "tables.sl2vl", NULL, OUT_TEXT, 0 },               \
		{ "tables.path_sls", NULL, OUT_TEXT, 0 }, { "tables.groups", NULL, OUT_TEXT, 0 },  \
		{ "tables.sl", NULL, OUT_COUNT, 0 }, { "tables.entries", NULL, OUT_COUNT, 0 },     \
		{ "tables.foreign", NULL, OUT_COUNT, 0 }, { "tables.bytes", NULL, OUT_COUNT, 0 },  \
		{ "tables.read_ms.cpu", NULL, OUT_REAL, 1 },                                       \
	{                                                                                          \
		"tables.read_ms.wall", NULL, OUT_REAL, 1                                           \
	}

void cli_dumps_say(const struct cli_dumps *dumps, struct out *o);

#endif

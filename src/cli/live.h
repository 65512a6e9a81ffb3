/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * live.h - the fabric this machine is connected to, and what is programmed in it, instead of files.
 *
 *	struct cli_live live = { .ask = { .lft = true } };
 *	st = cli_live_net(&live, &net, &diag);			nodes, cables, LIDs
 *	st = cli_live_tables(&live, CLI_SA_PAIRS, &tables, &diag);	what was asked for
 *	cli_live_free(&live);
 *
 * The InfiniBand libraries are loaded with the first call (live/module.h).
 */
#ifndef OSR_CLI_LIVE_H
#define OSR_CLI_LIVE_H

#include "io/net.h"
#include "io/tables.h"
#include "live/live.h"

struct cli_live {
	struct osr_device_want from; /* which port of this machine */
	struct osr_live_ask ask;
	struct osr_arena arena;
	struct osr_live read;
	const struct osr_live_module *module;
};

/* Asks the subnet administrator for SLs. */
enum cli_sa {
	CLI_SA_PAIRS,    /* every end port, for every LID */
	CLI_SA_SWITCHES, /* one end port of every switch; the others are taken to send alike */
	CLI_SA_NONE,     /* nobody: senders may use any SL */
};

/* Queries are answered at some 30,000 a second; more than these are refused. */
#define CLI_SA_MAX_PAIRS 20000000

/* OSR_INVAL: no libraries, no InfiniBand port, or nobody answered. */
enum osr_status cli_live_net(struct cli_live *live, struct osr_net *net, struct osr_diag *diag);

/*
 * Into tables that osr_tables_init() has begun, of the fabric made from that net. OSR_INVAL if
 * a request for tables was not answered: half of the tables give no verdict. OSR_UNREACHABLE if all but the
 * SLs are read and the subnet administrator does not answer.
 */
enum osr_status cli_live_tables(struct cli_live *live, enum cli_sa sa, struct osr_tables *tables,
				struct osr_diag *diag);

void cli_live_free(struct cli_live *live);

#endif

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * path.h - the three questions of `osmroutes path`: the way from A to B, what uses a cable (--via), and the cables that
 * the hosts of a job share (--hosts). All are asked of one set of tables.
 */
#ifndef OSR_CLI_PATH_H
#define OSR_CLI_PATH_H

#include "cli/source.h"

struct path_args {
	struct cli_ask ask;
	bool one_way, pairs;
	const char *via, *hosts; /* NODE:PORT; a list or a file of hosts; NULL: not asked */
	uint32_t max;            /* rows of each kind; 0: all */
};

/* Of sections "directions", "hosts" and "pairs", and of "cables". */
extern const struct out_field path_direction_fields[], path_host_fields[], path_pair_fields[];
extern const struct out_field path_cable_fields[];

/* Rows of these sections. *code is CLI_BAD where a pair of hosts has no path. */
enum osr_status path_via(struct path_args *args, struct osr_diag *diag);
enum osr_status path_hosts(struct path_args *args, int *code, struct osr_diag *diag);

#endif

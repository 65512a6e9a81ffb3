/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* hostlist.h - lists of hosts as Slurm writes them. */
#ifndef OSR_CLI_HOSTLIST_H
#define OSR_CLI_HOSTLIST_H

#include <stdbool.h>

#include "io/lines.h"

/*
 * Names in a list as Slurm writes it, one after the other: commas within brackets do not separate, "n[01-03,7]-ib"
 * is n01-ib, n02-ib, n03-ib, n7-ib, and several brackets are a product. False: `take` said so, or no list.
 */
bool cli_each_name(const char *list, bool (*take)(void *context, const char *name), void *context);

/* Opens the lines of --hosts=LIST: a file, "-" for standard input, or the list itself as its one line. */
enum osr_status cli_hostlist_open(struct osr_lines *in, const char *list, struct osr_diag *diag);

#endif

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* endport.h - nodes, end ports and cables as people write them on the command line: see names.h. */
#ifndef OSR_CLI_ENDPORT_H
#define OSR_CLI_ENDPORT_H

#include <stdbool.h>

#include <osmroutes/fabric.h>

#include "io/net.h"
#include "io/lines.h"

enum osr_status cli_find_switch(const struct osr_net *net, const char *word, uint32_t *node,
				struct osr_diag *diag);

/* NODE:PORT: the port of the net. OSR_INVAL: no such node, port or cable. */
enum osr_status cli_find_cable(const struct osr_net *net, const char *word, uint32_t *port,
			       struct osr_diag *diag);

/* A terminal of the fabric that was built from this net: NODE:PORT if several ports of the node have a LID. */
enum osr_status cli_find_terminal(const struct osr_net *net, const struct osr_fabric *fabric,
				  const char *word, uint32_t *term, struct osr_diag *diag);

/* "node7" of "node7 mlx5_0": how many bytes. */
size_t cli_first_word(const char *name);

/* Lists of hosts as Slurm writes them. */

/*
 * Names in a list as Slurm writes it, one after the other: commas within brackets do not separate, "n[01-03,7]-ib"
 * is n01-ib, n02-ib, n03-ib, n7-ib, and several brackets are a product. False: `take` said so, or no list.
 */
bool cli_each_name(const char *list, bool (*take)(void *context, const char *name), void *context);

/* Opens the lines of --hosts=LIST: a file, "-" for standard input, or the list itself as its one line. */
struct osr_lines *cli_hostlist_open(struct osr_lines *in, const char *list, struct osr_diag *diag);

#endif

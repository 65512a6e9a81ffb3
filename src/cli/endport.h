/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * endport.h - nodes, end ports and cables as people write them on the command line.
 *
 *	NODE	its name, the first word of it, its id in the file, or 0x and its GUID
 *	end port	NODE (NODE:PORT if several of its ports have a LID), 0x and the GUID of the port, lid:N
 *	cable	NODE:PORT
 */
#ifndef OSR_CLI_ENDPORT_H
#define OSR_CLI_ENDPORT_H

#include <osmroutes/fabric.h>

#include "io/net.h"

/* OSR_INVAL: no node, or several, are called so; if one has it in its name, the sentence proposes it. */
enum osr_status cli_find_node(const struct osr_net *net, const char *name, size_t len,
			      uint32_t *node, struct osr_diag *diag);

/* The port of the net at one end of a cable. OSR_INVAL: no such node, port or cable. */
enum osr_status cli_find_cable(const struct osr_net *net, const char *word, uint32_t *port,
			       struct osr_diag *diag);

/* A terminal of the fabric that was built from this net. */
enum osr_status cli_find_terminal(const struct osr_net *net, const struct osr_fabric *fabric,
				  const char *word, uint32_t *term, struct osr_diag *diag);

/* "node7" of "node7 mlx5_0": how many bytes. */
size_t cli_first_word(const char *name);

#endif

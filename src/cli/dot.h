/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* dot.h - a fabric as a graph in the DOT language of Graphviz: nodes with names, cables with port numbers. */
#ifndef OSR_CLI_DOT_H
#define OSR_CLI_DOT_H

#include <stdbool.h>
#include <stdio.h>

#include "io/net.h"

/* hosts: false leaves out CAs and routers. Write errors stay in `out`, for ferror(). */
void cli_dot_write(const struct osr_net *net, bool hosts, FILE *out);

#endif

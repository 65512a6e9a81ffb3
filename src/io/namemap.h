/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * namemap.h - OpenSM's node name map: names that nodes have besides their descriptions.
 *
 *	0x0008f10500200b50 "core-07"	# the third rack
 *
 * Empty lines do not count; # begins a comment.
 */
#ifndef OSR_IO_NAMEMAP_H
#define OSR_IO_NAMEMAP_H

#include "io/lines.h"
#include "io/net.h"

/*
 * All lines of a file, which is closed: nodes get the names of their GUIDs. A map may be of several
 * fabrics: *n_names is how many it has, *n_known how many of them are of nodes in the net.
 * OSR_INVAL, with file and line: a malformed line, a second name of a node.
 */
enum osr_status osr_namemap_read(struct osr_lines *in, struct osr_net *net, uint32_t *n_names,
				 uint32_t *n_known);

#endif

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * namemap.h - OpenSM's node name map: a line for each node, its GUID and "the name in quotes", # begins a
 * comment. ibnetdiscover and the other diagnostics take the same file (--node-name-map).
 */
#ifndef OSR_IO_NAMEMAP_H
#define OSR_IO_NAMEMAP_H

#include "io/net.h"

/* Nodes of the net get the names of the file; GUIDs that it does not have are passed over. */
enum osr_status osr_namemap_read(const char *path, struct osr_net *net, struct osr_diag *diag);

#endif

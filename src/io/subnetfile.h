/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * subnetfile.h - fabrics as OpenSM dumps them: opensm-subnet.lst, one line for each end of a cable.
 *
 *	{ SW Ports:24 SystemGUID:0002c9... NodeGUID:... PortGUID:... VenID:000002C9 DevID:BD36 Rev:000000A1
 *	{leaf-0} LID:0009 PN:01 } { CA ... {h0000} LID:0001 PN:01 } PHY=4x LOG=ACT SPD=10
 *
 * Cables that are down are left out. The file does not say LMCs, nor which port 0 is enhanced.
 */
#ifndef OSR_IO_SUBNETFILE_H
#define OSR_IO_SUBNETFILE_H

#include "io/lines.h"
#include "io/net.h"

/* Into an empty net; it is empty again if it fails. OSR_INVAL names the line. */
enum osr_status osr_subnetfile_parse(struct osr_lines *in, struct osr_net *net,
				     struct osr_diag *diag);

/* A fabric in any form we know: an opensm-subnet.lst, or what osr_netfile_parse() reads. "-": stdin. */
enum osr_status osr_fabricfile_read(const char *path, struct osr_net *net, struct osr_diag *diag);

#endif

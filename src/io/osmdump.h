/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * osmdump.h - a routing in the files OpenSM 3.3.23 writes under `-D 0x43`, for tools that read such
 * files: diff against a running OpenSM, `opensm -R file -U opensm-lfts.dump`, ibdmchk:
 *
 *	ibdmchk -s opensm-subnet.lst -f opensm.fdbs -m opensm.mcfdbs \
 *		-d opensm-sl2vl.dump -c opensm-path-sl.dump [-l LMC]
 *
 *	opensm-lfts.dump	output port of every switch for every LID
 *	opensm.fdbs		the same with hops, as ibdmchk wants it
 *	opensm-sl2vl.dump	SL to VL of every port pair
 *	opensm-subnet.lst	the cables
 *	opensm.mcfdbs		the groups; empty where none is set up, as offline
 *	opensm-path-sl.dump	SLs of path records, which OpenSM does not write: see pathsl.h; or
 *				as ibdmchk reads them. No file if the SLs are unknown
 *
 * The order within the files is OpenSM's on a little-endian machine: GUIDs compared from their last
 * byte. Values that the file of a fabric lacks are as ibsim would show them: the subnet manager on
 * the first node, and 4x SDR links if no rate is known. NDR and XDR are written as 100 and 200,
 * where OpenSM 3.3.23 has "??".
 */
#ifndef OSR_IO_OSMDUMP_H
#define OSR_IO_OSMDUMP_H

#include <stdio.h>

#include "core/verify/union.h"

#include "io/net.h"

struct osr_osmdump {
	const char *dir; /* must exist */
	uint8_t vls;     /* operational data VLs of every link: 1, 2, 4, 8 or 15 */
	bool long_sl;    /* opensm-path-sl.dump for ibdmchk: end ports * LIDs lines */
};

/*
 * `fabric` must have been built from `net`. `gen`: tables of it, by an engine (gen->routing alone)
 * or from files. Memory: a byte per switch and LID. OSR_INVAL names the file that could not be
 * written.
 */
enum osr_status osr_osmdump_write(const struct osr_osmdump *dump, const struct osr_net *net,
				  const struct osr_fabric *fabric, const struct osr_generation *gen,
				  struct osr_diag *diag);

/* opensm.mcfdbs of these groups; NULL: none. Errors of the stream are the caller's to look for. */
void osr_osmdump_groups(const struct osr_fabric *fabric, const struct osr_groups *groups,
			FILE *out);

/* The SL2VL entry OpenSM's defaults give to an SL on a link with this many operational VLs. */
uint8_t osr_osmdump_default_vl(uint8_t sl, uint8_t vls);

#endif

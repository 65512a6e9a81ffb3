/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * lftfile.h - forwarding tables that OpenSM wrote (opensm-lfts.dump, `opensm -D 0x43`), for judging
 * routings that are not ours.
 *
 *	Unicast lids [0-24] of switch Lid 9 guid 0x0000000000200000 ('leaf-0'):
 *	0x0001 001 # Channel Adapter portguid 0x0000000000100001: 'h0000'
 *	...
 *	24 lids dumped
 */
#ifndef OSR_IO_LFTFILE_H
#define OSR_IO_LFTFILE_H

#include <osmroutes/routing.h>

/*
 * Fills `r` (allocated in `arena`) with the tables of the file; it claims nothing, has one VL and no
 * SLs. What the file does not mention stays OSR_NO_PATH. OSR_INVAL names the line: a switch or LID the
 * fabric does not have, or a line that is no entry.
 */
enum osr_status osr_lftfile_read(const char *path, const struct osr_fabric *f, struct osr_arena *arena,
				 struct osr_routing *r, struct osr_diag *diag);

#endif

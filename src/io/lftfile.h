/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* lftfile.h - forwarding tables alone, out of any file that tables.h reads. */
#ifndef OSR_IO_LFTFILE_H
#define OSR_IO_LFTFILE_H

#include <osmroutes/routing.h>

/*
 * Fills `routing` (allocated in `arena`) with the tables of the file; it claims nothing, has one VL and no
 * SLs. What the file does not mention stays OSR_NO_PATH. OSR_INVAL names the line, see tables.h.
 */
enum osr_status osr_lftfile_read(const char *path, const struct osr_fabric *fabric,
				 struct osr_arena *arena, struct osr_routing *routing,
				 struct osr_diag *diag);

#endif

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* tables_private.h - what the readers of tables.h share. */
#ifndef OSR_IO_TABLES_PRIVATE_H
#define OSR_IO_TABLES_PRIVATE_H

#include "io/tables.h"

/* The switch with this node GUID; OSR_INVAL with a sentence if there is none. */
enum osr_status osr__tables_switch(const struct osr_tables *tables, const struct osr_lines *in,
				   uint64_t guid, uint32_t *sw);

/* Nothing that carries data: empty, a comment, a line of dashes. */
bool osr__is_filler(const char *text);

static inline uint32_t osr__dest_of_lid(const struct osr_fabric *fabric, uint64_t lid)
{
	return lid <= fabric->max_lid ? fabric->lid_dest[lid] : OSR_NONE;
}

#endif

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "io/lftfile.h"

#include "io/tables.h"

enum osr_status osr_lftfile_read(const char *path, const struct osr_fabric *fabric,
				 struct osr_arena *arena, struct osr_routing *routing,
				 struct osr_diag *diag)
{
	struct osr_tables tables;
	enum osr_status st = osr_tables_init(&tables, fabric, NULL, arena, diag);

	if (!st)
		st = osr_tables_read_lfts(&tables, path, diag);
	*routing = tables.routing;
	osr_tables_free(&tables);
	return st;
}

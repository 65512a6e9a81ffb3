/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "io/lftfile.h"

#include "io/tables.h"

enum osr_status osr_lftfile_read(const char *path, const struct osr_fabric *f, struct osr_arena *arena,
				 struct osr_routing *r, struct osr_diag *diag)
{
	struct osr_tables t;
	enum osr_status st = osr_tables_init(&t, f, NULL, arena, diag);

	if (!st)
		st = osr_tables_read_lfts(&t, path, diag);
	*r = t.routing;
	osr_tables_free(&t);
	return st;
}

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * load.h - output of `route`, `report` and `check` about the load of tables: to first LIDs, and,
 * where end ports have several, to all of them, with the bandwidth by the LIDs that programs use
 * (osmroutes/split.h).
 */
#ifndef OSR_CLI_LOAD_H
#define OSR_CLI_LOAD_H

#include <osmroutes/bound.h>

#include "cli/output.h"
#include "core/verify/audit.h"

/* No routing of the fabric has less on its busiest channel: osr_bound_load(). */
struct cli_bounds {
	double first, all;
};

struct cli_load {
	struct cli_bounds bound;
	double first,
		all; /* of the audit, per capacity, times the least possible; NAN: nothing is known */
	uint32_t n_lids; /* of a host, at most; with one there is no more to be said */
	/* As in split.h, as shares of a link. */
	struct {
		double first, two, all, free, one;
	} split;
};

enum osr_status cli_bounds_of(const struct osr_fabric *fabric, struct osr_arena *scratch,
			      struct cli_bounds *bounds, struct osr_diag *diag);
/* audit: of these tables. */
enum osr_status cli_load_of(const struct osr_fabric *fabric, const struct osr_routing *routing,
			    const struct osr_audit *audit, const struct cli_bounds *bounds,
			    struct osr_arena *scratch, struct cli_load *load,
			    struct osr_diag *diag);

/* Rows for a struct with a member `load`, where end ports have several LIDs. */
#define CLI_LOAD_ALL_FIELDS(type, audit, when)                                                     \
	{ "efi_all", "  to all LIDs", OUT_COUNT, 0, OUT_OF(type, audit.efi_all), when },           \
		{ "efi_all_bound",                                                                 \
		  "    least possible",                                                            \
		  OUT_REAL,                                                                        \
		  1,                                                                               \
		  OUT_OF(type, load.bound.all),                                                    \
		  when },                                                                          \
	{                                                                                          \
		"load_all", "    times the least possible", OUT_REAL, 3, OUT_OF(type, load.all),   \
			when                                                                       \
	}
#define CLI_SPLIT_FIELDS(type, when)                                                                  \
	{ "split.lids", "LIDs of a host", OUT_COUNT, 0, OUT_OF(type, load.n_lids), when },            \
		{ "split.first",                                                                      \
		  "  bandwidth to the first",                                                         \
		  OUT_REAL,                                                                           \
		  4,                                                                                  \
		  OUT_OF(type, load.split.first),                                                     \
		  when },                                                                             \
		{ "split.two", "  split over the first two", OUT_REAL,                                \
		  4,           OUT_OF(type, load.split.two), when },                                  \
		{ "split.all", "  split over all", OUT_REAL, 4, OUT_OF(type, load.split.all), when }, \
		{ "split.free",                                                                       \
		  "    if no part waits for others",                                                  \
		  OUT_REAL,                                                                           \
		  4,                                                                                  \
		  OUT_OF(type, load.split.free),                                                      \
		  when },                                                                             \
	{                                                                                             \
		"split.one", "  to one drawn at random", OUT_REAL, 4,                                 \
			OUT_OF(type, load.split.one), when                                            \
	}

#endif

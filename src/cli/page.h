/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * page.h - the page of `report`: page.html with what `route` says in it as JSON. It draws itself,
 * and needs no network. Its pictures need these sections besides.
 */
#ifndef OSR_CLI_PAGE_H
#define OSR_CLI_PAGE_H

#include "cli/measure.h"

extern const struct out_field page_answer_fields[], page_place_fields[], page_cable_fields[],
	page_load_fields[], page_way_fields[], page_gain_fields[], page_lane_fields[];

#define PAGE_SECTIONS                                                                              \
	{ "answers", OUT_ROWS, page_answer_fields }, { "places", OUT_ROWS, page_place_fields },    \
		{ "cables", OUT_ROWS, page_cable_fields },                                         \
		{ "loads", OUT_ROWS, page_load_fields }, { "ways", OUT_ROWS, page_way_fields },    \
		{ "gain", OUT_ROWS, page_gain_fields },                                            \
	{                                                                                          \
		"lanes", OUT_ROWS, page_lane_fields                                                \
	}

/* The fabric, and the facts of the first tables alone. */
void page_say_first(const struct cli_measured *measured, struct out *out);
/*
 * For each set of tables: the load of every cable, and the load that routes between two leaves
 * meet.
 */
enum osr_status page_say_loads(const struct cli_measured *measured, struct out *out,
			       struct osr_diag *diag);
/*
 * The gain of one more cable beside the busiest one: engine i routes the fabric with it. The cable
 * is added to the net of run->in, which nothing may need any more. No row if no port is free or the
 * engine refuses.
 */
enum osr_status page_say_gain(struct cli_run *run, uint32_t i, const struct cli_measured *measured,
			      struct osr_diag *diag);

/* Everything that `out` has been told, in the page; OSR_INVAL: it cannot be written. */
enum osr_status page_write(const struct out *out, const char *path, struct osr_diag *diag);

#endif

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * page.h - `report`: one page about a set of tables, page.html with what `route` says in it as JSON. It draws
 * itself and needs no network. Its pictures need these sections besides.
 */
#ifndef OSR_CLI_PAGE_H
#define OSR_CLI_PAGE_H

#include "cli/output.h"
#include "core/verify/verdict.h"

extern const struct out_field cli_page_answer_fields[], cli_page_place_fields[],
	cli_page_cable_fields[], cli_page_lane_fields[];

#define CLI_PAGE_SECTIONS                                                                          \
	{ "answers", OUT_ROWS, cli_page_answer_fields },                                           \
		{ "places", OUT_ROWS, cli_page_place_fields },                                     \
		{ "cables", OUT_ROWS, cli_page_cable_fields },                                     \
	{                                                                                          \
		"lanes", OUT_ROWS, cli_page_lane_fields                                            \
	}

/* Rows of these sections; `found` with figures. */
void cli_page_say(const struct osr_fabric *fabric, const struct osr_routing *routing,
		  const struct osr_findings *found, struct out *out);

/* UTC; of SOURCE_DATE_EPOCH, where pages are to be the same byte by byte. */
const char *cli_page_date(char buf[32]);

/* Everything that `out` has been told, in the page; OSR_INVAL: it cannot be written. */
enum osr_status cli_page_write(const struct out *out, const char *path, struct osr_diag *diag);

#endif

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * report.h - one page about one set of tables: what cmd_report.c collects, report_html.c says and
 * report_svg.c draws. The page stands alone: no script, no network, light and dark.
 */
#ifndef OSR_CLI_REPORT_H
#define OSR_CLI_REPORT_H

#include <stdio.h>

#include "cli/analysis.h"

#include "traffic/changes.h"

#define REPORT_WORST 20

/* Other tables of the same fabric, those of today for one. */
struct report_other {
	const char *name;
	const struct osr_routing *r;
	struct cli_analysis a;
	struct osr_changes changes; /* from them to those of the page */
};

struct report {
	const char *fabric_name, *tables_name;
	const struct osr_fabric *f;
	const struct osr_routing *r;
	const struct cli_analysis *a;
	const struct report_other *other; /* or NULL */
	struct osr_loads loads;
	uint64_t bound;              /* no routing has less on its busiest channel */
	const struct osr_loop *loop; /* of credits, to be drawn; NULL: none */
	uint8_t *level;              /* [n_switches] cables to the nearest switch with hosts */
	uint32_t n_levels;
	uint64_t vl_routes[OSR_MAX_VLS];       /* between hosts, by the VL of the first cable */
	uint32_t n_worst, worst[REPORT_WORST]; /* channels, the most loaded first */
	uint32_t n_bisections;
	uint64_t seed;
	const char *command; /* that made the page */
	char date[32];
};

#define REPORT_WIDTH 960.0 /* of a picture, in units of its view box */

struct report_place {
	double x, y;
};

struct report_picture {
	struct report_place *at; /* [n_switches] */
	double height;
	bool rows; /* of a tree */
	const char *caption;
};

/* report_place.c: false if memory ran out. */
bool report_place(const struct report *p, struct osr_arena *arena, struct report_picture *pic);

/* The whole page; errors of the stream are the caller's to look for. */
void report_page(const struct report *p, FILE *out);

/* <svg> elements. */
void report_draw_fabric(const struct report *p, const struct report_picture *pic, FILE *out);
void report_draw_loads(const struct report *p, FILE *out);
void report_draw_levels(const struct report *p, FILE *out);
void report_draw_bars(const char *const *labels, const uint64_t *values, uint32_t n,
		      const char *unit, FILE *out);

/* Text with the characters that HTML gives a meaning written as entities; good until the eighth call after it. */
const char *report_text(const char *text);

#endif

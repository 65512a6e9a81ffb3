/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "cli/page.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <osmroutes/pgft.h>
#include <osmroutes/product.h>

#include "cli/cli.h"
#include "page_html.h"

const struct out_field cli_page_answer_fields[] = {
	{ "question", NULL, OUT_TEXT },
	{ "answer", NULL, OUT_TEXT },
	{ "why", NULL, OUT_TEXT },
	{ 0 },
};

const struct out_field cli_page_place_fields[] = {
	{ "name", NULL, OUT_TEXT },
	{ "guid", NULL, OUT_GUID },
	{ "hosts", NULL, OUT_COUNT },
	{ "tree", NULL, OUT_COUNT }, /* of a fat tree: pgft.h */
	{ "a", NULL, OUT_COUNT },
	{ "b", NULL, OUT_COUNT },
	{ "at", NULL, OUT_TEXT }, /* coordinates in a torus, mesh or HyperX */
	{ 0 },
};

const struct out_field cli_page_cable_fields[] = {
	{ "from", NULL, OUT_COUNT }, /* index of the switch */
	{ "from_port", NULL, OUT_COUNT },   { "to", NULL, OUT_COUNT },
	{ "to_port", NULL, OUT_COUNT },     { "routes", NULL, OUT_COUNT },
	{ "routes_back", NULL, OUT_COUNT }, { 0 },
};

const struct out_field cli_page_lane_fields[] = {
	{ "vl", NULL, OUT_COUNT },
	{ "routes", NULL, OUT_COUNT },
	{ 0 },
};

/* The place of each switch in a fat tree, or in a torus, mesh or HyperX; nothing elsewhere. */
static void say_switches(const struct osr_fabric *f, struct osr_arena *arena, struct out *out)
{
	struct osr_pgft tree;
	struct osr_product product;
	struct osr_diag diag;
	bool is_tree = !osr_pgft_find(f, &(struct osr_pgft_options){ .max_missing = 30 }, arena,
				      &tree, &diag);
	bool is_product = !osr_product_find(f, arena, &product, &diag) && product.n_dims > 1 &&
			  product.n_placed == f->n_switches;

	for (uint32_t v = 0; v < f->n_switches; v++) {
		char text[8 * OSR_MAX_DIMS] = "";
		size_t n = 0;

		OUT_ADD(out, "places", osr_switch_name(f, v, text), f->sw_guid[v],
			f->sw_sources[v]);
		if (is_tree && tree.sw_level[v]) {
			out_count(out, "tree", tree.sw_tree[v]);
			out_count(out, "a", tree.sw_a[v]);
			out_count(out, "b", tree.sw_b[v]);
		}
		for (uint32_t i = 0; is_product && i < product.n_dims; i++)
			n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%u", i ? "," : "",
					      osr_product_coord(&product, v)[i]);
		if (is_product)
			out_text(out, "at", text);
	}
}

/* The lane on which a packet of this SL leaves the switch of its host. */
static uint8_t first_vl(const struct osr_routing *routing, const struct osr_fabric *f, uint32_t v,
			uint32_t d, uint8_t sl)
{
	uint32_t port = osr_lft(routing, v, d), row = f->term_row[v];

	if (!routing->sl2vl)
		return sl;
	/* By the port that the first host hangs on; hosts of a switch share their lanes. */
	while (row + 1 < f->term_row[v + 1] && f->term_role[row] == OSR_ROLE_SP0)
		row++;
	return routing->sl2vl[routing->sl2vl_row[v] +
			      f->term_port[row] * ((uint32_t)f->sw_n_ports[v] + 1) + port][sl];
}

/* Routes between hosts, by the VL of the first cable. */
static void say_lanes(const struct osr_fabric *f, const struct osr_routing *routing,
		      struct out *out)
{
	uint64_t routes[OSR_MAX_VLS] = { 0 };

	for (uint32_t d = 0; routing->sl && d < f->n_dests; d++)
		for (uint32_t v = 0; v < f->n_switches && f->term_weight[f->dest_term[d]]; v++) {
			uint8_t vl = OSR_MAX_VLS;

			if (v != f->dest_switch[d] && f->sw_sources[v] &&
			    osr_lft(routing, v, d) != OSR_NO_PATH)
				vl = first_vl(routing, f, v, d,
					      routing->sl[(size_t)d * f->n_switches + v]);
			if (vl < OSR_MAX_VLS)
				routes[vl] += f->sw_sources[v];
		}
	for (uint32_t vl = 0; routing->sl && vl < routing->n_vls; vl++) {
		OUT_ADD(out, "lanes", vl, routes[vl]);
	}
}

void cli_page_say(const struct osr_fabric *f, const struct osr_routing *routing,
		  const struct osr_findings *found, struct out *out)
{
	const uint64_t *load = found->audit.load;
	struct osr_arena arena = { 0 };

	for (unsigned q = 0; q < OSR_N_QUESTIONS; q++)
		if (found->applies >> q & 1)
			OUT_ADD(out, "answers", osr_question_name((enum osr_question)q),
				osr_answer_name(found->on[q].answer), found->on[q].why);
	say_switches(f, &arena, out);
	for (uint32_t c = 0; c < f->n_channels; c++)
		if (c <= f->chan_rev[c])
			OUT_ADD(out, "cables", f->chan_src[c], f->chan_port[c], f->chan_dst[c],
				f->chan_port[f->chan_rev[c]], load[c], load[f->chan_rev[c]]);
	say_lanes(f, routing, out);
	osr_arena_free(&arena);
}

const char *cli_page_date(char buf[32])
{
	const char *epoch = getenv("SOURCE_DATE_EPOCH");
	time_t now = epoch ? (time_t)strtoll(epoch, NULL, 10) : time(NULL);
	struct tm utc;

	buf[0] = '\0';
	if (gmtime_r(&now, &utc))
		strftime(buf, 32, "%Y-%m-%d %H:%M UTC", &utc);
	return buf;
}

enum osr_status cli_page_write(const struct out *out, const char *path, struct osr_diag *diag)
{
	const char *place = strstr(page, "@;");
	char *json = out_json(out);
	FILE *file = cli_create(path);

	if (!json)
		return osr_fail(diag, OSR_NOMEM, "out of memory for the page");
	if (file) {
		fwrite(page, 1, (size_t)(place - page), file);
		/* Names are data: none of them can end the script. */
		for (const char *c = json; *c; c++)
			if (*c == '<')
				fputs("\\u003c", file);
			else
				fputc(*c, file);
		fputs(place + 1, file);
	}
	free(json);
	return cli_written(file, path, diag);
}

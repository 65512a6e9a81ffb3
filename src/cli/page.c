/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "cli/page.h"

#include <stdlib.h>
#include <string.h>

#include <osmroutes/each.h>
#include <osmroutes/product.h>

#include "core/verify/follow.h"
#include "page_html.h"

/*
 * With more leaves there is no map of them: it would be most of the page, and finer than a screen.
 */
#define MAX_LEAVES 700

const struct out_field page_answer_fields[] = {
	{ "question", NULL, OUT_TEXT },
	{ "answer", NULL, OUT_TEXT },
	{ "why", NULL, OUT_TEXT },
	{ 0 },
};

const struct out_field page_place_fields[] = {
	{ "name", NULL, OUT_TEXT },
	{ "guid", NULL, OUT_GUID },
	{ "hosts", NULL, OUT_COUNT },
	{ "at", NULL, OUT_TEXT }, /* coordinates in a torus, mesh or HyperX */
	{ 0 },
};

const struct out_field page_cable_fields[] = {
	{ "from", NULL, OUT_COUNT }, /* index of the switch */
	{ "from_port", NULL, OUT_COUNT }, { "to", NULL, OUT_COUNT },
	{ "to_port", NULL, OUT_COUNT },   { 0 },
};

const struct out_field page_load_fields[] = {
	{ "tables", NULL, OUT_TEXT },  { "cable", NULL, OUT_COUNT }, /* index */
	{ "routes", NULL, OUT_COUNT }, { "routes_back", NULL, OUT_COUNT }, { 0 },
};

const struct out_field page_way_fields[] = {
	{ "tables", NULL, OUT_TEXT },
	{ "from", NULL, OUT_COUNT },  /* index of the switch */
	{ "routes", NULL, OUT_TEXT }, /* to each switch with end ports */
	{ 0 },
};

const struct out_field page_gain_fields[] = {
	{ "from", NULL, OUT_COUNT },    { "to", NULL, OUT_COUNT },
	{ "efi", NULL, OUT_COUNT },     { "next_from", NULL, OUT_COUNT },
	{ "next_to", NULL, OUT_COUNT }, { 0 },
};

const struct out_field page_lane_fields[] = {
	{ "vl", NULL, OUT_COUNT },
	{ "routes", NULL, OUT_COUNT },
	{ 0 },
};

/* ---- the first tables ------------------------------------------------------------------------ */

/* The place of each switch in a torus, mesh or HyperX; nothing elsewhere. */
static void say_switches(const struct osr_fabric *fabric, struct osr_arena *arena, struct out *out)
{
	struct osr_product product;
	struct osr_diag diag;
	bool is_product = !osr_product_find(fabric, arena, &product, &diag) && product.n_dims > 1 &&
			  product.n_placed == fabric->n_switches;

	OSR_EACH_SWITCH(v, fabric) {
		char text[8 * OSR_MAX_DIMS] = "";
		size_t n = 0;

		OUT_ADD(out, "places", osr_switch_name(fabric, v, text), fabric->sw_guid[v],
			fabric->sw_sources[v]);
		for (uint32_t i = 0; is_product && i < product.n_dims; i++)
			n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%u", i ? "," : "",
					      osr_product_coord(&product, v)[i]);
		if (is_product)
			out_text(out, "at", text);
	}
}

/*
 * Routes between hosts, by the VL of the first cable: as the first host of each switch sends, for
 * they share their lanes.
 */
static void say_lanes(const struct osr_fabric *fabric, const struct osr_routing *routing,
		      struct out *out)
{
	uint64_t routes[OSR_MAX_VLS] = { 0 };

	for (uint32_t v = 0; routing->sl && v < fabric->n_switches; v++) {
		uint32_t row = fabric->term_row[v];

		while (row + 1 < fabric->term_row[v + 1] && fabric->term_role[row] == OSR_ROLE_SP0)
			row++;
		for (uint32_t d = 0; d < fabric->n_dests && fabric->sw_sources[v]; d++) {
			uint8_t port = osr_lft(routing, v, d), vl;

			if (v == fabric->dest_switch[d] || port == OSR_NO_PATH ||
			    !fabric->term_weight[fabric->dest_term[d]])
				continue;
			vl = cli_gen_sl2vl(routing, fabric, v, fabric->term_port[row],
					   port)[routing->sl[(size_t)d * fabric->n_switches + v]];
			if (vl < OSR_MAX_VLS)
				routes[vl] += fabric->sw_sources[v];
		}
	}
	for (uint32_t vl = 0; routing->sl && vl < routing->n_vls; vl++)
		OUT_ADD(out, "lanes", vl, routes[vl]);
}

void page_say_first(const struct cli_measured *measured, struct out *out)
{
	const struct osr_fabric *fabric = measured->fabric;
	const struct osr_findings *found = &measured->found.hosts;
	struct osr_arena arena = { 0 };

	for (unsigned q = 0; q < OSR_N_QUESTIONS; q++)
		if (found->applies >> q & 1)
			OUT_ADD(out, "answers", osr_question_name((enum osr_question)q),
				osr_answer_name(found->on[q].answer), found->on[q].why);
	say_switches(fabric, &arena, out);
	OSR_EVERY_CHANNEL(c, fabric)
		if (c <= fabric->chan_rev[c])
			OUT_ADD(out, "cables", fabric->chan_src[c], fabric->chan_port[c],
				fabric->chan_dst[c], fabric->chan_port[fabric->chan_rev[c]]);
	say_lanes(fabric, &measured->tables.routing, out);
	osr_arena_free(&arena);
}

/* ---- loads ----------------------------------------------------------------------------------- */

/*
 * Routes to one LID by the switch that sends: their sum, and how many there are, in rows of
 * n_switches.
 */
struct ways {
	uint64_t *sum;
	uint32_t *n;
	uint64_t *most; /* [n_switches] on the way to this LID; OSR_NO_WAY */
};

#define OSR_NO_WAY UINT64_MAX

/* The load of the busiest channel on each way to dest `d`, added where this LID's leaf is. */
static void add_ways(struct osr_follow *follow, const uint64_t *load, uint32_t d, struct ways *ways)
{
	const struct osr_fabric *fabric = follow->fabric;
	uint32_t leaf = fabric->dest_switch[d];

	OSR_EACH_SWITCH(v, fabric)
		ways->most[v] = OSR_NO_WAY;
	osr_follow_load(follow, d);
	/* From the LID's own switch backwards; what is not in the order never arrives. */
	for (uint32_t i = osr_follow_order(follow); i-- > 0;) {
		uint32_t v = follow->order[i], c = follow->out[0][v];
		size_t at = (size_t)v * fabric->n_switches + leaf;
		uint64_t rest;

		if (v == leaf) {
			ways->most[v] = 0;
			continue;
		}
		rest = c == OSR_NONE ? OSR_NO_WAY : ways->most[fabric->chan_dst[c]];
		if (rest == OSR_NO_WAY)
			continue;
		ways->most[v] = rest > load[c] ? rest : load[c];
		ways->sum[at] += ways->most[v];
		ways->n[at]++;
	}
}

/*
 * For the map of the leaves: of the routes between two of them, the mean load of the busiest
 * channel on the way.
 */
static enum osr_status say_ways(const struct cli_measured *measured, struct out *out,
				struct osr_diag *diag)
{
	const struct osr_fabric *fabric = measured->fabric;
	size_t n = fabric->n_switches;
	struct osr_arena scratch = { 0 };
	struct osr_follow follow = { .fabric = fabric, .gen = &measured->tables.gen, .n = 1 };
	struct ways ways;
	enum osr_status st = osr_follow_init(&follow, &scratch, diag);
	char *text;

	ways.sum = osr_calloc(&scratch, n * n, sizeof(*ways.sum));
	ways.n = osr_calloc(&scratch, n * n, sizeof(*ways.n));
	ways.most = osr_alloc(&scratch, n, sizeof(*ways.most));
	text = osr_alloc(&scratch, n, 22);
	if (!st && osr_arena_failed(&scratch, diag))
		st = OSR_NOMEM;
	for (uint32_t d = 0; d < fabric->n_dests && !st; d++) {
		uint32_t term = fabric->dest_term[d];

		if (fabric->term_weight[term] && fabric->dest_lid[d] == fabric->term_lid[term])
			add_ways(&follow, measured->found.all.audit.load, d, &ways);
	}
	for (uint32_t v = 0; v < n && !st; v++) {
		size_t used = 0;

		if (!fabric->sw_sources[v])
			continue;
		for (uint32_t w = 0; w < n; w++) {
			uint64_t routes = ways.n[v * n + w];

			if (!fabric->sw_sources[w])
				continue;
			/* The first comma is left out below. */
			text[used++] = ',';
			text[used] = 0;
			if (routes)
				used += (size_t)sprintf(
					text + used, "%llu",
					(unsigned long long)(ways.sum[v * n + w] / routes));
		}
		OUT_ADD(out, "ways", measured->name, v, text + 1);
	}
	osr_arena_free(&scratch);
	return st;
}

enum osr_status page_say_loads(const struct cli_measured *measured, struct out *out,
			       struct osr_diag *diag)
{
	const struct osr_fabric *fabric = measured->fabric;
	const uint64_t *load = measured->found.all.audit.load;
	uint32_t n_cables = 0, n_leaves = 0;

	OSR_EVERY_CHANNEL(c, fabric)
		if (c <= fabric->chan_rev[c])
			OUT_ADD(out, "loads", measured->name, n_cables++, load[c],
				load[fabric->chan_rev[c]]);
	OSR_EACH_SWITCH(v, fabric)
		n_leaves += fabric->sw_sources[v] > 0;
	return n_leaves > MAX_LEAVES ? OSR_OK : say_ways(measured, out, diag);
}

/* ---- one more cable -------------------------------------------------------------------------- */

/* A port of this switch without a cable, OSR_NONE. */
static uint32_t free_port(const struct osr_net *net, uint64_t guid)
{
	for (uint32_t i = 0; i < net->n_nodes; i++) {
		const struct osr_net_node *node = &net->nodes[i];

		if (node->type != OSR_NET_SWITCH || node->guid != guid)
			continue;
		for (uint32_t p = node->port_row + 1; p <= node->port_row + node->n_ports; p++)
			if (net->ports[p].peer == OSR_NONE)
				return p;
	}
	return OSR_NONE;
}

static uint32_t busiest(const struct osr_fabric *fabric, const uint64_t *load)
{
	uint32_t most = 0;

	for (uint32_t c = 1; c < fabric->n_channels; c++)
		if (load[c] > load[most])
			most = c;
	return most;
}

/* The cable of channel c once more, between free ports. */
static bool add_cable(struct osr_net *net, const struct osr_fabric *fabric, uint32_t c)
{
	uint32_t from = free_port(net, fabric->sw_guid[fabric->chan_src[c]]);
	uint32_t to = free_port(net, fabric->sw_guid[fabric->chan_dst[c]]);
	uint8_t width, speed;

	for (uint32_t p = 0; p < net->n_ports && from != OSR_NONE && to != OSR_NONE; p++)
		if (net->nodes[net->ports[p].node].guid == fabric->sw_guid[fabric->chan_src[c]] &&
		    osr_net_is_switch(net, net->ports[p].node) &&
		    osr_net_port_num(net, p) == fabric->chan_port[c]) {
			osr_net_link_rate(net, p, &width, &speed);
			osr_net_cable(net, from, to, width, speed);
			return true;
		}
	return false;
}

enum osr_status page_say_gain(struct cli_run *run, uint32_t i, const struct cli_measured *measured,
			      struct osr_diag *diag)
{
	struct osr_arena arena = { 0 }, scratch = { 0 };
	struct osr_fabric fabric;
	struct osr_audit audit;
	struct cli_tables tables;
	enum osr_status st;
	uint32_t here, next;

	if (!run->who.item[i].engine || !measured->fabric->n_channels)
		return OSR_OK;
	here = busiest(measured->fabric, measured->found.all.audit.load);
	if (!add_cable(&run->in.net, measured->fabric, here))
		return OSR_OK;
	st = osr_net_fabric(&run->in.net, -1, &arena, &fabric, diag);
	if (st) {
		osr_arena_free(&arena);
		return st;
	}
	cli_tables_make(&run->who, i, &fabric, NULL, &tables);
	if (!tables.st)
		st = osr_audit(&fabric, &tables.gen, OSR_ONLY_ROUTES, 0, &scratch, &arena, &audit,
			       diag);
	if (!tables.st && !st) {
		next = busiest(&fabric, audit.load);
		OUT_ADD(&run->out, "gain", measured->fabric->chan_src[here],
			measured->fabric->chan_dst[here], audit.efi, fabric.chan_src[next],
			fabric.chan_dst[next]);
	}
	cli_tables_free(&tables);
	osr_arena_free(&scratch);
	osr_arena_free(&arena);
	return st;
}

/* ---- the file -------------------------------------------------------------------------------- */

enum osr_status page_write(const struct out *out, const char *path, struct osr_diag *diag)
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

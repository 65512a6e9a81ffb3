/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * osr-readback: what the switches of a fabric were really programmed with, as JSON on stdout.
 *
 *	ibsim-run osr-readback [lft] [sl2vl] [vlarb] [mft]	(default: all of them)
 *	ibsim-run osr-readback --serve ...	the same again for every line on stdin
 *
 * Tables are hexadecimal strings: a forwarding table has two digits per LID, an SL2VL table one per
 * SL. The SL2VL tables of a switch are mostly equal: "common" is one of them and "others" lists
 * the (in port, out port, table) that differ, for the ports in "ports".
 */
#include <inttypes.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <osmroutes/arena.h>

#include "live.h"

static json_t *hex_json(const uint8_t *bytes, size_t n)
{
	char text[2 * n + 1];

	for (size_t i = 0; i < n; i++)
		sprintf(text + 2 * i, "%02x", bytes[i]);
	return json_stringn(text, 2 * n);
}

static json_t *guid_json(uint64_t guid)
{
	return json_sprintf("0x%016" PRIx64, guid);
}

static json_t *arb_json(uint8_t (*table)[2], unsigned n)
{
	json_t *list = json_array();

	for (unsigned i = 0; i < n; i++)
		json_array_append_new(list, json_pack("[ii]", table[i][0], table[i][1]));
	return list;
}

static json_t *port_json(const struct osr_live *live, const struct osr_live_port *port,
			 unsigned number)
{
	json_t *j = json_pack("{si so si si si si si si si si si}", "port", number, "guid",
			      guid_json(port->guid), "lid", port->lid, "lmc", port->lmc, "state",
			      port->state, "vl_cap", port->vl_cap, "op_vls", port->op_vls, "smsl",
			      port->smsl, "width", port->width, "speed", port->speed, "speed_ext",
			      port->speed_ext);

	if (port->peer != OSR_LIVE_NONE) {
		json_object_set_new(j, "peer", guid_json(live->nodes[port->peer].guid));
		json_object_set_new(j, "peer_port", json_integer(port->peer_port));
	}
	if (port->arb_low) {
		json_object_set_new(j, "arb_low", arb_json(port->arb_low, port->arb_low_size));
		json_object_set_new(j, "arb_high", arb_json(port->arb_high, port->arb_high_size));
	}
	return j;
}

/* The table of the last pair of ports is that of most. */
static json_t *switch_sl2vl_json(const struct osr_live_node *node)
{
	unsigned width = node->n_ports + 1, n_up = 0;
	json_t *ports = json_array(), *others = json_array();
	uint8_t common[8] = { 0 }, up[256];

	for (unsigned p = 0; p < width; p++)
		if (osr_live_port_up(node, p)) {
			up[n_up++] = p;
			memcpy(common, node->sl2vl[p * width + p], 8);
			json_array_append_new(ports, json_integer(p));
		}
	for (unsigned i = 0; i < n_up; i++)
		for (unsigned o = 0; o < n_up; o++) {
			const uint8_t *table = node->sl2vl[up[i] * width + up[o]];

			if (memcmp(table, common, 8))
				json_array_append_new(others, json_pack("[iio]", up[i], up[o],
									hex_json(table, 8)));
		}
	return json_pack("{so so so}", "ports", ports, "common", hex_json(common, 8), "others",
			 others);
}

static json_t *mft_json(const struct osr_live_node *node)
{
	json_t *j = json_object();
	char key[8];

	for (unsigned m = 0; m < node->n_mlids; m++) {
		json_t *ports = json_array();

		for (unsigned p = 0; p <= node->n_ports; p++)
			if (node->mft[m][p / 64] >> (p % 64) & 1)
				json_array_append_new(ports, json_integer(p));
		snprintf(key, sizeof(key), "%u", 0xc000 + m);
		if (json_array_size(ports))
			json_object_set(j, key, ports);
		json_decref(ports);
	}
	return j;
}

static const char *const type_names[] = { "?", "ca", "switch", "router" };

static json_t *node_json(const struct osr_live *live, const struct osr_live_node *node)
{
	json_t *ports = json_array(), *tables;
	char key[8];
	json_t *j = json_pack("{so ss so si sb so}", "guid", guid_json(node->guid), "type",
			      type_names[node->type <= 3 ? node->type : 0], "name",
			      json_stringn_nocheck(node->name, strlen(node->name)), "n_ports",
			      node->n_ports, "enhanced_sp0", node->enhanced_sp0, "ports", ports);

	for (unsigned p = 0; p <= node->n_ports; p++)
		if (node->ports[p].known || (p == 0 && node->type == OSR_LIVE_SWITCH))
			json_array_append_new(ports, port_json(live, &node->ports[p], p));
	if (node->lft)
		json_object_set_new(j, "lft", hex_json(node->lft, node->lft_top + 1));
	if (node->mft)
		json_object_set_new(j, "mft", mft_json(node));
	if (!node->sl2vl)
		return j;
	tables = node->type == OSR_LIVE_SWITCH ? switch_sl2vl_json(node) : json_object();
	for (unsigned p = 1; node->type != OSR_LIVE_SWITCH && p <= node->n_ports; p++)
		if (osr_live_port_up(node, p)) {
			snprintf(key, sizeof(key), "%u", p);
			json_object_set_new(tables, key, hex_json(node->sl2vl[p], 8));
		}
	json_object_set_new(j, "sl2vl", tables);
	return j;
}

static int read_once(const struct osr_live_ask *ask)
{
	struct osr_arena arena = { 0 };
	struct osr_live live;
	struct osr_diag diag;
	json_t *nodes, *j;
	int st;

	if (osr_live_read(&live, ask, &arena, &diag)) {
		fprintf(stderr, "osr-readback: %s\n", diag.text);
		osr_arena_free(&arena);
		return 2;
	}
	if (live.n_failed)
		fprintf(stderr,
			"osr-readback: %" PRIu64 " of %" PRIu64 " requests failed, first: %s\n",
			live.n_failed, live.n_requests, live.first_failure);
	nodes = json_array();
	j = json_pack("{so sI sI so}", "from", guid_json(live.nodes[live.from].guid), "n_requests",
		      (json_int_t)live.n_requests, "n_failed", (json_int_t)live.n_failed, "nodes",
		      nodes);
	for (uint32_t i = 0; i < live.n_nodes; i++)
		json_array_append_new(nodes, node_json(&live, &live.nodes[i]));
	st = json_dumpf(j, stdout, JSON_COMPACT);
	putchar('\n');
	json_decref(j);
	osr_arena_free(&arena);
	return st || ferror(stdout) ? 1 : 0;
}

int main(int argc, char **argv)
{
	bool serves = argc > 1 && !strcmp(argv[1], "--serve"), all = argc == 1 + serves;
	struct osr_live_ask ask = { .lft = all, .sl2vl = all, .vlarb = all };

	ask.n_mlids = all ? UINT32_MAX : 0;
	for (int i = 1 + serves; i < argc; i++) {
		if (!strcmp(argv[i], "lft"))
			ask.lft = true;
		else if (!strcmp(argv[i], "sl2vl"))
			ask.sl2vl = true;
		else if (!strcmp(argv[i], "vlarb"))
			ask.vlarb = true;
		else if (!strcmp(argv[i], "mft"))
			ask.n_mlids = UINT32_MAX;
		else
			return 2;
	}
	if (!serves)
		return read_once(&ask);
	/* One line of output for every line of input: empty if the fabric could not be read. */
	for (int c; (c = getchar()) != EOF;) {
		if (c != '\n')
			continue;
		if (read_once(&ask))
			putchar('\n');
		if (fflush(stdout))
			return 1;
	}
	return 0;
}

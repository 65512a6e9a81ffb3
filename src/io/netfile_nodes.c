/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Node headers, and how nodes are found by their ids: a hash table, a constant per line. */
#include "io/netfile_private.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

/* ---- node ids ------------------------------------------------------------------------------- */

/* The slot of this id: it holds the node, or OSR_NONE if there is no such node. */
uint32_t *osr__netfile_slot(const struct osr__netfile *netfile, const char *id, size_t len)
{
	uint32_t mask = netfile->table_size - 1;
	uint32_t i = (uint32_t)XXH3_64bits(id, len) & mask;

	while (netfile->table[i] != OSR_NONE) {
		const char *have = osr_net_id(netfile->net, netfile->table[i]);

		if (strlen(have) == len && !memcmp(have, id, len))
			break;
		i = (i + 1) & mask;
	}
	return &netfile->table[i];
}

/* Doubling keeps the table at most half full: a probe ends after a step or two. */
bool osr__netfile_resize(struct osr__netfile *netfile, uint32_t size)
{
	uint32_t *table = malloc(size * sizeof(*table));

	if (!table)
		return false;
	memset(table, 0xff, size * sizeof(*table));
	free(netfile->table);
	netfile->table = table;
	netfile->table_size = size;
	for (uint32_t i = 0; i < netfile->net->n_nodes; i++) {
		const char *id = osr_net_id(netfile->net, i);

		*osr__netfile_slot(netfile, id, strlen(id)) = i;
	}
	return true;
}

/* An id with the module prefix in force, as ibsim composes it: prefix#id. */
bool osr__netfile_full_id(const struct osr__netfile *netfile, uint32_t prefix, const char *id,
			  size_t len, char out[OSR__MAX_ID + 1])
{
	int n;

	if (len == 0 || len > OSR__MAX_ID)
		return false;
	if (prefix && !memchr(id, '#', len))
		n = snprintf(out, OSR__MAX_ID + 1, "%s#%.*s", netfile->net->names + prefix,
			     (int)len, id);
	else
		n = snprintf(out, OSR__MAX_ID + 1, "%.*s", (int)len, id);
	return n > 0 && n <= OSR__MAX_ID;
}

/* ---- node headers --------------------------------------------------------------------------- */

/* Node type of a header line; span then starts behind the word. */
bool osr__netfile_node_type(struct osr__span *span, enum osr_net_type *type)
{
	static const struct {
		const char *word;
		enum osr_net_type type;
	} words[] = {
		{ "Switch", OSR_NET_SWITCH },
		{ "Hca", OSR_NET_CA },
		{ "Ca", OSR_NET_CA },
		{ "Rt", OSR_NET_ROUTER },
	};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		struct osr__span rest = *span;

		if (!osr__span_starts_with(*span, words[i].word))
			continue;
		rest.at += strlen(words[i].word);
		if (rest.at == rest.end || !osr__is_blank(*rest.at))
			continue;
		*span = rest;
		*type = words[i].type;
		return true;
	}
	return false;
}

/* Grows far and node_line along with the net; new entries are zero. */
static bool grow_notes(struct osr__netfile *netfile)
{
	if (netfile->far_room < netfile->net->ports_room) {
		struct osr__far_end *far =
			reallocarray(netfile->far, netfile->net->ports_room, sizeof(*far));

		if (!far)
			return false;
		memset(far + netfile->far_room, 0,
		       (netfile->net->ports_room - netfile->far_room) * sizeof(*far));
		netfile->far = far;
		netfile->far_room = netfile->net->ports_room;
	}
	if (netfile->node_line_room < netfile->net->nodes_room) {
		uint32_t *lines =
			reallocarray(netfile->node_line, netfile->net->nodes_room, sizeof(*lines));

		if (!lines)
			return false;
		netfile->node_line = lines;
		netfile->node_line_room = netfile->net->nodes_room;
	}
	return netfile->net->n_nodes * 2 <= netfile->table_size ||
	       osr__netfile_resize(netfile, netfile->table_size * 2);
}

/*
 * The part behind '#': a quoted name, or an unquoted one up to the words that follow it.
 * span is left behind the name.
 */
static struct osr__span netfile_nodes_take_name(struct osr__span *span)
{
	static const char *const stop[] = { " enhanced port ", " base port ", " lid ", " lmc " };
	const char *quote;
	struct osr__span name;

	osr__span_skip_blanks(span);
	if (osr__span_quoted(span, &name))
		return name;
	name = *span;
	/* A lone quote cannot be part of a name: nobody could write it back. */
	quote = memchr(name.at, '"', (size_t)(name.end - name.at));
	name.end = quote ? quote : name.end;
	for (size_t i = 0; i < sizeof(stop) / sizeof(stop[0]); i++) {
		const char *at = osr__span_find(name, stop[i]);

		if (at)
			name.end = at;
	}
	while (name.end > name.at && osr__is_blank(name.end[-1]))
		name.end--;
	span->at = name.end;
	return name;
}

/*
 * "lid 9 lmc 0" in what may hold nothing of the kind. A number that is there must be a legal one:
 * a LID that is silently 0 would make the end port vanish from the fabric.
 */
enum osr_status osr__netfile_lid(struct osr__netfile *netfile, struct osr__span span, uint32_t port)
{
	uint64_t lid = 0, lmc = 0;
	bool bad_lid = false, bad_lmc = false;

	osr__span_number_after(span, "lid ", OSR_MAX_LID, &lid, &bad_lid);
	osr__span_number_after(span, "lmc ", 7, &lmc, &bad_lmc);
	if (bad_lid)
		return osr__netfile_fail(netfile, netfile->line, "a LID is a number up to %u",
					 OSR_MAX_LID);
	if (bad_lmc)
		return osr__netfile_fail(netfile, netfile->line, "an LMC is a number up to 7");
	netfile->net->ports[port].lid = (uint16_t)lid;
	netfile->net->ports[port].lmc = (uint8_t)lmc;
	return OSR_OK;
}

static enum osr_status parse_header_comment(struct osr__netfile *netfile, struct osr__span span)
{
	struct osr_net_node *node = &netfile->net->nodes[netfile->node];
	const char *hash = memchr(span.at, '#', (size_t)(span.end - span.at));
	struct osr__span name;

	if (!hash)
		return OSR_OK;
	span.at = hash + 1;
	name = netfile_nodes_take_name(&span);
	if (name.end > name.at) {
		uint32_t at =
			osr_net_description(netfile->net, name.at, (size_t)(name.end - name.at));

		if (at)
			node->name = at;
	}
	if (node->type != OSR_NET_SWITCH)
		return OSR_OK;
	node->enhanced_sp0 = osr__span_find(span, "enhanced port 0") != NULL;
	return osr__netfile_lid(netfile, span, node->port_row);
}

/*
 * One node for this header. vendid, devid and sysimgguid belong to the next node only; width, speed
 * and GUID bases stay in force, as in ibsim.
 */
static enum osr_status netfile_nodes_add_node(struct osr__netfile *netfile, enum osr_net_type type,
					      uint32_t n_ports, struct osr__span id)
{
	struct osr_net *net = netfile->net;
	char full[OSR__MAX_ID + 1];
	uint32_t *slot, node;

	if (!osr__netfile_full_id(netfile, netfile->prefix, id.at, (size_t)(id.end - id.at), full))
		return osr__netfile_fail(netfile, netfile->line, "a node id has 1 to %d characters",
					 OSR__MAX_ID);
	slot = osr__netfile_slot(netfile, full, strlen(full));
	if (*slot != OSR_NONE)
		return osr__netfile_fail(netfile, netfile->line,
					 "node \"%s\" was already described in line %" PRIu32, full,
					 netfile->node_line[*slot]);
	node = osr_net_node(net, type, n_ports, full);
	if (net->failed == OSR_INVAL)
		return osr__netfile_fail(netfile, netfile->line,
					 "more than %" PRIu32 " ports in all nodes together",
					 OSR_NET_MAX_PORTS);
	if (node == OSR_NONE)
		return osr__netfile_nomem(netfile);
	*slot = node;
	if (!grow_notes(netfile))
		return osr__netfile_nomem(netfile);
	netfile->node_line[node] = netfile->line;
	/*
	 * Without a base of its own for this type the node keeps the GUID that net.c counted for
	 * it.
	 */
	if (netfile->guid_set[type]) {
		osr_net_set_guid(netfile->net, node, netfile->guid_next[type]);
		netfile->guid_next[type] += type == OSR_NET_SWITCH ? 1 : n_ports + 1;
	}
	net->nodes[node].vendid = netfile->vendid;
	net->nodes[node].devid = netfile->devid;
	net->nodes[node].sysimg_guid = netfile->sysimg_guid;
	netfile->vendid = netfile->devid = 0;
	netfile->sysimg_guid = 0;
	for (uint32_t p = 1; p <= n_ports; p++) {
		struct osr_net_port *port = &net->ports[net->nodes[node].port_row + p];

		port->width = netfile->width;
		port->speed = osr__netfile_speed(netfile->speed, netfile->speed_ext);
		osr__netfile_assume_width(port);
	}
	netfile->node = node;
	return OSR_OK;
}

enum osr_status osr__netfile_header(struct osr__netfile *netfile, enum osr_net_type type,
				    struct osr__span span)
{
	enum osr_status st;
	uint64_t n_ports;
	struct osr__span id;

	osr__span_skip_blanks(&span);
	if (!osr__span_number(&span, OSR_NET_MAX_NODE_PORTS, &n_ports) || n_ports == 0)
		return osr__netfile_fail(netfile, netfile->line, "a node has 1 to %d ports",
					 OSR_NET_MAX_NODE_PORTS);
	osr__span_skip_blanks(&span);
	if (!osr__span_quoted(&span, &id))
		return osr__netfile_fail(netfile, netfile->line,
					 "expected the node's id in double quotes");
	st = netfile_nodes_add_node(netfile, type, (uint32_t)n_ports, id);
	return st ? st : parse_header_comment(netfile, span);
}

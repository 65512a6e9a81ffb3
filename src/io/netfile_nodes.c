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
uint32_t *osr__netfile_slot(const struct osr__netfile *r, const char *id, size_t len)
{
	uint32_t mask = r->table_size - 1;
	uint32_t i = (uint32_t)XXH3_64bits(id, len) & mask;

	while (r->table[i] != OSR_NONE) {
		const char *have = osr_net_id(r->net, r->table[i]);

		if (strlen(have) == len && !memcmp(have, id, len))
			break;
		i = (i + 1) & mask;
	}
	return &r->table[i];
}

/* Doubling keeps the table at most half full: a probe ends after a step or two. */
bool osr__netfile_resize(struct osr__netfile *r, uint32_t size)
{
	uint32_t *table = malloc(size * sizeof(*table));

	if (!table)
		return false;
	memset(table, 0xff, size * sizeof(*table));
	free(r->table);
	r->table = table;
	r->table_size = size;
	for (uint32_t i = 0; i < r->net->n_nodes; i++) {
		const char *id = osr_net_id(r->net, i);

		*osr__netfile_slot(r, id, strlen(id)) = i;
	}
	return true;
}

/* An id with the module prefix in force, as ibsim composes it: prefix#id. */
bool osr__netfile_full_id(const struct osr__netfile *r, uint32_t prefix, const char *id, size_t len,
			  char out[OSR__MAX_ID + 1])
{
	int n;

	if (len == 0 || len > OSR__MAX_ID)
		return false;
	if (prefix && !memchr(id, '#', len))
		n = snprintf(out, OSR__MAX_ID + 1, "%s#%.*s", r->net->names + prefix, (int)len, id);
	else
		n = snprintf(out, OSR__MAX_ID + 1, "%.*s", (int)len, id);
	return n > 0 && n <= OSR__MAX_ID;
}

/* ---- node headers --------------------------------------------------------------------------- */

/* Node type of a header line; s then starts behind the word. */
bool osr__netfile_node_type(struct osr__span *s, enum osr_net_type *type)
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
		struct osr__span rest = *s;

		if (!osr__span_starts_with(*s, words[i].word))
			continue;
		rest.at += strlen(words[i].word);
		if (rest.at == rest.end || !osr__is_blank(*rest.at))
			continue;
		*s = rest;
		*type = words[i].type;
		return true;
	}
	return false;
}

/* Grows far and node_line along with the net; new entries are zero. */
static bool grow_notes(struct osr__netfile *r)
{
	if (r->far_room < r->net->ports_room) {
		struct osr__far_end *far = reallocarray(r->far, r->net->ports_room, sizeof(*far));

		if (!far)
			return false;
		memset(far + r->far_room, 0, (r->net->ports_room - r->far_room) * sizeof(*far));
		r->far = far;
		r->far_room = r->net->ports_room;
	}
	if (r->node_line_room < r->net->nodes_room) {
		uint32_t *lines = reallocarray(r->node_line, r->net->nodes_room, sizeof(*lines));

		if (!lines)
			return false;
		r->node_line = lines;
		r->node_line_room = r->net->nodes_room;
	}
	return r->net->n_nodes * 2 <= r->table_size || osr__netfile_resize(r, r->table_size * 2);
}

/* Without a base of its own for this type the node keeps the GUID that net.c counted for it. */
static void give_guid(struct osr__netfile *r, enum osr_net_type type, uint32_t node,
		      uint32_t n_ports)
{
	if (!r->guid_set[type])
		return;
	osr_net_set_guid(r->net, node, r->guid_next[type]);
	r->guid_next[type] += type == OSR_NET_SWITCH ? 1 : n_ports + 1;
}

/*
 * The part behind '#': a quoted name, or an unquoted one up to the words that follow it.
 * s is left behind the name.
 */
static struct osr__span take_name(struct osr__span *s)
{
	static const char *const stop[] = { " enhanced port ", " base port ", " lid ", " lmc " };
	const char *quote;
	struct osr__span name;

	osr__span_skip_blanks(s);
	if (osr__span_quoted(s, &name))
		return name;
	name = *s;
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
	s->at = name.end;
	return name;
}

/*
 * "lid 9 lmc 0" in what may hold nothing of the kind. A number that is there must be a legal one:
 * a LID that is silently 0 would make the end port vanish from the fabric.
 */
enum osr_status osr__netfile_lid(struct osr__netfile *r, struct osr__span s, uint32_t port)
{
	uint64_t lid = 0, lmc = 0;
	bool bad_lid = false, bad_lmc = false;

	osr__span_number_after(s, "lid ", OSR_MAX_LID, &lid, &bad_lid);
	osr__span_number_after(s, "lmc ", 7, &lmc, &bad_lmc);
	if (bad_lid)
		return osr__netfile_fail(r, r->line, "a LID is a number up to %u", OSR_MAX_LID);
	if (bad_lmc)
		return osr__netfile_fail(r, r->line, "an LMC is a number up to 7");
	r->net->ports[port].lid = (uint16_t)lid;
	r->net->ports[port].lmc = (uint8_t)lmc;
	return OSR_OK;
}

static enum osr_status parse_header_comment(struct osr__netfile *r, struct osr__span s)
{
	struct osr_net_node *node = &r->net->nodes[r->node];
	const char *hash = memchr(s.at, '#', (size_t)(s.end - s.at));
	struct osr__span name;

	if (!hash)
		return OSR_OK;
	s.at = hash + 1;
	name = take_name(&s);
	if (name.end > name.at) {
		uint32_t at = osr_net_description(r->net, name.at, (size_t)(name.end - name.at));

		if (at)
			node->name = at;
	}
	if (node->type != OSR_NET_SWITCH)
		return OSR_OK;
	node->enhanced_sp0 = osr__span_find(s, "enhanced port 0") != NULL;
	return osr__netfile_lid(r, s, node->port_row);
}

/*
 * One node for this header. vendid, devid and sysimgguid belong to the next node only; width, speed
 * and GUID bases stay in force, as in ibsim.
 */
static enum osr_status add_node(struct osr__netfile *r, enum osr_net_type type, uint32_t n_ports,
				struct osr__span id)
{
	struct osr_net *net = r->net;
	char full[OSR__MAX_ID + 1];
	uint32_t *slot, node;

	if (!osr__netfile_full_id(r, r->prefix, id.at, (size_t)(id.end - id.at), full))
		return osr__netfile_fail(r, r->line, "a node id has 1 to %d characters",
					 OSR__MAX_ID);
	slot = osr__netfile_slot(r, full, strlen(full));
	if (*slot != OSR_NONE)
		return osr__netfile_fail(r, r->line,
					 "node \"%s\" was already described in line %" PRIu32, full,
					 r->node_line[*slot]);
	node = osr_net_node(net, type, n_ports, full);
	if (net->failed == OSR_INVAL)
		return osr__netfile_fail(r, r->line,
					 "more than %" PRIu32 " ports in all nodes together",
					 OSR_NET_MAX_PORTS);
	if (node == OSR_NONE)
		return osr__netfile_nomem(r);
	*slot = node;
	if (!grow_notes(r))
		return osr__netfile_nomem(r);
	r->node_line[node] = r->line;
	give_guid(r, type, node, n_ports);
	net->nodes[node].vendid = r->vendid;
	net->nodes[node].devid = r->devid;
	net->nodes[node].sysimg_guid = r->sysimg_guid;
	r->vendid = r->devid = 0;
	r->sysimg_guid = 0;
	for (uint32_t p = 1; p <= n_ports; p++) {
		struct osr_net_port *port = &net->ports[net->nodes[node].port_row + p];

		port->width = r->width;
		port->speed = osr__netfile_speed(r->speed, r->speed_ext);
		osr__netfile_assume_width(port);
	}
	r->node = node;
	return OSR_OK;
}

enum osr_status osr__netfile_header(struct osr__netfile *r, enum osr_net_type type,
				    struct osr__span s)
{
	enum osr_status st;
	uint64_t n_ports;
	struct osr__span id;

	osr__span_skip_blanks(&s);
	if (!osr__span_number(&s, OSR_NET_MAX_NODE_PORTS, &n_ports) || n_ports == 0)
		return osr__netfile_fail(r, r->line, "a node has 1 to %d ports",
					 OSR_NET_MAX_NODE_PORTS);
	osr__span_skip_blanks(&s);
	if (!osr__span_quoted(&s, &id))
		return osr__netfile_fail(r, r->line, "expected the node's id in double quotes");
	st = add_node(r, type, (uint32_t)n_ports, id);
	return st ? st : parse_header_comment(r, s);
}

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "netfile_private.h"

#include <inttypes.h>
#include <stdio.h>

/* ibsim keeps ids in 65 bytes, prefix included, and takes longer ones for equal. */
#define MAX_ID 64

/* ---- lines that hold for all nodes after them: GUID bases, modules, widths and speeds ------- */

uint8_t osr_netfile_width(uint64_t bits)
{
	static const struct {
		uint8_t bit, lanes;
	} widths[] = { { 8, 12 }, { 4, 8 }, { 2, 4 }, { 16, 2 }, { 1, 1 } };

	for (size_t i = 0; i < sizeof(widths) / sizeof(widths[0]); i++)
		if (bits & widths[i].bit)
			return widths[i].lanes;
	return 0;
}

void osr_netfile_assume_width(struct osr_net_port *port)
{
	if (port->speed && !port->width)
		port->width = 4;
}

bool osr_netfile_take_guid(const char **at, uint64_t *guid)
{
	if (!osr_take_word(at, "("))
		return true;
	osr_take_word(at, "0x");
	return osr_scan(at, "%h)", guid);
}

enum osr_status osr_netfile_setting(struct osr_netfile *netfile, const char *text, bool *known)
{
	static const struct {
		const char *key;
		uint64_t max;
		size_t at; /* of the member; 0: a GUID of nodes of this type */
		enum osr_net_type type;
	} keys[] = {
		{ "switchguid", UINT64_MAX, .type = OSR_NET_SWITCH },
		{ "hcaguids", UINT64_MAX, .type = OSR_NET_CA },
		{ "caguid", UINT64_MAX, .type = OSR_NET_CA },
		{ "rtguid", UINT64_MAX, .type = OSR_NET_ROUTER },
		{ "vendid", UINT32_MAX, offsetof(struct osr_netfile, vendid), 0 },
		{ "devid", UINT32_MAX, offsetof(struct osr_netfile, devid), 0 },
		{ "sysimgguid", UINT64_MAX, offsetof(struct osr_netfile, sysimg_guid), 0 },
		{ "width", 31, offsetof(struct osr_netfile, width), 0 },
		{ "speed", 7, offsetof(struct osr_netfile, speed), 0 },
		{ "extspeed", 15, offsetof(struct osr_netfile, speed_ext), 0 },
	};
	struct osr_netfile_word name;

	*known = true;
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		enum osr_net_type type = keys[i].type;
		const char *at = text;
		uint64_t guid, port_guid, *value;
		bool relative;

		if (!osr_take_word(&at, keys[i].key))
			continue;
		osr_skip_blanks(&at);
		relative = osr_take_word(&at, "+");
		if (!relative && !osr_take_word(&at, "="))
			continue;
		if (keys[i].at)
			osr_skip_blanks(&at);
		value = keys[i].at ? (uint64_t *)((char *)netfile + keys[i].at) : &guid;
		if (!take_number(&at, keys[i].max, value))
			return osr_lines_fail(netfile->in, "%s: expected a number up to %" PRIu64,
					      keys[i].key, keys[i].max);
		if ((!keys[i].at && !osr_netfile_take_guid(&at, &port_guid)) || !at_end(at))
			return osr_lines_fail(netfile->in,
					      "%s: unexpected text behind the number: \"%.40s\"",
					      keys[i].key, at);
		if (keys[i].at)
			return OSR_OK;
		netfile->guid_next[type] = guid + (relative ? netfile->guid_base[type] : 0);
		if (!relative)
			netfile->guid_base[type] = guid;
		netfile->guid_set[type] = netfile->guid_own[type] = true;
		return OSR_OK;
	}
	*known = osr_take_word(&text, "module=");
	if (!*known)
		return OSR_OK;
	osr_skip_blanks(&text);
	if (!take_quoted(&text, &name) || name.n > 20 || !at_end(text))
		return osr_lines_fail(netfile->in,
				      "expected module=\"name\" of at most 20 characters");
	/* Offset 0 belongs to the first node's id or, here, to an empty string: never a module. */
	if (netfile->net->names_size == 0)
		osr_net_string(netfile->net, "", 0);
	netfile->prefix = name.n ? osr_net_string(netfile->net, name.at, name.n) : 0;
	return OSR_OK;
}

/* ---- node headers --------------------------------------------------------------------------- */

enum osr_status osr_netfile_find_id(struct osr_netfile *netfile, struct osr_netfile_word id,
				    struct osr_id **found)
{
	bool prefixed = netfile->prefix && !memchr(id.at, '#', id.n);
	const char *prefix = prefixed ? netfile->net->names + netfile->prefix : "";
	const char *mark = prefixed ? "#" : "";
	char full[2 * MAX_ID];

	if (!id.n || id.n > MAX_ID ||
	    snprintf(full, sizeof(full), "%s%s%.*s", prefix, mark, (int)id.n, id.at) > MAX_ID)
		return osr_lines_fail(netfile->in, "a node id has 1 to %d characters", MAX_ID);
	*found = osr_id_find(&netfile->ids, full);
	return *found ? OSR_OK : osr_lines_nomem(netfile->in);
}

bool osr_netfile_node_type(const char **at, enum osr_net_type *type)
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
		const char *rest = *at;

		if (!osr_take_word(&rest, words[i].word) || !is_blank(*rest))
			continue;
		*at = rest;
		*type = words[i].type;
		return true;
	}
	return false;
}

/*
 * The part behind '#': a quoted name, which may hold quotes itself and ends at the last one, or an
 * unquoted one up to the words that follow it. *at is left behind it.
 */
static struct osr_netfile_word netfile_take_name(const char **at)
{
	static const char *const stop[] = { " enhanced port ", " base port ", " lid ", " lmc " };
	struct osr_netfile_word name = { *at, strlen(*at) };
	const char *close = strrchr(*at, '"');

	osr_skip_blanks(at);
	if (**at == '"' && close > *at) {
		name = (struct osr_netfile_word){ *at + 1, (size_t)(close - *at) - 1 };
		*at = close + 1;
		return name;
	}
	/* With the blank before it: "# lid 7" is a LID and no name. */
	for (size_t i = 0; i < sizeof(stop) / sizeof(stop[0]); i++) {
		const char *end = memmem(name.at, name.n, stop[i], strlen(stop[i]));

		name.n = end ? (size_t)(end - name.at) : name.n;
	}
	while (name.n && is_blank(*name.at)) {
		name.at++;
		name.n--;
	}
	while (name.n && is_blank(name.at[name.n - 1]))
		name.n--;
	*at = name.at + name.n;
	return name;
}

enum osr_status osr_netfile_lid(struct osr_netfile *netfile, const char *text, size_t n,
				uint32_t port)
{
	uint64_t lid = 0, lmc = 0;

	if (!number_after(text, n, "lid ", OSR_MAX_LID, &lid))
		return osr_lines_fail(netfile->in, "a LID is a number up to %u", OSR_MAX_LID);
	if (!number_after(text, n, "lmc ", 7, &lmc))
		return osr_lines_fail(netfile->in, "an LMC is a number up to 7");
	if (lid & ((1u << lmc) - 1))
		return osr_lines_fail(netfile->in,
				      "LID %" PRIu64 " cannot have LMC %" PRIu64
				      ": it is no multiple of %u",
				      lid, lmc, 1u << lmc);
	netfile->net->ports[port].lid = lid;
	netfile->net->ports[port].lmc = lid ? lmc : 0;
	return OSR_OK;
}

static enum osr_status parse_header_comment(struct osr_netfile *netfile, const char *at)
{
	struct osr_net_node *node = &netfile->net->nodes[netfile->node];
	struct osr_netfile_word name;

	if (!at_end(at))
		return osr_lines_fail(netfile->in,
				      "unexpected text behind the node's id: \"%.40s\"", at);
	at = strchr(at, '#');
	if (!at)
		return OSR_OK;
	at++;
	name = netfile_take_name(&at);
	if (name.n) {
		uint32_t text = osr_net_description(netfile->net, name.at, name.n);

		node->name = text ? text : node->name;
	}
	if (node->type != OSR_NET_SWITCH)
		return OSR_OK;
	node->enhanced_sp0 = strstr(at, "enhanced port 0") != NULL;
	return osr_netfile_lid(netfile, at, strlen(at), node->port_row);
}

bool osr_netfile_guid_of_id(const char *id, uint64_t *guid)
{
	if (!*id || !strchr("SHR", *id) || id[1] != '-')
		return osr_scan(&id, "%x", guid) && !*id && *guid;
	id += 2;
	return strlen(id) == 16 && osr_scan(&id, "%h", guid) && !*id && *guid;
}

enum osr_status osr_netfile_header(struct osr_netfile *netfile, enum osr_net_type type,
				   const char *at)
{
	struct osr_net *net = netfile->net;
	uint64_t n_ports, guid;
	struct osr_id *own;
	enum osr_status st;
	struct osr_netfile_word id;
	uint32_t node;

	osr_skip_blanks(&at);
	if (!take_number(&at, OSR_NET_MAX_NODE_PORTS, &n_ports) || n_ports == 0)
		return osr_lines_fail(netfile->in, "a node has 1 to %d ports",
				      OSR_NET_MAX_NODE_PORTS);
	osr_skip_blanks(&at);
	if (!take_quoted(&at, &id))
		return osr_lines_fail(netfile->in, "expected the node's id in double quotes");
	st = osr_netfile_find_id(netfile, id, &own);
	if (st)
		return st;
	if (own->node != OSR_NONE)
		return osr_lines_fail(netfile->in, "node \"%s\" was already described in line %u",
				      own->text, own->line);
	node = osr_net_node(net, type, n_ports, own->text);
	if (net->failed == OSR_INVAL)
		return osr_lines_fail(netfile->in,
				      "more than %" PRIu32 " ports in all nodes together",
				      OSR_NET_MAX_PORTS);
	if (node == OSR_NONE)
		return osr_lines_nomem(netfile->in);
	own->node = node;
	own->line = netfile->in->number;
	/*
	 * The GUID of the node's own line; or the GUID in its id, if no other node has it
	 * (osr_netfile_guids()); or the next GUID that ibsim would give, from the last line of this
	 * type or as net.c has counted.
	 */
	if (!netfile->guid_own[type] && osr_netfile_guid_of_id(own->text, &guid)) {
		net->nodes[node].guid_from = OSR_NET_GUID_OF_ID;
	} else if (netfile->guid_set[type]) {
		osr_net_set_guid(net, node, netfile->guid_next[type]);
		netfile->guid_next[type] += type == OSR_NET_SWITCH ? 1 : n_ports + 1;
	}
	netfile->guid_own[type] = false;
	net->nodes[node].vendid = netfile->vendid;
	net->nodes[node].devid = netfile->devid;
	net->nodes[node].sysimg_guid = netfile->sysimg_guid;
	netfile->vendid = netfile->devid = netfile->sysimg_guid = 0;
	for (uint32_t p = 1; p <= n_ports; p++) {
		struct osr_net_port *port = &net->ports[net->nodes[node].port_row + p];

		port->width = osr_netfile_width(netfile->width);
		port->speed = osr_speed_of(netfile->speed, netfile->speed_ext);
		osr_netfile_assume_width(port);
	}
	netfile->node = node;
	return parse_header_comment(netfile, at);
}

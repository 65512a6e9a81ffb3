/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "netfile_private.h"

#include <inttypes.h>
#include <stdlib.h>

#include <osmroutes/invariant.h>

#include "io/speed.h"

/* The line at which this node is described. */
static uint32_t line_of(struct osr_netfile *netfile, uint32_t node)
{
	const struct osr_id *id = osr_id_find(&netfile->ids, osr_net_id(netfile->net, node));

	return id ? id->line : 0;
}

/* ---- port lines: the cable, the rate, LIDs -------------------------------------------------- */

/*
 * [ext 5], which ibnetdiscover prints for modular switches: the label on the box, of no use here.
 */
static void skip_ext(const char **at)
{
	const char *close = strncmp(*at, "[ext", 4) ? NULL : strchr(*at, ']');

	*at = close ? close + 1 : *at;
}

/*
 * VLCap as ibnetdiscover -f prints it, v=4: its code in PortInfo. A port that did not answer has 0.
 */
static enum osr_status netfile_vls(struct osr_netfile *netfile, const char *at,
				   struct osr_net_port *port)
{
	uint64_t code;

	if (!osr_scan(&at, "v=%5d", &code) || (*at && !is_blank(*at)))
		return osr_lines_fail(netfile->in, "\"%.20s\": VLCap is a number up to 5", at);
	port->vls = code ? osr_vls_of_code(code) : 0;
	return OSR_OK;
}

/* The port options w=2 s=4 e=1 of ibsim before `end`: bits of enabled widths and speeds. */
static enum osr_status parse_options(struct osr_netfile *netfile, const char *at, const char *end,
				     struct osr_net_port *port)
{
	uint64_t speed = netfile->speed, ext = netfile->speed_ext, v;

	for (at += strspn(at, " \t\r"); at < end; at += strspn(at, " \t\r")) {
		char key = *at;

		if (!strchr("wse", key) || at[1] != '=')
			return osr_lines_fail(netfile->in,
					      "unexpected text behind the far end: \"%.40s\"", at);
		at += 2;
		if (!take_number(&at, 31, &v))
			return osr_lines_fail(netfile->in, "expected a number after \"%c=\"", key);
		if (key == 'w')
			port->width = osr_netfile_width(v);
		else if (key == 's')
			speed = v ? v : 4;
		else
			ext = v;
		if (key != 'w')
			port->speed = osr_speed_of(speed, ext);
		osr_netfile_assume_width(port);
	}
	return OSR_OK;
}

/*
 * Behind the far end: options, then the comment. On a switch it is
 *	# "far name" lid 9 4xQDR		(the far end's LID)
 * and elsewhere
 *	# lid 4 lmc 0 "far name" lid 9 4xQDR	(own LID first)
 */
static enum osr_status parse_port_rest(struct osr_netfile *netfile, const char *at, uint32_t port)
{
	struct osr_net_port *net_port = &netfile->net->ports[port];
	const char *hash = strchrnul(at, '#'), *quote;
	enum osr_status st = parse_options(netfile, at, hash, net_port);
	bool has_rate = false;

	if (st || !*hash)
		return st;
	/* 4xQDR and the like: the first word that looks so; and v=4. */
	quote = strrchr(hash, '"');
	at = quote ? quote + 1 : hash + 1;
	for (size_t n; !st && *at; at += n) {
		at += strspn(at, " \t\r");
		n = strcspn(at, " \t\r");
		if (!has_rate)
			has_rate = osr_speed_parse(at, n, &net_port->width, &net_port->speed);
		if (!strncmp(at, "v=", 2))
			st = netfile_vls(netfile, at, net_port);
	}
	if (st || osr_net_is_switch(netfile->net, netfile->node))
		return st;
	return osr_netfile_lid(netfile, hash, strcspn(hash, "\""), port);
}

enum osr_status osr_netfile_port(struct osr_netfile *netfile, const char *at)
{
	uint64_t port_num, far_port = 1, far_guid = 0, guid = 0;
	const struct osr_net_node *node;
	enum osr_status st;
	struct osr_netfile_word id;
	struct osr_id *far;
	uint32_t port;

	if (netfile->node == OSR_NONE)
		return osr_lines_fail(netfile->in,
				      "a port outside of the block of a Switch, Ca or Rt");
	node = &netfile->net->nodes[netfile->node];
	if (!osr_scan(&at, "[%d]", &port_num))
		return osr_lines_fail(netfile->in, "expected a port number, as in [7]");
	if (port_num == 0 || port_num > node->n_ports)
		return osr_lines_fail(netfile->in,
				      "port %" PRIu64 " of \"%s\": it has ports 1 to %u", port_num,
				      osr_net_id(netfile->net, netfile->node), node->n_ports);
	osr_invariant(port_num >= 1 && port_num <= node->n_ports);
	port = node->port_row + (uint32_t)port_num;
	skip_ext(&at);
	if (!osr_netfile_take_guid(&at, &guid))
		return osr_lines_fail(netfile->in, "expected a port GUID in parentheses");
	osr_skip_blanks(&at);
	if (!take_quoted(&at, &id))
		return osr_lines_fail(netfile->in,
				      "expected the id of the far end in double quotes");
	if (*at == '[' && strncmp(at, "[ext", 4) != 0 && !osr_scan(&at, "[%d]", &far_port))
		return osr_lines_fail(netfile->in,
				      "expected the port number of the far end, as in [7]");
	skip_ext(&at);
	if (!osr_netfile_take_guid(&at, &far_guid))
		return osr_lines_fail(netfile->in,
				      "expected the far end's port GUID in parentheses");
	if (netfile->net->ports[port].peer != OSR_NONE)
		return osr_lines_fail(netfile->in,
				      "port %" PRIu64 " of \"%s\" was already described in line %u",
				      port_num, osr_net_id(netfile->net, netfile->node),
				      netfile->said[netfile->net->ports[port].peer].line);
	if (!id.n)
		return osr_lines_fail(netfile->in,
				      "the far end of port %" PRIu64 " has an empty node id",
				      port_num);
	if (far_port == 0 || far_port > OSR_NET_MAX_NODE_PORTS)
		return osr_lines_fail(netfile->in,
				      "port %" PRIu64 " at the far end: 1 to %d are possible",
				      far_port, OSR_NET_MAX_NODE_PORTS);
	st = osr_netfile_find_id(netfile, id, &far);
	if (st)
		return st;
	if (!osr_grow((void **)&netfile->said, netfile->n_said, 1, &netfile->room,
		      sizeof(*netfile->said)))
		return osr_lines_nomem(netfile->in);
	netfile->net->ports[port].peer = netfile->n_said;
	netfile->said[netfile->n_said++] = (struct port_line){ .port = port,
							       .line = netfile->in->number,
							       .far = far,
							       .guid = guid,
							       .far_guid = far_guid,
							       .far_port = far_port };
	return parse_port_rest(netfile, at, port);
}

/* ---- when all lines are read: GUIDs; which port is at the other end of which, do both say so?  */

enum osr_status osr_netfile_guids(struct osr_netfile *netfile, bool of_ids)
{
	struct osr_net *net = netfile->net;
	struct osr_keyed *list = osr_net_by_guid(net);
	enum osr_status st = OSR_OK;

	if (!list)
		return osr_lines_nomem(netfile->in);
	if (of_ids)
		for (uint32_t i = 0; i < net->n_nodes; i++)
			if (net->nodes[list[i].index].guid_from == OSR_NET_GUID_OF_ID)
				osr_netfile_guid_of_id(osr_net_id(net, list[i].index),
						       &list[i].key);
	osr_keyed_sort(list, net->n_nodes);
	for (uint32_t i = 1; !st && i < net->n_nodes; i++) {
		uint32_t node = list[i].index, before = list[i - 1].index;

		if (list[i].key != list[i - 1].key)
			continue;
		netfile->in->number = line_of(netfile, node);
		st = osr_lines_fail(netfile->in,
				    "\"%s\" has the GUID 0x%016" PRIx64 " of \"%s\" in line %u",
				    osr_net_id(net, node), list[i].key, osr_net_id(net, before),
				    line_of(netfile, before));
	}
	if (st && of_ids) {
		free(list);
		return osr_netfile_guids(netfile, false);
	}
	for (uint32_t i = 0; i < net->n_nodes; i++) {
		struct osr_net_node *node = &net->nodes[list[i].index];

		if (node->guid_from != OSR_NET_GUID_OF_ID)
			continue;
		if (of_ids)
			osr_net_set_guid(net, list[i].index, list[i].key);
		node->guid_from = of_ids ? OSR_NET_GUID_OF_ID : OSR_NET_GUID_COUNTED;
	}
	free(list);
	return st;
}

enum osr_status osr_netfile_tie(struct osr_netfile *netfile)
{
	struct osr_net *net = netfile->net;

	for (uint32_t i = 0; i < netfile->n_said; i++) {
		const struct port_line *own = &netfile->said[i], *back;
		const char *id = own->far->text;
		uint32_t node = own->far->node, port = osr_net_port(net, node, own->far_port);

		netfile->in->number = own->line;
		if (node == OSR_NONE)
			return osr_lines_fail(netfile->in,
					      "the cable goes to \"%s\", which the file does not "
					      "describe (is it cut off?)",
					      id);
		if (port == OSR_NONE)
			return osr_lines_fail(
				netfile->in,
				"the cable goes to port %u of \"%s\", which has %u ports",
				own->far_port, id, net->nodes[node].n_ports);
		if (net->ports[port].peer == OSR_NONE)
			return osr_lines_fail(netfile->in,
					      "the cable goes to \"%s\"[%u], but the block of "
					      "\"%s\" in line %u does not mention that port (is "
					      "the file cut off?)",
					      id, own->far_port, id, own->far->line);
		osr_invariant(net->ports[port].peer < netfile->n_said);
		back = &netfile->said[net->ports[port].peer];
		if (osr_net_port(net, back->far->node, back->far_port) != own->port)
			return osr_lines_fail(netfile->in,
					      "the cable goes to \"%s\"[%u], but line %u says that "
					      "\"%s\"[%u] is at its other end",
					      id, own->far_port, back->line, back->far->text,
					      back->far_port);
	}
	/* GUIDs of ports stand in their own line, or else in the one of the other end. */
	for (uint32_t i = 0; i < netfile->n_said; i++) {
		const struct port_line *own = &netfile->said[i];
		uint32_t far = osr_net_port(net, own->far->node, own->far_port);
		const struct port_line *back = &netfile->said[net->ports[far].peer];
		uint64_t guid = own->guid ? own->guid : back->far_guid;

		netfile->in->number = own->line;
		if (back->far_guid && guid != back->far_guid)
			return osr_lines_fail(netfile->in,
					      "the port has the GUID 0x%016" PRIx64
					      ", but line %u says 0x%016" PRIx64,
					      guid, back->line, back->far_guid);
		if (guid && !osr_net_is_switch(net, net->ports[own->port].node))
			net->ports[own->port].guid = guid;
	}
	for (uint32_t i = 0; i < netfile->n_said; i++)
		net->ports[netfile->said[i].port].peer =
			osr_net_port(net, netfile->said[i].far->node, netfile->said[i].far_port);
	return OSR_OK;
}

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "io/netfile.h"

#include <osmroutes/invariant.h>

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "io/ids.h"
#include "io/speed.h"

/* One end of a cable as a line describes it. */
struct cable_end {
	uint64_t n_ports, sysimg_guid, guid, port_guid, vendid, devid, revision, lid, port;
	enum osr_net_type type;
	const char *name;
	size_t name_length;
};

struct subnet_reader {
	struct osr_lines *in;
	struct osr_net *net;
	void *ids;  /* tree of GUIDs */
	bool *near; /* [net->n_ports] ports that are the near end of a line */
	uint32_t n, room;
};

const char *const osr_subnet_types[] = {
	[OSR_NET_CA] = "CA", [OSR_NET_SWITCH] = "SW", [OSR_NET_ROUTER] = "Rt"
};

const char *const osr_subnet_speeds[] = {
	[OSR_SPEED_UNKNOWN] = "??", [OSR_SPEED_SDR] = "2.5",     [OSR_SPEED_DDR] = "5",
	[OSR_SPEED_QDR] = "10",     [OSR_SPEED_FDR10] = "FDR10", [OSR_SPEED_FDR] = "14",
	[OSR_SPEED_EDR] = "25",     [OSR_SPEED_HDR] = "50",      [OSR_SPEED_NDR] = "100",
	[OSR_SPEED_XDR] = "200",
};

/* ---- a line --------------------------------------------------------------------------------- */

/* The name of the missing field, or NULL. */
static const char *take_end(const char **at, struct cable_end *end)
{
#define AT(member) offsetof(struct cable_end, member)
	static const struct {
		const char *format;
		size_t at;
		const char *missing;
	} fields[] = {
		{ " Ports:%254h", AT(n_ports), "Ports: (1 to FE)" },
		{ " SystemGUID:%h", AT(sysimg_guid), "SystemGUID:" },
		{ " NodeGUID:%h", AT(guid), "NodeGUID:" },
		{ " PortGUID:%h", AT(port_guid), "PortGUID:" },
		{ " VenID:%4294967295h", AT(vendid), "VenID:" },
		{ " DevID:%4294967295h", AT(devid), "DevID:" },
		{ " Rev:%4294967295h", AT(revision), "Rev:" },
		{ NULL, 0, "a name in braces" },
		{ " LID:%49151h", AT(lid), "LID: (at most BFFF)" },
		{ " PN:%254h", AT(port), "PN: (1 to the number of ports)" },
	};
#undef AT

	const char *close;

	if (!osr_scan(at, " {"))
		return "a \"{\"";
	osr_skip_blanks(at);
	for (end->type = 0; !osr_take_word(at, osr_subnet_types[end->type]);)
		if (++end->type == OSR_NET_N_TYPES)
			return "CA, SW or Rt";
	osr_take_word(at, "-SM");
	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
		uint64_t *value = (uint64_t *)(void *)((char *)end + fields[i].at);

		if (fields[i].format) {
			if (!osr_scan(at, fields[i].format, value))
				return fields[i].missing;
		} else {
			/* A name may hold braces: it ends at the last one before " LID:". */
			close = osr_scan(at, " {") ? strstr(*at, "} LID:") : NULL;
			if (!close)
				return fields[i].missing;
			end->name = *at;
			end->name_length = (size_t)(close - *at);
			*at = close + 1;
		}
		if (!end->n_ports)
			return fields[0].missing;
	}
	if (!end->port || end->port > end->n_ports)
		return fields[9].missing;
	return osr_scan(at, " }") ? NULL : "a \"}\"";
}

/*
 * " PHY=4x LOG=ACT SPD=10"; SPD is missing in old files. False for any other text. A speed of
 * another word is unknown, as "??" is, which OpenSM writes for speeds that are newer than it.
 */
static bool take_state(const char *at, uint8_t *width, uint8_t *speed, bool *down)
{
	uint64_t n = 0;
	size_t len;

	if (!osr_scan(&at, " PHY=?? LOG=") && !osr_scan(&at, " PHY=%12dx LOG=", &n))
		return false;
	*width = n;
	*down = osr_take_word(&at, "DWN");
	if (!*down && !osr_take_word(&at, "ACT") && !osr_take_word(&at, "ARM") &&
	    !osr_take_word(&at, "INI"))
		return false;
	*speed = OSR_SPEED_UNKNOWN;
	if (!osr_scan(&at, " SPD="))
		return osr_scan(&at, " ") && !*at;
	len = strcspn(at, " \t\r");
	for (unsigned i = 0; i < OSR_N_SPEEDS; i++)
		if (strlen(osr_subnet_speeds[i]) == len && !memcmp(at, osr_subnet_speeds[i], len))
			*speed = i;
	at += len;
	return len && osr_scan(&at, " ") && !*at;
}

/* ---- the net -------------------------------------------------------------------------------- */

/* The port of one end of a line; its node is new, or must be as described before. */
static enum osr_status subnetfile_find_port(struct subnet_reader *reader,
					    const struct cable_end *end, uint32_t *port)
{
	enum osr_status st = OSR_OK;
	struct osr_net_node *net_node;
	struct osr_net_port *net_port;
	struct osr_id *id;
	char guid[24];

	snprintf(guid, sizeof(guid), "%016" PRIx64, end->guid);
	id = osr_id_find(&reader->ids, guid);
	if (!id)
		return osr_lines_nomem(reader->in);
	if (id->node == OSR_NONE) {
		id->node = osr_net_found(reader->net, end->type, end->n_ports, end->guid, end->name,
					 end->name_length);
		st = osr_net_status(reader->net, reader->in->diag);
		if (st)
			return st;
		reader->net->nodes[id->node].sysimg_guid = end->sysimg_guid;
	}
	net_node = &reader->net->nodes[id->node];
	if (net_node->type != end->type || net_node->n_ports != end->n_ports)
		return osr_lines_fail(
			reader->in,
			"node 0x%016" PRIx64
			" is of another kind or has another number of ports than before",
			end->guid);
	*port = osr_net_port(reader->net, id->node, end->port);
	/* The LID at a switch belongs to its port 0. */
	net_port = &reader->net->ports[end->type == OSR_NET_SWITCH ? net_node->port_row : *port];
	if (end->type != OSR_NET_SWITCH)
		net_port->guid = end->port_guid;
	if (net_port->lid && end->lid && net_port->lid != end->lid)
		return osr_lines_fail(
			reader->in, "LID %" PRIu64 " of 0x%016" PRIx64 ", which had LID %u before",
			end->lid, end->guid, net_port->lid);
	if (end->lid)
		net_port->lid = end->lid;
	return OSR_OK;
}

static enum osr_status subnetfile_take_line(struct subnet_reader *reader, const char *at)
{
	struct cable_end end[2] = { 0 };
	struct osr_net *net = reader->net;
	uint32_t port[2];
	uint8_t width, speed;
	enum osr_status st;
	bool down;

	osr_skip_blanks(&at);
	if (!*at || *at == '#')
		return OSR_OK;
	if (*at != '{')
		return osr_lines_fail(
			reader->in,
			"neither a cable, \"{ ... } { ... } PHY=...\", nor a comment: \"%.60s\"",
			at);
	for (unsigned i = 0; i < 2; i++) {
		const char *missing = take_end(&at, &end[i]);

		if (missing)
			return osr_lines_fail(reader->in, "expected %s of the %s end of a cable",
					      missing, i ? "far" : "near");
	}
	if (!take_state(at, &width, &speed, &down))
		return osr_lines_fail(reader->in,
				      "expected PHY=WIDTH LOG=STATE SPD=SPEED behind the two ends");
	if (down)
		return OSR_OK;
	for (unsigned i = 0; i < 2; i++)
		if ((st = subnetfile_find_port(reader, &end[i], &port[i])))
			return st;
	/* OpenSM prints the ids of the far end with a shift: only the near one's are right. */
	net->nodes[net->ports[port[0]].node].vendid = end[0].vendid;
	net->nodes[net->ports[port[0]].node].devid = end[0].devid;
	for (unsigned i = 0; i < 2; i++)
		if (net->ports[port[i]].peer != OSR_NONE && net->ports[port[i]].peer != port[1 - i])
			return osr_lines_fail(reader->in,
					      "port %" PRIu64 " of 0x%016" PRIx64
					      " had another cable before",
					      end[i].port, end[i].guid);
	if (net->ports[port[0]].peer == OSR_NONE)
		osr_net_cable(net, port[0], port[1], width, speed);
	if (!osr_grow((void **)&reader->near, reader->n, net->n_ports - reader->n, &reader->room,
		      sizeof(*reader->near)))
		return osr_lines_nomem(reader->in);
	memset(reader->near + reader->n, 0, (net->n_ports - reader->n) * sizeof(*reader->near));
	reader->n = net->n_ports;
	osr_invariant(port[0] < reader->n && port[1] < reader->n);
	reader->near[port[0]] = true;
	return osr_net_status(net, reader->in->diag);
}

/* Ports of CAs that no line names keep the GUIDs that osr_net_set_guid() gave them. */
enum osr_status osr_subnetfile_read(struct osr_lines *in, struct osr_net *net)
{
	struct subnet_reader reader = { .in = in, .net = net };
	enum osr_status st = OSR_OK;
	char *text;

	*net = (struct osr_net){ .no_lmcs = true };
	while (!st && osr_lines_next(in, &text, &st))
		st = subnetfile_take_line(&reader, text);
	if (!st && !net->n_nodes)
		st = osr_fail(in->diag, OSR_INVAL,
			      "%s: holds no cable (expected an opensm-subnet.lst)", in->label);
	for (uint32_t i = 0; !st && i < reader.n; i++)
		net->n_one_end += net->ports[i].peer != OSR_NONE && !reader.near[i];
	free(reader.near);
	tdestroy(reader.ids, free);
	if (st)
		osr_net_free(net);
	return st;
}

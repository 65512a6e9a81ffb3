/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * One pass over the lines fills nodes and ports and notes the other end of each port; a second pass
 * over the ports ties the ends together.
 *
 * A line that is passed over is in the lists of headings, progress and failures below, or a
 * comment. All others are understood to their end, or refused: a line that vanished would be a
 * cable or a host that vanished.
 */
#include "io/netfile.h"

#include <osmroutes/invariant.h>

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "io/ids.h"
#include "io/speed.h"

/* ibsim keeps ids in 65 bytes, prefix included, and takes longer ones for equal. */
#define MAX_ID 64

/*
 * A line of a port: which port, the far end of its cable, and the GUIDs of both, 0 where it has
 * none.
 */
struct port_line {
	uint32_t port, line;
	const struct osr_id *far;
	uint64_t guid, far_guid;
	uint8_t far_port;
};

struct netfile {
	struct osr_lines *in;
	struct osr_net *net;

	uint32_t node;   /* whose block this is, OSR_NONE outside of one */
	uint32_t prefix; /* module="..." in force, offset into names; 0 = none */

	/* Settings for the next node header. */
	uint64_t sysimg_guid, vendid, devid;
	uint64_t guid_base[OSR_NET_N_TYPES];
	uint64_t guid_next[OSR_NET_N_TYPES];
	bool guid_set[OSR_NET_N_TYPES], guid_own[OSR_NET_N_TYPES]; /* own: no node has taken it */
	uint64_t width, speed, speed_ext;                          /* bits of ibsim */

	void *ids;              /* tree */
	struct port_line *said; /* [n_said]; until all is read the peer of a port is its row here */
	uint32_t n_said, room;
	bool in_head;    /* all lines so far begin with '#' */
	bool discovered; /* ibnetdiscover wrote it: there is a cable at least */
	FILE *head;
};

/* A stretch of a line. */
struct word {
	const char *at;
	size_t n;
};

/* The line at which this node is described. */
static uint32_t line_of(struct netfile *netfile, uint32_t node)
{
	const struct osr_id *id = osr_id_find(&netfile->ids, osr_net_id(netfile->net, node));

	return id ? id->line : 0;
}

/* ---- words ---------------------------------------------------------------------------------- */

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

/* Decimal, or hexadecimal with 0x. */
static bool take_number(const char **at, uint64_t max, uint64_t *value)
{
	return osr_scan(at, "%n", value) && *value <= max;
}

/* "..." without the quotes, up to the next one. */
static bool take_quoted(const char **at, struct word *word)
{
	const char *close = **at == '"' ? strchr(*at + 1, '"') : NULL;

	if (!close)
		return false;
	*word = (struct word){ *at + 1, (size_t)(close - *at) - 1 };
	*at = close + 1;
	return true;
}

/* Nothing else, or a comment. */
static bool at_end(const char *at)
{
	at += strspn(at, " \t\r");
	return !*at || *at == '#';
}

/*
 * The number behind `key` anywhere in the first n bytes; false: the key is there, and no number up
 * to max.
 */
static bool number_after(const char *text, size_t n, const char *key, uint64_t max, uint64_t *value)
{
	const char *at = memmem(text, n, key, strlen(key));

	if (!at)
		return true;
	at += strlen(key);
	return take_number(&at, max, value);
}

/* ---- lines that hold for all nodes after them: GUID bases, modules, widths and speeds ------- */

/* The widest of ibsim's LinkWidth bits, in lanes; 0: none is set. */
static uint8_t netfile_width(uint64_t bits)
{
	static const struct {
		uint8_t bit, lanes;
	} widths[] = { { 8, 12 }, { 4, 8 }, { 2, 4 }, { 16, 2 }, { 1, 1 } };

	for (size_t i = 0; i < sizeof(widths) / sizeof(widths[0]); i++)
		if (bits & widths[i].bit)
			return widths[i].lanes;
	return 0;
}

/* A speed alone means four lanes, to ibsim and to us. */
static void netfile_assume_width(struct osr_net_port *port)
{
	if (port->speed && !port->width)
		port->width = 4;
}

/* (2c902002789ad); without parentheses *guid stays unchanged. */
static bool take_port_guid(const char **at, uint64_t *guid)
{
	if (!osr_take_word(at, "("))
		return true;
	osr_take_word(at, "0x");
	return osr_scan(at, "%h)", guid);
}

/* `key=value` lines. *known is false for any other key. */
static enum osr_status netfile_setting(struct netfile *netfile, const char *text, bool *known)
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
		{ "vendid", UINT32_MAX, offsetof(struct netfile, vendid), 0 },
		{ "devid", UINT32_MAX, offsetof(struct netfile, devid), 0 },
		{ "sysimgguid", UINT64_MAX, offsetof(struct netfile, sysimg_guid), 0 },
		{ "width", 31, offsetof(struct netfile, width), 0 },
		{ "speed", 7, offsetof(struct netfile, speed), 0 },
		{ "extspeed", 15, offsetof(struct netfile, speed_ext), 0 },
	};
	struct word name;

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
		if ((!keys[i].at && !take_port_guid(&at, &port_guid)) || !at_end(at))
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

/* An id with the module prefix in force, as ibsim composes it: prefix#id. */
static enum osr_status find_id(struct netfile *netfile, struct word id, struct osr_id **found)
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

/* Node type of a header line; *at is then behind the word. */
static bool netfile_node_type(const char **at, enum osr_net_type *type)
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
static struct word netfile_take_name(const char **at)
{
	static const char *const stop[] = { " enhanced port ", " base port ", " lid ", " lmc " };
	struct word name = { *at, strlen(*at) };
	const char *close = strrchr(*at, '"');

	osr_skip_blanks(at);
	if (**at == '"' && close > *at) {
		name = (struct word){ *at + 1, (size_t)(close - *at) - 1 };
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

/*
 * "lid 9 lmc 0", both optional. A number that is given must be legal: a LID that is silently 0
 * would make the end port vanish from the fabric.
 */
static enum osr_status netfile_lid(struct netfile *netfile, const char *text, size_t n,
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
	netfile->net->ports[port].lid = (uint16_t)lid;
	netfile->net->ports[port].lmc = (uint8_t)(lid ? lmc : 0);
	return OSR_OK;
}

static enum osr_status parse_header_comment(struct netfile *netfile, const char *at)
{
	struct osr_net_node *node = &netfile->net->nodes[netfile->node];
	struct word name;

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
	return netfile_lid(netfile, at, strlen(at), node->port_row);
}

/* "S-0008f10500200b50", as ibnetdiscover calls nodes, or "0x8f10500200b50". */
static bool guid_of_id(const char *id, uint64_t *guid)
{
	if (!*id || !strchr("SHR", *id) || id[1] != '-')
		return osr_scan(&id, "%x", guid) && !*id && *guid;
	id += 2;
	return strlen(id) == 16 && osr_scan(&id, "%h", guid) && !*id && *guid;
}

/*
 * One node for this header. vendid, devid and sysimgguid belong to the next node only; width, speed
 * and GUID bases stay in force, as in ibsim.
 */
static enum osr_status netfile_header(struct netfile *netfile, enum osr_net_type type,
				      const char *at)
{
	struct osr_net *net = netfile->net;
	uint64_t n_ports, guid;
	struct osr_id *own;
	enum osr_status st;
	struct word id;
	uint32_t node;

	osr_skip_blanks(&at);
	if (!take_number(&at, OSR_NET_MAX_NODE_PORTS, &n_ports) || n_ports == 0)
		return osr_lines_fail(netfile->in, "a node has 1 to %d ports",
				      OSR_NET_MAX_NODE_PORTS);
	osr_skip_blanks(&at);
	if (!take_quoted(&at, &id))
		return osr_lines_fail(netfile->in, "expected the node's id in double quotes");
	st = find_id(netfile, id, &own);
	if (st)
		return st;
	if (own->node != OSR_NONE)
		return osr_lines_fail(netfile->in, "node \"%s\" was already described in line %u",
				      own->text, own->line);
	node = osr_net_node(net, type, (uint32_t)n_ports, own->text);
	if (net->failed == OSR_INVAL)
		return osr_lines_fail(netfile->in,
				      "more than %" PRIu32 " ports in all nodes together",
				      OSR_NET_MAX_PORTS);
	if (node == OSR_NONE)
		return osr_lines_nomem(netfile->in);
	own->node = node;
	own->line = (uint32_t)netfile->in->number;
	/*
	 * The GUID of the node's own line; or the GUID in its id, if no other node has it
	 * (netfile_guids()); or the next of ibsim's, from the last line of this type or as net.c
	 * has counted.
	 */
	if (!netfile->guid_own[type] && guid_of_id(own->text, &guid)) {
		net->nodes[node].guid_from = OSR_NET_GUID_OF_ID;
	} else if (netfile->guid_set[type]) {
		osr_net_set_guid(net, node, netfile->guid_next[type]);
		netfile->guid_next[type] += type == OSR_NET_SWITCH ? 1 : n_ports + 1;
	}
	netfile->guid_own[type] = false;
	net->nodes[node].vendid = (uint32_t)netfile->vendid;
	net->nodes[node].devid = (uint32_t)netfile->devid;
	net->nodes[node].sysimg_guid = netfile->sysimg_guid;
	netfile->vendid = netfile->devid = netfile->sysimg_guid = 0;
	for (uint32_t p = 1; p <= n_ports; p++) {
		struct osr_net_port *port = &net->ports[net->nodes[node].port_row + p];

		port->width = netfile_width(netfile->width);
		port->speed = osr_speed_of((unsigned)netfile->speed, (unsigned)netfile->speed_ext);
		netfile_assume_width(port);
	}
	netfile->node = node;
	return parse_header_comment(netfile, at);
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
static enum osr_status netfile_vls(struct netfile *netfile, const char *at,
				   struct osr_net_port *port)
{
	uint64_t code;

	if (!osr_scan(&at, "v=%5d", &code) || (*at && !is_blank(*at)))
		return osr_lines_fail(netfile->in, "\"%.20s\": VLCap is a number up to 5", at);
	port->vls = code ? osr_vls_of_code((unsigned)code) : 0;
	return OSR_OK;
}

/* The port options w=2 s=4 e=1 of ibsim before `end`: bits of enabled widths and speeds. */
static enum osr_status parse_options(struct netfile *netfile, const char *at, const char *end,
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
			port->width = netfile_width(v);
		else if (key == 's')
			speed = v ? v : 4;
		else
			ext = v;
		if (key != 'w')
			port->speed = osr_speed_of((unsigned)speed, (unsigned)ext);
		netfile_assume_width(port);
	}
	return OSR_OK;
}

/*
 * Behind the far end: options, then the comment. On a switch it is
 *	# "far name" lid 9 4xQDR		(the far end's LID)
 * and elsewhere
 *	# lid 4 lmc 0 "far name" lid 9 4xQDR	(own LID first)
 */
static enum osr_status parse_port_rest(struct netfile *netfile, const char *at, uint32_t port)
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
	return netfile_lid(netfile, hash, strcspn(hash, "\""), port);
}

/* A line such as [7] "S-01"[3]. */
static enum osr_status netfile_port(struct netfile *netfile, const char *at)
{
	uint64_t port_num, far_port = 1, far_guid = 0, guid = 0;
	const struct osr_net_node *node;
	enum osr_status st;
	struct word id;
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
	port = node->port_row + (uint32_t)port_num;
	skip_ext(&at);
	if (!take_port_guid(&at, &guid))
		return osr_lines_fail(netfile->in, "expected a port GUID in parentheses");
	osr_skip_blanks(&at);
	if (!take_quoted(&at, &id))
		return osr_lines_fail(netfile->in,
				      "expected the id of the far end in double quotes");
	if (*at == '[' && strncmp(at, "[ext", 4) != 0 && !osr_scan(&at, "[%d]", &far_port))
		return osr_lines_fail(netfile->in,
				      "expected the port number of the far end, as in [7]");
	skip_ext(&at);
	if (!take_port_guid(&at, &far_guid))
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
	st = find_id(netfile, id, &far);
	if (st)
		return st;
	if (!osr_grow((void **)&netfile->said, netfile->n_said, 1, &netfile->room,
		      sizeof(*netfile->said)))
		return osr_lines_nomem(netfile->in);
	netfile->net->ports[port].peer = netfile->n_said;
	netfile->said[netfile->n_said++] =
		(struct port_line){ .port = port,
				    .line = (uint32_t)netfile->in->number,
				    .far = far,
				    .guid = guid,
				    .far_guid = far_guid,
				    .far_port = (uint8_t)far_port };
	return parse_port_rest(netfile, at, port);
}

/* ---- when all lines are read: GUIDs; which port is at the other end of which, do both say so?  */

/*
 * OpenSM and ibsim know nodes by their GUIDs: two with one GUID cannot be told apart. The GUIDs in
 * the ids of nodes count if they are apart from all others; else these ids are names alone, and
 * their nodes keep the GUIDs that ibsim would give them.
 */
static enum osr_status netfile_guids(struct netfile *netfile, bool of_ids)
{
	struct osr_net *net = netfile->net;
	struct osr_keyed *list = osr_net_by_guid(net);
	enum osr_status st = OSR_OK;

	if (!list)
		return osr_lines_nomem(netfile->in);
	if (of_ids)
		for (uint32_t i = 0; i < net->n_nodes; i++)
			if (net->nodes[list[i].index].guid_from == OSR_NET_GUID_OF_ID)
				guid_of_id(osr_net_id(net, list[i].index), &list[i].key);
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
		return netfile_guids(netfile, false);
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

/*
 * The far node may stand further down in the file, so whether both ends of a cable agree is found
 * out when all lines are read. Names both ends and their lines; the likeliest cause, a file that
 * was cut off, is offered.
 */
static enum osr_status netfile_tie(struct netfile *netfile)
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

/* ---- lines ---------------------------------------------------------------------------------- */

#define GIVE_NETDISCOVER ": give the output of ibnetdiscover without options"
#define GIVE_LST "of ibdiagnet: give its ibdiagnet2.lst, or the output of ibnetdiscover"
#define GIVE_TABLES "a file of tables, not of a fabric: give it by --tables"
#define NODE_LIST "a list of nodes (ibnetdiscover -l, ibswitches, ibhosts)" GIVE_NETDISCOVER
#define PORT_LIST "a list of ports (ibnetdiscover -p)" GIVE_NETDISCOVER
#define LINK_LIST "the output of iblinkinfo" GIVE_NETDISCOVER

enum line_kind {
	PASSED, /* headings, progress */
	COUNTED,
	REFUSED,
	OTHER_FILE,
};

/*
 * Lines outside of blocks: how they begin, a text that they hold, and the message if they are
 * refused.
 */
static const struct line {
	const char *begin, *holds;
	enum line_kind kind;
	const char *said;
} lines[] = {
	/* Of ibnetdiscover -g and -s. */
	{ "Hostname: ", "", PASSED, NULL },
	{ "Chassis %d", "", PASSED, NULL },
	{ "Non-Chassis Nodes", "", PASSED, NULL },
	{ "DR path slid ", " portnum ", PASSED, NULL },
	{ "Lid %d -> ", " portnum ", PASSED, NULL },
	/*
	 * Of the libraries below it, where standard error went into the file: that it ended, and of
	 * a port that did not answer, which the file may lack:
	 *	src/query_smp.c:195; umad (DR path slid 0; dlid 0; 0,1,1,31 Attr 0x11:0) bad status 110;
	 *	Connection timed out
	 *	ibwarn: [4321] _do_madrpc: recv failed: Connection timed out
	 */
	{ "", "iberror: ", REFUSED, "the discovery ended with an error here" },
	{ "", "ibpanic: ", REFUSED, "the discovery ended with an error here" },
	{ "ibwarn: [%d]", "", COUNTED, NULL },
	{ "", ".c:", COUNTED, NULL },
	{ "", "timed out", COUNTED, NULL },
	/* Of ibsim. */
	{ "@", "", REFUSED, "aliases (@) are not supported, name nodes by their ids" },
	{ "include ", "", REFUSED, "include is not supported, a fabric is one file" },
	{ "do ", "", REFUSED, "do is not supported, a fabric is one file" },
	/* Files that are taken for a fabric, by their first line that counts. */
	{ "Switch : %x ", "ports", OTHER_FILE, NODE_LIST },
	{ "Ca : %x ", "ports", OTHER_FILE, NODE_LIST },
	{ "Router : %x ", "ports", OTHER_FILE, NODE_LIST },
	{ "SW %d %d %x ", "", OTHER_FILE, PORT_LIST },
	{ "CA %d %d %x ", "", OTHER_FILE, PORT_LIST },
	{ "RT %d %d %x ", "", OTHER_FILE, PORT_LIST },
	{ "Switch: %x ", ":", OTHER_FILE, LINK_LIST },
	{ "CA: ", ":", OTHER_FILE, LINK_LIST },
	{ "%x \"", "==(", OTHER_FILE, LINK_LIST },
	{ "\"", ", LID ", OTHER_FILE, "a net_dump " GIVE_LST },
	{ "START_", "", OTHER_FILE, "a db_csv " GIVE_LST },
	{ "Unicast lids ", "", OTHER_FILE, GIVE_TABLES },
	{ "dump_ucast_routes: ", "", OTHER_FILE, GIVE_TABLES },
	{ "Senders on switch %x", "", OTHER_FILE, GIVE_TABLES },
	{ "Switch %x", "", OTHER_FILE, GIVE_TABLES },
	{ "Channel Adapter %x", "", OTHER_FILE, GIVE_TABLES },
	{ "\x2b\x83\xe7\x8f", "", OTHER_FILE,
	  "a cache of ibnetdiscover: give what `ibnetdiscover --load-cache FILE` prints" },
};

/*
 * NULL: none of them. Nor is a line with the far end of a cable, which another one was written
 * into.
 */
static const struct line *find_line(const char *text, bool other_file)
{
	uint64_t number[3];

	if (strstr(text, "\"["))
		return NULL;
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		const char *at = text;

		if ((lines[i].kind == OTHER_FILE) == other_file &&
		    osr_scan(&at, lines[i].begin, &number[0], &number[1], &number[2]) &&
		    strstr(at, lines[i].holds))
			return &lines[i];
	}
	return NULL;
}

/* A line outside of blocks. */
static enum osr_status netfile_other_line(struct netfile *netfile, const char *text)
{
	const struct line *line = find_line(text, false);
	const char *said = strchr("+-<>|", *text)
				   ? "a mark of a diff or of quoted mail begins the line"
				   : "neither a node, nor a port, a setting or a comment";
	char first[200];

	if (!line || line->kind == REFUSED)
		return osr_lines_fail(netfile->in, "%s: \"%.60s\"", line ? line->said : said, text);
	if (line->kind == COUNTED && !netfile->net->n_failures++) {
		snprintf(first, sizeof(first), "%" PRIu64 ": \"%.150s\"", netfile->in->number,
			 text);
		netfile->net->failure = osr_net_description(netfile->net, first, strlen(first));
	}
	return OSR_OK;
}

/* Nine of ten lines are ports: those first. An empty line ends a block, a comment does not. */
static enum osr_status netfile_take_line(struct netfile *netfile, const char *text)
{
	const char *rest;
	enum osr_net_type type;
	bool known;
	enum osr_status st;

	/*
	 * Bytes that no text has. Escape, form feed and the 8-bit range are allowed, as host names
	 * may have them.
	 */
	for (const char *at = text; *at; at++) {
		unsigned char c = (unsigned char)*at;

		if ((c < ' ' && !strchr("\t\r\f\v\x1b", c)) || c == 0x7f)
			return osr_lines_fail(netfile->in, "byte 0x%02x: this is not a text file",
					      c);
	}
	text += strspn(text, " \t\r");
	netfile->in_head &= *text == '#';
	if (*text == '[')
		return netfile_port(netfile, text);
	/*
	 * The head says where a fabric comes from; a file made from it can repeat that. If a
	 * program wrote the file, its last line has an end: without one it may be half a line.
	 */
	if (netfile->in_head)
		fprintf(netfile->head, "%s\n", text + 1 + (text[1] == ' '));
	netfile->discovered |= !strncmp(text, "# Topology file: generated", 26);
	if (netfile->discovered || !strncmp(text, "# osmroutes ", 12))
		netfile->in->by_people = false;
	if (*text == '#')
		return OSR_OK;
	if (!*text) {
		netfile->node = OSR_NONE;
		return OSR_OK;
	}
	rest = text;
	if (netfile_node_type(&rest, &type))
		return netfile_header(netfile, type, rest);
	st = netfile_setting(netfile, text, &known);
	if (st || known) {
		netfile->node = OSR_NONE;
		return st;
	}
	return netfile_other_line(netfile, text);
}

enum osr_status osr_netfile_read(struct osr_lines *in, struct osr_net *net)
{
	struct netfile netfile = { .in = in, .net = net, .node = OSR_NONE, .in_head = true };
	const struct line *line;
	enum osr_status st = OSR_OK;
	size_t size;
	char *text;

	*net = (struct osr_net){ 0 };
	in->by_people = true;
	netfile.head = open_memstream(&net->comment, &size);
	if (!netfile.head)
		st = osr_lines_nomem(in);
	while (!st && osr_lines_next(in, &text, &st)) {
		st = netfile_take_line(&netfile, text);
		if (!st && net->failed)
			st = osr_lines_nomem(in);
	}
	if (netfile.head && (ferror(netfile.head) | fclose(netfile.head)) && !st)
		st = osr_lines_nomem(in);
	if (!st && net->n_nodes == 0)
		st = osr_fail(in->diag, OSR_INVAL,
			      "%s: no Switch, Ca or Rt in it: expected the output of ibnetdiscover "
			      "or an ibsim net file",
			      in->label);
	if (!st && netfile.discovered && !netfile.n_said)
		st = osr_lines_fail(in, "no node has a cable: is the file cut off?");
	if (!st)
		st = netfile_guids(&netfile, true);
	if (!st)
		st = netfile_tie(&netfile);
	free(netfile.said);
	tdestroy(netfile.ids, free);
	line = find_line(in->text + strspn(in->text, " \t"), true);
	if (st == OSR_INVAL && in->number && !net->n_nodes && line)
		osr_lines_fail(in, "this is %s", line->said);
	if (st)
		osr_net_free(net);
	return st;
}

enum osr_status osr_fabricfile_read(struct osr_lines *in, struct osr_net *net)
{
	enum osr_status st = osr_lines_peek(in) == '{' ? osr_subnetfile_read(in, net)
						       : osr_netfile_read(in, net);

	osr_lines_close(in);
	return st;
}

/* ---- writing -------------------------------------------------------------------------------- */

static void write_ids(const struct osr_net_node *node, bool with_guid, FILE *out)
{
	static const char *const guid_key[OSR_NET_N_TYPES] = {
		[OSR_NET_CA] = "caguid",
		[OSR_NET_SWITCH] = "switchguid",
		[OSR_NET_ROUTER] = "rtguid",
	};

	if (node->vendid)
		fprintf(out, "vendid=0x%" PRIx32 "\n", node->vendid);
	if (node->devid)
		fprintf(out, "devid=0x%" PRIx32 "\n", node->devid);
	if (node->sysimg_guid)
		fprintf(out, "sysimgguid=0x%" PRIx64 "\n", node->sysimg_guid);
	if (!with_guid)
		return;
	fprintf(out, "%s=0x%" PRIx64, guid_key[node->type], node->guid);
	if (node->type == OSR_NET_SWITCH)
		fprintf(out, "(%" PRIx64 ")", node->guid);
	fputc('\n', out);
}

static void write_header(const struct osr_net *net, uint32_t i, FILE *out)
{
	static const char *const word[OSR_NET_N_TYPES] = {
		[OSR_NET_CA] = "Ca",
		[OSR_NET_SWITCH] = "Switch",
		[OSR_NET_ROUTER] = "Rt",
	};
	const struct osr_net_node *node = &net->nodes[i];
	const struct osr_net_port *sp0 = &net->ports[node->port_row];

	fprintf(out, "%s\t%u \"%s\"", word[node->type], node->n_ports, osr_net_id(net, i));
	if (node->type != OSR_NET_SWITCH) {
		if (node->name != node->id)
			fprintf(out, "\t\t# \"%s\"", osr_net_name(net, i));
	} else if (node->name != node->id || node->enhanced_sp0 || sp0->lid) {
		fprintf(out, "\t\t# \"%s\" %s port 0", osr_net_name(net, i),
			node->enhanced_sp0 ? "enhanced" : "base");
		if (sp0->lid)
			fprintf(out, " lid %u lmc %u", sp0->lid, sp0->lmc);
	}
	fputc('\n', out);
}

/*
 * ibsim takes a rate only from `lid N WxSPEED` at the end of the line, so a rate without LIDs comes
 * with lid 0, which means none.
 */
static void write_port_comment(const struct osr_net *net, uint32_t i, FILE *out)
{
	const struct osr_net_port *net_port = &net->ports[i];
	const struct osr_net_node *node = &net->nodes[net_port->node];
	uint32_t peer_node = net->ports[net_port->peer].node;
	bool named = net->nodes[peer_node].name != net->nodes[peer_node].id;
	uint16_t far_lid = osr_net_lid(net, net_port->peer);
	bool own = node->type != OSR_NET_SWITCH && net_port->lid;
	unsigned code = 1;

	if (!own && !far_lid && !named && !net_port->vls && !(net_port->speed && net_port->width))
		return;
	fputs("\t\t#", out);
	if (own)
		fprintf(out, " lid %u lmc %u", net_port->lid, net_port->lmc);
	if (own || named || far_lid)
		fprintf(out, " \"%s\"", osr_net_name(net, peer_node));
	fprintf(out, " lid %u", far_lid);
	if (net_port->speed && net_port->width)
		fprintf(out, " %ux%s", net_port->width, osr_speed_name(net_port->speed));
	while (osr_vls_of_code(code) < net_port->vls)
		code++;
	if (net_port->vls)
		fprintf(out, " v=%u", code);
}

/* "(2c902002789ad)" where the reader would not guess it. */
static void write_port_guid(const struct osr_net *net, uint32_t port, FILE *out)
{
	const struct osr_net_port *net_port = &net->ports[port];
	const struct osr_net_node *node = &net->nodes[net_port->node];

	if (node->type == OSR_NET_SWITCH)
		return;
	if (node->guid_from != OSR_NET_GUID_COUNTED ||
	    net_port->guid != node->guid + osr_net_port_num(net, port))
		fprintf(out, "(%" PRIx64 ")", net_port->guid);
}

enum osr_status osr_netfile_write(const struct osr_net *net, const char *comment, FILE *out,
				  struct osr_diag *diag)
{
	/* Behind the line of one node the next one of its type would count on from it. */
	bool with_guid[OSR_NET_N_TYPES] = { false };

	osr_invariant(!net->failed);
	if (comment) {
		for (const char *at = comment; *at;) {
			size_t len = strcspn(at, "\n");

			fprintf(out, len ? "# %.*s\n" : "#%.*s\n", (int)len, at);
			at += len + (at[len] == '\n');
		}
		fputc('\n', out);
	}
	for (uint32_t i = 0; i < net->n_nodes; i++) {
		const struct osr_net_node *node = &net->nodes[i];

		if (i)
			fputc('\n', out);
		with_guid[node->type] |= node->guid_from != OSR_NET_GUID_COUNTED;
		write_ids(node, with_guid[node->type], out);
		write_header(net, i, out);
		for (uint32_t p = node->port_row + 1; p <= node->port_row + node->n_ports; p++) {
			uint32_t peer = net->ports[p].peer;

			if (peer == OSR_NONE)
				continue;
			fprintf(out, "[%" PRIu32 "]", osr_net_port_num(net, p));
			write_port_guid(net, p, out);
			fprintf(out, "\t\"%s\"[%" PRIu32 "]",
				osr_net_id(net, net->ports[peer].node),
				osr_net_port_num(net, peer));
			write_port_guid(net, peer, out);
			write_port_comment(net, p, out);
			fputc('\n', out);
		}
	}
	if (fflush(out) || ferror(out))
		return osr_fail(diag, OSR_INVAL, "cannot write the net file: %s", strerror(errno));
	return OSR_OK;
}

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * One pass over the lines fills nodes and ports and notes, per port, what the file says of its
 * other end; a second pass over the ports ties the ends together. Node ids are found through a hash
 * table, so a file of any size costs a constant per line.
 */
#include "io/netfile.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "io/span.h"
#include "io/speed.h"

/* ibsim keeps ids in 65 bytes, prefix included, and takes longer ones for equal. */
#define MAX_ID 64

/* The far end of a port's cable as its own line gives it. */
struct far_end {
	const char *id; /* in the text; NULL: no line for this port */
	uint32_t id_len;
	uint32_t prefix; /* module in force, offset into names; 0 = none or already in the id */
	uint32_t line;
	uint8_t port;
};

struct netfile {
	const char *label;
	struct osr_net *net;
	struct osr_diag *diag;
	uint32_t line;

	uint32_t node;   /* whose block this is, OSR_NONE outside of one */
	uint32_t prefix; /* module="..." in force, offset into names; 0 = none */

	/* What the next node header takes. */
	uint64_t sysimg_guid;
	uint32_t vendid, devid;
	uint64_t guid_base[OSR_NET_N_TYPES];
	uint64_t guid_next[OSR_NET_N_TYPES];
	bool guid_set[OSR_NET_N_TYPES];
	uint8_t width, speed, speed_ext;

	struct far_end *far; /* parallel to net->ports */
	uint32_t far_room;
	uint32_t *node_line; /* parallel to net->nodes */
	uint32_t node_line_room;
	uint32_t *table;     /* open addressing: node, or OSR_NONE */
	uint32_t table_size; /* a power of two, at least twice n_nodes */
};

/* Every refusal of the parser begins with file and line, so that an editor can jump there. */
static enum osr_status netfile_fail(const struct netfile *netfile, uint32_t line, const char *fmt,
				    ...)
{
	char text[384];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	return osr_fail(netfile->diag, OSR_INVAL, "%s:%" PRIu32 ": %s", netfile->label, line, text);
}

static enum osr_status netfile_nomem(const struct netfile *netfile)
{
	return osr_fail(netfile->diag, OSR_NOMEM,
			"%s:%" PRIu32 ": out of memory after %" PRIu32 " nodes", netfile->label,
			netfile->line, netfile->net->n_nodes);
}

/* Lines that hold for all nodes after them: GUID bases, modules, widths and speeds. */
/* ibsim's LinkWidth bits, the widest wins. */
static uint8_t netfile_width(uint64_t bits)
{
	return bits & 8 ? 12 : bits & 4 ? 8 : bits & 2 ? 4 : bits & 16 ? 2 : bits & 1 ? 1 : 0;
}

/* LinkSpeed and LinkSpeedExt bits, the fastest wins. */
static uint8_t netfile_speed(uint64_t speed, uint64_t ext)
{
	static const uint8_t by_ext[] = { OSR_SPEED_FDR, OSR_SPEED_EDR, OSR_SPEED_HDR,
					  OSR_SPEED_NDR };
	static const uint8_t by_speed[] = { OSR_SPEED_SDR, OSR_SPEED_DDR, OSR_SPEED_QDR };

	for (int i = 3; i >= 0; i--)
		if (ext >> i & 1)
			return by_ext[i];
	for (int i = 2; i >= 0; i--)
		if (speed >> i & 1)
			return by_speed[i];
	return OSR_SPEED_UNKNOWN;
}

/* A speed alone means four lanes, to ibsim and to us. */
static void netfile_assume_width(struct osr_net_port *port)
{
	if (port->speed && !port->width)
		port->width = 4;
}

static enum osr_status set_guid_base(struct netfile *netfile, enum osr_net_type type,
				     struct osr__span span, bool relative)
{
	uint64_t guid;

	if (!osr__span_number(&span, UINT64_MAX, &guid))
		return netfile_fail(netfile, netfile->line,
				    "expected a GUID of 64 bits after \"=\"");
	if (!relative) {
		netfile->guid_base[type] = guid;
		netfile->guid_next[type] = guid;
	} else {
		netfile->guid_next[type] = netfile->guid_base[type] + guid;
	}
	netfile->guid_set[type] = true;
	return OSR_OK;
}

static enum osr_status set_module(struct netfile *netfile, struct osr__span span)
{
	struct osr__span name;

	osr__span_skip_blanks(&span);
	if (!osr__span_quoted(&span, &name) || name.end - name.at > 20)
		return netfile_fail(netfile, netfile->line,
				    "expected module=\"name\" of at most 20 characters");
	/* Offset 0 belongs to the first node's id or, here, to an empty string: never a module. */
	if (netfile->net->names_size == 0)
		osr_net_string(netfile->net, "", 0);
	netfile->prefix = name.at == name.end ? 0
					      : osr_net_string(netfile->net, name.at,
							       (size_t)(name.end - name.at));
	return OSR_OK;
}

static enum osr_status set_number(struct netfile *netfile, struct osr__span span, const char *key,
				  uint64_t max, uint64_t *value)
{
	osr__span_skip_blanks(&span);
	if (!osr__span_number(&span, max, value))
		return netfile_fail(netfile, netfile->line, "%s: expected a number up to %" PRIu64,
				    key, max);
	return OSR_OK;
}

enum setting {
	SET_VENDID,
	SET_DEVID,
	SET_SYSIMGGUID,
	SET_WIDTH,
	SET_SPEED,
	SET_EXTSPEED,
	N_SETTINGS,
};

static enum osr_status set_field(struct netfile *netfile, enum setting what, struct osr__span span)
{
	static const struct {
		const char *key;
		uint64_t max;
	} field[N_SETTINGS] = {
		[SET_VENDID] = { "vendid", UINT32_MAX },
		[SET_DEVID] = { "devid", UINT32_MAX },
		[SET_SYSIMGGUID] = { "sysimgguid", UINT64_MAX },
		[SET_WIDTH] = { "width", 31 },
		[SET_SPEED] = { "speed", 7 },
		[SET_EXTSPEED] = { "extspeed", 15 },
	};
	uint64_t v = 0;
	enum osr_status st = set_number(netfile, span, field[what].key, field[what].max, &v);

	if (st)
		return st;
	switch (what) {
	case SET_VENDID:
		netfile->vendid = (uint32_t)v;
		break;
	case SET_DEVID:
		netfile->devid = (uint32_t)v;
		break;
	case SET_SYSIMGGUID:
		netfile->sysimg_guid = v;
		break;
	case SET_WIDTH:
		netfile->width = netfile_width(v);
		break;
	case SET_SPEED:
		netfile->speed = (uint8_t)v;
		break;
	default:
		netfile->speed_ext = (uint8_t)v;
		break;
	}
	return OSR_OK;
}

/*
 * `key=value` lines. *known is false for a key that is none of ours; such lines are skipped like
 * any other text.
 */
static enum osr_status netfile_setting(struct netfile *netfile, struct osr__span span, bool *known)
{
	static const struct {
		const char *key;
		int field; /* enum setting, or -1 - enum osr_net_type for GUIDs */
	} keys[] = {
		{ "switchguid", -1 - OSR_NET_SWITCH },
		{ "hcaguids", -1 - OSR_NET_CA },
		{ "caguid", -1 - OSR_NET_CA },
		{ "rtguid", -1 - OSR_NET_ROUTER },
		{ "vendid", SET_VENDID },
		{ "devid", SET_DEVID },
		{ "sysimgguid", SET_SYSIMGGUID },
		{ "width", SET_WIDTH },
		{ "speed", SET_SPEED },
		{ "extspeed", SET_EXTSPEED },
	};

	*known = true;
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		struct osr__span v = span;
		bool relative;

		if (!osr__span_starts_with(span, keys[i].key))
			continue;
		v.at += strlen(keys[i].key);
		osr__span_skip_blanks(&v);
		relative = v.at < v.end && *v.at == '+';
		if (!relative && !osr__span_char(&v, '='))
			continue;
		v.at += relative;
		if (keys[i].field < 0)
			return set_guid_base(netfile, (enum osr_net_type)(-1 - keys[i].field), v,
					     relative);
		return set_field(netfile, (enum setting)keys[i].field, v);
	}
	if (osr__span_starts_with(span, "module=")) {
		span.at += strlen("module=");
		return set_module(netfile, span);
	}
	*known = false;
	return OSR_OK;
}

/* Node headers, and how nodes are found by their ids: a hash table, a constant per line. */
/* ---- node ids ------------------------------------------------------------------------------- */

/* The slot of this id: it holds the node, or OSR_NONE if there is no such node. */
static uint32_t *netfile_slot(const struct netfile *netfile, const char *id, size_t len)
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
static bool netfile_resize(struct netfile *netfile, uint32_t size)
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

		*netfile_slot(netfile, id, strlen(id)) = i;
	}
	return true;
}

/* An id with the module prefix in force, as ibsim composes it: prefix#id. */
static bool netfile_full_id(const struct netfile *netfile, uint32_t prefix, const char *id,
			    size_t len, char out[MAX_ID + 1])
{
	int n;

	if (len == 0 || len > MAX_ID)
		return false;
	if (prefix && !memchr(id, '#', len))
		n = snprintf(out, MAX_ID + 1, "%s#%.*s", netfile->net->names + prefix, (int)len,
			     id);
	else
		n = snprintf(out, MAX_ID + 1, "%.*s", (int)len, id);
	return n > 0 && n <= MAX_ID;
}

/* ---- node headers --------------------------------------------------------------------------- */

/* Node type of a header line; span then starts behind the word. */
static bool netfile_node_type(struct osr__span *span, enum osr_net_type *type)
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
static bool grow_notes(struct netfile *netfile)
{
	if (netfile->far_room < netfile->net->ports_room) {
		struct far_end *far =
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
	       netfile_resize(netfile, netfile->table_size * 2);
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
static enum osr_status netfile_lid(struct netfile *netfile, struct osr__span span, uint32_t port)
{
	uint64_t lid = 0, lmc = 0;
	bool bad_lid = false, bad_lmc = false;

	osr__span_number_after(span, "lid ", OSR_MAX_LID, &lid, &bad_lid);
	osr__span_number_after(span, "lmc ", 7, &lmc, &bad_lmc);
	if (bad_lid)
		return netfile_fail(netfile, netfile->line, "a LID is a number up to %u",
				    OSR_MAX_LID);
	if (bad_lmc)
		return netfile_fail(netfile, netfile->line, "an LMC is a number up to 7");
	netfile->net->ports[port].lid = (uint16_t)lid;
	netfile->net->ports[port].lmc = (uint8_t)lmc;
	return OSR_OK;
}

static enum osr_status parse_header_comment(struct netfile *netfile, struct osr__span span)
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
	return netfile_lid(netfile, span, node->port_row);
}

/*
 * One node for this header. vendid, devid and sysimgguid belong to the next node only; width, speed
 * and GUID bases stay in force, as in ibsim.
 */
static enum osr_status netfile_nodes_add_node(struct netfile *netfile, enum osr_net_type type,
					      uint32_t n_ports, struct osr__span id)
{
	struct osr_net *net = netfile->net;
	char full[MAX_ID + 1];
	uint32_t *slot, node;

	if (!netfile_full_id(netfile, netfile->prefix, id.at, (size_t)(id.end - id.at), full))
		return netfile_fail(netfile, netfile->line, "a node id has 1 to %d characters",
				    MAX_ID);
	slot = netfile_slot(netfile, full, strlen(full));
	if (*slot != OSR_NONE)
		return netfile_fail(netfile, netfile->line,
				    "node \"%s\" was already described in line %" PRIu32, full,
				    netfile->node_line[*slot]);
	node = osr_net_node(net, type, n_ports, full);
	if (net->failed == OSR_INVAL)
		return netfile_fail(netfile, netfile->line,
				    "more than %" PRIu32 " ports in all nodes together",
				    OSR_NET_MAX_PORTS);
	if (node == OSR_NONE)
		return netfile_nomem(netfile);
	*slot = node;
	if (!grow_notes(netfile))
		return netfile_nomem(netfile);
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
		port->speed = netfile_speed(netfile->speed, netfile->speed_ext);
		netfile_assume_width(port);
	}
	netfile->node = node;
	return OSR_OK;
}

static enum osr_status netfile_header(struct netfile *netfile, enum osr_net_type type,
				      struct osr__span span)
{
	enum osr_status st;
	uint64_t n_ports;
	struct osr__span id;

	osr__span_skip_blanks(&span);
	if (!osr__span_number(&span, OSR_NET_MAX_NODE_PORTS, &n_ports) || n_ports == 0)
		return netfile_fail(netfile, netfile->line, "a node has 1 to %d ports",
				    OSR_NET_MAX_NODE_PORTS);
	osr__span_skip_blanks(&span);
	if (!osr__span_quoted(&span, &id))
		return netfile_fail(netfile, netfile->line,
				    "expected the node's id in double quotes");
	st = netfile_nodes_add_node(netfile, type, (uint32_t)n_ports, id);
	return st ? st : parse_header_comment(netfile, span);
}

/* Port lines: the cable, the rate, LIDs. */
/* [7] */
static bool take_port(struct osr__span *span, uint64_t *port)
{
	return osr__span_char(span, '[') && osr__span_digits(span, 10, UINT32_MAX, port) &&
	       osr__span_char(span, ']');
}

/* [ext 5], which ibnetdiscover prints for modular switches: the label on the box, of no use here.
 */
static void skip_ext(struct osr__span *span)
{
	const char *close;

	if (!osr__span_starts_with(*span, "[ext"))
		return;
	close = memchr(span->at, ']', (size_t)(span->end - span->at));
	if (close)
		span->at = close + 1;
}

/* (2c902002789ad); *guid stays as it is if there is none. */
static bool netfile_ports_take_guid(struct osr__span *span, uint64_t *guid)
{
	if (!osr__span_char(span, '('))
		return true;
	if (osr__span_starts_with(*span, "0x"))
		span->at += 2;
	return osr__span_digits(span, 16, UINT64_MAX, guid) && osr__span_char(span, ')');
}

/* 4xQDR and the like: the first word that looks so. */
static void parse_rate(struct osr__span span, struct osr_net_port *port)
{
	while (span.at < span.end) {
		const char *word;

		osr__span_skip_blanks(&span);
		word = span.at;
		while (span.at < span.end && !osr__is_blank(*span.at))
			span.at++;
		if (osr_speed_parse(word, (size_t)(span.at - word), &port->width, &port->speed))
			return;
	}
}

/* The port options w=2 span=4 e=1 of ibsim: bits of enabled widths and speeds. */
static enum osr_status parse_options(struct netfile *netfile, struct osr__span span,
				     struct osr_net_port *port)
{
	uint64_t speed = netfile->speed, ext = netfile->speed_ext;
	const char *eq;

	while ((eq = memchr(span.at, '=', (size_t)(span.end - span.at)))) {
		char key = eq > span.at ? eq[-1] : 0;
		uint64_t v;

		span.at = eq + 1;
		if (!osr__span_number(&span, 31, &v))
			return netfile_fail(netfile, netfile->line,
					    "expected a number after \"%c=\"", key ? key : '?');
		if (key == 'w')
			port->width = netfile_width(v);
		else if (key == 's')
			speed = v ? v : 4;
		else if (key == 'e')
			ext = v;
		else
			continue;
		if (key != 'w')
			port->speed = netfile_speed(speed, ext);
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
static enum osr_status parse_port_rest(struct netfile *netfile, struct osr__span span,
				       uint32_t port)
{
	const struct osr_net_node *node = &netfile->net->nodes[netfile->node];
	const char *hash = memchr(span.at, '#', (size_t)(span.end - span.at));
	struct osr__span options = { span.at, hash ? hash : span.end }, own;
	const char *quote;
	enum osr_status st = parse_options(netfile, options, &netfile->net->ports[port]);

	if (st || !hash)
		return st;
	span.at = hash + 1;
	quote = memchr(span.at, '"', (size_t)(span.end - span.at));
	own = (struct osr__span){ span.at, quote ? quote : span.end };
	quote = memrchr(span.at, '"', (size_t)(span.end - span.at));
	if (quote)
		span.at = quote + 1;
	parse_rate(span, &netfile->net->ports[port]);
	return node->type == OSR_NET_SWITCH ? OSR_OK : netfile_lid(netfile, own, port);
}

/*
 * Remembers what this end says. The far node may stand further down in the file, so whether both
 * ends agree is found out when all lines are read.
 */
static enum osr_status note_far_end(struct netfile *netfile, uint32_t port, uint64_t port_num,
				    struct osr__span id, uint64_t far_port)
{
	struct far_end *far = &netfile->far[port];

	if (far->id)
		return netfile_fail(netfile, netfile->line,
				    "port %" PRIu64
				    " of \"%s\" was already described in line %" PRIu32,
				    port_num, osr_net_id(netfile->net, netfile->node), far->line);
	if (id.at == id.end)
		return netfile_fail(netfile, netfile->line,
				    "the far end of port %" PRIu64 " has an empty node id",
				    port_num);
	if (far_port == 0 || far_port > OSR_NET_MAX_NODE_PORTS)
		return netfile_fail(netfile, netfile->line,
				    "port %" PRIu64 " at the far end: 1 to %d are possible",
				    far_port, OSR_NET_MAX_NODE_PORTS);
	*far = (struct far_end){
		.id = id.at,
		.id_len = (uint32_t)(id.end - id.at),
		.prefix = netfile->prefix,
		.line = netfile->line,
		.port = (uint8_t)far_port,
	};
	return OSR_OK;
}

/* netfile_ports.c: a line such as [7] "S-01"[3]. */
static enum osr_status netfile_port(struct netfile *netfile, struct osr__span span)
{
	const struct osr_net_node *node;
	uint64_t port_num, far_port = 1, far_guid, guid;
	enum osr_status st;
	struct osr__span id;
	uint32_t port;

	if (netfile->node == OSR_NONE)
		return netfile_fail(netfile, netfile->line,
				    "a port outside of the block of a Switch, Ca or Rt");
	node = &netfile->net->nodes[netfile->node];
	if (!take_port(&span, &port_num))
		return netfile_fail(netfile, netfile->line, "expected a port number, as in [7]");
	if (port_num == 0 || port_num > node->n_ports)
		return netfile_fail(netfile, netfile->line,
				    "port %" PRIu64 " of \"%s\": it has ports 1 to %u", port_num,
				    osr_net_id(netfile->net, netfile->node), node->n_ports);
	port = node->port_row + (uint32_t)port_num;
	guid = netfile->net->ports[port].guid;
	skip_ext(&span);
	if (!netfile_ports_take_guid(&span, &guid))
		return netfile_fail(netfile, netfile->line, "expected a port GUID in parentheses");
	osr__span_skip_blanks(&span);
	if (!osr__span_quoted(&span, &id))
		return netfile_fail(netfile, netfile->line,
				    "expected the id of the far end in double quotes");
	if (span.at < span.end && *span.at == '[' && !osr__span_starts_with(span, "[ext") &&
	    !take_port(&span, &far_port))
		return netfile_fail(netfile, netfile->line,
				    "expected the port number of the far end, as in [7]");
	skip_ext(&span);
	if (!netfile_ports_take_guid(&span, &far_guid))
		return netfile_fail(netfile, netfile->line,
				    "expected the far end's port GUID in parentheses");
	st = note_far_end(netfile, port, port_num, id, far_port);
	if (st)
		return st;
	if (node->type != OSR_NET_SWITCH)
		netfile->net->ports[port].guid = guid;
	return parse_port_rest(netfile, span, port);
}

/* When all lines are read: which port is at the other end of which, and do both say so? */
/* The port at the other end according to `port`'s own line. */
static enum osr_status find_far_port(const struct netfile *netfile, uint32_t port,
				     uint32_t *far_port)
{
	const struct far_end *far = &netfile->far[port];
	char full[MAX_ID + 1];
	uint32_t node = OSR_NONE;

	if (netfile_full_id(netfile, far->prefix, far->id, far->id_len, full))
		node = *netfile_slot(netfile, full, strlen(full));
	if (node == OSR_NONE)
		return netfile_fail(
			netfile, far->line,
			"the cable goes to \"%.*s\", which the file does not describe (is it cut "
			"off?)",
			(int)(far->id_len < MAX_ID ? far->id_len : MAX_ID), far->id);
	*far_port = osr_net_port(netfile->net, node, far->port);
	if (*far_port == OSR_NONE)
		return netfile_fail(netfile, far->line,
				    "the cable goes to port %u of \"%s\", which has %u ports",
				    far->port, full, netfile->net->nodes[node].n_ports);
	return OSR_OK;
}

/* Names both ends and their lines; the likeliest cause, a file that was cut off, is offered. */
static enum osr_status disagree(const struct netfile *netfile, uint32_t port, uint32_t far_port)
{
	const struct osr_net *net = netfile->net;
	const struct far_end *other = &netfile->far[far_port];
	uint32_t far_node = net->ports[far_port].node;
	uint32_t far_num = osr_net_port_num(net, far_port);

	if (!other->id)
		return netfile_fail(netfile, netfile->far[port].line,
				    "the cable goes to \"%s\"[%" PRIu32
				    "], but the block of \"%s\" in line %" PRIu32
				    " does not mention that port (is the file cut off?)",
				    osr_net_id(net, far_node), far_num, osr_net_id(net, far_node),
				    netfile->node_line[far_node]);
	return netfile_fail(netfile, netfile->far[port].line,
			    "the cable goes to \"%s\"[%" PRIu32 "], but line %" PRIu32
			    " says that \"%.*s\"[%u] is at its other end",
			    osr_net_id(net, far_node), far_num, other->line,
			    (int)(other->id_len < MAX_ID ? other->id_len : MAX_ID), other->id,
			    other->port);
}

/*
 * Both ends of every cable, then whether they mean each other. Two passes, because the peer of a
 * port is only known once its own line is resolved.
 */
static enum osr_status netfile_tie(struct netfile *netfile)
{
	struct osr_net *net = netfile->net;

	for (uint32_t p = 0; p < net->n_ports; p++) {
		enum osr_status st;

		if (!netfile->far[p].id)
			continue;
		st = find_far_port(netfile, p, &net->ports[p].peer);
		if (st)
			return st;
	}
	for (uint32_t p = 0; p < net->n_ports; p++) {
		uint32_t peer = net->ports[p].peer;

		if (peer != OSR_NONE && net->ports[peer].peer != p)
			return disagree(netfile, p, peer);
	}
	return OSR_OK;
}

/* OpenSM and ibsim know nodes by their GUIDs: two with one GUID cannot be told apart. */
static enum osr_status netfile_check_guids(const struct netfile *netfile)
{
	const struct osr_net *net = netfile->net;
	const struct osr_net_node *node = net->nodes;
	uint32_t *list = osr_net_by_guid(net);
	enum osr_status st = OSR_OK;

	if (!list)
		return netfile_nomem(netfile);
	for (uint32_t i = 1; i < net->n_nodes && !st; i++)
		if (node[list[i]].guid == node[list[i - 1]].guid)
			st = netfile_fail(
				netfile, netfile->node_line[list[i]],
				"\"%s\" has the GUID 0x%016" PRIx64 " of \"%s\" in line %" PRIu32,
				osr_net_id(net, list[i]), node[list[i]].guid,
				osr_net_id(net, list[i - 1]), netfile->node_line[list[i - 1]]);
	free(list);
	return st;
}

/* ---- lines ---------------------------------------------------------------------------------- */

/*
 * Bytes no text has. Escape, form feed and the 8-bit range stay allowed: node descriptions are set
 * by whoever owns the host.
 */
static enum osr_status check_text(const struct netfile *netfile, struct osr__span span)
{
	for (; span.at < span.end; span.at++) {
		unsigned char c = (unsigned char)*span.at;

		if ((c < ' ' && c != '\t' && c != '\r' && c != '\f' && c != '\v' && c != 0x1b) ||
		    c == 0x7f)
			return netfile_fail(netfile, netfile->line,
					    "byte 0x%02x: this is not a text file", c);
	}
	return OSR_OK;
}

/* Nine of ten lines are ports: those first. An empty line ends a block, a stray one does not. */
static enum osr_status parse_line(struct netfile *netfile, struct osr__span span)
{
	struct osr__span rest = span;
	enum osr_net_type type;
	bool known;
	enum osr_status st = check_text(netfile, span);

	if (st)
		return st;
	if (span.at < span.end && *span.at == '[')
		return netfile_port(netfile, span);
	if (span.at < span.end && *span.at == '#')
		return OSR_OK;
	osr__span_skip_blanks(&rest);
	if (rest.at == rest.end) {
		netfile->node = OSR_NONE;
		return OSR_OK;
	}
	rest = span;
	if (netfile_node_type(&rest, &type))
		return netfile_header(netfile, type, rest);
	if (*span.at == '@')
		return netfile_fail(netfile, netfile->line,
				    "aliases (@) are not supported: name nodes by their ids");
	if (osr__span_starts_with(span, "include ") || osr__span_starts_with(span, "do "))
		return netfile_fail(netfile, netfile->line,
				    "\"%s\" is not supported: a fabric is one file",
				    *span.at == 'i' ? "include" : "do");
	st = netfile_setting(netfile, span, &known);
	if (known)
		netfile->node = OSR_NONE;
	return st;
}

/* The lines that start with '#' before anything else. */
static size_t head_size(const char *text, size_t size)
{
	size_t at = 0;

	while (at < size && text[at] == '#') {
		const char *eol = memchr(text + at, '\n', size - at);

		at = eol ? (size_t)(eol + 1 - text) : size;
	}
	return at;
}

/* The head says where a fabric comes from; what is made from it can say so too. */
static enum osr_status keep_comment(struct netfile *netfile, const char *text, size_t size)
{
	size_t head = head_size(text, size), n = 0;
	char *to = malloc(head + 1);

	if (!to)
		return netfile_nomem(netfile);
	for (size_t at = 0; at < head;) {
		const char *eol = memchr(text + at, '\n', head - at);
		size_t end = eol ? (size_t)(eol + 1 - text) : head;

		at += 1 + (at + 1 < end && text[at + 1] == ' ');
		memcpy(to + n, text + at, end - at);
		n += end - at;
		at = end;
	}
	to[n] = '\0';
	netfile->net->comment = to;
	return OSR_OK;
}

static enum osr_status parse_lines(struct netfile *netfile, const char *text, size_t size)
{
	const char *end = text + size;
	enum osr_status st = OSR_OK;

	for (const char *at = text; at < end && !st;) {
		const char *eol = memchr(at, '\n', (size_t)(end - at));

		netfile->line++;
		eol = eol ? eol : end;
		st = parse_line(netfile, (struct osr__span){ at, eol });
		if (!st && netfile->net->failed)
			st = netfile_nomem(netfile);
		at = eol + 1;
	}
	return st;
}

enum osr_status osr_netfile_parse(const char *text, size_t size, const char *label,
				  struct osr_net *net, struct osr_diag *diag)
{
	struct netfile netfile = { .label = label, .net = net, .diag = diag, .node = OSR_NONE };
	enum osr_status st;

	*net = (struct osr_net){ 0 };
	if (size > INT32_MAX)
		return osr_fail(diag, OSR_INVAL, "%s: %zu bytes: no fabric needs more than %d",
				label, size, INT32_MAX);
	st = netfile_resize(&netfile, 1024) ? parse_lines(&netfile, text, size)
					    : netfile_nomem(&netfile);
	if (!st)
		st = keep_comment(&netfile, text, size);
	if (!st && net->n_nodes == 0)
		st = osr_fail(diag, OSR_INVAL,
			      "%s: no Switch, Ca or Rt in it: expected the output of ibnetdiscover "
			      "or an ibsim net file",
			      label);
	if (!st)
		st = netfile_tie(&netfile);
	if (!st)
		st = netfile_check_guids(&netfile);
	free(netfile.far);
	free(netfile.node_line);
	free(netfile.table);
	if (st)
		osr_net_free(net);
	return st;
}

/* ---- files ---------------------------------------------------------------------------------- */

#define MAX_TEXT (UINT32_C(1) << 30) /* a full LID space has a tenth of this */

/*
 * All of a stream, which need not be seekable; of what is no text, up to its first byte 0, so that devices
 * which never end do.
 */
static char *slurp(FILE *in, size_t *size)
{
	size_t room = 1 << 16, n = 0, got;
	char *buf = malloc(room), *more;

	while (buf && (got = fread(buf + n, 1, room - n, in)) > 0) {
		n += got;
		if (memchr(buf + n - got, 0, got) || n > MAX_TEXT)
			break;
		if (n < room)
			continue;
		more = realloc(buf, room * 2);
		if (!more)
			free(buf);
		buf = more;
		room *= 2;
	}
	*size = n;
	return buf;
}

enum osr_status osr_netfile_read_stream(FILE *in, const char *label, struct osr_net *net,
					struct osr_diag *diag)
{
	enum osr_status st;
	size_t size;
	char *text;

	*net = (struct osr_net){ 0 };
	errno = 0;
	text = slurp(in, &size);
	if (!text)
		st = osr_fail(diag, OSR_NOMEM, "%s: out of memory reading it", label);
	else if (size > MAX_TEXT)
		st = osr_fail(diag, OSR_INVAL, "%s: more than 1 GiB: too large for a subnet",
			      label);
	else if (ferror(in))
		st = osr_fail(diag, OSR_INVAL, "%s: %s", label, strerror(errno));
	else
		st = osr_netfile_parse(text, size, label, net, diag);
	free(text);
	return st;
}

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

#include "io/speed.h"

/* ibsim keeps ids in 65 bytes, prefix included, and takes longer ones for equal. */
#define MAX_ID 64

/* A stretch of the text. */
struct span {
	const char *at;
	const char *end;
};

/* The far end of a port's cable as its own line gives it. */
struct far_end {
	const char *id; /* in the text; NULL: no line for this port */
	uint32_t id_len;
	uint32_t prefix; /* module in force, offset into names; 0 = none or already in the id */
	uint32_t line;
	uint8_t port;
};

struct reader {
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

static enum osr_status fail_at(const struct reader *r, uint32_t line, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* Every refusal of the parser begins with file and line, so that an editor can jump there. */
static enum osr_status fail_at(const struct reader *r, uint32_t line, const char *fmt, ...)
{
	char text[384];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	return osr_fail(r->diag, OSR_INVAL, "%s:%" PRIu32 ": %s", r->label, line, text);
}

static enum osr_status no_memory(const struct reader *r)
{
	return osr_fail(r->diag, OSR_NOMEM, "%s:%" PRIu32 ": out of memory after %" PRIu32 " nodes",
			r->label, r->line, r->net->n_nodes);
}

/* ---- scanning ------------------------------------------------------------------------------- */

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

static void skip_blanks(struct span *s)
{
	while (s->at < s->end && is_blank(*s->at))
		s->at++;
}

static bool take_char(struct span *s, char c)
{
	if (s->at == s->end || *s->at != c)
		return false;
	s->at++;
	return true;
}

static bool starts_with(struct span s, const char *word)
{
	size_t len = strlen(word);

	return (size_t)(s.end - s.at) >= len && !memcmp(s.at, word, len);
}

static int digit_value(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return 99;
}

/* Digits of this base; false if there are none or the number exceeds max. */
static bool take_digits(struct span *s, int base, uint64_t max, uint64_t *value)
{
	const char *first = s->at;
	uint64_t v = 0;

	for (; s->at < s->end && digit_value(*s->at) < base; s->at++) {
		uint64_t d = (uint64_t)digit_value(*s->at);

		if (v > (max - d) / (uint64_t)base || d > max)
			return false;
		v = v * (uint64_t)base + d;
	}
	*value = v;
	return s->at > first;
}

/* Decimal, or hexadecimal with 0x. */
static bool take_number(struct span *s, uint64_t max, uint64_t *value)
{
	if (starts_with(*s, "0x") || starts_with(*s, "0X")) {
		s->at += 2;
		return take_digits(s, 16, max, value);
	}
	return take_digits(s, 10, max, value);
}

/* "..." without the quotes. */
static bool take_quoted(struct span *s, struct span *inner)
{
	const char *close;

	if (!take_char(s, '"'))
		return false;
	close = memchr(s->at, '"', (size_t)(s->end - s->at));
	if (!close)
		return false;
	*inner = (struct span){ s->at, close };
	s->at = close + 1;
	return true;
}

static const char *find_in(struct span s, const char *word)
{
	return memmem(s.at, (size_t)(s.end - s.at), word, strlen(word));
}

/* The number behind `key ` anywhere in s. */
static bool number_after(struct span s, const char *key, uint64_t max, uint64_t *value, bool *bad)
{
	const char *at = find_in(s, key);

	if (!at)
		return false;
	s.at = at + strlen(key);
	*bad = !take_number(&s, max, value);
	return !*bad;
}

/* ---- node ids ------------------------------------------------------------------------------- */

/* The slot of this id: it holds the node, or OSR_NONE if there is no such node. */
static uint32_t *find_slot(const struct reader *r, const char *id, size_t len)
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
static bool table_resize(struct reader *r, uint32_t size)
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

		*find_slot(r, id, strlen(id)) = i;
	}
	return true;
}

/* An id with the module prefix in force, as ibsim composes it: prefix#id. */
static bool full_id(const struct reader *r, uint32_t prefix, const char *id, size_t len,
		    char out[MAX_ID + 1])
{
	int n;

	if (len == 0 || len > MAX_ID)
		return false;
	if (prefix && !memchr(id, '#', len))
		n = snprintf(out, MAX_ID + 1, "%s#%.*s", r->net->names + prefix, (int)len, id);
	else
		n = snprintf(out, MAX_ID + 1, "%.*s", (int)len, id);
	return n > 0 && n <= MAX_ID;
}

/* ---- settings ------------------------------------------------------------------------------- */

/* ibsim's LinkWidth bits, the widest wins. */
static uint8_t width_of_bits(uint64_t bits)
{
	return bits & 8 ? 12 : bits & 4 ? 8 : bits & 2 ? 4 : bits & 16 ? 2 : bits & 1 ? 1 : 0;
}

/* LinkSpeed and LinkSpeedExt bits, the fastest wins. */
static uint8_t speed_of_bits(uint64_t speed, uint64_t ext)
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
static void assume_width(struct osr_net_port *port)
{
	if (port->speed && !port->width)
		port->width = 4;
}

static enum osr_status set_guid_base(struct reader *r, enum osr_net_type type, struct span s,
				     bool relative)
{
	uint64_t guid;

	if (!take_number(&s, UINT64_MAX, &guid))
		return fail_at(r, r->line, "expected a GUID of 64 bits after \"=\"");
	if (!relative) {
		r->guid_base[type] = guid;
		r->guid_next[type] = guid;
	} else {
		r->guid_next[type] = r->guid_base[type] + guid;
	}
	r->guid_set[type] = true;
	return OSR_OK;
}

static enum osr_status set_module(struct reader *r, struct span s)
{
	struct span name;

	skip_blanks(&s);
	if (!take_quoted(&s, &name) || name.end - name.at > 20)
		return fail_at(r, r->line, "expected module=\"name\" of at most 20 characters");
	/* Offset 0 belongs to the first node's id or, here, to an empty string: never a module. */
	if (r->net->names_size == 0)
		osr_net_string(r->net, "", 0);
	r->prefix = name.at == name.end
			    ? 0
			    : osr_net_string(r->net, name.at, (size_t)(name.end - name.at));
	return OSR_OK;
}

static enum osr_status set_number(struct reader *r, struct span s, const char *key, uint64_t max,
				  uint64_t *value)
{
	skip_blanks(&s);
	if (!take_number(&s, max, value))
		return fail_at(r, r->line, "%s: expected a number up to %" PRIu64, key, max);
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

static enum osr_status set_field(struct reader *r, enum setting what, struct span s)
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
	enum osr_status st = set_number(r, s, field[what].key, field[what].max, &v);

	if (st)
		return st;
	switch (what) {
	case SET_VENDID:
		r->vendid = (uint32_t)v;
		break;
	case SET_DEVID:
		r->devid = (uint32_t)v;
		break;
	case SET_SYSIMGGUID:
		r->sysimg_guid = v;
		break;
	case SET_WIDTH:
		r->width = width_of_bits(v);
		break;
	case SET_SPEED:
		r->speed = (uint8_t)v;
		break;
	default:
		r->speed_ext = (uint8_t)v;
		break;
	}
	return OSR_OK;
}

/*
 * `key=value` lines. *known is false for a key that is none of ours; such lines are skipped like
 * any other text.
 */
static enum osr_status parse_setting(struct reader *r, struct span s, bool *known)
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
		struct span v = s;
		bool relative;

		if (!starts_with(s, keys[i].key))
			continue;
		v.at += strlen(keys[i].key);
		skip_blanks(&v);
		relative = v.at < v.end && *v.at == '+';
		if (!relative && !take_char(&v, '='))
			continue;
		v.at += relative;
		if (keys[i].field < 0)
			return set_guid_base(r, (enum osr_net_type)(-1 - keys[i].field), v,
					     relative);
		return set_field(r, (enum setting)keys[i].field, v);
	}
	if (starts_with(s, "module=")) {
		s.at += strlen("module=");
		return set_module(r, s);
	}
	*known = false;
	return OSR_OK;
}

/* ---- node headers --------------------------------------------------------------------------- */

/* Node type of a header line; s then starts behind the word. */
static bool take_node_type(struct span *s, enum osr_net_type *type)
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
		struct span rest = *s;

		if (!starts_with(*s, words[i].word))
			continue;
		rest.at += strlen(words[i].word);
		if (rest.at == rest.end || !is_blank(*rest.at))
			continue;
		*s = rest;
		*type = words[i].type;
		return true;
	}
	return false;
}

/* Grows far and node_line along with the net; new entries are zero. */
static bool grow_notes(struct reader *r)
{
	if (r->far_room < r->net->ports_room) {
		struct far_end *far = reallocarray(r->far, r->net->ports_room, sizeof(*far));

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
	return r->net->n_nodes * 2 <= r->table_size || table_resize(r, r->table_size * 2);
}

/* Without a base of its own for this type the node keeps the GUID that net.c counted for it. */
static void give_guid(struct reader *r, enum osr_net_type type, uint32_t node, uint32_t n_ports)
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
static struct span take_name(struct span *s)
{
	static const char *const stop[] = { " enhanced port ", " base port ", " lid ", " lmc " };
	const char *quote;
	struct span name;

	skip_blanks(s);
	if (take_quoted(s, &name))
		return name;
	name = *s;
	/* A lone quote cannot be part of a name: nobody could write it back. */
	quote = memchr(name.at, '"', (size_t)(name.end - name.at));
	name.end = quote ? quote : name.end;
	for (size_t i = 0; i < sizeof(stop) / sizeof(stop[0]); i++) {
		const char *at = find_in(name, stop[i]);

		if (at)
			name.end = at;
	}
	while (name.end > name.at && is_blank(name.end[-1]))
		name.end--;
	s->at = name.end;
	return name;
}

/*
 * "lid 9 lmc 0" in what may hold nothing of the kind. A number that is there must be a legal one:
 * a LID that is silently 0 would make the end port vanish from the fabric.
 */
static enum osr_status parse_lid(struct reader *r, struct span s, uint32_t port)
{
	uint64_t lid = 0, lmc = 0;
	bool bad_lid = false, bad_lmc = false;

	number_after(s, "lid ", OSR_MAX_LID, &lid, &bad_lid);
	number_after(s, "lmc ", 7, &lmc, &bad_lmc);
	if (bad_lid)
		return fail_at(r, r->line, "a LID is a number up to %u", OSR_MAX_LID);
	if (bad_lmc)
		return fail_at(r, r->line, "an LMC is a number up to 7");
	r->net->ports[port].lid = (uint16_t)lid;
	r->net->ports[port].lmc = (uint8_t)lmc;
	return OSR_OK;
}

static enum osr_status parse_header_comment(struct reader *r, struct span s)
{
	struct osr_net_node *node = &r->net->nodes[r->node];
	const char *hash = memchr(s.at, '#', (size_t)(s.end - s.at));
	struct span name;

	if (!hash)
		return OSR_OK;
	s.at = hash + 1;
	name = take_name(&s);
	if (name.end > name.at) {
		uint32_t at = osr_net_string(r->net, name.at, (size_t)(name.end - name.at));

		if (at)
			node->name = at;
	}
	if (node->type != OSR_NET_SWITCH)
		return OSR_OK;
	node->enhanced_sp0 = find_in(s, "enhanced port 0") != NULL;
	return parse_lid(r, s, node->port_row);
}

/*
 * One node for this header. vendid, devid and sysimgguid belong to the next node only; width, speed
 * and GUID bases stay in force, as in ibsim.
 */
static enum osr_status add_node(struct reader *r, enum osr_net_type type, uint32_t n_ports,
				struct span id)
{
	struct osr_net *net = r->net;
	char full[MAX_ID + 1];
	uint32_t *slot, node;

	if (!full_id(r, r->prefix, id.at, (size_t)(id.end - id.at), full))
		return fail_at(r, r->line, "a node id has 1 to %d characters", MAX_ID);
	slot = find_slot(r, full, strlen(full));
	if (*slot != OSR_NONE)
		return fail_at(r, r->line, "node \"%s\" was already described in line %" PRIu32,
			       full, r->node_line[*slot]);
	node = osr_net_node(net, type, n_ports, full);
	if (net->failed == OSR_INVAL)
		return fail_at(r, r->line, "more than %" PRIu32 " ports in all nodes together",
			       OSR_NET_MAX_PORTS);
	if (node == OSR_NONE)
		return no_memory(r);
	*slot = node;
	if (!grow_notes(r))
		return no_memory(r);
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
		port->speed = speed_of_bits(r->speed, r->speed_ext);
		assume_width(port);
	}
	r->node = node;
	return OSR_OK;
}

static enum osr_status parse_header(struct reader *r, enum osr_net_type type, struct span s)
{
	enum osr_status st;
	uint64_t n_ports;
	struct span id;

	skip_blanks(&s);
	if (!take_number(&s, OSR_NET_MAX_NODE_PORTS, &n_ports) || n_ports == 0)
		return fail_at(r, r->line, "a node has 1 to %d ports", OSR_NET_MAX_NODE_PORTS);
	skip_blanks(&s);
	if (!take_quoted(&s, &id))
		return fail_at(r, r->line, "expected the node's id in double quotes");
	st = add_node(r, type, (uint32_t)n_ports, id);
	return st ? st : parse_header_comment(r, s);
}

/* ---- port lines ----------------------------------------------------------------------------- */

/* [7] */
static bool take_port(struct span *s, uint64_t *port)
{
	return take_char(s, '[') && take_digits(s, 10, UINT32_MAX, port) && take_char(s, ']');
}

/* [ext 5], which ibnetdiscover prints for modular switches: the label on the box, of no use here.
 */
static void skip_ext(struct span *s)
{
	const char *close;

	if (!starts_with(*s, "[ext"))
		return;
	close = memchr(s->at, ']', (size_t)(s->end - s->at));
	if (close)
		s->at = close + 1;
}

/* (2c902002789ad); *guid stays as it is if there is none. */
static bool take_guid(struct span *s, uint64_t *guid)
{
	if (!take_char(s, '('))
		return true;
	if (starts_with(*s, "0x"))
		s->at += 2;
	return take_digits(s, 16, UINT64_MAX, guid) && take_char(s, ')');
}

/* 4xQDR and the like: the first word that looks so. */
static void parse_rate(struct span s, struct osr_net_port *port)
{
	while (s.at < s.end) {
		const char *word;

		skip_blanks(&s);
		word = s.at;
		while (s.at < s.end && !is_blank(*s.at))
			s.at++;
		if (osr_speed_parse(word, (size_t)(s.at - word), &port->width, &port->speed))
			return;
	}
}

/* The port options w=2 s=4 e=1 of ibsim: bits of enabled widths and speeds. */
static enum osr_status parse_options(struct reader *r, struct span s, struct osr_net_port *port)
{
	uint64_t speed = r->speed, ext = r->speed_ext;
	const char *eq;

	while ((eq = memchr(s.at, '=', (size_t)(s.end - s.at)))) {
		char key = eq > s.at ? eq[-1] : 0;
		uint64_t v;

		s.at = eq + 1;
		if (!take_number(&s, 31, &v))
			return fail_at(r, r->line, "expected a number after \"%c=\"",
				       key ? key : '?');
		if (key == 'w')
			port->width = width_of_bits(v);
		else if (key == 's')
			speed = v ? v : 4;
		else if (key == 'e')
			ext = v;
		else
			continue;
		if (key != 'w')
			port->speed = speed_of_bits(speed, ext);
		assume_width(port);
	}
	return OSR_OK;
}

/*
 * Behind the far end: options, then the comment. On a switch it is
 *	# "far name" lid 9 4xQDR		(the far end's LID)
 * and elsewhere
 *	# lid 4 lmc 0 "far name" lid 9 4xQDR	(own LID first)
 */
static enum osr_status parse_port_rest(struct reader *r, struct span s, uint32_t port)
{
	const struct osr_net_node *node = &r->net->nodes[r->node];
	const char *hash = memchr(s.at, '#', (size_t)(s.end - s.at));
	struct span options = { s.at, hash ? hash : s.end }, own = options;
	const char *quote;
	enum osr_status st = parse_options(r, options, &r->net->ports[port]);

	if (st || !hash)
		return st;
	s.at = hash + 1;
	quote = memchr(s.at, '"', (size_t)(s.end - s.at));
	own = (struct span){ s.at, quote ? quote : s.end };
	quote = memrchr(s.at, '"', (size_t)(s.end - s.at));
	if (quote)
		s.at = quote + 1;
	parse_rate(s, &r->net->ports[port]);
	return node->type == OSR_NET_SWITCH ? OSR_OK : parse_lid(r, own, port);
}

/*
 * Remembers what this end says. The far node may stand further down in the file, so whether both
 * ends agree is found out when all lines are read.
 */
static enum osr_status note_far_end(struct reader *r, uint32_t port, uint64_t port_num,
				    struct span id, uint64_t far_port)
{
	struct far_end *far = &r->far[port];

	if (far->id)
		return fail_at(r, r->line,
			       "port %" PRIu64 " of \"%s\" was already described in line %" PRIu32,
			       port_num, osr_net_id(r->net, r->node), far->line);
	if (id.at == id.end)
		return fail_at(r, r->line, "the far end of port %" PRIu64 " has an empty node id",
			       port_num);
	if (far_port == 0 || far_port > OSR_NET_MAX_NODE_PORTS)
		return fail_at(r, r->line, "port %" PRIu64 " at the far end: 1 to %d are possible",
			       far_port, OSR_NET_MAX_NODE_PORTS);
	*far = (struct far_end){
		.id = id.at,
		.id_len = (uint32_t)(id.end - id.at),
		.prefix = r->prefix,
		.line = r->line,
		.port = (uint8_t)far_port,
	};
	return OSR_OK;
}

static enum osr_status parse_port(struct reader *r, struct span s)
{
	const struct osr_net_node *node;
	uint64_t port_num, far_port = 1, far_guid, guid;
	enum osr_status st;
	struct span id;
	uint32_t port;

	if (r->node == OSR_NONE)
		return fail_at(r, r->line, "a port outside of the block of a Switch, Ca or Rt");
	node = &r->net->nodes[r->node];
	if (!take_port(&s, &port_num))
		return fail_at(r, r->line, "expected a port number, as in [7]");
	if (port_num == 0 || port_num > node->n_ports)
		return fail_at(r, r->line, "port %" PRIu64 " of \"%s\": it has ports 1 to %u",
			       port_num, osr_net_id(r->net, r->node), node->n_ports);
	port = node->port_row + (uint32_t)port_num;
	guid = r->net->ports[port].guid;
	skip_ext(&s);
	if (!take_guid(&s, &guid))
		return fail_at(r, r->line, "expected a port GUID in parentheses");
	skip_blanks(&s);
	if (!take_quoted(&s, &id))
		return fail_at(r, r->line, "expected the id of the far end in double quotes");
	if (s.at < s.end && *s.at == '[' && !starts_with(s, "[ext") && !take_port(&s, &far_port))
		return fail_at(r, r->line, "expected the port number of the far end, as in [7]");
	skip_ext(&s);
	if (!take_guid(&s, &far_guid))
		return fail_at(r, r->line, "expected the far end's port GUID in parentheses");
	st = note_far_end(r, port, port_num, id, far_port);
	if (st)
		return st;
	if (node->type != OSR_NET_SWITCH)
		r->net->ports[port].guid = guid;
	return parse_port_rest(r, s, port);
}

/* ---- lines ---------------------------------------------------------------------------------- */

/*
 * Bytes no text has. Escape, form feed and the 8-bit range stay allowed: node descriptions are set
 * by whoever owns the host.
 */
static enum osr_status check_text(const struct reader *r, struct span s)
{
	for (; s.at < s.end; s.at++) {
		unsigned char c = (unsigned char)*s.at;

		if ((c < ' ' && c != '\t' && c != '\r' && c != '\f' && c != '\v' && c != 0x1b) ||
		    c == 0x7f)
			return fail_at(r, r->line, "byte 0x%02x: this is not a text file", c);
	}
	return OSR_OK;
}

/* Nine of ten lines are ports: those first. An empty line ends a block, a stray one does not. */
static enum osr_status parse_line(struct reader *r, struct span s)
{
	struct span rest = s;
	enum osr_net_type type;
	bool known;
	enum osr_status st = check_text(r, s);

	if (st)
		return st;
	if (s.at < s.end && *s.at == '[')
		return parse_port(r, s);
	if (s.at < s.end && *s.at == '#')
		return OSR_OK;
	skip_blanks(&rest);
	if (rest.at == rest.end) {
		r->node = OSR_NONE;
		return OSR_OK;
	}
	rest = s;
	if (take_node_type(&rest, &type))
		return parse_header(r, type, rest);
	if (*s.at == '@')
		return fail_at(r, r->line,
			       "aliases (@) are not supported: name nodes by their ids");
	if (starts_with(s, "include ") || starts_with(s, "do "))
		return fail_at(r, r->line, "\"%s\" is not supported: a fabric is one file",
			       * s.at == 'i' ? "include" : "do");
	st = parse_setting(r, s, &known);
	if (known)
		r->node = OSR_NONE;
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
static enum osr_status keep_comment(struct reader *r, const char *text, size_t size)
{
	size_t head = head_size(text, size), n = 0;
	char *to = malloc(head + 1);

	if (!to)
		return no_memory(r);
	for (size_t at = 0; at < head;) {
		const char *eol = memchr(text + at, '\n', head - at);
		size_t end = eol ? (size_t)(eol + 1 - text) : head;

		at += 1 + (at + 1 < end && text[at + 1] == ' ');
		memcpy(to + n, text + at, end - at);
		n += end - at;
		at = end;
	}
	to[n] = '\0';
	r->net->comment = to;
	return OSR_OK;
}

static enum osr_status parse_lines(struct reader *r, const char *text, size_t size)
{
	const char *end = text + size;
	enum osr_status st = OSR_OK;

	for (const char *at = text; at < end && !st;) {
		const char *eol = memchr(at, '\n', (size_t)(end - at));

		r->line++;
		eol = eol ? eol : end;
		st = parse_line(r, (struct span){ at, eol });
		if (!st && r->net->failed)
			st = no_memory(r);
		at = eol + 1;
	}
	return st;
}

/* ---- cables --------------------------------------------------------------------------------- */

/* The port at the other end according to `port`'s own line. */
static enum osr_status find_far_port(const struct reader *r, uint32_t port, uint32_t *far_port)
{
	const struct far_end *far = &r->far[port];
	char full[MAX_ID + 1];
	uint32_t node = OSR_NONE;

	if (full_id(r, far->prefix, far->id, far->id_len, full))
		node = *find_slot(r, full, strlen(full));
	if (node == OSR_NONE)
		return fail_at(r, far->line,
			       "the cable goes to \"%.*s\", which the file does not describe (is "
			       "it cut off?)",
			       (int)(far->id_len < MAX_ID ? far->id_len : MAX_ID), far->id);
	*far_port = osr_net_port(r->net, node, far->port);
	if (*far_port == OSR_NONE)
		return fail_at(r, far->line,
			       "the cable goes to port %u of \"%s\", which has %u ports", far->port,
			       full, r->net->nodes[node].n_ports);
	return OSR_OK;
}

/* Names both ends and their lines; the likeliest cause, a file that was cut off, is offered. */
static enum osr_status disagree(const struct reader *r, uint32_t port, uint32_t far_port)
{
	const struct osr_net *net = r->net;
	const struct far_end *other = &r->far[far_port];
	uint32_t far_node = net->ports[far_port].node;
	uint32_t far_num = osr_net_port_num(net, far_port);

	if (!other->id)
		return fail_at(r, r->far[port].line,
			       "the cable goes to \"%s\"[%" PRIu32
			       "], but the block of \"%s\" in line %" PRIu32
			       " does not mention that port (is the file cut off?)",
			       osr_net_id(net, far_node), far_num, osr_net_id(net, far_node),
			       r->node_line[far_node]);
	return fail_at(r, r->far[port].line,
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
static enum osr_status tie_cables(struct reader *r)
{
	struct osr_net *net = r->net;

	for (uint32_t p = 0; p < net->n_ports; p++) {
		enum osr_status st;

		if (!r->far[p].id)
			continue;
		st = find_far_port(r, p, &net->ports[p].peer);
		if (st)
			return st;
	}
	for (uint32_t p = 0; p < net->n_ports; p++) {
		uint32_t peer = net->ports[p].peer;

		if (peer != OSR_NONE && net->ports[peer].peer != p)
			return disagree(r, p, peer);
	}
	return OSR_OK;
}

struct guid_node {
	uint64_t guid;
	uint32_t node;
};

static int by_guid(const void *a, const void *b)
{
	const struct guid_node *x = a, *y = b;

	if (x->guid != y->guid)
		return x->guid < y->guid ? -1 : 1;
	return x->node < y->node ? -1 : x->node > y->node;
}

/* OpenSM and ibsim know nodes by their GUIDs: two with one GUID cannot be told apart. */
static enum osr_status check_guids(const struct reader *r)
{
	const struct osr_net *net = r->net;
	struct guid_node *list = calloc((size_t)net->n_nodes + 1, sizeof(*list));
	enum osr_status st = OSR_OK;

	if (!list)
		return no_memory(r);
	for (uint32_t i = 0; i < net->n_nodes; i++)
		list[i] = (struct guid_node){ net->nodes[i].guid, i };
	qsort(list, net->n_nodes, sizeof(*list), by_guid);
	for (uint32_t i = 1; i < net->n_nodes && !st; i++)
		if (list[i].guid == list[i - 1].guid)
			st = fail_at(
				r, r->node_line[list[i].node],
				"\"%s\" has the GUID 0x%016" PRIx64 " of \"%s\" in line %" PRIu32,
				osr_net_id(net, list[i].node), list[i].guid,
				osr_net_id(net, list[i - 1].node), r->node_line[list[i - 1].node]);
	free(list);
	return st;
}

enum osr_status osr_netfile_parse(const char *text, size_t size, const char *label,
				  struct osr_net *net, struct osr_diag *diag)
{
	struct reader r = { .label = label, .net = net, .diag = diag, .node = OSR_NONE };
	enum osr_status st;

	*net = (struct osr_net){ 0 };
	if (size > INT32_MAX)
		return osr_fail(diag, OSR_INVAL, "%s: %zu bytes: no fabric needs more than %d",
				label, size, INT32_MAX);
	st = table_resize(&r, 1024) ? parse_lines(&r, text, size) : no_memory(&r);
	if (!st)
		st = keep_comment(&r, text, size);
	if (!st && net->n_nodes == 0)
		st = osr_fail(diag, OSR_INVAL,
			      "%s: no Switch, Ca or Rt in it: expected the output of ibnetdiscover "
			      "or an ibsim net file",
			      label);
	if (!st)
		st = tie_cables(&r);
	if (!st)
		st = check_guids(&r);
	free(r.far);
	free(r.node_line);
	free(r.table);
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
		st = osr_fail(diag, OSR_INVAL, "%s: more than 1 GiB: too large for a subnet", label);
	else if (ferror(in))
		st = osr_fail(diag, OSR_INVAL, "%s: %s", label, strerror(errno));
	else
		st = osr_netfile_parse(text, size, label, net, diag);
	free(text);
	return st;
}

enum osr_status osr_netfile_read(const char *path, struct osr_net *net, struct osr_diag *diag)
{
	bool is_stdin = !strcmp(path, "-");
	const char *label = is_stdin ? "standard input" : path;
	FILE *in = is_stdin ? stdin : fopen(path, "rb");
	enum osr_status st;

	*net = (struct osr_net){ 0 };
	if (!in)
		return osr_fail(diag, OSR_INVAL, "%s: %s", label, strerror(errno));
	st = osr_netfile_read_stream(in, label, net, diag);
	if (!is_stdin)
		fclose(in);
	return st;
}

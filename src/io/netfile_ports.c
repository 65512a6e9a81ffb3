/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Port lines: the cable, the rate, LIDs. */
#include "io/netfile_private.h"

#include <inttypes.h>
#include <string.h>

#include "io/speed.h"

/* [7] */
static bool take_port(struct osr__span *s, uint64_t *port)
{
	return osr__span_char(s, '[') && osr__span_digits(s, 10, UINT32_MAX, port) &&
	       osr__span_char(s, ']');
}

/* [ext 5], which ibnetdiscover prints for modular switches: the label on the box, of no use here.
 */
static void skip_ext(struct osr__span *s)
{
	const char *close;

	if (!osr__span_starts_with(*s, "[ext"))
		return;
	close = memchr(s->at, ']', (size_t)(s->end - s->at));
	if (close)
		s->at = close + 1;
}

/* (2c902002789ad); *guid stays as it is if there is none. */
static bool take_guid(struct osr__span *s, uint64_t *guid)
{
	if (!osr__span_char(s, '('))
		return true;
	if (osr__span_starts_with(*s, "0x"))
		s->at += 2;
	return osr__span_digits(s, 16, UINT64_MAX, guid) && osr__span_char(s, ')');
}

/* 4xQDR and the like: the first word that looks so. */
static void parse_rate(struct osr__span s, struct osr_net_port *port)
{
	while (s.at < s.end) {
		const char *word;

		osr__span_skip_blanks(&s);
		word = s.at;
		while (s.at < s.end && !osr__is_blank(*s.at))
			s.at++;
		if (osr_speed_parse(word, (size_t)(s.at - word), &port->width, &port->speed))
			return;
	}
}

/* The port options w=2 s=4 e=1 of ibsim: bits of enabled widths and speeds. */
static enum osr_status parse_options(struct osr__netfile *r, struct osr__span s,
				     struct osr_net_port *port)
{
	uint64_t speed = r->speed, ext = r->speed_ext;
	const char *eq;

	while ((eq = memchr(s.at, '=', (size_t)(s.end - s.at)))) {
		char key = eq > s.at ? eq[-1] : 0;
		uint64_t v;

		s.at = eq + 1;
		if (!osr__span_number(&s, 31, &v))
			return osr__netfile_fail(r, r->line, "expected a number after \"%c=\"",
						 key ? key : '?');
		if (key == 'w')
			port->width = osr__netfile_width(v);
		else if (key == 's')
			speed = v ? v : 4;
		else if (key == 'e')
			ext = v;
		else
			continue;
		if (key != 'w')
			port->speed = osr__netfile_speed(speed, ext);
		osr__netfile_assume_width(port);
	}
	return OSR_OK;
}

/*
 * Behind the far end: options, then the comment. On a switch it is
 *	# "far name" lid 9 4xQDR		(the far end's LID)
 * and elsewhere
 *	# lid 4 lmc 0 "far name" lid 9 4xQDR	(own LID first)
 */
static enum osr_status parse_port_rest(struct osr__netfile *r, struct osr__span s, uint32_t port)
{
	const struct osr_net_node *node = &r->net->nodes[r->node];
	const char *hash = memchr(s.at, '#', (size_t)(s.end - s.at));
	struct osr__span options = { s.at, hash ? hash : s.end }, own;
	const char *quote;
	enum osr_status st = parse_options(r, options, &r->net->ports[port]);

	if (st || !hash)
		return st;
	s.at = hash + 1;
	quote = memchr(s.at, '"', (size_t)(s.end - s.at));
	own = (struct osr__span){ s.at, quote ? quote : s.end };
	quote = memrchr(s.at, '"', (size_t)(s.end - s.at));
	if (quote)
		s.at = quote + 1;
	parse_rate(s, &r->net->ports[port]);
	return node->type == OSR_NET_SWITCH ? OSR_OK : osr__netfile_lid(r, own, port);
}

/*
 * Remembers what this end says. The far node may stand further down in the file, so whether both
 * ends agree is found out when all lines are read.
 */
static enum osr_status note_far_end(struct osr__netfile *r, uint32_t port, uint64_t port_num,
				    struct osr__span id, uint64_t far_port)
{
	struct osr__far_end *far = &r->far[port];

	if (far->id)
		return osr__netfile_fail(r, r->line,
					 "port %" PRIu64
					 " of \"%s\" was already described in line %" PRIu32,
					 port_num, osr_net_id(r->net, r->node), far->line);
	if (id.at == id.end)
		return osr__netfile_fail(r, r->line,
					 "the far end of port %" PRIu64 " has an empty node id",
					 port_num);
	if (far_port == 0 || far_port > OSR_NET_MAX_NODE_PORTS)
		return osr__netfile_fail(r, r->line,
					 "port %" PRIu64 " at the far end: 1 to %d are possible",
					 far_port, OSR_NET_MAX_NODE_PORTS);
	*far = (struct osr__far_end){
		.id = id.at,
		.id_len = (uint32_t)(id.end - id.at),
		.prefix = r->prefix,
		.line = r->line,
		.port = (uint8_t)far_port,
	};
	return OSR_OK;
}

enum osr_status osr__netfile_port(struct osr__netfile *r, struct osr__span s)
{
	const struct osr_net_node *node;
	uint64_t port_num, far_port = 1, far_guid, guid;
	enum osr_status st;
	struct osr__span id;
	uint32_t port;

	if (r->node == OSR_NONE)
		return osr__netfile_fail(r, r->line,
					 "a port outside of the block of a Switch, Ca or Rt");
	node = &r->net->nodes[r->node];
	if (!take_port(&s, &port_num))
		return osr__netfile_fail(r, r->line, "expected a port number, as in [7]");
	if (port_num == 0 || port_num > node->n_ports)
		return osr__netfile_fail(r, r->line,
					 "port %" PRIu64 " of \"%s\": it has ports 1 to %u",
					 port_num, osr_net_id(r->net, r->node), node->n_ports);
	port = node->port_row + (uint32_t)port_num;
	guid = r->net->ports[port].guid;
	skip_ext(&s);
	if (!take_guid(&s, &guid))
		return osr__netfile_fail(r, r->line, "expected a port GUID in parentheses");
	osr__span_skip_blanks(&s);
	if (!osr__span_quoted(&s, &id))
		return osr__netfile_fail(r, r->line,
					 "expected the id of the far end in double quotes");
	if (s.at < s.end && *s.at == '[' && !osr__span_starts_with(s, "[ext") &&
	    !take_port(&s, &far_port))
		return osr__netfile_fail(r, r->line,
					 "expected the port number of the far end, as in [7]");
	skip_ext(&s);
	if (!take_guid(&s, &far_guid))
		return osr__netfile_fail(r, r->line,
					 "expected the far end's port GUID in parentheses");
	st = note_far_end(r, port, port_num, id, far_port);
	if (st)
		return st;
	if (node->type != OSR_NET_SWITCH)
		r->net->ports[port].guid = guid;
	return parse_port_rest(r, s, port);
}

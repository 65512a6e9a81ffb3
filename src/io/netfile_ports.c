/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Port lines: the cable, the rate, LIDs. */
#include "io/netfile_private.h"

#include <inttypes.h>
#include <string.h>

#include "io/speed.h"

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
static enum osr_status parse_options(struct osr__netfile *netfile, struct osr__span span,
				     struct osr_net_port *port)
{
	uint64_t speed = netfile->speed, ext = netfile->speed_ext;
	const char *eq;

	while ((eq = memchr(span.at, '=', (size_t)(span.end - span.at)))) {
		char key = eq > span.at ? eq[-1] : 0;
		uint64_t v;

		span.at = eq + 1;
		if (!osr__span_number(&span, 31, &v))
			return osr__netfile_fail(netfile, netfile->line,
						 "expected a number after \"%c=\"",
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
static enum osr_status parse_port_rest(struct osr__netfile *netfile, struct osr__span span,
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
	return node->type == OSR_NET_SWITCH ? OSR_OK : osr__netfile_lid(netfile, own, port);
}

/*
 * Remembers what this end says. The far node may stand further down in the file, so whether both
 * ends agree is found out when all lines are read.
 */
static enum osr_status note_far_end(struct osr__netfile *netfile, uint32_t port, uint64_t port_num,
				    struct osr__span id, uint64_t far_port)
{
	struct osr__far_end *far = &netfile->far[port];

	if (far->id)
		return osr__netfile_fail(
			netfile, netfile->line,
			"port %" PRIu64 " of \"%s\" was already described in line %" PRIu32,
			port_num, osr_net_id(netfile->net, netfile->node), far->line);
	if (id.at == id.end)
		return osr__netfile_fail(netfile, netfile->line,
					 "the far end of port %" PRIu64 " has an empty node id",
					 port_num);
	if (far_port == 0 || far_port > OSR_NET_MAX_NODE_PORTS)
		return osr__netfile_fail(netfile, netfile->line,
					 "port %" PRIu64 " at the far end: 1 to %d are possible",
					 far_port, OSR_NET_MAX_NODE_PORTS);
	*far = (struct osr__far_end){
		.id = id.at,
		.id_len = (uint32_t)(id.end - id.at),
		.prefix = netfile->prefix,
		.line = netfile->line,
		.port = (uint8_t)far_port,
	};
	return OSR_OK;
}

enum osr_status osr__netfile_port(struct osr__netfile *netfile, struct osr__span span)
{
	const struct osr_net_node *node;
	uint64_t port_num, far_port = 1, far_guid, guid;
	enum osr_status st;
	struct osr__span id;
	uint32_t port;

	if (netfile->node == OSR_NONE)
		return osr__netfile_fail(netfile, netfile->line,
					 "a port outside of the block of a Switch, Ca or Rt");
	node = &netfile->net->nodes[netfile->node];
	if (!take_port(&span, &port_num))
		return osr__netfile_fail(netfile, netfile->line,
					 "expected a port number, as in [7]");
	if (port_num == 0 || port_num > node->n_ports)
		return osr__netfile_fail(
			netfile, netfile->line, "port %" PRIu64 " of \"%s\": it has ports 1 to %u",
			port_num, osr_net_id(netfile->net, netfile->node), node->n_ports);
	port = node->port_row + (uint32_t)port_num;
	guid = netfile->net->ports[port].guid;
	skip_ext(&span);
	if (!netfile_ports_take_guid(&span, &guid))
		return osr__netfile_fail(netfile, netfile->line,
					 "expected a port GUID in parentheses");
	osr__span_skip_blanks(&span);
	if (!osr__span_quoted(&span, &id))
		return osr__netfile_fail(netfile, netfile->line,
					 "expected the id of the far end in double quotes");
	if (span.at < span.end && *span.at == '[' && !osr__span_starts_with(span, "[ext") &&
	    !take_port(&span, &far_port))
		return osr__netfile_fail(netfile, netfile->line,
					 "expected the port number of the far end, as in [7]");
	skip_ext(&span);
	if (!netfile_ports_take_guid(&span, &far_guid))
		return osr__netfile_fail(netfile, netfile->line,
					 "expected the far end's port GUID in parentheses");
	st = note_far_end(netfile, port, port_num, id, far_port);
	if (st)
		return st;
	if (node->type != OSR_NET_SWITCH)
		netfile->net->ports[port].guid = guid;
	return parse_port_rest(netfile, span, port);
}

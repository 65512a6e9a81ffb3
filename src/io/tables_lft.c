/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Forwarding tables, in whichever form they come:
 *
 *	Unicast lids [0-24] of switch Lid 9 guid 0x0000000000200000 ('leaf-0'):
 *	0x0001 001 # Channel Adapter portguid 0x0000000000100001: 'h0000'
 *	24 lids dumped
 *
 *	Unicast lids [0x0-0x8f] of switch Lid 4 guid 0x0002c9020040b0e0 (Infiniscale-IV):
 *	  Lid  Out   Destination
 *	0x0001 016 : (Channel Adapter portguid 0x0002c9030002da23: 'bonobo020 HCA-1')
 *
 *	dump_ucast_routes: Switch 0x0002c90109fb0000
 *	LID    : Port : Hops : Optimal
 *	0x0001 : 005  : 05   : yes
 *	0x0002 : UNREACHABLE
 */
#include "io/tables_private.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct lft_reader {
	struct osr_tables *t;
	struct osr_lines *in;
	uint32_t sw; /* whose entries follow; OSR_NONE before the first */
	uint32_t n_tables;
	uint64_t *guid; /* [n_dests] port GUID that the file gives to a LID, 0 = none so far */
	uint64_t first_foreign, foreign_lid; /* line and LID */
	uint32_t n_ended;                    /* tables that had a last line */
	bool ended;
};

/* The head line of a table, of either form: its GUID is what stands behind `mark`. */
static enum osr_status take_head(struct lft_reader *reader, const char *text, const char *mark)
{
	const char *at = strstr(text, mark);
	uint64_t guid;
	struct osr_tables *tables;
	enum osr_status st;
	char buf[32];

	if (at)
		at += strlen(mark);
	if (!at || !osr_take_0x(&at, UINT64_MAX, &guid))
		return osr_lines_fail(reader->in, "a table without the GUID of its switch");
	tables = reader->t;
	st = osr__tables_switch(tables, reader->in, guid, &reader->sw);
	if (st)
		return st;
	if (tables->has_lft[reader->sw])
		return osr_lines_fail(reader->in, "a second table of switch %s",
				      osr_switch_name(tables->f, reader->sw, buf));
	tables->has_lft[reader->sw] = true;
	reader->n_tables++;
	reader->ended = false;
	return OSR_OK;
}

/*
 * Does this LID belong to this port GUID? Where the GUIDs of the fabric are made up (its file had
 * none), nobody can say.
 */
static enum osr_status check_owner(struct lft_reader *reader, uint32_t d, uint64_t guid)
{
	const struct osr_fabric *fabric = reader->t->f;
	uint32_t term = fabric->dest_term[d], n, m;
	const struct osr_owner *node;
	char buf[32];

	if (reader->guid[d] && reader->guid[d] != guid)
		return osr_lines_fail(reader->in,
				      "LID %u belongs to 0x%016" PRIx64 " here and to 0x%016" PRIx64
				      " before",
				      fabric->dest_lid[d], guid, reader->guid[d]);
	reader->guid[d] = guid;
	if (fabric->term_guid[term] == guid)
		return OSR_OK;
	node = osr_tables_owner(reader->t, guid, true, &m);
	for (uint32_t i = 0; i < m; i++)
		if (node[i].term == term)
			return OSR_OK;
	osr_tables_owner(reader->t, guid, false, &n);
	if (!n && !m)
		return OSR_OK;
	return osr_lines_fail(reader->in,
			      "LID %u belongs to 0x%016" PRIx64 " here, but to %s (0x%016" PRIx64
			      ") in the fabric",
			      fabric->dest_lid[d], guid, osr_terminal_name(fabric, term, buf),
			      fabric->term_guid[term]);
}

static enum osr_status tables_lft_take_entry(struct lft_reader *reader, const char *text)
{
	uint64_t lid, port = OSR_NO_PATH, guid;
	const char *at = text, *rest;
	bool good = osr_take_0x(&at, UINT64_MAX, &lid);
	const struct osr_fabric *fabric;
	uint32_t d;
	uint8_t *entry;

	osr_skip_blanks(&at);
	if (good && osr_take_word(&at, ":")) {
		osr_skip_blanks(&at);
		good = osr_take_word(&at, "UNREACHABLE") || osr_take_decimal(&at, 255, &port);
	} else if (good) {
		good = osr_take_decimal(&at, 255, &port);
	}
	if (!good || reader->sw == OSR_NONE || (*at && *at != ' ' && *at != '\t'))
		return osr_lines_fail(reader->in,
				      "expected \"0xLID PORT\" below the head line of a table");
	if (lid > OSR_MAX_LID)
		return osr_lines_fail(reader->in, "LID 0x%" PRIx64 " is not unicast", lid);
	rest = at;
	fabric = reader->t->f;
	d = osr__dest_of_lid(fabric, lid);
	if (d == OSR_NONE) {
		if (!reader->first_foreign && lid) {
			reader->first_foreign = reader->in->number;
			reader->foreign_lid = lid;
		}
		reader->t->n_foreign += lid != 0;
		return OSR_OK;
	}
	if (port > fabric->sw_n_ports[reader->sw] && port != OSR_NO_PATH)
		return osr_lines_fail(reader->in,
				      "port %" PRIu64 " exceeds the %u ports of the switch", port,
				      fabric->sw_n_ports[reader->sw]);
	entry = &reader->t->routing.lft[(size_t)d * fabric->n_switches + reader->sw];
	if (*entry != OSR_NO_PATH && *entry != port)
		return osr_lines_fail(reader->in,
				      "port %" PRIu64 " for LID %" PRIu64
				      ", which had port %u before",
				      port, lid, *entry);
	*entry = (uint8_t)port;
	reader->t->n_entries++;
	rest = strstr(rest, " portguid ");
	if (!rest)
		return OSR_OK;
	rest += strlen(" portguid ");
	if (!osr_take_0x(&rest, UINT64_MAX, &guid))
		return osr_lines_fail(reader->in, "a port GUID that is no number");
	return reader->guid[d] == guid ? OSR_OK : check_owner(reader, d, guid);
}

/* Headings of columns and totals: words, of which nothing is needed. */
static bool is_heading(const char *text)
{
	uint64_t n;

	osr_skip_blanks(&text);
	if (osr_take_word(&text, "Lid ") || osr_take_word(&text, "LID ") ||
	    osr_take_word(&text, "Port "))
		return true;
	return osr_take_decimal(&text, UINT64_MAX, &n) && strstr(text, "lids dumped");
}

static enum osr_status tables_lft_take_line(struct lft_reader *reader, const char *text)
{
	if (text[0] == '0' && text[1] == 'x')
		return tables_lft_take_entry(reader, text);
	if (!strncmp(text, "Unicast lids", 12))
		return take_head(reader, text, " guid ");
	if (strstr(text, "dump_ucast_routes: Switch "))
		return take_head(reader, text, "dump_ucast_routes: Switch ");
	if (strstr(text, "lids dumped") && !reader->ended) {
		reader->ended = true;
		reader->n_ended++;
	}
	if (osr__is_filler(text) || is_heading(text))
		return OSR_OK;
	return osr_lines_fail(reader->in, "neither an entry nor a head line of a forwarding table");
}

static enum osr_status tables_lft_finish(const struct lft_reader *reader)
{
	char buf[32];

	if (!reader->n_tables)
		return osr_fail(reader->in->diag, OSR_INVAL,
				"%s: holds no table (expected an opensm-lfts.dump or opensm.fdbs)",
				reader->in->label);
	if (reader->n_ended && !reader->ended)
		return osr_lines_fail(reader->in,
				      "the file ends before the table of switch %s does",
				      osr_switch_name(reader->t->f, reader->sw, buf));
	if (!reader->t->n_entries && reader->first_foreign)
		return osr_fail(reader->in->diag, OSR_INVAL,
				"%s:%" PRIu64 ": no port in the fabric has LID %" PRIu64
				" or any other of the file: these tables belong to another fabric",
				reader->in->label, reader->first_foreign, reader->foreign_lid);
	return OSR_OK;
}

enum osr_status osr_tables_parse_lfts(struct osr_tables *tables, struct osr_lines *in)
{
	struct osr_arena_mark mark = osr_arena_mark(tables->arena);
	struct lft_reader reader = { .t = tables, .in = in, .sw = OSR_NONE };
	enum osr_status st = OSR_OK;
	char *text;

	reader.guid = osr_calloc(tables->arena, tables->f->n_dests, sizeof(*reader.guid));
	if (osr_arena_failed(tables->arena, in->diag))
		return OSR_NOMEM;
	while (!st && osr_lines_next(in, &text, &st))
		st = tables_lft_take_line(&reader, text);
	if (!st)
		st = tables_lft_finish(&reader);
	osr_arena_reset(tables->arena, mark);
	return st;
}

/*
 * LMCs, which an opensm-subnet.lst does not say, out of an opensm-lfts.dump, which says whose each LID is:
 *
 *	0x0004 003 # Channel Adapter portguid 0x0000000000100001: 'h0000'
 *	0x0005 003 # Channel Adapter portguid 0x0000000000100001: 'h0000'
 */

/* A line's LID and owner; false for any other line. */
static bool take_lid(const char *text, struct osr_keyed *l)
{
	const char *guid = strstr(text, " portguid ");
	uint64_t lid;

	if (!guid || text[0] != '0' || !osr_take_0x(&text, OSR_MAX_LID, &lid) || !lid)
		return false;
	guid += strlen(" portguid ");
	l->index = (uint32_t)lid;
	return osr_take_0x(&guid, UINT64_MAX, &l->key);
}

/* 2^LMC LIDs from a multiple of their number on: what a LID and an LMC can be. */
static bool can_be_lmc(uint32_t lid, uint8_t lmc, uint32_t last)
{
	return lmc <= 7 && lid % (1u << lmc) == 0 && last < lid + (1u << lmc);
}

/* The least LMC with which the port has all the LIDs that it has entries for; some may lack one. */
static uint8_t least_lmc(uint16_t lid, const struct osr_keyed *l, uint32_t first, uint32_t end)
{
	uint8_t lmc = 0;

	if (first == end || l[first].index < lid)
		return 0;
	while (lmc < 7 && l[end - 1].index >= lid + (1u << lmc))
		lmc++;
	return can_be_lmc(lid, lmc, l[end - 1].index) ? lmc : 0;
}

/* Has nobody else an entry for a LID of this range? */
static bool range_is_free(const uint64_t *owner, uint64_t guid, uint16_t lid, uint8_t lmc)
{
	for (uint32_t i = lid; i < lid + (1u << lmc); i++)
		if (i > OSR_MAX_LID || (owner[i] && owner[i] != guid))
			return false;
	return true;
}

static bool tables_lmc_is_end_port(const struct osr_net *net, uint32_t port)
{
	return net->nodes[net->ports[port].node].type != OSR_NET_SWITCH && net->ports[port].lid;
}

enum osr_status osr_tables_lmcs(struct osr_lines *in, struct osr_net *net)
{
	struct osr_keyed *l = malloc((OSR_MAX_LID + 1) * sizeof(*l));
	uint64_t *owner = calloc(OSR_MAX_LID + 1, sizeof(*owner)); /* GUIDs by LID */
	enum osr_status st = OSR_OK;
	uint32_t n = 0, n_heads = 0;
	char *text;

	if (!l || !owner)
		st = osr_lines_nomem(in);
	/* One switch knows all of them; a LID that was given twice is reported later, with its line. */
	while (n_heads < 2 && n <= OSR_MAX_LID && osr_lines_next(in, &text, &st)) {
		n_heads += !strncmp(text, "Unicast lids", 12);
		n += take_lid(text, &l[n]);
	}
	if (!st) {
		uint32_t n_with[8] = { 0 }, first, end;
		uint8_t usual = 0;

		/*
		 * A LID may lack its entries on all switches, which must not make it nobody's LID:
		 * a port has at least the LMC that most have, if the LIDs are there to be had.
		 */
		osr_keyed_sort(l, n);
		for (uint32_t i = 0; i < n; i++)
			owner[l[i].index] = l[i].key;
		for (uint32_t port = 0; port < net->n_ports; port++) {
			struct osr_net_port *net_port = &net->ports[port];

			if (!tables_lmc_is_end_port(net, port))
				continue;
			for (end = first = osr_keyed_at(l, n, net_port->guid);
			     end < n && l[end].key == net_port->guid;)
				end++;
			if (end > first)
				net_port->lmc = least_lmc(net_port->lid, l, first, end);
			n_with[net_port->lmc & 7]++;
		}
		for (uint8_t lmc = 1; lmc <= 7; lmc++)
			usual = n_with[lmc] > n_with[usual] ? lmc : usual;
		for (uint32_t port = 0; port < net->n_ports; port++) {
			struct osr_net_port *net_port = &net->ports[port];

			if (tables_lmc_is_end_port(net, port) && net_port->lmc < usual &&
			    can_be_lmc(net_port->lid, usual, net_port->lid) &&
			    range_is_free(owner, net_port->guid, net_port->lid, usual))
				net_port->lmc = usual;
		}
	}
	free(l);
	free(owner);
	osr_lines_close(in);
	return st;
}

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

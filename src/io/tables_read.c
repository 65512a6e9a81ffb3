/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The files of tables.h, line by line: a head line names a switch or end ports, and the lines below
 * it are its entries.
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
 *
 * SL2VL tables, in the forms of OpenSM and of ibdmchk; an end port has one table, whatever ports
 * its line names:
 *
 *	Switch 0x0002c902004050f8, base LID 13, "MF0;switch-112090:MTS3600/U1"
 *	#in out : 0  1  2  3  4  5  6  7  8  9  10 11 12 13 14 15
 *	14  11  : 0  1  2  3  4  5  6  7  8  9  10 11 12 13 14 7
 *
 *	0x0002c90000000201 5 1 0x01 0x23 0x45 0x67 0x89 0xab 0xcd 0xe7
 *
 * SLs of paths, in the compact form of pathsl.h, a digit for each LID, and in the two forms of
 * ibdmchk (-c), where the last is GUID of the node, LID, SL:
 *
 *	Senders on switch 0x0000000000200000 "s-0"
 *	0x0001 : 0010-11
 *
 *	Channel Adapter 0x0000000000100001, base LID 1, "h0000"
 *	0x0002 : 0
 *
 *	0x0000000000100000 2 0
 *
 * Multicast tables:
 *
 *	Switch 0x0002c9010bb90090
 *	LID    : Out Port(s)
 *	0xC000 : 0x007  0x00A
 */
#include "io/tables.h"

#include <osmroutes/invariant.h>

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "io/keyed.h"

struct reader {
	struct osr_tables *tables;
	const struct osr_fabric *fabric;
	struct osr_lines *in;
	/* The subject of the last head line: a switch, or these end ports. */
	uint64_t guid;
	uint32_t sw;
	const struct osr_keyed *owner;
	uint32_t n_owners;
	uint32_t n_rows; /* tables; rows of path SLs or SL2VL tables */
	/* LFTs: */
	uint64_t *port_guid; /* [n_dests] port GUID that the file gives to a LID, 0 = none so far */
	uint64_t first_foreign, foreign_lid; /* line and LID */
	bool ended, any_ended;               /* the last table, some table had a last line */
	/* Paths: */
	bool compact;            /* digits follow, for all end ports of the switch */
	struct osr_keyed sender; /* its first end port, whose row they share */
	uint32_t *row;           /* [n_terminals] */
	uint8_t *sl;             /* [room * n_dests], of malloc */
	uint32_t room;
};

/* The switch with the node GUID at *at, which is left behind it. */
static enum osr_status take_switch(struct reader *reader, const char **at)
{
	if (!osr_scan(at, "%x", &reader->guid))
		return osr_lines_fail(reader->in, "a table without the GUID of its switch");
	reader->sw = osr_fabric_switch_by_guid(reader->fabric, reader->guid);
	if (reader->sw != OSR_NONE)
		return OSR_OK;
	return osr_lines_fail(reader->in,
			      "the fabric has no switch 0x%016" PRIx64
			      ": these tables belong to another fabric",
			      reader->guid);
}

/*
 * A switch, or the end ports of a port or (in ibdmchk's forms) of a node. A port 0 without a LID is
 * no end port.
 */
static enum osr_status take_ends(struct reader *reader, uint64_t guid, bool node_first)
{
	reader->guid = guid;
	reader->sw = osr_fabric_switch_by_guid(reader->fabric, guid);
	reader->owner = osr_tables_owner(reader->tables, guid, node_first, &reader->n_owners);
	if (!reader->n_owners)
		reader->owner =
			osr_tables_owner(reader->tables, guid, !node_first, &reader->n_owners);
	if (reader->n_owners || reader->sw != OSR_NONE)
		return OSR_OK;
	return osr_lines_fail(reader->in,
			      "no port in the fabric has the GUID 0x%016" PRIx64
			      ": these tables belong to another fabric",
			      guid);
}

/* Behind the GUID of a head line: ", base LID 1, "h0000"", or nothing. */
static bool at_head_end(const char *at)
{
	osr_skip_blanks(&at);
	return !*at || *at == ',';
}

static bool is_end_head(const char **at)
{
	return osr_take_word(at, "Switch ") || osr_take_word(at, "Channel Adapter ") ||
	       osr_take_word(at, "Router ");
}

static bool at_end(const char *at)
{
	osr_skip_blanks(&at);
	return !*at;
}

/*
 * Nothing that carries data: empty, a comment, a long line of dashes, the headings of columns,
 * totals. Any other line that is not an entry or a head line is refused.
 */
static bool is_filler(const char *text)
{
	static const char *const headings[] = {
		" Lid Out Destination ", " Port Info ",      " LID : Port : Hops : Optimal ",
		" LID : Out Port(s) ",   " %d lids dumped ", " %d valid lids dumped ",
	};
	uint64_t n;

	for (size_t i = 0; i < sizeof(headings) / sizeof(headings[0]); i++) {
		const char *at = text;

		if (osr_scan(&at, headings[i], &n) && !*at)
			return true;
	}
	osr_skip_blanks(&text);
	return !*text || *text == '#' ||
	       (!strncmp(text, "--------", 8) && !text[strspn(text, "-")]);
}

static uint32_t dest_of(const struct reader *reader, uint64_t lid)
{
	return lid <= reader->fabric->max_lid ? reader->fabric->lid_dest[lid] : OSR_NONE;
}

static enum osr_status fail_port(const struct reader *reader, uint64_t port)
{
	return osr_lines_fail(reader->in, "port %" PRIu64 " exceeds the %u ports of the switch",
			      port, reader->fabric->sw_n_ports[reader->sw]);
}

/* ---- forwarding tables ---------------------------------------------------------------------- */

/* " (name):" stands behind the GUID, or nothing. */
static enum osr_status lft_head(struct reader *reader, const char *at)
{
	enum osr_status st = take_switch(reader, &at);
	char buf[32];

	if (st)
		return st;
	if (!at_end(at) && !osr_scan(&at, " ("))
		return osr_lines_fail(
			reader->in, "unexpected text behind the GUID of the switch: \"%.40s\"", at);
	if (reader->tables->has_lft[reader->sw])
		return osr_lines_fail(reader->in, "a second table of switch %s",
				      osr_switch_name(reader->fabric, reader->sw, buf));
	reader->tables->has_lft[reader->sw] = true;
	reader->n_rows++;
	reader->ended = false;
	return OSR_OK;
}

/*
 * Does this LID belong to this port GUID? Where the GUIDs of the fabric are made up (its file had
 * none), nobody can say.
 */
static enum osr_status check_owner(struct reader *reader, uint32_t d, uint64_t guid)
{
	uint32_t term = reader->fabric->dest_term[d], n, m;
	const struct osr_keyed *node;
	char buf[32];

	if (reader->port_guid[d] && reader->port_guid[d] != guid)
		return osr_lines_fail(reader->in,
				      "LID %u belongs to 0x%016" PRIx64 " here and to 0x%016" PRIx64
				      " before",
				      reader->fabric->dest_lid[d], guid, reader->port_guid[d]);
	reader->port_guid[d] = guid;
	if (reader->fabric->term_guid[term] == guid)
		return OSR_OK;
	node = osr_tables_owner(reader->tables, guid, true, &m);
	for (uint32_t i = 0; i < m; i++)
		if (node[i].index == term)
			return OSR_OK;
	osr_tables_owner(reader->tables, guid, false, &n);
	if (!n && !m)
		return OSR_OK;
	return osr_lines_fail(reader->in,
			      "LID %u belongs to 0x%016" PRIx64 " here, but to %s (0x%016" PRIx64
			      ") in the fabric",
			      reader->fabric->dest_lid[d], guid,
			      osr_terminal_name(reader->fabric, term, buf),
			      reader->fabric->term_guid[term]);
}

/*
 * Is this allowed behind the port? Nothing, a comment, the owner in parentheses as dump_lfts prints
 * it, or OpenSM's hops and whether they are the fewest. A second entry is not: a newline was lost.
 */
static bool lft_rest(const char *at)
{
	uint64_t n, port;

	osr_skip_blanks(&at);
	if (!*at || *at == '#')
		return true;
	if (!osr_scan(&at, ": "))
		return false;
	if (*at == '(' || *at == 'H')
		return *at == '(' ? strchr(at, ')') != NULL : !strcmp(at, "HOPS UNKNOWN");
	return osr_scan(&at, "%d : ", &n) &&
	       (osr_take_word(&at, "yes") ||
		osr_scan(&at, "No %d hop path possible via port %d!", &n, &port)) &&
	       at_end(at);
}

static enum osr_status lft_entry(struct reader *reader, const char *at)
{
	uint64_t lid, port = OSR_NO_PATH, guid;
	bool good = osr_scan(&at, "%x ", &lid);
	uint8_t *entry;
	uint32_t d;

	osr_scan(&at, ": ");
	good = good && (osr_scan(&at, "UNREACHABLE") || osr_scan(&at, "%255d", &port));
	if (!good || reader->sw == OSR_NONE || !lft_rest(at))
		return osr_lines_fail(reader->in,
				      "expected \"0xLID PORT\" below the head line of a table");
	if (lid > OSR_MAX_LID)
		return osr_lines_fail(reader->in, "LID 0x%" PRIx64 " is not unicast", lid);
	d = dest_of(reader, lid);
	/* "UNREACHABLE" does not count as an entry, even for an unknown LID. */
	if (d == OSR_NONE && lid && port != OSR_NO_PATH) {
		if (!reader->first_foreign) {
			reader->first_foreign = reader->in->number;
			reader->foreign_lid = lid;
		}
		reader->tables->n_foreign++;
	}
	if (d == OSR_NONE)
		return OSR_OK;
	if (port > reader->fabric->sw_n_ports[reader->sw] && port != OSR_NO_PATH)
		return fail_port(reader, port);
	osr_invariant(d < reader->fabric->n_dests && reader->sw < reader->fabric->n_switches);
	entry = &reader->tables->routing.lft[(size_t)d * reader->fabric->n_switches + reader->sw];
	if (*entry != OSR_NO_PATH && *entry != port)
		return osr_lines_fail(reader->in,
				      "port %" PRIu64 " for LID %" PRIu64
				      ", which had port %u before",
				      port, lid, *entry);
	*entry = port;
	reader->tables->n_entries += port != OSR_NO_PATH;
	at = strstr(at, " portguid ");
	if (!at)
		return OSR_OK;
	if (!osr_scan(&at, " portguid %x", &guid))
		return osr_lines_fail(reader->in, "a port GUID that is no number");
	return reader->port_guid[d] == guid ? OSR_OK : check_owner(reader, d, guid);
}

static enum osr_status lft_line(struct reader *reader, const char *at)
{
	const char *head = at + strspn(at, "abcdefghijklmnopqrstuvwxyz_"), *guid;

	if (at[0] == '0' && at[1] == 'x')
		return lft_entry(reader, at);
	if (osr_take_word(&at, "Unicast lids ")) {
		guid = strstr(at, " guid ");
		return lft_head(reader, guid ? guid + 6 : "");
	}
	/*
	 * OpenSM's own name of the function stands before it, in some versions with more in front.
	 */
	if (head - at >= 17 && !strncmp(head - 17, "dump_ucast_routes: Switch ", 26))
		return lft_head(reader, head + 9);
	if (strstr(at, "lids dumped"))
		reader->ended = reader->any_ended = true;
	return is_filler(at)
		       ? OSR_OK
		       : osr_lines_fail(reader->in,
					"neither an entry nor a head line of a forwarding table");
}

/* ---- SL2VL tables --------------------------------------------------------------------------- */

static enum osr_status sl2vl_set(struct reader *reader, uint8_t *table, const uint8_t vl[16])
{
	if (table[0] != OSR_VL_UNSET && memcmp(table, vl, 16))
		return osr_lines_fail(reader->in, "these ports had another table before");
	memcpy(table, vl, 16);
	return OSR_OK;
}

static enum osr_status sl2vl_of_switch(struct reader *reader, uint64_t in, uint64_t out,
				       const uint8_t vl[16])
{
	uint64_t highest = in > out ? in : out;

	if (highest > reader->fabric->sw_n_ports[reader->sw])
		return fail_port(reader, highest);
	return sl2vl_set(reader, osr_tables_sl2vl(reader->tables, reader->sw, in, out), vl);
}

static enum osr_status sl2vl_of_ends(struct reader *reader, const uint8_t vl[16])
{
	enum osr_status st = OSR_OK;

	for (uint32_t i = 0; !st && i < reader->n_owners; i++)
		if (reader->owner[i].index != OSR_NONE)
			st = sl2vl_set(reader, reader->tables->term_sl2vl[reader->owner[i].index],
				       vl);
	return st;
}

/* 16 VLs; in ibdmchk's form 8 bytes of two VLs each. */
static bool take_vls(const char **at, bool ibdm, uint8_t vl[16])
{
	uint64_t value = 0;

	for (unsigned sl = 0; sl < 16; sl++) {
		bool good = true;

		if (!ibdm)
			good = osr_scan(at, " %15d", &value);
		else if (sl % 2 == 0)
			good = osr_scan(at, " %255x", &value);
		if (!good)
			return false;
		vl[sl] = ibdm && sl % 2 == 0 ? value >> 4 : value & 15;
	}
	return true;
}

static enum osr_status sl2vl_line(struct reader *reader, const char *at)
{
	bool known = reader->sw != OSR_NONE || reader->n_owners,
	     ibdm = at[0] == '0' && at[1] == 'x', good;
	bool head = is_end_head(&at);
	uint64_t guid, in, out;
	enum osr_status st;
	uint8_t vl[16];

	if (!head && !ibdm && is_filler(at))
		return OSR_OK;
	if (head || ibdm) {
		if (!osr_scan(&at, "%x ", &guid))
			return osr_lines_fail(reader->in, "expected a GUID");
		if (head && !at_head_end(at))
			return osr_lines_fail(reader->in,
					      "unexpected text behind the GUID: \"%.40s\"", at);
		st = take_ends(reader, guid, ibdm);
		if (st || head)
			return st;
	}
	/* Two ports and 16 VLs, or 8 bytes of two VLs each. */
	good = osr_scan(&at, "%255d %255d ", &in, &out) && (ibdm || (osr_scan(&at, ":") && known));
	good = good && take_vls(&at, ibdm, vl);
	if (!good || !at_end(at))
		return osr_lines_fail(
			reader->in,
			ibdm ? "expected a GUID, two ports and 8 bytes of VLs (0x01 0x23 ...)"
			     : "expected \"IN OUT : \" and 16 VLs from 0 to 15 below the "
			       "head line of a port");
	reader->n_rows++;
	st = reader->sw == OSR_NONE ? sl2vl_of_ends(reader, vl)
				    : sl2vl_of_switch(reader, in, out, vl);
	if (ibdm) {
		reader->sw = OSR_NONE;
		reader->n_owners = 0;
	}
	return st;
}

/* ---- SLs of paths --------------------------------------------------------------------------- */

/* The SLs of an end port, none so far where it has no row; NULL: no memory. */
static uint8_t *sl_row(struct reader *reader, uint32_t term)
{
	size_t n = reader->fabric->n_dests;

	osr_invariant(term < reader->fabric->n_terminals);
	if (reader->row[term] == OSR_NONE) {
		if (!osr_grow((void **)&reader->sl, reader->n_rows, 1, &reader->room, n + 1))
			return NULL;
		reader->row[term] = reader->n_rows++;
		memset(reader->sl + reader->row[term] * n, OSR_NO_SL, n);
	}
	return reader->sl + reader->row[term] * n;
}

/* End ports, or port 0 of a switch. */
static enum osr_status path_head(struct reader *reader, uint64_t guid, bool node_first)
{
	enum osr_status st = OSR_OK;

	if (reader->compact)
		return osr_lines_fail(reader->in, "a line of an end port below those of a switch");
	if (!reader->n_owners || guid != reader->guid)
		st = take_ends(reader, guid, node_first);
	for (uint32_t i = 0; !st && i < reader->n_owners; i++)
		if (reader->owner[i].index != OSR_NONE && !sl_row(reader, reader->owner[i].index))
			st = osr_lines_nomem(reader->in);
	return st;
}

/* All end ports of a switch: they share the row of the first one. */
static enum osr_status path_switch(struct reader *reader, const char *at)
{
	enum osr_status st = take_switch(reader, &at);
	uint32_t first, end;

	if (st)
		return st;
	first = reader->fabric->term_row[reader->sw];
	end = reader->fabric->term_row[reader->sw + 1];
	reader->compact = true;
	reader->sender.index = first;
	reader->owner = &reader->sender;
	reader->n_owners = first < end;
	if (first < end && !sl_row(reader, first))
		return osr_lines_nomem(reader->in);
	for (uint32_t term = first; term < end; term++)
		reader->row[term] = reader->row[first];
	return OSR_OK;
}

static enum osr_status path_sl(struct reader *reader, uint64_t lid, uint64_t sl)
{
	uint32_t d = dest_of(reader, lid);

	osr_invariant(sl < 16);
	reader->tables->n_foreign_sls += d == OSR_NONE;
	if (d == OSR_NONE)
		return OSR_OK;
	for (uint32_t i = 0; i < reader->n_owners; i++) {
		uint8_t *entry = reader->owner[i].index == OSR_NONE
					 ? NULL
					 : sl_row(reader, reader->owner[i].index) + d;

		if (entry && *entry != OSR_NO_SL && *entry != sl)
			return osr_lines_fail(reader->in,
					      "SL %" PRIu64 " to LID %" PRIu64
					      ", which had SL %u before",
					      sl, lid, *entry);
		if (entry)
			*entry = sl;
	}
	return OSR_OK;
}

/* A digit for each LID from this one on. */
static enum osr_status path_digits(struct reader *reader, const char *at, uint64_t lid)
{
	static const char digits[] = "0123456789abcdef";
	enum osr_status st = OSR_OK;

	while (!st && *at && *at != ' ') {
		const char *digit = strchr(digits, *at);

		if (digit && lid <= UINT16_MAX)
			st = path_sl(reader, lid, (uint64_t)(digit - digits));
		else if (*at != '-')
			st = osr_lines_fail(reader->in,
					    "expected an SL, 0 to f, or - for LID %" PRIu64, lid);
		at++;
		lid++;
	}
	if (st || at_end(at))
		return st;
	return osr_lines_fail(reader->in, "unexpected text after the SLs");
}

static enum osr_status path_line(struct reader *reader, const char *at)
{
	enum osr_status st;
	uint64_t first, lid, sl;

	if (osr_take_word(&at, "Senders on switch "))
		return path_switch(reader, at);
	if (is_end_head(&at))
		return osr_scan(&at, "%x", &first) && at_head_end(at)
			       ? path_head(reader, first, false)
			       : osr_lines_fail(reader->in, "expected the GUID of an end port");
	if (*at != '0' && is_filler(at))
		return OSR_OK;
	if (osr_scan(&at, "%x ", &first)) {
		bool colon = osr_scan(&at, ": ");

		if (colon && reader->compact && first <= UINT16_MAX && *at)
			return path_digits(reader, at, first);
		if (colon && reader->guid && first <= UINT16_MAX && osr_scan(&at, "%15d ", &sl))
			return *at ? osr_lines_fail(reader->in, "something behind the SL")
				   : path_sl(reader, first, sl);
		if (!colon && osr_scan(&at, "%65535d %15d ", &lid, &sl) && !*at) {
			st = path_head(reader, first, true);
			return st ? st : path_sl(reader, lid, sl);
		}
	}
	return osr_lines_fail(reader->in,
			      "expected \"0xGUID LID SL\", or \"0xLID : SL\" below the line "
			      "of an end port; SLs are 0 to 15");
}

/* ---- multicast tables ----------------------------------------------------------------------- */

static enum osr_status group_line(struct reader *reader, const char *at)
{
	uint64_t mlid, port, *ports;

	if (osr_take_word(&at, "Switch ")) {
		enum osr_status st = take_switch(reader, &at);

		if (!st && !at_end(at))
			st = osr_lines_fail(reader->in,
					    "unexpected text behind the GUID: \"%.40s\"", at);
		return st;
	}
	if (is_filler(at))
		return OSR_OK;
	if (reader->sw == OSR_NONE || !osr_scan(&at, "%x ", &mlid))
		return osr_lines_fail(reader->in,
				      "expected \"0xMLID : 0xPORT ...\" below \"Switch 0xGUID\"");
	if (mlid < OSR_MLID_FIRST || mlid >= OSR_MLID_FIRST + OSR_N_MLIDS || !osr_scan(&at, ": "))
		return osr_lines_fail(reader->in, "expected a multicast LID and a colon");
	ports = osr_tables_group(reader->tables, mlid, reader->sw);
	if (!ports)
		return osr_lines_nomem(reader->in);
	while (*at) {
		if (!osr_scan(&at, "%x", &port) || (*at && *at != ' ' && *at != '\t'))
			return osr_lines_fail(reader->in, "expected ports as in 0x007");
		if (port > reader->fabric->sw_n_ports[reader->sw])
			return fail_port(reader, port);
		osr_invariant(port < 256);
		ports[port / 64] |= UINT64_C(1) << port % 64;
		osr_skip_blanks(&at);
	}
	return OSR_OK;
}

/* ---- a file --------------------------------------------------------------------------------- */

static enum osr_status read_lines(struct reader *reader, struct osr_tables *tables,
				  struct osr_lines *in,
				  enum osr_status (*take)(struct reader *reader, const char *text))
{
	enum osr_status st = OSR_OK;
	char *text;

	reader->tables = tables;
	reader->fabric = tables->fabric;
	reader->in = in;
	reader->sw = OSR_NONE;
	while (!st && osr_lines_next(in, &text, &st))
		st = take(reader, text + strspn(text, " \t"));
	return st;
}

enum osr_status osr_tables_parse_lfts(struct osr_tables *tables, struct osr_lines *in)
{
	struct osr_arena_mark mark = osr_arena_mark(tables->arena);
	struct reader reader = { .port_guid = osr_calloc(tables->arena, tables->fabric->n_dests,
							 sizeof(*reader.port_guid)) };
	enum osr_status st;
	char buf[32];

	if (osr_arena_failed(tables->arena, in->diag))
		return OSR_NOMEM;
	st = read_lines(&reader, tables, in, lft_line);
	if (!st && !reader.n_rows)
		st = osr_fail(in->diag, OSR_INVAL,
			      "%s: holds no table (expected an opensm-lfts.dump or opensm.fdbs)",
			      in->label);
	else if (!st && reader.any_ended && !reader.ended)
		st = osr_lines_fail(in, "the file ends before the table of switch %s does",
				    osr_switch_name(reader.fabric, reader.sw, buf));
	else if (!st && !tables->n_entries && tables->n_foreign)
		st = osr_fail(in->diag, OSR_INVAL,
			      "%s:%" PRIu64 ": no port in the fabric has LID %" PRIu64
			      " or any other of the file: these tables belong to another fabric",
			      in->label, reader.first_foreign, reader.foreign_lid);
	osr_arena_reset(tables->arena, mark);
	return st;
}

enum osr_status osr_tables_parse_sl2vl(struct osr_tables *tables, struct osr_lines *in)
{
	bool ours = tables->routing.sl2vl && !tables->taken;
	enum osr_status st = ours ? OSR_OK : osr_tables_alloc_sl2vl(tables, in->diag);
	struct reader reader = { .n_rows = 0 };

	tables->routing.n_vls = 0; /* to be counted again */
	if (!st)
		st = read_lines(&reader, tables, in, sl2vl_line);
	if (!st && !reader.n_rows)
		st = osr_fail(in->diag, OSR_INVAL, "%s: holds no SL2VL table", in->label);
	return st;
}

enum osr_status osr_tables_parse_paths(struct osr_tables *tables, struct osr_lines *in)
{
	uint32_t n = tables->fabric->n_terminals;
	struct reader reader = { .row = osr_alloc(tables->arena, n, sizeof(*reader.row)) };
	enum osr_status st;

	if (osr_arena_failed(tables->arena, in->diag))
		return OSR_NOMEM;
	memset(reader.row, 0xff, n * sizeof(*reader.row));
	st = read_lines(&reader, tables, in, path_line);
	if (!st && !reader.n_rows)
		st = osr_fail(in->diag, OSR_INVAL, "%s: holds no SL of a path", in->label);
	if (st) {
		free(reader.sl);
		return st;
	}
	osr_tables_free(tables);
	tables->paths =
		(struct osr_paths){ .n_rows = reader.n_rows, .row = reader.row, .sl = reader.sl };
	return OSR_OK;
}

enum osr_status osr_tables_parse_groups(struct osr_tables *tables, struct osr_lines *in)
{
	return read_lines(&(struct reader){ .n_rows = 0 }, tables, in, group_line);
}

/* ---- LMCs ----------------------------------------------------------------------------------- */

/*
 * LMCs, which an opensm-subnet.lst does not say, out of an opensm-lfts.dump, which says whose each
 * LID is:
 *
 *	0x0004 003 # Channel Adapter portguid 0x0000000000100001: 'h0000'
 *	0x0005 003 # Channel Adapter portguid 0x0000000000100001: 'h0000'
 */

/*
 * Can a port have this LID and LMC, with `last` among its 2^LMC LIDs? They begin at a multiple of
 * 2^LMC.
 */
static bool can_be_lmc(uint32_t lid, uint8_t lmc, uint32_t last)
{
	return lmc <= 7 && lid % (1u << lmc) == 0 && last < lid + (1u << lmc);
}

static bool has_lmc(const struct osr_net *net, uint32_t port)
{
	return net->nodes[net->ports[port].node].type != OSR_NET_SWITCH && net->ports[port].lid;
}

/* Does no other port own one of these LIDs? */
static bool are_free(const struct osr_net_port *net_port, uint32_t n_lids, const uint64_t *owner)
{
	uint32_t behind = net_port->lid + n_lids;

	if (behind > OSR_MAX_LID + 1u)
		return false;
	for (uint32_t lid = net_port->lid; lid < behind; lid++)
		if (owner[lid] && owner[lid] != net_port->guid)
			return false;
	return true;
}

/* Ports have the LMC that most have, if nobody else has an entry for a LID of the range. */
static void take_usual_lmc(struct osr_net *net, uint8_t usual, const uint64_t *owner)
{
	for (uint32_t port = 0; port < net->n_ports; port++) {
		struct osr_net_port *net_port = &net->ports[port];

		if (has_lmc(net, port) && net_port->lmc < usual &&
		    can_be_lmc(net_port->lid, usual, net_port->lid) &&
		    are_free(net_port, 1u << usual, owner))
			net_port->lmc = usual;
	}
}

enum osr_status osr_tables_lmcs(struct osr_lines *in, struct osr_net *net)
{
	struct osr_keyed *keyed = malloc((OSR_MAX_LID + 1) * sizeof(*keyed));
	uint64_t *owner = calloc(OSR_MAX_LID + 1, sizeof(*owner)); /* GUIDs by LID */
	enum osr_status st = OSR_OK;
	uint32_t n = 0, n_heads = 0;
	char *text;

	if (!keyed || !owner)
		st = osr_lines_nomem(in);
	/*
	 * One switch knows all of them; a LID that was given twice is reported later, with its
	 * line.
	 */
	while (keyed && owner && n_heads < 2 && n <= OSR_MAX_LID &&
	       osr_lines_next(in, &text, &st)) {
		const char *at = text, *guid = strstr(text, " portguid ");
		uint64_t lid;

		/* A line's LID and owner. */
		n_heads += !strncmp(text, "Unicast lids", 12);
		if (!guid || !osr_scan(&at, "%49151x ", &lid) || !lid ||
		    !osr_scan(&guid, " portguid %x", &keyed[n].key))
			continue;
		keyed[n++].index = lid;
	}
	if (keyed && owner && !st) {
		uint32_t n_with[8] = { 0 }, first, end;
		uint8_t usual = 0;

		/*
		 * A LID may lack its entries on all switches, which must not make it nobody's LID:
		 * a port has at least the LMC that most have, if the LIDs are there to be had.
		 */
		osr_keyed_sort(keyed, n);
		for (uint32_t i = 0; i < n; i++)
			owner[keyed[i].index] = keyed[i].key;
		for (uint32_t port = 0; port < net->n_ports; port++) {
			struct osr_net_port *net_port = &net->ports[port];

			if (!has_lmc(net, port))
				continue;
			end = first = osr_keyed_at(keyed, n, net_port->guid);
			while (end < n && keyed[end].key == net_port->guid)
				end++;
			/*
			 * The least LMC with which the port has all the LIDs that it has entries
			 * for; some may lack one.
			 */
			if (end > first) {
				uint32_t lid = net_port->lid, last = keyed[end - 1].index;
				uint8_t lmc = 0;

				while (lmc < 7 && last >= lid + (1u << lmc))
					lmc++;
				net_port->lmc =
					keyed[first].index >= lid && can_be_lmc(lid, lmc, last)
						? lmc
						: 0;
			}
			n_with[net_port->lmc & 7]++;
		}
		for (uint8_t lmc = 1; lmc <= 7; lmc++)
			usual = n_with[lmc] > n_with[usual] ? lmc : usual;
		take_usual_lmc(net, usual, owner);
	}
	free(keyed);
	free(owner);
	osr_lines_close(in);
	return st;
}

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * SLs of paths, in the compact form of pathsl.h, a digit for each LID:
 *
 *	Senders on switch 0x0000000000200000 "s-0"
 *	0x0001 : 0010-11
 *
 * and in the two forms that ibdmchk reads (-c):
 *
 *	Channel Adapter 0x0000000000100001, base LID 1, "h0000"
 *	0x0002 : 0
 *
 *	0x0000000000100000 2 0			GUID of the node, LID, SL
 *
 * A row is filled for one end port after the other. An end port that turns out to have the row of the first one on its
 * switch shares it; one that comes back (the second form may be in any order) gets a copy to go on with.
 */
#include "io/keyed.h"
#include "io/tables_private.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct path_reader {
	struct osr_tables *t;
	struct osr_lines *in;
	uint32_t n_dests;

	const struct osr_owner *owner; /* whose SLs follow; n_owners = 0: nobody's */
	uint32_t n_owners;
	uint64_t guid;
	bool compact;                /* digits follow */
	struct osr_owner *on_switch; /* [n_terminals] */

	uint32_t *row; /* [n_terminals] */
	uint8_t *sl;   /* [room * n_dests], of malloc; the row in work is the last one */
	uint32_t n_rows, room;
	bool open; /* there is a row in work */
};

static uint8_t *tables_paths_row_of(const struct path_reader *reader, uint32_t i)
{
	return reader->sl + (size_t)i * reader->n_dests;
}

/* The row in work is complete: it stays, or the first end port of the switch has the same. */
static void close_row(struct path_reader *reader)
{
	const struct osr_fabric *fabric = reader->t->f;
	uint32_t last = reader->n_rows - 1, row = last;

	if (!reader->open)
		return;
	for (uint32_t i = 0; i < reader->n_owners && row == last; i++) {
		uint32_t term = reader->owner[i].term, first;

		if (term == OSR_NONE)
			continue;
		first = reader->row[fabric->term_row[fabric->term_switch[term]]];
		if (first < last && !memcmp(tables_paths_row_of(reader, first),
					    tables_paths_row_of(reader, last), reader->n_dests))
			row = first;
	}
	for (uint32_t i = 0; i < reader->n_owners; i++)
		if (reader->owner[i].term != OSR_NONE)
			reader->row[reader->owner[i].term] = row;
	reader->n_rows -= row != last;
	reader->open = false;
}

/* A row for the end ports in r->owner: what they have so far, or nothing. */
static enum osr_status open_row(struct path_reader *reader)
{
	uint32_t had = OSR_NONE;

	for (uint32_t i = 0; i < reader->n_owners; i++)
		if (reader->owner[i].term != OSR_NONE)
			had = reader->row[reader->owner[i].term];
	if (!osr_grow((void **)&reader->sl, reader->n_rows, &reader->room, reader->n_dests + 1u))
		return osr_lines_nomem(reader->in);
	if (had == OSR_NONE)
		memset(tables_paths_row_of(reader, reader->n_rows), OSR_NO_SL, reader->n_dests);
	else
		memcpy(tables_paths_row_of(reader, reader->n_rows),
		       tables_paths_row_of(reader, had), reader->n_dests);
	reader->n_rows++;
	reader->open = true;
	return OSR_OK;
}

/* All end ports of a switch. */
static enum osr_status begin_switch(struct path_reader *reader, const char *at)
{
	const struct osr_fabric *fabric = reader->t->f;
	enum osr_status st;
	uint32_t s;

	if (!osr_take_0x(&at, UINT64_MAX, &reader->guid))
		return osr_lines_fail(reader->in, "expected the GUID of a switch");
	close_row(reader);
	st = osr__tables_switch(reader->t, reader->in, reader->guid, &s);
	if (st)
		return st;
	reader->compact = true;
	reader->owner = reader->on_switch;
	reader->n_owners = fabric->term_row[s + 1] - fabric->term_row[s];
	for (uint32_t i = 0; i < reader->n_owners; i++)
		reader->on_switch[i].term = fabric->term_row[s] + i;
	return reader->n_owners ? open_row(reader) : OSR_OK;
}

static enum osr_status tables_paths_begin(struct path_reader *reader, uint64_t guid,
					  bool node_first)
{
	if (reader->n_owners && guid == reader->guid && !reader->compact)
		return OSR_OK;
	close_row(reader);
	reader->compact = false;
	reader->guid = guid;
	reader->owner = osr_tables_owner(reader->t, guid, node_first, &reader->n_owners);
	if (!reader->n_owners)
		reader->owner = osr_tables_owner(reader->t, guid, !node_first, &reader->n_owners);
	if (reader->n_owners)
		return open_row(reader);
	/* A port 0 without a LID is a switch, but no end port. */
	if (osr_fabric_switch_by_guid(reader->t->f, guid) != OSR_NONE)
		return OSR_OK;
	return osr_lines_fail(reader->in,
			      "no port in the fabric has the GUID 0x%016" PRIx64
			      ": these paths belong to another fabric",
			      guid);
}

static enum osr_status tables_paths_set_sl(struct path_reader *reader, uint64_t lid, uint64_t sl)
{
	uint32_t d = osr__dest_of_lid(reader->t->f, lid);
	uint8_t *entry;

	if (d == OSR_NONE) {
		reader->t->n_foreign++;
		return OSR_OK;
	}
	if (!reader->open)
		return OSR_OK;
	entry = tables_paths_row_of(reader, reader->n_rows - 1) + d;
	if (*entry != OSR_NO_SL && *entry != sl)
		return osr_lines_fail(reader->in,
				      "SL %" PRIu64 " to LID %" PRIu64 ", which had SL %u before",
				      sl, lid, *entry);
	*entry = (uint8_t)sl;
	reader->t->n_entries++;
	return OSR_OK;
}

/* "0x0001 : " has been read. */
static enum osr_status take_digits(struct path_reader *reader, uint64_t lid, const char *at)
{
	static const char digits[] = "0123456789abcdef";
	enum osr_status st = OSR_OK;

	for (; *at && *at != ' ' && !st; at++, lid++) {
		const char *digit = strchr(digits, *at);

		if (digit && lid <= UINT16_MAX)
			st = tables_paths_set_sl(reader, lid, (uint64_t)(digit - digits));
		else if (*at != '-')
			st = osr_lines_fail(reader->in,
					    "expected an SL, 0 to f, or - for LID %" PRIu64, lid);
	}
	osr_skip_blanks(&at);
	return st || !*at ? st : osr_lines_fail(reader->in, "unexpected text after the SLs");
}

static enum osr_status tables_paths_take_row(struct path_reader *reader, const char *at)
{
	uint64_t first, lid, sl;
	enum osr_status st;

	if (!osr_take_0x(&at, UINT64_MAX, &first))
		goto bad;
	osr_skip_blanks(&at);
	if (osr_take_word(&at, ":")) {
		osr_skip_blanks(&at);
		if (reader->compact && first <= UINT16_MAX)
			return take_digits(reader, first, at);
		if (!reader->guid || first > UINT16_MAX || !osr_take_decimal(&at, 15, &sl))
			goto bad;
		osr_skip_blanks(&at);
		return *at ? osr_lines_fail(reader->in, "something behind the SL")
			   : tables_paths_set_sl(reader, first, sl);
	}
	if (!osr_take_decimal(&at, UINT16_MAX, &lid))
		goto bad;
	osr_skip_blanks(&at);
	if (!osr_take_decimal(&at, 15, &sl))
		goto bad;
	osr_skip_blanks(&at);
	if (*at)
		goto bad;
	st = tables_paths_begin(reader, first, true);
	return st ? st : tables_paths_set_sl(reader, lid, sl);
bad:
	return osr_lines_fail(reader->in,
			      "expected \"0xGUID LID SL\", or \"0xLID : SL\" below the line of an "
			      "end port; SLs are 0 to 15");
}

static enum osr_status tables_paths_take_line(struct path_reader *reader, const char *at)
{
	uint64_t guid;

	if (at[0] == '0')
		return tables_paths_take_row(reader, at);
	if (osr_take_word(&at, "Senders on switch "))
		return begin_switch(reader, at);
	if (osr_take_word(&at, "Channel Adapter ") || osr_take_word(&at, "Switch ") ||
	    osr_take_word(&at, "Router "))
		return osr_take_0x(&at, UINT64_MAX, &guid)
			       ? tables_paths_begin(reader, guid, false)
			       : osr_lines_fail(reader->in, "expected the GUID of an end port");
	return osr__is_filler(at) ? OSR_OK : tables_paths_take_row(reader, at);
}

static enum osr_status tables_paths_prepare(struct path_reader *reader)
{
	const struct osr_fabric *fabric = reader->t->f;

	reader->row = osr_alloc(reader->t->arena, fabric->n_terminals, sizeof(*reader->row));
	reader->on_switch =
		osr_calloc(reader->t->arena, fabric->n_terminals, sizeof(*reader->on_switch));
	if (osr_arena_failed(reader->t->arena, reader->in->diag))
		return OSR_NOMEM;
	memset(reader->row, 0xff, fabric->n_terminals * sizeof(*reader->row));
	return OSR_OK;
}

enum osr_status osr_tables_parse_paths(struct osr_tables *tables, struct osr_lines *in)
{
	struct path_reader reader = { .t = tables, .in = in, .n_dests = tables->f->n_dests };
	enum osr_status st = tables_paths_prepare(&reader);
	char *text;

	while (!st && osr_lines_next(in, &text, &st))
		st = tables_paths_take_line(&reader, text);
	if (!st)
		close_row(&reader);
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

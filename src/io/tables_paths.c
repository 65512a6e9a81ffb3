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
 * A row is filled for one end port after the other. Whoever turns out to have the row of another one
 * shares it; one that comes back (the second form may be in any order) gets a copy to go on with.
 */
#include "io/tables_private.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <xxhash.h>

struct path_reader {
	struct osr_tables *t;
	struct osr_lines *in;
	struct osr_diag *diag;
	uint32_t n_dests;

	const struct osr_owner *owner; /* whose SLs follow; n_owners = 0: nobody's */
	uint32_t n_owners;
	uint64_t guid;
	bool compact;             /* digits follow */
	struct osr_owner *on_switch; /* [n_terminals] */

	uint32_t *row; /* [n_terminals] */
	uint8_t *sl;   /* [room * n_dests], of malloc; the row in work is the last one */
	uint32_t n_rows, room;
	bool open; /* there is a row in work */

	uint32_t *hash; /* [hash_size] rows by content, OSR_NONE; of malloc */
	uint32_t hash_size;
};

static uint8_t *row_of(const struct path_reader *r, uint32_t i)
{
	return r->sl + (size_t)i * r->n_dests;
}

/* Where a row of this content is, or could go. */
static uint32_t find_row(const struct path_reader *r, const uint8_t *sl)
{
	uint32_t at = XXH64(sl, r->n_dests, 0) & (r->hash_size - 1);

	while (r->hash[at] != OSR_NONE && memcmp(row_of(r, r->hash[at]), sl, r->n_dests))
		at = (at + 1) & (r->hash_size - 1);
	return at;
}

/* At most half full, so that a search ends. */
static bool grow_hash(struct path_reader *r)
{
	uint32_t size = r->hash_size ? r->hash_size * 2 : 64;
	uint32_t *more;

	if (r->n_rows < r->hash_size / 2)
		return true;
	more = realloc(r->hash, size * sizeof(*more));
	if (!more)
		return false;
	r->hash = more;
	r->hash_size = size;
	memset(r->hash, 0xff, size * sizeof(*r->hash));
	for (uint32_t i = 0; i < r->n_rows; i++)
		r->hash[find_row(r, row_of(r, i))] = i;
	return true;
}

/* The row in work is complete: it stays, or one like it is there already. */
static void close_row(struct path_reader *r)
{
	uint32_t last = r->n_rows - 1, at;

	if (!r->open)
		return;
	at = find_row(r, row_of(r, last));
	if (r->hash[at] == OSR_NONE)
		r->hash[at] = last;
	else
		r->n_rows--;
	for (uint32_t i = 0; i < r->n_owners; i++)
		if (r->owner[i].term != OSR_NONE)
			r->row[r->owner[i].term] = r->hash[at];
	r->open = false;
}

static bool grow(struct path_reader *r)
{
	uint32_t room = r->room ? r->room * 2 : 16;
	uint8_t *more;

	if (r->n_rows < r->room)
		return true;
	more = realloc(r->sl, (size_t)room * r->n_dests + 1);
	if (!more)
		return false;
	r->sl = more;
	r->room = room;
	return true;
}

/* A row for the end ports in r->owner: what they have so far, or nothing. */
static enum osr_status open_row(struct path_reader *r)
{
	uint32_t had = OSR_NONE;

	for (uint32_t i = 0; i < r->n_owners; i++)
		if (r->owner[i].term != OSR_NONE)
			had = r->row[r->owner[i].term];
	if (!grow(r) || !grow_hash(r))
		return osr__tables_nomem(r->t, r->diag);
	if (had == OSR_NONE)
		memset(row_of(r, r->n_rows), OSR_NO_SL, r->n_dests);
	else
		memcpy(row_of(r, r->n_rows), row_of(r, had), r->n_dests);
	r->n_rows++;
	r->open = true;
	return OSR_OK;
}

/* All end ports of a switch. */
static enum osr_status begin_switch(struct path_reader *r, const char *at)
{
	const struct osr_fabric *f = r->t->f;
	enum osr_status st;
	uint32_t s;

	if (!osr_take_0x(&at, UINT64_MAX, &r->guid))
		return osr_lines_fail(r->in, r->diag, "expected the GUID of a switch");
	close_row(r);
	st = osr__tables_switch(r->t, r->in, r->guid, &s, r->diag);
	if (st)
		return st;
	r->compact = true;
	r->owner = r->on_switch;
	r->n_owners = f->term_row[s + 1] - f->term_row[s];
	for (uint32_t i = 0; i < r->n_owners; i++)
		r->on_switch[i].term = f->term_row[s] + i;
	return r->n_owners ? open_row(r) : OSR_OK;
}

static enum osr_status begin(struct path_reader *r, uint64_t guid, bool node_first)
{
	if (r->n_owners && guid == r->guid && !r->compact)
		return OSR_OK;
	close_row(r);
	r->compact = false;
	r->guid = guid;
	r->owner = osr_tables_owner(r->t, guid, node_first, &r->n_owners);
	if (!r->n_owners)
		r->owner = osr_tables_owner(r->t, guid, !node_first, &r->n_owners);
	if (r->n_owners)
		return open_row(r);
	/* A port 0 without a LID is a switch, but no end port. */
	if (osr_fabric_switch_by_guid(r->t->f, guid) != OSR_NONE)
		return OSR_OK;
	return osr_lines_fail(r->in, r->diag,
			      "nobody in the fabric has the GUID 0x%016" PRIx64
			      ": these are the paths of another one",
			      guid);
}

static enum osr_status set_sl(struct path_reader *r, uint64_t lid, uint64_t sl)
{
	uint32_t d = osr__dest_of_lid(r->t->f, lid);
	uint8_t *entry;

	if (d == OSR_NONE) {
		r->t->n_foreign++;
		return OSR_OK;
	}
	if (!r->open)
		return OSR_OK;
	entry = row_of(r, r->n_rows - 1) + d;
	if (*entry != OSR_NO_SL && *entry != sl)
		return osr_lines_fail(r->in, r->diag,
				      "SL %" PRIu64 " to LID %" PRIu64 ", which had SL %u before",
				      sl, lid, *entry);
	*entry = (uint8_t)sl;
	r->t->n_entries++;
	return OSR_OK;
}

/* "0x0001 : " has been read. */
static enum osr_status take_digits(struct path_reader *r, uint64_t lid, const char *at)
{
	static const char digits[] = "0123456789abcdef";
	enum osr_status st = OSR_OK;

	for (; *at && *at != ' ' && !st; at++, lid++) {
		const char *digit = strchr(digits, *at);

		if (digit && lid <= UINT16_MAX)
			st = set_sl(r, lid, (uint64_t)(digit - digits));
		else if (*at != '-')
			st = osr_lines_fail(r->in, r->diag,
					    "expected an SL, 0 to f, or - for LID %" PRIu64, lid);
	}
	osr_skip_blanks(&at);
	return st || !*at ? st : osr_lines_fail(r->in, r->diag, "something behind the SLs");
}

static enum osr_status take_row(struct path_reader *r, const char *at)
{
	uint64_t first, lid, sl;
	enum osr_status st;

	if (!osr_take_0x(&at, UINT64_MAX, &first))
		goto bad;
	osr_skip_blanks(&at);
	if (osr_take_word(&at, ":")) {
		osr_skip_blanks(&at);
		if (r->compact && first <= UINT16_MAX)
			return take_digits(r, first, at);
		if (!r->guid || first > UINT16_MAX || !osr_take_decimal(&at, 15, &sl))
			goto bad;
		osr_skip_blanks(&at);
		return *at ? osr_lines_fail(r->in, r->diag, "something behind the SL")
			   : set_sl(r, first, sl);
	}
	if (!osr_take_decimal(&at, UINT16_MAX, &lid))
		goto bad;
	osr_skip_blanks(&at);
	if (!osr_take_decimal(&at, 15, &sl))
		goto bad;
	osr_skip_blanks(&at);
	if (*at)
		goto bad;
	st = begin(r, first, true);
	return st ? st : set_sl(r, lid, sl);
bad:
	return osr_lines_fail(
		r->in, r->diag,
		"expected \"0xGUID LID SL\", or \"0xLID : SL\" below the line of an end "
		"port; SLs are 0 to 15");
}

static enum osr_status take_line(struct path_reader *r, const char *at)
{
	uint64_t guid;

	if (at[0] == '0')
		return take_row(r, at);
	if (osr_take_word(&at, "Senders on switch "))
		return begin_switch(r, at);
	if (osr_take_word(&at, "Channel Adapter ") || osr_take_word(&at, "Switch ") ||
	    osr_take_word(&at, "Router "))
		return osr_take_0x(&at, UINT64_MAX, &guid)
			       ? begin(r, guid, false)
			       : osr_lines_fail(r->in, r->diag, "expected the GUID of an end port");
	return osr__is_filler(at) ? OSR_OK : take_row(r, at);
}

static enum osr_status prepare(struct path_reader *r)
{
	const struct osr_fabric *f = r->t->f;

	r->row = osr_alloc(r->t->arena, f->n_terminals, sizeof(*r->row));
	r->on_switch = osr_calloc(r->t->arena, f->n_terminals, sizeof(*r->on_switch));
	if (!r->row || !r->on_switch)
		return osr__tables_nomem(r->t, r->diag);
	memset(r->row, 0xff, f->n_terminals * sizeof(*r->row));
	return OSR_OK;
}

enum osr_status osr_tables_parse_paths(struct osr_tables *t, struct osr_lines *in,
				       struct osr_diag *diag)
{
	struct path_reader r = { .t = t, .in = in, .diag = diag, .n_dests = t->f->n_dests };
	enum osr_status st = prepare(&r);
	char *text;

	while (!st && osr_lines_next(in, &text, diag, &st))
		st = take_line(&r, text);
	if (!st)
		close_row(&r);
	if (!st && !r.n_rows)
		st = osr_fail(diag, OSR_INVAL, "%s: holds no SL of a path", in->label);
	free(r.hash);
	if (st) {
		free(r.sl);
		return st;
	}
	osr_tables_free(t);
	t->paths = (struct osr_paths){ .n_rows = r.n_rows, .row = r.row, .sl = r.sl };
	return OSR_OK;
}

enum osr_status osr_tables_read_paths(struct osr_tables *t, const char *path, struct osr_diag *diag)
{
	return osr__tables_read(t, path, diag, osr_tables_parse_paths);
}

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Multicast tables, opensm.mcfdbs:
 *
 *	Switch 0x0002c9010bb90090
 *	LID    : Out Port(s)
 *	0xC000 : 0x007  0x00A
 */
#include "io/tables_private.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define MLID_FIRST 0xc000
#define MLID_LAST 0xfffe

struct entry {
	uint32_t sw;
	uint16_t mlid;
	uint64_t ports[4];
};

struct group_reader {
	struct osr_tables *t;
	struct osr_lines *in;
	struct osr_diag *diag;
	uint32_t sw;
	struct entry *entry; /* of malloc: nobody knows how many there will be */
	size_t n, room;
};

static enum osr_status take_switch(struct group_reader *r, const char *at)
{
	uint64_t guid;

	if (!osr_take_0x(&at, UINT64_MAX, &guid))
		return osr_lines_fail(r->in, r->diag, "a table without the GUID of its switch");
	return osr__tables_switch(r->t, r->in, guid, &r->sw, r->diag);
}

static struct entry *add_entry(struct group_reader *r)
{
	if (r->n == r->room) {
		size_t room = r->room ? r->room * 2 : 1024;
		struct entry *more = realloc(r->entry, room * sizeof(*more));

		if (!more)
			return NULL;
		r->entry = more;
		r->room = room;
	}
	return &r->entry[r->n++];
}

static enum osr_status take_entry(struct group_reader *r, const char *at)
{
	struct entry *e;
	uint64_t mlid, port;

	if (r->sw == OSR_NONE || !osr_take_0x(&at, UINT32_MAX, &mlid))
		return osr_lines_fail(r->in, r->diag,
				      "expected \"0xMLID : 0xPORT ...\" below \"Switch 0xGUID\"");
	osr_skip_blanks(&at);
	if (mlid < MLID_FIRST || mlid > MLID_LAST || !osr_take_word(&at, ":"))
		return osr_lines_fail(r->in, r->diag, "expected a multicast LID and a colon");
	e = add_entry(r);
	if (!e)
		return osr__tables_nomem(r->t, r->diag);
	*e = (struct entry){ .sw = r->sw, .mlid = (uint16_t)mlid };
	for (osr_skip_blanks(&at); *at; osr_skip_blanks(&at)) {
		if (!osr_take_0x(&at, UINT32_MAX, &port) || (*at && *at != ' ' && *at != '\t'))
			return osr_lines_fail(r->in, r->diag, "expected ports as in 0x007");
		if (port > r->t->f->sw_n_ports[r->sw])
			return osr_lines_fail(r->in, r->diag,
					      "port %" PRIu64 " exceeds the %u ports of the switch",
					      port, r->t->f->sw_n_ports[r->sw]);
		e->ports[port / 64] |= UINT64_C(1) << port % 64;
	}
	r->t->n_entries++;
	return OSR_OK;
}

static enum osr_status take_line(struct group_reader *r, const char *at)
{
	if (osr_take_word(&at, "Switch "))
		return take_switch(r, at);
	if (osr__is_filler(at) || osr_take_word(&at, "LID "))
		return OSR_OK;
	return take_entry(r, at);
}

static int by_mlid(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;

	if (x->mlid != y->mlid)
		return x->mlid < y->mlid ? -1 : 1;
	return x->sw < y->sw ? -1 : x->sw > y->sw;
}

/* From a list to one row of switches for each group. */
static enum osr_status build(struct group_reader *r)
{
	struct osr_tables *t = r->t;
	uint64_t(*ports)[4];
	uint16_t *mlid;
	uint32_t n = 0;

	if (r->n)
		qsort(r->entry, r->n, sizeof(*r->entry), by_mlid);
	for (size_t i = 0; i < r->n; i++)
		n += i == 0 || r->entry[i].mlid != r->entry[i - 1].mlid;
	mlid = osr_alloc(t->arena, n, sizeof(*mlid));
	ports = osr_calloc(t->arena, (size_t)n * t->f->n_switches, sizeof(*ports));
	if (!mlid || !ports)
		return osr__tables_nomem(t, r->diag);
	n = 0;
	for (size_t i = 0; i < r->n; i++) {
		const struct entry *e = &r->entry[i];

		if (i == 0 || e->mlid != e[-1].mlid)
			mlid[n++] = e->mlid;
		for (unsigned k = 0; k < 4; k++)
			ports[(size_t)(n - 1) * t->f->n_switches + e->sw][k] |= e->ports[k];
	}
	t->groups =
		(struct osr_groups){ .n = n, .mlid = mlid, .ports = (const uint64_t(*)[4])ports };
	return OSR_OK;
}

enum osr_status osr_tables_parse_groups(struct osr_tables *t, struct osr_lines *in,
					struct osr_diag *diag)
{
	struct group_reader r = { .t = t, .in = in, .diag = diag, .sw = OSR_NONE };
	enum osr_status st = OSR_OK;
	char *text;

	while (!st && osr_lines_next(in, &text, diag, &st))
		st = take_line(&r, text);
	if (!st)
		st = build(&r);
	free(r.entry);
	return st;
}

enum osr_status osr_tables_read_groups(struct osr_tables *t, const char *path,
				       struct osr_diag *diag)
{
	return osr__tables_read(t, path, diag, osr_tables_parse_groups);
}

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Multicast tables, opensm.mcfdbs:
 *
 *	Switch 0x0002c9010bb90090
 *	LID    : Out Port(s)
 *	0xC000 : 0x007  0x00A
 */
#include "io/keyed.h"
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
	uint32_t sw;
	struct entry *entry; /* of malloc: nobody knows how many there will be */
	uint32_t n, room;
};

static enum osr_status take_switch(struct group_reader *reader, const char *at)
{
	uint64_t guid;

	if (!osr_take_0x(&at, UINT64_MAX, &guid))
		return osr_lines_fail(reader->in, "a table without the GUID of its switch");
	return osr__tables_switch(reader->t, reader->in, guid, &reader->sw);
}

static enum osr_status tables_groups_take_entry(struct group_reader *reader, const char *at)
{
	struct entry *e;
	uint64_t mlid, port;

	if (reader->sw == OSR_NONE || !osr_take_0x(&at, UINT32_MAX, &mlid))
		return osr_lines_fail(reader->in,
				      "expected \"0xMLID : 0xPORT ...\" below \"Switch 0xGUID\"");
	osr_skip_blanks(&at);
	if (mlid < MLID_FIRST || mlid > MLID_LAST || !osr_take_word(&at, ":"))
		return osr_lines_fail(reader->in, "expected a multicast LID and a colon");
	e = osr_grow((void **)&reader->entry, reader->n, &reader->room, sizeof(*reader->entry))
		    ? &reader->entry[reader->n++]
		    : NULL;
	if (!e)
		return osr_lines_nomem(reader->in);
	*e = (struct entry){ .sw = reader->sw, .mlid = (uint16_t)mlid };
	for (osr_skip_blanks(&at); *at; osr_skip_blanks(&at)) {
		if (!osr_take_0x(&at, UINT32_MAX, &port) || (*at && *at != ' ' && *at != '\t'))
			return osr_lines_fail(reader->in, "expected ports as in 0x007");
		if (port > reader->t->f->sw_n_ports[reader->sw])
			return osr_lines_fail(reader->in,
					      "port %" PRIu64 " exceeds the %u ports of the switch",
					      port, reader->t->f->sw_n_ports[reader->sw]);
		e->ports[port / 64] |= UINT64_C(1) << port % 64;
	}
	reader->t->n_entries++;
	return OSR_OK;
}

static enum osr_status tables_groups_take_line(struct group_reader *reader, const char *at)
{
	if (osr_take_word(&at, "Switch "))
		return take_switch(reader, at);
	if (osr__is_filler(at) || osr_take_word(&at, "LID "))
		return OSR_OK;
	return tables_groups_take_entry(reader, at);
}

static int by_mlid(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;

	if (x->mlid != y->mlid)
		return x->mlid < y->mlid ? -1 : 1;
	return x->sw < y->sw ? -1 : x->sw > y->sw;
}

/* From a list to one row of switches for each group. */
static enum osr_status tables_groups_build(struct group_reader *reader)
{
	struct osr_tables *tables = reader->t;
	uint64_t(*ports)[4];
	uint16_t *mlid;
	uint32_t n = 0;

	if (reader->n)
		qsort(reader->entry, reader->n, sizeof(*reader->entry), by_mlid);
	for (size_t i = 0; i < reader->n; i++)
		n += i == 0 || reader->entry[i].mlid != reader->entry[i - 1].mlid;
	mlid = osr_alloc(tables->arena, n, sizeof(*mlid));
	ports = osr_calloc(tables->arena, (size_t)n * tables->f->n_switches, sizeof(*ports));
	if (osr_arena_failed(tables->arena, reader->in->diag))
		return OSR_NOMEM;
	n = 0;
	for (size_t i = 0; i < reader->n; i++) {
		const struct entry *e = &reader->entry[i];

		if (i == 0 || e->mlid != e[-1].mlid)
			mlid[n++] = e->mlid;
		for (unsigned k = 0; k < 4; k++)
			ports[(size_t)(n - 1) * tables->f->n_switches + e->sw][k] |= e->ports[k];
	}
	tables->groups =
		(struct osr_groups){ .n = n, .mlid = mlid, .ports = (const uint64_t(*)[4])ports };
	return OSR_OK;
}

enum osr_status osr_tables_parse_groups(struct osr_tables *tables, struct osr_lines *in)
{
	struct group_reader reader = { .t = tables, .in = in, .sw = OSR_NONE };
	enum osr_status st = OSR_OK;
	char *text;

	while (!st && osr_lines_next(in, &text, &st))
		st = tables_groups_take_line(&reader, text);
	if (!st)
		st = tables_groups_build(&reader);
	free(reader.entry);
	return st;
}

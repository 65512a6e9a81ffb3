/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "io/lftfile.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct reader {
	const char *path;
	const struct osr_fabric *f;
	struct osr_routing *r;
	struct osr_diag *diag;
	uint32_t sw;		/* whose entries follow; OSR_NONE before the first */
	unsigned int line;
};

static enum osr_status take_switch(struct reader *w, const char *text)
{
	const char *at = strstr(text, " guid 0x");
	uint64_t guid;

	if (!at || sscanf(at, " guid 0x%" SCNx64, &guid) != 1)
		return osr_fail(w->diag, OSR_INVAL, "%s:%u: a table without the GUID of its switch",
				w->path, w->line);
	w->sw = osr_fabric_switch_by_guid(w->f, guid);
	if (w->sw == OSR_NONE)
		return osr_fail(w->diag, OSR_INVAL,
				"%s:%u: the fabric has no switch 0x%016" PRIx64
				": these are the tables of another one",
				w->path, w->line, guid);
	return OSR_OK;
}

static enum osr_status take_entry(struct reader *w, const char *text)
{
	unsigned int lid, port;
	uint32_t d;

	if (w->sw == OSR_NONE || sscanf(text, "0x%x %u", &lid, &port) != 2)
		return osr_fail(w->diag, OSR_INVAL,
				"%s:%u: expected \"0xLID PORT\" below a line \"Unicast lids\"", w->path,
				w->line);
	d = lid <= w->f->max_lid ? w->f->lid_dest[lid] : OSR_NONE;
	if (d == OSR_NONE)
		return osr_fail(w->diag, OSR_INVAL,
				"%s:%u: nobody in the fabric has LID %u: these are the tables of another one",
				w->path, w->line, lid);
	if (port > w->f->sw_n_ports[w->sw] && port != OSR_NO_PATH)
		return osr_fail(w->diag, OSR_INVAL, "%s:%u: port %u exceeds the %u ports of the switch",
				w->path, w->line, port, w->f->sw_n_ports[w->sw]);
	w->r->lft[(size_t)d * w->f->n_switches + w->sw] = (uint8_t)port;
	return OSR_OK;
}

/* Totals, headings and empty lines carry nothing. */
static enum osr_status take_line(struct reader *w, const char *text)
{
	if (!strncmp(text, "Unicast lids", 12))
		return take_switch(w, text);
	return !strncmp(text, "0x", 2) ? take_entry(w, text) : OSR_OK;
}

enum osr_status osr_lftfile_read(const char *path, const struct osr_fabric *f, struct osr_arena *arena,
				 struct osr_routing *r, struct osr_diag *diag)
{
	struct reader w = { .path = path, .f = f, .r = r, .diag = diag, .sw = OSR_NONE };
	enum osr_status st = osr_routing_init(r, f, arena, diag);
	char *text = NULL;
	size_t size = 0;
	FILE *in;

	if (st)
		return st;
	in = fopen(path, "r");
	if (!in)
		return osr_fail(diag, OSR_INVAL, "%s: %s", path, strerror(errno));
	while (!st && getline(&text, &size, in) >= 0) {
		w.line++;
		st = take_line(&w, text);
	}
	free(text);
	fclose(in);
	if (!st && w.sw == OSR_NONE)
		st = osr_fail(diag, OSR_INVAL, "%s: holds no table (expected an opensm-lfts.dump)", path);
	r->engine = "tables";
	r->n_vls = 1;
	return st;
}

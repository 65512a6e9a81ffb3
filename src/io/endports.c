/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "io/endports.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/lines.h"

#include <osmroutes/params.h>

static const char *name_of(const struct osr_fabric *fabric, uint32_t t)
{
	return fabric->names + fabric->term_name[t];
}

static int by_name(const void *a, const void *b, void *f)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	int order = strcmp(name_of(f, x), name_of(f, y));

	return order ? order : (x > y) - (x < y);
}

static int endports_by_guid(const void *a, const void *b, void *context)
{
	const struct osr_fabric *fabric = context;
	uint64_t x = fabric->term_guid[*(const uint32_t *)a],
		 y = fabric->term_guid[*(const uint32_t *)b];

	return (x > y) - (x < y);
}

enum osr_status osr_endports_init(struct osr_endports *endports, const struct osr_fabric *fabric,
				  struct osr_arena *arena, struct osr_diag *diag)
{
	*endports = (struct osr_endports){ .f = fabric };
	endports->by_name = osr_alloc(arena, fabric->n_terminals, sizeof(*endports->by_name));
	endports->by_guid = osr_alloc(arena, fabric->n_terminals, sizeof(*endports->by_guid));
	if (osr_arena_failed(arena, diag))
		return OSR_NOMEM;
	for (uint32_t t = 0; t < fabric->n_terminals; t++)
		if (fabric->term_role[t] != OSR_ROLE_SP0)
			endports->by_name[endports->n++] = t;
	memcpy(endports->by_guid, endports->by_name, endports->n * sizeof(*endports->by_guid));
	qsort_r(endports->by_name, endports->n, sizeof(*endports->by_name), by_name,
		(void *)fabric);
	qsort_r(endports->by_guid, endports->n, sizeof(*endports->by_guid), endports_by_guid,
		(void *)fabric);
	return OSR_OK;
}

static enum osr_status find_name(const struct osr_endports *endports, const char *name,
				 uint32_t *term, struct osr_diag *diag)
{
	uint32_t low = 0, high = endports->n;

	while (low < high) {
		uint32_t mid = (low + high) / 2;

		if (strcmp(name_of(endports->f, endports->by_name[mid]), name) < 0)
			low = mid + 1;
		else
			high = mid;
	}
	if (low == endports->n || strcmp(name_of(endports->f, endports->by_name[low]), name) != 0)
		return osr_fail(diag, OSR_INVAL, "no end port is called \"%.80s\"", name);
	if (low + 1 < endports->n &&
	    !strcmp(name_of(endports->f, endports->by_name[low + 1]), name))
		return osr_fail(diag, OSR_INVAL,
				"several end ports are called \"%.80s\": take the GUID of the port",
				name);
	*term = endports->by_name[low];
	return OSR_OK;
}

static enum osr_status find_guid(const struct osr_endports *endports, uint64_t guid, uint32_t *term,
				 struct osr_diag *diag)
{
	uint32_t low = 0, high = endports->n;

	while (low < high) {
		uint32_t mid = (low + high) / 2;

		if (endports->f->term_guid[endports->by_guid[mid]] < guid)
			low = mid + 1;
		else
			high = mid;
	}
	if (low == endports->n || endports->f->term_guid[endports->by_guid[low]] != guid)
		return osr_fail(diag, OSR_INVAL, "no end port has the GUID 0x%016llx",
				(unsigned long long)guid);
	*term = endports->by_guid[low];
	return OSR_OK;
}

static enum osr_status find_lid(const struct osr_endports *endports, const char *text,
				uint32_t *term, struct osr_diag *diag)
{
	uint32_t d = OSR_NONE;
	uint64_t lid;

	if (osr_parse_uint(text, &lid) && lid <= endports->f->max_lid)
		d = endports->f->lid_dest[lid];
	if (d == OSR_NONE || endports->f->term_role[endports->f->dest_term[d]] == OSR_ROLE_SP0)
		return osr_fail(diag, OSR_INVAL, "no CA or router has the LID \"%.40s\"", text);
	*term = endports->f->dest_term[d];
	return OSR_OK;
}

enum osr_status osr_endports_find(const struct osr_endports *endports, const char *word,
				  uint32_t *term, struct osr_diag *diag)
{
	uint64_t guid;
	char *end;

	if (!strncmp(word, "lid:", 4))
		return find_lid(endports, word + 4, term, diag);
	if (!strncmp(word, "0x", 2)) {
		errno = 0;
		guid = strtoull(word, &end, 16);
		if (!*end && end > word + 2 && !errno)
			return find_guid(endports, guid, term, diag);
	}
	return find_name(endports, word, term, diag);
}

char *osr_word(char **at)
{
	char *p = *at + strspn(*at, " \t\r\n"), *word;

	*at = p;
	if (!*p || *p == '#')
		return NULL;
	if (*p == '"') {
		word = p + 1;
		p = word + strcspn(word, "\"\n");
	} else {
		word = p;
		p += strcspn(p, " \t\r\n#");
	}
	*at = p;
	/* A # that ends the word also ends the line. */
	if (*p == '#')
		*p = '\0';
	else if (*p)
		*(*at)++ = '\0';
	return word;
}

struct list {
	const char *path;
	const struct osr_endports *x;
	bool *seen; /* [n_terminals] */
	uint32_t *hosts, n;
	uint64_t line;
};

static enum osr_status endports_take_line(struct list *l, char *text, struct osr_diag *diag)
{
	char *word = osr_word(&text);
	struct osr_diag why;
	uint32_t t;

	if (!word)
		return OSR_OK;
	if (osr_word(&text))
		return osr_fail(diag, OSR_INVAL,
				"%s:%" PRIu64
				": one host a line, with \"\" around a name with blanks",
				l->path, l->line);
	if (osr_endports_find(l->x, word, &t, &why))
		return osr_fail(diag, OSR_INVAL, "%s:%" PRIu64 ": %s", l->path, l->line, why.text);
	if (l->seen[t])
		return osr_fail(diag, OSR_INVAL, "%s:%" PRIu64 ": \"%.80s\" is in the list already",
				l->path, l->line, word);
	l->seen[t] = true;
	l->hosts[l->n++] = t;
	return OSR_OK;
}

static enum osr_status endports_read_lines(struct osr_lines *in, struct list *l,
					   struct osr_diag *diag)
{
	enum osr_status st = OSR_OK;
	char *text;

	in->by_people = true;
	l->path = in->label;
	l->seen = calloc(l->x->f->n_terminals + 1, sizeof(*l->seen));
	if (!l->seen)
		st = osr_fail(diag, OSR_NOMEM, "%s: out of memory", l->path);
	while (!st && osr_lines_next(in, &text, diag, &st)) {
		l->line = in->number;
		st = endports_take_line(l, text, diag);
	}
	free(l->seen);
	osr_lines_close(in);
	return st;
}

enum osr_status osr_hostlist_parse(const char *text, size_t size, const char *label,
				   const struct osr_endports *endports, uint32_t *hosts,
				   uint32_t *n, struct osr_diag *diag)
{
	struct list l = { .x = endports, .hosts = hosts };
	struct osr_lines in;
	enum osr_status st = osr_lines_text(&in, text, size, label, diag);

	if (!st)
		st = endports_read_lines(&in, &l, diag);
	*n = l.n;
	return st;
}

enum osr_status osr_hostlist_read(const char *path, const struct osr_endports *endports,
				  uint32_t *hosts, uint32_t *n, struct osr_diag *diag)
{
	struct list l = { .x = endports, .hosts = hosts };
	struct osr_lines in;
	enum osr_status st = osr_lines_open(&in, path, diag);

	if (!st)
		st = endports_read_lines(&in, &l, diag);
	*n = l.n;
	return st;
}

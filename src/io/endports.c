/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "io/endports.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/lines.h"

enum osr_status osr_endports_init(struct osr_endports *endports, const struct osr_fabric *fabric,
				  struct osr_arena *arena, struct osr_diag *diag)
{
	endports->f = fabric;
	return osr_names_of_fabric(&endports->names, fabric, arena, diag);
}

enum osr_status osr_endports_find(struct osr_endports *endports, const char *word, uint32_t *term,
				  struct osr_diag *diag)
{
	uint32_t node, port;
	enum osr_status st =
		osr_names_find(&endports->names, word, OSR_NAME_END_PORT, &node, &port, diag);

	if (!st && port)
		st = osr_fail(diag, OSR_INVAL, "\"%.80s\": a port is named by its GUID or LID here",
			      word);
	*term = st ? OSR_NONE : node - endports->f->n_switches;
	return st;
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
	struct osr_endports *x;
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
				   struct osr_endports *endports, uint32_t *hosts, uint32_t *n,
				   struct osr_diag *diag)
{
	struct list l = { .x = endports, .hosts = hosts };
	struct osr_lines in;
	enum osr_status st = osr_lines_text(&in, text, size, label, diag);

	if (!st)
		st = endports_read_lines(&in, &l, diag);
	*n = l.n;
	return st;
}

enum osr_status osr_hostlist_read(const char *path, struct osr_endports *endports, uint32_t *hosts,
				  uint32_t *n, struct osr_diag *diag)
{
	struct list l = { .x = endports, .hosts = hosts };
	struct osr_lines in;
	enum osr_status st = osr_lines_open(&in, path, diag);

	if (!st)
		st = endports_read_lines(&in, &l, diag);
	*n = l.n;
	return st;
}

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
	struct osr_lines *in;
	struct osr_endports *x;
	bool *seen; /* [n_terminals] */
	uint32_t *hosts, n;
};

static enum osr_status endports_take_line(struct list *l, char *text)
{
	char *word = osr_word(&text);
	struct osr_diag why;
	uint32_t t;

	if (!word)
		return OSR_OK;
	if (osr_word(&text))
		return osr_lines_fail(l->in,
				      "one host a line, with \"\" around a name with blanks");
	if (osr_endports_find(l->x, word, &t, &why))
		return osr_lines_fail(l->in, "%s", why.text);
	if (l->seen[t])
		return osr_lines_fail(l->in, "\"%.80s\" is in the list already", word);
	l->seen[t] = true;
	l->hosts[l->n++] = t;
	return OSR_OK;
}

enum osr_status osr_hostlist_read(struct osr_lines *in, struct osr_endports *endports,
				  uint32_t *hosts, uint32_t *n)
{
	struct list l = { .in = in, .x = endports, .hosts = hosts };
	enum osr_status st = OSR_OK;
	char *text;

	in->by_people = true;
	l.seen = calloc(endports->f->n_terminals + 1, sizeof(*l.seen));
	if (!l.seen)
		st = osr_lines_nomem(in);
	while (!st && osr_lines_next(in, &text, &st))
		st = endports_take_line(&l, text);
	free(l.seen);
	osr_lines_close(in);
	*n = l.n;
	return st;
}

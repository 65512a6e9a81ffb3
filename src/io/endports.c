/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "io/endports.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/lines.h"

enum osr_status osr_endports_init(struct osr_endports *endports, const struct osr_fabric *fabric,
				  struct osr_arena *arena, struct osr_diag *diag)
{
	endports->fabric = fabric;
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
	osr_invariant(st || node >= endports->fabric->n_switches);
	*term = st ? OSR_NONE : node - endports->fabric->n_switches;
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

#define NODE_SIZE 128
#define MAX_SLOTS 65535

/*
 * Names in a list as Slurm writes it: several brackets are a product. OSR_INVAL without a sentence:
 * this is not such a list.
 */
static enum osr_status expand(struct osr_lines *in, const char *head, const char *rest,
			      uint32_t slots, osr_host_fn *take, void *ctx)
{
	const char *open = strchr(rest, '['), *close = open ? strchr(open, ']') : NULL, *at = open;
	enum osr_status st = OSR_OK;
	char name[NODE_SIZE];

	if (!close) {
		if (snprintf(name, sizeof(name), "%s%s", head, rest) >= (int)sizeof(name))
			return OSR_INVAL;
		return take(ctx, in, name, slots);
	}
	/* Each number or range, behind '[' or ','. */
	while (at < close && !st) {
		const char *number = ++at;
		uint64_t lo, hi;
		int width;

		if (!osr_scan(&at, "%999999999d", &lo))
			return OSR_INVAL;
		width = at - number;
		hi = lo;
		if (osr_take_word(&at, "-") && !osr_scan(&at, "%999999999d", &hi))
			return OSR_INVAL;
		if (lo > hi || hi - lo >= 1000000 || (*at != ',' && at != close))
			return OSR_INVAL;
		for (; !st && lo <= hi; lo++) {
			if (snprintf(name, sizeof(name), "%s%.*s%0*llu", head, (int)(open - rest),
				     rest, width, (unsigned long long)lo) >= (int)sizeof(name))
				return OSR_INVAL;
			st = expand(in, name, close + 1, slots, take, ctx);
		}
	}
	return st;
}

/* Bytes up to the next comma outside of brackets, or to the end. */
static size_t element_length(const char *list)
{
	int depth = 0;
	size_t n;

	for (n = 0; list[n]; n++) {
		if (!depth && list[n] == ',')
			break;
		depth += (list[n] == '[') - (list[n] == ']');
	}
	return n;
}

/*
 * LIST [slots=N], or names in quotes with commas between them. Commas within brackets do not
 * separate.
 */
static enum osr_status take_hosts(struct osr_lines *in, char *text, osr_host_fn *take, void *ctx)
{
	bool quoted = text[strspn(text, " \t\r")] == '"';
	char *word = osr_word(&text), *more, one[OSR_LINES_MAX];
	enum osr_status st = OSR_OK;
	const char *list, *at;
	uint64_t slots = 0;

	while (quoted && word && !st && text[0] == ',' && text[1] == '"') {
		st = take(ctx, in, word, 0);
		text++;
		word = osr_word(&text);
	}
	if (!word || st)
		return st;
	list = word;
	at = more = osr_word(&text);
	if (more && (!osr_scan(&at, "slots=%65535d", &slots) || *at || !slots || osr_word(&text)))
		return osr_lines_fail(
			in,
			"\"%.80s\": expected slots= and 1 to %d, or nothing, behind a "
			"host; names with blanks stand in \"\"",
			more, MAX_SLOTS);
	if (quoted)
		return take(ctx, in, word, slots);
	while (*list && !st) {
		size_t n = element_length(list);

		snprintf(one, sizeof(one), "%.*s", (int)n, list);
		*in->diag = (struct osr_diag){ 0 };
		st = expand(in, "", one, slots, take, ctx);
		if (st && !*in->diag->text)
			osr_lines_fail(in, "\"%.80s\" is no list of hosts", word);
		list += n + (list[n] == ',');
	}
	return st;
}

enum osr_status osr_hostlist_each(struct osr_lines *in, osr_host_fn *take, void *ctx)
{
	enum osr_status st = OSR_OK;
	char *text;

	in->by_people = true;
	while (!st && osr_lines_next(in, &text, &st))
		st = take_hosts(in, text, take, ctx);
	osr_lines_close(in);
	return st;
}

struct list {
	struct osr_endports *endports;
	bool *seen; /* [n_terminals] */
	uint32_t *hosts, n;
};

static enum osr_status list_take(void *ctx, struct osr_lines *in, const char *word, uint32_t slots)
{
	struct list *list = ctx;
	struct osr_diag why;
	uint32_t t;

	if (slots > 1)
		return osr_lines_fail(in, "\"%.80s\" has one rank here", word);
	if (osr_endports_find(list->endports, word, &t, &why))
		return osr_lines_fail(in, "%s", why.text);
	if (list->seen[t])
		return osr_lines_fail(in, "\"%.80s\" is in the list already", word);
	osr_invariant(list->n < list->endports->fabric->n_terminals);
	list->seen[t] = true;
	list->hosts[list->n++] = t;
	return OSR_OK;
}

enum osr_status osr_hostlist_read(struct osr_lines *in, struct osr_endports *endports,
				  uint32_t *hosts, uint32_t *n)
{
	struct list list = { .endports = endports,
			     .hosts = hosts,
			     .seen = calloc(endports->fabric->n_terminals + 1,
					    sizeof(*list.seen)) };
	enum osr_status st =
		list.seen ? osr_hostlist_each(in, list_take, &list) : osr_lines_nomem(in);

	if (!st && !list.n)
		st = osr_fail(in->diag, OSR_INVAL, "%.200s: no host", in->label);
	osr_lines_close(in);
	free(list.seen);
	*n = list.n;
	return st;
}

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "cli/hostlist.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NODE_SIZE 128

struct name_list {
	bool (*take)(void *context, const char *name);
	void *context;
};

static bool expand_brackets(const struct name_list *to, const char *head, const char *rest)
{
	const char *open = strchr(rest, '['), *close = open ? strchr(open, ']') : NULL;
	char name[NODE_SIZE];

	if (!close) {
		snprintf(name, sizeof(name), "%s%s", head, rest);
		return to->take(to->context, name);
	}
	for (const char *at = open + 1; at < close;) {
		char *end;
		unsigned long lo = strtoul(at, &end, 10), hi = lo;
		int width = (int)(end - at);

		if (end == at || !isdigit((unsigned char)*at))
			return false;
		if (*end == '-')
			hi = strtoul(end + 1, &end, 10);
		for (; lo <= hi && hi - lo < 1000000; lo++) {
			snprintf(name, sizeof(name), "%s%.*s%0*lu", head, (int)(open - rest), rest,
				 width, lo);
			if (!expand_brackets(to, name, close + 1))
				return false;
		}
		at = *end == ',' ? end + 1 : close;
	}
	return true;
}

bool cli_each_name(const char *list, bool (*take)(void *context, const char *name), void *context)
{
	const struct name_list to = { take, context };
	char word[OSR_LINES_MAX];

	while (*list) {
		size_t n = 0;
		int depth = 0;

		for (; list[n] && (depth || list[n] != ','); n++)
			depth += (list[n] == '[') - (list[n] == ']');
		snprintf(word, sizeof(word), "%.*s", (int)n, list);
		if (!expand_brackets(&to, "", word))
			return false;
		list += n + (list[n] == ',');
	}
	return true;
}

enum osr_status cli_hostlist_open(struct osr_lines *in, const char *list, struct osr_diag *diag)
{
	bool is_file = !strcmp(list, "-") || !access(list, R_OK);
	enum osr_status st = is_file ? osr_lines_open(in, list, diag)
				     : osr_lines_text(in, list, strlen(list), "--hosts", diag);

	if (!st)
		in->by_people = true;
	return st;
}

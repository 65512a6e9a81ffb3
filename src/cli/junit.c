/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "cli/junit.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* A text of the fabric's may hold bytes that XML has no way to say: they are written as "?". */
static void write_attribute(FILE *out, const char *name, const char *text)
{
	static const char marks[] = "&<>\"";
	static const char *const entities[] = { "&amp;", "&lt;", "&gt;", "&quot;" };

	fprintf(out, " %s=\"", name);
	for (const char *c = text ? text : ""; *c; c++) {
		const char *mark = strchr(marks, *c);

		if (mark)
			fputs(entities[mark - marks], out);
		else
			putc((unsigned char)*c < ' ' || (unsigned char)*c >= 0x7f ? '?' : *c, out);
	}
	putc('"', out);
}

static void write_case(FILE *out, const struct cli_junit *junit, const char *name, const char *kind,
		       const char *message)
{
	fputs("  <testcase", out);
	write_attribute(out, "classname", junit->fabric);
	write_attribute(out, "name", name);
	fputs(" time=\"0\"", out);
	if (kind) {
		fprintf(out, ">\n   <%s", kind);
		write_attribute(out, "message", message);
		fputs("/>\n  </testcase>\n", out);
	} else {
		fputs("/>\n", out);
	}
}

enum osr_status cli_junit_write(const struct cli_junit *junit, struct osr_diag *diag)
{
	FILE *out = fopen(junit->path, "w");
	bool bad = !out;

	if (out) {
		size_t n = json_array_size(junit->cases), n_failed = 0;
		unsigned n_errors = junit->error != NULL;

		/* One suite: its figures, then each case. */
		for (size_t i = 0; i < n; i++)
			n_failed += !json_is_true(
				json_object_get(json_array_get(junit->cases, i), "met"));
		fprintf(out,
			"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n <testsuite "
			"name=\"osmroutes check\" tests=\"%zu\" failures=\"%zu\" errors=\"%u\" "
			"time=\"%.3f\">\n  <properties>\n   <property name=\"tables\"",
			n + n_errors, n_failed, n_errors, junit->seconds);
		write_attribute(out, "value", junit->tables);
		fputs("/>\n  </properties>\n", out);
		for (size_t i = 0; i < n; i++) {
			const json_t *one = json_array_get(junit->cases, i);

			write_case(out, junit, json_string_value(json_object_get(one, "name")),
				   json_is_true(json_object_get(one, "met")) ? NULL : "failure",
				   json_string_value(json_object_get(one, "message")));
		}
		if (junit->error)
			write_case(out, junit, "tables", "error", junit->error);
		fputs(" </testsuite>\n</testsuites>\n", out);
		bad = ferror(out) | fclose(out);
	}
	return bad ? osr_fail(diag, OSR_INVAL, "%.200s: %s", junit->path, strerror(errno)) : OSR_OK;
}

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "cli/socket.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli/cli.h"

static const struct cli_option options[] = {
	{ "wait", "MS",
	  "wait for the switches to have the new tables, at most N ms (default 60000, 10000 for "
	  "the request of a key)",
	  CLI_NUMBER(struct cli_socket, wait, 0, 86400000) },
	{ "socket", "PATH",
	  "control_socket of the subnet manager (default: $OSMROUTES_KEYS, then " OSRK_SOCKET ")",
	  CLI_TEXT(struct cli_socket, path) },
	{ 0 },
};

const struct cli_spec socket_spec = { options }, socket_only_spec = { options + 1 };

json_t *cli_socket_ask(struct osrk *k, json_t *line)
{
	char *text = line ? json_dumps(line, JSON_COMPACT) : NULL;
	char *answer = text ? osrk_ask(k, text) : NULL;
	json_t *said = answer ? json_loads(answer, 0, NULL) : NULL;

	json_decref(line);
	free(text);
	free(answer);
	return said;
}

const json_t *cli_socket_member(const json_t *json, const char *key)
{
	char name[64];

	while (json && *key) {
		size_t n = strcspn(key, ".");

		snprintf(name, sizeof(name), "%.*s", (int)n, key);
		json = json_object_get(json, name);
		key += key[n] ? n + 1 : n;
	}
	return json;
}

void cli_socket_row(struct out *out, const char *section, const struct out_field *fields,
		    const json_t *json)
{
	out_row(out, section);
	for (const struct out_field *field = fields; field->key; field++) {
		const json_t *value = cli_socket_member(json, field->key);
		time_t seconds = (time_t)json_integer_value(value);
		char when[40];

		if (field->type == OUT_BOOL && json_is_boolean(value))
			out_bool(out, field->key, json_is_true(value));
		else if (field->type == OUT_REAL && json_is_number(value))
			out_real(out, field->key, json_number_value(value));
		else if (field->type == OUT_COUNT && json_is_array(value))
			out_count(out, field->key, json_array_size(value));
		else if (field->type == OUT_COUNT && json_is_integer(value))
			out_count(out, field->key, (uint64_t)json_integer_value(value));
		else if (field->type == OUT_TEXT && seconds &&
			 strftime(when, sizeof(when), "%F %T %z", localtime(&seconds)))
			out_text(out, field->key, when);
		else if (field->type == OUT_TEXT && json_string_length(value))
			out_text(out, field->key, json_string_value(value));
	}
}

void cli_socket_rows(struct out *out, const char *section, const struct out_field *fields,
		     const json_t *list)
{
	for (size_t i = 0; i < json_array_size(list); i++)
		cli_socket_row(out, section, fields, json_array_get(list, i));
}

const struct out_field cli_part_fields[] = {
	{ "what", "part", OUT_TEXT, 0 },   { "guid", "switch GUID", OUT_TEXT, 0 },
	{ "port", "port", OUT_COUNT, 0 },  { "why", "why", OUT_TEXT, 0 },
	{ "state", "state", OUT_TEXT, 0 }, { 0 },
};

int cli_socket_refused(const char *why)
{
	struct osr_diag diag;

	osr_fail(&diag, OSR_NOT_APPLICABLE, "%s", why);
	return cli_fail(OSR_NOT_APPLICABLE, &diag);
}

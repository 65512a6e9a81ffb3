/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* socket.h - sub-commands that ask a running subnet manager, by its control socket: --socket and --wait. */
#ifndef OSR_CLI_SOCKET_H
#define OSR_CLI_SOCKET_H

#include <jansson.h>

#include "cli/output.h"
#include "keyclient/keyclient.h"

struct cli_socket {
	const char *path; /* NULL: where the library finds it */
	long wait;        /* ms */
};

/* For a struct cli_socket; and without --wait. */
extern const struct cli_spec socket_spec, socket_only_spec;

/* The answer to `line`, which is released, or NULL: osrk_error() says why. */
json_t *cli_socket_ask(struct osrk *k, json_t *line);

/* The member of an answer that a key names; a dot in it nests. */
const json_t *cli_socket_member(const json_t *json, const char *key);

/*
 * A row of what an answer has under the keys of the fields: a list as its length, seconds since 1970 in a field of
 * text as date and time. And a row for each of a list.
 */
void cli_socket_row(struct out *out, const char *section, const struct out_field *fields,
		    const json_t *json);
void cli_socket_rows(struct out *out, const char *section, const struct out_field *fields,
		     const json_t *list);
/* Of parts that are drained or held down. */
extern const struct out_field cli_part_fields[];

/* Says why the subnet manager refuses; the exit code. */
int cli_socket_refused(const char *why);

#endif

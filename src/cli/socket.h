/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* socket.h - sub-commands that ask a running subnet manager, by its control socket: --socket and --wait. */
#ifndef OSR_CLI_SOCKET_H
#define OSR_CLI_SOCKET_H

#include <argp.h>
#include <jansson.h>

#include "keyclient/keyclient.h"

struct cli_socket {
	const char *path; /* NULL: where the library finds it */
	long wait;        /* ms */
};

extern const struct argp socket_argp; /* its input is a struct cli_socket */

/* The answer to `line`, which is released, or NULL: osrk_error() says why. */
json_t *cli_socket_ask(struct osrk *k, json_t *line);

/* Says why the subnet manager refuses; the exit code. */
int cli_socket_refused(const char *why);

#endif

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "cli/socket.h"

#include <stdlib.h>

#include "cli/cli.h"

enum { OPT_SOCKET = 0x6000, OPT_WAIT };

static const struct argp_option options[] = {
	{ "socket", OPT_SOCKET, "PATH", 0,
	  "control_socket of the subnet manager (default: $OSMROUTES_KEYS, then " OSRK_SOCKET ")",
	  0 },
	{ "wait", OPT_WAIT, "MS", 0,
	  "wait for the switches to have the new tables, at most N ms (default 60000, 10000 for "
	  "the request of a key)",
	  0 },
	{ NULL, 0, NULL, 0, NULL, 0 },
};

static error_t socket_parse(int key, char *arg, struct argp_state *state)
{
	struct cli_socket *socket = state->input;

	if (key == OPT_SOCKET)
		socket->path = arg;
	else if (key == OPT_WAIT)
		socket->wait = cli_take_number(arg, "wait", 0, 86400000, state);
	else
		return ARGP_ERR_UNKNOWN;
	return 0;
}

const struct argp socket_argp = { .options = options, .parser = socket_parse };

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

int cli_socket_refused(const char *why)
{
	struct osr_diag diag;

	osr_fail(&diag, OSR_NOT_APPLICABLE, "%s", why);
	return cli_fail(OSR_NOT_APPLICABLE, &diag);
}

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Cables and switches out of routing before they are pulled, asked of a running subnet manager. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli/cli.h"
#include "cli/output.h"
#include "cli/socket.h"

#define DEFAULT_WAIT_MS 60000
#define POLL_MS 100

static const struct out_section drain_sections[] = {
	{ "parts", OUT_ROWS, cli_part_fields },
	{ 0 },
};

struct drain_args {
	struct out out;
	struct cli_socket socket;
	const char *what;
	bool undrain, all;
};

static json_t *drain_ask(struct osrk *k, const char *op, const char *what)
{
	return cli_socket_ask(k, json_pack("{s:s, s:s}", "op", op, "what", what ? what : ""));
}

/* Is nothing left to be done by the subnet manager? */
static bool drain_is_settled(const json_t *said)
{
	const json_t *parts = json_object_get(said, "parts");

	for (size_t i = 0; i < json_array_size(parts); i++)
		if (!strcmp(json_string_value(json_object_get(json_array_get(parts, i), "state")),
			    "asked"))
			return false;
	return !json_is_true(json_object_get(said, "pending"));
}

static json_t *drain_wait_settled(const struct drain_args *a, struct osrk *k, json_t *said)
{
	for (long ms = 0; said && !drain_is_settled(said) && ms < a->socket.wait; ms += POLL_MS) {
		nanosleep(&(struct timespec){ .tv_nsec = POLL_MS * 1000000L }, NULL);
		json_decref(said);
		said = drain_ask(k, "drained", NULL);
	}
	return said;
}

static int drain_run(struct drain_args *a)
{
	const char *op = !a->what ? "drained" : a->undrain ? "undrain" : "drain";
	struct osrk *k = osrk_open(a->socket.path);
	json_t *said = osrk_ok(k) ? drain_ask(k, op, a->what) : NULL;
	int code;

	if (a->what)
		said = drain_wait_settled(a, k, said);
	if (!said)
		code = cli_socket_refused(osrk_error(k));
	else if (a->what && !drain_is_settled(said))
		code = cli_socket_refused("accepted, but the subnet manager has no new tables yet: "
					  "`osmroutes drain` shows the state");
	else {
		cli_socket_rows(&a->out, "parts", cli_part_fields, json_object_get(said, "parts"));
		code = out_end(&a->out, CLI_OK);
	}
	json_decref(said);
	osrk_close(k);
	return code;
}

static error_t drain_parse(int key, char *arg, struct argp_state *state)
{
	struct drain_args *a = state->input;

	if (key != ARGP_KEY_ARG)
		return ARGP_ERR_UNKNOWN;
	if (a->what)
		argp_error(state, "one switch or cable at a time: \"%s\"", arg);
	a->what = arg;
	return 0;
}

static error_t undrain_parse(int key, char *arg, struct argp_state *state)
{
	struct drain_args *a = state->input;

	if (key != ARGP_KEY_END)
		return ARGP_ERR_UNKNOWN;
	a->what = a->all ? "all" : a->what;
	if (!a->what)
		argp_error(state, "missing switch or cable: NODE, NODE:PORT or --all");
	return 0;
}

static const struct cli_part drain_parts[] = { { &socket_spec,
						 offsetof(struct drain_args, socket) },
					       { &out_spec, offsetof(struct drain_args, out) },
					       { 0 } };

static const struct cli_spec drain_spec = {
	.parse = drain_parse,
	.parts = drain_parts,
	.args_doc = "[NODE[:PORT]]",
	.doc = "Takes a switch, or the cable at a port of it, out of routing, so that it can be "
	       "pulled without harm; without an argument lists what is drained or held down.",
};

static const struct cli_option undrain_options[] = {
	{ "all", NULL, "everything that is drained", CLI_FLAG(struct drain_args, all) },
	{ 0 },
};

static const struct cli_part undrain_parts[] = { { &drain_spec, 0 }, { 0 } };

static const struct cli_spec undrain_spec = {
	.options = undrain_options,
	.parse = undrain_parse,
	.parts = undrain_parts,
	.args_doc = "NODE[:PORT]",
	.doc = "Routes by a drained switch or cable again.",
};

int cli_drain(int argc, char **argv)
{
	struct drain_args a = { .out = { .command = "drain", .sections = drain_sections },
				.socket.wait = DEFAULT_WAIT_MS };

	cli_parse(&drain_spec, argc, argv, &a);
	return drain_run(&a);
}

int cli_undrain(int argc, char **argv)
{
	struct drain_args a = { .out = { .command = "undrain", .sections = drain_sections },
				.socket.wait = DEFAULT_WAIT_MS,
				.undrain = true };

	cli_parse(&undrain_spec, argc, argv, &a);
	return drain_run(&a);
}

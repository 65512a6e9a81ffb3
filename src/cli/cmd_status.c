/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * What a running subnet manager says of itself: the answer to "status" of the control socket, which has the JSON of the
 * metrics. Fields have the keys that they have there.
 */

#include "cli/cli.h"
#include "cli/output.h"
#include "cli/socket.h"

static const struct out_field status_fields[] = {
	{ "routed_by", "routes now", OUT_TEXT, 0 },
	{ "ours", "  an engine of osmroutes", OUT_BOOL, 0 },
	{ "since", "  since", OUT_TEXT, 0 },
	{ "time", "last sweep", OUT_TEXT, 0 },
	{ "engine", "  engine", OUT_TEXT, 0 },
	{ "tables.engine", "    which chose", OUT_TEXT, 0 },
	{ "outcome", "  outcome", OUT_TEXT, 0 },
	{ "message", "  because of", OUT_TEXT, 0 },
	{ "check.passed", "  tables passed the check", OUT_BOOL, 0 },
	{ "check.text", "  proven", OUT_TEXT, 0 },
	{ "ms.total", "  milliseconds", OUT_REAL, 1 },
	{ "lft.entries_changed", "  LFT entries changed", OUT_COUNT, 0 },
	{ "tables.transition.answer", "    transition", OUT_TEXT, 0 },
	{ "digest", "  digest", OUT_TEXT, 0 },
	{ "fabric.hosts", "hosts", OUT_COUNT, 0 },
	{ "fabric.switches", "switches", OUT_COUNT, 0 },
	{ "fabric.parts", "  parts that cannot reach each other", OUT_COUNT, 0 },
	{ "vls.used", "virtual lanes", OUT_COUNT, 0 },
	{ "vls.available", "  available", OUT_COUNT, 0 },
	{ "load.efi", "routes on the busiest link", OUT_COUNT, 0 },
	{ "load.efi_bound", "  least possible", OUT_COUNT, 0 },
	{ "load.efi_over_bound", "  times the least possible", OUT_REAL, 3 },
	{ "routes.longer", "routes longer than minimal", OUT_COUNT, 0 },
	{ "apps", "applications with routing keys", OUT_COUNT, 0 },
	{ "pending", "  waiting for a sweep", OUT_BOOL, 0 },
	{ 0 },
};

static const struct out_field head_fields[] = {
	{ "osmroutes", NULL, OUT_TEXT, 0 },
	{ "opensm", NULL, OUT_TEXT, 0 },
	{ "sm_port", NULL, OUT_TEXT, 0 },
	{ "state", NULL, OUT_TEXT, 0 },
	{ 0 },
};

static const struct out_field warning_fields[] = {
	{ "time", "when", OUT_TEXT, 0 },
	{ "text", "last warnings", OUT_TEXT, 0 },
	{ 0 },
};

static const struct out_section sections[] = {
	{ "summary", OUT_HEAD, head_fields },
	{ "status", OUT_ONE, status_fields },
	{ "parts", OUT_ROWS, cli_part_fields },
	{ "warnings", OUT_ROWS, warning_fields },
	{ 0 },
};

struct args {
	struct out out;
	struct cli_socket socket;
};

static int status_show(struct args *a, json_t *said)
{
	json_t *sm = json_object_get(said, "sm");

	if (!sm)
		return cli_socket_refused("opensm runs, and has not finished a sweep yet");
	/* Keys and what waits are known to the socket, the rest to the sweep. */
	json_object_set(sm, "apps", json_object_get(said, "apps"));
	json_object_set(sm, "pending", json_object_get(said, "pending"));
	cli_socket_row(&a->out, "summary", head_fields, sm);
	cli_socket_row(&a->out, "status", status_fields, sm);
	cli_socket_rows(&a->out, "parts", cli_part_fields, json_object_get(said, "parts"));
	cli_socket_rows(&a->out, "warnings", warning_fields, json_object_get(sm, "warnings"));
	out_head(&a->out, "osmroutes %s in %s on port %s: %s",
		 json_string_value(json_object_get(sm, "osmroutes")),
		 json_string_value(json_object_get(sm, "opensm")),
		 json_string_value(json_object_get(sm, "sm_port")),
		 json_string_value(json_object_get(sm, "state")));
	return out_end(&a->out, json_is_true(json_object_get(sm, "ours")) &&
						json_is_true(cli_socket_member(sm, "check.passed"))
					? CLI_OK
					: CLI_BAD);
}

static const struct cli_part parts[] = { { &socket_only_spec, offsetof(struct args, socket) },
					 { &out_spec, offsetof(struct args, out) },
					 { 0 } };

static const struct cli_spec spec = {
	.parts = parts,
	.doc = "Says what a running subnet manager does: which engine routes and since when, what "
	       "the last sweep proved, load, drained parts, warnings. Exit code 1 if no tables "
	       "that osmroutes has checked are in use.",
};

int cli_status(int argc, char **argv)
{
	struct args a = { .out = { .command = "status", .sections = sections } };
	struct osrk *k;
	json_t *said;
	int code;

	cli_parse(&spec, argc, argv, &a);
	k = osrk_open(a.socket.path);
	said = osrk_ok(k) ? cli_socket_ask(k, json_pack("{s:s}", "op", "status")) : NULL;
	code = said ? status_show(&a, said) : cli_socket_refused(osrk_error(k));
	json_decref(said);
	osrk_close(k);
	return code;
}

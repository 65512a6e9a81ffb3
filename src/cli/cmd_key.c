/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The client of routing keys for shells and job scripts: what a program does by libosrkeys, one step
 * a call. An application placed here lives until it is withdrawn.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <osmroutes/arena.h>
#include "traffic/phases.h"

#include "cli/cli.h"
#include "cli/output.h"
#include "cli/socket.h"
#include "io/grow.h"
#include "io/trafficfile.h"

#define MAX_SOURCES 64
#define DEFAULT_WAIT_MS 10000

static const struct out_field app_fields[] = {
	{ "app", "application", OUT_COUNT, 0 },
	{ "name", "name", OUT_TEXT, 0 },
	{ "owner", "user", OUT_COUNT, 0 },
	{ "ranks", "hosts", OUT_COUNT, 0 },
	{ "ranks_gone", "gone", OUT_COUNT, 0 },
	{ "held", NULL, OUT_BOOL, 0 },
	{ "path_bits", "path bits", OUT_TEXT, 0 },
	{ "notice", "notice", OUT_TEXT, 0 },
	{ 0 },
};

static const struct out_field key_fields[] = {
	{ "app", "application", OUT_COUNT, 0 },
	{ "key", "key", OUT_COUNT, 0 },
	{ "state", "state", OUT_TEXT, 0 },
	{ "offset", "offset", OUT_COUNT, 0 },
	{ "pairs", "pairs", OUT_COUNT, 0 },
	{ "left_out", "left out", OUT_COUNT, 0 },
	{ "contention", "contention", OUT_COUNT, 0 },
	{ "bound", "at best", OUT_COUNT, 0 },
	{ 0 },
};

static const struct out_field host_fields[] = {
	{ "rank", "rank", OUT_COUNT, 0 },
	{ "host", "host", OUT_TEXT, 0 },
	{ "guid", "port GUID", OUT_TEXT, 0 },
	{ "lid", "first LID", OUT_COUNT, 0 },
	{ 0 },
};

static const struct out_section sections[] = {
	{ "applications", OUT_ROWS, app_fields },
	{ "keys", OUT_ROWS, key_fields },
	{ "hosts", OUT_ROWS, host_fields },
	{ 0 },
};

enum action { PLACE, REQUEST, DONE, STATUS, WITHDRAW, N_ACTIONS };

static const char *const actions[N_ACTIONS] = { "place", "request", "done", "status", "withdraw" };

struct args {
	struct out out;
	enum action action;
	bool has_action, env;
	uint32_t word[2], n_words; /* APP, KEY */
	struct cli_socket socket;
	const char *hosts, *name;
	const char *traffic[MAX_SOURCES];
	uint32_t n_traffic;
	long ranks, offsets, owner;
};

static void key_take_word(struct args *a, const char *arg, struct argp_state *state)
{
	if (a->has_action) {
		if (a->n_words == 2)
			argp_error(state, "too many words: \"%s\"", arg);
		a->word[a->n_words++] =
			(uint32_t)cli_take_number(arg, "number", 0, UINT32_MAX - 1, state);
		return;
	}
	for (a->action = PLACE; a->action < N_ACTIONS && strcmp(arg, actions[a->action]);)
		a->action++;
	if (a->action == N_ACTIONS)
		argp_error(state, "\"%s\": expected place, request, done, status or withdraw", arg);
	a->has_action = true;
}

static void check_words(const struct args *a, struct argp_state *state)
{
	static const uint32_t needs[N_ACTIONS] = { [REQUEST] = 2, [DONE] = 2, [WITHDRAW] = 1 };

	if (!a->has_action)
		argp_error(state, "missing action: place, request, done, status or withdraw");
	if (a->n_words < needs[a->action] || (a->action == PLACE && a->n_words))
		argp_error(state, "%s takes %s", actions[a->action],
			   a->action == PLACE      ? "options only"
			   : needs[a->action] == 2 ? "the numbers of an application and a key"
						   : "the number of an application");
	if (a->action == PLACE && !a->n_traffic)
		argp_error(state, "missing --traffic");
	if (a->action == PLACE && !a->hosts == !a->ranks)
		argp_error(state, "either --hosts or --ranks");
}

enum { OPT_TRAFFIC = 256 };

static const struct cli_option options[] = {
	{ "hosts", "FILE",
	  "place: port GUIDs or names, one a line, by rank; \"-\" is standard input",
	  CLI_TEXT(struct args, hosts) },
	{ "ranks", "N", "place: N hosts that the subnet manager chooses",
	  CLI_NUMBER(struct args, ranks, 2, 65536) },
	{ "traffic", "FILE", "place: a key for each phase of a traffic file", .key = OPT_TRAFFIC },
	{ "offsets", "N", "place: LID offsets for the keys to share (default 1)",
	  CLI_NUMBER(struct args, offsets, 1, 127) },
	{ "name", "TEXT", "place: a name that status shows", CLI_TEXT(struct args, name) },
	{ "owner", "UID", "place: for this user, by root",
	  CLI_NUMBER(struct args, owner, 0, UINT32_MAX - 1) },
	{ "env", NULL, "place: lines for a job's environment instead of a table",
	  CLI_FLAG(struct args, env) },
	{ 0 },
};

static error_t key_parse(int key, char *arg, struct argp_state *state)
{
	struct args *a = state->input;

	switch (key) {
	case OPT_TRAFFIC:
		if (a->n_traffic == MAX_SOURCES)
			argp_error(state, "at most %d traffic files", MAX_SOURCES);
		a->traffic[a->n_traffic++] = arg;
		return 0;
	case ARGP_KEY_ARG:
		key_take_word(a, arg, state);
		return 0;
	case ARGP_KEY_END:
		check_words(a, state);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

/* Hosts and patterns --------------------------------------------------------------------------- */

struct texts {
	const char **text;
	uint32_t n, room;
};

static enum osr_status add_text(struct texts *t, char *text, struct osr_diag *diag)
{
	if (!text || !osr_grow((void **)&t->text, t->n, &t->room, sizeof(*t->text))) {
		free(text);
		return osr_fail(diag, OSR_NOMEM, "out of memory");
	}
	t->text[t->n++] = text;
	return OSR_OK;
}

static void free_texts(struct texts *t)
{
	for (uint32_t i = 0; i < t->n; i++)
		free((char *)t->text[i]);
	free(t->text);
}

static enum osr_status key_read_hosts(const char *path, struct texts *hosts, struct osr_diag *diag)
{
	enum osr_status st = OSR_OK;
	struct osr_lines in;
	char *text;

	osr_lines_open(&in, path, diag)->by_people = true;
	while (!st && osr_lines_next(&in, &text, &st)) {
		char *begin = text + strspn(text, " \t\r");
		size_t n = strcspn(begin, "#\r");

		while (n && (begin[n - 1] == ' ' || begin[n - 1] == '\t'))
			n--;
		if (n)
			st = add_text(hosts, strndup(begin, n), diag);
	}
	osr_lines_close(&in);
	if (!st && hosts->n < 2)
		st = osr_fail(diag, OSR_INVAL, "%s: %u hosts, two or more are needed", path,
			      hosts->n);
	return st;
}

static char *phase_text(const struct osr_pair *pair, uint32_t n)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return NULL;
	for (uint32_t i = 0; i < n; i++)
		fprintf(out, "%s%" PRIu32 ">%" PRIu32, i ? " " : "", pair[i].from, pair[i].to);
	fclose(out);
	return text;
}

static enum osr_status key_collect(const struct args *a, struct texts *hosts,
				   struct texts *patterns, struct osr_diag *diag)
{
	enum osr_status st = a->hosts ? key_read_hosts(a->hosts, hosts, diag) : OSR_OK;
	uint32_t n = a->hosts ? hosts->n : (uint32_t)a->ranks;

	for (uint32_t i = 0; i < a->n_traffic && !st; i++) {
		const char *path = a->traffic[i];
		struct osr_traffic traffic = { .hosts = NULL };
		const struct osr_phases *phases = &traffic.phases;
		struct osr_lines in;

		/* A key for each phase of each traffic file. */
		st = osr_traffic_read(osr_lines_open(&in, path, diag), NULL, &traffic);
		if (!st && phases->n_ranks > n)
			st = osr_fail(diag, OSR_INVAL, "%s: %u ranks, there are %u hosts", path,
				      phases->n_ranks, n);
		for (uint32_t k = 0; k < phases->n_phases && !st; k++)
			st = add_text(patterns,
				      phase_text(phases->pair + phases->row[k],
						 phases->row[k + 1] - phases->row[k]),
				      diag);
		osr_traffic_free(&traffic);
	}
	return st;
}

/* What came back ------------------------------------------------------------------------------- */

static uint64_t key_whole(const json_t *json, const char *key)
{
	return (uint64_t)json_integer_value(json_object_get(json, key));
}

static const char *text_of(const json_t *json, const char *key)
{
	const char *text = json_string_value(json_object_get(json, key));

	return text ? text : "";
}

/* "1,2": as UCX_IB_LID_PATH_BITS takes it. */
static void path_bits(const json_t *app, char *buf, size_t size)
{
	const json_t *offsets = json_object_get(app, "offsets");
	size_t at = 0;

	buf[0] = '\0';
	for (size_t i = 0; i < json_array_size(offsets) && at < size; i++)
		at += (size_t)snprintf(buf + at, size - at, "%s%d", i ? "," : "",
				       (int)json_integer_value(json_array_get(offsets, i)));
}

static void show_app(struct out *o, const json_t *app)
{
	char bits[640];

	path_bits(app, bits, sizeof(bits));
	cli_socket_row(o, "applications", app_fields, app);
	out_text(o, "name", text_of(app, "name"));
	out_text(o, "path_bits", bits);
	for (size_t k = 0; k < json_array_size(json_object_get(app, "keys")); k++) {
		cli_socket_row(o, "keys", key_fields,
			       json_array_get(json_object_get(app, "keys"), k));
		out_count(o, "app", key_whole(app, "app"));
	}
}

static void show_hosts(struct out *o, const json_t *app)
{
	const json_t *hosts = json_object_get(app, "hosts"), *lids = json_object_get(app, "lids"),
		     *names = json_object_get(app, "names");

	for (size_t r = 0; r < json_array_size(hosts); r++) {
		out_row(o, "hosts");
		out_count(o, "rank", r);
		out_text(o, "host", json_string_value(json_array_get(names, r)));
		out_text(o, "guid", json_string_value(json_array_get(hosts, r)));
		out_count(o, "lid", (uint64_t)json_integer_value(json_array_get(lids, r)));
	}
}

/* Actions -------------------------------------------------------------------------------------- */

static json_t *list_json(const struct texts *t)
{
	json_t *list = json_array();

	for (uint32_t i = 0; i < t->n; i++)
		json_array_append_new(list, json_string(t->text[i]));
	return list;
}

static json_t *place_line(const struct args *a, const struct texts *hosts,
			  const struct texts *patterns)
{
	json_t *line =
		json_pack("{s:s, s:s, s:I, s:o}", "op", "place", "name", a->name ? a->name : "",
			  "offsets", (json_int_t)a->offsets, "patterns", list_json(patterns));

	if (line && a->hosts)
		json_object_set_new(line, "hosts", list_json(hosts));
	else if (line)
		json_object_set_new(line, "ranks", json_integer(a->ranks));
	if (line && a->owner >= 0)
		json_object_set_new(line, "owner", json_integer(a->owner));
	return line;
}

static int key_place(struct args *a, struct osrk *k)
{
	struct texts hosts = { 0 }, patterns = { 0 };
	struct osr_diag diag = { "" };
	enum osr_status st = key_collect(a, &hosts, &patterns, &diag);
	json_t *app = st ? NULL : cli_socket_ask(k, place_line(a, &hosts, &patterns));

	free_texts(&hosts);
	free_texts(&patterns);
	if (st)
		return cli_fail(st, &diag);
	if (!app)
		return cli_socket_refused(osrk_error(k));
	if (a->env) {
		char bits[640];

		path_bits(app, bits, sizeof(bits));
		printf("OSMROUTES_APP=%" PRIu64 "\nUCX_IB_LID_PATH_BITS=%s\n",
		       key_whole(app, "app"), bits);
		out_drop(&a->out);
	} else {
		show_app(&a->out, app);
		show_hosts(&a->out, app);
	}
	json_decref(app);
	return a->env ? CLI_OK : out_end(&a->out, CLI_OK);
}

static int key_status(struct args *a, struct osrk *k)
{
	json_t *said = cli_socket_ask(k, json_pack("{s:s}", "op", "status"));
	const json_t *apps = json_object_get(said, "apps");
	bool found = !a->n_words;

	if (!said)
		return cli_socket_refused(osrk_error(k));
	for (size_t i = 0; i < json_array_size(apps); i++) {
		const json_t *app = json_array_get(apps, i);

		if (a->n_words && key_whole(app, "app") != a->word[0])
			continue;
		found = true;
		show_app(&a->out, app);
	}
	if (found && !json_array_size(apps))
		out_note(&a->out, "no application of this user has routing keys");
	json_decref(said);
	if (found)
		return out_end(&a->out, CLI_OK);
	out_drop(&a->out);
	return cli_socket_refused("there is no such application of this user");
}

/* request, done and withdraw; the state afterwards is shown. */
static int key_step(struct args *a, struct osrk *k)
{
	uint32_t app = a->word[0], key = a->word[1];
	struct osrk_key what;
	int st = a->action == REQUEST ? osrk_request(k, app, key, (int)a->socket.wait)
		 : a->action == DONE  ? osrk_done(k, app, key)
				      : osrk_withdraw(k, app);

	if (st)
		return cli_socket_refused(osrk_error(k));
	if (a->action != WITHDRAW && osrk_key(k, app, key, &what)) {
		static const char *const states[] = { "prepared", "waiting", "active",
						      "withdrawn" };

		out_row(&a->out, "keys");
		out_count(&a->out, "app", app);
		out_count(&a->out, "key", key);
		out_text(&a->out, "state", states[what.state]);
		out_count(&a->out, "offset", what.offset);
		out_count(&a->out, "left_out", what.left_out);
		out_count(&a->out, "contention", what.contention);
		out_count(&a->out, "bound", what.bound);
	}
	return out_end(&a->out, CLI_OK);
}

static const struct cli_part parts[] = { { &socket_spec, offsetof(struct args, socket) },
					 { &out_spec, offsetof(struct args, out) },
					 { 0 } };

static const struct cli_spec spec = {
	.options = options,
	.parse = key_parse,
	.parts = parts,
	.args_doc = "place\nrequest APP KEY\ndone APP KEY\nstatus [APP]\nwithdraw APP",
	.doc = "Asks the subnet manager for routing keys: routes for the traffic of one "
	       "application.",
};

int cli_key(int argc, char **argv)
{
	struct args a = { .out = { .command = "key", .sections = sections },
			  .owner = -1,
			  .socket.wait = DEFAULT_WAIT_MS };
	struct osrk *k;
	int code;

	cli_parse(&spec, argc, argv, &a);
	k = osrk_open(a.socket.path);
	if (!osrk_ok(k))
		code = cli_socket_refused(osrk_error(k));
	else if (a.action == PLACE)
		code = key_place(&a, k);
	else
		code = a.action == STATUS ? key_status(&a, k) : key_step(&a, k);
	osrk_close(k);
	return code;
}

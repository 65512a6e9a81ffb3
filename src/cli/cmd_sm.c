/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Questions to a running subnet manager, by its control socket: status, drain, undrain, and routing
 * keys for shells and job scripts. An application placed here lives until it is withdrawn.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <jansson.h>

#include "cli/cli.h"
#include "cli/source.h"
#include "io/endports.h"
#include "io/trafficfile.h"
#include "keyclient/keyclient.h"
#include "traffic/survey.h"

#define POLL_MS 100

enum action { JOB, PLACE, REQUEST, DONE, STATUS, WITHDRAW, N_ACTIONS };

static const char *const actions[N_ACTIONS] = { "job",  "place",  "request",
						"done", "status", "withdraw" };
#define ACTIONS "job, place, request, done, status or withdraw"

struct args {
	struct cli_run run;
	enum osr_status (*work)(struct args *a, struct osrk *k);
	bool log;
	time_t since;     /* of the log; 0: all of it */
	const char *path; /* of the socket; NULL: where the library finds it */
	long wait;        /* ms */
	/* drain and undrain: */
	const char *what;
	bool undrain, all;
	/* key: */
	enum action action;
	bool has_action, env;
	uint32_t word[2], n_words; /* APP, KEY */
	const char *hosts, *name, *rankfile;
	const char *traffic[64];
	uint32_t n_traffic;
	long ranks, offsets, owner;
};

/* ---- answers --------------------------------------------------------------------------------- */

/* The answer to `line`, which is released, or NULL: osrk_error() says why. */
static json_t *ask(struct osrk *client, json_t *line)
{
	char *text = line ? json_dumps(line, JSON_COMPACT) : NULL;
	char *answer = text ? osrk_ask(client, text) : NULL;
	json_t *said = answer ? json_loads(answer, 0, NULL) : NULL;

	json_decref(line);
	free(text);
	free(answer);
	return said;
}

/* The member of an answer that a key names; a dot in it nests. */
static const json_t *member_of(const json_t *json, const char *key)
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

/*
 * A row of what an answer has under the keys of the fields: a list as its length, seconds since
 * 1970 in a field of text as date and time. And a row for each of a list.
 */
static void say_row(struct out *out, const char *section, const struct out_field *fields,
		    const json_t *json)
{
	out_row(out, section);
	for (const struct out_field *field = fields; field->key; field++) {
		const json_t *value = member_of(json, field->key);
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

static void say_rows(struct out *out, const char *section, const struct out_field *fields,
		     const json_t *list)
{
	for (size_t i = 0; i < json_array_size(list); i++)
		say_row(out, section, fields, json_array_get(list, i));
}

/* The subnet manager refuses, or cannot say. */
static enum osr_status refused(struct args *args, const char *why)
{
	return osr_fail(&args->run.diag, OSR_NOT_APPLICABLE, "%s", why);
}

/* It has refused, or what is at the socket gives no answer. */
static enum osr_status not_said(struct args *args, const struct osrk *client)
{
	return osrk_ok(client) ? refused(args, osrk_error(client))
			       : osr_fail(&args->run.diag, OSR_INVAL, "%s", osrk_error(client));
}

#define SOCKET_DOC                                                                                 \
	"control_socket of the subnet manager, or the directory that has it (default: "            \
	"$OSMROUTES_KEYS, then " OSRK_SOCKET ")"

static const struct cli_option socket_options[] = {
	{ "wait", "MS",
	  "wait for the switches to have the new tables, at most MS ms (default 60000, of key "
	  "10000)",
	  CLI_NUMBER(struct args, wait, 0, 86400000) },
	{ "socket", "PATH", SOCKET_DOC, CLI_TEXT(struct args, path) },
	{ 0 },
};

static const struct cli_spec socket_spec = { socket_options };

/* Parts that are drained or held down. */
static const struct out_field part_fields[] = {
	{ "what", "part", OUT_TEXT },   { "guid", "switch GUID", OUT_TEXT },
	{ "port", "port", OUT_COUNT },  { "why", "why", OUT_TEXT },
	{ "state", "state", OUT_TEXT }, { 0 },
};

/* ---- status --------------------------------------------------------------------------------- */

/* Keys as in the JSON of the metrics. */
static const struct out_field status_fields[] = {
	{ "routed_by", "routes now", OUT_TEXT },
	{ "ours", "  an engine of osmroutes", OUT_BOOL },
	{ "since", "  since", OUT_TEXT },
	{ "time", "last sweep", OUT_TEXT },
	{ "engine", "  engine", OUT_TEXT },
	{ "tables.engine", "    which chose", OUT_TEXT },
	{ "outcome", "  outcome", OUT_TEXT },
	{ "message", "  because of", OUT_TEXT },
	{ "check.passed", "  tables passed the check", OUT_BOOL },
	{ "check.text", "  proven", OUT_TEXT },
	{ "refused.nodes", "  nodes that do not hold them", OUT_COUNT },
	{ "ms.total", "  milliseconds", OUT_REAL, 1 },
	{ "lft.entries_changed", "  LFT entries changed", OUT_COUNT },
	{ "tables.transition.answer", "    transition", OUT_TEXT },
	{ "digest", "  digest", OUT_TEXT },
	{ "fabric.hosts", "hosts", OUT_COUNT },
	{ "fabric.end_ports_without_lid", "  end ports without a LID", OUT_COUNT },
	{ "fabric.switches", "switches", OUT_COUNT },
	{ "fabric.parts", "  parts that cannot reach each other", OUT_COUNT },
	{ "vls.used", "virtual lanes", OUT_COUNT },
	{ "vls.available", "  available", OUT_COUNT },
	{ "load.efi", "routes on the busiest link", OUT_COUNT },
	{ "load.efi_per_capacity", "  scaled by link speed", OUT_REAL, 1 },
	{ "load.efi_bound", "    least possible", OUT_REAL, 1 },
	{ "load.efi_over_bound", "    times the least possible", OUT_REAL, 3 },
	{ "load.efi_all", "  to all LIDs", OUT_COUNT },
	{ "load.efi_all_bound", "    least possible", OUT_REAL, 1 },
	{ "split.lids", "LIDs of a host", OUT_COUNT },
	{ "split.first", "  bandwidth to the first", OUT_REAL, 4 },
	{ "split.two", "  split over the first two", OUT_REAL, 4 },
	{ "split.all", "  split over all", OUT_REAL, 4 },
	{ "split.free", "    if no part waits for others", OUT_REAL, 4 },
	{ "split.one", "  to one drawn at random", OUT_REAL, 4 },
	{ "routes.longer", "routes longer than minimal", OUT_COUNT },
	{ "apps", "applications with routing keys", OUT_COUNT },
	{ "pending", "  waiting for a sweep", OUT_BOOL },
	{ 0 },
};

static const struct out_field head_fields[] = {
	{ "osmroutes", NULL, OUT_TEXT },
	{ "opensm", NULL, OUT_TEXT },
	{ "sm_port", NULL, OUT_TEXT },
	{ "state", NULL, OUT_TEXT },
	{ 0 },
};

static const struct out_field warning_fields[] = {
	{ "time", "when", OUT_TEXT },
	{ "text", "last warnings", OUT_TEXT },
	{ 0 },
};

/* Where there are several. */
static const struct out_field instance_fields[] = {
	{ "sm_port", "port", OUT_TEXT },
	{ "state", "state", OUT_TEXT },
	{ "routed_by", "routes now", OUT_TEXT },
	{ "ours", "of osmroutes", OUT_BOOL },
	{ "check.text", "proven", OUT_TEXT },
	{ "refused.nodes", "nodes without tables", OUT_COUNT },
	{ "socket", "socket", OUT_TEXT },
	{ 0 },
};

static const struct out_field sweep_fields[] = {
	{ "time", "when", OUT_TEXT },
	{ "times", NULL, OUT_COUNT },
	{ "cause", "cause", OUT_TEXT },
	{ "engine", NULL, OUT_TEXT },
	{ "outcome", "outcome", OUT_TEXT },
	{ "entries_changed", "entries", OUT_COUNT },
	{ "load", "load", OUT_COUNT },
	{ "load_over_bound", "x bound", OUT_REAL, 3 },
	{ "hosts", "hosts", OUT_COUNT },
	{ "ms", "ms", OUT_REAL, 1 },
	{ "proven", "proven", OUT_TEXT },
	{ "message", NULL, OUT_TEXT },
	{ "change", "what has changed", OUT_TEXT },
	{ 0 },
};

static const struct out_section status_sections[] = {
	{ "instances", OUT_ROWS, instance_fields },
	{ "summary", OUT_HEAD, head_fields },
	{ "status", OUT_ONE, status_fields },
	{ "parts", OUT_ROWS, part_fields },
	{ "warnings", OUT_ROWS, warning_fields },
	{ "sweeps", OUT_ROWS, sweep_fields },
	{ 0 },
};

/* Tables that osmroutes has checked are in use, and all nodes hold them. */
static bool is_good(const json_t *sm)
{
	return json_is_true(json_object_get(sm, "ours")) &&
	       json_is_true(member_of(sm, "check.passed")) &&
	       !json_integer_value(member_of(sm, "refused.nodes"));
}

/* The last sweeps, and nothing else. */
static void show_log(struct args *args, const json_t *list)
{
	struct out *out = &args->run.out;
	size_t n = json_array_size(list), first = 0;

	while (first < n && json_integer_value(json_object_get(json_array_get(list, first),
							       "time")) < args->since)
		first++;
	for (size_t i = first; i < n; i++)
		say_row(out, "sweeps", sweep_fields, json_array_get(list, i));
	if (first == n)
		out_note(out, args->since ? "no sweep since then" : "no sweep is known");
}

static enum osr_status status_show(struct args *args, struct osrk *client)
{
	json_t *said = ask(client, json_pack("{s:s}", "op", "status")),
	       *sm = json_object_get(said, "sm");

	if (!sm) {
		json_decref(said);
		return said ? refused(args, "opensm runs, and has not finished a sweep yet")
			    : not_said(args, client);
	}
	/* Keys and what waits are known to the socket, the rest to the sweep. */
	json_object_set(sm, "apps", json_object_get(said, "apps"));
	json_object_set(sm, "pending", json_object_get(said, "pending"));
	say_row(&args->run.out, "summary", head_fields, sm);
	if (args->log) {
		show_log(args, json_object_get(sm, "history"));
	} else {
		say_row(&args->run.out, "status", status_fields, sm);
		say_rows(&args->run.out, "parts", part_fields, json_object_get(said, "parts"));
		say_rows(&args->run.out, "warnings", warning_fields,
			 json_object_get(sm, "warnings"));
	}
	out_head(&args->run.out, "osmroutes %s in %s on port %s: %s",
		 json_string_value(json_object_get(sm, "osmroutes")),
		 json_string_value(json_object_get(sm, "opensm")),
		 json_string_value(json_object_get(sm, "sm_port")),
		 json_string_value(json_object_get(sm, "state")));
	args->run.code = is_good(sm) ? CLI_OK : CLI_BAD;
	json_decref(said);
	return OSR_OK;
}

/* What the subnet manager at a socket answers, by socket; nothing if there is none. */
static void add_answer(void *ctx, const char *path)
{
	struct osrk *client = osrk_open(path);
	json_t *said = osrk_ok(client) ? ask(client, json_pack("{s:s}", "op", "status")) : NULL;

	if (said)
		json_object_set_new(ctx, path, said);
	osrk_close(client);
}

static enum osr_status sm_work(void *args);

/* Of one all there is to say, of several a row each. */
static enum osr_status status_work(void *args)
{
	json_t *all = json_object(), *said;
	struct args *a = args;
	const char *path;

	osrk_each_socket(a->path, add_answer, all);
	if (json_object_size(all) < 2) {
		json_decref(all);
		return sm_work(args);
	}
	json_object_foreach(all, path, said)
	{
		json_t *sm = json_object_get(said, "sm");

		say_row(&a->run.out, "instances", instance_fields, sm);
		out_text(&a->run.out, "socket", path);
		if (!is_good(sm))
			a->run.code = CLI_BAD;
	}
	out_note(&a->run.out, "--socket=PATH says more about one of them");
	json_decref(all);
	return OSR_OK;
}

/* ---- drain and undrain ---------------------------------------------------------------------- */

static const struct out_section drain_sections[] = { { "parts", OUT_ROWS, part_fields }, { 0 } };

/* Is nothing left to be done by the subnet manager? */
static bool is_settled(const json_t *said)
{
	const json_t *all = json_object_get(said, "parts");

	if (json_object_get(said, "not_master"))
		return true;
	for (size_t i = 0; i < json_array_size(all); i++) {
		const json_t *state = json_object_get(json_array_get(all, i), "state");

		if (json_is_string(state) && !strcmp(json_string_value(state), "asked"))
			return false;
	}
	return !json_is_true(json_object_get(said, "pending"));
}

static enum osr_status drain(struct args *args, struct osrk *client)
{
	json_t *said = ask(client, json_pack("{s:s, s:s}", "op",
					     !args->what     ? "drained"
					     : args->undrain ? "undrain"
							     : "drain",
					     "what", args->what ? args->what : ""));
	enum osr_status st = OSR_OK;

	for (long ms = 0; args->what && said && !is_settled(said) && ms < args->wait;
	     ms += POLL_MS) {
		nanosleep(&(struct timespec){ .tv_nsec = POLL_MS * 1000000L }, NULL);
		json_decref(said);
		said = ask(client, json_pack("{s:s}", "op", "drained"));
	}
	if (!said)
		return not_said(args, client);
	if (args->what && json_object_get(said, "not_master"))
		st = refused(args, "forgotten: another subnet manager is the master now");
	else if (args->what && !is_settled(said))
		st = refused(args, "accepted, but the subnet manager has no new tables yet: "
				   "`osmroutes status` says why");
	else
		say_rows(&args->run.out, "parts", part_fields, json_object_get(said, "parts"));
	if (!st && !json_array_size(json_object_get(said, "parts")))
		out_note(&args->run.out, "nothing is drained or held down");
	json_decref(said);
	return st;
}

static enum osr_status drain_parse(int key, const char *arg, void *args,
				   const struct cli_line *line)
{
	struct args *a = args;

	if (key == CLI_ONE_WORD && a->what)
		return osr_fail(line->diag, OSR_INVAL, "one switch or cable at a time: \"%s\"",
				arg);
	if (key == CLI_ONE_WORD)
		a->what = arg;
	else if (key != CLI_ALL_WORDS)
		return OSR_NOT_APPLICABLE;
	else if (a->undrain && !a->what == !a->all)
		return osr_fail(line->diag, OSR_INVAL,
				"either a switch or cable, as NODE or NODE:PORT, or --all");
	else if (a->all)
		a->what = "all";
	return OSR_OK;
}

static const struct cli_option undrain_options[] = {
	{ "all", NULL, "everything that is drained", CLI_FLAG(struct args, all) },
	{ .part = &socket_spec },
	{ 0 },
};

/* ---- routing keys --------------------------------------------------------------------------- */

static const char *const states[] = { "prepared", "waiting", "active", "withdrawn" };

static const struct out_field app_fields[] = {
	{ "app", "application", OUT_COUNT },
	{ "name", "name", OUT_TEXT },
	{ "owner", "user", OUT_COUNT },
	{ "ranks", "hosts", OUT_COUNT },
	{ "ranks_gone", "gone", OUT_COUNT },
	{ "held", NULL, OUT_BOOL },
	{ "path_bits", "path bits", OUT_TEXT },
	{ "notice", "notice", OUT_TEXT },
	{ 0 },
};

static const struct out_field key_fields[] = {
	{ "app", "application", OUT_COUNT },
	{ "key", "key", OUT_COUNT },
	{ "state", "state", OUT_TEXT },
	{ "offset", "offset", OUT_COUNT },
	{ "pairs", "pairs", OUT_COUNT },
	{ "left_out", "left out", OUT_COUNT },
	{ "contention", "contention", OUT_COUNT },
	{ "bound", "at best", OUT_COUNT },
	{ "fits", "all stages free", OUT_BOOL },
	{ "exchanges", "exchanges free", OUT_BOOL },
	{ 0 },
};

static const struct out_field host_fields[] = {
	{ "rank", "rank", OUT_COUNT },
	{ "host", "host", OUT_TEXT },
	{ "guid", "port GUID", OUT_TEXT },
	{ "lid", "first LID", OUT_COUNT },
	{ 0 },
};

static const struct out_section key_sections[] = {
	{ "applications", OUT_ROWS, app_fields },
	{ "keys", OUT_ROWS, key_fields },
	{ "hosts", OUT_ROWS, host_fields },
	{ 0 },
};

static const struct cli_option key_options[] = {
	{ "hosts", "LIST",
	  "place: port GUIDs or names by rank, with commas or brackets, or a file of them; \"-\" "
	  "is standard input",
	  CLI_TEXT(struct args, hosts) },
	{ "ranks", "N", "place: N hosts that the subnet manager chooses",
	  CLI_NUMBER(struct args, ranks, 2, 65536) },
	{ "traffic", "FILE", "place: a key for each phase of a traffic file",
	  CLI_LIST(struct args, traffic, n_traffic) },
	{ "offsets", "N", "place: LID offsets for the keys to share (default 1)",
	  CLI_NUMBER(struct args, offsets, 1, 127) },
	{ "rankfile", "FILE", "job: write the order of ranks for Open MPI",
	  CLI_TEXT(struct args, rankfile) },
	{ "name", "TEXT", "job, place: a name that status shows", CLI_TEXT(struct args, name) },
	{ "owner", "UID", "job, place: for this user, by root",
	  CLI_NUMBER(struct args, owner, 0, UINT32_MAX - 1) },
	{ "env", NULL, "job, place: lines for a job's environment instead of a table",
	  CLI_FLAG(struct args, env) },
	{ .part = &socket_spec },
	{ 0 },
};

static enum osr_status key_parse(int key, const char *arg, void *args, const struct cli_line *line)
{
	static const uint32_t needs[N_ACTIONS] = { [REQUEST] = 2, [DONE] = 2, [WITHDRAW] = 1 };
	struct args *a = args;
	enum osr_status st;
	long n;

	if (key == CLI_ONE_WORD && a->has_action && a->action == JOB && !a->hosts) {
		a->hosts = arg;
		return OSR_OK;
	}
	if (key == CLI_ONE_WORD && a->has_action) {
		if (a->n_words == 2)
			return osr_fail(line->diag, OSR_INVAL, "too many words: \"%s\"", arg);
		st = cli_take_number(line, "number", arg, 0, UINT32_MAX - 1, &n);
		a->word[a->n_words++] = (uint32_t)n;
		return st;
	}
	if (key == CLI_ONE_WORD) {
		for (a->action = JOB; a->action < N_ACTIONS && strcmp(arg, actions[a->action]);)
			a->action++;
		if (a->action == N_ACTIONS)
			return osr_fail(line->diag, OSR_INVAL, "\"%s\": expected " ACTIONS, arg);
		a->has_action = true;
		return OSR_OK;
	}
	if (key != CLI_ALL_WORDS)
		return OSR_NOT_APPLICABLE;
	if (!a->has_action)
		return osr_fail(line->diag, OSR_INVAL, "missing action: " ACTIONS);
	if (a->action == JOB && (!a->hosts || a->n_words))
		return osr_fail(line->diag, OSR_INVAL,
				"job takes its hosts, or the number of a job of Slurm");
	if (a->n_words < needs[a->action] || (a->action == PLACE && a->n_words))
		return osr_fail(line->diag, OSR_INVAL, "%s takes %s", actions[a->action],
				a->action == PLACE      ? "options only"
				: needs[a->action] == 2 ? "the numbers of an application and a key"
							: "the number of an application");
	if (a->action == PLACE && !a->n_traffic)
		return osr_fail(line->diag, OSR_INVAL, "missing --traffic");
	if (a->action == PLACE && !a->hosts == !a->ranks)
		return osr_fail(line->diag, OSR_INVAL, "either --hosts or --ranks");
	return OSR_OK;
}

static enum osr_status take_host(void *hosts, struct osr_lines *in, const char *name,
				 uint32_t slots)
{
	enum osr_status st = OSR_OK;

	for (uint32_t i = 0; i < (slots ? slots : 1) && !st; i++)
		if (json_array_append_new(hosts, json_string(name)))
			st = osr_lines_fail(in, "a name that is not UTF-8");
	return st;
}

/* A key for each phase of each traffic file, "0>1 1>2". */
static enum osr_status read_patterns(const struct args *args, size_t n_hosts, json_t *patterns,
				     struct osr_diag *diag)
{
	enum osr_status st = OSR_OK;

	for (uint32_t i = 0; i < args->n_traffic && !st; i++) {
		const char *path = args->traffic[i];
		struct osr_traffic traffic = { .hosts = NULL };
		const struct osr_phases *phases = &traffic.phases;
		struct osr_lines in;

		st = osr_traffic_read(osr_lines_open(&in, path, diag), NULL, &traffic);
		if (!st && phases->n_ranks > n_hosts)
			st = osr_fail(diag, OSR_INVAL, "%s: %u ranks, there are %zu hosts", path,
				      phases->n_ranks, n_hosts);
		for (uint32_t k = 0; k < phases->n_phases && !st; k++) {
			char *text = NULL;
			size_t size;
			FILE *out = open_memstream(&text, &size);

			for (uint32_t p = phases->row[k]; out && p < phases->row[k + 1]; p++)
				fprintf(out, "%s%" PRIu32 ">%" PRIu32,
					p == phases->row[k] ? "" : " ", phases->pair[p].from,
					phases->pair[p].to);
			if (!out || fclose(out) ||
			    json_array_append_new(patterns, json_string(text)))
				st = osr_fail(diag, OSR_NOMEM, "out of memory");
			free(text);
		}
		osr_traffic_free(&traffic);
	}
	return st;
}

static uint64_t whole_of(const json_t *json, const char *key)
{
	return (uint64_t)json_integer_value(json_object_get(json, key));
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

static void show_app(struct out *out, const json_t *app)
{
	char bits[640];

	path_bits(app, bits, sizeof(bits));
	say_row(out, "applications", app_fields, app);
	out_text(out, "path_bits", bits);
	for (size_t k = 0; k < json_array_size(json_object_get(app, "keys")); k++) {
		say_row(out, "keys", key_fields, json_array_get(json_object_get(app, "keys"), k));
		out_count(out, "app", whole_of(app, "app"));
	}
}

/* Its environment, or who and where it is. */
static void show_placed(struct args *args, const json_t *app)
{
	char bits[640];

	if (args->env) {
		path_bits(app, bits, sizeof(bits));
		printf("OSMROUTES_APP=%" PRIu64 "\nUCX_IB_LID_PATH_BITS=%s\n", whole_of(app, "app"),
		       bits);
	} else {
		const json_t *guids = json_object_get(app, "hosts");
		const json_t *lids = json_object_get(app, "lids");
		const json_t *names = json_object_get(app, "names");

		show_app(&args->run.out, app);
		for (size_t r = 0; r < json_array_size(guids); r++)
			OUT_ADD(&args->run.out, "hosts", r,
				json_string_value(json_array_get(names, r)),
				json_string_value(json_array_get(guids, r)),
				(uint64_t)json_integer_value(json_array_get(lids, r)));
	}
}

static enum osr_status key_place(struct args *args, struct osrk *client)
{
	json_t *hosts = json_array(), *patterns = json_array(), *line, *app;
	struct osr_diag *diag = &args->run.diag;
	enum osr_status st = OSR_OK;
	struct osr_lines in;

	/* By rank. */
	if (args->hosts)
		st = osr_hostlist_each(cli_hostlist_open(&in, args->hosts, diag), take_host, hosts);
	if (!st && args->hosts && json_array_size(hosts) < 2)
		st = osr_fail(diag, OSR_INVAL, "%s: %zu hosts, two or more are needed", args->hosts,
			      json_array_size(hosts));
	if (!st)
		st = read_patterns(args, args->hosts ? json_array_size(hosts) : (size_t)args->ranks,
				   patterns, diag);
	line = json_pack("{s:s, s:s, s:I, s:o, s:o}", "op", "place", "name",
			 args->name ? args->name : "", "offsets", (json_int_t)args->offsets,
			 "patterns", patterns, args->hosts ? "hosts" : "ranks",
			 args->hosts ? json_incref(hosts) : json_integer(args->ranks));
	json_decref(hosts);
	if (line && args->owner >= 0)
		json_object_set_new(line, "owner", json_integer(args->owner));
	if (st) {
		json_decref(line);
		return st;
	}
	app = ask(client, line);
	if (!app)
		return not_said(args, client);
	show_placed(args, app);
	json_decref(app);
	return OSR_OK;
}

/* ---- a whole job ----------------------------------------------------------------------------- */

#define JOB_ARGUMENT_SIZE 64

/* The hosts of a job, each once, and how many ranks the list gives it. */
struct job_hosts {
	json_t *names, *ranks;
};

static enum osr_status job_take_host(void *ctx, struct osr_lines *in, const char *name,
				     uint32_t slots)
{
	struct job_hosts *hosts = ctx;
	json_int_t more = slots ? slots : 1;

	for (size_t i = 0; i < json_array_size(hosts->names); i++)
		if (!strcmp(json_string_value(json_array_get(hosts->names, i)), name)) {
			json_t *ranks = json_array_get(hosts->ranks, i);

			return json_integer_set(ranks, json_integer_value(ranks) + more)
				       ? osr_lines_nomem(in)
				       : OSR_OK;
		}
	if (json_array_append_new(hosts->names, json_string(name)) ||
	    json_array_append_new(hosts->ranks, json_integer(more)))
		return osr_lines_fail(in, "a name that is not UTF-8");
	return OSR_OK;
}

/* The hosts of a list, of a file, or of a job of Slurm that has this number. */
static enum osr_status job_read_hosts(const char *list, struct job_hosts *hosts,
				      struct osr_diag *diag)
{
	char command[JOB_ARGUMENT_SIZE], nodes[65536] = "";
	struct osr_lines in;
	FILE *slurm;

	if (!list[strspn(list, "0123456789")] && strlen(list) < 16) {
		snprintf(command, sizeof(command), "squeue -h -o %%N -j %s", list);
		slurm = popen(command, "r");
		if (!slurm || !fgets(nodes, sizeof(nodes), slurm))
			nodes[0] = '\0';
		if (slurm)
			pclose(slurm);
		nodes[strcspn(nodes, "\n")] = '\0';
		if (!*nodes)
			return osr_fail(diag, OSR_INVAL, "squeue knows no hosts of job %s", list);
		list = nodes;
	}
	return osr_hostlist_each(cli_hostlist_open(&in, list, diag), job_take_host, hosts);
}

/* "rank 0=n3 slot=0": the hosts in the order of the answer, with as many ranks as the list says. */
static enum osr_status job_write_ranks(const struct job_hosts *hosts, const json_t *app,
				       const char *path, struct osr_diag *diag)
{
	const json_t *places = json_object_get(app, "places");
	FILE *out = strcmp(path, "-") ? fopen(path, "w") : stdout;
	json_int_t rank = 0;
	bool bad;

	if (!out)
		return osr_fail(diag, OSR_INVAL, "%s: %s", path, strerror(errno));
	for (size_t i = 0; i < json_array_size(places); i++) {
		size_t at = (size_t)json_integer_value(json_array_get(places, i));
		json_int_t n = json_integer_value(json_array_get(hosts->ranks, at));

		for (json_int_t slot = 0; slot < n; slot++)
			fprintf(out,
				"rank %" JSON_INTEGER_FORMAT "=%s slot=%" JSON_INTEGER_FORMAT "\n",
				rank++, json_string_value(json_array_get(hosts->names, at)), slot);
	}
	bad = ferror(out);
	bad |= out == stdout ? fflush(out) != 0 : fclose(out) != 0;
	return bad ? osr_fail(diag, OSR_INVAL, "%s: %s", path, strerror(errno)) : OSR_OK;
}

/* What the switches have now, in the answer about the job. */
static void job_update(const struct osrk *client, json_t *app)
{
	json_t *key = json_array_get(json_object_get(app, "keys"), 0);
	struct osrk_key what;

	if (osrk_key(client, (uint32_t)whole_of(app, "app"), 0, &what))
		json_object_set_new(key, "state", json_string(states[what.state]));
}

/* What the user of the job should know; a comment where the lines are an environment. */
static void job_say(struct args *args, const json_t *app)
{
	const json_t *key = json_array_get(json_object_get(app, "keys"), 0);
	const json_t *places = json_object_get(app, "places");
	struct osr_diag text[2] = { { "" }, { "" } };
	bool moved = false;

	for (size_t i = 0; i < json_array_size(places); i++)
		moved |= (size_t)json_integer_value(json_array_get(places, i)) != i;
	if (whole_of(key, "left_out"))
		osr_fail(&text[0], OSR_OK,
			 "the base routing serves %" PRIu64
			 " of the hosts: no path up and down the tree leads to them",
			 whole_of(key, "left_out"));
	else if (!json_is_true(json_object_get(key, "fits")))
		osr_fail(&text[0], OSR_OK,
			 "not all stages of shifts are free: up to %" PRIu64
			 " flows on a cable, no routing has less than %" PRIu64,
			 whole_of(key, "contention"), whole_of(key, "bound"));
	if (moved && !args->rankfile)
		osr_fail(&text[1], OSR_OK,
			 "ranks follow the tree, not the list: --rankfile writes their order");
	for (uint32_t i = 0; i < 2; i++) {
		if (*text[i].text && args->env)
			printf("# %s\n", text[i].text);
		else if (*text[i].text)
			out_note(&args->run.out, "%s", text[i].text);
	}
}

static enum osr_status key_job(struct args *args, struct osrk *client)
{
	struct job_hosts hosts = { json_array(), json_array() };
	struct osr_diag *diag = &args->run.diag;
	enum osr_status st = job_read_hosts(args->hosts, &hosts, diag);
	json_t *line, *app = NULL;

	line = json_pack("{s:s, s:s, s:O}", "op", "job", "name", args->name ? args->name : "",
			 "hosts", hosts.names);
	if (line && args->owner >= 0)
		json_object_set_new(line, "owner", json_integer(args->owner));
	if (!st) {
		app = ask(client, json_incref(line));
		st = app ? OSR_OK : not_said(args, client);
	}
	if (!st && osrk_wait(client, (uint32_t)whole_of(app, "app"), 0, (int)args->wait))
		st = not_said(args, client);
	if (app)
		job_update(client, app);
	if (app && args->rankfile && job_write_ranks(&hosts, app, args->rankfile, diag))
		st = OSR_INVAL;
	if (app) {
		show_placed(args, app);
		job_say(args, app);
	}
	json_decref(line);
	json_decref(app);
	json_decref(hosts.names);
	json_decref(hosts.ranks);
	return st;
}

static enum osr_status key_status(struct args *args, struct osrk *client)
{
	json_t *said = ask(client, json_pack("{s:s}", "op", "status"));
	const json_t *apps = json_object_get(said, "apps");
	bool found = !args->n_words;

	if (!said)
		return not_said(args, client);
	for (size_t i = 0; i < json_array_size(apps); i++) {
		const json_t *app = json_array_get(apps, i);

		if (args->n_words && whole_of(app, "app") != args->word[0])
			continue;
		found = true;
		show_app(&args->run.out, app);
	}
	if (found && !json_array_size(apps))
		out_note(&args->run.out, "no application of this user has routing keys");
	json_decref(said);
	return found ? OSR_OK : refused(args, "there is no such application of this user");
}

/* request, done and withdraw; the state afterwards is shown. */
static enum osr_status key_step(struct args *args, struct osrk *client)
{
	uint32_t app = args->word[0], key = args->word[1];
	struct osrk_key what;
	int st = args->action == REQUEST ? osrk_request(client, app, key, (int)args->wait)
		 : args->action == DONE  ? osrk_done(client, app, key)
					 : osrk_withdraw(client, app);

	if (st)
		return not_said(args, client);
	if (args->action != WITHDRAW && osrk_key(client, app, key, &what)) {
		OUT_ADD(&args->run.out, "keys", app, key, states[what.state], what.offset,
			OUT_NO_COUNT, what.left_out, what.contention, what.bound);
	}
	return OSR_OK;
}

static enum osr_status key(struct args *args, struct osrk *client)
{
	switch (args->action) {
	case JOB:
		return key_job(args, client);
	case PLACE:
		return key_place(args, client);
	case STATUS:
		return key_status(args, client);
	default:
		return key_step(args, client);
	}
}

json_t *cli_sm_parts(void)
{
	struct osrk *client = osrk_open(NULL);
	json_t *said = osrk_ok(client) ? ask(client, json_pack("{s:s}", "op", "drained")) : NULL;
	json_t *parts = json_incref(json_object_get(said, "parts"));

	json_decref(said);
	osrk_close(client);
	return parts;
}

/* ---- all of them ---------------------------------------------------------------------------- */

static enum osr_status sm_work(void *args)
{
	struct args *a = args;
	struct osrk *client = osrk_open(a->path);
	enum osr_status st = osrk_ok(client)
				     ? a->work(a, client)
				     : osr_fail(&a->run.diag, OSR_INVAL, "%s", osrk_error(client));

	osrk_close(client);
	return st;
}

enum { OPT_LOG = 256 };

/* "90s", "30m", "12h", "2d", or a local date and time as in `date +%F\ %T`, of which the end may be left out. */
static enum osr_status take_since(const char *arg, time_t *since, const struct cli_line *line)
{
	static const char *const forms[] = { "%Y-%m-%d %H:%M:%S", "%Y-%m-%d %H:%M", "%Y-%m-%d" };
	static const char units[] = "smhd";
	static const time_t seconds[] = { 1, 60, 3600, 86400 };
	char *end;
	long n = strtol(arg, &end, 10);
	const char *unit = *end ? strchr(units, *end) : NULL;

	if (end > arg && n >= 0 && n < 1000000 && unit && !end[1]) {
		*since = time(NULL) - n * seconds[unit - units];
		return OSR_OK;
	}
	for (size_t i = 0; i < sizeof(forms) / sizeof(*forms); i++) {
		struct tm when = { .tm_isdst = -1 };
		const char *rest = strptime(arg, forms[i], &when);

		if (rest && !*rest) {
			*since = mktime(&when);
			return OSR_OK;
		}
	}
	return osr_fail(line->diag, OSR_INVAL,
			"log \"%s\": expected a time to look back, as 90s, 30m, 12h or 2d, or a "
			"date as \"2026-11-27 23:00\"",
			arg);
}

static enum osr_status status_parse(int key, const char *arg, void *args,
				    const struct cli_line *line)
{
	struct args *a = args;

	if (key != OPT_LOG)
		return OSR_NOT_APPLICABLE;
	a->log = true;
	return arg ? take_since(arg, &a->since, line) : OSR_OK;
}

static const struct cli_option status_options[] = {
	{ "log", "SINCE",
	  "the last 50 sweeps instead: when, why, what had changed, what is proven, load; or "
	  "those since 12h, 2d, or \"2026-11-27 23:00\"",
	  .key = OPT_LOG, .arg_optional = true },
	{ "socket", "PATH", SOCKET_DOC, CLI_TEXT(struct args, path) },
	{ 0 },
};

const struct cli_command cli_status = {
	"status",
	"say what a running subnet manager does",
	CLI_ADMIN,
	{ status_options, status_parse, NULL,
	  "Says what a running subnet manager does: which engine routes and since when, what "
	  "the last sweep proved, load, drained parts, warnings; with --log what the sweeps "
	  "before it did. Exit code 1 if no tables "
	  "that osmroutes has checked are in use, or a node does not hold them." },
	status_sections,
	CLI_ARGS(.work = status_show),
	.work = status_work
};

const struct cli_command cli_drain = {
	"drain",
	"take a cable or switch out of routing before it is pulled",
	CLI_ADMIN,
	{ socket_options, drain_parse, "[NODE[:PORT]]",
	  "Takes a switch, or the cable at a port of it, out of routing, so that it can be "
	  "pulled without harm; without an argument lists what is drained or held down." },
	drain_sections,
	CLI_ARGS(.wait = 60000, .work = drain),
	.work = sm_work
};

const struct cli_command cli_undrain = { "undrain",
					 "route by a drained cable or switch again",
					 CLI_ADMIN,
					 { undrain_options, drain_parse, "NODE[:PORT]",
					   "Routes by a drained switch or cable again." },
					 drain_sections,
					 CLI_ARGS(.wait = 60000, .undrain = true, .work = drain),
					 .work = sm_work };

const struct cli_command cli_key = {
	"key",
	"ask a subnet manager for routes for one application's traffic",
	CLI_ADMIN,
	{ key_options, key_parse,
	  "job HOSTS|ID\nplace\nrequest APP KEY\ndone APP KEY\nstatus [APP]\nwithdraw APP",
	  "Asks the subnet manager for routing keys: routes for the traffic of one "
	  "application." },
	key_sections,
	CLI_ARGS(.owner = -1, .wait = 10000, .work = key),
	.work = sm_work
};

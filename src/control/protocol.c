/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * A line is a JSON object with a member "op"; so is the answer, with "ok". Nothing that a line
 * holds is believed: hosts and ranks are looked up, numbers have limits, and an application of
 * somebody else is not there.
 */
#include "protocol.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "names/names.h"

#define MAX_RANKS (UINT32_C(1) << 16)

/* One line of a client, and the application that it names, if its operation has one. */
struct call {
	struct osr_sched *sched;
	struct osr_sched_app *app;
	const struct osr_peer *peer;
	const json_t *in;
	struct osr_effect *effect;
	struct osr_diag diag;
};

json_t *osr_refusal(enum osr_status st, const char *text)
{
	static const char *const codes[] = { [OSR_OK] = "",
					     [OSR_NOMEM] = "no_memory",
					     [OSR_INVAL] = "invalid",
					     [OSR_NOT_APPLICABLE] = "not_applicable" };
	const char *code =
		(size_t)st < sizeof(codes) / sizeof(*codes) && codes[st] ? codes[st] : "failed";

	return json_pack("{s:b, s:s, s:o}", "ok", 0, "code", code, "error", osr_text(text));
}

/* Text ----------------------------------------------------------------------------------------- */

json_t *osr_text(const char *text)
{
	json_t *json = json_string(text);
	char *ascii = json ? NULL : strdup(text);

	if (!ascii)
		return json;
	for (char *at = ascii; *at; at++)
		if ((unsigned char)*at > '~')
			*at = '?';
	json = json_string(ascii);
	free(ascii);
	return json;
}

/* Without memory the connection ends: half an answer would mislead, see osr_client_say(). */
static json_t *osr_append(json_t *array, json_t *value)
{
	if (!json_array_append_new(array, value))
		return array;
	json_decref(array);
	return NULL;
}

json_t *osr_with(json_t *object, const char *key, json_t *value)
{
	if (!json_object_set_new(object, key, value))
		return object;
	json_decref(object);
	return NULL;
}

static json_t *protocol_refuse(const struct call *call, enum osr_status st)
{
	return osr_refusal(st, call->diag.text[0] ? call->diag.text : osr_status_str(st));
}

/* Words --------------------------------------------------------------------------------------- */

static bool rank_at(const char **at, uint32_t *rank)
{
	char *end;
	unsigned long n;

	if (**at < '0' || **at > '9')
		return false;
	n = strtoul(*at, &end, 10);
	*at = end;
	*rank = (uint32_t)n;
	return n < UINT32_MAX;
}

/* "0>1 1>0": pairs of ranks; how many are accepted is the scheduler's to say. */
static enum osr_status parse_pairs(const char *text, struct osr_arena *arena,
				   struct osr_pair **pair, uint32_t *n, struct osr_diag *diag)
{
	uint32_t room = 0;

	for (const char *t = text; *t; t++)
		room += *t == '>';
	*pair = osr_alloc(arena, room + 1, sizeof(**pair));
	if (osr_arena_failed(arena, diag))
		return OSR_NOMEM;
	for (const char *at = text + strspn(text, " "); *at; at += strspn(at, " ")) {
		struct osr_pair *p = &(*pair)[*n];
		const char *begin = at;

		if (!rank_at(&at, &p->from) || *at++ != '>' || !rank_at(&at, &p->to) ||
		    (*at && *at != ' '))
			return osr_fail(diag, OSR_INVAL,
					"a pattern has \"%.20s\" where two ranks as in \"0>1\" "
					"were expected",
					begin);
		++*n;
	}
	return OSR_OK;
}

/* A whole number 0..max of the line; false if there is something else. A missing one is `none`. */
static bool protocol_number(struct call *call, const char *key, uint32_t max, uint32_t none,
			    uint32_t *n)
{
	const json_t *json = json_object_get(call->in, key);

	*n = none;
	if (!json)
		return true;
	if (!json_is_integer(json) || json_integer_value(json) < 0 ||
	    json_integer_value(json) > max) {
		osr_fail(&call->diag, OSR_INVAL, "\"%s\": expected a whole number, 0 to %u", key,
			 max);
		return false;
	}
	*n = (uint32_t)json_integer_value(json);
	return true;
}

/* Applications -------------------------------------------------------------------------------- */

static bool may_touch(const struct osr_peer *peer, const struct osr_sched_app *app)
{
	return peer->agent || app->owner == peer->uid;
}

json_t *osr_key_json(const struct osr_sched_app *app, uint32_t key)
{
	static const char *const states[] = { "prepared", "waiting", "active", "withdrawn" };
	const struct osr_sched_key *sched_key = &app->key[key];
	json_t *json = json_pack(
		"{s:I, s:s, s:i, s:I, s:I, s:I, s:I}", "key", (json_int_t)key, "state",
		states[sched_key->state], "offset", app->slot[sched_key->slot].offset, "pairs",
		(json_int_t)sched_key->n_pairs, "left_out", (json_int_t)sched_key->key.n_left_out,
		"contention", (json_int_t)sched_key->contention, "bound",
		(json_int_t)sched_key->key.bound);

	if (!app->job)
		return json;
	json = osr_with(json, "fits", json_boolean(sched_key->worth.fits));
	return osr_with(json, "exchanges", json_boolean(sched_key->worth.exchanges));
}

static json_t *protocol_app_json(const struct osr_sched_app *app)
{
	json_t *keys = json_array(), *offsets = json_array();
	uint32_t n_gone = 0;

	for (uint32_t k = 0; k < app->n_keys; k++)
		keys = osr_append(keys, osr_key_json(app, k));
	for (uint32_t i = 0; i < app->n_slots; i++)
		offsets = osr_append(offsets, json_integer(app->slot[i].offset));
	for (uint32_t r = 0; r < app->n_ranks; r++)
		n_gone += app->term[r] == OSR_NONE;
	return json_pack("{s:I, s:o, s:I, s:b, s:I, s:I, s:o, s:o, s:o}", "app",
			 (json_int_t)app->id, "name", osr_text(app->name), "owner",
			 (json_int_t)app->owner, "held", app->held, "ranks",
			 (json_int_t)app->n_ranks, "ranks_gone", (json_int_t)n_gone, "offsets",
			 offsets, "keys", keys, "notice", osr_text(app->notice.text));
}

/* Placing ------------------------------------------------------------------------------------- */

struct placing {
	struct osr_sched_in in;
	uint64_t *host;
	struct osr_names names; /* of the hosts, once one is named */
	struct osr_arena arena; /* of all of it */
	char name[64];
};

static enum osr_status find_host(struct call *call, struct placing *placing, uint32_t rank,
				 const json_t *json)
{
	const struct osr_fabric *fabric = osr_sched_present(call->sched);
	const char *text = json_string_value(json);
	uint32_t node, port;
	struct osr_diag why;
	enum osr_status st;

	if (!text)
		return osr_fail(&call->diag, OSR_INVAL, "host of rank %u: expected a text", rank);
	/* A port GUID, or a name. */
	if (!strncmp(text, "0x", 2) && text[2] && strlen(text) <= 18 &&
	    !text[2 + strspn(text + 2, "0123456789abcdefABCDEF")]) {
		placing->host[rank] = strtoull(text, NULL, 16);
		return OSR_OK;
	}
	if (!fabric)
		return osr_fail(&call->diag, OSR_NOT_APPLICABLE, "no fabric has been routed yet");
	if (!placing->names.row) {
		st = osr_names_of_fabric(&placing->names, fabric, &placing->arena, &call->diag);
		if (st)
			return st;
	}
	/* A rank sends from one port: of several the names are listed. */
	if (osr_names_find(&placing->names, text, OSR_NAME_END_PORT, &node, &port, &why))
		return osr_fail(&call->diag, OSR_INVAL, "rank %u: %s", rank, why.text);
	placing->host[rank] = placing->names.hit[0]->guid;
	return OSR_OK;
}

static enum osr_status protocol_take_hosts(struct call *call, struct placing *placing)
{
	const json_t *hosts = json_object_get(call->in, "hosts");
	enum osr_status st = OSR_OK;

	if (!protocol_number(call, "ranks", MAX_RANKS, 0, &placing->in.n_ranks))
		return OSR_INVAL;
	if (!hosts)
		return OSR_OK;
	if (!json_is_array(hosts) || json_array_size(hosts) > MAX_RANKS)
		return osr_fail(&call->diag, OSR_INVAL,
				"\"hosts\": expected a list of at most %u port GUIDs or names",
				MAX_RANKS);
	placing->in.n_ranks = (uint32_t)json_array_size(hosts);
	placing->host = osr_alloc(&placing->arena, placing->in.n_ranks, sizeof(*placing->host));
	if (osr_arena_failed(&placing->arena, &call->diag))
		return OSR_NOMEM;
	for (uint32_t r = 0; !st && r < placing->in.n_ranks; r++)
		st = find_host(call, placing, r, json_array_get(hosts, r));
	placing->in.host = placing->host;
	return st;
}

static enum osr_status take_patterns(struct call *call, struct placing *placing)
{
	const json_t *patterns = json_object_get(call->in, "patterns");
	uint32_t n = (uint32_t)json_array_size(patterns), *n_pairs;
	enum osr_status st = OSR_OK;
	struct osr_pair **pair;

	if (!json_is_array(patterns) || !n)
		return osr_fail(&call->diag, OSR_INVAL,
				"\"patterns\": expected a list of texts like \"0>1 1>0\"");
	pair = osr_calloc(&placing->arena, n, sizeof(*pair));
	n_pairs = osr_calloc(&placing->arena, n, sizeof(*n_pairs));
	if (osr_arena_failed(&placing->arena, &call->diag))
		return OSR_NOMEM;
	placing->in.n_keys = n;
	for (uint32_t k = 0; !st && k < n; k++) {
		const char *text = json_string_value(json_array_get(patterns, k));

		st = text ? parse_pairs(text, &placing->arena, &pair[k], &n_pairs[k], &call->diag)
			  : osr_fail(&call->diag, OSR_INVAL, "pattern %u: expected a text", k);
	}
	placing->in.pair = (const struct osr_pair *const *)pair;
	placing->in.n_pairs = n_pairs;
	return st;
}

/* It goes into logs: one line, and nothing that moves a cursor. */
static enum osr_status protocol_take_name(struct call *call, struct placing *placing)
{
	const json_t *name = json_object_get(call->in, "name"),
		     *held = json_object_get(call->in, "hold");
	uint32_t owner;

	if ((name && !json_is_string(name)) || (held && !json_is_boolean(held)))
		return osr_fail(&call->diag, OSR_INVAL,
				"\"name\" is a text, \"hold\" is true or false");
	snprintf(placing->name, sizeof(placing->name), "%s", name ? json_string_value(name) : "");
	for (char *t = placing->name; *t; t++)
		if ((unsigned char)*t < ' ' || (unsigned char)*t > '~')
			*t = '?';
	placing->in.name = placing->name;
	placing->in.held = json_is_true(held);
	if (!protocol_number(call, "owner", UINT32_MAX - 1, call->peer->uid, &owner))
		return OSR_INVAL;
	if (owner != call->peer->uid && !call->peer->agent)
		return osr_fail(&call->diag, OSR_INVAL,
				"user %u cannot place an application of user %u", call->peer->uid,
				owner);
	placing->in.owner = owner;
	return OSR_OK;
}

/* Who and where an application is, and what it has: its text is read without the lock. */
static enum osr_status protocol_take(struct call *call, struct placing *placing)
{
	enum osr_status st = protocol_take_name(call, placing);

	/* Patterns are long, and their text says nothing of the fabric. */
	osr_sched_leave(call->sched);
	if (!st && !placing->in.job)
		st = take_patterns(call, placing);
	osr_sched_take(call->sched);
	if (!st)
		st = protocol_take_hosts(call, placing);
	if (!st && !protocol_number(call, placing->in.job ? "offset" : "offsets", 128, 0,
				    placing->in.job ? &placing->in.offset : &placing->in.n_offsets))
		st = OSR_INVAL;
	return st;
}

/* Where the ranks of an application are, and whose it is. */
static json_t *protocol_placed(struct call *call, const struct osr_sched_app *app)
{
	const struct osr_fabric *fabric = osr_sched_present(call->sched);
	json_t *hosts = json_array(), *lids = json_array(), *names = json_array();
	json_t *places = json_array(), *answer = protocol_app_json(app);
	char text[32];

	for (uint32_t r = 0; r < app->n_ranks; r++) {
		uint32_t term = app->term[r];
		bool here = fabric && term != OSR_NONE;

		snprintf(text, sizeof(text), "0x%016" PRIx64, app->host[r]);
		hosts = osr_append(hosts, json_string(text));
		lids = osr_append(lids, json_integer(here ? fabric->term_lid[term] : 0));
		names = osr_append(names,
				   osr_text(here ? osr_terminal_name(fabric, term, text) : text));
		places = osr_append(places, json_integer(app->place[r]));
	}
	answer = osr_with(answer, "hosts", hosts);
	answer = osr_with(answer, "lids", lids);
	answer = osr_with(answer, "names", names);
	if (app->job)
		answer = osr_with(answer, "places", places);
	else
		json_decref(places);
	return osr_with(answer, "ok", json_true());
}

/* An application, or a job, whose key is requested at once. */
static json_t *protocol_place(struct call *call)
{
	struct placing placing = { 0 };
	struct osr_sched_app *app = NULL;
	enum osr_status st;
	json_t *answer;

	placing.in.job = !strcmp(json_string_value(json_object_get(call->in, "op")), "job");
	st = protocol_take(call, &placing);
	if (!st)
		st = osr_sched_place(call->sched, &placing.in, &app, &call->diag);
	/* Everything was copied. */
	osr_arena_free(&placing.arena);
	if (!st && placing.in.job)
		st = osr_sched_request(call->sched, app, 0, &call->diag);
	if (st) {
		/* It would stay, and nobody would know of it. */
		if (app)
			osr_sched_release(call->sched, app);
		return protocol_refuse(call, st);
	}
	answer = protocol_placed(call, app);
	if (!answer) {
		osr_sched_release(call->sched, app);
		return NULL;
	}
	call->effect->attach = app->id;
	call->effect->key = placing.in.job ? 0 : OSR_NONE;
	return answer;
}

/* Run time ------------------------------------------------------------------------------------- */

static json_t *withdraw(struct call *call)
{
	json_t *answer = json_pack("{s:b, s:I}", "ok", 1, "app", (json_int_t)call->app->id);

	call->effect->detach = call->app->id;
	osr_sched_release(call->sched, call->app);
	return answer;
}

static json_t *protocol_attach(struct call *call)
{
	call->effect->attach = call->app->id;
	return osr_with(protocol_app_json(call->app), "ok", json_true());
}

/*
 * The state of the subnet manager. For one that is not the master only its identity: its tables are
 * not in use.
 */
static json_t *protocol_sm(const struct osr_peer *peer)
{
	static const char *const kept[] = { "osmroutes", "opensm", "sm_port", "warnings",
					    "history" };
	json_t *sm;

	if (!peer->not_master)
		return json_deep_copy(*peer->sm);
	sm = json_pack("{s:s, s:s, s:b}", "state", peer->not_master, "routed_by", "", "ours", 0);
	for (size_t i = 0; i < sizeof(kept) / sizeof(*kept); i++) {
		json_t *value = json_object_get(*peer->sm, kept[i]);

		if (value)
			sm = osr_with(sm, kept[i], json_deep_copy(value));
	}
	return sm;
}

static json_t *protocol_status(struct call *call)
{
	json_t *apps = json_array(), *answer;
	const struct osr_sched_app *app;

	for (uint32_t i = 0; (app = osr_sched_row(call->sched, i)); i++)
		if (may_touch(call->peer, app))
			apps = osr_append(apps, protocol_app_json(app));
	answer =
		json_pack("{s:b, s:s, s:i, s:b, s:b, s:o, s:o*}", "ok", 1, "osmroutes", OSR_VERSION,
			  "protocol", OSR_PROTOCOL, "ready", osr_sched_present(call->sched) != NULL,
			  "pending", osr_sched_dirty(call->sched), "apps", apps, "parts",
			  call->peer->drains ? osr_drains_json(call->peer->drains) : NULL);
	/* A copy: the answer is written when the lock is free again. */
	return call->peer->sm && *call->peer->sm ? osr_with(answer, "sm", protocol_sm(call->peer))
						 : answer;
}

/* Drained parts -------------------------------------------------------------------------------- */

static json_t *drained(struct call *call)
{
	struct osr_drains *drains = call->peer->drains;
	json_t *parts = drains ? osr_drains_json(drains) : json_array();
	struct osr_drains_state state = { 0 };

	if (drains)
		state = osr_drains_state(drains);
	return json_pack("{s:b, s:b, s:s*, s:o}", "ok", 1, "pending", state.done != state.version,
			 "not_master", call->peer->not_master, "parts", parts);
}

static json_t *drain_or_not(struct call *call)
{
	const char *what = json_string_value(json_object_get(call->in, "what"));
	bool drain = !strcmp(json_string_value(json_object_get(call->in, "op")), "drain");
	enum osr_status st;

	if (!call->peer->master || !call->peer->drains)
		st = osr_fail(
			&call->diag, OSR_NOT_APPLICABLE,
			"only root and the user of the subnet manager drain switches and cables");
	else if (!what)
		st = osr_fail(&call->diag, OSR_INVAL, "\"what\": expected NODE or NODE:PORT");
	else
		st = drain ? osr_drains_add(call->peer->drains, osr_sched_present(call->sched),
					    what, &call->diag)
			   : osr_drains_remove(call->peer->drains, what, &call->diag);
	return st ? protocol_refuse(call, st) : drained(call);
}

/* The operations of the protocol. */
static const struct operation {
	const char *op;
	bool of_app;    /* of an application of the peer */
	bool of_master; /* not of a subnet manager that is on standby */
	/* An operation on a key of the application, which answers with the key; or another one. */
	enum osr_status (*of_key)(struct osr_sched *sched, struct osr_sched_app *app, uint32_t key,
				  struct osr_diag *diag);
	json_t *(*answer)(struct call *c);
} operations[] = {
	{ "place", false, true, NULL, protocol_place },
	{ "job", false, true, NULL, protocol_place },
	{ "request", true, true, osr_sched_request, NULL },
	{ "done", true, false, osr_sched_done, NULL },
	{ "withdraw", true, false, NULL, withdraw },
	{ "attach", true, false, NULL, protocol_attach },
	{ "status", false, false, NULL, protocol_status },
	{ "drain", false, true, NULL, drain_or_not },
	{ "undrain", false, true, NULL, drain_or_not },
	{ "drained", false, false, NULL, drained },
};

static json_t *answer_of(struct call *call, const struct operation *op)
{
	enum osr_status st;
	json_t *answer;
	uint32_t id, key;

	if (op->of_master && call->peer->not_master) {
		st = osr_fail(&call->diag, OSR_NOT_APPLICABLE,
			      "this subnet manager is %s, not the master: ask the one that is",
			      call->peer->not_master);
		return protocol_refuse(call, st);
	}
	if (op->of_app) {
		if (!protocol_number(call, "app", UINT32_MAX - 1, 0, &id))
			return protocol_refuse(call, OSR_INVAL);
		call->app = osr_sched_find(call->sched, id);
		/* Another user's application is refused in the same words as an unknown one. */
		if (!call->app || !may_touch(call->peer, call->app)) {
			osr_fail(&call->diag, OSR_INVAL, "user %u has no application %u",
				 call->peer->uid, id);
			return protocol_refuse(call, OSR_INVAL);
		}
	}
	if (!op->of_key)
		return op->answer(call);
	if (!protocol_number(call, "key", UINT32_MAX - 1, 0, &key))
		return protocol_refuse(call, OSR_INVAL);
	st = op->of_key(call->sched, call->app, key, &call->diag);
	if (st)
		return protocol_refuse(call, st);
	call->effect->attach = call->app->id;
	call->effect->key = key;
	answer = osr_with(osr_key_json(call->app, key), "app", json_integer(call->app->id));
	return osr_with(answer, "ok", json_true());
}

static const struct operation *find_operation(const char *op)
{
	for (size_t i = 0; i < sizeof(operations) / sizeof(*operations); i++)
		if (!strcmp(op, operations[i].op))
			return &operations[i];
	return NULL;
}

json_t *osr_protocol(struct osr_sched *sched, const struct osr_peer *peer, const char *line,
		     size_t size, struct osr_effect *effect)
{
	struct call call = { .sched = sched, .peer = peer, .effect = effect };
	const struct operation *found;
	json_error_t error;
	json_t *in = json_loadb(line, size, JSON_REJECT_DUPLICATES, &error), *answer;
	const char *op = json_string_value(json_object_get(in, "op"));

	*effect = (struct osr_effect){ .key = OSR_NONE };
	call.in = in;
	found = op ? find_operation(op) : NULL;
	osr_sched_take(sched);
	if (found)
		answer = answer_of(&call, found);
	else if (json_is_object(in))
		answer = osr_refusal(OSR_INVAL,
				     "\"op\": expected place, job, request, done, withdraw, "
				     "attach, status, drain, undrain or drained");
	else {
		osr_fail(&call.diag, OSR_INVAL, "expected a JSON object on one line: %.100s",
			 in ? "it is something else" : error.text);
		answer = protocol_refuse(&call, OSR_INVAL);
	}
	/* Whatever the client calls it, it comes back. */
	if (json_object_get(in, "id"))
		answer = osr_with(answer, "id", json_incref(json_object_get(in, "id")));
	json_decref(in);
	return answer;
}

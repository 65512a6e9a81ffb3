/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * A line is a JSON object with a member "op"; so is the answer, with "ok". Nothing that a line holds
 * is believed: hosts and ranks are looked up, numbers have limits, and an application of somebody
 * else is not there.
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
	struct osr_sched *s;
	struct osr_sched_app *app;
	const struct osr__peer *peer;
	const json_t *in;
	struct osr__effect *effect;
	struct osr_diag diag;
};

json_t *osr__refusal(enum osr_status st, const char *text)
{
	static const char *const codes[] = { [OSR_OK] = "",
					     [OSR_NOMEM] = "no_memory",
					     [OSR_INVAL] = "invalid",
					     [OSR_NOT_APPLICABLE] = "not_applicable" };
	const char *code =
		(size_t)st < sizeof(codes) / sizeof(*codes) && codes[st] ? codes[st] : "failed";

	return json_pack("{s:b, s:s, s:o}", "ok", 0, "code", code, "error", osr__text(text));
}

/* Text ----------------------------------------------------------------------------------------- */

json_t *osr__text(const char *text)
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

/* Without memory half an answer is none: the connection ends instead, see osr__client_say(). */
static json_t *osr__append(json_t *array, json_t *value)
{
	if (!json_array_append_new(array, value))
		return array;
	json_decref(array);
	return NULL;
}

json_t *osr__with(json_t *object, const char *key, json_t *value)
{
	if (!json_object_set_new(object, key, value))
		return object;
	json_decref(object);
	return NULL;
}

static json_t *protocol_refuse(const struct call *c, enum osr_status st)
{
	return osr__refusal(st, c->diag.text[0] ? c->diag.text : osr_status_str(st));
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
static bool protocol_number(struct call *c, const char *key, uint32_t max, uint32_t none,
			    uint32_t *n)
{
	const json_t *json = json_object_get(c->in, key);

	*n = none;
	if (!json)
		return true;
	if (!json_is_integer(json) || json_integer_value(json) < 0 ||
	    json_integer_value(json) > max) {
		osr_fail(&c->diag, OSR_INVAL, "\"%s\": expected a whole number, 0 to %u", key, max);
		return false;
	}
	*n = (uint32_t)json_integer_value(json);
	return true;
}

/* Applications -------------------------------------------------------------------------------- */

static bool may_touch(const struct osr__peer *peer, const struct osr_sched_app *app)
{
	return peer->agent || app->owner == peer->uid;
}

json_t *osr__key_json(const struct osr_sched_app *app, uint32_t key)
{
	static const char *const states[] = { "prepared", "waiting", "active", "withdrawn" };
	const struct osr_sched_key *sched_key = &app->key[key];

	return json_pack("{s:I, s:s, s:i, s:I, s:I, s:I, s:I}", "key", (json_int_t)key, "state",
			 states[sched_key->state], "offset", app->slot[sched_key->slot].offset,
			 "pairs", (json_int_t)sched_key->n_pairs, "left_out",
			 (json_int_t)sched_key->key.n_left_out, "contention",
			 (json_int_t)sched_key->contention, "bound",
			 (json_int_t)sched_key->key.bound);
}

static json_t *protocol_app_json(const struct osr_sched_app *app)
{
	json_t *keys = json_array(), *offsets = json_array();
	uint32_t n_gone = 0;

	for (uint32_t k = 0; k < app->n_keys; k++)
		keys = osr__append(keys, osr__key_json(app, k));
	for (uint32_t i = 0; i < app->n_slots; i++)
		offsets = osr__append(offsets, json_integer(app->slot[i].offset));
	for (uint32_t r = 0; r < app->n_ranks; r++)
		n_gone += app->term[r] == OSR_NONE;
	return json_pack("{s:I, s:o, s:I, s:b, s:I, s:I, s:o, s:o, s:o}", "app",
			 (json_int_t)app->id, "name", osr__text(app->name), "owner",
			 (json_int_t)app->owner, "held", app->held, "ranks",
			 (json_int_t)app->n_ranks, "ranks_gone", (json_int_t)n_gone, "offsets",
			 offsets, "keys", keys, "notice", osr__text(app->notice.text));
}

/* Placing ------------------------------------------------------------------------------------- */

struct placing {
	struct osr_sched_in in;
	uint64_t *host;
	struct osr_names names; /* of the hosts, once one is named */
	struct osr_arena arena; /* of all of it */
	char name[64];
};

static enum osr_status find_host(struct call *c, struct placing *p, uint32_t rank,
				 const json_t *json)
{
	const struct osr_fabric *fabric = osr_sched_present(c->s);
	const char *text = json_string_value(json);
	uint32_t node, port;
	struct osr_diag why;
	enum osr_status st;

	if (!text)
		return osr_fail(&c->diag, OSR_INVAL, "host of rank %u: expected a text", rank);
	/* A port GUID, or a name. */
	if (!strncmp(text, "0x", 2) && text[2] && strlen(text) <= 18 &&
	    !text[2 + strspn(text + 2, "0123456789abcdefABCDEF")]) {
		p->host[rank] = strtoull(text, NULL, 16);
		return OSR_OK;
	}
	if (!fabric)
		return osr_fail(&c->diag, OSR_NOT_APPLICABLE, "no fabric has been routed yet");
	if (!p->names.row) {
		st = osr_names_of_fabric(&p->names, fabric, &p->arena, &c->diag);
		if (st)
			return st;
	}
	/* A rank sends from one port: of several the names are listed. */
	if (osr_names_find(&p->names, text, OSR_NAME_END_PORT, &node, &port, &why))
		return osr_fail(&c->diag, OSR_INVAL, "rank %u: %s", rank, why.text);
	p->host[rank] = p->names.hit[0]->guid;
	return OSR_OK;
}

static enum osr_status protocol_take_hosts(struct call *c, struct placing *p)
{
	const json_t *hosts = json_object_get(c->in, "hosts");
	enum osr_status st = OSR_OK;

	if (!protocol_number(c, "ranks", MAX_RANKS, 0, &p->in.n_ranks))
		return OSR_INVAL;
	if (!hosts)
		return OSR_OK;
	if (!json_is_array(hosts) || json_array_size(hosts) > MAX_RANKS)
		return osr_fail(&c->diag, OSR_INVAL,
				"\"hosts\": expected a list of at most %u port GUIDs or names",
				MAX_RANKS);
	p->in.n_ranks = (uint32_t)json_array_size(hosts);
	p->host = osr_alloc(&p->arena, p->in.n_ranks, sizeof(*p->host));
	if (osr_arena_failed(&p->arena, &c->diag))
		return OSR_NOMEM;
	for (uint32_t r = 0; r < p->in.n_ranks && !st; r++)
		st = find_host(c, p, r, json_array_get(hosts, r));
	p->in.host = p->host;
	return st;
}

static enum osr_status take_patterns(struct call *c, struct placing *p)
{
	const json_t *patterns = json_object_get(c->in, "patterns");
	uint32_t n = (uint32_t)json_array_size(patterns), *n_pairs;
	enum osr_status st = OSR_OK;
	struct osr_pair **pair;

	if (!json_is_array(patterns) || !n)
		return osr_fail(&c->diag, OSR_INVAL,
				"\"patterns\": expected a list of texts like \"0>1 1>0\"");
	pair = osr_calloc(&p->arena, n, sizeof(*pair));
	n_pairs = osr_calloc(&p->arena, n, sizeof(*n_pairs));
	if (osr_arena_failed(&p->arena, &c->diag))
		return OSR_NOMEM;
	p->in.n_keys = n;
	for (uint32_t k = 0; k < n && !st; k++) {
		const char *text = json_string_value(json_array_get(patterns, k));

		st = text ? parse_pairs(text, &p->arena, &pair[k], &n_pairs[k], &c->diag)
			  : osr_fail(&c->diag, OSR_INVAL, "pattern %u: expected a text", k);
	}
	p->in.pair = (const struct osr_pair *const *)pair;
	p->in.n_pairs = n_pairs;
	return st;
}

/* It goes into logs: one line, and nothing that moves a cursor. */
static enum osr_status protocol_take_name(struct call *c, struct placing *p)
{
	const json_t *name = json_object_get(c->in, "name"), *held = json_object_get(c->in, "hold");
	uint32_t owner;

	if ((name && !json_is_string(name)) || (held && !json_is_boolean(held)))
		return osr_fail(&c->diag, OSR_INVAL,
				"\"name\" is a text, \"hold\" is true or false");
	snprintf(p->name, sizeof(p->name), "%s", name ? json_string_value(name) : "");
	for (char *t = p->name; *t; t++)
		if ((unsigned char)*t < ' ' || (unsigned char)*t > '~')
			*t = '?';
	p->in.name = p->name;
	p->in.held = json_is_true(held);
	if (!protocol_number(c, "owner", UINT32_MAX - 1, c->peer->uid, &owner))
		return OSR_INVAL;
	if (owner != c->peer->uid && !c->peer->agent)
		return osr_fail(&c->diag, OSR_INVAL,
				"user %u cannot place an application of user %u", c->peer->uid,
				owner);
	p->in.owner = owner;
	return OSR_OK;
}

static json_t *protocol_place(struct call *c)
{
	struct placing p = { 0 };
	struct osr_sched_app *app = NULL;
	enum osr_status st = protocol_take_name(c, &p);
	json_t *answer, *hosts, *lids, *names;
	const struct osr_fabric *fabric;
	char text[32];

	/* Patterns are long, and their text says nothing of the fabric. */
	osr_sched_leave(c->s);
	if (!st)
		st = take_patterns(c, &p);
	osr_sched_take(c->s);
	if (!st)
		st = protocol_take_hosts(c, &p);
	if (!st && !protocol_number(c, "offsets", 128, 0, &p.in.n_offsets))
		st = OSR_INVAL;
	if (!st)
		st = osr_sched_place(c->s, &p.in, &app, &c->diag);
	/* Everything was copied. */
	osr_arena_free(&p.arena);
	if (st)
		return protocol_refuse(c, st);
	/* The answer: where its ranks are, and whose it is. */
	fabric = osr_sched_present(c->s);
	hosts = json_array();
	lids = json_array();
	names = json_array();
	answer = protocol_app_json(app);
	for (uint32_t r = 0; r < app->n_ranks; r++) {
		snprintf(text, sizeof(text), "0x%016" PRIx64, app->host[r]);
		hosts = osr__append(hosts, json_string(text));
		lids = osr__append(lids, json_integer(fabric->term_lid[app->term[r]]));
		names = osr__append(names,
				    osr__text(osr_terminal_name(fabric, app->term[r], text)));
	}
	answer = osr__with(answer, "hosts", hosts);
	answer = osr__with(answer, "lids", lids);
	answer = osr__with(answer, "names", names);
	answer = osr__with(answer, "ok", json_true());
	if (answer)
		c->effect->attach = app->id;
	/* It would stay, and nobody would know of it. */
	if (!answer)
		osr_sched_release(c->s, app);
	return answer;
}

/* Run time ------------------------------------------------------------------------------------- */

static json_t *withdraw(struct call *c)
{
	json_t *answer = json_pack("{s:b, s:I}", "ok", 1, "app", (json_int_t)c->app->id);

	c->effect->detach = c->app->id;
	osr_sched_release(c->s, c->app);
	return answer;
}

static json_t *protocol_attach(struct call *c)
{
	c->effect->attach = c->app->id;
	return osr__with(protocol_app_json(c->app), "ok", json_true());
}

/* What is known of the subnet manager. Of one that is not the master no more than who it is: its tables are not in use. */
static json_t *protocol_sm(const struct osr__peer *peer)
{
	static const char *const kept[] = { "osmroutes", "opensm", "sm_port", "warnings" };
	json_t *sm;

	if (!peer->not_master)
		return json_deep_copy(*peer->sm);
	sm = json_pack("{s:s, s:s, s:b}", "state", peer->not_master, "routed_by", "", "ours", 0);
	for (size_t i = 0; i < sizeof(kept) / sizeof(*kept); i++) {
		json_t *value = json_object_get(*peer->sm, kept[i]);

		if (value)
			sm = osr__with(sm, kept[i], json_deep_copy(value));
	}
	return sm;
}

static json_t *protocol_status(struct call *c)
{
	json_t *apps = json_array(), *answer;
	const struct osr_sched_app *app;

	for (uint32_t i = 0; (app = osr_sched_row(c->s, i)); i++)
		if (may_touch(c->peer, app))
			apps = osr__append(apps, protocol_app_json(app));
	answer =
		json_pack("{s:b, s:s, s:i, s:b, s:b, s:o, s:o*}", "ok", 1, "osmroutes", OSR_VERSION,
			  "protocol", OSR__PROTOCOL, "ready", osr_sched_present(c->s) != NULL,
			  "pending", osr_sched_dirty(c->s), "apps", apps, "parts",
			  c->peer->drains ? osr_drains_json(c->peer->drains) : NULL);
	/* A copy: the answer is written when the lock is free again. */
	return c->peer->sm && *c->peer->sm ? osr__with(answer, "sm", protocol_sm(c->peer)) : answer;
}

/* Drained parts -------------------------------------------------------------------------------- */

static json_t *drained(struct call *c)
{
	struct osr_drains *drains = c->peer->drains;
	json_t *parts = drains ? osr_drains_json(drains) : json_array();
	struct osr_drains_state state = { 0 };

	if (drains)
		state = osr_drains_state(drains);
	return json_pack("{s:b, s:b, s:s*, s:o}", "ok", 1, "pending", state.done != state.version,
			 "not_master", c->peer->not_master, "parts", parts);
}

static json_t *drain_or_not(struct call *c)
{
	const char *what = json_string_value(json_object_get(c->in, "what"));
	bool drain = !strcmp(json_string_value(json_object_get(c->in, "op")), "drain");
	enum osr_status st;

	if (!c->peer->master || !c->peer->drains)
		st = osr_fail(
			&c->diag, OSR_NOT_APPLICABLE,
			"only root and the user of the subnet manager drain switches and cables");
	else if (!what)
		st = osr_fail(&c->diag, OSR_INVAL, "\"what\": expected NODE or NODE:PORT");
	else
		st = drain ? osr_drains_add(c->peer->drains, osr_sched_present(c->s), what,
					    &c->diag)
			   : osr_drains_remove(c->peer->drains, what, &c->diag);
	return st ? protocol_refuse(c, st) : drained(c);
}

/* What a line may ask. */
static const struct operation {
	const char *op;
	bool of_app;    /* of an application of the peer */
	bool of_master; /* not of a subnet manager that is on standby */
	/* One that is done to a key of it, and answers with the key; or another one. */
	enum osr_status (*of_key)(struct osr_sched *sched, struct osr_sched_app *app, uint32_t key,
				  struct osr_diag *diag);
	json_t *(*answer)(struct call *c);
} operations[] = {
	{ "place", false, true, NULL, protocol_place },
	{ "request", true, true, osr_sched_request, NULL },
	{ "done", true, false, osr_sched_done, NULL },
	{ "withdraw", true, false, NULL, withdraw },
	{ "attach", true, false, NULL, protocol_attach },
	{ "status", false, false, NULL, protocol_status },
	{ "drain", false, true, NULL, drain_or_not },
	{ "undrain", false, true, NULL, drain_or_not },
	{ "drained", false, false, NULL, drained },
};

static json_t *answer_of(struct call *c, const struct operation *op)
{
	enum osr_status st;
	json_t *answer;
	uint32_t id, key;

	if (op->of_master && c->peer->not_master) {
		st = osr_fail(&c->diag, OSR_NOT_APPLICABLE,
			      "this subnet manager is %s, not the master: ask the one that is",
			      c->peer->not_master);
		return protocol_refuse(c, st);
	}
	if (op->of_app) {
		if (!protocol_number(c, "app", UINT32_MAX - 1, 0, &id))
			return protocol_refuse(c, OSR_INVAL);
		c->app = osr_sched_find(c->s, id);
		/* Others' are not told from those that are not there. */
		if (!c->app || !may_touch(c->peer, c->app)) {
			osr_fail(&c->diag, OSR_INVAL, "user %u has no application %u", c->peer->uid,
				 id);
			return protocol_refuse(c, OSR_INVAL);
		}
	}
	if (!op->of_key)
		return op->answer(c);
	if (!protocol_number(c, "key", UINT32_MAX - 1, 0, &key))
		return protocol_refuse(c, OSR_INVAL);
	st = op->of_key(c->s, c->app, key, &c->diag);
	if (st)
		return protocol_refuse(c, st);
	c->effect->attach = c->app->id;
	c->effect->key = key;
	answer = osr__with(osr__key_json(c->app, key), "app", json_integer(c->app->id));
	return osr__with(answer, "ok", json_true());
}

json_t *osr__protocol(struct osr_sched *sched, const struct osr__peer *peer, const char *line,
		      size_t size, struct osr__effect *effect)
{
	struct call c = { .s = sched, .peer = peer, .effect = effect };
	const struct operation *found = NULL;
	json_error_t error;
	json_t *in = json_loadb(line, size, JSON_REJECT_DUPLICATES, &error), *answer;
	const char *op = json_string_value(json_object_get(in, "op"));

	*effect = (struct osr__effect){ .key = OSR_NONE };
	c.in = in;
	for (size_t i = 0; op && i < sizeof(operations) / sizeof(*operations); i++)
		if (!strcmp(op, operations[i].op))
			found = &operations[i];
	osr_sched_take(sched);
	if (found)
		answer = answer_of(&c, found);
	else if (json_is_object(in))
		answer = osr__refusal(OSR_INVAL, "\"op\": expected place, request, done, withdraw, "
						 "attach, status, drain, undrain or drained");
	else {
		osr_fail(&c.diag, OSR_INVAL, "expected a JSON object on one line: %.100s",
			 in ? "it is something else" : error.text);
		answer = protocol_refuse(&c, OSR_INVAL);
	}
	/* Whatever the client calls it, it comes back. */
	if (json_object_get(in, "id"))
		answer = osr__with(answer, "id", json_incref(json_object_get(in, "id")));
	json_decref(in);
	return answer;
}

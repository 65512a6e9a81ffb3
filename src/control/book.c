/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The book on paper: what a scheduler has to know of its applications after a restart. What is read
 * is not believed: every number is looked at here or by osr_sched_restore(). Routes are not in it.
 */
#include "protocol.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FORMAT 1

/* Writing -------------------------------------------------------------------------------------- */

/* What routing may change in an application, as it was at one moment. */
struct shot {
	enum osr_key_state *state; /* [n_keys] */
	char notice[sizeof(((struct osr_sched_app *)0)->notice)];
	uint32_t n_notices;
};

/* Keys that wait for osr_sched_work() had routes, and shall have them after a restart. */
static enum osr_key_state state_of(const struct osr_sched_app *app, uint32_t key)
{
	const struct osr_sched_slot *slot = &app->slot[app->key[key].slot];

	return app->key[key].state == OSR_KEY_WAITING && slot->key == key && slot->make
		       ? OSR_KEY_ACTIVE
		       : app->key[key].state;
}

static bool take_shot(const struct osr_sched_app *app, struct shot *x)
{
	x->state = calloc(app->n_keys + 1, sizeof(*x->state));
	if (!x->state)
		return false;
	for (uint32_t k = 0; k < app->n_keys; k++)
		x->state[k] = state_of(app, k);
	memcpy(x->notice, app->notice, sizeof(x->notice));
	x->n_notices = app->n_notices;
	return true;
}

static json_t *slots_json(const struct osr_sched_app *app)
{
	json_t *slots = json_array();

	for (uint32_t i = 0; i < app->n_slots; i++)
		slots = osr__append(slots, json_pack("{s:i}", "offset", app->slot[i].offset));
	return slots;
}

static json_t *keys_json(const struct osr_sched_app *app, const struct shot *x)
{
	json_t *keys = json_array();

	for (uint32_t k = 0; k < app->n_keys; k++) {
		const struct osr_sched_key *key = &app->key[k];
		char *pairs = osr__pairs_text(key->pair, key->n_pairs);

		keys = osr__append(
			keys, json_pack("{s:i, s:s}", "state", (int)x->state[k], "pairs", pairs));
		free(pairs);
	}
	return keys;
}

static json_t *book_app_json(const struct osr_sched_app *app, const struct shot *x)
{
	return json_pack("{s:I, s:I, s:b, s:o, s:o, s:I, s:o, s:o, s:o}", "id", (json_int_t)app->id,
			 "owner", (json_int_t)app->owner, "held", app->held, "name",
			 osr__text(app->name), "notice", osr__text(x->notice), "notices",
			 (json_int_t)x->n_notices, "hosts", osr__hosts_json(app), "keys",
			 keys_json(app, x), "slots", slots_json(app));
}

/* The thread that writes the book is the one in which applications come and go. */
json_t *osr__book(struct osr_sched *sched)
{
	json_t *apps = json_array();
	const struct osr_sched_app *app;

	for (uint32_t i = 0; (app = osr_sched_row(sched, i)); i++) {
		struct shot x = { 0 };
		bool good;

		osr_sched_take(sched);
		good = take_shot(app, &x);
		osr_sched_leave(sched);
		apps = osr__append(apps, good ? book_app_json(app, &x) : NULL);
		free(x.state);
	}
	return json_pack("{s:i, s:o}", "format", FORMAT, "apps", apps);
}

/* Reading -------------------------------------------------------------------------------------- */

struct reading {
	struct osr_sched_app app;
	struct osr_sched_key *key;
	struct osr_sched_slot *slot;
	uint32_t max_pairs;
	struct osr_diag *diag;
};

static enum osr_status nonsense(const struct reading *r, const char *what)
{
	return osr_fail(r->diag, OSR_INVAL, "the stored data of application %u are invalid: %s",
			r->app.id, what);
}

static bool book_whole(const json_t *json, const char *key, json_int_t lo, json_int_t hi,
		       json_int_t *n)
{
	const json_t *member = json_object_get(json, key);

	*n = json_integer_value(member);
	return json_is_integer(member) && *n >= lo && *n <= hi;
}

static enum osr_status book_read_hosts(struct reading *r, const json_t *hosts)
{
	size_t n = json_array_size(hosts);

	if (!n || n > UINT16_MAX + 1u)
		return nonsense(r, "its hosts");
	r->app.n_ranks = (uint32_t)n;
	r->app.host = calloc(n, sizeof(*r->app.host));
	if (!r->app.host)
		return OSR_NOMEM;
	for (size_t i = 0; i < n; i++) {
		const char *text = json_string_value(json_array_get(hosts, i));

		if (!text || !osr__guid_parse(text, &r->app.host[i]))
			return nonsense(r, "its hosts");
	}
	return OSR_OK;
}

static enum osr_status read_keys(struct reading *r, const json_t *keys)
{
	size_t n = json_array_size(keys);
	enum osr_status st = OSR_OK;

	if (!n || n > 1024)
		return nonsense(r, "its keys");
	r->key = calloc(n, sizeof(*r->key));
	if (!r->key)
		return OSR_NOMEM;
	r->app.key = r->key;
	r->app.n_keys = (uint32_t)n;
	for (size_t k = 0; k < n && !st; k++) {
		const json_t *json = json_array_get(keys, k);
		const char *pairs = json_string_value(json_object_get(json, "pairs"));
		json_int_t state;

		if (!pairs || !book_whole(json, "state", 0, OSR_KEY_WITHDRAWN, &state))
			return nonsense(r, "its keys");
		r->key[k].state = (enum osr_key_state)state;
		st = osr__pairs_parse(pairs, r->max_pairs, &r->key[k].pair, &r->key[k].n_pairs,
				      r->diag);
	}
	return st;
}

static enum osr_status read_slots(struct reading *r, const json_t *slots)
{
	size_t n = json_array_size(slots);

	if (!n || n > 127)
		return nonsense(r, "its LID offsets");
	r->slot = calloc(n, sizeof(*r->slot));
	if (!r->slot)
		return OSR_NOMEM;
	r->app.slot = r->slot;
	r->app.n_slots = (uint32_t)n;
	for (size_t i = 0; i < n; i++) {
		json_int_t offset;

		if (!book_whole(json_array_get(slots, i), "offset", 1, 127, &offset))
			return nonsense(r, "its LID offsets");
		for (size_t k = 0; k < i; k++)
			if (r->slot[k].offset == offset)
				return nonsense(r, "one LID offset twice");
		r->slot[i].offset = (uint8_t)offset;
	}
	return OSR_OK;
}

static void end_reading(struct reading *r)
{
	for (uint32_t k = 0; k < r->app.n_keys; k++)
		free(r->key[k].pair);
	free(r->key);
	free(r->slot);
	free(r->app.host);
}

static void read_text(const json_t *json, const char *key, char *to, size_t size)
{
	const char *text = json_string_value(json_object_get(json, key));

	snprintf(to, size, "%s", text ? text : "");
	for (char *t = to; *t; t++)
		if ((unsigned char)*t < ' ' || (unsigned char)*t > '~')
			*t = '?';
}

static enum osr_status read_app(struct osr_sched *sched, const json_t *json, uint32_t max_pairs,
				struct osr_diag *diag)
{
	struct reading r = { .max_pairs = max_pairs, .diag = diag };
	json_int_t id, owner, notices;
	enum osr_status st;

	if (!book_whole(json, "id", 1, UINT32_MAX - 2, &id) ||
	    !book_whole(json, "owner", 0, UINT32_MAX - 1, &owner) ||
	    !book_whole(json, "notices", 0, UINT32_MAX, &notices))
		return nonsense(&r, "its number or owner");
	r.app.id = (uint32_t)id;
	r.app.owner = (uint32_t)owner;
	r.app.n_notices = (uint32_t)notices;
	r.app.held = json_is_true(json_object_get(json, "held"));
	read_text(json, "name", r.app.name, sizeof(r.app.name));
	read_text(json, "notice", r.app.notice, sizeof(r.app.notice));
	st = book_read_hosts(&r, json_object_get(json, "hosts"));
	if (!st)
		st = read_keys(&r, json_object_get(json, "keys"));
	if (!st)
		st = read_slots(&r, json_object_get(json, "slots"));
	if (!st)
		st = osr_sched_restore(sched, &r.app, diag);
	end_reading(&r);
	return st;
}

enum osr_status osr__book_restore(struct osr_sched *sched, const json_t *book, uint32_t max_pairs,
				  uint32_t *n, uint32_t *n_wrong, struct osr_diag *diag)
{
	const json_t *apps = json_object_get(book, "apps");
	json_int_t format;

	*n = *n_wrong = 0;
	if (!book_whole(book, "format", FORMAT, FORMAT, &format) || !json_is_array(apps))
		return osr_fail(diag, OSR_INVAL, "not a file of applications in format %d", FORMAT);
	for (size_t i = 0; i < json_array_size(apps); i++) {
		struct osr_diag why = { "" };
		enum osr_status st = read_app(sched, json_array_get(apps, i), max_pairs, &why);

		if (st && !(*n_wrong)++)
			*diag = why;
		*n += !st;
	}
	return OSR_OK;
}

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The scheduler's book: applications, their keys and LID offsets, and what a change of the fabric
 * does to them. Routes are made for the present fabric by the thread that has the time for it. When
 * the fabric changes, entries over cables and ends that are as they were stay, which is seen entry
 * by entry; all others leave the tables and are made again by osr_sched_work().
 */
#include "keys/scheduler.h"

#include "core/data/fabric_map.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_OFFSETS 128 /* 2^7 */
#define MAX_TRIES 3     /* to make routes while the fabric changes again and again */
#define MAX_MISSING 50  /* percent of a tree's links: what is left of it is still up and down */

struct port {
	uint64_t guid;
	uint32_t term;
};

/* A fabric, and what keys want to know of it. */
struct base {
	struct osr_arena arena; /* of all below */
	struct osr_fabric fabric;
	struct osr_pgft pgft;
	bool is_tree;
	struct osr_diag no_tree; /* why not */
	struct port *port;       /* [f.n_terminals] by GUID */
	uint64_t stamp;          /* no other one has it */
	unsigned n_users; /* the scheduler, and the thread that makes routes without its lock */
};

struct osr_sched {
	struct osr_sched_limits limits;
	struct osr_sched_app **app; /* [n_apps] of limits.max_apps, by id */
	uint32_t n_apps, next_id;
	struct base *now;                    /* the present fabric, or NULL */
	uint64_t stamp;                      /* of the last one */
	uint64_t change, collected, written; /* numbers of changes */
	struct osr_arena scratch;
	struct osr_arena work; /* of the thread that makes routes */
};

static bool sched_stops(const struct osr_sched *sched)
{
	return sched->limits.lock.stops && sched->limits.lock.stops(sched->limits.lock.ctx);
}

static bool in_use(const struct osr_sched_key *sched_key)
{
	return sched_key->state == OSR_KEY_ACTIVE || sched_key->state == OSR_KEY_WAITING;
}

struct osr_sched *osr_sched_new(const struct osr_sched_limits *limits)
{
	struct osr_sched *sched = calloc(1, sizeof(*sched));

	if (!sched)
		return NULL;
	sched->limits = *limits;
	sched->next_id = limits->first_id ? limits->first_id : 1;
	sched->app = calloc(limits->max_apps + 1u, sizeof(struct osr_sched_app *));
	if (sched->app)
		return sched;
	free(sched);
	return NULL;
}

/* The lock ------------------------------------------------------------------------------------- */

void osr_sched_take(struct osr_sched *sched)
{
	if (sched->limits.lock.take)
		sched->limits.lock.take(sched->limits.lock.ctx);
}

void osr_sched_leave(struct osr_sched *sched)
{
	if (sched->limits.lock.leave)
		sched->limits.lock.leave(sched->limits.lock.ctx);
}

/* The fabric ----------------------------------------------------------------------------------- */

static int by_port_guid(const void *a, const void *b)
{
	const struct port *x = a, *y = b;

	return (x->guid > y->guid) - (x->guid < y->guid);
}

static void base_leave(struct base *base)
{
	if (!base || --base->n_users)
		return;
	osr_arena_free(&base->arena);
	free(base);
}

/* NULL: no memory. */
static struct base *base_new(const struct osr_fabric *fabric, struct osr_diag *diag)
{
	struct osr_pgft_options opt = { .max_missing = MAX_MISSING };
	struct base *base = calloc(1, sizeof(*base));
	enum osr_status st;

	if (!base) {
		osr_fail(diag, OSR_NOMEM, "out of memory for routing keys");
		return NULL;
	}
	base->n_users = 1;
	st = osr_fabric_copy(fabric, &base->arena, &base->fabric, diag);
	base->port = osr_alloc(&base->arena, fabric->n_terminals, sizeof(*base->port));
	if (st || osr_arena_failed(&base->arena, diag)) {
		base_leave(base);
		return NULL;
	}
	for (uint32_t t = 0; t < fabric->n_terminals; t++)
		base->port[t] = (struct port){ fabric->term_guid[t], t };
	qsort(base->port, fabric->n_terminals, sizeof(*base->port), by_port_guid);
	st = osr_pgft_find(&base->fabric, &opt, &base->arena, &base->pgft, &base->no_tree);
	base->is_tree = !st;
	if (st != OSR_NOMEM)
		return base;
	osr_fail(diag, OSR_NOMEM, "out of memory for routing keys");
	base_leave(base);
	return NULL;
}

static uint32_t terminal_of(const struct base *base, uint64_t guid)
{
	const struct port key = { .guid = guid },
			  *port = bsearch(&key, base->port, base->fabric.n_terminals, sizeof(key),
					  by_port_guid);

	return port ? port->term : OSR_NONE;
}

/* Is there one that keys can be made for? */
static enum osr_status check_base(const struct osr_sched *sched, struct osr_diag *diag)
{
	if (sched->now && sched->now->is_tree)
		return OSR_OK;
	if (!sched->now)
		return osr_fail(diag, OSR_NOT_APPLICABLE, "no fabric has been routed yet");
	return osr_fail(diag, OSR_NOT_APPLICABLE, "no keys on this fabric: %s",
			sched->now->no_tree.text);
}

const struct osr_fabric *osr_sched_present(const struct osr_sched *sched)
{
	return sched->now ? &sched->now->fabric : NULL;
}

/* Applications --------------------------------------------------------------------------------- */

static void free_app(struct osr_sched_app *app)
{
	for (uint32_t k = 0; app->key && k < app->n_keys; k++)
		osr_arena_free(&app->key[k].arena);
	for (uint32_t i = 0; app->slot && i < app->n_slots; i++)
		osr_arena_free(&app->slot[i].arena);
	osr_arena_free(&app->arena);
	free(app);
}

void osr_sched_free(struct osr_sched *sched)
{
	if (!sched)
		return;
	for (uint32_t i = 0; i < sched->n_apps; i++)
		free_app(sched->app[i]);
	free(sched->app);
	base_leave(sched->now);
	osr_arena_free(&sched->scratch);
	osr_arena_free(&sched->work);
	free(sched);
}

struct osr_sched_app *osr_sched_row(const struct osr_sched *sched, uint32_t i)
{
	return i < sched->n_apps ? sched->app[i] : NULL;
}

struct osr_sched_app *osr_sched_find(const struct osr_sched *sched, uint32_t id)
{
	uint32_t i = 0;

	while (i < sched->n_apps && sched->app[i]->id != id)
		i++;
	return osr_sched_row(sched, i);
}

/* Terminals of the ranks in the present fabric. */
static void sched_resolve(const struct osr_sched *sched, struct osr_sched_app *app)
{
	for (uint32_t i = 0; i < app->n_ranks; i++)
		app->term[i] = terminal_of(sched->now, app->host[i]);
}

/* Slots ---------------------------------------------------------------------------------------- */

/* Do the switches have it? */
static bool is_written(const struct osr_sched *sched, const struct osr_sched_slot *slot)
{
	return slot->change <= sched->written;
}

/* Is its key in use, so that its routes load the cables? */
static bool is_loaded(const struct osr_sched_app *app, const struct osr_sched_slot *slot)
{
	return slot->key != OSR_NONE && in_use(&app->key[slot->key]);
}

/* The slot holds the base routing again. */
static void sched_clear(struct osr_sched *sched, struct osr_sched_slot *slot)
{
	osr_arena_free(&slot->arena);
	slot->key = OSR_NONE;
	slot->routes = (struct osr_key_routes){ 0 };
	slot->change = ++sched->change;
	slot->make = false;
}

/* Takes the key out of use; its slot, if it is in it, holds the base routing again. */
static void sched_withdraw(struct osr_sched *sched, struct osr_sched_app *app, uint32_t key,
			   const char *reason)
{
	struct osr_sched_slot *slot = &app->slot[app->key[key].slot];

	if (slot->key == key)
		sched_clear(sched, slot);
	app->key[key].state = OSR_KEY_WITHDRAWN;
	osr_fail(&app->notice, OSR_OK,
		 "key %u is withdrawn, the base routing serves its traffic: %s", key, reason);
	app->n_notices++;
}

/* A LID offset that the LMC of the present fabric does not have. */
static bool lacks_lids(const struct osr_sched *sched, const struct osr_sched_app *app,
		       const struct osr_sched_slot *slot)
{
	for (uint32_t i = 0; i < app->n_ranks; i++)
		if (app->term[i] != OSR_NONE &&
		    slot->offset >= 1u << sched->now->fabric.term_lmc[app->term[i]])
			return true;
	return false;
}

/* Making --------------------------------------------------------------------------------------- */

/* The pairs of a key as terminals; what stays on one host, or has lost an end, is left out. */
static struct osr_pair *pairs_of(const struct osr_sched_app *app, uint32_t key,
				 struct osr_arena *arena, uint32_t *n)
{
	const struct osr_sched_key *of = &app->key[key];
	struct osr_pair *pair = osr_alloc(arena, of->n_pairs, sizeof(*pair));

	*n = 0;
	for (uint32_t i = 0; pair && i < of->n_pairs; i++) {
		uint32_t from = app->term[of->pair[i].from], to = app->term[of->pair[i].to];

		if (from != OSR_NONE && to != OSR_NONE && from != to)
			pair[(*n)++] = (struct osr_pair){ from, to };
	}
	return pair;
}

/*
 * What cables carry of keys in use, all but this slot's: load[n_channels]. The most, together with
 * what is in the slot.
 */
static uint32_t load_without(const struct osr_sched *sched, const struct osr_sched_slot *slot,
			     uint32_t *load)
{
	uint32_t most = 0;

	for (uint32_t i = 0; i < sched->n_apps; i++)
		for (uint32_t k = 0; k < sched->app[i]->n_slots; k++) {
			const struct osr_sched_slot *of = &sched->app[i]->slot[k];

			for (uint32_t n = 0;
			     of != slot && is_loaded(sched->app[i], of) && n < of->routes.n_links;
			     n++)
				load[of->routes.link[n]] += of->routes.flows[n];
		}
	for (uint32_t n = 0; n < slot->routes.n_links; n++)
		if (slot->routes.flows[n] + load[slot->routes.link[n]] > most)
			most = slot->routes.flows[n] + load[slot->routes.link[n]];
	return most;
}

/*
 * The compressed key for the present fabric, unless there is one; with `place`, routes for it in
 * view of what others load the cables with now, into its slot, unless those that are there are as
 * good. The lock is left while they are made; if the fabric has changed meanwhile they are made
 * again. OSR_NOT_APPLICABLE, with another stamp than before, if it changes again and again, or if
 * the caller stops.
 */
static enum osr_status sched_put(struct osr_sched *sched, struct osr_sched_app *app, uint32_t key,
				 bool place, struct osr_diag *diag)
{
	struct osr_sched_slot *slot = &app->slot[app->key[key].slot],
			      next = { .offset = slot->offset };
	struct osr_arena_mark mark = osr_arena_mark(&sched->work);
	struct osr_sched_key *of = &app->key[key];
	struct base *base = NULL;
	enum osr_status st;
	uint32_t most = 0, n, tries = 0;

	do {
		struct osr_pair *pair;
		uint32_t *load;

		st = check_base(sched, diag);
		if (st)
			break;
		if (sched_stops(sched) || tries++ == MAX_TRIES) {
			st = osr_fail(diag, OSR_NOT_APPLICABLE,
				      sched_stops(sched) ? "the subnet manager ends"
							 : "the fabric has changed meanwhile");
			break;
		}
		osr_arena_reset(&sched->work, mark);
		base = sched->now;
		/* An application that is being placed is in no list. */
		sched_resolve(sched, app);
		if (lacks_lids(sched, app, slot)) {
			st = osr_fail(diag, OSR_NOT_APPLICABLE,
				      "its hosts have fewer LIDs than before");
			break;
		}
		pair = pairs_of(app, key, &sched->work, &n);
		load = osr_calloc(&sched->work, base->fabric.n_channels, sizeof(*load));
		if (osr_arena_failed(&sched->work, diag)) {
			st = OSR_NOMEM;
			break;
		}
		most = load_without(sched, slot, load);
		base->n_users++;
		osr_sched_leave(sched);
		if (diag)
			diag->text[0] = '\0';
		if (of->stamp != base->stamp) {
			osr_arena_free(&of->arena);
			of->stamp = base->stamp;
			st = osr_key_make(&(struct osr_key_job){ &base->pgft, &sched->work,
								 &of->arena, diag },
					  pair, n, &of->key);
			of->key.spread = ((uint64_t)app->id << 16) + key;
			if (st)
				of->stamp = 0;
		}
		osr_arena_free(&next.arena);
		if (!st && place)
			st = osr_key_place(&(struct osr_key_job){ &base->pgft, &sched->work,
								  &next.arena, diag },
					   &of->key, load, sched->limits.choice, &next.routes);
		osr_sched_take(sched);
		base_leave(base);
	} while (base != sched->now);
	if (!st && place && (slot->key != key || slot->make || most > next.routes.max_load)) {
		/* Nothing before and nothing after is no change. */
		next.change =
			is_written(sched, slot) && !slot->routes.n_entries && !next.routes.n_entries
				? slot->change
				: ++sched->change;
		next.key = key;
		of->contention = next.routes.contention;
		osr_arena_free(&slot->arena);
		*slot = next;
		next.arena = (struct osr_arena){ 0 };
	}
	osr_arena_free(&next.arena);
	osr_arena_reset(&sched->work, mark);
	return st;
}

/* Hosts and LID offsets ------------------------------------------------------------------------ */

/* LID offsets of a host, a bit each. */
struct offsets {
	uint64_t bit[2];
};

static uint32_t offsets_count(const struct offsets *offsets)
{
	return (uint32_t)(__builtin_popcountll(offsets->bit[0]) +
			  __builtin_popcountll(offsets->bit[1]));
}

/*
 * Its hosts, if it names none: those that no application has, one after the other in the order of
 * the tree. And the lowest LID offsets that are free on all of them; to other users some are left
 * on every host.
 */
static enum osr_status take_hosts(struct osr_sched *sched, struct osr_sched_app *app, bool choose,
				  struct osr_diag *diag)
{
	const struct osr_fabric *fabric = &sched->now->fabric;
	struct offsets *taken = osr_calloc(&sched->scratch, fabric->n_terminals, sizeof(*taken));
	struct offsets *own = osr_calloc(&sched->scratch, fabric->n_terminals, sizeof(*own));
	uint32_t quota = app->owner ? sched->limits.max_offsets_of_owner : 0;
	uint32_t n_lids = MAX_OFFSETS, n = 0;
	struct offsets used = { { 1 } };
	char buf[32];

	if (osr_arena_failed(&sched->scratch, diag))
		return OSR_NOMEM;
	for (uint32_t i = 0; i < sched->n_apps; i++)
		for (uint32_t k = 0; k < sched->app[i]->n_slots; k++)
			for (uint32_t r = 0; r < sched->app[i]->n_ranks; r++) {
				uint32_t t = sched->app[i]->term[r],
					 o = sched->app[i]->slot[k].offset;

				if (t == OSR_NONE)
					continue;
				taken[t].bit[o / 64] |= UINT64_C(1) << o % 64;
				if (sched->app[i]->owner == app->owner)
					own[t].bit[o / 64] |= UINT64_C(1) << o % 64;
			}
	for (uint32_t i = 0; choose && i < sched->now->pgft.n_order && n < app->n_ranks; i++) {
		uint32_t t = sched->now->pgft.order[i];

		if (offsets_count(&taken[t]))
			continue;
		app->term[n] = t;
		app->host[n++] = fabric->term_guid[t];
	}
	if (choose && n < app->n_ranks)
		return osr_fail(diag, OSR_INVAL, "%u hosts wanted, %u are without an application",
				app->n_ranks, n);
	for (uint32_t i = 0; i < app->n_ranks; i++) {
		uint32_t t = app->term[i];

		if (t == OSR_NONE || fabric->term_role[t] == OSR_ROLE_SP0)
			return osr_fail(diag, OSR_INVAL,
					"rank %u: the fabric has no host port 0x%016llx", i,
					(unsigned long long)app->host[i]);
		if (quota && offsets_count(&own[t]) + app->n_slots > quota)
			return osr_fail(diag, OSR_INVAL,
					"%u LID offset%s wanted; user %u has %u on host %s "
					"already, and at most %u are given to a user",
					app->n_slots, app->n_slots == 1 ? "" : "s", app->owner,
					offsets_count(&own[t]), osr_terminal_name(fabric, t, buf),
					quota);
		used.bit[0] |= taken[t].bit[0];
		used.bit[1] |= taken[t].bit[1];
		if (1u << fabric->term_lmc[t] < n_lids)
			n_lids = 1u << fabric->term_lmc[t];
	}
	n = 0;
	for (uint32_t o = 1; o < n_lids && n < app->n_slots; o++)
		if (!(used.bit[o / 64] >> o % 64 & 1))
			app->slot[n++].offset = (uint8_t)o;
	if (n < app->n_slots)
		return osr_fail(diag, OSR_INVAL,
				"%u LID offset%s wanted; the hosts have %u beside the first LID, "
				"%u taken by other applications on them",
				app->n_slots, app->n_slots == 1 ? "" : "s", n_lids - 1,
				n_lids - 1 - n);
	/* Keys share them in turn. */
	for (uint32_t k = 0; k < app->n_keys; k++)
		app->key[k].slot = (uint8_t)(k % app->n_slots);
	return OSR_OK;
}

/* Placing -------------------------------------------------------------------------------------- */

/* Its patterns as keys, its hosts and its offsets. */
static enum osr_status fill_app(struct osr_sched *sched, struct osr_sched_app *app,
				const struct osr_sched_in *in, struct osr_diag *diag)
{
	struct osr_arena_mark mark = osr_arena_mark(&sched->scratch);
	enum osr_status st;

	*app = (struct osr_sched_app){ .id = sched->next_id,
				       .owner = in->owner,
				       .held = in->held,
				       .n_ranks = in->n_ranks,
				       .n_keys = in->n_keys,
				       .n_slots = in->n_offsets ? in->n_offsets : 1 };
	snprintf(app->name, sizeof(app->name), "%s", in->name ? in->name : "");
	app->host = osr_calloc(&app->arena, app->n_ranks, sizeof(*app->host));
	app->term = osr_calloc(&app->arena, app->n_ranks, sizeof(*app->term));
	app->key = osr_calloc(&app->arena, app->n_keys, sizeof(*app->key));
	app->slot = osr_calloc(&app->arena, app->n_slots, sizeof(*app->slot));
	if (osr_arena_failed(&app->arena, diag))
		return OSR_NOMEM;
	for (uint32_t i = 0; i < app->n_slots; i++)
		app->slot[i].key = OSR_NONE;
	for (uint32_t k = 0; k < in->n_keys; k++) {
		uint32_t n = app->key[k].n_pairs = in->n_pairs[k];

		for (uint32_t i = 0; i < n; i++)
			if (in->pair[k][i].from >= in->n_ranks || in->pair[k][i].to >= in->n_ranks)
				return osr_fail(diag, OSR_INVAL,
						"pattern %u: pair %u names ranks %u and %u, but "
						"there are only %u ranks, from 0",
						k, i, in->pair[k][i].from, in->pair[k][i].to,
						in->n_ranks);
		app->key[k].pair = osr_alloc(&app->arena, n, sizeof(*app->key[k].pair));
		if (osr_arena_failed(&app->arena, diag))
			return OSR_NOMEM;
		if (n)
			memcpy(app->key[k].pair, in->pair[k], n * sizeof(*app->key[k].pair));
	}
	if (in->host) {
		memcpy(app->host, in->host, app->n_ranks * sizeof(*in->host));
		sched_resolve(sched, app);
	}
	st = take_hosts(sched, app, !in->host, diag);
	osr_arena_reset(&sched->scratch, mark);
	for (uint32_t k = 0; k < in->n_keys && !st; k++)
		st = sched_put(sched, app, k, false, diag);
	return st;
}

enum osr_status osr_sched_place(struct osr_sched *sched, const struct osr_sched_in *in,
				struct osr_sched_app **app, struct osr_diag *diag)
{
	enum osr_status st = check_base(sched, diag);
	uint32_t n_of_owner = 0;
	uint64_t n_pairs = 0;

	*app = NULL;
	if (st)
		return st;
	/* Are its numbers within the limits? */
	for (uint32_t i = 0; i < sched->n_apps; i++)
		n_of_owner += sched->app[i]->owner == in->owner;
	if (sched->n_apps >= sched->limits.max_apps ||
	    (in->owner && n_of_owner >= sched->limits.max_apps_of_owner))
		return osr_fail(
			diag, OSR_INVAL,
			"%u applications have keys, %u of them of user %u: no more are taken",
			sched->n_apps, n_of_owner, in->owner);
	if (!in->n_ranks || !in->n_keys || in->n_keys > sched->limits.max_keys)
		return osr_fail(
			diag, OSR_INVAL,
			"%u hosts and %u patterns: expected 1 host or more, and 1 to %u patterns",
			in->n_ranks, in->n_keys, sched->limits.max_keys);
	if (in->n_offsets > in->n_keys)
		return osr_fail(
			diag, OSR_INVAL,
			"%u LID offsets requested for %u patterns: one per pattern is the most",
			in->n_offsets, in->n_keys);
	for (uint32_t k = 0; k < in->n_keys; k++)
		n_pairs += in->n_pairs[k];
	if (n_pairs > sched->limits.max_pairs)
		return osr_fail(diag, OSR_INVAL, "%llu pairs of ranks: at most %u are accepted",
				(unsigned long long)n_pairs, sched->limits.max_pairs);
	*app = malloc(sizeof(**app));
	if (!*app)
		return osr_fail(diag, OSR_NOMEM, "out of memory for an application's keys");
	st = fill_app(sched, *app, in, diag);
	if (st) {
		free_app(*app);
		*app = NULL;
		return st;
	}
	/* Ids grow. */
	sched->app[sched->n_apps++] = *app;
	sched->next_id = (*app)->id + 1;
	return OSR_OK;
}

/* Keys in use ---------------------------------------------------------------------------------- */

static enum osr_status check_key(const struct osr_sched_app *app, uint32_t key,
				 struct osr_diag *diag)
{
	if (key < app->n_keys)
		return OSR_OK;
	return osr_fail(diag, OSR_INVAL, "application %u has keys 0 to %u, not %u", app->id,
			app->n_keys - 1, key);
}

enum osr_status osr_sched_request(struct osr_sched *sched, struct osr_sched_app *app, uint32_t key,
				  struct osr_diag *diag)
{
	enum osr_status st = check_key(app, key, diag);
	struct osr_sched_slot *slot;

	if (!st)
		st = check_base(sched, diag);
	if (st)
		return st;
	slot = &app->slot[app->key[key].slot];
	if (in_use(&app->key[key]))
		return osr_fail(diag, OSR_INVAL, "key %u of application %u is in use already", key,
				app->id);
	if (is_loaded(app, slot))
		return osr_fail(diag, OSR_INVAL,
				"LID offset %u carries key %u of application %u until that is done",
				slot->offset, slot->key, app->id);
	st = sched_put(sched, app, key, true, diag);
	if (!st)
		app->key[key].state = is_written(sched, slot) ? OSR_KEY_ACTIVE : OSR_KEY_WAITING;
	return st;
}

enum osr_status osr_sched_done(struct osr_sched *sched, struct osr_sched_app *app, uint32_t key,
			       struct osr_diag *diag)
{
	enum osr_status st = check_key(app, key, diag);
	struct osr_sched_slot *slot;

	if (st)
		return st;
	slot = &app->slot[app->key[key].slot];
	if (app->key[key].state == OSR_KEY_PREPARED)
		return osr_fail(diag, OSR_INVAL, "key %u of application %u is not in use", key,
				app->id);
	app->key[key].state = OSR_KEY_PREPARED;
	if (slot->key == key && slot->make)
		sched_clear(sched, slot);
	return OSR_OK;
}

void osr_sched_release(struct osr_sched *sched, struct osr_sched_app *app)
{
	uint32_t at = 0;

	for (uint32_t i = 0; i < app->n_slots; i++)
		sched->change += app->slot[i].key != OSR_NONE;
	/* Out of the list, whose order stays. */
	while (sched->app[at] != app)
		at++;
	for (sched->n_apps--; at < sched->n_apps; at++)
		sched->app[at] = sched->app[at + 1];
	free_app(app);
}

/* What the tables should have ------------------------------------------------------------------ */

bool osr_sched_dirty(const struct osr_sched *sched)
{
	return sched->change > sched->written;
}

/* The entries of one LID, by switch. */
struct lid {
	const struct osr_key_entry *entry;
	uint32_t n;
};

enum osr_status osr_sched_collect(struct osr_sched *sched, struct osr_arena *arena,
				  struct osr_overlay_entry **entry, uint32_t *n_entries,
				  struct osr_diag *diag)
{
	const struct osr_fabric *fabric = sched->now ? &sched->now->fabric : NULL;
	uint32_t n_dests = fabric ? fabric->n_dests : 0, n = 0;
	struct lid *lid = osr_calloc(arena, n_dests, sizeof(*lid));

	*n_entries = 0;
	sched->collected = sched->change;
	if (osr_arena_failed(arena, diag))
		return OSR_NOMEM;
	for (uint32_t i = 0; fabric && i < sched->n_apps; i++)
		for (uint32_t k = 0; k < sched->app[i]->n_slots; k++) {
			const struct osr_sched_slot *slot = &sched->app[i]->slot[k];
			const struct osr_key_entry *of = slot->routes.entry;

			for (uint32_t end, e = 0; e < slot->routes.n_entries; e = end) {
				uint32_t term = of[e].term, d = OSR_NONE;

				for (end = e; end < slot->routes.n_entries; end++)
					if (of[end].term != term)
						break;
				if (slot->offset < 1u << fabric->term_lmc[term] &&
				    fabric->term_lid[term] + slot->offset <= fabric->max_lid)
					d = fabric->lid_dest[fabric->term_lid[term] + slot->offset];
				/* A LID that two slots claim is the first one's. */
				if (d == OSR_NONE || lid[d].n)
					continue;
				lid[d] = (struct lid){ &of[e], end - e };
				n += end - e;
			}
		}
	*entry = osr_alloc(arena, n, sizeof(**entry));
	if (osr_arena_failed(arena, diag))
		return OSR_NOMEM;
	for (uint32_t d = 0; d < n_dests; d++)
		for (uint32_t i = 0; i < lid[d].n; i++)
			(*entry)[(*n_entries)++] =
				(struct osr_overlay_entry){ lid[d].entry[i].sw, d,
							    lid[d].entry[i].port };
	return OSR_OK;
}

void osr_sched_written(struct osr_sched *sched)
{
	sched->written = sched->collected;
	for (uint32_t i = 0; i < sched->n_apps; i++)
		for (uint32_t k = 0; k < sched->app[i]->n_slots; k++) {
			const struct osr_sched_slot *slot = &sched->app[i]->slot[k];

			if (slot->key != OSR_NONE && is_written(sched, slot) && !slot->make &&
			    sched->app[i]->key[slot->key].state == OSR_KEY_WAITING)
				sched->app[i]->key[slot->key].state = OSR_KEY_ACTIVE;
		}
}

uint32_t osr_sched_refuse(struct osr_sched *sched, const char *reason)
{
	uint32_t n = 0;

	/* Keys with routes in the tables: those that wait, or all. */
	for (int all = 0; all < 2 && !n; all++)
		for (uint32_t i = 0; i < sched->n_apps; i++)
			for (uint32_t k = 0; k < sched->app[i]->n_slots; k++) {
				const struct osr_sched_slot *slot = &sched->app[i]->slot[k];

				if (slot->key == OSR_NONE ||
				    (!all && (slot->make || sched->app[i]->key[slot->key].state !=
								    OSR_KEY_WAITING)))
					continue;
				sched_withdraw(sched, sched->app[i], slot->key, reason);
				n++;
			}
	return n;
}

/* Again ---------------------------------------------------------------------------------------- */

/* Its routes leave the tables; an unused key's are forgotten. */
static void suspend(struct osr_sched *sched, struct osr_sched_app *app, struct osr_sched_slot *slot)
{
	if (!in_use(&app->key[slot->key])) {
		sched_clear(sched, slot);
		return;
	}
	slot->routes = (struct osr_key_routes){ 0 };
	slot->change = ++sched->change;
	slot->make = true;
	app->key[slot->key].state = OSR_KEY_WAITING;
}

bool osr_sched_work(struct osr_sched *sched)
{
	struct osr_sched_slot *slot = NULL;
	struct osr_sched_app *app = NULL;
	struct osr_diag diag = { "" };
	uint64_t stamp = sched->stamp;
	enum osr_status st;
	uint32_t key;

	for (uint32_t i = 0; sched->now && !slot && i < sched->n_apps; i++)
		for (uint32_t k = 0; !slot && k < sched->app[i]->n_slots; k++)
			if (sched->app[i]->slot[k].make) {
				app = sched->app[i];
				slot = &app->slot[k];
			}
	if (!slot || sched_stops(sched))
		return false;
	key = slot->key;
	st = sched_put(sched, app, key, true, &diag);
	if (st && (sched->stamp != stamp || sched_stops(sched)))
		return true;
	/* Without the lock the subnet manager may have withdrawn it. */
	if (slot->key != key || !in_use(&app->key[key])) {
		sched_clear(sched, slot);
	} else if (st) {
		sched_withdraw(sched, app, key, diag.text);
	} else {
		app->key[key].state = is_written(sched, slot) ? OSR_KEY_ACTIVE : OSR_KEY_WAITING;
		osr_fail(&app->notice, OSR_OK,
			 "key %u has new routes after a change of the fabric, contention %u (at "
			 "best %u)",
			 key, app->key[key].contention, app->key[key].key.bound);
		app->n_notices++;
	}
	return true;
}

/* The new fabric ------------------------------------------------------------------------------- */

/* The fabric before in the present one. End ports are matched by GUID alone: LIDs may change. */
struct carrying {
	const struct osr_fabric *from, *to;
	struct osr_fabric_map map;
	uint32_t *term; /* OSR_NONE: gone */
};

/* Routes in the numbers of the present fabric; false: a cable of theirs is gone. */
static bool carry_routes(const struct carrying *carrying, struct osr_key_routes *key_routes)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < key_routes->n_entries; i++) {
		struct osr_key_entry key_entry = key_routes->entry[i];
		uint32_t c = osr_port_channel(carrying->from, key_entry.sw, key_entry.port);

		if (carrying->term[key_entry.term] == OSR_NONE)
			continue; /* nobody sends there */
		if (c == OSR_NONE || carrying->map.chan[c] == OSR_NONE)
			return false;
		key_routes->entry[n++] =
			(struct osr_key_entry){ carrying->map.sw[key_entry.sw],
						carrying->term[key_entry.term], key_entry.port };
	}
	key_routes->n_entries = n;
	/* What a cable that is gone had is that of hosts that are gone, too. */
	n = 0;
	for (uint32_t i = 0; i < key_routes->n_links; i++) {
		uint32_t c = carrying->map.chan[key_routes->link[i]];

		if (c == OSR_NONE)
			continue;
		key_routes->link[n] = c;
		key_routes->flows[n++] = key_routes->flows[i];
	}
	key_routes->n_links = n;
	return true;
}

/* What is in the tables stays where its cables and ranks are as they were. */
static void carry_app(struct osr_sched *sched, const struct carrying *carrying,
		      struct osr_sched_app *app)
{
	/* Are the ranks where they were? Is one there again that was gone? */
	bool stay = sched->now->is_tree, back = false;

	for (uint32_t r = 0; r < app->n_ranks; r++) {
		uint32_t before = app->term[r], now = terminal_of(sched->now, app->host[r]);

		back |= before == OSR_NONE && now != OSR_NONE;
		stay &= before == OSR_NONE || now == OSR_NONE ||
			carrying->map.sw[carrying->from->term_switch[before]] ==
				carrying->to->term_switch[now];
		app->term[r] = now;
	}
	for (uint32_t k = 0; k < app->n_slots; k++) {
		struct osr_sched_slot *slot = &app->slot[k];

		if (slot->key == OSR_NONE)
			continue;
		if (stay && !lacks_lids(sched, app, slot) && !slot->make &&
		    (!back || in_use(&app->key[slot->key])) &&
		    carry_routes(carrying, &slot->routes))
			slot->make = back;
		else
			suspend(sched, app, slot);
	}
}

enum osr_status osr_sched_fabric(struct osr_sched *sched, const struct osr_fabric *fabric,
				 struct osr_diag *diag)
{
	struct osr_arena_mark mark = osr_arena_mark(&sched->scratch);
	struct base *before = sched->now;
	enum osr_status st = OSR_OK;

	if (before && osr_fabric_equal(&before->fabric, fabric))
		return OSR_OK;
	sched->now = base_new(fabric, diag);
	sched->stamp++;
	if (!sched->now)
		st = OSR_NOMEM;
	else
		sched->now->stamp = sched->stamp;
	if (!st && before) {
		struct carrying carrying = { .from = &before->fabric, .to = &sched->now->fabric };

		st = osr_fabric_map_init(&carrying.map, carrying.to, carrying.from, &sched->scratch,
					 diag);
		carrying.term = osr_alloc(&sched->scratch, carrying.from->n_terminals,
					  sizeof(*carrying.term));
		if (osr_arena_failed(&sched->scratch, diag))
			st = OSR_NOMEM;
		for (uint32_t i = 0; !st && i < carrying.from->n_terminals; i++)
			carrying.term[i] = terminal_of(sched->now, carrying.from->term_guid[i]);
		for (uint32_t i = 0; i < sched->n_apps && !st; i++)
			carry_app(sched, &carrying, sched->app[i]);
		osr_arena_reset(&sched->scratch, mark);
	}
	for (uint32_t i = 0; !st && !before && i < sched->n_apps; i++)
		sched_resolve(sched, sched->app[i]);
	if (st) {
		/* Without a fabric there are no routes; they are made again when there is one. */
		base_leave(sched->now);
		sched->now = NULL;
		for (uint32_t i = 0; i < sched->n_apps; i++)
			for (uint32_t k = 0; k < sched->app[i]->n_slots; k++)
				if (sched->app[i]->slot[k].key != OSR_NONE)
					suspend(sched, sched->app[i], &sched->app[i]->slot[k]);
	}
	base_leave(before);
	return st;
}

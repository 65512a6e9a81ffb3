/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Routes are made for the present fabric by the thread that has the time for it, without the lock.
 */
#include "sched_private.h"

#include <osmroutes/invariant.h>

#include <string.h>

#define MAX_TRIES 3 /* to make routes while the fabric changes again and again */

/* Making --------------------------------------------------------------------------------------- */

/* The pairs of a key as terminals. Pairs on one host, or with a lost end, are left out. */
static struct osr_pair *pairs_of(const struct osr_sched_app *app, uint32_t key,
				 struct osr_arena *arena, uint32_t *n)
{
	const struct osr_sched_key *of = &app->key[key];
	struct osr_pair *pair = osr_alloc(arena, of->n_pairs, sizeof(*pair));

	*n = 0;
	if (!pair)
		return NULL;
	for (uint32_t i = 0; i < of->n_pairs; i++) {
		uint32_t from = app->term[of->pair[i].from], to = app->term[of->pair[i].to];

		if (from != OSR_NONE && to != OSR_NONE && from != to)
			pair[(*n)++] = (struct osr_pair){ from, to };
	}
	return pair;
}

/*
 * Adds to load[n_channels] the flows of all keys in use but this slot's, in OSR_LOAD_UNIT for a job,
 * otherwise rounded to whole ones. Returns the largest load on a cable together with the routes in
 * the slot.
 */
static uint32_t load_without(const struct osr_sched *sched, const struct osr_sched_app *app,
			     const struct osr_sched_slot *slot, uint32_t *load)
{
	uint32_t n_channels = sched->now->fabric.n_channels, most = 0;

	for (uint32_t i = 0; i < sched->n_apps; i++)
		for (uint32_t k = 0; k < sched->app[i]->n_slots; k++) {
			const struct osr_sched_slot *of = &sched->app[i]->slot[k];
			uint32_t unit = sched->app[i]->job ? 1 : OSR_LOAD_UNIT;

			if (of == slot || !osr_slot_is_loaded(sched->app[i], of))
				continue;
			for (uint32_t n = 0; n < of->routes.n_links; n++)
				load[of->routes.link[n]] += of->routes.flows[n] * unit;
		}
	for (uint32_t c = 0; !app->job && c < n_channels; c++)
		load[c] = (load[c] + OSR_LOAD_UNIT / 2) / OSR_LOAD_UNIT;
	for (uint32_t n = 0; n < slot->routes.n_links; n++)
		if (slot->routes.flows[n] + load[slot->routes.link[n]] > most)
			most = slot->routes.flows[n] + load[slot->routes.link[n]];
	return most;
}

/* A key of the application, made without the lock from what was copied under it. */
struct making {
	struct osr_base *base;
	struct osr_pair *pair; /* of a key */
	uint32_t n_pairs;
	uint32_t *term; /* [n_ranks] of a job */
	uint32_t *load;
	enum osr_job_choice choice;
	bool place; /* routes, too */
};

static enum osr_status make_key(struct osr_sched *sched, struct osr_sched_app *app, uint32_t key,
				const struct making *making, struct osr_sched_slot *next,
				struct osr_diag *diag)
{
	const struct osr_pgft *pgft = &making->base->pgft;
	struct osr_sched_key *of = &app->key[key];
	const struct osr_key_job make = { pgft, &sched->work, &of->arena, diag };
	const struct osr_key_job place = { pgft, &sched->work, &next->arena, diag };
	enum osr_status st = OSR_OK;

	osr_arena_free(&next->arena);
	if (app->job)
		return osr_job_place(&place, making->term, app->n_ranks, making->load,
				     making->base->first, making->choice, &of->worth,
				     &next->routes);
	if (of->stamp != making->base->stamp) {
		osr_arena_free(&of->arena);
		of->stamp = making->base->stamp;
		st = osr_key_make(&make, making->pair, making->n_pairs, &of->key);
		of->key.spread = ((uint64_t)app->id << 16) + key;
		if (st)
			of->stamp = 0;
	}
	if (!st && making->place)
		st = osr_key_place(&place, &of->key, making->load, sched->limits.choice,
				   &next->routes);
	return st;
}

/* The offset of a job, by its first routes: it is told and stays. */
static enum osr_status settle(struct osr_sched_app *app, const struct osr_job_worth *worth,
			      struct osr_sched_slot *next, struct osr_diag *diag)
{
	if (worth->base)
		next->offset = 0;
	else if (!next->offset)
		return osr_fail(
			diag, OSR_INVAL,
			"the first LIDs serve this job no better than beside the other jobs, "
			"and no other LID offset is free on all of its hosts; each step of "
			"lmc in opensm.conf doubles the LIDs of a host");
	app->told = true;
	return OSR_OK;
}

enum osr_status osr_sched_put(struct osr_sched *sched, struct osr_sched_app *app, uint32_t key,
			      bool place, struct osr_diag *diag)
{
	struct osr_sched_slot *slot = &app->slot[app->key[key].slot],
			      next = { .offset = slot->offset };
	struct osr_arena_mark mark = osr_arena_mark(&sched->work);
	struct osr_sched_key *of = &app->key[key];
	struct making making = { .place = place };
	enum osr_status st;
	uint32_t most = 0, tries = 0;

	do {
		st = osr_sched_check_base(sched, diag);
		if (st)
			break;
		if (osr_sched_stops(sched) || tries++ == MAX_TRIES) {
			st = osr_fail(diag, OSR_NOT_APPLICABLE,
				      osr_sched_stops(sched) ? "the subnet manager ends"
							     : "the fabric has changed meanwhile");
			break;
		}
		osr_arena_reset(&sched->work, mark);
		making.base = sched->now;
		/* An application that is being placed is in no list. */
		osr_sched_resolve(sched, app);
		if (osr_sched_lacks_lids(sched, app, slot)) {
			st = osr_fail(diag, OSR_NOT_APPLICABLE,
				      "its hosts have fewer LIDs than before");
			break;
		}
		making.pair = pairs_of(app, key, &sched->work, &making.n_pairs);
		making.term = osr_alloc(&sched->work, app->n_ranks, sizeof(*making.term));
		making.load = osr_calloc(&sched->work, making.base->fabric.n_channels,
					 sizeof(*making.load));
		if (osr_arena_failed(&sched->work, diag)) {
			st = OSR_NOMEM;
			break;
		}
		memcpy(making.term, app->term, app->n_ranks * sizeof(*making.term));
		making.choice = OSR_JOB_EITHER;
		if (app->told)
			making.choice = slot->offset ? OSR_JOB_KEY : OSR_JOB_FIRST;
		most = load_without(sched, app, slot, making.load);
		making.base->n_users++;
		osr_sched_leave(sched);
		if (diag)
			diag->text[0] = '\0';
		st = make_key(sched, app, key, &making, &next, diag);
		osr_sched_take(sched);
		osr_base_leave(making.base);
	} while (making.base != sched->now);
	if (!st && app->job && !app->told)
		st = settle(app, &of->worth, &next, diag);
	if (!st && place && (slot->key != key || slot->make || most > next.routes.max_load)) {
		/* Empty routes that replace empty routes are not a change. */
		next.change = osr_slot_is_written(sched, slot) && !slot->routes.n_entries &&
					      !next.routes.n_entries
				      ? slot->change
				      : ++sched->change;
		next.key = key;
		of->contention = next.routes.contention;
		if (app->job) {
			of->key.bound = of->worth.bound;
			of->key.n_left_out = of->worth.n_left_out;
		}
		osr_arena_free(&slot->arena);
		*slot = next;
		next.arena = (struct osr_arena){ 0 };
	}
	osr_arena_free(&next.arena);
	osr_arena_reset(&sched->work, mark);
	return st;
}

/* Keys in use ---------------------------------------------------------------------------------- */

enum osr_status osr_sched_request(struct osr_sched *sched, struct osr_sched_app *app, uint32_t key,
				  struct osr_diag *diag)
{
	enum osr_status st = osr_sched_check_key(app, key, diag);
	struct osr_sched_slot *slot;

	if (!st)
		st = osr_sched_check_base(sched, diag);
	if (st)
		return st;
	slot = &app->slot[app->key[key].slot];
	if (osr_key_in_use(&app->key[key]))
		return osr_fail(diag, OSR_INVAL, "key %u of application %u is in use already", key,
				app->id);
	if (osr_slot_is_loaded(app, slot))
		return osr_fail(diag, OSR_INVAL,
				"LID offset %u carries key %u of application %u until that is done",
				slot->offset, slot->key, app->id);
	st = osr_sched_put(sched, app, key, true, diag);
	if (!st)
		app->key[key].state =
			osr_slot_is_written(sched, slot) ? OSR_KEY_ACTIVE : OSR_KEY_WAITING;
	osr_invariant(osr_sched_holds(sched));
	return st;
}

/* The first slot whose routes are to be made, and its application; NULL: none is left. */
static struct osr_sched_slot *next_to_make(const struct osr_sched *sched,
					   struct osr_sched_app **app)
{
	for (uint32_t i = 0; i < sched->n_apps; i++)
		for (uint32_t k = 0; k < sched->app[i]->n_slots; k++)
			if (sched->app[i]->slot[k].make) {
				*app = sched->app[i];
				return &sched->app[i]->slot[k];
			}
	return NULL;
}

bool osr_sched_work(struct osr_sched *sched)
{
	struct osr_sched_app *app = NULL;
	struct osr_sched_slot *slot = sched->now ? next_to_make(sched, &app) : NULL;
	struct osr_diag diag = { "" };
	uint64_t stamp = sched->stamp;
	enum osr_status st;
	uint32_t key;

	if (!slot || osr_sched_stops(sched))
		return false;
	key = slot->key;
	st = osr_sched_put(sched, app, key, true, &diag);
	if (st && (sched->stamp != stamp || osr_sched_stops(sched)))
		return true;
	osr_invariant(slot->key == OSR_NONE || slot->key == key);
	/* Without the lock the subnet manager may have withdrawn it. */
	if (slot->key != key || !osr_key_in_use(&app->key[key])) {
		osr_sched_clear(sched, slot);
	} else if (st) {
		osr_sched_withdraw(sched, app, key, diag.text);
	} else {
		app->key[key].state =
			osr_slot_is_written(sched, slot) ? OSR_KEY_ACTIVE : OSR_KEY_WAITING;
		osr_fail(&app->notice, OSR_OK,
			 "key %u has new routes after a change of the fabric, contention %u (at "
			 "best %u)",
			 key, app->key[key].contention, app->key[key].key.bound);
		app->n_notices++;
	}
	return true;
}

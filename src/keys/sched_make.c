/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Routes are made for the present fabric by the thread that has the time for it, without the lock.
 */
#include "sched_private.h"

#include <osmroutes/invariant.h>

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
 * Adds to load[n_channels] the flows of all keys in use but this slot's. Returns the largest load
 * on a cable together with the routes in the slot.
 */
static uint32_t load_without(const struct osr_sched *sched, const struct osr_sched_slot *slot,
			     uint32_t *load)
{
	uint32_t most = 0;

	for (uint32_t i = 0; i < sched->n_apps; i++)
		for (uint32_t k = 0; k < sched->app[i]->n_slots; k++) {
			const struct osr_sched_slot *of = &sched->app[i]->slot[k];

			if (of == slot || !osr_slot_is_loaded(sched->app[i], of))
				continue;
			for (uint32_t n = 0; n < of->routes.n_links; n++)
				load[of->routes.link[n]] += of->routes.flows[n];
		}
	for (uint32_t n = 0; n < slot->routes.n_links; n++)
		if (slot->routes.flows[n] + load[slot->routes.link[n]] > most)
			most = slot->routes.flows[n] + load[slot->routes.link[n]];
	return most;
}

enum osr_status osr_sched_put(struct osr_sched *sched, struct osr_sched_app *app, uint32_t key,
			      bool place, struct osr_diag *diag)
{
	struct osr_sched_slot *slot = &app->slot[app->key[key].slot],
			      next = { .offset = slot->offset };
	struct osr_arena_mark mark = osr_arena_mark(&sched->work);
	struct osr_sched_key *of = &app->key[key];
	struct osr_base *base = NULL;
	enum osr_status st;
	uint32_t most = 0, n, tries = 0;

	do {
		struct osr_pair *pair;
		uint32_t *load;

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
		base = sched->now;
		/* An application that is being placed is in no list. */
		osr_sched_resolve(sched, app);
		if (osr_sched_lacks_lids(sched, app, slot)) {
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
		osr_base_leave(base);
	} while (base != sched->now);
	if (!st && place && (slot->key != key || slot->make || most > next.routes.max_load)) {
		/* Empty routes that replace empty routes are not a change. */
		next.change = osr_slot_is_written(sched, slot) && !slot->routes.n_entries &&
					      !next.routes.n_entries
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

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The scheduler's book: the present fabric, applications with their keys and LID offsets, and the
 * entries that the tables should have.
 */
#include "sched_private.h"

#include <osmroutes/invariant.h>

#include <stdlib.h>
#include <string.h>

#define MAX_MISSING 50 /* percent of a tree's links: the rest is still routed up and down */

bool osr_sched_stops(const struct osr_sched *sched)
{
	return sched->limits.lock.stops && sched->limits.lock.stops(sched->limits.lock.ctx);
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
	const struct osr_sched_port *x = a, *y = b;

	return (x->guid > y->guid) - (x->guid < y->guid);
}

void osr_base_leave(struct osr_base *base)
{
	osr_invariant(!base || base->n_users);
	if (!base || --base->n_users)
		return;
	osr_arena_free(&base->arena);
	free(base);
}

/* The ports to the first LID of a terminal, by switch. */
static const uint8_t *first_row(const struct osr_fabric *fabric, const struct osr_routing *routing,
				uint32_t term)
{
	uint32_t d = osr_lid_dest(fabric, fabric->term_lid[term]);

	return d == OSR_NONE ? NULL : routing->lft + (size_t)d * fabric->n_switches;
}

bool osr_base_equal(const struct osr_base *base, const struct osr_fabric *fabric,
		    const struct osr_routing *routing)
{
	if (!osr_fabric_equal(&base->fabric, fabric) || !base->first != !routing)
		return false;
	for (uint32_t t = 0; routing && t < fabric->n_terminals; t++) {
		const uint8_t *row = first_row(fabric, routing, t);

		if (row &&
		    memcmp(base->first + (size_t)t * fabric->n_switches, row, fabric->n_switches))
			return false;
	}
	return true;
}

static void copy_first(struct osr_base *base, const struct osr_routing *routing)
{
	const struct osr_fabric *fabric = &base->fabric;

	base->first = osr_calloc(&base->arena, fabric->n_terminals, fabric->n_switches);
	for (uint32_t t = 0; base->first && t < fabric->n_terminals; t++) {
		const uint8_t *row = first_row(fabric, routing, t);

		if (row)
			memcpy(base->first + (size_t)t * fabric->n_switches, row,
			       fabric->n_switches);
	}
}

struct osr_base *osr_base_new(const struct osr_fabric *fabric, const struct osr_routing *routing,
			      struct osr_diag *diag)
{
	struct osr_pgft_options opt = { .max_missing = MAX_MISSING };
	struct osr_base *base = calloc(1, sizeof(*base));
	enum osr_status st;

	if (!base) {
		osr_fail(diag, OSR_NOMEM, "out of memory for routing keys");
		return NULL;
	}
	base->n_users = 1;
	st = osr_fabric_copy(fabric, &base->arena, &base->fabric, diag);
	if (!st && routing)
		copy_first(base, routing);
	base->port = osr_alloc(&base->arena, fabric->n_terminals, sizeof(*base->port));
	if (st || osr_arena_failed(&base->arena, diag)) {
		osr_base_leave(base);
		return NULL;
	}
	for (uint32_t t = 0; t < fabric->n_terminals; t++)
		base->port[t] = (struct osr_sched_port){ fabric->term_guid[t], t };
	qsort(base->port, fabric->n_terminals, sizeof(*base->port), by_port_guid);
	st = osr_pgft_find(&base->fabric, &opt, &base->arena, &base->pgft, &base->no_tree);
	base->is_tree = !st;
	if (st != OSR_NOMEM)
		return base;
	osr_fail(diag, OSR_NOMEM, "out of memory for routing keys");
	osr_base_leave(base);
	return NULL;
}

uint32_t osr_sched_terminal(const struct osr_base *base, uint64_t guid)
{
	const struct osr_sched_port key = { .guid = guid },
				    *port = bsearch(&key, base->port, base->fabric.n_terminals,
						    sizeof(key), by_port_guid);

	return port ? port->term : OSR_NONE;
}

enum osr_status osr_sched_check_base(const struct osr_sched *sched, struct osr_diag *diag)
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

void osr_sched_free_app(struct osr_sched_app *app)
{
	if (app->key)
		for (uint32_t k = 0; k < app->n_keys; k++)
			osr_arena_free(&app->key[k].arena);
	if (app->slot)
		for (uint32_t i = 0; i < app->n_slots; i++)
			osr_arena_free(&app->slot[i].arena);
	osr_arena_free(&app->arena);
	free(app);
}

void osr_sched_free(struct osr_sched *sched)
{
	if (!sched)
		return;
	for (uint32_t i = 0; i < sched->n_apps; i++)
		osr_sched_free_app(sched->app[i]);
	free(sched->app);
	osr_base_leave(sched->now);
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

void osr_sched_resolve(const struct osr_sched *sched, struct osr_sched_app *app)
{
	for (uint32_t i = 0; i < app->n_ranks; i++)
		app->term[i] = osr_sched_terminal(sched->now, app->host[i]);
}

#ifdef OSR_PARANOID
static bool slot_holds(const struct osr_sched *sched, const struct osr_sched_app *app, uint32_t k)
{
	const struct osr_sched_slot *slot = &app->slot[k];

	if (slot->change > sched->change)
		return false;
	if (slot->key == OSR_NONE)
		return !slot->make && !slot->routes.n_entries;
	if (slot->key >= app->n_keys || app->key[slot->key].slot != k)
		return false;
	return !slot->make || osr_key_in_use(&app->key[slot->key]);
}

bool osr_sched_holds(const struct osr_sched *sched)
{
	if (sched->written > sched->collected || sched->collected > sched->change)
		return false;
	if (sched->n_apps > sched->limits.max_apps)
		return false;
	for (uint32_t i = 0; i < sched->n_apps; i++) {
		const struct osr_sched_app *app = sched->app[i];
		uint32_t next = i + 1 < sched->n_apps ? sched->app[i + 1]->id : sched->next_id;

		if (app->id >= next)
			return false;
		for (uint32_t k = 0; k < app->n_slots; k++)
			if (!slot_holds(sched, app, k))
				return false;
	}
	return true;
}
#endif

/* Slots ---------------------------------------------------------------------------------------- */
void osr_sched_clear(struct osr_sched *sched, struct osr_sched_slot *slot)
{
	osr_arena_free(&slot->arena);
	slot->key = OSR_NONE;
	slot->routes = (struct osr_key_routes){ 0 };
	slot->change = ++sched->change;
	slot->make = false;
}

void osr_sched_withdraw(struct osr_sched *sched, struct osr_sched_app *app, uint32_t key,
			const char *reason)
{
	struct osr_sched_slot *slot = &app->slot[app->key[key].slot];

	osr_invariant(key < app->n_keys && app->key[key].slot < app->n_slots);
	if (slot->key == key)
		osr_sched_clear(sched, slot);
	app->key[key].state = OSR_KEY_WITHDRAWN;
	osr_fail(&app->notice, OSR_OK,
		 "key %u is withdrawn, the base routing serves its traffic: %s", key, reason);
	app->n_notices++;
}

bool osr_sched_lacks_lids(const struct osr_sched *sched, const struct osr_sched_app *app,
			  const struct osr_sched_slot *slot)
{
	for (uint32_t i = 0; i < app->n_ranks; i++)
		if (app->term[i] != OSR_NONE &&
		    slot->offset >= 1u << sched->now->fabric.term_lmc[app->term[i]])
			return true;
	return false;
}

/* Keys in use ---------------------------------------------------------------------------------- */

enum osr_status osr_sched_check_key(const struct osr_sched_app *app, uint32_t key,
				    struct osr_diag *diag)
{
	if (key < app->n_keys)
		return OSR_OK;
	return osr_fail(diag, OSR_INVAL, "application %u has keys 0 to %u, not %u", app->id,
			app->n_keys - 1, key);
}

enum osr_status osr_sched_done(struct osr_sched *sched, struct osr_sched_app *app, uint32_t key,
			       struct osr_diag *diag)
{
	enum osr_status st = osr_sched_check_key(app, key, diag);
	struct osr_sched_slot *slot;

	if (st)
		return st;
	slot = &app->slot[app->key[key].slot];
	if (app->key[key].state == OSR_KEY_PREPARED)
		return osr_fail(diag, OSR_INVAL, "key %u of application %u is not in use", key,
				app->id);
	app->key[key].state = OSR_KEY_PREPARED;
	if (slot->key == key && slot->make)
		osr_sched_clear(sched, slot);
	return OSR_OK;
}

void osr_sched_release(struct osr_sched *sched, struct osr_sched_app *app)
{
	uint32_t at = 0;

	for (uint32_t i = 0; i < app->n_slots; i++)
		sched->change += app->slot[i].key != OSR_NONE;
	/* Out of the list, whose order stays. */
	while (sched->app[at] != app) {
		at++;
		osr_invariant(at < sched->n_apps);
	}
	for (sched->n_apps--; at < sched->n_apps; at++)
		sched->app[at] = sched->app[at + 1];
	osr_sched_free_app(app);
	osr_invariant(osr_sched_holds(sched));
}

/* Entries for the tables ----------------------------------------------------------------------- */

bool osr_sched_dirty(const struct osr_sched *sched)
{
	return sched->change > sched->written;
}

/* The entries of one LID, by switch. */
struct lid {
	const struct osr_key_entry *entry;
	uint32_t n;
};

/* Notes the entries of a slot by LID, and returns how many. The first of two slots gets a LID. */
static uint32_t claim_lids(const struct osr_fabric *fabric, const struct osr_sched_slot *slot,
			   struct lid *lid)
{
	const struct osr_key_entry *of = slot->routes.entry;
	uint32_t n = 0;

	for (uint32_t end, e = 0; e < slot->routes.n_entries; e = end) {
		uint32_t term = of[e].term, d = OSR_NONE;

		for (end = e; end < slot->routes.n_entries; end++)
			if (of[end].term != term)
				break;
		if (slot->offset < 1u << fabric->term_lmc[term] &&
		    fabric->term_lid[term] + slot->offset <= fabric->max_lid)
			d = fabric->lid_dest[fabric->term_lid[term] + slot->offset];
		if (d == OSR_NONE || lid[d].n)
			continue;
		lid[d] = (struct lid){ &of[e], end - e };
		n += end - e;
	}
	return n;
}

enum osr_status osr_sched_collect(struct osr_sched *sched, struct osr_arena *arena,
				  struct osr_overlay_entry **entry, uint32_t *n_entries,
				  struct osr_diag *diag)
{
	const struct osr_fabric *fabric = sched->now ? &sched->now->fabric : NULL;
	uint32_t n_dests = fabric ? fabric->n_dests : 0, n = 0;
	struct lid *lid = osr_calloc(arena, n_dests, sizeof(*lid));

	osr_invariant(osr_sched_holds(sched));
	*n_entries = 0;
	sched->collected = sched->change;
	if (osr_arena_failed(arena, diag))
		return OSR_NOMEM;
	if (fabric)
		for (uint32_t i = 0; i < sched->n_apps; i++)
			for (uint32_t k = 0; k < sched->app[i]->n_slots; k++)
				n += claim_lids(fabric, &sched->app[i]->slot[k], lid);
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
	osr_invariant(sched->written <= sched->collected);
	sched->written = sched->collected;
	for (uint32_t i = 0; i < sched->n_apps; i++)
		for (uint32_t k = 0; k < sched->app[i]->n_slots; k++) {
			const struct osr_sched_slot *slot = &sched->app[i]->slot[k];

			if (slot->key != OSR_NONE && osr_slot_is_written(sched, slot) &&
			    !slot->make && sched->app[i]->key[slot->key].state == OSR_KEY_WAITING)
				sched->app[i]->key[slot->key].state = OSR_KEY_ACTIVE;
		}
}

enum withdrawn { WAITING_KEYS, ALL_KEYS };

/* Of the keys with routes in the tables. Returns how many. */
static uint32_t withdraw_all(struct osr_sched *sched, enum withdrawn which, const char *reason)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < sched->n_apps; i++)
		for (uint32_t k = 0; k < sched->app[i]->n_slots; k++) {
			const struct osr_sched_slot *slot = &sched->app[i]->slot[k];

			if (slot->key == OSR_NONE)
				continue;
			if (which == WAITING_KEYS &&
			    (slot->make || sched->app[i]->key[slot->key].state != OSR_KEY_WAITING))
				continue;
			osr_sched_withdraw(sched, sched->app[i], slot->key, reason);
			n++;
		}
	return n;
}

uint32_t osr_sched_refuse(struct osr_sched *sched, const char *reason)
{
	uint32_t n = withdraw_all(sched, WAITING_KEYS, reason);

	if (!n)
		n = withdraw_all(sched, ALL_KEYS, reason);
	osr_invariant(osr_sched_holds(sched));
	return n;
}

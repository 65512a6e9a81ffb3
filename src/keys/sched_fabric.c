/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * A new fabric. Entries stay if their cable and their ends are unchanged; each entry is examined.
 * All other entries leave the tables, and osr_sched_work() makes them again.
 */
#include "sched_private.h"

#include <osmroutes/invariant.h>

#include "core/data/fabric_map.h"

/* Again ---------------------------------------------------------------------------------------- */

/* The routes of the slot leave the tables. Routes of an unused key are forgotten. */
static void suspend(struct osr_sched *sched, struct osr_sched_app *app, struct osr_sched_slot *slot)
{
	osr_invariant(slot->key < app->n_keys);
	if (!osr_key_in_use(&app->key[slot->key])) {
		osr_sched_clear(sched, slot);
		return;
	}
	slot->routes = (struct osr_key_routes){ 0 };
	slot->change = ++sched->change;
	slot->make = true;
	app->key[slot->key].state = OSR_KEY_WAITING;
}

/* The new fabric ------------------------------------------------------------------------------- */

/* The previous fabric in the present one. End ports are matched by GUID alone: LIDs may change. */
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
	/* Flows on a cable that is gone belong to hosts that are gone, too. */
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

/* Entries stay in the tables if their cables and ranks are where they were. */
static void carry_app(struct osr_sched *sched, const struct carrying *carrying,
		      struct osr_sched_app *app)
{
	/* Are the ranks where they were? Is one there again that was gone? */
	bool stay = sched->now->is_tree, back = false;

	for (uint32_t r = 0; r < app->n_ranks; r++) {
		uint32_t before = app->term[r], now = osr_sched_terminal(sched->now, app->host[r]);

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
		/* A job that the first LIDs serve has their new routes. */
		if (stay && slot->offset && !osr_sched_lacks_lids(sched, app, slot) &&
		    !slot->make && (!back || osr_key_in_use(&app->key[slot->key])) &&
		    carry_routes(carrying, &slot->routes))
			slot->make = back;
		else
			suspend(sched, app, slot);
	}
}

enum osr_status osr_sched_fabric(struct osr_sched *sched, const struct osr_fabric *fabric,
				 const struct osr_routing *base, struct osr_diag *diag)
{
	struct osr_arena_mark mark = osr_arena_mark(&sched->scratch);
	struct osr_base *before = sched->now;
	enum osr_status st = OSR_OK;

	if (before && osr_base_equal(before, fabric, base))
		return OSR_OK;
	sched->now = osr_base_new(fabric, base, diag);
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
			carrying.term[i] =
				osr_sched_terminal(sched->now, carrying.from->term_guid[i]);
		for (uint32_t i = 0; !st && i < sched->n_apps; i++)
			carry_app(sched, &carrying, sched->app[i]);
		osr_arena_reset(&sched->scratch, mark);
	}
	if (!st && !before)
		for (uint32_t i = 0; i < sched->n_apps; i++)
			osr_sched_resolve(sched, sched->app[i]);
	if (st) {
		/* Without a fabric there are no routes; they are made again when there is one. */
		osr_base_leave(sched->now);
		sched->now = NULL;
		for (uint32_t i = 0; i < sched->n_apps; i++)
			for (uint32_t k = 0; k < sched->app[i]->n_slots; k++)
				if (sched->app[i]->slot[k].key != OSR_NONE)
					suspend(sched, sched->app[i], &sched->app[i]->slot[k]);
	}
	osr_base_leave(before);
	osr_invariant(osr_sched_holds(sched));
	return st;
}

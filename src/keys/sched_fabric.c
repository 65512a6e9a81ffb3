/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Keys and the fabric. Routes are made for the present one by the thread that has the time for it. When
 * the fabric changes, entries over cables and ends that are as they were stay, which is seen entry by
 * entry; all others leave the tables and are made again by osr_sched_work().
 */
#include "core/data/fabric_map.h"
#include "sched.h"

#include <stdlib.h>
#include <string.h>

#define MAX_MISSING 50 /* percent of a tree's links: what is left of it is still up and down */

/* Making --------------------------------------------------------------------------------------- */

/* The present fabric while the lock is left: the structs are copies, the arrays outlive a change. */
struct view {
	struct osr_fabric f;
	struct osr_pgft p;
	uint64_t stamp;
};

static void view_open(struct osr_sched *sched, struct view *view)
{
	view->f = sched->f;
	view->p = sched->p;
	view->p.f = &view->f;
	view->stamp = sched->viewed = sched->stamp;
	osr_sched_leave(sched);
}

/* false: it is not the present fabric any more. */
static bool view_close(struct osr_sched *sched, const struct view *view)
{
	osr_sched_take(sched);
	sched->viewed = 0;
	osr_arena_free(&sched->held);
	return sched->stamp == view->stamp;
}

static enum osr_status overtaken(const struct osr_sched *sched, struct osr_diag *diag)
{
	return osr_fail(diag, OSR_NOT_APPLICABLE,
			osr__sched_stops(sched)
				? "the subnet manager ends"
				: "the fabric has changed while the routes were made");
}

enum osr_status osr__sched_make(struct osr_sched *sched, struct osr_sched_app *app, uint32_t key,
				struct osr_diag *diag)
{
	struct osr_arena_mark mark = osr_arena_mark(&sched->work);
	struct osr_sched_key *sched_key = &app->key[key];
	struct osr_pair *pair;
	enum osr_status st = OSR_OK;
	struct view view;
	uint32_t n = 0;

	if (sched_key->stamp == sched->stamp)
		return OSR_OK;
	osr_arena_free(&sched_key->arena);
	sched_key->stamp = 0;
	if (osr__sched_stops(sched))
		return overtaken(sched, diag);
	pair = osr_alloc(&sched->work, sched_key->n_pairs, sizeof(*pair));
	if (osr_arena_failed(&sched->work, diag)) {
		osr_arena_reset(&sched->work, mark);
		return OSR_NOMEM;
	}
	/* The pairs as terminals; what stays on one host, or has lost an end, is left out. */
	for (uint32_t i = 0; i < sched_key->n_pairs; i++) {
		uint32_t from = app->term[sched_key->pair[i].from];
		uint32_t to = app->term[sched_key->pair[i].to];

		if (from != OSR_NONE && to != OSR_NONE && from != to)
			pair[n++] = (struct osr_pair){ from, to };
	}
	view_open(sched, &view);
	st = osr_key_make(&(struct osr_key_job){ &view.p, &sched->work, &sched_key->arena, diag },
			  pair, n, &sched_key->key);
	if (!view_close(sched, &view))
		st = overtaken(sched, diag);
	osr_arena_reset(&sched->work, mark);
	if (st) {
		osr_arena_free(&sched_key->arena);
		return st;
	}
	sched_key->stamp = sched->stamp;
	sched_key->key.spread = ((uint64_t)app->id << 16) + key;
	sched_key->bound = sched_key->key.bound;
	sched_key->host_degree = sched_key->key.host_degree;
	sched_key->n_classes = sched_key->key.n_classes;
	sched_key->n_left_out = sched_key->key.n_left_out;
	return OSR_OK;
}

static int by_end_and_switch(const void *a, const void *b)
{
	const struct osr_key_entry *key_entry = a, *key = b;

	if (key_entry->term != key->term)
		return key_entry->term < key->term ? -1 : 1;
	return key_entry->sw < key->sw ? -1 : key_entry->sw > key->sw;
}

/* What a cable of these routes carries at most, with the load as it is. */
static uint32_t max_load(const struct osr_sched *sched, const struct osr_key_routes *key_routes)
{
	uint32_t most = 0;

	for (uint32_t i = 0; i < key_routes->n_links; i++)
		if (key_routes->flows[i] + sched->load[key_routes->link[i]] > most)
			most = key_routes->flows[i] + sched->load[key_routes->link[i]];
	return most;
}

/* The load that a slot's routes are part of. */
static bool is_loaded(const struct osr_sched_app *app, const struct osr_sched_slot *slot)
{
	return slot->key != OSR_NONE && osr__in_use(&app->key[slot->key]);
}

/* Routes in view of what others load the cables with now, in next->routes, without the lock. */
static enum osr_status place_key(struct osr_sched *sched, const struct osr_sched_app *app,
				 uint32_t key, struct osr_sched_slot *next, struct osr_diag *diag)
{
	const struct osr_sched_slot *slot = &app->slot[app->key[key].slot];
	struct osr_arena_mark mark = osr_arena_mark(&sched->work);
	uint32_t *load = osr_alloc(&sched->work, sched->f.n_channels, sizeof(*load));
	struct view view;
	enum osr_status st;

	if (osr_arena_failed(&sched->work, diag))
		return OSR_NOMEM;
	memcpy(load, sched->load, sched->f.n_channels * sizeof(*load));
	for (uint32_t i = 0; is_loaded(app, slot) && i < slot->routes.n_links; i++)
		load[slot->routes.link[i]] -= slot->routes.flows[i];
	view_open(sched, &view);
	st = osr_key_place(&(struct osr_key_job){ &view.p, &sched->work, &next->arena, diag },
			   &app->key[key].key, load, sched->limits.choice, &next->routes);
	if (!st && next->routes.n_entries)
		qsort(next->routes.entry, next->routes.n_entries, sizeof(*next->routes.entry),
		      by_end_and_switch);
	if (!view_close(sched, &view))
		st = overtaken(sched, diag);
	osr_arena_reset(&sched->work, mark);
	return st;
}

enum osr_status osr__sched_put(struct osr_sched *sched, struct osr_sched_app *app, uint32_t key,
			       struct osr_diag *diag)
{
	struct osr_sched_key *sched_key = &app->key[key];
	struct osr_sched_slot *slot = &app->slot[sched_key->slot],
			      next = { .offset = slot->offset };
	enum osr_status st = osr__sched_make(sched, app, key, diag);

	if (!st)
		st = place_key(sched, app, key, &next, diag);
	if (st || (slot->key == key && !slot->make &&
		   max_load(sched, &slot->routes) <= next.routes.max_load)) {
		osr_arena_free(&next.arena);
		return st;
	}
	/* Nothing before and nothing after is no change. */
	next.written =
		!slot->routes.n_entries && !next.routes.n_entries && slot->change <= sched->written;
	next.change = next.written ? slot->change : ++sched->change;
	next.key = key;
	sched_key->contention = next.routes.contention;
	if (is_loaded(app, slot))
		osr__sched_load(sched, slot, false);
	osr_arena_free(&slot->arena);
	*slot = next;
	if (is_loaded(app, slot))
		osr__sched_load(sched, slot, true);
	return OSR_OK;
}

/* Again ---------------------------------------------------------------------------------------- */

/* Its routes leave the tables; an unused key's are forgotten. */
static void suspend(struct osr_sched *sched, struct osr_sched_app *app, struct osr_sched_slot *slot)
{
	if (!osr__in_use(&app->key[slot->key])) {
		osr__sched_clear(sched, slot);
		return;
	}
	slot->routes = (struct osr_key_routes){ 0 };
	slot->change = ++sched->change;
	slot->written = false;
	slot->make = true;
	app->key[slot->key].state = OSR_KEY_WAITING;
}

/* A LID offset that the LMC of the present fabric does not have. */
static bool lacks_lids(const struct osr_sched *sched, const struct osr_sched_app *app,
		       const struct osr_sched_slot *slot)
{
	for (uint32_t i = 0; i < app->n_ranks; i++)
		if (app->term[i] != OSR_NONE &&
		    slot->offset >= 1u << sched->f.term_lmc[app->term[i]])
			return true;
	return false;
}

static void make_again(struct osr_sched *sched, struct osr_sched_app *app,
		       struct osr_sched_slot *slot)
{
	struct osr_diag diag = { "" };
	uint32_t key = slot->key;
	uint64_t stamp = sched->stamp;
	enum osr_status st = osr__sched_put(sched, app, key, &diag);

	if (st && (sched->stamp != stamp || osr__sched_stops(sched)))
		return;
	/* Without the lock the subnet manager may have withdrawn it. */
	if (slot->key != key || !osr__in_use(&app->key[key])) {
		osr__sched_clear(sched, slot);
		return;
	}
	if (st) {
		osr__sched_withdraw(sched, app, key, diag.text);
		return;
	}
	app->key[key].state = slot->written ? OSR_KEY_ACTIVE : OSR_KEY_WAITING;
	osr__sched_notice(
		app,
		"key %u has new routes after a change of the fabric, contention %u (at best %u)",
		key, app->key[key].contention, app->key[key].bound);
}

bool osr_sched_work(struct osr_sched *sched)
{
	for (uint32_t i = 0; sched->has_fabric && i < sched->n_apps; i++)
		for (uint32_t k = 0; k < sched->app[i]->n_slots; k++)
			if (sched->app[i]->slot[k].make && !osr__sched_stops(sched)) {
				struct osr_sched_app *app = sched->app[i];
				struct osr_sched_slot *slot = &sched->app[i]->slot[k];
				struct osr_arena_mark mark = osr_arena_mark(&sched->work);
				/* Why the key cannot stay, or NULL. */
				const char *why = !sched->is_tree ? sched->no_tree.text
						  : lacks_lids(sched, app, slot)
							  ? "its hosts have fewer LIDs than before"
							  : NULL;

				if (why)
					osr__sched_withdraw(sched, app, slot->key, why);
				else
					make_again(sched, app, slot);
				osr_arena_reset(&sched->work, mark);
				return true;
			}
	return false;
}

/* The new fabric ------------------------------------------------------------------------------- */

static int sched_fabric_by_guid(const void *a, const void *b)
{
	const struct osr__port *port = a, *y = b;

	if (port->guid != y->guid)
		return port->guid < y->guid ? -1 : 1;
	return port->term < y->term ? -1 : port->term > y->term;
}

static enum osr_status take_fabric(struct osr_sched *sched, const struct osr_fabric *fabric,
				   struct osr_diag *diag)
{
	struct osr_pgft_options opt = { .max_missing = MAX_MISSING };
	enum osr_status st = osr_fabric_copy(fabric, &sched->arena, &sched->f, diag);

	if (st)
		return st;
	sched->port = osr_alloc(&sched->arena, sched->f.n_terminals, sizeof(*sched->port));
	sched->load = osr_calloc(&sched->arena, sched->f.n_channels, sizeof(*sched->load));
	if (osr_arena_failed(&sched->arena, diag))
		return OSR_NOMEM;
	for (uint32_t t = 0; t < sched->f.n_terminals; t++)
		sched->port[t] = (struct osr__port){ sched->f.term_guid[t], t };
	qsort(sched->port, sched->f.n_terminals, sizeof(*sched->port), sched_fabric_by_guid);
	st = osr_pgft_find(&sched->f, &opt, &sched->arena, &sched->p, &sched->no_tree);
	if (st == OSR_NOMEM)
		return osr_fail(diag, OSR_NOMEM, "out of memory for routing keys");
	sched->is_tree = !st;
	sched->has_fabric = true;
	return OSR_OK;
}

/* The fabric before in the present one. End ports are matched by GUID alone: LIDs may change. */
struct carrying {
	const struct osr_fabric *from, *to;
	struct osr_fabric_map map;
	uint32_t *term; /* OSR_NONE: gone */
};

/* Routes in the numbers of the present fabric; false: a cable of theirs is gone. */
static bool carry_routes(const struct carrying *x, struct osr_key_routes *key_routes)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < key_routes->n_entries; i++) {
		struct osr_key_entry key_entry = key_routes->entry[i];
		uint32_t c = osr_port_channel(x->from, key_entry.sw, key_entry.port);

		if (x->term[key_entry.term] == OSR_NONE)
			continue; /* nobody sends there */
		if (c == OSR_NONE || x->map.chan[c] == OSR_NONE)
			return false;
		key_routes->entry[n++] =
			(struct osr_key_entry){ x->map.sw[key_entry.sw], x->term[key_entry.term],
						key_entry.port };
	}
	key_routes->n_entries = n;
	/* What a cable that is gone had is that of hosts that are gone, too. */
	n = 0;
	for (uint32_t i = 0; i < key_routes->n_links; i++) {
		uint32_t c = x->map.chan[key_routes->link[i]];

		if (c == OSR_NONE)
			continue;
		key_routes->link[n] = c;
		key_routes->flows[n++] = key_routes->flows[i];
	}
	key_routes->n_links = n;
	return true;
}

/* Are the ranks where they were? *back: one that was gone is there again. */
static bool ranks_stay(const struct carrying *x, const uint32_t *before, const uint32_t *now,
		       uint32_t n, bool *back)
{
	for (uint32_t i = 0; i < n; i++) {
		*back |= before[i] == OSR_NONE && now[i] != OSR_NONE;
		if (before[i] != OSR_NONE && now[i] != OSR_NONE &&
		    x->map.sw[x->from->term_switch[before[i]]] != x->to->term_switch[now[i]])
			return false;
	}
	return true;
}

static void carry_slot(struct osr_sched *sched, const struct carrying *x, struct osr_sched_app *app,
		       struct osr_sched_slot *slot, bool stay, bool back)
{
	if (slot->key == OSR_NONE)
		return;
	if (stay && sched->is_tree && !lacks_lids(sched, app, slot) && !slot->make &&
	    (!back || osr__in_use(&app->key[slot->key])) && carry_routes(x, &slot->routes)) {
		if (osr__in_use(&app->key[slot->key]))
			osr__sched_load(sched, slot, true);
		slot->make = back;
	} else {
		suspend(sched, app, slot);
	}
}

enum osr_status osr_sched_fabric(struct osr_sched *sched, const struct osr_fabric *fabric,
				 struct osr_diag *diag)
{
	struct osr_arena before_arena = sched->arena;
	struct osr_fabric before = sched->f;
	uint64_t stamp = sched->stamp;
	bool had = sched->has_fabric;
	enum osr_status st;

	if (had && osr_fabric_equal(&before, fabric))
		return OSR_OK;
	sched->arena = (struct osr_arena){ 0 };
	sched->has_fabric = sched->is_tree = false;
	sched->stamp++;
	st = take_fabric(sched, fabric, diag);
	if (!st && had) {
		struct osr_arena_mark mark = osr_arena_mark(&sched->scratch);
		struct carrying x = { .from = &before, .to = &sched->f };

		/* Entries are carried over, of one application after the other. */
		st = osr_fabric_map_init(&x.map, x.to, x.from, &sched->scratch, diag);
		x.term = osr_alloc(&sched->scratch, before.n_terminals, sizeof(*x.term));
		if (osr_arena_failed(&sched->scratch, diag))
			st = OSR_NOMEM;
		for (uint32_t i = 0; !st && i < before.n_terminals; i++)
			x.term[i] = osr_sched_terminal(sched, before.term_guid[i]);
		for (uint32_t i = 0; i < sched->n_apps && !st; i++) {
			struct osr_sched_app *app = sched->app[i];
			uint32_t *term = osr_alloc(&sched->scratch, app->n_ranks, sizeof(*term));
			bool stay = false, back = false;

			if (term) {
				memcpy(term, app->term, app->n_ranks * sizeof(*term));
				osr__sched_resolve(sched, app);
				stay = ranks_stay(&x, term, app->term, app->n_ranks, &back);
			}
			for (uint32_t k = 0; k < app->n_slots && term; k++)
				carry_slot(sched, &x, app, &app->slot[k], stay, back);
			st = osr_arena_failed(&sched->scratch, diag) ? OSR_NOMEM : OSR_OK;
		}
		osr_arena_reset(&sched->scratch, mark);
	}
	for (uint32_t i = 0; !st && !had && i < sched->n_apps; i++)
		osr__sched_resolve(sched, sched->app[i]);
	if (st) {
		/* Without a fabric there are no routes; they are made again when there is one. */
		sched->has_fabric = sched->is_tree = false;
		for (uint32_t i = 0; i < sched->n_apps; i++)
			for (uint32_t k = 0; k < sched->app[i]->n_slots; k++)
				if (sched->app[i]->slot[k].key != OSR_NONE)
					suspend(sched, sched->app[i], &sched->app[i]->slot[k]);
	}
	/* Somebody may look at it without the lock. */
	if (had && sched->viewed == stamp)
		sched->held = before_arena;
	else
		osr_arena_free(&before_arena);
	return st;
}

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Keys and the fabric: routes are made for the present one, and looked at again when it has changed.
 * Entries are kept by GUIDs, so they outlive the numbers of a fabric; whether they still lead from
 * every rank to its partner is found by following them.
 */
#include "sched.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define MAX_MISSING 50 /* percent of a tree's links: what is left of it is still up and down */
#define MAX_HOPS (2 * OSR_PGFT_MAX_LEVELS)

static enum osr_status nomem(struct osr_diag *diag)
{
	return osr_fail(diag, OSR_NOMEM, "out of memory for routing keys");
}

/* Making --------------------------------------------------------------------------------------- */

/* The pairs as terminals; what stays on one host, or has lost an end, is left out. */
static enum osr_status list_pairs(struct osr_sched *s, const struct osr_sched_app *app,
				  const struct osr_sched_key *key, struct osr_pair **list,
				  uint32_t *n, struct osr_diag *diag)
{
	*n = 0;
	*list = osr_alloc(&s->scratch, key->n_pairs, sizeof(**list));
	if (!*list)
		return nomem(diag);
	for (uint32_t i = 0; i < key->n_pairs; i++) {
		uint32_t from = app->term[key->pair[i].from], to = app->term[key->pair[i].to];

		if (from != OSR_NONE && to != OSR_NONE && from != to)
			(*list)[(*n)++] = (struct osr_pair){ from, to };
	}
	return OSR_OK;
}

enum osr_status osr__sched_make(struct osr_sched *s, struct osr_sched_app *app, uint32_t key,
				struct osr_diag *diag)
{
	struct osr_arena_mark mark = osr_arena_mark(&s->scratch);
	struct osr_sched_key *k = &app->key[key];
	struct osr_pair *pair;
	enum osr_status st;
	uint32_t n;

	if (k->stamp == s->stamp)
		return OSR_OK;
	osr_arena_free(&k->arena);
	k->stamp = 0;
	st = list_pairs(s, app, k, &pair, &n, diag);
	if (!st)
		st = osr_key_make(&s->p, pair, n, &s->scratch, &k->arena, &k->key, diag);
	osr_arena_reset(&s->scratch, mark);
	if (st) {
		osr_arena_free(&k->arena);
		return st;
	}
	k->stamp = s->stamp;
	k->bound = k->key.bound;
	k->host_degree = k->key.host_degree;
	k->n_classes = k->key.n_classes;
	k->n_left_out = k->key.n_left_out;
	return OSR_OK;
}

/* The routes as entries by GUIDs, in the same arena. */
static enum osr_status name_entries(const struct osr_sched *s, struct osr_sched_slot *slot,
				    struct osr_diag *diag)
{
	const struct osr_key_routes *r = &slot->routes;

	slot->entry = osr_alloc(&slot->arena, r->n_entries, sizeof(*slot->entry));
	if (!slot->entry)
		return nomem(diag);
	for (uint32_t i = 0; i < r->n_entries; i++)
		slot->entry[i] = (struct osr_sched_entry){ s->f.sw_guid[r->entry[i].sw],
							   s->f.term_guid[r->entry[i].term],
							   r->entry[i].port };
	slot->n_entries = r->n_entries;
	return OSR_OK;
}

/* What a cable of these routes carries at most, with the load as it is. */
static uint32_t max_load(const struct osr_sched *s, const struct osr_key_routes *r)
{
	uint32_t most = 0;

	for (uint32_t i = 0; i < r->n_links; i++)
		if (r->flows[i] + s->load[r->link[i]] > most)
			most = r->flows[i] + s->load[r->link[i]];
	return most;
}

enum osr_status osr__sched_put(struct osr_sched *s, struct osr_sched_app *app, uint32_t key,
			       struct osr_diag *diag)
{
	struct osr_sched_key *k = &app->key[key];
	struct osr_sched_slot *slot = &app->slot[k->slot], next = { .offset = slot->offset };
	enum osr_status st = osr__sched_make(s, app, key, diag);

	if (!st)
		st = osr_key_place(&s->p, &k->key, s->load, s->limits.choice, NULL, &s->scratch,
				   &next.arena, &next.routes, diag);
	if (!st)
		st = name_entries(s, &next, diag);
	if (st || (slot->key == key && max_load(s, &slot->routes) <= next.routes.max_load)) {
		osr_arena_free(&next.arena);
		return st;
	}
	/* Nothing before and nothing after is no change. */
	next.written =
		!slot->routes.n_entries && !next.routes.n_entries && slot->change <= s->written;
	next.change = next.written ? slot->change : ++s->change;
	next.key = key;
	k->contention = next.routes.contention;
	osr_arena_free(&slot->arena);
	*slot = next;
	return OSR_OK;
}

/* Looking again -------------------------------------------------------------------------------- */

struct revival {
	struct osr_sched *s;
	struct osr_sched_app *app;
	struct osr_sched_slot *slot;
	struct osr_key_entry *entry; /* by terminal, then switch */
	uint32_t n;
	uint32_t *carried; /* [n_channels] */
	struct osr_diag *diag;
};

static int by_end_and_switch(const void *a, const void *b)
{
	const struct osr_key_entry *x = a, *y = b;

	if (x->term != y->term)
		return x->term < y->term ? -1 : 1;
	return x->sw < y->sw ? -1 : x->sw > y->sw;
}

/* Entries in today's numbers; those of switches and hosts that are gone are dropped. */
static void translate(struct revival *v)
{
	for (uint32_t i = 0; i < v->slot->n_entries; i++) {
		const struct osr_sched_entry *e = &v->slot->entry[i];
		uint32_t sw = osr_fabric_switch_by_guid(&v->s->f, e->sw);
		uint32_t term = osr_sched_terminal(v->s, e->host);

		if (sw != OSR_NONE && term != OSR_NONE)
			v->entry[v->n++] = (struct osr_key_entry){ sw, term, e->port };
	}
	qsort(v->entry, v->n, sizeof(*v->entry), by_end_and_switch);
}

/* The channel that the entries have for a destination, or OSR_NONE. */
static uint32_t next_channel(const struct revival *v, uint32_t sw, uint32_t term)
{
	const struct osr_key_entry wanted = { sw, term, 0 };
	const struct osr_key_entry *e =
		bsearch(&wanted, v->entry, v->n, sizeof(*v->entry), by_end_and_switch);

	return e ? osr_port_channel(&v->s->f, sw, e->port) : OSR_NONE;
}

static bool leads(struct revival *v, uint32_t from, uint32_t to)
{
	const struct osr_fabric *f = &v->s->f;
	uint32_t at = f->term_switch[from], hops = 0;

	while (at != f->term_switch[to]) {
		uint32_t c = next_channel(v, at, to);

		if (c == OSR_NONE || hops++ == MAX_HOPS)
			return false;
		v->carried[c]++;
		at = f->chan_dst[c];
	}
	return true;
}

static bool is_host(const struct osr_sched *s, uint32_t term)
{
	return s->p.term_index[term] != OSR_NONE;
}

/* Do the entries lead every pair from end to end, all but those a key leaves out anyway? */
static bool all_lead(struct revival *v)
{
	const struct osr_sched_key *k = &v->app->key[v->slot->key];

	for (uint32_t i = 0; i < k->n_pairs; i++) {
		uint32_t from = v->app->term[k->pair[i].from], to = v->app->term[k->pair[i].to];

		if (from != OSR_NONE && to != OSR_NONE && from != to && is_host(v->s, from) &&
		    is_host(v->s, to) && !leads(v, from, to))
			return false;
	}
	return true;
}

static enum osr_status keep(struct revival *v)
{
	struct osr_key_routes r = { .n_entries = v->n };
	struct osr_sched_slot *slot = v->slot;
	uint32_t n = 0;

	for (uint32_t c = 0; c < v->s->f.n_channels; c++)
		n += v->carried[c] > 0;
	r.entry = osr_alloc(&slot->arena, v->n, sizeof(*r.entry));
	r.link = osr_alloc(&slot->arena, n, sizeof(*r.link));
	r.flows = osr_alloc(&slot->arena, n, sizeof(*r.flows));
	if (!r.entry || !r.link || !r.flows)
		return nomem(v->diag);
	memcpy(r.entry, v->entry, v->n * sizeof(*r.entry));
	for (uint32_t c = 0; c < v->s->f.n_channels; c++) {
		if (!v->carried[c])
			continue;
		r.link[r.n_links] = c;
		r.flows[r.n_links++] = v->carried[c];
		if (v->carried[c] > r.contention)
			r.contention = v->carried[c];
	}
	slot->routes = r;
	return OSR_OK;
}

/* true: the routes of the slot lead today as they did; `routes` has today's numbers. */
static enum osr_status revive(struct osr_sched *s, struct osr_sched_app *app,
			      struct osr_sched_slot *slot, bool *lead, struct osr_diag *diag)
{
	struct osr_arena_mark mark = osr_arena_mark(&s->scratch);
	struct revival v = { .s = s, .app = app, .slot = slot, .diag = diag };
	enum osr_status st = OSR_OK;

	v.entry = osr_alloc(&s->scratch, slot->n_entries, sizeof(*v.entry));
	v.carried = osr_calloc(&s->scratch, s->f.n_channels, sizeof(*v.carried));
	if (!v.entry || !v.carried)
		st = nomem(diag);
	if (!st) {
		translate(&v);
		*lead = all_lead(&v);
		if (*lead)
			st = keep(&v);
	}
	osr_arena_reset(&s->scratch, mark);
	return st;
}

/* A LID offset that today's LMC does not have. */
static bool lacks_lids(const struct osr_sched *s, const struct osr_sched_app *app,
		       const struct osr_sched_slot *slot)
{
	for (uint32_t i = 0; i < app->n_ranks; i++)
		if (app->term[i] != OSR_NONE && slot->offset >= 1u << s->f.term_lmc[app->term[i]])
			return true;
	return false;
}

static void make_anew(struct osr_sched *s, struct osr_sched_app *app, struct osr_sched_slot *slot)
{
	struct osr_diag diag = { "" };
	uint32_t key = slot->key;

	osr__sched_clear(s, slot);
	if (osr__sched_put(s, app, key, &diag)) {
		osr__sched_withdraw(s, app, key, diag.text);
		return;
	}
	osr__sched_load(s, slot, true);
	osr__sched_notice(app,
			  "key %u has new routes after a change of the fabric, contention %u (at "
			  "best %u)",
			  key, app->key[key].contention, app->key[key].bound);
}

/* Why a key cannot stay, or NULL. */
static const char *hindrance(const struct osr_sched *s, const struct osr_sched_app *app,
			     const struct osr_sched_slot *slot)
{
	if (!s->is_tree)
		return s->no_tree.text;
	return lacks_lids(s, app, slot) ? "its hosts have fewer LIDs than before" : NULL;
}

/*
 * One slot with routes on a new fabric: do they lead? Those of a key that is in use are counted in;
 * those of a key that is not, and do not lead any more, are forgotten.
 */
static enum osr_status look_again(struct osr_sched *s, struct osr_sched_app *app,
				  struct osr_sched_slot *slot, bool *lead, struct osr_diag *diag)
{
	bool used = osr__in_use(&app->key[slot->key]);
	enum osr_status st = OSR_OK;

	*lead = false;
	slot->routes = (struct osr_key_routes){ 0 }; /* of the old numbers */
	if (!hindrance(s, app, slot))
		st = revive(s, app, slot, lead, diag);
	if (st)
		return st;
	if (*lead && used)
		osr__sched_load(s, slot, true);
	else if (!*lead && !used)
		osr__sched_clear(s, slot);
	return OSR_OK;
}

/* Those that lead first, so that the others find their way in view of them. */
static enum osr_status look_at_all(struct osr_sched *s, struct osr_diag *diag)
{
	enum osr_status st = OSR_OK;

	for (uint32_t i = 0; i < s->n_apps && !st; i++)
		osr__sched_resolve(s, s->app[i]);
	for (int anew = 0; anew < 2; anew++)
		for (uint32_t i = 0; i < s->n_apps; i++)
			for (uint32_t k = 0; k < s->app[i]->n_slots && !st; k++) {
				struct osr_sched_app *app = s->app[i];
				struct osr_sched_slot *slot = &app->slot[k];

				if (slot->key == OSR_NONE)
					continue;
				if (!anew)
					st = look_again(s, app, slot, &slot->leads, diag);
				else if (!slot->leads && hindrance(s, app, slot))
					osr__sched_withdraw(s, app, slot->key,
							    hindrance(s, app, slot));
				else if (!slot->leads)
					make_anew(s, app, slot);
			}
	return st;
}

/* The new fabric ------------------------------------------------------------------------------- */

static int by_guid(const void *a, const void *b)
{
	const struct osr__port *x = a, *y = b;

	if (x->guid != y->guid)
		return x->guid < y->guid ? -1 : 1;
	return x->term < y->term ? -1 : x->term > y->term;
}

static enum osr_status take_fabric(struct osr_sched *s, const struct osr_fabric *f,
				   struct osr_diag *diag)
{
	struct osr_pgft_options opt = { .max_missing = MAX_MISSING };
	enum osr_status st = osr_fabric_copy(f, &s->arena, &s->f, diag);

	if (st)
		return st;
	s->port = osr_alloc(&s->arena, s->f.n_terminals, sizeof(*s->port));
	s->load = osr_calloc(&s->arena, s->f.n_channels, sizeof(*s->load));
	if (!s->port || !s->load)
		return nomem(diag);
	for (uint32_t t = 0; t < s->f.n_terminals; t++)
		s->port[t] = (struct osr__port){ s->f.term_guid[t], t };
	qsort(s->port, s->f.n_terminals, sizeof(*s->port), by_guid);
	st = osr_pgft_find(&s->f, &opt, &s->arena, &s->p, &s->no_tree);
	if (st == OSR_NOMEM)
		return nomem(diag);
	s->is_tree = !st;
	s->has_fabric = true;
	s->stamp++;
	return OSR_OK;
}

enum osr_status osr_sched_fabric(struct osr_sched *s, const struct osr_fabric *f,
				 struct osr_diag *diag)
{
	enum osr_status st;

	if (s->has_fabric && osr_fabric_equal(&s->f, f))
		return OSR_OK;
	osr_arena_free(&s->arena);
	s->has_fabric = s->is_tree = false;
	st = take_fabric(s, f, diag);
	if (!st)
		st = look_at_all(s, diag);
	if (!st)
		return OSR_OK;
	s->has_fabric = s->is_tree = false;
	for (uint32_t i = 0; i < s->n_apps; i++)
		for (uint32_t k = 0; k < s->app[i]->n_slots; k++)
			s->app[i]->slot[k].routes = (struct osr_key_routes){ 0 };
	return st;
}

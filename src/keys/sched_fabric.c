/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Keys and the fabric. Routes are made for the present one by the thread that has the time for it. When
 * the fabric changes, entries over cables and ends that are as they were stay, which is seen entry by
 * entry; all others leave the tables and are looked at, or made again, by osr_sched_work(). Entries are
 * kept by GUIDs, so they outlive the numbers of a fabric; after a restart, whether they lead from
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
	*list = osr_alloc(&s->work, key->n_pairs, sizeof(**list));
	if (!*list)
		return nomem(diag);
	for (uint32_t i = 0; i < key->n_pairs; i++) {
		uint32_t from = app->term[key->pair[i].from], to = app->term[key->pair[i].to];

		if (from != OSR_NONE && to != OSR_NONE && from != to)
			(*list)[(*n)++] = (struct osr_pair){ from, to };
	}
	return OSR_OK;
}

void osr__view_open(struct osr_sched *s, struct osr__view *v)
{
	v->f = s->f;
	v->p = s->p;
	v->p.f = &v->f;
	v->stamp = s->viewed = s->stamp;
	osr_sched_leave(s);
}

bool osr__view_close(struct osr_sched *s, const struct osr__view *v)
{
	osr_sched_take(s);
	s->viewed = 0;
	osr_arena_free(&s->held);
	return s->stamp == v->stamp;
}

static enum osr_status overtaken(const struct osr_sched *s, struct osr_diag *diag)
{
	return osr_fail(diag, OSR_NOT_APPLICABLE,
			osr__sched_stops(s) ? "the subnet manager ends"
					    : "the fabric has changed while the routes were made");
}

static enum osr_status make_key(struct osr_sched *s, const struct osr_sched_app *app,
				struct osr_sched_key *k, struct osr_diag *diag)
{
	struct osr_pair *pair;
	struct osr__view view;
	enum osr_status st;
	uint32_t n;

	if (osr__sched_stops(s))
		return overtaken(s, diag);
	st = list_pairs(s, app, k, &pair, &n, diag);
	if (st)
		return st;
	osr__view_open(s, &view);
	st = osr_key_make(&view.p, pair, n, &s->work, &k->arena, &k->key, diag);
	return osr__view_close(s, &view) ? st : overtaken(s, diag);
}

enum osr_status osr__sched_make(struct osr_sched *s, struct osr_sched_app *app, uint32_t key,
				struct osr_diag *diag)
{
	struct osr_arena_mark mark = osr_arena_mark(&s->work);
	struct osr_sched_key *k = &app->key[key];
	enum osr_status st;

	if (k->stamp == s->stamp)
		return OSR_OK;
	osr_arena_free(&k->arena);
	k->stamp = 0;
	st = make_key(s, app, k, diag);
	osr_arena_reset(&s->work, mark);
	if (st) {
		osr_arena_free(&k->arena);
		return st;
	}
	k->stamp = s->stamp;
	k->key.spread = ((uint64_t)app->id << 16) + key;
	k->bound = k->key.bound;
	k->host_degree = k->key.host_degree;
	k->n_classes = k->key.n_classes;
	k->n_left_out = k->key.n_left_out;
	return OSR_OK;
}

static int by_end_and_switch(const void *a, const void *b)
{
	const struct osr_key_entry *x = a, *y = b;

	if (x->term != y->term)
		return x->term < y->term ? -1 : 1;
	return x->sw < y->sw ? -1 : x->sw > y->sw;
}

/* The routes as entries by GUIDs, in the same arena. */
static enum osr_status name_entries(const struct osr_fabric *f, struct osr_sched_slot *slot,
				    struct osr_diag *diag)
{
	const struct osr_key_routes *r = &slot->routes;

	slot->entry = osr_alloc(&slot->arena, r->n_entries, sizeof(*slot->entry));
	if (!slot->entry)
		return nomem(diag);
	for (uint32_t i = 0; i < r->n_entries; i++)
		slot->entry[i] = (struct osr_sched_entry){ f->sw_guid[r->entry[i].sw],
							   f->term_guid[r->entry[i].term],
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

/* Routes in view of the load as it is now, in next->routes, without the lock. */
static enum osr_status place_key(struct osr_sched *s, const struct osr_key *key,
				 struct osr_sched_slot *next, struct osr_diag *diag)
{
	struct osr_arena_mark mark = osr_arena_mark(&s->work);
	uint32_t *load = osr_alloc(&s->work, s->f.n_channels, sizeof(*load));
	struct osr__view view;
	enum osr_status st;

	if (!load)
		return nomem(diag);
	memcpy(load, s->load, s->f.n_channels * sizeof(*load));
	osr__view_open(s, &view);
	st = osr_key_place(&view.p, key, load, s->limits.choice, NULL, &s->work, &next->arena,
			   &next->routes, diag);
	if (!st) {
		qsort(next->routes.entry, next->routes.n_entries, sizeof(*next->routes.entry),
		      by_end_and_switch);
		st = name_entries(&view.f, next, diag);
	}
	if (!osr__view_close(s, &view))
		st = overtaken(s, diag);
	osr_arena_reset(&s->work, mark);
	return st;
}

enum osr_status osr__sched_put(struct osr_sched *s, struct osr_sched_app *app, uint32_t key,
			       struct osr_diag *diag)
{
	struct osr_sched_key *k = &app->key[key];
	struct osr_sched_slot *slot = &app->slot[k->slot], next = { .offset = slot->offset };
	enum osr_status st = osr__sched_make(s, app, key, diag);

	if (!st)
		st = place_key(s, &k->key, &next, diag);
	if (st || (slot->key == key && !slot->todo &&
		   max_load(s, &slot->routes) <= next.routes.max_load)) {
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

/* What is followed without the lock: all of it copied, but for the pairs, which never change. */
struct revival {
	const struct osr_fabric *f;
	const struct osr_pgft *p;
	const struct osr_sched_key *key;
	uint32_t *term; /* [n_ranks] */
	bool *is_rank;  /* [n_terminals] */
	struct osr_sched_entry *by_guid;
	uint32_t n_by_guid;
	const struct osr__port *port;
	struct osr_key_entry *entry; /* by terminal, then switch */
	uint32_t n;
	uint32_t *carried; /* [n_channels] */
};

static uint32_t terminal_of(const struct revival *v, uint64_t guid)
{
	uint32_t lo = 0, hi = v->f->n_terminals;

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (v->port[mid].guid < guid)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < v->f->n_terminals && v->port[lo].guid == guid ? v->port[lo].term : OSR_NONE;
}

/*
 * Entries in the numbers of the fabric. Those of switches and hosts that are gone are dropped, and those
 * of end ports that are no ranks: a stored book may say anything.
 */
static void translate(struct revival *v)
{
	for (uint32_t i = 0; i < v->n_by_guid; i++) {
		const struct osr_sched_entry *e = &v->by_guid[i];
		uint32_t sw = osr_fabric_switch_by_guid(v->f, e->sw);
		uint32_t term = terminal_of(v, e->host);

		if (sw != OSR_NONE && term != OSR_NONE && v->is_rank[term])
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

	return e ? osr_port_channel(v->f, sw, e->port) : OSR_NONE;
}

static bool leads(struct revival *v, uint32_t from, uint32_t to)
{
	const struct osr_fabric *f = v->f;
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

/* Do the entries lead every pair from end to end, all but those a key leaves out anyway? */
static bool all_lead(struct revival *v)
{
	for (uint32_t i = 0; i < v->key->n_pairs; i++) {
		uint32_t from = v->term[v->key->pair[i].from], to = v->term[v->key->pair[i].to];

		if (from != OSR_NONE && to != OSR_NONE && from != to &&
		    v->p->term_index[from] != OSR_NONE && v->p->term_index[to] != OSR_NONE &&
		    !leads(v, from, to))
			return false;
	}
	return true;
}

static enum osr_status routes_of(const struct revival *v, struct osr_arena *arena,
				 struct osr_key_routes *r)
{
	uint32_t n = 0;

	for (uint32_t c = 0; c < v->f->n_channels; c++)
		n += v->carried[c] > 0;
	*r = (struct osr_key_routes){ .n_entries = v->n };
	r->entry = osr_alloc(arena, v->n, sizeof(*r->entry));
	r->link = osr_alloc(arena, n, sizeof(*r->link));
	r->flows = osr_alloc(arena, n, sizeof(*r->flows));
	if (!r->entry || !r->link || !r->flows)
		return OSR_NOMEM;
	memcpy(r->entry, v->entry, v->n * sizeof(*r->entry));
	for (uint32_t c = 0; c < v->f->n_channels; c++) {
		if (!v->carried[c])
			continue;
		r->link[r->n_links] = c;
		r->flows[r->n_links++] = v->carried[c];
		if (v->carried[c] > r->contention)
			r->contention = v->carried[c];
	}
	return OSR_OK;
}

static enum osr_status begin_revival(struct osr_sched *s, const struct osr_sched_app *app,
				     const struct osr_sched_slot *slot, struct revival *v)
{
	*v = (struct revival){ .key = &app->key[slot->key], .port = s->port };
	v->n_by_guid = slot->n_entries;
	v->term = osr_alloc(&s->work, app->n_ranks, sizeof(*v->term));
	v->is_rank = osr_calloc(&s->work, s->f.n_terminals, sizeof(*v->is_rank));
	v->by_guid = osr_alloc(&s->work, slot->n_entries, sizeof(*v->by_guid));
	v->entry = osr_alloc(&s->work, slot->n_entries, sizeof(*v->entry));
	v->carried = osr_calloc(&s->work, s->f.n_channels, sizeof(*v->carried));
	if (!v->term || !v->is_rank || !v->by_guid || !v->entry || !v->carried)
		return OSR_NOMEM;
	memcpy(v->term, app->term, app->n_ranks * sizeof(*v->term));
	memcpy(v->by_guid, slot->entry, slot->n_entries * sizeof(*v->by_guid));
	for (uint32_t i = 0; i < app->n_ranks; i++)
		if (v->term[i] != OSR_NONE)
			v->is_rank[v->term[i]] = true;
	return OSR_OK;
}

/* The stored entries lead: they are in the tables again, or, where they were, stay. */
static void put_back(struct osr_sched *s, struct osr_sched_app *app, struct osr_sched_slot *slot,
		     struct osr_sched_slot *next)
{
	bool used = osr__in_use(&app->key[slot->key]);

	if (used)
		osr__sched_load(s, slot, false);
	next->offset = slot->offset;
	next->key = slot->key;
	next->written = slot->written && slot->routes.n_entries == next->routes.n_entries;
	next->change = next->written ? slot->change : ++s->change;
	osr_arena_free(&slot->arena);
	*slot = *next;
	if (used)
		osr__sched_load(s, slot, true);
}

/* Its routes leave the tables; an unused key's are forgotten. */
static void suspend(struct osr_sched *s, struct osr_sched_app *app, struct osr_sched_slot *slot,
		    enum osr_sched_todo todo)
{
	if (!osr__in_use(&app->key[slot->key])) {
		osr__sched_clear(s, slot);
		return;
	}
	slot->routes = (struct osr_key_routes){ 0 };
	slot->change = ++s->change;
	slot->written = false;
	slot->todo = todo;
	app->key[slot->key].state = OSR_KEY_WAITING;
}

/* The same slot with the same stored entries as when the lock was left? */
static bool still(const struct osr_sched_slot *slot, uint32_t key, const struct osr_sched_entry *e)
{
	return slot->todo == OSR_SCHED_LOOK && slot->key == key && slot->entry == e;
}

static enum osr_status look_at(struct osr_sched *s, struct osr_sched_app *app,
			       struct osr_sched_slot *slot)
{
	struct osr_sched_slot next = { .entry = NULL };
	const struct osr_sched_entry *stored = slot->entry;
	struct osr__view view;
	struct revival v;
	enum osr_status st = begin_revival(s, app, slot, &v);
	uint32_t key = slot->key;
	bool lead;

	if (st)
		return st;
	osr__view_open(s, &view);
	v.f = &view.f;
	v.p = &view.p;
	translate(&v);
	lead = all_lead(&v);
	if (lead)
		st = routes_of(&v, &next.arena, &next.routes);
	if (lead && !st)
		st = name_entries(&view.f, &next, NULL);
	if (osr__view_close(s, &view) && !st && still(slot, key, stored)) {
		if (lead)
			put_back(s, app, slot, &next);
		else
			suspend(s, app, slot, OSR_SCHED_MAKE);
		return OSR_OK;
	}
	osr_arena_free(&next.arena);
	return st;
}

bool osr__sched_lacks_lids(const struct osr_sched *s, const struct osr_sched_app *app,
			   const struct osr_sched_slot *slot)
{
	for (uint32_t i = 0; i < app->n_ranks; i++)
		if (app->term[i] != OSR_NONE && slot->offset >= 1u << s->f.term_lmc[app->term[i]])
			return true;
	return false;
}

static void make_again(struct osr_sched *s, struct osr_sched_app *app, struct osr_sched_slot *slot)
{
	struct osr_diag diag = { "" };
	uint32_t key = slot->key;
	uint64_t stamp = s->stamp;
	enum osr_status st = osr__sched_put(s, app, key, &diag);

	if (st && (s->stamp != stamp || osr__sched_stops(s)))
		return;
	/* Without the lock the subnet manager may have withdrawn it. */
	if (slot->key != key || !osr__in_use(&app->key[key])) {
		osr__sched_clear(s, slot);
		return;
	}
	if (st) {
		slot->todo = OSR_SCHED_NOTHING;
		osr__sched_withdraw(s, app, key, diag.text);
		return;
	}
	app->key[key].state = OSR_KEY_WAITING;
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
	return osr__sched_lacks_lids(s, app, slot) ? "its hosts have fewer LIDs than before" : NULL;
}

static void work_on(struct osr_sched *s, struct osr_sched_app *app, struct osr_sched_slot *slot)
{
	struct osr_arena_mark mark = osr_arena_mark(&s->work);
	const char *why = hindrance(s, app, slot);

	if (why)
		osr__sched_withdraw(s, app, slot->key, why);
	else if (slot->todo == OSR_SCHED_MAKE)
		make_again(s, app, slot);
	else if (look_at(s, app, slot) == OSR_NOMEM)
		osr__sched_withdraw(s, app, slot->key, "out of memory");
	osr_arena_reset(&s->work, mark);
}

/* Those that lead first, so that the others find their way in view of them. */
bool osr_sched_work(struct osr_sched *s)
{
	for (int todo = OSR_SCHED_LOOK; s->has_fabric && todo <= OSR_SCHED_MAKE; todo++)
		for (uint32_t i = 0; i < s->n_apps; i++)
			for (uint32_t k = 0; k < s->app[i]->n_slots; k++)
				if ((int)s->app[i]->slot[k].todo == todo && !osr__sched_stops(s)) {
					work_on(s, s->app[i], &s->app[i]->slot[k]);
					return true;
				}
	return false;
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
	return OSR_OK;
}

/* From the numbers of the fabric before to those of the present one. */
struct carrying {
	const struct osr_fabric *from, *to;
	uint32_t *sw, *term; /* OSR_NONE: gone */
};

static enum osr_status begin_carrying(struct osr_sched *s, struct carrying *x)
{
	x->sw = osr_alloc(&s->scratch, x->from->n_switches, sizeof(*x->sw));
	x->term = osr_alloc(&s->scratch, x->from->n_terminals, sizeof(*x->term));
	if (!x->sw || !x->term)
		return OSR_NOMEM;
	for (uint32_t i = 0; i < x->from->n_switches; i++)
		x->sw[i] = osr_fabric_switch_by_guid(x->to, x->from->sw_guid[i]);
	for (uint32_t i = 0; i < x->from->n_terminals; i++)
		x->term[i] = osr_sched_terminal(s, x->from->term_guid[i]);
	return OSR_OK;
}

/* The channel that takes this one's place: the same port of the same switch, to the same one. */
static uint32_t carry_channel(const struct carrying *x, uint32_t c)
{
	uint32_t s = x->sw[x->from->chan_src[c]], d = x->sw[x->from->chan_dst[c]], next;

	next = s == OSR_NONE ? OSR_NONE : osr_port_channel(x->to, s, x->from->chan_port[c]);
	return next != OSR_NONE && x->to->chan_dst[next] == d ? next : OSR_NONE;
}

static bool carry_entries(const struct carrying *x, struct osr_key_routes *r)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < r->n_entries; i++) {
		struct osr_key_entry e = r->entry[i];
		uint32_t c = osr_port_channel(x->from, e.sw, e.port);

		if (x->term[e.term] == OSR_NONE)
			continue; /* nobody sends there */
		if (c == OSR_NONE || carry_channel(x, c) == OSR_NONE)
			return false;
		r->entry[n++] = (struct osr_key_entry){ x->sw[e.sw], x->term[e.term], e.port };
	}
	r->n_entries = n;
	return true;
}

/* What a cable that is gone had is that of hosts that are gone, too: the entries have been looked at. */
static void carry_links(const struct carrying *x, struct osr_key_routes *r)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < r->n_links; i++) {
		uint32_t c = carry_channel(x, r->link[i]);

		if (c == OSR_NONE)
			continue;
		r->link[n] = c;
		r->flows[n++] = r->flows[i];
	}
	r->n_links = n;
}

/* Are the ranks where they were? *back: one that was gone is there again. */
static bool ranks_stay(const struct carrying *x, const uint32_t *before, const uint32_t *now,
		       uint32_t n, bool *back)
{
	for (uint32_t i = 0; i < n; i++) {
		*back |= before[i] == OSR_NONE && now[i] != OSR_NONE;
		if (before[i] != OSR_NONE && now[i] != OSR_NONE &&
		    x->sw[x->from->term_switch[before[i]]] != x->to->term_switch[now[i]])
			return false;
	}
	return true;
}

static void carry_slot(struct osr_sched *s, const struct carrying *x, struct osr_sched_app *app,
		       struct osr_sched_slot *slot, bool stay, bool back)
{
	if (slot->key == OSR_NONE)
		return;
	if (stay && s->is_tree && !osr__sched_lacks_lids(s, app, slot) && !slot->todo &&
	    carry_entries(x, &slot->routes)) {
		carry_links(x, &slot->routes);
		if (osr__in_use(&app->key[slot->key]))
			osr__sched_load(s, slot, true);
		slot->todo = back ? OSR_SCHED_LOOK : OSR_SCHED_NOTHING;
	} else {
		suspend(s, app, slot, OSR_SCHED_LOOK);
	}
}

static enum osr_status carry_all(struct osr_sched *s, const struct osr_fabric *before)
{
	struct osr_arena_mark mark = osr_arena_mark(&s->scratch);
	struct carrying x = { .from = before, .to = &s->f };
	enum osr_status st = begin_carrying(s, &x);

	for (uint32_t i = 0; i < s->n_apps && !st; i++) {
		struct osr_sched_app *app = s->app[i];
		uint32_t *term = osr_alloc(&s->scratch, app->n_ranks, sizeof(*term));
		bool stay = false, back = false;

		if (term) {
			memcpy(term, app->term, app->n_ranks * sizeof(*term));
			osr__sched_resolve(s, app);
			stay = ranks_stay(&x, term, app->term, app->n_ranks, &back);
		}
		for (uint32_t k = 0; k < app->n_slots && term; k++)
			carry_slot(s, &x, app, &app->slot[k], stay, back);
		st = term ? OSR_OK : OSR_NOMEM;
	}
	osr_arena_reset(&s->scratch, mark);
	return st;
}

/* There was none before: all that is stored has to be looked at. */
static void suspend_all(struct osr_sched *s)
{
	for (uint32_t i = 0; i < s->n_apps; i++) {
		osr__sched_resolve(s, s->app[i]);
		for (uint32_t k = 0; k < s->app[i]->n_slots; k++)
			if (s->app[i]->slot[k].key != OSR_NONE)
				suspend(s, s->app[i], &s->app[i]->slot[k], OSR_SCHED_LOOK);
	}
}

static void forget_fabric(struct osr_sched *s)
{
	s->has_fabric = s->is_tree = false;
	for (uint32_t i = 0; i < s->n_apps; i++)
		for (uint32_t k = 0; k < s->app[i]->n_slots; k++)
			s->app[i]->slot[k].routes = (struct osr_key_routes){ 0 };
}

enum osr_status osr_sched_fabric(struct osr_sched *s, const struct osr_fabric *f,
				 struct osr_diag *diag)
{
	struct osr_arena before_arena = s->arena;
	struct osr_fabric before = s->f;
	uint64_t stamp = s->stamp;
	bool had = s->has_fabric;
	enum osr_status st;

	if (had && osr_fabric_equal(&before, f))
		return OSR_OK;
	s->arena = (struct osr_arena){ 0 };
	s->has_fabric = s->is_tree = false;
	s->stamp++;
	st = take_fabric(s, f, diag);
	if (!st && had)
		st = carry_all(s, &before) ? nomem(diag) : OSR_OK;
	else if (!st)
		suspend_all(s);
	if (st)
		forget_fabric(s);
	/* Somebody may look at it without the lock. */
	if (had && s->viewed == stamp)
		s->held = before_arena;
	else
		osr_arena_free(&before_arena);
	return st;
}

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The spanning order of multicast: what is left of it stays; a piece that has come off is tied on
 * again by the first cable, or chain of switches without end ports, whose turns close no cycle.
 */
#include "reroute_private.h"

#include <string.h>

struct forest {
	struct osr__reroute *w;
	uint32_t *order;  /* [n_switches] the order then; its cables may be dead */
	uint32_t *parent; /* [n_switches] channel, in x */
	uint32_t *piece;  /* [n_switches] the root of the piece it is in, OSR_NONE: in none */
	uint32_t *size;   /* [n_switches] of the piece with this root */
	uint32_t *from;   /* [n_switches] channel by which a search came, OSR_NONE: not seen */
	uint32_t *queue;  /* [n_switches] */
	uint16_t lane;
};

static bool reroute_mcast_add_turn(struct forest *t, uint32_t c1, uint32_t c2)
{
	return !t->lane || osr__deps_add(&t->w->deps, c1, c2, t->lane);
}

/* The order of the baseline, or of the last sweep. */
static void take_order(struct forest *t, bool baseline)
{
	const struct osr__reroute *w = t->w;

	for (uint32_t s = 0; s < w->x->n_switches; s++)
		t->order[s] = baseline ? w->base->mcast_parent[s] : osr__last_parent(w, s);
}

/* Is the cable of c, which leaves s, part of the order? */
static bool reroute_mcast_in_order(const struct osr_fabric *fabric, const uint32_t *parent,
				   uint32_t s, uint32_t c)
{
	return parent[s] == c || parent[fabric->chan_dst[c]] == fabric->chan_rev[c];
}

void osr__add_order(struct osr__reroute *w)
{
	const struct osr_fabric *fabric = w->x;
	const uint32_t *parent = w->base->mcast_parent;
	uint16_t lane = (uint16_t)(1u << (w->shared ? 0 : w->base->mcast_vl));

	if (!parent || !(w->base->claims & OSR_CLAIM_MULTICAST))
		return;
	for (uint32_t s = 0; s < fabric->n_switches; s++)
		for (uint32_t c = fabric->chan_row[s]; c < fabric->chan_row[s + 1]; c++) {
			if (!reroute_mcast_in_order(fabric, parent, s, c))
				continue;
			for (uint32_t o = fabric->chan_row[s]; o < fabric->chan_row[s + 1]; o++)
				if (o != c && reroute_mcast_in_order(fabric, parent, s, o))
					w->deps.dep[osr__deps_slot(&w->deps, fabric->chan_rev[c],
								   o)] |= lane;
		}
}

/* What is left of the order depends on, into the graph. False if that closes a cycle. */
static bool add_pieces(struct forest *t)
{
	struct osr__reroute *w = t->w;
	const struct osr_fabric *fabric = w->x;

	osr__deps_begin(&w->deps);
	for (uint32_t s = 0; t->lane && s < fabric->n_switches; s++)
		for (uint32_t c = fabric->chan_row[s]; c < fabric->chan_row[s + 1]; c++) {
			if (w->map.chan_f[c] == OSR_NONE ||
			    !reroute_mcast_in_order(fabric, t->parent, s, c))
				continue;
			for (uint32_t o = fabric->chan_row[s]; o < fabric->chan_row[s + 1]; o++)
				if (o != c && w->map.chan_f[o] != OSR_NONE &&
				    reroute_mcast_in_order(fabric, t->parent, s, o) &&
				    !reroute_mcast_add_turn(t, fabric->chan_rev[c], o))
					return false;
		}
	return true;
}

/* Switches of today that were part of the order then: those with a parent, and the parents. */
static void reroute_mcast_find_pieces(struct forest *t)
{
	const struct osr__reroute *w = t->w;
	const struct osr_fabric *fabric = w->x;
	uint32_t n = fabric->n_switches;

	for (uint32_t s = 0; s < n; s++) {
		t->parent[s] = t->piece[s] = OSR_NONE;
		t->size[s] = 0;
	}
	for (uint32_t s = 0; s < n; s++) {
		uint32_t c = t->order[s];

		if (c == OSR_NONE)
			continue;
		if (w->map.sw_f[s] != OSR_NONE)
			t->piece[s] = s;
		if (w->map.sw_f[fabric->chan_dst[c]] != OSR_NONE)
			t->piece[fabric->chan_dst[c]] = fabric->chan_dst[c];
		if (w->map.chan_f[c] != OSR_NONE)
			t->parent[s] = c;
	}
	/* Back again, and the baseline knows it: a piece of its own. */
	for (uint32_t s = 0; w->same && s < n; s++)
		if (t->piece[s] == OSR_NONE && w->map.sw_f[s] != OSR_NONE && w->tab.sources[s])
			t->piece[s] = s;
	for (uint32_t s = 0; s < n; s++) {
		uint32_t root = s;

		if (t->piece[s] == OSR_NONE)
			continue;
		while (t->parent[root] != OSR_NONE)
			root = fabric->chan_dst[t->parent[root]];
		t->piece[s] = root;
		t->size[root]++;
	}
}

/* The largest piece of a component; the lowest root among equals. */
static uint32_t main_piece(const struct forest *t, uint32_t component)
{
	const struct osr__reroute *w = t->w;
	uint32_t best = OSR_NONE;

	for (uint32_t s = 0; s < w->x->n_switches; s++)
		if (t->size[s] && w->f->sw_component[w->map.sw_f[s]] == component &&
		    (best == OSR_NONE || t->size[s] > t->size[best]))
			best = s;
	return best;
}

/* Turns of multicast between the cables of the order at s, of which `fresh` (leaving s) is new. */
static bool reroute_mcast_add_turns(struct forest *t, uint32_t s, uint32_t fresh)
{
	const struct osr__reroute *w = t->w;
	const struct osr_fabric *fabric = w->x;

	for (uint32_t c = fabric->chan_row[s]; c < fabric->chan_row[s + 1]; c++) {
		uint32_t back = fabric->chan_rev[c];

		if (c == fresh || w->map.chan_f[c] == OSR_NONE ||
		    (t->parent[s] != c && t->parent[fabric->chan_dst[c]] != back))
			continue;
		if (!reroute_mcast_add_turn(t, back, fresh) ||
		    !reroute_mcast_add_turn(t, fabric->chan_rev[fresh], c))
			return false;
	}
	return true;
}

/* Makes s the root of its piece. */
static void turn_round(struct forest *t, uint32_t s)
{
	const struct osr_fabric *fabric = t->w->x;
	uint32_t up = t->parent[s];

	t->parent[s] = OSR_NONE;
	while (up != OSR_NONE) {
		uint32_t next = fabric->chan_dst[up], on = t->parent[next];

		t->parent[next] = fabric->chan_rev[up];
		up = on;
	}
}

static void rename_piece(struct forest *t, uint32_t from, uint32_t to)
{
	for (uint32_t s = 0; s < t->w->x->n_switches; s++)
		if (t->piece[s] == from)
			t->piece[s] = to;
	t->size[to] += t->size[from];
	t->size[from] = 0;
}

/*
 * The chain that a search found, from switch `end` of the main piece back to a switch of the other:
 * its switches get parents towards `end`. False, and the order is as before, if a turn would close
 * a cycle.
 */
static bool tie(struct forest *t, uint32_t end, uint32_t piece)
{
	struct osr__reroute *w = t->w;
	const struct osr_fabric *fabric = w->x;
	uint32_t s = end, main = t->piece[end];
	bool ok = true;

	osr__deps_begin(&w->deps);
	for (uint32_t v = end; ok && t->piece[v] != piece; v = fabric->chan_src[t->from[v]]) {
		uint32_t c = t->from[v], u = fabric->chan_src[c];

		ok = reroute_mcast_add_turns(t, v, fabric->chan_rev[c]) &&
		     reroute_mcast_add_turns(t, u, c);
		/* Between two cables of the chain: the next one is no part of the order yet. */
		if (ok && t->piece[u] != piece)
			ok = reroute_mcast_add_turn(t, t->from[u], c) &&
			     reroute_mcast_add_turn(t, fabric->chan_rev[c],
						    fabric->chan_rev[t->from[u]]);
	}
	if (!ok) {
		osr__deps_undo(&w->deps);
		return false;
	}
	while (t->piece[s] != piece)
		s = fabric->chan_src[t->from[s]];
	turn_round(t, s);
	for (uint32_t v = end; v != s; v = fabric->chan_src[t->from[v]]) {
		uint32_t u = fabric->chan_src[t->from[v]];

		t->parent[u] = t->from[v];
		if (t->piece[u] == OSR_NONE)
			t->piece[u] = main;
	}
	rename_piece(t, piece, main);
	return true;
}

/* Breadth first from a piece, through switches of no piece, until a chain can be tied. */
static bool reconnect(struct forest *t, uint32_t piece, uint32_t main)
{
	const struct osr__reroute *w = t->w;
	const struct osr_fabric *fabric = w->x;
	uint32_t head = 0, tail = 0;

	for (uint32_t s = 0; s < fabric->n_switches; s++) {
		t->from[s] = OSR_NONE;
		if (t->piece[s] == piece)
			t->queue[tail++] = s;
	}
	while (head < tail) {
		uint32_t u = t->queue[head++];

		for (uint32_t c = fabric->chan_row[u]; c < fabric->chan_row[u + 1]; c++) {
			uint32_t v = fabric->chan_dst[c];

			if (w->map.chan_f[c] == OSR_NONE || t->piece[v] == piece)
				continue;
			if (t->piece[v] == main) {
				t->from[v] = c;
				if (tie(t, v, piece))
					return true;
				t->from[v] = OSR_NONE;
			} else if (t->piece[v] == OSR_NONE && t->from[v] == OSR_NONE) {
				t->from[v] = c;
				t->queue[tail++] = v;
			}
		}
	}
	return false;
}

/* Does anybody hang on this piece? */
static bool has_members(const struct forest *t, uint32_t piece)
{
	const struct osr__reroute *w = t->w;

	for (uint32_t s = 0; s < w->x->n_switches; s++)
		if (t->piece[s] == piece && w->tab.sources[s])
			return true;
	return false;
}

static void drop(struct forest *t, uint32_t piece)
{
	for (uint32_t s = 0; s < t->w->x->n_switches; s++)
		if (t->piece[s] == piece)
			t->parent[s] = t->piece[s] = OSR_NONE;
	t->size[piece] = 0;
}

/* One piece per component. */
static bool join_all(struct forest *t)
{
	const struct osr__reroute *w = t->w;

	for (uint32_t k = 0; k < w->f->n_components; k++) {
		uint32_t main = main_piece(t, k);

		for (uint32_t s = 0; s < w->x->n_switches; s++) {
			if (s == main || !t->size[s] || w->f->sw_component[w->map.sw_f[s]] != k)
				continue;
			if (!has_members(t, s))
				drop(t, s);
			else if (!reconnect(t, s, main))
				return false;
		}
	}
	return true;
}

/* A switch that was away from the order and has end ports today, or is new: nothing covers it. */
static bool all_covered(const struct forest *t)
{
	const struct osr__reroute *w = t->w;
	uint32_t *hosts = t->queue; /* switches with end ports, by component */

	memset(hosts, 0, w->f->n_components * sizeof(*hosts));
	for (uint32_t s = 0; s < w->x->n_switches; s++)
		if (w->map.sw_f[s] != OSR_NONE && w->tab.sources[s])
			hosts[w->f->sw_component[w->map.sw_f[s]]]++;
	for (uint32_t s = 0; s < w->x->n_switches; s++)
		if (w->map.sw_f[s] != OSR_NONE && w->tab.sources[s] && t->piece[s] == OSR_NONE &&
		    hosts[w->f->sw_component[w->map.sw_f[s]]] > 1)
			return false;
	return true;
}

static bool tie_order(struct forest *t, bool baseline)
{
	take_order(t, baseline);
	reroute_mcast_find_pieces(t);
	return add_pieces(t) && join_all(t) && all_covered(t);
}

/*
 * The order of the last sweep, with unicast as it is. Else that of the baseline, which agrees with the baseline's
 * unicast, all of which is in the graph. Else with any cables, and unicast gives way.
 */
static bool tie_all(struct forest *t)
{
	struct osr__reroute *w = t->w;
	size_t n_slots = t->lane ? w->deps.row[w->x->n_channels] : 0;
	bool other = w->same && w->map.sw_last && w->last->routing.mcast_parent;
	uint16_t *before = NULL;

	if (other && t->lane) {
		before = osr_alloc(w->scratch, n_slots, sizeof(*before));
		if (!before)
			return false;
		memcpy(before, w->deps.dep, n_slots * sizeof(*before));
	}
	if (tie_order(t, w->same && !other))
		return true;
	if (before) {
		memcpy(w->deps.dep, before, n_slots * sizeof(*before));
		memset(w->deps.never, 0, n_slots * sizeof(*w->deps.never));
	}
	if (other && tie_order(t, true))
		return true;
	if (!t->lane || w->shared || !w->tab.sl)
		return false;
	t->lane = 0;
	return join_all(t) && all_covered(t) && osr__make_room(w, t->parent, w->base->mcast_vl);
}

static bool alloc_forest(struct forest *t)
{
	struct osr__reroute *w = t->w;
	size_t n = w->x->n_switches;

	t->order = osr_alloc(w->scratch, n, sizeof(*t->order));
	t->parent = osr_alloc(w->scratch, n, sizeof(*t->parent));
	t->piece = osr_alloc(w->scratch, n, sizeof(*t->piece));
	t->size = osr_alloc(w->scratch, n, sizeof(*t->size));
	t->from = osr_alloc(w->scratch, n, sizeof(*t->from));
	t->queue = osr_alloc(w->scratch, n + w->f->n_components, sizeof(*t->queue));
	return t->order && t->parent && t->piece && t->size && t->from && t->queue;
}

static uint32_t *keep_order(struct osr__reroute *w, struct osr_arena *arena)
{
	struct forest t = { .w = w };

	if (!alloc_forest(&t))
		return NULL;
	take_order(&t, false);
	reroute_mcast_find_pieces(&t);
	if (!join_all(&t) || !all_covered(&t))
		return NULL;
	t.from = osr_alloc(arena, w->x->n_switches, sizeof(*t.from));
	return t.from ? memcpy(t.from, t.parent, w->x->n_switches * sizeof(*t.from)) : NULL;
}

uint32_t *osr_reroute_keep_order(const struct osr_fabric *fabric, const struct osr_routing *routing,
				 const struct osr_result *previous, struct osr_arena *scratch,
				 struct osr_arena *result)
{
	const struct osr_result now = { .fabric = *fabric, .routing = *routing };
	struct osr_arena_mark mark = osr_arena_mark(scratch);
	struct osr__reroute w = {
		.f = fabric, .baseline = &now, .last = previous, .scratch = scratch
	};
	uint32_t *order = NULL;

	w.tab.sources = osr_alloc(scratch, fabric->n_switches, sizeof(*w.tab.sources));
	if (w.tab.sources && !osr__map(&w, NULL)) {
		memcpy(w.tab.sources, fabric->sw_sources,
		       fabric->n_switches * sizeof(*w.tab.sources));
		order = keep_order(&w, result);
	}
	osr_arena_reset(scratch, mark);
	return order;
}

enum osr_status osr__repair_mcast(struct osr__reroute *w, struct osr_arena *result,
				  struct osr_routing *routing, struct osr_diag *diag)
{
	const struct osr_fabric *fabric = w->f;
	struct osr_arena_mark mark = osr_arena_mark(w->scratch);
	struct forest t = { .w = w };
	enum osr_status st = OSR_OK;

	routing->mcast_vl = w->base->mcast_vl;
	if (!w->base->mcast_parent) {
		routing->claims &= ~(uint32_t)OSR_CLAIM_MULTICAST;
		return OSR_OK;
	}
	t.lane = routing->claims & OSR_CLAIM_MULTICAST
			 ? (uint16_t)(1u << (w->shared ? 0 : w->base->mcast_vl))
			 : 0;
	routing->mcast_parent =
		osr_alloc(result, fabric->n_switches, sizeof(*routing->mcast_parent));
	if (!alloc_forest(&t) || !routing->mcast_parent) {
		st = osr_fail(diag, OSR_NOMEM, "out of memory for the spanning order of multicast");
		goto out;
	}
	if (!tie_all(&t)) {
		st = osr_fail(diag, OSR_NOT_APPLICABLE,
			      "the spanning order of multicast no longer reaches every switch");
		goto out;
	}
	for (uint32_t s = 0; s < fabric->n_switches; s++) {
		uint32_t c = t.parent[w->map.sw_x[s]];

		routing->mcast_parent[s] = c == OSR_NONE ? OSR_NONE : w->map.chan_f[c];
	}
out:
	osr_arena_reset(w->scratch, mark);
	return st;
}

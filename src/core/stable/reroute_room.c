/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * After a full route on several lanes: SLs dealt out anew, so that repairs find room.
 *
 * A switch whose entry is dead takes everybody along who sends through it, each on his own lane, and
 * the new way must close no cycle on any of them. Layers put the routes to one LID on as many lanes
 * as there are layers, and fill the first ones. Here a LID has one lane, as far as its routes close
 * no cycle there; the LIDs of one switch, whose trees are much alike, have the same. So a repair
 * meets one lane instead of four, and each lane holds the dependencies of few trees.
 *
 *	choose_lanes()	a lane for every switch: the one that gets the fewest dependencies more
 *	fill_lane()	which dependencies it can hold, those of many routes first
 *	put_trees()	the routes that these allow
 *	put_misfits()	the others, on any lane
 *
 * Misfits for which no lane has room are put first in another try. The routes stay as they are; if
 * there always are such misfits, so do the SLs.
 */
#include "reroute_private.h"

#include <string.h>

#define MAX_TRIES 5
#define MAX_PINS 4096

struct pin {
	uint32_t d, v;
	uint8_t sl;
};

struct room {
	struct osr__reroute *w;
	uint32_t n_slots;
	uint32_t *first;  /* [slots] the first channel of each dependency */
	uint32_t *weight; /* [n_lanes * slots] routes with this dependency */
	uint32_t *here;   /* [slots] the same of one switch's LIDs */
	uint32_t *list;   /* [slots] */
	uint32_t *flow;   /* [n_switches] routes through each switch */
	uint16_t *start;  /* [slots] dependencies that were there before */
	uint16_t *may;    /* [slots] dependencies that lanes can hold */
	uint8_t *lane;    /* [n_switches] of its LIDs */
	uint8_t *legal;   /* [n_switches] the route to one LID */
	struct pin *pin;  /* [MAX_PINS] put first */
	uint32_t n_pins;
	uint32_t n_dests[OSR_MAX_VLS];
};

/* ---- trees ----------------------------------------------------------------------------------- */

/*
 * The dependency at the end of the first channel of v, as a slot; OSR_NONE if that leads to the
 * root.
 */
static uint32_t turn(const struct osr__reroute *w, const uint8_t *row, uint32_t root, uint32_t v,
		     uint32_t *next)
{
	uint32_t c = osr_port_channel(w->x, v, row[v]);

	*next = w->x->chan_dst[c];
	if (*next == root)
		return OSR_NONE;
	return osr__deps_slot(&w->deps, c, osr_port_channel(w->x, *next, row[*next]));
}

/* Routes to d through each switch, itself included; w->u holds the n switches, the root first. */
static void count_flow(struct room *t, uint32_t d, const uint8_t *row, uint32_t n)
{
	const struct osr__reroute *w = t->w;

	for (uint32_t i = 0; i < n; i++)
		t->flow[w->u[i]] = osr__is_used(w, d, w->u[i]);
	for (uint32_t i = n; i-- > 1;) {
		uint32_t v = w->u[i];

		t->flow[w->x->chan_dst[osr_port_channel(w->x, v, row[v])]] += t->flow[v];
	}
}

/* ---- a lane for every switch ----------------------------------------------------------------- */

/* The dependencies of all LIDs of this switch: list[], with weights in here[]. */
static uint32_t list_turns(struct room *t, uint32_t root)
{
	struct osr__reroute *w = t->w;
	uint32_t n_list = 0, next;

	for (uint32_t i = w->dest_row[root]; i < w->dest_row[root + 1]; i++) {
		uint32_t d = w->dest_list[i];
		const uint8_t *row = w->lft + (size_t)d * w->x->n_switches;
		uint32_t n = osr__order_tree(w, d, row, w->u);

		count_flow(t, d, row, n);
		for (uint32_t j = 1; j < n; j++) {
			uint32_t v = w->u[j], slot = turn(w, row, root, v, &next);

			if (!t->flow[v] || slot == OSR_NONE)
				continue;
			if (!t->here[slot])
				t->list[n_list++] = slot;
			t->here[slot] += t->flow[v];
		}
	}
	return n_list;
}

/*
 * None gets more than its share of LIDs, rounded up to whole switches; the last lane none, for pairs
 * that repairs leave no other.
 */
static uint8_t choose_lane(const struct room *t, uint32_t n_list)
{
	const struct osr__reroute *w = t->w;
	uint32_t n_lanes = w->n_lanes - (w->n_lanes > 2), fewest = UINT32_MAX;
	uint32_t limit = (w->x->n_dests + n_lanes - 1) / n_lanes;
	uint8_t best = 0;

	for (uint32_t k = 0; k < n_lanes; k++) {
		const uint32_t *weight = t->weight + (size_t)k * t->n_slots;
		uint32_t fresh = 0;

		if (t->n_dests[k] >= limit)
			continue;
		for (uint32_t i = 0; i < n_list; i++)
			fresh += !weight[t->list[i]];
		if (fresh < fewest) {
			fewest = fresh;
			best = (uint8_t)k;
		}
	}
	return best;
}

static void choose_lanes(struct room *t)
{
	const struct osr__reroute *w = t->w;

	for (uint32_t s = 0; s < w->x->n_switches; s++) {
		uint32_t n_list = list_turns(t, s);
		uint32_t *weight;

		t->lane[s] = choose_lane(t, n_list);
		t->n_dests[t->lane[s]] += w->dest_row[s + 1] - w->dest_row[s];
		weight = t->weight + (size_t)t->lane[s] * t->n_slots;
		for (uint32_t i = 0; i < n_list; i++) {
			weight[t->list[i]] += t->here[t->list[i]];
			t->here[t->list[i]] = 0;
		}
	}
}

/* ---- what fits ------------------------------------------------------------------------------- */

static void fill_lane(struct room *t, uint8_t k)
{
	struct osr__deps *g = &t->w->deps;
	const uint32_t *weight = t->weight + (size_t)k * t->n_slots;
	uint32_t n = 0;

	for (uint32_t i = 0; i < t->n_slots; i++)
		if (weight[i])
			t->list[n++] = i;
	osr__sort_by(t->list, n, weight);
	while (n--) {
		uint32_t slot = t->list[n], c = t->first[slot];

		osr__deps_begin(g);
		osr__deps_add(g, c, g->x->chan_row[g->x->chan_dst[c]] + slot - g->row[c],
			      (uint16_t)(1u << k));
	}
}

/* Those who send to d get lane k, or OSR__NO_SL. Only what they need comes into the graph. */
static void put_tree(struct room *t, uint32_t d, uint8_t k)
{
	struct osr__reroute *w = t->w;
	uint32_t root = w->x->dest_switch[d], next;
	const uint8_t *row = w->lft + (size_t)d * w->x->n_switches;
	uint8_t *sl = w->sl + (size_t)d * w->x->n_switches;
	uint32_t n = osr__order_tree(w, d, row, w->u);

	memset(sl, k, w->x->n_switches);
	count_flow(t, d, row, n);
	t->legal[root] = 1;
	for (uint32_t i = 1; i < n; i++) {
		uint32_t v = w->u[i], slot = turn(w, row, root, v, &next);

		t->legal[v] = t->legal[next] && (slot == OSR_NONE || t->may[slot] >> k & 1);
		if (!t->legal[v] && osr__is_used(w, d, v))
			sl[v] = OSR__NO_SL;
		if (t->legal[v] && slot != OSR_NONE && t->flow[v])
			w->deps.dep[slot] |= (uint16_t)(1u << k);
	}
}

/* The lane that gets the fewest dependencies more; OSR__NO_SL: none has room. */
static uint8_t put_route(struct osr__reroute *w, uint32_t d, uint32_t v)
{
	const uint8_t *row = w->lft + (size_t)d * w->x->n_switches;
	uint32_t fresh[OSR_MAX_VLS] = { 0 }, c = osr_port_channel(w->x, v, row[v]), slot, next,
		 at = v;

	for (; (slot = turn(w, row, w->x->dest_switch[d], at, &next)) != OSR_NONE; at = next)
		for (uint32_t k = 0; k < w->n_lanes; k++)
			fresh[k] += !(w->deps.dep[slot] >> k & 1);
	for (uint32_t i = 0; i < w->n_lanes; i++) {
		uint8_t best = 0;

		for (uint32_t k = 1; k < w->n_lanes; k++)
			if (fresh[k] < fresh[best])
				best = (uint8_t)k;
		fresh[best] = UINT32_MAX;
		osr__deps_begin(&w->deps);
		if (osr__add_route(w, d, row, v, c, (uint16_t)(1u << best)))
			return best;
		osr__deps_undo(&w->deps);
	}
	return OSR__NO_SL;
}

/* False if one more must be put first, and there is no room for that. */
static bool put_misfits(struct room *t, bool *fits)
{
	struct osr__reroute *w = t->w;
	size_t n = w->x->n_switches, size = w->x->n_dests * n;

	*fits = true;
	for (size_t at = 0; at < size; at++) {
		struct pin pin = { .d = (uint32_t)(at / n), .v = (uint32_t)(at % n) };

		if (w->sl[at] != OSR__NO_SL)
			continue;
		w->sl[at] = put_route(w, pin.d, pin.v);
		if (w->sl[at] != OSR__NO_SL)
			continue;
		*fits = false;
		if (t->n_pins == MAX_PINS)
			return false;
		t->pin[t->n_pins++] = pin;
	}
	return true;
}

/* One try: *fits if every route has a lane. */
static bool fill_lanes(struct room *t, bool *fits)
{
	struct osr__reroute *w = t->w;
	struct osr__deps *g = &w->deps;
	uint32_t epoch = w->epoch;
	bool go_on;

	memcpy(g->dep, t->start, t->n_slots * sizeof(*g->dep));
	memset(g->never, 0, t->n_slots * sizeof(*g->never));
	w->epoch = OSR__NO_EPOCH; /* no marks of trees */
	for (uint32_t i = 0; i < t->n_pins; i++) {
		t->pin[i].sl = put_route(w, t->pin[i].d, t->pin[i].v);
		if (t->pin[i].sl == OSR__NO_SL)
			return false;
	}
	memcpy(t->may, g->dep, t->n_slots * sizeof(*g->dep)); /* what must be */
	for (uint32_t k = 0; k < w->n_lanes; k++)
		fill_lane(t, (uint8_t)k);
	for (uint32_t i = 0; i < t->n_slots; i++) {
		uint16_t must = t->may[i];

		t->may[i] = g->dep[i];
		g->dep[i] = must;
	}
	memset(g->never, 0, t->n_slots * sizeof(*g->never));
	w->epoch = epoch;
	for (uint32_t d = 0; d < w->x->n_dests; d++)
		put_tree(t, d, t->lane[w->x->dest_switch[d]]);
	for (uint32_t i = 0; i < t->n_pins; i++)
		w->sl[(size_t)t->pin[i].d * w->x->n_switches + t->pin[i].v] = t->pin[i].sl;
	epoch = w->epoch;
	w->epoch = OSR__NO_EPOCH;
	go_on = put_misfits(t, fits);
	w->epoch = epoch;
	return go_on;
}

static enum osr_status alloc_room(struct room *t, struct osr_diag *diag)
{
	struct osr__reroute *w = t->w;
	struct osr_arena *a = w->scratch;
	uint32_t n = w->x->n_switches, m = t->n_slots;

	t->first = osr_alloc(a, m, sizeof(*t->first));
	t->weight = osr_calloc(a, (size_t)w->n_lanes * m, sizeof(*t->weight));
	t->here = osr_calloc(a, m, sizeof(*t->here));
	t->list = osr_alloc(a, m, sizeof(*t->list));
	t->flow = osr_alloc(a, n, sizeof(*t->flow));
	t->start = osr_alloc(a, m, sizeof(*t->start));
	t->may = osr_alloc(a, m, sizeof(*t->may));
	t->lane = osr_alloc(a, n, 1);
	t->legal = osr_alloc(a, n, 1);
	t->pin = osr_alloc(a, MAX_PINS, sizeof(*t->pin));
	w->sl = osr_alloc(a, (size_t)w->x->n_dests * n, 1);
	if (!t->first || !t->weight || !t->here || !t->list || !t->flow || !t->start || !t->may ||
	    !t->lane || !t->legal || !t->pin || !w->sl)
		return osr__nomem(diag);
	for (uint32_t c = 0; c < w->x->n_channels; c++)
		for (uint32_t i = w->deps.row[c]; i < w->deps.row[c + 1]; i++)
			t->first[i] = c;
	return OSR_OK;
}

static enum osr_status make_room(struct osr__reroute *w, struct osr_arena *result,
				 struct osr_routing *r, struct osr_diag *diag)
{
	struct room t = { .w = w };
	enum osr_status st;
	bool fits = false;

	if ((st = osr__map(w, diag)) || (st = osr__alloc_tree(w, diag)) ||
	    (st = osr__sort_dests(w, diag)) || (st = osr__start_deps(w, diag)))
		return st;
	t.n_slots = w->deps.row[w->x->n_channels];
	st = alloc_room(&t, diag);
	if (st)
		return st;
	osr__add_order(w);
	memcpy(t.start, w->deps.dep, t.n_slots * sizeof(*t.start));
	choose_lanes(&t);
	for (uint32_t i = 0; i < MAX_TRIES && !fits; i++)
		if (!fill_lanes(&t, &fits))
			return OSR_OK;
	if (!fits)
		return OSR_OK;
	r->n_vls = (uint8_t)w->n_lanes;
	st = osr__hand_over_ranks(w, result, r, diag);
	if (!st)
		memcpy(r->sl, w->sl, (size_t)w->x->n_dests * w->x->n_switches);
	return st;
}

enum osr_status osr_reroute_room(const struct osr_fabric *f, uint8_t max_vls,
				 struct osr_arena *scratch, struct osr_arena *result,
				 struct osr_routing *r, struct osr_diag *diag)
{
	const struct osr_result now = { .fabric = *f, .routing = *r };
	struct osr_arena_mark mark = osr_arena_mark(scratch);
	struct osr__reroute w = { .f = f, .home = &now, .last = &now, .scratch = scratch };
	enum osr_status st;

	if (r->sl2vl || !r->sl || !r->rank || r->n_vls < 2 ||
	    !(r->claims & OSR_CLAIM_DEADLOCK_FREE) ||
	    r->claims & (OSR_CLAIM_ANY_SL | OSR_CLAIM_REVERSIBLE))
		return OSR_OK;
	w.n_lanes = max_vls < r->n_vls ? r->n_vls : max_vls;
	w.n_lanes = w.n_lanes < OSR_MAX_VLS ? w.n_lanes : OSR_MAX_VLS;
	w.lft = r->lft;
	st = make_room(&w, result, r, diag);
	osr_arena_reset(scratch, mark);
	return st;
}

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * A lane on which multicast needs room. Where no cable ties the spanning order together again
 * without closing a cycle, one is taken all the same, and unicast gives way: the graph of the lane
 * is made anew, multicast first, then pair by pair what fits. Pairs that do not fit keep their
 * routes and get another SL; no table entry changes.
 */
#include "reroute_private.h"

struct evict {
	struct osr__reroute *w;
	unsigned lane;
};

static void clear_lane(struct evict *e)
{
	struct osr__deps *g = &e->w->deps;
	uint32_t n_slots = g->row[g->x->n_channels];

	for (uint32_t i = 0; i < n_slots; i++) {
		g->dep[i] &= (uint16_t) ~(1u << e->lane);
		g->never[i] &= (uint16_t) ~(1u << e->lane);
	}
}

/* Both ways along the spanning order, by cables of today. */
static bool add_mcast(struct evict *e, const uint32_t *parent)
{
	struct osr__reroute *w = e->w;
	const struct osr_fabric *x = w->x;
	bool ok = true;

	for (uint32_t s = 0; ok && s < x->n_switches; s++)
		for (uint32_t c = x->chan_row[s]; ok && c < x->chan_row[s + 1]; c++) {
			if (parent[s] != c && parent[x->chan_dst[c]] != x->chan_rev[c])
				continue;
			for (uint32_t o = x->chan_row[s]; ok && o < x->chan_row[s + 1]; o++)
				if (o != c &&
				    (parent[s] == o || parent[x->chan_dst[o]] == x->chan_rev[o]))
					ok = osr__deps_add(&w->deps, x->chan_rev[c], o,
							   (uint16_t)(1u << e->lane));
		}
	return ok;
}

/* Does what v sends to LIDs of switch b have this SL today? */
static bool uses(const struct evict *e, uint32_t v, uint32_t b)
{
	const struct osr__reroute *w = e->w;

	for (uint32_t i = w->dest_row[b]; i < w->dest_row[b + 1]; i++)
		if (w->sl[(size_t)w->dest_list[i] * w->x->n_switches + v] == e->lane)
			return true;
	return false;
}

/* One LID: another SL in place of the lane's, and no packets of earlier on it. */
static void forsake(struct evict *e, uint32_t d, uint32_t v, uint8_t sl)
{
	struct osr__reroute *w = e->w;
	size_t at = (size_t)d * w->x->n_switches + v;
	uint16_t bit = (uint16_t)(1u << e->lane);
	bool had = w->sl[at] == e->lane || (w->grants && w->grants[at] & bit);

	w->stable.n_sl_lost += had;
	if (w->sl[at] == e->lane)
		w->sl[at] = sl;
	if (w->grants)
		w->grants[at] &= (uint16_t)~bit;
}

static void forsake_switch(struct evict *e, uint32_t v, uint32_t b, uint8_t sl)
{
	struct osr__reroute *w = e->w;
	uint16_t *reply = &w->reply[(size_t)b * w->x->n_switches + v];

	for (uint32_t i = w->dest_row[b]; i < w->dest_row[b + 1]; i++)
		forsake(e, w->dest_list[i], v, sl);
	*reply &= (uint16_t) ~(1u << e->lane);
	if (sl != OSR__NO_SL)
		*reply |= (uint16_t)(1u << sl);
}

/* The first SL on which the pair fits, that of the last sweep before others; OSR__NO_SL: none. */
static uint8_t find_sl(struct evict *e, uint32_t d, const uint8_t *row, uint32_t v, uint32_t c)
{
	struct osr__reroute *w = e->w;
	uint8_t last = osr__other_sl(w, d, v);

	if (last < w->n_lanes && last != e->lane && osr__try_pair(w, d, row, v, c, last))
		return last;
	for (uint8_t k = 0; k < (uint8_t)w->n_lanes; k++)
		if (k != e->lane && k != last && osr__try_pair(w, d, row, v, c, k))
			return k;
	return OSR__NO_SL;
}

/* Where replies count, all packets between the two switches go together. */
static bool move_pair(struct evict *e, uint32_t d, const uint8_t *row, uint32_t v, uint32_t c)
{
	struct osr__reroute *w = e->w;
	uint32_t root = w->x->dest_switch[d], epoch = w->epoch;
	bool today = w->sl[(size_t)d * w->x->n_switches + v] == e->lane;
	uint8_t sl = OSR__NO_SL;

	if (w->reply)
		today = uses(e, v, root) || uses(e, root, v);
	if (today) {
		w->epoch = OSR__NO_EPOCH;
		sl = find_sl(e, d, row, v, c);
		w->epoch = epoch;
		if (sl == OSR__NO_SL)
			return false;
	}
	if (!w->reply) {
		forsake(e, d, v, sl);
		return true;
	}
	forsake_switch(e, v, root, sl);
	forsake_switch(e, root, v, sl);
	return true;
}

static bool add_tree(struct evict *e, uint32_t d)
{
	struct osr__reroute *w = e->w;
	const uint8_t *row = w->lft + (size_t)d * w->x->n_switches;
	uint16_t bit = (uint16_t)(1u << e->lane);
	uint32_t n = osr__order_tree(w, d, row, w->u);

	w->done[w->u[0]] = bit;
	for (uint32_t i = 1; i < n; i++) {
		uint32_t v = w->u[i], c = osr__alive(w, v, row[v]);

		w->done[v] = 0;
		if (c == OSR_NONE || w->sw_f[v] == OSR_NONE || !(osr__need(w, d, v) & bit))
			continue;
		osr__deps_begin(&w->deps);
		if (osr__add_route(w, d, row, v, c, bit)) {
			w->done[v] = bit;
			continue;
		}
		osr__deps_undo(&w->deps);
		if (!move_pair(e, d, row, v, c))
			return false;
	}
	return true;
}

bool osr__make_room(struct osr__reroute *w, const uint32_t *parent, unsigned lane)
{
	struct evict e = { .w = w, .lane = lane };

	clear_lane(&e);
	if (!add_mcast(&e, parent))
		return false;
	for (uint32_t d = 0; d < w->x->n_dests; d++)
		if (w->dest_f[d] != OSR_NONE && !add_tree(&e, d))
			return false;
	return true;
}

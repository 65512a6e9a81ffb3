/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The lanes of a pair: which it needs, and whether a way for it leaves all of them without a cycle. */
#include "reroute_private.h"

#include <string.h>

/* ---- lanes of a pair ------------------------------------------------------------------------- */

/* Does any packet travel from switch v to d? As check.h counts. */
bool osr__is_used(const struct osr__reroute *w, uint32_t d, uint32_t v)
{
	return w->x->sw_sources[v] || w->x->term_weight[w->x->dest_term[d]];
}

static uint16_t reply_lanes(const struct osr__reroute *w, uint32_t d, uint32_t v)
{
	if (!w->tab.reply || !w->x->term_weight[w->x->dest_term[d]])
		return 0;
	return w->tab.reply[(size_t)v * w->x->n_switches + w->x->dest_switch[d]] &
	       osr__lanes_all(w);
}

uint16_t osr__need(const struct osr__reroute *w, uint32_t d, uint32_t v)
{
	size_t at = (size_t)d * w->x->n_switches + v;
	uint16_t lanes = 0;

	if (!w->n_lanes || !osr__is_used(w, d, v))
		return 0;
	if (w->shared)
		return 1;
	if (w->tab.sl[at] != OSR__NO_SL)
		lanes = (uint16_t)(1u << w->tab.sl[at]);
	if (w->tab.grants)
		lanes |= w->tab.grants[at];
	return (lanes & osr__lanes_all(w)) | reply_lanes(w, d, v);
}

/* The lanes that the cable of c has today. */
static uint16_t lanes_of(const struct osr__reroute *w, uint32_t c)
{
	return w->shared ? 1 : (uint16_t)((1u << w->f->chan_vls[w->map.chan_f[c]]) - 1);
}

bool osr__add_route(struct osr__reroute *w, uint32_t d, const uint8_t *row, uint32_t v, uint32_t c,
		    uint16_t lanes)
{
	uint32_t root = w->x->dest_switch[d];

	(void)v;
	for (uint32_t hops = 0; lanes && hops <= w->x->n_switches; hops++) {
		uint32_t u = w->x->chan_dst[c], next;

		if (lanes & ~lanes_of(w, c))
			return false;
		if (u == root)
			return true;
		next = osr__alive(w, u, row[u]);
		if (next == OSR_NONE)
			return true; /* the rest will be added when it is found */
		if (!osr__deps_add(&w->deps, c, next, lanes))
			return false;
		if (w->tree.known[u] == w->tree.epoch)
			lanes &= (uint16_t)~w->tree.done[u];
		c = next;
	}
	return true;
}

/*
 * Replies from the root's hosts to those of v on lane k: the routes there that exist already. The
 * others will need the lane when they are made.
 */
static bool add_replies(struct osr__reroute *w, uint32_t d, uint32_t v, unsigned k)
{
	const struct osr_fabric *fabric = w->x;
	uint32_t root = fabric->dest_switch[d], epoch = w->tree.epoch;
	bool ok = true;

	if (!w->tab.reply || !fabric->sw_sources[v])
		return true;
	w->tree.epoch = OSR__NO_EPOCH; /* marks of this tree say nothing about others */
	for (uint32_t i = w->tab.dest_row[v]; ok && i < w->tab.dest_row[v + 1]; i++) {
		uint32_t back = w->tab.dest_list[i];
		const uint8_t *row = w->tab.lft + (size_t)back * fabric->n_switches;
		uint32_t c = osr__alive(w, root, row[root]);

		if (w->map.dest_f[back] == OSR_NONE ||
		    !fabric->term_weight[fabric->dest_term[back]] || c == OSR_NONE)
			continue;
		ok = osr__add_route(w, back, row, root, c, (uint16_t)(1u << k));
	}
	w->tree.epoch = epoch;
	return ok;
}

static void give_sl(struct osr__reroute *w, uint32_t d, uint32_t v, unsigned k)
{
	const struct osr_fabric *fabric = w->x;
	size_t n = fabric->n_switches;

	w->tab.sl[d * n + v] = (uint8_t)k;
	if (w->tab.reply && fabric->sw_sources[v])
		w->tab.reply[fabric->dest_switch[d] * n + v] |= (uint16_t)(1u << k);
}

/* The SL that v uses to another LID of the same switch, or OSR__NO_SL. */
static uint8_t sl_of_sibling(const struct osr__reroute *w, uint32_t d, uint32_t v)
{
	uint32_t root = w->x->dest_switch[d];

	for (uint32_t i = w->tab.dest_row[root]; i < w->tab.dest_row[root + 1]; i++) {
		uint8_t sl = w->tab.sl[(size_t)w->tab.dest_list[i] * w->x->n_switches + v];

		if (w->tab.dest_list[i] != d && sl != OSR__NO_SL)
			return sl;
	}
	return OSR__NO_SL;
}

/* A pair without an SL takes one on which its route can be. */
static bool commit_new(struct osr__reroute *w, uint32_t d, const uint8_t *row, uint32_t v,
		       uint32_t c)
{
	uint16_t must = reply_lanes(w, d, v);
	uint8_t sibling = sl_of_sibling(w, d, v);
	uint32_t first =
		must ? (uint32_t)__builtin_ctz(must) : (v + w->x->dest_switch[d]) % w->base->n_vls;

	for (uint32_t i = 0; i <= w->n_lanes; i++) {
		uint32_t k = i ? (first + i - 1) % w->n_lanes : sibling;
		uint16_t lanes = must | (uint16_t)(1u << (k & 15));

		if (k >= w->n_lanes || (i && k == sibling))
			continue;
		osr__deps_begin(&w->deps);
		if (osr__add_route(w, d, row, v, c, lanes) && add_replies(w, d, v, k)) {
			give_sl(w, d, v, k);
			w->tree.done[v] = lanes;
			return true;
		}
		osr__deps_undo(&w->deps);
	}
	return false;
}

/* Lane k on all routes there are from switch a to LIDs of switch b, but for d. */
static bool try_routes(struct osr__reroute *w, uint32_t a, uint32_t b, uint32_t d, unsigned k)
{
	uint32_t epoch = w->tree.epoch;
	bool ok = true;

	w->tree.epoch = OSR__NO_EPOCH;
	for (uint32_t i = w->tab.dest_row[b]; ok && i < w->tab.dest_row[b + 1]; i++) {
		uint32_t e = w->tab.dest_list[i], c;
		const uint8_t *row = w->tab.lft + (size_t)e * w->x->n_switches;

		c = osr__alive(w, a, row[a]);
		if (e != d && w->map.dest_f[e] != OSR_NONE && c != OSR_NONE &&
		    osr__is_used(w, e, a))
			ok = osr__add_route(w, e, row, a, c, (uint16_t)(1u << k));
	}
	w->tree.epoch = epoch;
	return ok;
}

bool osr__try_pair(struct osr__reroute *w, uint32_t d, const uint8_t *row, uint32_t v, uint32_t c,
		   unsigned k)
{
	uint32_t root = w->x->dest_switch[d];

	osr__deps_begin(&w->deps);
	if (osr__add_route(w, d, row, v, c, (uint16_t)(1u << k)) &&
	    (!w->tab.reply || (try_routes(w, v, root, d, k) && try_routes(w, root, v, d, k))))
		return true;
	osr__deps_undo(&w->deps);
	return false;
}

static void give_pair(struct osr__reroute *w, uint32_t d, uint32_t v, unsigned k)
{
	const struct osr_fabric *fabric = w->x;
	size_t n = fabric->n_switches;
	uint32_t root = fabric->dest_switch[d];

	w->out.stable.n_sl_lost++;
	w->tab.grants[d * n + v] = 0;
	give_sl(w, d, v, k);
	if (!w->tab.reply)
		return;
	/*
	 * v answers the root on lane k alone: the old SL does not lead to d any more. To other LIDs
	 * of the root it does, so these keep theirs.
	 */
	w->tab.reply[v * n + root] = 0;
	for (uint32_t i = w->tab.dest_row[v]; i < w->tab.dest_row[v + 1]; i++) {
		w->out.stable.n_sl_lost++;
		w->tab.grants[w->tab.dest_list[i] * n + root] = 0;
		give_sl(w, w->tab.dest_list[i], root, k);
	}
}

/* No route of this length on the SLs given out so far: another SL. */
static bool commit_relaxed(struct osr__reroute *w, uint32_t d, const uint8_t *row, uint32_t v,
			   uint32_t c)
{
	size_t size = (size_t)w->x->n_dests * w->x->n_switches;

	if (!w->tab.grants)
		w->tab.grants = osr_calloc(w->scratch, size, sizeof(*w->tab.grants));
	if (!w->tab.grants) {
		w->out.no_memory = true;
		return false;
	}
	for (uint32_t k = 0; k < w->n_lanes; k++) {
		if (!osr__try_pair(w, d, row, v, c, k))
			continue;
		give_pair(w, d, v, k);
		w->tree.done[v] = (uint16_t)(1u << k);
		return true;
	}
	return false;
}

bool osr__commit(struct osr__reroute *w, uint32_t d, const uint8_t *row, uint32_t v, uint32_t c)
{
	size_t at = (size_t)d * w->x->n_switches + v;
	uint16_t need;

	w->tree.done[v] = 0;
	if (!w->n_lanes)
		return true;
	if (!w->shared && osr__is_used(w, d, v) && w->tab.sl[at] == OSR__NO_SL)
		return commit_new(w, d, row, v, c);
	if (w->tree.relaxed[v])
		return commit_relaxed(w, d, row, v, c);
	need = osr__need(w, d, v);
	osr__deps_begin(&w->deps);
	if (!osr__add_route(w, d, row, v, c, need)) {
		osr__deps_undo(&w->deps);
		return false;
	}
	w->tree.done[v] = need;
	return true;
}

/* ---- SLs of earlier -------------------------------------------------------------------------- */

uint8_t osr__other_sl(const struct osr__reroute *w, uint32_t d, uint32_t v)
{
	const struct osr_routing *last = &w->last->routing;
	uint8_t sl;

	if (!w->deviates || w->map.dest_last[d] == OSR_NONE || w->map.sw_last[v] == OSR_NONE)
		return OSR__NO_SL;
	sl = last->sl[(size_t)w->map.dest_last[d] * last->n_switches + w->map.sw_last[v]];
	return sl == w->tab.sl[(size_t)d * w->x->n_switches + v] ? OSR__NO_SL : sl;
}

/*
 * Lane k for packets from v to d and their replies: on the route that v has, or, where that is cut,
 * on the one that will be found.
 */
static bool keep_lane(struct osr__reroute *w, uint32_t d, uint32_t v, unsigned k)
{
	const struct osr_fabric *fabric = w->x;
	const uint8_t *row = w->tab.lft + (size_t)d * fabric->n_switches;
	uint32_t c = osr__alive(w, v, row[v]), epoch = w->tree.epoch;
	bool cut = w->tree.in_u[v] == epoch, ok;

	if (k >= w->n_lanes || !w->out.attempts)
		return false;
	w->out.attempts--;
	osr__deps_begin(&w->deps);
	w->tree.epoch = OSR__NO_EPOCH;
	ok = cut || c == OSR_NONE || osr__add_route(w, d, row, v, c, (uint16_t)(1u << k));
	w->tree.epoch = epoch;
	if (ok && add_replies(w, d, v, k)) {
		if (w->tab.reply && fabric->sw_sources[v])
			w->tab.reply[(size_t)fabric->dest_switch[d] * fabric->n_switches + v] |=
				(uint16_t)(1u << k);
		return true;
	}
	osr__deps_undo(&w->deps);
	return false;
}

/* The lanes that can be kept; the others are lost. */
static uint16_t reroute_lanes_keep_lanes(struct osr__reroute *w, uint32_t d, uint32_t v,
					 uint16_t lanes)
{
	for (uint16_t left = lanes; left; left &= (uint16_t)(left - 1)) {
		unsigned k = (unsigned)__builtin_ctz(left);

		if (keep_lane(w, d, v, k))
			continue;
		lanes &= (uint16_t) ~(1u << k);
		w->out.stable.n_sl_lost++;
	}
	return lanes;
}

void osr__keep_grants(struct osr__reroute *w, uint32_t d)
{
	const struct osr_fabric *fabric = w->x;

	for (uint32_t v = 0; v < fabric->n_switches; v++) {
		size_t at = (size_t)d * fabric->n_switches + v;
		uint16_t lanes = w->tab.grants[at];
		uint8_t other;

		if (w->map.sw_f[v] == OSR_NONE || v == fabric->dest_switch[d] ||
		    !osr__is_used(w, d, v))
			continue;
		other = osr__other_sl(w, d, v);
		if (other != OSR__NO_SL)
			lanes |= (uint16_t)(1u << (other & 15));
		if (lanes)
			lanes = reroute_lanes_keep_lanes(w, d, v, lanes);
		/* A route that is cut goes on with the SL of the last sweep. */
		if (other != OSR__NO_SL && w->tree.in_u[v] == w->tree.epoch &&
		    lanes >> (other & 15) & 1) {
			w->tab.sl[at] = other;
			lanes &= (uint16_t) ~(1u << other);
		}
		w->tab.grants[at] = lanes;
	}
}

/* ---- a VL on which multicast needs channels --------------------------------------------------- */

/*
 * A lane on which multicast needs room. Where no cable ties the spanning order together again
 * without closing a cycle, one is taken all the same, and unicast gives way: the graph of the lane
 * is made anew, multicast first, then pair by pair what fits. Pairs that do not fit keep their
 * routes and get another SL; no table entry changes.
 */
struct evict {
	struct osr__reroute *w;
	unsigned lane;
};

static void clear_lane(struct evict *e)
{
	struct osr__deps *deps = &e->w->deps;
	uint32_t n_slots = deps->row[deps->x->n_channels];

	for (uint32_t i = 0; i < n_slots; i++) {
		deps->dep[i] &= (uint16_t) ~(1u << e->lane);
		deps->never[i] &= (uint16_t) ~(1u << e->lane);
	}
}

/* Both ways along the spanning order, by cables of today. */
static bool add_mcast(struct evict *e, const uint32_t *parent)
{
	struct osr__reroute *w = e->w;
	const struct osr_fabric *fabric = w->x;
	bool ok = true;

	for (uint32_t s = 0; ok && s < fabric->n_switches; s++)
		for (uint32_t c = fabric->chan_row[s]; ok && c < fabric->chan_row[s + 1]; c++) {
			if (parent[s] != c && parent[fabric->chan_dst[c]] != fabric->chan_rev[c])
				continue;
			for (uint32_t o = fabric->chan_row[s]; ok && o < fabric->chan_row[s + 1];
			     o++)
				if (o != c && (parent[s] == o ||
					       parent[fabric->chan_dst[o]] == fabric->chan_rev[o]))
					ok = osr__deps_add(&w->deps, fabric->chan_rev[c], o,
							   (uint16_t)(1u << e->lane));
		}
	return ok;
}

/* Does what v sends to LIDs of switch b have this SL today? */
static bool reroute_lanes_uses(const struct evict *e, uint32_t v, uint32_t b)
{
	const struct osr__reroute *w = e->w;

	for (uint32_t i = w->tab.dest_row[b]; i < w->tab.dest_row[b + 1]; i++)
		if (w->tab.sl[(size_t)w->tab.dest_list[i] * w->x->n_switches + v] == e->lane)
			return true;
	return false;
}

/* One LID: another SL in place of the lane's, and no packets of earlier on it. */
static void forsake(struct evict *e, uint32_t d, uint32_t v, uint8_t sl)
{
	struct osr__reroute *w = e->w;
	size_t at = (size_t)d * w->x->n_switches + v;
	uint16_t bit = (uint16_t)(1u << e->lane);
	bool had = w->tab.sl[at] == e->lane || (w->tab.grants && w->tab.grants[at] & bit);

	w->out.stable.n_sl_lost += had;
	if (w->tab.sl[at] == e->lane)
		w->tab.sl[at] = sl;
	if (w->tab.grants)
		w->tab.grants[at] &= (uint16_t)~bit;
}

static void forsake_switch(struct evict *e, uint32_t v, uint32_t b, uint8_t sl)
{
	struct osr__reroute *w = e->w;
	uint16_t *reply = &w->tab.reply[(size_t)b * w->x->n_switches + v];

	for (uint32_t i = w->tab.dest_row[b]; i < w->tab.dest_row[b + 1]; i++)
		forsake(e, w->tab.dest_list[i], v, sl);
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
	uint32_t root = w->x->dest_switch[d], epoch = w->tree.epoch;
	bool today = w->tab.sl[(size_t)d * w->x->n_switches + v] == e->lane;
	uint8_t sl = OSR__NO_SL;

	if (w->tab.reply)
		today = reroute_lanes_uses(e, v, root) || reroute_lanes_uses(e, root, v);
	if (today) {
		w->tree.epoch = OSR__NO_EPOCH;
		sl = find_sl(e, d, row, v, c);
		w->tree.epoch = epoch;
		if (sl == OSR__NO_SL)
			return false;
	}
	if (!w->tab.reply) {
		forsake(e, d, v, sl);
		return true;
	}
	forsake_switch(e, v, root, sl);
	forsake_switch(e, root, v, sl);
	return true;
}

static bool reroute_lanes_add_tree(struct evict *e, uint32_t d)
{
	struct osr__reroute *w = e->w;
	const uint8_t *row = w->tab.lft + (size_t)d * w->x->n_switches;
	uint16_t bit = (uint16_t)(1u << e->lane);
	uint32_t n = osr__order_tree(w, d, row, w->tree.u);

	w->tree.done[w->tree.u[0]] = bit;
	for (uint32_t i = 1; i < n; i++) {
		uint32_t v = w->tree.u[i], c = osr__alive(w, v, row[v]);

		w->tree.done[v] = 0;
		if (c == OSR_NONE || w->map.sw_f[v] == OSR_NONE || !(osr__need(w, d, v) & bit))
			continue;
		osr__deps_begin(&w->deps);
		if (osr__add_route(w, d, row, v, c, bit)) {
			w->tree.done[v] = bit;
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
		if (w->map.dest_f[d] != OSR_NONE && !reroute_lanes_add_tree(&e, d))
			return false;
	return true;
}

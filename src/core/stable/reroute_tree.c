/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * One destination whose tree has been cut. From the outside in:
 *	osr__repair_tree()	who is cut off; loads; the ways that are left
 *	settle()		  switches find their way back, short ways first
 *	look_at()		    one switch: its candidates, the most welcome first
 *	commit()		      one candidate: are all lanes of the pair free of cycles?
 */
#include "reroute_private.h"

#include <string.h>

/* ---- lanes of a pair ------------------------------------------------------------------------- */

static uint16_t lanes_all(const struct osr__reroute *w)
{
	return (uint16_t)((1u << w->n_lanes) - 1);
}

/* Does any packet travel from switch v to d? As check.h counts. */
static bool is_used(const struct osr__reroute *w, uint32_t d, uint32_t v)
{
	return w->x->sw_sources[v] || w->x->term_weight[w->x->dest_term[d]];
}

static uint16_t reply_lanes(const struct osr__reroute *w, uint32_t d, uint32_t v)
{
	if (!w->reply || !w->x->term_weight[w->x->dest_term[d]])
		return 0;
	return w->reply[(size_t)v * w->x->n_switches + w->x->dest_switch[d]] & lanes_all(w);
}

uint16_t osr__need(const struct osr__reroute *w, uint32_t d, uint32_t v)
{
	size_t at = (size_t)d * w->x->n_switches + v;
	uint16_t lanes = 0;

	if (!w->n_lanes || !is_used(w, d, v))
		return 0;
	if (w->shared)
		return 1;
	if (w->sl[at] != OSR__NO_SL)
		lanes = (uint16_t)(1u << w->sl[at]);
	if (w->grants)
		lanes |= w->grants[at];
	return (lanes & lanes_all(w)) | reply_lanes(w, d, v);
}

/* The lanes that the cable of c has today. */
static uint16_t lanes_of(const struct osr__reroute *w, uint32_t c)
{
	return w->shared ? 1 : (uint16_t)((1u << w->f->chan_vls[w->chan_f[c]]) - 1);
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
		if (w->known[u] == w->epoch)
			lanes &= (uint16_t)~w->done[u];
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
	const struct osr_fabric *x = w->x;
	uint32_t root = x->dest_switch[d], epoch = w->epoch;
	bool ok = true;

	if (!w->reply || !x->sw_sources[v])
		return true;
	w->epoch = OSR__NO_EPOCH; /* marks of this tree say nothing about others */
	for (uint32_t i = w->dest_row[v]; ok && i < w->dest_row[v + 1]; i++) {
		uint32_t back = w->dest_list[i];
		const uint8_t *row = w->lft + (size_t)back * x->n_switches;
		uint32_t c = osr__alive(w, root, row[root]);

		if (w->dest_f[back] == OSR_NONE || !x->term_weight[x->dest_term[back]] ||
		    c == OSR_NONE)
			continue;
		ok = osr__add_route(w, back, row, root, c, (uint16_t)(1u << k));
	}
	w->epoch = epoch;
	return ok;
}

static void give_sl(struct osr__reroute *w, uint32_t d, uint32_t v, unsigned k)
{
	const struct osr_fabric *x = w->x;
	size_t n = x->n_switches;

	w->sl[d * n + v] = (uint8_t)k;
	if (w->reply && x->sw_sources[v])
		w->reply[x->dest_switch[d] * n + v] |= (uint16_t)(1u << k);
}

/* The SL that v uses to another LID of the same switch, or OSR__NO_SL. */
static uint8_t sl_of_sibling(const struct osr__reroute *w, uint32_t d, uint32_t v)
{
	uint32_t root = w->x->dest_switch[d];

	for (uint32_t i = w->dest_row[root]; i < w->dest_row[root + 1]; i++) {
		uint8_t sl = w->sl[(size_t)w->dest_list[i] * w->x->n_switches + v];

		if (w->dest_list[i] != d && sl != OSR__NO_SL)
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
			w->done[v] = lanes;
			return true;
		}
		osr__deps_undo(&w->deps);
	}
	return false;
}

/* Lane k on all routes there are from switch a to LIDs of switch b, but for d. */
static bool try_routes(struct osr__reroute *w, uint32_t a, uint32_t b, uint32_t d, unsigned k)
{
	uint32_t epoch = w->epoch;
	bool ok = true;

	w->epoch = OSR__NO_EPOCH;
	for (uint32_t i = w->dest_row[b]; ok && i < w->dest_row[b + 1]; i++) {
		uint32_t e = w->dest_list[i], c;
		const uint8_t *row = w->lft + (size_t)e * w->x->n_switches;

		c = osr__alive(w, a, row[a]);
		if (e != d && w->dest_f[e] != OSR_NONE && c != OSR_NONE && is_used(w, e, a))
			ok = osr__add_route(w, e, row, a, c, (uint16_t)(1u << k));
	}
	w->epoch = epoch;
	return ok;
}

bool osr__try_pair(struct osr__reroute *w, uint32_t d, const uint8_t *row, uint32_t v, uint32_t c,
		   unsigned k)
{
	uint32_t root = w->x->dest_switch[d];

	osr__deps_begin(&w->deps);
	if (osr__add_route(w, d, row, v, c, (uint16_t)(1u << k)) &&
	    (!w->reply || (try_routes(w, v, root, d, k) && try_routes(w, root, v, d, k))))
		return true;
	osr__deps_undo(&w->deps);
	return false;
}

static void give_pair(struct osr__reroute *w, uint32_t d, uint32_t v, unsigned k)
{
	const struct osr_fabric *x = w->x;
	size_t n = x->n_switches;
	uint32_t root = x->dest_switch[d];

	w->stable.n_sl_lost++;
	w->grants[d * n + v] = 0;
	give_sl(w, d, v, k);
	if (!w->reply)
		return;
	/*
	 * v answers the root on lane k alone: the old SL does not lead to d any more. To other LIDs
	 * of the root it does, so these keep theirs.
	 */
	w->reply[v * n + root] = 0;
	for (uint32_t i = w->dest_row[v]; i < w->dest_row[v + 1]; i++) {
		w->stable.n_sl_lost++;
		w->grants[w->dest_list[i] * n + root] = 0;
		give_sl(w, w->dest_list[i], root, k);
	}
}

/* No route of this length on the SLs given out so far: another SL. */
static bool commit_relaxed(struct osr__reroute *w, uint32_t d, const uint8_t *row, uint32_t v,
			   uint32_t c)
{
	size_t size = (size_t)w->x->n_dests * w->x->n_switches;

	if (!w->grants)
		w->grants = osr_calloc(w->scratch, size, sizeof(*w->grants));
	if (!w->grants) {
		w->no_memory = true;
		return false;
	}
	for (uint32_t k = 0; k < w->n_lanes; k++) {
		if (!osr__try_pair(w, d, row, v, c, k))
			continue;
		give_pair(w, d, v, k);
		w->done[v] = (uint16_t)(1u << k);
		return true;
	}
	return false;
}

/* May v send by channel c, into a tree that is settled from there on? */
static bool commit(struct osr__reroute *w, uint32_t d, const uint8_t *row, uint32_t v, uint32_t c)
{
	size_t at = (size_t)d * w->x->n_switches + v;
	uint16_t need;

	w->done[v] = 0;
	if (!w->n_lanes)
		return true;
	if (!w->shared && is_used(w, d, v) && w->sl[at] == OSR__NO_SL)
		return commit_new(w, d, row, v, c);
	if (w->relaxed[v])
		return commit_relaxed(w, d, row, v, c);
	need = osr__need(w, d, v);
	osr__deps_begin(&w->deps);
	if (!osr__add_route(w, d, row, v, c, need)) {
		osr__deps_undo(&w->deps);
		return false;
	}
	w->done[v] = need;
	return true;
}

/* ---- SLs of earlier -------------------------------------------------------------------------- */

uint8_t osr__other_sl(const struct osr__reroute *w, uint32_t d, uint32_t v)
{
	const struct osr_routing *last = &w->last->routing;
	uint8_t sl;

	if (!w->deviates || w->dest_last[d] == OSR_NONE || w->sw_last[v] == OSR_NONE)
		return OSR__NO_SL;
	sl = last->sl[(size_t)w->dest_last[d] * last->n_switches + w->sw_last[v]];
	return sl == w->sl[(size_t)d * w->x->n_switches + v] ? OSR__NO_SL : sl;
}

/*
 * Lane k for packets from v to d and their replies: on the route that v has, or, where that is cut,
 * on the one that will be found.
 */
static bool keep_lane(struct osr__reroute *w, uint32_t d, uint32_t v, unsigned k)
{
	const struct osr_fabric *x = w->x;
	const uint8_t *row = w->lft + (size_t)d * x->n_switches;
	uint32_t c = osr__alive(w, v, row[v]), epoch = w->epoch;
	bool cut = w->in_u[v] == epoch, ok;

	if (k >= w->n_lanes || !w->attempts)
		return false;
	w->attempts--;
	osr__deps_begin(&w->deps);
	w->epoch = OSR__NO_EPOCH;
	ok = cut || c == OSR_NONE || osr__add_route(w, d, row, v, c, (uint16_t)(1u << k));
	w->epoch = epoch;
	if (ok && add_replies(w, d, v, k)) {
		if (w->reply && x->sw_sources[v])
			w->reply[(size_t)x->dest_switch[d] * x->n_switches + v] |=
				(uint16_t)(1u << k);
		return true;
	}
	osr__deps_undo(&w->deps);
	return false;
}

/* The lanes that can be kept; the others are lost. */
static uint16_t keep_lanes(struct osr__reroute *w, uint32_t d, uint32_t v, uint16_t lanes)
{
	for (uint16_t left = lanes; left; left &= (uint16_t)(left - 1)) {
		unsigned k = (unsigned)__builtin_ctz(left);

		if (keep_lane(w, d, v, k))
			continue;
		lanes &= (uint16_t) ~(1u << k);
		w->stable.n_sl_lost++;
	}
	return lanes;
}

void osr__keep_grants(struct osr__reroute *w, uint32_t d)
{
	const struct osr_fabric *x = w->x;

	for (uint32_t v = 0; v < x->n_switches; v++) {
		size_t at = (size_t)d * x->n_switches + v;
		uint16_t lanes = w->grants[at];
		uint8_t other;

		if (w->sw_f[v] == OSR_NONE || v == x->dest_switch[d] || !is_used(w, d, v))
			continue;
		other = osr__other_sl(w, d, v);
		if (other != OSR__NO_SL)
			lanes |= (uint16_t)(1u << (other & 15));
		if (lanes)
			lanes = keep_lanes(w, d, v, lanes);
		/* A route that is cut goes on with the SL of the last sweep. */
		if (other != OSR__NO_SL && w->in_u[v] == w->epoch && lanes >> (other & 15) & 1) {
			w->sl[at] = other;
			lanes &= (uint16_t) ~(1u << other);
		}
		w->grants[at] = lanes;
	}
}

/* ---- settling -------------------------------------------------------------------------------- */

/* Length of a way that was not cut. False if it does not lead to the root. */
static bool resolve(struct osr__reroute *w, uint32_t d, const uint8_t *row, uint32_t v)
{
	uint32_t root = w->x->dest_switch[d], depth = 0;

	for (; w->known[v] != w->epoch; v = w->x->chan_dst[osr__alive(w, v, row[v])]) {
		if (v == root) {
			w->known[v] = w->epoch;
			w->len[v] = 0;
			w->done[v] = lanes_all(w);
			break;
		}
		if (depth == w->x->n_switches || osr__alive(w, v, row[v]) == OSR_NONE)
			return false;
		w->stack[depth++] = v;
	}
	while (depth--) {
		uint32_t c, u;

		v = w->stack[depth];
		c = osr__alive(w, v, row[v]);
		u = w->x->chan_dst[c];
		w->known[v] = w->epoch;
		w->len[v] = w->len[u] + 1;
		w->done[v] = osr__need(w, d, v);
	}
	return true;
}

static void push(struct osr__reroute *w, uint32_t v, uint32_t len)
{
	uint32_t node = w->n_nodes++;

	w->node_sw[node] = v;
	w->node_next[node] = w->head[len];
	w->head[len] = node;
}

/* Does an earlier LID of the same port leave v by this port? */
static bool shared_by_sibling(const struct osr__reroute *w, uint32_t d, uint32_t v, uint8_t port)
{
	const struct osr_fabric *x = w->x;
	uint32_t n_earlier = x->dest_lid[d] - x->term_lid[x->dest_term[d]];

	for (uint32_t k = 1; k <= n_earlier; k++)
		if (w->lft[(size_t)(d - k) * x->n_switches + v] == port)
			return true;
	return false;
}

/* Smaller is more welcome. */
struct candidate {
	uint32_t chan;
	uint32_t class;
	uint64_t cost;
};

static uint32_t class_of(const struct osr__reroute *w, uint32_t d, const uint8_t *row, uint32_t v,
			 uint32_t c)
{
	uint8_t port = w->x->chan_port[c];
	uint32_t u = w->x->chan_dst[c], class = 2;

	if (port == w->old[v])
		return 0;
	if (port == w->last_row[v])
		return 1;
	class += shared_by_sibling(w, d, v, port) ? 2 : 0;
	if (w->n_lanes && u != w->x->dest_switch[d] &&
	    !osr__deps_rise(&w->deps, c, osr__alive(w, u, row[u]), osr__need(w, d, v)))
		class ++;
	return class;
}

static bool better(const struct candidate *a, const struct candidate *b)
{
	return a->class != b->class ? a->class < b->class : a->cost < b->cost;
}

/* What the way from v by channel c carries by now, or is expected to. */
static uint64_t load_along(const struct osr__reroute *w, uint32_t d, const uint8_t *row, uint32_t v,
			   uint32_t c)
{
	uint64_t load = w->load[c] + w->expected[c];

	for (v = w->x->chan_dst[c]; v != w->x->dest_switch[d]; v = w->x->chan_dst[c]) {
		c = osr__alive(w, v, row[v]);
		load += w->load[c] + w->expected[c];
	}
	return load;
}

/* How many end ports sent through each cut switch, which is what it is expected to carry again. */
static void expect_flows(struct osr__reroute *w, const uint8_t *row)
{
	for (uint32_t i = 0; i < w->n_u; i++)
		w->flow[w->u[i]] = w->sources[w->u[i]];
	/* Who sends through whom comes later in the list. */
	for (uint32_t i = w->n_u; i-- > 0;) {
		uint32_t v = w->u[i], c = osr_port_channel(w->x, v, row[v]);

		if (c != OSR_NONE && w->in_u[w->x->chan_dst[c]] == w->epoch)
			w->flow[w->x->chan_dst[c]] += w->flow[v];
	}
}

/* The flow of a switch goes where it went before as a part of the next one's, or a way of its own. */
static void expect_load(struct osr__reroute *w, uint32_t d, const uint8_t *row, uint32_t v)
{
	const struct osr_fabric *x = w->x;
	bool alone = row[v] != w->old[v];

	if (!x->term_weight[x->dest_term[d]])
		return;
	for (uint32_t at = v; at != x->dest_switch[d];) {
		uint32_t c = osr__alive(w, at, row[at]);

		w->expected[c] += w->flow[v];
		at = x->chan_dst[c];
		if (!alone && w->in_u[at] == w->epoch)
			return;
	}
}

/* The routes that were found, in place of what was expected. */
static void count_routes(struct osr__reroute *w, uint32_t d, const uint8_t *row)
{
	const struct osr_fabric *x = w->x;

	for (uint32_t i = 0; i < w->n_u; i++) {
		uint32_t v = w->u[i];
		uint64_t routes = x->term_weight[x->dest_term[d]] ? w->sources[v] : 0;

		while (v != x->dest_switch[d]) {
			uint32_t c = osr__alive(w, v, row[v]);

			if (c == OSR_NONE)
				break;
			w->expected[c] = 0;
			w->load[c] += routes;
			v = x->chan_dst[c];
		}
	}
}

/* The ways out of v that lead to the root over `len` channels in all. */
static uint32_t find_candidates(const struct osr__reroute *w, uint32_t d, const uint8_t *row,
				uint32_t v, uint32_t len, bool old_only, struct candidate *list)
{
	const struct osr_fabric *x = w->x;
	uint32_t n = 0;

	for (uint32_t c = x->chan_row[v]; c < x->chan_row[v + 1]; c++) {
		uint32_t u = x->chan_dst[c];

		if (w->chan_f[c] == OSR_NONE || w->known[u] != w->epoch || w->len[u] != len - 1)
			continue;
		if (old_only && x->chan_port[c] != w->old[v])
			continue;
		list[n++] = (struct candidate){ c, class_of(w, d, row, v, c),
						load_along(w, d, row, v, c) };
	}
	return n;
}

/* Attaches v over the most welcome way of this length that is free of cycles, if there is one. */
static bool look_at(struct osr__reroute *w, uint32_t d, uint8_t *row, uint32_t v, uint32_t len,
		    bool old_only)
{
	struct candidate list[256];
	uint32_t n = find_candidates(w, d, row, v, len, old_only, list);

	while (n) {
		uint32_t best = 0, c;

		for (uint32_t i = 1; i < n; i++)
			if (better(&list[i], &list[best]))
				best = i;
		c = list[best].chan;
		if (commit(w, d, row, v, c)) {
			row[v] = w->x->chan_port[c];
			w->known[v] = w->epoch;
			w->len[v] = len;
			expect_load(w, d, row, v);
			return true;
		}
		w->rejected = true;
		memmove(&list[best], &list[best + 1], (n - best - 1) * sizeof(*list));
		n--;
	}
	return false;
}

/* Everybody whose way was cut and who has a neighbour that knows one. */
static uint32_t start(struct osr__reroute *w, uint32_t d, const uint8_t *row)
{
	const struct osr_fabric *x = w->x;
	uint32_t shortest = x->n_switches + 1;

	w->n_nodes = 0;
	for (uint32_t i = 0; i < w->n_u; i++) {
		uint32_t v = w->u[i];

		if (w->known[v] == w->epoch)
			continue;
		for (uint32_t c = x->chan_row[v]; c < x->chan_row[v + 1]; c++) {
			uint32_t u = x->chan_dst[c];

			if (w->chan_f[c] == OSR_NONE)
				continue;
			if (w->known[u] != w->epoch &&
			    (w->in_u[u] == w->epoch || !resolve(w, d, row, u)))
				continue;
			push(w, v, w->len[u] + 1);
			if (w->len[u] + 1 < shortest)
				shortest = w->len[u] + 1;
		}
	}
	return shortest;
}

/* A switch that has found its way shows it to its neighbours. */
static void show(struct osr__reroute *w, uint32_t u)
{
	const struct osr_fabric *x = w->x;

	for (uint32_t o = x->chan_row[u]; o < x->chan_row[u + 1]; o++) {
		uint32_t v = x->chan_dst[o];

		if (w->chan_f[o] != OSR_NONE && w->in_u[v] == w->epoch && w->known[v] != w->epoch)
			push(w, v, w->len[u] + 1);
	}
}

/*
 * Short ways first. n_free of u[] may take any way, the others only the one they had, or all any
 * way if n_free is n_u.
 */
static void settle(struct osr__reroute *w, uint32_t d, uint8_t *row, uint32_t n_free)
{
	uint32_t len = start(w, d, row), looked = 0;

	for (uint32_t i = 0; i < w->n_u; i++)
		w->place[w->u[i]] = i;
	for (; looked < w->n_nodes && len <= w->x->n_switches; len++) {
		uint32_t node = w->head[len];

		w->head[len] = OSR_NONE;
		for (; node != OSR_NONE; node = w->node_next[node]) {
			uint32_t v = w->node_sw[node];

			looked++;
			if (w->known[v] != w->epoch &&
			    look_at(w, d, row, v, len, w->place[v] >= n_free))
				show(w, v);
		}
	}
}

/* How many of the cut switches of this component have found no way. */
static uint32_t lost(const struct osr__reroute *w, uint32_t d)
{
	const struct osr_fabric *f = w->f;
	uint32_t part = f->sw_component[w->sw_f[w->x->dest_switch[d]]], n = 0;

	for (uint32_t i = 0; i < w->n_u; i++)
		n += w->known[w->u[i]] != w->epoch && f->sw_component[w->sw_f[w->u[i]]] == part;
	return n;
}

/* ---- a tree ---------------------------------------------------------------------------------- */

void osr__upstream(struct osr__reroute *w, uint32_t root, const uint8_t *row)
{
	const struct osr_fabric *x = w->x;

	for (uint32_t i = 0; i < w->n_u; i++) {
		uint32_t u = w->u[i];

		for (uint32_t o = x->chan_row[u]; o < x->chan_row[u + 1]; o++) {
			uint32_t v = x->chan_dst[o];

			if (w->in_u[v] == w->epoch || v == root || w->sw_f[v] == OSR_NONE ||
			    row[v] != x->chan_port[x->chan_rev[o]])
				continue;
			w->in_u[v] = w->epoch;
			w->u[w->n_u++] = v;
		}
	}
}

void osr__last_row(const struct osr__reroute *w, uint32_t d, uint8_t *row)
{
	const struct osr_fabric *x = w->x, *g = &w->last->fabric;
	uint32_t old = w->sw_last ? w->dest_last[d] : d, root = x->dest_switch[d];
	const uint8_t *from;

	memset(row, OSR_NO_PATH, x->n_switches);
	if (old == OSR_NONE)
		return;
	from = w->last->routing.lft + (size_t)old * g->n_switches;
	for (uint32_t v = 0; v < x->n_switches; v++) {
		uint32_t s = w->sw_last ? w->sw_last[v] : v, c, before;

		if (s == OSR_NONE || v == root)
			continue;
		c = osr__alive(w, v, from[s]);
		before = osr_port_channel(g, s, from[s]);
		if (c != OSR_NONE && before != OSR_NONE &&
		    g->chan_dst[before] ==
			    (w->sw_last ? w->sw_last[x->chan_dst[c]] : x->chan_dst[c]))
			row[v] = from[s];
	}
}

/* Takes the routes of the cut switches out of the loads. */
static void discount_routes(struct osr__reroute *w, uint32_t d, const uint8_t *row)
{
	const struct osr_fabric *x = w->x;
	uint32_t root = x->dest_switch[d];

	if (!x->term_weight[x->dest_term[d]])
		return;
	for (uint32_t i = 0; i < w->n_u; i++) {
		uint64_t routes = w->sources[w->u[i]];

		if (!routes)
			continue;
		for (uint32_t v = w->u[i], hops = 0; v != root && hops < x->n_switches; hops++) {
			uint32_t c = osr_port_channel(x, v, row[v]);

			if (c == OSR_NONE)
				break;
			w->load[c] -= routes;
			v = x->chan_dst[c];
		}
	}
}

/*
 * How many of the cut switches took a longer way than they had to: a plain breadth-first search
 * from those that were not cut, whose ways are shortest.
 */
static uint32_t count_longer(struct osr__reroute *w, uint32_t d)
{
	const struct osr_fabric *x = w->x;
	uint32_t n_longer = 0, found = 0, *dist = w->stack;

	(void)d;
	for (uint32_t i = 0; i < w->n_u; i++)
		dist[w->u[i]] = OSR_NONE;
	for (uint32_t len = 0; found < w->n_u && len <= x->n_switches; len++) {
		for (uint32_t i = 0; i < w->n_u; i++) {
			uint32_t v = w->u[i];
			bool near = false;

			for (uint32_t c = x->chan_row[v];
			     dist[v] == OSR_NONE && !near && c < x->chan_row[v + 1]; c++) {
				uint32_t u = x->chan_dst[c], at = OSR_NONE;

				if (w->chan_f[c] == OSR_NONE)
					continue;
				if (w->in_u[u] == w->epoch)
					at = dist[u];
				else if (w->known[u] == w->epoch)
					at = w->len[u];
				near = at != OSR_NONE && at < len;
			}
			if (!near)
				continue;
			dist[v] = len;
			found++;
			n_longer += w->known[v] == w->epoch && w->len[v] > len;
		}
	}
	return n_longer;
}

static enum osr_status no_way(const struct osr__reroute *w, uint32_t d, struct osr_diag *diag)
{
	char buf[32];
	uint32_t v = OSR_NONE;

	if (w->no_memory)
		return osr_fail(diag, OSR_NOMEM, "out of memory for the SLs of earlier sweeps");
	for (uint32_t i = 0; i < w->n_u && v == OSR_NONE; i++)
		if (w->known[w->u[i]] != w->epoch)
			v = w->u[i];
	return osr_fail(diag, OSR_NOT_APPLICABLE,
			"no way from switch %s to LID %u agrees with the lanes of the tables that "
			"are kept",
			osr_switch_name(w->x, v, buf), w->x->dest_lid[d]);
}

static enum osr_status find_ways(struct osr__reroute *w, uint32_t d, uint8_t *row, uint32_t n_cut,
				 struct osr_diag *diag)
{
	settle(w, d, row, w->opt->fewest ? n_cut : w->n_u);
	if (w->opt->fewest && lost(w, d))
		settle(w, d, row, w->n_u);
	if (!lost(w, d))
		return OSR_OK;
	/* The SLs given out so far leave no way, however long: others. */
	if (w->n_lanes && !w->shared) {
		for (uint32_t i = 0; i < w->n_u; i++)
			w->relaxed[w->u[i]] = w->known[w->u[i]] != w->epoch;
		settle(w, d, row, w->n_u);
		for (uint32_t i = 0; i < w->n_u; i++)
			w->relaxed[w->u[i]] = 0;
	}
	return lost(w, d) || w->no_memory ? no_way(w, d, diag) : OSR_OK;
}

enum osr_status osr__repair_tree(struct osr__reroute *w, uint32_t d, struct osr_diag *diag)
{
	const struct osr_fabric *x = w->x;
	uint8_t *row = w->lft + (size_t)d * x->n_switches;
	uint32_t root = x->dest_switch[d], n_cut, longer;
	enum osr_status st;

	w->epoch++;
	w->n_u = 0;
	w->rejected = false;
	for (uint32_t i = w->cut_row[d]; i < w->cut_row[d + 1]; i++) {
		if (w->in_u[w->cut[i]] == w->epoch)
			continue;
		w->in_u[w->cut[i]] = w->epoch;
		w->u[w->n_u++] = w->cut[i];
	}
	n_cut = w->n_u;
	osr__upstream(w, root, row);
	if (w->grants)
		osr__keep_grants(w, d);
	discount_routes(w, d, row);
	expect_flows(w, row);
	osr__last_row(w, d, w->last_row);
	for (uint32_t i = 0; i < w->n_u; i++) {
		w->old[w->u[i]] = row[w->u[i]];
		row[w->u[i]] = OSR_NO_PATH;
	}
	st = find_ways(w, d, row, n_cut, diag);
	if (st)
		return st;
	count_routes(w, d, row);
	if (!w->minimal || (!w->rejected && !w->opt->fewest))
		return OSR_OK;
	longer = count_longer(w, d);
	w->n_longer += longer;
	if (longer && w->opt->minimal)
		return osr_fail(diag, OSR_NOT_APPLICABLE,
				"the shortest ways that are left to LID %u do not agree with the "
				"tables that are kept",
				x->dest_lid[d]);
	return OSR_OK;
}

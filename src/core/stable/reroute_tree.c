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

#define MAX_EXTRA 3 /* entries that change besides those that are dead */

/* ---- settling -------------------------------------------------------------------------------- */

/* Length of a way that was not cut. False if it does not lead to the root. */
static bool resolve(struct osr__reroute *w, uint32_t d, const uint8_t *row, uint32_t v)
{
	uint32_t root = w->x->dest_switch[d], depth = 0;

	for (; w->known[v] != w->epoch; v = w->x->chan_dst[osr__alive(w, v, row[v])]) {
		if (v == root) {
			w->known[v] = w->epoch;
			w->len[v] = 0;
			w->done[v] = osr__lanes_all(w);
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

static bool better(const struct osr__candidate *a, const struct osr__candidate *b)
{
	if (a->class != b->class)
		return a->class < b->class;
	return a->len != b->len ? a->len < b->len : a->cost < b->cost;
}

uint32_t osr__best_candidate(const struct osr__candidate *list, uint32_t n)
{
	uint32_t best = 0;

	for (uint32_t i = 1; i < n; i++)
		if (better(&list[i], &list[best]))
			best = i;
	return best;
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

struct osr__candidate osr__candidate(const struct osr__reroute *w, uint32_t d, const uint8_t *row,
				     uint32_t v, uint32_t c)
{
	return (struct osr__candidate){ .chan = c,
					.class = class_of(w, d, row, v, c),
					.len = w->len[w->x->chan_dst[c]],
					.cost = load_along(w, d, row, v, c) };
}

bool osr__settled(struct osr__reroute *w, uint32_t d, const uint8_t *row, uint32_t v)
{
	return w->known[v] == w->epoch || (w->in_u[v] != w->epoch && resolve(w, d, row, v));
}

/* How many end ports sent through each cut switch, which is what it is expected to carry again. */
static void expect_flows(struct osr__reroute *w)
{
	for (uint32_t i = 0; i < w->n_u; i++)
		w->flow[w->u[i]] = w->sources[w->u[i]];
	/* Who sends through whom comes later in the list. */
	for (uint32_t i = w->n_u; i-- > 0;) {
		uint32_t v = w->u[i], c = osr_port_channel(w->x, v, w->old[v]);

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
				uint32_t v, uint32_t len, bool old_only,
				struct osr__candidate *list)
{
	const struct osr_fabric *x = w->x;
	uint32_t n = 0;

	for (uint32_t c = x->chan_row[v]; c < x->chan_row[v + 1]; c++) {
		uint32_t u = x->chan_dst[c];

		if (w->chan_f[c] == OSR_NONE || w->known[u] != w->epoch || w->len[u] != len - 1)
			continue;
		if (old_only && x->chan_port[c] != w->old[v])
			continue;
		list[n++] = osr__candidate(w, d, row, v, c);
	}
	return n;
}

/* Where old entries and new ones mix, too, if that is asked for. */
static bool commit_mixed(struct osr__reroute *w, uint32_t d, const uint8_t *row, uint32_t v, uint32_t c)
{
	bool has_sl = w->shared || !w->sl || w->sl[(size_t)d * w->x->n_switches + v] != OSR__NO_SL;

	if (!osr__commit(w, d, row, v, c))
		return false;
	if (!w->mixes || !w->n_lanes || !has_sl || w->relaxed[v] || osr__mix_turns(w, d, v, c))
		return true;
	osr__deps_undo(&w->deps);
	return false;
}

/* Attaches v over the most welcome way of this length that is free of cycles, if there is one. */
static bool look_at(struct osr__reroute *w, uint32_t d, uint8_t *row, uint32_t v, uint32_t len,
		    bool old_only)
{
	struct osr__candidate list[256];
	uint32_t n = find_candidates(w, d, row, v, len, old_only, list);

	while (n) {
		uint32_t best = osr__best_candidate(list, n), c = list[best].chan;

		if (commit_mixed(w, d, row, v, c)) {
			row[v] = w->x->chan_port[c];
			w->known[v] = w->epoch;
			w->len[v] = len;
			expect_load(w, d, row, v);
			osr__look_for_bounce(w, d, v);
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

	if (old == OSR_NONE) {
		memset(row, OSR_NO_PATH, x->n_switches);
		return;
	}
	from = w->last->routing.lft + (size_t)old * g->n_switches;
	/* The same cables by the same numbers; dead ones are not alive in x either. */
	if (w->last == w->home && w->same && !w->sw_last) {
		memcpy(row, from, x->n_switches);
		row[root] = OSR_NO_PATH;
		return;
	}
	memset(row, OSR_NO_PATH, x->n_switches);
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

/* Takes the routes of the cut switches along row out of the loads, or puts them back. */
static void count_out(struct osr__reroute *w, uint32_t d, const uint8_t *row, bool back)
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
			w->load[c] += back ? routes : -routes;
			v = x->chan_dst[c];
		}
	}
}

/*
 * How many of the cut switches took a longer way than they had to: a plain breadth-first search
 * from those that were not cut.
 */
static uint32_t count_longer(struct osr__reroute *w, uint32_t d, const uint8_t *row)
{
	const struct osr_fabric *x = w->x;
	uint32_t n_longer = 0, *dist = w->place;

	for (uint32_t i = 0; i < w->n_u; i++) {
		uint32_t v = w->u[i];

		dist[v] = OSR_NONE;
		for (uint32_t c = x->chan_row[v]; c < x->chan_row[v + 1]; c++) {
			uint32_t u = x->chan_dst[c];

			if (w->chan_f[c] != OSR_NONE && w->in_u[u] != w->epoch &&
			    osr__settled(w, d, row, u) && w->len[u] + 1 < dist[v])
				dist[v] = w->len[u] + 1;
		}
	}
	for (bool again = true; again;) {
		again = false;
		for (uint32_t i = 0; i < w->n_u; i++) {
			uint32_t v = w->u[i];

			for (uint32_t c = x->chan_row[v]; c < x->chan_row[v + 1]; c++) {
				uint32_t u = x->chan_dst[c];

				if (w->chan_f[c] == OSR_NONE || w->in_u[u] != w->epoch ||
				    dist[u] == OSR_NONE || dist[u] + 1 >= dist[v])
					continue;
				dist[v] = dist[u] + 1;
				again = true;
			}
		}
	}
	for (uint32_t i = 0; i < w->n_u; i++)
		n_longer += w->known[w->u[i]] == w->epoch && w->len[w->u[i]] > dist[w->u[i]];
	return n_longer;
}

static enum osr_status no_way(struct osr__reroute *w, uint32_t d, struct osr_diag *diag)
{
	char buf[32];
	uint32_t v = OSR_NONE;

	w->again = !w->front[d];
	w->front[d] = 1;
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
	if (w->n_lanes && !w->shared && !w->mixes) {
		for (uint32_t i = 0; i < w->n_u; i++)
			w->relaxed[w->u[i]] = w->known[w->u[i]] != w->epoch;
		settle(w, d, row, w->n_u);
		for (uint32_t i = 0; i < w->n_u; i++)
			w->relaxed[w->u[i]] = 0;
	}
	return lost(w, d) || w->no_memory ? no_way(w, d, diag) : OSR_OK;
}

/* Who is cut off: u[], first those whose own entry is dead. Their number. */
static uint32_t begin_tree(struct osr__reroute *w, uint32_t d, uint8_t *row)
{
	uint32_t n_cut;

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
	osr__upstream(w, w->x->dest_switch[d], row);
	if (w->grants)
		osr__keep_grants(w, d);
	count_out(w, d, row, false);
	osr__last_row(w, d, w->last_row);
	for (uint32_t i = 0; i < w->n_u; i++) {
		w->old[w->u[i]] = row[w->u[i]];
		row[w->u[i]] = OSR_NO_PATH;
	}
	return n_cut;
}

/* As if it had not been looked at. */
static void leave_tree(struct osr__reroute *w, uint32_t d, uint8_t *row)
{
	osr__deps_undo(&w->deps);
	for (uint32_t i = 0; i < w->n_u; i++)
		row[w->u[i]] = w->old[w->u[i]];
	count_out(w, d, row, true);
}

static bool has_new_pairs(const struct osr__reroute *w, uint32_t d)
{
	for (uint32_t i = 0; w->sl && i < w->n_u; i++)
		if (w->sl[(size_t)d * w->x->n_switches + w->u[i]] == OSR__NO_SL)
			return true;
	return false;
}

bool osr__repair_easily(struct osr__reroute *w, uint32_t d)
{
	uint8_t *row = w->lft + (size_t)d * w->x->n_switches;
	uint32_t n_cut = begin_tree(w, d, row);

	if (has_new_pairs(w, d) || !osr__change_few(w, d, row, n_cut, 0) ||
	    count_longer(w, d, row)) {
		leave_tree(w, d, row);
		return false;
	}
	count_routes(w, d, row);
	return true;
}

enum osr_status osr__repair_tree(struct osr__reroute *w, uint32_t d, struct osr_diag *diag)
{
	const struct osr_fabric *x = w->x;
	uint8_t *row = w->lft + (size_t)d * x->n_switches;
	uint32_t n_cut = begin_tree(w, d, row), longer;
	bool few = w->opt->fewest && !has_new_pairs(w, d) &&
		   osr__change_few(w, d, row, n_cut, MAX_EXTRA);
	enum osr_status st = OSR_OK;

	if (!few) {
		expect_flows(w);
		st = find_ways(w, d, row, n_cut, diag);
	}
	if (st)
		return st;
	count_routes(w, d, row);
	if (!w->minimal || (!w->rejected && !w->opt->fewest))
		return OSR_OK;
	longer = count_longer(w, d, row);
	w->n_longer += longer;
	if (longer && w->opt->minimal)
		return osr_fail(diag, OSR_NOT_APPLICABLE,
				"the shortest ways that are left to LID %u do not agree with the "
				"tables that are kept",
				x->dest_lid[d]);
	return OSR_OK;
}

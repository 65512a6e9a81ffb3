/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * One destination whose tree has been cut. From the outside in:
 *	osr__repair_tree()	who is cut off; loads; the paths that are left
 *	reroute_tree_settle()		  breadth-first, from the switches that still have a path
 *	try_switch()		    one switch: its candidates, best first
 *	osr__commit()		      one candidate: are all VLs of the pair free of cycles?
 */
#include "reroute_private.h"

#include <string.h>

/* A channel that a switch may send by; smaller is better. */
struct candidate {
	uint32_t chan;
	uint32_t class; /* see class_of() */
	uint32_t len;
	uint64_t cost; /* load along the path */
};

/* ---- settling -------------------------------------------------------------------------------- */

/* Length of a path that was not cut. False if it does not lead to the root. */
static bool resolve(struct osr__reroute *w, uint32_t d, const uint8_t *row, uint32_t v)
{
	uint32_t root = w->x->dest_switch[d], depth = 0;

	for (; w->tree.known[v] != w->tree.epoch; v = w->x->chan_dst[osr__alive(w, v, row[v])]) {
		if (v == root) {
			w->tree.known[v] = w->tree.epoch;
			w->tree.len[v] = 0;
			w->tree.done[v] = osr__lanes_all(w);
			break;
		}
		if (depth == w->x->n_switches || osr__alive(w, v, row[v]) == OSR_NONE)
			return false;
		w->tree.stack[depth++] = v;
	}
	while (depth--) {
		uint32_t c, u;

		v = w->tree.stack[depth];
		c = osr__alive(w, v, row[v]);
		u = w->x->chan_dst[c];
		w->tree.known[v] = w->tree.epoch;
		w->tree.len[v] = w->tree.len[u] + 1;
		w->tree.done[v] = osr__need(w, d, v);
	}
	return true;
}

static void reroute_tree_push(struct osr__reroute *w, uint32_t v, uint32_t len)
{
	uint32_t node = w->tree.n_nodes++;

	w->tree.node_sw[node] = v;
	w->tree.node_next[node] = w->tree.head[len];
	w->tree.head[len] = node;
}

/* Does an earlier LID of the same port leave v by this port? */
static bool shared_by_sibling(const struct osr__reroute *w, uint32_t d, uint32_t v, uint8_t port)
{
	const struct osr_fabric *fabric = w->x;
	uint32_t n_earlier = fabric->dest_lid[d] - fabric->term_lid[fabric->dest_term[d]];

	for (uint32_t k = 1; k <= n_earlier; k++)
		if (w->tab.lft[(size_t)(d - k) * fabric->n_switches + v] == port)
			return true;
	return false;
}

static uint32_t class_of(const struct osr__reroute *w, uint32_t d, const uint8_t *row, uint32_t v,
			 uint32_t c)
{
	uint8_t port = w->x->chan_port[c];
	uint32_t u = w->x->chan_dst[c], class = 2;

	if (port == w->tree.old[v])
		return 0;
	if (port == w->tree.last_row[v])
		return 1;
	class += shared_by_sibling(w, d, v, port) ? 2 : 0;
	if (w->n_lanes && u != w->x->dest_switch[d] &&
	    !osr__deps_rise(&w->deps, c, osr__alive(w, u, row[u]), osr__need(w, d, v)))
		class ++;
	return class;
}

static bool reroute_tree_better(const struct candidate *a, const struct candidate *b)
{
	if (a->class != b->class)
		return a->class < b->class;
	return a->len != b->len ? a->len < b->len : a->cost < b->cost;
}

static uint32_t best_candidate(const struct candidate *list, uint32_t n)
{
	uint32_t best = 0;

	for (uint32_t i = 1; i < n; i++)
		if (reroute_tree_better(&list[i], &list[best]))
			best = i;
	return best;
}

/* What the path from v by channel c carries by now, or is expected to. */
static uint64_t load_along(const struct osr__reroute *w, uint32_t d, const uint8_t *row, uint32_t v,
			   uint32_t c)
{
	uint64_t load = w->tab.load[c] + w->tree.expected[c];

	for (v = w->x->chan_dst[c]; v != w->x->dest_switch[d]; v = w->x->chan_dst[c]) {
		c = osr__alive(w, v, row[v]);
		load += w->tab.load[c] + w->tree.expected[c];
	}
	return load;
}

static struct candidate make_candidate(const struct osr__reroute *w, uint32_t d, const uint8_t *row,
				       uint32_t v, uint32_t c)
{
	return (struct candidate){ .chan = c,
				   .class = class_of(w, d, row, v, c),
				   .len = w->tree.len[w->x->chan_dst[c]],
				   .cost = load_along(w, d, row, v, c) };
}

static bool is_settled(struct osr__reroute *w, uint32_t d, const uint8_t *row, uint32_t v)
{
	return w->tree.known[v] == w->tree.epoch ||
	       (w->tree.in_u[v] != w->tree.epoch && resolve(w, d, row, v));
}

/* How many end ports sent through each cut switch, which is what it is expected to carry again. */
static void reroute_tree_expect_flows(struct osr__reroute *w)
{
	for (uint32_t i = 0; i < w->tree.n_u; i++)
		w->tree.flow[w->tree.u[i]] = w->tab.sources[w->tree.u[i]];
	/* Who sends through whom comes later in the list. */
	for (uint32_t i = w->tree.n_u; i-- > 0;) {
		uint32_t v = w->tree.u[i], c = osr_port_channel(w->x, v, w->tree.old[v]);

		if (c != OSR_NONE && w->tree.in_u[w->x->chan_dst[c]] == w->tree.epoch)
			w->tree.flow[w->x->chan_dst[c]] += w->tree.flow[v];
	}
}

/* The flow of a switch joins that of the next one, where it did before, or takes a path of its own. */
static void expect_load(struct osr__reroute *w, uint32_t d, const uint8_t *row, uint32_t v)
{
	const struct osr_fabric *fabric = w->x;
	bool alone = row[v] != w->tree.old[v];

	if (!fabric->term_weight[fabric->dest_term[d]])
		return;
	for (uint32_t at = v; at != fabric->dest_switch[d];) {
		uint32_t c = osr__alive(w, at, row[at]);

		w->tree.expected[c] += w->tree.flow[v];
		at = fabric->chan_dst[c];
		if (!alone && w->tree.in_u[at] == w->tree.epoch)
			return;
	}
}

/* The routes that were found, in place of what was expected. */
static void count_routes(struct osr__reroute *w, uint32_t d, const uint8_t *row)
{
	const struct osr_fabric *fabric = w->x;

	for (uint32_t i = 0; i < w->tree.n_u; i++) {
		uint32_t v = w->tree.u[i];
		uint64_t routes = fabric->term_weight[fabric->dest_term[d]] ? w->tab.sources[v] : 0;

		while (v != fabric->dest_switch[d]) {
			uint32_t c = osr__alive(w, v, row[v]);

			if (c == OSR_NONE)
				break;
			w->tree.expected[c] = 0;
			w->tab.load[c] += routes;
			v = fabric->chan_dst[c];
		}
	}
}

/* The channels out of v that lead to the root over `len` channels in all. */
static uint32_t find_candidates(const struct osr__reroute *w, uint32_t d, const uint8_t *row,
				uint32_t v, uint32_t len, struct candidate *list)
{
	const struct osr_fabric *fabric = w->x;
	uint32_t n = 0;

	for (uint32_t c = fabric->chan_row[v]; c < fabric->chan_row[v + 1]; c++) {
		uint32_t u = fabric->chan_dst[c];

		if (w->map.chan_f[c] == OSR_NONE || w->tree.known[u] != w->tree.epoch ||
		    w->tree.len[u] != len - 1)
			continue;
		list[n++] = make_candidate(w, d, row, v, c);
	}
	return n;
}

/* Attaches v over the best path of this length that is free of cycles, if there is one. */
static bool try_switch(struct osr__reroute *w, uint32_t d, uint8_t *row, uint32_t v, uint32_t len)
{
	struct candidate list[256];
	uint32_t n = find_candidates(w, d, row, v, len, list);

	while (n) {
		uint32_t best = best_candidate(list, n), c = list[best].chan;

		if (osr__commit(w, d, row, v, c)) {
			row[v] = w->x->chan_port[c];
			w->tree.known[v] = w->tree.epoch;
			w->tree.len[v] = len;
			expect_load(w, d, row, v);
			osr__look_for_bounce(w, d, v);
			return true;
		}
		w->out.rejected = true;
		memmove(&list[best], &list[best + 1], (n - best - 1) * sizeof(*list));
		n--;
	}
	return false;
}

/* Switches whose path was cut and that have a neighbour with a path. */
static uint32_t reroute_tree_start(struct osr__reroute *w, uint32_t d, const uint8_t *row)
{
	const struct osr_fabric *fabric = w->x;
	uint32_t shortest = fabric->n_switches + 1;

	w->tree.n_nodes = 0;
	for (uint32_t i = 0; i < w->tree.n_u; i++) {
		uint32_t v = w->tree.u[i];

		if (w->tree.known[v] == w->tree.epoch)
			continue;
		for (uint32_t c = fabric->chan_row[v]; c < fabric->chan_row[v + 1]; c++) {
			uint32_t u = fabric->chan_dst[c];

			if (w->map.chan_f[c] == OSR_NONE)
				continue;
			if (w->tree.known[u] != w->tree.epoch &&
			    (w->tree.in_u[u] == w->tree.epoch || !resolve(w, d, row, u)))
				continue;
			reroute_tree_push(w, v, w->tree.len[u] + 1);
			if (w->tree.len[u] + 1 < shortest)
				shortest = w->tree.len[u] + 1;
		}
	}
	return shortest;
}

/* The neighbours of a switch that has been settled are candidates now. */
static void reroute_tree_show(struct osr__reroute *w, uint32_t u)
{
	const struct osr_fabric *fabric = w->x;

	for (uint32_t o = fabric->chan_row[u]; o < fabric->chan_row[u + 1]; o++) {
		uint32_t v = fabric->chan_dst[o];

		if (w->map.chan_f[o] != OSR_NONE && w->tree.in_u[v] == w->tree.epoch &&
		    w->tree.known[v] != w->tree.epoch)
			reroute_tree_push(w, v, w->tree.len[u] + 1);
	}
}

/* A breadth-first search from those that know a path: short paths first. */
static void reroute_tree_settle(struct osr__reroute *w, uint32_t d, uint8_t *row)
{
	uint32_t len = reroute_tree_start(w, d, row), looked = 0;

	for (; looked < w->tree.n_nodes && len <= w->x->n_switches; len++) {
		uint32_t node = w->tree.head[len];

		w->tree.head[len] = OSR_NONE;
		for (; node != OSR_NONE; node = w->tree.node_next[node]) {
			uint32_t v = w->tree.node_sw[node];

			looked++;
			if (w->tree.known[v] != w->tree.epoch && try_switch(w, d, row, v, len))
				reroute_tree_show(w, v);
		}
	}
}

/* How many of the cut switches of this component have found no way. */
static uint32_t reroute_tree_lost(const struct osr__reroute *w, uint32_t d)
{
	const struct osr_fabric *fabric = w->f;
	uint32_t part = fabric->sw_component[w->map.sw_f[w->x->dest_switch[d]]], n = 0;

	for (uint32_t i = 0; i < w->tree.n_u; i++)
		n += w->tree.known[w->tree.u[i]] != w->tree.epoch &&
		     fabric->sw_component[w->map.sw_f[w->tree.u[i]]] == part;
	return n;
}

/* ---- a tree ---------------------------------------------------------------------------------- */

void osr__upstream(struct osr__reroute *w, uint32_t root, const uint8_t *row)
{
	const struct osr_fabric *fabric = w->x;

	for (uint32_t i = 0; i < w->tree.n_u; i++) {
		uint32_t u = w->tree.u[i];

		for (uint32_t o = fabric->chan_row[u]; o < fabric->chan_row[u + 1]; o++) {
			uint32_t v = fabric->chan_dst[o];

			if (w->tree.in_u[v] == w->tree.epoch || v == root ||
			    w->map.sw_f[v] == OSR_NONE ||
			    row[v] != fabric->chan_port[fabric->chan_rev[o]])
				continue;
			w->tree.in_u[v] = w->tree.epoch;
			w->tree.u[w->tree.n_u++] = v;
		}
	}
}

/* Takes the routes of the cut switches along row out of the loads. */
static void count_out(struct osr__reroute *w, uint32_t d, const uint8_t *row)
{
	const struct osr_fabric *fabric = w->x;
	uint32_t root = fabric->dest_switch[d];

	if (!fabric->term_weight[fabric->dest_term[d]])
		return;
	for (uint32_t i = 0; i < w->tree.n_u; i++) {
		uint64_t routes = w->tab.sources[w->tree.u[i]];

		if (!routes)
			continue;
		for (uint32_t v = w->tree.u[i], hops = 0; v != root && hops < fabric->n_switches;
		     hops++) {
			uint32_t c = osr_port_channel(fabric, v, row[v]);

			if (c == OSR_NONE)
				break;
			w->tab.load[c] -= routes;
			v = fabric->chan_dst[c];
		}
	}
}

/*
 * How many of the cut switches took a longer path than they had to: a plain breadth-first search
 * from those that were not cut.
 */
static uint32_t reroute_tree_count_longer(struct osr__reroute *w, uint32_t d, const uint8_t *row)
{
	const struct osr_fabric *fabric = w->x;
	uint32_t n_longer = 0, *dist = w->tree.settled;

	for (uint32_t i = 0; i < w->tree.n_u; i++) {
		uint32_t v = w->tree.u[i];

		dist[v] = OSR_NONE;
		for (uint32_t c = fabric->chan_row[v]; c < fabric->chan_row[v + 1]; c++) {
			uint32_t u = fabric->chan_dst[c];

			if (w->map.chan_f[c] != OSR_NONE && w->tree.in_u[u] != w->tree.epoch &&
			    is_settled(w, d, row, u) && w->tree.len[u] + 1 < dist[v])
				dist[v] = w->tree.len[u] + 1;
		}
	}
	for (bool again = true; again;) {
		again = false;
		for (uint32_t i = 0; i < w->tree.n_u; i++) {
			uint32_t v = w->tree.u[i];

			for (uint32_t c = fabric->chan_row[v]; c < fabric->chan_row[v + 1]; c++) {
				uint32_t u = fabric->chan_dst[c];

				if (w->map.chan_f[c] == OSR_NONE ||
				    w->tree.in_u[u] != w->tree.epoch || dist[u] == OSR_NONE ||
				    dist[u] + 1 >= dist[v])
					continue;
				dist[v] = dist[u] + 1;
				again = true;
			}
		}
	}
	for (uint32_t i = 0; i < w->tree.n_u; i++)
		n_longer += w->tree.known[w->tree.u[i]] == w->tree.epoch &&
			    w->tree.len[w->tree.u[i]] > dist[w->tree.u[i]];
	return n_longer;
}

static enum osr_status reroute_tree_no_path(struct osr__reroute *w, uint32_t d,
					    struct osr_diag *diag)
{
	char buf[32];
	uint32_t v = OSR_NONE;

	w->out.again = !w->out.front[d];
	w->out.front[d] = 1;
	if (w->out.no_memory)
		return osr_fail(diag, OSR_NOMEM, "out of memory for the SLs of earlier sweeps");
	for (uint32_t i = 0; i < w->tree.n_u && v == OSR_NONE; i++)
		if (w->tree.known[w->tree.u[i]] != w->tree.epoch)
			v = w->tree.u[i];
	return osr_fail(diag, OSR_NOT_APPLICABLE,
			"no path from switch %s to LID %u agrees with the lanes of the tables that "
			"are kept",
			osr_switch_name(w->x, v, buf), w->x->dest_lid[d]);
}

static enum osr_status find_paths(struct osr__reroute *w, uint32_t d, uint8_t *row,
				  struct osr_diag *diag)
{
	reroute_tree_settle(w, d, row);
	if (!reroute_tree_lost(w, d))
		return OSR_OK;
	/* The SLs given out so far leave no way, however long: others. */
	if (w->n_lanes && !w->shared) {
		for (uint32_t i = 0; i < w->tree.n_u; i++)
			w->tree.relaxed[w->tree.u[i]] =
				w->tree.known[w->tree.u[i]] != w->tree.epoch;
		reroute_tree_settle(w, d, row);
		for (uint32_t i = 0; i < w->tree.n_u; i++)
			w->tree.relaxed[w->tree.u[i]] = 0;
	}
	return reroute_tree_lost(w, d) || w->out.no_memory ? reroute_tree_no_path(w, d, diag)
							   : OSR_OK;
}

/* Who is cut off: u[], first those whose own entry is dead. */
static void reroute_tree_begin_tree(struct osr__reroute *w, uint32_t d, uint8_t *row)
{
	w->tree.epoch++;
	w->tree.n_u = 0;
	w->out.rejected = false;
	for (uint32_t i = w->tab.cut_row[d]; i < w->tab.cut_row[d + 1]; i++) {
		if (w->tree.in_u[w->tab.cut[i]] == w->tree.epoch)
			continue;
		w->tree.in_u[w->tab.cut[i]] = w->tree.epoch;
		w->tree.u[w->tree.n_u++] = w->tab.cut[i];
	}
	osr__upstream(w, w->x->dest_switch[d], row);
	if (w->tab.grants)
		osr__keep_grants(w, d);
	count_out(w, d, row);
	osr__last_row(w, d, w->tree.last_row);
	for (uint32_t i = 0; i < w->tree.n_u; i++) {
		w->tree.old[w->tree.u[i]] = row[w->tree.u[i]];
		row[w->tree.u[i]] = OSR_NO_PATH;
	}
}

enum osr_status osr__repair_tree(struct osr__reroute *w, uint32_t d, struct osr_diag *diag)
{
	uint8_t *row = w->tab.lft + (size_t)d * w->x->n_switches;
	enum osr_status st;
	uint32_t longer;

	reroute_tree_begin_tree(w, d, row);
	reroute_tree_expect_flows(w);
	st = find_paths(w, d, row, diag);
	if (st)
		return st;
	count_routes(w, d, row);
	if (!w->out.rejected)
		return OSR_OK;
	longer = reroute_tree_count_longer(w, d, row);
	w->out.n_longer += longer;
	if (longer && w->opt->minimal)
		return osr_fail(diag, OSR_NOT_APPLICABLE,
				"the shortest paths that are left to LID %u do not agree with the "
				"tables that are kept",
				w->x->dest_lid[d]);
	return OSR_OK;
}

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The spanning tree of multicast. The part of it that still exists stays. A piece that has come off
 * is tied on again by the first cable, or chain of switches without end ports, whose turns the
 * order accepts. So is a switch without end ports, outside the tree, that has lost a cable, if the
 * order accepts it: some switch must go down and up again to reach it, or from it, and only along
 * the tree such routes to all LIDs agree (cut.c, escape()). Where that did not suffice, the next
 * attempt ties all switches.
 */
#include "repair_private.h"

#include <osmroutes/each.h>

#include <string.h>

#define MAIN (OSR_NONE - 1) /* the largest piece of a component */

struct forest {
	struct repair *repair; /* NULL: no order is asked */
	const struct osr_fabric *fabric;
	uint16_t lanes;   /* by SL: the lane of multicast; 0: the order is not asked */
	uint32_t *parent; /* [n_switches] channel: the tree before, and after */
	bool *in;         /* [n_channels] either direction of a cable of the tree */
	uint32_t *piece;  /* [n_switches] the root of the piece it is in, MAIN, OSR_NONE: in none */
	/*
	 * [n_switches] of the piece with this root: switches that the tree should reach; one with end
	 * ports counts more than all others
	 */
	uint32_t *size;
	bool *was_in;   /* [n_switches] in a piece with end ports before anything was tied */
	uint32_t *from; /* [n_switches] channel by which the search came, OSR_NONE: not seen */
	uint32_t *queue, n_queue; /* [n_switches] */
};

/* ---- turns ----------------------------------------------------------------------------------- */

/*
 * A copy that came by a goes on by b. False: the turn closes a cycle, and nothing has changed. By
 * turn, packets on channel a are those of end ports and those on the lanes of used turns into a;
 * from b on they take all turns of the tree. Of two consecutive turns, the one that is added last
 * sees the other.
 */
static bool add_turn(struct forest *forest, uint32_t a, uint32_t b)
{
	const struct osr_fabric *fabric = forest->fabric;
	struct osr_order *order = &forest->repair->order;
	uint32_t s = fabric->chan_src[a], u = fabric->chan_dst[b],
		 turn = osr_turn(order->fabric, a, b), mark = order->n_log;
	uint16_t lanes = forest->repair->inject[a];

	if (forest->repair->scheme != SCHEME_BY_TURN)
		return osr_order_add(order, a, b, forest->lanes);
	OSR_EACH_CHANNEL(o, fabric, s) {
		uint32_t in = osr_turn(order->fabric, fabric->chan_rev[o], a);

		if (o != a && forest->in[o] && order->used[in])
			lanes |= (uint16_t)(1u << order->lane[in]);
	}
	for (uint32_t i = 0; osr_repair_choose_lane(forest->repair, turn, i); i++) {
		uint16_t lane = (uint16_t)(1u << order->lane[turn]);
		bool ok = osr_order_add(order, a, b, lanes);

		OSR_EACH_CHANNEL(o, fabric, u) {
			if (!ok)
				break;
			if (o != fabric->chan_rev[b] && forest->in[o] &&
			    order->used[osr_turn(order->fabric, b, o)])
				ok = osr_order_add(order, b, o, lane);
		}
		if (ok)
			return true;
		osr_order_undo(order, mark);
	}
	return false;
}

/* All turns at s between the cable of `fresh`, which leaves s, and others of the tree. */
static bool add_turns(struct forest *forest, uint32_t s, uint32_t fresh)
{
	const struct osr_fabric *fabric = forest->fabric;

	if (forest->lanes)
		OSR_EACH_CHANNEL(c, fabric, s)
			if (c != fresh && forest->in[c] &&
			    !(add_turn(forest, fabric->chan_rev[c], fresh) &&
			      add_turn(forest, fabric->chan_rev[fresh], c)))
				return false;
	return true;
}

/* ---- pieces ---------------------------------------------------------------------------------- */

/*
 * The search has come to another piece by channel `end`: ties it to the main one by the chain of
 * channels that led here. If a turn closes a cycle, all is as before.
 */
static void tie(struct forest *forest, uint32_t end)
{
	const struct osr_fabric *fabric = forest->fabric;
	uint32_t v = fabric->chan_dst[end], piece = forest->piece[v], up = fabric->chan_rev[end];
	bool ok = true;

	if (forest->lanes)
		osr_order_begin(&forest->repair->order);
	for (uint32_t c = end; c != OSR_NONE; c = forest->from[fabric->chan_src[c]]) {
		forest->in[c] = forest->in[fabric->chan_rev[c]] = true;
		ok = ok && add_turns(forest, fabric->chan_dst[c], fabric->chan_rev[c]) &&
		     add_turns(forest, fabric->chan_src[c], c);
	}
	if (!ok)
		osr_order_undo(&forest->repair->order, 0);
	for (uint32_t c = end, s; c != OSR_NONE; c = s) {
		s = forest->from[fabric->chan_src[c]];
		forest->in[c] = forest->in[fabric->chan_rev[c]] = ok;
		if (!ok || s == OSR_NONE)
			continue;
		forest->parent[fabric->chan_src[c]] = fabric->chan_rev[s];
		forest->piece[fabric->chan_src[c]] = MAIN;
		forest->from[fabric->chan_src[c]] = OSR_NONE;
	}
	/* The piece hangs on the chain by v now, and is searched from, too. */
	if (ok)
		for (uint32_t was; up != OSR_NONE;
		     up = was == OSR_NONE ? was : fabric->chan_rev[was]) {
			was = forest->parent[v];
			forest->parent[v] = up;
			v = was == OSR_NONE ? v : fabric->chan_dst[was];
		}
	if (ok)
		OSR_EACH_SWITCH(s, fabric)
			if (forest->piece[s] == piece) {
				forest->piece[s] = MAIN;
				forest->queue[forest->n_queue++] = s;
			}
}

/*
 * One piece per component: breadth first from the largest (the lowest root among equals), through
 * switches of no piece, to the others, each of which is tied once. False: one with end ports is
 * left.
 */
static bool join_all(struct forest *forest)
{
	const struct osr_fabric *fabric = forest->fabric;
	uint32_t *largest = forest->queue;
	bool joined = true;

	for (uint32_t k = 0; k < fabric->n_components; k++)
		largest[k] = OSR_NONE;
	OSR_EACH_SWITCH(s, fabric) {
		uint32_t *main = &largest[fabric->sw_component[s]];

		if (forest->size[s] && (*main == OSR_NONE || forest->size[s] > forest->size[*main]))
			*main = s;
	}
	OSR_EACH_SWITCH(s, fabric) {
		forest->from[s] = OSR_NONE;
		if (forest->piece[s] != OSR_NONE &&
		    forest->piece[s] == largest[fabric->sw_component[s]])
			forest->piece[s] = MAIN;
	}
	OSR_EACH_SWITCH(s, fabric)
		if (forest->piece[s] == MAIN)
			forest->queue[forest->n_queue++] = s;
	for (uint32_t i = 0; i < forest->n_queue; i++)
		for (uint32_t u = forest->queue[i], c = fabric->chan_row[u];
		     c < fabric->chan_row[u + 1]; c++) {
			uint32_t v = fabric->chan_dst[c];

			if (forest->piece[v] == OSR_NONE && forest->from[v] == OSR_NONE) {
				forest->from[v] = c;
				forest->queue[forest->n_queue++] = v;
			} else if (forest->piece[v] < MAIN) {
				tie(forest, c);
			}
		}
	OSR_EACH_SWITCH(s, fabric)
		joined &= forest->piece[s] >= MAIN || !fabric->sw_sources[s];
	return joined;
}

/*
 * Should the tree reach this switch although it has no end ports? In a repair, where it had more
 * cables in the fabric of the baseline.
 */
static bool should_reach(const struct repair *repair, uint32_t s)
{
	const struct osr_fabric *fabric = repair->fabric, *then = &repair->base->fabric;
	uint32_t was = repair->then.sw ? repair->then.sw[s] : OSR_NONE;

	/* Pairs with SLs of their own get other SLs, and never go along the tree. */
	if (osr_repair_has_sls(repair))
		return false;
	if (repair->tries > 1)
		return true;
	return was != OSR_NONE && then->chan_row[was + 1] - then->chan_row[was] >
					  fabric->chan_row[s + 1] - fabric->chan_row[s];
}

/* Multicast has no need of what has come to the tree and leads to no end port. */
static void prune(struct forest *forest)
{
	const struct osr_fabric *fabric = forest->fabric;
	uint32_t *used = memset(forest->from, 0, fabric->n_switches * sizeof(*used));

	OSR_EACH_SWITCH(s, fabric) {
		uint32_t v = s;

		if (!forest->was_in[s])
			continue;
		for (; !used[v] && forest->parent[v] != OSR_NONE;
		     v = fabric->chan_dst[forest->parent[v]])
			used[v] = 1;
		used[v] = 1;
	}
	OSR_EACH_SWITCH(s, fabric)
		forest->parent[s] = used[s] ? forest->parent[s] : OSR_NONE;
}

/*
 * Of parent[], on these lanes. all[n_switches], or NULL: its pieces become one in each component,
 * which `all` has with the switches that multicast has no need of. OSR_NOT_APPLICABLE: a cycle.
 */
static enum osr_status span(struct repair *repair, const struct osr_fabric *fabric, uint16_t lanes,
			    uint32_t *parent, uint32_t *all, struct osr_arena *scratch)
{
	struct osr_arena_mark mark = osr_arena_mark(scratch);
	size_t n = fabric->n_switches;
	struct forest forest = { .repair = repair,
				 .fabric = fabric,
				 .lanes = lanes,
				 .parent = parent,
				 .in = osr_calloc(scratch, fabric->n_channels, sizeof(*forest.in)),
				 .piece = osr_alloc(scratch, n, sizeof(*forest.piece)),
				 .size = osr_calloc(scratch, n, sizeof(*forest.size)),
				 .was_in = osr_calloc(scratch, n, sizeof(*forest.was_in)),
				 .from = osr_alloc(scratch, n, sizeof(*forest.from)),
				 .queue = osr_alloc(scratch, n, sizeof(*forest.queue)) };
	bool failed = osr_arena_failed(scratch, NULL), rises = !failed;

	/* The pieces of parent[] that have end ports; a piece without end ports does not count. */
	for (uint32_t s = 0; !failed && s < n; s++) {
		for (forest.piece[s] = s; parent[forest.piece[s]] != OSR_NONE;)
			forest.piece[s] = fabric->chan_dst[parent[forest.piece[s]]];
		forest.size[forest.piece[s]] +=
			fabric->sw_sources[s] ? (uint32_t)n : repair && should_reach(repair, s);
	}
	for (uint32_t s = 0; !failed && s < n; s++) {
		forest.was_in[s] = forest.size[forest.piece[s]] >= n;
		if (!forest.size[forest.piece[s]])
			parent[s] = forest.piece[s] = OSR_NONE;
		if (parent[s] != OSR_NONE)
			forest.in[parent[s]] = forest.in[fabric->chan_rev[parent[s]]] = true;
	}
	/* Their turns; then one piece of all. */
	for (uint32_t c = 0; rises && lanes && c < fabric->n_channels; c++) {
		osr_order_begin(&repair->order);
		rises = !forest.in[c] || add_turns(&forest, fabric->chan_src[c], c);
	}
	rises = rises && (!all || join_all(&forest));
	if (rises && all) {
		memcpy(all, parent, n * sizeof(*all));
		prune(&forest);
	}
	osr_arena_reset(scratch, mark);
	if (failed)
		return OSR_NOMEM;
	return rises ? OSR_OK : OSR_NOT_APPLICABLE;
}

enum osr_status osr_repair_add_tree(struct repair *repair, uint32_t *parent, unsigned lane)
{
	return span(repair, repair->fabric, (uint16_t)(1u << lane), parent, NULL,
		    repair->job->scratch);
}

uint32_t *osr_repair_keep_tree(const struct osr_fabric *fabric, const uint32_t *before,
			       struct osr_arena *scratch, struct osr_arena *result)
{
	size_t n = fabric->n_switches;
	uint32_t *parent = osr_alloc(result, n, sizeof(*parent)),
		 *all = osr_alloc(scratch, n, sizeof(*all));

	if (!parent || !all)
		return NULL;
	memcpy(parent, before, n * sizeof(*parent));
	return span(NULL, fabric, 0, parent, all, scratch) ? NULL : parent;
}

/*
 * Without multicast: any spanning tree whose turns the order accepts, for routes alone. Most repairs
 * do without, so the first attempt has none.
 */
static enum osr_status span_alone(struct repair *repair, struct osr_diag *diag)
{
	struct osr_arena *scratch = repair->job->scratch;
	size_t n = repair->fabric->n_switches;
	uint32_t *parent, *all;

	if (repair->tries < 2 || !repair->scheme || osr_repair_has_sls(repair))
		return OSR_OK;
	parent = osr_alloc(scratch, n, sizeof(*parent));
	all = osr_alloc(scratch, n, sizeof(*all));
	if (!parent || !all)
		return osr_repair_nomem(diag);
	memset(parent, 0xff, n * sizeof(*parent)); /* OSR_NONE */
	memset(all, 0xff, n * sizeof(*all));
	if (span(repair, repair->fabric, 1, parent, all, scratch) == OSR_NOMEM)
		return osr_repair_nomem(diag);
	repair->span = all;
	return OSR_OK;
}

enum osr_status osr_repair_mcast(struct repair *repair, struct osr_diag *diag)
{
	uint32_t vl = repair->base->routing.mcast_vl, m = repair->fabric->n_channels,
		 *parent = repair->routing.mcast_parent, *all;
	const uint32_t *last = repair->like_last ? repair->lately.routing.mcast_parent : NULL;
	bool proven = repair->scheme && repair->routing.claims & OSR_CLAIM_MULTICAST;
	/*
	 * By SL the lane of multicast; by port an SL that is on that lane everywhere, if one
	 * exists.
	 */
	uint16_t lanes = 0;
	enum osr_status st = OSR_NOT_APPLICABLE;

	if (proven && repair->scheme != SCHEME_BY_PORT)
		lanes = (uint16_t)(1u << (repair->scheme == SCHEME_ONE_LANE ? 0 : vl));
	repair->routing.mcast_vl = repair->base->routing.sl2vl || repair->scheme != SCHEME_BY_TURN
					   ? repair->base->routing.mcast_vl
					   : 0;
	if (!parent) {
		repair->routing.claims &= ~(uint32_t)OSR_CLAIM_MULTICAST;
		return span_alone(repair, diag);
	}
	for (uint32_t sl = 0, c; proven && !lanes && sl < repair->n_lanes; sl++) {
		for (c = 0; c < m && osr_order_lane(&repair->order, sl, c) == vl;)
			c++;
		lanes = c == m ? (uint16_t)(1u << sl) : 0;
	}
	if (last)
		memcpy(parent, last, repair->fabric->n_switches * sizeof(*last));
	all = osr_alloc(repair->job->scratch, repair->fabric->n_switches, sizeof(*all));
	if (!all)
		st = OSR_NOMEM;
	else if (lanes || !proven)
		st = span(repair, repair->fabric, lanes, parent, all, repair->job->scratch);
	if (st == OSR_NOMEM)
		return osr_repair_nomem(diag);
	if (st)
		return osr_fail(diag, st,
				"the spanning tree of multicast no longer reaches every switch on "
				"the lanes of the tables that are kept");
	repair->span = all;
	return OSR_OK;
}

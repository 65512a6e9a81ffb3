/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The spanning tree of multicast: what is left of it stays; a piece that has come off is tied on again by the
 * first cable, or chain of switches without end ports, whose turns the order accepts.
 */
#include "repair_private.h"

#include <string.h>

#define MAIN (OSR_NONE - 1) /* the largest piece of a component */

struct forest {
	struct repair *w; /* NULL: no order is asked */
	const struct osr_fabric *f;
	uint16_t lanes;   /* by SL: that of multicast; 0: no order is asked */
	uint32_t *parent; /* [n_switches] channel: the tree before, and after */
	bool *in;         /* [n_channels] either direction of a cable of the tree */
	uint32_t *piece;  /* [n_switches] the root of the piece it is in, MAIN, OSR_NONE: in none */
	uint32_t *size;   /* [n_switches] of the piece with this root: switches with end ports */
	uint32_t *from;   /* [n_switches] channel by which the search came, OSR_NONE: not seen */
	uint32_t *queue, n_queue; /* [n_switches] */
};

/* ---- turns ----------------------------------------------------------------------------------- */

/*
 * A copy that came by a goes on by b. False, and nothing has changed: that closes a cycle. By turn, packets on
 * channel a are those of end ports and those on the lanes of used turns into it; and from b on they take all turns of
 * the tree. Of two turns one after the other, the one that is added last sees the other.
 */
static bool add_turn(struct forest *t, uint32_t a, uint32_t b)
{
	const struct osr_fabric *fabric = t->f;
	struct osr_order *order = &t->w->order;
	uint32_t s = fabric->chan_src[a], u = fabric->chan_dst[b],
		 turn = osr_turn(order->fabric, a, b), mark = order->n_log;
	uint16_t lanes = t->w->inject[a];

	if (!t->w->by_turn)
		return osr_order_add(order, a, b, t->lanes);
	for (uint32_t o = fabric->chan_row[s]; o < fabric->chan_row[s + 1]; o++) {
		uint32_t in = osr_turn(order->fabric, fabric->chan_rev[o], a);

		if (o != a && t->in[o] && order->used[in])
			lanes |= (uint16_t)(1u << order->lane[in]);
	}
	for (uint32_t i = 0; osr__repair_choose_lane(t->w, turn, i); i++) {
		uint16_t lane = (uint16_t)(1u << order->lane[turn]);
		bool ok = osr_order_add(order, a, b, lanes);

		for (uint32_t o = fabric->chan_row[u]; ok && o < fabric->chan_row[u + 1]; o++)
			if (o != fabric->chan_rev[b] && t->in[o] &&
			    order->used[osr_turn(order->fabric, b, o)])
				ok = osr_order_add(order, b, o, lane);
		if (ok)
			return true;
		osr_order_undo(order, mark);
	}
	return false;
}

/* All turns at s between the cable of `fresh`, which leaves s, and others of the tree. */
static bool add_turns(struct forest *t, uint32_t s, uint32_t fresh)
{
	const struct osr_fabric *fabric = t->f;

	for (uint32_t c = fabric->chan_row[s]; t->lanes && c < fabric->chan_row[s + 1]; c++)
		if (c != fresh && t->in[c] &&
		    !(add_turn(t, fabric->chan_rev[c], fresh) &&
		      add_turn(t, fabric->chan_rev[fresh], c)))
			return false;
	return true;
}

/* ---- pieces ---------------------------------------------------------------------------------- */

/*
 * The search has come to another piece by channel `end`: ties it to the main one by the chain of channels that led
 * here. If a turn closes a cycle, all is as before.
 */
static void tie(struct forest *t, uint32_t end)
{
	const struct osr_fabric *fabric = t->f;
	uint32_t v = fabric->chan_dst[end], piece = t->piece[v], up = fabric->chan_rev[end];
	bool ok = true;

	if (t->lanes)
		osr_order_begin(&t->w->order);
	for (uint32_t c = end; c != OSR_NONE; c = t->from[fabric->chan_src[c]]) {
		t->in[c] = t->in[fabric->chan_rev[c]] = true;
		ok = ok && add_turns(t, fabric->chan_dst[c], fabric->chan_rev[c]) &&
		     add_turns(t, fabric->chan_src[c], c);
	}
	if (!ok)
		osr_order_undo(&t->w->order, 0);
	for (uint32_t c = end, s; c != OSR_NONE; c = s) {
		s = t->from[fabric->chan_src[c]];
		t->in[c] = t->in[fabric->chan_rev[c]] = ok;
		if (!ok || s == OSR_NONE)
			continue;
		t->parent[fabric->chan_src[c]] = fabric->chan_rev[s];
		t->piece[fabric->chan_src[c]] = MAIN;
		t->from[fabric->chan_src[c]] = OSR_NONE;
	}
	/* The piece hangs on the chain by v now, and is searched from, too. */
	for (uint32_t was; ok && up != OSR_NONE;
	     up = was == OSR_NONE ? was : fabric->chan_rev[was]) {
		was = t->parent[v];
		t->parent[v] = up;
		v = was == OSR_NONE ? v : fabric->chan_dst[was];
	}
	for (uint32_t s = 0; ok && s < fabric->n_switches; s++)
		if (t->piece[s] == piece) {
			t->piece[s] = MAIN;
			t->queue[t->n_queue++] = s;
		}
}

/*
 * One piece per component: breadth first from the largest (the lowest root among equals), through switches of no piece,
 * to the others, each of which is tied once. False: one is left.
 */
static bool join_all(struct forest *t)
{
	const struct osr_fabric *fabric = t->f;
	uint32_t *largest = t->queue;
	bool joined = true;

	for (uint32_t k = 0; k < fabric->n_components; k++)
		largest[k] = OSR_NONE;
	for (uint32_t s = 0; s < fabric->n_switches; s++) {
		uint32_t *main = &largest[fabric->sw_component[s]];

		if (t->size[s] && (*main == OSR_NONE || t->size[s] > t->size[*main]))
			*main = s;
	}
	for (uint32_t s = 0; s < fabric->n_switches; s++) {
		t->from[s] = OSR_NONE;
		if (t->piece[s] != OSR_NONE && t->piece[s] == largest[fabric->sw_component[s]])
			t->piece[s] = MAIN;
	}
	for (uint32_t s = 0; s < fabric->n_switches; s++)
		if (t->piece[s] == MAIN)
			t->queue[t->n_queue++] = s;
	for (uint32_t i = 0; i < t->n_queue; i++)
		for (uint32_t u = t->queue[i], c = fabric->chan_row[u]; c < fabric->chan_row[u + 1];
		     c++) {
			uint32_t v = fabric->chan_dst[c];

			if (t->piece[v] == OSR_NONE && t->from[v] == OSR_NONE) {
				t->from[v] = c;
				t->queue[t->n_queue++] = v;
			} else if (t->piece[v] < MAIN) {
				tie(t, c);
			}
		}
	for (uint32_t s = 0; s < fabric->n_switches; s++)
		joined &= t->piece[s] >= MAIN;
	return joined;
}

/* Of parent[], on these lanes; `join`: its pieces become one in each component. OSR_NOT_APPLICABLE: a cycle. */
static enum osr_status span(struct repair *w, const struct osr_fabric *fabric, uint16_t lanes,
			    uint32_t *parent, bool join, struct osr_arena *scratch)
{
	struct osr_arena_mark mark = osr_arena_mark(scratch);
	size_t n = fabric->n_switches;
	struct forest t = { .w = w,
			    .f = fabric,
			    .lanes = lanes,
			    .parent = parent,
			    .in = osr_calloc(scratch, fabric->n_channels, sizeof(*t.in)),
			    .piece = osr_alloc(scratch, n, sizeof(*t.piece)),
			    .size = osr_calloc(scratch, n, sizeof(*t.size)),
			    .from = osr_alloc(scratch, n, sizeof(*t.from)),
			    .queue = osr_alloc(scratch, n, sizeof(*t.queue)) };
	bool failed = osr_arena_failed(scratch, NULL), rises = !failed;

	/* The pieces of parent[] with end ports; what has no end ports is no piece. */
	for (uint32_t s = 0; !failed && s < n; s++) {
		for (t.piece[s] = s; parent[t.piece[s]] != OSR_NONE;)
			t.piece[s] = fabric->chan_dst[parent[t.piece[s]]];
		t.size[t.piece[s]] += fabric->sw_sources[s] != 0;
	}
	for (uint32_t s = 0; !failed && s < n; s++) {
		if (!t.size[t.piece[s]])
			parent[s] = t.piece[s] = OSR_NONE;
		if (parent[s] != OSR_NONE)
			t.in[parent[s]] = t.in[fabric->chan_rev[parent[s]]] = true;
	}
	/* Their turns; then one piece of all. */
	for (uint32_t c = 0; rises && lanes && c < fabric->n_channels; c++) {
		osr_order_begin(&w->order);
		rises = !t.in[c] || add_turns(&t, fabric->chan_src[c], c);
	}
	rises = rises && (!join || join_all(&t));
	osr_arena_reset(scratch, mark);
	if (failed)
		return OSR_NOMEM;
	return rises ? OSR_OK : OSR_NOT_APPLICABLE;
}

enum osr_status osr__repair_add_tree(struct repair *w, uint32_t *parent, unsigned lane)
{
	return span(w, w->f, (uint16_t)(1u << lane), parent, false, w->job->scratch);
}

uint32_t *osr_repair_keep_tree(const struct osr_fabric *fabric, const uint32_t *before,
			       struct osr_arena *scratch, struct osr_arena *result)
{
	uint32_t *parent = osr_alloc(result, fabric->n_switches, sizeof(*parent));

	if (parent)
		memcpy(parent, before, fabric->n_switches * sizeof(*parent));
	return parent && !span(NULL, fabric, 0, parent, true, scratch) ? parent : NULL;
}

enum osr_status osr__repair_mcast(struct repair *w, struct osr_diag *diag)
{
	uint32_t vl = w->base->routing.mcast_vl, m = w->f->n_channels, *parent = w->r.mcast_parent;
	const uint32_t *last = w->like_last ? w->lately.routing.mcast_parent : NULL;
	bool proven = w->n_lanes && w->r.claims & OSR_CLAIM_MULTICAST;
	/* By SL, that of multicast; by port, an SL that is on that lane everywhere, if there is one. */
	uint16_t lanes = 0;
	enum osr_status st = OSR_NOT_APPLICABLE;

	if (proven && !w->by_port)
		lanes = (uint16_t)(1u << (w->shared ? 0 : vl));
	w->r.mcast_vl = w->base->routing.sl2vl || !w->by_turn ? w->base->routing.mcast_vl : 0;
	if (!parent) {
		w->r.claims &= ~(uint32_t)OSR_CLAIM_MULTICAST;
		return OSR_OK;
	}
	for (uint32_t sl = 0, c; proven && !lanes && sl < w->n_lanes; sl++) {
		for (c = 0; c < m && osr_order_lane(&w->order, sl, c) == vl;)
			c++;
		lanes = c == m ? (uint16_t)(1u << sl) : 0;
	}
	if (last)
		memcpy(parent, last, w->f->n_switches * sizeof(*last));
	if (lanes || !proven)
		st = span(w, w->f, lanes, parent, true, w->job->scratch);
	if (st == OSR_NOMEM)
		return osr__repair_nomem(diag);
	return st ? osr_fail(diag, st,
			     "the spanning tree of multicast no longer reaches every switch on the "
			     "lanes of the tables that are kept")
		  : OSR_OK;
}

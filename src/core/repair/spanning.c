/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The spanning tree of multicast: what is left of it stays; a piece that has come off is tied on again by the
 * first cable, or chain of switches without end ports, whose turns the order accepts.
 */
#include "repair_private.h"

#include <string.h>

struct forest {
	struct repair *w; /* NULL: no order is asked */
	const struct osr_fabric *f;
	uint16_t lanes;   /* by SL: that of multicast; 0: no order is asked */
	uint32_t *parent; /* [n_switches] channel: the tree before, and after */
	bool *in;         /* [n_channels] either direction of a cable of the tree */
	uint32_t *piece;  /* [n_switches] the root of the piece it is in, OSR_NONE: in none */
	uint32_t *size;   /* [n_switches] of the piece with this root: switches with end ports */
	uint32_t *from;   /* [n_switches] channel by which a search came, OSR_NONE: not seen */
	uint32_t *queue;  /* [n_switches] */
};

/* ---- turns ----------------------------------------------------------------------------------- */

/*
 * By turn, a copy that came by a goes on by b on this lane. Packets on channel a are those of end ports and
 * those on the lanes of used turns into it; and from b on they take all turns of the tree. Of two turns one after
 * the other, the one that is added last sees the other.
 */
static bool turn_on_lane(struct forest *t, uint32_t a, uint32_t b)
{
	const struct osr_fabric *fabric = t->f;
	struct osr_order *order = &t->w->order;
	uint32_t s = fabric->chan_src[a], u = fabric->chan_dst[b],
		 turn = osr_order_turn(order, a, b);
	uint16_t lanes = t->w->inject[a], lane = (uint16_t)(1u << order->lane[turn]);

	for (uint32_t o = fabric->chan_row[s]; o < fabric->chan_row[s + 1]; o++) {
		uint32_t in = osr_order_turn(order, fabric->chan_rev[o], a);

		if (o != a && t->in[o] && order->used[in])
			lanes |= (uint16_t)(1u << order->lane[in]);
	}
	if (!osr_order_add(order, a, b, lanes))
		return false;
	for (uint32_t o = fabric->chan_row[u]; o < fabric->chan_row[u + 1]; o++)
		if (o != fabric->chan_rev[b] && t->in[o] &&
		    order->used[osr_order_turn(order, b, o)] && !osr_order_add(order, b, o, lane))
			return false;
	return true;
}

/* A copy that came by a goes on by b. False: that closes a cycle; the caller takes back what is left of it. */
static bool add_turn(struct forest *t, uint32_t a, uint32_t b)
{
	struct osr_order *order;
	uint32_t turn, mark;
	uint8_t was;

	if (!t->lanes)
		return true;
	order = &t->w->order;
	if (!t->w->by_turn)
		return osr_order_add(order, a, b, t->lanes);
	turn = osr_order_turn(order, a, b);
	mark = order->n_log;
	was = order->lane[turn];
	if (turn_on_lane(t, a, b))
		return true;
	osr_order_undo(order, mark);
	for (uint8_t l = 0; !order->used[turn] && l < t->w->n_lanes; l++) {
		if (l != was && osr_order_set_lane(order, turn, l) && turn_on_lane(t, a, b))
			return true;
		osr_order_undo(order, mark);
	}
	return false;
}

/* All turns at s between the cable of `fresh`, which leaves s, and others of the tree. */
static bool add_turns(struct forest *t, uint32_t s, uint32_t fresh)
{
	const struct osr_fabric *fabric = t->f;

	for (uint32_t c = fabric->chan_row[s]; c < fabric->chan_row[s + 1]; c++)
		if (c != fresh && t->in[c] &&
		    !(add_turn(t, fabric->chan_rev[c], fresh) &&
		      add_turn(t, fabric->chan_rev[fresh], c)))
			return false;
	return true;
}

/* ---- pieces ---------------------------------------------------------------------------------- */

/* The pieces of parent[] with end ports; what has none is no piece. */
static void find_pieces(struct forest *t)
{
	const struct osr_fabric *fabric = t->f;
	uint32_t *parent = t->parent;

	memset(t->in, 0, fabric->n_channels);
	memset(t->size, 0, fabric->n_switches * sizeof(*t->size));
	for (uint32_t s = 0; s < fabric->n_switches; s++) {
		for (t->piece[s] = s; parent[t->piece[s]] != OSR_NONE;)
			t->piece[s] = fabric->chan_dst[parent[t->piece[s]]];
		t->size[t->piece[s]] += fabric->sw_sources[s] != 0;
	}
	for (uint32_t s = 0; s < fabric->n_switches; s++) {
		if (!t->size[t->piece[s]])
			parent[s] = t->piece[s] = OSR_NONE;
		if (parent[s] != OSR_NONE)
			t->in[parent[s]] = t->in[fabric->chan_rev[parent[s]]] = true;
	}
}

/* The turns of what is left. False if they close a cycle. */
static bool add_pieces(struct forest *t)
{
	for (uint32_t s = 0; t->lanes && s < t->f->n_switches; s++)
		for (uint32_t c = t->f->chan_row[s]; c < t->f->chan_row[s + 1]; c++) {
			osr_order_begin(&t->w->order);
			if (t->in[c] && !add_turns(t, s, c))
				return false;
		}
	return true;
}

/*
 * Ties a piece to the main one by the chain that a search found, from switch `end` of the main piece back to a
 * switch of the other. False, and all is as before, if a turn closes a cycle.
 */
static bool tie(struct forest *t, uint32_t end, uint32_t piece)
{
	const struct osr_fabric *fabric = t->f;
	uint32_t main = t->piece[end], c;
	bool ok = true;

	if (t->lanes)
		osr_order_begin(&t->w->order);
	for (uint32_t v = end; ok && t->piece[v] != piece; v = fabric->chan_src[c]) {
		c = t->from[v];
		t->in[c] = t->in[fabric->chan_rev[c]] = true;
		ok = add_turns(t, v, fabric->chan_rev[c]) && add_turns(t, fabric->chan_src[c], c);
	}
	if (!ok)
		osr_order_undo(&t->w->order, 0);
	for (uint32_t v = end; t->piece[v] != piece; v = fabric->chan_src[c]) {
		c = t->from[v];
		t->in[c] = t->in[fabric->chan_rev[c]] = ok;
		t->piece[v] = ok ? main : t->piece[v];
	}
	for (uint32_t v = 0; ok && v < fabric->n_switches; v++)
		if (t->piece[v] == piece)
			t->piece[v] = main;
	return ok;
}

/* Breadth first from a piece, through switches of no piece, until a chain can be tied. */
static bool search_chain(struct forest *t, uint32_t piece, uint32_t main)
{
	const struct osr_fabric *fabric = t->f;
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

/* parent[] of the main piece, from its root on. */
static void hang(struct forest *t, uint32_t root)
{
	const struct osr_fabric *fabric = t->f;
	uint32_t n = 1;

	t->queue[0] = root;
	t->parent[root] = OSR_NONE;
	for (uint32_t i = 0; i < n; i++)
		for (uint32_t v = t->queue[i], c = fabric->chan_row[v]; c < fabric->chan_row[v + 1];
		     c++)
			if (t->in[c] && c != t->parent[v]) {
				t->parent[fabric->chan_dst[c]] = fabric->chan_rev[c];
				t->queue[n++] = fabric->chan_dst[c];
			}
}

/* One piece per component. Each step ends one piece, so this ends. */
static bool join_all(struct forest *t)
{
	const struct osr_fabric *fabric = t->f;

	for (uint32_t k = 0; k < fabric->n_components; k++) {
		uint32_t main = OSR_NONE;

		/* The largest piece; the lowest root among equals. */
		for (uint32_t s = 0; s < fabric->n_switches; s++)
			if (t->size[s] && fabric->sw_component[s] == k &&
			    (main == OSR_NONE || t->size[s] > t->size[main]))
				main = s;
		for (uint32_t s = 0; s < fabric->n_switches; s++)
			if (s != main && t->size[s] && fabric->sw_component[s] == k &&
			    !search_chain(t, s, main))
				return false;
		if (main != OSR_NONE)
			hang(t, main);
	}
	return true;
}

static bool forest_init(struct forest *t, const struct osr_fabric *fabric,
			struct osr_arena *scratch)
{
	size_t n = fabric->n_switches;

	t->f = fabric;
	t->in = osr_alloc(scratch, fabric->n_channels, sizeof(*t->in));
	t->piece = osr_alloc(scratch, n, sizeof(*t->piece));
	t->size = osr_alloc(scratch, n, sizeof(*t->size));
	t->from = osr_alloc(scratch, n, sizeof(*t->from));
	t->queue = osr_alloc(scratch, n, sizeof(*t->queue));
	return !osr_arena_failed(scratch, NULL);
}

bool osr__repair_add_tree(struct repair *w, uint32_t *parent, unsigned lane)
{
	struct forest t = { .w = w, .lanes = (uint16_t)(1u << lane), .parent = parent };

	if (!forest_init(&t, w->f, w->job->scratch))
		return false;
	find_pieces(&t);
	return add_pieces(&t);
}

uint32_t *osr_repair_keep_tree(const struct osr_fabric *fabric, const uint32_t *before,
			       struct osr_arena *scratch, struct osr_arena *result)
{
	struct osr_arena_mark mark = osr_arena_mark(scratch);
	struct forest t = { .parent = osr_alloc(result, fabric->n_switches, sizeof(*t.parent)) };
	bool kept = t.parent && forest_init(&t, fabric, scratch);

	if (kept) {
		memcpy(t.parent, before, fabric->n_switches * sizeof(*t.parent));
		find_pieces(&t);
		kept = join_all(&t);
	}
	osr_arena_reset(scratch, mark);
	return kept ? t.parent : NULL;
}

/* By SL, that of multicast; by port, an SL that is on that lane everywhere, 0: there is none. */
static uint16_t lanes_of_copies(const struct repair *w)
{
	uint32_t vl = w->base->routing.mcast_vl, m = w->f->n_channels;

	if (!w->by_port)
		return (uint16_t)(1u << (w->shared ? 0 : vl));
	for (uint32_t sl = 0; sl < w->n_lanes; sl++) {
		uint32_t c = 0;

		while (c < m && osr_order_lane(&w->order, sl, c) == vl)
			c++;
		if (c == m)
			return (uint16_t)(1u << sl);
	}
	return 0;
}

enum osr_status osr__repair_mcast(struct repair *w, struct osr_diag *diag)
{
	struct osr_arena_mark mark = osr_arena_mark(w->job->scratch);
	const uint32_t *last = w->like_last ? w->lately.routing.mcast_parent : NULL;
	bool proven = w->n_lanes && w->r.claims & OSR_CLAIM_MULTICAST;
	struct forest t = { .w = w,
			    .lanes = proven ? lanes_of_copies(w) : 0,
			    .parent = w->r.mcast_parent };
	enum osr_status st = OSR_OK;

	w->r.mcast_vl = w->base->routing.sl2vl || !w->by_turn ? w->base->routing.mcast_vl : 0;
	if (!t.parent) {
		w->r.claims &= ~(uint32_t)OSR_CLAIM_MULTICAST;
		return OSR_OK;
	}
	if (!forest_init(&t, w->f, w->job->scratch))
		return osr__repair_nomem(diag);
	if (last)
		memcpy(t.parent, last, w->f->n_switches * sizeof(*last));
	find_pieces(&t);
	if ((proven && !t.lanes) || !add_pieces(&t) || !join_all(&t))
		st = osr_fail(diag, OSR_NOT_APPLICABLE,
			      "the spanning tree of multicast no longer reaches every switch on "
			      "the lanes of the tables that are kept");
	osr_arena_reset(w->job->scratch, mark);
	return st;
}

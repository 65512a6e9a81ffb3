/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The order of nodes (lane, channel) while routes are added: a turn that falls makes the nodes between its
 * ends move, unless it would close a cycle (toporder.h). Nothing that was ever there is taken out, so old and
 * new routes rise in the same order. Turns that nothing takes yet get whatever lane serves. VLs that shared the ranks
 * of one lane go their own ways: more turns fit than between lanes.
 */
#include <string.h>

#include "turn_keep_private.h"

#define KEEP_ORDER_WORK                                                                            \
	256 /* nodes looked at by searches, for each there is: then the order stays */

static osr_toporder_edges keep_edges;

static uint32_t keep_edges(const void *graph, uint32_t node, bool back, uint32_t *out)
{
	const struct keep *k = graph;
	const struct osr_fabric *fabric = k->f;
	uint32_t m = fabric->n_channels, c = node % m, lane = node / m, v = fabric->chan_src[c],
		 n = 0;

	for (uint32_t t = k->w.g.row[c]; !back && t < k->w.g.row[c + 1]; t++)
		if (k->feed[t] >> lane & 1)
			out[n++] = k->w.lane[t] * m + osr_cdg_target(&k->w.g, c, t);
	for (uint32_t o = fabric->chan_row[v]; back && o < fabric->chan_row[v + 1]; o++) {
		uint32_t a = fabric->chan_rev[o], t = k->w.g.row[a] + c - fabric->chan_row[v];

		for (uint16_t in = k->w.lane[t] == lane ? k->feed[t] : 0; in; in &= in - 1)
			out[n++] = (uint32_t)__builtin_ctz(in) * m + a;
	}
	return n;
}

enum osr_status osr__keep_order_begin(struct keep *k, struct osr_diag *why)
{
	const struct osr_fabric *fabric = k->f;
	struct osr_arena *scratch = k->job->scratch;
	uint32_t n_nodes = k->w.n_lanes * fabric->n_channels, degree = 0;
	enum osr_status st;

	for (uint32_t v = 0; v < fabric->n_switches; v++)
		if (fabric->chan_row[v + 1] - fabric->chan_row[v] > degree)
			degree = fabric->chan_row[v + 1] - fabric->chan_row[v];
	if (k->job->request.multicast)
		osr__keep_feed_order(k);
	/* The same order, if it is one; no two nodes are alike in it. */
	if (!osr__turn_sort(&k->w, k->feed, k->w.rank, k->work, k->sorted))
		return osr__keep_not(why, "the previous VLs by turn have no order");
	memcpy(k->w.rank, k->sorted, n_nodes * sizeof(*k->sorted));
	osr__turn_set_reach(&k->w);
	k->order = (struct osr_toporder){ .n = n_nodes,
					  .max_degree = (degree + 1) * k->w.n_lanes,
					  .edges = keep_edges,
					  .graph = k,
					  .rank = k->w.rank };
	st = osr_toporder_init(&k->order, scratch, why);
	k->undo = osr_alloc(scratch, 3 * ((size_t)degree + 1), sizeof(*k->undo));
	if (!st && !k->undo)
		st = osr_fail(why, OSR_NOMEM, "out of memory for re-routing with lanes by turn");
	return st;
}

static void keep_note(struct keep *k, uint32_t a, uint32_t t)
{
	k->undo[k->n_undo++] =
		(struct keep_undo){ a, t, k->n_fed, k->feed[t], k->w.lane[t], k->used[t] };
}

void osr__keep_undo(struct keep *k, uint32_t n_undo)
{
	while (k->n_undo > n_undo) {
		const struct keep_undo *undo = &k->undo[--k->n_undo];
		uint32_t t = undo->turn;

		osr__keep_set_lane(k, undo->chan, osr_cdg_target(&k->w.g, undo->chan, t),
				   undo->lane);
		k->feed[t] = undo->feed;
		k->used[t] = undo->used;
		k->n_fed = undo->n_fed;
	}
}

/* Nodes have moved: at[] of the turns that lead to them. */
static void keep_moved(struct keep *k, const uint32_t *nodes, uint32_t n)
{
	const struct osr_fabric *fabric = k->f;

	for (uint32_t i = 0; i < n; i++) {
		uint32_t lane = nodes[i] / fabric->n_channels, c = nodes[i] % fabric->n_channels,
			 v = fabric->chan_src[c];

		for (uint32_t o = fabric->chan_row[v]; o < fabric->chan_row[v + 1]; o++) {
			uint32_t t = k->w.g.row[fabric->chan_rev[o]] + c - fabric->chan_row[v];

			if (k->w.lane[t] == lane)
				k->w.at[t] = k->w.rank[nodes[i]];
		}
	}
}

/* Packets on these lanes of channel a take turn t. */
static bool keep_feed(struct keep *k, uint32_t a, uint32_t t, uint16_t lanes)
{
	uint32_t m = k->f->n_channels, head = k->w.lane[t] * m + osr_cdg_target(&k->w.g, a, t);
	uint16_t missing = lanes & (uint16_t)~k->feed[t];

	if (missing)
		keep_note(k, a, t);
	for (; missing; missing &= (uint16_t)(missing - 1)) {
		uint32_t tail = (uint32_t)__builtin_ctz(missing) * m + a;

		if (k->w.rank[tail] >= k->w.rank[head]) {
			if ((k->never[t] & missing & -missing) ||
			    k->order.work > (uint64_t)KEEP_ORDER_WORK * k->order.n)
				return false;
			if (!osr_toporder_rise(&k->order, tail, head)) {
				if (!k->n_fed && k->used[t])
					k->never[t] |= (uint16_t)(missing & -missing);
				return false;
			}
			keep_moved(k, k->order.after, k->order.n_after);
			keep_moved(k, k->order.before, k->order.n_before);
		}
		k->feed[t] |= missing & (uint16_t)-missing;
		k->n_fed++;
	}
	return true;
}

/* Packets on these lanes of a channel take a turn, and from there the next one; OSR_NONE: there is none. */
struct keep_turn {
	uint32_t chan, turn, next;
	uint16_t lanes;
};

static bool keep_on_lane(struct keep *k, const struct keep_turn *turn, uint32_t lane)
{
	uint32_t n_undo = k->n_undo, t = turn->turn, c = osr_cdg_target(&k->w.g, turn->chan, t);
	uint8_t used = k->used[t];

	keep_note(k, turn->chan, t);
	osr__keep_set_lane(k, turn->chan, c, lane);
	k->used[t] = used; /* what is found about another lane of a turn is not for ever */
	if (!keep_feed(k, turn->chan, t, turn->lanes) ||
	    (turn->next != OSR_NONE && !keep_feed(k, c, turn->next, (uint16_t)(1u << lane)))) {
		osr__keep_undo(k, n_undo);
		return false;
	}
	k->used[t] = 1;
	return true;
}

static bool keep_turn(struct keep *k, const struct keep_turn *turn)
{
	uint32_t t = turn->turn, was = k->w.lane[t];

	/* SL2VL tables change only where they must. */
	if (keep_on_lane(k, turn, was))
		return true;
	for (uint32_t l = 0; l < k->w.n_lanes && !k->used[t]; l++)
		if (l != was && keep_on_lane(k, turn, l))
			return true;
	return false;
}

static uint32_t keep_next(const struct keep *k, const uint8_t *hop, uint32_t root, uint32_t c)
{
	uint32_t u = k->f->chan_dst[c];

	return u == root ? OSR_NONE : k->w.g.row[c] + hop[u];
}

bool osr__keep_enter(struct keep *k, const uint8_t *hop, uint32_t root, uint32_t c, uint16_t lanes)
{
	struct keep_turn turn = { .chan = c, .turn = keep_next(k, hop, root, c), .lanes = lanes };

	if (turn.turn == OSR_NONE)
		return true;
	turn.next = keep_next(k, hop, root, osr_cdg_target(&k->w.g, c, turn.turn));
	return keep_turn(k, &turn);
}

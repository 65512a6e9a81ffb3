/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * order.h - an order of nodes (lane, channel), and the scheme of lanes that goes with it: the
 * certificate of freedom from deadlock (docs/theory.md).
 *
 * The scheme L(turn, lane) says on which lane a packet goes on over a turn:
 *	by SL	(neither lane nor vl)	on the lane that it holds
 *	by turn	(lane)			on lane[turn]
 *	by port	(vl)			on the lane of its class, for us its SL, on the next channel; masks of
 *					lanes are masks of classes below
 * A turn that packets on lane l of c0 take makes node (L(turn, l), c1) depend on node (l, c0).
 * Where all dependencies rise in rank[] there is no cycle among them (Dally, Seitz 1987).
 *
 * An order comes about in three ways: it is known from a shape, fitted to weights of turns (fit.h),
 * or grown: turns are added one by one, or refused.
 *
 * osr_order_add() makes a turn rise by moving nodes between its two ends, or refuses it if that
 * closes a cycle. Source: Pearce, Kelly: A dynamic topological sort algorithm for directed acyclic
 * graphs, ACM JEA 11, 2006: the nodes reached from its head and the nodes that reach its tail,
 * ranked between the two, share the places that they hold together in a new way.
 *
 * Turns can be taken back to a mark: an order of more turns is one of fewer, so ranks stay as they
 * are. Turns that were added before osr_order_begin() are there for good. A turn that closes a
 * cycle with these is remembered, and refused at once from then on: the graph only grows.
 */
#ifndef OSR_CORE_ORDER_H
#define OSR_CORE_ORDER_H

#include <osmroutes/fabric.h>
#include <osmroutes/status.h>

struct osr_order {
	const struct osr_fabric *fabric;
	uint32_t n_lanes;
	uint8_t *lane; /* [n_turns] on which packets go on. NULL: by SL, or by port */
	/*
	 * [n_classes * n_channels] by port; else NULL. The caller's to set; no class leaves
	 * n_lanes.
	 */
	const uint8_t *vl;
	/*
	 * [n_lanes * n_channels] of nodes. By turn a permutation of all nodes, by SL one for each
	 * lane.
	 */
	uint32_t *rank;

	/* For searches (core/lanes/search.h), by osr_order_set_rises() out of rank and lane. */
	uint8_t all;       /* all lanes: the mask of a root */
	uint8_t *rises;    /* [n_turns] lanes of the first channel from which the turn rises */
	uint32_t *to_rank; /* [n_turns] by turn: rank of the node that the turn leads to */

	/* Of an order that grows: osr_order_init(). Its ranks are a permutation of all nodes. */
	uint32_t *at;    /* [n_lanes * n_channels] inverse of rank */
	uint16_t *used;  /* [n_turns] lanes of the first channel whose packets take the turn */
	uint16_t *never; /* [n_turns] lanes on which the turn closes a cycle for good */
	uint64_t work;   /* nodes that searches have looked at */
	/* Nodes that searches may look at; then no node moves any more. The caller's to set. */
	uint64_t max_work;
	uint32_t *after,
		*before; /* [n_lanes * n_channels] of the nodes that the last turn has moved */
	uint8_t *seen;   /* [n_lanes * n_channels] all 0 between searches */
	/* Turns as they were before each change since osr_order_begin(). */
	struct osr_order_step {
		uint32_t turn;
		uint16_t used;
		uint8_t lane;
	} * log;
	uint32_t n_log, max_log;
};

/* ---- for searches ---------------------------------------------------------------------------- */

/* Sets all, rises and to_rank, after rank, lane or n_lanes have changed. O(turns * lanes). */
void osr_order_set_rises(struct osr_order *order);

/*
 * The lanes from which a turn may be taken if the route behind it is legal from the lanes of
 * `mask`: start(c0) of docs/theory.md. By turn it is 0 where lane 0 is not among them, because
 * hosts begin there.
 */
static inline __attribute__((always_inline)) uint8_t
osr_order_enter(const struct osr_order *order, uint32_t turn, uint8_t mask, bool by_turn)
{
	uint8_t rises = order->rises[turn];

	if (!by_turn)
		return mask & rises;
	return mask >> order->lane[turn] & rises & 1 ? rises : 0;
}

/* An unused turn goes on on this lane; rises and to_rank follow. By turn. */
void osr_order_relabel(struct osr_order *order, uint32_t c0, uint32_t c1, uint8_t lane);

/* ---- known orders ---------------------------------------------------------------------------- */

/*
 * Numbers the switches breadth first, one component after the other, each from its root:
 * place[n_switches], 0 the first, and by_place[n_switches] its inverse.
 */
void osr_order_number(const struct osr_fabric *fabric, const uint32_t *roots, uint32_t *place,
		      uint32_t *by_place);

/* ---- an order that grows --------------------------------------------------------------------- */

/*
 * No turn is used yet, and all turns go on on lane 0 if by_turn. Nodes start in the order of
 * keys[n_lanes * n_channels], equal keys in the order of their numbers. At most `longest` turns are
 * added between osr_order_begin() and the next; more are refused. OSR_NOMEM only.
 */
enum osr_status osr_order_init(struct osr_order *order, const struct osr_fabric *fabric,
			       uint32_t n_lanes, bool by_turn, const uint32_t *keys,
			       uint32_t longest, struct osr_arena *scratch, struct osr_diag *diag);

/*
 * Places rank[n] = 0 .. n-1 by key, ties by number: least significant digit first, 8 bits at a time
 * (with 16 the counts of a small fabric would cost far more than its channels), digits that are all
 * alike left out. from[n], to[n]: room.
 */
void osr_order_place(const uint32_t *keys, uint32_t n, uint32_t *from, uint32_t *to,
		     uint32_t *rank);

/* The lane on which packets of a class hold channel c. */
static inline uint32_t osr_order_lane(const struct osr_order *order, uint32_t class, uint32_t c)
{
	return order->vl ? order->vl[(size_t) class * order->fabric->n_channels + c] : class;
}

/* The lanes on which packets that came on these go on over the turn. */
static inline uint16_t osr_order_next(const struct osr_order *order, uint32_t turn, uint16_t lanes)
{
	return order->lane && lanes ? (uint16_t)(1u << order->lane[turn]) : lanes;
}

/*
 * Packets on these lanes of c1 take the turn to c2. False: that closes a cycle, and nothing has
 * changed.
 */
bool osr_order_add(struct osr_order *order, uint32_t c1, uint32_t c2, uint16_t lanes);

/* An unused turn goes on on this lane. False: the log is full, and nothing has changed. */
bool osr_order_set_lane(struct osr_order *order, uint32_t turn, uint8_t lane);

static inline void osr_order_begin(struct osr_order *order)
{
	order->n_log = 0;
}

/* Takes back all changes since the log had n_log entries. */
void osr_order_undo(struct osr_order *order, uint32_t n_log);

#endif

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * node_order.h - an order of nodes (lane, channel) to which turns are added one by one, or refused.
 *
 * A turn (c1, c2) leads from a channel to one of the switch that c1 leads to. The scheme says on which lane a
 * packet goes on: on the one that it holds (neither lane nor vl: lanes by SL, or a single lane); on lane[turn]
 * (lanes by turn); or on that of its class, for us its SL, on the next channel (vl: lanes by SL and port). Then
 * masks of lanes are masks of classes below. A turn that packets on lane l of c1 take makes node (L(turn, l), c2)
 * depend on node (l, c1).
 * All these dependencies rise in rank[], so there is no cycle among them: the order is the certificate of
 * freedom from deadlock (Dally, Seitz 1987).
 *
 * osr_order_add() makes a turn rise by moving nodes between its two ends, or refuses it if that closes a cycle.
 * Source: Pearce, Kelly: A dynamic topological sort algorithm for directed acyclic graphs, ACM JEA 11, 2006: what can be
 * reached from its head, and what reaches its tail, ranked between the two, share out the places they hold together anew.
 *
 * Turns can be taken back to a mark: an order of more turns is one of fewer, so ranks stay as they
 * are. What is in before osr_order_begin() is for good. A turn that closes a cycle with that is remembered and
 * refused at once from then on: the graph only grows.
 */
#ifndef OSR_CORE_ORDER_H
#define OSR_CORE_ORDER_H

#include <osmroutes/fabric.h>
#include <osmroutes/status.h>

struct osr_order {
	const struct osr_fabric *f;
	uint32_t n_lanes;
	uint16_t *used;  /* [n_turns] lanes of the first channel whose packets take the turn */
	uint16_t *never; /* [n_turns] lanes on which the turn closes a cycle for good */
	uint8_t *
		lane; /* [n_turns] on which packets go on; it is fixed once the turn is used. NULL: they stay */
	const uint8_t *
		vl; /* [n_classes * n_channels] or NULL; the caller's to set, no class leaves n_lanes */
	uint64_t
		max_work; /* nodes that searches may look at; then no node moves any more. The caller's to set */
	uint32_t *rank; /* [n_lanes * n_channels] of nodes, a permutation */
	uint32_t *at;   /* [n_lanes * n_channels] its inverse */
	uint64_t work;  /* nodes that searches have looked at */

	/* Of the nodes that the last turn has moved, and of searches. */
	uint32_t *after, *before; /* [n_lanes * n_channels] */
	uint8_t *seen;            /* [n_lanes * n_channels] all 0 in between */

	/* Turns as they were before each change since osr_order_begin(). */
	struct osr_order_step {
		uint32_t turn;
		uint16_t used;
		uint8_t lane;
	} * log;
	uint32_t n_log, max_log;
};

/*
 * No turn is used yet, and all go on on lane 0 if by_turn. Nodes start in the order of keys[n_lanes * n_channels],
 * equal ones in that of their numbers. At most `longest` turns are added between osr_order_begin() and the next;
 * more are refused. OSR_NOMEM only.
 */
enum osr_status osr_order_init(struct osr_order *order, const struct osr_fabric *fabric,
			       uint32_t n_lanes, bool by_turn, const uint32_t *keys,
			       uint32_t longest, struct osr_arena *scratch, struct osr_diag *diag);

/*
 * Places rank[n] = 0 .. n-1 by key, ties by number: least significant digit first, 8 bits at a time (with 16 the counts
 * of a small fabric would cost far more than its channels), digits that are all alike left out. from[n], to[n]: room.
 */
void osr_order_place(const uint32_t *keys, uint32_t n, uint32_t *from, uint32_t *to,
		     uint32_t *rank);

/* The lane on which packets of a class hold channel c. */
static inline uint32_t osr_order_lane(const struct osr_order *order, uint32_t class, uint32_t c)
{
	return order->vl ? order->vl[(size_t) class * order->f->n_channels + c] : class;
}

/* The lanes on which packets that came on these go on over the turn. */
static inline uint16_t osr_order_next(const struct osr_order *order, uint32_t turn, uint16_t lanes)
{
	return order->lane && lanes ? (uint16_t)(1u << order->lane[turn]) : lanes;
}

/* Packets on these lanes of c1 take the turn to c2. False: that closes a cycle, and nothing has changed. */
bool osr_order_add(struct osr_order *order, uint32_t c1, uint32_t c2, uint16_t lanes);

/* An unused turn goes on on this lane. False: the log is full, and nothing has changed. */
bool osr_order_set_lane(struct osr_order *order, uint32_t turn, uint8_t lane);

static inline void osr_order_begin(struct osr_order *order)
{
	order->n_log = 0;
}

/* Takes back what has been changed since the log had n_log entries. */
void osr_order_undo(struct osr_order *order, uint32_t n_log);

#endif

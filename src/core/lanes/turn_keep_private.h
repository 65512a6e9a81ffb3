/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* What the files of re-routing with lanes by turn share: turn_keep.c, _tree.c, _balance.c, _mcast.c. */
#ifndef OSR_TURN_KEEP_PRIVATE_H
#define OSR_TURN_KEEP_PRIVATE_H

#include <osmroutes/toporder.h>

#include "turn_private.h"

struct keep {
	const struct osr_job *job;
	const struct osr_fabric *f;
	const struct osr_result *base;
	struct osr_spf s;
	struct turns w;
	struct osr_routing r;      /* in the numbering of today */
	bool grown;                /* there are LIDs that the baseline did not know */
	uint32_t *everywhere;      /* [n_switches] osr__keep_extend() */
	uint32_t *highest;         /* [n_channels] keep_spread_pass() */
	uint8_t *before;           /* [n_switches] hops of one tree before it was touched */
	uint8_t *whole;            /* [n_switches] and whether the route from here was whole then */
	struct osr_toporder order; /* of nodes: all that feed says rises in it */
	struct keep_undo {
		uint32_t chan, turn, n_fed;
		uint16_t feed;
		uint8_t lane, used;
	} * undo; /* what the turns of a route that is tried were before */
	uint32_t n_undo, n_fed;
	uint16_t *
		never; /* [n_slots] lanes on which this turn, as others depend on it, closes a cycle */
	uint32_t *
		refused; /* [n_channels] no route into the tree that has this mark begins with it */
	uint32_t mark;
	uint16_t *feed; /* [n_slots] lanes whose packets take this turn, of routes that are there */
	uint16_t *feed_all;  /* [n_slots] and of multicast on a spanning order that is tried */
	uint32_t *sorted;    /* [n_nodes] an order that is tried */
	uint32_t *work;      /* [2 * n_nodes] osr__turn_sort() */
	uint8_t *used;       /* [n_slots] some route or multicast has this turn: its lane stays */
	const uint8_t *last; /* [n_dests * n_switches] ports of the last sweep, or NULL */
	uint8_t *touched;    /* [n_dests] some entry is another one */
	uint8_t *sent;       /* [n_switches * blocks] and these blocks of 64 LIDs */
};

/* OSR_NOT_APPLICABLE, for this reason. */
static inline enum osr_status osr__keep_not(struct osr_diag *why, const char *reason)
{
	return osr_fail(why, OSR_NOT_APPLICABLE, "%s", reason);
}

/* Is c, in one direction or the other, on the spanning order? */
static inline bool osr__keep_on_tree(const struct keep *k, uint32_t c)
{
	const struct osr_fabric *fabric = k->f;
	const uint32_t *parent = k->w.t.escape;

	return parent[fabric->chan_src[c]] == c ||
	       parent[fabric->chan_dst[c]] == fabric->chan_rev[c];
}

/*
 * turn_keep.c: lanes of each class of SLs; 0: the classes are not alike. The lanes of all turns from the SL2VL
 * tables, and into them where they are others.
 */
uint32_t osr__keep_lanes(const struct osr_routing *old);
void osr__keep_read_lanes(struct keep *k);
void osr__keep_write_lanes(struct keep *k);

/*
 * turn_keep_tree.c. Turns that no route of the baseline has keep the lanes of the last sweep, and multicast
 * its order: so when something returns, old and new tables have the same SL2VL tables.
 */
enum osr_status osr__keep_last(struct keep *k, struct osr_diag *why);
/* Turns of routes that are there, and of what is left of multicast. */
void osr__keep_mark_used(struct keep *k);
void osr__keep_mark_order(struct keep *k);
enum osr_status osr__keep_trees(struct keep *k, struct osr_diag *why);

/* turn_keep_balance.c: limit as osr_turn_reroute()'s drift. */
enum osr_status osr__keep_balance(struct keep *k, uint32_t limit, struct osr_diag *why);

/* turn_keep_mcast.c: the turn from c0 to c1 gets this lane and is in use. */
void osr__keep_set_lane(struct keep *k, uint32_t c0, uint32_t c1, uint32_t lane);
/* Switches beyond those between hosts hang on the spanning order, where that rises. */
void osr__keep_extend(struct keep *k);
enum osr_status osr__keep_spread(struct keep *k, struct osr_diag *why);
/* What packets on the spanning order do, whose turns have their lanes. */
void osr__keep_feed_order(struct keep *k);

/* turn_keep_order.c: once the spanning order is there. */
enum osr_status osr__keep_order_begin(struct keep *k, struct osr_diag *why);
/*
 * Packets on these lanes of channel c enter a tree whose hops from there on are known. False: their turns
 * would close a cycle, and nothing has changed.
 */
bool osr__keep_enter(struct keep *k, const uint8_t *hop, uint32_t root, uint32_t c, uint16_t lanes);
/* What has been entered since then is taken back. */
void osr__keep_undo(struct keep *k, uint32_t n_undo);

#endif

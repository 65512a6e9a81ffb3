/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * What the files of repair.h share. The theory is at the top of repair.c. Files call only those
 * below them:
 *	repair.c	one repair, step by step; the work before and after it
 *	cut.c		one LID: which switches are cut off, and the paths left to them; balance
 *	spanning.c	the spanning tree of multicast
 *	grants.c	lanes by SL: which lanes a pair needs, other lanes for it
 *	baseline.c	the tables, order and loads to start from; one route
 *
 * Everything is in the numbering of the current fabric, into which earlier tables have been carried
 * (carry.h). Entries are hops (tree.h) until hand_over().
 */
#ifndef OSR_REPAIR_PRIVATE_H
#define OSR_REPAIR_PRIVATE_H

#include "core/data/carry.h"
#include "core/order/order.h"
#include "core/repair/repair.h"
#include "core/route/tree.h"

#define OSR_SL_OPEN 255 /* of a pair that has none yet */

/* The state of a switch in the tree of one LID. */
enum {
	TREE_CUT = 1,    /* it has lost its route */
	TREE_KNOWN = 2,  /* it has a route of len channels */
	TREE_FORCED = 4, /* it goes along the spanning tree, whatever happens */
	TREE_WHOLE = 8,  /* its route was there, and gave way to another switch's */
};

/* The tree of one LID while it is repaired. */
struct repair_tree {
	uint8_t *mark;         /* [n_switches] TREE_... */
	uint32_t *len;         /* [n_switches] */
	uint32_t *list;        /* [n_switches] the switches that are cut */
	uint32_t n;            /* how many; those whose own entry is gone come first */
	struct osr_tree whole; /* routes that are there: osr_repair_lay_out() */
	uint32_t *stack;       /* [n_switches] */
	uint32_t *span;        /* [n_switches] channels to the LID along the spanning tree */
	uint32_t *flow;        /* [n_switches] end ports that sent through a cut switch */
	uint64_t *expected;    /* [n_channels] of flows whose paths are not all found yet */
	uint8_t *old;          /* [n_switches] entries before */
	uint16_t *lanes;       /* [n_switches] by SL: lanes of everything that comes through */
};

/*
 * On which lane a packet goes on: the scheme of order.h, and what of it must stay safe. NONE: the
 * earlier tables have no certificate. ONE_LANE: lanes by SL, and any SL is safe, so that one lane
 * stands for all. BY_SL: a pair is on its SL, and on those that it was given. BY_PORT: the same, and
 * an SL has a lane on each channel; masks of lanes are of SLs, and earlier SLs are not kept.
 */
enum repair_scheme { SCHEME_NONE, SCHEME_ONE_LANE, SCHEME_BY_SL, SCHEME_BY_PORT, SCHEME_BY_TURN };

struct repair {
	const struct osr_job *job;
	const struct osr_fabric *fabric;
	const struct osr_result *base, *last;
	struct osr_fabric_map then; /* the fabric, in that of the baseline */
	struct osr_earlier lately;  /* the last sweep's tables */

	enum repair_scheme scheme;
	bool spare;       /* see osr_repair() */
	bool like_last;   /* routes of the last sweep are preferred and stay in the order */
	bool grown;       /* there are LIDs or switches that the baseline did not know */
	bool no_memory;   /* while lanes were looked for */
	bool longer;      /* all shortest paths of a switch were refused */
	bool other_sl;    /* by SL: pairs that find no path on their SLs get others */
	bool again;       /* a tree found no path, and has not been first yet */
	unsigned tries;   /* attempts so far, this one included; 0: no repair */
	uint8_t *front;   /* [n_dests] trees that found no path in an earlier attempt: first */
	uint32_t n_lanes; /* by port: SLs */
	uint32_t n_vls;   /* lanes of the order */
	uint16_t *inject; /* [n_channels] by turn: lanes on which end ports send */
	struct osr_order order;

	struct osr_routing routing; /* in the making */
	/* [n_dests * n_switches] earlier SLs; NULL: there are none */
	uint16_t *grants;
	uint32_t *dest_row, *dest_list; /* LIDs by switch */
	/*
	 * [n_switches] parents in the spanning tree of multicast, or in another one whose turns are
	 * in the order; NULL: there is none
	 */
	const uint32_t *span;
	uint8_t *touched;  /* [n_dests] entries are not the baseline's or the last sweep's */
	uint64_t *load;    /* [n_channels] */
	uint64_t attempts; /* attempts left to keep an earlier SL */
	struct repair_tree tree;
};

/* Do pairs of a switch and a LID have SLs of their own? */
static inline bool osr_repair_has_sls(const struct repair *repair)
{
	return repair->scheme == SCHEME_BY_SL || repair->scheme == SCHEME_BY_PORT;
}

static inline enum osr_status osr_repair_nomem(struct osr_diag *diag)
{
	return osr_fail(diag, OSR_NOMEM, "out of memory for repairing tables");
}

/*
 * By turn, the i-th choice of the lane on which packets go on. First the lane that the turn has,
 * because SL2VL tables change only where they must; then, if the turn is unused, any other lane.
 * False: no lane is left, or lanes go by SL.
 */
static inline bool osr_repair_choose_lane(struct repair *repair, uint32_t turn, uint32_t i)
{
	struct osr_order *order = &repair->order;

	return !i || (order->lane && i < repair->n_lanes && !order->used[turn] &&
		      osr_order_set_lane(order, turn, (uint8_t)(i - (i <= order->lane[turn]))));
}

/* The channel by which v sends to d, in its row of hops; OSR_NONE: v has no route. */
static inline uint32_t osr_repair_next(const struct repair *repair, const uint8_t *row, uint32_t v)
{
	return osr_hop_channel(repair->fabric, v, row[v]);
}

static inline uint8_t *osr_repair_row(const struct repair *repair, uint32_t d)
{
	return repair->routing.lft + (size_t)d * repair->fabric->n_switches;
}

/* The entries of the last sweep for d. */
static inline const uint8_t *osr_repair_last_row(const struct repair *repair, uint32_t d)
{
	return repair->lately.routing.lft + (size_t)d * repair->fabric->n_switches;
}

/* ---- baseline.c ------------------------------------------------------------------------------ */

enum osr_status osr_repair_alloc(struct repair *repair, struct osr_diag *diag);
/* Earlier tables as hops of the current fabric, without the LIDs that are on another switch now. */
enum osr_status osr_repair_carry(const struct repair *repair, const struct osr_fabric *from,
				 const struct osr_routing *was, struct osr_arena *arena,
				 struct osr_earlier *earlier, struct osr_diag *diag);
/* The baseline's tables on the current fabric, in repair->routing. */
enum osr_status osr_repair_tables(struct repair *repair, struct osr_arena *result,
				  struct osr_diag *diag);
/* repair->routing.lane_deps of these tables, in `result`. */
enum osr_status osr_repair_deps(struct repair *repair, struct osr_arena *result,
				struct osr_diag *diag);
/* The order of repair->routing, with all turns that its routes take. */
enum osr_status osr_repair_order(struct repair *repair, struct osr_diag *diag);
/* The finished tables `routing` are those of repair->routing, as hops in scratch. */
enum osr_status osr_repair_take(struct repair *repair, const struct osr_routing *routing,
				struct osr_diag *diag);
/* Routes that are whole, on each channel. */
void osr_repair_loads(struct repair *repair);
/*
 * Adds the routes that the last sweep left on switches, where they differ from the baseline's, to
 * the order.
 */
void osr_repair_add_last(struct repair *repair);
/* Does the lane depend on SL and output port alone, whatever the input port? */
bool osr_repair_is_by_port(const struct osr_fabric *fabric, const struct osr_routing *routing);
/* VLs of SLs on channel c, where they do not depend on the input port. */
const uint8_t *osr_repair_port_vls(const struct osr_fabric *fabric,
				   const struct osr_routing *routing, uint32_t c);
/* By turn: lanes of each class of SLs. 0: the classes are not alike. */
uint32_t osr_repair_lanes(const struct osr_routing *old);
void osr_repair_write_lanes(struct repair *repair);

/*
 * Adds the turns of packets that enter channel c on these lanes and go on along row to d, as far as
 * row leads. False: a turn closes a cycle, and nothing has changed. By turn an unused first turn
 * takes the lane that serves.
 */
bool osr_repair_route(struct repair *repair, uint32_t d, const uint8_t *row, uint32_t c,
		      uint16_t lanes);
/* Lanes of packets that hosts of v send to d by channel c. */
uint16_t osr_repair_start(const struct repair *repair, uint32_t d, uint32_t v, uint32_t c);

/* ---- grants.c -------------------------------------------------------------------------------- */

/* Does any packet travel from switch v to d? As check.h counts. */
static inline bool osr_repair_is_used(const struct osr_fabric *fabric, uint32_t d, uint32_t v)
{
	return fabric->sw_sources[v] || fabric->term_weight[fabric->dest_term[d]];
}

/* Lanes by SL: the lanes that must be safe on the route from v to d. */
uint16_t osr_repair_need(const struct repair *repair, uint32_t d, uint32_t v);
/* May v send by channel c, into a tree that is settled from there on? It is about to. */
bool osr_repair_commit(struct repair *repair, uint32_t d, const uint8_t *row, uint32_t v,
		       uint32_t c);
/* Adds earlier SLs on the routes of d that are not cut; counts the SLs that cannot be kept. */
void osr_repair_keep_grants(struct repair *repair, uint32_t d);
/* ---- spanning.c ------------------------------------------------------------------------------ */

enum osr_status osr_repair_mcast(struct repair *repair, struct osr_diag *diag);
/*
 * Adds the turns of multicast along parent[] on this lane to the order, unless one closes a cycle.
 */
enum osr_status osr_repair_add_tree(struct repair *repair, uint32_t *parent, unsigned lane);

/* ---- cut.c ----------------------------------------------------------------------------------- */

/* Appends all switches whose route along row passes a switch that is on the list. */
void osr_repair_upstream(struct repair *repair, uint32_t root, const uint8_t *row);
enum osr_status osr_repair_cut(struct repair *repair, uint32_t d, struct osr_diag *diag);
/*
 * Moves LIDs off channels that carry more than they must, and notes how far the busiest channel is
 * from the expected load.
 */
enum osr_status osr_repair_balance(struct repair *repair, struct osr_diag *diag);

#endif

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * What the files of reroute.h share. The theory is at the top of reroute.c. Files call only those above them:
 *	reroute.c		one re-route, step by step; what is done before and after one
 *	reroute_balance.c	the busiest channel
 *	reroute_tree.c		one LID: who is cut off, and the shortest paths that are left
 *	reroute_mcast.c		the spanning order of multicast
 *	reroute_mix.c		dependencies of packets that meet old and new entries
 *	reroute_lanes.c		the VLs of a pair; unicast that gives way to multicast
 *	reroute_tables.c	which element is which; where a re-route starts; its result
 *	reroute_deps.c		the dependency graph of every VL, kept acyclic
 *
 * All indices refer to one fabric x, mostly the baseline's; elements missing from the fabric of today (f)
 * are inactive.
 */
#ifndef OSR_REROUTE_PRIVATE_H
#define OSR_REROUTE_PRIVATE_H

#include <osmroutes/toporder.h>

#include "core/data/fabric_map.h"
#include "core/paths/bound.h"
#include "core/reroute/reroute.h"

#define OSR__NO_SL 255           /* of a pair that has none yet */
#define OSR__NO_EPOCH UINT32_MAX /* no mark is that */

/* The dependencies of every lane, and an order of the channels in which all of them rise. */
struct osr__deps {
	const struct osr_fabric *x;
	uint32_t n_lanes;
	uint32_t *row; /* [n_channels + 1] slots, as in cdg.h */
	uint16_t *dep; /* [slots] a bit per lane */
	/*
	 * [slots] lanes on which this dependency was found to close a cycle with those there are
	 * for good: it always will, for the graph only grows.
	 */
	uint16_t *never;
	uint32_t *pos; /* [n_lanes * n_channels] no two alike in a lane */
	uint32_t lane; /* whose graph and places the order is about at the moment */
	struct osr_toporder order;
	/* What the last transaction has added. */
	struct osr__undo {
		uint32_t slot;
		uint16_t lanes;
	} * undo;
	uint32_t n_undo, max_undo;
};

/* Which element of the fabric of today (f) is which of x, and of the last sweep's. OSR_NONE: none. */
struct reroute_map {
	uint32_t *sw_x, *dest_x, *chan_x; /* of f, in x */
	uint32_t *sw_f, *dest_f, *chan_f; /* of x, in f */
	/* of x, in the last sweep's; NULL if the last result is the baseline itself */
	uint32_t *sw_last, *dest_last;
};

/* The tables in the making and what hangs on them, all in the numbering of x. */
struct reroute_tables {
	uint8_t *lft;      /* [n_dests * n_switches] */
	uint8_t *sl;       /* [n_dests * n_switches] or NULL */
	uint16_t *grants;  /* [n_dests * n_switches] or NULL: SLs given earlier */
	uint16_t *reply;   /* [n_switches^2] or NULL: SLs of what row answers to column */
	uint32_t *sources; /* [n_switches] end ports of today */
	uint64_t *load;    /* [n_channels] */
	uint32_t *dest_row, *dest_list; /* dests by switch */
	/* [n_dests] entries differ from the baseline's, or from those of the last sweep */
	uint8_t *touched;
	/* (dest, switch) pairs whose entry leads nowhere: cut[cut_row[d]] .. */
	uint32_t *cut_row, *cut;
};

/* The search in the tree of one LID. Marks are valid if they are the current epoch. */
struct reroute_tree {
	uint32_t epoch;
	uint32_t *in_u;     /* [n_switches] mark: the route is cut */
	uint32_t *known;    /* [n_switches] mark: len holds */
	uint32_t *len;      /* [n_switches] channels to the root */
	uint32_t *flow;     /* [n_switches] end ports that sent through a cut switch */
	uint64_t *expected; /* [n_channels] of flows whose paths are not all found yet */
	uint16_t *done;     /* [n_switches] VLs whose dependencies are all in the graph */
	uint32_t *u;        /* [n_switches] the switches that are cut */
	uint32_t n_u;
	uint8_t *old;      /* [n_switches] the entry in the baseline's table */
	uint8_t *last_row; /* [n_switches] the entries of the last sweep */
	uint32_t *mark;    /* [n_switches] of searches upstream */
	uint32_t n_marks;
	uint32_t *stack;               /* [n_switches] */
	uint32_t *head;                /* [n_switches + 2] switches to look at, by length */
	uint32_t *node_sw, *node_next; /* [n_channels + n_switches] */
	uint32_t n_nodes;
	uint32_t *settled; /* [n_switches] of one function */
	uint8_t *relaxed;  /* [n_switches] may get another SL */
};

/* How this attempt searches, and what came of it. */
struct reroute_outcome {
	uint8_t *front; /* [n_dests] trees that found no path in an earlier attempt: first */
	bool again;     /* there is one more since this attempt began */
	bool rejected;  /* a path was not free of cycles */
	bool bounces;   /* whatever a switch does, packets with old entries come back to it */
	bool no_memory;
	uint64_t attempts; /* of keeping a VL that may still fail */
	uint64_t n_longer;
	struct osr_stable stable;
};

struct osr__reroute {
	const struct osr_fabric *f; /* today */
	const struct osr_fabric *x; /* the baseline's, or f */
	const struct osr_reroute_options *opt;
	const struct osr_result *baseline, *last;
	const struct osr_routing *base; /* of which claims, VLs and ranks are taken */
	bool same;                      /* x is the baseline's: base is its routing */
	bool shared;                    /* one graph for all VLs */
	bool new_ways;                  /* there are channels that the last sweep did not have */
	bool deviates;                  /* the last sweep had SLs that the baseline does not have */
	uint8_t max_vls;
	uint32_t n_lanes; /* 0: no certificate */
	struct osr__deps deps;
	struct reroute_map map;
	struct reroute_tables tab;
	struct reroute_tree tree;
	struct reroute_outcome out;
	struct osr_arena *scratch;
};

static inline enum osr_status osr__nomem(struct osr_diag *diag)
{
	return osr_fail(diag, OSR_NOMEM, "out of memory for re-routing");
}

/* reroute_tables.c */
enum osr_status osr__map(struct osr__reroute *w, struct osr_diag *diag);

/* Rows of `from`, in the numbering of map->from, in that of map->to; what it lacks is `missing`. */
void osr__copy_rows(const struct osr_fabric_map *map, const uint8_t *from, uint8_t missing,
		    uint8_t *to);
bool osr__same_size(const struct osr__reroute *w);
/* The tables in the making, in the result at once where numbers are the same. */
enum osr_status osr__take_tables(struct osr__reroute *w, struct osr_arena *result,
				 struct osr_diag *diag);
/* The LID itself: the port that its terminal hangs on today. */
void osr__set_roots(struct osr__reroute *w);
enum osr_status osr__sort_dests(struct osr__reroute *w, struct osr_diag *diag);
enum osr_status osr__alloc_tree(struct osr__reroute *w, struct osr_diag *diag);
/* The graph without any dependency, in the order that the base gives. */
enum osr_status osr__start_deps(struct osr__reroute *w, struct osr_diag *diag);
enum osr_status osr__collect_deps(struct osr__reroute *w, struct osr_diag *diag);
/* What cannot be added as it is is cut, to be found anew. */
void osr__add_newly_used(struct osr__reroute *w);
/* The SLs of earlier that the base's own certificate covers: part of its tables. */
enum osr_status osr__take_base_grants(struct osr__reroute *w, struct osr_diag *diag);
/* Those given out since then; osr__keep_grants() adds what they depend on. */
enum osr_status osr__take_later_grants(struct osr__reroute *w, struct osr_diag *diag);
/* The switches whose route to d is there, the root first, each after the one it sends to. */
uint32_t osr__order_tree(struct osr__reroute *w, uint32_t d, const uint8_t *row, uint32_t *order);

/* reroute_deps.c */
enum osr_status osr__deps_init(struct osr__deps *deps, const struct osr_fabric *fabric,
			       uint32_t n_lanes, const uint64_t *keys, struct osr_arena *scratch,
			       struct osr_diag *diag);
/*
 * Adds the dependency c1 -> c2 on these lanes (c2 leaves the switch c1 leads to). False if that
 * would close a cycle on one of them; then it is on none.
 */
bool osr__deps_add(struct osr__deps *deps, uint32_t c1, uint32_t c2, uint16_t lanes);
/* Everything added since begin is taken back by undo. */
void osr__deps_begin(struct osr__deps *deps);
void osr__deps_undo(struct osr__deps *deps);
void osr__deps_undo_to(struct osr__deps *deps, uint32_t n_undo);

static inline uint32_t osr__deps_slot(const struct osr__deps *deps, uint32_t c1, uint32_t c2)
{
	return deps->row[c1] + (c2 - deps->x->chan_row[deps->x->chan_dst[c1]]);
}

/* Do these lanes rise from c1 to c2 as things are? */
static inline bool osr__deps_rise(const struct osr__deps *deps, uint32_t c1, uint32_t c2,
				  uint16_t lanes)
{
	uint16_t missing = lanes & (uint16_t)~deps->dep[osr__deps_slot(deps, c1, c2)];

	for (; missing; missing &= (uint16_t)(missing - 1)) {
		const uint32_t *pos =
			deps->pos + (size_t)__builtin_ctz(missing) * deps->x->n_channels;

		if (pos[c1] >= pos[c2])
			return false;
	}
	return true;
}

static inline uint16_t osr__lanes_all(const struct osr__reroute *w)
{
	return (uint16_t)((1u << w->n_lanes) - 1);
}

/* reroute_lanes.c */
/* Does any packet travel from switch v to d? As check.h counts. */
bool osr__is_used(const struct osr__reroute *w, uint32_t d, uint32_t v);
/* May v send by channel c, into a tree that is settled from there on? */
bool osr__commit(struct osr__reroute *w, uint32_t d, const uint8_t *row, uint32_t v, uint32_t c);
/* The lanes that must be safe on the route from v to d. */
uint16_t osr__need(const struct osr__reroute *w, uint32_t d, uint32_t v);
/* Adds the dependencies of the route from v along row, which starts with channel c. */
bool osr__add_route(struct osr__reroute *w, uint32_t d, const uint8_t *row, uint32_t v, uint32_t c,
		    uint16_t lanes);
/* Lane k for all packets between v and the switch of d, whose routes are there so far. */
bool osr__try_pair(struct osr__reroute *w, uint32_t d, const uint8_t *row, uint32_t v, uint32_t c,
		   unsigned k);
/* The SL of the last sweep, if it was another one than the baseline's; else OSR__NO_SL. */
uint8_t osr__other_sl(const struct osr__reroute *w, uint32_t d, uint32_t v);
/*
 * SLs of earlier on the routes of d that are not cut (in_u); what cannot be kept is counted. Only
 * with w->tab.grants.
 */
void osr__keep_grants(struct osr__reroute *w, uint32_t d);

/* reroute_tree.c */
/* All switches whose way along row leads through one of u[0 .. n_u): appended to u. */
void osr__upstream(struct osr__reroute *w, uint32_t root, const uint8_t *row);
enum osr_status osr__repair_tree(struct osr__reroute *w, uint32_t d, struct osr_diag *diag);
/* The entries of the last sweep for d, where they lead along cables of today; else OSR_NO_PATH. */
void osr__last_row(const struct osr__reroute *w, uint32_t d, uint8_t *row);

/* reroute_balance.c */
/* Moves LIDs off channels that carry more than they must. */
enum osr_status osr__reroute_balance(struct osr__reroute *w, struct osr_diag *diag);

/* reroute_tables.c: the result */
/* What is taken over as it is. */
void osr__begin_result(const struct osr__reroute *w, struct osr_routing *routing);
enum osr_status osr__hand_over_ranks(struct osr__reroute *w, struct osr_arena *result,
				     struct osr_routing *routing, struct osr_diag *diag);
enum osr_status osr__hand_over(struct osr__reroute *w, struct osr_arena *result,
			       struct osr_routing *routing, struct osr_diag *diag);

/* reroute_mix.c */
/* What the last sweep left on the switches, where it differs from the baseline's. */
void osr__add_last(struct osr__reroute *w);
/*
 * Do all neighbours of v, by their old entries, send what comes to them for d to v? Then no tables by
 * which v reaches d can mix with the old ones without a cycle: v and the neighbour it takes. Notes it.
 */
void osr__look_for_bounce(struct osr__reroute *w, uint32_t d, uint32_t v);
void osr__add_mixtures(struct osr__reroute *w, const struct osr_routing *routing);

/* reroute_mcast.c */
/*
 * The way up of switch s of x, a channel of x, in the spanning order of the last sweep, or OSR_NONE;
 * its cable may be dead.
 */
uint32_t osr__last_parent(const struct osr__reroute *w, uint32_t s);
/* What the order of the base depends on, into the graph; its certificate has it. */
void osr__add_order(struct osr__reroute *w);
enum osr_status osr__repair_mcast(struct osr__reroute *w, struct osr_arena *result,
				  struct osr_routing *routing, struct osr_diag *diag);

/* reroute_lanes.c: multicast first */
/*
 * Multicast along parent[] (channels of x) on this lane, whatever unicast is in its way. False if a
 * pair fits no other lane; then the graph of the lane is not complete.
 */
bool osr__make_room(struct osr__reroute *w, const uint32_t *parent, unsigned lane);

/* The channel by which switch s of x sends out of port, if its cable is there today. */
static inline uint32_t osr__alive(const struct osr__reroute *w, uint32_t s, uint32_t port)
{
	uint32_t c = osr_port_channel(w->x, s, port);

	return c != OSR_NONE && w->map.chan_f[c] != OSR_NONE ? c : OSR_NONE;
}

#endif

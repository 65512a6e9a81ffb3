/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * turn.h - virtual lanes by turn: free of deadlock whatever SL a packet carries. docs/theory.md
 * says why.
 *
 * SL2VL tables are indexed by (input port, output port). If all 16 entries of a pair are alike, the
 * lane of the next channel is a function L(c1, c2) of the turn; what hosts send is on lane 0.
 * Replies are packets like others; multicast passes the same tables, on the escape tree.
 *
 * The search starts from lanes and an order (turn_order.c), and repeats
 *   - trees, whose routes rise in the order (search.h);
 *   - the lane of each turn that leaves the least weight of routes backward, the order fixed;
 *   - sifting of the order of nodes, the lanes fixed.
 * It ends with longer routes for what found no legal shortest one. It never fails: the turns of the
 * escape tree (up, then down) all rise from the beginning, and go on to rise whatever the search
 * changes.
 *
 * Source: for fabrics of diameter 2, DF-D2 (Schneider, Bibartiu, Hoefler, HOTI 2016); for
 * dragonflies, DLA (Maglione-Mathey et al., JPDC 2021). Any graph and any number of lanes: new
 * here.
 */
#ifndef OSMROUTES_TURN_H
#define OSMROUTES_TURN_H

#include "lanes_private.h"
#include "search.h"
#include "updown.h"

/*
 * The lanes that dimension order has left in job->turn, compared with the present shortest paths.
 * They are taken if they cost little. Otherwise they are forgotten if the fabric is small enough
 * for a cheap search; if not, they are compared at last with the routes made since, which carry far
 * more on large damaged grids.
 */
enum osr_status osr_turn_compare(struct osr_lanes_job *job, bool last, bool *routed);

/*
 * job->spf holds balanced shortest paths. *routed: job->routing is complete, with SL2VL tables and
 * without SLs. With any_sl = auto only if that costs no more than the options allow, against the
 * load of these paths. Otherwise job->routing and job->spf are unchanged, but for routing->any_sl,
 * which says what it would have cost. Fabrics with more than 2^27 triples of consecutive channels
 * are left alone.
 *
 * Time per round O(sum over LIDs of the edges of their graph) and O(triples); memory 4 bytes a
 * triple of a turn that begins a shortest path of three channels.
 */
enum osr_status osr_turn_route(struct osr_lanes_job *job, bool *routed);

/* ---- shared by the files of turn.h ----------------------------------------------------------- */

#define OSR_TURN_HOPS 256 /* channels of a switch, at most */

/* Up to max_lanes lanes, within the budget. */
enum osr_status osr_turn_init(struct osr_search *search, const struct osr_lanes_job *job,
			      uint32_t max_lanes);

static inline enum osr_status osr_turn_nomem(struct osr_diag *diag)
{
	return osr_fail(diag, OSR_NOMEM, "out of memory for lanes by turn");
}

/* turn_order.c: an order and lanes to start from, in which the turns of the escape tree rise. */
enum osr_status osr_turn_start_updown(struct osr_search *search, const struct osr_updown *updown);
enum osr_status osr_turn_start_fitted(struct osr_search *search);

/*
 * any_sl_cost allows this many pairs of end ports to have longer routes. n_longer counts pairs of
 * switch and LID that have one already.
 */
uint64_t osr_turn_spare(const struct osr_search *search, const struct osr_lanes_options *opt,
			uint64_t n_longer);

/* The graph of nodes without an edge, in scratch; weight is NULL if memory ran out. */
struct osr_weights osr_turn_nodes(const struct osr_search *search);

/* Marks the turns of the escape tree, alone, as weights and as pinned. */
void osr_turn_pin(struct osr_search *search);

/* job->turn is what the job routes. */
enum osr_status osr_turn_take(struct osr_lanes_job *job);

/* turn_tables.c: how many classes of SLs there are lanes for, at least two each. */
uint32_t osr_turn_classes(const struct osr_request *req);
enum osr_status osr_turn_finish(struct osr_search *search, struct osr_lanes_job *job);

/*
 * Sets n_used: how many routes of one switch to one LID take each turn; LIDs that ride along are
 * not counted.
 */
void osr_turn_count_used(struct osr_search *search);

#endif

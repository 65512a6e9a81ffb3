/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * turn.h - virtual lanes by turn: free of deadlock whatever SL a packet carries.
 *
 * SL2VL tables are indexed by (input port, output port). If all 16 entries of a pair are alike, the
 * lane of the next channel is a function L(c1, c2) of the channel a packet came by and the one it
 * leaves by; what hosts send is on lane 0. A packet holds the node (channel, lane), and a route
 * c0, c1, c2, ... makes the dependencies
 *	(c0, 0) -> (c1, L(c0,c1)) -> (c2, L(c1,c2)) -> ...
 * An order of all nodes in which every triple of consecutive channels rises is a certificate (Dally and
 * Seitz), and no SL is in it. Replies are covered, as they are packets like others; multicast passes
 * the same tables, on the escape tree below.
 *
 * That hosts begin on lane 0 is no restriction: the lanes of a channel can be renamed one by one.
 *
 * With one lane this is routing within a channel order. What a second lane brings is best seen in
 * the order the search starts from, with the switches in an order (updown.h) and, from the lowest node
 * to the highest,
 *	down on lane 0, up on lane 0, down on lane 1, up on lane 1.
 * Turns into a channel that goes down take lane 1, those into one that goes up lane 0 or 1. Legal are
 * paths "any, up*, down*, any": the first and the last channel are free, but that a turn from down to
 * up is at the beginning of all its routes or at the end of all. On one lane legal is "up*, down*".
 *
 * The search repeats
 *   - trees: breadth-first from each destination switch; a switch may take c0 into a tree that goes
 *     on by c1, c2 if the triple rises: (c0,0) < (c1,L(c0,c1)) < (c2,L(c1,c2)). As c1 and c2 are known
 *     when c0 is tried, that costs what it costs with one lane;
 *   - the lane of each turn that leaves the least weight of routes backward, the order fixed;
 *   - sifting of the order of nodes, the lanes fixed;
 * and ends with longer routes for what found no legal shortest one.
 *
 * Before the first of these, lanes go by the kind of port that a packet comes from: what end ports send is on lane 0,
 * turns are on the others. Then no node of lane 0 is waited for, so a route's first hop is free: where no route has more
 * than two channels all are legal, in any order. With a third lane, for turns that only end routes, that is so for
 * three channels wherever those that are second in a route have no cycle among themselves, as the global cables
 * of a dragonfly.
 *
 * It never fails. The order starts with a spanning tree, the escape tree, whose turns (up, then down)
 * all rise, and go on to rise whatever the search changes. So in
 * any tree of routes those switches that find no legal way can follow the escape tree to the
 * destination, hop by hop; in the worst case all do, and between any two switches of a component the
 * escape tree has a path.
 *
 * Source: for fabrics of diameter 2, DF-D2 (Schneider, Bibartiu, Hoefler, HOTI 2016); for dragonflies,
 * DLA (Maglione-Mathey et al., JPDC 2021). Any graph and any number of lanes: new here.
 */
#ifndef OSMROUTES_TURN_H
#define OSMROUTES_TURN_H

#include "lanes_private.h"
#include "search.h"
#include "updown.h"

/*
 * Lanes that dimension order has left in job->turn, beside the shortest paths of now: taken if they cost little;
 * else forgotten, if the fabric is so small that a search costs little.
 */
enum osr_status osr_turn_compare(struct osr_lanes_job *job, bool *routed);

/* The same beside what has been routed since, which on large damaged grids carries far more. */
enum osr_status osr_turn_reconsider(struct osr_lanes_job *job, bool *routed);

/*
 * job->s holds balanced shortest paths. *routed: r is complete, with SL2VL tables and without SLs.
 * With any_sl = auto only if that costs no more than the options allow, against the load of these paths;
 * job->r and job->s are otherwise as before, but for r->any_sl, which says what it would have cost. Fabrics with more than
 * 2^27 triples of consecutive channels are left alone.
 *
 * Time per round O(sum over LIDs of the edges of their graph) and O(triples); memory 4 bytes a triple of a turn that begins
 * a shortest path of three channels.
 */
enum osr_status osr_turn_route(struct osr_lanes_job *job, bool *routed);

/* ---- what the files of it share ---------------------------------------------------------------- */

#define OSR__TURN_HOPS 256 /* channels of a switch, at most */

/* Up to max_lanes lanes, as far as the budget goes. */
enum osr_status osr__turn_init(struct osr__search *w, const struct osr_lanes_job *job,
			       uint32_t max_lanes);

static inline enum osr_status osr__turn_nomem(struct osr_diag *diag)
{
	return osr_fail(diag, OSR_NOMEM, "out of memory for lanes by turn");
}

/* turn_order.c: an order and lanes to start from, in which the turns of the escape tree rise. */
enum osr_status osr__turn_start_updown(struct osr__search *w, const struct osr_updown *updown);
enum osr_status osr__turn_start_fitted(struct osr__search *w);

/* As many pairs of end ports may get longer routes as any_sl_cost allows beyond n_longer, that of pairs of switch and LID. */
uint64_t osr__turn_spare(const struct osr__search *w, const struct osr_lanes_options *opt,
			 uint64_t n_longer);

/* The graph of nodes without an edge, in scratch; weight is NULL if memory ran out. */
struct osr_cdg osr__turn_nodes(const struct osr__search *w);

/* Marks the turns of the escape tree, alone, as weights and as pinned. */
void osr__turn_pin(struct osr__search *w);

/* job->turn is what the job routes. */
enum osr_status osr__turn_take(struct osr_lanes_job *job);

/* turn_tables.c: how many classes of SLs there are lanes for, at least two each. */
uint32_t osr__turn_classes(const struct osr_request *req);
enum osr_status osr__turn_finish(struct osr__search *w, struct osr_lanes_job *job);

/* Sets n_used: how many routes of one switch to one LID take each turn; LIDs that ride along are not counted. */
void osr__turn_count_used(struct osr__search *w);

#endif

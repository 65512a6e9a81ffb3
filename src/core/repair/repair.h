/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * repair.h - incremental re-routing: from the previous tables to tables for the current fabric,
 * with as few changes as possible. repair.c has the theory.
 *
 * osr_sweep() calls it for engines with OSR_ENGINE_REROUTE. If the answer is OSR_NOT_APPLICABLE,
 * the engine makes a full route, and osr_repair_anew() follows.
 *
 * Baseline. Repairs start from the last full route (`baseline`), not from the last repair. A part
 * that returns therefore brings its old entries back, in whatever order parts fail and return, and
 * repairs do not pile up. If the fabric has a LID or a switch that the baseline does not know, the
 * repaired tables become the new baseline. If it has a cable that the baseline does not know, the
 * engine makes a full route.
 *
 * Trees. A destination whose routes all still exist keeps its entries. In any other tree only the
 * switches whose route is cut move, each over as few channels as possible: to its old port if that
 * still leads to the LID, else to its port of the last sweep, else to the least loaded path. Then
 * LIDs leave channels that carry more than 1.05 of the least load that any routing of this fabric
 * can have (bound.h), or more than a full route can be expected to, if that is more. Entries in blocks that are sent anyway leave first.
 *
 * Lanes. By SL a pair keeps its SL, and every SL that it was given since the baseline was made
 * (`granted`) must be free of deadlock on its new route. A pair gets another SL only if the old one
 * leaves it no route at all (n_sl_changed, n_sl_lost). By turn the lanes of all turns that some
 * route of the baseline takes stay, and an unused turn gets the lane that serves. By SL and output
 * port (SL2VL tables of an engine's own that are alike for all input ports, as angara makes them)
 * SLs are treated as by SL, but an SL has a lane on each channel, and earlier SLs are not kept. In
 * each scheme the same promises hold as before the fault: any SL, replies, multicast. With spare
 * lanes an unused turn may go on on a lane that was not in use, and a pair whose route is cut may
 * get any SL.
 *
 * The transition. The routes of the last sweep rise in the same order as the new ones. Whether
 * every mixture of the two rises is a question for core/transition, which asks it of that order.
 * Multicast starts from the spanning tree of the last sweep, not from the baseline's. Two trees
 * whose cables all exist make a ring when they mix, so the whole part of the tree stays, and a part
 * that returns moves no tree.
 *
 * Time: copying the tables, and for each tree that was cut the switches whose routes change times
 * their cables and the length of their routes; one more walk over all tables without
 * osr_routing.lane_deps. Scratch: 5 bytes per pair of channels that meet, 17 per channel and lane.
 */
#ifndef OSMROUTES_REPAIR_H
#define OSMROUTES_REPAIR_H

#include <osmroutes/engine.h>

/* Are these tables with lanes by turn, as turn.h makes them? */
bool osr_repair_is_by_turn(const struct osr_routing *routing);

/*
 * OSR_OK: job->routing is complete, with `stable` filled; check it like any other result.
 * OSR_NOT_APPLICABLE, with the reason in *why: make a full route (SL2VL tables that are not by
 * turn, a smaller VL budget, a route that no lane can serve). job->previous must be the last
 * checked result. `spare`: lanes by turn that were not in use serve too; by SL a route that is cut
 * may get another SL. n_longer stays the baseline's, because the check counts it.
 */
enum osr_status osr_repair(const struct osr_job *job, bool spare, struct osr_diag *why);

/*
 * Work that the next repair would do, done when there is time: the turns that the tables of x take,
 * into routing->lane_deps, in `result`. routing is x's routing. For checked results that others may be
 * repaired from (without a baseline of their own); nothing to do is fine.
 */
enum osr_status osr_repair_prepare(const struct osr_result *x, struct osr_arena *scratch,
				   struct osr_arena *result, struct osr_routing *routing,
				   struct osr_diag *diag);

/*
 * After a full route although there was a previous result, whose SLs connections still use. Adds
 * the SLs that are free of deadlock on the new tables to `granted` and to the certificate, counts
 * the others in stable.n_sl_lost, and notes why the tables were not kept. job->routing is finished
 * (ports, not hops). SLs that would take too many attempts are counted as lost.
 */
enum osr_status osr_repair_anew(const struct osr_job *job, const struct osr_diag *why);

/*
 * The part of an earlier spanning tree of multicast (carry.h) that exists on this fabric, its
 * pieces tied together by any cables: [n_switches] parents in `result`. NULL if it does not reach
 * every switch with end ports, or memory ran out.
 */
uint32_t *osr_repair_keep_tree(const struct osr_fabric *fabric, const uint32_t *before,
			       struct osr_arena *scratch, struct osr_arena *result);

#endif

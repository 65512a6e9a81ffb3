/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * reroute.h - stable re-routing: from the tables of yesterday to tables for the fabric of today,
 * with as few changes as possible.
 *
 * osr_sweep() calls it for engines with OSR_ENGINE_REROUTE; if the answer is OSR_NOT_APPLICABLE, the
 * engine routes from nothing, and osr_reroute_anew() follows.
 *
 * Baseline. Repairs start from the last full route (`baseline`), not from the last repair. So a part that
 * returns brings its old entries back, in whatever order parts fail and return, and repairs do not
 * pile up. If the fabric has something that the baseline does not know (a new switch, cable or LID), the
 * tables of the last sweep are carried over to the fabric of today and become the new baseline.
 *
 * Trees. A destination whose routes all still exist keeps its entries. In the tree of another one
 * only the switches whose route is cut move, each over as few channels as are left: to its old port
 * if that still leads there, else to that of the last sweep, else to the least loaded path. Then LIDs
 * move off channels that carry more than 1.05 of the least load that any routing of this fabric can
 * have (bound.h), entries in blocks that are sent anyway first.
 *
 * Lanes. A pair keeps its SL, and every SL it was ever given since the baseline was made (`granted`) must
 * be free of deadlock on its new route. The dependency graph of every lane is rebuilt from the baseline's
 * tables and kept acyclic while routes are added one by one, by an order that is repaired locally
 * (Pearce, Kelly: A dynamic topological sort algorithm for directed acyclic graphs, ACM JEA 2006).
 * That order is the new certificate. A pair gets another SL only if no route at all is left to it
 * on the old one; such pairs are counted (n_sl_changed, n_sl_lost).
 *
 * The transition. While the subnet manager programs the switches, packets meet old and new
 * entries mixed. The dependencies of such packets are put into the same graph; if it stays acyclic,
 * one certificate holds for the old tables, the new ones and every mixture (`together`). Multicast
 * starts from the spanning order of the last sweep, not from the baseline's: two orders whose cables are all
 * there make a ring when they mix, so what is whole stays, and a part that returns moves no tree.
 *
 * Time: copying the tables, one byte per dependency slot, and for each tree that was cut the
 * switches whose routes change times their cables. With several lanes, or where the baseline came without
 * its dependencies (osr_routing.deps, lane_deps), one walk over all tables more. Scratch: 2 bytes per
 * dependency slot, 4 per channel and lane; with several lanes 2 bytes per pair of switches.
 */
#ifndef OSMROUTES_REROUTE_H
#define OSMROUTES_REROUTE_H

#include <osmroutes/engine.h>

struct osr_reroute_options {
	bool minimal;   /* the engine promises shortest routes: rather route anew than longer */
	uint32_t drift; /* percent: route anew if the estimated drift is above; 0: never */
};

/*
 * OSR_OK: job->routing is complete, with `stable` filled; check it like any other result.
 * OSR_NOT_APPLICABLE, with the reason in *why: route anew (tables with SL2VL by port pair, a smaller VL
 * budget, a pair that no lane can serve, drift). job->previous must be the last checked result.
 */
enum osr_status osr_reroute(const struct osr_job *job, const struct osr_reroute_options *opt,
			    struct osr_diag *why);

/*
 * Work that the next repair would do, done when there is time: what the tables of x depend on, into
 * r->lane_deps, in `result`. routing is x's routing. For checked results that others may be repaired from
 * (without a baseline of their own); nothing to do is fine.
 */
enum osr_status osr_reroute_prepare(const struct osr_result *x, struct osr_arena *scratch,
				    struct osr_arena *result, struct osr_routing *routing,
				    struct osr_diag *diag);

/*
 * After a full route although there was a previous result, whose SLs connections still use: adds
 * those that are free of deadlock on the new tables, too, to `granted` and the certificate, counts
 * the others in stable.n_sl_lost, and notes why the tables were not kept. job->routing is finished (ports,
 * not hops). What would take too many attempts is counted as lost.
 */
enum osr_status osr_reroute_anew(const struct osr_job *job, const struct osr_diag *why);

/*
 * The spanning order of multicast of `previous` on the fabric of routing, as far as its cables are there, its
 * pieces tied together by any cables: [n_switches] parents in `result`; NULL if it does not reach every
 * switch with end ports, or memory ran out.
 */
uint32_t *osr_reroute_keep_order(const struct osr_fabric *fabric, const struct osr_routing *routing,
				 const struct osr_result *previous, struct osr_arena *scratch,
				 struct osr_arena *result);

/*
 * What osr_result.baseline of the new result has to be: the result it was repaired from, which must
 * live as long, or NULL.
 */
const struct osr_result *osr_reroute_baseline(const struct osr_result *previous,
					      const struct osr_routing *routing);

#endif

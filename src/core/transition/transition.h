/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * transition.h - from old tables to new ones while packets are on their way: dynamic
 * reconfiguration.
 *
 * Not all switches can be programmed at once. During the transition every entry may be old or new,
 * and packets on the same path may have met either; two tables without credit loops can have one
 * between them. Duato, Lysne, Pang, Pinkston: Part I: A theory for deadlock-free dynamic network
 * reconfiguration, IEEE TPDS 16, 2005: it is enough that the union of the dependencies of both, and
 * of every mixture, has no cycle.
 */
#ifndef OSMROUTES_TRANSITION_H
#define OSMROUTES_TRANSITION_H

#include <osmroutes/engine.h>

/*
 * The transition from job->previous to job->routing, which is complete and not checked yet. Both
 * are followed in every mixture (union.h), with the SLs of both and those granted earlier, replies,
 * and multicast where both claim it; the answer is stable.transition.
 *
 * What switches hold. Of switches and LIDs of the last sweep: its tables. Of a switch that was left
 * out until now (drained, held down) and of a LID that was in no table: what the switch has
 * confirmed (job->held). What is left out now still stands and keeps its tables: packets are
 * followed on the fabric of all that stands.
 *
 * If the mixture of a full route has a loop, and the spanning orders of multicast make a ring, it
 * is tried with the old order, as far as its cables are there. If that is free of loops it is taken
 * into the routing, with the union's order as certificate: one for the old tables, the new ones and
 * all mixtures.
 *
 * Else: can the new tables go out in two rounds, so that every mixture of old tables and those of
 * the first round, and of these and the new ones, is free of forwarding loops and of credit loops?
 * In the first round a switch that was left out until now gets its new entries, for no old table
 * leads there; entries of others are withdrawn (OSR_NO_PATH) or stay as they are. If all entries
 * that change are withdrawn first, a mixture of the first round has only entries of the old tables,
 * one of the second only entries of the new ones, and neither has a loop: drop beats loop. Most
 * faults need far less, and it is tried in this order, each LID by itself:
 *	entries on a cycle of old and new entries whose old route is cut: they lead to no host anyway;
 *	the others on such a cycle;
 * and if a credit loop over several LIDs is left,
 *	all entries whose old route is cut;
 *	all entries that change.
 * Each attempt is verified like a mixture. Where one holds the answer is OSR_TRANSITION_ROUNDS;
 * withdrawn, early and stable.n_withdrawn are the first round. Only SLs of connections that are not
 * proven on the new tables, and multicast, whose tables are not withdrawn, can make the last one
 * fail; then stable.transition remains OSR_TRANSITION_LOOP, with the loop that is left in
 * transition_why. A switch within the spanning order that is drained always leaves one: the old
 * order leads through it, the new one around it. If copies are in the loop, all is asked once more
 * for unicast alone (transition_unicast); else the first attempt is taken, so that at least no
 * packet goes in circles.
 *
 * Time: where one graph holds for all SLs, mostly a few operations for every entry of the LIDs that
 * change (osr_gate_mixed()); else that of osr_union_loop() for two generations, up to eight times,
 * and as often for unicast alone; not asked beyond OSR_TRANSITION_ENTRIES entries.
 */
#define OSR_TRANSITION_ENTRIES UINT64_C(100000000)

enum osr_status osr_transition(const struct osr_job *job);

#endif

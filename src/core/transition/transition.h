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
 * Old tables. Switches and LIDs of the previous sweep have its tables. A switch that was left out
 * until now (drained, held down), and a LID that was in no table, have the entries that the switch
 * has confirmed (job->held). A switch that is left out now still stands and keeps its tables:
 * packets are followed on the whole standing fabric.
 *
 * If the mixture of a full route has a loop, and the spanning trees of multicast make a ring, the
 * old tree is tried, as far as its cables are there. If its mixture is free of loops, the routing
 * takes the old tree, and the union's order as the certificate of the old tables, the new tables
 * and all mixtures.
 *
 * Else: can the new tables go out in two rounds? Then every mixture of the old tables and the first
 * round, and of the first round and the new tables, is free of forwarding loops and of credit
 * loops. In the first round a switch that was left out until now gets its new entries, for no old
 * table leads there. Entries of other switches are withdrawn (OSR_NO_PATH) or stay. If all entries
 * that change are withdrawn, a mixture in the first round has old entries alone, and a mixture in
 * the second new entries alone, so neither has a loop: drop beats loop. Most faults need far fewer
 * withdrawn entries. Tried in this order, each LID by itself:
 *	entries on a cycle of old and new entries whose old route is cut, which lead to no host;
 *	the other entries on such a cycle;
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
 * change (osr_gate_mixed()); else up to eight runs of osr_union_loop() for two generations, and as
 * many for unicast alone. Not asked beyond OSR_TRANSITION_ENTRIES entries.
 */
#define OSR_TRANSITION_ENTRIES UINT64_C(100000000)

enum osr_status osr_transition(const struct osr_job *job);

#endif

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * transition.h - from old tables to new ones while packets are on their way: dynamic reconfiguration.
 *
 * Not all switches can be programmed at once. During the transition every entry may be old or new, and
 * packets on the same path may have met either; two tables without credit loops can have one between
 * them. Duato, Lysne, Pang, Pinkston: Part I: A theory for deadlock-free dynamic network
 * reconfiguration, IEEE TPDS 16, 2005: it is enough that the union of the dependencies of both, and of
 * every mixture, has no cycle.
 */
#ifndef OSMROUTES_TRANSITION_H
#define OSMROUTES_TRANSITION_H

#include <osmroutes/engine.h>

/*
 * The transition previous and r, where one is not the other with repairs that agree with its
 * certificate (stable.together): after a full route, by whatever engine. Both are followed in every
 * mixture (union.h), with the SLs of both and those granted earlier, replies, and multicast where
 * both claim it; the answer is r->stable.transition.
 *
 * If the mixture has a loop and `prefer`, the same routes are tried with what the old tables have:
 * their spanning order of multicast, as far as its cables are there, and then with the SLs of their
 * pairs, too. What is free of loops is taken into r (sl, mcast_parent, rank), with the union's order
 * as certificate: one for the old tables, the new ones and all mixtures. SLs that packets in flight
 * have can be nothing else; so if a loop is left with the old SLs, no other SLs would do better.
 *
 * Time: that of osr_union_loop() for two generations, up to three times; not asked beyond
 * OSR_TRANSITION_ENTRIES entries. r is complete and not checked yet.
 */
#define OSR_TRANSITION_ENTRIES UINT64_C(100000000)

enum osr_status osr_transition_check(const struct osr_fabric *fabric, const struct osr_request *req,
				     const struct osr_result *previous, bool prefer,
				     struct osr_arena *scratch, struct osr_arena *result,
				     struct osr_routing *routing, struct osr_diag *diag);

#endif

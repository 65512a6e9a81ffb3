/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * ordered.h - routing with the channel dependency graph in view: it never fails, on any number of
 * VLs.
 *
 * layers.h cuts the cycles of the routes that are there; where that takes more lanes than there are, this
 * module routes again under K channel orders, one per VL, beginning with those of the layers. A route is legal on VL k if every step
 * goes forward in order k, so whatever is legal is deadlock-free, and the orders are the
 * certificate.
 *
 * Every destination's tree is settled as in spf.h, but a switch now also knows the set of VLs (a
 * bit mask) on which its route is legal:
 *	mask(v) = mask(next) & { k : (v -> next) before (next -> ...) in order k }
 * Among the shortest continuations it takes the lightest with a mask that is not empty. A price on
 * channels that few others may continue into keeps room for the switches further out; a
 * destination is tried with several prices, and the one that leaves the fewest switches without a
 * legal shortest route is taken. After a round the last order is improved (cdg.h) for the routes that
 * have no other, and for those without a legal way, which weigh more from round to round; the next round
 * routes again the trees that are not legal.
 *
 * In the end switches without a legal shortest route take the shortest legal detour. If
 * none exists, some switches of that tree are put on the escape tree: a spanning tree whose
 * dependencies order 0 keeps forward. In the worst case a whole destination ends there, so
 * every pair of a component is reached.
 *
 * On one VL, if the order that was fitted to the routes leaves more than 1 in 20 of them without a legal
 * shortest way, an up-down order searched for the pairs it serves (updown.h) replaces it.
 *
 * At last entries move off the busiest channels to legal routes as long.
 *
 * The idea of routing within a dependency graph that keeps an escape tree is that of Nue (Domke,
 * Hoefler, HPDC 2016). DIFFERS: shortest legal routes over a mask of VLs for every source, instead
 * of a partition of the destinations over VLs.
 */
#ifndef OSMROUTES_GUIDED_H
#define OSMROUTES_GUIDED_H

#include <osmroutes/engine.h>
#include <osmroutes/layers.h>
#include <osmroutes/spf.h>

#define OSR_ORDERED_MAX 8 /* orders: bits of a mask. More VLs than that are not used. */

/*
 * One lane for trees that are given (s->hop), legal by and large in this order: routes that are not take detours. Multicast
 * (r->mcast_parent) joins an order of all that this one allows, which must exist. parent[] spans all. req->max_vls is 1.
 */
enum osr_status osr_ordered_mend(const struct osr_lane_work *work, uint32_t *order,
				 const uint32_t *parent);

#endif

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * span.h - a spanning tree of each component of the switches. All multicast groups are subtrees of
 * it, so the dependencies of all groups are dependencies of one tree, which has no cycle. It is
 * also the escape of unicast routes that find no other legal path.
 *
 * A span is parent[n_switches]: the channel from each switch to its parent, OSR_NONE at roots.
 */
#ifndef OSMROUTES_SPAN_H
#define OSMROUTES_SPAN_H

#include <osmroutes/fabric.h>
#include <osmroutes/routing.h>

/*
 * The span of an order of the switches, place 0 the highest, by_place[] its inverse: each parent is
 * a neighbour above, as close to its root as possible and as high as possible, so that all turns of
 * the span go up the order and then down. The first switch of each component, and any other one
 * without a neighbour above, is a root. depth[n_switches] is overwritten. O(channels).
 */
void osr_span_in_order(const struct osr_fabric *fabric, const uint32_t *place,
		       const uint32_t *by_place, uint32_t *depth, uint32_t *parent);

/*
 * The order of channels that an order of the switches makes: up from below, then down from above.
 * rank[n_channels] rises along every path that goes up first and then down. Channels that leave a
 * switch upwards have one rank, those downwards another. O(channels).
 */
void osr_span_rank(const struct osr_fabric *fabric, const uint32_t *place, uint32_t *rank);

/*
 * The span is the routing's for multicast: fills mcast_parent, in `result`. Switches without end
 * ports behind them are left out, for their dependencies would count for nothing (a port 0 that
 * joins is attached by the plugin and named in the log). Whether its turns fit the engine's
 * certificate is for the engine to know; the check says if not. OSR_NOMEM only. O(switches).
 */
enum osr_status osr_span_take(const struct osr_fabric *fabric, const uint32_t *parent,
			      struct osr_arena *scratch, struct osr_arena *result,
			      struct osr_routing *routing, struct osr_diag *diag);

#endif

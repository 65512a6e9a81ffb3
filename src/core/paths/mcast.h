/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * mcast.h - one spanning order for all multicast groups.
 *
 * Every group is a subtree of the same breadth-first tree, so the dependencies of all groups
 * together are those of one tree, which has no cycle. The root is the component's center (spf.h):
 * on a fat tree a top switch, so that multicast turns from up to down only, as unicast does.
 * Switches behind which no CA or router hangs are pruned: their dependencies would count for
 * nothing (a port 0 that joins is attached by the adapter and named in the log).
 */
#ifndef OSMROUTES_MCAST_H
#define OSMROUTES_MCAST_H

#include "core/order/fit.h"
#include "core/order/order.h"
#include <osmroutes/spf.h>

/*
 * The whole breadth-first tree, nothing pruned: parent[n_switches], OSR_NONE for roots. Between
 * any two switches of a component it has a path, up and then down.
 */
enum osr_status osr_mcast_tree(const struct osr_spf *spf, struct osr_arena *scratch,
			       uint32_t *parent, struct osr_diag *diag);

/*
 * out[n_switches]: the channel by which each switch sends to root along the tree parent[]; OSR_NONE for the root, and for
 * what is not in its tree. queue[n_switches] is overwritten. O(channels).
 */
void osr_mcast_towards(const struct osr_fabric *fabric, const uint32_t *parent, uint32_t root,
		       uint32_t *out, uint32_t *queue);

/* Adds the dependencies of a spanning order to the weights, each the weight UINT32_MAX. */
void osr_mcast_depend(const uint32_t *parent, struct osr_weights *weights);

#endif

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * treeorder.h - a total order of the switches of fat trees, whole or broken, in which every path
 * up and then down the tree is one up and then down the order: one virtual lane is enough for all
 * of them, and for paths between two top switches by way of a leaf.
 */
#ifndef OSMROUTES_TREEORDER_H
#define OSMROUTES_TREEORDER_H

#include <osmroutes/pgft.h>

struct osr_tree_order {
	const struct osr_fabric *fabric;
	uint32_t *number;    /* [n_switches] place in the order; 0 is the root, the highest */
	uint32_t *by_number; /* [n_switches] its inverse */
};

/*
 * Arrays live in `scratch`. Every switch but one of its component has a neighbour above. O(levels *
 * channels).
 */
enum osr_status osr_tree_order_find(const struct osr_pgft *pgft, struct osr_arena *scratch,
				    struct osr_tree_order *order, struct osr_diag *diag);

/*
 * The same for two tiers: leaves with all hosts, and switches above them that are cabled to each
 * other as well (Megafly, also called Dragonfly+). Whether shortest paths keep to it must be seen
 * (osr_spf_keep_order). OSR_NOT_APPLICABLE if every switch has hosts or none has. O(switches +
 * channels).
 */
enum osr_status osr_tree_order_tiers(const struct osr_fabric *fabric, struct osr_arena *scratch,
				     struct osr_tree_order *order, struct osr_diag *diag);

#endif

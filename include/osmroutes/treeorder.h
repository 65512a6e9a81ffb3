/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * treeorder.h - a total order of the switches of fat trees, whole or broken, in which every path
 * up and then down the tree is one up and then down the order: one virtual lane is enough for all
 * of them, and for paths between two top switches by way of a leaf.
 *
 * A switch *anchors* planes (pieces of the tree above it): those lie below their anchor in the
 * order, all other planes above the switches that hang on them.
 */
#ifndef OSMROUTES_TREEORDER_H
#define OSMROUTES_TREEORDER_H

#include <osmroutes/engine.h>
#include <osmroutes/pgft.h>

enum osr_anchor { OSR_ANCHOR_NOT, OSR_ANCHOR_ENTRIES, OSR_ANCHOR_ONE };

struct osr_tree_order {
	const struct osr_fabric *f;
	const struct osr_pgft *p;
	uint32_t n; /* switches */
	uint32_t h; /* of the tallest tree */

	uint32_t *number;  /* [n] place in the order; 0 is the root, the highest */
	uint32_t *plane;   /* [n] the piece of its level and above that it is in: its name */
	uint8_t *mode;     /* [n] by plane: how it is anchored, enum osr_anchor */
	uint32_t *anchor;  /* [n] by plane: the switch that anchors it, if one does */
	uint8_t *entry;    /* [n] anchored by something below it */
	uint32_t *outside; /* [n] of switches without a tree: order of a search */
};

/*
 * Arrays live in `scratch`. OSR_NOT_APPLICABLE if no such order exists. O(levels * channels).
 */
enum osr_status osr_tree_order_find(const struct osr_pgft *pgft, struct osr_arena *scratch,
				    struct osr_tree_order *tree_order, struct osr_diag *diag);

/*
 * The same for two tiers: leaves with all hosts, and switches above them that are cabled to each other
 * as well (Megafly, also called Dragonfly+). Root is a leaf; then the upper switches, breadth first, each
 * below one it is cabled to, with more leaves in between where there is none; then the other leaves. Whether shortest
 * paths keep to it must be seen (osr_spf_keep_order). Fills f, n and number only.
 * OSR_NOT_APPLICABLE if every switch has hosts or none has. O(switches + channels).
 */
enum osr_status osr_tree_order_tiers(const struct osr_fabric *f, struct osr_arena *scratch,
				     struct osr_tree_order *o, struct osr_diag *diag);

/*
 * A spanning tree of each piece, all turns of which keep to the order: everybody's parent is a neighbour above in the
 * order, as close to the root as possible and as high as possible, so that all choose the same. parent[n] channels;
 * by_number[n], depth[n]. Returns how many have none. O(channels).
 */
uint32_t osr_tree_order_parents(const struct osr_tree_order *tree_order, uint32_t *by_number,
				uint32_t *depth, uint32_t *parent);

/*
 * One lane for routes that keep to the order: the certificate (r->rank, claims, lanes) and, if
 * requested, the spanning order of multicast, in `result`.
 */
enum osr_status osr_tree_order_certify(const struct osr_tree_order *tree_order,
				       const struct osr_request *req, struct osr_arena *scratch,
				       struct osr_arena *result, struct osr_routing *routing,
				       struct osr_diag *diag);

/* Does channel c lead to a switch of the next level of the same tree? */
static inline bool osr_tree_order_is_up(const struct osr_tree_order *tree_order, uint32_t c)
{
	uint32_t s = tree_order->f->chan_src[c], t = tree_order->f->chan_dst[c];

	return tree_order->p->sw_level[s] &&
	       tree_order->p->sw_level[t] == tree_order->p->sw_level[s] + 1;
}

/* s on level l, u one of its parents: does the order put s above u? */
static inline bool osr_tree_order_anchors(const struct osr_tree_order *tree_order, uint32_t s,
					  uint32_t u)
{
	uint32_t plane = tree_order->plane[u];

	return tree_order->mode[plane] == OSR_ANCHOR_ENTRIES ? tree_order->entry[s]
							     : tree_order->anchor[plane] == s;
}

#endif

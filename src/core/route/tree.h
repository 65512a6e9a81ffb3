/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * tree.h - the routes to one LID, laid out: which switches have one, in an order in which every
 * switch comes after the one that it sends to, and how long each route is.
 *
 * While tables are being made, an entry is a hop (spf.h): the index of a channel among those of its
 * switch. The root, and a switch without a route, have OSR_NO_PATH. Finished tables hold ports.
 */
#ifndef OSR_CORE_TREE_H
#define OSR_CORE_TREE_H

#include <osmroutes/fabric.h>
#include <osmroutes/status.h>

struct osr_tree {
	const struct osr_fabric *fabric;
	uint32_t root;
	uint32_t n;           /* switches with a route, the root included */
	uint16_t *near_first; /* [n] the root first, each after the switch that it sends to */
	uint32_t *length;     /* [n_switches] channels of the route; OSR_NONE: no route */
	uint16_t *path;       /* [n_switches] room */
};

/* Memory for trees of this fabric. The arena says whether there was enough. */
void osr_tree_alloc(struct osr_tree *tree, const struct osr_fabric *fabric,
		    struct osr_arena *arena);

/*
 * Follows hop[n_switches] to root. A walk that ends elsewhere, or goes round, is no route.
 * start[n_start]: switches in the order in which they are looked at, all that may have a route;
 * NULL: ascending. Settling orders (spf.h) have the shortest walks. O(switches), if routes are
 * whole.
 */
void osr_tree_lay_out(struct osr_tree *tree, uint32_t root, const uint8_t *hop,
		      const uint16_t *start, uint32_t n_start);

/* Every switch v of a list that has its root first, but for the root: near ones first. */
#define OSR_EACH_NEAR_FIRST(v, list, n)                                                            \
	for (uint32_t v##_at = 1, v; v##_at < (n) && (v = (list)[v##_at], true); v##_at++)

/* The same, far ones first: what a switch passes on is known when its turn comes. */
#define OSR_EACH_FAR_FIRST(v, list, n)                                                             \
	for (uint32_t v##_at = (n), v; v##_at > 1 && (v = (list)[v##_at - 1], true); v##_at--)

/* Ports of all rows of a table become hops, and hops ports; the root's own entry is its end port. */
void osr_tables_to_hops(const struct osr_fabric *fabric, uint8_t *table);
void osr_tables_to_ports(const struct osr_fabric *fabric, uint8_t *table);

#endif

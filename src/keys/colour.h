/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * colour.h - flows between nodes of one level are dealt out over planes, so that the cables of a
 * plane carry as little as possible; private to src/keys.
 *
 * An edge is a flow, or several that go the same way, from the node `left` over one plane to the
 * node `right`; it loads the up cable of `left` and the down cable of `right` in that plane by its
 * weight. With weights of 1 and all cables there, it is the colouring of a bipartite multigraph:
 * as many colours as the largest degree suffice (Koenig).
 */
#ifndef OSR_KEYS_COLOUR_H
#define OSR_KEYS_COLOUR_H

#include <osmroutes/arena.h>
#include <osmroutes/fabric.h>

struct osr__edge {
	uint32_t left, right;
	uint32_t weight;
};

struct osr__demand {
	uint32_t n_nodes, n_edges, n_planes;
	const struct osr__edge *edge;
	/*
	 * NULL if every edge may take every plane. Otherwise edge e may take plane q if bit q of
	 * may[e * words .. ] is set; each edge may take one at least.
	 */
	const uint64_t *may;
	uint32_t words; /* per edge: (n_planes + 63) / 64 */
};

struct osr__colouring {
	uint32_t n_classes; /* classes 0 .. n_classes-1 <= n_planes are in use, largest first */
	uint32_t load;      /* the most loaded cable */
	uint32_t bound;     /* no colouring has less */
};

static inline bool osr__may(const struct osr__demand *demand, uint32_t e, uint32_t q)
{
	return !demand->may || (demand->may[(size_t)e * demand->words + q / 64] >> (q % 64) & 1);
}

/*
 * class_of[n_edges]. Without `may` classes are interchangeable: any one-to-one map to planes loads
 * the cables alike. With it, class q is plane q, and all planes count as classes. OSR_NOMEM.
 */
enum osr_status osr__colour(const struct osr__demand *demand, struct osr_arena *scratch,
			    uint32_t *class_of, struct osr__colouring *colouring);

#endif

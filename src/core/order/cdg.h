/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * cdg.h - the channel dependency graph: its vertices are channels, and there is an edge c1 -> c2 if
 * some packet may hold c1 while it waits for c2. A virtual lane cannot deadlock if the graph of the
 * routes on it is acyclic (Dally and Seitz 1987; Domke 2011, section III).
 *
 * An edge is a turn of the fabric (fabric.h), so adding a dependency is one store, and no edge is
 * ever searched, inserted or listed with the paths that induce it.
 *
 * An *order* of a graph is a permutation of the channels, given as rank[c]; an edge is forward if
 * it goes from a lower to a higher rank. The forward edges of any order are acyclic, so an order
 * is both a way to choose what a layer keeps and the certificate of what it kept.
 */
#ifndef OSMROUTES_CDG_H
#define OSMROUTES_CDG_H

#include <osmroutes/fabric.h>
#include <osmroutes/prng.h>

struct osr_cdg {
	const struct osr_fabric *f;
	/* [n_lanes * n_turns] the weight of the routes that take a turn; 0: none does */
	uint32_t *weight;
	/*
	 * One, and NULL. Or of nodes (lane, channel): an edge from lane l of c1 is at l * n_turns + turn,
	 * and leads to lane[turn] of c2. Then orders are rank[n_lanes * n_channels].
	 */
	uint32_t n_lanes;
	const uint8_t *lane;
};

/* All weights zero. Memory 4 bytes a turn. */
enum osr_status osr_cdg_init(struct osr_cdg *cdg, const struct osr_fabric *fabric,
			     struct osr_arena *scratch, struct osr_diag *diag);

/*
 * Topological order, lowest node first among equals: true and rank[] filled if the
 * graph is acyclic. False, too, where memory ran out: scratch has failed then. O(channels + turns).
 */
bool osr_cdg_sort(const struct osr_cdg *cdg, struct osr_arena *scratch, uint32_t *rank);

/*
 * Numbers the switches breadth first, one component after the other, each from its root: place[n_switches], 0 the first.
 * parent[n_switches] is the channel to where a switch was found from, OSR_NONE at roots. queue[n_switches] is overwritten.
 */
void osr_order_number(const struct osr_fabric *fabric, const uint32_t *roots, uint32_t *place,
		      uint32_t *parent, uint32_t *queue);

/*
 * The order of channels that an order of switches makes, 0 the highest: up from below, then down from above. Every path
 * that goes up first and then down rises. Channels that leave a switch upwards have one rank, those downwards another.
 */
void osr_order_updown(const struct osr_fabric *fabric, const uint32_t *place, uint32_t *rank);

/*
 * A topological order, where there is one; else an order with little weight on backward edges (weighted feedback arc set,
 * NP-hard): the better of two starts, each improved by sifting; on dense graphs the first alone.
 *   - up-down: channels towards a root by falling depth, then away from it by rising depth.
 *   - peeling: sources come first and sinks last, again and again; else channels that send more than they get. Source:
 *     Eades, Lin, Smyth 1993. DIFFERS: not the largest difference first, but all above a threshold that is
 *     halved, which needs no heap.
 *   - sifting: take each channel out and put it back where it costs least, three times.
 * O(edges log degree + channels log channels) for a pass.
 * Weights of UINT32_MAX are never made backward if that can be avoided.
 */
enum osr_status osr_cdg_order(const struct osr_cdg *cdg, const uint32_t *roots,
			      struct osr_arena *scratch, uint32_t *rank, struct osr_diag *diag);

/* Sifts a given order once; prng draws among places that are equal (NULL: none). False if memory ran out. */
bool osr_cdg_sift(const struct osr_cdg *cdg, struct osr_prng *prng, struct osr_arena *scratch,
		  uint32_t *rank);

#endif

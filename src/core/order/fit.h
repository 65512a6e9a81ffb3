/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * fit.h - an order fitted to trees that are given: the turns weigh what passes them, and little
 * weight is to fall.
 *
 * The weighted turns are the edges of the channel dependency graph: c0 -> c1 if some packet may
 * hold c0 while it waits for c1 (Dally and Seitz 1987; Domke 2011, section III). An edge is forward
 * if it goes from a lower to a higher rank. The forward edges of any order are acyclic, so an order
 * is both a way to choose the routes that a layer keeps and the certificate of these.
 */
#ifndef OSR_CORE_FIT_H
#define OSR_CORE_FIT_H

#include <osmroutes/fabric.h>
#include <osmroutes/prng.h>

/* The weight of every turn: an edge of the graph, or 0. Adding a dependency is one store. */
struct osr_weights {
	const struct osr_fabric *fabric;
	uint32_t *weight; /* [n_lanes * n_turns] of the routes that take a turn; 0: none does */
	/*
	 * One, and NULL. Or of nodes (lane, channel): an edge from lane l of c0 is at l * n_turns +
	 * turn, and leads to lane[turn] of c1. Then orders are rank[n_lanes * n_channels].
	 */
	uint32_t n_lanes;
	const uint8_t *lane;
};

/* All weights zero. Memory 4 bytes a turn. */
enum osr_status osr_weights_init(struct osr_weights *weights, const struct osr_fabric *fabric,
				 struct osr_arena *scratch, struct osr_diag *diag);

/*
 * Topological order, lowest node first among equals: true and rank[] filled if the
 * graph is acyclic. False, too, where memory ran out: scratch has failed then. O(channels + turns).
 */
bool osr_fit_sort(const struct osr_weights *weights, struct osr_arena *scratch, uint32_t *rank);

/*
 * A topological order, where there is one; else an order with little weight on backward edges
 * (weighted feedback arc set, NP-hard): the better of two starts, each improved by sifting; on
 * dense graphs the first alone.
 *   - up-down: channels towards a root by falling depth, then away from it by rising depth.
 *   - peeling: sources come first and sinks last, again and again; else channels that send more
 *     than they get. Source: Eades, Lin, Smyth 1993. DIFFERS: takes all channels above a threshold
 *     that is halved, not the one with the largest difference; so it needs no heap.
 *   - sifting: take each channel out and put it back where it costs least, three times.
 * O(edges log degree + channels log channels) for a pass.
 * Weights of UINT32_MAX are never made backward if that can be avoided.
 */
enum osr_status osr_fit_order(const struct osr_weights *weights, const uint32_t *roots,
			      struct osr_arena *scratch, uint32_t *rank, struct osr_diag *diag);

/*
 * Sifts a given order once; prng draws among places that are equal (NULL: none). False if memory
 * ran out.
 */
bool osr_fit_sift(const struct osr_weights *weights, struct osr_prng *prng,
		  struct osr_arena *scratch, uint32_t *rank);

#endif

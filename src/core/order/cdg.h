/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * cdg.h - the channel dependency graph: its vertices are channels, and there is an edge c1 -> c2 if
 * some packet may hold c1 while it waits for c2. A virtual lane cannot deadlock if the graph of the
 * routes on it is acyclic (Dally and Seitz 1987; Domke 2011, section III).
 *
 * An edge is a *slot* of one flat array: slot = row[c1] + (c2 - chan_row[switch between them]).
 * There is a slot for every pair of consecutive channels the fabric has, so adding a dependency is
 * one store and no edge is ever searched, inserted or listed with the paths that induce it.
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
	uint32_t *row; /* [n_channels + 1] */
	uint32_t n_slots;
	uint32_t *
		weight; /* [n_lanes * n_slots] what the routes on an edge weigh together; 0 = no edge */
	/*
	 * One, and NULL. Or of nodes (lane, channel): an edge from lane l of c1 is at l * n_slots + slot, and leads to lane[slot]
	 * of c2. Then orders are rank[n_lanes * n_channels].
	 */
	uint32_t n_lanes;
	const uint8_t *lane;
};

/* All weights zero. Memory 4 bytes per slot (sum over channels of the next switch's channels). */
enum osr_status osr_cdg_init(struct osr_cdg *cdg, const struct osr_fabric *fabric,
			     struct osr_arena *scratch, struct osr_diag *diag);

static inline uint32_t osr_cdg_slot(const struct osr_cdg *cdg, uint32_t c1, uint8_t next_hop)
{
	return cdg->row[c1] + next_hop;
}

/* The channel a slot of c1 leads to. */
static inline uint32_t osr_cdg_target(const struct osr_cdg *cdg, uint32_t c1, uint32_t slot)
{
	return cdg->f->chan_row[cdg->f->chan_dst[c1]] + (slot - cdg->row[c1]);
}

/*
 * Topological order, lowest node first among equals: true and rank[] filled if the
 * graph is acyclic. False, too, where memory ran out: scratch has failed then. O(channels + slots).
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

/*
 * The first slot of each channel, [n_channels + 1]. NULL: memory ran out, or there are more than 2^32, which is in diag.
 */
uint32_t *osr__cdg_rows(const struct osr_fabric *fabric, struct osr_arena *scratch,
			struct osr_diag *diag);

#endif

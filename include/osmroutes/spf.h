/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * spf.h - balanced shortest paths: a tree per destination LID, over shared shortest-path graphs.
 *
 * Source: Domke, Hoefler, Nagel (IPDPS 2011), section II, Algorithm 1; Hoefler, Schneider,
 * Lumsdaine (HOTI 2009), P-SSSP. For one destination after the other, every switch takes the
 * shortest path of least total weight; the weight of each channel then grows by the routes that
 * cross it.
 *
 * DIFFERS from Algorithm 1:
 *   - All LIDs behind one switch share one shortest-path graph, found by a breadth-first search;
 *     weights only decide among its edges. Settling switches by distance needs no heap and no
 *     initial weight |V|^2 to force minimal paths (that overflows 31 bits near 23,000 LIDs).
 *   - Routes are counted per source switch, weighted by the end ports behind it.
 *   - Rip-up and re-route: after the first round each destination's tree is taken out of the
 *     weights and routed again, with all others in place.
 *   - At last, branches of trees move off the most loaded channel, as long as that lowers the
 *   maximum.
 *
 * While a routing is being computed, a table entry is a *hop*: the index of a channel among those
 * of its switch (channel = chan_row[switch] + hop); osr_spf_finish() turns hops into ports.
 *
 * Time per round O(sum over LIDs of the edges of their graph). Memory 3 bytes * switches^2 for the
 * settling orders and distances, plus a few arrays per channel.
 */
#ifndef OSMROUTES_SPF_H
#define OSMROUTES_SPF_H

#include <osmroutes/routing.h>

struct osr_spf {
	const struct osr_fabric *fabric;
	uint8_t *hop; /* [n_dests * n_switches], OSR_NO_PATH: none, or the dest's own switch */

	/*
	 * order + D * n_switches: switches of D's component by ascending distance to D, D first;
	 * n_order[D] of them. Entries are switch indices.
	 */
	uint16_t *order;
	uint16_t *n_order;

	/*
	 * Destinations by switch: dest_list[dest_row[D]] .. dest_list[dest_row[D+1]-1], CA LIDs
	 * first.
	 */
	uint32_t *dest_row;
	uint32_t *dest_list;

	/*
	 * [n_dests] OSR_NONE, or the dest of the same switch whose tree this one shares byte for
	 * byte: port 0 of a switch with end ports rides along with one of them, so it adds no
	 * dependency.
	 */
	uint32_t *alias;

	uint64_t *weight; /* [n_channels] routes * unit; the low 8 bits are spf.c's own */
	uint32_t *unit;   /* [n_channels] weight of one route: fastest rate / own rate, scaled */
	/*
	 * Distances to switches with CAs or routers, [n_switches]: the largest, and their sum by
	 * end port.
	 */
	uint16_t *farthest;
	uint64_t *distance_sum;
	/*
	 * [n_components] the switch closest to all end ports of the component (smallest largest
	 * distance, then smallest sum, then lowest index), whether or not it has end ports.
	 */
	uint32_t *center;
	uint64_t least;    /* osr_bound_cut() */
	uint32_t n_rounds; /* done */

	/*
	 * [n_switches] NULL, or an order of the switches that all routes keep to, 0 the highest: up
	 * first, then down. See osr_spf_keep_order().
	 */
	const uint32_t *place;

	struct osr_spf_scratch *scratch;
};

/* The engines' choice: no round costs 6 % of EFI, ten gain 0.1 %. */
#define OSR_SPF_ROUNDS 2

struct osr_spf_options {
	/*
	 * Rip-up rounds after the first pass; stops early at the bound. With none nothing is moved
	 * either.
	 */
	uint32_t max_rounds;
	bool ignore_rates; /* every channel weighs the same */
};

/*
 * Allocates, groups, and finds settling orders and centers; routing->lft must be allocated
 * (osr_routing_init) and becomes spf->hop. Everything else lives in `scratch`.
 */
enum osr_status osr_spf_init(struct osr_spf *spf, const struct osr_fabric *fabric,
			     struct osr_routing *routing, const struct osr_spf_options *opt,
			     struct osr_arena *scratch, struct osr_diag *diag);

/* The whole of Algorithm 1 with re-routing rounds: fills hop and weight. */
void osr_spf_route(struct osr_spf *spf, const struct osr_spf_options *opt);

/* The first pass alone, and the rounds after it: osr_spf_route() is both. */
void osr_spf_first(struct osr_spf *spf);
void osr_spf_refine(struct osr_spf *spf, const struct osr_spf_options *opt);

/*
 * From now on shortest paths go up the order spf->place of the switches first and then down; routes
 * made so far are forgotten. False, and nothing is changed, if more than 1 in `tolerance` routes
 * between end ports have no such path; 0: if one has none. O(switches * channels).
 */
bool osr_spf_keep_order(struct osr_spf *spf, uint32_t tolerance);

/*
 * For an engine that chooses itself: the shortest paths towards switch `root`, within the order if
 * there is one. The channels by which the i-th switch of the settling order goes on are
 * chan[row[i]] .. chan[row[i + 1] - 1], ascending, until the next call.
 */
void osr_spf_ways(struct osr_spf *spf, uint32_t root, const uint32_t **row, const uint32_t **chan);
/* Adds the routes to d, whose hops the engine has filled, to the weights. */
void osr_spf_count(struct osr_spf *spf, uint32_t d);
/* Is the switch that channel c leads to closer to root than the one it leaves? */
bool osr_spf_is_closer(const struct osr_spf *spf, uint32_t root, uint32_t c);

/* The load of the busiest channel. */
uint64_t osr_spf_load(const struct osr_spf *spf);

/* Routes and loads put aside in `arena`, for a try that may not be taken. */
struct osr_spf_saved {
	uint8_t *hop;     /* [n_dests * n_switches] */
	uint64_t *weight; /* [n_channels] */
};

/* Fills *saved; OSR_NOMEM only. And back again. */
enum osr_status osr_spf_save(const struct osr_spf *spf, struct osr_arena *arena,
			     struct osr_spf_saved *saved, struct osr_diag *diag);
void osr_spf_restore(struct osr_spf *spf, const struct osr_spf_saved *saved);

/* Back to all shortest paths, by a first pass of its own: where the order has no path for all. */
void osr_spf_leave_order(struct osr_spf *spf);

/*
 * As long as the busiest channel carries more than `bound` (or the mean, if that is more), branches
 * of trees leave it for ways as short, within spf->place if that is set. O(LIDs * switches).
 */
void osr_spf_relieve(struct osr_spf *spf, uint64_t bound);

/* Is the load so close to a bound of every routing that no round is worth while? */
bool osr_spf_balanced(const struct osr_spf *spf);

/*
 * Turns hops into output ports, in place; the dest's own switch gets its end port. Call once,
 * last.
 */
void osr_spf_finish(struct osr_spf *spf);

/* The channel that switch v takes to dest d, or OSR_NONE. */
static inline uint32_t osr_spf_channel(const struct osr_spf *spf, uint32_t d, uint32_t v)
{
	return osr_hop_channel(spf->fabric, v, spf->hop[(size_t)d * spf->fabric->n_switches + v]);
}

#endif

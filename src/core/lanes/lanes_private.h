/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Strategies of the table in strategies.c that have a file of their own, and the steps with which
 * they end.
 */
#ifndef OSR_LANES_PRIVATE_H
#define OSR_LANES_PRIVATE_H

#include <osmroutes/lanes.h>
#include <osmroutes/product.h>

#include "search.h"

#define OSR_LANES_BY_SL_MAX 8 /* orders: bits of a mask. More VLs than that are not used. */

/*
 * One lane by the order of a fat tree. *fits: complete. Otherwise the routes of spf are undefined
 * if spf->n_rounds was reset, and unchanged if the fabric is no tree or a route would get longer.
 */
enum osr_status osr_lanes_tree(struct osr_lanes_job *job, bool *fits);

/*
 * That order as one of updown.h, in job->scratch; *found: the fabric is a tree, whole or broken, in
 * one piece. Two lanes by turn in it also serve end ports on switches above the leaves, whose
 * routes go down first or up last.
 */
struct osr_updown;
enum osr_status osr_lanes_tree_updown(struct osr_lanes_job *job, struct osr_updown *updown,
				      bool *found);

/*
 * Lanes by SL for the paths there are, or for others where the VLs do not suffice and the options
 * allow it; OSR_NO_VL with a sentence where they do not. With replies on the SL of their request if
 * the options want them.
 */
enum osr_status osr_lanes_sl(struct osr_lanes_job *job, bool *done);

/*
 * Routes of lanes by SL are dealt over the lanes of the budget that have none; the proof of the
 * lane that they share holds for each.
 */
enum osr_status osr_lanes_spread(struct osr_lanes_job *job);

/*
 * Is the fabric a product, whole or damaged, in one piece and of one rate? Then job->product, else
 * OSR_OK, too.
 */
enum osr_status osr_dor_find(struct osr_lanes_job *job);

/*
 * Dimension order (dor.c): where a fabric is whole with its hosts spread evenly it balances as well
 * as anything can, and its lanes are known beforehand: one without rings, two with them, replies on
 * the SL of their request. *routed: routing is complete. Otherwise spf and routing are as before:
 * no product (NULL) or not a whole one, hosts not spread evenly, multicast on VL 1 with rings, one
 * VL for them without detours, two where any SL must do.
 */
enum osr_status osr_dor_assign(struct osr_lanes_job *job, bool *routed);

/*
 * No routing can keep the channels of a dimension below their mean load, or that of a line's
 * middle.
 */
uint64_t osr_dor_least(const struct osr_spf *spf, const struct osr_product *product);

/*
 * Lanes by turn, in dimension order, for products with rings: see turn_rings.c. *routed with any_sl
 * = on, and with auto where they cost next to nothing; otherwise they are left in job->turn, to be
 * compared.
 */
enum osr_status osr_turn_rings(struct osr_lanes_job *job, bool *routed);

/*
 * One lane for given trees (spf->hop), most of whose routes are legal in this order. Routes that
 * are not legal take detours, and then entries move off channels with more than `enough`
 * (UINT64_MAX: none). parent[] spans all switches. Multicast, if requested, joins an order of
 * parent[] and of everything that this order allows, which must exist.
 */
enum osr_status osr_lanes_mend(const struct osr_lanes_job *job, uint32_t *order,
			       const uint32_t *parent, uint64_t enough);

/* ---- tables_sl.c: from routes and orders to SLs, the certificate and the claims -------------- */

/*
 * both[n_switches * n_switches]: the VLs on which everything sent between two switches is legal.
 * True if every pair has such a VL.
 */
bool osr_tables_join(const struct osr_search *search, uint8_t *both);

/*
 * Of routes within orders: SLs out of masks, the lowest or spread over the pairs, or out of those
 * of pairs, on which replies are safe, too; the certificate, and the claims.
 */
enum osr_status osr_tables_sl(struct osr_search *search, const struct osr_lanes_job *job,
			      const uint8_t *both);

/*
 * ---- routes as they are
 * --------------------------------------------------------------------------
 */

/* The switch behind v on the way that hop[] describes. */
static inline uint32_t osr_next_switch(const struct osr_fabric *fabric, const uint8_t *hop,
				       uint32_t v)
{
	return fabric->chan_dst[fabric->chan_row[v] + hop[v]];
}

/* The first turn of v's route to root; OSR_NONE where the route has one channel. */
static inline uint32_t osr_dependency(const struct osr_weights *weights, const uint8_t *hop,
				      uint32_t root, uint32_t v)
{
	uint32_t u = osr_next_switch(weights->fabric, hop, v);

	return u == root
		       ? OSR_NONE
		       : weights->fabric->turn_row[weights->fabric->chan_row[v] + hop[v]] + hop[u];
}

/*
 * ---- layers_paper.c
 * ------------------------------------------------------------------------------
 */

/*
 * Takes routes without a lane out of the graph in search->weights, an edge at a time, until the
 * graph has no cycle. A route that was taken out has a mask. O(channels + turns + edges cut * dests
 * + trees touched * n_switches + routes moved * hops).
 */
enum osr_status osr_break_cycles(struct osr_search *search, enum osr_heuristic heuristic);

/*
 * One route after the other, or one pair of switches with all routes in both directions, into the
 * first layer where it closes no cycle; multicast (NULL: none) first. Fills orders[limit *
 * n_channels] and *n_layers; OSR_NO_VL beyond the limit. One search for each unit and layer that it
 * adds something to. Scratch n_turns + 13 n_channels bytes a layer.
 */
enum osr_status osr_layers_online(struct osr_search *search, const uint32_t *mcast, uint32_t limit,
				  bool pairs, uint32_t *orders, uint32_t *n_layers);

#endif

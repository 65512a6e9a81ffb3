/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Strategies of the table in strategies.c that have a file of their own, and what they end with. */
#ifndef OSR_LANES_PRIVATE_H
#define OSR_LANES_PRIVATE_H

#include <osmroutes/lanes.h>
#include <osmroutes/product.h>

#include "search.h"

#define OSR_ORDERED_MAX 8 /* orders: bits of a mask. More VLs than that are not used. */

/*
 * One lane by the order of a fat tree. *fits: complete. Otherwise the routes of s are undefined if
 * s->n_rounds was reset, and as before if the fabric is no tree or a route would get longer.
 */
enum osr_status osr__lanes_tree(struct osr_lanes_job *job, bool *fits);

/*
 * That order as one of updown.h, in job->scratch; *found: the fabric is a tree, whole or broken, in one piece. Two
 * lanes by turn in it also serve end ports on switches above the leaves, whose routes go down first or up last.
 */
struct osr_updown;
enum osr_status osr__lanes_tree_updown(struct osr_lanes_job *job, struct osr_updown *updown,
				       bool *found);

/*
 * Lanes by SL for the paths there are, or for others where the VLs do not suffice and the options allow it; OSR_NO_VL with a
 * sentence where they do not. With replies on the SL of their request if the options want them.
 */
enum osr_status osr__lanes_sl(struct osr_lanes_job *job, bool *done);

/*
 * Routes of lanes by SL are dealt over the lanes of the budget that have none; the proof of the
 * lane that they share holds for each.
 */
enum osr_status osr__lanes_spread(struct osr_lanes_job *job);

/*
 * Is the fabric a product, whole or damaged, in one piece? Then job->product, else OSR_OK, too. Dimension order is for
 * one LID a port, and one rate.
 */
enum osr_status osr__dor_find(struct osr_lanes_job *job);

/*
 * Where a fabric is a whole torus, mesh, hypercube or HyperX with its hosts spread evenly, dimension order (dimension.h)
 * balances as well as anything can, at a fraction of the cost of balancing by weights, and its lanes are known
 * beforehand: one without rings, two with them, replies on the SL of their request.
 *
 * *routed says whether the fabric was routed this way; then routing is complete.
 * Otherwise spf and routing are as before, and the ordinary way is free: no product (NULL) or not a whole one, hosts not
 * spread evenly (the most loaded channel exceeds 1.15 times the mean of its dimension's), multicast on VL 1 with rings, one VL for them
 * without detours.
 */
enum osr_status osr_dor_assign(const struct osr_lane_work *work, const struct osr_product *product,
			       bool detours, bool *routed);

/* No routing can keep the channels of a dimension below their mean load, or that of a line's middle. */
uint64_t osr__dor_least(const struct osr_spf *spf, const struct osr_product *product);

/* No load on any channel. */
void osr__dor_clear(struct osr_spf *spf);

/*
 * Lanes by turn, in dimension order, for products with rings: see turn_rings.c. *routed with any_sl = on, and
 * with auto where they cost next to nothing; otherwise they are left in job->turn, to be compared.
 */
enum osr_status osr__turn_rings(struct osr_lanes_job *job, bool *routed);

/*
 * One lane for trees that are given (s->hop), legal by and large in this order: routes that are not take detours, and
 * entries move off channels with more than `enough` then (UINT64_MAX: none). parent[] spans all; multicast, if it is asked
 * for, joins an order of it and of all that this one allows, which must exist.
 */
enum osr_status osr_ordered_mend(const struct osr_lane_work *work, uint32_t *order,
				 const uint32_t *parent, uint64_t enough);

/* ---- tables_sl.c: from routes and orders to SLs, the certificate and the claims ---------------- */

/*
 * both[n_switches * n_switches]: the VLs on which all that is sent between two switches is legal; true if no pair has
 * none.
 */
bool osr__tables_join(const struct osr__search *w, uint8_t *both);

/*
 * Of routes within orders: SLs out of masks, or out of those of pairs, on which replies are safe, too; the certificate,
 * and the claims.
 */
enum osr_status osr__tables_sl(struct osr__search *w, const struct osr_lane_work *work,
			       const uint8_t *both);

/*
 * The certificate out of the orders of n_lanes lanes, rank[n_lanes * n_channels], and the claims that follow. VLs 0 and
 * *swap trade places: multicast, which rises in the first order, has its VL; beyond the others its order is that, too.
 */
enum osr_status osr__tables_certify(const struct osr_lane_work *work, const uint32_t *rank,
				    uint32_t n_lanes, bool multicast, uint8_t *swap);

static inline uint8_t osr__tables_vl(uint8_t lane, uint8_t swap)
{
	return lane == 0 ? swap : lane == swap ? 0 : lane;
}

/* LIDs that ride along have the SLs of those whose routes they share. */
void osr__tables_share_sls(const struct osr_spf *spf, uint8_t *sl);

#endif

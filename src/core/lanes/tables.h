/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* From routes and orders to SLs, SL2VL tables, the certificate and the claims. */
#ifndef OSR_LANES_TABLES_H
#define OSR_LANES_TABLES_H

#include <osmroutes/layers.h>

#include "search.h"

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

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The tables that OpenSM's unicast cache has programmed, with the certificate of the last checked
 * tables (core/data/carry.h).
 */
#include <osmroutes/each.h>

#include "core/data/carry.h"

#include "sweep.h"

#include <string.h>

enum osr_status osr_reuse_cached(const struct osr_result *old, const struct osr_fabric *fabric,
				 const struct snapshot *snap, struct osr_arena *result,
				 struct osr_arena *scratch, struct osr_routing *routing,
				 struct osr_diag *diag)
{
	enum osr_status st = osr_carry_again(old, fabric, false, result, scratch, routing, diag);

	if (st)
		return st;
	memset(routing->lft, OSR_NO_PATH, (size_t)fabric->n_dests * fabric->n_switches);
	OSR_EACH_SWITCH(s, fabric) {
		const osm_switch_t *sw = snap->sw[s];
		const uint8_t *lft = sw->new_lft ? sw->new_lft : sw->lft;

		for (uint32_t d = 0; lft && d < fabric->n_dests; d++)
			if (fabric->dest_lid[d] <= sw->max_lid_ho)
				routing->lft[(size_t)d * fabric->n_switches + s] =
					lft[fabric->dest_lid[d]];
	}
	return OSR_OK;
}

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* neighbours.h - the switches that each one is cabled to, parallel cables once. */
#ifndef OSR_CORE_NEIGHBOURS_H
#define OSR_CORE_NEIGHBOURS_H

#include <osmroutes/each.h>
#include <osmroutes/fabric.h>

#include <string.h>

/*
 * Of switch v near[row[v]] .. near[row[v + 1] - 1], by first channel, with mult[] cables each
 * (NULL: not counted). row[n_switches + 1], near[n_channels], at[n_switches] is scratch.
 */
static inline void osr_neighbours(const struct osr_fabric *fabric, uint32_t *row, uint32_t *near,
				  uint32_t *mult, uint32_t *at)
{
	uint32_t n = 0;

	memset(at, 0xff, fabric->n_switches * sizeof(*at));
	OSR_EACH_SWITCH(v, fabric) {
		row[v] = n;
		OSR_EACH_CHANNEL(c, fabric, v) {
			uint32_t u = fabric->chan_dst[c];

			/*
			 * Values that an earlier switch left there lie before the row of this one.
			 */
			if (at[u] == OSR_NONE || at[u] < row[v]) {
				at[u] = n;
				if (mult)
					mult[n] = 0;
				near[n++] = u;
			}
			if (mult)
				mult[at[u]]++;
		}
	}
	row[fabric->n_switches] = n;
}

#endif

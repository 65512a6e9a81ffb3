/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * phases.h - traffic: pairs of senders and receivers, phase by phase.
 *
 * Ranks 0 .. n_ranks-1 are the processes of one program; where they run is for somebody else to say.
 * The pairs of one phase send at once, the next phase begins when all have arrived. What that costs on a
 * routing is told by congestion.h. Communication patterns are written by share/examples/traffic-patterns.
 */
#ifndef OSMROUTES_PHASES_H
#define OSMROUTES_PHASES_H

#include <stdint.h>

#include <osmroutes/status.h>

#define OSR_MAX_RANKS (UINT32_C(1) << 20)

/* Ranks here; elsewhere terminals, of any role. Both ends are different. */
struct osr_pair {
	uint32_t from, to;
};

/* Those of phase k are pair[row[k]] .. pair[row[k + 1] - 1], both ends different and below n_ranks. */
struct osr_phases {
	uint32_t n_ranks;
	uint32_t n_phases;
	const uint32_t *row; /* [n_phases + 1] */
	const struct osr_pair *pair;
};

/* Pairs of the largest phase. */
static inline uint32_t osr_phases_most(const struct osr_phases *phases)
{
	uint32_t most = 0;

	for (uint32_t k = 0; k < phases->n_phases; k++) {
		uint32_t n = phases->row[k + 1] - phases->row[k];

		most = most < n ? n : most;
	}
	return most;
}

#endif

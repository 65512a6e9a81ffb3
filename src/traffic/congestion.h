/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * congestion.h - traffic: pairs of senders and receivers, phase by phase, and what one phase costs on a routing.
 *
 * Ranks 0 .. n_ranks-1 are the processes of one program; where they run is for somebody else to say. Communication
 * patterns are written by share/examples/traffic-patterns. The pairs of a phase send at once, each along its route; the
 * next phase begins when all have arrived. The congestion of a channel is how many
 * routes cross it. The cables of end ports count as channels, one for each direction; link rates
 * are not looked at.
 *
 * - The bandwidth of a pair is 1 / the largest congestion on its path (Schneider, Hoefler,
 *   Lumsdaine: ORCS, Indiana University TR 675, 2009). A pair whose table entries lead nowhere
 *   gets 0.
 * - The hot spot degree of a phase is the largest congestion of any channel (Zahavi, D-Mod-K,
 *   section II).
 *
 * A meter is memory to walk on; one thread uses one at a time. It walks all pairs in step, so
 * O(pairs * hops), twice if bandwidth is asked for.
 */
#ifndef OSMROUTES_CONGESTION_H
#define OSMROUTES_CONGESTION_H

#include <osmroutes/routing.h>

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

struct osr_meter {
	const struct osr_fabric *f;
	const struct osr_routing *r;
	uint32_t max_pairs;
	uint32_t n_pairs; /* of the phase at hand */

	/*
	 * After osr_meter_phase(): flows on each channel, out of each end port and into it; and if
	 * bandwidth was asked for the congestion of each pair, 0 if it leads nowhere.
	 */
	uint32_t *load;     /* [n_channels] */
	uint32_t *sends;    /* [n_terminals] */
	uint32_t *receives; /* [n_terminals] */
	uint32_t *worst;    /* [n_pairs] */

	uint32_t *crossed; /* [n_channels + 1] the n_crossed channels that carry flows */
	uint32_t n_crossed;
	uint32_t *from, *dest, *at, *walking; /* [max_pairs] */
	uint32_t *n_worst;                    /* [max_pairs + 1] */
};

/* What a phase came to. */
struct osr_crossing {
	uint32_t n_pairs;
	uint32_t n_no_path; /* pairs that lead nowhere; they load what they cross */
	uint32_t hsd;       /* hot spot degree; 0 without pairs */
	double bandwidth;   /* sum over the pairs; 0 if not asked for */
};

/* Memory for phases of up to max_pairs pairs; lives in `arena`. */
enum osr_status osr_meter_init(struct osr_meter *meter, const struct osr_fabric *fabric,
			       const struct osr_routing *routing, uint32_t max_pairs,
			       struct osr_arena *arena, struct osr_diag *diag);

/*
 * One phase. pairs[n_pairs] are terminals, both ends different; an end port may send or receive
 * several times, to base LIDs. `r` is finished and need not be checked: a loop is reported
 * (OSR_CHECK_FAILED). Sums are taken by congestion, from 1 upwards, so the double is the same on
 * every machine.
 */
enum osr_status osr_meter_phase(struct osr_meter *meter, const struct osr_pair *pairs,
				uint32_t n_pairs, bool bandwidth, struct osr_crossing *crossing,
				struct osr_diag *diag);

#endif

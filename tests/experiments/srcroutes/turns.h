/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * turns.h - which turns against the order of directions a torus can afford without deadlock.
 *
 * Source: the paper of torus.h, section 3.2. The vertices of the channel dependency graph are the
 * channels (u, D); at first there is an edge from (u, D) to every (v, E) with v = u + D and D <= E,
 * the direction order. The used direction set B(v, E) holds the directions of all channels that can
 * be reached from (v, E). Theorem 2: an edge from (u, D) to (v, E) with D > E closes no cycle if D
 * is not in B(v, E).
 *
 * What closes a cycle is a matter of rings, not of channels: in a whole ring every channel waits
 * for the next one, and the bubble rule (a packet enters a ring only if another one still fits
 * behind it) keeps it alive. So all channels of one direction around a whole ring count as one;
 * those of a line, or of a ring that has lost a link or a node, count by themselves. The
 * certificate is a rank for every channel that is equal along a whole ring and rises along every
 * other permitted step.
 *
 * DIFFERS: a packet never goes straight back where it came from (+X, -X); no shortest route does,
 * so these edges are left out. Only turns that a route can use are tried: from a positive direction
 * to a lower positive one (behind a first step), from a negative to a lower negative one (before a
 * last step).
 */
#ifndef OSMROUTES_TURNS_H
#define OSMROUTES_TURNS_H

#include "srcroutes/torus.h"

struct osr_turns {
	const struct osr_torus *t;
	/*
	 * [n_nodes * n_dirs] bit E of after[v * n_dirs + D]: who has come to v by direction D may
	 * go on by E < D. Turns in direction order are not listed: they are always allowed.
	 */
	uint16_t *after;
	uint32_t n_added;
	uint32_t *rank; /* [n_nodes * n_dirs] certificate; OSR_NO_NODE: no channel */
};

/*
 * Channels have their turn in the order of their numbers; for each, lower target directions come first.
 * O(channels * directions^2) for the direction sets of theorem 2 in practice (they only grow, 2n times
 * at most), and the order of the turns added: see toporder.h. OSR_NOMEM; OSR_BUG if theorem 2 were
 * wrong.
 */
enum osr_status osr_turns_find(const struct osr_torus *torus, struct osr_arena *scratch,
			       struct osr_arena *result, struct osr_turns *turns,
			       struct osr_diag *diag);

#endif

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * pairs.h - shortest paths pair by pair, joined into trees; and the published P-SSSP, which counts
 * a tree when it is complete, to compare with.
 *
 * P2-SSSP (Hoefler, Schneider, Lumsdaine, HOTI 2009) finds the lightest shortest path of one
 * source-destination pair after the other and counts each before it looks for the next. Paths
 * found one by one need not agree on where they go on from a switch they share, so they do not fit
 * forwarding tables.
 *
 * DIFFERS: destination by destination, the sources are added one by one, and a path ends where it
 * meets the tree that the earlier ones have built: from there it goes on as they do. Its own part
 * is the lightest that leads to that tree, what the rest weighs included. All end ports of a
 * switch share the switch's path, so they are added together and count as many.
 */
#ifndef OSR_P2SSSP_PAIRS_H
#define OSR_P2SSSP_PAIRS_H

#include <osmroutes/spf.h>

/* When the weights grow: after each pair (P2-SSSP), or after each destination (P-SSSP). */
enum weight_step {
	STEP_PAIR,
	STEP_DEST,
};

/* Who is added first: those far away choose whole paths, those nearby a single channel. */
enum source_order {
	SOURCES_INDEX,
	SOURCES_FAR,
	SOURCES_NEAR,
};

/*
 * spf is routed; the trees of CA and router LIDs are replaced, `rounds` times after the first by
 * taking each out of the weights and building it again. s->weight is not kept up to date. Time per
 * round O(LIDs * switches * edges of the shortest paths from one switch to one other), scratch
 * O(channels + switches).
 */
enum osr_status pairs_route(struct osr_spf *spf, enum weight_step step, enum source_order order,
			    uint32_t rounds, struct osr_arena *scratch, struct osr_diag *diag);

#endif

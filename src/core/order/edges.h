/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Sifting of any weighted graph: of the channels of cdg.h, and the (lane, channel) nodes of turn.h. */
#ifndef OSR_ORDER_EDGES_H
#define OSR_ORDER_EDGES_H

#include "core/order/cdg.h"

struct edge {
	uint32_t other;  /* the node at the other end */
	uint32_t weight; /* UINT32_MAX: must not go backward */
};

/* Edges in use, by tail (out) and by head (in). */
struct edges {
	uint32_t n_chans, n;
	uint32_t *out_row, *in_row; /* [n_chans + 1] */
	struct edge *out, *in;      /* [n] */
};

/*
 * Sifts a given order, rank[n_chans], for at most so many passes; false if memory ran out. Scratch
 * stays in use until the caller resets it.
 */
bool osr__cdg_sift(const struct edges *x, uint32_t passes, struct osr_arena *scratch,
		   uint32_t *rank);

/*
 * A topological order of the nodes by out_row and out; false: there is none, or memory ran out. Scratch as above.
 */
bool osr__cdg_sort_edges(const struct edges *x, struct osr_arena *scratch, uint32_t *rank);

/*
 * The first slot of each channel, [n_channels + 1]. NULL: memory ran out, or there are more than 2^32, which is in diag.
 */
uint32_t *osr__cdg_rows(const struct osr_fabric *fabric, struct osr_arena *scratch,
			struct osr_diag *diag);

/* Fills in_row and in from out_row and out. */
bool osr__cdg_reverse(struct edges *x, struct osr_arena *scratch);

#endif

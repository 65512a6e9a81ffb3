/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * updown.h - an order of the switches for one virtual lane.
 *
 * On one lane every pair of switches that has no shortest path forward in the order of the channels
 * must take a detour. An up*-down* order comes from an order of the switches: a cable leads up to
 * the higher of its ends. Breadth first from a root (Autonet, Schroeder et al. 1991) leaves a
 * quarter of the pairs of a random graph without a shortest path.
 *
 * Here the order is searched for the number of pairs that keep one, by annealing: one switch at a
 * time trades places with a neighbour. The destinations that a switch reaches, downwards or at all,
 * are sets of bits:
 *	down(v) = {v} + sum over c = (v -> w), w lower,  of shortest(c) & down(w)
 *	any(v)  = down(v) + sum over c = (v -> w), w higher, of shortest(c) & any(w)
 *
 * Integers only, its own random numbers: the same fabric gives the same order everywhere.
 */
#ifndef OSMROUTES_UPDOWN_H
#define OSMROUTES_UPDOWN_H

#include <osmroutes/spf.h>

/* Effort for one lane: a quarter takes half the CPU and leaves 0.08 points more longer routes. */
#define OSR_UPDOWN_EFFORT 80

struct osr_updown {
	uint32_t *place;  /* [n_switches] 0 is the highest; one root per component, first */
	uint32_t *parent; /* [n_switches] channel up the shortest way to the root; OSR_NONE there */
	uint64_t n_pairs; /* (switch with hosts, another) that were counted */
	uint64_t n_served; /* of those, with a shortest path up, then down */
};

/*
 * `effort` bounds the work, in millions of channels looked at for 256 destinations, and in tens of
 * moves per switch; 0: the breadth-first order as it is. On fabrics of more than 512 switches with
 * hosts, 512 of them count as destinations. spf has its settling orders (osr_spf_init). The arrays
 * of `updown` are in `scratch`, and need O(channels * 64 bytes) more while it runs; OSR_NOMEM only.
 */
enum osr_status osr_updown_search(const struct osr_spf *spf, uint32_t effort,
				  struct osr_arena *scratch, struct osr_updown *updown,
				  struct osr_diag *diag);

#endif

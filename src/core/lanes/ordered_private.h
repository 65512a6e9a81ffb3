/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* What the files of ordered.h share: ordered.c (orders, rounds), _tree.c, _lanes.c. */
#ifndef OSR_ORDERED_PRIVATE_H
#define OSR_ORDERED_PRIVATE_H

#include <osmroutes/cdg.h>
#include <osmroutes/ordered.h>

#include "legal_tree.h"

#define OSR__BUSY ((uint64_t)1 << 50) /* of a weight: no more routes shall go there */

struct guide {
	struct osr__legal t; /* mask: the row of a dest */
	const struct osr_lane_work *work;
	struct osr_cdg g;
	uint32_t n_orders; /* K */
	uint32_t *rank;    /* [K * n_channels] */
	uint8_t *legal;    /* [n_slots] bit k: forward in order k */
	uint8_t *freedom;  /* [n_channels * K] 64ths of predecessors that may go on into it */
	uint8_t *mask;     /* [n_dests * n_switches] VLs on which the route is legal */
	const uint32_t *mcast_parent; /* of the request's multicast, or NULL */
	uint64_t n_failed;            /* routes without a legal shortest path in this round */
	uint32_t boost;               /* what they weigh when the orders are improved */
};

/* osr__legal.over and .settle; settle() takes one order exactly where t->exact says so. */
uint8_t osr__ordered_over(const struct osr__legal *t, const uint8_t *hop, uint32_t root,
			  uint32_t c);
uint32_t osr__ordered_settle(struct osr__legal *t, uint32_t root, uint32_t d, uint64_t price);

/* The masks at hand are those of d from here on. */
static inline void osr__ordered_aim(struct guide *w, uint32_t d)
{
	w->t.mask = w->mask + (size_t)d * w->t.f->n_switches;
}

/*
 * How many switches have no legal shortest route to d within a single order, however the routes are
 * chosen. Overwrites d's masks.
 */
uint32_t osr__ordered_barred(struct guide *w, uint32_t root, uint32_t d);

/* The masks of d's tree as it stands; returns how many of its routes have none. */
uint32_t osr__ordered_keep_tree(struct guide *w, uint32_t root, uint32_t d);

/*
 * Keeps of d's tree, whose masks are known, what is legal. Who has no legal route takes the lightest
 * shortest one there is, given those nearer the dest; returns how many have none.
 */
uint32_t osr__ordered_patch(struct guide *w, uint32_t root, uint32_t d);

/* SLs out of masks, the certificate, and the claims. */
enum osr_status osr__ordered_finish(struct guide *w, bool reversible);

#endif

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* What the files of ordered.h share: ordered.c (orders, rounds), _tree.c, _detour.c, _lanes.c. */
#ifndef OSR_ORDERED_PRIVATE_H
#define OSR_ORDERED_PRIVATE_H

#include <osmroutes/cdg.h>
#include <osmroutes/ordered.h>

#include "../paths/spf_private.h"

struct guide {
	struct osr_spf *s;
	const struct osr_fabric *f;
	struct osr_cdg g;
	uint32_t n_orders; /* K */
	uint32_t *rank;    /* [K * n_channels] */
	uint8_t *legal;    /* [n_slots] bit k: forward in order k */
	uint8_t *freedom;  /* [n_channels * K] 64ths of predecessors that may go on into it */
	uint8_t *mask;     /* [n_dests * n_switches] VLs on which the route is legal */
	uint32_t *escape;  /* [n_switches] channel to the parent in the escape tree */
	const uint32_t *mcast_parent; /* of the request's multicast, or NULL */
	bool exact; /* a single order, searched for the pairs it serves: all of them get their way */
	uint64_t mean;     /* weight of a channel, as the keys of settle() */
	uint64_t n_failed; /* routes without a legal shortest path in this round */
	uint32_t boost;    /* what they weigh when the orders are improved */
	uint8_t *detoured; /* [n_dests] the tree has routes longer than minimal */
	/* detour() of one dest */
	uint32_t *len;         /* [n_switches] channels to the root; OSR_NONE: not attached yet */
	uint32_t *head, *link; /* [n_switches + 1], [n_switches] lists of switches by len */
	uint64_t *key;         /* [n_switches] best way to attach */
	uint32_t *waiting;     /* [n_switches] switches that got a key at this length */
	uint8_t *new_mask;     /* [n_switches] */
	uint8_t *forced;       /* [n_switches] on the escape tree */
	uint8_t *escape_hop;   /* [n_switches] towards the root of the dest */
	uint16_t *order;       /* [n_switches] of the detoured tree */
};

static inline uint8_t all_vls(const struct guide *w)
{
	return (uint8_t)((1u << w->n_orders) - 1);
}

/* The VLs on which v may go on over c into a tree that knows its hops and masks. */
static inline uint8_t mask_over(const struct guide *w, const uint8_t *hop, const uint8_t *mask,
				uint32_t root, uint32_t c)
{
	uint32_t u = w->f->chan_dst[c];

	return u == root ? all_vls(w) : mask[u] & w->legal[osr_cdg_slot(&w->g, c, hop[u])];
}

/*
 * Shortest routes to d at one price; osr__spf_graph() of its switch comes first. Returns how many
 * switches have no legal one. _best: the least of several prices; or settle_one().
 */
uint32_t osr__ordered_settle(struct guide *w, uint32_t root, uint32_t d, uint64_t price);
uint32_t osr__ordered_settle_best(struct guide *w, uint32_t root, uint32_t d);

/*
 * How many switches have no legal shortest route to d within a single order, however the routes are
 * chosen. Overwrites d's masks.
 */
uint32_t osr__ordered_barred(struct guide *w, uint32_t root, uint32_t d);

/* The masks of d's tree as it stands; returns how many of its routes have none. */
uint32_t osr__ordered_keep_tree(struct guide *w, uint32_t root, uint32_t d);

/*
 * Completes a tree in which some switches have no legal route. What is legal stays; the others
 * attach to it over longer ways. As long as one cannot, it goes on the escape tree and the rest is
 * grown around.
 */
void osr__ordered_detour(struct guide *w, uint32_t root, uint32_t d);

/* Lists the switches of a tree by length, as its hops say. */
void osr__ordered_measure(struct guide *w, uint32_t root, const uint8_t *hop);

/*
 * The switches of a listed tree by length into w->order; returns how many, and adds the routes that
 * are longer than they need be to *n_longer.
 */
uint32_t osr__ordered_sort(struct guide *w, uint32_t root, uint32_t d, uint32_t *n_longer);

/* Moves single dests off the most loaded channel; no tree gets more longer routes than it has. */
void osr__ordered_polish(struct guide *w, uint32_t n_moves, struct osr_routing *routing);

/* SLs out of masks, the certificate, and the claims. */
enum osr_status osr__ordered_finish(struct guide *w, const struct osr_request *req, bool reversible,
				    struct osr_arena *scratch, struct osr_arena *result,
				    struct osr_routing *routing, struct osr_diag *diag);

#endif

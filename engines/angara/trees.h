/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * trees.h - one tree of directions for each destination, whole or around what is missing.
 *
 * The way of a switch to a destination is that of the intact grid where it can be: dimension by
 * dimension, in a ring that is interrupted the other way round. It is known at every switch on the
 * way, so the entries of one destination form a tree. Switches whose way is cut (the corner where it
 * would turn is gone, or both ways around) are left over. They step to a neighbour that has a way,
 * as long as the whole of it stays legal on the service level that the pair always had: nearest
 * first, dependencies added to the order one by one. Pairs for which there is no such way take
 * another service level.
 */
#ifndef ANGARA_TREES_H
#define ANGARA_TREES_H

#include <osmroutes/routing.h>

#include "order.h"

#define NO_WAY 255
#define NO_LANE 255 /* a lane without unicast */

struct trees {
	const struct plan *p;
	struct order *o;
	uint8_t *row;  /* [n_dests * n_switches] directions, by the first LID of each way */
	uint16_t *gap; /* see angara__order() */
	uint16_t *run; /* [n_switches * 2 * n_dims] steps possible */
	uint32_t *dest_row, *dest_list;   /* dests by switch, those of CAs first */
	uint32_t *model;                  /* [n_dests] the dest whose row this one shares */
	uint32_t *turn;                   /* [n_dests] in which order they are mended */
	uint32_t *hops, *queue, *by_hops; /* [n_switches] of one tree */
	uint8_t *sl;              /* [n_dests * n_switches] as row; NULL: every pair has its own */
	uint32_t *fresh, n_fresh; /* [n_switches * (2 * n_dims)^2] dependencies to take back */
	uint32_t n_detours;       /* left over, and found a way */
	uint32_t n_aside;         /* of these, on a service level that is not their own */
	uint32_t n_longer;        /* routes longer than minimal */
};

/* Rows and gaps of the grid; needed for the order, too. */
enum osr_status angara__trees_init(struct trees *t, const struct plan *p, uint8_t *row,
				   struct osr_arena *scratch, struct osr_diag *diag);

/* Directions from every switch, no step out of the way: all there is if nothing is missing. */
void angara__trees_plain(struct trees *t);

/* Counts the dependencies of all rows in o->used. */
void angara__trees_depend(struct trees *t, uint16_t *sls);

/*
 * Ways for those left over. False if some switch finds none; the dest for which it found none has its
 * turn first if this is tried again.
 */
bool angara__trees_mend(struct trees *t);

/* n_longer, by distances of its own. Also fills hops[] for nobody in particular. */
void angara__trees_measure(struct trees *t);

/* hops[] and by_hops[] (nearest first) of the tree to switch `root`; how many have a way. */
uint32_t angara__trees_hops(struct trees *t, const uint8_t *row, uint32_t root);

/*
 * Are replies to those who took another service level, on that one, legal, too? Adds their
 * dependencies; where they close a cycle, both ways take another service level. False if some
 * pair finds none.
 */
bool angara__trees_replies(struct trees *t);

/*
 * Instead of angara__trees_depend(), if the order has a tree of multicast already: whose way does
 * not go with it takes another service level. False if some pair finds none.
 */
bool angara__trees_settle(struct trees *t);

/*
 * A spanning tree for multicast on a lane, as directions towards its root: NO_WAY at the root. With
 * o->used, its dependencies are added. False if no tree fits the order.
 */
bool angara__trees_multicast(struct trees *t, uint32_t lane, uint8_t *up);

/* The same for a tree that was found before o->used was made anew. */
bool angara__trees_keep_multicast(struct trees *t, uint32_t lane, const uint8_t *up);

/* Adds a dependency, to fresh[], too, if it was not in use before; false if it closes a cycle. */
bool angara__add(struct trees *t, uint32_t v, uint32_t dir, uint32_t lane, uint32_t next,
		 uint32_t next_lane);
/* All but the first n of fresh[]. */
void angara__take_back(struct trees *t, uint32_t n);

static inline bool angara__is_host(const struct osr_fabric *fabric, uint32_t d)
{
	return fabric->term_weight[fabric->dest_term[d]] > 0;
}

/* The service level of ways from a to b that go by the order of dimensions. */
static inline uint32_t angara__own_sl(const struct trees *t, uint32_t a, uint32_t b)
{
	return angara__sl(t->p, osr_grid_coord(t->p->g, a), osr_grid_coord(t->p->g, b));
}

#endif

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * level.h - the paths of a fat tree by digits, and the flows of one group of switches (level t, digits B)
 * as a demand on its planes; private to src/keys.
 *
 * A node is (level t, A, B) as in pgft.h. From it, plane q = b + k w of level t leads up over the
 * k-th cable to (t + 1, A / m, B + b w_product); the same plane leads down from there to the node
 * that agrees with it in B. So a path from one leaf to another is a plane for every level up to where
 * they meet.
 */
#ifndef OSR_KEYS_LEVEL_H
#define OSR_KEYS_LEVEL_H

#include "keys/keys.h"

#include "colour.h"

static inline uint32_t osr__n_planes(const struct osr_pgft_tree *tree, uint32_t t)
{
	return tree->w[t + 1] * tree->p[t + 1];
}

static inline uint32_t osr__node(const struct osr_pgft_tree *tree, uint32_t t, uint32_t a,
				 uint32_t b)
{
	return tree->place[t][(size_t)a * tree->w_product[t] + b];
}

/* The channel up from switch s by plane q, or OSR_NONE. */
static inline uint32_t osr__up(const struct osr_pgft *pgft, uint32_t s, uint32_t q)
{
	return s == OSR_NONE || pgft->up_row[s] + q >= pgft->up_row[s + 1]
		       ? OSR_NONE
		       : pgft->up[pgft->up_row[s] + q];
}

/* The B of the node that plane q leads to. */
static inline uint32_t osr__b_above(const struct osr_pgft_tree *tree, uint32_t t, uint32_t b,
				    uint32_t q)
{
	return b + q % tree->w[t + 1] * tree->w_product[t];
}

/* One level of one tree. */
struct osr__level {
	const struct osr_pgft *pgft;
	const struct osr_pgft_tree *tree;
	uint32_t t;
};

/* Does plane q lead from node (t, a, b) straight up and down to node (t, ad, b), a != ad? */
bool osr__leads(struct osr__level level, uint32_t a, uint32_t ad, uint32_t b, uint32_t q);

/* What node (t, a, b) sends to one end port below node (t, ad, b). */
struct osr__flow {
	uint32_t a, ad, b;
	uint32_t to; /* terminal */
	uint32_t weight;
	uint32_t q;    /* plane */
	uint32_t next; /* flow of the next level that it is part of; OSR_NONE: they meet here */
};

/* The units of a key as flows of level 1, flow[n_units]. */
void osr__unit_flows(const struct osr_pgft *pgft, const struct osr_key *key,
		     struct osr__flow *flow);

/* The flows of one group of switches: those of a level that agree in the digits B. */
struct osr__group {
	struct osr__level level;
	uint32_t b;
	struct osr__flow *flow; /* [n] */
	uint32_t n;
	struct osr__demand demand; /* of osr__demand_of(); edges in the order of the flows */
	uint32_t *class_of;        /* [n] of the caller; only classes below n_classes matter */
	uint32_t n_classes;
};

/* Fills group->demand; its `may` is NULL if every flow may take every plane. All in `scratch`. */
enum osr_status osr__demand_of(struct osr__group *group, struct osr_arena *scratch);

/*
 * Which plane each class takes, plane_of[n_planes]. load[] by channel, or NULL. Classes whose edges
 * may not take every plane take one that they may.
 */
enum osr_status osr__choose(const struct osr__group *group, const uint32_t *load,
			    enum osr_key_choice choice, struct osr_arena *scratch,
			    uint32_t *plane_of);

/*
 * Flows of the group exchange their planes where the switches above would have more to send on, or
 * to take, than `limit` times their cables; no cable of this level gets more than it had, or limit.
 */
enum osr_status osr__balance(const struct osr__group *group, uint32_t limit,
			     struct osr_arena *scratch);

#endif

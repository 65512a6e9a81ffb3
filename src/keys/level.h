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

/* Demand ----------------------------------------------------------------------------------------- */

/*
 * Flows between nodes of one level are dealt out over planes, so that the cables of a plane carry as little as possible.
 *
 * An edge is a flow, or several that go the same way, from the node `left` over one plane to the
 * node `right`; it loads the up cable of `left` and the down cable of `right` in that plane by its
 * weight. With weights of 1 and all cables there, it is the colouring of a bipartite multigraph:
 * as many colours as the largest degree suffice (Koenig).
 */
struct osr__edge {
	uint32_t left, right;
	uint32_t weight;
};

struct osr__demand {
	uint32_t n_nodes, n_edges, n_planes;
	const struct osr__edge *edge;
	/*
	 * NULL if every edge may take every plane. Otherwise edge e may take plane q if bit q of
	 * may[e * words .. ] is set; each edge may take one at least.
	 */
	const uint64_t *may;
	uint32_t words; /* per edge: (n_planes + 63) / 64 */
};

struct osr__colouring {
	uint32_t n_classes; /* classes 0 .. n_classes-1 <= n_planes are in use, largest first */
	uint32_t load;      /* the most loaded cable */
	uint32_t bound;     /* no colouring has less */
};

static inline bool osr__may(const struct osr__demand *demand, uint32_t e, uint32_t q)
{
	return !demand->may || (demand->may[(size_t)e * demand->words + q / 64] >> (q % 64) & 1);
}

/*
 * class_of[n_edges]. Without `may` classes are interchangeable: any one-to-one map to planes loads
 * the cables alike. With it, class q is plane q, and all planes count as classes. OSR_NOMEM.
 */
enum osr_status osr__colour(const struct osr__demand *demand, struct osr_arena *scratch,
			    uint32_t *class_of, struct osr__colouring *colouring);

/* Levels ------------------------------------------------------------------------------------------ */

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
/* Does any? */
bool osr__joined(struct osr__level level, uint32_t a, uint32_t ad, uint32_t b);

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
 * Flows of the group exchange their planes where the switches above would have more to send on, or
 * to take, than `limit` times their cables; no cable of this level gets more than it had, or limit.
 */
enum osr_status osr__balance(const struct osr__group *group, uint32_t limit,
			     struct osr_arena *scratch);

#endif

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * level.h - the paths of a fat tree by digits, and the flows of one group of switches (level t,
 * digits B) as a demand on its planes; private to src/keys.
 *
 * A node is (level t, A, B) as in pgft.h. From it, plane q = b + k w of level t leads up over the
 * k-th cable to (t + 1, A / m, B + b w_product); the same plane leads down from there to the node
 * that agrees with it in B. So a path from one leaf to another is a plane for every level up to
 * where they meet.
 */
#ifndef OSR_KEYS_LEVEL_H
#define OSR_KEYS_LEVEL_H

#include "keys/keys.h"

/* One level of one tree. */
struct osr_level {
	const struct osr_pgft *pgft;
	const struct osr_pgft_tree *tree;
	uint32_t t;
};

static inline uint32_t osr_n_planes(const struct osr_pgft_tree *tree, uint32_t t)
{
	return tree->w[t + 1] * tree->p[t + 1];
}

static inline uint32_t osr_node(const struct osr_pgft_tree *tree, uint32_t t, uint32_t a,
				uint32_t b)
{
	return tree->place[t][(size_t)a * tree->w_product[t] + b];
}

/* The channel up from switch s by plane q, or OSR_NONE. */
static inline uint32_t osr_up(const struct osr_pgft *pgft, uint32_t s, uint32_t q)
{
	return s == OSR_NONE || pgft->up_row[s] + q >= pgft->up_row[s + 1]
		       ? OSR_NONE
		       : pgft->up[pgft->up_row[s] + q];
}

/* The B of the node that plane q leads to. */
static inline uint32_t osr_b_above(const struct osr_pgft_tree *tree, uint32_t t, uint32_t b,
				   uint32_t q)
{
	return b + q % tree->w[t + 1] * tree->w_product[t];
}

/* The leaf of a host; OSR_NONE: the terminal is not a host of a leaf. */
static inline uint32_t osr_leaf_of(const struct osr_pgft *pgft, uint32_t term)
{
	uint32_t s = pgft->fabric->term_switch[term];

	return pgft->term_index[term] != OSR_NONE && pgft->sw_tree[s] != OSR_NONE &&
			       pgft->sw_level[s] == 1
		       ? s
		       : OSR_NONE;
}

/*
 * Each place below the top must be a switch of its own, as cables up of merged places cannot be
 * told apart: OSR_NOT_APPLICABLE.
 */
enum osr_status osr_check_tree(const struct osr_key_job *job, const struct osr_pgft_tree *tree);

/* By group, that is B, then A, then destination. */
int osr_by_group(const void *flow, const void *other);
/* Sorts flows so. Flows from one node to one destination become one. Returns how many are left. */
uint32_t osr_join(struct osr_key_flow *flow, uint32_t n);

/*
 * The flows of one group of switches: the switches of a level that agree in the digits B. They are
 * dealt out over planes, so that the cables of a plane carry as little as possible: a flow loads
 * the cable up of its node a and the one down to its node ad in its plane by its weight. With
 * weights of 1 and all cables there, that is the colouring of a bipartite multigraph: as many
 * colours as the largest degree suffice (Koenig).
 */
struct osr_group {
	struct osr_level level;
	uint32_t b;
	struct osr_key_flow *flow; /* [n] */
	uint32_t n, n_nodes, n_planes;
	/*
	 * NULL if every flow may take every plane. Otherwise flow e may take plane q if bit q of
	 * may[e * words .. ] is set; each flow may take one at least.
	 */
	uint64_t *may;
	uint32_t words; /* per flow: (n_planes + 63) / 64 */
	/* Of osr_colour(): */
	uint32_t n_classes; /* classes 0 .. n_classes-1 <= n_planes are in use, largest first */
	uint32_t bound;     /* no colouring has less on its most loaded cable */
};

static inline bool osr_may(const struct osr_group *group, uint32_t e, uint32_t q)
{
	return !group->may || (group->may[(size_t)e * group->words + q / 64] >> (q % 64) & 1);
}

/* These flows as a group; n_classes and bound are left to osr_colour(). */
enum osr_status osr_group_of(struct osr_level level, struct osr_key_flow *flow, uint32_t n,
			     struct osr_arena *scratch, struct osr_group *group);

/*
 * flow[].q becomes a class. Without `may` classes are interchangeable: any one-to-one map to planes
 * loads the cables alike. With it, class q is plane q, and all planes count as classes. OSR_NOMEM.
 */
enum osr_status osr_colour(struct osr_group *group, struct osr_arena *scratch);

/*
 * Flows of the group exchange their planes where the switches above would have more to send on, or
 * to take, than `limit` times their cables; no cable of this level gets more than its previous load
 * or the limit, whichever is larger.
 */
enum osr_status osr_balance(const struct osr_group *group, uint32_t limit,
			    struct osr_arena *scratch);

#endif

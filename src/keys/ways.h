/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * ways.h - the ways of a fat tree by digits; private to src/keys.
 *
 * A node is (level t, A, B) as in pgft.h. From it, plane q = b + k w of level t leads up over the
 * k-th cable to (t + 1, A / m, B + b w_product); the same plane leads down from there to the node
 * that agrees with it in B. So a way from one leaf to another is a plane for every level up to where
 * they meet.
 */
#ifndef OSR_KEYS_WAYS_H
#define OSR_KEYS_WAYS_H

#include <osmroutes/pgft.h>

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

#endif

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * level.h - the flows of one group of switches (level t, digits B) as a demand on its planes;
 * private to src/keys.
 */
#ifndef OSR_KEYS_LEVEL_H
#define OSR_KEYS_LEVEL_H

#include "keys/keys.h"

#include "colour.h"
#include "ways.h"

/* What node (t, a, b) sends to one end port below node (t, ad, b). */
struct osr__flow {
	uint32_t a, ad, b;
	uint32_t to; /* terminal */
	uint32_t weight;
	uint32_t q;    /* plane */
	uint32_t next; /* flow of the next level that it is part of; OSR_NONE: they meet here */
};

/*
 * The demand of flows[0 .. n-1], all of one group; edges in their order. d->may is NULL if every
 * flow may take every plane. Everything in `scratch`.
 */
enum osr_status osr__demand_of(const struct osr_pgft *pgft, const struct osr_pgft_tree *tree,
			       uint32_t t, const struct osr__flow *flow, uint32_t n,
			       struct osr_arena *scratch, struct osr__demand *demand);

/*
 * Which plane each class takes, plane_of[n_planes]. load[] by channel, or NULL. Only classes below
 * n_classes matter; classes whose edges may not take every plane take one that they may.
 */
enum osr_status osr__choose(const struct osr_pgft *pgft, const struct osr_pgft_tree *tree,
			    uint32_t t, uint32_t b, const struct osr__demand *demand,
			    const uint32_t *class_of, uint32_t n_classes, const uint32_t *load,
			    enum osr_key_choice choice, struct osr_arena *scratch,
			    uint32_t *plane_of);

/*
 * Flows of one group exchange their planes where the switches above would have more to send on, or
 * to take, than `limit` times their cables; no cable of this level gets more than it had, or limit.
 */
enum osr_status osr__balance(const struct osr_pgft *pgft, const struct osr_pgft_tree *tree,
			     uint32_t t, const struct osr__demand *demand, uint32_t limit,
			     struct osr__flow *flow, uint32_t n, struct osr_arena *scratch);

#endif

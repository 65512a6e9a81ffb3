/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * legal_tree.h - the routes to one LID, as far as channel orders allow them: shortest legal ones, then
 * detours, then the escape tree. Serves routing within one order for each VL (ordered.h) and lanes by
 * turn (turn.h), which say what is legal.
 *
 * The escape tree is a spanning tree on which every path is legal, up to the top and down again. What
 * finds no legal route goes along it, so every switch of a component gets a route.
 */
#ifndef OSR_LEGAL_TREE_H
#define OSR_LEGAL_TREE_H

#include "../paths/spf_private.h"

struct osr__legal {
	struct osr_spf *s;
	const struct osr_fabric *f;

	/*
	 * The VLs, a bit each, on which a switch may take channel c into a tree whose hops and masks are
	 * known from the far end of c on; 0: it may not. By turn there is one bit.
	 */
	uint8_t (*over)(const struct osr__legal *t, const uint8_t *hop, uint32_t root, uint32_t c);
	/* Shortest routes at one price; how many switches have no legal one. */
	uint32_t (*settle)(struct osr__legal *t, uint32_t root, uint32_t d, uint64_t price);

	bool exact;  /* settle() needs no prices: it leaves out whoever has no legal route at all */
	uint8_t all; /* the mask of the root */
	uint8_t *mask;     /* [n_switches] of the tree at hand: what over() says of each route */
	uint64_t mean;     /* load of a channel: the unit of prices */
	uint32_t *escape;  /* [n_switches] channel to the parent in the escape tree */
	uint8_t *detoured; /* [n_dests] the tree may have routes longer than minimal */

	uint32_t *len;         /* [n_switches] channels to the root; OSR_NONE: not attached */
	uint32_t *head, *link; /* [n_switches + 1], [n_switches] lists of switches by len */
	uint64_t *key;         /* [n_switches] best way to attach */
	uint32_t *waiting;     /* [n_switches] switches that got a key at this length */
	uint8_t *new_mask;     /* [n_switches] */
	uint8_t *escape_hop;   /* [n_switches] towards the root of the dest */
	uint16_t *order;       /* [n_switches] osr__legal_sort() */
};

/* Allocates the arrays, but for mask. False: `scratch` has failed, now or before. */
bool osr__legal_alloc(struct osr__legal *t, struct osr_arena *scratch);

/* mean, from the loads of s. */
void osr__legal_set_mean(struct osr__legal *t);

/* The least loaded of several prices; osr__spf_graph() of the root comes first. */
uint32_t osr__legal_settle_best(struct osr__legal *t, uint32_t root, uint32_t d);

/* Masks of a tree as it is, its switches in order[n], each after the one it sends to; how many are 0. */
uint32_t osr__legal_mark(struct osr__legal *t, const uint16_t *order, uint32_t n,
			 const uint8_t *hop, uint32_t root);

/*
 * Lists the switches by the length of their route, with the weight of each. `legal`: sets masks, and
 * leaves out those whose mask is 0, or whose hops lead nowhere. Returns how many are left out.
 */
uint32_t osr__legal_list(struct osr__legal *t, uint32_t root, const uint8_t *hop, bool legal);

/*
 * The switches of a listed tree by length into t->order; returns how many, and adds the routes that
 * are longer than they need be to *n_longer.
 */
uint32_t osr__legal_sort(struct osr__legal *t, uint32_t root, uint32_t d, uint32_t *n_longer);

/*
 * Adds (1) or removes (-1) the routes of d's tree, which may have detours, or neither (0); returns how many
 * are longer.
 */
uint32_t osr__legal_count_tree(struct osr__legal *t, uint32_t d, uint64_t sign);

/*
 * Completes a tree in which some switches have no legal route: they attach to what is legal over longer
 * ways; as long as one cannot, it goes along the escape tree.
 */
void osr__legal_detour(struct osr__legal *t, uint32_t root, uint32_t d);

/* Hops towards root along the escape tree, for the switches of its component. */
void osr__legal_find_escape(struct osr__legal *t, uint32_t root);
/* The first switch, near ones first, that is not listed goes along it; false: it has none of them. */
bool osr__legal_force(struct osr__legal *t, uint32_t root, uint8_t *hop);

/*
 * Moves single dests off the most loaded channel; no tree gets more longer routes than it has. Returns
 * how many there are.
 */
uint32_t osr__legal_polish(struct osr__legal *t, uint32_t n_moves);

/* A step that is not legal: worse than any weight, better than nothing. */
#define OSR__ILLEGAL ((uint64_t)1 << 60)
/* A hop that another LID of the same port has. */
#define OSR__SHARED_PENALTY ((uint64_t)1 << 48)

/* What channel c of switch v costs dest d because earlier LIDs of its port take it: LIDs of a port keep apart. */
static inline uint64_t osr__legal_shared(const struct osr_spf *spf, uint32_t d, uint32_t v,
					 uint32_t c, uint32_t n_earlier)
{
	uint64_t cost = 0;

	for (uint32_t k = 1; k <= n_earlier; k++)
		if (spf->hop[(size_t)(d - k) * spf->f->n_switches + v] ==
		    (spf->weight[c] & HOP_MASK))
			cost += OSR__SHARED_PENALTY;
	return cost;
}

/* osr__legal_mark(), where over() is known. */
static inline __attribute__((always_inline)) uint32_t osr__legal_mark_by(
	struct osr__legal *t, const uint16_t *order, uint32_t n, const uint8_t *hop, uint32_t root,
	uint8_t (*over)(const struct osr__legal *t, const uint8_t *hop, uint32_t root, uint32_t c))
{
	uint32_t n_failed = 0;

	t->mask[root] = t->all;
	for (uint32_t i = 1; i < n; i++) {
		uint32_t v = order[i];

		t->mask[v] = over(t, hop, root, t->f->chan_row[v] + hop[v]);
		n_failed += !t->mask[v];
	}
	return n_failed;
}

/*
 * Shortest routes to d, for osr__legal.settle: its two functions are known where this is inlined. lost()
 * says what freedom a choice takes from switches further out, in 64ths of their channels; `price` is for
 * one eighth of a channel's weight.
 */
static inline __attribute__((always_inline)) uint32_t osr__legal_settle(
	struct osr__legal *t, uint32_t root, uint32_t d, uint64_t price,
	uint8_t (*over)(const struct osr__legal *t, const uint8_t *hop, uint32_t root, uint32_t c),
	uint32_t (*lost)(const struct osr__legal *t, const uint8_t *hop, uint32_t root, uint32_t c))
{
	const struct osr_fabric *fabric = t->f;
	const struct osr_spf *spf = t->s;
	const struct osr_spf_scratch *scratch = spf->scratch;
	const uint16_t *order = spf->order + (size_t)root * fabric->n_switches;
	uint8_t *hop = spf->hop + (size_t)d * fabric->n_switches;
	uint32_t n_earlier = fabric->dest_lid[d] - fabric->term_lid[fabric->dest_term[d]],
		 n_failed = 0;

	scratch->cost[root] = 0;
	t->mask[root] = t->all;
	for (uint32_t i = 1; i < spf->n_order[root]; i++) {
		uint64_t best = UINT64_MAX, best_price = 0;
		uint32_t v = order[i];
		uint8_t best_mask = 0;

		for (uint32_t e = scratch->edge_row[i]; e < scratch->edge_row[i + 1]; e++) {
			uint32_t c = scratch->edge_chan[e];
			uint8_t mask = over(t, hop, root, c);
			uint64_t extra = mask ? 0 : OSR__ILLEGAL;
			uint64_t key;

			if (mask && price)
				extra = (price * t->mean * lost(t, hop, root, c) / (8 * 64))
					<< HOP_BITS;
			key = spf->weight[c] + scratch->cost[scratch->edge_next[e]] + extra;
			key += osr__legal_shared(spf, d, v, c, n_earlier);
			if (key >= best)
				continue;
			best = key;
			best_price = extra;
			best_mask = mask;
		}
		/* Prices steer the choice at v only; they are no load on the path. */
		scratch->cost[v] = (best - best_price) & ~HOP_MASK;
		hop[v] = (uint8_t)(best & HOP_MASK);
		t->mask[v] = best_mask;
		n_failed += !best_mask;
	}
	return n_failed;
}

#endif

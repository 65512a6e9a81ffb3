/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Shortest routes to one dest within the orders: see ordered.h. */
#include <string.h>

#include "ordered_private.h"

/* A step no order allows: worse than any weight, better than nothing. */
#define ILLEGAL ((uint64_t)1 << 60)
#define SHARED_PENALTY ((uint64_t)1 << 48)

/* Prices tried for taking freedom away from others, in eighths of the mean weight. */
static const uint64_t prices[] = { 0, 2, 8, 24 };
#define N_PRICES (sizeof(prices) / sizeof(prices[0]))

/*
 * What it costs others that this route occupies c on these VLs: the freedom they do not have
 * there.
 */
static inline uint64_t ordered_tree_price_of(const struct guide *w, uint32_t c, uint8_t mask,
					     uint64_t price)
{
	uint32_t lost = 64 * w->n_orders;

	if (!price)
		return 0;
	for (; mask; mask &= (uint8_t)(mask - 1))
		lost -= w->freedom[(size_t)c * w->n_orders + (uint32_t)__builtin_ctz(mask)];
	return (price * w->mean * lost / (8 * 64)) << HOP_BITS;
}

/* Shortest routes at one price; returns how many switches have no legal one. */
uint32_t osr__ordered_settle(struct guide *w, uint32_t root, uint32_t d, uint64_t price)
{
	const struct osr_fabric *fabric = w->f;
	const struct osr_spf *spf = w->s;
	const struct osr_spf_scratch *scratch = spf->scratch;
	const uint16_t *order = spf->order + (size_t)root * fabric->n_switches;
	uint8_t *hop = spf->hop + (size_t)d * fabric->n_switches;
	uint8_t *mask = w->mask + (size_t)d * fabric->n_switches;
	uint32_t n_earlier = fabric->dest_lid[d] - fabric->term_lid[fabric->dest_term[d]],
		 n_failed = 0;

	scratch->cost[root] = 0;
	mask[root] = all_vls(w);
	for (uint32_t i = 1; i < spf->n_order[root]; i++) {
		uint64_t best = UINT64_MAX, best_price = 0;
		uint32_t v = order[i];
		uint8_t best_mask = 0;

		for (uint32_t e = scratch->edge_row[i]; e < scratch->edge_row[i + 1]; e++) {
			uint32_t c = scratch->edge_chan[e];
			uint8_t m = mask_over(w, hop, mask, root, c);
			uint64_t extra = m ? ordered_tree_price_of(w, c, m, price) : ILLEGAL;
			uint64_t key =
				spf->weight[c] + scratch->cost[scratch->edge_next[e]] + extra;

			for (uint32_t k = 1; k <= n_earlier; k++)
				if (spf->hop[(size_t)(d - k) * fabric->n_switches + v] ==
				    (spf->weight[c] & HOP_MASK))
					key += SHARED_PENALTY;
			if (key >= best)
				continue;
			best = key;
			best_price = extra;
			best_mask = m;
		}
		/* Prices steer the choice at v only; they are no load on the path. */
		scratch->cost[v] = (best - best_price) & ~HOP_MASK;
		hop[v] = (uint8_t)(best & HOP_MASK);
		mask[v] = best_mask;
		n_failed += !best_mask;
	}
	return n_failed;
}

/*
 * What the legal channels of a switch allow: the highest rank among them, plus 1, bounds the ranks
 * of those who send to it; 0 if it has none. From the near end outwards.
 */
static uint32_t find_limits(struct guide *w, uint32_t root, uint8_t *mask)
{
	const struct osr_spf *spf = w->s;
	const struct osr_spf_scratch *scratch = spf->scratch;
	const uint16_t *order = spf->order + (size_t)root * w->f->n_switches;
	uint32_t *limit = w->len, n_failed = 0;

	limit[root] = UINT32_MAX;
	mask[root] = 1;
	scratch->cost[root] = 0;
	for (uint32_t i = 1; i < spf->n_order[root]; i++) {
		uint32_t v = order[i];
		uint64_t best = UINT64_MAX;

		limit[v] = 0;
		for (uint32_t e = scratch->edge_row[i]; e < scratch->edge_row[i + 1]; e++) {
			uint32_t c = scratch->edge_chan[e], u = scratch->edge_next[e];
			uint64_t cost = (spf->weight[c] & ~HOP_MASK) + scratch->cost[u];

			if (w->rank[c] + 1 >= limit[u])
				continue;
			limit[v] = w->rank[c] + 1 > limit[v] ? w->rank[c] + 1 : limit[v];
			best = cost < best ? cost : best;
		}
		scratch->cost[v] = best;
		mask[v] = limit[v] != 0;
		n_failed += !limit[v];
	}
	return n_failed;
}

/*
 * Within a single order, such that whoever has a legal shortest route gets one: no choice near the
 * dest bars the way of those further out.
 */
static uint32_t settle_one(struct guide *w, uint32_t root, uint32_t d)
{
	const struct osr_fabric *fabric = w->f;
	const struct osr_spf *spf = w->s;
	const struct osr_spf_scratch *scratch = spf->scratch;
	const uint16_t *order = spf->order + (size_t)root * fabric->n_switches;
	uint8_t *hop = spf->hop + (size_t)d * fabric->n_switches;
	uint8_t *mask = w->mask + (size_t)d * fabric->n_switches;
	uint32_t n_earlier = fabric->dest_lid[d] - fabric->term_lid[fabric->dest_term[d]];
	uint32_t n_failed = find_limits(w, root, mask), *limit = w->len, *above = w->waiting;

	memset(above, 0, fabric->n_switches * sizeof(*above));
	/* Those further out have chosen; v must leave over a channel above the ones they come by. */
	for (uint32_t i = spf->n_order[root]; i-- > 1;) {
		uint64_t best = UINT64_MAX;
		uint32_t v = order[i], best_chan = 0;

		if (!mask[v])
			continue;
		for (uint32_t e = scratch->edge_row[i]; e < scratch->edge_row[i + 1]; e++) {
			uint32_t c = scratch->edge_chan[e], u = scratch->edge_next[e];
			uint64_t key = spf->weight[c] + scratch->cost[u];

			if (w->rank[c] + 1 >= limit[u] || w->rank[c] + 1 <= above[v])
				continue;
			for (uint32_t k = 1; k <= n_earlier; k++)
				if (spf->hop[(size_t)(d - k) * fabric->n_switches + v] ==
				    (spf->weight[c] & HOP_MASK))
					key += SHARED_PENALTY;
			if (key >= best)
				continue;
			best = key;
			best_chan = c;
		}
		hop[v] = (uint8_t)(best & HOP_MASK);
		if (w->rank[best_chan] + 1 > above[fabric->chan_dst[best_chan]])
			above[fabric->chan_dst[best_chan]] = w->rank[best_chan] + 1;
	}
	return n_failed;
}

uint32_t osr__ordered_settle_best(struct guide *w, uint32_t root, uint32_t d)
{
	uint32_t least = UINT32_MAX, now = 0;
	size_t best = 0;

	if (w->exact)
		return settle_one(w, root, d);
	for (size_t i = 0; i < N_PRICES; i++) {
		now = osr__ordered_settle(w, root, d, prices[i]);
		if (now < least) {
			least = now;
			best = i;
		}
		if (!now)
			return 0;
	}
	return best == N_PRICES - 1 ? now : osr__ordered_settle(w, root, d, prices[best]);
}

uint32_t osr__ordered_barred(struct guide *w, uint32_t root, uint32_t d)
{
	return find_limits(w, root, w->mask + (size_t)d * w->f->n_switches);
}

/* The masks of one dest's tree as it stands; returns how many of its routes have none. */
uint32_t osr__ordered_keep_tree(struct guide *w, uint32_t root, uint32_t d)
{
	const struct osr_fabric *fabric = w->f;
	const struct osr_spf *spf = w->s;
	const uint8_t *hop = spf->hop + (size_t)d * fabric->n_switches;
	uint8_t *mask = w->mask + (size_t)d * fabric->n_switches;
	const uint16_t *order = spf->order + (size_t)root * fabric->n_switches;
	uint32_t n_failed = 0;

	mask[root] = all_vls(w);
	for (uint32_t i = 1; i < spf->n_order[root]; i++) {
		uint32_t v = order[i];

		mask[v] = mask_over(w, hop, mask, root, fabric->chan_row[v] + hop[v]);
		n_failed += !mask[v];
	}
	return n_failed;
}

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Shortest routes to one dest within the order of nodes: see turn.h. */
#include "turn_private.h"

#define ILLEGAL ((uint64_t)1 << 60)
#define SHARED_PENALTY ((uint64_t)1 << 48)

static const uint64_t turn_prices[] = { 0, 2, 8, 24 };
#define N_PRICES (sizeof(turn_prices) / sizeof(turn_prices[0]))

static inline uint64_t turn_price(const struct turns *w, const uint8_t *hop, uint32_t root,
				  uint32_t c, uint64_t price)
{
	uint32_t u = w->f->chan_dst[c];
	uint32_t lost = 64 - (u == root ? w->first_freedom[c] : w->freedom[w->g.row[c] + hop[u]]);

	return (price * w->mean * lost / (8 * 64)) << HOP_BITS;
}

uint32_t osr__turn_settle(struct turns *w, uint32_t root, uint32_t d, uint64_t price)
{
	const struct osr_fabric *fabric = w->f;
	const struct osr_spf *spf = w->s;
	const struct osr_spf_scratch *scratch = spf->scratch;
	const uint16_t *order = spf->order + (size_t)root * fabric->n_switches;
	uint8_t *hop = spf->hop + (size_t)d * fabric->n_switches;
	uint32_t n_earlier = fabric->dest_lid[d] - fabric->term_lid[fabric->dest_term[d]],
		 n_failed = 0;

	scratch->cost[root] = 0;
	w->legal[root] = 1;
	for (uint32_t i = 1; i < spf->n_order[root]; i++) {
		uint64_t best = UINT64_MAX, best_price = 0;
		uint32_t v = order[i];

		for (uint32_t e = scratch->edge_row[i]; e < scratch->edge_row[i + 1]; e++) {
			uint32_t c = scratch->edge_chan[e], u = scratch->edge_next[e];
			bool ok = w->legal[u] && osr__turn_legal(w, hop, root, c);
			uint64_t extra = !ok     ? ILLEGAL
					 : price ? turn_price(w, hop, root, c, price)
						 : 0;
			uint64_t key = spf->weight[c] + scratch->cost[u] + extra;

			for (uint32_t k = 1; k <= n_earlier; k++)
				if (spf->hop[(size_t)(d - k) * fabric->n_switches + v] ==
				    (spf->weight[c] & HOP_MASK))
					key += SHARED_PENALTY;
			if (key >= best)
				continue;
			best = key;
			best_price = extra;
		}
		/* Prices steer the choice at v only; they are no load on the path. */
		scratch->cost[v] = (best - best_price) & ~HOP_MASK;
		hop[v] = (uint8_t)(best & HOP_MASK);
		w->legal[v] = best_price < ILLEGAL;
		n_failed += !w->legal[v];
	}
	return n_failed;
}

uint32_t osr__turn_settle_best(struct turns *w, uint32_t root, uint32_t d)
{
	uint32_t least = UINT32_MAX, now = 0;
	size_t best = 0;

	for (size_t i = 0; i < N_PRICES; i++) {
		now = osr__turn_settle(w, root, d, turn_prices[i]);
		if (now < least) {
			least = now;
			best = i;
		}
		if (!now)
			return 0;
	}
	return best == N_PRICES - 1 ? now : osr__turn_settle(w, root, d, turn_prices[best]);
}

uint32_t osr__turn_mark_legal(struct turns *w, const uint16_t *order, uint32_t n,
			      const uint8_t *hop, uint32_t root)
{
	const struct osr_fabric *fabric = w->f;
	uint32_t n_failed = 0;

	w->legal[root] = 1;
	for (uint32_t i = 1; i < n; i++) {
		uint32_t v = order[i], c = fabric->chan_row[v] + hop[v];

		w->legal[v] = w->legal[fabric->chan_dst[c]] && osr__turn_legal(w, hop, root, c);
		n_failed += !w->legal[v];
	}
	return n_failed;
}

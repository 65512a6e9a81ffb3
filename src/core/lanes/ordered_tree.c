/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Shortest routes to one dest within the orders: see ordered.h. */
#include <string.h>

#include "ordered_private.h"

uint8_t osr__ordered_over(const struct osr__legal *t, const uint8_t *hop, uint32_t root, uint32_t c)
{
	const struct guide *w = (const struct guide *)t;
	uint32_t u = t->f->chan_dst[c];

	return u == root ? t->all : t->mask[u] & w->legal[osr_cdg_slot(&w->g, c, hop[u])];
}

/* What it costs others that this route occupies c on these VLs: the freedom they do not have there. */
static inline uint32_t ordered_tree_lost(const struct osr__legal *t, const uint8_t *hop,
					 uint32_t root, uint32_t c)
{
	const struct guide *w = (const struct guide *)t;
	uint32_t lost = 64 * w->n_orders;

	for (uint8_t mask = osr__ordered_over(t, hop, root, c); mask; mask &= (uint8_t)(mask - 1))
		lost -= w->freedom[(size_t)c * w->n_orders + (uint32_t)__builtin_ctz(mask)];
	return lost;
}

/*
 * What the legal channels of a switch allow: the highest rank among them, plus 1, bounds the ranks
 * of those who send to it; 0 if it has none. From the near end outwards.
 */
static uint32_t find_limits(struct guide *w, uint32_t root)
{
	const struct osr_spf *spf = w->t.s;
	const struct osr_spf_scratch *scratch = spf->scratch;
	const uint16_t *order = spf->order + (size_t)root * w->t.f->n_switches;
	uint32_t *limit = w->t.len, n_failed = 0;
	uint8_t *mask = w->t.mask;

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
	const struct osr_fabric *fabric = w->t.f;
	const struct osr_spf *spf = w->t.s;
	const struct osr_spf_scratch *scratch = spf->scratch;
	const uint16_t *order = spf->order + (size_t)root * fabric->n_switches;
	uint8_t *hop = spf->hop + (size_t)d * fabric->n_switches;
	const uint8_t *mask = w->t.mask;
	uint32_t n_earlier = fabric->dest_lid[d] - fabric->term_lid[fabric->dest_term[d]];
	uint32_t n_failed = find_limits(w, root), *limit = w->t.len, *above = w->t.waiting;

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
			key += osr__legal_shared(spf, d, v, c, n_earlier);
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

uint32_t osr__ordered_settle(struct osr__legal *t, uint32_t root, uint32_t d, uint64_t price)
{
	osr__ordered_aim((struct guide *)t, d);
	if (t->exact)
		return settle_one((struct guide *)t, root, d);
	return osr__legal_settle(t, root, d, price, osr__ordered_over, ordered_tree_lost);
}

uint32_t osr__ordered_barred(struct guide *w, uint32_t root, uint32_t d)
{
	osr__ordered_aim(w, d);
	return find_limits(w, root);
}

/* The masks of one dest's tree as it stands; returns how many of its routes have none. */
uint32_t osr__ordered_keep_tree(struct guide *w, uint32_t root, uint32_t d)
{
	const struct osr_spf *spf = w->t.s;
	size_t n = spf->f->n_switches;

	osr__ordered_aim(w, d);
	return osr__legal_mark_by(&w->t, spf->order + root * n, spf->n_order[root],
				  spf->hop + d * n, root, osr__ordered_over);
}

/* Of d's tree as it stands: what the channels from v on carry. */
static uint64_t ordered_cost(const struct osr_spf *spf, uint32_t root, const uint8_t *hop,
			     uint32_t v)
{
	uint64_t cost = 0;

	while (v != root) {
		uint32_t c = spf->f->chan_row[v] + hop[v];

		cost += spf->weight[c] & ~HOP_MASK;
		v = spf->f->chan_dst[c];
	}
	return cost;
}

/* The lightest of v's shortest legal ways on, given those of its neighbours; false: there is none. */
static bool choose_legal(struct guide *w, uint32_t root, uint32_t d, uint32_t v)
{
	const struct osr_spf *spf = w->t.s;
	const struct osr_fabric *fabric = spf->f;
	const uint8_t *dist8 = spf->scratch->dist8 + (size_t)root * fabric->n_switches;
	uint8_t *hop = spf->hop + (size_t)d * fabric->n_switches, closer = (uint8_t)(dist8[v] - 1);
	uint32_t n_earlier = fabric->dest_lid[d] - fabric->term_lid[fabric->dest_term[d]];
	uint64_t best = UINT64_MAX;

	w->t.mask[v] = 0;
	for (uint32_t c = fabric->chan_row[v]; c < fabric->chan_row[v + 1]; c++) {
		uint32_t u = fabric->chan_dst[c];
		uint8_t mask = dist8[u] == closer ? osr__ordered_over(&w->t, hop, root, c) : 0;
		uint64_t key;

		if (!mask)
			continue;
		key = spf->weight[c] + ordered_cost(spf, root, hop, u) +
		      osr__legal_shared(spf, d, v, c, n_earlier);
		if (key >= best || key >= OSR__BUSY)
			continue;
		best = key;
		w->t.mask[v] = mask;
	}
	if (best != UINT64_MAX)
		hop[v] = (uint8_t)(best & HOP_MASK);
	return best != UINT64_MAX;
}

uint32_t osr__ordered_patch(struct guide *w, uint32_t root, uint32_t d)
{
	const struct osr_fabric *fabric = w->t.f;
	const uint16_t *order = w->t.s->order + (size_t)root * fabric->n_switches;
	const uint8_t *hop = w->t.s->hop + (size_t)d * fabric->n_switches;
	uint8_t *changed = w->t.new_mask;
	uint32_t n_failed = 0, n_changed = 0;

	osr__ordered_aim(w, d);
	memset(changed, 0, fabric->n_switches);
	for (uint32_t i = 1; i < w->t.s->n_order[root]; i++) {
		uint32_t v = order[i], c = fabric->chan_row[v] + hop[v];
		uint8_t before = w->t.mask[v];

		if (before && (!n_changed || !changed[fabric->chan_dst[c]]))
			continue;
		w->t.mask[v] = osr__ordered_over(&w->t, hop, root, c);
		changed[v] = w->t.mask[v] != before;
		if (!w->t.mask[v]) {
			n_failed += !choose_legal(w, root, d, v);
			changed[v] = 1;
		}
		n_changed += changed[v];
	}
	return n_failed;
}

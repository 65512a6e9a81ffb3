/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "search.h"

#include <string.h>

#include "core/route/span.h"

#include <osmroutes/each.h>

/* ---- shortest routes ------------------------------------------------------------------------- */

/* A step that is not legal: worse than any weight, better than nothing. */
#define ILLEGAL ((uint64_t)1 << 60)
/*
 * v, the i-th to be settled, finds no legal way. A turn that no route takes may get the lane that
 * its way needs: the highest, which leaves most to those further out. Returns the mask of the
 * lightest such way.
 */
static uint8_t search_relabel(struct osr_search *search, uint32_t root, uint32_t i, uint8_t *hop)
{
	const struct osr_fabric *fabric = search->fabric;
	const struct osr_spf_scratch *scratch = search->spf->scratch;
	uint32_t v = search->spf->order[(size_t)root * fabric->n_switches + i];
	uint32_t first = OSR_NONE, second = 0, lane = 0;
	uint64_t best = UINT64_MAX;

	for (uint32_t e = scratch->edge_row[i]; e < scratch->edge_row[i + 1]; e++) {
		uint32_t c = scratch->edge_chan[e], u = scratch->edge_next[e],
			 t = search->fabric->turn_row[c] + hop[u],
			 next = osr_turn_next(search->fabric, c, t);
		uint64_t key = search->spf->weight[c] + scratch->cost[u];

		if (key >= best || search->pinned[t] || search->n_used[t])
			continue;
		for (uint32_t l = search->order.n_lanes; l--;) {
			uint32_t rank = search->order.rank[(size_t)l * fabric->n_channels + next];

			if (!(search->mask[u] >> l & 1) || search->order.rank[c] >= rank)
				continue;
			best = key;
			first = c;
			second = next;
			lane = l;
			break;
		}
	}
	if (first == OSR_NONE)
		return 0;
	hop[v] = (uint8_t)(best & HOP_MASK);
	scratch->cost[v] = best & ~HOP_MASK;
	osr_order_relabel(&search->order, first, second, (uint8_t)lane);
	return search->order.rises[osr_turn(fabric, first, second)];
}

/*
 * Would all routes attached to u stay legal if u went on by `next`, from which the lanes of `mask`
 * are legal?
 */
static bool search_may_go_on_by(const struct osr_search *search, const uint8_t *hop, uint32_t u,
				uint32_t next, uint8_t mask)
{
	const struct osr_fabric *fabric = search->fabric;
	uint32_t row = fabric->chan_row[u];

	for (uint32_t o = row; o < fabric->chan_row[u + 1]; o++) {
		uint32_t z = fabric->chan_dst[o], in = fabric->chan_rev[o];

		if (search->mask[z] && fabric->chan_row[z] + hop[z] == in && o != next &&
		    !osr_order_enter(&search->order, search->fabric->turn_row[in] + next - row,
				     mask, search->order.lane != NULL))
			return false;
	}
	return true;
}

/* u goes on by `next`; the masks of the switches attached to u follow. */
static void search_go_on_by(struct osr_search *search, uint32_t root, uint8_t *hop, uint32_t u,
			    uint32_t next)
{
	const struct osr_fabric *fabric = search->fabric;
	uint32_t row = fabric->chan_row[u];

	search->mask[u] = osr_search_start(search, hop, root, next);
	search->spf->scratch->cost[u] = (search->spf->weight[next] & ~HOP_MASK) +
					search->spf->scratch->cost[fabric->chan_dst[next]];
	hop[u] = (uint8_t)(next - row);
	for (uint32_t o = row; o < fabric->chan_row[u + 1]; o++) {
		uint32_t z = fabric->chan_dst[o], in = fabric->chan_rev[o];

		if (search->mask[z] && fabric->chan_row[z] + hop[z] == in && o != next)
			search->mask[z] = osr_search_start(search, hop, root, in);
	}
}

/*
 * v, the i-th switch to be settled, finds no legal way. A neighbour nearer to the root may go on by
 * another channel, if all switches attached to it stay legal. Nothing is attached to those yet.
 * Returns v's mask.
 */
static uint8_t search_yield(struct osr_search *search, uint32_t root, uint32_t i, uint8_t *hop)
{
	const struct osr_fabric *fabric = search->fabric;
	const struct osr_spf_scratch *scratch = search->spf->scratch;
	const uint8_t *dist8 = scratch->dist8 + (size_t)root * fabric->n_switches;
	uint32_t v = search->spf->order[(size_t)root * fabric->n_switches + i], first = OSR_NONE,
		 next = 0;
	uint64_t best = UINT64_MAX;

	for (uint32_t e = scratch->edge_row[i]; e < scratch->edge_row[i + 1]; e++) {
		uint32_t c = scratch->edge_chan[e], u = scratch->edge_next[e],
			 row = fabric->chan_row[u];

		if (u != root)
			for (uint32_t o = row; o < fabric->chan_row[u + 1]; o++) {
				uint32_t x = fabric->chan_dst[o];
				uint64_t key = search->spf->weight[c] +
					       (search->spf->weight[o] & ~HOP_MASK) +
					       scratch->cost[x];
				uint8_t mask;

				if ((uint8_t)(dist8[x] + 1) != dist8[u] || key >= best ||
				    !search->mask[x])
					continue;
				mask = osr_search_start(search, hop, root, o);
				if (!mask ||
				    !osr_order_enter(&search->order,
						     search->fabric->turn_row[c] + o - row, mask,
						     search->order.lane != NULL) ||
				    !search_may_go_on_by(search, hop, u, o, mask))
					continue;
				best = key;
				first = c;
				next = o;
			}
	}
	if (first == OSR_NONE)
		return 0;
	search_go_on_by(search, root, hop, fabric->chan_src[next], next);
	hop[v] = (uint8_t)(best & HOP_MASK);
	scratch->cost[v] = best & ~HOP_MASK;
	return osr_search_start(search, hop, root, first);
}

/*
 * Each switch, near ones first, takes the lightest of its legal shortest ways on, or makes one
 * legal. How many have none.
 */
static inline __attribute__((always_inline)) uint32_t
search_settle_by(struct osr_search *search, uint32_t root, uint32_t d, bool keep, bool by_turn)
{
	const struct osr_fabric *fabric = search->fabric;
	const struct osr_spf *spf = search->spf;
	const struct osr_spf_scratch *scratch = spf->scratch;
	const uint16_t *order = spf->order + (size_t)root * fabric->n_switches;
	uint8_t *hop = spf->hop + (size_t)d * fabric->n_switches;
	uint32_t n_failed = 0;

	memset(search->mask, 0, fabric->n_switches);
	scratch->cost[root] = 0;
	search->mask[root] = search->order.all;
	for (uint32_t i = 1; i < spf->n_order[root]; i++) {
		uint64_t best = UINT64_MAX;
		uint32_t v = order[i], old = fabric->chan_row[v] + hop[v];
		uint8_t best_mask = keep ? osr_search_start_by(search, hop, root, old, by_turn) : 0;

		if (best_mask) {
			scratch->cost[v] = (spf->weight[old] & ~HOP_MASK) +
					   scratch->cost[fabric->chan_dst[old]];
			search->mask[v] = best_mask;
			continue;
		}
		for (uint32_t e = scratch->edge_row[i]; e < scratch->edge_row[i + 1]; e++) {
			uint32_t c = scratch->edge_chan[e];
			uint8_t mask = osr_search_start_by(search, hop, root, c, by_turn);
			uint64_t key = spf->weight[c] + scratch->cost[scratch->edge_next[e]];

			key += mask ? 0 : ILLEGAL;
			if (key >= best)
				continue;
			best = key;
			best_mask = mask;
		}
		scratch->cost[v] = (best_mask ? best : best - ILLEGAL) & ~HOP_MASK;
		hop[v] = (uint8_t)(best & HOP_MASK);
		if (!best_mask && search->n_used)
			best_mask = search_relabel(search, root, i, hop);
		if (!best_mask && osr_search_counts(search, d, v))
			best_mask = search_yield(search, root, i, hop);
		search->mask[v] = best_mask;
		n_failed += !best_mask && osr_search_counts(search, d, v);
	}
	return n_failed;
}

uint32_t osr_search_settle(struct osr_search *search, uint32_t root, uint32_t d, bool keep)
{
	osr_search_aim(search, d);
	return search->order.lane ? search_settle_by(search, root, d, keep, true)
				  : search_settle_by(search, root, d, keep, false);
}

uint32_t osr_search_mark(struct osr_search *search, uint32_t d)
{
	size_t n = search->fabric->n_switches;
	uint32_t root = search->fabric->dest_switch[d], n_failed = 0;
	const uint16_t *order = search->spf->order + root * n;
	const uint8_t *hop = search->spf->hop + d * n;

	osr_search_aim(search, d);
	search->mask[root] = search->order.all;
	for (uint32_t i = 1; i < search->spf->n_order[root]; i++) {
		uint32_t v = order[i];

		search->mask[v] =
			osr_search_start(search, hop, root, search->fabric->chan_row[v] + hop[v]);
		n_failed += !search->mask[v] && osr_search_counts(search, d, v);
	}
	return n_failed;
}

/* ---- whole trees ----------------------------------------------------------------------------- */

/* Length and weight of v's route, behind the switch that its hop leads to. */
static void search_extend(struct osr_search *search, uint32_t v, const uint8_t *hop)
{
	uint32_t c = search->fabric->chan_row[v] + hop[v], u = search->fabric->chan_dst[c];
	uint64_t *cost = search->spf->scratch->cost;

	cost[v] = cost[u] + (search->spf->weight[c] & ~HOP_MASK);
	search->len[v] = search->len[u] + 1;
}

void osr_search_list(struct osr_search *search, uint32_t root, const uint8_t *hop)
{
	const struct osr_fabric *fabric = search->fabric;
	struct osr_tree *tree = &search->tree;
	uint32_t n = fabric->n_switches;

	osr_tree_lay_out(tree, root, hop, search->spf->order + (size_t)root * n,
			 search->spf->n_order[root]);
	memset(search->len, 0xff, n * sizeof(*search->len));
	memset(search->mask, 0, n);
	search->spf->scratch->cost[root] = 0;
	search->mask[root] = search->order.all;
	search->len[root] = 0;
	OSR_EACH_NEAR_FIRST(v, tree->near_first, tree->n)
	{
		search->mask[v] = osr_search_start(search, hop, root, fabric->chan_row[v] + hop[v]);
		if (search->mask[v])
			search_extend(search, v, hop);
	}
}

uint32_t osr_search_trace(struct osr_search *search, uint32_t root, uint32_t d)
{
	const struct osr_fabric *fabric = search->fabric;
	const struct osr_spf *spf = search->spf;
	const uint8_t *hop = spf->hop + (size_t)d * fabric->n_switches,
		      *dist8 = spf->scratch->dist8 + (size_t)root * fabric->n_switches;
	const uint16_t *order = spf->order + (size_t)root * fabric->n_switches;
	uint32_t n_longer = 0, dist = 0;

	osr_tree_lay_out(&search->tree, root, hop, order, spf->n_order[root]);
	/* dist8 is the distance mod 256, which grows by at most 1 along the settling order. */
	OSR_EACH_NEAR_FIRST(v, order, spf->n_order[root])
	{
		dist += dist8[v] != (uint8_t)dist;
		n_longer += search->tree.length[v] != dist;
	}
	return n_longer;
}

/* ---- detours --------------------------------------------------------------------------------- */

static void search_enlist(struct osr_search *search, uint32_t v)
{
	search->link[v] = search->head[search->len[v]];
	search->head[search->len[v]] = v;
}

/*
 * Attaches every switch that can attach to a switch with a legal route, shortest route first, then
 * lightest.
 */
static void search_attach_all(struct osr_search *search, uint32_t root, uint8_t *hop)
{
	const struct osr_fabric *fabric = search->fabric;
	const struct osr_spf *spf = search->spf;
	const uint16_t *order = spf->order + (size_t)root * fabric->n_switches;
	uint8_t *listed = search->new_mask;

	memset(search->head, 0xff, (fabric->n_switches + (size_t)1) * sizeof(*search->head));
	memset(search->key, 0xff, fabric->n_switches * sizeof(*search->key));
	memset(listed, 0, fabric->n_switches);
	/* By the lengths of their routes, the switches that have one beside some that have none. */
	for (uint32_t i = 1; i < spf->n_order[root]; i++)
		for (uint32_t v = order[i], c = fabric->chan_row[v];
		     search->len[v] == OSR_NONE && c < fabric->chan_row[v + 1]; c++) {
			uint32_t u = fabric->chan_dst[c];

			if (search->len[u] == OSR_NONE || listed[u])
				continue;
			listed[u] = 1;
			search_enlist(search, u);
		}
	OSR_EACH_SWITCH(len, fabric) {
		uint32_t n_waiting = 0;

		for (uint32_t u = search->head[len]; u != OSR_NONE; u = search->link[u]) {
			OSR_EACH_CHANNEL(o, fabric, u) {
				uint32_t v = fabric->chan_dst[o], c = fabric->chan_rev[o];
				uint64_t key;
				uint8_t mask;

				if (search->len[v] != OSR_NONE)
					continue;
				key = spf->weight[c] + spf->scratch->cost[u];
				mask = key < search->key[v] ? osr_search_start(search, hop, root, c)
							    : 0;
				if (!mask)
					continue;
				if (search->key[v] == UINT64_MAX)
					search->waiting[n_waiting++] = v;
				search->key[v] = key;
				search->new_mask[v] = mask;
			}
		}
		for (uint32_t i = 0; i < n_waiting; i++) {
			uint32_t v = search->waiting[i];

			hop[v] = (uint8_t)(search->key[v] & HOP_MASK);
			search->mask[v] = search->new_mask[v];
			search->key[v] = UINT64_MAX;
			search_extend(search, v, hop);
			search_enlist(search, v);
		}
	}
}

/*
 * Ways to the root for switches that cannot attach. If all switches have a way on the first lane,
 * as up and down a tree, it is that one; otherwise it is the way of the escape tree.
 */
static void search_find_escape(struct osr_search *search, uint32_t root)
{
	const struct osr_fabric *fabric = search->fabric;
	uint32_t n_left = 0, *out = search->link;
	const uint16_t *order = search->spf->order + (size_t)root * fabric->n_switches;
	uint8_t all = search->order.all;

	memset(search->len, 0xff, fabric->n_switches * sizeof(*search->len));
	search->len[root] = 0;
	search->order.all = search->order.lane ? all : 1;
	search->mask[root] = search->order.all;
	search_attach_all(search, root, search->escape_hop);
	search->order.all = all;
	search->mask[root] = all;
	for (uint32_t i = 1; i < search->spf->n_order[root]; i++)
		n_left += search->len[order[i]] == OSR_NONE;
	if (!n_left)
		return;
	osr_span_towards(fabric, search->escape, root, out, search->waiting);
	OSR_EACH_SWITCH(v, fabric)
		search->escape_hop[v] =
			out[v] == OSR_NONE ? OSR_NO_PATH : (uint8_t)(out[v] - fabric->chan_row[v]);
}

void osr_search_detour(struct osr_search *search, uint32_t root, uint32_t d, bool keep)
{
	const struct osr_fabric *fabric = search->fabric;
	uint8_t *hop = search->spf->hop + (size_t)d * fabric->n_switches;
	const uint16_t *order = search->spf->order + (size_t)root * fabric->n_switches;
	uint32_t i, n_forced = 0;

	memcpy(search->saved, hop, fabric->n_switches);
	/*
	 * It ends: a switch that the escape tree reaches has a legal way along it, and at most all
	 * switches are sent there.
	 */
	for (bool escapes = false;; escapes = true) {
		osr_search_list(search, root, hop);
		search_attach_all(search, root, hop);
		/* The first that is left goes along the escape tree. */
		for (i = 1;
		     i < search->spf->n_order[root] &&
		     (search->len[order[i]] != OSR_NONE || !osr_search_counts(search, d, order[i]));
		     i++)
			;
		if (i == search->spf->n_order[root] || n_forced++ == fabric->n_switches)
			break;
		if (!escapes)
			search_find_escape(search, root);
		if (search->escape_hop[order[i]] == OSR_NO_PATH)
			break;
		for (uint32_t v = order[i]; v != root;
		     v = fabric->chan_dst[fabric->chan_row[v] + hop[v]])
			hop[v] = search->escape_hop[v];
	}
	if (!keep)
		return;
	/*
	 * An entry that no packet's route passes stays unchanged. It leads to a switch whose entry
	 * a route passes, or nearer to the root.
	 */
	memset(search->new_mask, 0, fabric->n_switches);
	for (i = 1; i < search->spf->n_order[root]; i++)
		for (uint32_t v = order[i];
		     osr_search_counts(search, d, order[i]) && v != root && !search->new_mask[v];
		     v = fabric->chan_dst[fabric->chan_row[v] + hop[v]])
			search->new_mask[v] = 1;
	for (i = 1; i < search->spf->n_order[root]; i++)
		if (!search->new_mask[order[i]]) {
			hop[order[i]] = search->saved[order[i]];
			search->mask[order[i]] = 0;
		}
}

/* ---- counts ---------------------------------------------------------------------------------- */

uint32_t osr_search_count_longer(struct osr_search *search)
{
	const struct osr_spf *spf = search->spf;
	uint32_t n_longer = 0;

	OSR_EACH_DEST(d, search->fabric) {
		uint32_t root = search->fabric->dest_switch[d], mine, n_dests = 1;

		if (spf->alias[d] != OSR_NONE || !search->detoured[d])
			continue;
		mine = osr_search_trace(search, root, d);
		/* With those of the LIDs that ride along. */
		for (uint32_t k = spf->dest_row[root]; k < spf->dest_row[root + 1]; k++)
			n_dests += spf->alias[spf->dest_list[k]] == d;
		n_longer += mine * n_dests;
	}
	return n_longer;
}

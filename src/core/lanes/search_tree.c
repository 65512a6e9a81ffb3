/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "search.h"

#include <string.h>

#include "core/route/span.h"

/* ---- shortest routes ------------------------------------------------------------------------- */

/* A step that is not legal: worse than any weight, better than nothing. */
#define ILLEGAL ((uint64_t)1 << 60)
/*
 * v, the i-th to be settled, finds no legal way. A turn that no route takes may get the lane that its way
 * needs: the highest, which leaves most to those further out. Returns the mask of the lightest such way.
 */
static uint8_t search_relabel(struct osr__search *w, uint32_t root, uint32_t i, uint8_t *hop)
{
	const struct osr_fabric *fabric = w->f;
	const struct osr_spf_scratch *scratch = w->s->scratch;
	uint32_t v = w->s->order[(size_t)root * fabric->n_switches + i];
	uint32_t first = OSR_NONE, second = 0, lane = 0;
	uint64_t best = UINT64_MAX;

	for (uint32_t e = scratch->edge_row[i]; e < scratch->edge_row[i + 1]; e++) {
		uint32_t c = scratch->edge_chan[e], u = scratch->edge_next[e],
			 t = w->f->turn_row[c] + hop[u], next = osr_turn_next(w->f, c, t);
		uint64_t key = w->s->weight[c] + scratch->cost[u];

		if (key >= best || w->pinned[t] || w->n_used[t])
			continue;
		for (uint32_t l = w->order.n_lanes; l--;) {
			uint32_t rank = w->order.rank[(size_t)l * fabric->n_channels + next];

			if (!(w->mask[u] >> l & 1) || w->order.rank[c] >= rank)
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
	osr_order_relabel(&w->order, first, second, (uint8_t)lane);
	return w->order.rises[osr_turn(fabric, first, second)];
}

/* Would all that are attached to u stay legal if it went on by `next`, from where the lanes of `mask` are? */
static bool search_may_go_on_by(const struct osr__search *w, const uint8_t *hop, uint32_t u,
				uint32_t next, uint8_t mask)
{
	const struct osr_fabric *fabric = w->f;
	uint32_t row = fabric->chan_row[u];

	for (uint32_t o = row; o < fabric->chan_row[u + 1]; o++) {
		uint32_t z = fabric->chan_dst[o], in = fabric->chan_rev[o];

		if (w->mask[z] && fabric->chan_row[z] + hop[z] == in && o != next &&
		    !osr_order_enter(&w->order, w->f->turn_row[in] + next - row, mask,
				     w->order.lane != NULL))
			return false;
	}
	return true;
}

/* u goes on by `next`; what is attached to it begins on other lanes. */
static void search_go_on_by(struct osr__search *w, uint32_t root, uint8_t *hop, uint32_t u,
			    uint32_t next)
{
	const struct osr_fabric *fabric = w->f;
	uint32_t row = fabric->chan_row[u];

	w->mask[u] = osr__search_start(w, hop, root, next);
	w->s->scratch->cost[u] =
		(w->s->weight[next] & ~HOP_MASK) + w->s->scratch->cost[fabric->chan_dst[next]];
	hop[u] = (uint8_t)(next - row);
	for (uint32_t o = row; o < fabric->chan_row[u + 1]; o++) {
		uint32_t z = fabric->chan_dst[o], in = fabric->chan_rev[o];

		if (w->mask[z] && fabric->chan_row[z] + hop[z] == in && o != next)
			w->mask[z] = osr__search_start(w, hop, root, in);
	}
}

/*
 * v, the i-th to be settled, finds no legal way. A neighbour nearer to the root may go on by another
 * channel, if all that are attached to it stay legal: nothing is attached to those yet. Returns v's mask.
 */
static uint8_t search_yield(struct osr__search *w, uint32_t root, uint32_t i, uint8_t *hop)
{
	const struct osr_fabric *fabric = w->f;
	const struct osr_spf_scratch *scratch = w->s->scratch;
	const uint8_t *dist8 = scratch->dist8 + (size_t)root * fabric->n_switches;
	uint32_t v = w->s->order[(size_t)root * fabric->n_switches + i], first = OSR_NONE, next = 0;
	uint64_t best = UINT64_MAX;

	for (uint32_t e = scratch->edge_row[i]; e < scratch->edge_row[i + 1]; e++) {
		uint32_t c = scratch->edge_chan[e], u = scratch->edge_next[e],
			 row = fabric->chan_row[u];

		for (uint32_t o = row; u != root && o < fabric->chan_row[u + 1]; o++) {
			uint32_t x = fabric->chan_dst[o];
			uint64_t key =
				w->s->weight[c] + (w->s->weight[o] & ~HOP_MASK) + scratch->cost[x];
			uint8_t mask;

			if ((uint8_t)(dist8[x] + 1) != dist8[u] || key >= best || !w->mask[x])
				continue;
			mask = osr__search_start(w, hop, root, o);
			if (!mask ||
			    !osr_order_enter(&w->order, w->f->turn_row[c] + o - row, mask,
					     w->order.lane != NULL) ||
			    !search_may_go_on_by(w, hop, u, o, mask))
				continue;
			best = key;
			first = c;
			next = o;
		}
	}
	if (first == OSR_NONE)
		return 0;
	search_go_on_by(w, root, hop, fabric->chan_src[next], next);
	hop[v] = (uint8_t)(best & HOP_MASK);
	scratch->cost[v] = best & ~HOP_MASK;
	return osr__search_start(w, hop, root, first);
}

/* Each switch, near ones first, takes the lightest of its legal shortest ways on, or makes one legal. How many have none. */
static inline __attribute__((always_inline)) uint32_t
search_settle_by(struct osr__search *w, uint32_t root, uint32_t d, bool keep, bool by_turn)
{
	const struct osr_fabric *fabric = w->f;
	const struct osr_spf *spf = w->s;
	const struct osr_spf_scratch *scratch = spf->scratch;
	const uint16_t *order = spf->order + (size_t)root * fabric->n_switches;
	uint8_t *hop = spf->hop + (size_t)d * fabric->n_switches;
	uint32_t n_failed = 0;

	memset(w->mask, 0, fabric->n_switches);
	scratch->cost[root] = 0;
	w->mask[root] = w->order.all;
	for (uint32_t i = 1; i < spf->n_order[root]; i++) {
		uint64_t best = UINT64_MAX;
		uint32_t v = order[i], old = fabric->chan_row[v] + hop[v];
		uint8_t best_mask = keep ? osr__search_start_by(w, hop, root, old, by_turn) : 0;

		if (best_mask) {
			scratch->cost[v] = (spf->weight[old] & ~HOP_MASK) +
					   scratch->cost[fabric->chan_dst[old]];
			w->mask[v] = best_mask;
			continue;
		}
		for (uint32_t e = scratch->edge_row[i]; e < scratch->edge_row[i + 1]; e++) {
			uint32_t c = scratch->edge_chan[e];
			uint8_t mask = osr__search_start_by(w, hop, root, c, by_turn);
			uint64_t key = spf->weight[c] + scratch->cost[scratch->edge_next[e]];

			key += mask ? 0 : ILLEGAL;
			if (key >= best)
				continue;
			best = key;
			best_mask = mask;
		}
		scratch->cost[v] = (best_mask ? best : best - ILLEGAL) & ~HOP_MASK;
		hop[v] = (uint8_t)(best & HOP_MASK);
		if (!best_mask && w->n_used)
			best_mask = search_relabel(w, root, i, hop);
		if (!best_mask && osr__search_counts(w, d, v))
			best_mask = search_yield(w, root, i, hop);
		w->mask[v] = best_mask;
		n_failed += !best_mask && osr__search_counts(w, d, v);
	}
	return n_failed;
}

uint32_t osr__search_settle(struct osr__search *w, uint32_t root, uint32_t d, bool keep)
{
	osr__search_aim(w, d);
	return w->order.lane ? search_settle_by(w, root, d, keep, true)
			     : search_settle_by(w, root, d, keep, false);
}

uint32_t osr__search_mark(struct osr__search *w, uint32_t d)
{
	size_t n = w->f->n_switches;
	uint32_t root = w->f->dest_switch[d], n_failed = 0;
	const uint16_t *order = w->s->order + root * n;
	const uint8_t *hop = w->s->hop + d * n;

	osr__search_aim(w, d);
	w->mask[root] = w->order.all;
	for (uint32_t i = 1; i < w->s->n_order[root]; i++) {
		uint32_t v = order[i];

		w->mask[v] = osr__search_start(w, hop, root, w->f->chan_row[v] + hop[v]);
		n_failed += !w->mask[v] && osr__search_counts(w, d, v);
	}
	return n_failed;
}

/* ---- whole trees ----------------------------------------------------------------------------- */

/* Length and weight of v's route, behind the switch that its hop leads to. */
static void search_extend(struct osr__search *w, uint32_t v, const uint8_t *hop)
{
	uint32_t c = w->f->chan_row[v] + hop[v], u = w->f->chan_dst[c];
	uint64_t *cost = w->s->scratch->cost;

	cost[v] = cost[u] + (w->s->weight[c] & ~HOP_MASK);
	w->len[v] = w->len[u] + 1;
}

void osr__search_list(struct osr__search *w, uint32_t root, const uint8_t *hop)
{
	const struct osr_fabric *fabric = w->f;
	uint32_t n = fabric->n_switches, *path = w->waiting;
	const uint16_t *order = w->s->order + (size_t)root * n;
	uint8_t *seen = w->new_mask;

	memset(w->len, 0xff, n * sizeof(*w->len));
	memset(seen, 0, n);
	w->s->scratch->cost[root] = 0;
	w->mask[root] = w->order.all;
	w->len[root] = 0;
	for (uint32_t i = 1; i < w->s->n_order[root]; i++) {
		uint32_t v = order[i], depth = 0;

		/* To what has been seen, or to where a route ends or goes round. */
		for (; v != root && !seen[v]; v = fabric->chan_dst[fabric->chan_row[v] + hop[v]]) {
			seen[v] = 1;
			path[depth++] = v;
			if (hop[v] == OSR_NO_PATH)
				break;
		}
		for (bool reached = w->len[v] != OSR_NONE; depth--;) {
			v = path[depth];
			w->mask[v] = reached ? osr__search_start(w, hop, root,
								 fabric->chan_row[v] + hop[v])
					     : 0;
			reached = w->mask[v] != 0;
			if (reached)
				search_extend(w, v, hop);
		}
	}
}

uint32_t osr__search_trace(struct osr__search *w, uint32_t root, uint32_t d, uint32_t *n_longer)
{
	const struct osr_fabric *fabric = w->f;
	const struct osr_spf *spf = w->s;
	uint32_t n = 0, *path = w->waiting, *len = w->len;
	const uint8_t *hop = spf->hop + (size_t)d * fabric->n_switches,
		      *dist8 = spf->scratch->dist8 + (size_t)root * fabric->n_switches;
	const uint16_t *order = spf->order + (size_t)root * fabric->n_switches;

	memset(len, 0xff, fabric->n_switches * sizeof(*len));
	len[root] = 0;
	w->near_first[n++] = (uint16_t)root;
	/* dist8 is the distance mod 256, which grows by at most 1 along the settling order. */
	for (uint32_t i = 1, dist = 0; i < spf->n_order[root]; i++) {
		uint32_t v = order[i], depth = 0;

		dist += dist8[v] != (uint8_t)dist;
		for (; len[v] == OSR_NONE; v = fabric->chan_dst[fabric->chan_row[v] + hop[v]])
			path[depth++] = v;
		while (depth--) {
			len[path[depth]] = len[v] + 1;
			v = path[depth];
			w->near_first[n++] = (uint16_t)v;
		}
		*n_longer += len[order[i]] != dist;
	}
	return n;
}

/* ---- detours --------------------------------------------------------------------------------- */

static void search_enlist(struct osr__search *w, uint32_t v)
{
	w->link[v] = w->head[w->len[v]];
	w->head[w->len[v]] = v;
}

/* Everything that can be attached to what is, shortest first, then lightest. */
static void search_attach_all(struct osr__search *w, uint32_t root, uint8_t *hop)
{
	const struct osr_fabric *fabric = w->f;
	const struct osr_spf *spf = w->s;
	const uint16_t *order = spf->order + (size_t)root * fabric->n_switches;
	uint8_t *listed = w->new_mask;

	memset(w->head, 0xff, (fabric->n_switches + (size_t)1) * sizeof(*w->head));
	memset(w->key, 0xff, fabric->n_switches * sizeof(*w->key));
	memset(listed, 0, fabric->n_switches);
	/* By the lengths of their routes, the switches that have one beside some that have none. */
	for (uint32_t i = 1; i < spf->n_order[root]; i++)
		for (uint32_t v = order[i], c = fabric->chan_row[v];
		     w->len[v] == OSR_NONE && c < fabric->chan_row[v + 1]; c++) {
			uint32_t u = fabric->chan_dst[c];

			if (w->len[u] == OSR_NONE || listed[u])
				continue;
			listed[u] = 1;
			search_enlist(w, u);
		}
	for (uint32_t len = 0; len < fabric->n_switches; len++) {
		uint32_t n_waiting = 0;

		for (uint32_t u = w->head[len]; u != OSR_NONE; u = w->link[u]) {
			for (uint32_t o = fabric->chan_row[u]; o < fabric->chan_row[u + 1]; o++) {
				uint32_t v = fabric->chan_dst[o], c = fabric->chan_rev[o];
				uint64_t key;
				uint8_t mask;

				if (w->len[v] != OSR_NONE)
					continue;
				key = spf->weight[c] + spf->scratch->cost[u];
				mask = key < w->key[v] ? osr__search_start(w, hop, root, c) : 0;
				if (!mask)
					continue;
				if (w->key[v] == UINT64_MAX)
					w->waiting[n_waiting++] = v;
				w->key[v] = key;
				w->new_mask[v] = mask;
			}
		}
		for (uint32_t i = 0; i < n_waiting; i++) {
			uint32_t v = w->waiting[i];

			hop[v] = (uint8_t)(w->key[v] & HOP_MASK);
			w->mask[v] = w->new_mask[v];
			w->key[v] = UINT64_MAX;
			search_extend(w, v, hop);
			search_enlist(w, v);
		}
	}
}

/*
 * Ways to the root for what cannot be attached: those of the first lane alone, if all switches have one there, which up and
 * down a tree they have. Otherwise those of the escape tree.
 */
static void search_find_escape(struct osr__search *w, uint32_t root)
{
	const struct osr_fabric *fabric = w->f;
	uint32_t n_left = 0, *out = w->link;
	const uint16_t *order = w->s->order + (size_t)root * fabric->n_switches;
	uint8_t all = w->order.all;

	memset(w->len, 0xff, fabric->n_switches * sizeof(*w->len));
	w->len[root] = 0;
	w->order.all = w->order.lane ? all : 1;
	w->mask[root] = w->order.all;
	search_attach_all(w, root, w->escape_hop);
	w->order.all = all;
	w->mask[root] = all;
	for (uint32_t i = 1; i < w->s->n_order[root]; i++)
		n_left += w->len[order[i]] == OSR_NONE;
	if (!n_left)
		return;
	osr_span_towards(fabric, w->escape, root, out, w->waiting);
	for (uint32_t v = 0; v < fabric->n_switches; v++)
		w->escape_hop[v] =
			out[v] == OSR_NONE ? OSR_NO_PATH : (uint8_t)(out[v] - fabric->chan_row[v]);
}

void osr__search_detour(struct osr__search *w, uint32_t root, uint32_t d, bool keep)
{
	const struct osr_fabric *fabric = w->f;
	uint8_t *hop = w->s->hop + (size_t)d * fabric->n_switches;
	const uint16_t *order = w->s->order + (size_t)root * fabric->n_switches;
	uint32_t i, n_forced = 0;

	memcpy(w->saved, hop, fabric->n_switches);
	/* Ends: what the escape tree reaches has a legal way along it, and no more than all are sent there. */
	for (bool escapes = false;; escapes = true) {
		osr__search_list(w, root, hop);
		search_attach_all(w, root, hop);
		/* The first that is left goes along the escape tree. */
		for (i = 1; i < w->s->n_order[root] &&
			    (w->len[order[i]] != OSR_NONE || !osr__search_counts(w, d, order[i]));
		     i++)
			;
		if (i == w->s->n_order[root] || n_forced++ == fabric->n_switches)
			break;
		if (!escapes)
			search_find_escape(w, root);
		if (w->escape_hop[order[i]] == OSR_NO_PATH)
			break;
		for (uint32_t v = order[i]; v != root;
		     v = fabric->chan_dst[fabric->chan_row[v] + hop[v]])
			hop[v] = w->escape_hop[v];
	}
	if (!keep)
		return;
	/* What no packet's route passes goes on as it did, which leads to where one passes, or nearer to the root. */
	memset(w->new_mask, 0, fabric->n_switches);
	for (i = 1; i < w->s->n_order[root]; i++)
		for (uint32_t v = order[i];
		     osr__search_counts(w, d, order[i]) && v != root && !w->new_mask[v];
		     v = fabric->chan_dst[fabric->chan_row[v] + hop[v]])
			w->new_mask[v] = 1;
	for (i = 1; i < w->s->n_order[root]; i++)
		if (!w->new_mask[order[i]]) {
			hop[order[i]] = w->saved[order[i]];
			w->mask[order[i]] = 0;
		}
}

/* ---- counts ---------------------------------------------------------------------------------- */

uint32_t osr__search_count_longer(struct osr__search *w)
{
	const struct osr_spf *spf = w->s;
	uint32_t n_longer = 0;

	for (uint32_t d = 0; d < w->f->n_dests; d++) {
		uint32_t root = w->f->dest_switch[d], mine = 0, n_dests = 1;

		if (spf->alias[d] != OSR_NONE || !w->detoured[d])
			continue;
		osr__search_trace(w, root, d, &mine);
		/* With those of the LIDs that ride along. */
		for (uint32_t k = spf->dest_row[root]; k < spf->dest_row[root + 1]; k++)
			n_dests += spf->alias[spf->dest_list[k]] == d;
		n_longer += mine * n_dests;
	}
	return n_longer;
}

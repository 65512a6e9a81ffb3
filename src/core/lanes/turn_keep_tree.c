/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Trees with routes that were cut, and what lanes turns have then: see turn_keep.c. */
#include <string.h>

#include "core/data/carry.h"
#include "core/paths/moves.h"

#include "turn_keep_private.h"

/*
 * Turns that no route of the baseline has keep the lanes of the last sweep, and multicast its order: so when
 * something returns, old and new tables have the same SL2VL tables, and no ring of two orders.
 */
enum osr_status osr__keep_last(struct keep *k, struct osr_diag *why)
{
	const struct osr_result *last = k->job->previous;
	const struct osr_fabric *fabric = k->f;
	struct osr_fabric_map map;
	struct osr_routing then = { 0 };
	enum osr_status st;

	if (osr__keep_lanes(&last->routing) != k->w.n_lanes)
		return OSR_OK;
	st = osr_fabric_map_init(&map, &last->fabric, fabric, k->job->scratch, why);
	if (!st)
		st = osr_carry_routing(&map, &last->routing, k->job->scratch, &then, why);
	if (st)
		return st;
	for (uint32_t c = 0; c < fabric->n_channels; c++) {
		uint32_t s = fabric->chan_dst[c], in = fabric->chan_port[fabric->chan_rev[c]];

		for (uint32_t t = k->w.g.row[c]; t < k->w.g.row[c + 1]; t++) {
			size_t pair = in * (fabric->sw_n_ports[s] + 1u) +
				      fabric->chan_port[osr_cdg_target(&k->w.g, c, t)];
			const uint8_t *vls = then.sl2vl[then.sl2vl_row[s] + pair];

			if (!k->used[t] && vls[0] < k->w.n_lanes)
				memcpy(k->r.sl2vl[k->r.sl2vl_row[s] + pair], vls,
				       sizeof(osr_sl2vl_t));
		}
	}
	osr__keep_read_lanes(k);
	osr__turn_set_reach(&k->w);
	k->last = then.lft;
	if (k->r.mcast_parent && then.mcast_parent)
		memcpy(k->r.mcast_parent, then.mcast_parent,
		       fabric->n_switches * sizeof(*k->r.mcast_parent));
	return OSR_OK;
}

/* The first turn of the route by channel c, and the next one, which packets on the first one's lane take. */
static void keep_mark_turn(struct keep *k, const uint8_t *hop, uint32_t c)
{
	const struct osr_fabric *fabric = k->f;
	uint32_t u = fabric->chan_dst[c], t = k->w.g.row[c] + hop[u], next, x;

	if (hop[u] == OSR_NO_PATH)
		return;
	next = fabric->chan_row[u] + hop[u];
	x = fabric->chan_dst[next];
	k->used[t] = 1;
	k->feed[t] |= k->w.inject[c];
	if (hop[x] != OSR_NO_PATH)
		k->feed[k->w.g.row[next] + hop[x]] |= (uint16_t)(1u << k->w.lane[t]);
}

/* Turns of routes that are there. */
void osr__keep_mark_used(struct keep *k)
{
	const struct osr_fabric *fabric = k->f;

	for (uint32_t d = 0; d < fabric->n_dests; d++) {
		const uint8_t *hop = k->r.lft + (size_t)d * fabric->n_switches;

		for (uint32_t v = 0; v < fabric->n_switches; v++) {
			uint32_t c =
				hop[v] == OSR_NO_PATH ? OSR_NONE : fabric->chan_row[v] + hop[v];

			if (c != OSR_NONE)
				keep_mark_turn(k, hop, c);
		}
	}
}

/* And of what is left of multicast. */
void osr__keep_mark_order(struct keep *k)
{
	const struct osr_fabric *fabric = k->f;

	for (uint32_t c = 0; c < fabric->n_channels && k->job->request.multicast; c++)
		for (uint32_t t = k->w.g.row[c]; t < k->w.g.row[c + 1]; t++)
			k->used[t] |= osr__keep_on_tree(k, c) &&
				      osr__keep_on_tree(k, osr_cdg_target(&k->w.g, c, t));
}

/*
 * The switch that attaches next, and its channel: of those whose entry is dead, or of all, the one
 * with the shortest way; of equals that of its entry, that of the last sweep, then the least loaded channel.
 */
static uint32_t keep_choose(const struct keep *k, uint32_t root, const uint8_t *hop, bool dead)
{
	const struct osr_fabric *fabric = k->f;
	const uint8_t *last = k->last ? k->last + (hop - k->r.lft) : NULL;
	const uint16_t *order = k->s.order + (size_t)root * fabric->n_switches;
	uint64_t best = UINT64_MAX;
	uint32_t best_chan = OSR_NONE;

	for (uint32_t i = 1; i < k->s.n_order[root]; i++) {
		uint32_t v = order[i];

		if (k->w.t.mask[v] || (dead && hop[v] != OSR_NO_PATH))
			continue;
		for (uint32_t c = fabric->chan_row[v]; c < fabric->chan_row[v + 1]; c++) {
			uint32_t u = fabric->chan_dst[c];
			uint64_t key;

			if (!k->w.t.mask[u] || k->refused[c] == k->mark)
				continue;
			key = ((uint64_t)k->w.t.len[u] << 41) + (k->s.weight[c] >> HOP_BITS);
			key |= fabric->chan_row[v] + hop[v] == c ? 0 : UINT64_C(1) << 40;
			key |= last && last[v] == fabric->chan_port[c] ? 0 : UINT64_C(1) << 39;
			if (key < best) {
				best = key;
				best_chan = c;
			}
		}
	}
	return best_chan;
}

/* The next switch attaches where its turns fit; false: none does. */
static bool keep_attach(struct keep *k, uint32_t root, uint8_t *hop)
{
	const struct osr_fabric *fabric = k->f;

	for (int dead = 1; dead >= 0; dead--) {
		uint32_t c = keep_choose(k, root, hop, dead);

		for (; c != OSR_NONE; c = keep_choose(k, root, hop, dead)) {
			k->n_undo = k->n_fed = 0;
			if (osr__keep_enter(k, hop, root, c, k->w.inject[c])) {
				hop[fabric->chan_src[c]] =
					(uint8_t)(c - fabric->chan_row[fabric->chan_src[c]]);
				return true;
			}
			k->refused[c] = k->mark;
		}
	}
	return false;
}

static bool keep_force(struct keep *k, uint32_t root, uint8_t *hop)
{
	if (osr__legal_force(&k->w.t, root, hop))
		return true;
	if (k->w.t.escape == k->everywhere)
		return false;
	osr__keep_extend(k);
	osr__keep_feed_order(k);
	osr__legal_list(&k->w.t, root, hop, true);
	osr__legal_find_escape(&k->w.t, root);
	return osr__legal_force(&k->w.t, root, hop);
}

static uint8_t *keep_block(const struct keep *k, uint32_t d, uint32_t v)
{
	const struct osr__moves m = { .f = k->f, .sent = k->sent };

	return osr__moves_block(&m, d, v);
}

/* Who keeps its hop to one that has another now takes a turn that may be new. */
static void keep_mark_tree(struct keep *k, uint32_t root, const uint8_t *hop)
{
	for (uint32_t v = 0; v < k->f->n_switches; v++)
		if (v != root && hop[v] != OSR_NO_PATH && k->w.t.mask[v])
			keep_mark_turn(k, hop, k->f->chan_row[v] + hop[v]);
}

/*
 * One switch after the other, those first whose entry is dead: the others may follow them. One that
 * finds no way goes along the spanning order of multicast, which may cost whole routes theirs.
 */
static bool keep_tree(struct keep *k, uint32_t root, uint32_t d)
{
	uint8_t *hop = k->r.lft + (size_t)d * k->f->n_switches;
	uint32_t n_cut = osr__legal_list(&k->w.t, root, hop, true);
	bool escapes = false, cut = n_cut != 0;

	k->r.stable.n_trees += n_cut != 0;
	memcpy(k->before, hop, k->f->n_switches);
	memcpy(k->whole, k->w.t.mask, k->f->n_switches);
	for (k->mark++; n_cut; n_cut = osr__legal_list(&k->w.t, root, hop, true)) {
		keep_mark_tree(k, root, hop);
		if (keep_attach(k, root, hop))
			continue;
		if (!k->job->request.multicast)
			return false;
		if (!escapes)
			osr__legal_find_escape(&k->w.t, root);
		escapes = true;
		if (!keep_force(k, root, hop))
			return false;
		k->mark++;
	}
	if (cut)
		keep_mark_tree(k, root, hop);
	for (uint32_t v = 0; v < k->f->n_switches; v++) {
		bool other = v != root && hop[v] != k->before[v];

		k->r.stable.n_moved += escapes && other && k->whole[v];
		k->touched[d] |= other;
		*keep_block(k, d, v) |= other;
	}
	return true;
}

/* The routes of a tree that are whole, in or out (-1) of the loads. */
static void keep_count(struct keep *k, uint32_t root, uint32_t d, uint64_t sign)
{
	struct osr__legal *t = &k->w.t;
	const uint8_t *hop = k->r.lft + (size_t)d * k->f->n_switches;
	uint32_t n = 0;

	if (!k->f->term_weight[k->f->dest_term[d]])
		return;
	osr__legal_list(t, root, hop, false);
	for (uint32_t len = 0; len < k->f->n_switches && t->head[len] != OSR_NONE; len++)
		for (uint32_t v = t->head[len]; v != OSR_NONE; v = t->link[v])
			t->order[n++] = (uint16_t)v;
	osr__spf_count(&k->s, t->order, n, hop, sign);
}

enum osr_status osr__keep_trees(struct keep *k, struct osr_diag *why)
{
	const struct osr_fabric *fabric = k->f;

	for (uint32_t d = 0; d < fabric->n_dests; d++)
		keep_count(k, fabric->dest_switch[d], d, 1);
	for (uint32_t d = 0; d < fabric->n_dests; d++) {
		uint32_t root = fabric->dest_switch[d];
		const uint8_t *hop = k->r.lft + (size_t)d * fabric->n_switches;

		keep_count(k, root, d, (uint64_t)-1);
		if (!keep_tree(k, root, d))
			return osr__keep_not(why,
					     "some route that was cut has no path that respects "
					     "the previous VLs by turn");
		keep_count(k, root, d, 1);
		osr__legal_list(&k->w.t, root, hop, false);
		osr__legal_sort(&k->w.t, root, d, &k->r.n_longer);
	}
	return OSR_OK;
}

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Incremental re-routing with lanes by turn: the lanes of all turns that some route has stay, and so does the
 * order of nodes, unless no spanning order of multicast rises in it: then what is there is sorted anew. A
 * switch whose route was cut attaches to a tree again where that rises, or would if a turn that no route has
 * had another lane. What then holds is what held before: any SL, replies, multicast. From the outside in:
 *	osr_turn_reroute()
 *	  keep_begin()		the baseline's tables and order, in the numbering of today
 *	  keep_last()		lanes and multicast of the last sweep, where the baseline does not care
 *	  keep_tree()		a destination with cut routes: they attach, or all grows again
 *	  keep_spread()		the spanning order of multicast, if a cable of it is gone
 *	  keep_balance()	LIDs move off channels that carry more than they must
 */
#include <string.h>

#include "core/data/carry.h"
#include "core/paths/bound.h"
#include "core/paths/moves.h"
#include "core/verify/union.h"

#include "turn_private.h"

#define KEEP_SORTS 64 /* cables that are tried with another order */

struct keep {
	const struct osr_job *job;
	const struct osr_fabric *f;
	const struct osr_result *base;
	struct osr_spf s;
	struct turns w;
	struct osr_routing r; /* in the numbering of today */
	bool grown;           /* there are LIDs that the baseline did not know */
	uint32_t *everywhere; /* [n_switches] keep_extend() */
	uint32_t *highest;    /* [n_channels] keep_spread_pass() */
	uint8_t *before;      /* [n_switches] hops of one tree before it was touched */
	uint8_t *whole;       /* [n_switches] and whether the route from here was whole then */
	uint8_t same
		[OSR_MAX_VLS]; /* the first lane with the ranks of each: they share what it carries */
	uint16_t *feed; /* [n_slots] lanes whose packets take this turn, of routes that are there */
	uint16_t *feed_all;  /* [n_slots] and of multicast on a spanning order that is tried */
	uint32_t *sorted;    /* [n_nodes] an order that is tried */
	uint32_t *work;      /* [2 * n_nodes] osr__turn_sort() */
	uint8_t *used;       /* [n_slots] some route or multicast has this turn: its lane stays */
	const uint8_t *last; /* [n_dests * n_switches] ports of the last sweep, or NULL */
	uint8_t *touched;    /* [n_dests] some entry is another one */
	uint8_t *sent;       /* [n_switches * blocks] and these blocks of 64 LIDs */
};

static enum osr_status keep_not(struct osr_diag *why, const char *reason)
{
	return osr_fail(why, OSR_NOT_APPLICABLE, "%s", reason);
}

/* ---- the baseline in the numbering of today --------------------------------------------------- */

/* Ranks by channel: every one of today was there before, and no host is where a cable was. */
static bool keep_ranks(const struct osr_fabric_map *map, const struct osr_routing *old,
		       uint32_t *rank)
{
	const struct osr_fabric *fabric = map->to;

	for (uint32_t c = 0; c < fabric->n_channels; c++) {
		if (map->chan[c] == OSR_NONE)
			return false;
		for (uint32_t l = 0; l < old->n_vls; l++)
			rank[(size_t)l * fabric->n_channels + c] =
				old->rank[(size_t)l * map->from->n_channels + map->chan[c]];
	}
	for (uint32_t t = 0; t < fabric->n_terminals; t++) {
		uint32_t s = map->sw[fabric->term_switch[t]];

		if (s == OSR_NONE ||
		    osr_port_channel(map->from, s, fabric->term_port[t]) != OSR_NONE)
			return false;
	}
	return true;
}

static void keep_find_same(struct keep *k)
{
	size_t m = k->f->n_channels;

	for (uint8_t vl = 0; vl < k->r.n_vls; vl++)
		for (k->same[vl] = 0; memcmp(k->w.rank + k->same[vl] * m, k->w.rank + vl * m,
					     m * sizeof(*k->w.rank)) != 0;)
			k->same[vl]++;
}

static void turn_keep_keep_lanes(struct keep *k)
{
	const struct osr_fabric *fabric = k->f;

	for (uint32_t c = 0; c < fabric->n_channels; c++) {
		uint32_t s = fabric->chan_dst[c], in = fabric->chan_port[fabric->chan_rev[c]];

		for (uint32_t t = k->w.g.row[c]; t < k->w.g.row[c + 1]; t++) {
			uint32_t out = fabric->chan_port[fabric->chan_row[s] + t - k->w.g.row[c]];

			k->w.lane[t] =
				k->same[k->r.sl2vl[k->r.sl2vl_row[s] +
						   in * (fabric->sw_n_ports[s] + 1u) + out][0]];
		}
	}
}

/* Entries of today: hops instead of ports. */
static void keep_hops(struct keep *k)
{
	const struct osr_fabric *fabric = k->f;

	for (uint32_t d = 0; d < fabric->n_dests; d++)
		for (uint32_t v = 0; v < fabric->n_switches; v++) {
			uint8_t *hop = &k->r.lft[(size_t)d * fabric->n_switches + v];
			bool leads = *hop != OSR_NO_PATH && v != fabric->dest_switch[d] &&
				     fabric->sw_component[v] ==
					     fabric->sw_component[fabric->dest_switch[d]];
			uint32_t c = leads ? osr_port_channel(fabric, v, *hop) : OSR_NONE;

			*hop = c == OSR_NONE ? OSR_NO_PATH : (uint8_t)(c - fabric->chan_row[v]);
		}
}

static enum osr_status keep_alloc(struct keep *k, struct osr_diag *why)
{
	const struct osr_fabric *fabric = k->f;
	struct osr_arena *scratch = k->job->scratch;
	struct turns *w = &k->w;
	size_t n = fabric->n_switches, m = fabric->n_channels;
	enum osr_status st = osr_cdg_init(&w->g, fabric, scratch, why);

	w->t = (struct osr__legal){ .s = &k->s,
				    .f = fabric,
				    .over = osr__turn_over,
				    .settle = osr__turn_settle,
				    .all = 1 };
	if (st)
		return st;
	w->rank = osr_alloc(k->job->arena, k->r.n_vls * m, sizeof(*w->rank));
	w->lane = osr_alloc(scratch, w->g.n_slots, 1);
	w->at = osr_alloc(scratch, w->g.n_slots, sizeof(*w->at));
	w->freedom = osr_alloc(scratch, w->g.n_slots, 1);
	w->first_freedom = osr_alloc(scratch, m, 1);
	w->t.mask = osr_alloc(scratch, n, 1);
	k->used = osr_calloc(scratch, w->g.n_slots, 1);
	k->feed = osr_calloc(scratch, w->g.n_slots, sizeof(*k->feed));
	k->feed_all = osr_alloc(scratch, w->g.n_slots, sizeof(*k->feed_all));
	k->sorted = osr_alloc(scratch, k->r.n_vls * m, sizeof(*k->sorted));
	k->work = osr_alloc(scratch, 2 * k->r.n_vls * m, sizeof(*k->work));
	k->highest = osr_alloc(scratch, m, sizeof(*k->highest));
	k->before = osr_alloc(scratch, n, 1);
	k->whole = osr_alloc(scratch, n, 1);
	k->touched = osr_calloc(scratch, fabric->n_dests, 1);
	k->sent = osr_calloc(scratch, n * osr__moves_blocks(fabric), 1);
	if (!w->rank || !w->lane || !w->at || !w->freedom || !w->first_freedom || !w->t.mask ||
	    !k->feed || !k->feed_all || !k->sorted || !k->work || !k->used || !k->highest ||
	    !k->before || !k->whole || !k->touched || !k->sent || !osr__legal_alloc(&w->t, scratch))
		return osr_fail(why, OSR_NOMEM, "out of memory for re-routing with lanes by turn");
	return OSR_OK;
}

/* Lanes of each class of SLs: what hosts send is on the first one. 0: the classes are not alike. */
static uint32_t keep_lanes(const struct osr_routing *old)
{
	uint32_t first = old->n_vls;
	size_t size;

	for (uint32_t sl = 0; sl < 16; sl++)
		if (old->ca_sl2vl[sl] && old->ca_sl2vl[sl] < first)
			first = old->ca_sl2vl[sl];
	size = (size_t)first * old->n_channels;
	for (uint32_t vl = first; vl + first <= old->n_vls; vl += first)
		if (memcmp(old->rank, old->rank + vl * (size_t)old->n_channels,
			   size * sizeof(*old->rank)) != 0)
			return 0;
	return old->ca_sl2vl[0] == 0 ? first : 0;
}

static enum osr_status keep_begin(struct keep *k, struct osr_diag *why)
{
	const struct osr_job *job = k->job;
	const struct osr_routing *old = &k->base->routing;
	struct osr_spf_options opt = { .max_rounds = 0 };
	struct osr_fabric_map map;
	enum osr_status st = osr_fabric_map_init(&map, &k->base->fabric, k->f, job->scratch, why);

	if (!st)
		st = osr_carry_routing(&map, old, job->arena, &k->r, why);
	if (st)
		return st;
	for (uint32_t s = 0; s < k->f->n_switches; s++) {
		size_t n = k->f->sw_n_ports[s] + (size_t)1;
		uint8_t *row = k->r.sl2vl[k->r.sl2vl_row[s]];

		for (size_t i = 0; i < n * n * sizeof(osr_sl2vl_t); i++)
			row[i] = row[i] == OSR_VL_UNSET ? 0 : row[i];
	}
	k->r.n_vls = old->n_vls;
	st = keep_alloc(k, why);
	if (!st)
		st = osr_spf_init(&k->s, k->f, &k->r, &opt, job->scratch, why);
	if (st)
		return st;
	k->w.n_lanes = keep_lanes(old);
	k->everywhere = k->w.t.escape;
	k->w.t.escape = k->r.mcast_parent;
	/* What rides along today may have had a tree of its own, and keeps it. */
	for (uint32_t d = 0; d < k->f->n_dests; d++)
		k->s.alias[d] = OSR_NONE;
	if (!keep_ranks(&map, old, k->w.rank))
		return keep_not(why, "the fabric has switches, cables or hosts on ports where the "
				     "previous VLs by turn know none");
	keep_find_same(k);
	for (uint32_t d = 0; d < k->f->n_dests; d++)
		k->grown |= !osr_fabric_map_dest_stays(&map, d);
	turn_keep_keep_lanes(k);
	keep_hops(k);
	osr__turn_set_reach(&k->w);
	return OSR_OK;
}

static bool keep_on_tree(const struct keep *k, uint32_t c)
{
	const struct osr_fabric *fabric = k->f;
	const uint32_t *parent = k->w.t.escape;

	return parent[fabric->chan_src[c]] == c ||
	       parent[fabric->chan_dst[c]] == fabric->chan_rev[c];
}

static void keep_set_lane(struct keep *k, uint32_t c0, uint32_t c1, uint32_t lane)
{
	const struct osr_fabric *fabric = k->f;
	uint32_t u = fabric->chan_dst[c0], t = k->w.g.row[c0] + c1 - fabric->chan_row[u];
	size_t pair = fabric->chan_port[fabric->chan_rev[c0]] * (fabric->sw_n_ports[u] + 1u) +
		      fabric->chan_port[c1];

	k->used[t] = 1;
	if (k->w.lane[t] == lane)
		return;
	k->w.lane[t] = (uint8_t)lane;
	k->w.at[t] = k->w.rank[(size_t)lane * fabric->n_channels + c1];
	for (uint32_t sl = 0; sl < 16; sl++)
		k->r.sl2vl[k->r.sl2vl_row[u] + pair][sl] =
			(uint8_t)(k->base->routing.ca_sl2vl[sl] + lane);
}

/* The lane of turn t into c that comes next after `rank`; of a turn in use its own, or none. */
static uint32_t keep_next_lane(const struct keep *k, uint32_t t, uint32_t c, uint32_t rank)
{
	const struct turns *w = &k->w;
	uint32_t best = UINT32_MAX, lane = OSR_NONE;

	if (k->used[t])
		return w->at[t] > rank ? w->lane[t] : OSR_NONE;
	for (uint32_t l = 0; l < w->n_lanes; l++) {
		uint32_t at = w->rank[(size_t)l * k->f->n_channels + c];

		if (at <= rank || at >= best)
			continue;
		best = at;
		lane = l;
	}
	return lane;
}

/*
 * One pass over the turns of the spanning order, which raises highest[c], the highest rank that a copy
 * holds on c; `set`: it has been found, and the turns get their lanes. False: a turn has none that rises.
 */
static bool keep_spread_pass(struct keep *k, bool set, bool *changed)
{
	const struct osr_fabric *fabric = k->f;

	*changed = false;
	for (uint32_t a = 0; a < fabric->n_channels; a++) {
		uint32_t u = fabric->chan_dst[a];

		for (uint32_t b = fabric->chan_row[u];
		     keep_on_tree(k, a) && b < fabric->chan_row[u + 1]; b++) {
			uint32_t lane, at;

			if (b == fabric->chan_rev[a] || !keep_on_tree(k, b))
				continue;
			lane = keep_next_lane(k, k->w.g.row[a] + b - fabric->chan_row[u], b,
					      k->highest[a]);
			if (lane == OSR_NONE)
				return false;
			at = k->w.rank[(size_t)lane * fabric->n_channels + b];
			*changed |= at > k->highest[b];
			k->highest[b] = at > k->highest[b] ? at : k->highest[b];
			if (set)
				keep_set_lane(k, a, b, lane);
		}
	}
	return true;
}

/*
 * Do all turns of the spanning order rise, from hosts and from each other, if those that nothing else takes
 * get the lowest lanes they can? Then they have them.
 */
static bool keep_spread_fits(struct keep *k)
{
	bool changed = true;

	memcpy(k->highest, k->w.rank, k->f->n_channels * sizeof(*k->highest));
	while (changed)
		if (!keep_spread_pass(k, false, &changed))
			return false;
	return keep_spread_pass(k, true, &changed);
}

/*
 * Multicast needs no switches beyond those that lie between hosts; to go along its spanning order, they
 * hang on it, where that rises.
 */
static void keep_extend(struct keep *k)
{
	const struct osr_fabric *fabric = k->f;

	memcpy(k->everywhere, k->r.mcast_parent, fabric->n_switches * sizeof(*k->everywhere));
	k->w.t.escape = k->everywhere;
	for (uint32_t v = 0; v < fabric->n_switches; v++) {
		uint32_t *up = &k->everywhere[v], c = fabric->chan_row[v];
		bool away = *up == OSR_NONE && !fabric->sw_sources[v];

		for (uint32_t o = c; away && o < fabric->chan_row[v + 1]; o++)
			away = k->everywhere[fabric->chan_dst[o]] != fabric->chan_rev[o];
		for (; away && c < fabric->chan_row[v + 1]; c++) {
			*up = c;
			away = !keep_spread_fits(k);
			*up = away ? OSR_NONE : c;
		}
	}
}

/* ---- trees ------------------------------------------------------------------------------------ */

/* The lane that would make it legal to take c, if no route has that turn yet; OSR_NONE. */
static uint32_t keep_other_lane(const struct keep *k, uint32_t root, const uint8_t *hop, uint32_t c)
{
	const struct osr_fabric *fabric = k->f;
	uint32_t u = fabric->chan_dst[c], t, c1, x, before = UINT32_MAX;

	if (u == root)
		return OSR_NONE;
	t = k->w.g.row[c] + hop[u];
	c1 = fabric->chan_row[u] + hop[u];
	x = fabric->chan_dst[c1];
	if (x != root)
		before = k->w.at[k->w.g.row[c1] + hop[x]];
	for (uint32_t l = 0; l < k->w.n_lanes && !k->used[t]; l++) {
		uint32_t rank = k->w.rank[(size_t)l * fabric->n_channels + c1];

		if (k->w.rank[c] < rank && rank < before)
			return l;
	}
	return OSR_NONE;
}

/* Takes c into the tree; its turn gets another lane if it must. */
static void keep_take(struct keep *k, uint32_t root, uint8_t *hop, uint32_t c)
{
	const struct osr_fabric *fabric = k->f;
	uint32_t v = fabric->chan_src[c], u = fabric->chan_dst[c], lane;

	hop[v] = (uint8_t)(c - fabric->chan_row[v]);
	if (u == root)
		return;
	lane = osr__turn_legal(&k->w, hop, root, c) ? k->w.lane[k->w.g.row[c] + hop[u]]
						    : keep_other_lane(k, root, hop, c);
	keep_set_lane(k, c, fabric->chan_row[u] + hop[u], lane);
}

/*
 * Turns that no route of the baseline has keep the lanes of the last sweep, and multicast its order: so when
 * something returns, old and new tables have the same SL2VL tables, and no ring of two orders.
 */
static enum osr_status keep_last(struct keep *k, struct osr_diag *why)
{
	const struct osr_result *last = k->job->previous;
	const struct osr_fabric *fabric = k->f;
	struct osr_fabric_map map;
	struct osr_routing then = { 0 };
	enum osr_status st;

	if (last == k->base || keep_lanes(&last->routing) != k->w.n_lanes)
		return OSR_OK;
	st = osr_fabric_map_init(&map, &last->fabric, fabric, k->job->scratch, why);
	if (!st)
		st = osr_carry_routing(&map, &last->routing, k->job->scratch, &then, why);
	if (st)
		return st;
	for (uint32_t c = 0; c < fabric->n_channels; c++) {
		uint32_t s = fabric->chan_dst[c], in = fabric->chan_port[fabric->chan_rev[c]];

		for (uint32_t t = k->w.g.row[c]; t < k->w.g.row[c + 1]; t++) {
			uint32_t next = osr_cdg_target(&k->w.g, c, t);
			uint8_t lane =
				then.sl2vl[then.sl2vl_row[s] + in * (fabric->sw_n_ports[s] + 1u) +
					   fabric->chan_port[next]][0];

			if (k->used[t] || lane >= k->w.n_lanes)
				continue;
			keep_set_lane(k, c, next, lane);
			k->used[t] = 0;
		}
	}
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
	k->feed[t] |= 1;
	if (hop[x] != OSR_NO_PATH)
		k->feed[k->w.g.row[next] + hop[x]] |= (uint16_t)(1u << k->w.lane[t]);
}

/* Turns of routes that are there. */
static void keep_mark_used(struct keep *k)
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
static void keep_mark_order(struct keep *k)
{
	const struct osr_fabric *fabric = k->f;

	for (uint32_t c = 0; c < fabric->n_channels && k->job->request.multicast; c++)
		for (uint32_t t = k->w.g.row[c]; t < k->w.g.row[c + 1]; t++)
			k->used[t] |= keep_on_tree(k, c) &&
				      keep_on_tree(k, osr_cdg_target(&k->w.g, c, t));
}

/*
 * The switch that attaches next, and its channel: of those whose entry is dead, or of all, the one
 * with the shortest way; of equals that of the last sweep, then the least loaded channel.
 */
static uint32_t keep_choose(struct keep *k, uint32_t root, const uint8_t *hop, bool dead,
			    bool other_lanes)
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

			if (!k->w.t.mask[u] ||
			    (!osr__turn_legal(&k->w, hop, root, c) &&
			     (!other_lanes || keep_other_lane(k, root, hop, c) == OSR_NONE)))
				continue;
			key = ((uint64_t)k->w.t.len[u] << 40) + (k->s.weight[c] >> HOP_BITS);
			key |= last && last[v] == fabric->chan_port[c] ? 0 : UINT64_C(1) << 39;
			if (key < best) {
				best = key;
				best_chan = c;
			}
		}
	}
	return best_chan;
}

static bool keep_force(struct keep *k, uint32_t root, uint8_t *hop)
{
	if (osr__legal_force(&k->w.t, root, hop))
		return true;
	if (k->w.t.escape == k->everywhere)
		return false;
	keep_extend(k);
	osr__legal_list(&k->w.t, root, hop, true);
	osr__legal_find_escape(&k->w.t, root);
	return osr__legal_force(&k->w.t, root, hop);
}

static uint8_t *keep_block(const struct keep *k, uint32_t d, uint32_t v)
{
	const struct osr__moves m = { .f = k->f, .sent = k->sent };

	return osr__moves_block(&m, d, v);
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
	while (n_cut) {
		uint32_t c = OSR_NONE;

		for (int i = 0; i < 4 && c == OSR_NONE; i++)
			c = keep_choose(k, root, hop, !(i & 1), i & 2);
		if (c != OSR_NONE) {
			keep_take(k, root, hop, c);
		} else {
			if (!k->job->request.multicast)
				return false;
			if (!escapes)
				osr__legal_find_escape(&k->w.t, root);
			escapes = true;
			if (!keep_force(k, root, hop))
				return false;
		}
		n_cut = osr__legal_list(&k->w.t, root, hop, true);
	}
	for (uint32_t v = 0; v < k->f->n_switches; v++) {
		bool other = v != root && hop[v] != k->before[v];

		k->r.stable.n_moved += escapes && other && k->whole[v];
		k->touched[d] |= other;
		*keep_block(k, d, v) |= other;
		/* Who keeps its hop to one that has another now takes a turn that may be new. */
		if (cut && v != root && hop[v] != OSR_NO_PATH)
			keep_mark_turn(k, hop, k->f->chan_row[v] + hop[v]);
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

static enum osr_status turn_keep_keep_trees(struct keep *k, struct osr_diag *why)
{
	const struct osr_fabric *fabric = k->f;

	for (uint32_t d = 0; d < fabric->n_dests; d++)
		keep_count(k, fabric->dest_switch[d], d, 1);
	for (uint32_t d = 0; d < fabric->n_dests; d++) {
		uint32_t root = fabric->dest_switch[d];
		const uint8_t *hop = k->r.lft + (size_t)d * fabric->n_switches;

		keep_count(k, root, d, (uint64_t)-1);
		if (!keep_tree(k, root, d))
			return keep_not(why, "some route that was cut has no path that respects "
					     "the previous VLs by turn");
		keep_count(k, root, d, 1);
		osr__legal_list(&k->w.t, root, hop, false);
		osr__legal_sort(&k->w.t, root, d, &k->r.n_longer);
	}
	return OSR_OK;
}

/* ---- balance ---------------------------------------------------------------------------------- */

/* A tree with an entry that is tried. */
struct keep_try {
	struct keep *k;
	const uint8_t *hop;
	uint32_t root;
};

static bool keep_sends(const struct keep_try *t, uint32_t u, uint32_t c)
{
	return u != t->root && t->hop[u] != OSR_NO_PATH && t->k->f->chan_row[u] + t->hop[u] == c;
}

/* Is the way from v by c legal, and so that of all whose next switch, or the one after it, is v? */
static bool keep_legal_behind(const struct keep_try *t, uint32_t v, uint32_t c, uint32_t depth)
{
	const struct osr_fabric *fabric = t->k->f;
	bool ok = osr__turn_legal(&t->k->w, t->hop, t->root, c);

	for (uint32_t o = fabric->chan_row[v]; ok && depth && o < fabric->chan_row[v + 1]; o++) {
		uint32_t in = fabric->chan_rev[o];

		if (keep_sends(t, fabric->chan_dst[o], in))
			ok = keep_legal_behind(t, fabric->chan_dst[o], in, depth - 1);
	}
	return ok;
}

static bool keep_may(struct osr__moves *m, uint32_t d, uint32_t v, uint32_t c)
{
	struct keep *k = m->ctx;
	const struct osr_fabric *fabric = k->f;
	uint8_t *hop = m->lft + (size_t)d * fabric->n_switches, was = hop[v];
	const struct keep_try t = { k, hop, fabric->dest_switch[d] };
	bool ok;

	hop[v] = (uint8_t)(c - fabric->chan_row[v]);
	ok = keep_legal_behind(&t, v, c, 2);
	hop[v] = was;
	return ok;
}

/* Loads of all channels. */
static void keep_loads(const struct keep *k, uint64_t *load)
{
	const struct osr_fabric *fabric = k->f;

	for (uint32_t d = 0; d < fabric->n_dests; d++) {
		const uint8_t *hop = k->r.lft + (size_t)d * fabric->n_switches;
		uint32_t root = fabric->dest_switch[d];

		for (uint32_t s = 0;
		     fabric->term_weight[fabric->dest_term[d]] && s < fabric->n_switches; s++)
			for (uint32_t v = s;
			     fabric->sw_sources[s] && v != root && hop[v] != OSR_NO_PATH;) {
				uint32_t c = fabric->chan_row[v] + hop[v];

				load[c] += fabric->sw_sources[s];
				v = fabric->chan_dst[c];
			}
	}
}

static enum osr_status keep_drift(struct keep *k, const struct osr__moves *m, uint64_t expected,
				  uint32_t limit, struct osr_diag *why)
{
	uint64_t most = 0;

	for (uint32_t c = 0; c < k->f->n_channels; c++)
		most = most < m->load[c] ? m->load[c] : most;
	k->r.stable.drift = expected ? (uint32_t)(most * 1000 / expected) : 0;
	if (!limit || k->r.stable.drift <= 10 * limit)
		return OSR_OK;
	return osr_fail(why, OSR_NOT_APPLICABLE, OSR_DRIFT_TEXT, most, k->r.stable.drift / 1000,
			k->r.stable.drift % 1000 / 10, expected, limit / 100, limit % 100);
}

static enum osr_status keep_balance(struct keep *k, uint32_t limit, struct osr_diag *why)
{
	const struct osr_fabric *fabric = k->f;
	struct osr_arena *scratch = k->job->scratch;
	struct osr__moves m = { .f = fabric,
				.sources = fabric->sw_sources,
				.lft = k->r.lft,
				.hops = true,
				.load = osr_calloc(scratch, fabric->n_channels, sizeof(*m.load)),
				.sent = k->sent,
				.touched = k->touched,
				.ctx = k,
				.may = keep_may };
	uint64_t expected;
	enum osr_status st = osr_bound_expected(fabric, k->base, scratch, &m.aim, &expected, why);

	if (!m.load)
		return osr_fail(why, OSR_NOMEM, "out of memory for re-routing with lanes by turn");
	if (st)
		return st;
	keep_loads(k, m.load);
	osr__moves_set_goal(&m, m.aim, expected);
	/* With nothing cut these are the tables of before, whatever they carry. */
	if (k->r.stable.n_trees && osr__moves_needed(&m))
		st = osr__moves_run(&m, scratch, why);
	k->r.stable.n_moved += m.n_moved;
	k->r.stable.n_trees += m.n_trees;
	return st ? st : keep_drift(k, &m, expected, limit, why);
}

/* ---- multicast -------------------------------------------------------------------------------- */

static uint32_t keep_top(const uint32_t *parent, const struct osr_fabric *fabric, uint32_t v)
{
	while (parent[v] != OSR_NONE)
		v = fabric->chan_dst[parent[v]];
	return v;
}

/* Turns the way from v up to its root around and hangs v on channel c. `was` keeps what it was. */
static void keep_hang(uint32_t *parent, const struct osr_fabric *fabric, uint32_t v, uint32_t c)
{
	while (c != OSR_NONE) {
		uint32_t up = parent[v];

		parent[v] = c;
		if (up == OSR_NONE)
			return;
		c = fabric->chan_rev[up];
		v = fabric->chan_dst[up];
	}
}

/* Lanes of the spanning order's turns that nothing else takes, and what packets on it do then. */
static void keep_feed_spread(struct keep *k, uint32_t lane)
{
	const struct osr_fabric *fabric = k->f;
	uint32_t *lanes_in =
		k->work; /* [n_channels] on which copies arrive; hosts send on lane 0 */

	memcpy(k->feed_all, k->feed, k->w.g.n_slots * sizeof(*k->feed_all));
	for (uint32_t c = 0; c < fabric->n_channels; c++)
		lanes_in[c] = 1;
	for (int feed = 0; feed <= 1; feed++)
		for (uint32_t a = 0; a < fabric->n_channels; a++)
			for (uint32_t t = k->w.g.row[a];
			     keep_on_tree(k, a) && t < k->w.g.row[a + 1]; t++) {
				uint32_t b = osr_cdg_target(&k->w.g, a, t);

				if (b == fabric->chan_rev[a] || !keep_on_tree(k, b))
					continue;
				if (!k->used[t])
					k->w.lane[t] = (uint8_t)lane;
				if (feed)
					k->feed_all[t] |= (uint16_t)lanes_in[a];
				else
					lanes_in[b] |= 1u << k->w.lane[t];
			}
}

/* Another order for what is there: all lanes that are in use stay. Turns of multicast alone share a lane. */
static bool keep_sort(struct keep *k)
{
	size_t m = k->f->n_channels;

	for (uint32_t lane = k->w.n_lanes; lane--;) {
		keep_feed_spread(k, lane);
		if (!osr__turn_sort(&k->w, k->feed_all, k->w.rank, k->work, k->sorted))
			continue;
		for (uint32_t vl = 0; vl < k->r.n_vls; vl++)
			memcpy(k->w.rank + vl * m, k->sorted + k->same[vl] * m,
			       m * sizeof(*k->sorted));
		turn_keep_keep_lanes(k);
		osr__turn_set_reach(&k->w);
		return true;
	}
	turn_keep_keep_lanes(k);
	return false;
}

/* Joins the part of `top` to that of another switch with hosts; in the order there is, or in another one. */
static bool keep_join(struct keep *k, uint32_t top, uint32_t *was)
{
	const struct osr_fabric *fabric = k->f;
	uint32_t *parent = k->r.mcast_parent, n_sorts = 0;

	memcpy(was, parent, fabric->n_switches * sizeof(*was));
	for (int sort = 0; sort <= 1; sort++)
		for (uint32_t c = 0; c < fabric->n_channels && n_sorts < KEEP_SORTS; c++) {
			uint32_t v = fabric->chan_src[c], u = fabric->chan_dst[c];
			bool hosts = fabric->sw_sources[u] || parent[u] != OSR_NONE;

			if (keep_top(parent, fabric, v) != top ||
			    keep_top(parent, fabric, u) == top || !hosts)
				continue;
			n_sorts += sort;
			keep_hang(parent, fabric, v, c);
			if ((!sort || keep_sort(k)) && keep_spread_fits(k))
				return true;
			memcpy(parent, was, fabric->n_switches * sizeof(*was));
		}
	return false;
}

/* Of the two parts that are apart, the smaller one is the one that moves. */
static uint32_t keep_smaller(const struct keep *k, uint32_t a, uint32_t b)
{
	uint32_t n[2] = { 0, 0 };

	for (uint32_t v = 0; v < k->f->n_switches; v++) {
		uint32_t top = keep_top(k->r.mcast_parent, k->f, v);

		n[0] += top == a;
		n[1] += top == b;
	}
	return n[1] < n[0] ? b : a;
}

/* Roots of two parts with hosts that should be one. */
static bool keep_apart(const struct keep *k, uint32_t *a, uint32_t *b)
{
	const struct osr_fabric *fabric = k->f;
	const uint32_t *parent = k->r.mcast_parent;

	for (uint32_t v = 0, first; v < fabric->n_switches; v++) {
		if (!fabric->sw_sources[v])
			continue;
		for (first = 0; !fabric->sw_sources[first] ||
				fabric->sw_component[first] != fabric->sw_component[v];
		     first++)
			;
		*a = keep_top(parent, fabric, first);
		*b = keep_top(parent, fabric, v);
		if (*a != *b)
			return true;
	}
	return false;
}

static enum osr_status keep_spread(struct keep *k, struct osr_diag *why)
{
	const struct osr_fabric *fabric = k->f;
	uint32_t *was = osr_alloc(k->job->scratch, fabric->n_switches, sizeof(*was));
	uint32_t a, b;

	if (!k->job->request.multicast)
		return OSR_OK;
	if (!was)
		return osr_fail(why, OSR_NOMEM, "out of memory for the spanning order");
	while (keep_apart(k, &a, &b))
		if (!keep_join(k, keep_smaller(k, a, b), was))
			return keep_not(why, "the spanning order of multicast has no path that "
					     "respects the previous VLs by turn");
	return keep_spread_fits(k) ? OSR_OK
				   : keep_not(why, "the spanning order of multicast does not keep "
						   "to the previous VLs by turn");
}

/* ---- all of it -------------------------------------------------------------------------------- */

static bool keep_can(const struct osr_job *job, const struct osr_result *base)
{
	const struct osr_routing *old = &base->routing;

	return osr_turn_is_by_turn(old) && old->n_vls <= job->request.max_vls &&
	       (!job->request.multicast || old->mcast_parent) && old->rank && keep_lanes(old);
}

static void keep_finish(struct keep *k, struct osr_routing *routing)
{
	const struct osr_routing *old = &k->base->routing;

	osr_spf_finish(&k->s);
	*routing = k->r;
	routing->engine = old->engine;
	routing->strategy = old->strategy;
	routing->rank = k->w.rank;
	routing->sl = NULL;
	memcpy(routing->ca_sl2vl, old->ca_sl2vl, sizeof(routing->ca_sl2vl));
	routing->n_layers = old->n_layers;
	routing->n_layers_one_way = old->n_layers_one_way;
	routing->n_rounds = old->n_rounds;
	routing->mcast_vl = 0;
	routing->claims = OSR_CLAIM_DEADLOCK_FREE | OSR_CLAIM_REVERSIBLE | OSR_CLAIM_ANY_SL;
	routing->claims |= k->job->request.multicast ? OSR_CLAIM_MULTICAST : 0;
	routing->claims |= routing->n_longer ? 0 : OSR_CLAIM_MINIMAL;
	if (!k->job->request.multicast)
		routing->mcast_parent = NULL;
	routing->stable.kept = true;
	routing->stable.new_baseline = k->grown;
	routing->stable.n_channels_lost = k->base->fabric.n_channels - k->f->n_channels;
}

/* Nothing has happened since: the same tables again. */
static enum osr_status keep_all(const struct osr_job *job, struct osr_diag *why)
{
	struct osr_arena_mark mark = osr_arena_mark(job->scratch);
	const struct osr_result *last = job->previous;
	struct osr_routing *routing = job->routing, same = last->routing;
	struct osr_fabric_map map;
	enum osr_status st =
		osr_fabric_map_init(&map, &last->fabric, job->fabric, job->scratch, why);

	if (!st)
		st = osr_carry_routing(&map, &last->routing, job->arena, routing, why);
	if (!st)
		st = osr_carry_rank(&map, &last->routing, job->arena, routing, why);
	same.lft = routing->lft;
	same.sl2vl = routing->sl2vl;
	same.sl2vl_row = routing->sl2vl_row;
	same.rank = routing->rank;
	same.mcast_parent = routing->mcast_parent;
	same.note = NULL;
	same.withdrawn = NULL;
	same.stable = (struct osr_stable){ .kept = true,
					   .n_channels_lost = last->routing.stable.n_channels_lost,
					   .drift = last->routing.stable.drift };
	*routing = same;
	osr_arena_reset(job->scratch, mark);
	return st;
}

bool osr_turn_is_by_turn(const struct osr_routing *routing)
{
	return routing->sl2vl && !routing->sl && (routing->claims & OSR_CLAIM_ANY_SL);
}

enum osr_status osr_turn_reroute(const struct osr_job *job, uint32_t drift, struct osr_diag *why)
{
	struct osr_arena_mark mark = osr_arena_mark(job->scratch);
	const struct osr_result *previous = job->previous;
	struct keep k = { .job = job,
			  .f = job->fabric,
			  .base = previous->baseline ? previous->baseline : previous };
	enum osr_status st;

	if (!keep_can(job, k.base))
		return keep_not(why, "the previous VLs by turn do not fit the lanes or the "
				     "present multicast");
	if (previous->baseline && osr_fabric_alike(job->fabric, &previous->fabric) &&
	    job->request.multicast == (previous->routing.mcast_parent != NULL))
		return keep_all(job, why);
	st = keep_begin(&k, why);
	if (!st)
		keep_mark_used(&k);
	if (!st)
		st = keep_last(&k, why);
	if (!st) {
		keep_mark_order(&k);
		st = keep_spread(&k, why);
	}
	if (!st)
		st = turn_keep_keep_trees(&k, why);
	if (!st)
		st = keep_balance(&k, drift, why);
	if (!st)
		keep_finish(&k, job->routing);
	osr_arena_reset(job->scratch, mark);
	return st;
}

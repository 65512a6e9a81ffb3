/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Incremental re-routing with lanes by turn: the lanes of all turns that some route has stay. The order of
 * nodes gives way where new turns close no cycle with those that are and were there (turn_keep_order.c). A
 * switch whose route was cut attaches to a tree again where its turns rise then; turns that no route has
 * get the lane that serves. What then holds is what held before: any SL, replies, multicast. From the outside in:
 *	osr_turn_reroute()	like the last sweep where that fits, or else without it
 *	  keep_begin()		the baseline's tables and order, in the numbering of today
 *	  osr__keep_last()	lanes and multicast of the last sweep, where the baseline does not care
 *	  turn_keep_mcast.c	the spanning order of multicast, if a cable of it is gone
 *	  osr__keep_order_begin()	what routes and multicast depend on
 *	  turn_keep_tree.c	a destination with cut routes: they attach, or all grows again
 *	  turn_keep_balance.c	LIDs move off channels that carry more than they must
 */
#include <string.h>

#include "core/data/carry.h"
#include "core/paths/moves.h"
#include "core/verify/union.h"

#include "turn_keep_private.h"

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

/* VLs of the turn from channel c to the channel o of the switch between them. */
static uint8_t *keep_vls(const struct keep *k, uint32_t c, uint32_t o)
{
	const struct osr_fabric *fabric = k->f;
	uint32_t s = fabric->chan_dst[c], in = fabric->chan_port[fabric->chan_rev[c]];

	return k->r.sl2vl[k->r.sl2vl_row[s] + in * (fabric->sw_n_ports[s] + 1u) +
			  fabric->chan_port[o]];
}

void osr__keep_read_lanes(struct keep *k)
{
	for (uint32_t c = 0; c < k->f->n_channels; c++)
		for (uint32_t t = k->w.g.row[c]; t < k->w.g.row[c + 1]; t++)
			k->w.lane[t] = keep_vls(k, c, osr_cdg_target(&k->w.g, c, t))[0];
}

void osr__keep_write_lanes(struct keep *k)
{
	for (uint32_t c = 0; c < k->f->n_channels; c++)
		for (uint32_t t = k->w.g.row[c]; t < k->w.g.row[c + 1]; t++) {
			uint8_t *vls = keep_vls(k, c, osr_cdg_target(&k->w.g, c, t));
			bool other = vls[0] != k->w.lane[t];

			for (uint32_t sl = 0; other && sl < 16; sl++)
				vls[sl] = (uint8_t)(k->base->routing.ca_sl2vl[sl] + k->w.lane[t]);
		}
}

/* Lanes on which end ports send, by the tables. */
static void keep_read_inject(struct keep *k)
{
	const struct osr_fabric *fabric = k->f;

	for (uint32_t c = 0; c < fabric->n_channels; c++) {
		uint32_t s = fabric->chan_src[c];
		const osr_sl2vl_t *vls = k->r.sl2vl + k->r.sl2vl_row[s] + fabric->chan_port[c];

		k->w.inject[c] = (uint16_t)(1u << (*vls)[0]);
		for (uint32_t t = fabric->term_row[s]; t < fabric->term_row[s + 1]; t++)
			k->w.inject[c] |= (uint16_t)(1u << vls[fabric->term_port[t] *
							       (fabric->sw_n_ports[s] + 1u)][0]);
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
	w->inject = osr_alloc(scratch, m, sizeof(*w->inject));
	w->freedom = osr_alloc(scratch, w->g.n_slots, 1);
	w->first_freedom = osr_alloc(scratch, m, 1);
	w->t.mask = osr_alloc(scratch, n, 1);
	k->used = osr_calloc(scratch, w->g.n_slots, 1);
	k->feed = osr_calloc(scratch, w->g.n_slots, sizeof(*k->feed));
	k->never = osr_calloc(scratch, w->g.n_slots, sizeof(*k->never));
	k->feed_all = osr_alloc(scratch, w->g.n_slots, sizeof(*k->feed_all));
	k->sorted = osr_alloc(scratch, k->r.n_vls * m, sizeof(*k->sorted));
	k->work = osr_alloc(scratch, 2 * k->r.n_vls * m, sizeof(*k->work));
	k->highest = osr_alloc(scratch, m, sizeof(*k->highest));
	k->refused = osr_calloc(scratch, m, sizeof(*k->refused));
	k->before = osr_alloc(scratch, n, 1);
	k->whole = osr_alloc(scratch, n, 1);
	k->touched = osr_calloc(scratch, fabric->n_dests, 1);
	k->sent = osr_calloc(scratch, n * osr__moves_blocks(fabric), 1);
	if (!w->rank || !w->lane || !w->at || !w->inject || !w->freedom || !w->first_freedom ||
	    !w->t.mask || !k->feed || !k->never || !k->feed_all || !k->sorted || !k->work ||
	    !k->used || !k->highest || !k->refused || !k->before || !k->whole || !k->touched ||
	    !k->sent || !osr__legal_alloc(&w->t, scratch))
		return osr_fail(why, OSR_NOMEM, "out of memory for re-routing with lanes by turn");
	return OSR_OK;
}

/* Lanes of each class of SLs: what hosts send is on the first one. 0: the classes are not alike. */
uint32_t osr__keep_lanes(const struct osr_routing *old)
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
	k->w.n_lanes = osr__keep_lanes(old);
	k->everywhere = k->w.t.escape;
	k->w.t.escape = k->r.mcast_parent;
	/* What rides along today may have had a tree of its own, and keeps it. */
	for (uint32_t d = 0; d < k->f->n_dests; d++)
		k->s.alias[d] = OSR_NONE;
	if (!keep_ranks(&map, old, k->w.rank))
		return osr__keep_not(why,
				     "the fabric has switches, cables or hosts on ports where the "
				     "previous VLs by turn know none");
	for (uint32_t d = 0; d < k->f->n_dests; d++)
		k->grown |= !osr_fabric_map_dest_stays(&map, d);
	osr__keep_read_lanes(k);
	keep_read_inject(k);
	keep_hops(k);
	osr__turn_set_reach(&k->w);
	return OSR_OK;
}

/* ---- all of it -------------------------------------------------------------------------------- */

static bool keep_can(const struct osr_job *job, const struct osr_result *base)
{
	const struct osr_routing *old = &base->routing;

	return osr_turn_is_by_turn(old) && old->n_vls <= job->request.max_vls &&
	       (!job->request.multicast || old->mcast_parent) && old->rank && osr__keep_lanes(old);
}

static void keep_finish(struct keep *k, struct osr_routing *routing)
{
	const struct osr_routing *old = &k->base->routing;
	size_t m = k->f->n_channels;

	osr_spf_finish(&k->s);
	for (uint32_t vl = k->w.n_lanes; vl < k->r.n_vls; vl++)
		memcpy(k->w.rank + vl * m, k->w.rank + vl % k->w.n_lanes * m,
		       m * sizeof(*k->w.rank));
	osr__keep_write_lanes(k);
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
	const struct osr_result *last = job->previous,
				*base = last->baseline ? last->baseline : last;
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
	same.stable =
		(struct osr_stable){ .kept = true,
				     .together = true,
				     .n_channels_lost =
					     base->fabric.n_channels - job->fabric->n_channels,
				     .drift = last->baseline ? last->routing.stable.drift : 1000 };
	*routing = same;
	osr_arena_reset(job->scratch, mark);
	return st;
}

bool osr_turn_is_by_turn(const struct osr_routing *routing)
{
	return routing->sl2vl && !routing->sl && (routing->claims & OSR_CLAIM_ANY_SL);
}

static enum osr_status keep_reroute(struct keep *k, uint32_t drift, bool as_last,
				    struct osr_diag *why)
{
	enum osr_status st = keep_begin(k, why);

	if (!st)
		osr__keep_mark_used(k);
	if (!st && as_last)
		st = osr__keep_last(k, why);
	if (!st) {
		osr__keep_mark_order(k);
		st = osr__keep_spread(k, why);
	}
	if (!st)
		st = osr__keep_order_begin(k, why);
	if (!st)
		st = osr__keep_trees(k, why);
	if (!st)
		st = osr__keep_balance(k, drift, why);
	if (!st)
		keep_finish(k, k->job->routing);
	return st;
}

enum osr_status osr_turn_reroute(const struct osr_job *job, uint32_t drift, struct osr_diag *why)
{
	const struct osr_result *previous = job->previous,
				*base = previous->baseline ? previous->baseline : previous;
	enum osr_status st = OSR_NOT_APPLICABLE;

	if (!keep_can(job, base))
		return osr__keep_not(why, "the previous VLs by turn do not fit the lanes or the "
					  "present multicast");
	if (osr_fabric_alike(job->fabric, &previous->fabric) &&
	    job->request.multicast == (previous->routing.mcast_parent != NULL))
		return keep_all(job, why);
	/* What multicast had in the last sweep may not fit what the baseline's routes need. */
	for (int as_last = base != previous; st == OSR_NOT_APPLICABLE && as_last >= 0; as_last--) {
		struct osr_arena_mark scratch = osr_arena_mark(job->scratch);
		struct osr_arena_mark arena = osr_arena_mark(job->arena);
		struct keep k = { .job = job, .f = job->fabric, .base = base };

		st = keep_reroute(&k, drift, as_last, why);
		osr_arena_reset(job->scratch, scratch);
		if (st)
			osr_arena_reset(job->arena, arena);
	}
	return st;
}

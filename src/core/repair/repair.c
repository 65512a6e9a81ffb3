/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Incremental re-routing: tables for the current fabric, made from the previous tables with few
 * changes.
 *
 * Model. A routing gives every (switch, LID) an output channel, and every packet its lanes. By SL a
 * packet keeps the lane of its (source switch, LID). By turn each pair of channels has the lane on
 * which packets go on. By SL and output port each channel has a lane for each SL. A packet that
 * holds channel a on lane k and asks for channel b next makes the node of b depend on (k, a). The
 * routing is free of deadlock if the graph of these dependencies has no cycle (Dally, Seitz 1987).
 * An order of the nodes in which every dependency rises is the certificate (order.h). The baseline
 * comes with one.
 *
 * Dynamic reconfiguration. Switches change one by one, and packets of the previous tables are still
 * on their way. It is enough that the union of old and new dependencies, together with those of
 * packets that have met both tables, has no cycle (Duato, Lysne, Pang, Pinkston 2005; Lysne,
 * Pinkston, Duato 2005). A repair therefore removes nothing from the order. It starts with the
 * dependencies of the baseline's tables, and adds every new path turn by turn, only if the turn
 * closes no cycle. Dead channels keep their dependencies, because their routes come back when the
 * channels do. The price is freedom: a path that would be safe without the old dependencies may be
 * refused.
 *
 * Why a repair is right. Routes of the baseline that are whole rise in its certificate. Every other
 * route is entered in the order as a whole, from its first channel to the LID, when its switch
 * attaches to a switch whose route exists and stays. Why a repair ends. A tree is settled by a
 * breadth-first search, each call of escape() fixes one more switch for good, and each attempt is
 * one of MAX_TRIES.
 *
 * Paths. In the tree of a LID the switches whose path is dead attach to the switches whose path is
 * whole, so every path is as short as the lanes allow. cut.c says where a switch goes that finds no
 * path. If that fails too, the attempt is repeated with this tree first, and at last without the
 * routes of the last sweep.
 */
#include "repair_private.h"

#include <osmroutes/each.h>

#include <string.h>

#define MAX_TRIES 4
#define MAX_ATTEMPTS 50000 /* attempts to keep earlier SLs on new tables: some tenths of a second */

static const struct osr_result *baseline_of(const struct osr_result *previous)
{
	return previous->baseline ? previous->baseline : previous;
}

bool osr_repair_is_by_turn(const struct osr_routing *routing)
{
	return routing->sl2vl && !routing->sl && (routing->claims & OSR_CLAIM_ANY_SL);
}

#define SPARE_LANES 4

/*
 * Lanes that every cable has, for tables by turn or on one lane; the lanes of the tables themselves
 * if each SL has its own lanes.
 */
static uint32_t spare_lanes(const struct osr_fabric *fabric, const struct osr_routing *base,
			    uint32_t max_vls)
{
	uint32_t n = max_vls < SPARE_LANES ? max_vls : SPARE_LANES,
		 had = base->sl2vl ? osr_repair_lanes(base) : 1;

	OSR_EVERY_CHANNEL(c, fabric)
		n = fabric->chan_vls[c] < n ? fabric->chan_vls[c] : n;
	return had < base->n_vls || n < had ? had : n;
}

/* With lanes to spare tables on one lane get lanes by turn. */
static enum repair_scheme scheme_of(const struct osr_routing *base, bool spare)
{
	if (!(base->claims & OSR_CLAIM_DEADLOCK_FREE) || !base->rank)
		return SCHEME_NONE;
	if (osr_repair_is_by_turn(base) || (spare && !base->sl))
		return SCHEME_BY_TURN;
	if (base->sl2vl)
		return SCHEME_BY_PORT;
	return base->sl && !(base->claims & OSR_CLAIM_ANY_SL) ? SCHEME_BY_SL : SCHEME_ONE_LANE;
}

/* The scheme, and how many lanes the order of these tables has. */
static void take_lanes(struct repair *repair, const struct osr_routing *base, uint8_t max_vls)
{
	const struct osr_fabric *fabric = &repair->base->fabric;

	repair->scheme = scheme_of(base, repair->spare);
	switch (repair->scheme) {
	case SCHEME_NONE:
		return;
	case SCHEME_ONE_LANE:
		repair->n_lanes = 1;
		break;
	case SCHEME_BY_SL:
		repair->n_lanes = max_vls;
		break;
	case SCHEME_BY_PORT:
		repair->n_lanes = 16;
		break;
	case SCHEME_BY_TURN:
		repair->n_lanes = repair->spare ? spare_lanes(repair->fabric, base, max_vls)
						: osr_repair_lanes(base);
		break;
	}
	repair->n_vls = repair->scheme == SCHEME_BY_PORT ? base->n_vls : repair->n_lanes;
	/*
	 * By port: lanes for the first SLs, whether pairs use them or not; others have no such
	 * lane.
	 */
	if (repair->scheme == SCHEME_BY_PORT)
		OSR_EVERY_CHANNEL(c, fabric) {
			const uint8_t *vls = osr_repair_port_vls(fabric, &repair->base->routing, c);

			for (uint32_t sl = 0; sl < repair->n_lanes; sl++)
				if (vls[sl] >= max_vls)
					repair->n_lanes = sl;
				else if (vls[sl] >= repair->n_vls)
					repair->n_vls = vls[sl] + 1u;
		}
}

static enum osr_status repairable(const struct osr_job *job, struct osr_diag *diag)
{
	const struct osr_routing *routing = &job->previous->routing,
				 *base = &baseline_of(job->previous)->routing;
	const struct osr_request *req = &job->request;
	bool by_turn = osr_repair_is_by_turn(base),
	     shared = !routing->sl || (routing->claims & OSR_CLAIM_ANY_SL);

	if (!routing->lft)
		return osr_fail(diag, OSR_NOT_APPLICABLE, "there are no earlier tables");
	if (!by_turn && base->sl2vl &&
	    !osr_repair_is_by_port(&baseline_of(job->previous)->fabric, base))
		return osr_fail(diag, OSR_NOT_APPLICABLE,
				"the earlier tables map SLs to VLs by port pair");
	if (by_turn &&
	    ((req->multicast && !base->mcast_parent) || !base->rank || !osr_repair_lanes(base)))
		return osr_fail(
			diag, OSR_NOT_APPLICABLE,
			"the previous VLs by turn do not fit the lanes or the present multicast");
	if (base->n_vls > req->max_vls || routing->n_vls > req->max_vls)
		return osr_fail(diag, OSR_NOT_APPLICABLE,
				"the earlier tables use %u virtual lanes, and %u are left",
				routing->n_vls, req->max_vls);
	if (!shared && (routing->claims & OSR_CLAIM_MULTICAST) && req->multicast &&
	    routing->mcast_vl != req->mcast_vl)
		return osr_fail(diag, OSR_NOT_APPLICABLE,
				"multicast has moved from virtual lane %u to %u", routing->mcast_vl,
				req->mcast_vl);
	return OSR_OK;
}

/*
 * The same tables again, which are a repair, where nothing has changed. OSR_NOT_APPLICABLE:
 * something has.
 */
static enum osr_status repair_again(const struct osr_job *job, struct osr_diag *why)
{
	struct osr_arena_mark mark = osr_arena_mark(job->scratch);
	const struct osr_result *last = job->previous, *base = last->baseline;
	const struct osr_request *req = &job->request;
	struct osr_routing *routing = job->routing;
	size_t n = job->fabric->n_switches;
	struct osr_earlier same, then;
	enum osr_status st;

	if (!base || (last->routing.mcast_parent != NULL) != req->multicast ||
	    (req->multicast && last->routing.mcast_vl != req->mcast_vl && last->routing.sl) ||
	    !osr_fabric_alike(job->fabric, &last->fabric))
		return OSR_NOT_APPLICABLE;
	st = osr_carry(&last->fabric, &last->routing, job->fabric, job->scratch, job->arena, &same,
		       why);
	if (!st)
		st = osr_carry(&base->fabric, &base->routing, job->fabric, job->scratch,
			       job->scratch, &then, why);
	if (st)
		return st;
	*routing = same.routing;
	routing->lane_deps = NULL;
	routing->stable = (struct osr_stable){
		.kept = true,
		.together = (routing->claims & OSR_CLAIM_DEADLOCK_FREE) && routing->rank,
		.n_channels_lost = base->fabric.n_channels - job->fabric->n_channels,
		.drift = last->routing.stable.drift
	};
	for (uint32_t d = 0; d < job->fabric->n_dests; d++)
		routing->stable.n_trees +=
			memcmp(routing->lft + d * n, then.routing.lft + d * n, n) != 0;
	osr_arena_reset(job->scratch, mark);
	return OSR_OK;
}

/* ---- the result ------------------------------------------------------------------------------ */

/* Where there is room, into the certificate that there was. */
static enum osr_status hand_over_ranks(const struct repair *repair, struct osr_routing *routing,
				       struct osr_diag *diag)
{
	size_t m = repair->fabric->n_channels;

	if (!repair->scheme)
		routing->rank = NULL;
	else if (routing->n_vls > repair->base->routing.n_vls)
		routing->rank =
			osr_alloc(repair->job->arena, routing->n_vls * m, sizeof(*routing->rank));
	if (repair->scheme && !routing->rank)
		return osr_repair_nomem(diag);
	if (repair->scheme)
		for (uint32_t k = 0; k < routing->n_vls; k++)
			memcpy(routing->rank + k * m, repair->order.rank + k % repair->n_vls * m,
			       m * sizeof(*routing->rank));
	return OSR_OK;
}

/*
 * SLs of pairs that had another one in the last sweep; lanes of the base, and spare ones that pairs
 * have moved to.
 */
static void hand_over_sls(struct repair *repair)
{
	const struct osr_routing *last = &repair->lately.routing;
	struct osr_routing *routing = &repair->routing;
	size_t n = repair->fabric->n_switches, size = repair->fabric->n_dests * n;
	uint16_t used = 0;

	if (routing->sl)
		for (size_t at = 0; at < size; at++) {
			uint32_t d = (uint32_t)(at / n), v = (uint32_t)(at % n);

			/* Pairs that send nothing have no SL of their own. */
			routing->sl[at] = routing->sl[at] == OSR_SL_OPEN ? 0 : routing->sl[at];
			used |= (uint16_t)(1u << (routing->sl[at] & 15)) |
				(repair->grants ? repair->grants[at] : 0);
			routing->stable.n_sl_changed += last->sl &&
							v != repair->fabric->dest_switch[d] &&
							routing->lft[at] != OSR_NO_PATH &&
							last->sl[at] != routing->sl[at] &&
							osr_carry_had_path(&repair->lately, d, v);
		}
	used &= (uint16_t)((1u << repair->n_lanes) - 1);
	if (osr_repair_has_sls(repair))
		for (; used; used &= (uint16_t)(used - 1)) {
			uint32_t sl = (uint32_t)__builtin_ctz(used);

			for (uint32_t c = 0;
			     c <
			     (repair->scheme == SCHEME_BY_PORT ? repair->fabric->n_channels : 1);
			     c++)
				if (osr_order_lane(&repair->order, sl, c) >= routing->n_vls)
					routing->n_vls =
						(uint8_t)(osr_order_lane(&repair->order, sl, c) +
							  1);
		}
	/* By port no earlier SL is kept. */
	routing->stable.n_sl_lost = repair->scheme == SCHEME_BY_PORT ? routing->stable.n_sl_changed
								     : routing->stable.n_sl_lost;
}

static enum osr_status hand_over(struct repair *repair, struct osr_diag *diag)
{
	struct osr_stable *stable = &repair->routing.stable;

	hand_over_sls(repair);
	if (repair->spare && repair->scheme == SCHEME_BY_TURN)
		for (uint32_t turn = 0; turn < osr_n_turns(repair->fabric); turn++)
			if (repair->order.used[turn] &&
			    repair->order.lane[turn] >= repair->routing.n_vls)
				repair->routing.n_vls = repair->order.lane[turn] + 1;
	if (repair->scheme == SCHEME_BY_TURN)
		osr_repair_write_lanes(repair);
	/* A whole route stays minimal when channels die. */
	if (repair->longer)
		repair->routing.claims &= ~(uint32_t)OSR_CLAIM_MINIMAL;
	repair->routing.granted = repair->grants;
	repair->routing.lane_deps = NULL;
	osr_tables_to_ports(repair->fabric, repair->routing.lft);
	stable->kept = true;
	stable->new_baseline = repair->grown;
	*repair->job->routing = repair->routing;
	return hand_over_ranks(repair, repair->job->routing, diag);
}

/* ---- a repair -------------------------------------------------------------------------------- */

/*
 * The tables of the last sweep and of the baseline, their order, the spanning tree, and the other
 * entries that switches still hold.
 */
static enum osr_status repair_begin(struct repair *repair, struct osr_diag *why)
{
	const struct osr_job *job = repair->job;
	const struct osr_result *last = repair->last;
	const struct osr_request *req = &job->request;
	enum osr_status st;

	take_lanes(repair, &repair->base->routing,
		   req->max_vls < OSR_MAX_VLS ? req->max_vls : OSR_MAX_VLS);
	st = osr_repair_carry(repair, &last->fabric, &last->routing, job->scratch, &repair->lately,
			      why);
	if (!st)
		st = osr_repair_alloc(repair, why);
	if (!st)
		st = osr_repair_tables(repair, job->arena, why);
	if (!st && repair->scheme)
		st = osr_repair_order(repair, why);
	if (!st)
		st = osr_repair_mcast(repair, why);
	if (st)
		return st;
	osr_repair_add_last(repair);
	osr_repair_loads(repair);
	return OSR_OK;
}

/* LID by LID; the LIDs that found no path in an earlier attempt come first. */
static enum osr_status repair_trees(struct repair *repair, struct osr_diag *why)
{
	enum osr_status st = OSR_OK;

	for (unsigned first = 0; first < 2; first++)
		OSR_EACH_DEST(d, repair->fabric) {
			bool is_first = repair->front[d];

			if (is_first == (first == 0))
				st = osr_repair_cut(repair, d, why);
			if (st)
				return st;
		}
	return OSR_OK;
}

/* job->routing, or nothing is left of the attempt, but for repair->again and repair->front. */
static enum osr_status repair_attempt(struct repair *repair, struct osr_diag *why)
{
	const struct osr_job *job = repair->job;
	struct osr_arena_mark scratch = osr_arena_mark(job->scratch),
			      arena = osr_arena_mark(job->arena);
	enum osr_status st = repair_begin(repair, why);

	if (!st)
		st = repair_trees(repair, why);
	if (!st)
		st = osr_repair_balance(repair, why);
	if (!st)
		st = hand_over(repair, why);
	osr_arena_reset(job->scratch, scratch);
	if (st)
		osr_arena_reset(job->arena, arena);
	return st;
}

/* Could tables on one lane, or lanes by turn, use more lanes by turn than they do? */
static bool has_spare_turns(const struct osr_job *job, const struct osr_routing *base)
{
	const struct osr_request *req = &job->request;

	return (osr_repair_is_by_turn(base) || (!base->sl && !base->sl2vl)) && base->rank &&
	       (base->mcast_parent || !req->multicast) &&
	       spare_lanes(job->fabric, base, req->max_vls) > base->n_vls;
}

enum osr_status osr_repair(const struct osr_job *job, bool spare, struct osr_diag *why)
{
	struct osr_arena_mark scratch = osr_arena_mark(job->scratch);
	const struct osr_result *last = job->previous, *base = baseline_of(last);
	const struct osr_routing *routing = &base->routing;
	bool like_last = base != last, by_sl, by_turn, in_use;
	enum osr_status st = repairable(job, why);
	uint8_t *front;

	if (st)
		return st;
	by_sl = routing->sl && !(routing->claims & OSR_CLAIM_ANY_SL);
	by_turn = has_spare_turns(job, routing);
	/*
	 * Lanes that came into use stay, so that SL2VL tables do not change when something returns.
	 */
	in_use = by_turn && osr_repair_is_by_turn(&last->routing) &&
		 (!routing->sl2vl || last->routing.n_vls > routing->n_vls);
	if (spare && (in_use || !routing->rank || !(by_sl || by_turn)))
		return osr_fail(why, OSR_NOT_APPLICABLE, "there is no lane to spare");
	st = spare ? OSR_NOT_APPLICABLE : repair_again(job, why);
	if (st != OSR_NOT_APPLICABLE)
		return st;
	front = osr_calloc(job->scratch, job->fabric->n_dests, 1);
	if (!front)
		return osr_repair_nomem(why);
	/*
	 * A tree that finds no way because others were first is the first in the next attempt; the
	 * last one forgets the last sweep.
	 */
	for (unsigned tries = 1; tries <= MAX_TRIES; tries++) {
		struct repair repair = { .job = job,
					 .fabric = job->fabric,
					 .base = base,
					 .last = last,
					 .like_last = like_last,
					 .spare = spare || in_use,
					 .tries = tries,
					 .front = front,
					 .attempts = UINT64_MAX };

		st = repair_attempt(&repair, why);
		if (st != OSR_NOT_APPLICABLE || !(repair.again || like_last))
			break;
		like_last &= repair.again && tries + 1 < MAX_TRIES;
	}
	osr_arena_reset(job->scratch, scratch);
	return st;
}

/* ---- when there is time ---------------------------------------------------------------------- */

enum osr_status osr_repair_prepare(const struct osr_result *x, struct osr_arena *scratch,
				   struct osr_arena *result, struct osr_routing *routing,
				   struct osr_diag *diag)
{
	struct osr_arena_mark mark = osr_arena_mark(scratch);
	const struct osr_job job = { .scratch = scratch };
	struct repair repair = { .job = &job, .fabric = &x->fabric, .base = x, .last = x };
	enum osr_status st;

	take_lanes(&repair, routing, routing->n_vls);
	if (x->baseline || routing->lane_deps || !repair.n_lanes ||
	    (repair.scheme == SCHEME_BY_PORT && !osr_repair_is_by_port(&x->fabric, routing)))
		return OSR_OK;
	repair.grants = (uint16_t *)routing->granted;
	st = osr_repair_take(&repair, routing, diag);
	if (!st)
		st = osr_repair_alloc(&repair, diag);
	if (!st)
		st = osr_repair_deps(&repair, result, diag);
	routing->lane_deps = repair.routing.lane_deps;
	if (scratch != result)
		osr_arena_reset(scratch, mark);
	return st;
}

/* ---- after a full route ---------------------------------------------------------------------- */

enum osr_status osr_repair_anew(const struct osr_job *job, const struct osr_diag *why)
{
	struct osr_routing *routing = job->routing;
	const struct osr_routing *before = &job->previous->routing;
	const struct osr_result now = { .fabric = *job->fabric, .routing = *routing };
	struct osr_arena_mark mark = osr_arena_mark(job->scratch);
	struct repair repair = {
		.job = job, .fabric = job->fabric, .base = &now, .last = job->previous
	};
	enum osr_status st = OSR_OK;

	take_lanes(&repair, routing, routing->n_vls);
	/* Earlier SLs stay if they are free of deadlock on the new tables. */
	if (repair.scheme == SCHEME_BY_SL && before->lft && !before->sl2vl) {
		repair.attempts = MAX_ATTEMPTS;
		st = osr_repair_take(&repair, routing, job->diag);
		repair.routing.stable = (struct osr_stable){ .kept = false };
		if (!st &&
		    !(st = osr_repair_carry(&repair, &repair.last->fabric, before, job->scratch,
					    &repair.lately, job->diag)) &&
		    !(st = osr_repair_alloc(&repair, job->diag)) &&
		    !(st = osr_repair_deps(&repair, job->scratch, job->diag)) &&
		    !(st = osr_repair_order(&repair, job->diag)) && routing->mcast_parent &&
		    (routing->claims & OSR_CLAIM_MULTICAST) &&
		    osr_repair_add_tree(&repair, routing->mcast_parent, routing->mcast_vl) ==
			    OSR_NOMEM)
			st = osr_repair_nomem(job->diag);
		if (!st)
			memset(repair.tree.mark, 0,
			       repair.fabric->n_switches); /* no route is cut */
		for (uint32_t d = 0; !st && d < repair.fabric->n_dests; d++)
			osr_repair_keep_grants(&repair, d);
		if (!st && repair.no_memory)
			st = osr_repair_nomem(job->diag);
		/* The order has moved to make room for them. */
		if (!st) {
			hand_over_sls(&repair);
			routing->granted = repair.grants;
			st = hand_over_ranks(&repair, routing, job->diag);
		}
	} else if ((routing->sl2vl || before->sl2vl) && before->sl &&
		   !((routing->claims | before->claims) & OSR_CLAIM_ANY_SL)) {
		/*
		 * Where SL2VL tables of an engine's own come or go, no SL is proven: all pairs that
		 * send.
		 */
		for (uint32_t s = 0; s < repair.fabric->n_switches; s++)
			repair.routing.stable.n_sl_lost +=
				repair.fabric->sw_sources[s] ? repair.fabric->n_dests : 0;
	}
	osr_arena_reset(job->scratch, mark);
	routing->stable = (struct osr_stable){ .n_sl_changed = repair.routing.stable.n_sl_changed,
					       .n_sl_lost = repair.routing.stable.n_sl_lost };
	memcpy(routing->stable.why, why->text, sizeof(routing->stable.why) - 1);
	return st;
}

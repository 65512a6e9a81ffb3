/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Lanes by SL. Applications cache path records, so a pair of a switch and a LID keeps its SL, and
 * every SL that it was given since the baseline (`granted`) stays safe on its route. Where replies
 * count (OSR_CLAIM_REVERSIBLE), packets that go back from the LID's switch are on the same SLs.
 * Only a pair that finds no route at all on its SLs gets another one. Lost SLs are counted.
 */
#include "repair_private.h"

#include <osmroutes/each.h>

#include <string.h>

static uint16_t sl_bit(uint8_t sl)
{
	return sl == OSR_SL_OPEN ? 0 : (uint16_t)(1u << (sl & 15));
}

static bool has_replies(const struct repair *repair)
{
	return repair->routing.claims & OSR_CLAIM_REVERSIBLE;
}

/* The SL of a pair, and its earlier SLs. */
static uint16_t sls_of(const struct repair *repair, size_t at)
{
	return sl_bit(repair->routing.sl[at]) | (repair->grants ? repair->grants[at] : 0);
}

uint16_t osr_repair_need(const struct repair *repair, uint32_t d, uint32_t v)
{
	const struct osr_fabric *fabric = repair->fabric;
	size_t n = fabric->n_switches;
	uint32_t root = fabric->dest_switch[d];
	uint16_t lanes;

	if (!osr_repair_is_used(fabric, d, v))
		return 0;
	if (repair->scheme == SCHEME_ONE_LANE)
		return 1;
	lanes = sls_of(repair, d * n + v);
	/* v also answers requests from d's switch, on the SLs of those requests. */
	if (has_replies(repair) && fabric->term_weight[fabric->dest_term[d]] &&
	    fabric->sw_sources[root])
		for (uint32_t i = repair->dest_row[v]; i < repair->dest_row[v + 1]; i++)
			lanes |= sls_of(repair, repair->dest_list[i] * n + root);
	return lanes & (uint16_t)((1u << repair->n_lanes) - 1);
}

/*
 * Lane k on all routes there are from switch a to LIDs of switch b, but for d; `hosts`: only to
 * LIDs of hosts.
 */
static bool add_routes(struct repair *repair, uint32_t a, uint32_t b, uint32_t d, bool hosts,
		       unsigned k)
{
	if (a != b)
		for (uint32_t i = repair->dest_row[b]; i < repair->dest_row[b + 1]; i++) {
			uint32_t e = repair->dest_list[i],
				 c = osr_repair_next(repair, osr_repair_row(repair, e), a);

			if (e != d && c != OSR_NONE &&
			    (!hosts || repair->fabric->term_weight[repair->fabric->dest_term[e]]) &&
			    osr_repair_is_used(repair->fabric, e, a) &&
			    !osr_repair_route(repair, e, osr_repair_row(repair, e), c,
					      (uint16_t)(1u << k)))
				return false;
		}
	return true;
}

/*
 * Replies of the hosts of d's switch to those of v, on lane k. Routes that are cut will need the
 * lane when they are made.
 */
static bool add_replies(struct repair *repair, uint32_t d, uint32_t v, unsigned k)
{
	return !has_replies(repair) || !repair->fabric->sw_sources[v] ||
	       add_routes(repair, repair->fabric->dest_switch[d], v, OSR_NONE, true, k);
}

/* ---- a pair gets an SL ----------------------------------------------------------------------- */

/* From here on the pair is on this SL alone; its earlier SLs are not proven any more. */
static void give(struct repair *repair, uint32_t d, uint32_t v, uint8_t sl)
{
	size_t at = (size_t)d * repair->fabric->n_switches + v;

	repair->routing.stable.n_sl_lost += sls_of(repair, at) != 0;
	repair->routing.sl[at] = sl;
	if (repair->grants)
		repair->grants[at] = 0;
}

/*
 * By SL, a pair that has none, or that finds no path on its own (other_sl), gets an SL on which the
 * route can be. In place of another one v answers the root on it alone from now on, for the old one
 * does not lead to d any more; to other LIDs of the root it does, so these keep theirs.
 */
bool osr_repair_commit(struct repair *repair, uint32_t d, const uint8_t *row, uint32_t v,
		       uint32_t c)
{
	uint32_t root = repair->fabric->dest_switch[d];
	size_t at = (size_t)d * repair->fabric->n_switches + v;
	bool by_sl = osr_repair_has_sls(repair) && osr_repair_is_used(repair->fabric, d, v),
	     other = by_sl && repair->routing.sl[at] != OSR_SL_OPEN,
	     answers = other && has_replies(repair);
	uint16_t must = by_sl && !other ? osr_repair_need(repair, d, v) : 0;
	uint32_t first = (v + root) % repair->base->routing.n_vls;

	if (other)
		first = 0;
	else if (must)
		first = (uint32_t)__builtin_ctz(must);
	if (!repair->scheme)
		return true;
	osr_order_begin(&repair->order);
	if (!by_sl || (other && !repair->other_sl))
		return osr_repair_route(repair, d, row, c, osr_repair_start(repair, d, v, c));
	for (uint32_t i = 0; i < repair->n_lanes; i++) {
		uint32_t k = (first + i) % repair->n_lanes;

		osr_order_begin(&repair->order);
		if (!osr_repair_route(repair, d, row, c, must | (uint16_t)(1u << k)) ||
		    (answers && !(add_routes(repair, v, root, d, false, k) &&
				  add_routes(repair, root, v, d, false, k))) ||
		    (!other && !add_replies(repair, d, v, k))) {
			osr_order_undo(&repair->order, 0);
			continue;
		}
		if (other)
			give(repair, d, v, (uint8_t)k);
		repair->routing.sl[at] = (uint8_t)k;
		if (answers)
			for (uint32_t j = repair->dest_row[v]; j < repair->dest_row[v + 1]; j++)
				give(repair, repair->dest_list[j], root, (uint8_t)k);
		return true;
	}
	return false;
}

/* ---- earlier SLs ----------------------------------------------------------------------------- */

void osr_repair_keep_grants(struct repair *repair, uint32_t d)
{
	const struct osr_fabric *fabric = repair->fabric;
	const struct osr_routing *last = &repair->lately.routing;
	const uint8_t *row = osr_repair_row(repair, d);
	uint16_t chosen = repair->job->request.chosen_sls ? repair->job->request.chosen_sls : 1;

	OSR_EACH_SWITCH(v, fabric) {
		size_t at = (size_t)d * fabric->n_switches + v;
		uint32_t c = osr_repair_next(repair, row, v);
		bool cut = repair->tree.mark[v] & TREE_CUT;
		uint16_t lanes = repair->grants ? repair->grants[at] : 0, keep;
		uint8_t other = OSR_SL_OPEN;

		if (v == fabric->dest_switch[d] || !osr_repair_is_used(fabric, d, v))
			continue;
		/*
		 * Of the last sweep: the pair's SL if it is another one today, and those given
		 * before.
		 */
		if (repair->last != repair->base && osr_carry_had_path(&repair->lately, d, v)) {
			if (last->sl && last->sl[at] != repair->routing.sl[at])
				other = last->sl[at];
			lanes |= last->sl ? sl_bit(other) : chosen;
			lanes |= last->granted ? last->granted[at] : 0;
		}
		keep = lanes;
		for (uint16_t left = lanes; left; left &= (uint16_t)(left - 1)) {
			unsigned k = (unsigned)__builtin_ctz(left);

			/*
			 * With the replies, on the route that v has; where that is cut, on the
			 * route that will be found.
			 */
			osr_order_begin(&repair->order);
			if (k < repair->n_lanes && repair->attempts && repair->attempts-- &&
			    (cut || c == OSR_NONE ||
			     osr_repair_route(repair, d, row, c, (uint16_t)(1u << k))) &&
			    add_replies(repair, d, v, k))
				continue;
			osr_order_undo(&repair->order, 0);
			keep &= (uint16_t) ~(1u << k);
			repair->routing.stable.n_sl_lost++;
		}
		/* A route that is cut goes on with the SL of the last sweep. */
		if (keep & sl_bit(other) && cut) {
			keep &= (uint16_t)~sl_bit(other);
			repair->routing.sl[at] = other;
		}
		if (keep && !repair->grants)
			repair->grants = osr_calloc(repair->job->arena,
						    (size_t)fabric->n_dests * fabric->n_switches,
						    sizeof(*repair->grants));
		repair->no_memory |= keep && !repair->grants;
		if (repair->grants)
			repair->grants[at] = keep;
	}
}

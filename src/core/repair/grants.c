/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Lanes by SL. Applications cache path records, so a pair of a switch and a LID keeps its SL, and every SL that
 * it was given since the baseline (`granted`) stays safe on its route. Where replies count
 * (OSR_CLAIM_REVERSIBLE), what goes back from the LID's switch is on the same SLs. Only a pair that finds no
 * route at all so gets another SL; what is lost is counted.
 */
#include "repair_private.h"

#include <string.h>

static uint16_t sl_bit(uint8_t sl)
{
	return sl == OSR__NO_SL ? 0 : (uint16_t)(1u << (sl & 15));
}

static bool has_replies(const struct repair *w)
{
	return w->r.claims & OSR_CLAIM_REVERSIBLE;
}

/* The SL of a pair, and its SLs of earlier. */
static uint16_t sls_of(const struct repair *w, size_t at)
{
	return sl_bit(w->r.sl[at]) | (w->grants ? w->grants[at] : 0);
}

uint16_t osr__repair_need(const struct repair *w, uint32_t d, uint32_t v)
{
	const struct osr_fabric *fabric = w->f;
	size_t n = fabric->n_switches;
	uint32_t root = fabric->dest_switch[d];
	uint16_t lanes;

	if (!osr__repair_is_used(fabric, d, v))
		return 0;
	if (w->shared)
		return 1;
	lanes = sls_of(w, d * n + v);
	/* Replies to what hosts of the LID's switch ask those of v. */
	if (has_replies(w) && fabric->term_weight[fabric->dest_term[d]] && fabric->sw_sources[root])
		for (uint32_t i = w->dest_row[v]; i < w->dest_row[v + 1]; i++)
			lanes |= sls_of(w, w->dest_list[i] * n + root);
	return lanes & (uint16_t)((1u << w->n_lanes) - 1);
}

/* Lane k on all routes there are from switch a to LIDs of switch b, but for d; `hosts`: only to LIDs of hosts. */
static bool add_routes(struct repair *w, uint32_t a, uint32_t b, uint32_t d, bool hosts, unsigned k)
{
	for (uint32_t i = w->dest_row[b]; a != b && i < w->dest_row[b + 1]; i++) {
		uint32_t e = w->dest_list[i], c = osr__repair_next(w, osr__repair_row(w, e), a);

		if (e != d && c != OSR_NONE && (!hosts || w->f->term_weight[w->f->dest_term[e]]) &&
		    osr__repair_is_used(w->f, e, a) &&
		    !osr__repair_route(w, e, osr__repair_row(w, e), c, (uint16_t)(1u << k)))
			return false;
	}
	return true;
}

/* What hosts of d's switch answer those of v on lane k. Routes that are cut will need it when they are made. */
static bool add_replies(struct repair *w, uint32_t d, uint32_t v, unsigned k)
{
	return !has_replies(w) || !w->f->sw_sources[v] ||
	       add_routes(w, w->f->dest_switch[d], v, OSR_NONE, true, k);
}

/* ---- a pair gets an SL ----------------------------------------------------------------------- */

/* The pair is on this SL alone from now on; what it had is not proven any more. */
static void give(struct repair *w, uint32_t d, uint32_t v, uint8_t sl)
{
	size_t at = (size_t)d * w->f->n_switches + v;

	w->r.stable.n_sl_lost += sls_of(w, at) != 0;
	w->r.sl[at] = sl;
	if (w->grants)
		w->grants[at] = 0;
}

/*
 * By SL, a pair that has none, or that finds no path on its own (other_sl), gets an SL on which the route can be. In
 * place of another one v answers the root on it alone from now on, for the old one does not lead to d any more; to other
 * LIDs of the root it does, so these keep theirs.
 */
bool osr__repair_commit(struct repair *w, uint32_t d, const uint8_t *row, uint32_t v, uint32_t c)
{
	uint32_t root = w->f->dest_switch[d];
	size_t at = (size_t)d * w->f->n_switches + v;
	bool by_sl = w->by_sl && osr__repair_is_used(w->f, d, v),
	     other = by_sl && w->r.sl[at] != OSR__NO_SL, answers = other && has_replies(w);
	uint16_t must = by_sl && !other ? osr__repair_need(w, d, v) : 0;
	uint32_t first = (v + root) % w->base->routing.n_vls;

	if (other)
		first = 0;
	else if (must)
		first = (uint32_t)__builtin_ctz(must);
	if (!w->n_lanes)
		return true;
	osr_order_begin(&w->order);
	if (!by_sl || (other && !w->other_sl))
		return osr__repair_route(w, d, row, c, osr__repair_start(w, d, v, c));
	for (uint32_t i = 0; i < w->n_lanes; i++) {
		uint32_t k = (first + i) % w->n_lanes;

		osr_order_begin(&w->order);
		if (!osr__repair_route(w, d, row, c, must | (uint16_t)(1u << k)) ||
		    (answers && !(add_routes(w, v, root, d, false, k) &&
				  add_routes(w, root, v, d, false, k))) ||
		    (!other && !add_replies(w, d, v, k))) {
			osr_order_undo(&w->order, 0);
			continue;
		}
		if (other)
			give(w, d, v, (uint8_t)k);
		w->r.sl[at] = (uint8_t)k;
		for (uint32_t j = w->dest_row[v]; answers && j < w->dest_row[v + 1]; j++)
			give(w, w->dest_list[j], root, (uint8_t)k);
		return true;
	}
	return false;
}

/* ---- SLs of earlier -------------------------------------------------------------------------- */

void osr__repair_keep_grants(struct repair *w, uint32_t d)
{
	const struct osr_fabric *fabric = w->f;
	const struct osr_routing *last = &w->lately.routing;
	const uint8_t *row = osr__repair_row(w, d);
	uint16_t chosen = w->job->request.chosen_sls ? w->job->request.chosen_sls : 1;

	for (uint32_t v = 0; v < fabric->n_switches; v++) {
		size_t at = (size_t)d * fabric->n_switches + v;
		uint32_t c = osr__repair_next(w, row, v);
		bool cut = w->tree.mark[v] & TREE_CUT;
		uint16_t lanes = w->grants ? w->grants[at] : 0, keep;
		uint8_t other = OSR__NO_SL;

		if (v == fabric->dest_switch[d] || !osr__repair_is_used(fabric, d, v))
			continue;
		/* Of the last sweep: the pair's SL if it is another one today, and those given before. */
		if (w->last != w->base && osr_carry_had_path(&w->lately, d, v)) {
			if (last->sl && last->sl[at] != w->r.sl[at])
				other = last->sl[at];
			lanes |= last->sl ? sl_bit(other) : chosen;
			lanes |= last->granted ? last->granted[at] : 0;
		}
		keep = lanes;
		for (uint16_t left = lanes; left; left &= (uint16_t)(left - 1)) {
			unsigned k = (unsigned)__builtin_ctz(left);

			/* With the replies, on the route that v has or, where that is cut, on the one that will be found. */
			osr_order_begin(&w->order);
			if (k < w->n_lanes && w->attempts && w->attempts-- &&
			    (cut || c == OSR_NONE ||
			     osr__repair_route(w, d, row, c, (uint16_t)(1u << k))) &&
			    add_replies(w, d, v, k))
				continue;
			osr_order_undo(&w->order, 0);
			keep &= (uint16_t) ~(1u << k);
			w->r.stable.n_sl_lost++;
		}
		/* A route that is cut goes on with the SL of the last sweep. */
		if (keep & sl_bit(other) && cut) {
			keep &= (uint16_t)~sl_bit(other);
			w->r.sl[at] = other;
		}
		if (keep && !w->grants)
			w->grants = osr_calloc(w->job->arena,
					       (size_t)fabric->n_dests * fabric->n_switches,
					       sizeof(*w->grants));
		w->no_memory |= keep && !w->grants;
		if (w->grants)
			w->grants[at] = keep;
	}
}

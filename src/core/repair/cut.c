/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * One LID whose tree has been cut: which switches are cut off, and the paths that are left to them:
 * shortest paths, then with other SLs, then along the spanning tree. After all trees LIDs move off
 * channels that carry too much.
 */
#include "repair_private.h"

#include <string.h>

#include <osmroutes/bound.h>
#include <osmroutes/each.h>
#include "core/route/span.h"
#include "core/paths/moves.h"

/* A channel that a switch may send by; smaller is better. */
struct candidate {
	uint32_t chan;
	uint32_t class; /* see attach() */
	uint64_t cost;  /* load along the path */
};

/* ---- settling -------------------------------------------------------------------------------- */

/* Attaches v over the best path of this length that is free of cycles, if there is one. */
static bool attach(struct repair *repair, uint32_t d, uint8_t *row, uint32_t v, uint32_t len)
{
	const struct osr_fabric *fabric = repair->fabric;
	struct repair_tree *repair_tree = &repair->tree;
	struct candidate list[256];
	uint32_t n = 0, root = fabric->dest_switch[d];

	/*
	 * The previous hop first, then the hop of the last sweep; among equals the path that
	 * carries least now, or is expected to.
	 */
	OSR_EACH_CHANNEL(c, fabric, v) {
		uint8_t hop = (uint8_t)(c - fabric->chan_row[v]);
		struct candidate candidate = { .chan = c };
		uint32_t u = fabric->chan_dst[c];

		if (!(repair_tree->mark[u] & TREE_KNOWN) || repair_tree->len[u] + 1 != len)
			continue;
		if (hop != repair_tree->old[v])
			candidate.class = hop == osr_repair_last_row(repair, d)[v] ? 1 : 2;
		candidate.cost = repair->load[c] + repair_tree->expected[c];
		for (uint32_t on; u != root; u = fabric->chan_dst[on]) {
			on = osr_repair_next(repair, row, u);
			candidate.cost += repair->load[on] + repair_tree->expected[on];
		}
		list[n++] = candidate;
	}
	while (n) {
		uint32_t best = 0, c;

		for (uint32_t i = 1; i < n; i++)
			if (list[i].class < list[best].class ||
			    (list[i].class == list[best].class && list[i].cost < list[best].cost))
				best = i;
		c = list[best].chan;
		if (!osr_repair_commit(repair, d, row, v, c)) {
			memmove(&list[best], &list[best + 1], (n - best - 1) * sizeof(*list));
			n--;
			continue;
		}
		row[v] = (uint8_t)(c - fabric->chan_row[v]);
		repair_tree->mark[v] |= TREE_KNOWN;
		repair_tree->len[v] = len;
		/*
		 * The flow joins the next switch's flow where it did so previously, or takes a path
		 * of its own.
		 */
		for (uint32_t u = v; u != root && fabric->term_weight[fabric->dest_term[d]];) {
			c = osr_repair_next(repair, row, u);
			repair_tree->expected[c] += repair_tree->flow[v];
			u = fabric->chan_dst[c];
			if (row[v] == repair_tree->old[v] && repair_tree->mark[u] & TREE_CUT)
				break;
		}
		return true;
	}
	repair->longer = true;
	return false;
}

/*
 * Breadth first: switches that are cut attach to switches that have a path, short paths first. A
 * switch that finds no path of one length looks for a longer one. The search ends, because a path
 * of len channels needs a switch with a path of len - 1, and the length grows in every pass.
 * Returns the first switch that has found no path; OSR_NONE: all have one.
 */
static uint32_t settle(struct repair *repair, uint32_t d, uint8_t *row)
{
	const struct osr_fabric *fabric = repair->fabric;
	struct repair_tree *repair_tree = &repair->tree;

	for (uint32_t len = 0, next = 0; next != OSR_NONE; len = next) {
		bool settled = false;

		next = OSR_NONE;
		for (uint32_t i = repair_tree->n; i-- > 0;) {
			uint32_t v = repair_tree->list[i];
			bool fits = false;

			if (repair_tree->mark[v] & TREE_KNOWN)
				continue;
			OSR_EACH_CHANNEL(c, fabric, v) {
				uint32_t u = fabric->chan_dst[c];

				if (!(repair_tree->mark[u] & TREE_KNOWN))
					continue;
				fits |= repair_tree->len[u] + 1 == len;
				if (repair_tree->len[u] + 1 > len && repair_tree->len[u] + 1 < next)
					next = repair_tree->len[u] + 1;
			}
			settled |= fits && attach(repair, d, row, v, len);
		}
		if (settled)
			next = len + 1;
	}
	for (uint32_t i = 0; i < repair_tree->n; i++)
		if (!(repair_tree->mark[repair_tree->list[i]] & TREE_KNOWN))
			return repair_tree->list[i];
	return OSR_NONE;
}

/* ---- which switches are cut ------------------------------------------------------------------ */

void osr_repair_upstream(struct repair *repair, uint32_t root, const uint8_t *row)
{
	const struct osr_fabric *fabric = repair->fabric;
	struct repair_tree *repair_tree = &repair->tree;

	for (uint32_t i = 0; i < repair_tree->n; i++) {
		uint32_t u = repair_tree->list[i];

		OSR_EACH_CHANNEL(o, fabric, u) {
			uint32_t v = fabric->chan_dst[o];

			if (repair_tree->mark[v] & TREE_CUT || v == root ||
			    osr_repair_next(repair, row, v) != fabric->chan_rev[o])
				continue;
			repair_tree->mark[v] |= TREE_CUT;
			repair_tree->list[repair_tree->n++] = v;
		}
	}
}

/*
 * The routes of cut switches from list[first] on, as they are along row, into (1) or out of (-1)
 * the loads.
 */
static void count_routes(struct repair *repair, uint32_t d, const uint8_t *row, uint32_t first,
			 uint64_t sign)
{
	const struct osr_fabric *fabric = repair->fabric;
	struct repair_tree *repair_tree = &repair->tree;

	for (uint32_t i = first; i < repair_tree->n; i++) {
		uint32_t v = repair_tree->list[i];
		uint64_t routes =
			fabric->term_weight[fabric->dest_term[d]] ? fabric->sw_sources[v] : 0;

		while (v != fabric->dest_switch[d]) {
			uint32_t c = osr_repair_next(repair, row, v);

			if (c == OSR_NONE)
				break;
			repair_tree->expected[c] = 0;
			repair->load[c] += sign * routes;
			v = fabric->chan_dst[c];
		}
	}
}

/*
 * How many end ports sent through each switch of the list, which is the load to expect there again.
 */
static void expect_flows(struct repair *repair)
{
	struct repair_tree *repair_tree = &repair->tree;

	for (uint32_t i = 0; i < repair_tree->n; i++)
		repair_tree->flow[repair_tree->list[i]] =
			repair->fabric->sw_sources[repair_tree->list[i]];
	/* A switch that sends through another one comes later in the list. */
	for (uint32_t i = repair_tree->n; i-- > 0;) {
		uint32_t v = repair_tree->list[i], c = osr_repair_next(repair, repair_tree->old, v);

		if (c != OSR_NONE && repair_tree->mark[repair->fabric->chan_dst[c]] & TREE_CUT)
			repair_tree->flow[repair->fabric->chan_dst[c]] += repair_tree->flow[v];
	}
}

/* ---- along the spanning tree ----------------------------------------------------------------- */

/*
 * A switch that finds no path goes along the spanning tree. All turns of that tree are in the
 * order, on the lanes of end ports and on the lanes that these lead to, so the route adds nothing
 * to the order. The switches on the way go along the tree too, for good. Switches that sent
 * through one of them by another entry are cut, and settled once more. Each call forces at least
 * one more switch, so it ends. False: the tree does not lead to the LID.
 */
static bool escape(struct repair *repair, uint32_t d, uint8_t *row, uint32_t from)
{
	const struct osr_fabric *fabric = repair->fabric;
	struct repair_tree *repair_tree = &repair->tree;
	uint32_t root = fabric->dest_switch[d], first = repair_tree->n, n,
		 *span = repair_tree->span;

	osr_span_towards(fabric, repair->span, root, span, repair_tree->stack);
	if (span[from] == OSR_NONE)
		return false;
	/*
	 * Switches whose entry changes, and all that send through them, lose the routes that they
	 * had.
	 */
	for (uint32_t v = from; v != root; v = fabric->chan_dst[span[v]]) {
		bool stays = osr_repair_next(repair, row, v) == span[v];

		repair_tree->mark[v] |= TREE_FORCED;
		if (stays || repair_tree->mark[v] & TREE_CUT)
			continue;
		repair_tree->mark[v] |= TREE_CUT;
		repair_tree->list[repair_tree->n++] = v;
	}
	/*
	 * Switches that were cut earlier may send through one of these, so all that are not forced
	 * start again.
	 */
	for (uint32_t i = 0; i < first; i++)
		if (!(repair_tree->mark[repair_tree->list[i]] & TREE_FORCED))
			repair_tree->mark[repair_tree->list[i]] &= (uint8_t)~TREE_KNOWN;
	osr_repair_upstream(repair, root, row);
	for (uint32_t i = first; i < repair_tree->n; i++) {
		repair_tree->old[repair_tree->list[i]] = row[repair_tree->list[i]];
		repair_tree->mark[repair_tree->list[i]] |= TREE_WHOLE;
		repair_tree->mark[repair_tree->list[i]] &= (uint8_t)~TREE_KNOWN;
	}
	count_routes(repair, d, row, first, (uint64_t)-1);
	for (uint32_t i = 0; i < repair_tree->n; i++)
		if (!(repair_tree->mark[repair_tree->list[i]] & TREE_FORCED))
			row[repair_tree->list[i]] = OSR_NO_PATH;
	memset(repair_tree->expected, 0, fabric->n_channels * sizeof(*repair_tree->expected));
	/* From the root on, so that each finds the rest of its way. */
	for (n = 0; from != root; from = fabric->chan_dst[span[from]])
		repair_tree->stack[n++] = from;
	for (uint32_t len = 1; n--; len++) {
		uint32_t v = repair_tree->stack[n], c = span[v];

		osr_order_begin(&repair->order);
		if (!osr_repair_route(repair, d, row, c, osr_repair_start(repair, d, v, c)))
			return false;
		row[v] = (uint8_t)(c - fabric->chan_row[v]);
		repair_tree->mark[v] |= TREE_KNOWN;
		repair_tree->len[v] = len;
	}
	expect_flows(repair);
	repair->longer = true;
	return true;
}

/* ---- a tree ---------------------------------------------------------------------------------- */

enum osr_status osr_repair_cut(struct repair *repair, uint32_t d, struct osr_diag *diag)
{
	const struct osr_fabric *fabric = repair->fabric;
	uint32_t root = fabric->dest_switch[d], lost;
	struct repair_tree *repair_tree = &repair->tree;
	uint8_t *row = osr_repair_row(repair, d), *end = row + fabric->n_switches;
	char buf[32];

	/* The switches whose entry is gone, and all that send through them. */
	memset(repair_tree->mark, 0, fabric->n_switches);
	repair_tree->n = 0;
	for (uint8_t *at = row; at < end && (at = memchr(at, OSR_NO_PATH, (size_t)(end - at)));
	     at++) {
		uint32_t v = (uint32_t)(at - row);

		if (v == root || fabric->sw_component[v] != fabric->sw_component[root])
			continue;
		repair_tree->mark[v] = TREE_CUT;
		repair_tree->list[repair_tree->n++] = v;
	}
	osr_repair_upstream(repair, root, row);
	if (repair->scheme == SCHEME_BY_SL && (repair->grants || repair->last != repair->base))
		osr_repair_keep_grants(repair, d);
	if (!repair_tree->n)
		return OSR_OK;
	osr_tree_lay_out(&repair_tree->whole, root, row, NULL, 0);
	memcpy(repair_tree->len, repair_tree->whole.length,
	       fabric->n_switches * sizeof(*repair_tree->len));
	OSR_EACH_SWITCH(v, fabric)
		if (repair_tree->len[v] != OSR_NONE)
			repair_tree->mark[v] |= TREE_KNOWN;
	repair->touched[d] = 1;
	repair->routing.stable.n_trees++;
	for (uint32_t i = 0; i < repair_tree->n; i++)
		repair_tree->old[repair_tree->list[i]] = row[repair_tree->list[i]];
	expect_flows(repair);
	for (uint32_t i = 0; i < repair_tree->n; i++)
		row[repair_tree->list[i]] = OSR_NO_PATH;
	/*
	 * On their SLs; if these leave some switch no way, however long, with others; else along
	 * the spanning tree.
	 */
	repair->other_sl = osr_repair_has_sls(repair) && repair->spare;
	lost = settle(repair, d, row);
	if (lost != OSR_NONE && osr_repair_has_sls(repair) && !repair->other_sl) {
		repair->other_sl = true;
		lost = settle(repair, d, row);
	}
	while (lost != OSR_NONE && repair->scheme && !osr_repair_has_sls(repair) && repair->span &&
	       escape(repair, d, row, lost))
		lost = settle(repair, d, row);
	if (repair->no_memory)
		return osr_fail(diag, OSR_NOMEM, "out of memory for the SLs of earlier sweeps");
	if (lost != OSR_NONE) {
		repair->again = !repair->front[d];
		repair->front[d] = 1;
		return osr_fail(diag, OSR_NOT_APPLICABLE,
				"no path from switch %s to LID %u agrees with the lanes of the "
				"tables that are kept",
				osr_switch_name(fabric, lost, buf), fabric->dest_lid[d]);
	}
	count_routes(repair, d, row, 0, 1);
	for (uint32_t i = 0; i < repair_tree->n; i++)
		repair->routing.stable.n_moved +=
			repair_tree->mark[repair_tree->list[i]] & TREE_WHOLE &&
			row[repair_tree->list[i]] != repair_tree->old[repair_tree->list[i]];
	return OSR_OK;
}

/* ---- balance --------------------------------------------------------------------------------- */

/*
 * Do all turns rise if v sends to d by c, together with everything that comes through v? list:
 * those switches, from the near end.
 */
static bool balance_may(struct osr_moves *moves, uint32_t d, uint32_t v, uint32_t c,
			const uint16_t *list, uint32_t n)
{
	struct repair *repair = moves->ctx;
	const struct osr_fabric *fabric = repair->fabric;
	uint8_t *row = osr_repair_row(repair, d), was = row[v];
	struct osr_order *order = &repair->order;
	uint16_t *of = repair->tree.lanes;
	bool ok;

	if (!repair->scheme)
		return true;
	/*
	 * The lanes on which packets hold the channel by which each switch sends: lanes of its
	 * hosts, and lanes of packets that come through.
	 */
	for (uint32_t i = 0; i < n; i++)
		of[list[i]] = osr_repair_start(repair, d, list[i],
					       i ? osr_repair_next(repair, row, list[i]) : c);
	for (uint32_t i = n; i-- > 1;) {
		uint32_t in = osr_repair_next(repair, row, list[i]), u = fabric->chan_dst[in];

		if (u != v)
			of[u] |= osr_order_next(
				order, osr_turn(order->fabric, in, osr_repair_next(repair, row, u)),
				of[list[i]]);
		else if (repair->scheme != SCHEME_BY_TURN)
			of[v] |= of[list[i]];
	}
	osr_order_begin(order);
	row[v] = (uint8_t)(c - fabric->chan_row[v]);
	ok = osr_repair_route(repair, d, row, c, of[v]);
	OSR_EACH_CHANNEL(o, fabric, v) {
		if (!ok)
			break;

		uint32_t u = fabric->chan_dst[o], in = fabric->chan_rev[o];

		if (u != fabric->dest_switch[d] && osr_repair_next(repair, row, u) == in)
			ok = osr_repair_route(repair, d, row, in, of[u]);
	}
	row[v] = was;
	if (!ok)
		osr_order_undo(order, 0);
	return ok;
}

enum osr_status osr_repair_balance(struct repair *repair, struct osr_diag *diag)
{
	const struct osr_fabric *fabric = repair->fabric;
	struct osr_arena *scratch = repair->job->scratch;
	struct osr_arena_mark mark = osr_arena_mark(scratch);
	struct osr_stable *stable = &repair->routing.stable;
	struct osr_moves moves = {
		.fabric = fabric,
		.hop = repair->routing.lft,
		.load = repair->load,
		.sent = osr_calloc(scratch, (size_t)fabric->n_switches * osr_moves_blocks(fabric),
				   1),
		.touched = repair->touched,
		.ctx = repair,
		.may = balance_may
	};
	uint64_t expected, most = 0;
	enum osr_status st =
		osr_bound_expected(fabric, repair->base, scratch, &moves.aim, &expected, diag);

	if (osr_arena_failed(scratch, NULL) || osr_moves_init(&moves, scratch, NULL))
		return osr_repair_nomem(diag);
	if (st)
		return st;
	osr_moves_set_goal(&moves, moves.aim, expected);
	/* If nothing was cut, these are the previous tables, whatever they carry. */
	if (stable->n_trees) {
		/* Blocks that the trees found so far have changed. */
		OSR_EACH_DEST(d, fabric) {
			const uint8_t *row = osr_repair_row(repair, d),
				      *last = osr_repair_last_row(repair, d);

			if (!repair->touched[d])
				continue;
			OSR_EACH_SWITCH(v, fabric)
				*osr_moves_block(&moves, d, v) |=
					v != fabric->dest_switch[d] && row[v] != last[v];
		}
		osr_moves_run(&moves);
		stable->n_moved += moves.n_moved;
		stable->n_trees += moves.n_trees;
	}
	OSR_EVERY_CHANNEL(c, fabric)
		most = most < moves.load[c] ? moves.load[c] : most;
	osr_arena_reset(scratch, mark);
	stable->drift = expected ? (uint32_t)(most * 1000 / expected) : 0;
	return OSR_OK;
}

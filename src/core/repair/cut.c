/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * One LID whose tree has been cut: which switches are cut off, and the paths that are left to them: shortest paths,
 * then with other SLs, then along the spanning tree. After all trees LIDs move off channels that carry too much.
 */
#include "repair_private.h"

#include <string.h>

#include <osmroutes/bound.h>
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
static bool attach(struct repair *w, uint32_t d, uint8_t *row, uint32_t v, uint32_t len)
{
	const struct osr_fabric *fabric = w->f;
	struct repair_tree *t = &w->tree;
	struct candidate list[256];
	uint32_t n = 0, root = fabric->dest_switch[d],
		 n_earlier = fabric->dest_lid[d] - fabric->term_lid[fabric->dest_term[d]];

	/*
	 * The old port first, then that of the last sweep, then ports that no earlier LID of the same host has; among
	 * equals the path that carries least by now, or is expected to.
	 */
	for (uint32_t c = fabric->chan_row[v]; c < fabric->chan_row[v + 1]; c++) {
		uint8_t port = fabric->chan_port[c];
		struct candidate x = { .chan = c };
		uint32_t u = fabric->chan_dst[c];

		if (!(t->mark[u] & TREE_KNOWN) || t->len[u] + 1 != len)
			continue;
		if (port != t->old[v])
			x.class = port == osr__repair_last_row(w, d)[v] ? 1 : 2;
		for (uint32_t k = 1; x.class >= 2 && k <= n_earlier; k++)
			if (osr__repair_row(w, d - k)[v] == port)
				x.class = 3;
		x.cost = w->load[c] + t->expected[c];
		for (uint32_t on; u != root; u = fabric->chan_dst[on]) {
			on = osr__repair_next(w, row, u);
			x.cost += w->load[on] + t->expected[on];
		}
		list[n++] = x;
	}
	while (n) {
		uint32_t best = 0, c;

		for (uint32_t i = 1; i < n; i++)
			if (list[i].class < list[best].class ||
			    (list[i].class == list[best].class && list[i].cost < list[best].cost))
				best = i;
		c = list[best].chan;
		if (!osr__repair_commit(w, d, row, v, c)) {
			memmove(&list[best], &list[best + 1], (n - best - 1) * sizeof(*list));
			n--;
			continue;
		}
		row[v] = fabric->chan_port[c];
		t->mark[v] |= TREE_KNOWN;
		t->len[v] = len;
		/* The flow joins that of the next switch, where it did before, or takes a path of its own. */
		for (uint32_t u = v; u != root && fabric->term_weight[fabric->dest_term[d]];) {
			c = osr__repair_next(w, row, u);
			t->expected[c] += t->flow[v];
			u = fabric->chan_dst[c];
			if (row[v] == t->old[v] && t->mark[u] & TREE_CUT)
				break;
		}
		return true;
	}
	w->longer = true;
	return false;
}

/*
 * Breadth first: the switches that are cut attach to those that have a path, short paths first. A switch that
 * finds no path of one length looks for a longer one; it ends, for a path of len channels needs a switch with
 * one of len - 1, and the length grows in every pass. The first that has found none; OSR_NONE: all have one.
 */
static uint32_t settle(struct repair *w, uint32_t d, uint8_t *row)
{
	const struct osr_fabric *fabric = w->f;
	struct repair_tree *t = &w->tree;

	for (uint32_t len = 0, next = 0; next != OSR_NONE; len = next) {
		bool settled = false;

		next = OSR_NONE;
		for (uint32_t i = t->n; i-- > 0;) {
			uint32_t v = t->list[i];
			bool fits = false;

			if (t->mark[v] & TREE_KNOWN)
				continue;
			for (uint32_t c = fabric->chan_row[v]; c < fabric->chan_row[v + 1]; c++) {
				uint32_t u = fabric->chan_dst[c];

				if (!(t->mark[u] & TREE_KNOWN))
					continue;
				fits |= t->len[u] + 1 == len;
				if (t->len[u] + 1 > len && t->len[u] + 1 < next)
					next = t->len[u] + 1;
			}
			settled |= fits && attach(w, d, row, v, len);
		}
		if (settled)
			next = len + 1;
	}
	for (uint32_t i = 0; i < t->n; i++)
		if (!(t->mark[t->list[i]] & TREE_KNOWN))
			return t->list[i];
	return OSR_NONE;
}

/* ---- which switches are cut ------------------------------------------------------------------ */

void osr__repair_upstream(struct repair *w, uint32_t root, const uint8_t *row)
{
	const struct osr_fabric *fabric = w->f;
	struct repair_tree *t = &w->tree;

	for (uint32_t i = 0; i < t->n; i++) {
		uint32_t u = t->list[i];

		for (uint32_t o = fabric->chan_row[u]; o < fabric->chan_row[u + 1]; o++) {
			uint32_t v = fabric->chan_dst[o];

			if (t->mark[v] & TREE_CUT || v == root ||
			    row[v] != fabric->chan_port[fabric->chan_rev[o]])
				continue;
			t->mark[v] |= TREE_CUT;
			t->list[t->n++] = v;
		}
	}
}

/* The routes of cut switches from list[first] on, as they are along row, into (1) or out of (-1) the loads. */
static void count_routes(struct repair *w, uint32_t d, const uint8_t *row, uint32_t first,
			 uint64_t sign)
{
	const struct osr_fabric *fabric = w->f;
	struct repair_tree *t = &w->tree;

	for (uint32_t i = first; i < t->n; i++) {
		uint32_t v = t->list[i];
		uint64_t routes =
			fabric->term_weight[fabric->dest_term[d]] ? fabric->sw_sources[v] : 0;

		while (v != fabric->dest_switch[d]) {
			uint32_t c = osr__repair_next(w, row, v);

			if (c == OSR_NONE)
				break;
			t->expected[c] = 0;
			w->load[c] += sign * routes;
			v = fabric->chan_dst[c];
		}
	}
}

/* How many end ports sent through each switch of the list: what it is expected to carry again. */
static void expect_flows(struct repair *w)
{
	struct repair_tree *t = &w->tree;

	for (uint32_t i = 0; i < t->n; i++)
		t->flow[t->list[i]] = w->f->sw_sources[t->list[i]];
	/* A switch that sends through another one comes later in the list. */
	for (uint32_t i = t->n; i-- > 0;) {
		uint32_t v = t->list[i], c = osr__repair_next(w, t->old, v);

		if (c != OSR_NONE && t->mark[w->f->chan_dst[c]] & TREE_CUT)
			t->flow[w->f->chan_dst[c]] += t->flow[v];
	}
}

/* ---- along the spanning tree ------------------------------------------------------------------ */

/*
 * A switch that finds no path goes along the spanning tree of multicast: all of its turns are in the order, on
 * the lanes of end ports and on those that they lead to, so they add nothing. The switches on the way go along
 * it, too, for good; those that sent through one whose entry was another one are cut, and settled once more.
 * Each call forces at least one more switch, so it ends. False: the tree does not lead there.
 */
static bool escape(struct repair *w, uint32_t d, uint8_t *row, uint32_t from)
{
	const struct osr_fabric *fabric = w->f;
	struct repair_tree *t = &w->tree;
	uint32_t root = fabric->dest_switch[d], first = t->n, n, *span = t->span;

	osr_span_towards(fabric, w->r.mcast_parent, root, span, t->stack);
	if (span[from] == OSR_NONE)
		return false;
	/* Entries that change: they and what comes through them lose their routes, if they had any. */
	for (uint32_t v = from; v != root; v = fabric->chan_dst[span[v]]) {
		bool stays = row[v] == fabric->chan_port[span[v]];

		t->mark[v] |= TREE_FORCED;
		if (stays || t->mark[v] & TREE_CUT)
			continue;
		t->mark[v] |= TREE_CUT;
		t->list[t->n++] = v;
	}
	/* Of those that were cut before, any may send through such a one: all that is not forced starts again. */
	for (uint32_t i = 0; i < first; i++)
		if (!(t->mark[t->list[i]] & TREE_FORCED))
			t->mark[t->list[i]] &= (uint8_t)~TREE_KNOWN;
	osr__repair_upstream(w, root, row);
	for (uint32_t i = first; i < t->n; i++) {
		t->old[t->list[i]] = row[t->list[i]];
		t->mark[t->list[i]] |= TREE_WHOLE;
		t->mark[t->list[i]] &= (uint8_t)~TREE_KNOWN;
	}
	count_routes(w, d, row, first, (uint64_t)-1);
	for (uint32_t i = 0; i < t->n; i++)
		if (!(t->mark[t->list[i]] & TREE_FORCED))
			row[t->list[i]] = OSR_NO_PATH;
	memset(t->expected, 0, fabric->n_channels * sizeof(*t->expected));
	/* From the root on, so that each finds the rest of its way. */
	for (n = 0; from != root; from = fabric->chan_dst[span[from]])
		t->stack[n++] = from;
	for (uint32_t len = 1; n--; len++) {
		uint32_t v = t->stack[n], c = span[v];

		osr_order_begin(&w->order);
		if (!osr__repair_route(w, d, row, c, osr__repair_start(w, d, v, c)))
			return false;
		row[v] = fabric->chan_port[c];
		t->mark[v] |= TREE_KNOWN;
		t->len[v] = len;
	}
	expect_flows(w);
	w->longer = true;
	return true;
}

/* ---- a tree ---------------------------------------------------------------------------------- */

enum osr_status osr__repair_cut(struct repair *w, uint32_t d, struct osr_diag *diag)
{
	const struct osr_fabric *fabric = w->f;
	uint32_t root = fabric->dest_switch[d], lost;
	struct repair_tree *t = &w->tree;
	uint8_t *row = osr__repair_row(w, d), *end = row + fabric->n_switches;
	char buf[32];

	/* The switches whose entry is gone, and all that send through them. */
	memset(t->mark, 0, fabric->n_switches);
	t->n = 0;
	for (uint8_t *at = row; at < end && (at = memchr(at, OSR_NO_PATH, (size_t)(end - at)));
	     at++) {
		uint32_t v = (uint32_t)(at - row);

		if (fabric->sw_component[v] != fabric->sw_component[root])
			continue;
		t->mark[v] = TREE_CUT;
		t->list[t->n++] = v;
	}
	osr__repair_upstream(w, root, row);
	if (w->by_sl && !w->by_port && (w->grants || w->last != w->base))
		osr__repair_keep_grants(w, d);
	if (!t->n)
		return OSR_OK;
	osr__repair_walk(w, root, row);
	w->touched[d] = 1;
	w->r.stable.n_trees++;
	for (uint32_t i = 0; i < t->n; i++)
		t->old[t->list[i]] = row[t->list[i]];
	expect_flows(w);
	for (uint32_t i = 0; i < t->n; i++)
		row[t->list[i]] = OSR_NO_PATH;
	/* On their SLs; if these leave some switch no way, however long, with others; else along the spanning tree. */
	w->other_sl = w->by_sl && w->spare;
	lost = settle(w, d, row);
	if (lost != OSR_NONE && w->by_sl && !w->other_sl) {
		w->other_sl = true;
		lost = settle(w, d, row);
	}
	while (lost != OSR_NONE && w->n_lanes && !w->by_sl && w->r.mcast_parent &&
	       escape(w, d, row, lost))
		lost = settle(w, d, row);
	if (w->no_memory)
		return osr_fail(diag, OSR_NOMEM, "out of memory for the SLs of earlier sweeps");
	if (lost != OSR_NONE) {
		w->again = !w->front[d];
		w->front[d] = 1;
		return osr_fail(diag, OSR_NOT_APPLICABLE,
				"no path from switch %s to LID %u agrees with the lanes of the "
				"tables that are kept",
				osr_switch_name(fabric, lost, buf), fabric->dest_lid[d]);
	}
	count_routes(w, d, row, 0, 1);
	for (uint32_t i = 0; i < t->n; i++)
		w->r.stable.n_moved +=
			t->mark[t->list[i]] & TREE_WHOLE && row[t->list[i]] != t->old[t->list[i]];
	return OSR_OK;
}

/* ---- balance --------------------------------------------------------------------------------- */

/* Do all turns rise if v sends to d by c, with all that comes through v: the list, from the near end? */
static bool balance_may(struct osr__moves *m, uint32_t d, uint32_t v, uint32_t c,
			const uint32_t *list, uint32_t n)
{
	struct repair *w = m->ctx;
	const struct osr_fabric *fabric = w->f;
	uint8_t *row = osr__repair_row(w, d), was = row[v];
	struct osr_order *order = &w->order;
	uint16_t *of = w->tree.lanes;
	bool ok;

	if (!w->n_lanes)
		return true;
	/* The lanes on which packets hold the channel by which each switch sends: of its hosts, and of what comes through. */
	for (uint32_t i = 0; i < n; i++)
		of[list[i]] =
			osr__repair_start(w, d, list[i], i ? osr__repair_next(w, row, list[i]) : c);
	for (uint32_t i = n; i-- > 1;) {
		uint32_t in = osr__repair_next(w, row, list[i]), u = fabric->chan_dst[in];

		if (u != v)
			of[u] |= osr_order_next(
				order, osr_turn(order->fabric, in, osr__repair_next(w, row, u)),
				of[list[i]]);
		else if (!w->by_turn)
			of[v] |= of[list[i]];
	}
	osr_order_begin(order);
	row[v] = fabric->chan_port[c];
	ok = osr__repair_route(w, d, row, c, of[v]);
	for (uint32_t o = fabric->chan_row[v]; ok && o < fabric->chan_row[v + 1]; o++) {
		uint32_t u = fabric->chan_dst[o], in = fabric->chan_rev[o];

		if (u != fabric->dest_switch[d] && row[u] == fabric->chan_port[in])
			ok = osr__repair_route(w, d, row, in, of[u]);
	}
	row[v] = was;
	if (!ok)
		osr_order_undo(order, 0);
	return ok;
}

enum osr_status osr__repair_balance(struct repair *w, struct osr_diag *diag)
{
	const struct osr_fabric *fabric = w->f;
	struct osr_arena *scratch = w->job->scratch;
	struct osr_arena_mark mark = osr_arena_mark(scratch);
	struct osr_stable *stable = &w->r.stable;
	struct osr__moves m = { .f = fabric,
				.lft = w->r.lft,
				.load = w->load,
				.sent = osr_calloc(
					scratch,
					(size_t)fabric->n_switches * osr__moves_blocks(fabric), 1),
				.touched = w->touched,
				.ctx = w,
				.may = balance_may };
	uint64_t expected, most = 0;
	enum osr_status st = osr_bound_expected(fabric, w->base, scratch, &m.aim, &expected, diag);

	if (osr_arena_failed(scratch, NULL) || osr__moves_init(&m, scratch, NULL))
		return osr__repair_nomem(diag);
	if (st)
		return st;
	osr__moves_set_goal(&m, m.aim, expected);
	/* With nothing cut these are the tables of before, whatever they carry. */
	if (stable->n_trees) {
		/* Blocks that the trees found so far have changed. */
		for (uint32_t d = 0; d < fabric->n_dests; d++) {
			const uint8_t *row = osr__repair_row(w, d),
				      *last = osr__repair_last_row(w, d);

			if (!w->touched[d])
				continue;
			for (uint32_t v = 0; v < fabric->n_switches; v++)
				*osr__moves_block(&m, d, v) |=
					v != fabric->dest_switch[d] && row[v] != last[v];
		}
		osr__moves_run(&m);
		stable->n_moved += m.n_moved;
		stable->n_trees += m.n_trees;
	}
	for (uint32_t c = 0; c < fabric->n_channels; c++)
		most = most < m.load[c] ? m.load[c] : most;
	osr_arena_reset(scratch, mark);
	stable->drift = expected ? (uint32_t)(most * 1000 / expected) : 0;
	return OSR_OK;
}

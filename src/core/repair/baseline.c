/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Where a repair starts: the tables of the baseline in today's numbering, the order in which their routes rise, loads. See repair.c. */
#include "repair_private.h"

#include "core/order/fit.h"

#include <string.h>

enum osr_status osr__repair_alloc(struct repair *w, struct osr_diag *diag)
{
	const struct osr_fabric *fabric = w->f;
	struct osr_arena *scratch = w->job->scratch;
	struct repair_tree *t = &w->tree;
	size_t n = fabric->n_switches, m = fabric->n_channels;

	t->mark = osr_calloc(scratch, n, 1);
	t->len = osr_alloc(scratch, n, sizeof(*t->len));
	t->list = osr_alloc(scratch, n, sizeof(*t->list));
	t->order = osr_alloc(scratch, n, sizeof(*t->order));
	t->stack = osr_alloc(scratch, n, sizeof(*t->stack));
	t->span = osr_alloc(scratch, n, sizeof(*t->span));
	t->flow = osr_alloc(scratch, n, sizeof(*t->flow));
	t->expected = osr_calloc(scratch, m, sizeof(*t->expected));
	t->old = osr_alloc(scratch, n, 1);
	t->lanes = osr_alloc(scratch, n, sizeof(*t->lanes));
	w->touched = osr_calloc(scratch, fabric->n_dests, 1);
	w->load = osr_calloc(scratch, m, sizeof(*w->load));
	w->inject = osr_alloc(scratch, m, sizeof(*w->inject));
	w->dest_row = osr_calloc(scratch, n + 2, sizeof(*w->dest_row));
	w->dest_list = osr_alloc(scratch, fabric->n_dests, sizeof(*w->dest_list));
	if (osr_arena_failed(scratch, NULL))
		return osr__repair_nomem(diag);
	for (uint32_t d = 0; d < fabric->n_dests; d++)
		w->dest_row[fabric->dest_switch[d] + 2]++;
	for (uint32_t s = 0; s < n; s++)
		w->dest_row[s + 2] += w->dest_row[s + 1];
	for (uint32_t d = 0; d < fabric->n_dests; d++)
		w->dest_list[w->dest_row[fabric->dest_switch[d] + 1]++] = d;
	return OSR_OK;
}

/* ---- tables ---------------------------------------------------------------------------------- */

enum osr_status osr__repair_carry(const struct repair *w, const struct osr_fabric *from,
				  const struct osr_routing *was, struct osr_arena *arena,
				  struct osr_earlier *earlier, struct osr_diag *diag)
{
	const struct osr_fabric *fabric = w->f;
	enum osr_status st = osr_carry(from, was, fabric, w->job->scratch, arena, earlier, diag);

	/* A LID on another switch is a new one: its tree has another root. */
	for (uint32_t d = 0; !st && d < fabric->n_dests; d++) {
		if (osr_fabric_map_dest_stays(&earlier->map, d))
			continue;
		earlier->map.dest[d] = OSR_NONE;
		memset(earlier->routing.lft + (size_t)d * fabric->n_switches, OSR_NO_PATH,
		       fabric->n_switches);
	}
	return st;
}

/* What no packet used then is on VL 0; hosts on ports that had none send like port 0 of their switch. */
static void baseline_sl2vl(struct repair *w)
{
	const struct osr_fabric *fabric = w->f;
	struct osr_routing *r = &w->r;

	for (uint32_t s = 0; s < fabric->n_switches; s++) {
		size_t n = fabric->sw_n_ports[s] + (size_t)1;
		uint8_t *row = r->sl2vl[r->sl2vl_row[s]];

		for (size_t i = 0; i < n * n * sizeof(osr_sl2vl_t); i++)
			row[i] = row[i] == OSR_VL_UNSET ? 0 : row[i];
		for (uint32_t t = fabric->term_row[s]; t < fabric->term_row[s + 1]; t++)
			if (osr_fabric_map_terminal(&w->then, t) == OSR_NONE)
				memcpy(r->sl2vl[r->sl2vl_row[s] + fabric->term_port[t] * n], row,
				       n * sizeof(osr_sl2vl_t));
	}
}

enum osr_status osr__repair_tables(struct repair *w, struct osr_arena *result,
				   struct osr_diag *diag)
{
	const struct osr_fabric *fabric = w->f, *x = &w->base->fabric;
	struct osr_routing base = w->base->routing, *r = &w->r;
	struct osr_stable *stable = &w->r.stable;
	struct osr_earlier then;
	size_t n = fabric->n_switches;
	enum osr_status st = OSR_OK;
	bool faster = false;

	if (!base.lane_deps)
		st = osr_repair_prepare(w->base, w->job->scratch, w->job->scratch, &base, diag);
	if (!st)
		st = osr__repair_carry(w, x, &base, result, &then, diag);
	if (st)
		return st;
	w->then = then.map;
	*r = then.routing;
	/* A full route also restores the original tables after a fault that needed one. */
	for (uint32_t c = 0; c < fabric->n_channels; c++) {
		uint32_t old = w->then.chan[c], rate = old == OSR_NONE ? 0 : x->chan_rate[old];

		stable->n_channels_new += old == OSR_NONE;
		faster |= rate && rate < fabric->chan_rate[c];
	}
	stable->n_channels_lost = x->n_channels - (fabric->n_channels - stable->n_channels_new);
	if (stable->n_channels_new || faster)
		return osr_fail(diag, OSR_NOT_APPLICABLE,
				"there are cables that the tables of the last full route do not "
				"use, or that were slower then");
	for (uint32_t s = 0; s < n; s++)
		w->grown |= w->then.sw[s] == OSR_NONE;
	if (w->by_sl && !w->by_port)
		w->grants = (uint16_t *)r->granted; /* a copy of our own */
	for (uint32_t d = 0; d < fabric->n_dests; d++) {
		uint32_t root = fabric->dest_switch[d];
		uint8_t *row = osr__repair_row(w, d);

		/* What led there may be whole up to where the fabric has come apart. */
		for (uint32_t v = 0; fabric->n_components > 1 && v < n; v++)
			if (fabric->sw_component[v] != fabric->sw_component[root])
				row[v] = OSR_NO_PATH;
		row[root] = fabric->term_port[fabric->dest_term[d]];
		/* Port 0 is asked by switches with end ports only: one that got its first asks on a route of its own. */
		for (uint32_t v = 0;
		     w->n_lanes && !fabric->term_weight[fabric->dest_term[d]] && v < n; v++)
			if (fabric->sw_sources[v] && v != root &&
			    (w->then.sw[v] == OSR_NONE || !x->sw_sources[w->then.sw[v]]))
				row[v] = OSR_NO_PATH;
		if (w->then.dest[d] != OSR_NONE)
			continue;
		w->grown = true;
		if (r->sl)
			memset(r->sl + d * n, OSR__NO_SL, n);
		if (w->grants)
			memset(w->grants + d * n, 0, n * sizeof(*w->grants));
	}
	/* Lanes by turn, for the first time: all turns that there are stay on lane 0. */
	if (w->by_turn && !r->sl2vl) {
		if (osr_routing_alloc_sl2vl(r, fabric, 0, result, diag))
			return OSR_NOMEM;
		memset(r->ca_sl2vl, 0, sizeof(r->ca_sl2vl));
		r->sl = NULL;
		r->claims |= OSR_CLAIM_ANY_SL;
	}
	if (r->sl2vl)
		baseline_sl2vl(w);
	return OSR_OK;
}

/* ---- lanes by SL and output port -------------------------------------------------------------- */

bool osr__repair_is_by_port(const struct osr_fabric *fabric, const struct osr_routing *routing)
{
	for (uint32_t s = 0; routing->sl && s < fabric->n_switches; s++) {
		size_t n = fabric->sw_n_ports[s] + (size_t)1;
		const osr_sl2vl_t *table = routing->sl2vl + routing->sl2vl_row[s];

		for (size_t in = 1; in < n; in++)
			if (memcmp(table, table + in * n, n * sizeof(*table)) != 0)
				return false;
	}
	return routing->sl;
}

const uint8_t *osr__repair_port_vls(const struct osr_fabric *fabric, const struct osr_routing *r,
				    uint32_t c)
{
	return r->sl2vl[r->sl2vl_row[fabric->chan_src[c]] + fabric->chan_port[c]];
}

/* ---- lanes by turn --------------------------------------------------------------------------- */

uint32_t osr__repair_lanes(const struct osr_routing *old)
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

/* VLs of the turn from channel c to the channel o of the switch between them. */
static uint8_t *turn_vls(const struct osr_fabric *fabric, const struct osr_routing *r, uint32_t c,
			 uint32_t o)
{
	uint32_t s = fabric->chan_dst[c], in = fabric->chan_port[fabric->chan_rev[c]];

	return r->sl2vl[r->sl2vl_row[s] + in * (fabric->sw_n_ports[s] + 1u) + fabric->chan_port[o]];
}

/* The lanes of turns that are not used, by earlier tables in today's numbering, where both cables were there. */
static void read_lanes(struct repair *w, const struct osr_fabric_map *map,
		       const struct osr_routing *r)
{
	const struct osr_fabric *fabric = w->f;

	for (uint32_t c = 0; c < fabric->n_channels; c++)
		for (uint32_t u = fabric->chan_dst[c], o = fabric->chan_row[u];
		     o < fabric->chan_row[u + 1]; o++) {
			uint32_t turn = osr_turn(w->f, c, o);
			uint8_t vl = turn_vls(fabric, r, c, o)[0];

			if (map->chan[c] != OSR_NONE && map->chan[o] != OSR_NONE &&
			    vl < w->n_lanes && !w->order.used[turn])
				w->order.lane[turn] = vl;
		}
}

/* Lanes on which end ports send by each channel. */
static void find_inject(struct repair *w)
{
	const struct osr_fabric *fabric = w->f;
	const struct osr_routing *r = &w->r;

	for (uint32_t c = 0; c < fabric->n_channels; c++) {
		uint32_t s = fabric->chan_src[c], n = fabric->sw_n_ports[s] + 1u;
		const osr_sl2vl_t *vls =
			r->sl2vl ? r->sl2vl + r->sl2vl_row[s] + fabric->chan_port[c] : NULL;
		unsigned lanes = vls ? 1u << (*vls)[0] : 1;

		for (uint32_t t = fabric->term_row[s]; vls && t < fabric->term_row[s + 1]; t++)
			lanes |= 1u << vls[fabric->term_port[t] * n][0];
		w->inject[c] = (uint16_t)(lanes & ((1u << w->n_lanes) - 1));
	}
}

void osr__repair_write_lanes(struct repair *w)
{
	const struct osr_fabric *fabric = w->f;

	for (uint32_t c = 0; c < fabric->n_channels; c++)
		for (uint32_t u = fabric->chan_dst[c], o = fabric->chan_row[u];
		     o < fabric->chan_row[u + 1]; o++) {
			uint8_t *vls = turn_vls(fabric, &w->r, c, o),
				lane = w->order.lane[osr_turn(w->f, c, o)];
			bool other = vls[0] != lane;

			for (uint32_t sl = 0; other && sl < 16; sl++)
				vls[sl] = (uint8_t)(w->r.ca_sl2vl[sl] + lane);
		}
}

/* ---- the order ------------------------------------------------------------------------------- */

uint32_t osr__repair_walk(struct repair *w, uint32_t root, const uint8_t *row)
{
	struct repair_tree *t = &w->tree;
	uint32_t n = 0, n_switches = w->f->n_switches;

	t->mark[root] |= TREE_KNOWN;
	t->len[root] = 0;
	t->order[n++] = root;
	for (uint32_t s = 0; s < n_switches; s++) {
		uint32_t depth = 0, v = s, c, len;

		while (!(t->mark[v] & TREE_KNOWN) && depth < n_switches &&
		       (c = osr__repair_next(w, row, v)) != OSR_NONE) {
			t->stack[depth++] = v;
			v = w->f->chan_dst[c];
		}
		for (len = t->len[v] + 1; t->mark[v] & TREE_KNOWN && depth; len++) {
			v = t->stack[--depth];
			t->mark[v] |= TREE_KNOWN;
			t->len[v] = len;
			t->order[n++] = v;
		}
	}
	return n;
}

/*
 * All turns of the routes of w->r, without asking: they rise in its certificate. From the far end on, the lanes on
 * which packets leave a switch are those of its hosts and those on which packets come to it.
 */
enum osr_status osr__repair_deps(struct repair *w, struct osr_arena *result, struct osr_diag *diag)
{
	const struct osr_fabric *fabric = w->f;
	uint16_t *lanes = w->tree.lanes,
		 *deps = osr_calloc(result, osr_n_turns(fabric), sizeof(*deps));

	if (!deps)
		return osr__repair_nomem(diag);
	if (w->by_turn)
		find_inject(w);
	for (uint32_t d = 0; d < fabric->n_dests; d++) {
		const uint8_t *row = osr__repair_row(w, d);
		uint32_t root = fabric->dest_switch[d], n;

		memset(w->tree.mark, 0, fabric->n_switches);
		n = osr__repair_walk(w, root, row);

		for (uint32_t i = 1; i < n; i++) {
			uint32_t v = w->tree.order[i];

			lanes[v] = osr__repair_start(w, d, v, osr__repair_next(w, row, v));
		}
		for (uint32_t i = n; i-- > 1;) {
			uint32_t v = w->tree.order[i], c = osr__repair_next(w, row, v),
				 u = fabric->chan_dst[c], next;

			if (u == root)
				continue;
			next = osr__repair_next(w, row, u);
			deps[osr_turn(fabric, c, next)] |= lanes[v];
			lanes[u] |= w->by_turn && lanes[v]
					    ? (uint16_t)(1u << turn_vls(fabric, &w->r, c, next)[0])
					    : lanes[v];
		}
	}
	w->r.lane_deps = deps;
	return OSR_OK;
}

enum osr_status osr__repair_order(struct repair *w, struct osr_diag *diag)
{
	const struct osr_routing *r = &w->r, *last = &w->lately.routing;
	struct osr_arena *scratch = w->job->scratch;
	size_t m = w->f->n_channels;
	uint32_t *keys = osr_alloc(scratch, w->n_vls * m, sizeof(*keys));
	enum osr_status st;

	if (!keys)
		return osr__repair_nomem(diag);
	/* Lanes that the baseline did not use start in the order of the first one. */
	for (uint32_t l = 0; l < w->n_vls; l++)
		memcpy(keys + l * m, r->rank + (l < r->n_vls ? l : 0) * m, m * sizeof(*keys));
	/* A route passes every switch once at most; 16 of them at a time, with replies, and turns at one switch. */
	st = osr_order_init(&w->order, w->f, w->n_vls, w->by_turn, keys,
			    16 * w->f->n_switches + 1024, scratch, diag);
	if (st)
		return st;
	/* By port: the lanes of all SLs on the channels of today. */
	if (w->by_port) {
		uint8_t *vl = osr_alloc(scratch, w->n_lanes * m, 1);

		if (!vl)
			return osr__repair_nomem(diag);
		for (size_t at = 0; at < w->n_lanes * m; at++)
			vl[at] = osr__repair_port_vls(w->f, r, (uint32_t)(at % m))[at / m];
		w->order.vl = vl;
	}
	if (w->by_turn && w->base->routing.sl2vl)
		read_lanes(w, &w->then, r);
	if (w->by_turn)
		find_inject(w);
	memcpy(w->order.used, r->lane_deps, osr_n_turns(w->f) * sizeof(*w->order.used));
	/*
	 * Turns that no route of the baseline has keep the lanes of the last sweep: so when something returns,
	 * old and new tables have the same SL2VL tables.
	 */
	if (w->by_turn && w->like_last && osr_repair_is_by_turn(&w->last->routing) &&
	    osr__repair_lanes(&w->last->routing) <= w->n_lanes)
		read_lanes(w, &w->lately.map, last);
	return OSR_OK;
}

/* ---- one route ------------------------------------------------------------------------------- */

uint16_t osr__repair_start(const struct repair *w, uint32_t d, uint32_t v, uint32_t c)
{
	if (!w->n_lanes || !osr__repair_is_used(w->f, d, v))
		return 0;
	return w->by_turn ? w->inject[c] : osr__repair_need(w, d, v);
}

bool osr__repair_route(struct repair *w, uint32_t d, const uint8_t *row, uint32_t c, uint16_t lanes)
{
	const struct osr_fabric *fabric = w->f;
	struct osr_order *order = &w->order;
	uint32_t mark = order->n_log, root = fabric->dest_switch[d], u = fabric->chan_dst[c],
		 next = u == root ? OSR_NONE : osr__repair_next(w, row, u),
		 turn = !lanes || next == OSR_NONE ? 0 : osr_turn(order->fabric, c, next);

	if (!lanes)
		return true;
	for (uint32_t i = 0; !i || next != OSR_NONE; i++) {
		uint32_t in = c, out = next;
		uint16_t now = lanes;
		bool ok = osr__repair_choose_lane(w, turn, i);

		if (!ok)
			return false;
		for (uint32_t hops = 0; ok && now && hops <= fabric->n_switches; hops++) {
			/* The lanes that the cable has today. */
			for (uint16_t left = w->by_sl ? now : 0; left; left &= (uint16_t)(left - 1))
				ok &= osr_order_lane(order, (uint32_t)__builtin_ctz(left), in) <
				      fabric->chan_vls[in];
			if (out == OSR_NONE)
				break; /* there, or the rest will be added when it is found */
			ok = ok && osr_order_add(order, in, out, now);
			now = osr_order_next(order, osr_turn(order->fabric, in, out), now);
			in = out;
			u = fabric->chan_dst[in];
			out = u == root ? OSR_NONE : osr__repair_next(w, row, u);
		}
		if (ok)
			return true;
		osr_order_undo(order, mark);
	}
	return false;
}

/* ---- what was there besides the baseline ------------------------------------------------------ */

/*
 * Packets of the last sweep's routes are still on their way when the new tables come. Where they rise in the
 * same order as the new routes, nothing can deadlock in between; what closes a cycle here is left out, and
 * core/transition finds it.
 */
void osr__repair_add_last(struct repair *w)
{
	struct repair_tree *t = &w->tree;

	for (uint32_t d = 0; w->like_last && d < w->f->n_dests; d++) {
		const uint8_t *row = osr__repair_row(w, d), *last = osr__repair_last_row(w, d);
		uint32_t root = w->f->dest_switch[d];

		if (!memcmp(row, last, w->f->n_switches))
			continue;
		memset(t->mark, 0, w->f->n_switches);
		t->n = 0;
		for (uint32_t v = 0; v < w->f->n_switches; v++)
			if (v != root && last[v] != row[v]) {
				t->mark[v] = TREE_CUT;
				t->list[t->n++] = v;
			}
		w->touched[d] |= t->n != 0;
		if (t->n && w->n_lanes)
			osr__repair_upstream(w, root, last);
		for (uint32_t i = 0; w->n_lanes && i < t->n; i++) {
			uint32_t c = osr__repair_next(w, last, t->list[i]);

			osr_order_begin(&w->order);
			if (c != OSR_NONE)
				osr__repair_route(w, d, last, c,
						  osr__repair_start(w, d, t->list[i], c));
		}
	}
}

/* ---- loads ----------------------------------------------------------------------------------- */

void osr__repair_loads(struct repair *w)
{
	const struct osr_fabric *fabric = w->f;
	uint32_t *flow = w->tree.flow;

	for (uint32_t d = 0; d < fabric->n_dests; d++) {
		const uint8_t *row = osr__repair_row(w, d);
		uint32_t n;

		if (!fabric->term_weight[fabric->dest_term[d]])
			continue;
		memset(w->tree.mark, 0, fabric->n_switches);
		memcpy(flow, fabric->sw_sources, fabric->n_switches * sizeof(*flow));
		n = osr__repair_walk(w, fabric->dest_switch[d], row);
		for (uint32_t i = n; i-- > 1;) {
			uint32_t v = w->tree.order[i], c = osr__repair_next(w, row, v);

			w->load[c] += flow[v];
			flow[fabric->chan_dst[c]] += flow[v];
		}
	}
}

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Where a repair starts: the tables of the baseline in today's numbering, the order in which their
 * routes rise, loads. See repair.c.
 */
#include "repair_private.h"

#include "core/order/fit.h"

#include <osmroutes/each.h>

#include <string.h>

enum osr_status osr_repair_alloc(struct repair *repair, struct osr_diag *diag)
{
	const struct osr_fabric *fabric = repair->fabric;
	struct osr_arena *scratch = repair->job->scratch;
	struct repair_tree *repair_tree = &repair->tree;
	size_t n = fabric->n_switches, m = fabric->n_channels;

	repair_tree->mark = osr_calloc(scratch, n, 1);
	repair_tree->len = osr_alloc(scratch, n, sizeof(*repair_tree->len));
	repair_tree->list = osr_alloc(scratch, n, sizeof(*repair_tree->list));
	osr_tree_alloc(&repair_tree->whole, fabric, scratch);
	repair_tree->stack = osr_alloc(scratch, n, sizeof(*repair_tree->stack));
	repair_tree->span = osr_alloc(scratch, n, sizeof(*repair_tree->span));
	repair_tree->flow = osr_alloc(scratch, n, sizeof(*repair_tree->flow));
	repair_tree->expected = osr_calloc(scratch, m, sizeof(*repair_tree->expected));
	repair_tree->old = osr_alloc(scratch, n, 1);
	repair_tree->lanes = osr_alloc(scratch, n, sizeof(*repair_tree->lanes));
	repair->touched = osr_calloc(scratch, fabric->n_dests, 1);
	repair->load = osr_calloc(scratch, m, sizeof(*repair->load));
	repair->inject = osr_alloc(scratch, m, sizeof(*repair->inject));
	repair->dest_row = osr_calloc(scratch, n + 2, sizeof(*repair->dest_row));
	repair->dest_list = osr_alloc(scratch, fabric->n_dests, sizeof(*repair->dest_list));
	if (osr_arena_failed(scratch, NULL))
		return osr_repair_nomem(diag);
	OSR_EACH_DEST(d, fabric)
		repair->dest_row[fabric->dest_switch[d] + 2]++;
	for (uint32_t s = 0; s < n; s++)
		repair->dest_row[s + 2] += repair->dest_row[s + 1];
	OSR_EACH_DEST(d, fabric)
		repair->dest_list[repair->dest_row[fabric->dest_switch[d] + 1]++] = d;
	return OSR_OK;
}

/* ---- tables ---------------------------------------------------------------------------------- */

enum osr_status osr_repair_carry(const struct repair *repair, const struct osr_fabric *from,
				 const struct osr_routing *was, struct osr_arena *arena,
				 struct osr_earlier *earlier, struct osr_diag *diag)
{
	const struct osr_fabric *fabric = repair->fabric;
	enum osr_status st =
		osr_carry(from, was, fabric, repair->job->scratch, arena, earlier, diag);

	/* A LID on another switch is a new one: its tree has another root. */
	for (uint32_t d = 0; !st && d < fabric->n_dests; d++) {
		if (osr_fabric_map_dest_stays(&earlier->map, d))
			continue;
		earlier->map.dest[d] = OSR_NONE;
		memset(earlier->routing.lft + (size_t)d * fabric->n_switches, OSR_NO_PATH,
		       fabric->n_switches);
	}
	if (!st)
		osr_tables_to_hops(fabric, earlier->routing.lft);
	return st;
}

enum osr_status osr_repair_take(struct repair *repair, const struct osr_routing *routing,
				struct osr_diag *diag)
{
	const struct osr_fabric *fabric = repair->fabric;
	size_t size = (size_t)fabric->n_dests * fabric->n_switches;

	repair->routing = *routing;
	repair->routing.lft = osr_alloc(repair->job->scratch, size, 1);
	if (!repair->routing.lft)
		return osr_repair_nomem(diag);
	memcpy(repair->routing.lft, routing->lft, size);
	osr_tables_to_hops(fabric, repair->routing.lft);
	return OSR_OK;
}

/*
 * An SL that no packet used is on VL 0. Hosts on ports that had no host send like port 0 of their
 * switch.
 */
static void baseline_sl2vl(struct repair *repair)
{
	const struct osr_fabric *fabric = repair->fabric;
	struct osr_routing *routing = &repair->routing;

	OSR_EACH_SWITCH(s, fabric) {
		size_t n = fabric->sw_n_ports[s] + (size_t)1;
		uint8_t *row = routing->sl2vl[routing->sl2vl_row[s]];

		for (size_t i = 0; i < n * n * sizeof(osr_sl2vl_t); i++)
			row[i] = row[i] == OSR_VL_UNSET ? 0 : row[i];
		for (uint32_t t = fabric->term_row[s]; t < fabric->term_row[s + 1]; t++)
			if (osr_fabric_map_terminal(&repair->then, t) == OSR_NONE)
				memcpy(routing->sl2vl[routing->sl2vl_row[s] +
						      fabric->term_port[t] * n],
				       row, n * sizeof(osr_sl2vl_t));
	}
}

enum osr_status osr_repair_tables(struct repair *repair, struct osr_arena *result,
				  struct osr_diag *diag)
{
	const struct osr_fabric *fabric = repair->fabric, *x = &repair->base->fabric;
	struct osr_routing base = repair->base->routing, *routing = &repair->routing;
	struct osr_stable *stable = &repair->routing.stable;
	struct osr_earlier then;
	size_t n = fabric->n_switches;
	enum osr_status st = OSR_OK;
	bool faster = false;

	if (!base.lane_deps)
		st = osr_repair_prepare(repair->base, repair->job->scratch, repair->job->scratch,
					&base, diag);
	if (!st)
		st = osr_repair_carry(repair, x, &base, result, &then, diag);
	if (st)
		return st;
	repair->then = then.map;
	*routing = then.routing;
	/* A full route also restores the original tables after a fault that needed one. */
	OSR_EVERY_CHANNEL(c, fabric) {
		uint32_t old = repair->then.chan[c], rate = old == OSR_NONE ? 0 : x->chan_rate[old];

		stable->n_channels_new += old == OSR_NONE;
		faster |= rate && rate < fabric->chan_rate[c];
	}
	stable->n_channels_lost = x->n_channels - (fabric->n_channels - stable->n_channels_new);
	if (stable->n_channels_new || faster)
		return osr_fail(diag, OSR_NOT_APPLICABLE,
				"there are cables that the tables of the last full route do not "
				"use, or that were slower then");
	for (uint32_t s = 0; s < n; s++)
		repair->grown |= repair->then.sw[s] == OSR_NONE;
	if (repair->scheme == SCHEME_BY_SL)
		repair->grants = (uint16_t *)routing->granted; /* a copy of our own */
	OSR_EACH_DEST(d, fabric) {
		uint32_t root = fabric->dest_switch[d];
		uint8_t *row = osr_repair_row(repair, d);

		/* Earlier routes may be whole up to the place where the fabric has come apart. */
		if (fabric->n_components > 1)
			for (uint32_t v = 0; v < n; v++)
				if (fabric->sw_component[v] != fabric->sw_component[root])
					row[v] = OSR_NO_PATH;
		/*
		 * Port 0 is asked by switches with end ports only. A switch that got its first end
		 * port asks on a route of its own.
		 */
		if (repair->scheme && !fabric->term_weight[fabric->dest_term[d]])
			for (uint32_t v = 0; v < n; v++)
				if (fabric->sw_sources[v] && v != root &&
				    (repair->then.sw[v] == OSR_NONE ||
				     !x->sw_sources[repair->then.sw[v]]))
					row[v] = OSR_NO_PATH;
		if (repair->then.dest[d] != OSR_NONE)
			continue;
		repair->grown = true;
		if (routing->sl)
			memset(routing->sl + d * n, OSR_SL_OPEN, n);
		if (repair->grants)
			memset(repair->grants + d * n, 0, n * sizeof(*repair->grants));
	}
	/* Lanes by turn, for the first time: all turns that there are stay on lane 0. */
	if (repair->scheme == SCHEME_BY_TURN && !routing->sl2vl) {
		if (osr_routing_alloc_sl2vl(routing, fabric, 0, result, diag))
			return OSR_NOMEM;
		memset(routing->ca_sl2vl, 0, sizeof(routing->ca_sl2vl));
		routing->sl = NULL;
		routing->claims |= OSR_CLAIM_ANY_SL;
	}
	if (routing->sl2vl)
		baseline_sl2vl(repair);
	return OSR_OK;
}

/* ---- lanes by SL and output port ------------------------------------------------------------- */

bool osr_repair_is_by_port(const struct osr_fabric *fabric, const struct osr_routing *routing)
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

const uint8_t *osr_repair_port_vls(const struct osr_fabric *fabric,
				   const struct osr_routing *routing, uint32_t c)
{
	return routing->sl2vl[routing->sl2vl_row[fabric->chan_src[c]] + fabric->chan_port[c]];
}

/* ---- lanes by turn --------------------------------------------------------------------------- */

uint32_t osr_repair_lanes(const struct osr_routing *old)
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
static uint8_t *turn_vls(const struct osr_fabric *fabric, const struct osr_routing *routing,
			 uint32_t c, uint32_t o)
{
	uint32_t s = fabric->chan_dst[c], in = fabric->chan_port[fabric->chan_rev[c]];

	return routing->sl2vl[routing->sl2vl_row[s] + in * (fabric->sw_n_ports[s] + 1u) +
			      fabric->chan_port[o]];
}

/*
 * The lanes of turns that are not used, by earlier tables in today's numbering, where both cables
 * were there.
 */
static void read_lanes(struct repair *repair, const struct osr_fabric_map *map,
		       const struct osr_routing *routing)
{
	const struct osr_fabric *fabric = repair->fabric;

	OSR_EVERY_CHANNEL(c, fabric)
		for (uint32_t u = fabric->chan_dst[c], o = fabric->chan_row[u];
		     o < fabric->chan_row[u + 1]; o++) {
			uint32_t turn = osr_turn(repair->fabric, c, o);
			uint8_t vl = turn_vls(fabric, routing, c, o)[0];

			if (map->chan[c] != OSR_NONE && map->chan[o] != OSR_NONE &&
			    vl < repair->n_lanes && !repair->order.used[turn])
				repair->order.lane[turn] = vl;
		}
}

/* Lanes on which end ports send by each channel. */
static void find_inject(struct repair *repair)
{
	const struct osr_fabric *fabric = repair->fabric;
	const struct osr_routing *routing = &repair->routing;

	OSR_EVERY_CHANNEL(c, fabric) {
		uint32_t s = fabric->chan_src[c], n = fabric->sw_n_ports[s] + 1u;
		const osr_sl2vl_t *vls = routing->sl2vl ? routing->sl2vl + routing->sl2vl_row[s] +
								  fabric->chan_port[c]
							: NULL;
		unsigned lanes = vls ? 1u << (*vls)[0] : 1;

		if (vls)
			for (uint32_t t = fabric->term_row[s]; t < fabric->term_row[s + 1]; t++)
				lanes |= 1u << vls[fabric->term_port[t] * n][0];
		repair->inject[c] = (uint16_t)(lanes & ((1u << repair->n_lanes) - 1));
	}
}

void osr_repair_write_lanes(struct repair *repair)
{
	const struct osr_fabric *fabric = repair->fabric;

	OSR_EVERY_CHANNEL(c, fabric)
		for (uint32_t u = fabric->chan_dst[c], o = fabric->chan_row[u];
		     o < fabric->chan_row[u + 1]; o++) {
			uint8_t *vls = turn_vls(fabric, &repair->routing, c, o),
				lane = repair->order.lane[osr_turn(repair->fabric, c, o)];
			bool other = vls[0] != lane;

			if (other)
				for (uint32_t sl = 0; sl < 16; sl++)
					vls[sl] = (uint8_t)(repair->routing.ca_sl2vl[sl] + lane);
		}
}

/* ---- the order ------------------------------------------------------------------------------- */

/*
 * All turns of the routes of repair->routing, without asking, because they rise in its certificate.
 * From the far end on: packets leave a switch on the lanes of its hosts and on the lanes on which
 * packets come to it.
 */
enum osr_status osr_repair_deps(struct repair *repair, struct osr_arena *result,
				struct osr_diag *diag)
{
	const struct osr_fabric *fabric = repair->fabric;
	struct osr_tree *tree = &repair->tree.whole;
	uint16_t *lanes = repair->tree.lanes,
		 *deps = osr_calloc(result, osr_n_turns(fabric), sizeof(*deps));

	if (!deps)
		return osr_repair_nomem(diag);
	if (repair->scheme == SCHEME_BY_TURN)
		find_inject(repair);
	OSR_EACH_DEST(d, fabric) {
		const uint8_t *row = osr_repair_row(repair, d);
		uint32_t root = fabric->dest_switch[d];

		/*
		 * Planes on the lane of the first LIDs find their places in the order after these
		 * (planes.h).
		 */
		if (osr_plane_of(fabric, d) && !repair->routing.sl2vl)
			continue;
		osr_tree_lay_out(tree, root, row, NULL, 0);
		OSR_EACH_NEAR_FIRST(v, tree->near_first, tree->n)
		lanes[v] = osr_repair_start(repair, d, v, osr_repair_next(repair, row, v));
		OSR_EACH_FAR_FIRST(v, tree->near_first, tree->n)
		{
			uint32_t c = osr_repair_next(repair, row, v), u = fabric->chan_dst[c], next;

			if (u == root)
				continue;
			next = osr_repair_next(repair, row, u);
			deps[osr_turn(fabric, c, next)] |= lanes[v];
			lanes[u] |= repair->scheme == SCHEME_BY_TURN && lanes[v]
					    ? (uint16_t)(1u << turn_vls(fabric, &repair->routing, c,
									next)[0])
					    : lanes[v];
		}
	}
	repair->routing.lane_deps = deps;
	return OSR_OK;
}

enum osr_status osr_repair_order(struct repair *repair, struct osr_diag *diag)
{
	const struct osr_routing *routing = &repair->routing, *last = &repair->lately.routing;
	struct osr_arena *scratch = repair->job->scratch;
	size_t m = repair->fabric->n_channels;
	uint32_t *keys = osr_alloc(scratch, repair->n_vls * m, sizeof(*keys));
	enum osr_status st;

	if (!keys)
		return osr_repair_nomem(diag);
	/* Lanes that the baseline did not use start in the order of the first one. */
	for (uint32_t l = 0; l < repair->n_vls; l++)
		memcpy(keys + l * m, routing->rank + (l < routing->n_vls ? l : 0) * m,
		       m * sizeof(*keys));
	/*
	 * A route passes every switch once at most; 16 of them at a time, with replies, and turns
	 * at one switch.
	 */
	st = osr_order_init(&repair->order, repair->fabric, repair->n_vls,
			    repair->scheme == SCHEME_BY_TURN, keys,
			    16 * repair->fabric->n_switches + 1024, scratch, diag);
	if (st)
		return st;
	/* By port: the lanes of all SLs on the current channels. */
	if (repair->scheme == SCHEME_BY_PORT) {
		uint8_t *vl = osr_alloc(scratch, repair->n_lanes * m, 1);

		if (!vl)
			return osr_repair_nomem(diag);
		for (size_t at = 0; at < repair->n_lanes * m; at++)
			vl[at] = osr_repair_port_vls(repair->fabric, routing,
						     (uint32_t)(at % m))[at / m];
		repair->order.vl = vl;
	}
	if (repair->scheme == SCHEME_BY_TURN && repair->base->routing.sl2vl)
		read_lanes(repair, &repair->then, routing);
	if (repair->scheme == SCHEME_BY_TURN)
		find_inject(repair);
	memcpy(repair->order.used, routing->lane_deps,
	       osr_n_turns(repair->fabric) * sizeof(*repair->order.used));
	/*
	 * Turns that no route of the baseline has keep the lanes of the last sweep: so when
	 * something returns, old and new tables have the same SL2VL tables.
	 */
	if (repair->scheme == SCHEME_BY_TURN && repair->like_last &&
	    osr_repair_is_by_turn(&repair->last->routing) &&
	    osr_repair_lanes(&repair->last->routing) <= repair->n_lanes)
		read_lanes(repair, &repair->lately.map, last);
	return OSR_OK;
}

/* ---- one route ------------------------------------------------------------------------------- */

uint16_t osr_repair_start(const struct repair *repair, uint32_t d, uint32_t v, uint32_t c)
{
	if (!repair->scheme || !osr_repair_is_used(repair->fabric, d, v))
		return 0;
	return repair->scheme == SCHEME_BY_TURN ? repair->inject[c] : osr_repair_need(repair, d, v);
}

bool osr_repair_route(struct repair *repair, uint32_t d, const uint8_t *row, uint32_t c,
		      uint16_t lanes)
{
	const struct osr_fabric *fabric = repair->fabric;
	struct osr_order *order = &repair->order;
	uint32_t mark = order->n_log, root = fabric->dest_switch[d], u = fabric->chan_dst[c],
		 next = u == root ? OSR_NONE : osr_repair_next(repair, row, u),
		 turn = !lanes || next == OSR_NONE ? 0 : osr_turn(order->fabric, c, next);

	if (!lanes)
		return true;
	for (uint32_t i = 0; !i || next != OSR_NONE; i++) {
		uint32_t in = c, out = next;
		uint16_t now = lanes;
		bool ok = osr_repair_choose_lane(repair, turn, i);

		if (!ok)
			return false;
		for (uint32_t hops = 0; hops <= fabric->n_switches; hops++) {
			if (!ok || !now)
				break;

			/* The lanes that the cable has today. */
			for (uint16_t left = osr_repair_has_sls(repair) ? now : 0; left;
			     left &= (uint16_t)(left - 1))
				ok &= osr_order_lane(order, (uint32_t)__builtin_ctz(left), in) <
				      fabric->chan_vls[in];
			if (out == OSR_NONE)
				break; /* there, or the rest will be added when it is found */
			ok = ok && osr_order_add(order, in, out, now);
			now = osr_order_next(order, osr_turn(order->fabric, in, out), now);
			in = out;
			u = fabric->chan_dst[in];
			out = u == root ? OSR_NONE : osr_repair_next(repair, row, u);
		}
		if (ok)
			return true;
		osr_order_undo(order, mark);
	}
	return false;
}

/* ---- entries besides the baseline's ---------------------------------------------------------- */

/*
 * Packets of the last sweep's routes are still on their way when the new tables come. Where they
 * rise in the same order as the new routes, nothing can deadlock in between. A route that closes a
 * cycle is left out here, and core/transition finds it.
 */
void osr_repair_add_last(struct repair *repair)
{
	struct repair_tree *repair_tree = &repair->tree;

	for (uint32_t d = 0; repair->like_last && d < repair->fabric->n_dests; d++) {
		const uint8_t *row = osr_repair_row(repair, d),
			      *last = osr_repair_last_row(repair, d);
		uint32_t root = repair->fabric->dest_switch[d];

		if (!memcmp(row, last, repair->fabric->n_switches))
			continue;
		memset(repair_tree->mark, 0, repair->fabric->n_switches);
		repair_tree->n = 0;
		for (uint32_t v = 0; v < repair->fabric->n_switches; v++)
			if (v != root && last[v] != row[v]) {
				repair_tree->mark[v] = TREE_CUT;
				repair_tree->list[repair_tree->n++] = v;
			}
		repair->touched[d] |= repair_tree->n != 0;
		if (repair_tree->n && repair->scheme)
			osr_repair_upstream(repair, root, last);
		if (repair->scheme)
			for (uint32_t i = 0; i < repair_tree->n; i++) {
				uint32_t c = osr_repair_next(repair, last, repair_tree->list[i]);

				osr_order_begin(&repair->order);
				if (c != OSR_NONE)
					osr_repair_route(repair, d, last, c,
							 osr_repair_start(repair, d,
									  repair_tree->list[i], c));
			}
	}
}

/* ---- loads ----------------------------------------------------------------------------------- */

void osr_repair_loads(struct repair *repair)
{
	const struct osr_fabric *fabric = repair->fabric;
	struct osr_tree *tree = &repair->tree.whole;
	uint32_t *flow = repair->tree.flow;

	OSR_EACH_DEST(d, fabric) {
		const uint8_t *row = osr_repair_row(repair, d);

		if (!fabric->term_weight[fabric->dest_term[d]])
			continue;
		memcpy(flow, fabric->sw_sources, fabric->n_switches * sizeof(*flow));
		osr_tree_lay_out(tree, fabric->dest_switch[d], row, NULL, 0);
		OSR_EACH_FAR_FIRST(v, tree->near_first, tree->n)
		{
			uint32_t c = osr_repair_next(repair, row, v);

			repair->load[c] += flow[v];
			flow[fabric->chan_dst[c]] += flow[v];
		}
	}
}

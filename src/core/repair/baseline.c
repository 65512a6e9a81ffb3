/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Where a repair starts: the tables of the baseline, the order in which their routes rise, loads. See repair.c. */
#include "repair_private.h"

#include <string.h>

/* ---- which element is which ------------------------------------------------------------------ */

/* The map of today's fabric in an earlier one. A LID on another switch is a new one: its tree has another root. */
static enum osr_status baseline_map(struct repair *w, const struct osr_result *earlier,
				    struct osr_fabric_map *map, struct osr_diag *diag)
{
	enum osr_status st =
		osr_fabric_map_init(map, &earlier->fabric, w->f, w->job->scratch, diag);

	for (uint32_t d = 0; !st && d < w->f->n_dests; d++)
		if (!osr_fabric_map_dest_stays(map, d))
			map->dest[d] = OSR_NONE;
	return st;
}

enum osr_status osr__repair_map(struct repair *w, struct osr_diag *diag)
{
	struct osr_stable *stable = &w->r.stable;
	bool faster = false;
	enum osr_status st = baseline_map(w, w->base, &w->then, diag);

	if (st)
		return st;
	w->x = w->then.from;
	w->lately = w->then;
	w->back = osr_alloc(w->job->scratch, w->x->n_channels, sizeof(*w->back));
	if (!w->back)
		return osr__repair_nomem(diag);
	memset(w->back, 0xff, w->x->n_channels * sizeof(*w->back));
	for (uint32_t c = 0; c < w->f->n_channels; c++) {
		uint32_t old = w->then.chan[c], rate = old == OSR_NONE ? 0 : w->x->chan_rate[old];

		stable->n_channels_new += old == OSR_NONE;
		if (old != OSR_NONE)
			w->back[old] = c;
		faster |= rate && rate < w->f->chan_rate[c];
	}
	stable->n_channels_lost = w->x->n_channels - (w->f->n_channels - stable->n_channels_new);
	for (uint32_t s = 0; s < w->f->n_switches; s++)
		w->grown |= w->then.sw[s] == OSR_NONE;
	for (uint32_t d = 0; d < w->f->n_dests; d++)
		w->grown |= w->then.dest[d] == OSR_NONE;
	/* A full route also restores the original tables after a fault that needed one. */
	if (stable->n_channels_new || faster)
		return osr_fail(diag, OSR_NOT_APPLICABLE,
				"there are cables that the tables of the last full route do not "
				"use, or that were slower then");
	return w->last == w->base ? OSR_OK : baseline_map(w, w->last, &w->lately, diag);
}

bool osr__repair_sort_dests(struct repair_pairs *p, struct osr_arena *scratch)
{
	const struct osr_fabric *fabric = p->f;

	p->dest_row = osr_calloc(scratch, (size_t)fabric->n_switches + 2, sizeof(*p->dest_row));
	p->dest_list = osr_alloc(scratch, fabric->n_dests, sizeof(*p->dest_list));
	if (osr_arena_failed(scratch, NULL))
		return false;
	for (uint32_t d = 0; d < fabric->n_dests; d++)
		p->dest_row[fabric->dest_switch[d] + 2]++;
	for (uint32_t s = 0; s < fabric->n_switches; s++)
		p->dest_row[s + 2] += p->dest_row[s + 1];
	for (uint32_t d = 0; d < fabric->n_dests; d++)
		p->dest_list[p->dest_row[fabric->dest_switch[d] + 1]++] = d;
	return true;
}

/* ---- tables ---------------------------------------------------------------------------------- */

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
	const struct osr_fabric *fabric = w->f;
	const struct osr_routing *base = &w->base->routing;
	struct osr_stable stable = w->r.stable;
	size_t n = fabric->n_switches;
	enum osr_status st = osr_carry_routing(&w->then, base, result, &w->r, diag);

	if (st)
		return st;
	w->r.stable = stable;
	w->r.strategy = base->strategy;
	w->r.claims = base->claims;
	w->r.n_layers = base->n_layers;
	w->r.n_layers_one_way = base->n_layers_one_way;
	w->r.n_rounds = base->n_rounds;
	w->r.n_longer = base->n_longer;
	w->pairs = (struct repair_pairs){ .f = fabric, .sl = w->r.sl };
	if (w->n_lanes && !w->shared && !w->by_turn && !w->by_port)
		w->pairs.grants = (uint16_t *)w->r.granted; /* a copy of our own */
	for (uint32_t d = 0; d < fabric->n_dests; d++) {
		uint32_t root = fabric->dest_switch[d];
		uint8_t *row = osr__repair_row(w, d);

		/* What led there may be whole up to where the fabric has come apart. */
		for (uint32_t v = 0; fabric->n_components > 1 && v < n; v++)
			if (fabric->sw_component[v] != fabric->sw_component[root])
				row[v] = OSR_NO_PATH;
		row[root] = fabric->term_port[fabric->dest_term[d]];
		if (w->r.sl && w->then.dest[d] == OSR_NONE)
			memset(w->r.sl + d * n, OSR__NO_SL, n);
	}
	/* Lanes by turn, for the first time: all turns that there are stay on lane 0. */
	if (w->spare && !w->r.sl2vl) {
		if (osr_routing_alloc_sl2vl(&w->r, fabric, 0, result, diag))
			return OSR_NOMEM;
		memset(w->r.ca_sl2vl, 0, sizeof(w->r.ca_sl2vl));
		w->r.sl = NULL;
		w->r.claims |= OSR_CLAIM_ANY_SL;
	}
	if (w->r.sl2vl)
		baseline_sl2vl(w);
	return osr__repair_sort_dests(&w->pairs, w->job->scratch) ? OSR_OK
								  : osr__repair_nomem(diag);
}

void osr__repair_last_row(const struct repair *w, uint32_t d, uint8_t *row)
{
	const struct osr_fabric_map *map = &w->lately;
	const uint8_t *from = w->last->routing.lft + (size_t)map->dest[d] * map->from->n_switches;

	for (uint32_t v = 0; v < w->f->n_switches; v++)
		row[v] = map->dest[d] == OSR_NONE || map->sw[v] == OSR_NONE ||
					 v == w->f->dest_switch[d]
				 ? OSR_NO_PATH
				 : osr_carry_port(map, v, from[map->sw[v]]);
}

enum osr_status osr__repair_alloc(struct repair *w, struct osr_diag *diag)
{
	struct osr_arena *scratch = w->job->scratch;
	struct repair_tree *t = &w->tree;
	size_t n = w->f->n_switches, m = w->f->n_channels;

	t->cut = osr_calloc(scratch, n, sizeof(*t->cut));
	t->known = osr_calloc(scratch, n, sizeof(*t->known));
	t->forced = osr_calloc(scratch, n, sizeof(*t->forced));
	t->whole = osr_calloc(scratch, n, sizeof(*t->whole));
	t->len = osr_alloc(scratch, n, sizeof(*t->len));
	t->list = osr_alloc(scratch, n, sizeof(*t->list));
	t->stack = osr_alloc(scratch, n, sizeof(*t->stack));
	t->flow = osr_alloc(scratch, n, sizeof(*t->flow));
	t->expected = osr_calloc(scratch, m, sizeof(*t->expected));
	t->old = osr_alloc(scratch, n, 1);
	t->last = osr_alloc(scratch, n, 1);
	t->relaxed = osr_calloc(scratch, n, 1);
	t->lanes = osr_alloc(scratch, n, sizeof(*t->lanes));
	w->touched = osr_calloc(scratch, w->f->n_dests, 1);
	w->load = osr_calloc(scratch, m, sizeof(*w->load));
	return osr_arena_failed(scratch, NULL) ? osr__repair_nomem(diag) : OSR_OK;
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

static const uint8_t *baseline_port_vls(const struct osr_result *base, uint32_t c)
{
	const struct osr_fabric *x = &base->fabric;
	const struct osr_routing *r = &base->routing;

	return r->sl2vl[r->sl2vl_row[x->chan_src[c]] + x->chan_port[c]];
}

void osr__repair_count_lanes(struct repair *w, uint32_t max_vls)
{
	w->n_vls = w->base->routing.n_vls;
	w->n_lanes = 16;
	for (uint32_t c = 0; c < w->base->fabric.n_channels; c++)
		for (uint32_t sl = 0; sl < w->n_lanes; sl++) {
			uint8_t vl = baseline_port_vls(w->base, c)[sl];

			if (vl >= max_vls)
				w->n_lanes = sl;
			else if (vl >= w->n_vls)
				w->n_vls = vl + 1u;
		}
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
static uint8_t *baseline_vls(const struct osr_fabric *fabric, const struct osr_routing *r,
			     uint32_t c, uint32_t o)
{
	uint32_t s = fabric->chan_dst[c], in = fabric->chan_port[fabric->chan_rev[c]];

	return r->sl2vl[r->sl2vl_row[s] + in * (fabric->sw_n_ports[s] + 1u) + fabric->chan_port[o]];
}

/* The lanes of turns that are not used, by earlier tables. */
static void baseline_read_lanes(struct repair *w, const struct osr_fabric_map *map,
				const struct osr_routing *r)
{
	const struct osr_fabric *fabric = w->f;

	for (uint32_t c = 0; c < fabric->n_channels; c++)
		for (uint32_t u = fabric->chan_dst[c], o = fabric->chan_row[u];
		     o < fabric->chan_row[u + 1]; o++) {
			uint32_t c1 = map->chan[c], c2 = map->chan[o],
				 turn = osr_order_turn(&w->order, c, o),
				 vl = c1 == OSR_NONE || c2 == OSR_NONE
					      ? OSR_NONE
					      : baseline_vls(map->from, r, c1, c2)[0];

			if (vl < w->n_lanes && !w->order.used[turn])
				w->order.lane[turn] = (uint8_t)vl;
		}
}

/* Lanes on which end ports of s send by channel c, by these tables. */
static uint16_t baseline_inject(const struct repair *w, const struct osr_fabric *fabric,
				const struct osr_routing *r, uint32_t c)
{
	uint32_t s = fabric->chan_src[c];
	const osr_sl2vl_t *vls;
	uint16_t lanes;

	if (!r->sl2vl)
		return 1;
	vls = r->sl2vl + r->sl2vl_row[s] + fabric->chan_port[c];
	lanes = (uint16_t)(1u << (*vls)[0]);
	for (uint32_t t = fabric->term_row[s]; t < fabric->term_row[s + 1]; t++)
		lanes |= (uint16_t)(1u
				    << vls[fabric->term_port[t] * (fabric->sw_n_ports[s] + 1u)][0]);
	return lanes & (uint16_t)((1u << w->n_lanes) - 1);
}

void osr__repair_write_lanes(struct repair *w)
{
	const struct osr_fabric *fabric = w->f;

	for (uint32_t c = 0; c < fabric->n_channels; c++)
		for (uint32_t u = fabric->chan_dst[c], o = fabric->chan_row[u];
		     o < fabric->chan_row[u + 1]; o++) {
			uint8_t *vls = baseline_vls(fabric, &w->r, c, o),
				lane = w->order.lane[osr_order_turn(&w->order, c, o)];
			bool other = vls[0] != lane;

			for (uint32_t sl = 0; other && sl < 16; sl++)
				vls[sl] = (uint8_t)(w->r.ca_sl2vl[sl] + lane);
		}
}

/* ---- the order ------------------------------------------------------------------------------- */

/* Arrays of a walk over all tables. */
struct walk {
	const struct osr_fabric *f;
	uint8_t *seen;    /* [n_switches] */
	uint32_t *stack;  /* [n_switches] */
	uint32_t *order;  /* [n_switches] */
	uint32_t *flow;   /* [n_switches] end ports that send through a switch */
	uint16_t *lanes;  /* [n_switches] on which packets leave it */
	uint16_t *inject; /* [n_channels] by turn: lanes on which end ports send */
};

static bool walk_init(struct walk *k, const struct osr_fabric *fabric, struct osr_arena *scratch)
{
	size_t n = fabric->n_switches;

	k->f = fabric;
	k->seen = osr_alloc(scratch, n, 1);
	k->stack = osr_alloc(scratch, n, sizeof(*k->stack));
	k->order = osr_alloc(scratch, n, sizeof(*k->order));
	k->flow = osr_alloc(scratch, n, sizeof(*k->flow));
	k->lanes = osr_alloc(scratch, n, sizeof(*k->lanes));
	k->inject = osr_alloc(scratch, fabric->n_channels, sizeof(*k->inject));
	return !osr_arena_failed(scratch, NULL);
}

/* The switches whose way along row leads to root, that one first, each after the one it sends to: order[]. */
static uint32_t walk_tree(struct walk *k, uint32_t root, const uint8_t *row)
{
	uint32_t n = 0, n_switches = k->f->n_switches;

	memset(k->seen, 0, n_switches);
	k->seen[root] = 1;
	k->order[n++] = root;
	for (uint32_t s = 0; s < n_switches; s++) {
		uint32_t depth = 0, v = s;

		while (!k->seen[v] && depth < n_switches) {
			uint32_t c = row[v] == OSR_NO_PATH ? OSR_NONE
							   : osr_port_channel(k->f, v, row[v]);

			if (c == OSR_NONE)
				break;
			k->stack[depth++] = v;
			v = k->f->chan_dst[c];
		}
		while (k->seen[v] && depth) {
			uint32_t u = k->stack[--depth];

			k->seen[u] = 1;
			k->order[n++] = u;
		}
	}
	return n;
}

/*
 * All turns of the baseline's routes that are there today, without asking: they rise in its certificate. From the
 * far end on, the lanes on which packets leave a switch are those of its hosts and those on which packets come to
 * it.
 */
static enum osr_status baseline_walk(struct repair *w, struct osr_diag *diag)
{
	const struct osr_fabric *fabric = w->x;
	const struct osr_routing *r = &w->base->routing;
	struct repair_pairs pairs = { .f = fabric, .sl = r->sl, .grants = (uint16_t *)r->granted };
	struct walk k;

	if (!osr__repair_sort_dests(&pairs, w->job->scratch) ||
	    !walk_init(&k, fabric, w->job->scratch))
		return osr__repair_nomem(diag);
	for (uint32_t c = 0; w->by_turn && c < fabric->n_channels; c++)
		k.inject[c] = baseline_inject(w, fabric, r, c);
	for (uint32_t d = 0; d < fabric->n_dests; d++) {
		const uint8_t *row = r->lft + (size_t)d * fabric->n_switches;
		uint32_t root = fabric->dest_switch[d], n = walk_tree(&k, root, row);

		for (uint32_t i = 1; i < n; i++) {
			uint32_t v = k.order[i];

			k.lanes[v] = 0;
			if (osr__repair_is_used(fabric, d, v))
				k.lanes[v] = w->by_turn
						     ? k.inject[osr_port_channel(fabric, v, row[v])]
						     : osr__repair_need(w, &pairs, d, v);
		}
		for (uint32_t i = n; i-- > 1;) {
			uint32_t v = k.order[i], c = osr_port_channel(fabric, v, row[v]),
				 u = fabric->chan_dst[c], next;

			if (u == root)
				continue;
			next = osr_port_channel(fabric, u, row[u]);
			if (w->back[c] != OSR_NONE && w->back[next] != OSR_NONE)
				w->order.used[osr_order_turn(&w->order, w->back[c],
							     w->back[next])] |= k.lanes[v];
			k.lanes[u] |=
				w->by_turn && r->sl2vl && k.lanes[v]
					? (uint16_t)(1u << baseline_vls(fabric, r, c, next)[0])
					: k.lanes[v];
		}
	}
	return OSR_OK;
}

/* The same, as it was found before, by the slots of the baseline's fabric. */
static void take_lane_deps(struct repair *w, uint32_t *first)
{
	const struct osr_fabric *x = w->x, *fabric = w->f;

	for (uint32_t c = 0, n = 0; c < x->n_channels; c++) {
		first[c] = n;
		n += x->chan_row[x->chan_dst[c] + 1] - x->chan_row[x->chan_dst[c]];
	}
	for (uint32_t c = 0; c < fabric->n_channels; c++)
		for (uint32_t u = fabric->chan_dst[c], o = fabric->chan_row[u];
		     o < fabric->chan_row[u + 1]; o++)
			w->order.used[osr_order_turn(&w->order, c, o)] =
				w->base->routing
					.lane_deps[first[w->then.chan[c]] + w->then.chan[o] -
						   x->chan_row[x->chan_src[w->then.chan[o]]]];
}

enum osr_status osr__repair_order(struct repair *w, struct osr_diag *diag)
{
	const struct osr_routing *r = &w->base->routing;
	struct osr_arena *scratch = w->job->scratch;
	struct osr_arena_mark mark;
	size_t m = w->f->n_channels;
	uint32_t *keys;
	enum osr_status st;

	w->inject = osr_alloc(scratch, w->by_turn ? m : 0, sizeof(*w->inject));
	keys = osr_alloc(scratch, w->n_vls * m + w->x->n_channels, sizeof(*keys));
	if (osr_arena_failed(scratch, NULL))
		return osr__repair_nomem(diag);
	/* Lanes that the baseline did not use start in the order of the first one. */
	for (uint32_t l = 0; l < w->n_vls; l++)
		for (uint32_t c = 0; c < m; c++)
			keys[l * m + c] =
				r->rank[(l < r->n_vls ? l : 0) * (size_t)w->x->n_channels +
					w->then.chan[c]];
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
			vl[at] = baseline_port_vls(w->base, w->then.chan[at % m])[at / m];
		w->order.vl = vl;
	}
	if (w->by_turn && r->sl2vl)
		baseline_read_lanes(w, &w->then, r);
	for (uint32_t c = 0; w->by_turn && c < m; c++)
		w->inject[c] = baseline_inject(w, w->x, r, w->then.chan[c]);
	mark = osr_arena_mark(scratch);
	if (r->lane_deps)
		take_lane_deps(w, keys + w->n_vls * m);
	else
		st = baseline_walk(w, diag);
	osr_arena_reset(scratch, mark);
	/*
	 * Turns that no route of the baseline has keep the lanes of the last sweep: so when something returns,
	 * old and new tables have the same SL2VL tables.
	 */
	if (!st && w->by_turn && w->like_last && osr_repair_is_by_turn(&w->last->routing) &&
	    osr__repair_lanes(&w->last->routing) <= w->n_lanes)
		baseline_read_lanes(w, &w->lately, &w->last->routing);
	return st;
}

/* ---- one route ------------------------------------------------------------------------------- */

uint16_t osr__repair_start(const struct repair *w, uint32_t d, uint32_t v, uint32_t c)
{
	if (!w->n_lanes || !osr__repair_is_used(w->f, d, v))
		return 0;
	return w->by_turn ? w->inject[c] : osr__repair_need(w, &w->pairs, d, v);
}

/* Has the cable of c the lanes of these today? */
static bool route_has_lanes(const struct repair *w, uint32_t c, uint16_t lanes)
{
	if (!w->by_port)
		return !(lanes >> w->f->chan_vls[c]);
	for (; lanes; lanes &= (uint16_t)(lanes - 1))
		if (osr_order_lane(&w->order, (uint32_t)__builtin_ctz(lanes), c) >=
		    w->f->chan_vls[c])
			return false;
	return true;
}

static bool route_along(struct repair *w, uint32_t d, const uint8_t *row, uint32_t c,
			uint16_t lanes)
{
	struct osr_order *order = &w->order;
	uint32_t root = w->f->dest_switch[d];

	for (uint32_t hops = 0; lanes && hops <= w->f->n_switches; hops++) {
		uint32_t u = w->f->chan_dst[c], next;

		/* The lanes that the cable has today. */
		if (!w->shared && !w->by_turn && !route_has_lanes(w, c, lanes))
			return false;
		next = u == root ? OSR_NONE : osr__repair_next(w, row, u);
		if (next == OSR_NONE)
			return true; /* there, or the rest will be added when it is found */
		if (!osr_order_add(order, c, next, lanes))
			return false;
		lanes = osr_order_next(order, osr_order_turn(order, c, next), lanes);
		c = next;
	}
	return true;
}

bool osr__repair_route(struct repair *w, uint32_t d, const uint8_t *row, uint32_t c, uint16_t lanes)
{
	struct osr_order *order = &w->order;
	uint32_t mark = order->n_log, u = w->f->chan_dst[c], next, turn;
	uint8_t was;

	if (!lanes || route_along(w, d, row, c, lanes))
		return true;
	osr_order_undo(order, mark);
	next = u == w->f->dest_switch[d] || !order->lane ? OSR_NONE : osr__repair_next(w, row, u);
	if (next == OSR_NONE)
		return false;
	turn = osr_order_turn(order, c, next);
	was = order->lane[turn];
	/* SL2VL tables change only where they must: the lane that it has came first. */
	for (uint8_t l = 0; !order->used[turn] && l < w->n_lanes; l++) {
		if (l != was && osr_order_set_lane(order, turn, l) &&
		    route_along(w, d, row, c, lanes))
			return true;
		osr_order_undo(order, mark);
	}
	return false;
}

/* ---- what was there besides the baseline ------------------------------------------------------ */

/* Are the entries of the last sweep those of the baseline, byte for byte? */
static bool baseline_is_last(const struct repair *w, uint32_t d)
{
	size_t n = w->x->n_switches;
	const struct osr_fabric *fabric = &w->last->fabric;

	return w->last == w->base || (fabric->n_switches == n && fabric->n_dests == w->x->n_dests &&
				      w->then.dest[d] != OSR_NONE &&
				      !memcmp(w->last->routing.lft + w->then.dest[d] * n,
					      w->base->routing.lft + w->then.dest[d] * n, n));
}

/*
 * Packets of the last sweep's routes are still on their way when the new tables come. Where they rise in the
 * same order as the new routes, nothing can deadlock in between; what closes a cycle here is left out, and
 * core/transition finds it.
 */
void osr__repair_add_last(struct repair *w)
{
	struct repair_tree *t = &w->tree;

	for (uint32_t d = 0; w->like_last && d < w->f->n_dests; d++) {
		const uint8_t *row = osr__repair_row(w, d);
		uint32_t root = w->f->dest_switch[d];

		if (baseline_is_last(w, d))
			continue;
		osr__repair_last_row(w, d, t->last);
		t->epoch++;
		t->n = 0;
		for (uint32_t v = 0; v < w->f->n_switches; v++)
			if (v != root && t->last[v] != row[v]) {
				t->cut[v] = t->epoch;
				t->list[t->n++] = v;
			}
		w->touched[d] |= t->n != 0;
		if (t->n && w->n_lanes)
			osr__repair_upstream(w, root, t->last);
		for (uint32_t i = 0; w->n_lanes && i < t->n; i++) {
			uint32_t c = osr__repair_next(w, t->last, t->list[i]);

			osr_order_begin(&w->order);
			if (c != OSR_NONE)
				osr__repair_route(w, d, t->last, c,
						  osr__repair_start(w, d, t->list[i], c));
		}
	}
}

/*
 * Port 0 is asked by switches with end ports only. One that got its first since the baseline asks on routes
 * that the certificate did not cover.
 */
void osr__repair_add_fresh(struct repair *w)
{
	const struct osr_fabric *fabric = w->f;

	for (uint32_t v = 0; w->n_lanes && v < fabric->n_switches; v++) {
		uint32_t old = w->then.sw[v];

		if (!fabric->sw_sources[v] || (old != OSR_NONE && w->x->sw_sources[old]))
			continue;
		for (uint32_t d = 0; d < fabric->n_dests; d++) {
			uint8_t *row = osr__repair_row(w, d);
			uint32_t c = osr__repair_next(w, row, v);

			if (fabric->term_weight[fabric->dest_term[d]] ||
			    v == fabric->dest_switch[d] || c == OSR_NONE)
				continue;
			osr_order_begin(&w->order);
			if (!osr__repair_route(w, d, row, c, osr__repair_start(w, d, v, c)))
				row[v] = OSR_NO_PATH;
		}
	}
}

/* ---- loads ----------------------------------------------------------------------------------- */

/* Those of the routes that are whole. */
static enum osr_status loads_now(struct repair *w, struct osr_diag *diag)
{
	const struct osr_fabric *fabric = w->f;
	struct walk k;

	if (!walk_init(&k, fabric, w->job->scratch))
		return osr__repair_nomem(diag);
	for (uint32_t d = 0; d < fabric->n_dests; d++) {
		const uint8_t *row = osr__repair_row(w, d);
		uint32_t n = fabric->term_weight[fabric->dest_term[d]]
				     ? walk_tree(&k, fabric->dest_switch[d], row)
				     : 0;

		for (uint32_t i = 0; i < n; i++)
			k.flow[k.order[i]] = fabric->sw_sources[k.order[i]];
		for (uint32_t i = n; i-- > 1;) {
			uint32_t v = k.order[i], c = osr__repair_next(w, row, v);

			w->load[c] += k.flow[v];
			k.flow[fabric->chan_dst[c]] += k.flow[v];
		}
	}
	return OSR_OK;
}

enum osr_status osr__repair_loads(struct repair *w, struct osr_diag *diag)
{
	struct osr_arena_mark mark = osr_arena_mark(w->job->scratch);
	enum osr_status st;

	/* With the end ports of the baseline those that the checker has counted, of whole and of cut routes. */
	w->counted = w->base->load && !w->grown && w->f->n_components <= w->x->n_components &&
		     w->f->n_dests == w->x->n_dests && w->f->n_terminals == w->x->n_terminals;
	for (uint32_t c = 0; w->counted && c < w->f->n_channels; c++)
		w->load[c] = w->base->load[w->then.chan[c]];
	st = w->counted ? OSR_OK : loads_now(w, diag);
	osr_arena_reset(w->job->scratch, mark);
	return st;
}

/* ---- length ---------------------------------------------------------------------------------- */

/*
 * Where no route of the baseline was longer than minimal and no path was refused, none is: what is whole stays
 * minimal when channels die. Else each switch with LIDs has its distances measured, by a breadth-first search.
 */
enum osr_status osr__repair_count_longer(struct repair *w, struct osr_diag *diag)
{
	const struct osr_fabric *fabric = w->f;
	struct osr_arena_mark mark = osr_arena_mark(w->job->scratch);
	uint32_t *dist = w->tree.len, *len = w->tree.flow, *queue = w->tree.list;
	bool any = w->r.n_longer || w->rejected;
	struct walk k;

	if (any && !walk_init(&k, fabric, w->job->scratch))
		return osr__repair_nomem(diag);
	w->r.n_longer = 0;
	for (uint32_t s = 0; any && s < fabric->n_switches; s++) {
		uint32_t head = 0, tail = 0, first = w->pairs.dest_row[s],
			 end = w->pairs.dest_row[s + 1];

		if (first == end)
			continue;
		memset(dist, 0xff, fabric->n_switches * sizeof(*dist));
		dist[s] = 0;
		for (queue[tail++] = s; head < tail; head++)
			for (uint32_t u = queue[head], o = fabric->chan_row[u];
			     o < fabric->chan_row[u + 1]; o++)
				if (dist[fabric->chan_dst[o]] == OSR_NONE) {
					dist[fabric->chan_dst[o]] = dist[u] + 1;
					queue[tail++] = fabric->chan_dst[o];
				}
		for (uint32_t i = first; i < end; i++) {
			const uint8_t *row = osr__repair_row(w, w->pairs.dest_list[i]);
			uint32_t n = walk_tree(&k, s, row);

			len[s] = 0;
			for (uint32_t j = 1; j < n; j++) {
				uint32_t v = k.order[j];

				len[v] = len[fabric->chan_dst[osr__repair_next(w, row, v)]] + 1;
				w->r.n_longer += len[v] > dist[v];
			}
		}
	}
	osr_arena_reset(w->job->scratch, mark);
	if (w->r.n_longer && w->opt->minimal)
		return osr_fail(
			diag, OSR_NOT_APPLICABLE,
			"the shortest paths that are left do not agree with the tables that are "
			"kept");
	return OSR_OK;
}

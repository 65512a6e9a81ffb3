/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * From the tables of before to those of today: which switch, LID and channel is which; where a re-route
 * starts (tables, dependencies, loads, SLs of earlier); and its result in the numbering of today.
 */
#include "reroute_private.h"

#include <inttypes.h>
#include <string.h>

#include <osmroutes/set.h>

#include "core/paths/bound.h"

/* ---- the map --------------------------------------------------------------------------------- */

/* A destination on another switch is a new one: its tree has another root. */
static void map_forget_moved(struct osr_fabric_map *map)
{
	for (uint32_t d = 0; d < map->to->n_dests; d++)
		if (!osr_fabric_map_dest_stays(map, d))
			map->dest[d] = OSR_NONE;
}

static uint32_t map_count_new(const uint32_t *map, uint32_t n)
{
	uint32_t n_new = 0;

	for (uint32_t i = 0; i < n; i++)
		n_new += map[i] == OSR_NONE;
	return n_new;
}

static void invert(const uint32_t *map, uint32_t n, uint32_t *back, uint32_t n_back)
{
	memset(back, 0xff, n_back * sizeof(*back));
	for (uint32_t i = 0; i < n; i++)
		if (map[i] != OSR_NONE)
			back[map[i]] = i;
}

static enum osr_status map_last(struct osr__reroute *w, struct osr_diag *diag)
{
	struct osr_fabric_map map;
	enum osr_status st = osr_fabric_map_init(&map, &w->last->fabric, w->x, w->scratch, diag);

	if (st)
		return st;
	map_forget_moved(&map);
	w->map.sw_last = map.sw;
	w->map.dest_last = map.dest;
	w->new_ways |= !w->same && map_count_new(map.chan, w->x->n_channels);
	return OSR_OK;
}

/* Is a cable of today faster than it was? That is as good as a new one. */
static bool map_any_faster(const struct osr_fabric_map *map)
{
	for (uint32_t c = 0; c < map->to->n_channels; c++) {
		uint32_t rate = map->chan[c] == OSR_NONE ? 0 : map->from->chan_rate[map->chan[c]];

		if (rate && rate < map->to->chan_rate[c])
			return true;
	}
	return false;
}

enum osr_status osr__map(struct osr__reroute *w, struct osr_diag *diag)
{
	const struct osr_fabric *fabric = w->f, *x = &w->baseline->fabric;
	struct osr_fabric_map map;
	enum osr_status st = osr_fabric_map_init(&map, x, fabric, w->scratch, diag);
	uint32_t n_new;

	if (st)
		return st;
	map_forget_moved(&map);
	n_new = map_count_new(map.chan, fabric->n_channels);
	w->out.stable.n_channels_new = n_new;
	w->out.stable.n_channels_lost = x->n_channels - (fabric->n_channels - n_new);
	w->new_ways |= map_any_faster(&map);
	w->same = !n_new && !map_count_new(map.sw, fabric->n_switches) &&
		  !map_count_new(map.dest, fabric->n_dests);
	if (!w->same) {
		/* The baseline cannot hold it: the last tables move to the fabric of today. */
		x = fabric;
		osr_set_init(map.sw, fabric->n_switches);
		osr_set_init(map.dest, fabric->n_dests);
		osr_set_init(map.chan, fabric->n_channels);
	}
	w->map.sw_x = map.sw;
	w->map.dest_x = map.dest;
	w->map.chan_x = map.chan;
	w->x = x;
	w->base = w->same ? &w->baseline->routing : &w->last->routing;
	w->map.sw_f = osr_alloc(w->scratch, x->n_switches, sizeof(*w->map.sw_f));
	w->map.dest_f = osr_alloc(w->scratch, x->n_dests, sizeof(*w->map.dest_f));
	w->map.chan_f = osr_alloc(w->scratch, x->n_channels, sizeof(*w->map.chan_f));
	if (!w->map.sw_f || !w->map.dest_f || !w->map.chan_f)
		return osr__nomem(diag);
	invert(w->map.sw_x, fabric->n_switches, w->map.sw_f, x->n_switches);
	invert(w->map.dest_x, fabric->n_dests, w->map.dest_f, x->n_dests);
	invert(w->map.chan_x, fabric->n_channels, w->map.chan_f, x->n_channels);
	return w->same && w->last == w->baseline ? OSR_OK : map_last(w, diag);
}

void osr__last_row(const struct osr__reroute *w, uint32_t d, uint8_t *row)
{
	const struct osr_fabric *x = w->x, *fabric = &w->last->fabric;
	uint32_t old = w->map.sw_last ? w->map.dest_last[d] : d, root = x->dest_switch[d];
	const uint8_t *from;

	if (old == OSR_NONE) {
		memset(row, OSR_NO_PATH, x->n_switches);
		return;
	}
	from = w->last->routing.lft + (size_t)old * fabric->n_switches;
	/* The same cables by the same numbers; dead ones are not alive in x either. */
	if (w->last == w->baseline && w->same && !w->map.sw_last) {
		memcpy(row, from, x->n_switches);
		row[root] = OSR_NO_PATH;
		return;
	}
	memset(row, OSR_NO_PATH, x->n_switches);
	for (uint32_t v = 0; v < x->n_switches; v++) {
		uint32_t s = w->map.sw_last ? w->map.sw_last[v] : v, c, before;

		if (s == OSR_NONE || v == root)
			continue;
		c = osr__alive(w, v, from[s]);
		before = osr_port_channel(fabric, s, from[s]);
		if (c != OSR_NONE && before != OSR_NONE &&
		    fabric->chan_dst[before] ==
			    (w->map.sw_last ? w->map.sw_last[x->chan_dst[c]] : x->chan_dst[c]))
			row[v] = from[s];
	}
}

uint32_t osr__last_parent(const struct osr__reroute *w, uint32_t s)
{
	const struct osr_fabric *fabric = &w->last->fabric, *x = w->x;
	const uint32_t *parent = w->last->routing.mcast_parent;
	uint32_t old = w->map.sw_last ? w->map.sw_last[s] : s, c, now;

	if (!parent || old == OSR_NONE || parent[old] == OSR_NONE)
		return OSR_NONE;
	c = parent[old];
	if (!w->map.sw_last)
		return c;
	now = osr_port_channel(x, s, fabric->chan_port[c]);
	return now != OSR_NONE && w->map.sw_last[x->chan_dst[now]] == fabric->chan_dst[c]
		       ? now
		       : OSR_NONE;
}

/* ---- tables ---------------------------------------------------------------------------------- */

void osr__copy_rows(const struct osr_fabric_map *map, const uint8_t *from, uint8_t missing,
		    uint8_t *to)
{
	const uint32_t *sw = map->sw;
	uint32_t n = map->to->n_switches;

	for (uint32_t d = 0; d < map->to->n_dests; d++) {
		uint8_t *out = to + (size_t)d * n;
		const uint8_t *row;

		if (map->dest[d] == OSR_NONE) {
			memset(out, missing, n);
			continue;
		}
		row = from + (size_t)map->dest[d] * map->from->n_switches;
		for (uint32_t s = 0; s < n;) {
			uint32_t run = 1;

			while (sw[s] != OSR_NONE && s + run < n && sw[s + run] == sw[s] + run)
				run++;
			if (sw[s] == OSR_NONE)
				out[s] = missing;
			else
				memcpy(out + s, row + sw[s], run);
			s += run;
		}
	}
}

bool osr__same_size(const struct osr__reroute *w)
{
	return w->f->n_switches == w->x->n_switches && w->f->n_dests == w->x->n_dests;
}

/* The tables in the making, in the result at once where numbers are the same. */
enum osr_status osr__take_tables(struct osr__reroute *w, struct osr_arena *result,
				 struct osr_diag *diag)
{
	const struct osr_fabric *fabric = w->x;
	struct osr_arena *arena = osr__same_size(w) ? result : w->scratch;
	size_t n = fabric->n_switches, size;

	if (__builtin_mul_overflow((size_t)fabric->n_dests, n, &size))
		return osr__nomem(diag);
	w->tab.lft = osr_alloc(arena, size, 1);
	w->tab.sl = w->base->sl ? osr_alloc(arena, size, 1) : NULL;
	if (!w->tab.lft || (w->base->sl && !w->tab.sl))
		return osr__nomem(diag);
	if (w->same) {
		memcpy(w->tab.lft, w->base->lft, size);
		if (w->tab.sl)
			memcpy(w->tab.sl, w->base->sl, size);
		return OSR_OK;
	}
	for (uint32_t d = 0; d < fabric->n_dests; d++) {
		uint32_t part = fabric->sw_component[fabric->dest_switch[d]];
		uint8_t *row = w->tab.lft + d * n;

		osr__last_row(w, d, row);
		/* What led there may be whole up to where the fabric has come apart. */
		for (uint32_t v = 0; v < n; v++)
			if (fabric->sw_component[v] != part)
				row[v] = OSR_NO_PATH;
	}
	if (w->tab.sl)
		osr__copy_rows(&(struct osr_fabric_map){ .from = &w->last->fabric,
							 .to = fabric,
							 .sw = w->map.sw_last,
							 .dest = w->map.dest_last },
			       w->base->sl, OSR__NO_SL, w->tab.sl);
	return OSR_OK;
}

/* The LID itself: the port that its terminal hangs on today. */
void osr__set_roots(struct osr__reroute *w)
{
	for (uint32_t d = 0; d < w->f->n_dests; d++) {
		size_t to = w->map.dest_x[d];

		w->tab.lft[to * w->x->n_switches + w->x->dest_switch[to]] =
			w->f->term_port[w->f->dest_term[d]];
	}
}

enum osr_status osr__sort_dests(struct osr__reroute *w, struct osr_diag *diag)
{
	const struct osr_fabric *fabric = w->x;

	w->tab.dest_row =
		osr_calloc(w->scratch, (size_t)fabric->n_switches + 2, sizeof(*w->tab.dest_row));
	w->tab.dest_list = osr_alloc(w->scratch, fabric->n_dests, sizeof(*w->tab.dest_list));
	if (!w->tab.dest_row || !w->tab.dest_list)
		return osr__nomem(diag);
	for (uint32_t d = 0; d < fabric->n_dests; d++)
		w->tab.dest_row[fabric->dest_switch[d] + 2]++;
	for (uint32_t s = 0; s < fabric->n_switches; s++)
		w->tab.dest_row[s + 2] += w->tab.dest_row[s + 1];
	for (uint32_t d = 0; d < fabric->n_dests; d++)
		w->tab.dest_list[w->tab.dest_row[fabric->dest_switch[d] + 1]++] = d;
	return OSR_OK;
}

enum osr_status osr__alloc_tree(struct osr__reroute *w, struct osr_diag *diag)
{
	size_t n = w->x->n_switches, m = w->x->n_channels;

	w->tree.in_u = osr_calloc(w->scratch, n, sizeof(*w->tree.in_u));
	w->tree.known = osr_calloc(w->scratch, n, sizeof(*w->tree.known));
	w->tree.mark = osr_calloc(w->scratch, n, sizeof(*w->tree.mark));
	w->tree.len = osr_alloc(w->scratch, n, sizeof(*w->tree.len));
	w->tree.done = osr_alloc(w->scratch, n, sizeof(*w->tree.done));
	w->tree.u = osr_alloc(w->scratch, n, sizeof(*w->tree.u));
	w->tree.stack = osr_alloc(w->scratch, n, sizeof(*w->tree.stack));
	w->tree.old = osr_alloc(w->scratch, n, 1);
	w->tree.last_row = osr_alloc(w->scratch, n, 1);
	w->tree.relaxed = osr_calloc(w->scratch, n, 1);
	w->tree.settled = osr_alloc(w->scratch, n, sizeof(*w->tree.settled));
	w->tree.head = osr_alloc(w->scratch, n + 2, sizeof(*w->tree.head));
	w->tree.node_sw = osr_alloc(w->scratch, m + n, sizeof(*w->tree.node_sw));
	w->tree.node_next = osr_alloc(w->scratch, m + n, sizeof(*w->tree.node_next));
	w->tab.sources = osr_calloc(w->scratch, n, sizeof(*w->tab.sources));
	w->tab.touched = osr_calloc(w->scratch, w->x->n_dests, 1);
	w->tab.load = osr_calloc(w->scratch, m, sizeof(*w->tab.load));
	w->tree.expected = osr_calloc(w->scratch, m, sizeof(*w->tree.expected));
	w->tree.flow = osr_alloc(w->scratch, n, sizeof(*w->tree.flow));
	if (!w->tree.in_u || !w->tree.known || !w->tree.mark || !w->tree.len || !w->tree.done ||
	    !w->tree.u || !w->tree.stack || !w->tree.old || !w->tree.last_row || !w->tree.relaxed ||
	    !w->tree.settled || !w->tree.head || !w->tree.node_sw || !w->tree.node_next ||
	    !w->tab.sources || !w->tab.touched || !w->tab.load || !w->tree.expected ||
	    !w->tree.flow)
		return osr__nomem(diag);
	memset(w->tree.head, 0xff, (n + 2) * sizeof(*w->tree.head));
	for (uint32_t s = 0; s < w->f->n_switches; s++)
		w->tab.sources[w->map.sw_x[s]] = w->f->sw_sources[s];
	return OSR_OK;
}

/* ---- what the tables depend on --------------------------------------------------------------- */

/* Ranks of the base as sorting keys, by lane; channels it does not know come last. */
enum osr_status osr__start_deps(struct osr__reroute *w, struct osr_diag *diag)
{
	const struct osr_fabric *x = w->x, *fabric = &w->last->fabric;
	size_t m = x->n_channels;
	uint64_t *keys = osr_alloc(w->scratch, w->n_lanes * m, sizeof(*keys));

	if (!keys)
		return osr__nomem(diag);
	for (uint32_t c = 0; c < m; c++) {
		uint32_t old = c;

		if (!w->same) {
			uint32_t s = w->map.sw_last[x->chan_src[c]];

			old = s == OSR_NONE ? OSR_NONE
					    : osr_port_channel(fabric, s, x->chan_port[c]);
			if (old != OSR_NONE &&
			    fabric->chan_dst[old] != w->map.sw_last[x->chan_dst[c]])
				old = OSR_NONE;
		}
		for (uint32_t k = 0; k < w->n_lanes; k++)
			keys[k * m + c] =
				old == OSR_NONE
					? UINT32_MAX + UINT64_C(1)
					: w->base->rank[(k < w->base->n_vls ? k : (size_t)0) *
								w->base->n_channels +
							old];
	}
	return osr__deps_init(&w->deps, x, w->n_lanes, keys, w->scratch, diag);
}

/* The bits that the engine left, one graph for all lanes. */
static void take_deps(struct osr__reroute *w)
{
	const uint64_t *bits = w->base->deps;
	uint32_t n_slots = w->deps.row[w->x->n_channels];

	for (uint32_t i = 0; i < n_slots; i += 64)
		for (uint64_t left = bits[i / 64]; left; left &= left - 1)
			w->deps.dep[i + (uint32_t)__builtin_ctzll(left)] = 1;
}

uint32_t osr__order_tree(struct osr__reroute *w, uint32_t d, const uint8_t *row, uint32_t *order)
{
	const struct osr_fabric *fabric = w->x;
	uint32_t root = fabric->dest_switch[d], n = 0;

	w->tree.epoch++;
	w->tree.known[root] = w->tree.epoch;
	order[n++] = root;
	for (uint32_t s = 0; s < fabric->n_switches; s++) {
		uint32_t depth = 0, v = s;

		for (; w->tree.known[v] != w->tree.epoch && depth < fabric->n_switches;) {
			uint32_t c = osr_port_channel(fabric, v, row[v]);

			if (c == OSR_NONE)
				break;
			w->tree.stack[depth++] = v;
			v = fabric->chan_dst[c];
		}
		if (w->tree.known[v] != w->tree.epoch)
			continue;
		while (depth--) {
			w->tree.known[w->tree.stack[depth]] = w->tree.epoch;
			order[n++] = w->tree.stack[depth];
		}
	}
	return n;
}

/*
 * Port 0 is asked by switches with end ports only. One that got its first since the last sweep asks
 * on routes that the certificate did not cover.
 */
static bool newly_used(const struct osr__reroute *w, uint32_t d, uint32_t v)
{
	uint32_t old;

	if (w->same || w->x->term_weight[w->x->dest_term[d]] || !w->x->sw_sources[v])
		return false;
	old = w->map.sw_last[v];
	return old == OSR_NONE || !w->last->fabric.sw_sources[old];
}

/* What cannot be added as it is is cut, to be found anew. */
void osr__add_newly_used(struct osr__reroute *w)
{
	const struct osr_fabric *fabric = w->x;

	w->tree.epoch++;
	for (uint32_t d = 0; !w->same && w->n_lanes && d < fabric->n_dests; d++) {
		uint8_t *row = w->tab.lft + (size_t)d * fabric->n_switches;

		for (uint32_t v = 0; v < fabric->n_switches; v++) {
			uint32_t c = osr__alive(w, v, row[v]);

			if (!newly_used(w, d, v) || c == OSR_NONE || v == fabric->dest_switch[d])
				continue;
			osr__deps_begin(&w->deps);
			if (osr__add_route(w, d, row, v, c, osr__need(w, d, v)))
				continue;
			osr__deps_undo(&w->deps);
			row[v] = OSR_NO_PATH;
		}
	}
}

/* Dependencies and loads of one tree. */
static void reroute_tables_walk_tree(struct osr__reroute *w, uint32_t d, uint16_t *lanes,
				     uint32_t *flow, bool deps, bool loads)
{
	const struct osr_fabric *fabric = w->x;
	const uint8_t *row = w->tab.lft + (size_t)d * fabric->n_switches;
	uint32_t n = osr__order_tree(w, d, row, w->tree.u), root = fabric->dest_switch[d];

	loads &= fabric->term_weight[fabric->dest_term[d]] != 0 && w->map.dest_f[d] != OSR_NONE;
	for (uint32_t i = 0; i < n; i++) {
		lanes[w->tree.u[i]] =
			deps && !newly_used(w, d, w->tree.u[i]) ? osr__need(w, d, w->tree.u[i]) : 0;
		flow[w->tree.u[i]] = w->tab.sources[w->tree.u[i]];
	}
	for (uint32_t i = n; i-- > 1;) {
		uint32_t v = w->tree.u[i], c = osr_port_channel(fabric, v, row[v]),
			 next = fabric->chan_dst[c];

		if (loads)
			w->tab.load[c] += flow[v];
		flow[next] += flow[v];
		lanes[next] |= lanes[v];
		if (deps && next != root)
			w->deps.dep[osr__deps_slot(&w->deps, c,
						   osr_port_channel(fabric, next, row[next]))] |=
				lanes[v];
	}
}

/* What v answers to whom on which SL; see check.h. */
static enum osr_status reroute_tables_fill_reply(struct osr__reroute *w, struct osr_diag *diag)
{
	const struct osr_fabric *fabric = w->x;
	size_t n = fabric->n_switches;

	if (w->shared || !w->n_lanes || !(w->base->claims & OSR_CLAIM_REVERSIBLE))
		return OSR_OK;
	w->tab.reply = osr_calloc(w->scratch, n * n, sizeof(*w->tab.reply));
	if (!w->tab.reply)
		return osr__nomem(diag);
	for (uint32_t d = 0; d < fabric->n_dests; d++) {
		uint16_t *row = w->tab.reply + fabric->dest_switch[d] * n;

		for (size_t v = 0; v < n; v++) {
			size_t at = d * n + v;

			if (!fabric->sw_sources[v] || w->tab.lft[at] == OSR_NO_PATH ||
			    w->tab.sl[at] == OSR__NO_SL)
				continue;
			row[v] |= (uint16_t)(1u << w->tab.sl[at]);
			if (w->tab.grants)
				row[v] |= w->tab.grants[at];
		}
	}
	return OSR_OK;
}

/* Takes the routes of some end ports of switch s to d out of the loads. */
static void discount(struct osr__reroute *w, uint32_t d, uint32_t s, uint64_t n_ports)
{
	const struct osr_fabric *fabric = w->x;
	const uint8_t *row = w->tab.lft + (size_t)d * fabric->n_switches;

	while (n_ports && s != fabric->dest_switch[d]) {
		uint32_t c = osr_port_channel(fabric, s, row[s]);

		if (c == OSR_NONE)
			return;
		w->tab.load[c] -= n_ports;
		s = fabric->chan_dst[c];
	}
}

/* The baseline's loads without the end ports that are away today. */
static void correct_loads(struct osr__reroute *w)
{
	const struct osr_fabric *fabric = w->x;
	uint32_t n = 0, *fewer = w->tree.u;

	memcpy(w->tab.load, w->baseline->load, fabric->n_channels * sizeof(*w->tab.load));
	for (uint32_t s = 0; s < fabric->n_switches; s++)
		if (w->tab.sources[s] != fabric->sw_sources[s])
			fewer[n++] = s;
	for (uint32_t d = 0; d < fabric->n_dests; d++) {
		bool away = w->map.dest_f[d] == OSR_NONE;

		if (!fabric->term_weight[fabric->dest_term[d]])
			continue;
		for (uint32_t s = 0; away && s < fabric->n_switches; s++)
			discount(w, d, s, fabric->sw_sources[s]);
		for (uint32_t i = 0; !away && i < n; i++)
			discount(w, d, fewer[i],
				 fabric->sw_sources[fewer[i]] - w->tab.sources[fewer[i]]);
	}
}

static bool same_sources(const struct osr__reroute *w)
{
	if (w->f->n_dests != w->x->n_dests)
		return false;
	return !memcmp(w->tab.sources, w->x->sw_sources,
		       w->x->n_switches * sizeof(*w->tab.sources));
}

enum osr_status osr__collect_deps(struct osr__reroute *w, struct osr_diag *diag)
{
	const struct osr_fabric *fabric = w->x;
	struct osr_arena_mark mark;
	bool deps = w->n_lanes != 0, loads = !w->same || !w->baseline->load, walk = false;
	enum osr_status st = OSR_OK;
	uint16_t *lanes;
	uint32_t *flow;

	if (deps)
		st = osr__start_deps(w, diag);
	if (!st)
		st = reroute_tables_fill_reply(w, diag);
	if (st)
		return st;
	if (deps && w->same && w->base->lane_deps)
		memcpy(w->deps.dep, w->base->lane_deps,
		       w->deps.row[fabric->n_channels] * sizeof(*w->deps.dep));
	else if (deps && w->same && w->shared && w->base->deps)
		take_deps(w);
	else
		walk = deps;
	if (!loads && same_sources(w))
		memcpy(w->tab.load, w->baseline->load, fabric->n_channels * sizeof(*w->tab.load));
	else if (!loads)
		correct_loads(w);
	mark = osr_arena_mark(w->scratch);
	lanes = osr_alloc(w->scratch, fabric->n_switches, sizeof(*lanes));
	flow = osr_alloc(w->scratch, fabric->n_switches, sizeof(*flow));
	if (!lanes || !flow)
		return osr__nomem(diag);
	for (uint32_t d = 0; (walk || loads) && d < fabric->n_dests; d++)
		reroute_tables_walk_tree(w, d, lanes, flow, walk, loads);
	osr_arena_reset(w->scratch, mark);
	return OSR_OK;
}

/* ---- SLs of earlier -------------------------------------------------------------------------- */

/* Did the last sweep use an SL that the baseline does not? */
static bool differs_from_baseline(const struct osr__reroute *w)
{
	const struct osr_routing *last = &w->last->routing;
	const struct osr_fabric *fabric = w->x;
	size_t n = fabric->n_switches;

	for (uint32_t d = 0; d < fabric->n_dests; d++) {
		const uint8_t *row;

		if (w->map.dest_last[d] == OSR_NONE)
			continue;
		row = last->sl + (size_t)w->map.dest_last[d] * last->n_switches;
		for (size_t v = 0; v < n; v++)
			if (w->map.sw_last[v] != OSR_NONE &&
			    row[w->map.sw_last[v]] != w->tab.sl[d * n + v])
				return true;
	}
	return false;
}

/* The SLs of earlier that the base's own certificate covers: part of its tables. */
enum osr_status osr__take_base_grants(struct osr__reroute *w, struct osr_diag *diag)
{
	const struct osr_fabric *fabric = w->x;
	const uint16_t *then = w->base->granted;
	size_t n = fabric->n_switches, size = fabric->n_dests * n;

	if (w->shared || !w->n_lanes || !then)
		return OSR_OK;
	w->tab.grants = osr_calloc(w->scratch, size, sizeof(*w->tab.grants));
	if (!w->tab.grants)
		return osr__nomem(diag);
	if (w->same) {
		memcpy(w->tab.grants, then, size * sizeof(*w->tab.grants));
		return OSR_OK;
	}
	for (uint32_t d = 0; d < fabric->n_dests; d++)
		for (uint32_t v = 0; v < n; v++)
			if (w->map.dest_last[d] != OSR_NONE && w->map.sw_last[v] != OSR_NONE)
				w->tab.grants[d * n + v] = then[(size_t)w->map.dest_last[d] *
									w->last->fabric.n_switches +
								w->map.sw_last[v]];
	return OSR_OK;
}

/* Those given out since then; osr__keep_grants() adds what they depend on. */
enum osr_status osr__take_later_grants(struct osr__reroute *w, struct osr_diag *diag)
{
	size_t size = (size_t)w->x->n_dests * w->x->n_switches;
	const uint16_t *then = w->last->routing.granted_baseline;

	if (w->shared || !w->n_lanes || !w->same || w->last == w->baseline)
		return OSR_OK;
	w->deviates = w->last->routing.sl && differs_from_baseline(w);
	if (!then && !w->deviates)
		return OSR_OK;
	if (!w->tab.grants)
		w->tab.grants = osr_calloc(w->scratch, size, sizeof(*w->tab.grants));
	if (!w->tab.grants)
		return osr__nomem(diag);
	if (then)
		memcpy(w->tab.grants, then, size * sizeof(*w->tab.grants));
	return OSR_OK;
}

/* ---- the result ------------------------------------------------------------------------------ */

static enum osr_status hand_over_tables(struct osr__reroute *w, struct osr_arena *result,
					struct osr_routing *routing, struct osr_diag *diag)
{
	const struct osr_fabric *fabric = w->f;
	const struct osr_fabric_map map = {
		.from = w->x, .to = fabric, .sw = w->map.sw_x, .dest = w->map.dest_x
	};
	size_t size = (size_t)fabric->n_dests * fabric->n_switches;

	routing->lft = w->tab.lft;
	routing->sl = w->tab.sl;
	if (!osr__same_size(w)) {
		routing->lft = osr_alloc(result, size, 1);
		routing->sl = w->tab.sl ? osr_alloc(result, size, 1) : NULL;
		if (!routing->lft || (w->tab.sl && !routing->sl))
			return osr__nomem(diag);
		osr__copy_rows(&map, w->tab.lft, OSR_NO_PATH, routing->lft);
		if (w->tab.sl)
			osr__copy_rows(&map, w->tab.sl, 0, routing->sl);
	}
	/* Pairs that send nothing have no SL of their own. */
	for (size_t i = 0; !w->same && w->tab.sl && i < size; i++)
		routing->sl[i] = routing->sl[i] == OSR__NO_SL ? 0 : routing->sl[i];
	return OSR_OK;
}

static enum osr_status hand_over_grants(struct osr__reroute *w, struct osr_arena *result,
					struct osr_routing *routing, struct osr_diag *diag)
{
	const struct osr_fabric *fabric = w->f;
	size_t n = w->x->n_switches, size = w->x->n_dests * n;
	uint16_t *granted, *at_baseline;

	if (!w->tab.grants)
		return OSR_OK;
	granted = osr_alloc(result, (size_t)fabric->n_dests * fabric->n_switches, sizeof(*granted));
	at_baseline = w->same ? osr_alloc(result, size, sizeof(*at_baseline)) : NULL;
	if (!granted || (w->same && !at_baseline))
		return osr__nomem(diag);
	if (osr__same_size(w))
		memcpy(granted, w->tab.grants, size * sizeof(*granted));
	for (uint32_t d = 0; !osr__same_size(w) && d < fabric->n_dests; d++)
		for (uint32_t s = 0; s < fabric->n_switches; s++)
			granted[(size_t)d * fabric->n_switches + s] =
				w->tab.grants[w->map.dest_x[d] * n + w->map.sw_x[s]];
	if (at_baseline)
		memcpy(at_baseline, w->tab.grants, size * sizeof(*at_baseline));
	routing->granted = granted;
	routing->granted_baseline = at_baseline;
	return OSR_OK;
}

enum osr_status osr__hand_over_ranks(struct osr__reroute *w, struct osr_arena *result,
				     struct osr_routing *routing, struct osr_diag *diag)
{
	size_t m = w->f->n_channels;

	if (!w->n_lanes)
		return OSR_OK;
	routing->rank = osr_alloc(result, routing->n_vls * m, sizeof(*routing->rank));
	if (!routing->rank)
		return osr__nomem(diag);
	for (uint32_t k = 0; k < routing->n_vls; k++) {
		const uint32_t *pos = w->deps.pos + (w->shared ? 0 : k * (size_t)w->x->n_channels);

		for (uint32_t c = 0; c < m; c++)
			routing->rank[k * m + c] = pos[w->map.chan_x[c]];
	}
	return OSR_OK;
}

static void count_sl_changes(struct osr__reroute *w)
{
	const struct osr_fabric *fabric = w->x;
	const struct osr_routing *last = &w->last->routing;
	size_t n = fabric->n_switches;

	if (!w->tab.sl || !last->sl)
		return;
	for (uint32_t d = 0; d < fabric->n_dests; d++) {
		uint32_t old = w->map.sw_last ? w->map.dest_last[d] : d;

		if (old == OSR_NONE || w->map.dest_f[d] == OSR_NONE)
			continue;
		if (!w->map.sw_last && !memcmp(last->sl + (size_t)old * n, w->tab.sl + d * n, n))
			continue;
		for (uint32_t v = 0; v < n; v++) {
			uint32_t s = w->map.sw_last ? w->map.sw_last[v] : v;
			size_t then = (size_t)old * last->n_switches + s;

			if (s == OSR_NONE || w->map.sw_f[v] == OSR_NONE ||
			    v == fabric->dest_switch[d] || w->tab.lft[d * n + v] == OSR_NO_PATH ||
			    w->tab.sl[d * n + v] == OSR__NO_SL)
				continue;
			w->out.stable.n_sl_changed += last->lft[then] != OSR_NO_PATH &&
						      last->sl[then] != w->tab.sl[d * n + v];
		}
	}
}

static uint64_t reroute_tables_largest(const uint64_t *load, uint32_t n, const uint32_t *chan_f)
{
	uint64_t most = 0;

	for (uint32_t c = 0; load && c < n; c++)
		if ((!chan_f || chan_f[c] != OSR_NONE) && load[c] > most)
			most = load[c];
	return most;
}

static enum osr_status measure_drift(struct osr__reroute *w, struct osr_diag *diag)
{
	uint64_t most = reroute_tables_largest(w->tab.load, w->x->n_channels, w->map.chan_f), least,
		 expected;
	uint32_t limit = w->opt->drift;
	enum osr_status st =
		osr_bound_expected(w->f, w->baseline, w->scratch, &least, &expected, diag);

	w->out.stable.drift = !st && expected ? (uint32_t)(most * 1000 / expected) : 0;
	if (st || !limit || w->out.stable.drift <= 10 * limit)
		return st;
	return osr_fail(diag, OSR_NOT_APPLICABLE, OSR_DRIFT_TEXT, most, w->out.stable.drift / 1000,
			w->out.stable.drift % 1000 / 10, expected, limit / 100, limit % 100);
}

/* What is taken over as it is. */
void osr__begin_result(const struct osr__reroute *w, struct osr_routing *routing)
{
	const struct osr_routing *base = w->base;

	*routing = (struct osr_routing){ .engine = base->engine,
					 .claims = base->claims,
					 .n_switches = w->f->n_switches,
					 .n_dests = w->f->n_dests,
					 .n_channels = w->f->n_channels,
					 .n_vls = base->n_vls,
					 .n_layers = base->n_layers,
					 .n_layers_one_way = base->n_layers_one_way,
					 .n_rounds = base->n_rounds };
	memcpy(routing->ca_sl2vl, base->ca_sl2vl, sizeof(routing->ca_sl2vl));
}

/* Lanes of the base, and spare ones that pairs have moved to. */
static uint8_t lanes_used(const struct osr__reroute *w)
{
	size_t size = (size_t)w->x->n_dests * w->x->n_switches;
	uint16_t granted = 0;
	uint8_t n = w->base->n_vls;

	if (w->n_lanes <= n)
		return n;
	for (size_t i = 0; i < size; i++)
		n = w->tab.sl[i] != OSR__NO_SL && w->tab.sl[i] >= n ? w->tab.sl[i] + 1 : n;
	for (size_t i = 0; w->tab.grants && i < size; i++)
		granted |= w->tab.grants[i];
	while (n < w->n_lanes && granted >> n)
		n++;
	return n;
}

/*
 * What old and new tables depend on, where one graph holds for all lanes: for the search of an order in
 * which they may mix (core/transition/mixture.c). Only cables that are there now: no packet holds another one.
 */
static enum osr_status hand_over_deps(const struct osr__reroute *w, struct osr_arena *result,
				      struct osr_routing *routing, struct osr_diag *diag)
{
	const struct osr_fabric *fabric = w->f, *x = w->x;
	uint64_t n_slots = 0, slot = 0, *bits;

	if (!w->shared || !w->n_lanes)
		return OSR_OK;
	for (uint32_t c = 0; c < fabric->n_channels; c++)
		n_slots += fabric->chan_row[fabric->chan_dst[c] + 1] -
			   fabric->chan_row[fabric->chan_dst[c]];
	bits = osr_calloc(result, (n_slots + 63) / 64, sizeof(*bits));
	if (!bits)
		return osr__nomem(diag);
	for (uint32_t c = 0; c < fabric->n_channels; c++) {
		uint32_t in = w->map.chan_x[c], s = fabric->chan_dst[c];
		const uint16_t *dep = w->deps.dep + w->deps.row[in];
		uint32_t first = x->chan_row[x->chan_dst[in]];

		for (uint32_t o = fabric->chan_row[s]; o < fabric->chan_row[s + 1]; o++, slot++)
			bits[slot / 64] |= (uint64_t)(dep[w->map.chan_x[o] - first] & 1)
					   << slot % 64;
	}
	routing->deps = bits;
	return OSR_OK;
}

enum osr_status osr__hand_over(struct osr__reroute *w, struct osr_arena *result,
			       struct osr_routing *routing, struct osr_diag *diag)
{
	enum osr_status st = hand_over_deps(w, result, routing, diag);

	if (st)
		return st;
	routing->n_longer = w->base->n_longer + (uint32_t)w->out.n_longer;
	routing->n_vls = lanes_used(w);
	if (w->out.n_longer)
		routing->claims &= ~(uint32_t)OSR_CLAIM_MINIMAL;
	osr__add_mixtures(w, routing);
	count_sl_changes(w);
	if ((st = measure_drift(w, diag)) || (st = hand_over_tables(w, result, routing, diag)) ||
	    (st = hand_over_grants(w, result, routing, diag)) ||
	    (st = osr__hand_over_ranks(w, result, routing, diag)))
		return st;
	w->out.stable.kept = true;
	w->out.stable.new_baseline = !w->same;
	if (!w->n_lanes)
		w->out.stable.together = false;
	routing->stable = w->out.stable;
	return OSR_OK;
}

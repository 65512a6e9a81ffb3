/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The transition: while switches are being programmed, a packet may follow an old entry here
 * and a new one there.
 *
 * Dependencies of old entries alone and of new ones alone are in the graph already. What is left
 * are packets that meet both. For every LID whose entries change, all ways through the mixture are
 * followed, with the lanes of all who may send along them. Multicast packets meet the spanning orders
 * of both.
 */
#include "reroute_private.h"

#include <stdio.h>
#include <string.h>

static bool reroute_mix_same_numbers(const struct osr__reroute *w)
{
	return !w->map.sw_last || (w->last->fabric.n_switches == w->x->n_switches &&
				   w->last->fabric.n_dests == w->x->n_dests);
}

/* Are the entries of the last sweep those of the baseline, byte for byte? */
static bool like_baseline(const struct osr__reroute *w, uint32_t d)
{
	size_t n = w->x->n_switches;

	return reroute_mix_same_numbers(w) &&
	       !memcmp(w->last->routing.lft + d * n, w->tab.lft + d * n, n);
}

/* The routes of the last sweep that differ from row. */
static void collect_changed(struct osr__reroute *w, uint32_t d, const uint8_t *row)
{
	const struct osr_fabric *fabric = w->x;
	uint32_t root = fabric->dest_switch[d];

	w->tree.epoch++;
	w->tree.n_u = 0;
	for (uint32_t v = 0; v < fabric->n_switches; v++) {
		if (w->tree.last_row[v] == row[v] || w->map.sw_f[v] == OSR_NONE || v == root)
			continue;
		w->tree.in_u[v] = w->tree.epoch;
		w->tree.u[w->tree.n_u++] = v;
	}
}

static void add_last_routes(struct osr__reroute *w, uint32_t d)
{
	uint32_t root = w->x->dest_switch[d];

	osr__upstream(w, root, w->tree.last_row);
	for (uint32_t i = 0; i < w->tree.n_u; i++) {
		uint32_t v = w->tree.u[i], c = osr__alive(w, v, w->tree.last_row[v]);

		if (c == OSR_NONE)
			continue;
		osr__deps_begin(&w->deps);
		/* What closes a cycle here closes it in the mixture, too: osr__add_mixtures(). */
		if (!osr__add_route(w, d, w->tree.last_row, v, c, osr__need(w, d, v)))
			osr__deps_undo(&w->deps);
	}
}

void osr__add_last(struct osr__reroute *w)
{
	const struct osr_fabric *fabric = w->x;

	if (!w->same || w->last == w->baseline)
		return;
	for (uint32_t d = 0; d < fabric->n_dests; d++) {
		if (w->map.dest_f[d] == OSR_NONE || like_baseline(w, d))
			continue;
		osr__last_row(w, d, w->tree.last_row);
		collect_changed(w, d, w->tab.lft + (size_t)d * fabric->n_switches);
		if (!w->tree.n_u)
			continue;
		w->tab.touched[d] = 1;
		if (w->n_lanes)
			add_last_routes(w, d);
	}
}

/* The ways out of v, old and new. */
static uint32_t ways(const struct osr__reroute *w, uint32_t d, const uint8_t *row, uint32_t v,
		     uint32_t way[2])
{
	uint32_t n = 0, c;

	if (v == w->x->dest_switch[d] || w->map.sw_f[v] == OSR_NONE)
		return 0;
	c = osr__alive(w, v, row[v]);
	if (c != OSR_NONE)
		way[n++] = c;
	c = row[v] == w->tree.last_row[v] ? OSR_NONE : osr__alive(w, v, w->tree.last_row[v]);
	if (c != OSR_NONE)
		way[n++] = c;
	return n;
}

/* The channel of the entry of the last sweep, if it is another one than c. */
static uint32_t old_way(const struct osr__reroute *w, uint32_t d, uint32_t v, uint32_t c)
{
	uint32_t old;

	if (v == w->x->dest_switch[d])
		return OSR_NONE;
	old = osr__alive(w, v, w->tree.last_row[v]);
	return old == c ? OSR_NONE : old;
}

static bool all_send_back(const struct osr__reroute *w, uint32_t d, uint32_t v)
{
	const struct osr_fabric *fabric = w->x;

	for (uint32_t c = fabric->chan_row[v]; c < fabric->chan_row[v + 1]; c++)
		if (w->map.chan_f[c] != OSR_NONE &&
		    (old_way(w, d, fabric->chan_dst[c], OSR_NONE) != fabric->chan_rev[c] ||
		     !osr__need(w, d, fabric->chan_dst[c])))
			return false;
	return true;
}

void osr__look_for_bounce(struct osr__reroute *w, uint32_t d, uint32_t v)
{
	char buf[32];

	if (w->out.bounces || !w->n_lanes || !all_send_back(w, d, v))
		return;
	w->out.bounces = true;
	w->out.stable.transition = OSR_TRANSITION_LOOP;
	snprintf(
		w->out.stable.transition_why, sizeof(w->out.stable.transition_why),
		"credit loop of 2 channels: switch %.60s has lost its route to LID %u, and all its "
		"neighbours "
		"send such packets to it as long as they have the old tables",
		osr_switch_name(w->x, v, buf), w->x->dest_lid[d]);
}

/* Can a packet still leave by an old entry? Else there are only the new tables. */
static bool is_mixed(const struct osr__reroute *w, uint32_t d)
{
	for (uint32_t i = 0; i < w->tree.n_u; i++)
		if (old_way(w, d, w->tree.u[i], OSR_NONE) != OSR_NONE)
			return true;
	return false;
}

/*
 * Lanes of all packets to d that may come to each switch: pushed from switch to switch until no
 * more arrive. The mixture may have loops, so there is no order in which once would do.
 */
static void push_lanes(struct osr__reroute *w, uint32_t d, const uint8_t *row, uint16_t *lanes)
{
	const struct osr_fabric *fabric = w->x;
	uint32_t n = fabric->n_switches, *list = w->tree.stack, n_list = 0, way[2];

	w->tree.n_marks++; /* marked: in the list */
	for (uint32_t v = 0; v < n; v++) {
		lanes[v] = w->map.sw_f[v] == OSR_NONE ? 0 : osr__need(w, d, v);
		if (!lanes[v])
			continue;
		w->tree.mark[v] = w->tree.n_marks;
		list[n_list++] = v;
	}
	while (n_list) {
		uint32_t v = list[--n_list], n_ways = ways(w, d, row, v, way);

		w->tree.mark[v] = 0;
		for (uint32_t i = 0; i < n_ways; i++) {
			uint32_t next = fabric->chan_dst[way[i]];

			if (!(lanes[v] & ~lanes[next]))
				continue;
			lanes[next] |= lanes[v];
			if (w->tree.mark[next] == w->tree.n_marks)
				continue;
			w->tree.mark[next] = w->tree.n_marks;
			list[n_list++] = next;
		}
	}
}

static void mix(struct osr__reroute *w, uint32_t d, const uint8_t *row, uint16_t *lanes)
{
	const struct osr_fabric *fabric = w->x;
	uint32_t in[2], out[2];

	push_lanes(w, d, row, lanes);
	for (uint32_t v = 0; v < fabric->n_switches; v++) {
		uint32_t n_in = lanes[v] ? ways(w, d, row, v, in) : 0;

		for (uint32_t i = 0; i < n_in; i++) {
			uint32_t n_out = ways(w, d, row, fabric->chan_dst[in[i]], out);

			for (uint32_t j = 0; j < n_out; j++)
				if (!osr__deps_add(&w->deps, in[i], out[j], lanes[v]))
					w->out.stable.together = false;
		}
	}
}

/* ---- multicast ------------------------------------------------------------------------------- */

/* Is the cable of c, which leaves s, part of the old order or of the new one? */
static bool in_orders(const struct osr__reroute *w, const struct osr_routing *routing, uint32_t s,
		      uint32_t c)
{
	const struct osr_fabric *fabric = w->x;
	uint32_t far = fabric->chan_dst[c], now = w->map.chan_f[c];

	if (now == OSR_NONE)
		return false;
	return routing->mcast_parent[w->map.sw_f[s]] == now ||
	       routing->mcast_parent[w->map.sw_f[far]] == w->map.chan_f[fabric->chan_rev[c]] ||
	       osr__last_parent(w, s) == c || osr__last_parent(w, far) == fabric->chan_rev[c];
}

/* A copy leaves by every cable of either order but the one it came by. */
static void mix_orders(struct osr__reroute *w, const struct osr_routing *routing)
{
	const struct osr_fabric *fabric = w->x;
	uint16_t lane = (uint16_t)(1u << (w->shared ? 0 : w->base->mcast_vl));

	if (!w->n_lanes || !routing->mcast_parent || !(routing->claims & OSR_CLAIM_MULTICAST))
		return;
	for (uint32_t s = 0; w->out.stable.together && s < fabric->n_switches; s++)
		for (uint32_t a = fabric->chan_row[s]; a < fabric->chan_row[s + 1]; a++) {
			if (!in_orders(w, routing, s, a))
				continue;
			for (uint32_t b = fabric->chan_row[s]; b < fabric->chan_row[s + 1]; b++)
				if (a != b && in_orders(w, routing, s, b) &&
				    !osr__deps_add(&w->deps, fabric->chan_rev[a], b, lane))
					w->out.stable.together = false;
		}
}

void osr__add_mixtures(struct osr__reroute *w, const struct osr_routing *routing)
{
	const struct osr_fabric *fabric = w->x;

	/* Once it is known not to hold, nothing more has to be proven. */
	w->out.stable.together = !w->out.stable.n_sl_lost;
	osr__deps_begin(&w->deps);
	mix_orders(w, routing);
	for (uint32_t d = 0; d < fabric->n_dests && w->n_lanes && w->out.stable.together; d++) {
		const uint8_t *row = w->tab.lft + (size_t)d * fabric->n_switches;

		if (w->map.dest_f[d] == OSR_NONE || !w->tab.touched[d])
			continue;
		osr__last_row(w, d, w->tree.last_row);
		collect_changed(w, d, row);
		if (is_mixed(w, d))
			mix(w, d, row, w->tree.done);
	}
}

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include <osmroutes/each.h>

#include "core/data/carry.h"

#include <string.h>

uint8_t osr_carry_port(const struct osr_fabric_map *map, uint32_t s, uint8_t port)
{
	bool had = osr_port_channel(map->from, map->sw[s], port) != OSR_NONE;

	osr_invariant(s < map->to->n_switches && map->sw[s] < map->from->n_switches);
	return had && osr_port_channel(map->to, s, port) == OSR_NONE ? OSR_NO_PATH : port;
}

#define N_ENTRIES 256 /* values of an LFT entry */

/*
 * Fills left[N_ENTRIES] with the carried value of each entry of switch s. Does some entry change,
 * as on a switch that has lost a cable?
 */
static bool carry_entries(const struct osr_fabric_map *map, uint32_t s, uint8_t *left)
{
	bool lossy = false;

	for (unsigned p = 0; p < N_ENTRIES; p++) {
		left[p] = osr_carry_port(map, s, p);
		lossy |= left[p] != p;
	}
	return lossy;
}

/* LFTs, SLs, and SLs that were granted to earlier connections. */
static enum osr_status carry_pairs(const struct osr_fabric_map *map, const struct osr_routing *was,
				   struct osr_arena *scratch, struct osr_arena *arena,
				   struct osr_routing *now, struct osr_diag *diag)
{
	uint32_t n = map->to->n_switches, n_lossy = 0;
	size_t size = (size_t)map->to->n_dests * n;
	uint8_t *left = osr_alloc(scratch, n, N_ENTRIES);        /* see carry_entries() */
	uint32_t *lossy = osr_alloc(scratch, n, sizeof(*lossy)); /* switches not to be copied */
	uint16_t *granted =
		was->sl && was->granted ? osr_calloc(arena, size, sizeof(*granted)) : NULL;
	bool alike = n == map->from->n_switches;

	now->granted = granted;
	now->lft = osr_alloc(arena, size, 1);
	now->sl = was->sl ? osr_calloc(arena, size, 1) : NULL;
	if (osr_arena_failed(scratch, diag) || osr_arena_failed(arena, diag))
		return OSR_NOMEM;
	memset(now->lft, OSR_NO_PATH, size);
	OSR_EACH_SWITCH(s, map->to)
		alike &= map->sw[s] == s;
	OSR_EACH_SWITCH(s, map->to) {
		if (map->sw[s] == OSR_NONE)
			continue;
		if (carry_entries(map, s, left + s * (size_t)N_ENTRIES) || !alike)
			lossy[n_lossy++] = s;
	}
	/*
	 * If both fabrics have the same switches, rows are copied, and only switches that have lost
	 * a cable need another entry.
	 */
	OSR_EACH_DEST(d, map->to) {
		size_t from = (size_t)map->dest[d] * map->from->n_switches, to = (size_t)d * n;

		if (map->dest[d] == OSR_NONE)
			continue;
		if (alike) {
			memcpy(now->lft + to, was->lft + from, n);
			if (now->sl)
				memcpy(now->sl + to, was->sl + from, n);
			if (granted)
				memcpy(granted + to, was->granted + from, n * sizeof(*granted));
		}
		for (uint32_t i = 0; i < n_lossy; i++) {
			uint32_t s = lossy[i], v = map->sw[s];

			now->lft[to + s] = left[s * (size_t)N_ENTRIES + was->lft[from + v]];
			if (now->sl)
				now->sl[to + s] = was->sl[from + v];
			if (granted)
				granted[to + s] = was->granted[from + v];
		}
	}
	return OSR_OK;
}

/*
 * Which LID has whose tree. If the first LID of a tree is gone, or is behind another switch, the
 * other LIDs with this tree keep it as rows of their own. A LID that is new, or whose port is
 * behind another switch, repeats the first LID of its port.
 */
static enum osr_status carry_planes(const struct osr_fabric_map *map, const struct osr_planes *was,
				    struct osr_arena *scratch, struct osr_arena *arena,
				    struct osr_planes *now, struct osr_diag *diag)
{
	uint32_t *today = osr_alloc(scratch, map->from->n_dests, sizeof(*today));
	enum osr_status st;

	*now = *was;
	if (!was->n)
		return OSR_OK;
	st = osr_planes_repeat(map->to, arena, now, diag);
	if (st || osr_arena_failed(scratch, diag))
		return OSR_NOMEM;
	memcpy(now->kind, was->kind, was->n < now->n ? was->n : now->n);
	memset(today, 0xff, map->from->n_dests * sizeof(*today));
	OSR_EACH_DEST(d, map->to) {
		if (osr_fabric_map_dest_stays(map, d))
			today[map->dest[d]] = d;
	}
	OSR_EACH_DEST(d, map->to) {
		uint32_t tree;

		if (!osr_plane_of(map->to, d) || !osr_fabric_map_dest_stays(map, d))
			continue;
		tree = today[was->tree_of[map->dest[d]]];
		now->tree_of[d] = tree == OSR_NONE ? d : tree;
	}
	OSR_EACH_DEST(d, map->to)
		osr_invariant(now->tree_of[now->tree_of[d]] == now->tree_of[d]);
	return OSR_OK;
}

/* The table of each pair of ports that a switch has in both fabrics. */
static enum osr_status carry_sl2vl(const struct osr_fabric_map *map, const struct osr_routing *was,
				   struct osr_arena *arena, struct osr_routing *now,
				   struct osr_diag *diag)
{
	if (!was->sl2vl)
		return OSR_OK;
	if (osr_routing_alloc_sl2vl(now, map->to, OSR_VL_UNSET, arena, diag))
		return OSR_NOMEM;
	OSR_EACH_SWITCH(s, map->to) {
		unsigned n = map->to->sw_n_ports[s] + 1u, n_from, n_both;

		if (map->sw[s] == OSR_NONE)
			continue;
		n_from = map->from->sw_n_ports[map->sw[s]] + 1u;
		n_both = n < n_from ? n : n_from;
		for (unsigned i = 0; i < n_both; i++)
			memcpy(now->sl2vl + now->sl2vl_row[s] + i * n,
			       was->sl2vl + was->sl2vl_row[map->sw[s]] + i * n_from,
			       n_both * sizeof(*now->sl2vl));
	}
	return OSR_OK;
}

/* deps[] by turns of map->to, from was->lane_deps by turns of map->from. */
static void carry_lane_deps(const struct osr_fabric_map *map, const struct osr_routing *was,
			    uint16_t *deps)
{
	const struct osr_fabric *from = map->from, *to = map->to;

	OSR_EVERY_CHANNEL(c0, to) {
		if (map->chan[c0] == OSR_NONE)
			continue;
		OSR_EACH_CHANNEL(c1, to, to->chan_dst[c0]) {
			if (map->chan[c1] != OSR_NONE)
				deps[osr_turn(to, c0, c1)] = was->lane_deps[osr_turn(
					from, map->chan[c0], map->chan[c1])];
		}
	}
}

/* Arrays by channel: the span of multicast, the certificate, and the turns of each lane. */
static enum osr_status carry_channels(const struct osr_fabric_map *map,
				      const struct osr_routing *was, struct osr_arena *arena,
				      struct osr_routing *now, struct osr_diag *diag)
{
	const struct osr_fabric *from = map->from, *to = map->to;
	size_t n_vls = was->rank ? was->n_vls : 0, m = to->n_channels;
	uint16_t *deps = NULL;

	if (was->lane_deps)
		deps = osr_calloc(arena, osr_n_turns(to), sizeof(*deps));
	now->lane_deps = deps;
	if (was->rank)
		now->rank = osr_calloc(arena, n_vls * m, sizeof(*now->rank));
	if (was->mcast_parent)
		now->mcast_parent = osr_alloc(arena, to->n_switches, sizeof(*now->mcast_parent));
	if (osr_arena_failed(arena, diag))
		return OSR_NOMEM;
	if (deps)
		carry_lane_deps(map, was, deps);
	if (now->mcast_parent)
		memset(now->mcast_parent, 0xff, to->n_switches * sizeof(*now->mcast_parent));
	for (uint32_t c = 0; c < m; c++) {
		uint32_t old = map->chan[c];

		if (old == OSR_NONE)
			continue;
		for (size_t vl = 0; vl < n_vls; vl++)
			now->rank[vl * m + c] = was->rank[vl * from->n_channels + old];
		if (now->mcast_parent && was->mcast_parent[from->chan_src[old]] == old)
			now->mcast_parent[to->chan_src[c]] = c;
	}
	return OSR_OK;
}

enum osr_status osr_carry(const struct osr_fabric *from, const struct osr_routing *was,
			  const struct osr_fabric *to, struct osr_arena *scratch,
			  struct osr_arena *arena, struct osr_earlier *earlier,
			  struct osr_diag *diag)
{
	const struct osr_fabric_map *map = &earlier->map;
	struct osr_routing *now = &earlier->routing;
	enum osr_status st;
	void *notes;

	osr_invariant(was->n_switches == from->n_switches && was->n_dests == from->n_dests);
	osr_invariant(!was->granted || was->sl);
	earlier->was = was;
	*now = *was;
	now->n_switches = to->n_switches;
	now->n_dests = to->n_dests;
	now->n_channels = to->n_channels;
	now->sl2vl = NULL;
	now->sl2vl_row = NULL;
	now->rank = NULL;
	now->mcast_parent = NULL;
	now->note = NULL;
	now->withdrawn = NULL;
	now->early = NULL;
	now->n_early = 0;
	now->stable = (struct osr_stable){ .kept = false };
	now->any_sl = (struct osr_any_sl_cost){ .known = false };
	now->ms_spf = now->ms_layers = 0;
	/* An engine gets its notes back in the next sweep, even after tables of another engine. */
	notes = osr_alloc(arena, was->notes.size, 1);
	if (notes && was->notes.size)
		memcpy(notes, was->notes.data, was->notes.size);
	now->notes = (struct osr_notes){ was->notes.size ? notes : NULL, was->notes.size };
	if ((st = osr_fabric_map_init(&earlier->map, from, to, scratch, diag)) ||
	    (st = carry_pairs(map, was, scratch, arena, now, diag)) ||
	    (st = carry_planes(map, &was->planes, scratch, arena, &now->planes, diag)) ||
	    (st = carry_sl2vl(map, was, arena, now, diag)))
		return st;
	return carry_channels(map, was, arena, now, diag);
}

/* OSR_OK: every switch and LID of map->to was in map->from. */
static enum osr_status carry_has_all(const struct osr_fabric_map *map, struct osr_diag *diag)
{
	const struct osr_fabric *fabric = map->to;
	char buf[32];

	OSR_EACH_SWITCH(s, fabric) {
		if (map->sw[s] == OSR_NONE)
			return osr_fail(diag, OSR_CHECK_FAILED, "switch %s is new",
					osr_switch_name(fabric, s, buf));
	}
	OSR_EACH_DEST(d, fabric) {
		if (map->dest[d] == OSR_NONE)
			return osr_fail(diag, OSR_CHECK_FAILED, "LID %u of %s is new",
					fabric->dest_lid[d],
					osr_terminal_name(fabric, fabric->dest_term[d], buf));
	}
	return OSR_OK;
}

/* Has a switch of the previous span lost the link to its parent? */
static bool carry_span_broke(const struct osr_earlier *earlier)
{
	const uint32_t *was = earlier->was->mcast_parent, *now = earlier->routing.mcast_parent;

	OSR_EACH_SWITCH(s, earlier->map.to) {
		uint32_t old = earlier->map.sw[s];

		osr_invariant(now[s] == OSR_NONE || old != OSR_NONE);
		if (old != OSR_NONE && was[old] != OSR_NONE && now[s] == OSR_NONE)
			return true;
	}
	return false;
}

enum osr_status osr_carry_again(const struct osr_result *old, const struct osr_fabric *fabric,
				bool all, struct osr_arena *arena, struct osr_arena *scratch,
				struct osr_routing *routing, struct osr_diag *diag)
{
	struct osr_earlier earlier;
	enum osr_status st =
		osr_carry(&old->fabric, &old->routing, fabric, scratch, arena, &earlier, diag);

	if (!st && all)
		st = carry_has_all(&earlier.map, diag);
	if (st)
		return st;
	*routing = earlier.routing;
	routing->lane_deps = NULL;
	routing->claims &= ~(uint32_t)OSR_CLAIM_MINIMAL;
	/* A span that lacks a link spans nothing: without it OpenSM builds its own trees. */
	if (routing->mcast_parent && carry_span_broke(&earlier)) {
		routing->mcast_parent = NULL;
		routing->claims &= ~(uint32_t)OSR_CLAIM_MULTICAST;
	}
	return OSR_OK;
}

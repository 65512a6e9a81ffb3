/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "core/data/carry.h"

#include <string.h>

uint8_t osr_carry_port(const struct osr_fabric_map *map, uint32_t s, uint8_t port)
{
	bool had = osr_port_channel(map->from, map->sw[s], port) != OSR_NONE;

	return had && osr_port_channel(map->to, s, port) == OSR_NONE ? OSR_NO_PATH : port;
}

/* LFTs, SLs, and SLs of earlier. */
static enum osr_status carry_pairs(const struct osr_fabric_map *map, const struct osr_routing *was,
				   struct osr_arena *scratch, struct osr_arena *arena,
				   struct osr_routing *now, struct osr_diag *diag)
{
	uint32_t n = map->to->n_switches, n_lossy = 0;
	size_t size = (size_t)map->to->n_dests * n;
	uint8_t *left = osr_alloc(scratch, n, 256); /* of an entry, by switch and port */
	uint32_t *lossy = osr_alloc(scratch, n, sizeof(*lossy));
	uint16_t *granted =
		was->sl && was->granted ? osr_calloc(arena, size, sizeof(*granted)) : NULL;
	bool alike = n == map->from->n_switches;

	now->granted = granted;
	now->lft = osr_alloc(arena, size, 1);
	now->sl = was->sl ? osr_calloc(arena, size, 1) : NULL;
	if (osr_arena_failed(scratch, diag) || osr_arena_failed(arena, diag))
		return OSR_NOMEM;
	memset(now->lft, OSR_NO_PATH, size);
	for (uint32_t s = 0; s < n; s++)
		alike &= map->sw[s] == s;
	for (uint32_t s = 0; s < n; s++) {
		bool lost = !alike;

		for (unsigned p = 0; map->sw[s] != OSR_NONE && p < 256; p++) {
			left[s * (size_t)256 + p] = osr_carry_port(map, s, (uint8_t)p);
			lost |= left[s * (size_t)256 + p] != p;
		}
		if (lost && map->sw[s] != OSR_NONE)
			lossy[n_lossy++] = s;
	}
	/*
	 * Rows as they are where all switches are the same: then only switches that have lost a
	 * cable differ.
	 */
	for (uint32_t d = 0; d < map->to->n_dests; d++) {
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

			now->lft[to + s] = left[s * (size_t)256 + was->lft[from + v]];
			if (now->sl)
				now->sl[to + s] = was->sl[from + v];
			if (granted)
				granted[to + s] = was->granted[from + v];
		}
	}
	return OSR_OK;
}

/*
 * Which LID has whose tree. A tree whose first LID is gone, or is behind another switch, stays with
 * the LIDs that have it, as rows of their own; LIDs that are new, or of a port behind another
 * switch, repeat the first one of their port.
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
	for (uint32_t d = 0; d < map->to->n_dests; d++)
		if (osr_fabric_map_dest_stays(map, d))
			today[map->dest[d]] = d;
	for (uint32_t d = 0; d < map->to->n_dests; d++) {
		uint32_t tree;

		if (!osr_plane_of(map->to, d) || !osr_fabric_map_dest_stays(map, d))
			continue;
		tree = today[was->tree_of[map->dest[d]]];
		now->tree_of[d] = tree == OSR_NONE ? d : tree;
	}
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
	for (uint32_t s = 0; s < map->to->n_switches; s++) {
		unsigned n = map->to->sw_n_ports[s] + 1u, n_from;

		if (map->sw[s] == OSR_NONE)
			continue;
		n_from = map->from->sw_n_ports[map->sw[s]] + 1u;
		for (unsigned i = 0; i < n && i < n_from; i++)
			memcpy(now->sl2vl + now->sl2vl_row[s] + i * n,
			       was->sl2vl + was->sl2vl_row[map->sw[s]] + i * n_from,
			       (n < n_from ? n : n_from) * sizeof(*now->sl2vl));
	}
	return OSR_OK;
}

/* What belongs to channels: the multicast order, the certificate, and the turns of each lane. */
static enum osr_status carry_channels(const struct osr_fabric_map *map,
				      const struct osr_routing *was, struct osr_arena *scratch,
				      struct osr_arena *arena, struct osr_routing *now,
				      struct osr_diag *diag)
{
	const struct osr_fabric *from = map->from, *to = map->to;
	uint32_t m = to->n_channels, n_turns = 0;
	uint32_t *first = osr_alloc(scratch, from->n_channels, sizeof(*first)); /* turn */
	uint16_t *deps;

	for (uint32_t c = 0; c < m; c++)
		n_turns += to->chan_row[to->chan_dst[c] + 1] - to->chan_row[to->chan_dst[c]];
	deps = was->lane_deps ? osr_calloc(arena, n_turns, sizeof(*deps)) : NULL;
	now->lane_deps = deps;
	if (was->rank)
		now->rank = osr_calloc(arena, (size_t)was->n_vls * m, sizeof(*now->rank));
	if (was->mcast_parent)
		now->mcast_parent = osr_alloc(arena, to->n_switches, sizeof(*now->mcast_parent));
	if (osr_arena_failed(scratch, diag) || osr_arena_failed(arena, diag))
		return OSR_NOMEM;
	for (uint32_t s = 0; now->mcast_parent && s < to->n_switches; s++)
		now->mcast_parent[s] = OSR_NONE;
	for (uint32_t c = 0, n = 0; c < from->n_channels; c++) {
		first[c] = n;
		n += from->chan_row[from->chan_dst[c] + 1] - from->chan_row[from->chan_dst[c]];
	}
	for (uint32_t c = 0, turn = 0; c < m; c++) {
		uint32_t old = map->chan[c], s = to->chan_dst[c];

		for (uint32_t o = to->chan_row[s]; o < to->chan_row[s + 1]; o++, turn++)
			if (deps && old != OSR_NONE && map->chan[o] != OSR_NONE)
				deps[turn] = was->lane_deps[first[old] + map->chan[o] -
							    from->chan_row[from->chan_dst[old]]];
		if (old == OSR_NONE)
			continue;
		for (size_t vl = 0; now->rank && vl < was->n_vls; vl++)
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
	/* For the sweep after this one. */
	notes = osr_alloc(arena, was->notes.size, 1);
	if (notes && was->notes.size)
		memcpy(notes, was->notes.data, was->notes.size);
	now->notes = (struct osr_notes){ was->notes.size ? notes : NULL, was->notes.size };
	if ((st = osr_fabric_map_init(&earlier->map, from, to, scratch, diag)) ||
	    (st = carry_pairs(map, was, scratch, arena, now, diag)) ||
	    (st = carry_planes(map, &was->planes, scratch, arena, &now->planes, diag)) ||
	    (st = carry_sl2vl(map, was, arena, now, diag)))
		return st;
	return carry_channels(map, was, scratch, arena, now, diag);
}

enum osr_status osr_carry_again(const struct osr_result *old, const struct osr_fabric *fabric,
				bool all, struct osr_arena *arena, struct osr_arena *scratch,
				struct osr_routing *routing, struct osr_diag *diag)
{
	struct osr_earlier earlier;
	const struct osr_fabric_map *map = &earlier.map;
	enum osr_status st =
		osr_carry(&old->fabric, &old->routing, fabric, scratch, arena, &earlier, diag);
	uint32_t kept = 0, wanted = 0;
	char buf[32];

	if (st)
		return st;
	for (uint32_t s = 0; all && s < fabric->n_switches; s++)
		if (map->sw[s] == OSR_NONE)
			return osr_fail(diag, OSR_CHECK_FAILED, "switch %s is new",
					osr_switch_name(fabric, s, buf));
	for (uint32_t d = 0; all && d < fabric->n_dests; d++)
		if (map->dest[d] == OSR_NONE)
			return osr_fail(diag, OSR_CHECK_FAILED, "LID %u of %s is new",
					fabric->dest_lid[d],
					osr_terminal_name(fabric, fabric->dest_term[d], buf));
	*routing = earlier.routing;
	routing->lane_deps = NULL;
	routing->claims &= ~(uint32_t)OSR_CLAIM_MINIMAL;
	/*
	 * A spanning order with a missing link spans no more: the claim goes, and OpenSM builds its
	 * own trees.
	 */
	for (uint32_t s = 0; routing->mcast_parent && s < fabric->n_switches; s++) {
		kept += routing->mcast_parent[s] != OSR_NONE;
		wanted +=
			map->sw[s] != OSR_NONE && old->routing.mcast_parent[map->sw[s]] != OSR_NONE;
	}
	if (kept < wanted) {
		routing->mcast_parent = NULL;
		routing->claims &= ~(uint32_t)OSR_CLAIM_MULTICAST;
	}
	return OSR_OK;
}

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include <osmroutes/each.h>

#include "core/data/fabric_map.h"

/* The destination of `from` that has this LID, if its port has the GUID and role of terminal t. */
static uint32_t fabric_map_by_lid(const struct osr_fabric_map *map, uint16_t lid, uint32_t t)
{
	const struct osr_fabric *from = map->from, *to = map->to;
	uint32_t d = osr_lid_dest(from, lid), old;

	if (d == OSR_NONE)
		return OSR_NONE;
	old = from->dest_term[d];
	if (from->term_guid[old] != to->term_guid[t] || from->term_role[old] != to->term_role[t])
		return OSR_NONE;
	return d;
}

/* The channel of `from` with the switches and ports at both ends of channel c of `to`. */
static uint32_t fabric_map_cable(const struct osr_fabric_map *map, uint32_t c)
{
	const struct osr_fabric *from = map->from, *to = map->to;
	uint32_t s = map->sw[to->chan_src[c]], old;

	if (s == OSR_NONE)
		return OSR_NONE;
	old = osr_port_channel(from, s, to->chan_port[c]);
	if (old == OSR_NONE || from->chan_dst[old] != map->sw[to->chan_dst[c]] ||
	    from->chan_port[from->chan_rev[old]] != to->chan_port[to->chan_rev[c]])
		return OSR_NONE;
	return old;
}

enum osr_status osr_fabric_map_init(struct osr_fabric_map *map, const struct osr_fabric *from,
				    const struct osr_fabric *to, struct osr_arena *arena,
				    struct osr_diag *diag)
{
	uint32_t old = 0;

	*map = (struct osr_fabric_map){ .from = from, .to = to };
	map->sw = osr_alloc(arena, to->n_switches, sizeof(*map->sw));
	map->dest = osr_alloc(arena, to->n_dests, sizeof(*map->dest));
	map->chan = osr_alloc(arena, to->n_channels, sizeof(*map->chan));
	if (osr_arena_failed(arena, diag))
		return OSR_NOMEM;
	/* Both fabrics have their switches in the order of their GUIDs. */
	OSR_EACH_SWITCH(s, to) {
		while (old < from->n_switches && from->sw_guid[old] < to->sw_guid[s])
			old++;
		map->sw[s] = OSR_NONE;
		if (old < from->n_switches && from->sw_guid[old] == to->sw_guid[s])
			map->sw[s] = old;
	}
	OSR_EACH_DEST(d, to)
		map->dest[d] = fabric_map_by_lid(map, to->dest_lid[d], to->dest_term[d]);
	OSR_EVERY_CHANNEL(c, to)
		map->chan[c] = fabric_map_cable(map, c);
	/* A cable is in both fabrics with both of its directions. */
	OSR_EVERY_CHANNEL(c, to)
		osr_invariant(map->chan[c] == OSR_NONE ||
			      map->chan[to->chan_rev[c]] == from->chan_rev[map->chan[c]]);
	return OSR_OK;
}

bool osr_fabric_map_dest_stays(const struct osr_fabric_map *map, uint32_t d)
{
	return map->dest[d] != OSR_NONE &&
	       map->sw[map->to->dest_switch[d]] == map->from->dest_switch[map->dest[d]];
}

uint32_t osr_fabric_map_terminal(const struct osr_fabric_map *map, uint32_t t)
{
	uint32_t d = fabric_map_by_lid(map, map->to->term_lid[t], t);

	return d == OSR_NONE ? OSR_NONE : map->from->dest_term[d];
}

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "core/data/carry.h"

#include <string.h>

/* A routing on its way to another fabric. */
struct carry {
	const struct osr_fabric_map *map;
	const struct osr_routing *old;
	struct osr_routing *routing;
	struct osr_arena *arena;
	struct osr_diag *diag;
};

uint8_t osr_carry_port(const struct osr_fabric_map *map, uint32_t s, uint8_t port)
{
	bool had = osr_port_channel(map->from, map->sw[s], port) != OSR_NONE;

	return had && osr_port_channel(map->to, s, port) == OSR_NONE ? OSR_NO_PATH : port;
}

/* Rows as they are where all switches are the same: then only switches that have lost a cable differ. */
static void carry_lft(const struct carry *k, const uint8_t *port, const uint32_t *lossy,
		      uint32_t n_lossy)
{
	const struct osr_fabric_map *map = k->map;
	uint32_t n = map->to->n_switches;

	for (uint32_t d = 0; d < map->to->n_dests; d++) {
		uint8_t *to = k->routing->lft + (size_t)d * n;
		const uint8_t *from;

		if (map->dest[d] == OSR_NONE)
			continue;
		from = k->old->lft + (size_t)map->dest[d] * map->from->n_switches;
		if (n_lossy < n)
			memcpy(to, from, n);
		for (uint32_t i = 0; i < n_lossy; i++)
			if (map->sw[lossy[i]] != OSR_NONE)
				to[lossy[i]] =
					port[lossy[i] * (size_t)256 + from[map->sw[lossy[i]]]];
	}
}

static enum osr_status carry_entries(const struct carry *k)
{
	const struct osr_fabric_map *map = k->map;
	struct osr_arena_mark mark = osr_arena_mark(k->arena);
	uint32_t n = map->to->n_switches, n_lossy = 0;
	uint8_t *port = osr_alloc(k->arena, n, 256);
	uint32_t *lossy = osr_alloc(k->arena, n, sizeof(*lossy));
	bool alike = n == map->from->n_switches;

	if (osr_arena_failed(k->arena, k->diag))
		return OSR_NOMEM;
	for (uint32_t s = 0; s < n; s++)
		alike &= map->sw[s] == s;
	for (uint32_t s = 0; s < n; s++) {
		bool lost = !alike;

		for (unsigned p = 0; map->sw[s] != OSR_NONE && p < 256; p++) {
			port[s * (size_t)256 + p] = osr_carry_port(map, s, (uint8_t)p);
			lost |= port[s * (size_t)256 + p] != p;
		}
		if (lost)
			lossy[n_lossy++] = s;
	}
	carry_lft(k, port, lossy, n_lossy);
	osr_arena_reset(k->arena, mark);
	return OSR_OK;
}

static enum osr_status carry_sls(const struct carry *k)
{
	const struct osr_fabric_map *map = k->map;
	uint32_t n = map->to->n_switches;
	size_t size = (size_t)map->to->n_dests * n;
	uint16_t *granted = NULL;
	uint8_t *sl;

	if (!k->old->sl)
		return OSR_OK;
	sl = osr_calloc(k->arena, size, sizeof(*sl));
	if (k->old->granted)
		granted = osr_calloc(k->arena, size, sizeof(*granted));
	if (osr_arena_failed(k->arena, k->diag))
		return OSR_NOMEM;
	for (uint32_t d = 0; d < map->to->n_dests; d++) {
		size_t from = (size_t)map->dest[d] * map->from->n_switches, to = (size_t)d * n;

		for (uint32_t s = 0; map->dest[d] != OSR_NONE && s < n; s++) {
			if (map->sw[s] == OSR_NONE)
				continue;
			sl[to + s] = k->old->sl[from + map->sw[s]];
			if (granted)
				granted[to + s] = k->old->granted[from + map->sw[s]];
		}
	}
	k->routing->sl = sl;
	k->routing->granted = granted;
	return OSR_OK;
}

/* The table of each pair of ports that the switch has in both fabrics. */
static void carry_pairs(const struct carry *k, uint32_t s)
{
	const struct osr_fabric_map *map = k->map;
	unsigned n = map->to->sw_n_ports[s] + 1u, n_from;
	osr_sl2vl_t *to = k->routing->sl2vl + k->routing->sl2vl_row[s];
	const osr_sl2vl_t *from;

	if (map->sw[s] == OSR_NONE)
		return;
	n_from = map->from->sw_n_ports[map->sw[s]] + 1u;
	from = k->old->sl2vl + k->old->sl2vl_row[map->sw[s]];
	for (unsigned i = 0; i < n && i < n_from; i++)
		for (unsigned o = 0; o < n && o < n_from; o++)
			memcpy(to[i * n + o], from[i * n_from + o], sizeof(*to));
}

static enum osr_status carry_sl2vl(const struct carry *k)
{
	const struct osr_fabric *to = k->map->to;

	memcpy(k->routing->ca_sl2vl, k->old->ca_sl2vl, sizeof(k->routing->ca_sl2vl));
	if (!k->old->sl2vl)
		return OSR_OK;
	if (osr_routing_alloc_sl2vl(k->routing, to, OSR_VL_UNSET, k->arena, k->diag))
		return OSR_NOMEM;
	for (uint32_t s = 0; s < to->n_switches; s++)
		carry_pairs(k, s);
	return OSR_OK;
}

static enum osr_status carry_mcast(const struct carry *k)
{
	const struct osr_fabric_map *map = k->map;
	uint32_t *parent;

	k->routing->mcast_vl = k->old->mcast_vl;
	if (!k->old->mcast_parent)
		return OSR_OK;
	parent = osr_alloc(k->arena, map->to->n_switches, sizeof(*parent));
	if (osr_arena_failed(k->arena, k->diag))
		return OSR_NOMEM;
	memset(parent, 0xff, map->to->n_switches * sizeof(*parent));
	for (uint32_t c = 0; c < map->to->n_channels; c++)
		if (map->chan[c] != OSR_NONE &&
		    k->old->mcast_parent[map->from->chan_src[map->chan[c]]] == map->chan[c])
			parent[map->to->chan_src[c]] = c;
	k->routing->mcast_parent = parent;
	return OSR_OK;
}

/* For the sweep after this one. */
static enum osr_status carry_notes(const struct carry *k)
{
	const struct osr_notes *old = &k->old->notes;
	void *data = osr_alloc(k->arena, old->size, 1);

	if (osr_arena_failed(k->arena, k->diag))
		return OSR_NOMEM;
	if (old->size)
		k->routing->notes =
			(struct osr_notes){ memcpy(data, old->data, old->size), old->size };
	return OSR_OK;
}

enum osr_status osr_carry_routing(const struct osr_fabric_map *map, const struct osr_routing *old,
				  struct osr_arena *arena, struct osr_routing *routing,
				  struct osr_diag *diag)
{
	struct carry k = { map, old, routing, arena, diag };
	enum osr_status st = osr_routing_init(routing, map->to, arena, diag);

	if (st)
		return st;
	routing->engine = old->engine;
	routing->chosen = old->chosen;
	routing->n_vls = old->n_vls;
	if ((st = carry_entries(&k)) || (st = carry_sls(&k)) || (st = carry_sl2vl(&k)) ||
	    (st = carry_notes(&k)))
		return st;
	return carry_mcast(&k);
}

enum osr_status osr_carry_rank(const struct osr_fabric_map *map, const struct osr_routing *old,
			       struct osr_arena *arena, struct osr_routing *routing,
			       struct osr_diag *diag)
{
	uint32_t n = map->to->n_channels;

	if (!old->rank)
		return OSR_OK;
	routing->rank = osr_calloc(arena, (size_t)old->n_vls * n, sizeof(*routing->rank));
	if (osr_arena_failed(arena, diag))
		return OSR_NOMEM;
	for (uint32_t vl = 0; vl < old->n_vls; vl++)
		for (uint32_t c = 0; c < n; c++)
			if (map->chan[c] != OSR_NONE)
				routing->rank[(size_t)vl * n + c] =
					old->rank[(size_t)vl * map->from->n_channels +
						  map->chan[c]];
	return OSR_OK;
}

/* Everything that is there today was there before. */
static enum osr_status carry_all_known(const struct osr_fabric_map *map, struct osr_diag *diag)
{
	const struct osr_fabric *fabric = map->to;
	char buf[32];

	for (uint32_t s = 0; s < fabric->n_switches; s++)
		if (map->sw[s] == OSR_NONE)
			return osr_fail(diag, OSR_CHECK_FAILED, "switch %s is new",
					osr_switch_name(fabric, s, buf));
	for (uint32_t d = 0; d < fabric->n_dests; d++)
		if (map->dest[d] == OSR_NONE)
			return osr_fail(diag, OSR_CHECK_FAILED, "LID %u of %s is new",
					fabric->dest_lid[d],
					osr_terminal_name(fabric, fabric->dest_term[d], buf));
	return OSR_OK;
}

/* A spanning order with a missing link spans no more: the claim goes, and OpenSM builds its own trees. */
static void carry_claim_mcast(const struct osr_fabric_map *map, const struct osr_routing *old,
			      struct osr_routing *routing)
{
	uint32_t kept = 0, wanted = 0;

	for (uint32_t s = 0; routing->mcast_parent && s < map->to->n_switches; s++) {
		kept += routing->mcast_parent[s] != OSR_NONE;
		wanted += map->sw[s] != OSR_NONE && old->mcast_parent[map->sw[s]] != OSR_NONE;
	}
	if (kept < wanted) {
		routing->mcast_parent = NULL;
		routing->claims &= ~(uint32_t)OSR_CLAIM_MULTICAST;
	}
}

enum osr_status osr_carry_checked(const struct osr_fabric_map *map, const struct osr_routing *old,
				  struct osr_arena *result, struct osr_routing *routing,
				  struct osr_diag *diag)
{
	enum osr_status st;

	if ((st = osr_carry_routing(map, old, result, routing, diag)) ||
	    (st = osr_carry_rank(map, old, result, routing, diag)))
		return st;
	routing->claims = old->claims & ~(uint32_t)OSR_CLAIM_MINIMAL;
	routing->n_layers = old->n_layers;
	routing->n_layers_one_way = old->n_layers_one_way;
	carry_claim_mcast(map, old, routing);
	return OSR_OK;
}

enum osr_status osr_carry_again(const struct osr_result *old, const struct osr_fabric *fabric,
				struct osr_arena *result, struct osr_arena *scratch,
				struct osr_routing *routing, struct osr_diag *diag)
{
	struct osr_fabric_map map;
	enum osr_status st;

	if ((st = osr_fabric_map_init(&map, &old->fabric, fabric, scratch, diag)) ||
	    (st = carry_all_known(&map, diag)))
		return st;
	return osr_carry_checked(&map, &old->routing, result, routing, diag);
}

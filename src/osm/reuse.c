/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The last checked tables on the fabric of today (core/data/carry.h), with their certificate. Whether
 * they fit is not decided here but by the checker. Minimality is not claimed any more: a new cable may
 * have made shorter routes than those of before.
 */
#include "core/data/carry.h"

#include "plugin.h"

#include <string.h>

/* Everything that is there today was there before. */
static enum osr_status all_known(const struct osr_fabric_map *map, struct osr_diag *diag)
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
static void reuse_mcast(const struct osr_fabric_map *map, const struct osr_routing *old,
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

static enum osr_status reuse(const struct osr_fabric_map *map, const struct osr_routing *old,
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
	reuse_mcast(map, old, routing);
	return OSR_OK;
}

enum osr_status osr__reuse(const struct osr_result *old, const struct osr_fabric *fabric,
			   struct osr_arena *result, struct osr_arena *scratch,
			   struct osr_routing *routing, struct osr_diag *diag)
{
	struct osr_fabric_map map;
	enum osr_status st;

	if ((st = osr_fabric_map_init(&map, &old->fabric, fabric, scratch, diag)) ||
	    (st = all_known(&map, diag)))
		return st;
	return reuse(&map, &old->routing, result, routing, diag);
}

enum osr_status osr__reuse_cached(const struct osr_result *old, const struct osr_fabric *fabric,
				  const struct snapshot *snap, struct osr_arena *result,
				  struct osr_arena *scratch, struct osr_routing *routing,
				  struct osr_diag *diag)
{
	struct osr_fabric_map map;
	enum osr_status st;

	if ((st = osr_fabric_map_init(&map, &old->fabric, fabric, scratch, diag)) ||
	    (st = reuse(&map, &old->routing, result, routing, diag)))
		return st;
	memset(routing->lft, OSR_NO_PATH, (size_t)fabric->n_dests * fabric->n_switches);
	for (uint32_t s = 0; s < fabric->n_switches; s++) {
		const osm_switch_t *sw = snap->sw[s];
		const uint8_t *lft = sw->new_lft ? sw->new_lft : sw->lft;

		for (uint32_t d = 0; lft && d < fabric->n_dests; d++)
			if (fabric->dest_lid[d] <= sw->max_lid_ho)
				routing->lft[(size_t)d * fabric->n_switches + s] =
					lft[fabric->dest_lid[d]];
	}
	return OSR_OK;
}

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* What a generation has besides its routing, in the numbering of another fabric. */
#include "core/data/carry.h"
#include "core/verify/union.h"

#include <string.h>

static bool carry_paths(const struct osr_fabric_map *map, const struct osr_paths *old,
			struct osr_arena *result, struct osr_paths *to)
{
	const struct osr_fabric *fabric = map->to;
	uint32_t *row = osr_alloc(result, fabric->n_terminals, sizeof(*row));
	uint8_t *sl = osr_alloc(result, (size_t)old->n_rows * fabric->n_dests, 1);

	for (uint32_t t = 0; row && t < fabric->n_terminals; t++) {
		uint32_t old_t = osr_fabric_map_terminal(map, t);

		row[t] = old_t == OSR_NONE ? OSR_NONE : old->row[old_t];
	}
	for (uint32_t i = 0; sl && i < old->n_rows; i++)
		for (uint32_t d = 0; d < fabric->n_dests; d++)
			sl[(size_t)i * fabric->n_dests + d] =
				map->dest[d] == OSR_NONE
					? OSR_NO_SL
					: old->sl[(size_t)i * map->from->n_dests + map->dest[d]];
	*to = (struct osr_paths){ .n_rows = old->n_rows, .row = row, .sl = sl };
	return row && sl;
}

static bool carry_groups(const struct osr_fabric_map *map, const struct osr_groups *old,
			 struct osr_arena *result, struct osr_groups *to)
{
	uint32_t n = map->to->n_switches;
	uint64_t(*ports)[4] = osr_calloc(result, (size_t)old->n * n, sizeof(*ports));

	for (uint32_t i = 0; ports && i < old->n * n; i++) {
		uint32_t g = i / n, s = i % n;
		const uint64_t *from;

		if (map->sw[s] == OSR_NONE)
			continue;
		from = old->ports[(size_t)g * map->from->n_switches + map->sw[s]];
		for (unsigned p = 0; p <= map->to->sw_n_ports[s]; p++)
			if (from[p / 64] >> p % 64 & 1 &&
			    osr_carry_port(map, s, (uint8_t)p) != OSR_NO_PATH)
				ports[i][p / 64] |= UINT64_C(1) << p % 64;
	}
	*to = (struct osr_groups){
		.n = old->n, .mlid = old->mlid, .ports = (const uint64_t(*)[4])ports, .sl = old->sl
	};
	return ports;
}

/* A new sender uses no SL that is known: VL = SL, as without tables. */
static bool carry_ends(const struct osr_fabric_map *map, const osr_sl2vl_t *old,
		       struct osr_arena *result, struct osr_generation *to)
{
	osr_sl2vl_t *table = osr_alloc(result, map->to->n_terminals, sizeof(*table));

	for (uint32_t t = 0; table && t < map->to->n_terminals; t++) {
		uint32_t old_t = osr_fabric_map_terminal(map, t);

		for (unsigned sl = 0; sl < 16; sl++)
			table[t][sl] = old_t == OSR_NONE ? (uint8_t)sl : old[old_t][sl];
	}
	to->term_sl2vl = table;
	return table;
}

enum osr_status osr_union_carry(const struct osr_fabric_map *map, const struct osr_generation *old,
				struct osr_arena *result, struct osr_carried *to,
				struct osr_diag *diag)
{
	enum osr_status st = osr_carry_routing(map, old->routing, result, &to->routing, diag);

	to->gen =
		(struct osr_generation){ .routing = &to->routing, .sls_unknown = old->sls_unknown };
	if (st)
		return st;
	if (old->paths)
		to->gen.paths = &to->paths;
	if (old->groups)
		to->gen.groups = &to->groups;
	if ((old->paths && !carry_paths(map, old->paths, result, &to->paths)) ||
	    (old->groups && !carry_groups(map, old->groups, result, &to->groups)) ||
	    (old->term_sl2vl && !carry_ends(map, old->term_sl2vl, result, &to->gen)))
		return osr_fail(diag, OSR_NOMEM, "out of memory for the previous tables");
	return OSR_OK;
}

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The entries of one LID, and a whole generation in the numbering of another fabric. */
#include <osmroutes/each.h>

#include "follow.h"

#include <string.h>

enum osr_status osr_follow_init(struct osr_follow *follow, struct osr_arena *scratch,
				struct osr_diag *diag)
{
	const struct osr_fabric *fabric = follow->fabric;

	osr_invariant(follow->n == 1 || follow->n == 2);
	for (uint32_t g = 0; g < follow->n; g++) {
		const struct osr_generation *gen = &follow->gen[g];
		const struct osr_routing *routing = gen->routing;

		if (!routing->lft || routing->n_switches != fabric->n_switches ||
		    routing->n_dests != fabric->n_dests ||
		    routing->n_channels != fabric->n_channels ||
		    (routing->sl2vl && !routing->sl2vl_row))
			return osr_fail(diag, OSR_INVAL, "the tables are for another fabric");
		if ((follow->modes & OSR_CLAIM_ANY_SL) || (!gen->paths && !routing->sl))
			follow->any[g] = gen->any_sls ? gen->any_sls : 0xffff;
		follow->out[g] = osr_alloc(scratch, fabric->n_switches, sizeof(*follow->out[g]));
	}
	follow->n_in = osr_alloc(scratch, fabric->n_switches, sizeof(*follow->n_in));
	follow->order = osr_alloc(scratch, fabric->n_switches, sizeof(*follow->order));
	return osr_arena_failed(scratch, diag) ? OSR_NOMEM : OSR_OK;
}

void osr_follow_load(struct osr_follow *follow, uint32_t d)
{
	const struct osr_fabric *fabric = follow->fabric;

	osr_invariant(d < fabric->n_dests);
	for (uint32_t g = 0; g < follow->n; g++) {
		const uint8_t *row = follow->gen[g].routing->lft + (size_t)d * fabric->n_switches;

		OSR_EACH_SWITCH(s, fabric) {
			uint32_t c = osr_port_channel(fabric, s, row[s]);

			follow->out[g][s] = g && c == follow->out[0][s] ? OSR_NONE : c;
		}
	}
}

uint32_t osr_follow_order(struct osr_follow *follow)
{
	const struct osr_fabric *fabric = follow->fabric;
	uint32_t n = 0;

	memset(follow->n_in, 0, fabric->n_switches * sizeof(*follow->n_in));
	for (uint32_t g = 0; g < follow->n; g++)
		OSR_EACH_SWITCH(s, fabric) {
			if (follow->out[g][s] != OSR_NONE)
				follow->n_in[fabric->chan_dst[follow->out[g][s]]]++;
		}
	OSR_EACH_SWITCH(s, fabric) {
		if (!follow->n_in[s])
			follow->order[n++] = s;
	}
	for (uint32_t head = 0; head < n; head++)
		for (uint32_t g = 0; g < follow->n; g++) {
			uint32_t c = follow->out[g][follow->order[head]];

			osr_invariant(c == OSR_NONE || follow->n_in[fabric->chan_dst[c]] > 0);
			if (c != OSR_NONE && --follow->n_in[fabric->chan_dst[c]] == 0)
				follow->order[n++] = fabric->chan_dst[c];
		}
	osr_invariant(n <= fabric->n_switches);
	return n;
}

/* ---- another fabric -------------------------------------------------------------------------- */

/* SLs by row and LID of map->to. No SL leads to a LID that is new. */
static void carry_path_sls(const struct osr_fabric_map *map, const struct osr_paths *old,
			   uint8_t *sl)
{
	uint32_t n = map->to->n_dests, n_from = map->from->n_dests;

	for (size_t row = 0; row < old->n_rows; row++)
		for (uint32_t d = 0; d < n; d++) {
			uint32_t was = map->dest[d];

			sl[row * n + d] = OSR_NO_SL;
			if (was != OSR_NONE)
				sl[row * n + d] = old->sl[row * n_from + was];
		}
}

/* The ports of each group on switches of map->to. A port without its cable leaves the group. */
static void carry_groups(const struct osr_fabric_map *map, const struct osr_groups *old,
			 uint64_t (*ports)[4])
{
	size_t n = map->to->n_switches, n_from = map->from->n_switches;

	for (size_t group = 0; group < old->n; group++)
		for (uint32_t s = 0; s < n; s++) {
			const uint64_t *was;

			if (map->sw[s] == OSR_NONE)
				continue;
			was = old->ports[group * n_from + map->sw[s]];
			for (unsigned p = 0; p <= map->to->sw_n_ports[s]; p++)
				if (was[p / 64] >> p % 64 & 1 &&
				    osr_carry_port(map, s, p) != OSR_NO_PATH)
					ports[group * n + s][p / 64] |= UINT64_C(1) << p % 64;
		}
}

enum osr_status osr_union_carry(const struct osr_fabric *from, const struct osr_generation *old,
				const struct osr_fabric *fabric, struct osr_arena *result,
				struct osr_carried *to, struct osr_diag *diag)
{
	const struct osr_fabric_map *map = &to->tables.map;
	size_t n = fabric->n_switches, n_rows = old->paths ? old->paths->n_rows : 0;
	size_t n_groups = old->groups ? old->groups->n : 0;
	uint32_t *row = osr_alloc(result, fabric->n_terminals, sizeof(*row));
	uint8_t *sl = osr_alloc(result, n_rows * fabric->n_dests, 1);
	uint64_t(*ports)[4] = osr_calloc(result, n_groups * n, sizeof(*ports));
	enum osr_status st =
		osr_carry(from, old->routing, fabric, result, result, &to->tables, diag);

	to->gen = (struct osr_generation){ .routing = &to->tables.routing,
					   .sls_unknown = old->sls_unknown };
	if (old->paths)
		to->gen.paths = &to->paths;
	if (old->groups)
		to->gen.groups = &to->groups;
	if (st)
		return st;
	if (osr_arena_failed(result, diag))
		return OSR_NOMEM;
	/* The row of an end port that is gone stays, unused. */
	if (old->paths) {
		OSR_EVERY_TERMINAL(t, fabric) {
			uint32_t was = osr_fabric_map_terminal(map, t);

			row[t] = was == OSR_NONE ? OSR_NONE : old->paths->row[was];
		}
		carry_path_sls(map, old->paths, sl);
	}
	if (old->groups)
		carry_groups(map, old->groups, ports);
	to->paths = (struct osr_paths){ .n_rows = n_rows, .row = row, .sl = sl };
	if (old->groups)
		to->groups = *old->groups;
	to->groups.ports = (const uint64_t(*)[4])ports;
	return OSR_OK;
}

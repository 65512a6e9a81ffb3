/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "io/tables.h"

#include <osmroutes/invariant.h>

#include <stdlib.h>
#include <string.h>

/* ---- end ports by GUID ---------------------------------------------------------------------- */

/* The terminal at this port of a switch of the net, or OSR_NONE. */
static uint32_t terminal_at(const struct osr_fabric *fabric, const struct osr_net *net,
			    uint32_t port)
{
	uint32_t sw;

	if (port == OSR_NONE || !osr_net_is_switch(net, net->ports[port].node))
		return OSR_NONE;
	sw = osr_fabric_switch_by_guid(fabric, net->nodes[net->ports[port].node].guid);
	if (sw == OSR_NONE)
		return OSR_NONE;
	for (uint32_t t = fabric->term_row[sw]; t < fabric->term_row[sw + 1]; t++)
		if (fabric->term_port[t] == osr_net_port_num(net, port))
			return t;
	return OSR_NONE;
}

/* Every terminal, and every port of a CA or router, whose switch may be at the other end or not. */
static void index_owners(struct osr_tables *tables)
{
	const struct osr_fabric *fabric = tables->fabric;
	const struct osr_net *net = tables->net;
	uint32_t n_ports = net ? net->n_ports : 0;
	size_t n = (size_t)fabric->n_terminals + n_ports;
	struct osr_keyed **owner = tables->owner;
	uint32_t *n_owners = tables->n_owners;

	for (unsigned by_node = 0; by_node < 2; by_node++)
		owner[by_node] = osr_alloc(tables->arena, n, sizeof(**owner));
	if (osr_arena_failed(tables->arena, NULL))
		return;
	for (uint32_t i = 0; i < fabric->n_terminals; i++)
		owner[0][n_owners[0]++] = (struct osr_keyed){ fabric->term_guid[i], i };
	for (uint32_t p = 0; p < n_ports; p++) {
		const struct osr_net_node *node = &net->nodes[net->ports[p].node];
		uint32_t term;

		if (node->type == OSR_NET_SWITCH || p == node->port_row)
			continue;
		term = terminal_at(fabric, net, net->ports[p].peer);
		owner[1][n_owners[1]++] = (struct osr_keyed){ node->guid, term };
		if (term == OSR_NONE)
			owner[0][n_owners[0]++] = (struct osr_keyed){ net->ports[p].guid, term };
	}
	osr_invariant(n_owners[0] <= n && n_owners[1] <= n);
	for (unsigned by_node = 0; by_node < 2; by_node++)
		osr_keyed_sort(owner[by_node], n_owners[by_node]);
}

const struct osr_keyed *osr_tables_owner(const struct osr_tables *tables, uint64_t guid,
					 bool by_node, uint32_t *n)
{
	const struct osr_keyed *list = tables->owner[by_node];
	uint32_t n_list = tables->n_owners[by_node], at = osr_keyed_at(list, n_list, guid);

	*n = 0;
	while (at + *n < n_list && list[at + *n].key == guid)
		++*n;
	return list + at;
}

/* ---- beginning and end ---------------------------------------------------------------------- */

enum osr_status osr_tables_init(struct osr_tables *tables, const struct osr_fabric *fabric,
				const struct osr_net *net, struct osr_arena *arena,
				struct osr_diag *diag)
{
	enum osr_status st;

	*tables = (struct osr_tables){ .fabric = fabric, .net = net, .arena = arena };
	st = osr_routing_init(&tables->routing, fabric, arena, diag);
	if (st)
		return st;
	tables->routing.engine = "tables";
	tables->routing.n_vls = 1;
	tables->has_lft = osr_calloc(arena, fabric->n_switches, sizeof(*tables->has_lft));
	tables->group = osr_calloc(arena, OSR_N_MLIDS, sizeof(*tables->group));
	index_owners(tables);
	return osr_arena_failed(arena, diag) ? OSR_NOMEM : OSR_OK;
}

void osr_tables_free(struct osr_tables *tables)
{
	free((void *)tables->paths.sl);
	tables->paths = (struct osr_paths){ 0 };
}

enum osr_status osr_tables_alloc_sl2vl(struct osr_tables *tables, struct osr_diag *diag)
{
	uint32_t n = tables->fabric->n_terminals;
	enum osr_status st = osr_routing_alloc_sl2vl(&tables->routing, tables->fabric, OSR_VL_UNSET,
						     tables->arena, diag);

	tables->term_sl2vl = osr_alloc(tables->arena, n, sizeof(*tables->term_sl2vl));
	if (st || osr_arena_failed(tables->arena, diag))
		return OSR_NOMEM;
	memset(tables->term_sl2vl, OSR_VL_UNSET, n * sizeof(*tables->term_sl2vl));
	return OSR_OK;
}

enum osr_status osr_tables_one_sl(struct osr_tables *tables, uint8_t sl, struct osr_diag *diag)
{
	uint32_t *row = osr_calloc(tables->arena, tables->fabric->n_terminals, sizeof(*row));
	uint8_t *sls = malloc(tables->fabric->n_dests + 1u);

	osr_invariant(sl < 16);
	if (!row || !sls) {
		free(sls);
		return osr_fail(diag, OSR_NOMEM, "out of memory for the SLs of %u LIDs",
				tables->fabric->n_dests);
	}
	memset(sls, sl, tables->fabric->n_dests);
	osr_tables_free(tables);
	tables->paths = (struct osr_paths){ .n_rows = 1, .row = row, .sl = sls };
	return OSR_OK;
}

enum osr_status osr_tables_take(struct osr_tables *tables, const struct osr_routing *routing,
				struct osr_diag *diag)
{
	const struct osr_fabric *fabric = tables->fabric;

	tables->taken = true;
	tables->routing = *routing;
	tables->routing.engine = "tables";
	tables->routing.claims = 0;
	tables->routing.rank = NULL;
	memset(tables->has_lft, true, fabric->n_switches * sizeof(*tables->has_lft));
	tables->n_entries = (uint64_t)fabric->n_switches * fabric->n_dests;
	if (!routing->sl2vl)
		return OSR_OK;
	tables->term_sl2vl =
		osr_alloc(tables->arena, fabric->n_terminals, sizeof(*tables->term_sl2vl));
	if (osr_arena_failed(tables->arena, diag))
		return OSR_NOMEM;
	for (uint32_t i = 0; i < fabric->n_terminals; i++)
		memcpy(tables->term_sl2vl[i], routing->ca_sl2vl, sizeof(*tables->term_sl2vl));
	return OSR_OK;
}

uint64_t *osr_tables_group(struct osr_tables *tables, uint32_t mlid, uint32_t sw)
{
	uint64_t **group = &tables->group[mlid - OSR_MLID_FIRST];

	osr_invariant(mlid >= OSR_MLID_FIRST && mlid - OSR_MLID_FIRST < OSR_N_MLIDS);
	osr_invariant(sw < tables->fabric->n_switches);
	if (!*group)
		*group = osr_calloc(tables->arena, 4 * (size_t)tables->fabric->n_switches,
				    sizeof(**group));
	return *group ? *group + 4 * (size_t)sw : NULL;
}

/* ---- for the checker ----------------------------------------------------------------------- */

/* The highest data VL of these and `highest`. Marks of missing entries are no data VLs. */
static uint8_t highest_vl(const uint8_t *vl, size_t n, uint8_t highest)
{
	for (size_t i = 0; i < n; i++)
		if (vl[i] < OSR_MAX_VLS && vl[i] > highest)
			highest = vl[i];
	return highest;
}

static void io_tables_count_vls(struct osr_tables *tables)
{
	const struct osr_fabric *fabric = tables->fabric;
	uint8_t highest = 0;

	if (tables->routing.sl2vl) {
		for (uint32_t s = 0; s < fabric->n_switches; s++)
			for (unsigned in = 0; in <= fabric->sw_n_ports[s]; in++)
				for (unsigned out = 0; out <= fabric->sw_n_ports[s]; out++)
					highest = highest_vl(osr_tables_sl2vl(tables, s, in, out),
							     16, highest);
	} else {
		highest = highest_vl(tables->paths.sl,
				     (size_t)tables->paths.n_rows * fabric->n_dests, highest);
	}
	osr_invariant(highest < OSR_MAX_VLS);
	tables->routing.n_vls = highest + 1;
}

/*
 * *table becomes the table of the first CA, or NULL without CAs. false: the tables of CAs differ.
 */
static bool common_table(const struct osr_tables *tables, const uint8_t **table)
{
	*table = NULL;
	for (uint32_t i = 0; i < tables->fabric->n_terminals; i++) {
		if (!tables->fabric->term_weight[i])
			continue;
		if (*table && memcmp(*table, tables->term_sl2vl[i], 16))
			return false;
		*table = tables->term_sl2vl[i];
	}
	return true;
}

static bool same_ca_tables(struct osr_tables *tables)
{
	uint8_t *ca_sl2vl = tables->routing.ca_sl2vl;
	const uint8_t *table = NULL;

	if (tables->term_sl2vl && !common_table(tables, &table))
		return false;
	for (uint8_t sl = 0; sl < 16; sl++)
		ca_sl2vl[sl] = table && table[sl] != OSR_VL_UNSET ? table[sl] : sl;
	/* Without a CA no packet uses such a table. */
	if (tables->term_sl2vl && !table)
		memset(ca_sl2vl, 0, 16);
	return true;
}

/*
 * SLs by switch into routing.sl, if every switch has end ports and all of a switch send alike
 * (towards other switches), without a missing one.
 */
static bool fold(const struct osr_tables *tables, uint8_t *sls)
{
	const struct osr_fabric *fabric = tables->fabric;
	const struct osr_paths *paths = &tables->paths;
	size_t n = fabric->n_dests;

	for (uint32_t s = 0; s < fabric->n_switches; s++) {
		uint32_t begin = fabric->term_row[s], end = fabric->term_row[s + 1];
		const uint8_t *first;

		for (uint32_t term = begin; term < end; term++)
			if (paths->row[term] == OSR_NONE)
				return false;
		if (begin == end)
			return false;
		first = paths->sl + paths->row[begin] * n;
		for (uint32_t d = 0; d < n; d++) {
			uint32_t to = fabric->dest_switch[d];
			bool apart = to != s && fabric->sw_component[to] == fabric->sw_component[s];

			for (uint32_t term = begin; term < end; term++) {
				uint8_t sl = paths->sl[paths->row[term] * n + d];
				/*
				 * On one switch SLs matter to no channel, but a missing one is a
				 * fault.
				 */
				bool near = to == s && fabric->dest_term[d] != term &&
					    fabric->term_weight[term] &&
					    fabric->term_weight[fabric->dest_term[d]];

				if ((sl == OSR_NO_SL && (near || apart)) ||
				    (apart && sl != first[d]))
					return false;
			}
			sls[(size_t)d * fabric->n_switches + s] =
				first[d] == OSR_NO_SL ? 0 : first[d];
		}
	}
	return true;
}

enum osr_status osr_tables_finish(struct osr_tables *tables, bool *same_ca, struct osr_diag *diag)
{
	const struct osr_fabric *fabric = tables->fabric;
	uint32_t n_groups = 0;
	uint64_t(*ports)[4];
	uint16_t *mlid;
	uint8_t *sls;

	for (uint32_t i = 0; i < OSR_N_MLIDS; i++)
		n_groups += tables->group[i] != NULL;
	mlid = osr_alloc(tables->arena, n_groups, sizeof(*mlid));
	ports = osr_alloc(tables->arena, (size_t)n_groups * fabric->n_switches, sizeof(*ports));
	if (osr_arena_failed(tables->arena, diag))
		return OSR_NOMEM;
	tables->groups = (struct osr_groups){ .mlid = mlid, .ports = (const uint64_t(*)[4])ports };
	for (uint32_t i = 0; i < OSR_N_MLIDS; i++) {
		if (!tables->group[i])
			continue;
		memcpy(ports + (size_t)tables->groups.n * fabric->n_switches, tables->group[i],
		       fabric->n_switches * sizeof(*ports));
		mlid[tables->groups.n++] = OSR_MLID_FIRST + i;
	}
	osr_invariant(tables->groups.n == n_groups);
	if (tables->taken && !tables->paths.n_rows && tables->routing.n_vls) {
		*same_ca = true;
		return OSR_OK;
	}
	io_tables_count_vls(tables);
	*same_ca = same_ca_tables(tables);
	if (!tables->paths.n_rows)
		return OSR_OK;
	sls = osr_alloc(tables->arena, (size_t)fabric->n_dests * fabric->n_switches, 1);
	if (osr_arena_failed(tables->arena, diag))
		return OSR_NOMEM;
	tables->folded = fold(tables, sls);
	if (tables->folded)
		tables->routing.sl = sls;
	return OSR_OK;
}

struct osr_generation osr_tables_generation(const struct osr_tables *tables)
{
	const struct osr_groups *groups = tables->groups.n ? &tables->groups : NULL;
	bool by_path = tables->paths.n_rows && !tables->folded;

	return (struct osr_generation){
		.routing = &tables->routing,
		.paths = by_path ? &tables->paths : NULL,
		.groups = groups,
		.term_sl2vl = tables->term_sl2vl,
	};
}

/* ---- for the readers ------------------------------------------------------------------------ */

enum osr_status osr_tables_read(struct osr_tables *tables, struct osr_lines *in,
				osr_tables_parse_fn *parse)
{
	enum osr_status st = parse(tables, in);

	tables->bytes += in->bytes;
	osr_lines_close(in);
	return st;
}

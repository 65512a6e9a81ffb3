/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Tables from trees of directions. From the inside out: ports of LFTs, service levels, SL2VL by port
 * pair, ranks, multicast; angara__write() does them all.
 */
#include "job.h"

#include <string.h>

/* Of parallel channels the one with the fewest routes. */
static uint32_t pick_channel(struct job *j, uint32_t v, uint32_t dir)
{
	const struct osr_grid *grid = &j->grid;
	const uint16_t *row = grid->hop_row + (size_t)v * (2 * grid->shape.n_dims + 1) + dir;
	uint32_t first = j->f->chan_row[v], best = first + grid->hop_list[first + row[0]];

	for (uint32_t k = row[0] + 1u; k < row[1]; k++) {
		uint32_t c = first + grid->hop_list[first + k];

		if (j->load[c] < j->load[best])
			best = c;
	}
	j->load[best] += j->flow[v];
	return best;
}

/* End ports behind each switch of the tree, itself included. */
static void angara_tables_count_flow(struct job *j, const uint8_t *row, uint32_t root)
{
	uint32_t n = angara__trees_hops(&j->trees, row, root);

	for (uint32_t v = 0; v < j->f->n_switches; v++)
		j->flow[v] = j->f->sw_sources[v];
	for (uint32_t k = n; k-- > 1;) {
		uint32_t v = j->trees.by_hops[k];

		j->flow[osr_grid_near(&j->grid, v, row[v])] += j->flow[v];
	}
}

/* Ports for directions; the model's own row may be the one that is written. */
static void write_ports(struct job *j, uint32_t d, const uint8_t *row, bool parallel)
{
	const struct osr_fabric *fabric = j->f;
	uint8_t *lft = j->r->lft + (size_t)d * fabric->n_switches;
	uint32_t root = fabric->dest_switch[d];

	for (uint32_t v = 0; v < fabric->n_switches; v++) {
		uint32_t c;

		if (v == root)
			lft[v] = fabric->term_port[fabric->dest_term[d]];
		if (v == root)
			continue;
		if (parallel) {
			c = pick_channel(j, v, row[v]);
		} else {
			uint32_t first = fabric->chan_row[v], n = 2 * j->grid.shape.n_dims + 1;

			c = first + j->grid.hop_list[first + j->grid.hop_row[v * n + row[v]]];
		}
		lft[v] = fabric->chan_port[c];
	}
}

static bool has_parallels(const struct osr_grid *grid)
{
	uint32_t n_dirs = 2 * grid->shape.n_dims;

	for (uint32_t v = 0; v < grid->f->n_switches; v++)
		for (uint32_t dir = 0; dir < n_dirs; dir++) {
			const uint16_t *row = grid->hop_row + (size_t)v * (n_dirs + 1) + dir;

			if (row[1] > row[0] + 1)
				return true;
		}
	return false;
}

static void angara_tables_write_lfts(struct job *j)
{
	const struct osr_fabric *fabric = j->f;
	bool parallel = has_parallels(&j->grid);

	/* A model is written last: until then its row says the directions of the others. */
	for (uint32_t m = 0; m < fabric->n_dests; m++) {
		const uint8_t *row = j->r->lft + (size_t)m * fabric->n_switches;
		uint32_t root = fabric->dest_switch[m];

		if (j->trees.model[m] != m)
			continue;
		if (parallel)
			angara_tables_count_flow(j, row, root);
		for (uint32_t k = j->trees.dest_row[root]; k < j->trees.dest_row[root + 1]; k++) {
			uint32_t d = j->trees.dest_list[k];

			if (d != m && j->trees.model[d] == m)
				write_ports(j, d, row, parallel);
		}
		write_ports(j, m, row, parallel);
	}
}

/* One row for all LIDs of a switch, but where pairs have left their own service levels. */
static enum osr_status write_sls(struct job *j)
{
	const struct osr_fabric *fabric = j->f;
	uint32_t n = fabric->n_switches;

	j->r->sl = osr_alloc(j->result, (size_t)fabric->n_dests * n, 1);
	if (osr_arena_failed(j->result, j->diag))
		return OSR_NOMEM;
	for (uint32_t root = 0; root < n; root++) {
		uint8_t *first = NULL;

		for (uint32_t k = j->trees.dest_row[root]; k < j->trees.dest_row[root + 1]; k++) {
			uint32_t d = j->trees.dest_list[k];
			uint8_t *row = j->r->sl + (size_t)d * n;

			if (j->trees.n_aside)
				memcpy(row, j->trees.sl + (size_t)j->trees.model[d] * n, n);
			else if (first)
				memcpy(row, first, n);
			for (uint32_t v = 0; v < n && !first && !j->trees.n_aside; v++)
				row[v] = angara__sl(&j->plan, osr_grid_coord(&j->grid, v),
						    osr_grid_coord(&j->grid, root));
			first = first ? first : row;
		}
	}
	return OSR_OK;
}

/* The lane depends on where a packet goes, not where it came from. */
static void fill_sl2vl(struct job *j, uint32_t v)
{
	uint32_t n = j->f->sw_n_ports[v] + 1u;
	osr_sl2vl_t *table = j->r->sl2vl + j->r->sl2vl_row[v];

	for (uint32_t out = 0; out < n; out++) {
		uint32_t c = osr_port_channel(j->f, v, out);

		for (uint32_t sl = 0; sl < 16; sl++)
			table[out][sl] = c == OSR_NONE
						 ? 0
						 : (uint8_t)angara__lane(&j->plan, v,
									 j->grid.chan_dir[c], sl);
	}
	for (uint32_t in = 1; in < n; in++)
		memcpy(table + in * n, table, n * sizeof(*table));
}

static enum osr_status angara_tables_write_sl2vl(struct job *j)
{
	if (osr_routing_alloc_sl2vl(j->r, j->f, OSR_VL_UNSET, j->result, j->diag))
		return OSR_NOMEM;
	for (uint32_t v = 0; v < j->f->n_switches; v++)
		fill_sl2vl(j, v);
	memset(j->r->ca_sl2vl, 0, sizeof(j->r->ca_sl2vl));
	return OSR_OK;
}

static enum osr_status write_ranks(struct job *j)
{
	size_t m = j->f->n_channels;

	j->r->rank = osr_calloc(j->result, j->r->n_vls * m, sizeof(*j->r->rank));
	if (osr_arena_failed(j->result, j->diag))
		return OSR_NOMEM;
	for (uint32_t lane = 0; lane < j->r->n_vls && lane < j->order.n_lanes; lane++)
		for (uint32_t c = 0; c < m; c++)
			j->r->rank[lane * m + c] = j->order.top.rank[angara__node(
				&j->order, lane, j->f->chan_src[c], j->grid.chan_dir[c])];
	return OSR_OK;
}

/* A tree that has a lane for itself: up from the leaves, then down. */
static void rank_tree(struct job *j, const uint8_t *up)
{
	const struct osr_fabric *fabric = j->f;
	uint32_t *rank = j->r->rank + (size_t)j->req->mcast_vl * fabric->n_channels, root = 0;

	while (up[root] != NO_WAY)
		root++;
	angara__trees_hops(&j->trees, up, root);
	for (uint32_t c = 0; c < fabric->n_channels; c++) {
		uint32_t v = fabric->chan_src[c];

		rank[c] = up[v] == j->grid.chan_dir[c]
				  ? fabric->n_switches - j->trees.hops[v]
				  : fabric->n_switches + j->trees.hops[fabric->chan_dst[c]];
	}
}

/* The spanning order, cut down to what lies between end ports and the root. */
static enum osr_status write_multicast(struct job *j, const uint8_t *up)
{
	const struct osr_fabric *fabric = j->f;
	uint8_t *keep = osr_calloc(j->scratch, fabric->n_switches, 1);

	j->r->mcast_parent = osr_alloc(j->result, fabric->n_switches, sizeof(*j->r->mcast_parent));
	if (osr_arena_failed(j->scratch, j->diag) || osr_arena_failed(j->result, j->diag))
		return OSR_NOMEM;
	for (uint32_t v = 0; v < fabric->n_switches; v++)
		for (uint32_t u = v; fabric->sw_sources[v] && !keep[u];) {
			keep[u] = 1;
			u = up[u] == NO_WAY ? u : osr_grid_near(&j->grid, u, up[u]);
		}
	memset(j->load, 0, fabric->n_channels * sizeof(*j->load));
	for (uint32_t v = 0; v < fabric->n_switches; v++)
		j->r->mcast_parent[v] =
			keep[v] && up[v] != NO_WAY ? pick_channel(j, v, up[v]) : OSR_NONE;
	j->r->mcast_vl = j->req->mcast_vl;
	j->r->claims |= OSR_CLAIM_MULTICAST;
	return OSR_OK;
}

enum osr_status angara__write(struct job *j, const struct spread *m)
{
	struct osr_routing *routing = j->r;
	enum osr_status st;

	routing->engine = "angara";
	routing->n_layers = routing->n_layers_one_way = routing->n_vls;
	routing->n_longer = j->trees.n_longer;
	routing->claims = OSR_CLAIM_DEADLOCK_FREE;
	routing->claims |= j->reversible ? OSR_CLAIM_REVERSIBLE : 0;
	routing->claims |= routing->n_vls == 1 ? OSR_CLAIM_ANY_SL : 0;
	routing->claims |= routing->n_longer ? 0 : OSR_CLAIM_MINIMAL;
	angara_tables_write_lfts(j);
	st = routing->n_vls > 1 ? write_sls(j) : OSR_OK;
	if (!st && routing->n_vls > 1)
		st = angara_tables_write_sl2vl(j);
	if (m->found && m->own)
		routing->n_vls = j->req->mcast_vl + 1;
	if (!st)
		st = write_ranks(j);
	if (!st && m->found)
		st = write_multicast(j, m->up);
	if (!st && m->found && m->own)
		rank_tree(j, m->up);
	return st;
}

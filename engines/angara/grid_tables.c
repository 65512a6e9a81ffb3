/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The tables of a whole grid, by its plan. From the inside out: directions, ports, service levels, SL2VL,
 * multicast; angara__write() does them all.
 */
#include "job.h"

#include <osmroutes/spf.h>

#include <string.h>

#define N_VARIANTS 3

static bool is_host(const struct osr_fabric *fabric, uint32_t d)
{
	return fabric->term_weight[fabric->dest_term[d]] > 0;
}

/* The direction in which packets from v to a LID of switch root leave, in the order of dimensions. */
static uint32_t plain_dir(const struct plan *p, uint32_t v, uint32_t root, uint32_t variant)
{
	const uint16_t *x = osr_grid_coord(p->g, v), *y = osr_grid_coord(p->g, root);
	uint32_t early, last = p->order[p->n_dims - 1];

	if (angara__early(p, x, y, variant, &early))
		return 2 * last + early;
	for (uint32_t k = 0; k < p->n_dims; k++) {
		uint32_t i = p->order[k];

		if (x[i] != y[i])
			return 2 * i + (p->g->shape.ring[i] ? angara__way(p, i, x, y, variant)
							    : x[i] > y[i]);
	}
	return NO_WAY;
}

/* ---- ports ----------------------------------------------------------------------------------- */

static uint32_t first_channel(const struct job *j, uint32_t v, uint32_t dir)
{
	return j->grid.chan[(size_t)v * 2 * j->plan.n_dims + dir];
}

/* Of parallel cables the one with the fewest routes. */
static uint32_t pick_channel(const struct job *j, uint32_t v, uint32_t dir)
{
	uint32_t best = first_channel(j, v, dir);

	for (uint32_t c = best + 1; c < j->f->chan_row[v + 1]; c++)
		if (j->grid.chan_dir[c] == dir && j->load[c] < j->load[best])
			best = c;
	return best;
}

static bool has_parallels(const struct job *j)
{
	for (uint32_t c = 0; c < j->f->n_channels; c++)
		if (first_channel(j, j->f->chan_src[c], j->grid.chan_dir[c]) != c)
			return true;
	return false;
}

/* Routes to d over the parallel cables of each row: every switch takes the one that carries least by now. */
static void spread_cables(struct job *j, uint32_t d)
{
	const struct osr_fabric *fabric = j->f;
	uint8_t *lft = j->r->lft + (size_t)d * fabric->n_switches;
	uint32_t root = fabric->dest_switch[d];

	memset(j->flow, 0, fabric->n_switches * sizeof(*j->flow));
	for (uint32_t s = 0; s < fabric->n_switches; s++)
		for (uint32_t v = s; v != root;
		     v = fabric->chan_dst[osr_port_channel(fabric, v, lft[v])])
			j->flow[v] += fabric->sw_sources[s];
	for (uint32_t v = 0; v < fabric->n_switches; v++) {
		uint32_t c;

		if (v == root)
			continue;
		c = pick_channel(j, v, j->grid.chan_dir[osr_port_channel(fabric, v, lft[v])]);
		j->load[c] += is_host(fabric, d) ? j->flow[v] : 0;
		lft[v] = fabric->chan_port[c];
	}
}

/*
 * Every second LID of a switch may go the other way round, and the last of an odd number of hosts a third way:
 * the variant of each dest. Hosts are counted first.
 */
static uint8_t *choose_variants(const struct job *j)
{
	const struct osr_fabric *fabric = j->f;
	uint8_t *variant = osr_calloc(j->scratch, fabric->n_dests, 1);
	uint32_t *n_hosts = osr_calloc(j->scratch, fabric->n_switches, sizeof(*n_hosts)),
		 *seen = osr_calloc(j->scratch, fabric->n_switches, 2 * sizeof(*seen));

	if (!variant || !n_hosts || !seen || j->plan.n_variants == 1)
		return variant && n_hosts && seen ? variant : NULL;
	for (uint32_t d = 0; d < fabric->n_dests; d++)
		n_hosts[fabric->dest_switch[d]] += is_host(fabric, d);
	for (uint32_t d = 0; d < fabric->n_dests; d++) {
		uint32_t v = fabric->dest_switch[d], n = n_hosts[v];
		bool host = is_host(fabric, d);
		uint32_t k = (host ? 0 : n) + seen[2 * v + host]++;

		variant[d] = k + 1 == n && n % 2 ? 2 : (uint8_t)(k % 2);
	}
	return variant;
}

static enum osr_status angara_tables_write_lfts(struct job *j)
{
	const struct osr_fabric *fabric = j->f;
	size_t n = fabric->n_switches;
	const uint8_t *variant = choose_variants(j);
	/* The first LID of each switch and variant: the others have its row. */
	uint32_t *first = osr_alloc(j->scratch, n, N_VARIANTS * sizeof(*first));
	bool parallel = has_parallels(j);

	if (!variant || !first)
		return osr_fail(j->diag, OSR_NOMEM, "out of memory for %u LIDs", fabric->n_dests);
	memset(first, 0xff, n * N_VARIANTS * sizeof(*first));
	for (uint32_t d = 0; d < fabric->n_dests; d++) {
		uint32_t root = fabric->dest_switch[d];
		uint32_t *like = &first[root * N_VARIANTS + variant[d]];
		uint8_t *lft = j->r->lft + d * n;

		if (*like != OSR_NONE)
			memcpy(lft, j->r->lft + *like * n, n);
		for (uint32_t v = 0; v < n && *like == OSR_NONE; v++)
			if (v != root)
				lft[v] = fabric->chan_port[first_channel(
					j, v, plain_dir(&j->plan, v, root, variant[d]))];
		*like = *like == OSR_NONE ? d : *like;
		lft[root] = fabric->term_port[fabric->dest_term[d]];
		if (parallel)
			spread_cables(j, d);
	}
	return OSR_OK;
}

/* ---- lanes ----------------------------------------------------------------------------------- */

/* One row for all LIDs of a switch. */
static enum osr_status write_sls(struct job *j)
{
	const struct osr_fabric *fabric = j->f;
	size_t n = fabric->n_switches;
	uint32_t *first = osr_alloc(j->scratch, n, sizeof(*first));

	j->r->sl = osr_alloc(j->result, fabric->n_dests * n, 1);
	if (osr_arena_failed(j->scratch, j->diag) || osr_arena_failed(j->result, j->diag))
		return OSR_NOMEM;
	memset(first, 0xff, n * sizeof(*first));
	for (uint32_t d = 0; d < fabric->n_dests; d++) {
		uint32_t root = fabric->dest_switch[d];
		uint8_t *row = j->r->sl + d * n;

		if (first[root] != OSR_NONE)
			memcpy(row, j->r->sl + first[root] * n, n);
		for (uint32_t v = 0; v < n && first[root] == OSR_NONE; v++)
			row[v] = angara__sl(&j->plan, osr_grid_coord(&j->grid, v),
					    osr_grid_coord(&j->grid, root));
		first[root] = first[root] == OSR_NONE ? d : first[root];
	}
	return OSR_OK;
}

/*
 * The lane depends on where a packet goes, not where it came from. SLs that the plan does not use are for pairs
 * that a repair leaves no way on their own: one on lane 1 everywhere, and on lane 2 where there is one.
 */
static void fill_sl2vl(struct job *j, uint32_t v)
{
	uint32_t n = j->f->sw_n_ports[v] + 1u;
	osr_sl2vl_t *table = j->r->sl2vl + j->r->sl2vl_row[v];

	for (uint32_t out = 0; out < n; out++) {
		uint32_t c = osr_port_channel(j->f, v, out);

		for (uint32_t sl = 0; sl < 16; sl++)
			table[out][sl] = c == OSR_NONE ? 0
					 : sl > j->plan.n_sls && j->req->max_vls > 2
						 ? 2
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

/* ---- multicast ------------------------------------------------------------------------------- */

/* Along a row to its middle, without crossing its ends; the last dimension goes first. */
static uint32_t dir_inwards(const struct plan *p, uint32_t v)
{
	const uint16_t *x = osr_grid_coord(p->g, v);

	for (uint32_t k = p->n_dims; k-- > 0;) {
		uint32_t i = p->order[k], middle = p->g->shape.size[i] / 2u;

		if (x[i] != middle)
			return 2 * i + (x[i] < middle ? UP : DOWN);
	}
	return NO_WAY;
}

/* The spanning order, cut down to what lies between end ports and the root. */
static enum osr_status write_multicast(struct job *j)
{
	const struct osr_fabric *fabric = j->f;
	uint32_t *tree = osr_alloc(j->scratch, fabric->n_switches, sizeof(*tree));

	j->r->mcast_parent = osr_alloc(j->result, fabric->n_switches, sizeof(*j->r->mcast_parent));
	if (osr_arena_failed(j->scratch, j->diag) || osr_arena_failed(j->result, j->diag))
		return OSR_NOMEM;
	for (uint32_t v = 0; v < fabric->n_switches; v++) {
		uint32_t dir = dir_inwards(&j->plan, v);

		tree[v] = dir == NO_WAY ? OSR_NONE : pick_channel(j, v, dir);
	}
	j->r->mcast_vl = j->req->mcast_vl;
	j->r->claims |= OSR_CLAIM_MULTICAST;
	return osr_mcast_take(fabric, tree, j->scratch, j->r->mcast_parent, j->diag);
}

/* ---- all ------------------------------------------------------------------------------------- */

/* Multicast on a lane of its own rises as it does on lane 0, and so does what has no SL. */
static enum osr_status write_ranks(struct job *j, uint32_t n_lanes)
{
	struct osr_routing *routing = j->r;
	size_t m = j->f->n_channels;
	enum osr_status st;

	routing->rank = osr_alloc(j->result, routing->n_vls * m, sizeof(*routing->rank));
	if (osr_arena_failed(j->result, j->diag))
		return OSR_NOMEM;
	st = angara__rank(j, n_lanes, routing->rank);
	for (uint32_t lane = n_lanes; lane < routing->n_vls; lane++)
		memcpy(routing->rank + lane * m, routing->rank, m * sizeof(*routing->rank));
	return st;
}

enum osr_status angara__write(struct job *j)
{
	struct osr_routing *routing = j->r;
	uint8_t n_lanes = j->plan.n_rings ? 2 : 1;
	enum osr_status st;

	routing->engine = "angara";
	routing->n_vls = routing->n_layers = routing->n_layers_one_way = n_lanes;
	routing->claims = OSR_CLAIM_DEADLOCK_FREE | OSR_CLAIM_REVERSIBLE | OSR_CLAIM_MINIMAL |
			  (n_lanes == 1 ? OSR_CLAIM_ANY_SL : 0);
	j->load = osr_calloc(j->scratch, j->f->n_channels, sizeof(*j->load));
	j->flow = osr_calloc(j->scratch, j->f->n_switches, sizeof(*j->flow));
	if (j->req->multicast && j->req->mcast_vl >= n_lanes)
		routing->n_vls = j->req->mcast_vl + 1;
	if (osr_arena_failed(j->scratch, j->diag))
		return OSR_NOMEM;
	st = angara_tables_write_lfts(j);
	if (!st && n_lanes > 1)
		st = write_sls(j);
	if (!st && n_lanes > 1)
		st = angara_tables_write_sl2vl(j);
	if (!st)
		st = write_ranks(j, n_lanes);
	return st || !j->req->multicast ? st : write_multicast(j);
}

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include <string.h>

#include <osmroutes/dimension.h>

#include "core/paths/mcast.h"

#include "../paths/spf_private.h"
#include "lanes_private.h"

uint64_t osr__dor_least(const struct osr_spf *spf, const struct osr_product *product)
{
	uint64_t sum[OSR_MAX_DIMS] = { 0 }, n[OSR_MAX_DIMS] = { 0 }, least = 0;

	for (uint32_t c = 0; c < spf->f->n_channels; c++) {
		sum[product->chan_dim[c]] += spf->weight[c] >> HOP_BITS;
		n[product->chan_dim[c]]++;
	}
	for (uint32_t i = 0; i < product->n_dims && n[i]; i++) {
		/* The middle of a line always carries more: at most 1.5 times the mean. */
		uint64_t mean =
			(product->factor[i] == OSR_FACTOR_PATH ? 3 : 2) * sum[i] / (2 * n[i]);

		least = mean > least ? mean : least;
	}
	return least;
}

enum osr_status osr__dor_find(struct osr_lanes_job *job)
{
	const struct osr_fabric *fabric = job->s->f;
	struct osr_product *product = osr_alloc(job->scratch, 1, sizeof(*product));
	struct osr_diag why = { "" };
	enum osr_status st;

	for (uint32_t t = 0; t < fabric->n_terminals; t++)
		if (fabric->term_lmc[t] && fabric->term_weight[t])
			return OSR_OK;
	if (job->s->scratch->mixed)
		return OSR_OK;
	st = product ? osr_product_find(fabric, job->scratch, product, &why) : OSR_NOMEM;
	if (st == OSR_NOMEM)
		return osr_fail(job->diag, OSR_NOMEM,
				"out of memory for the dimensions of the fabric");
	if (!st && product->n_placed == fabric->n_switches)
		job->product = product;
	return OSR_OK;
}

/*
 * Every second LID of a switch may go the other way round, and the last of an odd number of hosts a third way: the variant
 * of each dest. Hosts are counted first.
 */
static void dor_variants(const struct osr_spf *spf, uint8_t *variant)
{
	const struct osr_fabric *fabric = spf->f;

	for (uint32_t v = 0; v < fabric->n_switches; v++) {
		uint32_t n_hosts = 0, seen[2] = { 0, 0 };

		for (uint32_t k = spf->dest_row[v]; k < spf->dest_row[v + 1]; k++)
			n_hosts += fabric->term_weight[fabric->dest_term[spf->dest_list[k]]] > 0;
		for (uint32_t k = spf->dest_row[v]; k < spf->dest_row[v + 1]; k++) {
			uint32_t d = spf->dest_list[k];
			bool host = fabric->term_weight[fabric->dest_term[d]] > 0;
			uint32_t number = (host ? 0 : n_hosts) + seen[host]++;

			variant[d] =
				number + 1 == n_hosts && n_hosts % 2 ? 2 : (uint8_t)(number % 2);
		}
	}
}

/*
 * The lane depends on where a packet goes, not where it came from. SLs that the plan does not use are for pairs that a
 * repair leaves no way on their own: one on lane 1 everywhere, the others on lane 2 where there is one.
 */
static enum osr_status dor_sls(const struct osr_lanes_job *job, const struct osr_dor_plan *plan)
{
	const struct osr_fabric *fabric = job->s->f;
	struct osr_routing *routing = job->r;
	size_t n = fabric->n_switches;

	routing->sl = osr_alloc(job->result, fabric->n_dests * n, 1);
	if (!routing->sl ||
	    osr_routing_alloc_sl2vl(routing, fabric, OSR_VL_UNSET, job->result, job->diag))
		return osr_fail(job->diag, OSR_NOMEM, "out of memory for SLs of %u LIDs",
				fabric->n_dests);
	for (uint32_t root = 0; root < n; root++) {
		uint8_t *row = NULL;

		for (uint32_t k = job->s->dest_row[root]; k < job->s->dest_row[root + 1]; k++) {
			uint8_t *mine = routing->sl + job->s->dest_list[k] * n;

			for (uint32_t v = 0; v < n && !row; v++)
				mine[v] = osr_dor_sl(plan, v, root);
			if (row)
				memcpy(mine, row, n);
			row = mine;
		}
	}
	for (uint32_t v = 0; v < n; v++) {
		uint32_t n_ports = fabric->sw_n_ports[v] + 1u;
		osr_sl2vl_t *table = routing->sl2vl + routing->sl2vl_row[v];

		for (uint32_t out = 0; out < n_ports; out++) {
			uint32_t c = osr_port_channel(fabric, v, out);

			for (uint32_t sl = 0; sl < OSR_DOR_SLS; sl++)
				table[out][sl] = c == OSR_NONE ? 0
						 : sl > plan->n_sls && job->req->max_vls > 2
							 ? 2
							 : (uint8_t)osr_dor_lane(plan, c, sl);
		}
		for (uint32_t in = 1; in < n_ports; in++)
			memcpy(table + in * n_ports, table, n_ports * sizeof(*table));
	}
	memset(routing->ca_sl2vl, 0, sizeof(routing->ca_sl2vl));
	return OSR_OK;
}

/* Lanes, the certificate and multicast. Multicast on a lane of its own rises as it does on lane 0. */
static enum osr_status dor_finish(const struct osr_lanes_job *job, const struct osr_dor_plan *plan)
{
	const struct osr_request *req = job->req;
	struct osr_routing *routing = job->r;
	size_t n = job->s->f->n_switches, m = job->s->f->n_channels;
	uint8_t n_lanes = plan->p->n_rings && req->max_vls > 1 ? 2 : 1;
	uint32_t *tree = osr_alloc(job->scratch, n, sizeof(*tree));
	enum osr_status st = OSR_OK;

	routing->n_layers = routing->n_layers_one_way = routing->n_vls = n_lanes;
	if (req->multicast && n_lanes > 1 && req->mcast_vl >= n_lanes)
		routing->n_vls = req->mcast_vl + 1;
	routing->rank = osr_alloc(job->result, routing->n_vls * m, sizeof(*routing->rank));
	if (!tree || osr_arena_failed(job->result, job->diag))
		return osr_fail(job->diag, OSR_NOMEM, "out of memory for an order of %zu channels",
				m);
	if (n_lanes == 1 && plan->p->n_rings)
		osr_dor_ring_order(plan, routing->rank);
	else
		st = osr_dor_rank(plan, n_lanes, job->scratch, routing->rank, job->diag);
	for (uint32_t lane = n_lanes; lane < routing->n_vls; lane++)
		memcpy(routing->rank + lane * m, routing->rank, m * sizeof(*routing->rank));
	osr_dor_tree(plan, tree);
	if (!st && req->multicast)
		st = osr_mcast_take(job->s->f, tree, job->scratch, job->result, routing, job->diag);
	if (!st && n_lanes > 1)
		st = dor_sls(job, plan);
	routing->mcast_vl = n_lanes > 1 ? req->mcast_vl : 0;
	routing->claims |= OSR_CLAIM_DEADLOCK_FREE | OSR_CLAIM_REVERSIBLE |
			   (req->multicast ? OSR_CLAIM_MULTICAST : 0) |
			   (n_lanes == 1 ? OSR_CLAIM_ANY_SL : 0);
	return st || n_lanes > 1 || !plan->p->n_rings
		       ? st
		       : osr__ordered_mend(job, routing->rank, tree, job->s->least);
}

enum osr_status osr__dor_assign(struct osr_lanes_job *job, bool *routed)
{
	struct osr_spf *spf = job->s;
	const struct osr_fabric *fabric = spf->f;
	const struct osr_request *req = job->req;
	const struct osr_product *product = job->product;
	struct osr_dor_plan plan;
	uint8_t *variant;

	*routed = false;
	/*
	 * Unicast has lanes 0 and 1: multicast joins it on the first, or has another one. The SLs of rings are for those
	 * who do not insist on any SL.
	 */
	if (!product || !osr_product_is_whole(product) || !osr_dor_plan(product, &plan) ||
	    (product->n_rings && (req->max_vls > 1 ? (req->multicast && req->mcast_vl == 1) ||
							     job->opt->any_sl == OSR_ANY_SL_ON ||
							     job->opt->any_sl == OSR_ANY_SL_KEEP
						   : !job->opt->detours)))
		return OSR_OK;
	variant = osr_alloc(job->scratch, spf->f->n_dests, 1);
	if (!variant)
		return osr_fail(job->diag, OSR_NOMEM, "out of memory for %u LIDs", spf->f->n_dests);
	memset(variant, 0, spf->f->n_dests);
	if (plan.n_variants > 1)
		dor_variants(spf, variant);
	osr__spf_forget(spf);
	for (uint32_t d = 0; d < fabric->n_dests; d++) {
		uint8_t *hop = spf->hop + (size_t)d * fabric->n_switches;
		uint32_t root = fabric->dest_switch[d];

		osr_dor_route(&plan, d, variant[d], hop);
		if (fabric->term_weight[fabric->dest_term[d]])
			osr__spf_count(spf, spf->order + (size_t)root * fabric->n_switches,
				       spf->n_order[root], hop, 1);
	}
	/* Is the busiest channel close to what no routing can go below? */
	*routed = osr_spf_load(spf) * 100 <= osr__dor_least(spf, product) * 115;
	if (*routed)
		return dor_finish(job, &plan);
	osr__spf_forget(spf);
	return OSR_OK;
}

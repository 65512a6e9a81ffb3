/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "core/lanes/dor.h"

#include <string.h>

#include "core/lanes/ordered.h"
#include "core/paths/mcast.h"

#include "../paths/spf_private.h"
#include "lanes_private.h"

void osr__dor_clear(struct osr_spf *spf)
{
	for (uint32_t c = 0; c < spf->f->n_channels; c++)
		spf->weight[c] &= HOP_MASK;
}

static void route_all(struct osr_spf *spf, const struct osr_product *product,
		      const struct osr_product_plan *plan)
{
	const struct osr_fabric *fabric = spf->f;

	osr__dor_clear(spf);
	for (uint32_t d = 0; d < fabric->n_dests; d++) {
		uint8_t *hop = spf->hop + (size_t)d * fabric->n_switches;
		uint32_t root = fabric->dest_switch[d];

		if (spf->alias[d] != OSR_NONE)
			continue;
		osr_dor(product, plan, d, hop);
		if (fabric->term_weight[fabric->dest_term[d]])
			osr__spf_count(spf, spf->order + (size_t)root * fabric->n_switches,
				       spf->n_order[root], hop, 1);
	}
	osr__spf_share(spf);
}

uint64_t osr__dor_least(const struct osr_spf *spf, const struct osr_product *product)
{
	uint64_t sum[OSR_MAX_DIMS] = { 0 }, n[OSR_MAX_DIMS] = { 0 }, least = 0;

	for (uint32_t c = 0; c < spf->f->n_channels; c++) {
		sum[product->chan_dim[c]] += spf->weight[c] >> HOP_BITS;
		n[product->chan_dim[c]]++;
	}
	for (uint32_t i = 0; i < product->n_dims; i++) {
		/* The middle of a line always carries more: at most 1.5 times the mean. */
		uint64_t mean =
			(product->factor[i] == OSR_FACTOR_PATH ? 3 : 2) * sum[i] / (2 * n[i]);

		least = mean > least ? mean : least;
	}
	return least;
}

/* Is the busiest channel close to what no routing can go below? */
static bool balanced(const struct osr_spf *spf, const struct osr_product *product)
{
	return osr_spf_load(spf) * 100 <= osr__dor_least(spf, product) * 115;
}

bool osr__dor_is_plain(const struct osr_spf *spf)
{
	const struct osr_fabric *fabric = spf->f;

	for (uint32_t t = 0; t < fabric->n_terminals; t++)
		if (fabric->term_lmc[t] && fabric->term_weight[t])
			return false;
	return !spf->scratch->mixed;
}

enum osr_status osr__dor_find(const struct osr_spf *spf, struct osr_arena *scratch,
			      struct osr_product *product, bool *found, struct osr_diag *diag)
{
	enum osr_status st;

	*found = false;
	if (!osr__dor_is_plain(spf))
		return OSR_OK;
	st = osr_product_find(spf->f, scratch, product, diag);
	*found = !st;
	if (st == OSR_NOT_APPLICABLE && diag)
		diag->text[0] = 0;
	return st == OSR_NOT_APPLICABLE ? OSR_OK : st;
}

/*
 * The plans to try within so many VLs, best first: pairs of cuts (reversible), then evenly spaced
 * cuts, fewest layers first, both directions cut alike or staggered; at last all VLs, with
 * detours. False after the last.
 */
static bool next_plan(const struct osr_product *product, uint32_t max_vls,
		      enum osr_reversible reversible, uint32_t *turn, bool *mend,
		      struct osr_product_plan *plan)
{
	uint32_t first = product->n_rings > 1 ? 4 : 2,
		 n_spaced = max_vls < first ? 0 : max_vls - first + 1;
	uint32_t now = (*turn)++;

	*mend = false;
	if (now == 0) {
		if (reversible != OSR_REVERSIBLE_OFF &&
		    osr_product_plan_pairs(product, max_vls, plan))
			return true;
		now = (*turn)++;
	}
	/* That replies are safe, only pairs of cuts promise, and one VL. */
	if (reversible == OSR_REVERSIBLE_ON) {
		n_spaced = 0;
		max_vls = 1;
	}
	if (now <= 2 * n_spaced) {
		osr_product_plan_spaced(product, first + (now - 1) / 2, (now - 1) % 2, plan);
		return true;
	}
	*mend = true;
	osr_product_plan_spaced(product, max_vls, false, plan);
	return now == 2 * n_spaced + 1;
}

static enum osr_status assign_rings(const struct osr_lane_work *work,
				    const struct osr_product *product,
				    enum osr_reversible reversible, bool detours, bool *routed)
{
	struct osr_spf *spf = work->s;
	const struct osr_request *req = work->req;
	struct osr_arena *scratch = work->scratch;
	size_t m = spf->f->n_channels;
	uint32_t max = req->max_vls < OSR_ORDERED_MAX ? req->max_vls : OSR_ORDERED_MAX, turn = 0;
	struct osr_ordered_options opt = { .reversible = reversible != OSR_REVERSIBLE_OFF };
	uint32_t *orders = osr_alloc(scratch, OSR_ORDERED_MAX * m, sizeof(*orders));
	struct osr_product_plan *plan = osr_alloc(scratch, 1, sizeof(*plan));
	bool mend;

	if (!orders || !plan)
		return osr_fail(work->diag, OSR_NOMEM, "out of memory for the lanes of rings");
	if (reversible == OSR_REVERSIBLE_ON && 1u << product->n_rings > max)
		max = 1; /* on one VL everything is safe for replies */
	while (!*routed && next_plan(product, max, reversible, &turn, &mend, plan)) {
		struct osr_lane_work within = *work;
		struct osr_request planned = *req;
		enum osr_status st;

		if (mend && !detours)
			break;
		planned.max_vls = (uint8_t)plan->n_layers;
		within.req = &planned;
		spf->plan = plan;
		route_all(spf, product, plan);
		if (!balanced(spf, product))
			continue;
		for (uint32_t k = 0; k < plan->n_layers; k++)
			osr_product_order(product, plan, k, orders + k * m);
		if (req->multicast &&
		    (st = osr_mcast_order(spf, scratch, work->result, work->r, work->diag)))
			return st;
		st = osr_ordered_keep(&within, &opt, mend, orders, routed);
		if (st)
			return st;
	}
	return OSR_OK;
}

enum osr_status osr_dor_assign(const struct osr_lane_work *work, enum osr_reversible reversible,
			       bool detours, bool *routed)
{
	struct osr_spf *spf = work->s;
	struct osr_arena *scratch = work->scratch;
	struct osr_diag *diag = work->diag;
	struct osr_product *product = osr_alloc(scratch, 1, sizeof(*product));
	struct osr_product_plan *plan = osr_calloc(scratch, 1, sizeof(*plan));
	enum osr_status st;
	bool found;

	*routed = false;
	if (!product || !plan)
		return osr_fail(diag, OSR_NOMEM, "out of memory for the dimensions of the fabric");
	st = osr__dor_find(spf, scratch, product, &found, diag);
	if (st || !found)
		return st;
	spf->product = product;
	spf->plan = plan;
	if (product->n_rings) {
		st = assign_rings(work, product, reversible, detours, routed);
	} else {
		route_all(spf, product, plan);
		if (balanced(spf, product))
			st = osr_layers_single(work, routed);
	}
	if (st || *routed)
		return st;
	spf->product = NULL;
	spf->plan = NULL;
	work->r->sl = NULL;
	work->r->mcast_parent = NULL;
	osr__dor_clear(spf);
	return OSR_OK;
}

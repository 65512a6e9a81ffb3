/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* See tables.h. */
#include "tables.h"

#include <string.h>

#include <osmroutes/bound.h>

struct duality {
	const struct osr_fabric *fabric;
	double *weight;  /* [n_channels] */
	double *cost;    /* [n_switches] of the lightest minimal path */
	double *load;    /* [n_channels] of one routing along the lightest minimal paths */
	double *flow;    /* [n_switches] end ports that send through it */
	uint32_t *dist;  /* [n_switches] */
	uint32_t *order; /* [n_switches] by distance */
	uint32_t *next;  /* [n_switches] channel of the lightest minimal path */
};

static uint64_t lids_at(const struct osr_fabric *fabric, uint32_t v)
{
	uint64_t lids = 0;

	for (uint32_t t = fabric->term_row[v]; t < fabric->term_row[v + 1]; t++)
		lids += (uint64_t)fabric->term_weight[t] << fabric->term_lmc[t];
	return lids;
}

static uint32_t search_distances(struct duality *duality, uint32_t root)
{
	const struct osr_fabric *fabric = duality->fabric;
	uint32_t n = 0;

	memset(duality->dist, 0xff, fabric->n_switches * sizeof(*duality->dist));
	duality->dist[root] = 0;
	duality->order[n++] = root;
	for (uint32_t i = 0; i < n && n < fabric->n_switches; i++)
		for (uint32_t v = duality->order[i], c = fabric->chan_row[v];
		     c < fabric->chan_row[v + 1]; c++) {
			uint32_t u = fabric->chan_dst[c];

			if (duality->dist[u] != OSR_NONE)
				continue;
			duality->dist[u] = duality->dist[v] + 1;
			duality->order[n++] = u;
		}
	return n;
}

static void find_lightest(struct duality *duality, uint32_t v)
{
	const struct osr_fabric *fabric = duality->fabric;

	duality->next[v] = OSR_NONE;
	for (uint32_t c = fabric->chan_row[v]; c < fabric->chan_row[v + 1]; c++) {
		uint32_t u = fabric->chan_dst[c];

		if (duality->dist[u] + 1 != duality->dist[v])
			continue;
		if (duality->next[v] != OSR_NONE &&
		    duality->cost[u] + duality->weight[c] >= duality->cost[v])
			continue;
		duality->next[v] = c;
		duality->cost[v] = duality->cost[u] + duality->weight[c];
	}
}

/* All routes to the LIDs of root: their weight; their load is added. */
static double send_to(struct duality *duality, uint32_t root, double lids)
{
	const struct osr_fabric *fabric = duality->fabric;
	uint32_t n = search_distances(duality, root);
	double sum = 0;

	duality->cost[root] = 0;
	for (uint32_t i = 0; i < n; i++) {
		uint32_t v = duality->order[i];

		duality->flow[v] = lids * (double)fabric->sw_sources[v];
		if (!i)
			continue;
		find_lightest(duality, v);
		sum += duality->flow[v] * duality->cost[v];
	}
	for (uint32_t i = n; i-- > 1;) {
		uint32_t v = duality->order[i];

		duality->load[duality->next[v]] += duality->flow[v];
		duality->flow[fabric->chan_dst[duality->next[v]]] += duality->flow[v];
	}
	return sum;
}

/* The bound that the weights give. */
static double bound_round(struct duality *duality)
{
	const struct osr_fabric *fabric = duality->fabric;
	double sum = 0, weights = 0;

	memset(duality->load, 0, fabric->n_channels * sizeof(*duality->load));
	for (uint32_t v = 0; v < fabric->n_switches; v++) {
		uint64_t lids = lids_at(fabric, v);

		sum += lids ? send_to(duality, v, (double)lids) : 0;
	}
	for (uint32_t c = 0; c < fabric->n_channels; c++)
		weights += duality->weight[c];
	return weights > 0 ? sum / weights : 0;
}

static double root_of(uint32_t x)
{
	double root = x;

	for (unsigned i = 0; i < 24; i++)
		root = (root + x / root) / 2;
	return root;
}

/* Weights grow with the load of this round, by less from round to round. */
static void bound_weigh(struct duality *duality, double step)
{
	double most = 0, heaviest = 0;

	for (uint32_t c = 0; c < duality->fabric->n_channels; c++)
		most = most < duality->load[c] ? duality->load[c] : most;
	for (uint32_t c = 0; most > 0 && c < duality->fabric->n_channels; c++) {
		duality->weight[c] *= 1 + step * duality->load[c] / most;
		heaviest = heaviest < duality->weight[c] ? duality->weight[c] : heaviest;
	}
	for (uint32_t c = 0; most > 0 && c < duality->fabric->n_channels; c++)
		duality->weight[c] = duality->weight[c] / heaviest + 1e-9;
}

enum osr_status test_bound_minimal(const struct osr_fabric *fabric, uint32_t rounds,
				   struct osr_arena *scratch, uint64_t *bound,
				   struct osr_diag *diag)
{
	struct osr_arena_mark mark = osr_arena_mark(scratch);
	size_t n = fabric->n_switches, m = fabric->n_channels;
	struct duality duality = { .fabric = fabric,
				   .weight = osr_alloc(scratch, m, sizeof(double)),
				   .cost = osr_alloc(scratch, n, sizeof(double)),
				   .load = osr_alloc(scratch, m, sizeof(double)),
				   .flow = osr_alloc(scratch, n, sizeof(double)),
				   .dist = osr_alloc(scratch, n, sizeof(uint32_t)),
				   .order = osr_alloc(scratch, n, sizeof(uint32_t)),
				   .next = osr_alloc(scratch, n, sizeof(uint32_t)) };
	bool ok = duality.weight && duality.cost && duality.load && duality.flow && duality.dist &&
		  duality.order && duality.next;

	ok = !osr_bound_cut(fabric, scratch, bound, diag) && ok;
	for (size_t c = 0; ok && c < m; c++)
		duality.weight[c] = 1;
	for (uint32_t i = 0; ok && i < rounds; i++) {
		double least = bound_round(&duality);
		/* Sums of rounded numbers: what is proven must not be one too many. */
		uint64_t whole = (uint64_t)(least * (1 - 1e-9));

		whole += (double)whole < least * (1 - 1e-9);
		*bound = *bound < whole ? whole : *bound;
		bound_weigh(&duality, 3 / root_of(i + 1));
	}
	osr_arena_reset(scratch, mark);
	return ok ? OSR_OK : osr_fail(diag, OSR_NOMEM, "out of memory for the least load");
}

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* See bound.h. */
#include "core/paths/bound.h"

#include <string.h>

struct bound {
	const struct osr_fabric *f;
	double *weight;  /* [n_channels] */
	double *cost;    /* [n_switches] of the lightest minimal path */
	double *load;    /* [n_channels] of one routing along the lightest minimal paths */
	double *flow;    /* [n_switches] end ports that send through it */
	uint32_t *dist;  /* [n_switches] */
	uint32_t *order; /* [n_switches] by distance */
	uint32_t *next;  /* [n_switches] channel of the lightest minimal path */
};

/* LIDs of CAs and routers on switch v. */
static uint64_t bound_lids(const struct osr_fabric *fabric, uint32_t v)
{
	uint64_t lids = 0;

	for (uint32_t t = fabric->term_row[v]; t < fabric->term_row[v + 1]; t++)
		lids += (uint64_t)fabric->term_weight[t] << fabric->term_lmc[t];
	return lids;
}

static uint64_t divide_up(uint64_t a, uint64_t b)
{
	return a / b + (a % b != 0);
}

/* What crosses the cables around one set of switches. */
struct cut {
	uint64_t sources, lids; /* of the switches inside */
	uint64_t channels;      /* that lead out, which are as many as lead in */
};

static uint64_t cut_bound(const struct cut *inside, const struct cut *all)
{
	uint64_t in = inside->lids * (all->sources - inside->sources);
	uint64_t out = inside->sources * (all->lids - inside->lids);

	return inside->channels ? divide_up(in < out ? out : in, inside->channels) : 0;
}

static void cut_add(const struct osr_fabric *fabric, struct cut *cut, uint32_t v)
{
	cut->sources += fabric->sw_sources[v];
	cut->lids += bound_lids(fabric, v);
}

/* Hops to the nearest switch with hosts; list: [n_switches] of scratch. */
static void find_heights(const struct osr_fabric *fabric, uint32_t *height, uint32_t *list)
{
	uint32_t n = 0;

	for (uint32_t v = 0; v < fabric->n_switches; v++) {
		height[v] = OSR_NONE;
		if (!fabric->sw_sources[v] && !bound_lids(fabric, v))
			continue;
		height[v] = 0;
		list[n++] = v;
	}
	for (uint32_t i = 0; i < n; i++)
		for (uint32_t v = list[i], c = fabric->chan_row[v]; c < fabric->chan_row[v + 1];
		     c++) {
			uint32_t u = fabric->chan_dst[c];

			if (height[u] != OSR_NONE)
				continue;
			height[u] = height[v] + 1;
			list[n++] = u;
		}
}

/* The piece of the fabric below this height in which v is; its switches are marked. */
static struct cut find_piece(const struct osr_fabric *fabric, const uint32_t *height, uint32_t top,
			     uint32_t v, uint32_t *mark, uint32_t *list)
{
	struct cut piece = { 0 };
	uint32_t n = 0;

	mark[v] = top;
	list[n++] = v;
	for (uint32_t i = 0; i < n; i++) {
		v = list[i];
		cut_add(fabric, &piece, v);
		for (uint32_t c = fabric->chan_row[v]; c < fabric->chan_row[v + 1]; c++) {
			uint32_t u = fabric->chan_dst[c];

			if (height[u] >= top) {
				piece.channels++;
			} else if (mark[u] != top) {
				mark[u] = top;
				list[n++] = u;
			}
		}
	}
	return piece;
}

enum osr_status osr_bound_cut(const struct osr_fabric *fabric, struct osr_arena *scratch,
			      uint64_t *bound, struct osr_diag *diag)
{
	struct osr_arena_mark arena = osr_arena_mark(scratch);
	uint32_t *height = osr_alloc(scratch, fabric->n_switches, sizeof(*height)), top = 0;
	uint32_t *list = osr_alloc(scratch, fabric->n_switches, sizeof(*list));
	uint32_t *mark = osr_calloc(scratch, fabric->n_switches, sizeof(*mark));
	struct cut *all = osr_calloc(scratch, fabric->n_components, sizeof(*all));

	*bound = 0;
	if (!height || !list || !mark || !all)
		return osr_fail(diag, OSR_NOMEM, "out of memory for the least load");
	find_heights(fabric, height, list);
	for (uint32_t v = 0; v < fabric->n_switches; v++) {
		cut_add(fabric, &all[fabric->sw_component[v]], v);
		top = height[v] != OSR_NONE && height[v] > top ? height[v] : top;
	}
	for (uint32_t v = 0; v < fabric->n_switches; v++) {
		struct cut one = { .channels = fabric->chan_row[v + 1] - fabric->chan_row[v] };
		uint64_t least;

		cut_add(fabric, &one, v);
		least = cut_bound(&one, &all[fabric->sw_component[v]]);
		*bound = *bound < least ? least : *bound;
	}
	for (uint32_t k = 1; k <= top; k++)
		for (uint32_t v = 0; v < fabric->n_switches; v++) {
			struct cut piece;
			uint64_t least;

			if (height[v] >= k || mark[v] == k)
				continue;
			piece = find_piece(fabric, height, k, v, mark, list);
			least = cut_bound(&piece, &all[fabric->sw_component[v]]);
			*bound = *bound < least ? least : *bound;
		}
	osr_arena_reset(scratch, arena);
	return OSR_OK;
}

static uint32_t search_distances(struct bound *b, uint32_t root)
{
	const struct osr_fabric *fabric = b->f;
	uint32_t n = 0;

	memset(b->dist, 0xff, fabric->n_switches * sizeof(*b->dist));
	b->dist[root] = 0;
	b->order[n++] = root;
	for (uint32_t i = 0; i < n && n < fabric->n_switches; i++)
		for (uint32_t v = b->order[i], c = fabric->chan_row[v]; c < fabric->chan_row[v + 1];
		     c++) {
			uint32_t u = fabric->chan_dst[c];

			if (b->dist[u] != OSR_NONE)
				continue;
			b->dist[u] = b->dist[v] + 1;
			b->order[n++] = u;
		}
	return n;
}

static void find_lightest(struct bound *b, uint32_t v)
{
	const struct osr_fabric *fabric = b->f;

	b->next[v] = OSR_NONE;
	for (uint32_t c = fabric->chan_row[v]; c < fabric->chan_row[v + 1]; c++) {
		uint32_t u = fabric->chan_dst[c];

		if (b->dist[u] + 1 != b->dist[v])
			continue;
		if (b->next[v] != OSR_NONE && b->cost[u] + b->weight[c] >= b->cost[v])
			continue;
		b->next[v] = c;
		b->cost[v] = b->cost[u] + b->weight[c];
	}
}

/* All routes to the LIDs of root: their weight; their load is added. */
static double send_to(struct bound *b, uint32_t root, double lids)
{
	const struct osr_fabric *fabric = b->f;
	uint32_t n = search_distances(b, root);
	double sum = 0;

	b->cost[root] = 0;
	for (uint32_t i = 0; i < n; i++) {
		uint32_t v = b->order[i];

		b->flow[v] = lids * (double)fabric->sw_sources[v];
		if (!i)
			continue;
		find_lightest(b, v);
		sum += b->flow[v] * b->cost[v];
	}
	for (uint32_t i = n; i-- > 1;) {
		uint32_t v = b->order[i];

		b->load[b->next[v]] += b->flow[v];
		b->flow[fabric->chan_dst[b->next[v]]] += b->flow[v];
	}
	return sum;
}

/* The bound that the weights give. */
static double bound_round(struct bound *b)
{
	const struct osr_fabric *fabric = b->f;
	double sum = 0, weights = 0;

	memset(b->load, 0, fabric->n_channels * sizeof(*b->load));
	for (uint32_t v = 0; v < fabric->n_switches; v++) {
		uint64_t lids = bound_lids(fabric, v);

		sum += lids ? send_to(b, v, (double)lids) : 0;
	}
	for (uint32_t c = 0; c < fabric->n_channels; c++)
		weights += b->weight[c];
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
static void bound_weigh(struct bound *b, double step)
{
	double most = 0, heaviest = 0;

	for (uint32_t c = 0; c < b->f->n_channels; c++)
		most = most < b->load[c] ? b->load[c] : most;
	for (uint32_t c = 0; most > 0 && c < b->f->n_channels; c++) {
		b->weight[c] *= 1 + step * b->load[c] / most;
		heaviest = heaviest < b->weight[c] ? b->weight[c] : heaviest;
	}
	for (uint32_t c = 0; most > 0 && c < b->f->n_channels; c++)
		b->weight[c] = b->weight[c] / heaviest + 1e-9;
}

enum osr_status osr_bound_minimal(const struct osr_fabric *fabric, uint32_t rounds,
				  struct osr_arena *scratch, uint64_t *bound, struct osr_diag *diag)
{
	struct osr_arena_mark mark = osr_arena_mark(scratch);
	size_t n = fabric->n_switches, m = fabric->n_channels;
	struct bound b = { .f = fabric,
			   .weight = osr_alloc(scratch, m, sizeof(double)),
			   .cost = osr_alloc(scratch, n, sizeof(double)),
			   .load = osr_alloc(scratch, m, sizeof(double)),
			   .flow = osr_alloc(scratch, n, sizeof(double)),
			   .dist = osr_alloc(scratch, n, sizeof(uint32_t)),
			   .order = osr_alloc(scratch, n, sizeof(uint32_t)),
			   .next = osr_alloc(scratch, n, sizeof(uint32_t)) };
	bool ok = b.weight && b.cost && b.load && b.flow && b.dist && b.order && b.next;

	ok = !osr_bound_cut(fabric, scratch, bound, diag) && ok;
	for (size_t c = 0; ok && c < m; c++)
		b.weight[c] = 1;
	for (uint32_t i = 0; ok && i < rounds; i++) {
		double least = bound_round(&b);
		/* Sums of rounded numbers: what is proven must not be one too many. */
		uint64_t whole = (uint64_t)(least * (1 - 1e-9));

		whole += (double)whole < least * (1 - 1e-9);
		*bound = *bound < whole ? whole : *bound;
		bound_weigh(&b, 3 / root_of(i + 1));
	}
	osr_arena_reset(scratch, mark);
	return ok ? OSR_OK : osr_fail(diag, OSR_NOMEM, "out of memory for the least load");
}

enum osr_status osr_bound_expected(const struct osr_fabric *fabric, const struct osr_result *then,
				   struct osr_arena *scratch, uint64_t *least, uint64_t *expected,
				   struct osr_diag *diag)
{
	uint64_t least_then = 0, most = 0;
	enum osr_status st = osr_bound_cut(fabric, scratch, least, diag);

	if (!st)
		st = osr_bound_cut(&then->fabric, scratch, &least_then, diag);
	for (uint32_t c = 0; then->load && c < then->fabric.n_channels; c++)
		most = most < then->load[c] ? then->load[c] : most;
	/* With fewer hosts than then it is less; a fault takes channels away, so it is never better. */
	if (least_then > *least)
		most = (uint64_t)((double)most * (double)*least / (double)least_then);
	*expected = most < *least ? *least : most;
	return st;
}

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* See bound.h. */
#include "core/paths/bound.h"

#include <string.h>

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

/*
 * Hops of all routes if each is as short as it can be. 64 switches at a time walk the fabric together, a bit
 * each: front[v] has those that reach v in `hops`, seen[v] those that do in as many or fewer.
 */
static uint64_t shortest_hops(const struct osr_fabric *fabric, const uint64_t *lids, uint64_t *seen,
			      uint64_t *front, uint64_t *next)
{
	uint32_t n = fabric->n_switches;
	uint64_t sum = 0;

	for (uint32_t first = 0; first < n; first += 64) {
		uint64_t some = 1;

		memset(front, 0, n * sizeof(*front));
		for (uint32_t s = first; s < n && s < first + 64; s++)
			front[s] = fabric->sw_sources[s] ? UINT64_C(1) << (s - first) : 0;
		memcpy(seen, front, n * sizeof(*seen));
		for (uint32_t hops = 1; some; hops++) {
			uint64_t *now = front;

			some = 0;
			for (uint32_t v = 0; v < n; v++) {
				uint64_t came = 0, routes = 0;

				for (uint32_t c = fabric->chan_row[v]; c < fabric->chan_row[v + 1];
				     c++)
					came |= front[fabric->chan_dst[c]];
				next[v] = came & ~seen[v];
				seen[v] |= came;
				some |= next[v];
				for (uint64_t bits = lids[v] ? next[v] : 0; bits; bits &= bits - 1)
					routes +=
						fabric->sw_sources[first +
								   (uint32_t)__builtin_ctzll(bits)];
				sum += hops * routes * lids[v];
			}
			front = next;
			next = now;
		}
	}
	return sum;
}

enum osr_status osr_bound_load(const struct osr_fabric *fabric, struct osr_arena *scratch,
			       uint64_t *bound, struct osr_diag *diag)
{
	struct osr_arena_mark mark = osr_arena_mark(scratch);
	uint32_t n = fabric->n_switches;
	uint64_t *lids = osr_alloc(scratch, n, sizeof(*lids)), mean;
	uint64_t *bits = osr_alloc(scratch, 3 * (size_t)n, sizeof(*bits));
	enum osr_status st = osr_bound_cut(fabric, scratch, bound, diag);

	if (!lids || !bits)
		st = osr_fail(diag, OSR_NOMEM, "out of memory for the least load");
	for (uint32_t v = 0; !st && v < n; v++)
		lids[v] = bound_lids(fabric, v);
	if (!st && fabric->n_channels) {
		mean = divide_up(shortest_hops(fabric, lids, bits, bits + n, bits + 2 * (size_t)n),
				 fabric->n_channels);
		*bound = *bound < mean ? mean : *bound;
	}
	osr_arena_reset(scratch, mark);
	return st;
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

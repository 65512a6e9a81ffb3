/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "core/route/span.h"

#include <osmroutes/each.h>

#include <string.h>

#include "core/order/order.h"

void osr_span_in_order(const struct osr_fabric *fabric, const uint32_t *place,
		       const uint32_t *by_place, uint32_t *depth, uint32_t *parent)
{
	/* Parents come before their children in the order. */
	OSR_EACH_SWITCH(i, fabric) {
		uint32_t v = by_place[i], best = OSR_NONE;

		OSR_EACH_CHANNEL(c, fabric, v) {
			uint32_t u = fabric->chan_dst[c], b;

			if (place[u] > i)
				continue;
			b = best == OSR_NONE ? u : fabric->chan_dst[best];
			if (best == OSR_NONE || depth[u] < depth[b] ||
			    (depth[u] == depth[b] && place[u] < place[b]))
				best = c;
		}
		parent[v] = best;
		depth[v] = best == OSR_NONE ? 0 : depth[fabric->chan_dst[best]] + 1;
	}
}

void osr_span_rank(const struct osr_fabric *fabric, const uint32_t *place, uint32_t *rank)
{
	uint32_t n = fabric->n_switches;

	OSR_EVERY_CHANNEL(c, fabric) {
		uint32_t from = place[fabric->chan_src[c]], to = place[fabric->chan_dst[c]];

		rank[c] = to < from ? n - from : n + from;
	}
}

enum osr_status osr_span_from_centers(const struct osr_spf *spf, struct osr_arena *scratch,
				      uint32_t *parent, struct osr_diag *diag)
{
	struct osr_arena_mark mark = osr_arena_mark(scratch);
	uint32_t n = spf->fabric->n_switches, *place = osr_alloc(scratch, n, sizeof(*place)),
		 *by_place = osr_alloc(scratch, n, sizeof(*by_place)),
		 *depth = osr_alloc(scratch, n, sizeof(*depth));

	if (osr_arena_failed(scratch, diag))
		return osr_fail(diag, OSR_NOMEM, "out of memory for a spanning tree");
	osr_order_number(spf->fabric, spf->center, place, by_place);
	osr_span_in_order(spf->fabric, place, by_place, depth, parent);
	osr_arena_reset(scratch, mark);
	return OSR_OK;
}

enum osr_status osr_span_take(const struct osr_fabric *fabric, const uint32_t *span,
			      struct osr_arena *scratch, struct osr_arena *result,
			      struct osr_routing *routing, struct osr_diag *diag)
{
	struct osr_arena_mark mark = osr_arena_mark(scratch);
	uint8_t *keep = osr_calloc(scratch, fabric->n_switches, 1);
	uint32_t *parent = osr_alloc(result, fabric->n_switches, sizeof(*parent));

	routing->mcast_parent = parent;
	if (!keep || !parent)
		return osr_fail(diag, OSR_NOMEM, "out of memory for the multicast spanning order");
	memcpy(parent, span, fabric->n_switches * sizeof(*parent));
	/* Switches between an end port and the root are kept. */
	OSR_EACH_SWITCH(v, fabric)
		for (uint32_t u = v; fabric->sw_sources[v] && !keep[u];) {
			keep[u] = 1;
			u = parent[u] == OSR_NONE ? u : fabric->chan_dst[parent[u]];
		}
	OSR_EACH_SWITCH(v, fabric)
		if (!keep[v])
			parent[v] = OSR_NONE;
	osr_arena_reset(scratch, mark);
	return OSR_OK;
}

void osr_span_towards(const struct osr_fabric *fabric, const uint32_t *parent, uint32_t root,
		      uint32_t *out, uint32_t *queue)
{
	uint32_t n = 1;

	memset(out, 0xff, fabric->n_switches * sizeof(*out));
	queue[0] = root;
	for (uint32_t i = 0; i < n; i++)
		for (uint32_t v = queue[i], c = fabric->chan_row[v]; c < fabric->chan_row[v + 1];
		     c++) {
			uint32_t u = fabric->chan_dst[c], back = fabric->chan_rev[c];

			if ((parent[v] != c && parent[u] != back) || u == root ||
			    out[u] != OSR_NONE)
				continue;
			out[u] = back;
			queue[n++] = u;
		}
}

/* A packet that came in over `in` leaves over `out`: unless that sends it back. */
static void span_weigh_turn(struct osr_weights *weights, uint32_t in, uint32_t out)
{
	const struct osr_fabric *fabric = weights->fabric;

	if (out != fabric->chan_rev[in])
		weights->weight[osr_turn(fabric, in, out)] = UINT32_MAX;
}

void osr_span_weigh(const uint32_t *parent, struct osr_weights *weights)
{
	const struct osr_fabric *fabric = weights->fabric;

	OSR_EACH_SWITCH(v, fabric) {
		uint32_t up = parent[v];

		/* `out` is a channel of the tree that leaves v; those that enter it follow below. */
		OSR_EACH_CHANNEL(out, fabric, v) {
			bool down = parent[fabric->chan_dst[out]] == fabric->chan_rev[out];

			if (out != up && !down)
				continue;
			if (up != OSR_NONE)
				span_weigh_turn(weights, fabric->chan_rev[up], out);
			OSR_EACH_CHANNEL(c, fabric, v)
				if (parent[fabric->chan_dst[c]] == fabric->chan_rev[c])
					span_weigh_turn(weights, fabric->chan_rev[c], out);
		}
	}
}

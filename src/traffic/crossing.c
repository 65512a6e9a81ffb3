/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The entries of one LID form a tree, or a graph in which every switch has one successor. What leaves a
 * switch by its entry is what hangs on that switch, found by going backwards.
 */
#include "traffic/crossing.h"

#include <string.h>

struct crossing_walk {
	const struct osr_fabric *f;
	const struct osr_routing *r;
	uint32_t *queue; /* [n_switches] */
	uint8_t *seen;   /* [n_switches] */
};

/* The switches that send LIDs of dest d by way of `first`, itself among them, into the queue; how many. */
static uint32_t crossing_collect(struct crossing_walk *crossing, uint32_t first, uint32_t d)
{
	const struct osr_fabric *fabric = crossing->f;
	uint32_t n = 0;

	crossing->queue[n++] = first;
	crossing->seen[first] = 1;
	for (uint32_t i = 0; i < n; i++) {
		uint32_t v = crossing->queue[i];

		for (uint32_t out = fabric->chan_row[v]; out < fabric->chan_row[v + 1]; out++) {
			uint32_t in = fabric->chan_rev[out], u = fabric->chan_src[in];

			if (crossing->seen[u] ||
			    osr_lft(crossing->r, u, d) != fabric->chan_port[in])
				continue;
			crossing->seen[u] = 1;
			crossing->queue[n++] = u;
		}
	}
	for (uint32_t i = 0; i < n; i++)
		crossing->seen[crossing->queue[i]] = 0;
	return n;
}

enum osr_status osr_crossing_each(const struct osr_fabric *fabric,
				  const struct osr_routing *routing, uint32_t sw, uint8_t port,
				  struct osr_arena *scratch,
				  void (*visit)(void *ctx, uint32_t from, uint32_t dest), void *ctx,
				  struct osr_diag *diag)
{
	struct crossing_walk crossing = { .f = fabric, .r = routing };

	crossing.queue = osr_alloc(scratch, fabric->n_switches, sizeof(*crossing.queue));
	crossing.seen = osr_calloc(scratch, fabric->n_switches, sizeof(*crossing.seen));
	if (osr_arena_failed(scratch, diag))
		return OSR_NOMEM;
	for (uint32_t d = 0; d < fabric->n_dests; d++) {
		uint32_t n;

		if (osr_lft(routing, sw, d) != port)
			continue;
		n = crossing_collect(&crossing, sw, d);
		for (uint32_t i = 0; i < n; i++)
			visit(ctx, crossing.queue[i], d);
	}
	return OSR_OK;
}

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The order of fabrics with two tiers: see treeorder.h. */
#include <osmroutes/treeorder.h>

#include <string.h>

struct tier_growth {
	const struct osr_fabric *f;
	uint32_t *number; /* [n_switches] OSR_NONE: not placed */
	uint32_t *queue;  /* [n_switches] in their order */
	uint32_t n, n_upper;
};

static void tier_place(struct tier_growth *g, uint32_t v)
{
	g->number[v] = g->n;
	g->queue[g->n++] = v;
}

/* Upper switches breadth first, from those that are placed. */
static void tier_spread(struct tier_growth *g, uint32_t from)
{
	const struct osr_fabric *f = g->f;

	for (uint32_t i = from; i < g->n; i++) {
		uint32_t v = g->queue[i];

		for (uint32_t c = f->chan_row[v]; c < f->chan_row[v + 1]; c++) {
			uint32_t u = f->chan_dst[c];

			if (g->number[u] != OSR_NONE || f->sw_sources[u])
				continue;
			tier_place(g, u);
			g->n_upper++;
		}
	}
}

/* Has leaf v an upper neighbour that is placed, and one that is not? */
static bool tier_anchors(const struct tier_growth *g, uint32_t v)
{
	const struct osr_fabric *f = g->f;
	bool placed = false, open = false;

	for (uint32_t c = f->chan_row[v]; c < f->chan_row[v + 1]; c++) {
		uint32_t u = f->chan_dst[c];

		placed |= g->number[u] != OSR_NONE;
		open |= g->number[u] == OSR_NONE && !f->sw_sources[u];
	}
	return placed && open;
}

/* From this leaf; returns how many upper switches it reaches without another leaf. */
static uint32_t tier_grow(struct tier_growth *g, uint32_t root)
{
	memset(g->number, 0xff, g->f->n_switches * sizeof(*g->number));
	g->n = g->n_upper = 0;
	tier_place(g, root);
	tier_spread(g, 0);
	return g->n_upper;
}

/* Upper switches that are cabled to no other but by leaves, then the leaves. */
static void tier_finish(struct tier_growth *g)
{
	const struct osr_fabric *f = g->f;
	bool again = true;

	while (again) {
		again = false;
		for (uint32_t v = 0; v < f->n_switches; v++) {
			if (!f->sw_sources[v] || g->number[v] != OSR_NONE || !tier_anchors(g, v))
				continue;
			again = true;
			tier_place(g, v);
			tier_spread(g, g->n - 1);
		}
	}
	for (uint32_t v = 0; v < f->n_switches; v++)
		if (g->number[v] == OSR_NONE)
			tier_place(g, v);
}

#define TIER_ROOTS 16 /* leaves that are tried as the root */

enum osr_status osr_tree_order_tiers(const struct osr_fabric *f, struct osr_arena *scratch,
				     struct osr_tree_order *o, struct osr_diag *diag)
{
	uint32_t n = f->n_switches, n_leaves = 0, best = OSR_NONE, most = 0, i = 0;
	struct tier_growth g = { .f = f,
				 .number = osr_alloc(scratch, n, sizeof(*g.number)),
				 .queue = osr_alloc(scratch, n, sizeof(*g.queue)) };

	if (osr_arena_failed(scratch, diag))
		return OSR_NOMEM;
	for (uint32_t v = 0; v < n; v++)
		n_leaves += f->sw_sources[v] != 0;
	if (!n_leaves || n_leaves == n || f->n_components > 1)
		return osr_fail(diag, OSR_NOT_APPLICABLE, "not two tiers of switches");
	for (uint32_t v = 0; v < n; v++) {
		uint32_t reached;

		if (!f->sw_sources[v] || i++ % (n_leaves / TIER_ROOTS + 1))
			continue;
		reached = tier_grow(&g, v);
		if (best == OSR_NONE || reached > most) {
			best = v;
			most = reached;
		}
	}
	tier_grow(&g, best);
	tier_finish(&g);
	*o = (struct osr_tree_order){ .f = f, .n = n, .number = g.number };
	return OSR_OK;
}

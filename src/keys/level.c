/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "level.h"

#include <string.h>

static bool level_is_whole(const struct osr_pgft_tree *tree)
{
	return !tree->n_missing_links && !tree->n_missing_switches;
}

/* Bits of the planes each flow may take; NULL if that is all of them. */
static enum osr_status find_planes(const struct osr_pgft *pgft, const struct osr_pgft_tree *tree,
				   uint32_t t, const struct osr__flow *flow, uint32_t n,
				   struct osr_arena *scratch, struct osr__demand *demand)
{
	bool all = true;
	uint64_t *may;

	if (level_is_whole(tree))
		return OSR_OK;
	may = osr_calloc(scratch, (size_t)n * demand->words, sizeof(*may));
	if (!may)
		return OSR_NOMEM;
	for (uint32_t i = 0; i < n; i++)
		for (uint32_t q = 0; q < demand->n_planes; q++) {
			bool leads = osr__leads(pgft, tree, t, flow[i].a, flow[i].ad, flow[i].b, q);

			may[(size_t)i * demand->words + q / 64] |= (uint64_t)leads << (q % 64);
			all &= leads;
		}
	demand->may = all ? NULL : may;
	return OSR_OK;
}

enum osr_status osr__demand_of(const struct osr_pgft *pgft, const struct osr_pgft_tree *tree,
			       uint32_t t, const struct osr__flow *flow, uint32_t n,
			       struct osr_arena *scratch, struct osr__demand *demand)
{
	struct osr__edge *edge = osr_alloc(scratch, n, sizeof(*edge));

	if (!edge)
		return OSR_NOMEM;
	for (uint32_t i = 0; i < n; i++)
		edge[i] = (struct osr__edge){ flow[i].a, flow[i].ad, flow[i].weight };
	*demand = (struct osr__demand){
		.n_nodes = tree->m_product[tree->h] / tree->m_product[t],
		.n_edges = n,
		.n_planes = osr__n_planes(tree, t),
		.edge = edge,
	};
	demand->words = (demand->n_planes + 63) / 64;
	return find_planes(pgft, tree, t, flow, n, scratch, demand);
}

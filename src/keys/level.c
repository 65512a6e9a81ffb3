/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "level.h"

#include <string.h>

bool osr__leads(struct osr__level level, uint32_t a, uint32_t ad, uint32_t b, uint32_t q)
{
	const struct osr_pgft_tree *tree = level.tree;
	uint32_t t = level.t, m = tree->m[t + 1], above = osr__b_above(tree, t, b, q);

	if (osr__up(level.pgft, osr__node(tree, t, a, b), q) == OSR_NONE ||
	    osr__up(level.pgft, osr__node(tree, t, ad, b), q) == OSR_NONE)
		return false;
	return a / m == ad / m ||
	       osr__joined((struct osr__level){ level.pgft, tree, t + 1 }, a / m, ad / m, above);
}

bool osr__joined(struct osr__level level, uint32_t a, uint32_t ad, uint32_t b)
{
	for (uint32_t q = 0; level.t < level.tree->h && q < osr__n_planes(level.tree, level.t); q++)
		if (osr__leads(level, a, ad, b, q))
			return true;
	return false;
}

enum osr_status osr__demand_of(struct osr__group *group, struct osr_arena *scratch)
{
	const struct osr_pgft_tree *tree = group->level.tree;
	struct osr__edge *edge = osr_alloc(scratch, group->n, sizeof(*edge));
	struct osr__demand *demand = &group->demand;
	bool all = true;
	uint64_t *may;

	if (osr_arena_failed(scratch, NULL))
		return OSR_NOMEM;
	for (uint32_t i = 0; i < group->n; i++)
		edge[i] = (struct osr__edge){ group->flow[i].a, group->flow[i].ad,
					      group->flow[i].weight };
	*demand = (struct osr__demand){
		.n_nodes = tree->m_product[tree->h] / tree->m_product[group->level.t],
		.n_edges = group->n,
		.n_planes = osr__n_planes(tree, group->level.t),
		.edge = edge,
	};
	demand->words = (demand->n_planes + 63) / 64;
	if (!tree->n_missing_links && !tree->n_missing_switches)
		return OSR_OK;
	/* Bits of the planes each flow may take; NULL if that is all of them. */
	may = osr_calloc(scratch, (size_t)group->n * demand->words, sizeof(*may));
	if (osr_arena_failed(scratch, NULL))
		return OSR_NOMEM;
	for (uint32_t i = 0; i < group->n; i++) {
		const struct osr__flow *flow = &group->flow[i];

		for (uint32_t q = 0; q < demand->n_planes; q++) {
			bool leads = osr__leads(group->level, flow->a, flow->ad, flow->b, q);

			may[(size_t)i * demand->words + q / 64] |= (uint64_t)leads << (q % 64);
			all &= leads;
		}
	}
	demand->may = all ? NULL : may;
	return OSR_OK;
}

void osr__unit_flows(const struct osr_pgft *pgft, const struct osr_key *key, struct osr__flow *flow)
{
	for (uint32_t i = 0; i < key->n_units; i++) {
		const struct osr_key_unit *key_unit = &key->unit[i];

		flow[i] = (struct osr__flow){
			.a = pgft->sw_a[key_unit->leaf],
			.ad = pgft->sw_a[pgft->f->term_switch[key_unit->to]],
			.to = key_unit->to,
			.weight = key_unit->weight,
			.next = OSR_NONE,
		};
	}
}

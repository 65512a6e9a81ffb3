/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "ways.h"

bool osr__leads(struct osr__level level, uint32_t a, uint32_t ad, uint32_t b, uint32_t q)
{
	const struct osr_pgft_tree *tree = level.tree;
	struct osr__level next = { level.pgft, tree, level.t + 1 };
	uint32_t t = level.t, m = tree->m[t + 1], above = osr__b_above(tree, t, b, q);

	if (osr__up(level.pgft, osr__node(tree, t, a, b), q) == OSR_NONE ||
	    osr__up(level.pgft, osr__node(tree, t, ad, b), q) == OSR_NONE)
		return false;
	if (a / m == ad / m)
		return true;
	for (uint32_t up = 0; t + 1 < tree->h && up < osr__n_planes(tree, t + 1); up++)
		if (osr__leads(next, a / m, ad / m, above, up))
			return true;
	return false;
}

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * set.h - disjoint sets of the numbers below n: union-find with path halving (Tarjan and van
 * Leeuwen, "Worst-case analysis of set union algorithms", JACM 31, 1984) in an array of the
 * caller's, set[n].
 *
 * set[i] is a member of the set of i that is not above i. The lowest member is the name of the set,
 * so that names do not depend on the order of joins. DIFFERS: no ranks; joins and questions take
 * O(log n) amortized.
 */
#ifndef OSMROUTES_SET_H
#define OSMROUTES_SET_H

#include <stdbool.h>
#include <stdint.h>

#include <osmroutes/invariant.h>

/* Every number is a set of its own. */
static inline void osr_set_init(uint32_t *set, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		set[i] = i;
}

/* The name of the set that has i. */
static inline uint32_t osr_set_of(uint32_t *set, uint32_t i)
{
	while (set[i] != i) {
		osr_invariant(set[i] < i);
		i = set[i] = set[set[i]];
	}
	return i;
}

/* Joins the sets of i and j. False: they were one already. */
static inline bool osr_set_join(uint32_t *set, uint32_t i, uint32_t j)
{
	i = osr_set_of(set, i);
	j = osr_set_of(set, j);
	if (i < j)
		set[j] = i;
	else
		set[i] = j;
	return i != j;
}

#endif

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "io/keyed.h"

#include <stdlib.h>

static int compare_keyed(const void *a, const void *b)
{
	const struct osr_keyed *x = a, *y = b;

	if (x->key != y->key)
		return x->key < y->key ? -1 : 1;
	return (x->index > y->index) - (x->index < y->index);
}

void osr_keyed_sort(struct osr_keyed *list, uint32_t n)
{
	if (n)
		qsort(list, n, sizeof(*list), compare_keyed);
	for (uint32_t i = 1; i < n; i++)
		osr_invariant(list[i - 1].key <= list[i].key);
}

uint32_t osr_keyed_at(const struct osr_keyed *list, uint32_t n, uint64_t key)
{
	uint32_t low = 0, high = n;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (list[middle].key < key)
			low = middle + 1;
		else
			high = middle;
	}
	osr_invariant(!low || list[low - 1].key < key);
	osr_invariant(low == n || list[low].key >= key);
	return low;
}

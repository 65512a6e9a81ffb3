/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* keyed.h - things by a key, those with one key by their number: sorted, and found again. */
#ifndef OSR_IO_KEYED_H
#define OSR_IO_KEYED_H

#include <stdint.h>

struct osr_keyed {
	uint64_t key;
	uint32_t index;
};

void osr_keyed_sort(struct osr_keyed *list, uint32_t n);
/* Where in a sorted list the first is whose key is not below this one; n if all are. */
uint32_t osr_keyed_at(const struct osr_keyed *list, uint32_t n, uint64_t key);

#endif

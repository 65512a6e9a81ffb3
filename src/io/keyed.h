/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* keyed.h - lists: of things by a key, sorted and found again; arrays of malloc that double, so that adding is linear. */
#ifndef OSR_IO_KEYED_H
#define OSR_IO_KEYED_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

struct osr_keyed {
	uint64_t key;
	uint32_t index;
};

void osr_keyed_sort(struct osr_keyed *list, uint32_t n);
/* Where in a sorted list the first is whose key is not below this one; n if all are. */
uint32_t osr_keyed_at(const struct osr_keyed *list, uint32_t n, uint64_t key);

/* *list: room for more than n objects of `size` bytes; *room is how many there is for now. False: out of memory. */
static inline bool osr_grow(void **list, uint32_t n, uint32_t *room, size_t size)
{
	uint32_t more = *room ? 2 * *room : 64;
	void *p = n < *room ? *list : reallocarray(*list, more, size);

	if (p && n >= *room)
		*room = more;
	*list = p ? p : *list;
	return p;
}

#endif

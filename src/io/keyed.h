/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * keyed.h - lists: of things by a key, sorted and found again; arrays of malloc that double, so
 * that adding is linear.
 */
#ifndef OSR_IO_KEYED_H
#define OSR_IO_KEYED_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include <osmroutes/invariant.h>

struct osr_keyed {
	uint64_t key;
	uint32_t index;
};

void osr_keyed_sort(struct osr_keyed *list, uint32_t n);
/* Where in a sorted list the first is whose key is not below this one; n if all are. */
uint32_t osr_keyed_at(const struct osr_keyed *list, uint32_t n, uint64_t key);

/*
 * *list: room for `more` objects of `size` bytes behind the n there are; *room is how many there is
 * for now. False: no memory.
 */
static inline bool osr_grow(void **list, uint32_t n, uint32_t more, uint32_t *room, size_t size)
{
	uint64_t want = *room ? *room : 64;
	void *p = *list;

	osr_invariant(n <= *room);
	while (want < (uint64_t)n + more)
		want *= 2;
	if (want != *room)
		p = want <= UINT32_MAX ? reallocarray(p, want, size) : NULL;
	if (!p)
		return false;
	*list = p;
	osr_invariant(want >= (uint64_t)n + more);
	*room = (uint32_t)want;
	return true;
}

#endif

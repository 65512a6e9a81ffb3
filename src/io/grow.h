/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* grow.h - arrays of malloc that double, so that adding to them is linear. */
#ifndef OSR_IO_GROW_H
#define OSR_IO_GROW_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

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

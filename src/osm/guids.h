/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* guids.h - a set of nodes that outlives OpenSM's objects: their GUIDs. */
#ifndef OSR_OSM_GUIDS_H
#define OSR_OSM_GUIDS_H

#include "compat.h"

/* Valid and empty with {0}. */
struct guids {
	ib_net64_t *guid; /* [n], room for more; malloc() */
	uint32_t n, room;
	bool incomplete; /* there was no memory for all of them */
};

void osr_guids_add(struct guids *guids, ib_net64_t guid);
/* Once all are added, before the first question. O(n log n) */
void osr_guids_sort(struct guids *guids);
/* O(log n) */
bool osr_guids_have(const struct guids *guids, ib_net64_t guid);
void osr_guids_clear(struct guids *guids);

#endif

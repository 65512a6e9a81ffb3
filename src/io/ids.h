/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* ids.h - nodes of a file by what it calls them: a hash table, so that a line costs a constant. */
#ifndef OSR_IO_IDS_H
#define OSR_IO_IDS_H

#include "io/net.h"

struct osr_id {
	uint32_t text; /* offset into the names of the net */
	uint32_t node; /* OSR_NONE until it is described */
	uint32_t line; /* of the file, where that is */
};

/* Valid and empty with `net` alone. */
struct osr_ids {
	struct osr_net *net;
	struct osr_id *row; /* [n] */
	uint32_t n, room;
	uint32_t *slot; /* [n_slots] row or OSR_NONE; a power of two */
	uint32_t n_slots;
};

/* The row of this text, a new one if there is none; OSR_NONE: no memory. */
uint32_t osr_ids_row(struct osr_ids *ids, const char *text);
void osr_ids_free(struct osr_ids *ids);

#endif

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* ids.h - nodes of a file by their ids there: a balanced tree of the C library (tsearch(3)). */
#ifndef OSR_IO_IDS_H
#define OSR_IO_IDS_H

#include <search.h>
#include <stdlib.h>
#include <string.h>

#include <osmroutes/fabric.h>

struct osr_id {
	uint32_t node; /* OSR_NONE until it is described */
	uint32_t line; /* of the file, where that is */
	char text[];
};

static inline int osr_id_compare(const void *a, const void *b)
{
	return strcmp(((const struct osr_id *)a)->text, ((const struct osr_id *)b)->text);
}

/*
 * The id of this text in a tree that begins as NULL and ends with tdestroy(tree, free), added if it
 * is new; NULL: no memory.
 */
static inline struct osr_id *osr_id_find(void **tree, const char *text)
{
	size_t size = strlen(text) + 1;
	struct osr_id *id = malloc(sizeof(*id) + size), **place = NULL;

	if (id) {
		id->node = OSR_NONE;
		memcpy(id->text, text, size);
		place = tsearch(id, tree, osr_id_compare);
	}
	if (!place || *place != id)
		free(id);
	return place ? *place : NULL;
}

#endif

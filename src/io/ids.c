/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "io/ids.h"

#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "io/keyed.h"

/* The slot of this text: it holds its row, or OSR_NONE. */
static uint32_t *ids_slot(const struct osr_ids *ids, const char *text)
{
	uint32_t mask = ids->n_slots - 1;
	uint32_t i = (uint32_t)XXH3_64bits(text, strlen(text)) & mask;

	while (ids->slot[i] != OSR_NONE &&
	       strcmp(ids->net->names + ids->row[ids->slot[i]].text, text) != 0)
		i = (i + 1) & mask;
	return &ids->slot[i];
}

/* At most half full: a search ends after a step or two. */
static bool ids_grow(struct osr_ids *ids)
{
	uint32_t size = ids->n_slots ? 2 * ids->n_slots : 1024;
	uint32_t *more;

	if (2 * ids->n < ids->n_slots)
		return true;
	more = realloc(ids->slot, size * sizeof(*more));
	if (!more)
		return false;
	ids->slot = more;
	ids->n_slots = size;
	memset(ids->slot, 0xff, size * sizeof(*ids->slot));
	for (uint32_t i = 0; i < ids->n; i++)
		*ids_slot(ids, ids->net->names + ids->row[i].text) = i;
	return true;
}

uint32_t osr_ids_row(struct osr_ids *ids, const char *text)
{
	uint32_t *slot;

	if (!ids_grow(ids) || !osr_grow((void **)&ids->row, ids->n, &ids->room, sizeof(*ids->row)))
		return OSR_NONE;
	slot = ids_slot(ids, text);
	if (*slot != OSR_NONE)
		return *slot;
	ids->row[ids->n] = (struct osr_id){ .text = osr_net_string(ids->net, text, strlen(text)),
					    .node = OSR_NONE };
	if (ids->net->failed)
		return OSR_NONE;
	return *slot = ids->n++;
}

void osr_ids_free(struct osr_ids *ids)
{
	free(ids->row);
	free(ids->slot);
}

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "guids.h"

#include <stdlib.h>
#include <string.h>

static int compare_guids(const void *a, const void *b)
{
	const ib_net64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

void osr_guids_add(struct guids *guids, ib_net64_t guid)
{
	if (guids->n == guids->room) {
		uint32_t room = guids->room ? 2 * guids->room : 16;
		ib_net64_t *more = realloc(guids->guid, room * sizeof(*more));

		if (!more) {
			guids->incomplete = true;
			return;
		}
		guids->guid = more;
		guids->room = room;
	}
	guids->guid[guids->n++] = guid;
}

void osr_guids_sort(struct guids *guids)
{
	if (guids->n)
		qsort(guids->guid, guids->n, sizeof(*guids->guid), compare_guids);
}

bool osr_guids_have(const struct guids *guids, ib_net64_t guid)
{
	return guids->n && bsearch(&guid, guids->guid, guids->n, sizeof(guid), compare_guids);
}

void osr_guids_clear(struct guids *guids)
{
	free(guids->guid);
	memset(guids, 0, sizeof(*guids));
}

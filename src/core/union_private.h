/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* union_private.h - the graph of turns, shared by union.c (who fills it) and union_loop.c. */
#ifndef OSR_UNION_PRIVATE_H
#define OSR_UNION_PRIVATE_H

#include <osmroutes/union.h>

/*
 * A turn leads from channel c to the channel that leaves chan_dst[c] by a port: slot[c] + port.
 * Bit v of vls[turn] says that packets on VL v take it and stay on v. If VLs change on the way
 * (`moves`), bit w of vls[turn * OSR_MAX_VLS + v] says that packets on v go on as w.
 */
struct turns {
	const struct osr_fabric *f;
	bool moves;
	size_t *slot; /* [n_channels] */
	size_t n_slots;
	uint16_t *vls;
	uint16_t used; /* VLs that turns begin on */
};

/* VLs that channel c of VL v goes on with by this port. */
static inline unsigned turn_vls(const struct turns *t, uint32_t c, unsigned v, unsigned port)
{
	size_t turn = t->slot[c] + port;

	if (!t->moves)
		return t->vls[turn] & (1u << v);
	return t->vls[turn * OSR_MAX_VLS + v];
}

/*
 * A cycle, its channels and VLs in step[] (in result), or loop->n = 0 and rank (if not NULL) a
 * topological order. False if memory ran out.
 */
bool osr__union_search(const struct turns *t, struct osr_arena *scratch, struct osr_arena *result,
		       struct osr_loop_step **step, uint32_t *n, uint32_t *rank);

#endif

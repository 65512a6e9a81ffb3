/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * order.h - an order of the channels in which every packet rises: the certificate, and the judge of
 * additional steps.
 *
 * A *lane channel* is a direction out of a switch on one of the two lanes, or, where something has
 * failed and there are three, on lane 2, which whoever uses it never leaves. Before anything has
 * failed, their order is known: by dimension, and within rings from the link that the lane does not
 * use. Lane 0 is numbered inside out, so that steps towards the middle of a later dimension may come
 * in front of everything (a first step), as multicast does.
 *
 * When something has failed, dependencies that the order does not have may be added one by one, as
 * long as they close no cycle; the order follows (toporder.h). That is the paper's section 3.2, with
 * exact reachability in place of direction sets.
 */
#ifndef ANGARA_ORDER_H
#define ANGARA_ORDER_H

#include <osmroutes/toporder.h>

#include "plan.h"

#define WHOLE UINT16_MAX

/*
 * Beyond that nothing more is tried: a second or so. Where so much is missing the steps around it are
 * many and long, and channel orders (as in dfsssp) take less time, and less long routes.
 */
#define ANGARA_MAX_WORK 50000000

struct order {
	const struct plan *p;
	uint32_t n_lanes;
	struct osr_toporder top; /* of lane channels: angara__node() */
	/* Dependencies in use; NULL until angara__order_watch(). */
	uint16_t *used; /* [n_switches * n_dirs * n_dirs] see angara__bit() */
};

/*
 * gap[v * n_dims + i]: WHOLE, or the lowest place after which the row of v in dimension i is
 * interrupted; the last one if it is a line without a gap.
 */
enum osr_status angara__order(struct order *o, const struct plan *p, const uint16_t *gap,
			      uint32_t n_lanes, struct osr_arena *scratch, struct osr_diag *diag);

/* Prepares for counting dependencies. */
enum osr_status angara__order_watch(struct order *o, struct osr_arena *scratch,
				    struct osr_diag *diag);

static inline uint32_t angara__node(const struct order *o, uint32_t lane, uint32_t v, uint32_t dir)
{
	return (lane * o->p->g->f->n_switches + v) * 2 * o->p->n_dims + dir;
}

static inline uint16_t *angara__used(const struct order *o, uint32_t v, uint32_t dir, uint32_t next)
{
	uint32_t n_dirs = 2 * o->p->n_dims;

	return &o->used[((size_t)v * n_dirs + dir) * n_dirs + next];
}

/* A lane is followed by itself, or by the other one of 0 and 1, of 2 and 3, ... */
static inline uint32_t angara__bit(uint32_t lane, uint32_t next_lane)
{
	return 2 * lane + next_lane % 2;
}

/*
 * From v by dir on one lane, then by next on the other: true if that closes no cycle; then it is
 * in use. *fresh says whether it was not before.
 */
bool angara__order_add(struct order *o, uint32_t v, uint32_t dir, uint32_t lane, uint32_t next,
		       uint32_t next_lane, bool *fresh);

/* Takes back what was fresh. */
void angara__order_drop(struct order *o, uint32_t v, uint32_t dir, uint32_t lane, uint32_t next,
			uint32_t next_lane);

#endif

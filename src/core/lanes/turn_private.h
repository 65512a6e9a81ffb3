/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* What the files of turn.h share. */
#ifndef OSR_TURN_PRIVATE_H
#define OSR_TURN_PRIVATE_H

#include "core/lanes/turn.h"
#include "core/lanes/updown.h"

#include "search.h"

#define OSR__TURN_HOPS 256 /* channels of a switch, at most */

/* Up to max_lanes lanes, as far as the budget goes. */
enum osr_status osr__turn_init(struct osr__search *w, const struct osr_lanes_job *job,
			       uint32_t max_lanes);

static inline enum osr_status osr__turn_nomem(struct osr_diag *diag)
{
	return osr_fail(diag, OSR_NOMEM, "out of memory for lanes by turn");
}

/* turn_order.c: an order and lanes to start from, in which the turns of the escape tree rise. */
enum osr_status osr__turn_start_updown(struct osr__search *w, const struct osr_updown *updown);
enum osr_status osr__turn_start_fitted(struct osr__search *w);

/* Marks the turns of the escape tree, alone, as weights and as pinned. */
void osr__turn_pin(struct osr__search *w);

/* job->turn is what the job routes. */
enum osr_status osr__turn_take(struct osr_lanes_job *job);

/* turn_tables.c: how many classes of SLs there are lanes for, at least two each. */
uint32_t osr__turn_classes(const struct osr_request *req);
enum osr_status osr__turn_finish(struct osr__search *w, struct osr_lanes_job *job);

/*
 * turn_count.c: [n_slots] how many routes of one switch to one LID take each turn; LIDs that ride along are not counted.
 * NULL: no memory.
 */
uint32_t *osr__turn_count_used(const struct osr__search *w);

/* turn_rows.c: what no packet uses of SL2VL tables. */
enum osr_status osr__turn_rows(const struct osr__search *turns, struct osr_arena *scratch,
			       struct osr_routing *routing);

#endif

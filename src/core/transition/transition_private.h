/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* transition_private.h - what transition.c and rounds.c share. */
#ifndef OSMROUTES_TRANSITION_PRIVATE_H
#define OSMROUTES_TRANSITION_PRIVATE_H

#include "core/transition/transition.h"

#include "core/verify/union.h"

struct transition {
	const struct osr_fabric *f;
	const struct osr_request *req;
	const struct osr_result *previous;
	struct osr_routing *r;  /* of today, as it was made */
	struct osr_routing old; /* of before, on f */
	struct osr_routing now; /* of today, as it would be */
	uint32_t modes;
	struct osr_generation
		gen[2];  /* old and now; where senders may choose, the SLs of partitions */
	bool one_graph;  /* any SL is safe in both: one VL stands for all */
	bool by_turn;    /* any SL is safe in both by lanes by turn */
	uint32_t *order; /* [n_switches] the old spanning order, or NULL */
	uint8_t *sl;     /* [n_dests * n_switches] of today's pairs by old SLs, or NULL */
	uint8_t sl_vls;  /* VLs that those need */
	uint32_t *rank;  /* [OSR_MAX_VLS * n_channels] */
	struct osr_loop loop;
	bool refused; /* no loop was found, and the proved checker does not confirm that */
	struct osr_arena *scratch;
	struct osr_arena kept; /* of what must outlive a use of scratch */
};

/* `kept` is the caller's to free. */
struct transition osr__transition_of(const struct osr_job *job);
/* Fills in old, now, modes and one_graph. */
enum osr_status osr__transition_begin(struct transition *m, struct osr_diag *diag);
/* Old and new tables mixed: m->loop, or m->rank if there is none. */
enum osr_status osr__transition_ask(struct transition *m, struct osr_diag *diag);
/* The answer without a graph, where it is quick: there is no loop, by the certificate of the new tables. */
bool osr__transition_rises(const struct transition *m);
/*
 * What of the old tables might be kept (OSR_KEPT_*), the least first, nothing before all; how many there
 * are. m->order and m->sl are filled in.
 */
uint32_t osr__transition_choices(struct transition *m, uint8_t kept[3]);
/* m->now has that. */
void osr__transition_keep(struct transition *m, uint8_t kept);
/* m->r has it, with m->rank as certificate. */
enum osr_status osr__transition_adopt(struct transition *m, uint8_t kept, struct osr_arena *result,
				      struct osr_diag *diag);
enum osr_status osr__transition_nomem(struct osr_diag *diag);

#endif

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * transition_private.h - the state of one transition: transition_question.c brings the old and the
 * new tables onto one fabric, and transition.c asks which mixtures of them are free of loops.
 */
#ifndef OSR_TRANSITION_PRIVATE_H
#define OSR_TRANSITION_PRIVATE_H

#include <osmroutes/each.h>

#include "core/data/carry.h"
#include "core/transition/transition.h"
#include "core/verify/follow.h"
#include "core/verify/union.h"

/* The answer about the mixtures that were asked last. */
struct answer {
	bool free;
	bool refused; /* no loop was found, and the proved checker does not confirm that */
	struct osr_loop loop;
	uint32_t *rank; /* [OSR_MAX_VLS * n_channels] if all packets have been followed */
};

/* The first of two rounds. */
struct first_round {
	bool *early; /* [n_switches] no old table leads there, and it holds tables */
	uint32_t n_early;
	uint8_t *lft;        /* [n_dests * n_switches] the tables after this round */
	uint64_t n, n_whole; /* entries withdrawn, and how many of them have a whole old route */
	bool *whole;         /* [n_switches] the old route from there leads to a LID */
};

struct transition {
	const struct osr_fabric *fabric; /* the whole standing fabric */
	const struct osr_fabric *routed; /* without the switches that are left out; may be equal */
	struct osr_routing *routing;     /* the new tables, on the routed fabric */
	struct osr_routing made;         /* the new tables on the standing fabric */
	struct osr_earlier was;          /* the tables of the switches, on the standing fabric */
	struct osr_earlier routed_on; /* its map: standing fabric to routed one, if they differ */

	/* The question: every mixture of `old` and `now`, with the SLs that senders may choose. */
	struct osr_routing old, now;
	struct osr_generation gen[2];
	uint32_t modes;
	bool one_graph;           /* any SL is safe in both: one VL stands for all */
	bool by_turn;             /* any SL is safe in both by lanes by turn */
	struct osr_follow follow; /* entries of `old`, and of `now` */
	struct answer answer;

	/* [n_switches] the old spanning tree, if it makes a ring with the new one; else NULL */
	const uint32_t *span;
	const uint32_t *routed_span; /* the same on the routed fabric */
	struct first_round first;

	struct osr_arena *scratch;
	struct osr_arena kept; /* of data that must outlive a use of scratch */
};

/* A switch, LID or channel of the standing fabric in the routed one; OSR_NONE: it is left out. */
static inline uint32_t routed_switch(const struct transition *transition, uint32_t s)
{
	return transition->fabric == transition->routed ? s : transition->routed_on.map.sw[s];
}

static inline uint32_t routed_dest(const struct transition *transition, uint32_t d)
{
	return transition->fabric == transition->routed ? d : transition->routed_on.map.dest[d];
}

static inline uint32_t routed_channel(const struct transition *transition, uint32_t c)
{
	return transition->fabric == transition->routed ? c : transition->routed_on.map.chan[c];
}

/* The question, in `transition`; osr_arena_free() of `kept` ends it. OSR_NOMEM. */
enum osr_status osr_transition_begin(struct transition *transition, const struct osr_job *job);

#endif

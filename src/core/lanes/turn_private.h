/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* What the files of turn.h share. */
#ifndef OSR_TURN_PRIVATE_H
#define OSR_TURN_PRIVATE_H

#include <osmroutes/cdg.h>
#include "core/lanes/turn.h"
#include "core/lanes/updown.h"

#include "legal_tree.h"

#define OSR__TURN_HOPS 256 /* channels of a switch, at most */

struct turns {
	struct osr__legal t;

	/* Nodes (lane, channel) and turns: the slots of g. */
	struct osr_cdg g;    /* weight: packets of hosts that begin with this turn */
	uint32_t n_classes;  /* of SLs, with K lanes each */
	uint32_t n_lanes;    /* K */
	uint32_t *rank;      /* [K * n_channels] a permutation of the nodes */
	uint8_t *lane;       /* [n_slots] of the turn's second channel */
	uint32_t *at;        /* [n_slots] rank of the node a turn leads to */
	uint16_t *inject;    /* [n_channels] lanes on which end ports send; NULL: lane 0 */
	uint8_t *pinned;     /* [n_slots] turns of the escape tree: lane and direction stay */
	uint32_t *best_rank; /* the best so far */
	uint8_t *best_lane;

	/* What a choice leaves to switches further out, in 64ths of the predecessors. */
	uint8_t *freedom;       /* [n_slots] of those that may go on into this turn */
	uint8_t *first_freedom; /* [n_channels] the same where the channel is the last one */

	/* Weights. */
	uint32_t *triple_row; /* [n_slots + 1] triples (c0, c1, c2) by their first turn */
	uint32_t *triple;     /* [n_triples] weight of the routes on it */
	uint8_t *useful;      /* [n_triples] on some shortest path */
	uint64_t *cost;       /* [K * OSR__TURN_HOPS] */
	uint32_t unit;        /* what a route weighs */
	uint32_t boost;       /* and one without a legal way, times that */

	uint32_t n_sampled; /* LIDs of each switch that the search looks at */
	uint64_t n_failed;  /* routes without a legal shortest path in this round */
	uint8_t *saved;     /* [n_switches] a tree that may come back */
	uint64_t enough;    /* load of the busiest channel for which no route gets longer */
};

/* The highest rank that packets of end ports on the source of c hold on it. */
static inline uint32_t osr__turn_first_rank(const struct turns *w, uint32_t c)
{
	uint32_t most = w->inject ? 0 : w->rank[c];

	for (uint16_t in = w->inject ? w->inject[c] : 0; in; in &= (uint16_t)(in - 1)) {
		uint32_t rank = w->rank[(size_t)__builtin_ctz(in) * w->t.f->n_channels + c];

		most = most < rank ? rank : most;
	}
	return most;
}

/*
 * May packets of hosts on the source of c0, and those that come through it, take c0 into a tree whose
 * hops from there on are known? Packets that come through are asked one channel earlier.
 */
static inline bool osr__turn_legal(const struct turns *w, const uint8_t *hop, uint32_t root,
				   uint32_t c0)
{
	uint32_t u = w->t.f->chan_dst[c0], t01, x;

	if (u == root)
		return true;
	t01 = w->g.row[c0] + hop[u];
	if (osr__turn_first_rank(w, c0) >= w->at[t01])
		return false;
	x = w->t.f->chan_dst[w->t.f->chan_row[u] + hop[u]];
	return x == root || w->at[t01] < w->at[w->g.row[w->t.f->chan_row[u] + hop[u]] + hop[x]];
}

/* The LIDs of a switch that are looked at end here, in dest_list. */
static inline uint32_t osr__turn_sample_end(const struct turns *w, uint32_t root)
{
	const uint32_t *row = w->t.s->dest_row + root;

	return row[1] - row[0] > w->n_sampled ? row[0] + w->n_sampled : row[1];
}

static inline enum osr_status osr__turn_nomem(struct osr_diag *diag)
{
	return osr_fail(diag, OSR_NOMEM, "out of memory for lanes by turn");
}

/* turn_order.c: an order and lanes to start from, in which the turns of the escape tree rise. */
enum osr_status osr__turn_start_updown(struct turns *w, const struct osr_updown *updown,
				       struct osr_arena *scratch, struct osr_diag *diag);
enum osr_status osr__turn_start_fitted(struct turns *w, bool ends, struct osr_arena *scratch,
				       struct osr_diag *diag);

/*
 * turn_middle.c: order and lanes where no route has more than three channels, or *fits is false. Then
 * n_lanes is 2 or 3, and n_failed routes are not legal. After these have been routed again: do the lanes
 * serve?
 */
enum osr_status osr__turn_start_middle(struct turns *w, struct osr_arena *scratch, bool *fits,
				       struct osr_diag *diag);
bool osr__turn_middle_serves(const struct turns *w);

/* Marks the turns of the escape tree. */
void osr__turn_pin(struct turns *w);

/* Better ones for the routes as they are: lanes, then order. */
enum osr_status osr__turn_improve(struct turns *w, struct osr_arena *scratch,
				  struct osr_diag *diag);

/* at and freedom, after rank or lane have changed. */
void osr__turn_set_reach(struct turns *w);

/* osr__legal.over and .settle. */
uint8_t osr__turn_over(const struct osr__legal *t, const uint8_t *hop, uint32_t root, uint32_t c);
uint32_t osr__turn_settle(struct osr__legal *t, uint32_t root, uint32_t d, uint64_t price);

/*
 * turn_ease.c: parts of trees leave the busiest channel; for no less than `enough` routes on it a route gets
 * longer. *n_longer: how many are longer in the end.
 */
enum osr_status osr__turn_ease(struct turns *w, uint64_t enough, struct osr_arena *scratch,
			       uint32_t *n_longer, struct osr_diag *diag);
/* Only the load, down to `target` routes on the busiest channel, and no route gets longer. */
enum osr_status osr__turn_lighten(struct turns *w, uint64_t target, struct osr_arena *scratch,
				  struct osr_diag *diag);

/*
 * turn_sort.c: an order of all nodes, near another one (or NULL), in which the dependencies rise that feed[]
 * says: bit l of turn t is set if packets on lane l of its first channel take it. False: there is none.
 * work[2 * nodes].
 */
bool osr__turn_sort(const struct turns *w, const uint16_t *feed, const uint32_t *near,
		    uint32_t *work, uint32_t *rank);

/* turn.c: routes of trees, LIDs that share one counted once, as in n_failed; how many are not legal. */
uint64_t osr__turn_n_routes(const struct turns *w);
uint64_t osr__turn_count_failed(struct turns *w);

/* job->turn is what the job routes. */
enum osr_status osr__turn_take(struct osr_lanes_job *job);

/* turn_tables.c: how many classes of SLs there are lanes for, at least two each. */
uint32_t osr__turn_classes(const struct osr_request *req);
enum osr_status osr__turn_finish(struct turns *w, struct osr_lanes_job *job);

/*
 * turn_count.c: [n_slots] routes of one switch to one LID that take each turn, `all`: of LIDs that ride
 * along, too. NULL: no memory.
 */
uint32_t *osr__turn_count_used(const struct turns *w, bool all, struct osr_arena *scratch);

/* turn_rows.c: what no packet uses of SL2VL tables; n_used as just above. */
enum osr_status osr__turn_rows(const struct turns *turns, const uint32_t *n_used,
			       struct osr_arena *scratch, struct osr_routing *routing);

#endif

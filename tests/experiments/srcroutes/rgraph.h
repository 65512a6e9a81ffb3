/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * rgraph.h - the routing graph: what a packet of the Angara interconnect may do next, given what it
 * has done so far. Every path from a begin vertex to an end vertex is a legal route, and every
 * legal route is such a path (theorem 1).
 *
 * Source: the paper of torus.h, section 3.1, and the edges of section 3.2.
 *
 * Each node has 3^n + 2n + 1 vertices, its *states*, in this order:
 *	begin		here a route starts
 *	FS_j		come by a first step in the positive direction j		n
 *	dirbit_k	come by steps in order; k says which of the dimensions were	3^n - 1
 *			used, and in which direction: a digit of base 3 for each
 *			dimension, 0 unused, 1 positive, 2 negative, X the lowest
 *	LS_j		come by a last step in the negative direction j			n
 *	end		here a route ends
 * Vertex number: node * n_states + state.
 *
 * The edges out of a state are the same at every node, but for links that are not there and for
 * turns that are allowed in some places only (turns.h). So the graph is not stored: a table of
 * steps for each state, and the torus, are the graph.
 */
#ifndef OSMROUTES_RGRAPH_H
#define OSMROUTES_RGRAPH_H

#include "srcroutes/turns.h"

struct osr_rg_step {
	uint8_t dir;  /* OSR_NO_DIR: stay, to the end vertex of this node */
	uint8_t turn; /* against the order: only where struct osr_turns allows it */
	uint16_t to;  /* state at the next node */
};

struct osr_rgraph {
	const struct osr_torus *t;
	const struct osr_turns *turns;
	uint32_t n_states;     /* 3^n + 2n + 1; begin is 0, end the last one */
	uint8_t *last;         /* [n_states] direction of the last step; OSR_NO_DIR: begin, end */
	uint8_t *plus, *minus; /* [n_states] dirbit_k: dimensions used; else 0 */
	uint32_t *row;         /* [n_states + 1] into step */
	struct osr_rg_step *step; /* by direction; the step to the end comes first */
};

/* The table: O(3^n n). turns must outlive rgraph. */
enum osr_status osr_rgraph_init(struct osr_rgraph *rgraph, const struct osr_turns *turns,
				struct osr_arena *arena, struct osr_diag *diag);

static inline uint32_t osr_rg_end(const struct osr_rgraph *rgraph)
{
	return rgraph->n_states - 1;
}

/* The vertex that a step leads to from state `state` at node; OSR_NO_NODE if it is not possible. */
static inline uint32_t osr_rg_next(const struct osr_rgraph *rgraph, uint32_t node, uint32_t state,
				   struct osr_rg_step step)
{
	const struct osr_torus *torus = rgraph->t;
	uint32_t next =
		step.dir == OSR_NO_DIR ? node : torus->next[node * torus->n_dirs + step.dir];

	if (next == OSR_NO_NODE)
		return OSR_NO_NODE;
	if (step.turn &&
	    !(rgraph->turns->after[node * torus->n_dirs + rgraph->last[state]] >> step.dir & 1))
		return OSR_NO_NODE;
	return next * rgraph->n_states + step.to;
}

/* Is this state a first step, a last step? */
static inline bool osr_rg_is_first(const struct osr_rgraph *rgraph, uint32_t state)
{
	return state >= 1 && state <= rgraph->t->n_dims;
}

static inline bool osr_rg_is_last(const struct osr_rgraph *rgraph, uint32_t state)
{
	return state + 1 < rgraph->n_states && state + 1 + rgraph->t->n_dims >= rgraph->n_states;
}

/* Memory for a search, allocated once: see osr_rgraph_sssp(). */
struct osr_rg_search {
	uint64_t *distance; /* [n_nodes * n_states] UINT64_MAX: not reached */
	uint32_t *parent;   /* [n_nodes * n_states] vertex before; OSR_NO_NODE: none */
	uint32_t *queue[2]; /* [n_nodes * n_states] */
};

enum osr_status osr_rg_search_init(struct osr_rg_search *rg_search, const struct osr_rgraph *rgraph,
				   struct osr_arena *arena, struct osr_diag *diag);

/*
 * Algorithm 4: shortest paths from a node's begin vertex, by breadth-first search with relaxation.
 * weight[n_nodes * n_dirs]: of channels. All must be at least so large that a longer route never
 * weighs less than a shorter one (the paper starts them at |N|^2).
 *
 * DIFFERS: the paper stops once all destinations are reached; this goes on until nothing is left.
 * O(vertices + edges).
 */
void osr_rgraph_sssp(const struct osr_rgraph *rgraph, uint32_t source, const uint64_t *weight,
		     struct osr_rg_search *rg_search);

/*
 * The channels of the way that a search has found to node, first one first, into channel[]; parent[n_nodes *
 * n_states] as in osr_rg_search. Returns how many; 0: there is none. O(hops).
 */
uint32_t osr_rgraph_trace(const struct osr_rgraph *rgraph, const uint32_t *parent, uint32_t node,
			  uint32_t *channel);

#endif

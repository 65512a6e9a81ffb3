/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * srcroutes.h - source routes of the Angara interconnect, a study: no InfiniBand switch can take
 * them.
 *
 * Source: Mukosey, Semenov, Tretiakov: Optimized Graph Based Routing Algorithm for the Angara
 * Interconnect (below: the paper).
 *
 * A torus of compute nodes; every node has a router of its own, and packets are steered by
 * directions. Nodes are numbered by their coordinates, the last dimension fastest: node (x, y, z)
 * of an A x B x C torus is (x * B + y) * C + z. Directions are numbered in the order in which a
 * packet may use them: 0 .. n-1 are +X +Y +Z +K, n .. 2n-1 are -X -Y -Z -K. A channel is one
 * direction of a link, and has the number node * n_dirs + direction, where node is the one it
 * leaves. A dimension of 2 has one cable between its two nodes, so it is a line (section 5.1: "a
 * mesh"); larger ones are rings.
 */
#ifndef TEST_SRCROUTES_H
#define TEST_SRCROUTES_H

#include <stdbool.h>
#include <stdint.h>

#include <osmroutes/arena.h>

#define TORUS_MAX_DIMS 6
#define TORUS_MAX_SIDE 255
#define TORUS_MAX_NODES 4096 /* routes are kept for every pair */
#define NO_DIR 255
#define NO_NODE UINT32_MAX
/* No route is longer: all the way around in each dimension but one hop, and two extra steps. */
#define SRCROUTE_MAX_HOPS (TORUS_MAX_DIMS * (TORUS_MAX_SIDE - 1) + 2)

struct torus {
	uint32_t n_dims;
	uint32_t n_dirs; /* 2 * n_dims */
	uint32_t n_nodes;
	uint32_t size[TORUS_MAX_DIMS];   /* 2 .. 255 */
	uint32_t stride[TORUS_MAX_DIMS]; /* node + stride[i]: one further in dimension i */
	uint32_t *next; /* [n_nodes * n_dirs] where the channel leads; NO_NODE: none */
};

static inline uint32_t torus_back(const struct torus *torus, uint32_t dir)
{
	return dir < torus->n_dims ? dir + torus->n_dims : dir - torus->n_dims;
}

/*
 * A route as its sender writes it into a packet (section 2.1). From the sender a packet makes the
 * first step, if there is one; then all its hops in the directions of the bits, in the order of
 * directions, as many in each as the way to the receiver takes; then the last step, if there is
 * one. With none of the three there is no route.
 */
struct srcroute {
	uint8_t first; /* a positive direction, or NO_DIR */
	uint8_t last;  /* a negative direction, or NO_DIR */
	uint8_t plus;  /* bit i: the hops in dimension i are positive */
	uint8_t minus; /* bit i: they are negative; never both */
};

/*
 * Turns against the order of directions, section 3.2: the used direction set B(v, E) holds the
 * directions of all channels that can be reached from channel (v, E). Theorem 2: an edge from (u,
 * D) to (v, E) with D > E closes no cycle if D is not in B(v, E). In a whole ring every channel
 * waits for the next one, and the bubble rule (a packet enters a ring only if another one still
 * fits behind it) keeps it alive; so all channels of one direction around a ring count as one. The
 * certificate is a rank for every channel that is equal along a ring and rises along every other
 * permitted step.
 *
 * DIFFERS: a packet never goes straight back where it came from (+X, -X); no shortest route does,
 * so these edges are left out. Only turns that a route can use are tried: from a positive direction
 * to a lower positive one (behind a first step), from a negative to a lower negative one (before a
 * last step).
 *
 * The routing graph, section 3.1 with the edges of section 3.2: what a packet may do next, given
 * what it has done so far. Every path from a begin vertex to an end vertex is a legal route, and
 * every legal route is such a path (theorem 1). Each node has 3^n + 2n + 1 vertices, its *states*,
 * in this order:
 *	begin		here a route starts
 *	FS_j		come by a first step in the positive direction j		n
 *	dirbit_k	come by steps in order; k says which of the dimensions were	3^n - 1
 *			used, and in which direction: a digit of base 3 for each
 *			dimension, 0 unused, 1 positive, 2 negative, X the lowest
 *	LS_j		come by a last step in the negative direction j			n
 *	end		here a route ends
 * Vertex number: node * n_states + state. The edges out of a state are the same at every node, but
 * for links that are not there and for turns. So the graph is not stored: a table of steps for each
 * state, and the torus, are the graph.
 *
 * Its shortest paths are the *choices* of a pair; a pair is (i, j), i * n_nodes + j. Fewer extra
 * steps come first. No two of a pair are the same sequence of hops.
 */
struct srcroutes_step {
	uint8_t dir;  /* NO_DIR: stay, to the end vertex of this node */
	uint8_t turn; /* against the order: only where after[] allows it */
	uint16_t to;  /* state at the next node */
};

struct srcroutes {
	struct osr_arena arena;
	struct torus torus;
	/* [channels] bit E of after[v * n_dirs + D]: by D to v, a packet may go on by E < D */
	uint16_t *after;
	uint32_t n_added;
	uint32_t *rank; /* [channels] certificate */

	uint32_t n_states;           /* begin is 0, end the last one */
	uint8_t *last;               /* [n_states] direction of the last step; NO_DIR: begin, end */
	uint32_t *step_row;          /* [n_states + 1] into step */
	struct srcroutes_step *step; /* by direction; the step to the end comes first */

	uint32_t n_pairs;  /* n_nodes^2 */
	uint16_t *hops;    /* [n_pairs] of each choice; 0: i == j */
	uint64_t *row;     /* [n_pairs + 1] into channel */
	uint32_t *channel; /* hops[p] of each choice, one choice after the other */
	uint32_t n_unique; /* pairs with a single one */

	/* [n_nodes] a route counts once for each of them at both its ends. NULL: one everywhere. */
	const uint32_t *hosts;
	uint32_t n_sssp_calls; /* of BUILD_SSSP by the last srcroutes_route() */
	uint32_t max_load;     /* of its routes */
};

/* False for 0 or more than 6 dimensions, a side below 2 or above 255, more than 4,096 nodes. */
bool srcroutes_init(struct srcroutes *srcroutes, uint32_t n_dims, const uint32_t *size);
void srcroutes_free(struct srcroutes *srcroutes);

static inline uint32_t srcroutes_n_choices(const struct srcroutes *srcroutes, uint32_t pair)
{
	return srcroutes->hops[pair]
		       ? (uint32_t)((srcroutes->row[pair + 1] - srcroutes->row[pair]) /
				    srcroutes->hops[pair])
		       : 0;
}

/* The channels of choice number k (from 0) of a pair: hops[pair] of them. */
static inline const uint32_t *srcroutes_channels(const struct srcroutes *srcroutes, uint32_t pair,
						 uint32_t k)
{
	return srcroutes->channel + srcroutes->row[pair] + (uint64_t)k * srcroutes->hops[pair];
}

/*
 * Algorithms 1 and 2; 3 and 4; these without stage one, "unique routes", for figure 4 only.
 * DIFFERS: the genetic search of section 4.2 is not among them. An integer program gives what it
 * looks for.
 */
enum srcroutes_algorithm { SRCROUTES_BFS, SRCROUTES_SSSP, SRCROUTES_SSSP_ALL, N_SRCROUTES };

/* route[n_pairs] receives a choice for every pair; nothing where i == j. Deterministic. */
void srcroutes_route(struct srcroutes *srcroutes, enum srcroutes_algorithm algorithm,
		     struct srcroute *route);

/*
 * The judge, srccheck.c, shares no code with what makes the routes; of the torus it takes the sizes
 * alone. Every route is followed node by node. It is legal if its first step is positive and its
 * last one negative, its direction bits name no dimension twice, and every channel it uses is
 * there. Along it the certificate must rise, except between two channels of the same direction
 * around a ring, where it must stay. Then no set of packets can wait for each other in a circle.
 *
 * The metrics are those of section 1.1: gamma_c is the number of routes on channel c, C the set of
 * channels that are there, gamma_perfect = sum of gamma_c / |C|, sigma(4) = (sum of |gamma_perfect
 * - gamma_c|^4 / |C|)^(1/4), D the hops of a route.
 */
struct srcverdict {
	uint64_t n_longer;           /* routes longer than the distance in the torus */
	uint32_t max_load, min_load; /* gamma */
	double sigma4;
	uint32_t max_hops; /* max D */
	uint64_t n_hops;   /* of all routes */
	char why[160];     /* the first route that is not legal or not in rank, or missing */
};

/*
 * route[n_nodes * n_nodes] from i to j at i * n_nodes + j; route[i][i] is ignored. False: see why.
 */
bool srccheck(const struct torus *torus, const struct srcroute *route, const uint32_t *rank,
	      struct srcverdict *verdict);

#endif

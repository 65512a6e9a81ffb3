/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * toporder.h - a topological order, kept while edges are added to a graph one by one: an edge that
 * would close a cycle is refused, and the order is the certificate that there is none.
 *
 * Source: Pearce, Kelly: A dynamic topological sort algorithm for directed acyclic graphs, ACM JEA
 * 11, 2006. An edge that goes against the order makes only the vertices between its two ends move:
 * those that can be reached from its head, and those that reach its tail, share out the places they
 * hold together anew.
 *
 * The graph is the caller's, and so is what a vertex is: a channel, one on a lane, a whole ring of
 * them. Taking an edge out of the graph needs no call: an order of more edges is one of fewer.
 */
#ifndef OSMROUTES_TOPORDER_H
#define OSMROUTES_TOPORDER_H

#include <stdbool.h>
#include <stdint.h>

#include <osmroutes/arena.h>
#include <osmroutes/status.h>

/*
 * Where the edges of a vertex lead to or, with `back`, come from: written to out[max_degree],
 * returns how many. Repeated ones do no harm.
 */
typedef uint32_t osr_toporder_edges(const void *graph, uint32_t vertex, bool back, uint32_t *out);

struct osr_toporder {
	/* The caller's, set before osr_toporder_init(). */
	uint32_t n, max_degree;
	osr_toporder_edges *edges;
	const void *graph;
	uint32_t *
		rank; /* [n] a permutation in which all edges rise; another graph's may be put here */
	uint64_t work; /* vertices that searches have looked at */

	/* Of the last edge that was added: the vertices that have moved are after[] and before[]. */
	uint32_t n_after, n_before;
	uint32_t *after, *before, *places; /* [n] */
	uint32_t *near;                    /* [max_degree] */
	uint8_t *seen;                     /* [n] all 0 in between */
};

/* Memory for searches: 13 bytes a vertex. OSR_NOMEM. */
enum osr_status osr_toporder_init(struct osr_toporder *order, struct osr_arena *scratch,
				  struct osr_diag *diag);

/*
 * Before the edge from tail to head joins the graph: makes it rise. False, and nothing has changed, if
 * it would close a cycle. O(1) if it rises already, else by the edges of the vertices ranked between.
 */
bool osr_toporder_rise(struct osr_toporder *order, uint32_t tail, uint32_t head);

#endif

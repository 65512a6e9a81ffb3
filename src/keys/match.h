/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * match.h - matchings of a bipartite multigraph that cover what must be covered; private to
 * src/keys.
 *
 * Both sides have nodes 0 .. n_nodes-1. A matching is asked for again and again while edges leave
 * the graph, so the graph is built once and edges are switched off.
 */
#ifndef OSR_KEYS_MATCH_H
#define OSR_KEYS_MATCH_H

#include <osmroutes/arena.h>
#include <osmroutes/fabric.h>

struct osr__edge {
	uint32_t left, right;
	uint32_t weight;
};

struct osr__match {
	uint32_t n_nodes, n_edges;
	const struct osr__edge *edge;
	/* [n_nodes + 1] and [n_edges]: edges by left and by right node, by index within a node */
	uint32_t *left_row, *left_edge, *right_row, *right_edge;
	bool *off;                 /* [n_edges] of the caller: not in the graph now */
	bool *must_l, *must_r;     /* [n_nodes] of the caller: to be covered if possible */
	uint32_t *mate_l, *mate_r; /* [n_nodes] edge of the matching, OSR_NONE */
	/* Scratch, [n_nodes] each */
	uint32_t *depth, *cursor, *queue;
	bool *seen;
};

enum osr_status osr__match_init(struct osr__match *m, uint32_t n_nodes,
				const struct osr__edge *edge, uint32_t n_edges,
				struct osr_arena *scratch);

/*
 * A maximum matching that covers as many must_l nodes as any does, and with them as many must_r
 * nodes as any does. Hopcroft and Karp, O(edges sqrt(nodes)); for the must_r nodes O(edges) each.
 */
void osr__match_solve(struct osr__match *m);

#endif

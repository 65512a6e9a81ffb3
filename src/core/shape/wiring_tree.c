/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Fat trees. In a PGFT the switches of level l and l + 1 that can see each other (equal a_h .. a_(l+2) and
 * b_l .. b_1) are joined all to all, by p cables each: between two levels a plan is a set of separate complete
 * bipartite graphs, here called blocks. Switches are of one block if they share more than half of their
 * parents; a parent is of the block most of its children are of; what is in doubt then follows its parents.
 */
#include "wiring_private.h"

#include <stdio.h>
#include <string.h>

#include <osmroutes/pgft.h>

struct wiring_tree {
	const struct wiring_graph *g;
	uint8_t *level; /* [n_switches] from 1 */
	uint32_t *
		block; /* [n_switches] of a lower switch its union-find parent, of both the block in the end */
	uint32_t *up;    /* [n_switches] the block among those above: the lower role */
	uint32_t *down;  /* [n_switches] the upper role */
	uint32_t *count; /* [n_switches] */
	uint32_t *list;  /* [n_switches] */
	uint32_t n_levels;
};

static uint32_t hosts_of(const struct osr_fabric *fabric, uint32_t s)
{
	uint32_t n = 0;

	for (uint32_t t = fabric->term_row[s]; t < fabric->term_row[s + 1]; t++)
		n += fabric->term_role[t] != OSR_ROLE_SP0;
	return n;
}

static uint32_t cables_to_level(const struct wiring_tree *wiring, uint32_t s, uint32_t level)
{
	uint32_t n = 0;

	for (uint32_t e = wiring->g->row[s]; e < wiring->g->row[s + 1]; e++)
		n += wiring->level[wiring->g->near[e]] == level ? wiring->g->mult[e] : 0;
	return n < 255 ? n : 255;
}

/* The level above: switches with more than half of the cables to this one that those with any mostly have. */
static uint32_t wiring_tree_next_level(struct wiring_tree *wiring)
{
	uint32_t histogram[256] = { 0 }, usual, n = wiring->g->f->n_switches, n_new = 0;

	for (uint32_t s = 0; s < n; s++) {
		wiring->list[s] =
			wiring->level[s] ? 0 : cables_to_level(wiring, s, wiring->n_levels);
		histogram[wiring->list[s]] += wiring->list[s] > 0;
	}
	usual = osr__wiring_mode(histogram);
	for (uint32_t s = 0; s < n; s++)
		if (2 * wiring->list[s] > usual) {
			wiring->level[s] = (uint8_t)(wiring->n_levels + 1);
			n_new++;
		}
	return n_new;
}

/* Leaves have a quarter of the hosts that any switch has at most. */
static bool wiring_tree_find_levels(struct wiring_tree *wiring)
{
	const struct osr_fabric *fabric = wiring->g->f;
	uint32_t most = 0, n_left = fabric->n_switches, n_new = 0;

	for (uint32_t s = 0; s < fabric->n_switches; s++)
		most = hosts_of(fabric, s) > most ? hosts_of(fabric, s) : most;
	for (uint32_t s = 0; s < fabric->n_switches && most; s++) {
		wiring->level[s] = 4 * hosts_of(fabric, s) >= most;
		n_new += wiring->level[s];
	}
	for (wiring->n_levels = 1;
	     n_new && (n_left -= n_new) && wiring->n_levels < OSR_PGFT_MAX_LEVELS;
	     wiring->n_levels++)
		n_new = wiring_tree_next_level(wiring);
	return n_left == 0 && wiring->n_levels > 1;
}

static uint32_t wiring_tree_find_root(uint32_t *parent, uint32_t v)
{
	while (parent[v] != v)
		v = parent[v] = parent[parent[v]];
	return v;
}

/* Joins the switches of level l that share more than half of their parents, by cables. */
static void join_lower(struct wiring_tree *wiring, uint32_t l)
{
	const struct wiring_graph *graph = wiring->g;

	for (uint32_t u = 0; u < graph->f->n_switches; u++) {
		uint32_t n = 0, degree = cables_to_level(wiring, u, l + 1);

		if (wiring->level[u] != l)
			continue;
		for (uint32_t e = graph->row[u]; e < graph->row[u + 1]; e++) {
			uint32_t w = graph->near[e];

			if (wiring->level[w] != l + 1)
				continue;
			for (uint32_t x = graph->row[w]; x < graph->row[w + 1]; x++) {
				uint32_t v = graph->near[x];

				if (wiring->level[v] != l || v <= u)
					continue;
				if (!wiring->count[v])
					wiring->list[n++] = v;
				wiring->count[v] += graph->mult[e] < graph->mult[x]
							    ? graph->mult[e]
							    : graph->mult[x];
			}
		}
		for (uint32_t i = 0; i < n; i++) {
			uint32_t v = wiring->list[i], shared = wiring->count[v];

			wiring->count[v] = 0;
			if (wiring_tree_find_root(wiring->block, u) !=
				    wiring_tree_find_root(wiring->block, v) &&
			    2 * shared > degree && 2 * shared > cables_to_level(wiring, v, l + 1))
				wiring->block[wiring_tree_find_root(wiring->block, v)] =
					wiring_tree_find_root(wiring->block, u);
		}
	}
}

/* The block that most neighbours of v on this level are of; its own if that is as good. */
static uint32_t majority(struct wiring_tree *wiring, uint32_t v, uint32_t level, const uint32_t *of,
			 uint32_t own)
{
	const struct wiring_graph *graph = wiring->g;
	uint32_t best = own, most = 0;

	for (uint32_t e = graph->row[v]; e < graph->row[v + 1]; e++)
		if (wiring->level[graph->near[e]] == level && of[graph->near[e]] != OSR_NONE)
			wiring->count[of[graph->near[e]]] += graph->mult[e];
	if (own != OSR_NONE)
		most = wiring->count[own];
	for (uint32_t e = graph->row[v]; e < graph->row[v + 1]; e++) {
		uint32_t b = wiring->level[graph->near[e]] == level ? of[graph->near[e]] : OSR_NONE;

		if (b != OSR_NONE && wiring->count[b] > most) {
			best = b;
			most = wiring->count[b];
		}
	}
	for (uint32_t e = graph->row[v]; e < graph->row[v + 1]; e++)
		if (wiring->level[graph->near[e]] == level && of[graph->near[e]] != OSR_NONE)
			wiring->count[of[graph->near[e]]] = 0;
	return best;
}

/* up[] of level l and down[] of level l + 1. */
static void find_blocks(struct wiring_tree *wiring, uint32_t l)
{
	uint32_t n = wiring->g->f->n_switches;

	for (uint32_t v = 0; v < n; v++)
		wiring->block[v] = v;
	join_lower(wiring, l);
	for (uint32_t v = 0; v < n; v++)
		if (wiring->level[v] == l)
			wiring->up[v] = wiring_tree_find_root(wiring->block, v);
	for (unsigned round = 0; round < 2; round++) {
		for (uint32_t v = 0; v < n; v++)
			if (wiring->level[v] == l + 1)
				wiring->down[v] = majority(wiring, v, l, wiring->up, OSR_NONE);
		for (uint32_t v = 0; v < n; v++)
			if (wiring->level[v] == l)
				wiring->up[v] =
					majority(wiring, v, l + 1, wiring->down, wiring->up[v]);
	}
}

/* Cables that a pair of one block has, mostly. */
static uint32_t wiring_tree_usual_cables(const struct wiring_tree *wiring, uint32_t l)
{
	const struct wiring_graph *graph = wiring->g;
	uint32_t histogram[256] = { 0 };

	for (uint32_t u = 0; u < graph->f->n_switches; u++)
		for (uint32_t e = graph->row[u]; e < graph->row[u + 1] && wiring->level[u] == l;
		     e++)
			if (wiring->level[graph->near[e]] == l + 1 &&
			    wiring->down[graph->near[e]] == wiring->up[u] && graph->mult[e] < 256)
				histogram[graph->mult[e]]++;
	return osr__wiring_mode(histogram);
}

/* Every lower switch of a block wants p cables to every upper one, and none elsewhere. */
static void compare_level(struct wiring_tree *wiring, uint32_t l, struct wiring_diff *diff)
{
	const struct wiring_graph *graph = wiring->g;
	uint32_t n = graph->f->n_switches, p = wiring_tree_usual_cables(wiring, l), n_upper = 0;

	for (uint32_t w = 0; w < n; w++)
		if (wiring->level[w] == l + 1)
			wiring->list[n_upper++] = w;
	for (uint32_t u = 0; u < n && !diff->full; u++) {
		if (wiring->level[u] != l)
			continue;
		for (uint32_t i = 0; i < n_upper; i++) {
			uint32_t w = wiring->list[i], has,
				 want = wiring->down[w] == wiring->up[u] ? p : 0;

			if (!want)
				continue;
			has = wiring_mult(graph, u, w);
			if (has < want)
				wiring_lacks(diff, u, w, want - has);
			else
				wiring_too_many(diff, u, w, has - want);
		}
		for (uint32_t e = graph->row[u]; e < graph->row[u + 1]; e++)
			if (wiring->level[graph->near[e]] == l + 1 &&
			    wiring->down[graph->near[e]] != wiring->up[u])
				wiring_too_many(diff, u, graph->near[e], graph->mult[e]);
	}
}

/* Cables within a level, or past one. */
static void compare_rest(const struct wiring_tree *wiring, struct wiring_diff *diff)
{
	const struct wiring_graph *graph = wiring->g;

	for (uint32_t u = 0; u < graph->f->n_switches; u++)
		for (uint32_t e = graph->row[u]; e < graph->row[u + 1]; e++) {
			uint32_t w = graph->near[e];

			if (u < w && wiring->level[u] + 1 != wiring->level[w] &&
			    wiring->level[w] + 1 != wiring->level[u])
				wiring_too_many(diff, u, w, graph->mult[e]);
		}
}

enum osr_status osr__wiring_tree(const struct wiring_graph *graph, struct osr_arena *scratch,
				 struct wiring_diff *diff, char plan[160], struct osr_diag *diag)
{
	size_t n = graph->f->n_switches, used;
	struct wiring_tree wiring = { .g = graph };
	uint32_t per_level[OSR_PGFT_MAX_LEVELS + 2] = { 0 };

	wiring.level = osr_calloc(scratch, n, sizeof(*wiring.level));
	wiring.block = osr_alloc(scratch, n, sizeof(*wiring.block));
	wiring.up = osr_alloc(scratch, n, sizeof(*wiring.up));
	wiring.down = osr_alloc(scratch, n, sizeof(*wiring.down));
	wiring.count = osr_calloc(scratch, n, sizeof(*wiring.count));
	wiring.list = osr_alloc(scratch, n, sizeof(*wiring.list));
	if (!wiring.level || !wiring.block || !wiring.up || !wiring.down || !wiring.count ||
	    !wiring.list)
		return osr_fail(diag, OSR_NOMEM, "out of memory for %zu switches", n);
	memset(wiring.up, 0xff, n * sizeof(*wiring.up));
	memset(wiring.down, 0xff, n * sizeof(*wiring.down));
	if (!wiring_tree_find_levels(&wiring))
		return osr_fail(diag, OSR_NOT_APPLICABLE,
				"no fat tree: switches do not form levels above the hosts");
	compare_rest(&wiring, diff);
	for (uint32_t l = 1; l < wiring.n_levels && !diff->full; l++) {
		find_blocks(&wiring, l);
		compare_level(&wiring, l, diff);
	}
	for (uint32_t s = 0; s < n; s++)
		per_level[wiring.level[s]]++;
	used = (size_t)snprintf(plan, 160,
				"fat tree of %u levels, from the leaves:", wiring.n_levels);
	for (uint32_t l = 1; l <= wiring.n_levels && used < 160; l++)
		used += (size_t)snprintf(plan + used, 160 - used, "%s %u", l == 1 ? "" : ",",
					 per_level[l]);
	if (used < 160)
		snprintf(plan + used, 160 - used, " switches");
	return OSR_OK;
}

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Fat trees. In a PGFT the switches of level l and l + 1 that can see each other (equal a_h .. a_(l+2) and
 * b_l .. b_1) are joined all to all, by p cables each: between two levels a plan is a set of separate complete
 * bipartite graphs, here called blocks. Switches are of one block if they share more than half of their
 * parents; a parent is of the block most of its children are of; what is in doubt then follows its parents.
 */
#include "wiring.h"

#include <stdio.h>
#include <string.h>

#include <osmroutes/pgft.h>

struct wiring_tree {
	const struct wiring_graph *g;
	uint8_t *level;  /* [n_switches] from 1 */
	uint32_t *block; /* [n_switches] of a lower switch its union-find parent, of both the block in the end */
	uint32_t *up;    /* [n_switches] the block among those above: the lower role */
	uint32_t *down;  /* [n_switches] the upper role */
	uint32_t *count; /* [n_switches] */
	uint32_t *list;          /* [n_switches] */
	uint32_t n_levels;
};

static uint32_t hosts_of(const struct osr_fabric *f, uint32_t s)
{
	uint32_t n = 0;

	for (uint32_t t = f->term_row[s]; t < f->term_row[s + 1]; t++)
		n += f->term_role[t] != OSR_ROLE_SP0;
	return n;
}

static uint32_t cables_to_level(const struct wiring_tree *t, uint32_t s, uint32_t level)
{
	uint32_t n = 0;

	for (uint32_t e = t->g->row[s]; e < t->g->row[s + 1]; e++)
		n += t->level[t->g->near[e]] == level ? t->g->mult[e] : 0;
	return n < 255 ? n : 255;
}

/* The level above: switches with more than half of the cables to this one that those with any mostly have. */
static uint32_t next_level(struct wiring_tree *t)
{
	uint32_t histogram[256] = { 0 }, usual, n = t->g->f->n_switches, n_new = 0;

	for (uint32_t s = 0; s < n; s++) {
		t->list[s] = t->level[s] ? 0 : cables_to_level(t, s, t->n_levels);
		histogram[t->list[s]] += t->list[s] > 0;
	}
	usual = osr__wiring_mode(histogram);
	for (uint32_t s = 0; s < n; s++)
		if (2 * t->list[s] > usual) {
			t->level[s] = (uint8_t)(t->n_levels + 1);
			n_new++;
		}
	return n_new;
}

/* Leaves have a quarter of the hosts that any switch has at most. */
static bool find_levels(struct wiring_tree *t)
{
	const struct osr_fabric *f = t->g->f;
	uint32_t most = 0, n_left = f->n_switches, n_new = 0;

	for (uint32_t s = 0; s < f->n_switches; s++)
		most = hosts_of(f, s) > most ? hosts_of(f, s) : most;
	for (uint32_t s = 0; s < f->n_switches && most; s++) {
		t->level[s] = 4 * hosts_of(f, s) >= most;
		n_new += t->level[s];
	}
	for (t->n_levels = 1; n_new && (n_left -= n_new) && t->n_levels < OSR_PGFT_MAX_LEVELS; t->n_levels++)
		n_new = next_level(t);
	return n_left == 0 && t->n_levels > 1;
}

static uint32_t find_root(uint32_t *parent, uint32_t v)
{
	while (parent[v] != v)
		v = parent[v] = parent[parent[v]];
	return v;
}

static uint32_t n_at_level(const struct wiring_tree *t, uint32_t v, uint32_t level)
{
	uint32_t n = 0;

	for (uint32_t e = t->g->row[v]; e < t->g->row[v + 1]; e++)
		n += t->level[t->g->near[e]] == level;
	return n;
}

/* Joins the switches of level l that share more than half of their parents. */
static void join_lower(struct wiring_tree *t, uint32_t l)
{
	const struct wiring_graph *g = t->g;

	for (uint32_t u = 0; u < g->f->n_switches; u++) {
		uint32_t n = 0, degree = n_at_level(t, u, l + 1);

		if (t->level[u] != l)
			continue;
		for (uint32_t e = g->row[u]; e < g->row[u + 1]; e++) {
			uint32_t w = g->near[e];

			if (t->level[w] != l + 1)
				continue;
			for (uint32_t x = g->row[w]; x < g->row[w + 1]; x++) {
				uint32_t v = g->near[x];

				if (t->level[v] != l || v <= u)
					continue;
				if (!t->count[v]++)
					t->list[n++] = v;
			}
		}
		for (uint32_t i = 0; i < n; i++) {
			uint32_t v = t->list[i], shared = t->count[v];

			t->count[v] = 0;
			if (find_root(t->block, u) != find_root(t->block, v) && 2 * shared > degree &&
			    2 * shared > n_at_level(t, v, l + 1))
				t->block[find_root(t->block, v)] = find_root(t->block, u);
		}
	}
}

/* The block that most neighbours of v on this level are of; its own if that is as good. */
static uint32_t majority(struct wiring_tree *t, uint32_t v, uint32_t level, const uint32_t *of, uint32_t own)
{
	const struct wiring_graph *g = t->g;
	uint32_t best = own, most = 0;

	for (uint32_t e = g->row[v]; e < g->row[v + 1]; e++)
		if (t->level[g->near[e]] == level && of[g->near[e]] != OSR_NONE)
			t->count[of[g->near[e]]]++;
	if (own != OSR_NONE)
		most = t->count[own];
	for (uint32_t e = g->row[v]; e < g->row[v + 1]; e++) {
		uint32_t b = t->level[g->near[e]] == level ? of[g->near[e]] : OSR_NONE;

		if (b != OSR_NONE && t->count[b] > most) {
			best = b;
			most = t->count[b];
		}
	}
	for (uint32_t e = g->row[v]; e < g->row[v + 1]; e++)
		if (t->level[g->near[e]] == level && of[g->near[e]] != OSR_NONE)
			t->count[of[g->near[e]]] = 0;
	return best;
}

/* up[] of level l and down[] of level l + 1. */
static void find_blocks(struct wiring_tree *t, uint32_t l)
{
	uint32_t n = t->g->f->n_switches;

	for (uint32_t v = 0; v < n; v++)
		t->block[v] = v;
	join_lower(t, l);
	for (uint32_t v = 0; v < n; v++)
		if (t->level[v] == l)
			t->up[v] = find_root(t->block, v);
	for (unsigned round = 0; round < 2; round++) {
		for (uint32_t v = 0; v < n; v++)
			if (t->level[v] == l + 1)
				t->down[v] = majority(t, v, l, t->up, OSR_NONE);
		for (uint32_t v = 0; v < n; v++)
			if (t->level[v] == l)
				t->up[v] = majority(t, v, l + 1, t->down, t->up[v]);
	}
}

/* Cables that a pair of one block has, mostly. */
static uint32_t usual_cables(const struct wiring_tree *t, uint32_t l)
{
	const struct wiring_graph *g = t->g;
	uint32_t histogram[256] = { 0 };

	for (uint32_t u = 0; u < g->f->n_switches; u++)
		for (uint32_t e = g->row[u]; e < g->row[u + 1] && t->level[u] == l; e++)
			if (t->level[g->near[e]] == l + 1 && t->down[g->near[e]] == t->up[u] && g->mult[e] < 256)
				histogram[g->mult[e]]++;
	return osr__wiring_mode(histogram);
}

/* Every lower switch of a block wants p cables to every upper one, and none elsewhere. */
static void compare_level(struct wiring_tree *t, uint32_t l, struct wiring_diff *d)
{
	const struct wiring_graph *g = t->g;
	uint32_t n = g->f->n_switches, p = usual_cables(t, l), n_upper = 0;

	for (uint32_t w = 0; w < n; w++)
		if (t->level[w] == l + 1)
			t->list[n_upper++] = w;
	for (uint32_t u = 0; u < n && !d->full; u++) {
		if (t->level[u] != l)
			continue;
		for (uint32_t i = 0; i < n_upper; i++) {
			uint32_t w = t->list[i], has, want = t->down[w] == t->up[u] ? p : 0;

			if (!want)
				continue;
			has = wiring_mult(g, u, w);
			if (has < want)
				wiring_lacks(d, u, w, want - has);
			else
				wiring_too_many(d, u, w, has - want);
		}
		for (uint32_t e = g->row[u]; e < g->row[u + 1]; e++)
			if (t->level[g->near[e]] == l + 1 && t->down[g->near[e]] != t->up[u])
				wiring_too_many(d, u, g->near[e], g->mult[e]);
	}
}

/* Cables within a level, or past one. */
static void compare_rest(const struct wiring_tree *t, struct wiring_diff *d)
{
	const struct wiring_graph *g = t->g;

	for (uint32_t u = 0; u < g->f->n_switches; u++)
		for (uint32_t e = g->row[u]; e < g->row[u + 1]; e++) {
			uint32_t w = g->near[e];

			if (u < w && t->level[u] + 1 != t->level[w] && t->level[w] + 1 != t->level[u])
				wiring_too_many(d, u, w, g->mult[e]);
		}
}

enum osr_status osr__wiring_tree(const struct wiring_graph *g, struct osr_arena *scratch,
				 struct wiring_diff *d, char plan[160], struct osr_diag *diag)
{
	size_t n = g->f->n_switches, used;
	struct wiring_tree t = { .g = g };
	uint32_t per_level[OSR_PGFT_MAX_LEVELS + 2] = { 0 };

	t.level = osr_calloc(scratch, n, sizeof(*t.level));
	t.block = osr_alloc(scratch, n, sizeof(*t.block));
	t.up = osr_alloc(scratch, n, sizeof(*t.up));
	t.down = osr_alloc(scratch, n, sizeof(*t.down));
	t.count = osr_calloc(scratch, n, sizeof(*t.count));
	t.list = osr_alloc(scratch, n, sizeof(*t.list));
	if (!t.level || !t.block || !t.up || !t.down || !t.count || !t.list)
		return osr_fail(diag, OSR_NOMEM, "out of memory for %zu switches", n);
	memset(t.up, 0xff, n * sizeof(*t.up));
	memset(t.down, 0xff, n * sizeof(*t.down));
	if (!find_levels(&t))
		return osr_fail(diag, OSR_NOT_APPLICABLE, "no fat tree: switches do not form levels above the hosts");
	compare_rest(&t, d);
	for (uint32_t l = 1; l < t.n_levels && !d->full; l++) {
		find_blocks(&t, l);
		compare_level(&t, l, d);
	}
	for (uint32_t s = 0; s < n; s++)
		per_level[t.level[s]]++;
	used = (size_t)snprintf(plan, 160, "fat tree of %u levels, from the leaves:", t.n_levels);
	for (uint32_t l = 1; l <= t.n_levels && used < 160; l++)
		used += (size_t)snprintf(plan + used, 160 - used, "%s %u", l == 1 ? "" : ",", per_level[l]);
	if (used < 160)
		snprintf(plan + used, 160 - used, " switches");
	return OSR_OK;
}

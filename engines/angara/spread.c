/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * A spanning tree for multicast. In a whole grid it leads inwards, last dimension first, which fits
 * the order of lane 0 (order.h). Otherwise that is where the search begins: the tree grows link by
 * link, and a link joins if the dependencies with the links that are there close no cycle. From the
 * outside in:
 *	angara__trees_multicast()	several roots, until a tree holds all switches
 *	spread_grow()				as preferred where possible, else by any link
 *	spread_join()				one link
 */
#include "trees.h"

#include <string.h>

#define MAX_ROOTS 24 /* trees tried */

/* Along a row to its middle, without crossing its ends; the last dimension goes first. */
static uint8_t dir_inwards(const struct trees *t, uint32_t v, const uint16_t *middle)
{
	const struct plan *p = t->p;
	const uint16_t *x = osr_grid_coord(p->g, v);

	for (uint32_t k = p->n_dims; k-- > 0;) {
		uint32_t i = p->order[k];

		if (x[i] != middle[i])
			return (uint8_t)(2 * i + (x[i] < middle[i] ? UP : DOWN));
	}
	return NO_WAY;
}

/* The switch closest to the middle, rows seen as lines. */
static uint32_t spread_root_of(const struct trees *t, const uint16_t *middle)
{
	const struct osr_grid *grid = t->p->g;
	uint32_t root = 0, best = UINT32_MAX;

	for (uint32_t v = 0; v < grid->f->n_switches; v++) {
		uint32_t out = 0;

		for (uint32_t i = 0; i < t->p->n_dims; i++) {
			uint32_t a = osr_grid_coord(grid, v)[i];

			out += a < middle[i] ? middle[i] - a : a - middle[i];
		}
		if (out < best) {
			best = out;
			root = v;
		}
	}
	return root;
}

static uint32_t inward_tree(const struct trees *t, const uint16_t *middle, uint8_t *up)
{
	const struct osr_grid *grid = t->p->g;
	uint32_t root = spread_root_of(t, middle);

	for (uint32_t v = 0; v < grid->f->n_switches; v++) {
		up[v] = v == root ? NO_WAY : dir_inwards(t, v, middle);
		if (up[v] != NO_WAY && osr_grid_near(grid, v, up[v]) == OSR_NONE)
			up[v] = NO_WAY;
	}
	return root;
}

/* The link of v by dir, both ways together with the links of the switch that it leads to. */
static bool spread_join(struct trees *t, uint8_t *up, uint32_t v, uint32_t dir, uint32_t lane)
{
	const struct osr_grid *grid = t->p->g;
	uint32_t u = osr_grid_near(grid, v, dir), mark = t->n_fresh;

	for (uint32_t b = 0; b < 2 * t->p->n_dims; b++) {
		uint32_t w = osr_grid_near(grid, u, b);

		/* hops[]: who belongs to the tree. */
		if (w == OSR_NONE || w == v || t->hops[w] == OSR_NONE ||
		    (up[u] != b && up[w] != (b ^ 1)))
			continue;
		if (lane != NO_LANE && (!angara__add(t, v, dir, lane, b, lane) ||
					!angara__add(t, w, b ^ 1, lane, dir ^ 1, lane))) {
			angara__take_back(t, mark);
			return false;
		}
	}
	up[v] = (uint8_t)dir;
	t->hops[v] = t->hops[u] + 1;
	return true;
}

/* Does v join by its preferred link, or (any) by the first one that fits? */
static bool spread_attach(struct trees *t, uint8_t *up, uint32_t v, bool any, uint32_t lane)
{
	for (uint32_t dir = 2 * t->p->n_dims; dir-- > 0;) {
		uint32_t u = osr_grid_near(t->p->g, v, dir);

		if (u == OSR_NONE || t->hops[u] == OSR_NONE || (!any && up[v] != dir))
			continue;
		if (spread_join(t, up, v, dir, lane))
			return true;
	}
	return false;
}

/* up[] holds what is preferred, and receives the tree. False if some switch cannot join. */
static bool spread_grow(struct trees *t, uint8_t *up, uint32_t root, uint32_t lane)
{
	uint32_t n_switches = t->p->g->f->n_switches, left = n_switches - 1;
	bool any = false, grown = false;

	t->n_fresh = 0;
	memset(t->hops, 0xff, n_switches * sizeof(*t->hops));
	t->hops[root] = 0;
	for (; left; any = !grown, grown = false) {
		for (uint32_t v = 0; v < n_switches; v++)
			if (t->hops[v] == OSR_NONE && !(any && grown) &&
			    spread_attach(t, up, v, any, lane)) {
				grown = true;
				left--;
			}
		if (any && !grown) {
			angara__take_back(t, 0);
			return false;
		}
	}
	return true;
}

/* The k-th try: inwards to the middle first, then to other places. */
static uint32_t prefer(struct trees *t, uint32_t k, uint8_t *up)
{
	const struct osr_grid_shape *grid_shape = &t->p->g->shape;
	uint16_t middle[MAX_DIMS];

	for (uint32_t i = 0; i < grid_shape->n_dims; i++) {
		uint32_t move = k ? (k * (i + 1) + i) % grid_shape->size[i] : 0;

		middle[i] = (uint16_t)((grid_shape->size[i] / 2 + move) % grid_shape->size[i]);
		/* To the corner: first down, then up, as those who go down, or up, in all. */
		if (t->p->free && !k)
			middle[i] = 0;
	}
	return inward_tree(t, middle, up);
}

static bool spread_has(const struct trees *t, const uint8_t *up, uint32_t u, uint32_t dir)
{
	uint32_t w = osr_grid_near(t->p->g, u, dir);

	return w != OSR_NONE && (up[u] == dir || up[w] == (dir ^ 1));
}

bool angara__trees_keep_multicast(struct trees *t, uint32_t lane, const uint8_t *up)
{
	uint32_t n_dirs = 2 * t->p->n_dims;

	t->n_fresh = 0;
	for (uint32_t u = 0; u < t->p->g->f->n_switches; u++)
		for (uint32_t a = 0; a < n_dirs; a++)
			for (uint32_t b = 0; b < n_dirs && spread_has(t, up, u, a); b++)
				if (a != b && spread_has(t, up, u, b) &&
				    !angara__add(t, osr_grid_near(t->p->g, u, a), a ^ 1, lane, b,
						 lane))
					return false;
	return true;
}

bool angara__trees_multicast(struct trees *t, uint32_t lane, uint8_t *up)
{
	if (!t->o->used) {
		prefer(t, 0, up);
		return true;
	}
	for (uint32_t k = 0; k < MAX_ROOTS; k++)
		if (spread_grow(t, up, prefer(t, k, up), lane))
			return true;
	return false;
}

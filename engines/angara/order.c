/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "order.h"

#include <stdlib.h>

/* ---- the order of a grid --------------------------------------------------------------------- */

/*
 * Keys are numbers of mixed radix, one digit for each dimension, the last one to have its turn
 * highest. A digit holds, one after the other: planes and the channels that lead to the next plane
 * inwards; channels outwards; lane 1; rows that are interrupted at an unusual place.
 */
struct digit {
	uint32_t size, middle, depth;
	uint64_t worth;
};

static void make_digits(const struct plan *p, struct digit *digit)
{
	uint64_t worth = 1;

	for (uint32_t k = 0; k < p->n_dims; k++) {
		uint32_t n = p->g->shape.size[p->order[k]];

		digit[k] = (struct digit){ n, n / 2, n / 2, worth };
		worth *= 4 * n + 4;
	}
}

static uint32_t order_distance(uint32_t a, uint32_t b)
{
	return a < b ? b - a : a - b;
}

static uint32_t plane_digit(const struct digit *d, uint32_t a)
{
	return 2 * (d->depth - order_distance(a, d->middle));
}

static uint32_t own_digit(const struct plan *p, const struct digit *d, uint32_t i, uint32_t a,
			  uint32_t way, uint32_t lane, uint16_t gap)
{
	uint32_t n = d->size, out = 2 * d->depth + 2;
	uint32_t b = way == UP ? (a + 1) % n : (a + n - 1) % n;

	if (gap != WHOLE && gap != n - 1)
		return out + 2 * n + 2 + (way == UP ? (a + n - gap - 1) % n : (gap + n - a) % n);
	if (angara__crosses(p, i, lane) && gap == WHOLE)
		return out + n + 1 + (way == UP ? (a + n - n / 2) % n : (n / 2 - 1 + n - a) % n);
	/* Across the dateline of a whole ring of 3: its only channels that do not go in or out. */
	if (order_distance(a, b) > 1)
		return out + n;
	return order_distance(b, d->middle) < order_distance(a, d->middle)
		       ? plane_digit(d, a) + 1
		       : out + order_distance(a, d->middle);
}

static uint64_t order_key_of(const struct plan *p, const struct digit *digit, const uint16_t *gap,
			     uint32_t v, uint32_t dir, uint32_t lane)
{
	const uint16_t *x = osr_grid_coord(p->g, v);
	uint32_t i = dir / 2, k = p->turn[i];
	uint64_t key = digit[k].worth * own_digit(p, &digit[k], i, x[i], dir % 2, lane,
						  gap[(size_t)v * p->n_dims + i]);

	for (uint32_t j = k + 1; j < p->n_dims; j++)
		key += digit[j].worth * plane_digit(&digit[j], x[p->order[j]]);
	return key;
}

struct entry {
	uint64_t key;
	uint32_t node;
};

static int order_by_key(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;

	if (x->key != y->key)
		return x->key < y->key ? -1 : 1;
	return x->node < y->node ? -1 : x->node > y->node;
}

enum osr_status angara__order(struct order *o, const struct plan *p, const uint16_t *gap,
			      uint32_t n_lanes, struct osr_arena *scratch, struct osr_diag *diag)
{
	uint32_t n_switches = p->g->f->n_switches, n_dirs = 2 * p->n_dims;
	struct digit digit[MAX_DIMS];
	struct entry *e;

	*o = (struct order){ .p = p, .n_lanes = n_lanes, .top.n = n_lanes * n_switches * n_dirs };
	o->top.rank = osr_alloc(scratch, o->top.n, sizeof(*o->top.rank));
	e = osr_alloc(scratch, o->top.n, sizeof(*e));
	if (osr_arena_failed(scratch, diag))
		return OSR_NOMEM;
	make_digits(p, digit);
	for (uint32_t lane = 0; lane < n_lanes; lane++)
		for (uint32_t v = 0; v < n_switches; v++)
			for (uint32_t dir = 0; dir < n_dirs; dir++) {
				uint32_t node = angara__node(o, lane, v, dir);

				e[node].node = node;
				e[node].key = osr_grid_near(p->g, v, dir) == OSR_NONE
						      ? 0
						      : order_key_of(p, digit, gap, v, dir, lane);
			}
	qsort(e, o->top.n, sizeof(*e), order_by_key);
	for (uint32_t k = 0; k < o->top.n; k++)
		o->top.rank[e[k].node] = k;
	return OSR_OK;
}

/* ---- dependencies one by one ----------------------------------------------------------------- */

/* What packets on `node` may wait for next, and what may wait for it. */
static uint32_t order_edges(const void *graph, uint32_t node, bool down, uint32_t *out)
{
	const struct order *o = graph;
	const struct osr_grid *grid = o->p->g;
	uint32_t n_switches = grid->f->n_switches, n_dirs = 2 * o->p->n_dims, n = 0;
	uint32_t dir = node % n_dirs, v = node / n_dirs % n_switches,
		 lane = node / n_dirs / n_switches;

	for (uint32_t k = 0; k < n_dirs; k++) {
		/* Either v's channel and the ones behind it, or those that lead to v. */
		uint32_t from = down ? osr_grid_near(grid, v, k ^ 1) : v;
		uint32_t first = down ? k : dir, second = down ? dir : k;
		uint16_t used;

		if (from == OSR_NONE)
			continue;
		used = *angara__used(o, from, first, second);
		for (uint32_t other = 0; other < o->n_lanes && used; other++) {
			uint32_t a = down ? other : lane, b = down ? lane : other;

			if (a / 2 == b / 2 && used >> angara__bit(a, b) & 1)
				out[n++] = down ? angara__node(o, other, from, k)
						: angara__node(o, other,
							       osr_grid_near(grid, v, dir), k);
		}
	}
	return n;
}

enum osr_status angara__order_watch(struct order *o, struct osr_arena *scratch,
				    struct osr_diag *diag)
{
	size_t n_dirs = 2 * o->p->n_dims;

	o->top.work = 0;
	o->top.graph = o;
	o->top.edges = order_edges;
	o->top.max_degree = 2 * (uint32_t)n_dirs; /* see angara__bit() */
	o->used = osr_calloc(scratch, o->p->g->f->n_switches * n_dirs * n_dirs, sizeof(*o->used));
	if (osr_arena_failed(scratch, diag))
		return OSR_NOMEM;
	return osr_toporder_init(&o->top, scratch, diag);
}

bool angara__order_add(struct order *o, uint32_t v, uint32_t dir, uint32_t lane, uint32_t next,
		       uint32_t next_lane, bool *fresh)
{
	uint16_t *used = angara__used(o, v, dir, next),
		 bit = (uint16_t)(1u << angara__bit(lane, next_lane));
	uint32_t from = angara__node(o, lane, v, dir);
	uint32_t to = angara__node(o, next_lane, osr_grid_near(o->p->g, v, dir), next);

	*fresh = !(*used & bit);
	if (!*fresh)
		return true;
	if (o->top.rank[from] >= o->top.rank[to] && o->top.work > ANGARA_MAX_WORK)
		return false;
	if (!osr_toporder_rise(&o->top, from, to))
		return false;
	*used |= bit;
	return true;
}

void angara__order_drop(struct order *o, uint32_t v, uint32_t dir, uint32_t lane, uint32_t next,
			uint32_t next_lane)
{
	*angara__used(o, v, dir, next) &= (uint16_t) ~(1u << angara__bit(lane, next_lane));
}

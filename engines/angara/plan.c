/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "plan.h"

#include <string.h>

#define N_SLS 16

/* ---- the order of dimensions ----------------------------------------------------------------- */

/*
 * Rings first, so that lines behind them help to decide; of the rings those first that need such
 * help most.
 */
static uint32_t need(const struct osr_grid_shape *grid_shape, uint32_t i)
{
	uint32_t n = grid_shape->size[i];

	if (!grid_shape->ring[i])
		return 0;
	if (n % 2)
		return 1;
	return n <= 8 ? 3 : 2;
}

static void choose_order(struct plan *p)
{
	const struct osr_grid_shape *grid_shape = &p->g->shape;

	for (uint32_t i = 0; i < grid_shape->n_dims; i++) {
		p->turn[i] = 0;
		for (uint32_t j = 0; j < grid_shape->n_dims; j++)
			p->turn[i] += need(grid_shape, j) > need(grid_shape, i) ||
				      (need(grid_shape, j) == need(grid_shape, i) && j < i);
		p->order[p->turn[i]] = (uint8_t)i;
	}
}

/* ---- states ---------------------------------------------------------------------------------- */

/* States of its own for the last dimension: 2 + k for its opposite pairs 2k and 2k + 1. */
static void choose_pairs(struct plan *p)
{
	uint32_t last = p->order[p->n_dims - 1], n = p->g->shape.size[last];
	uint32_t n_states = 2 + (n + 3) / 4, n_sls = p->n_sls / 2u * n_states;

	if (!p->g->shape.ring[last] || n % 2 || n < 6 || n_sls > N_SLS)
		return;
	p->n_states[last] = (uint8_t)n_states;
	p->n_sls = (uint8_t)n_sls;
	p->n_variants = n % 4 ? 2 : 1;
}

/* The pair a, a + n/2 of a state that goes this way; the one that is left over goes both ways. */
static uint32_t plan_pair_of(uint32_t n, uint32_t state, uint32_t way)
{
	uint32_t low = 2 * (state - 2) + way;

	return low < n / 2 ? low : n / 2 - 1;
}

static void choose_states(struct plan *p)
{
	const struct osr_grid_shape *grid_shape = &p->g->shape;
	uint32_t weight = 1;

	p->n_sls = (uint8_t)(1u << p->n_rings);
	for (uint32_t i = 0; i < grid_shape->n_dims; i++) {
		bool ring = grid_shape->ring[i] && grid_shape->size[i] >= 5;

		p->n_states[i] = ring ? 2 : 1;
	}
	choose_pairs(p);
	/* In the order of the frame, not of the turns: what one is used to see stays. */
	for (uint32_t i = 0; i < grid_shape->n_dims; i++) {
		p->weight[i] = p->n_states[i] > 1 ? (uint8_t)weight : 0;
		weight *= p->n_states[i];
	}
}

/* ---- lanes ----------------------------------------------------------------------------------- */

/* Lane of a state where packets pass link a - a + 1 of the ring. */
static uint32_t lane(const struct plan *p, uint32_t i, uint32_t state, uint32_t way, uint32_t a)
{
	uint32_t first;

	if (state < 2)
		return state;
	/* Of the two routes of a pair, the one that does not cross the dateline is on lane 0. */
	first = plan_pair_of(p->g->shape.size[i], state, way);
	return a < first || a >= first + p->g->shape.size[i] / 2u;
}

static void fill_lanes(struct plan *p)
{
	const struct osr_grid_shape *grid_shape = &p->g->shape;
	uint32_t row = 0;

	for (uint32_t i = 0; i < grid_shape->n_dims; i++) {
		p->lane_row[i] = row;
		row += grid_shape->size[i];
		for (uint32_t a = 0; a < grid_shape->size[i]; a++)
			for (uint32_t way = UP; way <= DOWN; way++) {
				uint32_t link = way == UP ? a
							  : (a + grid_shape->size[i] - 1u) %
								    grid_shape->size[i];
				uint16_t *mask = &p->lane1[2 * (p->lane_row[i] + a) + way];

				*mask = 0;
				for (uint32_t sl = 0; sl < N_SLS && p->weight[i]; sl++)
					*mask |= (uint16_t)(lane(p, i,
								 sl / p->weight[i] % p->n_states[i],
								 way, link)
							    << sl);
				/* A service level besides, for pairs that find no way on their own after a failure. */
				if (p->n_sls < N_SLS)
					*mask |= (uint16_t)(1u << p->n_sls);
			}
	}
}

uint32_t angara__plan_size(const struct osr_grid *grid)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < grid->shape.n_dims; i++)
		n += grid->shape.size[i];
	return 2 * n;
}

bool angara__plan(struct plan *p, const struct osr_grid *grid, uint16_t *lane1)
{
	*p = (struct plan){
		.g = grid, .n_dims = grid->shape.n_dims, .n_variants = 1, .lane1 = lane1
	};
	for (uint32_t i = 0; i < p->n_dims; i++)
		p->n_rings += grid->shape.ring[i] && grid->shape.size[i] >= 5;
	if (p->n_rings > 4)
		return false;
	choose_order(p);
	choose_states(p);
	fill_lanes(p);
	return true;
}

/* ---- ways ------------------------------------------------------------------------------------ */

/* Seen alike from both ends, and while dimension i has its turn. */
static uint32_t parity(const struct plan *p, uint32_t i, const uint16_t *from, const uint16_t *to)
{
	uint32_t sum = 0;

	for (uint32_t k = p->turn[i] + 1u; k < p->n_dims; k++)
		sum += from[p->order[k]] + to[p->order[k]];
	return sum % 2;
}

/* From a to the opposite place of the ring. */
static uint32_t way_across(const struct plan *p, uint32_t i, const uint16_t *from,
			   const uint16_t *to, uint32_t variant)
{
	uint32_t half = p->g->shape.size[i] / 2u, low = from[i] % half;

	if (p->n_states[i] > 2 && half % 2 && low == half - 1)
		return variant < 2 ? variant : from[i] == low;
	if (p->n_states[i] > 2)
		return low % 2;
	return (low + parity(p, i, from, to) + (from[i] >= half)) % 2;
}

uint32_t angara__way(const struct plan *p, uint32_t i, const uint16_t *from, const uint16_t *to,
		     uint32_t variant)
{
	uint32_t n = p->g->shape.size[i], up = (to[i] + n - from[i]) % n;

	if (2 * up == n)
		return way_across(p, i, from, to, variant);
	return 2 * up < n ? UP : DOWN;
}

static bool all_sixes(const struct plan *p)
{
	for (uint32_t i = 0; i < p->n_dims; i++)
		if (p->g->shape.size[i] != 6)
			return false;
	return true;
}

/* a is the neighbour of b in a ring of 6 that lies upwards (downwards), or either. */
static bool beside(uint32_t a, uint32_t b, bool up, bool down)
{
	return (up && a == (b + 1) % 6) || (down && b == (a + 1) % 6);
}

/*
 * Outwards, all of an opposite plane would come to the LID by the same three links. Routes that come
 * through a corner next to its column turn off there, to the plane next to it; they load as few
 * links of other dimensions as possible, since only their last hop in each of these moves with them.
 * With one other dimension there is no corner: then on the side from which 2 of 6 come, not 3.
 */
bool angara__early(const struct plan *p, const uint16_t *from, const uint16_t *to, uint32_t variant,
		   uint32_t *way)
{
	uint32_t last = p->order[p->n_dims - 1], n_beside = 0;

	if (variant != 2 || p->n_dims < 2 || to[last] % 3 != 2 ||
	    from[last] != (to[last] + 3) % 6 || !all_sixes(p))
		return false;
	for (uint32_t k = 0; k + 1 < p->n_dims; k++) {
		uint32_t i = p->order[k], odd = to[i] % 2;

		n_beside += p->n_dims == 2 ? beside(from[i], to[i], !odd, odd)
					   : beside(from[i], to[i], true, true);
	}
	*way = from[last] == 2 ? UP : DOWN;
	return n_beside == p->n_dims - 1;
}

static uint32_t state(const struct plan *p, uint32_t i, const uint16_t *from, const uint16_t *to)
{
	uint32_t n = p->g->shape.size[i], a = from[i], b = to[i], low = a % (n / 2u);

	if (a == b)
		return 0;
	if (p->n_states[i] > 2 && (a > b ? a - b : b - a) * 2 == n)
		return 2 + low / 2;
	return angara__way(p, i, from, to, 0) == UP ? a > b : a < b;
}

uint8_t angara__sl(const struct plan *p, const uint16_t *from, const uint16_t *to)
{
	uint32_t sl = 0;

	for (uint32_t i = 0; i < p->n_dims; i++)
		if (p->weight[i])
			sl += p->weight[i] * state(p, i, from, to);
	return (uint8_t)sl;
}

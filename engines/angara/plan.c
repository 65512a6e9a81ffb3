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
	p->lane1_sl = p->lane2_sl = N_SLS;
	p->n_all_sls = p->n_sls;
	return true;
}

void angara__plan_aside(struct plan *p, uint32_t n_lanes)
{
	if (n_lanes > 1 && p->n_all_sls < N_SLS)
		p->lane1_sl = p->n_all_sls++;
	if (n_lanes > 2 && p->n_all_sls < N_SLS)
		p->lane2_sl = p->n_all_sls++;
	for (uint32_t k = 0; k < angara__plan_size(p->g) && p->lane1_sl < N_SLS; k++)
		p->lane1[k] |= (uint16_t)(1u << p->lane1_sl);
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

static bool is_opposite(const struct plan *p, uint32_t i, const uint16_t *from, const uint16_t *to)
{
	uint32_t n = p->g->shape.size[i];

	return p->g->shape.ring[i] && (from[i] + n - to[i]) % n * 2 == n;
}

/* The parity of the other free dimensions, as it will be when those with an earlier turn have hopped. */
static uint32_t free_way_across(const struct plan *p, uint32_t i, const uint16_t *from,
				const uint16_t *to)
{
	uint32_t half = p->g->shape.size[i] / 2u, sum = from[i] % half + (from[i] >= half);

	for (uint32_t k = 0; k < p->n_dims; k++) {
		uint32_t j = p->order[k];
		bool before = k < p->turn[i];

		if (p->free >> i & 1 && p->free >> j & 1 && j != i)
			sum += from[j] + to[j] + (before && is_opposite(p, j, from, to));
		else if (!(p->free >> i & 1) && k > p->turn[i])
			sum += from[j] + to[j];
	}
	return sum % 2;
}

uint32_t angara__way(const struct plan *p, uint32_t i, const uint16_t *from, const uint16_t *to,
		     uint32_t variant)
{
	uint32_t n = p->g->shape.size[i], up = (to[i] + n - from[i]) % n;

	if (2 * up == n && p->free)
		return free_way_across(p, i, from, to);
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

static uint32_t way_of(const struct plan *p, uint32_t i, const uint16_t *from, const uint16_t *to)
{
	return p->g->shape.ring[i] ? angara__way(p, i, from, to, 0) : from[i] > to[i];
}

/* The ways in the free dimensions, but for the first one: the same, or the opposite one. */
static uint32_t angara_class(const struct plan *p, const uint16_t *from, const uint16_t *to)
{
	uint32_t class = 0, first = 0, bit = 0;
	bool any = false;

	for (uint32_t k = 0; k < p->n_dims; k++) {
		uint32_t i = p->order[k], way;

		if (!(p->signs >> i & 1))
			continue;
		way = from[i] == to[i] ? first : way_of(p, i, from, to);
		if (from[i] != to[i] && !any) {
			any = true;
			first = way;
		}
		/* Dimensions in front of the first one that differs go with it. */
		class |= (uint32_t)(any && way != first) << bit++;
	}
	return class >> 1;
}

static uint8_t free_sl(const struct plan *p, const uint16_t *from, const uint16_t *to)
{
	uint32_t crossed = 0;

	for (uint32_t i = 0; i < p->n_dims; i++)
		if (p->weight[i] && from[i] != to[i])
			crossed += p->weight[i] * (angara__way(p, i, from, to, 0) == UP
							   ? from[i] > to[i]
							   : from[i] < to[i]);
	return (uint8_t)(angara_class(p, from, to) * p->n_crossed + crossed);
}

uint8_t angara__sl(const struct plan *p, const uint16_t *from, const uint16_t *to)
{
	uint32_t sl = 0;

	if (p->free)
		return free_sl(p, from, to);
	for (uint32_t i = 0; i < p->n_dims; i++)
		if (p->weight[i])
			sl += p->weight[i] * state(p, i, from, to);
	return (uint8_t)sl;
}

/* ---- free dimensions ------------------------------------------------------------------------- */

bool angara__plan_free(struct plan *p, uint32_t max_lanes, uint32_t max_signs)
{
	uint32_t n_crossed = 1u << p->n_rings, n_apart = 1, classes = 1, free = 0, signs = 0,
		 weight = 1;

	max_lanes = max_lanes < ANGARA_LANES ? max_lanes : ANGARA_LANES;
	for (uint32_t k = 0; k < max_signs && (k < 2 || 2 * classes * n_crossed <= N_SLS); k++) {
		signs |= 1u << p->order[k];
		classes = 1u << k;
	}
	for (uint32_t k = 0; k < p->n_dims; k++) {
		uint32_t i = p->order[k];

		/* A ring that comes in order shares the lane bit of another one. */
		if (p->weight[i] && n_apart > 1 && 2 * n_apart * classes > max_lanes)
			continue;
		n_apart *= p->weight[i] ? 2 : 1;
		free |= 1u << i;
	}
	if (p->n_dims < 2 || classes * n_crossed > N_SLS || 2 * n_apart > max_lanes)
		return false;
	p->signs = signs;
	p->free = free;
	p->n_apart = (uint8_t)n_apart;
	p->n_crossed = (uint8_t)n_crossed;
	p->n_class_lanes = 1;
	while (p->n_class_lanes < classes && 2 * p->n_class_lanes * n_apart <= max_lanes)
		p->n_class_lanes *= 2;
	p->n_lanes = (uint8_t)(n_apart * p->n_class_lanes);
	p->n_sls = (uint8_t)(n_crossed * classes);
	p->n_variants = 1;
	for (uint32_t pass = 0; pass < 2; pass++)
		for (uint32_t i = 0; i < p->n_dims; i++)
			if (p->weight[i] && (free >> i & 1) == !pass) {
				p->n_states[i] = 2;
				p->weight[i] = (uint8_t)weight;
				weight *= 2;
			}
	p->lane1_sl = p->lane2_sl = N_SLS;
	p->n_all_sls = p->n_sls;
	return true;
}

/* Of a class; classes that share a lane differ in two directions. */
static uint32_t fold(const struct plan *p, uint32_t class)
{
	uint32_t lane = class % p->n_class_lanes;

	class /= p->n_class_lanes;
	for (uint32_t column = 3; class; class /= 2, column += 2)
		lane ^= class % 2 * column;
	return lane % p->n_class_lanes;
}

uint32_t angara__free_lane(const struct plan *p, uint32_t i, uint32_t sl)
{
	uint32_t crossed = sl % p->n_crossed;
	uint32_t lane = fold(p, sl % p->n_sls / p->n_crossed) * p->n_apart + crossed % p->n_apart;

	if (p->free >> i & 1 || !p->weight[i])
		return lane;
	return (lane & ~1u) | (crossed / p->weight[i] & 1);
}

bool angara__crosses(const struct plan *p, uint32_t i, uint32_t lane)
{
	if (!p->free)
		return lane == 1 && p->weight[i];
	if (!p->weight[i])
		return false;
	return p->free >> i & 1 ? lane % p->n_apart / p->weight[i] & 1 : lane & 1;
}

uint32_t angara__ways(const struct plan *p, const uint16_t *from, const uint16_t *to)
{
	uint32_t ways = 0;

	for (uint32_t k = 0; k < p->n_dims; k++) {
		uint32_t i = p->order[k];

		if (from[i] == to[i] || !(p->free >> i & 1))
			continue;
		if (is_opposite(p, i, from, to))
			return 1u << (2 * i + way_of(p, i, from, to));
		ways |= 1u << (2 * i + way_of(p, i, from, to));
	}
	for (uint32_t k = 0; k < p->n_dims && !ways; k++) {
		uint32_t i = p->order[k];

		if (from[i] != to[i])
			ways = 1u << (2 * i + way_of(p, i, from, to));
	}
	return ways;
}

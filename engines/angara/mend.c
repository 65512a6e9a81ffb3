/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Ways for those left over: see trees.h. From the outside in:
 *	angara__trees_mend()	every tree that is not whole
 *	mend_mend()			nearest first; who finds nothing on its own service level
 *	mend_aside()		takes another one, one switch at a time
 *	step_on()		a step in front of a way, on one service level, replies included
 *	angara__trees_settle()	who gives way to multicast
 *	angara__trees_replies()	are all replies legal? If not, both ways take another service level
 */
#include "trees.h"

#include <string.h>

/* ---- dependencies that can be taken back ----------------------------------------------------- */

static uint32_t mend_pack(uint32_t v, uint32_t dir, uint32_t lane, uint32_t next,
			  uint32_t next_lane)
{
	return (((v * 32 + dir) * 32 + next) * 8 + lane) * 8 + next_lane;
}

void angara__take_back(struct trees *t, uint32_t n)
{
	const uint32_t *fresh = t->fresh;

	for (; t->n_fresh > n; t->n_fresh--) {
		uint32_t x = fresh[t->n_fresh - 1];

		angara__order_drop(t->o, x / 65536, x / 2048 % 32, x / 8 % 8, x / 64 % 32, x % 8);
	}
}

bool angara__add(struct trees *t, uint32_t v, uint32_t dir, uint32_t lane, uint32_t next,
		 uint32_t next_lane)
{
	bool is_fresh;

	if (!angara__order_add(t->o, v, dir, lane, next, next_lane, &is_fresh))
		return false;
	if (is_fresh)
		t->fresh[t->n_fresh++] = mend_pack(v, dir, lane, next, next_lane);
	return true;
}

/* ---- one step -------------------------------------------------------------------------------- */

/* From v by dir, and on along the row: legal as a whole on this service level? */
static bool may_step(struct trees *t, uint32_t d, uint32_t v, uint32_t dir, uint32_t sl)
{
	const struct osr_grid *grid = t->p->g;
	const uint8_t *row = t->row + (size_t)d * grid->f->n_switches;
	uint32_t root = grid->f->dest_switch[d], mark = t->n_fresh;

	for (uint32_t u = osr_grid_near(grid, v, dir); u != root;
	     v = u, dir = row[v], u = osr_grid_near(grid, v, dir)) {
		uint32_t lane = angara__lane(t->p, v, dir, sl);
		uint32_t next_lane = angara__lane(t->p, u, row[u], sl);

		if (!angara__add(t, v, dir, lane, row[u], next_lane)) {
			angara__take_back(t, mark);
			return false;
		}
	}
	return true;
}

static bool may_walk(struct trees *t, uint32_t d, uint32_t v, uint32_t sl)
{
	return may_step(t, d, v, t->row[(size_t)d * t->p->g->f->n_switches + v], sl);
}

static uint8_t *mend_sl_of(const struct trees *t, uint32_t d, uint32_t v)
{
	return &t->sl[(size_t)d * t->p->g->f->n_switches + v];
}

/*
 * The way from v to d is on sl. Packets from there to v that have a way: are replies to them legal,
 * and those that they send? Nothing to ask if both are on one service level.
 */
static bool may_reply(struct trees *t, uint32_t d, uint32_t v, uint32_t sl)
{
	const struct osr_fabric *fabric = t->p->g->f;
	uint32_t root = fabric->dest_switch[d], mark = t->n_fresh;

	for (uint32_t k = t->dest_row[v]; k < t->dest_row[v + 1] && t->sl; k++) {
		uint32_t m = t->dest_list[k];

		if (t->model[m] != m || t->row[(size_t)m * fabric->n_switches + root] == NO_WAY ||
		    *mend_sl_of(t, m, root) == sl)
			continue;
		if (!may_walk(t, m, root, sl) || !may_walk(t, d, v, *mend_sl_of(t, m, root))) {
			angara__take_back(t, mark);
			return false;
		}
	}
	return true;
}

/* One hop further than so many, if some neighbour at that distance can be stepped to. */
static bool step_on(struct trees *t, uint32_t d, uint32_t v, uint32_t hops, uint32_t sl,
		    bool replies)
{
	uint8_t *way = &t->row[(size_t)d * t->p->g->f->n_switches + v];

	t->n_fresh = 0;
	for (uint32_t dir = 0; dir < 2 * t->p->n_dims; dir++) {
		uint32_t u = osr_grid_near(t->p->g, v, dir);

		if (u == OSR_NONE || t->hops[u] != hops || !may_step(t, d, v, dir, sl))
			continue;
		*way = (uint8_t)dir;
		if (replies && !may_reply(t, d, v, sl)) {
			*way = NO_WAY;
			angara__take_back(t, 0);
			continue;
		}
		t->hops[v] = hops + 1;
		t->n_detours++;
		return true;
	}
	return false;
}

/* ---- one tree -------------------------------------------------------------------------------- */

/* Those that are left over, nearest first, on their own service levels. Returns how many stay. */
static uint32_t mend_level_by_level(struct trees *t, uint32_t d, uint32_t n)
{
	const struct osr_fabric *fabric = t->p->g->f;

	for (uint32_t hops = 0; n && hops < fabric->n_switches; hops++) {
		uint32_t left = 0;

		for (uint32_t k = 0; k < n; k++) {
			uint32_t v = t->queue[k];

			if (!step_on(t, d, v, hops, angara__own_sl(t, v, fabric->dest_switch[d]),
				     true))
				t->queue[left++] = v;
		}
		n = left;
	}
	return n;
}

/* The service level that packets the other way have taken. */
static uint32_t sl_back(const struct trees *t, uint32_t root, uint32_t v)
{
	uint32_t k = t->dest_row[v];

	return k < t->dest_row[v + 1] ? *mend_sl_of(t, t->model[t->dest_list[k]], root) : 0;
}

static bool step_aside(struct trees *t, uint32_t d, uint32_t v, uint32_t hops, bool replies)
{
	uint32_t root = t->p->g->f->dest_switch[d], back = sl_back(t, root, v);

	for (uint32_t k = 0; k <= t->p->n_all_sls; k++) {
		uint32_t sl = k ? k - 1 : back;

		if (!step_on(t, d, v, hops, sl, replies))
			continue;
		*mend_sl_of(t, d, v) = (uint8_t)sl;
		t->n_aside += sl != angara__own_sl(t, v, root);
		return true;
	}
	return false;
}

/* One of those in queue[n], the nearest that can, on some service level. False if nobody can. */
static bool mend_aside(struct trees *t, uint32_t d, uint32_t n)
{
	uint32_t farthest = 0;

	for (uint32_t v = 0; v < t->p->g->f->n_switches; v++)
		if (t->hops[v] != OSR_NONE && t->hops[v] > farthest)
			farthest = t->hops[v];
	for (uint32_t replies = 2; replies-- > 0;)
		for (uint32_t hops = 0; hops <= farthest; hops++)
			for (uint32_t k = 0; k < n; k++)
				if (step_aside(t, d, t->queue[k], hops, replies)) {
					memmove(t->queue + k, t->queue + k + 1,
						(n - k - 1) * sizeof(*t->queue));
					return true;
				}
	return false;
}

static bool mend_mend(struct trees *t, uint32_t d)
{
	const struct osr_fabric *fabric = t->p->g->f;
	uint32_t n = 0;

	if (angara__trees_hops(t, t->row + (size_t)d * fabric->n_switches,
			       fabric->dest_switch[d]) == fabric->n_switches)
		return true;
	for (uint32_t v = 0; v < fabric->n_switches; v++)
		if (t->hops[v] == OSR_NONE)
			t->queue[n++] = v;
	while ((n = mend_level_by_level(t, d, n)))
		if (!t->sl || !mend_aside(t, d, n--))
			return false;
	return true;
}

bool angara__trees_mend(struct trees *t)
{
	const struct osr_fabric *fabric = t->p->g->f;

	for (uint32_t k = 0; k < fabric->n_dests; k++) {
		uint32_t d = t->turn[k];

		if (t->model[d] != d || mend_mend(t, d))
			continue;
		memmove(t->turn + 1, t->turn, k * sizeof(*t->turn));
		t->turn[0] = d;
		return false;
	}
	return true;
}

/* ---- who gives way to multicast -------------------------------------------------------------- */

/* All ways from v to the LIDs of switch u. */
static bool may_walk_all(struct trees *t, uint32_t v, uint32_t u, uint32_t sl)
{
	uint32_t n = t->p->g->f->n_switches;

	for (uint32_t k = t->dest_row[u]; k < t->dest_row[u + 1]; k++) {
		uint32_t d = t->dest_list[k];

		if (t->model[d] == d && t->row[(size_t)d * n + v] != NO_WAY &&
		    !may_walk(t, d, v, sl))
			return false;
	}
	return true;
}

static void mend_set_sl(struct trees *t, uint32_t v, uint32_t u, uint32_t sl)
{
	for (uint32_t k = t->dest_row[u]; k < t->dest_row[u + 1]; k++) {
		uint32_t d = t->dest_list[k];

		if (t->model[d] == d) {
			*mend_sl_of(t, d, v) = (uint8_t)sl;
			t->n_aside += sl != angara__own_sl(t, v, u);
		}
	}
}

/* Both ways on their own service level, or on another one, so that replies are legal. */
static bool mend_settle(struct trees *t, uint32_t v, uint32_t u)
{
	uint32_t own = angara__own_sl(t, v, u);

	for (uint32_t k = 0; k <= t->p->n_all_sls; k++) {
		uint32_t sl = k ? t->p->n_all_sls - k : own;

		t->n_fresh = 0;
		if (may_walk_all(t, v, u, sl) && may_walk_all(t, u, v, sl)) {
			mend_set_sl(t, v, u, sl);
			mend_set_sl(t, u, v, sl);
			return true;
		}
		angara__take_back(t, 0);
	}
	return false;
}

bool angara__trees_settle(struct trees *t)
{
	for (uint32_t v = 0; v < t->p->g->f->n_switches; v++)
		for (uint32_t u = 0; u < v; u++)
			if (!mend_settle(t, v, u))
				return false;
	return true;
}

/* ---- replies --------------------------------------------------------------------------------- */

bool angara__trees_replies(struct trees *t)
{
	const struct osr_fabric *fabric = t->p->g->f;

	for (uint32_t d = 0; d < fabric->n_dests && t->n_aside; d++)
		for (uint32_t v = 0; v < fabric->n_switches && t->model[d] == d; v++) {
			uint32_t root = fabric->dest_switch[d], sl = *mend_sl_of(t, d, v);

			t->n_fresh = 0;
			if (v != root && sl != angara__own_sl(t, v, root) &&
			    !may_reply(t, d, v, sl) && !mend_settle(t, v, root))
				return false;
		}
	return true;
}

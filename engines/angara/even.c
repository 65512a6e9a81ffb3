/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * See even.h. From the outside in:
 *	angara__even_out()	rounds of trees, then moves
 *	even_rebuild()		one tree by load, nearest switches first
 *	even_break_out()	moves while the weighted sum of the fourth powers falls; then other weights
 *	even_descend()		moves of one tree
 *	even_move()		one switch of one tree, and all that send through it, to another link
 *	even_walk()		what the way of a switch needs of the order of channels
 */
#include "even.h"

#include <string.h>

#define EVEN_ROUNDS 6
/* Hops and switches looked at, and channels: after a second or two the load stays as it is. */
#define EVEN_WORK 100000000
#define EVEN_CHANNEL 4   /* what a channel costs, in hops */
#define EVEN_PASSES 20   /* of moves over all trees, */
#define EVEN_PATIENCE 10 /* and so often without less load */
#define EVEN_FULL 97     /* percent of the fullest link: these are to weigh more */
#define EVEN_WEIGHT 16
#define EVEN_MAX_WEIGHT (1u << 20)
#define EVEN_BITS (2 * ANGARA_LANES)
#define EVEN_CABLES 840 /* a multiple of 1 .. 8, so that load by parallel cable is whole */

struct even {
	struct trees *t;
	const struct osr_fabric *f;
	uint32_t n_dirs;
	uint64_t work;
	uint32_t *count;  /* [n_switches * n_dirs * n_dirs * 8] ways that need a dependency */
	bool few_turns;   /* see even_few_turns() */
	uint64_t full;    /* least load of a link that moves leave */
	uint64_t *load;   /* [n_switches * n_dirs] routes, */
	uint32_t *unit;   /* times this: fewer where cables are parallel */
	uint64_t *flow;   /* [n_switches] end ports that send through a switch of the tree */
	uint64_t *weight; /* [n_switches * n_dirs] of a link's load in what moves must lower */
	uint8_t *best;    /* [n_dests * n_switches] the trees with the least load so far */
	uint64_t *cost;   /* [n_switches] of the way, while a tree is made */
	uint8_t *old;     /* [n_switches] the tree before */
	uint8_t *in;      /* [n_switches] in the subtree that moves */
	uint32_t *member; /* [n_switches] these, nearest first */
};

bool angara__is_even(const struct osr_fabric *fabric)
{
	for (uint32_t v = 1; v < fabric->n_switches; v++)
		if (fabric->sw_sources[v] != fabric->sw_sources[0])
			return false;
	return true;
}

/* ---- what ways need -------------------------------------------------------------------------- */

static uint32_t *even_count(struct even *e, uint32_t v, uint32_t dir, uint32_t next, uint32_t bit)
{
	return &e->count[(((size_t)v * e->n_dirs + dir) * e->n_dirs + next) * EVEN_BITS + bit];
}

/* The way of v as far as `end`: what it needs is needed once more (by > 0) or less. Returns how far. */
static uint32_t even_walk_to(struct even *e, const uint8_t *row, uint32_t v, uint32_t root,
			     uint32_t end, int by)
{
	struct trees *t = e->t;
	const struct osr_grid *grid = t->p->g;
	uint32_t sl = angara__own_sl(t, v, root);

	while (v != end) {
		uint32_t dir = row[v], u = osr_grid_near(grid, v, dir);
		uint32_t lane = angara__lane(t->p, v, dir, sl), next_lane, *n;
		bool fresh;

		e->work++;
		if (u == root)
			return root;
		next_lane = angara__lane(t->p, u, row[u], sl);
		n = even_count(e, v, dir, row[u], angara__bit(lane, next_lane));
		if (by > 0 && !angara__order_add(t->o, v, dir, lane, row[u], next_lane, &fresh))
			return v;
		*n += (uint32_t)by;
		if (!*n)
			angara__order_drop(t->o, v, dir, lane, row[u], next_lane);
		v = u;
	}
	return end;
}

/* The whole way, once more or less. False, and nothing done, if it would close a cycle. */
static bool even_walk(struct even *e, const uint8_t *row, uint32_t v, uint32_t root, int by)
{
	uint32_t end = even_walk_to(e, row, v, root, root, by);

	if (end != root)
		even_walk_to(e, row, v, root, end, -1);
	return end == root;
}

/* ---- load ------------------------------------------------------------------------------------ */

static void even_flows(struct even *e, const uint8_t *row, uint32_t root)
{
	uint32_t n = angara__trees_hops(e->t, row, root);

	e->work += n;
	for (uint32_t v = 0; v < e->f->n_switches; v++)
		e->flow[v] = e->f->sw_sources[v];
	for (uint32_t k = n; k-- > 1;) {
		uint32_t v = e->t->by_hops[k];

		e->flow[osr_grid_near(e->t->p->g, v, row[v])] += e->flow[v];
	}
}

static void even_weigh(struct even *e, const uint8_t *row, uint32_t root, bool add)
{
	even_flows(e, row, root);
	for (uint32_t v = 0; v < e->f->n_switches; v++) {
		uint64_t *load;

		if (v == root || row[v] == NO_WAY)
			continue;
		load = &e->load[v * e->n_dirs + row[v]];
		*load += add ? e->flow[v] * e->unit[v * e->n_dirs + row[v]]
			     : -e->flow[v] * e->unit[v * e->n_dirs + row[v]];
	}
}

/* ---- a tree by load -------------------------------------------------------------------------- */

/* Of the links that lead one hop nearer, the one with the least load on the whole way. */
static bool even_choose(struct even *e, uint8_t *row, uint32_t v, uint32_t root)
{
	const struct osr_grid *grid = e->t->p->g;
	uint32_t tried = e->t->p->free ? ~angara__ways(e->t->p, osr_grid_coord(grid, v),
						       osr_grid_coord(grid, root))
				       : 0;

	for (;;) {
		uint32_t best = NO_WAY;
		uint64_t least = UINT64_MAX;

		for (uint32_t dir = 0; dir < e->n_dirs; dir++) {
			uint32_t u = osr_grid_near(grid, v, dir);
			uint64_t cost;

			if (u == OSR_NONE || e->t->hops[u] + 1 != e->t->hops[v] ||
			    (tried >> dir & 1))
				continue;
			cost = e->cost[u] + e->load[v * e->n_dirs + dir];
			if (cost < least) {
				least = cost;
				best = dir;
			}
		}
		if (best == NO_WAY)
			return false;
		tried |= 1u << best;
		row[v] = (uint8_t)best;
		if (even_walk(e, row, v, root, 1)) {
			e->cost[v] = least;
			return true;
		}
	}
}

static void even_rebuild(struct even *e, uint32_t d)
{
	struct trees *t = e->t;
	uint32_t n_switches = e->f->n_switches, root = e->f->dest_switch[d], n, k;
	uint8_t *row = t->row + (size_t)d * n_switches;

	even_weigh(e, row, root, false);
	n = angara__trees_hops(t, row, root);
	memcpy(e->old, row, n_switches);
	for (k = 1; k < n; k++)
		even_walk(e, row, t->by_hops[k], root, -1);
	memset(e->cost, 0, n_switches * sizeof(*e->cost));
	for (k = 1; k < n && even_choose(e, row, t->by_hops[k], root); k++)
		;
	if (k < n) {
		while (k-- > 1)
			even_walk(e, row, t->by_hops[k], root, -1);
		memcpy(row, e->old, n_switches);
		for (k = 1; k < n; k++)
			even_walk(e, row, t->by_hops[k], root, 1);
	}
	even_weigh(e, row, root, true);
}

/* ---- single moves ---------------------------------------------------------------------------- */

typedef __int128 wide;

static wide fourth(uint64_t x)
{
	return (wide)(x * x) * (x * x);
}

/* Of `more` end ports on a link: less than nothing where they leave it. */
static wide link_gain(const struct even *e, uint32_t link, uint64_t more)
{
	uint64_t before = e->load[link] / EVEN_CABLES,
		 after = (e->load[link] + more * e->unit[link]) / EVEN_CABLES;

	return (wide)e->weight[link] * ((wide)fourth(before) - (wide)fourth(after));
}

/*
 * What the weighted fourth powers of all loads lose if v's flow goes by dir: the common rest of both ways
 * out. Negative: they grow. Nothing if no full link loses.
 */
static wide even_gain(struct even *e, const uint8_t *row, uint32_t v, uint32_t dir, uint32_t root)
{
	const struct osr_grid *grid = e->t->p->g;
	uint64_t flow = e->flow[v];
	uint32_t a = osr_grid_near(grid, v, row[v]), b = osr_grid_near(grid, v, dir);
	uint32_t x = v * e->n_dirs + row[v], y = v * e->n_dirs + dir;
	wide gain = 0;
	bool full = false;

	for (;;) {
		e->work++;
		full |= e->load[x] >= e->full;
		gain += link_gain(e, x, -flow) + link_gain(e, y, flow);
		if (a == b || a == root || b == root)
			return full ? gain : 0;
		x = a * e->n_dirs + row[a];
		y = b * e->n_dirs + row[b];
		a = osr_grid_near(grid, a, row[a]);
		b = osr_grid_near(grid, b, row[b]);
	}
}

/* v's subtree, nearest first: by_hops[] and hops[] are those of the tree. */
static uint32_t even_subtree(struct even *e, const uint8_t *row, uint32_t v, uint32_t n)
{
	uint32_t n_in = 0;

	memset(e->in, 0, e->f->n_switches);
	e->in[v] = 1;
	for (uint32_t k = 1; k < n; k++) {
		uint32_t w = e->t->by_hops[k];

		if (w != v && !e->in[osr_grid_near(e->t->p->g, w, row[w])])
			continue;
		e->in[w] = 1;
		e->member[n_in++] = w;
	}
	return n_in;
}

static bool even_move(struct even *e, uint32_t d, uint32_t v, uint32_t dir, uint32_t n)
{
	uint32_t root = e->f->dest_switch[d], n_in, k;
	uint8_t *row = e->t->row + (size_t)d * e->f->n_switches, old = row[v];

	n_in = even_subtree(e, row, v, n);
	for (k = 0; k < n_in; k++)
		even_walk(e, row, e->member[k], root, -1);
	row[v] = (uint8_t)dir;
	for (k = 0; k < n_in && even_walk(e, row, e->member[k], root, 1); k++)
		;
	if (k == n_in)
		return true;
	while (k-- > 0)
		even_walk(e, row, e->member[k], root, -1);
	row[v] = old;
	for (k = 0; k < n_in; k++)
		even_walk(e, row, e->member[k], root, 1);
	return false;
}

/* `more` end ports on the whole way of v by dir. */
static void even_shift(struct even *e, const uint8_t *row, uint32_t v, uint32_t root, uint64_t more)
{
	for (; v != root; v = osr_grid_near(e->t->p->g, v, row[v])) {
		uint32_t link = v * e->n_dirs + row[v], u = osr_grid_near(e->t->p->g, v, row[v]);

		e->load[link] += more * e->unit[link];
		e->flow[u] += more;
	}
}

/* Moves of one tree. */
static bool even_descend(struct even *e, uint32_t d)
{
	struct trees *t = e->t;
	uint32_t root = e->f->dest_switch[d], n;
	uint8_t *row = t->row + (size_t)d * e->f->n_switches;
	bool moved = false;

	even_flows(e, row, root);
	n = angara__trees_hops(t, row, root);
	for (uint32_t k = 1; k < n; k++) {
		uint32_t v = t->by_hops[k];

		e->work += e->n_dirs;
		for (uint32_t dir = 0; dir < e->n_dirs && e->flow[v]; dir++) {
			uint32_t u = osr_grid_near(t->p->g, v, dir);
			uint8_t old = row[v];

			if (u == OSR_NONE || dir == old || t->hops[u] + 1 != t->hops[v] ||
			    even_gain(e, row, v, dir, root) <= 0)
				continue;
			even_shift(e, row, v, root, -e->flow[v]);
			if (even_move(e, d, v, dir, n))
				moved = true;
			even_shift(e, row, v, root, e->flow[v]);
		}
	}
	return moved;
}

/* ---- all ------------------------------------------------------------------------------------- */

static uint64_t even_max(const struct even *e)
{
	uint64_t max = 0;

	for (uint32_t k = 0; k < e->f->n_switches * e->n_dirs; k++)
		max = max < e->load[k] ? e->load[k] : max;
	return max;
}

static enum osr_status even_allocate(struct even *e, struct osr_arena *scratch,
				     struct osr_diag *diag)
{
	size_t n = e->f->n_switches, n_links = n * e->n_dirs;

	e->count = osr_calloc(scratch, n_links * e->n_dirs * EVEN_BITS, sizeof(*e->count));
	e->load = osr_calloc(scratch, n_links, sizeof(*e->load));
	e->unit = osr_calloc(scratch, n_links, sizeof(*e->unit));
	e->weight = osr_alloc(scratch, n_links, sizeof(*e->weight));
	e->best = osr_alloc(scratch, n * e->f->n_dests, 1);
	e->flow = osr_alloc(scratch, n, sizeof(*e->flow));
	e->cost = osr_alloc(scratch, n, sizeof(*e->cost));
	e->old = osr_alloc(scratch, n, 1);
	e->in = osr_alloc(scratch, n, 1);
	e->member = osr_alloc(scratch, n, sizeof(*e->member));
	return osr_arena_failed(scratch, diag) ? OSR_NOMEM : OSR_OK;
}

/* False: the rows as they are do not fit the lanes. */
static bool even_begin(struct even *e)
{
	struct trees *t = e->t;
	const struct osr_grid *grid = t->p->g;
	uint32_t n = e->f->n_switches;

	for (uint32_t v = 0; v < n; v++)
		for (uint32_t dir = 0; dir < e->n_dirs; dir++) {
			const uint16_t *row = grid->hop_row + (size_t)v * (e->n_dirs + 1) + dir;
			uint32_t n_cables = row[1] - row[0];

			e->unit[v * e->n_dirs + dir] = n_cables ? EVEN_CABLES / n_cables : 0;
		}
	for (size_t k = 0; k < (size_t)n * e->n_dirs * e->n_dirs * EVEN_BITS; k++)
		e->count[k] = t->o->used[k / EVEN_BITS] >> k % EVEN_BITS & 1;
	for (uint32_t d = 0; d < e->f->n_dests; d++) {
		uint8_t *row = t->row + (size_t)d * n;
		uint32_t root = e->f->dest_switch[d];

		if (angara__is_host(e->f, d) && t->model[d] != d) {
			memcpy(row, t->row + (size_t)t->model[d] * n, n);
			t->model[d] = d;
		}
		if (t->model[d] != d)
			continue;
		if (angara__is_host(e->f, d))
			even_weigh(e, row, root, true);
		for (uint32_t v = 0; v < n; v++)
			if (v != root && row[v] != NO_WAY && !even_walk(e, row, v, root, 1))
				return false;
	}
	return true;
}

/*
 * Where a ring comes in order, most turns close a cycle with others: those that no full link needs are not to be taken
 * from those that do.
 */
static bool even_few_turns(const struct plan *p)
{
	for (uint32_t i = 0; i < p->n_dims; i++)
		if (p->weight[i] && !(p->free >> i & 1))
			return true;
	return false;
}

static bool even_in_time(const struct even *e)
{
	return e->work + EVEN_CHANNEL * e->t->o->top.work < EVEN_WORK;
}

/* The breakout method (Morris 1993): links that stay full weigh more, until moves elsewhere pay. */
static void even_break_out(struct even *e)
{
	uint32_t n_links = e->f->n_switches * e->n_dirs;
	uint64_t best = even_max(e);

	memcpy(e->best, e->t->row, (size_t)e->f->n_dests * e->f->n_switches);
	for (uint32_t k = 0; k < n_links; k++)
		e->weight[k] = EVEN_WEIGHT;
	for (uint32_t idle = 0; idle < EVEN_PATIENCE && even_in_time(e); idle++) {
		uint64_t max;
		bool moved = true;

		for (uint32_t pass = 0; moved && pass < EVEN_PASSES; pass++) {
			moved = false;
			e->full = e->few_turns ? even_max(e) * EVEN_FULL / 100 : 0;
			for (uint32_t d = 0; d < e->f->n_dests && even_in_time(e); d++)
				moved |= angara__is_host(e->f, d) && even_descend(e, d);
		}
		max = even_max(e);
		if (max < best) {
			best = max;
			idle = 0;
			memcpy(e->best, e->t->row, (size_t)e->f->n_dests * e->f->n_switches);
		}
		for (uint32_t k = 0; k < n_links; k++)
			if (e->load[k] * 100 >= max * EVEN_FULL && e->weight[k] < EVEN_MAX_WEIGHT)
				e->weight[k] += e->weight[k] / 4;
	}
}

/* All ways of all trees of hosts. */
static void even_walk_all(struct even *e, int by)
{
	for (uint32_t d = 0; d < e->f->n_dests; d++) {
		const uint8_t *row = e->t->row + (size_t)d * e->f->n_switches;

		for (uint32_t v = 0; v < e->f->n_switches && angara__is_host(e->f, d); v++)
			if (row[v] != NO_WAY && v != e->f->dest_switch[d])
				even_walk(e, row, v, e->f->dest_switch[d], by);
	}
}

/* They were legal together before, so every order in which they come again is. */
static void even_restore(struct even *e)
{
	even_walk_all(e, -1);
	memcpy(e->t->row, e->best, (size_t)e->f->n_dests * e->f->n_switches);
	e->t->o->top.work = 0;
	even_walk_all(e, 1);
}

enum osr_status angara__even_out(struct trees *t, struct osr_arena *scratch, bool *fits,
				 struct osr_diag *diag)
{
	struct even e = { .t = t,
			  .f = t->p->g->f,
			  .n_dirs = 2 * t->p->n_dims,
			  .few_turns = even_few_turns(t->p) };
	enum osr_status st = even_allocate(&e, scratch, diag);

	*fits = !st && even_begin(&e);
	if (!*fits)
		return st;
	for (uint32_t round = 0; round < EVEN_ROUNDS && e.work < EVEN_WORK; round++)
		for (uint32_t d = 0; d < e.f->n_dests; d++)
			if (angara__is_host(e.f, d))
				even_rebuild(&e, d);
	even_break_out(&e);
	even_restore(&e);
	return OSR_OK;
}

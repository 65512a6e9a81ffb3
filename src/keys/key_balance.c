/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * A look at the cables above before the next step: where a middle switch of a sub-tree got more
 * flows that go further up than its own cables upwards can carry, some exchange their plane.
 *
 * DIFFERS: the paper's two steps are independent, which is right for trees with as many cables up
 * as down. Where cables are missing above, or there are fewer, the first step would leave the second
 * one with more than it has to.
 *
 * A flow that changes from plane q to plane r may push another one on a full cable from r to q, that
 * one another, and so on, to both sides: the loads of the cables of this level stay what they are. A
 * chain is kept if fewer flows are too many afterwards.
 *
 * A user who may ask for a key decides how many flows there are, so the steps have a bound linear in them;
 * at the bound the planes stay as they are, and contention may be more than the least.
 */
#include "level.h"

#include <string.h>

#define STEPS 256 /* a flow; exchanges on trees that lack single cables take a few */
#define MIN_STEPS 100000

struct balance {
	const struct osr_pgft *p;
	const struct osr_pgft_tree *tree;
	uint32_t t, limit; /* flows per cable */
	struct osr__flow *flow;
	uint32_t n;
	const struct osr__demand *d;
	/* By side: flows by node, [row[node] .. row[node + 1]), and weights on cables, [node x planes + plane]. */
	uint32_t *row[2], *at_node[2], *load[2];
	uint64_t steps;
	/* By node of the next level: a n_above + index of b; flows that go further up, and come. */
	uint32_t *out, *in, *room;
	uint32_t *chain, n_chain;
	bool *moved; /* [n] */
};

static size_t above(const struct balance *x, uint32_t a, uint32_t q)
{
	return (size_t)(a / x->tree->m[x->t + 1]) * x->tree->w[x->t + 1] + q % x->tree->w[x->t + 1];
}

static bool goes_further(const struct balance *x, uint32_t e)
{
	return x->flow[e].a / x->tree->m[x->t + 1] != x->flow[e].ad / x->tree->m[x->t + 1];
}

static uint32_t over(uint32_t flows, uint32_t room)
{
	return flows > room ? flows - room : 0;
}

/* How many are too many at the nodes that this flow crosses. */
static uint32_t excess_of(const struct balance *x, uint32_t e)
{
	size_t from, to;

	if (!goes_further(x, e))
		return 0;
	from = above(x, x->flow[e].a, x->flow[e].q);
	to = above(x, x->flow[e].ad, x->flow[e].q);
	return over(x->out[from], x->room[from]) + over(x->in[to], x->room[to]);
}

static uint32_t node_of(const struct balance *x, uint32_t e, bool right)
{
	return right ? x->d->edge[e].right : x->d->edge[e].left;
}

/* Adds a flow to its two cables, or takes it off. */
static void load_cables(struct balance *x, uint32_t e, bool add)
{
	for (int right = 0; right < 2; right++)
		x->load[right][(size_t)node_of(x, e, right) * x->d->n_planes + x->flow[e].q] +=
			add ? x->flow[e].weight : -x->flow[e].weight;
}

/* Adds a flow to the nodes it crosses, or takes it off; the change of the excess is added to *change. */
static void keys_balance_count_flow(struct balance *x, uint32_t e, bool add, int64_t *change)
{
	uint32_t weight = add ? x->flow[e].weight : -x->flow[e].weight;
	size_t from, to;

	if (!goes_further(x, e))
		return;
	from = above(x, x->flow[e].a, x->flow[e].q);
	to = above(x, x->flow[e].ad, x->flow[e].q);
	*change -= over(x->out[from], x->room[from]) + over(x->in[to], x->room[to]);
	x->out[from] += weight;
	x->in[to] += weight;
	*change += over(x->out[from], x->room[from]) + over(x->in[to], x->room[to]);
}

/* Gives a flow plane q. */
static void keys_balance_give(struct balance *x, uint32_t e, uint32_t q, int64_t *change)
{
	keys_balance_count_flow(x, e, false, change);
	load_cables(x, e, false);
	x->flow[e].q = q;
	load_cables(x, e, true);
	keys_balance_count_flow(x, e, true, change);
	x->steps++;
}

/* A flow on the cable that flow e has come to, which has to go if the cable carries too much now. */
static uint32_t to_push(struct balance *x, uint32_t e, bool right, uint32_t q)
{
	uint32_t v = node_of(x, e, right);

	if (x->load[right][(size_t)v * x->d->n_planes + q] <= x->limit)
		return OSR_NONE;
	for (uint32_t i = x->row[right][v]; i < x->row[right][v + 1]; i++, x->steps++)
		if (x->flow[x->at_node[right][i]].q == q && !x->moved[x->at_node[right][i]])
			return x->at_node[right][i];
	return OSR_NONE;
}

/* From the node at one end of a flow that has just come into plane `to`. */
static bool push_on(struct balance *x, uint32_t e, bool right, uint32_t from, uint32_t to,
		    int64_t *change)
{
	for (;;) {
		uint32_t swap = from;

		e = to_push(x, e, right, to);
		if (e == OSR_NONE)
			return true;
		if (!osr__may(x->d, e, from))
			return false;
		x->moved[e] = true;
		x->chain[x->n_chain++] = e;
		keys_balance_give(x, e, from, change);
		from = to;
		to = swap;
		right = !right;
	}
}

/* Flow e goes from its plane to plane r if that helps. */
static bool try_exchange(struct balance *x, uint32_t e, uint32_t r)
{
	uint32_t q = x->flow[e].q;
	int64_t change = 0;
	bool good;

	x->n_chain = 0;
	x->moved[e] = true;
	x->chain[x->n_chain++] = e;
	keys_balance_give(x, e, r, &change);
	good = push_on(x, e, false, q, r, &change) && push_on(x, e, true, q, r, &change) &&
	       change < 0;
	for (uint32_t i = 0; i < x->n_chain; i++) {
		uint32_t c = x->chain[i];

		if (!good)
			keys_balance_give(x, c, x->flow[c].q == q ? r : q, &change);
		x->moved[c] = false;
	}
	return good;
}

static enum osr_status begin_lists(struct balance *x, struct osr_arena *scratch)
{
	for (int right = 0; right < 2; right++) {
		uint32_t *row = osr_calloc(scratch, x->d->n_nodes + 2, sizeof(uint32_t));

		x->at_node[right] = osr_alloc(scratch, x->n, sizeof(uint32_t));
		x->load[right] = osr_calloc(scratch, (size_t)x->d->n_nodes * x->d->n_planes,
					    sizeof(uint32_t));
		if (osr_arena_failed(scratch, NULL))
			return OSR_NOMEM;
		/* Counted two places on, so that filling moves each row to where it begins. */
		for (uint32_t e = 0; e < x->n; e++)
			row[node_of(x, e, right) + 2]++;
		for (uint32_t v = 2; v < x->d->n_nodes + 2; v++)
			row[v] += row[v - 1];
		for (uint32_t e = 0; e < x->n; e++)
			x->at_node[right][row[node_of(x, e, right) + 1]++] = e;
		x->row[right] = row;
	}
	for (uint32_t e = 0; e < x->n; e++)
		load_cables(x, e, true);
	return OSR_OK;
}

static enum osr_status keys_balance_begin(struct balance *x, struct osr_arena *scratch)
{
	const struct osr_pgft_tree *tree = x->tree;
	uint32_t t = x->t, w = tree->w[t + 1];
	uint32_t n_a = tree->m_product[tree->h] / tree->m_product[t + 1];
	size_t n = (size_t)n_a * w;

	x->out = osr_calloc(scratch, n, sizeof(*x->out));
	x->in = osr_calloc(scratch, n, sizeof(*x->in));
	x->room = osr_calloc(scratch, n, sizeof(*x->room));
	x->chain = osr_alloc(scratch, x->n, sizeof(*x->chain));
	x->moved = osr_calloc(scratch, x->n, sizeof(*x->moved));
	if (!x->out || !x->in || !x->room || !x->chain || !x->moved || begin_lists(x, scratch))
		return OSR_NOMEM;
	for (size_t i = 0; i < n; i++) {
		uint32_t b = osr__b_above(tree, t, x->flow->b, (uint32_t)(i % w));
		uint32_t s = osr__node(tree, t + 1, (uint32_t)(i / w), b);

		for (uint32_t q = 0; s != OSR_NONE && q < osr__n_planes(tree, t + 1); q++)
			x->room[i] += osr__up(x->p, s, q) != OSR_NONE ? x->limit : 0;
	}
	for (uint32_t e = 0; e < x->n; e++) {
		if (!goes_further(x, e))
			continue;
		x->out[above(x, x->flow[e].a, x->flow[e].q)] += x->flow[e].weight;
		x->in[above(x, x->flow[e].ad, x->flow[e].q)] += x->flow[e].weight;
	}
	return OSR_OK;
}

enum osr_status osr__balance(const struct osr__group *group, uint32_t limit,
			     struct osr_arena *scratch)
{
	const struct osr__level *level = &group->level;
	const struct osr__demand *demand = &group->demand;
	struct osr__flow *flow = group->flow;
	uint32_t n = group->n;
	struct osr_arena_mark mark = osr_arena_mark(scratch);
	struct balance x = { .p = level->pgft,
			     .tree = level->tree,
			     .t = level->t,
			     .limit = limit,
			     .flow = flow,
			     .n = n,
			     .d = demand };
	enum osr_status st = OSR_OK;
	uint64_t steps = STEPS * (uint64_t)n + MIN_STEPS;
	bool better = true;

	if (level->t + 1 >= level->tree->h || !n)
		return OSR_OK;
	st = keys_balance_begin(&x, scratch);
	/* Every round that goes on has fewer that are too many than the one before. */
	while (!st && better) {
		better = false;
		for (uint32_t e = 0; e < n && x.steps < steps; e++)
			for (uint32_t r = 0; r < demand->n_planes && excess_of(&x, e); r++)
				if (r != flow[e].q && osr__may(demand, e, r))
					better |= try_exchange(&x, e, r);
	}
	osr_arena_reset(scratch, mark);
	return st;
}

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
 */
#include "level.h"

#include <string.h>

struct balance {
	const struct osr_pgft *p;
	const struct osr_pgft_tree *tree;
	uint32_t t, limit; /* flows per cable */
	struct osr__flow *flow;
	uint32_t n;
	const struct osr__demand *d;
	struct osr__match m; /* flows by node */
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

/* Gives a flow plane q; the change of the excess is added to *change. */
static void give(struct balance *x, uint32_t e, uint32_t q, int64_t *change)
{
	uint32_t weight = x->flow[e].weight;

	if (!goes_further(x, e)) {
		x->flow[e].q = q;
		return;
	}
	for (int step = 0; step < 2; step++) {
		size_t from = above(x, x->flow[e].a, x->flow[e].q);
		size_t to = above(x, x->flow[e].ad, x->flow[e].q);

		*change -= over(x->out[from], x->room[from]) + over(x->in[to], x->room[to]);
		x->out[from] += step ? weight : -weight;
		x->in[to] += step ? weight : -weight;
		*change += over(x->out[from], x->room[from]) + over(x->in[to], x->room[to]);
		x->flow[e].q = q;
	}
}

/* A flow on the cable of this node in plane q that has to go if the cable carries too much now. */
static uint32_t to_push(const struct balance *x, uint32_t node, bool right, uint32_t q)
{
	const uint32_t *row = right ? x->m.right_row : x->m.left_row;
	const uint32_t *list = right ? x->m.right_edge : x->m.left_edge;
	uint32_t load = 0, e = OSR_NONE;

	for (uint32_t i = row[node]; i < row[node + 1]; i++) {
		if (x->flow[list[i]].q != q)
			continue;
		load += x->flow[list[i]].weight;
		if (!x->moved[list[i]])
			e = list[i];
	}
	return load > x->limit ? e : OSR_NONE;
}

/* From the node at one end of a flow that has just come into plane `to`. */
static bool push_on(struct balance *x, uint32_t e, bool right, uint32_t from, uint32_t to,
		    int64_t *change)
{
	for (;;) {
		uint32_t node = right ? x->flow[e].ad : x->flow[e].a, swap = from;

		e = to_push(x, node, right, to);
		if (e == OSR_NONE)
			return true;
		if (!osr__may(x->d, e, from))
			return false;
		x->moved[e] = true;
		x->chain[x->n_chain++] = e;
		give(x, e, from, change);
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
	give(x, e, r, &change);
	good = push_on(x, e, false, q, r, &change) && push_on(x, e, true, q, r, &change) &&
	       change < 0;
	for (uint32_t i = 0; i < x->n_chain; i++) {
		uint32_t c = x->chain[i];

		if (!good)
			give(x, c, x->flow[c].q == q ? r : q, &change);
		x->moved[c] = false;
	}
	return good;
}

static enum osr_status begin(struct balance *x, struct osr_arena *scratch)
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
	if (!x->out || !x->in || !x->room || !x->chain || !x->moved)
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
	return osr__match_init(&x->m, x->d->n_nodes, x->d->edge, x->d->n_edges, scratch);
}

enum osr_status osr__balance(const struct osr_pgft *p, const struct osr_pgft_tree *tree, uint32_t t,
			     const struct osr__demand *d, uint32_t limit, struct osr__flow *flow,
			     uint32_t n, struct osr_arena *scratch)
{
	struct osr_arena_mark mark = osr_arena_mark(scratch);
	struct balance x = {
		.p = p, .tree = tree, .t = t, .limit = limit, .flow = flow, .n = n, .d = d
	};
	enum osr_status st = OSR_OK;
	bool better = true;

	if (t + 1 >= tree->h || !n)
		return OSR_OK;
	st = begin(&x, scratch);
	/* Every round that goes on has fewer that are too many than the one before. */
	while (!st && better) {
		better = false;
		for (uint32_t e = 0; e < n; e++)
			for (uint32_t r = 0; r < d->n_planes && excess_of(&x, e); r++)
				if (r != flow[e].q && osr__may(d, e, r))
					better |= try_exchange(&x, e, r);
	}
	osr_arena_reset(scratch, mark);
	return st;
}

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Source: Samuel, Zahavi, Keslassy, Routing Keys, section II-A, "Compressed key": the demand falls apart into
 * matchings, each goes to a plane (a middle switch) of its own.
 *
 * DIFFERS: matchings of largest cardinality, taken out one after the other, may be more than there are planes although
 * a routing without contention exists. Here edge after edge gets a plane with room at both ends, or with room that is
 * made by a chain of edges that exchange two planes, as in Koenig's proof; so the least contention is reached
 * exactly: ceil(degree / planes).
 *
 * Where cables are missing the planes are not alike, and some edge of a chain may not change. What finds no place
 * then goes to the least loaded plane.
 *
 * DIFFERS: the paper's two steps are independent, which is down for trees with as many cables up as down. Where
 * there are fewer above, a middle switch may get more flows that go further up than its own cables can carry. The
 * same chains then exchange planes until fewer are too many; the loads of the cables of this level stay what they are.
 * A user who may ask for a key decides how many flows there are, so these steps have a bound linear in them; at the
 * bound the planes stay as they are, and contention may be more than the least.
 */
#include "level.h"

#include <assert.h>
#include <string.h>

#define STEPS 256 /* a flow; exchanges on trees that lack single cables take a few */
#define MIN_STEPS 100000

/* Edges dealt out over planes. */
struct deal {
	const struct osr__group *g;
	struct osr_key_flow *flow; /* of it; plane q, OSR_NONE: none yet */
	uint32_t limit;            /* what a chain leaves on a cable */
	/* By side, up from a or down to ad, and cable, [n_nodes * n_planes]: its weight, and an edge of it or OSR_NONE. */
	uint32_t *load[2], *first[2];
	uint32_t *next[2], *prev[2]; /* [n] the others of that cable */
	/* The last chain: the edge that began it, with its plane of before, and those that gave way. */
	uint32_t *chain, n_chain, was, to, from;
	bool *moved; /* [n] by the chain under way */
	uint64_t steps;
	/*
	 * Of osr__balance(), by node of the next level: flows that go further up, that come, and those there is room for;
	 * NULL in osr__colour().
	 */
	uint32_t *out, *in, *room;
	int64_t excess; /* of all of them together */
};

static uint32_t max(uint32_t a, uint32_t b)
{
	return a > b ? a : b;
}

static enum osr_status deal_begin(struct deal *x, struct osr_arena *scratch)
{
	uint32_t n = x->g->n;
	size_t n_cables = (size_t)x->g->n_nodes * x->g->n_planes;

	x->flow = x->g->flow;
	x->chain = osr_alloc(scratch, n, sizeof(*x->chain));
	x->moved = osr_calloc(scratch, n, sizeof(*x->moved));
	for (int down = 0; down < 2; down++) {
		x->load[down] = osr_calloc(scratch, n_cables, sizeof(uint32_t));
		x->first[down] = osr_alloc(scratch, n_cables, sizeof(uint32_t));
		x->next[down] = osr_alloc(scratch, n, sizeof(uint32_t));
		x->prev[down] = osr_alloc(scratch, n, sizeof(uint32_t));
		if (osr_arena_failed(scratch, NULL))
			return OSR_NOMEM;
		memset(x->first[down], 0xff, n_cables * sizeof(uint32_t));
	}
	return OSR_OK;
}

/* The cable of an edge in a plane. */
static size_t cable(const struct deal *x, uint32_t e, bool down, uint32_t q)
{
	return (size_t)(down ? x->flow[e].ad : x->flow[e].a) * x->g->n_planes + q;
}

/* The nodes above that a flow crosses; false: it goes no further. */
static bool nodes_above(const struct deal *x, uint32_t e, uint32_t *from, uint32_t *to)
{
	const struct osr__level *level = &x->g->level;
	uint32_t m = level->tree->m[level->t + 1], w = level->tree->w[level->t + 1];
	uint32_t a = x->flow[e].a / m, ad = x->flow[e].ad / m;

	*from = a * w + x->flow[e].q % w;
	*to = ad * w + x->flow[e].q % w;
	return a != ad;
}

/* How many flows are too many at these two nodes. */
static uint32_t excess_at(const struct deal *x, uint32_t from, uint32_t to)
{
	return max(x->out[from], x->room[from]) - x->room[from] + max(x->in[to], x->room[to]) -
	       x->room[to];
}

/* Adds an edge to what it loads in its plane, or takes it off. */
static void count(struct deal *x, uint32_t e, bool add)
{
	uint32_t weight = add ? x->flow[e].weight : -x->flow[e].weight, from, to;

	if (x->flow[e].q == OSR_NONE)
		return;
	for (int down = 0; down < 2; down++) {
		size_t c = cable(x, e, down, x->flow[e].q);
		uint32_t *first = &x->first[down][c], *next = x->next[down];
		uint32_t *prev = x->prev[down];

		x->load[down][c] += weight;
		if (add) {
			next[e] = *first;
			prev[e] = OSR_NONE;
			*first = e;
		} else if (prev[e] != OSR_NONE) {
			next[prev[e]] = next[e];
		} else {
			*first = next[e];
		}
		if (next[e] != OSR_NONE)
			prev[next[e]] = add ? e : prev[e];
	}
	if (!x->room || !nodes_above(x, e, &from, &to))
		return;
	x->excess -= excess_at(x, from, to);
	x->out[from] += weight;
	x->in[to] += weight;
	x->excess += excess_at(x, from, to);
}

/* Plane q is what the edge loads from now on, and no other; OSR_NONE: none. */
static void give(struct deal *x, uint32_t e, uint32_t q)
{
	count(x, e, false);
	x->flow[e].q = q;
	count(x, e, true);
	x->steps++;
}

/* Chains --------------------------------------------------------------------------------------- */

static void undo(struct deal *x)
{
	for (uint32_t i = 1; i < x->n_chain; i++)
		give(x, x->chain[i], x->flow[x->chain[i]].q == x->to ? x->from : x->to);
	give(x, x->chain[0], x->was);
}

/*
 * Edge e goes to plane `to`. Where one of its cables then carries more than the limit another edge of it goes to
 * `from`, at whose other end one may have to go back to `to`, and so on, to both sides. All nodes between keep what
 * they had. false: an edge of the chain may not change, and nothing is changed.
 */
static bool exchange(struct deal *x, uint32_t e, uint32_t to, uint32_t from)
{
	bool good = true;

	x->was = x->flow[e].q;
	x->to = to;
	x->from = from;
	x->n_chain = 1;
	x->chain[0] = e;
	x->moved[e] = true;
	give(x, e, to);
	for (int side = 0; side < 2; side++) {
		uint32_t came = e;
		bool down = side;

		for (; good; down = !down) {
			uint32_t q = x->flow[came].q, other = q == to ? from : to;
			size_t c = cable(x, came, down, q);

			if (x->load[down][c] <= x->limit)
				break;
			came = x->first[down][c];
			while (came != OSR_NONE && x->moved[came]) {
				came = x->next[down][came];
				x->steps++;
			}
			if (came == OSR_NONE)
				break;
			good = osr__may(x->g, came, other);
			if (good) {
				x->moved[came] = true;
				x->chain[x->n_chain++] = came;
				give(x, came, other);
			}
		}
	}
	for (uint32_t i = 0; i < x->n_chain; i++)
		x->moved[x->chain[i]] = false;
	if (!good)
		undo(x);
	return good;
}

/* Colouring ------------------------------------------------------------------------------------ */

/* What its cables would carry in plane q if nothing else changed. */
static uint32_t load_with(const struct deal *x, uint32_t e, uint32_t q)
{
	uint32_t most = max(x->load[0][cable(x, e, false, q)], x->load[1][cable(x, e, true, q)]);

	return most + (x->flow[e].q == q ? 0 : x->flow[e].weight);
}

/* Of the first n planes, that which carries least with it; of equals the one with the least sum of both cables. */
static uint32_t least_loaded(const struct deal *x, uint32_t e, uint32_t n)
{
	uint32_t best = OSR_NONE;
	uint64_t least = UINT64_MAX;

	for (uint32_t q = 0; q < n; q++) {
		uint64_t load =
			(uint64_t)load_with(x, e, q) << 32 |
			(x->load[0][cable(x, e, false, q)] + x->load[1][cable(x, e, true, q)]);

		if (osr__may(x->g, e, q) && load < least) {
			least = load;
			best = q;
		}
	}
	return best;
}

/*
 * A plane for an edge of weight 1, of the first n: the one with most room at both ends, or one with room at one end,
 * and at the other by a chain. The limit is the least that its ends need, and the bound at most.
 */
static bool insert(struct deal *x, uint32_t e, uint32_t n, uint32_t bound)
{
	uint32_t sum[2] = { 0 }, best = least_loaded(x, e, n);

	for (uint32_t q = 0; q < n; q++)
		for (int down = 0; down < 2; down++)
			sum[down] += x->load[down][cable(x, e, down, q)];
	assert(n); /* the edge has a plane */
	for (x->limit = max(sum[0], sum[1]) / n + 1; x->limit <= bound; x->limit++) {
		if (load_with(x, e, best) <= x->limit) {
			give(x, e, best);
			return true;
		}
		for (uint32_t a = 0; a < n; a++)
			for (int down = 1; down >= 0 && osr__may(x->g, e, a); down--) {
				if (x->load[!down][cable(x, e, !down, a)] >= x->limit)
					continue;
				for (uint32_t b = 0; b < n; b++)
					if (x->load[down][cable(x, e, down, b)] < x->limit &&
					    exchange(x, e, a, b))
						return true;
			}
	}
	return false;
}

/*
 * Fewer flows in later planes, where no cable carries two: what is left of a plane serves others. Chains move where
 * the earlier plane gains an edge by them.
 */
static void gather(struct deal *x)
{
	bool better = true;

	x->limit = 1;
	while (better) {
		better = false;
		for (uint32_t e = 0; e < x->g->n; e++)
			for (uint32_t a = 0; a < x->flow[e].q; a++)
				for (int down = 0; down < 2; down++) {
					if (a >= x->flow[e].q ||
					    x->load[down][cable(x, e, down, a)] ||
					    !exchange(x, e, a, x->flow[e].q))
						continue;
					if (x->n_chain % 2)
						better = true;
					else
						undo(x);
				}
	}
}

/* Classes in the order of their size, largest first; empty ones go. */
static enum osr_status order_classes(struct osr__group *group, struct osr_arena *scratch)
{
	uint32_t *size = osr_calloc(scratch, group->n_planes, sizeof(*size));
	uint32_t *rank = osr_calloc(scratch, group->n_planes, sizeof(*rank));

	if (osr_arena_failed(scratch, NULL))
		return OSR_NOMEM;
	for (uint32_t e = 0; e < group->n; e++)
		size[group->flow[e].q] += group->flow[e].weight;
	group->n_classes = 0;
	for (uint32_t c = 0; c < group->n_planes; c++) {
		group->n_classes += size[c] > 0;
		for (uint32_t b = 0; b < group->n_planes; b++)
			rank[c] += size[b] > size[c] || (size[b] == size[c] && b < c);
	}
	for (uint32_t e = 0; e < group->n; e++)
		group->flow[e].q = rank[group->flow[e].q];
	return OSR_OK;
}

enum osr_status osr__colour(struct osr__group *group, struct osr_arena *scratch)
{
	struct osr_arena_mark mark = osr_arena_mark(scratch);
	struct osr_key_flow *flow = group->flow;
	struct deal x = { .g = group };
	uint32_t max_weight = 0, max_degree = 0, n;
	size_t words = group->may ? group->words : 0;
	enum osr_status st;

	group->n_classes = group->n_planes;
	group->bound = 0;
	st = deal_begin(&x, scratch);
	/* The bound: what an edge, or the edges of a node spread over the planes they may take, load some cable with. */
	for (int down = 0; !st && down < 2; down++) {
		uint32_t *weight = osr_calloc(scratch, group->n_nodes, sizeof(*weight));
		uint32_t *degree = osr_calloc(scratch, group->n_nodes, sizeof(*degree));
		uint64_t *planes = osr_calloc(scratch, group->n_nodes * words + 1, sizeof(*planes));

		if (osr_arena_failed(scratch, NULL)) {
			st = OSR_NOMEM;
			break;
		}
		for (uint32_t e = 0; e < group->n; e++) {
			uint32_t v = down ? flow[e].ad : flow[e].a;

			flow[e].q = OSR_NONE;
			weight[v] += flow[e].weight;
			max_degree = max(max_degree, ++degree[v]);
			max_weight = max(max_weight, flow[e].weight);
			for (size_t k = 0; k < words; k++)
				planes[v * words + k] |= group->may[e * words + k];
		}
		for (uint32_t v = 0; v < group->n_nodes; v++) {
			n = words ? 0 : group->n_planes;
			for (size_t k = 0; k < words; k++)
				n += (uint32_t)__builtin_popcountll(planes[v * words + k]);
			if (weight[v])
				group->bound = max(group->bound, (weight[v] + n - 1) / n);
		}
	}
	group->bound = max(group->bound, max_weight);
	/* Where planes are alike as many as the largest degree suffice. */
	n = group->may || max_degree > group->n_planes ? group->n_planes : max_degree;
	for (uint32_t e = 0; !st && e < group->n; e++)
		if (max_weight > 1 || !insert(&x, e, n, group->bound))
			give(&x, e, least_loaded(&x, e, group->n_planes));
	if (!st && !group->may && max_weight == 1 && group->bound == 1)
		gather(&x);
	/*
	 * Edges whose cables carry more than the bound move to where they carry less, as long as that helps. Every move
	 * lowers the sum of squares, so it ends; the rounds bound the time.
	 */
	for (uint32_t round = 0, moved = 1; !st && moved && round < 64; round++) {
		moved = 0;
		for (uint32_t e = 0; e < group->n; e++) {
			uint32_t now = load_with(&x, e, flow[e].q), to;

			if (now <= group->bound)
				continue;
			to = least_loaded(&x, e, group->n_planes);
			if (load_with(&x, e, to) < now) {
				give(&x, e, to);
				moved = 1;
			}
		}
	}
	if (!st && !group->may)
		st = order_classes(group, scratch);
	osr_arena_reset(scratch, mark);
	return st;
}

/* Balance -------------------------------------------------------------------------------------- */

enum osr_status osr__balance(const struct osr__group *group, uint32_t limit,
			     struct osr_arena *scratch)
{
	struct osr_arena_mark mark = osr_arena_mark(scratch);
	const struct osr_pgft_tree *tree = group->level.tree;
	uint32_t t = group->level.t, w, n_above;
	struct deal x = { .g = group, .limit = limit };
	uint64_t steps = STEPS * (uint64_t)group->n + MIN_STEPS;
	bool better = true;

	if (t + 1 >= tree->h)
		return OSR_OK;
	w = tree->w[t + 1];
	n_above = tree->m_product[tree->h] / tree->m_product[t + 1] * w;
	x.out = osr_calloc(scratch, n_above, sizeof(*x.out));
	x.in = osr_calloc(scratch, n_above, sizeof(*x.in));
	x.room = osr_calloc(scratch, n_above, sizeof(*x.room));
	if (osr_arena_failed(scratch, NULL) || deal_begin(&x, scratch)) {
		osr_arena_reset(scratch, mark);
		return OSR_NOMEM;
	}
	for (uint32_t i = 0; i < n_above; i++) {
		uint32_t s = osr__node(tree, t + 1, i / w, osr__b_above(tree, t, group->b, i % w));

		for (uint32_t q = 0; q < osr__n_planes(tree, t + 1); q++)
			x.room[i] += osr__up(group->level.pgft, s, q) != OSR_NONE ? limit : 0;
	}
	for (uint32_t e = 0; e < group->n; e++)
		count(&x, e, true);
	/* Every round that goes on has fewer that are too many than the one before. */
	while (better) {
		better = false;
		for (uint32_t e = 0; e < group->n && x.steps < steps; e++)
			for (uint32_t r = 0; r < group->n_planes; r++) {
				uint32_t from, to;
				int64_t before = x.excess;

				if (!nodes_above(&x, e, &from, &to) || !excess_at(&x, from, to))
					break;
				if (r == x.flow[e].q || !osr__may(group, e, r) ||
				    !exchange(&x, e, r, x.flow[e].q))
					continue;
				if (x.excess < before)
					better = true;
				else
					undo(&x);
			}
	}
	osr_arena_reset(scratch, mark);
	return OSR_OK;
}

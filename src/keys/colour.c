/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Source: Samuel, Zahavi, Keslassy, Routing Keys, section II-A, "Compressed key": the demand falls
 * apart into matchings, each goes to a plane (a middle switch) of its own.
 *
 * DIFFERS: matchings of largest cardinality, taken out one after the other, may be more than there
 * are planes although a routing without contention exists. Here edge after edge gets a plane with
 * room at both ends, or with room that is made by a chain of edges that exchange two planes, as in
 * Koenig's proof; so the least contention is reached exactly: ceil(degree / planes).
 *
 * Where cables are missing the planes are not alike, and some edge of a chain may not change. An
 * edge that finds no place goes to the least loaded plane.
 *
 * DIFFERS: the paper's two steps are independent, which holds for trees with as many cables up as
 * down. Where there are fewer above, a middle switch may get more flows that go further up than its
 * own cables can carry. The same chains then exchange planes until fewer flows are too many. The
 * loads of the cables of this level stay the same. A user who may ask for a key decides how many
 * flows there are, so these steps have a bound linear in them; at the bound the planes stay as they
 * are, and contention may be more than the least.
 */
#include "level.h"

#include <osmroutes/invariant.h>

#include <string.h>

#define STEPS 256 /* a flow; exchanges on trees that lack single cables take a few */
#define MIN_STEPS 100000
#define MAX_ROUNDS 64

/* Edges dealt out over planes. */
struct deal {
	const struct osr_group *group;
	struct osr_key_flow *flow; /* of it; plane q, OSR_NONE: none yet */
	uint32_t limit;            /* most weight that a chain leaves on a cable */
	/*
	 * By side, up from a or down to ad, and cable, [n_nodes * n_planes]: its weight, and an
	 * edge of it or OSR_NONE.
	 */
	uint32_t *load[2], *first[2];
	uint32_t *next[2], *prev[2]; /* [n] the others of that cable */
	/*
	 * The last chain: the edge that began it, with its previous plane, and the edges that gave
	 * way.
	 */
	uint32_t *chain, n_chain, was, to, from;
	bool *moved; /* [n] by the chain under way */
	uint64_t steps;
	/*
	 * Of osr_balance(), by node of the next level: flows that go further up, that come, and
	 * those there is room for; NULL in osr_colour().
	 */
	uint32_t *out, *in, *room;
	int64_t excess; /* of all of them together */
};

static uint32_t max(uint32_t a, uint32_t b)
{
	return a > b ? a : b;
}

static enum osr_status deal_begin(struct deal *deal, struct osr_arena *scratch)
{
	uint32_t n = deal->group->n;
	size_t n_cables = (size_t)deal->group->n_nodes * deal->group->n_planes;

	deal->flow = deal->group->flow;
	deal->chain = osr_alloc(scratch, n, sizeof(*deal->chain));
	deal->moved = osr_calloc(scratch, n, sizeof(*deal->moved));
	for (int down = 0; down < 2; down++) {
		deal->load[down] = osr_calloc(scratch, n_cables, sizeof(uint32_t));
		deal->first[down] = osr_alloc(scratch, n_cables, sizeof(uint32_t));
		deal->next[down] = osr_alloc(scratch, n, sizeof(uint32_t));
		deal->prev[down] = osr_alloc(scratch, n, sizeof(uint32_t));
		if (osr_arena_failed(scratch, NULL))
			return OSR_NOMEM;
		memset(deal->first[down], 0xff, n_cables * sizeof(uint32_t));
	}
	return OSR_OK;
}

/* The cable of an edge in a plane. */
static size_t cable(const struct deal *deal, uint32_t e, bool down, uint32_t q)
{
	return (size_t)(down ? deal->flow[e].ad : deal->flow[e].a) * deal->group->n_planes + q;
}

/* The nodes above that a flow crosses; false: it goes no further. */
static bool nodes_above(const struct deal *deal, uint32_t e, uint32_t *from, uint32_t *to)
{
	const struct osr_level *level = &deal->group->level;
	uint32_t m = level->tree->m[level->t + 1], w = level->tree->w[level->t + 1];
	uint32_t a = deal->flow[e].a / m, ad = deal->flow[e].ad / m;

	*from = a * w + deal->flow[e].q % w;
	*to = ad * w + deal->flow[e].q % w;
	return a != ad;
}

/* The number of flows beyond the room of these two nodes. */
static uint32_t excess_at(const struct deal *deal, uint32_t from, uint32_t to)
{
	return max(deal->out[from], deal->room[from]) - deal->room[from] +
	       max(deal->in[to], deal->room[to]) - deal->room[to];
}

/* Adds the weight of an edge to its cables in its plane, or takes it off. */
static void count(struct deal *deal, uint32_t e, bool add)
{
	uint32_t weight = add ? deal->flow[e].weight : -deal->flow[e].weight, from, to;

	if (deal->flow[e].q == OSR_NONE)
		return;
	for (int down = 0; down < 2; down++) {
		size_t c = cable(deal, e, down, deal->flow[e].q);
		uint32_t *first = &deal->first[down][c], *next = deal->next[down];
		uint32_t *prev = deal->prev[down];

		osr_invariant(add || deal->load[down][c] >= deal->flow[e].weight);
		deal->load[down][c] += weight;
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
	if (!deal->room || !nodes_above(deal, e, &from, &to))
		return;
	deal->excess -= excess_at(deal, from, to);
	deal->out[from] += weight;
	deal->in[to] += weight;
	deal->excess += excess_at(deal, from, to);
	osr_invariant(deal->excess >= 0);
}

/* Moves the edge from its plane to plane q; OSR_NONE: to no plane. */
static void give(struct deal *deal, uint32_t e, uint32_t q)
{
	osr_invariant(q == OSR_NONE || (q < deal->group->n_planes && osr_may(deal->group, e, q)));
	count(deal, e, false);
	deal->flow[e].q = q;
	count(deal, e, true);
	deal->steps++;
}

/* Chains --------------------------------------------------------------------------------------- */

static void undo(struct deal *deal)
{
	osr_invariant(deal->n_chain && deal->flow[deal->chain[0]].q == deal->to);
	for (uint32_t i = 1; i < deal->n_chain; i++)
		give(deal, deal->chain[i],
		     deal->flow[deal->chain[i]].q == deal->to ? deal->from : deal->to);
	give(deal, deal->chain[0], deal->was);
}

/*
 * Edge e goes to plane `to`. Where one of its cables then carries more than the limit another edge
 * of it goes to `from`, at whose other end one may have to go back to `to`, and so on, to both
 * sides. The nodes between keep their loads. false: an edge of the chain may not change its plane,
 * and nothing has changed.
 */
static bool exchange(struct deal *deal, uint32_t e, uint32_t to, uint32_t from)
{
	bool good = true;

	osr_invariant(to != from && to != deal->flow[e].q);
	deal->was = deal->flow[e].q;
	deal->to = to;
	deal->from = from;
	deal->n_chain = 1;
	deal->chain[0] = e;
	deal->moved[e] = true;
	give(deal, e, to);
	for (int side = 0; side < 2; side++) {
		uint32_t came = e;
		bool down = side;

		for (; good; down = !down) {
			uint32_t q = deal->flow[came].q, other = q == to ? from : to;
			size_t c = cable(deal, came, down, q);

			if (deal->load[down][c] <= deal->limit)
				break;
			came = deal->first[down][c];
			while (came != OSR_NONE && deal->moved[came]) {
				came = deal->next[down][came];
				deal->steps++;
			}
			if (came == OSR_NONE)
				break;
			good = osr_may(deal->group, came, other);
			if (good) {
				deal->moved[came] = true;
				osr_invariant(deal->n_chain < deal->group->n);
				deal->chain[deal->n_chain++] = came;
				give(deal, came, other);
			}
		}
	}
	for (uint32_t i = 0; i < deal->n_chain; i++)
		deal->moved[deal->chain[i]] = false;
	if (!good)
		undo(deal);
	return good;
}

/* Colouring ------------------------------------------------------------------------------------ */

/* The load of the busier cable of the edge if it were in plane q and nothing else changed. */
static uint32_t load_with(const struct deal *deal, uint32_t e, uint32_t q)
{
	uint32_t most = max(deal->load[0][cable(deal, e, false, q)],
			    deal->load[1][cable(deal, e, true, q)]);

	return most + (deal->flow[e].q == q ? 0 : deal->flow[e].weight);
}

/*
 * Of the first n planes, the one whose busier cable carries least with the edge; of equals, the one
 * with the least sum of both cables.
 */
static uint32_t least_loaded(const struct deal *deal, uint32_t e, uint32_t n)
{
	uint32_t best = OSR_NONE;
	uint64_t least = UINT64_MAX;

	for (uint32_t q = 0; q < n; q++) {
		uint64_t load = (uint64_t)load_with(deal, e, q) << 32 |
				(deal->load[0][cable(deal, e, false, q)] +
				 deal->load[1][cable(deal, e, true, q)]);

		if (osr_may(deal->group, e, q) && load < least) {
			least = load;
			best = q;
		}
	}
	return best;
}

/*
 * A plane for an edge of weight 1, of the first n: the one with most room at both ends, or one with
 * room at one end, and at the other by a chain. The limit is the least that its ends need, and the
 * bound at most.
 */
static bool insert(struct deal *deal, uint32_t e, uint32_t n, uint32_t bound)
{
	uint32_t sum[2] = { 0 }, best = least_loaded(deal, e, n);

	for (uint32_t q = 0; q < n; q++)
		for (int down = 0; down < 2; down++)
			sum[down] += deal->load[down][cable(deal, e, down, q)];
	osr_invariant(n); /* the edge has a plane */
	for (deal->limit = max(sum[0], sum[1]) / n + 1; deal->limit <= bound; deal->limit++) {
		if (load_with(deal, e, best) <= deal->limit) {
			give(deal, e, best);
			return true;
		}
		for (uint32_t a = 0; a < n; a++) {
			if (!osr_may(deal->group, e, a))
				continue;
			for (int down = 1; down >= 0; down--) {
				if (deal->load[!down][cable(deal, e, !down, a)] >= deal->limit)
					continue;
				for (uint32_t b = 0; b < n; b++)
					if (deal->load[down][cable(deal, e, down, b)] <
						    deal->limit &&
					    exchange(deal, e, a, b))
						return true;
			}
		}
	}
	return false;
}

/*
 * Where no cable carries two flows, moves flows from later planes to earlier ones, so that free
 * planes serve others. A chain stays moved if the earlier plane gains an edge by it.
 */
static void gather(struct deal *deal)
{
	bool better = true;

	deal->limit = 1;
	while (better) {
		better = false;
		for (uint32_t e = 0; e < deal->group->n; e++)
			for (uint32_t a = 0; a < deal->flow[e].q; a++)
				for (int down = 0; down < 2; down++) {
					if (a >= deal->flow[e].q ||
					    deal->load[down][cable(deal, e, down, a)] ||
					    !exchange(deal, e, a, deal->flow[e].q))
						continue;
					if (deal->n_chain % 2)
						better = true;
					else
						undo(deal);
				}
	}
}

/* Has every edge a plane that it may take? */
static bool is_dealt(const struct osr_group *group)
{
	for (uint32_t e = 0; e < group->n; e++)
		if (group->flow[e].q >= group->n_planes || !osr_may(group, e, group->flow[e].q))
			return false;
	return true;
}

/* Does no cable carry more than the limit? */
static bool keeps(const struct deal *deal, uint32_t limit)
{
	size_t n_cables = (size_t)deal->group->n_nodes * deal->group->n_planes;

	for (size_t c = 0; c < n_cables; c++)
		if (max(deal->load[0][c], deal->load[1][c]) > limit)
			return false;
	return true;
}

/* Classes in the order of their size, largest first; empty ones go. */
static enum osr_status order_classes(struct osr_group *group, struct osr_arena *scratch)
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

/* Moves edges whose cables carry more than the bound to where they carry less. false: none moved. */
static bool lower_loads(struct deal *deal, uint32_t bound)
{
	bool moved = false;

	for (uint32_t e = 0; e < deal->group->n; e++) {
		uint32_t now = load_with(deal, e, deal->flow[e].q), to;

		if (now <= bound)
			continue;
		to = least_loaded(deal, e, deal->group->n_planes);
		if (load_with(deal, e, to) < now) {
			give(deal, e, to);
			moved = true;
		}
	}
	return moved;
}

enum osr_status osr_colour(struct osr_group *group, struct osr_arena *scratch)
{
	struct osr_arena_mark mark = osr_arena_mark(scratch);
	struct osr_key_flow *flow = group->flow;
	struct deal deal = { .group = group };
	uint32_t max_weight = 0, max_degree = 0, n;
	size_t words = group->may ? group->words : 0;
	enum osr_status st;

	group->n_classes = group->n_planes;
	group->bound = 0;
	st = deal_begin(&deal, scratch);
	/*
	 * The bound: the weight of one edge, or the weights of the edges of a node spread over the
	 * planes that they may take.
	 */
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
		if (max_weight > 1 || !insert(&deal, e, n, group->bound))
			give(&deal, e, least_loaded(&deal, e, group->n_planes));
	if (!st && !group->may && max_weight == 1 && group->bound == 1)
		gather(&deal);
	/*
	 * Every move lowers the sum of squares of the loads, so this ends; the rounds bound the
	 * time.
	 */
	for (uint32_t round = 0; !st && round < MAX_ROUNDS; round++)
		if (!lower_loads(&deal, group->bound))
			break;
	osr_invariant(st || is_dealt(group));
	/* Koenig: where planes are alike and flows too, the bound is reached. */
	osr_invariant(st || group->may || max_weight > 1 || keeps(&deal, group->bound));
	if (!st && !group->may)
		st = order_classes(group, scratch);
	osr_arena_reset(scratch, mark);
	return st;
}

/* Balance -------------------------------------------------------------------------------------- */

enum osr_status osr_balance(const struct osr_group *group, uint32_t limit,
			    struct osr_arena *scratch)
{
	struct osr_arena_mark mark = osr_arena_mark(scratch);
	const struct osr_pgft_tree *tree = group->level.tree;
	uint32_t t = group->level.t, w, n_above;
	struct deal deal = { .group = group, .limit = limit };
	uint64_t steps = STEPS * (uint64_t)group->n + MIN_STEPS;
	bool better = true;

	if (t + 1 >= tree->h)
		return OSR_OK;
	w = tree->w[t + 1];
	n_above = tree->m_product[tree->h] / tree->m_product[t + 1] * w;
	deal.out = osr_calloc(scratch, n_above, sizeof(*deal.out));
	deal.in = osr_calloc(scratch, n_above, sizeof(*deal.in));
	deal.room = osr_calloc(scratch, n_above, sizeof(*deal.room));
	if (osr_arena_failed(scratch, NULL) || deal_begin(&deal, scratch)) {
		osr_arena_reset(scratch, mark);
		return OSR_NOMEM;
	}
	for (uint32_t i = 0; i < n_above; i++) {
		uint32_t s = osr_node(tree, t + 1, i / w, osr_b_above(tree, t, group->b, i % w));

		for (uint32_t q = 0; q < osr_n_planes(tree, t + 1); q++)
			deal.room[i] += osr_up(group->level.pgft, s, q) != OSR_NONE ? limit : 0;
	}
	for (uint32_t e = 0; e < group->n; e++)
		count(&deal, e, true);
	/* Every further round has fewer flows beyond the room than the previous one. */
	while (better) {
		better = false;
		for (uint32_t e = 0; e < group->n; e++) {
			if (deal.steps >= steps)
				break;
			for (uint32_t r = 0; r < group->n_planes; r++) {
				uint32_t from, to;
				int64_t before = deal.excess;

				if (!nodes_above(&deal, e, &from, &to) ||
				    !excess_at(&deal, from, to))
					break;
				if (r == deal.flow[e].q || !osr_may(group, e, r) ||
				    !exchange(&deal, e, r, deal.flow[e].q))
					continue;
				if (deal.excess < before)
					better = true;
				else
					undo(&deal);
			}
		}
	}
	osr_arena_reset(scratch, mark);
	return OSR_OK;
}

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * See fit.h. Turns serve counting; for ordering they are compacted into an edge list with both
 * directions (struct edges), because a fabric has far more turns than routes use.
 */
#include <osmroutes/span.h>
#include <osmroutes/each.h>

#include "core/order/fit.h"

#include <stdlib.h>
#include <string.h>

#include "core/order/order.h"

enum osr_status osr_weights_init(struct osr_weights *weights, const struct osr_fabric *fabric,
				 struct osr_arena *scratch, struct osr_diag *diag)
{
	*weights = (struct osr_weights){ .fabric = fabric, .n_lanes = 1 };
	weights->weight = osr_calloc(scratch, osr_n_turns(fabric), sizeof(*weights->weight));
	return osr_arena_failed(scratch, diag) ? OSR_NOMEM : OSR_OK;
}

/* ---- edge lists ------------------------------------------------------------------------------ */

struct edge {
	uint32_t other;  /* the node at the other end */
	uint32_t weight; /* UINT32_MAX: must not go backward */
};

/* Edges in use, by tail (out) and by head (in). */
struct edges {
	uint32_t n_chans, n;
	uint32_t *out_row, *in_row; /* [n_chans + 1] */
	struct edge *out, *in;      /* [n] */
};

/*
 * The cost of making an edge backward. An edge that must stay forward costs more than all others
 * together.
 */
static int64_t fit_cost_of(struct edge edge)
{
	return edge.weight == UINT32_MAX ? (int64_t)1 << 48 : edge.weight;
}

/* Fills in_row and in from out_row and out. */
static bool fit_reverse(struct edges *edges, struct osr_arena *scratch)
{
	size_t n = edges->n_chans;
	uint32_t *fill;

	edges->in_row = osr_calloc(scratch, n + 2, sizeof(*edges->in_row));
	edges->in = osr_alloc(scratch, edges->n, sizeof(*edges->in));
	if (!edges->in_row || !edges->in)
		return false;
	/* in_row is kept one entry ahead while it is filled, so that it ends up in place. */
	for (uint32_t e = 0; e < edges->n; e++)
		edges->in_row[edges->out[e].other + 2]++;
	fill = edges->in_row + 1;
	for (uint32_t c = 0; c < n; c++)
		fill[c + 1] += fill[c];
	for (uint32_t c = 0; c < n; c++)
		for (uint32_t e = edges->out_row[c]; e < edges->out_row[c + 1]; e++)
			edges->in[fill[edges->out[e].other]++] =
				(struct edge){ c, edges->out[e].weight };
	return true;
}

/* The edges of the graph by tail, in edges->out. */
static bool collect_edges(const struct osr_weights *weights, struct osr_arena *scratch,
			  struct edges *edges)
{
	uint32_t m = weights->fabric->n_channels, n = weights->n_lanes * m,
		 n_turns = osr_n_turns(weights->fabric), at = 0;

	*edges = (struct edges){ .n_chans = n };
	for (size_t e = 0; e < (size_t)weights->n_lanes * n_turns; e++)
		edges->n += weights->weight[e] != 0;
	edges->out_row = osr_alloc(scratch, (size_t)n + 1, sizeof(*edges->out_row));
	edges->out = osr_alloc(scratch, edges->n, sizeof(*edges->out));
	if (!edges->out_row || !edges->out)
		return false;
	for (uint32_t node = 0; node < n; node++) {
		uint32_t c = node % m;
		const uint32_t *weight = weights->weight + (size_t)(node / m) * n_turns;

		edges->out_row[node] = at;
		OSR_EACH_TURN(e, weights->fabric, c)
			if (weight[e])
				edges->out[at++] =
					(struct edge){ (weights->lane ? weights->lane[e] * m : 0) +
							       osr_turn_next(weights->fabric, c, e),
						       weight[e] };
	}
	edges->out_row[n] = at;
	return true;
}

/* ---- topological order ----------------------------------------------------------------------- */

static bool fit_sort_edges(const struct edges *edges, struct osr_arena *scratch, uint32_t *rank)
{
	uint32_t n = edges->n_chans, head = 0, tail = 0;
	uint32_t *in = osr_calloc(scratch, n, sizeof(*in));
	uint32_t *queue = osr_alloc(scratch, n, sizeof(*queue));

	if (osr_arena_failed(scratch, NULL))
		return false;
	for (uint32_t e = 0; e < edges->n; e++)
		in[edges->out[e].other]++;
	for (uint32_t c = 0; c < n; c++)
		if (!in[c])
			queue[tail++] = c;
	while (head < tail) {
		uint32_t c = queue[head];

		rank[c] = head++;
		for (uint32_t e = edges->out_row[c]; e < edges->out_row[c + 1]; e++)
			if (--in[edges->out[e].other] == 0)
				queue[tail++] = edges->out[e].other;
	}
	return tail == n;
}

bool osr_fit_sort(const struct osr_weights *weights, struct osr_arena *scratch, uint32_t *rank)
{
	struct osr_arena_mark mark = osr_arena_mark(scratch);
	struct edges edges;
	bool sorted =
		collect_edges(weights, scratch, &edges) && fit_sort_edges(&edges, scratch, rank);

	if (!osr_arena_failed(scratch, NULL))
		osr_arena_reset(scratch, mark);
	return sorted;
}

/* ---- peeling --------------------------------------------------------------------------------- */

struct peel {
	const struct edges *edges;
	int64_t *in, *out; /* weight from and to nodes not yet placed */
	uint32_t *rank;    /* OSR_NONE: not yet placed */
	uint32_t lo, hi;   /* next free places from the front and from the back */
	uint32_t *stack;   /* [n_chans] placed, its neighbours not looked at */
};

/* Places c in front, and all sources (in front) and sinks (at the back) that this leaves. */
static void peel_place(struct peel *peel, uint32_t c)
{
	const struct edges *edges = peel->edges;
	uint32_t n = 0;

	peel->rank[c] = peel->lo++;
	for (peel->stack[n++] = c; n;) {
		c = peel->stack[--n];
		for (int out = 0; out <= 1; out++) {
			const struct edge *list = out ? edges->out : edges->in;
			const uint32_t *row = out ? edges->out_row : edges->in_row;

			for (uint32_t e = row[c]; e < row[c + 1]; e++) {
				uint32_t o = list[e].other;

				if (peel->rank[o] != OSR_NONE)
					continue;
				(out ? peel->in : peel->out)[o] -= fit_cost_of(list[e]);
				if (peel->in[o] && peel->out[o])
					continue;
				peel->rank[o] = peel->in[o] ? --peel->hi : peel->lo++;
				peel->stack[n++] = o;
			}
		}
	}
}

static bool peel_order(const struct edges *edges, struct osr_arena *scratch, uint32_t *rank)
{
	struct osr_arena_mark mark = osr_arena_mark(scratch);
	uint32_t n = edges->n_chans;
	struct peel peel = { .edges = edges,
			     .in = osr_calloc(scratch, n, sizeof(*peel.in)),
			     .out = osr_calloc(scratch, n, sizeof(*peel.out)),
			     .rank = rank,
			     .hi = n,
			     .stack = osr_alloc(scratch, n, sizeof(*peel.stack)) };

	if (osr_arena_failed(scratch, NULL))
		return false;
	memset(rank, 0xff, n * sizeof(*rank));
	for (uint32_t c = 0; c < n; c++)
		for (uint32_t e = edges->out_row[c]; e < edges->out_row[c + 1]; e++) {
			peel.out[c] += fit_cost_of(edges->out[e]);
			peel.in[edges->out[e].other] += fit_cost_of(edges->out[e]);
		}
	/*
	 * Sources first; nodes without edges are among them. Any rest has a node with most >= 0, so
	 * it ends.
	 */
	for (int64_t least = INT64_MAX, most; peel.lo < peel.hi;
	     least = least / 2 < most ? least / 2 : most) {
		most = 0;
		for (uint32_t c = 0; c < n; c++) {
			int64_t more = peel.in[c] ? peel.out[c] - peel.in[c] : INT64_MAX;

			if (rank[c] != OSR_NONE)
				continue;
			if (more >= least)
				peel_place(&peel, c);
			else
				most = most < more ? more : most;
		}
	}
	osr_arena_reset(scratch, mark);
	return true;
}

/* ---- sifting --------------------------------------------------------------------------------- */

/*
 * Labels rise along the order, so two nodes are compared without counting. A node that moves gets a
 * label between those of the two neighbours it is to lie between: its place among nodes that it
 * shares no edge with does not matter.
 */
struct sift {
	const struct edges *edges;
	struct osr_prng *prng;
	uint64_t *label; /* [n_chans] */
	uint8_t *dirty;  /* [n_chans] a neighbour moved since this node was last placed */
	struct sift_neighbour {
		uint64_t label;
		int64_t gain; /* change of the backward weight when the node moves past it */
	} * near;             /* [largest degree] */
};

#define LABEL_GAP ((uint64_t)1 << 32) /* between neighbours at the beginning of a pass */
#define LABEL_STEP                                                                                 \
	(LABEL_GAP >> 16) /* from the neighbour that a node is put behind, if there is room */

/* Puts c where it costs least; true if that is better than where it was. */
static bool sift_one(struct sift *sift, uint32_t c)
{
	const struct edges *edges = sift->edges;
	uint32_t n = 0, best_at = 0;
	int64_t sum = 0, best = 0, here = 0;
	uint64_t from, room;

	/* The neighbours by place. Lists are short and nearly sorted: insertion. */
	for (int out = 0; out <= 1; out++) {
		const struct edge *list = out ? edges->out : edges->in;
		const uint32_t *row = out ? edges->out_row : edges->in_row;

		for (uint32_t e = row[c]; e < row[c + 1]; e++) {
			uint64_t label = sift->label[list[e].other];
			int64_t cost = fit_cost_of(list[e]);
			uint32_t i = n++;

			for (; i && sift->near[i - 1].label > label; i--)
				sift->near[i] = sift->near[i - 1];
			sift->near[i] = (struct sift_neighbour){ label, out ? cost : -cost };
		}
	}
	/* Cost relative to the far left; place i is between neighbour i-1 and neighbour i. */
	for (uint32_t i = 0; i < n; i++) {
		sum += sift->near[i].gain;
		if (sift->near[i].label < sift->label[c])
			here = sum;
		if (sum < best || (sum == best && sift->prng && osr_prng_next(sift->prng) & 1)) {
			best = sum;
			best_at = i + 1;
		}
	}
	/* Without neighbours any place is as good; with them the first one has a label. */
	if (!n || (best >= here && !sift->prng))
		return false;
	from = best_at ? sift->near[best_at - 1].label : sift->near[0].label - 2 * LABEL_STEP;
	room = best_at && best_at < n ? (sift->near[best_at].label - from) / 2 : LABEL_STEP;
	if (!room)
		return false;
	sift->label[c] = from + (room < LABEL_STEP ? room : LABEL_STEP);
	for (uint32_t e = edges->out_row[c]; e < edges->out_row[c + 1]; e++)
		sift->dirty[edges->out[e].other] = 1;
	for (uint32_t e = edges->in_row[c]; e < edges->in_row[c + 1]; e++)
		sift->dirty[edges->in[e].other] = 1;
	return true;
}

struct sift_place {
	uint64_t label;
	uint32_t node;
};

static int sift_by_label(const void *a, const void *b)
{
	const struct sift_place *x = a, *y = b;

	if (x->label != y->label)
		return x->label < y->label ? -1 : 1;
	return x->node < y->node ? -1 : x->node > y->node;
}

/* Sifts rank[n_chans] for at most `passes` passes; false if memory ran out. */
static bool fit_sift(const struct edges *edges, uint32_t passes, struct osr_prng *prng,
		     struct osr_arena *scratch, uint32_t *rank)
{
	struct osr_arena_mark mark = osr_arena_mark(scratch);
	uint32_t n = edges->n_chans, most = 0;
	struct sift_place *place = osr_alloc(scratch, n, sizeof(*place));
	struct sift sift = { .edges = edges,
			     .prng = prng,
			     .label = osr_alloc(scratch, n, sizeof(*sift.label)),
			     .dirty = osr_alloc(scratch, n, 1) };
	bool moved = true;

	for (uint32_t c = 0; c < n; c++) {
		uint32_t degree = edges->out_row[c + 1] - edges->out_row[c] + edges->in_row[c + 1] -
				  edges->in_row[c];

		most = most < degree ? degree : most;
	}
	sift.near = osr_alloc(scratch, most, sizeof(*sift.near));
	if (osr_arena_failed(scratch, NULL))
		return false;
	memset(sift.dirty, 1, n);
	/*
	 * Only nodes whose surroundings changed are looked at again, in the order that the last
	 * pass left.
	 */
	for (uint32_t pass = 0; pass < passes; pass++) {
		if (!moved)
			break;

		moved = false;
		for (uint32_t c = 0; c < n; c++) {
			place[rank[c]].node = c;
			sift.label[c] = (rank[c] + (uint64_t)1) * LABEL_GAP;
		}
		for (uint32_t i = 0; i < n; i++) {
			uint32_t c = place[i].node;

			moved |= sift.dirty[c] && sift_one(&sift, c);
			sift.dirty[c] = 0;
		}
		for (uint32_t i = 0; i < n; i++)
			place[i].label = sift.label[place[i].node];
		qsort(place, n, sizeof(*place), sift_by_label);
		for (uint32_t i = 0; i < n; i++)
			rank[place[i].node] = i;
	}
	osr_arena_reset(scratch, mark);
	return true;
}

bool osr_fit_sift(const struct osr_weights *weights, struct osr_prng *prng,
		  struct osr_arena *scratch, uint32_t *rank)
{
	struct osr_arena_mark mark = osr_arena_mark(scratch);
	struct edges edges;
	bool sifted = collect_edges(weights, scratch, &edges) && fit_reverse(&edges, scratch) &&
		      fit_sift(&edges, 1, prng, scratch, rank);

	if (!osr_arena_failed(scratch, NULL))
		osr_arena_reset(scratch, mark);
	return sifted;
}

#define SIFT_PASSES 3 /* 1 and 20 gave the same tables in 31 of 32 cases */
#define DENSE 5       /* edges per channel: from there on up-down has always been better */

enum osr_status osr_fit_order(const struct osr_weights *weights, const uint32_t *roots,
			      struct osr_arena *scratch, uint32_t *rank, struct osr_diag *diag)
{
	struct osr_arena_mark mark = osr_arena_mark(scratch);
	uint32_t n = weights->fabric->n_switches, m = weights->fabric->n_channels,
		 *place = osr_alloc(scratch, n, sizeof(*place)),
		 *by_place = osr_alloc(scratch, n, sizeof(*by_place)),
		 *key = osr_alloc(scratch, m, sizeof(*key)),
		 *from = osr_alloc(scratch, m, sizeof(*from)),
		 *to = osr_alloc(scratch, m, sizeof(*to)), *peeled = from;
	int64_t less = 0; /* backward weight that the other order saves */
	struct edges edges;

	if (osr_arena_failed(scratch, diag))
		return OSR_NOMEM;
	if (!collect_edges(weights, scratch, &edges) || !fit_reverse(&edges, scratch))
		goto no_memory;
	if (fit_sort_edges(&edges, scratch, rank)) {
		osr_arena_reset(scratch, mark);
		return OSR_OK;
	}
	osr_order_number(weights->fabric, roots, place, by_place);
	osr_span_rank(weights->fabric, place, key);
	osr_order_place(key, m, from, to, rank);
	if (!fit_sift(&edges, SIFT_PASSES, NULL, scratch, rank))
		goto no_memory;
	if (edges.n <= DENSE * m) {
		if (!peel_order(&edges, scratch, peeled) ||
		    !fit_sift(&edges, SIFT_PASSES, NULL, scratch, peeled))
			goto no_memory;
		for (uint32_t c = 0; c < m; c++)
			for (uint32_t e = edges.out_row[c]; e < edges.out_row[c + 1]; e++) {
				uint32_t o = edges.out[e].other;

				less += ((rank[o] < rank[c]) - (peeled[o] < peeled[c])) *
					fit_cost_of(edges.out[e]);
			}
		/* Of equals up-down: it has a place for channels without edges as well. */
		if (less > 0)
			memcpy(rank, peeled, m * sizeof(*rank));
	}
	osr_arena_reset(scratch, mark);
	return OSR_OK;

no_memory:
	osr_arena_failed(scratch, diag);
	return OSR_NOMEM;
}

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Source: Samuel, Zahavi, Keslassy, Routing Keys, section II-A, "Compressed key": the demand falls apart into
 * matchings, each goes to a plane (a middle switch) of its own.
 *
 * DIFFERS: matchings of largest cardinality, taken out one after the other, may be more than there are planes although
 * a routing without contention exists. Here edge after edge gets a colour that is free at both ends, or is made free by
 * exchanging two colours along a path, as in Koenig's proof; so the largest degree is reached exactly, and with it
 * the least contention: ceil(degree / planes).
 *
 * Where cables are missing the planes are not alike, and some path may not change. What finds no place then
 * goes to the least loaded plane.
 */
#include "colour.h"

#include <string.h>

struct work {
	const struct osr__demand *d;
	uint32_t *class_of;
	uint32_t bound;      /* some cable carries as much at least */
	uint32_t degree;     /* edges of a node at most */
	uint32_t max_weight; /* of an edge */
	/* [n_nodes * n_slots] edge that has this slot of this node, or OSR_NONE */
	uint32_t *at[2]; /* left, right */
	uint32_t n_slots;
	uint32_t *load
		[2]; /* [n_nodes * n_planes] weight on the cable up of a left node, down of a right one */
};

static uint32_t max(uint32_t a, uint32_t b)
{
	return a > b ? a : b;
}

static uint32_t end_of(const struct work *w, uint32_t e, bool right)
{
	return right ? w->d->edge[e].right : w->d->edge[e].left;
}

/* What an edge, or the edges of a node spread over the planes they may take, load some cable with at least. */
static enum osr_status find_bounds(struct work *w, struct osr_arena *scratch)
{
	const struct osr__demand *demand = w->d;
	size_t n = demand->n_nodes, words = demand->may ? demand->words : 0;

	for (int right = 0; right < 2; right++) {
		uint32_t *weight = osr_calloc(scratch, n, sizeof(*weight));
		uint32_t *degree = osr_calloc(scratch, n, sizeof(*degree));
		uint64_t *planes = osr_calloc(scratch, n * words + 1, sizeof(*planes));

		if (osr_arena_failed(scratch, NULL))
			return OSR_NOMEM;
		for (uint32_t e = 0; e < demand->n_edges; e++) {
			uint32_t v = end_of(w, e, right);

			weight[v] += demand->edge[e].weight;
			w->degree = max(w->degree, ++degree[v]);
			w->max_weight = max(w->max_weight, demand->edge[e].weight);
			for (size_t k = 0; k < words; k++)
				planes[v * words + k] |= demand->may[e * words + k];
		}
		for (size_t v = 0; v < n; v++) {
			uint32_t n_planes = words ? 0 : demand->n_planes;

			for (size_t k = 0; k < words; k++)
				n_planes += (uint32_t)__builtin_popcountll(planes[v * words + k]);
			if (weight[v])
				w->bound = max(w->bound, (weight[v] + n_planes - 1) / n_planes);
		}
	}
	w->bound = max(w->bound, w->max_weight);
	return OSR_OK;
}

/* Weights ----------------------------------------------------------------------------------------- */

/* What the two cables of an edge would carry if it took plane q besides what is there. */
static uint32_t load_with(const struct work *w, uint32_t e, uint32_t q)
{
	const struct osr__edge *edge = &w->d->edge[e];

	return edge->weight + max(w->load[0][(size_t)edge->left * w->d->n_planes + q],
				  w->load[1][(size_t)edge->right * w->d->n_planes + q]);
}

/* Plane q is what the edge loads from now on, and no other. */
static void colour_move(struct work *w, uint32_t e, uint32_t q)
{
	uint32_t weight = w->d->edge[e].weight, was = w->class_of[e];

	for (int right = 0; right < 2; right++) {
		uint32_t *load = w->load[right] + (size_t)end_of(w, e, right) * w->d->n_planes;

		if (was != OSR_NONE)
			load[was] -= weight;
		load[q] += weight;
	}
	w->class_of[e] = q;
}

static uint32_t least_loaded(const struct work *w, uint32_t e)
{
	uint32_t best = OSR_NONE, least = UINT32_MAX;

	for (uint32_t q = 0; q < w->d->n_planes; q++) {
		uint32_t load = osr__may(w->d, e, q) ? load_with(w, e, q) : UINT32_MAX;

		if (load < least) {
			least = load;
			best = q;
		}
	}
	return best;
}

/*
 * Edges whose cables carry more than the bound move to where they carry less, as long as that
 * helps. Every move lowers the sum of squares, so it ends; `rounds` bounds the time.
 */
static void colour_spread(struct work *w, uint32_t rounds)
{
	bool moved = true;

	for (uint32_t e = 0; e < w->d->n_edges; e++)
		if (w->class_of[e] == OSR_NONE)
			colour_move(w, e, least_loaded(w, e));
	while (moved && rounds--) {
		moved = false;
		for (uint32_t e = 0; e < w->d->n_edges; e++) {
			uint32_t q = w->class_of[e], to;
			uint32_t now = load_with(w, e, q) - w->d->edge[e].weight;

			if (now <= w->bound)
				continue;
			to = least_loaded(w, e);
			if (to == q || load_with(w, e, to) >= now)
				continue;
			colour_move(w, e, to);
			moved = true;
		}
	}
}

static uint32_t colour_largest(const uint32_t *list, size_t n)
{
	uint32_t most = 0;

	for (size_t i = 0; i < n; i++)
		most = max(most, list[i]);
	return most;
}

/* Classes in the order of their size, largest first; empty ones go. */
static enum osr_status order_classes(const struct osr__demand *demand, struct osr_arena *scratch,
				     uint32_t *class_of, uint32_t *n_classes)
{
	uint32_t *size = osr_calloc(scratch, demand->n_planes, sizeof(*size));
	uint32_t *rank = osr_calloc(scratch, demand->n_planes, sizeof(*rank));

	if (osr_arena_failed(scratch, NULL))
		return OSR_NOMEM;
	for (uint32_t e = 0; e < demand->n_edges; e++)
		size[class_of[e]] += demand->edge[e].weight;
	*n_classes = 0;
	for (uint32_t c = 0; c < demand->n_planes; c++) {
		*n_classes += size[c] > 0;
		for (uint32_t b = 0; b < demand->n_planes; b++)
			rank[c] += size[b] > size[c] || (size[b] == size[c] && b < c);
	}
	for (uint32_t e = 0; e < demand->n_edges; e++)
		class_of[e] = rank[class_of[e]];
	return OSR_OK;
}

/* Slots ---------------------------------------------------------------------------------------- */

/* Slot q + i * n_planes is place i of plane q: several flows may share a cable. */
static void colour_put(struct work *w, uint32_t e, uint32_t slot)
{
	w->class_of[e] = slot;
	for (int right = 0; right < 2; right++)
		w->at[right][(size_t)end_of(w, e, right) * w->n_slots + slot] = e;
}

/*
 * The path of slots a and b in turn that begins at one end of e, where b is free: into
 * path[], and how long it is; OSR_NONE if some edge of it may not change.
 */
static uint32_t find_path(const struct work *w, uint32_t e, bool right, uint32_t a, uint32_t b,
			  uint32_t *path)
{
	for (uint32_t n = 0, from = a, to = b;; right = !right) {
		uint32_t swap = from;

		e = w->at[right][(size_t)end_of(w, e, right) * w->n_slots + from];
		if (e == OSR_NONE)
			return n;
		if (!osr__may(w->d, e, to % w->d->n_planes))
			return OSR_NONE;
		path[n++] = e;
		from = to;
		to = swap;
	}
}

static void colour_exchange(struct work *w, uint32_t a, uint32_t b, const uint32_t *path,
			    uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		for (int right = 0; right < 2; right++)
			w->at[right][(size_t)end_of(w, path[i], right) * w->n_slots +
				     w->class_of[path[i]]] = OSR_NONE;
	for (uint32_t i = 0; i < n; i++)
		colour_put(w, path[i], i % 2 ? a : b);
}

/*
 * A slot for an edge: one that is free at both ends, or free at one end and made free at the other by exchanging two
 * slots along a path, which cannot come back to the first end.
 */
static bool insert(struct work *w, uint32_t e, uint32_t *path)
{
	const uint32_t *at[2] = { w->at[0] + (size_t)w->d->edge[e].left * w->n_slots,
				  w->at[1] + (size_t)w->d->edge[e].right * w->n_slots };

	for (uint32_t a = 0; a < w->n_slots; a++)
		if (at[0][a] == OSR_NONE && at[1][a] == OSR_NONE &&
		    osr__may(w->d, e, a % w->d->n_planes)) {
			colour_put(w, e, a);
			return true;
		}
	for (uint32_t a = 0; a < w->n_slots; a++)
		for (int right = 1; right >= 0 && osr__may(w->d, e, a % w->d->n_planes); right--)
			for (uint32_t b = 0; at[!right][a] == OSR_NONE && b < w->n_slots; b++) {
				uint32_t n = at[right][b] == OSR_NONE
						     ? find_path(w, e, right, a, b, path)
						     : OSR_NONE;

				if (n == OSR_NONE)
					continue;
				colour_exchange(w, a, b, path, n);
				colour_put(w, e, a);
				return true;
			}
	return false;
}

/*
 * Fewer flows in later slots: what is left of a plane serves others. An edge, and what it meets on a path of its slot
 * and an earlier one, change if the earlier slot gains by it.
 */
static void gather(struct work *w, uint32_t *path)
{
	bool better = true;

	while (better) {
		better = false;
		for (uint32_t e = 0; e < w->d->n_edges; e++)
			for (uint32_t a = 0; a < w->class_of[e]; a++)
				for (int right = 0; right < 2; right++) {
					uint32_t b = w->class_of[e], n;

					if (w->at[right][(size_t)end_of(w, e, right) * w->n_slots +
							 a] != OSR_NONE)
						continue;
					n = find_path(w, e, right, b, a, path);
					if (n % 2 == 0)
						continue;
					colour_exchange(w, b, a, path, n);
					better = true;
				}
	}
}

enum osr_status osr__colour(const struct osr__demand *demand, struct osr_arena *scratch,
			    uint32_t *class_of, struct osr__colouring *colouring)
{
	struct osr_arena_mark mark = osr_arena_mark(scratch);
	size_t n_loads = (size_t)demand->n_nodes * demand->n_planes, n;
	struct work w = { .d = demand, .class_of = class_of };
	uint32_t *path;
	enum osr_status st;

	*colouring = (struct osr__colouring){ 0 };
	if (!demand->n_edges)
		return OSR_OK;
	memset(class_of, 0xff, demand->n_edges * sizeof(*class_of));
	st = find_bounds(&w, scratch);
	/*
	 * Flows of weight 1: a slot for each, where it can have one. Where planes are alike as many slots as the
	 * largest degree suffice; else each plane has as many places as the bound.
	 */
	w.n_slots = w.max_weight != 1 ? 0 : demand->may ? w.bound * demand->n_planes : w.degree;
	n = (size_t)demand->n_nodes * w.n_slots;
	path = osr_alloc(scratch, demand->n_edges, sizeof(*path));
	for (int right = 0; right < 2; right++) {
		w.at[right] = osr_alloc(scratch, n, sizeof(uint32_t));
		w.load[right] = osr_calloc(scratch, n_loads, sizeof(uint32_t));
	}
	if (st || osr_arena_failed(scratch, NULL)) {
		osr_arena_reset(scratch, mark);
		return OSR_NOMEM;
	}
	memset(w.at[0], 0xff, n * sizeof(uint32_t));
	memset(w.at[1], 0xff, n * sizeof(uint32_t));
	for (uint32_t e = 0; w.n_slots && e < demand->n_edges; e++)
		insert(&w, e, path);
	if (w.n_slots && !demand->may)
		gather(&w, path);
	/* Slots are places of planes; what has none goes to the least loaded plane. */
	for (uint32_t e = 0; e < demand->n_edges; e++) {
		uint32_t slot = class_of[e];

		class_of[e] = OSR_NONE;
		if (slot != OSR_NONE)
			colour_move(&w, e, slot % demand->n_planes);
	}
	if (demand->may || w.max_weight > 1)
		colour_spread(&w, 64);
	colouring->bound = w.bound;
	colouring->load =
		max(colour_largest(w.load[0], n_loads), colour_largest(w.load[1], n_loads));
	colouring->n_classes = demand->n_planes;
	if (!demand->may)
		st = order_classes(demand, scratch, class_of, &colouring->n_classes);
	osr_arena_reset(scratch, mark);
	return st;
}

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Source: Samuel, Zahavi, Keslassy, Routing Keys, section II-A, "Compressed key": matching after
 * matching is taken out of the demand, each goes to a plane (a middle switch) of its own.
 *
 * DIFFERS: a matching of largest cardinality need not cover the nodes of largest degree, and then
 * more matchings are needed than there are planes although a routing without contention exists. Ours
 * covers every node that has as many edges left as there are matchings to come; so the largest
 * degree is reached exactly, and with it the least contention: ceil(degree / planes).
 *
 * Where cables are missing the planes are not alike. Then each plane in turn takes what it may; what
 * is left over finds a place along an alternating path of two planes (as in Koenig's proof), or on
 * the least loaded plane.
 */
#include "colour.h"

#include <string.h>

struct work {
	const struct osr__demand *d;
	uint32_t *class_of;
	struct osr__match m;
	uint32_t *left, *right; /* [n_nodes] edges without a class */
	/* [n_nodes * n_slots] edge that has this slot of this node, or OSR_NONE */
	uint32_t *at_l, *at_r;
	uint32_t n_slots;
};

static uint32_t max(uint32_t a, uint32_t b)
{
	return a > b ? a : b;
}

static enum osr_status colour_begin(struct work *w, struct osr_arena *scratch)
{
	const struct osr__demand *demand = w->d;

	w->left = osr_calloc(scratch, demand->n_nodes, sizeof(uint32_t));
	w->right = osr_calloc(scratch, demand->n_nodes, sizeof(uint32_t));
	if (osr_arena_failed(scratch, NULL))
		return OSR_NOMEM;
	for (uint32_t e = 0; e < demand->n_edges; e++) {
		w->left[demand->edge[e].left]++;
		w->right[demand->edge[e].right]++;
		w->class_of[e] = OSR_NONE;
	}
	return osr__match_init(&w->m, demand->n_nodes, demand->edge, demand->n_edges, scratch);
}

/* The edges of the matching get a class and leave the graph. */
static void take_matching(struct work *w, uint32_t class)
{
	for (uint32_t l = 0; l < w->d->n_nodes; l++) {
		uint32_t e = w->m.mate_l[l];

		if (e == OSR_NONE)
			continue;
		w->class_of[e] = class;
		w->m.off[e] = true;
		w->left[l]--;
		w->right[w->d->edge[e].right]--;
	}
}

/* Weights ----------------------------------------------------------------------------------------- */

/* Weights of single cables: [n_nodes * n_planes] for each side. */
struct loads {
	uint32_t *up, *down;
};

static enum osr_status add_up(const struct work *w, struct osr_arena *scratch, struct loads *x)
{
	const struct osr__demand *demand = w->d;
	size_t n = (size_t)demand->n_nodes * demand->n_planes;

	x->up = osr_calloc(scratch, n, sizeof(uint32_t));
	x->down = osr_calloc(scratch, n, sizeof(uint32_t));
	if (osr_arena_failed(scratch, NULL))
		return OSR_NOMEM;
	for (uint32_t e = 0; e < demand->n_edges; e++) {
		if (w->class_of[e] == OSR_NONE)
			continue;
		x->up[(size_t)demand->edge[e].left * demand->n_planes + w->class_of[e]] +=
			demand->edge[e].weight;
		x->down[(size_t)demand->edge[e].right * demand->n_planes + w->class_of[e]] +=
			demand->edge[e].weight;
	}
	return OSR_OK;
}

/* What the two cables of an edge would carry if it took plane q besides what is there. */
static uint32_t load_with(const struct work *w, const struct loads *x, uint32_t e, uint32_t q)
{
	const struct osr__edge *edge = &w->d->edge[e];

	return edge->weight + max(x->up[(size_t)edge->left * w->d->n_planes + q],
				  x->down[(size_t)edge->right * w->d->n_planes + q]);
}

static void colour_move(struct work *w, struct loads *x, uint32_t e, uint32_t q)
{
	const struct osr__edge *edge = &w->d->edge[e];
	size_t up = (size_t)edge->left * w->d->n_planes;
	size_t down = (size_t)edge->right * w->d->n_planes;

	if (w->class_of[e] != OSR_NONE) {
		x->up[up + w->class_of[e]] -= edge->weight;
		x->down[down + w->class_of[e]] -= edge->weight;
	}
	w->class_of[e] = q;
	x->up[up + q] += edge->weight;
	x->down[down + q] += edge->weight;
}

static uint32_t least_loaded(const struct work *w, const struct loads *x, uint32_t e)
{
	uint32_t best = OSR_NONE, least = UINT32_MAX;

	for (uint32_t q = 0; q < w->d->n_planes; q++) {
		uint32_t load = osr__may(w->d, e, q) ? load_with(w, x, e, q) : UINT32_MAX;

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
static void colour_spread(struct work *w, struct loads *x, uint32_t bound, uint32_t rounds)
{
	bool moved = true;

	for (uint32_t e = 0; e < w->d->n_edges; e++)
		if (w->class_of[e] == OSR_NONE)
			colour_move(w, x, e, least_loaded(w, x, e));
	while (moved && rounds--) {
		moved = false;
		for (uint32_t e = 0; e < w->d->n_edges; e++) {
			uint32_t q = w->class_of[e], to;
			uint32_t now = load_with(w, x, e, q) - w->d->edge[e].weight;

			if (now <= bound)
				continue;
			to = least_loaded(w, x, e);
			if (to == q || load_with(w, x, e, to) >= now)
				continue;
			colour_move(w, x, e, to);
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
static uint32_t order_classes(const struct osr__demand *demand, uint32_t *class_of, uint32_t *size,
			      uint32_t *rank)
{
	uint32_t n = 0;

	memset(size, 0, demand->n_planes * sizeof(*size));
	for (uint32_t e = 0; e < demand->n_edges; e++)
		size[class_of[e]] += demand->edge[e].weight;
	for (uint32_t c = 0; c < demand->n_planes; c++) {
		rank[c] = 0;
		n += size[c] > 0;
		for (uint32_t b = 0; b < demand->n_planes; b++)
			rank[c] += size[b] > size[c] || (size[b] == size[c] && b < c);
	}
	for (uint32_t e = 0; e < demand->n_edges; e++)
		class_of[e] = rank[class_of[e]];
	return n;
}

/*
 * What an edge, or the edges of a node spread over the planes they may take, load some cable with
 * at least.
 */
static enum osr_status lower_bound(const struct osr__demand *demand, struct osr_arena *scratch,
				   uint32_t *bound, bool *unit_weights)
{
	size_t n = (size_t)2 * demand->n_nodes;
	uint32_t *weight = osr_calloc(scratch, n, sizeof(uint32_t));
	uint64_t *planes = osr_calloc(scratch, n * demand->words + 1, sizeof(uint64_t));

	if (osr_arena_failed(scratch, NULL))
		return OSR_NOMEM;
	*bound = 0;
	*unit_weights = true;
	for (uint32_t e = 0; e < demand->n_edges; e++) {
		size_t node[2] = { demand->edge[e].left, demand->n_nodes + demand->edge[e].right };

		for (unsigned i = 0; i < 2; i++) {
			weight[node[i]] += demand->edge[e].weight;
			for (uint32_t k = 0; demand->may && k < demand->words; k++)
				planes[node[i] * demand->words + k] |=
					demand->may[(size_t)e * demand->words + k];
		}
		*bound = max(*bound, demand->edge[e].weight);
		*unit_weights &= demand->edge[e].weight == 1;
	}
	for (size_t v = 0; v < n; v++) {
		uint32_t n_planes = demand->may ? 0 : demand->n_planes;

		for (uint32_t k = 0; demand->may && k < demand->words; k++)
			n_planes += (uint32_t)__builtin_popcountll(planes[v * demand->words + k]);
		if (weight[v])
			*bound = max(*bound, (weight[v] + n_planes - 1) / n_planes);
	}
	return OSR_OK;
}

/* Slots ---------------------------------------------------------------------------------------- */

/*
 * Several flows may share a cable: slot q + i * n_planes is place i of plane q. Where planes are alike as many slots as
 * the largest degree suffice; else each plane has as many places as the bound.
 */
static enum osr_status make_slots(struct work *w, uint32_t n_slots, struct osr_arena *scratch)
{
	size_t n = (size_t)w->d->n_nodes * n_slots;

	w->n_slots = n_slots;
	w->at_l = osr_alloc(scratch, n, sizeof(uint32_t));
	w->at_r = osr_alloc(scratch, n, sizeof(uint32_t));
	if (osr_arena_failed(scratch, NULL))
		return OSR_NOMEM;
	memset(w->at_l, 0xff, n * sizeof(uint32_t));
	memset(w->at_r, 0xff, n * sizeof(uint32_t));
	return OSR_OK;
}

static bool may_any(const struct work *w, const uint32_t *edge, uint32_t n, uint32_t q)
{
	for (uint32_t i = 0; i < n; i++)
		if (osr__may(w->d, edge[i], q))
			return true;
	return false;
}

/* One slot of plane q more, or less, for every node of which some edge may take it: l and r [n_nodes]. */
static void count_slot(const struct work *w, uint32_t q, uint32_t more, uint32_t *l, uint32_t *r)
{
	const struct osr__match *m = &w->m;

	for (uint32_t v = 0; v < w->d->n_nodes; v++) {
		if (may_any(w, m->left_edge + m->left_row[v], m->left_row[v + 1] - m->left_row[v],
			    q))
			l[v] += more;
		if (may_any(w, m->right_edge + m->right_row[v],
			    m->right_row[v + 1] - m->right_row[v], q))
			r[v] += more;
	}
}

static void colour_put(struct work *w, uint32_t e, uint32_t slot)
{
	w->class_of[e] = slot;
	w->at_l[(size_t)w->d->edge[e].left * w->n_slots + slot] = e;
	w->at_r[(size_t)w->d->edge[e].right * w->n_slots + slot] = e;
}

/* Slot after slot takes a matching of the edges that may have it. */
static void slot_by_slot(struct work *w, uint32_t *l, uint32_t *r)
{
	const struct osr__demand *demand = w->d;

	for (uint32_t s = 0; s < w->n_slots; s++)
		count_slot(w, s % demand->n_planes, 1, l, r);
	for (uint32_t s = 0; s < w->n_slots; s++) {
		uint32_t q = s % demand->n_planes;

		for (uint32_t e = 0; e < demand->n_edges; e++)
			w->m.off[e] = w->class_of[e] != OSR_NONE || !osr__may(demand, e, q);
		/* Nodes that have as many edges left as there are slots for them. */
		for (uint32_t v = 0; v < demand->n_nodes; v++) {
			w->m.must_l[v] = w->left[v] && w->left[v] >= l[v];
			w->m.must_r[v] = w->right[v] && w->right[v] >= r[v];
		}
		osr__match_solve(&w->m);
		take_matching(w, s);
		count_slot(w, q, -1u, l, r);
	}
	for (uint32_t e = 0; e < demand->n_edges; e++)
		if (w->class_of[e] != OSR_NONE)
			colour_put(w, e, w->class_of[e]);
}

/*
 * The path of slots a and b in turn that begins at the right node of e, where b is free: into
 * path[], and how long it is; OSR_NONE if some edge of it may not change.
 */
static uint32_t find_path(const struct work *w, uint32_t e, uint32_t a, uint32_t b, uint32_t *path)
{
	const struct osr__demand *demand = w->d;
	uint32_t v = demand->edge[e].right, n = 0, from = a, to = b;
	bool right = true;

	for (;;) {
		uint32_t x = (right ? w->at_r : w->at_l)[(size_t)v * w->n_slots + from];
		uint32_t swap = from;

		if (x == OSR_NONE)
			return n;
		if (!osr__may(demand, x, to % demand->n_planes))
			return OSR_NONE;
		path[n++] = x;
		v = right ? demand->edge[x].left : demand->edge[x].right;
		right = !right;
		from = to;
		to = swap;
	}
}

static void colour_exchange(struct work *w, uint32_t a, uint32_t b, const uint32_t *path,
			    uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		uint32_t e = path[i];
		uint32_t slot = w->class_of[e];

		w->at_l[(size_t)w->d->edge[e].left * w->n_slots + slot] = OSR_NONE;
		w->at_r[(size_t)w->d->edge[e].right * w->n_slots + slot] = OSR_NONE;
		w->class_of[e] = OSR_NONE;
	}
	for (uint32_t i = 0; i < n; i++)
		colour_put(w, path[i], i % 2 ? a : b);
}

/*
 * A slot for an edge that was left over: one that is free at both ends, or made free at the right
 * end by exchanging two slots along a path. It cannot come back to the left node, where a is free.
 */
static bool insert(struct work *w, uint32_t e, uint32_t *path)
{
	const uint32_t *l = w->at_l + (size_t)w->d->edge[e].left * w->n_slots;
	const uint32_t *r = w->at_r + (size_t)w->d->edge[e].right * w->n_slots;

	for (uint32_t a = 0; a < w->n_slots; a++) {
		if (l[a] != OSR_NONE || !osr__may(w->d, e, a % w->d->n_planes))
			continue;
		if (r[a] == OSR_NONE) {
			colour_put(w, e, a);
			return true;
		}
		for (uint32_t b = 0; b < w->n_slots; b++) {
			uint32_t n = r[b] == OSR_NONE ? find_path(w, e, a, b, path) : OSR_NONE;

			if (n == OSR_NONE)
				continue;
			colour_exchange(w, a, b, path, n);
			colour_put(w, e, a);
			return true;
		}
	}
	return false;
}

/* Flows of weight 1: a matching for each slot, and what is left over where it can be. */
static enum osr_status colour_units(struct work *w, uint32_t bound, struct osr_arena *scratch)
{
	const struct osr__demand *demand = w->d;
	uint32_t *l = osr_calloc(scratch, demand->n_nodes, sizeof(uint32_t));
	uint32_t *r = osr_calloc(scratch, demand->n_nodes, sizeof(uint32_t));
	uint32_t *path = osr_alloc(scratch, demand->n_edges, sizeof(uint32_t));
	uint32_t degree = max(colour_largest(w->left, demand->n_nodes),
			      colour_largest(w->right, demand->n_nodes));

	if (osr_arena_failed(scratch, NULL) ||
	    make_slots(w, demand->may ? bound * demand->n_planes : degree, scratch))
		return OSR_NOMEM;
	slot_by_slot(w, l, r);
	for (uint32_t e = 0; e < demand->n_edges; e++)
		if (w->class_of[e] == OSR_NONE)
			insert(w, e, path);
	for (uint32_t e = 0; e < demand->n_edges; e++)
		if (w->class_of[e] != OSR_NONE)
			w->class_of[e] %= demand->n_planes;
	return OSR_OK;
}

static enum osr_status colour_all(struct work *w, struct osr_arena *scratch,
				  struct osr__colouring *colouring)
{
	const struct osr__demand *demand = w->d;
	size_t n = (size_t)demand->n_nodes * demand->n_planes;
	uint32_t *size = osr_alloc(scratch, demand->n_planes, sizeof(uint32_t));
	uint32_t *rank = osr_alloc(scratch, demand->n_planes, sizeof(uint32_t));
	enum osr_status st;
	bool unit_weights;
	struct loads x;

	if (osr_arena_failed(scratch, NULL))
		return OSR_NOMEM;
	st = lower_bound(demand, scratch, &colouring->bound, &unit_weights);
	if (!st && unit_weights)
		st = colour_units(w, colouring->bound, scratch);
	if (st || add_up(w, scratch, &x))
		return OSR_NOMEM;
	if (demand->may || !unit_weights)
		colour_spread(w, &x, colouring->bound, 64);
	colouring->load = max(colour_largest(x.up, n), colour_largest(x.down, n));
	colouring->n_classes =
		demand->may ? demand->n_planes : order_classes(demand, w->class_of, size, rank);
	return OSR_OK;
}

enum osr_status osr__colour(const struct osr__demand *demand, struct osr_arena *scratch,
			    uint32_t *class_of, struct osr__colouring *colouring)
{
	struct osr_arena_mark mark = osr_arena_mark(scratch);
	struct work w = { .d = demand, .class_of = class_of };
	enum osr_status st;

	*colouring = (struct osr__colouring){ 0 };
	if (!demand->n_edges)
		return OSR_OK;
	st = colour_begin(&w, scratch);
	if (!st)
		st = colour_all(&w, scratch, colouring);
	osr_arena_reset(scratch, mark);
	return st;
}

/*
 * Source: Hopcroft and Karp, An n^(5/2) algorithm for maximum matchings in bipartite graphs (SIAM
 * J. Comput. 2, 1973), three times over: from the left nodes that must be covered, then the right
 * ones, then all. A node that has a mate keeps one while paths are augmented; and if some matching
 * covers a set on the left and another one a set on the right, then one covers both (Mendelsohn and
 * Dulmage 1958): from a right node of its set an alternating path leads to a left node without a
 * mate, or to a right node outside the set, whose mate it may have.
 */
static void by_node(uint32_t n_nodes, const struct osr__edge *edge, uint32_t n_edges, bool right,
		    uint32_t *row, uint32_t *list)
{
	memset(row, 0, (n_nodes + 1) * sizeof(*row));
	for (uint32_t e = 0; e < n_edges; e++)
		row[right ? edge[e].right : edge[e].left]++;
	for (uint32_t v = 0, at = 0; v <= n_nodes; v++) {
		uint32_t n = v < n_nodes ? row[v] : 0;

		row[v] = at;
		at += n;
	}
	for (uint32_t e = 0; e < n_edges; e++)
		list[row[right ? edge[e].right : edge[e].left]++] = e;
	for (uint32_t v = n_nodes; v > 0; v--)
		row[v] = row[v - 1];
	row[0] = 0;
}

enum osr_status osr__match_init(struct osr__match *m, uint32_t n_nodes,
				const struct osr__edge *edge, uint32_t n_edges,
				struct osr_arena *scratch)
{
	uint32_t **lists[] = { &m->mate_l, &m->mate_r, &m->depth, &m->cursor, &m->queue };
	bool **flags[] = { &m->must_l, &m->must_r, &m->seen };

	*m = (struct osr__match){ .n_nodes = n_nodes, .n_edges = n_edges, .edge = edge };
	m->left_row = osr_alloc(scratch, n_nodes + 1, sizeof(uint32_t));
	m->right_row = osr_alloc(scratch, n_nodes + 1, sizeof(uint32_t));
	m->left_edge = osr_alloc(scratch, n_edges, sizeof(uint32_t));
	m->right_edge = osr_alloc(scratch, n_edges, sizeof(uint32_t));
	m->off = osr_calloc(scratch, n_edges, sizeof(bool));
	if (osr_arena_failed(scratch, NULL))
		return OSR_NOMEM;
	for (unsigned i = 0; i < sizeof(lists) / sizeof(*lists); i++)
		if (!(*lists[i] = osr_alloc(scratch, n_nodes, sizeof(uint32_t))))
			return OSR_NOMEM;
	for (unsigned i = 0; i < sizeof(flags) / sizeof(*flags); i++)
		if (!(*flags[i] = osr_calloc(scratch, n_nodes, sizeof(bool))))
			return OSR_NOMEM;
	by_node(n_nodes, edge, n_edges, false, m->left_row, m->left_edge);
	by_node(n_nodes, edge, n_edges, true, m->right_row, m->right_edge);
	return OSR_OK;
}

/* Hopcroft and Karp ---------------------------------------------------------------------------- */

static bool is_root(const struct osr__match *m, uint32_t l, bool must_only)
{
	return m->mate_l[l] == OSR_NONE && (!must_only || m->must_l[l]);
}

/* Depths of left nodes on alternating paths from the roots; is there a path to augment? */
static bool find_depths(struct osr__match *m, bool must_only)
{
	uint32_t head = 0, tail = 0;
	bool found = false;

	for (uint32_t l = 0; l < m->n_nodes; l++) {
		m->depth[l] = OSR_NONE;
		m->cursor[l] = m->left_row[l];
		if (is_root(m, l, must_only)) {
			m->depth[l] = 0;
			m->queue[tail++] = l;
		}
	}
	while (head < tail) {
		uint32_t l = m->queue[head++];

		for (uint32_t i = m->left_row[l]; i < m->left_row[l + 1]; i++) {
			uint32_t e = m->left_edge[i], mate = m->mate_r[m->edge[e].right];

			if (m->off[e])
				continue;
			if (mate == OSR_NONE) {
				found = true;
			} else if (m->depth[m->edge[mate].left] == OSR_NONE) {
				m->depth[m->edge[mate].left] = m->depth[l] + 1;
				m->queue[tail++] = m->edge[mate].left;
			}
		}
	}
	return found;
}

static bool augment(struct osr__match *m, uint32_t l)
{
	for (; m->cursor[l] < m->left_row[l + 1]; m->cursor[l]++) {
		uint32_t e = m->left_edge[m->cursor[l]], r = m->edge[e].right;
		uint32_t mate = m->mate_r[r];

		if (m->off[e])
			continue;
		if (mate != OSR_NONE && (m->depth[m->edge[mate].left] != m->depth[l] + 1 ||
					 !augment(m, m->edge[mate].left)))
			continue;
		m->mate_l[l] = m->mate_r[r] = e;
		return true;
	}
	return false;
}

static void hopcroft_karp(struct osr__match *m, bool must_only)
{
	while (find_depths(m, must_only))
		for (uint32_t l = 0; l < m->n_nodes; l++)
			if (is_root(m, l, must_only))
				augment(m, l);
}

/* Right nodes that must be covered ------------------------------------------------------------- */

static bool cover(struct osr__match *m, uint32_t r)
{
	for (uint32_t i = m->right_row[r]; i < m->right_row[r + 1]; i++) {
		uint32_t e = m->right_edge[i], l = m->edge[e].left, mate = m->mate_l[l];

		if (m->off[e] || m->seen[l])
			continue;
		m->seen[l] = true;
		if (mate != OSR_NONE) {
			uint32_t other = m->edge[mate].right;

			if (m->must_r[other] && !cover(m, other))
				continue;
			if (m->mate_r[other] == mate)
				m->mate_r[other] = OSR_NONE;
		}
		m->mate_l[l] = m->mate_r[r] = e;
		return true;
	}
	return false;
}

void osr__match_solve(struct osr__match *m)
{
	for (uint32_t v = 0; v < m->n_nodes; v++)
		m->mate_l[v] = m->mate_r[v] = OSR_NONE;
	hopcroft_karp(m, true);
	for (uint32_t r = 0; r < m->n_nodes; r++) {
		if (!m->must_r[r] || m->mate_r[r] != OSR_NONE)
			continue;
		memset(m->seen, 0, m->n_nodes * sizeof(*m->seen));
		cover(m, r);
	}
	hopcroft_karp(m, false);
}

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * See turns.h. From the outside in:
 *	osr_turns_find()	the two stages of section 3.2
 *	try_turn()		one candidate; the order of units has the last word, and is the certificate
 *	fill_used()		stage one: used direction sets, direction by direction
 *	add_used()		stage two: who can reach the new edge can use more directions
 *	find_units()		whole rings, and channels that count by themselves
 */
#include "srcroutes/turns.h"

#include <string.h>

#include "core/order/toporder.h"

struct search {
	const struct osr_torus *t;
	struct osr_turns *turns;
	struct osr_diag *diag;
	uint32_t n_channels; /* n_nodes * n_dirs, also those that are not there */
	uint16_t *used;      /* [n_channels] B(u, D) */
	uint32_t *queue;     /* [n_channels] */
	uint32_t n_units;
	uint32_t *unit;  /* [n_channels] of the channel: its ring, or itself; in direction order */
	uint32_t *first; /* [n_units] a channel of it: of a ring any one */
	struct osr_toporder order; /* of units */
	bool broken;               /* theorem 2 allowed a turn that the order refused */
};

static uint32_t back(const struct search *w, uint32_t node, uint32_t dir)
{
	return w->t->next[node * w->t->n_dirs + osr_dir_back(w->t, dir)];
}

/* The turns that may be added: see DIFFERS in turns.h. */
static bool is_candidate(const struct osr_torus *torus, uint32_t from, uint32_t to)
{
	return to < from && (from < torus->n_dims) == (to < torus->n_dims);
}

/* The channel that a packet reaches from channel c by direction `to`; OSR_NO_NODE: it may not. */
static uint32_t step_after(const struct search *w, uint32_t c, uint32_t to)
{
	const struct osr_torus *torus = w->t;
	uint32_t dir = c % torus->n_dirs, e = torus->next[c] * torus->n_dirs + to;

	if (torus->next[e] == OSR_NO_NODE || to == osr_dir_back(torus, dir))
		return OSR_NO_NODE;
	return to >= dir || (w->turns->after[e - to + dir] >> to & 1) ? e : OSR_NO_NODE;
}

/* The channel of direction dir from which a packet may go on into channel c, or OSR_NO_NODE. */
static uint32_t step_before(const struct search *w, uint32_t c, uint32_t dir)
{
	uint32_t p = back(w, c / w->t->n_dirs, dir);

	if (p == OSR_NO_NODE)
		return OSR_NO_NODE;
	p = p * w->t->n_dirs + dir;
	return step_after(w, p, c % w->t->n_dirs) == c ? p : OSR_NO_NODE;
}

/* ---- units ----------------------------------------------------------------------------------- */

/*
 * Numbers rise with directions, and along lines: the order before any turn is added. A line that
 * closes, all its links alive, is one unit.
 */
static void find_units(struct search *w)
{
	const struct osr_torus *torus = w->t;
	uint32_t nd = torus->n_dirs;

	memset(w->unit, 0xff, w->n_channels * sizeof(*w->unit));
	for (uint32_t i = 0; i < w->n_channels; i++) {
		uint32_t dir = i / torus->n_nodes, u = i % torus->n_nodes, v = u, p;

		if (torus->next[u * nd + dir] == OSR_NO_NODE ||
		    w->unit[u * nd + dir] != OSR_NO_NODE)
			continue;
		while ((p = back(w, v, dir)) != OSR_NO_NODE && p != u)
			v = p;
		for (uint32_t c = v * nd + dir;
		     torus->next[c] != OSR_NO_NODE && w->unit[c] == OSR_NO_NODE;
		     c = torus->next[c] * nd + dir) {
			w->first[w->n_units] = c;
			w->unit[c] = w->n_units;
			w->n_units += p == OSR_NO_NODE;
		}
		w->n_units += p != OSR_NO_NODE;
	}
}

/* Edges between units, for toporder.h. */
static uint32_t turns_edges(const void *graph, uint32_t unit, bool backward, uint32_t *out)
{
	const struct search *w = graph;
	uint32_t c = w->first[unit], n = 0;

	do {
		uint32_t along = OSR_NO_NODE;

		for (uint32_t dir = 0; dir < w->t->n_dirs; dir++) {
			uint32_t e = backward ? step_before(w, c, dir) : step_after(w, c, dir);

			if (e == OSR_NO_NODE)
				continue;
			if (w->unit[e] == unit)
				along = e;
			else
				out[n++] = w->unit[e];
		}
		c = along;
	} while (c != OSR_NO_NODE && c != w->first[unit]);
	return n;
}

/* ---- theorem 2 ------------------------------------------------------------------------------- */

/* What can be used from (u, D) but for D's own line: higher directions at its end. */
static uint16_t used_beyond(const struct search *w, uint32_t c)
{
	const struct osr_torus *torus = w->t;
	uint32_t v = torus->next[c], dir = c % torus->n_dirs;
	uint16_t set = (uint16_t)(1u << dir);

	for (uint32_t e = dir + 1; e < torus->n_dirs; e++)
		if (e != osr_dir_back(torus, dir) &&
		    torus->next[v * torus->n_dirs + e] != OSR_NO_NODE)
			set |= w->used[v * torus->n_dirs + e];
	return set;
}

/*
 * Stage one. The paper starts a breadth-first search from every channel; as edges lead to the same
 * direction or a higher one, the sets follow from the highest direction down. Along a line those of
 * the channels ahead are added until nothing changes.
 */
static void fill_used(struct search *w)
{
	const struct osr_torus *torus = w->t;
	uint32_t nd = torus->n_dirs;

	for (uint32_t dir = nd; dir-- > 0;) {
		for (uint32_t u = 0; u < torus->n_nodes; u++)
			if (torus->next[u * nd + dir] != OSR_NO_NODE)
				w->used[u * nd + dir] = used_beyond(w, u * nd + dir);
		for (uint32_t u = 0; u < torus->n_nodes; u++) {
			uint32_t v = u, p;
			uint16_t set = w->used[u * nd + dir];

			if (torus->next[u * nd + dir] == OSR_NO_NODE)
				continue;
			/* A member of the set is passed on at most once around. */
			while ((p = back(w, v, dir)) != OSR_NO_NODE &&
			       (set & ~w->used[p * nd + dir])) {
				w->used[p * nd + dir] |= set;
				v = p;
			}
		}
	}
}

/* Adds the set to channel c if that is news to it, and then puts it into the queue. */
static uint32_t turns_give(struct search *w, uint32_t c, uint16_t set, uint32_t tail)
{
	if (!(set & ~w->used[c]))
		return tail;
	w->used[c] |= set;
	w->queue[tail] = c;
	return tail + 1;
}

/*
 * Stage two: everything from which channel c can be reached can use the set, too. A channel that
 * has the whole set already has handed it on.
 */
static void add_used(struct search *w, uint32_t c, uint16_t set)
{
	uint32_t head = 0, tail = turns_give(w, c, set, 0);

	while (head < tail) {
		uint32_t e = w->queue[head++];

		for (uint32_t dir = 0; dir < w->t->n_dirs; dir++) {
			uint32_t p = step_before(w, e, dir);

			if (p != OSR_NO_NODE)
				tail = turns_give(w, p, set, tail);
		}
	}
}

/* ---- adding --------------------------------------------------------------------------------- */

static void try_turn(struct search *w, uint32_t c, uint32_t to)
{
	const struct osr_torus *torus = w->t;
	uint32_t dir = c % torus->n_dirs, v = torus->next[c], e;

	if (v == OSR_NO_NODE || !is_candidate(torus, dir, to))
		return;
	e = v * torus->n_dirs + to;
	if (torus->next[e] == OSR_NO_NODE || (w->used[e] >> dir & 1))
		return;
	if (!osr_toporder_rise(&w->order, w->unit[c], w->unit[e])) {
		w->broken = true;
		return;
	}
	add_used(w, c, w->used[e]);
	w->turns->after[v * torus->n_dirs + dir] |= (uint16_t)(1u << to);
	w->turns->n_added++;
}

static enum osr_status turns_search_init(struct search *w, struct osr_arena *scratch,
					 struct osr_arena *result)
{
	size_t n = w->n_channels;

	w->used = osr_calloc(scratch, n, sizeof(*w->used));
	w->queue = osr_alloc(scratch, n, sizeof(*w->queue));
	w->unit = osr_alloc(scratch, n, sizeof(*w->unit));
	w->first = osr_alloc(scratch, n, sizeof(*w->first));
	w->turns->after = osr_calloc(result, n, sizeof(*w->turns->after));
	w->turns->rank = osr_alloc(result, n, sizeof(*w->turns->rank));
	if (osr_arena_failed(result, w->diag) || osr_arena_failed(scratch, w->diag))
		return OSR_NOMEM;
	memset(w->turns->rank, 0xff, n * sizeof(*w->turns->rank));
	return OSR_OK;
}

/* The order of units without any turn. */
static enum osr_status turns_order_init(struct search *w, struct osr_arena *scratch)
{
	uint32_t side = 0;

	find_units(w);
	for (uint32_t i = 0; i < w->t->n_dims; i++)
		side = side < w->t->size[i] ? w->t->size[i] : side;
	w->order = (struct osr_toporder){
		.n = w->n_units, .max_degree = side * w->t->n_dirs, .edges = turns_edges, .graph = w
	};
	w->order.rank = osr_alloc(scratch, w->n_units, sizeof(*w->order.rank));
	if (osr_arena_failed(scratch, w->diag))
		return OSR_NOMEM;
	for (uint32_t i = 0; i < w->n_units; i++)
		w->order.rank[i] = i;
	return osr_toporder_init(&w->order, scratch, w->diag);
}

enum osr_status osr_turns_find(const struct osr_torus *torus, struct osr_arena *scratch,
			       struct osr_arena *result, struct osr_turns *turns,
			       struct osr_diag *diag)
{
	struct osr_arena_mark mark = osr_arena_mark(scratch);
	struct search w = { .t = torus, .turns = turns, .diag = diag };
	enum osr_status st;

	*turns = (struct osr_turns){ .t = torus };
	w.n_channels = torus->n_nodes * torus->n_dirs;
	st = turns_search_init(&w, scratch, result);
	if (!st)
		st = turns_order_init(&w, scratch);
	if (!st)
		fill_used(&w);
	for (uint32_t c = 0; !st && c < w.n_channels; c++)
		for (uint32_t to = 0; to < torus->n_dirs; to++)
			try_turn(&w, c, to);
	if (!st && w.broken)
		st = osr_fail(diag, OSR_BUG, "a turn that theorem 2 allows closes a cycle");
	for (uint32_t c = 0; c < w.n_channels && !st; c++)
		if (w.unit[c] != OSR_NO_NODE)
			turns->rank[c] = w.order.rank[w.unit[c]];
	osr_arena_reset(scratch, mark);
	return st;
}

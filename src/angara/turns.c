/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * See turns.h. From the outside in:
 *	osr_turns_find()	the two stages of section 3.2, then the certificate
 *	try_turn()		one candidate, by theorem 2 or by reachability
 *	fill_used()		stage one: used direction sets, direction by direction
 *	add_used()		stage two: who can reach the new edge can use more directions
 *	find_units()		whole rings, and channels that count by themselves
 *	certify()		ranks, by a topological order of the units
 */
#include "angara/turns.h"

#include <string.h>

#include <osmroutes/prng.h>

struct search {
	const struct osr_torus *t;
	struct osr_turns *turns;
	struct osr_diag *diag;
	uint32_t n_channels; /* n_nodes * n_dirs, also those that are not there */
	uint16_t *used;      /* [n_channels] B(u, D) */
	uint32_t *queue;     /* [n_channels] */
	uint32_t *unit;      /* [n_channels] the lowest channel of its ring, or itself */
	uint32_t n_units;
	uint32_t *dense; /* [n_channels] units numbered from 0 */
	uint64_t *reach; /* [n_units * n_words] EXACT: which units can be reached */
	uint32_t n_words;
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

/* ---- units ----------------------------------------------------------------------------------- */

/* Does the line of this channel close, all its links alive? */
static bool is_whole_ring(const struct osr_torus *torus, uint32_t node, uint32_t dir)
{
	uint32_t v = node;

	if (!torus->ring[osr_dir_dim(torus, dir)])
		return false;
	do {
		v = torus->next[v * torus->n_dirs + dir];
		if (v == OSR_NO_NODE)
			return false;
	} while (v != node);
	return true;
}

static void find_units(struct search *w)
{
	const struct osr_torus *torus = w->t;

	memset(w->unit, 0xff, w->n_channels * sizeof(*w->unit));
	for (uint32_t c = 0; c < w->n_channels; c++) {
		uint32_t dir = c % torus->n_dirs, v = c / torus->n_dirs;

		if (torus->next[c] == OSR_NO_NODE || w->unit[c] != OSR_NO_NODE)
			continue;
		w->dense[c] = w->n_units++;
		w->unit[c] = c;
		if (!is_whole_ring(torus, v, dir))
			continue;
		for (uint32_t e = torus->next[c] * torus->n_dirs + dir; e != c;
		     e = torus->next[e] * torus->n_dirs + dir) {
			w->unit[e] = c;
			w->dense[e] = w->dense[c];
		}
	}
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
	const struct osr_torus *torus = w->t;
	uint32_t head = 0, tail = turns_give(w, c, set, 0);

	while (head < tail) {
		uint32_t e = w->queue[head++], v = e / torus->n_dirs, to = e % torus->n_dirs;

		for (uint32_t dir = 0; dir < torus->n_dirs; dir++) {
			uint32_t p = back(w, v, dir);

			if (p == OSR_NO_NODE || dir == osr_dir_back(torus, to))
				continue;
			if (dir > to && !(w->turns->after[v * torus->n_dirs + dir] >> to & 1))
				continue;
			tail = turns_give(w, p * torus->n_dirs + dir, set, tail);
		}
	}
}

/* ---- reachability between units ------------------------------------------------------------- */

static bool reaches(const struct search *w, uint32_t a, uint32_t b)
{
	return w->reach[(size_t)a * w->n_words + b / 64] >> b % 64 & 1;
}

/* a -> b is new: whoever reaches a reaches what b reaches. */
static void connect(struct search *w, uint32_t a, uint32_t b)
{
	const uint64_t *from = w->reach + (size_t)b * w->n_words;

	if (reaches(w, a, b))
		return;
	for (uint32_t x = 0; x < w->n_units; x++) {
		uint64_t *to = w->reach + (size_t)x * w->n_words;

		if (!reaches(w, x, a) || reaches(w, x, b))
			continue;
		for (uint32_t i = 0; i < w->n_words; i++)
			to[i] |= from[i];
	}
}

static enum osr_status fill_reach(struct search *w, struct osr_arena *scratch)
{
	const struct osr_torus *torus = w->t;

	w->n_words = (w->n_units + 63) / 64;
	w->reach = osr_calloc(scratch, (size_t)w->n_units * w->n_words, sizeof(*w->reach));
	if (!w->reach)
		return osr_fail(w->diag, OSR_NOMEM, "out of memory for the turns of %u rings",
				w->n_units);
	for (uint32_t i = 0; i < w->n_units; i++)
		w->reach[(size_t)i * w->n_words + i / 64] |= UINT64_C(1) << i % 64;
	/* From the highest direction down, so that what is reached is mostly complete already. */
	for (uint32_t dir = torus->n_dirs; dir-- > 0;) {
		for (uint32_t u = 0; u < torus->n_nodes; u++) {
			uint32_t c = u * torus->n_dirs + dir, v = torus->next[c];

			for (uint32_t e = dir; v != OSR_NO_NODE && e < torus->n_dirs; e++) {
				uint32_t to = v * torus->n_dirs + e;

				if (e != osr_dir_back(torus, dir) && torus->next[to] != OSR_NO_NODE)
					connect(w, w->dense[c], w->dense[to]);
			}
		}
	}
	return OSR_OK;
}

/* ---- adding --------------------------------------------------------------------------------- */

static void try_turn(struct search *w, const struct osr_turns_options *opt, uint32_t c, uint32_t to)
{
	const struct osr_torus *torus = w->t;
	uint32_t dir = c % torus->n_dirs, v = torus->next[c], e;

	if (v == OSR_NO_NODE || !is_candidate(torus, dir, to))
		return;
	e = v * torus->n_dirs + to;
	if (torus->next[e] == OSR_NO_NODE)
		return;
	if (opt->rule == OSR_TURNS_EXACT) {
		if (reaches(w, w->dense[e], w->dense[c]))
			return;
		connect(w, w->dense[c], w->dense[e]);
	} else {
		if (w->used[e] >> dir & 1)
			return;
		add_used(w, c, w->used[e]);
	}
	w->turns->after[v * torus->n_dirs + dir] |= (uint16_t)(1u << to);
	w->turns->n_added++;
}

/* The channel that has its turn as number i. */
static uint32_t channel_at(const struct osr_torus *torus, enum osr_turn_order order, uint32_t i)
{
	uint32_t n = torus->n_nodes * torus->n_dirs;

	if (order == OSR_TURN_ORDER_REVERSE)
		return n - 1 - i;
	if (order == OSR_TURN_ORDER_DIRECTION)
		return i % torus->n_nodes * torus->n_dirs + i / torus->n_nodes;
	return i;
}

static enum osr_status turns_add_turns(struct search *w, const struct osr_turns_options *opt,
				       struct osr_arena *scratch)
{
	uint32_t nd = w->t->n_dirs, n = w->n_channels * nd;
	struct osr_prng prng = { opt->seed };
	uint32_t *list;

	if (opt->order != OSR_TURN_ORDER_RANDOM) {
		for (uint32_t i = 0; i < w->n_channels; i++)
			for (uint32_t to = 0; to < nd; to++)
				try_turn(w, opt, channel_at(w->t, opt->order, i), to);
		return OSR_OK;
	}
	list = osr_alloc(scratch, n, sizeof(*list));
	if (!list)
		return osr_fail(w->diag, OSR_NOMEM, "out of memory for the turns of %u nodes",
				w->t->n_nodes);
	for (uint32_t i = 0; i < n; i++)
		list[i] = i;
	osr_prng_shuffle(&prng, list, n);
	for (uint32_t i = 0; i < n; i++)
		try_turn(w, opt, list[i] / nd, list[i] % nd);
	return OSR_OK;
}

/* ---- the certificate ------------------------------------------------------------------------ */

/* May a packet that has come over channel c go on by direction to? */
static bool allowed(const struct search *w, uint32_t c, uint32_t to)
{
	const struct osr_torus *torus = w->t;
	uint32_t dir = c % torus->n_dirs, v = torus->next[c];

	if (torus->next[v * torus->n_dirs + to] == OSR_NO_NODE || to == osr_dir_back(torus, dir))
		return false;
	return to >= dir || (w->turns->after[v * torus->n_dirs + dir] >> to & 1);
}

/* Adds n to the number of unserved predecessors of all units that channel c leads to. */
static uint32_t count_steps(struct search *w, uint32_t c, uint32_t *waits, int n, uint32_t tail)
{
	const struct osr_torus *torus = w->t;

	for (uint32_t to = 0; to < torus->n_dirs; to++) {
		uint32_t e = torus->next[c] * torus->n_dirs + to;

		if (!allowed(w, c, to) || w->unit[e] == w->unit[c])
			continue;
		waits[w->unit[e]] += (uint32_t)n;
		if (n < 0 && !waits[w->unit[e]])
			w->queue[tail++] = w->unit[e];
	}
	return tail;
}

/* The next channel of the same unit, ending with OSR_NO_NODE. */
static uint32_t next_of_unit(const struct search *w, uint32_t c)
{
	uint32_t e = w->t->next[c] * w->t->n_dirs + c % w->t->n_dirs;

	if (w->t->next[e] == OSR_NO_NODE || w->unit[e] != w->unit[c] || e == w->unit[c])
		return OSR_NO_NODE;
	return e;
}

static enum osr_status certify(struct search *w, struct osr_arena *scratch)
{
	uint32_t *waits = osr_calloc(scratch, w->n_channels, sizeof(*waits)), head = 0, tail = 0;

	if (!waits)
		return osr_fail(w->diag, OSR_NOMEM, "out of memory for the order of %u channels",
				w->n_channels);
	for (uint32_t c = 0; c < w->n_channels; c++)
		if (w->unit[c] != OSR_NO_NODE)
			count_steps(w, c, waits, 1, 0);
	for (uint32_t c = 0; c < w->n_channels; c++)
		if (w->unit[c] == c && !waits[c])
			w->queue[tail++] = c;
	for (; head < tail; head++) {
		for (uint32_t c = w->queue[head]; c != OSR_NO_NODE; c = next_of_unit(w, c)) {
			w->turns->rank[c] = head;
			tail = count_steps(w, c, waits, -1, tail);
		}
	}
	if (head != w->n_units)
		return osr_fail(w->diag, OSR_BUG, "the turns added to the torus close a cycle");
	return OSR_OK;
}

static enum osr_status turns_search_init(struct search *w, struct osr_arena *scratch,
					 struct osr_arena *result)
{
	size_t n = w->n_channels;

	w->used = osr_calloc(scratch, n, sizeof(*w->used));
	w->queue = osr_alloc(scratch, n, sizeof(*w->queue));
	w->unit = osr_alloc(scratch, n, sizeof(*w->unit));
	w->dense = osr_alloc(scratch, n, sizeof(*w->dense));
	w->turns->after = osr_calloc(result, n, sizeof(*w->turns->after));
	w->turns->rank = osr_alloc(result, n, sizeof(*w->turns->rank));
	if (!w->used || !w->queue || !w->unit || !w->dense || !w->turns->after || !w->turns->rank)
		return osr_fail(w->diag, OSR_NOMEM, "out of memory for the turns of %u nodes",
				w->t->n_nodes);
	memset(w->turns->rank, 0xff, n * sizeof(*w->turns->rank));
	return OSR_OK;
}

enum osr_status osr_turns_find(const struct osr_torus *torus, const struct osr_turns_options *opt,
			       struct osr_arena *scratch, struct osr_arena *result,
			       struct osr_turns *turns, struct osr_diag *diag)
{
	struct osr_arena_mark mark = osr_arena_mark(scratch);
	struct search w = { .t = torus, .turns = turns, .diag = diag };
	enum osr_status st;

	*turns = (struct osr_turns){ .t = torus };
	w.n_channels = torus->n_nodes * torus->n_dirs;
	st = turns_search_init(&w, scratch, result);
	if (!st) {
		find_units(&w);
		if (opt->rule == OSR_TURNS_PAPER)
			fill_used(&w);
		else if (opt->rule == OSR_TURNS_EXACT)
			st = fill_reach(&w, scratch);
	}
	if (!st && opt->rule != OSR_TURNS_NONE)
		st = turns_add_turns(&w, opt, scratch);
	if (!st)
		st = certify(&w, scratch);
	osr_arena_reset(scratch, mark);
	return st;
}

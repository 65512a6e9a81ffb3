/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * One destination whose tree has been cut, with as few entries changed as possible.
 *
 * When the entry of switch v is dead, all who send through v may go on doing so if v alone finds
 * another way: to a neighbour that does not send through v itself. Such a way may be longer than
 * the shortest (in a tree: down to a switch of another pod, and up again), but one entry changes.
 * If the lanes of those who send through v do not allow it, or all neighbours send through v, a
 * second entry changes, and so on: depth first, with one more allowed each time.
 *
 *	osr__change_few()	with 1, 2, .. entries
 *	attach()		  a switch whose entry has to change: its candidates in turn
 *	follow()		    those who send through it; who must not is a candidate himself
 */
#include "reroute_private.h"

#include <string.h>

#define MAX_TRIES 2000 /* ways looked at for one tree */

struct few {
	struct osr__reroute *w;
	uint32_t d;
	uint8_t *row;
	uint32_t n_left; /* entries that may still change */
	uint32_t n_tries;
	uint32_t *settled; /* [n_switches] in the order in which they were */
	uint32_t n_settled;
};

static bool is_settled(const struct osr__reroute *w, uint32_t v)
{
	return w->known[v] == w->epoch;
}

/* The way of v starts with channel c, if the lanes of v allow that. */
static bool set_way(struct few *t, uint32_t v, uint32_t c)
{
	struct osr__reroute *w = t->w;
	uint16_t need = osr__need(w, t->d, v);
	uint32_t mark = w->deps.n_undo;

	t->n_tries++;
	if (mark + 2 * w->x->n_switches > w->deps.max_undo)
		return false;
	if (!osr__add_route(w, t->d, t->row, v, c, need)) {
		osr__deps_undo_to(&w->deps, mark);
		return false;
	}
	w->done[v] = need;
	t->row[v] = w->x->chan_port[c];
	w->known[v] = w->epoch;
	w->len[v] = w->len[w->x->chan_dst[c]] + 1;
	t->settled[t->n_settled++] = v;
	return true;
}

static void unsettle(struct few *t, uint32_t n_settled, uint32_t n_undo)
{
	struct osr__reroute *w = t->w;

	while (t->n_settled > n_settled) {
		uint32_t v = t->settled[--t->n_settled];

		w->known[v] = 0;
		t->row[v] = OSR_NO_PATH;
	}
	osr__deps_undo_to(&w->deps, n_undo);
}

static bool attach(struct few *t, uint32_t v);

/* Those who sent to v go on, and those who sent to them. */
static bool follow(struct few *t, uint32_t first)
{
	struct osr__reroute *w = t->w;
	const struct osr_fabric *x = w->x;

	for (uint32_t i = first; i < t->n_settled; i++) {
		uint32_t u = t->settled[i];

		for (uint32_t o = x->chan_row[u]; o < x->chan_row[u + 1]; o++) {
			uint32_t v = x->chan_dst[o], c = x->chan_rev[o];

			if (w->chan_f[c] == OSR_NONE || w->in_u[v] != w->epoch ||
			    is_settled(w, v) || w->old[v] != x->chan_port[c])
				continue;
			if (!set_way(t, v, c) && (!t->n_left || !attach(t, v)))
				return false;
		}
	}
	return true;
}

static bool try_way(struct few *t, uint32_t v, uint32_t c)
{
	uint32_t n_settled = t->n_settled, n_undo = t->w->deps.n_undo, n_left = t->n_left;

	t->n_left--;
	if (set_way(t, v, c) && follow(t, n_settled))
		return true;
	unsettle(t, n_settled, n_undo);
	t->n_left = n_left;
	return false;
}

/* A neighbour that sends through v finds a way of its own first. */
static bool try_through(struct few *t, uint32_t v, uint32_t c)
{
	struct osr__reroute *w = t->w;
	uint32_t n_settled = t->n_settled, n_undo = w->deps.n_undo, n_left = t->n_left;
	uint32_t u = w->x->chan_dst[c];

	t->n_left--;
	w->busy[v] = 1;
	if (attach(t, u) && (is_settled(w, v) || try_way(t, v, c))) {
		w->busy[v] = 0;
		return true;
	}
	w->busy[v] = 0;
	unsettle(t, n_settled, n_undo);
	t->n_left = n_left;
	return false;
}

static bool attach(struct few *t, uint32_t v)
{
	struct osr__reroute *w = t->w;
	const struct osr_fabric *x = w->x;
	struct osr__candidate list[256];
	uint32_t n = 0;

	if (!t->n_left || t->n_tries > MAX_TRIES)
		return false;
	for (uint32_t c = x->chan_row[v]; c < x->chan_row[v + 1]; c++) {
		uint32_t u = x->chan_dst[c];

		if (w->chan_f[c] != OSR_NONE && osr__settled(w, t->d, t->row, u))
			list[n++] = osr__candidate(w, t->d, t->row, v, c);
	}
	while (n) {
		uint32_t best = osr__best_candidate(list, n);

		if (try_way(t, v, list[best].chan))
			return true;
		memmove(&list[best], &list[best + 1], (n - best - 1) * sizeof(*list));
		n--;
	}
	for (uint32_t c = x->chan_row[v]; t->n_left > 1 && c < x->chan_row[v + 1]; c++) {
		uint32_t u = x->chan_dst[c];

		if (w->chan_f[c] != OSR_NONE && w->in_u[u] == w->epoch && !is_settled(w, u) &&
		    !w->busy[u] && try_through(t, v, c))
			return true;
	}
	return false;
}

bool osr__change_few(struct osr__reroute *w, uint32_t d, uint8_t *row, uint32_t n_cut,
		     uint32_t max_extra)
{
	struct few t = { .w = w, .d = d, .row = row, .settled = w->settled };

	for (uint32_t extra = 0; extra <= max_extra && t.n_tries <= MAX_TRIES; extra++) {
		bool ok = true;

		t.n_left = n_cut + extra;
		osr__deps_begin(&w->deps);
		for (uint32_t i = 0; ok && i < n_cut; i++)
			ok = is_settled(w, w->u[i]) || attach(&t, w->u[i]);
		if (ok)
			return true;
		unsettle(&t, 0, 0);
	}
	return false;
}

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * See grid.h. From the outside in:
 *	osr__grid_grow()	plants a seed, then lets squares and straight rows tell directions
 *	plant()			which edges of the seed lie in one dimension
 *	follow_squares()	p, u, w, q a square and p-q known: u-w runs in the same direction
 *	go_straight()		one edge left: it goes on where the row came from
 *	assign()		an edge has a direction; its far end a label
 */
#include "grid_private.h"

#include <stdlib.h>
#include <string.h>

static uint32_t *near_of(const struct grid_work *w, uint32_t v)
{
	return w->near + (size_t)v * MAX_DIRS;
}

static uint32_t gcd(uint32_t a, uint32_t b)
{
	while (b) {
		uint32_t r = a % b;

		a = b;
		b = r;
	}
	return a;
}

/* The slice of the grid that v lies in, seen in direction dir: an index into have[] and lack[]. */
static size_t slice(const struct grid_work *w, uint32_t v, uint32_t dir)
{
	size_t n = w->f->n_switches;

	return dir * (2 * n + 1) + n + (size_t)w->label[(size_t)v * MAX_DIMS + dir / 2];
}

static void push(struct grid_work *w, uint32_t v)
{
	uint32_t n = w->f->n_switches;

	if (!w->n_open[v])
		return;
	if (!w->in_square[v]) {
		w->in_square[v] = true;
		w->square[(w->square_head + w->n_square++) % n] = v;
	}
	if (w->n_open[v] == 1 && !w->in_straight[v]) {
		w->in_straight[v] = true;
		w->straight[(w->straight_head + w->n_straight++) % n] = v;
	}
}

static void push_around(struct grid_work *w, uint32_t v)
{
	push(w, v);
	for (uint32_t e = w->row[v]; e < w->row[v + 1]; e++)
		if (w->placed[w->adj[e]])
			push(w, w->adj[e]);
}

/* Label of u as seen along an edge; a second opinion tells how long the ring is. */
static void label_end(struct grid_work *w, uint32_t v, uint32_t dir, uint32_t u)
{
	const int32_t *from = w->label + (size_t)v * MAX_DIMS;
	int32_t *to = w->label + (size_t)u * MAX_DIMS;
	int32_t step = dir % 2 ? -1 : 1;

	for (uint32_t i = 0; i < w->n_dims; i++) {
		int32_t x = from[i] + (i == dir / 2 ? step : 0);

		if (w->placed[u])
			w->period[i] = gcd(w->period[i], (uint32_t)abs(x - to[i]));
		else
			to[i] = x;
	}
	w->placed[u] = true;
}

static void note_complete(struct grid_work *w, uint32_t v)
{
	for (uint32_t dir = 0; dir < 2 * w->n_dims && !w->n_open[v]; dir++)
		w->lack[slice(w, v, dir)] += near_of(w, v)[dir] == OSR_NONE;
}

static bool assign(struct grid_work *w, uint32_t v, uint32_t e, uint32_t dir)
{
	uint32_t u = w->adj[e], back = osr__grid_edge(w, u, v);
	uint32_t *there = &near_of(w, v)[dir], *here = &near_of(w, u)[dir ^ 1];

	if (w->edge_dir[e] != NO_DIR || w->edge_dir[back] != NO_DIR)
		return w->edge_dir[e] == dir && w->edge_dir[back] == (dir ^ 1);
	if (*there != OSR_NONE || *here != OSR_NONE)
		return false;
	*there = u;
	*here = v;
	w->edge_dir[e] = (uint8_t)dir;
	w->edge_dir[back] = (uint8_t)(dir ^ 1);
	w->n_open[v]--;
	w->n_open[u]--;
	label_end(w, v, dir, u);
	w->have[slice(w, v, dir)]++;
	w->have[slice(w, u, dir ^ 1)]++;
	note_complete(w, v);
	note_complete(w, u);
	push_around(w, v);
	push_around(w, u);
	return true;
}

/* Two neighbours of v lie in one dimension if adjacent (a ring of 3) or on no common square. */
static bool same_dim(const struct grid_work *w, uint32_t v, uint32_t a, uint32_t b)
{
	if (osr__grid_edge(w, a, b) != OSR_NONE)
		return true;
	for (uint32_t e = w->row[a]; e < w->row[a + 1]; e++)
		if (w->adj[e] != v && osr__grid_edge(w, b, w->adj[e]) != OSR_NONE)
			return false;
	return true;
}

static bool plant(struct grid_work *w, uint32_t v)
{
	uint32_t first = w->row[v], degree = w->row[v + 1] - first;
	uint8_t dir[MAX_DIRS];

	memset(dir, NO_DIR, sizeof(dir));
	w->n_dims = 0;
	for (uint32_t a = 0; a < degree; a++) {
		uint32_t mine = dir[a];

		if (mine == NO_DIR) {
			if (w->n_dims == MAX_DIMS)
				return false;
			mine = dir[a] = (uint8_t)(2 * w->n_dims++);
		}
		for (uint32_t b = a + 1; b < degree; b++) {
			if (!same_dim(w, v, w->adj[first + a], w->adj[first + b]))
				continue;
			/* A third one in the same dimension: something is missing here. */
			if (mine % 2 || dir[b] != NO_DIR)
				return false;
			for (uint32_t c = 0; c < degree; c++)
				if (dir[c] == (mine ^ 1))
					return false;
			dir[b] = (uint8_t)(mine ^ 1);
		}
	}
	w->placed[v] = true;
	for (uint32_t a = 0; a < degree; a++)
		if (!assign(w, v, first + a, dir[a]))
			return false;
	return true;
}

/* NO_DIR: no square tells; otherwise the direction, *clear false if squares contradict. */
static uint32_t by_square(const struct grid_work *w, uint32_t u, uint32_t far, bool *clear)
{
	uint32_t n_dirs = 2 * w->n_dims, found = NO_DIR;

	for (uint32_t t = 0; t < n_dirs; t++) {
		uint32_t p = near_of(w, u)[t];

		if (p == OSR_NONE || p == far)
			continue;
		for (uint32_t s = 0; s < n_dirs; s++) {
			uint32_t q = near_of(w, p)[s];

			if (s / 2 == t / 2 || q == OSR_NONE || q == u || s == found ||
			    osr__grid_edge(w, q, far) == OSR_NONE)
				continue;
			*clear &= found == NO_DIR;
			found = s;
		}
	}
	return found;
}

static bool follow_squares(struct grid_work *w, uint32_t u)
{
	for (uint32_t e = w->row[u]; e < w->row[u + 1]; e++) {
		bool clear = true;
		uint32_t dir;

		if (w->edge_dir[e] != NO_DIR)
			continue;
		dir = by_square(w, u, w->adj[e], &clear);
		if (!clear || (dir != NO_DIR && !assign(w, u, e, dir)))
			return false;
	}
	return true;
}

/*
 * Were u-far in direction c, it would lie opposite the edges in that direction at u's neighbours,
 * and others as far along as u would have such an edge, too. How much speaks for it, or (below 0)
 * against it?
 */
static int32_t evidence(const struct grid_work *w, uint32_t u, uint32_t far, uint32_t c)
{
	int32_t n = (int32_t)w->have[slice(w, u, c)] - (int32_t)w->lack[slice(w, u, c)];

	for (uint32_t s = 0; s < 2 * w->n_dims; s++) {
		uint32_t p = near_of(w, u)[s], q = p == OSR_NONE ? p : near_of(w, p)[c];

		if (s / 2 != c / 2 && q != OSR_NONE && osr__grid_edge(w, q, far) == OSR_NONE)
			n = (n > 0 ? 0 : n) - 1;
	}
	return n;
}

/*
 * Opposite a known edge if nothing speaks against it, or where most speaks for it; nowhere if that
 * is two directions. With doubts, so much may speak against it; if no other direction is left and
 * that counts, anything may.
 */
static bool go_straight(struct grid_work *w, uint32_t u, int32_t doubt)
{
	uint32_t open = w->row[u], n = 0, n_free = 0, dir = 0;
	int32_t most = INT32_MIN;

	if (w->n_open[u] != 1)
		return true;
	while (w->edge_dir[open] != NO_DIR)
		open++;
	for (uint32_t c = 0; c < 2 * w->n_dims; c++) {
		int32_t how;

		if (near_of(w, u)[c] != OSR_NONE)
			continue;
		n_free++;
		how = evidence(w, u, w->adj[open], c);
		if (how <= 0 && near_of(w, u)[c ^ 1] == OSR_NONE)
			continue;
		n = how > most ? 1 : n + (how == most);
		dir = how > most ? c : dir;
		most = how > most ? how : most;
	}
	if (w->excluding && n_free == 1)
		most = 0;
	return n != 1 || most + doubt < 0 || assign(w, u, open, dir);
}

static void clear_labels(struct grid_work *w)
{
	size_t n = w->f->n_switches;

	memset(w->edge_dir, NO_DIR, w->row[n]);
	memset(w->period, 0, sizeof(w->period));
	memset(w->label, 0, n * MAX_DIMS * sizeof(*w->label));
	memset(w->near, 0xff, n * MAX_DIRS * sizeof(*w->near));
	memset(w->placed, 0, n * sizeof(*w->placed));
	memset(w->have, 0, MAX_DIRS * (2 * n + 1) * sizeof(*w->have));
	memset(w->lack, 0, MAX_DIRS * (2 * n + 1) * sizeof(*w->lack));
	memset(w->in_square, 0, n * sizeof(*w->in_square));
	memset(w->in_straight, 0, n * sizeof(*w->in_straight));
	for (uint32_t v = 0; v < n; v++)
		w->n_open[v] = (uint8_t)(w->row[v + 1] - w->row[v]);
	w->n_square = w->n_straight = 0;
}

static uint32_t pop(uint32_t *queue, uint32_t *head, uint32_t *count, bool *in, uint32_t n)
{
	uint32_t v = queue[*head];

	*head = (*head + 1) % n;
	--*count;
	in[v] = false;
	return v;
}

/* Squares first, as long as there are any; then rows go on where nothing speaks against it. */
static bool drain(struct grid_work *w)
{
	uint32_t n = w->f->n_switches;

	while (w->n_square + w->n_straight) {
		uint32_t v;

		if (w->n_square) {
			v = pop(w->square, &w->square_head, &w->n_square, w->in_square, n);
			if (!follow_squares(w, v))
				return false;
			continue;
		}
		v = pop(w->straight, &w->straight_head, &w->n_straight, w->in_straight, n);
		if (!go_straight(w, v, 0))
			return false;
	}
	return true;
}

/* Near what is missing: one doubtful step at a time, the least doubtful first. */
static bool drain_doubts(struct grid_work *w)
{
	uint32_t n = w->f->n_switches;

	for (int32_t doubt = 1; doubt <= MAX_DIMS; doubt++)
		for (uint32_t v = 0; v < n; v++) {
			uint32_t before = w->n_open[v];

			if (!w->placed[v] || before != 1)
				continue;
			if (!go_straight(w, v, doubt))
				return false;
			if (w->n_open[v] == before)
				continue;
			if (!drain(w))
				return false;
			doubt = 1;
			v = UINT32_MAX;
		}
	return true;
}

/*
 * Two switches that differ in one dimension only, by more than a line allows, and have a cable or
 * another switch between them: how long is the ring? 0: they tell nothing.
 */
static uint32_t ring_between(const struct grid_work *w, uint32_t v, uint32_t u, uint32_t hops,
			     uint32_t *dim)
{
	const int32_t *a = w->label + (size_t)v * MAX_DIMS, *b = w->label + (size_t)u * MAX_DIMS;
	uint32_t n = 0;

	for (uint32_t i = 0; i < w->n_dims; i++)
		if (a[i] != b[i]) {
			n++;
			*dim = i;
		}
	n = n == 1 ? (uint32_t)abs(a[*dim] - b[*dim]) + hops : 0;
	return n < 5 || w->period[*dim] ? 0 : n;
}

/* The lengths that most such pairs agree on; a row that is longer than that is none. */
static void close_rows(struct grid_work *w)
{
	uint32_t n = w->f->n_switches, *votes = w->square, dim, size;

	for (uint32_t i = 0; i < w->n_dims; i++) {
		uint32_t best = 0;

		if (w->period[i])
			continue;
		memset(votes, 0, n * sizeof(*votes));
		for (uint32_t m = 0; m < n; m++)
			for (uint32_t e = w->row[m]; e < w->row[m + 1]; e++) {
				uint32_t u = w->adj[e];

				if (!w->placed[u] || w->edge_dir[e] != NO_DIR)
					continue;
				size = w->placed[m] ? ring_between(w, m, u, 1, &dim) : 0;
				if (size && dim == i && size < n)
					votes[size]++;
				for (uint32_t k = w->row[m]; k < e && !w->placed[m]; k++) {
					uint32_t v = w->adj[k];

					size = w->placed[v] ? ring_between(w, v, u, 2, &dim) : 0;
					if (size && dim == i && size < n)
						votes[size]++;
				}
			}
		for (uint32_t k = 1; k < n; k++)
			best = votes[k] > votes[best] ? k : best;
		w->period[i] = best;
	}
}

bool osr__grid_grow(struct grid_work *w, uint32_t seed, enum grid_courage courage)
{
	clear_labels(w);
	w->excluding = courage == GRID_EXCLUDING;
	w->planted = plant(w, seed);
	if (!w->planted || !drain(w) || (courage == GRID_DOUBTFUL && !drain_doubts(w)))
		return false;
	if (courage >= GRID_CLOSING)
		close_rows(w);
	return true;
}

bool osr__grid_walk(struct grid_work *w, uint32_t seed)
{
	uint32_t head = 0, tail = 0, *queue = w->square;

	clear_labels(w);
	w->placed[seed] = true;
	queue[tail++] = seed;
	/* push() must leave the queue alone: nothing is derived from squares here. */
	memset(w->in_square, 1, w->f->n_switches * sizeof(*w->in_square));
	memset(w->in_straight, 1, w->f->n_switches * sizeof(*w->in_straight));
	while (head < tail) {
		uint32_t v = queue[head++];

		for (uint32_t e = w->row[v]; e < w->row[v + 1]; e++) {
			bool fresh = !w->placed[w->adj[e]];

			if (w->port_dir[e] == NO_DIR)
				continue;
			if (!assign(w, v, e, w->port_dir[e]))
				return false;
			if (fresh)
				queue[tail++] = w->adj[e];
		}
	}
	return true;
}

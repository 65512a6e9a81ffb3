/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The dependency graph of every lane, to which edges are added one by one.
 *
 * Source: Pearce, Kelly: A dynamic topological sort algorithm for directed acyclic graphs, ACM JEA
 * 11, 2006. An edge that goes against the order makes only the channels between its two ends move:
 * those that can be reached from its head, and those that reach its tail, share out the places
 * they hold together anew.
 */
#include "reroute_private.h"

#include <string.h>

/* Heapsort of a list of channels by key: no memory, no worst case. */
static void sift_down(uint32_t *list, size_t at, size_t n, const uint32_t *key)
{
	for (;;) {
		size_t child = 2 * at + 1;
		uint32_t x;

		if (child >= n)
			return;
		if (child + 1 < n && key[list[child]] < key[list[child + 1]])
			child++;
		if (key[list[at]] >= key[list[child]])
			return;
		x = list[at];
		list[at] = list[child];
		list[child] = x;
		at = child;
	}
}

void osr__sort_by(uint32_t *list, size_t n, const uint32_t *key)
{
	for (size_t i = n / 2; i-- > 0;)
		sift_down(list, i, n, key);
	for (size_t i = n; i-- > 1;) {
		uint32_t x = list[0];

		list[0] = list[i];
		list[i] = x;
		sift_down(list, 0, i, key);
	}
}

/*
 * Places 0 .. n-1 by key, ties by channel: least significant digit first, 8 bits at a time (with 16 the
 * counts of a small fabric would cost far more than its channels), digits that are all alike left out.
 */
static void place(struct osr__deps *g, const uint64_t *keys, uint32_t *pos)
{
	uint32_t n = g->x->n_channels, *from = g->after, *to = g->before, count[256];

	for (uint32_t c = 0; c < n; c++)
		from[c] = c;
	for (unsigned shift = 0; shift < 64; shift += 8) {
		uint32_t sum = 0, *swap = from;

		memset(count, 0, sizeof(count));
		for (uint32_t c = 0; c < n; c++)
			count[keys[c] >> shift & 0xff]++;
		if (n && count[keys[0] >> shift & 0xff] == n)
			continue;
		for (uint32_t i = 0; i < 256; i++) {
			uint32_t k = count[i];

			count[i] = sum;
			sum += k;
		}
		for (uint32_t i = 0; i < n; i++)
			to[count[keys[from[i]] >> shift & 0xff]++] = from[i];
		from = to;
		to = swap;
	}
	for (uint32_t i = 0; i < n; i++)
		pos[from[i]] = i;
}

enum osr_status osr__deps_init(struct osr__deps *g, const struct osr_fabric *x, uint32_t n_lanes,
			       const uint64_t *keys, struct osr_arena *scratch,
			       struct osr_diag *diag)
{
	size_t m = x->n_channels;
	uint64_t n_slots = 0;

	*g = (struct osr__deps){ .x = x, .n_lanes = n_lanes };
	g->row = osr_alloc(scratch, m + 1, sizeof(*g->row));
	if (!g->row)
		return osr__nomem(diag);
	for (uint32_t c = 0; c < m; c++) {
		uint32_t u = x->chan_dst[c];

		g->row[c] = (uint32_t)n_slots;
		n_slots += x->chan_row[u + 1] - x->chan_row[u];
	}
	if (n_slots > UINT32_MAX)
		return osr_fail(diag, OSR_NOT_APPLICABLE,
				"the fabric has more than 2^32 pairs of channels");
	g->row[m] = (uint32_t)n_slots;
	/* A route passes every switch once at most; and turns at one switch. */
	g->max_undo = 16 * x->n_switches + 2 + 256;
	g->dep = osr_calloc(scratch, n_slots, sizeof(*g->dep));
	g->never = osr_calloc(scratch, n_slots, sizeof(*g->never));
	g->pos = osr_alloc(scratch, n_lanes * m, sizeof(*g->pos));
	g->after = osr_alloc(scratch, m, sizeof(*g->after));
	g->before = osr_alloc(scratch, m, sizeof(*g->before));
	g->places = osr_alloc(scratch, m, sizeof(*g->places));
	g->seen = osr_calloc(scratch, m, 1);
	g->undo = osr_alloc(scratch, g->max_undo, sizeof(*g->undo));
	if (!g->dep || !g->never || !g->pos || !g->after || !g->before || !g->places || !g->seen ||
	    !g->undo)
		return osr__nomem(diag);
	for (uint32_t lane = 0; lane < n_lanes; lane++)
		place(g, keys + lane * m, g->pos + lane * m);
	return OSR_OK;
}

/* Channels that c leads to, no later than `last`: false if c1 is among them. */
static bool search_after(struct osr__deps *g, const uint32_t *pos, unsigned lane, uint32_t c,
			 uint32_t tail, uint32_t *n)
{
	const struct osr_fabric *x = g->x;
	uint32_t limit = pos[tail], *list = g->after;

	*n = 0;
	list[(*n)++] = c;
	g->seen[c] = 1;
	for (uint32_t i = 0; i < *n; i++) {
		uint32_t at = list[i], first = x->chan_row[x->chan_dst[at]];

		for (uint32_t e = g->row[at]; e < g->row[at + 1]; e++) {
			uint32_t next = first + (e - g->row[at]);

			if (!(g->dep[e] >> lane & 1))
				continue;
			if (next == tail)
				return false;
			if (g->seen[next] || pos[next] > limit)
				continue;
			g->seen[next] = 1;
			list[(*n)++] = next;
		}
	}
	return true;
}

/* Channels that lead to c, no earlier than `head`. */
static void search_before(struct osr__deps *g, const uint32_t *pos, unsigned lane, uint32_t c,
			  uint32_t head, uint32_t *n)
{
	const struct osr_fabric *x = g->x;
	uint32_t limit = pos[head], *list = g->before;

	*n = 0;
	list[(*n)++] = c;
	g->seen[c] = 1;
	for (uint32_t i = 0; i < *n; i++) {
		uint32_t at = list[i], s = x->chan_src[at];

		for (uint32_t o = x->chan_row[s]; o < x->chan_row[s + 1]; o++) {
			uint32_t in = x->chan_rev[o];

			if (g->seen[in] || pos[in] < limit ||
			    !(g->dep[osr__deps_slot(g, in, at)] >> lane & 1))
				continue;
			g->seen[in] = 1;
			list[(*n)++] = in;
		}
	}
}

static void unsee(struct osr__deps *g, const uint32_t *list, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		g->seen[list[i]] = 0;
}

/* Moves channels so that c1 comes before c2 on this lane; false, and nothing moves, on a cycle. */
static bool make_rise(struct osr__deps *g, unsigned lane, uint32_t c1, uint32_t c2)
{
	uint32_t *pos = g->pos + (size_t)lane * g->x->n_channels;
	uint32_t n_after, n_before, i = 0, j = 0, k = 0;

	if (c1 == c2)
		return false;
	if (pos[c1] < pos[c2])
		return true;
	if (!search_after(g, pos, lane, c2, c1, &n_after)) {
		unsee(g, g->after, n_after);
		return false;
	}
	search_before(g, pos, lane, c1, c2, &n_before);
	unsee(g, g->after, n_after);
	unsee(g, g->before, n_before);
	osr__sort_by(g->after, n_after, pos);
	osr__sort_by(g->before, n_before, pos);
	while (i < n_after || j < n_before) {
		bool first = j == n_before || (i < n_after && pos[g->after[i]] < pos[g->before[j]]);

		g->places[k++] = pos[first ? g->after[i++] : g->before[j++]];
	}
	k = 0;
	for (j = 0; j < n_before; j++)
		pos[g->before[j]] = g->places[k++];
	for (i = 0; i < n_after; i++)
		pos[g->after[i]] = g->places[k++];
	return true;
}

bool osr__deps_add(struct osr__deps *g, uint32_t c1, uint32_t c2, uint16_t lanes)
{
	uint32_t slot = osr__deps_slot(g, c1, c2);
	uint16_t fresh = lanes & (uint16_t)~g->dep[slot];

	if (!fresh)
		return true;
	if (fresh & g->never[slot])
		return false;
	/*
	 * Places may have moved although a later lane then fails: no harm, the order still holds.
	 */
	for (uint16_t left = fresh; left; left &= (uint16_t)(left - 1)) {
		unsigned lane = (unsigned)__builtin_ctz(left);

		if (make_rise(g, lane, c1, c2))
			continue;
		/* What this transaction has added may be taken back. */
		if (!g->n_undo)
			g->never[slot] |= (uint16_t)(1u << lane);
		return false;
	}
	g->dep[slot] |= fresh;
	if (g->n_undo < g->max_undo)
		g->undo[g->n_undo++] = (struct osr__undo){ slot, fresh };
	return true;
}

void osr__deps_begin(struct osr__deps *g)
{
	g->n_undo = 0;
}

void osr__deps_undo(struct osr__deps *g)
{
	osr__deps_undo_to(g, 0);
}

void osr__deps_undo_to(struct osr__deps *g, uint32_t n_undo)
{
	while (g->n_undo > n_undo) {
		struct osr__undo u = g->undo[--g->n_undo];

		g->dep[u.slot] &= (uint16_t)~u.lanes;
	}
}

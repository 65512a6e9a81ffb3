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
static void reroute_deps_place(struct osr__deps *deps, const uint64_t *keys, uint32_t *pos)
{
	uint32_t n = deps->x->n_channels, *from = deps->after, *to = deps->before, count[256];

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

enum osr_status osr__deps_init(struct osr__deps *deps, const struct osr_fabric *fabric,
			       uint32_t n_lanes, const uint64_t *keys, struct osr_arena *scratch,
			       struct osr_diag *diag)
{
	size_t m = fabric->n_channels;
	uint64_t n_slots = 0;

	*deps = (struct osr__deps){ .x = fabric, .n_lanes = n_lanes };
	deps->row = osr_alloc(scratch, m + 1, sizeof(*deps->row));
	if (!deps->row)
		return osr__nomem(diag);
	for (uint32_t c = 0; c < m; c++) {
		uint32_t u = fabric->chan_dst[c];

		deps->row[c] = (uint32_t)n_slots;
		n_slots += fabric->chan_row[u + 1] - fabric->chan_row[u];
	}
	if (n_slots > UINT32_MAX)
		return osr_fail(diag, OSR_NOT_APPLICABLE,
				"the fabric has more than 2^32 pairs of channels");
	deps->row[m] = (uint32_t)n_slots;
	/* A route passes every switch once at most; and turns at one switch. */
	deps->max_undo = 16 * fabric->n_switches + 2 + 256;
	deps->dep = osr_calloc(scratch, n_slots, sizeof(*deps->dep));
	deps->never = osr_calloc(scratch, n_slots, sizeof(*deps->never));
	deps->pos = osr_alloc(scratch, n_lanes * m, sizeof(*deps->pos));
	deps->after = osr_alloc(scratch, m, sizeof(*deps->after));
	deps->before = osr_alloc(scratch, m, sizeof(*deps->before));
	deps->places = osr_alloc(scratch, m, sizeof(*deps->places));
	deps->seen = osr_calloc(scratch, m, 1);
	deps->undo = osr_alloc(scratch, deps->max_undo, sizeof(*deps->undo));
	if (!deps->dep || !deps->never || !deps->pos || !deps->after || !deps->before ||
	    !deps->places || !deps->seen || !deps->undo)
		return osr__nomem(diag);
	for (uint32_t lane = 0; lane < n_lanes; lane++)
		reroute_deps_place(deps, keys + lane * m, deps->pos + lane * m);
	return OSR_OK;
}

/* Channels that c leads to, no later than `last`: false if c1 is among them. */
static bool search_after(struct osr__deps *deps, const uint32_t *pos, unsigned lane, uint32_t c,
			 uint32_t tail, uint32_t *n)
{
	const struct osr_fabric *fabric = deps->x;
	uint32_t limit = pos[tail], *list = deps->after;

	*n = 0;
	list[(*n)++] = c;
	deps->seen[c] = 1;
	for (uint32_t i = 0; i < *n; i++) {
		uint32_t at = list[i], first = fabric->chan_row[fabric->chan_dst[at]];

		for (uint32_t e = deps->row[at]; e < deps->row[at + 1]; e++) {
			uint32_t next = first + (e - deps->row[at]);

			if (!(deps->dep[e] >> lane & 1))
				continue;
			if (next == tail)
				return false;
			if (deps->seen[next] || pos[next] > limit)
				continue;
			deps->seen[next] = 1;
			list[(*n)++] = next;
		}
	}
	return true;
}

/* Channels that lead to c, no earlier than `head`. */
static void search_before(struct osr__deps *deps, const uint32_t *pos, unsigned lane, uint32_t c,
			  uint32_t head, uint32_t *n)
{
	const struct osr_fabric *fabric = deps->x;
	uint32_t limit = pos[head], *list = deps->before;

	*n = 0;
	list[(*n)++] = c;
	deps->seen[c] = 1;
	for (uint32_t i = 0; i < *n; i++) {
		uint32_t at = list[i], s = fabric->chan_src[at];

		for (uint32_t o = fabric->chan_row[s]; o < fabric->chan_row[s + 1]; o++) {
			uint32_t in = fabric->chan_rev[o];

			if (deps->seen[in] || pos[in] < limit ||
			    !(deps->dep[osr__deps_slot(deps, in, at)] >> lane & 1))
				continue;
			deps->seen[in] = 1;
			list[(*n)++] = in;
		}
	}
}

static void unsee(struct osr__deps *deps, const uint32_t *list, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		deps->seen[list[i]] = 0;
}

/* Moves channels so that c1 comes before c2 on this lane; false, and nothing moves, on a cycle. */
static bool make_rise(struct osr__deps *deps, unsigned lane, uint32_t c1, uint32_t c2)
{
	uint32_t *pos = deps->pos + (size_t)lane * deps->x->n_channels;
	uint32_t n_after, n_before, i = 0, j = 0, k = 0;

	if (c1 == c2)
		return false;
	if (pos[c1] < pos[c2])
		return true;
	if (!search_after(deps, pos, lane, c2, c1, &n_after)) {
		unsee(deps, deps->after, n_after);
		return false;
	}
	search_before(deps, pos, lane, c1, c2, &n_before);
	unsee(deps, deps->after, n_after);
	unsee(deps, deps->before, n_before);
	osr__sort_by(deps->after, n_after, pos);
	osr__sort_by(deps->before, n_before, pos);
	while (i < n_after || j < n_before) {
		bool first = j == n_before ||
			     (i < n_after && pos[deps->after[i]] < pos[deps->before[j]]);

		deps->places[k++] = pos[first ? deps->after[i++] : deps->before[j++]];
	}
	k = 0;
	for (j = 0; j < n_before; j++)
		pos[deps->before[j]] = deps->places[k++];
	for (i = 0; i < n_after; i++)
		pos[deps->after[i]] = deps->places[k++];
	return true;
}

bool osr__deps_add(struct osr__deps *deps, uint32_t c1, uint32_t c2, uint16_t lanes)
{
	uint32_t slot = osr__deps_slot(deps, c1, c2);
	uint16_t fresh = lanes & (uint16_t)~deps->dep[slot];

	if (!fresh)
		return true;
	if (fresh & deps->never[slot])
		return false;
	/*
	 * Places may have moved although a later lane then fails: no harm, the order still holds.
	 */
	for (uint16_t left = fresh; left; left &= (uint16_t)(left - 1)) {
		unsigned lane = (unsigned)__builtin_ctz(left);

		if (make_rise(deps, lane, c1, c2))
			continue;
		/* What this transaction has added may be taken back. */
		if (!deps->n_undo)
			deps->never[slot] |= (uint16_t)(1u << lane);
		return false;
	}
	deps->dep[slot] |= fresh;
	if (deps->n_undo < deps->max_undo)
		deps->undo[deps->n_undo++] = (struct osr__undo){ slot, fresh };
	return true;
}

void osr__deps_begin(struct osr__deps *deps)
{
	deps->n_undo = 0;
}

void osr__deps_undo(struct osr__deps *deps)
{
	osr__deps_undo_to(deps, 0);
}

void osr__deps_undo_to(struct osr__deps *deps, uint32_t n_undo)
{
	while (deps->n_undo > n_undo) {
		struct osr__undo u = deps->undo[--deps->n_undo];

		deps->dep[u.slot] &= (uint16_t)~u.lanes;
	}
}

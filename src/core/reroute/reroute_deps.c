/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The dependency graph of every lane, to which edges are added one by one: toporder.h. */
#include "reroute_private.h"

#include <string.h>

/*
 * Places 0 .. n-1 by key, ties by channel: least significant digit first, 8 bits at a time (with 16 the
 * counts of a small fabric would cost far more than its channels), digits that are all alike left out.
 */
static void reroute_deps_place(struct osr__deps *deps, const uint64_t *keys, uint32_t *pos)
{
	uint32_t n = deps->x->n_channels, *from = deps->order.after, *to = deps->order.before,
		 count[256];

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

/* Of the graph of deps->lane. */
static uint32_t reroute_deps_edges(const void *graph, uint32_t c, bool back, uint32_t *out)
{
	const struct osr__deps *deps = graph;
	const struct osr_fabric *fabric = deps->x;
	uint32_t s = back ? fabric->chan_src[c] : fabric->chan_dst[c], n = 0;

	for (uint32_t o = fabric->chan_row[s]; o < fabric->chan_row[s + 1]; o++) {
		uint32_t other = back ? fabric->chan_rev[o] : o;
		uint32_t slot = back ? osr__deps_slot(deps, other, c) : osr__deps_slot(deps, c, o);

		if (deps->dep[slot] >> deps->lane & 1)
			out[n++] = other;
	}
	return n;
}

enum osr_status osr__deps_init(struct osr__deps *deps, const struct osr_fabric *fabric,
			       uint32_t n_lanes, const uint64_t *keys, struct osr_arena *scratch,
			       struct osr_diag *diag)
{
	size_t m = fabric->n_channels;
	uint32_t max_degree = 0;
	uint64_t n_slots = 0;

	*deps = (struct osr__deps){ .x = fabric, .n_lanes = n_lanes };
	deps->row = osr_alloc(scratch, m + 1, sizeof(*deps->row));
	if (!deps->row)
		return osr__nomem(diag);
	for (uint32_t c = 0; c < m; c++) {
		uint32_t u = fabric->chan_dst[c],
			 degree = fabric->chan_row[u + 1] - fabric->chan_row[u];

		deps->row[c] = (uint32_t)n_slots;
		n_slots += degree;
		max_degree = max_degree < degree ? degree : max_degree;
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
	deps->undo = osr_alloc(scratch, deps->max_undo, sizeof(*deps->undo));
	deps->order = (struct osr_toporder){ .n = (uint32_t)m,
					     .max_degree = max_degree,
					     .edges = reroute_deps_edges,
					     .graph = deps };
	if (!deps->dep || !deps->never || !deps->pos || !deps->undo ||
	    osr_toporder_init(&deps->order, scratch, diag))
		return osr__nomem(diag);
	for (uint32_t lane = 0; lane < n_lanes; lane++)
		reroute_deps_place(deps, keys + lane * m, deps->pos + lane * m);
	return OSR_OK;
}

/* Moves channels so that c1 comes before c2 on this lane; false, and nothing moves, on a cycle. */
static bool make_rise(struct osr__deps *deps, unsigned lane, uint32_t c1, uint32_t c2)
{
	deps->lane = lane;
	deps->order.rank = deps->pos + (size_t)lane * deps->x->n_channels;
	return osr_toporder_rise(&deps->order, c1, c2);
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

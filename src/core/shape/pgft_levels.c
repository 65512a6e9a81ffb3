/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Levels: how far a switch is from hosts, but for those that stand on their heads.
 *
 * The search starts from switches with many hosts. A leaf with few or none is then found from
 * above, through its parents, and so seems to lie two levels too high; a sub-tree without hosts is
 * found from the cores, upside down. fold() sets them right: siblings have all their parents in
 * common, and two nodes two levels apart one neighbour (in a quasi fat tree several, but those of
 * one sub-tree of many).
 */
#include <string.h>

#include "pgft_private.h"

static bool is_pendant(const struct pgft_work *w, uint32_t s)
{
	return w->row[s + 1] - w->row[s] == 1;
}

/* Breadth first from the strong switches, which are on level 1. */
static bool search(struct pgft_work *w, struct pgft_part *part, uint32_t strong, bool strip)
{
	uint32_t head = 0, tail = 0;

	for (uint32_t i = 0; i < part->n; i++) {
		uint32_t s = part->member[i];

		w->depth[s] = OSR_NONE;
		if (w->p->sw_hosts[s] < strong || (strip && is_pendant(w, s)))
			continue;
		w->depth[s] = 1;
		w->queue[tail++] = s;
	}
	while (head < tail) {
		uint32_t s = w->queue[head++];

		for (uint32_t e = w->row[s]; e < w->row[s + 1]; e++) {
			uint32_t t = w->near[e];

			if (w->depth[t] != OSR_NONE || (strip && is_pendant(w, t)))
				continue;
			w->depth[t] = w->depth[s] + 1;
			w->queue[tail++] = t;
		}
	}
	return tail > 0;
}

/*
 * Does v, two levels above some u, share with it more than half of its neighbours below, and more
 * than one? Or is the only neighbour of both the same?
 */
static bool is_sibling(struct pgft_work *w, uint32_t v)
{
	uint32_t depth = w->depth[v], n = 0;
	bool single = w->row[v + 1] - w->row[v] == 1;

	for (uint32_t e = w->row[v]; e < w->row[v + 1]; e++)
		n += w->depth[w->near[e]] == depth - 1;
	w->now++;
	for (uint32_t e = w->row[v]; e < w->row[v + 1]; e++) {
		uint32_t s = w->near[e];

		if (w->depth[s] != depth - 1)
			continue;
		for (uint32_t g = w->row[s]; g < w->row[s + 1]; g++) {
			uint32_t u = w->near[g];

			if (w->depth[u] != depth - 2)
				continue;
			w->count[u] = w->stamp[u] == w->now ? w->count[u] + 1 : 1;
			w->stamp[u] = w->now;
			if (w->count[u] > 1 && 2 * w->count[u] > n)
				return true;
			if (single && depth == 3 && w->row[u + 1] - w->row[u] == 1)
				return true;
		}
	}
	return false;
}

/*
 * Switch v was found below a folded one, so it lies on the other side of that one too: under it.
 * Neighbours of its old level - 1 that were not folded by themselves follow.
 */
static bool follow(struct pgft_work *w, uint32_t v, uint32_t depth)
{
	uint32_t to = OSR_NONE;

	for (uint32_t e = w->row[v]; e < w->row[v + 1] && to == OSR_NONE; e++)
		if (w->depth[w->near[e]] + 3 == depth)
			to = w->depth[w->near[e]] - 1;
	if (to == OSR_NONE || to == 0)
		return false;
	for (uint32_t e = w->row[v]; e < w->row[v + 1]; e++)
		if (w->depth[w->near[e]] == depth - 1)
			w->depth[w->near[e]] = to + 1;
	w->depth[v] = to;
	return true;
}

/* By rising depth, which is the order of the queue. */
static void fold(struct pgft_work *w, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		uint32_t v = w->queue[i], depth = w->depth[v];

		if (depth < 3 || depth == OSR_NONE)
			continue;
		if (depth >= 5 && follow(w, v, depth))
			continue;
		if (is_sibling(w, v))
			w->depth[v] = depth - 2;
	}
}

static bool check_levels(struct pgft_work *w, struct pgft_part *part)
{
	part->n_bad = 0;
	for (uint32_t i = 0; i < part->n; i++) {
		uint32_t s = part->member[i];

		if (w->depth[s] == OSR_NONE)
			continue;
		for (uint32_t e = w->row[s]; e < w->row[s + 1]; e++) {
			uint32_t t = w->near[e], d = w->depth[t];

			if (d == OSR_NONE || d == w->depth[s] + 1 || d + 1 == w->depth[s])
				continue;
			if (!part->n_bad++) {
				part->bad_from = s;
				part->bad_to = t;
			}
		}
	}
	return part->n_bad == 0;
}

bool osr__pgft_levels(struct pgft_work *w, struct pgft_part *part, uint32_t strong, bool strip)
{
	uint32_t n_found = 0;

	part->n_bad = OSR_NONE;
	if (!search(w, part, strong, strip))
		return false;
	for (uint32_t i = 0; i < part->n; i++)
		n_found += w->depth[part->member[i]] != OSR_NONE;
	fold(w, n_found);
	if (!check_levels(w, part))
		return false;
	for (uint32_t i = 0; i < part->n; i++) {
		uint32_t s = part->member[i], d = w->depth[s];

		/* What was stripped hangs under a parent of leaves, or outside. */
		if (d == OSR_NONE)
			d = w->depth[w->near[w->row[s]]] == 2 ? 1 : 0;
		if (d > OSR_PGFT_MAX_LEVELS)
			return false;
		w->level[s] = (uint8_t)d;
	}
	return true;
}

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Levels: how far a switch is from hosts, but for those that stand on their heads.
 *
 * The search starts from switches with many hosts. A leaf with few or none is then found from
 * above, through its parents, and so seems to lie two levels too high; a sub-tree without hosts is
 * found from the cores, upside down. Then they are set right: siblings have all their parents in
 * common, and two nodes two levels apart one neighbour (in a quasi fat tree several, but those of
 * one sub-tree of many).
 */
#include <string.h>

#include "pgft_private.h"

static bool is_pendant(const struct pgft_work *pgft, uint32_t s)
{
	return pgft->row[s + 1] - pgft->row[s] == 1;
}

/*
 * Does v, two levels above some u, share with it more than half of its neighbours below, and more
 * than one? Or is the only neighbour of both the same?
 */
static bool is_sibling(struct pgft_work *pgft, uint32_t v)
{
	uint32_t depth = pgft->depth[v], n = 0;
	bool single = pgft->row[v + 1] - pgft->row[v] == 1;

	for (uint32_t e = pgft->row[v]; e < pgft->row[v + 1]; e++)
		n += pgft->depth[pgft->near[e]] == depth - 1;
	pgft->now++;
	for (uint32_t e = pgft->row[v]; e < pgft->row[v + 1]; e++) {
		uint32_t s = pgft->near[e];

		if (pgft->depth[s] != depth - 1)
			continue;
		for (uint32_t g = pgft->row[s]; g < pgft->row[s + 1]; g++) {
			uint32_t u = pgft->near[g];

			if (pgft->depth[u] != depth - 2)
				continue;
			pgft->count[u] = pgft->stamp[u] == pgft->now ? pgft->count[u] + 1 : 1;
			pgft->stamp[u] = pgft->now;
			if (pgft->count[u] > 1 && 2 * pgft->count[u] > n)
				return true;
			if (single && depth == 3 && pgft->row[u + 1] - pgft->row[u] == 1)
				return true;
		}
	}
	return false;
}

/*
 * Switch v was found below a folded one, so it lies on the other side of that one too: under it.
 * Neighbours of its old level - 1 that were not folded by themselves follow.
 */
static bool pgft_levels_follow(struct pgft_work *pgft, uint32_t v, uint32_t depth)
{
	uint32_t to = OSR_NONE;

	for (uint32_t e = pgft->row[v]; e < pgft->row[v + 1] && to == OSR_NONE; e++)
		if (pgft->depth[pgft->near[e]] + 3 == depth)
			to = pgft->depth[pgft->near[e]] - 1;
	if (to == OSR_NONE || to == 0)
		return false;
	for (uint32_t e = pgft->row[v]; e < pgft->row[v + 1]; e++)
		if (pgft->depth[pgft->near[e]] == depth - 1)
			pgft->depth[pgft->near[e]] = to + 1;
	pgft->depth[v] = to;
	return true;
}

static bool check_levels(struct pgft_work *pgft, struct pgft_part *part)
{
	part->n_bad = 0;
	for (uint32_t i = 0; i < part->n; i++) {
		uint32_t s = part->member[i];

		if (pgft->depth[s] == OSR_NONE)
			continue;
		for (uint32_t e = pgft->row[s]; e < pgft->row[s + 1]; e++) {
			uint32_t t = pgft->near[e], d = pgft->depth[t];

			if (d == OSR_NONE || d == pgft->depth[s] + 1 || d + 1 == pgft->depth[s])
				continue;
			if (!part->n_bad) {
				part->bad_from = s;
				part->bad_to = t;
			}
			part->n_bad += pgft->mult[e];
		}
	}
	return part->n_bad == 0;
}

bool osr_pgft_levels(struct pgft_work *pgft, struct pgft_part *part, uint32_t strong, bool strip)
{
	uint32_t n = 0;

	part->n_bad = OSR_NONE;
	/* Breadth first from the strong switches, which are on level 1. */
	for (uint32_t i = 0; i < part->n; i++) {
		uint32_t s = part->member[i];

		pgft->depth[s] = OSR_NONE;
		if (pgft->pgft->sw_hosts[s] < strong || (strip && is_pendant(pgft, s)))
			continue;
		pgft->depth[s] = 1;
		pgft->queue[n++] = s;
	}
	for (uint32_t i = 0; i < n; i++)
		for (uint32_t s = pgft->queue[i], e = pgft->row[s]; e < pgft->row[s + 1]; e++) {
			uint32_t t = pgft->near[e];

			if (pgft->depth[t] != OSR_NONE || (strip && is_pendant(pgft, t)))
				continue;
			pgft->depth[t] = pgft->depth[s] + 1;
			pgft->queue[n++] = t;
		}
	if (!n)
		return false;
	/* By rising depth, which is the order of the queue. */
	for (uint32_t i = 0; i < n; i++) {
		uint32_t v = pgft->queue[i], depth = pgft->depth[v];

		if (depth < 3 || (depth >= 5 && pgft_levels_follow(pgft, v, depth)))
			continue;
		if (is_sibling(pgft, v))
			pgft->depth[v] = depth - 2;
	}
	if (!check_levels(pgft, part))
		return false;
	for (uint32_t i = 0; i < part->n; i++) {
		uint32_t s = part->member[i], d = pgft->depth[s];

		/* What was stripped hangs under a parent of leaves, or outside. */
		if (d == OSR_NONE)
			d = pgft->depth[pgft->near[pgft->row[s]]] == 2 ? 1 : 0;
		if (d > OSR_PGFT_MAX_LEVELS)
			return false;
		pgft->level[s] = (uint8_t)d;
	}
	return true;
}

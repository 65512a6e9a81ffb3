/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Switches of fat trees, whole or damaged, that change places.
 *
 * The top switches of a tree are told apart by the first choice on the way up to them (digit b_2 of
 * pgft.h), and with them all switches above the leaves. Switches with one digit are a *group*. In
 * each plane every group takes the place of a group, in a whole tree an automorphism which leaves
 * the leaves where they are.
 *
 * Groups that are cabled alike are put into pairs, pairs into fours, and so on, until a *block* has
 * as many groups as there are planes. In plane k the i-th of a block of n takes the place of its (i xor (k mod
 * n))-th, so that flows which share a channel in one plane share one in all of them. In the planes
 * that are left over the second choices on the way up (digit b_3) change places in the same way
 * besides, then parallel cables.
 *
 * Groups of a whole tree that are no multiple of the planes can also go round, pair by pair: then
 * those of small blocks share their flows with all others.
 */
#include "planes_private.h"

#include <stdlib.h>
#include <string.h>

#include <osmroutes/each.h>
#include <osmroutes/pgft.h>

#define ALIKE 4 /* groups are where 1/4 of what their cables carry would be other cables */

/* Where a group is in its block. */
struct group {
	uint32_t block, at, size;
};

struct finder {
	const struct osr_fabric *fabric;
	struct osr_pgft pgft;
	bool one_rate;       /* of all channels */
	uint32_t *row;       /* [n_trees] where the groups of a tree begin */
	struct group *group; /* by tree and digit */
	uint32_t most;       /* planes that differ, of a tree */
	/* Of a tree. */
	uint32_t *size; /* [n] of a block; 0: it is part of another one */
	int64_t *cost,
		*joint; /* [n * n] how unlike two groups are cabled, below 0: alike; the sum over two blocks */
	/* [n_switches] */
	uint32_t *to, *there; /* whose place a switch takes; who takes its place */
	uint32_t *turn;       /* what the numbers of parallel cables are xored with */
	int64_t *amount;      /* Gb/s; 0 between uses */
};

/* The digit of a switch, or OSR_NONE: it is a leaf, or in no tree, or in another one. */
static uint32_t digit_of(const struct finder *finder, uint32_t tree, uint32_t v)
{
	if (finder->pgft.sw_tree[v] != tree || finder->pgft.sw_level[v] < 2)
		return OSR_NONE;
	return finder->pgft.sw_b[v] % finder->pgft.tree[tree].w[2];
}

/* Second choices on the way up that change places: a power of two. */
static uint32_t second_choices(const struct osr_pgft_tree *tree)
{
	uint32_t n = 1;

	while (tree->h > 2 && 2 * n <= tree->w[3])
		n *= 2;
	return n;
}

/* Parallel cables on the way up that change places: a power of two. */
static uint32_t cables_of(const struct osr_pgft_tree *tree)
{
	uint32_t most = 1, n = 1;

	for (uint32_t level = 2; level <= tree->h; level++)
		most = tree->p[level] > most ? tree->p[level] : most;
	while (2 * n <= most)
		n *= 2;
	return n;
}

/*
 * The switch at the place of v with another first digit, and with the second one xored; or
 * OSR_NONE.
 */
static uint32_t switch_at(const struct finder *finder, uint32_t v, uint32_t digit, uint32_t second)
{
	const struct osr_pgft_tree *tree = &finder->pgft.tree[finder->pgft.sw_tree[v]];
	uint32_t level = finder->pgft.sw_level[v], b = finder->pgft.sw_b[v],
		 n = second_choices(tree);

	b += digit - b % tree->w[2];
	if (level > 2 && b / tree->w[2] % tree->w[3] < n)
		b += ((b / tree->w[2] % n) ^ (second % n)) * tree->w[2] -
		     b / tree->w[2] % n * tree->w[2];
	return tree->place[level][(size_t)finder->pgft.sw_a[v] * tree->w_product[level] + b];
}

/* ---- groups that are alike ------------------------------------------------------------------- */

/*
 * What of the cables of v is not there for the switch in its place, and the other way round, ALIKE
 * times, less all: Gb/s.
 */
static int64_t cost_of_switch(struct finder *finder, uint32_t v)
{
	const struct osr_fabric *fabric = finder->fabric;
	uint32_t other = finder->to[v];
	int64_t sum = 0;

	OSR_EACH_CHANNEL(c, fabric, v) {
		int64_t rate = fabric->chan_rate[c] ? fabric->chan_rate[c] : 1;
		uint32_t to = finder->to[fabric->chan_dst[c]];

		sum -= rate;
		if (other == OSR_NONE || to == OSR_NONE)
			sum += ALIKE * rate;
		else
			finder->amount[to] += rate;
	}
	if (other == OSR_NONE)
		return sum;
	OSR_EACH_CHANNEL(c, fabric, other) {
		int64_t rate = fabric->chan_rate[c] ? fabric->chan_rate[c] : 1;

		sum -= rate;
		finder->amount[fabric->chan_dst[c]] -= rate;
	}
	OSR_EACH_SWITCH(u, fabric) {
		sum += ALIKE * llabs(finder->amount[u]);
		finder->amount[u] = 0;
	}
	return sum;
}

/* The same of all switches of two groups. finder->to is the identity before and after. */
static int64_t cost_of_groups(struct finder *finder, uint32_t tree, uint32_t a, uint32_t b)
{
	enum { MOVE, COUNT, MOVE_BACK };
	int64_t sum = 0;

	for (unsigned step = MOVE; step <= MOVE_BACK; step++)
		OSR_EACH_SWITCH(v, finder->fabric) {
			uint32_t digit = digit_of(finder, tree, v);

			if (digit != a && digit != b)
				continue;
			if (step == COUNT)
				sum += cost_of_switch(finder, v);
			else
				finder->to[v] =
					step == MOVE ? switch_at(finder, v, digit == a ? b : a, 0)
						     : v;
		}
	return sum;
}

/*
 * Two blocks of this size become one, those first that are most alike, as long as there are alike
 * ones.
 */
static void join_blocks(struct finder *finder, struct group *group, uint32_t n, uint32_t size)
{
	memset(finder->joint, 0, (size_t)n * n * sizeof(*finder->joint));
	for (uint32_t a = 0; a < n; a++)
		for (uint32_t b = 0; b < n; b++)
			finder->joint[group[a].block * n + group[b].block] +=
				finder->cost[a * n + b];
	for (;;) {
		uint32_t first = OSR_NONE, second = OSR_NONE;
		int64_t least = 0;

		for (uint32_t a = 0; a < n; a++)
			for (uint32_t b = a + 1; b < n; b++) {
				if (finder->size[a] != size || finder->size[b] != size ||
				    finder->joint[a * n + b] >= least)
					continue;
				least = finder->joint[a * n + b];
				first = a;
				second = b;
			}
		if (first == OSR_NONE)
			return;
		for (uint32_t a = 0; a < n; a++) {
			if (group[a].block != second)
				continue;
			group[a].block = first;
			group[a].at += size;
		}
		finder->size[first] += size;
		finder->size[second] = 0;
	}
}

static void find_blocks(struct finder *finder, uint32_t tree, uint32_t n_planes)
{
	uint32_t n = finder->pgft.tree[tree].w[2], largest = 1;
	const struct osr_pgft_tree *found = &finder->pgft.tree[tree];
	bool whole = finder->one_rate && !found->n_missing_links && !found->n_missing_switches;
	struct group *group = finder->group + finder->row[tree];

	for (uint32_t a = 0; a < n; a++) {
		finder->size[a] = 1;
		group[a] = (struct group){ .block = a };
		finder->cost[a * n + a] = 0;
		for (uint32_t b = 0; b < a; b++)
			finder->cost[a * n + b] = finder->cost[b * n + a] =
				whole ? -1 : cost_of_groups(finder, tree, a, b);
	}
	for (uint32_t size = 1; size < n_planes; size *= 2)
		join_blocks(finder, group, n, size);
	for (uint32_t a = 0; a < n; a++) {
		group[a].size = finder->size[group[a].block];
		largest = group[a].size > largest ? group[a].size : largest;
	}
	largest *= second_choices(found) * cables_of(found);
	finder->most = largest > finder->most ? largest : finder->most;
}

/* ---- places ---------------------------------------------------------------------------------- */

/* The digit whose place another one takes in plane k. */
static uint32_t digit_in_place(const struct finder *finder, uint32_t tree, uint32_t digit,
			       uint32_t k)
{
	const struct group *group = finder->group + finder->row[tree], *own = group + digit;
	uint32_t other = 0;

	while (group[other].block != own->block || group[other].at != (own->at ^ (k % own->size)))
		other++;
	return other;
}

/* The planes from which on small blocks are so small that to go round serves better. */
#define ROUND 8

/* Does a group come round to others than those of a block? */
static bool goes_round(const struct finder *finder, uint32_t n_planes)
{
	bool any = false;

	for (uint32_t tree = 0; tree < finder->pgft.n_trees; tree++)
		any |= finder->pgft.tree[tree].h > 1 && finder->pgft.tree[tree].w[2] % n_planes;
	return any && n_planes >= ROUND;
}

/* Of n groups: 2q places on in planes 2q and 2q + 1; in the second the other one of the pair there. */
static uint32_t digit_on(uint32_t digit, uint32_t n, uint32_t k)
{
	digit = (digit + k / 2 * 2) % n;
	return (digit | 1) < n ? digit ^ (k & 1) : digit;
}

/* The inverse. */
static uint32_t digit_back(uint32_t digit, uint32_t n, uint32_t k)
{
	if ((digit | 1) < n)
		digit ^= k & 1;
	return (digit + n - k / 2 * 2 % n) % n;
}

static void place_switches_round(struct finder *finder, uint32_t k)
{
	OSR_EACH_SWITCH(v, finder->fabric) {
		uint32_t tree = finder->pgft.sw_tree[v];
		uint32_t digit = tree == OSR_NONE ? OSR_NONE : digit_of(finder, tree, v), n, on;

		finder->to[v] = finder->there[v] = v;
		finder->turn[v] = 0;
		if (digit == OSR_NONE)
			continue;
		n = finder->pgft.tree[tree].w[2];
		on = digit_on(digit, n, k);
		/* Where a group has no other one beside it, its second choices change places. */
		finder->to[v] =
			switch_at(finder, v, digit_back(digit, n, k), (digit | 1) < n ? 0 : k & 1);
		finder->there[v] = switch_at(finder, v, on, (on | 1) < n ? 0 : k & 1);
	}
}

static void place_switches(struct finder *finder, uint32_t k)
{
	OSR_EACH_SWITCH(v, finder->fabric) {
		uint32_t tree = finder->pgft.sw_tree[v];
		uint32_t digit = tree == OSR_NONE ? OSR_NONE : digit_of(finder, tree, v), second;

		finder->to[v] = finder->there[v] = v;
		finder->turn[v] = 0;
		if (digit == OSR_NONE)
			continue;
		second = k / finder->group[finder->row[tree] + digit].size;
		finder->to[v] =
			switch_at(finder, v, digit_in_place(finder, tree, digit, k), second);
		finder->there[v] = finder->to[v];
		finder->turn[v] = second / second_choices(&finder->pgft.tree[tree]) %
				  cables_of(&finder->pgft.tree[tree]);
	}
}

/* Cables between the two switches of c that are as fast, up to channel `end`. */
static uint32_t count_parallel(const struct finder *finder, uint32_t c, uint32_t end)
{
	const struct osr_fabric *fabric = finder->fabric;
	uint32_t n = 0;

	for (uint32_t o = fabric->chan_row[fabric->chan_src[c]]; o < end; o++)
		n += fabric->chan_dst[o] == fabric->chan_dst[c] &&
		     fabric->chan_rate[o] == fabric->chan_rate[c];
	return n;
}

/* By its number among the parallel cables that are as fast. */
static uint32_t channel_in_place(const struct finder *finder, uint32_t c)
{
	const struct osr_fabric *fabric = finder->fabric;
	uint32_t v = fabric->chan_src[c], u = fabric->chan_dst[c], n = count_parallel(finder, c, c);
	uint32_t turned = n ^ (finder->turn[v] | finder->turn[u]);

	if (finder->there[v] == OSR_NONE || finder->there[u] == OSR_NONE)
		return OSR_NONE;
	if (turned < count_parallel(finder, c, fabric->chan_row[v + 1]))
		n = turned;
	OSR_EACH_CHANNEL(o, fabric, finder->there[v]) {
		if (fabric->chan_dst[o] != finder->there[u] ||
		    fabric->chan_rate[o] != fabric->chan_rate[c])
			continue;
		if (!n--)
			return o;
	}
	return OSR_NONE;
}

enum osr_status osr_planes_places(const struct planes_in *in, bool round,
				  struct planes_places *places, struct osr_diag *why)
{
	const struct osr_pgft_options any = { .max_missing = 100 };
	const struct osr_fabric *fabric = in->first;
	struct osr_arena *scratch = in->scratch;
	struct finder finder = { .fabric = fabric, .most = 1 };
	size_t n = fabric->n_switches, m = fabric->n_channels, most = 0;
	uint32_t n_groups = 0;
	enum osr_status st = osr_pgft_find(fabric, &any, scratch, &finder.pgft, why);

	if (!st && round && !goes_round(&finder, in->mates.n))
		st = osr_fail(why, OSR_NOT_APPLICABLE, "blocks are large enough");
	if (st)
		return st;
	finder.one_rate = true;
	OSR_EVERY_CHANNEL(c, fabric)
		finder.one_rate &= fabric->chan_rate[c] == fabric->chan_rate[0];
	finder.row = osr_calloc(scratch, finder.pgft.n_trees, sizeof(*finder.row));
	for (uint32_t tree = 0; finder.row && tree < finder.pgft.n_trees; tree++) {
		uint32_t digits = finder.pgft.tree[tree].h > 1 ? finder.pgft.tree[tree].w[2] : 0;

		finder.row[tree] = n_groups;
		n_groups += digits;
		most = digits > most ? digits : most;
	}
	finder.group = osr_alloc(scratch, n_groups, sizeof(*finder.group));
	finder.size = osr_alloc(scratch, most, sizeof(*finder.size));
	finder.cost = osr_alloc(scratch, most * most, sizeof(*finder.cost));
	finder.joint = osr_alloc(scratch, most * most, sizeof(*finder.joint));
	finder.amount = osr_calloc(scratch, n, sizeof(*finder.amount));
	finder.there = osr_alloc(scratch, n, sizeof(*finder.there));
	finder.turn = osr_alloc(scratch, n, sizeof(*finder.turn));
	places->to = osr_alloc(scratch, n * in->mates.n, sizeof(*places->to));
	places->image = osr_alloc(scratch, m * in->mates.n, sizeof(*places->image));
	if (osr_arena_failed(scratch, why))
		return OSR_NOMEM;
	finder.to = places->to;
	OSR_EACH_SWITCH(v, fabric)
		finder.to[v] = v;
	for (uint32_t tree = 0; tree < finder.pgft.n_trees && !round; tree++)
		if (finder.pgft.tree[tree].h > 1)
			find_blocks(&finder, tree, in->mates.n);
	if (round)
		finder.most = in->mates.n;
	places->n = finder.most < in->mates.n ? finder.most : in->mates.n;
	places->level = finder.pgft.sw_level;
	for (uint32_t k = 0; k < places->n; k++) {
		finder.to = places->to + k * n;
		if (round)
			place_switches_round(&finder, k);
		else
			place_switches(&finder, k);
		for (uint32_t c = 0; c < m; c++)
			places->image[k * m + c] = channel_in_place(&finder, c);
	}
	return finder.most > 1 ? OSR_OK
			       : osr_fail(why, OSR_NOT_APPLICABLE,
					  "no two switches above the leaves are cabled alike");
}

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The j of each host that equation (1) takes.
 *
 * Source: the D-Mod-K paper, section V-B. A sub-tree of height l has R_l = w_1 .. w_(l+1) p_(l+1)
 * cables up, and a packet to number j leaves its sub-tree by cable j mod R_l and enters that of its
 * host by such a one. If ranks follow the tree, the hosts of a sub-tree send in a stage of a shift
 * to ranks that follow each other. So no two of them meet if no two numbers in any such window
 * leave the same remainder. The numbers are one of these:
 *	the place	slot + m_1 A, which leaves holes where hosts are missing
 *	the rank	among the hosts that are there: right if every R_l divides their number, for
 *			then the window from the last rank to the first is right as well
 *	stretched	ranks in blocks of at most R_l, of which each begins at a multiple of R_l, so
 *			that the last rank ends a block
 * None is the best everywhere, so the one is taken whose shifts load their links least. DIFFERS:
 * the paper speaks of the rank, for any nodes whose number is a multiple; the places are for trees
 * without holes.
 */
#include <osmroutes/each.h>
#include <osmroutes/pgft.h>

#include <string.h>

#include "pgft_private.h"

/* Stretched numberings are tried as long as counting takes fewer steps than this. */
#define MAX_STEPS (UINT64_C(1) << 28)

/* Counting ------------------------------------------------------------------------------------- */

/* Hosts of one tree that count together, and what is counted. */
struct shift {
	const struct osr_pgft_tree *tree;
	const uint32_t *place, *number; /* [n] by rank */
	uint32_t n, cables;
	uint32_t *least;  /* [n] by stage: what no routing can go below */
	uint32_t *load;   /* [n] by stage: of the busiest cable */
	uint32_t *flows;  /* [cables] of the window at hand */
	uint32_t *having; /* [n + 1] how many cables have so many flows */
	uint32_t most;
	uint64_t over;
};

static uint32_t cables_up(const struct osr_pgft_tree *tree, uint32_t l)
{
	return tree->w_product[l + 1] * tree->p[l + 1];
}

/* The end of the sub-tree of height l whose first rank is this. */
static uint32_t end_of(const struct shift *shift, uint32_t l, uint32_t first)
{
	uint32_t m = shift->tree->m_product[l], end = first + 1;

	while (end < shift->n && shift->place[end] / m == shift->place[first] / m)
		end++;
	return end;
}

static void put_flow(struct shift *shift, uint32_t rank)
{
	uint32_t *flows = &shift->flows[shift->number[rank % shift->n] % shift->cables];

	shift->having[(*flows)++]--;
	shift->having[*flows]++;
	shift->most = *flows > shift->most ? *flows : shift->most;
}

static void take_flow(struct shift *shift, uint32_t rank)
{
	uint32_t *flows = &shift->flows[shift->number[rank % shift->n] % shift->cables];

	shift->having[(*flows)--]--;
	shift->having[*flows]++;
	shift->most -= !shift->having[shift->most];
}

/*
 * All stages at the cables of one sub-tree, up or down: its hosts are the ranks first .. first +
 * size - 1. In stage k they send to the ranks k further on, and of these only those outside count,
 * [max(k, size), min(k + size, n)) from the first; and from outside come the flows to its own ranks
 * [max(0, k + size - n), min(k, size)). Both ends only move on.
 */
static void count_windows(struct shift *shift, uint32_t first, uint32_t size, bool up)
{
	uint32_t n = shift->n, from = up ? size : 0, to = from;

	memset(shift->flows, 0, shift->cables * sizeof(*shift->flows));
	memset(shift->having, 0, (size + 1) * sizeof(*shift->having));
	shift->having[0] = shift->cables;
	shift->most = 0;
	for (uint32_t k = 1; k < n; k++) {
		uint32_t begin = k + size > n ? k + size - n : 0, end = k + size < n ? k + size : n;

		if (up)
			begin = k;
		else
			end = k < size ? k : size;
		while (from < begin)
			take_flow(shift, first + from++);
		while (to < end)
			put_flow(shift, first + to++);
		if (shift->load[k] < shift->most)
			shift->load[k] = shift->most;
		for (uint32_t flows = shift->least[k] + 1; flows <= shift->most; flows++)
			shift->over += shift->having[flows];
	}
}

/* The flows out of a sub-tree, stage by stage, over its cables. */
static void count_least(struct shift *shift, uint32_t size)
{
	for (uint32_t k = 1; k < shift->n; k++) {
		uint32_t leave = k < shift->n - k ? k : shift->n - k, least;

		if (leave > size)
			leave = size;
		if (leave > shift->n - size)
			leave = shift->n - size;
		least = (leave + shift->cables - 1) / shift->cables;
		if (shift->least[k] < least)
			shift->least[k] = least;
	}
}

enum osr_status osr_pgft_shift(const struct osr_pgft_tree *tree, const uint32_t *place,
			       const uint32_t *number, uint32_t n, struct osr_arena *scratch,
			       struct osr_pgft_shift *sum, struct osr_diag *diag)
{
	struct osr_arena_mark mark = osr_arena_mark(scratch);
	struct shift shift = { .tree = tree, .place = place, .number = number, .n = n };
	uint32_t most = 1;

	for (uint32_t l = 1; l < tree->h; l++)
		most = most < cables_up(tree, l) ? cables_up(tree, l) : most;
	shift.least = osr_alloc(scratch, n, sizeof(*shift.least));
	shift.load = osr_alloc(scratch, n, sizeof(*shift.load));
	shift.flows = osr_alloc(scratch, most, sizeof(*shift.flows));
	shift.having = osr_alloc(scratch, (size_t)n + 1, sizeof(*shift.having));
	if (osr_arena_failed(scratch, diag))
		return OSR_NOMEM;
	/* The cable of a host has one flow in every stage. */
	for (uint32_t k = 0; k < n; k++)
		shift.least[k] = shift.load[k] = 1;
	for (uint32_t l = 1; l < tree->h; l++) {
		shift.cables = cables_up(tree, l);
		for (uint32_t first = 0, end; first < n; first = end) {
			end = end_of(&shift, l, first);
			count_least(&shift, end - first);
		}
	}
	*sum = (struct osr_pgft_shift){ .n_stages = n ? n - 1 : 0 };
	for (uint32_t l = 1; l < tree->h; l++) {
		shift.cables = cables_up(tree, l);
		for (uint32_t first = 0, end; first < n; first = end) {
			end = end_of(&shift, l, first);
			if (end - first == n)
				continue;
			count_windows(&shift, first, end - first, true);
			count_windows(&shift, first, end - first, false);
			sum->steps += 4 * (uint64_t)n;
		}
	}
	for (uint32_t k = 1; k < n; k++) {
		sum->load += shift.load[k];
		sum->least += shift.least[k];
	}
	sum->over = shift.over;
	osr_arena_reset(scratch, mark);
	return OSR_OK;
}

/* The choice ----------------------------------------------------------------------------------- */

/* Hosts of one tree and group. */
struct numbering {
	struct osr_pgft *pgft;
	const struct osr_pgft_tree *tree;
	struct osr_arena *scratch;
	struct osr_diag *diag;
	uint32_t *term, *place;  /* [n] by rank */
	uint32_t n, first;       /* hosts of this group, and of those before it */
	uint32_t *number, *best; /* [n] the trial at hand, and the best one */
	bool any;
	struct osr_pgft_shift shift; /* of the best one */
	uint64_t steps;
	uint32_t blocks[OSR_PGFT_MAX_LEVELS + 1]; /* of each level within one of the next */
};

/* As good as any numbers can be? */
static bool is_least(const struct osr_pgft_shift *shift)
{
	return shift->load == shift->least && !shift->over;
}

/* Is the trial better than the best one so far? Then it is that. */
static enum osr_status judge_numbers(struct numbering *numbering)
{
	struct osr_pgft_shift shift, *best = &numbering->shift;
	enum osr_status st =
		osr_pgft_shift(numbering->tree, numbering->place, numbering->number, numbering->n,
			       numbering->scratch, &shift, numbering->diag);

	if (st)
		return st;
	numbering->steps += shift.steps;
	if (numbering->any &&
	    (shift.load > best->load || (shift.load == best->load && shift.over >= best->over)))
		return OSR_OK;
	numbering->any = true;
	*best = shift;
	memcpy(numbering->best, numbering->number, numbering->n * sizeof(*numbering->best));
	return OSR_OK;
}

/*
 * The number of a rank in blocks. Those of one level are as even as they can be; block b of c, of
 * `size` ranks, begins at rank b size / c.
 */
static uint32_t stretched(const struct numbering *numbering, uint32_t rank)
{
	uint32_t number = numbering->first, size = numbering->n;

	for (uint32_t l = numbering->tree->h - 1; l >= 1; l--) {
		uint64_t c = numbering->blocks[l], b = ((rank + 1) * c - 1) / size,
			 begin = b * size / c;

		number += (uint32_t)b * cables_up(numbering->tree, l);
		size = (uint32_t)((b + 1) * size / c - begin);
		rank -= (uint32_t)begin;
	}
	return number + rank;
}

/*
 * All blocks from level l down, `above` blocks of the next level: none with more ranks than cables,
 * nor with fewer than a sub-tree has.
 */
static enum osr_status stretch(struct numbering *numbering, uint32_t l, uint64_t above)
{
	const struct osr_pgft_tree *tree = numbering->tree;
	const struct shift all = { .tree = tree, .place = numbering->place, .n = numbering->n };
	uint32_t n = numbering->n, most = 0, most_blocks;
	enum osr_status st = OSR_OK;

	if (!l) {
		for (uint32_t i = 0; i < n; i++)
			numbering->number[i] = stretched(numbering, i);
		return judge_numbers(numbering);
	}
	for (uint32_t first = 0, end; first < n; first = end) {
		end = end_of(&all, l, first);
		most = most < end - first ? end - first : most;
	}
	most_blocks = n / most + 1;
	if (l + 1 < tree->h)
		most_blocks = cables_up(tree, l + 1) / cables_up(tree, l);
	for (uint32_t c = 1; c <= most_blocks && !st; c++) {
		uint64_t blocks = above * c;

		if ((c > 1 && n / blocks + 1 < most) || is_least(&numbering->shift) ||
		    numbering->steps > MAX_STEPS)
			break;
		numbering->blocks[l] = c;
		if ((n + blocks - 1) / blocks <= cables_up(tree, l))
			st = stretch(numbering, l - 1, blocks);
	}
	return st;
}

/*
 * The best of place, rank and stretched, in this order among equals, unless what is there is. Where
 * hosts share places the rank comes first, for the order of a leaf goes by numbers.
 */
static enum osr_status number_anew(struct numbering *numbering)
{
	enum osr_status st = OSR_OK;
	bool by_place = true;

	for (uint32_t i = 1; i < numbering->n; i++)
		by_place &= numbering->place[i - 1] < numbering->place[i];
	for (unsigned trial = 0; trial < 2 && !st; trial++, by_place = !by_place) {
		for (uint32_t i = 0; i < numbering->n; i++)
			numbering->number[i] =
				by_place ? numbering->place[i] : numbering->first + i;
		if (!numbering->any || !is_least(&numbering->shift))
			st = judge_numbers(numbering);
	}
	if (!st && !is_least(&numbering->shift))
		st = stretch(numbering, numbering->tree->h - 1, 1);
	return st;
}

/* Are the places ranks, whose number is a multiple? Then they are as good as numbers can be. */
static bool is_full(const struct numbering *numbering)
{
	bool full = true;

	for (uint32_t i = 0; i < numbering->n && full; i++)
		full = numbering->place[i] == i;
	for (uint32_t l = 1; l < numbering->tree->h && full; l++)
		full = numbering->n % cables_up(numbering->tree, l) == 0;
	return full;
}

/* Hosts of a leaf go by their numbers. */
static void sort_leaves(const struct osr_pgft *pgft, uint32_t *term, uint32_t n)
{
	const uint32_t *on = pgft->fabric->term_switch, *number = pgft->term_number;

	for (uint32_t i = 1; i < n; i++) {
		uint32_t t = term[i], k = i;

		for (; k && on[term[k - 1]] == on[t] && number[term[k - 1]] > number[t]; k--)
			term[k] = term[k - 1];
		term[k] = t;
	}
}

/*
 * Numbers of the last sweep stay, whatever has died or returned. Hosts without one, which are new,
 * count by their place; where that is worse than other numbers, all hosts have these.
 */
static enum osr_status number_group(struct numbering *numbering, struct osr_pgft_shift *sum)
{
	struct osr_pgft *pgft = numbering->pgft;
	const struct osr_fabric *fabric = pgft->fabric;
	uint32_t n_new = 0, n_other = 0;
	enum osr_status st = OSR_OK;

	for (uint32_t i = 0; i < numbering->n; i++) {
		uint32_t t = numbering->term[i];
		const struct osr_pgft_known *known = osr_pgft_memory_find(
			pgft->recalled, fabric->sw_guid[fabric->term_switch[t]],
			fabric->term_port[t]);
		bool is_new = !known || !known->a;

		n_new += is_new;
		pgft->term_number[t] = is_new ? pgft->term_index[t] : known->a - 1;
	}
	if (n_new < numbering->n)
		sort_leaves(pgft, numbering->term, numbering->n);
	for (uint32_t i = 0; i < numbering->n; i++) {
		numbering->place[i] = pgft->term_index[numbering->term[i]];
		numbering->number[i] = pgft->term_number[numbering->term[i]];
		n_other += numbering->number[i] != numbering->place[i];
	}
	numbering->any = false;
	numbering->steps = 0;
	numbering->shift = (struct osr_pgft_shift){ 0 };
	memcpy(numbering->best, numbering->number, numbering->n * sizeof(*numbering->best));
	if (!n_other && is_full(numbering))
		n_new = 0;
	else if (n_new < numbering->n)
		st = judge_numbers(numbering);
	if (!st && n_new && !(numbering->any && is_least(&numbering->shift)))
		st = number_anew(numbering);
	for (uint32_t i = 0; i < numbering->n; i++)
		pgft->term_number[numbering->term[i]] = numbering->best[i];
	sum->n_stages += numbering->shift.n_stages;
	sum->load += numbering->shift.load;
	sum->least += numbering->shift.least;
	sum->over += numbering->shift.over;
	return st;
}

enum osr_status osr_pgft_number(struct osr_pgft *pgft, struct osr_arena *scratch,
				struct osr_diag *diag)
{
	const struct osr_fabric *fabric = pgft->fabric;
	struct numbering numbering = { .pgft = pgft, .scratch = scratch, .diag = diag };
	enum osr_status st = OSR_OK;

	pgft->term_number = osr_alloc(scratch, fabric->n_terminals, sizeof(*pgft->term_number));
	numbering.term = osr_alloc(scratch, pgft->n_order, sizeof(*numbering.term));
	numbering.place = osr_alloc(scratch, pgft->n_order, sizeof(*numbering.place));
	numbering.number = osr_alloc(scratch, pgft->n_order, sizeof(*numbering.number));
	numbering.best = osr_alloc(scratch, pgft->n_order, sizeof(*numbering.best));
	if (osr_arena_failed(scratch, diag))
		return OSR_NOMEM;
	memset(pgft->term_number, 0xff, fabric->n_terminals * sizeof(*pgft->term_number));
	for (uint32_t i = 0, begin = 0, end; i < pgft->n_trees && !st; i++, begin = end) {
		numbering.tree = &pgft->tree[i];
		end = begin;
		while (end < pgft->n_order &&
		       pgft->sw_tree[fabric->term_switch[pgft->order[end]]] == i)
			end++;
		numbering.first = 0;
		for (uint32_t group = 0; group <= UINT8_MAX && !st; group++) {
			numbering.n = 0;
			for (uint32_t k = begin; k < end; k++)
				if (fabric->term_group[pgft->order[k]] == group)
					numbering.term[numbering.n++] = pgft->order[k];
			if (numbering.n)
				st = number_group(&numbering, &pgft->tree[i].shift);
			numbering.first += numbering.n;
		}
	}
	sort_leaves(pgft, pgft->order, pgft->n_order);
	return st;
}

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The numbers of a job's ranks: the narrowest whose windows hold, see job.h, then the planes that
 * they stand for.
 */
#include "job_private.h"

#include <osmroutes/invariant.h>

#include <stdlib.h>
#include <string.h>

/* Is each R_l a multiple of the one below? Then a number has digits R_l / R_(l-1). */
static bool has_digits(const struct osr_ranks *ranks)
{
	for (uint32_t t = 2; t < ranks->tree->h; t++)
		if (ranks->cables[t] % ranks->cables[t - 1])
			return false;
	return true;
}

/* Windows -------------------------------------------------------------------------------------- */

struct search {
	const struct osr_ranks *ranks;
	uint32_t blocks[OSR_PGFT_MAX_LEVELS + 1]; /* within one of the level above */
	uint64_t *number;                         /* [n] of the ones that are tried */
	uint32_t *count;                          /* [most cables of a level] */
	/* The best so far are ranks->number. */
	uint32_t worst; /* ranks of a window that share a residue */
	uint64_t planes;
};

/* The most ranks of one window with one residue; more than `enough` are not told apart. */
static uint32_t worst_window(const struct search *search, uint32_t enough)
{
	const struct osr_ranks *ranks = search->ranks;
	uint32_t n = ranks->n, worst = 1;

	for (uint32_t t = 1; t < ranks->tree->h; t++) {
		uint32_t length = ranks->most[t];
		uint64_t cables = ranks->cables[t];

		memset(search->count, 0, cables * sizeof(*search->count));
		for (uint32_t i = 0; i < length + n; i++) {
			uint32_t now;

			if (worst > enough)
				return worst;
			if (i >= length)
				search->count[search->number[i - length] % cables]--;
			now = ++search->count[search->number[i % n] % cables];
			worst = now > worst ? now : worst;
		}
	}
	return worst;
}

/* Stretched numbers ---------------------------------------------------------------------------- */

/* Ranks from `first` on up to `end` are cut into the blocks of level t, as even as possible. */
static void fill_block(const struct search *search, uint32_t t, uint32_t first, uint32_t end,
		       uint64_t base)
{
	uint32_t blocks = search->blocks[t], n = end - first;

	if (!t) {
		for (uint32_t i = first; i < end; i++)
			search->number[i] = base + (i - first);
		return;
	}
	for (uint32_t i = 0; i < blocks; i++)
		fill_block(search, t - 1, first + (uint32_t)((uint64_t)i * n / blocks),
			   first + (uint32_t)((uint64_t)(i + 1) * n / blocks),
			   base + i * search->ranks->cables[t]);
}

/* All numbers of blocks of levels t .. 1, `above` blocks of level t + 1 being there. */
static void try_blocks(struct search *search, uint32_t t, uint64_t above)
{
	const struct osr_ranks *ranks = search->ranks;
	uint64_t n = ranks->n, most = n / ranks->most[t] + 1;
	uint32_t worst;

	if (t + 1 < ranks->tree->h)
		most = ranks->cables[t + 1] / ranks->cables[t];
	for (uint64_t x = 1; x <= most; x++) {
		uint64_t blocks = above * x;

		/* Blocks shorter than a window do not help; longer than the cables do not work. */
		if (x > 1 && n + blocks < ranks->most[t] * blocks)
			return;
		if (n > ranks->cables[t] * blocks)
			continue;
		search->blocks[t] = (uint32_t)x;
		if (t > 1) {
			try_blocks(search, t - 1, blocks);
			continue;
		}
		fill_block(search, ranks->tree->h - 1, 0, ranks->n, 0);
		worst = worst_window(search, search->worst);
		if (worst > search->worst ||
		    (worst == search->worst && (n + blocks - 1) / blocks >= search->planes))
			continue;
		search->worst = worst;
		search->planes = (n + blocks - 1) / blocks;
		memcpy(ranks->number, search->number, n * sizeof(*ranks->number));
	}
}

/* Powers of two -------------------------------------------------------------------------------- */

/* A power of two that is at least n. */
static uint64_t power_above(uint64_t n)
{
	uint64_t power = 1;

	while (power < n)
		power *= 2;
	return power;
}

/* Digits of the rank, `first` planes on the lowest level; false: the windows do not hold. */
static bool try_powers(const struct search *search, uint64_t first)
{
	const struct osr_ranks *ranks = search->ranks;
	uint64_t size[OSR_PGFT_MAX_LEVELS + 1] = { 0 }, below = first;

	size[1] = first;
	for (uint32_t t = 2; t < ranks->tree->h; t++) {
		size[t] = power_above((ranks->most[t] + below - 1) / below);
		below *= size[t];
		if (size[t] > ranks->cables[t] / ranks->cables[t - 1])
			return false;
	}
	for (uint32_t i = 0; i < ranks->n; i++) {
		uint64_t rest = i, unit = 1, number = 0;

		for (uint32_t t = 1; t < ranks->tree->h; t++) {
			number += rest % size[t] * unit;
			rest /= size[t];
			unit = ranks->cables[t];
		}
		search->number[i] = number + rest * unit;
	}
	return worst_window(search, 1) == 1;
}

/* 2^k ranks: the fewest planes by which every shift and every exchange is free; false: none. */
static bool powers_hold(const struct search *search)
{
	const struct osr_ranks *ranks = search->ranks;

	if (ranks->n & (ranks->n - 1) || !has_digits(ranks))
		return false;
	for (uint64_t first = power_above(ranks->most[1]); first <= ranks->cables[1]; first *= 2)
		if (try_powers(search, first)) {
			memcpy(ranks->number, search->number, ranks->n * sizeof(*ranks->number));
			return true;
		}
	return false;
}

/* Planes --------------------------------------------------------------------------------------- */

/*
 * The ranks whose numbers agree so far, in the classes of their next digit; a class takes the
 * cables with one residue out of every sub-tree of level t.
 */
struct split {
	const struct osr_ranks *ranks;
	uint32_t t, n_digits, n_subs;
	uint32_t *sub;   /* [n_subs] A of each sub-tree with ranks */
	uint32_t *size;  /* [n_subs] its ranks */
	uint32_t *own;   /* [n_digits * n_subs] ranks of a class in it */
	uint32_t *total; /* [n_digits] ranks of a class */
	uint32_t *digit; /* [n_digits] that a class gets, OSR_NONE: not yet */
	bool *taken;     /* [n_digits] */
};

struct plane_cost {
	uint32_t dead;
	uint64_t most, squares;
};

/* One cable of a plane, in one direction, with the mean of what comes. */
static void cost_add(struct plane_cost *cost, const struct osr_ranks *ranks, uint32_t channel,
		     uint64_t more)
{
	uint64_t load = ranks->load ? ranks->load[channel] : 0;

	if (!more)
		return;
	cost->most = load + more > cost->most ? load + more : cost->most;
	cost->squares += 2 * load * more;
}

/*
 * Cables that a class would miss above a switch: the least of any planes of the next level, one for
 * each sub-tree with ranks.
 */
static uint32_t dead_above(const struct split *split, uint64_t residue)
{
	const struct osr_ranks *ranks = split->ranks;
	uint32_t t = split->t + 1, least = OSR_NONE;

	if (ranks->whole || t >= ranks->tree->h)
		return 0;
	for (uint64_t number = residue % ranks->tree->w_product[t]; number < ranks->cables[t];
	     number += ranks->tree->w_product[t]) {
		uint32_t dead = 0;

		for (uint32_t i = 0; i < ranks->n; i++)
			if (!i || ranks->a[t][i] != ranks->a[t][i - 1])
				dead += osr_cable(ranks, t, ranks->a[t][i], number) == OSR_NONE;
		least = dead < least ? dead : least;
	}
	return least;
}

static struct plane_cost cost_of(const struct split *split, uint32_t class, uint64_t residue)
{
	const struct osr_ranks *ranks = split->ranks;
	struct plane_cost cost = { .dead = dead_above(split, residue) };
	uint64_t others = ranks->n - 1;

	for (uint32_t i = 0; i < split->n_subs; i++) {
		uint32_t c = osr_cable(ranks, split->t, split->sub[i], residue);
		uint64_t own = split->own[class * split->n_subs + i], size = split->size[i];

		if (c == OSR_NONE) {
			cost.dead++;
			continue;
		}
		cost_add(&cost, ranks, c,
			 size * (split->total[class] - own) * OSR_LOAD_UNIT / others);
		cost_add(&cost, ranks, ranks->pgft->fabric->chan_rev[c],
			 own * (ranks->n - size) * OSR_LOAD_UNIT / others);
	}
	return cost;
}

static bool costs_less(struct plane_cost cost, struct plane_cost than)
{
	if (cost.dead != than.dead)
		return cost.dead < than.dead;
	return cost.most != than.most ? cost.most < than.most : cost.squares < than.squares;
}

/* The largest class first: the best digit that is free. `base`: what ranks of all classes have. */
static void deal_digits(struct split *split, uint64_t base)
{
	uint64_t unit = split->t > 1 ? split->ranks->cables[split->t - 1] : 1;

	for (uint32_t n = 0; n < split->n_digits; n++) {
		struct plane_cost least = { .dead = UINT32_MAX };
		uint32_t class = 0, best = OSR_NONE;

		for (uint32_t i = 0; i < split->n_digits; i++) {
			if (split->digit[i] != OSR_NONE)
				continue;
			if (split->digit[class] != OSR_NONE ||
			    split->total[i] > split->total[class])
				class = i;
		}
		for (uint32_t i = 0; i < split->n_digits; i++) {
			struct plane_cost cost = { 0 };

			if (split->taken[i])
				continue;
			if (split->total[class])
				cost = cost_of(split, class, base + i * unit);
			if (best != OSR_NONE && !costs_less(cost, least))
				continue;
			best = i;
			least = cost;
		}
		osr_invariant(best != OSR_NONE && split->digit[class] == OSR_NONE);
		split->digit[class] = best;
		split->taken[best] = true;
	}
}

/* The ranks of `chosen` that have `base` so far get the digit of level t in `next`. */
static enum osr_status split_group(const struct osr_ranks *ranks, uint32_t t, uint64_t base,
				   const uint64_t *chosen, uint64_t *next)
{
	uint64_t unit = t > 1 ? ranks->cables[t - 1] : 1;
	struct split split = { .ranks = ranks,
			       .t = t,
			       .n_digits = (uint32_t)(ranks->cables[t] / unit) };
	struct osr_arena *scratch = ranks->scratch;
	uint32_t n = 0;

	split.sub = osr_alloc(scratch, ranks->n, sizeof(*split.sub));
	split.size = osr_calloc(scratch, ranks->n, sizeof(*split.size));
	split.total = osr_calloc(scratch, split.n_digits, sizeof(*split.total));
	split.digit = osr_alloc(scratch, split.n_digits, sizeof(*split.digit));
	split.taken = osr_calloc(scratch, split.n_digits, sizeof(*split.taken));
	if (osr_arena_failed(scratch, NULL))
		return OSR_NOMEM;
	for (uint32_t i = 0; i < ranks->n; i++) {
		if (!i || ranks->a[t][i] != ranks->a[t][i - 1])
			split.sub[split.n_subs++] = ranks->a[t][i];
		split.size[split.n_subs - 1]++;
	}
	split.own = osr_calloc(scratch, (size_t)split.n_digits * split.n_subs, sizeof(*split.own));
	if (osr_arena_failed(scratch, NULL))
		return OSR_NOMEM;
	for (uint32_t i = 0, sub = 0; i < ranks->n; i++) {
		uint32_t class = (uint32_t)(ranks->number[i] / unit % split.n_digits);

		sub += i && ranks->a[t][i] != ranks->a[t][i - 1];
		if (chosen[i] != base)
			continue;
		split.total[class]++;
		split.own[class * split.n_subs + sub]++;
		n++;
	}
	if (!n)
		return OSR_OK;
	for (uint32_t i = 0; i < split.n_digits; i++)
		split.digit[i] = OSR_NONE;
	deal_digits(&split, base);
	for (uint32_t i = 0; i < ranks->n; i++)
		if (chosen[i] == base)
			next[i] =
				base + split.digit[ranks->number[i] / unit % split.n_digits] * unit;
	return OSR_OK;
}

/*
 * Digit by digit, in radices R_1, R_2 / R_1, ..., the numbers are mapped one to one; windows that
 * held hold.
 */
static enum osr_status choose_planes(struct osr_ranks *ranks)
{
	uint64_t *chosen = osr_calloc(ranks->scratch, ranks->n, sizeof(*chosen));
	uint64_t *next = osr_calloc(ranks->scratch, ranks->n, sizeof(*next));

	if (osr_arena_failed(ranks->scratch, NULL))
		return OSR_NOMEM;
	for (uint32_t t = 1; t < ranks->tree->h; t++) {
		uint64_t groups = t > 1 ? ranks->cables[t - 1] : 1;

		for (uint64_t base = 0; base < groups; base++) {
			struct osr_arena_mark mark = osr_arena_mark(ranks->scratch);
			enum osr_status st = split_group(ranks, t, base, chosen, next);

			osr_arena_reset(ranks->scratch, mark);
			if (st)
				return st;
		}
		memcpy(chosen, next, ranks->n * sizeof(*chosen));
	}
	memcpy(ranks->number, chosen, ranks->n * sizeof(*chosen));
	return OSR_OK;
}

enum osr_status osr_job_numbers(struct osr_ranks *ranks, bool *windows, bool *powers)
{
	struct osr_arena_mark mark = osr_arena_mark(ranks->scratch);
	struct search search = { .ranks = ranks, .worst = UINT32_MAX, .planes = UINT64_MAX };
	uint64_t most = 1;
	enum osr_status st = OSR_OK;

	for (uint32_t t = 1; t < ranks->tree->h; t++)
		most = ranks->cables[t] > most ? ranks->cables[t] : most;
	search.number = osr_alloc(ranks->scratch, ranks->n, sizeof(*search.number));
	search.count = osr_alloc(ranks->scratch, most, sizeof(*search.count));
	if (osr_arena_failed(ranks->scratch, NULL))
		return OSR_NOMEM;
	*powers = *windows = powers_hold(&search);
	if (!*powers) {
		/* The rank itself is such a number, too. */
		for (uint32_t i = 0; i < ranks->n; i++)
			search.number[i] = ranks->number[i] = i;
		search.worst = worst_window(&search, UINT32_MAX);
		try_blocks(&search, ranks->tree->h - 1, 1);
		*windows = search.worst == 1;
	}
	/* Otherwise the planes stay as they are. */
	if (has_digits(ranks))
		st = choose_planes(ranks);
	osr_arena_reset(ranks->scratch, mark);
	return st;
}

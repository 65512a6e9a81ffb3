/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * BALANCE: what the paper's SSSP leaves, made better among the same choices. From the outside in:
 *	osr__balance_choices()	rounds, then lower the largest load, then rounds that keep it
 *	rgraph_balance_rip_up()	every pair is taken out and routed again where that is cheapest
 *	bound()		no choice of routes can have a lower largest load than this
 *	rgraph_balance_lower()		some routes move until no channel carries more than a limit
 *
 * Rip-up minimises the sum of load^4, nearly sigma(4). It ends in a local minimum: the largest load
 * comes down only if a chain of routes moves at once. rgraph_balance_lower() finds such chains: a route leaves a
 * channel over the limit at the least cost, even if another channel is over the limit then; it may
 * not move back for a while (Glover 1989, tabu search), and channels that stay over the limit
 * become dearer (Morris 1993, the breakout method).
 *
 * When to stop is told by linear programming duality: for any prices y of channels, the largest
 * load is at least the sum over pairs of the cheapest choice, divided by the sum of all prices.
 * Prices that are 1 on the most loaded channels often prove that nothing is left to be gained; so
 * do those that the breakout method has come to.
 */
#include "srcroutes_private.h"

#include <string.h>

#include <osmroutes/prng.h>

#define MOST_TRIED 256 /* routes looked at for one move */

struct balance {
	struct osr__picks *s;
	const struct osr_srcroutes *a;
	struct osr_srcroutes_stats *stats;
	uint32_t n_flexible;
	uint32_t *flexible; /* [n_flexible] pairs with more than one choice */
	uint16_t *best;     /* [n_pairs] pick[] with the least largest load so far */

	/* rgraph_balance_lower() */
	uint32_t limit;
	uint64_t *row;   /* [n_channels + 1] into cross */
	uint32_t *cross; /* flexible pairs that can use the channel, ascending */
	uint32_t *dear;  /* [n_channels] what a route too many costs */
	uint32_t *until; /* [n_pairs] may not move before this move */
	uint32_t *over;  /* [n_channels] those over the limit */
	uint32_t *place; /* [n_channels] in over[]; OSR_NO_NODE: not over the limit */
	uint32_t n_over;
	struct osr_prng prng;
};

/* ---- rip-up --------------------------------------------------------------------------------- */

/* (l + 1)^4 - l^4; loads stay below 2^16, so the sum over a route stays below 2^63. */
static uint64_t rgraph_balance_price(uint64_t l)
{
	return 4 * l * l * l + 6 * l * l + 4 * l + 1;
}

/* The cheapest choice for a pair that is not in the loads; `cap`: no channel beyond this load. */
static uint32_t cheapest(const struct balance *w, uint32_t p, uint32_t cap)
{
	uint32_t best = w->s->pick[p], n = osr_srcroutes_n_choices(w->a, p), hops = w->a->hops[p];
	uint64_t least = UINT64_MAX;

	for (uint32_t i = 0; i < n; i++) {
		/* The present one first, so that it stays among equals. */
		uint32_t k = i ? i - (i <= w->s->pick[p]) : w->s->pick[p];
		const uint32_t *channel = osr_srcroutes_channels(w->a, p, k);
		uint64_t sum = 0;
		bool fits = true;

		for (uint32_t h = 0; h < hops; h++) {
			uint32_t l = w->s->load[channel[h]];

			fits &= l < cap;
			sum += rgraph_balance_price(l);
		}
		if (fits && sum < least) {
			least = sum;
			best = k;
		}
	}
	return best;
}

/* Until nothing moves, `rounds` times at most. Returns how often. */
static uint32_t rgraph_balance_rip_up(struct balance *w, uint32_t rounds, uint32_t cap)
{
	for (uint32_t r = 0; r < rounds; r++) {
		uint32_t n_moved = 0;

		for (uint32_t i = 0; i < w->n_flexible; i++) {
			uint32_t p = w->flexible[i], k;

			osr__picks_add(w->s, p, w->s->pick[p], UINT32_MAX);
			k = cheapest(w, p, cap);
			n_moved += k != w->s->pick[p];
			w->s->pick[p] = (uint16_t)k;
			osr__picks_add(w->s, p, k, 1);
		}
		if (!n_moved)
			return r + 1;
	}
	return rounds;
}

/* ---- what cannot be lowered ----------------------------------------------------------------- */

static uint64_t rgraph_balance_price_of(const struct balance *w, uint32_t p, uint32_t k,
					const uint32_t *y)
{
	const uint32_t *channel = osr_srcroutes_channels(w->a, p, k);
	uint64_t sum = 0;

	for (uint32_t h = 0; h < w->a->hops[p]; h++)
		sum += y[channel[h]];
	return sum;
}

/* The largest load that any choice of routes must have, given prices y[n_channels]. */
static uint32_t bound(const struct balance *w, const uint32_t *y)
{
	uint64_t sum = 0, prices = 0;

	for (uint32_t c = 0; c < w->s->n_channels; c++) {
		sum += (uint64_t)y[c] * w->s->load[c];
		prices += y[c];
	}
	for (uint32_t i = 0; i < w->n_flexible; i++) {
		uint32_t p = w->flexible[i];
		uint64_t now = rgraph_balance_price_of(w, p, w->s->pick[p], y), least = now;

		for (uint32_t k = 0; k < osr_srcroutes_n_choices(w->a, p); k++) {
			uint64_t x = rgraph_balance_price_of(w, p, k, y);

			least = x < least ? x : least;
		}
		sum -= now - least;
	}
	return prices ? (uint32_t)((sum + prices - 1) / prices) : 0;
}

/* Is `most` as low as it can be? Asked of the channels that carry nearly as much. */
static bool is_least(struct balance *w, uint32_t most)
{
	for (uint32_t below = 0; below < 4 && below < most; below++) {
		for (uint32_t c = 0; c < w->s->n_channels; c++)
			w->dear[c] = w->s->load[c] + below >= most;
		if (bound(w, w->dear) >= most)
			return true;
	}
	return false;
}

/* ---- lower the largest load ----------------------------------------------------------------- */

static void update_over(struct balance *w, uint32_t c)
{
	bool is_over = w->s->load[c] > w->limit;

	if (is_over == (w->place[c] != OSR_NO_NODE))
		return;
	if (is_over) {
		w->place[c] = w->n_over;
		w->over[w->n_over++] = c;
	} else {
		uint32_t last = w->over[--w->n_over];

		w->over[w->place[c]] = last;
		w->place[last] = w->place[c];
		w->place[c] = OSR_NO_NODE;
	}
}

static void set_limit(struct balance *w, uint32_t limit)
{
	w->limit = limit;
	w->n_over = 0;
	memset(w->place, 0xff, w->s->n_channels * sizeof(*w->place));
	for (uint32_t c = 0; c < w->s->n_channels; c++) {
		w->dear[c] = 1;
		update_over(w, c);
	}
}

static void rgraph_balance_shift(struct balance *w, uint32_t p, uint32_t k, uint32_t n)
{
	const uint32_t *channel = osr_srcroutes_channels(w->a, p, k);

	for (uint32_t h = 0; h < w->a->hops[p]; h++) {
		w->s->load[channel[h]] += n;
		update_over(w, channel[h]);
	}
}

static bool rgraph_balance_uses(const struct balance *w, uint32_t p, uint32_t k, uint32_t c)
{
	const uint32_t *channel = osr_srcroutes_channels(w->a, p, k);

	for (uint32_t h = 0; h < w->a->hops[p]; h++)
		if (channel[h] == c)
			return true;
	return false;
}

/*
 * What choice k costs a pair that is not in the loads: routes too many, as dear as they are, and
 * among equals the sum of loads.
 */
static uint64_t cost(const struct balance *w, uint32_t p, uint32_t k)
{
	const uint32_t *channel = osr_srcroutes_channels(w->a, p, k);
	uint64_t too_many = 0, sum = 0;

	for (uint32_t h = 0; h < w->a->hops[p]; h++) {
		uint32_t c = channel[h];

		too_many += w->s->load[c] >= w->limit ? w->dear[c] : 0;
		sum += w->s->load[c];
	}
	return too_many << 32 | sum;
}

struct move {
	uint32_t pair, choice;
	int64_t gain; /* what it saves */
};

/*
 * The best way to take a route off channel c, among MOST_TRIED routes that may move; pair
 * OSR_NO_NODE if all are to stay for now.
 */
static struct move best_move(struct balance *w, uint32_t c)
{
	struct move best = { OSR_NO_NODE, 0, INT64_MIN };

	uint64_t n = w->row[c + 1] - w->row[c];
	uint64_t start = n ? osr_prng_below(&w->prng, (uint32_t)n) : 0;

	for (uint64_t i = 0, tried = 0; i < n && tried < MOST_TRIED; i++) {
		uint32_t p = w->cross[w->row[c] + (start + i) % n], old = w->s->pick[p];
		int64_t before;

		if (w->until[p] > w->stats->n_moves || !rgraph_balance_uses(w, p, old, c))
			continue;
		tried++;
		osr__picks_add(w->s, p, old, UINT32_MAX);
		before = (int64_t)cost(w, p, old);
		for (uint32_t k = 0; k < osr_srcroutes_n_choices(w->a, p); k++) {
			int64_t gain;

			if (k == old || rgraph_balance_uses(w, p, k, c))
				continue;
			gain = before - (int64_t)cost(w, p, k);
			if (gain > best.gain)
				best = (struct move){ p, k, gain };
		}
		osr__picks_add(w->s, p, old, 1);
	}
	return best;
}

static void rgraph_balance_apply(struct balance *w, struct move m)
{
	rgraph_balance_shift(w, m.pair, w->s->pick[m.pair], UINT32_MAX);
	w->s->pick[m.pair] = (uint16_t)m.choice;
	rgraph_balance_shift(w, m.pair, m.choice, 1);
	w->until[m.pair] = w->stats->n_moves + 4 + osr_prng_below(&w->prng, 8);
}

/*
 * True if no channel is over the limit before `budget` moves have been made. The prices are asked
 * now and then whether that is possible at all.
 */
static bool rgraph_balance_lower(struct balance *w, uint32_t limit, uint32_t *budget)
{
	uint32_t next_look = w->stats->n_moves + w->n_flexible / 8 + 64;

	set_limit(w, limit);
	while (w->n_over && *budget) {
		struct move m = best_move(w, w->over[osr_prng_below(&w->prng, w->n_over)]);

		--*budget;
		w->stats->n_moves++;
		if (m.gain >> 32 <= 0)
			for (uint32_t i = 0; i < w->n_over; i++)
				w->dear[w->over[i]]++;
		if (m.pair != OSR_NO_NODE)
			rgraph_balance_apply(w, m);
		if (w->stats->n_moves < next_look)
			continue;
		if (bound(w, w->dear) > limit)
			return false;
		next_look = w->stats->n_moves + w->n_flexible / 4 + 64;
	}
	return !w->n_over;
}

/* Which flexible pairs can use a channel: each once, ascending. */
static void list_crossings(struct balance *w, struct osr_arena *scratch)
{
	const struct osr_srcroutes *routes = w->a;
	uint32_t *stamp = osr_calloc(scratch, w->s->n_channels, sizeof(*stamp));
	uint64_t n = 0;

	w->row = osr_calloc(scratch, w->s->n_channels + 2, sizeof(*w->row));
	if (osr_arena_failed(scratch, NULL))
		return;
	for (int filling = 0; filling < 2; filling++) {
		for (uint32_t i = 0; i < w->n_flexible; i++) {
			uint32_t p = w->flexible[i];
			const uint32_t *channel = osr_srcroutes_channels(routes, p, 0);
			uint32_t n_all = osr_srcroutes_n_choices(routes, p) * routes->hops[p];

			for (uint32_t k = 0; k < n_all; k++) {
				uint32_t c = channel[k];

				if (stamp[c] == p + 1)
					continue;
				stamp[c] = p + 1;
				if (filling)
					w->cross[w->row[c + 1]++] = p;
				else
					w->row[c + 2]++;
			}
		}
		if (filling)
			break;
		for (uint32_t c = 0; c < w->s->n_channels; c++)
			w->row[c + 2] += w->row[c + 1];
		n = w->row[w->s->n_channels + 1];
		w->cross = osr_alloc(scratch, n, sizeof(*w->cross));
		if (!w->cross)
			return;
		memset(stamp, 0, w->s->n_channels * sizeof(*stamp));
	}
}

static enum osr_status balance_init(struct balance *w, struct osr_arena *scratch,
				    struct osr_diag *diag)
{
	const struct osr_srcroutes *routes = w->a;
	size_t n = w->s->n_channels;

	w->flexible = osr_alloc(scratch, routes->n_pairs, sizeof(*w->flexible));
	w->best = osr_alloc(scratch, routes->n_pairs, sizeof(*w->best));
	w->until = osr_calloc(scratch, routes->n_pairs, sizeof(*w->until));
	w->dear = osr_alloc(scratch, n, sizeof(*w->dear));
	w->over = osr_alloc(scratch, n, sizeof(*w->over));
	w->place = osr_alloc(scratch, n, sizeof(*w->place));
	for (uint32_t p = 0; w->flexible && p < routes->n_pairs; p++)
		if (osr_srcroutes_n_choices(routes, p) > 1)
			w->flexible[w->n_flexible++] = p;
	if (!osr_arena_failed(scratch, NULL))
		list_crossings(w, scratch);
	return osr_arena_failed(scratch, diag) ? OSR_NOMEM : OSR_OK;
}

static void rgraph_balance_keep_best(struct balance *w)
{
	memcpy(w->best, w->s->pick, w->a->n_pairs * sizeof(*w->best));
}

static void restore_best(struct balance *w)
{
	memset(w->s->load, 0, w->s->n_channels * sizeof(*w->s->load));
	memcpy(w->s->pick, w->best, w->a->n_pairs * sizeof(*w->best));
	for (uint32_t p = 0; p < w->a->n_pairs; p++)
		if (w->a->hops[p])
			osr__picks_add(w->s, p, w->s->pick[p], 1);
}

enum osr_status osr__balance_choices(struct osr__picks *picks,
				     const struct osr_srcroutes_options *opt,
				     struct osr_arena *scratch, struct osr_srcroutes_stats *stats,
				     struct osr_diag *diag)
{
	struct balance w = { .s = picks, .a = picks->a, .stats = stats, .prng = { 1 } };
	enum osr_status st = balance_init(&w, scratch, diag);
	uint32_t budget, most;

	if (st)
		return st;
	budget = 4 * w.n_flexible < opt->moves ? 4 * w.n_flexible : opt->moves;
	stats->n_rounds = rgraph_balance_rip_up(&w, opt->rounds, UINT32_MAX);
	most = osr__picks_max(picks);
	rgraph_balance_keep_best(&w);
	while (most && !is_least(&w, most) && rgraph_balance_lower(&w, most - 1, &budget)) {
		most = osr__picks_max(picks);
		rgraph_balance_keep_best(&w);
	}
	restore_best(&w);
	stats->n_rounds += rgraph_balance_rip_up(&w, opt->rounds, most);
	return OSR_OK;
}

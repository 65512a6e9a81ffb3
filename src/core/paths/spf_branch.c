/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Balancing below whole trees: some switches of a tree go another way than the rest.
 *
 * A tree that is settled by weight keeps together, because all switches see the same weights; where
 * a switch has six links to ten hosts, some links then carry two hosts and some one. Here the most
 * loaded channels give up branches of trees: switch v and all that passes through it reach the LID
 * over another next hop, just as close, if every channel on that path then stays within a limit.
 * The limit is searched between the bound and the load that was found, by bisection; moves for a limit
 * that cannot be reached are undone, so that trees are split no more than pays. Then the same again, and
 * where no path stays within the limit, one is enough that stays below the load of the channel it
 * leaves: the loads in falling order fall, so this ends, and the channels passed have their turn. Some
 * moves may make another channel as loaded as this one was: where all branches are of one size, what
 * is too much has to pass from channel to channel, as along the alternating paths of an edge
 * colouring, until it comes to one with room.
 */
#include <stdlib.h>
#include <string.h>

#include "core/paths/bound.h"
#include "spf_private.h"

#define BRANCH_STEPS 6 /* of the bisection */
#define BRANCH_NEAR                                                                                \
	2 /* hops: in wider fabrics passing other channels takes too much work at first */
#define BRANCH_HOPS 64 /* of a path; longer ones are left alone */
#define BRANCH_EVEN 12 /* moves of a bisection that only pass a load on: 1 in so many channels */

/* Work for each of the moves allowed: 1 in so many table entries looked at, and so many more. */
#define BRANCH_SHARE 5
#define BRANCH_LEAST 40000

struct brancher {
	struct osr_spf *s;
	uint64_t limit; /* of a weight, hop bits zero */
	bool may_pass;  /* other channels may pass it, as long as they do not pass the hot one */
	enum {
		WITHIN,
		BELOW,
		EVEN
	} reach;         /* of other channels: the limit, or the hot one's load */
	uint32_t n_even; /* moves left that may make another channel as loaded as the hot one */
	uint32_t
		first; /* LID to begin with: after the last one that moved, which so does not move back */
	uint32_t n_done, n_max;
	struct branch_move *done;
	uint32_t hot;              /* the channel that gives up branches */
	uint64_t n_work, max_work; /* switches looked at */
};

/* The load of a channel, in the units of weight[] without its hop. */
static inline uint64_t branch_load(const struct osr_spf *s, uint32_t c)
{
	return s->weight[c] & ~HOP_MASK;
}

static inline uint64_t branch_amount(const struct osr_spf *s, uint32_t c, uint32_t n_routes)
{
	return ((uint64_t)n_routes * s->unit[c]) << HOP_BITS;
}

static uint32_t branch_next(const struct osr_spf *s, uint32_t d, uint32_t v)
{
	return s->f->chan_row[v] + s->hop[(size_t)d * s->f->n_switches + v];
}

/* Adds n_routes to (or takes them from) the channels of v's path to d, and the switches behind v. */
static void branch_add(struct osr_spf *s, uint32_t d, uint32_t v, uint32_t n_routes, bool add)
{
	uint32_t root = s->f->dest_switch[d], *count = s->scratch->count;

	while (v != root) {
		uint32_t c = branch_next(s, d, v);
		uint64_t amount = branch_amount(s, c, n_routes);

		s->weight[c] += add ? amount : -amount;
		v = s->f->chan_dst[c];
		count[v] += add ? n_routes : -n_routes;
	}
}

/* All routes of v's branch from its old next hop to a new one. */
static void branch_turn(struct osr_spf *s, uint32_t d, uint32_t v, uint8_t hop, uint32_t n_routes)
{
	branch_add(s, d, v, n_routes, false);
	s->hop[(size_t)d * s->f->n_switches + v] = hop;
	branch_add(s, d, v, n_routes, true);
}

/* Routes to d that pass each switch. */
static void branch_count(struct brancher *b, uint32_t d)
{
	struct osr_spf *s = b->s;
	const struct osr_fabric *f = s->f;
	uint32_t root = f->dest_switch[d], n = s->n_order[root], *count = s->scratch->count;
	const uint16_t *order = s->order + (size_t)root * f->n_switches;
	const uint8_t *hop = s->hop + (size_t)d * f->n_switches;

	memcpy(count, f->sw_sources, f->n_switches * sizeof(*count));
	for (uint32_t i = n; i-- > 1;)
		if (count[order[i]])
			count[f->chan_dst[f->chan_row[order[i]] + hop[order[i]]]] +=
				count[order[i]];
	b->n_work += n;
}

/* Does channel c lead down the order? Without one, nothing does, and every shortest path is legal. */
static inline bool branch_down(const struct osr_spf *s, uint32_t c)
{
	return s->place && s->place[s->f->chan_dst[c]] > s->place[s->f->chan_src[c]];
}

/* Does the path to d that begins with channel c go up first, then down? */
static bool branch_legal(const struct osr_spf *s, uint32_t d, uint32_t c)
{
	const struct osr_fabric *f = s->f;
	uint32_t root = f->dest_switch[d];
	bool down = false;

	for (uint32_t i = 0; i < BRANCH_HOPS; i++) {
		uint32_t at = f->chan_dst[c];
		bool goes_down = branch_down(s, c);

		if (down && !goes_down)
			return false;
		if (at == root)
			return true;
		down = goes_down;
		c = branch_next(s, d, at);
	}
	return false;
}

/* Does channel c lead closer to d? */
static inline bool branch_closer(const struct osr_spf *s, uint32_t d, uint32_t c)
{
	const uint8_t *dist8 = s->scratch->dist8 + (size_t)s->f->dest_switch[d] * s->f->n_switches;

	return dist8[s->f->chan_dst[c]] == (uint8_t)(dist8[s->f->chan_src[c]] - 1);
}

/* A switch that no route to d passes may take whichever channel has least load. */
static void branch_open(struct osr_spf *s, uint32_t d, uint32_t v)
{
	const struct osr_fabric *f = s->f;
	uint32_t now = branch_next(s, d, v), best = now;

	for (uint32_t c = f->chan_row[v]; c < f->chan_row[v + 1] && branch_closer(s, d, now); c++)
		if (branch_closer(s, d, c) && branch_load(s, c) < branch_load(s, best) &&
		    branch_down(s, c) == branch_down(s, now) && branch_legal(s, d, c))
			best = c;
	s->hop[(size_t)d * f->n_switches + v] = (uint8_t)(best - f->chan_row[v]);
}

/*
 * Does every channel stay within the limit, and the path within the order, if v's branch takes
 * channel o? Not if the path meets the one that v has now before the hot channel. Both are equally
 * long. *others: load of other LIDs on the new path less that on the old one.
 */
static bool branch_fits(const struct brancher *b, uint32_t d, uint32_t v, uint32_t o,
			int64_t *others)
{
	struct osr_spf *s = b->s;
	const struct osr_fabric *f = s->f;
	const uint32_t *count = s->scratch->count;
	uint32_t root = f->dest_switch[d], now = branch_next(s, d, v), n_before = 0;
	uint64_t most =
		b->reach == WITHIN ? b->limit : branch_load(s, b->hot) - (b->reach == BELOW);
	bool down = false, past = v == f->chan_src[b->hot];

	*others = 0;
	for (uint32_t i = 0; i < BRANCH_HOPS; i++) {
		uint32_t at = f->chan_dst[o], was = f->chan_dst[now];
		bool goes_down = branch_down(s, o);

		if (branch_load(s, o) + branch_amount(s, o, count[v]) > most ||
		    (down && !goes_down))
			return false;
		*others += (int64_t)(branch_load(s, o) - branch_amount(s, o, n_before));
		*others -= (int64_t)(branch_load(s, now) -
				     branch_amount(s, now, count[f->chan_src[now]]));
		down = goes_down;
		if (at == root)
			return true;
		if (!count[at])
			branch_open(s, d, at);
		o = branch_next(s, d, at);
		if (!branch_closer(s, d, o))
			return false;
		past |= was == f->chan_dst[b->hot];
		if (at == was)
			return past && (!down || branch_down(s, o));
		n_before = count[at];
		now = branch_next(s, d, was);
	}
	return false;
}

/*
 * The next hop by which v's branch leaves the channel: where it meets least load of other LIDs, for flows to
 * one LID end at one port and do not disturb each other. OSR_NONE: none fits.
 */
static uint32_t branch_hop(struct brancher *b, uint32_t d, uint32_t v)
{
	struct osr_spf *s = b->s;
	const struct osr_fabric *f = s->f;
	uint32_t now = branch_next(s, d, v), best = OSR_NONE;
	int64_t least = INT64_MAX;

	for (uint32_t o = f->chan_row[v]; o < f->chan_row[v + 1]; o++) {
		int64_t others;

		if (o == now || !branch_closer(s, d, o) || branch_down(s, o) != branch_down(s, now))
			continue;
		b->n_work++;
		if (!branch_fits(b, d, v, o, &others) || others >= least)
			continue;
		least = others;
		best = o;
	}
	return best;
}

static bool branch_apply(struct brancher *b, uint32_t d, uint32_t v, uint32_t o)
{
	struct osr_spf *s = b->s;
	uint32_t row = s->f->chan_row[v], n_routes = s->scratch->count[v];

	if (b->n_done == b->n_max)
		return false;
	b->done[b->n_done++] =
		(struct branch_move){ d, v, n_routes, s->hop[(size_t)d * s->f->n_switches + v] };
	branch_turn(s, d, v, (uint8_t)(o - row), n_routes);
	return true;
}

/*
 * Takes branches of d off the hot channel, from its near end outwards, which are the largest first:
 * those that it has too much; with `more`, the smallest that is enough.
 */
static void branch_shed(struct brancher *b, uint32_t d, bool more)
{
	struct osr_spf *s = b->s;
	const struct osr_fabric *f = s->f;
	uint32_t root = f->dest_switch[d], n = s->n_order[root], best = OSR_NONE, best_hop = 0;
	const uint16_t *order = s->order + (size_t)root * f->n_switches;
	const uint32_t *count = s->scratch->count;
	uint8_t *via = s->scratch->via;

	via[root] = 0;
	b->n_work += n;
	for (uint32_t i = 1; i < n && branch_load(s, b->hot) > b->limit; i++) {
		uint32_t v = order[i], o;
		uint64_t excess = branch_load(s, b->hot) - b->limit;
		bool enough = branch_amount(s, b->hot, count[v]) >= excess;

		via[v] = v == f->chan_src[b->hot] || via[f->chan_dst[branch_next(s, d, v)]];
		if (!via[v] || !count[v] || enough != more ||
		    (more && best != OSR_NONE && count[v] >= count[best]))
			continue;
		o = branch_hop(b, d, v);
		if (o != OSR_NONE && more) {
			best = v;
			best_hop = o;
		} else if (o != OSR_NONE && branch_apply(b, d, v, o)) {
			via[v] = 0;
		}
	}
	if (best != OSR_NONE)
		branch_apply(b, d, best, best_hop);
}

/* Takes branches off the hot channel until it is within the limit, LID after LID. */
static void branch_shed_all(struct brancher *b)
{
	struct osr_spf *s = b->s;
	const struct osr_fabric *f = s->f;
	uint32_t c = b->hot;

	for (uint32_t i = 0, first = b->first; i < f->n_dests && branch_load(s, c) > b->limit;
	     i++) {
		uint32_t d = first + i < f->n_dests ? first + i : first + i - f->n_dests,
			 t = f->dest_term[d], n_done = b->n_done;

		if (!f->term_weight[t] || f->term_lmc[t] ||
		    (s->scratch->fixed && s->scratch->fixed[d]) || b->n_work > b->max_work ||
		    osr_spf_channel(s, d, f->chan_src[c]) != c)
			continue;
		branch_count(b, d);
		branch_shed(b, d, false);
		if (branch_load(s, c) > b->limit)
			branch_shed(b, d, true);
		if (b->n_done != n_done)
			b->first = d + 1;
	}
}

/* False if nothing can be taken off channel c. */
static bool branch_lower(struct brancher *b, uint32_t c)
{
	uint64_t before = branch_load(b->s, c);

	b->hot = c;
	b->reach = WITHIN;
	branch_shed_all(b);
	if (b->may_pass && branch_load(b->s, c) > b->limit) {
		b->reach = BELOW;
		branch_shed_all(b);
	}
	if (b->may_pass && branch_load(b->s, c) == before && b->n_even) {
		b->n_even--;
		b->reach = EVEN;
		branch_shed_all(b);
	}
	return branch_load(b->s, c) <= b->limit || (b->may_pass && branch_load(b->s, c) < before);
}

static void branch_undo(struct brancher *b)
{
	while (b->n_done) {
		const struct branch_move *m = &b->done[--b->n_done];

		branch_turn(b->s, m->dest, m->sw, m->hop, m->n_routes);
	}
}

static bool branch_level(struct brancher *b)
{
	bool over = true;

	b->n_done = 0;
	while (over) {
		over = false;
		for (uint32_t c = 0; c < b->s->f->n_channels; c++) {
			if (branch_load(b->s, c) <= b->limit)
				continue;
			over = true;
			if (branch_lower(b, c) && b->n_work <= b->max_work)
				continue;
			branch_undo(b);
			return false;
		}
	}
	return true;
}

static uint64_t branch_most(const struct osr_spf *s, uint64_t *mean)
{
	uint64_t sum, most = branch_load(s, osr__spf_busiest(s, &sum));

	*mean = sum / s->f->n_channels << HOP_BITS;
	return most;
}

static int branch_by_size(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x < y) - (x > y);
}

/*
 * No limit below this is reached with one next hop for each LID and switch: to each LID of a switch
 * leads a piece from every other one, as large as that has end ports. The k q + 1 largest pieces put q + 1 on one of
 * k channels.
 */
static uint64_t branch_pieces(const struct osr_spf *s)
{
	const struct osr_fabric *f = s->f;
	uint32_t n = f->n_switches, *size = s->scratch->count;
	uint64_t least = 0;

	memcpy(size, f->sw_sources, n * sizeof(*size));
	qsort(size, n, sizeof(*size), branch_by_size);
	for (uint32_t root = 0; root < n; root++) {
		uint32_t k = f->chan_row[root + 1] - f->chan_row[root], n_lids = 0, own = 0;

		for (uint32_t i = s->dest_row[root]; i < s->dest_row[root + 1]; i++)
			n_lids += f->term_weight[f->dest_term[s->dest_list[i]]] != 0;
		while (size[own] > f->sw_sources[root])
			own++;
		for (uint64_t q = 0; n_lids && k && k * q < (uint64_t)n_lids * (n - 1); q++) {
			uint32_t i = (uint32_t)(k * q / n_lids);
			uint64_t load = (q + 1) * size[i < own ? i : i + 1];

			least = load > least ? load : least;
		}
	}
	return least << HOP_BITS;
}

/* The least limit that is reached, between low and the load that is there. */
static void branch_bisect(struct brancher *b, uint64_t low, uint64_t work)
{
	uint64_t mean, high = branch_most(b->s, &mean);

	b->n_work = 0;
	b->n_even = b->s->f->n_channels / BRANCH_EVEN;
	for (uint32_t i = 1; i <= BRANCH_STEPS && low + low / 128 < high; i++) {
		b->max_work = b->may_pass ? work / BRANCH_STEPS * i : work;
		b->limit = (low + (high - low) / 2) & ~HOP_MASK;
		if (branch_level(b))
			high = branch_most(b->s, &mean);
		else
			low = b->limit;
	}
}

void osr__spf_branches(struct osr_spf *s, uint64_t bound, uint32_t moves)
{
	struct brancher b = { .s = s, .done = s->scratch->moves, .n_max = s->scratch->n_moves };
	uint64_t work =
		moves * (BRANCH_LEAST + (uint64_t)s->f->n_dests * s->f->n_switches / BRANCH_SHARE);
	uint64_t low;

	if (!s->f->n_channels || s->max_distance >= BRANCH_HOPS)
		return;
	branch_most(s, &low);
	if (!s->scratch->mixed) {
		uint64_t pieces = branch_pieces(s);

		low = bound << HOP_BITS > low ? bound << HOP_BITS : low;
		low = pieces > low ? pieces : low;
	}
	if (s->max_distance > BRANCH_NEAR) {
		branch_bisect(&b, low, work);
		work /= 2;
	}
	b.may_pass = true;
	branch_bisect(&b, low, work);
	/* The limits that are tried lie closer to the bound the second time. */
	branch_bisect(&b, low, work / 4);
}

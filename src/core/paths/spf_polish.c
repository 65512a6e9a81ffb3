/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The last step of balancing: the most loaded channel, a few dests at a time. See spf.h. */
#include <string.h>

#include <osmroutes/prng.h>

#include "spf_private.h"

/* Marks channels that no dest should move to; lexicographically worse than any weight. */
#define HOT ((uint64_t)1 << 50)
#define FULL ((uint64_t)1 << 51) /* as loaded as any */
#define MARKS (HOT | FULL)

/* Also says whether it is within 1/25 of the average, which is near enough. */
static uint32_t most_loaded(const struct osr_spf *s, bool *near)
{
	uint64_t sum = 0;
	uint32_t best = 0;

	for (uint32_t c = 0; c < s->f->n_channels; c++) {
		sum += s->weight[c] >> HOP_BITS;
		if (s->weight[c] >> HOP_BITS > s->weight[best] >> HOP_BITS)
			best = c;
	}
	*near = (s->weight[best] >> HOP_BITS) * s->f->n_channels <= sum + sum / 25;
	return best;
}

static void mark_hot(struct osr_spf *s, uint64_t limit, uint64_t full)
{
	for (uint32_t c = 0; c < s->f->n_channels; c++)
		s->weight[c] |= s->weight[c] >= full ? MARKS : s->weight[c] >= limit ? HOT : 0;
}

static void clear_hot(struct osr_spf *s)
{
	for (uint32_t c = 0; c < s->f->n_channels; c++)
		s->weight[c] &= ~MARKS;
}

/* Does every channel of this tree stay below the limit, or as full as it was? */
static bool fits(const struct osr_spf *s, uint32_t root, const uint8_t *hop, uint64_t limit)
{
	const struct osr_fabric *f = s->f;
	const uint16_t *order = s->order + (size_t)root * f->n_switches;
	bool ok = true;

	for (uint32_t i = 1; i < s->n_order[root]; i++) {
		uint64_t weight = s->weight[f->chan_row[order[i]] + hop[order[i]]];
		uint64_t load = weight & ~MARKS & ~HOP_MASK;

		ok &= load < limit || (load == limit && weight & FULL);
	}
	return ok;
}

struct polisher {
	struct osr_spf *s;
	const struct osr__spf_mover *mover;
	uint32_t next; /* dest to begin with: those before it have been tried */
};

static void count_dest(const struct polisher *p, uint32_t d, uint64_t sign)
{
	struct osr_spf *s = p->s;
	uint32_t root = s->f->dest_switch[d];

	if (p->mover->count)
		p->mover->count(p->mover->ctx, d, sign);
	else
		osr__spf_count(s, s->order + (size_t)root * s->f->n_switches, s->n_order[root],
			       s->hop + (size_t)d * s->f->n_switches, sign);
}

/*
 * Takes some dests off the most loaded channel, one after the other, unless another one would then
 * carry as much.
 */
static void move_dests(struct polisher *p, const uint32_t *dests, uint32_t n_dests, uint64_t limit)
{
	struct osr_spf *s = p->s;
	size_t n = s->f->n_switches;
	bool ok = true;

	for (uint32_t i = 0; i < n_dests; i++) {
		memcpy(p->s->scratch->saved + i * n, s->hop + dests[i] * n, n);
		count_dest(p, dests[i], (uint64_t)-1);
	}
	for (uint32_t i = 0; i < n_dests; i++) {
		uint32_t root = s->f->dest_switch[dests[i]];

		if (!i || root != s->f->dest_switch[dests[i - 1]])
			osr__spf_graph(s, root);
		ok &= p->mover->reroute(p->mover->ctx, root, dests[i]);
		if (!ok)
			memcpy(s->hop + dests[i] * n, p->s->scratch->saved + i * n, n);
		count_dest(p, dests[i], 1);
	}
	for (uint32_t i = 0; i < n_dests && ok; i++)
		ok = fits(s, s->f->dest_switch[dests[i]], s->hop + dests[i] * n, limit);
	for (uint32_t i = 0; i < n_dests && !ok; i++) {
		count_dest(p, dests[i], (uint64_t)-1);
		memcpy(s->hop + dests[i] * n, p->s->scratch->saved + i * n, n);
		count_dest(p, dests[i], 1);
	}
}

/* The dests that may be moved off a channel. The LIDs of a port must not meet: they stay. */
static uint32_t list_dests(struct polisher *p, uint32_t c)
{
	const struct osr_fabric *f = p->s->f;
	uint32_t src = f->chan_src[c], n = 0;

	for (uint32_t i = 0; i < f->n_dests; i++) {
		uint32_t d = p->next + i < f->n_dests ? p->next + i : p->next + i - f->n_dests;
		uint32_t t = f->dest_term[d];

		if (osr_spf_channel(p->s, d, src) == c && f->term_weight[t] && !f->term_lmc[t])
			p->s->scratch->movable[n++] = d;
	}
	return n;
}

/* The dests of the switch a channel leads to, starting with the first-th of them, around. */
static uint32_t list_neighbours(struct osr_spf *s, uint32_t c, uint32_t first)
{
	const struct osr_fabric *f = s->f;
	uint32_t v = f->chan_dst[c], row = s->dest_row[v], n_dests = s->dest_row[v + 1] - row,
		 n = 0;

	for (uint32_t i = 0; i < n_dests && n < OSR__SPF_GROUP; i++) {
		uint32_t d = s->dest_list[row + (first + i) % n_dests], t = f->dest_term[d];

		if (f->term_weight[t] && !f->term_lmc[t])
			s->scratch->movable[n++] = d;
	}
	return n;
}

static bool lowered(const struct osr_spf *s, uint32_t worst, uint64_t limit)
{
	return (s->weight[worst] & ~MARKS & ~HOP_MASK) < limit;
}

#define TURNS 8 /* orders in which the dests of one switch are tried together */

/*
 * Single dests first, then groups: where two channels are full, one dest must make room. At last
 * all dests of the switch, which share its channels.
 */
static bool lower(struct polisher *p, uint32_t worst, uint64_t limit, uint32_t *n_moves)
{
	struct osr_spf *s = p->s;
	const uint32_t *dests = s->scratch->movable;
	uint32_t n = list_dests(p, worst);

	for (uint32_t size = 1; size <= OSR__SPF_GROUP; size *= 4) {
		for (uint32_t i = 0; i < n && *n_moves; i += size) {
			--*n_moves;
			move_dests(p, dests + i, size < n - i ? size : n - i, limit);
			if (lowered(s, worst, limit)) {
				p->next = dests[i];
				return true;
			}
		}
	}
	for (uint32_t i = 0; i < TURNS && *n_moves; i++) {
		--*n_moves;
		n = list_neighbours(s, worst, i);
		move_dests(p, dests, n, limit);
		if (lowered(s, worst, limit))
			return true;
	}
	return false;
}

/* As long as it helps: the most loaded channel, then the one that is most loaded by then. */
static void descend(struct polisher *p, uint32_t *n_moves)
{
	/* How far below the most loaded channel others are avoided, too: 1 in so many. */
	static const uint64_t margins[] = { 32, 8, 128 };
	struct osr_spf *s = p->s;
	bool again = true, near;

	while (*n_moves && again) {
		uint32_t worst = most_loaded(s, &near);
		uint64_t limit = s->weight[worst] & ~HOP_MASK;

		again = false;
		if (near)
			break;
		for (uint32_t i = 0; i < sizeof(margins) / sizeof(*margins) && !again; i++) {
			mark_hot(s, limit - limit / margins[i], limit);
			again = lower(p, worst, limit, n_moves);
			clear_hot(s);
		}
	}
}

/* ---- out of a dead end ------------------------------------------------------------------------ */

/* Routes every dest again, switch after switch from `first` on, as a round of balancing does. */
static void kick(struct polisher *p, uint32_t first)
{
	struct osr_spf *s = p->s;
	const struct osr_fabric *f = s->f;
	size_t n = f->n_switches;

	for (uint32_t i = 0; i < n; i++) {
		uint32_t root = (first + i) % f->n_switches;
		bool found = false;

		for (uint32_t k = s->dest_row[root]; k < s->dest_row[root + 1]; k++) {
			uint32_t d = s->dest_list[k], t = f->dest_term[d];

			if (!f->term_weight[t] || f->term_lmc[t])
				continue;
			if (!found)
				osr__spf_graph(s, root);
			found = true;
			memcpy(s->scratch->saved, s->hop + d * n, n);
			count_dest(p, d, (uint64_t)-1);
			if (!p->mover->reroute(p->mover->ctx, root, d))
				memcpy(s->hop + d * n, s->scratch->saved, n);
			count_dest(p, d, 1);
		}
	}
}

static void keep_best(struct osr_spf *s, uint64_t *best)
{
	struct osr_spf_scratch *x = s->scratch;
	bool near;
	uint64_t now = s->weight[most_loaded(s, &near)] >> HOP_BITS;

	if (now >= *best)
		return;
	*best = now;
	memcpy(x->best_hop, s->hop, (size_t)s->f->n_dests * s->f->n_switches);
	memcpy(x->best_weight, s->weight, s->f->n_channels * sizeof(*s->weight));
}

void osr__spf_polish(struct osr_spf *s, uint32_t moves, const struct osr__spf_mover *mover)
{
	struct polisher p = { .s = s, .mover = mover };
	uint64_t bound = s->scratch->mixed ? 0 : osr_spf_bound(s->f), best = UINT64_MAX;
	struct osr_prng prng = { .state = 1 };
	uint64_t most = (uint64_t)s->f->n_dests * moves / 100;
	uint32_t n_moves = most < UINT32_MAX ? (uint32_t)most : UINT32_MAX, n_left = n_moves;
	bool near;

	if (!s->f->n_channels || s->weight[most_loaded(s, &near)] >> HOP_BITS <= bound || near)
		return;
	descend(&p, &n_left);
	if (!s->scratch->best_hop || !n_moves)
		return;
	keep_best(s, &best);
	for (uint32_t i = 0; i < OSR__SPF_KICKS && best > bound; i++) {
		kick(&p, osr_prng_below(&prng, s->f->n_switches));
		n_left = n_moves;
		descend(&p, &n_left);
		keep_best(s, &best);
	}
	memcpy(s->hop, s->scratch->best_hop, (size_t)s->f->n_dests * s->f->n_switches);
	memcpy(s->weight, s->scratch->best_weight, s->f->n_channels * sizeof(*s->weight));
}

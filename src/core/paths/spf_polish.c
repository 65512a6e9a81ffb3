/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The last step of balancing: the most loaded channel, a few dests at a time. See spf.h. */
#include <string.h>

#include "spf_private.h"

/* Marks channels that no dest should move to; lexicographically worse than any weight. */
#define HOT ((uint64_t)1 << 50)
#define FULL ((uint64_t)1 << 51) /* as loaded as any */
#define MARKS (HOT | FULL)

/* Also says whether it is within 1/25 of the average, which is near enough. */
static uint32_t spf_polish_most_loaded(const struct osr_spf *spf, bool *near)
{
	uint64_t sum;
	uint32_t best = osr__spf_busiest(spf, &sum);

	*near = (spf->weight[best] >> HOP_BITS) * spf->f->n_channels <= sum + sum / 25;
	return best;
}

static void mark_hot(struct osr_spf *spf, uint64_t limit, uint64_t full)
{
	for (uint32_t c = 0; c < spf->f->n_channels; c++)
		spf->weight[c] |= spf->weight[c] >= full    ? MARKS
				  : spf->weight[c] >= limit ? HOT
							    : 0;
}

static void clear_hot(struct osr_spf *spf)
{
	for (uint32_t c = 0; c < spf->f->n_channels; c++)
		spf->weight[c] &= ~MARKS;
}

/* Does every channel of this tree stay below the limit, or as full as it was? */
static bool spf_polish_fits(const struct osr_spf *spf, uint32_t root, const uint8_t *hop,
			    uint64_t limit)
{
	const struct osr_fabric *fabric = spf->f;
	const uint16_t *order = spf->order + (size_t)root * fabric->n_switches;
	bool ok = true;

	for (uint32_t i = 1; i < spf->n_order[root]; i++) {
		uint64_t weight = spf->weight[fabric->chan_row[order[i]] + hop[order[i]]];
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
	struct osr_spf *spf = p->s;
	uint32_t root = spf->f->dest_switch[d];

	if (p->mover->count)
		p->mover->count(p->mover->ctx, d, sign);
	else
		osr__spf_count(spf, spf->order + (size_t)root * spf->f->n_switches,
			       spf->n_order[root], spf->hop + (size_t)d * spf->f->n_switches, sign);
}

/*
 * Takes some dests off the most loaded channel, one after the other, unless another one would then
 * carry as much.
 */
static void move_dests(struct polisher *p, const uint32_t *dests, uint32_t n_dests, uint64_t limit)
{
	struct osr_spf *spf = p->s;
	size_t n = spf->f->n_switches;
	bool ok = true;

	for (uint32_t i = 0; i < n_dests; i++) {
		memcpy(p->s->scratch->saved + i * n, spf->hop + dests[i] * n, n);
		count_dest(p, dests[i], (uint64_t)-1);
	}
	for (uint32_t i = 0; i < n_dests; i++) {
		uint32_t root = spf->f->dest_switch[dests[i]];

		if (!i || root != spf->f->dest_switch[dests[i - 1]])
			osr__spf_graph(spf, root);
		ok &= p->mover->reroute(p->mover->ctx, root, dests[i]);
		if (!ok)
			memcpy(spf->hop + dests[i] * n, p->s->scratch->saved + i * n, n);
		count_dest(p, dests[i], 1);
	}
	for (uint32_t i = 0; i < n_dests && ok; i++)
		ok = spf_polish_fits(spf, spf->f->dest_switch[dests[i]], spf->hop + dests[i] * n,
				     limit);
	for (uint32_t i = 0; i < n_dests && !ok; i++) {
		count_dest(p, dests[i], (uint64_t)-1);
		memcpy(spf->hop + dests[i] * n, p->s->scratch->saved + i * n, n);
		count_dest(p, dests[i], 1);
	}
}

/* The dests that may be moved off a channel. The LIDs of a port must not meet: they stay. */
static uint32_t spf_polish_list_dests(struct polisher *p, uint32_t c)
{
	const struct osr_fabric *fabric = p->s->f;
	uint32_t src = fabric->chan_src[c], n = 0;

	for (uint32_t i = 0; i < fabric->n_dests; i++) {
		uint32_t d =
			p->next + i < fabric->n_dests ? p->next + i : p->next + i - fabric->n_dests;
		uint32_t t = fabric->dest_term[d];

		if (osr_spf_channel(p->s, d, src) == c && fabric->term_weight[t] &&
		    !fabric->term_lmc[t])
			p->s->scratch->movable[n++] = d;
	}
	return n;
}

/* The dests of the switch a channel leads to, starting with the first-th of them, around. */
static uint32_t list_neighbours(struct osr_spf *spf, uint32_t c, uint32_t first)
{
	const struct osr_fabric *fabric = spf->f;
	uint32_t v = fabric->chan_dst[c], row = spf->dest_row[v],
		 n_dests = spf->dest_row[v + 1] - row, n = 0;

	for (uint32_t i = 0; i < n_dests && n < OSR__SPF_GROUP; i++) {
		uint32_t d = spf->dest_list[row + (first + i) % n_dests], t = fabric->dest_term[d];

		if (fabric->term_weight[t] && !fabric->term_lmc[t])
			spf->scratch->movable[n++] = d;
	}
	return n;
}

static bool lowered(const struct osr_spf *spf, uint32_t worst, uint64_t limit)
{
	return (spf->weight[worst] & ~MARKS & ~HOP_MASK) < limit;
}

#define TURNS 8 /* orders in which the dests of one switch are tried together */

/*
 * Single dests first, then groups: where two channels are full, one dest must make room. At last
 * all dests of the switch, which share its channels.
 */
static bool spf_polish_lower(struct polisher *p, uint32_t worst, uint64_t limit, uint32_t *n_moves)
{
	struct osr_spf *spf = p->s;
	const uint32_t *dests = spf->scratch->movable;
	uint32_t n = spf_polish_list_dests(p, worst);

	for (uint32_t size = 1; size <= OSR__SPF_GROUP; size *= 4) {
		for (uint32_t i = 0; i < n && *n_moves; i += size) {
			--*n_moves;
			move_dests(p, dests + i, size < n - i ? size : n - i, limit);
			if (lowered(spf, worst, limit)) {
				p->next = dests[i];
				return true;
			}
		}
	}
	for (uint32_t i = 0; i < TURNS && *n_moves; i++) {
		--*n_moves;
		n = list_neighbours(spf, worst, i);
		move_dests(p, dests, n, limit);
		if (lowered(spf, worst, limit))
			return true;
	}
	return false;
}

/* As long as it helps: the most loaded channel, then the one that is most loaded by then. */
static void descend(struct polisher *p, uint32_t *n_moves)
{
	/* How far below the most loaded channel others are avoided, too: 1 in so many. */
	static const uint64_t margins[] = { 32, 8, 128 };
	struct osr_spf *spf = p->s;
	bool again = true, near;

	while (*n_moves && again) {
		uint32_t worst = spf_polish_most_loaded(spf, &near);
		uint64_t limit = spf->weight[worst] & ~HOP_MASK;

		again = false;
		if (near)
			break;
		for (uint32_t i = 0; i < sizeof(margins) / sizeof(*margins) && !again; i++) {
			mark_hot(spf, limit - limit / margins[i], limit);
			again = spf_polish_lower(p, worst, limit, n_moves);
			clear_hot(spf);
		}
	}
}

bool osr__spf_polish(struct osr_spf *spf, uint32_t moves, const struct osr__spf_mover *mover)
{
	struct polisher p = { .s = spf, .mover = mover };
	uint64_t bound = spf->scratch->mixed ? 0 : osr_spf_bound(spf->f);
	uint64_t most = (uint64_t)spf->f->n_dests * moves / 100;
	uint32_t n_moves = most < UINT32_MAX ? (uint32_t)most : UINT32_MAX;
	bool near;

	if (!spf->f->n_channels ||
	    spf->weight[spf_polish_most_loaded(spf, &near)] >> HOP_BITS <= bound || near)
		return false;
	descend(&p, &n_moves);
	return true;
}

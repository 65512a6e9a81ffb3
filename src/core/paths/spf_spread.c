/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Balancing by what routes share, within a limit of the load.
 *
 * Two flows that disturb each other on a channel have two sources and two LIDs. So what counts besides
 * the busiest channel is in how many pairs routes to different LIDs share a channel, here called
 * conflicts: over all channels load^2, less (routes to one LID)^2 for each LID. Where one half of N hosts
 * sends to the other at random (effective bisection bandwidth; Hoefler, Schneider, Lumsdaine 2008),
 * a host sends to a given LID once in 2 N times, so a flow shares a channel conflicts / (2 N^3) times.
 *
 * A LID that takes the path with least load of other LIDs lowers the conflicts most, which is what a
 * round of re-routing does. Branches (spf_branch.c) bring the busiest channel below what rounds reach,
 * and pay for it with LIDs that enter their switch over several channels. Here each LID gets back
 * what the limit leaves room for, and the limit is raised where that is not enough.
 */
#include <string.h>

#include "spf_private.h"

#define SPREAD_MORE                                                                                \
	75 /* flows, of which one may share one channel more than before branches moved */
#define SPREAD_STEPS 3  /* in which the limit is raised */
#define SPREAD_ROOM 8   /* by 1 in so many of the load at first, at most */
#define SPREAD_PASSES 2 /* for each limit */

struct spreader {
	struct osr_spf *s;
	uint64_t limit; /* of a weight, hop bits zero */
};

static inline uint64_t spread_load(const struct osr_spf *s, uint32_t c, uint32_t n_routes)
{
	return (s->weight[c] & ~HOP_MASK) + (((uint64_t)n_routes * s->unit[c]) << HOP_BITS);
}

/* Within the limit if v's branch of d takes channel o? The tree of d is not in the weights. */
static bool spread_fits(const struct spreader *x, const uint8_t *hop, uint32_t root, uint32_t v,
			uint32_t o)
{
	const struct osr_spf *s = x->s;
	const struct osr_fabric *f = s->f;
	const uint32_t *count = s->scratch->count;
	uint32_t now = f->chan_row[v] + hop[v], n_before = 0;

	/* Both paths are equally long: side by side until they meet. */
	for (;;) {
		uint32_t at = f->chan_dst[o], was = f->chan_dst[now];

		if (spread_load(s, o, n_before + count[v]) > x->limit)
			return false;
		if (at == was || at == root)
			return true;
		n_before = count[at];
		o = f->chan_row[at] + hop[at];
		now = f->chan_row[was] + hop[was];
	}
}

/* Takes v's branch from its next hop to channel o. */
static void spread_turn(struct osr_spf *s, uint8_t *hop, uint32_t v, uint32_t o)
{
	const struct osr_fabric *f = s->f;
	uint32_t *count = s->scratch->count, n = count[v], now = f->chan_row[v] + hop[v];

	hop[v] = (uint8_t)(o - f->chan_row[v]);
	while (f->chan_dst[o] != f->chan_dst[now]) {
		uint32_t at = f->chan_dst[o], was = f->chan_dst[now];

		count[at] += n;
		count[was] -= n;
		o = f->chan_row[at] + hop[at];
		now = f->chan_row[was] + hop[was];
	}
}

/*
 * spf_settle() within the limit: a switch leaves its next hop for a path of less weight that fits. One
 * that no route passes takes the best, so that all hops are ones of the graph.
 */
static void spread_settle(const struct spreader *x, uint32_t root, uint8_t *hop)
{
	struct osr_spf *s = x->s;
	const struct osr_spf_scratch *scratch = s->scratch;
	const uint16_t *order = s->order + (size_t)root * s->f->n_switches;

	scratch->cost[root] = 0;
	for (uint32_t i = 1; i < s->n_order[root]; i++) {
		uint32_t v = order[i], now = s->f->chan_row[v] + hop[v], best = now;
		bool passed = scratch->count[v];
		uint64_t least =
			passed ? (s->weight[now] & ~HOP_MASK) + scratch->cost[s->f->chan_dst[now]]
			       : UINT64_MAX;

		for (uint32_t e = scratch->edge_row[i]; e < scratch->edge_row[i + 1]; e++) {
			uint32_t o = scratch->edge_chan[e];
			uint64_t cost =
				(s->weight[o] & ~HOP_MASK) + scratch->cost[scratch->edge_next[e]];

			if (cost >= least || (passed && !spread_fits(x, hop, root, v, o)))
				continue;
			least = cost;
			best = o;
		}
		scratch->cost[v] = least;
		if (passed && best != now)
			spread_turn(s, hop, v, best);
		hop[v] = (uint8_t)(best - s->f->chan_row[v]);
	}
}

/* Routes to d that pass each switch; returns pairs of them that share a channel, in units of weight. */
static unsigned __int128 spread_flows(struct osr_spf *s, uint32_t root, const uint8_t *hop)
{
	const struct osr_fabric *f = s->f;
	const uint16_t *order = s->order + (size_t)root * f->n_switches;
	uint32_t *count = s->scratch->count;
	unsigned __int128 sum = 0;

	memcpy(count, f->sw_sources, f->n_switches * sizeof(*count));
	for (uint32_t i = s->n_order[root]; i-- > 1;) {
		uint32_t v = order[i], c = f->chan_row[v] + hop[v];
		uint64_t load = (uint64_t)count[v] * s->unit[c];

		sum += load * load;
		count[f->chan_dst[c]] += count[v];
	}
	return sum;
}

/* What a route weighs on the fastest channels. */
static uint32_t spread_unit(const struct osr_spf *s)
{
	uint32_t least = UINT32_MAX;

	for (uint32_t c = 0; c < s->f->n_channels; c++)
		least = s->unit[c] && s->unit[c] < least ? s->unit[c] : least;
	return least;
}

unsigned __int128 osr__spf_conflicts(struct osr_spf *s)
{
	const struct osr_fabric *f = s->f;
	unsigned __int128 sum = 0;

	for (uint32_t c = 0; c < f->n_channels; c++) {
		unsigned __int128 load = s->weight[c] >> HOP_BITS;

		sum += load * load;
	}
	for (uint32_t d = 0; d < f->n_dests; d++)
		if (f->term_weight[f->dest_term[d]])
			sum -= spread_flows(s, f->dest_switch[d],
					    s->hop + (size_t)d * f->n_switches);
	return sum;
}

/* Every LID once. */
static void spread_pass(struct osr_spf *s, uint64_t limit)
{
	const struct spreader x = { s, limit };
	const struct osr_fabric *f = s->f;

	for (uint32_t root = 0; root < f->n_switches; root++) {
		const uint16_t *order = s->order + (size_t)root * f->n_switches;
		bool found = false;

		for (uint32_t k = s->dest_row[root]; k < s->dest_row[root + 1]; k++) {
			uint32_t d = s->dest_list[k], t = f->dest_term[d];
			uint8_t *hop = s->hop + (size_t)d * f->n_switches;

			if (!f->term_weight[t] || f->term_lmc[t])
				continue;
			if (!found)
				osr__spf_graph(s, root);
			found = true;
			osr__spf_count(s, order, s->n_order[root], hop, (uint64_t)-1);
			spread_flows(s, root, hop);
			spread_settle(&x, root, hop);
			osr__spf_count(s, order, s->n_order[root], hop, 1);
		}
	}
}

void osr__spf_spread(struct osr_spf *s, unsigned __int128 before, uint64_t most)
{
	const struct osr_fabric *f = s->f;
	unsigned __int128 n = 0, enough;
	uint64_t limit = 0, room;

	for (uint32_t v = 0; v < f->n_switches; v++)
		n += f->sw_sources[v];
	for (uint32_t c = 0; c < f->n_channels; c++)
		limit = s->weight[c] > limit ? s->weight[c] : limit;
	enough = before + 2 * n * n * n * spread_unit(s) * spread_unit(s) / SPREAD_MORE;
	most = most < limit + limit / SPREAD_ROOM ? most : limit + limit / SPREAD_ROOM;
	room = most > limit ? most - limit : 0;
	for (uint32_t i = 0; i <= SPREAD_STEPS; i++) {
		for (uint32_t k = 0; k < SPREAD_PASSES; k++)
			spread_pass(s, (limit + room * i / SPREAD_STEPS) & ~HOP_MASK);
		if (!room || osr__spf_conflicts(s) <= enough)
			break;
	}
}

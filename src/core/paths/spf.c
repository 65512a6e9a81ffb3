/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * See spf.h. The inner loops, from the outside in:
 *	find_orders()	distances and settling orders of all switches, once
 *	route_round()	every destination switch, group after group
 *	osr__spf_graph()    the edges of the shortest-path graph towards it
 *	route_dest()	  each LID behind it: rip up, settle, count
 */
#include <osmroutes/spf.h>

#include <string.h>

#include "spf_private.h"

#define MAX_DEAL 254 /* dests dealt out at once: as many as a switch has ports */
#define BATCH 64     /* breadth-first searches at once: bits of a word */

/*
 * A LID of the same port pays this much for each channel an earlier LID of the port uses: more than
 * any weight, so that LMC gives paths as disjoint as the graph has them.
 */
#define SHARED_PENALTY ((uint64_t)1 << 48)

static enum osr_status nomem(struct osr_diag *diag)
{
	return osr_fail(diag, OSR_NOMEM, "out of memory for shortest paths");
}

/* Bucket the dests by switch; CA and router LIDs come before port 0, LIDs ascending within. */
static void group_dests(struct osr_spf *s)
{
	const struct osr_fabric *f = s->f;
	uint32_t at = 0;

	for (uint32_t v = 0; v < f->n_switches; v++) {
		uint32_t first;

		s->dest_row[v] = at;
		for (int sp0 = 0; sp0 <= 1; sp0++)
			for (uint32_t t = f->term_row[v]; t < f->term_row[v + 1]; t++)
				if ((f->term_role[t] == OSR_ROLE_SP0) == sp0)
					for (uint32_t i = 0; i < 1u << f->term_lmc[t]; i++)
						s->dest_list[at++] =
							f->lid_dest[f->term_lid[t] + i];
		first = s->dest_list[s->dest_row[v]];
		for (uint32_t k = s->dest_row[v]; k < at; k++) {
			uint32_t d = s->dest_list[k];
			bool rides = f->term_role[f->dest_term[d]] == OSR_ROLE_SP0 && d != first &&
				     f->term_role[f->dest_term[first]] != OSR_ROLE_SP0;

			s->alias[d] = rides ? first : OSR_NONE;
		}
	}
	s->dest_row[f->n_switches] = at;
}

/* Routes are counted per unit of rate: a link half as fast weighs twice. */
static void set_units(struct osr_spf *s, bool ignore_rates)
{
	const struct osr_fabric *f = s->f;
	uint32_t fastest = 0;
	bool mixed = false;

	for (uint32_t c = 0; c < f->n_channels; c++)
		if (f->chan_rate[c] > fastest)
			fastest = f->chan_rate[c];
	for (uint32_t c = 0; c < f->n_channels; c++)
		mixed |= f->chan_rate[c] && f->chan_rate[c] != fastest;
	for (uint32_t c = 0; c < f->n_channels; c++) {
		uint32_t rate = f->chan_rate[c] ? f->chan_rate[c] : fastest;

		s->unit[c] = ignore_rates || !mixed ? 1 : (16 * fastest + rate / 2) / rate;
		if (f->chan_flags[c] & OSR_CHAN_UNCOUNTED)
			s->unit[c] = 0;
		s->scratch->mixed |= s->unit[c] != 1;
	}
}

static void sort_roots(struct osr_spf *s);
static void find_orders(struct osr_spf *s);
static void find_centers(struct osr_spf *s);

enum osr_status osr_spf_init(struct osr_spf *s, const struct osr_fabric *f, struct osr_routing *r,
			     const struct osr_spf_options *opt, struct osr_arena *scratch,
			     struct osr_diag *diag)
{
	size_t n = f->n_switches, m = f->n_channels;
	struct osr_spf_scratch *w = osr_calloc(scratch, 1, sizeof(*w));

	*s = (struct osr_spf){ .f = f, .hop = r->lft, .scratch = w };
	s->order = osr_alloc(scratch, n * n, sizeof(*s->order));
	s->n_order = osr_alloc(scratch, n, sizeof(*s->n_order));
	s->dest_row = osr_alloc(scratch, n + 1, sizeof(*s->dest_row));
	s->dest_list = osr_calloc(scratch, (size_t)f->n_dests + 1, sizeof(*s->dest_list));
	s->alias = osr_alloc(scratch, f->n_dests, sizeof(*s->alias));
	s->weight = osr_calloc(scratch, m, sizeof(*s->weight));
	s->unit = osr_alloc(scratch, m, sizeof(*s->unit));
	s->farthest = osr_calloc(scratch, n, sizeof(*s->farthest));
	s->distance_sum = osr_calloc(scratch, n, sizeof(*s->distance_sum));
	s->center = osr_alloc(scratch, f->n_components, sizeof(*s->center));
	if (!w || !s->center || !s->farthest || !s->distance_sum || !s->order || !s->n_order ||
	    !s->dest_row || !s->dest_list || !s->alias || !s->weight || !s->unit)
		return nomem(diag);
	w->dist8 = osr_alloc(scratch, n * n, 1);
	w->edge_row = osr_alloc(scratch, n + 1, sizeof(*w->edge_row));
	w->edge_chan = osr_alloc(scratch, m + 1, sizeof(*w->edge_chan));
	w->edge_next = osr_alloc(scratch, m + 1, sizeof(*w->edge_next));
	w->cost = osr_alloc(scratch, n, sizeof(*w->cost));
	w->count = osr_alloc(scratch, n, sizeof(*w->count));
	w->seen = osr_alloc(scratch, n, sizeof(*w->seen));
	w->front = osr_calloc(scratch, n, sizeof(*w->front));
	w->next = osr_calloc(scratch, n, sizeof(*w->next));
	w->active = osr_alloc(scratch, n, sizeof(*w->active));
	w->reached = osr_alloc(scratch, n, sizeof(*w->reached));
	w->place = osr_alloc(scratch, n, sizeof(*w->place));
	w->up_first = osr_alloc(scratch, m, 1);
	w->saved = osr_alloc(scratch, OSR__SPF_GROUP * n, 1);
	w->movable = osr_alloc(scratch, f->n_dests, sizeof(*w->movable));
	w->root = osr_alloc(scratch, n, sizeof(*w->root));
	w->kind = osr_alloc(scratch, n, 1);
	if (!w->kind || !w->saved || !w->movable || !w->root || !w->place || !w->up_first || !w->dist8 ||
	    !w->edge_row || !w->edge_chan || !w->edge_next || !w->cost || !w->count || !w->seen ||
	    !w->front || !w->next || !w->active || !w->reached)
		return nomem(diag);
	if (n < OSR__SPF_FEW_SWITCHES && n * f->n_dests <= OSR__SPF_SMALL) {
		w->best_hop = osr_alloc(scratch, n * f->n_dests, 1);
		w->best_weight = osr_alloc(scratch, m, sizeof(*w->best_weight));
		if (!w->best_hop || !w->best_weight)
			return nomem(diag);
	}
	if (n > UINT16_MAX)
		return osr_fail(diag, OSR_INVAL,
				"%zu switches exceed the 65,535 that LIDs can number", n);

	group_dests(s);
	set_units(s, opt->ignore_rates);
	for (uint32_t c = 0; c < m; c++)
		s->weight[c] = c - f->chan_row[f->chan_src[c]];
	for (uint32_t t = 0; t < f->n_terminals; t++)
		if (w->max_group < f->term_group[t])
			w->max_group = f->term_group[t];
	sort_roots(s);
	find_orders(s);
	find_centers(s);
	return OSR_OK;
}

/* Switches next to the active ones that some search sees for the first time. */
static uint32_t expand(struct osr_spf *s, uint32_t n_active)
{
	const struct osr_fabric *f = s->f;
	struct osr_spf_scratch *w = s->scratch;
	uint32_t n = 0;

	for (uint32_t i = 0; i < n_active; i++) {
		uint32_t v = w->active[i];
		uint64_t front = w->front[v];

		w->front[v] = 0;
		for (uint32_t c = f->chan_row[v]; c < f->chan_row[v + 1]; c++) {
			uint32_t u = f->chan_dst[c];
			uint64_t fresh = front & ~w->seen[u];

			if (!fresh)
				continue;
			if (!w->next[u])
				w->reached[n++] = u;
			w->next[u] |= fresh;
		}
	}
	return n;
}

/* Appends v to the orders of the searches that reached it at this depth. */
static void reach(struct osr_spf *s, uint32_t first, uint32_t v, uint32_t depth)
{
	const struct osr_fabric *f = s->f;
	struct osr_spf_scratch *w = s->scratch;
	uint64_t fresh = w->next[v];

	w->next[v] = 0;
	w->front[v] = fresh;
	w->seen[v] |= fresh;
	for (; fresh; fresh &= fresh - 1) {
		uint32_t root = first + (uint32_t)__builtin_ctzll(fresh);

		w->dist8[(size_t)root * f->n_switches + v] = (uint8_t)depth;
		s->order[(size_t)root * f->n_switches + s->n_order[root]++] = (uint16_t)v;
		if (!f->sw_sources[root])
			continue;
		s->distance_sum[v] += (uint64_t)f->sw_sources[root] * depth;
		s->farthest[v] =
			(uint16_t)depth > s->farthest[v] ? (uint16_t)depth : s->farthest[v];
	}
}

/*
 * Settling orders and distances of all switches, 64 searches at once, one bit each (Then et al.:
 * The More the Merrier, VLDB 2014).
 */
static void find_orders(struct osr_spf *s)
{
	const struct osr_fabric *f = s->f;
	struct osr_spf_scratch *w = s->scratch;

	memset(s->n_order, 0, f->n_switches * sizeof(*s->n_order));
	for (uint32_t first = 0; first < f->n_switches; first += BATCH) {
		uint32_t n_active = 0, depth = 0;

		memset(w->seen, 0, f->n_switches * sizeof(*w->seen));
		for (uint32_t v = first; v < first + BATCH && v < f->n_switches; v++) {
			w->next[v] = 1ull << (v - first);
			w->reached[n_active++] = v;
		}
		for (; n_active; depth++) {
			uint32_t *swap = w->active;

			for (uint32_t i = 0; i < n_active; i++)
				reach(s, first, w->reached[i], depth);
			w->active = w->reached;
			w->reached = swap;
			n_active = expand(s, n_active);
		}
		if (s->max_distance < depth - 1)
			s->max_distance = depth - 1;
	}
}

static void spf_graph_free(struct osr_spf *s, uint32_t root)
{
	const struct osr_fabric *f = s->f;
	struct osr_spf_scratch *w = s->scratch;
	const uint16_t *order = s->order + (size_t)root * f->n_switches;
	const uint8_t *dist8 = w->dist8 + (size_t)root * f->n_switches;
	uint32_t n = 0;

	for (uint32_t i = 1; i < s->n_order[root]; i++) {
		uint32_t v = order[i];
		uint8_t closer = (uint8_t)(dist8[v] - 1);

		w->edge_row[i] = n;
		for (uint32_t c = f->chan_row[v]; c < f->chan_row[v + 1]; c++) {
			uint32_t u = f->chan_dst[c];

			/* Branchless: which neighbours are closer follows no pattern. */
			w->edge_chan[n] = c;
			w->edge_next[n] = u;
			n += dist8[u] == closer;
		}
	}
	w->edge_row[s->n_order[root]] = n;
}

/* The edges (switch -> closer neighbour) of the shortest-path graph towards `root`. */
void osr__spf_graph(struct osr_spf *s, uint32_t root)
{
	if (s->place)
		osr__spf_graph_in_order(s, root);
	else
		spf_graph_free(s, root);
}

/* Adds (sign = 1) or takes out (sign = -1) the routes of one tree. */
static inline void count_tree_by(struct osr_spf *s, const uint16_t *order, uint32_t n,
				 const uint8_t *hop, uint64_t sign, bool mixed)
{
	const struct osr_fabric *f = s->f;
	uint32_t *count = s->scratch->count;

	memcpy(count, f->sw_sources, f->n_switches * sizeof(*count));
	for (uint32_t i = n; i-- > 1;) {
		uint32_t v = order[i], c = f->chan_row[v] + hop[v];
		uint64_t routes = sign * count[v] << HOP_BITS;

		/* Most switches of a tall tree pass nothing on, and their weights are far away. */
		if (!routes)
			continue;
		s->weight[c] += mixed ? routes * s->unit[c] : routes;
		count[f->chan_dst[c]] += count[v];
	}
}

void osr__spf_count(struct osr_spf *s, const uint16_t *order, uint32_t n, const uint8_t *hop,
		    uint64_t sign)
{
	if (s->scratch->mixed)
		count_tree_by(s, order, n, hop, sign, true);
	else
		count_tree_by(s, order, n, hop, sign, false);
}

/*
 * Settle in order of distance: the switches a path continues through are final when it is their
 * turn. Ties go to the lowest channel, hence the same bytes everywhere.
 */
static void settle(struct osr_spf *s, uint32_t root, uint8_t *hop)
{
	const struct osr_fabric *f = s->f;
	const struct osr_spf_scratch *w = s->scratch;
	const uint16_t *order = s->order + (size_t)root * f->n_switches;
	const uint64_t *weight = s->weight;
	uint64_t *cost = w->cost;

	cost[root] = 0;
	for (uint32_t i = 1; i < s->n_order[root]; i++) {
		uint32_t e = w->edge_row[i], end = w->edge_row[i + 1];
		uint64_t best = weight[w->edge_chan[e]] + cost[w->edge_next[e]], other = best;

		/* Two chains of minima run in parallel. */
		for (e++; e + 1 < end; e += 2) {
			uint64_t a = weight[w->edge_chan[e]] + cost[w->edge_next[e]];
			uint64_t b = weight[w->edge_chan[e + 1]] + cost[w->edge_next[e + 1]];

			best = a < best ? a : best;
			other = b < other ? b : other;
		}
		if (e < end) {
			uint64_t a = weight[w->edge_chan[e]] + cost[w->edge_next[e]];

			best = a < best ? a : best;
		}
		best = other < best ? other : best;
		cost[order[i]] = best & ~HOP_MASK;
		hop[order[i]] = (uint8_t)(best & HOP_MASK);
	}
}

/* The same for the second and later LIDs of a port: avoid the channels of the earlier ones. */
static void settle_apart(struct osr_spf *s, uint32_t root, uint32_t d, uint32_t n_earlier)
{
	const struct osr_fabric *f = s->f;
	const struct osr_spf_scratch *w = s->scratch;
	const uint16_t *order = s->order + (size_t)root * f->n_switches;
	uint8_t *hop = s->hop + (size_t)d * f->n_switches;

	w->cost[root] = 0;
	for (uint32_t i = 1; i < s->n_order[root]; i++) {
		uint32_t v = order[i];
		uint64_t best = UINT64_MAX;

		for (uint32_t e = w->edge_row[i]; e < w->edge_row[i + 1]; e++) {
			uint32_t c = w->edge_chan[e];
			uint64_t cand = s->weight[c] + w->cost[w->edge_next[e]];

			/* The LIDs of a port are consecutive dests. */
			for (uint32_t k = 1; k <= n_earlier; k++)
				if (s->hop[(size_t)(d - k) * f->n_switches + v] ==
				    (s->weight[c] & HOP_MASK))
					cand += SHARED_PENALTY;
			best = cand < best ? cand : best;
		}
		hop[v] = (uint8_t)(best & HOP_MASK);
		w->cost[v] = best & ~HOP_MASK;
	}
}

/* How many routes towards root pass each switch per dest, if every switch shared its out evenly. */
static void expect_flows(struct osr_spf *s, uint32_t root)
{
	const struct osr_spf_scratch *w = s->scratch;
	const struct osr_fabric *f = s->f;
	const uint16_t *order = s->order + (size_t)root * f->n_switches;
	uint32_t *flow = w->count;

	memcpy(flow, f->sw_sources, f->n_switches * sizeof(*flow));
	for (uint32_t i = s->n_order[root]; i-- > 1;) {
		uint32_t n = w->edge_row[i + 1] - w->edge_row[i], share = flow[order[i]] / n;

		for (uint32_t e = w->edge_row[i]; share && e < w->edge_row[i + 1]; e++)
			flow[w->edge_next[e]] += share;
	}
}

/*
 * One switch deals the dests out over its closer neighbours, each to the one that is lightest by
 * then. A pick makes its neighbour heavier by the flow expected here, always the same, so picked
 * keys come back in the order they were picked: two queues, of fresh and of picked keys, stay
 * sorted by themselves.
 */
static void deal_out(struct osr_spf *s, uint32_t i, uint32_t v, const uint32_t *dest,
		     uint32_t n_dests)
{
	const struct osr_spf_scratch *w = s->scratch;
	uint64_t bump = ((uint64_t)w->count[v] + 1) << HOP_BITS, key[256 + MAX_DEAL];
	uint32_t n = 0, fresh = 0, picked, end;
	size_t n_switches = s->f->n_switches;

	for (uint32_t e = w->edge_row[i]; e < w->edge_row[i + 1]; e++) {
		uint64_t k = s->weight[w->edge_chan[e]] + w->cost[w->edge_next[e]];
		uint32_t at = n++;

		for (; at && key[at - 1] > k; at--)
			key[at] = key[at - 1];
		key[at] = k;
	}
	w->cost[v] = key[0] & ~HOP_MASK;
	picked = end = n;
	for (uint32_t d = 0; d < n_dests; d++) {
		bool first = fresh < n && (picked == end || key[fresh] < key[picked]);
		uint64_t k = key[first ? fresh++ : picked++];

		s->hop[dest[d] * n_switches + v] = (uint8_t)(k & HOP_MASK);
		key[end++] = k + bump;
	}
}

/*
 * All dests of one switch at once, for the first pass in fabrics with many ways. DIFFERS from
 * Algorithm 1: they do not see each other's weights but the flow each is expected to add; the true
 * weights follow at once.
 */
static void deal(struct osr_spf *s, uint32_t root, const uint32_t *dest, uint32_t n_dests)
{
	const struct osr_fabric *f = s->f;
	const uint16_t *order = s->order + (size_t)root * f->n_switches;

	s->scratch->dealt = true;
	expect_flows(s, root);
	s->scratch->cost[root] = 0;
	for (uint32_t i = 1; i < s->n_order[root]; i++)
		deal_out(s, i, order[i], dest, n_dests);
	for (uint32_t d = 0; d < n_dests; d++)
		osr__spf_count(s, order, s->n_order[root], s->hop + (size_t)dest[d] * f->n_switches,
			       1);
}

/*
 * How many dests from the k-th of a switch on may be dealt out together: 0 if routing them singly
 * is better.
 */
static uint32_t n_to_deal(const struct osr_spf *s, uint32_t root, uint32_t k)
{
	const struct osr_fabric *f = s->f;
	uint32_t n_edges = s->scratch->edge_row[s->n_order[root]],
		 first = f->dest_term[s->dest_list[k]], n = 0;

	if (s->n_rounds || s->scratch->mixed || s->scratch->singly ||
	    n_edges < 3 * s->n_order[root])
		return 0;
	for (; k + n < s->dest_row[root + 1] && n < MAX_DEAL; n++) {
		uint32_t t = f->dest_term[s->dest_list[k + n]];

		if (f->term_lmc[t] || f->term_role[t] == OSR_ROLE_SP0 ||
		    f->term_group[t] != f->term_group[first])
			break;
	}
	return n > 1 ? n : 0;
}

static void route_dest(struct osr_spf *s, uint32_t root, uint32_t d)
{
	const struct osr_fabric *f = s->f;
	const uint16_t *order = s->order + (size_t)root * f->n_switches;
	uint8_t *hop = s->hop + (size_t)d * f->n_switches;
	uint32_t t = f->dest_term[d];
	uint32_t n_earlier = f->dest_lid[d] - f->term_lid[t];
	bool counts = f->term_weight[t] != 0;

	if (counts && s->n_rounds)
		osr__spf_count(s, order, s->n_order[root], hop, (uint64_t)-1);
	if (n_earlier)
		settle_apart(s, root, d, n_earlier);
	else
		settle(s, root, hop);
	if (counts)
		osr__spf_count(s, order, s->n_order[root], hop, 1);
}

/* Switches with more end ports first, as stock dfsssp: what few ports add later fits in between. */
static void sort_roots(struct osr_spf *s)
{
	const struct osr_fabric *f = s->f;
	uint32_t most = 0, at = 0;

	for (uint32_t v = 0; v < f->n_switches; v++)
		most = most < f->sw_sources[v] ? f->sw_sources[v] : most;
	for (uint32_t n = most + 1; n-- > 0;)
		for (uint32_t v = 0; v < f->n_switches; v++)
			if (f->sw_sources[v] == n)
				s->scratch->root[at++] = (uint16_t)v;
}

/* Every end port of one group (compute nodes, I/O nodes, the rest), switch after switch. */
static void route_group(struct osr_spf *s, uint8_t group)
{
	const struct osr_fabric *f = s->f;

	for (uint32_t i = 0; i < f->n_switches; i++) {
		uint32_t root = s->scratch->root[i];
		bool found = false;

		for (uint32_t k = s->dest_row[root], n = 1; k < s->dest_row[root + 1]; k += n) {
			uint32_t d = s->dest_list[k], t = f->dest_term[d];

			n = 1;
			if (f->term_role[t] == OSR_ROLE_SP0 || f->term_group[t] != group)
				continue;
			if (!found)
				osr__spf_graph(s, root);
			found = true;
			n = n_to_deal(s, root, k);
			if (n)
				deal(s, root, s->dest_list + k, n);
			else
				route_dest(s, root, d);
			n = n ? n : 1;
		}
	}
}

/* Sorts the hops of each switch by where they lead: near the center of the component first. */
static void sort_hops(struct osr_spf *s)
{
	const struct osr_fabric *f = s->f;
	struct osr_spf_scratch *w = s->scratch;

	for (uint32_t k = 0; k < f->n_components; k++) {
		const uint16_t *order = s->order + (size_t)s->center[k] * f->n_switches;

		for (uint32_t i = 0; i < s->n_order[s->center[k]]; i++)
			w->place[order[i]] = (uint16_t)i;
	}
	for (uint32_t v = 0; v < f->n_switches; v++) {
		uint32_t row = f->chan_row[v], degree = f->chan_row[v + 1] - row;

		for (uint32_t h = 0; h < degree; h++) {
			uint32_t place = w->place[f->chan_dst[row + h]], i = h;

			for (; i && w->place[f->chan_dst[row + w->up_first[row + i - 1]]] > place;
			     i--)
				w->up_first[row + i] = w->up_first[row + i - 1];
			w->up_first[row + i] = (uint8_t)h;
		}
	}
}

/*
 * Port 0 of a switch without end ports: management traffic, which needs a shortest path but no
 * balance. Each switch takes the closer neighbour that comes first in the settling order of the
 * center: up as early as possible, so that in trees and nearly trees no turn from down to up is
 * added.
 */
static void route_sp0(struct osr_spf *s, uint32_t root, uint32_t d)
{
	const struct osr_fabric *f = s->f;
	const uint16_t *order = s->order + (size_t)root * f->n_switches;
	const uint8_t *dist8 = s->scratch->dist8 + (size_t)root * f->n_switches;
	uint8_t *hop = s->hop + (size_t)d * f->n_switches;

	for (uint32_t i = 1; i < s->n_order[root]; i++) {
		uint32_t v = order[i], row = f->chan_row[v];
		const uint8_t *h = s->scratch->up_first + row;
		uint8_t closer = (uint8_t)(dist8[v] - 1);

		while (dist8[f->chan_dst[row + *h]] != closer)
			h++;
		hop[v] = *h;
	}
}

/* The same within an order: the highest of the next hops that it allows. */
static void route_sp0_in_order(struct osr_spf *s, uint32_t root, uint32_t d)
{
	const struct osr_fabric *f = s->f;
	const struct osr_spf_scratch *w = s->scratch;
	const uint16_t *order = s->order + (size_t)root * f->n_switches;
	uint8_t *hop = s->hop + (size_t)d * f->n_switches;

	osr__spf_graph(s, root);
	for (uint32_t i = 1; i < s->n_order[root]; i++) {
		uint32_t best = w->edge_row[i];

		for (uint32_t e = best + 1; e < w->edge_row[i + 1]; e++)
			if (s->place[w->edge_next[e]] < s->place[w->edge_next[best]])
				best = e;
		hop[order[i]] = (uint8_t)(w->edge_chan[best] - f->chan_row[order[i]]);
	}
}

static void route_all_sp0(struct osr_spf *s)
{
	const struct osr_fabric *f = s->f;

	if (!s->place)
		sort_hops(s);
	for (uint32_t d = 0; d < f->n_dests; d++) {
		if (f->term_role[f->dest_term[d]] != OSR_ROLE_SP0 || s->alias[d] != OSR_NONE)
			continue;
		if (s->place)
			route_sp0_in_order(s, f->dest_switch[d], d);
		else
			route_sp0(s, f->dest_switch[d], d);
	}
}

static void route_round(struct osr_spf *s)
{
	for (uint32_t group = 0; group <= s->scratch->max_group; group++)
		route_group(s, (uint8_t)group);
}

/* The largest weight, and their sum. */
static uint64_t max_weight(const struct osr_spf *s, uint64_t *sum)
{
	uint64_t max = 0;

	*sum = 0;
	for (uint32_t c = 0; c < s->f->n_channels; c++) {
		uint64_t weight = s->weight[c] >> HOP_BITS;

		*sum += weight;
		max = max < weight ? weight : max;
	}
	return max;
}

uint64_t osr_spf_bound(const struct osr_fabric *f)
{
	uint64_t bound = 0;

	/* Whatever is sent to the LIDs of v from elsewhere enters v over its channels. */
	for (uint32_t k = 0; k < f->n_components; k++) {
		uint64_t sources = 0;

		for (uint32_t v = 0; v < f->n_switches; v++)
			sources += f->sw_component[v] == k ? f->sw_sources[v] : 0;
		for (uint32_t v = 0; v < f->n_switches; v++) {
			uint64_t in = f->chan_row[v + 1] - f->chan_row[v], lids = 0, cut;

			if (f->sw_component[v] != k || !in)
				continue;
			for (uint32_t t = f->term_row[v]; t < f->term_row[v + 1]; t++)
				lids += (uint64_t)f->term_weight[t] << f->term_lmc[t];
			cut = (lids * (sources - f->sw_sources[v]) + in - 1) / in;
			if (bound < cut)
				bound = cut;
		}
	}
	return bound;
}

/* Near enough to what no routing can beat? *now is the largest weight. */
static bool near_bound(const struct osr_spf *s, uint64_t bound, uint64_t *now)
{
	uint64_t sum;

	*now = max_weight(s, &sum);
	return (!s->scratch->mixed && *now <= bound) || *now * s->f->n_channels <= sum + sum / 50;
}

bool osr_spf_balanced(const struct osr_spf *s)
{
	uint64_t now;

	return near_bound(s, osr_spf_bound(s->f), &now);
}

void osr__spf_share(struct osr_spf *s)
{
	size_t n = s->f->n_switches;

	for (uint32_t d = 0; d < s->f->n_dests; d++)
		if (s->alias[d] != OSR_NONE)
			memcpy(s->hop + d * n, s->hop + s->alias[d] * n, n);
}

static void find_centers(struct osr_spf *s)
{
	const struct osr_fabric *f = s->f;

	memset(s->center, 0xff, f->n_components * sizeof(*s->center));
	for (uint32_t v = 0; v < f->n_switches; v++) {
		uint32_t *best = &s->center[f->sw_component[v]];

		if (*best == OSR_NONE || s->farthest[v] < s->farthest[*best] ||
		    (s->farthest[v] == s->farthest[*best] &&
		     s->distance_sum[v] < s->distance_sum[*best]))
			*best = v;
	}
}

void osr_spf_first(struct osr_spf *s)
{
	route_round(s);
	/*
	 * Dealing is for whole trees, where it is perfect. What it does not balance is routed
	 * singly.
	 */
	if (s->scratch->dealt && !osr_spf_balanced(s)) {
		for (uint32_t c = 0; c < s->f->n_channels; c++)
			s->weight[c] &= HOP_MASK;
		s->scratch->singly = true;
		route_round(s);
	}
	route_all_sp0(s);
	osr__spf_share(s);
}

static bool reroute_any(void *ctx, uint32_t root, uint32_t d)
{
	struct osr_spf *s = ctx;

	settle(s, root, s->hop + (size_t)d * s->f->n_switches);
	return true;
}

void osr_spf_refine(struct osr_spf *s, const struct osr_spf_options *opt)
{
	uint64_t bound = osr_spf_bound(s->f), before = 0, now;

	while (s->n_rounds < opt->max_rounds && !near_bound(s, bound, &now)) {
		/* A round that gains less than a hundredth is the last. */
		if (s->n_rounds > 1 && now + before / 100 > before)
			break;
		before = now;
		s->n_rounds++;
		route_round(s);
	}
	if (opt->max_rounds && !near_bound(s, bound, &now))
		osr__spf_polish(s, opt->max_moves,
				&(struct osr__spf_mover){ s, reroute_any, NULL });
	osr__spf_share(s);
}

void osr_spf_route(struct osr_spf *s, const struct osr_spf_options *opt)
{
	osr_spf_first(s);
	osr_spf_refine(s, opt);
}

/*
 * On most switches the channels have consecutive ports; then a port is its hop plus first[switch].
 * False if some switch is otherwise.
 */
static bool consecutive_ports(const struct osr_fabric *f, uint8_t *first)
{
	bool all = true;

	for (uint32_t v = 0; v < f->n_switches; v++) {
		uint32_t row = f->chan_row[v], n = f->chan_row[v + 1] - row;

		first[v] = n ? f->chan_port[row] : 0;
		for (uint32_t h = 0; h < n; h++)
			all &= f->chan_port[row + h] == first[v] + h;
	}
	return all;
}

void osr_spf_finish(struct osr_spf *s)
{
	const struct osr_fabric *f = s->f;
	uint8_t *first = s->scratch->saved;
	bool consecutive = consecutive_ports(f, first);

	for (uint32_t d = 0; d < f->n_dests; d++) {
		uint8_t *hop = s->hop + (size_t)d * f->n_switches;

		if (consecutive) {
			for (uint32_t v = 0; v < f->n_switches; v++)
				hop[v] = hop[v] == OSR_NO_PATH ? OSR_NO_PATH
							       : (uint8_t)(hop[v] + first[v]);
		} else {
			for (uint32_t v = 0; v < f->n_switches; v++)
				if (hop[v] != OSR_NO_PATH)
					hop[v] = f->chan_port[f->chan_row[v] + hop[v]];
		}
		hop[f->dest_switch[d]] = f->term_port[f->dest_term[d]];
	}
}

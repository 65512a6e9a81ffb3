/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * See guided.h. From the outside in:
 *	osr_guided_route()	rounds; then SLs and certificate
 *	osr_guided_keep()	the same for trees that are given (dor.c)
 *	improve_orders()	  the channel orders for the routes made under them
 *	route_dest()		  one tree: rip up, settle at several prices, count
 *	settle()		    shortest routes and their masks
 *	detour()		    last round: whatever is left, over longer legal routes
 */
#include <osmroutes/guided.h>

#include <string.h>

#include <osmroutes/cdg.h>
#include <osmroutes/mcast.h>

#include "spf_private.h"

/* A step no order allows: worse than any weight, better than nothing. */
#define ILLEGAL ((uint64_t)1 << 60)
#define SHARED_PENALTY ((uint64_t)1 << 48)

#define MAX_BOOST 16 /* weight of routes without a legal way, after some rounds */
#define FEW 100      /* routes worth going on for, even if some rounds bring nothing */

/* Prices tried for taking freedom away from others, in eighths of the mean weight. */
static const uint64_t prices[] = { 0, 2, 8, 24 };
#define N_PRICES (sizeof(prices) / sizeof(prices[0]))

struct guide {
	struct osr_spf *s;
	const struct osr_fabric *f;
	struct osr_cdg g;
	uint32_t n_orders; /* K */
	uint32_t *rank;    /* [K * n_channels] */
	uint8_t *legal;    /* [n_slots] bit k: forward in order k */
	uint8_t *freedom;  /* [n_channels * K] 64ths of predecessors that may go on into it */
	uint8_t *mask;     /* [n_dests * n_switches] VLs on which the route is legal */
	uint32_t *escape;  /* [n_switches] channel to the parent in the escape tree */
	const uint32_t *mcast_parent; /* of the request's multicast, or NULL */
	uint64_t mean;                /* weight of a channel, as the keys of settle() */
	uint64_t n_failed;            /* routes without a legal shortest path in this round */
	uint32_t boost;               /* what they weigh when the orders are improved */
	uint8_t *detoured;            /* [n_dests] the tree has routes longer than minimal */
	/* detour() of one dest */
	uint32_t *len;         /* [n_switches] channels to the root; OSR_NONE: not attached yet */
	uint32_t *head, *link; /* [n_switches + 1], [n_switches] lists of switches by len */
	uint64_t *key;         /* [n_switches] best way to attach */
	uint32_t *waiting;     /* [n_switches] switches that got a key at this length */
	uint8_t *new_mask;     /* [n_switches] */
	uint8_t *forced;       /* [n_switches] on the escape tree */
	uint8_t *escape_hop;   /* [n_switches] towards the root of the dest */
	uint16_t *order;       /* [n_switches] of the detoured tree */
};

static uint8_t all_vls(const struct guide *w)
{
	return (uint8_t)((1u << w->n_orders) - 1);
}

/* ---- orders ---------------------------------------------------------------------------------- */

static void set_legal(struct guide *w)
{
	const struct osr_fabric *f = w->f;

	memset(w->legal, 0, w->g.n_slots);
	for (uint32_t k = 0; k < w->n_orders; k++) {
		const uint32_t *rank = w->rank + (size_t)k * f->n_channels;

		for (uint32_t c = 0; c < f->n_channels; c++) {
			const uint32_t *next = rank + f->chan_row[f->chan_dst[c]];

			for (uint32_t e = w->g.row[c]; e < w->g.row[c + 1]; e++)
				w->legal[e] |= (uint8_t)((rank[c] < next[e - w->g.row[c]]) << k);
		}
	}
}

static void set_freedom(struct guide *w)
{
	const struct osr_fabric *f = w->f;

	for (uint32_t v = 0; v < f->n_switches; v++) {
		uint32_t row = f->chan_row[v], end = f->chan_row[v + 1];

		for (uint32_t c = row; c < end; c++) {
			for (uint32_t k = 0; k < w->n_orders; k++) {
				uint32_t n = 0;

				for (uint32_t o = row; o < end; o++)
					n += o != c &&
					     (w->legal[w->g.row[f->chan_rev[o]] + c - row] >> k &
					      1);
				w->freedom[(size_t)c * w->n_orders + k] =
					(uint8_t)(end - row > 1 ? 64 * n / (end - row - 1) : 64);
			}
		}
	}
}

/*
 * Weighs the dependencies of the routes whose lowest VL is k, and of a spanning tree. Routes
 * without one go to the last order, and weigh more: those that found a way before have others.
 */
static void weigh_order(struct guide *w, uint32_t k, const uint32_t *tree)
{
	const struct osr_fabric *f = w->f;
	const struct osr_spf *s = w->s;
	uint32_t n = f->n_switches, *count = s->scratch->count;

	memset(w->g.weight, 0, w->g.n_slots * sizeof(*w->g.weight));
	for (uint32_t d = 0; d < f->n_dests; d++) {
		const uint8_t *hop = s->hop + (size_t)d * n, *mask = w->mask + (size_t)d * n;
		uint32_t root = f->dest_switch[d];
		const uint16_t *order = s->order + (size_t)root * n;

		if (s->alias[d] != OSR_NONE)
			continue;
		for (uint32_t v = 0; v < n; v++) {
			uint32_t lowest =
				mask[v] ? (uint32_t)__builtin_ctz(mask[v]) : w->n_orders - 1;

			count[v] = lowest != k ? 0 : mask[v] ? 1 : w->boost;
		}
		for (uint32_t i = s->n_order[root]; i-- > 1;) {
			uint32_t v = order[i], c = f->chan_row[v] + hop[v], u = f->chan_dst[c];

			if (!count[v] || u == root)
				continue;
			w->g.weight[osr_cdg_slot(&w->g, c, hop[u])] += count[v];
			count[u] += count[v];
		}
	}
	if (tree)
		osr_mcast_depend(tree, &w->g);
}

static enum osr_status improve_order(struct guide *w, uint32_t k, uint32_t passes,
				     struct osr_arena *scratch, struct osr_diag *diag)
{
	weigh_order(w, k, k == 0 ? w->escape : NULL);
	return osr_cdg_order(&w->g, w->s->center, passes, scratch,
			     w->rank + (size_t)k * w->f->n_channels, diag);
}

static enum osr_status improve_orders(struct guide *w, uint32_t passes, struct osr_arena *scratch,
				      struct osr_diag *diag)
{
	enum osr_status st = OSR_OK;

	for (uint32_t k = 0; !st && k < w->n_orders; k++)
		st = improve_order(w, k, passes, scratch, diag);
	return st;
}

/* ---- one tree -------------------------------------------------------------------------------- */

/* The VLs on which v may go on over c into a tree that knows its hops and masks. */
static inline uint8_t mask_over(const struct guide *w, const uint8_t *hop, const uint8_t *mask,
				uint32_t root, uint32_t c)
{
	uint32_t u = w->f->chan_dst[c];

	return u == root ? all_vls(w) : mask[u] & w->legal[osr_cdg_slot(&w->g, c, hop[u])];
}

/*
 * What it costs others that this route occupies c on these VLs: the freedom they do not have
 * there.
 */
static inline uint64_t price_of(const struct guide *w, uint32_t c, uint8_t mask, uint64_t price)
{
	uint32_t lost = 64 * w->n_orders;

	if (!price)
		return 0;
	for (; mask; mask &= (uint8_t)(mask - 1))
		lost -= w->freedom[(size_t)c * w->n_orders + (uint32_t)__builtin_ctz(mask)];
	return (price * w->mean * lost / (8 * 64)) << HOP_BITS;
}

/* Shortest routes at one price; returns how many switches have no legal one. */
static uint32_t settle(struct guide *w, uint32_t root, uint32_t d, uint64_t price)
{
	const struct osr_fabric *f = w->f;
	const struct osr_spf *s = w->s;
	const struct osr_spf_scratch *x = s->scratch;
	const uint16_t *order = s->order + (size_t)root * f->n_switches;
	uint8_t *hop = s->hop + (size_t)d * f->n_switches;
	uint8_t *mask = w->mask + (size_t)d * f->n_switches;
	uint32_t n_earlier = f->dest_lid[d] - f->term_lid[f->dest_term[d]], n_failed = 0;

	x->cost[root] = 0;
	mask[root] = all_vls(w);
	for (uint32_t i = 1; i < s->n_order[root]; i++) {
		uint64_t best = UINT64_MAX, best_price = 0;
		uint32_t v = order[i];
		uint8_t best_mask = 0;

		for (uint32_t e = x->edge_row[i]; e < x->edge_row[i + 1]; e++) {
			uint32_t c = x->edge_chan[e];
			uint8_t m = mask_over(w, hop, mask, root, c);
			uint64_t extra = m ? price_of(w, c, m, price) : ILLEGAL;
			uint64_t key = s->weight[c] + x->cost[x->edge_next[e]] + extra;

			for (uint32_t k = 1; k <= n_earlier; k++)
				if (hop[v - (size_t)k * f->n_switches] == (s->weight[c] & HOP_MASK))
					key += SHARED_PENALTY;
			if (key >= best)
				continue;
			best = key;
			best_price = extra;
			best_mask = m;
		}
		/* Prices steer the choice at v only; they are no load on the path. */
		x->cost[v] = (best - best_price) & ~HOP_MASK;
		hop[v] = (uint8_t)(best & HOP_MASK);
		mask[v] = best_mask;
		n_failed += !best_mask;
	}
	return n_failed;
}

static uint32_t settle_best(struct guide *w, uint32_t root, uint32_t d)
{
	uint32_t least = UINT32_MAX, now = 0;
	size_t best = 0;

	for (size_t i = 0; i < N_PRICES; i++) {
		now = settle(w, root, d, prices[i]);
		if (now < least) {
			least = now;
			best = i;
		}
		if (!now)
			return 0;
	}
	return best == N_PRICES - 1 ? now : settle(w, root, d, prices[best]);
}

/* ---- detours --------------------------------------------------------------------------------- */

static void enlist(struct guide *w, uint32_t v, uint32_t len)
{
	w->len[v] = len;
	w->link[v] = w->head[len];
	w->head[len] = v;
}

/* Everything that can be attached to what is, shortest first, then lightest. */
static void attach_all(struct guide *w, uint32_t root, uint8_t *hop, uint8_t *mask)
{
	const struct osr_fabric *f = w->f;
	const struct osr_spf *s = w->s;
	uint64_t *cost = s->scratch->cost;

	for (uint32_t len = 0; len < f->n_switches; len++) {
		uint32_t n_waiting = 0;

		for (uint32_t u = w->head[len]; u != OSR_NONE; u = w->link[u]) {
			for (uint32_t o = f->chan_row[u]; o < f->chan_row[u + 1]; o++) {
				uint32_t v = f->chan_dst[o], c = f->chan_rev[o];
				uint64_t key;
				uint8_t m;

				if (w->len[v] != OSR_NONE)
					continue;
				m = mask_over(w, hop, mask, root, c);
				key = s->weight[c] + cost[u];
				if (!m || key >= w->key[v])
					continue;
				if (w->key[v] == UINT64_MAX)
					w->waiting[n_waiting++] = v;
				w->key[v] = key;
				w->new_mask[v] = m;
			}
		}
		for (uint32_t i = 0; i < n_waiting; i++) {
			uint32_t v = w->waiting[i];

			hop[v] = (uint8_t)(w->key[v] & HOP_MASK);
			cost[v] = w->key[v] & ~HOP_MASK;
			mask[v] = w->new_mask[v];
			w->key[v] = UINT64_MAX;
			enlist(w, v, len + 1);
		}
	}
}

static void start_tree(struct guide *w, uint32_t root)
{
	uint32_t n = w->f->n_switches;

	memset(w->head, 0xff, ((size_t)n + 1) * sizeof(*w->head));
	memset(w->len, 0xff, n * sizeof(*w->len));
	memset(w->key, 0xff, n * sizeof(*w->key));
	w->s->scratch->cost[root] = 0;
	enlist(w, root, 0);
}

/* Hops towards root along the escape tree, for the switches of its component. */
static void find_escape(struct guide *w, uint32_t root)
{
	const struct osr_fabric *f = w->f;
	uint32_t head = 0, tail = 0, *queue = w->waiting;

	memset(w->forced, 0, f->n_switches);
	memset(w->escape_hop, OSR_NO_PATH, f->n_switches);
	if (w->s->product) {
		osr_product_escape(w->s->product, w->s->plan, 0, root, w->escape_hop);
		return;
	}
	queue[tail++] = root;
	while (head < tail) {
		uint32_t u = queue[head++];

		for (uint32_t o = f->chan_row[u]; o < f->chan_row[u + 1]; o++) {
			uint32_t v = f->chan_dst[o], c = f->chan_rev[o];

			if ((w->escape[v] != c && w->escape[u] != o) || v == root ||
			    w->escape_hop[v] != OSR_NO_PATH)
				continue;
			w->escape_hop[v] = (uint8_t)(c - f->chan_row[v]);
			queue[tail++] = v;
		}
	}
}

/* Attaches the forced switches, each after the one it sends to. */
static void attach_forced(struct guide *w, uint32_t root, uint32_t from, uint8_t *hop,
			  uint8_t *mask)
{
	const struct osr_fabric *f = w->f;
	uint32_t v = from, depth = 0, *path = w->waiting;

	for (; v != root && w->len[v] == OSR_NONE;
	     v = f->chan_dst[f->chan_row[v] + w->escape_hop[v]])
		path[depth++] = v;
	while (depth--) {
		uint32_t c, u;

		v = path[depth];
		c = f->chan_row[v] + w->escape_hop[v];
		u = f->chan_dst[c];
		hop[v] = w->escape_hop[v];
		mask[v] = mask_over(w, hop, mask, root, c);
		w->s->scratch->cost[v] = w->s->scratch->cost[u] + (w->s->weight[c] & ~HOP_MASK);
		enlist(w, v, w->len[u] + 1);
	}
}

/* The first switch, near ones first, that is not attached; OSR_NONE if all are. */
static uint32_t left_over(const struct guide *w, uint32_t root)
{
	const uint16_t *order = w->s->order + (size_t)root * w->f->n_switches;

	for (uint32_t i = 1; i < w->s->n_order[root]; i++)
		if (w->len[order[i]] == OSR_NONE)
			return order[i];
	return OSR_NONE;
}

/*
 * Completes a tree in which some switches have no legal route. What is legal stays; the others
 * attach to it over longer ways. As long as one cannot, it goes on the escape tree and the rest is
 * grown around.
 */
static void detour(struct guide *w, uint32_t root, uint32_t d)
{
	const struct osr_fabric *f = w->f;
	const struct osr_spf *s = w->s;
	const uint16_t *order = s->order + (size_t)root * f->n_switches;
	uint8_t *hop = s->hop + (size_t)d * f->n_switches;
	uint8_t *mask = w->mask + (size_t)d * f->n_switches;
	uint32_t v;

	start_tree(w, root);
	for (uint32_t i = 1; i < s->n_order[root]; i++) {
		uint32_t c = f->chan_row[order[i]] + hop[order[i]], u = f->chan_dst[c];

		if (!mask[order[i]])
			continue;
		s->scratch->cost[order[i]] = s->scratch->cost[u] + (s->weight[c] & ~HOP_MASK);
		enlist(w, order[i], w->len[u] + 1);
	}
	attach_all(w, root, hop, mask);
	v = left_over(w, root);
	if (v == OSR_NONE)
		return;
	find_escape(w, root);
	for (; v != OSR_NONE; v = left_over(w, root)) {
		for (uint32_t u = v; u != root; u = f->chan_dst[f->chan_row[u] + w->escape_hop[u]])
			w->forced[u] = 1;
		start_tree(w, root);
		for (uint32_t u = 0; u < f->n_switches; u++)
			if (w->forced[u])
				attach_forced(w, root, u, hop, mask);
		attach_all(w, root, hop, mask);
	}
}

/* Lists the switches of a tree by length, as its hops say. */
static void measure_tree(struct guide *w, uint32_t root, const uint8_t *hop)
{
	const struct osr_fabric *f = w->f;
	const uint16_t *order = w->s->order + (size_t)root * f->n_switches;
	uint32_t *path = w->waiting;

	start_tree(w, root);
	for (uint32_t i = 1; i < w->s->n_order[root]; i++) {
		uint32_t v = order[i], depth = 0;

		for (; w->len[v] == OSR_NONE; v = f->chan_dst[f->chan_row[v] + hop[v]])
			path[depth++] = v;
		for (uint32_t len = w->len[v]; depth--;)
			enlist(w, path[depth], ++len);
	}
}

/* The switches of a listed tree by length; counts the routes that are longer than they need be. */
static uint32_t sort_tree(struct guide *w, uint32_t root, uint32_t d, uint32_t *n_longer)
{
	const struct osr_spf *s = w->s;
	const uint8_t *dist8 = s->scratch->dist8 + (size_t)root * w->f->n_switches;
	uint32_t n = 0, n_dests = 1;

	for (uint32_t k = s->dest_row[root]; k < s->dest_row[root + 1]; k++)
		n_dests += s->alias[s->dest_list[k]] == d;

	for (uint32_t len = 0; n < s->n_order[root]; len++)
		for (uint32_t v = w->head[len]; v != OSR_NONE; v = w->link[v])
			w->order[n++] = (uint16_t)v;
	/* dist8 is the distance mod 256, which grows by at most 1 along the settling order. */
	for (uint32_t i = 0, dist = 0; i < n; i++) {
		uint32_t v = s->order[(size_t)root * w->f->n_switches + i];

		dist += dist8[v] != (uint8_t)dist;
		*n_longer += w->len[v] != dist ? n_dests : 0;
	}
	return n;
}

/* Takes the routes of a dest out of the weights. */
static void rip_up(struct guide *w, uint32_t root, uint32_t d)
{
	struct osr_spf *s = w->s;
	const uint16_t *order = s->order + (size_t)root * w->f->n_switches;
	const uint8_t *hop = s->hop + (size_t)d * w->f->n_switches;
	uint32_t n = s->n_order[root], ignored = 0;

	if (w->detoured[d]) {
		measure_tree(w, root, hop);
		n = sort_tree(w, root, d, &ignored);
		order = w->order;
	}
	osr__spf_count(s, order, n, hop, (uint64_t)-1);
	w->detoured[d] = 0;
}

static void route_dest(struct guide *w, uint32_t root, uint32_t d, bool last, struct osr_routing *r)
{
	const struct osr_fabric *f = w->f;
	struct osr_spf *s = w->s;
	const uint16_t *order = s->order + (size_t)root * f->n_switches;
	const uint8_t *hop = s->hop + (size_t)d * f->n_switches;
	bool counts = f->term_weight[f->dest_term[d]] != 0;
	uint32_t n = s->n_order[root], n_failed;

	if (counts)
		rip_up(w, root, d);
	n_failed = settle_best(w, root, d);
	w->n_failed += n_failed;
	if (last && n_failed) {
		detour(w, root, d);
		n = sort_tree(w, root, d, &r->n_longer);
		order = w->order;
		w->detoured[d] = 1;
	}
	if (counts)
		osr__spf_count(s, order, n, hop, 1);
}

static void route_round(struct guide *w, bool last, struct osr_routing *r)
{
	const struct osr_spf *s = w->s;

	set_legal(w);
	set_freedom(w);
	w->n_failed = 0;
	r->n_longer = 0;
	for (uint32_t root = 0; root < w->f->n_switches; root++) {
		bool found = false;

		for (uint32_t k = s->dest_row[root]; k < s->dest_row[root + 1]; k++) {
			if (s->alias[s->dest_list[k]] != OSR_NONE)
				continue;
			if (!found)
				osr__spf_graph(w->s, root);
			found = true;
			route_dest(w, root, s->dest_list[k], last, r);
		}
	}
}

/* The masks of one dest's tree as it stands; returns how many of its routes have none. */
static uint32_t keep_tree(struct guide *w, uint32_t root, uint32_t d)
{
	const struct osr_fabric *f = w->f;
	const struct osr_spf *s = w->s;
	const uint8_t *hop = s->hop + (size_t)d * f->n_switches;
	uint8_t *mask = w->mask + (size_t)d * f->n_switches;
	const uint16_t *order = s->order + (size_t)root * f->n_switches;
	uint32_t n_failed = 0;

	mask[root] = all_vls(w);
	for (uint32_t i = 1; i < s->n_order[root]; i++) {
		uint32_t v = order[i];

		mask[v] = mask_over(w, hop, mask, root, f->chan_row[v] + hop[v]);
		n_failed += !mask[v];
	}
	return n_failed;
}

/* All trees; or until more than `enough` routes have failed. */
static void keep_trees(struct guide *w, uint64_t enough)
{
	w->n_failed = 0;
	for (uint32_t d = 0; d < w->f->n_dests && w->n_failed <= enough; d++)
		if (w->s->alias[d] == OSR_NONE)
			w->n_failed += keep_tree(w, w->f->dest_switch[d], d);
}

/* Routes again the dests whose trees are not legal as they stand. */
static void repair_round(struct guide *w)
{
	struct osr_spf *s = w->s;
	const struct osr_fabric *f = s->f;

	set_legal(w);
	set_freedom(w);
	w->n_failed = 0;
	for (uint32_t root = 0; root < f->n_switches; root++) {
		const uint16_t *order = s->order + (size_t)root * f->n_switches;
		bool found = false;

		for (uint32_t k = s->dest_row[root]; k < s->dest_row[root + 1]; k++) {
			uint32_t d = s->dest_list[k];
			const uint8_t *hop = s->hop + (size_t)d * f->n_switches;
			bool counts = f->term_weight[f->dest_term[d]] != 0;

			if (s->alias[d] != OSR_NONE || !keep_tree(w, root, d))
				continue;
			if (!found)
				osr__spf_graph(s, root);
			found = true;
			if (counts)
				osr__spf_count(s, order, s->n_order[root], hop, (uint64_t)-1);
			w->n_failed += settle_best(w, root, d);
			if (counts)
				osr__spf_count(s, order, s->n_order[root], hop, 1);
		}
	}
}

/* ---- SLs ------------------------------------------------------------------------------------- */

/* Which of the set bits: the same for both directions, spread over the pairs. */
static uint8_t pick(uint8_t mask, uint32_t a, uint32_t b)
{
	uint32_t skip = mask ? (a + b) % (uint32_t)__builtin_popcount(mask) : 0;

	while (skip--)
		mask &= (uint8_t)(mask - 1);
	return mask ? (uint8_t)__builtin_ctz(mask) : 0;
}

/*
 * both[a * n + b] = the VLs on which everything between switches a and b is legal; true if no pair
 * has none.
 */
static bool join_pairs(const struct guide *w, uint8_t *both)
{
	const struct osr_fabric *f = w->f;
	size_t n = f->n_switches;
	bool all = true;

	memset(both, 0xff, n * n);
	for (uint32_t d = 0; d < f->n_dests; d++) {
		const uint8_t *mask = w->mask + d * n;
		uint8_t *row = both + f->dest_switch[d] * n;

		if (w->s->alias[d] == OSR_NONE)
			for (size_t v = 0; v < n; v++)
				row[v] &= mask[v];
	}
	for (size_t a = 0; a < n; a++) {
		for (size_t b = a; b < n; b++) {
			both[a * n + b] &= both[b * n + a];
			both[b * n + a] = both[a * n + b];
			all &= both[a * n + b] != 0 || f->sw_component[a] != f->sw_component[b];
		}
	}
	return all;
}

/* Turns masks into SLs, in place. */
static void set_sls(struct guide *w, const uint8_t *both, uint8_t swap)
{
	const struct osr_fabric *f = w->f;
	size_t n = f->n_switches;

	for (uint32_t d = 0; d < f->n_dests; d++) {
		uint8_t *sl = w->mask + d * n;
		uint32_t root = f->dest_switch[d];

		if (w->s->alias[d] != OSR_NONE)
			continue;
		for (uint32_t v = 0; v < n; v++) {
			uint8_t vl = pick(both ? both[root * n + v] : sl[v], v, root);

			/* VLs 0 and swap trade places: multicast belongs to order 0. */
			sl[v] = vl == 0 ? swap : vl == swap ? 0 : vl;
		}
	}
	for (uint32_t d = 0; d < f->n_dests; d++)
		if (w->s->alias[d] != OSR_NONE)
			memcpy(w->mask + d * n, w->mask + w->s->alias[d] * n, n);
}

/* Gives the dests that keep_trees() found wanting their detours. */
static void mend_trees(struct guide *w, struct osr_routing *r)
{
	const struct osr_fabric *f = w->f;
	struct osr_spf *s = w->s;

	for (uint32_t d = 0; d < f->n_dests; d++) {
		const uint8_t *hop = s->hop + (size_t)d * f->n_switches;
		const uint8_t *mask = w->mask + (size_t)d * f->n_switches;
		uint32_t root = f->dest_switch[d], n = s->n_order[root];
		const uint16_t *order = s->order + (size_t)root * f->n_switches;
		bool counts = f->term_weight[f->dest_term[d]] != 0, whole = true;

		for (uint32_t v = 0; v < f->n_switches; v++)
			whole &= mask[v] != 0;
		if (s->alias[d] != OSR_NONE || whole)
			continue;
		if (counts)
			osr__spf_count(s, order, n, hop, (uint64_t)-1);
		detour(w, root, d);
		n = sort_tree(w, root, d, &r->n_longer);
		if (counts)
			osr__spf_count(s, w->order, n, hop, 1);
	}
}

/*
 * The orders of a product know nothing of multicast: order 0 becomes a topological order of what
 * it allows (dimensions in turn) and the spanning order together. True if there is none.
 */
static bool multicast_conflicts(struct guide *w, const struct osr_request *req,
				struct osr_arena *scratch, bool *no_memory)
{
	struct osr_arena_mark mark = osr_arena_mark(scratch);
	uint32_t *rank = osr_alloc(scratch, w->f->n_channels, sizeof(*rank));
	bool sorted;

	*no_memory = !rank;
	if (!rank || !w->s->product || !req->multicast) {
		osr_arena_reset(scratch, mark);
		return false;
	}
	for (uint32_t e = 0; e < w->g.n_slots; e++)
		w->g.weight[e] = w->legal[e] & 1;
	osr_mcast_depend(w->mcast_parent, &w->g);
	sorted = osr_cdg_sort(&w->g, scratch, rank, no_memory);
	if (sorted)
		memcpy(w->rank, rank, w->f->n_channels * sizeof(*rank));
	osr_arena_reset(scratch, mark);
	return !sorted;
}

static enum osr_status set_certificate(const struct guide *w, const struct osr_request *req,
				       bool multicast, uint8_t swap, struct osr_arena *result,
				       struct osr_routing *r, struct osr_diag *diag)
{
	size_t m = w->f->n_channels;
	bool beyond = multicast && w->n_orders > 1 && req->mcast_vl >= w->n_orders;

	r->n_vls = beyond ? req->mcast_vl + 1 : (uint8_t)w->n_orders;
	r->rank = osr_calloc(result, r->n_vls * m, sizeof(*r->rank));
	if (!r->rank)
		return osr_fail(diag, OSR_NOMEM, "out of memory for the deadlock certificate");
	for (uint32_t k = 0; k < w->n_orders; k++) {
		uint32_t vl = k == 0 ? swap : k == swap ? 0 : k;

		memcpy(r->rank + vl * m, w->rank + k * m, m * sizeof(*r->rank));
	}
	if (beyond)
		memcpy(r->rank + req->mcast_vl * m, w->rank, m * sizeof(*r->rank));
	r->n_layers = r->n_layers_one_way = (uint8_t)w->n_orders;
	r->claims |= OSR_CLAIM_DEADLOCK_FREE | (multicast ? OSR_CLAIM_MULTICAST : 0);
	r->mcast_vl =
		w->n_orders > 1 && (multicast || req->mcast_vl < r->n_vls) ? req->mcast_vl : 0;
	return OSR_OK;
}

static enum osr_status finish(struct guide *w, const struct osr_request *req, bool reversible,
			      struct osr_arena *scratch, struct osr_arena *result,
			      struct osr_routing *r, struct osr_diag *diag)
{
	size_t n = w->f->n_switches;
	uint8_t swap = req->multicast && w->n_orders > 1 && req->mcast_vl < w->n_orders
			       ? req->mcast_vl
			       : 0;
	bool multicast = req->multicast, no_memory = false;
	uint8_t *both = NULL;
	enum osr_status st;

	osr__spf_share(w->s);
	if (multicast_conflicts(w, req, scratch, &no_memory))
		multicast = false;
	if (no_memory)
		return osr_fail(diag, OSR_NOMEM, "out of memory for the multicast dependencies");
	st = set_certificate(w, req, multicast, swap, result, r, diag);
	if (st)
		return st;
	if (w->n_orders == 1) {
		r->sl = NULL;
		r->claims |= OSR_CLAIM_ANY_SL | OSR_CLAIM_REVERSIBLE;
		return OSR_OK;
	}
	if (reversible) {
		both = osr_alloc(scratch, n * n, 1);
		if (!both)
			return osr_fail(diag, OSR_NOMEM, "out of memory for the SLs of pairs");
		if (join_pairs(w, both))
			r->claims |= OSR_CLAIM_REVERSIBLE;
		else
			both = NULL;
	}
	set_sls(w, both, swap);
	return OSR_OK;
}

static enum osr_status guide_init(struct guide *w, struct osr_spf *s, const struct osr_request *req,
				  uint32_t n_orders, uint32_t *orders, struct osr_arena *scratch,
				  struct osr_arena *result, struct osr_routing *r,
				  struct osr_diag *diag)
{
	const struct osr_fabric *f = s->f;
	size_t n = f->n_switches;
	uint64_t sum = 0;
	enum osr_status st;

	if (!r->sl)
		r->sl = osr_calloc(result, (size_t)f->n_dests * f->n_switches, 1);
	if (!r->sl)
		return osr_fail(diag, OSR_NOMEM, "out of memory for the SLs of %u LIDs",
				f->n_dests);
	*w = (struct guide){
		.s = s, .f = f, .rank = orders, .mask = r->sl, .mcast_parent = r->mcast_parent
	};
	w->n_orders = n_orders < OSR_GUIDED_MAX ? n_orders : OSR_GUIDED_MAX;
	st = osr_cdg_init(&w->g, f, scratch, diag);
	if (st)
		return st;
	w->legal = osr_alloc(scratch, w->g.n_slots, 1);
	w->freedom = osr_alloc(scratch, f->n_channels, w->n_orders);
	w->escape = osr_alloc(scratch, n, sizeof(*w->escape));
	w->len = osr_alloc(scratch, n, sizeof(*w->len));
	w->head = osr_alloc(scratch, n + 1, sizeof(*w->head));
	w->link = osr_alloc(scratch, n, sizeof(*w->link));
	w->key = osr_alloc(scratch, n, sizeof(*w->key));
	w->waiting = osr_alloc(scratch, n, sizeof(*w->waiting));
	w->new_mask = osr_alloc(scratch, n, 1);
	w->forced = osr_alloc(scratch, n, 1);
	w->escape_hop = osr_alloc(scratch, n, 1);
	w->order = osr_alloc(scratch, n, sizeof(*w->order));
	w->detoured = osr_calloc(scratch, f->n_dests, 1);
	w->boost = 1;
	if (!w->detoured || !w->legal || !w->freedom || !w->escape || !w->len || !w->head ||
	    !w->link || !w->key || !w->waiting || !w->new_mask || !w->forced || !w->escape_hop ||
	    !w->order)
		return osr_fail(diag, OSR_NOMEM,
				"out of memory for routing within %u channel orders", w->n_orders);
	for (uint32_t c = 0; c < f->n_channels; c++)
		sum += s->weight[c] >> HOP_BITS;
	w->mean = f->n_channels ? sum / f->n_channels : 0;
	return osr_mcast_tree(s, scratch, w->escape, diag);
}

#define MAX_STALE 2

/*
 * Rounds of routing and improving the orders, until every route is legal. Keeps the best orders
 * seen; stops when it no longer gets better and more than a few routes are without a legal way:
 * detours it will be.
 */
static enum osr_status search_orders(struct guide *w, const struct osr_guided_options *opt,
				     uint32_t *best, struct osr_arena *scratch,
				     struct osr_routing *r, struct osr_diag *diag)
{
	size_t size = (size_t)w->n_orders * w->f->n_channels * sizeof(*best);
	uint64_t least = UINT64_MAX;
	uint32_t stale = 0;

	for (uint32_t i = 1; i <= opt->rounds; i++) {
		enum osr_status st;

		route_round(w, false, r);
		if (!w->n_failed)
			return OSR_OK;
		stale = w->n_failed > least - least / 10 ? stale + 1 : 0;
		if (w->n_failed < least) {
			least = w->n_failed;
			memcpy(best, w->rank, size);
		}
		if (i == opt->rounds || (stale == MAX_STALE && w->n_failed > FEW))
			break;
		w->boost = 1u << i < MAX_BOOST ? 1u << i : MAX_BOOST;
		st = improve_orders(w, opt->sift_passes, scratch, diag);
		if (st)
			return st;
	}
	memcpy(w->rank, best, size);
	route_round(w, true, r);
	return OSR_OK;
}

enum osr_status osr_guided_route(struct osr_spf *s, const struct osr_request *req,
				 const struct osr_guided_options *opt, uint32_t *orders,
				 struct osr_arena *scratch, struct osr_arena *result,
				 struct osr_routing *r, struct osr_diag *diag)
{
	struct osr_arena_mark mark = osr_arena_mark(scratch);
	struct guide w;
	enum osr_status st = guide_init(&w, s, req, req->max_vls, orders, scratch, result, r, diag);
	uint32_t *best =
		st ? NULL
		   : osr_alloc(scratch, (size_t)w.n_orders * s->f->n_channels, sizeof(*best));

	if (!st && !best)
		st = osr_fail(diag, OSR_NOMEM, "out of memory for the orders of %u channels",
			      s->f->n_channels);
	/* One improvement at least, so that order 0 keeps the escape tree forward. */
	if (!st) {
		set_legal(&w);
		keep_trees(&w, UINT64_MAX);
		st = improve_orders(&w, opt->sift_passes, scratch, diag);
	}
	if (!st)
		st = search_orders(&w, opt, best, scratch, r, diag);
	if (!st)
		st = finish(&w, req, opt->reversible, scratch, result, r, diag);
	osr_arena_reset(scratch, mark);
	return st;
}

enum osr_status osr_guided_keep(struct osr_spf *s, const struct osr_request *req,
				const struct osr_guided_options *opt, bool mend, uint32_t *orders,
				struct osr_arena *scratch, struct osr_arena *result,
				struct osr_routing *r, bool *kept, struct osr_diag *diag)
{
	struct osr_arena_mark mark = osr_arena_mark(scratch);
	struct guide w;
	enum osr_status st = guide_init(&w, s, req, req->max_vls, orders, scratch, result, r, diag);

	*kept = false;
	if (!st) {
		set_legal(&w);
		keep_trees(&w, mend ? UINT64_MAX : 0);
		*kept = w.n_failed == 0 || mend;
	}
	if (!st && w.n_failed && mend)
		mend_trees(&w, r);
	if (*kept)
		st = finish(&w, req, opt->reversible, scratch, result, r, diag);
	osr_arena_reset(scratch, mark);
	return st;
}

#define REPAIR_ROUNDS 8
#define ALWAYS_TOLERATED 2000 /* routes to repair that cost next to nothing */

/* Rounds of repair until all is legal, or it no longer gets better by a quarter. */
static enum osr_status repair(struct guide *w, uint32_t passes, uint64_t tolerated,
			      struct osr_arena *scratch, struct osr_diag *diag)
{
	uint64_t before = UINT64_MAX;

	set_legal(w);
	keep_trees(w, tolerated);
	for (uint32_t i = 0; w->n_failed && w->n_failed <= tolerated && i < REPAIR_ROUNDS; i++) {
		enum osr_status st;

		repair_round(w);
		/* A handful is worth going on for, even if some rounds bring nothing. */
		if (!w->n_failed || (w->n_failed > FEW && w->n_failed > before - before / 4))
			break;
		before = w->n_failed;
		w->boost = 2u << i < MAX_BOOST ? 2u << i : MAX_BOOST;
		/*
		 * Only the last order has to change: it is where the routes without one are
		 * counted.
		 */
		if (i + 1 < REPAIR_ROUNDS &&
		    (st = improve_order(w, w->n_orders - 1, passes, scratch, diag)))
			return st;
	}
	return OSR_OK;
}

enum osr_status osr_guided_reduce(struct osr_spf *s, const struct osr_request *req,
				  const struct osr_guided_options *opt, uint32_t n_orders,
				  uint32_t tolerance, const uint32_t *orders,
				  struct osr_arena *scratch, struct osr_arena *result,
				  struct osr_routing *r, bool *fits, struct osr_diag *diag)
{
	const struct osr_fabric *f = s->f;
	struct osr_arena_mark mark = osr_arena_mark(scratch), before = osr_arena_mark(result);
	size_t size = (size_t)f->n_dests * f->n_switches, m = f->n_channels;
	uint8_t *hop = osr_alloc(scratch, size, 1);
	uint32_t *rank = osr_alloc(scratch, n_orders * m, sizeof(*rank));
	uint64_t *weight = osr_alloc(scratch, m, sizeof(*weight));
	struct osr_routing reduced = *r;
	enum osr_status st = OSR_NOMEM;
	struct guide w;

	*fits = false;
	reduced.claims = 0;
	reduced.sl = osr_calloc(result, size, 1);
	if (!hop || !rank || !weight || !reduced.sl) {
		osr_fail(diag, OSR_NOMEM, "out of memory for fewer lanes");
		goto out;
	}
	memcpy(hop, s->hop, size);
	memcpy(weight, s->weight, m * sizeof(*weight));
	memcpy(rank, orders, n_orders * m * sizeof(*rank));
	st = guide_init(&w, s, req, n_orders, rank, scratch, result, &reduced, diag);
	if (!st)
		st = repair(&w, opt->sift_passes, size / tolerance + ALWAYS_TOLERATED, scratch,
			    diag);
	if (st)
		goto out;
	*fits = w.n_failed == 0;
	if (*fits) {
		st = finish(&w, req, opt->reversible, scratch, result, &reduced, diag);
		*r = reduced;
	} else {
		memcpy(s->hop, hop, size);
		memcpy(s->weight, weight, m * sizeof(*weight));
	}
out:
	if (!*fits)
		osr_arena_reset(result, before);
	osr_arena_reset(scratch, mark);
	return st;
}

/*
 * A topological order puts channels that are not in use anywhere. Those with a parallel channel in
 * use get its place, so that routes may move from one to the other.
 */
static void place_idle(struct guide *w)
{
	const struct osr_fabric *f = w->f;
	uint8_t *used = w->freedom; /* [n_channels], not needed by settle() at price 0 */

	memset(used, 0, f->n_channels);
	for (size_t d = 0; d < f->n_dests; d++)
		for (uint32_t v = 0; v < f->n_switches; v++)
			if (w->s->hop[d * f->n_switches + v] != OSR_NO_PATH)
				used[f->chan_row[v] + w->s->hop[d * f->n_switches + v]] = 1;
	for (uint32_t v = 0; w->mcast_parent && v < f->n_switches; v++)
		if (w->mcast_parent[v] != OSR_NONE)
			used[w->mcast_parent[v]] = used[f->chan_rev[w->mcast_parent[v]]] = 1;
	for (uint32_t c = 0; c < f->n_channels; c++) {
		uint32_t v = f->chan_src[c];

		for (uint32_t o = f->chan_row[v]; o < f->chan_row[v + 1] && !used[c]; o++) {
			if (f->chan_dst[o] != f->chan_dst[c] || !used[o])
				continue;
			w->rank[c] = w->rank[o];
			break;
		}
	}
}

/*
 * Routes a dest again within the order; if that leaves anybody without a route, it keeps the tree
 * it had.
 */
static void refine_dest(struct guide *w, uint32_t root, uint32_t d, uint8_t *saved)
{
	struct osr_spf *s = w->s;
	size_t n = w->f->n_switches;
	const uint16_t *order = s->order + root * n;
	uint8_t *hop = s->hop + d * n;

	memcpy(saved, hop, n);
	osr__spf_count(s, order, s->n_order[root], hop, (uint64_t)-1);
	if (settle(w, root, d, 0))
		memcpy(hop, saved, n);
	osr__spf_count(s, order, s->n_order[root], hop, 1);
}

enum osr_status osr_guided_refine(struct osr_spf *s, const struct osr_request *req, uint32_t rounds,
				  uint32_t *rank, struct osr_arena *scratch,
				  struct osr_arena *result, struct osr_routing *r,
				  struct osr_diag *diag)
{
	const struct osr_fabric *f = s->f;
	struct osr_arena_mark mark = osr_arena_mark(scratch), before = osr_arena_mark(result);
	uint8_t *saved = osr_alloc(scratch, f->n_switches, 1);
	struct guide w;
	enum osr_status st = guide_init(&w, s, req, 1, rank, scratch, result, r, diag);

	if (!st && !saved)
		st = osr_fail(diag, OSR_NOMEM,
			      "out of memory for balancing within a channel order");
	if (!st) {
		place_idle(&w);
		set_legal(&w);
	}
	for (; !st && rounds; rounds--) {
		for (uint32_t root = 0; root < f->n_switches; root++) {
			bool found = false;

			for (uint32_t k = s->dest_row[root]; k < s->dest_row[root + 1]; k++) {
				uint32_t d = s->dest_list[k];

				if (!f->term_weight[f->dest_term[d]])
					continue;
				if (!found)
					osr__spf_graph(s, root);
				found = true;
				refine_dest(&w, root, d, saved);
			}
		}
		s->n_rounds++;
	}
	osr__spf_share(s);
	r->sl = NULL; /* the masks: on one VL any SL will do */
	osr_arena_reset(result, before);
	osr_arena_reset(scratch, mark);
	return st;
}

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "legal_tree.h"

#include <string.h>

#include <osmroutes/product.h>

bool osr__legal_alloc(struct osr__legal *t, struct osr_arena *scratch)
{
	size_t n = t->f->n_switches;

	t->escape = osr_alloc(scratch, n, sizeof(*t->escape));
	t->detoured = osr_calloc(scratch, t->f->n_dests, 1);
	t->len = osr_alloc(scratch, n, sizeof(*t->len));
	t->head = osr_alloc(scratch, n + 1, sizeof(*t->head));
	t->link = osr_alloc(scratch, n, sizeof(*t->link));
	t->key = osr_alloc(scratch, n, sizeof(*t->key));
	t->waiting = osr_alloc(scratch, n, sizeof(*t->waiting));
	t->new_mask = osr_alloc(scratch, n, 1);
	t->escape_hop = osr_alloc(scratch, n, 1);
	t->order = osr_alloc(scratch, n, sizeof(*t->order));
	return !osr_arena_failed(scratch, NULL);
}

void osr__legal_set_mean(struct osr__legal *t)
{
	uint64_t sum;

	osr__spf_busiest(t->s, &sum);
	t->mean = t->f->n_channels ? sum / t->f->n_channels : 0;
}

/* ---- shortest routes ------------------------------------------------------------------------- */

/* Prices tried for taking freedom away from others. */
static const uint64_t legal_prices[] = { 0, 2, 8, 24 };
#define N_PRICES (sizeof(legal_prices) / sizeof(legal_prices[0]))

uint32_t osr__legal_settle_best(struct osr__legal *t, uint32_t root, uint32_t d)
{
	uint32_t least = UINT32_MAX, now = 0;
	size_t best = 0;

	if (t->exact)
		return t->settle(t, root, d, 0);
	for (size_t i = 0; i < N_PRICES; i++) {
		now = t->settle(t, root, d, legal_prices[i]);
		if (now < least) {
			least = now;
			best = i;
		}
		if (!now)
			return now;
	}
	return best == N_PRICES - 1 ? now : t->settle(t, root, d, legal_prices[best]);
}

uint32_t osr__legal_mark(struct osr__legal *t, const uint16_t *order, uint32_t n,
			 const uint8_t *hop, uint32_t root)
{
	return osr__legal_mark_by(t, order, n, hop, root, t->over);
}

/* ---- lists by length ------------------------------------------------------------------------- */

static void legal_enlist(struct osr__legal *t, uint32_t v, uint32_t len)
{
	t->len[v] = len;
	t->link[v] = t->head[len];
	t->head[len] = v;
}

/* Behind the switch that its hop leads to, which is listed. */
static void legal_enlist_behind(struct osr__legal *t, uint32_t v, const uint8_t *hop)
{
	uint32_t c = t->f->chan_row[v] + hop[v], u = t->f->chan_dst[c];
	uint64_t *cost = t->s->scratch->cost;

	cost[v] = cost[u] + (t->s->weight[c] & ~HOP_MASK);
	legal_enlist(t, v, t->len[u] + 1);
}

uint32_t osr__legal_list(struct osr__legal *t, uint32_t root, const uint8_t *hop, bool legal)
{
	const struct osr_fabric *fabric = t->f;
	uint32_t n = fabric->n_switches, n_out = 0, *path = t->waiting;
	const uint16_t *order = t->s->order + (size_t)root * n;
	uint8_t *seen = t->new_mask;

	memset(t->head, 0xff, ((size_t)n + 1) * sizeof(*t->head));
	memset(t->len, 0xff, n * sizeof(*t->len));
	memset(t->key, 0xff, n * sizeof(*t->key));
	memset(seen, 0, n);
	t->s->scratch->cost[root] = 0;
	if (legal)
		t->mask[root] = t->all;
	legal_enlist(t, root, 0);
	for (uint32_t i = 1; i < t->s->n_order[root]; i++) {
		uint32_t v = order[i], depth = 0;
		bool reached;

		/* To what has been seen, or to where a route ends or goes round. */
		for (; v != root && !seen[v]; v = fabric->chan_dst[fabric->chan_row[v] + hop[v]]) {
			seen[v] = 1;
			path[depth++] = v;
			if (hop[v] == OSR_NO_PATH)
				break;
		}
		reached = t->len[v] != OSR_NONE;
		while (depth--) {
			v = path[depth];
			if (legal) {
				t->mask[v] = reached ? t->over(t, hop, root,
							       fabric->chan_row[v] + hop[v])
						     : 0;
				reached = t->mask[v] != 0;
			}
			if (reached)
				legal_enlist_behind(t, v, hop);
			n_out += !reached;
		}
	}
	return n_out;
}

uint32_t osr__legal_sort(struct osr__legal *t, uint32_t root, uint32_t d, uint32_t *n_longer)
{
	const struct osr_spf *spf = t->s;
	const uint8_t *dist8 = spf->scratch->dist8 + (size_t)root * t->f->n_switches;
	uint32_t n = 0, n_dests = 1;

	for (uint32_t k = spf->dest_row[root]; k < spf->dest_row[root + 1]; k++)
		n_dests += spf->alias[spf->dest_list[k]] == d;
	for (uint32_t len = 0; n < spf->n_order[root]; len++)
		for (uint32_t v = t->head[len]; v != OSR_NONE; v = t->link[v])
			t->order[n++] = (uint16_t)v;
	/* dist8 is the distance mod 256, which grows by at most 1 along the settling order. */
	for (uint32_t i = 0, dist = 0; i < n; i++) {
		uint32_t v = spf->order[(size_t)root * t->f->n_switches + i];

		dist += dist8[v] != (uint8_t)dist;
		*n_longer += t->len[v] != dist ? n_dests : 0;
	}
	return n;
}

/* ---- detours --------------------------------------------------------------------------------- */

/* Everything that can be attached to what is, shortest first, then lightest. */
static void legal_attach_all(struct osr__legal *t, uint32_t root, uint8_t *hop)
{
	const struct osr_fabric *fabric = t->f;
	const struct osr_spf *spf = t->s;

	for (uint32_t len = 0; len < fabric->n_switches; len++) {
		uint32_t n_waiting = 0;

		for (uint32_t u = t->head[len]; u != OSR_NONE; u = t->link[u]) {
			for (uint32_t o = fabric->chan_row[u]; o < fabric->chan_row[u + 1]; o++) {
				uint32_t v = fabric->chan_dst[o], c = fabric->chan_rev[o];
				uint64_t key;
				uint8_t mask;

				if (t->len[v] != OSR_NONE)
					continue;
				key = spf->weight[c] + spf->scratch->cost[u];
				mask = key < t->key[v] ? t->over(t, hop, root, c) : 0;
				if (!mask)
					continue;
				if (t->key[v] == UINT64_MAX)
					t->waiting[n_waiting++] = v;
				t->key[v] = key;
				t->new_mask[v] = mask;
			}
		}
		for (uint32_t i = 0; i < n_waiting; i++) {
			uint32_t v = t->waiting[i];

			hop[v] = (uint8_t)(t->key[v] & HOP_MASK);
			t->mask[v] = t->new_mask[v];
			t->key[v] = UINT64_MAX;
			legal_enlist_behind(t, v, hop);
		}
	}
}

void osr__legal_find_escape(struct osr__legal *t, uint32_t root)
{
	const struct osr_fabric *fabric = t->f;
	uint32_t head = 0, tail = 0, *queue = t->waiting;

	memset(t->escape_hop, OSR_NO_PATH, fabric->n_switches);
	if (t->s->product) {
		osr_product_escape(t->s->product, t->s->plan, 0, root, t->escape_hop);
		return;
	}
	queue[tail++] = root;
	while (head < tail) {
		uint32_t u = queue[head++];

		for (uint32_t o = fabric->chan_row[u]; o < fabric->chan_row[u + 1]; o++) {
			uint32_t v = fabric->chan_dst[o], c = fabric->chan_rev[o];

			if ((t->escape[v] != c && t->escape[u] != o) || v == root ||
			    t->escape_hop[v] != OSR_NO_PATH)
				continue;
			t->escape_hop[v] = (uint8_t)(c - fabric->chan_row[v]);
			queue[tail++] = v;
		}
	}
}

bool osr__legal_force(struct osr__legal *t, uint32_t root, uint8_t *hop)
{
	const uint16_t *order = t->s->order + (size_t)root * t->f->n_switches;

	for (uint32_t i = 1; i < t->s->n_order[root]; i++) {
		uint32_t v = order[i];

		if (t->len[v] != OSR_NONE || t->escape_hop[v] == OSR_NO_PATH)
			continue;
		for (; v != root; v = t->f->chan_dst[t->f->chan_row[v] + hop[v]])
			hop[v] = t->escape_hop[v];
		return true;
	}
	return false;
}

static bool legal_is_complete(const struct osr__legal *t, uint32_t root)
{
	const uint16_t *order = t->s->order + (size_t)root * t->f->n_switches;

	for (uint32_t i = 1; i < t->s->n_order[root]; i++)
		if (t->len[order[i]] == OSR_NONE)
			return false;
	return true;
}

void osr__legal_detour(struct osr__legal *t, uint32_t root, uint32_t d)
{
	uint8_t *hop = t->s->hop + (size_t)d * t->f->n_switches;

	for (bool escapes = false;; escapes = true) {
		osr__legal_list(t, root, hop, true);
		legal_attach_all(t, root, hop);
		if (legal_is_complete(t, root))
			return;
		if (!escapes)
			osr__legal_find_escape(t, root);
		osr__legal_force(t, root, hop);
	}
}

/* ---- balance --------------------------------------------------------------------------------- */

struct legal_mover {
	struct osr__legal *t;
	uint32_t n_longer; /* of the tree that was taken out last */
};

uint32_t osr__legal_count_tree(struct osr__legal *t, uint32_t d, uint64_t sign)
{
	const uint8_t *hop = t->s->hop + (size_t)d * t->f->n_switches;
	uint32_t root = t->f->dest_switch[d], n_longer = 0, n;

	osr__legal_list(t, root, hop, false);
	n = osr__legal_sort(t, root, d, &n_longer);
	if (sign)
		osr__spf_count(t->s, t->order, n, hop, sign);
	return n_longer;
}

static void legal_polish_count(void *ctx, uint32_t d, uint64_t sign)
{
	struct legal_mover *mover = ctx;
	const struct osr_spf *spf = mover->t->s;
	uint32_t root = spf->f->dest_switch[d];

	mover->n_longer = 0;
	if (mover->t->detoured[d])
		mover->n_longer = osr__legal_count_tree(mover->t, d, sign);
	else
		osr__spf_count(mover->t->s, spf->order + (size_t)root * spf->f->n_switches,
			       spf->n_order[root], spf->hop + (size_t)d * spf->f->n_switches, sign);
}

/* Balance shall not cost longer routes. */
static bool legal_polish_reroute(void *ctx, uint32_t root, uint32_t d)
{
	struct legal_mover *mover = ctx;
	uint32_t before = mover->n_longer;

	if (!osr__legal_settle_best(mover->t, root, d))
		return true;
	if (!before)
		return false;
	osr__legal_detour(mover->t, root, d);
	return osr__legal_count_tree(mover->t, d, 0) <= before;
}

uint32_t osr__legal_polish(struct osr__legal *t, uint32_t n_moves)
{
	struct legal_mover mover = { .t = t };
	uint32_t n_longer = 0;

	if (n_moves)
		osr__spf_polish(t->s, n_moves,
				&(struct osr__spf_mover){ &mover, legal_polish_reroute,
							  legal_polish_count });
	for (uint32_t d = 0; d < t->f->n_dests; d++)
		if (t->s->alias[d] == OSR_NONE && t->detoured[d])
			n_longer += osr__legal_count_tree(t, d, 0);
	return n_longer;
}

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Longer routes for what has no legal shortest one: see ordered.h. */
#include <string.h>

#include "ordered_private.h"

static void ordered_detour_enlist(struct guide *w, uint32_t v, uint32_t len)
{
	w->len[v] = len;
	w->link[v] = w->head[len];
	w->head[len] = v;
}

/* Everything that can be attached to what is, shortest first, then lightest. */
static void ordered_detour_attach_all(struct guide *w, uint32_t root, uint8_t *hop, uint8_t *mask)
{
	const struct osr_fabric *fabric = w->f;
	const struct osr_spf *spf = w->s;
	uint64_t *cost = spf->scratch->cost;

	for (uint32_t len = 0; len < fabric->n_switches; len++) {
		uint32_t n_waiting = 0;

		for (uint32_t u = w->head[len]; u != OSR_NONE; u = w->link[u]) {
			for (uint32_t o = fabric->chan_row[u]; o < fabric->chan_row[u + 1]; o++) {
				uint32_t v = fabric->chan_dst[o], c = fabric->chan_rev[o];
				uint64_t key;
				uint8_t m;

				if (w->len[v] != OSR_NONE)
					continue;
				m = mask_over(w, hop, mask, root, c);
				key = spf->weight[c] + cost[u];
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
			ordered_detour_enlist(w, v, len + 1);
		}
	}
}

static void ordered_detour_start_tree(struct guide *w, uint32_t root)
{
	uint32_t n = w->f->n_switches;

	memset(w->head, 0xff, ((size_t)n + 1) * sizeof(*w->head));
	memset(w->len, 0xff, n * sizeof(*w->len));
	memset(w->key, 0xff, n * sizeof(*w->key));
	w->s->scratch->cost[root] = 0;
	ordered_detour_enlist(w, root, 0);
}

/* Hops towards root along the escape tree, for the switches of its component. */
static void ordered_detour_find_escape(struct guide *w, uint32_t root)
{
	const struct osr_fabric *fabric = w->f;
	uint32_t head = 0, tail = 0, *queue = w->waiting;

	memset(w->forced, 0, fabric->n_switches);
	memset(w->escape_hop, OSR_NO_PATH, fabric->n_switches);
	if (w->s->product) {
		osr_product_escape(w->s->product, w->s->plan, 0, root, w->escape_hop);
		return;
	}
	queue[tail++] = root;
	while (head < tail) {
		uint32_t u = queue[head++];

		for (uint32_t o = fabric->chan_row[u]; o < fabric->chan_row[u + 1]; o++) {
			uint32_t v = fabric->chan_dst[o], c = fabric->chan_rev[o];

			if ((w->escape[v] != c && w->escape[u] != o) || v == root ||
			    w->escape_hop[v] != OSR_NO_PATH)
				continue;
			w->escape_hop[v] = (uint8_t)(c - fabric->chan_row[v]);
			queue[tail++] = v;
		}
	}
}

/* Attaches the forced switches, each after the one it sends to. */
static void ordered_detour_attach_forced(struct guide *w, uint32_t root, uint32_t from,
					 uint8_t *hop, uint8_t *mask)
{
	const struct osr_fabric *fabric = w->f;
	uint32_t v = from, depth = 0, *path = w->waiting;

	for (; v != root && w->len[v] == OSR_NONE;
	     v = fabric->chan_dst[fabric->chan_row[v] + w->escape_hop[v]])
		path[depth++] = v;
	while (depth--) {
		uint32_t c, u;

		v = path[depth];
		c = fabric->chan_row[v] + w->escape_hop[v];
		u = fabric->chan_dst[c];
		hop[v] = w->escape_hop[v];
		mask[v] = mask_over(w, hop, mask, root, c);
		w->s->scratch->cost[v] = w->s->scratch->cost[u] + (w->s->weight[c] & ~HOP_MASK);
		ordered_detour_enlist(w, v, w->len[u] + 1);
	}
}

/* The first switch, near ones first, that is not attached; OSR_NONE if all are. */
static uint32_t ordered_detour_left_over(const struct guide *w, uint32_t root)
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
void osr__ordered_detour(struct guide *w, uint32_t root, uint32_t d)
{
	const struct osr_fabric *fabric = w->f;
	const struct osr_spf *spf = w->s;
	const uint16_t *order = spf->order + (size_t)root * fabric->n_switches;
	uint8_t *hop = spf->hop + (size_t)d * fabric->n_switches;
	uint8_t *mask = w->mask + (size_t)d * fabric->n_switches;
	uint32_t v;

	ordered_detour_start_tree(w, root);
	for (uint32_t i = 1; i < spf->n_order[root]; i++) {
		uint32_t c = fabric->chan_row[order[i]] + hop[order[i]], u = fabric->chan_dst[c];

		if (!mask[order[i]])
			continue;
		spf->scratch->cost[order[i]] = spf->scratch->cost[u] + (spf->weight[c] & ~HOP_MASK);
		ordered_detour_enlist(w, order[i], w->len[u] + 1);
	}
	ordered_detour_attach_all(w, root, hop, mask);
	v = ordered_detour_left_over(w, root);
	if (v == OSR_NONE)
		return;
	ordered_detour_find_escape(w, root);
	for (; v != OSR_NONE; v = ordered_detour_left_over(w, root)) {
		for (uint32_t u = v; u != root;
		     u = fabric->chan_dst[fabric->chan_row[u] + w->escape_hop[u]])
			w->forced[u] = 1;
		ordered_detour_start_tree(w, root);
		for (uint32_t u = 0; u < fabric->n_switches; u++)
			if (w->forced[u])
				ordered_detour_attach_forced(w, root, u, hop, mask);
		ordered_detour_attach_all(w, root, hop, mask);
	}
}

/* Lists the switches of a tree by length, as its hops say. */
void osr__ordered_measure(struct guide *w, uint32_t root, const uint8_t *hop)
{
	const struct osr_fabric *fabric = w->f;
	const uint16_t *order = w->s->order + (size_t)root * fabric->n_switches;
	uint32_t *path = w->waiting;

	ordered_detour_start_tree(w, root);
	for (uint32_t i = 1; i < w->s->n_order[root]; i++) {
		uint32_t v = order[i], depth = 0;

		for (; w->len[v] == OSR_NONE; v = fabric->chan_dst[fabric->chan_row[v] + hop[v]])
			path[depth++] = v;
		for (uint32_t len = w->len[v]; depth--;)
			ordered_detour_enlist(w, path[depth], ++len);
	}
}

/* The switches of a listed tree by length; counts the routes that are longer than they need be. */
uint32_t osr__ordered_sort(struct guide *w, uint32_t root, uint32_t d, uint32_t *n_longer)
{
	const struct osr_spf *spf = w->s;
	const uint8_t *dist8 = spf->scratch->dist8 + (size_t)root * w->f->n_switches;
	uint32_t n = 0, n_dests = 1;

	for (uint32_t k = spf->dest_row[root]; k < spf->dest_row[root + 1]; k++)
		n_dests += spf->alias[spf->dest_list[k]] == d;

	for (uint32_t len = 0; n < spf->n_order[root]; len++)
		for (uint32_t v = w->head[len]; v != OSR_NONE; v = w->link[v])
			w->order[n++] = (uint16_t)v;
	/* dist8 is the distance mod 256, which grows by at most 1 along the settling order. */
	for (uint32_t i = 0, dist = 0; i < n; i++) {
		uint32_t v = spf->order[(size_t)root * w->f->n_switches + i];

		dist += dist8[v] != (uint8_t)dist;
		*n_longer += w->len[v] != dist ? n_dests : 0;
	}
	return n;
}

/* Takes the routes of a dest out of the weights. */

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Shortest paths within an order of the switches: up first, then down. See spf.h.
 *
 * A switch with a shortest path that only goes down takes no other; the rest go up to a switch that
 * has a path. Then whatever next hops are chosen, no route turns from down to up.
 */
#include <string.h>

#include "spf_private.h"

enum { PATH_NONE, PATH_DOWN, PATH_UP };

/* May a shortest path of this kind go on from v to the closer neighbour u? */
static inline bool order_allows(const struct osr_spf *s, const uint8_t *kind, uint32_t v, uint32_t u,
				uint8_t as)
{
	bool up = s->place[u] < s->place[v];

	return as == PATH_DOWN ? !up && kind[u] == PATH_DOWN : up && kind[u] != PATH_NONE;
}

static uint8_t order_kind(const struct osr_spf *s, const uint8_t *dist8, const uint8_t *kind,
			  uint32_t v)
{
	const struct osr_fabric *f = s->f;
	uint8_t best = PATH_NONE;

	for (uint32_t c = f->chan_row[v]; c < f->chan_row[v + 1]; c++) {
		uint32_t u = f->chan_dst[c];

		if (dist8[u] != (uint8_t)(dist8[v] - 1))
			continue;
		if (order_allows(s, kind, v, u, PATH_DOWN))
			return PATH_DOWN;
		if (order_allows(s, kind, v, u, PATH_UP))
			best = PATH_UP;
	}
	return best;
}

uint32_t osr__spf_graph_in_order(struct osr_spf *s, uint32_t root)
{
	const struct osr_fabric *f = s->f;
	struct osr_spf_scratch *w = s->scratch;
	const uint16_t *order = s->order + (size_t)root * f->n_switches;
	const uint8_t *dist8 = w->dist8 + (size_t)root * f->n_switches;
	uint8_t *kind = w->kind;
	uint32_t n = 0, n_barred = 0;

	kind[root] = PATH_DOWN;
	for (uint32_t i = 1; i < s->n_order[root]; i++) {
		uint32_t v = order[i];

		w->edge_row[i] = n;
		kind[v] = order_kind(s, dist8, kind, v);
		n_barred += kind[v] == PATH_NONE && f->sw_sources[v];
		for (uint32_t c = f->chan_row[v]; c < f->chan_row[v + 1]; c++) {
			uint32_t u = f->chan_dst[c];

			if (dist8[u] != (uint8_t)(dist8[v] - 1) ||
			    (kind[v] != PATH_NONE && !order_allows(s, kind, v, u, kind[v])))
				continue;
			w->edge_chan[n] = c;
			w->edge_next[n++] = u;
		}
	}
	w->edge_row[s->n_order[root]] = n;
	return n_barred;
}

void osr_spf_keep_order(struct osr_spf *s, uint64_t *n_barred)
{
	*n_barred = 0;
	for (uint32_t root = 0; root < s->f->n_switches; root++)
		if (s->f->sw_sources[root])
			*n_barred += osr__spf_graph_in_order(s, root);
	if (*n_barred)
		return;
	s->n_rounds = 0;
	s->scratch->dealt = s->scratch->singly = false;
	for (uint32_t c = 0; c < s->f->n_channels; c++)
		s->weight[c] &= HOP_MASK;
}

/* ---- longer paths for those without a shortest one -------------------------------------------- */

/*
 * hop[] and len[] of the switches towards root: the shortest paths down of those that have none,
 * breadth first from those that go down anyhow.
 */
static void order_extend_down(struct osr_spf *s, uint32_t root, uint8_t *hop)
{
	const struct osr_fabric *f = s->f;
	struct osr_spf_scratch *w = s->scratch;
	const uint16_t *order = s->order + (size_t)root * f->n_switches;
	const uint8_t *dist8 = w->dist8 + (size_t)root * f->n_switches;
	uint32_t *len = w->count, *queue = w->active, n = 0;

	for (uint32_t i = 0; i < s->n_order[root]; i++) {
		len[order[i]] = dist8[order[i]];
		if (w->kind[order[i]] == PATH_DOWN)
			queue[n++] = order[i];
	}
	/* Not strictly by length where a longer path meets shorter ones; legal it is. */
	for (uint32_t i = 0; i < n; i++) {
		uint32_t u = queue[i];

		for (uint32_t c = f->chan_row[u]; c < f->chan_row[u + 1]; c++) {
			uint32_t v = f->chan_dst[c];

			if (w->kind[v] != PATH_NONE || s->place[v] > s->place[u])
				continue;
			w->kind[v] = PATH_DOWN;
			len[v] = len[u] + 1;
			hop[v] = (uint8_t)(f->chan_rev[c] - f->chan_row[v]);
			queue[n++] = v;
		}
	}
}

/* All others go up, to the neighbour with the shortest path; from the top of the order down. */
static bool order_extend_up(struct osr_spf *s, uint32_t root, uint8_t *hop)
{
	const struct osr_fabric *f = s->f;
	struct osr_spf_scratch *w = s->scratch;
	uint32_t *len = w->count;
	bool all = true;

	for (uint32_t i = 0; i < f->n_switches; i++) {
		uint32_t v = s->by_place[i], best = OSR_NONE;

		if (w->kind[v] != PATH_NONE || f->sw_component[v] != f->sw_component[root])
			continue;
		for (uint32_t c = f->chan_row[v]; c < f->chan_row[v + 1]; c++) {
			uint32_t u = f->chan_dst[c];

			if (s->place[u] < s->place[v] && w->kind[u] != PATH_NONE &&
			    (best == OSR_NONE || len[u] < len[f->chan_dst[best]]))
				best = c;
		}
		all &= best != OSR_NONE;
		if (best == OSR_NONE)
			continue;
		w->kind[v] = PATH_UP;
		len[v] = len[f->chan_dst[best]] + 1;
		hop[v] = (uint8_t)(best - f->chan_row[v]);
	}
	return all;
}

bool osr_spf_complete_order(struct osr_spf *s, uint32_t *n_longer)
{
	const struct osr_fabric *f = s->f;
	uint8_t *hop = s->scratch->saved, *none = s->scratch->saved + f->n_switches;
	bool all = true;

	for (uint32_t root = 0; root < f->n_switches; root++) {
		uint32_t n = 0;

		osr__spf_graph_in_order(s, root);
		for (uint32_t v = 0; v < f->n_switches; v++)
			n += none[v] = f->sw_component[v] == f->sw_component[root] &&
				       s->scratch->kind[v] == PATH_NONE;
		if (!n)
			continue;
		order_extend_down(s, root, hop);
		all &= order_extend_up(s, root, hop);
		for (uint32_t k = s->dest_row[root]; k < s->dest_row[root + 1]; k++)
			for (uint32_t v = 0; v < f->n_switches; v++)
				if (none[v])
					s->hop[(size_t)s->dest_list[k] * f->n_switches + v] = hop[v];
		*n_longer += n * (s->dest_row[root + 1] - s->dest_row[root]);
	}
	return all;
}

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Reach: sets of switches as bits, joined over links. A whole family costs one
 * pass over the channels with n/64 operations each.
 */
#include "dmodk.h"

static void reach_join(uint64_t *restrict to, const uint64_t *restrict from, size_t words)
{
	for (size_t i = 0; i < words; i++)
		to[i] |= from[i];
}

static void join_without(uint64_t *restrict to, const uint64_t *restrict from,
			 const uint64_t *restrict but, size_t words)
{
	for (size_t i = 0; i < words; i++)
		to[i] |= from[i] & ~but[i];
}

/* Down: a switch reaches itself and what its children reach. */
static void reach_down(struct dmodk *m, uint32_t l)
{
	const struct osr_fabric *fabric = m->f;

	for (uint32_t s = 0; s < m->n; s++) {
		uint64_t *set = row_of(m, m->reach[l], s);
		uint32_t last = OSR_NONE;

		if (m->p->sw_level[s] != l)
			continue;
		set[s / 64] |= UINT64_C(1) << (s % 64);
		for (uint32_t c = fabric->chan_row[s]; c < fabric->chan_row[s + 1]; c++) {
			uint32_t t = fabric->chan_dst[c];

			if (t == last || !osr_tree_order_is_up(&m->o, fabric->chan_rev[c]))
				continue;
			reach_join(set, row_of(m, m->reach[l - 1], t), m->words);
			last = t;
		}
	}
}

/*
 * A switch that is held from below must not send to where its holders lead: the holders would be
 * asked to turn from down to up. (In a parallel-ports fat tree there is one holder, and it never
 * asks.)
 */
static void find_barred(struct dmodk *m)
{
	const struct osr_fabric *fabric = m->f;

	for (uint32_t c = 0; c < fabric->n_channels; c++) {
		uint32_t s = fabric->chan_src[c], u = fabric->chan_dst[c];

		if (osr_tree_order_is_up(&m->o, c) && osr_tree_order_anchors(&m->o, s, u))
			reach_join(row_of(m, m->barred, u),
				   row_of(m, m->reach[m->p->sw_level[s]], s), m->words);
	}
}

/* Up from level l, turning on levels up to k. */
static void reach_up(struct dmodk *m, uint32_t l, uint32_t k)
{
	const struct osr_fabric *fabric = m->f;

	for (uint32_t s = 0; s < m->n; s++) {
		uint64_t *set = row_of(m, m->reach[k], s);
		uint32_t last = OSR_NONE;

		if (m->p->sw_level[s] != l || tree_of(m, s)->h < k)
			continue;
		reach_join(set, row_of(m, m->reach[k - 1], s), m->words);
		for (uint32_t c = fabric->chan_row[s]; c < fabric->chan_row[s + 1]; c++) {
			uint32_t u = fabric->chan_dst[c];

			if (u == last || !osr_tree_order_is_up(&m->o, c))
				continue;
			if (osr_tree_order_anchors(&m->o, s, u))
				join_without(set, row_of(m, m->reach[k], u),
					     row_of(m, m->barred, u), m->words);
			else
				reach_join(set, row_of(m, m->reach[k], u), m->words);
			last = u;
		}
	}
}

enum osr_status find_reach(struct dmodk *m)
{
	m->words = ((size_t)m->n + 63) / 64;
	for (uint32_t k = 1; k <= m->h; k++)
		m->reach[k] = osr_calloc(m->scratch, m->n * m->words, sizeof(uint64_t));
	m->barred = osr_calloc(m->scratch, m->n * m->words, sizeof(uint64_t));
	if (osr_arena_failed(m->scratch, m->diag))
		return OSR_NOMEM;
	for (uint32_t l = 1; l <= m->h; l++)
		reach_down(m, l);
	find_barred(m);
	for (uint32_t k = 2; k <= m->h; k++)
		for (uint32_t l = k - 1; l >= 1; l--)
			reach_up(m, l, k);
	return OSR_OK;
}

/* One link farther than ball[d - 1], over all links of the fabric. False if nothing was new. */
static bool grow_balls(struct dmodk *m, uint32_t d)
{
	const struct osr_fabric *fabric = m->f;
	size_t n = m->n * m->words;

	memcpy(m->ball[d], m->ball[d - 1], n * sizeof(uint64_t));
	for (uint32_t s = 0; s < m->n; s++) {
		uint32_t last = OSR_NONE;

		for (uint32_t c = fabric->chan_row[s]; c < fabric->chan_row[s + 1]; c++) {
			if (fabric->chan_dst[c] == last)
				continue;
			last = fabric->chan_dst[c];
			reach_join(row_of(m, m->ball[d], s), row_of(m, m->ball[d - 1], last),
				   m->words);
		}
	}
	return memcmp(m->ball[d], m->ball[d - 1], n * sizeof(uint64_t)) != 0;
}

enum osr_status find_balls(struct dmodk *m)
{
	for (uint32_t d = 0; d < MAX_BALLS; d++) {
		m->ball[d] = osr_calloc(m->scratch, m->n * m->words, sizeof(uint64_t));
		if (osr_arena_failed(m->scratch, m->diag))
			return OSR_NOMEM;
		m->n_balls = d + 1;
		if (d > 0 && !grow_balls(m, d))
			return OSR_OK;
		for (uint32_t s = 0; d == 0 && s < m->n; s++)
			m->ball[0][(size_t)s * m->words + s / 64] |= UINT64_C(1) << (s % 64);
	}
	return osr_fail(m->diag, OSR_NOT_APPLICABLE,
			"not a fat tree: two switches are more than %u links apart", MAX_BALLS - 1);
}

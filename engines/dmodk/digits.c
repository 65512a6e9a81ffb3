/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Which top switch a dest belongs to: the up-port that packets to it take on each level. By
 * equation (1), unless the way down from there is broken. Then the dest moves, for all sources
 * alike, to what the rule gives, modulo the ports that are left; and where a source lacks the
 * up-port, that source alone does so. Flows that come together so are parted in part.c.
 */
#include "dmodk.h"

/* Dests ---------------------------------------------------------------------------------------- */

/*
 * Hosts have their index. A service port on a leaf takes a slot from the last one downwards, port 0
 * that of the first host. Above the leaves, sub-tree, place and port make a number that spreads.
 * The LIDs of one port count up, and so take different spines.
 */
static uint32_t index_of(struct dmodk *m, uint32_t d)
{
	const struct osr_fabric *fabric = m->f;
	uint32_t t = fabric->dest_term[d], s = m->host[fabric->dest_switch[d]];
	uint32_t offset = fabric->dest_lid[d] - fabric->term_lid[t],
		 nth = t - fabric->term_row[fabric->term_switch[t]];
	const struct osr_pgft_tree *tree;

	if (!m->p->sw_level[s])
		return offset;
	tree = tree_of(m, s);
	if (m->p->term_index[t] != OSR_NONE)
		return m->p->term_index[t] + offset;
	if (m->p->sw_level[s] == 1)
		return m->p->sw_a[s] * tree->m[1] + offset +
		       (fabric->term_port[t] ? tree->m[1] - 1 - nth % tree->m[1] : 0);
	return m->p->sw_a[s] * tree->m_product[m->p->sw_level[s]] + m->p->sw_b[s] + nth + offset;
}

enum osr_status list_dests(struct dmodk *m)
{
	const struct osr_fabric *fabric = m->f;

	m->dest_row = osr_calloc(m->scratch, (size_t)m->n + 1, sizeof(*m->dest_row));
	m->dest_list = osr_alloc(m->scratch, fabric->n_dests, sizeof(*m->dest_list));
	m->index = osr_alloc(m->scratch, fabric->n_dests, sizeof(*m->index));
	m->below = osr_calloc(m->scratch, m->n, sizeof(*m->below));
	m->host = osr_alloc(m->scratch, m->n, sizeof(*m->host));
	if (osr_arena_failed(m->scratch, m->diag))
		return OSR_NOMEM;
	for (uint32_t s = 0; s < m->n; s++) {
		uint32_t c = fabric->chan_row[s];

		m->host[s] = s;
		if (!m->p->sw_level[s] && c < fabric->chan_row[s + 1] &&
		    m->p->sw_level[fabric->chan_dst[c]])
			m->host[s] = fabric->chan_dst[c];
		m->below[m->host[s]]++;
	}
	for (uint32_t d = 0; d < fabric->n_dests; d++) {
		m->dest_row[m->host[fabric->dest_switch[d]]]++;
		m->index[d] = index_of(m, d);
	}
	for (uint32_t s = 0; s < m->n; s++)
		m->dest_row[s + 1] += m->dest_row[s];
	for (uint32_t d = fabric->n_dests; d-- > 0;)
		m->dest_list[--m->dest_row[m->host[fabric->dest_switch[d]]]] = d;
	return OSR_OK;
}

/*
 * Equation (1), q_1 .. q_(h-1), for a dest behind switch x. Below the level of x the parent's digit
 * is that of x, and only the cable is free.
 */
void default_slots(const struct dmodk *m, uint32_t x, uint32_t index, uint16_t *slot)
{
	const struct osr_pgft_tree *tree = tree_of(m, x);

	for (uint32_t l = 1; l < tree->h; l++) {
		uint32_t w = tree->w[l + 1], p = tree->p[l + 1], i = index / tree->w_product[l];

		slot[l] = (uint16_t)(l >= m->p->sw_level[x]
					     ? i % (w * p)
					     : m->p->sw_b[x] / tree->w_product[l] % w + i % p * w);
	}
}

/*
 * What the rule gives where a port of level l is missing, modulo what is left: the index's next
 * digit, so that dests of this port spread; its own digit and the lower ones, so that dests of one
 * switch do, even if some of them have moved here.
 */
uint32_t next_rule(const struct osr_pgft_tree *tree, uint32_t index, uint32_t l)
{
	uint32_t wp = tree->w[l + 1] * tree->p[l + 1], i = index / tree->w_product[l];

	return i / wp + i % wp + index % tree->w_product[l];
}

/* A dest of switch x keeps what is there of its own way, from the bottom up. */
static void move_dest(struct dmodk *m, uint32_t x, uint32_t d)
{
	uint16_t *slot = m->slot + (size_t)d * m->stride;
	uint32_t s = x, h = tree_of(m, x)->h;

	for (uint32_t l = m->p->sw_level[x]; l < h; l++) {
		const uint32_t *up = m->p->up + m->p->up_row[s];
		uint32_t n = 0, nth;

		for (uint32_t q = 0; up[slot[l]] == OSR_NONE && q < osr_pgft_n_up(m->p, s); q++)
			n += up[q] != OSR_NONE;
		nth = n ? next_rule(tree_of(m, x), m->index[d], l) % n : 0;
		for (uint16_t q = 0; n; q++) {
			n -= up[q] != OSR_NONE;
			if (up[q] != OSR_NONE && nth-- == 0) {
				slot[l] = q;
				break;
			}
		}
		if (up[slot[l]] == OSR_NONE)
			return;
		s = m->f->chan_dst[up[slot[l]]];
	}
}

enum osr_status find_slots(struct dmodk *m)
{
	m->stride = m->h + 1;
	m->slot = osr_calloc(m->scratch, (size_t)m->f->n_dests * m->stride, sizeof(*m->slot));
	if (osr_arena_failed(m->scratch, m->diag))
		return OSR_NOMEM;
	for (uint32_t d = 0; d < m->f->n_dests; d++) {
		uint32_t x = m->host[m->f->dest_switch[d]];

		if (!m->p->sw_level[x])
			continue;
		default_slots(m, x, m->index[d], m->slot + (size_t)d * m->stride);
		if (m->p->sw_level[x] == 1)
			move_dest(m, x, d);
	}
	return OSR_OK;
}

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Pairs of switches without a way up and then down: tops of different planes, and what missing
 * links have cut off. Where packets travel (check.h: from or to a CA or router), the route goes up
 * the order until it meets a switch that knows a way, at the latest the root, which leads down the
 * chain of first parents to the dest. Where none do, between bare switches, the shortest way is
 * good enough.
 */
#include "dmodk.h"

#include <assert.h>

struct search {
	struct dmodk *m;
	uint8_t *sends;  /* [n] end ports send through s */
	uint8_t *asked;  /* [n] X has a LID of a CA or router */
	uint32_t *first; /* [n] channel to the highest neighbour above in the order, or OSR_NONE */
	uint32_t *down;  /* [n] channel along the chain to X, if stamp says so */
	uint32_t *stamp; /* [n] */
	uint8_t *last;   /* [n] hop that was right for the X before */
	uint32_t *list;  /* [n] switches without a way to X */
};

/* The senders of a switch: one outside sends through the one it is attached to. */
static enum osr_status escape_begin(struct search *e)
{
	struct dmodk *m = e->m;
	size_t n = m->n;

	m->escape = osr_alloc(m->scratch, n * n, 1);
	e->sends = osr_calloc(m->scratch, n, 1);
	e->asked = osr_calloc(m->scratch, n, 1);
	e->first = osr_alloc(m->scratch, n, sizeof(*e->first));
	e->down = osr_alloc(m->scratch, n, sizeof(*e->down));
	e->stamp = osr_alloc(m->scratch, n, sizeof(*e->stamp));
	e->last = osr_calloc(m->scratch, n, 1);
	e->list = osr_alloc(m->scratch, n, sizeof(*e->list));
	m->walk = osr_calloc(m->scratch, n, 1);
	if (osr_arena_failed(m->scratch, m->diag))
		return OSR_NOMEM;
	memset(m->escape, OSR_NO_PATH, n * n);
	memset(e->stamp, 0xff, n * sizeof(*e->stamp));
	for (uint32_t s = 0; s < m->n; s++)
		e->sends[m->host[s]] |= m->f->sw_sources[s] > 0;
	for (uint32_t d = 0; d < m->f->n_dests; d++)
		e->asked[m->host[m->f->dest_switch[d]]] |=
			m->f->term_weight[m->f->dest_term[d]] > 0;
	return OSR_OK;
}

/* Does no way up and then down lead from s to X, where some other way does? */
static bool is_bad(const struct dmodk *m, uint32_t s, uint32_t x)
{
	if (s == x || m->host[s] != s || m->f->sw_component[s] != m->f->sw_component[x])
		return false;
	return !m->p->sw_level[s] || !has(m, m->reach[tree_of(m, s)->h], s, x);
}

/* The order ------------------------------------------------------------------------------------ */

static void find_firsts(struct search *e)
{
	const struct dmodk *m = e->m;
	const struct osr_fabric *fabric = m->f;

	for (uint32_t s = 0; s < m->n; s++) {
		uint32_t best = m->o.number[s];

		e->first[s] = OSR_NONE;
		for (uint32_t c = fabric->chan_row[s]; c < fabric->chan_row[s + 1]; c++)
			if (m->o.number[fabric->chan_dst[c]] < best) {
				best = m->o.number[fabric->chan_dst[c]];
				e->first[s] = c;
			}
	}
}

/* The n-th channel upwards in the order, counted around; there is one. */
static uint32_t nth_up(const struct search *e, uint32_t s, uint32_t nth)
{
	const struct dmodk *m = e->m;
	const struct osr_fabric *fabric = m->f;
	uint32_t n = 0;

	for (uint32_t c = fabric->chan_row[s]; c < fabric->chan_row[s + 1]; c++)
		n += m->o.number[fabric->chan_dst[c]] < m->o.number[s] &&
		     m->host[fabric->chan_dst[c]] == fabric->chan_dst[c];
	assert(n);
	nth %= n;
	for (uint32_t c = fabric->chan_row[s]; c < fabric->chan_row[s + 1]; c++)
		if (m->o.number[fabric->chan_dst[c]] < m->o.number[s] &&
		    m->host[fabric->chan_dst[c]] == fabric->chan_dst[c] && nth-- == 0)
			return c;
	return OSR_NONE;
}

/* Do all ways from s to X, which there are, go down the order? */
static bool descends(const struct search *e, uint32_t s, uint32_t x)
{
	const struct dmodk *m = e->m;
	const struct osr_fabric *fabric = m->f;
	uint32_t l = m->p->sw_level[s], k = turn_level(m, s, x);

	for (uint32_t c = fabric->chan_row[s]; c < fabric->chan_row[s + 1]; c++) {
		uint32_t t = fabric->chan_dst[c];

		if (k == l && osr_tree_order_is_up(&m->o, fabric->chan_rev[c]) &&
		    has(m, m->reach[l - 1], t, x) && osr_tree_order_anchors(&m->o, t, s))
			return false;
		if (k > l && osr_tree_order_is_up(&m->o, c) && may_go_up(m, s, t, k, x) &&
		    !osr_tree_order_anchors(&m->o, s, t))
			return false;
	}
	return true;
}

static uint8_t *escape_of(const struct search *e, uint32_t s, uint32_t x)
{
	return &e->m->escape[(size_t)x * e->m->n + s];
}

/* From X up to the root. What knows a way that leads up first is told to go down the chain. */
static void find_chain(struct search *e, uint32_t x)
{
	struct dmodk *m = e->m;
	const struct osr_fabric *fabric = m->f;

	for (uint32_t s = x; e->first[s] != OSR_NONE;) {
		uint32_t c = fabric->chan_rev[e->first[s]];

		s = fabric->chan_src[c];
		e->down[s] = c;
		e->stamp[s] = x;
		if (!is_bad(m, s, x) && !descends(e, s, x))
			*escape_of(e, s, x) = fabric->chan_port[c];
	}
}

/* Every switch on the path of a careful route is careful as well. */
static void keep_to_order(struct search *e, uint32_t s, uint32_t x)
{
	struct dmodk *m = e->m;

	while (is_bad(m, s, x) && *escape_of(e, s, x) == OSR_NO_PATH) {
		uint32_t c = e->stamp[s] == x ? e->down[s] : nth_up(e, s, x);

		*escape_of(e, s, x) = m->f->chan_port[c];
		s = m->f->chan_dst[c];
	}
}

/* Shortest ways -------------------------------------------------------------------------------- */

static uint32_t escape_distance(const struct dmodk *m, uint32_t s, uint32_t x)
{
	uint32_t d = 0;

	while (!has(m, m->ball[d], s, x))
		d++;
	return d;
}

static void escape_go_straight(struct search *e, uint32_t s, uint32_t x)
{
	struct dmodk *m = e->m;
	const struct osr_fabric *fabric = m->f;
	const uint64_t *closer = m->ball[escape_distance(m, s, x) - 1];
	uint32_t row = fabric->chan_row[s], n = fabric->chan_row[s + 1] - row, hop = e->last[s];

	while (!has(m, closer, fabric->chan_dst[row + hop], x))
		hop = hop + 1 < n ? hop + 1 : 0;
	e->last[s] = (uint8_t)hop;
	*escape_of(e, s, x) = fabric->chan_port[row + hop];
}

/* Routes that packets take keep to the order; the others are as short as they can be. */
static void escape_to(struct search *e, uint32_t x)
{
	struct dmodk *m = e->m;
	uint32_t n = 0;
	bool careful = false;

	if (m->dest_row[x] == m->dest_row[x + 1])
		return;
	for (uint32_t s = 0; s < m->n; s++)
		if (is_bad(m, s, x)) {
			e->list[n++] = s;
			careful |= e->sends[s] || e->asked[x];
		}
	/* Where the tree is whole the others are as short as they can be. */
	m->walk[x] = careful || !m->p->sw_level[x] || !is_whole(tree_of(m, x));
	if (careful)
		find_chain(e, x);
	for (uint32_t i = 0; i < n; i++)
		if (e->sends[e->list[i]] || e->asked[x])
			keep_to_order(e, e->list[i], x);
	for (uint32_t i = 0; i < n; i++)
		if (*escape_of(e, e->list[i], x) == OSR_NO_PATH)
			escape_go_straight(e, e->list[i], x);
}

enum osr_status find_escapes(struct dmodk *m)
{
	struct search e = { .m = m };
	enum osr_status st = escape_begin(&e);

	if (st)
		return st;
	find_firsts(&e);
	/* Places first to last, so that what was right for one dest is likely right for the next. */
	for (uint32_t i = 0; i < m->p->n_trees; i++)
		for (uint32_t l = 1; l <= m->p->tree[i].h; l++) {
			const struct osr_pgft_tree *tree = &m->p->tree[i];
			uint32_t n =
				tree->m_product[tree->h] / tree->m_product[l] * tree->w_product[l];

			for (uint32_t k = 0; k < n; k++) {
				uint32_t x = tree->place[l][k];

				if (x != OSR_NONE &&
				    m->p->sw_a[x] * tree->w_product[l] + m->p->sw_b[x] == k)
					escape_to(&e, x);
			}
		}
	for (uint32_t x = 0; x < m->n; x++)
		if (!m->p->sw_level[x] && m->host[x] == x)
			escape_to(&e, x);
	return OSR_OK;
}

/* Longer routes -------------------------------------------------------------------------------- */

enum osr_status count_longer(struct dmodk *m, uint64_t *n_longer)
{
	uint32_t *length = osr_alloc(m->scratch, m->n, sizeof(*length));
	uint32_t *path = osr_alloc(m->scratch, m->n, sizeof(*path));

	*n_longer = 0;
	if (osr_arena_failed(m->scratch, m->diag))
		return OSR_NOMEM;
	for (uint32_t x = 0; x < m->n; x++) {
		uint32_t n_lids = m->dest_row[x + 1] - m->dest_row[x];
		const uint8_t *row;

		if (!m->walk[x] || !n_lids)
			continue;
		row = m->r->lft + (size_t)m->dest_list[m->dest_row[x]] * m->n;
		memset(length, 0xff, m->n * sizeof(*length));
		length[x] = 0;
		for (uint32_t s = 0; s < m->n; s++) {
			uint32_t n = 0, v;

			if (m->host[s] != s || m->f->sw_component[s] != m->f->sw_component[x])
				continue;
			/* Along the finished tables up to what is known; then back. */
			for (v = s; length[v] == OSR_NONE;
			     v = m->f->chan_dst[osr_port_channel(m->f, v, row[v])])
				path[n++] = v;
			for (uint32_t k = length[v]; n > 0;)
				length[path[--n]] = ++k;
			if (length[s] > escape_distance(m, s, x))
				*n_longer += (uint64_t)n_lids * m->below[s];
		}
	}
	return OSR_OK;
}

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
	uint64_t *bad;     /* rows of bits: no way from s to X */
	uint64_t *careful; /* rows of bits: of these, those that keep to the order */
	uint64_t *any;     /* [words] X that are bad from somewhere */
	uint64_t *hosts;   /* [words] X with a LID of a CA or router */
	uint32_t *first; /* [n] channel to the highest neighbour above in the order, or OSR_NONE */
	uint32_t *down;  /* [n] channel along the chain to X, if stamp says so */
	uint32_t *stamp; /* [n] */
	uint8_t *last;   /* [n] hop that was right for the X before */
	uint8_t *walk;   /* [n] routes to X may be longer than they need be */
};

static enum osr_status escape_no_memory(struct dmodk *m)
{
	return osr_fail(m->diag, OSR_NOMEM, "out of memory for routes outside the tree");
}

static enum osr_status escape_begin(struct search *e)
{
	struct dmodk *m = e->m;
	size_t n = m->n;

	m->escape = osr_alloc(m->scratch, n * n, 1);
	e->bad = osr_calloc(m->scratch, n * m->words, sizeof(*e->bad));
	e->careful = osr_calloc(m->scratch, n * m->words, sizeof(*e->careful));
	e->any = osr_calloc(m->scratch, m->words, sizeof(*e->any));
	e->hosts = osr_calloc(m->scratch, m->words, sizeof(*e->hosts));
	e->first = osr_alloc(m->scratch, n, sizeof(*e->first));
	e->down = osr_alloc(m->scratch, n, sizeof(*e->down));
	e->stamp = osr_alloc(m->scratch, n, sizeof(*e->stamp));
	e->last = osr_calloc(m->scratch, n, 1);
	m->walk = osr_calloc(m->scratch, n, 1);
	e->walk = m->walk;
	if (!m->escape || !e->bad || !e->careful || !e->any || !e->hosts || !e->first || !e->down ||
	    !e->stamp || !e->last || !e->walk)
		return escape_no_memory(m);
	memset(m->escape, OSR_NO_PATH, n * n);
	memset(e->stamp, 0xff, n * sizeof(*e->stamp));
	return OSR_OK;
}

/* The senders of a switch: one outside sends through the one it is attached to. */
static void find_pairs(struct search *e, uint8_t *sends, uint64_t *placed)
{
	struct dmodk *m = e->m;
	const struct osr_fabric *fabric = m->f;
	const uint64_t *last = m->ball[m->n_balls - 1];

	for (uint32_t s = 0; s < m->n; s++) {
		sends[m->host[s]] |= fabric->sw_sources[s] > 0;
		if (m->host[s] == s)
			placed[s / 64] |= UINT64_C(1) << (s % 64);
	}
	for (uint32_t d = 0; d < fabric->n_dests; d++)
		if (fabric->term_weight[fabric->dest_term[d]]) {
			uint32_t x = m->host[fabric->dest_switch[d]];

			e->hosts[x / 64] |= UINT64_C(1) << (x % 64);
		}
	for (uint32_t s = 0; s < m->n; s++) {
		uint64_t *bad = row_of(m, e->bad, s), *careful = row_of(m, e->careful, s);
		const uint64_t *reach;

		if (m->host[s] != s)
			continue;
		reach = row_of(m, m->p->sw_level[s] ? m->reach[tree_of(m, s)->h] : m->ball[0], s);
		for (size_t i = 0; i < m->words; i++) {
			bad[i] = last[(size_t)s * m->words + i] & placed[i] & ~reach[i];
			careful[i] = sends[s] ? bad[i] : bad[i] & e->hosts[i];
			e->any[i] |= bad[i];
		}
	}
}

/* Routes of the tree that are longer than the shortest: whose dests have any gets walked. */
static void find_longer(struct search *e)
{
	struct dmodk *m = e->m;

	for (uint32_t s = 0; s < m->n; s++) {
		uint32_t l = m->p->sw_level[s], h = l ? tree_of(m, s)->h : 0;

		for (uint32_t k = l + 1; l && k <= h; k++) {
			const uint64_t *now = row_of(m, m->reach[k], s);
			const uint64_t *before = row_of(m, m->reach[k - 1], s);

			for (uint32_t lx = 1; lx <= k; lx++) {
				uint32_t length = 2 * k - l - lx;
				const uint64_t *near;

				if (length > m->n_balls)
					continue;
				near = row_of(m, m->ball[length - 1], s);
				for (size_t i = 0; i < m->words; i++) {
					uint64_t x = now[i] & ~before[i] & near[i] &
						     m->on_level[lx * m->words + i];

					for (; x; x &= x - 1)
						e->walk[64 * i + (size_t)__builtin_ctzll(x)] = 1;
				}
			}
		}
	}
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
		if (!has(m, e->bad, s, x) && !descends(e, s, x))
			*escape_of(e, s, x) = fabric->chan_port[c];
	}
}

static uint32_t careful_hop(const struct search *e, uint32_t s, uint32_t x)
{
	return e->stamp[s] == x ? e->down[s] : nth_up(e, s, x);
}

/* Every switch on the path of a careful route is careful as well. */
static void keep_to_order(struct search *e, uint32_t s, uint32_t x)
{
	struct dmodk *m = e->m;

	while (s != x && has(m, e->bad, s, x) && *escape_of(e, s, x) == OSR_NO_PATH) {
		uint32_t c = careful_hop(e, s, x);

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

static void escape_to(struct search *e, uint32_t x, uint32_t *list)
{
	struct dmodk *m = e->m;
	uint32_t n = 0, n_careful = 0;

	if (!(e->any[x / 64] >> (x % 64) & 1) || m->dest_row[x] == m->dest_row[x + 1])
		return;
	for (uint32_t s = 0; s < m->n; s++) {
		if (!has(m, e->bad, s, x))
			continue;
		list[n++] = s;
		n_careful += has(m, e->careful, s, x);
	}
	if (n_careful) {
		e->walk[x] = 1;
		find_chain(e, x);
		for (uint32_t i = 0; i < n; i++)
			if (has(m, e->careful, list[i], x))
				keep_to_order(e, list[i], x);
	}
	for (uint32_t i = 0; i < n; i++)
		if (*escape_of(e, list[i], x) == OSR_NO_PATH)
			escape_go_straight(e, list[i], x);
}

enum osr_status find_escapes(struct dmodk *m)
{
	struct search e = { .m = m };
	uint32_t *list = osr_alloc(m->scratch, m->n, sizeof(*list));
	uint64_t *placed = osr_calloc(m->scratch, m->words, sizeof(*placed));
	uint8_t *sends = osr_calloc(m->scratch, m->n, 1);
	enum osr_status st = escape_begin(&e);

	if (st || !list || !placed || !sends)
		return st ? st : escape_no_memory(m);
	find_pairs(&e, sends, placed);
	find_longer(&e);
	find_firsts(&e);
	/* Places first to last, so that what was right for one dest is likely right for the next. */
	for (uint32_t i = 0; i < m->p->n_trees; i++)
		for (uint32_t l = 1; l <= m->p->tree[i].h; l++) {
			const struct osr_pgft_tree *pgft_tree = &m->p->tree[i];
			uint32_t n = pgft_tree->m_product[pgft_tree->h] / pgft_tree->m_product[l] *
				     pgft_tree->w_product[l];

			for (uint32_t k = 0; k < n; k++) {
				uint32_t x = pgft_tree->place[l][k];

				if (x != OSR_NONE &&
				    m->p->sw_a[x] * pgft_tree->w_product[l] + m->p->sw_b[x] == k)
					escape_to(&e, x, list);
			}
		}
	for (uint32_t x = 0; x < m->n; x++)
		if (!m->p->sw_level[x] && m->host[x] == x)
			escape_to(&e, x, list);
	return OSR_OK;
}

/* Longer routes -------------------------------------------------------------------------------- */

/* Links from s to the dest by the finished tables; length[] is filled along the way. */
static uint32_t escape_walk(const struct dmodk *m, uint32_t s, const uint8_t *row, uint32_t *length,
			    uint32_t *path)
{
	uint32_t n = 0;

	while (length[s] == OSR_NONE) {
		path[n++] = s;
		s = m->f->chan_dst[osr_port_channel(m->f, s, row[s])];
	}
	for (uint32_t k = length[s]; n > 0;)
		length[path[--n]] = ++k;
	return 0;
}

enum osr_status count_longer(struct dmodk *m, uint64_t *n_longer)
{
	uint32_t *length = osr_alloc(m->scratch, m->n, sizeof(*length));
	uint32_t *path = osr_alloc(m->scratch, m->n, sizeof(*path));

	*n_longer = 0;
	if (!length || !path)
		return escape_no_memory(m);
	for (uint32_t x = 0; x < m->n; x++) {
		uint32_t n_lids = m->dest_row[x + 1] - m->dest_row[x];
		const uint8_t *row;

		if (!m->walk[x] || !n_lids)
			continue;
		row = m->r->lft + (size_t)m->dest_list[m->dest_row[x]] * m->n;
		memset(length, 0xff, m->n * sizeof(*length));
		length[x] = 0;
		for (uint32_t s = 0; s < m->n; s++) {
			if (m->host[s] != s || !has(m, m->ball[m->n_balls - 1], s, x))
				continue;
			escape_walk(m, s, row, length, path);
			if (length[s] > escape_distance(m, s, x))
				*n_longer += (uint64_t)n_lids * m->below[s];
		}
	}
	return OSR_OK;
}

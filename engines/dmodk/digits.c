/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Which top switch a dest belongs to: the up-port that packets to it take on each level. By
 * equation (1), unless the way down from there is broken. Then the dest moves, for all sources
 * alike, to another top with a way down to it; and where a source lacks the up-port, that source
 * alone takes another one.
 *
 * Both choices begin with the one that the rule makes, applied to what is left, and then look for a
 * better one: two dests that moved to the same link are one flow too many there. How many meet on
 * a link is told for shifts in node order: a switch of level l sends to dests whose indices
 * lie within m_1 .. m_l of each other, and down a link go as many flows as it has dests.
 */
#include <stdlib.h>

#include "dmodk.h"

/* A way without a link costs more than any number of flows that may meet. */
#define BROKEN 1000

static enum osr_status digits_no_memory(struct dmodk *m)
{
	return osr_fail(m->diag, OSR_NOMEM, "out of memory for the digits of %u LIDs",
			m->f->n_dests);
}

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
	if (!m->dest_row || !m->dest_list || !m->index || !m->below || !m->host)
		return digits_no_memory(m);
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
	const struct osr_pgft_tree *pgft_tree = tree_of(m, x);

	for (uint32_t l = 1; l < pgft_tree->h; l++) {
		uint32_t w = pgft_tree->w[l + 1], p = pgft_tree->p[l + 1],
			 i = index / pgft_tree->w_product[l];

		slot[l] = (uint16_t)(l >= m->p->sw_level[x]
					     ? i % (w * p)
					     : m->p->sw_b[x] / pgft_tree->w_product[l] % w +
						       i % p * w);
	}
}

/* What meets ----------------------------------------------------------------------------------- */

/* Before dest `a`: by tree, LID offset, index and LID. */
static bool is_before(const struct moved *a, const struct moved *b)
{
	if (a->tree != b->tree)
		return a->tree < b->tree;
	if (a->offset != b->offset)
		return a->offset < b->offset;
	return a->index != b->index ? a->index < b->index : a->dest < b->dest;
}

static int compare_moved(const void *x, const void *y)
{
	return is_before(x, y) ? -1 : is_before(y, x);
}

/* The first of the moved dests that is not before this index. */
static uint32_t first_moved(const struct dmodk *m, uint32_t tree, uint32_t offset, uint32_t index)
{
	struct moved key = { .tree = tree, .offset = offset, .index = index };
	uint32_t from = 0, to = m->n_moved;

	while (from < to) {
		uint32_t mid = (from + to) / 2;

		if (is_before(&m->moved[mid], &key))
			from = mid + 1;
		else
			to = mid;
	}
	return from;
}

static bool same_ports(const uint16_t *a, const uint16_t *b, uint32_t l)
{
	return !memcmp(a + 1, b + 1, l * sizeof(*a));
}

/*
 * Flows that a flow to `index` along ports slot[1..l] meets on the l-th link upwards: the one that
 * belongs there, unless it is this one or has moved away, and those that moved there.
 */
static uint32_t met_upwards(const struct dmodk *m, uint32_t x, uint32_t d, const uint16_t *slot,
			    uint32_t l)
{
	const struct osr_pgft_tree *pgft_tree = tree_of(m, x);
	uint32_t index = m->index[d], window = pgft_tree->m_product[l], offset = lid_offset(m, d);
	uint16_t own[OSR_PGFT_MAX_LEVELS + 1];
	uint32_t i = first_moved(m, m->p->sw_tree[x], offset,
				 index + 1 > window ? index + 1 - window : 0);
	int n;

	default_slots(m, x, index, own);
	n = !same_ports(own, slot, l);
	for (; i < m->n_moved; i++) {
		const struct moved *o = &m->moved[i];

		if (o->tree != m->p->sw_tree[x] || o->offset != offset ||
		    o->index >= index + window)
			break;
		if (o->dest == d)
			continue;
		n += same_ports(m->slot + (size_t)o->dest * m->stride, slot, l);
		n -= same_ports(o->own, slot, l);
	}
	return n > 0 ? (uint32_t)n : 0;
}

/*
 * Those that switch u, for lack of their own port, sends over the port that `slot` has on its
 * level: one in m_1 .. m_l indices for each such port. Entries of u must be final.
 */
static uint32_t met_diverted(const struct dmodk *m, uint32_t x, uint32_t d, uint32_t u,
			     const uint16_t *slot)
{
	const struct osr_pgft_tree *pgft_tree = tree_of(m, u);
	const uint32_t *up = m->p->up + m->p->up_row[u], *at = m->dest_at[m->p->sw_tree[u]];
	uint32_t l = m->p->sw_level[u], n = 0, index = m->index[d], offset = lid_offset(m, d);
	uint32_t wp = osr_pgft_n_up(m->p, u), period = pgft_tree->w_product[l] * wp;
	uint32_t window = pgft_tree->m_product[l];

	for (uint32_t i = m->dead_row[u]; at && i < m->dead_row[u + 1]; i++) {
		uint32_t first = m->p->sw_b[u] + pgft_tree->w_product[l] * m->dead[i];
		uint32_t j = first + (index > first ? (index - first) / period * period : 0);

		for (; j < index + window && j < pgft_tree->m_product[pgft_tree->h]; j += period) {
			uint32_t e = at[j] == OSR_NONE ? OSR_NONE : at[j] + offset;

			/* A host of a smaller LMC has no such LID; the next one is another host's. */
			if (e >= m->f->n_dests || m->f->dest_term[e] != m->f->dest_term[at[j]])
				continue;
			if (e == d || j + window <= index ||
			    !same_ports(m->slot + (size_t)e * m->stride, slot, l - 1) ||
			    slot_of(m, e, l) != m->dead[i])
				continue;
			n += m->r->lft[(size_t)e * m->n + u] == m->f->chan_port[up[slot[l]]];
		}
	}
	return n;
}

static uint32_t digits_square(uint32_t n)
{
	return n * n;
}

/*
 * What a way to x by these ports costs: upwards from level `from` and down again, turning on level
 * `to`. It begins at switch `at`, or OSR_NONE for all sources alike.
 */
static uint32_t digits_cost_of(const struct dmodk *m, uint32_t at, uint32_t x, uint32_t d,
			       const uint16_t *slot, uint32_t from, uint32_t to)
{
	uint32_t cost = 0, s = x, u = at;

	for (uint32_t l = from; l < to; l++) {
		uint32_t n = met_upwards(m, x, d, slot, l);

		if (u != OSR_NONE && l > from) {
			u = m->p->up[m->p->up_row[u] + slot[l - 1]];
			u = u == OSR_NONE ? OSR_NONE : m->f->chan_dst[u];
		}
		if (u != OSR_NONE && m->p->up[m->p->up_row[u] + slot[l]] == OSR_NONE)
			return BROKEN;
		if (u != OSR_NONE && l > from)
			n += met_diverted(m, x, d, u, slot);
		cost += digits_square(n);
	}
	for (uint32_t l = 1; l < to; l++) {
		uint32_t c = m->p->up[m->p->up_row[s] + slot[l]];

		if (c == OSR_NONE)
			return cost + BROKEN;
		cost += digits_square(m->load[c]);
		s = m->f->chan_dst[c];
	}
	return cost;
}

/*
 * What the rule gives where a port of level l is missing, modulo what is left: the index's next
 * digit, so that dests of this port spread; its own digit and the lower ones, so that dests of one
 * switch do, even if some of them have moved here.
 */
static uint32_t rule(const struct osr_pgft_tree *pgft_tree, uint32_t index, uint32_t l)
{
	uint32_t wp = pgft_tree->w[l + 1] * pgft_tree->p[l + 1],
		 i = index / pgft_tree->w_product[l];

	return i / wp + i % wp + index % pgft_tree->w_product[l];
}

/* Moving dests --------------------------------------------------------------------------------- */

/* Adds the dest to (or takes it from) the links of its way down; false if that is broken. */
static bool count_way(struct dmodk *m, uint32_t x, uint32_t d, int by)
{
	const uint16_t *slot = m->slot + (size_t)d * m->stride;
	uint32_t s = x, h = tree_of(m, x)->h;

	for (uint32_t l = m->p->sw_level[x]; l < h; l++) {
		uint32_t c = m->p->up[m->p->up_row[s] + slot[l]];

		if (c == OSR_NONE)
			return false;
		m->load[c] += by;
		s = m->f->chan_dst[c];
	}
	return true;
}

/*
 * The best port on level l of switch s, on the way down to d, given those below. Where all cost the
 * same, it is the one that the rule gives.
 */
static uint16_t best_port(const struct dmodk *m, uint32_t x, uint32_t d, uint32_t s, uint32_t l,
			  const uint16_t *given)
{
	const struct osr_pgft_tree *pgft_tree = tree_of(m, x);
	uint32_t wp = pgft_tree->w[l + 1] * pgft_tree->p[l + 1], best_cost = UINT32_MAX, n = 0,
		 first;
	uint16_t slot[OSR_PGFT_MAX_LEVELS + 1], best = given[l];
	const uint32_t *up = m->p->up + m->p->up_row[s];

	memcpy(slot, given, m->stride * sizeof(*given));
	for (uint32_t q = 0; q < wp; q++)
		n += up[q] != OSR_NONE;
	if (!n)
		return best;
	first = rule(pgft_tree, m->index[d], l) % n;
	for (uint32_t q = 0, k = 0; q < wp; q++) {
		uint32_t cost;

		if (up[q] == OSR_NONE)
			continue;
		slot[l] = (uint16_t)q;
		/* Ties go to the rule's choice and then around: 2 is less than what any flow costs. */
		cost = digits_cost_of(m, OSR_NONE, x, d, slot, 1, pgft_tree->h) * 512 +
		       (k + n - first) % n;
		k++;
		if (cost >= best_cost)
			continue;
		best_cost = cost;
		best = (uint16_t)q;
	}
	return best;
}

/* Keeps what is there of the own way, from the bottom up. */
static void move_dest(struct dmodk *m, uint32_t x, uint32_t d)
{
	uint16_t *slot = m->slot + (size_t)d * m->stride;
	uint32_t s = x, h = tree_of(m, x)->h;

	for (uint32_t l = m->p->sw_level[x]; l < h; l++) {
		uint32_t c = m->p->up[m->p->up_row[s] + slot[l]];

		if (c == OSR_NONE) {
			slot[l] = best_port(m, x, d, s, l, slot);
			c = m->p->up[m->p->up_row[s] + slot[l]];
		}
		if (c == OSR_NONE)
			return;
		s = m->f->chan_dst[c];
	}
}

static bool is_broken(const struct dmodk *m, uint32_t x, uint32_t d)
{
	const uint16_t *slot = m->slot + (size_t)d * m->stride;
	uint32_t s = x, h = tree_of(m, x)->h;

	for (uint32_t l = m->p->sw_level[x]; l < h; l++) {
		uint32_t c = m->p->up[m->p->up_row[s] + slot[l]];

		if (c == OSR_NONE)
			return true;
		s = m->f->chan_dst[c];
	}
	return false;
}

/* Dests whose own way down is broken, in the order of their indices. */
static enum osr_status list_broken(struct dmodk *m)
{
	uint32_t n = 0;

	for (uint32_t d = 0; d < m->f->n_dests; d++) {
		uint32_t x = m->host[m->f->dest_switch[d]];

		n += m->p->sw_level[x] == 1 && is_broken(m, x, d);
	}
	m->moved = osr_alloc(m->scratch, n, sizeof(*m->moved));
	if (!m->moved)
		return digits_no_memory(m);
	n = 0;
	for (uint32_t d = 0; d < m->f->n_dests; d++) {
		uint32_t x = m->host[m->f->dest_switch[d]];

		if (m->p->sw_level[x] != 1 || !is_broken(m, x, d))
			continue;
		m->moved[n] = (struct moved){ .tree = m->p->sw_tree[x],
					      .offset = lid_offset(m, d),
					      .index = m->index[d],
					      .dest = d };
		default_slots(m, x, m->index[d], m->moved[n++].own);
	}
	qsort(m->moved, n, sizeof(*m->moved), compare_moved);
	m->n_broken = n;
	return OSR_OK;
}

/* Up-ports without a link, by switch, and switches with an index. */
static enum osr_status list_dead(struct dmodk *m)
{
	const struct osr_pgft *pgft = m->p;
	uint32_t n = 0;

	for (uint32_t i = 0; i < pgft->up_row[m->n]; i++)
		n += pgft->up[i] == OSR_NONE;
	m->dead_row = osr_alloc(m->scratch, (size_t)m->n + 1, sizeof(*m->dead_row));
	m->dead = osr_alloc(m->scratch, n, sizeof(*m->dead));
	m->dest_at = osr_calloc(m->scratch, pgft->n_trees, sizeof(*m->dest_at));
	if (!m->dead_row || !m->dead || !m->dest_at)
		return digits_no_memory(m);
	n = 0;
	for (uint32_t s = 0; s < m->n; s++) {
		m->dead_row[s] = n;
		for (uint32_t q = 0; q < osr_pgft_n_up(pgft, s); q++)
			if (pgft->up[pgft->up_row[s] + q] == OSR_NONE)
				m->dead[n++] = (uint16_t)q;
	}
	m->dead_row[m->n] = n;
	for (uint32_t i = 0; i < pgft->n_trees; i++) {
		uint32_t room = pgft->tree[i].m_product[pgft->tree[i].h];

		/* Trees that are all but empty do without. */
		if (room > 16 * m->f->n_dests + 4096)
			continue;
		m->dest_at[i] = osr_alloc(m->scratch, room, sizeof(*m->dest_at[i]));
		if (!m->dest_at[i])
			return digits_no_memory(m);
		memset(m->dest_at[i], 0xff, room * sizeof(*m->dest_at[i]));
	}
	for (uint32_t d = m->f->n_dests; d-- > 0;) {
		uint32_t t = m->f->dest_term[d];

		if (pgft->term_index[t] != OSR_NONE &&
		    m->dest_at[pgft->sw_tree[m->f->dest_switch[d]]])
			m->dest_at[pgft->sw_tree[m->f->dest_switch[d]]][pgft->term_index[t]] = d;
	}
	return OSR_OK;
}

enum osr_status find_slots(struct dmodk *m)
{
	enum osr_status st;

	m->stride = m->h + 1;
	m->slot = osr_calloc(m->scratch, (size_t)m->f->n_dests * m->stride, sizeof(*m->slot));
	m->load = osr_calloc(m->scratch, m->f->n_channels, sizeof(*m->load));
	if (!m->slot || !m->load)
		return digits_no_memory(m);
	for (uint32_t d = 0; d < m->f->n_dests; d++) {
		uint32_t x = m->host[m->f->dest_switch[d]];

		if (m->p->sw_level[x])
			default_slots(m, x, m->index[d], m->slot + (size_t)d * m->stride);
	}
	st = list_broken(m);
	if (!st)
		st = list_dead(m);
	if (st)
		return st;
	for (uint32_t d = 0; d < m->f->n_dests; d++) {
		uint32_t x = m->host[m->f->dest_switch[d]];

		/* Only hosts make traffic worth counting. */
		if (m->p->sw_level[x] == 1 && m->p->term_index[m->f->dest_term[d]] != OSR_NONE &&
		    !is_broken(m, x, d))
			count_way(m, x, d, 1);
	}
	for (m->n_moved = 0; m->n_moved < m->n_broken;) {
		uint32_t d = m->moved[m->n_moved].dest, x = m->host[m->f->dest_switch[d]];

		move_dest(m, x, d);
		m->n_moved++;
		if (m->p->term_index[m->f->dest_term[d]] != OSR_NONE)
			count_way(m, x, d, 1);
	}
	return OSR_OK;
}

/* One source ----------------------------------------------------------------------------------- */

/*
 * Switch s, whose up-port for d has no link or leads astray, takes one of n channels; turning on
 * level `to`.
 */
uint32_t choose_up(const struct dmodk *m, uint32_t s, uint32_t x, uint32_t d, uint32_t to,
		   const uint32_t *channel, uint32_t n)
{
	const struct osr_pgft_tree *pgft_tree = tree_of(m, x);
	uint32_t l = m->p->sw_level[s], wp = pgft_tree->w[l + 1] * pgft_tree->p[l + 1];
	const uint16_t *own = m->slot + (size_t)d * m->stride;
	uint32_t first = rule(pgft_tree, m->index[d], l) % n;
	uint32_t least = (to - l) + (to - 1), best_cost = UINT32_MAX, best = channel[first];
	uint16_t slot[OSR_PGFT_MAX_LEVELS + 1];

	if (m->p->sw_level[x] != 1)
		return best;
	memcpy(slot, own, m->stride * sizeof(*own));
	for (uint32_t i = 0; i < n; i++) {
		uint32_t c = channel[(first + i) % n], q = 0, cost;

		while (q < wp && m->p->up[m->p->up_row[s] + q] != c)
			q++;
		if (q == wp) /* a spare */
			continue;
		slot[l] = (uint16_t)q;
		cost = digits_cost_of(m, s, x, d, slot, l, to);
		if (cost >= best_cost)
			continue;
		best_cost = cost;
		best = c;
		if (cost <= least)
			break;
	}
	return best;
}

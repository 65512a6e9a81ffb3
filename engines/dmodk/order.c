/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The order that makes one lane enough, for every route there is.
 *
 * In a tree nothing turns from down to up, and so nothing can deadlock: as long as all routes stay
 * on one side. But routes between tops (a CA on a spine; a core's port 0 that answers over broken
 * links) have to turn below. Up/down routing allows that if "up" means towards one root only. So
 * all switches are put into one order with a leaf as its root, such that every route up and then
 * down the tree is also one up and then down the order:
 *
 *	root leaf > its spines > their cores > all other spines > all other leaves
 *
 * Seen from below: a switch holds the planes (pieces of the tree above it) of its parents; held
 * planes lie below their holder, all others above. A switch with a held neighbour below it in the
 * tree has no other above it in the order. What cannot be held by the root, because links are
 * missing, is held by the first switch of the level that has a link to it.
 */
#include "dmodk.h"

static enum osr_status no_memory(struct dmodk *m)
{
	return osr_fail(m->diag, OSR_NOMEM, "out of memory for the order of %u switches", m->n);
}

static uint32_t find_set(uint32_t *set, uint32_t i)
{
	while (set[i] != i)
		i = set[i] = set[set[i]];
	return i;
}

/*
 * m->plane, top level first. A plane goes by its lowest switch of the level it begins on, so that
 * no two have one name.
 */
static void find_planes(struct dmodk *m, uint32_t *set, uint32_t *name)
{
	const struct osr_fabric *f = m->f;

	for (uint32_t s = 0; s < m->n; s++)
		set[s] = s;
	for (uint32_t l = m->h; l >= 1; l--) {
		for (uint32_t c = 0; c < f->n_channels; c++) {
			uint32_t a, b;

			if (m->p->sw_level[f->chan_src[c]] != l || !is_up(m, c))
				continue;
			a = find_set(set, f->chan_src[c]);
			b = find_set(set, f->chan_dst[c]);
			set[a > b ? a : b] = a > b ? b : a;
		}
		memset(name, 0xff, m->n * sizeof(*name));
		for (uint32_t s = 0; s < m->n; s++) {
			uint32_t piece = m->p->sw_level[s] == l ? find_set(set, s) : 0;

			if (m->p->sw_level[s] != l)
				continue;
			if (name[piece] == OSR_NONE)
				name[piece] = s;
			m->plane[s] = name[piece];
		}
	}
}

/* The leaf with the most ways up two levels; the lowest place among equals. */
static uint32_t find_root(const struct dmodk *m, const struct osr_pgft_tree *t)
{
	const struct osr_fabric *f = m->f;
	uint32_t best = OSR_NONE, best_score = 0, n_leaves = t->m_product[t->h] / t->m[1];

	for (uint32_t a = 0; a < n_leaves; a++) {
		uint32_t s = t->place[1][a], score = 1;

		for (uint32_t c = s == OSR_NONE ? 0 : f->chan_row[s];
		     s != OSR_NONE && c < f->chan_row[s + 1]; c++) {
			uint32_t u = f->chan_dst[c];

			for (uint32_t e = f->chan_row[u]; is_up(m, c) && e < f->chan_row[u + 1];
			     e++)
				score += 1 + 255 * is_up(m, e);
		}
		if (s == OSR_NONE || score <= best_score)
			continue;
		best = s;
		best_score = score;
	}
	return best;
}

struct growth {
	uint32_t *row, *member; /* switches by plane: member[row[plane]] .. */
	uint32_t *queue, n_queue;
	uint8_t *seen; /* [n] of the level under way: hangs on something that is held */
};

/* All switches below this plane are now connected. */
static void see_below(struct dmodk *m, struct growth *g, uint32_t plane)
{
	const struct osr_fabric *f = m->f;

	for (uint32_t i = g->row[plane]; i < g->row[plane + 1]; i++) {
		uint32_t u = g->member[i];

		for (uint32_t c = f->chan_row[u]; c < f->chan_row[u + 1]; c++) {
			uint32_t s = f->chan_dst[c];

			if (g->seen[s] || !is_up(m, f->chan_rev[c]))
				continue;
			g->seen[s] = 1;
			g->queue[g->n_queue++] = s;
		}
	}
}

/* Switch s holds the planes of its parents that nobody holds yet. */
static void hold_parents(struct dmodk *m, struct growth *g, uint32_t s)
{
	const struct osr_fabric *f = m->f;

	for (uint32_t c = f->chan_row[s]; c < f->chan_row[s + 1]; c++) {
		uint32_t plane;

		if (!is_up(m, c))
			continue;
		plane = m->plane[f->chan_dst[c]];
		if (m->mode[plane] != HOLD_NOT)
			continue;
		m->mode[plane] = m->entry[s] ? HOLD_ENTRIES : HOLD_ONE;
		m->holder[plane] = s;
		see_below(m, g, plane);
	}
}

/* Level l: its entries first, then, breadth first, whoever hangs on what is held. */
static void hold_level(struct dmodk *m, struct growth *g, uint32_t l)
{
	const struct osr_fabric *f = m->f;

	g->n_queue = 0;
	for (uint32_t s = 0; s < m->n; s++)
		if (m->p->sw_level[s] == l && m->entry[s]) {
			g->seen[s] = 1;
			g->queue[g->n_queue++] = s;
		}
	for (uint32_t i = 0; i < g->n_queue; i++)
		hold_parents(m, g, g->queue[i]);
	for (uint32_t c = 0; c < f->n_channels; c++)
		if (m->p->sw_level[f->chan_src[c]] == l && is_up(m, c) &&
		    holds(m, f->chan_src[c], f->chan_dst[c]))
			m->entry[f->chan_dst[c]] = 1;
}

static void sort_by_plane(struct dmodk *m, struct growth *g)
{
	for (uint32_t s = 0; s < m->n; s++)
		g->row[m->plane[s]] += m->p->sw_level[s] > 1;
	for (uint32_t s = 0; s < m->n; s++)
		g->row[s + 1] += g->row[s];
	for (uint32_t s = m->n; s-- > 0;)
		if (m->p->sw_level[s] > 1)
			g->member[--g->row[m->plane[s]]] = s;
}

/* Above in the order, for two neighbours. */
static bool is_above(const struct dmodk *m, uint32_t a, uint32_t b)
{
	uint8_t la = m->p->sw_level[a], lb = m->p->sw_level[b];

	if (!la || !lb)
		return la || (!lb && m->outside[a] < m->outside[b]);
	return la < lb ? holds(m, a, b) : !holds(m, b, a);
}

/*
 * Components without a tree (service ports at most): breadth first from the lowest switch, so that
 * everybody but that one has a neighbour above.
 */
static void search_outside(struct dmodk *m, uint8_t *seen, uint32_t *queue)
{
	const struct osr_fabric *f = m->f;
	uint32_t n = 0, done = 0;

	memset(seen, 0, m->n);
	for (uint32_t s = 0; s < m->n; s++) {
		if (seen[s] || m->p->sw_level[s] || m->host[s] != s)
			continue;
		seen[s] = 1;
		queue[n++] = s;
		for (; done < n; done++) {
			uint32_t v = queue[done];

			m->outside[v] = done;
			for (uint32_t c = f->chan_row[v]; c < f->chan_row[v + 1]; c++) {
				uint32_t t = f->chan_dst[c];

				if (seen[t])
					continue;
				seen[t] = 1;
				queue[n++] = t;
			}
		}
	}
}

/* Numbers switches so that whoever is above a neighbour has a lower number. */
static enum osr_status number_switches(struct dmodk *m, uint32_t *waits, uint32_t *queue)
{
	const struct osr_fabric *f = m->f;
	uint32_t n = 0;

	memset(waits, 0, m->n * sizeof(*waits));
	for (uint32_t c = 0; c < f->n_channels; c++)
		waits[f->chan_dst[c]] += is_above(m, f->chan_src[c], f->chan_dst[c]);
	for (uint32_t s = 0; s < m->n; s++)
		if (!waits[s])
			queue[n++] = s;
	for (uint32_t i = 0; i < n; i++) {
		uint32_t s = queue[i];

		m->number[s] = i;
		for (uint32_t c = f->chan_row[s]; c < f->chan_row[s + 1]; c++)
			if (is_above(m, s, f->chan_dst[c]) && --waits[f->chan_dst[c]] == 0)
				queue[n++] = f->chan_dst[c];
	}
	if (n < m->n)
		return osr_fail(
			m->diag, OSR_NOT_APPLICABLE,
			"no order of the %u switches keeps all routes of this tree on one lane",
			m->n);
	return OSR_OK;
}

enum osr_status order_switches(struct dmodk *m)
{
	struct osr_arena *a = m->scratch;
	struct growth g = { 0 };
	uint32_t *set = osr_alloc(a, m->n, sizeof(*set));

	m->number = osr_alloc(a, m->n, sizeof(*m->number));
	m->plane = osr_alloc(a, m->n, sizeof(*m->plane));
	m->mode = osr_calloc(a, m->n, sizeof(*m->mode));
	m->holder = osr_alloc(a, m->n, sizeof(*m->holder));
	m->entry = osr_calloc(a, m->n, sizeof(*m->entry));
	m->outside = osr_calloc(a, m->n, sizeof(*m->outside));
	g.row = osr_calloc(a, (size_t)m->n + 2, sizeof(*g.row));
	g.member = osr_alloc(a, m->n, sizeof(*g.member));
	g.queue = osr_alloc(a, m->n, sizeof(*g.queue));
	g.seen = osr_calloc(a, m->n, sizeof(*g.seen));
	if (!set || !m->number || !m->plane || !m->mode || !m->holder || !m->entry || !m->outside ||
	    !g.row || !g.member || !g.queue || !g.seen)
		return no_memory(m);
	memset(m->holder, 0xff, m->n * sizeof(*m->holder));
	for (uint32_t s = 0; s < m->n; s++)
		m->plane[s] = s;
	find_planes(m, set, g.queue);
	sort_by_plane(m, &g);
	for (uint32_t i = 0; i < m->p->n_trees; i++)
		m->entry[find_root(m, &m->p->tree[i])] = 1;
	for (uint32_t l = 1; l < m->h; l++)
		hold_level(m, &g, l);
	search_outside(m, g.seen, g.queue);
	return number_switches(m, set, g.queue);
}

/* Up the order by falling numbers, then down by rising ones: packets travel to higher ranks. */
enum osr_status certify(struct dmodk *m, struct osr_arena *result)
{
	const struct osr_fabric *f = m->f;
	struct osr_routing *r = m->r;

	r->rank = osr_alloc(result, f->n_channels, sizeof(*r->rank));
	if (!r->rank)
		return osr_fail(m->diag, OSR_NOMEM, "out of memory for the deadlock certificate");
	for (uint32_t c = 0; c < f->n_channels; c++) {
		uint32_t from = m->number[f->chan_src[c]], to = m->number[f->chan_dst[c]];

		r->rank[c] = to < from ? m->n - from : m->n + to;
	}
	r->n_vls = r->n_layers = r->n_layers_one_way = 1;
	r->claims |= OSR_CLAIM_DEADLOCK_FREE | OSR_CLAIM_REVERSIBLE | OSR_CLAIM_ANY_SL;
	return OSR_OK;
}

/*
 * Multicast: everybody's parent is a neighbour above in the order, as close to the root as possible
 * and as high as possible, so that all choose the same; cut down to what lies between end ports.
 */
enum osr_status spanning_order(struct dmodk *m, struct osr_arena *result)
{
	const struct osr_fabric *f = m->f;
	struct osr_routing *r = m->r;
	uint32_t *by_number = osr_alloc(m->scratch, m->n, sizeof(*by_number));
	uint32_t *depth = osr_calloc(m->scratch, m->n, sizeof(*depth));
	uint8_t *keep = osr_calloc(m->scratch, m->n, 1);

	r->mcast_parent = osr_alloc(result, m->n, sizeof(*r->mcast_parent));
	if (!by_number || !depth || !keep || !r->mcast_parent)
		return osr_fail(m->diag, OSR_NOMEM,
				"out of memory for the multicast spanning order");
	for (uint32_t s = 0; s < m->n; s++)
		by_number[m->number[s]] = s;
	for (uint32_t i = 0; i < m->n; i++) {
		uint32_t s = by_number[i], best = OSR_NONE;

		for (uint32_t c = f->chan_row[s]; c < f->chan_row[s + 1]; c++) {
			uint32_t t = f->chan_dst[c], b = best == OSR_NONE ? 0 : f->chan_dst[best];

			if (m->number[t] > i)
				continue;
			if (best == OSR_NONE || depth[t] < depth[b] ||
			    (depth[t] == depth[b] && m->number[t] < m->number[b]))
				best = c;
		}
		r->mcast_parent[s] = best;
		depth[s] = best == OSR_NONE ? 0 : depth[f->chan_dst[best]] + 1;
	}
	for (uint32_t i = m->n; i-- > 0;) {
		uint32_t s = by_number[i], up = r->mcast_parent[s];

		keep[s] |= f->sw_sources[s] > 0;
		if (!keep[s])
			r->mcast_parent[s] = OSR_NONE;
		else if (up != OSR_NONE)
			keep[f->chan_dst[up]] = 1;
	}
	r->claims |= OSR_CLAIM_MULTICAST;
	return OSR_OK;
}

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Parts flows that meet: where links are missing, leaves choose among their up-ports again, so that flows which left
 * the ways of equation (1) do not come together in one stage of a shift, and no link carries much more than it must.
 *
 * In stage t of a shift host i sends to host i + t. From a leaf whose first host has index i, dest d is sent to in
 * the stages d - i - m_1 < t <= d - i, so two entries (leaf, dest) meet on a link that both use exactly if their
 * d - i are less than m_1 apart. A flow on its own way meets nobody on its own way (theorems 1 and 2); so every link
 * carries one of these, and what has to be told apart is the rest. Entries are counted by link and stages, in
 * buckets of m_1 stages; of the neighbouring buckets the nearer one counts as well.
 *
 * Only leaves choose: they have all ways, and nobody's route passes them.
 */
#include "dmodk.h"

#define MAX_ENTRIES (1u << 20)
#define MAX_WAY (2 * OSR_PGFT_MAX_LEVELS)
#define ROUNDS 2
#define TAG_BITS 16 /* of a counter; as many count */

/* The channels of a route; from `odd` on they are not those of equation (1). */
struct way {
	uint32_t n, odd, chan[MAX_WAY];
};

struct parter {
	struct dmodk *m;
	uint32_t *entry_leaf, *entry_dest, n_entries, max_entries;
	bool too_many;
	uint32_t *count; /* [mask + 1] open addressing: entries by channel, LID offset and bucket */
	uint64_t mask;
	uint32_t *load; /* [n_channels] routes between hosts */
	uint64_t limit;
	uint32_t *by_level; /* [n] placed switches, leaves first */
	uint32_t n_placed;
	uint32_t *next;    /* [n] channel towards a dest, OSR_NONE: none up and then down */
	uint32_t *passing; /* [n] routes to it that pass a switch */
	uint8_t *odd;      /* [n] routes to it from here leave their own way */
	uint16_t own[OSR_PGFT_MAX_LEVELS + 1];
};

static uint32_t part_channel(const struct dmodk *m, uint32_t s, uint32_t d)
{
	return m->f->port_chan[m->f->port_row[s] + m->r->lft[(size_t)d * m->n + s]];
}

static bool part_is_host(const struct dmodk *m, uint32_t d)
{
	uint32_t t = m->f->dest_term[d], x = m->f->dest_switch[d];

	return m->p->sw_level[x] == 1 && m->p->term_index[t] != OSR_NONE && m->f->term_weight[t];
}

/* Does a route to d go on from s as tables have it, up and then down within the tree? */
static bool part_is_inside(const struct dmodk *m, uint32_t s, uint32_t x)
{
	return m->p->sw_tree[s] == m->p->sw_tree[x] && has(m, m->reach[tree_of(m, s)->h], s, x) &&
	       m->escape[(size_t)x * m->n + s] == OSR_NO_PATH;
}

/* The channel that equation (1) gives to switch s, on its way up. */
static uint32_t own_channel(const struct parter *p, uint32_t s)
{
	return p->m->p->up[p->m->p->up_row[s] + p->own[p->m->p->sw_level[s]]];
}

/* Entries ------------------------------------------------------------------------------------- */

/* The route from leaf s to d that begins with channel c. */
static void part_walk(const struct parter *p, uint32_t s, uint32_t d, uint32_t c, struct way *way)
{
	const struct dmodk *m = p->m;
	uint32_t x = m->f->dest_switch[d];
	bool up = true, own = true;

	way->n = way->odd = 0;
	while (way->n < MAX_WAY) {
		uint32_t to = m->f->chan_dst[c];

		up = up && m->p->sw_level[to] > m->p->sw_level[s];
		own = own && (!up || c == own_channel(p, s));
		way->chan[way->n++] = c;
		way->odd += own;
		if (to == x)
			return;
		s = to;
		c = part_channel(m, s, d);
	}
}

static uint64_t part_key(const struct parter *p, uint32_t s, uint32_t d, uint32_t *rest)
{
	const struct dmodk *m = p->m;
	const struct osr_pgft_tree *tree = tree_of(m, s);
	uint32_t n = tree->m_product[tree->h], m1 = tree->m[1];
	uint32_t stage = (m->index[d] + n - m->p->sw_a[s] * m1 % n) % n;

	*rest = stage % m1;
	return stage / m1;
}

/* The counter, or the empty place for it. Two with the same tag count as one: a way looks worse than it is. */
static uint32_t *part_counter(const struct parter *p, uint32_t c, uint32_t offset, uint64_t bucket,
			      uint32_t *tag)
{
	uint64_t hash = ((uint64_t)c << 32 ^ (uint64_t)offset << 24 ^ bucket) *
			UINT64_C(0x9e3779b97f4a7c15);
	uint64_t i = hash >> 24;

	hash ^= hash >> 29;
	*tag = (uint32_t)(hash * UINT64_C(0xbf58476d1ce4e5b9) >> (64 - TAG_BITS)) | 1;
	while (p->count[i & p->mask] && p->count[i & p->mask] >> TAG_BITS != *tag)
		i++;
	return &p->count[i & p->mask];
}

static uint32_t part_met(const struct parter *p, uint32_t c, uint32_t offset, uint64_t bucket)
{
	uint32_t tag;

	return *part_counter(p, c, offset, bucket, &tag) & ((1u << TAG_BITS) - 1);
}

/* Counts an entry on the links that are not its own, and its routes on all; or takes them away. */
static void part_count(const struct parter *p, uint32_t s, uint32_t d, const struct way *way,
		       int by)
{
	uint32_t rest, routes = p->m->f->sw_sources[s];
	uint64_t bucket = part_key(p, s, d, &rest);

	for (uint32_t i = 0; i < way->n; i++) {
		p->load[way->chan[i]] += (uint32_t)by * routes;
		if (i >= way->odd) {
			uint32_t tag, *counter = part_counter(p, way->chan[i], lid_offset(p->m, d),
							      bucket, &tag);

			*counter = (*counter ? *counter : tag << TAG_BITS) + (uint32_t)by;
		}
	}
}

/* The next channel of every switch towards d, and from which of them routes leave the ways of the rule. */
static void part_mark(struct parter *p, uint32_t d)
{
	struct dmodk *m = p->m;
	uint32_t x = m->f->dest_switch[d];

	default_slots(m, x, m->index[d], p->own);
	for (uint32_t i = p->n_placed; i-- > 0;) {
		uint32_t s = p->by_level[i], l = m->p->sw_level[s], to;

		p->odd[s] = 0;
		p->next[s] = OSR_NONE;
		p->passing[s] = 0;
		if (s == x || !part_is_inside(m, s, x))
			continue;
		p->next[s] = part_channel(m, s, d);
		p->passing[s] = l == 1 ? m->f->sw_sources[s] : 0;
		to = m->f->chan_dst[p->next[s]];
		if (m->p->sw_level[to] > l)
			p->odd[s] = p->next[s] != own_channel(p, s) || p->odd[to];
	}
}

/* Adds the routes to d to the loads: up level by level, then down. */
static void part_load(struct parter *p)
{
	const struct dmodk *m = p->m;

	for (int down = 0; down <= 1; down++)
		for (uint32_t k = 0; k < p->n_placed; k++) {
			uint32_t s = p->by_level[down ? p->n_placed - 1 - k : k], c = p->next[s],
				 to;

			if (!p->passing[s] || c == OSR_NONE)
				continue;
			to = m->f->chan_dst[c];
			if ((m->p->sw_level[to] < m->p->sw_level[s]) != down)
				continue;
			p->load[c] += p->passing[s];
			p->passing[to] += p->passing[s];
			p->passing[s] = 0;
		}
}

static void part_list(struct parter *p, uint32_t d)
{
	struct dmodk *m = p->m;
	uint32_t x = m->f->dest_switch[d];

	for (uint32_t i = 0; i < p->n_placed && m->p->sw_level[p->by_level[i]] == 1; i++) {
		uint32_t s = p->by_level[i];

		if (!p->odd[s] || !m->f->sw_sources[s] || s == x)
			continue;
		if (p->n_entries == p->max_entries) {
			p->too_many = true;
			return;
		}
		p->entry_leaf[p->n_entries] = s;
		p->entry_dest[p->n_entries++] = d;
	}
}

/* Choice -------------------------------------------------------------------------------------- */

/*
 * What a way costs: squares of the flows that meet there; too much load more than any of them. Stops when it is
 * not below `best`.
 */
static uint64_t part_cost(const struct parter *p, uint32_t s, uint32_t d, const struct way *way,
			  uint64_t best)
{
	uint32_t rest, m1 = tree_of(p->m, s)->m[1], offset = lid_offset(p->m, d);
	uint32_t routes = p->m->f->sw_sources[s];
	uint64_t bucket = part_key(p, s, d, &rest), cost = 0;
	uint64_t beside = 2 * rest < m1 ? bucket - 1 : bucket + 1;

	for (uint32_t i = 0; i < way->n && cost < best; i++) {
		uint64_t n = 1;

		if (p->load[way->chan[i]] + routes > p->limit)
			cost += UINT64_C(1) << 20;
		if (i < way->odd)
			continue;
		n += part_met(p, way->chan[i], offset, bucket);
		n += part_met(p, way->chan[i], offset, beside);
		cost += n * n;
	}
	return cost;
}

/* The best up-port for an entry, beginning with the one it has; true if that is another one. */
static bool part_choose(struct parter *p, uint32_t s, uint32_t d)
{
	struct dmodk *m = p->m;
	uint32_t x = m->f->dest_switch[d], k = turn_level(m, s, x), n = osr_pgft_n_up(m->p, s);
	uint32_t now = part_channel(m, s, d), best = now;
	uint64_t best_cost;
	struct way way, best_way;

	default_slots(m, x, m->index[d], p->own);
	part_walk(p, s, d, now, &best_way);
	part_count(p, s, d, &best_way, -1);
	best_cost = part_cost(p, s, d, &best_way, UINT64_MAX);
	for (uint32_t i = 0; i < n && best_cost > best_way.n - best_way.odd; i++) {
		uint32_t q = (m->index[d] / n + m->p->sw_a[s] + i) % n;
		uint32_t c = m->p->up[m->p->up_row[s] + q];
		uint64_t cost;

		if (c == OSR_NONE || c == now || !may_go_up(m, s, m->f->chan_dst[c], k, x))
			continue;
		part_walk(p, s, d, c, &way);
		cost = part_cost(p, s, d, &way, best_cost);
		if (cost >= best_cost)
			continue;
		best_cost = cost;
		best = c;
		best_way = way;
	}
	m->r->lft[(size_t)d * m->n + s] = m->f->chan_port[best];
	part_count(p, s, d, &best_way, 1);
	return best != now;
}

static enum osr_status part_begin(struct parter *p)
{
	struct dmodk *m = p->m;
	uint64_t all = (uint64_t)m->n * m->f->n_dests;

	p->max_entries = all < MAX_ENTRIES ? (uint32_t)all : MAX_ENTRIES;
	p->entry_leaf = osr_alloc(m->scratch, p->max_entries, sizeof(*p->entry_leaf));
	p->entry_dest = osr_alloc(m->scratch, p->max_entries, sizeof(*p->entry_dest));
	p->load = osr_calloc(m->scratch, m->f->n_channels, sizeof(*p->load));
	p->by_level = osr_alloc(m->scratch, m->n, sizeof(*p->by_level));
	p->next = osr_alloc(m->scratch, m->n, sizeof(*p->next));
	p->passing = osr_alloc(m->scratch, m->n, sizeof(*p->passing));
	p->odd = osr_alloc(m->scratch, m->n, 1);
	if (osr_arena_failed(m->scratch, m->diag))
		return OSR_NOMEM;
	for (uint32_t l = 1; l <= m->h; l++)
		for (uint32_t s = 0; s < m->n; s++)
			if (m->p->sw_level[s] == l)
				p->by_level[p->n_placed++] = s;
	for (uint32_t d = 0; d < m->f->n_dests && !p->too_many; d++)
		if (part_is_host(m, d)) {
			part_mark(p, d);
			part_list(p, d);
			part_load(p);
		}
	return OSR_OK;
}

/* The counters. Loads are those of all routes already. */
static enum osr_status part_fill(struct parter *p)
{
	struct dmodk *m = p->m;
	uint64_t room = 1024;

	/* A way has 2 h - 2 links, and every round may bring others; a quarter stays empty. */
	while (room * 3 < (uint64_t)p->n_entries * (2 * m->h - 2) * (ROUNDS + 1) * 4)
		room *= 2;
	p->count = osr_calloc(m->scratch, room, sizeof(*p->count));
	p->mask = room - 1;
	if (osr_arena_failed(m->scratch, m->diag))
		return OSR_NOMEM;
	for (uint32_t i = 0; i < p->n_entries; i++) {
		uint32_t s = p->entry_leaf[i], d = p->entry_dest[i];
		struct way way;

		default_slots(m, m->f->dest_switch[d], m->index[d], p->own);
		part_walk(p, s, d, part_channel(m, s, d), &way);
		for (uint32_t k = 0; k < way.n; k++)
			p->load[way.chan[k]] -= m->f->sw_sources[s];
		part_count(p, s, d, &way, 1);
	}
	return OSR_OK;
}

/* Are all loads known, and within the limit? */
static bool part_is_even(const struct parter *p)
{
	const struct dmodk *m = p->m;

	for (uint32_t i = 0; i < m->p->n_trees; i++)
		if (m->p->tree[i].n_outside || m->p->tree[i].n_service)
			return false;
	for (uint32_t c = 0; c < m->f->n_channels; c++)
		if (p->load[c] > p->limit)
			return false;
	return !p->too_many;
}

enum osr_status part_flows(struct dmodk *m, uint64_t limit, bool *even)
{
	struct parter p = { .m = m, .limit = limit };
	enum osr_status st = part_begin(&p);
	bool changed = true;

	*even = !st && part_is_even(&p);
	if (st || !p.n_entries || p.too_many)
		return st;
	st = part_fill(&p);
	for (uint32_t round = 0; round < ROUNDS && changed && !st; round++) {
		changed = false;
		for (uint32_t i = 0; i < p.n_entries; i++)
			changed |= part_choose(&p, p.entry_leaf[i], p.entry_dest[i]);
	}
	*even = !st && part_is_even(&p);
	return st;
}

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * dmodk - D-Mod-K routing for parallel-ports generalised fat trees, whole and broken.
 *
 * Source: Zahavi, Fat-Trees Routing and Node Ordering Providing Contention Free Traffic for MPI
 * Global Collectives, equation (1); for broken trees the idea of Gliksberg et al., High-Quality
 * Fault Resiliency in Fat Trees (Dmodc), to apply the rule to the switches that are left.
 *
 * Routes are shortest paths within the order of treeorder.h, which makes one lane enough (spf.h); the rule chooses
 * among them. What has no such path takes a longer one in the order.
 *
 * DIFFERS from Dmodc: an entry changes only if its own way is gone. There the rule is applied to
 * whatever choice is left at a switch, and a missing link moves most dests of it.
 */
#include <osmroutes/engine.h>
#include <osmroutes/lanes.h>
#include <osmroutes/pgft.h>
#include <osmroutes/span.h>
#include <osmroutes/spf.h>
#include <osmroutes/treeorder.h>

#include <string.h>

#define NOTE_SIZE 512

enum { MISSING };

static const struct osr_param params[] = {
	[MISSING] = { "max_missing", OSR_PARAM_UINT, "30", 0, 99, NULL,
		      "percent of the links between switches that may be missing from the tree" },
	{ 0 }
};

#define BALANCE 110 /* percent of the least possible load, or as near as possible */
#define ROUNDS 2    /* of leaves' choices */
/* With more flows that left their ways, or more counters of them, leaves do not choose. */
#define MAX_ENTRIES (1u << 20)
#define MAX_MET (1u << 26)

/* The entry of the at-th switch of the settling order. */
struct entry {
	uint32_t dest, at;
};

struct dmodk {
	const struct osr_fabric *f;
	struct osr_pgft p;
	struct osr_tree_order o; /* the total order of the switches that all routes keep to */
	struct osr_spf spf;
	uint32_t *port; /* [n_channels] the number q of an up-port; OSR_NONE: spare, or not up */
	uint32_t n_missing; /* links and switches, of all trees */
	uint8_t *
		up_hop; /* [most up-ports * n_switches] by q: hops up; NULL: not whole, or hosts above leaves */

	/* Of the dest at hand. */
	const struct osr_pgft_tree *tree; /* NULL: in none */
	uint32_t index;                   /* the j that the modulo rule takes */
	uint32_t own[OSR_PGFT_MAX_LEVELS + 1], slot[OSR_PGFT_MAX_LEVELS + 1];
	/* A of its switch and of those above; and which of these its own way passes. */
	uint32_t above[OSR_PGFT_MAX_LEVELS + 1], way[OSR_PGFT_MAX_LEVELS + 1];

	/* Flows that left their ways: see part_choose(). */
	uint16_t *met; /* [n_channels * n_buckets] NULL: they are not parted */
	uint32_t n_buckets;
	uint64_t limit;  /* routes between hosts that a channel may carry */
	uint8_t *passed; /* [n_switches] by routes of others to the dest at hand */
	struct entry *entry;
	uint32_t n_entries, max_entries;
};

static enum osr_status dmodk_applies(const struct osr_job *job)
{
	const struct osr_fabric *fabric = job->fabric;

	for (uint32_t s = 0; s < fabric->n_switches; s++)
		if (fabric->sw_sources[s])
			return OSR_OK;
	return osr_fail(job->diag, OSR_NOT_APPLICABLE,
			"not a fat tree: no CA or router on any of %u switches",
			fabric->n_switches);
}

/* What was recognised, for the log. */
static enum osr_status dmodk_describe(const struct osr_pgft *pgft, struct osr_arena *result,
				      struct osr_routing *routing, struct osr_diag *diag)
{
	char *text = osr_alloc(result, NOTE_SIZE, 1);

	if (osr_arena_failed(result, diag))
		return OSR_NOMEM;
	osr_pgft_describe(pgft, text, NOTE_SIZE);
	routing->note = text;
	return OSR_OK;
}

/* ---- the rule -------------------------------------------------------------------------------- */

/*
 * The j of the rule. Hosts have their index. A service port on a leaf takes a slot from the last one downwards, port 0
 * that of the first host. Above the leaves, sub-tree, place and port make a number that spreads.
 * `x`: the switch of the tree that leads to d.
 */
static uint32_t index_of(const struct dmodk *m, uint32_t x, uint32_t d)
{
	const struct osr_fabric *fabric = m->f;
	const struct osr_pgft_tree *tree = &m->p.tree[m->p.sw_tree[x]];
	uint32_t t = fabric->dest_term[d], nth = t - fabric->term_row[fabric->term_switch[t]];

	if (m->p.term_index[t] != OSR_NONE)
		return m->p.term_index[t];
	if (m->p.sw_level[x] == 1)
		return m->p.sw_a[x] * tree->m[1] +
		       (fabric->term_port[t] ? tree->m[1] - 1 - nth % tree->m[1] : 0);
	return m->p.sw_a[x] * tree->m_product[m->p.sw_level[x]] + m->p.sw_b[x] + nth;
}

/*
 * What the rule gives where a port of level l is missing, modulo what is left: the index's next
 * digit, so that dests of this port spread; its own digit and the lower ones, so that dests of one
 * switch do, even if some of them have moved here.
 */
static uint32_t next_rule(const struct dmodk *m, uint32_t l)
{
	uint32_t wp = m->tree->w[l + 1] * m->tree->p[l + 1], i = m->index / m->tree->w_product[l];

	return i / wp + i % wp + m->index % m->tree->w_product[l];
}

/* The q-th of the up-ports at up[], or if that is missing the nth of those that are there; OSR_NONE: there is none. */
static uint32_t port_left(const uint32_t *up, uint32_t n_up, uint32_t q, uint32_t nth)
{
	uint32_t n = 0;

	if (q >= n_up || up[q] != OSR_NONE)
		return q < n_up ? q : OSR_NONE;
	for (q = 0; q < n_up; q++)
		n += up[q] != OSR_NONE;
	for (q = 0, nth = n ? nth % n : 0; n && q < n_up; q++)
		if (up[q] != OSR_NONE && nth-- == 0)
			return q;
	return OSR_NONE;
}

/*
 * The up-ports q_1 .. q_(h-1) towards d. By equation (1), own[], but below the level of its switch x, where the
 * parent's digit is that of x and only the cable is free. If the way down from there is broken, the dest of a leaf
 * moves, for all sources alike: slot[] keeps what is there of its way, from the bottom up, and else takes what the rule
 * gives next.
 */
static void find_slots(struct dmodk *m, uint32_t d)
{
	const struct osr_pgft_tree *tree;
	uint32_t x = m->f->dest_switch[d], lx, s, q;

	/* A switch outside hangs on the one that leads to it. */
	if (!m->p.sw_level[x] && m->f->chan_row[x] < m->f->chan_row[x + 1])
		x = m->f->chan_dst[m->f->chan_row[x]];
	lx = m->p.sw_level[x];
	m->tree = NULL;
	m->index = d;
	if (!lx)
		return;
	m->tree = tree = &m->p.tree[m->p.sw_tree[x]];
	m->index = index_of(m, x, d);
	for (uint32_t l = 1; l < tree->h; l++) {
		uint32_t w = tree->w[l + 1], p = tree->p[l + 1], i = m->index / tree->w_product[l];

		m->own[l] =
			l >= lx ? i % (w * p) : m->p.sw_b[x] / tree->w_product[l] % w + i % p * w;
		m->slot[l] = m->own[l];
	}
	for (uint32_t l = 0; l <= tree->h; l++) {
		m->way[l] = OSR_NONE;
		m->above[l] = l < lx ? OSR_NONE
				     : m->p.sw_a[x] / (tree->m_product[l] / tree->m_product[lx]);
	}
	m->way[lx] = s = x;
	for (uint32_t l = lx; l < tree->h; l++) {
		const uint32_t *up = m->p.up + m->p.up_row[s];

		q = lx > 1 ? m->slot[l]
			   : port_left(up, osr_pgft_n_up(&m->p, s), m->slot[l], next_rule(m, l));
		if (q == OSR_NONE || up[q] == OSR_NONE)
			return;
		m->slot[l] = q;
		m->way[l + 1] = s = m->f->chan_dst[up[q]];
	}
}

/*
 * Where the rule leads from v: up by the port of its level; from an ancestor of x down to the child there that d's own
 * way passes, if v is on it, or else to that with v's own digits, by the cable that a packet to d would take in the
 * other direction. OSR_NONE: it does not know, or this link is missing.
 */
static uint32_t wanted(const struct dmodk *m, uint32_t v)
{
	const struct osr_pgft_tree *tree = m->tree;
	uint32_t l = m->p.sw_level[v], child, c, b, q;

	if (!tree || !l)
		return OSR_NONE;
	if (m->p.sw_a[v] != m->above[l])
		return m->p.up[m->p.up_row[v] + m->slot[l]];
	if (m->above[l - 1] == OSR_NONE)
		return OSR_NONE;
	q = m->slot[l - 1];
	child = m->way[l - 1];
	if (v != m->way[l]) {
		b = m->p.sw_b[v];
		child = tree->place[l - 1][(size_t)m->above[l - 1] * tree->w_product[l - 1] +
					   b % tree->w_product[l - 1]];
		q = b / tree->w_product[l - 1] + q / tree->w[l] * tree->w[l];
	}
	c = child == OSR_NONE ? OSR_NONE : m->p.up[m->p.up_row[child] + q];
	return c != OSR_NONE && m->f->chan_dst[c] == v ? m->f->chan_rev[c] : OSR_NONE;
}

/* Of n channels the one that the rule wants, or else what its next digit says. */
static uint32_t choose(const struct dmodk *m, uint32_t v, const uint32_t *chan, uint32_t n)
{
	uint32_t c = wanted(m, v), l = m->p.sw_level[v];

	for (uint32_t i = 0; i < n; i++)
		if (chan[i] == c)
			return c;
	if (n == 1 || !m->tree || !l)
		return chan[m->index % n];
	return chan[next_rule(m, m->p.sw_level[m->f->chan_dst[chan[0]]] > l ? l : l - 1) % n];
}

/* ---- flows that meet ------------------------------------------------------------------------- */

/*
 * Where links are missing, leaves choose so that flows which left the ways of equation (1) do not come together in
 * one stage of a shift, and no link carries much more than it must.
 *
 * In stage t of a shift host i sends to host i + t. From a leaf whose first host has index i, dest d is sent to in
 * the stages d - i - m_1 < t <= d - i, so two entries (leaf, dest) meet on a link that both use exactly if their
 * d - i are less than m_1 apart. Flows on the paths of the rule do not meet (theorems 1 and 2); so every link
 * carries one of these, and what has to be told apart is the rest. Entries are counted by link and stages, in
 * buckets of m_1 stages; of the neighbouring buckets the nearer one counts as well.
 *
 * Only leaves choose: they have all ways, and nobody's route passes them.
 */
#define MAX_WAY (2 * OSR_PGFT_MAX_LEVELS)

/* The channels of a route; from `odd` on they are not those of equation (1). */
struct way {
	uint32_t n, odd, chan[MAX_WAY];
};

/* The route from leaf s to d that begins with channel c; of all switches nearer to d the hops are known. */
static void part_walk(const struct dmodk *m, uint32_t s, uint32_t d, uint32_t c, struct way *way)
{
	bool up = true, own = true;

	way->n = way->odd = 0;
	for (; way->n < MAX_WAY; c = osr_spf_channel(&m->spf, d, s)) {
		uint32_t l = m->p.sw_level[s];

		s = m->f->chan_dst[c];
		up = up && m->p.sw_level[s] > l;
		own = own && (!up || m->port[c] == m->own[l]);
		way->chan[way->n++] = c;
		way->odd += own;
		if (s == m->f->dest_switch[d])
			return;
	}
}

/* The counters of channel c in the bucket of (s, d) and in the next one. */
static uint32_t part_bucket(const struct dmodk *m, uint32_t s, uint32_t *beside)
{
	uint32_t n = m->tree->m_product[m->tree->h], m1 = m->tree->m[1],
		 stage = (m->index + n - m->p.sw_a[s] * m1 % n) % n, buckets = n / m1;

	*beside = (stage / m1 + (2 * (stage % m1) < m1 ? buckets - 1 : 1)) % buckets;
	return stage / m1;
}

/* Counts an entry on the links that are not its own, and its routes on all; or takes them away. */
static void part_count(const struct dmodk *m, uint32_t s, const struct way *way, int by)
{
	uint32_t beside, bucket = part_bucket(m, s, &beside);

	for (uint32_t i = 0; i < way->n; i++) {
		uint32_t c = way->chan[i];

		m->spf.weight[c] += (uint64_t)((int64_t)m->f->sw_sources[s] * m->spf.unit[c] * by)
				    << 8;
		if (i >= way->odd)
			m->met[(size_t)c * m->n_buckets + bucket] += (uint16_t)by;
	}
}

/* What a way costs: squares of the flows that meet there; too much load more than any of them. */
static uint64_t part_cost(const struct dmodk *m, uint32_t s, const struct way *way)
{
	uint32_t beside, bucket = part_bucket(m, s, &beside);
	uint64_t cost = 0;

	for (uint32_t i = 0; i < way->n; i++) {
		const uint16_t *met = m->met + (size_t)way->chan[i] * m->n_buckets;
		uint64_t n = 1 + met[bucket] + met[beside];

		if ((m->spf.weight[way->chan[i]] >> 8) + m->f->sw_sources[s] > m->limit)
			cost += UINT64_C(1) << 20;
		cost += i < way->odd ? 0 : n * n;
	}
	return cost;
}

/* The best of n channels of leaf s for d, beginning with the one that it has. */
static void part_choose(struct dmodk *m, uint32_t s, uint32_t d, const uint32_t *chan, uint32_t n)
{
	uint8_t *hop = m->spf.hop + (size_t)d * m->f->n_switches + s;
	struct way way, best;
	uint64_t least;

	find_slots(m, d);
	part_walk(m, s, d, m->f->chan_row[s] + *hop, &best);
	part_count(m, s, &best, -1);
	least = part_cost(m, s, &best);
	for (uint32_t i = 0; i < n && least > best.n - best.odd; i++) {
		uint32_t c = chan[(m->index / n + m->p.sw_a[s] + i) % n];
		uint64_t cost;

		part_walk(m, s, d, c, &way);
		cost = part_cost(m, s, &way);
		if (cost >= least)
			continue;
		least = cost;
		best = way;
	}
	*hop = (uint8_t)(best.chan[0] - m->f->chan_row[s]);
	part_count(m, s, &best, 1);
}

/* Notes which leaves left their own way to d, if their entry is for themselves alone. */
static void part_note(struct dmodk *m, uint32_t d)
{
	uint32_t n = m->f->n_switches, root = m->f->dest_switch[d];
	const uint16_t *order = m->spf.order + (size_t)root * n;

	memset(m->passed, 0, n);
	for (uint32_t i = m->spf.n_order[root]; i-- > 1;) {
		uint32_t s = order[i], c = osr_spf_channel(&m->spf, d, s), beside, bucket;
		struct way way;

		if (!m->f->sw_sources[s] && !m->passed[s])
			continue;
		m->passed[m->f->chan_dst[c]] = 1;
		if (m->p.sw_level[s] != 1 || m->passed[s] || m->n_entries > m->max_entries)
			continue;
		part_walk(m, s, d, c, &way);
		bucket = part_bucket(m, s, &beside);
		for (uint32_t k = way.odd; k < way.n; k++)
			m->met[(size_t)way.chan[k] * m->n_buckets + bucket]++;
		if (way.odd == way.n)
			continue;
		if (m->n_entries < m->max_entries)
			m->entry[m->n_entries] = (struct entry){ d, i };
		m->n_entries++;
	}
}

static void part_flows(struct dmodk *m)
{
	const uint32_t *row = NULL, *chan = NULL;
	uint32_t root, last = OSR_NONE;

	for (uint32_t k = 0; k < m->n_entries && m->n_entries <= m->max_entries; k++) {
		uint32_t d = m->entry[k].dest, i = m->entry[k].at;

		root = m->f->dest_switch[d];
		if (root != last)
			osr_spf_ways(&m->spf, root, &row, &chan);
		last = root;
		part_choose(m, m->spf.order[(size_t)root * m->f->n_switches + i], d, chan + row[i],
			    row[i + 1] - row[i]);
	}
}

/* ---- tables ---------------------------------------------------------------------------------- */

/*
 * In a whole tree the rule is right for hosts: up, but for the ancestors of their leaf. For port 0 of an upper switch it
 * is as long as it gets closer.
 */
static void fill_whole(const struct dmodk *m, uint32_t root, uint32_t d)
{
	uint32_t n = m->f->n_switches, chan[256];
	uint8_t *hop = m->spf.hop + (size_t)d * n;

	for (uint32_t v = 0; v < n && m->p.sw_level[root] == 1; v++)
		hop[v] = v == root ? OSR_NO_PATH
				   : m->up_hop[(size_t)m->slot[m->p.sw_level[v]] * n + v];
	for (uint32_t l = 2; l <= m->tree->h && m->p.sw_level[root] == 1; l++)
		for (uint32_t b = 0; b < m->tree->w_product[l]; b++) {
			uint32_t v =
				m->tree->place[l][(size_t)m->above[l] * m->tree->w_product[l] + b];

			hop[v] = (uint8_t)(wanted(m, v) - m->f->chan_row[v]);
		}
	for (uint32_t v = 0; v < n && m->p.sw_level[root] > 1; v++) {
		uint32_t c = wanted(m, v), k = 0;

		if (v == root)
			continue;
		if (c == OSR_NONE || !osr_spf_is_closer(&m->spf, root, c)) {
			for (c = m->f->chan_row[v]; c < m->f->chan_row[v + 1]; c++)
				if (osr_spf_is_closer(&m->spf, root, c))
					chan[k++] = c;
			c = choose(m, v, chan, k);
		}
		hop[v] = (uint8_t)(c - m->f->chan_row[v]);
	}
}

/* All trees, each switch after those that are closer. */
static void fill_tables(struct dmodk *m)
{
	const struct osr_fabric *fabric = m->f;
	struct osr_spf *spf = &m->spf;
	uint32_t n = fabric->n_switches;

	for (uint32_t root = 0; root < n; root++) {
		const uint16_t *order = spf->order + (size_t)root * n;
		const uint32_t *row = NULL, *chan = NULL;

		if (!m->up_hop)
			osr_spf_ways(spf, root, &row, &chan);
		for (uint32_t k = spf->dest_row[root]; k < spf->dest_row[root + 1]; k++) {
			uint32_t d = spf->dest_list[k], t = fabric->dest_term[d];
			uint8_t *hop = spf->hop + (size_t)d * n;

			if (spf->alias[d] != OSR_NONE) {
				memcpy(hop, spf->hop + (size_t)spf->alias[d] * n, n);
				continue;
			}
			find_slots(m, d);
			if (m->up_hop) {
				fill_whole(m, root, d);
				continue;
			}
			for (uint32_t i = 1; i < spf->n_order[root]; i++)
				hop[order[i]] = (uint8_t)(choose(m, order[i], chan + row[i],
								 row[i + 1] - row[i]) -
							  fabric->chan_row[order[i]]);
			osr_spf_count(spf, d);
			if (m->met && m->p.term_index[t] != OSR_NONE && fabric->term_weight[t])
				part_note(m, d);
		}
	}
}

/* A whole tree of all switches with hosts on leaves alone? Then hops up by their number q, the same on all levels. */
static enum osr_status find_whole(struct dmodk *m, struct osr_arena *scratch, struct osr_diag *diag)
{
	uint32_t n = m->f->n_switches, most = 1;

	if (m->n_missing || m->p.n_trees > 1 || m->p.tree[0].merged || m->p.tree[0].n_spares)
		return OSR_OK;
	for (uint32_t v = 0; v < n; v++) {
		uint32_t n_up = osr_pgft_n_up(&m->p, v);

		if (!m->p.sw_level[v] || (m->p.sw_level[v] > 1 && m->f->sw_sources[v]))
			return OSR_OK;
		most = most < n_up ? n_up : most;
	}
	m->up_hop = osr_calloc(scratch, (size_t)most * n, 1);
	if (osr_arena_failed(scratch, diag))
		return OSR_NOMEM;
	for (uint32_t v = 0; v < n; v++)
		for (uint32_t q = 0; q < osr_pgft_n_up(&m->p, v); q++)
			m->up_hop[(size_t)q * n + v] =
				(uint8_t)(m->p.up[m->p.up_row[v] + q] - m->f->chan_row[v]);
	return OSR_OK;
}

static enum osr_status prepare(struct dmodk *m, struct osr_arena *scratch, struct osr_diag *diag)
{
	uint32_t n = m->f->n_switches;
	uint64_t n_entries = (uint64_t)n * m->f->n_dests;

	m->port = osr_alloc(scratch, m->f->n_channels, sizeof(*m->port));
	if (osr_arena_failed(scratch, diag))
		return OSR_NOMEM;
	memset(m->port, 0xff, m->f->n_channels * sizeof(*m->port));
	for (uint32_t v = 0; v < n; v++) {
		for (uint32_t q = 0; q < osr_pgft_n_up(&m->p, v); q++)
			if (m->p.up[m->p.up_row[v] + q] != OSR_NONE)
				m->port[m->p.up[m->p.up_row[v] + q]] = q;
	}
	m->spf.place = m->o.number;
	for (uint32_t i = 0; i < m->p.n_trees; i++) {
		const struct osr_pgft_tree *tree = &m->p.tree[i];
		uint32_t n_leaves = tree->m_product[tree->h] / tree->m[1];

		m->n_missing += tree->n_missing_links + tree->n_missing_switches;
		m->n_buckets = m->n_buckets < n_leaves ? n_leaves : m->n_buckets;
	}
	if (!m->n_missing || (uint64_t)m->f->n_channels * m->n_buckets > MAX_MET)
		return find_whole(m, scratch, diag);
	m->max_entries = n_entries < MAX_ENTRIES ? (uint32_t)n_entries : MAX_ENTRIES;
	m->entry = osr_alloc(scratch, m->max_entries, sizeof(*m->entry));
	m->passed = osr_alloc(scratch, n, 1);
	m->met = osr_calloc(scratch, (size_t)m->f->n_channels * m->n_buckets, sizeof(*m->met));
	return osr_arena_failed(scratch, diag) ? OSR_NOMEM : OSR_OK;
}

/*
 * With the digits of the last sweep, if the tree is one with them too; what is to be remembered of
 * this one goes into the notes.
 */
static enum osr_status find_tree(struct dmodk *m, const struct osr_job *job)
{
	struct osr_pgft_options opt = { .max_missing = (uint32_t)job->values->num[MISSING] };
	struct osr_pgft_memory memory;
	enum osr_status st;

	opt.memory = osr_pgft_memory_read(&job->notes, &memory) ? &memory : NULL;
	st = osr_pgft_find(m->f, &opt, job->scratch, &m->p, job->diag);
	if (!st)
		st = osr_routing_init(job->routing, m->f, job->arena, job->diag);
	if (!st)
		st = osr_pgft_remember(&m->p, job->arena, &job->routing->notes, job->diag);
	return st ? st : osr_tree_order_find(&m->p, job->scratch, &m->o, job->diag);
}

/* One lane for a whole tree, whose routes keep to the order: the certificate, and the spanning order of multicast. */
static enum osr_status certify(const struct osr_tree_order *order, const struct osr_request *req,
			       struct osr_arena *scratch, struct osr_arena *result,
			       struct osr_routing *routing, struct osr_diag *diag)
{
	uint32_t n = order->f->n_switches, *tree = osr_alloc(scratch, n, sizeof(*tree)),
		 *depth = osr_alloc(scratch, n, sizeof(*depth));

	routing->rank = osr_alloc(result, order->f->n_channels, sizeof(*routing->rank));
	if (osr_arena_failed(scratch, diag) || osr_arena_failed(result, diag))
		return OSR_NOMEM;
	osr_span_rank(order->f, order->number, routing->rank);
	routing->n_vls = routing->n_layers = routing->n_layers_one_way = 1;
	routing->claims |= OSR_CLAIM_DEADLOCK_FREE | OSR_CLAIM_REVERSIBLE | OSR_CLAIM_ANY_SL;
	if (!req->multicast)
		return OSR_OK;
	/* Up to the parents, cut down to what lies between end ports. */
	osr_span_in_order(order->f, order->number, order->by_number, depth, tree);
	routing->claims |= OSR_CLAIM_MULTICAST;
	return osr_span_take(order->f, tree, scratch, result, routing, diag);
}

static enum osr_status dmodk_route(const struct osr_job *job)
{
	const struct osr_request *req = &job->request;
	struct osr_routing *routing = job->routing;
	double start = req->clock_ms ? req->clock_ms() : 0;
	struct osr_spf_options spf_options = { .ignore_rates = true };
	struct dmodk m = { .f = job->fabric };
	enum osr_status st = find_tree(&m, job);
	struct osr_lanes_job lanes = { .s = &m.spf,
				       .req = req,
				       .scratch = job->scratch,
				       .result = job->arena,
				       .r = routing,
				       .diag = job->diag };

	if (!st)
		st = dmodk_describe(&m.p, job->arena, routing, job->diag);
	if (!st)
		st = osr_spf_init(&m.spf, m.f, routing, &spf_options, job->scratch, job->diag);
	if (!st)
		st = prepare(&m, job->scratch, job->diag);
	if (st)
		return st;
	m.limit = m.spf.least * BALANCE / 100;
	fill_tables(&m);
	/* What the rule makes uneven where links are missing: first for shifts, then, if that is not enough, for all. */
	for (uint32_t i = 0; i < ROUNDS; i++)
		part_flows(&m);
	m.spf.place = NULL;
	/* The order has one root in each component, from which a chain of neighbours leads down to every switch. */
	st = m.up_hop ? certify(&m.o, req, job->scratch, job->arena, routing, job->diag)
		      : osr_lanes_in_order(&lanes, &m.o);
	if (st)
		return st;
	m.spf.place = m.o.number;
	if (m.n_missing && osr_spf_load(&m.spf) > m.limit)
		osr_spf_relieve(&m.spf, m.limit);
	osr_spf_finish(&m.spf);
	routing->engine = "dmodk";
	routing->claims |= routing->n_longer ? 0 : OSR_CLAIM_MINIMAL;
	routing->ms_spf = req->clock_ms ? req->clock_ms() - start : 0;
	return OSR_OK;
}

const struct osr_engine osr_engine_dmodk = {
	.name = "dmodk",
	.summary =
		"D-Mod-K for fat trees, whole and broken: no contention for shifts in node order, "
		"one virtual lane",
	.reference =
		"Zahavi: Fat-Trees Routing and Node Ordering Providing Contention Free Traffic "
		"for MPI Global Collectives",
	.params = params,
	.capabilities = OSR_ENGINE_DEADLOCK_FREE,
	.applies = dmodk_applies,
	.route = dmodk_route,
};

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * dmodk - D-Mod-K routing for parallel-ports generalised fat trees, whole and broken.
 *
 * Source: Zahavi, Fat-Trees Routing and Node Ordering Providing Contention Free Traffic for MPI
 * Global Collectives, equation (1); for broken trees the idea of Gliksberg et al., High-Quality
 * Fault Resiliency in Fat Trees (Dmodc), to apply the rule to the switches that are left.
 *
 * Routes are shortest paths within the order of treeorder.h, which makes one lane enough (spf.h);
 * the rule chooses among them. What has no such path takes a longer one in the order.
 *
 * DIFFERS from Dmodc: an entry changes only if its own way is gone. There the rule is applied to
 * whatever choice is left at a switch, and a missing link moves most dests of it.
 */
#include <osmroutes/each.h>
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
	const struct osr_fabric *fabric;
	struct osr_pgft pgft;
	/* the total order of the switches that all routes keep to */
	struct osr_tree_order tree_order;
	struct osr_spf spf;
	uint32_t *port; /* [n_channels] the number q of an up-port; OSR_NONE: spare, or not up */
	uint32_t n_missing; /* links and switches, of all trees */
	/* [most up-ports * n_switches] by q: hops up; NULL: not whole, or hosts above leaves */
	uint8_t *up_hop;

	/* Of the dest at hand. */
	const struct osr_pgft_tree *tree; /* NULL: in none */
	uint32_t index;                   /* the j that the modulo rule takes */
	uint32_t rank;                    /* of its host */
	uint32_t own[OSR_PGFT_MAX_LEVELS + 1], slot[OSR_PGFT_MAX_LEVELS + 1];
	/* A of its switch and of those above; and which of these its own way passes. */
	uint32_t above[OSR_PGFT_MAX_LEVELS + 1], way[OSR_PGFT_MAX_LEVELS + 1];

	/* Flows that left their ways: see part_choose(). */
	uint16_t *met;        /* [n_channels * n_buckets] NULL: they are not parted */
	uint32_t *term_rank;  /* [n_terminals] of hosts, in their tree */
	uint32_t *first_rank; /* [n_switches] of leaves */
	uint32_t n_buckets;
	uint64_t limit;  /* routes between hosts that a channel may carry */
	uint8_t *passed; /* [n_switches] by routes of others to the dest at hand */
	struct entry *entry;
	uint32_t n_entries, max_entries;
};

static enum osr_status dmodk_applies(const struct osr_job *job)
{
	const struct osr_fabric *fabric = job->fabric;

	OSR_EACH_SWITCH(s, fabric)
		if (fabric->sw_sources[s])
			return OSR_OK;
	return osr_fail(job->diag, OSR_NOT_APPLICABLE,
			"not a fat tree: no CA or router on any of %u switches",
			fabric->n_switches);
}

/* The recognised tree, for the log. */
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
 * The j of the rule. Hosts have their number. A service port on a leaf takes a slot from the last
 * one downwards, port 0 that of the first host. Above the leaves, sub-tree, place and port make a
 * number that spreads. `x`: the switch of the tree that leads to d.
 */
static uint32_t index_of(const struct dmodk *dmodk, uint32_t x, uint32_t d)
{
	const struct osr_fabric *fabric = dmodk->fabric;
	const struct osr_pgft_tree *tree = &dmodk->pgft.tree[dmodk->pgft.sw_tree[x]];
	uint32_t t = fabric->dest_term[d], nth = t - fabric->term_row[fabric->term_switch[t]];

	if (dmodk->pgft.term_number[t] != OSR_NONE)
		return dmodk->pgft.term_number[t];
	if (dmodk->pgft.sw_level[x] == 1)
		return dmodk->pgft.sw_a[x] * tree->m[1] +
		       (fabric->term_port[t] ? tree->m[1] - 1 - nth % tree->m[1] : 0);
	return dmodk->pgft.sw_a[x] * tree->m_product[dmodk->pgft.sw_level[x]] +
	       dmodk->pgft.sw_b[x] + nth;
}

/*
 * The choice of the rule where a port of level l is missing, modulo the ports left: the index's
 * next digit, so that dests of this port spread; its own digit and the lower ones, so that dests of
 * one switch spread, even if some of them have moved here.
 */
static uint32_t next_rule(const struct dmodk *dmodk, uint32_t l)
{
	uint32_t wp = dmodk->tree->w[l + 1] * dmodk->tree->p[l + 1],
		 i = dmodk->index / dmodk->tree->w_product[l];

	return i / wp + i % wp + dmodk->index % dmodk->tree->w_product[l];
}

/*
 * The q-th of the up-ports at up[], or if that is missing the nth of the existing ones; OSR_NONE:
 * none exists.
 */
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
 * The up-ports q_1 .. q_(h-1) towards d. By equation (1), own[], but below the level of its switch
 * x, where the parent's digit is the digit of x and only the cable is free. If the way down from
 * there is broken, the dest of a leaf moves, for all sources alike: slot[] keeps the existing part
 * of its way, from the bottom up, and then takes the next choices of the rule.
 */
static void find_slots(struct dmodk *dmodk, uint32_t d)
{
	const struct osr_pgft_tree *tree;
	uint32_t x = dmodk->fabric->dest_switch[d], lx, s, q;

	/* A switch outside the tree hangs on the switch that leads to it. */
	if (!dmodk->pgft.sw_level[x] && dmodk->fabric->chan_row[x] < dmodk->fabric->chan_row[x + 1])
		x = dmodk->fabric->chan_dst[dmodk->fabric->chan_row[x]];
	lx = dmodk->pgft.sw_level[x];
	dmodk->tree = NULL;
	dmodk->index = d;
	if (!lx)
		return;
	dmodk->tree = tree = &dmodk->pgft.tree[dmodk->pgft.sw_tree[x]];
	dmodk->index = index_of(dmodk, x, d);
	dmodk->rank = dmodk->met ? dmodk->term_rank[dmodk->fabric->dest_term[d]] : 0;
	for (uint32_t l = 1; l < tree->h; l++) {
		uint32_t w = tree->w[l + 1], p = tree->p[l + 1],
			 i = dmodk->index / tree->w_product[l];

		dmodk->own[l] = l >= lx ? i % (w * p)
					: dmodk->pgft.sw_b[x] / tree->w_product[l] % w + i % p * w;
		dmodk->slot[l] = dmodk->own[l];
	}
	for (uint32_t l = 0; l <= tree->h; l++) {
		dmodk->way[l] = OSR_NONE;
		dmodk->above[l] =
			l < lx ? OSR_NONE
			       : dmodk->pgft.sw_a[x] / (tree->m_product[l] / tree->m_product[lx]);
	}
	dmodk->way[lx] = s = x;
	for (uint32_t l = lx; l < tree->h; l++) {
		const uint32_t *up = dmodk->pgft.up + dmodk->pgft.up_row[s];

		q = lx > 1 ? dmodk->slot[l]
			   : port_left(up, osr_pgft_n_up(&dmodk->pgft, s), dmodk->slot[l],
				       next_rule(dmodk, l));
		if (q == OSR_NONE || up[q] == OSR_NONE)
			return;
		dmodk->slot[l] = q;
		dmodk->way[l + 1] = s = dmodk->fabric->chan_dst[up[q]];
	}
}

/*
 * Where the rule leads from v: up by the port of its level; from an ancestor of x down to the child
 * there that d's own way passes, if v is on it, or else to that with v's own digits, by the cable
 * that a packet to d would take in the other direction. OSR_NONE: it does not know, or this link is
 * missing.
 */
static uint32_t wanted(const struct dmodk *dmodk, uint32_t v)
{
	const struct osr_pgft_tree *tree = dmodk->tree;
	uint32_t l = dmodk->pgft.sw_level[v], child, c, b, q;

	if (!tree || !l)
		return OSR_NONE;
	if (dmodk->pgft.sw_a[v] != dmodk->above[l])
		return dmodk->pgft.up[dmodk->pgft.up_row[v] + dmodk->slot[l]];
	if (dmodk->above[l - 1] == OSR_NONE)
		return OSR_NONE;
	q = dmodk->slot[l - 1];
	child = dmodk->way[l - 1];
	if (v != dmodk->way[l]) {
		b = dmodk->pgft.sw_b[v];
		child = tree->place[l - 1][(size_t)dmodk->above[l - 1] * tree->w_product[l - 1] +
					   b % tree->w_product[l - 1]];
		q = b / tree->w_product[l - 1] + q / tree->w[l] * tree->w[l];
	}
	c = child == OSR_NONE ? OSR_NONE : dmodk->pgft.up[dmodk->pgft.up_row[child] + q];
	return c != OSR_NONE && dmodk->fabric->chan_dst[c] == v ? dmodk->fabric->chan_rev[c]
								: OSR_NONE;
}

/* Of n channels the choice of the rule, or else the choice of its next digit. */
static uint32_t choose(const struct dmodk *dmodk, uint32_t v, const uint32_t *chan, uint32_t n)
{
	uint32_t c = wanted(dmodk, v), l = dmodk->pgft.sw_level[v];

	for (uint32_t i = 0; i < n; i++)
		if (chan[i] == c)
			return c;
	if (n == 1 || !dmodk->tree || !l)
		return chan[dmodk->index % n];
	return chan[next_rule(dmodk, dmodk->pgft.sw_level[dmodk->fabric->chan_dst[chan[0]]] > l
					     ? l
					     : l - 1) %
		    n];
}

/* ---- flows that meet ------------------------------------------------------------------------- */

/*
 * Where links are missing, leaves choose so that flows which left the ways of equation (1) do not
 * come together in one stage of a shift, and no link carries much more than it must.
 *
 * In stage t of a shift rank i sends to rank i + t. From a leaf whose first host has rank i, dest
 * d is sent to in the stages d - i - m_1 < t <= d - i, so two entries (leaf, dest) meet on a link
 * that both use exactly if their d - i are less than m_1 apart. Flows on the paths of the rule do
 * not meet (theorems 1 and 2); so every link carries one of these, and what has to be told apart is
 * the rest. Entries are counted by link and stages, in buckets of m_1 stages; of the neighbouring
 * buckets the nearer one counts as well.
 *
 * Only leaves choose: they have all ways, and nobody's route passes them.
 */
#define MAX_WAY (2 * OSR_PGFT_MAX_LEVELS)

/* The channels of a route; from `odd` on they differ from equation (1). */
struct way {
	uint32_t n, odd, chan[MAX_WAY];
};

/*
 * The route from leaf s to d that begins with channel c; of all switches nearer to d the hops are
 * known.
 */
static void part_walk(const struct dmodk *dmodk, uint32_t s, uint32_t d, uint32_t c,
		      struct way *way)
{
	bool up = true, own = true;

	way->n = way->odd = 0;
	for (; way->n < MAX_WAY; c = osr_spf_channel(&dmodk->spf, d, s)) {
		uint32_t l = dmodk->pgft.sw_level[s];

		s = dmodk->fabric->chan_dst[c];
		up = up && dmodk->pgft.sw_level[s] > l;
		own = own && (!up || dmodk->port[c] == dmodk->own[l]);
		way->chan[way->n++] = c;
		way->odd += own;
		if (s == dmodk->fabric->dest_switch[d])
			return;
	}
}

/* The counters of channel c in the bucket of (s, d) and in the next one. */
static uint32_t part_bucket(const struct dmodk *dmodk, uint32_t s, uint32_t *beside)
{
	uint32_t n = dmodk->tree->n_hosts, m1 = dmodk->tree->m[1],
		 stage = (dmodk->rank + n - dmodk->first_rank[s]) % n, buckets = (n + m1 - 1) / m1;

	*beside = (stage / m1 + (2 * (stage % m1) < m1 ? buckets - 1 : 1)) % buckets;
	return stage / m1;
}

/* Counts an entry on the links that are not its own, and its routes on all; or takes them away. */
static void part_count(const struct dmodk *dmodk, uint32_t s, const struct way *way, int by)
{
	uint32_t beside, bucket = part_bucket(dmodk, s, &beside);

	for (uint32_t i = 0; i < way->n; i++) {
		uint32_t c = way->chan[i];

		dmodk->spf.weight[c] +=
			(uint64_t)((int64_t)dmodk->fabric->sw_sources[s] * dmodk->spf.unit[c] * by)
			<< 8;
		if (i >= way->odd)
			dmodk->met[(size_t)c * dmodk->n_buckets + bucket] += (uint16_t)by;
	}
}

/*
 * The cost of a way: squares of the flows that meet there; too much load costs more than any of
 * them.
 */
static uint64_t part_cost(const struct dmodk *dmodk, uint32_t s, const struct way *way)
{
	uint32_t beside, bucket = part_bucket(dmodk, s, &beside);
	uint64_t cost = 0;

	for (uint32_t i = 0; i < way->n; i++) {
		const uint16_t *met = dmodk->met + (size_t)way->chan[i] * dmodk->n_buckets;
		uint64_t n = 1 + met[bucket] + met[beside];

		if ((dmodk->spf.weight[way->chan[i]] >> 8) + dmodk->fabric->sw_sources[s] >
		    dmodk->limit)
			cost += UINT64_C(1) << 20;
		cost += i < way->odd ? 0 : n * n;
	}
	return cost;
}

/* The best of n channels of leaf s for d, beginning with the present one. */
static void part_choose(struct dmodk *dmodk, uint32_t s, uint32_t d, const uint32_t *chan,
			uint32_t n)
{
	uint8_t *hop = dmodk->spf.hop + (size_t)d * dmodk->fabric->n_switches + s;
	struct way way, best;
	uint64_t least;

	find_slots(dmodk, d);
	part_walk(dmodk, s, d, dmodk->fabric->chan_row[s] + *hop, &best);
	part_count(dmodk, s, &best, -1);
	least = part_cost(dmodk, s, &best);
	for (uint32_t i = 0; i < n && least > best.n - best.odd; i++) {
		uint32_t c = chan[(dmodk->index / n + dmodk->pgft.sw_a[s] + i) % n];
		uint64_t cost;

		part_walk(dmodk, s, d, c, &way);
		cost = part_cost(dmodk, s, &way);
		if (cost >= least)
			continue;
		least = cost;
		best = way;
	}
	*hop = (uint8_t)(best.chan[0] - dmodk->fabric->chan_row[s]);
	part_count(dmodk, s, &best, 1);
}

/* Notes which leaves left their own way to d, if their entry is for themselves alone. */
static void part_note(struct dmodk *dmodk, uint32_t d)
{
	uint32_t n = dmodk->fabric->n_switches, root = dmodk->fabric->dest_switch[d];
	const uint16_t *order = dmodk->spf.order + (size_t)root * n;

	memset(dmodk->passed, 0, n);
	for (uint32_t i = dmodk->spf.n_order[root]; i-- > 1;) {
		uint32_t s = order[i], c = osr_spf_channel(&dmodk->spf, d, s), beside, bucket;
		struct way way;

		if (!dmodk->fabric->sw_sources[s] && !dmodk->passed[s])
			continue;
		dmodk->passed[dmodk->fabric->chan_dst[c]] = 1;
		if (dmodk->pgft.sw_level[s] != 1 || dmodk->passed[s] ||
		    dmodk->n_entries > dmodk->max_entries)
			continue;
		part_walk(dmodk, s, d, c, &way);
		bucket = part_bucket(dmodk, s, &beside);
		for (uint32_t k = way.odd; k < way.n; k++)
			dmodk->met[(size_t)way.chan[k] * dmodk->n_buckets + bucket]++;
		if (way.odd == way.n)
			continue;
		if (dmodk->n_entries < dmodk->max_entries)
			dmodk->entry[dmodk->n_entries] = (struct entry){ d, i };
		dmodk->n_entries++;
	}
}

static void part_flows(struct dmodk *dmodk)
{
	const uint32_t *row = NULL, *chan = NULL;
	uint32_t root, last = OSR_NONE;

	for (uint32_t k = 0; k < dmodk->n_entries && dmodk->n_entries <= dmodk->max_entries; k++) {
		uint32_t d = dmodk->entry[k].dest, i = dmodk->entry[k].at;

		root = dmodk->fabric->dest_switch[d];
		if (root != last)
			osr_spf_ways(&dmodk->spf, root, &row, &chan);
		last = root;
		part_choose(dmodk, dmodk->spf.order[(size_t)root * dmodk->fabric->n_switches + i],
			    d, chan + row[i], row[i + 1] - row[i]);
	}
}

/* ---- tables ---------------------------------------------------------------------------------- */

/*
 * In a whole tree the rule is right for hosts: up, but for the ancestors of their leaf. For port 0
 * of an upper switch it is as long as it gets closer.
 */
static void fill_whole(const struct dmodk *dmodk, uint32_t root, uint32_t d)
{
	uint32_t n = dmodk->fabric->n_switches, chan[256];
	uint8_t *hop = dmodk->spf.hop + (size_t)d * n;

	for (uint32_t v = 0; v < n && dmodk->pgft.sw_level[root] == 1; v++)
		hop[v] = v == root
				 ? OSR_NO_PATH
				 : dmodk->up_hop[(size_t)dmodk->slot[dmodk->pgft.sw_level[v]] * n +
						 v];
	for (uint32_t l = 2; l <= dmodk->tree->h && dmodk->pgft.sw_level[root] == 1; l++)
		for (uint32_t b = 0; b < dmodk->tree->w_product[l]; b++) {
			uint32_t v = dmodk->tree->place[l][(size_t)dmodk->above[l] *
								   dmodk->tree->w_product[l] +
							   b];

			hop[v] = (uint8_t)(wanted(dmodk, v) - dmodk->fabric->chan_row[v]);
		}
	for (uint32_t v = 0; v < n && dmodk->pgft.sw_level[root] > 1; v++) {
		uint32_t c = wanted(dmodk, v), k = 0;

		if (v == root)
			continue;
		if (c == OSR_NONE || !osr_spf_is_closer(&dmodk->spf, root, c)) {
			for (c = dmodk->fabric->chan_row[v]; c < dmodk->fabric->chan_row[v + 1];
			     c++)
				if (osr_spf_is_closer(&dmodk->spf, root, c))
					chan[k++] = c;
			c = choose(dmodk, v, chan, k);
		}
		hop[v] = (uint8_t)(c - dmodk->fabric->chan_row[v]);
	}
}

/* All trees, each switch after the switches closer to the LID. */
static void fill_tables(struct dmodk *dmodk)
{
	const struct osr_fabric *fabric = dmodk->fabric;
	struct osr_spf *spf = &dmodk->spf;
	uint32_t n = fabric->n_switches;

	OSR_EACH_SWITCH(root, fabric) {
		const uint16_t *order = spf->order + (size_t)root * n;
		const uint32_t *row = NULL, *chan = NULL;

		if (!dmodk->up_hop)
			osr_spf_ways(spf, root, &row, &chan);
		for (uint32_t k = spf->dest_row[root]; k < spf->dest_row[root + 1]; k++) {
			uint32_t d = spf->dest_list[k], t = fabric->dest_term[d];
			uint8_t *hop = spf->hop + (size_t)d * n;

			if (spf->alias[d] != OSR_NONE) {
				memcpy(hop, spf->hop + (size_t)spf->alias[d] * n, n);
				continue;
			}
			find_slots(dmodk, d);
			if (dmodk->up_hop) {
				fill_whole(dmodk, root, d);
				continue;
			}
			for (uint32_t i = 1; i < spf->n_order[root]; i++)
				hop[order[i]] = (uint8_t)(choose(dmodk, order[i], chan + row[i],
								 row[i + 1] - row[i]) -
							  fabric->chan_row[order[i]]);
			osr_spf_count(spf, d);
			if (dmodk->met && dmodk->pgft.term_index[t] != OSR_NONE &&
			    fabric->term_weight[t])
				part_note(dmodk, d);
		}
	}
}

/*
 * A whole tree of all switches with hosts on leaves alone? Then hops up by their number q, the same
 * on all levels.
 */
static enum osr_status find_whole(struct dmodk *dmodk, struct osr_arena *scratch,
				  struct osr_diag *diag)
{
	uint32_t n = dmodk->fabric->n_switches, most = 1;

	if (dmodk->n_missing || dmodk->pgft.n_trees > 1 || dmodk->pgft.tree[0].merged ||
	    dmodk->pgft.tree[0].n_spares)
		return OSR_OK;
	for (uint32_t v = 0; v < n; v++) {
		uint32_t n_up = osr_pgft_n_up(&dmodk->pgft, v);

		if (!dmodk->pgft.sw_level[v] ||
		    (dmodk->pgft.sw_level[v] > 1 && dmodk->fabric->sw_sources[v]))
			return OSR_OK;
		most = most < n_up ? n_up : most;
	}
	dmodk->up_hop = osr_calloc(scratch, (size_t)most * n, 1);
	if (osr_arena_failed(scratch, diag))
		return OSR_NOMEM;
	for (uint32_t v = 0; v < n; v++)
		for (uint32_t q = 0; q < osr_pgft_n_up(&dmodk->pgft, v); q++)
			dmodk->up_hop[(size_t)q * n + v] =
				(uint8_t)(dmodk->pgft.up[dmodk->pgft.up_row[v] + q] -
					  dmodk->fabric->chan_row[v]);
	return OSR_OK;
}

/* Hosts of a tree, and of a leaf, follow each other. */
static void find_ranks(struct dmodk *dmodk)
{
	const struct osr_pgft *pgft = &dmodk->pgft;
	uint32_t leaf = OSR_NONE, tree = OSR_NONE, rank = 0;

	for (uint32_t i = 0; i < pgft->n_order; i++, rank++) {
		uint32_t t = pgft->order[i], s = dmodk->fabric->term_switch[t];

		if (pgft->sw_tree[s] != tree)
			rank = 0;
		if (s != leaf)
			dmodk->first_rank[s] = rank;
		dmodk->term_rank[t] = rank;
		tree = pgft->sw_tree[s];
		leaf = s;
	}
}

static enum osr_status prepare(struct dmodk *dmodk, struct osr_arena *scratch,
			       struct osr_diag *diag)
{
	uint32_t n = dmodk->fabric->n_switches;
	uint64_t n_entries = (uint64_t)n * dmodk->fabric->n_dests;

	dmodk->port = osr_alloc(scratch, dmodk->fabric->n_channels, sizeof(*dmodk->port));
	if (osr_arena_failed(scratch, diag))
		return OSR_NOMEM;
	memset(dmodk->port, 0xff, dmodk->fabric->n_channels * sizeof(*dmodk->port));
	for (uint32_t v = 0; v < n; v++) {
		for (uint32_t q = 0; q < osr_pgft_n_up(&dmodk->pgft, v); q++)
			if (dmodk->pgft.up[dmodk->pgft.up_row[v] + q] != OSR_NONE)
				dmodk->port[dmodk->pgft.up[dmodk->pgft.up_row[v] + q]] = q;
	}
	dmodk->spf.place = dmodk->tree_order.number;
	for (uint32_t i = 0; i < dmodk->pgft.n_trees; i++) {
		const struct osr_pgft_tree *tree = &dmodk->pgft.tree[i];
		uint32_t n_buckets = (tree->n_hosts + tree->m[1] - 1) / tree->m[1];

		dmodk->n_missing += tree->n_missing_links + tree->n_missing_switches;
		dmodk->n_buckets = dmodk->n_buckets < n_buckets ? n_buckets : dmodk->n_buckets;
	}
	if (!dmodk->n_missing || (uint64_t)dmodk->fabric->n_channels * dmodk->n_buckets > MAX_MET)
		return find_whole(dmodk, scratch, diag);
	dmodk->max_entries = n_entries < MAX_ENTRIES ? (uint32_t)n_entries : MAX_ENTRIES;
	dmodk->entry = osr_alloc(scratch, dmodk->max_entries, sizeof(*dmodk->entry));
	dmodk->passed = osr_alloc(scratch, n, 1);
	dmodk->met = osr_calloc(scratch, (size_t)dmodk->fabric->n_channels * dmodk->n_buckets,
				sizeof(*dmodk->met));
	dmodk->term_rank =
		osr_calloc(scratch, dmodk->fabric->n_terminals, sizeof(*dmodk->term_rank));
	dmodk->first_rank = osr_calloc(scratch, n, sizeof(*dmodk->first_rank));
	if (osr_arena_failed(scratch, diag))
		return OSR_NOMEM;
	find_ranks(dmodk);
	return OSR_OK;
}

/*
 * With the digits of the last sweep, if the tree is one with them too; the digits to remember go
 * into the notes.
 */
static enum osr_status find_tree(struct dmodk *dmodk, const struct osr_job *job)
{
	struct osr_pgft_options opt = { .max_missing = (uint32_t)job->values->num[MISSING] };
	struct osr_pgft_memory memory;
	enum osr_status st;

	opt.memory = osr_pgft_memory_read(&job->notes, &memory) ? &memory : NULL;
	st = osr_pgft_find(dmodk->fabric, &opt, job->scratch, &dmodk->pgft, job->diag);
	if (!st)
		st = osr_pgft_number(&dmodk->pgft, job->scratch, job->diag);
	if (!st)
		st = osr_routing_init(job->routing, dmodk->fabric, job->arena, job->diag);
	if (!st)
		st = osr_pgft_remember(&dmodk->pgft, job->arena, &job->routing->notes, job->diag);
	return st ? st
		  : osr_tree_order_find(&dmodk->pgft, job->scratch, &dmodk->tree_order, job->diag);
}

/*
 * One lane for a whole tree, whose routes keep to the order: the certificate, and the spanning
 * order of multicast.
 */
static enum osr_status certify(const struct osr_tree_order *order, const struct osr_request *req,
			       struct osr_arena *scratch, struct osr_arena *result,
			       struct osr_routing *routing, struct osr_diag *diag)
{
	uint32_t n = order->fabric->n_switches, *tree = osr_alloc(scratch, n, sizeof(*tree)),
		 *depth = osr_alloc(scratch, n, sizeof(*depth));

	routing->rank = osr_alloc(result, order->fabric->n_channels, sizeof(*routing->rank));
	if (osr_arena_failed(scratch, diag) || osr_arena_failed(result, diag))
		return OSR_NOMEM;
	osr_span_rank(order->fabric, order->number, routing->rank);
	routing->n_vls = routing->n_layers = routing->n_layers_one_way = 1;
	routing->claims |= OSR_CLAIM_DEADLOCK_FREE | OSR_CLAIM_REVERSIBLE | OSR_CLAIM_ANY_SL;
	if (!req->multicast)
		return OSR_OK;
	/* Up to the parents, reduced to the part between end ports. */
	osr_span_in_order(order->fabric, order->number, order->by_number, depth, tree);
	routing->claims |= OSR_CLAIM_MULTICAST;
	return osr_span_take(order->fabric, tree, scratch, result, routing, diag);
}

static enum osr_status dmodk_route(const struct osr_job *job)
{
	const struct osr_request *req = &job->request;
	struct osr_routing *routing = job->routing;
	double start = req->clock_ms ? req->clock_ms() : 0;
	struct osr_spf_options spf_options = { .ignore_rates = true };
	struct dmodk dmodk = { .fabric = job->fabric };
	enum osr_status st = find_tree(&dmodk, job);
	struct osr_lanes_job lanes = { .spf = &dmodk.spf,
				       .req = req,
				       .scratch = job->scratch,
				       .result = job->arena,
				       .routing = routing,
				       .diag = job->diag };

	if (!st)
		st = dmodk_describe(&dmodk.pgft, job->arena, routing, job->diag);
	if (!st)
		st = osr_spf_init(&dmodk.spf, dmodk.fabric, routing, &spf_options, job->scratch,
				  job->diag);
	if (!st)
		st = prepare(&dmodk, job->scratch, job->diag);
	if (st)
		return st;
	dmodk.limit = dmodk.spf.least * BALANCE / 100;
	fill_tables(&dmodk);
	/*
	 * Where links are missing the rule is uneven: moves for shifts first; if that is not
	 * enough, for all.
	 */
	for (uint32_t i = 0; i < ROUNDS; i++)
		part_flows(&dmodk);
	dmodk.spf.place = NULL;
	/*
	 * The order has one root in each component, from which a chain of neighbours leads down to
	 * every switch.
	 */
	st = dmodk.up_hop
		     ? certify(&dmodk.tree_order, req, job->scratch, job->arena, routing, job->diag)
		     : osr_lanes_in_order(&lanes, &dmodk.tree_order);
	if (st)
		return st;
	dmodk.spf.place = dmodk.tree_order.number;
	if (dmodk.n_missing && osr_spf_load(&dmodk.spf) > dmodk.limit)
		osr_spf_relieve(&dmodk.spf, dmodk.limit);
	osr_spf_finish(&dmodk.spf);
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

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The destinations of one switch share their distances, so they are checked together, and the
 * breadth-first searches of 64 such switches run at once, one bit each (The More the Merrier:
 * Efficient Multi-Source Graph Traversal, Then et al., VLDB 2014).
 *
 * The forwarding entries of one destination form a tree. It is walked once, from the farthest
 * switch to the nearest, so that everything known of upstream switches has arrived when a switch is
 * looked at: how many sources send through it, the highest rank its packets came from, their SLs.
 *
 * A walk only says yes or no, which keeps it fast. After a no, blame_*() look again, in the order
 * of the switch numbers, for the sentence.
 */
#include <osmroutes/check.h>

#include <stdio.h>
#include <string.h>

#define BATCH 64 /* searches at once: bits of a word */

/* A port of a switch as the walk needs it. */
struct port {
	uint32_t dst;  /* switch behind it; n_switches if there is none */
	uint32_t key;  /* rank + 1 of its channel if all VLs share one certificate */
	uint64_t load; /* routes from host ports to host LIDs */
};

struct sw {
	uint32_t row; /* port_row */
	uint32_t n_ports;
};

/* What a switch of the current tree has received from upstream. */
struct inflow {
	uint32_t sources; /* end ports that send through it, its own included */
	uint32_t key;     /* highest key of a channel that packets arrive on; 0: none */
};

struct checker {
	const struct osr_fabric *f;
	const struct osr_routing *r;
	struct osr_verdict *v;
	struct osr_diag *diag;
	bool shared; /* VL = SL and any SL: one dependency graph for all VLs */
	bool minimal;
	uint16_t sls; /* SLs, or VLs if there are SL2VL tables, that carry routes */

	struct port *port;  /* [n_ports], as port_chan */
	struct sw *sw;      /* [n_switches] */
	uint32_t *dest_row; /* [n_switches + 1]: the dests of switch s are */
	uint32_t *dest;     /* dest[dest_row[s]] .. dest[dest_row[s + 1] - 1] */

	/* One batch of searches. */
	uint32_t n_batch;
	uint32_t batch_sw[BATCH];
	uint32_t batch_n[BATCH]; /* switches reached */
	uint32_t *dist;          /* [BATCH * (n_switches + 1)]; the last entry stays OSR_NONE */
	uint32_t *order;         /* [BATCH * n_switches] nearest first */
	uint64_t *seen, *front, *next; /* [n_switches] */
	uint32_t *active, *reached;    /* [n_switches] */

	/* One tree. */
	struct inflow *inflow, *inflow_start; /* [n_switches] */
	uint32_t *peel, *depth, *n_children;  /* [n_switches], non-minimal routings only */

	/* SLs; allocated if there are any to follow. */
	uint16_t *mask;         /* [n_switches] SLs of the packets that leave the switch */
	uint16_t (*vls)[16];    /* [n_switches] with SL2VL: VLs that packets of an SL leave on */
	uint16_t (*inject)[16]; /* [n_ports] with SL2VL: the same for hosts of the switch */
	uint16_t *reply;        /* [n_switches^2]: SLs of replies to row from column */
	uint16_t *vl_ok;        /* [n_channels] VLs that may be used */
	uint32_t *rank;         /* [n_channels * n_vls]: certificate, VL by VL of a channel */
};

/* The forwarding tree of one destination. */
struct tree {
	uint32_t dest;
	uint32_t root;         /* switch of dest */
	uint32_t n;            /* switches that reach it */
	const uint32_t *order; /* [n] the root first, parents before children */
	const uint32_t *dist;  /* [n_switches + 1] breadth first; OSR_NONE: not connected */
	const uint8_t *lft;    /* [n_switches] */
};

/* --- sentences ------------------------------------------------------------------------------- */

struct name {
	char buf[32];
};

static const char *sw_name(const struct checker *k, uint32_t s, struct name *n)
{
	return osr_switch_name(k->f, s, n->buf);
}

static unsigned lid_of(const struct checker *k, const struct tree *t)
{
	return k->f->dest_lid[t->dest];
}

/* The channel of an entry that a walk has approved. */
static uint32_t chan_of(const struct checker *k, const struct tree *t, uint32_t s)
{
	return k->f->port_chan[k->f->port_row[s] + t->lft[s]];
}

static enum osr_status blame_root(struct checker *k, const struct tree *t)
{
	uint32_t term = k->f->dest_term[t->dest];
	struct name a, b;

	if (t->lft[t->root] == k->f->term_port[term])
		return OSR_OK;
	return osr_fail(k->diag, OSR_CHECK_FAILED,
			"switch %s sends LID %u out of port %u, but %s hangs on its port %u",
			sw_name(k, t->root, &a), lid_of(k, t), t->lft[t->root],
			osr_terminal_name(k->f, term, b.buf), k->f->term_port[term]);
}

static enum osr_status blame_entry(struct checker *k, const struct tree *t, uint32_t s)
{
	unsigned port = t->lft[s], lid = lid_of(k, t);
	struct name a, b;

	if (t->dist[s] == OSR_NONE) {
		if (port == OSR_NO_PATH)
			return OSR_OK;
		return osr_fail(k->diag, OSR_CHECK_FAILED,
				"switch %s sends LID %u out of port %u, but no cable connects it "
				"with switch %s, where the LID is",
				sw_name(k, s, &a), lid, port, sw_name(k, t->root, &b));
	}
	if (s == t->root)
		return blame_root(k, t);
	if (port == OSR_NO_PATH)
		return osr_fail(k->diag, OSR_CHECK_FAILED,
				"switch %s has no path to LID %u on switch %s, %u hops away",
				sw_name(k, s, &a), lid, sw_name(k, t->root, &b), t->dist[s]);
	if (port > k->f->sw_n_ports[s])
		return osr_fail(k->diag, OSR_CHECK_FAILED,
				"switch %s sends LID %u out of port %u, but has only %u ports",
				sw_name(k, s, &a), lid, port, k->f->sw_n_ports[s]);
	if (osr_port_channel(k->f, s, port) == OSR_NONE)
		return osr_fail(
			k->diag, OSR_CHECK_FAILED,
			"switch %s sends LID %u out of port %u, which leads to no switch; the "
			"LID is on switch %s",
			sw_name(k, s, &a), lid, port, sw_name(k, t->root, &b));
	return OSR_OK;
}

/* Follows one route whose entries blame_entry() found sound: a loop, or longer than claimed? */
static enum osr_status blame_length(struct checker *k, const struct tree *t, uint32_t s)
{
	uint32_t hops = 0, at = s;
	struct name a, b;

	for (; at != t->root && hops <= k->f->n_switches; hops++)
		at = k->f->chan_dst[chan_of(k, t, at)];
	if (at != t->root)
		return osr_fail(k->diag, OSR_CHECK_FAILED,
				"LID %u sent from switch %s never arrives: it loops through switch "
				"%s port %u",
				lid_of(k, t), sw_name(k, s, &a), sw_name(k, at, &b), t->lft[at]);
	if (k->minimal && hops != t->dist[s])
		return osr_fail(
			k->diag, OSR_CHECK_FAILED,
			"the route from switch %s port %u to LID %u takes %u hops, %u would "
			"do",
			sw_name(k, s, &a), t->lft[s], lid_of(k, t), hops, t->dist[s]);
	return OSR_OK;
}

/* Packets for dest (OSR_NONE: multicast) come on (from, vl_from) and go on by (to, vl_to). */
static enum osr_status fail_rank(struct checker *k, uint32_t dest, uint32_t from, unsigned vl_from,
				 uint32_t to, unsigned vl_to)
{
	const struct osr_fabric *f = k->f;
	const uint32_t *rank = k->r->rank;
	char what[16] = "multicast";
	struct name a, b;

	if (dest != OSR_NONE)
		snprintf(what, sizeof(what), "LID %u", f->dest_lid[dest]);
	return osr_fail(k->diag, OSR_CHECK_FAILED,
			"%s: VL %u from switch %s port %u goes on as VL %u from switch %s port %u, "
			"against the deadlock certificate (rank %u, then %u)",
			what, vl_from, sw_name(k, f->chan_src[from], &a), f->chan_port[from], vl_to,
			sw_name(k, f->chan_src[to], &b), f->chan_port[to],
			rank[(size_t)vl_from * f->n_channels + from],
			rank[(size_t)vl_to * f->n_channels + to]);
}

/*
 * Ranks are compared as rank + 1, so that 0 is free to mean "nothing arrived". The two highest
 * ranks fall together: a certificate that needs both is refused although it may be right.
 */
static uint32_t rank_key(uint32_t rank)
{
	return rank < UINT32_MAX ? rank + 1 : UINT32_MAX;
}

/* Does any packet travel from switch s to this LID? check.h says who sends to whom. */
static bool is_used(const struct checker *k, const struct tree *t, uint32_t s)
{
	return k->f->sw_sources[s] || k->f->term_weight[k->f->dest_term[t->dest]];
}

static enum osr_status blame_shared_rank(struct checker *k, const struct tree *t, uint32_t s)
{
	uint32_t c, on;

	if (s == t->root || !is_used(k, t, s))
		return OSR_OK;
	for (c = chan_of(k, t, s); k->f->chan_dst[c] != t->root; c = on) {
		on = chan_of(k, t, k->f->chan_dst[c]);
		if (rank_key(k->r->rank[c]) >= rank_key(k->r->rank[on]))
			return fail_rank(k, t->dest, c, 0, on, 0);
	}
	return OSR_OK;
}

/* Why did the walk of this tree say no? */
static enum osr_status blame_tree(struct checker *k, const struct tree *t)
{
	enum osr_status st = OSR_OK;

	for (uint32_t s = 0; s < k->f->n_switches && st == OSR_OK; s++)
		st = blame_entry(k, t, s);
	for (uint32_t s = 0; s < k->f->n_switches && st == OSR_OK; s++)
		if (t->dist[s] != OSR_NONE)
			st = blame_length(k, t, s);
	for (uint32_t s = 0; s < k->f->n_switches && st == OSR_OK; s++)
		if (t->dist[s] != OSR_NONE && k->shared && k->r->rank)
			st = blame_shared_rank(k, t, s);
	if (st != OSR_OK)
		return st;
	return osr_fail(k->diag, OSR_BUG, "the checker refuses the routes to LID %u for no reason",
			lid_of(k, t));
}

static enum osr_status nomem(struct osr_diag *diag, const struct osr_fabric *f)
{
	return osr_fail(diag, OSR_NOMEM,
			"out of memory while checking the routes of %u switches to %u LIDs",
			f->n_switches, f->n_dests);
}

/* --- before the first tree ------------------------------------------------------------------- */

static enum osr_status check_dimensions(const struct checker *k)
{
	const struct osr_routing *r = k->r;
	const struct osr_fabric *f = k->f;

	if (!r->lft)
		return osr_fail(k->diag, OSR_CHECK_FAILED, "the routing has no forwarding tables");
	if (r->n_switches != f->n_switches || r->n_dests != f->n_dests ||
	    r->n_channels != f->n_channels)
		return osr_fail(k->diag, OSR_CHECK_FAILED,
				"the routing is for another fabric: %u switches, %u LIDs and %u "
				"channels instead of %u, %u and %u",
				r->n_switches, r->n_dests, r->n_channels, f->n_switches, f->n_dests,
				f->n_channels);
	if (r->n_vls < 1 || r->n_vls > OSR_MAX_VLS)
		return osr_fail(k->diag, OSR_CHECK_FAILED, "the routing uses %u VLs, not 1..%u",
				r->n_vls, OSR_MAX_VLS);
	if (r->sl2vl && !r->sl2vl_row)
		return osr_fail(k->diag, OSR_CHECK_FAILED, "the SL2VL tables belong to no switch");
	if (r->granted && (!r->sl || r->sl2vl))
		return osr_fail(k->diag, OSR_CHECK_FAILED,
				"SLs of earlier are granted beside %s",
				r->sl ? "SL2VL tables" : "no SLs of today");
	for (unsigned sl = 0; r->sl2vl && !r->sl && sl < 16; sl++)
		if (r->ca_sl2vl[sl] >= r->n_vls)
			return osr_fail(
				k->diag, OSR_CHECK_FAILED,
				"senders may choose any SL, but their SL2VL tables map SL %u to VL "
				"%u of %u",
				sl, r->ca_sl2vl[sl], r->n_vls);
	return OSR_OK;
}

/* A claim that lacks what it speaks of is refused before anything is walked. */
static enum osr_status check_claims(const struct checker *k)
{
	const uint32_t more = OSR_CLAIM_REVERSIBLE | OSR_CLAIM_ANY_SL | OSR_CLAIM_MULTICAST;
	const uint32_t all = more | OSR_CLAIM_MINIMAL | OSR_CLAIM_DEADLOCK_FREE;
	const struct osr_routing *r = k->r;

	if (r->claims & ~all)
		return osr_fail(k->diag, OSR_CHECK_FAILED,
				"the routing makes unknown claims (0x%x)", r->claims & ~all);
	if ((r->claims & more) && !(r->claims & OSR_CLAIM_DEADLOCK_FREE))
		return osr_fail(k->diag, OSR_CHECK_FAILED,
				"the routing claims to be free of deadlock for replies, any SL or "
				"multicast (0x%x), but not for its own packets",
				r->claims & more);
	if ((r->claims & OSR_CLAIM_DEADLOCK_FREE) && !r->rank && k->f->n_channels)
		return osr_fail(k->diag, OSR_CHECK_FAILED,
				"the routing claims to be free of deadlock without a certificate");
	if ((r->claims & OSR_CLAIM_MULTICAST) && !r->mcast_parent)
		return osr_fail(k->diag, OSR_CHECK_FAILED,
				"the routing claims that multicast is free of deadlock, but has no "
				"spanning order");
	if (r->mcast_parent && r->mcast_vl >= (k->shared ? OSR_MAX_VLS : r->n_vls))
		return osr_fail(k->diag, OSR_CHECK_FAILED,
				"multicast runs on VL %u, but only %u VLs carry routes",
				r->mcast_vl, r->n_vls);
	return OSR_OK;
}

static void fill_ports(struct checker *k)
{
	const struct osr_fabric *f = k->f;
	bool ranked = k->shared && (k->r->claims & OSR_CLAIM_DEADLOCK_FREE);

	for (uint32_t p = 0; p < f->n_ports; p++) {
		uint32_t c = f->port_chan[p];

		k->port[p] = (struct port){ .dst = f->n_switches };
		if (c == OSR_NONE)
			continue;
		k->port[p].dst = f->chan_dst[c];
		if (ranked)
			k->port[p].key = rank_key(k->r->rank[c]);
	}
	for (uint32_t s = 0; s < f->n_switches; s++) {
		k->sw[s] = (struct sw){ f->port_row[s], f->sw_n_ports[s] };
		k->inflow_start[s] = (struct inflow){ .sources = f->sw_sources[s] };
	}
}

/* Counting sort of the dests by switch. */
static void sort_dests(struct checker *k)
{
	const struct osr_fabric *f = k->f;

	for (uint32_t d = 0; d < f->n_dests; d++)
		k->dest_row[f->dest_switch[d] + 1]++;
	for (uint32_t s = 0; s < f->n_switches; s++)
		k->dest_row[s + 1] += k->dest_row[s];
	for (uint32_t d = f->n_dests; d-- > 0;)
		k->dest[--k->dest_row[f->dest_switch[d] + 1]] = d;
	/* Every row end has become the row's start. */
	memmove(k->dest_row, k->dest_row + 1, f->n_switches * sizeof(*k->dest_row));
	k->dest_row[f->n_switches] = f->n_dests;
}

static enum osr_status prepare(struct checker *k, struct osr_arena *scratch)
{
	const struct osr_fabric *f = k->f;
	size_t n = f->n_switches, batch = n < BATCH ? n : BATCH;

	k->port = osr_alloc(scratch, f->n_ports, sizeof(*k->port));
	k->sw = osr_alloc(scratch, n, sizeof(*k->sw));
	k->dest_row = osr_calloc(scratch, n + 1, sizeof(*k->dest_row));
	k->dest = osr_alloc(scratch, f->n_dests, sizeof(*k->dest));
	k->dist = osr_alloc(scratch, batch * (n + 1), sizeof(*k->dist));
	k->order = osr_alloc(scratch, batch * n, sizeof(*k->order));
	k->seen = osr_alloc(scratch, n, sizeof(*k->seen));
	k->front = osr_calloc(scratch, n, sizeof(*k->front));
	k->next = osr_calloc(scratch, n, sizeof(*k->next));
	k->active = osr_alloc(scratch, n, sizeof(*k->active));
	k->reached = osr_alloc(scratch, n, sizeof(*k->reached));
	k->inflow = osr_alloc(scratch, n, sizeof(*k->inflow));
	k->inflow_start = osr_alloc(scratch, n, sizeof(*k->inflow_start));
	if (!k->port || !k->sw || !k->dest_row || !k->dest || !k->dist || !k->order || !k->seen ||
	    !k->front || !k->next || !k->active || !k->reached || !k->inflow || !k->inflow_start)
		return nomem(k->diag, f);
	if (!k->minimal) {
		k->peel = osr_alloc(scratch, n, sizeof(*k->peel));
		k->depth = osr_alloc(scratch, n, sizeof(*k->depth));
		k->n_children = osr_alloc(scratch, n, sizeof(*k->n_children));
		if (!k->peel || !k->depth || !k->n_children)
			return nomem(k->diag, f);
	}
	fill_ports(k);
	sort_dests(k);
	return OSR_OK;
}

/* --- preparing to follow SLs ----------------------------------------------------------------- */

/* An impossible VL, like VL15, is bit 15: never among the VLs that may be used. */
static uint16_t vl_bit(unsigned vl)
{
	return 1u << (vl < 15 ? vl : 15);
}

static void fill_ranks(struct checker *k)
{
	const uint32_t n = k->f->n_channels;
	const unsigned n_vls = k->r->n_vls;

	for (unsigned vl = 0; vl < n_vls; vl++)
		for (uint32_t c = 0; c < n; c++)
			k->rank[(size_t)c * n_vls + vl] = k->r->rank[(size_t)vl * n + c];
}

static void fill_vl_ok(struct checker *k)
{
	for (uint32_t c = 0; c < k->f->n_channels; c++) {
		unsigned vls = k->f->chan_vls[c];

		k->vl_ok[c] = (1u << (vls < k->r->n_vls ? vls : k->r->n_vls)) - 1;
	}
}

static void add_inject(struct checker *k, uint32_t s, unsigned in)
{
	unsigned n_ports = k->f->sw_n_ports[s];
	osr_sl2vl_t *table = k->r->sl2vl + k->r->sl2vl_row[s] + (size_t)in * (n_ports + 1);

	for (unsigned out = 0; out <= n_ports; out++)
		for (unsigned sl = 0; sl < 16; sl++)
			k->inject[k->f->port_row[s] + out][sl] |= vl_bit(table[out][sl]);
}

/* What hosts send may come in by any port with an end port, and by port 0. */
static void fill_inject(struct checker *k)
{
	const struct osr_fabric *f = k->f;

	for (uint32_t s = 0; s < f->n_switches; s++) {
		add_inject(k, s, 0);
		for (uint32_t t = f->term_row[s]; t < f->term_row[s + 1]; t++)
			if (f->term_port[t])
				add_inject(k, s, f->term_port[t]);
	}
}

static void swap16(uint16_t *a, uint16_t *b)
{
	uint16_t x = *a;

	*a = *b;
	*b = x;
}

/* In place and in blocks: columns of a large matrix have no place in the cache. */
static void transpose(uint16_t *m, size_t n)
{
	const size_t block = 32;

	for (size_t i0 = 0; i0 < n; i0 += block)
		for (size_t j0 = i0; j0 < n; j0 += block)
			for (size_t i = i0; i < i0 + block && i < n; i++)
				for (size_t j = j0 > i ? j0 : i + 1; j < j0 + block && j < n; j++)
					swap16(&m[i * n + j], &m[j * n + i]);
}

/*
 * Requests from switch a to switch b use the SLs of all LIDs on b, and the reply may be sent to any
 * LID on a: reply[a * n + b] holds the SLs of everything that b answers to a.
 */
static void fill_reply(struct checker *k)
{
	const size_t n = k->f->n_switches;

	for (uint32_t d = 0; d < k->f->n_dests; d++) {
		uint16_t *requests = k->reply + k->f->dest_switch[d] * n;
		const uint8_t *sl = k->r->sl + d * n;
		const uint8_t *lft = k->r->lft + d * n;
		const uint16_t *granted = k->r->granted ? k->r->granted + d * n : NULL;

		for (size_t s = 0; s < n; s++)
			requests[s] |= lft[s] == OSR_NO_PATH || !k->f->sw_sources[s]
					       ? 0
					       : 1u << (sl[s] & 15) | (granted ? granted[s] : 0);
	}
	transpose(k->reply, n);
}

static bool follows_sls(const struct checker *k)
{
	return !k->shared && (k->r->sl || k->r->sl2vl);
}

static enum osr_status prepare_sls(struct checker *k, struct osr_arena *scratch)
{
	const struct osr_fabric *f = k->f;
	const struct osr_routing *r = k->r;
	size_t n = f->n_switches, n_pairs;
	bool any = !r->sl || (r->claims & OSR_CLAIM_ANY_SL);
	bool ranked = r->claims & OSR_CLAIM_DEADLOCK_FREE;
	bool reply = (r->claims & OSR_CLAIM_REVERSIBLE) && !any;

	if (!follows_sls(k))
		return OSR_OK;
	if (__builtin_mul_overflow(n, n, &n_pairs))
		return nomem(k->diag, f);
	k->mask = osr_alloc(scratch, n, sizeof(*k->mask));
	k->vl_ok = osr_alloc(scratch, f->n_channels, sizeof(*k->vl_ok));
	if (!k->mask || !k->vl_ok)
		return nomem(k->diag, f);
	fill_vl_ok(k);
	if (ranked) {
		k->rank = osr_alloc(scratch, f->n_channels, r->n_vls * sizeof(*k->rank));
		if (!k->rank)
			return nomem(k->diag, f);
		fill_ranks(k);
	}
	if (reply) {
		k->reply = osr_calloc(scratch, n_pairs, sizeof(*k->reply));
		if (!k->reply)
			return nomem(k->diag, f);
		fill_reply(k);
	}
	if (r->sl2vl) {
		k->vls = osr_alloc(scratch, n, sizeof(*k->vls));
		k->inject = osr_calloc(scratch, f->n_ports, sizeof(*k->inject));
		if (!k->vls || !k->inject)
			return nomem(k->diag, f);
		fill_inject(k);
	}
	return OSR_OK;
}

/* --- distances ------------------------------------------------------------------------------- */

static void batch_start(struct checker *k)
{
	size_t n = k->f->n_switches;

	memset(k->seen, 0, n * sizeof(*k->seen));
	memset(k->dist, 0xff, k->n_batch * (n + 1) * sizeof(*k->dist));
	for (uint32_t i = 0; i < k->n_batch; i++) {
		uint32_t s = k->batch_sw[i];

		k->seen[s] = k->front[s] = 1ull << i;
		k->dist[i * (n + 1) + s] = 0;
		k->order[i * n] = s;
		k->batch_n[i] = 1;
		k->active[i] = s;
	}
}

/* Switches next to the active ones that some search sees for the first time. */
static uint32_t batch_expand(struct checker *k, uint32_t n_active)
{
	const struct osr_fabric *f = k->f;
	uint32_t n = 0;

	for (uint32_t i = 0; i < n_active; i++) {
		uint32_t s = k->active[i];
		uint64_t front = k->front[s];

		k->front[s] = 0;
		for (uint32_t c = f->chan_row[s]; c < f->chan_row[s + 1]; c++) {
			uint32_t to = f->chan_dst[c];
			uint64_t fresh = front & ~k->seen[to];

			if (!fresh)
				continue;
			if (!k->next[to])
				k->reached[n++] = to;
			k->next[to] |= fresh;
		}
	}
	return n;
}

static void batch_settle(struct checker *k, uint32_t s, uint32_t level)
{
	size_t n = k->f->n_switches;
	uint64_t fresh = k->next[s];

	k->next[s] = 0;
	k->front[s] = fresh;
	k->seen[s] |= fresh;
	for (; fresh; fresh &= fresh - 1) {
		unsigned i = __builtin_ctzll(fresh);

		k->dist[i * (n + 1) + s] = level;
		k->order[i * n + k->batch_n[i]++] = s;
	}
}

/* Distances of every switch to each of batch_sw[], and the switches in that order. */
static void batch_search(struct checker *k)
{
	uint32_t n_active = k->n_batch;

	batch_start(k);
	for (uint32_t level = 1; n_active; level++) {
		uint32_t *swap = k->active;

		n_active = batch_expand(k, n_active);
		for (uint32_t i = 0; i < n_active; i++)
			batch_settle(k, k->reached[i], level);
		k->active = k->reached;
		k->reached = swap;
	}
}

/* --- the walk -------------------------------------------------------------------------------- */

/*
 * True if every entry of the tree leads along a cable and, if `minimal`, to a switch one hop
 * nearer, which excludes loops; if `ranked`, every dependency rises in the shared certificate; if
 * `counted` (the LID of an end port, not of a port 0), the routes are added to the loads.
 */
static inline __attribute__((always_inline)) bool walk(struct checker *k, const struct tree *t,
						       bool minimal, bool ranked, bool counted)
{
	struct inflow *inflow = k->inflow;

	if (ranked || counted)
		memcpy(inflow, k->inflow_start, k->f->n_switches * sizeof(*inflow));
	for (uint32_t i = t->n - 1; i > 0; i--) {
		uint32_t s = t->order[i], out = t->lft[s];
		struct sw sw = k->sw[s];
		struct port *p;

		if (out > sw.n_ports)
			return false;
		p = &k->port[sw.row + out];
		/* No switch behind the port: dist has one entry too many for that, OSR_NONE. */
		if (minimal && t->dist[p->dst] + 1 != t->dist[s])
			return false;
		/* Nobody asks one port 0 from another: see check.h. */
		if (ranked && !counted && !inflow[s].sources)
			continue;
		if (ranked && inflow[s].key >= p->key)
			return false;
		if (ranked && inflow[p->dst].key < p->key)
			inflow[p->dst].key = p->key;
		if (ranked || counted)
			inflow[p->dst].sources += inflow[s].sources;
		if (counted)
			p->load += inflow[s].sources;
	}
	return true;
}

/* One loop for each kind of tree, so that no loop asks what kind it is in. */
static bool walk_tree(struct checker *k, const struct tree *t)
{
	bool ranked = k->shared && (k->r->claims & OSR_CLAIM_DEADLOCK_FREE);
	bool counted = k->f->term_weight[k->f->dest_term[t->dest]] > 0;

	if (k->minimal && ranked)
		return counted ? walk(k, t, true, true, true) : walk(k, t, true, true, false);
	if (k->minimal)
		return counted ? walk(k, t, true, false, true) : walk(k, t, true, false, false);
	if (ranked)
		return counted ? walk(k, t, false, true, true) : walk(k, t, false, true, false);
	return counted ? walk(k, t, false, false, true) : walk(k, t, false, false, false);
}

/*
 * Without a promise of shortest routes the order must come from the tree itself: switches nobody
 * sends through first, then those that only these send through, ... What remains is a loop, or
 * sends into one. False if anything remains or an entry leads nowhere; else t->order is the order
 * found.
 */
static bool peel_tree(struct checker *k, struct tree *t)
{
	uint32_t n = t->n, done = n;

	memset(k->n_children, 0, k->f->n_switches * sizeof(*k->n_children));
	for (uint32_t i = 1; i < n; i++) {
		uint32_t s = t->order[i], c = osr_port_channel(k->f, s, t->lft[s]);

		if (c == OSR_NONE)
			return false;
		k->n_children[k->f->chan_dst[c]]++;
	}
	for (uint32_t i = 1; i < n; i++)
		if (!k->n_children[t->order[i]])
			k->peel[--done] = t->order[i];
	for (uint32_t i = n; i-- > done && done > 0;) {
		uint32_t next = k->f->chan_dst[chan_of(k, t, k->peel[i])];

		if (--k->n_children[next] == 0 && next != t->root)
			k->peel[--done] = next;
	}
	k->peel[0] = t->root;
	t->order = k->peel;
	return done <= 1;
}

/* How long the routes of a peeled tree are. */
static void measure_tree(struct checker *k, const struct tree *t)
{
	struct osr_verdict *v = k->v;

	k->depth[t->root] = 0;
	for (uint32_t i = 1; i < t->n; i++) {
		uint32_t s = t->order[i];
		uint32_t depth = k->depth[k->f->chan_dst[chan_of(k, t, s)]] + 1;

		k->depth[s] = depth;
		if (depth > v->max_hops)
			v->max_hops = depth;
		if (depth > t->dist[s]) {
			v->n_longer++;
			if (depth - t->dist[s] > v->max_longer)
				v->max_longer = depth - t->dist[s];
		}
	}
}

/* --- service levels of one tree -------------------------------------------------------------- */

static enum osr_status fail_vl(struct checker *k, const struct tree *t, uint32_t s, unsigned vls)
{
	unsigned vl = __builtin_ctz(vls);
	struct name a;

	if (vl == 15)
		return osr_fail(k->diag, OSR_CHECK_FAILED,
				"switch %s drops packets to LID %u at port %u: SL2VL maps their SL "
				"to VL 15",
				sw_name(k, s, &a), lid_of(k, t), t->lft[s]);
	return osr_fail(k->diag, OSR_CHECK_FAILED,
			"packets to LID %u leave switch %s port %u on VL %u, beyond the %u VLs of "
			"the routing or those of the cable",
			lid_of(k, t), sw_name(k, s, &a), t->lft[s], vl, k->r->n_vls);
}

/* SLs that packets to the root may be on where they leave switch s, by what the routing claims. */
static uint16_t sls_from(const struct checker *k, const struct tree *t, uint32_t s)
{
	size_t n = k->f->n_switches;
	unsigned sls;

	if (!is_used(k, t, s))
		return 0;
	if (!k->r->sl || (k->r->claims & OSR_CLAIM_ANY_SL))
		return 0xffff;
	sls = 1u << (k->r->sl[t->dest * n + s] & 15);
	if (k->r->granted)
		sls |= k->r->granted[t->dest * n + s];
	/* Port 0 asks nobody, so nobody answers it. */
	if (k->reply && k->f->term_weight[k->f->dest_term[t->dest]])
		sls |= k->reply[t->root * n + s];
	return sls;
}

/* Is this an SL, and does what sends it (a CA by its own table) put it on a VL of the routing? */
static bool sl_usable(const struct osr_routing *r, unsigned sl)
{
	if (sl > 15)
		return false;
	return (r->sl2vl ? r->ca_sl2vl[sl] : sl) < r->n_vls;
}

static enum osr_status fail_sl(struct checker *k, unsigned sl)
{
	const struct osr_routing *r = k->r;
	size_t i = 0;
	struct name a;

	while (r->sl[i] != sl || r->lft[i] == OSR_NO_PATH)
		i++;
	return osr_fail(k->diag, OSR_CHECK_FAILED,
			"packets from switch %s to LID %u are on SL %u, which %s",
			sw_name(k, i % r->n_switches, &a), k->f->dest_lid[i / r->n_switches], sl,
			r->sl2vl ? "does not exist or is dropped by the sender's SL2VL table"
				 : "is no VL of the routing");
}

/* All SLs, before they are used to follow packets; those of packets that stay on a switch too. */
static enum osr_status check_sl_values(struct checker *k)
{
	const struct osr_routing *r = k->r;
	size_t n = (size_t)r->n_dests * r->n_switches;
	bool used[2][256] = { { false } };

	for (size_t i = 0; i < n; i++)
		used[r->lft[i] == OSR_NO_PATH][r->sl[i]] = true;
	for (unsigned sl = 0; sl < 256; sl++) {
		if (!used[0][sl])
			continue;
		if (!sl_usable(r, sl))
			return fail_sl(k, sl);
		k->sls |= r->sl2vl ? 0 : 1u << sl;
	}
	return OSR_OK;
}

static enum osr_status check_ranks(struct checker *k, const struct tree *t, uint32_t from,
				   uint32_t to, unsigned vls)
{
	const unsigned n_vls = k->r->n_vls;
	const uint32_t *a = k->rank + (size_t)from * n_vls;
	const uint32_t *b = k->rank + (size_t)to * n_vls;

	for (; vls; vls &= vls - 1) {
		unsigned vl = __builtin_ctz(vls);

		if (a[vl] >= b[vl])
			return fail_rank(k, t->dest, from, vl, to, vl);
	}
	return OSR_OK;
}

/* VL = SL everywhere: the SLs of all packets that pass a switch, pushed towards the root. */
static enum osr_status follow_sls(struct checker *k, const struct tree *t)
{
	memset(k->mask, 0, k->f->n_switches * sizeof(*k->mask));
	for (uint32_t i = t->n - 1; i > 0; i--) {
		uint32_t s = t->order[i], c = chan_of(k, t, s), next = k->f->chan_dst[c];
		unsigned mask = k->mask[s] | sls_from(k, t, s);
		enum osr_status st;

		if (mask & ~k->vl_ok[c])
			return fail_vl(k, t, s, mask & ~k->vl_ok[c]);
		k->sls |= mask;
		k->mask[next] |= mask;
		if (!k->rank || next == t->root)
			continue;
		st = check_ranks(k, t, c, chan_of(k, t, next), mask);
		if (st != OSR_OK)
			return st;
	}
	return OSR_OK;
}

/* Packets of one SL come from channel `from` on any of vls and go on by `to` on VL vl_to. */
static enum osr_status check_rank_step(struct checker *k, const struct tree *t, uint32_t from,
				       unsigned vls, uint32_t to, unsigned vl_to)
{
	const unsigned n_vls = k->r->n_vls;

	for (; vls; vls &= vls - 1) {
		unsigned vl = __builtin_ctz(vls);

		if (k->rank[(size_t)from * n_vls + vl] >= k->rank[(size_t)to * n_vls + vl_to])
			return fail_rank(k, t->dest, from, vl, to, vl_to);
	}
	return OSR_OK;
}

/* VLs that may leave switch s for this LID. */
static uint16_t vls_out(const struct checker *k, const struct tree *t, uint32_t s)
{
	if (s != t->root)
		return k->vl_ok[chan_of(k, t, s)];
	/* To an end port; what stays at port 0 meets no data VL any more. */
	return t->lft[s] ? (1u << k->r->n_vls) - 1 : 0xffff;
}

/*
 * Adds what is on the channel of switch s (mask[s], vls[s]) to the next switch, as that switch's
 * table for this pair of ports maps it.
 */
static enum osr_status push_vls(struct checker *k, const struct tree *t, uint32_t s)
{
	const struct osr_fabric *f = k->f;
	uint32_t c = chan_of(k, t, s), next = f->chan_dst[c];
	uint32_t to = next == t->root ? OSR_NONE : chan_of(k, t, next);
	const uint8_t *table =
		k->r->sl2vl[k->r->sl2vl_row[next] + t->lft[next] +
			    f->chan_port[f->chan_rev[c]] * ((size_t)f->sw_n_ports[next] + 1)];
	uint16_t ok = vls_out(k, t, next);

	for (unsigned sls = k->mask[s]; sls; sls &= sls - 1) {
		unsigned sl = __builtin_ctz(sls), bit = vl_bit(table[sl]);
		enum osr_status st = OSR_OK;

		if (bit & ~ok)
			return fail_vl(k, t, next, bit);
		if (to != OSR_NONE && k->rank)
			st = check_rank_step(k, t, c, k->vls[s][sl], to, table[sl]);
		if (st != OSR_OK)
			return st;
		k->vls[next][sl] |= bit;
	}
	k->mask[next] |= k->mask[s];
	return OSR_OK;
}

/* Adds what the hosts of switch s and its port 0 send. */
static enum osr_status inject_vls(struct checker *k, const struct tree *t, uint32_t s)
{
	const uint16_t *inject = k->inject[k->f->port_row[s] + t->lft[s]];
	uint16_t sls = sls_from(k, t, s), ok = vls_out(k, t, s);

	for (unsigned left = sls; left; left &= left - 1) {
		unsigned sl = __builtin_ctz(left);

		if (inject[sl] & ~ok)
			return fail_vl(k, t, s, inject[sl] & ~ok);
		k->vls[s][sl] |= inject[sl];
	}
	k->mask[s] |= sls;
	return OSR_OK;
}

/* With SL2VL tables: the VLs of every SL, channel by channel. */
static enum osr_status follow_vls(struct checker *k, const struct tree *t)
{
	memset(k->mask, 0, k->f->n_switches * sizeof(*k->mask));
	memset(k->vls, 0, k->f->n_switches * sizeof(*k->vls));
	for (uint32_t i = t->n; i-- > 0;) {
		uint32_t s = t->order[i];
		enum osr_status st = inject_vls(k, t, s);

		if (st == OSR_OK && s != t->root)
			st = push_vls(k, t, s);
		if (st != OSR_OK)
			return st;
		for (unsigned sl = 0; sl < 16 && s != t->root; sl++)
			k->sls |= k->vls[s][sl];
	}
	return OSR_OK;
}

/* --- tree by tree ---------------------------------------------------------------------------- */

static enum osr_status check_unconnected(struct checker *k, const struct tree *t)
{
	k->v->n_no_path += k->f->n_switches - t->n;
	for (uint32_t s = 0; s < k->f->n_switches; s++)
		if (t->dist[s] == OSR_NONE && t->lft[s] != OSR_NO_PATH)
			return blame_tree(k, t);
	return OSR_OK;
}

static enum osr_status check_tree(struct checker *k, struct tree *t)
{
	enum osr_status st = blame_root(k, t);

	if (st == OSR_OK && t->n < k->f->n_switches)
		st = check_unconnected(k, t);
	if (st != OSR_OK)
		return st;
	if (k->minimal && t->dist[t->order[t->n - 1]] > k->v->max_hops)
		k->v->max_hops = t->dist[t->order[t->n - 1]];
	if (!k->minimal) {
		if (!peel_tree(k, t))
			return blame_tree(k, t);
		measure_tree(k, t);
	}
	if (!walk_tree(k, t))
		return blame_tree(k, t);
	k->v->n_routes += t->n - 1;
	if (!follows_sls(k))
		return OSR_OK;
	return k->r->sl2vl ? follow_vls(k, t) : follow_sls(k, t);
}

static enum osr_status check_batch(struct checker *k)
{
	size_t n = k->f->n_switches;

	batch_search(k);
	for (uint32_t i = 0; i < k->n_batch; i++) {
		uint32_t s = k->batch_sw[i];

		for (uint32_t j = k->dest_row[s]; j < k->dest_row[s + 1]; j++) {
			struct tree t = { .dest = k->dest[j],
					  .root = s,
					  .n = k->batch_n[i],
					  .order = k->order + i * n,
					  .dist = k->dist + i * (n + 1),
					  .lft = k->r->lft + k->dest[j] * n };
			enum osr_status st = check_tree(k, &t);

			if (st != OSR_OK)
				return st;
		}
	}
	return OSR_OK;
}

static enum osr_status check_trees(struct checker *k)
{
	enum osr_status st = OSR_OK;

	for (uint32_t s = 0; s < k->f->n_switches && st == OSR_OK;) {
		k->n_batch = 0;
		for (; s < k->f->n_switches && k->n_batch < BATCH; s++)
			if (k->dest_row[s] < k->dest_row[s + 1])
				k->batch_sw[k->n_batch++] = s;
		st = check_batch(k);
	}
	return st;
}

/* --- multicast ------------------------------------------------------------------------------- */

/* The two highest ranks that packets come into a switch with, and the link of the highest. */
struct mcast_in {
	uint32_t key[2];
	uint32_t link; /* named by its channel towards the root */
};

static void mcast_arrive(struct mcast_in *in, uint32_t key, uint32_t link)
{
	if (key > in->key[0]) {
		in->key[1] = in->key[0];
		in->key[0] = key;
		in->link = link;
	} else if (key > in->key[1]) {
		in->key[1] = key;
	}
}

/* Multicast never leaves by the link it came by: does every other arrival stay below `key`? */
static bool mcast_leave(const struct mcast_in *in, uint32_t key, uint32_t link)
{
	return in->key[in->link == link] < key;
}

static enum osr_status check_parent(struct checker *k, uint32_t s)
{
	uint32_t c = k->r->mcast_parent[s];
	struct name a;

	if (c == OSR_NONE || (c < k->f->n_channels && k->f->chan_src[c] == s))
		return OSR_OK;
	return osr_fail(k->diag, OSR_CHECK_FAILED,
			"multicast: the way from switch %s to its parent is channel %u, not one of "
			"its own",
			sw_name(k, s, &a), c);
}

/* root[s] becomes the end of the way up from s; OSR_CHECK_FAILED if there is none. */
static enum osr_status find_root(struct checker *k, uint32_t *root, uint32_t s)
{
	const uint32_t *parent = k->r->mcast_parent;
	uint32_t end = s, hops = 0;
	struct name a;

	while (root[end] == OSR_NONE && parent[end] != OSR_NONE && hops++ < k->f->n_switches)
		end = k->f->chan_dst[parent[end]];
	if (root[end] == OSR_NONE && parent[end] != OSR_NONE)
		return osr_fail(k->diag, OSR_CHECK_FAILED,
				"multicast: the spanning order loops through switch %s port %u",
				sw_name(k, end, &a), k->f->chan_port[parent[end]]);
	end = root[end] == OSR_NONE ? end : root[end];
	for (; root[s] == OSR_NONE; s = k->f->chan_dst[parent[s]]) {
		root[s] = end;
		if (s == end)
			break;
	}
	return OSR_OK;
}

/* All hosts of a component must hang on one tree, else a group can be torn apart. */
static enum osr_status check_forest(struct checker *k, uint32_t *root, uint32_t *host)
{
	const struct osr_fabric *f = k->f;
	enum osr_status st = OSR_OK;
	struct name a, b;

	for (uint32_t s = 0; s < f->n_switches && st == OSR_OK; s++)
		st = check_parent(k, s);
	for (uint32_t s = 0; s < f->n_switches && st == OSR_OK; s++)
		st = find_root(k, root, s);
	for (uint32_t s = 0; s < f->n_switches && st == OSR_OK; s++) {
		uint32_t *first = &host[f->sw_component[s]];

		if (!f->sw_sources[s])
			continue;
		if (*first == OSR_NONE)
			*first = s;
		if (root[s] != root[*first])
			st = osr_fail(k->diag, OSR_CHECK_FAILED,
				      "multicast: the spanning order does not connect switches %s "
				      "and %s",
				      sw_name(k, *first, &a), sw_name(k, s, &b));
	}
	return st;
}

/* The arrival that breaks the certificate for packets leaving switch s by channel `out`. */
static enum osr_status blame_mcast(struct checker *k, uint32_t s, uint32_t out, unsigned vl)
{
	const uint32_t *parent = k->r->mcast_parent, *rank = k->r->rank;
	const struct osr_fabric *f = k->f;

	rank += (size_t)vl * f->n_channels;
	for (uint32_t c = f->chan_row[s]; c < f->chan_row[s + 1]; c++) {
		uint32_t in = f->chan_rev[c];

		if (c != out && (parent[s] == c || parent[f->chan_dst[c]] == in) &&
		    rank_key(rank[in]) >= rank_key(rank[out]))
			return fail_rank(k, OSR_NONE, in, vl, out, vl);
	}
	return osr_fail(k->diag, OSR_BUG, "the checker refuses multicast without a reason");
}

/*
 * A switch copies a packet to all tree links but the one it came by, and each copy waits for its
 * channel: a dependency for every pair of different links.
 */
static enum osr_status check_mcast_ranks(struct checker *k, struct mcast_in *in)
{
	const unsigned vl = k->shared ? 0 : k->r->mcast_vl;
	const uint32_t *rank = k->r->rank + (size_t)vl * k->f->n_channels;
	const uint32_t *parent = k->r->mcast_parent;
	const struct osr_fabric *f = k->f;

	for (uint32_t s = 0; s < f->n_switches; s++) {
		uint32_t up = parent[s];

		if (up == OSR_NONE)
			continue;
		mcast_arrive(&in[f->chan_dst[up]], rank_key(rank[up]), up);
		mcast_arrive(&in[s], rank_key(rank[f->chan_rev[up]]), up);
	}
	for (uint32_t s = 0; s < f->n_switches; s++) {
		uint32_t up = parent[s], down;

		if (up == OSR_NONE)
			continue;
		down = f->chan_rev[up];
		if (!mcast_leave(&in[s], rank_key(rank[up]), up))
			return blame_mcast(k, s, up, vl);
		if (!mcast_leave(&in[f->chan_dst[up]], rank_key(rank[down]), up))
			return blame_mcast(k, f->chan_dst[up], down, vl);
	}
	return OSR_OK;
}

static enum osr_status check_mcast(struct checker *k, struct osr_arena *scratch)
{
	size_t n = k->f->n_switches;
	struct mcast_in *in = osr_calloc(scratch, n, sizeof(*in));
	uint32_t *root = osr_alloc(scratch, n, sizeof(*root));
	uint32_t *host = osr_alloc(scratch, n, sizeof(*host));
	enum osr_status st;

	if (!in || !root || !host)
		return nomem(k->diag, k->f);
	memset(root, 0xff, n * sizeof(*root));
	memset(host, 0xff, n * sizeof(*host));
	st = check_forest(k, root, host);
	if (st == OSR_OK && (k->r->claims & OSR_CLAIM_MULTICAST) && k->f->n_channels)
		st = check_mcast_ranks(k, in);
	return st;
}

/* --- the verdict ----------------------------------------------------------------------------- */

static uint16_t fastest_rate(const struct osr_fabric *f)
{
	uint16_t fastest = 0;

	for (uint32_t c = 0; c < f->n_channels; c++)
		if (f->chan_rate[c] > fastest)
			fastest = f->chan_rate[c];
	return fastest;
}

/* Links of unknown rate count as the fastest. */
static void sum_loads(struct checker *k)
{
	const struct osr_fabric *f = k->f;
	struct osr_verdict *v = k->v;
	uint16_t fastest = fastest_rate(f);
	double sum = 0;

	v->efi_chan = f->n_channels ? 0 : OSR_NONE;
	for (uint32_t c = 0; c < f->n_channels; c++) {
		uint64_t load = k->port[f->port_row[f->chan_src[c]] + f->chan_port[c]].load;
		uint16_t rate = f->chan_rate[c];
		double scaled = rate ? (double)load * fastest / rate : (double)load;

		sum += (double)load;
		if (load > v->efi) {
			v->efi = load;
			v->efi_chan = c;
		}
		if (scaled > v->efi_per_capacity)
			v->efi_per_capacity = scaled;
	}
	if (f->n_channels)
		v->efi_mean = sum / f->n_channels;
}

/* Where VL = SL and any SL is safe, nothing has been followed: only that the VLs exist is open. */
static enum osr_status check_shared_vls(struct checker *k)
{
	const struct osr_fabric *f = k->f;
	unsigned highest = k->sls ? 31 - __builtin_clz(k->sls) : 0;
	struct name a;

	for (uint32_t c = 0; c < f->n_channels; c++)
		if (f->chan_vls[c] <= highest)
			return osr_fail(
				k->diag, OSR_CHECK_FAILED,
				"the routing uses VL %u, but the cable at switch %s port %u "
				"has only %u VLs",
				highest, sw_name(k, f->chan_src[c], &a), f->chan_port[c],
				f->chan_vls[c]);
	return OSR_OK;
}

static enum osr_status check_all(struct checker *k, struct osr_arena *scratch)
{
	enum osr_status st = check_dimensions(k);

	if (st == OSR_OK)
		st = check_claims(k);
	if (st == OSR_OK)
		st = prepare(k, scratch);
	if (st == OSR_OK && k->r->sl)
		st = check_sl_values(k);
	if (st == OSR_OK)
		st = prepare_sls(k, scratch);
	if (st != OSR_OK)
		return st;
	st = check_trees(k);
	sum_loads(k);
	if (st == OSR_OK && k->shared)
		st = check_shared_vls(k);
	if (st == OSR_OK && k->r->mcast_parent)
		st = check_mcast(k, scratch);
	return st;
}

static void copy_loads(const struct checker *k, uint64_t *load)
{
	const struct osr_fabric *f = k->f;

	for (uint32_t c = 0; c < f->n_channels; c++)
		load[c] = k->port[f->port_row[f->chan_src[c]] + f->chan_port[c]].load;
}

enum osr_status osr_check_loads(const struct osr_fabric *f, const struct osr_routing *r,
				struct osr_arena *scratch, struct osr_verdict *verdict,
				uint64_t *load, struct osr_diag *diag)
{
	struct osr_arena_mark mark = osr_arena_mark(scratch);
	struct checker k = {
		.f = f,
		.r = r,
		.v = verdict,
		.diag = diag,
		.minimal = r->claims & OSR_CLAIM_MINIMAL,
		.shared = !r->sl2vl && (!r->sl || (r->claims & OSR_CLAIM_ANY_SL)),
	};
	enum osr_status st;

	*verdict = (struct osr_verdict){ .efi_chan = OSR_NONE };
	st = check_all(&k, scratch);
	verdict->n_vls = k.sls ? __builtin_popcount(k.sls) : r->n_vls;
	if (st == OSR_OK)
		verdict->proven = r->claims;
	if (st == OSR_OK && load)
		copy_loads(&k, load);
	osr_arena_reset(scratch, mark);
	return st;
}

enum osr_status osr_check(const struct osr_fabric *f, const struct osr_routing *r,
			  struct osr_arena *scratch, struct osr_verdict *verdict,
			  struct osr_diag *diag)
{
	return osr_check_loads(f, r, scratch, verdict, NULL, diag);
}

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The breadth-first searches of 64 switches run at once, one bit each (The More the Merrier:
 * Efficient Multi-Source Graph Traversal, Then et al., VLDB 2014).
 *
 * The forwarding entries of one destination form a tree. It is walked from the farthest switch to
 * the nearest, so that everything known of upstream switches has arrived when a switch is looked
 * at: how many sources send through it, the highest rank its packets came from, their SLs. What is asked of
 * an entry and the next one alone, whether it leads nearer and to a higher rank, needs no order.
 *
 * A walk only says yes or no, which keeps it fast. After a no, blame_*() look again, LID by LID and
 * in the order of the switch numbers, for the sentence.
 *
 * Batches of searches do not depend on each other: threads take them in turn, each with a checker of its
 * own, whose figures are added up. Where one says no, all is looked at again by one thread: the first
 * fault in the order of the switches is the one told.
 */
#include "check_private.h"

#include <stdio.h>
#include <string.h>

/* --- before the first tree -------------------------------------------------------------------- */

/* Are the tables of this fabric? A claim that lacks what it speaks of is refused before anything is walked, too. */
static enum osr_status check_input(const struct checker *k)
{
	const uint32_t more = OSR_CLAIM_REVERSIBLE | OSR_CLAIM_ANY_SL | OSR_CLAIM_MULTICAST;
	const uint32_t all = more | OSR_CLAIM_MINIMAL | OSR_CLAIM_DEADLOCK_FREE;
	const struct osr_routing *routing = k->r;
	const struct osr_fabric *fabric = k->f;

	if (!routing->lft)
		return osr_fail(k->diag, OSR_CHECK_FAILED, "the routing has no forwarding tables");
	if (fabric->n_switches > OSR_MAX_LID)
		return osr_fail(k->diag, OSR_CHECK_FAILED, "%u switches are more than LIDs",
				fabric->n_switches);
	if (routing->n_switches != fabric->n_switches || routing->n_dests != fabric->n_dests ||
	    routing->n_channels != fabric->n_channels)
		return osr_fail(k->diag, OSR_CHECK_FAILED,
				"the routing is for another fabric: %u switches, %u LIDs and %u "
				"channels instead of %u, %u and %u",
				routing->n_switches, routing->n_dests, routing->n_channels,
				fabric->n_switches, fabric->n_dests, fabric->n_channels);
	if (routing->n_vls < 1 || routing->n_vls > OSR_MAX_VLS)
		return osr_fail(k->diag, OSR_CHECK_FAILED, "the routing uses %u VLs, not 1..%u",
				routing->n_vls, OSR_MAX_VLS);
	if (routing->sl2vl && !routing->sl2vl_row)
		return osr_fail(k->diag, OSR_CHECK_FAILED, "the SL2VL tables belong to no switch");
	if (routing->granted && (!routing->sl || routing->sl2vl))
		return osr_fail(k->diag, OSR_CHECK_FAILED,
				"SLs of earlier sweeps are granted beside %s",
				routing->sl ? "SL2VL tables" : "none of this one");
	for (unsigned sl = 0; routing->sl2vl && !routing->sl && sl < 16; sl++)
		if (routing->ca_sl2vl[sl] >= routing->n_vls)
			return osr_fail(
				k->diag, OSR_CHECK_FAILED,
				"senders may choose any SL, but their SL2VL tables map SL %u to VL "
				"%u of %u",
				sl, routing->ca_sl2vl[sl], routing->n_vls);
	if (routing->claims & ~all)
		return osr_fail(k->diag, OSR_CHECK_FAILED,
				"the routing makes unknown claims (0x%x)", routing->claims & ~all);
	if ((routing->claims & more) && !(routing->claims & OSR_CLAIM_DEADLOCK_FREE))
		return osr_fail(k->diag, OSR_CHECK_FAILED,
				"the routing claims to be free of deadlock for replies, any SL or "
				"multicast (0x%x), but not for its own packets",
				routing->claims & more);
	if ((routing->claims & OSR_CLAIM_DEADLOCK_FREE) && !routing->rank && k->f->n_channels)
		return osr_fail(k->diag, OSR_CHECK_FAILED,
				"the routing claims to be free of deadlock without a certificate");
	if ((routing->claims & OSR_CLAIM_MULTICAST) && !routing->mcast_parent)
		return osr_fail(k->diag, OSR_CHECK_FAILED,
				"the routing claims that multicast is free of deadlock, but has no "
				"spanning order");
	if (routing->mcast_parent &&
	    routing->mcast_vl >= (k->shared ? OSR_MAX_VLS : routing->n_vls))
		return osr_fail(k->diag, OSR_CHECK_FAILED,
				"multicast runs on VL %u, but only %u VLs carry routes",
				routing->mcast_vl, routing->n_vls);
	return OSR_OK;
}

static enum osr_status check_prepare(struct checker *k, struct osr_arena *scratch)
{
	const struct osr_fabric *fabric = k->f;
	size_t n = fabric->n_switches, n_places;
	bool ranked = k->shared && (k->r->claims & OSR_CLAIM_DEADLOCK_FREE);

	k->n_columns = 2;
	for (uint32_t s = 0; s < n; s++)
		if (k->n_columns < fabric->sw_n_ports[s] + 2u)
			k->n_columns = fabric->sw_n_ports[s] + 2u;
	n_places = n * k->n_columns;
	k->port = osr_alloc(scratch, n_places, sizeof(*k->port));
	k->dest_row = osr_calloc(scratch, n + 2, sizeof(*k->dest_row));
	k->dest = osr_alloc(scratch, fabric->n_dests, sizeof(*k->dest));
	if (osr_arena_failed(scratch, k->diag))
		return OSR_NOMEM;
	for (size_t p = 0; p < n_places; p++)
		k->port[p] = (struct hop){ .to = fabric->n_switches };
	for (uint32_t c = 0; c < fabric->n_channels; c++)
		k->port[(size_t)fabric->chan_src[c] * k->n_columns + fabric->chan_port[c]] =
			(struct hop){ .to = fabric->chan_dst[c],
				      .key = ranked ? rank_key(k->r->rank[c]) - 1 : 0 };
	for (uint32_t s = 0; s < n; s++)
		k->n_sources += fabric->sw_sources[s];
	/* Counting sort of the dests by switch: every row's start becomes its end. */
	for (uint32_t d = 0; d < fabric->n_dests; d++)
		k->dest_row[fabric->dest_switch[d] + 2]++;
	for (uint32_t s = 0; s < n; s++)
		k->dest_row[s + 2] += k->dest_row[s + 1];
	for (uint32_t d = 0; d < fabric->n_dests; d++)
		k->dest[k->dest_row[fabric->dest_switch[d] + 1]++] = d;
	return OSR_OK;
}

/* What is written to while trees are walked; the caller asks whether there was memory. */
static void check_prepare_walk(struct checker *k, struct osr_arena *scratch)
{
	size_t n = k->f->n_switches, batch = n < BATCH ? n : BATCH;

	k->dist = osr_alloc(scratch, batch * (n + 1), sizeof(*k->dist));
	k->order = osr_alloc(scratch, batch * n, sizeof(*k->order));
	k->seen = osr_alloc(scratch, n, sizeof(*k->seen));
	k->front = osr_calloc(scratch, n, sizeof(*k->front));
	k->next = osr_calloc(scratch, n, sizeof(*k->next));
	k->active = osr_alloc(scratch, n, sizeof(*k->active));
	k->reached = osr_alloc(scratch, n, sizeof(*k->reached));
	k->nearer = osr_alloc(scratch, n, sizeof(*k->nearer));
	k->row = osr_alloc(scratch, n, 1);
	k->hop = osr_alloc(scratch, n + 1, sizeof(*k->hop));
	k->sources = osr_alloc(scratch, n + 1, sizeof(*k->sources));
	k->load[0] = osr_calloc(scratch, n * k->n_columns, sizeof(*k->load[0]));
	if (k->f->n_dests > k->f->n_terminals)
		k->load[1] = osr_calloc(scratch, n * k->n_columns, sizeof(*k->load[1]));
	if (!k->minimal) {
		k->ordered = osr_alloc(scratch, n, sizeof(*k->ordered));
		k->depth = osr_alloc(scratch, n, sizeof(*k->depth));
		k->way = osr_alloc(scratch, n, sizeof(*k->way));
	}
	if (follows_sls(k))
		osr__check_prepare_follow(k, scratch);
	/* What leads to no switch is followed by nothing. */
	if (k->hop)
		k->hop[n] = (struct hop){ .to = (uint32_t)n, .key = 1 };
}

/* --- distances ------------------------------------------------------------------------------- */

/* Distances of every switch to each of batch_sw[], and the switches in that order. */
static void batch_search(struct checker *k)
{
	const struct osr_fabric *fabric = k->f;
	size_t n = fabric->n_switches;
	uint32_t n_active = k->n_batch;

	memset(k->seen, 0, n * sizeof(*k->seen));
	memset(k->dist, 0xff, k->n_batch * (n + 1) * sizeof(*k->dist));
	for (uint32_t i = 0; i < k->n_batch; i++) {
		uint32_t s = k->batch_sw[i];

		k->dist[i * (n + 1) + n] = AWAY;
		k->seen[s] = k->front[s] = 1ull << i;
		k->dist[i * (n + 1) + s] = 0;
		k->order[i * n] = (uint16_t)s;
		k->batch_n[i] = 1;
		k->active[i] = s;
	}
	for (uint32_t level = 1; n_active; level++) {
		uint32_t *swap = k->active, n_reached = 0;

		/* Switches next to the active ones that some search sees for the first time. */
		for (uint32_t i = 0; i < n_active; i++) {
			uint32_t s = k->active[i];
			uint64_t front = k->front[s];

			k->front[s] = 0;
			for (uint32_t c = fabric->chan_row[s]; c < fabric->chan_row[s + 1]; c++) {
				uint32_t to = fabric->chan_dst[c];
				uint64_t fresh = front & ~k->seen[to];

				if (fresh && !k->next[to])
					k->reached[n_reached++] = to;
				k->next[to] |= fresh;
			}
		}
		/* They are this far from the start of those searches. */
		for (uint32_t i = 0; i < n_reached; i++) {
			uint32_t s = k->reached[i];
			uint64_t fresh = k->next[s];

			k->next[s] = 0;
			k->front[s] = fresh;
			k->seen[s] |= fresh;
			for (; fresh; fresh &= fresh - 1) {
				unsigned b = __builtin_ctzll(fresh);

				k->dist[b * (n + 1) + s] = (uint16_t)level;
				k->order[b * n + k->batch_n[b]++] = (uint16_t)s;
			}
		}
		k->active = k->reached;
		k->reached = swap;
		n_active = n_reached;
	}
}

/* --- the walk -------------------------------------------------------------------------------- */

/*
 * Where each entry leads; the root's has a key above all others. Does every other entry lead to a switch one hop nearer?
 * That excludes loops.
 */
static bool find_hops(struct checker *k, const struct tree *t)
{
	uint32_t n = k->f->n_switches, n_columns = k->n_columns;
	const uint16_t *dist = t->dist, *nearer = k->nearer;
	const struct hop *port = k->port;
	const uint8_t *lft = t->lft;
	struct hop *hop = k->hop;
	uint16_t differ = 0;
	uint8_t highest = 0;

	for (uint32_t s = 0; s < n; s++)
		highest = lft[s] > highest ? lft[s] : highest;
	/* Ports that no switch has lead nowhere, as the last column does. */
	for (uint32_t s = 0; highest >= n_columns && s < n; s++)
		k->row[s] = lft[s] < n_columns ? lft[s] : (uint8_t)(n_columns - 1);
	if (highest >= n_columns)
		lft = k->row;
	for (uint32_t s = 0; s < n; s++, port += n_columns) {
		struct hop to = port[lft[s]];

		hop[s] = to;
		differ |= dist[to.to] ^ nearer[s];
	}
	hop[t->root] = (struct hop){ .to = t->root, .key = UINT32_MAX };
	return !differ;
}

/* How many end ports send through each switch, and to a host LID over each channel. */
static void find_flow(struct checker *k, const struct tree *t)
{
	uint32_t n_columns = k->n_columns, *sources = k->sources;
	uint32_t *load = k->load[t->later];
	const uint16_t *order = t->order;
	const struct hop *hop = k->hop;
	const uint8_t *lft = t->lft;

	memcpy(sources, k->f->sw_sources, k->f->n_switches * sizeof(*sources));
	if (t->host)
		for (uint32_t i = t->n - 1; i > 0; i--) {
			uint32_t s = order[i], through = sources[s];

			sources[hop[s].to] += through;
			load[(size_t)s * n_columns + lft[s]] += through;
		}
	else
		for (uint32_t i = t->n - 1; i > 0; i--)
			sources[hop[order[i]].to] += sources[order[i]];
}

/*
 * Do the dependencies of all packets that exist rise in the shared certificate? Nobody asks one port 0 from another
 * (check.h). The root's own falls.
 */
static bool check_ranks(const struct checker *k, const struct tree *t)
{
	const struct hop *hop = k->hop;
	const uint32_t *sources = k->sources;
	uint32_t n = k->f->n_switches, n_falling = 0;

	if (t->host)
		for (uint32_t s = 0; s < n; s++)
			n_falling += hop[s].key >= hop[hop[s].to].key;
	else
		for (uint32_t s = 0; s < n; s++)
			n_falling += sources[s] && hop[s].key >= hop[hop[s].to].key;
	return n_falling == (t->host || sources[t->root]);
}

/*
 * Without a promise of shortest routes the order must come from the tree itself. The route of each switch is followed to
 * a switch of known depth; the switches on it are appended from there back. False if a route ends early or loops.
 */
static bool order_tree(struct checker *k, struct tree *t)
{
	uint32_t n = 0;
	uint16_t *way = k->way;

	memset(k->depth, 0xff, k->f->n_switches * sizeof(*k->depth));
	k->depth[t->root] = 0;
	k->ordered[n++] = (uint16_t)t->root;
	for (uint32_t i = 1; i < t->n; i++) {
		uint32_t deep = 0, s = t->order[i], depth;

		while (k->depth[s] == FAR) {
			if (k->hop[s].to == k->f->n_switches || deep == t->n)
				return false;
			way[deep++] = (uint16_t)s;
			s = k->hop[s].to;
		}
		depth = k->depth[s];
		while (deep) {
			s = way[--deep];
			k->depth[s] = (uint16_t)++depth;
			k->ordered[n++] = (uint16_t)s;
		}
	}
	t->order = k->ordered;
	return true;
}

/* --- what is wrong? -------------------------------------------------------------------------- */

/* Packets for dest (OSR_NONE: multicast) come on (from, vl_from) and go on by (to, vl_to). */
enum osr_status osr__check_fail_rank(struct checker *k, uint32_t dest, uint32_t from,
				     unsigned vl_from, uint32_t to, unsigned vl_to)
{
	const struct osr_fabric *fabric = k->f;
	const uint32_t *rank = k->r->rank;
	char what[16] = "multicast";
	struct name a, b;

	if (dest != OSR_NONE)
		snprintf(what, sizeof(what), "LID %u", fabric->dest_lid[dest]);
	return osr_fail(k->diag, OSR_CHECK_FAILED,
			"%s: VL %u from switch %s port %u goes on as VL %u from switch %s port %u, "
			"against the deadlock certificate (rank %u, then %u)",
			what, vl_from, sw_name(k, fabric->chan_src[from], &a),
			fabric->chan_port[from], vl_to, sw_name(k, fabric->chan_src[to], &b),
			fabric->chan_port[to], rank[(size_t)vl_from * fabric->n_channels + from],
			rank[(size_t)vl_to * fabric->n_channels + to]);
}

/* OSR_OK: every entry leads along a cable, or to the LID's end port. */
static enum osr_status blame_entries(struct checker *k, const struct tree *t)
{
	const struct osr_fabric *fabric = k->f;
	uint32_t term = fabric->dest_term[t->dest];
	unsigned lid = lid_of(k, t);
	struct name a, b;

	for (uint32_t s = 0; s < fabric->n_switches; s++) {
		const char *sw = sw_name(k, s, &a), *home = sw_name(k, t->root, &b);
		unsigned port = t->lft[s];

		if (t->dist[s] == FAR && port != OSR_NO_PATH)
			return osr_fail(k->diag, OSR_CHECK_FAILED,
					"switch %s sends LID %u out of port %u, but no cable "
					"connects it with switch %s, where the LID is",
					sw, lid, port, home);
		if (s == t->root && port != fabric->term_port[term])
			return osr_fail(k->diag, OSR_CHECK_FAILED,
					"switch %s sends LID %u out of port %u, but %s is attached "
					"to its port %u",
					sw, lid, port, osr_terminal_name(fabric, term, b.buf),
					fabric->term_port[term]);
		if (s == t->root || t->dist[s] == FAR)
			continue;
		if (port == OSR_NO_PATH)
			return osr_fail(k->diag, OSR_CHECK_FAILED,
					"switch %s has no path to LID %u on switch %s, %u hops "
					"away",
					sw, lid, home, t->dist[s]);
		if (port > fabric->sw_n_ports[s])
			return osr_fail(k->diag, OSR_CHECK_FAILED,
					"switch %s sends LID %u out of port %u, but has only %u "
					"ports",
					sw, lid, port, fabric->sw_n_ports[s]);
		if (osr_port_channel(fabric, s, port) == OSR_NONE)
			return osr_fail(k->diag, OSR_CHECK_FAILED,
					"switch %s sends LID %u out of port %u, which leads to no "
					"switch; the LID is on switch %s",
					sw, lid, port, home);
	}
	return OSR_OK;
}

/* Why did the walk of this tree say no? Routes are followed where all entries are sound: a loop, or longer than claimed? */
static enum osr_status blame_tree(struct checker *k, const struct tree *t)
{
	const struct osr_fabric *fabric = k->f;
	enum osr_status st = blame_entries(k, t);
	unsigned lid = lid_of(k, t);
	struct name a, b;

	if (st != OSR_OK)
		return st;
	for (uint32_t s = 0; s < fabric->n_switches; s++) {
		uint32_t hops = 0, at = s;

		if (t->dist[s] == FAR)
			continue;
		for (; at != t->root && hops <= fabric->n_switches; hops++)
			at = fabric->chan_dst[chan_of(k, t, at)];
		if (at != t->root)
			return osr_fail(k->diag, OSR_CHECK_FAILED,
					"LID %u sent from switch %s never arrives: it loops "
					"through switch %s port %u",
					lid, sw_name(k, s, &a), sw_name(k, at, &b), t->lft[at]);
		if (k->minimal && hops != t->dist[s])
			return osr_fail(k->diag, OSR_CHECK_FAILED,
					"the route from switch %s port %u to LID %u takes %u hops, "
					"%u would do",
					sw_name(k, s, &a), t->lft[s], lid, hops, t->dist[s]);
	}
	for (uint32_t s = 0; k->shared && k->r->rank && s < fabric->n_switches; s++) {
		uint32_t c, on;

		if (s == t->root || t->dist[s] == FAR || !is_used(k, t, s))
			continue;
		for (c = chan_of(k, t, s); fabric->chan_dst[c] != t->root; c = on) {
			on = chan_of(k, t, fabric->chan_dst[c]);
			if (rank_key(k->r->rank[c]) >= rank_key(k->r->rank[on]))
				return osr__check_fail_rank(k, t->dest, c, 0, on, 0);
		}
	}
	if (follows_sls(k))
		st = osr__check_blame_lanes(k, t);
	return st ? st
		  : osr_fail(k->diag, OSR_BUG,
			     "the checker refuses the routes to LID %u for no reason", lid);
}

/* --- tree by tree ---------------------------------------------------------------------------- */

/* LIDs of a switch to which all routes are shortest: of port 0, of hosts, and of these the first of each port. */
struct shortest {
	uint64_t n_ports, n_hosts, n_first;
};

/* What the verdict says of their routes. */
static void count_shortest(struct checker *k, const struct tree *t, const struct shortest *lids)
{
	uint32_t n_senders = 0, furthest = t->dist[t->order[t->n - 1]];
	uint64_t n_lids = lids->n_ports + lids->n_hosts;
	struct osr_verdict *verdict = k->v;
	struct osr_lengths *hosts = &verdict->hosts;

	verdict->n_routes += n_lids * (t->n - 1);
	verdict->n_no_path += n_lids * (k->f->n_switches - t->n);
	if (n_lids && verdict->max_hops < furthest)
		verdict->max_hops = furthest;
	for (uint32_t i = 0; lids->n_hosts && i < t->n; i++) {
		uint32_t s = t->order[i], hops = t->dist[s];
		uint64_t sources = k->f->sw_sources[s];

		n_senders += i && sources;
		hosts->least += lids->n_first * sources * hops;
		hosts->hops[hops < OSR_MAX_HOPS ? hops : OSR_MAX_HOPS] += lids->n_hosts * sources;
	}
	/* Switches of the tree, but its root, that have CAs or routers send to hosts. */
	verdict->n_host_routes += lids->n_hosts * n_senders;
	hosts->hops[0] -= lids->n_hosts;
}

/* The same of one tree in which routes are longer. */
static void count_longer(struct checker *k, const struct tree *t)
{
	struct osr_verdict *verdict = k->v;
	struct osr_lengths *hosts = &verdict->hosts;

	verdict->n_routes += t->n - 1;
	verdict->n_no_path += k->f->n_switches - t->n;
	for (uint32_t i = 0; i < t->n; i++) {
		uint32_t s = t->order[i], hops = k->depth[s], longer = hops - t->dist[s];
		uint32_t routes = t->host ? k->f->sw_sources[s] : 0;

		verdict->n_longer += longer > 0;
		if (verdict->max_hops < hops)
			verdict->max_hops = hops;
		if (verdict->max_longer < longer)
			verdict->max_longer = longer;
		verdict->n_host_routes += i && routes;
		verdict->n_host_longer += longer && routes;
		hosts->n_longer += longer ? routes : 0;
		hosts->least += t->later ? 0 : (uint64_t)routes * t->dist[s];
		hosts->hops[hops < OSR_MAX_HOPS ? hops : OSR_MAX_HOPS] += routes;
	}
	hosts->hops[0] -= t->host;
}

/* All that the tables say of one LID; *lids counts it if all of its routes are. */
static bool check_tree(struct checker *k, struct tree t, struct shortest *lids)
{
	bool ranked = k->shared && (k->r->claims & OSR_CLAIM_DEADLOCK_FREE);
	bool sound = t.lft[t.root] == k->f->term_port[k->f->dest_term[t.dest]];
	bool shortest = find_hops(k, &t);

	/* Where no cable leads there must be no entry. */
	for (uint32_t s = 0; t.n < k->f->n_switches && s < k->f->n_switches; s++)
		sound &= t.dist[s] != FAR || t.lft[s] == OSR_NO_PATH;
	if (!sound || (!shortest && (k->minimal || !order_tree(k, &t))))
		return false;
	if (t.host || ranked)
		find_flow(k, &t);
	if (ranked && !check_ranks(k, &t))
		return false;
	lids->n_ports += shortest && !t.host;
	lids->n_hosts += shortest && t.host;
	lids->n_first += shortest && t.host && !t.later;
	if (!shortest)
		count_longer(k, &t);
	return !follows_sls(k) || osr__check_follow(k, &t);
}

/* The LIDs of a switch. */
static enum osr_status check_switch(struct checker *k, struct tree t)
{
	const struct osr_fabric *fabric = k->f;
	struct shortest lids = { 0 };
	enum osr_status st = OSR_OK;

	for (uint32_t s = 0; s < fabric->n_switches; s++)
		k->nearer[s] = (uint16_t)(t.dist[s] - 1);
	k->nearer[t.root] = AWAY;
	for (uint32_t i = k->dest_row[t.root]; !st && i < k->dest_row[t.root + 1]; i++) {
		uint32_t term = fabric->dest_term[k->dest[i]];

		t.dest = k->dest[i];
		t.host = fabric->term_weight[term] > 0;
		t.later = fabric->dest_lid[t.dest] != fabric->term_lid[term];
		t.lft = k->r->lft + (size_t)t.dest * fabric->n_switches;
		if (!check_tree(k, t, &lids))
			st = blame_tree(k, &t);
	}
	count_shortest(k, &t, &lids);
	return st;
}

/* --- several checkers ------------------------------------------------------------------------ */

struct team {
	struct checker *member;
	struct osr_verdict *verdict;
	enum osr_status st;
};

/* The destinations of a batch of switches, by the i-th checker. */
static void team_check(void *ctx, uint32_t i, uint32_t batch)
{
	struct team *team = ctx;
	struct checker *k = &team->member[i];
	uint32_t n = k->f->n_switches, first = batch * BATCH;
	enum osr_status st = OSR_OK;

	if (__atomic_load_n(&team->st, __ATOMIC_RELAXED))
		return;
	k->n_batch = 0;
	for (uint32_t s = first; s < n && s - first < BATCH; s++)
		if (k->dest_row[s] < k->dest_row[s + 1])
			k->batch_sw[k->n_batch++] = s;
	batch_search(k);
	for (size_t b = 0; !st && b < k->n_batch; b++)
		st = check_switch(k, (struct tree){ .root = k->batch_sw[b],
						    .n = k->batch_n[b],
						    .order = k->order + b * n,
						    .dist = k->dist + b * (n + (size_t)1) });
	if (st != OSR_OK)
		__atomic_store_n(&team->st, st, __ATOMIC_RELAXED);
}

/* By n checkers; if they find a fault, by one. */
static enum osr_status check_trees(struct checker *k, uint32_t n, uint64_t *const load[2],
				   struct osr_arena *scratch)
{
	struct osr_arena_mark mark = osr_arena_mark(scratch);
	struct team team = { .member = osr_alloc(scratch, n, sizeof(*team.member)),
			     .verdict = osr_calloc(scratch, n, sizeof(*team.verdict)) };
	struct osr_verdict *sum = k->v;

	for (uint32_t i = 0; i < n && !osr_arena_failed(scratch, k->diag); i++) {
		team.member[i] = *k;
		team.member[i].v = &team.verdict[i];
		team.member[i].diag = n > 1 ? NULL : k->diag;
		check_prepare_walk(&team.member[i], scratch);
	}
	if (osr_arena_failed(scratch, k->diag))
		return OSR_NOMEM;
	osr_threads_share(scratch, team_check, &team, n, (k->f->n_switches + BATCH - 1) / BATCH);
	if (team.st != OSR_OK && n > 1) {
		osr_arena_reset(scratch, mark);
		return check_trees(k, 1, load, scratch);
	}
	for (uint32_t i = 0; i < n; i++) {
		const struct osr_verdict *part = &team.verdict[i];

		for (uint32_t c = 0; c < k->f->n_channels; c++) {
			size_t at = (size_t)k->f->chan_src[c] * k->n_columns + k->f->chan_port[c];

			load[0][c] += team.member[i].load[0][at];
			if (team.member[i].load[1])
				load[1][c] += team.member[i].load[1][at];
		}
		k->sls |= team.member[i].sls;
		sum->n_routes += part->n_routes;
		sum->n_longer += part->n_longer;
		sum->n_host_routes += part->n_host_routes;
		sum->n_host_longer += part->n_host_longer;
		sum->n_no_path += part->n_no_path;
		sum->max_hops = sum->max_hops < part->max_hops ? part->max_hops : sum->max_hops;
		if (sum->max_longer < part->max_longer)
			sum->max_longer = part->max_longer;
		sum->hosts.n_longer += part->hosts.n_longer;
		sum->hosts.least += part->hosts.least;
		for (uint32_t hops = 0; hops <= OSR_MAX_HOPS; hops++)
			sum->hosts.hops[hops] += part->hosts.hops[hops];
	}
	return team.st;
}

/* --- the verdict ----------------------------------------------------------------------------- */

void osr_verdict_loads(const struct osr_fabric *fabric, const uint64_t *first,
		       const uint64_t *later, struct osr_verdict *verdict)
{
	uint16_t fastest = 0;
	double sum = 0;

	verdict->efi = verdict->efi_all = 0;
	verdict->efi_mean = verdict->efi_per_capacity = 0;
	for (uint32_t c = 0; c < fabric->n_channels; c++)
		if (fabric->chan_rate[c] > fastest)
			fastest = fabric->chan_rate[c];
	/* Links of unknown rate count as the fastest. */
	for (uint32_t c = 0; c < fabric->n_channels; c++) {
		uint16_t rate = fabric->chan_rate[c];
		double scaled = (double)first[c];

		if (rate)
			scaled = scaled * fastest / rate;
		sum += (double)first[c];
		if (first[c] > verdict->efi)
			verdict->efi = first[c];
		if (first[c] + later[c] > verdict->efi_all)
			verdict->efi_all = first[c] + later[c];
		if (scaled > verdict->efi_per_capacity)
			verdict->efi_per_capacity = scaled;
	}
	if (fabric->n_channels)
		verdict->efi_mean = sum / fabric->n_channels;
}

/* load: NULL, or [n_channels]. */
static enum osr_status check_all(const struct osr_fabric *fabric, const struct osr_routing *routing,
				 struct osr_arena *scratch, struct osr_verdict *verdict,
				 uint64_t *load, struct osr_diag *diag)
{
	struct osr_arena_mark mark = osr_arena_mark(scratch);
	struct checker k = {
		.f = fabric,
		.r = routing,
		.v = verdict,
		.diag = diag,
		.minimal = routing->claims & OSR_CLAIM_MINIMAL,
		.shared = !routing->sl2vl && (!routing->sl || (routing->claims & OSR_CLAIM_ANY_SL)),
	};
	uint64_t *loads[2] = { load, osr_calloc(scratch, fabric->n_channels, sizeof(*load)) };
	enum osr_status st = check_input(&k);
	unsigned highest;
	struct name a;

	*verdict = (struct osr_verdict){ 0 };
	if (!load)
		loads[0] = osr_alloc(scratch, fabric->n_channels, sizeof(*load));
	if (st == OSR_OK)
		st = check_prepare(&k, scratch);
	if (st == OSR_OK)
		st = osr__check_prepare_lanes(&k, scratch);
	if (st == OSR_OK) {
		uint64_t work = (uint64_t)fabric->n_dests * fabric->n_switches;

		memset(loads[0], 0, fabric->n_channels * sizeof(*load));
		st = check_trees(&k, osr_threads_parts(scratch, work), loads, scratch);
		osr_verdict_loads(fabric, loads[0], loads[1], verdict);
		for (uint32_t hops = 0; hops <= OSR_MAX_HOPS; hops++)
			verdict->hosts.n_routes += verdict->hosts.hops[hops];
		for (uint32_t d = 0; d < fabric->n_dests; d++)
			if (fabric->term_weight[fabric->dest_term[d]])
				verdict->hosts.n_pairs += k.n_sources - 1;
	}
	/* Where VL = SL and any SL is safe, nothing has been followed: only that the VLs exist is open. */
	highest = k.sls ? 31 - __builtin_clz(k.sls) : 0;
	for (uint32_t c = 0; st == OSR_OK && k.shared && c < fabric->n_channels; c++)
		if (fabric->chan_vls[c] <= highest)
			st = osr_fail(diag, OSR_CHECK_FAILED,
				      "the routing uses VL %u, but the cable at switch %s port %u "
				      "has only %u VLs",
				      highest, sw_name(&k, fabric->chan_src[c], &a),
				      fabric->chan_port[c], fabric->chan_vls[c]);
	if (st == OSR_OK && routing->mcast_parent)
		st = osr__check_mcast(&k, scratch);
	verdict->n_vls = k.sls ? __builtin_popcount(k.sls) : routing->n_vls;
	if (st == OSR_OK)
		verdict->proven = routing->claims;
	osr_arena_reset(scratch, mark);
	return st;
}

enum osr_status osr_check_keep(const struct osr_fabric *fabric, const struct osr_routing *routing,
			       struct osr_arena *arena, struct osr_arena *scratch,
			       struct osr_checked *checked, struct osr_diag *diag)
{
	uint64_t *load = osr_alloc(arena, fabric->n_channels, sizeof(*load));
	enum osr_status st;

	*checked = (struct osr_checked){ .routing = *routing };
	if (!load)
		return osr_fail(diag, OSR_NOMEM, "out of memory for the loads of %u channels",
				fabric->n_channels);
	st = check_all(fabric, routing, scratch, &checked->verdict, load, diag);
	if (st)
		return st;
	checked->load = load;
	checked->digest = osr_routing_digest(fabric, routing);
	return OSR_OK;
}

bool osr_check_stands(const struct osr_checked *checked, const struct osr_routing *routing,
		      uint64_t digest)
{
	const struct osr_routing *then = &checked->routing;

	return checked->load && checked->digest == digest && then->claims == routing->claims &&
	       then->lft == routing->lft && then->sl == routing->sl &&
	       then->granted == routing->granted && then->sl2vl == routing->sl2vl &&
	       !memcmp(then->ca_sl2vl, routing->ca_sl2vl, sizeof(then->ca_sl2vl)) &&
	       then->n_vls == routing->n_vls && then->rank == routing->rank &&
	       then->mcast_parent == routing->mcast_parent && then->mcast_vl == routing->mcast_vl;
}

enum osr_status osr_check(const struct osr_fabric *fabric, const struct osr_routing *routing,
			  struct osr_arena *scratch, struct osr_verdict *verdict,
			  struct osr_diag *diag)
{
	return check_all(fabric, routing, scratch, verdict, NULL, diag);
}

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The breadth-first searches of 64 switches run at once, one bit each (The More the Merrier:
 * Efficient Multi-Source Graph Traversal, Then et al., VLDB 2014).
 *
 * The forwarding entries of one destination form a tree. The tree is walked from the farthest
 * switch to the nearest. So when a switch is visited, all that upstream switches pass on has
 * arrived: the number of sources that send through it, the SLs of their packets, the highest rank
 * of the channels that they hold. Two questions concern an entry and the next one alone and need
 * no order: does the entry lead nearer, and to a higher rank?
 *
 * A walk only says yes or no, which keeps it fast. If a walk says no, blame_*() repeat it in the
 * order of the switch numbers to write the message.
 *
 * Batches of searches do not depend on each other. Threads take them in turn, each with a checker
 * of its own; the figures of all checkers are added up. If one of them finds a fault, one thread
 * repeats the whole check, so that the fault told is the first one in the order of the switches.
 */
#include <osmroutes/each.h>

#include "check_private.h"

#include <stdio.h>
#include <string.h>

/* --- before the first tree -------------------------------------------------------------------- */

/* With SL2VL tables and no SLs senders choose any SL: is each of them mapped to a VL in use? */
static enum osr_status check_free_sls(const struct checker *checker)
{
	const struct osr_routing *routing = checker->routing;

	for (unsigned sl = 0; sl < 16; sl++)
		if (routing->ca_sl2vl[sl] >= routing->n_vls)
			return osr_fail(checker->diag, OSR_CHECK_FAILED,
					"senders may choose any SL, but their SL2VL tables map SL "
					"%u to VL %u of %u",
					sl, routing->ca_sl2vl[sl], routing->n_vls);
	return OSR_OK;
}

/*
 * Are the tables for this fabric, and are the arrays there that their claims speak of? Refuses
 * before anything is walked.
 */
static enum osr_status check_input(const struct checker *checker)
{
	const uint32_t more = OSR_CLAIM_REVERSIBLE | OSR_CLAIM_ANY_SL | OSR_CLAIM_MULTICAST;
	const uint32_t all = more | OSR_CLAIM_MINIMAL | OSR_CLAIM_DEADLOCK_FREE;
	const struct osr_routing *routing = checker->routing;
	const struct osr_fabric *fabric = checker->fabric;

	if (!routing->lft)
		return osr_fail(checker->diag, OSR_CHECK_FAILED,
				"the routing has no forwarding tables");
	if (fabric->n_switches > OSR_MAX_LID)
		return osr_fail(checker->diag, OSR_CHECK_FAILED, "%u switches are more than LIDs",
				fabric->n_switches);
	if (routing->n_switches != fabric->n_switches || routing->n_dests != fabric->n_dests ||
	    routing->n_channels != fabric->n_channels)
		return osr_fail(checker->diag, OSR_CHECK_FAILED,
				"the routing is for another fabric: %u switches, %u LIDs and %u "
				"channels instead of %u, %u and %u",
				routing->n_switches, routing->n_dests, routing->n_channels,
				fabric->n_switches, fabric->n_dests, fabric->n_channels);
	if (routing->n_vls < 1 || routing->n_vls > OSR_MAX_VLS)
		return osr_fail(checker->diag, OSR_CHECK_FAILED,
				"the routing uses %u VLs, not 1..%u", routing->n_vls, OSR_MAX_VLS);
	if (routing->sl2vl && !routing->sl2vl_row)
		return osr_fail(checker->diag, OSR_CHECK_FAILED,
				"the SL2VL tables belong to no switch");
	if (routing->granted && (!routing->sl || routing->sl2vl))
		return osr_fail(checker->diag, OSR_CHECK_FAILED,
				"SLs of earlier sweeps are granted beside %s",
				routing->sl ? "SL2VL tables" : "none of this one");
	if (routing->sl2vl && !routing->sl && check_free_sls(checker))
		return OSR_CHECK_FAILED;
	if (routing->claims & ~all)
		return osr_fail(checker->diag, OSR_CHECK_FAILED,
				"the routing makes unknown claims (0x%x)", routing->claims & ~all);
	if ((routing->claims & more) && !(routing->claims & OSR_CLAIM_DEADLOCK_FREE))
		return osr_fail(checker->diag, OSR_CHECK_FAILED,
				"the routing claims to be free of deadlock for replies, any SL or "
				"multicast (0x%x), but not for its own packets",
				routing->claims & more);
	if ((routing->claims & OSR_CLAIM_DEADLOCK_FREE) && !routing->rank &&
	    checker->fabric->n_channels)
		return osr_fail(checker->diag, OSR_CHECK_FAILED,
				"the routing claims to be free of deadlock without a certificate");
	if ((routing->claims & OSR_CLAIM_MULTICAST) && !routing->mcast_parent)
		return osr_fail(checker->diag, OSR_CHECK_FAILED,
				"the routing claims that multicast is free of deadlock, but has no "
				"spanning order");
	if (routing->mcast_parent &&
	    routing->mcast_vl >= (checker->shared ? OSR_MAX_VLS : routing->n_vls))
		return osr_fail(checker->diag, OSR_CHECK_FAILED,
				"multicast runs on VL %u, but only %u VLs carry routes",
				routing->mcast_vl, routing->n_vls);
	return OSR_OK;
}

static enum osr_status check_prepare(struct checker *checker, struct osr_arena *scratch)
{
	const struct osr_fabric *fabric = checker->fabric;
	size_t n = fabric->n_switches, n_places;
	bool ranked = checker->shared && (checker->routing->claims & OSR_CLAIM_DEADLOCK_FREE);

	checker->n_columns = 2;
	OSR_EACH_SWITCH(s, fabric)
		if (checker->n_columns < fabric->sw_n_ports[s] + 2u)
			checker->n_columns = fabric->sw_n_ports[s] + 2u;
	n_places = n * checker->n_columns;
	checker->port = osr_alloc(scratch, n_places, sizeof(*checker->port));
	checker->dest_row = osr_calloc(scratch, n + 2, sizeof(*checker->dest_row));
	checker->dest = osr_alloc(scratch, fabric->n_dests, sizeof(*checker->dest));
	if (osr_arena_failed(scratch, checker->diag))
		return OSR_NOMEM;
	for (size_t p = 0; p < n_places; p++)
		checker->port[p] = (struct hop){ .to = fabric->n_switches };
	OSR_EVERY_CHANNEL(c, fabric)
		checker->port[(size_t)fabric->chan_src[c] * checker->n_columns +
			      fabric->chan_port[c]] =
			(struct hop){ .to = fabric->chan_dst[c],
				      .key = ranked ? rank_key(checker->routing->rank[c]) - 1 : 0 };
	OSR_EACH_SWITCH(s, fabric)
		checker->n_sources += fabric->sw_sources[s];
	/* Counting sort of the dests by switch: every row's start becomes its end. */
	OSR_EACH_DEST(d, fabric)
		checker->dest_row[fabric->dest_switch[d] + 2]++;
	OSR_EACH_SWITCH(s, fabric)
		checker->dest_row[s + 2] += checker->dest_row[s + 1];
	OSR_EACH_DEST(d, fabric)
		checker->dest[checker->dest_row[fabric->dest_switch[d] + 1]++] = d;
	osr_invariant(checker->dest_row[0] == 0 && checker->dest_row[n] == fabric->n_dests);
	return OSR_OK;
}

/* Allocates the arrays that a walk writes. The caller asks whether there was memory. */
static void check_prepare_walk(struct checker *checker, struct osr_arena *scratch)
{
	size_t n = checker->fabric->n_switches, batch = n < BATCH ? n : BATCH;

	checker->dist = osr_alloc(scratch, batch * (n + 1), sizeof(*checker->dist));
	checker->order = osr_alloc(scratch, batch * n, sizeof(*checker->order));
	checker->seen = osr_alloc(scratch, n, sizeof(*checker->seen));
	checker->front = osr_calloc(scratch, n, sizeof(*checker->front));
	checker->next = osr_calloc(scratch, n, sizeof(*checker->next));
	checker->active = osr_alloc(scratch, n, sizeof(*checker->active));
	checker->reached = osr_alloc(scratch, n, sizeof(*checker->reached));
	checker->nearer = osr_alloc(scratch, n, sizeof(*checker->nearer));
	checker->row = osr_alloc(scratch, n, 1);
	checker->hop = osr_alloc(scratch, n + 1, sizeof(*checker->hop));
	checker->sources = osr_alloc(scratch, n + 1, sizeof(*checker->sources));
	checker->load[0] = osr_calloc(scratch, n * checker->n_columns, sizeof(*checker->load[0]));
	if (checker->fabric->n_dests > checker->fabric->n_terminals)
		checker->load[1] =
			osr_calloc(scratch, n * checker->n_columns, sizeof(*checker->load[1]));
	if (!checker->minimal) {
		checker->ordered = osr_alloc(scratch, n, sizeof(*checker->ordered));
		checker->depth = osr_alloc(scratch, n, sizeof(*checker->depth));
		checker->way = osr_alloc(scratch, n, sizeof(*checker->way));
	}
	if (follows_sls(checker))
		osr_check_prepare_follow(checker, scratch);
	/* The hop behind a port that leads to no switch leads to no switch, too. */
	if (checker->hop)
		checker->hop[n] = (struct hop){ .to = (uint32_t)n, .key = 1 };
}

/* --- distances ------------------------------------------------------------------------------- */

/* Distances of every switch to each of batch_sw[], and the switches in that order. */
static void batch_search(struct checker *checker)
{
	const struct osr_fabric *fabric = checker->fabric;
	size_t n = fabric->n_switches;
	uint32_t n_active = checker->n_batch;

	memset(checker->seen, 0, n * sizeof(*checker->seen));
	memset(checker->dist, 0xff, checker->n_batch * (n + 1) * sizeof(*checker->dist));
	for (uint32_t i = 0; i < checker->n_batch; i++) {
		uint32_t s = checker->batch_sw[i];

		checker->dist[i * (n + 1) + n] = AWAY;
		checker->seen[s] = checker->front[s] = 1ull << i;
		checker->dist[i * (n + 1) + s] = 0;
		checker->order[i * n] = (uint16_t)s;
		checker->batch_n[i] = 1;
		checker->active[i] = s;
	}
	for (uint32_t level = 1; n_active; level++) {
		uint32_t *swap = checker->active, n_reached = 0;

		osr_invariant(level <= n && n_active <= n);
		/* Neighbours of active switches that some search sees for the first time. */
		for (uint32_t i = 0; i < n_active; i++) {
			uint32_t s = checker->active[i];
			uint64_t front = checker->front[s];

			checker->front[s] = 0;
			OSR_EACH_CHANNEL(c, fabric, s) {
				uint32_t to = fabric->chan_dst[c];
				uint64_t fresh = front & ~checker->seen[to];

				if (fresh && !checker->next[to])
					checker->reached[n_reached++] = to;
				checker->next[to] |= fresh;
			}
		}
		/* They are `level` channels away from the start of those searches. */
		for (uint32_t i = 0; i < n_reached; i++) {
			uint32_t s = checker->reached[i];
			uint64_t fresh = checker->next[s];

			checker->next[s] = 0;
			checker->front[s] = fresh;
			checker->seen[s] |= fresh;
			for (; fresh; fresh &= fresh - 1) {
				unsigned b = __builtin_ctzll(fresh);

				osr_invariant(checker->dist[b * (n + 1) + s] == FAR);
				osr_invariant(checker->batch_n[b] < n);
				checker->dist[b * (n + 1) + s] = (uint16_t)level;
				checker->order[b * n + checker->batch_n[b]++] = (uint16_t)s;
			}
		}
		checker->active = checker->reached;
		checker->reached = swap;
		n_active = n_reached;
	}
}

/* --- the walk -------------------------------------------------------------------------------- */

/*
 * Fills checker->hop, with a key for the root above all others. Does every other entry lead to a
 * switch one hop nearer? That excludes loops.
 */
static bool find_hops(struct checker *checker, const struct tree *tree)
{
	uint32_t n = checker->fabric->n_switches, n_columns = checker->n_columns;
	const uint16_t *dist = tree->dist, *nearer = checker->nearer;
	const struct hop *port = checker->port;
	const uint8_t *lft = tree->lft;
	struct hop *hop = checker->hop;
	uint16_t differ = 0;
	uint8_t highest = 0;

	for (uint32_t s = 0; s < n; s++)
		highest = lft[s] > highest ? lft[s] : highest;
	/* Ports that no switch has lead nowhere, as the last column does. */
	if (highest >= n_columns) {
		for (uint32_t s = 0; s < n; s++)
			checker->row[s] = lft[s] < n_columns ? lft[s] : (uint8_t)(n_columns - 1);
		lft = checker->row;
	}
	for (uint32_t s = 0; s < n; s++, port += n_columns) {
		struct hop to = port[lft[s]];

		osr_invariant(lft[s] < n_columns && to.to <= n);
		hop[s] = to;
		differ |= dist[to.to] ^ nearer[s];
	}
	hop[tree->root] = (struct hop){ .to = tree->root, .key = UINT32_MAX };
	return !differ;
}

/* Counts the end ports that send through each switch; to a host LID also over each channel. */
static void find_flow(struct checker *checker, const struct tree *tree)
{
	uint32_t n_columns = checker->n_columns, *sources = checker->sources;
	uint32_t *load = checker->load[tree->later];
	const uint16_t *order = tree->order;
	const struct hop *hop = checker->hop;
	const uint8_t *lft = tree->lft;

	memcpy(sources, checker->fabric->sw_sources,
	       checker->fabric->n_switches * sizeof(*sources));
	if (tree->host)
		for (uint32_t i = tree->n - 1; i > 0; i--) {
			uint32_t s = order[i], through = sources[s];

			sources[hop[s].to] += through;
			load[(size_t)s * n_columns + lft[s]] += through;
		}
	else
		for (uint32_t i = tree->n - 1; i > 0; i--)
			sources[hop[order[i]].to] += sources[order[i]];
	osr_invariant(tree->n < checker->fabric->n_switches ||
		      sources[tree->root] == checker->n_sources);
}

/*
 * Do the dependencies of all packets that exist rise in the shared certificate? No packet goes from
 * one port 0 to another (check.h). The hop of the root, the highest, never rises: it is the one
 * falling hop that is expected.
 */
static bool check_ranks(const struct checker *checker, const struct tree *tree)
{
	const struct hop *hop = checker->hop;
	const uint32_t *sources = checker->sources;
	uint32_t n = checker->fabric->n_switches, n_falling = 0;

	if (tree->host)
		for (uint32_t s = 0; s < n; s++)
			n_falling += hop[s].key >= hop[hop[s].to].key;
	else
		for (uint32_t s = 0; s < n; s++)
			n_falling += sources[s] && hop[s].key >= hop[hop[s].to].key;
	return n_falling == (tree->host || sources[tree->root]);
}

/*
 * If routes need not be shortest, the order comes from the tree itself. The route of each switch is
 * followed to a switch of known depth; then its switches are appended, the one next to that switch
 * first. False if a route ends early or loops.
 */
static bool order_tree(struct checker *checker, struct tree *tree)
{
	uint32_t n = 0;
	uint16_t *way = checker->way;

	memset(checker->depth, 0xff, checker->fabric->n_switches * sizeof(*checker->depth));
	checker->depth[tree->root] = 0;
	checker->ordered[n++] = (uint16_t)tree->root;
	for (uint32_t i = 1; i < tree->n; i++) {
		uint32_t deep = 0, s = tree->order[i], depth;

		while (checker->depth[s] == FAR) {
			if (checker->hop[s].to == checker->fabric->n_switches || deep == tree->n)
				return false;
			way[deep++] = (uint16_t)s;
			s = checker->hop[s].to;
		}
		depth = checker->depth[s];
		while (deep) {
			s = way[--deep];
			checker->depth[s] = (uint16_t)++depth;
			checker->ordered[n++] = (uint16_t)s;
		}
	}
	osr_invariant(n == tree->n);
	tree->order = checker->ordered;
	return true;
}

/* --- what is wrong? -------------------------------------------------------------------------- */

/* Packets for dest (OSR_NONE: multicast) hold (from, vl_from) and wait for (to, vl_to). */
enum osr_status osr_check_fail_rank(struct checker *checker, uint32_t dest, uint32_t from,
				    unsigned vl_from, uint32_t to, unsigned vl_to)
{
	const struct osr_fabric *fabric = checker->fabric;
	const uint32_t *rank = checker->routing->rank;
	char what[16] = "multicast";
	struct name a, b;

	if (dest != OSR_NONE)
		snprintf(what, sizeof(what), "LID %u", fabric->dest_lid[dest]);
	return osr_fail(checker->diag, OSR_CHECK_FAILED,
			"%s: VL %u from switch %s port %u goes on as VL %u from switch %s port %u, "
			"against the deadlock certificate (rank %u, then %u)",
			what, vl_from, sw_name(checker, fabric->chan_src[from], &a),
			fabric->chan_port[from], vl_to, sw_name(checker, fabric->chan_src[to], &b),
			fabric->chan_port[to], rank[(size_t)vl_from * fabric->n_channels + from],
			rank[(size_t)vl_to * fabric->n_channels + to]);
}

/* OSR_OK: every entry leads along a cable, or to the LID's end port. */
static enum osr_status blame_entries(struct checker *checker, const struct tree *tree)
{
	const struct osr_fabric *fabric = checker->fabric;
	uint32_t term = fabric->dest_term[tree->dest];
	unsigned lid = lid_of(checker, tree);
	struct name a, b;

	OSR_EACH_SWITCH(s, fabric) {
		const char *sw = sw_name(checker, s, &a), *home = sw_name(checker, tree->root, &b);
		unsigned port = tree->lft[s];

		if (tree->dist[s] == FAR && port != OSR_NO_PATH)
			return osr_fail(checker->diag, OSR_CHECK_FAILED,
					"switch %s sends LID %u out of port %u, but no cable "
					"connects it with switch %s, where the LID is",
					sw, lid, port, home);
		if (s == tree->root && port != fabric->term_port[term])
			return osr_fail(checker->diag, OSR_CHECK_FAILED,
					"switch %s sends LID %u out of port %u, but %s is attached "
					"to its port %u",
					sw, lid, port, osr_terminal_name(fabric, term, b.buf),
					fabric->term_port[term]);
		if (s == tree->root || tree->dist[s] == FAR)
			continue;
		if (port == OSR_NO_PATH)
			return osr_fail(checker->diag, OSR_CHECK_FAILED,
					"switch %s has no path to LID %u on switch %s, %u hops "
					"away",
					sw, lid, home, tree->dist[s]);
		if (port > fabric->sw_n_ports[s])
			return osr_fail(checker->diag, OSR_CHECK_FAILED,
					"switch %s sends LID %u out of port %u, but has only %u "
					"ports",
					sw, lid, port, fabric->sw_n_ports[s]);
		if (osr_port_channel(fabric, s, port) == OSR_NONE)
			return osr_fail(checker->diag, OSR_CHECK_FAILED,
					"switch %s sends LID %u out of port %u, which leads to no "
					"switch; the LID is on switch %s",
					sw, lid, port, home);
	}
	return OSR_OK;
}

/* OSR_OK: ranks rise along every route of this tree, whose entries lead to the root. */
static enum osr_status blame_ranks(struct checker *checker, const struct tree *tree)
{
	const struct osr_fabric *fabric = checker->fabric;
	const uint32_t *rank = checker->routing->rank;

	OSR_EACH_SWITCH(s, fabric) {
		uint32_t c, on;

		if (s == tree->root || tree->dist[s] == FAR || !is_used(checker, tree, s))
			continue;
		for (c = chan_of(checker, tree, s); fabric->chan_dst[c] != tree->root; c = on) {
			on = chan_of(checker, tree, fabric->chan_dst[c]);
			if (rank_key(rank[c]) >= rank_key(rank[on]))
				return osr_check_fail_rank(checker, tree->dest, c, 0, on, 0);
		}
	}
	return OSR_OK;
}

/*
 * Why did the walk of this tree say no? If all entries lead somewhere, a route loops, is longer
 * than claimed, or breaks the certificate.
 */
static enum osr_status blame_tree(struct checker *checker, const struct tree *tree)
{
	const struct osr_fabric *fabric = checker->fabric;
	enum osr_status st = blame_entries(checker, tree);
	unsigned lid = lid_of(checker, tree);
	struct name a, b;

	if (st != OSR_OK)
		return st;
	OSR_EACH_SWITCH(s, fabric) {
		uint32_t hops = 0, at = s;

		if (tree->dist[s] == FAR)
			continue;
		while (at != tree->root && hops <= fabric->n_switches) {
			at = fabric->chan_dst[chan_of(checker, tree, at)];
			hops++;
		}
		if (at != tree->root)
			return osr_fail(checker->diag, OSR_CHECK_FAILED,
					"LID %u sent from switch %s never arrives: it loops "
					"through switch %s port %u",
					lid, sw_name(checker, s, &a), sw_name(checker, at, &b),
					tree->lft[at]);
		if (checker->minimal && hops != tree->dist[s])
			return osr_fail(checker->diag, OSR_CHECK_FAILED,
					"the route from switch %s port %u to LID %u takes %u hops, "
					"%u would do",
					sw_name(checker, s, &a), tree->lft[s], lid, hops,
					tree->dist[s]);
	}
	if (checker->shared && checker->routing->rank)
		st = blame_ranks(checker, tree);
	else if (follows_sls(checker))
		st = osr_check_blame_lanes(checker, tree);
	if (st != OSR_OK)
		return st;
	return osr_fail(checker->diag, OSR_BUG,
			"the checker refuses the routes to LID %u for no reason", lid);
}

/* --- tree by tree ---------------------------------------------------------------------------- */

/*
 * LIDs of a switch to which all routes are shortest: the LIDs of port 0, those of hosts, and the
 * first LIDs of host ports.
 */
struct shortest {
	uint64_t n_ports, n_hosts, n_first;
};

/* Adds the routes to these LIDs to the verdict. */
static void count_shortest(struct checker *checker, const struct tree *tree,
			   const struct shortest *lids)
{
	uint32_t n_senders = 0, furthest = tree->dist[tree->order[tree->n - 1]];
	uint64_t n_lids = lids->n_ports + lids->n_hosts;
	struct osr_verdict *verdict = checker->verdict;
	struct osr_lengths *hosts = &verdict->hosts;

	verdict->n_routes += n_lids * (tree->n - 1);
	verdict->n_no_path += n_lids * (checker->fabric->n_switches - tree->n);
	if (n_lids && verdict->max_hops < furthest)
		verdict->max_hops = furthest;
	if (!lids->n_hosts)
		return;
	for (uint32_t i = 0; i < tree->n; i++) {
		uint32_t s = tree->order[i], hops = tree->dist[s];
		uint64_t sources = checker->fabric->sw_sources[s];

		n_senders += i && sources;
		hosts->least += lids->n_first * sources * hops;
		hosts->hops[hops < OSR_MAX_HOPS ? hops : OSR_MAX_HOPS] += lids->n_hosts * sources;
	}
	/* Every switch with CAs or routers, except the root, sends to these hosts. */
	verdict->n_host_routes += lids->n_hosts * n_senders;
	hosts->hops[0] -= lids->n_hosts;
}

/* Adds the routes of one tree, some of which are longer than the shortest, to the verdict. */
static void count_longer(struct checker *checker, const struct tree *tree)
{
	struct osr_verdict *verdict = checker->verdict;
	struct osr_lengths *hosts = &verdict->hosts;

	verdict->n_routes += tree->n - 1;
	verdict->n_no_path += checker->fabric->n_switches - tree->n;
	for (uint32_t i = 0; i < tree->n; i++) {
		uint32_t s = tree->order[i], hops = checker->depth[s],
			 longer = hops - tree->dist[s];
		uint32_t routes = tree->host ? checker->fabric->sw_sources[s] : 0;

		osr_invariant(hops >= tree->dist[s]);
		verdict->n_longer += longer > 0;
		if (verdict->max_hops < hops)
			verdict->max_hops = hops;
		if (verdict->max_longer < longer)
			verdict->max_longer = longer;
		verdict->n_host_routes += i && routes;
		verdict->n_host_longer += longer && routes;
		hosts->n_longer += longer ? routes : 0;
		hosts->least += tree->later ? 0 : (uint64_t)routes * tree->dist[s];
		hosts->hops[hops < OSR_MAX_HOPS ? hops : OSR_MAX_HOPS] += routes;
	}
	hosts->hops[0] -= tree->host;
}

/* Checks the entries of one LID. *lids counts the LID if all of its routes are shortest. */
static bool check_tree(struct checker *checker, struct tree tree, struct shortest *lids)
{
	bool ranked = checker->shared && (checker->routing->claims & OSR_CLAIM_DEADLOCK_FREE);
	bool sound = tree.lft[tree.root] ==
		     checker->fabric->term_port[checker->fabric->dest_term[tree.dest]];
	bool shortest = find_hops(checker, &tree);
	uint32_t n = checker->fabric->n_switches;

	osr_invariant(tree.order[0] == tree.root && tree.n <= n);
	/* Switches of other components must have no entry. */
	if (tree.n < n)
		for (uint32_t s = 0; s < n; s++)
			sound &= tree.dist[s] != FAR || tree.lft[s] == OSR_NO_PATH;
	if (!sound || (!shortest && (checker->minimal || !order_tree(checker, &tree))))
		return false;
	if (tree.host || ranked)
		find_flow(checker, &tree);
	if (ranked && !check_ranks(checker, &tree))
		return false;
	lids->n_ports += shortest && !tree.host;
	lids->n_hosts += shortest && tree.host;
	lids->n_first += shortest && tree.host && !tree.later;
	if (!shortest)
		count_longer(checker, &tree);
	return !follows_sls(checker) || osr_check_follow(checker, &tree);
}

/* Checks all LIDs of the switch tree.root. */
static enum osr_status check_switch(struct checker *checker, struct tree tree)
{
	const struct osr_fabric *fabric = checker->fabric;
	struct shortest lids = { 0 };
	enum osr_status st = OSR_OK;

	osr_invariant(tree.dist[tree.root] == 0);
	OSR_EACH_SWITCH(s, fabric)
		checker->nearer[s] = (uint16_t)(tree.dist[s] - 1);
	checker->nearer[tree.root] = AWAY;
	for (uint32_t i = checker->dest_row[tree.root]; i < checker->dest_row[tree.root + 1]; i++) {
		uint32_t term = fabric->dest_term[checker->dest[i]];

		tree.dest = checker->dest[i];
		tree.host = fabric->term_weight[term] > 0;
		tree.later = fabric->dest_lid[tree.dest] != fabric->term_lid[term];
		tree.lft = checker->routing->lft + (size_t)tree.dest * fabric->n_switches;
		if (!check_tree(checker, tree, &lids)) {
			st = blame_tree(checker, &tree);
			break;
		}
	}
	count_shortest(checker, &tree, &lids);
	return st;
}

/* --- several checkers ------------------------------------------------------------------------ */

struct team {
	struct checker *member;
	struct osr_verdict *verdict;
	enum osr_status st;
};

/* The i-th checker checks the destinations of a batch of switches. */
static void team_check(void *ctx, uint32_t i, uint32_t batch)
{
	struct team *team = ctx;
	struct checker *checker = &team->member[i];
	uint32_t n = checker->fabric->n_switches, first = batch * BATCH;
	uint32_t end = n - first < BATCH ? n : first + BATCH;
	enum osr_status st = OSR_OK;

	if (__atomic_load_n(&team->st, __ATOMIC_RELAXED))
		return;
	checker->n_batch = 0;
	for (uint32_t s = first; s < end; s++)
		if (checker->dest_row[s] < checker->dest_row[s + 1])
			checker->batch_sw[checker->n_batch++] = s;
	batch_search(checker);
	for (size_t b = 0; !st && b < checker->n_batch; b++)
		st = check_switch(checker,
				  (struct tree){ .root = checker->batch_sw[b],
						 .n = checker->batch_n[b],
						 .order = checker->order + b * n,
						 .dist = checker->dist + b * (n + (size_t)1) });
	if (st != OSR_OK)
		__atomic_store_n(&team->st, st, __ATOMIC_RELAXED);
}

/* Checks all trees by n checkers; if they find a fault, again by one. */
static enum osr_status check_trees(struct checker *checker, uint32_t n, uint64_t *const load[2],
				   struct osr_arena *scratch)
{
	struct osr_arena_mark mark = osr_arena_mark(scratch);
	struct team team = { .member = osr_alloc(scratch, n, sizeof(*team.member)),
			     .verdict = osr_calloc(scratch, n, sizeof(*team.verdict)) };
	struct osr_verdict *sum = checker->verdict;

	for (uint32_t i = 0; i < n; i++) {
		if (osr_arena_failed(scratch, checker->diag))
			return OSR_NOMEM;
		team.member[i] = *checker;
		team.member[i].verdict = &team.verdict[i];
		team.member[i].diag = n > 1 ? NULL : checker->diag;
		check_prepare_walk(&team.member[i], scratch);
	}
	if (osr_arena_failed(scratch, checker->diag))
		return OSR_NOMEM;
	osr_threads_share(scratch, team_check, &team, n,
			  (checker->fabric->n_switches + BATCH - 1) / BATCH);
	if (team.st != OSR_OK && n > 1) {
		osr_arena_reset(scratch, mark);
		return check_trees(checker, 1, load, scratch);
	}
	for (uint32_t i = 0; i < n; i++) {
		const struct osr_verdict *part = &team.verdict[i];

		OSR_EVERY_CHANNEL(c, checker->fabric) {
			size_t at = (size_t)checker->fabric->chan_src[c] * checker->n_columns +
				    checker->fabric->chan_port[c];

			load[0][c] += team.member[i].load[0][at];
			if (team.member[i].load[1])
				load[1][c] += team.member[i].load[1][at];
		}
		checker->sls |= team.member[i].sls;
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
	verdict->efi_mean = verdict->efi_per_capacity = verdict->efi_all_per_capacity = 0;
	OSR_EVERY_CHANNEL(c, fabric)
		if (fabric->chan_rate[c] > fastest)
			fastest = fabric->chan_rate[c];
	/* Links of unknown rate count as the fastest. */
	OSR_EVERY_CHANNEL(c, fabric) {
		uint16_t rate = fabric->chan_rate[c];
		double scale = rate ? (double)fastest / rate : 1, scaled = (double)first[c] * scale,
		       scaled_all = (double)(first[c] + later[c]) * scale;

		sum += (double)first[c];
		if (first[c] > verdict->efi)
			verdict->efi = first[c];
		if (first[c] + later[c] > verdict->efi_all)
			verdict->efi_all = first[c] + later[c];
		if (scaled > verdict->efi_per_capacity)
			verdict->efi_per_capacity = scaled;
		if (scaled_all > verdict->efi_all_per_capacity)
			verdict->efi_all_per_capacity = scaled_all;
	}
	if (fabric->n_channels)
		verdict->efi_mean = sum / fabric->n_channels;
}

/* What holds of the figures of accepted tables. */
static void check_figures(const struct osr_fabric *fabric, const struct osr_verdict *verdict,
			  uint64_t *const load[2])
{
	const struct osr_lengths *hosts = &verdict->hosts;
	uint64_t n_loads = 0, n_hops = 0;

	OSR_EVERY_CHANNEL(c, fabric)
		n_loads += load[0][c] + load[1][c];
	for (uint32_t hops = 0; hops <= OSR_MAX_HOPS; hops++)
		n_hops += hosts->hops[hops] * hops;
	/* Every route loads each of its channels once. */
	osr_invariant(hosts->hops[OSR_MAX_HOPS] || n_loads == n_hops);
	osr_invariant(verdict->n_longer <= verdict->n_routes);
	osr_invariant(verdict->n_host_routes <= verdict->n_routes);
	osr_invariant(verdict->n_host_longer <= verdict->n_host_routes);
	osr_invariant(hosts->n_routes <= hosts->n_pairs && hosts->n_longer <= hosts->n_routes);
	osr_invariant(verdict->efi <= verdict->efi_all);
	osr_invariant(verdict->max_longer <= verdict->max_hops);
	osr_invariant(verdict->n_routes + verdict->n_no_path ==
		      (uint64_t)fabric->n_dests * (fabric->n_switches - 1u));
}

/* Is every VL in use there on every cable? For tables in which VL = SL and any SL is safe. */
static enum osr_status check_cables(const struct checker *checker)
{
	const struct osr_fabric *fabric = checker->fabric;
	unsigned highest = checker->sls ? 31 - __builtin_clz(checker->sls) : 0;
	struct name name;

	OSR_EVERY_CHANNEL(c, fabric)
		if (fabric->chan_vls[c] <= highest)
			return osr_fail(checker->diag, OSR_CHECK_FAILED,
					"the routing uses VL %u, but the cable at switch %s port "
					"%u has only %u VLs",
					highest, sw_name(checker, fabric->chan_src[c], &name),
					fabric->chan_port[c], fabric->chan_vls[c]);
	return OSR_OK;
}

/* load: NULL, or [n_channels]. */
static enum osr_status check_all(const struct osr_fabric *fabric, const struct osr_routing *routing,
				 struct osr_arena *scratch, struct osr_verdict *verdict,
				 uint64_t *load, struct osr_diag *diag)
{
	struct osr_arena_mark mark = osr_arena_mark(scratch);
	struct checker checker = {
		.fabric = fabric,
		.routing = routing,
		.verdict = verdict,
		.diag = diag,
		.minimal = routing->claims & OSR_CLAIM_MINIMAL,
		.shared = !routing->sl2vl && (!routing->sl || (routing->claims & OSR_CLAIM_ANY_SL)),
	};
	uint64_t *loads[2] = { load, osr_calloc(scratch, fabric->n_channels, sizeof(*load)) };
	enum osr_status st = check_input(&checker);

	*verdict = (struct osr_verdict){ 0 };
	if (!load)
		loads[0] = osr_alloc(scratch, fabric->n_channels, sizeof(*load));
	if (st == OSR_OK)
		st = check_prepare(&checker, scratch);
	if (st == OSR_OK)
		st = osr_check_prepare_lanes(&checker, scratch);
	if (st == OSR_OK) {
		uint64_t work = (uint64_t)fabric->n_dests * fabric->n_switches;

		memset(loads[0], 0, fabric->n_channels * sizeof(*load));
		st = check_trees(&checker, osr_threads_parts(scratch, work), loads, scratch);
		osr_verdict_loads(fabric, loads[0], loads[1], verdict);
		for (uint32_t hops = 0; hops <= OSR_MAX_HOPS; hops++)
			verdict->hosts.n_routes += verdict->hosts.hops[hops];
		OSR_EACH_DEST(d, fabric)
			if (fabric->term_weight[fabric->dest_term[d]])
				verdict->hosts.n_pairs += checker.n_sources - 1;
		if (st == OSR_OK)
			check_figures(fabric, verdict, loads);
	}
	/* The walk of tables with one graph for all VLs has not followed any VL. */
	if (st == OSR_OK && checker.shared)
		st = check_cables(&checker);
	if (st == OSR_OK && routing->mcast_parent)
		st = osr_check_mcast(&checker, scratch);
	verdict->n_vls = checker.sls ? __builtin_popcount(checker.sls) : routing->n_vls;
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

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The forwarding entries of one destination form a tree. The tree is walked from the farthest
 * switch to the nearest. So when a switch is visited, everything that upstream switches pass on has
 * arrived: the number of sources that send through it, the SLs of their packets, the highest rank
 * of the channels that they hold. Two questions concern an entry and the next one alone and need no
 * order: does the entry lead nearer, and to a higher rank?
 *
 * A walk only says yes or no, which keeps it fast.
 */
#include <osmroutes/each.h>

#include "check_private.h"

#include <string.h>

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
			checker->row[s] = lft[s] < n_columns ? lft[s] : n_columns - 1;
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
	uint16_t *way = checker->longer.way;

	memset(checker->longer.depth, 0xff,
	       checker->fabric->n_switches * sizeof(*checker->longer.depth));
	checker->longer.depth[tree->root] = 0;
	checker->longer.order[n++] = tree->root;
	for (uint32_t i = 1; i < tree->n; i++) {
		uint32_t deep = 0, s = tree->order[i], depth;

		while (checker->longer.depth[s] == FAR) {
			if (checker->hop[s].to == checker->fabric->n_switches || deep == tree->n)
				return false;
			way[deep++] = s;
			s = checker->hop[s].to;
		}
		depth = checker->longer.depth[s];
		osr_invariant(depth != FAR && deep < tree->n);
		while (deep) {
			s = way[--deep];
			checker->longer.depth[s] = (uint16_t)++depth;
			checker->longer.order[n++] = s;
		}
	}
	osr_invariant(n == tree->n);
	tree->order = checker->longer.order;
	return true;
}

/* --- tree by tree ---------------------------------------------------------------------------- */

/* LIDs of a switch to which all routes are shortest: of port 0, of hosts, first LIDs of hosts. */
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

	osr_invariant(tree->n >= 1 && tree->n <= checker->fabric->n_switches);
	osr_invariant(lids->n_first <= lids->n_hosts);
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

	osr_invariant(checker->longer.depth[tree->root] == 0 && !checker->minimal);
	verdict->n_routes += tree->n - 1;
	verdict->n_no_path += checker->fabric->n_switches - tree->n;
	for (uint32_t i = 0; i < tree->n; i++) {
		uint32_t s = tree->order[i], hops = checker->longer.depth[s],
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
enum osr_status osr_check_switch(struct checker *checker, struct tree tree)
{
	const struct osr_fabric *fabric = checker->fabric;
	struct shortest lids = { 0 };
	enum osr_status st = OSR_OK;

	osr_invariant(tree.dist[tree.root] == 0);
	OSR_EACH_SWITCH(s, fabric)
		checker->nearer[s] = tree.dist[s] - 1;
	checker->nearer[tree.root] = AWAY;
	for (uint32_t i = checker->dest_row[tree.root]; i < checker->dest_row[tree.root + 1]; i++) {
		uint32_t term = fabric->dest_term[checker->dest[i]];

		tree.dest = checker->dest[i];
		osr_invariant(fabric->dest_switch[tree.dest] == tree.root);
		tree.host = fabric->term_weight[term] > 0;
		tree.later = fabric->dest_lid[tree.dest] != fabric->term_lid[term];
		tree.lft = checker->routing->lft + (size_t)tree.dest * fabric->n_switches;
		if (!check_tree(checker, tree, &lids)) {
			st = osr_check_blame(checker, &tree);
			break;
		}
	}
	count_shortest(checker, &tree, &lids);
	return st;
}

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Sentences for tables that a walk has refused, in the order of the switch numbers. */
#include <osmroutes/each.h>

#include "check_private.h"

#include <stdio.h>

/* Packets for dest (OSR_NONE: multicast) hold (from, vl_from) and wait for (to, vl_to). */
enum osr_status osr_check_fail_rank(struct checker *checker, uint32_t dest, uint32_t from,
				    unsigned vl_from, uint32_t to, unsigned vl_to)
{
	const struct osr_fabric *fabric = checker->fabric;
	const uint32_t *rank = checker->routing->rank;
	char what[16] = "multicast";
	struct name a, b;

	osr_invariant(fabric->chan_src[to] == fabric->chan_dst[from]);
	osr_invariant(vl_from < checker->routing->n_vls && vl_to < checker->routing->n_vls);
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

static enum osr_status fail_vl(struct checker *checker, const struct tree *tree, uint32_t s,
			       unsigned vl)
{
	struct name name;

	if (vl >= 15)
		return osr_fail(checker->diag, OSR_CHECK_FAILED,
				"switch %s drops packets to LID %u at port %u: SL2VL maps their SL "
				"to VL 15",
				sw_name(checker, s, &name), lid_of(checker, tree), tree->lft[s]);
	return osr_fail(checker->diag, OSR_CHECK_FAILED,
			"packets to LID %u leave switch %s port %u on VL %u, beyond the %u VLs of "
			"the routing or those of the cable",
			lid_of(checker, tree), sw_name(checker, s, &name), tree->lft[s], vl,
			checker->routing->n_vls);
}

/* A packet on this SL enters switch s by port `in`, is on the VL of the tables, and goes home. */
static enum osr_status blame_packet(struct checker *checker, const struct tree *tree, uint32_t s,
				    unsigned in, unsigned sl)
{
	const struct osr_fabric *fabric = checker->fabric;
	uint32_t from = OSR_NONE;
	unsigned vl_from = 0;

	for (;;) {
		uint32_t c = osr_port_channel(fabric, s, tree->lft[s]);
		unsigned vl =
			checker->routing->sl2vl ? table_of(checker, s, in, tree->lft[s])[sl] : sl;

		if (s == tree->root && !checker->routing->sl2vl)
			return OSR_OK;
		if (!osr_check_key(checker, s, tree->lft[s], vl))
			return fail_vl(checker, tree, s, vl);
		if (s == tree->root)
			return OSR_OK;
		if (from != OSR_NONE && (checker->routing->claims & OSR_CLAIM_DEADLOCK_FREE) &&
		    osr_check_key(checker, fabric->chan_src[from], fabric->chan_port[from],
				  vl_from) >= osr_check_key(checker, s, tree->lft[s], vl))
			return osr_check_fail_rank(checker, tree->dest, from, vl_from, c, vl);
		from = c;
		vl_from = vl;
		in = fabric->chan_port[fabric->chan_rev[c]];
		s = fabric->chan_dst[c];
	}
}

/* Follows every packet by itself. OSR_OK: each of them arrives as the certificate says. */
static enum osr_status blame_lanes(struct checker *checker, const struct tree *tree)
{
	const struct osr_fabric *fabric = checker->fabric;
	enum osr_status st;

	OSR_EACH_SWITCH(s, fabric) {
		unsigned sls = tree->dist[s] == FAR ? 0 : osr_check_sls(checker, tree, s);

		OSR_EACH_LANE(sl, sls) {
			st = blame_packet(checker, tree, s, 0, sl);
			if (st != OSR_OK)
				return st;
			if (!checker->routing->sl2vl)
				continue;
			OSR_EACH_TERMINAL(e, fabric, s) {
				st = blame_packet(checker, tree, s, fabric->term_port[e], sl);
				if (st != OSR_OK)
					return st;
			}
		}
	}
	return OSR_OK;
}

enum osr_status osr_check_blame(struct checker *checker, const struct tree *tree)
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
		st = blame_lanes(checker, tree);
	if (st != OSR_OK)
		return st;
	return osr_fail(checker->diag, OSR_BUG,
			"the checker refuses the routes to LID %u for no reason", lid);
}

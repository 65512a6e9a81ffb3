/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* What the checker says: a walk found that something is wrong, and these find what. */
#include "check_private.h"

#include <stdio.h>

enum osr_status osr__check_blame_root(struct checker *k, const struct tree *t)
{
	uint32_t term = k->f->dest_term[t->dest];
	struct name a, b;

	if (t->lft[t->root] == k->f->term_port[term])
		return OSR_OK;
	return osr_fail(k->diag, OSR_CHECK_FAILED,
			"switch %s sends LID %u out of port %u, but %s is attached to its port %u",
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
		return osr__check_blame_root(k, t);
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

static enum osr_status blame_shared_rank(struct checker *k, const struct tree *t, uint32_t s)
{
	uint32_t c, on;

	if (s == t->root || !is_used(k, t, s))
		return OSR_OK;
	for (c = chan_of(k, t, s); k->f->chan_dst[c] != t->root; c = on) {
		on = chan_of(k, t, k->f->chan_dst[c]);
		if (rank_key(k->r->rank[c]) >= rank_key(k->r->rank[on]))
			return osr__check_fail_rank(k, t->dest, c, 0, on, 0);
	}
	return OSR_OK;
}

/* Why did the walk of this tree say no? */
enum osr_status osr__check_blame_tree(struct checker *k, const struct tree *t)
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

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The service levels of one tree: which VL every packet is on at every switch, and whether ranks rise. */
#include "check_private.h"

#include <string.h>

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
static bool sl_usable(const struct osr_routing *routing, unsigned sl)
{
	if (sl > 15)
		return false;
	return (routing->sl2vl ? routing->ca_sl2vl[sl] : sl) < routing->n_vls;
}

static enum osr_status fail_sl(struct checker *k, unsigned sl)
{
	const struct osr_routing *routing = k->r;
	size_t i = 0;
	struct name a;

	while (routing->sl[i] != sl || routing->lft[i] == OSR_NO_PATH)
		i++;
	return osr_fail(k->diag, OSR_CHECK_FAILED,
			"packets from switch %s to LID %u are on SL %u, which %s",
			sw_name(k, i % routing->n_switches, &a),
			k->f->dest_lid[i / routing->n_switches], sl,
			routing->sl2vl ? "does not exist or is dropped by the sender's SL2VL table"
				       : "is no VL of the routing");
}

/* All SLs, before they are used to follow packets; those of packets that stay on a switch too. */
enum osr_status osr__check_sl_values(struct checker *k)
{
	const struct osr_routing *routing = k->r;
	size_t n = (size_t)routing->n_dests * routing->n_switches;
	bool used[2][256] = { { false } };

	for (size_t i = 0; i < n; i++)
		used[routing->lft[i] == OSR_NO_PATH][routing->sl[i]] = true;
	for (unsigned sl = 0; sl < 256; sl++) {
		if (!used[0][sl])
			continue;
		if (!sl_usable(routing, sl))
			return fail_sl(k, sl);
		k->sls |= routing->sl2vl ? 0 : 1u << sl;
	}
	return OSR_OK;
}

static enum osr_status check_sl_check_ranks(struct checker *k, const struct tree *t, uint32_t from,
					    uint32_t to, unsigned vls)
{
	const unsigned n_vls = k->r->n_vls;
	const uint32_t *a = k->rank + (size_t)from * n_vls;
	const uint32_t *b = k->rank + (size_t)to * n_vls;

	for (; vls; vls &= vls - 1) {
		unsigned vl = __builtin_ctz(vls);

		if (a[vl] >= b[vl])
			return osr__check_fail_rank(k, t->dest, from, vl, to, vl);
	}
	return OSR_OK;
}

/* VL = SL everywhere: the SLs of all packets that pass a switch, pushed towards the root. */
enum osr_status osr__check_follow_sls(struct checker *k, const struct tree *t)
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
		st = check_sl_check_ranks(k, t, c, chan_of(k, t, next), mask);
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
			return osr__check_fail_rank(k, t->dest, from, vl, to, vl_to);
	}
	return OSR_OK;
}

/*
 * Adds what is on the channel of switch s (mask[s], vls[s]) to the next switch, as that switch's
 * table for this pair of ports maps it.
 */
static enum osr_status check_sl_push_vls(struct checker *k, const struct tree *t, uint32_t s)
{
	const struct passage *by = &k->passage[k->out[s]], *on = &k->passage[k->out[by->dst]];
	const uint8_t *vl = k->vl_of + by->pair + t->lft[by->dst];
	const uint16_t *vls = k->vls + (size_t)s * k->n_kinds;
	uint16_t *next_vls = k->vls + (size_t)by->dst * k->n_kinds;

	for (unsigned kinds = k->mask[s]; kinds; kinds &= kinds - 1) {
		unsigned kind = __builtin_ctz(kinds), vl_to = vl[(size_t)kind * k->n_pairs];
		unsigned bit = vl_bit(vl_to);
		enum osr_status st = OSR_OK;

		if (bit & ~on->vl_ok)
			return fail_vl(k, t, by->dst, bit);
		if (by->dst != t->root && k->rank)
			st = check_rank_step(k, t, by->chan, vls[kind], on->chan, vl_to);
		if (st != OSR_OK)
			return st;
		next_vls[kind] |= bit;
	}
	k->mask[by->dst] |= k->mask[s];
	return OSR_OK;
}

/* The kinds of a set of SLs. */
static unsigned kinds_of(const struct checker *k, unsigned sls)
{
	unsigned kinds = 0;

	if (sls == 0xffff)
		return (1u << k->n_kinds) - 1;
	for (; sls; sls &= sls - 1)
		kinds |= 1u << k->kind_of[__builtin_ctz(sls)];
	return kinds;
}

/* Adds what the hosts of switch s and its port 0 send. */
static enum osr_status inject_vls(struct checker *k, const struct tree *t, uint32_t s)
{
	const uint16_t *inject = k->inject + (size_t)k->out[s] * k->n_kinds;
	uint16_t kinds = kinds_of(k, sls_from(k, t, s)), ok = k->passage[k->out[s]].vl_ok;

	for (unsigned left = kinds; left; left &= left - 1) {
		unsigned kind = __builtin_ctz(left);

		if (inject[kind] & ~ok)
			return fail_vl(k, t, s, inject[kind] & ~ok);
		k->vls[(size_t)s * k->n_kinds + kind] |= inject[kind];
	}
	k->mask[s] |= kinds;
	return OSR_OK;
}

/* With SL2VL tables: the VLs of every kind of SLs, channel by channel. */
enum osr_status osr__check_follow_vls(struct checker *k, const struct tree *t)
{
	memset(k->mask, 0, k->f->n_switches * sizeof(*k->mask));
	memset(k->vls, 0, (size_t)k->f->n_switches * k->n_kinds * sizeof(*k->vls));
	for (uint32_t i = t->n; i-- > 0;)
		k->out[t->order[i]] = k->f->port_row[t->order[i]] + t->lft[t->order[i]];
	for (uint32_t i = t->n; i-- > 0;) {
		uint32_t s = t->order[i];
		enum osr_status st = inject_vls(k, t, s);

		if (st == OSR_OK && s != t->root)
			st = check_sl_push_vls(k, t, s);
		if (st != OSR_OK)
			return st;
		for (uint32_t kind = 0; s != t->root && kind < k->n_kinds; kind++)
			k->sls |= k->vls[(size_t)s * k->n_kinds + kind];
	}
	return OSR_OK;
}

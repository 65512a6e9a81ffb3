/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Before the first tree: are the tables of this fabric, and everything the walks need, laid out flat. */
#include "check_private.h"

#include <string.h>

enum osr_status osr__check_dimensions(const struct checker *k)
{
	const struct osr_routing *routing = k->r;
	const struct osr_fabric *fabric = k->f;

	if (!routing->lft)
		return osr_fail(k->diag, OSR_CHECK_FAILED, "the routing has no forwarding tables");
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
	return OSR_OK;
}

/* A claim that lacks what it speaks of is refused before anything is walked. */
enum osr_status osr__check_claims(const struct checker *k)
{
	const uint32_t more = OSR_CLAIM_REVERSIBLE | OSR_CLAIM_ANY_SL | OSR_CLAIM_MULTICAST;
	const uint32_t all = more | OSR_CLAIM_MINIMAL | OSR_CLAIM_DEADLOCK_FREE;
	const struct osr_routing *routing = k->r;

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

enum osr_status osr__check_prepare(struct checker *k, struct osr_arena *scratch)
{
	const struct osr_fabric *fabric = k->f;
	size_t n = fabric->n_switches;
	bool ranked = k->shared && (k->r->claims & OSR_CLAIM_DEADLOCK_FREE);

	k->port = osr_alloc(scratch, fabric->n_ports, sizeof(*k->port));
	k->sw = osr_alloc(scratch, n, sizeof(*k->sw));
	k->dest_row = osr_calloc(scratch, n + 1, sizeof(*k->dest_row));
	k->dest = osr_alloc(scratch, fabric->n_dests, sizeof(*k->dest));
	k->inflow_start = osr_alloc(scratch, n, sizeof(*k->inflow_start));
	if (osr_arena_failed(scratch, k->diag))
		return OSR_NOMEM;
	for (uint32_t p = 0; p < fabric->n_ports; p++) {
		uint32_t c = fabric->port_chan[p];

		k->port[p] = (struct port){ .dst = fabric->n_switches };
		if (c == OSR_NONE)
			continue;
		k->port[p].dst = fabric->chan_dst[c];
		if (ranked)
			k->port[p].key = rank_key(k->r->rank[c]);
	}
	for (uint32_t s = 0; s < n; s++) {
		k->sw[s] = (struct sw){ fabric->port_row[s], fabric->sw_n_ports[s] };
		k->inflow_start[s] = (struct inflow){ .sources = fabric->sw_sources[s] };
	}
	/* Counting sort of the dests by switch. */
	for (uint32_t d = 0; d < fabric->n_dests; d++)
		k->dest_row[fabric->dest_switch[d] + 1]++;
	for (uint32_t s = 0; s < n; s++)
		k->dest_row[s + 1] += k->dest_row[s];
	for (uint32_t d = fabric->n_dests; d-- > 0;)
		k->dest[--k->dest_row[fabric->dest_switch[d] + 1]] = d;
	/* Every row end has become the row's start. */
	memmove(k->dest_row, k->dest_row + 1, n * sizeof(*k->dest_row));
	k->dest_row[n] = fabric->n_dests;
	return OSR_OK;
}

/* What is written to while trees are walked; the caller asks whether there was memory. */
void osr__check_prepare_walk(struct checker *k, struct osr_arena *scratch)
{
	const struct osr_fabric *fabric = k->f;
	size_t n = fabric->n_switches, batch = n < BATCH ? n : BATCH;
	const struct port *port = k->port;

	k->port = osr_alloc(scratch, fabric->n_ports, sizeof(*k->port));
	k->dist = osr_alloc(scratch, batch * (n + 1), sizeof(*k->dist));
	k->order = osr_alloc(scratch, batch * n, sizeof(*k->order));
	k->seen = osr_alloc(scratch, n, sizeof(*k->seen));
	k->front = osr_calloc(scratch, n, sizeof(*k->front));
	k->next = osr_calloc(scratch, n, sizeof(*k->next));
	k->active = osr_alloc(scratch, n, sizeof(*k->active));
	k->reached = osr_alloc(scratch, n, sizeof(*k->reached));
	k->inflow = osr_alloc(scratch, n, sizeof(*k->inflow));
	if (!k->minimal) {
		k->peel = osr_alloc(scratch, n, sizeof(*k->peel));
		k->depth = osr_alloc(scratch, n, sizeof(*k->depth));
		k->n_children = osr_alloc(scratch, n, sizeof(*k->n_children));
	}
	if (follows_sls(k)) {
		k->mask = osr_alloc(scratch, n, sizeof(*k->mask));
		k->vls = osr_alloc(scratch, n * k->n_kinds, sizeof(*k->vls));
		k->out = osr_alloc(scratch, n, sizeof(*k->out));
	}
	if (k->port)
		memcpy(k->port, port, fabric->n_ports * sizeof(*port));
}

/* --- preparing to follow SLs ----------------------------------------------------------------- */

static void add_inject(struct checker *k, uint32_t s, unsigned in)
{
	unsigned n_ports = k->f->sw_n_ports[s];
	uint32_t pair = k->r->sl2vl_row[s] + in * (n_ports + 1);

	for (unsigned out = 0; out <= n_ports; out++)
		for (unsigned kind = 0; kind < k->n_kinds; kind++)
			k->inject[(size_t)(k->f->port_row[s] + out) * k->n_kinds + kind] |=
				vl_bit(k->vl_of[(size_t)kind * k->n_pairs + pair + out]);
}

/* What hosts send may come in by any port with an end port, and by port 0. */
static void fill_inject(struct checker *k)
{
	const struct osr_fabric *fabric = k->f;

	for (uint32_t s = 0; s < fabric->n_switches; s++) {
		add_inject(k, s, 0);
		for (uint32_t t = fabric->term_row[s]; t < fabric->term_row[s + 1]; t++)
			if (fabric->term_port[t])
				add_inject(k, s, fabric->term_port[t]);
	}
}

/* SLs that were of one kind so far, but have different VLs here, are so no more: kinds by lowest SL. */
static void split_kinds(uint8_t first[16], const uint8_t vl[16])
{
	uint8_t before[16];

	memcpy(before, first, sizeof(before));
	for (unsigned sl = 0; sl < 16; sl++) {
		unsigned other = before[sl];

		while (before[other] != before[sl] || vl[other] != vl[sl])
			other++;
		first[sl] = (uint8_t)other;
	}
}

/* first[16]: the lowest SL of the kind of each. Pairs of ports of all switches lie in a row. */
static void find_kinds(struct checker *k, uint8_t first[16])
{
	osr_sl2vl_t *table = k->r->sl2vl;

	memset(first, 0, 16);
	for (uint32_t pair = 0; pair < k->n_pairs; pair++)
		for (unsigned sl = 1; sl < 16; sl++)
			if (table[pair][sl] != table[pair][first[sl]]) {
				split_kinds(first, table[pair]);
				break;
			}
}

static void fill_passages(struct checker *k)
{
	const struct osr_fabric *fabric = k->f;

	for (uint32_t s = 0; s < fabric->n_switches; s++)
		for (uint32_t out = 0; out <= fabric->sw_n_ports[s]; out++) {
			struct passage *passage = &k->passage[fabric->port_row[s] + out];
			uint32_t c = osr_port_channel(fabric, s, out), dst;

			/* What stays at port 0 meets no data VL any more. */
			*passage =
				(struct passage){ .chan = c,
						  .vl_ok = out ? (1u << k->r->n_vls) - 1 : 0xffff };
			if (c == OSR_NONE)
				continue;
			passage->dst = dst = fabric->chan_dst[c];
			passage->pair =
				k->r->sl2vl_row[dst] + fabric->chan_port[fabric->chan_rev[c]] *
							       (fabric->sw_n_ports[dst] + 1u);
			passage->vl_ok = k->vl_ok[c];
		}
}

/*
 * Lanes by turn map all 16 SLs alike, classes of SLs a few: packets are followed once for each kind, in
 * tables of one byte a pair.
 */
static enum osr_status prepare_sl2vl(struct checker *k, struct osr_arena *scratch)
{
	const struct osr_fabric *fabric = k->f;
	uint8_t first[16], *vl;

	for (uint32_t s = 0; s < fabric->n_switches; s++) {
		uint32_t n_ports = fabric->sw_n_ports[s] + 1u;
		uint32_t end = k->r->sl2vl_row[s] + n_ports * n_ports;

		k->n_pairs = end > k->n_pairs ? end : k->n_pairs;
	}
	find_kinds(k, first);
	for (unsigned sl = 0; sl < 16; sl++)
		k->kind_of[sl] = first[sl] == sl ? (uint8_t)k->n_kinds++ : k->kind_of[first[sl]];
	k->vl_of = vl = osr_alloc(scratch, (size_t)k->n_kinds * k->n_pairs, 1);
	k->inject = osr_calloc(scratch, (size_t)fabric->n_ports * k->n_kinds, sizeof(*k->inject));
	k->passage = osr_alloc(scratch, fabric->n_ports, sizeof(*k->passage));
	if (osr_arena_failed(scratch, k->diag))
		return OSR_NOMEM;
	fill_passages(k);
	for (unsigned sl = 0; sl < 16; sl++)
		for (uint32_t pair = 0; first[sl] == sl && pair < k->n_pairs; pair++)
			*vl++ = k->r->sl2vl[pair][sl];
	fill_inject(k);
	return OSR_OK;
}

static void swap16(uint16_t *a, uint16_t *b)
{
	uint16_t x = *a;

	*a = *b;
	*b = x;
}

/* In place and in blocks: columns of a large matrix have no place in the cache. */
static void check_prepare_transpose(uint16_t *m, size_t n)
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
static void check_prepare_fill_reply(struct checker *k)
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
	check_prepare_transpose(k->reply, n);
}

enum osr_status osr__check_prepare_sls(struct checker *k, struct osr_arena *scratch)
{
	const struct osr_fabric *fabric = k->f;
	const struct osr_routing *routing = k->r;
	size_t n = fabric->n_switches;
	bool any = !routing->sl || (routing->claims & OSR_CLAIM_ANY_SL);
	bool ranked = routing->claims & OSR_CLAIM_DEADLOCK_FREE;
	bool reply = (routing->claims & OSR_CLAIM_REVERSIBLE) && !any;

	if (!follows_sls(k))
		return OSR_OK;
	k->vl_ok = osr_alloc(scratch, fabric->n_channels, sizeof(*k->vl_ok));
	if (ranked)
		k->rank = osr_alloc(scratch, fabric->n_channels, routing->n_vls * sizeof(*k->rank));
	if (reply)
		k->reply = osr_calloc(scratch, n, n * sizeof(*k->reply));
	if (osr_arena_failed(scratch, k->diag))
		return OSR_NOMEM;
	for (uint32_t c = 0; c < fabric->n_channels; c++) {
		unsigned vls = fabric->chan_vls[c];

		k->vl_ok[c] = (1u << (vls < k->r->n_vls ? vls : k->r->n_vls)) - 1;
		for (unsigned vl = 0; ranked && vl < routing->n_vls; vl++)
			k->rank[(size_t)c * routing->n_vls + vl] =
				routing->rank[(size_t)vl * fabric->n_channels + c];
	}
	if (reply)
		check_prepare_fill_reply(k);
	return routing->sl2vl ? prepare_sl2vl(k, scratch) : OSR_OK;
}

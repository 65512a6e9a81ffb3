/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Lanes: which VL the packets of one tree are on at every switch, by their SLs, and whether ranks
 * rise.
 */
#include <osmroutes/each.h>

#include "check_private.h"

#include <string.h>

/* --- before the first tree -------------------------------------------------------------------- */

/*
 * Is every SL of the tables mapped to a VL of the routing by its sender (a CA has a table of its
 * own)? Asked before any packet is followed, also for packets that stay on their switch.
 */
static enum osr_status check_sl_values(struct checker *checker)
{
	const struct osr_routing *routing = checker->routing;
	size_t n = (size_t)routing->n_dests * routing->n_switches;
	bool used[2][256] = { { false } };
	struct name name;

	for (size_t i = 0; i < n; i++)
		used[routing->lft[i] == OSR_NO_PATH][routing->sl[i]] = true;
	for (unsigned sl = 0; sl < 256; sl++) {
		size_t i = 0;

		if (!used[0][sl])
			continue;
		if (sl < 16 && (routing->sl2vl ? routing->ca_sl2vl[sl] : sl) < routing->n_vls) {
			checker->sls |= routing->sl2vl ? 0 : 1u << sl;
			continue;
		}
		while (routing->sl[i] != sl || routing->lft[i] == OSR_NO_PATH)
			i++;
		return osr_fail(checker->diag, OSR_CHECK_FAILED,
				"packets from switch %s to LID %u are on SL %u, which %s",
				sw_name(checker, i % routing->n_switches, &name),
				checker->fabric->dest_lid[i / routing->n_switches], sl,
				routing->sl2vl
					? "does not exist or is dropped by the sender's SL2VL table"
					: "is no VL of the routing");
	}
	return OSR_OK;
}

uint32_t osr_check_key(const struct checker *checker, uint32_t s, unsigned out, unsigned vl)
{
	uint32_t c = osr_port_channel(checker->fabric, s, out);

	if (!out)
		return 1;
	if (vl >= checker->routing->n_vls || (c != OSR_NONE && vl >= checker->fabric->chan_vls[c]))
		return 0;
	if (c == OSR_NONE || !(checker->routing->claims & OSR_CLAIM_DEADLOCK_FREE))
		return 1;
	return rank_key(checker->routing->rank[(size_t)vl * checker->fabric->n_channels + c]);
}

/* The same, looked up in checker->lanes.rank, where VL n_vls stands for all VLs from n_vls on. */
static uint32_t key_at(const struct checker *checker, uint32_t port, unsigned vl)
{
	unsigned n_vls = checker->routing->n_vls;

	osr_invariant(port < checker->fabric->n_ports);
	return checker->lanes.rank[(size_t)port * (n_vls + 1) + (vl < n_vls ? vl : n_vls)];
}

static void add_entry(struct checker *checker, uint32_t s, unsigned in, uint32_t out)
{
	uint32_t port = checker->fabric->port_row[s] + out;
	uint32_t pair =
		checker->routing->sl2vl_row[s] + in * (checker->fabric->sw_n_ports[s] + 1u) + out;

	osr_invariant(pair < checker->lanes.n_pairs);
	for (unsigned kind = 0; kind < checker->lanes.n_kinds; kind++) {
		struct entry *entry =
			&checker->lanes.entry[(size_t)port * checker->lanes.n_kinds + kind];
		unsigned vl = checker->lanes.vl_of[(size_t)kind * checker->lanes.n_pairs + pair];
		uint32_t key = key_at(checker, port, vl);

		/* Key 0, a VL that may not be used, stays. */
		if (!entry->vls || (entry->key && (!key || key > entry->key)))
			entry->key = key;
		entry->vls |= vl_bit(vl);
	}
}

static enum osr_status prepare_sl2vl(struct checker *checker, struct osr_arena *scratch)
{
	const struct osr_fabric *fabric = checker->fabric;
	const osr_sl2vl_t *table = (const osr_sl2vl_t *)checker->routing->sl2vl;
	uint16_t differ[16] = { 0 }; /* bit b of differ[a], b < a: some table maps them apart */
	uint8_t lowest[16], *vl;

	OSR_EACH_SWITCH(s, fabric) {
		uint32_t n_ports = fabric->sw_n_ports[s] + 1u;
		uint32_t end = checker->routing->sl2vl_row[s] + n_ports * n_ports;

		checker->lanes.n_pairs =
			end > checker->lanes.n_pairs ? end : checker->lanes.n_pairs;
	}
	/*
	 * Lanes by turn map all 16 SLs alike, classes of SLs a few: packets are followed once for
	 * each kind, in tables of one byte a pair. Pairs of ports of all switches lie in a row.
	 */
	for (uint32_t pair = 0; pair < checker->lanes.n_pairs; pair++) {
		const uint8_t *at = table[pair];

		/* Most tables have one VL for all SLs, or equal the table before. */
		if (!memcmp(at, at + 1, 15) || (pair && !memcmp(at, table[pair - 1], 16)))
			continue;
		for (unsigned a = 0; a < 16; a++)
			for (unsigned b = 0; b < a; b++)
				differ[a] |= (at[a] != at[b]) << b;
	}
	for (unsigned sl = 0; sl < 16; sl++) {
		unsigned same = ~differ[sl] & ((1u << sl) - 1);

		if (!same)
			lowest[checker->lanes.n_kinds] = sl;
		checker->lanes.kind_of[sl] = same ? checker->lanes.kind_of[__builtin_ctz(same)]
						  : checker->lanes.n_kinds++;
	}
	osr_invariant(checker->lanes.n_kinds >= 1 && checker->lanes.n_kinds <= 16);
	checker->lanes.vl_of = vl =
		osr_alloc(scratch, (size_t)checker->lanes.n_kinds * checker->lanes.n_pairs, 1);
	checker->lanes.entry = osr_calloc(scratch, (size_t)fabric->n_ports * checker->lanes.n_kinds,
					  sizeof(*checker->lanes.entry));
	checker->lanes.passage =
		osr_alloc(scratch, fabric->n_ports, sizeof(*checker->lanes.passage));
	if (osr_arena_failed(scratch, checker->diag))
		return OSR_NOMEM;
	for (unsigned kind = 0; kind < checker->lanes.n_kinds; kind++)
		for (uint32_t pair = 0; pair < checker->lanes.n_pairs; pair++)
			*vl++ = table[pair][lowest[kind]];
	OSR_EACH_SWITCH(s, fabric)
		for (uint32_t out = 0; out <= fabric->sw_n_ports[s]; out++) {
			uint32_t c = osr_port_channel(fabric, s, out), dst = fabric->n_switches;
			struct passage *by = &checker->lanes.passage[fabric->port_row[s] + out];

			/* Packets enter the fabric by port 0 and by every port with an end port. */
			add_entry(checker, s, 0, out);
			OSR_EACH_TERMINAL(t, fabric, s)
				add_entry(checker, s, fabric->term_port[t], out);
			*by = (struct passage){ .to = dst };
			if (c == OSR_NONE)
				continue;
			by->to = dst = fabric->chan_dst[c];
			by->pair = checker->routing->sl2vl_row[dst] +
				   fabric->chan_port[fabric->chan_rev[c]] *
					   (fabric->sw_n_ports[dst] + 1u);
		}
	return OSR_OK;
}

/*
 * Requests from switch a to switch b use the SLs of all LIDs on b, and the reply may be sent to any
 * LID on a: reply[a * n + b] holds the SLs of all replies of b to a. asked[n_switches] is
 * overwritten.
 */
static void find_replies(struct checker *checker, uint16_t *asked)
{
	const struct osr_fabric *fabric = checker->fabric;
	const struct osr_routing *routing = checker->routing;
	size_t n = fabric->n_switches;

	OSR_EACH_SWITCH(b, fabric) {
		memset(asked, 0, n * sizeof(*asked));
		for (uint32_t i = checker->dest_row[b]; i < checker->dest_row[b + 1]; i++) {
			const uint8_t *sl = routing->sl + checker->dest[i] * n;
			const uint8_t *lft = routing->lft + checker->dest[i] * n;
			const uint16_t *granted =
				routing->granted ? routing->granted + checker->dest[i] * n : NULL;

			for (size_t a = 0; a < n; a++)
				if (lft[a] != OSR_NO_PATH && fabric->sw_sources[a])
					asked[a] |= 1u << (sl[a] & 15) | (granted ? granted[a] : 0);
		}
		for (size_t a = 0; a < n; a++)
			checker->lanes.reply[a * n + b] = asked[a];
	}
}

enum osr_status osr_check_prepare_lanes(struct checker *checker, struct osr_arena *scratch)
{
	const struct osr_fabric *fabric = checker->fabric;
	const struct osr_routing *routing = checker->routing;
	size_t n = fabric->n_switches;
	bool any = !routing->sl || (routing->claims & OSR_CLAIM_ANY_SL);
	bool reply = (routing->claims & OSR_CLAIM_REVERSIBLE) && !any;
	uint16_t *asked = NULL;
	uint32_t *rank;
	enum osr_status st = routing->sl ? check_sl_values(checker) : OSR_OK;

	if (st || !follows_sls(checker))
		return st;
	checker->lanes.rank = osr_alloc(scratch, fabric->n_ports,
					(routing->n_vls + 1u) * sizeof(*checker->lanes.rank));
	if (reply) {
		checker->lanes.reply = osr_alloc(scratch, n, n * sizeof(*checker->lanes.reply));
		asked = osr_alloc(scratch, n, sizeof(*asked));
	}
	if (osr_arena_failed(scratch, checker->diag))
		return OSR_NOMEM;
	rank = checker->lanes.rank;
	OSR_EACH_SWITCH(s, fabric)
		for (unsigned out = 0; out <= fabric->sw_n_ports[s]; out++)
			for (unsigned vl = 0; vl <= routing->n_vls; vl++)
				*rank++ = osr_check_key(checker, s, out, vl);
	if (reply)
		find_replies(checker, asked);
	return routing->sl2vl ? prepare_sl2vl(checker, scratch) : OSR_OK;
}

/* Allocates the arrays that following packets writes. The caller asks whether there was memory. */
void osr_check_prepare_follow(struct checker *checker, struct osr_arena *scratch)
{
	size_t n = checker->fabric->n_switches;

	if (checker->routing->sl2vl)
		checker->lanes.held = osr_alloc(scratch, n * checker->lanes.n_kinds,
						sizeof(*checker->lanes.held));
	else
		checker->lanes.mask = osr_alloc(scratch, n, sizeof(*checker->lanes.mask));
}

/* --- the packets of one tree ------------------------------------------------------------------ */

uint16_t osr_check_sls(const struct checker *checker, const struct tree *tree, uint32_t s)
{
	size_t n = checker->fabric->n_switches;
	unsigned sls;

	if (!is_used(checker, tree, s))
		return 0;
	if (!checker->routing->sl || (checker->routing->claims & OSR_CLAIM_ANY_SL))
		return 0xffff;
	sls = 1u << (checker->routing->sl[tree->dest * n + s] & 15);
	if (checker->routing->granted)
		sls |= checker->routing->granted[tree->dest * n + s];
	/* Port 0 sends no requests, so no reply goes to it. */
	if (checker->lanes.reply && tree->host)
		sls |= checker->lanes.reply[tree->root * n + s];
	return sls;
}

/* VL = SL everywhere: the SLs of all packets that pass a switch, pushed towards the root. */
static bool follow_sls(struct checker *checker, const struct tree *tree)
{
	const struct osr_fabric *fabric = checker->fabric;
	bool ranked = checker->routing->claims & OSR_CLAIM_DEADLOCK_FREE;

	memset(checker->lanes.mask, 0, fabric->n_switches * sizeof(*checker->lanes.mask));
	for (uint32_t i = tree->n - 1; i > 0; i--) {
		uint32_t s = tree->order[i], next = checker->hop[s].to;
		uint32_t port = fabric->port_row[s] + tree->lft[s];
		uint32_t on = fabric->port_row[next] + tree->lft[next];
		unsigned sls = checker->lanes.mask[s] | osr_check_sls(checker, tree, s);

		checker->lanes.mask[next] |= sls;
		checker->sls |= sls;
		OSR_EACH_LANE(vl, sls) {
			uint32_t key = key_at(checker, port, vl);

			if (!key ||
			    (ranked && next != tree->root && key >= key_at(checker, on, vl)))
				return false;
		}
	}
	return true;
}

static unsigned kinds_of(const struct checker *checker, unsigned sls)
{
	unsigned kinds = 0;

	if (sls == 0xffff)
		return (1u << checker->lanes.n_kinds) - 1;
	OSR_EACH_LANE(sl, sls)
		kinds |= 1u << checker->lanes.kind_of[sl];
	osr_invariant(kinds < 1u << checker->lanes.n_kinds);
	return kinds;
}

/*
 * With SL2VL tables: the highest key that packets of each kind of SLs hold where they leave a
 * switch. The table of the next switch gives the VL on which they go on, one for the whole kind.
 */
static inline __attribute__((always_inline)) bool
follow_kinds(struct checker *checker, const struct tree *tree, uint32_t n_kinds)
{
	const struct osr_fabric *fabric = checker->fabric;
	bool ranked = checker->routing->claims & OSR_CLAIM_DEADLOCK_FREE;
	unsigned used = 0;

	memset(checker->lanes.held, 0,
	       (size_t)fabric->n_switches * n_kinds * sizeof(*checker->lanes.held));
	for (uint32_t i = tree->n; i-- > 0;) {
		uint32_t s = tree->order[i], port = fabric->port_row[s] + tree->lft[s];
		struct passage by = checker->lanes.passage[port];
		const struct entry *entry = checker->lanes.entry + (size_t)port * n_kinds;
		uint32_t *held = checker->lanes.held + (size_t)s * n_kinds;
		uint32_t *next = checker->lanes.held + (size_t)by.to * n_kinds;
		unsigned enter = kinds_of(checker, osr_check_sls(checker, tree, s));

		osr_invariant(!i || by.to == checker->hop[s].to);
		for (uint32_t kind = 0; kind < n_kinds; kind++) {
			uint32_t key;
			unsigned vl;

			/* Packets of the hosts and of port 0 join those from other switches. */
			if (enter >> kind & 1) {
				if (!entry[kind].key)
					return false;
				if (held[kind] < entry[kind].key)
					held[kind] = entry[kind].key;
				used |= i ? entry[kind].vls : 0;
			}
			if (!held[kind] || !i)
				continue;
			vl = checker->lanes.vl_of[(size_t)kind * checker->lanes.n_pairs + by.pair +
						  tree->lft[by.to]];
			key = key_at(checker, fabric->port_row[by.to] + tree->lft[by.to], vl);
			if (!key || (ranked && by.to != tree->root && held[kind] >= key))
				return false;
			used |= by.to == tree->root ? 0 : 1u << vl;
			next[kind] = next[kind] < key ? key : next[kind];
		}
	}
	checker->sls |= used;
	return true;
}

bool osr_check_follow(struct checker *checker, const struct tree *tree)
{
	if (!checker->routing->sl2vl)
		return follow_sls(checker, tree);
	/* Lanes by turn have one kind. */
	return checker->lanes.n_kinds == 1 ? follow_kinds(checker, tree, 1)
					   : follow_kinds(checker, tree, checker->lanes.n_kinds);
}

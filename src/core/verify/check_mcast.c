/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The span of multicast: a forest whose dependencies fit the certificate of its VL. */
#include <osmroutes/each.h>

#include "check_private.h"

#include <stdio.h>
#include <string.h>

/* The root of the tree that has s. */
static uint32_t find_root(uint32_t *root, uint32_t s)
{
	for (uint32_t up; (up = root[s]) != s; s = up)
		root[s] = root[up];
	return s;
}

/*
 * Do the links to parents form a forest without rings, with all hosts of a component in one tree?
 * Otherwise a group is torn apart.
 */
static enum osr_status check_forest(struct checker *checker, uint32_t *root, uint32_t *host)
{
	const struct osr_fabric *fabric = checker->fabric;
	struct name a, b;

	OSR_EACH_SWITCH(s, fabric) {
		root[s] = s;
		host[s] = OSR_NONE;
	}
	OSR_EACH_SWITCH(s, fabric) {
		uint32_t c = checker->routing->mcast_parent[s], up;

		if (c == OSR_NONE)
			continue;
		if (c >= fabric->n_channels || fabric->chan_src[c] != s)
			return osr_fail(checker->diag, OSR_CHECK_FAILED,
					"multicast: the link from switch %s to its parent is "
					"channel %u, not one of its own",
					sw_name(checker, s, &a), c);
		up = find_root(root, fabric->chan_dst[c]);
		if (up == s)
			return osr_fail(checker->diag, OSR_CHECK_FAILED,
					"multicast: the spanning order loops through switch %s "
					"port %u",
					sw_name(checker, s, &a), fabric->chan_port[c]);
		/* A switch has one parent, so s has been a root until now. */
		osr_invariant(root[s] == s && root[up] == up);
		root[s] = up;
	}
	OSR_EACH_SWITCH(s, fabric) {
		uint32_t *first = &host[fabric->sw_component[s]];

		if (!fabric->sw_sources[s])
			continue;
		if (*first == OSR_NONE)
			*first = s;
		if (find_root(root, s) != find_root(root, *first))
			return osr_fail(
				checker->diag, OSR_CHECK_FAILED,
				"multicast: the spanning order does not connect switches %s and %s",
				sw_name(checker, *first, &a), sw_name(checker, s, &b));
	}
	return OSR_OK;
}

static bool in_forest(const struct checker *checker, uint32_t c)
{
	const uint32_t *parent = checker->routing->mcast_parent;

	osr_invariant(c < checker->fabric->n_channels);
	return parent[checker->fabric->chan_src[c]] == c ||
	       parent[checker->fabric->chan_dst[c]] == checker->fabric->chan_rev[c];
}

/*
 * The VLs that multicast packets of each SL may have on channel c, by whatever port they came.
 * Unless `by_tables`, multicast stays on one VL, and all is in vls[0].
 */
static void mcast_vls(const struct checker *checker, bool by_tables, uint32_t c, uint16_t vls[16])
{
	const struct osr_fabric *fabric = checker->fabric;
	uint32_t s = fabric->chan_src[c];
	const struct entry *entry;

	memset(vls, 0, 16 * sizeof(*vls));
	if (!by_tables) {
		vls[0] = vl_bit(checker->shared ? 0 : checker->routing->mcast_vl);
		return;
	}
	entry = checker->lanes.entry +
		(size_t)(fabric->port_row[s] + fabric->chan_port[c]) * checker->lanes.n_kinds;
	for (unsigned sl = 0; sl < 16; sl++)
		vls[sl] = entry[checker->lanes.kind_of[sl]].vls;
	OSR_EACH_CHANNEL(o, fabric, s) {
		const uint8_t *table;

		if (o == c || !in_forest(checker, o))
			continue;
		table = table_of(checker, s, fabric->chan_port[o], fabric->chan_port[c]);
		for (unsigned sl = 0; sl < 16; sl++)
			vls[sl] |= vl_bit(table[sl]);
	}
}

enum osr_status osr_check_mcast(struct checker *checker, struct osr_arena *scratch)
{
	const struct osr_fabric *fabric = checker->fabric;
	uint32_t *root = osr_alloc(scratch, fabric->n_switches, sizeof(*root));
	uint32_t *host = osr_alloc(scratch, fabric->n_switches, sizeof(*host));
	const uint32_t *rank = checker->routing->rank;
	/* Multicast on any SL passes the SL2VL tables of unicast; otherwise it stays on its VL. */
	bool by_tables = checker->routing->sl2vl &&
			 (!checker->routing->sl || (checker->routing->claims & OSR_CLAIM_ANY_SL));
	enum osr_status st;
	uint16_t vls[16];
	char on[16] = "";
	struct name name;

	if (osr_arena_failed(scratch, checker->diag))
		return OSR_NOMEM;
	st = check_forest(checker, root, host);
	if (st != OSR_OK || !(checker->routing->claims & OSR_CLAIM_MULTICAST))
		return st;
	/* Does each channel of the span have the VLs of all packets that leave by it? */
	OSR_EVERY_CHANNEL(c, fabric) {
		unsigned ok = (1u << fabric->chan_vls[c]) - 1, missing;

		if (!in_forest(checker, c))
			continue;
		mcast_vls(checker, by_tables, c, vls);
		if (!checker->shared)
			ok &= (1u << checker->routing->n_vls) - 1;
		for (unsigned sl = 0; sl < 16; sl++) {
			missing = vls[sl] & ~ok;
			if (!missing)
				continue;
			if (by_tables)
				snprintf(on, sizeof(on), " on SL %u", sl);
			return osr_fail(checker->diag, OSR_CHECK_FAILED,
					"multicast%s leaves switch %s port %u on VL %u, beyond the "
					"%u VLs of the routing or those of the cable",
					on, sw_name(checker, fabric->chan_src[c], &name),
					fabric->chan_port[c], osr_lowest_bit(missing),
					checker->routing->n_vls);
		}
	}
	/*
	 * A switch copies a packet to all links of the span except the link that it came by, and
	 * each copy waits for its channel.
	 */
	OSR_EVERY_CHANNEL(in, fabric) {
		uint32_t s = fabric->chan_dst[in];

		if (!in_forest(checker, in))
			continue;
		mcast_vls(checker, by_tables, in, vls);
		OSR_EACH_CHANNEL(out, fabric, s) {
			const uint8_t *table =
				by_tables ? table_of(checker, s,
						     fabric->chan_port[fabric->chan_rev[in]],
						     fabric->chan_port[out])
					  : NULL;

			if (out == fabric->chan_rev[in] || !in_forest(checker, out))
				continue;
			for (unsigned sl = 0; sl < 16; sl++)
				OSR_EACH_LANE(vl, vls[sl]) {
					unsigned to = table ? table[sl] : vl;

					if (rank_key(rank[(size_t)vl * fabric->n_channels + in]) >=
					    rank_key(rank[(size_t)to * fabric->n_channels + out]))
						return osr_check_fail_rank(checker, OSR_NONE, in,
									   vl, out, to);
				}
		}
	}
	return OSR_OK;
}

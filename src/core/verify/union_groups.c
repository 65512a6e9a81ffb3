/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Multicast packets: copies of one packet wait for several channels. */
#include "union_private.h"

/* Does any generation send this group's packets out of this port? */
static bool sends_to(const struct run *run, const uint32_t at[2], uint32_t s, unsigned port)
{
	for (uint32_t g = 0; g < run->follow.n; g++)
		if (at[g] != OSR_NONE &&
		    run->groups[g].ports[(size_t)at[g] * run->follow.fabric->n_switches + s]
					[port / 64] >>
				    port % 64 &
			    1)
			return true;
	return false;
}

/*
 * Copies of a packet on the VLs `from` of channel c leave by every port of the group, in any
 * generation, except the port that the packet came by. The packet is on one of these SLs; sls == 0:
 * it keeps its VL, whatever its SL.
 */
static void copy_on(struct run *run, const uint32_t at[2], uint32_t c, unsigned from, unsigned sls)
{
	const struct osr_fabric *fabric = run->follow.fabric;
	uint32_t next = fabric->chan_dst[c];
	unsigned in = fabric->chan_port[fabric->chan_rev[c]];

	osr_invariant(from >> OSR_MAX_VLS == 0);
	OSR_EACH_CHANNEL(on, fabric, next) {
		unsigned port = fabric->chan_port[on];

		if (port == in || !sends_to(run, at, next, port))
			continue;
		if (!sls)
			osr_union_take_turn(run, c, from, on, from, 0xffff);
		else
			osr_union_take_turn(run, c, from, on,
					    vl_bits(run, next, in, port, osr_lowest_bit(sls)), sls);
	}
}

/* Do packets of this group come into switch s by port `in`, from an end port or another switch? */
static bool group_comes_by(const struct run *run, const uint32_t at[2], uint32_t s, unsigned in)
{
	const struct osr_fabric *fabric = run->follow.fabric;
	uint32_t back = osr_port_channel(fabric, s, in);

	if (back == OSR_NONE)
		return osr_union_is_end_port(fabric, s, in);
	return sends_to(run, at, fabric->chan_dst[back], fabric->chan_port[fabric->chan_rev[back]]);
}

static void follow_group(struct run *run, const uint32_t at[2], uint16_t sls)
{
	const struct osr_fabric *fabric = run->follow.fabric;

	OSR_EVERY_CHANNEL(c, fabric) {
		uint32_t s = fabric->chan_src[c];
		unsigned port = fabric->chan_port[c];

		if (!sends_to(run, at, s, port))
			continue;
		if (!run->lid && run->order_vls)
			copy_on(run, at, c, run->order_vls, 0);
		/* With one table for all ports all SLs are followed at once. */
		if (!run->turns.moves) {
			if (sls)
				copy_on(run, at, c, osr_union_fold_sls(run, sls), sls);
			continue;
		}
		OSR_EACH_LANE(sl, sls) {
			unsigned vls = 0;

			for (unsigned in = 0; in <= fabric->sw_n_ports[s]; in++)
				if (in != port && group_comes_by(run, at, s, in))
					vls |= vl_bits(run, s, in, port, sl);
			copy_on(run, at, c, vls, 1u << sl);
		}
	}
}

void osr_union_follow_groups(struct run *run)
{
	uint32_t next[2] = { 0, 0 };

	for (;;) {
		uint32_t at[2] = { OSR_NONE, OSR_NONE }, mlid = UINT32_MAX;
		uint16_t sls = 0;

		for (uint32_t g = 0; g < run->follow.n; g++)
			if (next[g] < run->groups[g].n && run->groups[g].mlid[next[g]] < mlid)
				mlid = run->groups[g].mlid[next[g]];
		if (mlid == UINT32_MAX)
			return;
		for (uint32_t g = 0; g < run->follow.n; g++)
			if (next[g] < run->groups[g].n && run->groups[g].mlid[next[g]] == mlid) {
				at[g] = next[g]++;
				sls |= run->group_sls[g];
			}
		osr_invariant(at[0] != OSR_NONE || at[1] != OSR_NONE);
		run->lid = mlid;
		follow_group(run, at, sls);
	}
}

void osr_union_prepare_groups(struct run *run, uint32_t g)
{
	static const uint16_t mlid = 0;
	const struct osr_fabric *fabric = run->follow.fabric;
	const struct osr_groups *groups = run->follow.gen[g].groups;
	const uint32_t *parent = run->follow.gen[g].routing->mcast_parent;
	uint64_t(*ports)[4];

	if (groups) {
		run->groups[g] = *groups;
		run->group_sls[g] = 1u << groups->sl;
		return;
	}
	ports = parent ? osr_calloc(run->scratch, fabric->n_switches, sizeof(*ports)) : NULL;
	if (!ports)
		return;
	OSR_EVERY_CHANNEL(c, fabric) {
		uint32_t s = fabric->chan_src[c], port = fabric->chan_port[c];

		if (parent[s] == c || parent[fabric->chan_dst[c]] == fabric->chan_rev[c])
			ports[s][port / 64] |= UINT64_C(1) << port % 64;
	}
	run->groups[g] = (struct osr_groups){ 1, &mlid, (const uint64_t(*)[4])ports, 0 };
	/* If senders choose any SL, multicast may be on any SL, too. */
	if (run->follow.any[g] == 0xffff)
		run->group_sls[g] = 0xffff;
	else
		run->order_vls |= 1u << run->follow.gen[g].routing->mcast_vl;
}

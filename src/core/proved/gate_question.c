/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The fabric, the tables and the claims as arrays of the proved program. All of this is trusted. */
#include "gate_private.h"

#include <string.h>

bool osr_gate_fits(const struct gate *gate, const struct osr_routing *routing)
{
	const uint32_t more = OSR_CLAIM_REVERSIBLE | OSR_CLAIM_ANY_SL | OSR_CLAIM_MULTICAST;
	const struct osr_routing *first = gate->gen[0];

	if (!routing->lft || routing->n_switches != gate->fabric->n_switches ||
	    routing->n_dests != gate->fabric->n_dests ||
	    routing->n_channels != gate->fabric->n_channels)
		return false;
	if ((routing->sl2vl && !routing->sl2vl_row) || (routing->granted && !routing->sl))
		return false;
	if (first->n_vls < 1 || first->n_vls > OSR_MAX_VLS)
		return false;
	if (!(gate->claims & OSR_CLAIM_DEADLOCK_FREE))
		return !(gate->claims & more);
	if (!first->rank && gate->fabric->n_channels)
		return false;
	if (!(gate->claims & OSR_CLAIM_MULTICAST))
		return true;
	return routing->mcast_parent && routing->mcast_vl < OSR_MAX_VLS &&
	       routing->mcast_vl == first->mcast_vl && !routing->sl == !first->sl;
}

/* May senders choose their level in this generation? */
static bool question_any(const struct gate *gate, unsigned x)
{
	return !gate->gen[x]->sl || (gate->claims & OSR_CLAIM_ANY_SL);
}

/*
 * The lanes, by SL, of packets that come into switch s through pair `pair` of its ports, by the
 * tables of generation x. Where VL = SL and the cable has no such lane (SL 15: never), the packet
 * is dropped: OSR_VL_UNSET.
 */
static const uint8_t *question_vls(const struct gate *gate, unsigned x, uint32_t s, uint32_t pair)
{
	const struct osr_routing *routing = gate->gen[x];
	uint32_t c;

	osr_invariant(x < gate->n_gens);
	if (routing->sl2vl)
		return routing->sl2vl[routing->sl2vl_row[s] + pair];
	c = osr_port_channel(gate->fabric, s, pair % (gate->fabric->sw_n_ports[s] + 1u));
	return gate->flat[c == OSR_NONE ? 0 : gate->fabric->chan_vls[c]];
}

/* Sets bit b of differ[a], b < a, if some SL2VL table maps SLs a and b to different lanes. */
static void question_compare_sls(const struct gate *gate, unsigned x, uint32_t s,
				 unsigned differ[GATE_SLS])
{
	uint32_t ports = gate->fabric->sw_n_ports[s] + 1u;

	for (uint32_t pair = 0; pair < ports * ports; pair++) {
		const uint8_t *vls = question_vls(gate, x, s, pair);

		/* Most tables have one lane for all SLs. */
		if (!memcmp(vls, vls + 1, GATE_SLS - 1))
			continue;
		for (unsigned a = 1; a < GATE_SLS; a++)
			for (unsigned b = 0; b < a; b++)
				differ[a] |= (vls[a] != vls[b]) << b;
	}
}

/* Where any level is safe, SLs with the same lanes everywhere are one level. */
static void question_count_levels(struct gate *gate)
{
	unsigned differ[GATE_SLS] = { 0 }; /* see question_compare_sls() */
	struct tab *tab = &gate->tab[0];

	if (gate->any) {
		for (unsigned x = 0; x < gate->n_gens; x++)
			OSR_EACH_SWITCH(s, gate->fabric)
				question_compare_sls(gate, x, s, differ);
	}
	tab->n_q = 0;
	for (uint8_t sl = 0; sl < GATE_SLS; sl++)
		if (!gate->any || differ[sl] == (1u << sl) - 1)
			gate->level_of[tab->n_q++] = sl;
	osr_invariant(tab->n_q >= 1 && tab->n_q <= GATE_SLS && gate->level_of[0] == 0);
}

void osr_gate_claims(struct gate *gate)
{
	const struct osr_routing *routing = gate->gen[0];
	struct tab *tab = &gate->tab[0];
	bool shared;

	osr_invariant(gate->n_gens == 1 || gate->n_gens == 2);
	gate->any = question_any(gate, 0) && question_any(gate, gate->n_gens - 1);
	gate->ranked = gate->claims & OSR_CLAIM_DEADLOCK_FREE;
	tab->f_flat = !routing->sl2vl && !gate->gen[gate->n_gens - 1]->sl2vl;
	tab->f_replies = (gate->claims & OSR_CLAIM_REVERSIBLE) && !gate->any;
	/* One graph for all lanes: the same as one lane. */
	shared = gate->any && tab->f_flat;
	if (shared)
		tab->m_lane = 0;
	else if (gate->any)
		tab->m_lane = -1; /* copies are on every lane */
	else
		tab->m_lane = routing->mcast_vl;
	tab->n_lane = tab->n_q = shared || !gate->ranked ? 1 : routing->n_vls;
	if (tab->f_flat)
		return;
	for (unsigned vls = 0; vls <= OSR_MAX_VLS; vls++)
		for (uint8_t sl = 0; sl < GATE_SLS; sl++)
			gate->flat[vls][sl] = sl < vls ? sl : OSR_VL_UNSET;
	question_count_levels(gate);
}

/* Does the tree of multicast use channel c, in either direction and in any generation? */
static bool question_in_tree(const struct gate *gate, uint32_t c)
{
	const struct osr_fabric *fabric = gate->fabric;
	bool used = false;

	for (unsigned x = 0; x < gate->n_gens; x++) {
		const uint32_t *up = gate->gen[x]->mcast_parent;

		used |= up[fabric->chan_src[c]] == c;
		used |= up[fabric->chan_dst[c]] == fabric->chan_rev[c];
	}
	return used;
}

void osr_gate_fabric(struct gate *gate, const struct tab *tab)
{
	const struct osr_fabric *fabric = gate->fabric;
	int32_t row = 0;

	gate->all_send = true;
	OSR_EACH_SWITCH(s, fabric) {
		int32_t *sw = tab->sws + 2 * (size_t)s;
		int32_t n_ports = fabric->sw_n_ports[s] + 1;

		sw[0] = fabric->sw_component[s];
		sw[1] = fabric->sw_sources[s] > 0;
		gate->all_send &= fabric->sw_sources[s] > 0;
		for (int32_t o = 0; o < tab->n_port; o++) {
			int32_t *cold = gate_cold(tab, s, o);

			gate_hot(tab, s, o)[H_NEXT] = -1;
			cold[C_ENTER] = o == 0;
			cold[C_ROW] = row;
			if (!tab->f_flat && o < n_ports)
				row += n_ports;
		}
	}
	if (!tab->f_flat) {
		OSR_EVERY_TERMINAL(t, fabric)
			gate_cold(tab, fabric->term_switch[t], fabric->term_port[t])[C_ENTER] = 1;
	}
	OSR_EVERY_CHANNEL(c, fabric) {
		uint32_t v = fabric->chan_dst[c];
		uint8_t into = fabric->chan_port[fabric->chan_rev[c]];
		int32_t *hot = gate_hot(tab, fabric->chan_src[c], fabric->chan_port[c]);
		int32_t *cold = gate_cold(tab, fabric->chan_src[c], fabric->chan_port[c]);

		osr_invariant(into < tab->n_port && fabric->chan_port[c] < tab->n_port);
		osr_invariant(v < INT32_MAX);
		hot[H_NEXT] = v;
		hot[H_ROW] = gate_cold(tab, v, into)[C_ROW];
		cold[C_INTO] = into;
		hot[H_VLS] = fabric->chan_vls[c] < tab->n_lane ? fabric->chan_vls[c] : tab->n_lane;
		if (gate->claims & OSR_CLAIM_MULTICAST)
			cold[C_TREE] = question_in_tree(gate, c);
	}
}

/*
 * Switch s in tables of generation x. Where generation x has no lane, the lane of the other
 * generation stands: packets that are dropped wait for less than packets that go on.
 */
static void question_lanes_of(const struct gate *gate, unsigned x, uint32_t s)
{
	const struct tab *tab = &gate->tab[x];
	uint32_t ports = gate->fabric->sw_n_ports[s] + 1u;
	int32_t row = gate_cold(tab, s, 0)[C_ROW];

	for (uint32_t pair = 0; pair < ports * ports; pair++) {
		const uint8_t *vls = question_vls(gate, x, s, pair);
		const uint8_t *other = question_vls(gate, gate->n_gens - 1 - x, s, pair);
		uint8_t *slot = gate_slot(tab, row, pair);

		for (int32_t q = 0; q < tab->n_q; q++) {
			uint8_t vl = vls[gate->level_of[q]];

			slot[q] = vl != OSR_VL_UNSET ? vl : other[gate->level_of[q]];
		}
	}
}

void osr_gate_lanes(const struct gate *gate, unsigned x)
{
	const struct tab *tab = &gate->tab[x];

	if (!tab->f_flat) {
		OSR_EACH_SWITCH(s, gate->fabric)
			question_lanes_of(gate, x, s);
		return;
	}
	for (uint32_t o = 0; o < (uint32_t)tab->n_port; o++)
		for (uint8_t q = 0; q < tab->n_q; q++)
			gate_slot(tab, 0, o)[q] = q;
}

uint16_t osr_gate_levels(const struct gate *gate, uint32_t d, uint32_t s)
{
	size_t at = (size_t)d * gate->fabric->n_switches + s;
	unsigned levels = 0;

	osr_invariant(d < gate->fabric->n_dests && s < gate->fabric->n_switches);
	for (unsigned x = 0; x < gate->n_gens; x++) {
		const struct osr_routing *routing = gate->gen[x];

		if (question_any(gate, x)) {
			levels |= *gate->every;
			continue;
		}
		if (routing->sl[at] >= GATE_SLS)
			return 0;
		levels |= 1u << routing->sl[at];
		if (routing->granted)
			levels |= routing->granted[at];
	}
	return levels;
}

void osr_gate_rows(const struct gate *gate, struct share *mine, uint32_t d)
{
	const struct osr_fabric *fabric = gate->fabric;
	uint32_t term = fabric->dest_term[d];

	osr_invariant(d < fabric->n_dests);
	if (!gate->any) {
		OSR_EACH_SWITCH(s, fabric)
			mine->levels[s] = osr_gate_levels(gate, d, s);
	}
	for (unsigned x = 0; x < gate->n_gens; x++) {
		struct row *row = &mine->row[x];

		/* In a mixture, packets of each generation may go on as packets of the other. */
		row->dest = d + x * fabric->n_dests;
		row->r_home = fabric->dest_switch[d];
		row->r_exit = fabric->term_port[term];
		row->f_host = fabric->term_weight[term] > 0;
		row->f_whole = gate->n_gens == 1;
		row->lft = gate->gen[x]->lft + (size_t)d * fabric->n_switches;
		row->levels = gate->any ? gate->every : mine->levels;
		/* The certificate: every level may be anywhere, or levels are carried along. */
		row->k_pass =
			gate->any && (row->f_host || gate->all_send) ? gate->every : mine->pass;
	}
}

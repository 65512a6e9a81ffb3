/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Which SLs pass which pair of ports, by following the entries; then, whether the SL2VL tables of
 * those ports carry them. And paths that have no SL.
 */
#include "audit_private.h"

#include <string.h>

static const struct osr_paths *paths(const struct auditor *k)
{
	return k->modes & OSR_CLAIM_ANY_SL ? NULL : k->gen->paths;
}

bool osr__audit_sl_init(struct auditor *k, struct osr_arena *scratch)
{
	const struct osr_fabric *fabric = k->f;
	size_t n = 0;

	k->senders = (struct senders){ .f = fabric, .gen = k->gen, .n = 1, .modes = k->modes };
	if (!k->gen->routing->sl2vl && osr__any_sl(&k->senders, 0))
		return true;
	k->mask = osr_alloc(scratch, fabric->n_switches, sizeof(*k->mask));
	if (!k->mask || !osr__senders_init(&k->senders, scratch))
		return false;
	if (!k->gen->routing->sl2vl) {
		k->chan = osr_calloc(scratch, fabric->n_channels, sizeof(*k->chan));
		return k->chan != NULL;
	}
	for (uint32_t s = 0; s < fabric->n_switches; s++)
		n += (fabric->sw_n_ports[s] + 1u) * (fabric->sw_n_ports[s] + 1u);
	k->turn = osr_calloc(scratch, n, sizeof(*k->turn));
	k->sends = osr_calloc(scratch, fabric->n_terminals, sizeof(*k->sends));
	return k->turn && k->sends;
}

static size_t audit_sl_pair_of(const struct auditor *k, uint32_t s, unsigned in, unsigned out)
{
	return k->gen->routing->sl2vl_row[s] + in * (k->f->sw_n_ports[s] + (size_t)1) + out;
}

/* End port t sends on these SLs to the current LID. */
static void enter(struct auditor *k, uint32_t t, unsigned sls)
{
	const struct osr_fabric *fabric = k->f;
	uint32_t s = fabric->term_switch[t];
	uint8_t out = osr_lft(k->gen->routing, s, k->dest);

	if (t == fabric->dest_term[k->dest] || out > fabric->sw_n_ports[s] ||
	    !osr__sends(&k->senders, fabric->term_weight[t], k->dest))
		return;
	k->sends[t] |= sls;
	k->turn[audit_sl_pair_of(k, s, fabric->term_port[t], out)] |= sls;
}

static uint16_t audit_sl_sl_bit(uint8_t sl)
{
	return sl < 16 ? (uint16_t)(1u << sl) : 0;
}

/* With path SLs every end port is known by itself. */
static void enter_paths(struct auditor *k)
{
	const struct osr_fabric *fabric = k->f;
	const struct osr_paths *p = paths(k);
	uint32_t owner = fabric->dest_term[k->dest];
	bool host = osr__is_host_lid(fabric, k->dest);

	for (uint32_t t = 0; t < fabric->n_terminals; t++)
		if (p->row[t] != OSR_NONE)
			enter(k, t,
			      audit_sl_sl_bit(
				      p->sl[(size_t)p->row[t] * fabric->n_dests + k->dest]));
	if (!host || !(k->modes & OSR_CLAIM_REVERSIBLE) || p->row[owner] == OSR_NONE)
		return;
	for (uint32_t x = 0; x < fabric->n_dests; x++)
		enter(k, fabric->dest_term[x],
		      audit_sl_sl_bit(p->sl[(size_t)p->row[owner] * fabric->n_dests + x]));
}

/* Otherwise all of a switch send alike. Of SLs that nobody knows, SL 0 is in use for sure. */
static void enter_switches(struct auditor *k, const uint16_t *inject)
{
	const struct osr_fabric *fabric = k->f;
	bool any = osr__any_sl(&k->senders, 0);

	for (uint32_t t = 0; t < fabric->n_terminals; t++)
		enter(k, t, any ? 1 : inject[fabric->term_switch[t]]);
}

void osr__audit_sl_follow(struct auditor *k, const uint16_t *inject)
{
	const struct osr_fabric *fabric = k->f;
	bool any = osr__any_sl(&k->senders, 0);

	for (uint32_t s = 0; s < fabric->n_switches; s++)
		k->mask[s] = any ? inject[s] & 1 : inject[s];
	if (k->turn && !any && paths(k))
		enter_paths(k);
	else if (k->turn)
		enter_switches(k, inject);
	for (uint32_t i = 0; i < k->n_order; i++) {
		uint32_t s = k->order[i], c = k->next[s], t;
		uint8_t out;

		if (c == OSR_NONE)
			continue;
		t = fabric->chan_dst[c];
		out = osr_lft(k->gen->routing, t, k->dest);
		k->mask[t] |= k->mask[s];
		if (k->chan)
			k->chan[c] |= k->mask[s];
		else if (out <= fabric->sw_n_ports[t])
			k->turn[audit_sl_pair_of(k, t, fabric->chan_port[fabric->chan_rev[c]],
						 out)] |= k->mask[s];
	}
}

/* Port 0 takes what comes, whatever a table says. */
static void judge_turns(struct auditor *k, uint32_t s)
{
	const struct osr_fabric *fabric = k->f;

	for (unsigned in = 0; in <= fabric->sw_n_ports[s]; in++)
		for (unsigned out = 1; out <= fabric->sw_n_ports[s]; out++) {
			size_t pair = audit_sl_pair_of(k, s, in, out);
			uint32_t c = osr_port_channel(fabric, s, out);
			unsigned limit = c == OSR_NONE ? OSR_MAX_VLS : fabric->chan_vls[c];

			for (unsigned sls = k->turn[pair]; sls; sls &= sls - 1) {
				unsigned sl = (unsigned)__builtin_ctz(sls);
				uint8_t vl = k->gen->routing->sl2vl[pair][sl];

				if (vl >= limit)
					osr__audit_fault(
						k, &(struct osr_fault){ .kind = OSR_FAULT_SL2VL,
									.sw = s,
									.dest = OSR_NONE,
									.term = OSR_NONE,
									.in = (uint8_t)in,
									.out = (uint8_t)out,
									.sl = (uint8_t)sl,
									.vl = vl });
			}
		}
}

/* Without SL2VL tables: does the cable have the VL of each SL on it? */
static void audit_channel(struct auditor *k, uint32_t c)
{
	const struct osr_fabric *fabric = k->f;

	for (unsigned sls = k->chan[c] >> fabric->chan_vls[c]; sls; sls &= sls - 1) {
		uint8_t sl = (uint8_t)(fabric->chan_vls[c] + __builtin_ctz(sls));

		osr__audit_fault(k, &(struct osr_fault){ .kind = OSR_FAULT_SL2VL,
							 .sw = fabric->chan_src[c],
							 .dest = OSR_NONE,
							 .term = OSR_NONE,
							 .in = OSR_NO_PATH,
							 .out = fabric->chan_port[c],
							 .sl = sl,
							 .vl = sl });
	}
}

static void judge_sender(struct auditor *k, uint32_t t)
{
	for (unsigned sls = k->sends[t]; sls; sls &= sls - 1) {
		unsigned sl = (unsigned)__builtin_ctz(sls);
		uint8_t vl = k->gen->term_sl2vl[t][sl];

		/* Dumps need not have the tables of end ports. */
		if (vl >= OSR_MAX_VLS && vl != OSR_VL_UNSET)
			osr__audit_fault(k, &(struct osr_fault){ .kind = OSR_FAULT_SL2VL,
								 .sw = OSR_NONE,
								 .dest = OSR_NONE,
								 .term = t,
								 .sl = (uint8_t)sl,
								 .vl = vl });
	}
}

/* Every host has an SL to every other host of its component. */
static void judge_missing(struct auditor *k, uint32_t t)
{
	const struct osr_fabric *fabric = k->f;
	const struct osr_paths *p = paths(k);
	uint32_t row = p->row[t], s = fabric->term_switch[t];

	for (uint32_t d = 0; d < fabric->n_dests; d++)
		if (osr__is_host_lid(fabric, d) && fabric->dest_term[d] != t &&
		    fabric->sw_component[fabric->dest_switch[d]] == fabric->sw_component[s] &&
		    (row == OSR_NONE || p->sl[(size_t)row * fabric->n_dests + d] == OSR_NO_SL))
			osr__audit_fault(k, &(struct osr_fault){ .kind = OSR_FAULT_NO_SL,
								 .sw = s,
								 .dest = d,
								 .term = t,
								 .n_hosts = 1 });
}

void osr__audit_sl_judge(struct auditor *k)
{
	for (uint32_t c = 0; k->chan && c < k->f->n_channels; c++)
		audit_channel(k, c);
	for (uint32_t s = 0; k->turn && s < k->f->n_switches; s++)
		judge_turns(k, s);
	for (uint32_t t = 0; k->turn && k->gen->term_sl2vl && t < k->f->n_terminals; t++)
		if (k->f->term_weight[t])
			judge_sender(k, t);
	for (uint32_t t = 0; paths(k) && t < k->f->n_terminals; t++)
		if (k->f->term_weight[t])
			judge_missing(k, t);
}

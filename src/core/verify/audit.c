/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The entries of one LID lead from every switch to at most one other: trees, and loops with trees
 * that hang on them. Upstream switches are taken away first, their packets counted on the way; what
 * is left are the loops. The SLs of packets are pushed in the same order: which pass which pair of ports,
 * and do the SL2VL tables there carry them? Multicast packets are spread as the tables say (audit_groups.c).
 */
#include "audit_private.h"

#include <string.h>

void osr__audit_fault(struct auditor *k, const struct osr_fault *fault)
{
	uint64_t n = k->a->n_faults[fault->kind]++;

	if (n < k->max_listed)
		k->list[(size_t)fault->kind * k->max_listed + n] = *fault;
}

/* ---- entries -------------------------------------------------------------------------------- */

/* Breadth first over the cables, with order as scratch. */
static void audit_measure(struct auditor *k, uint32_t root)
{
	const struct osr_fabric *fabric = k->f;
	uint32_t head = 0, tail = 0;

	k->root = root;
	memset(k->dist, 0xff, fabric->n_switches * sizeof(*k->dist));
	k->dist[root] = 0;
	k->order[tail++] = root;
	while (head < tail) {
		uint32_t s = k->order[head++];

		for (uint32_t c = fabric->chan_row[s]; c < fabric->chan_row[s + 1]; c++) {
			uint32_t t = fabric->chan_dst[c];

			if (k->dist[t] != OSR_NONE)
				continue;
			k->dist[t] = k->dist[s] + 1;
			k->order[tail++] = t;
		}
	}
}

static uint8_t audit_entry(const struct auditor *k, uint32_t s)
{
	return osr_lft(k->gen->routing, s, k->dest);
}

static bool delivers(const struct auditor *k, uint32_t s)
{
	return s == k->root && audit_entry(k, s) == k->f->term_port[k->f->dest_term[k->dest]];
}

/* Fills in next, order, and what comes by each switch: hosts and counted. */
static void audit_peel(struct auditor *k)
{
	const struct osr_fabric *fabric = k->f;

	memset(k->n_in, 0, fabric->n_switches * sizeof(*k->n_in));
	for (uint32_t s = 0; s < fabric->n_switches; s++) {
		uint32_t c = osr_port_channel(fabric, s, audit_entry(k, s));

		k->next[s] = c;
		k->hosts[s] = fabric->sw_sources[s];
		k->counted[s] = osr__counts(&k->senders, s, k->dest);
		k->hops[s] = OSR_NONE;
		if (c != OSR_NONE)
			k->n_in[fabric->chan_dst[c]]++;
	}
	k->n_order = 0;
	for (uint32_t s = 0; s < fabric->n_switches; s++)
		if (!k->n_in[s])
			k->order[k->n_order++] = s;
	/* Takes the trees away from upstream on, and counts what passes. */
	for (uint32_t head = 0; head < k->n_order; head++) {
		uint32_t s = k->order[head], t;

		if (k->next[s] == OSR_NONE)
			continue;
		t = fabric->chan_dst[k->next[s]];
		k->hosts[t] += k->hosts[s];
		k->counted[t] |= k->counted[s];
		if (--k->n_in[t] == 0)
			k->order[k->n_order++] = t;
	}
}

/* Downstream first: how far from each switch. */
static void audit_count_hops(struct auditor *k)
{
	const struct osr_fabric *fabric = k->f;
	struct osr_audit *audit = k->a;
	bool host = osr__is_host_lid(fabric, k->dest);

	for (uint32_t i = k->n_order; i-- > 0;) {
		uint32_t s = k->order[i], c = k->next[s], longer;

		if (delivers(k, s))
			k->hops[s] = 0;
		else if (c != OSR_NONE && k->hops[fabric->chan_dst[c]] != OSR_NONE)
			k->hops[s] = k->hops[fabric->chan_dst[c]] + 1;
		if (k->hops[s] == OSR_NONE || s == k->root)
			continue;
		if (host)
			k->load[c] += k->hosts[s];
		longer = k->hops[s] - k->dist[s];
		audit->n_routes++;
		audit->n_longer += longer > 0;
		audit->max_hops = k->hops[s] > audit->max_hops ? k->hops[s] : audit->max_hops;
		audit->max_longer = longer > audit->max_longer ? longer : audit->max_longer;
	}
}

static void audit_lose(struct auditor *k, struct osr_fault *fault, bool counted)
{
	if (!counted) {
		k->a->n_idle++;
		return;
	}
	if (osr__is_host_lid(k->f, k->dest))
		k->a->n_lost += fault->n_hosts;
	osr__audit_fault(k, fault);
}

/* The entry of s; and, where s is the first by number of its switches, the loop it is on. */
static void judge_entry(struct auditor *k, uint32_t s)
{
	struct osr_fault fault = { .kind = OSR_FAULT_DEAD_END,
				   .sw = s,
				   .dest = k->dest,
				   .term = OSR_NONE,
				   .out = audit_entry(k, s),
				   .n_hosts = k->hosts[s] };
	bool connected = k->dist[s] != OSR_NONE, counted = false;
	uint32_t at = s;

	k->a->n_no_path += !connected;
	k->a->n_entries += connected;
	if (fault.out == OSR_NO_PATH)
		fault.kind = OSR_FAULT_HOLE;
	else if (s == k->root)
		fault.kind = OSR_FAULT_WRONG_PORT;
	if (connected && !delivers(k, s) && (s == k->root || k->next[s] == OSR_NONE))
		audit_lose(k, &fault, k->counted[s]);
	if (!k->n_in[s])
		return;
	fault.kind = OSR_FAULT_LOOP;
	fault.n_hosts = 0;
	do {
		fault.n_switches++;
		fault.n_hosts += k->hosts[at];
		counted |= k->counted[at];
		k->n_in[at] = 0;
		at = k->f->chan_dst[k->next[at]];
	} while (at != s);
	if (connected)
		audit_lose(k, &fault, counted);
}

/* ---- SLs ------------------------------------------------------------------------------------ */

static const struct osr_paths *audit_paths(const struct auditor *k)
{
	return k->modes & OSR_CLAIM_ANY_SL ? NULL : k->gen->paths;
}

static bool audit_alloc_sls(struct auditor *k, struct osr_arena *scratch)
{
	const struct osr_fabric *fabric = k->f;

	if (!k->gen->routing->sl2vl && osr__any_sl(&k->senders, 0))
		return true;
	k->mask = osr_alloc(scratch, fabric->n_switches, sizeof(*k->mask));
	if (!k->mask || !osr__senders_init(&k->senders, scratch))
		return false;
	if (!k->gen->routing->sl2vl) {
		k->chan = osr_calloc(scratch, fabric->n_channels, sizeof(*k->chan));
		return k->chan != NULL;
	}
	k->turn = osr_calloc(scratch, osr_n_sl2vl(fabric), sizeof(*k->turn));
	k->sends = osr_calloc(scratch, fabric->n_terminals, sizeof(*k->sends));
	return k->turn && k->sends;
}

static size_t audit_pair(const struct auditor *k, uint32_t s, unsigned in, unsigned out)
{
	return k->gen->routing->sl2vl_row[s] + in * (k->f->sw_n_ports[s] + (size_t)1) + out;
}

/* End port t sends on these SLs to the current LID. */
static void audit_enter(struct auditor *k, uint32_t t, unsigned sls)
{
	const struct osr_fabric *fabric = k->f;
	uint32_t s = fabric->term_switch[t];
	uint8_t out = audit_entry(k, s);

	if (t == fabric->dest_term[k->dest] || out > fabric->sw_n_ports[s] ||
	    !osr__sends(&k->senders, fabric->term_weight[t], k->dest))
		return;
	k->sends[t] |= sls;
	k->turn[audit_pair(k, s, fabric->term_port[t], out)] |= sls;
}

/*
 * With path SLs every end port is known by itself. Otherwise all of a switch send alike; of SLs that nobody
 * knows, SL 0 is in use for sure.
 */
static void audit_enter_all(struct auditor *k, const uint16_t *inject, bool any)
{
	const struct osr_fabric *fabric = k->f;
	const struct osr_paths *p = any ? NULL : audit_paths(k);
	uint32_t owner = fabric->dest_term[k->dest];
	bool replies = p && (k->modes & OSR_CLAIM_REVERSIBLE) && p->row[owner] != OSR_NONE &&
		       osr__is_host_lid(fabric, k->dest);

	for (uint32_t t = 0; t < fabric->n_terminals; t++) {
		if (!p)
			audit_enter(k, t, any ? 1 : inject[fabric->term_switch[t]]);
		else if (p->row[t] != OSR_NONE)
			audit_enter(
				k, t,
				osr__sl_bit(p->sl[(size_t)p->row[t] * fabric->n_dests + k->dest]));
	}
	for (uint32_t x = 0; replies && x < fabric->n_dests; x++)
		audit_enter(k, fabric->dest_term[x],
			    osr__sl_bit(p->sl[(size_t)p->row[owner] * fabric->n_dests + x]));
}

/* Of the current LID, whose entries are loaded. */
static void audit_follow_sls(struct auditor *k, const uint16_t *inject)
{
	const struct osr_fabric *fabric = k->f;
	bool any = osr__any_sl(&k->senders, 0);

	for (uint32_t s = 0; s < fabric->n_switches; s++)
		k->mask[s] = any ? inject[s] & 1 : inject[s];
	if (k->turn)
		audit_enter_all(k, inject, any);
	for (uint32_t i = 0; i < k->n_order; i++) {
		uint32_t s = k->order[i], c = k->next[s], t;
		uint8_t out;

		if (c == OSR_NONE)
			continue;
		t = fabric->chan_dst[c];
		out = audit_entry(k, t);
		k->mask[t] |= k->mask[s];
		if (k->chan)
			k->chan[c] |= k->mask[s];
		else if (out <= fabric->sw_n_ports[t])
			k->turn[audit_pair(k, t, fabric->chan_port[fabric->chan_rev[c]], out)] |=
				k->mask[s];
	}
}

/* Between two ports of switch sw, on its cable at `out` (in: OSR_NO_PATH), or at end port `term`. */
static void audit_lane(struct auditor *k, uint32_t sw, uint32_t term, unsigned in, unsigned out,
		       unsigned sl, uint8_t vl)
{
	osr__audit_fault(k, &(struct osr_fault){ .kind = OSR_FAULT_SL2VL,
						 .sw = sw,
						 .dest = OSR_NONE,
						 .term = term,
						 .in = (uint8_t)in,
						 .out = (uint8_t)out,
						 .sl = (uint8_t)sl,
						 .vl = vl });
}

/* Do the tables of switch s carry what passes? Port 0 takes what comes, whatever a table says. */
static void judge_turns(struct auditor *k, uint32_t s)
{
	const struct osr_fabric *fabric = k->f;

	for (unsigned in = 0; in <= fabric->sw_n_ports[s]; in++)
		for (unsigned out = 1; out <= fabric->sw_n_ports[s]; out++) {
			size_t pair = audit_pair(k, s, in, out);
			uint32_t c = osr_port_channel(fabric, s, out);
			unsigned limit = c == OSR_NONE ? OSR_MAX_VLS : fabric->chan_vls[c];

			for (unsigned sls = k->turn[pair]; sls; sls &= sls - 1) {
				unsigned sl = (unsigned)__builtin_ctz(sls);
				uint8_t vl = k->gen->routing->sl2vl[pair][sl];

				if (vl >= limit)
					audit_lane(k, s, OSR_NONE, in, out, sl, vl);
			}
		}
}

/* Every host has an SL to every other host of its component. */
static void judge_paths(struct auditor *k, uint32_t t)
{
	const struct osr_fabric *fabric = k->f;
	const struct osr_paths *p = audit_paths(k);
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

static void judge_sls(struct auditor *k)
{
	const struct osr_fabric *fabric = k->f;

	/* Without SL2VL tables: does the cable have the VL of each SL on it? */
	for (uint32_t c = 0; k->chan && c < fabric->n_channels; c++)
		for (unsigned sl = fabric->chan_vls[c]; sl < 16; sl++)
			if (k->chan[c] >> sl & 1)
				audit_lane(k, fabric->chan_src[c], OSR_NONE, OSR_NO_PATH,
					   fabric->chan_port[c], sl, (uint8_t)sl);
	for (uint32_t s = 0; k->turn && s < fabric->n_switches; s++)
		judge_turns(k, s);
	for (uint32_t t = 0; k->turn && k->gen->term_sl2vl && t < fabric->n_terminals; t++)
		for (unsigned sls = fabric->term_weight[t] ? k->sends[t] : 0; sls; sls &= sls - 1) {
			unsigned sl = (unsigned)__builtin_ctz(sls);
			uint8_t vl = k->gen->term_sl2vl[t][sl];

			/* Dumps need not have the tables of end ports. */
			if (vl >= OSR_MAX_VLS && vl != OSR_VL_UNSET)
				audit_lane(k, OSR_NONE, t, 0, 0, sl, vl);
		}
	for (uint32_t t = 0; audit_paths(k) && t < fabric->n_terminals; t++)
		if (fabric->term_weight[t])
			judge_paths(k, t);
}

/* ---- all together --------------------------------------------------------------------------- */

/* LIDs of one end port follow each other: distances are measured once for each switch in a row. */
static void judge_all(struct auditor *k)
{
	const struct osr_fabric *fabric = k->f;

	k->root = OSR_NONE;
	for (uint32_t d = 0; d < fabric->n_dests; d++) {
		uint32_t j = d % SENDERS_BATCH, left = fabric->n_dests - d;

		if (k->mask && !j)
			osr__senders_collect(&k->senders, d,
					     left < SENDERS_BATCH ? left : SENDERS_BATCH);
		k->dest = d;
		if (fabric->dest_switch[d] != k->root)
			audit_measure(k, fabric->dest_switch[d]);
		audit_peel(k);
		audit_count_hops(k);
		for (uint32_t s = 0; s < fabric->n_switches; s++)
			judge_entry(k, s);
		if (k->mask)
			audit_follow_sls(k, k->senders.inject + (size_t)j * fabric->n_switches);
	}
	judge_sls(k);
}

/* The loads, and the kinds of faults one after the other, without gaps. */
static void audit_finish(struct auditor *k)
{
	struct osr_audit *audit = k->a;
	double sum = 0;

	audit->efi_chan = k->f->n_channels ? 0 : OSR_NONE;
	for (uint32_t c = 0; c < k->f->n_channels; c++) {
		sum += (double)k->load[c];
		if (k->load[c] > audit->efi) {
			audit->efi = k->load[c];
			audit->efi_chan = c;
		}
	}
	if (k->f->n_channels)
		audit->efi_mean = sum / k->f->n_channels;
	for (unsigned kind = 0; kind < OSR_N_FAULTS; kind++) {
		uint64_t n = audit->n_faults[kind] < k->max_listed ? audit->n_faults[kind]
								   : k->max_listed;

		memmove(k->list + audit->n_listed, k->list + (size_t)kind * k->max_listed,
			n * sizeof(*k->list));
		audit->n_listed += (uint32_t)n;
	}
	audit->fault = k->list;
}

static bool audit_prepare(struct auditor *k, struct osr_arena *scratch, struct osr_arena *result)
{
	size_t n = k->f->n_switches;

	k->list = osr_alloc(result, (size_t)OSR_N_FAULTS * k->max_listed, sizeof(*k->list));
	k->dist = osr_alloc(scratch, n, sizeof(*k->dist));
	k->load = osr_calloc(scratch, k->f->n_channels, sizeof(*k->load));
	k->next = osr_alloc(scratch, n, sizeof(*k->next));
	k->n_in = osr_alloc(scratch, n, sizeof(*k->n_in));
	k->order = osr_alloc(scratch, n, sizeof(*k->order));
	k->hops = osr_alloc(scratch, n, sizeof(*k->hops));
	k->hosts = osr_alloc(scratch, n, sizeof(*k->hosts));
	k->counted = osr_alloc(scratch, n, sizeof(*k->counted));
	return k->list && k->dist && k->load && k->next && k->n_in && k->order && k->hops &&
	       k->hosts && k->counted && audit_alloc_sls(k, scratch);
}

enum osr_status osr_audit(const struct osr_fabric *fabric, const struct osr_generation *gen,
			  uint32_t modes, uint32_t max_listed, struct osr_arena *scratch,
			  struct osr_arena *result, struct osr_audit *audit, struct osr_diag *diag)
{
	const struct osr_routing *routing = gen->routing;
	struct osr_arena_mark mark = osr_arena_mark(scratch);
	struct auditor k = { .f = fabric,
			     .gen = gen,
			     .modes = modes,
			     .max_listed = max_listed,
			     .a = audit,
			     .senders = { .f = fabric, .gen = gen, .n = 1, .modes = modes } };
	bool ok;

	*audit = (struct osr_audit){ .efi_chan = OSR_NONE };
	if (!routing->lft || routing->n_switches != fabric->n_switches ||
	    routing->n_dests != fabric->n_dests)
		return osr_fail(diag, OSR_INVAL, "the tables are for another fabric");
	ok = audit_prepare(&k, scratch, result);
	if (ok) {
		judge_all(&k);
		ok = osr__audit_groups(&k, scratch);
	}
	if (ok)
		audit_finish(&k);
	osr_arena_reset(scratch, mark);
	return ok ? OSR_OK
		  : osr_fail(diag, OSR_NOMEM,
			     "out of memory while verifying the tables of %u switches and %u LIDs",
			     fabric->n_switches, fabric->n_dests);
}

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The entries of one LID lead from every switch to at most one other: trees, and loops with trees
 * that hang on them. Upstream switches are taken away first, their packets counted on the way; what
 * is left are the loops.
 */
#include "audit_private.h"

#include <string.h>

static enum osr_status audit_nomem(const struct auditor *k, struct osr_diag *diag)
{
	return osr_fail(diag, OSR_NOMEM,
			"out of memory while verifying the tables of %u switches and %u LIDs",
			k->f->n_switches, k->f->n_dests);
}

void osr__audit_fault(struct auditor *k, const struct osr_fault *fault)
{
	uint64_t n = k->a->n_faults[fault->kind]++;

	if (n < k->max_listed)
		k->list[(size_t)fault->kind * k->max_listed + n] = *fault;
}

/* Breadth first over the cables, with n_in and order as scratch. */
static void audit_measure(struct auditor *k, uint32_t root)
{
	const struct osr_fabric *fabric = k->f;
	uint32_t head = 0, tail = 0;

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

static void audit_load_entries(struct auditor *k)
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
}

/* Takes the trees away from upstream on, and counts what passes. */
static void peel(struct auditor *k)
{
	const struct osr_fabric *fabric = k->f;
	uint32_t head = 0;

	k->n_order = 0;
	for (uint32_t s = 0; s < fabric->n_switches; s++)
		if (!k->n_in[s])
			k->order[k->n_order++] = s;
	while (head < k->n_order) {
		uint32_t s = k->order[head++], t;

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

static void judge_entry(struct auditor *k, uint32_t s)
{
	struct osr_fault fault = { .sw = s,
				   .dest = k->dest,
				   .term = OSR_NONE,
				   .out = audit_entry(k, s),
				   .n_hosts = k->hosts[s] };

	k->a->n_no_path += k->dist[s] == OSR_NONE;
	k->a->n_entries += k->dist[s] != OSR_NONE;
	if (k->dist[s] == OSR_NONE || delivers(k, s))
		return;
	if (fault.out == OSR_NO_PATH)
		fault.kind = OSR_FAULT_HOLE;
	else if (s == k->root)
		fault.kind = OSR_FAULT_WRONG_PORT;
	else if (k->next[s] == OSR_NONE)
		fault.kind = OSR_FAULT_DEAD_END;
	else
		return;
	audit_lose(k, &fault, k->counted[s]);
}

/* The loop through s, which is the first of its switches by number. */
static void judge_loop(struct auditor *k, uint32_t s)
{
	struct osr_fault fault = { .kind = OSR_FAULT_LOOP,
				   .sw = s,
				   .dest = k->dest,
				   .term = OSR_NONE,
				   .out = audit_entry(k, s) };
	bool counted = false;
	uint32_t at = s;

	do {
		fault.n_switches++;
		fault.n_hosts += k->hosts[at];
		counted |= k->counted[at];
		k->n_in[at] = 0;
		at = k->f->chan_dst[k->next[at]];
	} while (at != s);
	if (k->dist[s] != OSR_NONE)
		audit_lose(k, &fault, counted);
}

static void judge_dest(struct auditor *k, uint32_t d)
{
	k->dest = d;
	audit_load_entries(k);
	peel(k);
	audit_count_hops(k);
	for (uint32_t s = 0; s < k->f->n_switches; s++)
		judge_entry(k, s);
	for (uint32_t s = 0; k->n_order < k->f->n_switches && s < k->f->n_switches; s++)
		if (k->n_in[s])
			judge_loop(k, s);
}

/* LIDs of one end port follow each other: distances are measured once for each switch in a row. */
static void judge_all(struct auditor *k)
{
	const struct osr_fabric *fabric = k->f;
	bool sls = k->mask != NULL;

	k->root = OSR_NONE;
	for (uint32_t first = 0; first < fabric->n_dests; first += SENDERS_BATCH) {
		uint32_t n = fabric->n_dests - first < SENDERS_BATCH ? fabric->n_dests - first
								     : SENDERS_BATCH;

		if (sls)
			osr__senders_collect(&k->senders, first, n);
		for (uint32_t j = 0; j < n; j++) {
			if (fabric->dest_switch[first + j] != k->root)
				audit_measure(k, fabric->dest_switch[first + j]);
			k->root = fabric->dest_switch[first + j];
			judge_dest(k, first + j);
			if (sls)
				osr__audit_sl_follow(k, k->senders.inject +
								(size_t)j * fabric->n_switches);
		}
	}
}

static void audit_sum_loads(struct auditor *k)
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
}

/* The kinds one after the other, without gaps. */
static void close_list(struct auditor *k)
{
	struct osr_audit *audit = k->a;

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
	       k->hosts && k->counted && osr__audit_sl_init(k, scratch);
}

enum osr_status osr_audit(const struct osr_fabric *fabric, const struct osr_generation *gen,
			  uint32_t modes, uint32_t max_listed, struct osr_arena *scratch,
			  struct osr_arena *result, struct osr_audit *audit, struct osr_diag *diag)
{
	const struct osr_routing *routing = gen->routing;
	struct osr_arena_mark mark = osr_arena_mark(scratch);
	struct auditor k = {
		.f = fabric, .gen = gen, .modes = modes, .max_listed = max_listed, .a = audit
	};
	bool ok;

	*audit = (struct osr_audit){ .efi_chan = OSR_NONE };
	if (!routing->lft || routing->n_switches != fabric->n_switches ||
	    routing->n_dests != fabric->n_dests)
		return osr_fail(diag, OSR_INVAL, "the tables are for another fabric");
	ok = audit_prepare(&k, scratch, result);
	if (ok) {
		judge_all(&k);
		osr__audit_sl_judge(&k);
		ok = osr__audit_groups(&k, scratch);
	}
	if (ok) {
		audit_sum_loads(&k);
		close_list(&k);
	}
	osr_arena_reset(scratch, mark);
	return ok ? OSR_OK : audit_nomem(&k, diag);
}

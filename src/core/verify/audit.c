/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The entries of one LID lead from every switch to at most one other switch. So they form trees,
 * and loops with trees behind them. Switches are removed from upstream on, and their packets
 * counted; the loops remain. The SLs of packets are pushed in the same order: which SLs pass each
 * pair of ports, and do the SL2VL tables there carry them?
 *
 * The members of a group are the end ports that switches send its packets to. A packet of each
 * member is spread as the tables say: it must come to every switch at most once, and to all other
 * members.
 */
#include <osmroutes/check.h>
#include <osmroutes/each.h>

#include "core/verify/audit.h"

#include "follow.h"

#include <string.h>

struct auditor {
	struct osr_follow follow;
	const struct osr_routing *routing;
	uint32_t max_listed;
	struct osr_audit *audit;
	struct osr_fault *list; /* [OSR_N_FAULTS * max_listed] by kind */

	uint32_t *dist;    /* [n_switches] to the switch of the current LID */
	uint64_t *load[2]; /* [n_channels] routes to first LIDs; to other LIDs of end ports */

	/* One LID; follow.n_in is left where entries lead around. */
	uint32_t dest, root, n_order;
	uint32_t *hops;  /* [n_switches] OSR_NONE: does not arrive */
	uint32_t *hosts; /* [n_switches] host ports whose packets pass */
	bool *counted;   /* [n_switches] does a packet that exists pass? */

	/* SLs; mask is NULL if VL = SL and only SL 0 is known to be in use. */
	uint16_t *mask;    /* [n_switches] SLs of packets that pass */
	uint16_t *passed;  /* by audit_slot(): SLs of packets that pass this pair of ports */
	uint16_t *sends;   /* [n_terminals] SLs of its packets */
	uint16_t *replies; /* [n_terminals] SLs of the requests of the row `asker` to it */
	uint32_t asker;    /* a row of path SLs, or OSR_NONE */

	/* One group. */
	uint32_t group;
	uint32_t *seen; /* [n_switches] number of the last spread that reached the switch */
	uint32_t n_spreads;
	uint32_t *came; /* [n_switches] the port by which the packet came to follow.order[] */
};

/* Counts a fault, and lists it if there is room. */
static void audit_fault(struct auditor *auditor, const struct osr_fault *fault)
{
	uint64_t n = auditor->audit->n_faults[fault->kind]++;

	osr_invariant(fault->kind < OSR_N_FAULTS);
	if (n < auditor->max_listed)
		auditor->list[(size_t)fault->kind * auditor->max_listed + n] = *fault;
}

/* ---- entries -------------------------------------------------------------------------------- */

/* Breadth first over the cables, with follow.order as scratch. */
static void audit_measure(struct auditor *auditor, uint32_t root)
{
	const struct osr_fabric *fabric = auditor->follow.fabric;
	uint32_t tail = 0;

	auditor->root = root;
	memset(auditor->dist, 0xff, fabric->n_switches * sizeof(*auditor->dist));
	auditor->dist[root] = 0;
	auditor->follow.order[tail++] = root;
	for (uint32_t head = 0; head < tail; head++) {
		uint32_t s = auditor->follow.order[head];

		OSR_EACH_CHANNEL(c, fabric, s) {
			uint32_t t = fabric->chan_dst[c];

			if (auditor->dist[t] != OSR_NONE)
				continue;
			osr_invariant(tail < fabric->n_switches);
			auditor->dist[t] = auditor->dist[s] + 1;
			auditor->follow.order[tail++] = t;
		}
	}
}

static uint8_t audit_entry(const struct auditor *auditor, uint32_t s)
{
	return osr_lft(auditor->routing, s, auditor->dest);
}

static bool delivers(const struct auditor *auditor, uint32_t s)
{
	return s == auditor->root &&
	       audit_entry(auditor, s) ==
		       auditor->follow.fabric
			       ->term_port[auditor->follow.fabric->dest_term[auditor->dest]];
}

/* Routes of hosts to the current LID, of another host: loads, lengths, shortest lengths. */
static void audit_host_routes(struct auditor *auditor)
{
	const struct osr_fabric *fabric = auditor->follow.fabric;
	struct osr_audit *audit = auditor->audit;
	bool later = fabric->dest_lid[auditor->dest] !=
		     fabric->term_lid[fabric->dest_term[auditor->dest]];

	OSR_EACH_SWITCH(s, fabric) {
		uint64_t n = fabric->sw_sources[s] - (s == auditor->root);
		uint32_t hops = auditor->hops[s];

		osr_invariant(auditor->hosts[s] >= fabric->sw_sources[s]);
		audit->n_host_pairs += n;
		if (!later && auditor->dist[s] != OSR_NONE)
			audit->n_host_hops += n * auditor->dist[s];
		if (hops == OSR_NONE)
			continue;
		audit->n_host_routes += n;
		audit->n_host_longer += hops > auditor->dist[s] ? n : 0;
		audit->hops[hops < OSR_AUDIT_MAX_HOPS ? hops : OSR_AUDIT_MAX_HOPS] += n;
		if (s != auditor->root)
			auditor->load[later][auditor->follow.out[0][s]] += auditor->hosts[s];
	}
}

/* Counts packets that pass each switch, upstream first; then hops to the LID, downstream first. */
static void audit_walk(struct auditor *auditor)
{
	const struct osr_fabric *fabric = auditor->follow.fabric;
	const uint32_t *next = auditor->follow.out[0];
	struct osr_audit *audit = auditor->audit;

	osr_follow_load(&auditor->follow, auditor->dest);
	auditor->n_order = osr_follow_order(&auditor->follow);
	OSR_EACH_SWITCH(s, fabric) {
		auditor->hosts[s] = fabric->sw_sources[s];
		auditor->counted[s] = osr_counts(&auditor->follow, s, auditor->dest);
		auditor->hops[s] = OSR_NONE;
	}
	for (uint32_t i = 0; i < auditor->n_order; i++) {
		uint32_t s = auditor->follow.order[i], t;

		if (next[s] == OSR_NONE)
			continue;
		t = fabric->chan_dst[next[s]];
		auditor->hosts[t] += auditor->hosts[s];
		auditor->counted[t] |= auditor->counted[s];
	}
	for (uint32_t i = auditor->n_order; i-- > 0;) {
		uint32_t s = auditor->follow.order[i], c = next[s], longer;

		if (delivers(auditor, s))
			auditor->hops[s] = 0;
		else if (c != OSR_NONE && auditor->hops[fabric->chan_dst[c]] != OSR_NONE)
			auditor->hops[s] = auditor->hops[fabric->chan_dst[c]] + 1;
		if (auditor->hops[s] == OSR_NONE || s == auditor->root)
			continue;
		osr_invariant(auditor->hops[s] >= auditor->dist[s]);
		longer = auditor->hops[s] - auditor->dist[s];
		audit->n_routes++;
		audit->n_longer += longer > 0;
		audit->max_hops =
			auditor->hops[s] > audit->max_hops ? auditor->hops[s] : audit->max_hops;
		audit->max_longer = longer > audit->max_longer ? longer : audit->max_longer;
	}
	if (osr_is_host_lid(fabric, auditor->dest))
		audit_host_routes(auditor);
}

static void audit_lose(struct auditor *auditor, struct osr_fault *fault, bool counted)
{
	if (!counted) {
		auditor->audit->n_idle++;
		return;
	}
	if (osr_is_host_lid(auditor->follow.fabric, auditor->dest))
		auditor->audit->n_lost += fault->n_hosts;
	audit_fault(auditor, fault);
}

/* Judges the entry of s, and, if s is the lowest switch of a loop, the loop. */
static void judge_entry(struct auditor *auditor, uint32_t s)
{
	struct osr_fault fault = { .kind = OSR_FAULT_DEAD_END,
				   .sw = s,
				   .dest = auditor->dest,
				   .term = OSR_NONE,
				   .out = audit_entry(auditor, s),
				   .n_hosts = auditor->hosts[s] };
	bool connected = auditor->dist[s] != OSR_NONE, counted = false;
	const uint32_t *next = auditor->follow.out[0];
	uint32_t at = s;

	auditor->audit->n_no_path += !connected;
	auditor->audit->n_entries += connected;
	if (fault.out == OSR_NO_PATH)
		fault.kind = OSR_FAULT_HOLE;
	else if (s == auditor->root)
		fault.kind = OSR_FAULT_WRONG_PORT;
	if (connected && !delivers(auditor, s) && (s == auditor->root || next[s] == OSR_NONE))
		audit_lose(auditor, &fault, auditor->counted[s]);
	if (!auditor->follow.n_in[s])
		return;
	fault.kind = OSR_FAULT_LOOP;
	fault.n_hosts = 0;
	do {
		osr_invariant(next[at] != OSR_NONE && auditor->follow.n_in[at]);
		fault.n_switches++;
		fault.n_hosts += auditor->hosts[at];
		counted |= auditor->counted[at];
		auditor->follow.n_in[at] = 0;
		at = auditor->follow.fabric->chan_dst[next[at]];
	} while (at != s);
	if (connected)
		audit_lose(auditor, &fault, counted);
}

/* ---- SLs ------------------------------------------------------------------------------------ */

/* Index of auditor->passed. Without SL2VL tables the input port makes no difference. */
static size_t audit_slot(const struct auditor *auditor, uint32_t s, unsigned in, unsigned out)
{
	return auditor->routing->sl2vl
		       ? osr_port_pair(auditor->follow.fabric, auditor->routing, s, in, out)
		       : auditor->follow.fabric->port_row[s] + out;
}

/* Pushes the SLs of packets to the current LID, and of replies to the requests of its owner. */
static void audit_follow_sls(struct auditor *auditor)
{
	const struct osr_fabric *fabric = auditor->follow.fabric;
	uint32_t asker = osr_row(&auditor->follow, 0, fabric->dest_term[auditor->dest]);
	bool replies = !auditor->follow.any[0] && (auditor->follow.modes & OSR_CLAIM_REVERSIBLE) &&
		       asker != OSR_NONE && osr_is_host_lid(fabric, auditor->dest);

	if (replies && asker != auditor->asker) {
		auditor->asker = asker;
		memset(auditor->replies, 0, fabric->n_terminals * sizeof(*auditor->replies));
		OSR_EACH_DEST(d, fabric)
			auditor->replies[fabric->dest_term[d]] |=
				osr_request_sls(&auditor->follow, 0, asker, d);
	}
	memset(auditor->mask, 0, fabric->n_switches * sizeof(*auditor->mask));
	OSR_EVERY_TERMINAL(t, fabric) {
		uint32_t row = osr_row(&auditor->follow, 0, t), s = fabric->term_switch[t];
		unsigned sls =
			row == OSR_NONE ? 0 : osr_sls(&auditor->follow, 0, row, auditor->dest);
		uint8_t out = audit_entry(auditor, s);

		sls |= replies ? auditor->replies[t] : 0;
		if (t == fabric->dest_term[auditor->dest] || out > fabric->sw_n_ports[s] ||
		    !osr_sends(&auditor->follow, fabric->term_weight[t], auditor->dest))
			continue;
		auditor->sends[t] |= sls;
		auditor->mask[s] |= sls;
		auditor->passed[audit_slot(auditor, s, fabric->term_port[t], out)] |= sls;
	}
	for (uint32_t i = 0; i < auditor->n_order; i++) {
		uint32_t s = auditor->follow.order[i], c = auditor->follow.out[0][s], t;
		uint8_t out;

		if (c == OSR_NONE)
			continue;
		t = fabric->chan_dst[c];
		out = audit_entry(auditor, t);
		auditor->mask[t] |= auditor->mask[s];
		if (out <= fabric->sw_n_ports[t])
			auditor->passed[audit_slot(auditor, t,
						   fabric->chan_port[fabric->chan_rev[c]], out)] |=
				auditor->mask[s];
	}
}

/*
 * Do the SL2VL tables of switch s carry the SLs that pass; without tables, do its cables have the
 * VL of each SL? Port 0 takes every packet, whatever a table says.
 */
static void judge_lanes(struct auditor *auditor, uint32_t s)
{
	const struct osr_fabric *fabric = auditor->follow.fabric;
	unsigned n_ports = fabric->sw_n_ports[s], n_in = auditor->routing->sl2vl ? n_ports : 0;
	struct osr_fault fault = {
		.kind = OSR_FAULT_SL2VL, .sw = s, .dest = OSR_NONE, .term = OSR_NONE
	};

	for (unsigned in = 0; in <= n_in; in++)
		for (unsigned out = 1; out <= n_ports; out++) {
			size_t slot = audit_slot(auditor, s, in, out);
			uint32_t c = osr_port_channel(fabric, s, out);
			unsigned limit = c == OSR_NONE ? OSR_MAX_VLS : fabric->chan_vls[c];
			unsigned sls = c == OSR_NONE && !auditor->routing->sl2vl
					       ? 0
					       : auditor->passed[slot];

			OSR_EACH_LANE(sl, sls) {
				fault.in = auditor->routing->sl2vl ? in : OSR_NO_PATH;
				fault.out = out;
				fault.sl = fault.vl = sl;
				if (auditor->routing->sl2vl)
					fault.vl = auditor->routing->sl2vl[slot][fault.sl];
				if (fault.vl >= limit)
					audit_fault(auditor, &fault);
			}
		}
}

/* Has host t an SL to every other host of its component? */
static void judge_paths(struct auditor *auditor, uint32_t t)
{
	const struct osr_fabric *fabric = auditor->follow.fabric;
	const struct osr_paths *paths = auditor->follow.gen->paths;
	uint32_t row = osr_row(&auditor->follow, 0, t), s = fabric->term_switch[t];

	OSR_EACH_DEST(d, fabric) {
		if (!osr_is_host_lid(fabric, d) || fabric->dest_term[d] == t ||
		    fabric->sw_component[fabric->dest_switch[d]] != fabric->sw_component[s])
			continue;
		if (row != OSR_NONE && paths->sl[(size_t)row * fabric->n_dests + d] != OSR_NO_SL)
			continue;
		audit_fault(auditor, &(struct osr_fault){ .kind = OSR_FAULT_NO_SL,
							  .sw = s,
							  .dest = d,
							  .term = t,
							  .n_hosts = 1 });
	}
}

/* Does the SL2VL table of host t drop packets of the host? Dumps need not have the table. */
static void judge_end_port(struct auditor *auditor, uint32_t t)
{
	const struct osr_generation *gen = auditor->follow.gen;
	const osr_sl2vl_t *table = auditor->routing->sl2vl ? gen->term_sl2vl : NULL;

	if (!table)
		return;
	OSR_EACH_LANE(sl, auditor->sends[t]) {
		if (table[t][sl] >= OSR_MAX_VLS && table[t][sl] != OSR_VL_UNSET)
			audit_fault(auditor, &(struct osr_fault){ .kind = OSR_FAULT_SL2VL,
								  .sw = OSR_NONE,
								  .dest = OSR_NONE,
								  .term = t,
								  .sl = sl,
								  .vl = table[t][sl] });
	}
}

/* ---- multicast ------------------------------------------------------------------------------ */

static bool group_sends(const struct auditor *auditor, uint32_t s, unsigned port)
{
	const struct osr_groups *groups = auditor->follow.gen->groups;

	osr_invariant(auditor->group < groups->n && port < 256);
	return groups->ports[(size_t)auditor->group * auditor->follow.fabric->n_switches + s]
			    [port / 64] >>
		       port % 64 &
	       1;
}

/*
 * Spreads a packet from every switch that has members. One member stands for all members of its
 * switch: their packets enter by other ports, but meet the same tree.
 */
static void judge_group(struct auditor *auditor)
{
	const struct osr_fabric *fabric = auditor->follow.fabric;
	struct osr_fault fault = { .dest = OSR_NONE,
				   .mlid = auditor->follow.gen->groups->mlid[auditor->group] };
	uint32_t *queue = auditor->follow.order, from_sw = OSR_NONE, n = fabric->n_terminals;

	for (uint32_t from = 0; from < n; from++) {
		uint32_t t = 0, tail = 0, s = fabric->term_switch[from];

		if (s == from_sw || !group_sends(auditor, s, fabric->term_port[from]))
			continue;
		from_sw = s;
		auditor->seen[s] = ++auditor->n_spreads;
		queue[tail] = s;
		auditor->came[tail++] = fabric->term_port[from];
		for (uint32_t head = 0; head < tail; head++)
			for (uint32_t u = queue[head], c = fabric->chan_row[u];
			     c < fabric->chan_row[u + 1]; c++) {
				uint32_t next = fabric->chan_dst[c];

				if (fabric->chan_port[c] == auditor->came[head] ||
				    !group_sends(auditor, u, fabric->chan_port[c]))
					continue;
				fault.sw = next;
				fault.in = fabric->chan_port[fabric->chan_rev[c]];
				if (auditor->seen[next] == auditor->n_spreads) {
					fault.kind = OSR_FAULT_GROUP_LOOP;
					fault.term = OSR_NONE;
					audit_fault(auditor, &fault);
					return;
				}
				osr_invariant(tail < fabric->n_switches);
				auditor->seen[next] = auditor->n_spreads;
				queue[tail] = next;
				auditor->came[tail++] = fault.in;
			}
		/* The fault names the first member that the packet has not reached. */
		while (t < n &&
		       (auditor->seen[fabric->term_switch[t]] == auditor->n_spreads ||
			!group_sends(auditor, fabric->term_switch[t], fabric->term_port[t]) ||
			fabric->sw_component[fabric->term_switch[t]] != fabric->sw_component[s]))
			t++;
		if (t == n)
			continue;
		fault.kind = OSR_FAULT_GROUP_SPLIT;
		fault.sw = s;
		fault.in = fabric->term_port[from];
		fault.term = t;
		audit_fault(auditor, &fault);
	}
}

/* ---- all together --------------------------------------------------------------------------- */

/* Allocates the arrays; a question without arrays is not asked. The caller asks for memory. */
static void auditor_alloc(struct auditor *auditor, uint32_t modes, struct osr_arena *scratch,
			  struct osr_arena *result)
{
	const struct osr_fabric *fabric = auditor->follow.fabric;
	size_t n = fabric->n_switches;

	auditor->list = osr_alloc(result, (size_t)OSR_N_FAULTS * auditor->max_listed,
				  sizeof(*auditor->list));
	auditor->dist = osr_alloc(scratch, n, sizeof(*auditor->dist));
	auditor->load[0] = osr_calloc(result, fabric->n_channels, sizeof(*auditor->load[0]));
	auditor->load[1] = osr_calloc(scratch, fabric->n_channels, sizeof(*auditor->load[1]));
	auditor->hops = osr_alloc(scratch, n, sizeof(*auditor->hops));
	auditor->hosts = osr_alloc(scratch, n, sizeof(*auditor->hosts));
	auditor->counted = osr_alloc(scratch, n, sizeof(*auditor->counted));
	if (auditor->follow.gen->groups) {
		auditor->seen = osr_calloc(scratch, n, sizeof(*auditor->seen));
		auditor->came = osr_alloc(scratch, n, sizeof(*auditor->came));
	}
	if ((auditor->routing->sl2vl || !auditor->follow.any[0]) && !(modes & OSR_ONLY_ROUTES)) {
		auditor->mask = osr_alloc(scratch, n, sizeof(*auditor->mask));
		auditor->passed = osr_calloc(
			scratch, auditor->routing->sl2vl ? osr_n_sl2vl(fabric) : fabric->n_ports,
			sizeof(*auditor->passed));
		auditor->sends = osr_calloc(scratch, fabric->n_terminals, sizeof(*auditor->sends));
		auditor->replies =
			osr_alloc(scratch, fabric->n_terminals, sizeof(*auditor->replies));
	}
}

/*
 * Every LID, switch by switch, so that distances are measured once for each switch; then lanes, end
 * ports and groups.
 */
static void audit_all(struct auditor *auditor)
{
	const struct osr_fabric *fabric = auditor->follow.fabric;
	const struct osr_generation *gen = auditor->follow.gen;

	OSR_EVERY_TERMINAL(t, fabric)
		for (uint32_t i = 0; i < 1u << fabric->term_lmc[t]; i++) {
			auditor->dest = fabric->lid_dest[fabric->term_lid[t] + i];
			if (fabric->term_switch[t] != auditor->root)
				audit_measure(auditor, fabric->term_switch[t]);
			audit_walk(auditor);
			OSR_EACH_SWITCH(s, fabric)
				judge_entry(auditor, s);
			if (auditor->mask)
				audit_follow_sls(auditor);
		}
	if (auditor->mask) {
		OSR_EACH_SWITCH(s, fabric)
			judge_lanes(auditor, s);
		OSR_EVERY_TERMINAL(t, fabric) {
			if (!fabric->term_weight[t])
				continue;
			judge_end_port(auditor, t);
			if (gen->paths)
				judge_paths(auditor, t);
		}
	}
	if (gen->groups)
		for (; auditor->group < gen->groups->n; auditor->group++)
			judge_group(auditor);
}

/* The figures of all channels, and the list of faults without gaps between its kinds. */
static void audit_sum(struct auditor *auditor)
{
	struct osr_audit *audit = auditor->audit;
	uint32_t n_channels = auditor->follow.fabric->n_channels;
	uint64_t n_loads = 0, n_hops = 0;
	struct osr_verdict loads;

	for (uint32_t c = 0; c < n_channels; c++)
		n_loads += auditor->load[0][c] + auditor->load[1][c];
	osr_verdict_loads(auditor->follow.fabric, auditor->load[0], auditor->load[1], &loads);
	audit->efi = loads.efi;
	audit->efi_all = loads.efi_all;
	audit->efi_mean = loads.efi_mean;
	audit->efi_per_capacity = loads.efi_per_capacity;
	audit->efi_all_per_capacity = loads.efi_all_per_capacity;
	for (uint32_t hops = 0; hops <= OSR_AUDIT_MAX_HOPS; hops++)
		n_hops += audit->hops[hops] * hops;
	/* Every route that arrives loads each of its channels once; others may load some. */
	osr_invariant(audit->hops[OSR_AUDIT_MAX_HOPS] || n_hops <= n_loads);
	osr_invariant(audit->n_host_longer <= audit->n_host_routes);
	osr_invariant(audit->n_host_routes <= audit->n_host_pairs);
	for (unsigned kind = 0; kind < OSR_N_FAULTS; kind++) {
		uint64_t all = audit->n_faults[kind],
			 listed = all < auditor->max_listed ? all : auditor->max_listed;

		memmove(auditor->list + audit->n_listed,
			auditor->list + (size_t)kind * auditor->max_listed,
			listed * sizeof(*auditor->list));
		osr_invariant(audit->n_listed <= kind * (uint64_t)auditor->max_listed);
		audit->n_listed += listed;
	}
}

enum osr_status osr_audit(const struct osr_fabric *fabric, const struct osr_generation *gen,
			  uint32_t modes, uint32_t max_listed, struct osr_arena *scratch,
			  struct osr_arena *result, struct osr_audit *audit, struct osr_diag *diag)
{
	struct osr_arena_mark mark = osr_arena_mark(scratch);
	struct auditor auditor = {
		.follow = { .fabric = fabric, .gen = gen, .n = 1, .modes = modes },
		.routing = gen->routing,
		.max_listed = max_listed,
		.audit = audit
	};
	enum osr_status st = osr_follow_init(&auditor.follow, scratch, diag);

	*audit = (struct osr_audit){ 0 };
	auditor_alloc(&auditor, modes, scratch, result);
	if (osr_arena_failed(scratch, diag) || osr_arena_failed(result, diag))
		st = OSR_NOMEM;
	/* If senders choose their SLs, only SL 0 is known to be in use. */
	auditor.follow.any[0] = auditor.follow.any[0] ? 1 : 0;
	auditor.root = auditor.asker = OSR_NONE;
	if (!st) {
		audit_all(&auditor);
		audit_sum(&auditor);
	}
	audit->fault = auditor.list;
	audit->load = auditor.load[0];
	osr_arena_reset(scratch, mark);
	return st;
}

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Yesterday's tables in today's numbering. */
#include "core/verify/union.h"

#include <string.h>

struct carry {
	const struct osr_fabric *then, *now;
	const struct osr_routing *old;
	uint32_t *sw;   /* [now->n_switches] switch of then, or OSR_NONE */
	uint32_t *dest; /* [now->n_dests] */
	uint32_t *chan; /* [now->n_channels] */
	uint8_t *port;  /* [now->n_switches * 256] what is left of an entry */
};

static enum osr_status union_carry_nomem(struct osr_diag *diag)
{
	return osr_fail(diag, OSR_NOMEM, "out of memory for the tables of before");
}

static uint32_t match_dest(const struct carry *k, uint32_t d)
{
	uint16_t lid = k->now->dest_lid[d];
	uint32_t old = lid <= k->then->max_lid ? k->then->lid_dest[lid] : OSR_NONE;

	if (old == OSR_NONE ||
	    k->then->term_guid[k->then->dest_term[old]] != k->now->term_guid[k->now->dest_term[d]])
		return OSR_NONE;
	return old;
}

static uint32_t match_channel(const struct carry *k, uint32_t c)
{
	uint32_t src = k->sw[k->now->chan_src[c]], old;

	if (src == OSR_NONE)
		return OSR_NONE;
	old = osr_port_channel(k->then, src, k->now->chan_port[c]);
	if (old == OSR_NONE || k->sw[k->now->chan_dst[c]] != k->then->chan_dst[old])
		return OSR_NONE;
	return old;
}

/* An entry whose port has no cable, or another one, leads nowhere today. */
static uint8_t carry_port(const struct carry *k, uint32_t s, uint8_t port)
{
	uint32_t c = osr_port_channel(k->now, s, port);

	if (osr_port_channel(k->then, k->sw[s], port) == OSR_NONE)
		return c == OSR_NONE ? port : OSR_NO_PATH;
	return c != OSR_NONE && k->chan[c] != OSR_NONE ? port : OSR_NO_PATH;
}

static bool union_carry_match(struct carry *k, struct osr_arena *scratch)
{
	const struct osr_fabric *fabric = k->now;

	k->sw = osr_alloc(scratch, fabric->n_switches, sizeof(*k->sw));
	k->dest = osr_alloc(scratch, fabric->n_dests, sizeof(*k->dest));
	k->chan = osr_alloc(scratch, fabric->n_channels, sizeof(*k->chan));
	k->port = osr_alloc(scratch, fabric->n_switches, 256);
	if (!k->sw || !k->dest || !k->chan || !k->port)
		return false;
	for (uint32_t s = 0; s < fabric->n_switches; s++)
		k->sw[s] = osr_fabric_switch_by_guid(k->then, fabric->sw_guid[s]);
	for (uint32_t d = 0; d < fabric->n_dests; d++)
		k->dest[d] = match_dest(k, d);
	for (uint32_t c = 0; c < fabric->n_channels; c++)
		k->chan[c] = match_channel(k, c);
	for (uint32_t s = 0; s < fabric->n_switches; s++)
		for (unsigned port = 0; k->sw[s] != OSR_NONE && port < 256; port++)
			k->port[s * (size_t)256 + port] = carry_port(k, s, (uint8_t)port);
	return true;
}

static void union_carry_carry_entries(const struct carry *k, uint16_t *granted,
				      struct osr_routing *routing)
{
	for (uint32_t d = 0; d < k->now->n_dests; d++)
		for (uint32_t s = 0; s < k->now->n_switches; s++) {
			size_t at = (size_t)d * k->now->n_switches + s, from;

			if (k->dest[d] == OSR_NONE || k->sw[s] == OSR_NONE)
				continue;
			from = (size_t)k->dest[d] * k->then->n_switches + k->sw[s];
			routing->lft[at] = k->port[s * (size_t)256 + k->old->lft[from]];
			if (routing->sl)
				routing->sl[at] = k->old->sl[from];
			if (granted)
				granted[at] = k->old->granted[from];
		}
	routing->granted = granted;
}

static void carry_tables(const struct carry *k, uint32_t s, struct osr_routing *routing)
{
	unsigned n = k->now->sw_n_ports[s] + 1u, m;

	if (k->sw[s] == OSR_NONE)
		return;
	m = k->then->sw_n_ports[k->sw[s]] + 1u;
	for (unsigned i = 0; i < n && i < m; i++)
		for (unsigned o = 0; o < n && o < m; o++)
			memcpy(routing->sl2vl[routing->sl2vl_row[s] + i * n + o],
			       k->old->sl2vl[k->old->sl2vl_row[k->sw[s]] + i * m + o],
			       sizeof(*routing->sl2vl));
}

static enum osr_status carry_sl2vl(const struct carry *k, struct osr_arena *result,
				   struct osr_routing *routing, struct osr_diag *diag)
{
	const struct osr_fabric *fabric = k->now;
	uint32_t n = 0;

	routing->sl2vl_row = osr_alloc(result, fabric->n_switches, sizeof(*routing->sl2vl_row));
	if (!routing->sl2vl_row)
		return union_carry_nomem(diag);
	for (uint32_t s = 0; s < fabric->n_switches; s++) {
		routing->sl2vl_row[s] = n;
		n += (fabric->sw_n_ports[s] + 1u) * (fabric->sw_n_ports[s] + 1u);
	}
	routing->sl2vl = osr_alloc(result, n, sizeof(*routing->sl2vl));
	if (!routing->sl2vl)
		return union_carry_nomem(diag);
	memset(routing->sl2vl, OSR_VL_UNSET, n * sizeof(*routing->sl2vl));
	for (uint32_t s = 0; s < fabric->n_switches; s++)
		carry_tables(k, s, routing);
	return OSR_OK;
}

static enum osr_status carry_mcast(const struct carry *k, struct osr_arena *result,
				   struct osr_routing *routing, struct osr_diag *diag)
{
	routing->mcast_parent =
		osr_alloc(result, k->now->n_switches, sizeof(*routing->mcast_parent));
	if (!routing->mcast_parent)
		return union_carry_nomem(diag);
	memset(routing->mcast_parent, 0xff, k->now->n_switches * sizeof(*routing->mcast_parent));
	for (uint32_t c = 0; c < k->now->n_channels; c++)
		if (k->chan[c] != OSR_NONE &&
		    k->old->mcast_parent[k->then->chan_src[k->chan[c]]] == k->chan[c])
			routing->mcast_parent[k->now->chan_src[c]] = c;
	return OSR_OK;
}

static enum osr_status carry(const struct carry *k, struct osr_arena *result,
			     struct osr_routing *routing, struct osr_diag *diag)
{
	size_t size = (size_t)k->now->n_dests * k->now->n_switches;
	enum osr_status st = osr_routing_init(routing, k->now, result, diag);
	uint16_t *granted = NULL;

	if (st)
		return st;
	routing->engine = k->old->engine;
	routing->n_vls = k->old->n_vls;
	routing->mcast_vl = k->old->mcast_vl;
	memcpy(routing->ca_sl2vl, k->old->ca_sl2vl, sizeof(routing->ca_sl2vl));
	if (k->old->sl)
		routing->sl = osr_calloc(result, size, 1);
	if (k->old->sl && k->old->granted)
		granted = osr_calloc(result, size, sizeof(*granted));
	if ((k->old->sl && !routing->sl) || (k->old->sl && k->old->granted && !granted))
		return union_carry_nomem(diag);
	union_carry_carry_entries(k, granted, routing);
	if (k->old->sl2vl)
		st = carry_sl2vl(k, result, routing, diag);
	if (!st && k->old->mcast_parent)
		st = carry_mcast(k, result, routing, diag);
	return st;
}

/* ---- what else a generation has ------------------------------------------------------------- */

/* The end port of then with the GUID and role of this one, or OSR_NONE; it may be on another switch. */
static uint32_t match_terminal(const struct carry *k, uint32_t t)
{
	uint16_t lid = k->now->term_lid[t];
	uint32_t d = lid <= k->then->max_lid ? k->then->lid_dest[lid] : OSR_NONE, old;

	if (d == OSR_NONE)
		return OSR_NONE;
	old = k->then->dest_term[d];
	return k->then->term_guid[old] == k->now->term_guid[t] &&
			       k->then->term_role[old] == k->now->term_role[t]
		       ? old
		       : OSR_NONE;
}

static enum osr_status carry_paths(const struct carry *k, const struct osr_paths *old,
				   struct osr_arena *result, struct osr_paths *to,
				   struct osr_diag *diag)
{
	const struct osr_fabric *fabric = k->now;
	uint32_t *row = osr_alloc(result, fabric->n_terminals, sizeof(*row));
	uint8_t *sl = osr_alloc(result, (size_t)old->n_rows * fabric->n_dests, 1);

	if (!row || !sl)
		return union_carry_nomem(diag);
	for (uint32_t t = 0; t < fabric->n_terminals; t++) {
		uint32_t match = match_terminal(k, t);

		row[t] = match == OSR_NONE ? OSR_NONE : old->row[match];
	}
	for (uint32_t i = 0; i < old->n_rows; i++)
		for (uint32_t d = 0; d < fabric->n_dests; d++)
			sl[(size_t)i * fabric->n_dests + d] =
				k->dest[d] == OSR_NONE
					? OSR_NO_SL
					: old->sl[(size_t)i * k->then->n_dests + k->dest[d]];
	*to = (struct osr_paths){ .n_rows = old->n_rows, .row = row, .sl = sl };
	return OSR_OK;
}

static enum osr_status carry_groups(const struct carry *k, const struct osr_groups *old,
				    struct osr_arena *result, struct osr_groups *to,
				    struct osr_diag *diag)
{
	uint32_t n = k->now->n_switches;
	uint64_t(*ports)[4] = osr_calloc(result, (size_t)old->n * n, sizeof(*ports));

	if (!ports)
		return union_carry_nomem(diag);
	for (uint32_t g = 0; g < old->n; g++)
		for (uint32_t s = 0; s < n; s++) {
			const uint64_t *from;

			if (k->sw[s] == OSR_NONE)
				continue;
			from = old->ports[(size_t)g * k->then->n_switches + k->sw[s]];
			for (unsigned p = 0; p <= k->now->sw_n_ports[s]; p++)
				if (from[p / 64] >> p % 64 & 1 &&
				    carry_port(k, s, (uint8_t)p) != OSR_NO_PATH)
					ports[(size_t)g * n + s][p / 64] |= UINT64_C(1) << p % 64;
		}
	*to = (struct osr_groups){
		.n = old->n, .mlid = old->mlid, .ports = (const uint64_t(*)[4])ports, .sl = old->sl
	};
	return OSR_OK;
}

/* Who is new sends on no SL that is known: VL = SL, as without tables. */
static enum osr_status carry_ends(const struct carry *k, const osr_sl2vl_t *old,
				  struct osr_arena *result, struct osr_generation *to,
				  struct osr_diag *diag)
{
	osr_sl2vl_t *table = osr_alloc(result, k->now->n_terminals, sizeof(*table));

	if (!table)
		return union_carry_nomem(diag);
	for (uint32_t t = 0; t < k->now->n_terminals; t++) {
		uint32_t match = match_terminal(k, t);

		for (unsigned sl = 0; sl < 16; sl++)
			table[t][sl] = match == OSR_NONE ? (uint8_t)sl : old[match][sl];
	}
	to->term_sl2vl = table;
	return OSR_OK;
}

static enum osr_status union_carry_carry_all(const struct carry *k,
					     const struct osr_generation *old,
					     struct osr_arena *result, struct osr_carried *to,
					     struct osr_diag *diag)
{
	enum osr_status st = carry(k, result, &to->routing, diag);

	to->gen =
		(struct osr_generation){ .routing = &to->routing, .sls_unknown = old->sls_unknown };
	if (!st && old->paths) {
		to->gen.paths = &to->paths;
		st = carry_paths(k, old->paths, result, &to->paths, diag);
	}
	if (!st && old->groups) {
		to->gen.groups = &to->groups;
		st = carry_groups(k, old->groups, result, &to->groups, diag);
	}
	return !st && old->term_sl2vl ? carry_ends(k, old->term_sl2vl, result, &to->gen, diag) : st;
}

/* ---- from outside --------------------------------------------------------------------------- */

enum osr_status osr_union_carry(const struct osr_fabric *then, const struct osr_routing *old,
				const struct osr_fabric *now, struct osr_arena *scratch,
				struct osr_arena *result, struct osr_routing *routing,
				struct osr_diag *diag)
{
	struct osr_arena_mark mark = osr_arena_mark(scratch);
	struct carry k = { .then = then, .now = now, .old = old };
	enum osr_status st = union_carry_match(&k, scratch) ? carry(&k, result, routing, diag)
							    : union_carry_nomem(diag);

	osr_arena_reset(scratch, mark);
	return st;
}

enum osr_status osr_union_carry_all(const struct osr_fabric *then, const struct osr_generation *old,
				    const struct osr_fabric *now, struct osr_arena *scratch,
				    struct osr_arena *result, struct osr_carried *to,
				    struct osr_diag *diag)
{
	struct osr_arena_mark mark = osr_arena_mark(scratch);
	struct carry k = { .then = then, .now = now, .old = old->routing };
	enum osr_status st = union_carry_match(&k, scratch)
				     ? union_carry_carry_all(&k, old, result, to, diag)
				     : union_carry_nomem(diag);

	osr_arena_reset(scratch, mark);
	return st;
}

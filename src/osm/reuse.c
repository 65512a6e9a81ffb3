/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The last checked tables on the fabric of today.
 *
 * Switches are matched by GUID, destinations by LID and port GUID, channels by switch and port. The
 * certificate moves along: channels that are new carry none of the old routes, so any rank does.
 * Whether the outcome fits is not decided here but by the checker. Minimality is not claimed any
 * more: a new cable may have made shorter routes than those of yesterday.
 */
#include "plugin.h"

#include <inttypes.h>
#include <string.h>

struct match {
	const struct osr_fabric *now, *then;
	const struct osr_routing *old;
	uint32_t *sw;   /* [now->n_switches] switch of then, or OSR_NONE */
	uint32_t *dest; /* [now->n_dests] */
	uint32_t *chan; /* [now->n_channels] */
};

static enum osr_status reuse_nomem(struct osr_diag *diag)
{
	return osr_fail(diag, OSR_NOMEM, "out of memory while looking at the last tables");
}

static void reuse_match_channels(struct match *m)
{
	for (uint32_t c = 0; c < m->now->n_channels; c++) {
		uint32_t src = m->sw[m->now->chan_src[c]], old = OSR_NONE;

		if (src != OSR_NONE)
			old = osr_port_channel(m->then, src, m->now->chan_port[c]);
		if (old != OSR_NONE && m->sw[m->now->chan_dst[c]] != m->then->chan_dst[old])
			old = OSR_NONE; /* another cable in the same port */
		m->chan[c] = old;
	}
}

static enum osr_status match_fabrics(struct match *m, struct osr_arena *scratch,
				     struct osr_diag *diag)
{
	const struct osr_fabric *fabric = m->now, *g = m->then;

	m->sw = osr_alloc(scratch, fabric->n_switches, sizeof(*m->sw));
	m->dest = osr_alloc(scratch, fabric->n_dests, sizeof(*m->dest));
	m->chan = osr_alloc(scratch, fabric->n_channels, sizeof(*m->chan));
	if (!m->sw || !m->dest || !m->chan)
		return reuse_nomem(diag);
	for (uint32_t s = 0; s < fabric->n_switches; s++)
		m->sw[s] = osr_fabric_switch_by_guid(g, fabric->sw_guid[s]);
	for (uint32_t d = 0; d < fabric->n_dests; d++) {
		uint16_t lid = fabric->dest_lid[d];
		uint32_t old = lid <= g->max_lid ? g->lid_dest[lid] : OSR_NONE;

		if (old != OSR_NONE &&
		    g->term_guid[g->dest_term[old]] != fabric->term_guid[fabric->dest_term[d]])
			old = OSR_NONE;
		m->dest[d] = old;
	}
	reuse_match_channels(m);
	return OSR_OK;
}

/* Everything that is there today was there then. */
static enum osr_status all_known(const struct match *m, struct osr_diag *diag)
{
	const struct osr_fabric *fabric = m->now;
	char buf[32];

	for (uint32_t s = 0; s < fabric->n_switches; s++)
		if (m->sw[s] == OSR_NONE)
			return osr_fail(diag, OSR_CHECK_FAILED, "switch %s is new",
					osr_switch_name(fabric, s, buf));
	for (uint32_t d = 0; d < fabric->n_dests; d++)
		if (m->dest[d] == OSR_NONE)
			return osr_fail(diag, OSR_CHECK_FAILED, "LID %u of %s is new",
					fabric->dest_lid[d],
					osr_terminal_name(fabric, fabric->dest_term[d], buf));
	return OSR_OK;
}

static void copy_rows(const struct match *m, const uint8_t *from, uint8_t *to, uint8_t missing)
{
	uint32_t n = m->now->n_switches;

	for (uint32_t d = 0; d < m->now->n_dests; d++) {
		const uint8_t *row = from + (size_t)m->dest[d] * m->then->n_switches;
		uint8_t *out = to + (size_t)d * n;

		for (uint32_t s = 0; s < n; s++)
			out[s] = m->dest[d] == OSR_NONE || m->sw[s] == OSR_NONE ? missing
										: row[m->sw[s]];
	}
}

/* Connections go on with what they were given: the check covers it, as with other tables. */
static uint16_t *copy_granted(const struct match *m, struct osr_arena *arena)
{
	size_t n = m->now->n_switches;
	uint16_t *granted = osr_calloc(arena, m->now->n_dests * n, sizeof(*granted));

	for (uint32_t d = 0; granted && d < m->now->n_dests; d++)
		for (uint32_t s = 0; s < n; s++)
			if (m->dest[d] != OSR_NONE && m->sw[s] != OSR_NONE)
				granted[d * n + s] =
					m->old->granted[(size_t)m->dest[d] * m->then->n_switches +
							m->sw[s]];
	return granted;
}

static enum osr_status copy_sls(const struct match *m, struct osr_arena *arena,
				struct osr_routing *routing, struct osr_diag *diag)
{
	if (!m->old->sl)
		return OSR_OK;
	routing->sl = osr_alloc(arena, (size_t)m->now->n_dests * m->now->n_switches, 1);
	if (!routing->sl)
		return reuse_nomem(diag);
	copy_rows(m, m->old->sl, routing->sl, 0);
	if (!m->old->granted)
		return OSR_OK;
	routing->granted = copy_granted(m, arena);
	return routing->granted ? OSR_OK : reuse_nomem(diag);
}

/* One table per pair of ports; a switch that has other ports than then cannot keep them. */
static enum osr_status reuse_copy_sl2vl(const struct match *m, struct osr_arena *arena,
					struct osr_routing *routing, struct osr_diag *diag)
{
	const struct osr_fabric *fabric = m->now;
	uint32_t n = 0;

	memcpy(routing->ca_sl2vl, m->old->ca_sl2vl, sizeof(routing->ca_sl2vl));
	if (!m->old->sl2vl)
		return OSR_OK;
	routing->sl2vl_row = osr_alloc(arena, fabric->n_switches, sizeof(*routing->sl2vl_row));
	if (!routing->sl2vl_row)
		return reuse_nomem(diag);
	for (uint32_t s = 0; s < fabric->n_switches; s++) {
		uint32_t ports = fabric->sw_n_ports[s] + 1u;

		if (m->sw[s] == OSR_NONE || m->then->sw_n_ports[m->sw[s]] != fabric->sw_n_ports[s])
			return osr_fail(diag, OSR_CHECK_FAILED,
					"a switch is new or has other ports");
		routing->sl2vl_row[s] = n;
		n += ports * ports;
	}
	routing->sl2vl = osr_alloc(arena, n, sizeof(*routing->sl2vl));
	if (!routing->sl2vl)
		return reuse_nomem(diag);
	for (uint32_t s = 0; s < fabric->n_switches; s++) {
		size_t ports = fabric->sw_n_ports[s] + 1u;

		memcpy(routing->sl2vl[routing->sl2vl_row[s]],
		       m->old->sl2vl[m->old->sl2vl_row[m->sw[s]]],
		       ports * ports * sizeof(*routing->sl2vl));
	}
	return OSR_OK;
}

static enum osr_status copy_rank(const struct match *m, struct osr_arena *arena,
				 struct osr_routing *routing, struct osr_diag *diag)
{
	uint32_t n = m->now->n_channels;

	if (!m->old->rank)
		return OSR_OK;
	routing->rank = osr_calloc(arena, (size_t)routing->n_vls * n, sizeof(*routing->rank));
	if (!routing->rank)
		return reuse_nomem(diag);
	for (uint32_t vl = 0; vl < routing->n_vls; vl++)
		for (uint32_t c = 0; c < n; c++)
			if (m->chan[c] != OSR_NONE)
				routing->rank[(size_t)vl * n + c] =
					m->old->rank[(size_t)vl * m->then->n_channels + m->chan[c]];
	return OSR_OK;
}

/*
 * A spanning order with a missing link spans no more. The claim goes with it, and OpenSM builds its
 * own trees.
 */
static enum osr_status copy_mcast(const struct match *m, struct osr_arena *arena,
				  struct osr_routing *routing, struct osr_diag *diag)
{
	const struct osr_fabric *fabric = m->now;
	uint32_t kept = 0, wanted = 0;

	routing->mcast_vl = m->old->mcast_vl;
	if (!m->old->mcast_parent)
		return OSR_OK;
	routing->mcast_parent =
		osr_alloc(arena, fabric->n_switches, sizeof(*routing->mcast_parent));
	if (!routing->mcast_parent)
		return reuse_nomem(diag);
	for (uint32_t s = 0; s < fabric->n_switches; s++) {
		uint32_t old = m->sw[s] == OSR_NONE ? OSR_NONE : m->old->mcast_parent[m->sw[s]];

		routing->mcast_parent[s] = OSR_NONE;
		wanted += old != OSR_NONE;
		for (uint32_t c = fabric->chan_row[s];
		     old != OSR_NONE && c < fabric->chan_row[s + 1]; c++)
			if (m->chan[c] == old) {
				routing->mcast_parent[s] = c;
				kept++;
			}
	}
	if (kept < wanted) {
		routing->mcast_parent = NULL;
		routing->claims &= ~(uint32_t)OSR_CLAIM_MULTICAST;
	}
	return OSR_OK;
}

/* Everything but the LFT. */
static enum osr_status copy_rest(const struct match *m, struct osr_arena *arena,
				 struct osr_routing *routing, struct osr_diag *diag)
{
	enum osr_status st;

	routing->engine = m->old->engine;
	routing->claims = m->old->claims & ~(uint32_t)OSR_CLAIM_MINIMAL;
	routing->n_vls = m->old->n_vls;
	routing->n_layers = m->old->n_layers;
	routing->n_layers_one_way = m->old->n_layers_one_way;
	if ((st = copy_sls(m, arena, routing, diag)) ||
	    (st = reuse_copy_sl2vl(m, arena, routing, diag)) ||
	    (st = copy_rank(m, arena, routing, diag)))
		return st;
	return copy_mcast(m, arena, routing, diag);
}

enum osr_status osr__reuse(const struct osr_result *old, const struct osr_fabric *fabric,
			   struct osr_arena *result, struct osr_arena *scratch,
			   struct osr_routing *routing, struct osr_diag *diag)
{
	struct match m = { .now = fabric, .then = &old->fabric, .old = &old->routing };
	enum osr_status st;

	if ((st = match_fabrics(&m, scratch, diag)) || (st = all_known(&m, diag)) ||
	    (st = osr_routing_init(routing, fabric, result, diag)) ||
	    (st = copy_rest(&m, result, routing, diag)))
		return st;
	copy_rows(&m, old->routing.lft, routing->lft, OSR_NO_PATH);
	return OSR_OK;
}

enum osr_status osr__reuse_cached(const struct osr_result *old, const struct osr_fabric *fabric,
				  const struct snapshot *snap, struct osr_arena *result,
				  struct osr_arena *scratch, struct osr_routing *routing,
				  struct osr_diag *diag)
{
	struct match m = { .now = fabric, .then = &old->fabric, .old = &old->routing };
	enum osr_status st;

	if ((st = match_fabrics(&m, scratch, diag)) ||
	    (st = osr_routing_init(routing, fabric, result, diag)) ||
	    (st = copy_rest(&m, result, routing, diag)))
		return st;
	for (uint32_t s = 0; s < fabric->n_switches; s++) {
		const osm_switch_t *sw = snap->sw[s];
		const uint8_t *lft = sw->new_lft ? sw->new_lft : sw->lft;

		for (uint32_t d = 0; lft && d < fabric->n_dests; d++)
			if (fabric->dest_lid[d] <= sw->max_lid_ho)
				routing->lft[(size_t)d * fabric->n_switches + s] =
					lft[fabric->dest_lid[d]];
	}
	return OSR_OK;
}

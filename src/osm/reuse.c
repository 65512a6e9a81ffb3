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

static enum osr_status nomem(struct osr_diag *diag)
{
	return osr_fail(diag, OSR_NOMEM, "out of memory while looking at the last tables");
}

static void match_channels(struct match *m)
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
	const struct osr_fabric *f = m->now, *g = m->then;

	m->sw = osr_alloc(scratch, f->n_switches, sizeof(*m->sw));
	m->dest = osr_alloc(scratch, f->n_dests, sizeof(*m->dest));
	m->chan = osr_alloc(scratch, f->n_channels, sizeof(*m->chan));
	if (!m->sw || !m->dest || !m->chan)
		return nomem(diag);
	for (uint32_t s = 0; s < f->n_switches; s++)
		m->sw[s] = osr_fabric_switch_by_guid(g, f->sw_guid[s]);
	for (uint32_t d = 0; d < f->n_dests; d++) {
		uint16_t lid = f->dest_lid[d];
		uint32_t old = lid <= g->max_lid ? g->lid_dest[lid] : OSR_NONE;

		if (old != OSR_NONE &&
		    g->term_guid[g->dest_term[old]] != f->term_guid[f->dest_term[d]])
			old = OSR_NONE;
		m->dest[d] = old;
	}
	match_channels(m);
	return OSR_OK;
}

/* Everything that is there today was there then. */
static enum osr_status all_known(const struct match *m, struct osr_diag *diag)
{
	const struct osr_fabric *f = m->now;
	char buf[32];

	for (uint32_t s = 0; s < f->n_switches; s++)
		if (m->sw[s] == OSR_NONE)
			return osr_fail(diag, OSR_CHECK_FAILED, "switch %s is new",
					osr_switch_name(f, s, buf));
	for (uint32_t d = 0; d < f->n_dests; d++)
		if (m->dest[d] == OSR_NONE)
			return osr_fail(diag, OSR_CHECK_FAILED, "LID %u of %s is new",
					f->dest_lid[d], osr_terminal_name(f, f->dest_term[d], buf));
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
				struct osr_routing *r, struct osr_diag *diag)
{
	if (!m->old->sl)
		return OSR_OK;
	r->sl = osr_alloc(arena, (size_t)m->now->n_dests * m->now->n_switches, 1);
	if (!r->sl)
		return nomem(diag);
	copy_rows(m, m->old->sl, r->sl, 0);
	if (!m->old->granted)
		return OSR_OK;
	r->granted = copy_granted(m, arena);
	return r->granted ? OSR_OK : nomem(diag);
}

/* One table per pair of ports; a switch that has other ports than then cannot keep them. */
static enum osr_status copy_sl2vl(const struct match *m, struct osr_arena *arena,
				  struct osr_routing *r, struct osr_diag *diag)
{
	const struct osr_fabric *f = m->now;
	uint32_t n = 0;

	memcpy(r->ca_sl2vl, m->old->ca_sl2vl, sizeof(r->ca_sl2vl));
	if (!m->old->sl2vl)
		return OSR_OK;
	r->sl2vl_row = osr_alloc(arena, f->n_switches, sizeof(*r->sl2vl_row));
	if (!r->sl2vl_row)
		return nomem(diag);
	for (uint32_t s = 0; s < f->n_switches; s++) {
		uint32_t ports = f->sw_n_ports[s] + 1u;

		if (m->sw[s] == OSR_NONE || m->then->sw_n_ports[m->sw[s]] != f->sw_n_ports[s])
			return osr_fail(diag, OSR_CHECK_FAILED,
					"a switch is new or has other ports");
		r->sl2vl_row[s] = n;
		n += ports * ports;
	}
	r->sl2vl = osr_alloc(arena, n, sizeof(*r->sl2vl));
	if (!r->sl2vl)
		return nomem(diag);
	for (uint32_t s = 0; s < f->n_switches; s++) {
		size_t ports = f->sw_n_ports[s] + 1u;

		memcpy(r->sl2vl[r->sl2vl_row[s]], m->old->sl2vl[m->old->sl2vl_row[m->sw[s]]],
		       ports * ports * sizeof(*r->sl2vl));
	}
	return OSR_OK;
}

static enum osr_status copy_rank(const struct match *m, struct osr_arena *arena,
				 struct osr_routing *r, struct osr_diag *diag)
{
	uint32_t n = m->now->n_channels;

	if (!m->old->rank)
		return OSR_OK;
	r->rank = osr_calloc(arena, (size_t)r->n_vls * n, sizeof(*r->rank));
	if (!r->rank)
		return nomem(diag);
	for (uint32_t vl = 0; vl < r->n_vls; vl++)
		for (uint32_t c = 0; c < n; c++)
			if (m->chan[c] != OSR_NONE)
				r->rank[(size_t)vl * n + c] =
					m->old->rank[(size_t)vl * m->then->n_channels + m->chan[c]];
	return OSR_OK;
}

/*
 * A spanning order with a missing link spans no more. The claim goes with it, and OpenSM builds its
 * own trees.
 */
static enum osr_status copy_mcast(const struct match *m, struct osr_arena *arena,
				  struct osr_routing *r, struct osr_diag *diag)
{
	const struct osr_fabric *f = m->now;
	uint32_t kept = 0, wanted = 0;

	r->mcast_vl = m->old->mcast_vl;
	if (!m->old->mcast_parent)
		return OSR_OK;
	r->mcast_parent = osr_alloc(arena, f->n_switches, sizeof(*r->mcast_parent));
	if (!r->mcast_parent)
		return nomem(diag);
	for (uint32_t s = 0; s < f->n_switches; s++) {
		uint32_t old = m->sw[s] == OSR_NONE ? OSR_NONE : m->old->mcast_parent[m->sw[s]];

		r->mcast_parent[s] = OSR_NONE;
		wanted += old != OSR_NONE;
		for (uint32_t c = f->chan_row[s]; old != OSR_NONE && c < f->chan_row[s + 1]; c++)
			if (m->chan[c] == old) {
				r->mcast_parent[s] = c;
				kept++;
			}
	}
	if (kept < wanted) {
		r->mcast_parent = NULL;
		r->claims &= ~(uint32_t)OSR_CLAIM_MULTICAST;
	}
	return OSR_OK;
}

/* Everything but the LFT. */
static enum osr_status copy_rest(const struct match *m, struct osr_arena *arena,
				 struct osr_routing *r, struct osr_diag *diag)
{
	enum osr_status st;

	r->engine = m->old->engine;
	r->claims = m->old->claims & ~(uint32_t)OSR_CLAIM_MINIMAL;
	r->n_vls = m->old->n_vls;
	r->n_layers = m->old->n_layers;
	r->n_layers_one_way = m->old->n_layers_one_way;
	if ((st = copy_sls(m, arena, r, diag)) || (st = copy_sl2vl(m, arena, r, diag)) ||
	    (st = copy_rank(m, arena, r, diag)))
		return st;
	return copy_mcast(m, arena, r, diag);
}

enum osr_status osr__reuse(const struct osr_result *old, const struct osr_fabric *f,
			   struct osr_arena *result, struct osr_arena *scratch,
			   struct osr_routing *r, struct osr_diag *diag)
{
	struct match m = { .now = f, .then = &old->fabric, .old = &old->routing };
	enum osr_status st;

	if ((st = match_fabrics(&m, scratch, diag)) || (st = all_known(&m, diag)) ||
	    (st = osr_routing_init(r, f, result, diag)) || (st = copy_rest(&m, result, r, diag)))
		return st;
	copy_rows(&m, old->routing.lft, r->lft, OSR_NO_PATH);
	return OSR_OK;
}

enum osr_status osr__reuse_cached(const struct osr_result *old, const struct osr_fabric *f,
				  const struct snapshot *snap, struct osr_arena *result,
				  struct osr_arena *scratch, struct osr_routing *r,
				  struct osr_diag *diag)
{
	struct match m = { .now = f, .then = &old->fabric, .old = &old->routing };
	enum osr_status st;

	if ((st = match_fabrics(&m, scratch, diag)) ||
	    (st = osr_routing_init(r, f, result, diag)) || (st = copy_rest(&m, result, r, diag)))
		return st;
	for (uint32_t s = 0; s < f->n_switches; s++) {
		const osm_switch_t *sw = snap->sw[s];
		const uint8_t *lft = sw->new_lft ? sw->new_lft : sw->lft;

		for (uint32_t d = 0; lft && d < f->n_dests; d++)
			if (f->dest_lid[d] <= sw->max_lid_ho)
				r->lft[(size_t)d * f->n_switches + s] = lft[f->dest_lid[d]];
	}
	return OSR_OK;
}

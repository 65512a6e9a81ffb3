/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Service levels and virtual lanes.
 *
 * Our SLs are VL numbers: SL x travels on VL x (unless an engine brings SL2VL tables of its own).
 * OpenSM programs SL2VL and VLArb from its options qos_{ca,swe,sw0,rtr}_*. As long as these say the
 * same, the callbacks change nothing. With use_optimized_slvl, update_sl2vl is installed only while
 * it is needed: it costs OpenSM its optimised SL2VL MAD (one per switch instead of ports * ports).
 *
 * path_sl, update_sl2vl and update_vlarb run several at once under OpenSM's shared lock: they look
 * up and do nothing else.
 */
#include "sweep.h"

#include "conf/osmconf.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define VLARB_WEIGHT 4 /* OpenSM's default for the VLs of its low priority table */

/* OpenSM's configuration ----------------------------------------------------------------------- */

/* One number and one separator, whatever it is: as lenient as osm_qos.c. */
static unsigned next_number(const char **p)
{
	char *end;
	unsigned val = (unsigned)strtoul(*p, &end, 0);

	*p = *end ? end + 1 : end;
	return val;
}

static const char *first_set(const char *a, const char *b, const char *dflt)
{
	return a ? a : b ? b : dflt;
}

/*
 * VLs with a weight among the entries that reach a port with `cap` of them. osm_qos.c sends the
 * first 32 and, of a larger table, cap % 32 more.
 */
static uint16_t weighted_vls(const char *text, unsigned cap)
{
	const unsigned block = IB_NUM_VL_ARB_ELEMENTS_IN_BLOCK;
	unsigned n = cap < block ? cap : block + (cap > block ? cap % block : 0);
	uint16_t vls = 0;

	for (unsigned i = 0; i < n && i < 2 * block && *text; i++) {
		unsigned vl = next_number(&text) % 15;
		uint8_t weight = (uint8_t)next_number(&text);

		if (weight)
			vls |= (uint16_t)(1u << vl);
	}
	return vls;
}

void osr__qos_tables(const struct osm_opensm *osm, const struct snapshot *snap,
		     struct qos_tables *tables)
{
	const osm_subn_opt_t *opt = &osm->subn.opt;
	const osm_qos_options_t *osm_qos_options = &opt->qos_options;
	const osm_qos_options_t *const types[QOS_N_TYPES] = {
		[QOS_CA] = &opt->qos_ca_options,
		[QOS_SW0] = &opt->qos_sw0_options,
		[QOS_SWE] = &opt->qos_swe_options,
		[QOS_RTR] = &opt->qos_rtr_options,
	};

	for (unsigned i = 0; i < QOS_N_TYPES; i++) {
		const osm_qos_options_t *o = types[i];

		const char *sl2vl =
			first_set(o->sl2vl, osm_qos_options->sl2vl, OSM_DEFAULT_QOS_SL2VL);

		for (unsigned sl = 0; sl < 16; sl++)
			tables->sl2vl[i][sl] = next_number(&sl2vl) & 0xf;
		tables->weighted[i] =
			weighted_vls(first_set(o->vlarb_low, osm_qos_options->vlarb_low,
					       OSM_DEFAULT_QOS_VLARB_LOW),
				     snap->vlarb_low[i]) |
			weighted_vls(first_set(o->vlarb_high, osm_qos_options->vlarb_high,
					       OSM_DEFAULT_QOS_VLARB_HIGH),
				     snap->vlarb_high[i]);
	}
}

/* SL2VL and VLArb ------------------------------------------------------------------------------ */

/*
 * A mask of the VLs that a port is left with. The link manager lowers the operational VLs to the smaller VLCap of
 * both ends, capped by max_op_vls, but only after SL2VL, which OpenSM masks by what it has read.
 */
static uint8_t coming_vls(const struct osm_opensm *osm, const osm_physp_t *osm_physp)
{
	const osm_physp_t *remote = osm_physp->p_remote_physp;
	uint8_t code = ib_port_info_get_vl_cap(&osm_physp->port_info);
	uint8_t other = remote ? ib_port_info_get_vl_cap(&remote->port_info) : 0;

	code = other < code ? other : code;
	code = osm->subn.opt.max_op_vls < code ? osm->subn.opt.max_op_vls : code;
	return code ? (uint8_t)((1u << (code - 1)) - 1) : 0xf;
}

/* A table as in a MAD, where each byte has two VLs: an even SL's in the upper half. */
static uint64_t packed(const uint8_t *vl)
{
	uint8_t bytes[8];
	uint64_t raw;

	for (unsigned i = 0; i < 8; i++)
		bytes[i] = (uint8_t)(vl[2 * i] << 4 | (vl[2 * i + 1] & 15));
	memcpy(&raw, bytes, sizeof(raw));
	return raw;
}

/* All VLs of a table at once, with these bits of the mask alone; VL 15 stays. */
static uint64_t masked(uint64_t table, uint8_t mask)
{
	uint64_t ones = UINT64_MAX / 15;
	uint64_t drops = table & table >> 1 & table >> 2 & table >> 3 & ones;

	return (table & (mask & 15) * ones) | drops * 15;
}

static void update_sl2vl(void *context, osm_physp_t *osm_physp, uint8_t in, uint8_t out,
			 ib_slvl_table_t *table)
{
	const struct engine_ctx *ctx = context;
	const struct sweep_slot *slot = ctx->current;
	const struct osr_routing *routing;
	const struct osr_fabric *fabric;
	uint64_t raw;

	if (!slot)
		return;
	routing = &slot->result.routing;
	fabric = &slot->result.fabric;
	for (uint8_t sl = 0; sl < OSR_MAX_VLS && !routing->sl2vl; sl++)
		if (slot->used_vls & (1u << sl))
			ib_slvl_table_set(table, sl, sl);
	memcpy(&raw, table, sizeof(raw));
	/* The tables an engine brought for this pair of ports. */
	if (routing->sl2vl && osm_node_get_type(osm_physp->p_node) != IB_NODE_TYPE_SWITCH) {
		raw = packed(routing->ca_sl2vl);
	} else if (routing->sl2vl) {
		uint32_t s = osr_fabric_switch_by_guid(fabric, osr__guid(osm_physp->p_node));

		/* One that came after routing has OpenSM's own table, until the next sweep. */
		if (s != OSR_NONE && in <= fabric->sw_n_ports[s] && out <= fabric->sw_n_ports[s])
			raw = packed(routing->sl2vl[routing->sl2vl_row[s] +
						    in * (fabric->sw_n_ports[s] + 1u) + out]);
	}
	raw = masked(raw, coming_vls(ctx->plugin->osm, osm_physp));
	memcpy(table, &raw, sizeof(raw));
}

uint64_t osr__qos_table(const struct engine_ctx *ctx, osm_physp_t *osm_physp, uint8_t in)
{
	uint8_t op_vls = ib_port_info_get_op_vls(&osm_physp->port_info);
	uint64_t raw =
		packed(ctx->current->qos.sl2vl[osm_physp->port_num || in ? QOS_SWE : QOS_SW0]);

	/* As OpenSM calls it: another plugin may have wrapped it. */
	if (ctx->re->update_sl2vl)
		ctx->re->update_sl2vl(ctx->re->context, osm_physp, in, osm_physp->port_num,
				      (ib_slvl_table_t *)&raw);
	/* A port without PortInfo shows 0; OpenSM's mask lets everything pass then. */
	return masked(raw, op_vls ? (uint8_t)((1 << (op_vls - 1)) - 1) : 0xf);
}

/* Index of an entry of the block that VL vl may have: its own, an unused one, or a second one. */
static unsigned vlarb_entry(const ib_vl_arb_table_t *block, unsigned n, uint8_t vl)
{
	unsigned spare = n;
	uint16_t seen = 0;

	for (unsigned i = 0; i < n; i++) {
		uint8_t v = block->vl_entry[i].vl & 0xf;
		uint16_t bit = block->vl_entry[i].weight ? (uint16_t)(1u << v) : 0;

		if (v == vl)
			return i;
		if (!bit || (seen & bit))
			spare = i;
		seen |= bit;
	}
	return spare;
}

/* Gives every VL of ours that OpenSM's tables forget a weight, in the first low priority block. */
static void update_vlarb(void *context, osm_physp_t *osm_physp, uint8_t port_num,
			 ib_vl_arb_table_t *block, unsigned n, unsigned block_num)
{
	const struct engine_ctx *ctx = context;
	const struct sweep_slot *slot = ctx->current;
	unsigned forgotten, type = QOS_CA;

	if (!slot || block_num != 0)
		return;
	if (osm_node_get_type(osm_physp->p_node) == IB_NODE_TYPE_SWITCH)
		type = osm_physp->port_num ? QOS_SWE : QOS_SW0;
	else if (osm_node_get_type(osm_physp->p_node) == IB_NODE_TYPE_ROUTER)
		type = QOS_RTR;
	forgotten = slot->used_vls & ~slot->qos.weighted[type];
	for (uint8_t vl = 0; vl < OSR_MAX_VLS; vl++) {
		unsigned i;

		if (!(forgotten & (1u << vl)))
			continue;
		i = vlarb_entry(block, n, vl);
		if (i < n) {
			block->vl_entry[i].vl = vl;
			block->vl_entry[i].weight = VLARB_WEIGHT;
		}
	}
}

void osr__qos_install(struct osm_routing_engine *re, const osm_subn_opt_t *opt)
{
	re->update_sl2vl = opt->use_optimized_slvl ? NULL : update_sl2vl;
	re->update_vlarb = update_vlarb;
}

/* Is there a port that shows more VLs than it is left with? */
static bool loses_vls(const struct osm_opensm *osm)
{
	for (osm_switch_t *sw = osr__switches(&osm->subn); sw; sw = osr__after(&osm->subn, sw))
		for (unsigned port = 1; port < sw->num_ports; port++) {
			const osm_physp_t *p = osr__port(sw, port);
			const osm_physp_t *remote = p ? p->p_remote_physp : NULL;
			uint8_t code = remote ? ib_port_info_get_op_vls(&p->port_info) : 0;

			if (remote && code < ib_port_info_get_op_vls(&remote->port_info))
				code = ib_port_info_get_op_vls(&remote->port_info);
			if (code && (1u << (code - 1)) - 1 > coming_vls(osm, p))
				return true;
		}
	return false;
}

void osr__qos_renew(struct engine_ctx *ctx)
{
	const struct sweep_slot *slot = ctx->current;
	const osm_subn_opt_t *opt = &ctx->plugin->osm->subn.opt;
	struct osm_routing_engine *re = ctx->re;
	bool used = opt->qos && slot->used_vls, vlarb = false;
	bool sl2vl = used && slot->result.routing.sl2vl;

	/* Do OpenSM's own tables do the same? */
	for (unsigned type = 0; used && type < QOS_N_TYPES; type++) {
		vlarb |= slot->used_vls & ~slot->qos.weighted[type];
		for (unsigned sl = 0; sl < OSR_MAX_VLS; sl++)
			sl2vl |= (slot->used_vls & (1u << sl)) && slot->qos.sl2vl[type][sl] != sl;
	}
	/* A context or a callback that is not ours belongs to a plugin that wraps us, and stays. */
	if (opt->use_optimized_slvl && re->context == ctx &&
	    (!re->update_sl2vl || re->update_sl2vl == update_sl2vl))
		re->update_sl2vl =
			sl2vl || (opt->qos && loses_vls(ctx->plugin->osm)) ? update_sl2vl : NULL;
	if (sl2vl)
		osr__log(ctx->plugin->osm, osr__log_details(ctx->plugin),
			 "%s: OpenSM's qos_*_sl2vl options do not map the SLs in use to the VLs of "
			 "the routing; SL2VL tables are set by osmroutes",
			 ctx->engine->name);
	if (vlarb)
		osr__log(ctx->plugin->osm, osr__log_details(ctx->plugin),
			 "%s: OpenSM's qos_*_vlarb options give no weight to some of the VLs in "
			 "use; osmroutes adds weight %u",
			 ctx->engine->name, VLARB_WEIGHT);
}

/*
 * Without QoS switches keep the tables that they came with: usually SL = VL, so SLs above the lanes of a link are
 * dropped there, unless it has one lane and no table.
 */
uint16_t osr__dropped_sls(const struct sweep *w)
{
	const struct sweep_slot *slot = w->slot;
	uint8_t n = w->snap.link_vls;
	uint16_t dropped = 0;

	if (!w->osm->subn.opt.qos)
		return n > 1 && n < 16 ? (uint16_t)(0xffffu << n) : 0;
	if (slot->result.routing.sl2vl)
		return 0;
	for (uint8_t sl = 0; sl < 16; sl++)
		if (!(slot->used_vls & (1u << sl)) &&
		    (slot->qos.sl2vl[QOS_CA][sl] == 15 || slot->qos.sl2vl[QOS_SWE][sl] == 15))
			dropped |= (uint16_t)(1u << sl);
	return dropped;
}

/* Path SLs ------------------------------------------------------------------------------------- */

static uint32_t qos_dest_of(const struct osr_fabric *fabric, ib_net16_t lid)
{
	uint16_t l = cl_ntoh16(lid);

	return l <= fabric->max_lid ? fabric->lid_dest[l] : OSR_NONE;
}

/* OpenSM reads its QoS policy after it has routed for the first time: the file is there before. */
uint16_t osr__chosen_sls(const struct osm_opensm *osm)
{
	const cl_qmap_t *prtns = &osm->subn.prtn_pkey_tbl;
	const char *policy = osm->subn.opt.qos_policy_file;
	uint16_t sls = 1;

	for (cl_map_item_t *i = cl_qmap_head(prtns); i != cl_qmap_end(prtns); i = cl_qmap_next(i))
		sls |= (uint16_t)(1u << (((const osm_prtn_t *)i)->sl & 0xf));
	if (osm->subn.opt.qos)
		sls |= osr_osmconf_policy_sls(policy ? policy : OSM_DEFAULT_QOS_POLICY_FILE, NULL);
	return sls;
}

/* All ports have to map an SL to the same VL, and to give that VL a weight. */
uint16_t osr__spread_sls(const struct sweep *w)
{
	const struct sweep_slot *slot = w->slot;
	const struct qos_tables *qos = &slot->qos;
	uint16_t sls = 0, vls = 0;

	if (!w->ctx->plugin->options.own.num[OPT_SPREAD_SLS] || !w->osm->subn.opt.qos ||
	    osr__chosen_sls(w->osm) != 1 || slot->result.routing.sl2vl ||
	    !osr__any_sl(&slot->result.routing, slot->verdict.proven))
		return 0;
	for (unsigned sl = 0; sl < 16; sl++) {
		uint8_t vl = qos->sl2vl[0][sl];
		bool serves = vl < w->snap.limit.vls && !(vls >> vl & 1);

		for (unsigned type = 0; serves && type < QOS_N_TYPES; type++)
			serves = qos->sl2vl[type][sl] == vl && qos->weighted[type] >> vl & 1;
		if (!serves)
			continue;
		sls |= (uint16_t)(1u << sl);
		vls |= (uint16_t)(1u << vl);
	}
	return sls;
}

/*
 * The partition's or QoS level's SL (the hint) wherever every SL is safe, or if there are none SLs of all VLs;
 * ours otherwise. LIDs that
 * came after the last routing (unicast cache) are unknown here and keep the hint.
 */
uint8_t osr__path_sl(void *context, uint8_t hint, const ib_net16_t slid, const ib_net16_t dlid)
{
	const struct engine_ctx *ctx = context;
	const struct sweep_slot *slot = ctx->current;
	const struct osr_fabric *fabric;
	uint32_t src, dst;
	size_t at;

	if (slot && slot->spread_sls && !hint) {
		uint16_t sls = slot->spread_sls;
		/* Both directions of a pair of LIDs have the same one. */
		unsigned n = ((unsigned)cl_ntoh16(slid) + cl_ntoh16(dlid)) %
			     (unsigned)__builtin_popcount(sls);

		while (n--)
			sls &= (uint16_t)(sls - 1);
		return (uint8_t)__builtin_ctz(sls);
	}
	if (!slot || osr__any_sl(&slot->result.routing, slot->verdict.proven))
		return hint;
	fabric = &slot->result.fabric;
	src = qos_dest_of(fabric, slid);
	dst = qos_dest_of(fabric, dlid);
	if (src == OSR_NONE || dst == OSR_NONE)
		return hint;
	at = (size_t)dst * fabric->n_switches + fabric->dest_switch[src];
	return slot->result.routing.lft[at] == OSR_NO_PATH ? hint : slot->result.routing.sl[at];
}

/*
 * By an engine's own tables multicast may change its lane on the way. The one lane it keeps to, on
 * every link of the spanning order; else OSR_MIXED_VLS, which is never among those that are proven.
 */
uint8_t osr__mcast_vl(const struct osm_opensm *osm, const struct sweep_slot *slot, uint8_t sl)
{
	const struct osr_fabric *fabric = &slot->result.fabric;
	const struct osr_routing *routing = &slot->result.routing;
	uint8_t vl = routing->mcast_parent ? 255 : OSR_MIXED_VLS;

	if (!osm->subn.opt.qos || !routing->sl2vl)
		return osr__mcast_vl_of(osm, &slot->qos, slot->used_vls, slot->link_vls, sl);
	for (uint32_t c = 0; c < fabric->n_channels && routing->mcast_parent; c++) {
		uint32_t s = fabric->chan_src[c], n = fabric->sw_n_ports[s] + 1u;
		const osr_sl2vl_t *table =
			routing->sl2vl + routing->sl2vl_row[s] + fabric->chan_port[c];

		if (routing->mcast_parent[s] != c &&
		    routing->mcast_parent[fabric->chan_dst[c]] != fabric->chan_rev[c])
			continue;
		for (uint32_t in = 0; in < n; in++) {
			uint8_t now = table[(size_t)in * n][sl];

			if (vl != 255 && vl != now)
				return OSR_MIXED_VLS;
			vl = now;
		}
	}
	return vl == 255 ? routing->mcast_vl : vl;
}

uint8_t osr__mcast_vl_of(const struct osm_opensm *osm, const struct qos_tables *tables,
			 uint16_t used_vls, uint8_t link_vls, uint8_t sl)
{
	uint8_t mask = link_vls >= 15 ? 15 : (uint8_t)(link_vls - 1); /* 1, 2, 4, 8 or 15 VLs */
	uint8_t vl;

	if (!osm->subn.opt.qos)
		return 0;
	vl = used_vls & (1u << sl) ? sl : tables->sl2vl[QOS_SWE][sl];
	return vl == 15 ? 15 : vl & mask;
}

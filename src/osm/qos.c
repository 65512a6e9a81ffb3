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
#include "slvl.h"
#include "upkeep.h"

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
 * Entries of a block that reach a port with `cap` of them. Of a second block osm_qos.c sends cap %
 * 32.
 */
static unsigned vlarb_entries(unsigned cap, bool second)
{
	const unsigned block = IB_NUM_VL_ARB_ELEMENTS_IN_BLOCK;

	if (second)
		return cap > block ? cap % block : 0;
	return cap < block ? cap : block;
}

/* Both blocks of a priority. */
static void read_vlarb(const char *text, ib_vl_arb_table_t *block)
{
	for (unsigned i = 0; i < 2 * IB_NUM_VL_ARB_ELEMENTS_IN_BLOCK; i++) {
		ib_vl_arb_element_t *entry =
			&block[i / IB_NUM_VL_ARB_ELEMENTS_IN_BLOCK]
				 .vl_entry[i % IB_NUM_VL_ARB_ELEMENTS_IN_BLOCK];

		entry->vl = next_number(&text) % 15;
		entry->weight = (uint8_t)next_number(&text);
	}
}

void osr_qos_tables(const struct osm_opensm *osm, const struct snapshot *snap,
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
		read_vlarb(first_set(o->vlarb_low, osm_qos_options->vlarb_low,
				     OSM_DEFAULT_QOS_VLARB_LOW),
			   tables->vlarb[i]);
		read_vlarb(first_set(o->vlarb_high, osm_qos_options->vlarb_high,
				     OSM_DEFAULT_QOS_VLARB_HIGH),
			   tables->vlarb[i] + 2);
	}
	tables->n_kinds = snap->n_kinds;
	memcpy(tables->kind, snap->kind, sizeof(tables->kind));
}

/* SL2VL and VLArb ------------------------------------------------------------------------------ */

/*
 * A mask of the VLs left to a port. The link manager lowers the operational VLs to the smaller
 * VLCap of both ends, capped by max_op_vls, but only after SL2VL, which OpenSM masks by the value
 * that it has read.
 */
static uint8_t coming_vls(const struct osm_opensm *osm, const osm_physp_t *osm_physp)
{
	const osm_physp_t *remote = osm_physp->p_remote_physp;
	uint8_t code = ib_port_info_get_vl_cap(&osm_physp->port_info);

	if (remote) { /* port 0 has none */
		uint8_t other = ib_port_info_get_vl_cap(&remote->port_info);

		code = other < code ? other : code;
		code = osm->subn.opt.max_op_vls < code ? osm->subn.opt.max_op_vls : code;
	}
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
	const ib_slvl_table_t *held = NULL;
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
		uint32_t s = osr_fabric_switch_by_guid(fabric, osr_guid(osm_physp->p_node));

		/*
		 * A switch that is left out keeps its table; a switch that came after routing has
		 * OpenSM's table until the next sweep.
		 */
		if (s == OSR_NONE && osr_upkeep_out(ctx->plugin, osr_guid(osm_physp->p_node), 0))
			held = osr_slvl_confirmed(osm_physp->p_node->sw, in, out);
		if (held)
			memcpy(&raw, held, sizeof(raw));
		else if (s != OSR_NONE && in <= fabric->sw_n_ports[s] &&
			 out <= fabric->sw_n_ports[s])
			raw = packed(routing->sl2vl[routing->sl2vl_row[s] +
						    in * (fabric->sw_n_ports[s] + 1u) + out]);
	}
	raw = masked(raw, coming_vls(ctx->plugin->osm, osm_physp));
	memcpy(table, &raw, sizeof(raw));
}

static unsigned port_type(const osm_physp_t *osm_physp)
{
	uint8_t node = osm_node_get_type(osm_physp->p_node);

	if (node == IB_NODE_TYPE_SWITCH)
		return osm_physp->port_num ? QOS_SWE : QOS_SW0;
	return node == IB_NODE_TYPE_ROUTER ? QOS_RTR : QOS_CA;
}

uint64_t osr_qos_table(const struct engine_ctx *ctx, osm_physp_t *osm_physp, uint8_t in)
{
	uint8_t op_vls = ib_port_info_get_op_vls(&osm_physp->port_info);
	unsigned type = port_type(osm_physp);
	uint64_t raw = packed(ctx->current->qos.sl2vl[type == QOS_SW0 && in ? QOS_SWE : type]);

	/* As OpenSM calls it: another plugin may have wrapped it. */
	if (ctx->re->update_sl2vl)
		ctx->re->update_sl2vl(ctx->re->context, osm_physp, in, osm_physp->port_num,
				      (ib_slvl_table_t *)&raw);
	/* A port without PortInfo shows 0; OpenSM's mask lets everything pass then. */
	return masked(raw, op_vls ? (uint8_t)((1 << (op_vls - 1)) - 1) : 0xf);
}

/* VL arbitration ------------------------------------------------------------------------------- */

static unsigned kind_entries(const struct qos_kind *kind, unsigned block)
{
	return vlarb_entries(block < 2 ? kind->low : kind->high, block & 1);
}

/* The VLs of a port that these become there. */
static uint16_t vls_of(uint16_t vls, uint8_t mask)
{
	uint16_t there = 0;

	for (unsigned vl = 0; vl < OSR_MAX_VLS; vl++)
		if (vls & (1u << vl))
			there |= (uint16_t)(1u << (vl & mask));
	return there;
}

/* VLs with a weight. */
static uint16_t vlarb_weighted(const ib_vl_arb_table_t *block, unsigned n, uint8_t mask)
{
	uint16_t vls = 0;

	for (unsigned i = 0; i < n; i++)
		if (block->vl_entry[i].weight)
			vls |= (uint16_t)(1u << (block->vl_entry[i].vl & mask));
	return vls;
}

/* The same of all blocks but the first one. */
static uint16_t weighted_elsewhere(const struct qos_tables *tables, const struct qos_kind *kind)
{
	uint16_t vls = 0;

	for (unsigned b = 1; b < QOS_VLARB_BLOCKS; b++)
		vls |= vlarb_weighted(&tables->vlarb[kind->type][b], kind_entries(kind, b),
				      kind->mask);
	return vls;
}

/*
 * Of entries that may be given away: those without a weight first, then of VLs that the port does
 * not have, then doubles.
 */
enum { SPARE_UNUSED, SPARE_NO_VL, SPARE_DOUBLE, KEPT };

static unsigned vlarb_spare(const ib_vl_arb_element_t *entry, uint16_t seen, uint8_t mask)
{
	if (!entry->weight)
		return SPARE_UNUSED;
	if (entry->vl > mask)
		return SPARE_NO_VL;
	return seen & (1u << entry->vl) ? SPARE_DOUBLE : KEPT;
}

/*
 * The first block of low priority: wanted VLs without a weight, there or `elsewhere`, get an entry.
 * Returns the VLs for which no entry is left.
 */
static uint16_t vlarb_serve(ib_vl_arb_table_t *block, unsigned n, uint8_t mask, uint16_t wanted,
			    uint16_t elsewhere)
{
	uint16_t seen = elsewhere, missing;
	uint8_t spare[IB_NUM_VL_ARB_ELEMENTS_IN_BLOCK];
	unsigned vl = 0;

	for (unsigned i = 0; i < n; i++) {
		spare[i] = (uint8_t)vlarb_spare(&block->vl_entry[i], seen, mask);
		if (spare[i] == KEPT)
			seen |= (uint16_t)(1u << block->vl_entry[i].vl);
	}
	missing = wanted & (uint16_t)~seen;
	for (unsigned kind = SPARE_UNUSED; kind < KEPT; kind++)
		for (unsigned i = 0; i < n && missing; i++) {
			if (spare[i] != kind)
				continue;
			vl = (unsigned)__builtin_ctz(missing);
			block->vl_entry[i].vl = (uint8_t)vl;
			block->vl_entry[i].weight = VLARB_WEIGHT;
			missing &= (uint16_t)(missing - 1);
		}
	return missing;
}

uint16_t osr_qos_served(const struct qos_tables *tables, const struct qos_kind *kind, uint16_t used,
			uint16_t *missing)
{
	ib_vl_arb_table_t block = tables->vlarb[kind->type][0];
	uint16_t elsewhere = weighted_elsewhere(tables, kind);
	unsigned n = kind_entries(kind, 0);

	*missing = vlarb_serve(&block, n, kind->mask, vls_of(used, kind->mask), elsewhere);
	return vlarb_weighted(&block, n, kind->mask) | elsewhere;
}

/* Lanes that all ports can send on, of `vls`. */
static uint8_t served_lanes(const struct qos_tables *tables, uint8_t vls)
{
	uint16_t missing;

	for (uint32_t i = 0; i < tables->n_kinds; i++)
		for (bool fits = false; !fits && vls > 1;) {
			osr_qos_served(tables, &tables->kind[i], (uint16_t)((1u << vls) - 1),
				       &missing);
			fits = !missing;
			vls -= !fits;
		}
	return vls;
}

void osr_qos_budget(struct sweep *sweep, const struct osr_fabric *fabric,
		    const struct qos_tables *tables)
{
	struct osr_vl_limit *limit = &sweep->snap.limit;
	uint8_t served;

	osr_options_vl_budget(&sweep->ctx->plugin->options, sweep->osm->subn.opt.qos, fabric,
			      limit);
	served = served_lanes(tables, limit->vls);
	if (served == limit->vls)
		return;
	limit->vls = served;
	snprintf(limit->why, sizeof(limit->why),
		 "VL arbitration tables of some ports, as qos_*_vlarb fill them, have no entry for "
		 "more");
}

struct qos_kind osr_qos_kind(const struct osm_opensm *osm, const osm_physp_t *osm_physp)
{
	return (struct qos_kind){ .type = (uint8_t)port_type(osm_physp),
				  .mask = coming_vls(osm, osm_physp),
				  .low = osm_physp->port_info.vl_arb_low_cap,
				  .high = osm_physp->port_info.vl_arb_high_cap };
}

/* Gives every VL of ours that OpenSM's tables forget a weight, in the first low priority block. */
static void update_vlarb(void *context, osm_physp_t *osm_physp, uint8_t port_num,
			 ib_vl_arb_table_t *block, unsigned n, unsigned block_num)
{
	const struct engine_ctx *ctx = context;
	const struct sweep_slot *slot = ctx->current;
	struct qos_kind kind;

	if (!slot || !slot->used_vls || block_num != 0)
		return;
	kind = osr_qos_kind(ctx->plugin->osm, osm_physp);
	vlarb_serve(block, n, kind.mask, vls_of(slot->used_vls, kind.mask),
		    weighted_elsewhere(&slot->qos, &kind));
}

unsigned osr_qos_vlarb(const struct engine_ctx *ctx, osm_physp_t *osm_physp, uint8_t block,
		       ib_vl_arb_table_t *table)
{
	struct qos_kind kind = osr_qos_kind(ctx->plugin->osm, osm_physp);
	uint8_t op_vls = ib_port_info_get_op_vls(&osm_physp->port_info);
	const struct qos_tables *tables = &ctx->current->qos;
	bool end_port = kind.type != QOS_SWE;
	unsigned n = kind_entries(&kind, block);

	if (!op_vls || ib_port_info_get_vl_cap(&osm_physp->port_info) <= 1)
		return 0;
	memset(table, 0, sizeof(*table));
	memcpy(table, &tables->vlarb[kind.type][block], n * sizeof(table->vl_entry[0]));
	/* As OpenSM calls it: another plugin may have wrapped it. */
	if (ctx->re->update_vlarb)
		ctx->re->update_vlarb(ctx->re->context, osm_physp,
				      end_port ? 0 : osm_physp->port_num, table, n, block);
	for (unsigned i = 0; i < n; i++)
		table->vl_entry[i].vl &= (uint8_t)((1u << (op_vls - 1)) - 1);
	return n;
}

void osr_qos_install(struct osm_routing_engine *re, const osm_subn_opt_t *opt)
{
	re->update_sl2vl = opt->use_optimized_slvl ? NULL : update_sl2vl;
	re->update_vlarb = update_vlarb;
}

/* Is there a port that shows more VLs than it is left with? */
static bool loses_vls(const struct osm_opensm *osm)
{
	for (osm_switch_t *sw = osr_switches(&osm->subn); sw; sw = osr_after(&osm->subn, sw))
		for (unsigned port = 1; port < sw->num_ports; port++) {
			const osm_physp_t *p = osr_port(sw, port);
			const osm_physp_t *remote = p ? p->p_remote_physp : NULL;
			uint8_t code = remote ? ib_port_info_get_op_vls(&p->port_info) : 0;

			if (remote && code < ib_port_info_get_op_vls(&remote->port_info))
				code = ib_port_info_get_op_vls(&remote->port_info);
			if (code && (1u << (code - 1)) - 1 > coming_vls(osm, p))
				return true;
		}
	return false;
}

void osr_qos_renew(struct engine_ctx *ctx)
{
	const struct sweep_slot *slot = ctx->current;
	const osm_subn_opt_t *opt = &ctx->plugin->osm->subn.opt;
	struct osm_routing_engine *re = ctx->re;
	bool used = opt->qos && slot->used_vls, vlarb = false;
	bool sl2vl = used && slot->result.routing.sl2vl;
	uint16_t missing;

	/* Do OpenSM's own tables do the same? */
	for (unsigned type = 0; used && type < QOS_N_TYPES; type++)
		for (unsigned sl = 0; sl < OSR_MAX_VLS; sl++)
			sl2vl |= (slot->used_vls & (1u << sl)) && slot->qos.sl2vl[type][sl] != sl;
	for (uint32_t i = 0; used && i < slot->qos.n_kinds; i++) {
		const struct qos_kind *kind = &slot->qos.kind[i];

		vlarb |= vls_of(slot->used_vls, kind->mask) &
			 ~osr_qos_served(&slot->qos, kind, 0, &missing);
	}
	/*
	 * Without QoS OpenSM would dump tables that no switch holds. A context or a callback that
	 * is not ours belongs to a plugin that wraps us, and stays.
	 */
	if (re->context == ctx && (!re->update_sl2vl || re->update_sl2vl == update_sl2vl)) {
		bool needed = opt->qos &&
			      (!opt->use_optimized_slvl || sl2vl || loses_vls(ctx->plugin->osm));

		re->update_sl2vl = needed ? update_sl2vl : NULL;
	}
	if (sl2vl)
		osr_log(ctx->plugin->osm, osr_log_details(ctx->plugin),
			"%s: OpenSM's qos_*_sl2vl options do not map the SLs in use to the VLs of "
			"the routing; SL2VL tables are set by osmroutes",
			ctx->engine->name);
	if (vlarb)
		osr_log(ctx->plugin->osm, osr_log_details(ctx->plugin),
			"%s: OpenSM's qos_*_vlarb options give no weight to some of the VLs in "
			"use; osmroutes adds weight %u",
			ctx->engine->name, VLARB_WEIGHT);
}

/*
 * Without QoS switches keep the tables that they came with: usually SL = VL, so SLs above the lanes
 * of a link are dropped there, unless it has one lane and no table.
 */
uint16_t osr_dropped_sls(const struct sweep *sweep)
{
	const struct sweep_slot *slot = sweep->slot;
	uint8_t n = sweep->snap.link_vls;
	uint16_t dropped = 0;

	if (!sweep->osm->subn.opt.qos)
		return n > 1 && n < 16 ? (uint16_t)(0xffffu << n) : 0;
	if (slot->result.routing.sl2vl)
		return 0;
	for (uint8_t sl = 0; sl < 16; sl++)
		if (!(slot->used_vls & (1u << sl)) &&
		    (slot->qos.sl2vl[QOS_CA][sl] == 15 || slot->qos.sl2vl[QOS_SWE][sl] == 15))
			dropped |= (uint16_t)(1u << sl);
	return dropped;
}

uint16_t osr_mute_sls(const struct sweep *sweep)
{
	const struct sweep_slot *slot = sweep->slot;
	const struct qos_tables *qos = &slot->qos;
	uint16_t mute = 0, missing;

	if (!sweep->osm->subn.opt.qos || slot->result.routing.sl2vl)
		return 0;
	for (uint32_t i = 0; i < qos->n_kinds; i++) {
		const struct qos_kind *kind = &qos->kind[i];
		uint16_t served = osr_qos_served(qos, kind, slot->used_vls, &missing);

		for (uint8_t sl = 0; sl < 16; sl++) {
			uint8_t vl = slot->used_vls & (1u << sl) ? sl : qos->sl2vl[kind->type][sl];

			if (vl != 15 && !(served & (1u << (vl & kind->mask))))
				mute |= (uint16_t)(1u << sl);
		}
	}
	return mute;
}

/* Path SLs ------------------------------------------------------------------------------------- */

static uint32_t qos_dest_of(const struct osr_fabric *fabric, ib_net16_t lid)
{
	uint16_t l = cl_ntoh16(lid);

	return l <= fabric->max_lid ? fabric->lid_dest[l] : OSR_NONE;
}

/* OpenSM reads its QoS policy after it has routed for the first time: the file is there before. */
uint16_t osr_chosen_sls(const struct osm_opensm *osm)
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
uint16_t osr_spread_sls(const struct sweep *sweep)
{
	const struct sweep_slot *slot = sweep->slot;
	const struct qos_tables *qos = &slot->qos;
	uint16_t sls = 0, vls = 0, missing;

	if (!sweep->ctx->plugin->options.own.num[OPT_SPREAD_SLS] || !sweep->osm->subn.opt.qos ||
	    osr_chosen_sls(sweep->osm) != 1 || slot->result.routing.sl2vl ||
	    !osr_is_any_sl(&slot->result.routing, slot->verdict.proven))
		return 0;
	for (unsigned sl = 0; sl < 16; sl++) {
		uint8_t vl = qos->sl2vl[0][sl];
		bool serves = vl < sweep->snap.limit.vls && !(vls >> vl & 1);

		for (unsigned type = 0; serves && type < QOS_N_TYPES; type++)
			serves = qos->sl2vl[type][sl] == vl;
		for (uint32_t i = 0; serves && i < qos->n_kinds; i++)
			serves = (vl & qos->kind[i].mask) == vl &&
				 osr_qos_served(qos, &qos->kind[i], 0, &missing) >> vl & 1;
		if (!serves)
			continue;
		sls |= (uint16_t)(1u << sl);
		vls |= (uint16_t)(1u << vl);
	}
	return sls;
}

/*
 * The SL of the partition or QoS level (the hint) if every SL is safe, or without a hint SLs of all
 * VLs; ours otherwise. LIDs that came after the last routing (unicast cache) are unknown here and
 * keep the hint.
 */
uint8_t osr_path_sl(void *context, uint8_t hint, const ib_net16_t slid, const ib_net16_t dlid)
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
	if (!slot || osr_is_any_sl(&slot->result.routing, slot->verdict.proven))
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
 * With an engine's own tables multicast may change its lane on the way. Returns the lane that it
 * keeps on every link of the spanning order; else OSR_MIXED_VLS, which is never proven.
 */
uint8_t osr_mcast_vl(const struct osm_opensm *osm, const struct sweep_slot *slot, uint8_t sl)
{
	const struct osr_fabric *fabric = &slot->result.fabric;
	const struct osr_routing *routing = &slot->result.routing;
	uint8_t vl = routing->mcast_parent ? 255 : OSR_MIXED_VLS;

	if (!osm->subn.opt.qos || !routing->sl2vl)
		return osr_mcast_vl_of(osm, &slot->qos, slot->used_vls, slot->link_vls, sl);
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

uint8_t osr_mcast_vl_of(const struct osm_opensm *osm, const struct qos_tables *tables,
			uint16_t used_vls, uint8_t link_vls, uint8_t sl)
{
	uint8_t mask = link_vls >= 15 ? 15 : (uint8_t)(link_vls - 1); /* 1, 2, 4, 8 or 15 VLs */
	uint8_t vl;

	if (!osm->subn.opt.qos)
		return 0;
	vl = used_vls & (1u << sl) ? sl : tables->sl2vl[QOS_SWE][sl];
	return vl == 15 ? 15 : vl & mask;
}

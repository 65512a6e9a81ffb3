/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * qos.h - service levels and virtual lanes: OpenSM's configuration of them, and the ones that ports
 * and paths get.
 */
#ifndef OSR_OSM_QOS_H
#define OSR_OSM_QOS_H

#include "compat.h"

#include "conf/options.h"

struct engine_ctx;
struct sweep;
struct sweep_slot;

/* Kinds of ports that OpenSM configures apart: qos_ca_*, qos_sw0_*, qos_swe_*, qos_rtr_*. */
enum { QOS_CA, QOS_SW0, QOS_SWE, QOS_RTR, QOS_N_TYPES };

/*
 * Ports with the same VLs and tables of the same size: the VLs as a mask, entries of low and of
 * high priority.
 */
struct qos_kind {
	uint8_t type, mask, low, high;
};
#define QOS_MAX_KINDS 16

#define QOS_VLARB_BLOCKS 4 /* two of low priority, two of high */

/* OpenSM's configured tables, parsed the way osm_qos.c does. */
struct qos_tables {
	uint8_t sl2vl[QOS_N_TYPES][16];
	ib_vl_arb_table_t vlarb[QOS_N_TYPES][QOS_VLARB_BLOCKS];
	struct qos_kind kind[QOS_MAX_KINDS]; /* of ports that there are */
	uint32_t n_kinds;
};

struct qos_kind osr_qos_kind(const struct osm_opensm *osm, const osm_physp_t *osm_physp);

struct snapshot;
void osr_qos_tables(const struct osm_opensm *osm, const struct snapshot *snap,
		    struct qos_tables *tables);

/*
 * VLs that ports of a kind send, with those `used` by the routing; *missing: of these, without an
 * entry in their tables.
 */
uint16_t osr_qos_served(const struct qos_tables *tables, const struct qos_kind *kind, uint16_t used,
			uint16_t *missing);
/*
 * How many lanes there are for this sweep, and why: sweep->snap.limit. With the options, and what
 * VL arbitration can serve.
 */
void osr_qos_budget(struct sweep *sweep, const struct osr_fabric *fabric,
		    const struct qos_tables *tables);

/* The VL that multicast of this SL travels on between switches; 15 if it is dropped. */
uint8_t osr_mcast_vl_of(const struct osm_opensm *osm, const struct qos_tables *tables,
			uint16_t used_vls, uint8_t link_vls, uint8_t sl);

/*
 * The same of a finished result, by its own SL2VL tables if it has any: OSR_MIXED_VLS, no VL, if by
 * these packets change their VL on the way.
 */
#define OSR_MIXED_VLS 16
uint8_t osr_mcast_vl(const struct osm_opensm *osm, const struct sweep_slot *slot, uint8_t sl);

/* SLs whose packets a switch or an end port drops, with the tables that it has; a bit each. */
uint16_t osr_dropped_sls(const struct sweep *sweep);
/*
 * SLs whose packets wait for ever at some port, because VL arbitration gives their VL no weight; a
 * bit each.
 */
uint16_t osr_mute_sls(const struct sweep *sweep);

/*
 * SLs that path records may have where every one is safe: of partitions and QoS levels; a bit each.
 */
uint16_t osr_chosen_sls(const struct osm_opensm *osm);
/*
 * SLs with which path records take turns where any SL is safe, one for each VL; 0: path records
 * have the SL of the hint. With the option spread_sls, and only if the administrator has chosen no
 * SL.
 */
uint16_t osr_spread_sls(const struct sweep *sweep);

/*
 * The SL2VL table of a port, of a switch from an input port, with a current result, as osm_qos.c
 * sends it: its option, the engine's changes, and no VL that the port does not have.
 */
uint64_t osr_qos_table(const struct engine_ctx *ctx, osm_physp_t *osm_physp, uint8_t in);
/* The same of a block of VL arbitration: how many entries; 0: the port is sent none. */
unsigned osr_qos_vlarb(const struct engine_ctx *ctx, osm_physp_t *osm_physp, uint8_t block,
		       ib_vl_arb_table_t *table);

/* Puts update_sl2vl and update_vlarb into an entry of ours. */
void osr_qos_install(struct osm_routing_engine *re, const osm_subn_opt_t *opt);
/*
 * For the current result: says which tables engines of their own will send, and allows the change
 * if they come or go.
 */
void osr_qos_renew(struct engine_ctx *ctx);

uint8_t osr_path_sl(void *context, uint8_t hint, const ib_net16_t slid, const ib_net16_t dlid);

#endif

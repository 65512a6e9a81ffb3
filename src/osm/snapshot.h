/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* snapshot.h - OpenSM's subnet as a fabric. */
#ifndef OSR_OSM_SNAPSHOT_H
#define OSR_OSM_SNAPSHOT_H

#include "qos.h"

struct plugin;

struct snapshot {
	osm_switch_t **sw;     /* [n_switches], by switch index; valid inside the callback only */
	osm_switch_t **sw_out; /* [n_sw_out] that are drained */
	uint32_t n_sw_out;
	struct osr_vl_limit limit;      /* the smallest of all links between switches */
	uint8_t link_vls;               /* limit.vls before options and QoS lower it */
	uint8_t vlarb_low[QOS_N_TYPES]; /* entries of the smallest VLArb tables */
	uint8_t vlarb_high[QOS_N_TYPES];
	uint32_t n_unhealthy; /* links left out */
	uint32_t n_throttled;
	uint32_t n_left_out; /* end ports left out */
	uint32_t
		n_out; /* links and switches that are drained or held down, by what is left out of them */
	char links[256];     /* some of the links left out, by name */
	char end_ports[256]; /* some of the end ports left out */
};

/* Which LIDs are destinations; WHOLE: all, and with the parts that upkeep.h leaves out. */
enum snapshot_lids { SNAPSHOT_WHOLE, SNAPSHOT_ALL_LIDS, SNAPSHOT_HOST_LIDS };

/*
 * The subnet as OpenSM knows it, as a fabric in `result`; snap->sw in `scratch`. Call with OpenSM's
 * lock held exclusively (osm_switch.priv is borrowed and given back).
 */
enum osr_status osr__snapshot(const struct plugin *p, enum snapshot_lids lids,
			      struct osr_arena *result, struct osr_arena *scratch,
			      struct osr_fabric *fabric, struct snapshot *snap,
			      struct osr_diag *diag);

#endif

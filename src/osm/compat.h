/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * compat.h - the one place that includes OpenSM's headers.
 *
 * osm_opensm.h tests ENABLE_OSM_PERF_MGR and HAVE_LIBPTHREAD, but does not include the file that
 * defines them. Whoever includes it alone sees another struct osm_opensm than the running program
 * has, and writes into the wrong members. So: osm_config.h first, here, and nowhere else.
 *
 * The asserts below hold for OpenSM 3.3.21 to 3.3.24. OpenSM itself compares the whole version
 * string before it loads a plugin; layout.c checks what only the running program can tell. What one
 * release has and another has not stands at the end of this file; scripts/build-for tries them.
 */
#ifndef OSR_OSM_COMPAT_H
#define OSR_OSM_COMPAT_H

#ifdef _OSM_OPENSM_H_
#error "include compat.h instead of OpenSM's headers"
#endif

#include <opensm/osm_config.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <complib/cl_nodenamemap.h>
#include <complib/cl_passivelock.h>
#include <opensm/osm_event_plugin.h>
#include <opensm/osm_log.h>
#include <opensm/osm_opensm.h>
#include <opensm/osm_multicast.h>
#include <opensm/osm_mcast_mgr.h>
#include <opensm/osm_partition.h>
#include <opensm/osm_qos_policy.h>
#include <opensm/osm_subnet.h>
#include <opensm/osm_switch.h>
#include <opensm/osm_ucast_cache.h>
#include <opensm/osm_version.h>

#include <osmroutes/fabric.h>

#ifndef HAVE_LIBPTHREAD
#error "OpenSM without pthreads is not supported"
#endif

_Static_assert(OSM_EVENT_PLUGIN_INTERFACE_VER == 2, "another plugin interface");
_Static_assert(OSM_ROUTING_ENGINE_TYPE_SSSP == 10 && OSM_ROUTING_ENGINE_TYPE_DFSSSP == 11,
	       "other built-in routing engines");
_Static_assert(offsetof(struct osm_routing_engine, next) == 11 * sizeof(void *),
	       "another set of routing callbacks");
_Static_assert(offsetof(struct osm_opensm, routing_engine_used) ==
		       offsetof(struct osm_opensm, routing_engine_list) + sizeof(void *),
	       "another struct osm_opensm");
#ifdef ENABLE_OSM_PERF_MGR
_Static_assert(offsetof(struct osm_opensm, cc) >=
		       offsetof(struct osm_opensm, sa) + sizeof(osm_sa_t) + sizeof(osm_perfmgr_t),
	       "osm_config.h came too late");
#endif
_Static_assert(OSM_NO_PATH == OSR_NO_PATH, "another mark for no path");
_Static_assert(IB_LID_UCAST_END_HO == OSR_MAX_LID, "another unicast LID range");

/* OpenSM's switches in its order: for (sw = osr_switches(subn); sw; sw = osr_after(subn, sw)). */
static inline osm_switch_t *osr_after(const osm_subn_t *subn, const osm_switch_t *sw)
{
	cl_map_item_t *item = cl_qmap_next(&sw->map_item);

	return item == cl_qmap_end(&subn->sw_guid_tbl) ? NULL : (osm_switch_t *)item;
}

static inline osm_switch_t *osr_switches(const osm_subn_t *subn)
{
	cl_map_item_t *item = cl_qmap_head(&subn->sw_guid_tbl);

	return item == cl_qmap_end(&subn->sw_guid_tbl) ? NULL : (osm_switch_t *)item;
}

static inline osm_physp_t *osr_port(const osm_switch_t *sw, unsigned port)
{
	return osm_node_get_physp_ptr(sw->p_node, (uint8_t)port);
}

static inline bool osr_port_is_up(const osm_physp_t *osm_physp)
{
	return osm_physp && ib_port_info_get_port_state(&osm_physp->port_info) != IB_LINK_DOWN;
}

static inline uint64_t osr_guid(const osm_node_t *node)
{
	return cl_ntoh64(node->node_info.node_guid);
}

/*
 * Not in a header of OpenSM's: programs SL2VL and VLArb tables that differ; takes the lock itself.
 */
int osm_qos_setup(osm_opensm_t *p_osm);

/* Since 3.3.23 plugins can register engines under names of their own. CMake looks for it. */
#ifdef OSR_OPENSM_REGISTERS
#define OSR_REGISTERS true
#else
#define OSR_REGISTERS false
typedef struct external_routing_engine_module {
	const char *name;
	int (*setup)(struct osm_routing_engine *re, struct osm_opensm *osm);
	void *context;
} external_routing_engine_module_t;

static inline cl_status_t
osm_register_external_routing_engine(struct osm_opensm *osm,
				     const external_routing_engine_module_t *module, void *context)
{
	return CL_INVALID_OPERATION;
}
#endif

#endif

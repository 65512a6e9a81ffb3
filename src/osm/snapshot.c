/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * OpenSM's subnet becomes a struct osr_fabric.
 *
 * Every table is walked once. Neighbours are found through OpenSM's own pointers; the way from an
 * osm_switch back to our number of it is its `priv` member, which engines may use during a sweep:
 * it is borrowed here and given back before anybody else runs.
 *
 * Left out: what fabric.h says, and besides
 *   - switch links that are not healthy (OpenSM marks babbling ports so) or, with
 *     avoid_throttled_links, run below what both ends could do;
 *   - switches and links that are drained or held down (upkeep.h);
 *   - end ports without a LID, or whose LID OpenSM's LID table gives to another port;
 *   - cables that OpenSM knows from one end alone.
 * DIFFERS from stock dfsssp: routers are destinations like CAs; the CA behind an unhealthy link
 * stays, as there in the code, unlike what its log says: it has no other way.
 */
#include "sweep.h"

#include "io/speed.h"
#include "plugin.h"
#include "upkeep.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum group { GROUP_CN, GROUP_IO, GROUP_OTHER };

struct guid_port {
	uint64_t guid;
	uint8_t port;
};

/* GUIDs (and ports) of one of OpenSM's node map files. */
struct guid_list {
	struct guid_port *guid_port;
	size_t n, cap;
	size_t n_found; /* end ports of the fabric that are listed */
	bool ports;     /* they count; else all are 0 */
};

/* One snapshot in the making. */
struct walk {
	const struct plugin *plugin;
	struct osm_opensm *osm;
	struct osr_builder *builder;
	struct snapshot *snap;
	enum snapshot_lids lids;
	osm_switch_t **by_handle;
	void **priv;                /* previous value of osm_switch.priv */
	uint32_t n_switches, n_all; /* those left out come last in by_handle */
	struct guid_list cn, io, ignored;
};

/* Node map files ------------------------------------------------------------------------------- */

static int add_guid(void *cxt, uint64_t guid, char *rest)
{
	struct guid_list *list = cxt;

	if (list->n == list->cap) {
		size_t cap = list->cap ? 2 * list->cap : 64;
		struct guid_port *port = realloc(list->guid_port, cap * sizeof(*port));

		if (!port)
			return -1;
		list->guid_port = port;
		list->cap = cap;
	}
	list->guid_port[list->n++] =
		(struct guid_port){ guid, list->ports ? (uint8_t)strtoul(rest, NULL, 0) : 0 };
	return 0;
}

static int by_guid_port(const void *a, const void *b)
{
	const struct guid_port *port = a, *guid = b;

	if (port->guid != guid->guid)
		return port->guid < guid->guid ? -1 : 1;
	return (int)port->port - (int)guid->port;
}

/*
 * Read by OpenSM's own parser, so that its users' files keep their meaning. Order and balance
 * depend on these files, correctness does not: a bad one is reported and left out.
 */
static void read_guids(const struct walk *walk, const char *option, const char *path,
		       struct guid_list *list)
{
	char why[160] = "";
	struct stat st;

	if (!path)
		return;
	if (stat(path, &st))
		snprintf(why, sizeof(why), "%s; routing without it", strerror(errno));
	else if (!S_ISREG(st.st_mode))
		snprintf(why, sizeof(why), "not a regular file; routing without it");
	else if (parse_node_map(path, add_guid, list))
		snprintf(why, sizeof(why),
			 "after %zu entries there is a line that does not start with a GUID, or "
			 "memory ran out; using those before it",
			 list->n);
	else if (!list->n)
		snprintf(why, sizeof(why), "no GUID stands in it; routing without it");
	/* Once a sweep: the others come after one of the whole. */
	if (*why && walk->lids == SNAPSHOT_WHOLE)
		osr_log(walk->osm, OSM_LOG_ERROR, "ERR OR02: %s %s: %s", option, path, why);
	if (list->n)
		qsort(list->guid_port, list->n, sizeof(*list->guid_port), by_guid_port);
}

/* The most common mistake: of older adapters the GUID of the node is not that of its port. */
static void report_unfound(const struct walk *walk, const char *option, const char *path,
			   const struct guid_list *list)
{
	const cl_qmap_t *nodes = &walk->osm->subn.node_guid_tbl;
	size_t n_nodes = 0;

	if (!list->n || list->n_found || walk->lids != SNAPSHOT_WHOLE)
		return;
	for (size_t i = 0; i < list->n; i++)
		n_nodes += cl_qmap_get(nodes, cl_hton64(list->guid_port[i].guid)) !=
			   cl_qmap_end(nodes);
	osr_log(walk->osm, OSM_LOG_ERROR,
		"ERR OR02: %s %s: 0 of %zu GUIDs are GUIDs of end ports, %zu are GUIDs of nodes; "
		"routing without it",
		option, path, list->n, n_nodes);
}

static bool guid_listed(const struct guid_list *list, uint64_t guid, uint8_t port)
{
	const struct guid_port key = { guid, port };

	return list->n && bsearch(&key, list->guid_port, list->n, sizeof(key), by_guid_port);
}

/* Names for the log ---------------------------------------------------------------------------- */

static void append_name(struct osm_opensm *osm, char *buf, size_t size, const osm_physp_t *physp)
{
	char name[OSR_NODE_NAME];
	size_t at = strlen(buf);

	if (at + strlen(physp->p_node->print_desc) + 35 > size)
		return; /* the count says how many there are; these are examples */
	snprintf(buf + at, size - at, "%s%s port %u", at ? ", " : "",
		 osr_node_name(osm, physp->p_node, name, sizeof(name)), physp->port_num);
}

/* Virtual lanes -------------------------------------------------------------------------------- */

/*
 * VLs that work on this link during and after this sweep. The link manager is going to set the
 * smaller VLCap of both ends, capped by max_op_vls (osm_physp_calc_link_op_vls); but SL2VL is
 * programmed before that, masked by the OperVLs read from the port.
 */
static uint8_t link_vls(struct walk *walk, const osm_physp_t *physp, const osm_physp_t *osm)
{
	struct osr_vl_limit *limit = &walk->snap->limit;
	const osm_physp_t *ports[] = { physp, osm }, *culprit = physp;
	const char *kind = "the VLCap of";
	uint8_t code = ib_port_info_get_vl_cap(&physp->port_info), vls;
	char name[OSR_NODE_NAME];

	if (ib_port_info_get_vl_cap(&osm->port_info) < code) {
		code = ib_port_info_get_vl_cap(&osm->port_info);
		culprit = osm;
	}
	if (code > walk->osm->subn.opt.max_op_vls) {
		code = walk->osm->subn.opt.max_op_vls;
		kind = NULL;
	}
	for (unsigned i = 0; i < 2; i++) {
		uint8_t now = ib_port_info_get_op_vls(&ports[i]->port_info);

		/* A port without PortInfo shows 0; OpenSM's mask lets everything pass then. */
		if (now && now < code) {
			code = now;
			kind = "the operational VLs read from";
			culprit = ports[i];
		}
	}
	vls = osr_vls_of_code(code);
	if (vls >= limit->vls && *limit->why)
		return vls;
	limit->vls = vls;
	if (kind)
		snprintf(limit->why, sizeof(limit->why), "limited by %s %s port %u", kind,
			 osr_node_name(walk->osm, culprit->p_node, name, sizeof(name)),
			 culprit->port_num);
	else
		snprintf(limit->why, sizeof(limit->why),
			 "limited by max_op_vls %u in OpenSM's options", code);
	return vls;
}

static uint8_t lesser(uint8_t a, uint8_t b)
{
	return a < b ? a : b;
}

/* If there are more kinds than places, the last place stands for all kinds with fewer. */
static void note_vlarb(struct walk *walk, const osm_physp_t *osm_physp)
{
	const ib_port_info_t *pi = &osm_physp->port_info;
	struct snapshot *snap = walk->snap;
	struct qos_kind kind, *last;
	uint32_t i = 0;

	if (ib_port_info_get_vl_cap(pi) <= 1 || !pi->vl_arb_low_cap)
		return; /* nothing to arbitrate, or no table to do it by */
	kind = osr_qos_kind(walk->osm, osm_physp);
	while (i < snap->n_kinds && memcmp(&snap->kind[i], &kind, sizeof(kind)) != 0)
		i++;
	if (i < snap->n_kinds)
		return;
	if (i < QOS_MAX_KINDS) {
		snap->kind[snap->n_kinds++] = kind;
		return;
	}
	last = &snap->kind[QOS_MAX_KINDS - 1];
	last->low = lesser(last->low, kind.low);
	last->high = lesser(last->high, kind.high);
}

/* Links ---------------------------------------------------------------------------------------- */

/* Gb/s of data that a port can send now; 0 if it does not tell. */
static uint16_t port_rate(const osm_physp_t *osm_physp, const osm_physp_t *p0)
{
	const ib_port_info_t *pi = &osm_physp->port_info;
	unsigned ext = p0 && (p0->port_info.capability_mask & IB_PORT_CAP_HAS_EXT_SPEEDS)
			       ? ib_port_info_get_link_speed_ext_active(pi)
			       : 0;

	/*
	 * FDR and faster where extended speeds are known; FDR10 is Mellanox' own, which PortInfo
	 * calls QDR.
	 */
	return osr_rate_gbps(osr_lanes_of(pi->link_width_active),
			     !ext && (osm_physp->ext_port_info.link_speed_active & FDR10)
				     ? OSR_SPEED_FDR10
				     : osr_speed_of(ib_port_info_get_link_speed_active(pi), ext));
}

static bool link_is_down(const osm_physp_t *osm_physp, const osm_physp_t *physp)
{
	return ib_port_info_get_port_state(&osm_physp->port_info) == IB_LINK_DOWN ||
	       ib_port_info_get_port_state(&physp->port_info) == IB_LINK_DOWN;
}

/* Is the link at this port drained or held down? */
static bool port_is_out(const struct walk *walk, const osm_physp_t *osm_physp)
{
	return walk->lids != SNAPSHOT_WHOLE &&
	       osr_upkeep_out(walk->plugin, osr_guid(osm_physp->p_node), osm_physp->port_num);
}

static uint32_t handle_of(const osm_switch_t *sw)
{
	return (uint32_t)(uintptr_t)sw->priv;
}

static uint8_t chan_flags(const struct walk *walk, const osm_physp_t *osm_physp)
{
	uint64_t guid = osr_guid(osm_physp->p_node);

	return guid_listed(&walk->ignored, guid, osm_physp->port_num) ? OSR_CHAN_UNCOUNTED : 0;
}

static void add_link(struct walk *walk, osm_switch_t *sw, osm_physp_t *osm_physp)
{
	const osm_subn_opt_t *opt = &walk->osm->subn.opt;
	osm_physp_t *physp = osm_physp->p_remote_physp, *p0 = osr_port(sw, 0);
	struct osr_link_in link = {
		.sw_a = handle_of(sw),
		.port_a = osm_physp->port_num,
		.sw_b = handle_of(physp->p_node->sw),
		.port_b = physp->port_num,
		.flags_a = chan_flags(walk, osm_physp),
		.flags_b = chan_flags(walk, physp),
	};
	uint16_t rate, back;

	if (link_is_down(osm_physp, physp))
		return;
	if (!osm_physp->healthy || !physp->healthy ||
	    (opt->avoid_throttled_links && osm_link_is_throttled(osm_physp, opt->fdr10 == 1))) {
		bool unhealthy = !osm_physp->healthy || !physp->healthy;

		*(unhealthy ? &walk->snap->n_unhealthy : &walk->snap->n_throttled) += 1;
		append_name(walk->osm, walk->snap->links, sizeof(walk->snap->links), osm_physp);
		return;
	}
	note_vlarb(walk, osm_physp);
	note_vlarb(walk, physp);
	rate = port_rate(osm_physp, p0);
	back = port_rate(physp, osr_port(physp->p_node->sw, 0));
	link.rate = back && (back < rate || !rate) ? back : rate;
	link.vls = link_vls(walk, osm_physp, physp);
	osr_builder_link(walk->builder, &link);
}

/* End ports ------------------------------------------------------------------------------------ */

/* Does OpenSM's LID table agree that the whole LID range belongs to this port? */
static bool owns_lids(const osm_subn_t *subn, const osm_physp_t *osm_physp, uint16_t lid,
		      uint8_t lmc)
{
	size_t last = lid + (1u << lmc) - 1;

	if (last >= cl_ptr_vector_get_size(&subn->port_lid_tbl) || last > OSR_MAX_LID ||
	    (lid & ((1u << lmc) - 1)))
		return false;
	for (size_t l = lid; l <= last; l++) {
		const osm_port_t *port = cl_ptr_vector_get(&subn->port_lid_tbl, l);

		if (!port || port->p_physp != osm_physp)
			return false;
	}
	return true;
}

static void add_end_port(struct walk *walk, uint32_t handle, uint8_t port,
			 const osm_physp_t *osm_physp, enum osr_role role)
{
	struct osr_terminal_in terminal = {
		.guid = cl_ntoh64(osm_physp->port_guid),
		.sw = handle,
		.port = port,
		.lmc = osm_physp_get_lmc(osm_physp),
		.role = (uint8_t)role,
		.group = GROUP_OTHER,
		.lid = cl_ntoh16(osm_physp->port_info.base_lid),
		.name = osm_physp->p_node->print_desc,
	};
	bool in_cn, in_io;

	if (!terminal.lid) { /* OpenSM has none left, or the port has not taken it */
		walk->snap->n_no_lid++;
		append_name(walk->osm, walk->snap->no_lid, sizeof(walk->snap->no_lid), osm_physp);
		return;
	}
	if (!owns_lids(&walk->osm->subn, osm_physp, terminal.lid, terminal.lmc)) {
		walk->snap->n_left_out++;
		append_name(walk->osm, walk->snap->end_ports, sizeof(walk->snap->end_ports),
			    osm_physp);
		return;
	}
	in_cn = guid_listed(&walk->cn, terminal.guid, 0);
	in_io = guid_listed(&walk->io, terminal.guid, 0);
	walk->cn.n_found += in_cn;
	walk->io.n_found += in_io;
	if (in_cn)
		terminal.group = GROUP_CN;
	else if (in_io)
		terminal.group = GROUP_IO;
	osr_builder_terminal(walk->builder, &terminal);
}

/* The walk ------------------------------------------------------------------------------------- */

static void add_port(struct walk *walk, osm_switch_t *sw, uint8_t port)
{
	osm_physp_t *osm_physp = osr_port(sw, port);
	osm_physp_t *physp = osm_physp ? osm_physp->p_remote_physp : NULL;
	uint8_t type;

	if (!physp || physp->p_remote_physp != osm_physp || !osm_physp_is_valid(physp)) {
		if (osr_port_is_up(osm_physp)) {
			walk->snap->n_unknown++;
			append_name(walk->osm, walk->snap->unknown, sizeof(walk->snap->unknown),
				    osm_physp);
		}
		return;
	}
	if (physp->p_node->sw) {
		/* Each cable once; a switch's cable to itself never. */
		if (handle_of(sw) >= handle_of(physp->p_node->sw))
			return;
		if (handle_of(physp->p_node->sw) >= walk->n_switches ||
		    port_is_out(walk, osm_physp) || port_is_out(walk, physp))
			walk->snap->n_out++;
		else
			add_link(walk, sw, osm_physp);
		return;
	}
	type = osm_node_get_type(physp->p_node);
	if ((type != IB_NODE_TYPE_CA && type != IB_NODE_TYPE_ROUTER) ||
	    link_is_down(osm_physp, physp))
		return; /* among these: a switch that has not answered yet */
	note_vlarb(walk, osm_physp);
	note_vlarb(walk, physp);
	add_end_port(walk, handle_of(sw), port, physp,
		     type == IB_NODE_TYPE_CA ? OSR_ROLE_CA : OSR_ROLE_ROUTER);
}

/*
 * Each switch gets a number, lent to OpenSM for the way back; switches that are left out come last.
 */
static enum osr_status add_switches(struct walk *walk, struct osr_arena *scratch,
				    struct osr_diag *diag)
{
	const osm_subn_t *subn = &walk->osm->subn;
	uint32_t n = (uint32_t)cl_qmap_count(&subn->sw_guid_tbl), h = 0, last = n;

	walk->by_handle = osr_alloc(scratch, n, sizeof(*walk->by_handle));
	walk->priv = osr_alloc(scratch, n, sizeof(*walk->priv));
	if (!walk->by_handle || !walk->priv)
		return osr_fail(diag, OSR_NOMEM, "out of memory while reading OpenSM's subnet");
	for (osm_switch_t *sw = osr_switches(subn); sw; sw = osr_after(subn, sw)) {
		const osm_physp_t *p0 = osr_port(sw, 0);
		struct osr_switch_in in = {
			.guid = osr_guid(sw->p_node),
			.n_ports = (uint8_t)(sw->num_ports - 1),
			.name = sw->p_node->print_desc,
		};
		bool out = walk->lids != SNAPSHOT_WHOLE && osr_upkeep_out(walk->plugin, in.guid, 0);
		uint32_t at = out ? --last : h++;

		walk->by_handle[at] = sw;
		walk->priv[at] = sw->priv;
		sw->priv = (void *)(uintptr_t)at;
		if (p0 && (p0->port_info.capability_mask & IB_PORT_CAP_HAS_SL_MAP))
			in.flags |= OSR_SW_SL2VL;
		if (ib_switch_info_is_enhanced_port0(&sw->switch_info))
			in.flags |= OSR_SW_ENHANCED_SP0;
		if (!out)
			osr_builder_switch(walk->builder, &in);
	}
	walk->n_switches = h;
	walk->n_all = n;
	walk->snap->n_out += n - h;
	return OSR_OK;
}

enum osr_status osr_snapshot(const struct plugin *plugin, enum snapshot_lids lids,
			     struct osr_arena *result, struct osr_arena *scratch,
			     struct osr_fabric *fabric, struct snapshot *snap,
			     struct osr_diag *diag)
{
	struct osm_opensm *osm = plugin->osm;
	const osm_subn_opt_t *opt = &osm->subn.opt;
	struct walk walk = {
		.plugin = plugin, .osm = osm, .snap = snap, .lids = lids, .ignored.ports = true
	};
	enum osr_status st;

	memset(snap, 0, sizeof(*snap));
	snap->limit.vls = OSR_MAX_VLS;
	walk.builder = osr_builder_new();
	if (!walk.builder)
		return osr_fail(diag, OSR_NOMEM, "out of memory while reading OpenSM's subnet");
	read_guids(&walk, "cn_guid_file", opt->cn_guid_file, &walk.cn);
	read_guids(&walk, "io_guid_file", opt->io_guid_file, &walk.io);
	read_guids(&walk, "port_prof_ignore_file", opt->port_prof_ignore_file, &walk.ignored);
	/* Switches, then their ports. */
	st = add_switches(&walk, scratch, diag);
	if (!st) {
		for (uint32_t h = 0; h < walk.n_switches; h++) {
			osm_switch_t *sw = walk.by_handle[h];
			const osm_physp_t *p0 = osr_port(sw, 0);

			if (p0) {
				if (ib_switch_info_is_enhanced_port0(&sw->switch_info))
					note_vlarb(&walk, p0);
				if (walk.lids != SNAPSHOT_HOST_LIDS)
					add_end_port(&walk, h, 0, p0, OSR_ROLE_SP0);
			}
			for (unsigned port = 1; port < sw->num_ports; port++)
				add_port(&walk, sw, (uint8_t)port);
		}
		report_unfound(&walk, "cn_guid_file", opt->cn_guid_file, &walk.cn);
		report_unfound(&walk, "io_guid_file", opt->io_guid_file, &walk.io);
		/* Values of other plugins in the switches stay theirs. */
		for (uint32_t h = 0; h < walk.n_all; h++)
			walk.by_handle[h]->priv = walk.priv[h];
		st = osr_builder_build(walk.builder, result, fabric, diag);
		snap->sw = osr_calloc(scratch, walk.n_switches, sizeof(*snap->sw));
		snap->sw_out = walk.by_handle + walk.n_switches;
		snap->n_sw_out = walk.n_all - walk.n_switches;
		if (!st && !snap->sw)
			st = osr_fail(diag, OSR_NOMEM,
				      "out of memory while reading OpenSM's subnet");
		/* OpenSM's switches in the order of the fabric. */
		for (uint32_t h = 0; !st && h < walk.n_switches; h++) {
			osm_switch_t *sw = walk.by_handle[h];

			snap->sw[osr_fabric_switch_by_guid(fabric, osr_guid(sw->p_node))] = sw;
		}
	}
	if (!*snap->limit.why)
		snprintf(snap->limit.why, sizeof(snap->limit.why),
			 "there is no link between switches");
	snap->link_vls = snap->limit.vls;
	osr_builder_free(walk.builder);
	free(walk.cn.guid_port);
	free(walk.io.guid_port);
	free(walk.ignored.guid_port);
	return st;
}

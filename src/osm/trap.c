/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The way from trap 128 to tables. It runs in OpenSM's sweep thread, at the event before a
 * discovery: nobody else changes the subnet then but receivers of MADs, and those that are asked
 * for here are answered before it goes on.
 *
 * MADs go through OpenSM's own queue, by osm_req_get(). Their context says that a PortInfo was set:
 * then OpenSM's receiver only stores what came, and asks for nothing more, as it would in a
 * discovery. A port's physical state is put to 0, which no port has, before it is asked: what is
 * still 0 afterwards was not answered.
 */
#include "trap.h"

#include "confirm.h"
#include "slvl.h"
#include "sweep.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ANSWER_MS 50 /* for one try of one MAD; OpenSM makes transaction_retries of them */

#define TRAP_MAX_SWITCHES 64

/* Port GUIDs of switches that sent trap 128 since the last sweep began. */
struct traps {
	pthread_mutex_t mutex;
	ib_net64_t guid[TRAP_MAX_SWITCHES];
	uint32_t n;
	bool overflow;
	double ms_first;
	bool was_up; /* plugin.up before the sweep that is under way */
};

/* One way through. */
struct passage {
	struct plugin *plugin;
	struct osm_opensm *osm;
	ib_net64_t asked[TRAP_MAX_SWITCHES];
	uint32_t n_asked, n_dead, n_blocks;
	char dead[160]; /* the first few, by name */
	char why[160];  /* it is left to the discovery */
	ib_port_info_t before[256];
};

static bool traps_open(struct plugin *plugin)
{
	return !pthread_mutex_init(&plugin->traps->mutex, NULL);
}

void osr_traps_note(struct plugin *plugin, const ib_mad_notice_attr_t *notice)
{
	struct traps *traps = plugin->traps;
	ib_net64_t guid = notice->issuer_gid.unicast.interface_id;
	uint32_t i = 0;

	if (!ib_notice_is_generic(notice) ||
	    notice->g_or_v.generic.trap_num != CL_HTON16(SM_LINK_STATE_CHANGED_TRAP))
		return;
	pthread_mutex_lock(&traps->mutex);
	while (i < traps->n && traps->guid[i] != guid)
		i++;
	if (!traps->ms_first)
		traps->ms_first = osr_sweep_clock_ms();
	traps->overflow |= i == TRAP_MAX_SWITCHES;
	if (i == traps->n && i < TRAP_MAX_SWITCHES)
		traps->guid[traps->n++] = guid;
	pthread_mutex_unlock(&traps->mutex);
}

bool osr_traps_were_settled(const struct plugin *plugin)
{
	return plugin->traps->was_up;
}

/* Takes one unasked switch out of the list; false: all have been asked. */
static bool next_trap(struct passage *passage, ib_net64_t *guid)
{
	struct traps *traps = passage->plugin->traps;
	bool found = false;

	pthread_mutex_lock(&traps->mutex);
	while (traps->n && !found) {
		uint32_t i = 0;

		*guid = traps->guid[--traps->n];
		while (i < passage->n_asked && passage->asked[i] != *guid)
			i++;
		found = i == passage->n_asked;
	}
	if (traps->overflow || (found && passage->n_asked == TRAP_MAX_SWITCHES))
		snprintf(passage->why, sizeof(passage->why), "more than %d switches sent traps",
			 TRAP_MAX_SWITCHES);
	pthread_mutex_unlock(&traps->mutex);
	if (found && passage->n_asked < TRAP_MAX_SWITCHES)
		passage->asked[passage->n_asked++] = *guid;
	return found && !*passage->why;
}

/* Directed paths ------------------------------------------------------------------------------- */

/* Where the first hops of a directed path lead to; NULL if a cable of it is gone. */
static const osm_node_t *path_node(const struct osm_opensm *osm, const osm_dr_path_t *path,
				   unsigned hops)
{
	const osm_port_t *sm = osm_get_port_by_guid(&osm->subn, osm->subn.sm_port_guid);
	const osm_node_t *at = sm ? sm->p_node : NULL;

	for (unsigned hop = 1; at && hop <= hops; hop++) {
		const osm_physp_t *osm_physp = NULL;

		if (path->path[hop] < at->physp_tbl_size)
			osm_physp = osm_node_get_physp_ptr((osm_node_t *)at, path->path[hop]);
		at = osm_physp && osm_physp->p_remote_physp ? osm_physp->p_remote_physp->p_node
							    : NULL;
	}
	return at;
}

/* Its directed path, if that still leads to this switch; or NULL. */
static const osm_dr_path_t *path_to(const struct osm_opensm *osm, const osm_switch_t *sw)
{
	const osm_physp_t *p0 = osr_port(sw, 0);

	return p0 && path_node(osm, &p0->dr_path, p0->dr_path.hop_count) == sw->p_node
		       ? &p0->dr_path
		       : NULL;
}

/* By the neighbour closest to the SM among those reached; false: no neighbour is reached. */
static bool find_path(const struct osm_opensm *osm, const osm_switch_t *sw, osm_dr_path_t *path)
{
	bool found = false;

	for (unsigned port = 1; port < sw->num_ports; port++) {
		const osm_physp_t *osm_physp = osr_port(sw, port);
		const osm_physp_t *far = osm_physp ? osm_physp->p_remote_physp : NULL;
		const osm_dr_path_t *near =
			far && far->p_node->sw ? path_to(osm, far->p_node->sw) : NULL;
		osm_dr_path_t other;

		if (!near)
			continue;
		other = *near;
		if ((found && other.hop_count + 1 >= path->hop_count) ||
		    osm_dr_path_extend(&other, far->port_num))
			continue;
		*path = other;
		found = true;
	}
	return found;
}

/*
 * Where a directed path went over a cable that is gone; all others stay. Switch after switch, until
 * none is left or none of those can be reached. false: some cannot.
 */
static bool renew_paths(struct passage *passage)
{
	const osm_subn_t *subn = &passage->osm->subn;
	bool whole = false, better = true;
	osm_dr_path_t path;

	while (!whole && better) {
		whole = true;
		better = false;
		for (osm_switch_t *sw = osr_switches(subn); sw; sw = osr_after(subn, sw)) {
			if (path_to(passage->osm, sw))
				continue;
			if (!find_path(passage->osm, sw, &path)) {
				whole = false;
				continue;
			}
			better = true;
			/*
			 * Every port of the switch, and every node on it, is now reached by this
			 * path.
			 */
			for (unsigned port = 0; port < sw->num_ports; port++) {
				osm_physp_t *osm_physp = osr_port(sw, port);
				osm_physp_t *far =
					osm_physp && port ? osm_physp->p_remote_physp : NULL;

				if (!osm_physp)
					continue;
				osm_physp->dr_path = path;
				if (far && !far->p_node->sw) {
					far->dr_path = path;
					osm_dr_path_extend(&far->dr_path, (uint8_t)port);
				}
			}
		}
	}
	if (!whole)
		snprintf(passage->why, sizeof(passage->why), "a switch is cut off");
	return whole;
}

/* Asking a switch ------------------------------------------------------------------------------ */

static osm_switch_t *switch_of_port(const struct osm_opensm *osm, ib_net64_t guid)
{
	const osm_port_t *port = osm_get_port_by_guid(&osm->subn, guid);

	return port ? port->p_node->sw : NULL;
}

static bool same_link(const ib_port_info_t *info, const ib_port_info_t *ib_port_info)
{
	return ib_port_info_get_port_state(info) == ib_port_info_get_port_state(ib_port_info) &&
	       info->link_width_active == ib_port_info->link_width_active &&
	       ib_port_info_get_link_speed_active(info) ==
		       ib_port_info_get_link_speed_active(ib_port_info) &&
	       ib_port_info_get_link_speed_ext_active(info) ==
		       ib_port_info_get_link_speed_ext_active(ib_port_info) &&
	       ib_port_info_get_op_vls(info) == ib_port_info_get_op_vls(ib_port_info) &&
	       ib_port_info_get_vl_cap(info) == ib_port_info_get_vl_cap(ib_port_info);
}

static bool look_at_port(struct passage *passage, osm_physp_t *osm_physp)
{
	const ib_port_info_t *was = &passage->before[osm_physp->port_num];
	osm_physp_t *physp = osm_physp->p_remote_physp;
	const char *what = NULL;
	char name[OSR_NODE_NAME], far[OSR_NODE_NAME];
	size_t at = strlen(passage->dead);
	bool down = ib_port_info_get_port_state(&osm_physp->port_info) == IB_LINK_DOWN;

	if (!ib_port_info_get_port_phys_state(&osm_physp->port_info)) {
		osm_physp->port_info = *was;
		what = "did not answer";
	} else if (!physp) {
		what = down || same_link(was, &osm_physp->port_info) ? NULL : "has a new link";
	} else if (down && physp->p_node->sw && physp->p_remote_physp == osm_physp) {
		/* As OpenSM's receiver does when a port is down. */
		if (passage->n_dead++ < 2)
			snprintf(passage->dead + at, sizeof(passage->dead) - at,
				 "%s%s port %u - %s port %u", at ? ", " : "",
				 osr_node_name(passage->osm, osm_physp->p_node, name, sizeof(name)),
				 osm_physp->port_num,
				 osr_node_name(passage->osm, physp->p_node, far, sizeof(far)),
				 physp->port_num);
		osm_node_unlink(osm_physp->p_node, osm_physp->port_num, physp->p_node,
				physp->port_num);
	} else if (down) {
		what = "has lost an end port";
	} else if (!same_link(was, &osm_physp->port_info)) {
		what = "has a link that changed";
	}
	if (what && !*passage->why)
		snprintf(passage->why, sizeof(passage->why), "%s port %u %s",
			 osr_node_name(passage->osm, osm_physp->p_node, name, sizeof(name)),
			 osm_physp->port_num, what);
	return !what;
}

/*
 * What do these ports of a switch (the GUID of its port 0) say? false: the normal sweep has to
 * look.
 */
static bool trap_ask_switch(struct passage *passage, ib_net64_t guid, unsigned first, unsigned last)
{
	uint32_t n_dead = passage->n_dead;
	bool good = true;
	osm_switch_t *sw;

	if (!osr_lock(passage->osm, LOCK_ALONE))
		return false;
	sw = switch_of_port(passage->osm, guid);
	for (unsigned port = first; good && sw && port < sw->num_ports && port <= last; port++) {
		osm_physp_t *p0 = osr_port(sw, 0);
		osm_physp_t *osm_physp = osr_port(sw, port);
		osm_madw_context_t context = { 0 };

		if (!osm_physp)
			continue;
		good = p0;
		if (!p0)
			break;
		context.pi_context.node_guid = sw->p_node->node_info.node_guid;
		context.pi_context.port_guid = p0->port_guid;
		context.pi_context.set_method = TRUE; /* see the head of this file */
		passage->before[port] = osm_physp->port_info;
		ib_port_info_set_port_phys_state(0, &osm_physp->port_info);
		good = !osm_req_get(&passage->osm->sm, &p0->dr_path, IB_MAD_ATTR_PORT_INFO,
				    cl_hton32(port), FALSE, ib_port_info_get_m_key(&p0->port_info),
				    ANSWER_MS, CL_DISP_MSGID_NONE, &context);
	}
	cl_plock_release(&passage->osm->lock);
	if (!sw || !good)
		snprintf(passage->why, sizeof(passage->why),
			 "the switch that sent the trap cannot be asked");
	if (!osr_wait_for_answers(passage->osm) || !sw || !good ||
	    !osr_lock(passage->osm, LOCK_ALONE))
		return false;
	/*
	 * Every port is looked at even if one has an unexpected state: no port keeps the mark of a
	 * question.
	 */
	sw = switch_of_port(passage->osm, guid);
	good = sw;
	for (unsigned port = first; sw && port < sw->num_ports && port <= last; port++) {
		osm_physp_t *osm_physp = osr_port(sw, port);

		if (osm_physp)
			good &= look_at_port(passage, osm_physp);
	}
	good = good && (passage->n_dead == n_dead || renew_paths(passage));
	cl_plock_release(&passage->osm->lock);
	return good;
}

/* Routing -------------------------------------------------------------------------------------- */

static bool trap_route(struct passage *passage, struct osm_routing_engine *re)
{
	const osm_subn_t *subn = &passage->osm->subn;
	bool routed = true;
	size_t n;

	if (!osr_lock(passage->osm, LOCK_ALONE))
		return false;
	/*
	 * plugin->up means that every switch holds OpenSM's copy of its tables, so only differences
	 * are sent. The discovery that follows sets
	 * need_update for all switches again, and sends all blocks to a switch that turns out to
	 * have been reset.
	 */
	n = cl_ptr_vector_get_size(&subn->port_lid_tbl);
	for (osm_switch_t *sw = osr_switches(subn); routed && sw; sw = osr_after(subn, sw)) {
		routed = !osm_switch_prepare_path_rebuild(sw, (uint16_t)(n ? n - 1 : 0));
		sw->need_update = 0;
	}
	routed = routed && !re->build_lid_matrices(re->context) &&
		 !re->ucast_build_fwd_tables(re->context);
	if (routed)
		passage->n_blocks = osr_rounds_blocks(passage->osm);
	if (routed)
		osm_ucast_mgr_set_fwd_tables(&passage->osm->sm.ucast_mgr);
	cl_plock_release(&passage->osm->lock);
	if (!routed)
		snprintf(passage->why, sizeof(passage->why), "it found no tables");
	return routed;
}

static bool ask_all(struct passage *passage)
{
	ib_net64_t guid;

	while (next_trap(passage, &guid)) {
		const osm_physp_t *p0 = NULL, *near;
		const osm_node_t *at = NULL;
		ib_net64_t before = 0;
		const osm_switch_t *sw;
		uint8_t port = 0;

		/*
		 * The switch before this one on the directed path, and its port there: if the cable
		 * that is down is that one, only this side of it can be asked.
		 */
		if (osr_lock(passage->osm, LOCK_SHARED)) {
			sw = switch_of_port(passage->osm, guid);
			p0 = sw ? osr_port(sw, 0) : NULL;
			if (p0 && p0->dr_path.hop_count)
				at = path_node(passage->osm, &p0->dr_path,
					       p0->dr_path.hop_count - 1u);
			near = at && at->sw ? osr_port(at->sw, 0) : NULL;
			if (near) {
				before = near->port_guid;
				port = p0->dr_path.path[p0->dr_path.hop_count];
			}
			cl_plock_release(&passage->osm->lock);
		}
		if ((before && !trap_ask_switch(passage, before, port, port)) ||
		    !trap_ask_switch(passage, guid, 1, UINT8_MAX))
			return false;
	}
	return !*passage->why;
}

/* `ctx` has routed last. */
static bool pass(struct passage *passage, struct engine_ctx *ctx)
{
	uint16_t vls = ctx->current->used_vls;
	double ms_asked, ms_routed, now, start;

	if (!ask_all(passage) || !passage->n_dead)
		return false;
	ms_asked = osr_sweep_clock_ms();
	if (!trap_route(passage, ctx->re))
		return false;
	ms_routed = osr_sweep_clock_ms();
	if (!osr_wait_for_answers(passage->osm))
		return false;
	if (passage->osm->subn.opt.qos &&
	    (ctx->current->result.routing.sl2vl || ctx->current->used_vls != vls)) {
		osm_qos_setup(passage->osm);
		if (!osr_wait_for_answers(passage->osm))
			return false;
	}
	osr_slvl_settle(passage->plugin);
	passage->n_blocks += osr_rounds_finish(passage->plugin);
	now = osr_sweep_clock_ms();
	start = passage->plugin->traps->ms_first;
	osr_log(passage->osm, OSM_LOG_INFO,
		"trap: %u cable%s down (%s%s): %u LFT blocks sent %.1f ms after the trap, without "
		"a discovery (%u switch%s asked in %.1f ms, routed in %.1f ms, sent in %.1f ms)",
		passage->n_dead, passage->n_dead == 1 ? "" : "s", passage->dead,
		passage->n_dead > 2 ? ", ..." : "", passage->n_blocks, now - start,
		passage->n_asked, passage->n_asked == 1 ? "" : "es", ms_asked - start,
		ms_routed - ms_asked, now - ms_routed);
	return true;
}

/* A sweep begins: known losses are routed around first. */
static void traps_route(struct plugin *plugin)
{
	const osm_subn_t *subn = &plugin->osm->subn;
	struct engine_ctx *ctx;
	struct passage *passage = NULL;
	bool routed = false;

	/*
	 * The receiver of a trap reports it before it gives the lock back, but after it has asked
	 * for this sweep.
	 */
	if (!osr_lock(plugin->osm, LOCK_ALONE))
		return;
	cl_plock_release(&plugin->osm->lock);
	plugin->traps->was_up = plugin->up;
	/* The entry of ours that has routed last, with tables that are still in the switches. */
	ctx = osr_ctx_of(plugin, plugin->osm->routing_engine_used);
	if (plugin->traps->n && plugin->options.own.num[OPT_ASK_SWITCHES] && plugin->up && ctx &&
	    ctx->current && !ctx->refuse && !ctx->others_routed &&
	    subn->sm_state == IB_SMINFO_STATE_MASTER && !subn->coming_out_of_standby &&
	    !subn->first_time_master_sweep && !subn->subnet_initialization_error &&
	    !subn->opt.use_ucast_cache && !subn->opt.force_heavy_sweep)
		passage = calloc(1, sizeof(*passage));
	if (passage) {
		passage->plugin = plugin;
		passage->osm = plugin->osm;
		routed = pass(passage, ctx);
		if (*passage->why)
			osr_log(plugin->osm, OSM_LOG_INFO,
				"trap: %s waits for the normal sweep: %s", ctx->engine->name,
				passage->why);
		free(passage);
	}
	pthread_mutex_lock(&plugin->traps->mutex);
	plugin->traps->n = 0;
	plugin->traps->overflow = false;
	plugin->traps->ms_first = 0;
	pthread_mutex_unlock(&plugin->traps->mutex);
	if (!routed)
		return;
	osr_confirm_unicast(plugin, true);
	osr_features_tell(plugin, ON_TABLES_SENT);
}

const struct feature osr_traps = {
	.size = sizeof(struct traps),
	.state = offsetof(struct plugin, traps),
	.open = traps_open,
	.on = { [ON_SWEEP_BEGINS] = traps_route },
};

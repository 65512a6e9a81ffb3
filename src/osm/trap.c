/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The way from trap 128 to tables. It runs in OpenSM's sweep thread, at the event before a discovery:
 * nobody else changes the subnet then but receivers of MADs, and those that are asked for here are
 * answered before it goes on.
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

static bool traps_open(struct plugin *p)
{
	return !pthread_mutex_init(&p->traps->mutex, NULL);
}

void osr__traps_note(struct plugin *p, const ib_mad_notice_attr_t *notice)
{
	struct traps *t = p->traps;
	ib_net64_t guid = notice->issuer_gid.unicast.interface_id;
	uint32_t i = 0;

	if (!ib_notice_is_generic(notice) ||
	    notice->g_or_v.generic.trap_num != CL_HTON16(SM_LINK_STATE_CHANGED_TRAP))
		return;
	pthread_mutex_lock(&t->mutex);
	while (i < t->n && t->guid[i] != guid)
		i++;
	if (!t->ms_first)
		t->ms_first = osr__sweep_clock_ms();
	t->overflow |= i == TRAP_MAX_SWITCHES;
	if (i == t->n && i < TRAP_MAX_SWITCHES)
		t->guid[t->n++] = guid;
	pthread_mutex_unlock(&t->mutex);
}

bool osr__traps_were_settled(const struct plugin *p)
{
	return p->traps->was_up;
}

/* Takes one switch that has not been asked yet out of the list; false: there is none. */
static bool next_trap(struct passage *w, ib_net64_t *guid)
{
	struct traps *t = w->plugin->traps;
	bool found = false;

	pthread_mutex_lock(&t->mutex);
	while (t->n && !found) {
		uint32_t i = 0;

		*guid = t->guid[--t->n];
		while (i < w->n_asked && w->asked[i] != *guid)
			i++;
		found = i == w->n_asked;
	}
	if (t->overflow || (found && w->n_asked == TRAP_MAX_SWITCHES))
		snprintf(w->why, sizeof(w->why), "more than %d switches sent traps",
			 TRAP_MAX_SWITCHES);
	pthread_mutex_unlock(&t->mutex);
	if (found && w->n_asked < TRAP_MAX_SWITCHES)
		w->asked[w->n_asked++] = *guid;
	return found && !*w->why;
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
	const osm_physp_t *p0 = osr__port(sw, 0);

	return p0 && path_node(osm, &p0->dr_path, p0->dr_path.hop_count) == sw->p_node
		       ? &p0->dr_path
		       : NULL;
}

/* By the neighbour that is closest to the SM of those that are reached; false: none is. */
static bool find_path(const struct osm_opensm *osm, const osm_switch_t *sw, osm_dr_path_t *path)
{
	bool found = false;

	for (unsigned port = 1; port < sw->num_ports; port++) {
		const osm_physp_t *osm_physp = osr__port(sw, port);
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
 * Where a directed path went over a cable that is gone; all others stay. Switch after switch, until none is left or
 * none of those can be reached. false: some cannot.
 */
static bool renew_paths(struct passage *w)
{
	const osm_subn_t *subn = &w->osm->subn;
	bool whole = false, better = true;
	osm_dr_path_t path;

	while (!whole && better) {
		whole = true;
		better = false;
		for (osm_switch_t *sw = osr__switches(subn); sw; sw = osr__after(subn, sw)) {
			if (path_to(w->osm, sw))
				continue;
			if (!find_path(w->osm, sw, &path)) {
				whole = false;
				continue;
			}
			better = true;
			/* Every port of the switch, and what hangs on it, is now reached by this path. */
			for (unsigned port = 0; port < sw->num_ports; port++) {
				osm_physp_t *osm_physp = osr__port(sw, port);
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
		snprintf(w->why, sizeof(w->why), "a switch is cut off");
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

static bool look_at_port(struct passage *w, osm_physp_t *osm_physp)
{
	const ib_port_info_t *was = &w->before[osm_physp->port_num];
	osm_physp_t *physp = osm_physp->p_remote_physp;
	const char *what = NULL;
	char name[OSR__NODE_NAME], far[OSR__NODE_NAME];
	size_t at = strlen(w->dead);
	bool down = ib_port_info_get_port_state(&osm_physp->port_info) == IB_LINK_DOWN;

	if (!ib_port_info_get_port_phys_state(&osm_physp->port_info)) {
		osm_physp->port_info = *was;
		what = "did not answer";
	} else if (!physp) {
		what = down || same_link(was, &osm_physp->port_info) ? NULL : "has a new link";
	} else if (down && physp->p_node->sw && physp->p_remote_physp == osm_physp) {
		/* As OpenSM's receiver does when a port is down. */
		if (w->n_dead++ < 2)
			snprintf(w->dead + at, sizeof(w->dead) - at, "%s%s port %u - %s port %u",
				 at ? ", " : "",
				 osr__node_name(w->osm, osm_physp->p_node, name, sizeof(name)),
				 osm_physp->port_num,
				 osr__node_name(w->osm, physp->p_node, far, sizeof(far)),
				 physp->port_num);
		osm_node_unlink(osm_physp->p_node, osm_physp->port_num, physp->p_node,
				physp->port_num);
	} else if (down) {
		what = "has lost an end port";
	} else if (!same_link(was, &osm_physp->port_info)) {
		what = "has a link that changed";
	}
	if (what && !*w->why)
		snprintf(w->why, sizeof(w->why), "%s port %u %s",
			 osr__node_name(w->osm, osm_physp->p_node, name, sizeof(name)),
			 osm_physp->port_num, what);
	return !what;
}

/* What do these ports of a switch (the GUID of its port 0) say? false: the normal sweep has to look. */
static bool trap_ask_switch(struct passage *w, ib_net64_t guid, unsigned first, unsigned last)
{
	uint32_t n_dead = w->n_dead;
	bool good = true;
	osm_switch_t *sw;

	if (!osr__lock(w->osm, LOCK_ALONE))
		return false;
	sw = switch_of_port(w->osm, guid);
	for (unsigned port = first; good && sw && port < sw->num_ports && port <= last; port++) {
		osm_physp_t *p0 = osr__port(sw, 0);
		osm_physp_t *osm_physp = osr__port(sw, port);
		osm_madw_context_t context = { 0 };

		if (!osm_physp)
			continue;
		good = p0;
		if (!p0)
			break;
		context.pi_context.node_guid = sw->p_node->node_info.node_guid;
		context.pi_context.port_guid = p0->port_guid;
		context.pi_context.set_method = TRUE; /* see the head of this file */
		w->before[port] = osm_physp->port_info;
		ib_port_info_set_port_phys_state(0, &osm_physp->port_info);
		good = !osm_req_get(&w->osm->sm, &p0->dr_path, IB_MAD_ATTR_PORT_INFO,
				    cl_hton32(port), FALSE, ib_port_info_get_m_key(&p0->port_info),
				    ANSWER_MS, CL_DISP_MSGID_NONE, &context);
	}
	cl_plock_release(&w->osm->lock);
	if (!sw || !good)
		snprintf(w->why, sizeof(w->why), "the switch that sent the trap cannot be asked");
	if (!osr__wait_for_answers(w->osm) || !sw || !good || !osr__lock(w->osm, LOCK_ALONE))
		return false;
	/* Every port is looked at even if one is not what was expected: none keeps the mark of a question. */
	sw = switch_of_port(w->osm, guid);
	good = sw;
	for (unsigned port = first; sw && port < sw->num_ports && port <= last; port++) {
		osm_physp_t *osm_physp = osr__port(sw, port);

		if (osm_physp)
			good &= look_at_port(w, osm_physp);
	}
	good = good && (w->n_dead == n_dead || renew_paths(w));
	cl_plock_release(&w->osm->lock);
	return good;
}

/* Routing -------------------------------------------------------------------------------------- */

static bool trap_route(struct passage *w, struct osm_routing_engine *re)
{
	const osm_subn_t *subn = &w->osm->subn;
	bool routed = true;
	size_t n;

	if (!osr__lock(w->osm, LOCK_ALONE))
		return false;
	/*
	 * Between sweeps every switch has what OpenSM holds for it, or the last sweep would not have ended
	 * well; so only what differs is sent. The discovery that follows sets need_update for all anew, and
	 * sends all blocks to a switch that turns out to have been reset.
	 */
	n = cl_ptr_vector_get_size(&subn->port_lid_tbl);
	for (osm_switch_t *sw = osr__switches(subn); routed && sw; sw = osr__after(subn, sw)) {
		routed = !osm_switch_prepare_path_rebuild(sw, (uint16_t)(n ? n - 1 : 0));
		sw->need_update = 0;
	}
	routed = routed && !re->build_lid_matrices(re->context) &&
		 !re->ucast_build_fwd_tables(re->context);
	if (routed)
		w->n_blocks = osr__rounds_blocks(w->osm);
	if (routed)
		osm_ucast_mgr_set_fwd_tables(&w->osm->sm.ucast_mgr);
	cl_plock_release(&w->osm->lock);
	if (!routed)
		snprintf(w->why, sizeof(w->why), "it found no tables");
	return routed;
}

static bool ask_all(struct passage *w)
{
	ib_net64_t guid;

	while (next_trap(w, &guid)) {
		const osm_physp_t *p0 = NULL, *near;
		const osm_node_t *at = NULL;
		ib_net64_t before = 0;
		const osm_switch_t *sw;
		uint8_t port = 0;

		/*
		 * The switch before this one on the directed path, and its port there: if the cable that is
		 * down is that one, only this side of it can be asked.
		 */
		if (osr__lock(w->osm, LOCK_SHARED)) {
			sw = switch_of_port(w->osm, guid);
			p0 = sw ? osr__port(sw, 0) : NULL;
			if (p0 && p0->dr_path.hop_count)
				at = path_node(w->osm, &p0->dr_path, p0->dr_path.hop_count - 1u);
			near = at && at->sw ? osr__port(at->sw, 0) : NULL;
			if (near) {
				before = near->port_guid;
				port = p0->dr_path.path[p0->dr_path.hop_count];
			}
			cl_plock_release(&w->osm->lock);
		}
		if ((before && !trap_ask_switch(w, before, port, port)) ||
		    !trap_ask_switch(w, guid, 1, UINT8_MAX))
			return false;
	}
	return !*w->why;
}

/* `ctx` has routed last. */
static bool pass(struct passage *w, struct engine_ctx *ctx)
{
	uint16_t vls = ctx->current->used_vls;
	double ms_asked, ms_routed, now, start;

	if (!ask_all(w) || !w->n_dead)
		return false;
	ms_asked = osr__sweep_clock_ms();
	if (!trap_route(w, ctx->re))
		return false;
	ms_routed = osr__sweep_clock_ms();
	if (!osr__wait_for_answers(w->osm))
		return false;
	if (w->osm->subn.opt.qos &&
	    (ctx->current->result.routing.sl2vl || ctx->current->used_vls != vls)) {
		osm_qos_setup(w->osm);
		if (!osr__wait_for_answers(w->osm))
			return false;
	}
	osr__slvl_settle(w->plugin);
	w->n_blocks += osr__rounds_finish(w->plugin);
	now = osr__sweep_clock_ms();
	start = w->plugin->traps->ms_first;
	osr__log(w->osm, OSM_LOG_INFO,
		 "trap: %u cable%s down (%s%s): %u LFT blocks sent %.1f ms after the trap, without "
		 "a discovery (%u switch%s asked in %.1f ms, routed in %.1f ms, sent in %.1f ms)",
		 w->n_dead, w->n_dead == 1 ? "" : "s", w->dead, w->n_dead > 2 ? ", ..." : "",
		 w->n_blocks, now - start, w->n_asked, w->n_asked == 1 ? "" : "es",
		 ms_asked - start, ms_routed - ms_asked, now - ms_routed);
	return true;
}

/* A sweep begins: what is known to be lost is routed around first. */
static void traps_route(struct plugin *p)
{
	const osm_subn_t *subn = &p->osm->subn;
	struct engine_ctx *ctx;
	struct passage *w = NULL;
	bool routed = false;

	/* The receiver of a trap reports it before it gives the lock back, but after it has asked for this sweep. */
	if (!osr__lock(p->osm, LOCK_ALONE))
		return;
	cl_plock_release(&p->osm->lock);
	p->traps->was_up = p->up;
	/* The entry of ours that has routed last, with tables that are still in the switches. */
	ctx = osr__ctx_of(p, p->osm->routing_engine_used);
	if (p->traps->n && p->options.own.num[OPT_ASK_SWITCHES] && p->up && ctx && ctx->current &&
	    !ctx->refuse && !ctx->others_routed && subn->sm_state == IB_SMINFO_STATE_MASTER &&
	    !subn->coming_out_of_standby && !subn->first_time_master_sweep &&
	    !subn->subnet_initialization_error && !subn->opt.use_ucast_cache &&
	    !subn->opt.force_heavy_sweep)
		w = calloc(1, sizeof(*w));
	if (w) {
		w->plugin = p;
		w->osm = p->osm;
		routed = pass(w, ctx);
		if (*w->why)
			osr__log(p->osm, OSM_LOG_INFO, "trap: %s waits for the normal sweep: %s",
				 ctx->engine->name, w->why);
		free(w);
	}
	pthread_mutex_lock(&p->traps->mutex);
	p->traps->n = 0;
	p->traps->overflow = false;
	p->traps->ms_first = 0;
	pthread_mutex_unlock(&p->traps->mutex);
	if (!routed)
		return;
	osr__confirm_unicast(p, true);
	osr__features_tell(p, ON_TABLES_SENT);
}

const struct feature osr__traps = {
	.size = sizeof(struct traps),
	.state = offsetof(struct plugin, traps),
	.open = traps_open,
	.on = { [ON_SWEEP_BEGINS] = traps_route },
};

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Switches that may have restarted although no discovery has seen their ports down.
 *
 * OpenSM sends SL2VL and VL arbitration tables to a port without comparing if the discovery found
 * it in state Initialize. If a switch restarts after its ports were read, and OpenSM then sends
 * PortInfo to one of them, the answer says Initialize; the same sweep makes the port active, and
 * the next discovery sees an active port. The tables of after power-on stay.
 *
 * SwitchInfo tells. A restart takes all ports down, so PortStateChange is set in the switch and in
 * those at the other ends of its cables. OpenSM clears that mark only where a discovery has read
 * it, and before any table of that sweep is sent. So two discoveries in a row see it in all of
 * them, whichever SwitchInfo was read before the restart and whichever after; and a cable that
 * fails alone marks no more than its two ends.
 */
#include "guids.h"
#include "plugin.h"

struct reboots {
	struct guids marked; /* switches with PortStateChange in the discovery before */
};

/* In this discovery or in the one before. */
static bool is_marked(const struct reboots *reboots, const osm_switch_t *sw)
{
	return ib_switch_info_get_state_change(&sw->switch_info) ||
	       osr_guids_have(&reboots->marked, sw->p_node->node_info.node_guid);
}

static bool may_have_restarted(const struct reboots *reboots, const osm_switch_t *sw)
{
	if (!is_marked(reboots, sw))
		return false;
	for (unsigned port = 1; port < sw->num_ports; port++) {
		const osm_physp_t *osm_physp = osr_port(sw, port);
		const osm_physp_t *other = osm_physp ? osm_physp->p_remote_physp : NULL;

		if (other && other->p_node->sw && !is_marked(reboots, other->p_node->sw))
			return false;
	}
	return true;
}

/*
 * Between discovery and routing: all ports of such switches are to be sent their tables in this
 * sweep. O(ports log switches). Without memory, restarts between this discovery and the last one
 * are not seen.
 */
static void reboots_find(struct plugin *plugin)
{
	const osm_subn_t *subn = &plugin->osm->subn;
	struct reboots *reboots = plugin->reboots;

	if (!osr_lock(plugin->osm, LOCK_ALONE))
		return;
	/*
	 * OpenSM then sends its tables, and slvl.c the rest. The next discovery finds this mark
	 * again.
	 */
	for (osm_switch_t *sw = osr_switches(subn); sw; sw = osr_after(subn, sw))
		if (may_have_restarted(reboots, sw))
			for (unsigned port = 0; port < sw->num_ports; port++) {
				osm_physp_t *osm_physp = osr_port(sw, port);

				if (osm_physp && !osm_physp->need_update)
					osm_physp->need_update = 1;
			}
	osr_guids_clear(&reboots->marked);
	for (osm_switch_t *sw = osr_switches(subn); sw; sw = osr_after(subn, sw))
		if (ib_switch_info_get_state_change(&sw->switch_info))
			osr_guids_add(&reboots->marked, sw->p_node->node_info.node_guid);
	osr_guids_sort(&reboots->marked);
	cl_plock_release(&plugin->osm->lock);
}

static void reboots_close(struct plugin *plugin)
{
	osr_guids_clear(&plugin->reboots->marked);
}

const struct feature osr_reboots = {
	.size = sizeof(struct reboots),
	.state = offsetof(struct plugin, reboots),
	.on = { [ON_DISCOVERED] = reboots_find, [ON_CLOSE] = reboots_close },
};

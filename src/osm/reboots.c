/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "reboots.h"

#include "plugin.h"

#include <stdlib.h>

struct reboots {
	/* [n] switches with PortStateChange in the discovery before, in OpenSM's order */
	ib_net64_t *marked;
	uint32_t n;
};

static int compare_marked(const void *a, const void *b)
{
	const ib_net64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* In this discovery or in the one before. */
static bool is_marked(const struct reboots *r, const osm_switch_t *sw)
{
	ib_net64_t guid = sw->p_node->node_info.node_guid;

	return ib_switch_info_get_state_change(&sw->switch_info) ||
	       (r->n && bsearch(&guid, r->marked, r->n, sizeof(guid), compare_marked));
}

static bool may_have_restarted(const struct reboots *r, const osm_switch_t *sw)
{
	if (!is_marked(r, sw))
		return false;
	for (unsigned port = 1; port < sw->num_ports; port++) {
		const osm_physp_t *osm_physp = osm_node_get_physp_ptr(sw->p_node, (uint8_t)port);
		const osm_physp_t *other = osm_physp ? osm_physp->p_remote_physp : NULL;

		if (other && other->p_node->sw && !is_marked(r, other->p_node->sw))
			return false;
	}
	return true;
}

/* OpenSM then sends what it sends, and slvl.c the rest. The next discovery finds this mark anew. */
static void send_all_tables(osm_switch_t *sw)
{
	for (unsigned port = 0; port < sw->num_ports; port++) {
		osm_physp_t *osm_physp = osm_node_get_physp_ptr(sw->p_node, (uint8_t)port);

		if (osm_physp && !osm_physp->need_update)
			osm_physp->need_update = 1;
	}
}

/* OpenSM's map goes by GUID in network order, ascending, as compare_marked() does. */
static void remember_marked(struct reboots *r, const osm_subn_t *subn)
{
	free(r->marked);
	r->n = 0;
	r->marked = malloc((cl_qmap_count(&subn->sw_guid_tbl) + 1) * sizeof(*r->marked));
	for (osm_switch_t *sw = osr__switches(subn); r->marked && sw; sw = osr__after(subn, sw))
		if (ib_switch_info_get_state_change(&sw->switch_info))
			r->marked[r->n++] = sw->p_node->node_info.node_guid;
}

void osr__reboots_find(struct plugin *p)
{
	const osm_subn_t *subn = &p->osm->subn;

	if (!osr__lock(p->osm, LOCK_ALONE))
		return;
	for (osm_switch_t *sw = osr__switches(subn); sw; sw = osr__after(subn, sw))
		if (may_have_restarted(p->reboots, sw))
			send_all_tables(sw);
	remember_marked(p->reboots, subn);
	cl_plock_release(&p->osm->lock);
}

bool osr__reboots_open(struct plugin *p)
{
	p->reboots = calloc(1, sizeof(*p->reboots));
	return p->reboots;
}

void osr__reboots_close(struct plugin *p)
{
	if (p->reboots)
		free(p->reboots->marked);
	free(p->reboots);
	p->reboots = NULL;
}

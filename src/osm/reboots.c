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
static void remember_marked(struct reboots *r, const cl_qmap_t *tbl)
{
	free(r->marked);
	r->n = 0;
	r->marked = malloc((cl_qmap_count(tbl) + 1) * sizeof(*r->marked));
	for (cl_map_item_t *item = cl_qmap_head(tbl); r->marked && item != cl_qmap_end(tbl);
	     item = cl_qmap_next(item))
		if (ib_switch_info_get_state_change(&((osm_switch_t *)item)->switch_info))
			r->marked[r->n++] = cl_qmap_key(item);
}

void osr__reboots_find(struct plugin *p)
{
	const cl_qmap_t *tbl = &p->osm->subn.sw_guid_tbl;

	if (!osr__lock(p->osm, LOCK_ALONE))
		return;
	for (cl_map_item_t *item = cl_qmap_head(tbl); item != cl_qmap_end(tbl);
	     item = cl_qmap_next(item))
		if (may_have_restarted(p->reboots, (osm_switch_t *)item))
			send_all_tables((osm_switch_t *)item);
	remember_marked(p->reboots, tbl);
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

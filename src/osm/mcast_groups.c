/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Multicast: every group hangs on the one spanning order that the engine chose and the checker has
 * walked, cut down to the switches between its members.
 *
 * Groups change between sweeps, and with OpenSM's unicast cache switches come and go without
 * routing, so switches are looked up by GUID each time and each link is looked at before it is
 * used.
 */
#include "mcast_groups.h"

#include "plugin.h"
#include "upkeep.h"

#include <inttypes.h>
#include <string.h>

/* One group on its way into the tables. */
struct tree {
	struct engine_ctx *ctx;
	struct sweep_slot *slot;
	const struct osr_fabric *f;
	const uint32_t *parent; /* slot->mc_parent, the spanning order */
	uint16_t mlid;
	uint32_t n;          /* switches in slot->mc_list */
	uint32_t n_unproven; /* links that the proven order does not have */
	bool broken;         /* a link of the tree is gone */
};

/*
 * A spanning order with every switch in it, parent[n_switches]; queue and seen [n_switches] are scratch. The engine's
 * `order` leaves out switches behind which no CA or router hangs. Their port 0 may join a group all the same, so each
 * gets a link towards the order here, breadth first. Without an order (NULL: tables carried over, one of whose links
 * is gone) that is a tree of shortest paths from the first switch of each component.
 */
static void span_all(const struct osr_fabric *fabric, const uint32_t *order, uint32_t *parent,
		     uint32_t *queue, uint8_t *seen)
{
	uint32_t tail = 0, head = 0, next = 0;

	memset(seen, 0, fabric->n_switches);
	for (uint32_t s = 0; s < fabric->n_switches; s++) {
		parent[s] = order ? order[s] : OSR_NONE;
		if (parent[s] != OSR_NONE)
			seen[fabric->chan_dst[order[s]]] = 1;
		if (parent[s] != OSR_NONE || (order && fabric->sw_sources[s]))
			seen[s] = 1;
	}
	for (uint32_t s = 0; s < fabric->n_switches; s++)
		if (seen[s])
			queue[tail++] = s;
	for (;;) {
		for (; head < tail; head++) {
			uint32_t s = queue[head];

			for (uint32_t c = fabric->chan_row[s]; c < fabric->chan_row[s + 1]; c++) {
				uint32_t u = fabric->chan_dst[c];

				if (seen[u])
					continue;
				seen[u] = 1;
				parent[u] = fabric->chan_rev[c];
				queue[tail++] = u;
			}
		}
		/* A part of the fabric without any CA: its first switch is as good a root as any.
		 */
		while (next < fabric->n_switches && seen[next])
			next++;
		if (next == fabric->n_switches)
			return;
		seen[next] = 1;
		queue[tail++] = next;
	}
}

enum osr_status osr__mcast_prepare(struct sweep_slot *slot, struct osr_diag *diag)
{
	const struct osr_fabric *fabric = &slot->result.fabric;
	uint32_t n = fabric->n_switches;

	slot->mc_parent = osr_alloc(&slot->arena, n, sizeof(*slot->mc_parent));
	slot->mc_stamp = osr_calloc(&slot->arena, n, sizeof(*slot->mc_stamp));
	slot->mc_list = osr_alloc(&slot->arena, n, sizeof(*slot->mc_list));
	slot->mc_child = osr_alloc(&slot->arena, n, sizeof(*slot->mc_child));
	slot->mc_n_child = osr_alloc(&slot->arena, n, 1);
	slot->mc_member = osr_alloc(&slot->arena, n, 1);
	if (!slot->mc_parent || !slot->mc_stamp || !slot->mc_list || !slot->mc_child ||
	    !slot->mc_n_child || !slot->mc_member)
		return osr_fail(diag, OSR_NOMEM, "out of memory for multicast trees");
	span_all(fabric, slot->result.routing.mcast_parent, slot->mc_parent, slot->mc_list,
		 slot->mc_member);
	return OSR_OK;
}

uint16_t osr__mcast_sls(const struct osm_opensm *osm, uint8_t *most_used)
{
	const osm_subn_t *subn = &osm->subn;
	const cl_qmap_t *prtns = &subn->prtn_pkey_tbl;
	uint32_t count[16] = { 0 };
	uint16_t sls = 0;

	for (cl_map_item_t *i = cl_qmap_head(prtns); i != cl_qmap_end(prtns); i = cl_qmap_next(i))
		count[((const osm_prtn_t *)i)->sl & 0xf]++;
	for (unsigned m = 0; m + IB_LID_MCAST_START_HO <= subn->max_mcast_lid_ho; m++) {
		const osm_mgrp_box_t *box = subn->mboxes[m];

		if (!box)
			continue;
		for (cl_list_item_t *i = cl_qlist_head(&box->mgrp_list);
		     i != cl_qlist_end(&box->mgrp_list); i = cl_qlist_next(i)) {
			const osm_mgrp_t *grp = cl_item_obj(i, grp, list_item);
			uint8_t sl;

			ib_member_get_sl_flow_hop(grp->mcmember_rec.sl_flow_hop, &sl, NULL, NULL);
			count[sl & 0xf]++;
		}
	}
	*most_used = 0;
	for (uint8_t sl = 0; sl < 16; sl++) {
		sls |= (uint16_t)((count[sl] > 0) << sl);
		if (count[sl] > count[*most_used])
			*most_used = sl;
	}
	return sls ? sls : 1;
}

/* Joining the members -------------------------------------------------------------------------- */

/* Marks a switch and all between it and the root, or an already marked one. */
static void climb(struct tree *t, uint32_t s)
{
	struct sweep_slot *slot = t->slot;
	uint32_t child = OSR_NONE;

	for (;;) {
		bool seen = slot->mc_stamp[s] == t->ctx->mc_stamp;

		if (!seen) {
			slot->mc_stamp[s] = t->ctx->mc_stamp;
			slot->mc_list[t->n++] = s;
			slot->mc_n_child[s] = 0;
			slot->mc_member[s] = 0;
		}
		if (child != OSR_NONE) {
			slot->mc_child[s] = child;
			slot->mc_n_child[s] += slot->mc_n_child[s] < 2;
		}
		if (seen || t->parent[s] == OSR_NONE)
			return;
		child = s;
		s = t->f->chan_dst[t->parent[s]];
	}
}

static osm_switch_t *switch_by_index(const struct tree *t, uint32_t s)
{
	return osm_get_switch_by_guid(&t->ctx->plugin->osm->subn, cl_hton64(t->f->sw_guid[s]));
}

/* The switch that a member hangs on, and the port there; NULL while its cable is out. */
static osm_switch_t *member_switch(const osm_port_t *port, uint8_t *sw_port)
{
	const osm_physp_t *far = port->p_physp ? port->p_physp->p_remote_physp : NULL;

	*sw_port = 0;
	if (port->p_node->sw)
		return port->p_node->sw;
	if (!far || !far->p_node->sw)
		return NULL;
	*sw_port = far->port_num;
	return far->p_node->sw;
}

/* The table may be too small, or there may be none: osm_mcast_tbl_set() would write beyond it. */
static void osm_mcast_set_port(struct tree *t, osm_switch_t *sw, uint8_t port)
{
	osm_mcast_tbl_t *tbl = osm_switch_get_mcast_tbl_ptr(sw);
	char name[OSR__NODE_NAME];

	if (!osm_switch_supports_mcast(sw) || !tbl->p_mask_tbl || t->mlid > tbl->max_mlid_ho ||
	    port / IB_MCAST_MASK_SIZE > IB_MCAST_POSITION_MAX) {
		osr__log(
			t->ctx->plugin->osm, OSM_LOG_ERROR,
			"ERR OR08: switch %s cannot forward multicast of MLID 0x%X: members beyond "
			"it are not reached",
			osr__node_name(t->ctx->plugin->osm, sw->p_node, name, sizeof(name)),
			t->mlid);
		return;
	}
	osm_mcast_tbl_set(tbl, t->mlid, port);
}

static void add_member(struct tree *t, const osm_port_t *port)
{
	uint8_t sw_port;
	osm_switch_t *sw = member_switch(port, &sw_port);
	uint32_t s;

	if (!sw)
		return;
	s = osr_fabric_switch_by_guid(t->f, cl_ntoh64(sw->p_node->node_info.node_guid));
	if (s == OSR_NONE) {
		/* A switch that routing has not seen, unless it is drained. */
		t->broken |= !osr__upkeep_out(t->ctx->plugin,
					      cl_ntoh64(sw->p_node->node_info.node_guid), 0);
		return;
	}
	climb(t, s);
	t->slot->mc_member[s] = 1;
	osm_mcast_set_port(t, sw, sw_port);
}

/* Above the lowest common switch the way to the root leads to no member: drop it. */
static void trim_root(struct tree *t)
{
	struct sweep_slot *slot = t->slot;

	for (uint32_t i = 0; i < t->n; i++) {
		uint32_t s = slot->mc_list[i];

		if (t->parent[s] != OSR_NONE)
			continue;
		while (slot->mc_n_child[s] == 1 && !slot->mc_member[s]) {
			slot->mc_stamp[s] = 0;
			s = slot->mc_child[s];
		}
		/* The new top must not be joined upwards. */
		slot->mc_n_child[s] |= 0x80;
	}
}

/* Both ends of the link to the parent, unless it is no longer the link that was routed. */
static bool link_of(const struct tree *t, uint32_t s, osm_switch_t **below, osm_switch_t **above,
		    uint8_t *port_below, uint8_t *port_above)
{
	uint32_t c = t->parent[s], up = t->f->chan_dst[c];
	const osm_physp_t *osm_physp;

	*below = switch_by_index(t, s);
	*above = switch_by_index(t, up);
	*port_below = t->f->chan_port[c];
	*port_above = t->f->chan_port[t->f->chan_rev[c]];
	if (!*below || !*above || *port_below >= (*below)->num_ports)
		return false;
	osm_physp = osm_node_get_physp_ptr((*below)->p_node, *port_below);
	return osm_physp && osm_physp->p_remote_physp &&
	       osm_physp->p_remote_physp->p_node == (*above)->p_node &&
	       osm_physp->p_remote_physp->port_num == *port_above;
}

/* Reports ------------------------------------------------------------------------------------- */

static void warn_unproven(struct tree *t, const osm_mgrp_box_t *box)
{
	struct engine_ctx *ctx = t->ctx;
	struct sweep_slot *slot = t->slot;
	const struct osm_opensm *osm = ctx->plugin->osm;

	if (!(slot->verdict.proven & OSR_CLAIM_DEADLOCK_FREE))
		return; /* said at every sweep */
	if (t->n_unproven && !ctx->mc_warned_sp0) {
		ctx->mc_warned_sp0 = true;
		osr__log(ctx->plugin->osm, OSM_LOG_ERROR,
			 "ERR OR07: the tree of MLID 0x%X has %u links to switches without CAs, "
			 "whose port 0 is a member; these links are not part of the proof against "
			 "deadlock",
			 t->mlid, t->n_unproven);
	}
	for (cl_list_item_t *item = cl_qlist_head(&box->mgrp_list);
	     item != cl_qlist_end(&box->mgrp_list); item = cl_qlist_next(item)) {
		const osm_mgrp_t *grp = cl_item_obj(item, grp, list_item);
		uint8_t sl, vl;
		char where[32];

		ib_member_get_sl_flow_hop(grp->mcmember_rec.sl_flow_hop, &sl, NULL, NULL);
		vl = osr__mcast_vl(osm, slot, sl & 0xf);
		if (((slot->mcast_vls | ctx->mc_warned) & (1u << vl)) || vl == 15)
			continue;
		ctx->mc_warned |= 1u << vl;
		if (vl == OSR_MIXED_VLS)
			snprintf(where, sizeof(where), "changes its VL along the tree");
		else
			snprintf(where, sizeof(where), "runs on VL %u", vl);
		osr__log(ctx->plugin->osm, OSM_LOG_ERROR,
			 "ERR OR07: multicast of SL %u (MLID 0x%X) %s, where it is not proven free "
			 "of deadlock together with unicast; give its partition another SL",
			 sl, t->mlid, where);
	}
}

/* As OpenSM's own multicast does when the unicast cache has hidden a change from it. */
static void heal(struct tree *t)
{
	struct osm_opensm *osm = t->ctx->plugin->osm;

	osr__log(osm, OSM_LOG_ERROR,
		 "ERR OR08: the spanning tree for MLID 0x%X uses a switch or link that is gone or "
		 "new since the last routing: some members are not reached until the next sweep",
		 t->mlid);
	if (osm->subn.opt.use_ucast_cache && osm->sm.ucast_mgr.cache_valid) {
		osm_ucast_cache_invalidate(&osm->sm.ucast_mgr);
		osm->subn.force_heavy_sweep = TRUE;
	}
}

ib_api_status_t osr__mcast_build_stree(void *context, osm_mgrp_box_t *box)
{
	struct engine_ctx *ctx = context;
	struct tree t = { .ctx = ctx, .slot = ctx->current, .mlid = box->mlid };
	cl_qlist_t members;
	cl_qmap_t map;
	const osm_subn_t *subn;
	int16_t block;

	if (!t.slot)
		return IB_ERROR;
	t.f = &t.slot->result.fabric;
	t.parent = t.slot->mc_parent;
	/*
	 * OpenSM sends a switch no block of multicast tables in which it has never set a bit, so
	 * one that comes back with tables of another SM, or of before a restart, would keep them:
	 * every switch gets the block of every group.
	 */
	subn = &t.ctx->plugin->osm->subn;
	block = (int16_t)((t.mlid - IB_LID_MCAST_START_HO) / IB_MCAST_BLOCK_SIZE);
	for (osm_switch_t *sw = osr__switches(subn); sw; sw = osr__after(subn, sw)) {
		osm_mcast_tbl_t *mft = &sw->mcast_tbl;

		if (mft->p_mask_tbl && t.mlid <= mft->max_mlid_ho && block <= mft->max_block &&
		    block > mft->max_block_in_use)
			mft->max_block_in_use = block;
	}
	if (osm_mcast_make_port_list_and_map(&members, &map, box)) {
		osr__log(ctx->plugin->osm, OSM_LOG_ERROR,
			 "ERR OR09: out of memory while building the tree for MLID 0x%X",
			 box->mlid);
		osm_mcast_drop_port_list(&members);
		return IB_INSUFFICIENT_MEMORY;
	}
	if (cl_qlist_count(&members) >= 2) {
		struct sweep_slot *slot;

		ctx->mc_stamp++;
		for (cl_list_item_t *item = cl_qlist_head(&members); item != cl_qlist_end(&members);
		     item = cl_qlist_next(item))
			add_member(&t, ((osm_mcast_work_obj_t *)item)->p_port);
		trim_root(&t);
		/* Switches that a channel of the group joins. */
		slot = t.slot;
		for (uint32_t i = 0; i < t.n; i++) {
			uint32_t s = slot->mc_list[i];
			osm_switch_t *below, *above;
			uint8_t port_below, port_above;

			if (slot->mc_stamp[s] != t.ctx->mc_stamp || (slot->mc_n_child[s] & 0x80) ||
			    t.parent[s] == OSR_NONE)
				continue;
			if (!link_of(&t, s, &below, &above, &port_below, &port_above)) {
				t.broken = true;
				continue;
			}
			osm_mcast_set_port(&t, below, port_below);
			osm_mcast_set_port(&t, above, port_above);
			t.n_unproven += slot->result.routing.mcast_parent &&
					slot->result.routing.mcast_parent[s] == OSR_NONE;
		}
		warn_unproven(&t, box);
	}
	osm_mcast_drop_port_list(&members);
	if (t.broken)
		heal(&t);
	return IB_SUCCESS;
}

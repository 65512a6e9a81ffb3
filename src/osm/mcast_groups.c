/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Multicast: every group hangs on the one spanning order that the engine chose and the checker has
 * walked, cut down to the switches between its members.
 *
 * Groups change between sweeps, and with OpenSM's unicast cache switches come and go without
 * routing, so switches are looked up by GUID each time and each link is looked at before it is
 * used.
 */
#include <osmroutes/each.h>

#include "mcast_groups.h"

#include "plugin.h"
#include "upkeep.h"

#include <inttypes.h>
#include <string.h>

/* One group on its way into the tables. */
struct tree {
	struct engine_ctx *ctx;
	struct sweep_slot *slot;
	const struct osr_fabric *fabric;
	const uint32_t *parent; /* slot->mc_parent, the spanning order */
	uint16_t mlid;
	uint32_t n;          /* switches in slot->mc_list */
	uint32_t n_unproven; /* links that the proven order does not have */
	bool broken;         /* a link of the tree is gone */
};

/*
 * A spanning order with every switch in it, parent[n_switches]; queue and seen [n_switches] are
 * scratch. The engine's `order` leaves out switches behind which no CA or router hangs. Their port
 * 0 may join a group all the same, so each gets a link towards the order here, breadth first.
 * Without an order (NULL: tables carried over, one of whose links is gone) that is a tree of
 * shortest paths from the first switch of each component.
 */
static void span_all(const struct osr_fabric *fabric, const uint32_t *order, uint32_t *parent,
		     uint32_t *queue, uint32_t *seen)
{
	uint32_t tail = 0, head = 0, next = 0;

	memset(seen, 0, fabric->n_switches * sizeof(*seen));
	OSR_EACH_SWITCH(s, fabric) {
		parent[s] = order ? order[s] : OSR_NONE;
		if (parent[s] != OSR_NONE)
			seen[fabric->chan_dst[order[s]]] = 1;
		if (parent[s] != OSR_NONE || (order && fabric->sw_sources[s]))
			seen[s] = 1;
	}
	OSR_EACH_SWITCH(s, fabric)
		if (seen[s])
			queue[tail++] = s;
	for (;;) {
		for (; head < tail; head++) {
			uint32_t s = queue[head];

			OSR_EACH_CHANNEL(c, fabric, s) {
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

enum osr_status osr_mcast_prepare(struct sweep_slot *slot, struct osr_diag *diag)
{
	const struct osr_fabric *fabric = &slot->result.fabric;
	uint32_t n = fabric->n_switches;

	slot->mc_parent = osr_alloc(&slot->arena, n, sizeof(*slot->mc_parent));
	slot->mc_list = osr_alloc(&slot->arena, n, sizeof(*slot->mc_list));
	slot->mc_below = osr_calloc(&slot->arena, n, sizeof(*slot->mc_below));
	if (!slot->mc_parent || !slot->mc_list || !slot->mc_below)
		return osr_fail(diag, OSR_NOMEM, "out of memory for multicast trees");
	span_all(fabric, slot->result.routing.mcast_parent, slot->mc_parent, slot->mc_list,
		 slot->mc_below);
	memset(slot->mc_below, 0, n * sizeof(*slot->mc_below));
	return OSR_OK;
}

uint16_t osr_mcast_sls(const struct osm_opensm *osm, uint8_t *most_used)
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

/* The table may be too small, or there may be none: osm_mcast_tbl_set() would write beyond it. */
static void osm_mcast_set_port(struct tree *tree, osm_switch_t *sw, uint8_t port)
{
	osm_mcast_tbl_t *tbl = osm_switch_get_mcast_tbl_ptr(sw);
	char name[OSR_NODE_NAME];

	if (!osm_switch_supports_mcast(sw) || !tbl->p_mask_tbl || tree->mlid > tbl->max_mlid_ho ||
	    port / IB_MCAST_MASK_SIZE > IB_MCAST_POSITION_MAX) {
		if (tree->ctx->mc_again)
			return;
		osr_log(tree->ctx->plugin->osm, OSM_LOG_ERROR,
			"ERR OR08: switch %s cannot forward multicast of MLID 0x%X: members beyond "
			"it are not reached",
			osr_node_name(tree->ctx->plugin->osm, sw->p_node, name, sizeof(name)),
			tree->mlid);
		return;
	}
	osm_mcast_tbl_set(tbl, tree->mlid, port);
}

/*
 * Counts a member at the switch that it hangs on, and on the way to the root; none while its cable
 * is out.
 */
static void add_member(struct tree *tree, const osm_port_t *port)
{
	const osm_physp_t *far = port->p_physp ? port->p_physp->p_remote_physp : NULL;
	osm_switch_t *sw = port->p_node->sw;
	uint8_t sw_port = 0;
	uint64_t guid;
	uint32_t s;

	if (!sw && far) {
		sw = far->p_node->sw;
		sw_port = far->port_num;
	}
	if (!sw)
		return;
	guid = osr_guid(sw->p_node);
	s = osr_fabric_switch_by_guid(tree->fabric, guid);
	if (s == OSR_NONE) {
		/* A switch that routing has not seen, unless it is drained. */
		tree->broken |= !osr_upkeep_out(tree->ctx->plugin, guid, 0);
		return;
	}
	osm_mcast_set_port(tree, sw, sw_port);
	for (;; s = tree->fabric->chan_dst[tree->parent[s]]) {
		if (!tree->slot->mc_below[s]++)
			tree->slot->mc_list[tree->n++] = s;
		if (tree->parent[s] == OSR_NONE)
			return;
	}
}

/* Joins a switch and its parent; false: the link between them has changed since it was routed. */
static bool join(struct tree *tree, uint32_t s)
{
	uint32_t c = tree->parent[s], ends[2] = { s, tree->fabric->chan_dst[c] };
	uint8_t port[2] = { tree->fabric->chan_port[c],
			    tree->fabric->chan_port[tree->fabric->chan_rev[c]] };
	const osm_physp_t *below;
	osm_switch_t *sw[2];

	for (unsigned i = 0; i < 2; i++)
		sw[i] = osm_get_switch_by_guid(&tree->ctx->plugin->osm->subn,
					       cl_hton64(tree->fabric->sw_guid[ends[i]]));
	if (!sw[0] || !sw[1] || port[0] >= sw[0]->num_ports)
		return false;
	below = osr_port(sw[0], port[0]);
	if (!below || !below->p_remote_physp || below->p_remote_physp->p_node != sw[1]->p_node ||
	    below->p_remote_physp->port_num != port[1])
		return false;
	for (unsigned i = 0; i < 2; i++)
		osm_mcast_set_port(tree, sw[i], port[i]);
	return true;
}

/* Reports ------------------------------------------------------------------------------------- */

static void warn_unproven(struct tree *tree, const osm_mgrp_box_t *box)
{
	struct engine_ctx *ctx = tree->ctx;
	struct sweep_slot *slot = tree->slot;
	const struct osm_opensm *osm = ctx->plugin->osm;

	if (!(slot->verdict.proven & OSR_CLAIM_DEADLOCK_FREE))
		return; /* said at every sweep */
	if (tree->n_unproven && !ctx->mc_warned_sp0) {
		ctx->mc_warned_sp0 = true;
		osr_log(ctx->plugin->osm, OSM_LOG_ERROR,
			"ERR OR07: the tree of MLID 0x%X has %u links to switches without CAs, "
			"whose port 0 is a member; these links are not part of the proof against "
			"deadlock",
			tree->mlid, tree->n_unproven);
	}
	for (cl_list_item_t *item = cl_qlist_head(&box->mgrp_list);
	     item != cl_qlist_end(&box->mgrp_list); item = cl_qlist_next(item)) {
		const osm_mgrp_t *grp = cl_item_obj(item, grp, list_item);
		uint8_t sl, vl;
		char where[32];

		ib_member_get_sl_flow_hop(grp->mcmember_rec.sl_flow_hop, &sl, NULL, NULL);
		vl = osr_mcast_vl(osm, slot, sl & 0xf);
		if (((slot->mcast_vls | ctx->mc_warned) & (1u << vl)) || vl == 15)
			continue;
		ctx->mc_warned |= 1u << vl;
		if (vl == OSR_MIXED_VLS)
			snprintf(where, sizeof(where), "changes its VL along the tree");
		else
			snprintf(where, sizeof(where), "runs on VL %u", vl);
		osr_log(ctx->plugin->osm, OSM_LOG_ERROR,
			"ERR OR07: multicast of SL %u (MLID 0x%X) %s, where it is not proven free "
			"of deadlock together with unicast; give its partition another SL",
			sl, tree->mlid, where);
	}
}

ib_api_status_t osr_mcast_build_stree(void *context, osm_mgrp_box_t *box)
{
	struct engine_ctx *ctx = context;
	struct tree tree = { .ctx = ctx, .slot = ctx->current, .mlid = box->mlid };
	struct osm_opensm *osm = ctx->plugin->osm;
	const osm_subn_t *subn = &osm->subn;
	cl_qlist_t members;
	cl_qmap_t map;
	int16_t block;

	if (!tree.slot)
		return IB_ERROR;
	tree.fabric = &tree.slot->result.fabric;
	tree.parent = tree.slot->mc_parent;
	/*
	 * OpenSM sends a switch no block of multicast tables in which it has never set a bit. A
	 * switch that comes back with tables of another SM, or from before a restart, would keep
	 * them. So every switch gets the block of every group.
	 */
	block = (int16_t)((tree.mlid - IB_LID_MCAST_START_HO) / IB_MCAST_BLOCK_SIZE);
	for (osm_switch_t *sw = osr_switches(subn); sw; sw = osr_after(subn, sw)) {
		osm_mcast_tbl_t *mft = &sw->mcast_tbl;

		if (mft->p_mask_tbl && tree.mlid <= mft->max_mlid_ho && block <= mft->max_block &&
		    block > mft->max_block_in_use)
			mft->max_block_in_use = block;
	}
	if (osm_mcast_make_port_list_and_map(&members, &map, box)) {
		osr_log(osm, OSM_LOG_ERROR,
			"ERR OR09: out of memory while building the tree for MLID 0x%X", box->mlid);
		osm_mcast_drop_port_list(&members);
		return IB_INSUFFICIENT_MEMORY;
	}
	if (cl_qlist_count(&members) >= 2) {
		const uint32_t *proven = tree.slot->result.routing.mcast_parent;
		uint32_t *below = tree.slot->mc_below;

		for (cl_list_item_t *item = cl_qlist_head(&members); item != cl_qlist_end(&members);
		     item = cl_qlist_next(item))
			add_member(&tree, ((osm_mcast_work_obj_t *)item)->p_port);
		/*
		 * A link to a parent is one of the group if there are members on both sides of it.
		 */
		for (uint32_t i = 0; i < tree.n; i++) {
			uint32_t s = tree.slot->mc_list[i], root = s;

			while (tree.parent[root] != OSR_NONE)
				root = tree.fabric->chan_dst[tree.parent[root]];
			if (below[s] == below[root])
				continue;
			if (join(&tree, s))
				tree.n_unproven += proven && proven[s] == OSR_NONE;
			else
				tree.broken = true;
		}
		for (uint32_t i = 0; i < tree.n; i++)
			below[tree.slot->mc_list[i]] = 0;
		warn_unproven(&tree, box);
	}
	osm_mcast_drop_port_list(&members);
	if (!tree.broken || ctx->mc_again)
		return IB_SUCCESS;
	osr_log(osm, OSM_LOG_ERROR,
		"ERR OR08: the spanning tree for MLID 0x%X uses a switch or link that is gone or "
		"new since the last routing: some members are not reached until the next sweep",
		tree.mlid);
	/* As OpenSM's own multicast does when the unicast cache has hidden a change from it. */
	if (osm->subn.opt.use_ucast_cache && osm->sm.ucast_mgr.cache_valid) {
		osm_ucast_cache_invalidate(&osm->sm.ucast_mgr);
		osr_ask_sweep(ctx->plugin);
	}
	return IB_SUCCESS;
}

void osr_mcast_again(struct engine_ctx *ctx)
{
	const struct osm_opensm *osm = ctx->plugin->osm;
	const osm_subn_t *subn = &osm->subn;

	ctx->mc_again = true;
	for (unsigned m = 0; m + IB_LID_MCAST_START_HO <= subn->max_mcast_lid_ho; m++) {
		if (osm->sm.mlids_req[m])
			continue;
		for (osm_switch_t *sw = osr_switches(subn); sw; sw = osr_after(subn, sw))
			osm_mcast_tbl_clear_mlid(&sw->mcast_tbl,
						 (uint16_t)(m + IB_LID_MCAST_START_HO));
		/* As OpenSM calls it: another plugin may have wrapped it. */
		if (subn->mboxes[m])
			ctx->re->mcast_build_stree(ctx->re->context, subn->mboxes[m]);
	}
	ctx->mc_again = false;
}

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "confirm.h"

#include "guids.h"
#include "mcast_groups.h"
#include "plugin.h"
#include "slvl.h"

#include <complib/cl_timer.h>

#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

/* until a table that was refused twice is sent again; then twice as long each time */
#define FIRST_S 10
#define MOST_RINGS 6

enum table { LFT_BLOCKS, MFT_BLOCKS, SL2VL_TABLES, VLARB_BLOCKS, N_TABLES };

static const char *const table_names[N_TABLES] = {
	[LFT_BLOCKS] = "lft_blocks",
	[MFT_BLOCKS] = "mft_blocks",
	[SL2VL_TABLES] = "sl2vl_tables",
	[VLARB_BLOCKS] = "vlarb_blocks",
};

/* The tables that nodes do not hold, and the first of these nodes by name. */
struct lacks {
	uint64_t n[N_TABLES];
	uint32_t n_nodes, n_named;
	struct guids nodes;
	char text[400];
	/* The node that is being looked at. */
	char node[300];
};

/* Before multicast tables are sent, and with them: the tables sent until then. */
enum { UNICAST, MULTICAST, N_STAGES };

/*
 * All nodes hold it; some do not, and another sweep was asked for; one of them not after that sweep
 * either, which ERR OR19 has said.
 */
enum standing { HELD, LACKED, REFUSED };

struct confirm {
	struct lacks lacks[N_STAGES];
	struct guids lacked[N_STAGES]; /* after the last sweep, sorted */
	enum standing standing[N_STAGES];
	cl_timer_t timer; /* until a table that was refused twice is sent again */
	atomic_uint n_rings;
	/*
	 * Of the sweep under way: its claims, and why nobody should believe them. Of the tables in
	 * use: the same.
	 */
	char claims[200], doubt[100], in_use[100];
};

/* Naming what is lacking ----------------------------------------------------------------------- */

static void lacks_add(struct lacks *lacks, enum table table, uint64_t n, const char *where)
{
	size_t at = strlen(lacks->node);

	if (!n)
		return;
	lacks->n[table] += n;
	snprintf(lacks->node + at, sizeof(lacks->node) - at, "%s%s", at ? ", " : "", where);
}

static void lacks_clear(struct lacks *lacks)
{
	osr_guids_clear(&lacks->nodes);
	memset(lacks, 0, sizeof(*lacks));
}

/* The node is complete: its name goes before its missing tables, while there is room. */
static void lacks_node(struct lacks *lacks, struct osm_opensm *osm, const osm_node_t *node)
{
	size_t at = strlen(lacks->text);
	char name[OSR_NODE_NAME];

	if (!*lacks->node)
		return;
	if (lacks->n_nodes == lacks->n_named &&
	    at + strlen(lacks->node) + sizeof(name) < sizeof(lacks->text)) {
		snprintf(lacks->text + at, sizeof(lacks->text) - at, "%s%s: %s", at ? "; " : "",
			 osr_node_name(osm, node, name, sizeof(name)), lacks->node);
		lacks->n_named++;
	}
	lacks->n_nodes++;
	osr_guids_add(&lacks->nodes, node->node_info.node_guid);
	*lacks->node = '\0';
}

/* "LFT blocks 0-1 7"; the last ones are left out where there is no room. */
struct ranges {
	char text[60];
	unsigned n, first, last;
};

static void ranges_end(struct ranges *ranges)
{
	size_t at = strlen(ranges->text);

	if (ranges->n)
		snprintf(ranges->text + at, sizeof(ranges->text) - at,
			 ranges->first < ranges->last ? " %u-%u" : " %u", ranges->first,
			 ranges->last);
}

static void ranges_add(struct ranges *ranges, unsigned block)
{
	if (ranges->n && ranges->last + 1 != block) {
		ranges_end(ranges);
		ranges->first = block;
	}
	if (!ranges->n++)
		ranges->first = block;
	ranges->last = block;
}

/* Comparing ------------------------------------------------------------------------------------ */

/* LFT blocks, and LinearFDBTop, above which a switch forwards nothing. */
static void compare_lft(struct lacks *lacks, const osm_switch_t *sw)
{
	struct ranges ranges = { .text = "LFT blocks" };
	unsigned block = 0;

	if (!sw->new_lft)
		return; /* OpenSM's unicast cache has sent nothing */
	for (; (block + 1) * IB_SMP_DATA_SIZE <= sw->lft_size &&
	       block * IB_SMP_DATA_SIZE <= sw->max_lid_ho;
	     block++)
		if (memcmp(sw->lft + (size_t)block * IB_SMP_DATA_SIZE,
			   sw->new_lft + (size_t)block * IB_SMP_DATA_SIZE, IB_SMP_DATA_SIZE) != 0)
			ranges_add(&ranges, block);
	ranges_end(&ranges);
	lacks_add(lacks, LFT_BLOCKS, ranges.n, ranges.text);
	lacks_add(lacks, LFT_BLOCKS, cl_ntoh16(sw->switch_info.lin_top) != sw->max_lid_ho,
		  "LinearFDBTop");
}

/* Blocks of a port that are not as wanted. */
static unsigned vlarb_lacks(const struct engine_ctx *ctx, osm_physp_t *osm_physp)
{
	unsigned n_lacks = 0;

	for (uint8_t block = 0; block < QOS_VLARB_BLOCKS; block++) {
		ib_vl_arb_table_t want;
		size_t n = osr_qos_vlarb(ctx, osm_physp, block, &want);

		n_lacks +=
			memcmp(&osm_physp->vl_arb[block], &want, n * sizeof(want.vl_entry[0])) != 0;
	}
	return n_lacks;
}

static void compare_switch(struct lacks *lacks, const struct engine_ctx *ctx, osm_switch_t *sw,
			   bool discovery_follows)
{
	struct plugin *plugin = ctx->plugin;
	unsigned first = 0, n_blocks = 0;
	char where[100] = "";
	uint64_t n;

	compare_lft(lacks, sw);
	if (!plugin->osm->subn.opt.qos)
		return;
	n = osr_slvl_lacks(plugin, sw, where, sizeof(where));
	lacks_add(lacks, SL2VL_TABLES, n, where);
	/* After a trap no VL arbitration is sent: the discovery that follows does that. */
	if (discovery_follows)
		return;
	for (unsigned port = ib_switch_info_is_enhanced_port0(&sw->switch_info) ? 0 : 1;
	     port < sw->num_ports; port++) {
		osm_physp_t *osm_physp = osr_port(sw, port);

		if (!osr_port_is_up(osm_physp))
			continue;
		first = n_blocks ? first : port;
		n_blocks += vlarb_lacks(ctx, osm_physp);
	}
	snprintf(where, sizeof(where), "%u VL arbitration blocks, first of port %u", n_blocks,
		 first);
	lacks_add(lacks, VLARB_BLOCKS, n_blocks, where);
}

/* A port of a CA or router. */
static void compare_end_port(struct lacks *lacks, const struct engine_ctx *ctx,
			     osm_physp_t *osm_physp)
{
	uint64_t want = osr_qos_table(ctx, osm_physp, 0);

	lacks_add(lacks, VLARB_BLOCKS, vlarb_lacks(ctx, osm_physp), "VL arbitration");
	if ((osm_physp->port_info.capability_mask & IB_PORT_CAP_HAS_SL_MAP) &&
	    memcmp(osm_physp_get_slvl_tbl(osm_physp, 0), &want, sizeof(want)) != 0)
		lacks_add(lacks, SL2VL_TABLES, 1, "SL2VL table");
}

static void compare_unicast(struct lacks *lacks, const struct engine_ctx *ctx,
			    bool discovery_follows)
{
	struct osm_opensm *osm = ctx->plugin->osm;
	const cl_qmap_t *ports = &osm->subn.port_guid_tbl;

	for (osm_switch_t *sw = osr_switches(&osm->subn); sw; sw = osr_after(&osm->subn, sw)) {
		compare_switch(lacks, ctx, sw, discovery_follows);
		lacks_node(lacks, osm, sw->p_node);
	}
	/* Nor are end ports sent anything after a trap. */
	if (discovery_follows || !osm->subn.opt.qos)
		return;
	for (cl_map_item_t *at = cl_qmap_head(ports); at != cl_qmap_end(ports);
	     at = cl_qmap_next(at)) {
		const osm_port_t *port = (const osm_port_t *)at;

		if (port->p_node->sw || !port->p_physp)
			continue;
		compare_end_port(lacks, ctx, port->p_physp);
		lacks_node(lacks, osm, port->p_node);
	}
}

/* Multicast tables ----------------------------------------------------------------------------- */

/* All blocks of one switch. No other thread than this one drops switches. */
struct mft {
	osm_switch_t *sw;
	uint32_t n_blocks, n_positions;
	ib_net16_t (*has)[IB_MCAST_BLOCK_SIZE]; /* [n_blocks * n_positions] */
};

static uint32_t mft_size(const struct mft *mft)
{
	return mft->n_blocks * mft->n_positions;
}

/* Of OpenSM's copy. */
static void mft_get(const struct mft *mft, uint32_t i, ib_net16_t block[IB_MCAST_BLOCK_SIZE])
{
	osm_mcast_tbl_get_block(&mft->sw->mcast_tbl, (int16_t)(i / mft->n_positions),
				(uint8_t)(i % mft->n_positions), block);
}

/* OpenSM's copy becomes another one in every bit, until the answer is there. false: no memory. */
static bool mft_ask(struct mft *mft, struct plugin *plugin, osm_switch_t *sw,
		    struct osr_arena *arena)
{
	osm_mcast_tbl_t *tbl = &sw->mcast_tbl;
	const osm_physp_t *p0 = osr_port(sw, 0);
	osm_madw_context_t context = { 0 };

	*mft = (struct mft){ .sw = sw };
	if (!p0 || !tbl->p_mask_tbl || tbl->max_block_in_use < 0)
		return true;
	mft->n_blocks = (uint32_t)tbl->max_block_in_use + 1;
	mft->n_positions = tbl->max_position + 1u;
	mft->has = osr_alloc(arena, mft_size(mft), sizeof(*mft->has));
	if (!mft->has)
		return false;
	context.mft_context.node_guid = sw->p_node->node_info.node_guid;
	for (uint32_t i = 0; i < mft_size(mft); i++) {
		uint32_t block = i / mft->n_positions, position = i % mft->n_positions;
		ib_net16_t other[IB_MCAST_BLOCK_SIZE];

		mft_get(mft, i, other);
		for (unsigned k = 0; k < IB_MCAST_BLOCK_SIZE; k++)
			other[k] = (ib_net16_t)~other[k];
		osm_mcast_tbl_set_block(tbl, other, (int16_t)block, (uint8_t)position);
		osm_req_get(&plugin->osm->sm, &p0->dr_path, IB_MAD_ATTR_MCAST_FWD_TBL,
			    cl_hton32(block | position << 28), FALSE,
			    ib_port_info_get_m_key(&p0->port_info), 0, CL_DISP_MSGID_NONE,
			    &context);
	}
	return true;
}

static void mft_compare(struct lacks *lacks, const struct mft *mft)
{
	struct ranges ranges = { .text = "multicast blocks" };
	uint64_t n = 0;

	for (uint32_t i = 0; i < mft_size(mft); i++) {
		ib_net16_t want[IB_MCAST_BLOCK_SIZE];

		mft_get(mft, i, want);
		if (!memcmp(want, mft->has[i], sizeof(want)))
			continue;
		if (!ranges.n || ranges.last != i / mft->n_positions)
			ranges_add(&ranges, i / mft->n_positions);
		n++;
	}
	ranges_end(&ranges);
	lacks_add(lacks, MFT_BLOCKS, n, ranges.text);
}

/* false: opensm ends, or no memory, which is said. */
static bool compare_multicast(struct lacks *lacks, struct engine_ctx *ctx)
{
	struct plugin *plugin = ctx->plugin;
	const osm_subn_t *subn = &plugin->osm->subn;
	struct osr_arena arena = { 0 };
	uint32_t n = 0;
	struct mft *mft;
	bool good;

	if (!osr_lock(plugin->osm, LOCK_ALONE))
		return false;
	mft = osr_alloc(&arena, cl_qmap_count(&subn->sw_guid_tbl), sizeof(*mft));
	good = mft;
	for (osm_switch_t *sw = osr_switches(subn); good && sw; sw = osr_after(subn, sw))
		good = mft_ask(&mft[n++], plugin, sw, &arena);
	cl_plock_release(&plugin->osm->lock);
	if (!osr_wait_for_answers(plugin->osm) || !osr_lock(plugin->osm, LOCK_ALONE)) {
		osr_arena_free(&arena);
		return false;
	}
	/* The tables of the switches; then OpenSM's copy is the one that it has sent. */
	for (uint32_t i = 0; good && i < n; i++)
		for (uint32_t k = 0; k < mft_size(&mft[i]); k++)
			mft_get(&mft[i], k, mft[i].has[k]);
	osr_mcast_again(ctx);
	for (uint32_t i = 0; good && i < n; i++) {
		mft_compare(lacks, &mft[i]);
		lacks_node(lacks, plugin->osm, mft[i].sw->p_node);
	}
	cl_plock_release(&plugin->osm->lock);
	osr_arena_free(&arena);
	if (!good)
		osr_log(plugin->osm, OSM_LOG_ERROR,
			"ERR OR09: out of memory: multicast tables are not read back");
	return good;
}

/*
 * What is said ----------------------------------------------------------------------------------
 */

static bool lacks_nothing(const struct lacks *lacks)
{
	return !lacks->n_nodes;
}

bool osr_confirmed(const struct plugin *plugin)
{
	return lacks_nothing(&plugin->confirm->lacks[UNICAST]) &&
	       lacks_nothing(&plugin->confirm->lacks[MULTICAST]);
}

const char *osr_confirm_text(const struct plugin *plugin)
{
	struct confirm *confirm = plugin->confirm;

	if (osr_confirmed(plugin))
		return NULL;
	snprintf(confirm->in_use, sizeof(confirm->in_use),
		 "nothing: nodes that do not hold the tables they were sent: %u (OR19)",
		 confirm->lacks[UNICAST].n_nodes + confirm->lacks[MULTICAST].n_nodes);
	return confirm->in_use;
}

/*
 * Tables that a trap or a single sweep could not deliver are sent by the sweep under way, if the
 * node still exists, and the sentence is about the tables of that sweep.
 */
const char *osr_confirm_doubt(const struct plugin *plugin)
{
	struct confirm *confirm = plugin->confirm;
	uint32_t n = 0;

	for (unsigned stage = 0; stage < N_STAGES; stage++)
		n += confirm->standing[stage] == REFUSED ? confirm->lacks[stage].n_nodes : 0;
	if (!n)
		return NULL;
	snprintf(confirm->doubt, sizeof(confirm->doubt),
		 "nothing: nodes that did not take the tables of the two sweeps before: %u (OR19)",
		 n);
	return confirm->doubt;
}

void osr_confirm_claims(struct plugin *plugin, const char *claims)
{
	snprintf(plugin->confirm->claims, sizeof(plugin->confirm->claims), "%s", claims);
}

json_t *osr_confirm_json(const struct plugin *plugin)
{
	const struct lacks *lacks = plugin->confirm->lacks;
	json_t *json = json_pack("{s:I}", "nodes",
				 (json_int_t)lacks[UNICAST].n_nodes + lacks[MULTICAST].n_nodes);

	for (unsigned i = 0; i < N_TABLES; i++)
		json_object_set_new(json, table_names[i],
				    json_integer((json_int_t)lacks[UNICAST].n[i] +
						 (json_int_t)lacks[MULTICAST].n[i]));
	return json;
}

/*
 * After a sweep: has a node lacked its tables after the sweep before, too? Without memory for all of
 * them: perhaps, so yes. The nodes of this sweep are then those of the sweep before.
 */
static bool lacks_again(struct confirm *confirm, unsigned stage)
{
	struct guids *nodes = &confirm->lacks[stage].nodes, *lacked = &confirm->lacked[stage];
	bool again = nodes->incomplete || lacked->incomplete;

	osr_guids_sort(nodes);
	for (uint32_t i = 0; i < nodes->n; i++)
		again |= osr_guids_have(lacked, nodes->guid[i]);
	osr_guids_clear(lacked);
	*lacked = *nodes;
	memset(nodes, 0, sizeof(*nodes));
	return again;
}

/*
 * A switch that dies during a sweep does not answer. After a trap, neither does a switch behind a
 * dead cable that nobody has reported yet. So a missing answer is an error only if the same node
 * lacks its tables after two sweeps in a row: the second sweep is the discovery that follows a
 * trap, or one requested here, and a node that it does not find has no tables to hold.
 */
static void confirm_report(struct plugin *plugin, unsigned stage, bool discovery_follows)
{
	const struct engine_ctx *ctx = osr_ctx_of(plugin, plugin->osm->routing_engine_used);
	struct confirm *confirm = plugin->confirm;
	const struct lacks *lacks = &confirm->lacks[stage];
	bool again = !discovery_follows && lacks_again(confirm, stage);
	char more[40] = "";

	if (lacks_nothing(lacks)) {
		if (confirm->standing[stage] != HELD && osr_confirmed(plugin)) {
			confirm->n_rings = 0;
			osr_log(plugin->osm, OSM_LOG_INFO,
				"%s: all nodes hold the tables they were sent; proven: %s",
				ctx->engine->name, confirm->claims);
		}
		confirm->standing[stage] = HELD;
		return;
	}
	plugin->up = false;
	if (lacks->n_nodes > lacks->n_named)
		snprintf(more, sizeof(more), "; and %u more", lacks->n_nodes - lacks->n_named);
	if (!again) {
		osr_log(plugin->osm, OSM_LOG_INFO,
			"%s: nodes that do not hold the tables they were sent: %u (%s%s); the next "
			"sweep sends them again",
			ctx->engine->name, lacks->n_nodes, lacks->text, more);
		if (!discovery_follows) {
			confirm->standing[stage] = LACKED;
			osr_ask_sweep(plugin);
		}
		return;
	}
	confirm->standing[stage] = REFUSED;
	/* Less and less often. */
	cl_timer_start(&confirm->timer,
		       FIRST_S * 1000u
			       << (confirm->n_rings < MOST_RINGS ? confirm->n_rings : MOST_RINGS));
	osr_log(plugin->osm, OSM_LOG_ERROR,
		"ERR OR19: %s: nodes that do not hold the tables they were sent: %u (%s%s): "
		"nothing is proven of the routes in use; they are sent again",
		ctx->engine->name, lacks->n_nodes, lacks->text, more);
}

static void confirm_forget(struct confirm *confirm)
{
	for (unsigned stage = 0; stage < N_STAGES; stage++) {
		lacks_clear(&confirm->lacks[stage]);
		osr_guids_clear(&confirm->lacked[stage]);
		confirm->standing[stage] = HELD;
	}
}

void osr_confirm_unicast(struct plugin *plugin, bool discovery_follows)
{
	const struct engine_ctx *ctx = osr_ctx_of(plugin, plugin->osm->routing_engine_used);
	struct confirm *confirm = plugin->confirm;

	lacks_clear(&confirm->lacks[UNICAST]);
	if (!ctx || !ctx->current) {
		/* Nothing of ours is in the switches. */
		confirm_forget(confirm);
	} else if (osr_lock(plugin->osm, LOCK_SHARED)) {
		compare_unicast(&confirm->lacks[UNICAST], ctx, discovery_follows);
		cl_plock_release(&plugin->osm->lock);
		confirm_report(plugin, UNICAST, discovery_follows);
	}
	osr_slvl_drop(plugin);
}

void osr_confirm_multicast(struct plugin *plugin)
{
	struct engine_ctx *ctx = osr_ctx_of(plugin, plugin->osm->routing_engine_used);
	struct confirm *confirm = plugin->confirm;

	lacks_clear(&confirm->lacks[MULTICAST]);
	if (ctx && ctx->current && !plugin->osm->subn.opt.disable_multicast &&
	    compare_multicast(&confirm->lacks[MULTICAST], ctx))
		confirm_report(plugin, MULTICAST, false);
}

/* Opening and closing -------------------------------------------------------------------------- */

static void timer_rings(void *context)
{
	struct plugin *plugin = context;

	plugin->confirm->n_rings++;
	if (!osr_not_master(plugin))
		osr_ask_sweep(plugin);
}

static bool confirm_open(struct plugin *plugin)
{
	cl_timer_construct(&plugin->confirm->timer);
	return cl_timer_init(&plugin->confirm->timer, timer_rings, plugin) == CL_SUCCESS;
}

static void confirm_close(struct plugin *plugin)
{
	cl_timer_destroy(&plugin->confirm->timer);
	confirm_forget(plugin->confirm);
}

const struct feature osr_confirm = {
	.size = sizeof(struct confirm),
	.state = offsetof(struct plugin, confirm),
	.open = confirm_open,
	.on = { [ON_CLOSE] = confirm_close },
};

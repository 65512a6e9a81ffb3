/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * A checked routing becomes OpenSM's LFTs: one row per destination turns into one row per switch.
 *
 * Nothing here may fail half way, because the next engine in OpenSM's list inherits what is
 * written: every buffer is looked at before the first is touched.
 *
 * Tables in two rounds (core/transition/transition.h): OpenSM sends the blocks in an order that it
 * does not promise, but all of one round are confirmed before the next begins. OpenSM sends the
 * first round as the engine's tables. At its event UCAST_ROUTING_DONE, or when a trap's tables are
 * out, the new tables follow.
 */
#include <osmroutes/each.h>

#include "sweep.h"

#include <assert.h>
#include <inttypes.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "file.h"
#include "metrics.h"
#include "trap.h"
#include "io/pathsl.h"

#define TILE 64

/* The present tables. Packets on their way through a drained switch still find it. */
static void publish_same(osm_switch_t *const *sw, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		if (sw[i]->new_lft)
			memcpy(sw[i]->new_lft, sw[i]->lft, sw[i]->lft_size);
}

static void publish_all(const struct osr_fabric *fabric, const struct osr_routing *routing,
			const struct snapshot *snap)
{
	uint32_t n = fabric->n_switches, n_dests = fabric->n_dests;

	for (uint32_t s = 0; s < n; s++)
		memset(snap->sw[s]->new_lft, OSR_NO_PATH, snap->sw[s]->lft_size);
	/*
	 * A tile stays in the first-level cache while it is read along switches and written along
	 * LIDs.
	 */
	for (uint32_t d0 = 0; d0 < n_dests; d0 += TILE)
		for (uint32_t s0 = 0; s0 < n; s0 += TILE)
			for (uint32_t s = s0; s < n && s < s0 + TILE; s++)
				for (uint32_t d = d0; d < n_dests && d < d0 + TILE; d++)
					snap->sw[s]->new_lft[fabric->dest_lid[d]] =
						routing->lft[(size_t)d * n + s];
	publish_same(snap->sw_out, snap->n_sw_out);
}

/*
 * The first round: the present tables without the withdrawn entries, and the new entries where no
 * old table leads.
 */
static void publish_first_round(const struct osr_fabric *fabric, const struct osr_routing *routing,
				const struct snapshot *snap)
{
	uint32_t n = fabric->n_switches;

	publish_same(snap->sw, n);
	publish_same(snap->sw_out, snap->n_sw_out);
	for (uint64_t i = 0; i < routing->stable.n_withdrawn; i++) {
		uint64_t at = routing->withdrawn[i];

		assert(n);
		snap->sw[at % n]->new_lft[fabric->dest_lid[at / n]] = OSR_NO_PATH;
	}
	for (uint32_t i = 0; i < routing->n_early; i++) {
		uint32_t s = routing->early[i];
		osm_switch_t *sw = snap->sw[s];

		memset(sw->new_lft, OSR_NO_PATH, sw->lft_size);
		OSR_EACH_DEST(d, fabric)
			sw->new_lft[fabric->dest_lid[d]] = routing->lft[(size_t)d * n + s];
	}
}

/*
 * Links from each switch to the destination, the link to a CA or router included, by following the
 * table: `stack` holds the switches on the way until one is reached whose count is known.
 */
static void publish_count_hops(const struct osr_fabric *fabric, const struct osr_routing *routing,
			       uint32_t d, uint8_t *hops, uint32_t *stack)
{
	const uint8_t *lft = routing->lft + (size_t)d * fabric->n_switches;

	memset(hops, OSR_NO_PATH, fabric->n_switches);
	hops[fabric->dest_switch[d]] = fabric->term_port[fabric->dest_term[d]] ? 1 : 0;
	OSR_EACH_SWITCH(s, fabric) {
		uint32_t n = 0, at = s;

		if (lft[s] == OSR_NO_PATH)
			continue;
		while (hops[at] == OSR_NO_PATH) {
			stack[n++] = at;
			at = fabric->chan_dst[osr_port_channel(fabric, at, lft[at])];
		}
		for (uint8_t h = hops[at]; n;) {
			/* OpenSM counts in bytes, and 255 is its mark for none. */
			h = h < OSR_NO_PATH - 1 ? h + 1 : h;
			hops[stack[--n]] = h;
		}
	}
}

/*
 * DIFFERS from stock only in what it costs: as there, every LID of every switch gets the count at
 * the port in its table, and switch_count_path feeds the port profile that OpenSM's dumps show.
 */
static enum osr_status publish_hops(struct osm_opensm *osm, const struct osr_fabric *fabric,
				    const struct osr_routing *routing, const struct snapshot *snap,
				    struct osr_arena *scratch, struct osr_diag *diag)
{
	uint8_t *hops = osr_alloc(scratch, fabric->n_switches, 1);
	uint32_t *stack = osr_alloc(scratch, fabric->n_switches, sizeof(*stack));

	if (!hops || !stack)
		return osr_fail(diag, OSR_NOMEM, "out of memory for OpenSM's hop counts");
	OSR_EACH_SWITCH(s, fabric)
		osm_switch_clear_hops(snap->sw[s]);
	OSR_EACH_DEST(d, fabric) {
		const uint8_t *lft = routing->lft + (size_t)d * fabric->n_switches;
		bool counts = fabric->term_role[fabric->dest_term[d]] != OSR_ROLE_SP0 ||
			      osm->subn.opt.port_profile_switch_nodes;

		publish_count_hops(fabric, routing, d, hops, stack);
		OSR_EACH_SWITCH(s, fabric) {
			uint32_t c =
				osr_port_channel(fabric, s, lft[s] == OSR_NO_PATH ? 0 : lft[s]);

			if (lft[s] == OSR_NO_PATH)
				continue;
			if (osm_switch_set_hops(snap->sw[s], fabric->dest_lid[d], lft[s], hops[s]))
				return osr_fail(diag, OSR_NOMEM,
						"out of memory for OpenSM's hop counts");
			if (counts &&
			    (c == OSR_NONE || !(fabric->chan_flags[c] & OSR_CHAN_UNCOUNTED)))
				osm_switch_count_path(snap->sw[s], lft[s]);
		}
	}
	return OSR_OK;
}

#define PATH_SL_DUMP "opensm-path-sl.dump"

void osr_publish_path_sl(struct osm_opensm *osm, const struct osr_fabric *fabric,
			 const struct osr_routing *routing)
{
	const char *dir = osm->subn.opt.dump_files_dir;
	const struct osr_place place = { .dir = dir, .mode = 0644 };
	struct osr_page page = { .name = PATH_SL_DUMP };
	struct osr_diag diag = { "out of memory" };
	char path[PATH_MAX], *text = NULL;
	FILE *out;

	if (!osm_log_is_active(&osm->log, OSM_LOG_ROUTING) || !dir)
		return;
	if (!routing) {
		if (snprintf(path, sizeof(path), "%s/" PATH_SL_DUMP, dir) < (int)sizeof(path))
			unlink(path);
		return;
	}
	out = open_memstream(&text, &page.size);
	if (out)
		osr_pathsl_write(fabric, routing, out);
	if (out && !fclose(out)) {
		page.bytes = text;
		*diag.text = '\0';
		osr_file_replace(&place, &page, &diag);
	}
	if (*diag.text)
		osr_log(osm, OSM_LOG_INFO, "no dump of path SLs: %s", diag.text);
	free(text);
}

enum osr_status osr_publish(struct sweep *sweep)
{
	const struct osr_fabric *fabric = &sweep->slot->result.fabric;
	const struct osr_routing *routing = osr_shown(sweep->slot);
	struct osr_routing with_sls = *routing;
	size_t n = fabric->n_switches;
	enum osr_status st;

	for (uint32_t s = 0; s < n; s++) {
		const osm_switch_t *sw = sweep->snap.sw[s];
		char buf[32];

		if (!sw || !sw->new_lft || sw->lft_size <= fabric->max_lid ||
		    sw->max_lid_ho < fabric->max_lid)
			return osr_fail(
				&sweep->diag, OSR_BUG,
				"OpenSM prepared a table of %u LIDs for switch %s, the highest LID "
				"is %u",
				sw ? sw->max_lid_ho : 0, osr_switch_name(fabric, s, buf),
				fabric->max_lid);
	}
	/* The dumps of log flag ROUTING read hop counts. */
	if (osm_log_is_active(&sweep->osm->log, OSM_LOG_ROUTING)) {
		st = publish_hops(sweep->osm, fabric, routing, &sweep->snap, &sweep->scratch,
				  &sweep->diag);
		/* Half a matrix must not lead the next engine astray. */
		for (uint32_t s = 0; st && s < n; s++)
			osm_switch_clear_hops(sweep->snap.sw[s]);
		if (st)
			return st;
	}
	if (sweep->in_rounds) {
		sweep->ctx->plugin->ms_withdrawn = osr_sweep_clock_ms();
		publish_first_round(fabric, &sweep->slot->result.routing, &sweep->snap);
	} else {
		publish_all(fabric, routing, &sweep->snap);
	}
	if (osr_is_any_sl(routing, sweep->slot->verdict.proven))
		with_sls.sl = NULL;
	osr_publish_path_sl(sweep->osm, fabric, &with_sls);
	return OSR_OK;
}

/* Two rounds ----------------------------------------------------------------------------------- */

/* Do all switches hold OpenSM's copy of their tables, and are they sent the difference only? */
bool osr_rounds_may(const struct sweep *sweep)
{
	const struct engine_ctx *ctx = sweep->ctx;
	const osm_subn_t *subn = &sweep->osm->subn;

	return osr_traps_were_settled(ctx->plugin) && ctx->current && !sweep->reused &&
	       !ctx->plugin->second_round && !ctx->others_routed && !sweep->slot->has_keys &&
	       !ctx->current->has_keys && !subn->need_update && !subn->first_time_master_sweep &&
	       !subn->coming_out_of_standby && !subn->opt.use_ucast_cache;
}

uint32_t osr_rounds_blocks(struct osm_opensm *osm)
{
	const osm_subn_t *subn = &osm->subn;
	uint32_t n = 0;

	for (osm_switch_t *sw = osr_switches(subn); sw; sw = osr_after(subn, sw))
		for (unsigned at = 0; at + IB_SMP_DATA_SIZE <= sw->lft_size && at <= sw->max_lid_ho;
		     at += IB_SMP_DATA_SIZE)
			n += memcmp(sw->lft + at, sw->new_lft + at, IB_SMP_DATA_SIZE) != 0;
	return n;
}

uint32_t osr_rounds_finish(struct plugin *plugin)
{
	struct engine_ctx *ctx = plugin->second_round;
	struct osr_arena arena = { 0 };
	struct snapshot snap = { 0 };
	const struct osr_fabric *fabric;
	uint32_t n_blocks = 0, n_refused;
	osm_switch_t **sw;
	uint8_t *marks;
	bool good;

	if (!ctx || !ctx->current)
		return 0;
	fabric = &ctx->current->result.fabric;
	if (!osr_lock(plugin->osm, LOCK_ALONE))
		return 0;
	n_refused = osr_rounds_blocks(plugin->osm);
	if (n_refused) {
		osr_metrics_set(plugin, "stable", "together", 0);
		osr_log(plugin->osm, OSM_LOG_INFO,
			"%u LFT blocks of the first round are not in their switches: the "
			"transition is not proven",
			n_refused);
	}
	/* OpenSM's switches in the order of the fabric, unless one is gone. */
	snap.sw = sw = osr_alloc(&arena, fabric->n_switches, sizeof(*sw));
	marks = osr_alloc(&arena, fabric->n_switches, 1);
	good = sw && marks;
	for (uint32_t s = 0; good && s < fabric->n_switches; s++) {
		sw[s] = osm_get_switch_by_guid(&plugin->osm->subn, cl_hton64(fabric->sw_guid[s]));
		good = sw[s] && sw[s]->new_lft && sw[s]->lft_size > fabric->max_lid;
	}
	if (good) {
		publish_all(fabric, osr_shown(ctx->current), &snap);
		/* OpenSM's mark that a switch wants all blocks: it has just been sent them. */
		OSR_EACH_SWITCH(s, fabric) {
			marks[s] = (uint8_t)sw[s]->need_update;
			sw[s]->need_update = 0;
		}
		n_blocks = osr_rounds_blocks(plugin->osm);
		osm_ucast_mgr_set_fwd_tables(&plugin->osm->sm.ucast_mgr);
		OSR_EACH_SWITCH(s, fabric)
			sw[s]->need_update = marks[s];
		plugin->second_round = NULL;
	} else {
		/* The next sweep sends the missing tables, and knows that they are missing. */
		plugin->osm->subn.subnet_initialization_error = TRUE;
	}
	cl_plock_release(&plugin->osm->lock);
	osr_arena_free(&arena);
	if (!osr_wait_for_answers(plugin->osm))
		return n_blocks;
	osr_log(plugin->osm, OSM_LOG_INFO,
		"second round of tables: %u LFT blocks; entries were withdrawn for %.1f ms at most",
		n_blocks, osr_sweep_clock_ms() - plugin->ms_withdrawn);
	return n_blocks;
}

static void rounds_sent(struct plugin *plugin)
{
	osr_rounds_finish(plugin);
}

const struct feature osr_rounds = {
	.on = { [ON_ROUTED] = rounds_sent },
};

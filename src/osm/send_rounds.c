/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Tables in two rounds (core/transition/transition.h). OpenSM sends the blocks in an order that it does not
 * promise, but all of one round are confirmed before the next begins. In the first round every switch is
 * given what it has, without the entries that are withdrawn; OpenSM sends that as the engine's tables. At
 * its event UCAST_ROUTING_DONE, or when a trap's tables are out, the new tables follow.
 */
#include "send_rounds.h"

#include "publish.h"
#include "sweep.h"
#include "trap.h"

#include <string.h>

/* Has every switch what OpenSM holds for it, and is it sent the difference only? */
bool osr__rounds_may(const struct sweep *w)
{
	const struct engine_ctx *ctx = w->ctx;
	const osm_subn_t *subn = &w->osm->subn;

	return osr__traps_were_settled(ctx->plugin) && ctx->current && !w->reused &&
	       !ctx->plugin->second_round && !ctx->others_routed && !w->slot->has_keys &&
	       !ctx->current->has_keys && !subn->need_update && !subn->first_time_master_sweep &&
	       !subn->coming_out_of_standby && !subn->opt.use_ucast_cache;
}

void osr__rounds_publish_first(const struct sweep *w)
{
	const struct osr_fabric *fabric = &w->slot->result.fabric;
	const struct osr_routing *routing = &w->slot->result.routing;
	size_t n = fabric->n_switches;

	w->ctx->plugin->ms_withdrawn = osr__sweep_clock_ms();
	osr__publish_same(w->snap.sw, fabric->n_switches);
	osr__publish_same(w->snap.sw_out, w->snap.n_sw_out);
	for (uint64_t i = 0; i < routing->stable.n_withdrawn; i++) {
		uint64_t at = routing->withdrawn[i];

		w->snap.sw[at % n]->new_lft[fabric->dest_lid[at / n]] = OSR_NO_PATH;
	}
}

uint32_t osr__rounds_blocks(struct osm_opensm *osm)
{
	const osm_subn_t *subn = &osm->subn;
	uint32_t n = 0;

	for (osm_switch_t *sw = osr__switches(subn); sw; sw = osr__after(subn, sw))
		for (unsigned at = 0; at + IB_SMP_DATA_SIZE <= sw->lft_size && at <= sw->max_lid_ho;
		     at += IB_SMP_DATA_SIZE)
			n += memcmp(sw->lft + at, sw->new_lft + at, IB_SMP_DATA_SIZE) != 0;
	return n;
}

/* OpenSM's switches in the order of the fabric; NULL: one is gone, or no memory. */
static osm_switch_t **switches_of(const struct plugin *p, const struct osr_fabric *fabric,
				  struct osr_arena *arena)
{
	osm_switch_t **sw = osr_alloc(arena, fabric->n_switches, sizeof(*sw));

	for (uint32_t s = 0; sw && s < fabric->n_switches; s++) {
		sw[s] = osm_get_switch_by_guid(&p->osm->subn, cl_hton64(fabric->sw_guid[s]));
		if (!sw[s] || !sw[s]->new_lft || sw[s]->lft_size <= fabric->max_lid)
			return NULL;
	}
	return sw;
}

uint32_t osr__rounds_finish(struct plugin *p)
{
	struct engine_ctx *ctx = p->second_round;
	struct osr_arena arena = { 0 };
	struct snapshot snap = { 0 };
	const struct osr_fabric *fabric;
	uint32_t n_blocks = 0;
	uint8_t *marks;

	if (!ctx || !ctx->current)
		return 0;
	fabric = &ctx->current->result.fabric;
	if (!osr__lock(p->osm, LOCK_ALONE))
		return 0;
	snap.sw = switches_of(p, fabric, &arena);
	marks = osr_alloc(&arena, fabric->n_switches, 1);
	if (snap.sw && marks) {
		osm_switch_t **sw;

		osr__publish(fabric, osr__shown(ctx->current), &snap);
		/* OpenSM's mark that a switch wants all blocks: it has just been sent them. */
		sw = snap.sw;
		for (uint32_t s = 0; s < fabric->n_switches; s++) {
			marks[s] = (uint8_t)sw[s]->need_update;
			sw[s]->need_update = 0;
		}
		n_blocks = osr__rounds_blocks(p->osm);
		osm_ucast_mgr_set_fwd_tables(&p->osm->sm.ucast_mgr);
		for (uint32_t s = 0; s < fabric->n_switches; s++)
			sw[s]->need_update = marks[s];
		p->second_round = NULL;
	} else {
		/* The next sweep sends what is missing, and knows that it is. */
		p->osm->subn.subnet_initialization_error = TRUE;
	}
	cl_plock_release(&p->osm->lock);
	osr_arena_free(&arena);
	if (!osr__wait_for_answers(p->osm))
		return n_blocks;
	osr__log(
		p->osm, OSM_LOG_INFO,
		"second round of tables: %u LFT blocks; entries were withdrawn for %.1f ms at most",
		n_blocks, osr__sweep_clock_ms() - p->ms_withdrawn);
	return n_blocks;
}

static void rounds_sent(struct plugin *p)
{
	osr__rounds_finish(p);
}

const struct feature osr__rounds = {
	.on = { [ON_ROUTED] = rounds_sent },
};

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * A sweep that the keys asked for: no discovery, and no engine. The subnet must be what it was when
 * the base was routed; then the base stays, byte for byte, and other entries are laid over it.
 */
#include "keys.h"
#include "metrics.h"
#include "publish.h"

#include "sweep.h"

#include <inttypes.h>
#include <string.h>

/* false: nothing was published, and OpenSM's buffers hold no tables yet. */
static bool lay_over_base(struct sweep *w)
{
	struct sweep_slot *slot = w->slot;
	struct osr_result before = slot->result;
	struct osr_arena had = slot->keys_arena;
	enum osr_status st;

	before.routing = *osr__shown(slot);
	/* What the switches have is compared with what they get, so it lives a little longer. */
	slot->keys_arena = (struct osr_arena){ 0 };
	/* Those of the sweep that routed the base: the switches have them, and need others now. */
	slot->changes = NULL;
	slot->verdict = slot->base_verdict;
	w->ms_route = osr__sweep_clock_ms();
	osr__keys_lay(w->ctx->plugin, slot, &w->scratch);
	w->ms_check = osr__sweep_clock_ms();
	st = osr__sweep_publish(w);
	if (!st) {
		w->ms_publish = osr__sweep_clock_ms();
		osr__sweep_report(w, &before);
		osr__metrics_note(w, OUTCOME_KEYS);
		osr__keys_rest(w->ctx->plugin, w->ms_publish - w->ms_start);
	}
	osr_arena_free(&had);
	return !st;
}

bool osr__keys_sweep(struct sweep *w)
{
	struct engine_ctx *ctx = w->ctx;
	struct osr_arena arena = { 0 };
	struct osr_fabric fabric;
	bool alone = osr__keys_asked(ctx->plugin) && ctx->current && !ctx->refuse;

	if (!alone)
		return false;
	alone = !osr__snapshot(w->ctx->plugin, SNAPSHOT_ALL_LIDS, &arena, &w->scratch, &fabric,
			       &w->snap, &w->diag);
	if (alone) {
		struct qos_tables qos;
		const struct sweep_slot *slot = w->ctx->current;

		osr__vl_budget(w->osm, &fabric, &ctx->plugin->options, &w->snap.limit);
		/* Would the engine be asked the same question? */
		memset(&qos, 0, sizeof(qos));
		osr__qos_tables(w->osm, &w->snap, &qos);
		alone = osr_fabric_equal(&fabric, &slot->result.fabric) &&
			w->snap.limit.vls == slot->budget && !memcmp(&qos, &slot->qos, sizeof(qos));
	}
	osr_arena_free(&arena);
	w->ms_snapshot = osr__sweep_clock_ms();
	if (alone) {
		w->slot = ctx->current;
		w->keys_only = true;
		alone = lay_over_base(w);
		w->keys_only = alone;
	}
	return alone;
}

void osr__keys_report(const struct sweep *w)
{
	const struct sweep_slot *slot = w->slot;
	double cpu, ms = osr__keys_ms(w->ctx->plugin, &cpu);

	if (slot->has_keys)
		osr__log(w->osm, osr__log_details(w->ctx->plugin),
			 "%s: routing keys: %u entries added to the base tables (digest %016" PRIx64
			 ") and checked in %.1f ms, %.1f ms of CPU",
			 w->ctx->engine->name, slot->n_key_entries, slot->result.digest, ms, cpu);
}

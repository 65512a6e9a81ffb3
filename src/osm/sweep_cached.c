/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Tables that OpenSM took from its unicast cache, instead of calling us: what it programmed is checked. */
#include "sweep.h"

#include "core/proved/gate.h"
#include "keys.h"
#include "metrics.h"
#include "publish.h"

static enum osr_status check_cached(struct sweep *w, enum snapshot_lids lids, struct osr_diag *diag)
{
	struct osr_fabric *fabric = &w->slot->result.fabric;
	struct osr_routing *routing = &w->slot->result.routing;
	struct osr_result last = w->ctx->current->result;
	enum osr_status st;

	last.routing = *osr__shown(w->ctx->current);
	st = osr__snapshot(w->ctx->plugin, lids, &w->slot->arena, &w->scratch, fabric, &w->snap,
			   diag);
	if (!st)
		st = osr__reuse_cached(&last, fabric, &w->snap, &w->slot->arena, &w->scratch,
				       routing, diag);
	if (!st)
		st = osr_check(fabric, routing, &w->scratch, &w->slot->verdict, diag);
	if (!st)
		st = osr_gate(fabric, routing, &w->scratch, diag);
	w->ms_check = osr__sweep_clock_ms();
	if (st)
		return st;
	osr__qos_tables(w->osm, &w->snap, &w->slot->qos);
	/* QoS may have been switched off since, or a switch without SL2VL tables have come. */
	osr__vl_budget(w->osm, fabric, &w->ctx->plugin->options, &w->snap.limit);
	if (routing->n_vls > w->snap.limit.vls)
		return osr_fail(diag, OSR_CHECK_FAILED, "the tables use %u virtual lanes of %u: %s",
				routing->n_vls, w->snap.limit.vls, w->snap.limit.why);
	w->n_changed = osr_routing_changed(&last, fabric, routing, &w->n_entries);
	w->slot->digest = osr_routing_digest(fabric, routing);
	return OSR_OK;
}

static void report_cached(const struct sweep *w, enum snapshot_lids lids)
{
	char proven[200];

	osr__proven_text(w, proven, sizeof(proven));
	osr__log(w->osm, OSM_LOG_INFO,
		 "%s: tables from OpenSM's unicast cache checked in %.1f ms: %u switches, %u "
		 "%sLIDs; proven: %s",
		 w->ctx->engine->name, w->ms_check - w->ms_start, w->slot->result.fabric.n_switches,
		 w->slot->result.fabric.n_dests, lids == SNAPSHOT_HOST_LIDS ? "CA and router " : "",
		 proven);
}

/*
 * OpenSM keeps its cache when a leaf switch is gone. On a tree that leaf may have been the way from
 * one top switch to another, which matters to nobody; a lost way to a CA does. So what fails as a
 * whole is checked once more for the LIDs of CAs and routers, and only if these fail, too, OpenSM
 * is made to route.
 */
static void check_all_cached(struct sweep *w)
{
	struct osr_diag hosts = { "" };
	enum osr_status st = check_cached(w, SNAPSHOT_ALL_LIDS, &w->diag);

	if (!st) {
		report_cached(w, SNAPSHOT_ALL_LIDS);
		osr__keys_fabric(w->ctx->plugin, &w->slot->result.fabric);
		osr__metrics_note(w, OUTCOME_CACHED);
		return;
	}
	osr__log(w->osm, OSM_LOG_ERROR, "ERR OR10: %s: tables from OpenSM's unicast cache %s: %s",
		 w->ctx->engine->name,
		 st == OSR_CHECK_FAILED ? "fail the check" : "could not be checked", w->diag.text);
	if (st != OSR_CHECK_FAILED) {
		osr__metrics_note(w, OUTCOME_FAILED);
		return;
	}
	osr__slot_clear(w->slot);
	st = check_cached(w, SNAPSHOT_HOST_LIDS, &hosts);
	osr__metrics_note(w, st ? OUTCOME_CACHE_BAD : OUTCOME_CACHED_HOSTS);
	if (!st) {
		report_cached(w, SNAPSHOT_HOST_LIDS);
		osr__keys_fabric(w->ctx->plugin, &w->slot->result.fabric);
	} else if (w->osm->sm.ucast_mgr.cache_valid) {
		osr__log(w->osm, OSM_LOG_ERROR, "ERR OR10: %s: a new sweep has to route: %s",
			 w->ctx->engine->name, hosts.text);
		osm_ucast_cache_invalidate(&w->osm->sm.ucast_mgr);
		w->osm->subn.force_heavy_sweep = TRUE;
	}
}

void osr__sweep_cached(struct engine_ctx *ctx)
{
	struct sweep_slot slot = { 0 };
	struct sweep w = {
		.ctx = ctx,
		.osm = ctx->plugin->osm,
		.slot = &slot,
		.ms_start = osr__sweep_clock_ms(),
	};

	if (!ctx->current || !osr__lock(w.osm, LOCK_ALONE))
		return;
	/* If no switch answers OpenSM calls no engine, and there are no tables. */
	if (cl_qmap_count(&w.osm->subn.sw_guid_tbl))
		check_all_cached(&w);
	cl_plock_release(&w.osm->lock);
	osr_arena_free(&w.scratch);
	osr__slot_clear(&slot);
	osr_arena_free(&slot.arena);
}

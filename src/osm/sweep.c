/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * One sweep: snapshot -> osr_sweep() of the core -> publish. Three result slots take turns, so the
 * last checked result, and the one it was repaired from, survive until the next has passed the
 * checker.
 *
 * When routing or its check fails, OpenSM's next engine is usually minhop, which nobody checks. So
 * the last checked tables come first, if they still fit (core/data/carry.h).
 */
#include "sweep.h"

#include "conf/posix_threads.h"
#include "core/data/carry.h"
#include "store/store.h"
#include "core/verify/union.h"
#include "confirm.h"
#include "keys.h"
#include "mcast_groups.h"
#include "metrics.h"
#include "slvl.h"
#include "storefile.h"
#include "upkeep.h"
#include "core/proved/gate.h"

#include <osmroutes/sweep.h>

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Why the transition is not looked at. */
#define OTHERS "another engine or subnet manager has routed since the last tables of this one"

#define HALF "only the first of two rounds of the last tables was sent"
#define REFUSED "some switches do not hold the last tables"

static void slot_clear(struct sweep_slot *slot)
{
	struct osr_arena arena;

	/* On a small fabric fresh pages would cost more than the routing. */
	osr_arena_empty(&slot->arena);
	osr_arena_free(&slot->keys_arena);
	arena = slot->arena;
	memset(slot, 0, sizeof(*slot));
	slot->arena = arena;
}

/* Routing -------------------------------------------------------------------------------------- */

/* What the core needs for this sweep; `diag` is where it says what went wrong. */
static struct osr_job make_job(struct sweep *w, struct osr_diag *diag)
{
	const struct engine_ctx *ctx = w->ctx;
	struct osr_job job = { .engine = ctx->engine,
			       .values = ctx->values,
			       .request = { .max_vls = w->snap.limit.vls,
					    .vls_why = w->snap.limit.why,
					    .multicast = !w->osm->subn.opt.disable_multicast,
					    .chosen_sls = osr__chosen_sls(w->osm),
					    .clock_ms = osr__sweep_clock_ms },
			       .previous = osr__before(ctx),
			       .no_transition = ctx->others_routed                 ? OTHERS
						: ctx->plugin->second_round == ctx ? HALF
						: osr__confirm_doubt(ctx->plugin)  ? REFUSED
										   : w->history,
			       .held = w->held.standing ? &w->held : NULL,
			       .scratch = &w->scratch,
			       .arena = &w->slot->arena,
			       .diag = diag };
	struct osr_request *req = &job.request;
	uint8_t sl;

	osr__mcast_sls(w->osm, &sl);
	req->mcast_vl = osr__mcast_vl_of(
		w->osm, &w->slot->qos, (uint16_t)((1u << req->max_vls) - 1), w->snap.link_vls, sl);
	if (req->mcast_vl >= req->max_vls)
		req->mcast_vl = 0; /* on a lane of its own a spanning tree needs no proof */
	return job;
}

struct next_text {
	char text[200];
};

/* The engine that routes where this one does not, and what is known of those tables. */
static struct next_text next_engine(const struct sweep *w)
{
	const struct plugin *p = w->ctx->plugin;
	const struct osm_routing_engine *next = p->engines_known ? w->ctx->re->next : NULL;
	struct next_text next_text;
	const char *name = next ? next->name : p->engines_known ? "minhop" : "next engine";

	if (next && osr__ctx_of(p, next))
		snprintf(next_text.text, sizeof(next_text.text), "%s of osmroutes is next", name);
	else if (!next && p->engines_known && w->osm->no_fallback_routing_engine)
		snprintf(next_text.text, sizeof(next_text.text),
			 "warning: no engine is left and no_fallback is set: there are no new "
			 "tables");
	else
		snprintf(next_text.text, sizeof(next_text.text),
			 "warning: OpenSM's %s is next: nothing is proven of its tables, packets "
			 "may deadlock",
			 name);
	return next_text;
}

/* The tables of the last sweep in place of those that failed; w->diag says what did. */
static enum osr_status fall_back(struct sweep *w, enum osr_status why, struct osr_arena_mark mark)
{
	struct engine_ctx *ctx = w->ctx;
	struct osr_diag diag = { "" };
	enum osr_status st;

	if (!osr__before(ctx)) {
		osr__log(w->osm, OSM_LOG_ERROR, "ERR OR04: %s: %s (%s); %s", ctx->engine->name,
			 w->diag.text, osr_status_str(why), next_engine(w).text);
		return why;
	}
	osr_arena_reset(&w->slot->arena, mark);
	memset(&w->slot->result.routing, 0, sizeof(w->slot->result.routing));
	w->slot->result.baseline = NULL;
	st = osr_carry_again(osr__before(ctx), &w->slot->result.fabric, true, &w->slot->arena,
			     &w->scratch, &w->slot->result.routing, &diag);
	w->ms_route = osr__sweep_clock_ms();
	w->reused = true;
	if (!st) {
		struct osr_job job = make_job(w, &diag);
		struct osr_sweep out = { .reused = true };

		st = osr_sweep_check(&job, &w->slot->result, &out);
		w->slot->verdict = out.verdict;
	}
	if (st) {
		osr__log(w->osm, OSM_LOG_ERROR,
			 "ERR OR04: %s: %s (%s); the last checked tables do not fit any more: "
			 "%s; %s",
			 ctx->engine->name, w->diag.text, osr_status_str(why), diag.text,
			 next_engine(w).text);
		return st;
	}
	osr__log(w->osm, OSM_LOG_ERROR,
		 "ERR OR04: %s: %s (%s); the last checked tables still fit the fabric and are used "
		 "again",
		 ctx->engine->name, w->diag.text, osr_status_str(why));
	return OSR_OK;
}

/* Publishing ----------------------------------------------------------------------------------- */

/* Lanes on which groups of today or tomorrow may run together with the unicast of this result. */
static uint32_t proven_mcast_vls(struct sweep *w)
{
	const struct sweep_slot *slot = w->slot;
	struct osr_routing routing = slot->result.routing;
	uint32_t proven = slot->verdict.proven;
	const struct osr_generation gen = { .routing = &routing };
	struct osr_arena loops = { 0 };
	uint16_t sls, vls;
	uint8_t ignore;

	if (!(proven & OSR_CLAIM_MULTICAST))
		return 0;
	if (osr__any_sl(&routing, proven))
		return UINT32_MAX; /* every lane's unicast is part of the graph that was proven */
	vls = (uint16_t)(1u << routing.mcast_vl);
	if (!routing.sl2vl) /* lanes without routes; tables of its own lead nobody there */
		vls |= (uint16_t) ~((1u << routing.n_vls) - 1);
	sls = osr__mcast_sls(w->osm, &ignore);
	for (uint8_t sl = 0; sl < 16; sl++) {
		uint8_t vl = osr__mcast_vl(w->osm, slot, sl);
		struct osr_loop loop;
		enum osr_status st;

		/* With tables by port pair no VL beyond n_vls is looked at, OSR_MIXED_VLS least of all. */
		if (!(sls & (1u << sl)) || (vls & (1u << vl)) ||
		    (routing.sl2vl && vl >= routing.n_vls))
			continue;
		routing.mcast_vl = vl;
		st = osr_union_loop(&slot->result.fabric, &gen, 1,
				    (proven & OSR_CLAIM_REVERSIBLE) | OSR_CLAIM_MULTICAST,
				    &w->scratch, &loops, &loop, NULL, NULL);
		if (!st && !loop.n)
			vls |= (uint16_t)(1u << vl);
	}
	osr_arena_free(&loops);
	return vls;
}

static enum osr_status complete(struct sweep *w)
{
	struct sweep_slot *slot = w->slot;
	const struct osr_routing *routing = &slot->result.routing;
	enum osr_status st = osr__mcast_prepare(slot, &w->diag);

	if (st)
		return st;
	/* Where one graph serves all lanes, OpenSM's own SL2VL tables do. */
	slot->used_vls = osr__any_sl(routing, slot->verdict.proven) && !routing->sl2vl
				 ? 0
				 : (uint16_t)((1u << routing->n_vls) - 1);
	slot->link_vls = w->snap.link_vls;
	slot->mcast_vls = proven_mcast_vls(w);
	slot->spread_sls = osr__spread_sls(w);
	return OSR_OK;
}

/*
 * Stored tables of another fabric, or of one whose LIDs were given out anew: repairs would make
 * tables out of next to nothing.
 */
static void drop_foreign(struct engine_ctx *ctx, const struct osr_fabric *fabric)
{
	uint32_t n_known;

	if (!ctx->stored || osr_store_fits(&ctx->stored->result, fabric, &n_known))
		return;
	osr__log(ctx->plugin->osm, OSM_LOG_INFO,
		 "%s: the stored tables are of another fabric (%u of %u LIDs are in both) and not "
		 "used: this sweep is a full route",
		 ctx->engine->name, n_known, fabric->n_dests);
	ctx->stored = NULL;
}

static enum osr_status sweep(struct sweep *w)
{
	struct engine_ctx *ctx = w->ctx;
	struct sweep_slot *slot = w->slot;
	struct osr_fabric *fabric = &slot->result.fabric, *standing;
	struct osr_result last;
	struct osr_arena_mark mark;
	struct osr_sweep out;
	struct osr_job job;
	enum osr_status st;

	mark = osr_arena_mark(&slot->arena);
	st = osr__snapshot(ctx->plugin, SNAPSHOT_WHOLE, &slot->arena, &w->scratch, fabric, &w->snap,
			   &w->diag);
	standing = fabric;
	if (!st && osr__upkeep_watch(ctx->plugin, fabric, &w->scratch)) {
		standing = &w->standing;
		st = osr_fabric_copy(fabric, &w->scratch, &w->standing, &w->diag);
		osr_arena_reset(&slot->arena, mark);
	}
	if (!st && standing != fabric)
		st = osr__snapshot(ctx->plugin, SNAPSHOT_ALL_LIDS, &slot->arena, &w->scratch,
				   fabric, &w->snap, &w->diag);
	w->ms_snapshot = osr__sweep_clock_ms();
	if (st)
		goto give_up;
	osr__qos_tables(w->osm, &w->snap, &slot->qos);
	osr__qos_budget(w, fabric, &slot->qos);
	osr__report_fabric(w);
	slot->budget = w->snap.limit.vls;
	if (fabric->n_components > 1 &&
	    ctx->plugin->options.own.num[OPT_ON_SPLIT] == ON_SPLIT_REFUSE) {
		st = osr_fail(&w->diag, OSR_UNREACHABLE, "on_split = refuse");
		goto give_up;
	}
	drop_foreign(ctx, fabric);
	ctx->others_routed |= w->osm->subn.coming_out_of_standby;
	osr__held(w, standing);
	mark = osr_arena_mark(&slot->arena);
	job = make_job(w, &w->diag);
	st = osr_sweep(&job, &slot->result, &out);
	w->refused = out.refused;
	slot->verdict = out.verdict;
	w->ms_transition = out.ms_transition;
	w->ms_route = w->ms_snapshot + out.ms_route + out.ms_transition;
	if (st)
		st = fall_back(w, st, mark);
	if (st)
		return st;
	osr__keys_lay(ctx->plugin, slot, &w->scratch);
	w->ms_check = osr__sweep_clock_ms();
	st = complete(w);
	w->in_rounds = osr_routing_in_rounds(&slot->result.routing) && osr__rounds_may(w);
	if (!st)
		st = osr__publish(w);
	if (st)
		goto give_up;
	w->ms_publish = osr__sweep_clock_ms();
	if (osr__before(ctx)) {
		last = *osr__before(ctx);
		if (ctx->current)
			last.routing = *osr__shown(ctx->current);
	}
	osr__sweep_report(w, osr__before(ctx) ? &last : NULL);
	/* The result becomes the one that path_sl, QoS and multicast look at. */
	ctx->current = slot;
	ctx->plugin->second_round = w->in_rounds ? ctx : NULL;
	ctx->stored = NULL;
	osr__store_due(ctx);
	ctx->mc_warned = 0;
	ctx->mc_warned_sp0 = false;
	osr__qos_renew(ctx);
	return OSR_OK;

give_up:
	osr__log(w->osm, OSM_LOG_ERROR, "ERR OR04: %s: %s (%s); %s", ctx->engine->name,
		 w->diag.text, osr_status_str(st), next_engine(w).text);
	return st;
}

/* Tables that OpenSM took from its unicast cache, instead of calling us: what it programmed is checked. */
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
	osr__qos_budget(w, fabric, &w->slot->qos);
	if (routing->n_vls > w->snap.limit.vls)
		return osr_fail(diag, OSR_CHECK_FAILED, "the tables use %u virtual lanes of %u: %s",
				routing->n_vls, w->snap.limit.vls, w->snap.limit.why);
	w->n_changed = osr_routing_changed(&last, fabric, routing, &w->n_entries);
	w->slot->digest = osr_routing_digest(fabric, routing);
	return OSR_OK;
}

/*
 * OpenSM keeps its cache when a leaf switch is gone. On a tree that leaf may have been the way from
 * one top switch to another, which matters to nobody; a lost way to a CA does. So what fails as a
 * whole is checked once more for the LIDs of CAs and routers, and only if these fail, too, OpenSM
 * is made to route.
 */
static void check_all_cached(struct sweep *w)
{
	for (bool all = true;; all = false) {
		struct osr_diag hosts = { "" };
		enum osr_status st = check_cached(w, all ? SNAPSHOT_ALL_LIDS : SNAPSHOT_HOST_LIDS,
						  all ? &w->diag : &hosts);
		char proven[200];

		if (!st) {
			osr__claims_text(w, proven, sizeof(proven));
			osr__log(w->osm, OSM_LOG_INFO,
				 "%s: tables from OpenSM's unicast cache checked in %.1f ms: %u "
				 "switches, %u %sLIDs; proven: %s",
				 w->ctx->engine->name, w->ms_check - w->ms_start,
				 w->slot->result.fabric.n_switches, w->slot->result.fabric.n_dests,
				 all ? "" : "CA and router ", proven);
			osr__keys_fabric(w->ctx->plugin, &w->slot->result.fabric);
			osr__metrics_note(w, all ? OUTCOME_CACHED : OUTCOME_CACHED_HOSTS);
			return;
		}
		if (!all) {
			osr__metrics_note(w, OUTCOME_CACHE_BAD);
			if (!w->osm->sm.ucast_mgr.cache_valid)
				return;
			osr__log(w->osm, OSM_LOG_ERROR,
				 "ERR OR10: %s: a new sweep has to route: %s", w->ctx->engine->name,
				 hosts.text);
			osm_ucast_cache_invalidate(&w->osm->sm.ucast_mgr);
			osr__ask_sweep(w->ctx->plugin);
			return;
		}
		osr__log(w->osm, OSM_LOG_ERROR,
			 "ERR OR10: %s: tables from OpenSM's unicast cache %s: %s",
			 w->ctx->engine->name,
			 st == OSR_CHECK_FAILED ? "fail the check" : "could not be checked",
			 w->diag.text);
		if (st != OSR_CHECK_FAILED) {
			osr__metrics_note(w, OUTCOME_FAILED);
			return;
		}
		slot_clear(w->slot);
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
	slot_clear(&slot);
	osr_arena_free(&slot.arena);
}

/* Does the current result live in this slot, or the one it was repaired from? */
static bool slot_in_use(const struct engine_ctx *ctx, const struct sweep_slot *slot)
{
	const struct osr_result *before = osr__before(ctx);

	return before && (&slot->result == before || &slot->result == before->baseline);
}

/* For the next sweep, empty. */
static void scratch_back(struct engine_ctx *ctx, struct osr_arena *scratch)
{
	osr_arena_empty(scratch);
	scratch->threads = NULL;
	ctx->scratch = *scratch;
}

int osr__sweep(void *context)
{
	struct engine_ctx *ctx = context;
	struct osr_threads threads =
		osr_threads_of((uint32_t)ctx->plugin->options.own.num[OPT_THREADS]);
	struct sweep w = {
		.ctx = ctx,
		.osm = ctx->plugin->osm,
		.slot = ctx->slot,
		.scratch = ctx->scratch,
		.ms_start = osr__sweep_clock_ms(),
	};
	enum osr_status st;

	while (slot_in_use(ctx, w.slot))
		w.slot++;
	ctx->routed = true;
	osr__slvl_drop(ctx->plugin);
	if (ctx->refuse) {
		osr__log(
			w.osm, OSM_LOG_ERROR,
			"ERR OR03: %s: refuses to route, as on_error = refuse says, because of: %s",
			ctx->engine->name, ctx->plugin->options.error[0].text);
		w.diag = ctx->plugin->options.error[0];
		osr__metrics_note(&w, OUTCOME_REFUSED);
		return -1;
	}
	ctx->scratch = (struct osr_arena){ 0 }; /* on loan to w */
	w.scratch.threads = &threads;
	if (osr__keys_sweep(&w)) {
		osr__slvl_routed(ctx);
		scratch_back(ctx, &w.scratch);
		return 0;
	}
	slot_clear(w.slot);
	st = sweep(&w);
	scratch_back(ctx, &w.scratch);
	ctx->others_routed = st != OSR_OK;
	if (!st)
		osr__slvl_routed(ctx);
	else
		osr__publish_path_sl(w.osm, NULL, NULL);
	osr__metrics_note(&w, st ? OUTCOME_FAILED : w.reused ? OUTCOME_REUSED : OUTCOME_ROUTED);
	for (size_t i = 0; i < sizeof(ctx->slot) / sizeof(ctx->slot[0]); i++)
		if (!slot_in_use(ctx, &ctx->slot[i]))
			slot_clear(&ctx->slot[i]);
	return st ? -1 : 0;
}

void osr__sweep_prepare(struct engine_ctx *ctx)
{
	/* Once for each full route. Out of memory: the sweep does it all itself. */
	if (ctx->current)
		osr_repair_prepare(&ctx->current->result, &ctx->scratch, &ctx->current->arena,
				   &ctx->current->result.routing, NULL);
	osr_arena_empty(&ctx->scratch);
}

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
#include "history.h"
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

/* The core's job for this sweep; `diag` is where it reports errors. */
static struct osr_job make_job(struct sweep *sweep, struct osr_diag *diag)
{
	const struct engine_ctx *ctx = sweep->ctx;
	struct osr_job job = { .engine = ctx->engine,
			       .values = ctx->values,
			       .request = { .max_vls = sweep->snap.limit.vls,
					    .vls_why = sweep->snap.limit.why,
					    .multicast = !sweep->osm->subn.opt.disable_multicast,
					    .chosen_sls = osr_chosen_sls(sweep->osm),
					    .clock_ms = osr_sweep_clock_ms },
			       .previous = osr_before(ctx),
			       .no_transition = ctx->others_routed                 ? OTHERS
						: ctx->plugin->second_round == ctx ? HALF
						: osr_confirm_doubt(ctx->plugin)   ? REFUSED
										   : sweep->history,
			       .held = sweep->held.standing ? &sweep->held : NULL,
			       .scratch = &sweep->scratch,
			       .arena = &sweep->slot->arena,
			       .diag = diag };
	struct osr_request *req = &job.request;
	uint8_t sl;

	osr_mcast_sls(sweep->osm, &sl);
	req->mcast_vl =
		osr_mcast_vl_of(sweep->osm, &sweep->slot->qos, (uint16_t)((1u << req->max_vls) - 1),
				sweep->snap.link_vls, sl);
	if (req->mcast_vl >= req->max_vls)
		req->mcast_vl = 0; /* on a lane of its own a spanning tree needs no proof */
	return job;
}

struct next_text {
	char text[200];
};

/* The engine that routes where this one does not, and the facts known of its tables. */
static struct next_text next_engine(const struct sweep *sweep)
{
	const struct plugin *plugin = sweep->ctx->plugin;
	const struct osm_routing_engine *next = plugin->engines_known ? sweep->ctx->re->next : NULL;
	struct next_text next_text;
	const char *name = next ? next->name : plugin->engines_known ? "minhop" : "next engine";

	if (next && osr_ctx_of(plugin, next))
		snprintf(next_text.text, sizeof(next_text.text), "%s of osmroutes is next", name);
	else if (!next && plugin->engines_known && sweep->osm->no_fallback_routing_engine)
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

/* The tables of the last sweep in place of the failed ones; sweep->diag has the error. */
static enum osr_status fall_back(struct sweep *sweep, enum osr_status why,
				 struct osr_arena_mark mark)
{
	struct engine_ctx *ctx = sweep->ctx;
	struct osr_diag diag = { "" }, first = sweep->diag;
	enum osr_status st;

	if (!osr_before(ctx))
		return why;
	osr_arena_reset(&sweep->slot->arena, mark);
	memset(&sweep->slot->result.routing, 0, sizeof(sweep->slot->result.routing));
	sweep->slot->result.baseline = NULL;
	st = osr_carry_again(osr_before(ctx), &sweep->slot->result.fabric, true,
			     &sweep->slot->arena, &sweep->scratch, &sweep->slot->result.routing,
			     &diag);
	sweep->ms_route = osr_sweep_clock_ms();
	sweep->reused = true;
	if (!st) {
		struct osr_job job = make_job(sweep, &diag);
		struct osr_sweep out = { .reused = true };

		st = osr_sweep_check(&job, &sweep->slot->result, &out);
		sweep->slot->verdict = out.verdict;
	}
	if (st)
		return osr_fail(&sweep->diag, st,
				"%.200s (%s); the last checked tables do not fit any more: %.200s",
				first.text, osr_status_str(why), diag.text);
	osr_log(sweep->osm, OSM_LOG_ERROR,
		"ERR OR04: %s: %s (%s); the last checked tables still fit the fabric and are used "
		"again",
		ctx->engine->name, sweep->diag.text, osr_status_str(why));
	return OSR_OK;
}

/* Publishing ----------------------------------------------------------------------------------- */

/* Lanes on which present or future groups may run together with the unicast of this result. */
static uint32_t proven_mcast_vls(struct sweep *sweep)
{
	const struct sweep_slot *slot = sweep->slot;
	struct osr_routing routing = slot->result.routing;
	uint32_t proven = slot->verdict.proven;
	const struct osr_generation gen = { .routing = &routing };
	struct osr_arena loops = { 0 };
	uint16_t sls, vls;
	uint8_t ignore;

	if (!(proven & OSR_CLAIM_MULTICAST))
		return 0;
	if (osr_is_any_sl(&routing, proven))
		return UINT32_MAX; /* every lane's unicast is part of the graph that was proven */
	vls = (uint16_t)(1u << routing.mcast_vl);
	if (!routing.sl2vl) /* lanes without routes; tables of its own lead nobody there */
		vls |= (uint16_t) ~((1u << routing.n_vls) - 1);
	sls = osr_mcast_sls(sweep->osm, &ignore);
	for (uint8_t sl = 0; sl < 16; sl++) {
		uint8_t vl = osr_mcast_vl(sweep->osm, slot, sl);
		struct osr_loop loop;
		enum osr_status st;

		/*
		 * With tables by port pair no VL beyond n_vls is looked at, OSR_MIXED_VLS least of
		 * all.
		 */
		if (!(sls & (1u << sl)) || (vls & (1u << vl)) ||
		    (routing.sl2vl && vl >= routing.n_vls))
			continue;
		routing.mcast_vl = vl;
		st = osr_union_loop(&slot->result.fabric, &gen, 1,
				    (proven & OSR_CLAIM_REVERSIBLE) | OSR_CLAIM_MULTICAST,
				    &sweep->scratch, &loops, &loop, NULL, NULL);
		if (!st && !loop.n)
			vls |= (uint16_t)(1u << vl);
	}
	osr_arena_free(&loops);
	return vls;
}

static enum osr_status complete(struct sweep *sweep)
{
	struct sweep_slot *slot = sweep->slot;
	const struct osr_routing *routing = &slot->result.routing;
	enum osr_status st = osr_mcast_prepare(slot, &sweep->diag);

	if (st)
		return st;
	/* Where one graph serves all lanes, OpenSM's own SL2VL tables do. */
	slot->used_vls = osr_is_any_sl(routing, slot->verdict.proven) && !routing->sl2vl
				 ? 0
				 : (uint16_t)((1u << routing->n_vls) - 1);
	slot->link_vls = sweep->snap.link_vls;
	slot->mcast_vls = proven_mcast_vls(sweep);
	slot->spread_sls = osr_spread_sls(sweep);
	return OSR_OK;
}

/*
 * Stored tables of another fabric, or of one whose LIDs were given out again: repairs would start
 * from next to nothing.
 */
static void drop_foreign(struct engine_ctx *ctx, const struct osr_fabric *fabric)
{
	uint32_t n_known;

	if (!ctx->stored || osr_store_fits(&ctx->stored->result, fabric, &n_known))
		return;
	osr_log(ctx->plugin->osm, OSM_LOG_INFO,
		"%s: the stored tables are of another fabric (%u of %u LIDs are in both) and not "
		"used: this sweep is a full route",
		ctx->engine->name, n_known, fabric->n_dests);
	ctx->stored = NULL;
}

static enum osr_status sweep(struct sweep *sweep)
{
	struct engine_ctx *ctx = sweep->ctx;
	struct sweep_slot *slot = sweep->slot;
	struct osr_fabric *fabric = &slot->result.fabric, *standing;
	struct osr_result last;
	struct osr_arena_mark mark;
	struct osr_sweep out;
	struct osr_job job;
	enum osr_status st;

	mark = osr_arena_mark(&slot->arena);
	st = osr_snapshot(ctx->plugin, SNAPSHOT_WHOLE, &slot->arena, &sweep->scratch, fabric,
			  &sweep->snap, &sweep->diag);
	standing = fabric;
	if (!st && osr_upkeep_watch(ctx->plugin, fabric, &sweep->scratch)) {
		standing = &sweep->standing;
		st = osr_fabric_copy(fabric, &sweep->scratch, &sweep->standing, &sweep->diag);
		osr_arena_reset(&slot->arena, mark);
	}
	if (!st && standing != fabric)
		st = osr_snapshot(ctx->plugin, SNAPSHOT_ALL_LIDS, &slot->arena, &sweep->scratch,
				  fabric, &sweep->snap, &sweep->diag);
	sweep->ms_snapshot = osr_sweep_clock_ms();
	if (st)
		return st;
	sweep->fabric_size = slot->arena.in_use;
	osr_qos_tables(sweep->osm, &sweep->snap, &slot->qos);
	osr_qos_budget(sweep, fabric, &slot->qos);
	osr_report_fabric(sweep);
	slot->budget = sweep->snap.limit.vls;
	if (fabric->n_components > 1 &&
	    ctx->plugin->options.own.num[OPT_ON_SPLIT] == ON_SPLIT_REFUSE)
		return osr_fail(&sweep->diag, OSR_UNREACHABLE, "on_split = refuse");
	drop_foreign(ctx, fabric);
	ctx->others_routed |= sweep->osm->subn.coming_out_of_standby;
	osr_tell_held(sweep, standing);
	mark = osr_arena_mark(&slot->arena);
	job = make_job(sweep, &sweep->diag);
	st = osr_sweep(&job, &slot->result, &out);
	sweep->refused = out.refused;
	slot->verdict = out.verdict;
	sweep->ms_transition = out.ms_transition;
	sweep->ms_route = sweep->ms_snapshot + out.ms_route + out.ms_transition;
	if (st)
		st = fall_back(sweep, st, mark);
	if (st)
		return st;
	osr_keys_lay(ctx->plugin, slot, &sweep->scratch);
	sweep->ms_check = osr_sweep_clock_ms();
	st = complete(sweep);
	sweep->in_rounds = osr_routing_in_rounds(&slot->result.routing) && osr_rounds_may(sweep);
	if (!st)
		st = osr_publish(sweep);
	if (st)
		return st;
	sweep->ms_publish = osr_sweep_clock_ms();
	if (osr_before(ctx)) {
		last = *osr_before(ctx);
		if (ctx->current)
			last.routing = *osr_shown(ctx->current);
		osr_history_change(sweep, &last.fabric);
	}
	osr_sweep_report(sweep, osr_before(ctx) ? &last : NULL);
	/* The result becomes the one that path_sl, QoS and multicast read. */
	ctx->current = slot;
	ctx->plugin->second_round = sweep->in_rounds ? ctx : NULL;
	ctx->stored = NULL;
	osr_store_due(ctx);
	ctx->mc_warned = 0;
	ctx->mc_warned_sp0 = false;
	osr_qos_renew(ctx);
	return OSR_OK;
}

bool osr_sweep_unchanged(struct sweep *sweep)
{
	const struct sweep_slot *slot = sweep->ctx->current;
	struct osr_arena arena = { 0 };
	struct osr_fabric fabric;
	struct qos_tables qos;
	bool same = !osr_snapshot(sweep->ctx->plugin, SNAPSHOT_ALL_LIDS, &arena, &sweep->scratch,
				  &fabric, &sweep->snap, &sweep->diag);

	memset(&qos, 0, sizeof(qos));
	if (same) {
		osr_qos_tables(sweep->osm, &sweep->snap, &qos);
		osr_qos_budget(sweep, &fabric, &qos);
		same = osr_fabric_equal(&fabric, &slot->result.fabric) &&
		       sweep->snap.limit.vls == slot->budget &&
		       !memcmp(&qos, &slot->qos, sizeof(qos));
	}
	osr_arena_free(&arena);
	sweep->ms_snapshot = osr_sweep_clock_ms();
	return same;
}

/*
 * No memory to route: where the engine would be asked the same question, its last answer goes out
 * once more.
 */
static bool answer_again(struct sweep *sweep)
{
	struct engine_ctx *ctx = sweep->ctx;
	struct osr_diag why = sweep->diag;
	struct osr_result before;

	if (!ctx->current)
		return false;
	/* The time that this sweep has taken, and the results kept for it. */
	slot_clear(sweep->slot);
	osr_arena_free(&sweep->slot->arena);
	osr_arena_free(&sweep->scratch);
	osr_arena_free(&ctx->reserve);
	if (!osr_sweep_unchanged(sweep)) {
		sweep->diag = why;
		return false;
	}
	sweep->slot = ctx->current;
	sweep->reused = true;
	sweep->in_rounds = sweep->refused = false;
	if (osr_publish(sweep))
		return false;
	ctx->plugin->second_round = NULL;
	sweep->ms_route = sweep->ms_check = sweep->ms_publish = osr_sweep_clock_ms();
	osr_log(sweep->osm, OSM_LOG_ERROR,
		"ERR OR04: %s: %s; the fabric is the same, and its checked tables stay",
		ctx->engine->name, why.text);
	before = sweep->slot->result;
	before.routing = *osr_shown(sweep->slot);
	osr_sweep_report(sweep, &before);
	return true;
}

/* Checks the tables that OpenSM programmed from its unicast cache instead of calling us. */
static enum osr_status check_cached(struct sweep *sweep, enum snapshot_lids lids,
				    struct osr_diag *diag)
{
	struct osr_fabric *fabric = &sweep->slot->result.fabric;
	struct osr_routing *routing = &sweep->slot->result.routing;
	struct osr_result last = sweep->ctx->current->result;
	enum osr_status st;

	last.routing = *osr_shown(sweep->ctx->current);
	st = osr_snapshot(sweep->ctx->plugin, lids, &sweep->slot->arena, &sweep->scratch, fabric,
			  &sweep->snap, diag);
	if (!st)
		st = osr_reuse_cached(&last, fabric, &sweep->snap, &sweep->slot->arena,
				      &sweep->scratch, routing, diag);
	if (!st)
		st = osr_check(fabric, routing, &sweep->scratch, &sweep->slot->verdict, diag);
	if (!st)
		st = osr_gate(fabric, routing, &sweep->scratch, diag);
	sweep->ms_check = osr_sweep_clock_ms();
	if (st)
		return st;
	osr_qos_tables(sweep->osm, &sweep->snap, &sweep->slot->qos);
	/* QoS may have been switched off since, or a switch without SL2VL tables have come. */
	osr_qos_budget(sweep, fabric, &sweep->slot->qos);
	if (routing->n_vls > sweep->snap.limit.vls)
		return osr_fail(diag, OSR_CHECK_FAILED, "the tables use %u virtual lanes of %u: %s",
				routing->n_vls, sweep->snap.limit.vls, sweep->snap.limit.why);
	sweep->n_changed = osr_routing_changed(&last, fabric, routing, &sweep->n_entries);
	sweep->slot->digest = osr_routing_digest(fabric, routing);
	return OSR_OK;
}

/*
 * OpenSM keeps its cache when a leaf switch is gone. On a tree that leaf may have been the way from
 * one top switch to another, which matters to nobody; a lost way to a CA does. So tables that fail
 * as a whole are checked once more for the LIDs of CAs and routers, and only if these fail, too,
 * OpenSM is made to route.
 */
static void check_all_cached(struct sweep *sweep)
{
	for (bool all = true;; all = false) {
		struct osr_diag hosts = { "" };
		enum osr_status st =
			check_cached(sweep, all ? SNAPSHOT_ALL_LIDS : SNAPSHOT_HOST_LIDS,
				     all ? &sweep->diag : &hosts);
		char proven[200];

		if (!st) {
			osr_claims_text(sweep, proven, sizeof(proven));
			osr_log(sweep->osm, OSM_LOG_INFO,
				"%s: tables from OpenSM's unicast cache checked in %.1f ms: %u "
				"switches, %u %sLIDs; proven: %s",
				sweep->ctx->engine->name, sweep->ms_check - sweep->ms_start,
				sweep->slot->result.fabric.n_switches,
				sweep->slot->result.fabric.n_dests, all ? "" : "CA and router ",
				proven);
			osr_keys_fabric(sweep->ctx->plugin, &sweep->slot->result.fabric);
			osr_metrics_note(sweep, all ? OUTCOME_CACHED : OUTCOME_CACHED_HOSTS);
			return;
		}
		if (!all) {
			osr_metrics_note(sweep, OUTCOME_CACHE_BAD);
			if (!sweep->osm->sm.ucast_mgr.cache_valid)
				return;
			osr_log(sweep->osm, OSM_LOG_ERROR,
				"ERR OR10: %s: a new sweep has to route: %s",
				sweep->ctx->engine->name, hosts.text);
			osm_ucast_cache_invalidate(&sweep->osm->sm.ucast_mgr);
			osr_ask_sweep(sweep->ctx->plugin);
			return;
		}
		osr_log(sweep->osm, OSM_LOG_ERROR,
			"ERR OR10: %s: tables from OpenSM's unicast cache %s: %s",
			sweep->ctx->engine->name,
			st == OSR_CHECK_FAILED ? "fail the check" : "could not be checked",
			sweep->diag.text);
		if (st != OSR_CHECK_FAILED) {
			osr_metrics_note(sweep, OUTCOME_FAILED);
			return;
		}
		slot_clear(sweep->slot);
	}
}

void osr_sweep_cached(struct engine_ctx *ctx)
{
	struct sweep_slot slot = { 0 };
	struct sweep sweep = {
		.ctx = ctx,
		.osm = ctx->plugin->osm,
		.slot = &slot,
		.cause = "unicast cache",
		.ms_start = osr_sweep_clock_ms(),
	};

	if (!ctx->current || !osr_lock(sweep.osm, LOCK_ALONE))
		return;
	/* If no switch answers OpenSM calls no engine, and there are no tables. */
	if (cl_qmap_count(&sweep.osm->subn.sw_guid_tbl))
		check_all_cached(&sweep);
	cl_plock_release(&sweep.osm->lock);
	osr_arena_free(&sweep.scratch);
	slot_clear(&slot);
	osr_arena_free(&slot.arena);
}

/* Does the current result live in this slot, or the one it was repaired from? */
static bool slot_in_use(const struct engine_ctx *ctx, const struct sweep_slot *slot)
{
	const struct osr_result *before = osr_before(ctx);

	return before && (&slot->result == before || &slot->result == before->baseline);
}

#define RESERVE_LEAST ((size_t)1024 * 1024)

/*
 * For answer_again(): memory to read the fabric once more and to make the interim data; the most
 * ever used.
 */
static void keep_reserve(const struct sweep *sweep)
{
	struct osr_arena *reserve = &sweep->ctx->reserve;
	size_t size = 4 * sweep->fabric_size + RESERVE_LEAST;

	size = reserve->peak > size ? reserve->peak : size;
	if (reserve->in_use >= size)
		return;
	osr_arena_free(reserve);
	osr_alloc(reserve, size, 1);
}

/* For the next sweep, empty. */
static void scratch_back(struct engine_ctx *ctx, struct osr_arena *scratch)
{
	osr_arena_empty(scratch);
	scratch->threads = NULL;
	ctx->scratch = *scratch;
}

int osr_sweep_callback(void *context)
{
	struct engine_ctx *ctx = context;
	struct osr_threads threads =
		osr_threads_of((uint32_t)ctx->plugin->options.own.num[OPT_THREADS]);
	struct sweep w = {
		.ctx = ctx,
		.osm = ctx->plugin->osm,
		.slot = ctx->slot,
		.scratch = ctx->scratch,
		.cause = osr_history_cause(ctx->plugin, ctx),
		.ms_start = osr_sweep_clock_ms(),
	};
	enum osr_status st;

	while (slot_in_use(ctx, w.slot))
		w.slot++;
	ctx->routed = true;
	osr_slvl_drop(ctx->plugin);
	if (ctx->refuse) {
		osr_log(w.osm, OSM_LOG_ERROR,
			"ERR OR03: %s: refuses to route, as on_error = refuse says, because of: %s",
			ctx->engine->name, ctx->plugin->options.error[0].text);
		w.diag = ctx->plugin->options.error[0];
		osr_metrics_note(&w, OUTCOME_REFUSED);
		return -1;
	}
	ctx->scratch = (struct osr_arena){ 0 }; /* on loan to w */
	w.scratch.threads = &threads;
	if (osr_keys_sweep(&w)) {
		osr_slvl_routed(ctx);
		scratch_back(ctx, &w.scratch);
		return 0;
	}
	slot_clear(w.slot);
	st = sweep(&w);
	if (st == OSR_NOMEM && answer_again(&w))
		st = OSR_OK;
	else if (st)
		osr_log(w.osm, OSM_LOG_ERROR, "ERR OR04: %s: %s (%s); %s", ctx->engine->name,
			w.diag.text, osr_status_str(st), next_engine(&w).text);
	scratch_back(ctx, &w.scratch);
	if (!st)
		keep_reserve(&w);
	ctx->others_routed = st != OSR_OK;
	if (!st)
		osr_slvl_routed(ctx);
	else
		osr_publish_path_sl(w.osm, NULL, NULL);
	osr_metrics_note(&w, st ? OUTCOME_FAILED : w.reused ? OUTCOME_REUSED : OUTCOME_ROUTED);
	for (size_t i = 0; i < sizeof(ctx->slot) / sizeof(ctx->slot[0]); i++)
		if (!slot_in_use(ctx, &ctx->slot[i]))
			slot_clear(&ctx->slot[i]);
	return st ? -1 : 0;
}

void osr_sweep_prepare(struct engine_ctx *ctx)
{
	/* Once for each full route. Out of memory: the sweep does it all itself. */
	if (ctx->current)
		osr_repair_prepare(&ctx->current->result, &ctx->scratch, &ctx->current->arena,
				   &ctx->current->result.routing, NULL);
	osr_arena_empty(&ctx->scratch);
}

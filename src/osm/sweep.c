/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * One sweep: snapshot -> applies -> route -> check -> publish. Three result slots take turns, so the
 * last checked result, and the one it was repaired from, survive until the next has passed the
 * checker.
 *
 * When routing or its check fails, OpenSM's next engine is usually minhop, which nobody checks. So
 * the last checked tables come first, if they still fit (reuse.c).
 */
#include "sweep.h"

#include "keys.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

/* Who routes when we do not. */
#define NEXT "OpenSM's next engine routes, or minhop if there is none, unless no_fallback is set"

/* Why the moment between is not looked at. */
#define OTHERS "another engine has routed since the last tables of this one"

#define KEYS "entries of routing keys are laid over the tables"

#define MAX_PARTS 8 /* of a split fabric, named in the log */

double osr__sweep_clock_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

static void clear_slot(struct sweep_slot *slot)
{
	osr_arena_free(&slot->arena);
	osr_arena_free(&slot->keys_arena);
	memset(slot, 0, sizeof(*slot));
}

/* What the log says of the fabric -------------------------------------------------------------- */

static void report_left_out(const struct sweep *w)
{
	const struct snapshot *n = &w->snap;
	const char *name = w->ctx->engine->name;

	if (n->n_unhealthy + n->n_throttled)
		osr__log(w->osm, OSM_LOG_INFO,
			 "%s: %u unhealthy and %u throttled links between switches are not used: "
			 "%s%s",
			 name, n->n_unhealthy, n->n_throttled, n->links,
			 n->n_unhealthy + n->n_throttled > 4 ? ", ..." : "");
	if (n->n_left_out)
		osr__log(
			w->osm, OSM_LOG_ERROR,
			"ERR OR06: %s: %u end ports have LIDs that OpenSM's table gives to others; "
			"they are not routed in this sweep: %s",
			name, n->n_left_out, n->end_ports);
}

/* Switches, end ports and one name of a part of a split fabric. */
static void describe_part(const struct sweep *w, uint32_t part, char *buf, size_t size)
{
	const struct osr_fabric *f = &w->slot->result.fabric;
	uint16_t sm_lid = cl_ntoh16(w->osm->subn.sm_base_lid);
	uint32_t first = OSR_NONE, n = 0, hosts = 0;
	uint32_t sm = sm_lid <= f->max_lid ? f->lid_dest[sm_lid] : OSR_NONE;
	char name[32];

	for (uint32_t s = 0; s < f->n_switches; s++) {
		if (f->sw_component[s] != part)
			continue;
		if (first == OSR_NONE)
			first = s;
		n++;
		hosts += f->sw_sources[s];
	}
	snprintf(buf, size, "%s%u switches (%s ...) with %u end ports%s", part ? "; " : "", n,
		 osr_switch_name(f, first, name), hosts,
		 sm != OSR_NONE && f->sw_component[f->dest_switch[sm]] == part ? " and this SM"
									       : "");
}

static void report_split(const struct sweep *w)
{
	const struct osr_fabric *f = &w->slot->result.fabric;
	char text[1200] = "";
	uint32_t part;

	for (part = 0; part < f->n_components && part < MAX_PARTS; part++) {
		size_t at = strlen(text);

		describe_part(w, part, text + at, sizeof(text) - at);
	}
	osr__log(w->osm, OSM_LOG_ERROR,
		 "ERR OR05: %s: the fabric is split into %u parts that cannot reach each other: "
		 "%s%s",
		 w->ctx->engine->name, f->n_components, text,
		 part < f->n_components ? "; ..." : "");
}

static void report_budget(const struct sweep *w)
{
	osr__log(w->osm, OSM_LOG_INFO, "%s: %u virtual lane%s available: %s", w->ctx->engine->name,
		 w->snap.limit.vls, w->snap.limit.vls == 1 ? "" : "s", w->snap.limit.why);
}

static void claims_text(uint32_t claims, char *buf, size_t size)
{
	static const struct {
		uint32_t claim;
		const char *text;
	} words[] = {
		{ OSR_CLAIM_MINIMAL, "minimal" },
		{ OSR_CLAIM_DEADLOCK_FREE, "deadlock-free" },
		{ OSR_CLAIM_REVERSIBLE, "replies deadlock-free" },
		{ OSR_CLAIM_ANY_SL, "any SL" },
		{ OSR_CLAIM_MULTICAST, "with multicast" },
	};
	size_t at = 0;

	snprintf(buf, size, "reachable");
	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (claims & words[i].claim) {
			at = strlen(buf);
			snprintf(buf + at, size - at, ", %s", words[i].text);
		}
}

/* "3 of 8 (2 needed, with one-way SLs 1)"; an engine that breaks no cycles needs none. */
static void lanes_text(const struct osr_routing *r, uint8_t available, char *buf, size_t size)
{
	if (r->n_layers)
		snprintf(buf, size, "%u of %u (%u needed, with one-way SLs %u)", r->n_vls,
			 available, r->n_layers, r->n_layers_one_way);
	else
		snprintf(buf, size, "%u of %u", r->n_vls, available);
}

/* What became of the tables of the last sweep. */
static void report_stable(const struct sweep *w)
{
	const struct osr_stable *s = &w->slot->result.routing.stable;
	const char *name = w->ctx->engine->name;

	if (s->kept)
		osr__log(w->osm, OSM_LOG_INFO,
			 "%s: tables kept: %u channels gone and %u new since the last full route, "
			 "%u LIDs routed otherwise; SLs of %" PRIu64 " pairs changed, SLs given to "
			 "%" PRIu64 " pairs earlier no longer proven; old and new tables together "
			 "%s; balance %u.%02u of the last full route's",
			 name, s->n_channels_lost, s->n_channels_new, s->n_trees, s->n_sl_changed,
			 s->n_sl_lost,
			 s->together		       ? "deadlock-free by one certificate"
			 : s->moment == OSR_MOMENT_FREE ? "deadlock-free"
							: "not proven deadlock-free while they mix",
			 s->drift / 1000, s->drift % 1000 / 10);
	else if (s->why[0])
		osr__log(w->osm, OSM_LOG_INFO,
			 "%s: tables made anew: %s; SLs of %" PRIu64 " pairs changed, SLs given to "
			 "%" PRIu64 " pairs earlier not proven on the new tables",
			 name, s->why, s->n_sl_changed, s->n_sl_lost);
}

/* The moment between, where it is not said with the tables that were kept. */
static void report_moment(const struct sweep *w)
{
	const struct osr_stable *s = &w->slot->result.routing.stable;
	const char *name = w->ctx->engine->name;

	if (s->moment == OSR_MOMENT_FREE)
		osr__log(w->osm, OSM_LOG_INFO,
			 "%s: old and new tables mixed%s: no credit loop%s%s (looked for in %.1f ms)", name,
			 s->moment_mcast ? ", with multicast" : "",
			 s->moment_kept & OSR_KEPT_ORDER ? ", with the multicast trees of before" : "",
			 s->moment_kept & OSR_KEPT_SLS ? ", with the SLs of before" : "", w->ms_moment);
	else if (s->moment == OSR_MOMENT_LOOP)
		osr__log(w->osm, OSM_LOG_INFO,
			 "%s: old and new tables mixed%s: can deadlock until all switches have the new "
			 "ones (looked for in %.1f ms): %s",
			 name, s->moment_mcast ? ", with multicast" : "", w->ms_moment, s->moment_why);
	else if (s->moment_why[0])
		osr__log(w->osm, OSM_LOG_INFO,
			 "%s: old and new tables mixed: not looked for credit loops: %s", name,
			 s->moment_why);
}

/* Entries of routing keys were not part of the question. */
static void mind_keys(struct sweep *w)
{
	struct osr_stable *s = &w->slot->result.routing.stable;

	if (!w->slot->has_keys && !(w->ctx->current && w->ctx->current->has_keys))
		return;
	if (!s->kept && s->moment == OSR_MOMENT_UNASKED && !s->moment_why[0])
		return; /* there was nothing before */
	s->together = false;
	s->moment = OSR_MOMENT_UNASKED;
	memcpy(s->moment_why, KEYS, sizeof(KEYS));
}

void osr__sweep_report(struct sweep *w, const struct osr_result *before)
{
	const struct osr_fabric *f = &w->slot->result.fabric;
	const struct osr_routing *r = osr__shown(w->slot);
	const struct osr_verdict *v = &w->slot->verdict;
	char proven[128], lanes[64];

	w->n_entries = w->n_changed = (uint64_t)f->n_switches * f->n_dests;
	if (before)
		w->n_changed = osr_routing_changed(before, f, r, &w->n_entries);
	claims_text(v->proven, proven, sizeof(proven));
	lanes_text(r, w->snap.limit.vls, lanes, sizeof(lanes));
	osr__log(w->osm, OSM_LOG_INFO,
		 "%s%s: %u switches, %u channels, %u end ports, %u LIDs in %.1f ms (snapshot %.1f, "
		 "route %.1f: paths %.1f, layers %.1f; check %.1f, publish %.1f); VLs %s; EFI "
		 "%" PRIu64 " (average %.1f, per capacity %.1f); longer routes %" PRIu64
		 " of %" PRIu64 ", at most %u hops; proven: %s; LFT entries changed %" PRIu64
		 " of %" PRIu64 "; digest %016" PRIx64,
		 w->ctx->engine->name,
		 w->reused	? " (last checked tables)"
		 : w->keys_only ? " (base as before)"
				: "",
		 f->n_switches,
		 f->n_channels, f->n_terminals, f->n_dests, w->ms_publish - w->ms_start,
		 w->ms_snapshot - w->ms_start, w->ms_route - w->ms_snapshot, w->keys_only ? 0 : r->ms_spf,
		 w->keys_only ? 0 : r->ms_layers, w->ms_check - w->ms_route, w->ms_publish - w->ms_check, lanes,
		 v->efi, v->efi_mean, v->efi_per_capacity, v->n_longer, v->n_routes, v->max_hops,
		 proven, w->n_changed, w->n_entries, w->slot->digest);
	osr__keys_report(w);
	if (w->keys_only)
		return;
	if (r->note)
		osr__log(w->osm, OSM_LOG_INFO, "%s: %s", w->ctx->engine->name, r->note);
	mind_keys(w);
	report_stable(w);
	report_moment(w);
	if ((v->proven & OSR_CLAIM_DEADLOCK_FREE) && !(v->proven & OSR_CLAIM_MULTICAST) &&
	    !w->osm->subn.opt.disable_multicast)
		osr__log(w->osm, OSM_LOG_ERROR,
			 "ERR OR07: %s: multicast is not proven free of deadlock together with "
			 "unicast on VL %u",
			 w->ctx->engine->name, r->mcast_vl);
}

/* For the files of metrics.c, which are written when OpenSM's lock is free again. */
void osr__sweep_note(const struct sweep *w, enum outcome outcome)
{
	const struct sweep_slot *slot = w->slot;
	struct metrics *m = &w->ctx->plugin->metrics;
	bool routed = outcome == OUTCOME_ROUTED || outcome == OUTCOME_REUSED ||
		      outcome == OUTCOME_KEYS;

	w->ctx->n_sweeps[outcome]++;
	*m = (struct metrics){ .pending = true, .engine = w->ctx->engine->name, .outcome = outcome };
	snprintf(m->message, sizeof(m->message), "%s", w->diag.text);
	m->ms.total = osr__sweep_clock_ms() - w->ms_start;
	m->checked = routed || outcome == OUTCOME_CACHED || outcome == OUTCOME_CACHED_HOSTS;
	if (!m->checked) {
		osr__metrics_write(w->ctx->plugin); /* perhaps nobody routes */
		m->pending = true;
		return;
	}
	m->n_switches = slot->result.fabric.n_switches;
	m->n_channels = slot->result.fabric.n_channels;
	m->n_terminals = slot->result.fabric.n_terminals;
	m->n_dests = slot->result.fabric.n_dests;
	m->n_parts = slot->result.fabric.n_components;
	m->n_left_out = w->snap.n_left_out;
	m->n_unhealthy = w->snap.n_unhealthy;
	m->n_throttled = w->snap.n_throttled;
	m->vls = slot->result.routing.n_vls;
	m->vls_needed = slot->result.routing.n_layers;
	m->vls_one_way = slot->result.routing.n_layers_one_way;
	m->vls_available = w->snap.limit.vls;
	m->verdict = slot->verdict;
	m->n_entries = w->n_entries;
	m->n_changed = w->n_changed;
	m->digest = slot->digest;
	m->stable = slot->result.routing.stable;
	m->stable.together |= m->stable.moment == OSR_MOMENT_FREE;
	m->ms.check = w->ms_check - (routed ? w->ms_route : w->ms_start);
	if (!routed)
		return;
	m->ms.snapshot = w->ms_snapshot - w->ms_start;
	m->ms.route = w->ms_route - w->ms_snapshot;
	m->ms.paths = w->keys_only ? 0 : slot->result.routing.ms_spf;
	m->ms.layers = w->keys_only ? 0 : slot->result.routing.ms_layers;
	m->ms.publish = w->ms_publish - w->ms_check;
}

/* Routing -------------------------------------------------------------------------------------- */

static enum osr_status keep_budget(const struct sweep *w, struct osr_diag *diag)
{
	unsigned vls = w->slot->result.routing.n_vls;

	if (vls <= w->snap.limit.vls)
		return OSR_OK;
	return osr_fail(diag, OSR_CHECK_FAILED, "the tables use %u virtual lanes of %u: %s", vls,
			w->snap.limit.vls, w->snap.limit.why);
}

/* Beyond what the checker proves: what this engine and this sweep promised. */
static enum osr_status keep_promises(const struct sweep *w, struct osr_diag *diag)
{
	uint32_t proven = w->slot->verdict.proven;
	enum osr_status st = keep_budget(w, diag);

	if (st)
		return st;
	if ((w->ctx->engine->capabilities & OSR_ENGINE_DEADLOCK_FREE) &&
	    !(proven & OSR_CLAIM_DEADLOCK_FREE))
		return osr_fail(diag, OSR_CHECK_FAILED, "the tables are not proven deadlock-free");
	/* Tables of yesterday may be longer than today's shortest routes. */
	if ((w->ctx->engine->capabilities & OSR_ENGINE_MINIMAL) && !w->reused &&
	    !(proven & OSR_CLAIM_MINIMAL))
		return osr_fail(diag, OSR_CHECK_FAILED, "the tables are not proven minimal");
	return OSR_OK;
}

static enum osr_status check(struct sweep *w, struct osr_diag *diag)
{
	struct osr_arena_mark mark = osr_arena_mark(&w->scratch);
	struct osr_result *now = &w->slot->result;
	uint64_t *load = osr_alloc(&w->slot->arena, now->fabric.n_channels, sizeof(*load));
	enum osr_status st;

	if (!load)
		return osr_fail(diag, OSR_NOMEM, "out of memory for the loads of %u channels",
				now->fabric.n_channels);
	st = osr_check_loads(&now->fabric, &now->routing, &w->scratch, &w->slot->verdict, load,
			     diag);
	now->load = load;
	osr_arena_reset(&w->scratch, mark);
	return st ? st : keep_promises(w, diag);
}

/* Can the switches deadlock while some have the old tables? Routing goes on if that cannot be told. */
static void look_between(struct sweep *w, const struct osr_request *req)
{
	const struct osr_result *before = osr__before(w->ctx);
	struct osr_routing *r = &w->slot->result.routing;
	struct osr_diag diag = { "" };
	double start = osr__sweep_clock_ms();

	if (!before)
		return;
	if (w->ctx->others_routed) {
		r->stable.together = false;
		memcpy(r->stable.moment_why, OTHERS, sizeof(OTHERS));
		return;
	}
	if (r->stable.kept && (r->stable.together || r->stable.moment == OSR_MOMENT_LOOP))
		return;
	if (osr_reroute_moment(&w->slot->result.fabric, req, before, !r->stable.kept, &w->scratch,
			       &w->slot->arena, r, &diag))
		memcpy(r->stable.moment_why, diag.text, sizeof(r->stable.moment_why) - 1);
	w->ms_moment = osr__sweep_clock_ms() - start;
}

static enum osr_status route(struct sweep *w)
{
	const struct engine_ctx *ctx = w->ctx;
	const struct osr_engine *e = ctx->engine;
	struct sweep_slot *slot = w->slot;
	struct osr_arena_mark mark = osr_arena_mark(&w->scratch);
	struct osr_request req = {
		.max_vls = w->snap.limit.vls,
		.multicast = !w->osm->subn.opt.disable_multicast,
		.chosen_sls = osr__chosen_sls(w->osm),
		.clock_ms = osr__sweep_clock_ms,
		.read_file = osr__read_file,
	};
	enum osr_status st = OSR_OK;
	uint8_t sl;

	osr__mcast_sls(w->osm, &sl);
	req.mcast_vl = osr__mcast_vl_of(w->osm, &slot->qos, (uint16_t)((1u << req.max_vls) - 1),
					w->snap.link_vls, sl);
	if (req.mcast_vl >= req.max_vls)
		req.mcast_vl = 0; /* on a lane of its own a spanning tree needs no proof */
	if (e->applies)
		st = e->applies(&slot->result.fabric, ctx->values, &w->diag);
	if (!st)
		st = e->route(&slot->result.fabric, ctx->values, &req,
			      osr__before(ctx), &w->scratch, &slot->arena,
			      &slot->result.routing, &w->diag);
	osr_arena_reset(&w->scratch, mark);
	if (!st)
		look_between(w, &req);
	w->ms_route = osr__sweep_clock_ms();
	if (st)
		return st;
	slot->result.home = osr_reroute_home(osr__before(ctx), &slot->result.routing);
	return check(w, &w->diag);
}

/* The tables of the last sweep in place of those that failed; w->diag says what did. */
static enum osr_status fall_back(struct sweep *w, enum osr_status why, struct osr_arena_mark mark)
{
	struct engine_ctx *ctx = w->ctx;
	struct osr_diag diag = { "" };
	enum osr_status st;

	if (!osr__before(ctx)) {
		osr__log(w->osm, OSM_LOG_ERROR, "ERR OR04: %s: %s (%s); " NEXT, ctx->engine->name,
			 w->diag.text, osr_status_str(why));
		return why;
	}
	osr_arena_reset(&w->slot->arena, mark);
	memset(&w->slot->result.routing, 0, sizeof(w->slot->result.routing));
	w->slot->result.home = NULL;
	st = osr__reuse(osr__before(ctx), &w->slot->result.fabric, &w->slot->arena,
			&w->scratch, &w->slot->result.routing, &diag);
	w->ms_route = osr__sweep_clock_ms();
	w->reused = true;
	if (!st)
		st = check(w, &diag);
	if (st) {
		osr__log(w->osm, OSM_LOG_ERROR,
			 "ERR OR04: %s: %s (%s); the last checked tables do not fit any more: "
			 "%s; " NEXT,
			 ctx->engine->name, w->diag.text, osr_status_str(why), diag.text);
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
static uint16_t proven_mcast_vls(struct sweep *w)
{
	const struct sweep_slot *slot = w->slot;
	struct osr_routing r = slot->result.routing;
	uint32_t proven = slot->verdict.proven;
	uint16_t sls, vls;
	uint8_t ignore;

	if (!(proven & OSR_CLAIM_MULTICAST))
		return 0;
	if (osr__any_sl(&r, proven))
		return UINT16_MAX; /* every lane's unicast is part of the graph that was proven */
	vls = (uint16_t)(1u << r.mcast_vl);
	if (!r.sl2vl) /* lanes without routes; tables of its own lead nobody there */
		vls |= (uint16_t) ~((1u << r.n_vls) - 1);
	sls = osr__mcast_sls(w->osm, &ignore);
	for (uint8_t sl = 0; sl < 16; sl++) {
		uint8_t vl = osr__mcast_vl(w->osm, slot, sl);
		struct osr_arena_mark mark = osr_arena_mark(&w->scratch);
		enum osr_status st;
		uint32_t cycle;

		if (!(sls & (1u << sl)) || (vls & (1u << vl)))
			continue;
		r.mcast_vl = vl;
		cycle = osr_check_cycle(&slot->result.fabric, &r,
					(proven & OSR_CLAIM_REVERSIBLE) | OSR_CLAIM_MULTICAST, vl,
					&w->scratch, NULL, 0, &st);
		osr_arena_reset(&w->scratch, mark);
		if (!st && !cycle)
			vls |= (uint16_t)(1u << vl);
	}
	return vls;
}

static enum osr_status complete(struct sweep *w)
{
	struct sweep_slot *slot = w->slot;
	const struct osr_routing *r = &slot->result.routing;
	enum osr_status st = osr__mcast_prepare(slot, &w->diag);

	if (st)
		return st;
	slot->used_vls =
		osr__any_sl(r, slot->verdict.proven) ? 0 : (uint16_t)((1u << r->n_vls) - 1);
	slot->link_vls = w->snap.link_vls;
	slot->mcast_vls = proven_mcast_vls(w);
	return OSR_OK;
}

/* Who reads hop counts: the dumps of log flag ROUTING, and OpenSM's own multicast. */
static bool hops_are_read(const struct sweep *w)
{
	return osm_log_is_active(&w->osm->log, OSM_LOG_ROUTING) ||
	       (!w->slot->result.routing.mcast_parent && !w->osm->subn.opt.disable_multicast);
}

enum osr_status osr__sweep_publish(struct sweep *w)
{
	const struct osr_fabric *f = &w->slot->result.fabric;
	const struct osr_routing *r = osr__shown(w->slot);
	struct osr_routing with_sls;
	enum osr_status st = osr__publish_ready(f, &w->snap, &w->diag);

	if (st)
		return st;
	if (hops_are_read(w)) {
		st = osr__publish_hops(w->osm, f, r, &w->snap, &w->scratch, &w->diag);
		if (st) {
			/* Half a matrix must not lead the next engine astray. */
			for (uint32_t s = 0; s < f->n_switches; s++)
				osm_switch_clear_hops(w->snap.sw[s]);
			return st;
		}
	}
	osr__publish(f, r, &w->snap);
	with_sls = *r;
	if (osr__any_sl(r, w->slot->verdict.proven))
		with_sls.sl = NULL;
	osr__publish_path_sl(w->osm, f, &with_sls);
	return OSR_OK;
}

/* The result becomes the one that path_sl, QoS and multicast look at. */
static void make_current(struct sweep *w)
{
	struct engine_ctx *ctx = w->ctx;

	ctx->current = w->slot;
	ctx->stored = NULL;
	ctx->store.pending = true;
	ctx->mc_warned = 0;
	ctx->mc_warned_sp0 = false;
	osr__qos_renew(ctx);
}

/*
 * Stored tables of another fabric, or of one whose LIDs were given out anew: repairs would make
 * tables out of next to nothing.
 */
static void drop_foreign(struct sweep *w)
{
	const struct osr_fabric *f = &w->slot->result.fabric, *g;
	uint32_t n_known = 0;

	if (!w->ctx->stored)
		return;
	g = &w->ctx->stored->result.fabric;
	for (uint32_t d = 0; d < f->n_dests; d++) {
		uint16_t lid = f->dest_lid[d];
		uint32_t old = lid <= g->max_lid ? g->lid_dest[lid] : OSR_NONE;

		n_known += old != OSR_NONE &&
			   g->term_guid[g->dest_term[old]] == f->term_guid[f->dest_term[d]];
	}
	if (2 * (uint64_t)n_known >= f->n_dests)
		return;
	osr__log(w->osm, OSM_LOG_INFO,
		 "%s: the stored tables are of another fabric (%u of %u LIDs are in both) and not "
		 "used: this sweep is a full route",
		 w->ctx->engine->name, n_known, f->n_dests);
	w->ctx->stored = NULL;
}

static enum osr_status sweep(struct sweep *w)
{
	struct sweep_slot *slot = w->slot;
	struct osr_fabric *f = &slot->result.fabric;
	struct osr_result last;
	struct osr_arena_mark mark;
	enum osr_status st;

	st = osr__snapshot(w->osm, SNAPSHOT_ALL_LIDS, &slot->arena, &w->scratch, f, &w->snap,
			   &w->diag);
	w->ms_snapshot = osr__sweep_clock_ms();
	if (st)
		goto give_up;
	report_left_out(w);
	osr__qos_tables(w->osm, &w->snap, &slot->qos);
	osr__vl_budget(w->osm, f, &w->ctx->plugin->options, &w->snap.limit);
	report_budget(w);
	slot->budget = w->snap.limit.vls;
	if (f->n_components > 1) {
		report_split(w);
		if (w->ctx->plugin->options.own.num[OPT_ON_SPLIT] == ON_SPLIT_REFUSE) {
			st = osr_fail(&w->diag, OSR_UNREACHABLE, "on_split = refuse");
			goto give_up;
		}
	}
	drop_foreign(w);
	mark = osr_arena_mark(&slot->arena);
	st = route(w);
	if (st)
		st = fall_back(w, st, mark);
	if (st)
		return st;
	osr__keys_lay(w->ctx->plugin, slot, &w->scratch);
	w->ms_check = osr__sweep_clock_ms();
	st = complete(w);
	if (!st)
		st = osr__sweep_publish(w);
	if (st)
		goto give_up;
	w->ms_publish = osr__sweep_clock_ms();
	if (osr__before(w->ctx)) {
		last = *osr__before(w->ctx);
		if (w->ctx->current)
			last.routing = *osr__shown(w->ctx->current);
	}
	osr__sweep_report(w, osr__before(w->ctx) ? &last : NULL);
	make_current(w);
	return OSR_OK;

give_up:
	osr__log(w->osm, OSM_LOG_ERROR, "ERR OR04: %s: %s (%s); " NEXT, w->ctx->engine->name,
		 w->diag.text, osr_status_str(st));
	return st;
}

/* Does the current result live in this slot, or the one it was repaired from? */
static bool slot_in_use(const struct engine_ctx *ctx, const struct sweep_slot *slot)
{
	const struct osr_result *before = osr__before(ctx);

	return before && (&slot->result == before || &slot->result == before->home);
}

static struct sweep_slot *free_slot(struct engine_ctx *ctx)
{
	uint32_t i = 0;

	while (slot_in_use(ctx, &ctx->slot[i]))
		i++;
	return &ctx->slot[i];
}

int osr__sweep(void *context)
{
	struct engine_ctx *ctx = context;
	struct sweep w = {
		.ctx = ctx,
		.osm = ctx->plugin->osm,
		.slot = free_slot(ctx),
		.ms_start = osr__sweep_clock_ms(),
	};
	enum osr_status st;

	ctx->routed = true;
	if (ctx->refuse) {
		osr__log(
			w.osm, OSM_LOG_ERROR,
			"ERR OR03: %s: refuses to route, as on_error = refuse says, because of: %s",
			ctx->engine->name, ctx->plugin->options.error.text);
		w.diag = ctx->plugin->options.error;
		osr__sweep_note(&w, OUTCOME_REFUSED);
		return -1;
	}
	if (osr__keys_sweep(&w)) {
		osr_arena_free(&w.scratch);
		return 0;
	}
	clear_slot(w.slot);
	st = sweep(&w);
	osr_arena_free(&w.scratch);
	ctx->others_routed = st != OSR_OK;
	if (st)
		osr__publish_path_sl(w.osm, NULL, NULL);
	osr__sweep_note(&w, st ? OUTCOME_FAILED : w.reused ? OUTCOME_REUSED : OUTCOME_ROUTED);
	for (size_t i = 0; i < sizeof(ctx->slot) / sizeof(ctx->slot[0]); i++)
		if (!slot_in_use(ctx, &ctx->slot[i]))
			clear_slot(&ctx->slot[i]);
	return st ? -1 : 0;
}

void osr__sweep_prepare(struct engine_ctx *ctx)
{
	struct osr_arena scratch = { 0 };

	/* Once for each full route. Out of memory: the sweep does it all itself. */
	if (ctx->current)
		osr_reroute_prepare(&ctx->current->result, &scratch, &ctx->current->arena,
				    &ctx->current->result.routing, NULL);
	osr_arena_free(&scratch);
}

/* Tables from OpenSM's unicast cache ----------------------------------------------------------- */

static enum osr_status check_cached(struct sweep *w, enum snapshot_lids lids, struct osr_diag *diag)
{
	struct osr_fabric *f = &w->slot->result.fabric;
	struct osr_routing *r = &w->slot->result.routing;
	struct osr_result last = w->ctx->current->result;
	enum osr_status st;

	last.routing = *osr__shown(w->ctx->current);
	st = osr__snapshot(w->osm, lids, &w->slot->arena, &w->scratch, f, &w->snap, diag);
	if (!st)
		st = osr__reuse_cached(&last, f, &w->snap, &w->slot->arena,
				       &w->scratch, r, diag);
	if (!st)
		st = osr_check(f, r, &w->scratch, &w->slot->verdict, diag);
	w->ms_check = osr__sweep_clock_ms();
	if (st)
		return st;
	/* QoS may have been switched off since, or a switch without SL2VL tables have come. */
	osr__vl_budget(w->osm, f, &w->ctx->plugin->options, &w->snap.limit);
	st = keep_budget(w, diag);
	if (st)
		return st;
	w->n_changed = osr_routing_changed(&last, f, r, &w->n_entries);
	w->slot->digest = osr_routing_digest(f, r);
	return OSR_OK;
}

static void report_cached(const struct sweep *w, enum snapshot_lids lids)
{
	char proven[128];

	claims_text(w->slot->verdict.proven, proven, sizeof(proven));
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
		osr__sweep_note(w, OUTCOME_CACHED);
		return;
	}
	osr__log(w->osm, OSM_LOG_ERROR, "ERR OR10: %s: tables from OpenSM's unicast cache %s: %s",
		 w->ctx->engine->name,
		 st == OSR_CHECK_FAILED ? "fail the check" : "could not be checked", w->diag.text);
	if (st != OSR_CHECK_FAILED) {
		osr__sweep_note(w, OUTCOME_FAILED);
		return;
	}
	clear_slot(w->slot);
	st = check_cached(w, SNAPSHOT_HOST_LIDS, &hosts);
	osr__sweep_note(w, st ? OUTCOME_CACHE_BAD : OUTCOME_CACHED_HOSTS);
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

	if (!ctx->current)
		return;
	cl_plock_excl_acquire(&w.osm->lock);
	/* If no switch answers OpenSM calls no engine, and there are no tables. */
	if (cl_qmap_count(&w.osm->subn.sw_guid_tbl))
		check_all_cached(&w);
	cl_plock_release(&w.osm->lock);
	osr_arena_free(&w.scratch);
	clear_slot(&slot);
}

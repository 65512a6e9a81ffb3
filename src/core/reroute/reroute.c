/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Incremental re-routing: tables for the fabric of today, from tables of before, with few changes.
 *
 * Model. A routing gives every (switch, LID) an output channel and every (source switch, LID) an SL, which
 * is its VL here. A packet that holds channel a on VL k and asks for channel b next makes b depend on a.
 * The routing is free of deadlock if the graph of these dependencies has no cycle on any VL (Dally, Seitz
 * 1987); an order of the channels in which all of them rise is the certificate.
 *
 * Dynamic reconfiguration. Switches change one by one, and packets of before are still on their way. It is
 * enough that the union of old and new dependencies, with those of packets that have met both, has no cycle
 * (Duato, Lysne, Pang, Pinkston 2005; Lysne, Pinkston, Duato 2005). So nothing is ever removed from the
 * graph of a re-route: it starts with what the baseline's tables depend on, and every new path is added,
 * dependency by dependency, only if it closes no cycle. Dead channels keep their dependencies, for their
 * routes come back when they do. What this costs is freedom: a path that would be safe in a graph without
 * the old ones may be refused.
 *
 * One order instead of a search. The graph is kept with a topological order of each VL. A dependency that
 * rises costs nothing; one that falls makes the channels between its ends move, or is refused (Pearce,
 * Kelly 2006: toporder.h). The order left at the end is the certificate of old and new tables alike.
 *
 * Paths. In the tree of a LID the switches whose path is dead are settled by a breadth-first search from
 * those that are not, so every path is as short as the dependencies of its VLs allow (reroute_tree.c). If
 * some switch finds none, the attempt is repeated with its tree first.
 *
 * SLs. Applications cache path records, so a pair's SL and every SL it was given since the baseline stay
 * in use; all of their VLs must be safe on its new path. Only if no path at all is left does a pair get
 * another SL (reroute_lanes.c). Replies on the SL of their request are such SLs, too.
 *
 * Balance. Routes move off channels that carry more than 1.05 of what any routing of the fabric must
 * (reroute_balance.c, bound.h).
 *
 * From the outside in:
 *	osr_reroute()
 *	  repairable()		does anything forbid it?
 *	  osr__map()		what is still there
 *	  osr__take_tables()	the baseline's tables, or those of the last sweep
 *	  osr__collect_deps()	what they depend on, and what each channel carries
 *	  osr__repair_mcast()	the spanning order of multicast
 *	  osr__add_last()	what is on the switches now
 *	  repair_trees()	LID by LID
 *	  osr__reroute_balance()
 *	  osr__hand_over()	mixtures of old and new; tables, SLs, certificate in today's numbering
 *	  nothing_changed()	then the tables of the last sweep instead
 */
#include "reroute_private.h"

#include <string.h>

#define MAX_TRIES 4

static const struct osr_result *baseline_of(const struct osr_result *previous)
{
	return previous->baseline ? previous->baseline : previous;
}

const struct osr_result *osr_reroute_baseline(const struct osr_result *previous,
					      const struct osr_routing *routing)
{
	return previous && routing->stable.kept && !routing->stable.new_baseline
		       ? baseline_of(previous)
		       : NULL;
}

/* ---- may it be repaired? --------------------------------------------------------------------- */

static enum osr_status repairable(const struct osr_job *job, const struct osr_reroute_options *opt,
				  struct osr_diag *diag)
{
	const struct osr_result *previous = job->previous;
	const struct osr_routing *routing = &previous->routing;
	const struct osr_request *req = &job->request;
	bool shared = !routing->sl || (routing->claims & OSR_CLAIM_ANY_SL);

	if (!routing->lft)
		return osr_fail(diag, OSR_NOT_APPLICABLE, "there are no earlier tables");
	if (opt->minimal && !(routing->claims & OSR_CLAIM_MINIMAL))
		return osr_fail(diag, OSR_NOT_APPLICABLE,
				"the earlier tables are not proven minimal, and the engine "
				"promises that");
	if (routing->sl2vl || baseline_of(previous)->routing.sl2vl)
		return osr_fail(diag, OSR_NOT_APPLICABLE,
				"the earlier tables map SLs to VLs by port pair");
	if (routing->n_vls > req->max_vls)
		return osr_fail(diag, OSR_NOT_APPLICABLE,
				"the earlier tables use %u virtual lanes, and %u are left",
				routing->n_vls, req->max_vls);
	if (!shared && (routing->claims & OSR_CLAIM_MULTICAST) && req->multicast &&
	    routing->mcast_vl != req->mcast_vl)
		return osr_fail(diag, OSR_NOT_APPLICABLE,
				"multicast has moved from virtual lane %u to %u", routing->mcast_vl,
				req->mcast_vl);
	return OSR_OK;
}

/* ---- trees ----------------------------------------------------------------------------------- */

/* Entries that lead nowhere today, in two passes: count, then list. */
static void find_cut(struct osr__reroute *w, bool list)
{
	const struct osr_fabric *fabric = w->x;
	size_t n = fabric->n_switches;

	for (uint32_t c = 0; w->same && c < fabric->n_channels; c++) {
		uint32_t s = fabric->chan_src[c];

		if (w->map.chan_f[c] != OSR_NONE || w->map.sw_f[s] == OSR_NONE)
			continue;
		for (uint32_t d = 0; d < fabric->n_dests; d++) {
			if (w->tab.lft[d * n + s] != fabric->chan_port[c] ||
			    w->map.dest_f[d] == OSR_NONE || fabric->dest_switch[d] == s)
				continue;
			if (list)
				w->tab.cut[w->tab.cut_row[d + 1]] = s;
			w->tab.cut_row[d + (list ? 1 : 2)]++;
		}
	}
	for (uint32_t d = 0; !w->same && d < fabric->n_dests; d++) {
		uint32_t root = fabric->dest_switch[d];

		for (uint32_t s = 0; s < n; s++) {
			if (w->tab.lft[d * n + s] != OSR_NO_PATH || s == root ||
			    fabric->sw_component[s] != fabric->sw_component[root])
				continue;
			if (list)
				w->tab.cut[w->tab.cut_row[d + 1]] = s;
			w->tab.cut_row[d + (list ? 1 : 2)]++;
		}
	}
}

static enum osr_status list_cut(struct osr__reroute *w, struct osr_diag *diag)
{
	w->tab.cut_row = osr_calloc(w->scratch, (size_t)w->x->n_dests + 2, sizeof(*w->tab.cut_row));
	if (!w->tab.cut_row)
		return osr__nomem(diag);
	find_cut(w, false);
	for (uint32_t d = 0; d < w->x->n_dests; d++)
		w->tab.cut_row[d + 2] += w->tab.cut_row[d + 1];
	w->tab.cut = osr_alloc(w->scratch, w->tab.cut_row[w->x->n_dests + 1], sizeof(*w->tab.cut));
	if (!w->tab.cut)
		return osr__nomem(diag);
	find_cut(w, true);
	return OSR_OK;
}

/* Trees that found no path in an earlier try come first. */
static enum osr_status repair_trees(struct osr__reroute *w, struct osr_diag *diag)
{
	enum osr_status st = list_cut(w, diag);

	for (unsigned first = 1; first + 1; first--)
		for (uint32_t d = 0; !st && d < w->x->n_dests; d++) {
			bool cut = w->tab.cut_row[d] != w->tab.cut_row[d + 1];

			if (w->map.dest_f[d] == OSR_NONE || !w->out.front[d] != !first)
				continue;
			w->tab.touched[d] |= cut;
			w->out.stable.n_trees += cut;
			w->tree.epoch += !cut;
			if (cut)
				st = osr__repair_tree(w, d, diag);
			else if (w->tab.grants)
				osr__keep_grants(w, d);
		}
	return st;
}

static enum osr_status reroute_reroute(struct osr__reroute *w, struct osr_arena *result,
				       struct osr_routing *routing, struct osr_diag *diag)
{
	enum osr_status st = osr__map(w, diag);

	if (st)
		return st;
	w->shared = !w->base->sl || (w->base->claims & OSR_CLAIM_ANY_SL);
	if ((w->base->claims & OSR_CLAIM_DEADLOCK_FREE) && w->base->rank)
		w->n_lanes = w->shared ? 1 : w->max_vls;
	/* A full route also restores the original tables after a fault that needed one. */
	if (w->out.stable.n_channels_new || w->new_ways)
		return osr_fail(diag, OSR_NOT_APPLICABLE,
				"there are cables that the tables of the last full route do not "
				"use, or that were slower then");
	if ((st = osr__alloc_tree(w, diag)) || (st = osr__sort_dests(w, diag)) ||
	    (st = osr__take_tables(w, result, diag)) || (st = osr__take_base_grants(w, diag)))
		return st;
	osr__set_roots(w);
	if ((st = osr__collect_deps(w, diag)) || (st = osr__take_later_grants(w, diag)))
		return st;
	osr__begin_result(w, routing);
	st = osr__repair_mcast(w, result, routing, diag);
	if (st)
		return st;
	osr__add_newly_used(w);
	osr__add_last(w);
	if ((st = repair_trees(w, diag)) || (st = osr__reroute_balance(w, diag)))
		return st;
	return osr__hand_over(w, result, routing, diag);
}

static enum osr_status try_reroute(const struct osr_job *job, const struct osr_reroute_options *opt,
				   uint8_t *front, bool *again, struct osr_diag *why)
{
	struct osr_arena_mark mark = osr_arena_mark(job->scratch);
	struct osr_arena_mark before = osr_arena_mark(job->arena);
	struct osr__reroute w = { .f = job->fabric,
				  .opt = opt,
				  .baseline = baseline_of(job->previous),
				  .last = job->previous,
				  .out = { .front = front, .attempts = UINT64_MAX },
				  .max_vls = job->request.max_vls < OSR_MAX_VLS
						     ? job->request.max_vls
						     : OSR_MAX_VLS,
				  .scratch = job->scratch };
	enum osr_status st = reroute_reroute(&w, job->arena, job->routing, why);

	*again = w.out.again;
	osr_arena_reset(job->scratch, mark);
	if (st)
		osr_arena_reset(job->arena, before);
	return st;
}

/* A tree that finds no way, because others were first, is the first in the next try. */
static enum osr_status try_often(const struct osr_job *job, const struct osr_reroute_options *opt,
				 struct osr_diag *why)
{
	struct osr_arena_mark mark = osr_arena_mark(job->scratch);
	uint32_t n = baseline_of(job->previous)->fabric.n_dests, n_now = job->fabric->n_dests;
	uint8_t *front = osr_calloc(job->scratch, n < n_now ? n_now : n, 1);
	enum osr_status st = front ? OSR_NOT_APPLICABLE : osr__nomem(why);
	bool again = false;

	for (uint32_t i = 0; st == OSR_NOT_APPLICABLE && (!i || again) && i < MAX_TRIES; i++)
		st = try_reroute(job, opt, front, &again, why);
	osr_arena_reset(job->scratch, mark);
	return st;
}

/* ---- nothing has changed ---------------------------------------------------------------------- */

static bool nothing_changed(const struct osr_job *job)
{
	const struct osr_result *previous = job->previous;
	const struct osr_request *req = &job->request;
	const struct osr_routing *routing = &previous->routing;

	/* A full route that is repaired by nothing is the same without this. */
	return previous->baseline && routing->n_vls <= req->max_vls &&
	       (routing->mcast_parent != NULL) == req->multicast &&
	       (!req->multicast || routing->mcast_vl == req->mcast_vl) &&
	       osr_fabric_alike(job->fabric, &previous->fabric);
}

static void *reroute_copy(struct osr_arena *arena, const void *from, size_t n, size_t size)
{
	void *to = from ? osr_alloc(arena, n, size) : NULL;

	return to ? memcpy(to, from, n * size) : NULL;
}

/* All that lies in no arena. */
static void take_numbers(const struct osr_routing *from, struct osr_routing *to)
{
	*to = *from;
	to->note = NULL;
	to->notes = (struct osr_notes){ NULL, 0 };
	to->withdrawn = NULL;
	to->lane_deps = NULL;
	to->stable.kept = true;
}

static enum osr_status keep_result(const struct osr_result *previous, struct osr_arena *result,
				   struct osr_routing *r, struct osr_diag *diag)
{
	const struct osr_routing *routing = &previous->routing;
	const struct osr_fabric *baseline = &previous->baseline->fabric;
	size_t size = (size_t)routing->n_dests * routing->n_switches;

	r->claims = routing->claims;
	r->n_vls = routing->n_vls;
	r->n_longer = routing->n_longer;
	r->lft = reroute_copy(result, routing->lft, size, sizeof(*routing->lft));
	r->sl = reroute_copy(result, routing->sl, size, sizeof(*routing->sl));
	r->granted = reroute_copy(result, routing->granted, size, sizeof(*routing->granted));
	r->granted_baseline = reroute_copy(result, routing->granted_baseline,
					   (size_t)baseline->n_dests * baseline->n_switches,
					   sizeof(*routing->granted_baseline));
	r->rank = reroute_copy(result, routing->rank, (size_t)routing->n_vls * routing->n_channels,
			       sizeof(*routing->rank));
	r->mcast_parent = reroute_copy(result, routing->mcast_parent, routing->n_switches,
				       sizeof(*routing->mcast_parent));
	r->mcast_vl = routing->mcast_vl;
	r->deps = NULL;
	r->stable.new_baseline = false;
	r->stable.together = (routing->claims & OSR_CLAIM_DEADLOCK_FREE) && routing->rank;
	r->stable.transition = OSR_TRANSITION_UNASKED;
	r->stable.transition_why[0] = '\0';
	r->stable.n_moved = 0;
	r->stable.n_sl_changed = 0;
	r->stable.n_sl_lost = 0;
	return osr_arena_failed(result, diag) ? OSR_NOMEM : OSR_OK;
}

enum osr_status osr_reroute(const struct osr_job *job, const struct osr_reroute_options *opt,
			    struct osr_diag *why)
{
	struct osr_arena_mark before = osr_arena_mark(job->arena);
	enum osr_status st = repairable(job, opt, why);

	if (st)
		return st;
	st = try_often(job, opt, why);
	if ((st && st != OSR_NOT_APPLICABLE) || !nothing_changed(job))
		return st;
	/* Where lanes are scarce what was found then may not be found again: it holds all the same. */
	if (st)
		take_numbers(&job->previous->routing, job->routing);
	osr_arena_reset(job->arena, before);
	return keep_result(job->previous, job->arena, job->routing, why);
}

/* Of finding room for SLs of earlier on new tables: some tenths of a second. */
#define MAX_ATTEMPTS 50000

/* ---- when there is time ---------------------------------------------------------------------- */

enum osr_status osr_reroute_prepare(const struct osr_result *x, struct osr_arena *scratch,
				    struct osr_arena *result, struct osr_routing *routing,
				    struct osr_diag *diag)
{
	struct osr_arena_mark mark = osr_arena_mark(scratch);
	struct osr__reroute w = { .f = &x->fabric, .baseline = x, .last = x, .scratch = scratch };
	enum osr_status st = OSR_OK;
	uint16_t *deps;
	uint32_t n;

	if (x->baseline || routing->lane_deps || routing->deps || !routing->rank ||
	    routing->sl2vl || !(routing->claims & OSR_CLAIM_DEADLOCK_FREE))
		return OSR_OK;
	if (!(st = osr__map(&w, diag))) {
		w.shared = !routing->sl || (routing->claims & OSR_CLAIM_ANY_SL);
		w.n_lanes = w.shared ? 1 : routing->n_vls;
		w.tab.lft = routing->lft;
		w.tab.sl = routing->sl;
		st = osr__alloc_tree(&w, diag);
	}
	if (!st && !(st = osr__sort_dests(&w, diag)) && !(st = osr__take_base_grants(&w, diag)) &&
	    !(st = osr__collect_deps(&w, diag))) {
		n = w.deps.row[w.x->n_channels];
		deps = osr_alloc(result, n, sizeof(*deps));
		if (deps)
			routing->lane_deps = memcpy(deps, w.deps.dep, n * sizeof(*deps));
		else
			st = osr__nomem(diag);
	}
	osr_arena_reset(scratch, mark);
	return st;
}

/* ---- after a full route ---------------------------------------------------------------------- */

/* SLs that pairs had in the last sweep or before, in the numbering of f. */
static void collect_grants(struct osr__reroute *w, const struct osr_request *req)
{
	const struct osr_routing *then = &w->last->routing;
	uint16_t chosen = req->chosen_sls ? req->chosen_sls : 1;
	size_t n = w->x->n_switches;

	for (uint32_t d = 0; d < w->x->n_dests; d++) {
		if (w->map.dest_last[d] == OSR_NONE)
			continue;
		for (uint32_t v = 0; v < n; v++) {
			size_t old =
				(size_t)w->map.dest_last[d] * then->n_switches + w->map.sw_last[v];

			if (w->map.sw_last[v] == OSR_NONE || v == w->x->dest_switch[d] ||
			    then->lft[old] == OSR_NO_PATH)
				continue;
			w->tab.grants[d * n + v] =
				then->sl ? (uint16_t)(1u << (then->sl[old] & 15)) : chosen;
			if (then->granted)
				w->tab.grants[d * n + v] |= then->granted[old];
			w->out.stable.n_sl_changed +=
				then->sl && then->sl[old] != w->tab.sl[d * n + v];
		}
	}
}

static enum osr_status grant_earlier(struct osr__reroute *w, const struct osr_request *req,
				     struct osr_arena *result, struct osr_routing *routing,
				     struct osr_diag *diag)
{
	size_t n = w->f->n_switches, size = w->f->n_dests * n;
	uint16_t *grants = osr_calloc(result, size, sizeof(*grants));
	enum osr_status st = grants ? osr__map(w, diag) : osr__nomem(diag);

	if (st)
		return st;
	w->n_lanes = routing->n_vls;
	w->tab.lft = routing->lft;
	w->tab.sl = routing->sl;
	if ((st = osr__alloc_tree(w, diag)) || (st = osr__sort_dests(w, diag)) ||
	    (st = osr__collect_deps(w, diag)))
		return st;
	osr__add_order(w);
	w->tab.grants = grants;
	collect_grants(w, req);
	w->out.attempts = MAX_ATTEMPTS;
	w->tree.epoch++;
	for (uint32_t d = 0; d < w->f->n_dests; d++)
		osr__keep_grants(w, d);
	routing->granted = grants;
	/* The order has moved to make room for them. */
	return osr__hand_over_ranks(w, result, routing, diag);
}

/* Where SL2VL tables of an engine's own come or go, no SL of earlier is proven: all pairs that send. */
static uint64_t count_unproven(const struct osr_fabric *fabric, const struct osr_routing *routing,
			       const struct osr_routing *before)
{
	uint64_t n = 0;

	if ((!routing->sl2vl && !before->sl2vl) || !before->sl ||
	    ((routing->claims | before->claims) & OSR_CLAIM_ANY_SL))
		return 0;
	for (uint32_t s = 0; s < fabric->n_switches; s++)
		n += fabric->sw_sources[s] ? fabric->n_dests : 0;
	return n;
}

enum osr_status osr_reroute_anew(const struct osr_job *job, const struct osr_diag *why)
{
	struct osr_routing *routing = job->routing;
	const struct osr_routing *earlier = &job->previous->routing;
	const struct osr_result now = { .fabric = *job->fabric, .routing = *routing };
	struct osr_arena_mark mark = osr_arena_mark(job->scratch);
	struct osr__reroute w = {
		.f = job->fabric, .baseline = &now, .last = job->previous, .scratch = job->scratch
	};
	enum osr_status st = OSR_OK;

	if (!routing->sl2vl && routing->sl && routing->rank &&
	    (routing->claims & OSR_CLAIM_DEADLOCK_FREE) && !(routing->claims & OSR_CLAIM_ANY_SL) &&
	    earlier->lft && !earlier->sl2vl)
		st = grant_earlier(&w, &job->request, job->arena, routing, job->diag);
	else
		w.out.stable.n_sl_lost = count_unproven(job->fabric, routing, earlier);
	osr_arena_reset(job->scratch, mark);
	routing->stable = (struct osr_stable){ .n_sl_changed = w.out.stable.n_sl_changed,
					       .n_sl_lost = w.out.stable.n_sl_lost };
	memcpy(routing->stable.why, why->text, sizeof(routing->stable.why) - 1);
	return st;
}

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Before and after: what the next repair would do, done when there is time; and after a full route
 * the SLs of earlier.
 */
#include "reroute_private.h"

#include <string.h>

/* Of finding room for SLs of earlier on new tables: some tenths of a second. */
#define MAX_ATTEMPTS 50000

/* ---- when there is time ---------------------------------------------------------------------- */

enum osr_status osr_reroute_prepare(const struct osr_result *x, struct osr_arena *scratch,
				    struct osr_arena *result, struct osr_routing *r,
				    struct osr_diag *diag)
{
	struct osr_arena_mark mark = osr_arena_mark(scratch);
	struct osr__reroute w = { .f = &x->fabric, .home = x, .last = x, .scratch = scratch };
	enum osr_status st = OSR_OK;
	uint16_t *deps;
	uint32_t n;

	if (x->home || r->lane_deps || r->deps || !r->rank || r->sl2vl ||
	    !(r->claims & OSR_CLAIM_DEADLOCK_FREE))
		return OSR_OK;
	if (!(st = osr__map(&w, diag))) {
		w.shared = !r->sl || (r->claims & OSR_CLAIM_ANY_SL);
		w.n_lanes = w.shared ? 1 : r->n_vls;
		w.lft = r->lft;
		w.sl = r->sl;
		st = osr__alloc_tree(&w, diag);
	}
	if (!st && !(st = osr__sort_dests(&w, diag)) && !(st = osr__take_base_grants(&w, diag)) &&
	    !(st = osr__collect_deps(&w, diag))) {
		n = w.deps.row[w.x->n_channels];
		deps = osr_alloc(result, n, sizeof(*deps));
		if (deps)
			r->lane_deps = memcpy(deps, w.deps.dep, n * sizeof(*deps));
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
		if (w->dest_last[d] == OSR_NONE)
			continue;
		for (uint32_t v = 0; v < n; v++) {
			size_t old = (size_t)w->dest_last[d] * then->n_switches + w->sw_last[v];

			if (w->sw_last[v] == OSR_NONE || then->lft[old] == OSR_NO_PATH)
				continue;
			w->grants[d * n + v] =
				then->sl ? (uint16_t)(1u << (then->sl[old] & 15)) : chosen;
			if (then->granted)
				w->grants[d * n + v] |= then->granted[old];
			w->stable.n_sl_changed += then->sl && then->sl[old] != w->sl[d * n + v];
		}
	}
}

static enum osr_status grant_earlier(struct osr__reroute *w, const struct osr_request *req,
				     struct osr_arena *result, struct osr_routing *r,
				     struct osr_diag *diag)
{
	size_t n = w->f->n_switches, size = w->f->n_dests * n;
	uint16_t *grants = osr_calloc(result, size, sizeof(*grants));
	enum osr_status st = grants ? osr__map(w, diag) : osr__nomem(diag);

	if (st)
		return st;
	w->n_lanes = r->n_vls;
	w->lft = r->lft;
	w->sl = r->sl;
	if ((st = osr__alloc_tree(w, diag)) || (st = osr__sort_dests(w, diag)) ||
	    (st = osr__collect_deps(w, diag)))
		return st;
	osr__add_order(w);
	w->grants = grants;
	collect_grants(w, req);
	w->attempts = MAX_ATTEMPTS;
	w->epoch++;
	for (uint32_t d = 0; d < w->f->n_dests; d++)
		osr__keep_grants(w, d);
	r->granted = grants;
	/* The order has moved to make room for them. */
	return osr__hand_over_ranks(w, result, r, diag);
}

enum osr_status osr_reroute_anew(const struct osr_fabric *f, const struct osr_request *req,
				 const struct osr_result *previous, const struct osr_diag *why,
				 struct osr_arena *scratch, struct osr_arena *result,
				 struct osr_routing *r, struct osr_diag *diag)
{
	const struct osr_result now = { .fabric = *f, .routing = *r };
	struct osr_arena_mark mark = osr_arena_mark(scratch);
	struct osr__reroute w = { .f = f, .home = &now, .last = previous, .scratch = scratch };
	enum osr_status st = OSR_OK;

	if (!r->sl2vl && r->sl && r->rank && (r->claims & OSR_CLAIM_DEADLOCK_FREE) &&
	    !(r->claims & OSR_CLAIM_ANY_SL) && previous->routing.lft && !previous->routing.sl2vl)
		st = grant_earlier(&w, req, result, r, diag);
	osr_arena_reset(scratch, mark);
	r->stable = (struct osr_stable){ .n_sl_changed = w.stable.n_sl_changed,
					 .n_sl_lost = w.stable.n_sl_lost };
	memcpy(r->stable.why, why->text, sizeof(r->stable.why) - 1);
	return st;
}

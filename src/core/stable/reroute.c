/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * See reroute.h. From the outside in:
 *	osr_reroute()
 *	  repairable()		is there anything that speaks against it?
 *	  osr__map()		what is still there
 *	  osr__take_tables()	home's tables, or those of the last sweep
 *	  osr__collect_deps()	what they depend on, and what each channel carries
 *	  osr__add_last()	what is on the switches now
 *	  repair_trees()	tree by tree
 *	  osr__add_mixtures()	old and new together
 *	  osr__hand_over()	tables, SLs and certificate in the numbering of today
 *	  osr__nothing_changed()	then the tables of the last sweep instead
 */
#include "reroute_private.h"

#include <string.h>

#define MAX_TRIES 4

enum osr_status osr__nomem(struct osr_diag *diag)
{
	return osr_fail(diag, OSR_NOMEM, "out of memory for re-routing");
}

static const struct osr_result *home_of(const struct osr_result *previous)
{
	return previous->home ? previous->home : previous;
}

const struct osr_result *osr_reroute_home(const struct osr_result *previous,
					  const struct osr_routing *r)
{
	return previous && r->stable.kept && !r->stable.new_home ? home_of(previous) : NULL;
}

/* ---- may it be repaired? --------------------------------------------------------------------- */

static enum osr_status repairable(const struct osr_request *req, const struct osr_result *previous,
				  struct osr_diag *diag)
{
	const struct osr_routing *r = &previous->routing;
	bool shared = !r->sl || (r->claims & OSR_CLAIM_ANY_SL);

	if (!r->lft)
		return osr_fail(diag, OSR_NOT_APPLICABLE, "there are no earlier tables");
	if (r->sl2vl || home_of(previous)->routing.sl2vl)
		return osr_fail(diag, OSR_NOT_APPLICABLE,
				"the earlier tables map SLs to VLs by port pair");
	if (r->n_vls > req->max_vls)
		return osr_fail(diag, OSR_NOT_APPLICABLE,
				"the earlier tables use %u virtual lanes, and %u are left",
				r->n_vls, req->max_vls);
	if (!shared && (r->claims & OSR_CLAIM_MULTICAST) && req->multicast &&
	    r->mcast_vl != req->mcast_vl)
		return osr_fail(diag, OSR_NOT_APPLICABLE,
				"multicast has moved from virtual lane %u to %u", r->mcast_vl,
				req->mcast_vl);
	return OSR_OK;
}

/* ---- trees ----------------------------------------------------------------------------------- */

/* Entries that lead nowhere today, in two passes: count, then list. */
static void find_cut(struct osr__reroute *w, bool list)
{
	const struct osr_fabric *x = w->x;
	size_t n = x->n_switches;

	for (uint32_t c = 0; w->same && c < x->n_channels; c++) {
		uint32_t s = x->chan_src[c];

		if (w->chan_f[c] != OSR_NONE || w->sw_f[s] == OSR_NONE)
			continue;
		for (uint32_t d = 0; d < x->n_dests; d++) {
			if (w->lft[d * n + s] != x->chan_port[c] || w->dest_f[d] == OSR_NONE ||
			    x->dest_switch[d] == s)
				continue;
			if (list)
				w->cut[w->cut_row[d + 1]] = s;
			w->cut_row[d + (list ? 1 : 2)]++;
		}
	}
	for (uint32_t d = 0; !w->same && d < x->n_dests; d++) {
		uint32_t root = x->dest_switch[d];

		for (uint32_t s = 0; s < n; s++) {
			if (w->lft[d * n + s] != OSR_NO_PATH || s == root ||
			    x->sw_component[s] != x->sw_component[root])
				continue;
			if (list)
				w->cut[w->cut_row[d + 1]] = s;
			w->cut_row[d + (list ? 1 : 2)]++;
		}
	}
}

static enum osr_status list_cut(struct osr__reroute *w, struct osr_diag *diag)
{
	w->cut_row = osr_calloc(w->scratch, (size_t)w->x->n_dests + 2, sizeof(*w->cut_row));
	if (!w->cut_row)
		return osr__nomem(diag);
	find_cut(w, false);
	for (uint32_t d = 0; d < w->x->n_dests; d++)
		w->cut_row[d + 2] += w->cut_row[d + 1];
	w->cut = osr_alloc(w->scratch, w->cut_row[w->x->n_dests + 1], sizeof(*w->cut));
	if (!w->cut)
		return osr__nomem(diag);
	find_cut(w, true);
	return OSR_OK;
}

/*
 * Detours cost room on the lanes, so what needs none comes first. What is left over is marked in
 * postponed[].
 */
static uint32_t repair_easily(struct osr__reroute *w, uint8_t *postponed)
{
	uint32_t n = 0;

	for (uint32_t d = 0; d < w->x->n_dests; d++) {
		bool cut = w->cut_row[d] != w->cut_row[d + 1];

		postponed[d] = 0;
		if (w->dest_f[d] == OSR_NONE || w->front[d])
			continue;
		w->touched[d] |= cut;
		w->stable.n_trees += cut;
		w->epoch += !cut;
		if (!cut && w->grants)
			osr__keep_grants(w, d);
		if (cut && (!w->opt->fewest || !osr__repair_easily(w, d)))
			postponed[d] = 1;
		n += postponed[d];
	}
	return n;
}

static enum osr_status repair_trees(struct osr__reroute *w, struct osr_diag *diag)
{
	enum osr_status st = list_cut(w, diag);
	uint8_t *postponed = osr_alloc(w->scratch, w->x->n_dests, 1);
	uint32_t n;

	if (st || !postponed)
		return st ? st : osr__nomem(diag);
	for (uint32_t d = 0; !st && d < w->x->n_dests; d++) {
		if (!w->front[d] || w->dest_f[d] == OSR_NONE)
			continue;
		st = osr__repair_tree(w, d, diag);
		w->touched[d] = 1;
		w->stable.n_trees++;
	}
	if (st)
		return st;
	n = repair_easily(w, postponed);
	for (uint32_t d = 0; !st && n && d < w->x->n_dests; d++)
		if (postponed[d])
			st = osr__repair_tree(w, d, diag);
	return st;
}

static enum osr_status reroute(struct osr__reroute *w, struct osr_arena *result,
			       struct osr_routing *r, struct osr_diag *diag)
{
	enum osr_status st = osr__map(w, diag);

	if (st)
		return st;
	w->shared = !w->base->sl || (w->base->claims & OSR_CLAIM_ANY_SL);
	if ((w->base->claims & OSR_CLAIM_DEADLOCK_FREE) && w->base->rank)
		w->n_lanes = w->shared ? 1 : w->max_vls;
	w->minimal = w->base->claims & OSR_CLAIM_MINIMAL;
	/* Also what brings back the tables of before where home could not hold a fault. */
	if (w->stable.n_channels_new || w->new_ways)
		return osr_fail(diag, OSR_NOT_APPLICABLE,
				"there are cables that the tables of the last full route do not "
				"use, or that were slower then");
	if ((st = osr__alloc_tree(w, diag)) || (st = osr__sort_dests(w, diag)) ||
	    (st = osr__take_tables(w, result, diag)) || (st = osr__take_base_grants(w, diag)))
		return st;
	osr__set_roots(w);
	if ((st = osr__collect_deps(w, diag)) || (st = osr__take_later_grants(w, diag)))
		return st;
	osr__begin_result(w, r);
	st = osr__repair_mcast(w, result, r, diag);
	if (st)
		return st;
	osr__add_newly_used(w);
	osr__add_last(w);
	st = repair_trees(w, diag);
	return st ? st : osr__hand_over(w, result, r, diag);
}

static enum osr_status try_reroute(const struct osr_fabric *f, const struct osr_request *req,
				   const struct osr_result *previous,
				   const struct osr_reroute_options *opt, uint8_t *front,
				   struct osr_arena *scratch, struct osr_arena *result,
				   struct osr_routing *r, bool *again, bool *mixes,
				   struct osr_diag *diag)
{
	struct osr_arena_mark mark = osr_arena_mark(scratch), before = osr_arena_mark(result);
	struct osr__reroute w = { .f = f,
				  .opt = opt,
				  .home = home_of(previous),
				  .last = previous,
				  .front = front,
				  .max_vls =
					  req->max_vls < OSR_MAX_VLS ? req->max_vls : OSR_MAX_VLS,
				  .attempts = UINT64_MAX,
				  .mixes = *mixes,
				  .scratch = scratch,
				  .stable = { .together = true } };
	enum osr_status st = reroute(&w, result, r, diag);

	*again = w.again;
	*mixes = w.n_lanes && !w.bounces;
	osr_arena_reset(scratch, mark);
	if (st)
		osr_arena_reset(result, before);
	return st;
}

/* A tree that finds no way, because others were first, is the first in the next try. */
static enum osr_status try_often(const struct osr_fabric *f, const struct osr_request *req,
				 const struct osr_result *previous,
				 const struct osr_reroute_options *opt, struct osr_arena *scratch,
				 struct osr_arena *result, struct osr_routing *r, bool *mixes,
				 struct osr_diag *diag)
{
	struct osr_arena_mark mark = osr_arena_mark(scratch);
	bool mixed = *mixes;
	uint32_t n = home_of(previous)->fabric.n_dests;
	uint8_t *front = osr_calloc(scratch, n < f->n_dests ? f->n_dests : n, 1);
	enum osr_status st = front ? OSR_NOT_APPLICABLE : osr__nomem(diag);
	bool again = true;

	for (uint32_t i = 0; st == OSR_NOT_APPLICABLE && again && i < MAX_TRIES; i++) {
		*mixes = mixed;
		st = try_reroute(f, req, previous, opt, front, scratch, result, r, &again, mixes,
				 diag);
	}
	osr_arena_reset(scratch, mark);
	return st;
}

/*
 * If the shortest ways can deadlock while they mix with the old ones, and all SLs stay: perhaps others
 * cannot, just as short. The routes come first, the moment between second. With the fewest changes
 * hardly anything mixes.
 */
static void try_mixing(const struct osr_fabric *f, const struct osr_request *req,
		       const struct osr_result *previous, const struct osr_reroute_options *opt,
		       struct osr_arena *scratch, struct osr_arena *result, struct osr_routing *r)
{
	struct osr_arena_mark before = osr_arena_mark(result);
	struct osr_routing other;
	bool mixes = true;

	if (!try_often(f, req, previous, opt, scratch, result, &other, &mixes, NULL) &&
	    other.stable.together && !other.stable.n_sl_lost && other.n_longer <= r->n_longer)
		*r = other;
	else
		osr_arena_reset(result, before);
}

static enum osr_status repair(const struct osr_fabric *f, const struct osr_request *req,
			      const struct osr_result *previous,
			      const struct osr_reroute_options *opt, struct osr_arena *scratch,
			      struct osr_arena *result, struct osr_routing *r,
			      struct osr_diag *diag)
{
	struct osr_reroute_options shortest = *opt;
	enum osr_status st = repairable(req, previous, diag);
	bool mixes = false;

	if (st)
		return st;
	st = try_often(f, req, previous, opt, scratch, result, r, &mixes, diag);
	if (!st && !opt->fewest && !r->stable.together && !r->stable.n_sl_lost && r->stable.n_trees &&
	    mixes)
		try_mixing(f, req, previous, opt, scratch, result, r);
	if (st != OSR_NOT_APPLICABLE || !opt->fewest)
		return st;
	/* Detours took the room on the lanes, or load too few cables. */
	shortest.fewest = false;
	mixes = false;
	return try_often(f, req, previous, &shortest, scratch, result, r, &mixes, diag);
}

enum osr_status osr_reroute(const struct osr_fabric *f, const struct osr_request *req,
			    const struct osr_result *previous,
			    const struct osr_reroute_options *opt, struct osr_arena *scratch,
			    struct osr_arena *result, struct osr_routing *r, struct osr_diag *diag)
{
	struct osr_arena_mark before = osr_arena_mark(result);
	enum osr_status st = repair(f, req, previous, opt, scratch, result, r, diag);

	if (st || !osr__nothing_changed(f, req, previous))
		return st;
	osr_arena_reset(result, before);
	return osr__keep_result(previous, result, r, diag);
}

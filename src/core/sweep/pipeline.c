/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* See sweep.h. */
#include <osmroutes/bound.h>
#include <osmroutes/each.h>
#include <osmroutes/lanes.h>
#include <osmroutes/sweep.h>

#include "core/data/carry.h"
#include "core/proved/gate.h"
#include "core/repair/repair.h"
#include "core/transition/transition.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static double sweep_ms(double (*clock)(void))
{
	return clock ? clock() : 0;
}

/* An option of the engine, one of the list in sweep.h. */
static uint64_t sweep_option(const struct osr_job *job, const char *name, uint64_t otherwise)
{
	const struct osr_param *table = job->engine->params;

	if (!table)
		return otherwise;
	for (uint32_t row = 0; table[row].name; row++)
		if (!strcmp(table[row].name, name))
			return job->values->num[row];
	return otherwise;
}

static bool sweep_is_stable(const struct osr_job *job)
{
	return (job->engine->capabilities & OSR_ENGINE_REROUTE) &&
	       sweep_option(job, "stable", false);
}

/* ---- tables ---------------------------------------------------------------------------------- */

/*
 * Incrementally. OSR_NOT_APPLICABLE, with the reason in `why`: the engine must route from nothing.
 * Beyond the longer routes of the last full route, repairs may make as many routes longer as
 * any_sl_cost allows. On one lane there is no limit: longer routes are better than the transition
 * to a full route on other lanes, which can deadlock.
 */
static enum osr_status sweep_reroute(const struct osr_job *job, bool spare, struct osr_diag *why)
{
	const struct osr_result *last = job->previous,
				*base = last->baseline ? last->baseline : last;
	struct osr_routing *routing = job->routing;
	uint64_t n_routes = (uint64_t)job->fabric->n_dests * (job->fabric->n_switches - 1),
		 most = sweep_option(job, "any_sl_cost", 100), n_longer;
	double start = sweep_ms(job->request.clock_ms);
	enum osr_status st = osr_repair(job, spare, why);

	if (st)
		return st;
	if ((job->engine->capabilities & OSR_ENGINE_MINIMAL) &&
	    !(routing->claims & OSR_CLAIM_MINIMAL))
		return osr_fail(why, OSR_NOT_APPLICABLE,
				"the engine promises minimal routes, and the earlier tables are "
				"not proven minimal, or what is left of them");
	routing->ms_spf = sweep_ms(job->request.clock_ms) - start;
	routing->chosen = job->previous->routing.chosen;
	routing->n_vls_tried = job->previous->routing.n_vls_tried;
	if ((routing->claims & OSR_CLAIM_MINIMAL) || !(routing->claims & OSR_CLAIM_ANY_SL) ||
	    routing->n_vls == 1 || sweep_option(job, "any_sl", OSR_ANY_SL_OFF) != OSR_ANY_SL_AUTO ||
	    osr_check_keep(job->fabric, routing, job->arena, job->scratch, job->checked, why))
		return OSR_OK;
	n_longer = job->checked->verdict.n_longer;
	if (n_longer * 100 <= base->routing.n_longer * UINT64_C(100) + n_routes * most)
		return OSR_OK;
	job->checked->load = NULL;
	return osr_fail(why, OSR_NOT_APPLICABLE,
			"%" PRIu64 " of %" PRIu64
			" routes would be longer than minimal, %u were at the "
			"last full route, and any_sl_cost is %" PRIu64,
			n_longer, n_routes, base->routing.n_longer, most);
}

/* From nothing; connections of the earlier tables keep their SLs where the new ones allow it. */
static enum osr_status sweep_full_route(const struct osr_job *job, const struct osr_diag *why)
{
	bool stable = job->previous && sweep_is_stable(job);
	struct osr_job mine = *job;
	enum osr_status st;

	mine.request.keep_any_sl = stable && (job->previous->routing.claims & OSR_CLAIM_ANY_SL) &&
				   job->fabric->n_switches <= job->previous->fabric.n_switches;
	st = job->engine->route(&mine);
	job->routing->n_vls_tried = job->request.max_vls;
	if (!st && stable)
		st = osr_repair_anew(job, why);
	return st;
}

/* Candidate tables for the present fabric, those with the fewest changes on the switches first. */
enum { SWEEP_REROUTE, SWEEP_SPARE, SWEEP_FULL, SWEEP_OFFERS };

/*
 * By SL a full route takes the SLs of connections away; the load may exceed by this many times
 * more: 200 % for 120.
 */
#define SWEEP_BY_SL_EXCESS 5

struct sweep_offer {
	struct osr_routing routing;
	struct osr_checked checked; /* load: there are such tables, and the check holds */
	struct osr_arena_mark mark; /* of the arena with these tables */
};

/*
 * The tables of job->routing, checked already or now; true if their busiest channel carries no more
 * than this.
 */
static bool sweep_add(const struct osr_job *job, struct sweep_offer *offer, uint64_t most)
{
	struct osr_diag diag;

	offer->routing = *job->routing;
	if (!offer->checked.load)
		osr_check_keep(job->fabric, job->routing, job->arena, job->scratch, &offer->checked,
			       &diag);
	offer->mark = osr_arena_mark(job->arena);
	return offer->checked.load && offer->checked.verdict.efi <= most;
}

/* Are there such tables, and is exactly `safe` of the wanted claims proven for them? */
static bool sweep_is_offered(const struct sweep_offer *offer, uint32_t wanted, uint32_t safe)
{
	return offer->checked.load && (offer->checked.verdict.proven & wanted) == safe;
}

/* Requested claims that more lanes can prove. */
static uint32_t sweep_wanted(const struct osr_job *job)
{
	uint32_t wanted = OSR_CLAIM_DEADLOCK_FREE | OSR_CLAIM_REVERSIBLE;

	if (sweep_option(job, "any_sl", OSR_ANY_SL_ON) != OSR_ANY_SL_OFF)
		wanted |= OSR_CLAIM_ANY_SL;
	return wanted | (job->request.multicast ? OSR_CLAIM_MULTICAST : 0);
}

/* The busiest channel may carry this percentage of the least, as after a repair (repair.h). */
#define SWEEP_BALANCED 105

/* Could more lanes make these tables better? */
static bool sweep_is_short(const struct osr_job *job, const struct osr_verdict *verdict)
{
	double bound = 0;

	return verdict->n_longer || (sweep_wanted(job) & ~verdict->proven) ||
	       osr_bound_load(job->fabric, OSR_FIRST_LIDS, job->scratch, &bound, NULL) ||
	       verdict->efi_per_capacity * 100 > bound * SWEEP_BALANCED;
}

/*
 * Are tables of a full route better: more is proven, fewer routes are longer, or less is on the
 * busiest channel, and nothing is worse?
 */
static bool sweep_is_better(const struct osr_job *job, const struct osr_verdict *full,
			    const struct osr_verdict *kept)
{
	uint32_t wanted = sweep_wanted(job), lost = kept->proven & ~full->proven & wanted,
		 won = full->proven & ~kept->proven & wanted;

	if (lost || won)
		return !lost;
	if (full->n_longer > kept->n_longer ||
	    full->efi_per_capacity * 100 > kept->efi_per_capacity * SWEEP_BALANCED)
		return false;
	return full->n_longer < kept->n_longer ||
	       full->efi_per_capacity * SWEEP_BALANCED < kept->efi_per_capacity * 100;
}

/*
 * There is a re-route, and there are more lanes than the last full route could use: compares it
 * with a full route. Once for each growth, for the tables remember how many lanes were tried.
 */
static void sweep_more_lanes(const struct osr_job *job, struct osr_diag *why)
{
	struct sweep_offer kept = { .checked = *job->checked }, full = { .checked.load = NULL };
	struct osr_job mine = *job;
	struct osr_diag diag = { "" };
	uint32_t tried = job->routing->n_vls_tried;

	osr_invariant(tried < job->request.max_vls);
	job->routing->n_vls_tried = job->request.max_vls;
	if (!sweep_add(job, &kept, UINT64_MAX))
		return; /* the check is about to refuse it */
	*job->checked = kept.checked;
	if (!sweep_is_short(job, &kept.checked.verdict))
		return;
	osr_fail(why, OSR_OK, "there are %u virtual lanes, %u at the last full route",
		 job->request.max_vls, tried);
	mine.diag = &diag;
	mine.checked = &full.checked;
	if (!sweep_full_route(&mine, why) && sweep_add(&mine, &full, UINT64_MAX) &&
	    sweep_is_better(job, &full.checked.verdict, &kept.checked.verdict)) {
		*job->checked = full.checked;
		return;
	}
	*job->routing = kept.routing;
	osr_arena_reset(job->arena, kept.mark);
}

/*
 * The best offer; SWEEP_OFFERS: no offer. Offers that are safe with any SL come first, unless the
 * options refuse that. Of these the first wins whose busiest channel carries at most `percent` of
 * the least. Below 100 percent no offer may do so; then the full route wins.
 */
static uint32_t sweep_choose(const struct osr_job *job, const struct sweep_offer *offer,
			     uint64_t percent)
{
	uint64_t least = UINT64_MAX;
	uint32_t wanted = OSR_CLAIM_ANY_SL, safe = 0;

	if (sweep_option(job, "any_sl", OSR_ANY_SL_ON) == OSR_ANY_SL_OFF)
		wanted = 0;
	for (uint32_t i = 0; i < SWEEP_OFFERS; i++)
		if (offer[i].checked.load)
			safe |= offer[i].checked.verdict.proven & wanted;
	for (uint32_t i = 0; i < SWEEP_OFFERS; i++)
		if (sweep_is_offered(&offer[i], wanted, safe) &&
		    offer[i].checked.verdict.efi < least)
			least = offer[i].checked.verdict.efi;
	for (uint32_t i = 0; i < SWEEP_OFFERS; i++)
		if (sweep_is_offered(&offer[i], wanted, safe) &&
		    (i == SWEEP_FULL || offer[i].checked.verdict.efi * 100 <= least * percent))
			return i;
	return SWEEP_OFFERS;
}

/*
 * A re-route with few changes. If it fails, or may load the busiest channel with more than
 * `rebalance` allows: a re-route on lanes that no table uses yet; if that fails as well, the best
 * of these two and a full route. OSR_NOT_APPLICABLE: no tables.
 */
static enum osr_status sweep_offers(const struct osr_job *job, struct osr_diag *why)
{
	const struct osr_result *last = job->previous,
				*base = last->baseline ? last->baseline : last;
	bool spare = base->routing.sl || base->routing.sl2vl ||
		     sweep_option(job, "any_sl", OSR_ANY_SL_OFF) != OSR_ANY_SL_OFF;
	uint64_t percent = sweep_option(job, "rebalance", 0), most = UINT64_MAX;
	struct sweep_offer offer[SWEEP_OFFERS] = { 0 };
	struct osr_diag diag = { "" }, spent = { "" };
	struct osr_job mine = *job;
	uint32_t best;
	enum osr_status st;

	mine.diag = &diag;
	mine.checked = &offer[SWEEP_REROUTE].checked;
	st = sweep_reroute(&mine, false, why);
	*job->checked = *mine.checked;
	if (!st && last->routing.n_vls_tried && last->routing.n_vls_tried < job->request.max_vls) {
		sweep_more_lanes(job, why);
		*mine.checked = *job->checked;
	}
	if (!st && !job->routing->stable.kept)
		return st;
	if (base->routing.sl && !(base->routing.claims & OSR_CLAIM_ANY_SL) && percent > 100)
		percent = 100 + SWEEP_BY_SL_EXCESS * (percent - 100);
	if (st == OSR_NOMEM || (!st && (!percent || job->routing->stable.drift <= 10 * percent)))
		return st;
	if (!st) {
		uint32_t drift = job->routing->stable.drift;

		sweep_add(&mine, &offer[SWEEP_REROUTE], 0);
		most = offer[SWEEP_REROUTE].checked.verdict.efi * 10 * percent / drift;
		osr_fail(why, OSR_NOT_APPLICABLE,
			 "a re-route would load the busiest channel with more than %" PRIu64
			 " %% of what a full route does",
			 percent);
	}
	mine.checked = &offer[SWEEP_SPARE].checked;
	if (spare && !sweep_reroute(&mine, true, &spent) &&
	    sweep_add(&mine, &offer[SWEEP_SPARE], most)) {
		best = SWEEP_SPARE;
	} else {
		mine.checked = &offer[SWEEP_FULL].checked;
		if (!sweep_full_route(&mine, why))
			sweep_add(&mine, &offer[SWEEP_FULL], most);
		best = sweep_choose(job, offer, percent);
	}
	if (best == SWEEP_OFFERS)
		return OSR_NOT_APPLICABLE;
	osr_invariant(offer[best].checked.load);
	*job->routing = offer[best].routing;
	*job->checked = offer[best].checked;
	osr_arena_reset(job->arena, offer[best].mark);
	return OSR_OK;
}

/*
 * Re-routed, or routed from nothing: one LID a port. `refused`: why no re-route is tried, or NULL.
 */
static enum osr_status sweep_first_lids(const struct osr_job *job, const struct osr_diag *refused)
{
	const struct osr_routing *last = job->previous ? &job->previous->routing : NULL;
	enum osr_status st = job->engine->applies ? job->engine->applies(job) : OSR_OK;
	struct osr_diag why = { "" };

	if (st)
		return st;
	st = OSR_NOT_APPLICABLE;
	if (!refused && last && sweep_is_stable(job))
		st = sweep_offers(job, &why);
	if (st == OSR_NOMEM)
		return osr_fail(job->diag, st, "%s", why.text);
	if (!st)
		return OSR_OK;
	return sweep_full_route(job, refused ? refused : &why);
}

/* ---- several LIDs a port --------------------------------------------------------------------- */

/*
 * Shall the planes of the last sweep stay after a full route? An engine that has no others, and
 * notes for the next one, keeps what routes it can. LIDs that are new want planes as well.
 */
static bool sweep_keeps_planes(const struct osr_job *job)
{
	return job->notes.size && !(job->engine->capabilities & OSR_ENGINE_REROUTE);
}

/* Is one of these n LIDs, or channels, new? then[n]: what each was in an earlier fabric. */
static bool sweep_has_new(const uint32_t *then, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		if (then[i] == OSR_NONE)
			return true;
	return false;
}

/* Are all rows those of first LIDs? Others, once mended, do not return with the cables. */
static bool sweep_planes_follow(const struct osr_fabric *fabric, const struct osr_planes *planes)
{
	OSR_EACH_DEST(d, fabric)
		if (osr_plane_of(fabric, planes->tree_of[d]))
			return false;
	return true;
}

/*
 * All LIDs, from the tables of the first ones, in the planes of the tables that these started from;
 * else in planes of their own.
 */
static enum osr_status sweep_expand(const struct osr_job *job, const struct osr_fabric *fabric,
				    const struct osr_routing *first)
{
	const struct osr_result *last = job->previous,
				*base = last && last->baseline ? last->baseline : last;
	struct osr_earlier earlier = { .routing.planes.n = 0 };
	bool stay = first->stable.kept || (base && sweep_keeps_planes(job));
	const struct osr_routing *own = NULL;
	struct osr_planes planes;
	enum osr_status st = OSR_OK;

	if (stay)
		st = osr_carry(&base->fabric, &base->routing, job->fabric, job->scratch,
			       job->scratch, &earlier, job->diag);
	planes = earlier.routing.planes;
	if (!st && !first->stable.kept)
		stay = planes.n && planes.n == osr_planes_count(job->fabric) &&
		       !sweep_has_new(earlier.map.dest, job->fabric->n_dests) &&
		       (!sweep_has_new(earlier.map.chan, job->fabric->n_channels) ||
			sweep_planes_follow(job->fabric, &planes));
	if (!st && !stay)
		return osr_planes_choose(job->fabric, fabric, first, &job->request, job->scratch,
					 job->arena, job->routing, job->diag);
	/*
	 * A repair that has taken lanes by turn for the first time knows nothing of the turns of
	 * other planes.
	 */
	if (planes.n && !(first->sl2vl && !base->routing.sl2vl))
		own = &earlier.routing;
	if (!st && own)
		st = osr_planes_mend(job->fabric, fabric, first, &planes, &earlier.routing,
				     job->scratch, job->diag);
	else if (!st)
		st = osr_planes_repeat(job->fabric, job->scratch, &planes, job->diag);
	if (!st)
		st = osr_planes_expand(job->fabric, fabric, first, &planes, own, job->arena,
				       job->routing, job->diag);
	if (st || !first->rank || first->sl || first->sl2vl || !own || !own->rank)
		return st;
	return osr_planes_certify(job->fabric, own->rank, job->routing, job->scratch, job->diag);
}

/*
 * A result of several LIDs, by the first ones: a repair of these keeps clear of all turns that are
 * in use on their lanes.
 */
static enum osr_status sweep_first_result(const struct osr_job *job,
					  const struct osr_result *result, struct osr_result *first)
{
	struct osr_result all = *result;
	enum osr_status st = OSR_OK;

	if (all.routing.sl2vl)
		st = osr_repair_prepare(result, job->scratch, job->scratch, &all.routing,
					job->diag);
	return st ? st : osr_planes_first_result(&all, job->scratch, first, job->diag);
}

/* Tables of the first LID of each port, as if there were no others; then the tables of all. */
static enum osr_status sweep_planes(const struct osr_job *job, const struct osr_diag *refused)
{
	const struct osr_result *last = job->previous;
	struct osr_checked checked = { .load = NULL };
	struct osr_diag unlike = { "" };
	struct osr_job mine = *job;
	struct osr_fabric fabric;
	struct osr_routing first = { .lft = NULL };
	struct osr_result was, base;
	enum osr_status st = osr_planes_first_fabric(job->fabric, job->scratch, &fabric, job->diag);

	mine.fabric = &fabric;
	mine.routing = &first;
	mine.checked = &checked;
	if (!st && last) {
		mine.previous = &was;
		st = sweep_first_result(job, last, &was);
	}
	if (!st && last && last->baseline) {
		was.baseline = &base;
		st = sweep_first_result(job, last->baseline, &base);
	}
	if (!st && !refused && last &&
	    osr_planes_count(&last->fabric) != osr_planes_count(job->fabric)) {
		refused = &unlike;
		osr_fail(&unlike, OSR_NOT_APPLICABLE, "end ports had %u LIDs, and have %u now",
			 osr_planes_count(&last->fabric), osr_planes_count(job->fabric));
	}
	if (!st)
		st = sweep_first_lids(&mine, refused);
	return st ? st : sweep_expand(job, &fabric, &first);
}

/* ---- a route and its transition -------------------------------------------------------------- */

enum osr_status osr_sweep_route(const struct osr_job *job, const struct osr_diag *refused,
				struct osr_result *result, struct osr_sweep *sweep)
{
	struct osr_arena_mark mark = osr_arena_mark(job->scratch);
	const struct osr_routing *last = job->previous ? &job->previous->routing : NULL;
	uint64_t max_vls = sweep_option(job, "max_vls", OSR_MAX_VLS);
	struct osr_stable *stable = &result->routing.stable;
	struct osr_job mine = *job;
	struct osr_diag diag = { "" };
	double start = sweep_ms(job->request.clock_ms), wall = sweep_ms(job->request.wall_ms),
	       tables;
	enum osr_status st;

	*sweep = (struct osr_sweep){ .routed = false };
	/* The job of the engine: its notes, and never more lanes than its options say. */
	mine.fabric = &result->fabric;
	mine.routing = &result->routing;
	mine.notes = (struct osr_notes){ NULL, 0 };
	if (last && last->engine && !strcmp(last->engine, job->engine->name))
		mine.notes = last->notes;
	if (mine.request.max_vls > max_vls)
		mine.request.max_vls = max_vls;
	mine.checked = &sweep->checked;
	memset(&result->routing, 0, sizeof(result->routing));
	result->load = NULL;
	result->baseline = NULL;
	result->confirmed = false;
	if (result->fabric.n_dests > result->fabric.n_terminals)
		st = sweep_planes(&mine, refused);
	else
		st = sweep_first_lids(&mine, refused);
	osr_arena_reset(job->scratch, mark);
	tables = sweep_ms(job->request.clock_ms);
	sweep->ms_route = tables - start;
	if (st)
		return st;
	sweep->routed = true;
	mine.request.max_vls = job->request.max_vls;
	/*
	 * Can the switches deadlock while some have the old tables, and not if the new ones go out
	 * in two rounds? Where that cannot be told the sweep goes on. The same tables again need no
	 * question.
	 */
	mine.diag = &diag;
	if (last && job->no_transition)
		stable->together = false;
	if (last &&
	    (job->no_transition || (!(stable->kept && stable->together) && osr_transition(&mine))))
		snprintf(stable->transition_why, sizeof(stable->transition_why), "%s",
			 job->no_transition ? job->no_transition : diag.text);
	sweep->ms_transition = sweep_ms(job->request.clock_ms) - tables;
	if (last && stable->kept && !stable->new_baseline)
		result->baseline =
			job->previous->baseline ? job->previous->baseline : job->previous;
	sweep->wall_route = sweep_ms(job->request.wall_ms) - wall;
	sweep->memory = job->scratch->peak + job->arena->peak;
	return OSR_OK;
}

/* ---- check ----------------------------------------------------------------------------------- */

enum osr_status osr_sweep_check(const struct osr_job *job, struct osr_result *result,
				struct osr_sweep *sweep)
{
	struct osr_arena_mark mark = osr_arena_mark(job->scratch);
	const struct osr_fabric *fabric = &result->fabric;
	const struct osr_request *req = &job->request;
	uint32_t capabilities = job->engine->capabilities, proven;
	struct osr_checked *checked = &sweep->checked;
	double start = sweep_ms(job->request.clock_ms), wall = sweep_ms(job->request.wall_ms);
	enum osr_status st = OSR_OK;

	result->digest = osr_routing_digest(fabric, &result->routing);
	/* The engine may have had the same tables walked. */
	if (!osr_check_stands(checked, &result->routing, result->digest))
		st = osr_check_keep(fabric, &result->routing, job->arena, job->scratch, checked,
				    job->diag);
	osr_invariant(st || checked->verdict.proven == result->routing.claims);
	sweep->verdict = checked->verdict;
	proven = sweep->verdict.proven;
	result->load = checked->load;
	osr_arena_reset(job->scratch, mark);
	/* Promises of this engine and this sweep beyond the checker's proofs. */
	if (!st && result->routing.n_vls > req->max_vls && req->vls_why)
		st = osr_fail(job->diag, OSR_CHECK_FAILED,
			      "the tables use %u virtual lanes of %u: %s", result->routing.n_vls,
			      req->max_vls, req->vls_why);
	else if (!st && result->routing.n_vls > req->max_vls)
		st = osr_fail(job->diag, OSR_CHECK_FAILED, "the tables use %u virtual lanes of %u",
			      result->routing.n_vls, req->max_vls);
	else if (!st && (capabilities & OSR_ENGINE_DEADLOCK_FREE) &&
		 !(proven & OSR_CLAIM_DEADLOCK_FREE))
		st = osr_fail(job->diag, OSR_CHECK_FAILED,
			      "the tables are not proven deadlock-free");
	else if (!st && (capabilities & OSR_ENGINE_MINIMAL) && !sweep->reused &&
		 !(proven & OSR_CLAIM_MINIMAL))
		st = osr_fail(job->diag, OSR_CHECK_FAILED, "the tables are not proven minimal");
	if (!st)
		st = osr_gate_again(fabric, &result->routing, job->previous, job->scratch, NULL,
				    job->diag);
	if (result->routing.stable.kept)
		result->routing.n_longer = sweep->verdict.n_longer;
	result->confirmed = !st;
	sweep->ms_check = sweep_ms(job->request.clock_ms) - start;
	sweep->wall_check = sweep_ms(job->request.wall_ms) - wall;
	return st;
}

/*
 * A re-route that either checker refuses gives way to a full route: the same would be refused in
 * every sweep.
 */
enum osr_status osr_sweep(const struct osr_job *job, struct osr_result *result,
			  struct osr_sweep *sweep)
{
	struct osr_arena_mark mark = osr_arena_mark(job->arena);
	struct osr_diag diag = { "" }, refused;
	struct osr_job mine = *job;
	enum osr_status st;

	mine.diag = job->diag ? job->diag : &diag;
	st = osr_sweep_route(&mine, NULL, result, sweep);
	if (!st)
		st = osr_sweep_check(&mine, result, sweep);
	if ((st != OSR_CHECK_FAILED && st != OSR_NOT_PROVEN) || !sweep->routed ||
	    !result->routing.stable.kept)
		return st;
	osr_fail(&refused, st, "the check refused an incremental re-route: %s", mine.diag->text);
	mine.diag->text[0] = '\0';
	osr_arena_reset(job->arena, mark);
	st = osr_sweep_route(&mine, &refused, result, sweep);
	sweep->refused = true;
	return st ? st : osr_sweep_check(&mine, result, sweep);
}

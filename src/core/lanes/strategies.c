/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* See lanes.h. The table is at the end; before it, strategies that have no file of their own. */
#include <osmroutes/lanes.h>

#include "../paths/spf_private.h"
#include "turn.h"

static enum osr_status lanes_one(struct osr_lanes_job *job, bool *done)
{
	struct osr_arena_mark before = osr_arena_mark(job->result);
	struct osr_routing kept = *job->routing;
	enum osr_status st;
	bool one_lane;

	osr_spf_first(job->spf);
	job->state = OSR_LANES_FIRST;
	st = osr_layers_single(job, &one_lane);
	*done = !st && one_lane && (!job->opt->spf.max_rounds || osr_spf_balanced(job->spf));
	if (st || !one_lane || *done)
		return st;
	/* Not balanced: the paths will change, and neither certificate nor claims are theirs. */
	*job->routing = kept;
	osr_arena_reset(job->result, before);
	return OSR_OK;
}

static enum osr_status lanes_balance(struct osr_lanes_job *job, bool *done)
{
	(void)done;
	osr_spf_refine(job->spf, &job->opt->spf);
	job->load = osr_spf_load(job->spf);
	job->ms_spf = job->req->clock_ms ? job->req->clock_ms() : 0;
	job->state = OSR_LANES_ROUTED;
	return OSR_OK;
}

static enum osr_status lanes_by_turn(struct osr_lanes_job *job, bool *done)
{
	enum osr_status st = osr_turn_compare(job, false, done);

	return st || job->turn.search ? st : osr_turn_route(job, done);
}

/* ---- the table ------------------------------------------------------------------------------- */

/* What a strategy needs, besides the state from which it starts. */
#define PRODUCT 1 /* orders, not one of the paper's heuristics */
#define ANY_SL 2  /* any SL is asked for */
#define BY_TURN 4 /* two lanes and detours, so that lanes by turn may serve */

static const struct lanes_strategy {
	const char *name;
	enum osr_lanes_state from;
	unsigned needs;
	/* *done, which is false before: the routing is complete, and no other strategy follows. */
	enum osr_status (*run)(struct osr_lanes_job *job, bool *done);
} lanes_strategies[] = {
	{ "dimension order by turn", OSR_LANES_UNROUTED, PRODUCT | ANY_SL | BY_TURN,
	  osr_turn_rings },
	{ "dimension order", OSR_LANES_UNROUTED, PRODUCT, osr_dor_assign },
	{ "one lane", OSR_LANES_UNROUTED, 0, lanes_one },
	{ "up and down a fat tree", OSR_LANES_FIRST, 0, osr_lanes_tree },
	{ "balanced shortest paths", OSR_LANES_FIRST, 0, lanes_balance },
	/* Any SL is safe on one lane, and SL2VL tables need not be sent. */
	{ "one order", OSR_LANES_ROUTED, 0, osr_layers_single },
	{ "lanes by turn", OSR_LANES_ROUTED, ANY_SL | BY_TURN, lanes_by_turn },
	/* They say which they are. */
	{ NULL, OSR_LANES_ROUTED, 0, osr_lanes_sl },
};

static unsigned lanes_has(const struct osr_lanes_job *job)
{
	return (job->product ? PRODUCT : 0) | (job->opt->any_sl != OSR_ANY_SL_OFF ? ANY_SL : 0) |
	       (job->opt->detours && job->req->max_vls > 1 ? BY_TURN : 0);
}

static enum osr_status lanes_try_all(struct osr_lanes_job *job)
{
	size_t n = sizeof(lanes_strategies) / sizeof(lanes_strategies[0]);

	job->orders = osr_alloc(job->scratch, (size_t)OSR_MAX_VLS * job->spf->fabric->n_channels,
				sizeof(*job->orders));
	if (!job->orders)
		return osr_fail(job->diag, OSR_NOMEM, "out of memory for the orders of %u channels",
				job->spf->fabric->n_channels);
	if (job->state == OSR_LANES_UNROUTED && !job->product &&
	    job->opt->layers.heuristic == OSR_HEURISTIC_ORDER && osr_dor_find(job))
		return OSR_NOMEM;
	for (size_t i = 0; i < n && job->state != OSR_LANES_DONE; i++) {
		const uint32_t *before = job->routing->rank;
		const struct lanes_strategy *strategy = &lanes_strategies[i];
		bool done = false;
		enum osr_status st;

		if (job->state != strategy->from || (strategy->needs & ~lanes_has(job)))
			continue;
		st = strategy->run(job, &done);
		if (st)
			return st;
		job->state = done ? OSR_LANES_DONE : job->state;
		if (job->routing->rank != before && strategy->name)
			job->routing->strategy = strategy->name;
	}
	/*
	 * any_sl = auto: dimension order by turn in place of the lanes by SL just found, where it
	 * costs little more.
	 */
	if (job->routing->sl && job->turn.search) {
		bool routed;

		if (osr_turn_compare(job, true, &routed))
			return OSR_NOMEM;
		if (routed)
			job->routing->strategy = "lanes by turn";
	}
	return osr_lanes_spread(job);
}

enum osr_status osr_lanes_assign(struct osr_lanes_job *job)
{
	job->state = OSR_LANES_ROUTED;
	return lanes_try_all(job);
}

/*
 * Percent of the bound that lanes by turn may have; of shortest paths with more routes than these,
 * or if any SL is kept.
 */
#define FEWER_LANES_LOAD 110
#define FEWER_LANES_ROUTES (1 << 22)

/*
 * Where any SL must do, lanes by turn are taken whatever they cost. One or two lanes serve as well:
 * where the busiest link carries much, their tables are compared, unless classes of SLs need lanes
 * of their own.
 */
enum osr_status osr_lanes_route(struct osr_lanes_job *job)
{
	struct osr_request one_lane = *job->req;
	struct osr_routing none = *job->routing, best;
	uint64_t load, enough,
		n_routes = (uint64_t)job->spf->fabric->n_dests * job->spf->fabric->n_switches;
	uint32_t n_layers;
	struct osr_lanes_job other;
	struct osr_spf_saved paths;
	bool must;
	enum osr_status st;

	job->state = OSR_LANES_UNROUTED;
	job->load = 0;
	st = lanes_try_all(job);
	best = *job->routing;
	load = osr_spf_load(job->spf);
	enough = job->opt->any_sl == OSR_ANY_SL_ON && n_routes <= FEWER_LANES_ROUTES
			 ? job->spf->least
			 : job->load;
	must = best.n_layers > 1 && job->opt->any_sl != OSR_ANY_SL_OFF &&
	       job->opt->any_sl != OSR_ANY_SL_AUTO && osr_turn_classes(job->req) == 1 &&
	       load * 100 > enough * FEWER_LANES_LOAD;
	if (st || !must)
		return st;
	st = osr_spf_save(job->spf, job->scratch, &paths, job->diag);
	one_lane.max_vls = 1;
	other = *job;
	other.turn.search = NULL;
	n_layers = best.n_layers;
	for (uint32_t n = 1; !st && n < n_layers; n++) {
		struct osr_arena_mark mark = osr_arena_mark(job->scratch),
				      result = osr_arena_mark(job->result);

		osr_spf_forget(job->spf);
		*job->routing = none;
		other.req = n == 1 ? &one_lane : job->req;
		other.most_lanes = n;
		other.state = OSR_LANES_UNROUTED;
		st = lanes_try_all(&other);
		if (!st && osr_spf_load(job->spf) < load &&
		    !(best.claims & ~job->routing->claims & OSR_CLAIM_ANY_SL)) {
			best = *job->routing;
			load = osr_spf_load(job->spf);
			st = osr_spf_save(job->spf, job->scratch, &paths, job->diag);
			continue;
		}
		st = st == OSR_NOMEM ? st : OSR_OK;
		osr_arena_reset(job->scratch, mark);
		osr_arena_reset(job->result, result);
	}
	if (st)
		return st;
	*job->routing = best;
	osr_spf_restore(job->spf, &paths);
	return OSR_OK;
}

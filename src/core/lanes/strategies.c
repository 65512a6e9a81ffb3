/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* See lanes.h. The table is at the end; before it, each strategy: when it is worth trying, its run. */
#include <osmroutes/lanes.h>

#include <string.h>

#include <osmroutes/dor.h>
#include "core/lanes/turn.h"

#include "lanes_private.h"

static void lanes_forget_why(struct osr_lanes_job *job)
{
	if (job->diag)
		job->diag->text[0] = 0;
}

static struct osr_lane_work lanes_work(const struct osr_lanes_job *job)
{
	return (struct osr_lane_work){ .s = job->s,
				       .req = job->req,
				       .scratch = job->scratch,
				       .result = job->result,
				       .r = job->r,
				       .diag = job->diag };
}

static bool lanes_replies_are_a_must(const struct osr_lanes_job *job)
{
	return job->opt->layers.reversible == OSR_REVERSIBLE_ON;
}

/* ---- dimension order by turn ------------------------------------------------------------------ */

static bool rings_worth(const struct osr_lanes_job *job)
{
	return job->state == OSR_LANES_UNROUTED &&
	       job->opt->layers.heuristic == OSR_HEURISTIC_ORDER &&
	       job->opt->any_sl != OSR_ANY_SL_OFF && job->opt->detours && job->req->max_vls > 1;
}

static enum osr_status rings_run(struct osr_lanes_job *job)
{
	bool routed;
	enum osr_status st = osr__turn_rings(job, &routed);

	if (!st && routed)
		job->state = OSR_LANES_DONE;
	return st;
}

/* ---- dimension order ------------------------------------------------------------------------- */

static bool dimensions_worth(const struct osr_lanes_job *job)
{
	return job->state == OSR_LANES_UNROUTED &&
	       job->opt->layers.heuristic == OSR_HEURISTIC_ORDER;
}

/* The SLs of dimension order are not wanted after all. */
static enum osr_status lanes_start_again(struct osr_lanes_job *job)
{
	struct osr_routing *routing = job->r;
	uint8_t *lft = routing->lft;

	*routing = (struct osr_routing){ .lft = lft,
					 .n_switches = routing->n_switches,
					 .n_dests = routing->n_dests,
					 .n_channels = routing->n_channels };
	memset(lft, OSR_NO_PATH, (size_t)routing->n_dests * routing->n_switches);
	return osr_spf_init(job->s, job->s->f, routing, &job->opt->spf, job->scratch, job->diag);
}

static enum osr_status dimensions_run(struct osr_lanes_job *job)
{
	struct osr_lane_work work = lanes_work(job);
	bool routed;
	enum osr_status st =
		osr_dor_assign(&work, job->opt->layers.reversible, job->opt->detours, &routed);

	if (!st && routed && job->r->sl &&
	    (job->opt->any_sl == OSR_ANY_SL_ON || job->opt->any_sl == OSR_ANY_SL_KEEP))
		return lanes_start_again(job);
	if (!st && routed)
		job->state = OSR_LANES_DONE;
	return st;
}

/* ---- one lane -------------------------------------------------------------------------------- */

static bool one_lane_worth(const struct osr_lanes_job *job)
{
	return job->state == OSR_LANES_UNROUTED;
}

static enum osr_status one_lane_run(struct osr_lanes_job *job)
{
	struct osr_arena_mark before = osr_arena_mark(job->result);
	struct osr_lane_work work = lanes_work(job);
	struct osr_routing kept = *job->r;
	enum osr_status st;
	bool one_lane;

	osr_spf_first(job->s);
	job->state = OSR_LANES_FIRST;
	st = osr_layers_single(&work, &one_lane);
	if (st || !one_lane)
		return st;
	if (!job->opt->spf.max_rounds || osr_spf_balanced(job->s)) {
		job->state = OSR_LANES_DONE;
		return OSR_OK;
	}
	/* Not balanced: the paths will change, and neither certificate nor claims are theirs. */
	*job->r = kept;
	osr_arena_reset(job->result, before);
	return OSR_OK;
}

/* ---- one lane by the order of a fat tree ------------------------------------------------------ */

static bool tree_worth(const struct osr_lanes_job *job)
{
	return job->state == OSR_LANES_FIRST;
}

static enum osr_status tree_run(struct osr_lanes_job *job)
{
	bool fits;
	enum osr_status st = osr__lanes_tree(job, &fits);

	if (!st && fits)
		job->state = OSR_LANES_DONE;
	return st;
}

/* ---- balanced shortest paths ----------------------------------------------------------------- */

static bool balanced_worth(const struct osr_lanes_job *job)
{
	return job->state == OSR_LANES_FIRST;
}

static enum osr_status balanced_run(struct osr_lanes_job *job)
{
	osr_spf_refine(job->s, &job->opt->spf);
	job->ms_spf = job->req->clock_ms ? job->req->clock_ms() : 0;
	job->state = OSR_LANES_ROUTED;
	return OSR_OK;
}

/* ---- one lane for the balanced paths --------------------------------------------------------- */

static bool one_order_worth(const struct osr_lanes_job *job)
{
	return job->state == OSR_LANES_ROUTED && job->opt->any_sl != OSR_ANY_SL_OFF;
}

/* On one lane any SL is safe, and SL2VL tables need not be sent. */
static enum osr_status one_order_run(struct osr_lanes_job *job)
{
	struct osr_lane_work work = lanes_work(job);
	bool one_lane;
	enum osr_status st = osr_layers_single(&work, &one_lane);

	if (!st && one_lane)
		job->state = OSR_LANES_DONE;
	return st;
}

/* ---- lanes by turn --------------------------------------------------------------------------- */

static bool turns_worth(const struct osr_lanes_job *job)
{
	return job->state == OSR_LANES_ROUTED && job->opt->any_sl != OSR_ANY_SL_OFF &&
	       job->opt->detours && job->req->max_vls > 1 && !job->turn.w;
}

static enum osr_status turns_run(struct osr_lanes_job *job)
{
	bool routed;
	enum osr_status st = osr_turn_route(job, &routed);

	if (!st && routed)
		job->state = OSR_LANES_DONE;
	return st;
}

/* ---- layers: Domke's algorithm 2 ------------------------------------------------------------- */

static bool layers_worth(const struct osr_lanes_job *job)
{
	return job->state == OSR_LANES_ROUTED;
}

static enum osr_status layers_run(struct osr_lanes_job *job)
{
	struct osr_lane_work work = lanes_work(job);
	enum osr_status st = osr_layers_assign(&work, &job->opt->layers, job->orders);

	if (st == OSR_NO_VL && job->opt->detours) {
		job->state = OSR_LANES_SHORT;
		return OSR_OK;
	}
	if (!st)
		job->state = job->r->n_layers == 1 ? OSR_LANES_DONE : OSR_LANES_ASSIGNED;
	return st;
}

/* ---- routing within channel orders ----------------------------------------------------------- */

static enum osr_status ordered_on(struct osr_lanes_job *job, uint8_t max_vls)
{
	struct osr_lane_work work = lanes_work(job);
	struct osr_ordered_options opt = { .moves = job->opt->spf.max_moves,
					   .reversible = job->opt->layers.reversible !=
							 OSR_REVERSIBLE_OFF };
	struct osr_request req = *job->req;

	req.max_vls = max_vls;
	job->r->claims = 0;
	job->r->n_longer = 0;
	work.req = &req;
	return osr_ordered_route(&work, &opt, job->orders);
}

static bool ordered_worth(const struct osr_lanes_job *job)
{
	return job->state == OSR_LANES_SHORT;
}

static enum osr_status ordered_run(struct osr_lanes_job *job)
{
	bool must = lanes_replies_are_a_must(job);
	struct osr_spf_saved saved;
	enum osr_status st;

	lanes_forget_why(job);
	job->state = must ? OSR_LANES_NO_REPLIES : OSR_LANES_DONE;
	st = must ? osr_spf_save(job->s, job->scratch, &saved, job->diag) : OSR_OK;
	if (!st)
		st = ordered_on(job, job->req->max_vls);
	if (st || !must || (job->r->claims & OSR_CLAIM_REVERSIBLE)) {
		job->state = OSR_LANES_DONE;
		return st;
	}
	/* osr_ordered_route() starts from shortest paths, and these may be detours by now. */
	osr_spf_restore(job->s, &saved);
	return OSR_OK;
}

/* ---- both directions of a pair of switches on one SL ------------------------------------------ */

static bool pairs_worth(const struct osr_lanes_job *job)
{
	return job->state == OSR_LANES_ASSIGNED &&
	       job->opt->layers.reversible != OSR_REVERSIBLE_OFF &&
	       !(job->r->claims & OSR_CLAIM_REVERSIBLE);
}

static enum osr_status pairs_run(struct osr_lanes_job *job)
{
	struct osr_lane_work work = lanes_work(job);
	enum osr_status st = osr_layers_pair(&work, &job->opt->layers, job->orders);

	if (st != OSR_NO_VL)
		return st;
	if (lanes_replies_are_a_must(job) && !job->opt->detours)
		return st;
	lanes_forget_why(job);
	if (lanes_replies_are_a_must(job))
		job->state = OSR_LANES_NO_REPLIES;
	return OSR_OK;
}

/* ---- one lane for everyone ------------------------------------------------------------------- */

static bool single_worth(const struct osr_lanes_job *job)
{
	return job->state == OSR_LANES_NO_REPLIES;
}

/* On one VL everything is safe for everyone, replies included. */
static enum osr_status single_run(struct osr_lanes_job *job)
{
	job->state = OSR_LANES_DONE;
	return ordered_on(job, 1);
}

/* ---- the table ------------------------------------------------------------------------------- */

static const struct lanes_strategy {
	const char *name;
	bool (*worth)(const struct osr_lanes_job *job);
	enum osr_status (*run)(struct osr_lanes_job *job);
} lanes_strategies[] = {
	{ "dimension order by turn", rings_worth, rings_run },
	{ "dimension order", dimensions_worth, dimensions_run },
	{ "one lane", one_lane_worth, one_lane_run },
	{ "up and down a fat tree", tree_worth, tree_run },
	{ "balanced shortest paths", balanced_worth, balanced_run },
	{ "one order", one_order_worth, one_order_run },
	{ "lanes by turn", turns_worth, turns_run },
	{ "layers", layers_worth, layers_run },
	{ "paths within orders", ordered_worth, ordered_run },
	{ "pairs", pairs_worth, pairs_run },
	{ "paths within one order", single_worth, single_run },
};

/* any_sl = auto: lanes by turn in place of the lanes by SL just found, where these cost as much. */
static enum osr_status lanes_prefer_any_sl(struct osr_lanes_job *job)
{
	bool routed;
	enum osr_status st;

	if (!job->r->sl)
		return OSR_OK;
	st = osr_turn_reconsider(job, &routed);
	if (!st && routed)
		job->r->strategy = "lanes by turn";
	return st;
}

static enum osr_status lanes_try_all(struct osr_lanes_job *job)
{
	size_t n = sizeof(lanes_strategies) / sizeof(lanes_strategies[0]);

	job->orders = osr_alloc(job->scratch, (size_t)OSR_MAX_VLS * job->s->f->n_channels,
				sizeof(*job->orders));
	if (!job->orders)
		return osr_fail(job->diag, OSR_NOMEM, "out of memory for the orders of %u channels",
				job->s->f->n_channels);
	for (size_t i = 0; i < n && job->state != OSR_LANES_DONE; i++) {
		const uint32_t *before = job->r->rank;
		enum osr_status st;

		if (!lanes_strategies[i].worth(job))
			continue;
		st = lanes_strategies[i].run(job);
		if (st)
			return st;
		if (job->r->rank != before)
			job->r->strategy = lanes_strategies[i].name;
	}
	if (lanes_prefer_any_sl(job))
		return OSR_NOMEM;
	return osr__lanes_spread(job);
}

enum osr_status osr_lanes_assign(struct osr_lanes_job *job)
{
	job->state = OSR_LANES_ROUTED;
	return lanes_try_all(job);
}

enum osr_status osr_lanes_route(struct osr_lanes_job *job)
{
	job->state = OSR_LANES_UNROUTED;
	return lanes_try_all(job);
}

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * p2sssp - P2-SSSP: weights grow after every source-destination pair (pairs.h), then virtual lanes
 * as in dfsssp. An engine for study: it shows what finer steps are worth, at many times the time
 * of sssp.
 */
#include <osmroutes/engine.h>
#include <osmroutes/lanes.h>

#include <string.h>

#include "pairs.h"

enum {
	STEP,
	SOURCES,
	ROUNDS,
	IGNORE_RATES,
	LANES,
	HEURISTIC,
	REVERSIBLE,
	BALANCE,
	SIFT,
	DETOURS,
	ORDERED_ROUNDS,
	EFFORT
};

static const struct osr_param params[] = {
	[STEP] = { "step", OSR_PARAM_ENUM, "pair", 0, 0, "pair|dest",
		   "weights grow after every pair (P2-SSSP) or after every destination (P-SSSP as "
		   "published)" },
	[SOURCES] = { "sources", OSR_PARAM_ENUM, "index", 0, 0, "index|far|near",
		      "which sources of a destination come first: as numbered, the farthest, or "
		      "the nearest" },
	[ROUNDS] = { "rounds", OSR_PARAM_UINT, "0", 0, 1000, NULL,
		     "rip-up-and-re-route rounds after the first pass; the algorithm as published "
		     "has none" },
	[IGNORE_RATES] = { "ignore_rates", OSR_PARAM_BOOL, "no", 0, 0, NULL,
			   "balance routes per link, not per unit of link rate" },
	[LANES] = { "lanes", OSR_PARAM_BOOL, "yes", 0, 0, NULL,
		    "assign virtual lanes; no: the paths as published, which may deadlock" },
	[HEURISTIC] = { "heuristic", OSR_PARAM_ENUM, "order", 0, 0,
			"order|weakest|heaviest|first|online",
			"which dependencies to cut: by an order of the channels, one of each cycle "
			"found, or none "
			"(route by route)" },
	[REVERSIBLE] = { "reversible_sl", OSR_PARAM_ENUM, "auto", 0, 0, "auto|on|off",
			 "replies are safe on the SL of their request: if the VLs suffice, always, "
			 "or never" },
	[BALANCE] = { "balance_vls", OSR_PARAM_BOOL, "yes", 0, 0, NULL,
		      "spread the routes over virtual lanes that are not needed against deadlock" },
	[SIFT] = { "sift_passes", OSR_PARAM_UINT, "3", 0, 1000, NULL,
		   "passes of local search over the channel order" },
	[DETOURS] = { "detours", OSR_PARAM_BOOL, "yes", 0, 0, NULL,
		      "if the VLs do not suffice, route again as dfsssp does then, instead of "
		      "giving up" },
	[ORDERED_ROUNDS] = { "ordered_rounds", OSR_PARAM_UINT, "10", 1, 1000, NULL,
			     "rounds of routing within channel orders, if the VLs do not suffice" },
	[EFFORT] = { "order_effort", OSR_PARAM_UINT, "80", 0, 1000000, NULL,
		     "work spent on an order of the switches, if there is one VL: more gives fewer "
		     "longer routes" },
	{ NULL }
};

/*
 * The VLs do not suffice. Paths that look for lanes are found tree by tree: these start from
 * P-SSSP, under the orders that P2-SSSP's layers had.
 */
static enum osr_status restart(struct osr_lanes_job *job)
{
	const struct osr_fabric *fabric = job->s->f;
	struct osr_spf_options opt = { .max_rounds = 2,
				       .ignore_rates = job->opt->spf.ignore_rates };
	enum osr_status st;

	job->r->claims = 0;
	memset(job->r->lft, OSR_NO_PATH, (size_t)fabric->n_dests * fabric->n_switches);
	st = osr_spf_init(job->s, fabric, job->r, &opt, job->scratch, job->diag);
	if (!st)
		osr_spf_route(job->s, &opt);
	return st;
}

static struct osr_lanes_options p2sssp_lanes_options(const struct osr_values *values)
{
	return (struct osr_lanes_options){
		.spf = { .ignore_rates = values->num[IGNORE_RATES] },
		.layers = { .heuristic = (enum osr_heuristic)values->num[HEURISTIC],
			    .reversible = (enum osr_reversible)values->num[REVERSIBLE],
			    .sift_passes = (uint32_t)values->num[SIFT] },
		.balance = values->num[BALANCE],
		.ordered_rounds = (uint32_t)values->num[ORDERED_ROUNDS],
		.order_effort = (uint32_t)values->num[EFFORT],
		.ordered_reversible = values->num[REVERSIBLE] != OSR_REVERSIBLE_OFF,
		.detours = values->num[DETOURS],
		.one_vl_for_replies = true,
	};
}

/* No promise; where one lane suffices, as in trees, the result says so nevertheless. */
static enum osr_status do_without_lanes(const struct osr_lanes_job *job)
{
	struct osr_lane_work work = {
		job->s, job->req, job->scratch, job->result, job->r, job->diag
	};
	bool fits;
	enum osr_status st = osr_layers_single(&work, &fits);

	if (!st && !fits)
		job->r->n_vls = 1;
	return st;
}

static enum osr_status p2sssp_route(const struct osr_job *job)
{
	const struct osr_fabric *fabric = job->fabric;
	const struct osr_values *values = job->values;
	const struct osr_request *req = &job->request;
	struct osr_arena *scratch = job->scratch, *result = job->arena;
	struct osr_routing *routing = job->routing;
	struct osr_diag *diag = job->diag;
	/* One round of P-SSSP settles port 0 of bare switches; its other trees are replaced. */
	struct osr_spf_options spf_opt = { .max_rounds = 0,
					   .ignore_rates = values->num[IGNORE_RATES] };
	double start = req->clock_ms ? req->clock_ms() : 0, ms_spf;
	struct osr_lanes_options opt = p2sssp_lanes_options(values);
	struct osr_spf spf;
	struct osr_lanes_job lanes = { .s = &spf,
				       .req = req,
				       .opt = &opt,
				       .scratch = scratch,
				       .result = result,
				       .r = routing,
				       .diag = diag,
				       .restart = restart };
	enum osr_status st;

	st = osr_routing_init(routing, fabric, result, diag);
	if (!st)
		st = osr_spf_init(&spf, fabric, routing, &spf_opt, scratch, diag);
	if (st)
		return st;
	osr_spf_route(&spf, &spf_opt);
	st = pairs_route(&spf, (enum weight_step)values->num[STEP],
			 (enum source_order)values->num[SOURCES], (uint32_t)values->num[ROUNDS],
			 scratch, diag);
	if (st)
		return st;
	ms_spf = req->clock_ms ? req->clock_ms() - start : 0;

	st = values->num[LANES] ? osr_lanes_assign(&lanes) : do_without_lanes(&lanes);
	if (st)
		return st;
	routing->ms_spf = ms_spf;
	routing->ms_layers = req->clock_ms ? req->clock_ms() - start - ms_spf : 0;
	osr_spf_finish(&spf);
	routing->engine = "p2sssp";
	routing->n_rounds = (uint32_t)values->num[ROUNDS];
	routing->claims |= routing->n_longer ? 0 : OSR_CLAIM_MINIMAL;
	return OSR_OK;
}

const struct osr_engine osr_engine_p2sssp = {
	.name = "p2sssp",
	.summary = "shortest paths balanced pair by pair, on virtual lanes; slow, for comparison",
	.reference = "Hoefler, Schneider, Lumsdaine: Optimized Routing for Large-Scale InfiniBand "
		     "Networks, "
		     "HOTI 2009",
	.params = params,
	.capabilities =
		0, /* as lanes=no has it; otherwise the result claims to be free of deadlocks */
	.route = p2sssp_route,
};

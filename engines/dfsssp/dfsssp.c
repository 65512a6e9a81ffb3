/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * dfsssp - deadlock-free SSSP: the balanced shortest paths of spf.h, put on virtual lanes by the
 * strategies of lanes.h. Where the lanes do not suffice, some pairs get longer routes.
 */
#include <osmroutes/engine.h>
#include <osmroutes/lanes.h>
#include <osmroutes/sweep.h>

enum {
	ROUNDS,
	MOVES,
	IGNORE_RATES,
	HEURISTIC,
	REVERSIBLE,
	MAX_VLS,
	BALANCE,
	SIFT,
	DETOURS,
	ORDERED_ROUNDS,
	EFFORT,
	DIMENSIONS,
	FEWER_VLS,
	STABLE,
	REBALANCE,
	ANY_SL,
	ANY_SL_COST
};

static const struct osr_param params[] = {
	[ROUNDS] = { "rounds", OSR_PARAM_UINT, "2", 0, 1000, NULL,
		     "rip-up-and-re-route rounds after the first pass, at most" },
	[MOVES] = { "moves", OSR_PARAM_UINT, "50", 0, 1000000, NULL,
		    "after these rounds, attempts to move a LID off the busiest link: at most this "
		    "many per 100 LIDs" },
	[IGNORE_RATES] = { "ignore_rates", OSR_PARAM_BOOL, "no", 0, 0, NULL,
			   "balance routes per link, not per unit of link rate" },
	[HEURISTIC] = { "heuristic", OSR_PARAM_ENUM, "order", 0, 0,
			"order|weakest|heaviest|first|online",
			"which dependencies to cut: by an order of the channels, one of each cycle "
			"found, or none "
			"(route by route)" },
	[REVERSIBLE] = { "reversible_sl", OSR_PARAM_ENUM, "auto", 0, 0, "auto|on|off",
			 "replies are safe on the SL of their request: if the VLs suffice, always, "
			 "or never" },
	[MAX_VLS] = OSR_SWEEP_MAX_VLS,
	[BALANCE] = { "balance_vls", OSR_PARAM_BOOL, "yes", 0, 0, NULL,
		      "spread the routes over virtual lanes that are not needed against deadlock" },
	[SIFT] = { "sift_passes", OSR_PARAM_UINT, "3", 0, 1000, NULL,
		   "passes of local search over the channel order" },
	[DETOURS] = { "detours", OSR_PARAM_BOOL, "yes", 0, 0, NULL,
		      "if the VLs do not suffice, route some pairs over longer paths instead of "
		      "giving up" },
	[ORDERED_ROUNDS] = { "ordered_rounds", OSR_PARAM_UINT, "10", 1, 1000, NULL,
			     "rounds of routing within channel orders, if the VLs do not suffice" },
	[EFFORT] = { "order_effort", OSR_PARAM_UINT, "80", 0, 1000000, NULL,
		     "work spent on an order of the switches, if there is one VL: more gives fewer "
		     "longer routes" },
	[DIMENSIONS] = { "dimensions", OSR_PARAM_BOOL, "yes", 0, 0, NULL,
			 "route whole tori, meshes and HyperX in dimension order" },
	[FEWER_VLS] = { "fewer_vls", OSR_PARAM_BOOL, "yes", 0, 0, NULL,
			"search for shortest paths that need fewer virtual lanes, where that is "
			"promising" },
	[STABLE] = OSR_SWEEP_STABLE,
	[REBALANCE] = OSR_SWEEP_REBALANCE,
	[ANY_SL] = { "any_sl", OSR_PARAM_ENUM, "auto", 0, 0, "off|on|auto",
		     "no deadlock whatever SL programs use (UCX and NCCL choose it themselves), by "
		     "virtual lanes that depend on the turn: never, always, or where that costs "
		     "little" },
	[ANY_SL_COST] = { "any_sl_cost", OSR_PARAM_UINT, "5", 0, 100, NULL,
			  "any_sl = auto: percent of the routes that may be longer than minimal, "
			  "beyond those with lanes by SL; the busiest link may carry a tenth "
			  "more" },
	{ NULL }
};

static struct osr_lanes_options dfsssp_lanes_options(const struct osr_values *values)
{
	return (struct osr_lanes_options){
		.any_sl = (enum osr_any_sl)values->num[ANY_SL],
		.any_sl_cost = (uint32_t)values->num[ANY_SL_COST],
		.spf = { .max_rounds = (uint32_t)values->num[ROUNDS],
			 .max_moves = (uint32_t)values->num[MOVES],
			 .ignore_rates = values->num[IGNORE_RATES] },
		.layers = { .heuristic = (enum osr_heuristic)values->num[HEURISTIC],
			    .reversible = (enum osr_reversible)values->num[REVERSIBLE],
			    .sift_passes = (uint32_t)values->num[SIFT] },
		.ordered_rounds = (uint32_t)values->num[ORDERED_ROUNDS],
		.order_effort = (uint32_t)values->num[EFFORT],
		.ordered_reversible = values->num[REVERSIBLE] != OSR_REVERSIBLE_OFF,
		.dimensions = values->num[DIMENSIONS],
		.fewer_vls = values->num[FEWER_VLS],
		.balance = values->num[BALANCE],
		.detours = values->num[DETOURS],
	};
}

static enum osr_status dfsssp_route(const struct osr_job *job)
{
	const struct osr_values *values = job->values;
	const struct osr_request *req = &job->request;
	struct osr_routing *routing = job->routing;
	struct osr_lanes_options opt = dfsssp_lanes_options(values);
	double start = req->clock_ms ? req->clock_ms() : 0;
	struct osr_spf spf;
	struct osr_lanes_job lanes = { .s = &spf,
				       .req = req,
				       .opt = &opt,
				       .scratch = job->scratch,
				       .result = job->arena,
				       .r = routing,
				       .diag = job->diag };
	enum osr_status st;

	st = osr_routing_init(routing, job->fabric, job->arena, job->diag);
	if (st)
		return st;
	st = osr_spf_init(&spf, job->fabric, routing, &opt.spf, job->scratch, job->diag);
	if (!st)
		st = osr_lanes_route(&lanes);
	if (st)
		return st;
	if (req->clock_ms) {
		double now = req->clock_ms();

		routing->ms_spf = (lanes.ms_spf ? lanes.ms_spf : now) - start;
		routing->ms_layers = now - start - routing->ms_spf;
	}
	osr_spf_finish(&spf);
	routing->engine = "dfsssp";
	routing->n_rounds = spf.n_rounds;
	routing->claims |= routing->n_longer ? 0 : OSR_CLAIM_MINIMAL;
	return OSR_OK;
}

const struct osr_engine osr_engine_dfsssp = {
	.name = "dfsssp",
	.summary = "balanced shortest paths on virtual lanes; deadlock-free on every fabric",
	.reference =
		"Domke, Hoefler, Nagel: Deadlock-Free Oblivious Routing for Arbitrary Topologies, "
		"IPDPS 2011",
	.params = params,
	.capabilities = OSR_ENGINE_DEADLOCK_FREE | OSR_ENGINE_LMC | OSR_ENGINE_REROUTE,
	.route = dfsssp_route,
};

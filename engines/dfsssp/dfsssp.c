/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * dfsssp - deadlock-free SSSP: the balanced shortest paths of spf.h, put on virtual lanes by the
 * strategies of lanes.h. Where the lanes do not suffice, some pairs get longer routes.
 */
#include <osmroutes/engine.h>
#include <osmroutes/lanes.h>
#include <osmroutes/reroute.h>

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
	GUIDED_ROUNDS,
	EFFORT,
	DIMENSIONS,
	FEWER_VLS,
	STABLE,
	REPAIR,
	ROOM,
	REBALANCE
};

enum { REPAIR_SHORTEST, REPAIR_FEWEST };

static const struct osr_param params[] = {
	[ROUNDS] = { "rounds", OSR_PARAM_UINT, "2", 0, 1000, NULL,
		     "rip-up-and-re-route rounds after the first pass, at most" },
	[MOVES] = { "moves", OSR_PARAM_UINT, "50", 0, 1000000, NULL,
		    "then attempts to move LIDs off the most loaded link, for 100 LIDs, at most" },
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
	[MAX_VLS] = { "max_vls", OSR_PARAM_UINT, "15", 1, 15, NULL,
		      "use no more virtual lanes than this, even if the fabric has them" },
	[BALANCE] = { "balance_vls", OSR_PARAM_BOOL, "yes", 0, 0, NULL,
		      "spread the routes over virtual lanes that are not needed against deadlock" },
	[SIFT] = { "sift_passes", OSR_PARAM_UINT, "3", 0, 1000, NULL,
		   "passes of local search over the channel order" },
	[DETOURS] = { "detours", OSR_PARAM_BOOL, "yes", 0, 0, NULL,
		      "if the VLs do not suffice, route some pairs over longer paths instead of "
		      "giving up" },
	[GUIDED_ROUNDS] = { "guided_rounds", OSR_PARAM_UINT, "10", 1, 1000, NULL,
			    "rounds of routing within channel orders, if the VLs do not suffice" },
	[EFFORT] = { "order_effort", OSR_PARAM_UINT, "80", 0, 1000000, NULL,
		     "work spent on an order of the switches, if there is one VL: more gives fewer "
		     "longer routes" },
	[DIMENSIONS] = { "dimensions", OSR_PARAM_BOOL, "yes", 0, 0, NULL,
			 "route whole tori, meshes and HyperX in dimension order" },
	[FEWER_VLS] = { "fewer_vls", OSR_PARAM_BOOL, "yes", 0, 0, NULL,
			"look for shortest paths that need fewer virtual lanes, where that is "
			"promising" },
	[STABLE] = { "stable", OSR_PARAM_BOOL, "yes", 0, 0, NULL,
		     "start from the tables of the last sweep and change only what must change" },
	[REPAIR] = { "repair", OSR_PARAM_ENUM, "fewest", 0, 0, "shortest|fewest",
		     "as few entries change as possible, over longer ways; or routes that were cut "
		     "take the shortest ways left" },
	[ROOM] = { "room", OSR_PARAM_BOOL, "no", 0, 0, NULL,
		   "deal SLs out over all VLs so that repairs find room: fewer pairs get another SL "
		   "after a fault, and a full route takes longer" },
	[REBALANCE] = { "rebalance", OSR_PARAM_UINT, "200", 0, 100000, NULL,
			"route anew once repairs have made the balance worse by this factor, in "
			"percent; 0: never" },
	{ NULL }
};

static struct osr_lanes_options lanes_options(const struct osr_values *v)
{
	return (struct osr_lanes_options){
		.spf = { .max_rounds = (uint32_t)v->num[ROUNDS],
			 .max_moves = (uint32_t)v->num[MOVES],
			 .ignore_rates = v->num[IGNORE_RATES] },
		.layers = { .heuristic = (enum osr_heuristic)v->num[HEURISTIC],
			    .reversible = (enum osr_reversible)v->num[REVERSIBLE],
			    .sift_passes = (uint32_t)v->num[SIFT],
			    .balance = v->num[BALANCE] },
		.guided_rounds = (uint32_t)v->num[GUIDED_ROUNDS],
		.order_effort = (uint32_t)v->num[EFFORT],
		.guided_reversible = v->num[REVERSIBLE] != OSR_REVERSIBLE_OFF,
		.dimensions = v->num[DIMENSIONS],
		.fewer_vls = v->num[FEWER_VLS],
		.detours = v->num[DETOURS],
	};
}

static enum osr_status route(const struct osr_fabric *f, const struct osr_values *v,
			     const struct osr_request *req, const struct osr_result *previous,
			     struct osr_arena *scratch, struct osr_arena *result,
			     struct osr_routing *r, struct osr_diag *diag)
{
	struct osr_lanes_options opt = lanes_options(v);
	struct osr_reroute_options stable_opt = { .fewest = v->num[REPAIR] == REPAIR_FEWEST,
						  .drift = (uint32_t)v->num[REBALANCE] };
	struct osr_request capped = *req;
	double start = req->clock_ms ? req->clock_ms() : 0;
	bool stable = previous && v->num[STABLE];
	struct osr_diag why = { "" };
	struct osr_spf s;
	struct osr_lanes_job job = { .s = &s,
				     .req = &capped,
				     .opt = &opt,
				     .scratch = scratch,
				     .result = result,
				     .r = r,
				     .diag = diag };
	enum osr_status st;

	if (capped.max_vls > v->num[MAX_VLS])
		capped.max_vls = (uint8_t)v->num[MAX_VLS];
	if (stable) {
		st = osr_reroute(f, &capped, previous, &stable_opt, scratch, result, r, &why);
		if (!st)
			r->ms_spf = req->clock_ms ? req->clock_ms() - start : 0;
		if (st == OSR_NOMEM)
			return osr_fail(diag, st, "%s", why.text);
		if (!st)
			return OSR_OK;
	}
	st = osr_routing_init(r, f, result, diag);
	if (st)
		return st;
	st = osr_spf_init(&s, f, r, &opt.spf, scratch, diag);
	if (!st)
		st = osr_lanes_route(&job);
	if (st)
		return st;
	if (req->clock_ms) {
		double now = req->clock_ms();

		r->ms_spf = (job.ms_spf ? job.ms_spf : now) - start;
		r->ms_layers = now - start - r->ms_spf;
	}
	osr_spf_finish(&s);
	r->engine = "dfsssp";
	r->n_rounds = s.n_rounds;
	r->claims |= r->n_longer ? 0 : OSR_CLAIM_MINIMAL;
	if (v->num[STABLE] && v->num[ROOM]) {
		st = osr_reroute_room(f, capped.max_vls, scratch, result, r, diag);
		if (st)
			return st;
	}
	return stable ? osr_reroute_anew(f, &capped, previous, &why, scratch, result, r, diag)
		      : OSR_OK;
}

const struct osr_engine osr_engine_dfsssp = {
	.name = "dfsssp",
	.summary = "balanced shortest paths on virtual lanes; deadlock-free on every fabric",
	.reference =
		"Domke, Hoefler, Nagel: Deadlock-Free Oblivious Routing for Arbitrary Topologies, "
		"IPDPS 2011",
	.params = params,
	.capabilities = OSR_ENGINE_DEADLOCK_FREE | OSR_ENGINE_LMC,
	.route = route,
};

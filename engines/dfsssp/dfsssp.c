/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * dfsssp - deadlock-free SSSP: the balanced shortest paths of spf.h, put on virtual lanes by the
 * strategies of lanes.h. Where the lanes do not suffice, some pairs get longer routes.
 */
#include <osmroutes/bound.h>
#include <osmroutes/each.h>
#include <osmroutes/engine.h>
#include <osmroutes/lanes.h>
#include <osmroutes/spf.h>
#include <osmroutes/sweep.h>

#define DFSSSP_LARGE (1u << 22) /* table entries: from here on rounds take half a second */

enum {
	IGNORE_RATES,
	HEURISTIC,
	REVERSIBLE,
	MAX_VLS,
	DETOURS,
	STABLE,
	REBALANCE,
	ANY_SL,
	ANY_SL_COST
};

static const struct osr_param params[] = {
	[IGNORE_RATES] = { "ignore_rates", OSR_PARAM_BOOL, "no", 0, 0, NULL,
			   "balance routes per link, not per unit of link rate" },
	[HEURISTIC] = { "heuristic", OSR_PARAM_ENUM, "order", 0, 0,
			"order|weakest|heaviest|first|online",
			"which dependencies to cut: by an order of the channels, one of each cycle "
			"found, or none (route by route)" },
	[REVERSIBLE] = { "reversible_sl", OSR_PARAM_ENUM, "auto", 0, 0, "auto|on|off",
			 "replies are safe on the SL of their request: if the VLs suffice, always, "
			 "or never" },
	[MAX_VLS] = OSR_SWEEP_MAX_VLS,
	[DETOURS] = { "detours", OSR_PARAM_BOOL, "yes", 0, 0, NULL,
		      "if the VLs do not suffice, route some pairs over longer paths instead of "
		      "giving up" },
	[STABLE] = OSR_SWEEP_STABLE,
	[REBALANCE] = OSR_SWEEP_REBALANCE,
	[ANY_SL] = OSR_SWEEP_ANY_SL,
	[ANY_SL_COST] = OSR_SWEEP_ANY_SL_COST,
	{ 0 }
};

static struct osr_lanes_options dfsssp_lanes_options(const struct osr_values *values)
{
	return (struct osr_lanes_options){
		.any_sl = (enum osr_any_sl)values->num[ANY_SL],
		.any_sl_cost = (uint32_t)values->num[ANY_SL_COST],
		.spf = { .max_rounds = OSR_SPF_ROUNDS, .ignore_rates = values->num[IGNORE_RATES] },
		.layers = { .heuristic = (enum osr_heuristic)values->num[HEURISTIC],
			    .reversible = (enum osr_reversible)values->num[REVERSIBLE] },
		.detours = values->num[DETOURS],
	};
}

/* ---- large whole trees ----------------------------------------------------------------------- */

/* Of groups of end ports that are balanced by themselves D-Mod-K knows nothing. */
static bool dfsssp_is_plain(const struct osr_fabric *fabric)
{
	uint32_t first = OSR_NONE;

	OSR_EVERY_TERMINAL(t, fabric) {
		if (fabric->term_role[t] == OSR_ROLE_SP0)
			continue;
		if (first == OSR_NONE)
			first = t;
		if (fabric->term_group[t] != fabric->term_group[first])
			return false;
	}
	return true;
}

/*
 * As good as tables can be, by the checker's figures: on one lane, minimal, no link above the least
 * load.
 */
static bool dfsssp_is_perfect(const struct osr_job *job, const struct osr_checked *checked,
			      uint64_t least)
{
	uint32_t wanted = OSR_CLAIM_MINIMAL | OSR_CLAIM_DEADLOCK_FREE | OSR_CLAIM_REVERSIBLE |
			  OSR_CLAIM_ANY_SL | (job->request.multicast ? OSR_CLAIM_MULTICAST : 0);

	return (checked->verdict.proven & wanted) == wanted && checked->verdict.n_vls == 1 &&
	       checked->verdict.efi_per_capacity <= (double)least;
}

/*
 * Rounds on a whole tree end where the closed form of D-Mod-K begins, and every channel is at the
 * bound in both. Where tables have millions of entries the closed form comes first.
 */
static enum osr_status dfsssp_closed_form(const struct osr_job *job, bool *routed)
{
	const struct osr_engine *dmodk = osr_engine_find("dmodk");
	struct osr_arena_mark mark = osr_arena_mark(job->scratch),
			      result = osr_arena_mark(job->arena);
	struct osr_diag why = { "" };
	struct osr_checked checked;
	struct osr_values whole;
	struct osr_job mine = *job;
	enum osr_status st;
	uint64_t least;

	*routed = false;
	if (!dmodk || (uint64_t)job->fabric->n_dests * job->fabric->n_switches <= DFSSSP_LARGE ||
	    !dfsssp_is_plain(job->fabric))
		return OSR_OK;
	osr_values_default(&whole, dmodk->params);
	st = osr_values_set(&whole, dmodk->params, "max_missing", "0", &why);
	mine.values = &whole;
	mine.notes = (struct osr_notes){ NULL, 0 };
	mine.diag = &why;
	if (!st)
		st = dmodk->route(&mine);
	osr_arena_reset(job->scratch, mark);
	if (!st)
		st = osr_check_keep(job->fabric, job->routing, job->arena, job->scratch, &checked,
				    &why);
	if (!st)
		st = osr_bound_cut(job->fabric, job->scratch, &least, &why);
	*routed = !st && dfsssp_is_perfect(job, &checked, least);
	if (*routed && job->checked)
		*job->checked = checked;
	if (!*routed)
		osr_arena_reset(job->arena, result);
	return st == OSR_NOMEM ? osr_fail(job->diag, st, "%s", why.text) : OSR_OK;
}

static enum osr_status dfsssp_route(const struct osr_job *job)
{
	const struct osr_values *values = job->values;
	const struct osr_request *req = &job->request;
	struct osr_routing *routing = job->routing;
	struct osr_lanes_options opt = dfsssp_lanes_options(values);
	double start = req->clock_ms ? req->clock_ms() : 0;
	struct osr_spf spf;
	struct osr_lanes_job lanes = { .spf = &spf,
				       .req = req,
				       .opt = &opt,
				       .scratch = job->scratch,
				       .result = job->arena,
				       .routing = routing,
				       .diag = job->diag };
	bool routed;
	enum osr_status st = dfsssp_closed_form(job, &routed);

	if (opt.any_sl == OSR_ANY_SL_AUTO && req->keep_any_sl)
		opt.any_sl = OSR_ANY_SL_KEEP;
	if (!st && routed) {
		routing->engine = "dfsssp";
		routing->strategy = "D-Mod-K";
		routing->notes = (struct osr_notes){ NULL, 0 };
	}
	if (st || routed)
		return st;
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
	.capabilities = OSR_ENGINE_DEADLOCK_FREE | OSR_ENGINE_REROUTE,
	.route = dfsssp_route,
};

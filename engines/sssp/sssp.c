/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * sssp - balanced single-source shortest paths: always minimal, as deadlock-free as the fabric
 * makes them. The algorithm is the core's (spf.h); trees come out acyclic by themselves, which the
 * dependency graph tells at little cost, and then the result says so.
 */
#include <osmroutes/engine.h>
#include <osmroutes/layers.h>
#include <osmroutes/reroute.h>
#include <osmroutes/spf.h>

enum { ROUNDS, MOVES, IGNORE_RATES, STABLE, REBALANCE };

static const struct osr_param params[] = {
	[ROUNDS] = { "rounds", OSR_PARAM_UINT, "2", 0, 1000, NULL,
		     "rip-up-and-re-route rounds after the first pass, at most" },
	[MOVES] = { "moves", OSR_PARAM_UINT, "50", 0, 1000000, NULL,
		    "then attempts to move LIDs off the most loaded link, for 100 LIDs, at most" },
	[IGNORE_RATES] = { "ignore_rates", OSR_PARAM_BOOL, "no", 0, 0, NULL,
			   "balance routes per link, not per unit of link rate" },
	[STABLE] = { "stable", OSR_PARAM_BOOL, "yes", 0, 0, NULL,
		     "start from the tables of the last sweep and change only what must change" },
	[REBALANCE] = { "rebalance", OSR_PARAM_UINT, "200", 0, 100000, NULL,
			"route anew once repairs have made the balance worse by this factor, in "
			"percent; 0: never" },
	{ NULL }
};

static enum osr_status route(const struct osr_fabric *f, const struct osr_values *v,
			     const struct osr_request *req, const struct osr_result *previous,
			     struct osr_arena *scratch, struct osr_arena *result,
			     struct osr_routing *r, struct osr_diag *diag)
{
	struct osr_spf_options spf_opt = { .max_rounds = (uint32_t)v->num[ROUNDS],
					   .max_moves = (uint32_t)v->num[MOVES],
					   .ignore_rates = v->num[IGNORE_RATES] };
	struct osr_reroute_options stable_opt = { .minimal = true,
						  .drift = (uint32_t)v->num[REBALANCE] };
	double start = req->clock_ms ? req->clock_ms() : 0;
	bool stable = previous && v->num[STABLE], fits;
	struct osr_diag why = { "" };
	struct osr_spf s;
	enum osr_status st;

	if (stable) {
		st = osr_reroute(f, req, previous, &stable_opt, scratch, result, r, &why);
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
	st = osr_spf_init(&s, f, r, &spf_opt, scratch, diag);
	if (st)
		return st;
	osr_spf_route(&s, &spf_opt);
	r->ms_spf = req->clock_ms ? req->clock_ms() - start : 0;

	/* One layer or no claim: sssp promises balance, not lanes. */
	st = osr_layers_single(&s, req, scratch, result, r, &fits, diag);
	if (st)
		return st;
	if (!fits)
		r->n_vls = 1;
	r->ms_layers = req->clock_ms ? req->clock_ms() - start - r->ms_spf : 0;
	osr_spf_finish(&s);
	r->engine = "sssp";
	r->n_rounds = s.n_rounds;
	r->claims |= OSR_CLAIM_MINIMAL;
	return stable ? osr_reroute_anew(f, req, previous, &why, scratch, result, r, diag)
		      : OSR_OK;
}

const struct osr_engine osr_engine_sssp = {
	.name = "sssp",
	.summary = "balanced shortest paths; deadlock-free on trees only",
	.reference = "Hoefler, Schneider, Lumsdaine: Optimized Routing for Large-Scale InfiniBand "
		     "Networks, "
		     "HOTI 2009",
	.params = params,
	.capabilities = OSR_ENGINE_MINIMAL | OSR_ENGINE_LMC,
	.route = route,
};

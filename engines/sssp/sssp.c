/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * sssp - balanced single-source shortest paths: always minimal, as deadlock-free as the fabric
 * makes them. The algorithm is the core's (spf.h); trees come out acyclic by themselves, which the
 * dependency graph tells at little cost, and then the result says so.
 */
#include <osmroutes/engine.h>
#include <osmroutes/layers.h>
#include <osmroutes/spf.h>
#include <osmroutes/sweep.h>

enum { ROUNDS, MOVES, IGNORE_RATES, STABLE, REBALANCE };

static const struct osr_param params[] = {
	[ROUNDS] = { "rounds", OSR_PARAM_UINT, "2", 0, 1000, NULL,
		     "rip-up-and-re-route rounds after the first pass, at most" },
	[MOVES] = { "moves", OSR_PARAM_UINT, "50", 0, 1000000, NULL,
		    "then attempts to move LIDs off the most loaded link, for 100 LIDs, at most" },
	[IGNORE_RATES] = { "ignore_rates", OSR_PARAM_BOOL, "no", 0, 0, NULL,
			   "balance routes per link, not per unit of link rate" },
	[STABLE] = OSR_SWEEP_STABLE,
	[REBALANCE] = OSR_SWEEP_REBALANCE,
	{ NULL }
};

static enum osr_status route(const struct osr_job *job)
{
	const struct osr_fabric *f = job->fabric;
	const struct osr_values *v = job->values;
	const struct osr_request *req = &job->request;
	struct osr_arena *scratch = job->scratch, *result = job->arena;
	struct osr_routing *r = job->routing;
	struct osr_diag *diag = job->diag;
	struct osr_spf_options spf_opt = { .max_rounds = (uint32_t)v->num[ROUNDS],
					   .max_moves = (uint32_t)v->num[MOVES],
					   .ignore_rates = v->num[IGNORE_RATES] };
	double start = req->clock_ms ? req->clock_ms() : 0;
	bool fits;
	struct osr_spf s;
	enum osr_status st;

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
	return OSR_OK;
}

const struct osr_engine osr_engine_sssp = {
	.name = "sssp",
	.summary = "balanced shortest paths; deadlock-free on trees only",
	.reference = "Hoefler, Schneider, Lumsdaine: Optimized Routing for Large-Scale InfiniBand "
		     "Networks, "
		     "HOTI 2009",
	.params = params,
	.capabilities = OSR_ENGINE_MINIMAL | OSR_ENGINE_LMC | OSR_ENGINE_REROUTE,
	.route = route,
};

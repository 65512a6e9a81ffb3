/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * sssp - balanced single-source shortest paths: always minimal, as deadlock-free as the fabric
 * makes them. The algorithm is the core's (spf.h); trees come out acyclic by themselves, which the
 * dependency graph tells at little cost, and then the result says so.
 */
#include <osmroutes/engine.h>
#include <osmroutes/lanes.h>
#include <osmroutes/spf.h>
#include <osmroutes/sweep.h>

enum { IGNORE_RATES, STABLE, REBALANCE };

static const struct osr_param params[] = {
	[IGNORE_RATES] = { "ignore_rates", OSR_PARAM_BOOL, "no", 0, 0, NULL,
			   "balance routes per link, not per unit of link rate" },
	[STABLE] = OSR_SWEEP_STABLE,
	[REBALANCE] = OSR_SWEEP_REBALANCE,
	{ 0 }
};

static enum osr_status sssp_route(const struct osr_job *job)
{
	const struct osr_values *values = job->values;
	const struct osr_request *req = &job->request;
	struct osr_routing *routing = job->routing;
	struct osr_spf_options spf_opt = { .max_rounds = OSR_SPF_ROUNDS,
					   .ignore_rates = values->num[IGNORE_RATES] };
	double start = req->clock_ms ? req->clock_ms() : 0;
	bool fits;
	struct osr_spf spf;
	struct osr_lanes_job lanes = { .spf = &spf,
				       .req = req,
				       .scratch = job->scratch,
				       .result = job->arena,
				       .routing = routing,
				       .diag = job->diag };
	enum osr_status st = osr_routing_init(routing, job->fabric, job->arena, job->diag);

	if (!st)
		st = osr_spf_init(&spf, job->fabric, routing, &spf_opt, job->scratch, job->diag);
	if (st)
		return st;
	osr_spf_route(&spf, &spf_opt);
	routing->ms_spf = req->clock_ms ? req->clock_ms() - start : 0;

	/* One layer or no claim: sssp promises balance, not lanes. */
	st = osr_layers_single(&lanes, &fits);
	if (st)
		return st;
	routing->ms_layers = req->clock_ms ? req->clock_ms() - start - routing->ms_spf : 0;
	osr_spf_finish(&spf);
	routing->engine = "sssp";
	routing->claims |= OSR_CLAIM_MINIMAL;
	return OSR_OK;
}

const struct osr_engine osr_engine_sssp = {
	.name = "sssp",
	.summary = "balanced shortest paths; deadlock-free on trees only",
	.reference = "Hoefler, Schneider, Lumsdaine: Optimized Routing for Large-Scale InfiniBand "
		     "Networks, HOTI 2009",
	.params = params,
	.capabilities = OSR_ENGINE_MINIMAL | OSR_ENGINE_REROUTE,
	.route = sssp_route,
};

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * angara - tori and meshes of up to six dimensions, whole or damaged, on two virtual lanes.
 *
 * Source: Mukosey, Semenov, Tretiakov: Optimized Graph Based Routing Algorithm for the Angara
 * Interconnect: direction order, direction bits, steps in front of a route where they close no
 * cycle (section 3). The order of directions is +X -X +Y -Y ...; DIFFERS from the paper's (first
 * all positive ones, then all negative), which loads the outer rows of lines with nearly twice their
 * mean, and has no way on where a ring is interrupted. DIFFERS too: InfiniBand has no bubble rule,
 * so service levels say which datelines a route crosses (plan.h); and a route is known at every
 * switch on its way, so that those of a LID form a tree.
 *
 * The plan is for whole grids. What fails afterwards is repaired by the core, within the plan's order of
 * channels and on the service levels that pairs have (osr_sweep()). A grid that is damaged when it is first
 * routed, or has too few lanes, goes by dfsssp; so does one with uneven hosts where that carries less.
 */
#include <string.h>

#include <osmroutes/check.h>
#include <osmroutes/engine.h>
#include <osmroutes/spf.h>
#include <osmroutes/sweep.h>

#include "job.h"

enum { DETOURS, STABLE, REBALANCE };

static const struct osr_param params[] = {
	[DETOURS] = { "detours", OSR_PARAM_BOOL, "yes", 0, 0, NULL,
		      "with too few virtual lanes, or where too much is missing, route some pairs "
		      "over longer paths instead of giving up" },
	[STABLE] = OSR_SWEEP_STABLE,
	[REBALANCE] = OSR_SWEEP_REBALANCE,
	{ NULL }
};

/* ---- by dfsssp -------------------------------------------------------------------------------- */

/* Options of dfsssp by name and value. */
struct setting {
	const char *name, *value;
};

/*
 * The balanced shortest paths of the engine dfsssp, with these settings besides its defaults, as tables of this
 * engine.
 */
static enum osr_status route_by_dfsssp(const struct job *j, const struct setting *settings,
				       struct osr_routing *routing, struct osr_diag *diag)
{
	const struct osr_engine *dfsssp = osr_engine_find("dfsssp");
	struct osr_arena_mark mark = osr_arena_mark(j->scratch);
	struct osr_values values;
	struct osr_job mine = { .engine = dfsssp,
				.values = &values,
				.request = *j->req,
				.fabric = j->f,
				.scratch = j->scratch,
				.arena = j->result,
				.routing = routing,
				.diag = diag };
	enum osr_status st = OSR_OK;

	osr_values_default(&values, dfsssp->params);
	for (; !st && settings->name; settings++)
		st = osr_values_set(&values, dfsssp->params, settings->name, settings->value, diag);
	if (!st)
		st = dfsssp->route(&mine);
	osr_arena_reset(j->scratch, mark);
	routing->engine = "angara";
	return st;
}

/* ---- which tables ----------------------------------------------------------------------------- */

#define REPLIES_PAY 102  /* percent of the load that safe replies are worth */
#define MINIMAL_PAYS 105 /* the same of routes that are all shortest */
#define PAIRS_LARGE                                                                                \
	(1u                                                                                        \
	 << 16) /* table entries: beyond them lanes for both ways of all pairs are hardly ever found */

/* Tables, with the load of the busiest link; UINT64_MAX: there are none. */
struct offer {
	struct osr_routing routing;
	uint64_t load;
};

/* The load of finished tables. OSR_NOMEM only. */
static enum osr_status measure(const struct job *j, struct offer *offer, struct osr_diag *diag)
{
	struct osr_arena_mark mark = osr_arena_mark(j->scratch);
	struct osr_verdict verdict;
	struct osr_diag why = { "" };
	enum osr_status st = osr_check(j->f, &offer->routing, j->scratch, &verdict, &why);

	osr_arena_reset(j->scratch, mark);
	offer->load = st ? UINT64_MAX : (uint64_t)(verdict.efi_per_capacity + 0.5);
	return st == OSR_NOMEM ? osr_fail(diag, st, "%s", why.text) : OSR_OK;
}

static enum osr_status offer_by_dfsssp(const struct job *j, const struct setting *settings,
				       struct offer *offer, struct osr_diag *diag)
{
	enum osr_status st = route_by_dfsssp(j, settings, &offer->routing, diag);

	offer->load = UINT64_MAX;
	return st ? st : measure(j, offer, diag);
}

/* The load, and what is missing besides. */
static uint64_t price(const struct offer *offer)
{
	const struct osr_routing *routing = &offer->routing;
	uint64_t load = offer->load == UINT64_MAX ? UINT64_MAX / 200 : offer->load * 10000;

	load = routing->claims & OSR_CLAIM_REVERSIBLE ? load : load * REPLIES_PAY / 100;
	return routing->n_longer ? load * MINIMAL_PAYS / 100 : load;
}

/*
 * Balanced shortest paths as dfsssp has them; with both ways of every pair on one lane, so that replies are safe;
 * or by SL with no longer route, if the lanes suffice for that: the best of these.
 */
static enum osr_status route_by_load(const struct job *j, bool detours, struct offer *offer)
{
	static const struct setting own[] = { { NULL, NULL } },
				    pairs[] = { { "reversible_sl", "on" },
						{ "heuristic", "online" },
						{ "any_sl", "off" },
						{ "detours", "no" },
						{ NULL, NULL } },
				    *const by_sl = pairs + 1;
	const struct setting *const other[] = { pairs, by_sl };
	uint64_t entries = (uint64_t)j->f->n_dests * j->f->n_switches;
	enum osr_status st = offer_by_dfsssp(j, detours ? own : by_sl, offer, j->diag);

	for (uint32_t k = entries > PAIRS_LARGE; !st && k < 2; k++) {
		struct osr_diag why = { "" };
		struct offer better;

		if (offer_by_dfsssp(j, other[k], &better, &why) == OSR_NOMEM)
			return osr_fail(j->diag, OSR_NOMEM, "%s", why.text);
		if (price(&better) < price(offer))
			*offer = better;
	}
	return st;
}

static bool angara_is_even(const struct osr_fabric *fabric)
{
	for (uint32_t v = 1; v < fabric->n_switches; v++)
		if (fabric->sw_sources[v] != fabric->sw_sources[0])
			return false;
	return true;
}

/* Is there a plan, and are there lanes for it? */
static bool has_plan(struct job *j, uint16_t *lane1)
{
	const struct osr_grid *grid = &j->grid;
	bool whole =
		!grid->n_dead_links && !grid->n_dead_switches && grid->n_placed == j->f->n_switches;

	if (!whole || !angara__plan(&j->plan, grid, lane1))
		return false;
	/* Unicast has lanes 0 and 1: multicast joins it on the first, or has another one. */
	return !j->plan.n_rings ||
	       (j->req->max_vls > 1 && !(j->req->multicast && j->req->mcast_vl == 1));
}

/* Dimension order loads the rows and columns of many hosts: it stays where shortest paths by load carry as much. */
static enum osr_status route_grid(struct job *j, bool detours)
{
	uint16_t *lane1 = osr_alloc(j->scratch, angara__plan_size(&j->grid), sizeof(*lane1));
	const struct osr_notes notes = j->r->notes;
	struct offer plain = { .load = UINT64_MAX }, by_load;
	enum osr_status st = OSR_OK;

	if (!lane1)
		return osr_fail(j->diag, OSR_NOMEM, "out of memory for the lanes of a grid");
	if (has_plan(j, lane1)) {
		st = angara__write(j);
		if (st || angara_is_even(j->f))
			return st;
		plain.routing = *j->r;
		st = measure(j, &plain, j->diag);
		if (plain.load * 100 <= osr_spf_bound(j->f) * REPLIES_PAY)
			return st;
	}
	if (!st)
		st = route_by_load(j, detours, &by_load);
	if (!st && price(&by_load) < price(&plain))
		*j->r = by_load.routing;
	j->r->notes = notes;
	return st;
}

/*
 * A grid that has lost cables since need not be one that can be told any more, but it is routed as before. What is
 * noted is how many channels there were.
 */
static enum osr_status find_grid(struct job *j, const struct osr_notes *notes)
{
	uint32_t *n = osr_alloc(j->result, 1, sizeof(*n));
	enum osr_status st = osr_grid_find(j->f, j->scratch, j->result, &j->grid, j->diag);

	if (!n)
		return osr_fail(j->diag, OSR_NOMEM, "out of memory for a grid");
	*n = j->f->n_channels;
	if (st == OSR_NOT_APPLICABLE && notes->size == sizeof(*n)) {
		memcpy(n, notes->data, sizeof(*n));
		st = j->f->n_channels <= *n ? OSR_OK : st;
	}
	j->r->notes = (struct osr_notes){ n, sizeof(*n) };
	return st;
}

/* ---- the engine ------------------------------------------------------------------------------ */

/* Only what can be told at a glance: whether it is a grid, angara_route() finds out. */
static enum osr_status angara_applies(const struct osr_job *job)
{
	return job->fabric->n_channels
		       ? OSR_OK
		       : osr_fail(job->diag, OSR_NOT_APPLICABLE,
				  "not a torus or mesh: there is no cable between switches");
}

static enum osr_status angara_route(const struct osr_job *job)
{
	const struct osr_fabric *fabric = job->fabric;
	struct osr_routing *routing = job->routing;
	struct job j = { .f = fabric,
			 .req = &job->request,
			 .scratch = job->scratch,
			 .result = job->arena,
			 .r = routing,
			 .diag = job->diag };
	enum osr_status st = osr_routing_init(routing, fabric, job->arena, job->diag);

	if (!st)
		st = find_grid(&j, &job->notes);
	return st ? st : route_grid(&j, job->values->num[DETOURS]);
}

const struct osr_engine osr_engine_angara = {
	.name = "angara",
	.summary =
		"tori and meshes of up to six dimensions, whole or damaged, on two virtual lanes",
	.reference = "Mukosey, Semenov, Tretiakov: Optimized Graph Based Routing Algorithm for the "
		     "Angara Interconnect",
	.params = params,
	.capabilities = OSR_ENGINE_DEADLOCK_FREE | OSR_ENGINE_REROUTE,
	.applies = angara_applies,
	.route = angara_route,
};

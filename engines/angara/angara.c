/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * angara - tori and meshes, whole or damaged.
 *
 * With paths = graph routes keep to the paper's routing graph (src/core/lanes/graph.c). By default
 * the best tables are taken, whatever their paths:
 *
 * A whole grid with even hosts is routed in dimension order on two lanes by SL, minimal and without
 * longer routes (dor.c). The core repairs later failures, within that order of channels and on the
 * service levels of the pairs (osr_sweep()). A grid that is damaged when it is first routed, has
 * uneven hosts or too few lanes gets the best tables of dfsssp's strategies.
 */
#include <string.h>

#include <osmroutes/bound.h>
#include <osmroutes/check.h>
#include <osmroutes/engine.h>
#include <osmroutes/lanes.h>
#include <osmroutes/product.h>
#include <osmroutes/spf.h>
#include <osmroutes/sweep.h>

enum { PATHS, DETOURS, STABLE, REBALANCE };
enum { PATHS_ANY, PATHS_GRAPH };

static const struct osr_param params[] = {
	[PATHS] = { "paths", OSR_PARAM_ENUM, "any", 0, 0, "any|graph",
		    "graph: by direction order with first and last steps, in the paper's routing "
		    "graph; any: the best of it, dimension order and shortest paths" },
	[DETOURS] = { "detours", OSR_PARAM_BOOL, "yes", 0, 0, NULL,
		      "with too few virtual lanes, or where too much is missing, route some pairs "
		      "over longer paths instead of giving up" },
	[STABLE] = OSR_SWEEP_STABLE,
	[REBALANCE] = OSR_SWEEP_REBALANCE,
	{ 0 }
};

/* ---- which tables ---------------------------------------------------------------------------- */

#define REPLIES_PAY 102  /* percent of the load that safe replies are worth */
#define MINIMAL_PAYS 105 /* the same of routes that are all shortest */
#define PAIRS_LARGE                                                                                \
	(1                                                                                         \
	 << 16) /* table entries: beyond them lanes for both ways of all pairs are hardly ever found */

/* Options of dfsssp by name and value. */
struct setting {
	const char *name, *value;
};

/* Tables, with the load of the busiest link. */
struct offer {
	struct osr_routing routing;
	uint64_t load;
};

/* dfsssp's tables with these settings besides its defaults, as tables of this engine. */
static enum osr_status make_offer(const struct osr_job *job, const struct setting *settings,
				  struct offer *offer, struct osr_diag *diag)
{
	const struct osr_engine *dfsssp = osr_engine_find("dfsssp");
	struct osr_arena_mark mark = osr_arena_mark(job->scratch);
	struct osr_values values;
	struct osr_verdict verdict;
	struct osr_job mine = *job;
	enum osr_status st = OSR_OK;

	mine.engine = dfsssp;
	mine.values = &values;
	mine.routing = &offer->routing;
	mine.diag = diag;
	mine.checked = NULL;
	mine.notes = (struct osr_notes){ NULL, 0 };
	osr_values_default(&values, dfsssp->params);
	for (; !st && settings->name; settings++)
		st = osr_values_set(&values, dfsssp->params, settings->name, settings->value, diag);
	if (!st)
		st = dfsssp->route(&mine);
	osr_arena_reset(job->scratch, mark);
	if (!st)
		st = osr_check(job->fabric, &offer->routing, job->scratch, &verdict, diag);
	osr_arena_reset(job->scratch, mark);
	offer->load = st ? 0 : (uint64_t)(verdict.efi_per_capacity + 0.5);
	offer->routing.engine = "angara";
	return st;
}

/* Tables within the routing graph; without a result, why not. */
static enum osr_status route_graph(const struct osr_job *job, struct offer *offer,
				   struct osr_diag *diag)
{
	const struct osr_lanes_options opt = { .spf = { .max_rounds = OSR_SPF_ROUNDS } };
	struct osr_arena_mark mark = osr_arena_mark(job->scratch);
	struct osr_routing *routing = &offer->routing;
	struct osr_verdict verdict;
	struct osr_spf spf;
	struct osr_lanes_job lanes = { .spf = &spf,
				       .req = &job->request,
				       .opt = &opt,
				       .scratch = job->scratch,
				       .result = job->arena,
				       .routing = routing,
				       .diag = diag };
	enum osr_status st = osr_routing_init(routing, job->fabric, job->arena, diag);

	if (!st)
		st = osr_spf_init(&spf, job->fabric, routing, &opt.spf, job->scratch, diag);
	if (!st)
		st = osr_graph_route(&lanes);
	if (!st && routing->n_longer && !job->values->num[DETOURS])
		st = osr_fail(diag, OSR_NO_VL,
			      "%u routes of the routing graph are no shortest paths",
			      routing->n_longer);
	if (!st) {
		osr_spf_finish(&spf);
		routing->claims |= routing->n_longer ? 0 : OSR_CLAIM_MINIMAL;
		st = osr_check(job->fabric, routing, job->scratch, &verdict, diag);
	}
	osr_arena_reset(job->scratch, mark);
	offer->load = st ? 0 : (uint64_t)(verdict.efi_per_capacity + 0.5);
	routing->engine = "angara";
	return st;
}

/* The load, and the missing cables. */
static uint64_t price(const struct offer *offer)
{
	const struct osr_routing *routing = &offer->routing;
	uint64_t load = offer->load * 10000;

	load = routing->claims & OSR_CLAIM_REVERSIBLE ? load : load * REPLIES_PAY / 100;
	return routing->n_longer ? load * MINIMAL_PAYS / 100 : load;
}

static bool angara_is_even(const struct osr_fabric *fabric)
{
	for (uint32_t v = 1; v < fabric->n_switches; v++)
		if (fabric->sw_sources[v] != fabric->sw_sources[0])
			return false;
	return true;
}

/*
 * By SL with no longer route, which on a whole grid is dimension order; with both ways of every
 * pair on one lane, so that replies are safe; as dfsssp has them; or in the routing graph: the best
 * of these. Dimension order loads the rows and columns of many hosts: it stays where shortest paths
 * by load carry as much.
 */
static enum osr_status route_grid(const struct osr_job *job, bool whole, struct offer *best)
{
	static const struct setting pairs[] = { { "reversible_sl", "on" },
						{ "heuristic", "online" },
						{ "any_sl", "off" },
						{ "detours", "no" },
						{ NULL, NULL } };
	const struct setting *const settings[] = { pairs + 2, pairs, pairs + 4 };
	bool large = (uint64_t)job->fabric->n_dests * job->fabric->n_switches > PAIRS_LARGE;
	/* Where any SL stays safe only the last is wanted. */
	uint32_t from = job->request.keep_any_sl && job->values->num[DETOURS] ? 2 : 0;
	uint64_t least;
	bool enough = false;
	struct osr_diag why = { "" };
	struct offer offer;
	enum osr_status first = OSR_OK, st;

	for (uint32_t k = from; k < 3; k++) {
		if (enough)
			break;
		why.text[0] = 0;
		if ((k == 1 && large) || (k == 2 && !job->values->num[DETOURS]))
			continue;
		st = make_offer(job, settings[k], &offer, k > from ? &why : job->diag);
		if (st == OSR_NOMEM)
			return k > from ? osr_fail(job->diag, st, "%s", why.text) : st;
		first = k > from ? first : st;
		if (!st && (!best->load || price(&offer) < price(best)))
			*best = offer;
		if (st || k || !whole || strcmp(offer.routing.strategy, "dimension order") != 0)
			continue;
		/* Where no other tables can be worth it, they are not asked for. */
		enough = angara_is_even(job->fabric);
		st = enough ? OSR_OK : osr_bound_cut(job->fabric, job->scratch, &least, job->diag);
		if (st)
			return st;
		enough |= offer.load * 100 <= least * REPLIES_PAY;
	}
	if (!enough && !large && !from) {
		st = route_graph(job, &offer, &why);
		if (st == OSR_NOMEM)
			return osr_fail(job->diag, st, "%s", why.text);
		if (!st && (!best->load || price(&offer) < price(best)))
			*best = offer;
	}
	return best->load ? OSR_OK : first;
}

/*
 * A grid that has lost cables since the last full route may no longer be recognised as one, but it
 * is routed as before. The note is its number of channels at that time.
 */
static enum osr_status find_grid(const struct osr_job *job, struct osr_notes *notes, bool *whole)
{
	struct osr_arena_mark mark = osr_arena_mark(job->scratch);
	uint32_t *n = osr_alloc(job->arena, 1, sizeof(*n));
	struct osr_product product;
	enum osr_status st = osr_product_find(job->fabric, job->scratch, &product, job->diag);

	if (!n)
		return osr_fail(job->diag, OSR_NOMEM, "out of memory for a grid");
	for (uint32_t i = 0; !st && i < product.n_dims; i++)
		if (product.factor[i] == OSR_FACTOR_CLIQUE && product.size[i] > 3)
			st = osr_fail(job->diag, OSR_NOT_APPLICABLE,
				      "not a torus or mesh: a dimension is a full mesh of %u",
				      product.size[i]);
	*whole = !st && osr_product_is_whole(&product);
	*n = job->fabric->n_channels;
	if (st == OSR_NOT_APPLICABLE && job->notes.size == sizeof(*n)) {
		memcpy(n, job->notes.data, sizeof(*n));
		st = job->fabric->n_channels <= *n ? OSR_OK : st;
	}
	*notes = (struct osr_notes){ n, sizeof(*n) };
	osr_arena_reset(job->scratch, mark);
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
	struct offer best = { .load = 0 };
	struct osr_notes notes;
	bool whole = false;
	enum osr_status st = find_grid(job, &notes, &whole);

	if (!st && job->values->num[PATHS] == PATHS_GRAPH)
		st = route_graph(job, &best, job->diag);
	else if (!st)
		st = route_grid(job, whole, &best);
	if (st)
		return st;
	*job->routing = best.routing;
	job->routing->notes = notes;
	if (job->diag)
		job->diag->text[0] = 0;
	return OSR_OK;
}

const struct osr_engine osr_engine_angara = {
	.name = "angara",
	.summary = "tori and meshes, whole or damaged: dimension order on two virtual lanes",
	.reference = "Mukosey, Semenov, Tretiakov: Optimized Graph Based Routing Algorithm for the "
		     "Angara Interconnect",
	.params = params,
	.capabilities = OSR_ENGINE_DEADLOCK_FREE | OSR_ENGINE_REROUTE,
	.applies = angara_applies,
	.route = angara_route,
};

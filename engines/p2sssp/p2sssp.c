/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * p2sssp - P2-SSSP: weights grow after every source-destination pair, then virtual lanes as in
 * dfsssp. An engine for study: it shows what finer steps are worth, at many times the time of sssp.
 *
 * P2-SSSP (Hoefler, Schneider, Lumsdaine, HOTI 2009) finds the lightest shortest path of one
 * source-destination pair after the other and counts each before it looks for the next. Paths found
 * one by one need not agree on where they go on from a switch they share, so they do not fit
 * forwarding tables.
 *
 * DIFFERS: destination by destination, the sources are added one by one, and a path ends where it
 * meets the tree that the earlier ones have built: from there it goes on as they do. Its own part
 * is the lightest that leads to that tree, what the rest weighs included. All end ports of a switch
 * share the switch's path, so they are added together and count as many.
 *
 * Time O(LIDs * switches * edges of the shortest paths from one switch to one other).
 */
#include <osmroutes/each.h>
#include <osmroutes/engine.h>
#include <osmroutes/lanes.h>

#include <string.h>

enum { STEP, HEURISTIC };
enum { STEP_PAIR, STEP_DEST };
enum { WITHOUT_LANES = OSR_HEURISTIC_ONLINE + 1 };

static const struct osr_param params[] = {
	[STEP] = { "step", OSR_PARAM_ENUM, "pair", 0, 0, "pair|dest",
		   "weights grow after every pair (P2-SSSP) or after every destination (P-SSSP as "
		   "published)" },
	[HEURISTIC] = { "heuristic", OSR_PARAM_ENUM, "order", 0, 0,
			"order|weakest|heaviest|first|online|none",
			"which dependencies to cut, as in dfsssp; none: no virtual lanes, the "
			"paths as published, which may deadlock" },
	{ 0 }
};

struct pairs {
	struct osr_spf *spf;
	const struct osr_fabric *fabric;
	uint64_t *weight; /* [n_channels] */
	uint8_t *joined;  /* [n_switches] part of the tree */
	uint32_t *met;    /* [n_switches] number of the last search that came by */
	/* [n_switches] the switches that this search met, never closer ones first */
	uint32_t *list;
	uint64_t *cost; /* [n_switches] of the way on */
	uint32_t n_searches;
};

/*
 * The weight of the way of a switch in the tree; each of its channels then gets this many routes
 * more.
 */
static uint64_t walk(struct pairs *pairs, const uint8_t *hop, uint32_t root, uint32_t v, uint32_t n)
{
	uint64_t cost = 0;

	while (v != root) {
		uint32_t c = pairs->fabric->chan_row[v] + hop[v];

		cost += pairs->weight[c];
		pairs->weight[c] += (uint64_t)n * pairs->spf->unit[c];
		v = pairs->fabric->chan_dst[c];
	}
	return cost;
}

/* The lightest way from u, whose next switches are known; ties go to the lowest channel. */
static void pairs_choose(struct pairs *pairs, uint8_t *hop, uint32_t root, uint32_t u)
{
	pairs->cost[u] = UINT64_MAX;
	OSR_EACH_CHANNEL(c, pairs->fabric, u) {
		uint64_t cost = pairs->weight[c] + pairs->cost[pairs->fabric->chan_dst[c]];

		if (!osr_spf_is_closer(pairs->spf, root, c) || cost >= pairs->cost[u])
			continue;
		pairs->cost[u] = cost;
		hop[u] = (uint8_t)(c - pairs->fabric->chan_row[u]);
	}
}

/*
 * Switch v joins the tree. First everything on its shortest paths, down to where they meet the
 * tree, is listed, breadth first; then, from the near end, each switch chooses its way on.
 */
static void pairs_join(struct pairs *pairs, uint8_t *hop, uint32_t root, uint32_t v)
{
	uint32_t n = 0;

	pairs->met[v] = ++pairs->n_searches;
	pairs->list[n++] = v;
	for (uint32_t i = 0; i < n; i++) {
		uint32_t u = pairs->list[i];

		for (uint32_t c = pairs->fabric->chan_row[u];
		     !pairs->joined[u] && c < pairs->fabric->chan_row[u + 1]; c++) {
			uint32_t next = pairs->fabric->chan_dst[c];

			if (!osr_spf_is_closer(pairs->spf, root, c) ||
			    pairs->met[next] == pairs->n_searches)
				continue;
			pairs->met[next] = pairs->n_searches;
			pairs->list[n++] = next;
		}
	}
	while (n-- > 0) {
		uint32_t u = pairs->list[n];

		if (pairs->joined[u])
			pairs->cost[u] = walk(pairs, hop, root, u, 0);
		else
			pairs_choose(pairs, hop, root, u);
	}
	for (uint32_t u = v; !pairs->joined[u];
	     u = pairs->fabric->chan_dst[pairs->fabric->chan_row[u] + hop[u]])
		pairs->joined[u] = 1;
	walk(pairs, hop, root, v, pairs->fabric->sw_sources[v]);
}

/*
 * The tree of one LID. By pairs the sending switches come first; the others have no pairs, only
 * tables to fill.
 */
static void pairs_route_dest(struct pairs *pairs, uint8_t *hop, uint32_t root, bool by_pairs)
{
	const struct osr_fabric *fabric = pairs->fabric;
	const uint16_t *order = pairs->spf->order + (size_t)root * fabric->n_switches;

	memset(pairs->joined, 0, fabric->n_switches);
	pairs->joined[root] = 1;
	pairs->cost[root] = 0;
	for (int sends = 1; by_pairs && sends >= 0; sends--)
		OSR_EACH_SWITCH(v, fabric)
			if (v != root && fabric->sw_component[v] == fabric->sw_component[root] &&
			    (fabric->sw_sources[v] != 0) == sends)
				pairs_join(pairs, hop, root, v);
	/* P-SSSP: closest switches first, all under the previous weights; then all are counted. */
	for (uint32_t i = 1; !by_pairs && i < pairs->spf->n_order[root]; i++)
		pairs_choose(pairs, hop, root, order[i]);
	for (uint32_t i = 1; !by_pairs && i < pairs->spf->n_order[root]; i++)
		walk(pairs, hop, root, order[i], fabric->sw_sources[order[i]]);
}

/*
 * spf is routed; the trees of CA and router LIDs are replaced. Its weights are not kept up to date.
 */
static enum osr_status pairs_route(struct osr_spf *spf, bool by_pairs, struct osr_arena *scratch,
				   struct osr_diag *diag)
{
	const struct osr_fabric *fabric = spf->fabric;
	size_t n = fabric->n_switches;
	struct pairs pairs = { .spf = spf,
			       .fabric = fabric,
			       .weight = osr_calloc(scratch, fabric->n_channels,
						    sizeof(*pairs.weight)),
			       .joined = osr_alloc(scratch, n, 1),
			       .met = osr_calloc(scratch, n, sizeof(*pairs.met)),
			       .list = osr_alloc(scratch, n, sizeof(*pairs.list)),
			       .cost = osr_alloc(scratch, n, sizeof(*pairs.cost)) };

	if (osr_arena_failed(scratch, diag))
		return OSR_NOMEM;
	OSR_EACH_SWITCH(root, fabric)
		for (uint32_t k = spf->dest_row[root]; k < spf->dest_row[root + 1]; k++) {
			uint32_t d = spf->dest_list[k];

			if (fabric->term_role[fabric->dest_term[d]] != OSR_ROLE_SP0)
				pairs_route_dest(&pairs, spf->hop + d * n, root, by_pairs);
		}
	/* Port 0 of a switch with end ports shares the tree of one of them. */
	OSR_EACH_DEST(d, fabric)
		if (spf->alias[d] != OSR_NONE)
			memcpy(spf->hop + d * n, spf->hop + spf->alias[d] * n, n);
	return OSR_OK;
}

static enum osr_status p2sssp_route(const struct osr_job *job)
{
	const uint64_t *option = job->values->num;
	const struct osr_request *req = &job->request;
	struct osr_routing *routing = job->routing;
	struct osr_lanes_options opt = {
		.layers = { .heuristic = (enum osr_heuristic)option[HEURISTIC],
			    .reversible = OSR_REVERSIBLE_AUTO },
	};
	struct osr_spf spf;
	struct osr_lanes_job lanes = { .spf = &spf,
				       .req = req,
				       .opt = &opt,
				       .scratch = job->scratch,
				       .result = job->arena,
				       .routing = routing,
				       .diag = job->diag };
	bool fits;
	enum osr_status st = osr_routing_init(routing, job->fabric, job->arena, job->diag);

	if (!st)
		st = osr_spf_init(&spf, job->fabric, routing, &opt.spf, job->scratch, job->diag);
	if (st)
		return st;
	/* One pass of P-SSSP settles port 0 of bare switches; its other trees are replaced. */
	osr_spf_route(&spf, &opt.spf);
	st = pairs_route(&spf, option[STEP] == STEP_PAIR, job->scratch, job->diag);
	if (st)
		return st;
	/*
	 * Without lanes no promise; where one suffices, as in trees, the result says so
	 * nevertheless.
	 */
	st = option[HEURISTIC] == WITHOUT_LANES ? osr_layers_single(&lanes, &fits)
						: osr_lanes_assign(&lanes);
	if (st)
		return st;
	osr_spf_finish(&spf);
	routing->engine = "p2sssp";
	routing->claims |= routing->n_longer ? 0 : OSR_CLAIM_MINIMAL;
	return OSR_OK;
}

const struct osr_engine osr_engine_p2sssp = {
	.name = "p2sssp",
	.summary = "shortest paths balanced pair by pair, on virtual lanes; slow, for comparison",
	.reference = "Hoefler, Schneider, Lumsdaine: Optimized Routing for Large-Scale InfiniBand "
		     "Networks, HOTI 2009",
	.params = params,
	.capabilities = 0, /* as heuristic=none has it */
	.route = p2sssp_route,
};

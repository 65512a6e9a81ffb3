/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * A compressed key becomes routes: classes take planes, level by level, and the ways become table
 * entries.
 *
 * Source: Samuel, Zahavi, Keslassy, Routing Keys, section III, "3-level XGFT": seen from the
 * leaves, all switches that agree in the digit b of a middle switch are one node; the flows that
 * the first step gives such a node are the demand of the second step, which is independent of all
 * other nodes.
 */
#include "keys/keys.h"
#include <osmroutes/invariant.h>
#include <osmroutes/prng.h>

#include "level.h"

#include <stdlib.h>
#include <string.h>

struct placing {
	const struct osr_key_job *job;
	const struct osr_key *key;
	const struct osr_pgft_tree *tree;
	const uint32_t *load;
	enum osr_key_choice choice;
	/* Flows of each level, by group (B), then A, then destination. */
	struct osr_key_flow *flow[OSR_PGFT_MAX_LEVELS + 1];
	uint32_t n_flows[OSR_PGFT_MAX_LEVELS + 1];
};

/* Flows of one level --------------------------------------------------------------------------- */

/* *up becomes the flow above level t; false: its ends meet there. */
static bool above(const struct osr_pgft_tree *tree, uint32_t t, const struct osr_key_flow *flow,
		  struct osr_key_flow *up)
{
	osr_invariant(flow->a != flow->ad && flow->q < osr_n_planes(tree, t));
	*up = *flow;
	up->b = osr_b_above(tree, t, flow->b, flow->q);
	up->a /= tree->m[t + 1];
	up->ad /= tree->m[t + 1];
	up->next = OSR_NONE;
	return up->a != up->ad;
}

/* Flows that go on above level t become flows of level t + 1; flows that meet become one. */
static enum osr_status place_next_level(struct placing *placing, uint32_t t)
{
	struct osr_key_flow *flow = placing->flow[t], *next;
	uint32_t n = 0;

	next = placing->flow[t + 1] =
		osr_alloc(placing->job->scratch, placing->n_flows[t], sizeof(*next));
	if (!next)
		return OSR_NOMEM;
	for (uint32_t i = 0; i < placing->n_flows[t]; i++)
		n += above(placing->tree, t, &flow[i], &next[n]);
	placing->n_flows[t + 1] = n = osr_join(next, n);
	for (uint32_t i = 0; i < placing->n_flows[t]; i++) {
		const struct osr_key_flow *found;
		struct osr_key_flow up;

		if (above(placing->tree, t, &flow[i], &up)) {
			found = bsearch(&up, next, n, sizeof(up), osr_by_group);
			osr_invariant(found);
			flow[i].next = (uint32_t)(found - next);
		}
	}
	return OSR_OK;
}

/*
 * Which plane a class takes ---------------------------------------------------------------------
 */

/*
 * Which middle switch a class takes, given the load of others on the cables.
 *
 * Source: Samuel, Zahavi, Keslassy, Routing Keys, section II-B: (a) the largest load of a link, (b)
 * the variance of the load over links. An application adds the same flows wherever its classes go,
 * so the variance is least where the sum of squares is; a cable with load x that gets w more adds 2
 * x w + w^2 to it.
 *
 * FINE is the paper's "fine-grained shift optimization": the class with the most flows goes first,
 * to the best plane that no other class has. DIFFERS: "best" looks at the cables the class would
 * use, not at the load of the middle switch alone; that decides between equals.
 */
struct cost {
	uint32_t most;    /* largest load on a cable of the class; UINT32_MAX: may not */
	uint64_t squares; /* increase of the sum of squares */
	uint64_t plane;   /* load of the whole plane */
};

static bool cheaper(const struct cost *a, const struct cost *b)
{
	if (a->most != b->most)
		return a->most < b->most;
	if (a->squares != b->squares)
		return a->squares < b->squares;
	return a->plane < b->plane;
}

static void add_cable(struct cost *cost, uint32_t load, uint32_t weight)
{
	if (!weight)
		return;
	if (load == UINT32_MAX || cost->most == UINT32_MAX) {
		cost->most = UINT32_MAX;
		return;
	}
	if (load + weight > cost->most)
		cost->most = load + weight;
	cost->squares += (uint64_t)weight * (2 * (uint64_t)load + weight);
}

/* cost[n_classes * n_planes] */
static enum osr_status fill_costs(const struct osr_group *group, const uint32_t *load,
				  struct osr_arena *scratch, struct cost *cost)
{
	const struct osr_pgft *pgft = group->level.pgft;
	const struct osr_key_flow *flow = group->flow;
	uint32_t n_classes = group->n_classes, n_planes = group->n_planes;
	size_t n = (size_t)group->n_nodes * n_classes;
	/* [n_nodes * n_classes] the class's own flows on the cables of a node */
	uint32_t *own_up = osr_calloc(scratch, n, sizeof(*own_up));
	uint32_t *own_down = osr_calloc(scratch, n, sizeof(*own_down));

	if (osr_arena_failed(scratch, NULL))
		return OSR_NOMEM;
	for (uint32_t e = 0; e < group->n; e++) {
		own_up[(size_t)flow[e].a * n_classes + flow[e].q] += flow[e].weight;
		own_down[(size_t)flow[e].ad * n_classes + flow[e].q] += flow[e].weight;
	}
	for (size_t i = 0; i < (size_t)group->n_nodes * n_planes; i++) {
		uint32_t a = (uint32_t)(i / n_planes), q = (uint32_t)(i % n_planes);
		uint32_t c =
			osr_up(pgft, osr_node(group->level.tree, group->level.t, a, group->b), q);
		/*
		 * The load by others of the channel up and of the one down; UINT32_MAX: no such
		 * cable.
		 */
		uint32_t up = UINT32_MAX, down = UINT32_MAX;

		if (c != OSR_NONE) {
			up = load ? load[c] : 0;
			down = load ? load[pgft->fabric->chan_rev[c]] : 0;
		}
		for (uint32_t k = 0; k < n_classes; k++) {
			struct cost *of = &cost[(size_t)k * n_planes + q];

			add_cable(of, up, own_up[(size_t)a * n_classes + k]);
			add_cable(of, down, own_down[(size_t)a * n_classes + k]);
			of->plane += up == UINT32_MAX ? 0 : (uint64_t)up + down;
		}
	}
	/* A plane may have its cables and lead nowhere above. */
	if (!group->may)
		return OSR_OK;
	for (uint32_t e = 0; e < group->n; e++)
		for (uint32_t q = 0; q < n_planes; q++)
			if (!osr_may(group, e, q))
				cost[(size_t)flow[e].q * n_planes + q].most = UINT32_MAX;
	return OSR_OK;
}

/*
 * The cheapest plane of a class that is not taken, by cost[n_planes]; OSR_NONE: the class may have
 * none of them.
 */
static uint32_t best_plane(const struct cost *cost, const bool *taken, uint32_t n_planes)
{
	uint32_t best = OSR_NONE;

	for (uint32_t q = 0; q < n_planes; q++) {
		if (taken[q] || cost[q].most == UINT32_MAX)
			continue;
		if (best == OSR_NONE || cheaper(&cost[q], &cost[best]))
			best = q;
	}
	return best;
}

/* Class by class the best plane that no other class has; false: a class is left without one. */
static bool choose_best(const struct cost *cost, uint32_t n_classes, uint32_t n_planes, bool *taken,
			uint32_t *plane_of)
{
	for (uint32_t c = 0; c < n_classes; c++) {
		uint32_t best = best_plane(&cost[(size_t)c * n_planes], taken, n_planes);

		if (best == OSR_NONE)
			return false;
		osr_invariant(!taken[best]);
		plane_of[c] = best;
		taken[best] = true;
	}
	return true;
}

/* The planes of the classes of a group, plane_of[n_planes]. */
static enum osr_status choose(const struct placing *placing, const struct osr_group *group,
			      uint32_t *plane_of)
{
	struct osr_arena *scratch = placing->job->scratch;
	uint32_t n_planes = group->n_planes, n_classes = group->n_classes, t = group->level.t;
	struct osr_prng prng = { placing->key->spread ^
				 ((uint64_t)t << 56 | (uint64_t)group->b << 24) };
	struct cost *cost;
	bool *taken;

	for (uint32_t c = 0; c < n_planes; c++)
		plane_of[c] = c;
	/* ARK, see OSR_KEY_AS_IS: a map of its own for each group. */
	if (placing->choice == OSR_KEY_AS_IS) {
		if (placing->key->spread && !group->may)
			osr_prng_shuffle(&prng, plane_of, n_planes);
		return OSR_OK;
	}
	cost = osr_calloc(scratch, (size_t)n_classes * n_planes, sizeof(*cost));
	taken = osr_calloc(scratch, n_planes, sizeof(*taken));
	if (osr_arena_failed(scratch, NULL) || fill_costs(group, placing->load, scratch, cost))
		return OSR_NOMEM;
	/* Where cables are missing, class c was made for plane c, which it can always have. */
	if (!choose_best(cost, n_classes, n_planes, taken, plane_of))
		for (uint32_t c = 0; c < n_planes; c++)
			plane_of[c] = c;
	return OSR_OK;
}

/* Group after group of level t: its flows are in the order of their groups. */
static enum osr_status place_level(struct placing *placing, uint32_t t)
{
	struct osr_level level = { placing->job->pgft, placing->tree, t };
	struct osr_arena *scratch = placing->job->scratch;
	struct osr_key_flow *flow = placing->flow[t];
	enum osr_status st = OSR_OK;

	for (uint32_t first = 0, end = 0; !st && end < placing->n_flows[t]; first = end) {
		struct osr_arena_mark mark = osr_arena_mark(scratch);
		struct osr_group group;
		uint32_t *plane_of;

		while (end < placing->n_flows[t] && flow[end].b == flow[first].b)
			end++;
		st = osr_group_of(level, flow + first, end - first, scratch, &group);
		/* On level 1 the key says which class a flow has. */
		group.n_classes = placing->key->n_classes;
		if (!st && t > 1)
			st = osr_colour(&group, scratch);
		plane_of = osr_alloc(scratch, group.n_planes, sizeof(*plane_of));
		if (!st)
			st = plane_of ? choose(placing, &group, plane_of) : OSR_NOMEM;
		if (!st) {
			for (uint32_t i = first; i < end; i++)
				flow[i].q = plane_of[flow[i].q];
			st = osr_balance(&group, placing->key->bound, scratch);
		}
		osr_arena_reset(scratch, mark);
	}
	return st;
}

/* Table entries -------------------------------------------------------------------------------- */

struct writing {
	struct osr_key_routes *routes;
	uint32_t *stamp;   /* [n_switches] destination + 1 of the entry in */
	uint8_t *port;     /* [n_switches] */
	uint32_t *carried; /* [n_channels] */
};

/*
 * Writes the entry for this destination and follows it. The entry of an earlier flow to the same
 * destination stays, because a table has one entry for a LID.
 */
static uint32_t place_step(const struct osr_fabric *fabric, struct writing *writing,
			   uint32_t channel, uint32_t to, uint32_t weight)
{
	uint32_t s = fabric->chan_src[channel];

	if (writing->stamp[s] != to + 1) {
		writing->stamp[s] = to + 1;
		writing->port[s] = fabric->chan_port[channel];
		writing->routes->entry[writing->routes->n_entries++] =
			(struct osr_key_entry){ s, to, writing->port[s] };
	}
	channel = osr_port_channel(fabric, s, writing->port[s]);
	osr_invariant(channel != OSR_NONE);
	writing->carried[channel] += weight;
	return fabric->chan_dst[channel];
}

/*
 * The channels of a flow as its planes have it, up to where the ends meet, and down. The flow
 * follows them until an entry of another flow leads away; from there that flow's entries lead to
 * the same end port.
 */
static void write_flow(const struct placing *placing, struct writing *writing, uint32_t flow)
{
	const struct osr_pgft *pgft = placing->job->pgft;
	const struct osr_key_flow *f[OSR_PGFT_MAX_LEVELS + 1], *low = &placing->flow[1][flow];
	uint32_t way[2 * OSR_PGFT_MAX_LEVELS], n = 0, top = 0, at;

	for (uint32_t i = flow; i != OSR_NONE; i = f[top]->next) {
		top++;
		f[top] = &placing->flow[top][i];
	}
	for (uint32_t t = 1; t <= top; t++)
		way[n++] = osr_up(pgft, osr_node(placing->tree, t, f[t]->a, f[t]->b), f[t]->q);
	for (uint32_t t = top; t > 0; t--)
		way[n++] = pgft->fabric->chan_rev[osr_up(
			pgft, osr_node(placing->tree, t, f[t]->ad, f[t]->b), f[t]->q)];
	at = osr_node(placing->tree, 1, low->a, 0);
	/* n channels have been written. */
	/* cppcheck-suppress uninitvar */
	for (uint32_t i = 0; i < n; i++) {
		osr_invariant(way[i] != OSR_NONE);
		if (pgft->fabric->chan_src[way[i]] != at)
			break;
		at = place_step(pgft->fabric, writing, way[i], low->to, low->weight);
	}
	while (at != pgft->fabric->term_switch[low->to]) {
		osr_invariant(writing->stamp[at] == low->to + 1);
		at = place_step(pgft->fabric, writing,
				osr_port_channel(pgft->fabric, at, writing->port[at]), low->to,
				low->weight);
	}
}

static int by_end(const void *x, const void *y, void *flows)
{
	const struct osr_key_flow *flow = flows;
	uint32_t i = *(const uint32_t *)x, j = *(const uint32_t *)y;

	if (flow[i].to != flow[j].to)
		return flow[i].to < flow[j].to ? -1 : 1;
	return i < j ? -1 : 1;
}

static int by_end_and_switch(const void *x, const void *y)
{
	const struct osr_key_entry *a = x, *b = y;

	if (a->term != b->term)
		return a->term < b->term ? -1 : 1;
	return a->sw < b->sw ? -1 : a->sw > b->sw;
}

static enum osr_status write_entries(const struct placing *placing, struct osr_key_routes *routes)
{
	const struct osr_fabric *fabric = placing->job->pgft->fabric;
	struct osr_arena *scratch = placing->job->scratch, *result = placing->job->arena;
	uint32_t n = placing->key->n_flows, hops = 2 * (placing->tree->h - 1);
	uint32_t *order = osr_alloc(scratch, n, sizeof(*order));
	struct writing writing = {
		.routes = routes,
		.stamp = osr_calloc(scratch, fabric->n_switches, sizeof(uint32_t)),
		.port = osr_alloc(scratch, fabric->n_switches, 1),
		.carried = osr_calloc(scratch, fabric->n_channels, sizeof(uint32_t)),
	};

	routes->entry = osr_alloc(result, (size_t)n * hops, sizeof(*routes->entry));
	if (osr_arena_failed(scratch, NULL) || osr_arena_failed(result, NULL))
		return OSR_NOMEM;
	for (uint32_t i = 0; i < n; i++)
		order[i] = i;
	qsort_r(order, n, sizeof(*order), by_end, placing->flow[1]);
	for (uint32_t i = 0; i < n; i++)
		write_flow(placing, &writing, order[i]);
	osr_invariant(routes->n_entries <= (uint64_t)n * hops);
	qsort(routes->entry, routes->n_entries, sizeof(*routes->entry), by_end_and_switch);
	/* The links that carry something. */
	for (uint32_t c = 0; c < fabric->n_channels; c++)
		routes->n_links += writing.carried[c] > 0;
	routes->link = osr_alloc(result, routes->n_links, sizeof(*routes->link));
	routes->flows = osr_alloc(result, routes->n_links, sizeof(*routes->flows));
	if (osr_arena_failed(result, NULL))
		return OSR_NOMEM;
	for (uint32_t c = 0, at = 0; c < fabric->n_channels; c++) {
		uint32_t flows = writing.carried[c],
			 all = flows + (placing->load ? placing->load[c] : 0);

		if (!flows)
			continue;
		routes->link[at] = c;
		routes->flows[at++] = flows;
		routes->contention = flows > routes->contention ? flows : routes->contention;
		routes->max_load = all > routes->max_load ? all : routes->max_load;
	}
	return OSR_OK;
}

enum osr_status osr_key_place(const struct osr_key_job *job, const struct osr_key *key,
			      const uint32_t *load, enum osr_key_choice choice,
			      struct osr_key_routes *routes)
{
	struct osr_arena_mark mark = osr_arena_mark(job->scratch);
	struct placing placing = { .job = job, .key = key, .load = load, .choice = choice };
	enum osr_status st = OSR_OK;

	*routes = (struct osr_key_routes){ 0 };
	osr_invariant(!key->n_flows || key->tree < job->pgft->n_trees);
	if (!key->n_flows)
		return OSR_OK;
	placing.tree = &job->pgft->tree[key->tree];
	placing.flow[1] = osr_alloc(job->scratch, key->n_flows, sizeof(*placing.flow[1]));
	placing.n_flows[1] = key->n_flows;
	if (placing.flow[1])
		memcpy(placing.flow[1], key->flow, key->n_flows * sizeof(*key->flow));
	st = placing.flow[1] ? place_level(&placing, 1) : OSR_NOMEM;
	for (uint32_t t = 1; !st && t + 1 < placing.tree->h; t++) {
		st = place_next_level(&placing, t);
		if (!st)
			st = place_level(&placing, t + 1);
	}
	if (!st)
		st = write_entries(&placing, routes);
	osr_arena_reset(job->scratch, mark);
	return st ? osr_fail(job->diag, st, "out of memory for the routes of a key") : OSR_OK;
}

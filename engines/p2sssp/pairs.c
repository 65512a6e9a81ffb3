/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "pairs.h"

#include <string.h>

struct pairs {
	struct osr_spf *s;
	const struct osr_fabric *f;
	enum weight_step step;
	enum source_order order;
	uint64_t *weight; /* [n_channels] */
	uint16_t *dist;   /* [n_switches] channels to the root; 65535 in other components */
	/* Towards the root: what leaves v is edge[first[v]] .. edge[last[v] - 1]. */
	uint32_t *first, *last; /* [n_switches] */
	uint32_t *edge;         /* [n_channels] */
	uint8_t *joined;        /* [n_switches] part of the tree */
	uint32_t *met;          /* [n_switches] number of the last search that came by */
	uint32_t *list;         /* [n_switches] what this search met, never closer ones first */
	uint64_t *cost;         /* [n_switches] */
	uint32_t n_searches;
};

static enum osr_status init(struct pairs *p, struct osr_spf *spf, struct osr_arena *scratch,
			    struct osr_diag *diag)
{
	const struct osr_fabric *fabric = spf->f;
	size_t n = fabric->n_switches, m = fabric->n_channels;

	*p = (struct pairs){ .s = spf, .f = fabric };
	p->weight = osr_calloc(scratch, m, sizeof(*p->weight));
	p->dist = osr_alloc(scratch, n, sizeof(*p->dist));
	p->first = osr_alloc(scratch, n, sizeof(*p->first));
	p->last = osr_alloc(scratch, n, sizeof(*p->last));
	p->edge = osr_alloc(scratch, m, sizeof(*p->edge));
	p->joined = osr_alloc(scratch, n, 1);
	p->met = osr_calloc(scratch, n, sizeof(*p->met));
	p->list = osr_alloc(scratch, n, sizeof(*p->list));
	p->cost = osr_alloc(scratch, n, sizeof(*p->cost));
	if (!p->weight || !p->dist || !p->first || !p->last || !p->edge || !p->joined || !p->met ||
	    !p->list || !p->cost)
		return osr_fail(diag, OSR_NOMEM, "out of memory for paths pair by pair");
	return OSR_OK;
}

/* The shortest-path graph towards root: the settling order gives the distances. */
static void find_graph(struct pairs *p, uint32_t root)
{
	const struct osr_fabric *fabric = p->f;
	const uint16_t *order = p->s->order + (size_t)root * fabric->n_switches;
	uint32_t n = 0;

	memset(p->dist, 0xff, fabric->n_switches * sizeof(*p->dist));
	p->dist[root] = 0;
	for (uint32_t i = 1; i < p->s->n_order[root]; i++) {
		uint32_t v = order[i], c;
		uint16_t closest = UINT16_MAX;

		for (c = fabric->chan_row[v]; c < fabric->chan_row[v + 1]; c++)
			if (p->dist[fabric->chan_dst[c]] < closest)
				closest = p->dist[fabric->chan_dst[c]];
		p->dist[v] = closest + 1;
		p->first[v] = n;
		for (c = fabric->chan_row[v]; c < fabric->chan_row[v + 1]; c++)
			if (p->dist[fabric->chan_dst[c]] == closest)
				p->edge[n++] = c;
		p->last[v] = n;
	}
}

static uint32_t pairs_next_channel(const struct pairs *p, const uint8_t *hop, uint32_t v)
{
	return p->f->chan_row[v] + hop[v];
}

/* Adds (or, with sign -1, takes out) the routes of the end ports of v. */
static void count_path(struct pairs *p, const uint8_t *hop, uint32_t root, uint32_t v,
		       uint64_t sign)
{
	uint64_t n = sign * p->f->sw_sources[v];

	while (v != root) {
		uint32_t c = pairs_next_channel(p, hop, v);

		p->weight[c] += n * p->s->unit[c];
		v = p->f->chan_dst[c];
	}
}

/* What the way of a switch in the tree weighs now. */
static uint64_t tree_cost(const struct pairs *p, const uint8_t *hop, uint32_t root, uint32_t v)
{
	uint64_t cost = 0;

	while (v != root) {
		uint32_t c = pairs_next_channel(p, hop, v);

		cost += p->weight[c];
		v = p->f->chan_dst[c];
	}
	return cost;
}

/* Everything on shortest paths from v, down to where they meet the tree. */
static uint32_t pairs_collect(struct pairs *p, uint32_t v)
{
	uint32_t n = 0;

	p->n_searches++;
	p->list[n++] = v;
	p->met[v] = p->n_searches;
	for (uint32_t i = 0; i < n; i++) {
		uint32_t u = p->list[i];

		for (uint32_t e = p->first[u]; !p->joined[u] && e < p->last[u]; e++) {
			uint32_t next = p->f->chan_dst[p->edge[e]];

			if (p->met[next] == p->n_searches)
				continue;
			p->met[next] = p->n_searches;
			p->list[n++] = next;
		}
	}
	return n;
}

/* The lightest way from u, whose next switches are known; ties go to the lowest channel. */
static void pairs_choose(struct pairs *p, uint8_t *hop, uint32_t u)
{
	uint64_t best = UINT64_MAX;

	for (uint32_t e = p->first[u]; e < p->last[u]; e++) {
		uint32_t c = p->edge[e];
		uint64_t cost = p->weight[c] + p->cost[p->f->chan_dst[c]];

		if (cost >= best)
			continue;
		best = cost;
		hop[u] = (uint8_t)(c - p->f->chan_row[u]);
	}
	p->cost[u] = best;
}

static void pairs_join(struct pairs *p, uint8_t *hop, uint32_t root, uint32_t v)
{
	uint32_t n = p->joined[v] ? 0 : pairs_collect(p, v);

	while (n-- > 0) {
		uint32_t u = p->list[n];

		if (p->joined[u])
			p->cost[u] = tree_cost(p, hop, root, u);
		else
			pairs_choose(p, hop, u);
	}
	for (uint32_t u = v; !p->joined[u]; u = p->f->chan_dst[pairs_next_channel(p, hop, u)])
		p->joined[u] = 1;
	count_path(p, hop, root, v, 1);
}

/* The i-th switch to be added, i = 1 .. n-1. */
static uint32_t pairs_source(const struct pairs *p, uint32_t root, uint32_t i)
{
	const uint16_t *order = p->s->order + (size_t)root * p->f->n_switches;

	return p->order == SOURCES_FAR ? order[p->s->n_order[root] - i] : order[i];
}

static void add_source(struct pairs *p, uint8_t *hop, uint32_t root, uint32_t v, bool sends)
{
	if (v != root && p->dist[v] != UINT16_MAX && (p->f->sw_sources[v] != 0) == sends)
		pairs_join(p, hop, root, v);
}

/* Those that send first; what is left has no pairs, only tables to fill. */
static void pairs_build_tree(struct pairs *p, uint8_t *hop, uint32_t root)
{
	memset(p->joined, 0, p->f->n_switches);
	p->joined[root] = 1;
	for (int sends = 1; sends >= 0; sends--) {
		if (p->order == SOURCES_INDEX)
			for (uint32_t v = 0; v < p->f->n_switches; v++)
				add_source(p, hop, root, v, sends);
		else
			for (uint32_t i = 1; i < p->s->n_order[root]; i++)
				add_source(p, hop, root, pairs_source(p, root, i), sends);
	}
}

/* P-SSSP: closest switches first, all under the weights of before; then all are counted. */
static void settle_tree(struct pairs *p, uint8_t *hop, uint32_t root)
{
	const uint16_t *order = p->s->order + (size_t)root * p->f->n_switches;

	p->cost[root] = 0;
	for (uint32_t i = 1; i < p->s->n_order[root]; i++)
		pairs_choose(p, hop, order[i]);
	for (uint32_t i = 1; i < p->s->n_order[root]; i++)
		count_path(p, hop, root, order[i], 1);
}

static void pairs_route_dest(struct pairs *p, uint32_t root, uint32_t d, uint32_t round)
{
	const uint16_t *order = p->s->order + (size_t)root * p->f->n_switches;
	uint8_t *hop = p->s->hop + (size_t)d * p->f->n_switches;

	for (uint32_t i = 1; round && i < p->s->n_order[root]; i++)
		count_path(p, hop, root, order[i], (uint64_t)-1);
	if (p->step == STEP_DEST)
		settle_tree(p, hop, root);
	else
		pairs_build_tree(p, hop, root);
}

static void pairs_route_group(struct pairs *p, uint32_t group, uint32_t round)
{
	const struct osr_fabric *fabric = p->f;

	for (uint32_t root = 0; root < fabric->n_switches; root++) {
		bool found = false;

		for (uint32_t k = p->s->dest_row[root]; k < p->s->dest_row[root + 1]; k++) {
			uint32_t d = p->s->dest_list[k], t = fabric->dest_term[d];

			if (fabric->term_role[t] == OSR_ROLE_SP0 || fabric->term_group[t] != group)
				continue;
			if (!found)
				find_graph(p, root);
			found = true;
			pairs_route_dest(p, root, d, round);
		}
	}
}

/* Port 0 of a switch with end ports shares the tree of one of them. */
static void share_trees(const struct osr_spf *spf)
{
	size_t n = spf->f->n_switches;

	for (uint32_t d = 0; d < spf->f->n_dests; d++)
		if (spf->alias[d] != OSR_NONE)
			memcpy(spf->hop + d * n, spf->hop + spf->alias[d] * n, n);
}

enum osr_status pairs_route(struct osr_spf *spf, enum weight_step step, enum source_order order,
			    uint32_t rounds, struct osr_arena *scratch, struct osr_diag *diag)
{
	struct osr_arena_mark mark = osr_arena_mark(scratch);
	uint32_t max_group = 0;
	enum osr_status st;
	struct pairs p;

	st = init(&p, spf, scratch, diag);
	p.step = step;
	p.order = order;
	for (uint32_t t = 0; t < spf->f->n_terminals; t++)
		if (max_group < spf->f->term_group[t])
			max_group = spf->f->term_group[t];
	for (uint32_t round = 0; !st && round <= rounds; round++)
		for (uint32_t group = 0; group <= max_group; group++)
			pairs_route_group(&p, group, round);
	if (!st)
		share_trees(spf);
	osr_arena_reset(scratch, mark);
	return st;
}

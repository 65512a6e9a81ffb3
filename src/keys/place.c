/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * A compressed key becomes routes: classes take planes, level by level, and the ways become table
 * entries.
 *
 * Source: Samuel, Zahavi, Keslassy, Routing Keys, section III, "3-level XGFT": seen from the leaves,
 * all switches that agree in the digit b of a middle switch are one node; what the first step gives
 * such a node is the demand of the second step, which is independent of all other nodes'.
 */
#include "keys/keys.h"
#include <osmroutes/prng.h>

#include "level.h"

#include <stdlib.h>
#include <string.h>

struct placing {
	const struct osr_pgft *p;
	const struct osr_pgft_tree *tree;
	const struct osr_key *key;
	const uint32_t *load;
	enum osr_key_choice choice;
	struct osr_arena *scratch;
	/* Flows of each level, by group (B), then A, then destination; on level 1 those of units. */
	struct osr__flow *flow[OSR_PGFT_MAX_LEVELS + 1];
	uint32_t n_flows[OSR_PGFT_MAX_LEVELS + 1];
};

/* Flows of one level --------------------------------------------------------------------------- */

struct sorted {
	struct osr__flow flow;
	uint32_t below; /* flow of the level below that it comes from */
};

static int by_group(const void *x, const void *y)
{
	const struct osr__flow *flow = &((const struct sorted *)x)->flow;
	const struct osr__flow *b = &((const struct sorted *)y)->flow;

	if (flow->b != b->b)
		return flow->b < b->b ? -1 : 1;
	if (flow->a != b->a)
		return flow->a < b->a ? -1 : 1;
	return flow->to < b->to ? -1 : flow->to > b->to;
}

/* What goes on above level t, as flows of level t + 1; what meets one another is one flow. */
static enum osr_status place_next_level(struct placing *x, uint32_t t)
{
	const struct osr_pgft_tree *tree = x->tree;
	struct sorted *list = osr_alloc(x->scratch, x->n_flows[t], sizeof(*list));
	uint32_t n = 0, kept = 0;

	if (osr_arena_failed(x->scratch, NULL))
		return OSR_NOMEM;
	for (uint32_t i = 0; i < x->n_flows[t]; i++) {
		struct osr__flow flow = x->flow[t][i];

		flow.b = osr__b_above(tree, t, flow.b, flow.q);
		flow.a /= tree->m[t + 1];
		flow.ad /= tree->m[t + 1];
		flow.next = OSR_NONE;
		if (flow.a != flow.ad)
			list[n++] = (struct sorted){ flow, i };
	}
	qsort(list, n, sizeof(*list), by_group);
	x->flow[t + 1] = osr_alloc(x->scratch, n, sizeof(*x->flow[t + 1]));
	if (!x->flow[t + 1])
		return OSR_NOMEM;
	for (uint32_t i = 0; i < n; i++) {
		if (kept && !by_group(&list[i - 1], &list[i]))
			x->flow[t + 1][kept - 1].weight += list[i].flow.weight;
		else
			x->flow[t + 1][kept++] = list[i].flow;
		x->flow[t][list[i].below].next = kept - 1;
	}
	x->n_flows[t + 1] = kept;
	return OSR_OK;
}

/* Which plane a class takes --------------------------------------------------------------------- */

/*
 * Which middle switch a class takes, given what others load the cables with.
 *
 * Source: Samuel, Zahavi, Keslassy, Routing Keys, section II-B: (a) the largest load of a link, (b)
 * the variance of the load over links. An application adds the same flows wherever its classes go,
 * so the variance is least where the sum of squares is; a cable with load x that gets w more adds 2 x
 * w + w^2 to it.
 *
 * FINE is the paper's "fine-grained shift optimization": the class with the most flows goes first,
 * to the best plane that no other class has. DIFFERS: "best" looks at the cables the class would use,
 * not at the load of the middle switch alone; that decides between equals.
 */
struct cost {
	uint32_t most;    /* largest load on a cable of the class; UINT32_MAX: may not */
	uint64_t squares; /* what it adds to the sum of squares */
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

static void add_cable(struct cost *c, uint32_t load, uint32_t weight)
{
	if (!weight)
		return;
	if (load == UINT32_MAX || c->most == UINT32_MAX) {
		c->most = UINT32_MAX;
		return;
	}
	if (load + weight > c->most)
		c->most = load + weight;
	c->squares += (uint64_t)weight * (2 * (uint64_t)load + weight);
}

/* cost[n_classes * n_planes] */
static enum osr_status fill_costs(const struct osr__group *group, const uint32_t *load,
				  struct osr_arena *scratch, struct cost *cost)
{
	const struct osr__demand *demand = &group->demand;
	const struct osr_pgft *pgft = group->level.pgft;
	uint32_t n_classes = group->n_classes, n_planes = demand->n_planes;
	size_t n = (size_t)demand->n_nodes * n_classes;
	/* [n_nodes * n_classes] the class's own flows on the cables of a node */
	uint32_t *own_up = osr_calloc(scratch, n, sizeof(*own_up));
	uint32_t *own_down = osr_calloc(scratch, n, sizeof(*own_down));

	if (osr_arena_failed(scratch, NULL))
		return OSR_NOMEM;
	for (uint32_t e = 0; e < demand->n_edges; e++) {
		const struct osr__edge *edge = &demand->edge[e];

		own_up[(size_t)edge->left * n_classes + group->class_of[e]] += edge->weight;
		own_down[(size_t)edge->right * n_classes + group->class_of[e]] += edge->weight;
	}
	for (size_t i = 0; i < (size_t)demand->n_nodes * n_planes; i++) {
		uint32_t a = (uint32_t)(i / n_planes), q = (uint32_t)(i % n_planes);
		uint32_t c =
			osr__up(pgft, osr__node(group->level.tree, group->level.t, a, group->b), q);
		/* What others load the cable up and the one down with; UINT32_MAX: there is none. */
		uint32_t up = c == OSR_NONE ? UINT32_MAX : load ? load[c] : 0;
		uint32_t down = c == OSR_NONE ? UINT32_MAX : load ? load[pgft->f->chan_rev[c]] : 0;

		for (uint32_t k = 0; k < n_classes; k++) {
			struct cost *of = &cost[(size_t)k * n_planes + q];

			add_cable(of, up, own_up[(size_t)a * n_classes + k]);
			add_cable(of, down, own_down[(size_t)a * n_classes + k]);
			of->plane += up == UINT32_MAX ? 0 : (uint64_t)up + down;
		}
	}
	/* A plane may have its cables and lead nowhere above. */
	for (uint32_t e = 0; demand->may && e < demand->n_edges; e++)
		for (uint32_t q = 0; q < n_planes; q++)
			if (!osr__may(demand, e, q))
				cost[(size_t)group->class_of[e] * n_planes + q].most = UINT32_MAX;
	return OSR_OK;
}

static enum osr_status choose(const struct osr__group *group, const uint32_t *load,
			      enum osr_key_choice choice, struct osr_arena *scratch,
			      uint32_t *plane_of)
{
	struct osr_arena_mark mark = osr_arena_mark(scratch);
	uint32_t n_planes = group->demand.n_planes, n_classes = group->n_classes;
	struct cost *cost = osr_calloc(scratch, (size_t)n_classes * n_planes, sizeof(*cost));
	bool *taken = osr_calloc(scratch, n_planes, sizeof(*taken)), found = true;
	enum osr_status st = OSR_OK;

	for (uint32_t c = 0; c < n_planes; c++)
		plane_of[c] = c;
	if (osr_arena_failed(scratch, NULL))
		st = OSR_NOMEM;
	else if (choice != OSR_KEY_AS_IS && n_classes)
		st = fill_costs(group, load, scratch, cost);
	/* Class by class the best plane that no other class has. */
	for (uint32_t c = 0; !st && choice != OSR_KEY_AS_IS && found && c < n_classes; c++) {
		const struct cost *best = NULL;

		for (uint32_t q = 0; q < n_planes; q++) {
			const struct cost *of = &cost[(size_t)c * n_planes + q];

			if (taken[q] || of->most == UINT32_MAX || (best && !cheaper(of, best)))
				continue;
			best = of;
			plane_of[c] = q;
		}
		found = best;
		if (best)
			taken[plane_of[c]] = true;
	}
	/* Where cables are missing, class c was made for plane c, which it can always have. */
	for (uint32_t c = 0; !found && c < n_planes; c++)
		plane_of[c] = c;
	osr_arena_reset(scratch, mark);
	return st;
}

/* Planes of one group -------------------------------------------------------------------------- */

/* Flows [first .. first + n) of level t are those of one group. */
static enum osr_status place_group(const struct placing *x, uint32_t t, uint32_t first, uint32_t n)
{
	struct osr_arena *scratch = x->scratch;
	struct osr_arena_mark mark = osr_arena_mark(scratch);
	struct osr__flow *flow = x->flow[t] + first;
	struct osr__group group = { .level = { x->p, x->tree, t },
				    .b = flow->b,
				    .flow = flow,
				    .n = n,
				    .class_of = osr_alloc(scratch, n, sizeof(*group.class_of)) };
	struct osr__colouring colouring = { .n_classes = x->key->n_classes };
	enum osr_status st = group.class_of ? osr__demand_of(&group, scratch) : OSR_NOMEM;
	uint32_t *plane_of = NULL;

	if (!st) {
		plane_of = osr_alloc(scratch, group.demand.n_planes, sizeof(*plane_of));
		st = plane_of ? OSR_OK : OSR_NOMEM;
	}
	for (uint32_t i = 0; !st && t == 1 && i < n; i++)
		group.class_of[i] = x->key->unit[first + i].class;
	if (!st && t > 1)
		st = osr__colour(&group.demand, scratch, group.class_of, &colouring);
	group.n_classes = colouring.n_classes;
	if (!st)
		st = choose(&group, x->load, x->choice, scratch, plane_of);
	if (!st) {
		uint32_t b = flow->b;
		struct osr_prng prng = { x->key->spread ^ ((uint64_t)t << 56 | (uint64_t)b << 24) };

		/* ARK, see OSR_KEY_AS_IS: a map of its own for each group. */
		if (x->choice == OSR_KEY_AS_IS && x->key->spread && !group.demand.may)
			osr_prng_shuffle(&prng, plane_of, group.demand.n_planes);
	}
	for (uint32_t i = 0; !st && i < n; i++)
		flow[i].q = plane_of[group.class_of[i]];
	if (!st)
		st = osr__balance(&group, x->key->bound, scratch);
	osr_arena_reset(scratch, mark);
	return st;
}

/* Group after group: flows of one level are in the order of their groups. */
static enum osr_status place_level(struct placing *x, uint32_t t)
{
	const struct osr__flow *flow = x->flow[t];
	enum osr_status st = OSR_OK;

	for (uint32_t first = 0, end = 0; end < x->n_flows[t] && !st; first = end) {
		while (end < x->n_flows[t] && flow[end].b == flow[first].b)
			end++;
		st = place_group(x, t, first, end - first);
	}
	return st;
}

/* Table entries -------------------------------------------------------------------------------- */

struct writing {
	struct osr_key_routes *r;
	uint32_t *stamp;   /* [n_switches] destination + 1 of the entry in */
	uint8_t *port;     /* [n_switches] */
	uint32_t *carried; /* [n_channels] */
};

/*
 * One step: the entry for this destination. Where another unit for the same destination has been
 * before, its entry counts, because a table has one.
 */
static uint32_t place_step(const struct osr_fabric *fabric, struct writing *w, uint32_t channel,
			   uint32_t to, uint32_t weight)
{
	uint32_t s = fabric->chan_src[channel];

	if (w->stamp[s] != to + 1) {
		w->stamp[s] = to + 1;
		w->port[s] = fabric->chan_port[channel];
		w->r->entry[w->r->n_entries++] = (struct osr_key_entry){ s, to, w->port[s] };
	}
	channel = osr_port_channel(fabric, s, w->port[s]);
	w->carried[channel] += weight;
	return fabric->chan_dst[channel];
}

/*
 * The channels of a unit as its planes have it, up to where the ends meet, and down. Along that way, until an entry of
 * another unit leads away from it: from there its entries lead to the same end port.
 */
static void write_unit(const struct placing *x, struct writing *w, uint32_t unit)
{
	const struct osr_fabric *fabric = x->p->f;
	const struct osr_key_unit *key_unit = &x->key->unit[unit];
	const struct osr__flow *f[OSR_PGFT_MAX_LEVELS + 1];
	uint32_t way[2 * OSR_PGFT_MAX_LEVELS], n = 0, top = 0, at = key_unit->leaf;

	for (uint32_t i = unit; i != OSR_NONE; i = f[top]->next) {
		top++;
		f[top] = &x->flow[top][i];
	}
	for (uint32_t t = 1; t <= top; t++)
		way[n++] = osr__up(x->p, osr__node(x->tree, t, f[t]->a, f[t]->b), f[t]->q);
	for (uint32_t t = top; t > 0; t--)
		way[n++] = fabric->chan_rev[osr__up(x->p, osr__node(x->tree, t, f[t]->ad, f[t]->b),
						    f[t]->q)];
	/* n channels have been written. */
	/* cppcheck-suppress uninitvar */
	for (uint32_t i = 0; i < n && fabric->chan_src[way[i]] == at; i++)
		at = place_step(fabric, w, way[i], key_unit->to, key_unit->weight);
	while (at != fabric->term_switch[key_unit->to])
		at = place_step(fabric, w, osr_port_channel(fabric, at, w->port[at]), key_unit->to,
				key_unit->weight);
}

static int by_end(const void *x, const void *y, void *units)
{
	const struct osr_key_unit *key_unit = units;
	uint32_t i = *(const uint32_t *)x, j = *(const uint32_t *)y;

	if (key_unit[i].to != key_unit[j].to)
		return key_unit[i].to < key_unit[j].to ? -1 : 1;
	return i < j ? -1 : 1;
}

static enum osr_status list_links(const struct placing *x, const struct writing *w,
				  struct osr_arena *result)
{
	struct osr_key_routes *key_routes = w->r;
	uint32_t n = x->p->f->n_channels, n_links = 0;

	for (uint32_t c = 0; c < n; c++)
		n_links += w->carried[c] > 0;
	key_routes->link = osr_alloc(result, n_links, sizeof(*key_routes->link));
	key_routes->flows = osr_alloc(result, n_links, sizeof(*key_routes->flows));
	if (osr_arena_failed(result, NULL))
		return OSR_NOMEM;
	for (uint32_t c = 0; c < n; c++) {
		uint32_t flows = w->carried[c], all = flows + (x->load ? x->load[c] : 0);

		if (!flows)
			continue;
		key_routes->link[key_routes->n_links] = c;
		key_routes->flows[key_routes->n_links++] = flows;
		key_routes->contention =
			flows > key_routes->contention ? flows : key_routes->contention;
		key_routes->max_load = all > key_routes->max_load ? all : key_routes->max_load;
	}
	return OSR_OK;
}

static enum osr_status write_entries(const struct placing *x, struct osr_arena *result,
				     struct osr_key_routes *key_routes)
{
	const struct osr_fabric *fabric = x->p->f;
	uint32_t n = x->key->n_units, hops = 2 * (x->tree->h - 1);
	uint32_t *order = osr_alloc(x->scratch, n, sizeof(*order));
	struct writing w = {
		.r = key_routes,
		.stamp = osr_calloc(x->scratch, fabric->n_switches, sizeof(uint32_t)),
		.port = osr_alloc(x->scratch, fabric->n_switches, 1),
		.carried = osr_calloc(x->scratch, fabric->n_channels, sizeof(uint32_t)),
	};

	key_routes->entry = osr_alloc(result, (size_t)n * hops, sizeof(*key_routes->entry));
	if (osr_arena_failed(x->scratch, NULL) || osr_arena_failed(result, NULL))
		return OSR_NOMEM;
	for (uint32_t i = 0; i < n; i++)
		order[i] = i;
	qsort_r(order, n, sizeof(*order), by_end, x->key->unit);
	for (uint32_t i = 0; i < n; i++)
		write_unit(x, &w, order[i]);
	return list_links(x, &w, result);
}

enum osr_status osr_key_place(const struct osr_key_job *job, const struct osr_key *key,
			      const uint32_t *load, enum osr_key_choice choice,
			      struct osr_key_routes *routes)
{
	struct osr_arena_mark mark = osr_arena_mark(job->scratch);
	struct placing x = {
		.p = job->pgft,
		.key = key,
		.load = load,
		.choice = choice,
		.scratch = job->scratch,
	};
	enum osr_status st = OSR_OK;

	*routes = (struct osr_key_routes){ 0 };
	if (key->n_units) {
		x.tree = &job->pgft->tree[key->tree];
		x.flow[1] = osr_alloc(x.scratch, key->n_units, sizeof(*x.flow[1]));
		x.n_flows[1] = key->n_units;
		if (x.flow[1])
			osr__unit_flows(x.p, key, x.flow[1]);
		st = x.flow[1] ? place_level(&x, 1) : OSR_NOMEM;
		for (uint32_t t = 1; t + 1 < x.tree->h && !st; t++) {
			st = place_next_level(&x, t);
			if (!st)
				st = place_level(&x, t + 1);
		}
		if (!st)
			st = write_entries(&x, job->arena, routes);
	}
	osr_arena_reset(job->scratch, mark);
	return st ? osr_fail(job->diag, st, "out of memory for the routes of a key") : OSR_OK;
}

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
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
#include "level.h"

#include <string.h>

struct cost {
	uint32_t most;    /* largest load on a cable of the class; UINT32_MAX: may not */
	uint64_t squares; /* what it adds to the sum of squares */
	uint64_t plane;   /* load of the whole plane */
};

struct chooser {
	uint32_t n_classes, n_planes;
	struct cost *cost; /* [n_classes * n_planes] */
	uint32_t *plane_of;
	bool *taken; /* [n_planes] */
};

static bool cheaper(const struct cost *a, const struct cost *b)
{
	if (a->most != b->most)
		return a->most < b->most;
	if (a->squares != b->squares)
		return a->squares < b->squares;
	return a->plane < b->plane;
}

/* Costs ---------------------------------------------------------------------------------------- */

/* One node's cable up and the one down in plane q: what others load them with; UINT32_MAX: none. */
static void cable_loads(const struct osr_pgft *pgft, uint32_t s, uint32_t q, const uint32_t *load,
			uint32_t *up, uint32_t *down)
{
	uint32_t c = osr__up(pgft, s, q);

	*up = c == OSR_NONE ? UINT32_MAX : load ? load[c] : 0;
	*down = c == OSR_NONE ? UINT32_MAX : load ? load[pgft->f->chan_rev[c]] : 0;
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

/* own_up and own_down [n_nodes * n_classes]: the class's own flows on the cables of a node. */
static void choose_add_node(struct chooser *x, const struct osr_pgft *pgft, uint32_t s,
			    const uint32_t *load, const uint32_t *own_up, const uint32_t *own_down)
{
	for (uint32_t q = 0; q < x->n_planes; q++) {
		uint32_t up, down;

		cable_loads(pgft, s, q, load, &up, &down);
		for (uint32_t c = 0; c < x->n_classes; c++) {
			struct cost *cost = &x->cost[(size_t)c * x->n_planes + q];

			add_cable(cost, up, own_up[c]);
			add_cable(cost, down, own_down[c]);
			cost->plane += up == UINT32_MAX ? 0 : (uint64_t)up + down;
		}
	}
}

static enum osr_status fill_costs(struct chooser *x, const struct osr__group *group,
				  const uint32_t *load, struct osr_arena *scratch)
{
	const struct osr__demand *demand = &group->demand;
	const struct osr__level *level = &group->level;
	const uint32_t *class_of = group->class_of;
	size_t n = (size_t)demand->n_nodes * x->n_classes;
	uint32_t *up = osr_calloc(scratch, n, sizeof(*up));
	uint32_t *down = osr_calloc(scratch, n, sizeof(*down));

	if (osr_arena_failed(scratch, NULL))
		return OSR_NOMEM;
	for (uint32_t e = 0; e < demand->n_edges; e++) {
		up[(size_t)demand->edge[e].left * x->n_classes + class_of[e]] +=
			demand->edge[e].weight;
		down[(size_t)demand->edge[e].right * x->n_classes + class_of[e]] +=
			demand->edge[e].weight;
	}
	for (uint32_t a = 0; a < demand->n_nodes; a++)
		choose_add_node(x, level->pgft, osr__node(level->tree, level->t, a, group->b), load,
				up + (size_t)a * x->n_classes, down + (size_t)a * x->n_classes);
	/* A plane may have its cables and lead nowhere above. */
	for (uint32_t e = 0; demand->may && e < demand->n_edges; e++)
		for (uint32_t q = 0; q < x->n_planes; q++)
			if (!osr__may(demand, e, q))
				x->cost[(size_t)class_of[e] * x->n_planes + q].most = UINT32_MAX;
	return OSR_OK;
}

/* Class by class; false if one finds no plane left that it may have. */
static bool fine(struct chooser *x)
{
	memset(x->taken, 0, x->n_planes * sizeof(*x->taken));
	for (uint32_t c = 0; c < x->n_classes; c++) {
		const struct cost *best = NULL;

		for (uint32_t q = 0; q < x->n_planes; q++) {
			const struct cost *cost = &x->cost[(size_t)c * x->n_planes + q];

			if (x->taken[q] || cost->most == UINT32_MAX ||
			    (best && !cheaper(cost, best)))
				continue;
			best = cost;
			x->plane_of[c] = q;
		}
		if (!best)
			return false;
		x->taken[x->plane_of[c]] = true;
	}
	return true;
}

static void as_is(struct chooser *x)
{
	for (uint32_t c = 0; c < x->n_planes; c++)
		x->plane_of[c] = c;
}

enum osr_status osr__choose(const struct osr__group *group, const uint32_t *load,
			    enum osr_key_choice choice, struct osr_arena *scratch,
			    uint32_t *plane_of)
{
	struct osr_arena_mark mark = osr_arena_mark(scratch);
	uint32_t n_planes = group->demand.n_planes;
	struct chooser x = { group->n_classes, n_planes, NULL, plane_of, NULL };
	enum osr_status st = OSR_OK;

	as_is(&x);
	if (choice == OSR_KEY_AS_IS || !x.n_classes)
		return OSR_OK;
	x.cost = osr_calloc(scratch, (size_t)x.n_classes * n_planes, sizeof(*x.cost));
	x.taken = osr_alloc(scratch, n_planes, sizeof(*x.taken));
	if (!x.cost || !x.taken)
		st = OSR_NOMEM;
	if (!st)
		st = fill_costs(&x, group, load, scratch);
	/* Where cables are missing, class c was made for plane c, which it can always have. */
	if (!st && !fine(&x))
		as_is(&x);
	osr_arena_reset(scratch, mark);
	return st;
}

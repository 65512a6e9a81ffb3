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

enum osr_status osr__choose(const struct osr__group *group, const uint32_t *load,
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

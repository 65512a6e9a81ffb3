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

static const struct cost *choose_cost_of(const struct chooser *x, uint32_t class, uint32_t plane)
{
	return &x->cost[(size_t) class * x->n_planes + plane];
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

/* Shifts --------------------------------------------------------------------------------------- */

static struct cost cost_of_shift(const struct chooser *x, uint32_t shift)
{
	struct cost sum = { 0 };

	for (uint32_t c = 0; c < x->n_classes; c++) {
		const struct cost *one = choose_cost_of(x, c, (c + shift) % x->n_planes);

		sum.most = one->most > sum.most ? one->most : sum.most;
		sum.squares += one->squares;
		sum.plane += one->plane;
	}
	return sum;
}

static void best_shift(struct chooser *x)
{
	struct cost best = cost_of_shift(x, 0);
	uint32_t shift = 0;

	for (uint32_t s = 1; s < x->n_planes; s++) {
		struct cost cost = cost_of_shift(x, s);

		if (cheaper(&cost, &best)) {
			best = cost;
			shift = s;
		}
	}
	for (uint32_t c = 0; c < x->n_classes; c++)
		x->plane_of[c] = (c + shift) % x->n_planes;
}

/* Class by class; false if one finds no plane left that it may have. */
static bool fine(struct chooser *x)
{
	memset(x->taken, 0, x->n_planes * sizeof(*x->taken));
	for (uint32_t c = 0; c < x->n_classes; c++) {
		const struct cost *best = NULL;

		for (uint32_t q = 0; q < x->n_planes; q++) {
			const struct cost *cost = choose_cost_of(x, c, q);

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

/* The best map --------------------------------------------------------------------------------- */

/* Can every class have a plane of its own whose largest load is at most `most`? */
static enum osr_status choose_fits(const struct chooser *x, uint32_t most,
				   struct osr_arena *scratch, bool *yes)
{
	struct osr_arena_mark mark = osr_arena_mark(scratch);
	size_t n = (size_t)x->n_classes * x->n_planes;
	struct osr__edge *edge = osr_alloc(scratch, n, sizeof(*edge));
	struct osr__match m;
	uint32_t n_edges = 0;
	enum osr_status st = OSR_NOMEM;

	for (uint32_t c = 0; edge && c < x->n_classes; c++)
		for (uint32_t q = 0; q < x->n_planes; q++)
			if (choose_cost_of(x, c, q)->most <= most)
				edge[n_edges++] = (struct osr__edge){ c, q, 1 };
	if (edge)
		st = osr__match_init(&m, x->n_planes, edge, n_edges, scratch);
	if (!st) {
		osr__match_solve(&m);
		*yes = true;
		for (uint32_t c = 0; c < x->n_classes; c++)
			*yes &= m.mate_l[c] != OSR_NONE;
	}
	osr_arena_reset(scratch, mark);
	return st;
}

/* The least bound on the largest load that some map keeps, below `most`, which is kept by one. */
static enum osr_status bottleneck(const struct chooser *x, uint32_t *most,
				  struct osr_arena *scratch)
{
	uint32_t lo = 0, hi = *most;

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;
		bool yes;

		if (choose_fits(x, mid, scratch, &yes))
			return OSR_NOMEM;
		if (yes)
			hi = mid;
		else
			lo = mid + 1;
	}
	*most = lo;
	return OSR_OK;
}

#define FORBIDDEN (INT64_MAX / 4)

static int64_t choose_price(const struct chooser *x, uint32_t class, uint32_t plane, uint32_t most)
{
	const struct cost *c = choose_cost_of(x, class, plane);

	return c->most > most ? FORBIDDEN / 65536 : (int64_t)c->squares;
}

/*
 * The cheapest map whose largest load is `most`: shortest augmenting paths with potentials (the
 * Hungarian method; Jonker and Volgenant, Computing 38, 1987). O(classes^2 planes). Index 0 of the
 * arrays stands for "none".
 */
static enum osr_status cheapest_map(struct chooser *x, uint32_t most, struct osr_arena *scratch)
{
	uint32_t n = x->n_classes, m = x->n_planes;
	int64_t *u = osr_calloc(scratch, n + 1, sizeof(*u));
	int64_t *v = osr_calloc(scratch, m + 1, sizeof(*v));
	int64_t *least = osr_alloc(scratch, m + 1, sizeof(*least));
	uint32_t *class_at = osr_calloc(scratch, m + 1, sizeof(*class_at));
	uint32_t *way = osr_calloc(scratch, m + 1, sizeof(*way));
	bool *used = osr_alloc(scratch, m + 1, sizeof(*used));

	if (osr_arena_failed(scratch, NULL))
		return OSR_NOMEM;
	for (uint32_t i = 1; i <= n; i++) {
		uint32_t q = 0;

		class_at[0] = i;
		memset(used, 0, (m + 1) * sizeof(*used));
		for (uint32_t j = 0; j <= m; j++)
			least[j] = FORBIDDEN;
		do {
			int64_t delta = FORBIDDEN;
			uint32_t c = class_at[q], to = 0;

			used[q] = true;
			for (uint32_t j = 1; j <= m; j++) {
				int64_t cost;

				if (used[j])
					continue;
				cost = choose_price(x, c - 1, j - 1, most) - u[c] - v[j];
				if (cost < least[j]) {
					least[j] = cost;
					way[j] = q;
				}
				if (least[j] < delta) {
					delta = least[j];
					to = j;
				}
			}
			for (uint32_t j = 0; j <= m; j++)
				if (used[j]) {
					u[class_at[j]] += delta;
					v[j] -= delta;
				} else {
					least[j] -= delta;
				}
			q = to;
		} while (class_at[q]);
		for (; q; q = way[q])
			class_at[q] = class_at[way[q]];
	}
	for (uint32_t j = 1; j <= m; j++)
		if (class_at[j])
			x->plane_of[class_at[j] - 1] = j - 1;
	return OSR_OK;
}

/* After fine(), which bounds the largest load from above. */
static enum osr_status best_map(struct chooser *x, struct osr_arena *scratch)
{
	uint32_t most = 0;

	for (uint32_t c = 0; c < x->n_classes; c++)
		if (choose_cost_of(x, c, x->plane_of[c])->most > most)
			most = choose_cost_of(x, c, x->plane_of[c])->most;
	if (bottleneck(x, &most, scratch))
		return OSR_NOMEM;
	return cheapest_map(x, most, scratch);
}

static void as_is(struct chooser *x)
{
	for (uint32_t c = 0; c < x->n_planes; c++)
		x->plane_of[c] = c;
}

static bool is_allowed(const struct chooser *x)
{
	for (uint32_t c = 0; c < x->n_classes; c++)
		if (choose_cost_of(x, c, x->plane_of[c])->most == UINT32_MAX)
			return false;
	return true;
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
	if (!st && choice == OSR_KEY_SHIFT)
		best_shift(&x);
	else if (!st && !fine(&x))
		as_is(&x);
	else if (!st && choice == OSR_KEY_BEST)
		st = best_map(&x, scratch);
	/* Where cables are missing, class c was made for plane c, which it can always have. */
	if (!st && !is_allowed(&x))
		as_is(&x);
	osr_arena_reset(scratch, mark);
	return st;
}

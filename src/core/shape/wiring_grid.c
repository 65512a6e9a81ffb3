/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Tori, meshes, hypercubes. A cable of a grid closes a square with each cable of another dimension, and no
 * triangle unless a ring has three switches; a cable that leads astray closes few squares or none. Those are
 * left aside, grid.h finds the places of the rest, and every place says which neighbours it wants.
 */
#include "wiring_private.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <osmroutes/grid.h>

#define MAX_DROPS 24     /* cables left aside */
#define MAX_SUSPECTS 128 /* tried one by one where that does not help */

/* Squares u - x - y - v over this cable, counted by x. */
static uint32_t count_squares(const struct wiring_graph *graph, uint32_t u, uint32_t v)
{
	uint32_t n = 0;

	for (uint32_t i = graph->row[u]; i < graph->end[u]; i++) {
		uint32_t x = graph->near[i];

		for (uint32_t j = graph->row[v]; j < graph->end[v] && x != v; j++) {
			uint32_t y = graph->near[j];

			if (y == u || y == x || osr__wiring_edge(graph, x, y) == OSR_NONE)
				continue;
			n++;
			break;
		}
	}
	return n;
}

struct wiring_grid {
	struct wiring_graph g; /* a copy, from which cables are removed */
	uint8_t *keep;         /* [edges of the whole graph] */
};

/* Other cables at u that close no square with the one to v: in a grid at most one, the one straight on. */
static uint32_t count_open(const struct wiring_graph *graph, uint32_t u, uint32_t v)
{
	return graph->end[u] - graph->row[u] - 1 - count_squares(graph, u, v);
}

/* The cable with most of them at both ends, if that is more than a grid's have. */
static uint32_t wiring_grid_find_worst(const struct wiring_graph *graph)
{
	uint32_t worst = OSR_NONE, most = 2;

	for (uint32_t u = 0; u < graph->f->n_switches; u++)
		for (uint32_t e = graph->row[u]; e < graph->end[u]; e++) {
			uint32_t v = graph->near[e], n;

			if (u > v)
				continue;
			n = count_open(graph, u, v) + count_open(graph, v, u);
			if (n > most) {
				most = n;
				worst = e;
			}
		}
	return worst;
}

static void drop_half(struct wiring_graph *graph, uint32_t u, uint32_t v)
{
	uint32_t e = osr__wiring_edge(graph, u, v);

	for (graph->end[u]--; e < graph->end[u]; e++) {
		graph->near[e] = graph->near[e + 1];
		graph->mult[e] = graph->mult[e + 1];
	}
}

static uint32_t wiring_grid_near_end(const struct wiring_graph *graph, uint32_t e)
{
	uint32_t u = 0;

	while (e >= graph->row[u + 1])
		u++;
	return u;
}

static void wiring_grid_drop(struct wiring_grid *grid, const struct wiring_graph *whole, uint32_t e)
{
	uint32_t u = wiring_grid_near_end(&grid->g, e), v = grid->g.near[e];

	drop_half(&grid->g, u, v);
	drop_half(&grid->g, v, u);
	grid->keep[osr__wiring_edge(whole, u, v)] = grid->keep[osr__wiring_edge(whole, v, u)] = 0;
}

/* No cable is left that fits worse than one beside a missing cable may. */
static bool wiring_grid_is_plain(const struct wiring_graph *graph, uint32_t e)
{
	uint32_t u = wiring_grid_near_end(graph, e), v = graph->near[e];

	return count_open(graph, u, v) <= 2 && count_open(graph, v, u) <= 2;
}

static bool are_near(const struct osr_grid *grid, uint32_t u, uint32_t v)
{
	uint32_t n = 2 * grid->shape.n_dims;

	for (uint32_t k = 0; k < n; k++)
		if (grid->near[(size_t)u * n + k] == v)
			return true;
	return false;
}

/* The switch at a place, by coordinates. */
static uint32_t at_place(const struct osr_grid *grid, const uint32_t *place, const uint16_t *coord)
{
	uint32_t at = 0;

	for (uint32_t i = grid->shape.n_dims; i-- > 0;)
		at = at * grid->shape.size[i] + coord[i];
	return place[at];
}

/* The neighbour in direction k, up or down a dimension, whether a cable leads there or not; OSR_NONE at an end. */
static uint32_t wanted(const struct osr_grid *grid, const uint32_t *place, uint32_t u, uint32_t k)
{
	uint32_t i = k / 2, size = grid->shape.size[i];
	uint16_t coord[OSR_GRID_MAX_DIMS];

	memcpy(coord, grid->coord + (size_t)u * grid->shape.n_dims,
	       grid->shape.n_dims * sizeof(*coord));
	if (!grid->shape.ring[i] && (k % 2 ? coord[i] == 0 : coord[i] + 1u == size))
		return OSR_NONE;
	coord[i] = (uint16_t)((coord[i] + (k % 2 ? size - 1 : 1)) % size);
	return at_place(grid, place, coord);
}

static uint32_t wiring_grid_usual_cables(const struct wiring_graph *graph)
{
	uint32_t histogram[256] = { 0 };

	for (uint32_t e = 0; e < graph->row[graph->f->n_switches]; e++)
		if (graph->mult[e] < 256)
			histogram[graph->mult[e]]++;
	return osr__wiring_mode(histogram);
}

static void compare_grid(const struct wiring_graph *graph, const struct osr_grid *grid,
			 const uint32_t *place, struct wiring_diff *diff)
{
	uint32_t n = graph->f->n_switches, p = wiring_grid_usual_cables(graph);

	for (uint32_t u = 0; u < n && !diff->full; u++) {
		for (uint32_t k = 0; k < 2 * grid->shape.n_dims; k++) {
			uint32_t v = wanted(grid, place, u, k), has;

			if (v == OSR_NONE || u >= v ||
			    (k % 2 && v == wanted(grid, place, u, k - 1)))
				continue;
			has = wiring_mult(graph, u, v);
			if (has < p)
				wiring_lacks(diff, u, v, p - has);
			else
				wiring_too_many(diff, u, v, has - p);
		}
		for (uint32_t e = graph->row[u]; e < graph->row[u + 1]; e++) {
			uint32_t v = graph->near[e];
			bool near = are_near(grid, u, v);

			for (uint32_t k = 0; k < 2 * grid->shape.n_dims && !near; k++)
				near = wanted(grid, place, u, k) == v;
			if (u < v && !near)
				wiring_too_many(diff, u, v, graph->mult[e]);
		}
	}
}

static uint32_t *find_places(const struct wiring_graph *graph, const struct osr_grid *grid,
			     struct osr_arena *scratch)
{
	uint32_t *place = osr_alloc(scratch, (size_t)grid->n_places + 1, sizeof(*place));
	uint32_t n_dims = grid->shape.n_dims;

	if (!place)
		return NULL;
	memset(place, 0xff, grid->n_places * sizeof(*place));
	for (uint32_t s = 0; s < graph->f->n_switches; s++) {
		uint32_t at = 0;

		if (grid->coord[(size_t)s * n_dims] == OSR_NO_PLACE)
			continue;
		for (uint32_t i = n_dims; i-- > 0;)
			at = at * grid->shape.size[i] + grid->coord[(size_t)s * n_dims + i];
		place[at] = s;
	}
	return place;
}

/* Each two dimensions of 2 make a ring of 4, which is what those who build tori say; false: there are none. */
static bool wiring_grid_fold(struct osr_grid_shape *shape)
{
	uint32_t n = 0, two = OSR_NONE, n_dims = shape->n_dims;

	for (uint32_t i = 0; i < n_dims; i++) {
		if (shape->size[i] == 2 && two != OSR_NONE) {
			shape->size[two] = 4;
			two = OSR_NONE;
			continue;
		}
		two = shape->size[i] == 2 ? n : two;
		shape->size[n++] = shape->size[i];
	}
	shape->n_dims = n;
	return n < n_dims;
}

static const char *wiring_grid_sizes(const struct osr_grid_shape *shape, char text[72])
{
	uint32_t used = 0;

	for (uint32_t i = 0; i < shape->n_dims && used < 72; i++)
		used += (uint32_t)snprintf(text + used, 72 - used, "%s%u", i ? "x" : "",
					   shape->size[i]);
	return text;
}

static void wiring_grid_describe(const struct osr_grid *grid, char plan[160])
{
	struct osr_grid_shape folded = grid->shape;
	bool ring = false, line = false;
	char names[2][72];

	for (uint32_t i = 0; i < grid->shape.n_dims; i++) {
		ring |= grid->shape.ring[i];
		line |= !grid->shape.ring[i] && grid->shape.size[i] > 2;
	}
	if (grid->shape.n_dims == 1 && grid->shape.size[0] == 2) {
		snprintf(plan, 160, "two switches, joined");
		return;
	}
	if (!line && wiring_grid_fold(&folded)) {
		snprintf(plan, 160, "torus %s (or %s)", wiring_grid_sizes(&folded, names[0]),
			 wiring_grid_sizes(&grid->shape, names[1]));
		return;
	}
	snprintf(plan, 160, "%s %s",
		 ring && line ? "torus and mesh"
		 : line       ? "mesh"
			      : "torus",
		 wiring_grid_sizes(&grid->shape, names[0]));
}

static enum osr_status try_grid(const struct wiring_graph *graph, const uint8_t *keep,
				struct osr_arena *scratch, struct wiring_diff *diff, char plan[160],
				struct osr_diag *diag)
{
	struct osr_fabric fabric;
	struct osr_grid grid;
	uint32_t *place;
	enum osr_status st = osr__wiring_subfabric(graph, keep, NULL, 0, scratch, &fabric, diag);

	if (!st)
		st = osr_grid_find(&fabric, NULL, scratch, scratch, &grid, diag);
	if (st)
		return st;
	if (grid.n_placed != fabric.n_switches)
		return osr_fail(diag, OSR_NOT_APPLICABLE,
				"no torus or mesh: %u switches have no place",
				fabric.n_switches - grid.n_placed);
	place = find_places(graph, &grid, scratch);
	if (!place)
		return osr_fail(diag, OSR_NOMEM, "out of memory for %u switches",
				fabric.n_switches);
	compare_grid(graph, &grid, place, diff);
	wiring_grid_describe(&grid, plan);
	return OSR_OK;
}

static enum osr_status wiring_grid_new_diff(const struct wiring_diff *like,
					    struct osr_arena *scratch, struct wiring_diff *diff,
					    struct osr_diag *diag)
{
	*diff = (struct wiring_diff){ .room = like->room };
	diff->missing = osr_alloc(scratch, diff->room, sizeof(*diff->missing));
	diff->extra = osr_alloc(scratch, diff->room, sizeof(*diff->extra));
	return diff->missing && diff->extra
		       ? OSR_OK
		       : osr_fail(diag, OSR_NOMEM, "out of memory for %u cables", diff->room);
}

static enum osr_status wiring_grid_alloc(const struct wiring_graph *graph,
					 struct osr_arena *scratch, struct wiring_grid *grid,
					 struct osr_diag *diag)
{
	size_t n = graph->f->n_switches, n_edges = (size_t)graph->row[n] + 1;

	grid->g = *graph;
	grid->g.end = osr_alloc(scratch, n + 1, sizeof(*grid->g.end));
	grid->g.near = osr_alloc(scratch, n_edges, sizeof(*grid->g.near));
	grid->g.mult = osr_alloc(scratch, n_edges, sizeof(*grid->g.mult));
	grid->keep = osr_alloc(scratch, n_edges, sizeof(*grid->keep));
	if (!grid->g.end || !grid->g.near || !grid->g.mult || !grid->keep)
		return osr_fail(diag, OSR_NOMEM, "out of memory for %u cables", graph->n_cables);
	memset(grid->keep, 1, n_edges);
	return OSR_OK;
}

/* All but keep[]. */
static void wiring_grid_copy(const struct wiring_graph *graph, struct wiring_graph *copy)
{
	size_t n = graph->f->n_switches, n_edges = graph->row[n];

	memcpy(copy->end, graph->end, n * sizeof(*graph->end));
	memcpy(copy->near, graph->near, n_edges * sizeof(*graph->near));
	memcpy(copy->mult, graph->mult, n_edges * sizeof(*graph->mult));
}

struct grid_search {
	const struct wiring_graph *whole;
	struct osr_arena *scratch;
	struct wiring_diff *best;
	char *plan; /* [160] of the best */
};

/* Is there a plan of what is kept, with fewer differences than the best one so far? */
static enum osr_status try_kept(const struct grid_search *search, const uint8_t *keep,
				struct osr_diag *diag)
{
	struct osr_arena_mark mark = osr_arena_mark(search->scratch);
	struct wiring_diff *diff = search->best;
	struct wiring_diff now;
	char text[160];
	enum osr_status st = wiring_grid_new_diff(diff, search->scratch, &now, diag);

	if (!st)
		st = try_grid(search->whole, keep, search->scratch, &now, text, diag);
	if (!st && !now.full &&
	    (diff->full || now.n_missing + now.n_extra < diff->n_missing + diff->n_extra)) {
		memcpy(search->plan, text, sizeof(text));
		memcpy(diff->missing, now.missing, now.n_missing * sizeof(*now.missing));
		memcpy(diff->extra, now.extra, now.n_extra * sizeof(*now.extra));
		diff->n_missing = now.n_missing;
		diff->n_extra = now.n_extra;
		diff->full = false;
	}
	osr_arena_reset(search->scratch, mark);
	return st == OSR_NOT_APPLICABLE ? OSR_OK : st;
}

struct suspect {
	uint32_t edge, n_squares;
};

static int by_squares(const void *x, const void *y)
{
	const struct suspect *a = x, *b = y;

	if (a->n_squares != b->n_squares)
		return a->n_squares < b->n_squares ? -1 : 1;
	return (a->edge > b->edge) - (a->edge < b->edge);
}

/*
 * One cable may be hidden: it closes squares by chance, and those beside missing cables close fewer. Each is left
 * aside in turn, those with the fewest squares first.
 */
static enum osr_status try_suspects(const struct grid_search *search,
				    const struct wiring_grid *plain, struct wiring_grid *grid,
				    struct osr_diag *diag)
{
	const struct wiring_graph *graph = search->whole;
	size_t n_edges = graph->row[graph->f->n_switches];
	struct suspect *suspect = osr_alloc(search->scratch, n_edges + 1, sizeof(*suspect));
	uint32_t n = 0;
	enum osr_status st = OSR_OK;

	if (!suspect)
		return osr_fail(diag, OSR_NOMEM, "out of memory for %u cables", graph->n_cables);
	for (uint32_t u = 0; u < graph->f->n_switches; u++)
		for (uint32_t e = plain->g.row[u]; e < plain->g.end[u]; e++) {
			uint32_t v = plain->g.near[e];

			if (u < v)
				suspect[n++] = (struct suspect){ e, count_squares(&plain->g, u, v) +
									    count_squares(&plain->g,
											  v, u) };
		}
	qsort(suspect, n, sizeof(*suspect), by_squares);
	for (uint32_t i = 0; i < n && i < MAX_SUSPECTS && search->best->full && !st; i++) {
		wiring_grid_copy(&plain->g, &grid->g);
		memcpy(grid->keep, plain->keep, n_edges);
		wiring_grid_drop(grid, graph, suspect[i].edge);
		st = try_kept(search, grid->keep, diag);
	}
	return st;
}

enum osr_status osr__wiring_grid(const struct wiring_graph *graph, struct osr_arena *scratch,
				 struct wiring_diff *diff, char plan[160], struct osr_diag *diag)
{
	const struct grid_search search = {
		.whole = graph, .scratch = scratch, .best = diff, .plan = plan
	};
	struct wiring_grid grid = { .keep = NULL }, plain = { .keep = NULL };
	enum osr_status st = wiring_grid_alloc(graph, scratch, &grid, diag);
	uint32_t n_after = 0, worst = 0;
	bool is_plain = false;

	for (uint32_t s = 0; s < graph->f->n_switches && !st; s++)
		if (graph->end[s] - graph->row[s] > 2 * OSR_GRID_MAX_DIMS + 4)
			return osr_fail(diag, OSR_NOT_APPLICABLE,
					"no torus or mesh: a switch has %u neighbours",
					graph->end[s] - graph->row[s]);
	if (!st)
		st = wiring_grid_alloc(graph, scratch, &plain, diag);
	if (!st)
		wiring_grid_copy(graph, &grid.g);
	diff->full = true;
	/* Some more are removed after the first success: another plan may differ less. */
	for (uint32_t i = 0; i < MAX_DROPS && n_after < 3 && !st; i++) {
		st = try_kept(&search, grid.keep, diag);
		n_after += !diff->full;
		worst = wiring_grid_find_worst(&grid.g);
		if (!is_plain && (worst == OSR_NONE || wiring_grid_is_plain(&grid.g, worst))) {
			is_plain = true;
			wiring_grid_copy(&grid.g, &plain.g);
			memcpy(plain.keep, grid.keep, graph->row[graph->f->n_switches]);
		}
		if (worst == OSR_NONE)
			break;
		wiring_grid_drop(&grid, graph, worst);
	}
	if (!st && diff->full && is_plain)
		st = try_suspects(&search, &plain, &grid, diag);
	if (st)
		return st;
	return diff->full ? OSR_NOT_APPLICABLE : OSR_OK;
}

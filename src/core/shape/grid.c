/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * See grid.h. From the outside in:
 *	osr_grid_find()		edges, seeds, and for each seed that bears labels:
 *	fold()			labels become coordinates; a ring of 4 becomes two lines of 2
 *	take_frame()		the given frame, if it fits; else
 *	choose_frame()		the one that follows from the lowest GUIDs
 *	place_rest()		switches that no row reached, by their neighbours
 *	verify()		nothing was assumed so far that is not checked here
 *	list_channels()		channels by direction
 */
#include "grid_private.h"

#include <stdio.h>
#include <string.h>

#define MAX_SEEDS 12
#define MORE_SEEDS 96 /* where so many bear no grid */

static enum osr_status no(const struct grid_work *w, const char *why)
{
	return osr_fail(w->diag, OSR_NOT_APPLICABLE, "not a torus or mesh: %s", why);
}

static enum osr_status nomem(struct osr_diag *diag)
{
	return osr_fail(diag, OSR_NOMEM, "out of memory for the coordinates of the switches");
}

static uint16_t *coord_of(const struct grid_work *w, uint32_t v)
{
	return w->coord + (size_t)v * MAX_DIMS;
}

static bool has_place(const struct grid_work *w, uint32_t v)
{
	return coord_of(w, v)[0] != OSR_NO_PLACE;
}

/* ---- edges ----------------------------------------------------------------------------------- */

static enum osr_status find_edges(struct grid_work *w, struct osr_arena *scratch)
{
	const struct osr_fabric *f = w->f;
	uint32_t n = 0, *mark = osr_alloc(scratch, f->n_switches, sizeof(*mark));

	w->row = osr_alloc(scratch, (size_t)f->n_switches + 1, sizeof(*w->row));
	w->adj = osr_alloc(scratch, f->n_channels, sizeof(*w->adj));
	w->edge_dir = osr_alloc(scratch, f->n_channels, 1);
	if (!mark || !w->row || !w->adj || !w->edge_dir)
		return nomem(w->diag);
	memset(mark, 0xff, f->n_switches * sizeof(*mark));
	for (uint32_t v = 0; v < f->n_switches; v++) {
		w->row[v] = n;
		for (uint32_t c = f->chan_row[v]; c < f->chan_row[v + 1]; c++) {
			if (mark[f->chan_dst[c]] == v)
				continue;
			mark[f->chan_dst[c]] = v;
			w->adj[n++] = f->chan_dst[c];
		}
		if (n - w->row[v] > MAX_DIRS)
			return no(w, "a switch has cables to more than 24 others");
	}
	w->row[f->n_switches] = n;
	if (!n)
		return no(w, "there is no cable between switches");
	return OSR_OK;
}

static enum osr_status allocate(struct grid_work *w, struct osr_arena *scratch)
{
	size_t n = w->f->n_switches;

	w->label = osr_alloc(scratch, n * MAX_DIMS, sizeof(*w->label));
	w->coord = osr_alloc(scratch, n * MAX_DIMS, sizeof(*w->coord));
	w->near = osr_alloc(scratch, n * MAX_DIRS, sizeof(*w->near));
	w->placed = osr_alloc(scratch, n, sizeof(*w->placed));
	w->n_open = osr_alloc(scratch, n, 1);
	w->square = osr_alloc(scratch, n, sizeof(*w->square));
	w->straight = osr_alloc(scratch, n, sizeof(*w->straight));
	w->in_square = osr_alloc(scratch, n, sizeof(*w->in_square));
	w->in_straight = osr_alloc(scratch, n, sizeof(*w->in_straight));
	w->have = osr_alloc(scratch, MAX_DIRS * (2 * n + 1), sizeof(*w->have));
	w->lack = osr_alloc(scratch, MAX_DIRS * (2 * n + 1), sizeof(*w->lack));
	if (!w->label || !w->coord || !w->near || !w->placed || !w->n_open || !w->square ||
	    !w->straight || !w->in_square || !w->in_straight || !w->have || !w->lack)
		return nomem(w->diag);
	return OSR_OK;
}

static uint32_t main_component(const struct osr_fabric *f)
{
	uint32_t best = 0, best_n = 0;

	for (uint32_t k = 0; k < f->n_components; k++) {
		uint32_t n = 0;

		for (uint32_t v = 0; v < f->n_switches; v++)
			n += f->sw_component[v] == k;
		if (n > best_n) {
			best = k;
			best_n = n;
		}
	}
	return best;
}

/* ---- coordinates ----------------------------------------------------------------------------- */

/* A ring of 4 is two lines of 2: 0 1 2 3 become 00 10 11 01. */
static bool split_fours(struct grid_work *w)
{
	struct osr_grid_shape *s = &w->shape;

	for (uint32_t i = 0; i < s->n_dims; i++) {
		if (!s->ring[i] || s->size[i] != 4)
			continue;
		if (s->n_dims == MAX_DIMS)
			return false;
		s->ring[i] = s->ring[s->n_dims] = false;
		s->size[i] = s->size[s->n_dims] = 2;
		for (uint32_t v = 0; v < w->f->n_switches; v++) {
			uint16_t *x = coord_of(w, v);

			if (x[0] == OSR_NO_PLACE)
				continue;
			x[s->n_dims] = x[i] / 2;
			x[i] = x[i] == 1 || x[i] == 2;
		}
		s->n_dims++;
	}
	return true;
}

/* Labels modulo the rings, or counted from the lowest. False if a size is out of bounds. */
static bool fold(struct grid_work *w)
{
	int32_t lo[MAX_DIMS] = { 0 }, hi[MAX_DIMS] = { 0 };

	for (uint32_t v = 0; v < w->f->n_switches; v++)
		for (uint32_t i = 0; i < w->n_dims && w->placed[v]; i++) {
			int32_t x = w->label[(size_t)v * MAX_DIMS + i];

			lo[i] = x < lo[i] ? x : lo[i];
			hi[i] = x > hi[i] ? x : hi[i];
		}
	w->shape = (struct osr_grid_shape){ .n_dims = w->n_dims };
	for (uint32_t i = 0; i < w->n_dims; i++) {
		uint32_t size = w->period[i] ? w->period[i] : (uint32_t)(hi[i] - lo[i] + 1);

		if (size < (w->period[i] ? 3 : 2) || size > w->f->n_switches + 1)
			return false;
		w->shape.ring[i] = w->period[i] != 0;
		w->shape.size[i] = (uint16_t)size;
	}
	for (uint32_t v = 0; v < w->f->n_switches; v++)
		for (uint32_t i = 0; i < w->n_dims; i++) {
			int32_t n = w->shape.size[i];
			int32_t x = w->label[(size_t)v * MAX_DIMS + i] - lo[i];

			coord_of(w, v)[i] = w->placed[v] ? (uint16_t)(x % n) : OSR_NO_PLACE;
		}
	return split_fours(w);
}

/* ---- the frame ------------------------------------------------------------------------------- */

/* How dimension `to` of a new frame is read off dimension `from` of the old one. */
struct axis {
	uint32_t from;
	bool flip;
	uint32_t shift;
};

static void turn(struct grid_work *w, const struct osr_grid_shape *shape, const struct axis *axis)
{
	uint16_t x[MAX_DIMS];

	for (uint32_t v = 0; v < w->f->n_switches; v++) {
		uint16_t *at = coord_of(w, v);

		if (at[0] == OSR_NO_PLACE)
			continue;
		memcpy(x, at, sizeof(x));
		for (uint32_t i = 0; i < shape->n_dims; i++) {
			uint32_t n = shape->size[i], c = x[axis[i].from] % n;

			c = axis[i].flip ? n - c : c;
			at[i] = (uint16_t)((c + axis[i].shift) % n);
		}
	}
	w->shape = *shape;
}

/* The shift that most switches known to the frame agree on, and how many do. */
static uint32_t vote(const struct grid_work *w, const struct osr_grid_frame *frame,
		     const uint32_t *known, uint32_t to, struct axis *axis, uint32_t *count)
{
	uint32_t n = frame->shape.size[to], dims = frame->shape.n_dims, best = 0;

	memset(count, 0, n * sizeof(*count));
	for (uint32_t v = 0; v < w->f->n_switches; v++) {
		uint32_t c;

		if (known[v] == OSR_NONE || !has_place(w, v))
			continue;
		c = coord_of(w, v)[axis->from] % n;
		c = axis->flip ? n - c : c;
		count[(frame->coord[(size_t)known[v] * dims + to] + n - c % n) % n]++;
	}
	for (uint32_t k = 1; k < n; k++)
		if (count[k] > count[best])
			best = k;
	axis->shift = best;
	return count[best];
}

static bool may_be(const struct osr_grid_shape *found, uint32_t from,
		   const struct osr_grid_shape *want, uint32_t to)
{
	if (found->ring[from])
		return want->ring[to] && found->size[from] == want->size[to];
	/* A line may be what is left of a longer one, or of a ring. */
	return found->size[from] <= want->size[to];
}

/* Rows of `guid` (ascending) by switch. */
static void look_up(const struct osr_fabric *f, const struct osr_grid_frame *frame, uint32_t *known)
{
	uint32_t k = 0;

	for (uint32_t v = 0; v < f->n_switches; v++) {
		while (k < frame->n && frame->guid[k] < f->sw_guid[v])
			k++;
		known[v] = k < frame->n && frame->guid[k] == f->sw_guid[v] &&
					   frame->coord[(size_t)k * frame->shape.n_dims] !=
						   OSR_NO_PLACE
				   ? k
				   : OSR_NONE;
	}
}

/* True if every switch that the frame knows is where it was, but for one in eight. */
static enum osr_status take_frame(struct grid_work *w, const struct osr_grid_frame *frame,
				  struct osr_arena *scratch, bool *taken)
{
	uint32_t n = w->f->n_switches, n_known = 0, used = 0;
	uint32_t *known = osr_alloc(scratch, n, sizeof(*known));
	uint32_t *count = osr_alloc(scratch, UINT16_MAX + 1, sizeof(*count));
	struct axis axis[MAX_DIMS] = { { 0 } };

	*taken = false;
	if (!known || !count)
		return nomem(w->diag);
	look_up(w->f, frame, known);
	for (uint32_t v = 0; v < n; v++)
		n_known += known[v] != OSR_NONE && has_place(w, v);
	if (!n_known || frame->shape.n_dims != w->shape.n_dims)
		return OSR_OK;
	for (uint32_t to = 0; to < frame->shape.n_dims; to++) {
		uint32_t best = 0;

		for (uint32_t k = 0; k < 2 * w->shape.n_dims; k++) {
			struct axis a = { .from = k / 2, .flip = k % 2 };
			uint32_t votes;

			if (used >> a.from & 1 || !may_be(&w->shape, a.from, &frame->shape, to))
				continue;
			votes = vote(w, frame, known, to, &a, count);
			if (votes > best) {
				best = votes;
				axis[to] = a;
			}
		}
		if (best * 8 < n_known * 7 || !best)
			return OSR_OK;
		used |= 1u << axis[to].from;
	}
	turn(w, &frame->shape, axis);
	*taken = true;
	return OSR_OK;
}

static uint32_t first_placed(const struct grid_work *w)
{
	uint32_t v = 0;

	while (!has_place(w, v))
		v++;
	return v;
}

/*
 * The switch of the lowest GUID is the origin of rings, and lies in the lower half of lines; the
 * lowest one that can tell decides which way a ring rises.
 */
static struct axis choose_axis(const struct grid_work *w, uint32_t i)
{
	uint32_t n = w->shape.size[i], origin = coord_of(w, first_placed(w))[i];
	bool ring = w->shape.ring[i];

	for (uint32_t v = 0; v < w->f->n_switches; v++) {
		uint32_t x;

		if (!has_place(w, v))
			continue;
		x = coord_of(w, v)[i];
		x = ring ? 2 * ((x + n - origin) % n) : 2 * x + 1;
		if ((ring && x == 0) || x == n)
			continue;
		if (x < n)
			break;
		return (struct axis){ i, true, ring ? origin : n - 1 };
	}
	return (struct axis){ i, false, ring ? n - origin : 0 };
}

/* Rings first, then longer ones, then that in which the first switch to differ is further on. */
static bool comes_before(const struct grid_work *w, uint32_t i, uint32_t j)
{
	const struct osr_grid_shape *s = &w->shape;

	if (s->ring[i] != s->ring[j])
		return s->ring[i];
	if (s->size[i] != s->size[j])
		return s->size[i] > s->size[j];
	for (uint32_t v = 0; v < w->f->n_switches; v++)
		if (has_place(w, v) && coord_of(w, v)[i] != coord_of(w, v)[j])
			return coord_of(w, v)[i] < coord_of(w, v)[j];
	return i < j;
}

static void choose_frame(struct grid_work *w)
{
	struct osr_grid_shape s = w->shape, sorted = { .n_dims = s.n_dims };
	struct axis axis[MAX_DIMS] = { { 0 } }, by_rank[MAX_DIMS] = { { 0 } };

	for (uint32_t i = 0; i < s.n_dims; i++)
		axis[i] = choose_axis(w, i);
	turn(w, &s, axis);
	for (uint32_t i = 0; i < s.n_dims; i++) {
		uint32_t rank = 0;

		for (uint32_t j = 0; j < s.n_dims; j++)
			rank += i != j && comes_before(w, j, i);
		by_rank[rank] = (struct axis){ .from = i };
		sorted.size[rank] = s.size[i];
		sorted.ring[rank] = s.ring[i];
	}
	turn(w, &sorted, by_rank);
}

/* ---- switches that no row reached ------------------------------------------------------------ */

static uint32_t place_of(const struct osr_grid_shape *s, const uint16_t *x)
{
	uint32_t place = 0;

	for (uint32_t i = 0; i < s->n_dims; i++)
		place = place * s->size[i] + x[i];
	return place;
}

/* One step from x; false at the end of a line. */
static bool step(const struct osr_grid_shape *s, uint16_t *x, uint32_t dir)
{
	uint32_t i = dir / 2, n = s->size[i];

	if (!s->ring[i] && x[i] == (dir % 2 ? 0 : n - 1))
		return false;
	x[i] = (uint16_t)((x[i] + (dir % 2 ? n - 1 : 1)) % n);
	return true;
}

/* Which step leads from x to y; NO_DIR if none does. */
static uint32_t step_between(const struct osr_grid_shape *s, const uint16_t *x, const uint16_t *y)
{
	uint32_t dir = NO_DIR;

	for (uint32_t i = 0; i < s->n_dims; i++) {
		uint32_t n = s->size[i], gap = (y[i] + n - x[i]) % n;

		if (!gap)
			continue;
		if (dir != NO_DIR)
			return NO_DIR;
		if (gap == 1 && (s->ring[i] || x[i] + 1u < n))
			dir = 2 * i;
		else if (gap == n - 1 && (s->ring[i] || x[i]))
			dir = 2 * i + 1;
		else
			return NO_DIR;
	}
	return dir;
}

static bool fits(const struct grid_work *w, uint32_t v, const uint16_t *x, const uint32_t *owner)
{
	if (owner[place_of(&w->shape, x)] != OSR_NONE)
		return false;
	for (uint32_t e = w->row[v]; e < w->row[v + 1]; e++)
		if (has_place(w, w->adj[e]) &&
		    step_between(&w->shape, x, coord_of(w, w->adj[e])) == NO_DIR)
			return false;
	return true;
}

/* Free places next to all neighbours of v that have one: how many, and the first. */
static uint32_t candidates(const struct grid_work *w, uint32_t v, const uint32_t *owner,
			   uint16_t *first)
{
	uint32_t n = 0, e = w->row[v];

	while (e < w->row[v + 1] && !has_place(w, w->adj[e]))
		e++;
	if (e == w->row[v + 1])
		return 0;
	for (uint32_t dir = 0; dir < 2 * w->shape.n_dims; dir++) {
		uint16_t x[MAX_DIMS];

		memcpy(x, coord_of(w, w->adj[e]), sizeof(x));
		if (!step(&w->shape, x, dir) || !fits(w, v, x, owner))
			continue;
		if (!n++)
			memcpy(first, x, sizeof(x));
	}
	return n;
}

/* The one with the fewest candidates first: often there is only one, and any that fits is right. */
static void place_rest(struct grid_work *w, uint32_t *owner)
{
	for (;;) {
		uint32_t best = OSR_NONE, fewest = MAX_DIRS + 1;
		uint16_t x[MAX_DIMS], at[MAX_DIMS] = { 0 };

		for (uint32_t v = 0; v < w->f->n_switches && fewest > 1; v++) {
			uint32_t n = has_place(w, v) ? 0 : candidates(w, v, owner, x);

			if (!n || n >= fewest)
				continue;
			fewest = n;
			best = v;
			memcpy(at, x, sizeof(at));
		}
		if (best == OSR_NONE)
			return;
		memcpy(coord_of(w, best), at, sizeof(at));
		owner[place_of(&w->shape, at)] = best;
	}
}

/* ---- what is checked ------------------------------------------------------------------------- */

static enum osr_status number_places(const struct grid_work *w, struct osr_grid *g)
{
	uint64_t n = 1;

	for (uint32_t i = 0; i < w->shape.n_dims; i++) {
		n *= w->shape.size[i];
		if (n / 4 * 3 > w->f->n_switches)
			return no(w, "too much of it is missing, if it is one");
	}
	g->n_places = (uint32_t)n;
	return OSR_OK;
}

/* Who is where; two at one place are a contradiction. */
static enum osr_status own_places(struct grid_work *w, uint32_t *owner, uint32_t n_places)
{
	char a[32], b[32];

	memset(owner, 0xff, n_places * sizeof(*owner));
	for (uint32_t v = 0; v < w->f->n_switches; v++) {
		uint32_t *o;

		if (!has_place(w, v))
			continue;
		o = &owner[place_of(&w->shape, coord_of(w, v))];
		if (*o != OSR_NONE)
			return osr_fail(w->diag, OSR_NOT_APPLICABLE,
					"not a torus or mesh: switches %s and %s would have the "
					"same coordinates",
					osr_switch_name(w->f, *o, a), osr_switch_name(w->f, v, b));
		*o = v;
	}
	return OSR_OK;
}

static void fill_near(const struct grid_work *w, struct osr_grid *g)
{
	uint32_t n_dirs = 2 * g->shape.n_dims;

	memset(g->near, 0xff, (size_t)w->f->n_switches * n_dirs * sizeof(*g->near));
	for (uint32_t v = 0; v < w->f->n_switches; v++)
		for (uint32_t e = w->row[v]; e < w->row[v + 1] && has_place(w, v); e++)
			g->near[(size_t)v * n_dirs +
				step_between(&w->shape, coord_of(w, v), coord_of(w, w->adj[e]))] =
				w->adj[e];
}

static enum osr_status verify(const struct grid_work *w, struct osr_grid *g, const uint32_t *owner)
{
	const struct osr_fabric *f = w->f;
	uint32_t main = f->sw_component[first_placed(w)], n_links = 0;
	char a[32], b[32];

	for (uint32_t v = 0; v < f->n_switches; v++) {
		if (!has_place(w, v)) {
			if (f->sw_component[v] == main)
				return osr_fail(w->diag, OSR_NOT_APPLICABLE,
						"not a torus or mesh: switch %s fits nowhere",
						osr_switch_name(f, v, a));
			continue;
		}
		g->n_placed++;
		for (uint32_t e = w->row[v]; e < w->row[v + 1]; e++)
			if (step_between(&w->shape, coord_of(w, v), coord_of(w, w->adj[e])) ==
			    NO_DIR)
				return osr_fail(w->diag, OSR_NOT_APPLICABLE,
						"not a torus or mesh: the cable between switches "
						"%s and %s runs askew",
						osr_switch_name(f, v, a),
						osr_switch_name(f, w->adj[e], b));
		for (uint32_t dir = 0; dir < 2 * w->shape.n_dims; dir += 2) {
			uint16_t x[MAX_DIMS];
			uint32_t u;

			memcpy(x, coord_of(w, v), sizeof(x));
			if (!step(&w->shape, x, dir))
				continue;
			u = owner[place_of(&w->shape, x)];
			if (u == OSR_NONE)
				continue;
			n_links++;
			g->n_dead_links += osr__grid_edge(w, v, u) == OSR_NONE;
		}
	}
	g->n_dead_switches = g->n_places - g->n_placed;
	if (4ull * g->n_dead_switches > g->n_places || 4ull * g->n_dead_links > n_links)
		return no(w, "too much of it is missing, if it is one");
	return OSR_OK;
}

/* Channels of each switch by direction. */
static enum osr_status list_channels(const struct grid_work *w, struct osr_grid *g,
				     struct osr_arena *result)
{
	const struct osr_fabric *f = w->f;
	uint32_t n_dirs = 2 * g->shape.n_dims, n = 0;

	g->hop_row = osr_alloc(result, (size_t)f->n_switches * (n_dirs + 1), sizeof(*g->hop_row));
	g->hop_list = osr_alloc(result, f->n_channels, 1);
	g->chan_dir = osr_alloc(result, f->n_channels, 1);
	if (!g->hop_row || !g->hop_list || !g->chan_dir)
		return nomem(w->diag);
	memset(g->chan_dir, NO_DIR, f->n_channels);
	for (uint32_t v = 0; v < f->n_switches; v++) {
		uint32_t first = f->chan_row[v];

		n = 0;
		for (uint32_t dir = 0; dir < n_dirs; dir++) {
			uint32_t u = osr_grid_near(g, v, dir);

			g->hop_row[(size_t)v * (n_dirs + 1) + dir] = (uint16_t)n;
			for (uint32_t c = first; c < f->chan_row[v + 1] && u != OSR_NONE; c++)
				if (f->chan_dst[c] == u) {
					g->hop_list[first + n++] = (uint8_t)(c - first);
					g->chan_dir[c] = (uint8_t)dir;
				}
		}
		g->hop_row[(size_t)v * (n_dirs + 1) + n_dirs] = (uint16_t)n;
	}
	return OSR_OK;
}

/* From coordinates, perhaps not of all switches, to a grid. */
static enum osr_status finish(struct grid_work *w, struct osr_arena *scratch,
			      struct osr_arena *result, struct osr_grid *g)
{
	size_t n = w->f->n_switches, n_dims = w->shape.n_dims;
	enum osr_status st;
	uint32_t *owner;

	*g = (struct osr_grid){ .f = w->f, .shape = w->shape };
	st = number_places(w, g);
	if (st)
		return st;
	owner = osr_alloc(scratch, g->n_places, sizeof(*owner));
	g->coord = osr_alloc(result, n * n_dims, sizeof(*g->coord));
	g->near = osr_alloc(result, n * 2 * n_dims, sizeof(*g->near));
	if (!owner || !g->coord || !g->near)
		return nomem(w->diag);
	st = own_places(w, owner, g->n_places);
	if (st)
		return st;
	place_rest(w, owner);
	st = verify(w, g, owner);
	if (st)
		return st;
	for (size_t v = 0; v < n; v++)
		memcpy(g->coord + v * n_dims, coord_of(w, (uint32_t)v), n_dims * sizeof(*g->coord));
	fill_near(w, g);
	return list_channels(w, g, result);
}

static enum osr_status settle(struct grid_work *w, const struct osr_grid_frame *frame,
			      struct osr_arena *scratch, struct osr_arena *result,
			      struct osr_grid *g)
{
	bool taken = false;
	enum osr_status st;

	if (!fold(w))
		return no(w, "its rows close in different ways");
	if (frame) {
		st = take_frame(w, frame, scratch, &taken);
		if (st)
			return st;
	}
	if (!taken)
		choose_frame(w);
	return finish(w, scratch, result, g);
}

/* Fewer places, then fewer cables that would have to be missing. */
static bool better(const struct osr_grid *a, const struct osr_grid *b)
{
	if (a->n_places != b->n_places)
		return a->n_places < b->n_places;
	return a->n_dead_links < b->n_dead_links;
}

/* From one seed; *g is replaced if this is the first grid or a better one. */
static enum osr_status try_seed(struct grid_work *w, uint32_t seed, bool doubts,
				const struct osr_grid_frame *frame, struct osr_arena *scratch,
				struct osr_arena *result, struct osr_grid *g)
{
	struct osr_grid trial;
	enum osr_status st;

	if (!osr__grid_grow(w, seed, doubts))
		return no(w, "its squares do not fit together");
	st = settle(w, frame, scratch, result, &trial);
	if (!st && (!g->f || better(&trial, g)))
		*g = trial;
	return st;
}

/* Seeds from all over the fabric: what is missing is in few places. */
static enum osr_status try_seeds(struct grid_work *w, uint32_t degree, uint32_t *n_left,
				 const struct osr_grid_frame *frame, struct osr_arena *scratch,
				 struct osr_arena *result, struct osr_grid *g)
{
	uint32_t n = w->f->n_switches, main = main_component(w->f), stride = n / MAX_SEEDS + 1;

	for (uint32_t k = 0; k < stride; k++)
		for (uint32_t v = k; v < n && *n_left; v += stride) {
			enum osr_status st;

			if (w->f->sw_component[v] != main || w->row[v + 1] - w->row[v] != degree)
				continue;
			st = try_seed(w, v, false, frame, scratch, result, g);
			if (st == OSR_NOT_APPLICABLE && w->planted)
				st = try_seed(w, v, true, frame, scratch, result, g);
			*n_left -= w->planted;
			if (st && st != OSR_NOT_APPLICABLE)
				return st;
			if (g->f && !g->n_dead_switches && !g->n_dead_links)
				return OSR_OK;
		}
	return g->f ? OSR_OK : OSR_NOT_APPLICABLE;
}

enum osr_status osr_grid_find(const struct osr_fabric *f, const struct osr_grid_frame *frame,
			      struct osr_arena *scratch, struct osr_arena *result,
			      struct osr_grid *g, struct osr_diag *diag)
{
	static const uint32_t rounds[] = { MAX_SEEDS, MORE_SEEDS };
	struct grid_work w = { .f = f, .diag = diag };
	uint32_t most = 0;
	enum osr_status st = find_edges(&w, scratch);

	if (!st)
		st = allocate(&w, scratch);
	if (st)
		return st;
	*g = (struct osr_grid){ 0 };
	st = no(&w, "its squares do not fit together");
	/* Switches of many cables first, since they know all dimensions. */
	for (uint32_t v = 0; v < f->n_switches; v++)
		if (w.row[v + 1] - w.row[v] > most)
			most = w.row[v + 1] - w.row[v];
	for (uint32_t k = 0; k < 2 && st == OSR_NOT_APPLICABLE; k++) {
		uint32_t n_left = rounds[k];

		for (uint32_t degree = most; degree && n_left && st == OSR_NOT_APPLICABLE; degree--)
			st = try_seeds(&w, degree, &n_left, frame, scratch, result, g);
	}
	if (!st && diag)
		diag->text[0] = 0;
	return st;
}

/* ---- grids as described ---------------------------------------------------------------------- */

/* Coordinates as listed; those of other switches follow from their neighbours. */
static enum osr_status take_list(struct grid_work *w, const struct osr_grid_frame *frame,
				 struct osr_arena *scratch)
{
	uint32_t n_dims = frame->shape.n_dims, n = 0;
	uint32_t *known = osr_alloc(scratch, w->f->n_switches, sizeof(*known));

	if (!known)
		return nomem(w->diag);
	look_up(w->f, frame, known);
	for (uint32_t v = 0; v < w->f->n_switches; v++) {
		uint16_t *x = coord_of(w, v);

		x[0] = OSR_NO_PLACE;
		if (known[v] == OSR_NONE)
			continue;
		n++;
		for (uint32_t i = 0; i < n_dims; i++)
			x[i] = frame->coord[(size_t)known[v] * n_dims + i];
	}
	if (!n)
		return osr_fail(w->diag, OSR_NOT_APPLICABLE,
				"the hints give coordinates of %u switches, but of none that is "
				"here",
				frame->n);
	w->shape = frame->shape;
	return split_fours(w) ? OSR_OK : no(w, "it would have more than 12 dimensions");
}

static enum osr_status take_ports(struct grid_work *w, const uint8_t *port_dir,
				  struct osr_arena *scratch)
{
	const struct osr_fabric *f = w->f;

	w->port_dir = osr_alloc(scratch, w->row[f->n_switches], 1);
	if (!w->port_dir)
		return nomem(w->diag);
	memset(w->port_dir, NO_DIR, w->row[f->n_switches]);
	for (uint32_t c = 0; c < f->n_channels; c++) {
		uint32_t v = f->chan_src[c], u = f->chan_dst[c], dir = port_dir[f->chan_port[c]];
		uint32_t e = osr__grid_edge(w, v, u), back = osr__grid_edge(w, u, v);
		char buf[32];

		if (dir == NO_DIR)
			continue;
		if ((w->port_dir[e] != NO_DIR && w->port_dir[e] != dir) ||
		    (w->port_dir[back] != NO_DIR && w->port_dir[back] != (dir ^ 1)))
			return osr_fail(w->diag, OSR_NOT_APPLICABLE,
					"the hints contradict the cable at switch %s port %u: its "
					"ends or those beside it lead in other directions",
					osr_switch_name(f, v, buf), f->chan_port[c]);
		w->port_dir[e] = (uint8_t)dir;
		w->port_dir[back] = (uint8_t)(dir ^ 1);
	}
	return OSR_OK;
}

/* Labels along the ports, folded into the given shape. */
static enum osr_status walk_ports(struct grid_work *w, const struct osr_grid_shape *shape)
{
	uint32_t seed = 0, main = main_component(w->f);
	struct osr_grid_shape folded = *shape;

	while (w->f->sw_component[seed] != main)
		seed++;
	w->n_dims = shape->n_dims;
	if (!osr__grid_walk(w, seed))
		return osr_fail(w->diag, OSR_NOT_APPLICABLE,
				"the hints contradict the cables: two ways along the ports lead "
				"to different coordinates");
	for (uint32_t i = 0; i < shape->n_dims; i++) {
		if (w->period[i] && (!shape->ring[i] || w->period[i] != shape->size[i]))
			return osr_fail(w->diag, OSR_NOT_APPLICABLE,
					"the hints say that dimension %u is a %s of %u, but along "
					"its ports it is a ring of %u",
					i + 1, shape->ring[i] ? "ring" : "line", shape->size[i],
					w->period[i]);
		/* A line is as long as said even if its ends are missing: count from the lowest. */
		if (shape->ring[i])
			w->period[i] = shape->size[i];
	}
	if (!fold(w))
		return no(w, "its rows close in different ways");
	/* fold() has split rings of 4; the described shape has to follow. */
	for (uint32_t i = 0; i < shape->n_dims; i++)
		if (!shape->ring[i] && w->shape.size[i] < shape->size[i])
			w->shape.size[i] = folded.size[i];
	return OSR_OK;
}

enum osr_status osr_grid_place(const struct osr_fabric *f, const struct osr_grid_frame *frame,
			       const uint8_t *port_dir, struct osr_arena *scratch,
			       struct osr_arena *result, struct osr_grid *g, struct osr_diag *diag)
{
	struct grid_work w = { .f = f, .diag = diag };
	enum osr_status st = find_edges(&w, scratch);

	if (!st)
		st = allocate(&w, scratch);
	if (!st && frame->n)
		st = take_list(&w, frame, scratch);
	else if (!st)
		st = take_ports(&w, port_dir, scratch);
	if (!st && !frame->n)
		st = walk_ports(&w, &frame->shape);
	if (!st && !frame->n)
		choose_frame(&w);
	return st ? st : finish(&w, scratch, result, g);
}

const char *osr_grid_name(const struct osr_grid_shape *s, char buf[64])
{
	uint32_t n_rings = 0, at = 0;

	for (uint32_t i = 0; i < s->n_dims; i++)
		n_rings += s->ring[i];
	at = (uint32_t)snprintf(buf, 64, "%s ", n_rings ? "torus" : "mesh");
	for (uint32_t i = 0; i < s->n_dims && at < 56; i++)
		at += (uint32_t)snprintf(buf + at, 64 - at, "%s%u%s", i ? "x" : "", s->size[i],
					 n_rings && !s->ring[i] && s->size[i] > 2 ? "m" : "");
	return buf;
}

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * See product.h. Recognition in four steps, each of which can say no:
 *	osr__neighbours()	parallel cables become one edge
 *	colour_edges()		an edge's colour is its dimension
 *	find_coords()		a coordinate is what the other colours connect
 *	order_factor()		each factor is a clique, a path or a ring
 */
#include <osmroutes/product.h>

#include <string.h>

#include <osmroutes/set.h>

#include "neighbours.h"

struct finder {
	const struct osr_fabric *f;
	struct osr_product *p;
	struct osr_diag *diag;
	uint32_t *row, *near; /* distinct neighbours: near[row[v]] .. near[row[v + 1] - 1] */
	uint8_t *colour;      /* of the edge to near[] */
	uint32_t *mark;       /* [n_switches] stamp */
	uint32_t stamp;
	uint32_t *parent; /* [n_switches] of the breadth-first search, then of union-find */
	uint32_t *queue;
	uint32_t n_colours;
	uint32_t *label; /* [n_switches] */
};

static enum osr_status no(struct finder *w, const char *why)
{
	return osr_fail(w->diag, OSR_NOT_APPLICABLE, "not a torus, mesh or HyperX: %s", why);
}

static void mark_near(struct finder *w, uint32_t v)
{
	w->stamp++;
	for (uint32_t e = w->row[v]; e < w->row[v + 1]; e++)
		w->mark[w->near[e]] = w->stamp;
}

/*
 * Around the first switch: two neighbours share a dimension if adjacent, or if they span no
 * square.
 */
static enum osr_status colour_root(struct finder *w)
{
	uint32_t first = w->row[0], degree = w->row[1] - first, set[256];

	osr_set_init(set, degree);
	for (uint32_t i = 0; i < degree; i++) {
		for (uint32_t j = i + 1; j < degree; j++) {
			uint32_t a = w->near[first + i], b = w->near[first + j], common = 0;

			mark_near(w, a);
			for (uint32_t e = w->row[b]; e < w->row[b + 1]; e++)
				common += w->mark[w->near[e]] == w->stamp;
			if (w->mark[b] == w->stamp || common == 1)
				osr_set_join(set, i, j);
			else if (common != 2)
				return no(w, "its squares do not fit together");
		}
	}
	for (uint32_t i = 0; i < degree; i++) {
		uint32_t top = osr_set_of(set, i);

		if (top == i && w->n_colours == OSR_MAX_DIMS)
			return no(w, "it would have more than 15 dimensions");
		if (top == i)
			w->colour[first + i] = (uint8_t)w->n_colours++;
	}
	for (uint32_t i = 0; i < degree; i++)
		w->colour[first + i] = w->colour[first + osr_set_of(set, i)];
	return OSR_OK;
}

static uint8_t colour_between(const struct finder *w, uint32_t a, uint32_t b)
{
	for (uint32_t e = w->row[a]; e < w->row[a + 1]; e++)
		if (w->near[e] == b)
			return w->colour[e];
	return 255;
}

/*
 * An edge v-u, seen from v's parent p: opposite to p-x in a square p, v, u, x it has the colour of
 * p-x; without a square, the colour of p-v.
 */
static void colour_switch(struct finder *w, uint32_t v)
{
	uint32_t p = w->parent[v];
	uint8_t own = colour_between(w, p, v);

	for (uint32_t e = w->row[v]; e < w->row[v + 1]; e++) {
		uint32_t u = w->near[e];

		w->colour[e] = own;
		if (u == p)
			continue;
		mark_near(w, u);
		if (w->mark[p] == w->stamp)
			continue; /* a triangle: p, v and u lie in one clique */
		for (uint32_t x = w->row[p]; x < w->row[p + 1]; x++)
			if (w->near[x] != v && w->mark[w->near[x]] == w->stamp)
				w->colour[e] = w->colour[x];
	}
}

static enum osr_status colour_edges(struct finder *w)
{
	uint32_t head = 0, tail = 0, n = w->f->n_switches;
	enum osr_status st = colour_root(w);

	if (st)
		return st;
	memset(w->parent, 0xff, n * sizeof(*w->parent));
	w->parent[0] = 0;
	w->queue[tail++] = 0;
	while (head < tail) {
		uint32_t v = w->queue[head++];

		if (v)
			colour_switch(w, v);
		for (uint32_t e = w->row[v]; e < w->row[v + 1]; e++) {
			uint32_t u = w->near[e];

			if (w->parent[u] != OSR_NONE)
				continue;
			w->parent[u] = v;
			w->queue[tail++] = u;
		}
	}
	for (uint32_t v = 0; v < n; v++)
		for (uint32_t e = w->row[v]; e < w->row[v + 1]; e++)
			if (colour_between(w, w->near[e], v) != w->colour[e])
				return no(w, "its squares do not fit together");
	return OSR_OK;
}

/* Another neighbour of v in this dimension than `except`; OSR_NONE if there is none. */
static uint32_t product_step(const struct finder *w, uint32_t dim, uint32_t v, uint32_t except)
{
	for (uint32_t e = w->row[v]; e < w->row[v + 1]; e++)
		if (w->colour[e] == dim && w->near[e] != except)
			return w->near[e];
	return OSR_NONE;
}

/*
 * Renumbers the classes of a dimension (label[v] = any number per class) along the factor that
 * runs through the first switch, and says what the factor is. class_coord[label] receives the
 * coordinate.
 */
static enum osr_status order_factor(struct finder *w, uint32_t dim, uint32_t size,
				    uint32_t *class_coord)
{
	uint32_t degree = 0, v = 0, before = OSR_NONE, n = 0;
	struct osr_product *product = w->p;

	for (uint32_t e = w->row[0]; e < w->row[1]; e++)
		degree += w->colour[e] == dim;
	product->size[dim] = size;
	if (degree == size - 1) {
		product->factor[dim] = OSR_FACTOR_CLIQUE;
		class_coord[w->label[0]] = n++;
		for (uint32_t e = w->row[0]; e < w->row[1]; e++)
			if (w->colour[e] == dim)
				class_coord[w->label[w->near[e]]] = n++;
		return OSR_OK;
	}
	if (degree > 2)
		return no(w, "a dimension is neither a ring, a line nor a full mesh");
	/* To one end of a line, or once around the ring. */
	for (uint32_t next = product_step(w, dim, 0, OSR_NONE);
	     next != OSR_NONE && next != 0 && n < size; n++) {
		uint32_t on = product_step(w, dim, next, v);

		before = v;
		v = next;
		next = on;
	}
	product->factor[dim] =
		product_step(w, dim, v, before) == OSR_NONE ? OSR_FACTOR_PATH : OSR_FACTOR_RING;
	if (product->factor[dim] == OSR_FACTOR_RING)
		v = 0;
	before = OSR_NONE;
	for (n = 0; n < size; n++) {
		uint32_t next = product_step(w, dim, v, before);

		if (class_coord[w->label[v]] != OSR_NONE)
			return no(w, "a dimension is neither a ring, a line nor a full mesh");
		class_coord[w->label[v]] = n;
		if (next == OSR_NONE && n + 1 < size)
			return no(w, "a dimension is neither a ring, a line nor a full mesh");
		before = v;
		v = next;
	}
	product->n_rings += product->factor[dim] == OSR_FACTOR_RING;
	return OSR_OK;
}

/* Switches connected without using this dimension share a coordinate. */
static enum osr_status find_coord(struct finder *w, uint32_t dim, uint32_t *class_coord)
{
	uint32_t n = w->f->n_switches, *set = w->parent, size = 0;
	enum osr_status st;

	osr_set_init(set, n);
	for (uint32_t v = 0; v < n; v++)
		for (uint32_t e = w->row[v]; e < w->row[v + 1]; e++)
			if (w->colour[e] != dim)
				osr_set_join(set, v, w->near[e]);
	for (uint32_t v = 0; v < n; v++) {
		if (osr_set_of(set, v) == v)
			class_coord[size++] = OSR_NONE;
	}
	for (uint32_t v = 0, next = 0; v < n; v++)
		if (set[v] == v)
			w->queue[v] = next++;
	for (uint32_t v = 0; v < n; v++)
		w->label[v] = w->queue[osr_set_of(set, v)];
	if (size < 2)
		return no(w, "a dimension closes on itself");
	st = order_factor(w, dim, size, class_coord);
	for (uint32_t v = 0; !st && v < n; v++) {
		if (class_coord[w->label[v]] == OSR_NONE)
			return no(w, "a dimension is not connected");
		w->p->coord[(size_t)v * w->p->n_dims + dim] = (uint16_t)class_coord[w->label[v]];
	}
	return st;
}

static uint32_t sort_key(const struct osr_product *product, uint32_t dim)
{
	return ((uint32_t)product->factor[dim] << 16) | product->size[dim];
}

/* Rings first, then lines, then cliques; larger ones first; else in the order they were found. */
static void sort_dims(struct finder *w)
{
	struct osr_product *product = w->p, old = *product;
	uint8_t place[OSR_MAX_DIMS] = { 0 };
	uint16_t x[OSR_MAX_DIMS];

	for (uint32_t i = 0; i < product->n_dims; i++) {
		place[i] = 0;
		for (uint32_t j = 0; j < product->n_dims; j++)
			place[i] += sort_key(&old, j) > sort_key(&old, i) ||
				    (j < i && sort_key(&old, j) == sort_key(&old, i));
	}
	for (uint32_t i = 0; i < product->n_dims; i++) {
		product->size[place[i]] = old.size[i];
		product->factor[place[i]] = old.factor[i];
	}
	for (uint32_t v = 0; v < w->f->n_switches; v++) {
		uint16_t *row = product->coord + (size_t)v * product->n_dims;

		memcpy(x, row, product->n_dims * sizeof(*x));
		for (uint32_t i = 0; i < product->n_dims; i++)
			row[place[i]] = x[i];
		for (uint32_t e = w->row[v]; e < w->row[v + 1]; e++)
			w->colour[e] = place[w->colour[e]];
	}
}

/* Is going from coordinate a to b one cable in this dimension? */
static bool adjacent(const struct osr_product *product, uint32_t dim, uint32_t a, uint32_t b)
{
	uint32_t gap = a < b ? b - a : a - b;

	if (product->factor[dim] == OSR_FACTOR_CLIQUE)
		return gap != 0;
	return gap == 1 ||
	       (product->factor[dim] == OSR_FACTOR_RING && gap == product->size[dim] - 1);
}

static uint32_t expected_degree(const struct osr_product *product, const uint16_t *x)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < product->n_dims; i++) {
		if (product->factor[i] == OSR_FACTOR_CLIQUE)
			n += product->size[i] - 1;
		else if (product->factor[i] == OSR_FACTOR_RING)
			n += 2;
		else
			n += (x[i] > 0) + (x[i] + 1u < product->size[i]);
	}
	return n;
}

/* Nothing was assumed so far that is not checked here. */
static enum osr_status product_verify(struct finder *w)
{
	const struct osr_product *product = w->p;
	uint32_t n = w->f->n_switches;
	uint64_t volume = 1;

	for (uint32_t i = 0; i < product->n_dims; i++)
		volume = volume > n ? volume : volume * product->size[i];
	if (volume != n)
		return no(w, "its dimensions do not fill it");
	w->stamp++;
	for (uint32_t v = 0; v < n; v++) {
		const uint16_t *x = product->coord + (size_t)v * product->n_dims;
		uint32_t place = 0;

		for (uint32_t i = 0; i < product->n_dims; i++)
			place = place * product->size[i] + x[i];
		if (w->mark[place] == w->stamp)
			return no(w, "two switches have the same coordinates");
		w->mark[place] = w->stamp;
		if (w->row[v + 1] - w->row[v] != expected_degree(product, x))
			return no(w, "some switches lack cables");
		for (uint32_t e = w->row[v]; e < w->row[v + 1]; e++) {
			const uint16_t *y = product->coord + (size_t)w->near[e] * product->n_dims;

			for (uint32_t i = 0; i < product->n_dims; i++)
				if (i == w->colour[e] ? !adjacent(product, i, x[i], y[i])
						      : x[i] != y[i])
					return no(w, "a cable changes more than one coordinate");
		}
	}
	return OSR_OK;
}

/* Channels of each switch by the coordinate they lead to. */
static enum osr_status list_hops(struct finder *w, struct osr_arena *scratch)
{
	const struct osr_fabric *fabric = w->f;
	struct osr_product *product = w->p;

	for (uint32_t i = 0; i < product->n_dims; i++) {
		product->slot[i] = product->n_slots;
		product->n_slots += product->size[i];
	}
	product->hop_row = osr_calloc(scratch, (size_t)fabric->n_switches * (product->n_slots + 1),
				      sizeof(*product->hop_row));
	product->hop_list = osr_alloc(scratch, fabric->n_channels, 1);
	if (osr_arena_failed(scratch, w->diag))
		return OSR_NOMEM;
	for (uint32_t v = 0; v < fabric->n_switches; v++) {
		uint16_t *row = product->hop_row + (size_t)v * (product->n_slots + 1), n = 0;

		for (uint32_t c = fabric->chan_row[v]; c < fabric->chan_row[v + 1]; c++) {
			uint32_t u = fabric->chan_dst[c];
			uint8_t dim = colour_between(w, v, u);

			product->chan_dim[c] = dim;
			row[product->slot[dim] +
			    product->coord[(size_t)u * product->n_dims + dim]]++;
		}
		for (uint32_t i = 0; i <= product->n_slots; i++) {
			uint16_t here = row[i];

			row[i] = n;
			n += here;
		}
		for (uint32_t c = fabric->chan_row[v]; c < fabric->chan_row[v + 1]; c++) {
			uint32_t dim = product->chan_dim[c],
				 x = product->coord[(size_t)fabric->chan_dst[c] * product->n_dims +
						    dim];

			product->hop_list[fabric->chan_row[v] + row[product->slot[dim] + x]++] =
				(uint8_t)(c - fabric->chan_row[v]);
		}
		/* Filling moved every start to the next one's. */
		memmove(row + 1, row, product->n_slots * sizeof(*row));
		row[0] = 0;
	}
	return OSR_OK;
}

enum osr_status osr_product_find(const struct osr_fabric *fabric, struct osr_arena *scratch,
				 struct osr_product *product, struct osr_diag *diag)
{
	size_t n = fabric->n_switches;
	struct finder w = { .f = fabric, .p = product, .diag = diag };
	uint32_t *class_coord = osr_alloc(scratch, n, sizeof(*class_coord));
	enum osr_status st;

	*product = (struct osr_product){ .f = fabric };
	w.row = osr_alloc(scratch, n + 1, sizeof(*w.row));
	w.near = osr_alloc(scratch, fabric->n_channels, sizeof(*w.near));
	w.colour = osr_alloc(scratch, fabric->n_channels, 1);
	w.mark = osr_calloc(scratch, n, sizeof(*w.mark));
	w.parent = osr_alloc(scratch, n, sizeof(*w.parent));
	w.queue = osr_alloc(scratch, n, sizeof(*w.queue));
	w.label = osr_alloc(scratch, n, sizeof(*w.label));
	product->chan_dim = osr_alloc(scratch, fabric->n_channels, 1);
	product->coord = osr_calloc(scratch, n * OSR_MAX_DIMS, sizeof(*product->coord));
	if (osr_arena_failed(scratch, diag))
		return OSR_NOMEM;
	osr__neighbours(fabric, w.row, w.near, NULL, w.parent);
	if (fabric->n_components > 1 || n < 2)
		return no(&w, "it is not in one piece");
	if ((st = colour_edges(&w)))
		return st;
	product->n_dims = w.n_colours;
	for (uint32_t i = 0; i < product->n_dims; i++)
		if ((st = find_coord(&w, i, class_coord)))
			return st;
	sort_dims(&w);
	if ((st = product_verify(&w)))
		return st;
	return list_hops(&w, scratch);
}

/* ---- plans ----------------------------------------------------------------------------------- */

bool osr_product_plan_pairs(const struct osr_product *product, uint32_t max_layers,
			    struct osr_product_plan *plan)
{
	uint32_t ring = 0;

	memset(plan, 0, sizeof(*plan));
	if (product->n_rings > 4 || 1u << product->n_rings > max_layers)
		return false;
	plan->n_layers = 1u << product->n_rings;
	plan->symmetric = true;
	for (uint32_t i = 0; i < product->n_dims; i++) {
		if (product->factor[i] != OSR_FACTOR_RING)
			continue;
		for (uint32_t k = 0; k < plan->n_layers; k++)
			plan->cut[k][i][0] = plan->cut[k][i][1] =
				(uint16_t)(k >> ring & 1 ? product->size[i] / 2 : 0);
		ring++;
	}
	return true;
}

void osr_product_plan_spaced(const struct osr_product *product, uint32_t n_layers, bool staggered,
			     struct osr_product_plan *plan)
{
	memset(plan, 0, sizeof(*plan));
	plan->n_layers = n_layers;
	for (uint32_t i = 0; i < product->n_dims; i++) {
		for (uint32_t k = 0; k < n_layers && product->factor[i] == OSR_FACTOR_RING; k++) {
			uint32_t at = k * product->size[i] / n_layers;
			uint32_t shift = staggered ? product->size[i] / n_layers / 2 : 0;

			/*
			 * Falling routes are cut between the cuts of rising ones: then opposite
			 * switches (choose_rising()) always have the direction that meets fewer
			 * cuts.
			 */
			plan->cut[k][i][0] = (uint16_t)at;
			plan->cut[k][i][1] = (uint16_t)((at + shift) % product->size[i]);
		}
	}
}

/* ---- routes ---------------------------------------------------------------------------------- */

/* Opposite switches of a ring may go either way: half of them each. */
static bool choose_rising(const struct osr_product *product, const struct osr_product_plan *plan,
			  uint32_t dim, const uint16_t *from, const uint16_t *to)
{
	uint32_t parity = 0;

	if (!plan->symmetric)
		return from[dim] % 2 == 0;
	/*
	 * The same for the reply, which comes back through the same switches: what decides is the
	 * same seen from both ends. In the last dimension little is known of the other end, and
	 * balance is not perfect.
	 */
	for (uint32_t i = dim + 1; i < product->n_dims; i++)
		parity += from[i] + to[i];
	if (dim + 1 == product->n_dims)
		parity = from[dim] < to[dim] ? from[dim] : to[dim];
	return (from[dim] < to[dim]) == (parity % 2 == 0);
}

static uint32_t next_coord(const struct osr_product *product, const struct osr_product_plan *plan,
			   uint32_t dim, const uint16_t *from, const uint16_t *to)
{
	uint32_t n = product->size[dim], a = from[dim], b = to[dim], rise;

	switch (product->factor[dim]) {
	case OSR_FACTOR_CLIQUE:
		return b;
	case OSR_FACTOR_PATH:
		return a < b ? a + 1 : a - 1;
	case OSR_FACTOR_RING:
		break;
	}
	rise = b >= a ? b - a : b + n - a;
	if (2 * rise < n || (2 * rise == n && choose_rising(product, plan, dim, from, to)))
		return a + 1 < n ? a + 1 : 0;
	return a ? a - 1 : n - 1;
}

/* One of the parallel channels to coordinate x of a dimension. */
static uint8_t hop_to(const struct osr_product *product, uint32_t v, uint32_t dim, uint32_t x,
		      uint32_t spread)
{
	const uint16_t *row =
		product->hop_row + (size_t)v * (product->n_slots + 1) + product->slot[dim] + x;
	uint32_t n = row[1] - row[0];

	return product->hop_list[product->f->chan_row[v] + row[0] + (n > 1 ? spread % n : 0)];
}

void osr_dor(const struct osr_product *product, const struct osr_product_plan *plan, uint32_t d,
	     uint8_t *hop)
{
	const struct osr_fabric *fabric = product->f;
	const uint16_t *to = product->coord + (size_t)fabric->dest_switch[d] * product->n_dims;

	for (uint32_t v = 0; v < fabric->n_switches; v++) {
		const uint16_t *from = product->coord + (size_t)v * product->n_dims;
		uint32_t dim = 0;

		while (dim < product->n_dims && from[dim] == to[dim])
			dim++;
		if (dim < product->n_dims)
			hop[v] = hop_to(product, v, dim, next_coord(product, plan, dim, from, to),
					d);
	}
}

/* Along a ring without passing through `cut`: the ring unrolled, with the cut at both its ends. */
static uint32_t next_uncut(const struct osr_product *product, const struct osr_product_plan *plan,
			   uint32_t k, uint32_t dim, uint32_t a, uint32_t b)
{
	uint32_t n = product->size[dim], cut = plan->cut[k][dim][0];
	uint32_t rise = (b + n - a) % n, to_cut = (cut + n - a) % n;

	if (product->factor[dim] == OSR_FACTOR_CLIQUE)
		return b;
	if (product->factor[dim] == OSR_FACTOR_PATH)
		return a < b ? a + 1 : a - 1;
	/* Rising is legal if the cut is not strictly between a and b. */
	if (to_cut == 0 || to_cut >= rise)
		return a + 1 < n ? a + 1 : 0;
	/* Then falling is: it passes through the other switches of the ring. */
	return a ? a - 1 : n - 1;
}

void osr_product_order(const struct osr_product *product, const struct osr_product_plan *plan,
		       uint32_t k, uint32_t *rank)
{
	const struct osr_fabric *fabric = product->f;
	uint32_t base[OSR_MAX_DIMS] = { 0 }, at = 0;

	for (uint32_t i = 0; i < product->n_dims; i++) {
		base[i] = at;
		at += product->size[i];
	}
	for (uint32_t c = 0; c < fabric->n_channels; c++) {
		uint32_t i = product->chan_dim[c], n = product->size[i];
		uint32_t a = product->coord[(size_t)fabric->chan_src[c] * product->n_dims + i];
		uint32_t b = product->coord[(size_t)fabric->chan_dst[c] * product->n_dims + i];
		bool rising = (a + 1) % n == b;

		rank[c] = base[i];
		if (product->factor[i] == OSR_FACTOR_RING)
			rank[c] += rising ? (a + n - plan->cut[k][i][0]) % n
					  : (plan->cut[k][i][1] + n - a) % n;
		else if (product->factor[i] == OSR_FACTOR_PATH)
			rank[c] += rising ? a : n - 1 - a;
	}
}

void osr_product_tree(const struct osr_product *product, const struct osr_product_plan *plan,
		      uint32_t k, uint32_t *parent)
{
	const struct osr_fabric *fabric = product->f;
	uint16_t to[OSR_MAX_DIMS];

	for (uint32_t i = 0; i < product->n_dims; i++) {
		to[i] = product->factor[i] == OSR_FACTOR_CLIQUE ? 0
								: (uint16_t)(product->size[i] / 2);
		if (product->factor[i] == OSR_FACTOR_RING)
			to[i] = (uint16_t)((plan->cut[k][i][0] + product->size[i] / 2) %
					   product->size[i]);
	}
	/*
	 * Towards the root by falling dimension, so that away from it dimensions rise as in
	 * unicast; and the same channel both ways.
	 */
	for (uint32_t v = 0; v < fabric->n_switches; v++) {
		const uint16_t *from = product->coord + (size_t)v * product->n_dims;
		uint32_t dim = product->n_dims, x;

		parent[v] = OSR_NONE;
		while (dim && from[dim - 1] == to[dim - 1])
			dim--;
		if (!dim--)
			continue;
		x = next_uncut(product, plan, k, dim, from[dim], to[dim]);
		/*
		 * The switch at the cut hangs below its falling neighbour: that suits staggered
		 * cuts as well.
		 */
		if (product->factor[dim] == OSR_FACTOR_RING && from[dim] == plan->cut[k][dim][0])
			x = (from[dim] + product->size[dim] - 1) % product->size[dim];
		parent[v] = fabric->chan_row[v] + hop_to(product, v, dim, x, 0);
	}
}

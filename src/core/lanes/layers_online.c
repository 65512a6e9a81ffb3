/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Route by route, as LASH does (Lysne, Skeie, Reinemo, Theiss: Layered routing in irregular networks, IEEE
 * TPDS 2006; Domke 2011, section IV, first approach).
 *
 * DIFFERS in the search: each layer keeps a topological order of its graph (toporder.h), so an edge that goes
 * forward in it is not searched for. The layers are those that a search of the whole graph finds. The order is
 * also the certificate.
 */
#include "layers_private.h"

#include <string.h>

#include <osmroutes/toporder.h>

#include "core/paths/mcast.h"

struct shelf {
	const struct osr_cdg *g;
	uint8_t *present; /* [n_slots] edges of the layer's graph */
	struct osr_toporder order;
};

struct online {
	struct layering *w;
	struct shelf shelf[OSR_MAX_VLS];
	uint32_t *added; /* [n_slots] edges of the unit that is being tried */
	uint32_t n_added;
};

/* Channels that follow c in the layer's graph, or that c follows: osr_toporder_edges. */
static uint32_t shelf_edges(const void *graph, uint32_t c, bool back, uint32_t *out)
{
	const struct shelf *l = graph;
	const struct osr_fabric *fabric = l->g->f;
	uint32_t v = back ? fabric->chan_src[c] : fabric->chan_dst[c], n = 0;

	for (uint32_t o = fabric->chan_row[v]; o < fabric->chan_row[v + 1]; o++) {
		uint32_t in = back ? fabric->chan_rev[o] : c, to = back ? c : o;

		if (l->present[osr_cdg_slot(l->g, in, (uint8_t)(to - fabric->chan_row[v]))])
			out[n++] = back ? in : to;
	}
	return n;
}

/* Adds an edge; false if it would close a cycle. */
static bool add_edge(struct online *o, struct shelf *l, uint32_t x, uint32_t slot)
{
	if (!osr_toporder_rise(&l->order, x, osr_cdg_target(l->g, x, slot)))
		return false;
	l->present[slot] = 1;
	o->added[o->n_added++] = slot;
	return true;
}

/* An order of more edges is one of fewer too: ranks stay. */
static void undo(struct online *o, struct shelf *l)
{
	while (o->n_added)
		l->present[o->added[--o->n_added]] = 0;
}

static bool add_route(struct online *o, struct shelf *l, uint32_t d, uint32_t v)
{
	const struct layering *w = o->w;
	const struct osr_fabric *fabric = w->s->f;
	const uint8_t *hop = w->s->hop + (size_t)d * fabric->n_switches;
	uint32_t root = fabric->dest_switch[d], slot;

	while ((slot = osr__dependency(w, hop, root, v)) != OSR_NONE) {
		if (!l->present[slot] && !add_edge(o, l, fabric->chan_row[v] + hop[v], slot))
			return false;
		v = osr__next_switch(w, hop, v);
	}
	return true;
}

/* All routes from switch a to the LIDs behind switch b. */
static bool layers_online_add_all(struct online *o, struct shelf *l, uint32_t a, uint32_t b,
				  uint32_t *n_routes)
{
	const struct osr_spf *spf = o->w->s;

	for (uint32_t k = spf->dest_row[b]; k < spf->dest_row[b + 1]; k++) {
		uint32_t d = spf->dest_list[k];

		if (spf->alias[d] != OSR_NONE || !osr__is_counted(spf->f, d, a))
			continue;
		if (!add_route(o, l, d, a))
			return false;
		++*n_routes;
	}
	return true;
}

/* The unit of v's route to d, or of the pair (v, switch of d). */
static bool add_unit(struct online *o, struct shelf *l, uint32_t d, uint32_t v, uint32_t *n_routes)
{
	uint32_t root = o->w->s->f->dest_switch[d];
	bool fits;

	o->n_added = 0;
	*n_routes = 1;
	if (!o->w->pairs) {
		fits = add_route(o, l, d, v);
	} else {
		*n_routes = 0;
		fits = layers_online_add_all(o, l, v, root, n_routes) &&
		       layers_online_add_all(o, l, root, v, n_routes);
	}
	if (!fits)
		undo(o, l);
	return fits;
}

static enum osr_status open_layer(struct online *o, uint32_t i, struct osr_arena *scratch,
				  struct osr_diag *diag)
{
	const struct layering *w = o->w;
	uint32_t m = w->s->f->n_channels;
	struct shelf *l = &o->shelf[i];

	*l = (struct shelf){ .g = w->g,
			     .present = osr_calloc(scratch, w->g->n_slots, 1),
			     .order = { .n = m,
					.max_degree = 256, /* ports are bytes */
					.edges = shelf_edges,
					.graph = l,
					.rank = w->rank + (size_t)i * m } };
	for (uint32_t c = 0; c < m; c++)
		l->order.rank[c] = c;
	return osr_arena_failed(scratch, diag) ? OSR_NOMEM
					       : osr_toporder_init(&l->order, scratch, diag);
}

static enum osr_status place_unit(struct online *o, uint32_t d, uint32_t v, uint8_t limit,
				  struct osr_arena *scratch, struct osr_diag *diag)
{
	struct layering *w = o->w;
	uint32_t n = w->s->f->n_switches, root = w->s->f->dest_switch[d], n_routes;

	for (uint8_t i = 0; i < limit; i++) {
		enum osr_status st = i < w->n_layers ? OSR_OK : open_layer(o, i, scratch, diag);

		if (st)
			return st;
		w->n_layers += i == w->n_layers;
		if (!add_unit(o, &o->shelf[i], d, v, &n_routes))
			continue;
		w->paths[i] += n_routes;
		osr__layer_row(w, d)[v] = i;
		if (w->pairs)
			w->layer[(size_t)v * n + root] = i;
		return OSR_OK;
	}
	return osr__no_vl(w, limit, diag);
}

/* Destination after destination, nearest switches first; or pair after pair of switches. */
static enum osr_status place_all(struct online *o, uint8_t limit, struct osr_arena *scratch,
				 struct osr_diag *diag)
{
	const struct osr_spf *spf = o->w->s;
	const struct osr_fabric *fabric = spf->f;
	enum osr_status st = OSR_OK;

	for (uint32_t d = 0; d < fabric->n_dests && !st; d++) {
		uint32_t root = fabric->dest_switch[d];
		const uint16_t *order = spf->order + (size_t)root * fabric->n_switches;
		bool first = spf->dest_list[spf->dest_row[root]] == d;

		if (spf->alias[d] != OSR_NONE || (o->w->pairs && !first))
			continue;
		for (uint32_t i = 1; i < spf->n_order[root] && !st; i++) {
			uint32_t v = order[i];

			/* A pair is placed once, by its higher switch if both have LIDs. */
			if (o->w->pairs && v > root && spf->dest_row[v] < spf->dest_row[v + 1])
				continue;
			if (o->w->pairs || osr__is_counted(fabric, d, v))
				st = place_unit(o, d, v, limit, scratch, diag);
		}
	}
	return st;
}

/* The dependencies of multicast come first, in the first layer; they have no cycle. */
static void place_multicast(struct online *o)
{
	struct osr_cdg *cdg = o->w->g;

	memset(cdg->weight, 0, cdg->n_slots * sizeof(*cdg->weight));
	osr_mcast_depend(o->w->mcast->mcast_parent, cdg);
	o->n_added = 0;
	for (uint32_t c = 0; c < cdg->f->n_channels; c++)
		for (uint32_t slot = cdg->row[c]; slot < cdg->row[c + 1]; slot++)
			if (cdg->weight[slot])
				add_edge(o, &o->shelf[0], c, slot);
}

enum osr_status osr__add_online(struct layering *w, uint8_t limit, struct osr_arena *scratch,
				struct osr_diag *diag)
{
	struct osr_arena_mark mark = osr_arena_mark(scratch);
	struct online o = { .w = w, .added = osr_alloc(scratch, w->g->n_slots, sizeof(*o.added)) };
	enum osr_status st;

	st = open_layer(&o, 0, scratch, diag);
	w->n_layers = 1;
	if (!st && w->mcast)
		place_multicast(&o);
	if (!st)
		st = place_all(&o, limit, scratch, diag);
	osr_arena_reset(scratch, mark);
	return st;
}

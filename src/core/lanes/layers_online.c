/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Route by route, as LASH does (Lysne, Skeie, Reinemo, Theiss: Layered routing in irregular networks, IEEE
 * TPDS 2006; Domke 2011, section IV, first approach).
 *
 * DIFFERS in the search: all layers together keep a topological order of their nodes (node_order.h), so a turn that
 * rises in it is not searched for. The layers are those that a search of the whole graph finds. The order is
 * also the certificate.
 */
#include "layers_private.h"

#include <string.h>

#include "core/order/node_order.h"
#include "core/paths/mcast.h"

struct online {
	struct layering *w;
	struct osr_order order; /* lanes are layers */
};

static bool add_route(struct online *o, uint8_t layer, uint32_t d, uint32_t v)
{
	const struct osr_fabric *fabric = o->w->s->f;
	const uint8_t *hop = o->w->s->hop + (size_t)d * fabric->n_switches;
	uint32_t root = fabric->dest_switch[d], c = fabric->chan_row[v] + hop[v], on;

	for (uint32_t u = fabric->chan_dst[c]; u != root; u = fabric->chan_dst[c]) {
		on = fabric->chan_row[u] + hop[u];
		if (!osr_order_add(&o->order, c, on, (uint16_t)(1u << layer)))
			return false;
		c = on;
	}
	return true;
}

/* All routes from switch a to the LIDs behind switch b. */
static bool layers_online_add_all(struct online *o, uint8_t layer, uint32_t a, uint32_t b,
				  uint32_t *n_routes)
{
	const struct osr_spf *spf = o->w->s;

	for (uint32_t k = spf->dest_row[b]; k < spf->dest_row[b + 1]; k++) {
		uint32_t d = spf->dest_list[k];

		if (spf->alias[d] != OSR_NONE || !osr__is_counted(spf->f, d, a))
			continue;
		if (!add_route(o, layer, d, a))
			return false;
		++*n_routes;
	}
	return true;
}

/* The unit of v's route to d, or of the pair (v, switch of d). */
static bool add_unit(struct online *o, uint8_t layer, uint32_t d, uint32_t v, uint32_t *n_routes)
{
	uint32_t root = o->w->s->f->dest_switch[d];
	bool fits;

	osr_order_begin(&o->order);
	*n_routes = 1;
	if (!o->w->pairs) {
		fits = add_route(o, layer, d, v);
	} else {
		*n_routes = 0;
		fits = layers_online_add_all(o, layer, v, root, n_routes) &&
		       layers_online_add_all(o, layer, root, v, n_routes);
	}
	if (!fits)
		osr_order_undo(&o->order, 0);
	return fits;
}

static enum osr_status place_unit(struct online *o, uint32_t d, uint32_t v, uint8_t limit,
				  struct osr_diag *diag)
{
	struct layering *w = o->w;
	uint32_t n = w->s->f->n_switches, root = w->s->f->dest_switch[d], n_routes;

	for (uint8_t i = 0; i < limit; i++) {
		if (!add_unit(o, i, d, v, &n_routes))
			continue;
		w->n_layers = i < w->n_layers ? w->n_layers : i + 1u;
		w->paths[i] += n_routes;
		osr__layer_row(w, d)[v] = i;
		if (w->pairs)
			w->layer[(size_t)v * n + root] = i;
		return OSR_OK;
	}
	return osr__no_vl(w, limit, diag);
}

/* Destination after destination, nearest switches first; or pair after pair of switches. */
static enum osr_status place_all(struct online *o, uint8_t limit, struct osr_diag *diag)
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
				st = place_unit(o, d, v, limit, diag);
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
	for (uint32_t c = 0; c < cdg->f->n_channels; c++)
		for (uint32_t slot = cdg->row[c]; slot < cdg->row[c + 1]; slot++)
			if (cdg->weight[slot])
				osr_order_add(&o->order, c, osr_cdg_target(cdg, c, slot), 1);
}

enum osr_status osr__add_online(struct layering *w, uint8_t limit, struct osr_arena *scratch,
				struct osr_diag *diag)
{
	struct osr_arena_mark mark = osr_arena_mark(scratch);
	struct online o = { .w = w };
	size_t n_nodes = limit * (size_t)w->s->f->n_channels;
	uint32_t *keys = osr_calloc(scratch, n_nodes, sizeof(*keys));
	enum osr_status st;

	if (!keys)
		return osr_fail(diag, OSR_NOMEM, "out of memory for the layers of %u channels",
				w->s->f->n_channels);
	/* A unit has each turn once at most. */
	st = osr_order_init(&o.order, w->s->f, limit, false, keys, w->g->n_slots, scratch, diag);
	o.order.max_work = UINT64_MAX;
	w->n_layers = 1;
	if (!st && w->mcast)
		place_multicast(&o);
	if (!st)
		st = place_all(&o, limit, diag);
	if (!st || st == OSR_NO_VL)
		memcpy(w->rank, o.order.nodes.rank, n_nodes * sizeof(*w->rank));
	osr_arena_reset(scratch, mark);
	return st;
}

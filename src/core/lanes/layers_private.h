/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * What the ways to find layers share. layers.c cuts by a channel order and turns layers into VLs,
 * layers_cycle.c breaks one cycle after the other, layers_online.c adds one route after the other.
 */
#ifndef OSR_LAYERS_PRIVATE_H
#define OSR_LAYERS_PRIVATE_H

#include "core/order/cdg.h"
#include <osmroutes/layers.h>

struct layering {
	const struct osr_lane_work *work;
	const struct osr_spf *s; /* of work */
	const struct osr_layers_options *opt;
	struct osr_cdg *g;
	const struct osr_routing *mcast; /* whose dependencies stay in layer 0, or NULL */
	bool pairs;                      /* units are pairs of switches */
	uint8_t *layer;                  /* [n_dests or n_switches] rows of n_switches */
	uint8_t *cut_pair;               /* [n_switches * n_switches], pairs only */
	struct layer_member *member;     /* [n_members] threads that go over all trees */
	uint32_t n_members;
	uint32_t *count; /* [n_switches], of a member */
	uint8_t *cut;    /* [n_switches] */
	uint32_t *rank;  /* [OSR_MAX_VLS * n_channels] */
	uint32_t *busy; /* [n_dests] routes in the current layer, at most; 0: none there or later */
	uint32_t *more; /* the same of the next layer */
	const uint32_t *first; /* the order of the first layer, if it is known */
	bool may_give_up;
	uint32_t n_layers;
	uint64_t paths[OSR_MAX_VLS];
	uint64_t n_left; /* routes that the last layer has not taken */
};

static inline bool osr__is_sp0(const struct osr_fabric *fabric, uint32_t d)
{
	return fabric->term_role[fabric->dest_term[d]] == OSR_ROLE_SP0;
}

/* Does anybody on switch v send to d? Only end ports ask a port 0; see layers.h. */
static inline bool osr__is_counted(const struct osr_fabric *fabric, uint32_t d, uint32_t v)
{
	return !osr__is_sp0(fabric, d) || fabric->sw_sources[v];
}

/* The layers of the units that end at d, by the switch they start from. */
static inline uint8_t *osr__layer_row(const struct layering *w, uint32_t d)
{
	const struct osr_fabric *fabric = w->s->f;

	return w->layer + (size_t)(w->pairs ? fabric->dest_switch[d] : d) * fabric->n_switches;
}

/*
 * The slot of the dependency that follows when v's route to d goes on; OSR_NONE at the last
 * channel.
 */
static inline uint32_t osr__dependency(const struct layering *w, const uint8_t *hop, uint32_t root,
				       uint32_t v)
{
	const struct osr_fabric *fabric = w->s->f;
	uint32_t c = fabric->chan_row[v] + hop[v], u = fabric->chan_dst[c];

	return u == root ? OSR_NONE : osr_cdg_slot(w->g, c, hop[u]);
}

/* The switch behind v on the way that hop[] describes. */
static inline uint32_t osr__next_switch(const struct layering *w, const uint8_t *hop, uint32_t v)
{
	const struct osr_fabric *fabric = w->s->f;

	return fabric->chan_dst[fabric->chan_row[v] + hop[v]];
}

/*
 * layers_cycle.c: moves routes of this layer to the next one until its graph, whose weights w->g holds, has no
 * cycle; keeps `more` as cut_layer() does. *n_moved routes. O(channels + slots + edges cut * dests + trees
 * touched * n_switches + routes moved * hops).
 */
enum osr_status osr__break_cycles(struct layering *w, uint8_t layer, struct osr_arena *scratch,
				  uint64_t *n_moved, struct osr_diag *diag);

/*
 * The paper's first approach, and that of LASH: take one unit after the other and put it into the
 * first layer where it closes no cycle. Fills layer, n_layers, paths and rank of at most `limit`
 * layers; OSR_NO_VL if they do not suffice. One search per unit and layer that it adds something
 * to. Scratch n_slots + 13 n_channels bytes a layer.
 */
enum osr_status osr__add_online(struct layering *w, uint8_t limit, struct osr_arena *scratch,
				struct osr_diag *diag);

/* The sentence of both. */
enum osr_status osr__no_vl(const struct layering *w, uint8_t limit, struct osr_diag *diag);

#endif

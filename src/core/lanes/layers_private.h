/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* What the ways to find layers share: layers.c cuts by an order of the channels, layers_paper.c has the papers' ways. */
#ifndef OSR_LAYERS_PRIVATE_H
#define OSR_LAYERS_PRIVATE_H

#include <osmroutes/layers.h>

#include "core/order/cdg.h"

struct layering {
	const struct osr_lane_work *work;
	const struct osr_spf *s; /* of work */
	const struct osr_fabric *f;
	enum osr_heuristic heuristic;
	struct osr_cdg g;
	uint32_t limit, n_layers;
	uint8_t *layer; /* [n_dests * n_switches] of each route */
	uint8_t *
		left; /* [n_dests] the tree has routes in the current layer; not those that share another's */
	uint32_t *rank;  /* [limit * n_channels] */
	uint32_t *count; /* [n_switches] of the tree at hand */
	uint8_t *cut;    /* [n_switches] */
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

/* The switch behind v on the way that hop[] describes. */
static inline uint32_t osr__next_switch(const struct osr_fabric *fabric, const uint8_t *hop,
					uint32_t v)
{
	return fabric->chan_dst[fabric->chan_row[v] + hop[v]];
}

/* The slot of the dependency that follows when v's route to root goes on; OSR_NONE at the last channel. */
static inline uint32_t osr__dependency(const struct osr_cdg *cdg, const uint8_t *hop, uint32_t root,
				       uint32_t v)
{
	uint32_t u = osr__next_switch(cdg->f, hop, v);

	return u == root ? OSR_NONE : osr_cdg_slot(cdg, cdg->f->chan_row[v] + hop[v], hop[u]);
}

/*
 * Layers for the routes of work->s, by number in r->sl, and their orders, orders[OSR_MAX_VLS * n_channels], also where
 * there are not enough (OSR_NO_VL, without a sentence). pairs, only of OSR_HEURISTIC_ONLINE: all routes between two
 * switches in one layer, which the orders tell; r->sl is as before.
 */
enum osr_status osr__layers_assign(const struct osr_lane_work *work, enum osr_heuristic heuristic,
				   bool pairs, uint32_t *orders, uint32_t *n_layers);

/* From these to SLs, the certificate and the claims. */
enum osr_status osr__layers_finish(const struct osr_lane_work *work, const uint32_t *orders,
				   uint32_t n_layers);

/*
 * Moves routes of this layer to the next one until its graph, whose weights are in w->g, has no cycle, an edge at a time.
 * O(channels + slots + edges cut * dests + trees touched * n_switches + routes moved * hops).
 */
enum osr_status osr__break_cycles(struct layering *w, uint8_t layer);

/*
 * One route after the other, or one pair of switches with all routes in both directions, into the first layer where it
 * closes no cycle. Fills layer (of routes only), n_layers and rank; OSR_NO_VL beyond the limit. One search for each
 * unit and layer that it adds something to. Scratch n_slots + 13 n_channels bytes a layer.
 */
enum osr_status osr__add_online(struct layering *w, bool pairs);

#endif

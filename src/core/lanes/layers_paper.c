/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Layers as the papers find them: by edges of cycles, and route by route.
 *
 * Edges are the three heuristics of Domke 2011, Algorithm 2: a depth-first search of the layer's
 * graph. When it closes a cycle, one edge of the cycle is chosen and all routes that use the edge
 * leave the layer; the search then continues. Each edge is removed at most once, so the search
 * ends; a channel is done when no cycle passes it. DIFFERS: the layer's order is a topological
 * order of the remaining graph, and a removed route that rises in it stays.
 *
 * Route by route is LASH (Lysne, Skeie, Reinemo, Theiss: Layered routing in irregular networks,
 * IEEE TPDS 2006; Domke 2011, section IV, first approach). DIFFERS in the search: all layers
 * together keep a topological order of their nodes (order.h), so a turn that rises in it is not
 * searched for. The layers are those that a search of the whole graph finds: a route that a layer
 * has refused never rises in its order. The order is also the certificate.
 */
#include "lanes_private.h"

#include <assert.h>
#include <string.h>

#include "core/order/order.h"
#include "core/route/span.h"

#include <osmroutes/each.h>

/* ---- edges of cycles ------------------------------------------------------------------------- */

#define DONE UINT32_MAX

struct cycles {
	struct osr_search *search;
	enum osr_heuristic heuristic;
	uint32_t *place; /* [n_channels] position on the stack + 1; 0: not on it; or DONE */
	uint32_t *stack; /* [n_channels] channels of the current path */
	uint32_t *edge;  /* [n_channels] turn by which stack[i] looks onwards */
	uint32_t depth;
};

/*
 * All routes without a lane that induce the edge of this turn, from channel c, leave the layer: the
 * routes that pass its source. They have a mask until the layer is done. A turn that shares an edge
 * with multicast (UINT32_MAX) is not counted there.
 */
static void move_edge(struct cycles *cycles, uint32_t c, uint32_t turn)
{
	struct osr_search *search = cycles->search;
	const struct osr_fabric *fabric = search->fabric;
	uint32_t n = fabric->n_switches, u = fabric->chan_src[c];
	uint8_t *passes = search->new_mask;

	OSR_EACH_DEST(d, fabric) {
		if (!search->weights.weight[turn])
			break;

		const uint8_t *hop = search->spf->hop + (size_t)d * n;
		uint8_t *mask = search->masks + (size_t)d * n;
		uint32_t root = fabric->dest_switch[d];
		const uint16_t *order = search->spf->order + (size_t)root * n;

		if (search->spf->alias[d] != OSR_NONE || osr_spf_channel(search->spf, d, u) != c ||
		    osr_dependency(&search->weights, hop, root, u) != turn)
			continue;
		passes[root] = 0;
		for (uint32_t i = 1; i < search->spf->n_order[root]; i++) {
			uint32_t v = order[i], next;

			passes[v] = v == u || passes[osr_next_switch(fabric, hop, v)];
			if (!passes[v] || mask[v] || !osr_search_counts(search, d, v))
				continue;
			mask[v] = 1;
			for (; (next = osr_dependency(&search->weights, hop, root, v)) != OSR_NONE;
			     v = osr_next_switch(fabric, hop, v))
				search->weights.weight[next] -=
					search->weights.weight[next] != UINT32_MAX;
		}
	}
	assert(!search->weights.weight[turn]);
}

/* The place on the stack whose outgoing edge goes, of the cycle stack[from] .. stack[depth - 1]. */
static uint32_t cycle_choose(const struct cycles *cycles, uint32_t from)
{
	const uint32_t *weight = cycles->search->weights.weight;
	enum osr_heuristic heuristic = cycles->heuristic;
	uint32_t best = from;

	for (uint32_t i = from; i < cycles->depth; i++) {
		uint32_t mine = weight[cycles->edge[i]], theirs = weight[cycles->edge[best]];

		/* Multicast (UINT32_MAX) cannot be moved: whatever else there is goes first. */
		if (theirs == UINT32_MAX || (heuristic == OSR_HEURISTIC_WEAKEST && mine < theirs) ||
		    (heuristic == OSR_HEURISTIC_HEAVIEST && mine > theirs && mine != UINT32_MAX))
			best = i;
	}
	return best;
}

static void cycle_push(struct cycles *cycles, uint32_t c)
{
	cycles->stack[cycles->depth] = c;
	cycles->edge[cycles->depth] = cycles->search->fabric->turn_row[c];
	cycles->place[c] = ++cycles->depth;
}

static void search_from(struct cycles *cycles, uint32_t start)
{
	const struct osr_weights *weights = &cycles->search->weights;

	cycle_push(cycles, start);
	while (cycles->depth) {
		uint32_t top = cycles->depth - 1, c = cycles->stack[top], turn = cycles->edge[top],
			 next, keep;

		if (turn == weights->fabric->turn_row[c + 1]) {
			cycles->place[c] = DONE;
			cycles->depth = top;
			if (cycles->depth)
				cycles->edge[cycles->depth - 1]++;
			continue;
		}
		next = osr_turn_next(weights->fabric, c, turn);
		if (!weights->weight[turn] || cycles->place[next] == DONE) {
			cycles->edge[top]++;
		} else if (!cycles->place[next]) {
			cycle_push(cycles, next);
		} else {
			/*
			 * A cycle. The routes that go may take edges further down the stack with
			 * them.
			 */
			uint32_t cut = cycle_choose(cycles, cycles->place[next] - 1);

			move_edge(cycles, cycles->stack[cut], cycles->edge[cut]);
			for (keep = 0; weights->weight[cycles->edge[keep]]; keep++)
				;
			/* Channels left unfinished above are searched again later. */
			while (cycles->depth > keep + 1)
				cycles->place[cycles->stack[--cycles->depth]] = 0;
		}
	}
}

enum osr_status osr_break_cycles(struct osr_search *search, enum osr_heuristic heuristic)
{
	struct osr_arena_mark mark = osr_arena_mark(search->scratch);
	uint32_t n = search->fabric->n_channels;
	struct cycles cycles = { .search = search,
				 .heuristic = heuristic,
				 .place = osr_calloc(search->scratch, n, sizeof(*cycles.place)),
				 .stack = osr_alloc(search->scratch, n, sizeof(*cycles.stack)),
				 .edge = osr_alloc(search->scratch, n, sizeof(*cycles.edge)) };

	if (osr_arena_failed(search->scratch, search->diag))
		return OSR_NOMEM;
	for (uint32_t c = 0; c < n; c++)
		if (cycles.place[c] != DONE)
			search_from(&cycles, c);
	osr_arena_reset(search->scratch, mark);
	return OSR_OK;
}

/* ---- route by route -------------------------------------------------------------------------- */

/*
 * Routes from switch a to the LIDs behind switch b, or to d alone; false: one of them closes a
 * cycle.
 */
static bool online_add(const struct osr_search *search, struct osr_order *nodes, uint32_t layer,
		       uint32_t a, uint32_t b, uint32_t d)
{
	const struct osr_spf *spf = search->spf;

	for (uint32_t k = spf->dest_row[b]; k < spf->dest_row[b + 1]; k++) {
		uint32_t e = spf->dest_list[k], c, on;

		if ((d != OSR_NONE && d != e) || spf->alias[e] != OSR_NONE ||
		    !osr_search_counts(search, e, a))
			continue;
		for (c = osr_spf_channel(spf, e, a); search->fabric->chan_dst[c] != b; c = on) {
			on = osr_spf_channel(spf, e, search->fabric->chan_dst[c]);
			if (!osr_order_add(nodes, c, on, (uint16_t)(1u << layer)))
				return false;
		}
	}
	return true;
}

enum osr_status osr_layers_online(struct osr_search *search, const uint32_t *mcast, uint32_t limit,
				  bool pairs, uint32_t *orders, uint32_t *n_layers)
{
	const struct osr_spf *spf = search->spf;
	const struct osr_fabric *fabric = search->fabric;
	size_t n_nodes = limit * (size_t)fabric->n_channels;
	uint32_t *keys = osr_calloc(search->scratch, n_nodes, sizeof(*keys));
	struct osr_order nodes;
	bool fits = true;
	enum osr_status st;

	if (osr_arena_failed(search->scratch, search->diag))
		return OSR_NOMEM;
	/* A unit has each turn once at most. */
	st = osr_order_init(&nodes, fabric, limit, false, keys, osr_n_turns(search->fabric),
			    search->scratch, search->diag);
	if (st)
		return st;
	nodes.max_work = UINT64_MAX;
	*n_layers = 1;
	/* The dependencies of multicast come first, in the first layer; they have no cycle. */
	if (mcast) {
		memset(search->weights.weight, 0,
		       osr_n_turns(search->fabric) * sizeof(*search->weights.weight));
		osr_span_weigh(mcast, &search->weights);
		OSR_EVERY_CHANNEL(c, fabric)
			for (uint32_t t = search->fabric->turn_row[c];
			     t < search->fabric->turn_row[c + 1]; t++)
				if (search->weights.weight[t])
					osr_order_add(&nodes, c,
						      osr_turn_next(search->fabric, c, t), 1);
	}
	/*
	 * Destination after destination, nearest switches first; a pair by its higher switch if
	 * both have LIDs.
	 */
	OSR_EACH_DEST(d, fabric) {
		if (!fits)
			break;

		uint32_t root = fabric->dest_switch[d];
		const uint16_t *order = spf->order + (size_t)root * fabric->n_switches;

		if (spf->alias[d] != OSR_NONE ||
		    (pairs && spf->dest_list[spf->dest_row[root]] != d))
			continue;
		for (uint32_t i = 1; i < spf->n_order[root]; i++) {
			if (!fits)
				break;

			uint32_t v = order[i], layer = 0;
			bool later = pairs && v > root && spf->dest_row[v] < spf->dest_row[v + 1];

			if (later || (!pairs && !osr_search_counts(search, d, v)))
				continue;
			/* The first layer that takes all. */
			for (fits = false; !fits && layer < limit; layer++) {
				osr_order_begin(&nodes);
				fits = online_add(search, &nodes, layer, v, root,
						  pairs ? OSR_NONE : d) &&
				       (!pairs ||
					online_add(search, &nodes, layer, root, v, OSR_NONE));
				if (!fits)
					osr_order_undo(&nodes, 0);
			}
			*n_layers = fits && layer > *n_layers ? layer : *n_layers;
		}
	}
	memcpy(orders, nodes.rank, n_nodes * sizeof(*orders));
	return fits ? OSR_OK : OSR_NO_VL;
}

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * search.h - routes that are legal in an order of nodes: shortest legal ones, then detours, then
 * the escape tree.
 *
 * A node is (lane, channel), and all of them have a rank. A scheme L(turn, lane) says on which lane
 * a packet goes on:
 *	by SL (search_sl.c)	L(t, l) = l		the SL chooses l among all lanes
 *	by turn (turn.h)	L(t, l) = lane[t]	what hosts send is on lane 0
 * A route is legal from lane l if the ranks of its nodes rise. A tree is built from its root
 * outwards. For channel c0, by which a switch would attach to one that goes on by c1, with t = (c0,
 * c1), the route is legal from the lanes
 *	start(c0) = { l : rank(l, c0) < rank(L(t, l), c1) and L(t, l) in start(c1) }
 * and from all lanes where c0 ends at the root. That is one look at each neighbour, whatever the
 * length of the route: order.rises[t] holds the lanes of the first condition, mask[] start() of
 * each switch's own channel.
 *
 * The escape tree is a spanning tree on which every path rises, up to the top and down again. What
 * finds no legal route goes along it, so every switch of a component gets a route.
 */
#ifndef OSR_SEARCH_H
#define OSR_SEARCH_H

#include "core/order/fit.h"
#include "core/order/order.h"
#include "core/route/tree.h"

#include "../paths/spf_private.h"

#define OSR_SEARCH_ROUNDS 10 /* of routing and improving the order */

struct osr_search {
	struct osr_spf *spf;
	const struct osr_fabric *fabric;
	struct osr_arena *scratch;
	struct osr_diag *diag;

	struct osr_order order;     /* and the scheme of lanes */
	struct osr_weights weights; /* of turns, for a better order */
	uint32_t *n_used; /* [n_turns] by turn: routes that take each turn: osr_turn_count_used() */

	/* Routes. */
	uint8_t *mask; /* [n_switches] of the tree at hand: the lanes from which a route is legal */
	uint8_t *masks;     /* [n_dests * n_switches] by SL: of all trees */
	uint8_t *detoured;  /* [n_dests] the tree may have routes longer than minimal */
	uint32_t *escape;   /* [n_switches] channel to the parent in the escape tree */
	uint32_t n_sampled; /* LIDs of each switch that rounds look at */
	uint64_t n_failed;  /* routes without a legal shortest path in this round */
	uint32_t boost;     /* weight of such a route when the order is improved */

	/* Of the tree at hand. */
	uint32_t *len;         /* [n_switches] channels to the root; OSR_NONE: not attached */
	uint32_t *head, *link; /* [n_switches + 1], [n_switches] lists of some switches by len */
	uint64_t *key;         /* [n_switches] best way to attach */
	uint32_t *waiting;     /* [n_switches] switches that got a key at this length */
	uint8_t *new_mask;     /* [n_switches] */
	uint8_t *escape_hop;   /* [n_switches] towards the root of the dest */
	struct osr_tree tree;  /* osr_search_trace() */
	uint8_t *saved;        /* [n_switches] a tree that may come back */

	/* By turn: turn.h. */
	uint32_t n_classes; /* of SLs, with n_lanes each */
	uint8_t *pinned;    /* [n_turns] turns of the escape tree: lane and direction stay */
	/* [n_turns + 1] triples (c0, c1, c2) by their first turn, if that begins a shortest path of them */
	uint32_t *triple_row;
	uint32_t *triple; /* [n_triples] weight of the routes on it; odd: on some shortest path */
	uint64_t *cost;   /* [n_lanes * OSR_TURN_HOPS] */
};

/* Must v have a legal route to d? By SL nothing is sent from one switch's port 0 to another's. */
static inline bool osr_search_counts(const struct osr_search *search, uint32_t d, uint32_t v)
{
	return search->order.lane || search->fabric->sw_sources[v] ||
	       search->fabric->term_role[search->fabric->dest_term[d]] != OSR_ROLE_SP0;
}

/*
 * The caller has set spf, fabric, scratch, diag, order.n_lanes and, by SL, order.rank and masks;
 * everything else is 0. Allocates the rest, by_turn with the lanes of turns, and pinned.
 */
enum osr_status osr_search_init(struct osr_search *search, bool by_turn);

/* Which trees a round routes, and how. */
enum osr_search_mode {
	OSR_SEARCH_ALL,    /* routes all again */
	OSR_SEARCH_REPAIR, /* trees with illegal routes, if fewer are illegal after it */
	OSR_SEARCH_DETOUR, /* the same; on several lanes legal hops stay; then detours */
	OSR_SEARCH_MEND,   /* only detours */
};

/* One tree. *laid_out: the switch of the graph at hand, OSR_NONE at first. */
void osr_search_route(struct osr_search *search, uint32_t d, enum osr_search_mode mode,
		      uint32_t *laid_out);

/* Routes all trees of the sample; n_failed counts. */
void osr_search_route_all(struct osr_search *search, enum osr_search_mode mode);

/* By turn: adds (1) or takes out (-1) the turns of d's tree in n_used. */
void osr_search_use(struct osr_search *search, uint32_t d, uint32_t sign);

/* Routes of trees that are not legal as they stand, of the sample; sets all masks by SL. */
uint64_t osr_search_count_failed(const struct osr_search *search);

/*
 * Rounds of routing and of improving the order. They end when every route is legal, when the order
 * gets no better, or when more than `most` routes are not legal. `all`: the first round routes all
 * trees again, otherwise only trees with illegal routes. Leaves the best order and lanes seen, in
 * which *least routes had no legal way.
 */
enum osr_status osr_search_rounds(struct osr_search *search, uint32_t max_rounds, bool all,
				  uint64_t most, uint64_t *least);

/*
 * Is the tree of the k-th LID of dest_list in the sample? LIDs that share another one's tree are
 * not.
 */
static inline bool osr_search_takes(const struct osr_search *search, uint32_t k)
{
	uint32_t d = search->spf->dest_list[k];

	return search->spf->alias[d] == OSR_NONE &&
	       k - search->spf->dest_row[search->fabric->dest_switch[d]] < search->n_sampled;
}

/* Routes of trees of the sample, LIDs that share one counted once, as in n_failed. */
uint64_t osr_search_n_routes(const struct osr_search *search);

/*
 * A better order for the routes as they are, in search_sl.c and in turn_order.c. Lanes by turn come
 * first, and osr_order_set_rises() is done.
 */
enum osr_status osr_search_improve_sl(struct osr_search *search);
enum osr_status osr_search_improve_turn(struct osr_search *search);

/* ---- search_tree.c: one tree ----------------------------------------------------------------- */

/* From here on search->mask is the row of d. */
static inline void osr_search_aim(struct osr_search *search, uint32_t d)
{
	if (search->masks)
		search->mask = search->masks + (size_t)d * search->fabric->n_switches;
}

/*
 * Shortest routes to d: the least loaded legal ones. With `keep`, hops that are legal stay.
 * osr_spf_graph() of the root comes first. Returns how many switches have no legal one.
 */
uint32_t osr_search_settle(struct osr_search *search, uint32_t root, uint32_t d, bool keep);

/* Masks of a tree of shortest routes as it is; how many are 0. */
uint32_t osr_search_mark(struct osr_search *search, uint32_t d);

/*
 * The length and weight of each switch's route, if it is legal, else OSR_NONE; sets all masks, 0
 * where none is.
 */
void osr_search_list(struct osr_search *search, uint32_t root, const uint8_t *hop);

/*
 * Lays out d's tree, which is complete, in search->tree; returns how many of its routes are longer
 * than they need be.
 */
uint32_t osr_search_trace(struct osr_search *search, uint32_t root, uint32_t d);

/* Routes of all trees that are longer than minimal. */
uint32_t osr_search_count_longer(struct osr_search *search);

/*
 * Completes a tree in which some switches have no legal route. They attach over longer ways to
 * switches with a legal route. As long as one switch cannot attach, one more goes along the escape
 * tree. `keep`: an entry that no packet's route passes stays unchanged, legal or not.
 */
void osr_search_detour(struct osr_search *search, uint32_t root, uint32_t d, bool keep);

/*
 * Balance: entries leave the busiest channels for legal routes of the same length; if `spare` is
 * not 0, at most `spare` routes may get longer. It ends when no channel carries more than `enough`,
 * or more than 1.04 times the mean. By SL the masks of all trees must be set.
 */
void osr_search_ease(struct osr_search *search, uint64_t enough, uint64_t spare);

/*
 * The lanes from which a route is legal that begins with channel c and goes on into a tree whose
 * hops and masks are known from the far end of c on: start(c). By turn it is 0 where lane 0 is not
 * among them: hosts begin there.
 */
static inline __attribute__((always_inline)) uint8_t
osr_search_start_by(const struct osr_search *search, const uint8_t *hop, uint32_t root, uint32_t c,
		    bool by_turn)
{
	uint32_t u = search->fabric->chan_dst[c];

	if (u == root)
		return search->order.all;
	/* No legal route: its hop leads nowhere. */
	return search->mask[u]
		       ? osr_order_enter(&search->order, search->fabric->turn_row[c] + hop[u],
					 search->mask[u], by_turn)
		       : 0;
}

static inline uint8_t osr_search_start(const struct osr_search *search, const uint8_t *hop,
				       uint32_t root, uint32_t c)
{
	return osr_search_start_by(search, hop, root, c, search->order.lane != NULL);
}

#endif

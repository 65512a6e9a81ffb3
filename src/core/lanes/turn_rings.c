/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Lanes by turn for products with rings (tori): dimension order behind a first hop that is free,
 * where no packet goes straight on over three certain channels of a ring. docs/theory.md ("Gates of
 * rings") says why, and what the order is.
 *
 * In each direction of a ring one triple stays unused: rising n - 1, 0, 1, 2, falling 0, n - 1, n -
 * 2, n - 3. Its second channel is a gate. Lane 0 is for the first channel of a route, lane 1 for
 * all others, and lane 2 for gates that packets come to straight on. With two lanes there is no
 * lane 1 of gates but their lane 0, and lane 1 for lane 2.
 *
 * A packet that would need the triple goes a step in another dimension first, if the destination
 * lies there too: gates of neighbouring rings are not at the same place. Trees follow dimension
 * order where that is legal.
 */
#include <string.h>

#include <osmroutes/each.h>
#include <osmroutes/product.h>
#include "core/route/span.h"

#include "lanes_private.h"
#include "turn.h"

/*
 * Percent of the least possible load on the busiest channel: the aim, the load that is accepted,
 * and the start from which easing does not reach 1.1 times on whole products. With a ring of more
 * than ten it never did, from any start.
 */
#define RINGS_LOAD 108
#define RINGS_EVEN 200
#define RINGS_HOPELESS 138
#define RINGS_LONG 10

struct turn_rings {
	struct osr_search *search;
	const struct osr_product *product;
	uint8_t *gate; /* [n_channels] */
};

/* ---- rings ----------------------------------------------------------------------------------- */

/*
 * Where switch v is on its ring: 0 at one end of the cable between both gates, n - 1 at the other
 * one. A third of a ring from dimension to dimension keeps gates of one dimension away from where
 * routes change to the next.
 *
 * For each step in another dimension the zero moves. A shortest route takes up to k = (n - 1) / 2
 * channels of a ring. It holds the unused triple of its direction if that begins with the route's
 * 1st, 2nd, ... or (k - 2)th channel, so these routes begin at k - 2 places, one behind the other.
 * With gates that are k - 2 places further on the ring beside has its own behind these: a route
 * that needs the triple here does not need it there. At least 1, so that gates of rings side by
 * side never lie at the same place.
 */
static uint32_t rings_place(const struct turn_rings *turn_rings, uint32_t v, uint32_t dim)
{
	const uint16_t *coord = osr_product_coord(turn_rings->product, v);
	uint32_t n = turn_rings->product->size[dim], k = (n - 1) / 2, others = 0;

	for (uint32_t i = 0; i < turn_rings->product->n_dims; i++)
		others += i != dim ? coord[i] : 0;
	return (coord[dim] + others * (k > 3 ? k - 2 : 1) + dim * (n / 3)) % n;
}

/*
 * The escape tree. Away from its root dimensions rise, as on routes; towards it they fall. It does
 * not take the cable between the gates of a ring, unless another cable of that ring is missing,
 * which then breaks the ring's cycle in its place. In every ring gates lead towards the root. Where
 * that leaves switches out, a lower dimension comes last. False: there is no such tree.
 */
static bool rings_spread(struct turn_rings *turn_rings)
{
	const struct osr_product *product = turn_rings->product;
	struct osr_search *search = turn_rings->search;
	const struct osr_fabric *fabric = search->fabric;
	uint32_t *tree = search->waiting, n = 0;

	memset(search->escape, 0xff, fabric->n_switches * sizeof(*search->escape));
	OSR_EACH_SWITCH(v, fabric) {
		bool root = true;

		for (uint32_t i = 0; i < product->n_dims; i++) {
			uint32_t size = product->size[i], at = size / 2;

			if (product->factor[i] == OSR_FACTOR_CLIQUE)
				at = 0;
			else if (product->factor[i] == OSR_FACTOR_RING)
				at += size / 4;
			root &= osr_product_coord(product, v)[i] == at;
		}
		if (root)
			tree[n++] = v;
	}
	/*
	 * Along each dimension from the switches in the tree, around the gates at last; and once
	 * more.
	 */
	for (uint32_t pass = 0; pass < 4 * product->n_dims; pass++)
		for (uint32_t k = 0, dim = pass / 2 % product->n_dims; k < n; k++)
			for (uint32_t v = tree[k], c = fabric->chan_row[v];
			     c < fabric->chan_row[v + 1]; c++) {
				uint32_t u = fabric->chan_dst[c],
					 gap = rings_place(turn_rings, v, dim) + 1 -
					       rings_place(turn_rings, u, dim);

				if (product->chan_dim[c] != dim || search->escape[u] != OSR_NONE ||
				    u == tree[0] ||
				    (pass % 2 == 0 && product->factor[dim] == OSR_FACTOR_RING &&
				     gap > 2))
					continue;
				search->escape[u] = fabric->chan_rev[c];
				tree[n++] = u;
			}
	osr_turn_pin(search);
	return n == fabric->n_switches;
}

/* ---- lanes and order ------------------------------------------------------------------------- */

/*
 * The lanes of c1 from which a packet may go on by c2; its own switch is never the next one.
 *  - Into a lower dimension only from lane 0, which lies below all: a route's first hop is free.
 *    With two lanes a gate's lane 0 lies where its lane 1 would be, so no route begins with a gate
 *    and then goes into a lower dimension.
 *  - Into a higher dimension from every lane: dimensions follow each other in the order.
 *  - Straight on within a ring or line from every lane, but for gates on their highest one: packets
 *    that came straight on to a gate would hold the triple. In a clique nothing goes on.
 */
static uint16_t rings_feed(const struct turn_rings *turn_rings, uint32_t c1, uint32_t c2)
{
	uint32_t dim = turn_rings->product->chan_dim[c1], next = turn_rings->product->chan_dim[c2],
		 n_lanes = turn_rings->search->order.n_lanes;

	if (c2 == turn_rings->search->fabric->chan_rev[c1])
		return 0;
	if (next < dim)
		return n_lanes > 2 || !turn_rings->gate[c1];
	if (next > dim)
		return 7;
	if (turn_rings->product->factor[dim] == OSR_FACTOR_CLIQUE)
		return 0;
	return turn_rings->gate[c1] ? (uint16_t)(1 << (n_lanes - 1)) - 1 : 7;
}

/* Lanes, and an order in which every legal turn rises. False: no such order, or memory ran out. */
static bool rings_order(struct turn_rings *turn_rings)
{
	struct osr_search *search = turn_rings->search;
	const struct osr_fabric *fabric = search->fabric;
	struct osr_weights nodes = osr_turn_nodes(search);

	if (!nodes.weight)
		return false;
	/*
	 * Gates are 0 -> 1 and n - 1 -> n - 2: the second channels of the triples that stay unused.
	 */
	OSR_EVERY_CHANNEL(c, fabric) {
		uint32_t dim = turn_rings->product->chan_dim[c], n = turn_rings->product->size[dim],
			 from = rings_place(turn_rings, fabric->chan_src[c], dim),
			 to = rings_place(turn_rings, fabric->chan_dst[c], dim);

		turn_rings->gate[c] = turn_rings->product->factor[dim] == OSR_FACTOR_RING &&
				      ((from == 0 && to == 1) || (from == n - 1 && to == n - 2));
	}
	OSR_EVERY_CHANNEL(c1, fabric)
		OSR_EACH_TURN(t, search->fabric, c1) {
			uint32_t c2 = osr_turn_next(search->fabric, c1, t);
			bool straight = turn_rings->product->chan_dim[c1] ==
					turn_rings->product->chan_dim[c2];

			search->order.lane[t] =
				(uint8_t)(search->order.n_lanes == 2
						  ? !turn_rings->gate[c2] || straight
						  : 1 + (turn_rings->gate[c2] && straight));
			for (uint32_t l = 0; l < search->order.n_lanes; l++)
				nodes.weight[(size_t)l * osr_n_turns(search->fabric) + t] =
					rings_feed(turn_rings, c1, c2) >> l & 1;
		}
	/* The turns of multicast are legal, too. */
	OSR_EVERY_CHANNEL(c1, fabric)
		OSR_EACH_TURN(t, search->fabric, c1) {
			uint32_t c2 = osr_turn_next(search->fabric, c1, t),
				 *on = nodes.weight +
				       (size_t)search->order.lane[t] * osr_n_turns(search->fabric);

			nodes.weight[t] |= search->pinned[t];
			if (search->pinned[t])
				for (uint32_t next = search->fabric->turn_row[c2];
				     next < search->fabric->turn_row[c2 + 1]; next++)
					on[next] |= search->pinned[next];
		}
	return osr_fit_sort(&nodes, search->scratch, search->order.rank);
}

/* ---- routes ---------------------------------------------------------------------------------- */

/*
 * Does v, opposite its destination in a ring of n, go around it the rising way? Both ways have n /
 * 2 channels. With q the place modulo n / 2, the rising way holds the triple n - 1, 0, 1, 2 only
 * from the upper half of places, where q >= 2; the falling way 0, n - 1, n - 2, n - 3 only from the
 * lower half, where q <= n / 2 - 3. So the quarter behind the gate at 0 rises and the quarter
 * before the gate at n - 1 falls, whatever n is. The other two quarters do as these, which loads
 * both directions alike; where the triple is in the way the search takes the other way. A place in
 * the middle, where n / 4 is no whole number, goes by turns from ring to ring (`others`).
 */
static bool rings_rises(uint32_t place, uint32_t n, uint32_t others)
{
	return 4 * (place % (n / 2)) + 2 + others % 2 <= n;
}

/*
 * Dimension order: the hop of each switch towards root, or OSR_NO_PATH where the cable is missing.
 */
static void rings_mean(const struct turn_rings *turn_rings, uint32_t root, uint8_t *hop)
{
	const struct osr_product *product = turn_rings->product;
	const struct osr_fabric *fabric = turn_rings->search->fabric;
	const uint16_t *to = osr_product_coord(product, root);

	memset(hop, OSR_NO_PATH, fabric->n_switches);
	OSR_EACH_SWITCH(v, fabric) {
		const uint16_t *from = osr_product_coord(product, v);
		uint32_t dim = 0, n, up, next, others = 0;
		bool rises;

		if (v == root)
			continue;
		while (from[dim] == to[dim])
			dim++;
		n = product->size[dim];
		up = (to[dim] + n - from[dim]) % n;
		for (uint32_t i = 0; i < product->n_dims; i++)
			others += i != dim ? from[i] + to[i] : 0;
		rises = 2 * up < n;
		if (2 * up == n)
			rises = rings_rises(rings_place(turn_rings, v, dim), n, others);
		if (product->factor[dim] == OSR_FACTOR_PATH)
			rises = from[dim] < to[dim];
		next = rises ? 1 : n - 1;
		if (product->factor[dim] == OSR_FACTOR_CLIQUE)
			next = up;
		next = (from[dim] + next) % n;
		OSR_EACH_CHANNEL(c, fabric, v)
			if (product->chan_dim[c] == dim &&
			    osr_product_coord(product, fabric->chan_dst[c])[dim] == next)
				hop[v] = (uint8_t)(c - fabric->chan_row[v]);
	}
}

/*
 * Routes of all LIDs and their loads, in dimension order. A route that is not legal, or has no
 * cable, takes the lightest of the shortest legal ways. The LIDs of a switch share a tree.
 */
static void rings_route(struct turn_rings *turn_rings)
{
	struct osr_search *search = turn_rings->search;
	const struct osr_fabric *fabric = search->fabric;
	struct osr_spf *spf = search->spf;
	size_t n = fabric->n_switches;

	osr_spf_forget(spf);
	for (uint32_t root = 0; root < n; root++) {
		const uint32_t *dest = spf->dest_list + spf->dest_row[root];
		uint32_t n_longer, n_dests = spf->dest_row[root + 1] - spf->dest_row[root];
		uint8_t *hop = spf->hop + (n_dests ? *dest * n : 0);

		if (!n_dests)
			continue;
		rings_mean(turn_rings, root, hop);
		osr_search_detour(search, root, *dest, false);
		n_longer = osr_search_trace(search, root, *dest);
		for (uint32_t k = 0; k < n_dests; k++) {
			search->detoured[dest[k]] = n_longer != 0;
			if (k)
				memcpy(spf->hop + dest[k] * n, hop, n);
			if (fabric->term_weight[fabric->dest_term[dest[k]]])
				osr_spf_count_order(spf, search->tree.near_first, search->tree.n,
						    hop, 1);
		}
	}
}

enum osr_status osr_turn_rings(struct osr_lanes_job *job, bool *routed)
{
	struct osr_arena_mark mark = osr_arena_mark(job->scratch);
	const struct osr_product *product = job->product;
	struct osr_spf *spf = job->spf;
	uint64_t least, n_routes = (uint64_t)spf->fabric->n_dests * spf->fabric->n_switches;
	struct osr_search *search = osr_calloc(job->scratch, 1, sizeof(*search));
	struct turn_rings turn_rings = { search, product,
					 osr_alloc(job->scratch, spf->fabric->n_channels, 1) };
	struct osr_turn_result turn = { .search = search };
	bool must = job->opt->any_sl != OSR_ANY_SL_AUTO, made, cheap;
	enum osr_status st;

	*routed = false;
	if (osr_arena_failed(job->scratch, NULL))
		return osr_turn_nomem(job->diag);
	/* Rings are the first dimensions, and the longest one is dimension 0. */
	made = product && (!osr_product_is_whole(product) ||
			   (product->n_rings && (must || product->size[0] <= RINGS_LONG)));
	/* A ring alone has no other dimension that lane 2 would go on into. */
	st = made ? osr_turn_init(search, job, product->n_dims > 1 ? 3 : 2) : OSR_OK;
	if (st)
		return st;
	made = made && rings_spread(&turn_rings) && rings_order(&turn_rings);
	if (osr_arena_failed(job->scratch, job->diag))
		return OSR_NOMEM;
	if (!made) {
		osr_arena_reset(job->scratch, mark);
		return OSR_OK;
	}
	osr_order_set_rises(&search->order);
	rings_route(&turn_rings);
	turn.n_longer = osr_search_count_longer(search);
	least = osr_dor_least(spf, product);
	made = must || !osr_product_is_whole(product) ||
	       osr_spf_load(spf) * 100 <= least * RINGS_HOPELESS;
	if (made)
		osr_search_ease(search, least * RINGS_LOAD / 100,
				osr_turn_spare(search, job->opt, turn.n_longer));
	turn.n_longer = osr_search_count_longer(search);
	turn.load = osr_spf_load(spf);
	job->load = least;
	made &= turn.load * 100 <= least * RINGS_EVEN;
	if (made)
		st = osr_spf_save(spf, job->scratch, &turn.paths, job->diag);
	/* The job has no routes, as before. */
	memset(spf->hop, OSR_NO_PATH, n_routes);
	osr_spf_forget(spf);
	if (st || !made) {
		osr_arena_reset(job->scratch, mark);
		return st;
	}
	job->turn = turn;
	/*
	 * Do they cost so little that lanes by SL need not be asked? These carry at least `least`,
	 * which is not exact on lines, less what longer routes add to it: under 1 % if no more than
	 * 1 % are longer.
	 */
	cheap = (uint64_t)turn.n_longer * 100 <= n_routes * (job->opt->any_sl_cost != 0) &&
		turn.load * 100 <= least * 109;
	for (uint32_t i = 0; i < product->n_dims; i++)
		cheap &= product->factor[i] != OSR_FACTOR_PATH;
	*routed = must || cheap;
	return *routed ? osr_turn_take(job) : OSR_OK;
}

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * How a whole product is routed, from its shape alone: the order of dimensions, which way around
 * rings, service levels, and the virtual lane of each service level on each channel.
 *
 * Source: Mukosey, Semenov, Tretiakov: Optimized Graph Based Routing Algorithm for the Angara
 * Interconnect: direction order, direction bits, steps in front of a route where they close no
 * cycle (section 3). The order of directions is +X -X +Y -Y ...; DIFFERS from the paper's (first
 * all positive ones, then all negative), which loads the outer rows of lines with nearly twice
 * their mean, and has no way on where a ring is interrupted. DIFFERS too: InfiniBand has no bubble
 * rule, so service levels say which datelines a route crosses; and a route is known at every switch
 * on its way, so that those of a LID form a tree.
 *
 * A packet uses the dimensions in a fixed order, in each of them one direction only (the direction
 * bits of the paper). Within a ring of 5 or more, packets would wait for each other in a circle; so
 * its lanes are two. A service level is a number with one digit for each such ring, its *state*:
 *	0	the route does not cross the ring's dateline, the link between places n-1 and 0:
 *		lane 0, which no packet uses on that link
 *	1	it does: lane 1. No shortest way across the dateline uses the link between n/2 - 1
 *		and n/2 as well, so lane 1 also has an unused link
 *	2, 3	see below
 * The route from b to a crosses the dateline if the one from a to b does; so replies are safe on
 * the service level of their request, if opposite places of a ring go opposite ways. Which way is
 * decided by a parity over the coordinates in later dimensions, which both ends see alike, so that
 * half the pairs go either way.
 *
 * In the last dimension nothing is left to tell, and choosing by the two places alone leaves links
 * above the mean, in rings of 6 and 8 more than 10 %. There, opposite places go the same way, even
 * ones up, odd ones down: as far as 16 service levels go, states 2, 3, ... stand for two opposite
 * pairs each, and the lane follows from where on the ring the packet is: one of the two routes of a
 * pair lies on one side of it, the other on the other.
 *
 * In rings of 6, 10, ... one pair is left over, for which half the LIDs of a switch go up and half
 * down: variants 0 and 1. Of an odd number of LIDs one remains, variant 2. In tori of sixes, some
 * routes to it step along the last dimension first, the way that its others do not go.
 */
#include <stdlib.h>
#include <string.h>

#include <osmroutes/each.h>
#include <osmroutes/product.h>

#include "core/route/span.h"

#include "../paths/spf_private.h"
#include "lanes_private.h"

#define DOR_SLS 16

struct dor_plan {
	const struct osr_product *product;
	uint8_t order[OSR_MAX_DIMS];  /* dimensions as packets use them */
	uint8_t turn[OSR_MAX_DIMS];   /* the inverse: when a dimension has its turn */
	uint8_t weight[OSR_MAX_DIMS]; /* of the digit; 0: none */
	uint8_t n_states[OSR_MAX_DIMS];
	uint8_t n_sls;
	uint8_t n_variants; /* 2: the LIDs of a switch do not all take the same way */
};

#define UP 0
#define DOWN 1

/* ---- the plan -------------------------------------------------------------------------------- */

/*
 * Rings come first, because the dimensions after them help to decide. The rings that need this help
 * most lead.
 */
static uint32_t need(const struct osr_product *product, uint32_t i)
{
	if (product->factor[i] != OSR_FACTOR_RING)
		return 0;
	if (product->size[i] % 2)
		return 1;
	return product->size[i] <= 8 ? 3 : 2;
}

/* Of a whole product. False if the service levels do not suffice: more than four rings. */
static bool dor_make_plan(const struct osr_product *product, struct dor_plan *plan)
{
	uint32_t weight = 1, last, n, n_states;

	*plan = (struct dor_plan){ .product = product, .n_variants = 1 };
	if (product->n_rings > 4)
		return false;
	for (uint32_t i = 0; i < product->n_dims; i++) {
		for (uint32_t j = 0; j < product->n_dims; j++)
			plan->turn[i] += need(product, j) > need(product, i) ||
					 (need(product, j) == need(product, i) && j < i);
		plan->order[plan->turn[i]] = (uint8_t)i;
		plan->n_states[i] = product->factor[i] == OSR_FACTOR_RING ? 2 : 1;
	}
	/*
	 * In the last dimension a state of its own for opposite pairs 2k and 2k + 1, as far as the
	 * SLs go.
	 */
	plan->n_sls = (uint8_t)(1u << product->n_rings);
	last = plan->order[product->n_dims - 1];
	n = product->size[last];
	n_states = 2 + (n + 3) / 4;
	if (product->factor[last] == OSR_FACTOR_RING && n % 2 == 0 &&
	    plan->n_sls / 2u * n_states <= DOR_SLS) {
		plan->n_states[last] = (uint8_t)n_states;
		plan->n_sls = (uint8_t)(plan->n_sls / 2u * n_states);
		plan->n_variants = n % 4 ? 2 : 1;
	}
	for (uint32_t i = 0; i < product->n_dims; i++) {
		plan->weight[i] = plan->n_states[i] > 1 ? (uint8_t)weight : 0;
		weight *= plan->n_states[i];
	}
	return true;
}

/* ---- ways ------------------------------------------------------------------------------------ */

/* From a place to the opposite one of a ring. */
static uint32_t way_across(const struct dor_plan *plan, uint32_t i, const uint16_t *from,
			   const uint16_t *to, uint32_t variant)
{
	uint32_t half = plan->product->size[i] / 2, low = from[i] % half, sum = 0;

	if (plan->n_states[i] > 2 && half % 2 && low == half - 1)
		return variant < 2 ? variant : from[i] == low;
	if (plan->n_states[i] > 2)
		return low % 2;
	/* Seen alike from both ends, and while dimension i has its turn. */
	for (uint32_t k = plan->turn[i] + 1u; k < plan->product->n_dims; k++)
		sum += from[plan->order[k]] + to[plan->order[k]];
	return (low + sum + (from[i] >= half)) % 2;
}

static uint32_t way_around(const struct dor_plan *plan, uint32_t i, const uint16_t *from,
			   const uint16_t *to, uint32_t variant)
{
	uint32_t n = plan->product->size[i], up = (to[i] + n - from[i]) % n;

	if (2 * up == n)
		return way_across(plan, i, from, to, variant);
	return 2 * up < n ? UP : DOWN;
}

/*
 * Outwards, all routes of an opposite plane would come to the LID by the same three links. Routes
 * that come through a corner next to its column turn off there, to the plane next to it. They load
 * as few links of other dimensions as possible, because only their last hop in each dimension moves
 * with them. With one other dimension there is no corner; then routes turn off on the side from
 * which 2 of 6 come, not 3. Such a step leads towards the middle on lane 0, where it fits in front
 * of every other step.
 */
static bool turns_off_early(const struct dor_plan *plan, const uint16_t *from, const uint16_t *to,
			    uint32_t variant)
{
	const struct osr_product *product = plan->product;
	uint32_t last = plan->order[product->n_dims - 1], n_beside = 0;

	for (uint32_t i = 0; i < product->n_dims; i++)
		if (product->size[i] != 6 || product->factor[i] != OSR_FACTOR_RING)
			return false;
	if (variant != 2 || product->n_dims < 2 || to[last] % 3 != 2 ||
	    from[last] != (to[last] + 3) % 6)
		return false;
	for (uint32_t k = 0; k + 1 < product->n_dims; k++) {
		uint32_t i = plan->order[k], up = (from[i] + 6u - to[i]) % 6, odd = to[i] % 2;

		if (product->n_dims == 2)
			n_beside += up == (odd ? 5u : 1u);
		else
			n_beside += up == 1 || up == 5;
	}
	return n_beside == product->n_dims - 1;
}

/* The dimension in which packets leave `from`, and the coordinate there that is next. */
static uint32_t next_step(const struct dor_plan *plan, const uint16_t *from, const uint16_t *to,
			  uint32_t variant, uint32_t *next)
{
	const struct osr_product *product = plan->product;
	uint32_t k = 0, i, n, a, way;

	while (from[plan->order[k]] == to[plan->order[k]])
		k++;
	i = plan->order[k];
	a = from[i];
	way = product->factor[i] == OSR_FACTOR_RING ? way_around(plan, i, from, to, variant)
						    : a > to[i];
	if (turns_off_early(plan, from, to, variant)) {
		i = plan->order[product->n_dims - 1];
		a = from[i];
		way = a == 2 ? UP : DOWN;
	}
	n = product->size[i];
	if (product->factor[i] == OSR_FACTOR_CLIQUE)
		*next = to[i];
	else
		*next = (a + (way == UP ? 1 : n - 1)) % n;
	return i;
}

/*
 * One of the parallel channels of switch v to coordinate x of a dimension, as a hop; that cable
 * must be there.
 */
static uint8_t dor_hop(const struct osr_product *product, uint32_t v, uint32_t dim, uint32_t x,
		       uint32_t spread)
{
	const struct osr_fabric *fabric = product->fabric;
	uint32_t row = fabric->chan_row[v], n = fabric->chan_row[v + 1] - row, n_found = 0;
	uint8_t found[256] = { 0 };

	for (uint32_t hop = 0; hop < n; hop++)
		if (product->chan_dim[row + hop] == dim &&
		    osr_product_coord(product, fabric->chan_dst[row + hop])[dim] == x)
			found[n_found++] = (uint8_t)hop;
	return found[n_found > 1 ? spread % n_found : 0];
}

/* ---- lanes ----------------------------------------------------------------------------------- */

static uint32_t state(const struct dor_plan *plan, uint32_t i, const uint16_t *from,
		      const uint16_t *to)
{
	uint32_t n = plan->product->size[i], a = from[i], b = to[i];

	if (a == b)
		return 0;
	if (plan->n_states[i] > 2 && (a > b ? a - b : b - a) * 2 == n)
		return 2 + a % (n / 2) / 2;
	return way_around(plan, i, from, to, 0) == UP ? a > b : a < b;
}

/* The service level of packets from v to the LIDs of another switch: 0 to n_sls - 1. */
static uint8_t dor_sl(const struct dor_plan *plan, uint32_t v, uint32_t root)
{
	const uint16_t *from = osr_product_coord(plan->product, v),
		       *to = osr_product_coord(plan->product, root);
	uint32_t sl = 0;

	for (uint32_t i = 0; i < plan->product->n_dims; i++)
		if (plan->weight[i])
			sl += plan->weight[i] * state(plan, i, from, to);
	return (uint8_t)sl;
}

/*
 * The lane of a packet on channel c. SL n_sls is for pairs that a repair leaves no way on their
 * own: lane 1 anywhere.
 */
static uint32_t dor_lane(const struct dor_plan *plan, uint32_t c, uint32_t sl)
{
	const struct osr_product *product = plan->product;
	uint32_t i = product->chan_dim[c], n = product->size[i],
		 a = osr_product_coord(product, product->fabric->chan_src[c])[i],
		 b = osr_product_coord(product, product->fabric->chan_dst[c])[i],
		 way = (a + 1) % n == b ? UP : DOWN, low, link;

	if (sl == plan->n_sls)
		return 1;
	if (!plan->weight[i])
		return 0;
	sl = sl / plan->weight[i] % plan->n_states[i];
	if (sl < 2)
		return sl;
	/*
	 * The opposite pair of this state that goes this way; the one that is left over goes both
	 * ways. Of the two routes of a pair, the one that does not cross the dateline is on lane 0.
	 */
	low = 2 * (sl - 2) + way;
	low = low < n / 2 ? low : n / 2 - 1;
	link = way == UP ? a : b;
	return link < low || link >= low + n / 2;
}

/* ---- the order ------------------------------------------------------------------------------- */

/*
 * Keys are numbers of mixed radix, one digit for each dimension, the last one to have its turn
 * highest. A digit holds, one after the other: planes, and the channels that lead to the next plane
 * inwards; channels outwards; lane 1.
 */
struct key {
	uint64_t key;
	uint32_t node; /* lane * n_channels + channel */
};

static int compare_keys(const void *p, const void *q)
{
	const struct key *a = p, *b = q;

	if (a->key != b->key)
		return a->key < b->key ? -1 : 1;
	return a->node < b->node ? -1 : a->node > b->node;
}

static uint32_t from_middle(const struct osr_product *product, uint32_t i, uint32_t a)
{
	uint32_t middle = product->size[i] / 2;

	return a < middle ? middle - a : a - middle;
}

static uint32_t plane_digit(const struct osr_product *product, uint32_t i, uint32_t a)
{
	return 2 * (product->size[i] / 2 - from_middle(product, i, a));
}

/*
 * Of a channel from a to b; `crosses`: on the lane of routes across the dateline. In a clique only
 * multicast takes a second channel.
 */
static uint32_t own_digit(const struct osr_product *product, uint32_t i, uint32_t a, uint32_t b,
			  bool crosses)
{
	uint32_t n = product->size[i], out = 2 * (n / 2) + 2;

	/* From the link between n/2 - 1 and n/2 on, which no route across the dateline uses. */
	if (crosses)
		return out + n + 1 +
		       ((a + 1) % n == b ? (a + n - n / 2) % n : (n / 2 - 1 + n - a) % n);
	/* Across the dateline. A packet that arrives there continues in another dimension only. */
	if (product->factor[i] == OSR_FACTOR_RING && (a > b ? a - b : b - a) > 1)
		return out + n;
	if (from_middle(product, i, b) < from_middle(product, i, a))
		return plane_digit(product, i, a) + 1;
	return out + from_middle(product, i, a);
}

/*
 * The certificate of lanes 0 and 1, or of one lane without rings: rank[n_lanes * n_channels]. By
 * dimension, and within rings from the link that the lane does not use. Lane 0 is numbered inside
 * out, so that steps towards the middle of a later dimension may come in front of everything: a
 * first step, and all of multicast.
 */
static enum osr_status dor_rank(const struct dor_plan *plan, uint32_t n_lanes,
				struct osr_arena *scratch, uint32_t *rank, struct osr_diag *diag)
{
	const struct osr_product *product = plan->product;
	const struct osr_fabric *fabric = product->fabric;
	uint32_t m = fabric->n_channels, n_nodes = n_lanes * m;
	struct key *list = osr_alloc(scratch, n_nodes, sizeof(*list));

	if (!list)
		return osr_fail(diag, OSR_NOMEM, "out of memory for the order of %u channels", m);
	for (uint32_t node = 0; node < n_nodes; node++) {
		uint32_t c = node % m, i = product->chan_dim[c];
		const uint16_t *from = osr_product_coord(product, fabric->chan_src[c]),
			       *to = osr_product_coord(product, fabric->chan_dst[c]);
		uint64_t key = 0;

		for (uint32_t k = product->n_dims; k-- > plan->turn[i];) {
			uint32_t j = plan->order[k], n = product->size[j];

			key = key * (4 * n + 4) +
			      (j != i ? plane_digit(product, j, from[j])
				      : own_digit(product, i, from[i], to[i],
						  node >= m && plan->weight[i]));
		}
		for (uint32_t k = plan->turn[i]; k-- > 0;)
			key *= 4 * product->size[plan->order[k]] + 4;
		list[node] = (struct key){ key, node };
	}
	qsort(list, n_nodes, sizeof(*list), compare_keys);
	for (uint32_t k = 0; k < n_nodes; k++)
		rank[list[k].node] = k;
	return OSR_OK;
}

/*
 * On one lane with rings: dimensions in their order, rings from place 0 on both ways round, so that
 * no packet passes through it. rank[n_channels]. Few routes are not legal, and these are the other
 * way round.
 */
static void dor_ring_order(const struct dor_plan *plan, uint32_t *rank)
{
	const struct osr_product *product = plan->product;
	const struct osr_fabric *fabric = product->fabric;

	OSR_EVERY_CHANNEL(c, fabric) {
		uint32_t i = product->chan_dim[c], n = product->size[i],
			 a = osr_product_coord(product, fabric->chan_src[c])[i],
			 b = osr_product_coord(product, fabric->chan_dst[c])[i];

		rank[c] = 0;
		for (uint32_t k = 0; k < plan->turn[i]; k++)
			rank[c] += product->size[plan->order[k]];
		if (product->factor[i] == OSR_FACTOR_CLIQUE)
			continue;
		if ((a + 1) % n == b)
			rank[c] += a;
		else if (product->factor[i] == OSR_FACTOR_RING)
			rank[c] += (n - a) % n;
		else
			rank[c] += n - 1 - a;
	}
}

/*
 * A spanning tree inwards, to the middle of each dimension, all turns of which rise on lane 0:
 * parent[n_switches] channels.
 */
static void dor_tree(const struct dor_plan *plan, uint32_t *parent)
{
	const struct osr_product *product = plan->product;
	const struct osr_fabric *fabric = product->fabric;

	OSR_EACH_SWITCH(v, fabric) {
		const uint16_t *at = osr_product_coord(product, v);

		parent[v] = OSR_NONE;
		for (uint32_t k = product->n_dims; k-- > 0;) {
			if (parent[v] != OSR_NONE)
				break;

			uint32_t i = plan->order[k], middle = product->size[i] / 2, a = at[i];
			uint32_t next = a < middle ? a + 1 : a - 1;

			if (product->factor[i] == OSR_FACTOR_CLIQUE)
				next = middle;
			if (a != middle)
				parent[v] = fabric->chan_row[v] + dor_hop(product, v, i, next, 0);
		}
	}
}

uint64_t osr_dor_least(const struct osr_spf *spf, const struct osr_product *product)
{
	uint64_t sum[OSR_MAX_DIMS] = { 0 }, n[OSR_MAX_DIMS] = { 0 }, least = 0;

	for (uint32_t c = 0; c < spf->fabric->n_channels; c++) {
		sum[product->chan_dim[c]] += spf->weight[c] >> HOP_BITS;
		n[product->chan_dim[c]]++;
	}
	for (uint32_t i = 0; i < product->n_dims; i++) {
		if (!n[i])
			break;

		/* The middle of a line always carries more: at most 1.5 times the mean. */
		uint64_t mean =
			(product->factor[i] == OSR_FACTOR_PATH ? 3 : 2) * sum[i] / (2 * n[i]);

		least = mean > least ? mean : least;
	}
	return least;
}

enum osr_status osr_dor_find(struct osr_lanes_job *job)
{
	const struct osr_fabric *fabric = job->spf->fabric;
	struct osr_product *product = osr_alloc(job->scratch, 1, sizeof(*product));
	struct osr_diag why = { "" };
	enum osr_status st;

	if (job->spf->scratch->mixed)
		return OSR_OK;
	st = product ? osr_product_find(fabric, job->scratch, product, &why) : OSR_NOMEM;
	if (st == OSR_NOMEM)
		return osr_fail(job->diag, OSR_NOMEM,
				"out of memory for the dimensions of the fabric");
	if (!st && product->n_placed == fabric->n_switches)
		job->product = product;
	return OSR_OK;
}

/* ---- tables ---------------------------------------------------------------------------------- */

/*
 * The lane depends on where a packet goes, not where it came from. SLs that the plan does not use
 * are for pairs that a repair leaves no way on their own: one on lane 1 everywhere, the others on
 * lane 2 where there is one.
 */
static enum osr_status dor_sls(const struct osr_lanes_job *job, const struct dor_plan *plan)
{
	const struct osr_fabric *fabric = job->spf->fabric;
	struct osr_routing *routing = job->routing;
	size_t n = fabric->n_switches;

	routing->sl = osr_alloc(job->result, fabric->n_dests * n, 1);
	if (!routing->sl ||
	    osr_routing_alloc_sl2vl(routing, fabric, OSR_VL_UNSET, job->result, job->diag))
		return osr_fail(job->diag, OSR_NOMEM, "out of memory for SLs of %u LIDs",
				fabric->n_dests);
	for (uint32_t root = 0; root < n; root++) {
		uint8_t *row = NULL;

		for (uint32_t k = job->spf->dest_row[root]; k < job->spf->dest_row[root + 1]; k++) {
			uint8_t *mine = routing->sl + job->spf->dest_list[k] * n;

			if (!row)
				for (uint32_t v = 0; v < n; v++)
					mine[v] = dor_sl(plan, v, root);
			if (row)
				memcpy(mine, row, n);
			row = mine;
		}
	}
	for (uint32_t v = 0; v < n; v++) {
		uint32_t n_ports = fabric->sw_n_ports[v] + 1u;
		osr_sl2vl_t *table = routing->sl2vl + routing->sl2vl_row[v];

		for (uint32_t out = 0; out < n_ports; out++) {
			uint32_t c = osr_port_channel(fabric, v, out);

			for (uint32_t sl = 0; sl < DOR_SLS; sl++) {
				if (c == OSR_NONE)
					table[out][sl] = 0;
				else if (sl > plan->n_sls && job->req->max_vls > 2)
					table[out][sl] = 2;
				else
					table[out][sl] = (uint8_t)dor_lane(plan, c, sl);
			}
		}
		for (uint32_t in = 1; in < n_ports; in++)
			memcpy(table + in * n_ports, table, n_ports * sizeof(*table));
	}
	memset(routing->ca_sl2vl, 0, sizeof(routing->ca_sl2vl));
	return OSR_OK;
}

/*
 * Lanes, the certificate and multicast. Multicast on a lane of its own rises as it does on lane 0.
 */
static enum osr_status dor_finish(const struct osr_lanes_job *job, const struct dor_plan *plan)
{
	const struct osr_request *req = job->req;
	struct osr_routing *routing = job->routing;
	size_t n = job->spf->fabric->n_switches, m = job->spf->fabric->n_channels;
	uint8_t n_lanes = plan->product->n_rings && req->max_vls > 1 ? 2 : 1;
	uint32_t *tree = osr_alloc(job->scratch, n, sizeof(*tree));
	enum osr_status st = OSR_OK;

	routing->n_layers = routing->n_layers_one_way = routing->n_vls = n_lanes;
	if (req->multicast && n_lanes > 1 && req->mcast_vl >= n_lanes)
		routing->n_vls = req->mcast_vl + 1;
	routing->rank = osr_alloc(job->result, routing->n_vls * m, sizeof(*routing->rank));
	if (!tree || osr_arena_failed(job->result, job->diag))
		return osr_fail(job->diag, OSR_NOMEM, "out of memory for an order of %zu channels",
				m);
	if (n_lanes == 1 && plan->product->n_rings)
		dor_ring_order(plan, routing->rank);
	else
		st = dor_rank(plan, n_lanes, job->scratch, routing->rank, job->diag);
	for (uint32_t lane = n_lanes; lane < routing->n_vls; lane++)
		memcpy(routing->rank + lane * m, routing->rank, m * sizeof(*routing->rank));
	dor_tree(plan, tree);
	if (!st && req->multicast)
		st = osr_span_take(job->spf->fabric, tree, job->scratch, job->result, routing,
				   job->diag);
	if (!st && n_lanes > 1)
		st = dor_sls(job, plan);
	routing->mcast_vl = n_lanes > 1 ? req->mcast_vl : 0;
	routing->claims |= OSR_CLAIM_DEADLOCK_FREE | OSR_CLAIM_REVERSIBLE;
	if (req->multicast)
		routing->claims |= OSR_CLAIM_MULTICAST;
	if (n_lanes == 1)
		routing->claims |= OSR_CLAIM_ANY_SL;
	return st || n_lanes > 1 || !plan->product->n_rings
		       ? st
		       : osr_lanes_mend(job, routing->rank, tree, job->spf->least);
}

enum osr_status osr_dor_assign(struct osr_lanes_job *job, bool *routed)
{
	struct osr_spf *spf = job->spf;
	const struct osr_fabric *fabric = spf->fabric;
	const struct osr_request *req = job->req;
	const struct osr_product *product = job->product;
	struct dor_plan plan;

	*routed = false;
	/*
	 * Unicast has lanes 0 and 1: multicast joins it on the first, or has another one. The SLs
	 * of rings are for those who do not insist on any SL.
	 */
	if (!product || !osr_product_is_whole(product) || !dor_make_plan(product, &plan) ||
	    (product->n_rings && (req->max_vls > 1 ? (req->multicast && req->mcast_vl == 1) ||
							     job->opt->any_sl == OSR_ANY_SL_ON ||
							     job->opt->any_sl == OSR_ANY_SL_KEEP
						   : !job->opt->detours)))
		return OSR_OK;
	osr_spf_forget(spf);
	OSR_EACH_SWITCH(root, fabric) {
		const uint16_t *order = spf->order + (size_t)root * fabric->n_switches;
		uint32_t first = spf->dest_row[root], n_hosts = fabric->sw_sources[root];

		/*
		 * Every second host may go the other way round, and the last of an odd number of
		 * hosts a third way.
		 */
		for (uint32_t k = first; k < spf->dest_row[root + 1]; k++) {
			uint32_t d = spf->dest_list[k], i = k - first, next, dim,
				 variant = n_hosts % 2 && i + 1 == n_hosts ? 2 : i % 2;
			uint8_t *hop = spf->hop + (size_t)d * fabric->n_switches;

			OSR_EACH_SWITCH(v, fabric) {
				if (v == root)
					continue;
				dim = next_step(&plan, osr_product_coord(product, v),
						osr_product_coord(product, root),
						plan.n_variants == 1 ? 0 : variant, &next);
				hop[v] = dor_hop(product, v, dim, next, d);
			}
			if (fabric->term_weight[fabric->dest_term[d]])
				osr_spf_count_order(spf, order, spf->n_order[root], hop, 1);
		}
	}
	/* Is the busiest channel close to the load below which no routing can go? */
	*routed = osr_spf_load(spf) * 100 <= osr_dor_least(spf, product) * 115;
	if (*routed)
		return dor_finish(job, &plan);
	osr_spf_forget(spf);
	return OSR_OK;
}

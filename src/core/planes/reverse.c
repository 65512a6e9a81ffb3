/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Planes of HyperX and hypercubes with the dimensions in reverse: in every second plane a switch
 * sends to a LID as plane 0 comes back, from the switch of the LID. Plane 0 is in dimension order,
 * so its routes to the LIDs of one switch take the dimensions upwards. Their reverse takes them
 * downwards, and each channel carries what the other direction of its cable carries in plane 0.
 *
 * Both together close cycles on one lane. So a lane goes with a turn:
 *	FIRST	what hosts send
 *	UP	turns to a later dimension, and those of multicast within one
 *	DOWN	turns to an earlier dimension; with two dimensions UP serves, for these end there
 * All rise in the order FIRST, DOWN, UP: unicast keeps to UP or to DOWN. Multicast comes to the
 * middle of its tree down the dimensions and leaves it up (dor.c). Any SL is safe, as in plane 0.
 */
#include "planes_private.h"

#include <string.h>

#include <osmroutes/each.h>
#include <osmroutes/product.h>

enum { FIRST, UP, DOWN };

struct reverse {
	const struct planes_in *in;
	const struct osr_fabric *fabric; /* with the first LIDs */
	struct osr_product product;
	uint8_t n_lanes;
	uint32_t *host; /* dests: those of switch s, or its port 0, from row[s] to row[s + 1] - 1 */
	uint32_t *row;
	uint8_t *lft; /* [n_dests * n_switches] in reverse */
	uint32_t
		*last; /* [n_switches] by which channel the route from there arrives, or OSR_NONE */
};

/* ---- trees ----------------------------------------------------------------------------------- */

/* False: a switch has neither hosts nor a LID of its own, so that nothing says how it sends. */
static bool reverse_list_hosts(struct reverse *reverse)
{
	const struct osr_fabric *fabric = reverse->fabric;
	uint32_t n = 0;

	OSR_EACH_SWITCH(s, fabric) {
		uint32_t port0 = OSR_NONE;

		reverse->row[s] = n;
		OSR_EACH_TERMINAL(t, fabric, s) {
			uint32_t d = fabric->lid_dest[fabric->term_lid[t]];

			if (fabric->term_weight[t])
				reverse->host[n++] = d;
			else
				port0 = d;
		}
		if (n > reverse->row[s])
			continue;
		if (port0 == OSR_NONE)
			return false;
		reverse->host[n++] = port0;
	}
	reverse->row[fabric->n_switches] = n;
	return true;
}

/* By which channel the routes from all switches arrive at d. False: not in dimension order. */
static bool reverse_trace(struct reverse *reverse, uint32_t d)
{
	const struct osr_fabric *fabric = reverse->fabric;
	const uint8_t *row = reverse->in->plane0->lft + (size_t)d * fabric->n_switches;
	uint32_t root = fabric->dest_switch[d], next, by, c;

	memset(reverse->last, 0xff, fabric->n_switches * sizeof(*reverse->last));
	OSR_EACH_SWITCH(from, fabric) {
		uint32_t v = from;

		/* In dimension order a route has a channel in each dimension at most. */
		for (c = OSR_NONE; v != root && reverse->last[v] == OSR_NONE; v = next) {
			by = osr_port_channel(fabric, v, row[v]);
			if (by == OSR_NONE ||
			    (c != OSR_NONE &&
			     reverse->product.chan_dim[by] <= reverse->product.chan_dim[c]))
				return false;
			c = by;
			next = fabric->chan_dst[c];
		}
		c = v == root ? c : reverse->last[v];
		for (v = from; v != root && reverse->last[v] == OSR_NONE;
		     v = fabric->chan_dst[by]) {
			by = osr_port_channel(fabric, v, row[v]);
			reverse->last[v] = c;
		}
	}
	return true;
}

/*
 * The i-th host of each switch is sent to as the i-th host of the sender would be sent to from
 * there.
 */
static bool reverse_trees(struct reverse *reverse)
{
	const struct osr_fabric *fabric = reverse->fabric;
	size_t n = fabric->n_switches;

	OSR_EACH_SWITCH(v, fabric) {
		uint32_t n_hosts = reverse->row[v + 1] - reverse->row[v];

		for (uint32_t i = 0; i < n_hosts; i++) {
			if (!reverse_trace(reverse, reverse->host[reverse->row[v] + i]))
				return false;
			OSR_EACH_SWITCH(root, fabric) {
				uint32_t first = reverse->row[root], end = reverse->row[root + 1];

				for (uint32_t k = first + i; k < end && root != v; k += n_hosts)
					reverse->lft[reverse->host[k] * n + v] =
						fabric->chan_port
							[fabric->chan_rev[reverse->last[root]]];
			}
		}
	}
	return true;
}

/* ---- lanes ----------------------------------------------------------------------------------- */

/* Of what goes on from dimension `a` to `b`. */
static uint8_t reverse_lane(const struct reverse *reverse, uint32_t a, uint32_t b)
{
	return b < a && reverse->n_lanes > DOWN ? DOWN : UP;
}

/*
 * The table of what comes by a port. Ports without a channel have what most others have: tables
 * alike are sent once.
 */
static void reverse_fill_row(const struct reverse *reverse, uint32_t s, uint32_t in,
			     osr_sl2vl_t *row)
{
	const struct osr_fabric *fabric = reverse->fabric;
	uint32_t back = osr_port_channel(fabric, s, in), count[DOWN + 1] = { 0 };
	uint8_t most;

	if (back == OSR_NONE)
		return;
	OSR_EACH_CHANNEL(c, fabric, s)
		count[reverse_lane(reverse, reverse->product.chan_dim[back],
				   reverse->product.chan_dim[c])]++;
	most = count[DOWN] > count[UP] ? DOWN : UP;
	for (uint32_t out = 0; out <= fabric->sw_n_ports[s]; out++) {
		uint32_t c = osr_port_channel(fabric, s, out);

		memset(row[out],
		       c == OSR_NONE ? most
				     : reverse_lane(reverse, reverse->product.chan_dim[back],
						    reverse->product.chan_dim[c]),
		       sizeof(*row));
	}
}

static enum osr_status reverse_lanes(const struct reverse *reverse, struct osr_routing *routing,
				     struct osr_diag *why)
{
	const struct osr_fabric *fabric = reverse->fabric;
	uint32_t m = fabric->n_channels, *rank;

	if (osr_routing_alloc_sl2vl(routing, fabric, FIRST, reverse->in->scratch, why))
		return OSR_NOMEM;
	rank = osr_alloc(reverse->in->scratch, m, reverse->n_lanes * sizeof(*rank));
	if (osr_arena_failed(reverse->in->scratch, why))
		return OSR_NOMEM;
	OSR_EACH_SWITCH(s, fabric) {
		uint32_t n_ports = fabric->sw_n_ports[s] + 1u;

		for (uint32_t in = 0; in < n_ports; in++)
			reverse_fill_row(reverse, s, in,
					 routing->sl2vl + routing->sl2vl_row[s] +
						 (size_t)in * n_ports);
	}
	for (uint32_t c = 0; c < m; c++) {
		rank[FIRST * m + c] = c;
		rank[UP * m + c] = (reverse->n_lanes - 1u) * m + routing->rank[c];
		if (reverse->n_lanes > DOWN)
			rank[DOWN * m + c] =
				m + reverse->product.n_dims - reverse->product.chan_dim[c];
	}
	memset(routing->ca_sl2vl, FIRST, sizeof(routing->ca_sl2vl));
	routing->rank = rank;
	routing->n_vls = routing->n_layers = routing->n_layers_one_way = reverse->n_lanes;
	routing->mcast_vl = 0;
	return OSR_OK;
}

/* ---- all ------------------------------------------------------------------------------------- */

/* Cliques alone, two at least, all in one piece. */
static enum osr_status reverse_find(struct reverse *reverse, struct osr_diag *why)
{
	const struct osr_request *request = reverse->in->request;
	const struct osr_routing *plane0 = reverse->in->plane0;
	struct osr_product *product = &reverse->product;
	enum osr_status st;

	if (!plane0->strategy || strcmp(plane0->strategy, "dimension order") || !plane0->rank ||
	    plane0->sl || plane0->sl2vl)
		return OSR_NOT_APPLICABLE;
	st = osr_product_find(reverse->fabric, reverse->in->scratch, product, why);
	for (uint32_t i = 0; !st && i < product->n_dims; i++)
		if (product->factor[i] != OSR_FACTOR_CLIQUE || product->n_dims < 2)
			st = osr_fail(why, OSR_NOT_APPLICABLE, "there are lines or rings");
	if (st)
		return st;
	reverse->n_lanes = product->n_dims > 2 ? DOWN + 1 : UP + 1;
	if (request->max_vls < reverse->n_lanes)
		return osr_fail(why, OSR_NOT_APPLICABLE, "it takes %u virtual lanes",
				reverse->n_lanes);
	if (__builtin_popcount(request->chosen_sls) > 1)
		return osr_fail(why, OSR_NOT_APPLICABLE, "service levels have lanes of their own");
	return OSR_OK;
}

enum osr_status osr_planes_reverse(struct planes_in *in, struct planes_offer *offer,
				   struct osr_diag *why)
{
	const struct osr_fabric *fabric = in->fabric;
	struct reverse reverse = { .in = in, .fabric = in->first };
	size_t n = fabric->n_switches;
	enum osr_status st = reverse_find(&reverse, why);

	if (!st)
		st = osr_planes_repeat(fabric, in->scratch, &offer->planes, why);
	if (st)
		return st;
	reverse.host = osr_alloc(in->scratch, fabric->n_terminals, sizeof(*reverse.host));
	reverse.row = osr_alloc(in->scratch, n + 1, sizeof(*reverse.row));
	reverse.last = osr_alloc(in->scratch, n, sizeof(*reverse.last));
	reverse.lft = osr_alloc(in->scratch, in->first->n_dests * n, 1);
	offer->first = *in->plane0;
	offer->own.lft = osr_alloc(in->scratch, fabric->n_dests * n, 1);
	if (osr_arena_failed(in->scratch, why))
		return OSR_NOMEM;
	if (!reverse_list_hosts(&reverse))
		return osr_fail(why, OSR_NOT_APPLICABLE, "a switch has no LID");
	if (!reverse_trees(&reverse))
		return osr_fail(why, OSR_NOT_APPLICABLE, "plane 0 is not in dimension order");
	for (uint32_t k = 1; k < offer->planes.n; k += 2) {
		offer->planes.kind[k] = OSR_PLANE_REVERSE;
		OSR_EACH_DEST(d, in->first) {
			uint32_t lid = osr_planes_lid(in, d, k);

			if (lid == OSR_NONE)
				continue;
			offer->planes.tree_of[lid] = lid;
			memcpy(offer->own.lft + lid * n, reverse.lft + d * n, n);
			/*
			 * The entry of the LID's own switch is set where all entries are taken
			 * over.
			 */
		}
	}
	return reverse_lanes(&reverse, &offer->first, why);
}

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Planes of fat trees: plane k is plane 0 after switches above the leaves have changed places
 * (places.c). In a whole tree each channel carries what another one carries in plane 0. Of a damaged
 * one trees are grown from what there is of their images (grow.c). Where there are more planes than
 * places differ, plane k is that of the mates of plane k / n instead.
 *
 * In whole trees all turns, and those of multicast, rise in the order of levels, up and then down,
 * which is the new certificate.
 */
#include "planes_private.h"

#include <string.h>

#include <osmroutes/each.h>

#include "core/order/order.h"

#define TALLEST 32 /* more than twice the levels of any tree */

struct exchange {
	const struct planes_in *in;
	const struct osr_fabric *fabric; /* with the first LIDs */
	struct planes_places places;
	uint32_t *keys; /* [n_channels] their order: up by level, then down */
	uint32_t *seen; /* [n_channels] */
	uint32_t *
		by; /* [n_switches] of a tree of plane 0; OSR_NONE: an entry that leads to no channel */
	uint8_t *row; /* [n_switches] */
};

static enum osr_status exchange_init(struct exchange *exchange, struct osr_diag *why)
{
	const struct osr_fabric *fabric = exchange->fabric;
	struct osr_arena *scratch = exchange->in->scratch;

	exchange->keys = osr_alloc(scratch, fabric->n_channels, sizeof(*exchange->keys));
	exchange->seen = osr_calloc(scratch, fabric->n_channels, sizeof(*exchange->seen));
	exchange->by = osr_alloc(scratch, fabric->n_switches, sizeof(*exchange->by));
	exchange->row = osr_alloc(scratch, fabric->n_switches, 1);
	if (osr_arena_failed(scratch, why))
		return OSR_NOMEM;
	OSR_EVERY_CHANNEL(c, fabric) {
		uint32_t level = exchange->places.level[fabric->chan_src[c]];
		bool up = exchange->places.level[fabric->chan_dst[c]] > level;

		exchange->keys[c] = up ? level : TALLEST - level;
	}
	return OSR_OK;
}

/*
 * Is each exchange of places an automorphism that leaves the switches with hosts where they are?
 * Then planes carry what plane 0 does, over routes as long.
 */
static bool exchange_is_exact(const struct exchange *exchange)
{
	const struct osr_fabric *fabric = exchange->fabric;
	uint32_t *seen = exchange->seen;

	for (uint32_t k = 1; k < exchange->places.n; k++) {
		const uint32_t *to = exchange->places.to + (size_t)k * fabric->n_switches;
		const uint32_t *image = exchange->places.image + (size_t)k * fabric->n_channels;

		OSR_EACH_SWITCH(v, fabric)
			if (to[v] == OSR_NONE || (fabric->sw_sources[v] && to[v] != v))
				return false;
		for (uint32_t c = 0; c < fabric->n_channels; c++) {
			if (image[c] == OSR_NONE || seen[image[c]] == k ||
			    to[fabric->chan_src[image[c]]] != fabric->chan_src[c])
				return false;
			seen[image[c]] = k;
		}
	}
	return true;
}

/* Cables of the spanning tree of multicast. */
static bool exchange_in_span(const struct exchange *exchange, uint32_t c)
{
	const struct osr_fabric *fabric = exchange->fabric;
	const uint32_t *parent = exchange->in->plane0->mcast_parent;

	return parent[fabric->chan_src[c]] == c ||
	       parent[fabric->chan_dst[c]] == fabric->chan_rev[c];
}

/* Does multicast go up by level, and then down? */
static bool exchange_span_rises(const struct exchange *exchange)
{
	const struct osr_fabric *fabric = exchange->fabric;

	if (!(exchange->in->plane0->claims & OSR_CLAIM_MULTICAST))
		return true;
	OSR_EACH_SWITCH(v, fabric)
		OSR_EACH_CHANNEL(in, fabric, v) {
			if (!exchange_in_span(exchange, in))
				continue;
			OSR_EACH_CHANNEL(out, fabric, v)
				if (out != in && exchange_in_span(exchange, out) &&
				    exchange->keys[fabric->chan_rev[in]] >= exchange->keys[out])
					return false;
		}
	return true;
}

/*
 * Reads a tree of plane 0. Do its turns go from a lower key to a higher one? Then those of its images
 * do, too.
 */
static bool exchange_read(struct exchange *exchange, const uint8_t *row, uint32_t root)
{
	const struct osr_fabric *fabric = exchange->fabric;

	OSR_EACH_SWITCH(v, fabric)
		exchange->by[v] = v == root ? OSR_NONE : osr_port_channel(fabric, v, row[v]);
	OSR_EACH_SWITCH(v, fabric) {
		uint32_t c = exchange->by[v], next;

		next = c == OSR_NONE ? OSR_NONE : exchange->by[fabric->chan_dst[c]];
		if (next != OSR_NONE && exchange->keys[next] <= exchange->keys[c])
			return false;
	}
	return true;
}

/* The tree of a LID in plane k: each switch sends as the one whose place it takes, in its own place. */
static void exchange_tree(const struct exchange *exchange, uint32_t k, uint32_t lid,
			  const uint8_t *from, struct planes_offer *offer)
{
	const struct osr_fabric *fabric = exchange->fabric;
	uint32_t at = k % exchange->places.n;
	const uint32_t *to = exchange->places.to + (size_t)at * fabric->n_switches;
	const uint32_t *image = exchange->places.image + (size_t)at * fabric->n_channels;

	OSR_EACH_SWITCH(v, fabric) {
		uint32_t c = exchange->by[to[v]];

		exchange->row[v] = c == OSR_NONE ? from[v] : fabric->chan_port[image[c]];
	}
	osr_planes_own(exchange->in, lid, exchange->row, offer);
}

/* The trees of all planes. False: plane 0 or multicast goes down and then up. */
static bool exchange_all(struct exchange *exchange, struct planes_offer *offer)
{
	const struct planes_in *in = exchange->in;
	const struct osr_fabric *fabric = exchange->fabric;
	bool ok = exchange_span_rises(exchange);

	OSR_EACH_DEST(d, fabric) {
		const uint8_t *read = NULL;

		for (uint32_t k = 0; k < in->mates.n && ok; k++) {
			uint32_t mate = k / exchange->places.n, lid = osr_planes_lid(in, d, k);
			const uint8_t *from = in->plane0->lft + (size_t)d * fabric->n_switches;

			if (lid == OSR_NONE)
				continue;
			if (mate)
				from = osr_planes_mate(in, osr_planes_lid(in, d, mate));
			if (from != read)
				ok = exchange_read(exchange, from, fabric->dest_switch[d]);
			read = from;
			if (k && ok)
				exchange_tree(exchange, k, lid, from, offer);
		}
	}
	return ok;
}

static enum osr_status exchange_certify(const struct exchange *exchange, struct osr_routing *first,
					struct osr_diag *diag)
{
	struct osr_arena *scratch = exchange->in->scratch;
	uint32_t m = exchange->fabric->n_channels, *from = osr_alloc(scratch, m, sizeof(*from)),
		 *to = osr_alloc(scratch, m, sizeof(*to));

	first->rank = osr_alloc(scratch, m, sizeof(*first->rank));
	if (osr_arena_failed(scratch, diag))
		return OSR_NOMEM;
	osr_order_place(exchange->keys, m, from, to, first->rank);
	return OSR_OK;
}

static enum osr_status exchange_make(struct planes_in *in, bool round, struct planes_offer *offer,
				     struct osr_diag *why)
{
	struct exchange exchange = { .in = in, .fabric = in->first };
	enum osr_status st = OSR_OK;

	if (!in->plane0->rank || in->plane0->sl || in->plane0->sl2vl)
		return osr_fail(why, OSR_NOT_APPLICABLE, "more than one lane");
	st = osr_planes_places(in, round, &exchange.places, why);
	if (!st && exchange.places.n < in->mates.n)
		st = osr_planes_find_mates(in, why);
	if (!st)
		st = osr_planes_offer(in, OSR_PLANE_EXCHANGE, offer, why);
	if (!st)
		st = exchange_init(&exchange, why);
	if (st)
		return st;
	offer->whole = exchange_is_exact(&exchange) && exchange_all(&exchange, offer);
	if (offer->whole)
		return exchange_certify(&exchange, &offer->first, why);
	if (round)
		return osr_fail(why, OSR_NOT_APPLICABLE, "the tree is not whole");
	/* Anew, for some trees may have been written. */
	st = osr_planes_offer(in, OSR_PLANE_EXCHANGE, offer, why);
	return st ? st : osr_planes_grow(in, &exchange.places, offer, why);
}

enum osr_status osr_planes_exchange(struct planes_in *in, struct planes_offer *offer,
				    struct osr_diag *why)
{
	return exchange_make(in, false, offer, why);
}

enum osr_status osr_planes_exchange_round(struct planes_in *in, struct planes_offer *offer,
					  struct osr_diag *why)
{
	enum osr_status st = exchange_make(in, true, offer, why);

	if (st == OSR_NOT_APPLICABLE)
		why->text[0] = '\0';
	return st;
}

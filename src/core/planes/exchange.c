/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Planes of fat trees: plane k is plane 0 after switches above the leaves have changed places
 * (places.c). In a whole tree each channel carries what another one carries in plane 0. Of a damaged
 * one trees are grown from what there is of their images (grow.c). Where there are more planes than
 * places differ, plane k is that of the mates of plane k / n instead.
 *
 * All turns, and those of plane 0 and of multicast, rise in one order, which is the new
 * certificate. It begins with the levels of the tree, in which paths up and then down rise.
 */
#include "planes_private.h"

#include <string.h>

#include <osmroutes/each.h>

#define TALLEST 32 /* more than twice the levels of any tree */

struct exchange {
	const struct planes_in *in;
	const struct osr_fabric *fabric; /* with the first LIDs */
	struct planes_places places;
	struct planes_turns turns;
	uint32_t *keys; /* [n_channels] their order: up by level, then down */
	uint32_t *seen; /* [n_channels] */
	uint8_t *row;   /* [n_switches] */
};

static enum osr_status exchange_init(struct exchange *exchange, struct osr_diag *why)
{
	const struct osr_fabric *fabric = exchange->fabric;
	struct osr_arena *scratch = exchange->in->scratch;

	exchange->keys = osr_alloc(scratch, fabric->n_channels, sizeof(*exchange->keys));
	exchange->seen = osr_calloc(scratch, fabric->n_channels, sizeof(*exchange->seen));
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

/*
 * Do all turns of plane 0 and of multicast go from a lower key to a higher one? Then those of the
 * planes do, too.
 */
static bool exchange_rises(struct exchange *exchange)
{
	const struct osr_fabric *fabric = exchange->fabric;
	const uint32_t *at = exchange->turns.order.at;

	for (uint32_t i = 1; i < fabric->n_channels; i++)
		if (exchange->keys[at[i - 1]] > exchange->keys[at[i]])
			return false;
	OSR_EACH_DEST(d, fabric) {
		const uint8_t *row = exchange->in->plane0->lft + (size_t)d * fabric->n_switches;
		bool host = fabric->term_weight[fabric->dest_term[d]];

		osr_planes_turns_read(&exchange->turns, row, fabric->dest_switch[d]);
		OSR_EACH_SWITCH(v, fabric) {
			uint32_t c = exchange->turns.by[v], next;

			if (c == OSR_NONE)
				continue;
			next = exchange->turns.by[fabric->chan_dst[c]];
			if (next != OSR_NONE && host && exchange->keys[next] <= exchange->keys[c])
				return false;
		}
	}
	return true;
}

/* Trees of all planes: each switch sends as the one whose place it takes, in its own place. */
static void exchange_all(struct exchange *exchange, struct planes_offer *offer)
{
	const struct planes_in *in = exchange->in;
	const struct osr_fabric *fabric = exchange->fabric;

	for (uint32_t k = 1; k < in->mates.n; k++) {
		uint32_t at = k % exchange->places.n, mate = k / exchange->places.n;
		const uint32_t *to = exchange->places.to + (size_t)at * fabric->n_switches;
		const uint32_t *image = exchange->places.image + (size_t)at * fabric->n_channels;

		OSR_EACH_DEST(d, fabric) {
			uint32_t lid = osr_planes_lid(in, d, k);
			const uint8_t *from = in->plane0->lft + (size_t)d * fabric->n_switches;

			if (lid == OSR_NONE)
				continue;
			if (mate)
				from = osr_planes_mate(in, osr_planes_lid(in, d, mate));
			OSR_EACH_SWITCH(v, fabric) {
				uint32_t c = osr_port_channel(fabric, to[v], from[to[v]]);

				exchange->row[v] =
					c == OSR_NONE ? from[v] : fabric->chan_port[image[c]];
			}
			osr_planes_own(in, lid, exchange->row, offer);
		}
	}
	offer->first.rank = exchange->turns.order.rank;
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
	offer->repeats = exchange.places.repeat;
	offer->whole = !st && exchange_is_exact(&exchange);
	if (offer->whole)
		st = osr_planes_turns_init(&exchange.turns, in->first, in->plane0, exchange.keys,
					   in->scratch, why);
	offer->whole = offer->whole && !st && exchange_rises(&exchange);
	if (offer->whole)
		exchange_all(&exchange, offer);
	else if (!st && round)
		st = osr_fail(why, OSR_NOT_APPLICABLE, "the tree is not whole");
	else if (!st)
		st = osr_planes_grow(in, &exchange.places, exchange.keys, offer, why);
	return st;
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

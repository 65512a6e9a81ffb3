/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Planes of fat trees, whole or damaged: plane k is plane 0 after switches above the leaves have
 * changed places (places.c). In a whole tree each channel carries what another one carries in plane
 * 0. In a damaged one an entry whose image is not there, or does not lead as far, is plane 0's;
 * then branches leave the channels that carry more than any in plane 0 (moves.h). Where there are
 * more planes than places differ, plane k is that of the mates of plane k / n instead.
 *
 * All turns, and those of plane 0 and of multicast, rise in one order, which is the new
 * certificate. It begins with the levels of the tree, in which paths up and then down rise. A tree
 * that does not fit in is that of the mate.
 */
#include "planes_private.h"

#include <string.h>

#include <osmroutes/each.h>

#include "core/paths/moves.h"
#include "core/route/tree.h"

#define ALLOWED 103 /* percent of plane 0's largest load up to which branches stay where they are */
#define EXCESS 130  /* percent of plane 0's largest load that a plane may carry */
#define UNIT 64     /* that a route weighs on the fastest channel, where rates differ */
#define TALLEST 32  /* more than twice the levels of any tree */

struct exchange {
	const struct planes_in *in;
	const struct osr_fabric *fabric; /* with the first LIDs */
	struct planes_places places;
	struct planes_turns turns;
	uint32_t *keys; /* [n_channels] their order: up by level, then down */
	uint8_t *lft;   /* [n * n_dests * n_switches] of the planes */
	uint64_t *load; /* [n * n_channels] of plane k, as of moves */
	uint32_t *unit; /* [n_channels] that a route weighs, or NULL */
	uint64_t most;  /* the largest load of plane 0 */
	/*
	 * A tree: switches that have a way, nearest first; how far; by which channel; end ports
	 * that send through.
	 */
	uint32_t *list, *begin, n_list; /* [n_switches], [n_switches + 1] */
	uint32_t *len;                  /* [n_switches] OSR_NONE: no way */
	uint32_t *by0;                  /* [n_switches] in plane 0; turns.by in the plane at hand */
	uint32_t *flow;                 /* [n_switches] */
	uint32_t *seen;                 /* [n_channels] */
};

static uint8_t *exchange_row(const struct exchange *exchange, uint32_t k, uint32_t d)
{
	return exchange->lft +
	       ((size_t)k * exchange->fabric->n_dests + d) * exchange->fabric->n_switches;
}

/* ---- one tree -------------------------------------------------------------------------------- */

/*
 * The lengths of its routes, and its switches by length. A route as long as before leads to a
 * switch that comes earlier.
 */
static void exchange_lay_out(struct exchange *exchange, const uint8_t *row, uint32_t root)
{
	const struct osr_fabric *fabric = exchange->fabric;
	uint32_t n = fabric->n_switches;

	memset(exchange->len, 0xff, n * sizeof(*exchange->len));
	memset(exchange->begin, 0, (n + 1) * sizeof(*exchange->begin));
	osr_planes_turns_read(&exchange->turns, row, root);
	memcpy(exchange->by0, exchange->turns.by, n * sizeof(*exchange->by0));
	exchange->len[root] = 0;
	OSR_EACH_SWITCH(from, fabric) {
		uint32_t v = from, depth = 0;

		/* Down to a switch whose way is known, and back. */
		while (exchange->len[v] == OSR_NONE && depth < n && exchange->by0[v] != OSR_NONE) {
			exchange->list[depth++] = v;
			v = fabric->chan_dst[exchange->by0[v]];
		}
		for (uint32_t len = exchange->len[v]; len != OSR_NONE && depth;) {
			exchange->len[exchange->list[--depth]] = ++len;
			exchange->begin[len]++;
		}
	}
	exchange->n_list = 1;
	for (uint32_t len = 0; len <= n; len++) {
		uint32_t many = exchange->begin[len];

		exchange->begin[len] = exchange->n_list;
		exchange->n_list += many;
	}
	exchange->list[0] = root;
	OSR_EACH_SWITCH(v, fabric)
		if (v != root && exchange->len[v] != OSR_NONE)
			exchange->list[exchange->begin[exchange->len[v]]++] = v;
}

static void exchange_count(struct exchange *exchange, uint32_t d, uint64_t *load)
{
	const struct osr_fabric *fabric = exchange->fabric;

	if (!fabric->term_weight[fabric->dest_term[d]])
		return;
	memcpy(exchange->flow, fabric->sw_sources, fabric->n_switches * sizeof(*exchange->flow));
	for (uint32_t i = exchange->n_list; i-- > 1;) {
		uint32_t v = exchange->list[i], c = exchange->turns.by[v];

		load[c] += (uint64_t)exchange->flow[v] * (exchange->unit ? exchange->unit[c] : 1);
		exchange->flow[fabric->chan_dst[c]] += exchange->flow[v];
	}
}

/*
 * The tree of d in plane k, from this one of plane 0 to the same switch, laid out. False: now
 * another one is laid out.
 */
static bool exchange_tree(struct exchange *exchange, uint32_t k, uint32_t d, const uint8_t *row0)
{
	const struct osr_fabric *fabric = exchange->fabric;
	uint32_t root = fabric->dest_switch[d], at = k % exchange->places.n;
	const uint32_t *to = exchange->places.to + (size_t)at * fabric->n_switches;
	const uint32_t *image = exchange->places.image + (size_t)at * fabric->n_channels;
	uint8_t *row = exchange_row(exchange, k, d);

	memcpy(row, row0, fabric->n_switches);
	for (uint32_t i = 1; i < exchange->n_list; i++) {
		uint32_t v = exchange->list[i], from = to[v], c = OSR_NONE;

		if (from != OSR_NONE && exchange->len[from] != OSR_NONE &&
		    exchange->by0[from] != OSR_NONE)
			c = image[exchange->by0[from]];
		if (c == OSR_NONE || fabric->chan_src[c] != v ||
		    exchange->len[fabric->chan_dst[c]] + 1 != exchange->len[v])
			c = exchange->by0[v];
		exchange->turns.by[v] = c;
		row[v] = fabric->chan_port[c];
	}
	if (osr_planes_turns_add(&exchange->turns, true))
		return true;
	memcpy(row, osr_planes_mate(exchange->in, osr_planes_lid(exchange->in, d, k)),
	       fabric->n_switches);
	exchange_lay_out(exchange, row, root);
	return false;
}

/* ---- plane 0 --------------------------------------------------------------------------------- */

/* What a route weighs on each channel, where their rates differ. */
static enum osr_status exchange_units(struct exchange *exchange, struct osr_diag *why)
{
	const struct osr_fabric *fabric = exchange->fabric;
	uint32_t *unit = osr_alloc(exchange->in->scratch, fabric->n_channels, sizeof(*unit));
	uint32_t fastest = 0;

	if (osr_arena_failed(exchange->in->scratch, why))
		return OSR_NOMEM;
	for (uint32_t c = 0; c < fabric->n_channels; c++)
		fastest = fabric->chan_rate[c] > fastest ? fabric->chan_rate[c] : fastest;
	for (uint32_t c = 0; c < fabric->n_channels; c++) {
		uint32_t rate = fabric->chan_rate[c];

		unit[c] = rate ? UNIT * fastest / rate : UNIT;
		if (unit[c] != UNIT)
			exchange->unit = unit;
	}
	return OSR_OK;
}

static enum osr_status exchange_init(struct exchange *exchange, bool round, struct osr_diag *why)
{
	const struct osr_fabric *fabric = exchange->fabric;
	struct osr_arena *scratch = exchange->in->scratch;
	size_t m = fabric->n_channels, n = fabric->n_switches, n_planes = exchange->in->mates.n;
	enum osr_status st = osr_planes_places(exchange->in, round, &exchange->places, why);

	if (!st)
		st = exchange_units(exchange, why);
	if (st)
		return st;
	exchange->keys = osr_alloc(scratch, m, sizeof(*exchange->keys));
	exchange->lft = osr_alloc(scratch, n_planes * fabric->n_dests * n, 1);
	exchange->load = osr_calloc(scratch, n_planes * m, sizeof(*exchange->load));
	exchange->list = osr_alloc(scratch, n, sizeof(*exchange->list));
	exchange->begin = osr_alloc(scratch, n + 1, sizeof(*exchange->begin));
	exchange->len = osr_alloc(scratch, n, sizeof(*exchange->len));
	exchange->by0 = osr_alloc(scratch, n, sizeof(*exchange->by0));
	exchange->flow = osr_alloc(scratch, n, sizeof(*exchange->flow));
	exchange->seen = osr_alloc(scratch, m, sizeof(*exchange->seen));
	if (osr_arena_failed(scratch, why))
		return OSR_NOMEM;
	for (uint32_t c = 0; c < m; c++) {
		uint32_t level = exchange->places.level[fabric->chan_src[c]];
		bool up = exchange->places.level[fabric->chan_dst[c]] > level;

		exchange->keys[c] = up ? level : TALLEST - level;
	}
	return osr_planes_turns_init(&exchange->turns, fabric, exchange->in->plane0, exchange->keys,
				     scratch, why);
}

/* All of its turns rise from here on. */
static enum osr_status exchange_plane0(struct exchange *exchange, struct osr_diag *why)
{
	const struct osr_routing *plane0 = exchange->in->plane0;
	bool ok = true;

	OSR_EACH_DEST(d, exchange->fabric) {
		const uint8_t *row = plane0->lft + (size_t)d * exchange->fabric->n_switches;

		exchange_lay_out(exchange, row, exchange->fabric->dest_switch[d]);
		exchange_count(exchange, d, exchange->load);
		ok = ok && osr_planes_turns_add(
				   &exchange->turns,
				   exchange->fabric->term_weight[exchange->fabric->dest_term[d]]);
	}
	return ok ? OSR_OK
		  : osr_fail(why, OSR_NOT_APPLICABLE, "the turns of plane 0 are in no order");
}

/* ---- planes ---------------------------------------------------------------------------------- */

/* All of them, of one LID after the other: what is known of its tree serves them all. */
static void exchange_planes(struct exchange *exchange)
{
	const struct osr_fabric *fabric = exchange->fabric;

	OSR_EACH_DEST(d, fabric) {
		const uint8_t *own = exchange->in->plane0->lft + (size_t)d * fabric->n_switches;
		const uint8_t *laid_out = NULL, *row0;

		for (uint32_t k = 1; k < exchange->in->mates.n; k++) {
			uint32_t mate = k / exchange->places.n;
			uint32_t lid = osr_planes_lid(exchange->in, d, k);
			uint8_t *row = exchange_row(exchange, k, d);

			memcpy(row, own, fabric->n_switches);
			row0 = own;
			if (lid != OSR_NONE && mate)
				row0 = osr_planes_mate(exchange->in,
						       osr_planes_lid(exchange->in, d, mate));
			if (laid_out != row0)
				exchange_lay_out(exchange, row0, fabric->dest_switch[d]);
			laid_out = row0;
			if (lid != OSR_NONE && !exchange_tree(exchange, k, d, row0))
				laid_out = NULL;
			exchange_count(exchange, d,
				       exchange->load + (size_t)k * fabric->n_channels);
		}
	}
}

/* ---- whole trees ----------------------------------------------------------------------------- */

/*
 * Is each exchange of places an automorphism that leaves the switches with hosts where they are?
 * Then planes carry what plane 0 does, over routes as long.
 */
static bool exchange_is_exact(const struct exchange *exchange)
{
	const struct osr_fabric *fabric = exchange->fabric;
	uint32_t *seen = exchange->seen;

	memset(seen, 0, fabric->n_channels * sizeof(*seen));
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

/* Trees of plane k: each switch sends as the one whose place it takes, in its own place. */
static void exchange_all(struct exchange *exchange)
{
	const struct osr_fabric *fabric = exchange->fabric;

	for (uint32_t k = 1; k < exchange->in->mates.n; k++) {
		uint32_t at = k % exchange->places.n, mate = k / exchange->places.n;
		const uint32_t *to = exchange->places.to + (size_t)at * fabric->n_switches;
		const uint32_t *image = exchange->places.image + (size_t)at * fabric->n_channels;

		OSR_EACH_DEST(d, fabric) {
			uint32_t lid = osr_planes_lid(exchange->in, d, k);
			uint8_t *row = exchange_row(exchange, k, d);
			const uint8_t *from =
				exchange->in->plane0->lft + (size_t)d * fabric->n_switches;

			if (lid != OSR_NONE && mate)
				from = osr_planes_mate(exchange->in,
						       osr_planes_lid(exchange->in, d, mate));
			OSR_EACH_SWITCH(v, fabric) {
				uint32_t c = osr_port_channel(fabric, to[v], from[to[v]]);

				row[v] = c == OSR_NONE ? from[v] : fabric->chan_port[image[c]];
			}
		}
	}
}

/* ---- damaged trees --------------------------------------------------------------------------- */

/* For moves: v sends to d by c, with what sends through it. */
static bool exchange_may(struct osr_moves *moves, uint32_t d, uint32_t v, uint32_t c,
			 const uint16_t *list, uint32_t n)
{
	struct exchange *exchange = moves->ctx;
	const uint8_t *row = moves->hop + (size_t)d * exchange->fabric->n_switches;
	uint32_t u = exchange->fabric->chan_dst[c];
	bool ok;

	osr_order_begin(&exchange->turns.order);
	ok = u == exchange->fabric->dest_switch[d] ||
	     osr_order_add(&exchange->turns.order, c, exchange->fabric->chan_row[u] + row[u], 1);
	for (uint32_t i = 0; i < n && ok; i++) {
		uint32_t by = exchange->fabric->chan_row[list[i]] + row[list[i]];

		if (list[i] != v && exchange->fabric->chan_dst[by] == v)
			ok = osr_order_add(&exchange->turns.order, by, c, 1);
	}
	if (!ok)
		osr_order_undo(&exchange->turns.order, 0);
	return ok;
}

static uint64_t exchange_busiest(const struct exchange *exchange, const uint64_t *load)
{
	uint64_t most = 0;

	for (uint32_t c = 0; c < exchange->fabric->n_channels; c++)
		most = load[c] > most ? load[c] : most;
	return most;
}

/*
 * Branches leave channels that carry more than any in plane 0. OSR_NOT_APPLICABLE: there is a plane
 * where not enough can.
 */
static enum osr_status exchange_relieve(struct exchange *exchange, struct osr_diag *why)
{
	struct osr_moves moves = { .fabric = exchange->fabric,
				   .unit = exchange->unit,
				   .goal = exchange->most * ALLOWED / 100,
				   .aim = exchange->most * ALLOWED / 100,
				   .ctx = exchange,
				   .may = exchange_may };
	enum osr_status st = osr_moves_init(&moves, exchange->in->scratch, why);

	if (st)
		return st;
	for (uint32_t k = 1; k < exchange->in->mates.n; k++) {
		moves.load = exchange->load + (size_t)k * exchange->fabric->n_channels;
		moves.hop = exchange_row(exchange, k, 0);
		osr_tables_to_hops(exchange->fabric, moves.hop);
		osr_moves_run(&moves);
		osr_tables_to_ports(exchange->fabric, moves.hop);
		if (exchange_busiest(exchange, moves.load) * 100 > exchange->most * EXCESS)
			return osr_fail(why, OSR_NOT_APPLICABLE, "a link would carry too much");
	}
	return OSR_OK;
}

static enum osr_status exchange_damaged(struct exchange *exchange, struct osr_diag *why)
{
	enum osr_status st = exchange_plane0(exchange, why);

	if (st)
		return st;
	exchange->most = exchange_busiest(exchange, exchange->load);
	exchange_planes(exchange);
	return exchange_relieve(exchange, why);
}

/* Rows of their own, of the LIDs that have not the tree of the mate. */
static void exchange_write(const struct exchange *exchange, struct planes_offer *offer)
{
	size_t n = exchange->fabric->n_switches;

	for (uint32_t k = 1; k < exchange->in->mates.n; k++) {
		offer->planes.kind[k] = OSR_PLANE_EXCHANGE;
		OSR_EACH_DEST(d, exchange->fabric) {
			uint32_t lid = osr_planes_lid(exchange->in, d, k),
				 root = exchange->fabric->dest_switch[d];
			uint8_t *row = exchange_row(exchange, k, d);
			const uint8_t *mate;

			if (lid == OSR_NONE)
				continue;
			mate = osr_planes_mate(exchange->in, lid);
			row[root] = mate[root];
			if (!memcmp(row, mate, n))
				continue;
			offer->planes.tree_of[lid] = lid;
			memcpy(offer->own.lft + lid * n, row, n);
		}
	}
}

static enum osr_status exchange_make(const struct planes_in *in, bool round,
				     struct planes_offer *offer, struct osr_diag *why)
{
	const struct osr_routing *plane0 = in->plane0;
	const struct osr_fabric *fabric = in->fabric;
	struct exchange exchange = { .in = in, .fabric = in->first };
	uint32_t *tree_of = osr_alloc(in->scratch, fabric->n_dests, sizeof(*tree_of));
	uint8_t *kind = osr_alloc(in->scratch, in->mates.n, sizeof(*kind));
	enum osr_status st;

	if (!plane0->rank || plane0->sl || plane0->sl2vl)
		return osr_fail(why, OSR_NOT_APPLICABLE, "more than one lane");
	*offer =
		(struct planes_offer){ .first = *plane0, .planes = { in->mates.n, kind, tree_of } };
	offer->own.lft = osr_alloc(in->scratch, (size_t)fabric->n_dests * fabric->n_switches, 1);
	if (osr_arena_failed(in->scratch, why))
		return OSR_NOMEM;
	memcpy(tree_of, in->mates.tree_of, fabric->n_dests * sizeof(*tree_of));
	memcpy(kind, in->mates.kind, in->mates.n * sizeof(*kind));
	st = exchange_init(&exchange, round, why);
	if (st)
		return st;
	if (exchange_is_exact(&exchange) && exchange_rises(&exchange))
		exchange_all(&exchange);
	else if (round)
		st = osr_fail(why, OSR_NOT_APPLICABLE, "the tree is not whole");
	else
		st = exchange_damaged(&exchange, why);
	if (st)
		return st;
	exchange_write(&exchange, offer);
	offer->first.rank = exchange.turns.order.rank;
	return OSR_OK;
}

enum osr_status osr_planes_exchange(const struct planes_in *in, struct planes_offer *offer,
				    struct osr_diag *why)
{
	return exchange_make(in, false, offer, why);
}

enum osr_status osr_planes_exchange_round(const struct planes_in *in, struct planes_offer *offer,
					  struct osr_diag *why)
{
	enum osr_status st = exchange_make(in, true, offer, why);

	if (st == OSR_NOT_APPLICABLE)
		why->text[0] = '\0';
	return st;
}

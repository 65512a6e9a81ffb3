/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Planes with trees of their own, for damaged trees (exchange.c) and for what is no fat tree.
 *
 * Each tree has routes as long as those of the tree of plane 0 to the same switch. Where places are
 * exchanged, a switch sends by the image of a channel of plane 0. Where there is no image, or it
 * would carry too much, and where no places are exchanged, a switch chooses: what is not full, then
 * what its planes below have used least, then what carries least. So the LIDs of a port have as many
 * ways as there are, and flows that are split over them meet what flows over all shortest paths do.
 *
 * All planes together are balanced: their load is the images of plane 0 at first, and what each
 * tree carries takes the place of its image. Trees that pass what carries too much in the end are
 * grown again, and branches leave it (moves.h).
 *
 * All turns rise in the order of plane 0, which stays the certificate. A tree with another turn is
 * that of plane 0.
 */
#include "planes_private.h"

#include <string.h>

#include <osmroutes/each.h>

#include "core/paths/moves.h"
#include "core/route/tree.h"

#define ALLOWED 103 /* percent of what plane 0 may carry that all planes together may */
#define UNIT 64     /* that a route weighs on the fastest channel, where rates differ */

/* Mostly one pass serves. */
#define PASSES 8
#define PASSES_MOVE 4 /* each of so many is by moves */

/* What a choice costs, the first one most. */
#define FULL (UINT64_C(1) << 32)
#define SAME_SWITCH (UINT64_C(1) << 16)
#define SAME_CABLE 1

struct grow {
	const struct planes_in *in;
	const struct osr_fabric *fabric;    /* with the first LIDs */
	const struct planes_places *places; /* NULL: none are exchanged */
	uint8_t *lft;                       /* [n * n_dests * n_switches] of all planes */
	uint64_t *load;                     /* [n_channels] of all planes together, as of moves */
	uint64_t most;                      /* that a channel may carry */
	uint32_t *unit;                     /* [n_channels] that a route weighs, or NULL */
	/* The tree of plane 0: switches that have a way, nearest first; how far; by which channel. */
	uint32_t *list, *begin, n_list; /* [n_switches], [n_switches + 1] */
	uint32_t *len;                  /* [n_switches] OSR_NONE: no way */
	uint32_t *by0, *by;             /* [n_switches]; in the plane at hand */
	uint32_t *flow;                 /* [n_switches] end ports that send through */
	/* The tree at hand. */
	uint64_t *way;   /* [n_switches] the largest load on the way, without the tree itself */
	uint32_t *fresh; /* [n_channels] routes of this tree so far; 0 between trees */
};

static uint8_t *grow_row(const struct grow *grow, uint32_t k, uint32_t d)
{
	return grow->lft + ((size_t)k * grow->fabric->n_dests + d) * grow->fabric->n_switches;
}

static inline uint64_t grow_weight(const struct grow *grow, uint32_t c, uint64_t n_routes)
{
	return grow->unit ? n_routes * grow->unit[c] : n_routes;
}

/* The image of channels in plane k; NULL: none has one. */
static const uint32_t *grow_image(const struct grow *grow, uint32_t k)
{
	const struct planes_places *places = grow->places;

	return places ? places->image + (size_t)(k % places->n) * grow->fabric->n_channels : NULL;
}

/* By which channel each switch sends; OSR_NONE: by none, as the root. */
static void grow_read(const struct grow *grow, const uint8_t *row, uint32_t root, uint32_t *by)
{
	OSR_EACH_SWITCH(v, grow->fabric)
		by[v] = v == root ? OSR_NONE : osr_port_channel(grow->fabric, v, row[v]);
}

/* Does the turn from c to what its end sends by rise? */
static inline bool grow_rises(const struct grow *grow, uint32_t c)
{
	uint32_t next = grow->by[grow->fabric->chan_dst[c]];

	return next == OSR_NONE || grow->in->plane0->rank[c] < grow->in->plane0->rank[next];
}

/* ---- a tree of plane 0 ----------------------------------------------------------------------- */

/*
 * The lengths of its routes, and its switches by length. A route as long as before leads to a
 * switch that comes earlier.
 */
static void grow_lay_out(struct grow *grow, const uint8_t *row, uint32_t root)
{
	const struct osr_fabric *fabric = grow->fabric;
	uint32_t n = fabric->n_switches;

	memset(grow->len, 0xff, n * sizeof(*grow->len));
	memset(grow->begin, 0, (n + 1) * sizeof(*grow->begin));
	grow_read(grow, row, root, grow->by0);
	grow->len[root] = 0;
	OSR_EACH_SWITCH(from, fabric) {
		uint32_t v = from, depth = 0;

		/* Down to a switch whose way is known, and back. */
		while (grow->len[v] == OSR_NONE && depth < n && grow->by0[v] != OSR_NONE) {
			grow->list[depth++] = v;
			v = fabric->chan_dst[grow->by0[v]];
		}
		for (uint32_t len = grow->len[v]; len != OSR_NONE && depth;) {
			grow->len[grow->list[--depth]] = ++len;
			grow->begin[len]++;
		}
	}
	grow->n_list = 1;
	for (uint32_t len = 0; len <= n; len++) {
		uint32_t many = grow->begin[len];

		grow->begin[len] = grow->n_list;
		grow->n_list += many;
	}
	grow->list[0] = root;
	OSR_EACH_SWITCH(v, fabric)
		if (v != root && grow->len[v] != OSR_NONE)
			grow->list[grow->begin[grow->len[v]]++] = v;
}

/*
 * What the tree carries, `times` over: on its channels, or on their images. by[n_switches]: those of
 * the tree. Then flow[] is that of the tree.
 */
static void grow_carry(struct grow *grow, const uint32_t *by, const uint32_t *image, int64_t times)
{
	const struct osr_fabric *fabric = grow->fabric;

	memcpy(grow->flow, fabric->sw_sources, fabric->n_switches * sizeof(*grow->flow));
	OSR_EACH_FAR_FIRST(v, grow->list, grow->n_list)
	{
		uint32_t c = image ? image[by[v]] : by[v];

		if (c != OSR_NONE)
			grow->load[c] +=
				(uint64_t)(times * (int64_t)grow_weight(grow, c, grow->flow[v]));
		grow->flow[fabric->chan_dst[by[v]]] += grow->flow[v];
	}
}

/* ---- choices --------------------------------------------------------------------------------- */

/* Do as many routes more find room everywhere from c on? */
static bool grow_has_room(const struct grow *grow, uint32_t c, uint64_t n_routes)
{
	for (; c != OSR_NONE; c = grow->by[grow->fabric->chan_dst[c]])
		if (grow->load[c] + grow_weight(grow, c, n_routes + grow->fresh[c]) > grow->most)
			return false;
	return true;
}

static inline uint64_t grow_way(const struct grow *grow, uint32_t c, uint64_t n_routes)
{
	uint64_t load = grow->load[c] + grow_weight(grow, c, n_routes),
		 way = grow->way[grow->fabric->chan_dst[c]];

	return load > way ? load : way;
}

/* How much the planes below k use c from v to d, and the switch behind it. */
static uint64_t grow_used(const struct grow *grow, uint32_t k, uint32_t d, uint32_t v, uint32_t c)
{
	const struct osr_fabric *fabric = grow->fabric;
	uint64_t cost = 0;

	for (uint32_t below = 0; below < k; below++) {
		uint32_t other = osr_port_channel(fabric, v, grow_row(grow, below, d)[v]);

		if (other == OSR_NONE || fabric->chan_dst[other] != fabric->chan_dst[c])
			continue;
		cost += SAME_SWITCH + (other == c ? SAME_CABLE : 0);
	}
	return cost;
}

/* The best channel by which v may send n_routes to d over a route as long as before. */
static uint32_t grow_choose(const struct grow *grow, uint32_t k, uint32_t d, uint32_t v,
			    uint32_t n_routes)
{
	const struct osr_fabric *fabric = grow->fabric;
	uint32_t best = OSR_NONE;
	uint64_t least = 0, lightest = 0;

	OSR_EACH_CHANNEL(c, fabric, v) {
		uint32_t u = fabric->chan_dst[c];
		uint64_t cost, way;

		if (grow->len[u] == OSR_NONE || grow->len[u] + 1 != grow->len[v] ||
		    !grow_rises(grow, c))
			continue;
		cost = FULL;
		if (grow_has_room(grow, c, fabric->sw_sources[v]))
			cost = grow_used(grow, k, d, v, c);
		way = grow_way(grow, c, n_routes);
		if (best != OSR_NONE && (cost > least || (cost == least && way >= lightest)))
			continue;
		best = c;
		least = cost;
		lightest = way;
	}
	return best == OSR_NONE ? grow->by0[v] : best;
}

/* The image of the channel by which the switch sends whose place v takes; OSR_NONE: none serves. */
static uint32_t grow_image_of(const struct grow *grow, uint32_t k, uint32_t v, uint32_t *n_routes)
{
	const struct osr_fabric *fabric = grow->fabric;
	uint32_t from = OSR_NONE, c;

	if (grow->places)
		from = grow->places->to[(size_t)(k % grow->places->n) * fabric->n_switches + v];
	if (from == OSR_NONE || grow->len[from] == OSR_NONE || grow->by0[from] == OSR_NONE)
		return OSR_NONE;
	if (grow->flow[from] > *n_routes)
		*n_routes = grow->flow[from];
	c = grow_image(grow, k)[grow->by0[from]];
	if (c == OSR_NONE || fabric->chan_src[c] != v ||
	    grow->len[fabric->chan_dst[c]] + 1 != grow->len[v] || !grow_rises(grow, c))
		return OSR_NONE;
	return grow_has_room(grow, c, *n_routes) ? c : OSR_NONE;
}

/* The tree of d in plane k, from this one of plane 0 to the same switch, laid out. */
static void grow_tree(struct grow *grow, uint32_t k, uint32_t d, const uint8_t *row0)
{
	const struct osr_fabric *fabric = grow->fabric;
	uint32_t root = fabric->dest_switch[d], *by = grow->by;
	uint8_t *row = grow_row(grow, k, d);
	bool ok = true;

	memcpy(row, row0, fabric->n_switches);
	memset(by, 0xff, fabric->n_switches * sizeof(*by));
	grow->way[root] = 0;
	OSR_EACH_NEAR_FIRST(v, grow->list, grow->n_list)
	{
		uint32_t n_routes = fabric->sw_sources[v];

		by[v] = grow_image_of(grow, k, v, &n_routes);
		if (by[v] == OSR_NONE)
			by[v] = grow_choose(grow, k, d, v, n_routes);
		ok = ok && grow_rises(grow, by[v]);
		grow->way[v] = grow_way(grow, by[v], n_routes);
		row[v] = fabric->chan_port[by[v]];
		for (uint32_t c = by[v]; c != OSR_NONE; c = by[fabric->chan_dst[c]])
			grow->fresh[c] += fabric->sw_sources[v];
	}
	OSR_EACH_NEAR_FIRST(v, grow->list, grow->n_list)
	grow->fresh[by[v]] = 0;
	if (ok)
		return;
	memcpy(row, row0, fabric->n_switches);
	memcpy(by, grow->by0, fabric->n_switches * sizeof(*by));
}

/* ---- all trees ------------------------------------------------------------------------------- */

/* What a route weighs on each channel, where their rates differ. */
static enum osr_status grow_units(struct grow *grow, struct osr_diag *why)
{
	const struct osr_fabric *fabric = grow->fabric;
	uint32_t *unit = osr_alloc(grow->in->scratch, fabric->n_channels, sizeof(*unit));
	uint32_t fastest = osr_fabric_fastest(fabric);

	if (osr_arena_failed(grow->in->scratch, why))
		return OSR_NOMEM;
	OSR_EVERY_CHANNEL(c, fabric) {
		uint32_t rate = fabric->chan_rate[c];

		unit[c] = rate ? UNIT * fastest / rate : UNIT;
		if (unit[c] != UNIT)
			grow->unit = unit;
	}
	return OSR_OK;
}

static enum osr_status grow_init(struct grow *grow, struct osr_diag *why)
{
	const struct osr_fabric *fabric = grow->fabric;
	struct osr_arena *scratch = grow->in->scratch;
	size_t m = fabric->n_channels, n = fabric->n_switches, rows = fabric->n_dests * n;
	enum osr_status st = grow_units(grow, why);

	grow->lft = osr_alloc(scratch, grow->in->mates.n * rows, 1);
	grow->load = osr_calloc(scratch, m, sizeof(*grow->load));
	grow->list = osr_alloc(scratch, n, sizeof(*grow->list));
	grow->begin = osr_alloc(scratch, n + 1, sizeof(*grow->begin));
	grow->len = osr_alloc(scratch, n, sizeof(*grow->len));
	grow->by0 = osr_alloc(scratch, n, sizeof(*grow->by0));
	grow->by = osr_alloc(scratch, n, sizeof(*grow->by));
	grow->flow = osr_alloc(scratch, n, sizeof(*grow->flow));
	grow->way = osr_alloc(scratch, n, sizeof(*grow->way));
	grow->fresh = osr_calloc(scratch, m, sizeof(*grow->fresh));
	if (st || osr_arena_failed(scratch, why))
		return OSR_NOMEM;
	memcpy(grow->lft, grow->in->plane0->lft, rows);
	return OSR_OK;
}

static bool grow_is_host(const struct grow *grow, uint32_t d)
{
	return grow->fabric->term_weight[grow->fabric->dest_term[d]];
}

static uint64_t grow_busiest(const struct grow *grow)
{
	uint64_t most = 0;

	OSR_EVERY_CHANNEL(c, grow->fabric)
		most = grow->load[c] > most ? grow->load[c] : most;
	return most;
}

/* The load of plane 0, and of all other planes as far as there are images. */
static enum osr_status grow_plane0(struct grow *grow, struct osr_diag *why)
{
	const struct osr_fabric *fabric = grow->fabric;
	uint64_t *load0 = osr_alloc(grow->in->scratch, fabric->n_channels, sizeof(*load0));

	if (osr_arena_failed(grow->in->scratch, why))
		return OSR_NOMEM;
	OSR_EACH_DEST(d, fabric) {
		if (!grow_is_host(grow, d))
			continue;
		grow_lay_out(grow, grow_row(grow, 0, d), fabric->dest_switch[d]);
		grow_carry(grow, grow->by0, NULL, 1);
	}
	grow->most = grow_busiest(grow) * grow->in->mates.n * ALLOWED / 100;
	memcpy(load0, grow->load, fabric->n_channels * sizeof(*load0));
	for (uint32_t k = 1; k < grow->in->mates.n; k++) {
		const uint32_t *image = grow_image(grow, k);

		for (uint32_t c = 0; image && c < fabric->n_channels; c++)
			if (image[c] != OSR_NONE)
				grow->load[image[c]] += load0[c];
	}
	return OSR_OK;
}

/* The row of plane 0 that the tree of d in plane k comes from. */
static const uint8_t *grow_from(const struct grow *grow, uint32_t k, uint32_t d)
{
	uint32_t mate = grow->places ? k / grow->places->n : 0;

	if (!mate)
		return grow_row(grow, 0, d);
	return osr_planes_mate(grow->in, osr_planes_lid(grow->in, d, mate));
}

/* Of one LID after the other: what is known of its tree in plane 0 serves all planes. */
static void grow_planes(struct grow *grow)
{
	const struct osr_fabric *fabric = grow->fabric;

	OSR_EACH_DEST(d, fabric) {
		const uint8_t *laid_out = NULL;

		if (!grow_is_host(grow, d))
			continue;
		for (uint32_t k = 1; k < grow->in->mates.n; k++) {
			const uint32_t *image = grow_image(grow, k);
			bool is_lid = osr_planes_lid(grow->in, d, k) != OSR_NONE;
			const uint8_t *row0 = grow_row(grow, 0, d);

			if (is_lid)
				row0 = grow_from(grow, k, d);
			if (laid_out != row0)
				grow_lay_out(grow, row0, fabric->dest_switch[d]);
			laid_out = row0;
			if (image)
				grow_carry(grow, grow->by0, image, -1);
			memcpy(grow_row(grow, k, d), row0, fabric->n_switches);
			if (!is_lid)
				continue;
			grow_tree(grow, k, d, row0);
			grow_carry(grow, grow->by, NULL, 1);
		}
	}
}

/* Does the tree in turns.by pass a channel that carries too much? */
static bool grow_is_full(const struct grow *grow)
{
	OSR_EACH_NEAR_FIRST(v, grow->list, grow->n_list)
	if (grow->load[grow->by[v]] > grow->most)
		return true;
	return false;
}

/* Trees that pass full channels, once more: now all that the others carry is known. */
static void grow_again(struct grow *grow)
{
	const struct osr_fabric *fabric = grow->fabric;

	for (uint32_t k = 1; k < grow->in->mates.n; k++)
		OSR_EACH_DEST(d, fabric) {
			uint32_t root = fabric->dest_switch[d];

			if (osr_planes_lid(grow->in, d, k) == OSR_NONE)
				continue;
			grow_lay_out(grow, grow_from(grow, k, d), root);
			grow_read(grow, grow_row(grow, k, d), root, grow->by);
			if (!grow_is_full(grow))
				continue;
			grow_carry(grow, grow->by, NULL, -1);
			grow_carry(grow, grow->by0, NULL, 0);
			grow_tree(grow, k, d, grow_from(grow, k, d));
			grow_carry(grow, grow->by, NULL, 1);
		}
}

/* For moves: v sends to d by c, with what sends through it. */
static bool grow_may(struct osr_moves *moves, uint32_t d, uint32_t v, uint32_t c,
		     const uint16_t *list, uint32_t n)
{
	const struct grow *grow = moves->ctx;
	const struct osr_fabric *fabric = grow->fabric;
	const uint32_t *rank = grow->in->plane0->rank;
	const uint8_t *row = moves->hop + (size_t)d * fabric->n_switches;
	uint32_t u = fabric->chan_dst[c];
	bool ok = u == fabric->dest_switch[d] || rank[c] < rank[fabric->chan_row[u] + row[u]];

	for (uint32_t i = 0; i < n && ok; i++) {
		uint32_t by = fabric->chan_row[list[i]] + row[list[i]];

		ok = list[i] == v || fabric->chan_dst[by] != v || rank[by] < rank[c];
	}
	return ok;
}

/* Branches leave channels that carry too much (moves.h). */
static void grow_move(struct grow *grow, struct osr_moves *moves)
{
	for (uint32_t k = 1; k < grow->in->mates.n && grow_busiest(grow) > grow->most; k++) {
		moves->hop = grow_row(grow, k, 0);
		osr_tables_to_hops(grow->fabric, moves->hop);
		osr_moves_run(moves);
		osr_tables_to_ports(grow->fabric, moves->hop);
	}
}

/* Until no channel carries too much. OSR_NOT_APPLICABLE: one still does. */
static enum osr_status grow_balance(struct grow *grow, struct osr_diag *why)
{
	struct osr_moves moves = { .fabric = grow->fabric,
				   .unit = grow->unit,
				   .load = grow->load,
				   .goal = grow->most,
				   .aim = grow->most,
				   .ctx = grow,
				   .may = grow_may };
	enum osr_status st = OSR_OK;

	for (unsigned pass = 1; pass <= PASSES && grow_busiest(grow) > grow->most && !st; pass++) {
		if (pass % PASSES_MOVE) {
			grow_again(grow);
			continue;
		}
		if (!moves.scratch)
			st = osr_moves_init(&moves, grow->in->scratch, why);
		if (!st)
			grow_move(grow, &moves);
	}
	if (!st && grow_busiest(grow) > grow->most)
		st = osr_fail(why, OSR_NOT_APPLICABLE, "a link would carry too much");
	return st;
}

/* Rows of their own, of the LIDs that have not the tree of the mate. */
static void grow_write(const struct grow *grow, struct planes_offer *offer)
{
	for (uint32_t k = 1; k < grow->in->mates.n; k++)
		OSR_EACH_DEST(d, grow->fabric) {
			uint32_t lid = osr_planes_lid(grow->in, d, k);

			if (lid != OSR_NONE)
				osr_planes_own(grow->in, lid, grow_row(grow, k, d), offer);
		}
}

enum osr_status osr_planes_grow(const struct planes_in *in, const struct planes_places *places,
				struct planes_offer *offer, struct osr_diag *why)
{
	struct grow grow = { .in = in, .fabric = in->first, .places = places };
	enum osr_status st = grow_init(&grow, why);

	if (!st)
		st = grow_plane0(&grow, why);
	if (st)
		return st;
	grow_planes(&grow);
	st = grow_balance(&grow, why);
	if (!st)
		grow_write(&grow, offer);
	return st;
}

enum osr_status osr_planes_ways(struct planes_in *in, struct planes_offer *offer,
				struct osr_diag *why)
{
	enum osr_status st;

	if (!in->plane0->rank || in->plane0->sl || in->plane0->sl2vl)
		return osr_fail(why, OSR_NOT_APPLICABLE, "more than one lane");
	st = osr_planes_offer(in, OSR_PLANE_WAYS, offer, why);
	return st ? st : osr_planes_grow(in, NULL, offer, why);
}

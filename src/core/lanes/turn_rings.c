/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Lanes by turn for products with rings (tori): dimension order, where no packet goes straight on over three
 * certain channels of a ring.
 *
 * Where the lane depends on the turn alone, a packet cannot stay on the lane it changed to: whoever goes from
 * c1 straight on to c2 gets lane L(c1, c2). So a ring in which shortest routes of three channels go all the
 * way round has a cycle on any number of lanes, and in each direction one triple must stay unused. Rising
 * that is 0, 1, 2, 3, falling 1, 0, n - 1, n - 2. Then two lanes do: the turn 0, 1, 2 leads to lane 1, every
 * other one to lane 0; from channel (1, 2) on lane 0 around to (0, 1), and at last (1, 2) on lane 1, which
 * goes on into other dimensions only. Dimensions follow each other. Whoever would need that triple goes the
 * other way round. That the two triples share one cable leaves the busiest channel least to carry.
 *
 * For every coordinate b of a ring, rise[b] switches before it send to it rising, the others falling: those
 * for whom both ways are as long are dealt out such that the busiest channel carries least.
 */
#include <string.h>

#include <osmroutes/product.h>
#include "core/paths/mcast.h"

#include "lanes_private.h"
#include "turn_private.h"

#define RING_ROUNDS 6

/* ---- one ring -------------------------------------------------------------------------------- */

struct ring {
	uint32_t n;
	uint16_t *rise;
	uint64_t *load; /* [2 * n] rising from each coordinate, falling from each */
};

/* May r switches send to b rising, n - 1 - r falling? Neither way has all of its unused triple. */
static bool ring_may(uint32_t n, uint32_t b, uint32_t r)
{
	uint32_t fall = n - 1 - r, up = b >= r ? n - (b - r) : r - b,
		 down = b + fall >= n ? b + fall - n : b + fall;

	/* Channels from the first one of them to 0, and to 1. */
	up = up == n ? 0 : up;
	down = down ? down - 1 : n - 1;
	return up + 3 > r && down + 3 > fall;
}

/* How many of them have a longer way than the other one. */
static uint32_t ring_longer(uint32_t n, uint32_t r)
{
	uint32_t fall = n - 1 - r, half = n / 2;

	return (r > half ? r - half : 0) + (fall > half ? fall - half : 0);
}

static void ring_add(struct ring *ring, uint32_t b, uint32_t r, uint64_t sign)
{
	uint32_t n = ring->n, fall = n - 1 - r;

	for (uint32_t k = 1; k <= r; k++)
		ring->load[b >= k ? b - k : b + n - k] += sign * (r - k + 1);
	for (uint32_t k = 1; k <= fall; k++)
		ring->load[b + k >= n ? b + k : n + b + k] += sign * (fall - k + 1);
}

/* The busiest channel, then the sum of squares. */
static bool ring_better(const struct ring *ring, uint64_t best[2])
{
	uint64_t most = 0, squares = 0;

	for (uint32_t i = 0; i < 2 * ring->n; i++) {
		most = ring->load[i] > most ? ring->load[i] : most;
		squares += ring->load[i] * ring->load[i];
	}
	if (most > best[0] || (most == best[0] && squares >= best[1]))
		return false;
	best[0] = most;
	best[1] = squares;
	return true;
}

static void ring_choose(struct ring *ring, uint32_t b)
{
	uint64_t best[2] = { UINT64_MAX, UINT64_MAX };
	uint32_t n = ring->n, least = UINT32_MAX, kept = 0;

	for (uint32_t r = 0; r < n; r++)
		if (ring_may(n, b, r) && ring_longer(n, r) < least)
			least = ring_longer(n, r);
	for (uint32_t r = 0; r < n; r++) {
		if (!ring_may(n, b, r) || ring_longer(n, r) != least)
			continue;
		ring_add(ring, b, r, 1);
		kept = ring_better(ring, best) ? r : kept;
		ring_add(ring, b, r, (uint64_t)-1);
	}
	ring->rise[b] = (uint16_t)kept;
	ring_add(ring, b, kept, 1);
}

/* What the busiest channel carries, times `share`, is at least the mean. */
static double ring_plan(struct ring *ring)
{
	uint64_t most = 0, sum = 0;

	memset(ring->load, 0, 2 * ring->n * sizeof(*ring->load));
	for (uint32_t b = 0; b < ring->n; b++)
		ring_choose(ring, b);
	for (uint32_t i = 0; i < RING_ROUNDS; i++)
		for (uint32_t b = 0; b < ring->n; b++) {
			ring_add(ring, b, ring->rise[b], (uint64_t)-1);
			ring_choose(ring, b);
		}
	for (uint32_t i = 0; i < 2 * ring->n; i++) {
		most = ring->load[i] > most ? ring->load[i] : most;
		sum += ring->load[i];
	}
	return (double)most * 2 * ring->n / (double)sum;
}

/* ---- the product ----------------------------------------------------------------------------- */

struct turn_rings {
	struct turns *w;
	struct osr_lanes_job *job;
	struct osr_product product;
	struct osr_product_plan plan;
	double peak[OSR_MAX_DIMS]; /* of a dimension: busiest channel over the mean */
	uint16_t *feed;            /* [n_slots] lanes whose packets take this turn */
};

static enum osr_status rings_plan(struct turn_rings *x)
{
	const struct osr_product *product = &x->product;

	memset(&x->plan, 0, sizeof(x->plan));
	x->plan.n_layers = 1;
	for (uint32_t i = 0; i < product->n_dims; i++) {
		struct ring ring = { .n = product->size[i] };

		x->peak[i] = product->factor[i] == OSR_FACTOR_PATH ? 1.5 : 1;
		if (product->factor[i] != OSR_FACTOR_RING)
			continue;
		ring.rise = osr_alloc(x->job->scratch, ring.n, sizeof(*ring.rise));
		ring.load = osr_alloc(x->job->scratch, 2 * (size_t)ring.n, sizeof(*ring.load));
		if (!ring.rise || !ring.load)
			return osr__turn_nomem(x->job->diag);
		x->peak[i] = ring_plan(&ring);
		x->plan.rise[i] = ring.rise;
	}
	return OSR_OK;
}

static bool rings_are_straight(const struct turn_rings *x, uint32_t c1, uint32_t c2)
{
	return x->product.chan_dim[c1] == x->product.chan_dim[c2];
}

/* Does the turn from c1 to c2 lead to lane 1: rising 0, 1, 2, falling 1, 0, n - 1? */
static bool rings_change(const struct turn_rings *x, uint32_t c1, uint32_t c2)
{
	const struct osr_fabric *fabric = x->job->s->f;
	uint32_t dim = x->product.chan_dim[c1], n = x->product.size[dim], from, at, to;

	if (!rings_are_straight(x, c1, c2) || x->product.factor[dim] != OSR_FACTOR_RING)
		return false;
	from = x->product.coord[(size_t)fabric->chan_src[c1] * x->product.n_dims + dim];
	at = x->product.coord[(size_t)fabric->chan_dst[c1] * x->product.n_dims + dim];
	to = x->product.coord[(size_t)fabric->chan_dst[c2] * x->product.n_dims + dim];
	return (from == 0 && at == 1 && to == 2) || (from == 1 && at == 0 && to == n - 1);
}

static void rings_set_lanes(struct turn_rings *x)
{
	struct turns *w = x->w;
	const struct osr_fabric *fabric = w->t.f;

	for (uint32_t c1 = 0; c1 < fabric->n_channels; c1++)
		for (uint32_t t = w->g.row[c1]; t < w->g.row[c1 + 1]; t++)
			w->lane[t] = rings_change(x, c1, osr_cdg_target(&w->g, c1, t));
}

/* Routes of all LIDs, their loads, and which turns they take; how many are longer than minimal. */
static uint32_t rings_route(struct turn_rings *x)
{
	struct turns *w = x->w;
	struct osr_spf *spf = w->t.s;
	const struct osr_fabric *fabric = w->t.f;
	uint32_t n_longer = 0;

	for (uint32_t c = 0; c < fabric->n_channels; c++)
		spf->weight[c] &= HOP_MASK;
	for (uint32_t d = 0; d < fabric->n_dests; d++) {
		uint8_t *hop = spf->hop + (size_t)d * fabric->n_switches;
		uint32_t root = fabric->dest_switch[d];

		if (spf->alias[d] != OSR_NONE)
			continue;
		osr_dor(&x->product, &x->plan, d, hop);
		n_longer += osr__legal_count_tree(&w->t, d,
						  fabric->term_weight[fabric->dest_term[d]] != 0);
		for (uint32_t v = 0; v < fabric->n_switches; v++) {
			uint32_t c = fabric->chan_row[v] + hop[v];

			if (v != root && fabric->chan_dst[c] != root)
				x->feed[w->g.row[c] + hop[fabric->chan_dst[c]]] = 3;
		}
	}
	return n_longer;
}

/* The spanning order of multicast: it breaks each ring between 0 and 1, and makes none of the turns to lane 1. */
static void rings_spread(struct turn_rings *x)
{
	struct turns *w = x->w;

	osr_product_tree(&x->product, &x->plan, 0, w->t.escape);
	memset(w->g.weight, 0, w->g.n_slots * sizeof(*w->g.weight));
	osr_mcast_depend(w->t.escape, &w->g);
	for (uint32_t t = 0; t < w->g.n_slots; t++) {
		x->feed[t] |= w->g.weight[t] != 0;
		w->pinned[t] = w->g.weight[t] != 0;
	}
}

/*
 * What multicast and routes on lane 0 take; those on lane 1, which are no multicast, only where they go on
 * into other dimensions.
 */
static bool rings_sort(struct turn_rings *x, uint32_t *work)
{
	const struct turns *w = x->w;

	for (uint32_t c = 0; c < w->t.f->n_channels; c++)
		for (uint32_t t = w->g.row[c]; t < w->g.row[c + 1]; t++)
			if ((x->feed[t] & 2) &&
			    rings_are_straight(x, c, osr_cdg_target(&w->g, c, t)))
				x->feed[t] = 1;
	return osr__turn_sort(w, x->feed, NULL, work, w->rank);
}

/* No routing within this plan can keep the channels of a dimension below: is this one close to it? */
static bool rings_are_even(const struct turn_rings *x)
{
	uint64_t sum[OSR_MAX_DIMS] = { 0 }, n[OSR_MAX_DIMS] = { 0 }, most = 0;
	const struct osr_spf *spf = x->job->s;
	double bound = 0;

	for (uint32_t c = 0; c < spf->f->n_channels; c++) {
		uint64_t load = spf->weight[c] >> HOP_BITS;

		sum[x->product.chan_dim[c]] += load;
		n[x->product.chan_dim[c]]++;
		most = load > most ? load : most;
	}
	for (uint32_t i = 0; i < x->product.n_dims; i++) {
		double least = x->peak[i] * (double)sum[i] / (double)n[i];

		bound = least > bound ? least : bound;
	}
	return (double)most <= bound * 1.15;
}

static enum osr_status rings_begin(struct turn_rings *x)
{
	const struct osr_fabric *fabric = x->job->s->f;
	struct osr_arena *scratch = x->job->scratch;
	struct turns *w = x->w;
	enum osr_status st = osr_cdg_init(&w->g, fabric, scratch, x->job->diag);

	if (st)
		return st;
	w->t = (struct osr__legal){ .s = x->job->s, .f = fabric, .all = 1 };
	w->n_lanes = 2;
	w->n_classes = osr__turn_classes(x->job->req);
	w->lane = osr_alloc(scratch, w->g.n_slots, 1);
	w->pinned = osr_alloc(scratch, w->g.n_slots, 1);
	w->rank = osr_alloc(scratch, 2 * (size_t)fabric->n_channels, sizeof(*w->rank));
	x->feed = osr_calloc(scratch, w->g.n_slots, sizeof(*x->feed));
	if (!w->lane || !w->pinned || !w->rank || !x->feed || !osr__legal_alloc(&w->t, scratch))
		return osr__turn_nomem(x->job->diag);
	return rings_plan(x);
}

/* Hops and loads in *turn, those of the job as before. */
static enum osr_status rings_make(struct turn_rings *x, struct osr_turn_result *turn, bool *made)
{
	struct osr_spf *spf = x->job->s;
	size_t size = (size_t)spf->f->n_dests * spf->f->n_switches, m = spf->f->n_channels;
	uint32_t *work = osr_alloc(x->job->scratch, 4 * m, sizeof(*work));
	enum osr_status st = rings_begin(x);

	turn->hop = osr_alloc(x->job->scratch, size, 1);
	turn->weight = osr_alloc(x->job->scratch, m, sizeof(*turn->weight));
	if (st || !work || !turn->hop || !turn->weight)
		return st ? st : osr__turn_nomem(x->job->diag);
	memcpy(turn->hop, spf->hop, size);
	memcpy(turn->weight, spf->weight, m * sizeof(*turn->weight));
	turn->w = x->w;
	turn->n_longer = rings_route(x);
	turn->load = osr__turn_most_loaded(spf);
	rings_spread(x);
	rings_set_lanes(x);
	*made = rings_sort(x, work) && rings_are_even(x);
	osr__turn_swap(spf, turn);
	return OSR_OK;
}

static bool rings_suit(const struct osr_spf *spf)
{
	for (uint32_t t = 0; t < spf->f->n_terminals; t++)
		if (spf->f->term_lmc[t] && spf->f->term_weight[t])
			return false;
	return !spf->scratch->mixed;
}

enum osr_status osr__turn_rings(struct osr_lanes_job *job, bool *routed)
{
	struct osr_arena_mark mark = osr_arena_mark(job->scratch);
	struct turn_rings *x = osr_calloc(job->scratch, 1, sizeof(*x));
	struct turns *w = osr_calloc(job->scratch, 1, sizeof(*w));
	struct osr_turn_result turn = { .w = NULL };
	bool made = false;
	enum osr_status st = OSR_NOT_APPLICABLE;

	*routed = false;
	if (!x || !w)
		return osr__turn_nomem(job->diag);
	x->job = job;
	x->w = w;
	if (rings_suit(job->s))
		st = osr_product_find(job->s->f, job->scratch, &x->product, job->diag);
	if (!st && x->product.n_rings)
		st = rings_make(x, &turn, &made);
	if (st == OSR_NOT_APPLICABLE) {
		if (job->diag)
			job->diag->text[0] = 0;
		st = OSR_OK;
	}
	if (!made) {
		osr_arena_reset(job->scratch, mark);
		return st;
	}
	job->turn = turn;
	*routed = job->opt->any_sl != OSR_ANY_SL_AUTO;
	return *routed ? osr__turn_take(job) : st;
}

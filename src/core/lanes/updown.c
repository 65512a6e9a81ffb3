/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * See updown.h. From the outside in:
 *	osr_updown_search()	starts from breadth first
 *	  anneal()		  one switch crosses one neighbour, again and again
 *	    count_served()	    what an order is worth
 */
#include <osmroutes/each.h>
#include <osmroutes/span.h>
#include "core/lanes/updown.h"

#include <string.h>

#include <osmroutes/prng.h>

#include "../paths/spf_private.h"

#define MAX_DESTS 512
#define MOVES_PER_SWITCH 10 /* at effort 1: small fabrics need no more */
#define BITS 256            /* of a block of destinations */
#define INLINE static inline __attribute__((always_inline))

typedef uint64_t block_t __attribute__((vector_size(BITS / 8)));

struct search {
	const struct osr_fabric *fabric;
	uint32_t n_blocks;
	uint32_t last_words; /* of the last block that are in use */
	block_t *shortest;   /* [n_blocks * n_channels] dests to which the channel is a first hop */
	block_t *self;       /* [n_blocks * n_switches] the switch's own bit, if it is a dest */
	block_t *down, *any; /* [n_switches] of one block */
	uint16_t *order;     /* [n_switches] the highest first */
	uint32_t *place;     /* [n_switches] its inverse */
	uint16_t *best;      /* [n_switches] the best order seen */
	uint32_t n_roots;
};

/* ---- the worth of an order ------------------------------------------------------------------- */

INLINE uint64_t count_bits(const block_t *x, uint32_t n_words)
{
	uint64_t n = 0;

	for (uint32_t i = 0; i < n_words; i++)
		n += (uint64_t)__builtin_popcountll((*x)[i]);
	return n;
}

/* reached[v] = the switches that v reaches already, and those that its channels add. */
INLINE void updown_reach(const struct osr_fabric *fabric, const block_t *shortest, uint32_t v,
			 const block_t *already, block_t *reached)
{
	block_t sum = *already;

	OSR_EACH_CHANNEL(c, fabric, v)
		sum |= shortest[c] & reached[fabric->chan_dst[c]];
	reached[v] = sum;
}

INLINE uint64_t served(const struct search *search)
{
	const struct osr_fabric *fabric = search->fabric;
	uint32_t n = fabric->n_switches;
	uint64_t sum = 0;

	for (uint32_t b = 0; b < search->n_blocks; b++) {
		const block_t *shortest = search->shortest + (size_t)b * fabric->n_channels;
		const block_t *start = search->self + (size_t)b * n;
		uint32_t words = b + 1 < search->n_blocks ? BITS / 64 : search->last_words;

		/*
		 * A switch that has not been visited reaches nothing: no need to compare heights.
		 */
		memset(search->down, 0, n * sizeof(*search->down));
		memset(search->any, 0, n * sizeof(*search->any));
		for (uint32_t i = n; i--;)
			updown_reach(fabric, shortest, search->order[i], &start[search->order[i]],
				     search->down);
		for (uint32_t i = 0; i < n; i++) {
			uint32_t v = search->order[i];

			updown_reach(fabric, shortest, v, &search->down[v], search->any);
			if (fabric->sw_sources[v])
				sum += count_bits(&search->any[v], words);
		}
	}
	return sum;
}

/* The same on processors that do 256 bits at a time and count them. */
#if defined(__x86_64__)
__attribute__((target("avx2,popcnt"))) static uint64_t served_avx2(const struct search *search)
{
	return served(search);
}

static uint64_t count_served(const struct search *search)
{
	return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("popcnt")
		       ? served_avx2(search)
		       : served(search);
}
#else
static uint64_t count_served(const struct search *w)
{
	return served(w);
}
#endif

/* ---- moves ----------------------------------------------------------------------------------- */

static void updown_move(struct search *search, uint32_t from, uint32_t to)
{
	uint16_t v = search->order[from];

	for (; from < to; from++)
		search->place[search->order[from] = search->order[from + 1]] = from;
	for (; from > to; from--)
		search->place[search->order[from] = search->order[from - 1]] = from;
	search->place[search->order[to] = v] = to;
}

/* Does v have a neighbour above `place`, other than `but`? */
static bool has_higher(const struct search *search, uint32_t v, uint32_t place, uint32_t but)
{
	for (uint32_t c = search->fabric->chan_row[v]; c < search->fabric->chan_row[v + 1]; c++)
		if (search->fabric->chan_dst[c] != but &&
		    search->place[search->fabric->chan_dst[c]] < place)
			return true;
	return false;
}

/*
 * May v go to this place? Everybody but the roots keeps a neighbour above, or some pairs would have
 * no path at all.
 */
static bool may_move(const struct search *search, uint32_t v, uint32_t to)
{
	const struct osr_fabric *fabric = search->fabric;
	uint32_t from = search->place[v];

	if (from < search->n_roots || to < search->n_roots)
		return false;
	if (to < from)
		return has_higher(search, v, to, OSR_NONE);
	OSR_EACH_CHANNEL(c, fabric, v) {
		uint32_t u = fabric->chan_dst[c];

		if (search->place[u] > from && search->place[u] <= to &&
		    !has_higher(search, u, search->place[u], v))
			return false;
	}
	return true;
}

/* -log2 of a random number between 0 and 1, in 1/65536: its integer part, and a straight line. */
static uint64_t draw_exponential(struct osr_prng *prng)
{
	uint64_t x = osr_prng_next(prng) | 1;
	uint32_t zeros = (uint32_t)__builtin_clzll(x);

	return ((uint64_t)(zeros + 1) << 16) - (x << zeros >> 47 & 0xffff);
}

/*
 * A random switch crosses a random neighbour, and all between them, again and again. Worse orders
 * are kept with probability 2^-(loss / temperature); the temperature is in 1/65536 of a pair. Half
 * the moves find the neighbourhood, the rest settle: the temperature falls, in steps, from what a
 * channel means (4/5 of the pairs for each channel) to 1/30 of that.
 */
#define STEPS 64
#define COOLING 62144 /* 65536 / 30^(1/64) */

static void anneal(struct search *search, uint64_t n_moves, struct osr_updown *updown)
{
	const struct osr_fabric *fabric = search->fabric;
	size_t size = fabric->n_switches * sizeof(*search->order);
	struct osr_prng prng = { .state = 3 };
	uint64_t now = updown->n_served, then,
		 temperature = (updown->n_pairs << 16) / (fabric->n_channels + 1) * 4 / 5;

	memcpy(search->best, search->order, size);
	for (uint32_t step = 0; step < STEPS; step++) {
		for (uint64_t i = 0; i < n_moves / STEPS; i++) {
			uint32_t v = osr_prng_below(&prng, fabric->n_switches),
				 from = search->place[v], first = fabric->chan_row[v],
				 degree = fabric->chan_row[v + 1] - first, to;

			if (!degree)
				continue;
			to = search->place[fabric->chan_dst[first + osr_prng_below(&prng, degree)]];
			if (!may_move(search, v, to))
				continue;
			updown_move(search, from, to);
			then = count_served(search);
			if (then < now &&
			    (now - then) << 32 > temperature * draw_exponential(&prng)) {
				updown_move(search, to, from);
				continue;
			}
			now = then;
			if (now > updown->n_served) {
				updown->n_served = now;
				memcpy(search->best, search->order, size);
			}
		}
		temperature = temperature * COOLING >> 16;
	}
	memcpy(search->order, search->best, size);
	OSR_EACH_SWITCH(i, fabric)
		search->place[search->order[i]] = i;
}

/* ---- start and end --------------------------------------------------------------------------- */

/* Breadth first from the center of each component; at equal distance, many neighbours first. */
static void start_order(struct search *search, const struct osr_spf *spf)
{
	const struct osr_fabric *fabric = search->fabric;
	uint32_t n = 0;

	for (uint32_t k = 0; k < fabric->n_components; k++)
		search->order[n++] = (uint16_t)spf->center[k];
	for (uint32_t k = 0; k < fabric->n_components; k++) {
		uint32_t root = spf->center[k], first = n;
		const uint16_t *order = spf->order + (size_t)root * fabric->n_switches;
		const uint8_t *dist8 = spf->scratch->dist8 + (size_t)root * fabric->n_switches;

		for (uint32_t i = 1; i < spf->n_order[root]; i++) {
			uint32_t v = order[i], j = n++;
			uint32_t degree = fabric->chan_row[v + 1] - fabric->chan_row[v];

			if (i > 1 && dist8[v] != dist8[order[i - 1]])
				first = j;
			for (; j > first; j--) {
				uint32_t u = search->order[j - 1];

				if (fabric->chan_row[u + 1] - fabric->chan_row[u] >= degree)
					break;
				search->order[j] = search->order[j - 1];
			}
			search->order[j] = (uint16_t)v;
		}
	}
	OSR_EACH_SWITCH(i, fabric)
		search->place[search->order[i]] = i;
	search->n_roots = fabric->n_components;
}

/*
 * A bit for each of the destinations; of more than MAX_DESTS, evenly spread ones. How many (source,
 * destination) pairs they stand for, the own switch included.
 */
static uint64_t set_bits(struct search *search, const struct osr_spf *spf, uint32_t n_hosted,
			 uint32_t n_bits)
{
	const struct osr_fabric *fabric = search->fabric;
	size_t n = fabric->n_switches;
	uint32_t seen = 0, bit = 0;
	uint64_t n_pairs = 0;

	for (uint32_t d = 0; d < n; d++) {
		const uint8_t *dist8 = spf->scratch->dist8 + d * n;
		uint32_t block = bit / BITS, word = bit % BITS / 64;
		uint64_t mask = UINT64_C(1) << bit % 64;

		if (!fabric->sw_sources[d] || (uint64_t)seen++ * n_bits / n_hosted < bit ||
		    bit == n_bits)
			continue;
		search->self[block * n + d][word] |= mask;
		OSR_EVERY_CHANNEL(c, fabric) {
			uint32_t v = fabric->chan_src[c], u = fabric->chan_dst[c];

			if (fabric->sw_component[d] == fabric->sw_component[v] &&
			    dist8[v] == (uint8_t)(dist8[u] + 1))
				search->shortest[(size_t)block * fabric->n_channels + c][word] |=
					mask;
		}
		for (uint32_t v = 0; v < n; v++)
			n_pairs += fabric->sw_sources[v] &&
				   fabric->sw_component[v] == fabric->sw_component[d];
		bit++;
	}
	return n_pairs;
}

enum osr_status osr_updown_search(const struct osr_spf *spf, uint32_t effort,
				  struct osr_arena *scratch, struct osr_updown *updown,
				  struct osr_diag *diag)
{
	const struct osr_fabric *fabric = spf->fabric;
	uint32_t n = fabric->n_switches, n_hosted = 0, n_bits, *by_place, *depth;
	uint64_t n_moves, most = (uint64_t)effort * MOVES_PER_SWITCH * n;
	struct osr_arena_mark mark;
	struct search search = { .fabric = fabric };

	*updown = (struct osr_updown){ .place = osr_alloc(scratch, n, sizeof(*updown->place)),
				       .parent = osr_alloc(scratch, n, sizeof(*updown->parent)) };
	mark = osr_arena_mark(scratch);
	search.place = updown->place;
	for (uint32_t v = 0; v < n; v++)
		n_hosted += fabric->sw_sources[v] != 0;
	n_bits = n_hosted < MAX_DESTS ? n_hosted : MAX_DESTS;
	/* A block for a few more than there is room for costs more than they tell. */
	if (n_bits > BITS && n_bits % BITS && n_bits % BITS < BITS / 4)
		n_bits -= n_bits % BITS;
	search.n_blocks = (n_bits + BITS - 1) / BITS;
	search.last_words = ((n_bits + BITS - 1) % BITS + 64) / 64;
	search.shortest =
		osr_calloc(scratch, (size_t)search.n_blocks * fabric->n_channels, sizeof(block_t));
	search.self = osr_calloc(scratch, (size_t)search.n_blocks * n, sizeof(block_t));
	search.down = osr_alloc(scratch, n, sizeof(block_t));
	search.any = osr_alloc(scratch, n, sizeof(block_t));
	search.order = osr_alloc(scratch, n, sizeof(*search.order));
	search.best = osr_alloc(scratch, n, sizeof(*search.best));
	by_place = osr_alloc(scratch, n, sizeof(*by_place));
	depth = osr_alloc(scratch, n, sizeof(*depth));
	if (osr_arena_failed(scratch, diag))
		return OSR_NOMEM;
	updown->n_pairs = set_bits(&search, spf, n_hosted, n_bits);
	start_order(&search, spf);
	updown->n_served = count_served(&search);
	n_moves = (uint64_t)effort * 1000000 /
		  (2 * (uint64_t)search.n_blocks * fabric->n_channels + 1);
	anneal(&search, n_moves < most ? n_moves : most, updown);
	for (uint32_t i = 0; i < n; i++)
		by_place[i] = search.order[i];
	osr_span_in_order(fabric, updown->place, by_place, depth, updown->parent);
	osr_arena_reset(scratch, mark);
	return OSR_OK;
}

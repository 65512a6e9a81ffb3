/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Section 4.2 of the paper. A chromosome is a choice for every pair that has more than one; the
 * first generation is random; two parents drawn from all with equal chances (panmixia) give two
 * children by two-point crossover; each gene of a child is drawn anew with the chance of a
 * mutation; the best of parents and children together are the next generation. Fitness is sigma(4),
 * the smaller the better.
 *
 * What the paper leaves open: there are as many children as parents in a generation. "The fitness
 * value of next best solution less then 0.05 of fitness value of global best solution" is read as
 * it stands: it ends the search when a new best is that much better at once, which only happens
 * when the loads become even.
 *
 * Fitness is compared as a sum of whole numbers, |C gamma_c - sum|^4 with |C| channels, in 128
 * bits: that orders like sigma(4) and is the same on every machine. Loads of the children are kept
 * up to date gene by gene, where they differ from a parent's. Genes that change are listed first and
 * changed afterwards, so that the channels of those to come are on their way from memory; and these
 * are kept in 16 bits, one gene after the other.
 */
#include "srcroutes_private.h"

#include <stdlib.h>
#include <string.h>

#include <osmroutes/prng.h>

#define AHEAD 12 /* changes of which the channels are asked for beforehand */

struct chromosome {
	uint16_t *gene; /* [n_genes] */
	uint32_t *load; /* [n_channels] */
	unsigned __int128 fitness;
};

/* Where the choices of a gene are. */
struct locus {
	uint64_t first; /* into channel[], hops for each choice */
	uint32_t pair;
	uint16_t hops;
};

struct change {
	uint32_t locus;
	uint16_t gene;
};

struct genetic {
	struct osr__picks *s;
	const struct osr_srcroutes *a;
	const struct osr_srcroutes_options *opt;
	struct osr_prng prng;
	uint32_t n_genes, n_channels, n_live, most;
	struct locus *locus;           /* [n_genes] */
	uint16_t *n_choices;           /* [n_genes] */
	uint64_t *limit;               /* [most choices + 1] draws from here on are drawn again */
	uint16_t *channel;             /* of all choices of all genes */
	struct change *change;         /* [n_genes] */
	uint32_t *live;                /* [n_live] channels that are there */
	uint64_t total;                /* sum of all loads: the same for every chromosome */
	struct chromosome *individual; /* [2 * population] parents, then children */
	uint32_t *order;               /* [2 * population] */
};

static unsigned __int128 fitness(const struct genetic *w, const uint32_t *load)
{
	unsigned __int128 sum = 0;

	for (uint32_t i = 0; i < w->n_live; i++) {
		uint64_t x = (uint64_t)load[w->live[i]] * w->n_live;
		uint64_t gap = x > w->total ? x - w->total : w->total - x;
		unsigned __int128 square = (unsigned __int128)gap * gap;

		sum += square * square;
	}
	return sum;
}

static inline const uint16_t *genetic_channels(const struct genetic *w, uint32_t i, uint32_t gene)
{
	return w->channel + w->locus[i].first + (size_t)gene * w->locus[i].hops;
}

/* Every gene at most once in a list. */
static void genetic_apply(const struct genetic *w, struct chromosome *x, uint32_t n)
{
	const struct change *c = w->change;

	for (uint32_t k = 0; k < n; k++) {
		const uint16_t *before = genetic_channels(w, c[k].locus, x->gene[c[k].locus]);
		const uint16_t *after = genetic_channels(w, c[k].locus, c[k].gene);
		uint32_t hops = w->locus[c[k].locus].hops;

		if (k + 2 * AHEAD < n)
			__builtin_prefetch(&w->locus[c[k + 2 * AHEAD].locus]);
		if (k + AHEAD < n) {
			uint32_t i = c[k + AHEAD].locus;

			__builtin_prefetch(genetic_channels(w, i, x->gene[i]));
			__builtin_prefetch(genetic_channels(w, i, c[k + AHEAD].gene));
		}
		for (uint32_t h = 0; h < hops; h++) {
			x->load[before[h]]--;
			x->load[after[h]]++;
		}
		x->gene[c[k].locus] = c[k].gene;
	}
}

/* osr_prng_below(), with one division instead of two. */
static inline uint16_t genetic_draw(struct osr_prng *prng, uint32_t n, uint64_t limit)
{
	uint64_t x;

	do
		x = osr_prng_next(prng);
	while (x >= limit);
	return (uint16_t)(x % n);
}

static void make_first(struct genetic *w, struct chromosome *x)
{
	memcpy(x->load, w->s->load, w->n_channels * sizeof(*x->load));
	for (uint32_t i = 0; i < w->n_genes; i++) {
		const uint16_t *channel;

		x->gene[i] = genetic_draw(&w->prng, w->n_choices[i], w->limit[w->n_choices[i]]);
		channel = genetic_channels(w, i, x->gene[i]);
		for (uint32_t h = 0; h < w->locus[i].hops; h++)
			x->load[channel[h]]++;
	}
	x->fitness = fitness(w, x->load);
}

/* The child is like `whole`, but from `lo` to `hi` like `part`. */
static void cross(struct genetic *w, struct chromosome *child, const struct chromosome *whole,
		  const struct chromosome *part, uint32_t lo, uint32_t hi)
{
	uint32_t n = 0;

	memcpy(child->gene, whole->gene, w->n_genes * sizeof(*child->gene));
	memcpy(child->load, whole->load, w->n_channels * sizeof(*child->load));
	for (uint32_t i = lo; i < hi; i++) {
		/* After some generations most of them are equal: eight at a time. */
		if (i + 8 <= hi && !memcmp(child->gene + i, part->gene + i, 16)) {
			i += 7;
			continue;
		}
		w->change[n] = (struct change){ i, part->gene[i] };
		n += child->gene[i] != part->gene[i];
	}
	genetic_apply(w, child, n);
}

/* Every gene with the same chance. */
static void mutate(struct genetic *w, struct chromosome *child)
{
	uint64_t limit = UINT64_MAX / 1000 * w->opt->mutation_permille;
	struct osr_prng prng = w->prng;
	uint32_t n = 0;

	for (uint32_t i = 0; i < w->n_genes; i++) {
		uint16_t gene;

		if (osr_prng_next(&prng) >= limit)
			continue;
		gene = genetic_draw(&prng, w->n_choices[i], w->limit[w->n_choices[i]]);
		w->change[n] = (struct change){ i, gene };
		n += gene != child->gene[i];
	}
	w->prng = prng;
	genetic_apply(w, child, n);
	child->fitness = fitness(w, child->load);
}

static void breed(struct genetic *w)
{
	uint32_t n = w->opt->population;

	for (uint32_t i = 0; i < n; i++) {
		const struct chromosome *a = &w->individual[osr_prng_below(&w->prng, n)];
		const struct chromosome *b = &w->individual[osr_prng_below(&w->prng, n)];
		uint32_t lo = osr_prng_below(&w->prng, w->n_genes);
		uint32_t hi = osr_prng_below(&w->prng, w->n_genes);

		cross(w, &w->individual[n + i], a, b, lo < hi ? lo : hi, (lo < hi ? hi : lo) + 1);
		if (++i < n)
			cross(w, &w->individual[n + i], b, a, lo < hi ? lo : hi,
			      (lo < hi ? hi : lo) + 1);
	}
	for (uint32_t i = 0; i < n; i++)
		mutate(w, &w->individual[n + i]);
}

/* The fitter half comes to the front; among equals parents stay before children. */
static void select_best(struct genetic *w)
{
	uint32_t n = 2 * w->opt->population;

	for (uint32_t i = 1; i < n; i++) {
		struct chromosome x = w->individual[i];
		uint32_t k = i;

		for (; k && x.fitness < w->individual[k - 1].fitness; k--)
			w->individual[k] = w->individual[k - 1];
		w->individual[k] = x;
	}
}

static void evolve(struct genetic *w, struct osr_srcroutes_stats *stats)
{
	uint32_t idle = 0;

	for (uint32_t i = 0; i < w->opt->population; i++)
		make_first(w, &w->individual[i]);
	for (uint32_t i = w->opt->population; i < 2 * w->opt->population; i++)
		w->individual[i].fitness = ~(unsigned __int128)0;
	select_best(w);
	while (idle < w->opt->patience) {
		unsigned __int128 best = w->individual[0].fitness, now;

		breed(w);
		select_best(w);
		stats->n_generations++;
		now = w->individual[0].fitness;
		idle = now < best ? 0 : idle + 1;
		/* sigma(4) below 0.05 of what it was, as fourth powers: 160,000 times less. */
		if (now < best / 160000)
			return;
	}
}

static enum osr_status population_init(struct genetic *w, struct osr_arena *scratch,
				       struct osr_diag *diag)
{
	size_t n = 2 * (size_t)w->opt->population;
	uint16_t *gene = osr_alloc(scratch, n * w->n_genes, sizeof(*gene));
	uint32_t *load = osr_alloc(scratch, n * w->n_channels, sizeof(*load));

	w->individual = osr_calloc(scratch, n, sizeof(*w->individual));
	if (osr_arena_failed(scratch, diag))
		return OSR_NOMEM;
	for (size_t i = 0; i < n; i++) {
		w->individual[i].gene = gene + i * w->n_genes;
		w->individual[i].load = load + i * w->n_channels;
	}
	return OSR_OK;
}

/* Pairs with a single choice are no genes; they load their channels once and for all. */
static uint64_t sort_pairs(struct genetic *w)
{
	const struct osr_srcroutes *routes = w->a;
	uint64_t n = 0;

	for (uint32_t p = 0; p < routes->n_pairs; p++) {
		uint32_t n_choices = osr_srcroutes_n_choices(routes, p);

		w->total += routes->hops[p];
		if (n_choices > 1) {
			w->n_choices[w->n_genes] = (uint16_t)n_choices;
			w->locus[w->n_genes++] = (struct locus){ n, p, routes->hops[p] };
			w->most = n_choices > w->most ? n_choices : w->most;
			n += (uint64_t)n_choices * routes->hops[p];
		} else if (routes->hops[p]) {
			osr__picks_add(w->s, p, 0);
		}
	}
	return n;
}

static enum osr_status list_genes(struct genetic *w, struct osr_arena *scratch,
				  struct osr_diag *diag)
{
	const struct osr_srcroutes *routes = w->a;
	uint64_t n;

	w->locus = osr_alloc(scratch, routes->n_pairs, sizeof(*w->locus));
	w->n_choices = osr_alloc(scratch, routes->n_pairs, sizeof(*w->n_choices));
	w->live = osr_alloc(scratch, w->n_channels, sizeof(*w->live));
	if (osr_arena_failed(scratch, diag))
		return OSR_NOMEM;
	n = sort_pairs(w);
	w->channel = osr_alloc(scratch, n, sizeof(*w->channel));
	w->change = osr_alloc(scratch, w->n_genes, sizeof(*w->change));
	w->limit = osr_alloc(scratch, w->most + 1, sizeof(*w->limit));
	if (osr_arena_failed(scratch, diag))
		return OSR_NOMEM;
	for (uint32_t k = 2; k <= w->most; k++)
		w->limit[k] = UINT64_MAX - UINT64_MAX % k;
	for (uint32_t i = 0; i < w->n_genes; i++) {
		const uint32_t *from = osr_srcroutes_channels(routes, w->locus[i].pair, 0);
		uint64_t last = (uint64_t)w->n_choices[i] * w->locus[i].hops;

		for (uint64_t h = 0; h < last; h++)
			w->channel[w->locus[i].first + h] = (uint16_t)from[h];
	}
	for (uint32_t c = 0; c < w->n_channels; c++)
		if (routes->t->next[c] != OSR_NO_NODE)
			w->live[w->n_live++] = c;
	return OSR_OK;
}

enum osr_status osr__genetic(struct osr__picks *picks, const struct osr_srcroutes_options *opt,
			     struct osr_arena *scratch, struct osr_srcroutes_stats *stats,
			     struct osr_diag *diag)
{
	struct genetic w = { .s = picks, .a = picks->a, .opt = opt, .prng = { opt->seed } };
	enum osr_status st;

	w.n_channels = picks->n_channels;
	if (opt->population < 2)
		return osr_fail(diag, OSR_INVAL, "a population of %u: expected 2 or more",
				opt->population);
	if (w.n_channels > UINT16_MAX)
		return osr_fail(diag, OSR_INVAL, "genetic search takes tori of at most %u channels",
				UINT16_MAX);
	st = list_genes(&w, scratch, diag);
	if (st || !w.n_genes)
		return st;
	st = population_init(&w, scratch, diag);
	if (st)
		return st;
	evolve(&w, stats);
	memcpy(picks->load, w.individual[0].load, w.n_channels * sizeof(*picks->load));
	for (uint32_t i = 0; i < w.n_genes; i++)
		picks->pick[w.locus[i].pair] = w.individual[0].gene[i];
	return OSR_OK;
}

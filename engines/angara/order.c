/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "job.h"

#include <stdlib.h>

/*
 * Keys are numbers of mixed radix, one digit for each dimension, the last one to have its turn
 * highest. A digit holds, one after the other: planes and the channels that lead to the next plane
 * inwards; channels outwards; lane 1.
 */
struct digit {
	uint32_t size, middle;
	uint64_t worth;
};

static void make_digits(const struct plan *p, struct digit *digit)
{
	uint64_t worth = 1;

	for (uint32_t k = 0; k < p->n_dims; k++) {
		uint32_t n = p->g->shape.size[p->order[k]];

		digit[k] = (struct digit){ n, n / 2, worth };
		worth *= 4 * n + 4;
	}
}

static uint32_t order_distance(uint32_t a, uint32_t b)
{
	return a < b ? b - a : a - b;
}

static uint32_t plane_digit(const struct digit *d, uint32_t a)
{
	return 2 * (d->middle - order_distance(a, d->middle));
}

static uint32_t own_digit(const struct digit *d, uint32_t a, uint32_t way, bool crosses)
{
	uint32_t n = d->size, out = 2 * d->middle + 2;
	uint32_t b = way == UP ? (a + 1) % n : (a + n - 1) % n;

	/* From the link between n/2 - 1 and n/2 on, which no route across the dateline uses. */
	if (crosses)
		return out + n + 1 + (way == UP ? (a + n - n / 2) % n : (n / 2 - 1 + n - a) % n);
	/* Across the dateline of a whole ring of 3: its only channels that do not go in or out. */
	if (order_distance(a, b) > 1)
		return out + n;
	return order_distance(b, d->middle) < order_distance(a, d->middle)
		       ? plane_digit(d, a) + 1
		       : out + order_distance(a, d->middle);
}

static uint64_t order_key_of(const struct plan *p, const struct digit *digit, uint32_t v,
			     uint32_t dir, uint32_t lane)
{
	const uint16_t *x = osr_grid_coord(p->g, v);
	uint32_t i = dir / 2, k = p->turn[i];
	uint64_t key =
		digit[k].worth * own_digit(&digit[k], x[i], dir % 2, lane == 1 && p->weight[i]);

	for (uint32_t j = k + 1; j < p->n_dims; j++)
		key += digit[j].worth * plane_digit(&digit[j], x[p->order[j]]);
	return key;
}

struct entry {
	uint64_t key;
	uint32_t node; /* lane * n_channels + channel */
};

static int order_by_key(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;

	if (x->key != y->key)
		return x->key < y->key ? -1 : 1;
	return x->node < y->node ? -1 : x->node > y->node;
}

enum osr_status angara__rank(struct job *j, uint32_t n_lanes, uint32_t *rank)
{
	uint32_t m = j->f->n_channels;
	struct entry *e = osr_alloc(j->scratch, (size_t)n_lanes * m, sizeof(*e));
	struct digit digit[MAX_DIMS];

	if (!e)
		return osr_fail(j->diag, OSR_NOMEM, "out of memory for the order of %u channels",
				m);
	make_digits(&j->plan, digit);
	for (uint32_t node = 0; node < n_lanes * m; node++) {
		uint32_t c = node % m;

		e[node] = (struct entry){ .key = order_key_of(&j->plan, digit, j->f->chan_src[c],
							      j->grid.chan_dir[c], node / m),
					  .node = node };
	}
	qsort(e, (size_t)n_lanes * m, sizeof(*e), order_by_key);
	for (uint32_t k = 0; k < n_lanes * m; k++)
		rank[e[k].node] = k;
	return OSR_OK;
}

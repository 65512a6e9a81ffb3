/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * prng.h - a random generator whose sequence is part of the project: fabrics named by a seed are
 * the same everywhere and for ever.
 *
 * splitmix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, OOPSLA 2014): the
 * state is a counter in steps of the golden ratio, the output a mix of it.
 */
#ifndef OSMROUTES_PRNG_H
#define OSMROUTES_PRNG_H

#include <stdint.h>

#include <osmroutes/invariant.h>

struct osr_prng {
	uint64_t state; /* start: the seed */
};

static inline uint64_t osr_prng_next(struct osr_prng *prng)
{
	uint64_t z = prng->state += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return z ^ (z >> 31);
}

/* 0 .. n-1, each equally likely; n > 0. The tail that would favour small numbers is drawn again. */
static inline uint32_t osr_prng_below(struct osr_prng *prng, uint32_t n)
{
	uint64_t limit = UINT64_MAX - UINT64_MAX % n;
	uint64_t x;

	osr_invariant(n > 0);
	do
		x = osr_prng_next(prng);
	while (x >= limit);
	return (uint32_t)(x % n);
}

/* Fisher and Yates. */
static inline void osr_prng_shuffle(struct osr_prng *prng, uint32_t *list, uint32_t n)
{
	for (uint32_t i = n; i > 1; i--) {
		uint32_t j = osr_prng_below(prng, i);
		uint32_t x = list[i - 1];

		list[i - 1] = list[j];
		list[j] = x;
	}
}

#endif

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * threads.h - threads that the caller of the core lends to it, with a scratch arena.
 *
 * The core starts none. What several threads shall do is divided into parts whose results do not depend on which
 * thread did them, or when: sums, maxima, marks. So tables are the same bytes for any number of threads. The memory of
 * a part is allocated before: an arena belongs to one thread.
 */
#ifndef OSMROUTES_THREADS_H
#define OSMROUTES_THREADS_H

#include <stdint.h>

struct osr_arena;

struct osr_threads {
	uint32_t n;       /* at once, the caller's own included */
	uint64_t n_steps; /* less work than this is not divided */
	/* Calls part(ctx, i) once for each i < n, several at once where that can be; returns when all have. */
	void (*run)(void (*part)(void *ctx, uint32_t i), void *ctx, uint32_t n);
};

/* Into how many parts work of so many steps is divided best: 1 without threads. */
uint32_t osr_threads_parts(const struct osr_arena *scratch, uint64_t n_steps);

/*
 * do_item(ctx, i, item) once for each item < n_items, where i < n_parts is the part that has taken it. A part takes one
 * item after the other, so what belongs to i needs no lock.
 */
void osr_threads_share(const struct osr_arena *scratch,
		       void (*do_item)(void *ctx, uint32_t i, uint32_t item), void *ctx,
		       uint32_t n_parts, uint32_t n_items);

#endif

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * arena.h - the only way osmroutes' core obtains memory.
 *
 * An arena is a list of blocks; osr_alloc() hands out pieces of them and osr_arena_free() releases
 * everything at once, so no object of the core has a destructor. Three arenas live in one sweep:
 * the fabric's, the result's (kept until the next result is published) and a scratch one.
 *
 * A function that needs temporary memory takes `struct osr_arena *scratch`, remembers
 * osr_arena_mark() on entry and calls osr_arena_reset() before it returns.
 *
 * Sizes are computed first: callers allocate whole arrays, never per edge or per path. Multiplying
 * the count by the size is checked for overflow here, once.
 *
 * Not thread-safe: one arena belongs to one thread at a time.
 */
#ifndef OSMROUTES_ARENA_H
#define OSMROUTES_ARENA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <osmroutes/status.h>

struct osr_arena_block;

/*
 * Threads that the caller of the core lends to it, with a scratch arena; the core starts none. What
 * several of them shall do is divided into parts whose results do not depend on which thread did
 * them, or when: sums, maxima, marks. So tables are the same bytes for any number of threads. The
 * memory of a part is allocated before.
 */
struct osr_threads {
	uint32_t n;       /* at once, the caller's own included */
	uint64_t n_steps; /* less work than this is not divided */
	/*
	 * Calls part(ctx, i) once for each i < n, several at once where that can be; returns when
	 * all have.
	 */
	void (*run)(void (*part)(void *ctx, uint32_t i), void *ctx, uint32_t n);
};

/* Initialise with {0}; valid and empty then. */
struct osr_arena {
	struct osr_arena_block *last, *spare; /* spare: its pages are in memory, for the next */
	size_t in_use;                        /* bytes handed out and not reset */
	size_t peak;                          /* largest in_use ever */
	size_t refused; /* bytes of the last allocation that failed; 0: none has */
	const struct osr_threads *threads; /* for those whose scratch arena this is; NULL: none */
	size_t fail_after; /* tests only: if not 0, the fail_after-th allocation from now fails */
};

struct osr_arena_mark {
	struct osr_arena_block *block;
	size_t used;
	size_t in_use;
	size_t refused;
};

/*
 * n objects of size bytes, aligned to 64 (a cache line), contents undefined; osr_calloc() zeroes.
 * NULL if memory ran out or n * size overflows. n == 0 gives a valid pointer that must not be read.
 * Large pieces get a block of their own, so peak memory is not more than callers asked for.
 */
void *osr_alloc(struct osr_arena *arena, size_t n, size_t size);
void *osr_calloc(struct osr_arena *arena, size_t n, size_t size);

/*
 * Has an allocation failed? The answer stays true until the arena is reset to an earlier mark, so a
 * function allocates all of its arrays and asks once. Writes the sentence; the caller returns
 * OSR_NOMEM.
 */
bool osr_arena_failed(const struct osr_arena *arena, struct osr_diag *diag);

struct osr_arena_mark osr_arena_mark(const struct osr_arena *arena);
void osr_arena_reset(struct osr_arena *arena, struct osr_arena_mark mark);

/* Releases every block; the arena is empty and usable afterwards. */
void osr_arena_free(struct osr_arena *arena);
/* Releases every block except one of the smallest size, whose pages the next user finds mapped. */
void osr_arena_empty(struct osr_arena *arena);

/* The number of parts to divide n_steps steps of work into: 1 without threads. */
uint32_t osr_threads_parts(const struct osr_arena *scratch, uint64_t n_steps);

/*
 * do_item(ctx, i, item) once for each item < n_items, where i < n_parts is the part that has taken
 * it. A part takes one item after the other, so data of part i needs no lock.
 */
void osr_threads_share(const struct osr_arena *scratch,
		       void (*do_item)(void *ctx, uint32_t i, uint32_t item), void *ctx,
		       uint32_t n_parts, uint32_t n_items);

#endif

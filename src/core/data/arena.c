/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include <osmroutes/arena.h>
#include <osmroutes/invariant.h>

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define ALIGN ((size_t)64)
#define MIN(a, b) ((a) < (b) ? (a) : (b))
/* AddressSanitizer sees accesses beyond a piece only if the piece is a block of its own. */
#if defined(__SANITIZE_ADDRESS__)
#define BLOCK_SIZE 0
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define BLOCK_SIZE 0
#endif
#endif
#ifndef BLOCK_SIZE
#define BLOCK_SIZE ((size_t)256 * 1024)
#endif

struct osr_arena_block {
	struct osr_arena_block *prev;
	size_t size; /* of data */
	size_t used;
	size_t touched; /* bytes that may have been written; those behind them are still zero */
	unsigned char *data; /* ALIGN-ed */
};

/*
 * Blocks come straight from the system. In a pool of malloc(), between small pieces of other users
 * of the process, freed blocks leave holes that do not fit the next block, and the pool grows for
 * hours.
 */
static void *block_memory(size_t size)
{
	void *mem;

	/* AddressSanitizer guards the end of the block, which must be the end of the piece. */
	if (!BLOCK_SIZE)
		return posix_memalign(&mem, ALIGN, size + ALIGN) ? NULL : mem;
	/*
	 * A block for one large piece will be written to its end. Mapping all of its pages at once
	 * is cheaper than one page fault after the other.
	 */
	mem = mmap(NULL, size + ALIGN, PROT_READ | PROT_WRITE,
		   MAP_PRIVATE | MAP_ANONYMOUS | (size > BLOCK_SIZE ? MAP_POPULATE : 0), -1, 0);
	return mem == MAP_FAILED ? NULL : mem;
}

static void block_free(struct osr_arena_block *block)
{
	if (!BLOCK_SIZE)
		free(block);
	else
		munmap(block, block->size + ALIGN);
}

static struct osr_arena_block *block_new(size_t size)
{
	struct osr_arena_block *block;

	if (size > SIZE_MAX - ALIGN)
		return NULL;
	block = block_memory(size);
	if (!block)
		return NULL;
	block->size = size;
	block->used = 0;
	block->touched = BLOCK_SIZE ? 0 : size;
	block->data = (unsigned char *)block + ALIGN;
	return block;
}

_Static_assert(sizeof(struct osr_arena_block) <= ALIGN,
	       "the header takes at most one aligned unit");

/* n * size bytes behind the pieces in arena->last, or in a new block. NULL: no memory. */
static unsigned char *arena_piece(struct osr_arena *arena, size_t n, size_t size)
{
	struct osr_arena_block *block = arena->last;
	unsigned char *p;
	size_t want;

	if (arena->fail_after && --arena->fail_after == 0)
		return NULL;
	if (__builtin_mul_overflow(n, size, &want) || want > SIZE_MAX - ALIGN)
		return NULL;
	if (BLOCK_SIZE)
		want = (want + ALIGN - 1) & ~(ALIGN - 1);
	if (want == 0)
		want = ALIGN;
	if (!block || !BLOCK_SIZE || block->size - block->used < want) {
		block = want <= BLOCK_SIZE ? arena->spare : NULL;
		arena->spare = block ? NULL : arena->spare;
		if (!block)
			block = block_new(want < BLOCK_SIZE ? BLOCK_SIZE : want);
		if (!block)
			return NULL;
		block->prev = arena->last;
		arena->last = block;
	}
	p = block->data + block->used;
	block->used += want;
	osr_invariant((uintptr_t)p % ALIGN == 0);
	osr_invariant(block->used <= block->size && block->touched <= block->size);
	arena->in_use += want;
	if (arena->in_use > arena->peak)
		arena->peak = arena->in_use;
	return p;
}

static unsigned char *arena_take(struct osr_arena *arena, size_t n, size_t size)
{
	unsigned char *p = arena_piece(arena, n, size);

	if (!p && __builtin_mul_overflow(n, size, &arena->refused))
		arena->refused = SIZE_MAX;
	else if (!p && !arena->refused)
		arena->refused = ALIGN; /* of nothing */
	return p;
}

bool osr_arena_failed(const struct osr_arena *arena, struct osr_diag *diag)
{
	if (arena->refused == SIZE_MAX)
		osr_fail(diag, OSR_NOMEM, "out of memory: more than can be addressed");
	else if (arena->refused)
		osr_fail(diag, OSR_NOMEM, "out of memory: %zu kB more than %zu kB",
			 (arena->refused >> 10) + 1, arena->in_use >> 10);
	return arena->refused > 0;
}

static void touch(struct osr_arena_block *block)
{
	if (block->touched < block->used)
		block->touched = block->used;
}

void *osr_alloc(struct osr_arena *arena, size_t n, size_t size)
{
	void *p = arena_take(arena, n, size);

	if (p)
		touch(arena->last);
	return p;
}

void *osr_calloc(struct osr_arena *arena, size_t n, size_t size)
{
	unsigned char *p = arena_take(arena, n, size);

	if (p) {
		size_t old = arena->last->touched -
			     MIN(arena->last->touched, (size_t)(p - arena->last->data));

		memset(p, 0, MIN(n * size, old));
		touch(arena->last);
	}
	return p;
}

struct osr_arena_mark osr_arena_mark(const struct osr_arena *arena)
{
	return (struct osr_arena_mark){ .block = arena->last,
					.used = arena->last ? arena->last->used : 0,
					.in_use = arena->in_use,
					.refused = arena->refused };
}

void osr_arena_reset(struct osr_arena *arena, struct osr_arena_mark mark)
{
	osr_invariant(mark.in_use <= arena->in_use);
	while (arena->last != mark.block) {
		struct osr_arena_block *block = arena->last;

		osr_invariant(block); /* else the mark is of another arena, or reset already */
		arena->last = block->prev;
		block->used = 0;
		if (arena->spare || block->size != BLOCK_SIZE)
			block_free(block);
		else
			arena->spare = block;
	}
	if (arena->last) {
		osr_invariant(mark.used <= arena->last->used);
		arena->last->used = mark.used;
	}
	arena->in_use = mark.in_use;
	arena->refused = mark.refused;
}

void osr_arena_free(struct osr_arena *arena)
{
	osr_arena_reset(arena, (struct osr_arena_mark){ 0 });
	if (arena->spare)
		block_free(arena->spare);
	arena->spare = NULL;
}

void osr_arena_empty(struct osr_arena *arena)
{
	osr_arena_reset(arena, (struct osr_arena_mark){ 0 });
}

/* ---- threads -------------------------------------------------------------------------------- */

uint32_t osr_threads_parts(const struct osr_arena *scratch, uint64_t n_steps)
{
	const struct osr_threads *threads = scratch->threads;

	osr_invariant(!threads || threads->n > 0);
	return threads && n_steps >= threads->n_steps ? threads->n : 1;
}

struct sharing {
	void (*do_item)(void *ctx, uint32_t i, uint32_t item);
	void *ctx;
	uint32_t next, n; /* items */
};

static void share_part(void *ctx, uint32_t i)
{
	struct sharing *sharing = ctx;
	uint32_t item;

	while ((item = __atomic_fetch_add(&sharing->next, 1, __ATOMIC_RELAXED)) < sharing->n)
		sharing->do_item(sharing->ctx, i, item);
}

void osr_threads_share(const struct osr_arena *scratch,
		       void (*do_item)(void *ctx, uint32_t i, uint32_t item), void *ctx,
		       uint32_t n_parts, uint32_t n_items)
{
	struct sharing sharing = { .do_item = do_item, .ctx = ctx, .n = n_items };

	osr_invariant(n_parts > 0 || !n_items);
	if (n_parts > 1 && scratch->threads)
		scratch->threads->run(share_part, &sharing, n_parts);
	else
		for (uint32_t i = 0; i < n_parts; i++)
			share_part(&sharing, i);
}

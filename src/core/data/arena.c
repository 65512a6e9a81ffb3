/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include <osmroutes/arena.h>

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define ALIGN ((size_t)64)
/* Under AddressSanitizer every piece is a block of its own, so that it sees what lies beyond. */
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
	unsigned char *data; /* ALIGN-ed */
};

/*
 * Not posix_memalign(): glibc before 2.38 asks for more than it keeps and splits that, so a block that was freed
 * is too small for the next one of its size, and the heap of a thread that frees and allocates grows for hours.
 */
static void *block_memory(size_t size)
{
	void *mem;

	/* Every piece is to end where its block does. */
	if (!BLOCK_SIZE)
		return posix_memalign(&mem, ALIGN, size + ALIGN) ? NULL : mem;
	return malloc(size + 2 * ALIGN);
}

static struct osr_arena_block *block_new(size_t size)
{
	struct osr_arena_block *b;

	if (size > SIZE_MAX - 2 * ALIGN)
		return NULL;
	b = block_memory(size);
	if (!b)
		return NULL;
	b->size = size;
	b->used = 0;
	b->data = (unsigned char *)(((uintptr_t)(b + 1) + ALIGN - 1) & ~(uintptr_t)(ALIGN - 1));
	return b;
}

_Static_assert(sizeof(struct osr_arena_block) <= ALIGN, "the header takes at most one aligned unit");

void *osr_alloc(struct osr_arena *arena, size_t n, size_t size)
{
	struct osr_arena_block *b = arena->last;
	size_t want;
	void *p;

	if (arena->fail_after && --arena->fail_after == 0)
		return NULL;
	if (__builtin_mul_overflow(n, size, &want) || want > SIZE_MAX - ALIGN)
		return NULL;
	if (BLOCK_SIZE)
		want = (want + ALIGN - 1) & ~(ALIGN - 1);
	if (want == 0)
		want = ALIGN;
	if (!b || !BLOCK_SIZE || b->size - b->used < want) {
		b = block_new(want < BLOCK_SIZE ? BLOCK_SIZE : want);
		if (!b)
			return NULL;
		b->prev = arena->last;
		arena->last = b;
	}
	p = b->data + b->used;
	b->used += want;
	arena->in_use += want;
	if (arena->in_use > arena->peak)
		arena->peak = arena->in_use;
	return p;
}

void *osr_calloc(struct osr_arena *arena, size_t n, size_t size)
{
	void *p = osr_alloc(arena, n, size);

	return p ? memset(p, 0, n * size) : NULL;
}

struct osr_arena_mark osr_arena_mark(const struct osr_arena *arena)
{
	return (struct osr_arena_mark){ .block = arena->last,
					.used = arena->last ? arena->last->used : 0,
					.in_use = arena->in_use };
}

void osr_arena_reset(struct osr_arena *arena, struct osr_arena_mark mark)
{
	while (arena->last != mark.block) {
		struct osr_arena_block *b = arena->last;

		arena->last = b->prev;
		free(b);
	}
	if (arena->last)
		arena->last->used = mark.used;
	arena->in_use = mark.in_use;
}

void osr_arena_free(struct osr_arena *arena)
{
	osr_arena_reset(arena, (struct osr_arena_mark){ 0 });
}

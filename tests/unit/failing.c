/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "test.h"

__thread size_t fail_at;

static bool fails(void)
{
	return fail_at && !--fail_at;
}

void *__real_malloc(size_t size);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *p, size_t size);
void *__real_reallocarray(void *p, size_t n, size_t size);
void *__real_osr_alloc(struct osr_arena *arena, size_t n, size_t size);
void *__real_osr_calloc(struct osr_arena *arena, size_t n, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *p, size_t size);
void *__wrap_reallocarray(void *p, size_t n, size_t size);
void *__wrap_osr_alloc(struct osr_arena *arena, size_t n, size_t size);
void *__wrap_osr_calloc(struct osr_arena *arena, size_t n, size_t size);

void *__wrap_malloc(size_t size)
{
	return fails() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t n, size_t size)
{
	return fails() ? NULL : __real_calloc(n, size);
}

void *__wrap_realloc(void *p, size_t size)
{
	return fails() ? NULL : __real_realloc(p, size);
}

void *__wrap_reallocarray(void *p, size_t n, size_t size)
{
	return fails() ? NULL : __real_reallocarray(p, n, size);
}

/* An arena remembers that it failed. */
static struct osr_arena *arena_to_fail(struct osr_arena *arena)
{
	if (fails())
		arena->fail_after = 1;
	return arena;
}

void *__wrap_osr_alloc(struct osr_arena *arena, size_t n, size_t size)
{
	return __real_osr_alloc(arena_to_fail(arena), n, size);
}

void *__wrap_osr_calloc(struct osr_arena *arena, size_t n, size_t size)
{
	return __real_osr_calloc(arena_to_fail(arena), n, size);
}

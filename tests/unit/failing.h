/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * failing.h - allocations that fail one by one: malloc() and the like, and those of arenas, are wrapped by
 * the linker, for programs that CMakeLists.txt gives failing.c.
 */
#ifndef TEST_FAILING_H
#define TEST_FAILING_H

#include <stddef.h>

/* The n-th allocation of this thread from now on fails: n, counted down. 0: none does. */
extern __thread size_t fail_at;

#endif

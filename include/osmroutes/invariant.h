/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * invariant.h - statements that only a bug of ours can break.
 *
 * A failure ends the program, so only builds for tests check them: OSR_PARANOID, which
 * CMakeLists.txt sets for sanitizers, fuzzing and mutants. Elsewhere the compiler reads the condition, and no code
 * comes out of it: a released opensm never ends here. The condition has no side effects. A status,
 * not an invariant, is for whatever a file, a fabric or a client can bring about.
 */
#ifndef OSMROUTES_INVARIANT_H
#define OSMROUTES_INVARIANT_H

#ifdef OSR_PARANOID
#undef NDEBUG
#include <assert.h>
#define osr_invariant(condition) assert(condition)
#else
#define osr_invariant(condition) ((void)(0 && (condition)))
#endif

#endif

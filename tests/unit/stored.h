/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* stored.h - sweeps with default options on eight lanes, with multicast, and the bytes that are stored of them. */
#ifndef TEST_STORED_H
#define TEST_STORED_H

#include <stdlib.h>

#include "store/store.h"
#include <osmroutes/sweep.h>

/* now->fabric is there. `before` may be NULL. */
static inline enum osr_status test_sweep(const struct osr_engine *e,
					 const struct osr_result *before, struct osr_arena *arena,
					 struct osr_result *now, struct osr_diag *diag)
{
	struct osr_arena scratch = { 0 };
	struct osr_values v;
	const struct osr_job job = { .engine = e,
				     .values = &v,
				     .request = { .max_vls = 8, .multicast = true },
				     .previous = before,
				     .scratch = &scratch,
				     .arena = arena,
				     .diag = diag };
	struct osr_sweep sweep;
	enum osr_status st;

	osr_values_default(&v, e->params);
	st = osr_sweep(&job, now, &sweep);
	osr_arena_free(&scratch);
	return st;
}

/* To be freed; NULL: no memory. */
static inline uint8_t *test_stored(const struct osr_result *last, uint64_t key, size_t *size)
{
	uint8_t *buf = malloc(*size = osr_store_size(last));

	if (buf)
		osr_store_write(last, key, buf, *size);
	return buf;
}

#endif

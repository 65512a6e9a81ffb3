/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* sweeps.h - sweeps by an engine's name and options; what is stored of them. */
#ifndef TEST_SWEEPS_H
#define TEST_SWEEPS_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <osmroutes/sweep.h>

#include "store/store.h"

/*
 * One sweep by an engine with these options, "any_sl=off rebalance=0"; now->fabric is there,
 * `before` may be NULL.
 */
static inline enum osr_status test_route(const char *engine, const char *options,
					 struct osr_request request,
					 const struct osr_result *before, struct osr_arena *arena,
					 struct osr_result *now, struct osr_sweep *sweep,
					 struct osr_diag *diag)
{
	const struct osr_engine *e = osr_engine_find(engine);
	char text[128], *rest = NULL;
	struct osr_arena scratch = { 0 };
	struct osr_values values;
	const struct osr_job job = { .engine = e,
				     .values = &values,
				     .request = request,
				     .previous = before,
				     .scratch = &scratch,
				     .arena = arena,
				     .diag = diag };
	enum osr_status st;

	snprintf(text, sizeof(text), "%s", options);
	osr_values_default(&values, e->params);
	for (char *word = strtok_r(text, " ", &rest); word; word = strtok_r(NULL, " ", &rest)) {
		char *value = strchr(word, '=');

		*value++ = '\0';
		if (osr_values_set(&values, e->params, word, value, diag))
			abort();
	}
	st = osr_sweep(&job, now, sweep);
	osr_arena_free(&scratch);
	return st;
}

/* With default options on eight lanes, with multicast. */
static inline enum osr_status test_sweep(const struct osr_engine *engine,
					 const struct osr_result *before, struct osr_arena *arena,
					 struct osr_result *now, struct osr_diag *diag)
{
	const struct osr_request req = { .max_vls = 8, .multicast = true };
	struct osr_sweep sweep;

	return test_route(engine->name, "", req, before, arena, now, &sweep, diag);
}

/* The bytes that are stored of a result. To be freed; NULL: no memory. */
static inline uint8_t *test_stored(const struct osr_result *last, uint64_t key, size_t *size)
{
	uint8_t *buf = malloc(*size = osr_store_size(last));

	if (buf)
		osr_store_write(last, key, buf, *size);
	return buf;
}

#endif

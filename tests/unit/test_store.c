/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Stored tables: what was written is read, of every engine and fabric; what is not ours, or
 * damaged, or does not pass the check, is refused with a sentence. test_repair.c goes on from
 * them, and fuzz.engines: a restart between two faults changes no table. Notes that make no sense:
 * fuzz.store.
 */
#include "test.h"

#include <osmroutes/check.h>

#include "fabrics.h"
#include "sweeps.h"

#define KEY 0x1234

struct stored {
	struct osr_arena arena;
	struct osr_result result;
	uint8_t *buf;
	size_t size;
};

/* False: this engine does not route this fabric. */
static bool make(const struct osr_engine *engine, const struct osr_fabric *fabric,
		 struct stored *stored)
{
	*stored = (struct stored){ .result.fabric = *fabric };
	if (test_sweep(engine, NULL, &stored->arena, &stored->result, NULL)) {
		osr_arena_free(&stored->arena);
		return false;
	}
	stored->result.routing.stable.drift = 1017;
	stored->buf = test_stored(&stored->result, KEY, &stored->size);
	assert_non_null(stored->buf);
	return true;
}

static void done(struct stored *stored)
{
	free(stored->buf);
	osr_arena_free(&stored->arena);
}

static enum osr_status read_with(const void *buf, size_t size, const char *engine, uint64_t key,
				 struct osr_result *last, struct osr_arena *arena,
				 struct osr_diag *diag)
{
	struct osr_arena baseline_arena = { 0 }, scratch = { 0 };
	struct osr_result baseline;
	enum osr_status st;

	diag->text[0] = 0;
	st = osr_store_read(buf, size, "store", engine, key, arena, &baseline_arena, &scratch, last,
			    &baseline, diag);
	osr_arena_free(&baseline_arena);
	osr_arena_free(&scratch);
	if (st)
		assert_true(diag->text[0]);
	return st;
}

static void test_all_engines(void **state)
{
	unsigned n = 0, n_sl2vl = 0, n_sl = 0;

	for (const struct osr_engine *const *engine = osr_engines; *engine; engine++)
		for (unsigned i = 0; i < N_TEST_FABRICS; i++) {
			struct osr_arena arena = { 0 };
			struct osr_diag diag;
			struct osr_result back;
			struct test_fabric test;
			struct stored stored;

			test_fabric_named(&test, i);
			if (make(*engine, &test.fabric, &stored)) {
				const struct osr_routing *routing = &stored.result.routing;

				if (read_with(stored.buf, stored.size, (*engine)->name, KEY, &back,
					      &arena, &diag))
					fail_msg("%s on %s: %s", (*engine)->name, test.name,
						 diag.text);
				assert_true(osr_fabric_equal(&test.fabric, &back.fabric));
				assert_true(back.digest ==
					    osr_routing_digest(&test.fabric, routing));
				assert_true(back.routing.claims == routing->claims &&
					    back.routing.stable.drift == routing->stable.drift);
				assert_null(back.baseline);
				n++;
				n_sl2vl += routing->sl2vl != NULL;
				n_sl += routing->sl != NULL;
				done(&stored);
			}
			osr_arena_free(&arena);
			test_fabric_free(&test);
		}
	assert_true(n > 20 && n_sl2vl > 1 && n_sl > 5);
}

static void refused(const uint8_t *buf, size_t size, const char *engine, uint64_t key,
		    const char *word)
{
	struct osr_arena arena = { 0 };
	struct osr_result back;
	struct osr_diag diag;

	assert_int_not_equal(read_with(buf, size, engine, key, &back, &arena, &diag), OSR_OK);
	if (!strstr(diag.text, word))
		fail_msg("\"%s\" does not speak of %s", diag.text, word);
	osr_arena_free(&arena);
}

static void test_refusals(void **state)
{
	const struct osr_engine *engine = osr_engine_find("dfsssp");
	struct test_fabric test;
	struct stored stored;

	test_fabric_named(&test, 7);
	assert_true(make(engine, &test.fabric, &stored));
	refused(stored.buf, stored.size, "sssp", KEY, "engine other");
	refused(stored.buf, stored.size, "dfsssp", KEY + 1, "other options");
	/* Every byte and every length: fuzz.store. */
	for (size_t n = 0; n < 64; n++) {
		refused(stored.buf, n, "dfsssp", KEY, "damaged");
		stored.buf[n] ^= 0x40;
		refused(stored.buf, stored.size, "dfsssp", KEY,
			n < 8    ? "not a file of stored"
			: n < 12 ? "version"
				 : "damaged");
		stored.buf[n] ^= 0x40;
	}
	/* Tables that the checker refuses, written as they are. */
	stored.result.routing.lft[1] = stored.result.routing.lft[1] == 1 ? 2 : 1;
	stored.result.routing.lft[2] = OSR_NO_PATH;
	osr_store_write(&stored.result, KEY, stored.buf, stored.size);
	refused(stored.buf, stored.size, "dfsssp", KEY, "LID");
	done(&stored);
	test_fabric_free(&test);
}

static enum osr_status read_once(void *ctx, struct osr_arena *scratch, struct osr_arena *result,
				 struct osr_diag *diag)
{
	const struct stored *stored = ctx;
	struct osr_result last, baseline;

	return osr_store_read(stored->buf, stored->size, "store", "dfsssp", KEY, result, result,
			      scratch, &last, &baseline, diag);
}

static void test_out_of_memory(void **state)
{
	struct test_fabric test;
	struct stored stored;

	test_fabric_named(&test, 13);
	assert_true(make(osr_engine_find("dfsssp"), &test.fabric, &stored));
	assert_true(test_starve(read_once, &stored) > 10);
	done(&stored);
	test_fabric_free(&test);
}

TEST_PROGRAM(test_all_engines, test_refusals, test_out_of_memory)

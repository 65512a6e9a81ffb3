/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Stored tables: what was written is read, of every engine and fabric; what is not ours, or
 * damaged, or does not pass the check, is refused with a sentence. test_reroute.c goes on from them, and fuzz.engines: a
 * restart between two faults changes no table. Notes that make no sense: fuzz.store.
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
static bool make(const struct osr_engine *e, const struct osr_fabric *f, struct stored *x)
{
	*x = (struct stored){ .result.fabric = *f };
	if (test_sweep(e, NULL, &x->arena, &x->result, NULL)) {
		osr_arena_free(&x->arena);
		return false;
	}
	x->result.routing.stable.drift = 1017;
	x->buf = test_stored(&x->result, KEY, &x->size);
	assert_non_null(x->buf);
	return true;
}

static void done(struct stored *x)
{
	free(x->buf);
	osr_arena_free(&x->arena);
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

	for (const struct osr_engine *const *e = osr_engines; *e; e++)
		for (unsigned i = 0; i < N_TEST_FABRICS; i++) {
			struct osr_arena arena = { 0 };
			struct osr_diag diag;
			struct osr_result back;
			struct test_fabric t;
			struct stored x;

			test_fabric_named(&t, i);
			if (make(*e, &t.f, &x)) {
				const struct osr_routing *r = &x.result.routing;

				if (read_with(x.buf, x.size, (*e)->name, KEY, &back, &arena, &diag))
					fail_msg("%s on %s: %s", (*e)->name, t.name, diag.text);
				assert_true(osr_fabric_equal(&t.f, &back.fabric));
				assert_true(back.digest == osr_routing_digest(&t.f, r));
				assert_true(back.routing.claims == r->claims &&
					    back.routing.stable.drift == r->stable.drift);
				assert_null(back.baseline);
				n++;
				n_sl2vl += r->sl2vl != NULL;
				n_sl += r->sl != NULL;
				done(&x);
			}
			osr_arena_free(&arena);
			test_fabric_free(&t);
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
	const struct osr_engine *e = osr_engine_find("dfsssp");
	struct test_fabric t;
	struct stored x;

	test_fabric_named(&t, 7);
	assert_true(make(e, &t.f, &x));
	refused(x.buf, x.size, "sssp", KEY, "engine other");
	refused(x.buf, x.size, "dfsssp", KEY + 1, "other options");
	/* Every byte and every length: fuzz.store. */
	for (size_t n = 0; n < 64; n++) {
		refused(x.buf, n, "dfsssp", KEY, "damaged");
		x.buf[n] ^= 0x40;
		refused(x.buf, x.size, "dfsssp", KEY,
			n < 8    ? "not a file of stored"
			: n < 12 ? "version"
				 : "damaged");
		x.buf[n] ^= 0x40;
	}
	/* Tables that the checker refuses, written as they are. */
	x.result.routing.lft[1] = x.result.routing.lft[1] == 1 ? 2 : 1;
	x.result.routing.lft[2] = OSR_NO_PATH;
	osr_store_write(&x.result, KEY, x.buf, x.size);
	refused(x.buf, x.size, "dfsssp", KEY, "LID");
	done(&x);
	test_fabric_free(&t);
}

static enum osr_status read_once(void *ctx, struct osr_arena *scratch, struct osr_arena *result,
				 struct osr_diag *diag)
{
	const struct stored *x = ctx;
	struct osr_result last, baseline;

	return osr_store_read(x->buf, x->size, "store", "dfsssp", KEY, result, result, scratch,
			      &last, &baseline, diag);
}

static void test_out_of_memory(void **state)
{
	struct test_fabric t;
	struct stored x;

	test_fabric_named(&t, 13);
	assert_true(make(osr_engine_find("dfsssp"), &t.f, &x));
	assert_true(test_starve(read_once, &x) > 10);
	done(&x);
	test_fabric_free(&t);
}

TEST_PROGRAM(test_all_engines, test_refusals, test_out_of_memory)

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Stored tables: what was written is read, of every engine and fabric; what is not ours, or
 * damaged, or does not pass the check, is refused with a sentence. test_reroute.c goes on from them.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>

#include <cmocka.h>

#include <osmroutes/check.h>
#include "core/store/store.h"
#include <osmroutes/sweep.h>

#include <stdlib.h>
#include <string.h>

#include "fabrics.h"

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
	struct osr_arena scratch = { 0 };
	struct osr_values v;
	const struct osr_job job = { .engine = e,
				     .values = &v,
				     .request = { .max_vls = 8, .multicast = true },
				     .scratch = &scratch,
				     .arena = &x->arena };
	struct osr_sweep sweep;
	bool ok;

	*x = (struct stored){ .result.fabric = *f };
	osr_values_default(&v, e->params);
	ok = !osr_sweep_route(&job, &x->result, &sweep);
	osr_arena_free(&scratch);
	if (!ok) {
		osr_arena_free(&x->arena);
		return false;
	}
	x->size = osr_store_size(&x->result);
	x->buf = malloc(x->size);
	assert_non_null(x->buf);
	osr_store_write(&x->result, KEY, x->buf, x->size);
	return true;
}

static void done(struct stored *x)
{
	free(x->buf);
	osr_arena_free(&x->arena);
}

static enum osr_status read_with(const void *buf, size_t size, const char *engine, uint64_t key,
				 size_t fail_after, struct osr_result *last,
				 struct osr_arena *arena, struct osr_diag *diag)
{
	struct osr_arena baseline_arena = { 0 }, scratch = { .fail_after = fail_after };
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

				if (read_with(x.buf, x.size, (*e)->name, KEY, 0, &back, &arena,
					      &diag))
					fail_msg("%s on %s: %s", (*e)->name, t.name, diag.text);
				assert_true(osr_fabric_equal(&t.f, &back.fabric));
				assert_true(back.digest == osr_routing_digest(&t.f, r));
				assert_true(back.routing.claims == r->claims);
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

	assert_int_not_equal(read_with(buf, size, engine, key, 0, &back, &arena, &diag), OSR_OK);
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
	for (size_t n = 0; n < x.size; n++)
		refused(x.buf, n, "dfsssp", KEY, "damaged");
	for (size_t n = 0; n < x.size; n++) {
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

static void test_out_of_memory(void **state)
{
	enum osr_status st = OSR_NOMEM;
	struct test_fabric t;
	struct stored x;

	test_fabric_named(&t, 13);
	assert_true(make(osr_engine_find("dfsssp"), &t.f, &x));
	for (size_t n = 1; st == OSR_NOMEM; n++) {
		struct osr_arena arena = { .fail_after = n };
		struct osr_result back;
		struct osr_diag diag;

		st = read_with(x.buf, x.size, "dfsssp", KEY, 0, &back, &arena, &diag);
		osr_arena_free(&arena);
	}
	assert_int_equal(st, OSR_OK);
	st = OSR_NOMEM;
	for (size_t n = 1; st == OSR_NOMEM; n++) {
		struct osr_arena arena = { 0 };
		struct osr_result back;
		struct osr_diag diag;

		st = read_with(x.buf, x.size, "dfsssp", KEY, n, &back, &arena, &diag);
		osr_arena_free(&arena);
	}
	assert_int_equal(st, OSR_OK);
	done(&x);
	test_fabric_free(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all_engines),
		cmocka_unit_test(test_refusals),
		cmocka_unit_test(test_out_of_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Stored tables: what was written is read, of every engine and fabric; what is not ours, or
 * damaged, or does not pass the check, is refused with a sentence. test_reroute.c goes on from them. A
 * restart between two faults changes no table. Notes that make no sense: fuzz.store.
 */
#include "test.h"

#include <osmroutes/check.h>

#include "fabrics.h"
#include "faults.h"
#include "sweeps.h"
#include "tori.h"

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

/* ---- notes ----------------------------------------------------------------------------------- */

/* Leaves with a host or two, spines, and one cable or two between them. */
static void draw_tree(uint64_t *seed, struct test_fabric *t)
{
	uint32_t n_leaves = 4 + test_random(seed) % 4, n_spines = 2 + test_random(seed) % 3;
	uint32_t n_cables = 1 + test_random(seed) % 2, n_hosts = 1 + test_random(seed) % 3, leaf[8];
	struct draft d;

	draft_new(&d);
	for (uint32_t i = 0; i < n_leaves; i++)
		leaf[i] = draft_switch(&d);
	for (uint32_t i = 0; i < n_leaves; i++)
		for (uint32_t k = 0; k < n_hosts; k++)
			draft_host(&d, leaf[i]);
	for (uint32_t k = 0; k < n_spines; k++) {
		uint32_t spine = draft_switch(&d);

		for (uint32_t i = 0; i < n_leaves * n_cables; i++)
			draft_link(&d, leaf[i % n_leaves], spine);
	}
	draft_build(&d, t, "tree");
}

static void draw(uint64_t *seed, struct test_fabric *t)
{
	static const char *const dims[] = {
		"3 3", "4 3", "6r", "5", "4r 4r", "5r 3", "3 3 2", "2 7"
	};
	struct test_torus torus = { .hosts = 1 + test_random(seed) % 2, .shuffle = 1 + *seed };

	if (test_random(seed) % 2) {
		draw_tree(seed, t);
		return;
	}
	torus.dims = dims[test_random(seed) % (sizeof(dims) / sizeof(dims[0]))];
	test_torus_draw(&torus, t);
}

/* One sweep after another one, if any. */
static enum osr_status sweep_after(const struct osr_engine *e, const struct osr_result *before,
				   const struct osr_fabric *f, struct osr_arena *arena,
				   struct osr_result *now)
{
	struct osr_diag diag = { "" };

	*now = (struct osr_result){ .fabric = *f };
	return test_sweep(e, before, arena, now, &diag);
}

/* What a new process has: the same result, out of bytes. */
static void restart(const struct osr_engine *e, const struct osr_result *last,
		    struct osr_arena *arena, struct osr_result *back, struct osr_result *baseline)
{
	struct osr_arena scratch = { 0 };
	struct osr_diag diag = { "" };
	size_t size;
	uint8_t *buf = test_stored(last, KEY, &size);

	assert_non_null(buf);
	if (osr_store_read(buf, size, "store", e->name, KEY, arena, arena, &scratch, back, baseline,
			   &diag))
		fail_msg("%s: %s", e->name, diag.text);
	assert_true(back->routing.notes.size == last->routing.notes.size);
	if (last->routing.notes.size)
		assert_memory_equal(back->routing.notes.data, last->routing.notes.data,
				    last->routing.notes.size);
	free(buf);
	osr_arena_free(&scratch);
}

/* A cable or a switch with all that hangs on it; the same one may die twice. */
static void cut(struct faults *faults, uint64_t *seed)
{
	const struct osr_fabric *f = faults->whole;
	uint32_t dead = (uint32_t)(test_random(seed) % f->n_switches);

	if (test_random(seed) % 2)
		faults->sw[dead] = true;
	else
		faults_cable(faults, (uint32_t)(test_random(seed) % f->n_channels), true);
}

/*
 * Whole, then fault after fault; the same with a restart, of the fabric as it is, before each of them: the same engine,
 * the same tables. *n_differs counts those that a sweep that remembers nothing makes otherwise.
 */
static void live(const struct osr_engine *e, uint64_t seed, unsigned *n_sweeps, unsigned *n_differs)
{
	struct osr_arena arena = { 0 };
	struct osr_result on[4], again, back[4], baseline[4], anew;
	struct osr_fabric f;
	struct test_fabric t;
	struct faults faults;
	enum osr_status st;

	draw(&seed, &t);
	faults_new(&faults, &t.f);
	st = sweep_after(e, NULL, &t.f, &arena, &on[0]);
	for (unsigned k = 1; k < 4 && !st; k++) {
		restart(e, &on[k - 1], &arena, &back[k], &baseline[k]);
		assert_int_equal(sweep_after(e, &back[k], &on[k - 1].fabric, &arena, &again),
				 OSR_OK);
		if (again.digest != on[k - 1].digest)
			fail_msg("%s: tables change with a restart", e->name);
		cut(&faults, &seed);
		faults_build(&faults, &arena, &f);
		st = sweep_after(e, &on[k - 1], &f, &arena, &on[k]);
		assert_int_equal(sweep_after(e, &back[k], &f, &arena, &again), st);
		if (st)
			break;
		assert_true(again.digest == on[k].digest);
		(*n_sweeps)++;
		*n_differs +=
			sweep_after(e, NULL, &f, &arena, &anew) || anew.digest != again.digest;
	}
	faults_free(&faults);
	osr_arena_free(&arena);
	test_fabric_free(&t);
}

static const char *const with_notes[] = { "dmodk", "angara", "osmroutes" };

static void test_restarts(void **state)
{
	unsigned n = test_number("OSR_STORE_SEEDS", 60);

	for (unsigned i = 0; i < 3; i++) {
		unsigned n_sweeps = 0, n_differs = 0;

		for (uint64_t seed = 1; seed <= n; seed++)
			live(osr_engine_find(with_notes[i]), seed, &n_sweeps, &n_differs);
		assert_true(n_sweeps > n / 2 && n_differs > n / 10);
	}
}

TEST_PROGRAM(test_all_engines, test_refusals, test_out_of_memory, test_restarts)

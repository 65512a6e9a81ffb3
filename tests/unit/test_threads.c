/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Threads lent to the core: who runs what, and that results do not depend on them. */
#include <errno.h>
#include <pthread.h>
#include "test.h"
#include <signal.h>
#include <unistd.h>

#include "conf/posix_threads.h"
#include "fabrics.h"
#include "tables.h"

#include <osmroutes/sweep.h>

/* Of each 16 threads that shall start, those in this set do not. */
static unsigned refused, n_asked;

int __real_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*start)(void *),
			  void *arg);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*start)(void *),
			  void *arg);

int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*start)(void *),
			  void *arg)
{
	return refused >> (n_asked++ % 16) & 1 ? EAGAIN
					       : __real_pthread_create(thread, attr, start, arg);
}

struct parts {
	unsigned n_runs[OSR_MAX_THREADS];
	bool blocked[OSR_MAX_THREADS]; /* SIGTERM */
	pthread_t by[OSR_MAX_THREADS];
};

static void note_part(void *ctx, uint32_t i)
{
	struct parts *parts = ctx;
	sigset_t now;

	pthread_sigmask(SIG_SETMASK, NULL, &now);
	parts->blocked[i] = sigismember(&now, SIGTERM);
	parts->by[i] = pthread_self();
	parts->n_runs[i]++;
}

/*
 * Each part runs once, whichever threads start; signals stay with the caller, and no thread is
 * left.
 */
static void test_parts(void **state)
{
	static const unsigned sets[] = { 0, 0xffff, 0x5555, 1 };

	for (size_t set = 0; set < sizeof(sets) / sizeof(sets[0]); set++)
		for (uint32_t n = 1; n <= OSR_MAX_THREADS; n = 2 * n + (n == 1)) {
			struct osr_threads threads = osr_threads_of(n);
			struct parts parts = { .n_runs = { 0 } };
			sigset_t before, after;

			refused = sets[set];
			n = threads.n;
			pthread_sigmask(SIG_SETMASK, NULL, &before);
			threads.run(note_part, &parts, n);
			pthread_sigmask(SIG_SETMASK, NULL, &after);
			assert_int_equal(sigismember(&after, SIGTERM),
					 sigismember(&before, SIGTERM));
			for (uint32_t i = 0; i < n; i++) {
				assert_int_equal(parts.n_runs[i], 1);
				assert_true(parts.blocked[i] ||
					    pthread_equal(parts.by[i], pthread_self()));
				if (refused == 0xffff)
					assert_true(pthread_equal(parts.by[i], pthread_self()));
			}
		}
	refused = 0;
	assert_true(osr_threads_of(0).n >= 1 && osr_threads_of(0).n <= OSR_FEW_THREADS);
}

/* Work that is too little for threads is not divided. */
static void test_little_work(void **state)
{
	struct osr_threads threads = osr_threads_of(4);
	struct osr_arena lent = { .threads = &threads }, none = { 0 };

	assert_int_equal(osr_threads_parts(&lent, threads.n_steps - 1), 1);
	assert_int_equal(osr_threads_parts(&lent, threads.n_steps), 4);
	assert_int_equal(osr_threads_parts(&none, UINT64_MAX), 1);
}

/* One byte of the tables, or one rank, is something else. */
static void spoil(const struct osr_fabric *fabric, struct osr_routing *routing, uint64_t *seed)
{
	size_t n = (size_t)fabric->n_dests * fabric->n_switches, at = test_random(seed) % n;

	if (routing->sl && test_random(seed) % 3 == 0)
		routing->sl[at] = test_random(seed) % 4;
	else if (routing->rank && test_random(seed) % 3 == 0)
		routing->rank[test_random(seed) % fabric->n_channels] = test_random(seed) % 8;
	else
		routing->lft[at] = test_random(seed) % 6;
}

struct judgement {
	enum osr_status st;
	struct osr_verdict verdict;
	struct osr_diag diag;
	uint64_t load[4 * MAX_DRAFT_SWITCHES];
};

static void judge(const struct osr_fabric *fabric, const struct osr_routing *routing, uint32_t n,
		  struct judgement *judgement)
{
	struct osr_threads threads = osr_threads_of(n);
	struct osr_arena scratch = { .threads = n ? &threads : NULL };
	struct osr_checked checked;

	threads.n_steps = 0;
	memset(judgement, 0, sizeof(*judgement));
	judgement->st =
		osr_check_keep(fabric, routing, &scratch, &scratch, &checked, &judgement->diag);
	judgement->verdict = checked.verdict;
	if (!judgement->st)
		memcpy(judgement->load, checked.load,
		       fabric->n_channels * sizeof(*judgement->load));
	osr_arena_free(&scratch);
}

/*
 * More switches than one batch has: the verdict, the loads and the sentence of one thread, for any
 * number.
 */
static void test_check(void **state)
{
	unsigned n_right = 0, n_wrong = 0;
	uint64_t seed = 1;

	for (unsigned i = 0; i < 8; i++) {
		struct osr_arena arena = { 0 };
		struct test_fabric test;

		test_fabric_random(&test, 150, 220, i);
		assert_true(test.fabric.n_channels <= 4 * MAX_DRAFT_SWITCHES);
		for (unsigned kind = 0; kind < N_TABLE_KINDS; kind++) {
			struct osr_routing right;

			table_make(kind, &test.fabric, &arena, i, &right);
			for (unsigned wrong = 0; wrong < 5; wrong++) {
				struct judgement one, many;
				struct osr_routing routing;

				table_copy(&test.fabric, &right, &arena, &routing);
				for (unsigned k = 0; k < wrong; k++)
					spoil(&test.fabric, &routing, &seed);
				judge(&test.fabric, &routing, 0, &one);
				for (uint32_t n = 1; n <= 7; n += 3) {
					refused = n == 7 ? 0x9 : 0;
					judge(&test.fabric, &routing, n, &many);
					assert_memory_equal(&one, &many, sizeof(one));
				}
				*(one.st == OSR_OK ? &n_right : &n_wrong) += 1;
			}
		}
		osr_arena_free(&arena);
		test_fabric_free(&test);
	}
	refused = 0;
	print_message("%u right, %u wrong\n", n_right, n_wrong);
	assert_true(n_right >= 40 && n_wrong >= 100);
}

/* The same tables, bit by bit, of every engine with default options, but for any_sl unless NULL. */
static uint64_t sweep_digest(const struct osr_fabric *fabric, const struct osr_engine *engine,
			     const char *any_sl, uint8_t max_vls, uint32_t n)
{
	struct osr_threads threads = osr_threads_of(n);
	struct osr_arena scratch = { .threads = n ? &threads : NULL }, arena = { 0 };
	struct osr_result result = { .fabric = *fabric };
	struct osr_sweep sweep;
	struct osr_diag diag;
	struct osr_values values;
	struct osr_job job = { .engine = engine,
			       .values = &values,
			       .request = { .max_vls = max_vls, .multicast = true },
			       .scratch = &scratch,
			       .arena = &arena,
			       .diag = &diag };
	enum osr_status st;

	threads.n_steps = 0;
	osr_values_default(&values, engine->params);
	if (any_sl)
		assert_int_equal(osr_values_set(&values, engine->params, "any_sl", any_sl, NULL),
				 OSR_OK);
	st = osr_sweep(&job, &result, &sweep);
	osr_arena_free(&scratch);
	osr_arena_free(&arena);
	return st ? (uint64_t)st : result.digest;
}

static void test_engines(void **state)
{
	unsigned n_routed = 0;

	for (unsigned i = 0; i < N_TEST_FABRICS + 2; i += 3) {
		struct test_fabric test;

		if (i < N_TEST_FABRICS)
			test_fabric_named(&test, i);
		else
			test_fabric_random(&test, 80, 130, i);
		for (uint32_t e = 0; osr_engines[e]; e++)
			for (uint8_t vls = 2; vls <= 8; vls *= 4) {
				uint64_t digest =
					sweep_digest(&test.fabric, osr_engines[e], NULL, vls, 0);

				assert_true(sweep_digest(&test.fabric, osr_engines[e], NULL, vls,
							 3) == digest);
				n_routed += digest > 100;
			}
		test_fabric_free(&test);
	}
	assert_true(n_routed > 30);
}

/* Switches with 10 cables to others on the average and 8 hosts of 8 LIDs: 4.3 million routes. */
static void large_fabric(struct test_fabric *test)
{
	struct draft draft;
	uint64_t seed = 7;

	draft_new(&draft);
	draft.n_ports = 24;
	for (uint32_t s = 0; s < MAX_DRAFT_SWITCHES; s++)
		draft_switch(&draft);
	for (uint32_t s = 1; s < MAX_DRAFT_SWITCHES; s++)
		draft_link(&draft, s, test_random(&seed) % s);
	for (uint32_t i = 0; i < 4 * MAX_DRAFT_SWITCHES; i++) {
		uint32_t a = test_random(&seed) % MAX_DRAFT_SWITCHES,
			 b = test_random(&seed) % MAX_DRAFT_SWITCHES;

		if (a != b && draft.n_used[a] < 16 && draft.n_used[b] < 16)
			draft_link(&draft, a, b);
	}
	draft.lmc = 3;
	for (uint32_t s = 0; s < MAX_DRAFT_SWITCHES; s++)
		for (uint32_t i = 0; i < 8; i++)
			draft_host(&draft, s);
	draft_build(&draft, test, "8 hosts of 8 LIDs");
}

/*
 * Layers of a sample, which do not suffice; then trees that are patched: what large fabrics alone
 * see.
 */
static void test_large(void **state)
{
	struct test_fabric test;
	uint64_t digest;

	large_fabric(&test);
	assert_true((uint64_t)test.fabric.n_dests * test.fabric.n_switches >= 1u << 22);
	digest = sweep_digest(&test.fabric, osr_engine_find("dfsssp"), "off", 4, 0);
	assert_true(digest > 100);
	assert_true(sweep_digest(&test.fabric, osr_engine_find("dfsssp"), "off", 4, 3) == digest);
	test_fabric_free(&test);
}

TEST_PROGRAM(test_parts, test_little_work, test_check, test_engines, test_large)

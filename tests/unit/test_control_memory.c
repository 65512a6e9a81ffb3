/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Routing keys without memory: each allocation of the protocol and of libosrkeys fails in turn,
 * jansson's included. Whatever was refused, the scheduler can be used afterwards, and nothing is lost (the
 * sanitizers see to that). malloc() and the like, and those of arenas, are wrapped by the linker; they fail
 * in the thread of the test only.
 */
#include "test.h"

#include <unistd.h>

#include "control/protocol.h"
#include "failing.h"

#include "keyclient/keyclient.h"
#include "keytree.h"

static void make_fabric(struct osr_arena *arena, struct osr_fabric *f)
{
	assert_int_equal(key_tree(2, 1, -1, arena, f), OSR_OK);
}

static const struct osr_sched_limits limits = { 64, 8, 64, 4096, OSR_KEY_FINE, 0, 0 };

static const char *const lines[] = {
	"{\"op\":\"status\"}",
	"{\"op\":\"place\",\"name\":\"a\",\"hosts\":[\"0x100\",\"0x102\"],\"patterns\":[\"0>1\"],"
	"\"id\":7}",
	"{\"op\":\"request\",\"app\":1,\"key\":0}",
	"{\"op\":\"place\",\"ranks\":2,\"patterns\":[\"0>1 1>0\"]}",
	"{\"op\":\"attach\",\"app\":1}",
	"{\"op\":\"status\"}",
	"{\"op\":\"done\",\"app\":1,\"key\":0}",
	"{\"op\":\"withdraw\",\"app\":1}",
	"{\"op\":\"drained\"}",
};

/* The entries of what is there can be collected. */
static void use(struct osr_sched *s)
{
	struct osr_overlay_entry *entry;
	struct osr_arena scratch = { 0 };
	struct osr_diag diag = { "" };
	uint32_t n;

	assert_int_equal(osr_sched_collect(s, &scratch, &entry, &n, &diag), OSR_OK);
	osr_arena_free(&scratch);
}

/* Line `which` with its n-th allocation failing, after the ones before it; false: it has less. */
static bool fail_line(const struct osr_fabric *f, size_t which, size_t n)
{
	struct osr_sched *s = osr_sched_new(&limits);
	const struct osr__peer peer = { .uid = 1000 };
	struct osr__effect effect;
	struct osr_diag diag;
	bool failed = false;

	assert_int_equal(osr_sched_fabric(s, f, &diag), OSR_OK);
	for (size_t i = 0; i <= which; i++) {
		json_t *said;

		fail_at = i == which ? n : 0;
		said = osr__protocol(s, &peer, lines[i], strlen(lines[i]), &effect);
		failed = i == which && !fail_at;
		fail_at = 0;
		if (said && !json_is_true(json_object_get(said, "ok")))
			assert_true(failed && json_string_length(json_object_get(said, "error")));
		assert_true(said || failed);
		json_decref(said);
	}
	use(s);
	osr_sched_free(s);
	return failed;
}

static void test_lines(void **state)
{
	struct osr_arena arena = { 0 };
	struct osr_fabric f;
	size_t n_all = 0;

	make_fabric(&arena, &f);
	for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++) {
		size_t n = 1;

		while (fail_line(&f, i, n))
			n++;
		assert_true(n > 5 && n < 5000);
		n_all += n;
	}
	print_message("%zu allocations of %zu lines\n", n_all, sizeof(lines) / sizeof(*lines));
	osr_arena_free(&arena);
}

/* A text that lacks a piece is none: jansson's own json_dumps() may lose one. */
static void test_dump(void **state)
{
	json_t *j = json_pack("{s:I, s:b, s:s, s:[i,i,i], s:{s:s}}", "owner", (json_int_t)123456,
			      "held", 0, "name",
			      "a name that is longer than what fits at first, and longer",
			      "offsets", 1, 2, 3, "key", "state", "waiting");
	size_t size, whole;
	char *text = osr__dump(j, JSON_COMPACT, &whole);
	size_t n;

	assert_non_null(text);
	for (n = 1; n < 1000; n++) {
		char *again;

		fail_at = n;
		again = osr__dump(j, JSON_COMPACT, &size);
		if (fail_at) {
			fail_at = 0;
			free(again);
			break;
		}
		assert_true(!again || (size == whole && !strcmp(again, text)));
		free(again);
	}
	assert_true(n > 2 && n < 1000);
	free(text);
	json_decref(j);
}

/* A host whose name is no UTF-8 is placed and answered. */
static void test_latin_1(void **state)
{
	static const char line[] =
		"{\"op\":\"place\",\"hosts\":[\"0x100\",\"0x102\"],\"patterns\":[\"0>1\"]}";
	const struct osr__peer peer = { .uid = 1000 };
	struct osr_sched *s = osr_sched_new(&limits);
	struct osr__effect effect;
	struct osr_arena arena = { 0 };
	struct osr_fabric f;
	json_t *said;

	make_fabric(&arena, &f);
	for (uint32_t t = 0; t < f.n_terminals; t++)
		if (f.term_guid[t] == 0x102)
			((char *)f.names)[f.term_name[t] + 1] = '\xf6';
	assert_int_equal(osr_sched_fabric(s, &f, NULL), OSR_OK);
	said = osr__protocol(s, &peer, line, strlen(line), &effect);
	assert_non_null(said);
	assert_true(json_is_true(json_object_get(said, "ok")));
	assert_string_equal(json_string_value(json_array_get(json_object_get(said, "names"), 1)),
			    "h?");
	json_decref(said);
	osr_sched_free(s);
	osr_arena_free(&arena);
}

/* One conversation of libosrkeys; false: something was refused, with a sentence. */
static bool converse(const char *path)
{
	static const char *const hosts[] = { "0x100", "0x102" }, *const patterns[] = { "0>1" };
	struct osrk_place in = { .name = "x",
				 .hosts = hosts,
				 .n_ranks = 2,
				 .patterns = patterns,
				 .n_patterns = 1,
				 .hold = true };
	struct osrk *k = osrk_open(path);
	uint32_t app = 0;
	bool ok = osrk_ok(k) && !osrk_place(k, &in, &app) && !osrk_attach(k, app) &&
		  !osrk_request(k, app, 0, 0) && !osrk_done(k, app, 0) && !osrk_withdraw(k, app);

	assert_true(ok || osrk_error(k)[0]);
	osrk_close(k);
	return ok;
}

static void test_client(void **state)
{
	struct osr_control_in in = { .mode = 0600, .limits = limits };
	struct osr_arena arena = { 0 };
	struct osr_diag diag = { "" };
	struct osr_control *c;
	struct osr_fabric f;
	bool failed = true;
	char path[64];
	size_t n = 1;

	snprintf(path, sizeof(path), "/tmp/osr-memory-%d.sock", (int)getpid());
	in.path = path;
	make_fabric(&arena, &f);
	c = osr_control_open(&in, &diag);
	assert_non_null(c);
	assert_int_equal(osr_sched_fabric(osr_control_lock(c), &f, &diag), OSR_OK);
	osr_control_unlock(c);
	assert_int_equal(osr_control_start(c, &diag), OSR_OK);
	for (; failed; n++) {
		bool ok;

		fail_at = n;
		ok = converse(path);
		failed = !fail_at;
		fail_at = 0;
		assert_true(ok || failed);
	}
	assert_true(n > 20);
	osr_control_close(c);
	osr_arena_free(&arena);
}

static void *json_malloc(size_t size)
{
	return malloc(size);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lines),
		cmocka_unit_test(test_dump),
		cmocka_unit_test(test_latin_1),
		cmocka_unit_test(test_client),
	};

	json_set_alloc_funcs(json_malloc, free);
	return cmocka_run_group_tests(tests, NULL, NULL);
}

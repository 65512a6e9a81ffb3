/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The control socket and libosrkeys, one against the other, without OpenSM: this thread is the
 * subnet manager, another one is the application.
 */
#include "test.h"

#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#include "control/control.h"
#include "control/protocol.h"
#include "keyclient/keyclient.h"
#include "keytree.h"

static char path[64];
static struct osr_arena arena;
static struct osr_fabric fabric;

static struct osr_control *start(void)
{
	struct osr_control_in in = { .path = path,
				     .mode = 0600,
				     .limits = { 16, 8, 8, 4096, OSR_KEY_FINE, 0, 0, { 0 } } };
	struct osr_diag diag = { "" };
	struct osr_control *control = osr_control_open(&in, &diag);

	if (!control)
		fail_msg("%s", diag.text);
	assert_int_equal(osr_control_start(control, &diag), OSR_OK);
	return control;
}

/* A sweep: the fabric, and the switches have what was collected. */
static void sweep(struct osr_control *control, const struct osr_fabric *f)
{
	struct osr_arena scratch = { 0 };
	struct osr_sched *sched = osr_control_lock(control);
	struct osr_overlay_entry *entry;
	uint32_t n;

	assert_int_equal(osr_sched_fabric(sched, f, NULL, NULL), OSR_OK);
	assert_int_equal(osr_sched_collect(sched, &scratch, &entry, &n, NULL), OSR_OK);
	osr_sched_written(sched);
	osr_control_unlock(control);
	osr_arena_free(&scratch);
}

/* The application; its own thread, so no assertions in here. */
struct life {
	atomic_int step;
	char said[512];
	bool noticed;
	uint32_t app;
	struct osrk_key key;
};

/* The application that the line places; 0: none. What was answered, as far as there is room. */
static uint32_t place(struct osrk *client, const char *line, char said[512])
{
	char *text = osrk_ask(client, line);
	const char *app = text ? strstr(text, "\"app\":") : NULL;
	uint32_t id = app ? (uint32_t)strtoul(app + 6, NULL, 10) : 0;

	snprintf(said, 512, "%s", text ? text : "");
	free(text);
	return id;
}

static void *live(void *arg)
{
	struct life *life = arg;
	struct osrk *client = osrk_open(path);

	life->app = place(client,
			  "{\"op\":\"place\",\"hosts\":[\"0x100\",\"0x102\",\"0x104\",\"0x106\"],"
			  "\"patterns\":[\"0>1 1>2 2>3 3>0\",\"0>2 1>3\"],\"hold\":true}",
			  life->said);
	if (!life->app)
		goto out;
	osrk_key(client, life->app, 0, &life->key);
	life->step = 1;
	if (osrk_request(client, life->app, 0, 20000))
		goto out;
	osrk_key(client, life->app, 0, &life->key);
	life->step = 2;
	for (int i = 0; i < 2000 && !life->noticed; i++) {
		char *status = osrk_ask(client, "{\"op\": \"status\"}");

		life->noticed = status && strstr(status, "new routes");
		free(status);
		usleep(10000);
	}
	if (osrk_done(client, life->app, 0) || osrk_request(client, life->app, 1, 0))
		goto out;
	life->step = 3;
	if (!osrk_request(client, life->app, 7, 0))
		goto out;
	life->step = 4;
out:
	snprintf(life->said, sizeof(life->said), "%s", osrk_error(client));
	osrk_close(client);
	return NULL;
}

static void wait_for(struct osr_control *control, const struct osr_fabric *f, struct life *life,
		     int step)
{
	for (int i = 0; i < 2000 && life->step < step; i++) {
		if (osr_control_pending(control))
			sweep(control, f);
		usleep(10000);
	}
	if (life->step < step)
		fail_msg("stopped at step %d: %s", life->step, life->said);
}

static uint32_t n_apps(struct osr_control *control)
{
	struct osr_sched *sched = osr_control_lock(control);
	uint32_t n = 0;

	while (osr_sched_row(sched, n))
		n++;
	osr_control_unlock(control);
	return n;
}

static void a_life(void **state)
{
	struct osr_control *control = start();
	struct osr_fabric broken;
	struct life life = { 0 };
	pthread_t thread;

	sweep(control, &fabric);
	assert_int_equal(pthread_create(&thread, NULL, live, &life), 0);
	wait_for(control, &fabric, &life, 1);
	assert_int_equal(life.key.offset, 1);
	assert_non_null(strstr(life.said, "\"0x0000000000000102\""));
	assert_non_null(strstr(life.said, "\"lids\":[16,20,"));
	wait_for(control, &fabric, &life, 2);
	assert_int_equal(life.key.state, OSRK_ACTIVE);
	assert_int_equal(life.key.contention, 1);
	/* One of the two cables of the first leaf is in the key's way. */
	assert_int_equal(key_tree(4, 1, 0, &arena, &broken), OSR_OK);
	sweep(control, &broken);
	usleep(100000);
	if (life.step < 3) {
		assert_int_equal(key_tree(4, 1, 1, &arena, &broken), OSR_OK);
		sweep(control, &broken);
	}
	wait_for(control, &broken, &life, 4);
	pthread_join(thread, NULL);
	assert_true(life.noticed);
	assert_non_null(strstr(life.said, "keys 0 to 1"));
	/* It was held by the connection. */
	for (int i = 0; i < 500 && n_apps(control); i++)
		usleep(10000);
	assert_int_equal(n_apps(control), 0);
	osr_control_close(control);
}

static void whose_path(void **state)
{
	struct osr_control_in in = { .path = path, .mode = 0600 };
	struct osr_diag diag = { "" };
	struct osr_control *control = start();
	struct osrk *client;
	FILE *file;

	assert_null(osr_control_open(&in, &diag));
	assert_non_null(strstr(diag.text, "another process"));
	osr_control_close(control);
	file = fopen(path, "w");
	fclose(file);
	assert_null(osr_control_open(&in, &diag));
	assert_non_null(strstr(diag.text, "not a socket"));
	assert_int_equal(access(path, F_OK), 0);
	unlink(path);
	client = osrk_open(path);
	assert_false(osrk_ok(client));
	osrk_close(client);
}

/*
 * ---- Routing keys without memory: each allocation of the protocol and of libosrkeys fails in
 * turn, jansson's included. Whatever was refused, the scheduler can be used afterwards, and nothing
 * is lost (the sanitizers see to that). malloc() and the like, and those of arenas, are wrapped by
 * the linker; they fail in the thread of the test only.
 */
static const struct osr_sched_limits some_limits = { 64, 8, 64, 4096, OSR_KEY_FINE, 0, 0, { 0 } };

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
	"{\"op\":\"job\",\"hosts\":[\"0x100\",\"0x104\",\"0x105\",\"0x102\",\"0x106\"]}",
	"{\"op\":\"drained\"}",
};

/* Line `which` with its n-th allocation failing, after the ones before it; false: it has less. */
static bool fail_line(size_t which, size_t n)
{
	struct osr_sched *sched = osr_sched_new(&some_limits);
	const struct osr_peer peer = { .uid = 1000 };
	struct osr_overlay_entry *entry;
	struct osr_effect effect;
	struct osr_diag diag;
	bool failed = false;
	uint32_t n_entries;

	assert_int_equal(osr_sched_fabric(sched, &fabric, NULL, &diag), OSR_OK);
	for (size_t i = 0; i <= which; i++) {
		json_t *said;

		fail_at = i == which ? n : 0;
		said = osr_protocol(sched, &peer, lines[i], strlen(lines[i]), &effect);
		failed = i == which && !fail_at;
		fail_at = 0;
		if (said && !json_is_true(json_object_get(said, "ok")))
			assert_true(failed && json_string_length(json_object_get(said, "error")));
		assert_true(said || failed);
		json_decref(said);
	}
	assert_int_equal(osr_sched_collect(sched, &arena, &entry, &n_entries, &diag), OSR_OK);
	osr_sched_free(sched);
	return failed;
}

static void test_lines(void **state)
{
	size_t n_all = 0;

	for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++) {
		size_t n = 1;

		while (fail_line(i, n))
			n++;
		assert_true(n > 5 && n < 5000);
		n_all += n;
	}
	print_message("%zu allocations of %zu lines\n", n_all, sizeof(lines) / sizeof(*lines));
}

/*
 * A client that lacks a piece of a line has none and is gone: jansson's own json_dumps() may lose
 * one.
 */
static void test_say(void **state)
{
	json_t *j = json_pack("{s:I, s:b, s:s, s:[i,i,i], s:{s:s}}", "owner", (json_int_t)123456,
			      "held", 0, "name",
			      "a name that is longer than what fits at first, and longer",
			      "offsets", 1, 2, 3, "key", "state", "waiting");
	struct osr_client whole = { .fd = -1 };
	bool failed = true;
	size_t n;

	osr_client_say(&whole, json_incref(j));
	assert_true(!whole.gone && whole.out.text[whole.out.size - 1] == '\n');
	for (n = 1; failed; n++) {
		struct osr_client again = { .fd = -1 };

		fail_at = n;
		osr_client_say(&again, json_incref(j));
		failed = !fail_at;
		fail_at = 0;
		assert_true(again.gone ? failed && !again.out.size
				       : again.out.size == whole.out.size &&
						 !memcmp(again.out.text, whole.out.text,
							 whole.out.size));
		free(again.out.text);
	}
	assert_true(n > 2);
	free(whole.out.text);
	json_decref(j);
}

/* A host whose name is no UTF-8 is placed and answered. */
static void test_latin_1(void **state)
{
	static const char line[] =
		"{\"op\":\"place\",\"hosts\":[\"0x100\",\"0x102\"],\"patterns\":[\"0>1\"]}";
	const struct osr_peer peer = { .uid = 1000 };
	struct osr_sched *sched = osr_sched_new(&some_limits);
	struct osr_effect effect;
	struct osr_fabric f;
	json_t *said;

	assert_int_equal(key_tree(2, 1, -1, &arena, &f), OSR_OK);
	for (uint32_t t = 0; t < f.n_terminals; t++)
		if (f.term_guid[t] == 0x102)
			((char *)f.names)[f.term_name[t] + 1] = '\xf6';
	assert_int_equal(osr_sched_fabric(sched, &f, NULL, NULL), OSR_OK);
	said = osr_protocol(sched, &peer, line, strlen(line), &effect);
	assert_non_null(said);
	assert_true(json_is_true(json_object_get(said, "ok")));
	assert_string_equal(json_string_value(json_array_get(json_object_get(said, "names"), 1)),
			    "h?");
	json_decref(said);
	osr_sched_free(sched);
}

/* One conversation of libosrkeys; false: something was refused, with a sentence. */
static bool converse(void)
{
	struct osrk *client = osrk_open(path);
	char said[512];
	uint32_t app = osrk_ok(client) ? place(client,
					       "{\"op\":\"place\",\"hosts\":[\"0x100\",\"0x102\"],"
					       "\"patterns\":[\"0>1\"],\"hold\":true}",
					       said)
				       : 0;
	bool ok = app && !osrk_attach(client, app) && !osrk_request(client, app, 0, 0) &&
		  !osrk_done(client, app, 0) && !osrk_withdraw(client, app);

	assert_true(ok || osrk_error(client)[0]);
	osrk_close(client);
	return ok;
}

static void test_client(void **state)
{
	struct osr_control *control = start();
	bool failed = true;
	size_t n = 1;

	sweep(control, &fabric);
	for (; failed; n++) {
		bool ok;

		fail_at = n;
		ok = converse();
		failed = !fail_at;
		fail_at = 0;
		assert_true(ok || failed);
	}
	assert_true(n > 20);
	osr_control_close(control);
}

static void *json_malloc(size_t size)
{
	return malloc(size);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_life),       cmocka_unit_test(whose_path),
		cmocka_unit_test(test_lines),   cmocka_unit_test(test_say),
		cmocka_unit_test(test_latin_1), cmocka_unit_test(test_client),
	};
	char directory[] = "/tmp/osr-control-XXXXXX";
	int failed;

	if (!mkdtemp(directory))
		return 1;
	snprintf(path, sizeof(path), "%s/sock", directory);
	assert_int_equal(key_tree(4, 1, -1, &arena, &fabric), OSR_OK);
	json_set_alloc_funcs(json_malloc, free);
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	unlink(path);
	rmdir(directory);
	osr_arena_free(&arena);
	return failed;
}

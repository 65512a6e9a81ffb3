/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* What everything stands on: memory, options, routings, names. */
#include "test.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <osmroutes/arena.h>
#include <osmroutes/engine.h>
#include <osmroutes/params.h>
#include <osmroutes/routing.h>
#include <osmroutes/set.h>
#include "faults.h"
#include "tables.h"
#include "names/names.h"

/*
 * Pieces of all sizes up to 280 kB, zeroed or not, of which the younger ones are given back now and
 * then: each is aligned and stays as it was filled, and the memory is used again.
 */
static void test_pieces(void **state)
{
	enum { MOST = 200 };
	struct osr_arena arena = { 0 };
	struct osr_arena_mark mark[MOST + 1];
	size_t size[MOST], in_use[MOST + 1], last = 0;
	unsigned char *piece[MOST];
	unsigned n = 0;
	uint64_t seed = 1;

	for (unsigned i = 0; i < 4000; i++) {
		bool zeroed = test_random(&seed) % 2;

		mark[n] = osr_arena_mark(&arena);
		in_use[n] = arena.in_use;
		if (n == MOST || test_random(&seed) % 30 == 0) {
			unsigned left = (unsigned)(test_random(&seed) % (n + 1));

			for (unsigned k = 0; k < n; k++) {
				size_t n_right = 0;

				for (size_t j = 0; j < size[k]; j++)
					n_right += piece[k][j] == k;
				assert_int_equal(n_right, size[k]);
			}
			osr_arena_reset(&arena, mark[left]);
			assert_int_equal(arena.in_use, in_use[left]);
			n = left;
			continue;
		}
		size[n] = (size_t)(test_random(&seed) % 280000 >> test_random(&seed) % 18);
		piece[n] = zeroed ? osr_calloc(&arena, size[n], 1) : osr_alloc(&arena, size[n], 1);
		assert_non_null(piece[n]);
		assert_int_equal((uintptr_t)piece[n] % 64, 0);
		for (size_t j = 0; zeroed && j < size[n]; j++)
			assert_false(piece[n][j]);
		memset(piece[n], (int)n, size[n]);
		n++;
		assert_true(arena.peak >= last && arena.peak >= arena.in_use);
		last = arena.peak;
	}
	osr_arena_free(&arena);
	assert_int_equal(arena.in_use, 0);
	/* Usable after free; and what is given back is given out again. */
	mark[0] = osr_arena_mark(&arena);
	piece[0] = osr_alloc(&arena, 10, 1);
	assert_non_null(piece[0]);
	osr_arena_reset(&arena, mark[0]);
	piece[1] = osr_alloc(&arena, 10, 1);
#ifndef __SANITIZE_ADDRESS__ /* there every piece is a block */
	assert_ptr_equal(piece[0], piece[1]);
#endif
	osr_arena_free(&arena);
}

static void test_overflow(void **state)
{
	struct osr_arena arena = { 0 };

	assert_null(osr_alloc(&arena, SIZE_MAX, 2));
	assert_true(osr_arena_failed(&arena, NULL));
	assert_null(osr_alloc(&arena, SIZE_MAX / 4 + 1, 4));
	assert_null(osr_alloc(&arena, SIZE_MAX - 10, 1));
	assert_null(osr_calloc(&arena, SIZE_MAX / 2, 3));
	assert_int_equal(arena.in_use, 0);
	assert_non_null(osr_alloc(&arena, 0, 8));
	osr_arena_free(&arena);
}

static void test_fail_after(void **state)
{
	struct osr_arena arena = { .fail_after = 3 };
	struct osr_diag diag = { "" };
	struct osr_arena_mark before, after;

	assert_non_null(osr_alloc(&arena, 1, 1));
	assert_non_null(osr_alloc(&arena, 1, 1));
	before = osr_arena_mark(&arena);
	assert_false(osr_arena_failed(&arena, &diag));
	assert_string_equal(diag.text, "");
	assert_null(osr_alloc(&arena, 1 << 20, 3));
	assert_non_null(osr_alloc(&arena, 1, 1));
	assert_true(osr_arena_failed(&arena, &diag));
	assert_non_null(strstr(diag.text, "3073 kB"));
	/* It sticks until all that is younger is gone. */
	after = osr_arena_mark(&arena);
	osr_arena_reset(&arena, after);
	assert_true(osr_arena_failed(&arena, NULL));
	osr_arena_reset(&arena, before);
	assert_false(osr_arena_failed(&arena, NULL));
	/* No room for nothing, and more than there can be: no number that nobody has. */
	arena.fail_after = 1;
	assert_null(osr_alloc(&arena, 0, 8));
	assert_true(osr_arena_failed(&arena, &diag));
	assert_non_null(strstr(diag.text, ": 1 kB more"));
	assert_null(osr_alloc(&arena, SIZE_MAX / 2, 8));
	assert_true(osr_arena_failed(&arena, &diag));
	assert_null(strstr(diag.text, "kB"));
	osr_arena_free(&arena);
}

enum { ROUNDS, HEURISTIC, BALANCE, FILE_NAME, BIG, OTHER_FILE };

static const struct osr_param table[] = {
	[ROUNDS] = { "rounds", OSR_PARAM_UINT, "4", 0, 100, NULL, "rounds" },
	[HEURISTIC] = { "heuristic", OSR_PARAM_ENUM, "first", 0, 0, "order|weakest|first",
			"which" },
	[BALANCE] = { "balance", OSR_PARAM_BOOL, "yes", 0, 0, NULL, "balance" },
	[FILE_NAME] = { "file", OSR_PARAM_STRING, "", 0, 0, NULL, "a file" },
	[BIG] = { "big", OSR_PARAM_UINT, "0x10", 1, UINT64_MAX, NULL, "a big number" },
	[OTHER_FILE] = { "other", OSR_PARAM_STRING, "/etc/x", 0, 0, NULL, "another file" },
	{ 0 }
};

static struct osr_values defaults(void)
{
	struct osr_values values;

	osr_values_default(&values, table);
	return values;
}

static void test_set(void **state)
{
	static const struct {
		unsigned row;
		const char *text;
		uint64_t value;
	} good[] = {
		{ ROUNDS, "0", 0 },
		{ ROUNDS, "100", 100 },
		{ ROUNDS, "010", 10 },
		{ ROUNDS, "0x1F", 31 },
		{ HEURISTIC, "order", 0 },
		{ HEURISTIC, "Weakest", 1 },
		{ BALANCE, "no", 0 },
		{ BALANCE, "True", 1 },
		{ BALANCE, "off", 0 },
		{ BALANCE, "ON", 1 },
		{ BALANCE, "0", 0 },
		{ BALANCE, "1", 1 },
		{ BALANCE, "false", 0 },
		{ BIG, "18446744073709551615", UINT64_MAX },
		{ BIG, "0xffffffffffffffff", UINT64_MAX },
	};
	struct osr_values values = defaults();

	assert_true(values.num[ROUNDS] == 4 && values.num[HEURISTIC] == 2 && values.num[BIG] == 16);
	assert_int_equal(values.n_str, 2);
	for (unsigned i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		const struct osr_param *param = &table[good[i].row];
		struct osr_diag diag = { 0 };

		assert_int_equal(osr_values_set(&values, table, param->name, good[i].text, &diag),
				 OSR_OK);
		assert_true(values.num[good[i].row] == good[i].value);
		assert_string_equal(diag.text, "");
	}
	assert_int_equal(osr_values_set(&values, table, "file", "/tmp/a b=c", NULL), OSR_OK);
	assert_string_equal(values.str[values.num[FILE_NAME]], "/tmp/a b=c");
	assert_string_equal(values.str[values.num[OTHER_FILE]], "/etc/x");
}

/* A broken invariant ends a process that checks invariants; sanitize.quick runs this test so. */
static void test_invariant(void **state)
{
#ifdef OSR_PARANOID
	uint32_t above[2] = { 1, 1 }; /* the name of a set is never above a member */
	int status;
	pid_t child = fork();

	if (!child) {
		close(STDERR_FILENO);
		signal(SIGABRT, SIG_DFL);
		osr_set_of(above, 0);
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
#else
	skip();
#endif
}

static void refuse(const char *name, const char *text, const char *sentence)
{
	struct osr_values values = defaults(), before = values;
	struct osr_diag diag = { 0 };

	assert_int_equal(osr_values_set(&values, table, name, text, &diag), OSR_INVAL);
	if (sentence)
		assert_string_equal(diag.text, sentence);
	else
		assert_string_not_equal(diag.text, "");
	assert_memory_equal(&values, &before, sizeof(values));
}

static void test_refuse(void **state)
{
	static const char *const no_number[] = { "",     "-1",  "+1", " 1",  "1 ", "101",
						 "many", "1e2", "0x", "0xg", "1:", "1/" };

	refuse("rounds", "many", "\"rounds = many\": expected a number 0..100");
	refuse("rounds", "99999999999999999999", NULL);
	refuse("rounds", "0x10000000000000000", NULL);
	refuse("big", "0", "\"big = 0\": expected a number 1..18446744073709551615");
	refuse("heuristic", "best", "\"heuristic = best\": expected one of order|weakest|first");
	refuse("heuristic", "", NULL);
	refuse("heuristic", "ord", NULL);
	refuse("heuristic", "order|weakest", NULL);
	refuse("balance", "maybe", "\"balance = maybe\": expected true or false");
	refuse("roundz", "1", "unknown option \"roundz\": did you mean \"rounds\"?");
	refuse("Heuristic", "1", "unknown option \"Heuristic\": did you mean \"heuristic\"?");
	refuse("completely-else", "1",
	       "unknown option \"completely-else\": expected one of rounds, heuristic, balance, "
	       "file, big, other");
	for (unsigned i = 0; i < sizeof(no_number) / sizeof(no_number[0]); i++)
		refuse("rounds", no_number[i], NULL);
}

static void test_long_text(void **state)
{
	static const struct osr_param none[] = { { 0 } };
	char text[5000];
	struct osr_values values = defaults();
	struct osr_diag diag = { 0 };

	memset(text, 'x', sizeof(text));
	text[sizeof(text) - 1] = 0;
	refuse("file", text, NULL);
	refuse(text, text, NULL);
	refuse("rounds", text, NULL);
	text[OSR_STRING_SIZE] = 0;
	refuse("file", text, NULL);
	text[OSR_STRING_SIZE - 1] = 0;
	assert_int_equal(osr_values_set(&values, table, "file", text, &diag), OSR_OK);
	assert_string_equal(values.str[values.num[FILE_NAME]], text);
	assert_int_equal(osr_values_set(&values, none, "x", "y", &diag), OSR_INVAL);
	assert_string_equal(diag.text, "unknown option \"x\": there are no options");
}

/* The defaults of our own tables are valid, and every row explains itself. */
static void test_engines(void **state)
{
	for (const struct osr_engine *const *engine = osr_engines; *engine; engine++) {
		struct osr_values values;

		if (!(*engine)->params)
			continue;
		osr_values_default(&values, (*engine)->params);
		for (const struct osr_param *param = (*engine)->params; param->name; param++) {
			assert_int_equal(osr_values_set(&values, (*engine)->params, param->name,
							param->def, NULL),
					 OSR_OK);
			assert_string_not_equal(param->help, "");
		}
	}
}

/*
 * Equal for equal tables; different after any change of what would be programmed. The SL of a pair
 * without a path means nothing.
 */
static void digest_of(unsigned fabric)
{
	struct osr_arena arena = { 0 };
	struct test_fabric test, again, other;
	struct osr_routing routing, copy;
	uint64_t digest;
	size_t last;

	test_fabric_named(&test, fabric);
	test_fabric_named(&again, fabric);
	test_fabric_named(&other, fabric - 1);
	table_make(TABLE_UPDOWN_SL2VL, &test.fabric, &arena, 1, &routing);
	digest = osr_routing_digest(&test.fabric, &routing);
	table_copy(&test.fabric, &routing, &arena, &copy);
	assert_true(osr_routing_digest(&again.fabric, &copy) == digest);
	/* Not programmed: no change. */
	copy.rank[0]++;
	copy.n_longer++;
	assert_true(osr_routing_digest(&test.fabric, &copy) == digest);
	for (size_t i = 0; i < (size_t)routing.n_dests * routing.n_switches; i++) {
		copy.lft[i] ^= 1;
		assert_true(osr_routing_digest(&test.fabric, &copy) != digest);
		copy.lft[i] ^= 1;
		copy.sl[i] ^= 1;
		assert_int_equal(osr_routing_digest(&test.fabric, &copy) == digest,
				 routing.lft[i] == OSR_NO_PATH);
		copy.sl[i] ^= 1;
	}
	last = osr_n_sl2vl(&test.fabric) - 1;
	copy.sl2vl[last][15] ^= 1;
	assert_true(osr_routing_digest(&test.fabric, &copy) != digest);
	copy.sl2vl[last][15] ^= 1;
	copy.ca_sl2vl[3] ^= 1;
	assert_true(osr_routing_digest(&test.fabric, &copy) != digest);
	copy.ca_sl2vl[3] ^= 1;
	assert_true(osr_routing_digest(&test.fabric, &copy) == digest);
	table_make(TABLE_UPDOWN, &test.fabric, &arena, 1, &copy);
	assert_true(osr_routing_digest(&test.fabric, &copy) != digest);
	table_make(TABLE_UPDOWN_SL2VL, &other.fabric, &arena, 1, &copy);
	assert_true(osr_routing_digest(&other.fabric, &copy) != digest);
	osr_arena_free(&arena);
	test_fabric_free(&test);
	test_fabric_free(&again);
	test_fabric_free(&other);
}

static void test_digest(void **state)
{
	digest_of(8); /* three components */
	digest_of(3); /* one */
}

/* The digest of one known table, so that no machine and no version computes another. */
static void test_digest_value(void **state)
{
	struct osr_arena arena = { 0 };
	struct test_fabric test;
	struct osr_routing routing;

	test_fabric_ring(&test, 3, 1);
	table_make(TABLE_SHORTEST, &test.fabric, &arena, 1, &routing);
	assert_true(osr_routing_digest(&test.fabric, &routing) == 0xbc82ba3cf2344d33);
	osr_arena_free(&arena);
	test_fabric_free(&test);
}

/* The definition, word by word. */
static uint64_t changed_slowly(const struct osr_fabric *was, const struct osr_routing *old,
			       const struct osr_fabric *is, const struct osr_routing *now)
{
	uint64_t changed = 0;

	for (uint32_t d = 0; d < is->n_dests; d++)
		for (uint32_t s = 0; s < is->n_switches; s++) {
			uint32_t od = OSR_NONE, os = osr_fabric_switch_by_guid(was, is->sw_guid[s]);

			for (uint32_t i = 0; i < was->n_dests; i++)
				if (was->dest_lid[i] == is->dest_lid[d])
					od = i;
			if (od == OSR_NONE || os == OSR_NONE)
				changed += osr_lft(now, s, d) != OSR_NO_PATH;
			else
				changed += osr_lft(now, s, d) != osr_lft(old, os, od);
		}
	return changed;
}

/* A ring without one of its switches, and without another one. */
static void test_changed(void **state)
{
	struct test_fabric test;
	uint64_t n;

	test_fabric_ring(&test, 7, 1);
	for (uint32_t i = 0; i < 8 * 8; i++) {
		struct osr_result before = { 0 };
		struct osr_arena arena = { 0 };
		struct osr_routing now;
		struct osr_fabric is;
		struct faults faults;

		faults_new(&faults, &test.fabric);
		faults.sw[i / 8 % 7] = i / 8 < 7;
		faults_build(&faults, &arena, &before.fabric);
		faults.sw[i / 8 % 7] = false;
		faults.sw[i % 8 % 7] = i % 8 < 7;
		faults_build(&faults, &arena, &is);
		table_make(TABLE_SHORTEST, &before.fabric, &arena, 0, &before.routing);
		table_make(TABLE_SHORTEST, &is, &arena, 0, &now);
		for (unsigned k = 0; k < 2; k++) {
			uint64_t changed = osr_routing_changed(&before, &is, &now, &n);

			assert_int_equal(changed, changed_slowly(&before.fabric, &before.routing,
								 &is, &now));
			assert_int_equal(n, is.n_dests * is.n_switches);
			assert_true(changed == 0 || k || i / 8 != i % 8);
			now.lft[5] ^= 1;
		}
		/* From nothing, all that there is. */
		assert_int_equal(osr_routing_changed(NULL, &is, &now, &n), n);
		faults_free(&faults);
		osr_arena_free(&arena);
	}
	test_fabric_free(&test);
}

/*
 * ---- Whatever form a node is named in, it is the same node; what fits two is refused, with both.
 */

#define TWIN "Voltaire 4036 - 36 QDR ports switch"

/*
 * Switches by GUID: 0 "MF0;core-07:MQM9700/U1", 1 and 2 TWIN, 3 "leaf-10"; terminals 0, 2, 4, 6 are
 * their port 0, 1, 3, 5, 7 one host each.
 */
static const struct {
	uint64_t guid;
	const char *name, *host;
} given[] = {
	{ 0x8f10500200b50, "MF0;core-07:MQM9700/U1", "node7 mlx5_0" },
	{ 0x8f10500200b51, TWIN, "node7 mlx5_1" },
	{ 0x8f10500200b52, TWIN, "node8.cluster" },
	{ 0x8f10500200b53, "leaf-10", "cafe:3" },
};

static void make_named(struct osr_arena *arena, struct osr_fabric *fabric, struct osr_names *names)
{
	struct osr_builder *builder = osr_builder_new();
	uint32_t sw[4];

	for (uint32_t i = 0; i < 4; i++) {
		sw[i] = osr_builder_switch(builder,
					   &(struct osr_switch_in){ .guid = given[i].guid,
								    .n_ports = 8,
								    .name = given[i].name });
		osr_builder_terminal(builder, &(struct osr_terminal_in){ .guid = given[i].guid,
									 .sw = sw[i],
									 .role = OSR_ROLE_SP0,
									 .lid = (uint16_t)(i + 1),
									 .name = given[i].name });
		osr_builder_terminal(builder,
				     &(struct osr_terminal_in){ .guid = 0x100 + i,
								.sw = sw[i],
								.port = 1,
								.lmc = 1,
								.lid = (uint16_t)(10 + 2 * i),
								.name = given[i].host });
	}
	assert_int_equal(osr_builder_build(builder, arena, fabric, NULL), OSR_OK);
	osr_builder_free(builder);
	assert_int_equal(osr_names_of_fabric(names, fabric, arena, NULL), OSR_OK);
}

/* Of the wrong ones it is said what is wrong. */
static void test_words(void **state)
{
	static const struct {
		const char *word;
		unsigned kinds;
		uint32_t node, port;
		const char *said;
	} words[] = {
		{ "MF0;core-07:MQM9700/U1", OSR_NAME_SWITCH, 0, 0, NULL },
		{ "MF0;core-07:MQM9700/U1:5", OSR_NAME_SWITCH, 0, 5, NULL },
		{ "core-07", OSR_NAME_SWITCH, 0, 0, NULL },
		{ "core-07:5", OSR_NAME_SWITCH, 0, 5, NULL },
		{ "core-07:MQM9700", OSR_NAME_ANY, 0, 0, NULL },
		{ "0x0008f10500200b50", OSR_NAME_SWITCH, 0, 0, NULL },
		{ "0x8f10500200b50:17", OSR_NAME_SWITCH, 0, 17, NULL },
		{ "8f10500200b50:17", OSR_NAME_SWITCH, 0, 17, NULL },
		{ "S-0008f10500200b50:17", OSR_NAME_SWITCH, 0, 17, NULL },
		{ "00000000000000000008f10500200b51", OSR_NAME_ANY, 1, 0, NULL },
		{ "lid:2", OSR_NAME_SWITCH, 1, 0, NULL },
		{ "lid:2:17", OSR_NAME_SWITCH, 1, 17, NULL },
		{ TWIN " 0x0008f10500200b52", OSR_NAME_SWITCH, 2, 0, NULL },
		{ TWIN " 0x0008f10500200b52:3", OSR_NAME_ANY, 2, 3, NULL },
		{ "node7 mlx5_1", OSR_NAME_END_PORT, 4 + 3, 0, NULL },
		{ "mlx5_1", OSR_NAME_END_PORT, 4 + 3, 0, NULL },
		{ "lid:0xd", OSR_NAME_ANY, 4 + 3, 0, NULL },
		{ "lid:13", OSR_NAME_END_PORT, 4 + 3, 0, NULL },
		{ "0x101", OSR_NAME_END_PORT, 4 + 3, 0, NULL },
		{ "node8", OSR_NAME_END_PORT, 4 + 5, 0, NULL },
		{ "node8.cluster", OSR_NAME_ANY, 4 + 5, 0, NULL },
		/* A name that looks like a port is a name first. */
		{ "cafe:3", OSR_NAME_ANY, 4 + 7, 0, NULL },
		{ "cafe:3:1", OSR_NAME_ANY, 4 + 7, 1, NULL },
		{ TWIN, OSR_NAME_SWITCH, 0, 0,
		  "2 switches are called \"" TWIN "\": give \"" TWIN
		  " 0x0008f10500200b51\" or \"" TWIN " 0x0008f10500200b52\"" },
		{ "Voltaire:3", OSR_NAME_SWITCH, 0, 0, "2 switches are called \"Voltaire\"" },
		{ "node7", OSR_NAME_END_PORT, 0, 0,
		  "2 end ports are called \"node7\": give \"node7 mlx5_0\" or \"node7 mlx5_1\"" },
		/* No part of a word is taken for the whole: leaf-1 is gone, and leaf-10 stays. */
		{ "leaf-1", OSR_NAME_SWITCH, 0, 0,
		  "no switch is called \"leaf-1\": did you mean \"leaf-10\"?" },
		{ "CORE-07", OSR_NAME_SWITCH, 0, 0, "did you mean \"MF0;core-07:MQM9700/U1\"?" },
		{ "laef-10:2", OSR_NAME_SWITCH, 0, 0,
		  "no switch is called \"laef-10\": did you mean \"leaf-10\"?" },
		{ "node8.other", OSR_NAME_ANY, 0, 0, "no node is called" },
		{ "node8", OSR_NAME_SWITCH, 0, 0,
		  "\"node8\" is an end port: a switch was expected" },
		{ "lid:1", OSR_NAME_END_PORT, 0, 0,
		  "\"lid:1\" is a switch: an end port was expected" },
		{ "lid:9", OSR_NAME_ANY, 0, 0, "no node has the LID 9" },
		{ "lid:", OSR_NAME_ANY, 0, 0, "no node is called" },
		{ "lid:99999999999", OSR_NAME_ANY, 0, 0, "no node has the LID 99999999999" },
		{ "0x77:1", OSR_NAME_ANY, 0, 0, "no node has the GUID 0x77" },
		{ "leaf-10:255", OSR_NAME_ANY, 0, 0, "no node is called" },
		{ "0x", OSR_NAME_ANY, 0, 0, "no node has the GUID 0x" },
		{ "-1", OSR_NAME_ANY, 0, 0, "no node is called" },
		{ "", OSR_NAME_ANY, 0, 0, "no node is called" },
		{ ":3", OSR_NAME_ANY, 0, 0, "no node is called" },
	};
	struct osr_arena arena = { 0 };
	struct osr_fabric fabric;
	struct osr_names names;
	uint32_t node, port;

	make_named(&arena, &fabric, &names);
	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++) {
		const char *said = words[i].said;
		struct osr_diag diag = { "" };
		enum osr_status st =
			osr_names_find(&names, words[i].word, words[i].kinds, &node, &port, &diag);

		if (st != (said ? OSR_INVAL : OSR_OK) || (said && !strstr(diag.text, said)))
			fail_msg("%s: %s", words[i].word, diag.text);
		if (!said && (node != words[i].node || port != words[i].port))
			fail_msg("%s: node %u port %u", words[i].word, node, port);
	}
	osr_arena_free(&arena);
}

/* Names that several nodes have are shown with the GUID, all others as they are. */
static void test_repeated(void **state)
{
	struct osr_arena arena = { 0 };
	struct osr_fabric fabric;
	struct osr_names names;
	char buf[32];

	make_named(&arena, &fabric, &names);
	assert_string_equal(osr_switch_name(&fabric, 0, buf), given[0].name);
	assert_string_equal(osr_switch_name(&fabric, 1, buf), TWIN " 0x0008f10500200b51");
	assert_string_equal(osr_switch_name(&fabric, 2, buf), TWIN " 0x0008f10500200b52");
	for (uint32_t t = 0; t < fabric.n_terminals; t++)
		assert_string_equal(osr_terminal_name(&fabric, t, buf),
				    fabric.term_role[t] == OSR_ROLE_SP0
					    ? fabric.names + fabric.sw_name[fabric.term_switch[t]]
					    : given[fabric.term_switch[t]].host);
	assert_int_equal(osr_name_own(TWIN " 0x0008f10500200b51", given[1].guid), strlen(TWIN));
	assert_int_equal(osr_name_own(TWIN, given[1].guid), strlen(TWIN));
	assert_int_equal(osr_names_all(&names, "Voltaire", 8, OSR_NAME_SWITCH), 2);
	osr_arena_free(&arena);
}

TEST_PROGRAM(test_pieces, test_overflow, test_fail_after, test_set, test_invariant, test_refuse,
	     test_long_text, test_engines, test_digest, test_digest_value, test_changed, test_words,
	     test_repeated)

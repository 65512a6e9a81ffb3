/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "test.h"

#include <osmroutes/engine.h>
#include <osmroutes/params.h>

enum { ROUNDS, HEURISTIC, BALANCE, FILE_NAME, BIG, OTHER_FILE };

static const struct osr_param table[] = {
	[ROUNDS] = { "rounds", OSR_PARAM_UINT, "4", 0, 100, NULL, "rounds" },
	[HEURISTIC] = { "heuristic", OSR_PARAM_ENUM, "first", 0, 0, "order|weakest|first",
			"which" },
	[BALANCE] = { "balance", OSR_PARAM_BOOL, "yes", 0, 0, NULL, "balance" },
	[FILE_NAME] = { "file", OSR_PARAM_STRING, "", 0, 0, NULL, "a file" },
	[BIG] = { "big", OSR_PARAM_UINT, "0x10", 1, UINT64_MAX, NULL, "a big number" },
	[OTHER_FILE] = { "other", OSR_PARAM_STRING, "/etc/x", 0, 0, NULL, "another file" },
	{ NULL }
};

static struct osr_values defaults(void)
{
	struct osr_values v;

	osr_values_default(&v, table);
	return v;
}

static void test_defaults(void **state)
{
	struct osr_values v = defaults();

	assert_int_equal(v.num[ROUNDS], 4);
	assert_int_equal(v.num[HEURISTIC], 2);
	assert_int_equal(v.num[BALANCE], 1);
	assert_int_equal(v.num[BIG], 16);
	assert_string_equal(v.str[v.num[FILE_NAME]], "");
	assert_string_equal(v.str[v.num[OTHER_FILE]], "/etc/x");
	assert_int_equal(v.n_str, 2);
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
	struct osr_values v = defaults();

	for (unsigned i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		const struct osr_param *p = &table[good[i].row];
		struct osr_diag diag = { 0 };

		assert_int_equal(osr_values_set(&v, table, p->name, good[i].text, &diag), OSR_OK);
		assert_true(v.num[good[i].row] == good[i].value);
		assert_string_equal(diag.text, "");
	}
	assert_int_equal(osr_values_set(&v, table, "file", "/tmp/a b=c", NULL), OSR_OK);
	assert_string_equal(v.str[v.num[FILE_NAME]], "/tmp/a b=c");
	assert_string_equal(v.str[v.num[OTHER_FILE]], "/etc/x");
}

static void refuse(const char *name, const char *text, const char *sentence)
{
	struct osr_values v = defaults(), before = v;
	struct osr_diag diag = { 0 };

	assert_int_equal(osr_values_set(&v, table, name, text, &diag), OSR_INVAL);
	if (sentence)
		assert_string_equal(diag.text, sentence);
	else
		assert_string_not_equal(diag.text, "");
	assert_memory_equal(&v, &before, sizeof(v));
}

static void test_refuse(void **state)
{
	static const char *const no_number[] = { "",
						 "-1",
						 "+1",
						 " 1",
						 "1 ",
						 "101",
						 "many",
						 "1e2",
						 "0x",
						 "0xg",
						 "1:",
						 "1/",
						 "99999999999999999999",
						 "0x10000000000000000" };

	refuse("rounds", "many", "\"rounds = many\": expected a number 0..100");
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
	       "file, "
	       "big, other");
	for (unsigned i = 0; i < sizeof(no_number) / sizeof(no_number[0]); i++)
		refuse("rounds", no_number[i], NULL);
}

static void test_long_text(void **state)
{
	static const struct osr_param none[] = { { NULL } };
	char text[5000];
	struct osr_values v = defaults();
	struct osr_diag diag = { 0 };

	memset(text, 'x', sizeof(text));
	text[sizeof(text) - 1] = 0;
	refuse("file", text, NULL);
	refuse(text, text, NULL);
	refuse("rounds", text, NULL);
	text[OSR_STRING_SIZE] = 0;
	refuse("file", text, NULL);
	text[OSR_STRING_SIZE - 1] = 0;
	assert_int_equal(osr_values_set(&v, table, "file", text, &diag), OSR_OK);
	assert_string_equal(v.str[v.num[FILE_NAME]], text);
	assert_int_equal(osr_values_set(&v, none, "x", "y", &diag), OSR_INVAL);
	assert_string_equal(diag.text, "unknown option \"x\": there are no options");
}

/* The defaults of our own tables are valid, and every row explains itself. */
static void test_engines(void **state)
{
	for (const struct osr_engine *const *e = osr_engines; *e; e++) {
		struct osr_values v;

		if (!(*e)->params)
			continue;
		osr_values_default(&v, (*e)->params);
		for (const struct osr_param *p = (*e)->params; p->name; p++) {
			assert_int_equal(osr_values_set(&v, (*e)->params, p->name, p->def, NULL),
					 OSR_OK);
			assert_string_not_equal(p->help, "");
		}
	}
}

TEST_PROGRAM(test_defaults, test_set, test_refuse, test_long_text, test_engines)

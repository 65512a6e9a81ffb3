/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * params.h - option tables: one row feeds the parser, --help, the manual and the error messages.
 *
 * An engine (or the plugin) declares
 *
 *	static const struct osr_param params[] = {
 *		{ "rounds", OSR_PARAM_UINT, "4", 0, 100, NULL, "rip-up-and-re-route rounds" },
 *		{ "heuristic", OSR_PARAM_ENUM, "order", 0, 0, "order|weakest|first", "..." },
 *		{ 0 }
 *	};
 *
 * and reads values by row number, so that a misspelt name cannot compile into a silent default.
 */
#ifndef OSMROUTES_PARAMS_H
#define OSMROUTES_PARAMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <osmroutes/status.h>

enum osr_param_type {
	OSR_PARAM_BOOL,   /* true|false|yes|no|on|off|1|0 -> 1 or 0 */
	OSR_PARAM_UINT,   /* decimal or 0x..., min..max */
	OSR_PARAM_ENUM,   /* index of the word in "a|b|c" */
	OSR_PARAM_STRING, /* kept in osr_values.str, at most OSR_STRING_SIZE-1 bytes */
};

#define OSR_MAX_PARAMS 24
#define OSR_STRING_SIZE 256
#define OSR_MAX_STRINGS 8

struct osr_param {
	const char *name;
	enum osr_param_type type;
	const char *def;   /* default, as an administrator would write it */
	uint64_t min, max; /* OSR_PARAM_UINT */
	const char *words; /* OSR_PARAM_ENUM */
	const char *help;  /* one line */
};

/* Values of one table; row i of the table is num[i]. Plain data: copy it freely. */
struct osr_values {
	uint64_t num[OSR_MAX_PARAMS]; /* OSR_PARAM_STRING: index into str */
	char str[OSR_MAX_STRINGS][OSR_STRING_SIZE];
	uint8_t n_str;
};

/* Every row to its default. The defaults of our own tables are valid (a unit test sees to it). */
void osr_values_default(struct osr_values *values, const struct osr_param *table);

/*
 * Sets one option from text. OSR_INVAL names the option and the values that are valid:
 *	unknown option "roundz": did you mean "rounds"? / "rounds = many": expected a number 0..100
 * values is unchanged then.
 */
enum osr_status osr_values_set(struct osr_values *values, const struct osr_param *table,
			       const char *name, const char *text, struct osr_diag *diag);

/* A whole text as a number: decimal, 010 too, or with 0x before it. No sign, no blank. */
bool osr_parse_uint(const char *text, uint64_t *value);

/* Finds the word that a mistyped word stands for: set `word`, offer all words, take `best`. */
struct osr_guess {
	const char *word, *best;
	unsigned distance;
};

void osr_guess_offer(struct osr_guess *guess, const char *candidate);
/* ": did you mean \"dfsssp\"?" written into buf, or "". */
const char *osr_guess_say(const struct osr_guess *guess, char *buf, size_t size);

#endif

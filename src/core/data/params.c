/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include <osmroutes/invariant.h>
#include <osmroutes/params.h>

#include <assert.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define GUESS_LENGTH 48 /* bytes that a guess compares */
/* Names and values are an administrator's: quote at most this much of them in a sentence. */
#define QUOTE 80

static bool parse_bool(const char *text, uint64_t *value)
{
	static const char *const words[2][4] = { { "false", "no", "off", "0" },
						 { "true", "yes", "on", "1" } };

	for (unsigned v = 0; v < 2; v++)
		for (unsigned w = 0; w < 4; w++)
			if (!strcasecmp(text, words[v][w])) {
				*value = v;
				return true;
			}
	return false;
}

static int digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : 16;
}

/* Not strtoull(): that takes signs and blanks, and reads 010 as 8 when asked to guess the base. */
bool osr_parse_uint(const char *text, uint64_t *value)
{
	int base = text[0] == '0' && (text[1] | 0x20) == 'x' ? 16 : 10;
	uint64_t v = 0;

	if (base == 16)
		text += 2;
	if (!*text)
		return false;
	for (; *text; text++) {
		int x = digit(*text);

		if (x >= base || __builtin_mul_overflow(v, (uint64_t)base, &v) ||
		    __builtin_add_overflow(v, (uint64_t)x, &v))
			return false;
	}
	*value = v;
	return true;
}

static bool parse_enum(const char *words, const char *text, uint64_t *value)
{
	size_t len = strlen(text);

	for (uint64_t i = 0;; i++) {
		size_t n = strcspn(words, "|");

		if (n == len && n && !strncasecmp(words, text, n)) {
			*value = i;
			return true;
		}
		if (!words[n])
			return false;
		words += n + 1;
	}
}

static unsigned min3(unsigned a, unsigned b, unsigned c)
{
	unsigned m = a < b ? a : b;

	return m < c ? m : c;
}

/* Levenshtein's edit distance, one row at a time, over as many bytes as a guess compares. */
static unsigned edit_distance(const char *a, size_t a_len, const char *b)
{
	unsigned row[GUESS_LENGTH + 1];
	unsigned n = strnlen(b, GUESS_LENGTH);

	for (unsigned j = 0; j <= n; j++)
		row[j] = j;
	a_len = a_len < GUESS_LENGTH ? a_len : GUESS_LENGTH;
	for (unsigned i = 0; i < a_len; i++) {
		unsigned diagonal = row[0];

		row[0] = i + 1;
		for (unsigned j = 0; j < n; j++) {
			unsigned cost = min3(row[j + 1] + 1, row[j] + 1, diagonal + (a[i] != b[j]));

			osr_invariant(cost <= (i > j ? i : j) + 1);
			diagonal = row[j + 1];
			row[j + 1] = cost;
		}
	}
	return row[n];
}

void osr_guess_offer(struct osr_guess *guess, const char *candidate)
{
	size_t first = strcspn(candidate, " \t,;");
	unsigned distance = edit_distance(candidate, first, guess->word);

	/* Node descriptions are long: a description that contains the word matches it. */
	if (strlen(guess->word) > 2 && strcasestr(candidate, guess->word))
		distance = 0;
	/* A guess that shares less than half of its letters would only confuse. */
	if (distance * 2 > first || (guess->best && distance >= guess->distance))
		return;
	guess->best = candidate;
	guess->distance = distance;
}

const char *osr_guess_say(const struct osr_guess *guess, char *buf, size_t size)
{
	buf[0] = '\0';
	if (guess->best)
		snprintf(buf, size, ": did you mean \"%.100s\"?", guess->best);
	return buf;
}

/* All names of the table, comma separated; cut off where buf ends. */
static const char *params_list_names(const struct osr_param *table, char *buf, size_t size)
{
	size_t used = 0;

	buf[0] = 0;
	for (const struct osr_param *param = table; param->name; param++) {
		used += snprintf(buf + used, size - used, "%s%s", param == table ? "" : ", ",
				 param->name);
		if (used >= size)
			break;
	}
	return buf;
}

static enum osr_status fail_unknown(const struct osr_param *table, const char *name,
				    struct osr_diag *diag)
{
	struct osr_guess guess = { .word = name };
	char names[256];

	for (const struct osr_param *param = table; param->name; param++)
		osr_guess_offer(&guess, param->name);
	if (!table->name)
		return osr_fail(diag, OSR_INVAL, "unknown option \"%.*s\": there are no options",
				QUOTE, name);
	if (guess.best)
		return osr_fail(diag, OSR_INVAL, "unknown option \"%.*s\"%s", QUOTE, name,
				osr_guess_say(&guess, names, sizeof(names)));
	return osr_fail(diag, OSR_INVAL, "unknown option \"%.*s\": expected one of %s", QUOTE, name,
			params_list_names(table, names, sizeof(names)));
}

static enum osr_status set_string(struct osr_values *values, uint64_t slot,
				  const struct osr_param *param, const char *text,
				  struct osr_diag *diag)
{
	size_t len = strlen(text);

	osr_invariant(slot < values->n_str);
	if (len >= OSR_STRING_SIZE)
		return osr_fail(diag, OSR_INVAL,
				"\"%s = %.*s...\": expected at most %d characters, got %zu",
				param->name, QUOTE, text, OSR_STRING_SIZE - 1, len);
	memcpy(values->str[slot], text, len + 1);
	return OSR_OK;
}

static enum osr_status params_set_row(struct osr_values *values, unsigned row,
				      const struct osr_param *param, const char *text,
				      struct osr_diag *diag)
{
	uint64_t value;

	switch (param->type) {
	case OSR_PARAM_BOOL:
		if (!parse_bool(text, &value))
			return osr_fail(diag, OSR_INVAL, "\"%s = %.*s\": expected true or false",
					param->name, QUOTE, text);
		break;
	case OSR_PARAM_UINT:
		if (!osr_parse_uint(text, &value) || value < param->min || value > param->max)
			return osr_fail(diag, OSR_INVAL,
					"\"%s = %.*s\": expected a number %llu..%llu", param->name,
					QUOTE, text, (unsigned long long)param->min,
					(unsigned long long)param->max);
		break;
	case OSR_PARAM_ENUM:
		if (!parse_enum(param->words, text, &value))
			return osr_fail(diag, OSR_INVAL, "\"%s = %.*s\": expected one of %s",
					param->name, QUOTE, text, param->words);
		break;
	case OSR_PARAM_STRING:
		return set_string(values, values->num[row], param, text, diag);
	default:
		return osr_fail(diag, OSR_BUG, "option \"%s\" has no type", param->name);
	}
	osr_invariant(row < OSR_MAX_PARAMS);
	values->num[row] = value;
	return OSR_OK;
}

void osr_values_default(struct osr_values *values, const struct osr_param *table)
{
	memset(values, 0, sizeof(*values));
	for (unsigned row = 0; table[row].name; row++) {
		enum osr_status st;

		assert(row < OSR_MAX_PARAMS);
		if (table[row].type == OSR_PARAM_STRING) {
			assert(values->n_str < OSR_MAX_STRINGS);
			values->num[row] = values->n_str++;
		}
		st = params_set_row(values, row, &table[row], table[row].def, NULL);
		assert(st == OSR_OK);
		(void)st;
		osr_invariant(table[row].type != OSR_PARAM_UINT ||
			      table[row].min <= table[row].max);
	}
}

enum osr_status osr_values_set(struct osr_values *values, const struct osr_param *table,
			       const char *name, const char *text, struct osr_diag *diag)
{
	for (unsigned row = 0; table[row].name; row++)
		if (!strcmp(table[row].name, name))
			return params_set_row(values, row, &table[row], text, diag);
	return fail_unknown(table, name, diag);
}

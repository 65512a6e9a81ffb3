/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "io/span.h"

static int digit_value(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return 99;
}

bool osr__span_digits(struct osr__span *s, int base, uint64_t max, uint64_t *value)
{
	const char *first = s->at;
	uint64_t v = 0;

	for (; s->at < s->end && digit_value(*s->at) < base; s->at++) {
		uint64_t d = (uint64_t)digit_value(*s->at);

		if (v > (max - d) / (uint64_t)base || d > max)
			return false;
		v = v * (uint64_t)base + d;
	}
	*value = v;
	return s->at > first;
}

bool osr__span_number(struct osr__span *s, uint64_t max, uint64_t *value)
{
	if (osr__span_starts_with(*s, "0x") || osr__span_starts_with(*s, "0X")) {
		s->at += 2;
		return osr__span_digits(s, 16, max, value);
	}
	return osr__span_digits(s, 10, max, value);
}

bool osr__span_quoted(struct osr__span *s, struct osr__span *inner)
{
	const char *close;

	if (!osr__span_char(s, '"'))
		return false;
	close = memchr(s->at, '"', (size_t)(s->end - s->at));
	if (!close)
		return false;
	*inner = (struct osr__span){ s->at, close };
	s->at = close + 1;
	return true;
}

const char *osr__span_find(struct osr__span s, const char *word)
{
	return memmem(s.at, (size_t)(s.end - s.at), word, strlen(word));
}

bool osr__span_number_after(struct osr__span s, const char *key, uint64_t max, uint64_t *value,
			    bool *bad)
{
	const char *at = osr__span_find(s, key);

	if (!at)
		return false;
	s.at = at + strlen(key);
	*bad = !osr__span_number(&s, max, value);
	return !*bad;
}

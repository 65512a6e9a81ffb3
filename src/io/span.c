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

bool osr__span_digits(struct osr__span *span, int base, uint64_t max, uint64_t *value)
{
	const char *first = span->at;
	uint64_t v = 0;

	for (; span->at < span->end && digit_value(*span->at) < base; span->at++) {
		uint64_t d = (uint64_t)digit_value(*span->at);

		if (v > (max - d) / (uint64_t)base || d > max)
			return false;
		v = v * (uint64_t)base + d;
	}
	*value = v;
	return span->at > first;
}

bool osr__span_number(struct osr__span *span, uint64_t max, uint64_t *value)
{
	if (osr__span_starts_with(*span, "0x") || osr__span_starts_with(*span, "0X")) {
		span->at += 2;
		return osr__span_digits(span, 16, max, value);
	}
	return osr__span_digits(span, 10, max, value);
}

bool osr__span_quoted(struct osr__span *span, struct osr__span *inner)
{
	const char *close;

	if (!osr__span_char(span, '"'))
		return false;
	close = memchr(span->at, '"', (size_t)(span->end - span->at));
	if (!close)
		return false;
	*inner = (struct osr__span){ span->at, close };
	span->at = close + 1;
	return true;
}

const char *osr__span_find(struct osr__span span, const char *word)
{
	return memmem(span.at, (size_t)(span.end - span.at), word, strlen(word));
}

bool osr__span_number_after(struct osr__span span, const char *key, uint64_t max, uint64_t *value,
			    bool *bad)
{
	const char *at = osr__span_find(span, key);

	if (!at)
		return false;
	span.at = at + strlen(key);
	*bad = !osr__span_number(&span, max, value);
	return !*bad;
}

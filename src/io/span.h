/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * span.h - a stretch of text that is not NUL-terminated, and what can be taken off its front. Each
 * osr__span_*() that takes skips what it took; what it leaves behind when it fails is of no use.
 */
#ifndef OSR_IO_SPAN_H
#define OSR_IO_SPAN_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

struct osr__span {
	const char *at;
	const char *end;
};

static inline bool osr__is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

static inline void osr__span_skip_blanks(struct osr__span *span)
{
	while (span->at < span->end && osr__is_blank(*span->at))
		span->at++;
}

static inline bool osr__span_char(struct osr__span *span, char c)
{
	if (span->at == span->end || *span->at != c)
		return false;
	span->at++;
	return true;
}

static inline bool osr__span_starts_with(struct osr__span span, const char *word)
{
	size_t len = strlen(word);

	return (size_t)(span.end - span.at) >= len && !memcmp(span.at, word, len);
}

/* Digits of this base; false if there are none or the number exceeds max. */
bool osr__span_digits(struct osr__span *span, int base, uint64_t max, uint64_t *value);

/* Decimal, or hexadecimal with 0x. */
bool osr__span_number(struct osr__span *span, uint64_t max, uint64_t *value);

/* "..." without the quotes. */
bool osr__span_quoted(struct osr__span *span, struct osr__span *inner);

/* The first `word` in span, or NULL. */
const char *osr__span_find(struct osr__span span, const char *word);

/* The number behind `key ` anywhere in span; *bad: the key is there, and no number up to max. */
bool osr__span_number_after(struct osr__span span, const char *key, uint64_t max, uint64_t *value,
			    bool *bad);

#endif

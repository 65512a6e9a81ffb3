/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "io/lines.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define BUF_SIZE (1 << 18)

struct osr_lines *osr_lines_open(struct osr_lines *lines, const char *path, struct osr_diag *diag)
{
	FILE *in = strcmp(path, "-") ? fopen(path, "rb") : stdin;

	*lines = (struct osr_lines){ .label = in == stdin ? "standard input" : path,
				     .diag = diag,
				     .in = in };
	lines->buf = in ? malloc(BUF_SIZE + 1) : NULL;
	if (!in)
		lines->failed = osr_fail(diag, OSR_INVAL, "%s: %s", path, strerror(errno));
	else if (!lines->buf)
		lines->failed = osr_lines_nomem(lines);
	/* Blocks are large enough as they are. */
	if (in && in != stdin)
		setvbuf(in, NULL, _IONBF, 0);
	return lines;
}

struct osr_lines *osr_lines_text(struct osr_lines *lines, const char *text, size_t size,
				 const char *label, struct osr_diag *diag)
{
	*lines = (struct osr_lines){
		.label = label, .diag = diag, .at_end = true, .end = size, .bytes = size
	};
	lines->buf = malloc(size + 1);
	if (!lines->buf)
		lines->failed = osr_lines_nomem(lines);
	else if (size)
		memcpy(lines->buf, text, size);
	return lines;
}

void osr_lines_close(struct osr_lines *lines)
{
	if (lines->in && lines->in != stdin)
		fclose(lines->in);
	free(lines->buf);
	lines->in = NULL;
	lines->buf = NULL;
}

enum osr_status osr_lines_fail(const struct osr_lines *lines, const char *fmt, ...)
{
	char text[sizeof(lines->diag->text)];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	return osr_fail(lines->diag, OSR_INVAL, "%.200s:%llu: %.280s", lines->label,
			(unsigned long long)lines->number, text);
}

enum osr_status osr_lines_nomem(const struct osr_lines *lines)
{
	return osr_fail(lines->diag, OSR_NOMEM, "%.200s:%llu: out of memory", lines->label,
			(unsigned long long)lines->number);
}

/* Moves what is left to the front and fills up. False if the device failed. */
static bool refill(struct osr_lines *lines)
{
	size_t left = lines->end - lines->begin, got;

	memmove(lines->buf, lines->buf + lines->begin, left);
	lines->begin = 0;
	lines->end = left;
	got = fread(lines->buf + left, 1, BUF_SIZE - left, lines->in);
	lines->end += got;
	lines->bytes += got;
	lines->at_end = feof(lines->in);
	return !ferror(lines->in);
}

char osr_lines_peek(struct osr_lines *lines)
{
	if (!lines->failed && !lines->at_end)
		refill(lines);
	for (size_t i = lines->begin; !lines->failed && i < lines->end; i++)
		if (!strchr(" \n\t\r", lines->buf[i]))
			return lines->buf[i];
	return 0;
}

bool osr_lines_next(struct osr_lines *lines, char **text, enum osr_status *st)
{
	size_t length;
	char *newline;

	errno = 0;
	*st = lines->failed;
	if (*st)
		return false;
	newline = memchr(lines->buf + lines->begin, '\n', lines->end - lines->begin);
	while (!newline && !lines->at_end && lines->end - lines->begin <= OSR_LINES_MAX) {
		if (!refill(lines)) {
			*st = osr_fail(lines->diag, OSR_INVAL, "%s: %s", lines->label,
				       strerror(errno));
			return false;
		}
		newline = memchr(lines->buf, '\n', lines->end);
	}
	if (!newline && lines->begin == lines->end)
		return false;
	lines->number++;
	*text = lines->buf + lines->begin;
	length = newline ? (size_t)(newline - *text) : lines->end - lines->begin;
	if (length > OSR_LINES_MAX)
		*st = osr_lines_fail(lines,
				     "a line of more than 8,192 bytes: not the expected text file");
	else if (!newline && !lines->by_people)
		*st = osr_lines_fail(lines, "the file ends in the middle of a line");
	else if (memchr(*text, 0, length))
		*st = osr_lines_fail(lines, "a byte 0: not a text file");
	if (*st)
		return false;
	if (length && (*text)[length - 1] == '\r')
		(*text)[length - 1] = '\0';
	(*text)[length] = '\0';
	lines->begin += length + (newline != NULL);
	return true;
}

/* ---- numbers -------------------------------------------------------------------------------- */

void osr_skip_blanks(const char **at)
{
	while (**at == ' ' || **at == '\t')
		++*at;
}

bool osr_take_word(const char **at, const char *word)
{
	size_t n = strlen(word);

	if (strncmp(*at, word, n))
		return false;
	*at += n;
	return true;
}

static bool lines_take(const char **at, unsigned base, uint64_t max, uint64_t *value)
{
	const char *p = *at;
	uint64_t n = 0;

	for (;; p++) {
		unsigned digit;

		if (*p >= '0' && *p <= '9')
			digit = (unsigned)(*p - '0');
		else if (base == 16 && *p >= 'a' && *p <= 'f')
			digit = (unsigned)(*p - 'a') + 10;
		else if (base == 16 && *p >= 'A' && *p <= 'F')
			digit = (unsigned)(*p - 'A') + 10;
		else
			break;
		if (digit > max || n > (max - digit) / base)
			return false;
		n = n * base + digit;
	}
	if (p == *at)
		return false;
	*at = p;
	*value = n;
	return true;
}

static bool take_0x(const char **at, uint64_t max, uint64_t *value)
{
	const char *p = *at + 2;

	if (**at != '0' || ((*at)[1] != 'x' && (*at)[1] != 'X') || !lines_take(&p, 16, max, value))
		return false;
	*at = p;
	return true;
}

bool osr_scan(const char **at, const char *format, ...)
{
	const char *p = *at;
	bool good = true;
	va_list ap;

	va_start(ap, format);
	for (const char *f = format; *f && good; f++) {
		uint64_t max = UINT64_MAX, *value;

		if (*f == ' ') {
			osr_skip_blanks(&p);
			continue;
		}
		if (*f != '%') {
			good = *p++ == *f;
			continue;
		}
		f++;
		lines_take(&f, 10, UINT64_MAX, &max);
		value = va_arg(ap, uint64_t *);
		good = *f == 'd'   ? lines_take(&p, 10, max, value)
		       : *f == 'h' ? lines_take(&p, 16, max, value)
		       : *f == 'x' ? take_0x(&p, max, value)
				   : (p[0] == '0' && (p[1] | 32) == 'x'
					      ? take_0x(&p, max, value)
					      : lines_take(&p, 10, max, value));
	}
	va_end(ap);
	if (good)
		*at = p;
	return good;
}

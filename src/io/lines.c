/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "io/lines.h"

#include <osmroutes/invariant.h>

#include <errno.h>
#include <stdarg.h>
#include <string.h>

static struct osr_lines *lines_begin(struct osr_lines *lines, FILE *in, const char *label,
				     struct osr_diag *diag)
{
	*lines = (struct osr_lines){ .label = label, .diag = diag, .in = in };
	if (!in)
		lines->failed = osr_fail(diag, OSR_INVAL, "%s: %s", label, strerror(errno));
	return lines;
}

struct osr_lines *osr_lines_open(struct osr_lines *lines, const char *path, struct osr_diag *diag)
{
	FILE *in = strcmp(path, "-") ? fopen(path, "rb") : stdin;

	return lines_begin(lines, in, in == stdin ? "standard input" : path, diag);
}

struct osr_lines *osr_lines_text(struct osr_lines *lines, const char *text, size_t size,
				 const char *label, struct osr_diag *diag)
{
	return lines_begin(lines, fmemopen((void *)text, size, "rb"), label, diag);
}

void osr_lines_close(struct osr_lines *lines)
{
	if (lines->in && lines->in != stdin)
		fclose(lines->in);
	lines->in = NULL;
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

char osr_lines_peek(struct osr_lines *lines)
{
	int c = EOF;

	while (!lines->failed && ((c = getc(lines->in)) == '\n' || c == '\r'))
		lines->number += c == '\n';
	if (c != EOF)
		ungetc(c, lines->in);
	return c == EOF ? '\0' : (char)c;
}

bool osr_lines_next(struct osr_lines *lines, char **text, enum osr_status *st)
{
	size_t n = 0;
	int c;

	errno = 0;
	*st = lines->failed;
	if (*st)
		return false;
	while ((c = getc_unlocked(lines->in)) > 0 && c != '\n' && n <= OSR_LINES_MAX)
		lines->text[n++] = (char)c;
	lines->bytes += n + (c != EOF);
	if (c == EOF && ferror(lines->in))
		*st = osr_fail(lines->diag, OSR_INVAL, "%s: %s", lines->label, strerror(errno));
	if (*st || (c == EOF && !n))
		return false;
	lines->number++;
	if (n > OSR_LINES_MAX)
		*st = osr_lines_fail(lines,
				     "a line of more than 8,192 bytes: not the expected text file");
	else if (c == EOF && !lines->by_people)
		*st = osr_lines_fail(lines, "the file ends in the middle of a line");
	else if (!c)
		*st = osr_lines_fail(lines, "a byte 0: not a text file");
	osr_invariant(n < sizeof(lines->text));
	n -= n && lines->text[n - 1] == '\r';
	lines->text[n] = '\0';
	*text = lines->text;
	return !*st;
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

/* The number that %d, %x, %n or %h stands for. */
static bool lines_take(const char **at, char kind, uint64_t max, uint64_t *value)
{
	const char *p = *at, *begin;
	bool has_0x = p[0] == '0' && (p[1] | 32) == 'x', by_16 = kind == 'h';
	uint64_t n = 0;

	if (kind == 'x' && !has_0x)
		return false;
	if (has_0x && (kind == 'x' || kind == 'n')) {
		by_16 = true;
		p += 2;
	}
	for (begin = p;; p++) {
		unsigned digit, base = by_16 ? 16 : 10;

		if (*p >= '0' && *p <= '9')
			digit = *p - '0';
		else if (by_16 && (*p | 32) >= 'a' && (*p | 32) <= 'f')
			digit = (unsigned)((*p | 32) - 'a') + 10;
		else
			break;
		if (digit > max || n > (max - digit) / base)
			return false;
		n = n * base + digit;
	}
	if (p == begin)
		return false;
	osr_invariant(n <= max);
	*at = p;
	*value = n;
	return true;
}

bool osr_scan(const char **at, const char *format, ...)
{
	const char *p = *at;
	bool good = true;
	va_list ap;

	va_start(ap, format);
	for (const char *f = format; *f; f++) {
		uint64_t max = UINT64_MAX;

		if (*f == ' ') {
			osr_skip_blanks(&p);
		} else if (*f != '%') {
			good = *p++ == *f;
		} else {
			f++;
			lines_take(&f, 'd', UINT64_MAX, &max);
			good = lines_take(&p, *f, max, va_arg(ap, uint64_t *));
		}
		if (!good)
			break;
	}
	va_end(ap);
	if (good)
		*at = p;
	return good;
}

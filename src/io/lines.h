/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * lines.h - a text file line by line, in constant memory, however large it is.
 *
 *	struct osr_lines in;
 *	osr_lines_open(&in, path, diag);	osr_lines_next() reports a failure
 *	while (!st && osr_lines_next(&in, &text, &st))
 *		... text, NUL-terminated and without its newline, until the next call ...
 *		st = osr_lines_fail(&in, "LID %u has no owner", lid);	"path:17: LID ..."
 *	osr_lines_close(&in);
 *
 * Readers take the lines of an open file or of a text, and close them:
 *
 *	st = osr_traffic_read(osr_lines_open(&in, path, diag), &endports, &traffic);
 *
 * Input that is not text is refused with its line: a byte 0, a line of more than OSR_LINES_MAX
 * bytes, a last line without its newline (most files read this way are written by programs, so it
 * is half a line).
 */
#ifndef OSR_IO_LINES_H
#define OSR_IO_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <osmroutes/status.h>

#define OSR_LINES_MAX 8192

struct osr_lines {
	const char *label; /* the file in messages */
	uint64_t number;   /* of the current line, from 1 */
	uint64_t bytes;    /* read so far */

	bool by_people; /* to be set after opening: the last line may lack its newline */

	struct osr_diag *diag;
	enum osr_status failed; /* to open it */
	FILE *in;
	char text[OSR_LINES_MAX + 2]; /* the current line */
};

/* "-" is standard input. Both return `lines`. */
struct osr_lines *osr_lines_open(struct osr_lines *lines, const char *path, struct osr_diag *diag);
/* The lines of a text in memory, which stays there. */
struct osr_lines *osr_lines_text(struct osr_lines *lines, const char *text, size_t size,
				 const char *label, struct osr_diag *diag);
void osr_lines_close(struct osr_lines *lines);

/* The first character behind empty lines, which stays there; 0: at the end. */
char osr_lines_peek(struct osr_lines *lines);

/* The next line; false at the end, or with *st and the diag set. */
bool osr_lines_next(struct osr_lines *lines, char **text, enum osr_status *st);

/* "label:number: sentence", OSR_INVAL; and out of memory. */
enum osr_status osr_lines_fail(const struct osr_lines *lines, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
enum osr_status osr_lines_nomem(const struct osr_lines *lines);

/* ---- numbers in a line ---------------------------------------------------------------------- */

void osr_skip_blanks(const char **at);
/* Takes the word at *at and skips it, or returns false and leaves *at alone. */
bool osr_take_word(const char **at, const char *word);
/*
 * The same for a format: a blank stands for any number of blanks, %d for a decimal number, %x for
 * one with 0x, %n for either, %h for a hexadecimal one without 0x, each up to the number behind the
 * %, and everything else for itself. Numbers may have leading zeros. For each an uint64_t *, which
 * may be set also where it is false.
 */
bool osr_scan(const char **at, const char *format, ...);

#endif

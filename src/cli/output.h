/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * output.h - one way out for all sub-commands: a table for people, `--json` or `--csv`.
 *
 * A command declares once what it may say: sections, and the fields of a row in each. It fills rows
 * by key and ends; the three forms are made from that. docs/osmroutes.1.md documents the same keys,
 * and a test compares it with `osmroutes COMMAND --schema`.
 *
 *	static const struct out_field fields[] = {
 *		{ "engine", "engine", OUT_TEXT },
 *		{ "route_ms.cpu", "route, ms CPU", OUT_REAL, 1, OUT_OF(struct found, ms) },
 *		{ 0 }
 *	};
 *	static const struct out_section sections[] = { { "engines", OUT_ACROSS, fields }, { 0 } };
 *
 *	struct args a = { .out = { .command = "route", .sections = sections } };
 *	cli_parse() with out_spec as a part
 *	OUT_ADD(&a.out, "engines", "dfsssp");		a row, with its first fields
 *	out_members(&a.out, fields, &found, 0);		all that are bound to a member
 *	return out_end(&a.out, CLI_OK);
 *
 * JSON: an object; a section is a member, an array of objects (an object for OUT_ONE); a dot in a
 * key nests. CSV (RFC 4180): the section that --csv names, or else the first one with rows that is
 * no OUT_HEAD; its first line has the keys. A field that was not set is absent in JSON, empty in CSV
 * and "-" for people.
 *
 * Memory that runs out is remembered and said by out_end(). Keys must be declared (assert).
 */
#ifndef OSR_CLI_OUTPUT_H
#define OSR_CLI_OUTPUT_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/cli.h"

/* A GUID is a number for OUT_ADD(), and the text 0x.. everywhere else. */
enum out_type { OUT_TEXT, OUT_COUNT, OUT_REAL, OUT_BOOL, OUT_GUID };

enum out_shape {
	OUT_HEAD,   /* one row; in JSON its fields are members of the root */
	OUT_ONE,    /* one row; people see a line for each field */
	OUT_ROWS,   /* people see a line for each row */
	OUT_ACROSS, /* people see a column for each row: few rows, many fields */
};

struct out_field {
	const char *key;
	const char *label; /* for people; NULL: not for them */
	enum out_type type;
	int digits;      /* of OUT_REAL behind the point, for people; elsewhere all that it has */
	size_t at, size; /* of the member that out_members() takes it from; size 0: of none */
	unsigned when;   /* bits that out_members() must be given for it, and: */
};

/* People do not see it if the struct out is terse. */
#define OUT_DETAIL (1u << 31)

/* The last two: an unsigned number of any size, a double, a bool or a const char *. */
#define OUT_OF(type, member) offsetof(type, member), sizeof(((type *)0)->member)

struct out_section {
	const char *name;
	enum out_shape shape;
	const struct out_field *fields; /* ends with a NULL key */
};

enum out_format { OUT_PEOPLE, OUT_JSON, OUT_CSV };

/*
 * Of the JSON and CSV of all commands. One more whenever a key goes, or means something else; new keys change nothing.
 */
#define OUT_SCHEMA 1

struct json_t;

/* Zero but for command and sections; out_spec sets the format. */
enum out_colour {
	OUT_COLOUR_AUTO, /* on a terminal, unless NO_COLOR is set (no-color.org) */
	OUT_COLOUR_ALWAYS,
	OUT_COLOUR_NEVER,
};

struct out {
	const char *command;
	const struct out_section *sections; /* ends with a NULL name */
	enum out_format format;
	const char *csv; /* section; NULL: the first that is no OUT_HEAD */
	bool terse;
	enum out_colour colour;
	size_t width; /* of the terminal; 0: there is none, lines are as long as they are */

	struct json_t *rows; /* {section: [{key: value}]} */
	struct json_t *row;  /* current */
	const struct out_section *section;
	struct json_t *heads, *notes;
	bool failed;
};

/* Options of all commands, which the list of commands explains, for a struct out. */
#define OUT_COMMON "--json, --csv, --schema, --color, --help (-h)"
extern const struct cli_spec out_spec;

/* Begins a row of a section. */
void out_row(struct out *out, const char *section);

/*
 * A row of a section and the first of its fields, in the order in which they are declared:
 *
 *	OUT_ADD(out, "hosts", rank, name, lid);		at most 12
 *
 * Texts, doubles, whole numbers and bools; OUT_NO_TEXT (or any NULL char *), OUT_NO_COUNT and NAN
 * leave a field out.
 */
struct out_value {
	const char *text;
	double real;
	uint64_t count;
};

#define OUT_NO_TEXT ((const char *)NULL)
#define OUT_NO_COUNT UINT64_MAX

static inline struct out_value out_of_text(const char *text)
{
	return (struct out_value){ .text = text };
}

static inline struct out_value out_of_real(double real)
{
	return (struct out_value){ .real = real };
}

static inline struct out_value out_of_count(uint64_t count)
{
	return (struct out_value){ .count = count };
}

#define OUT__(x)                                                                                   \
	_Generic((x), char * : out_of_text, const char * : out_of_text, double : out_of_real,      \
		 default : out_of_count)(x)
#define OUT__1(x) OUT__(x)
#define OUT__2(x, ...) OUT__(x), OUT__1(__VA_ARGS__)
#define OUT__3(x, ...) OUT__(x), OUT__2(__VA_ARGS__)
#define OUT__4(x, ...) OUT__(x), OUT__3(__VA_ARGS__)
#define OUT__5(x, ...) OUT__(x), OUT__4(__VA_ARGS__)
#define OUT__6(x, ...) OUT__(x), OUT__5(__VA_ARGS__)
#define OUT__7(x, ...) OUT__(x), OUT__6(__VA_ARGS__)
#define OUT__8(x, ...) OUT__(x), OUT__7(__VA_ARGS__)
#define OUT__9(x, ...) OUT__(x), OUT__8(__VA_ARGS__)
#define OUT__10(x, ...) OUT__(x), OUT__9(__VA_ARGS__)
#define OUT__11(x, ...) OUT__(x), OUT__10(__VA_ARGS__)
#define OUT__12(x, ...) OUT__(x), OUT__11(__VA_ARGS__)
#define OUT__PICK(a, b, c, d, e, f, g, h, i, j, k, l, name, ...) name
#define OUT_VALUES(...)                                                                            \
	OUT__PICK(__VA_ARGS__, OUT__12, OUT__11, OUT__10, OUT__9, OUT__8, OUT__7, OUT__6, OUT__5,  \
		  OUT__4, OUT__3, OUT__2, OUT__1, )                                                \
	(__VA_ARGS__)
#define OUT_ADD(o, section, ...)                                                                   \
	out_add(o, section, (const struct out_value[]){ OUT_VALUES(__VA_ARGS__) },                 \
		sizeof((const struct out_value[]){ OUT_VALUES(__VA_ARGS__) }) /                    \
			sizeof(struct out_value))
void out_add(struct out *out, const char *section, const struct out_value *values, size_t n);

/* Fields of that row. Text is copied; NULL and numbers that are none (NaN) leave the field out. */
void out_text(struct out *out, const char *key, const char *text);
void out_textf(struct out *out, const char *key, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
void out_count(struct out *out, const char *key, uint64_t n);
void out_real(struct out *out, const char *key, double x);
void out_bool(struct out *out, const char *key, bool yes);
/*
 * Those of `fields` that are bound to members of `from`, but for those whose bits are not all in
 * `have`.
 */
void out_members(struct out *out, const struct out_field *fields, const void *from, unsigned have);

/* A line for people only, above (head) or below (note) all sections. */
#define out_head(o, ...) out_line(o, &(o)->heads, __VA_ARGS__)
#define out_note(o, ...) out_line(o, &(o)->notes, __VA_ARGS__)
void out_line(struct out *out, struct json_t **lines, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/*
 * Prints the lines of a text but the last one, which is returned: it is broken between words where
 * the terminal ends, and goes on below itself, at `indent`; width 0: there is no end. A word that
 * is too long is broken, too, but for those of a whole line, which the terminal breaks so that they
 * can be copied.
 */
const char *out_break(const char *text, size_t indent, size_t width);

/* Everything as JSON, to be freed; NULL if memory ran out. */
char *out_json(const struct out *out);

/* Prints everything and frees it; returns code, or CLI_USAGE if memory ran out. */
int out_end(struct out *out, int code);

/* Frees it without a word: after an error. */
void out_drop(struct out *out);

/* From here on the process ends with CLI_USAGE and a sentence if stdout could not be written. */
void out_guard(void);

#endif

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Rows are kept as flat JSON objects until the end: a table needs the width of all its cells before
 * the first is printed.
 */
#include "cli/output.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <jansson.h>

#include "cli/cli.h"
#include "conf/osmconf.h"
#include "output_tsv.h"

#define CELL_SIZE 512
#define MAX_SHOWN 96 /* fields of a section */
#define MIN_LABEL 26 /* columns of the labels, so that the tables of all commands look alike */
#define MIN_ROOM 16

/* ---- filling -------------------------------------------------------------------------------- */

static const struct out_section *find_section(const struct out *out, const char *name)
{
	const struct out_section *section = out->sections;

	while (section->name && strcmp(section->name, name))
		section++;
	return section->name ? section : NULL;
}

void out_row(struct out *out, const char *section)
{
	json_t *list;

	out->section = find_section(out, section);
	assert(out->section);
	if (!out->rows)
		out->rows = json_object();
	list = json_object_get(out->rows, section);
	if (!list) {
		list = json_array();
		out->failed |= json_object_set_new(out->rows, section, list) != 0;
	}
	out->row = json_object();
	out->failed |= json_array_append_new(list, out->row) != 0;
	if (out->failed)
		out->row = NULL;
}

static void set(struct out *out, const char *key, enum out_type type, json_t *value)
{
	const struct out_field *field = out->section->fields;

	while (field->key && strcmp(field->key, key))
		field++;
	assert(field->type == type || (field->type == OUT_GUID && type == OUT_TEXT));
	(void)type;
	out->failed |= json_object_set_new(out->row, key, value) != 0;
}

/* Names come from the fabric, and JSON has to be UTF-8. */
static json_t *json_text(const char *text)
{
	json_t *value = json_string(text);
	char *plain = value ? NULL : strdup(text);

	for (char *c = plain; c && *c; c++)
		if (*c & 0x80)
			*c = '?';
	if (plain)
		value = json_string(plain);
	free(plain);
	return value;
}

void out_text(struct out *out, const char *key, const char *text)
{
	if (text)
		set(out, key, OUT_TEXT, json_text(text));
}

void out_textf(struct out *out, const char *key, const char *fmt, ...)
{
	char *text = NULL;
	va_list ap;

	va_start(ap, fmt);
	if (vasprintf(&text, fmt, ap) < 0)
		text = NULL;
	va_end(ap);
	out->failed |= !text;
	out_text(out, key, text);
	free(text);
}

void out_count(struct out *out, const char *key, uint64_t n)
{
	set(out, key, OUT_COUNT, json_integer((json_int_t)n));
}

void out_real(struct out *out, const char *key, double x)
{
	if (isfinite(x))
		set(out, key, OUT_REAL, json_real(x));
}

void out_bool(struct out *out, const char *key, bool yes)
{
	set(out, key, OUT_BOOL, json_boolean(yes));
}

void out_add(struct out *out, const char *section, const struct out_value *values, size_t n)
{
	out_row(out, section);
	for (size_t i = 0; i < n; i++) {
		const struct out_field *field = &out->section->fields[i];

		assert(field->key);
		if (field->type == OUT_TEXT)
			out_text(out, field->key, values[i].text);
		else if (field->type == OUT_REAL)
			out_real(out, field->key, values[i].real);
		else if (field->type == OUT_BOOL)
			out_bool(out, field->key, values[i].count);
		else if (values[i].count == OUT_NO_COUNT)
			continue;
		else if (field->type == OUT_GUID)
			out_textf(out, field->key, "0x%016" PRIx64, values[i].count);
		else
			out_count(out, field->key, values[i].count);
	}
}

void out_members(struct out *out, const struct out_field *fields, const void *from, unsigned have)
{
	for (const struct out_field *field = fields; field->key; field++) {
		const void *member = (const char *)from + field->at;
		uint64_t count = 0;

		if (!field->size || (field->when & ~(have | OUT_DETAIL)))
			continue;
		if (field->type == OUT_TEXT)
			out_text(out, field->key, *(const char *const *)member);
		else if (field->type == OUT_REAL)
			out_real(out, field->key, *(const double *)member);
		else if (field->type == OUT_BOOL)
			out_bool(out, field->key, *(const bool *)member);
		else {
			/*
			 * The bytes of a number begin with the lowest, as on all machines with
			 * InfiniBand.
			 */
			memcpy(&count, member, field->size);
			out_count(out, field->key, count);
		}
	}
}

void out_line(struct out *out, json_t **lines, const char *fmt, ...)
{
	char *text = NULL;
	va_list ap;

	if (!*lines)
		*lines = json_array();
	va_start(ap, fmt);
	if (vasprintf(&text, fmt, ap) < 0)
		text = NULL;
	va_end(ap);
	out->failed |= !text || json_array_append_new(*lines, json_text(text));
	free(text);
}

/* ---- for people ----------------------------------------------------------------------------- */

/* digits < 0: all of them. */
static const char *cell(const json_t *row, const struct out_field *field, int digits,
			char buf[CELL_SIZE])
{
	const json_t *value = json_object_get(row, field->key);

	if (json_is_string(value))
		return json_string_value(value);
	if (json_is_integer(value))
		snprintf(buf, CELL_SIZE, "%" PRIu64, (uint64_t)json_integer_value(value));
	else if (json_is_real(value) && digits < 0)
		snprintf(buf, CELL_SIZE, "%.17g", json_real_value(value));
	else if (json_is_real(value))
		snprintf(buf, CELL_SIZE, "%.*f", digits, json_real_value(value));
	else if (json_is_boolean(value))
		snprintf(buf, CELL_SIZE, "%s",
			 digits < 0            ? json_is_true(value) ? "true" : "false"
			 : json_is_true(value) ? "yes"
					       : "no");
	else
		return NULL;
	return buf;
}

/* The part of a section that people see. */
struct view {
	const struct out_field *field[MAX_SHOWN];
	int n, labels; /* width of the labels */
	const json_t *rows;
	size_t n_rows;
};

/* Of a section with a line for each field: the fields that some row has. */
static struct view view_of(const struct out *out, const struct out_section *section)
{
	struct view view = { .labels = MIN_LABEL,
			     .rows = json_object_get(out->rows, section->name) };
	char buf[CELL_SIZE];

	view.n_rows = json_array_size(view.rows);
	for (const struct out_field *field = section->fields; view.rows && field->key; field++) {
		bool there = section->shape == OUT_ROWS;

		if (!field->label || (out->terse && (field->when & OUT_DETAIL)))
			continue;
		if ((int)strlen(field->label) > view.labels)
			view.labels = (int)strlen(field->label);
		for (size_t i = 0; i < view.n_rows && !there; i++)
			there = cell(json_array_get(view.rows, i), field, 0, buf);
		assert(view.n < MAX_SHOWN);
		if (there)
			view.field[view.n++] = field;
	}
	return view;
}

static const char *shown(const struct view *view, size_t i, int k, char buf[CELL_SIZE])
{
	const struct out_field *field = view->field[k];
	const char *text = cell(json_array_get(view->rows, i), field, field->digits, buf);

	return text ? text : "-";
}

/* Of field k in row i, but `least`. */
static int shown_width(const struct view *view, size_t i, int k, int least)
{
	char buf[CELL_SIZE];
	int n = (int)strlen(shown(view, i, k, buf));

	return n > least ? n : least;
}

/* Verdicts have colours: an error is seen at once. width < 0: to the left. */
static void put_cell(const struct out *out, const char *text, int width)
{
	static const char *const words[][2] = { { "proven", "\033[32m" },
						{ "refuted", "\033[31m" },
						{ "unknown", "\033[33m" } };
	int len = (int)strlen(text), pad = abs(width) > len ? abs(width) - len : 0;
	const char *code = "";

	for (size_t i = 0; out->colour == OUT_COLOUR_ALWAYS && i < 3; i++)
		if (!strcmp(words[i][0], text))
			code = words[i][1];
	printf("%*s%s%s%s%*s", width > 0 ? pad : 0, "", code, text, *code ? "\033[0m" : "",
	       width < 0 ? pad : 0, "");
}

const char *out_break(const char *text, size_t indent, size_t width)
{
	size_t room = width > indent + MIN_ROOM ? width - indent : SIZE_MAX;

	while (strlen(text) > room) {
		size_t n = room;

		while (n && text[n] != ' ')
			n--;
		if (!n && !indent)
			break;
		n = n ? n : room;
		printf("%.*s\n%*s", (int)n, text, (int)indent, "");
		text += n + (text[n] == ' ');
	}
	return text;
}

static void put_last(const struct out *out, const char *text, size_t indent)
{
	put_cell(out, out_break(text, indent, out->width), 0);
	putchar('\n');
}

/* A line for each field, a column for each row; as many columns beside each other as fit. */
static void print_across(const struct out *out, const struct view *view)
{
	char buf[CELL_SIZE];

	for (size_t first = 0, end = 0; first < view->n_rows; first = end) {
		size_t room = (size_t)view->labels;
		int width[view->n_rows];

		for (; end < view->n_rows; end++) {
			width[end] = 14;
			for (int k = 0; k < view->n && view->n_rows > 1; k++)
				width[end] = shown_width(view, end, k, width[end]);
			room += (size_t)width[end] + 1;
			if (out->width && end > first && room > out->width)
				break;
		}
		for (int k = 0; k < view->n; k++) {
			printf("%s%-*s", first && !k ? "\n" : "", view->labels,
			       view->field[k]->label);
			for (size_t i = first; i < end; i++) {
				putchar(' ');
				put_cell(out, shown(view, i, k, buf), width[i]);
			}
			putchar('\n');
		}
	}
}

static void print_one(const struct out *out, const struct view *view)
{
	char buf[CELL_SIZE];

	for (int k = 0; k < view->n; k++) {
		printf("%-*s ", view->labels, view->field[k]->label);
		put_last(out, shown(view, 0, k, buf), (size_t)view->labels + 1);
	}
}

/*
 * A line for the labels and one for each row: text to the left, numbers to the right, two blanks
 * between columns. Columns of text become narrower, the widest first, until a row fits the
 * terminal; what a column has no room for is cut off.
 */
static void print_rows(const struct out *out, const struct view *view)
{
	enum { LEAST = 8 };
	int width[MAX_SHOWN], widest = 0;
	char buf[CELL_SIZE];
	size_t all = 0;

	for (int k = 0; k < view->n; k++) {
		width[k] = (int)strlen(view->field[k]->label);
		for (size_t i = 0; i < view->n_rows; i++)
			width[k] = shown_width(view, i, k, width[k]);
		all += (size_t)width[k] + (k ? 2 : 0);
	}
	for (; out->width && all > out->width && widest >= 0; all--) {
		widest = -1;
		for (int k = 0; k < view->n; k++)
			if (view->field[k]->type == OUT_TEXT && width[k] > LEAST &&
			    (widest < 0 || width[k] > width[widest]))
				widest = k;
		if (widest >= 0)
			width[widest]--;
	}
	for (size_t i = 0; i <= view->n_rows; i++) {
		size_t indent = 0;

		for (int k = 0; k < view->n; k++) {
			const char *text = i ? shown(view, i - 1, k, buf) : view->field[k]->label;
			bool is_text = view->field[k]->type == OUT_TEXT;

			if (k)
				fputs("  ", stdout);
			if (k == view->n - 1 && is_text)
				put_last(out, text, indent);
			else if (is_text && strlen(text) > (size_t)width[k])
				printf("%.*s..", width[k] - 2, text);
			else
				put_cell(out, text, is_text ? -width[k] : width[k]);
			indent += (size_t)width[k] + 2;
			if (k == view->n - 1 && !is_text)
				putchar('\n');
		}
	}
}

static void print_lines(const struct out *out, const json_t *lines)
{
	for (size_t i = 0; i < json_array_size(lines); i++) {
		const char *text = json_string_value(json_array_get(lines, i));
		size_t indent = strspn(text, " ");

		printf("%*s", (int)indent, "");
		put_last(out, text + indent, indent);
	}
}

static void print_people(struct out *out)
{
	bool is_terminal;
	const char *no_color;
	struct winsize size;

	static void (*const print[])(const struct out *, const struct view *) = {
		[OUT_HEAD] = print_one,
		[OUT_ONE] = print_one,
		[OUT_ROWS] = print_rows,
		[OUT_ACROSS] = print_across,
	};
	bool first = true;

	/* Pipes and files have neither colour nor width. */
	is_terminal = isatty(STDOUT_FILENO);
	no_color = getenv("NO_COLOR");
	if (out->colour == OUT_COLOUR_AUTO && is_terminal && !(no_color && *no_color))
		out->colour = OUT_COLOUR_ALWAYS;
	if (is_terminal && !ioctl(STDOUT_FILENO, TIOCGWINSZ, &size))
		out->width = size.ws_col;
	print_lines(out, out->heads);
	for (const struct out_section *section = out->sections; section->name; section++) {
		const struct view view = view_of(out, section);

		if (!view.n)
			continue;
		if (!first)
			putchar('\n');
		first = false;
		print[section->shape](out, &view);
	}
	print_lines(out, out->notes);
}

/* ---- for programs --------------------------------------------------------------------------- */

/* {"a.b": 1} becomes {"a": {"b": 1}}. */
static bool nest(json_t *to, const char *key, json_t *value)
{
	const char *dot = strchr(key, '.');
	char name[64];
	json_t *inner;

	if (!dot)
		return json_object_set(to, key, value) == 0;
	snprintf(name, sizeof(name), "%.*s", (int)(dot - key), key);
	inner = json_object_get(to, name);
	if (!inner) {
		inner = json_object();
		if (json_object_set_new(to, name, inner))
			return false;
	}
	return nest(inner, dot + 1, value);
}

/* Members in the order of the declaration, whatever the order in which they were set. */
static bool nest_row(json_t *to, const struct out_section *out, const json_t *row)
{
	for (const struct out_field *field = out->fields; field->key; field++) {
		json_t *value = json_object_get(row, field->key);

		if (value && !nest(to, field->key, value))
			return false;
	}
	return true;
}

static bool nest_section(json_t *root, const struct out_section *out, const json_t *rows)
{
	json_t *list;

	if (out->shape == OUT_HEAD)
		return !rows || nest_row(root, out, json_array_get(rows, 0));
	if (out->shape == OUT_ONE && !rows)
		return true;
	list = out->shape == OUT_ONE ? json_object() : json_array();
	if (json_object_set_new(root, out->name, list))
		return false;
	if (out->shape == OUT_ONE)
		return nest_row(list, out, json_array_get(rows, 0));
	for (size_t i = 0; i < json_array_size(rows); i++) {
		json_t *item = json_object();

		if (json_array_append_new(list, item) ||
		    !nest_row(item, out, json_array_get(rows, i)))
			return false;
	}
	return true;
}

/* 17 digits give every double back as it was. */
char *out_json(const struct out *out)
{
	json_t *root = json_pack("{s:s, s:s, s:i}", "command", out->command, "version", OSR_VERSION,
				 "schema", OUT_SCHEMA);
	bool ok = root && !out->failed;
	char *text = NULL;

	for (const struct out_section *section = out->sections; section->name && ok; section++)
		ok = nest_section(root, section, json_object_get(out->rows, section->name));
	if (ok)
		text = json_dumps(root, JSON_INDENT(2) | JSON_REAL_PRECISION(17));
	json_decref(root);
	return text;
}

/*
 * A line of keys, then one for each row: of the section that is named, or the first that is no
 * OUT_HEAD and has rows.
 */
static void print_csv(const struct out *out)
{
	const struct out_section *section = out->csv ? find_section(out, out->csv) : out->sections,
				 *first;
	const json_t *rows;
	char buf[CELL_SIZE];

	while (!out->csv && section->shape == OUT_HEAD && section[1].name)
		section++;
	for (first = section; !out->csv && first->name; first++)
		if (json_object_get(out->rows, first->name)) {
			section = first;
			break;
		}
	rows = json_object_get(out->rows, section->name);
	for (const struct out_field *field = section->fields; field->key; field++)
		printf("%s%s", field == section->fields ? "" : ",", field->key);
	putchar('\n');
	for (size_t i = 0; i < json_array_size(rows); i++) {
		for (const struct out_field *field = section->fields; field->key; field++) {
			const json_t *row = json_array_get(rows, i);
			const char *text = cell(row, field, -1, buf), *quote;

			text = text ? text : "";
			quote = text[strcspn(text, ",\"\r\n")] ? "\"" : "";
			/*
			 * Spreadsheets take a text that begins so for a formula, unless something
			 * stands before it.
			 */
			printf("%s%s%s", field == section->fields ? "" : ",",
			       json_is_string(json_object_get(row, field->key)) && *text &&
					       text[1] && strchr("=+-@\t\r", *text)
				       ? "'"
				       : "",
			       quote);
			for (; *text; text++) {
				if (*text == '"')
					putchar('"');
				putchar(*text);
			}
			fputs(quote, stdout);
		}
		putchar('\n');
	}
}

void out_drop(struct out *out)
{
	json_decref(out->rows);
	json_decref(out->heads);
	json_decref(out->notes);
	out->rows = out->row = out->heads = out->notes = NULL;
}

int out_end(struct out *out, int code)
{
	if (out->failed)
		;
	else if (out->format == OUT_JSON) {
		char *text = out_json(out);

		out->failed = !text;
		if (text)
			puts(text);
		free(text);
	} else if (out->format == OUT_CSV) {
		print_csv(out);
	} else
		print_people(out);
	out_drop(out);
	return out->failed ? cli_fail(OSR_NOMEM, &(struct osr_diag){ "" }) : code;
}

/* ---- the command line ----------------------------------------------------------------------- */

enum { OPT_JSON = 0x1000, OPT_CSV, OPT_SCHEMA };

static const struct cli_option options[] = {
	{ "json", NULL, "print JSON instead of a table", .key = OPT_JSON },
	{ "csv", "SECTION", "print CSV: one section, the first with rows unless named",
	  .key = OPT_CSV, .arg_optional = true },
	{ "color", "WHEN", "auto (on a terminal, without NO_COLOR), always or never",
	  CLI_WORD(struct out, colour, "auto|always|never") },
	{ "schema", NULL, "list sections and fields of --json and --csv, with what they mean",
	  .key = OPT_SCHEMA },
	{ "help", NULL, "what a command does, and its options", .key = 'h' },
	{ 0 },
};

/* Is this one of the words, or are they "*"? */
static bool has_word(const char *words, const char *word)
{
	return !strcmp(words, "*") || osr_osmconf_lists(words, word);
}

/* With what it means: of output.tsv the row that says most exactly which field it is about. */
static void print_field(const struct out *out, const char *section, const struct out_field *field)
{
	static const char *const type[] = { "text", "count", "real", "bool", "text" };
	const char *meaning = "";
	char column[3][128];
	int exact = -1;

	for (const char *line = output_tsv; *line; line += strcspn(line, "\n") + 1) {
		int at = 0, stars;

		if (sscanf(line, "%127[^\t]\t%127[^\t]\t%127[^\t]\t%*[^\t]%n", column[0], column[1],
			   column[2], &at) < 3 ||
		    !at)
			continue;
		stars = (column[0][0] != '*') + (column[1][0] != '*');
		if (stars <= exact || strcmp(column[2], field->key) != 0 ||
		    !has_word(column[0], out->command) || !has_word(column[1], section))
			continue;
		exact = stars;
		meaning = line + at + 1;
	}
	printf("\t%s %s %.*s\n", field->key, type[field->type], (int)strcspn(meaning, "\n"),
	       meaning);
}

static enum osr_status output_parse(int key, const char *arg, void *args,
				    const struct cli_line *line)
{
	static const char *const shape[] = { "head", "one", "rows", "rows" };
	struct out *out = args;

	switch (key) {
	case OPT_JSON:
		out->format = OUT_JSON;
		return OSR_OK;
	case OPT_CSV:
		out->format = OUT_CSV;
		out->csv = arg;
		if (arg && !find_section(out, arg))
			return osr_fail(line->diag, OSR_INVAL,
					"csv \"%s\": no such section; --schema lists them", arg);
		return OSR_OK;
	case OPT_SCHEMA:
		/* A line "SECTION SHAPE", then one "\tKEY TYPE MEANING" for each field. */
		for (const struct out_section *section = out->sections; section->name; section++) {
			printf("%s %s\n", section->name, shape[section->shape]);
			for (const struct out_field *field = section->fields; field->key; field++)
				print_field(out, section->name, field);
		}
		exit(CLI_OK);
	case 'h':
		cli_help(line->command);
		exit(CLI_OK);
	default:
		return OSR_NOT_APPLICABLE;
	}
}

const struct cli_spec out_spec = { options, output_parse };

static void close_stdout(void)
{
	int bad = ferror(stdout);

	errno = 0;
	if (!fclose(stdout) && !bad)
		return;
	fprintf(stderr, "osmroutes: standard output: %s\n",
		errno ? strerror(errno) : "it could not be written");
	_exit(CLI_USAGE);
}

void out_guard(void)
{
	atexit(close_stdout);
}

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Command lines as data (cli.h): how words fill the arguments of a sub-command, and how --help
 * prints the tables.
 */
#include "cli/cli.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <osmroutes/params.h>

#include "cli/output.h"

#define MAX_PARTS 16
#define MAX_SHOWN 96 /* options in one --help */

/* A spec and the struct that it fills. */
struct part {
	const struct cli_spec *spec;
	char *args;
};

struct reader {
	const char *command;
	struct part part
		[MAX_PARTS]; /* [n_parts] the command itself, its parts, theirs; the last: out_spec */
	uint32_t n_parts;
	struct cli_line line;
	enum osr_status st; /* of the first complaint */
	struct osr_diag *diag;
};

static void add_parts(struct reader *reader, const struct cli_spec *spec, char *args)
{
	assert(reader->n_parts < MAX_PARTS);
	reader->part[reader->n_parts++] = (struct part){ spec, args };
	for (const struct cli_option *option = spec->options; !cli_option_ends(option); option++)
		if (option->part)
			add_parts(reader, option->part, args + option->at);
}

/*
 * The first complaint counts. The rest of the line is read all the same: it may name a file that
 * the complaint goes into.
 */
static void complain(struct reader *reader, enum osr_status st)
{
	if (st && st != OSR_NOT_APPLICABLE && !reader->st) {
		reader->st = st;
		*reader->diag = *reader->line.diag;
	}
}

/* ---- values --------------------------------------------------------------------------------- */

enum osr_status cli_take_number(const struct cli_line *line, const char *what, const char *text,
				long low, long high, long *n)
{
	char *end;

	errno = 0;
	*n = strtol(text, &end, 10);
	if (end == text || *end || errno || *n < low || *n > high)
		return osr_fail(line->diag, OSR_INVAL, "%s \"%s\": expected %ld to %ld", what, text,
				low, high);
	return OSR_OK;
}

static void put_number(void *member, size_t size, long n)
{
	if (size == sizeof(uint8_t))
		*(uint8_t *)member = (uint8_t)n;
	else if (size == sizeof(uint32_t))
		*(uint32_t *)member = (uint32_t)n;
	else
		*(long *)member = n;
}

/* The number of the word among "a|b|c". */
static enum osr_status take_word(const struct cli_line *line, const struct cli_option *option,
				 const char *arg, long *n)
{
	char said[160] = "";

	*n = 0;
	for (const char *word = option->words;; ++*n) {
		size_t len = strcspn(word, "|");
		const char *next = word + len + (word[len] != '\0');
		size_t at = strlen(said);

		/* An empty word is what the option means if it is not given. */
		if (len && len == strlen(arg) && !strncmp(word, arg, len))
			return OSR_OK;
		snprintf(said + at, len ? sizeof(said) - at : 0, "%s%.*s",
			 !at     ? ""
			 : *next ? ", "
				 : " or ",
			 (int)len, word);
		if (!*next)
			return osr_fail(line->diag, OSR_INVAL, "%s \"%s\": expected %s",
					option->name, arg, said);
		word = next;
	}
}

static enum osr_status take_member(const struct cli_line *line, const struct cli_option *option,
				   char *args, const char *arg)
{
	char *member = args + option->at;
	uint32_t *count = (uint32_t *)(void *)(args + option->low);
	enum osr_status st;
	long n;

	switch (option->take) {
	case CLI_TAKE_TEXT:
		if (*(const char **)(void *)member)
			return osr_fail(line->diag, OSR_INVAL,
					"--%s is given twice: \"%s\" and \"%s\"", option->name,
					*(const char **)(void *)member, arg);
		*(const char **)(void *)member = arg;
		return OSR_OK;
	case CLI_TAKE_FLAG:
		*(bool *)member = true;
		return OSR_OK;
	case CLI_TAKE_LIST:
		if (*count == (uint32_t)option->high)
			return osr_fail(line->diag, OSR_INVAL, "at most %ld of --%s", option->high,
					option->name);
		((const char **)(void *)member)[(*count)++] = arg;
		return OSR_OK;
	case CLI_TAKE_WORD:
		st = take_word(line, option, arg, &n);
		break;
	default:
		st = cli_take_number(line, option->name, arg, option->low, option->high, &n);
	}
	if (!st)
		put_number(member, option->size, n);
	return st;
}

/* ---- options -------------------------------------------------------------------------------- */

/* By its whole name, or by its letter: where several have the same letter it is the first one's. */
static const struct cli_option *find_option(const struct reader *reader, const char *name,
					    size_t len, int letter, const struct part **part)
{
	for (*part = reader->part; *part < reader->part + reader->n_parts; ++*part)
		for (const struct cli_option *option = (*part)->spec->options;
		     !cli_option_ends(option); option++)
			if (letter ? option->key == letter
				   : option->name && strlen(option->name) == len &&
					     !memcmp(option->name, name, len))
				return option;
	return NULL;
}

static enum osr_status unknown_option(const struct reader *reader, const char *word, size_t len)
{
	char name[64];
	struct osr_guess guess = { .word = name };
	const char *best = NULL;

	snprintf(name, sizeof(name), "%.*s", (int)len, word);
	for (uint32_t i = 0; i < reader->n_parts; i++)
		for (const struct cli_option *option = reader->part[i].spec->options;
		     !cli_option_ends(option); option++) {
			if (!option->name)
				continue;
			osr_guess_offer(&guess, option->name);
			/* Its beginning says more than letters that it shares with another one. */
			if (!best && len && !strncmp(option->name, name, strlen(name)))
				best = option->name;
		}
	best = best ? best : guess.best;
	return osr_fail(reader->line.diag, OSR_INVAL, "%s has no option --%s%s%s%s",
			reader->command, name, best ? ": did you mean --" : "", best ? best : "",
			best ? "?" : "");
}

/* An option and the word behind it, if that belongs to it. */
static enum osr_status take_option(struct reader *reader, char **word)
{
	bool is_long = word[0][1] == '-';
	const char *name = word[0] + (is_long ? 2 : 1);
	size_t len = is_long ? strcspn(name, "=") : 1;
	const char *arg = name[len] ? name + len + is_long : NULL;
	const struct part *part;
	const struct cli_option *option =
		find_option(reader, name, len, is_long ? 0 : *name, &part);

	if (!option)
		return is_long ? unknown_option(reader, name, len)
			       : osr_fail(reader->line.diag, OSR_INVAL, "%s has no option -%c",
					  reader->command, *name);
	if (arg && !option->arg)
		return osr_fail(reader->line.diag, OSR_INVAL, "--%s takes no value: \"%s\"",
				option->name, arg);
	if (!arg && option->arg && !option->arg_optional) {
		arg = word[1];
		if (!arg)
			return osr_fail(reader->line.diag, OSR_INVAL, "--%s needs a value: --%s=%s",
					option->name, option->name, option->arg);
		reader->line.at++;
	}
	if (option->take)
		return take_member(&reader->line, option, part->args, arg);
	/* An option that only prints, such as --help, prints nothing if the line has an error. */
	return reader->st ? OSR_OK : part->spec->parse(option->key, arg, part->args, &reader->line);
}

/* ---- the whole line ------------------------------------------------------------------------- */

static enum osr_status call(struct reader *reader, uint32_t i, int key, const char *arg)
{
	const struct part *part = &reader->part[i];

	return part->spec->parse ? part->spec->parse(key, arg, part->args, &reader->line)
				 : OSR_NOT_APPLICABLE;
}

/* The first part that wants the word has it. */
static void take_free_word(struct reader *reader, const char *word)
{
	enum osr_status st = OSR_NOT_APPLICABLE;

	for (uint32_t i = 0; i < reader->n_parts && st == OSR_NOT_APPLICABLE; i++)
		st = call(reader, i, CLI_ONE_WORD, word);
	if (st == OSR_NOT_APPLICABLE)
		st = osr_fail(reader->line.diag, OSR_INVAL, "%s takes no further word: \"%s\"",
			      reader->command, word);
	complain(reader, st);
}

enum osr_status cli_parse(const struct cli_command *command, int argc, char **argv, void *args,
			  struct osr_diag *diag)
{
	struct osr_diag said = { "" };
	struct reader reader = { .command = argv[0],
				 .diag = diag,
				 .line = { .command = command, .diag = &said } };
	char **word = calloc((size_t)argc + 1, sizeof(*word)); /* those that are no options */
	bool options = true;

	if (!word)
		return osr_fail(diag, OSR_NOMEM, "out of memory for the command line");
	add_parts(&reader, &command->spec, args);
	/* The struct out with which the arguments begin. */
	add_parts(&reader, &out_spec, args);
	for (reader.line.at = 1; reader.line.at < (uint32_t)argc; reader.line.at++) {
		char *this = argv[reader.line.at];

		if (!options || this[0] != '-' || !this[1])
			word[reader.line.n_words++] = this;
		else if (!strcmp(this, "--"))
			options = false;
		else
			complain(&reader, take_option(&reader, &argv[reader.line.at]));
	}
	for (uint32_t i = 0; i < reader.n_parts; i++)
		complain(&reader, call(&reader, i, CLI_ALL_OPTIONS, NULL));
	for (reader.line.at = 0; reader.line.at < reader.line.n_words; reader.line.at++)
		take_free_word(&reader, word[reader.line.at]);
	/* Parts fill in what was not given, and their owners judge it. */
	for (uint32_t i = reader.n_parts; i-- > 0 && !reader.st;)
		complain(&reader, call(&reader, i, CLI_ALL_WORDS, NULL));
	free(word);
	return reader.st;
}

/* ---- help ----------------------------------------------------------------------------------- */

#define HELP_WIDTH 98
#define HELP_COLUMN 29 /* where the texts of options begin */

struct shown {
	const struct cli_option *option, *heading; /* heading: NULL: of none */
};

static int compare_shown(const void *x, const void *y)
{
	const struct shown *a = x, *b = y;

	if (a->heading != b->heading)
		return !a->heading   ? -1
		       : !b->heading ? 1
				     : strcmp(a->heading->doc, b->heading->doc);
	return strcmp(a->option->name, b->option->name);
}

static void print_option(const struct cli_option *option)
{
	char text[128], letter[8] = "    ";
	int width;

	if (option->key > ' ' && option->key < 0x7f)
		snprintf(letter, sizeof(letter), "-%c, ", option->key);
	snprintf(text, sizeof(text), "  %s--%s%s%s%s", letter, option->name,
		 !option->arg           ? ""
		 : option->arg_optional ? "[="
					: "=",
		 option->arg ? option->arg : "", option->arg && option->arg_optional ? "]" : "");
	width = printf("%s ", text);
	if (width > HELP_COLUMN)
		printf("\n%*s", HELP_COLUMN, "");
	else
		printf("%*s", HELP_COLUMN - width, "");
	puts(out_break(option->doc, HELP_COLUMN, HELP_WIDTH));
}

/* Alternatives stand in lines. */
static void print_usage(const struct cli_command *command)
{
	const char *words = command->spec.args_doc ? command->spec.args_doc : "", *head = "Usage:";

	for (;; head = "  or: ") {
		size_t len = strcspn(words, "\n");

		printf("%s osmroutes %s [OPTION...]%s%.*s\n", head, command->name, len ? " " : "",
		       (int)len, words);
		if (!words[len])
			return;
		words += len + 1;
	}
}

void cli_help(const struct cli_command *command)
{
	struct reader reader = { .n_parts = 0 };
	struct shown shown[MAX_SHOWN] = { { NULL, NULL } };
	const struct cli_option *heading = NULL;
	uint32_t n = 0;

	add_parts(&reader, &command->spec, NULL);
	for (uint32_t i = 0; i < reader.n_parts; i++, heading = NULL)
		for (const struct cli_option *option = reader.part[i].spec->options;
		     !cli_option_ends(option); option++) {
			if (option->doc && !option->name)
				heading = option;
			if (!option->name)
				continue;
			assert(n < MAX_SHOWN);
			shown[n++] = (struct shown){ option, heading };
		}
	qsort(shown, n, sizeof(*shown), compare_shown);
	print_usage(command);
	puts(out_break(command->spec.doc, 0, HELP_WIDTH));
	heading = NULL;
	for (uint32_t i = 0; i < n; i++) {
		if (!i || shown[i].heading != heading)
			putchar('\n');
		heading = shown[i].heading;
		if (heading && (!i || shown[i - 1].heading != heading))
			printf(" %s\n", heading->doc);
		print_option(shown[i].option);
	}
	if (command->spec.more_help) {
		putchar('\n');
		command->spec.more_help(stdout);
	}
	printf("\n`osmroutes --help` explains the options of all commands: %s\n", OUT_COMMON);
}

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * spec.h - the command line of a sub-command as data: its options, the member of its arguments that each fills,
 * and the parts that it shares with other sub-commands.
 *
 *	static const struct cli_option options[] = {
 *		{ "max", "N", "list at most N", CLI_NUMBER(struct args, max_listed, 0, 1000) },
 *		{ "traffic", "FILE", "may be repeated", .key = OPT_TRAFFIC },	parse() takes it
 *		{ 0 },
 *	};
 *	static const struct cli_part parts[] = { { &input_spec, offsetof(struct args, run.in) }, { 0 } };
 *	static const struct cli_spec spec = { options, parse, parts, "FILE", "Says what FILE is." };
 *
 *	cli_parse(&spec, argc, argv, &args);	ends the process if the command line is wrong; --json and
 *						the like come of themselves (run.h)
 */
#ifndef OSR_CLI_SPEC_H
#define OSR_CLI_SPEC_H

#include <argp.h>
#include <stddef.h>

enum cli_take {
	CLI_TAKE_OWN,
	CLI_TAKE_TEXT,
	CLI_TAKE_FLAG,
	CLI_TAKE_NUMBER,
	CLI_TAKE_WORD,
	CLI_TAKE_LIST
};

struct cli_option {
	const char *name, *arg, *doc; /* without a name: the heading of a group */
	enum cli_take take;
	size_t at, size; /* of the member */
	long low, high;  /* of a number; of a list: where its count is, and how many it can hold */
	const char *words; /* of a word: "a|b|c", of which the member gets the number */
	int key;   /* CLI_TAKE_OWN: what parse() is called with; a letter is a short option */
	int flags; /* of argp */
	int group;
};

#define CLI_TEXT(type, member) CLI_TAKE_TEXT, offsetof(type, member)
#define CLI_FLAG(type, member) CLI_TAKE_FLAG, offsetof(type, member)
#define CLI_NUMBER(type, member, low, high)                                                        \
	CLI_TAKE_NUMBER, offsetof(type, member), sizeof(((type *)0)->member), low, high

#define CLI_WORD(type, member, its_words)                                                          \
	CLI_TAKE_WORD, offsetof(type, member), sizeof(((type *)0)->member), .words = its_words
/* const char *member[n], with uint32_t count of those there are. */
#define CLI_LIST(type, member, count)                                                              \
	CLI_TAKE_LIST, offsetof(type, member), 0, offsetof(type, count),                           \
		sizeof(((type *)0)->member) / sizeof(const char *)

struct cli_spec {
	const struct cli_option *options; /* ends with zeros */
	/* What is not bound to a member, and arguments, as argp has it; state->input: the struct. */
	error_t (*parse)(int key, char *arg, struct argp_state *state);
	const struct cli_part {
		const struct cli_spec *spec;
		size_t at; /* of its struct in that of the whole */
	} * parts;         /* ends with zeros */
	const char *args_doc, *doc;
	char *(*help_filter)(int key, const char *text, void *input);
};

void cli_parse(const struct cli_spec *spec, int argc, char **argv, void *args);

#endif

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "cli/spec.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <osmroutes/arena.h>

#include "cli/cli.h"
#include "cli/output.h"

#define FIRST_KEY 0x10000 /* of options that fill a member, by their place */

/* A spec as argp has it, and where its struct is. */
struct made {
	const struct cli_spec *spec;
	char *args;
	struct argp argp;
	struct argp_option *options;
	struct argp_child *children;
	struct made *parts;
};

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
static long word_number(const struct cli_option *option, const char *arg, struct argp_state *state)
{
	char said[160] = "";
	long n = 0;

	for (const char *word = option->words;; n++) {
		size_t len = strcspn(word, "|");
		const char *next = word + len + (word[len] != '\0');
		size_t at = strlen(said);

		/* An empty word is what the option means if it is not given. */
		if (len && len == strlen(arg) && !strncmp(word, arg, len))
			return n;
		snprintf(said + at, len ? sizeof(said) - at : 0, "%s%.*s",
			 !at     ? ""
			 : *next ? ", "
				 : " or ",
			 (int)len, word);
		if (!*next)
			argp_error(state, "%s \"%s\": expected %s", option->name, arg, said);
		word = next;
	}
}

static void take(const struct cli_option *option, char *args, char *arg, struct argp_state *state)
{
	void *member = args + option->at;

	switch (option->take) {
	case CLI_TAKE_TEXT:
		*(const char **)member = arg;
		break;
	case CLI_TAKE_FLAG:
		*(bool *)member = true;
		break;
	case CLI_TAKE_WORD:
		put_number(member, option->size, word_number(option, arg, state));
		break;
	case CLI_TAKE_LIST: {
		uint32_t *n = (uint32_t *)(void *)(args + option->low);

		if (*n == (uint32_t)option->high)
			argp_error(state, "at most %ld of --%s", option->high, option->name);
		((const char **)member)[(*n)++] = arg;
		break;
	}
	default:
		put_number(member, option->size,
			   cli_take_number(arg, option->name, option->low, option->high, state));
	}
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct made *made = state->input;
	const struct cli_option *option = made->spec->options;
	error_t error = ARGP_ERR_UNKNOWN;

	if (key == ARGP_KEY_INIT) {
		for (size_t i = 0; made->children[i].argp; i++)
			state->child_inputs[i] = &made->parts[i];
		return 0;
	}
	/* Options that fill a member are known by their place, or their letter. */
	if (key >= FIRST_KEY && key < ARGP_KEY_END)
		option += key - FIRST_KEY;
	else
		while (option && (option->name || option->doc) &&
		       !(option->take && option->key && option->key == key))
			option++;
	if (!option || !option->take) {
		state->input = made->args;
		error = made->spec->parse ? made->spec->parse(key, arg, state) : error;
		state->input = made;
		return error;
	}
	take(option, made->args, arg, state);
	return 0;
}

static void make(const struct cli_spec *spec, char *args, bool is_whole, struct osr_arena *arena,
		 struct made *made)
{
	static const struct cli_option no_options[1];
	static const struct cli_part no_parts[1];
	const struct cli_option *option = spec->options ? spec->options : no_options;
	const struct cli_part *part = spec->parts ? spec->parts : no_parts;
	size_t n_options = 0, n_parts = 0;

	while (option[n_options].name || option[n_options].doc)
		n_options++;
	while (part[n_parts].spec)
		n_parts++;
	*made = (struct made){ .spec = spec, .args = args };
	made->options = osr_calloc(arena, n_options + 1, sizeof(*made->options));
	made->children = osr_calloc(arena, n_parts + 2, sizeof(*made->children));
	made->parts = osr_calloc(arena, n_parts + 1, sizeof(*made->parts));
	if (osr_arena_failed(arena, NULL))
		exit(cli_fail(OSR_NOMEM, &(struct osr_diag){ "" }));
	for (size_t i = 0; i < n_options; i++)
		made->options[i] = (struct argp_option){
			option[i].name,
			option[i].take && !option[i].key ? FIRST_KEY + (int)i : option[i].key,
			option[i].arg,
			option[i].flags,
			option[i].doc,
			option[i].group
		};
	for (size_t i = 0; i < n_parts + is_whole; i++) {
		/* The options of all commands, for the struct out with which the arguments begin. */
		const struct cli_part own = i < n_parts ? part[i] : (struct cli_part){ &out_spec };

		make(own.spec, args + own.at, false, arena, &made->parts[i]);
		made->children[i] = (struct argp_child){ .argp = &made->parts[i].argp };
	}
	made->argp =
		(struct argp){ made->options,     parse, spec->args_doc, spec->doc, made->children,
			       spec->help_filter, NULL };
}

void cli_parse(const struct cli_spec *spec, int argc, char **argv, void *args)
{
	struct osr_arena arena = { 0 };
	struct made made;

	make(spec, args, true, &arena, &made);
	argp_parse(&made.argp, argc, argv, ARGP_NO_HELP, NULL, &made);
	osr_arena_free(&arena);
}

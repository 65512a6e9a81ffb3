/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include <osmroutes/params.h>

#include "cli/cli.h"
#include "cli/source.h"

static const char *const groups[] = { "Look at a fabric and its tables",
				      "Run a subnet manager with osmroutes",
				      "Make fabrics and lists of hosts" };

const struct cli_command *const cli_commands[] = {
	&cli_route,  &cli_check, &cli_diff,  &cli_report,  &cli_path,  &cli_whatif,   &cli_conf,
	&cli_status, &cli_key,   &cli_drain, &cli_undrain, &cli_order, &cli_generate, NULL,
};

/* Names that this release still knows, and the commands that have their work now. */
static const struct {
	const char *name, *now;
} old_names[] = {
	{ "analyze", "route" },
	{ "angara", NULL },
	{ "compare", "route -e all" },
	{ "counters", NULL },
	{ "degrade", "whatif --write=FILE" },
	{ "engines", "conf --list" },
	{ "export", "generate --format=dot FILE" },
	{ "users", "path --via=NODE:PORT" },
	{ "wiring", "diff OLD NEW, two outputs of ibnetdiscover" },
};

static int usage(FILE *out, int code)
{
	fprintf(out, "Usage: osmroutes COMMAND [OPTION...]\n\n"
		     "Routing engines for OpenSM, offline.\n\nCommands:\n");
	for (unsigned group = 0; group < CLI_N_GROUPS; group++) {
		fprintf(out, " %s:\n", groups[group]);
		for (size_t i = 0; cli_commands[i]; i++)
			if (cli_commands[i]->group == group)
				fprintf(out, "  %-10s %s\n", cli_commands[i]->name,
					cli_commands[i]->summary);
	}
	fprintf(out,
		"\nOptions of all commands:\n"
		"      --json                 print JSON instead of a table\n"
		"      --csv[=SECTION]        print CSV: one section, the first with rows unless "
		"named\n      --schema               list sections and fields of --json and --csv\n"
		"      --color=WHEN           auto (on a terminal, without NO_COLOR), always or "
		"never\n  -h, --help                 what a command does, and its options\n");
	fprintf(out, "\n`osmroutes help COMMAND` says more, `osmroutes version` the version. Exit "
		     "codes:\n0 success, 1 a problem was found or refused, 2 the command line, a "
		     "file or the output\nis wrong.\n");
	return code;
}

/* The command that a wrong name may have meant. The exit code. */
static int unknown_command(const char *name)
{
	struct osr_guess guess = { .word = name };
	char said[160];

	for (size_t i = 0; i < sizeof(old_names) / sizeof(old_names[0]); i++) {
		const char *now = old_names[i].now;

		if (strcmp(old_names[i].name, name))
			continue;
		fprintf(stderr,
			now ? "osmroutes: %s is now osmroutes %s\n"
			    : "osmroutes: there is no %s any more\n",
			name, now);
		return CLI_USAGE;
	}
	for (size_t i = 0; cli_commands[i]; i++)
		osr_guess_offer(&guess, cli_commands[i]->name);
	fprintf(stderr, "osmroutes: no command \"%s\"%s\n", name,
		osr_guess_say(&guess, said, sizeof(said)));
	return guess.best ? CLI_USAGE : usage(stderr, CLI_USAGE);
}

int main(int argc, char **argv)
{
	char name[64];
	const char *wanted;
	bool help;

	out_guard();
	if (argc < 2)
		return usage(stderr, CLI_USAGE);
	if (!strcmp(argv[1], "version") || !strcmp(argv[1], "--version") ||
	    !strcmp(argv[1], "-V")) {
		printf("osmroutes %s\n", OSR_VERSION);
		return CLI_OK;
	}
	help = !strcmp(argv[1], "help") || !strcmp(argv[1], "--help") || !strcmp(argv[1], "-h");
	if (help && argc == 2)
		return usage(stdout, CLI_OK);
	wanted = argv[help ? 2 : 1];
	for (size_t i = 0; cli_commands[i]; i++) {
		if (strcmp(cli_commands[i]->name, wanted))
			continue;
		if (help) {
			cli_help(cli_commands[i]);
			return CLI_OK;
		}
		snprintf(name, sizeof(name), "osmroutes %s", wanted);
		argv[1] = name;
		return cli_run(cli_commands[i], argc - 1, argv + 1);
	}
	return unknown_command(wanted);
}

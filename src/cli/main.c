/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include <argp.h>
#include <stdlib.h>
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

/* Names that this release still knows, and what has their work now. */
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
		"named\n"
		"      --schema               list sections and fields of --json and --csv\n"
		"      --color=WHEN           auto (on a terminal, without NO_COLOR), always or "
		"never\n"
		"      --help                 what a command does, and its options\n");
	fprintf(out, "\n`osmroutes COMMAND --help` says more, `osmroutes --version` the version. "
		     "Exit codes:\n"
		     "0 success, 1 a problem was found or refused, 2 the command line, a file or "
		     "the output\n"
		     "is wrong.\n");
	return code;
}

int main(int argc, char **argv)
{
	struct osr_guess guess = { NULL };
	char name[64], said[160];

	out_guard();
	/* The exit code that argp uses for bad command lines. */
	argp_err_exit_status = CLI_USAGE;
	/* Option tables are wider than argp's 79 columns; it breaks a line that ends at the margin into two. */
	setenv("ARGP_HELP_FMT", "rmargin=98", 0);
	if (argc < 2)
		return usage(stderr, CLI_USAGE);
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h") || !strcmp(argv[1], "help") ||
	    !strcmp(argv[1], "--usage"))
		return usage(stdout, CLI_OK);
	if (!strcmp(argv[1], "--version") || !strcmp(argv[1], "-V")) {
		printf("osmroutes %s\n", OSR_VERSION);
		return CLI_OK;
	}
	guess.word = argv[1];
	for (size_t i = 0; cli_commands[i]; i++) {
		osr_guess_offer(&guess, cli_commands[i]->name);
		if (strcmp(cli_commands[i]->name, argv[1]))
			continue;
		snprintf(name, sizeof(name), "osmroutes %s", argv[1]);
		argv[1] = name;
		return cli_run(cli_commands[i], argc - 1, argv + 1);
	}
	for (size_t i = 0; i < sizeof(old_names) / sizeof(old_names[0]); i++) {
		const char *now = old_names[i].now;

		if (strcmp(old_names[i].name, argv[1]))
			continue;
		fprintf(stderr,
			now ? "osmroutes: %s is now osmroutes %s\n"
			    : "osmroutes: there is no %s any more\n",
			argv[1], now);
		return CLI_USAGE;
	}
	fprintf(stderr, "osmroutes: no command \"%s\"%s\n", argv[1],
		osr_guess_say(&guess, said, sizeof(said)));
	return guess.best ? CLI_USAGE : usage(stderr, CLI_USAGE);
}

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include <argp.h>

#include <osmroutes/engine.h>

#include "cli/cli.h"

static void print_engine(const struct osr_engine *e)
{
	printf("%s\n    %s\n", e->name, e->summary);
	if (e->reference)
		printf("    %s\n", e->reference);
	printf("    promises:%s%s%s%s\n",
	       e->capabilities & OSR_ENGINE_DEADLOCK_FREE ? " deadlock-free" : "",
	       e->capabilities & OSR_ENGINE_MINIMAL ? " minimal" : "",
	       e->capabilities & OSR_ENGINE_LMC ? " spreads-LMC" : "",
	       e->capabilities ? "" : " nothing");
	cli_print_params(stdout, e->params);
}

int cli_engines(int argc, char **argv)
{
	static const struct argp argp = {
		NULL, NULL, "",  "Lists the routing engines, with their options and defaults.",
		NULL, NULL, NULL
	};

	argp_parse(&argp, argc, argv, 0, NULL, NULL);
	for (const struct osr_engine *const *e = osr_engines; *e; e++) {
		if (e != osr_engines)
			putchar('\n');
		print_engine(*e);
	}
	return CLI_OK;
}

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/source.h"
#include "io/speed.h"
#include "topo/topo.h"
#include "io/net.h"

struct args {
	struct cli_run run;
	const char *output;
	const struct osr_topo *topo;
	struct osr_values values;
	struct osr_topo_style style;
	long lmc;
};

#define OF(member) OUT_OF(struct osr_net_counts, member)

static const struct out_field made_fields[] = {
	{ "file", NULL, OUT_TEXT },
	{ "switches", NULL, OUT_COUNT, 0, OF(switches) },
	{ "cas", NULL, OUT_COUNT, 0, OF(cas) },
	{ "routers", NULL, OUT_COUNT, 0, OF(routers) },
	{ "cables", NULL, OUT_COUNT, 0, OF(cables) },
	{ "switch_cables", NULL, OUT_COUNT, 0, OF(switch_cables) },
	{ 0 },
};

static const struct out_section made_sections[] = {
	{ "summary", OUT_HEAD, made_fields },
	{ 0 },
};

static void generate_take_word(struct args *a, const char *word, struct argp_state *state)
{
	if (a->topo && cli_set(&a->values, a->topo->params, word, &a->run.diag))
		argp_error(state, "%s", a->run.diag.text);
	if (a->topo)
		return;
	a->topo = osr_topo_find(word);
	if (!a->topo)
		argp_error(state, "no kind of fabric is called \"%s\"", word);
	osr_values_default(&a->values, a->topo->params);
}

enum { OPT_RATE = 256 };

static const struct cli_option options[] = {
	{ "output", "FILE", "write to FILE instead of standard output",
	  CLI_TEXT(struct args, output), .key = 'o' },
	{ "rate", "WxSPEED", "width and speed of every cable, e.g. 4xHDR", .key = OPT_RATE },
	{ "ports", "N", "ports of every switch (default: as many as it needs)",
	  CLI_NUMBER(struct args, style.ports, 1, OSR_NET_MAX_NODE_PORTS) },
	{ "mgmt", NULL, "a management CA on the last port of every switch",
	  CLI_FLAG(struct args, style.mgmt) },
	{ "enhanced", NULL, "switches with an enhanced port 0",
	  CLI_FLAG(struct args, style.enhanced_sp0) },
	{ "lmc", "N", "give LIDs, 2^N to every host (default: OpenSM gives them)",
	  CLI_NUMBER(struct args, lmc, 0, 7) },
	{ 0 },
};

static error_t generate_parse(int key, char *arg, struct argp_state *state)
{
	struct args *a = state->input;
	const char *path = a->output, *equals = path ? strchr(path, '=') : NULL;

	switch (key) {
	case OPT_RATE:
		if (!osr_speed_parse(arg, strlen(arg), &a->style.width, &a->style.speed))
			argp_error(state, "rate \"%s\": expected 1x to 12x SDR to XDR, as 4xHDR",
				   arg);
		return 0;
	case ARGP_KEY_END:
		/* -o takes FILE here, and NAME=VALUE in other commands: FILE that looks like an option is a mistake. */
		if (equals && osr_options_known(a->topo->params, path, (size_t)(equals - path)))
			argp_error(state,
				   "-o names the file to write; \"%s\" is an option of %s: write "
				   "it without -o",
				   path, a->topo->name);
		/* The net file and the report cannot both go to stdout. */
		if (a->run.out.format != OUT_PEOPLE && (!path || !strcmp(path, "-")))
			argp_error(state, "--json and --csv need -o FILE: the fabric would be on "
					  "standard output as well");
		return 0;
	case ARGP_KEY_ARG:
		generate_take_word(a, arg, state);
		return 0;
	case ARGP_KEY_NO_ARGS:
		argp_error(state, "missing kind of fabric: see --help");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

/* The list of kinds goes below the options of --help. */
static char *help_filter(int key, const char *text, void *input)
{
	char *buf = NULL;
	size_t size;
	FILE *out;
	const struct osr_topo *topo;

	if (key != ARGP_KEY_HELP_EXTRA)
		return (char *)text;
	out = open_memstream(&buf, &size);
	if (!out)
		return NULL;
	/* Below the options: the kinds of fabrics with theirs. */
	fprintf(out, "Kinds of fabrics, with their options and defaults:\n");
	for (uint32_t i = 0; (topo = osr_topo_row(i)); i++) {
		fprintf(out, "\n  %-12s %s\n", topo->name, topo->summary);
		cli_print_params(out, topo->params);
	}
	fclose(out);
	return buf;
}

static enum osr_status generate_work(void *args)
{
	struct args *a = args;
	struct osr_net *net = &a->run.in.net;
	struct osr_diag *diag = &a->run.diag;
	enum osr_status st = osr_topo_make(a->topo, &a->values, &a->style, net, diag);

	if (!st && a->lmc >= 0)
		st = osr_net_assign_lids(net, (int)a->lmc, diag);
	if (!st)
		st = cli_write_net(net, a->output, a->run.line, diag);
	/* Nothing for people: the file is the result. */
	if (!st && a->run.out.format != OUT_PEOPLE) {
		const struct osr_net_counts counts = osr_net_count(net);

		out_row(&a->run.out, "summary");
		out_text(&a->run.out, "file", a->output);
		out_members(&a->run.out, made_fields, &counts, 0);
	}
	return st;
}

const struct cli_command cli_generate = {
	"generate",
	"make a fabric: tree, torus, dragonfly, ...",
	CLI_MAKE,
	{ options, generate_parse, "KIND [NAME=VALUE...]",
	  "Writes a fabric as a net file, for ibsim and for `osmroutes route`.", help_filter },
	made_sections,
	CLI_ARGS(.run = { CLI_RUN }, .lmc = -1),
	.work = generate_work
};

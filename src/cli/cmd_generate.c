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
	struct cli_run run; /* in: the fabric to draw, instead of a kind */
	const char *output;
	uint8_t dot;
	bool no_hosts;
	const struct osr_topo *topo;
	struct osr_values values;
	struct osr_topo_style style;
	long lmc;
};

/* hosts: false leaves out CAs and routers. For cli_written(). */
static FILE *write_dot(const struct osr_net *net, bool hosts, const char *path)
{
	FILE *out = cli_create(path);

	if (!out)
		return NULL;
	fputs("graph fabric {\n", out);
	for (uint32_t i = 0; i < net->n_nodes; i++) {
		if (!hosts && !osr_net_is_switch(net, i))
			continue;
		fprintf(out, "\tn%u [shape=%s label=\"", i,
			osr_net_is_switch(net, i) ? "box" : "ellipse");
		for (const char *text = osr_net_shown(net, i); *text; text++) {
			unsigned char x = (unsigned char)*text;

			if (x == '"' || x == '\\')
				fputc('\\', out);
			fputc(x < ' ' || x >= 127 ? '?' : x, out);
		}
		fputs("\"];\n", out);
	}
	for (uint32_t p = 0; p < net->n_ports; p++) {
		uint32_t peer = net->ports[p].peer;

		if (peer == OSR_NONE || peer <= p)
			continue;
		if (hosts || (osr_net_is_switch(net, net->ports[p].node) &&
			      osr_net_is_switch(net, net->ports[peer].node)))
			fprintf(out, "\tn%u -- n%u [taillabel=\"%u\" headlabel=\"%u\"];\n",
				net->ports[p].node, net->ports[peer].node, osr_net_port_num(net, p),
				osr_net_port_num(net, peer));
	}
	fputs("}\n", out);
	return out;
}

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

enum { OPT_RATE = 256 };

static const struct cli_option options[] = {
	{ "output", "FILE", "write to FILE instead of standard output",
	  CLI_TEXT(struct args, output), .key = 'o' },
	{ "format", "FORM",
	  "net (default), or dot: a graph for Graphviz, of KIND or of the fabric in FILE",
	  CLI_WORD(struct args, dot, "net|dot") },
	{ "no-hosts", NULL, "dot: switches and the cables between them only",
	  CLI_FLAG(struct args, no_hosts) },
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

static enum osr_status generate_parse(int key, const char *arg, void *args,
				      const struct cli_line *line)
{
	struct args *a = args;
	const char *path = a->output, *equals = path ? strchr(path, '=') : NULL;

	switch (key) {
	case OPT_RATE:
		if (!osr_speed_parse(arg, strlen(arg), &a->style.width, &a->style.speed))
			return osr_fail(line->diag, OSR_INVAL,
					"rate \"%s\": expected 1x to 12x SDR to XDR, as 4xHDR",
					arg);
		return OSR_OK;
	case CLI_ALL_WORDS:
		if (!line->n_words)
			return osr_fail(line->diag, OSR_INVAL,
					"missing kind of fabric: see --help");
		/*
		 * -o takes FILE here, and NAME=VALUE in other commands: FILE that looks like an
		 * option is a mistake.
		 */
		if (a->topo && equals &&
		    osr_options_known(a->topo->params, path, (size_t)(equals - path)))
			return osr_fail(
				line->diag, OSR_INVAL,
				"-o names the file to write; \"%s\" is an option of %s: write "
				"it without -o",
				path, a->topo->name);
		/* The net file and the report cannot both go to stdout. */
		if (a->run.out.format != OUT_PEOPLE && (!path || !strcmp(path, "-")))
			return osr_fail(line->diag, OSR_INVAL,
					"--json and --csv need -o FILE: the fabric would be on "
					"standard output as well");
		return OSR_OK;
	case CLI_ONE_WORD:
		if (a->topo)
			return cli_set(&a->values, a->topo->params, arg, line->diag);
		a->topo = osr_topo_find(arg);
		if (a->topo)
			osr_values_default(&a->values, a->topo->params);
		else if (a->dot && !a->run.in.path)
			a->run.in.path = arg;
		else
			return osr_fail(line->diag, OSR_INVAL, "no kind of fabric is called \"%s\"",
					arg);
		return OSR_OK;
	default:
		return OSR_NOT_APPLICABLE;
	}
}

/* The list of kinds goes below the options of --help. */
static void print_kinds(FILE *out)
{
	const struct osr_topo *topo;

	fprintf(out, "Kinds of fabrics, with their options and defaults:\n");
	for (uint32_t i = 0; (topo = osr_topo_row(i)); i++) {
		fprintf(out, "\n  %-12s %s\n", topo->name, topo->summary);
		cli_print_params(out, topo->params);
	}
}

static enum osr_status generate_work(void *args)
{
	struct args *a = args;
	struct osr_net *net = &a->run.in.net;
	struct osr_diag *diag = &a->run.diag;
	enum osr_status st;

	if (a->run.in.path)
		st = cli_input_load(&a->run.in, diag);
	else
		st = osr_topo_make(a->topo, &a->values, &a->style, net, diag);
	if (!st && a->lmc >= 0)
		st = osr_net_assign_lids(net, (int)a->lmc, diag);
	if (!st)
		st = a->dot ? cli_written(write_dot(net, !a->no_hosts, a->output), a->output, diag)
			    : cli_write_net(net, a->output, a->run.line, diag);
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
	"make a fabric: tree, torus, dragonfly, ...; draw any as a graph",
	CLI_MAKE,
	{ options, generate_parse, "KIND [NAME=VALUE...]|FILE",
	  "Writes a fabric as a net file, for ibsim and for `osmroutes route`.", print_kinds },
	made_sections,
	CLI_ARGS(.run = { CLI_RUN }, .lmc = -1),
	.work = generate_work
};

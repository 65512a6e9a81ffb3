/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* A fabric for other programs: as a graph, and its paths as ibacm reads them. Nothing is kept in memory. */
#include <argp.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "io/speed.h"

#include "cli/cli.h"
#include "cli/endport.h"
#include "cli/export.h"
#include "cli/made.h"

#define MAX_FROM 64

enum { OPT_FORMAT = 256, OPT_HOSTS, OPT_FROM, OPT_MTU };

enum export_form { DOT, GRAPHML, IBACM, N_EXPORT_FORMS };

static const char *const export_forms[] = { "dot", "graphml", "ibacm" };

static const struct argp_option options[] = {
	{ "output", 'o', "FILE", 0, "write to FILE instead of standard output", 0 },
	{ "format", OPT_FORMAT, "FORM", 0,
	  "dot (Graphviz, the default), graphml, or ibacm: SL, MTU and rate of every path, its "
	  "route_data_file",
	  0 },
	{ "no-hosts", OPT_HOSTS, NULL, 0, "switches and cables between them only", 0 },
	{ "from", OPT_FROM, "HOST", 0, "ibacm: paths from this end port alone, may be repeated",
	  0 },
	{ "mtu", OPT_MTU, "BYTES", 0, "ibacm: MTU of all paths (default 2048)", 0 },
	{ NULL, 0, NULL, 0, NULL, 0 },
};

struct args {
	struct cli_ask ask;
	const char *output;
	const char *from[MAX_FROM];
	uint32_t n_from;
	enum export_form form;
	uint8_t mtu;
	bool no_hosts;
};

static const struct out_section sections[] = {
	{ "summary", OUT_HEAD, cli_made_fields },
	{ NULL, 0, NULL },
};

static bool export_is_switch(const struct osr_net *net, uint32_t node)
{
	return net->nodes[node].type == OSR_NET_SWITCH;
}

/* Within quotes of dot, or as text of XML. */
static void put_text(const struct args *a, const char *text, FILE *out)
{
	for (; *text; text++) {
		unsigned char x = (unsigned char)*text;

		if (x < ' ' || x >= 127)
			fputc('?', out);
		else if (a->form != GRAPHML && (x == '"' || x == '\\'))
			fprintf(out, "\\%c", x);
		else if (a->form == GRAPHML && (x == '&' || x == '<' || x == '>' || x == '"'))
			fprintf(out, "&#%u;", x);
		else
			fputc(x, out);
	}
}

static void put_node(const struct args *a, uint32_t i, FILE *out)
{
	static const char *const kind[] = { "ca", "switch", "router" };
	const struct osr_net_node *node = &a->ask.src.in.net.nodes[i];

	if (a->form == GRAPHML)
		fprintf(out,
			"<node id=\"n%u\"><data key=\"kind\">%s</data><data "
			"key=\"guid\">0x%016llx</data><data key=\"name\">",
			i, kind[node->type], (unsigned long long)node->guid);
	else
		fprintf(out, "\tn%u [shape=%s label=\"", i,
			node->type == OSR_NET_SWITCH ? "box" : "ellipse");
	put_text(a, osr_net_name(&a->ask.src.in.net, i), out);
	fputs(a->form == GRAPHML ? "</data></node>\n" : "\"];\n", out);
}

static void put_cable(const struct args *a, uint32_t port, FILE *out)
{
	const struct osr_net *net = &a->ask.src.in.net;
	uint32_t peer = net->ports[port].peer, from = net->ports[port].node,
		 to = net->ports[peer].node;
	unsigned here = osr_net_port_num(net, port), there = osr_net_port_num(net, peer), gbit;
	uint8_t width, speed;

	osr_net_link_rate(net, port, &width, &speed);
	gbit = osr_rate_gbps(width, speed);
	if (a->form == GRAPHML)
		fprintf(out,
			"<edge source=\"n%u\" target=\"n%u\"><data key=\"port\">%u</data><data "
			"key=\"peer_port\">%u</data><data key=\"gbit\">%u</data></edge>\n",
			from, to, here, there, gbit);
	else
		fprintf(out, "\tn%u -- n%u [taillabel=\"%u\" headlabel=\"%u\"];\n", from, to, here,
			there);
}

static void put_all(const struct args *a, FILE *out)
{
	const struct osr_net *net = &a->ask.src.in.net;

	fputs(a->form == GRAPHML
		      ? "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
			"<graphml xmlns=\"http://graphml.graphdrawing.org/xmlns\">\n"
			"<key id=\"kind\" for=\"node\" attr.name=\"kind\" attr.type=\"string\"/>\n"
			"<key id=\"guid\" for=\"node\" attr.name=\"guid\" attr.type=\"string\"/>\n"
			"<key id=\"name\" for=\"node\" attr.name=\"name\" attr.type=\"string\"/>\n"
			"<key id=\"port\" for=\"edge\" attr.name=\"port\" attr.type=\"int\"/>\n"
			"<key id=\"peer_port\" for=\"edge\" attr.name=\"peer_port\" "
			"attr.type=\"int\"/>\n"
			"<key id=\"gbit\" for=\"edge\" attr.name=\"gbit\" attr.type=\"int\"/>\n"
			"<graph id=\"fabric\" edgedefault=\"undirected\">\n"
		      : "graph fabric {\n",
	      out);
	for (uint32_t i = 0; i < net->n_nodes; i++)
		if (export_is_switch(net, i) || !a->no_hosts)
			put_node(a, i, out);
	for (uint32_t p = 0; p < net->n_ports; p++) {
		uint32_t peer = net->ports[p].peer;

		if (peer == OSR_NONE || peer <= p)
			continue;
		if (!a->no_hosts || (export_is_switch(net, net->ports[p].node) &&
				     export_is_switch(net, net->ports[peer].node)))
			put_cable(a, p, out);
	}
	fputs(a->form == GRAPHML ? "</graph>\n</graphml>\n" : "}\n", out);
}

static enum osr_status put_ibacm(struct args *a, FILE *out, struct osr_diag *diag)
{
	uint32_t from[MAX_FROM];
	struct cli_ibacm ibacm = {
		.src = &a->ask.src, .mtu = a->mtu, .from = from, .n_from = a->n_from
	};
	enum osr_status st = OSR_OK;

	for (uint32_t i = 0; i < a->n_from && !st; i++)
		st = cli_find_terminal(&a->ask.src.in.net, &a->ask.src.in.fabric, a->from[i],
				       &from[i], diag);
	return st ? st : cli_ibacm_write(&ibacm, out, diag);
}

static enum osr_status export_write(struct args *a, struct osr_diag *diag)
{
	bool is_stdout = !a->output || !strcmp(a->output, "-");
	FILE *out = is_stdout ? stdout : fopen(a->output, "w");
	enum osr_status st = OSR_OK;
	bool bad;

	if (!out)
		return osr_fail(diag, OSR_INVAL, "%s: %s", a->output, strerror(errno));
	if (a->form == IBACM)
		st = put_ibacm(a, out, diag);
	else
		put_all(a, out);
	bad = ferror(out) != 0;
	if (!is_stdout)
		bad |= fclose(out) != 0;
	return bad ? osr_fail(diag, OSR_INVAL, "%s: %s", is_stdout ? "standard output" : a->output,
			      strerror(errno))
		   : st;
}

static error_t export_parse(int key, char *arg, struct argp_state *state)
{
	struct args *a = state->input;
	long bytes;

	switch (key) {
	case 'o':
		a->output = arg;
		return 0;
	case OPT_FORMAT:
		for (a->form = DOT; a->form < N_EXPORT_FORMS && strcmp(arg, export_forms[a->form]);)
			a->form++;
		if (a->form == N_EXPORT_FORMS)
			argp_error(state, "format \"%s\": expected dot, graphml or ibacm", arg);
		return 0;
	case OPT_FROM:
		if (a->n_from == MAX_FROM)
			argp_error(state, "at most %d end ports", MAX_FROM);
		a->from[a->n_from++] = arg;
		return 0;
	case OPT_MTU:
		bytes = cli_take_number(arg, "mtu", 256, 4096, state);
		for (a->mtu = 1; a->mtu < 5 && 128L << a->mtu != bytes;)
			a->mtu++;
		if (128L << a->mtu != bytes)
			argp_error(state, "mtu %s: expected 256, 512, 1024, 2048 or 4096", arg);
		return 0;
	case OPT_HOSTS:
		a->no_hosts = true;
		return 0;
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &a->ask;
		return 0;
	case ARGP_KEY_SUCCESS:
		cli_made_needs_file(&a->ask.out, a->output, state);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

int cli_export(int argc, char **argv)
{
	static const struct argp_child children[] = { { .argp = &ask_argp }, { NULL } };
	static const struct argp argp = {
		.options = options,
		.parser = export_parse,
		.args_doc = "FILE|DIR",
		.doc = "Writes a fabric for other programs: as a graph, nodes with names and "
		       "GUIDs, cables with ports; or the paths of an engine, of DIR or --tables, "
		       "or of --live for ibacm.",
		.children = children
	};
	struct args a = { .ask = { .src = CLI_SOURCE_INIT,
				   .out = { .command = "export", .sections = sections } },
			  .mtu = 4 };
	struct osr_diag diag = { "" };
	enum osr_status st;

	argp_parse(&argp, argc, argv, 0, NULL, &a);
	st = a.form == IBACM ? cli_source_load(&a.ask.src, &diag)
			     : cli_input_load(&a.ask.src.in, &diag);
	if (!st)
		st = export_write(&a, &diag);
	if (!st)
		cli_made_say(&a.ask.out, &a.ask.src.in.net, a.output);
	return cli_ask_end(&a.ask, st, &diag, CLI_OK);
}

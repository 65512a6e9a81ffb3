/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The fabric as a graph for other programs: Graphviz, and whatever reads GraphML. Nothing is kept in memory. */
#include <argp.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "io/rate.h"

#include "cli/cli.h"
#include "cli/input.h"
#include "cli/made.h"

enum { OPT_FORMAT = 256, OPT_HOSTS };

static const struct argp_option options[] = {
	{ "output", 'o', "FILE", 0, "write to FILE instead of standard output", 0 },
	{ "format", OPT_FORMAT, "FORM", 0, "dot (Graphviz, the default) or graphml", 0 },
	{ "no-hosts", OPT_HOSTS, NULL, 0, "switches and cables between them only", 0 },
	{ NULL, 0, NULL, 0, NULL, 0 },
};

struct args {
	struct cli_input in;
	struct out out;
	const char *output;
	bool graphml, no_hosts;
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
		else if (!a->graphml && (x == '"' || x == '\\'))
			fprintf(out, "\\%c", x);
		else if (a->graphml && (x == '&' || x == '<' || x == '>' || x == '"'))
			fprintf(out, "&#%u;", x);
		else
			fputc(x, out);
	}
}

static void put_node(const struct args *a, uint32_t i, FILE *out)
{
	static const char *const kind[] = { "ca", "switch", "router" };
	const struct osr_net_node *node = &a->in.net.nodes[i];

	if (a->graphml)
		fprintf(out,
			"<node id=\"n%u\"><data key=\"kind\">%s</data><data "
			"key=\"guid\">0x%016llx</data><data key=\"name\">",
			i, kind[node->type], (unsigned long long)node->guid);
	else
		fprintf(out, "\tn%u [shape=%s label=\"", i,
			node->type == OSR_NET_SWITCH ? "box" : "ellipse");
	put_text(a, osr_net_name(&a->in.net, i), out);
	fputs(a->graphml ? "</data></node>\n" : "\"];\n", out);
}

static void put_cable(const struct args *a, uint32_t port, FILE *out)
{
	const struct osr_net *net = &a->in.net;
	uint32_t peer = net->ports[port].peer, from = net->ports[port].node,
		 to = net->ports[peer].node;
	unsigned here = osr_net_port_num(net, port), there = osr_net_port_num(net, peer), gbit;
	uint8_t width, speed;

	osr_net_link_rate(net, port, &width, &speed);
	gbit = osr_rate_gbps(width, speed);
	if (a->graphml)
		fprintf(out,
			"<edge source=\"n%u\" target=\"n%u\"><data key=\"port\">%u</data>"
			"<data key=\"peer_port\">%u</data><data key=\"gbit\">%u</data></edge>\n",
			from, to, here, there, gbit);
	else
		fprintf(out, "\tn%u -- n%u [taillabel=\"%u\" headlabel=\"%u\"];\n", from, to, here,
			there);
}

static void put_all(const struct args *a, FILE *out)
{
	const struct osr_net *net = &a->in.net;

	fputs(a->graphml
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
	fputs(a->graphml ? "</graph>\n</graphml>\n" : "}\n", out);
}

static enum osr_status write_graph(const struct args *a, struct osr_diag *diag)
{
	bool is_stdout = !a->output || !strcmp(a->output, "-");
	FILE *out = is_stdout ? stdout : fopen(a->output, "w");
	bool bad;

	if (!out)
		return osr_fail(diag, OSR_INVAL, "%s: %s", a->output, strerror(errno));
	put_all(a, out);
	bad = ferror(out) != 0;
	if (!is_stdout)
		bad |= fclose(out) != 0;
	return bad ? osr_fail(diag, OSR_INVAL, "%s: %s", is_stdout ? "standard output" : a->output,
			      strerror(errno))
		   : OSR_OK;
}

static error_t export_parse(int key, char *arg, struct argp_state *state)
{
	struct args *a = state->input;

	switch (key) {
	case 'o':
		a->output = arg;
		return 0;
	case OPT_FORMAT:
		if (strcmp(arg, "dot") != 0 && strcmp(arg, "graphml") != 0)
			argp_error(state, "format \"%s\": expected dot or graphml", arg);
		a->graphml = !strcmp(arg, "graphml");
		return 0;
	case OPT_HOSTS:
		a->no_hosts = true;
		return 0;
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &a->in;
		state->child_inputs[1] = &a->out;
		return 0;
	case ARGP_KEY_SUCCESS:
		cli_made_needs_file(&a->out, a->output, state);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

int cli_export(int argc, char **argv)
{
	static const struct argp_child children[] = { { &input_argp, 0, NULL, 0 },
						      { &out_argp, 0, NULL, 0 },
						      { NULL, 0, NULL, 0 } };
	static const struct argp argp = {
		options,
		export_parse,
		"FILE",
		"Writes a fabric as a graph: nodes with names and GUIDs, cables with ports.",
		children,
		NULL,
		NULL
	};
	struct args a = { .in = CLI_INPUT_INIT,
			  .out = { .command = "export", .sections = sections } };
	struct osr_diag diag = { "" };
	enum osr_status st;
	int code;

	argp_parse(&argp, argc, argv, 0, NULL, &a);
	st = cli_input_load(&a.in, &diag);
	if (!st)
		st = write_graph(&a, &diag);
	if (!st)
		cli_made_say(&a.out, &a.in.net, a.output);
	code = st ? cli_fail(st, &diag) : out_end(&a.out, CLI_OK);
	cli_input_free(&a.in);
	return code;
}

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "cli/dot.h"

/* Text within quotes of the DOT language. */
static void put_text(const char *text, FILE *out)
{
	for (; *text; text++) {
		unsigned char x = (unsigned char)*text;

		if (x == '"' || x == '\\')
			fputc('\\', out);
		fputc(x < ' ' || x >= 127 ? '?' : x, out);
	}
}

void cli_dot_write(const struct osr_net *net, bool hosts, FILE *out)
{
	fputs("graph fabric {\n", out);
	for (uint32_t i = 0; i < net->n_nodes; i++) {
		if (!hosts && !osr_net_is_switch(net, i))
			continue;
		fprintf(out, "\tn%u [shape=%s label=\"", i,
			osr_net_is_switch(net, i) ? "box" : "ellipse");
		put_text(osr_net_shown(net, i), out);
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
}

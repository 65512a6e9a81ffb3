/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sys/stat.h>
#include <unistd.h>

#include "cli/input.h"
#include "cli/cli.h"
#include "cli/keep.h"
#include "io/netfile.h"
#include "io/net.h"
#include "io/lines.h"
#include "io/namemap.h"
#include "names/names.h"

const char *cli_input_name(const struct cli_input *in)
{
	if (in->is_live)
		return "live fabric";
	if (!in->path)
		return "no fabric";
	return strcmp(in->path, "-") ? in->path : "standard input";
}

static enum osr_status read_names(const char *path, struct osr_net *net, struct osr_diag *diag)
{
	struct osr_lines lines;
	uint32_t n_names, n_known;
	enum osr_status st =
		osr_namemap_read(osr_lines_open(&lines, path, diag), net, &n_names, &n_known);

	if (!st && !n_known)
		fprintf(stderr,
			"osmroutes: warning: %.300s: of %u GUIDs none is the GUID of a node in the "
			"fabric: nothing gets a name\n",
			path, n_names);
	return st;
}

bool cli_is_directory(const char *path)
{
	struct stat st;

	return path && !stat(path, &st) && S_ISDIR(st.st_mode);
}

enum osr_status cli_input_load(struct cli_input *in, struct osr_diag *diag)
{
	struct cli_stamp start = cli_now();
	uint32_t n_hosts = 0, n_even = 0;
	struct osr_diag why = { "" };
	struct osr_lines lines;
	enum osr_status st;

	if (cli_is_directory(in->path)) {
		if (asprintf(&in->owned, "%s/opensm-subnet.lst", in->path) < 0)
			return osr_fail(diag, OSR_NOMEM, "%s: out of memory", in->path);
		in->path = in->owned;
	}
	if (in->is_live)
		st = cli_live_net(&in->live, &in->net, diag);
	else if (cli_stored_probe(in->path))
		st = cli_kept_net(in->path, &in->net, diag);
	else
		st = osr_fabricfile_read(osr_lines_open(&lines, in->path, diag), &in->net);
	if (!st && in->names)
		st = read_names(in->names, &in->net, diag);
	if (!st && !osr_net_tell_apart(&in->net))
		st = osr_fail(diag, OSR_NOMEM, "out of memory for the names of nodes");
	if (!st && in->lfts && in->net.no_lmcs)
		st = osr_tables_lmcs(osr_lines_open(&lines, in->lfts, diag), &in->net);
	/* With an LMC above 0 the LID of every host is even. */
	for (uint32_t p = 0; !st && p < in->net.n_ports; p++) {
		const struct osr_net_port *port = &in->net.ports[p];
		bool is_host = port->lid && !osr_net_is_switch(&in->net, port->node);

		n_hosts += is_host;
		n_even += is_host && !(port->lid & 1);
	}
	in->lmc_open = in->net.no_lmcs && !in->lfts && in->lmc < 0 && n_hosts && n_even == n_hosts;
	/* An error of the whole file stands in no line. */
	if (!st && (st = osr_net_fabric(&in->net, in->lmc, &in->arena, &in->fabric, &why)))
		osr_fail(diag, st, "%.200s: %.300s", cli_input_name(in), why.text);
	in->assumed = osr_net_assumed(&in->net);
	if (!st && in->net.n_failures)
		fprintf(stderr,
			"osmroutes: warning: %.300s:%s: ports did not answer when the file was "
			"made (%u such line%s): it may lack switches, hosts and cables\n",
			cli_input_name(in), in->net.names + in->net.failure, in->net.n_failures,
			in->net.n_failures == 1 ? "" : "s");
	if (!st && in->net.n_one_end)
		fprintf(stderr,
			"osmroutes: warning: %.300s: %u cable%s in one line alone, and OpenSM "
			"writes one for each end: the file may be cut off\n",
			cli_input_name(in), in->net.n_one_end,
			in->net.n_one_end == 1 ? " stands" : "s stand");
	in->read = cli_since(start);
	return st;
}

void cli_input_free(struct cli_input *in)
{
	osr_arena_free(&in->arena);
	osr_arena_free(&in->live.arena);
	osr_net_free(&in->net);
	free(in->owned);
	free(in->lfts);
}

/* ", LIDs of 10 end ports" and the like, each if there are any. */
static void input_add(char *text, size_t size, const char *what, uint32_t n, const char *things)
{
	size_t used = strlen(text);

	if (n)
		snprintf(text + used, size - used, "%s%s %u %s", used ? ", " : "", what, n, things);
}

/* In one sentence the parts of the fabric that no line of the file names. */
static void input_say_assumed(const struct cli_input *in, struct out *out)
{
	const struct osr_net_assumed *assumed = &in->assumed;
	char text[256] = "", of[64];

	input_add(text, sizeof(text), "LIDs of", assumed->lids,
		  assumed->lids == 1 ? "end port" : "end ports");
	input_add(text, sizeof(text), "GUIDs of", assumed->guids,
		  assumed->guids == 1 ? "node" : "nodes");
	input_add(text, sizeof(text), "GUIDs of", assumed->guids_of_ids,
		  assumed->guids_of_ids == 1 ? "node (from its id)" : "nodes (from their ids)");
	snprintf(of, sizeof(of), "of %u cables between switches (%s)", assumed->switch_cables,
		 assumed->rates < assumed->switch_cables ? "as the fastest" : "all alike");
	input_add(text, sizeof(text), "rates of", assumed->rates, of);
	if (*text)
		out_note(out, "assumed, because %s does not say it: %s", cli_input_name(in), text);
}

void cli_input_say(const struct cli_input *in, struct out *out)
{
	static const struct out_field fields[] = { CLI_INPUT_FIELDS, { 0 } };
	const struct osr_fabric *fabric = &in->fabric;
	char parts[64] = "";

	if (fabric->n_components > 1)
		snprintf(parts, sizeof(parts), "; split into %u disconnected components",
			 fabric->n_components);
	out_head(out, "%s: %u switch%s, %u channels, %u end port%s, %u LID%s%s; read in %.1f ms",
		 cli_input_name(in), fabric->n_switches, fabric->n_switches == 1 ? "" : "es",
		 fabric->n_channels, fabric->n_terminals, fabric->n_terminals == 1 ? "" : "s",
		 fabric->n_dests, fabric->n_dests == 1 ? "" : "s", parts, in->read.wall);
	input_say_assumed(in, out);
	if (in->lmc_open)
		out_note(out, "%s: this file has no LMC: give --lmc=N if the subnet has one",
			 cli_input_name(in));
	out_text(out, "fabric", cli_input_name(in));
	out_members(out, fields, in, 0);
}

/* DEV, DEV:PORT or DEV:PORT:PKEY, an empty part being the default. */
enum osr_status cli_take_live(struct cli_input *in, const char *arg, const struct cli_line *line)
{
	char *part[3] = { NULL }, *rest = in->live_words;
	enum osr_status st = OSR_OK;
	long n;

	in->is_live = true;
	snprintf(rest, sizeof(in->live_words), "%s", arg ? arg : "");
	for (unsigned i = 0; i < 3 && rest; i++)
		part[i] = strsep(&rest, ":");
	if (rest)
		return osr_fail(line->diag, OSR_INVAL,
				"live \"%s\": expected DEV, DEV:PORT or DEV:PORT:PKEY", arg);
	if (part[0] && *part[0])
		in->live.from.ca = part[0];
	if (part[1] && *part[1]) {
		st = cli_take_number(line, "port of --live", part[1], 1, 254, &n);
		in->live.from.port = (unsigned)n;
	}
	if (!st && part[2] && *part[2]) {
		st = cli_take_number(line, "P_Key index of --live", part[2], 0, UINT16_MAX, &n);
		in->live.from.pkey_index = (unsigned)n;
	}
	return st;
}

enum { OPT_LIVE = 256 };

static const struct cli_option options[] = {
	{ "live", CLI_LIVE_ARG,
	  "no FILE: the fabric this machine is connected to; by this device and port, with this "
	  "P_Key table index",
	  .key = OPT_LIVE, .arg_optional = true },
	{ "lmc", "N", "new LIDs, 2^N for every host (default: those of the file)",
	  CLI_NUMBER(struct cli_input, lmc, 0, 7) },
	{ "names", "MAP", CLI_NAMES_DOC, CLI_TEXT(struct cli_input, names) },
	{ 0 },
};

static enum osr_status input_parse(int key, const char *arg, void *args,
				   const struct cli_line *line)
{
	struct cli_input *in = args;

	switch (key) {
	case OPT_LIVE:
		return cli_take_live(in, arg, line);
	case CLI_ONE_WORD:
		if (in->path)
			return osr_fail(line->diag, OSR_INVAL, "expected exactly one FILE");
		in->path = arg;
		return OSR_OK;
	case CLI_ALL_WORDS:
		if (in->path && in->is_live)
			return osr_fail(line->diag, OSR_INVAL, "either FILE or --live");
		if (!in->path && !in->is_live)
			return osr_fail(line->diag, OSR_INVAL,
					"missing FILE (\"-\" is standard input); or --live, the "
					"fabric this machine is connected to");
		return OSR_OK;
	default:
		return OSR_NOT_APPLICABLE;
	}
}

const struct cli_spec input_spec = { options, input_parse };

/* ---- names of nodes, ports and cables -------------------------------------------------------- */

/* Every node by name, id and GUID, every port by GUID and LIDs. */
static enum osr_status index_names(const struct osr_net *net, struct osr_arena *arena,
				   struct osr_names *names, struct osr_diag *diag)
{
	struct osr_name *row =
		osr_alloc(arena, 2 * (size_t)net->n_nodes + net->n_ports + 1, sizeof(*row));
	uint32_t n = 0;

	if (osr_arena_failed(arena, diag))
		return OSR_NOMEM;
	for (uint32_t i = 0; i < net->n_nodes; i++) {
		bool is_switch = osr_net_is_switch(net, i);
		struct osr_name own = { .node = i,
					.kind = is_switch ? OSR_NAME_SWITCH : OSR_NAME_END_PORT };

		row[n] = row[n + 1] = own;
		row[n].text = osr_net_shown(net, i);
		row[n++].guid = net->nodes[i].guid;
		row[n++].text = osr_net_id(net, i);
		for (uint32_t p = 0; p <= (is_switch ? 0u : net->nodes[i].n_ports); p++) {
			const struct osr_net_port *of = &net->ports[net->nodes[i].port_row + p];

			row[n] = own;
			row[n].guid = of->guid;
			row[n].lid = of->lid;
			row[n].lmc = of->lmc;
			row[n++].port = (uint8_t)p;
		}
	}
	return osr_names_build(names, row, n, arena, diag);
}

/* One node, and the port that the word names, or 0. */
static enum osr_status find_node(const struct osr_net *net, const char *word, unsigned kinds,
				 uint32_t *node, uint32_t *port, struct osr_diag *diag)
{
	struct osr_arena arena = { 0 };
	struct osr_names names;
	enum osr_status st = index_names(net, &arena, &names, diag);

	if (!st)
		st = osr_names_find(&names, word, kinds, node, port, diag);
	osr_arena_free(&arena);
	return st;
}

enum osr_status cli_find_switch(const struct osr_net *net, const char *word, uint32_t *node,
				struct osr_diag *diag)
{
	uint32_t port;
	enum osr_status st = find_node(net, word, OSR_NAME_SWITCH, node, &port, diag);

	return st || !port ? st : osr_fail(diag, OSR_INVAL, "\"%s\" is a port of a switch", word);
}

enum osr_status cli_find_cable(const struct osr_net *net, const char *word, uint32_t *port,
			       struct osr_diag *diag)
{
	uint32_t node, number;
	enum osr_status st = find_node(net, word, OSR_NAME_ANY, &node, &number, diag);

	if (st)
		return st;
	if (!number)
		return osr_fail(diag, OSR_INVAL, "link \"%s\": expected NODE:PORT", word);
	*port = osr_net_port(net, node, number);
	if (*port == OSR_NONE || net->ports[*port].peer == OSR_NONE)
		return osr_fail(diag, OSR_INVAL, "link \"%s\": there is no cable on this port",
				word);
	return OSR_OK;
}

enum osr_status cli_hosts_init(struct cli_hosts *hosts, const struct cli_input *in,
			       struct osr_arena *arena, struct osr_diag *diag)
{
	*hosts = (struct cli_hosts){ .in = in };
	hosts->rail = osr_alloc(arena, in->fabric.n_terminals, sizeof(*hosts->rail));
	hosts->row = osr_calloc(arena, in->fabric.n_terminals + (size_t)1, sizeof(*hosts->row));
	hosts->listed = osr_calloc(arena, in->fabric.n_terminals, sizeof(*hosts->listed));
	return osr_arena_failed(arena, diag) ? OSR_NOMEM
					     : index_names(&in->net, arena, &hosts->names, diag);
}

/*
 * All ports of this node with a LID, or the one of this number; how many. Those that are listed
 * already are not listed again.
 */
static uint32_t add_rails(struct cli_hosts *hosts, uint32_t node, uint32_t number)
{
	const struct osr_net *net = &hosts->in->net;
	const struct osr_fabric *fabric = &hosts->in->fabric;
	const char *name = osr_net_name(net, node);
	uint32_t n = 0;

	for (uint32_t p = 0; p <= net->nodes[node].n_ports; p++) {
		uint32_t lid = net->ports[net->nodes[node].port_row + p].lid;
		uint32_t d = lid && lid <= fabric->max_lid ? fabric->lid_dest[lid] : OSR_NONE;

		if (d == OSR_NONE || (number && p && p != number))
			continue;
		n++;
		if (hosts->listed[fabric->dest_term[d]])
			continue;
		hosts->listed[fabric->dest_term[d]] = true;
		hosts->rail[hosts->n_rails++] =
			(struct cli_rail){ fabric->dest_term[d], hosts->n,
					   name + strcspn(name, " \t,;"), p };
	}
	return n;
}

enum osr_status cli_hosts_add(struct cli_hosts *hosts, const char *word, struct osr_diag *diag)
{
	uint32_t first = hosts->n_rails, n = 0, number;
	enum osr_status st = osr_names_host(&hosts->names, word, OSR_NAME_ANY, &number, diag);

	if (st)
		return st;
	for (uint32_t i = 0; i < hosts->names.n_hits; i++)
		n += add_rails(hosts, hosts->names.hit[i]->node, number);
	if (!n)
		return osr_fail(diag, OSR_INVAL, "\"%s\" has no end port with a LID on a switch",
				word);
	if (hosts->n_rails == first)
		return OSR_OK;
	if (hosts->n_rails < first + n)
		return osr_fail(diag, OSR_INVAL, "\"%s\": a port of it is listed already", word);
	hosts->row[++hosts->n] = hosts->n_rails;
	return OSR_OK;
}

bool cli_rails_meet(const struct cli_hosts *hosts, const struct cli_rail *from,
		    const struct cli_rail *to)
{
	if (from->host == to->host)
		return false;
	for (uint32_t i = hosts->row[to->host]; i < hosts->row[to->host + 1]; i++)
		if (hosts->rail[i].port == from->port && !strcmp(hosts->rail[i].hca, from->hca))
			return &hosts->rail[i] == to;
	return true;
}

struct osr_lines *cli_hostlist_open(struct osr_lines *in, const char *list, struct osr_diag *diag)
{
	if (!strcmp(list, "-") || !access(list, R_OK))
		osr_lines_open(in, list, diag);
	else
		osr_lines_text(in, list, strlen(list), "--hosts", diag);
	return in;
}

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "cli/endport.h"

#include <string.h>

#include <osmroutes/names.h>
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

size_t cli_first_word(const char *name)
{
	return strcspn(name, " \t,;");
}

/* Every node by name, id and GUID, every port by GUID and LIDs. */
static enum osr_status endport_index(const struct osr_net *net, struct osr_names *names,
				     struct osr_arena *arena, struct osr_diag *diag)
{
	uint32_t n = 0;
	struct osr_name *row =
		osr_alloc(arena, 2 * (size_t)net->n_nodes + net->n_ports + 1, sizeof(*row));

	if (osr_arena_failed(arena, diag))
		return OSR_NOMEM;
	for (uint32_t i = 0; i < net->n_nodes; i++) {
		const struct osr_net_node *node = &net->nodes[i];
		bool is_switch = node->type == OSR_NET_SWITCH;
		struct osr_name own = { .node = i,
					.kind = is_switch ? OSR_NAME_SWITCH : OSR_NAME_END_PORT };

		row[n] = row[n + 1] = own;
		row[n].text = osr_net_shown(net, i);
		row[n++].guid = node->guid;
		row[n++].text = osr_net_id(net, i);
		for (uint32_t p = 0; p <= (is_switch ? 0u : node->n_ports); p++) {
			const struct osr_net_port *port = &net->ports[node->port_row + p];

			row[n] = own;
			row[n].guid = port->guid;
			row[n].lid = port->lid;
			row[n].lmc = port->lmc;
			row[n++].port = (uint8_t)p;
		}
	}
	return osr_names_build(names, row, n, arena, diag);
}

static enum osr_status endport_find(const struct osr_net *net, const char *word, unsigned kinds,
				    uint32_t *node, uint32_t *port, struct osr_diag *diag)
{
	struct osr_arena arena = { 0 };
	struct osr_names names;
	enum osr_status st = endport_index(net, &names, &arena, diag);

	if (!st)
		st = osr_names_find(&names, word, kinds, node, port, diag);
	osr_arena_free(&arena);
	return st;
}

enum osr_status cli_find_switch(const struct osr_net *net, const char *word, uint32_t *node,
				struct osr_diag *diag)
{
	uint32_t port;
	enum osr_status st = endport_find(net, word, OSR_NAME_SWITCH, node, &port, diag);

	return st || !port ? st : osr_fail(diag, OSR_INVAL, "\"%s\" is a port of a switch", word);
}

enum osr_status cli_find_cable(const struct osr_net *net, const char *word, uint32_t *port,
			       struct osr_diag *diag)
{
	uint32_t node, number;
	enum osr_status st = endport_find(net, word, OSR_NAME_ANY, &node, &number, diag);

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

enum osr_status cli_find_terminal(const struct osr_net *net, const struct osr_fabric *fabric,
				  const char *word, uint32_t *term, struct osr_diag *diag)
{
	uint32_t node, number, found = 0;
	enum osr_status st = endport_find(net, word, OSR_NAME_ANY, &node, &number, diag);

	*term = OSR_NONE;
	/* All ports of a node if it is named alone; those with a LID are end ports. */
	for (uint32_t p = 0; !st && p <= net->nodes[node].n_ports; p++) {
		uint32_t lid = net->ports[net->nodes[node].port_row + p].lid;
		uint32_t d = lid && lid <= fabric->max_lid ? fabric->lid_dest[lid] : OSR_NONE;

		if (d == OSR_NONE || (number && p && p != number))
			continue;
		*term = fabric->dest_term[d];
		found++;
	}
	if (found > 1)
		return osr_fail(diag, OSR_INVAL,
				"%u ports of \"%s\" are connected: give \"%s:PORT\"", found, word,
				word);
	if (!found && !st)
		return osr_fail(diag, OSR_INVAL, "\"%s\" has no end port with a LID on a switch",
				word);
	return st;
}

#define NODE_SIZE 128

struct name_list {
	bool (*take)(void *context, const char *name);
	void *context;
};

static bool expand_brackets(const struct name_list *to, const char *head, const char *rest)
{
	const char *open = strchr(rest, '['), *close = open ? strchr(open, ']') : NULL;
	char name[NODE_SIZE];

	if (!close) {
		snprintf(name, sizeof(name), "%s%s", head, rest);
		return to->take(to->context, name);
	}
	for (const char *at = open + 1; at < close;) {
		char *end;
		unsigned long lo = strtoul(at, &end, 10), hi = lo;
		int width = (int)(end - at);

		if (end == at || !isdigit((unsigned char)*at))
			return false;
		if (*end == '-')
			hi = strtoul(end + 1, &end, 10);
		for (; lo <= hi && hi - lo < 1000000; lo++) {
			snprintf(name, sizeof(name), "%s%.*s%0*lu", head, (int)(open - rest), rest,
				 width, lo);
			if (!expand_brackets(to, name, close + 1))
				return false;
		}
		at = *end == ',' ? end + 1 : close;
	}
	return true;
}

bool cli_each_name(const char *list, bool (*take)(void *context, const char *name), void *context)
{
	const struct name_list to = { take, context };
	char word[OSR_LINES_MAX];

	while (*list) {
		size_t n = 0;
		int depth = 0;

		for (; list[n] && (depth || list[n] != ','); n++)
			depth += (list[n] == '[') - (list[n] == ']');
		snprintf(word, sizeof(word), "%.*s", (int)n, list);
		if (!expand_brackets(&to, "", word))
			return false;
		list += n + (list[n] == ',');
	}
	return true;
}

struct osr_lines *cli_hostlist_open(struct osr_lines *in, const char *list, struct osr_diag *diag)
{
	if (!strcmp(list, "-") || !access(list, R_OK))
		osr_lines_open(in, list, diag);
	else
		osr_lines_text(in, list, strlen(list), "--hosts", diag);
	in->by_people = true;
	return in;
}

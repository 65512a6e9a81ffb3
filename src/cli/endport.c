/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "cli/endport.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"

size_t cli_first_word(const char *name)
{
	return strcspn(name, " \t,;");
}

static bool equals(const char *text, const char *name, size_t len)
{
	return strlen(text) == len && !memcmp(text, name, len);
}

static bool read_guid(const char *word, size_t len, uint64_t *guid)
{
	char *end;

	if (len < 3 || strncmp(word, "0x", 2) != 0)
		return false;
	*guid = strtoull(word, &end, 16);
	return end == word + len;
}

enum match { BY_NAME, BY_GUID, BY_FIRST_WORD, N_MATCHES };

static bool matches(const struct osr_net *net, uint32_t i, enum match how, const char *name,
		    size_t len)
{
	const char *own = osr_net_name(net, i);
	uint64_t guid;

	switch (how) {
	case BY_NAME:
		return equals(own, name, len) || equals(osr_net_id(net, i), name, len);
	case BY_GUID:
		return read_guid(name, len, &guid) && net->nodes[i].guid == guid;
	default:
		return cli_first_word(own) == len && !memcmp(own, name, len);
	}
}

/* Node descriptions are long ("MF0;core-07:MQM9700/U1"): one that contains the name is what was meant. */
static enum osr_status unknown_node(const struct osr_net *net, const char *name, size_t len,
				    struct osr_diag *diag)
{
	char part[128];

	snprintf(part, sizeof(part), "%.*s", (int)len, name);
	for (uint32_t i = 0; i < net->n_nodes && len > 2; i++)
		if (strstr(osr_net_name(net, i), part))
			return osr_fail(diag, OSR_INVAL,
					"no node is called \"%s\": did you mean \"%s\"?", part,
					osr_net_name(net, i));
	return osr_fail(diag, OSR_INVAL, "no node is called \"%s\"", part);
}

enum osr_status cli_find_node(const struct osr_net *net, const char *name, size_t len,
			      uint32_t *node, struct osr_diag *diag)
{
	*node = OSR_NONE;
	for (enum match how = 0; how < N_MATCHES && *node == OSR_NONE; how++) {
		for (uint32_t i = 0; i < net->n_nodes; i++) {
			if (!matches(net, i, how, name, len))
				continue;
			if (*node != OSR_NONE)
				return osr_fail(diag, OSR_INVAL,
						"several nodes are called \"%.*s\", as \"%s\" and "
						"\"%s\": give the whole name or the GUID",
						(int)len, name, osr_net_id(net, *node),
						osr_net_id(net, i));
			*node = i;
		}
	}
	return *node == OSR_NONE ? unknown_node(net, name, len, diag) : OSR_OK;
}

/* NODE:PORT; false if there is no port number behind the last colon. */
static bool split(const char *word, size_t *len, uint32_t *port)
{
	const char *colon = strrchr(word, ':');
	long number = 0;

	if (!colon || !cli_number(colon + 1, 1, OSR_NET_MAX_NODE_PORTS, &number))
		return false;
	*len = (size_t)(colon - word);
	*port = (uint32_t)number;
	return true;
}

enum osr_status cli_find_cable(const struct osr_net *net, const char *word, uint32_t *port,
			       struct osr_diag *diag)
{
	uint32_t node, number;
	enum osr_status st;
	size_t len;

	if (!split(word, &len, &number))
		return osr_fail(diag, OSR_INVAL, "link \"%s\": expected NODE:PORT", word);
	st = cli_find_node(net, word, len, &node, diag);
	if (st)
		return st;
	*port = osr_net_port(net, node, number);
	if (*port == OSR_NONE || net->ports[*port].peer == OSR_NONE)
		return osr_fail(diag, OSR_INVAL, "link \"%s\": there is no cable on this port",
				word);
	return OSR_OK;
}

/* ---- end ports ------------------------------------------------------------------------------ */

static uint32_t terminal_of_lid(const struct osr_fabric *fabric, uint64_t lid)
{
	uint32_t d = lid && lid <= fabric->max_lid ? fabric->lid_dest[lid] : OSR_NONE;

	return d == OSR_NONE ? OSR_NONE : fabric->dest_term[d];
}

/* All ports of a node if number is 0; how many of them have a LID. */
static uint32_t terminals_of(const struct osr_net *net, const struct osr_fabric *fabric,
			     uint32_t node, uint32_t number, uint32_t *term)
{
	const struct osr_net_node *net_node = &net->nodes[node];
	bool is_switch = net_node->type == OSR_NET_SWITCH;
	uint32_t found = 0;

	for (uint32_t p = is_switch ? 0 : 1; p <= (is_switch ? 0 : net_node->n_ports); p++) {
		uint32_t t = terminal_of_lid(fabric, net->ports[net_node->port_row + p].lid);

		if (t == OSR_NONE || (number && !is_switch && p != number))
			continue;
		*term = t;
		found++;
	}
	return found;
}

static enum osr_status of_node(const struct osr_net *net, const struct osr_fabric *fabric,
			       const char *word, uint32_t *term, struct osr_diag *diag)
{
	size_t len = strlen(word);
	uint32_t node, number = 0, found;
	enum osr_status st = cli_find_node(net, word, len, &node, diag);
	struct osr_diag why;

	if (st && split(word, &len, &number))
		st = cli_find_node(net, word, len, &node, &why);
	if (st)
		return st;
	found = terminals_of(net, fabric, node, number, term);
	if (found > 1)
		return osr_fail(diag, OSR_INVAL,
				"%u ports of \"%s\" are connected: give \"%s:PORT\"", found, word,
				word);
	if (!found)
		return osr_fail(diag, OSR_INVAL, "\"%s\" has no end port with a LID on a switch",
				word);
	return OSR_OK;
}

enum osr_status cli_find_terminal(const struct osr_net *net, const struct osr_fabric *fabric,
				  const char *word, uint32_t *term, struct osr_diag *diag)
{
	uint64_t guid;
	long lid;

	*term = OSR_NONE;
	if (!strncmp(word, "lid:", 4)) {
		if (cli_number(word + 4, 1, OSR_MAX_LID, &lid))
			*term = terminal_of_lid(fabric, (uint64_t)lid);
		return *term != OSR_NONE ? OSR_OK
					 : osr_fail(diag, OSR_INVAL,
						    "no end port has the LID \"%s\"", word + 4);
	}
	for (uint32_t t = 0; read_guid(word, strlen(word), &guid) && t < fabric->n_terminals; t++)
		if (fabric->term_guid[t] == guid && fabric->term_role[t] != OSR_ROLE_SP0)
			*term = t;
	return *term != OSR_NONE ? OSR_OK : of_node(net, fabric, word, term, diag);
}

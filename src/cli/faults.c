/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "cli/faults.h"

#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"

enum { OPT_LINK = 256, OPT_SWITCH, OPT_EACH, OPT_LINKS, OPT_SWITCHES, OPT_CASES, OPT_SEED };

static const struct argp_option options[] = {
	{ "link", OPT_LINK, "NODE:PORT", 0, "take out the cable on this port; may be repeated", 0 },
	{ "switch", OPT_SWITCH, "NODE", 0, "take out this switch; may be repeated", 0 },
	{ "each", OPT_EACH, "WORD", 0, "one at a time: link or switch (without hosts)", 0 },
	{ "links", OPT_LINKS, "N", 0, "take out N cables between switches at random", 0 },
	{ "switches", OPT_SWITCHES, "N", 0, "take out N switches without hosts at random", 0 },
	{ "cases", OPT_CASES, "N", 0, "so many random cases (default 10)", 0 },
	{ "seed", OPT_SEED, "N", 0, "seed of the first random case (default 1), then one more each",
	  0 },
	{ NULL, 0, NULL, 0, NULL, 0 },
};

/* ---- cases ---------------------------------------------------------------------------------- */

/* What is taken out of the net in one case. */
struct out_of {
	bool *gone, *cut; /* [nodes], [ports] */
};

static enum osr_status find_node(const struct osr_net *net, const char *name, size_t len,
				 uint32_t *node, struct osr_diag *diag)
{
	*node = OSR_NONE;
	for (uint32_t i = 0; i < net->n_nodes; i++) {
		const char *names[] = { osr_net_name(net, i), osr_net_id(net, i) };

		for (uint32_t k = 0; k < 2; k++) {
			if (strlen(names[k]) != len || memcmp(names[k], name, len) != 0)
				continue;
			if (*node != OSR_NONE && *node != i)
				return osr_fail(diag, OSR_INVAL,
						"several nodes are called \"%.*s\": take the id of "
						"the file",
						(int)len, name);
			*node = i;
		}
	}
	if (*node == OSR_NONE)
		return osr_fail(diag, OSR_INVAL, "no node is called \"%.*s\"", (int)len, name);
	return OSR_OK;
}

static enum osr_status cut_named(const struct cli_faults *a, const char *word, struct out_of *x,
				 struct osr_diag *diag)
{
	const char *colon = strrchr(word, ':');
	uint32_t node, port;
	long number = 0;
	enum osr_status st;

	if (!colon || !cli_number(colon + 1, 1, OSR_NET_MAX_NODE_PORTS, &number))
		return osr_fail(diag, OSR_INVAL, "link \"%s\": expected NODE:PORT", word);
	st = find_node(a->net, word, (size_t)(colon - word), &node, diag);
	if (st)
		return st;
	port = osr_net_port(a->net, node, (uint32_t)number);
	if (port == OSR_NONE || a->net->ports[port].peer == OSR_NONE)
		return osr_fail(diag, OSR_INVAL, "link \"%s\": there is no cable on this port",
				word);
	x->cut[port] = true;
	return OSR_OK;
}

static enum osr_status take_named(const struct cli_faults *a, struct out_of *x, char *label,
				  struct osr_diag *diag)
{
	enum osr_status st = OSR_OK;

	for (uint32_t i = 0; i < a->n_links && !st; i++)
		st = cut_named(a, a->link[i], x, diag);
	for (uint32_t i = 0; i < a->n_switches && !st; i++) {
		uint32_t node;

		st = find_node(a->net, a->sw[i], strlen(a->sw[i]), &node, diag);
		if (!st && a->net->nodes[node].type != OSR_NET_SWITCH)
			st = osr_fail(diag, OSR_INVAL, "\"%s\" is no switch", a->sw[i]);
		if (!st)
			x->gone[node] = true;
	}
	if (a->n_links + a->n_switches == 1)
		snprintf(label, CLI_FAULT_LABEL, "%s", a->n_links ? a->link[0] : a->sw[0]);
	else
		snprintf(label, CLI_FAULT_LABEL, "%u cables, %u switches", a->n_links,
			 a->n_switches);
	return st;
}

static bool is_switch(const struct osr_net *net, uint32_t port)
{
	return net->nodes[net->ports[port].node].type == OSR_NET_SWITCH;
}

static bool has_host(const struct osr_net *net, uint32_t node)
{
	uint32_t row = net->nodes[node].port_row;

	for (uint32_t p = row + 1; p <= row + net->nodes[node].n_ports; p++)
		if (net->ports[p].peer != OSR_NONE && !is_switch(net, net->ports[p].peer))
			return true;
	return false;
}

/* Each cable between two switches, each switch without hosts. */
static uint32_t list_candidates(const struct osr_net *net, enum cli_faults_kind kind,
				uint32_t *list)
{
	uint32_t n = 0;

	for (uint32_t p = 0; kind == FAULTS_LINK && p < net->n_ports; p++) {
		uint32_t peer = net->ports[p].peer;

		if (peer != OSR_NONE && p < peer && is_switch(net, p) && is_switch(net, peer) &&
		    net->ports[p].node != net->ports[peer].node)
			list[n++] = p;
	}
	for (uint32_t i = 0; kind == FAULTS_SWITCH && i < net->n_nodes; i++)
		if (net->nodes[i].type == OSR_NET_SWITCH && !has_host(net, i))
			list[n++] = i;
	return n;
}

static void name_case(const struct cli_faults *a, uint32_t what, char *label)
{
	const struct osr_net *net = a->net;
	uint32_t peer;

	if (a->kind == FAULTS_SWITCH) {
		snprintf(label, CLI_FAULT_LABEL, "%s", osr_net_name(net, what));
		return;
	}
	peer = net->ports[what].peer;
	snprintf(label, CLI_FAULT_LABEL, "%s:%u - %s:%u", osr_net_name(net, net->ports[what].node),
		 osr_net_port_num(net, what), osr_net_name(net, net->ports[peer].node),
		 osr_net_port_num(net, peer));
}

static enum osr_status make_random(const struct cli_faults *a, uint32_t k, struct osr_net *net,
				   char *label, struct osr_diag *diag)
{
	struct osr_degrade how = a->random;
	struct osr_degraded done;
	enum osr_status st;

	how.seed += k;
	st = osr_topo_degrade(a->net, &how, net, &done, diag);
	if (!st)
		snprintf(label, CLI_FAULT_LABEL, "seed %llu: %u cables, %u switches",
			 (unsigned long long)how.seed, done.n_links, done.n_switches);
	return st;
}

static enum osr_status take_out(const struct cli_faults *a, uint32_t k, struct out_of *x,
				struct osr_net *net, char *label, struct osr_diag *diag)
{
	enum osr_status st = OSR_OK;

	if (!x->gone || !x->cut)
		return osr_fail(diag, OSR_NOMEM, "out of memory for %u nodes", a->net->n_nodes);
	if (a->kind == FAULTS_NAMED)
		st = take_named(a, x, label, diag);
	else
		name_case(a, a->list[k], label);
	if (a->kind == FAULTS_SWITCH)
		x->gone[a->list[k]] = true;
	else if (a->kind == FAULTS_LINK)
		x->cut[a->list[k]] = true;
	return st ? st : osr_topo_remove(a->net, x->gone, x->cut, net, diag);
}

enum osr_status cli_faults_make(const struct cli_faults *a, uint32_t k, struct osr_net *net,
				char *label, struct osr_diag *diag)
{
	struct out_of x;
	enum osr_status st;

	if (a->kind == FAULTS_RANDOM)
		return make_random(a, k, net, label, diag);
	x.gone = calloc((size_t)a->net->n_nodes + 1, sizeof(*x.gone));
	x.cut = calloc((size_t)a->net->n_ports + 1, sizeof(*x.cut));
	st = take_out(a, k, &x, net, label, diag);
	free(x.gone);
	free(x.cut);
	return st;
}

enum osr_status cli_faults_prepare(struct cli_faults *a, const struct osr_net *net,
				   const char *name, struct osr_diag *diag)
{
	a->net = net;
	a->list = calloc((size_t)net->n_ports + 1, sizeof(*a->list));
	if (!a->list)
		return osr_fail(diag, OSR_NOMEM, "out of memory for %u nodes", net->n_nodes);
	if (a->kind == FAULTS_NAMED)
		a->n_cases = 1;
	else if (a->kind != FAULTS_RANDOM)
		a->n_cases = list_candidates(net, a->kind, a->list);
	if (!a->n_cases)
		return osr_fail(diag, OSR_INVAL, "%s: there is nothing of this kind to take out",
				name);
	return OSR_OK;
}

void cli_faults_free(struct cli_faults *a)
{
	free(a->list);
}

/* ---- the command line ----------------------------------------------------------------------- */

static void choose(struct cli_faults *a, enum cli_faults_kind kind, struct argp_state *state)
{
	if (a->kind != FAULTS_NONE && a->kind != kind)
		argp_error(state,
			   "either --link and --switch, or --each, or --links and --switches");
	a->kind = kind;
}

static void add_named(struct cli_faults *a, const char **list, uint32_t *n, const char *arg,
		      struct argp_state *state)
{
	choose(a, FAULTS_NAMED, state);
	if (*n == CLI_FAULTS_MAX)
		argp_error(state, "at most %d of a kind", CLI_FAULTS_MAX);
	list[(*n)++] = arg;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct cli_faults *a = state->input;

	switch (key) {
	case OPT_LINK:
		add_named(a, a->link, &a->n_links, arg, state);
		return 0;
	case OPT_SWITCH:
		add_named(a, a->sw, &a->n_switches, arg, state);
		return 0;
	case OPT_EACH:
		if (strcmp(arg, "link") && strcmp(arg, "switch"))
			argp_error(state, "each \"%s\": expected link or switch", arg);
		choose(a, strcmp(arg, "link") ? FAULTS_SWITCH : FAULTS_LINK, state);
		return 0;
	case OPT_LINKS:
		choose(a, FAULTS_RANDOM, state);
		a->random.n_links = (uint32_t)cli_take_number(arg, "links", 0, 1000000, state);
		return 0;
	case OPT_SWITCHES:
		choose(a, FAULTS_RANDOM, state);
		a->random.n_switches =
			(uint32_t)cli_take_number(arg, "switches", 0, 1000000, state);
		return 0;
	case OPT_CASES:
		a->n_cases = (uint32_t)cli_take_number(arg, "cases", 1, 1000000, state);
		return 0;
	case OPT_SEED:
		a->random.seed = (uint64_t)cli_take_number(arg, "seed", 0, INT64_MAX, state);
		return 0;
	case ARGP_KEY_END:
		if (a->kind == FAULTS_NONE)
			argp_error(
				state,
				"what is to fail? --link, --switch, --each, --links or --switches");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

const struct argp faults_argp = { options, parse, NULL, NULL, NULL, NULL, NULL };

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "cli/faults.h"

#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/endport.h"

enum { OPT_LINK = 256, OPT_SWITCH, OPT_EACH, OPT_LINKS, OPT_SWITCHES, OPT_CASES, OPT_SEED };

static const struct argp_option options[] = {
	{ "link", OPT_LINK, "NODE:PORT", 0, "remove the cable on this port; may be repeated", 0 },
	{ "switch", OPT_SWITCH, "NODE", 0, "remove this switch; may be repeated", 0 },
	{ "each", OPT_EACH, "WORD", 0, "one at a time: link or switch (without hosts)", 0 },
	{ "links", OPT_LINKS, "N", 0, "remove N cables between switches at random", 0 },
	{ "switches", OPT_SWITCHES, "N", 0, "remove N switches without hosts at random", 0 },
	{ "cases", OPT_CASES, "N", 0, "number of random cases (default 10)", 0 },
	{ "seed", OPT_SEED, "N", 0, "seed of the first random case (default 1), then one more each",
	  0 },
	{ NULL, 0, NULL, 0, NULL, 0 },
};

/* ---- cases ---------------------------------------------------------------------------------- */

/* What is removed from the net in one case. */
struct out_of {
	bool *gone, *cut; /* [nodes], [ports] */
};

static void name_named(const struct cli_faults *a, char *label)
{
	size_t used = 0;

	for (uint32_t i = 0; i < a->n_links + a->n_switches && used < CLI_FAULT_LABEL; i++)
		used += (size_t)snprintf(label + used, CLI_FAULT_LABEL - used, "%s%s", i ? ", " : "",
					 i < a->n_links ? a->link[i] : a->sw[i - a->n_links]);
}

static enum osr_status take_named(const struct cli_faults *a, struct out_of *x, char *label,
				  struct osr_diag *diag)
{
	enum osr_status st = OSR_OK;

	for (uint32_t i = 0; i < a->n_links && !st; i++) {
		uint32_t port;

		st = cli_find_cable(a->net, a->link[i], &port, diag);
		if (!st)
			x->cut[port] = true;
	}
	for (uint32_t i = 0; i < a->n_switches && !st; i++) {
		uint32_t node;

		st = cli_find_node(a->net, a->sw[i], strlen(a->sw[i]), &node, diag);
		if (!st && a->net->nodes[node].type != OSR_NET_SWITCH)
			st = osr_fail(diag, OSR_INVAL, "\"%s\" is no switch", a->sw[i]);
		if (!st)
			x->gone[node] = true;
	}
	if (a->n_links + a->n_switches == 1)
		snprintf(label, CLI_FAULT_LABEL, "%s", a->n_links ? a->link[0] : a->sw[0]);
	else
		name_named(a, label);
	return st;
}

static bool is_switch(const struct osr_net *net, uint32_t port)
{
	return net->nodes[net->ports[port].node].type == OSR_NET_SWITCH;
}

/* Each cable between two switches, each switch without hosts. */
static uint32_t list_candidates(const struct osr_net *net, enum cli_faults_kind kind,
				const bool *transit, uint32_t *list)
{
	uint32_t n = 0;

	for (uint32_t p = 0; kind == FAULTS_LINK && p < net->n_ports; p++) {
		uint32_t peer = net->ports[p].peer;

		if (peer != OSR_NONE && p < peer && is_switch(net, p) && is_switch(net, peer) &&
		    net->ports[p].node != net->ports[peer].node)
			list[n++] = p;
	}
	for (uint32_t i = 0; kind == FAULTS_SWITCH && i < net->n_nodes; i++)
		if (transit[i])
			list[n++] = i;
	return n;
}

void cli_cable_name(const struct osr_net *net, uint32_t port, char *buf, size_t size)
{
	uint32_t peer = net->ports[port].peer;

	snprintf(buf, size, "%s:%u - %s:%u", osr_net_name(net, net->ports[port].node),
		 osr_net_port_num(net, port), osr_net_name(net, net->ports[peer].node),
		 osr_net_port_num(net, peer));
}

const struct out_field cli_removed_fields[] = {
	{ "kind", NULL, OUT_TEXT, 0 },
	{ "name", NULL, OUT_TEXT, 0 },
	{ NULL, NULL, 0, 0 },
};

/* A cable once, at its lower port. */
static bool is_cut(const struct osr_net *net, const bool *cut, uint32_t port)
{
	return cut[port] && net->ports[port].peer > port && net->ports[port].peer != OSR_NONE;
}

void cli_removed_say(const struct osr_net *net, const bool *gone, const bool *cut, struct out *out,
		     const char *section)
{
	char name[CLI_FAULT_LABEL];

	for (uint32_t i = 0; i < net->n_nodes; i++) {
		if (!gone[i])
			continue;
		out_row(out, section);
		out_text(out, "kind", "switch");
		out_text(out, "name", osr_net_name(net, i));
	}
	for (uint32_t p = 0; p < net->n_ports; p++) {
		if (!is_cut(net, cut, p))
			continue;
		cli_cable_name(net, p, name, sizeof(name));
		out_row(out, section);
		out_text(out, "kind", "link");
		out_text(out, "name", name);
	}
}

static void name_case(const struct cli_faults *a, uint32_t what, char *label)
{
	if (a->kind == FAULTS_SWITCH)
		snprintf(label, CLI_FAULT_LABEL, "%s", osr_net_name(a->net, what));
	else
		cli_cable_name(a->net, what, label, CLI_FAULT_LABEL);
}

/* Appends to a list of names in `label`; names that find no room are counted. */
static void add_name(char *label, const char *name, uint32_t *n_left_out)
{
	size_t used = strlen(label);

	if (*n_left_out || used + strlen(name) + 32 > CLI_FAULT_LABEL)
		(*n_left_out)++;
	else
		snprintf(label + used, CLI_FAULT_LABEL - used, "%s%s",
			 label[used - 1] == ' ' ? "" : ", ", name);
}

static void name_random(const struct osr_net *net, uint64_t seed, const struct out_of *x, char *label)
{
	char name[CLI_FAULT_LABEL];
	uint32_t n_left_out = 0;
	size_t used;

	snprintf(label, CLI_FAULT_LABEL, "seed %llu: ", (unsigned long long)seed);
	for (uint32_t i = 0; i < net->n_nodes; i++)
		if (x->gone[i])
			add_name(label, osr_net_name(net, i), &n_left_out);
	for (uint32_t p = 0; p < net->n_ports; p++) {
		if (!is_cut(net, x->cut, p))
			continue;
		cli_cable_name(net, p, name, sizeof(name));
		add_name(label, name, &n_left_out);
	}
	used = strlen(label);
	if (n_left_out)
		snprintf(label + used, CLI_FAULT_LABEL - used, " and %u more", n_left_out);
}

static enum osr_status choose_random(const struct cli_faults *a, uint32_t k, struct out_of *x,
				     char *label, struct osr_diag *diag)
{
	struct osr_degrade how = a->random;
	struct osr_degraded done;
	enum osr_status st;

	how.seed += k;
	st = osr_topo_choose(a->net, &how, x->gone, x->cut, &done, diag);
	if (!st && done.n_links < how.n_links)
		st = osr_fail(diag, OSR_INVAL,
			      "only %u of %u cables between switches can be removed: without more the fabric "
			      "would be split",
			      done.n_links, how.n_links);
	if (!st && done.n_switches < how.n_switches)
		st = osr_fail(diag, OSR_INVAL,
			      "only %u of %u switches without hosts can be removed: there are no more, or the "
			      "fabric would be split; --switch=NODE removes any",
			      done.n_switches, how.n_switches);
	if (!st)
		name_random(a->net, how.seed, x, label);
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
	else if (a->kind == FAULTS_RANDOM)
		st = choose_random(a, k, x, label, diag);
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
	bool *transit = calloc((size_t)net->n_nodes + 1, sizeof(*transit));

	a->net = net;
	a->list = calloc((size_t)net->n_ports + 1, sizeof(*a->list));
	if (!a->list || !transit) {
		free(transit);
		return osr_fail(diag, OSR_NOMEM, "out of memory for %u nodes", net->n_nodes);
	}
	osr_topo_transit(net, transit);
	if (a->kind == FAULTS_NAMED)
		a->n_cases = 1;
	else if (a->kind != FAULTS_RANDOM)
		a->n_cases = list_candidates(net, a->kind, transit, a->list);
	free(transit);
	if (!a->n_cases)
		return osr_fail(diag, OSR_INVAL,
				a->kind == FAULTS_SWITCH
					? "%s: no switch without hosts in this fabric; use --switch=NODE"
					: "%s: no cable between two switches in this fabric",
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
				"nothing to remove: give --link, --switch, --each, --links or --switches");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

const struct argp faults_argp = { options, parse, NULL, NULL, NULL, NULL, NULL };

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "cli/faults.h"

#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/endport.h"

enum { OPT_LINK = 256, OPT_SWITCH, OPT_EACH, OPT_LINKS, OPT_SWITCHES, OPT_SEED, OPT_SPLIT };

static const struct cli_option options[] = {
	{ "link", "NODE:PORT", "remove the cable on this port; may be repeated", .key = OPT_LINK },
	{ "switch", "NODE", "remove this switch; may be repeated", .key = OPT_SWITCH },
	{ "each", "WORD", "one at a time: link or switch (without hosts)", .key = OPT_EACH },
	{ "links", "N[%]", "remove N, or N percent, of the cables between switches at random",
	  .key = OPT_LINKS },
	{ "switches", "N[%]", "remove N, or N percent, of the switches without hosts at random",
	  .key = OPT_SWITCHES },
	{ "cases", "N", "number of random cases (default 10)",
	  CLI_NUMBER(struct cli_faults, n_cases, 1, 1000000) },
	{ "seed", "N", "seed of the first random case (default 1), then one more each",
	  .key = OPT_SEED },
	{ "split", NULL, "the fabric may be split at random (default: it stays connected)",
	  .key = OPT_SPLIT },
	{ "any-switch", NULL, "switches with hosts may go at random, too, with their hosts",
	  CLI_FLAG(struct cli_faults, random.hosts_too) },
	{ 0 },
};

/* ---- cases ---------------------------------------------------------------------------------- */

/* What is removed from the net in one case. */
struct out_of {
	bool *gone, *cut; /* [nodes], [ports] */
};

static void name_named(const struct cli_faults *faults, char *label)
{
	size_t used = 0;

	for (uint32_t i = 0; i < faults->n_links + faults->n_switches && used < CLI_FAULT_LABEL;
	     i++)
		used += (size_t)snprintf(
			label + used, CLI_FAULT_LABEL - used, "%s%s", i ? ", " : "",
			i < faults->n_links ? faults->link[i] : faults->sw[i - faults->n_links]);
}

static bool faults_is_switch(const struct osr_net *net, uint32_t port)
{
	return net->nodes[net->ports[port].node].type == OSR_NET_SWITCH;
}

/* Each cable between two switches, each switch without hosts. */
static uint32_t faults_list_candidates(const struct osr_net *net, enum cli_faults_kind kind,
				       const bool *transit, uint32_t *list)
{
	uint32_t n = 0;

	for (uint32_t p = 0; kind == FAULTS_LINK && p < net->n_ports; p++) {
		uint32_t peer = net->ports[p].peer;

		if (peer != OSR_NONE && p < peer && faults_is_switch(net, p) &&
		    faults_is_switch(net, peer) && net->ports[p].node != net->ports[peer].node)
			list[n++] = p;
	}
	for (uint32_t i = 0; kind == FAULTS_SWITCH && i < net->n_nodes; i++)
		if (transit[i])
			list[n++] = i;
	return n;
}

/* "NODE:PORT - NODE:PORT" of the cable at this port. */
static void faults_cable_name(const struct osr_net *net, uint32_t port, char *buf, size_t size)
{
	uint32_t peer = net->ports[port].peer;

	snprintf(buf, size, "%s:%u - %s:%u", osr_net_shown(net, net->ports[port].node),
		 osr_net_port_num(net, port), osr_net_shown(net, net->ports[peer].node),
		 osr_net_port_num(net, peer));
}

const struct out_field cli_removed_fields[] = {
	{ "kind", NULL, OUT_TEXT, 0 },
	{ "name", NULL, OUT_TEXT, 0 },
	{ 0 },
};

/* A cable once, at its lower port. */
static bool is_cut(const struct osr_net *net, const bool *cut, uint32_t port)
{
	return cut[port] && net->ports[port].peer > port && net->ports[port].peer != OSR_NONE;
}

static void removed_say(const struct osr_net *net, const struct out_of *what, struct out *out)
{
	char name[CLI_FAULT_LABEL];

	for (uint32_t i = 0; i < net->n_nodes; i++) {
		if (!what->gone[i])
			continue;
		out_row(out, "removed");
		out_text(out, "kind", "switch");
		out_text(out, "name", osr_net_shown(net, i));
	}
	for (uint32_t p = 0; p < net->n_ports; p++) {
		if (!is_cut(net, what->cut, p))
			continue;
		faults_cable_name(net, p, name, sizeof(name));
		out_row(out, "removed");
		out_text(out, "kind", "link");
		out_text(out, "name", name);
	}
}

static void name_case(const struct cli_faults *faults, uint32_t what, char *label)
{
	if (faults->kind == FAULTS_SWITCH)
		snprintf(label, CLI_FAULT_LABEL, "%s", osr_net_shown(faults->net, what));
	else
		faults_cable_name(faults->net, what, label, CLI_FAULT_LABEL);
}

/* Appends to a list of names in `label`; names that find no room are counted. */
static void faults_add_name(char *label, const char *name, uint32_t *n_left_out)
{
	size_t used = strlen(label);

	if (*n_left_out || used + strlen(name) + 32 > CLI_FAULT_LABEL)
		(*n_left_out)++;
	else
		snprintf(label + used, CLI_FAULT_LABEL - used, "%s%s",
			 label[used - 1] == ' ' ? "" : ", ", name);
}

static void name_random(const struct osr_net *net, uint64_t seed, const struct out_of *out,
			char *label)
{
	char name[CLI_FAULT_LABEL];
	uint32_t n_left_out = 0;
	size_t used;

	snprintf(label, CLI_FAULT_LABEL, "seed %llu: ", (unsigned long long)seed);
	for (uint32_t i = 0; i < net->n_nodes; i++)
		if (out->gone[i])
			faults_add_name(label, osr_net_shown(net, i), &n_left_out);
	for (uint32_t p = 0; p < net->n_ports; p++) {
		if (!is_cut(net, out->cut, p))
			continue;
		faults_cable_name(net, p, name, sizeof(name));
		faults_add_name(label, name, &n_left_out);
	}
	used = strlen(label);
	if (n_left_out)
		snprintf(label + used, CLI_FAULT_LABEL - used, " and %u more", n_left_out);
}

/* A job that tests resilience must not pass because nothing was removed. */
static enum osr_status faults_check_amount(const char *what, uint32_t wanted, double percent,
					   uint32_t done, bool connected, struct osr_diag *diag)
{
	if (done >= wanted && (done || percent <= 0))
		return OSR_OK;
	return osr_fail(
		diag, OSR_INVAL, "%u %s can be removed, not %s%s", done, what,
		wanted ? "as many as asked for" : "that percentage",
		connected ? ": there are no more, or the fabric would be split (--split allows it)"
			  : "");
}

static enum osr_status faults_take_out(const struct cli_faults *faults, uint32_t k,
				       struct out_of *out, struct osr_net *net, char *label,
				       struct osr_diag *diag)
{
	enum osr_status st = OSR_OK;

	if (!out->gone || !out->cut)
		return osr_fail(diag, OSR_NOMEM, "out of memory for %u nodes",
				faults->net->n_nodes);
	if (faults->kind == FAULTS_NAMED) {
		/* What was named. */
		st = OSR_OK;
		for (uint32_t i = 0; i < faults->n_links && !st; i++) {
			uint32_t port;

			st = cli_find_cable(faults->net, faults->link[i], &port, diag);
			if (!st)
				out->cut[port] = true;
		}
		for (uint32_t i = 0; i < faults->n_switches && !st; i++) {
			uint32_t node;

			st = cli_find_switch(faults->net, faults->sw[i], &node, diag);
			if (!st)
				out->gone[node] = true;
		}
		if (faults->n_links + faults->n_switches == 1)
			snprintf(label, CLI_FAULT_LABEL, "%s",
				 faults->n_links ? faults->link[0] : faults->sw[0]);
		else
			name_named(faults, label);
	} else if (faults->kind == FAULTS_RANDOM) {
		struct osr_degrade how = faults->random;
		struct osr_degraded done;

		/* Another seed for each case. */
		how.seed += k;
		st = osr_topo_choose(faults->net, &how, out->gone, out->cut, &done, diag);
		if (!st)
			st = faults_check_amount(how.hosts_too ? "switches"
							       : "switches without hosts",
						 how.n_switches, how.switches_percent,
						 done.n_switches, how.keep_connected, diag);
		if (!st)
			st = faults_check_amount("cables between switches", how.n_links,
						 how.links_percent, done.n_links,
						 how.keep_connected, diag);
		if (!st)
			name_random(faults->net, how.seed, out, label);
	} else
		name_case(faults, faults->list[k], label);
	if (faults->kind == FAULTS_SWITCH)
		out->gone[faults->list[k]] = true;
	else if (faults->kind == FAULTS_LINK)
		out->cut[faults->list[k]] = true;
	return st ? st : osr_topo_remove(faults->net, out->gone, out->cut, net, diag);
}

enum osr_status cli_faults_make(const struct cli_faults *faults, uint32_t k, struct osr_net *net,
				char *label, struct out *removed, struct osr_diag *diag)
{
	struct out_of out;
	enum osr_status st;

	out.gone = calloc((size_t)faults->net->n_nodes + 1, sizeof(*out.gone));
	out.cut = calloc((size_t)faults->net->n_ports + 1, sizeof(*out.cut));
	st = faults_take_out(faults, k, &out, net, label, diag);
	if (!st && removed)
		removed_say(faults->net, &out, removed);
	free(out.gone);
	free(out.cut);
	return st;
}

enum osr_status cli_faults_prepare(struct cli_faults *faults, const struct osr_net *net,
				   const char *name, struct osr_diag *diag)
{
	bool *transit = calloc((size_t)net->n_nodes + 1, sizeof(*transit));

	faults->net = net;
	faults->list = calloc((size_t)net->n_ports + 1, sizeof(*faults->list));
	if (!faults->list || !transit || !osr_topo_transit(net, transit)) {
		free(transit);
		return osr_fail(diag, OSR_NOMEM, "out of memory for %u nodes", net->n_nodes);
	}
	if (faults->kind == FAULTS_NAMED)
		faults->n_cases = 1;
	else if (faults->kind != FAULTS_RANDOM)
		faults->n_cases = faults_list_candidates(net, faults->kind, transit, faults->list);
	free(transit);
	if (!faults->n_cases)
		return osr_fail(
			diag, OSR_INVAL,
			faults->kind == FAULTS_SWITCH
				? "%s: no switch without hosts in this fabric; use --switch=NODE"
				: "%s: no cable between two switches in this fabric",
			name);
	return OSR_OK;
}

void cli_faults_free(struct cli_faults *faults)
{
	free(faults->list);
}

/* ---- the command line ----------------------------------------------------------------------- */

static void take_amount(const char *text, const char *what, uint32_t *n, double *percent,
			struct argp_state *state)
{
	char *end;
	double v = strtod(text, &end);

	if (end == text || !(v >= 0 && v <= 1e6))
		argp_error(state, "%s \"%s\": expected a number, or a percentage as in 2.5%%", what,
			   text);
	else if (end[0] == '%' && !end[1] && v <= 100)
		*percent = v;
	else if (!end[0] && v == (double)(uint32_t)v)
		*n = (uint32_t)v;
	else
		argp_error(state, "%s \"%s\": expected a whole number, or a percentage up to 100%%",
			   what, text);
}

static void faults_choose(struct cli_faults *faults, enum cli_faults_kind kind,
			  struct argp_state *state)
{
	if (faults->kind != FAULTS_NONE && faults->kind != kind)
		argp_error(state,
			   "either --link and --switch, or --each, or --links and --switches");
	faults->kind = kind;
}

static void add_named(struct cli_faults *faults, const char **list, uint32_t *n, const char *arg,
		      struct argp_state *state)
{
	faults_choose(faults, FAULTS_NAMED, state);
	if (*n == CLI_FAULTS_MAX)
		argp_error(state, "at most %d of --link and of --switch", CLI_FAULTS_MAX);
	list[(*n)++] = arg;
}

static error_t faults_parse(int key, char *arg, struct argp_state *state)
{
	struct cli_faults *faults = state->input;

	switch (key) {
	case OPT_LINK:
		add_named(faults, faults->link, &faults->n_links, arg, state);
		return 0;
	case OPT_SWITCH:
		add_named(faults, faults->sw, &faults->n_switches, arg, state);
		return 0;
	case OPT_EACH:
		if (strcmp(arg, "link") && strcmp(arg, "switch"))
			argp_error(state, "each \"%s\": expected link or switch", arg);
		faults_choose(faults, strcmp(arg, "link") ? FAULTS_SWITCH : FAULTS_LINK, state);
		return 0;
	case OPT_LINKS:
		faults_choose(faults, FAULTS_RANDOM, state);
		take_amount(arg, "links", &faults->random.n_links, &faults->random.links_percent,
			    state);
		return 0;
	case OPT_SWITCHES:
		faults_choose(faults, FAULTS_RANDOM, state);
		take_amount(arg, "switches", &faults->random.n_switches,
			    &faults->random.switches_percent, state);
		return 0;
	case OPT_SEED:
		if (!osr_parse_uint(arg, &faults->random.seed))
			argp_error(state, "seed \"%s\": expected a number", arg);
		return 0;
	case OPT_SPLIT:
		faults->random.keep_connected = false;
		return 0;
	case ARGP_KEY_END:
		if (faults->kind == FAULTS_NONE)
			argp_error(state, "nothing to remove: give --link, --switch, --each, "
					  "--links or --switches");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

const struct cli_spec faults_spec = { options, faults_parse };

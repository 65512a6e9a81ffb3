/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "cli/faults.h"

#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/input.h"

/* ---- names ---------------------------------------------------------------------------------- */

const struct out_field cli_removed_fields[] = {
	{ "kind", NULL, OUT_TEXT },
	{ "name", NULL, OUT_TEXT },
	{ 0 },
};

/* Appends to a list of names in `label`; names that find no room are counted. */
static void add_label(char *label, const char *name, uint32_t *n_left_out)
{
	size_t used = strlen(label);
	bool first = !used || label[used - 1] == ' ';

	if (*n_left_out || used + strlen(name) + 32 > CLI_FAULT_LABEL)
		(*n_left_out)++;
	else
		snprintf(label + used, CLI_FAULT_LABEL - used, "%s%s", first ? "" : ", ", name);
}

/* Everything that is removed, behind what stands in `label`, and as rows of `removed`, unless that is NULL. */
static void say_removed(const struct osr_net *net, const bool *gone, const bool *cut, char *label,
			struct out *removed)
{
	char name[CLI_FAULT_LABEL];
	uint32_t n_left_out = 0;
	size_t used;

	for (uint32_t i = 0; i < net->n_nodes; i++) {
		if (!gone[i])
			continue;
		add_label(label, osr_net_shown(net, i), &n_left_out);
		if (removed)
			OUT_ADD(removed, "removed", "switch", osr_net_shown(net, i));
	}
	for (uint32_t p = 0; p < net->n_ports; p++) {
		uint32_t peer = net->ports[p].peer;

		/* A cable once, at its lower port. */
		if (peer == OSR_NONE || peer < p || (!cut[p] && !cut[peer]))
			continue;
		snprintf(name, sizeof(name), "%s:%u - %s:%u",
			 osr_net_shown(net, net->ports[p].node), osr_net_port_num(net, p),
			 osr_net_shown(net, net->ports[peer].node), osr_net_port_num(net, peer));
		add_label(label, name, &n_left_out);
		if (removed)
			OUT_ADD(removed, "removed", "link", name);
	}
	used = strlen(label);
	if (n_left_out)
		snprintf(label + used, CLI_FAULT_LABEL - used, " and %u more", n_left_out);
}

/* ---- cases ---------------------------------------------------------------------------------- */

/* Each cable between two switches, each switch without hosts: how many. */
static uint32_t list_candidates(const struct osr_net *net, enum cli_faults_kind kind,
				const bool *transit, uint32_t *list)
{
	uint32_t n = 0;

	for (uint32_t p = 0; kind == FAULTS_LINK && p < net->n_ports; p++) {
		uint32_t node = net->ports[p].node, peer = net->ports[p].peer;

		if (peer != OSR_NONE && p < peer && osr_net_is_switch(net, node) &&
		    osr_net_is_switch(net, net->ports[peer].node) && node != net->ports[peer].node)
			list[n++] = p;
	}
	for (uint32_t i = 0; kind == FAULTS_SWITCH && i < net->n_nodes; i++)
		if (transit[i])
			list[n++] = i;
	return n;
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
		faults->n_cases = list_candidates(net, faults->kind, transit, faults->list);
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

/* A job that tests resilience must not pass because nothing was removed. */
static enum osr_status check_amount(const char *what, uint32_t wanted, double percent,
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

/* What fails in case k: gone[nodes], cut[ports]. */
static enum osr_status choose(const struct cli_faults *faults, uint32_t k, bool *gone, bool *cut,
			      char *label, struct osr_diag *diag)
{
	struct osr_degrade how = faults->random;
	struct osr_degraded done;
	enum osr_status st = OSR_OK;
	uint32_t at;

	switch (faults->kind) {
	case FAULTS_NAMED:
		for (uint32_t i = 0; i < faults->n_links && !st; i++) {
			st = cli_find_cable(faults->net, faults->link[i], &at, diag);
			if (!st)
				cut[at] = true;
		}
		for (uint32_t i = 0; i < faults->n_switches && !st; i++) {
			st = cli_find_switch(faults->net, faults->sw[i], &at, diag);
			if (!st)
				gone[at] = true;
		}
		return st;
	case FAULTS_LINK:
		cut[faults->list[k]] = true;
		return OSR_OK;
	case FAULTS_SWITCH:
		gone[faults->list[k]] = true;
		return OSR_OK;
	default:
		/* Another seed for each case. */
		how.seed += k;
		how.keep_connected = !faults->split;
		st = osr_topo_choose(faults->net, &how, gone, cut, &done, diag);
		if (!st)
			st = check_amount(how.hosts_too ? "switches" : "switches without hosts",
					  how.n_switches, how.switches_percent, done.n_switches,
					  how.keep_connected, diag);
		if (!st)
			st = check_amount("cables between switches", how.n_links, how.links_percent,
					  done.n_links, how.keep_connected, diag);
		snprintf(label, CLI_FAULT_LABEL, "seed %llu: ", (unsigned long long)how.seed);
		return st;
	}
}

enum osr_status cli_faults_make(const struct cli_faults *faults, uint32_t k, struct osr_net *net,
				char *label, struct out *removed, struct osr_diag *diag)
{
	bool *gone = calloc((size_t)faults->net->n_nodes + 1, sizeof(*gone));
	bool *cut = calloc((size_t)faults->net->n_ports + 1, sizeof(*cut));
	enum osr_status st = OSR_NOMEM;

	label[0] = '\0';
	if (gone && cut)
		st = choose(faults, k, gone, cut, label, diag);
	else
		osr_fail(diag, st, "out of memory for %u nodes", faults->net->n_nodes);
	if (!st)
		say_removed(faults->net, gone, cut, label, removed);
	if (!st)
		st = osr_topo_remove(faults->net, gone, cut, net, diag);
	free(gone);
	free(cut);
	return st;
}

void cli_faults_free(struct cli_faults *faults)
{
	free(faults->list);
}

/* ---- the command line ----------------------------------------------------------------------- */

enum { OPT_LINKS = 256, OPT_SWITCHES };

static const struct cli_option options[] = {
	{ "link", "NODE:PORT", "remove the cable on this port; may be repeated",
	  CLI_LIST(struct cli_faults, link, n_links) },
	{ "switch", "NODE", "remove this switch; may be repeated",
	  CLI_LIST(struct cli_faults, sw, n_switches) },
	{ "each", "WORD", "one at a time: link or switch (without hosts)",
	  CLI_WORD(struct cli_faults, each, "|link|switch") },
	{ "links", "N[%]", "remove N, or N percent, of the cables between switches at random",
	  .key = OPT_LINKS },
	{ "switches", "N[%]", "remove N, or N percent, of the switches without hosts at random",
	  .key = OPT_SWITCHES },
	{ "cases", "N", "number of random cases (default 10)",
	  CLI_NUMBER(struct cli_faults, n_cases, 1, 1000000) },
	{ "seed", "N", "seed of the first random case (default 1), then one more each",
	  CLI_NUMBER(struct cli_faults, random.seed, 0, INT64_MAX) },
	{ "split", NULL, "the fabric may be split at random (default: it stays connected)",
	  CLI_FLAG(struct cli_faults, split) },
	{ "any-switch", NULL, "switches with hosts may go at random, too, with their hosts",
	  CLI_FLAG(struct cli_faults, random.hosts_too) },
	{ 0 },
};

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

static error_t faults_parse(int key, char *arg, struct argp_state *state)
{
	struct cli_faults *faults = state->input;
	bool named = faults->n_links || faults->n_switches, by_chance = faults->by_chance;

	switch (key) {
	case OPT_LINKS:
		faults->by_chance = true;
		take_amount(arg, "links", &faults->random.n_links, &faults->random.links_percent,
			    state);
		return 0;
	case OPT_SWITCHES:
		faults->by_chance = true;
		take_amount(arg, "switches", &faults->random.n_switches,
			    &faults->random.switches_percent, state);
		return 0;
	case ARGP_KEY_END:
		if (!named && !by_chance && !faults->each)
			argp_error(state, "nothing to remove: give --link, --switch, --each, "
					  "--links or --switches");
		if (named + by_chance + !!faults->each > 1)
			argp_error(state, "either --link and --switch, or --each, or --links and "
					  "--switches");
		faults->kind = named               ? FAULTS_NAMED
			       : by_chance         ? FAULTS_RANDOM
			       : faults->each == 1 ? FAULTS_LINK
						   : FAULTS_SWITCH;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

const struct cli_spec faults_spec = { options, faults_parse };

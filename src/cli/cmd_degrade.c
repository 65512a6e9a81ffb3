/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include <argp.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/faults.h"
#include "cli/made.h"
#include "io/subnetfile.h"
#include "topo/topo.h"

enum { OPT_LINKS = 256, OPT_SWITCHES, OPT_SEED, OPT_SPLIT, OPT_HOSTS };

static const struct argp_option options[] = {
	{ "output", 'o', "FILE", 0, "write to FILE instead of standard output", 0 },
	{ "links", OPT_LINKS, "N[%]", 0, "remove N, or N percent, of the cables between switches",
	  0 },
	{ "switches", OPT_SWITCHES, "N[%]", 0, "remove N, or N percent, of the switches", 0 },
	{ "seed", OPT_SEED, "N", 0, "start of the random numbers (default 1)", 0 },
	{ "split", OPT_SPLIT, NULL, 0, "the fabric may be split (default: it stays connected)", 0 },
	{ "any-switch", OPT_HOSTS, NULL, 0, "switches with hosts may go too, with their hosts", 0 },
	{ NULL, 0, NULL, 0, NULL, 0 },
};

struct args {
	const char *input, *output;
	struct out out;
	struct osr_degrade how;
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

static error_t degrade_parse(int key, char *arg, struct argp_state *state)
{
	struct args *a = state->input;

	switch (key) {
	case 'o':
		a->output = arg;
		return 0;
	case OPT_LINKS:
		take_amount(arg, "links", &a->how.n_links, &a->how.links_percent, state);
		return 0;
	case OPT_SWITCHES:
		take_amount(arg, "switches", &a->how.n_switches, &a->how.switches_percent, state);
		return 0;
	case OPT_SEED:
		if (!osr_parse_uint(arg, &a->how.seed))
			argp_error(state, "seed \"%s\": expected a number", arg);
		return 0;
	case OPT_SPLIT:
		a->how.keep_connected = false;
		return 0;
	case OPT_HOSTS:
		a->how.hosts_too = true;
		return 0;
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &a->out;
		return 0;
	case ARGP_KEY_ARG:
		if (a->input)
			argp_error(state, "expected exactly one FILE");
		a->input = arg;
		return 0;
	case ARGP_KEY_END:
		if (!a->input)
			argp_error(state, "missing FILE (\"-\" is standard input)");
		cli_made_needs_file(&a->out, a->output, state);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

/* What the input says of its origin, then what was done to it. */
static enum osr_status degrade_write_comment(const struct osr_net *from, const char *command,
					     char **text)
{
	const char *head = from->comment ? from->comment : "";
	size_t n = strlen(head);

	if (asprintf(text, "%s%s%s", head, n && head[n - 1] != '\n' ? "\n" : "", command) < 0)
		return OSR_NOMEM;
	return OSR_OK;
}

static const struct out_section sections[] = {
	{ "summary", OUT_HEAD, cli_made_fields },
	{ "removals", OUT_ROWS, cli_removed_fields },
	{ NULL, 0, NULL },
};

struct removal {
	bool *gone, *cut; /* [nodes], [ports] */
	struct osr_degraded done;
};

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

static enum osr_status remove_some(const struct args *a, const struct osr_net *from,
				   struct removal *r, struct osr_net *to, struct osr_diag *diag)
{
	const struct osr_degrade *how = &a->how;
	enum osr_status st;

	r->gone = calloc((size_t)from->n_nodes + 1, sizeof(*r->gone));
	r->cut = calloc((size_t)from->n_ports + 1, sizeof(*r->cut));
	if (!r->gone || !r->cut)
		return osr_fail(diag, OSR_NOMEM, "out of memory for %u nodes", from->n_nodes);
	st = osr_topo_choose(from, how, r->gone, r->cut, &r->done, diag);
	if (!st)
		st = check_amount(how->hosts_too ? "switches" : "switches without hosts",
				  how->n_switches, how->switches_percent, r->done.n_switches,
				  how->keep_connected, diag);
	if (!st)
		st = check_amount("cables between switches", how->n_links, how->links_percent,
				  r->done.n_links, how->keep_connected, diag);
	return st ? st : osr_topo_remove(from, r->gone, r->cut, to, diag);
}

static void degrade_say(struct args *a, const struct osr_net *from, const struct removal *r,
			const struct osr_net *to)
{
	if (a->out.format != OUT_PEOPLE) {
		cli_made_say(&a->out, to, a->output);
		out_count(&a->out, "removed.cables", r->done.n_links);
		out_count(&a->out, "removed.switches", r->done.n_switches);
		cli_removed_say(from, r->gone, r->cut, &a->out, "removals");
	}
	fprintf(stderr, "osmroutes: %u cable%s and %u switch%s removed\n", r->done.n_links,
		r->done.n_links == 1 ? "" : "s", r->done.n_switches,
		r->done.n_switches == 1 ? "" : "es");
}

int cli_degrade(int argc, char **argv)
{
	static const struct argp_child children[] = { { .argp = &out_argp }, { NULL } };
	static const struct argp argp = { .options = options,
					  .parser = degrade_parse,
					  .args_doc = "FILE",
					  .doc = "Removes cables and switches from a fabric, at "
						 "random but the same for the same seed.",
					  .children = children };
	struct args a = { .out = { .command = "degrade", .sections = sections },
			  .how = { .seed = 1, .keep_connected = true } };
	struct osr_net from = { 0 }, to = { 0 };
	struct removal r = { 0 };
	char *command = cli_command_line(argc, argv), *comment = NULL;
	struct osr_diag diag = { "" };
	enum osr_status st;

	argp_parse(&argp, argc, argv, 0, NULL, &a);
	st = osr_fabricfile_read(a.input, &from, &diag);
	if (!st && !osr_net_tell_apart(&from))
		st = osr_fail(&diag, OSR_NOMEM, "out of memory for the names of nodes");
	if (!st)
		st = remove_some(&a, &from, &r, &to, &diag);
	if (!st)
		st = degrade_write_comment(&from, command, &comment);
	if (!st)
		st = cli_write_net(&to, a.output, comment, &diag);
	if (!st)
		degrade_say(&a, &from, &r, &to);
	free(r.gone);
	free(r.cut);
	free(command);
	free(comment);
	osr_net_free(&from);
	osr_net_free(&to);
	return st ? cli_fail(st, &diag) : out_end(&a.out, CLI_OK);
}

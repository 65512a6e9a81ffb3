/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * What the ports have counted beside what the tables explain: given what every host has sent and received, how
 * much should each cable between switches have carried, and how much can it have at most?
 */
#include <argp.h>
#include <stdlib.h>
#include <string.h>

#include "traffic/demand.h"

#include "cli/cli.h"
#include "cli/counters.h"
#include "cli/source.h"

enum { OPT_COUNTERS = 0x3200, OPT_BEFORE, OPT_MAX };

/* Management packets, and counters that are not read at one moment. */
#define SLACK_SHARE 1.05
#define SLACK_BYTES 1e6

static const struct argp_option options[] = {
	{ "counters", OPT_COUNTERS, "FILE", 0,
	  "output of `ibqueryerrors --counters` or perfquery (default: ask ibqueryerrors)", 0 },
	{ "before", OPT_BEFORE, "FILE", 0, "an earlier output: only the increase since then counts",
	  0 },
	{ "max", OPT_MAX, "N", 0, "list at most N cables, 0 for all (default 20)", 0 },
	{ NULL, 0, NULL, 0, NULL, 0 },
};

struct args {
	struct cli_ask ask;
	const char *now, *before;
	uint32_t max;
	struct cli_counters count[2]; /* now, before */
	struct osr_demand demand;
	double *carried;   /* [n_channels] bytes; < 0: not counted */
	uint32_t n_silent; /* hosts without counters */
};

static const struct out_field head_fields[] = { CLI_INPUT_FIELDS,
						{ "tables", NULL, OUT_TEXT, 0 },
						{ "sent", NULL, OUT_REAL, 0 },
						{ "hosts_uncounted", NULL, OUT_COUNT, 0 },
						{ "unexplained", NULL, OUT_COUNT, 0 },
						{ NULL, NULL, 0, 0 } };

static const struct out_field cable_fields[] = {
	{ "carried", "carried, MB", OUT_REAL, 1 },
	{ "expected", "expected", OUT_REAL, 1 },
	{ "most", "at most", OUT_REAL, 1 },
	{ "ratio", "carried / expected", OUT_REAL, 2 },
	{ "explained", "explained", OUT_BOOL, 0 },
	CLI_CABLE_FIELDS,
	{ NULL, NULL, 0, 0 },
};

static const struct out_section sections[] = {
	{ "summary", OUT_HEAD, head_fields },
	{ "cables", OUT_ROWS, cable_fields },
	{ NULL, 0, NULL },
};

/* ---- what was counted ----------------------------------------------------------------------- */

/* Bytes of a port since `before`; < 0: not counted. Counters that were reset count from 0. */
static double bytes_of(const struct args *a, const uint64_t *now, const uint64_t *then,
		       uint32_t port)
{
	if (port == OSR_NONE || now[port] == UINT64_MAX)
		return -1;
	if (a->before && then[port] != UINT64_MAX && then[port] <= now[port])
		return 4.0 * (double)(now[port] - then[port]);
	return 4.0 * (double)now[port];
}

static double sent_by(const struct args *a, uint32_t port)
{
	return bytes_of(a, a->count[0].sent, a->count[1].sent, port);
}

static double received_by(const struct args *a, uint32_t port)
{
	return bytes_of(a, a->count[0].received, a->count[1].received, port);
}

/* By the port of either end: one that answers is enough. */
static double flow(const struct args *a, uint32_t from, uint32_t to)
{
	double sent = sent_by(a, from);

	return sent < 0 ? received_by(a, to) : sent;
}

/* Switch ports of the net, by switch of the fabric. */
static uint32_t *find_nodes(const struct osr_net *net, const struct osr_fabric *fabric,
			    struct osr_arena *scratch)
{
	uint32_t *node = osr_alloc(scratch, fabric->n_switches, sizeof(*node));

	for (uint32_t i = 0; node && i < net->n_nodes; i++) {
		uint32_t s = net->nodes[i].type == OSR_NET_SWITCH
				     ? osr_fabric_switch_by_guid(fabric, net->nodes[i].guid)
				     : OSR_NONE;

		if (s != OSR_NONE)
			node[s] = i;
	}
	return node;
}

static enum osr_status count_flows(struct args *a, struct osr_arena *scratch, struct osr_diag *diag)
{
	const struct osr_net *net = &a->ask.src.in.net;
	const struct osr_fabric *fabric = &a->ask.src.in.fabric;
	uint32_t *node = find_nodes(net, fabric, scratch);

	a->carried = osr_alloc(scratch, (size_t)fabric->n_channels + 1, sizeof(*a->carried));
	if (!node || !a->carried)
		return osr_fail(diag, OSR_NOMEM, "out of memory for %u channels",
				fabric->n_channels);
	for (uint32_t t = 0; t < fabric->n_terminals; t++) {
		uint32_t port = osr_net_port(net, node[fabric->term_switch[t]],
					     fabric->term_port[t]),
			 peer;
		double sent, received;

		if (fabric->term_role[t] == OSR_ROLE_SP0)
			continue;
		peer = net->ports[port].peer;
		sent = flow(a, peer, port);
		received = flow(a, port, peer);
		a->n_silent += sent < 0 || received < 0;
		a->demand.sent[t] = sent < 0 ? 0 : sent;
		a->demand.received[t] = received < 0 ? 0 : received;
	}
	for (uint32_t c = 0; c < fabric->n_channels; c++) {
		uint32_t port = osr_net_port(net, node[fabric->chan_src[c]], fabric->chan_port[c]);

		a->carried[c] = flow(a, port, net->ports[port].peer);
	}
	return OSR_OK;
}

/* ---- what is said --------------------------------------------------------------------------- */

struct row {
	uint32_t channel;
	double above; /* bytes that the tables do not explain, or if all are, the ratio below 0 */
};

static bool is_explained(const struct args *a, uint32_t c)
{
	return a->carried[c] <= SLACK_SHARE * a->demand.most[c] + SLACK_BYTES;
}

/* The unexplained first, by bytes; then by bytes beyond what is expected. */
static int by_above(const void *x, const void *y)
{
	const struct row *a = x, *b = y;

	if (a->above != b->above)
		return a->above > b->above ? -1 : 1;
	return (a->channel > b->channel) - (a->channel < b->channel);
}

static void say_cable(struct args *a, uint32_t c)
{
	const struct osr_fabric *fabric = &a->ask.src.in.fabric;
	struct out *out = &a->ask.out;
	char buf[2][32];
	const char *from = osr_switch_name(fabric, fabric->chan_src[c], buf[0]);
	const char *to = osr_switch_name(fabric, fabric->chan_dst[c], buf[1]);
	uint32_t to_port = fabric->chan_port[fabric->chan_rev[c]];

	out_row(out, "cables");
	out_real(out, "carried", a->carried[c] / 1e6);
	out_real(out, "expected", a->demand.expected[c] / 1e6);
	out_real(out, "most", a->demand.most[c] / 1e6);
	if (a->demand.expected[c] > 0)
		out_real(out, "ratio", a->carried[c] / a->demand.expected[c]);
	out_bool(out, "explained", is_explained(a, c));
	cli_say_cable(out, from, fabric->chan_port[c], to, to_port);
}

static int counters_say(struct args *a, struct row *row)
{
	const struct osr_fabric *fabric = &a->ask.src.in.fabric;
	struct out *out = &a->ask.out;
	uint32_t n = 0, n_unexplained = 0;
	double sent = 0;

	for (uint32_t t = 0; t < fabric->n_terminals; t++)
		sent += a->demand.sent[t];
	for (uint32_t c = 0; c < fabric->n_channels; c++) {
		if (a->carried[c] < 0)
			continue;
		n_unexplained += !is_explained(a, c);
		row[n++] = (struct row){ c, a->carried[c] - a->demand.expected[c] +
						    (is_explained(a, c) ? 0 : 1e30) };
	}
	qsort(row, n, sizeof(*row), by_above);
	out_text(out, "tables", cli_source_name(&a->ask.src));
	out_real(out, "sent", sent / 1e6);
	out_count(out, "hosts_uncounted", a->n_silent);
	out_count(out, "unexplained", n_unexplained);
	out_head(out, "tables of %s; hosts have sent %.1f MB; %u hosts without counters",
		 cli_source_name(&a->ask.src), sent / 1e6, a->n_silent);
	for (uint32_t i = 0; i < n && (!a->max || i < a->max); i++)
		say_cable(a, row[i].channel);
	if (n_unexplained)
		out_note(out,
			 "%u channels have carried more than all hosts sent that these tables "
			 "route there: other tables were in use, or multicast, or adaptive routing",
			 n_unexplained);
	return n_unexplained ? CLI_BAD : CLI_OK;
}

/* ---- the command line ----------------------------------------------------------------------- */

static int counters_run(struct args *a)
{
	struct osr_diag diag = { "" };
	struct osr_arena scratch = { 0 };
	enum osr_status st = cli_ask_begin(&a->ask, &diag);
	const struct cli_source *src = &a->ask.src;
	struct row *row = NULL;
	int code = CLI_OK;

	if (!st && !a->now && !src->in.is_live)
		st = osr_fail(&diag, OSR_INVAL, "missing counters: --counters=FILE or --live");
	if (!st)
		st = cli_counters_read(a->now, &src->in.net, &a->count[0], &diag);
	if (!st && a->before)
		st = cli_counters_read(a->before, &src->in.net, &a->count[1], &diag);
	if (!st)
		st = osr_demand_init(&a->demand, &src->in.fabric, &scratch, &diag);
	if (!st)
		st = count_flows(a, &scratch, &diag);
	if (!st)
		st = osr_demand_spread(&a->demand, &src->in.fabric, src->gen.routing, &scratch,
				       &diag);
	row = st ? NULL : osr_alloc(&scratch, (size_t)src->in.fabric.n_channels + 1, sizeof(*row));
	if (!st && !row)
		st = osr_fail(&diag, OSR_NOMEM, "out of memory for the channels");
	if (!st)
		code = counters_say(a, row);
	code = cli_ask_end(&a->ask, st, &diag, code);
	cli_counters_free(&a->count[0]);
	cli_counters_free(&a->count[1]);
	osr_arena_free(&scratch);
	return code;
}

static error_t counters_parse(int key, char *arg, struct argp_state *state)
{
	struct args *a = state->input;

	switch (key) {
	case OPT_COUNTERS:
		a->now = arg;
		return 0;
	case OPT_BEFORE:
		a->before = arg;
		return 0;
	case OPT_MAX:
		a->max = (uint32_t)cli_take_number(arg, "max", 0, 100000000, state);
		return 0;
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &a->ask;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

int cli_counters(int argc, char **argv)
{
	static const struct argp_child children[] = { { .argp = &ask_argp }, { NULL } };
	static const struct argp argp = {
		.options = options,
		.parser = counters_parse,
		.args_doc = "FILE|DIR",
		.doc = "Compares port counters with the load that the tables explain: from what "
		       "the hosts have sent and received, what each cable between switches should "
		       "have carried and what it can have at most.",
		.children = children
	};
	struct args a = { .ask = { .src = CLI_SOURCE_INIT,
				   .out = { .command = "counters", .sections = sections } },
			  .max = 20 };

	argp_parse(&argp, argc, argv, 0, NULL, &a);
	return counters_run(&a);
}

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Is every cable where the plan has it? The plan is found from the fabric itself (wiring.h).
 */
#include <argp.h>
#include <string.h>

#include "core/shape/wiring.h"

#include "cli/cli.h"
#include "cli/input.h"

enum { OPT_MAX = 256 };

static const struct argp_option options[] = {
	{ "max", OPT_MAX, "N", 0, "list at most N cables, 0 for all (default 50)", 0 },
	{ NULL, 0, NULL, 0, NULL, 0 },
};

struct args {
	struct cli_input in;
	struct out out;
	uint32_t max;
	struct osr_diag no_plan; /* why there is none, where there are rails */
};

static const struct out_field head_fields[] = { CLI_INPUT_FIELDS,
						{ "plan", NULL, OUT_TEXT, 0 },
						{ "cables", NULL, OUT_COUNT, 0 },
						{ "swapped", NULL, OUT_COUNT, 0 },
						{ "moved", NULL, OUT_COUNT, 0 },
						{ "missing", NULL, OUT_COUNT, 0 },
						{ "extra", NULL, OUT_COUNT, 0 },
						{ "rails", NULL, OUT_COUNT, 0 },
						{ "rail_hosts", NULL, OUT_COUNT, 0 },
						{ "rail_faults", NULL, OUT_COUNT, 0 },
						{ NULL, NULL, 0, 0 } };

static const struct out_field fault_fields[] = {
	{ "kind", "kind", OUT_TEXT, 0 },
	{ "cable", NULL, OUT_TEXT, 0 },
	{ "other_cable", NULL, OUT_TEXT, 0 },
	{ "connect", NULL, OUT_TEXT, 0 },
	{ "other_connect", NULL, OUT_TEXT, 0 },
	{ "message", "what is wrong, and how to mend it", OUT_TEXT, 0 },
	{ NULL, NULL, 0, 0 },
};

static const struct out_section sections[] = {
	{ "summary", OUT_HEAD, head_fields },
	{ "faults", OUT_ROWS, fault_fields },
	{ NULL, 0, NULL },
};

#define END_SIZE 200

/* "leaf-3:17" */
static const char *end_of(const struct osr_fabric *fabric, uint32_t sw, uint32_t port,
			  char buf[END_SIZE])
{
	char name[32];

	if (port)
		snprintf(buf, END_SIZE, "%s:%u", osr_switch_name(fabric, sw, name), port);
	else
		snprintf(buf, END_SIZE, "%s", osr_switch_name(fabric, sw, name));
	return buf;
}

static const char *source_of(const struct osr_fabric *fabric, uint32_t c, char buf[END_SIZE])
{
	return end_of(fabric, fabric->chan_src[c], fabric->chan_port[c], buf);
}

static const char *target_of(const struct osr_fabric *fabric, uint32_t c, char buf[END_SIZE])
{
	return end_of(fabric, fabric->chan_dst[c], fabric->chan_port[fabric->chan_rev[c]], buf);
}

/* The first port of a switch to which nothing is plugged in, or 0. */
static uint32_t free_port(const struct osr_fabric *fabric, uint32_t s)
{
	for (uint32_t port = 1; port <= fabric->sw_n_ports[s]; port++) {
		bool used = osr_port_channel(fabric, s, port) != OSR_NONE;

		for (uint32_t t = fabric->term_row[s]; t < fabric->term_row[s + 1] && !used; t++)
			used = fabric->term_port[t] == port;
		if (!used)
			return port;
	}
	return 0;
}

static void say_missing(const struct osr_fabric *fabric, struct out *out,
			const struct osr_wiring_fault *fault)
{
	char a[END_SIZE], b[END_SIZE];

	end_of(fabric, fault->a, 0, a);
	end_of(fabric, fault->b, 0, b);
	out_text(out, "kind", "missing");
	out_textf(out, "connect", "%s - %s", a, b);
	out_textf(out, "message", "no cable joins %s and %s: connect them (free ports: %u and %u)",
		  a, b, free_port(fabric, fault->a), free_port(fabric, fault->b));
}

static void say_one(const struct osr_fabric *fabric, struct out *out,
		    const struct osr_wiring_fault *fault)
{
	char a[END_SIZE], b[END_SIZE], to[END_SIZE];

	source_of(fabric, fault->c, a);
	target_of(fabric, fault->c, b);
	out_textf(out, "cable", "%s - %s", a, b);
	if (fault->kind == OSR_WIRING_EXTRA) {
		out_text(out, "kind", "extra");
		out_textf(out, "message", "%s - %s is not in the plan: remove it", a, b);
		return;
	}
	end_of(fabric, fault->b, 0, to);
	out_text(out, "kind", "moved");
	out_textf(out, "connect", "%s - %s", a, to);
	out_textf(out, "message", "%s - %s: move its end from %s to %s (free port: %u)", a, b, b,
		  to, free_port(fabric, fault->b));
}

static void say_swapped(const struct osr_fabric *fabric, struct out *out,
			const struct osr_wiring_fault *fault)
{
	char a[END_SIZE], b[END_SIZE], c[END_SIZE], d[END_SIZE];

	source_of(fabric, fault->c, a);
	target_of(fabric, fault->c, b);
	source_of(fabric, fault->d, c);
	target_of(fabric, fault->d, d);
	out_text(out, "kind", "swapped");
	out_textf(out, "cable", "%s - %s", a, b);
	out_textf(out, "other_cable", "%s - %s", c, d);
	out_textf(out, "connect", "%s - %s", a, d);
	out_textf(out, "other_connect", "%s - %s", c, b);
	out_textf(out, "message", "%s - %s and %s - %s: swap the ends at %s and %s", a, b, c, d, b,
		  d);
}

static void wiring_say_fault(const struct osr_fabric *fabric, struct out *out,
			     const struct osr_wiring_fault *fault)
{
	out_row(out, "faults");
	if (fault->kind == OSR_WIRING_SWAPPED)
		say_swapped(fabric, out, fault);
	else if (fault->kind == OSR_WIRING_MISSING)
		say_missing(fabric, out, fault);
	else
		say_one(fabric, out, fault);
}

/* "dgx-07 mlx5_3" */
static void say_rail_fault(const struct osr_fabric *fabric, struct out *out,
			   const struct osr_rail_fault *fault)
{
	char buf[4][32];
	const char *port = osr_terminal_name(fabric, fault->term, buf[0]);
	const char *here = osr_switch_name(fabric, fabric->term_switch[fault->term], buf[1]);
	const char *there = osr_switch_name(fabric, fault->to, buf[2]), *other;

	out_row(out, "faults");
	out_text(out, "kind", fault->other == OSR_NONE ? "rail" : "rails swapped");
	out_textf(out, "cable", "%s - %s:%u", port, here, fabric->term_port[fault->term]);
	out_textf(out, "connect", "%s - %s", port, there);
	if (fault->other == OSR_NONE) {
		out_textf(out, "message", "%s is on %s, and the other hosts have this rail on %s",
			  port, here, there);
		return;
	}
	other = osr_terminal_name(fabric, fault->other, buf[3]);
	out_textf(out, "other_cable", "%s - %s:%u", other, there, fabric->term_port[fault->other]);
	out_textf(out, "other_connect", "%s - %s", other, here);
	out_textf(out, "message", "%s on %s and %s on %s are in each other's rail: swap them", port,
		  here, other, there);
}

static void say_rails(struct args *a, const struct osr_wiring *wiring)
{
	struct out *out = &a->out;

	out_count(out, "rails", wiring->n_rails);
	out_count(out, "rail_hosts", wiring->n_rail_hosts);
	out_count(out, "rail_faults", wiring->n_rail_faults);
	if (wiring->n_rails)
		out_head(out, "rails: %u hosts with %u ports each, on leaves of their own",
			 wiring->n_rail_hosts, wiring->n_rails);
	if (wiring->n_rails)
		out_note(out,
			 wiring->n_rail_faults ? "ports that are not in their rail: %u"
					       : "every port is in its rail",
			 wiring->n_rail_faults);
}

static void wiring_say(struct args *a, const struct osr_wiring *wiring)
{
	static const char *const key[] = { "missing", "extra", "moved", "swapped" };
	uint32_t n[4] = { 0 };
	struct out *out = &a->out;

	for (uint32_t i = 0; i < wiring->n_faults; i++)
		n[wiring->fault[i].kind]++;
	out_row(out, "summary");
	cli_input_say(&a->in, out);
	out_text(out, "plan", wiring->plan);
	out_count(out, "cables", wiring->n_cables);
	for (unsigned i = 0; i < 4; i++)
		out_count(out, key[i], n[i]);
	out_head(out, "nearest plan: %s; %u cable%s between switches", wiring->plan,
		 wiring->n_cables, wiring->n_cables == 1 ? "" : "s");
	say_rails(a, wiring);
	if (!strcmp(wiring->plan, "none"))
		out_note(out, "cables between switches: %s", a->no_plan.text);
	else if (!wiring->n_faults)
		out_note(out, "every cable between switches is where this plan has it");
	else
		out_note(out, "cables: %u pairwise swapped, %u moved, %u missing, %u extra",
			 n[OSR_WIRING_SWAPPED], n[OSR_WIRING_MOVED], n[OSR_WIRING_MISSING],
			 n[OSR_WIRING_EXTRA]);
	for (uint32_t i = 0; i < wiring->n_faults && (!a->max || i < a->max); i++)
		wiring_say_fault(&a->in.fabric, out, &wiring->fault[i]);
	for (uint32_t i = 0; i < wiring->n_rail_faults && (!a->max || i < a->max); i++)
		say_rail_fault(&a->in.fabric, out, &wiring->rail_fault[i]);
}

/* Hosts may have rails where switches have no plan. */
static enum osr_status find_all(struct args *a, struct osr_arena *scratch, struct osr_arena *result,
				struct osr_wiring *wiring, struct osr_diag *diag)
{
	enum osr_status st = osr_wiring_find(&a->in.fabric, scratch, result, wiring, diag), rails;

	if (st && st != OSR_NOT_APPLICABLE)
		return st;
	a->no_plan = *diag;
	rails = osr_wiring_rails(&a->in.fabric, scratch, result, wiring, diag);
	if (rails || (st && !wiring->n_rails))
		return rails ? rails : st;
	if (st)
		snprintf(wiring->plan, sizeof(wiring->plan), "none");
	return OSR_OK;
}

static int wiring_run(struct args *a)
{
	struct osr_arena scratch = { 0 }, result = { 0 };
	struct osr_wiring wiring = { .n_faults = 0 };
	struct osr_diag diag = { "" };
	enum osr_status st = cli_input_load(&a->in, &diag);
	bool bad;
	int code;

	if (!st)
		st = find_all(a, &scratch, &result, &wiring, &diag);
	if (!st)
		wiring_say(a, &wiring);
	else
		out_drop(&a->out);
	bad = wiring.n_faults || wiring.n_rail_faults || !strcmp(wiring.plan, "none");
	code = st ? cli_fail(st, &diag) : out_end(&a->out, bad ? CLI_BAD : CLI_OK);
	osr_arena_free(&scratch);
	osr_arena_free(&result);
	return code;
}

static error_t wiring_parse(int key, char *arg, struct argp_state *state)
{
	struct args *a = state->input;

	switch (key) {
	case OPT_MAX:
		a->max = (uint32_t)cli_take_number(arg, "max", 0, 100000000, state);
		return 0;
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &a->in;
		state->child_inputs[1] = &a->out;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

int cli_wiring(int argc, char **argv)
{
	static const struct argp_child children[] = { { .argp = &input_argp },
						      { .argp = &out_argp },
						      { NULL } };
	static const struct argp argp = {
		.options = options,
		.parser = wiring_parse,
		.args_doc = "FILE",
		.doc = "Finds the plan nearest to the cables between switches (fat tree, torus, "
		       "mesh, HyperX, dragonfly) and the rails of hosts with several ports, and "
		       "names every cable that is missing, extra, moved or swapped, with the "
		       "change that mends it.",
		.children = children
	};
	struct args a = { .in = CLI_INPUT_INIT,
			  .out = { .command = "wiring", .sections = sections },
			  .max = 50 };
	int code;

	argp_parse(&argp, argc, argv, 0, NULL, &a);
	code = wiring_run(&a);
	cli_input_free(&a.in);
	return code;
}

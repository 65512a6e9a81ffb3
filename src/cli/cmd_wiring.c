/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Is every cable where the plan has it? The plan is found from the fabric itself (wiring.h).
 */
#include <argp.h>
#include <string.h>

#include <osmroutes/wiring.h>

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
};

static const struct out_field head_fields[] = { CLI_INPUT_FIELDS,
						{ "plan", NULL, OUT_TEXT, 0 },
						{ "cables", NULL, OUT_COUNT, 0 },
						{ "swapped", NULL, OUT_COUNT, 0 },
						{ "moved", NULL, OUT_COUNT, 0 },
						{ "missing", NULL, OUT_COUNT, 0 },
						{ "extra", NULL, OUT_COUNT, 0 },
						{ NULL, NULL, 0, 0 } };

static const struct out_field fault_fields[] = {
	{ "kind", "kind", OUT_TEXT, 0 },
	{ "cable", NULL, OUT_TEXT, 0 },
	{ "other_cable", NULL, OUT_TEXT, 0 },
	{ "connect", NULL, OUT_TEXT, 0 },
	{ "other_connect", NULL, OUT_TEXT, 0 },
	{ "message", "what is wrong, and what mends it", OUT_TEXT, 0 },
	{ NULL, NULL, 0, 0 },
};

static const struct out_section sections[] = {
	{ "summary", OUT_HEAD, head_fields },
	{ "faults", OUT_ROWS, fault_fields },
	{ NULL, 0, NULL },
};

#define END_SIZE 200

/* "leaf-3:17" */
static const char *end_of(const struct osr_fabric *f, uint32_t sw, uint32_t port, char buf[END_SIZE])
{
	char name[32];

	if (port)
		snprintf(buf, END_SIZE, "%s:%u", osr_switch_name(f, sw, name), port);
	else
		snprintf(buf, END_SIZE, "%s", osr_switch_name(f, sw, name));
	return buf;
}

static const char *source_of(const struct osr_fabric *f, uint32_t c, char buf[END_SIZE])
{
	return end_of(f, f->chan_src[c], f->chan_port[c], buf);
}

static const char *target_of(const struct osr_fabric *f, uint32_t c, char buf[END_SIZE])
{
	return end_of(f, f->chan_dst[c], f->chan_port[f->chan_rev[c]], buf);
}

/* The first port of a switch to which nothing is plugged in, or 0. */
static uint32_t free_port(const struct osr_fabric *f, uint32_t s)
{
	for (uint32_t port = 1; port <= f->sw_n_ports[s]; port++) {
		bool used = osr_port_channel(f, s, port) != OSR_NONE;

		for (uint32_t t = f->term_row[s]; t < f->term_row[s + 1] && !used; t++)
			used = f->term_port[t] == port;
		if (!used)
			return port;
	}
	return 0;
}

static void say_missing(const struct osr_fabric *f, struct out *out, const struct osr_wiring_fault *x)
{
	char a[END_SIZE], b[END_SIZE];

	end_of(f, x->a, 0, a);
	end_of(f, x->b, 0, b);
	out_text(out, "kind", "missing");
	out_textf(out, "connect", "%s - %s", a, b);
	out_textf(out, "message", "no cable joins %s and %s: connect them (free ports: %u and %u)", a, b,
		  free_port(f, x->a), free_port(f, x->b));
}

static void say_one(const struct osr_fabric *f, struct out *out, const struct osr_wiring_fault *x)
{
	char a[END_SIZE], b[END_SIZE], to[END_SIZE];

	source_of(f, x->c, a);
	target_of(f, x->c, b);
	out_textf(out, "cable", "%s - %s", a, b);
	if (x->kind == OSR_WIRING_EXTRA) {
		out_text(out, "kind", "extra");
		out_textf(out, "message", "%s - %s is not in the plan: remove it", a, b);
		return;
	}
	end_of(f, x->b, 0, to);
	out_text(out, "kind", "moved");
	out_textf(out, "connect", "%s - %s", a, to);
	out_textf(out, "message", "%s - %s: move its end from %s to %s (free port: %u)", a, b, b, to,
		  free_port(f, x->b));
}

static void say_swapped(const struct osr_fabric *f, struct out *out, const struct osr_wiring_fault *x)
{
	char a[END_SIZE], b[END_SIZE], c[END_SIZE], d[END_SIZE];

	source_of(f, x->c, a);
	target_of(f, x->c, b);
	source_of(f, x->d, c);
	target_of(f, x->d, d);
	out_text(out, "kind", "swapped");
	out_textf(out, "cable", "%s - %s", a, b);
	out_textf(out, "other_cable", "%s - %s", c, d);
	out_textf(out, "connect", "%s - %s", a, d);
	out_textf(out, "other_connect", "%s - %s", c, b);
	out_textf(out, "message", "%s - %s and %s - %s: swap the ends at %s and %s", a, b, c, d, b, d);
}

static void say_fault(const struct osr_fabric *f, struct out *out, const struct osr_wiring_fault *x)
{
	out_row(out, "faults");
	if (x->kind == OSR_WIRING_SWAPPED)
		say_swapped(f, out, x);
	else if (x->kind == OSR_WIRING_MISSING)
		say_missing(f, out, x);
	else
		say_one(f, out, x);
}

static void say(struct args *a, const struct osr_wiring *w)
{
	static const char *const key[] = { "missing", "extra", "moved", "swapped" };
	uint32_t n[4] = { 0 };
	struct out *out = &a->out;

	for (uint32_t i = 0; i < w->n_faults; i++)
		n[w->fault[i].kind]++;
	out_row(out, "summary");
	cli_input_say(&a->in, out);
	out_text(out, "plan", w->plan);
	out_count(out, "cables", w->n_cables);
	for (unsigned i = 0; i < 4; i++)
		out_count(out, key[i], n[i]);
	out_head(out, "nearest plan: %s; %u cables between switches", w->plan, w->n_cables);
	if (!w->n_faults)
		out_note(out, "every cable between switches is where this plan has it");
	else
		out_note(out, "%u swapped pairs, %u moved, %u missing, %u extra", n[OSR_WIRING_SWAPPED],
			 n[OSR_WIRING_MOVED], n[OSR_WIRING_MISSING], n[OSR_WIRING_EXTRA]);
	for (uint32_t i = 0; i < w->n_faults && (!a->max || i < a->max); i++)
		say_fault(&a->in.fabric, out, &w->fault[i]);
}

static int run(struct args *a)
{
	struct osr_arena scratch = { 0 }, result = { 0 };
	struct osr_wiring w = { .n_faults = 0 };
	struct osr_diag diag = { "" };
	enum osr_status st = cli_input_load(&a->in, &diag);
	int code;

	if (!st)
		st = osr_wiring_find(&a->in.fabric, &scratch, &result, &w, &diag);
	if (!st)
		say(a, &w);
	else
		out_drop(&a->out);
	code = st ? cli_fail(st, &diag) : out_end(&a->out, w.n_faults ? CLI_BAD : CLI_OK);
	osr_arena_free(&scratch);
	osr_arena_free(&result);
	return code;
}

static error_t parse(int key, char *arg, struct argp_state *state)
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
	static const struct argp_child children[] = { { &input_argp, 0, NULL, 0 },
						      { &out_argp, 0, NULL, 0 },
						      { NULL, 0, NULL, 0 } };
	static const struct argp argp = { options,
					  parse,
					  "FILE",
					  "Finds the plan nearest to the cables between switches (fat tree, torus, mesh, "
					  "HyperX, dragonfly) and names every cable that is missing, extra, moved or swapped, "
					  "with what mends it.",
					  children,
					  NULL,
					  NULL };
	struct args a = { .in = CLI_INPUT_INIT,
			  .out = { .command = "wiring", .sections = sections },
			  .max = 50 };
	int code;

	argp_parse(&argp, argc, argv, 0, NULL, &a);
	code = run(&a);
	cli_input_free(&a.in);
	return code;
}

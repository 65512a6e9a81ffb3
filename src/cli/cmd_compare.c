/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Engines and files of tables side by side on one fabric: which would be the best here? */
#include <argp.h>
#include <stdlib.h>

#include <osmroutes/changes.h>

#include "cli/analysis.h"
#include "cli/cli.h"
#include "cli/input.h"

struct args {
	struct cli_input in;
	struct cli_subjects who;
	struct cli_traffic traffic;
	struct out out;
	struct cli_tables first; /* what the others are compared with */
	const char *first_name;
};

static const struct out_field head_fields[] = {
	CLI_INPUT_FIELDS,
	{ "patterns", NULL, OUT_COUNT, 0 },
	{ "seed", NULL, OUT_COUNT, 0 },
	{ NULL, NULL, 0, 0 },
};

static const struct out_field fields[] = {
	{ "tables", "tables of", OUT_TEXT, 0 },
	{ "status", NULL, OUT_TEXT, 0 },
	{ "message", NULL, OUT_TEXT, 0 },
	{ "verdict", "checker says", OUT_TEXT, 0 },
	{ "deadlock_free", "proven deadlock-free", OUT_BOOL, 0 },
	{ "reversible", "  also for replies", OUT_BOOL, 0 },
	{ "any_sl", "  also on any SL", OUT_BOOL, 0 },
	{ "vls", "VLs used", OUT_COUNT, 0 },
	{ "layers", "  needed", OUT_COUNT, 0 },
	{ "host_routes_lost", "pairs without a route", OUT_COUNT, 0 },
	{ "routes_longer", "routes longer than minimal", OUT_COUNT, 0 },
	{ "mean_hops", "channels of a route, mean", OUT_REAL, 3 },
	{ "efi", "edge forwarding index", OUT_COUNT, 0 },
	{ "efi_mean", "  average", OUT_REAL, 1 },
	{ "sigma", "  deviation sigma(4)", OUT_REAL, 2 },
	{ "ebb", "effective bisection bw", OUT_REAL, 4 },
	{ "ebb_half_width", "  95 % confidence, +-", OUT_REAL, 5 },
	{ "pairs_changed", "pairs with another path", OUT_COUNT, 0 },
	{ "pairs_changed_share", "  of all", OUT_REAL, 4 },
	{ "entries_changed", "LFT entries that differ", OUT_COUNT, 0 },
	{ "route_ms", "route or read, ms CPU", OUT_REAL, 1 },
	{ NULL, NULL, 0, 0 },
};

static const struct out_field pattern_fields[] = { CLI_TRAFFIC_FIELDS, { NULL, NULL, 0, 0 } };

static const struct out_section sections[] = {
	{ "summary", OUT_HEAD, head_fields },
	{ "results", OUT_ACROSS, fields },
	{ "patterns", OUT_ROWS, pattern_fields },
	{ NULL, 0, NULL },
};

static void say_analysis(struct out *out, const struct cli_analysis *a)
{
	if (!a->st) {
		out_bool(out, "deadlock_free", a->verdict.proven & OSR_CLAIM_DEADLOCK_FREE);
		out_bool(out, "reversible", a->verdict.proven & OSR_CLAIM_REVERSIBLE);
		out_bool(out, "any_sl", a->verdict.proven & OSR_CLAIM_ANY_SL);
		out_count(out, "routes_longer", a->verdict.n_longer);
	}
	if (a->has_loads) {
		out_count(out, "host_routes_lost", a->n_lost);
		out_real(out, "mean_hops", cli_mean_hops(a));
		out_count(out, "efi", a->balance.efi);
		out_real(out, "efi_mean", a->balance.mean);
		out_real(out, "sigma", a->balance.sigma);
	}
	if (a->bandwidth.n_patterns) {
		out_real(out, "ebb", a->bandwidth.mean);
		out_real(out, "ebb_half_width", a->bandwidth.half_width);
	}
}

/* Against the first tables that there were. */
static enum osr_status say_changes(struct args *a, const struct cli_tables *t,
				   struct osr_diag *diag)
{
	const struct osr_fabric *f = &a->in.fabric;
	struct osr_arena scratch = { 0 };
	struct osr_changes c;
	enum osr_status st;

	st = osr_changes(f, &a->first.routing, f, &t->routing, &scratch, &c, diag);
	osr_arena_free(&scratch);
	if (st)
		return st;
	out_count(&a->out, "pairs_changed", c.n_path);
	out_real(&a->out, "pairs_changed_share",
		 c.n_pairs ? (double)c.n_path / (double)c.n_pairs : 0);
	out_count(&a->out, "entries_changed", c.n_entries_changed);
	return OSR_OK;
}

/* An engine that refuses this fabric is worth a line, and no failure of the comparison. */
static enum osr_status compare(struct args *a, uint32_t i, struct osr_diag *diag)
{
	const char *name = cli_subject_name(&a->who.item[i]);
	const struct osr_fabric *f = &a->in.fabric;
	struct cli_analysis found = { .st = OSR_OK };
	struct cli_tables t;
	enum osr_status st = OSR_OK;

	cli_tables_make(&a->who, i, f, NULL, &t);
	if (t.st == OSR_INVAL || t.st == OSR_NOMEM) {
		*diag = t.diag;
		return t.st;
	}
	if (!t.st)
		cli_analyze_tables(&a->traffic, f, &t, 4, &found);
	out_row(&a->out, "results");
	out_text(&a->out, "tables", name);
	out_text(&a->out, "status", osr_status_str(t.st ? t.st : found.st));
	out_text(&a->out, "message", t.st ? t.diag.text : found.diag.text);
	if (t.st || found.st)
		out_note(&a->out, "%s: %s", name, t.st ? t.diag.text : found.diag.text);
	if (t.st)
		goto out;
	out_text(&a->out, "verdict", found.st ? "REFUSED" : "good");
	if (a->who.item[i].engine) {
		out_count(&a->out, "vls", t.routing.n_vls);
		out_count(&a->out, "layers", t.routing.n_layers);
	}
	out_real(&a->out, "route_ms", t.ms);
	say_analysis(&a->out, &found);
	if (a->first_name)
		st = say_changes(a, &t, diag);
	if (!st)
		st = cli_traffic_measure(&a->traffic, f, &t.routing, name, &a->out, diag);
	if (st == OSR_CHECK_FAILED && found.st) /* said already */
		st = OSR_OK;
	if (!st && !a->first_name) {
		a->first = t;
		a->first_name = name;
		/* The name of a file's engine lies in what was moved. */
		a->first.routing.engine = name;
		return OSR_OK;
	}
out:
	cli_tables_free(&t);
	return st;
}

static int compare_all(struct args *a)
{
	struct osr_diag diag = { "" };
	enum osr_status st = OSR_OK;

	out_row(&a->out, "summary");
	cli_input_say(&a->in, &a->out);
	out_count(&a->out, "patterns", a->traffic.n_bisections);
	out_count(&a->out, "seed", a->traffic.seed);
	for (uint32_t i = 0; i < a->who.n && !st; i++)
		st = compare(a, i, &diag);
	if (a->first_name) {
		out_head(&a->out,
			 "%u random bisections from seed %llu; paths and entries against %s",
			 a->traffic.n_bisections, (unsigned long long)a->traffic.seed,
			 a->first_name);
		cli_tables_free(&a->first);
	}
	if (!st)
		return out_end(&a->out, a->first_name ? CLI_OK : CLI_BAD);
	out_drop(&a->out);
	return cli_fail(st, &diag);
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct args *a = state->input;

	if (key != ARGP_KEY_INIT)
		return ARGP_ERR_UNKNOWN;
	state->child_inputs[0] = &a->in;
	state->child_inputs[1] = &a->who;
	state->child_inputs[2] = &a->traffic;
	state->child_inputs[3] = &a->out;
	return 0;
}

int cli_compare(int argc, char **argv)
{
	static const struct argp argp = {
		NULL,
		parse,
		"FILE",
		"Puts engines (all, unless some are named) and tables of files side by side on the "
		"fabric of FILE: verdict, virtual lanes, balance, bandwidth, and how much they "
		"differ "
		"from the first.",
		cli_analysis_children,
		NULL,
		NULL
	};
	struct args a = { .in = CLI_INPUT_INIT,
			  .who = CLI_SUBJECTS_INIT,
			  .traffic = CLI_TRAFFIC_INIT,
			  .out = { .command = "compare", .sections = sections } };
	struct osr_diag diag = { "" };
	enum osr_status st;
	int code;

	a.who.all = true;
	argp_parse(&argp, argc, argv, 0, NULL, &a);
	st = cli_subjects_load(&a.who, &a.in, &diag);
	osr_net_free(&a.in.net);
	if (!st)
		st = cli_traffic_load(&a.traffic, &a.in.fabric, &diag);
	code = st ? cli_fail(st, &diag) : compare_all(&a);
	cli_traffic_free(&a.traffic);
	cli_subjects_free(&a.who);
	cli_input_free(&a.in);
	return code;
}

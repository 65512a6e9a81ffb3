/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include <argp.h>
#include <inttypes.h>

#include <osmroutes/engine.h>

#include "cli/cli.h"
#include "cli/output.h"

static void print_engine(const struct osr_engine *e)
{
	printf("%s\n    %s\n", e->name, e->summary);
	if (e->reference)
		printf("    %s\n", e->reference);
	printf("    promises:%s%s%s%s\n",
	       e->capabilities & OSR_ENGINE_DEADLOCK_FREE ? " deadlock-free" : "",
	       e->capabilities & OSR_ENGINE_MINIMAL ? " minimal" : "",
	       e->capabilities & OSR_ENGINE_LMC ? " spreads-LMC" : "",
	       e->capabilities ? "" : " nothing");
	cli_print_params(stdout, e->params);
}

static const struct out_field engine_fields[] = {
	{ "engine", NULL, OUT_TEXT, 0 },
	{ "summary", NULL, OUT_TEXT, 0 },
	{ "reference", NULL, OUT_TEXT, 0 },
	{ "deadlock_free", NULL, OUT_BOOL, 0 },
	{ "minimal", NULL, OUT_BOOL, 0 },
	{ "spreads_lmc", NULL, OUT_BOOL, 0 },
	{ NULL, NULL, 0, 0 },
};

static const struct out_field option_fields[] = {
	{ "engine", NULL, OUT_TEXT, 0 },  { "option", NULL, OUT_TEXT, 0 },
	{ "default", NULL, OUT_TEXT, 0 }, { "values", NULL, OUT_TEXT, 0 },
	{ "help", NULL, OUT_TEXT, 0 },	  { NULL, NULL, 0, 0 },
};

static const struct out_section sections[] = {
	{ "engines", OUT_ROWS, engine_fields },
	{ "options", OUT_ROWS, option_fields },
	{ NULL, 0, NULL },
};

static void say_option(struct out *out, const struct osr_engine *e, const struct osr_param *p)
{
	out_row(out, "options");
	out_text(out, "engine", e->name);
	out_text(out, "option", p->name);
	out_text(out, "default", p->def);
	if (p->type == OSR_PARAM_ENUM)
		out_text(out, "values", p->words);
	else if (p->type == OSR_PARAM_BOOL)
		out_text(out, "values", "yes|no");
	else if (p->type == OSR_PARAM_UINT && p->max == UINT64_MAX)
		out_textf(out, "values", "%" PRIu64 "..", p->min);
	else if (p->type == OSR_PARAM_UINT)
		out_textf(out, "values", "%" PRIu64 "..%" PRIu64, p->min, p->max);
	out_text(out, "help", p->help);
}

static void say_engine(struct out *out, const struct osr_engine *e)
{
	out_row(out, "engines");
	out_text(out, "engine", e->name);
	out_text(out, "summary", e->summary);
	out_text(out, "reference", e->reference);
	out_bool(out, "deadlock_free", e->capabilities & OSR_ENGINE_DEADLOCK_FREE);
	out_bool(out, "minimal", e->capabilities & OSR_ENGINE_MINIMAL);
	out_bool(out, "spreads_lmc", e->capabilities & OSR_ENGINE_LMC);
	for (const struct osr_param *p = e->params; p && p->name; p++)
		say_option(out, e, p);
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	if (key != ARGP_KEY_INIT)
		return ARGP_ERR_UNKNOWN;
	state->child_inputs[0] = state->input;
	return 0;
}

/* People get paragraphs; a table would be too wide for them. */
int cli_engines(int argc, char **argv)
{
	static const struct argp_child children[] = { { &out_argp, 0, NULL, 0 },
						      { NULL, 0, NULL, 0 } };
	static const struct argp argp = {
		NULL, parse, "", "Lists the routing engines, with their options and defaults.",
		children, NULL, NULL
	};
	struct out out = { .command = "engines", .sections = sections };

	argp_parse(&argp, argc, argv, 0, NULL, &out);
	for (const struct osr_engine *const *e = osr_engines; *e; e++) {
		if (out.format != OUT_PEOPLE) {
			say_engine(&out, *e);
			continue;
		}
		if (e != osr_engines)
			putchar('\n');
		print_engine(*e);
	}
	return out_end(&out, CLI_OK);
}

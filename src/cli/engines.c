/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <osmroutes/engine.h>

#include "cli/cli.h"
#include "cli/engines.h"

static void print_engine(FILE *page, const struct osr_engine *engine)
{
	fprintf(page, "%s\n    %s\n", engine->name, engine->summary);
	if (engine->reference)
		fprintf(page, "    %s\n", engine->reference);
	fprintf(page, "    promises:%s%s%s%s\n",
		engine->capabilities & OSR_ENGINE_DEADLOCK_FREE ? " deadlock-free" : "",
		engine->capabilities & OSR_ENGINE_MINIMAL ? " minimal" : "",
		engine->capabilities & OSR_ENGINE_LMC ? " spreads-LMC" : "",
		engine->capabilities ? "" : " nothing");
	cli_print_params(page, engine->params);
}

const struct out_field cli_engine_fields[] = {
	{ "engine", NULL, OUT_TEXT, 0 },
	{ "summary", NULL, OUT_TEXT, 0 },
	{ "reference", NULL, OUT_TEXT, 0 },
	{ "deadlock_free", NULL, OUT_BOOL, 0 },
	{ "minimal", NULL, OUT_BOOL, 0 },
	{ "spreads_lmc", NULL, OUT_BOOL, 0 },
	{ NULL, NULL, 0, 0 },
};

const struct out_field cli_engine_option_fields[] = {
	{ "engine", NULL, OUT_TEXT, 0 },  { "option", NULL, OUT_TEXT, 0 },
	{ "default", NULL, OUT_TEXT, 0 }, { "values", NULL, OUT_TEXT, 0 },
	{ "help", NULL, OUT_TEXT, 0 },    { NULL, NULL, 0, 0 },
};

static void engines_say_engine(struct out *out, const struct osr_engine *engine)
{
	out_row(out, "engines");
	out_text(out, "engine", engine->name);
	out_text(out, "summary", engine->summary);
	out_text(out, "reference", engine->reference);
	out_bool(out, "deadlock_free", engine->capabilities & OSR_ENGINE_DEADLOCK_FREE);
	out_bool(out, "minimal", engine->capabilities & OSR_ENGINE_MINIMAL);
	out_bool(out, "spreads_lmc", engine->capabilities & OSR_ENGINE_LMC);
	for (const struct osr_param *param = engine->params; param && param->name; param++) {
		/* Its options. */
		out_row(out, "engine_options");
		out_text(out, "engine", engine->name);
		out_text(out, "option", param->name);
		out_text(out, "default", param->def);
		if (param->type == OSR_PARAM_ENUM)
			out_text(out, "values", param->words);
		else if (param->type == OSR_PARAM_BOOL)
			out_text(out, "values", "yes|no");
		else if (param->type == OSR_PARAM_UINT && param->max == UINT64_MAX)
			out_textf(out, "values", "%" PRIu64 "..", param->min);
		else if (param->type == OSR_PARAM_UINT)
			out_textf(out, "values", "%" PRIu64 "..%" PRIu64, param->min, param->max);
		out_text(out, "help", param->help);
	}
}

/* People get paragraphs; a table would be too wide for them. */
static void print_engines(struct out *out)
{
	char *text = NULL, *rest;
	size_t size;
	FILE *page = open_memstream(&text, &size);

	if (!page)
		return;
	for (const struct osr_engine *const *e = osr_engines; *e; e++) {
		if (e != osr_engines)
			fputc('\n', page);
		print_engine(page, *e);
	}
	fclose(page);
	rest = text;
	for (char *line = strsep(&rest, "\n"); rest; line = strsep(&rest, "\n"))
		out_note(out, "%s", line);
	free(text);
}

void cli_list_engines(struct out *out)
{
	if (out->format == OUT_PEOPLE) {
		print_engines(out);
		return;
	}
	for (const struct osr_engine *const *e = osr_engines; *e; e++)
		engines_say_engine(out, *e);
}

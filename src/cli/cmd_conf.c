/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * A configuration, read by the plugin's own reader before opensm reads it: its errors, and the
 * values in effect.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <osmroutes/engine.h>
#include <osmroutes/params.h>

#include "cli/cli.h"
#include "cli/source.h"

static const struct out_field engine_fields[] = {
	{ "engine", NULL, OUT_TEXT },    { "summary", NULL, OUT_TEXT },
	{ "reference", NULL, OUT_TEXT }, { "deadlock_free", NULL, OUT_BOOL },
	{ "minimal", NULL, OUT_BOOL },   { 0 },
};

static const struct out_field engine_option_fields[] = {
	{ "engine", NULL, OUT_TEXT }, { "option", NULL, OUT_TEXT }, { "default", NULL, OUT_TEXT },
	{ "values", NULL, OUT_TEXT }, { "help", NULL, OUT_TEXT },   { 0 },
};

/* People get paragraphs; a table would be too wide for them. */
static void print_engines(struct out *out)
{
	char *text = NULL, *rest;
	size_t size;
	FILE *page = open_memstream(&text, &size);

	if (!page)
		return;
	for (const struct osr_engine *const *e = osr_engines; *e; e++) {
		const struct osr_engine *engine = *e;
		uint32_t promises = engine->capabilities;

		fprintf(page, "%s%s\n    %s\n", e == osr_engines ? "" : "\n", engine->name,
			engine->summary);
		if (engine->reference)
			fprintf(page, "    %s\n", engine->reference);
		fprintf(page, "    promises:%s%s%s\n",
			promises & OSR_ENGINE_DEADLOCK_FREE ? " deadlock-free" : "",
			promises & OSR_ENGINE_MINIMAL ? " minimal" : "",
			promises ? "" : " nothing");
		cli_print_params(page, engine->params);
	}
	fclose(page);
	rest = text;
	for (char *line = strsep(&rest, "\n"); rest; line = strsep(&rest, "\n"))
		out_note(out, "%s", line);
	free(text);
}

static void say_engine(struct out *out, const struct osr_engine *engine)
{
	OUT_ADD(out, "engines", engine->name, engine->summary, engine->reference,
		engine->capabilities & OSR_ENGINE_DEADLOCK_FREE,
		engine->capabilities & OSR_ENGINE_MINIMAL);
	for (const struct osr_param *param = engine->params; param && param->name; param++) {
		char range[64] = "yes|no";
		const char *values = param->type == OSR_PARAM_ENUM     ? param->words
				     : param->type == OSR_PARAM_STRING ? NULL
								       : range;

		if (param->type == OSR_PARAM_UINT && param->max == UINT64_MAX)
			snprintf(range, sizeof(range), "%" PRIu64 "..", param->min);
		else if (param->type == OSR_PARAM_UINT)
			snprintf(range, sizeof(range), "%" PRIu64 "..%" PRIu64, param->min,
				 param->max);
		OUT_ADD(out, "engine_options", engine->name, param->name, param->def, values,
			param->help);
	}
}

struct args {
	struct cli_run run; /* who: osmconf, osm and options alone */
	const char *config;
	bool check, list;
};

static const struct out_field head_fields[] = { { "config", NULL, OUT_TEXT },
						{ "opensm_conf", NULL, OUT_TEXT },
						{ "engine", NULL, OUT_TEXT },
						{ "good", NULL, OUT_BOOL },
						{ 0 } };

static const struct out_field option_fields[] = { { "section", "section", OUT_TEXT },
						  { "option", "option", OUT_TEXT },
						  { "value", "value", OUT_TEXT },
						  { "default", "default", OUT_TEXT },
						  { 0 } };

static const struct out_section sections[] = { { "summary", OUT_HEAD, head_fields },
					       { "options", OUT_ROWS, option_fields },
					       { "engines", OUT_ROWS, engine_fields },
					       { "engine_options", OUT_ROWS, engine_option_fields },
					       { 0 } };

/* As an administrator would write it. */
static void conf_value_text(const struct osr_param *param, const struct osr_values *values,
			    uint32_t row, char *buf, size_t size)
{
	const char *word = param->words;

	if (param->type == OSR_PARAM_STRING) {
		snprintf(buf, size, "%s", values->str[values->num[row]]);
	} else if (param->type == OSR_PARAM_BOOL) {
		snprintf(buf, size, "%s", values->num[row] ? "yes" : "no");
	} else if (param->type == OSR_PARAM_ENUM) {
		for (uint64_t i = 0; i < values->num[row]; i++)
			word += strcspn(word, "|") + 1;
		snprintf(buf, size, "%.*s", (int)strcspn(word, "|"), word);
	} else {
		snprintf(buf, size, "%llu", (unsigned long long)values->num[row]);
	}
}

/* Options that are not as they would be without a file. */
static void conf_say_table(struct out *out, const char *section, const struct osr_param *table,
			   const struct osr_values *values)
{
	struct osr_values plain;
	char now[OSR_STRING_SIZE], then[OSR_STRING_SIZE];

	osr_values_default(&plain, table);
	for (uint32_t row = 0; table[row].name; row++) {
		conf_value_text(&table[row], values, row, now, sizeof(now));
		conf_value_text(&table[row], &plain, row, then, sizeof(then));
		if (!strcmp(now, then))
			continue;
		OUT_ADD(out, "options", section, table[row].name, now, then);
	}
}

/* Does one of ours come first? */
static bool conf_judge_engines(struct args *args)
{
	const struct osr_engine *engine, *first = NULL, *any = NULL;
	const char *list =
		args->run.who.osm.routing_engine + strspn(args->run.who.osm.routing_engine, ", \t");
	bool known = true;
	char word[64];

	for (const char *at = list; *at; at += strspn(at, ", \t")) {
		size_t n = strcspn(at, ", \t");
		struct osr_guess guess;
		char said[160];

		snprintf(word, sizeof(word), "%.*s", (int)n, at);
		engine = osr_options_engine(&args->run.who.options, word);
		/* A word for OpenSM, with or without osmroutes. */
		if (!engine && !cli_is_stock(word, &guess)) {
			known = false;
			out_note(&args->run.out,
				 "%s: routing_engine: \"%s\" is no engine of OpenSM or osmroutes%s",
				 args->run.who.osmconf, word,
				 osr_guess_say(&guess, said, sizeof(said)));
		}
		first = at == list ? engine : first;
		any = any ? any : engine;
		at += n;
	}
	if (first)
		out_text(&args->run.out, "engine", first->name);
	else
		out_note(&args->run.out, "%s: routing_engine %s: osmroutes routes %s",
			 args->run.who.osmconf, *list ? list : "is not set",
			 any     ? "only if the engines before it fail"
			 : *list ? "nothing: none of these engines is its own"
				 : "nothing");
	return known && first;
}

/*
 * The version of OpenSM in a program or plugin, which has OSM_VERSION as a string; where it is
 * found first.
 */
static bool conf_find_version(const char *dirs, const char *name, char path[512], char version[64])
{
	bool found = false;

	for (size_t n; *dirs && !found; dirs += n + (dirs[n] == ':')) {
		char *text = NULL;
		size_t size = 0;
		FILE *file;

		n = strcspn(dirs, ":");
		snprintf(path, 512, "%.*s/%s", (int)n, dirs, name);
		file = n ? fopen(path, "r") : NULL;
		while (file && !found && getdelim(&text, &size, '\0', file) > 0) {
			found = !strncmp(text, "OpenSM ", 7) && text[7] >= '0' && text[7] <= '9' &&
				!strchr(text + 7, ' ');
			snprintf(version, 64, "%s", text);
		}
		free(text);
		if (file)
			fclose(file);
	}
	return found;
}

/* OpenSM loads no plugin that was built for another version of it. */
static bool conf_judge_plugin(struct args *args)
{
	const char *libraries = getenv("LD_LIBRARY_PATH"), *programs = getenv("PATH");
	char dirs[4096], plugin[512], opensm[512], built[64], version[64];

	snprintf(dirs, sizeof(dirs), "%s:%s", libraries ? libraries : "", OSR_PLUGIN_DIR);
	if (!conf_find_version(dirs, "libosmroutes.so", plugin, built))
		return true; /* not on this machine */
	snprintf(dirs, sizeof(dirs), "%s:/usr/sbin:/usr/local/sbin", programs ? programs : "");
	if (!conf_find_version(dirs, "opensm", opensm, version) || !strcmp(built, version))
		return true;
	out_note(&args->run.out, "%s is built for %s and not loaded by %s, which is %s", plugin,
		 built, opensm, version);
	return false;
}

static const struct cli_option options[] = {
	{ "check", NULL, "say only what is wrong", CLI_FLAG(struct args, check) },
	{ "list", NULL, "list the engines with their options, and read no file",
	  CLI_FLAG(struct args, list) },
	{ "opensm-conf", "FILE",
	  "check this opensm.conf, too: event_plugin_name, event_plugin_options, routing_engine, "
	  "qos",
	  CLI_TEXT(struct args, run.who.osmconf) },
	{ 0 },
};

static enum osr_status conf_parse(int key, const char *arg, void *args, const struct cli_line *line)
{
	struct args *a = args;

	if (key == CLI_ALL_WORDS && a->list && (a->config || a->run.who.osmconf))
		return osr_fail(line->diag, OSR_INVAL, "--list reads no file: \"%s\"",
				a->config ? a->config : a->run.who.osmconf);
	if (key != CLI_ONE_WORD)
		return OSR_NOT_APPLICABLE;
	if (a->config)
		return osr_fail(line->diag, OSR_INVAL, "expected exactly one FILE");
	a->config = arg;
	return OSR_OK;
}

static enum osr_status conf_work(void *args)
{
	struct args *a = args;
	struct cli_subjects *who = &a->run.who;
	struct osr_options *o = &who->options;
	struct out *out = &a->run.out;
	enum osr_status st = OSR_OK;
	bool good;

	if (a->list) {
		if (out->format == OUT_PEOPLE)
			print_engines(out);
		for (uint32_t e = 0; out->format != OUT_PEOPLE && osr_engines[e]; e++)
			say_engine(out, osr_engines[e]);
		return OSR_OK;
	}
	osr_osmconf_default(&who->osm);
	if (a->config && access(a->config, R_OK))
		return osr_fail(&a->run.diag, OSR_INVAL, "%.300s: cannot be read: %s", a->config,
				strerror(errno));
	if (who->osmconf)
		st = osr_osmconf_read(who->osmconf, &who->osm, &a->run.diag);
	if (!st && !osr_options_load(o, a->config, who->osm.plugin_options))
		st = osr_fail(&a->run.diag, OSR_NOMEM, "out of memory for the options");
	if (st)
		return st;
	/* The values in effect, and the errors. */
	good = !o->n_errors;
	out_row(out, "summary");
	out_text(out, "config", o->config);
	out_text(out, "opensm_conf", who->osmconf ? who->osmconf : "");
	if (who->osmconf) {
		bool named = osr_osmconf_lists(who->osm.plugin_name, "osmroutes");

		osr_osmconf_sls(&who->osm); /* for odd words in the files of partitions and QoS */
		good &= named;
		good &= conf_judge_engines(a);
		good &= conf_judge_plugin(a);
		if (!named)
			out_note(out,
				 "%s: event_plugin_name does not name osmroutes: OpenSM does not "
				 "load it",
				 who->osmconf);
		if (who->osm.n_odd)
			out_note(out, "%s (%u such line%s)", who->osm.odd, who->osm.n_odd,
				 who->osm.n_odd == 1 ? "" : "s");
		if (!who->osm.qos)
			out_note(out,
				 "%s: qos is not TRUE: osmroutes has one virtual lane, whatever "
				 "the links have",
				 who->osmconf);
	}
	if (o->n_twice)
		out_note(out, "%s%s", o->twice.text,
			 o->n_twice > 1 ? "; others are set twice, too" : "");
	out_bool(out, "good", good);
	for (uint32_t i = 0; i < o->n_errors && i < OSR_OPTIONS_ERRORS; i++)
		out_note(out, "%s", o->error[i].text);
	if (o->n_errors)
		out_note(out, "%u error%s: %s", o->n_errors, o->n_errors == 1 ? "" : "s",
			 o->own.num[OPT_ON_ERROR] == ON_ERROR_REFUSE
				 ? "on_error = refuse: the engines of osmroutes would refuse to "
				   "route"
				 : "osmroutes would be disabled, and OpenSM fall back to its own "
				   "engines");
	out_head(out, "%s%s%s%s%s", osr_options_origin(o), o->config, who->osmconf ? " and " : "",
		 who->osmconf ? who->osmconf : "",
		 !good                        ? ": with errors"
		 : *o->config || who->osmconf ? ": good"
					      : "");
	for (uint32_t e = 0; !a->check && osr_engines[e]; e++)
		conf_say_table(out, osr_engines[e]->name, osr_engines[e]->params, &o->engine[e]);
	if (!a->check)
		conf_say_table(out, "", osr_plugin_params, &o->own);
	a->run.code = good ? CLI_OK : CLI_BAD;
	return OSR_OK;
}

const struct cli_command cli_conf = {
	"conf",
	"check a configuration; list engines and their options",
	CLI_ADMIN,
	{ options, conf_parse, "[FILE]",
	  "Reads FILE (default " OSR_DEFAULT_CONFIG
	  ", if it exists) as the plugin does when opensm starts, and says what is wrong and "
	  "which options are not at their defaults. Or lists the engines." },
	sections,
	CLI_ARGS(.run = { CLI_RUN }),
	.work = conf_work
};

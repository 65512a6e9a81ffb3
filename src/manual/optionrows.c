/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Every option table of the product as JSON, for the scripts beside this file that write the man
 * pages and osmroutes.conf: the sub-commands, the engines, the plugin's options, kinds of fabrics.
 * It is linked from the objects of the command itself, so a new sub-command, option, engine or kind
 * is in the manual without a word anywhere else.
 */
#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include <osmroutes/engine.h>

#include "cli/source.h"
#include "conf/optiontable.h"
#include "topo/topo.h"

static const char *text(const char *s)
{
	return s ? s : "";
}

/* ---- tables of osmroutes/params.h ------------------------------------------------------------ */

static void values_text(const struct osr_param *param, char *buf, size_t size)
{
	switch (param->type) {
	case OSR_PARAM_BOOL:
		snprintf(buf, size, "yes, no");
		return;
	case OSR_PARAM_UINT:
		if (param->max == UINT64_MAX)
			snprintf(buf, size, "%" PRIu64 " or more", param->min);
		else
			snprintf(buf, size, "%" PRIu64 "..%" PRIu64, param->min, param->max);
		return;
	case OSR_PARAM_ENUM:
		snprintf(buf, size, "%s", param->words);
		return;
	case OSR_PARAM_STRING:
		snprintf(buf, size, "text");
		return;
	}
}

static json_t *params_json(const struct osr_param *table)
{
	json_t *rows = json_array();
	char values[512];

	if (!table)
		return rows;
	for (const struct osr_param *param = table; param->name; param++) {
		values_text(param, values, sizeof(values));
		json_array_append_new(rows, json_pack("{s:s, s:s, s:s, s:s}", "name", param->name,
						      "default", param->def, "values", values,
						      "help", param->help));
	}
	return rows;
}

static json_t *engine_json(const struct osr_engine *engine)
{
	return json_pack("{s:s, s:s, s:s, s:b, s:b, s:o}", "name", engine->name, "summary",
			 text(engine->summary), "reference", text(engine->reference),
			 "deadlock_free", !!(engine->capabilities & OSR_ENGINE_DEADLOCK_FREE),
			 "minimal", !!(engine->capabilities & OSR_ENGINE_MINIMAL), "options",
			 params_json(engine->params));
}

/* ---- options of sub-commands ----------------------------------------------------------------- */

/* A letter that a row before has is that one's. */
static bool key_is_taken(const json_t *rows, char key)
{
	const json_t *row;
	size_t i;

	json_array_foreach(rows, i, row) if (*json_string_value(json_object_get(row, "key")) ==
					     key) return true;
	return false;
}

static json_t *option_json(const json_t *rows, const struct cli_option *option)
{
	char key[2] = "";

	if (option->key > ' ' && option->key < 0x7f && !key_is_taken(rows, (char)option->key))
		key[0] = (char)option->key;
	return json_pack("{s:s, s:s, s:s, s:b, s:s}", "name", text(option->name), "key", key, "arg",
			 text(option->arg), "arg_optional", option->arg_optional, "help",
			 text(option->doc));
}

static void append_options(json_t *rows, const struct cli_spec *spec)
{
	for (const struct cli_option *option = spec->options; !cli_option_ends(option); option++)
		if (option->part)
			append_options(rows, option->part);
		else if (option->name)
			json_array_append_new(rows, option_json(rows, option));
}

/* ---- all of them ----------------------------------------------------------------------------- */

int main(void)
{
	json_t *commands = json_array(), *engines = json_array(), *topologies = json_array(), *root;
	const struct osr_topo *topo;
	int bad;

	for (size_t i = 0; cli_commands[i]; i++) {
		const struct cli_command *command = cli_commands[i];
		json_t *rows = json_array();

		append_options(rows, &command->spec);
		json_array_append_new(commands,
				      json_pack("{s:s, s:s, s:{s:s, s:s, s:o}}", "name",
						command->name, "summary", command->summary, "table",
						"args", text(command->spec.args_doc), "doc",
						text(command->spec.doc), "options", rows));
	}
	for (uint32_t e = 0; osr_engines[e]; e++)
		json_array_append_new(engines, engine_json(osr_engines[e]));
	for (uint32_t i = 0; (topo = osr_topo_row(i)); i++)
		json_array_append_new(topologies, json_pack("{s:s, s:s, s:o}", "name", topo->name,
							    "summary", topo->summary, "options",
							    params_json(topo->params)));
	root = json_pack("{s:s, s:o, s:o, s:o, s:o}", "version", OSR_VERSION, "commands", commands,
			 "engines", engines, "topologies", topologies, "plugin",
			 params_json(osr_plugin_params));
	bad = !root || json_dumpf(root, stdout, JSON_INDENT(1));
	putchar('\n');
	json_decref(root);
	return bad || fflush(stdout) ? EXIT_FAILURE : EXIT_SUCCESS;
}

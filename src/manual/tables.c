/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Every option table of the product as JSON, for the scripts beside this file that write the man
 * pages, the completion and osmroutes.conf:
 *
 *	osr-tables		the sub-commands, the engines, the plugin's options, kinds of fabrics
 *	osr-tables NAME [ARG]	the argp table of `osmroutes NAME [ARG]`; status 3 if it has none
 *
 * It is linked from the objects of the command itself, with argp_parse() wrapped (--wrap): what a
 * sub-command hands to argp is what is printed here. So a new sub-command, option, engine or kind is in
 * the manual without a word anywhere else.
 */
#include <argp.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include <osmroutes/engine.h>

#include "cli/cli.h"
#include "conf/optiontable.h"
#include "topo/topo.h"

#define NO_TABLE 3

static const char *text(const char *s)
{
	return s ? s : "";
}

static int print(json_t *root)
{
	int bad = !root || json_dumpf(root, stdout, JSON_INDENT(1));

	putchar('\n');
	json_decref(root);
	return bad || fflush(stdout) ? EXIT_FAILURE : EXIT_SUCCESS;
}

/* ---- tables of osmroutes/params.h ------------------------------------------------------------ */

static void values_text(const struct osr_param *p, char *buf, size_t size)
{
	switch (p->type) {
	case OSR_PARAM_BOOL:
		snprintf(buf, size, "yes, no");
		return;
	case OSR_PARAM_UINT:
		if (p->max == UINT64_MAX)
			snprintf(buf, size, "%" PRIu64 " or more", p->min);
		else
			snprintf(buf, size, "%" PRIu64 "..%" PRIu64, p->min, p->max);
		return;
	case OSR_PARAM_ENUM:
		snprintf(buf, size, "%s", p->words);
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

	for (const struct osr_param *p = table; p && p->name; p++) {
		values_text(p, values, sizeof(values));
		json_array_append_new(rows, json_pack("{s:s, s:s, s:s, s:s}", "name", p->name,
						      "default", p->def, "values", values, "help",
						      p->help));
	}
	return rows;
}

static json_t *engine_json(const struct osr_engine *e)
{
	return json_pack("{s:s, s:s, s:s, s:b, s:b, s:b, s:o}", "name", e->name, "summary",
			 text(e->summary), "reference", text(e->reference), "deadlock_free",
			 !!(e->capabilities & OSR_ENGINE_DEADLOCK_FREE), "minimal",
			 !!(e->capabilities & OSR_ENGINE_MINIMAL), "lmc",
			 !!(e->capabilities & OSR_ENGINE_LMC), "options", params_json(e->params));
}

static int print_tables(void)
{
	json_t *commands = json_array(), *engines = json_array(), *topologies = json_array();
	const struct osr_topo *t;

	for (const struct cli_command *c = cli_commands; c->name; c++)
		json_array_append_new(commands, json_pack("{s:s, s:s}", "name", c->name, "summary",
							  c->summary));
	for (uint32_t e = 0; osr_engines[e]; e++)
		json_array_append_new(engines, engine_json(osr_engines[e]));
	for (uint32_t i = 0; (t = osr_topo_row(i)); i++)
		json_array_append_new(topologies,
				      json_pack("{s:s, s:s, s:o}", "name", t->name, "summary",
						t->summary, "options", params_json(t->params)));
	return print(json_pack("{s:s, s:o, s:o, s:o, s:o}", "version", OSR_VERSION, "commands",
			       commands, "engines", engines, "topologies", topologies, "plugin",
			       params_json(osr_plugin_params)));
}

/* ---- tables of argp -------------------------------------------------------------------------- */

static json_t *option_json(const struct argp_option *o)
{
	char key[2] = "";

	if (o->key > ' ' && o->key < 0x7f)
		key[0] = (char)o->key;
	return json_pack("{s:s, s:s, s:s, s:b, s:b, s:s}", "name", text(o->name), "key", key, "arg",
			 text(o->arg), "arg_optional", !!(o->flags & OPTION_ARG_OPTIONAL), "alias",
			 !!(o->flags & OPTION_ALIAS), "help", text(o->doc));
}

static void append_options(json_t *rows, const struct argp *argp)
{
	const struct argp_option *o = argp->options;

	for (; o && (o->name || o->key || o->doc || o->group); o++)
		if ((o->name || o->key) && !(o->flags & (OPTION_HIDDEN | OPTION_DOC)))
			json_array_append_new(rows, option_json(o));
	for (const struct argp_child *c = argp->children; c && c->argp; c++)
		append_options(rows, c->argp);
}

/* In place of argp's: prints the table, and the sub-command never goes on. */
error_t __wrap_argp_parse(const struct argp *argp, int argc, char **argv, unsigned flags, int *index,
			  void *input);

error_t __wrap_argp_parse(const struct argp *argp, int argc, char **argv, unsigned flags, int *index,
			  void *input)
{
	json_t *rows = json_array();

	append_options(rows, argp);
	/* _Exit: what the sub-command holds is not its own mistake. */
	_Exit(print(json_pack("{s:s, s:s, s:o}", "args", text(argp->args_doc), "doc",
			      text(argp->doc), "options", rows)));
}

int main(int argc, char **argv)
{
	char name[128];

	if (argc < 2)
		return print_tables();
	for (const struct cli_command *c = cli_commands; c->name; c++) {
		if (strcmp(c->name, argv[1]))
			continue;
		snprintf(name, sizeof(name), "osmroutes %s", c->name);
		argv[1] = name;
		c->run(argc - 1, argv + 1);
		return NO_TABLE;
	}
	fprintf(stderr, "osr-tables: no command \"%s\"\n", argv[1]);
	return EXIT_FAILURE;
}

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "cli/subject.h"

#include <stdlib.h>
#include <string.h>

#include <osmroutes/names.h>

#include "cli/cli.h"
#include "core/data/carry.h"

/* ---- the command line ----------------------------------------------------------------------- */

enum { OPT_TABLES = 256, OPT_CONFIG, OPT_MCAST };

#define ASSUMED_VLS 8 /* what most switches have, and ibsim's */

static const struct cli_option engine_options[] = {
	{ "engine", "NAME", "routing engine, may be repeated; \"all\" (default dfsssp)",
	  .key = 'e' },
	{ "option", "NAME=VALUE", "option of the engines (see `osmroutes conf --list`)",
	  .key = 'o' },
	{ "vls", "N", "data virtual lanes of the links, 1 to 15 (default 8)",
	  CLI_NUMBER(struct cli_subjects, link_vls, 1, OSR_MAX_VLS) },
	{ "config", "FILE",
	  "options of osmroutes.conf; \"none\": the defaults (default: " OSR_DEFAULT_CONFIG
	  ", if it exists)",
	  .key = OPT_CONFIG },
	{ "opensm-conf", "FILE",
	  "engine, plugin options, QoS, VLs and multicast as this opensm.conf says",
	  CLI_TEXT(struct cli_subjects, osmconf) },
	{ "multicast", "VL|no",
	  "multicast is on this VL in the deadlock proof (default 0), or not in it",
	  .key = OPT_MCAST, .flags = OPTION_ARG_OPTIONAL },
	{ 0 },
};

static const struct cli_option table_options[] = {
	{ "tables", "FILE|DIR",
	  "tables of a file (route --save, opensm-lfts.dump) or a directory of dumps instead of an "
	  "engine's, may be repeated; \"live\": those in the switches of --live",
	  .key = OPT_TABLES },
	{ 0 },
};

static void subject_add(struct cli_subjects *subjects, const struct osr_engine *engine,
			const char *file, struct argp_state *state)
{
	if (subjects->n == CLI_MAX_SUBJECTS)
		argp_error(state, "at most %d engines and files at a time", CLI_MAX_SUBJECTS);
	subjects->item[subjects->n++] = (struct cli_subject){ .engine = engine, .file = file };
}

static void subject_add_all(struct cli_subjects *subjects, struct argp_state *state)
{
	for (uint32_t i = 0; osr_engines[i]; i++)
		subject_add(subjects, osr_engines[i], NULL, state);
}

static void add_engine(struct cli_subjects *subjects, const char *name, struct argp_state *state)
{
	const struct osr_engine *engine = osr_engine_find(name);
	struct osr_guess guess = { .word = name };
	char said[160];

	if (!strcmp(name, "all")) {
		subjects->all_named = true;
		subject_add_all(subjects, state);
		return;
	}
	for (uint32_t i = 0; osr_engines[i]; i++)
		osr_guess_offer(&guess, osr_engines[i]->name);
	if (!engine)
		argp_error(state, "no engine \"%s\"%s (`osmroutes conf --list` lists them)", name,
			   osr_guess_say(&guess, said, sizeof(said)));
	subject_add(subjects, engine, NULL, state);
}

static error_t parse_engine(int key, char *arg, struct argp_state *state)
{
	struct cli_subjects *subjects = state->input;

	switch (key) {
	case 'e':
		add_engine(subjects, arg, state);
		return 0;
	case 'o':
		if (subjects->n_settings == CLI_MAX_SETTINGS)
			argp_error(state, "at most %d options", CLI_MAX_SETTINGS);
		subjects->setting[subjects->n_settings++] = arg;
		return 0;
	case OPT_CONFIG:
		subjects->config = strcmp(arg, "none") ? arg : "";
		return 0;
	case OPT_MCAST:
		subjects->no_multicast = arg && !strcmp(arg, "no");
		if (!subjects->no_multicast)
			subjects->req.mcast_vl =
				arg ? (uint8_t)cli_take_number(arg, "multicast", 0, 14, state) : 0;
		return 0;
	case ARGP_KEY_END:
		if (!subjects->n && subjects->all)
			subject_add_all(subjects, state);
		else
			subjects->all = subjects->all_named;
		if (!subjects->n && !subjects->osmconf) {
			add_engine(subjects, "dfsssp", state);
			subjects->by_default = true;
		}
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static error_t parse_tables(int key, char *arg, struct argp_state *state)
{
	if (key != OPT_TABLES)
		return ARGP_ERR_UNKNOWN;
	subject_add(state->input, NULL, arg, state);
	return 0;
}

const struct cli_spec engines_spec = { engine_options, parse_engine };
static const struct cli_part engines_part[] = { { &engines_spec, 0 }, { 0 } };
const struct cli_spec subjects_spec = { table_options, parse_tables, engines_part };

/* ---- the configuration ---------------------------------------------------------------------- */

static enum osr_status read_osmconf(struct cli_subjects *subjects, struct osr_diag *diag)
{
	enum osr_status st;

	osr_osmconf_default(&subjects->osm);
	subjects->osm.qos = true; /* without a word on it, lanes are what the plugin is for */
	if (!subjects->osmconf)
		return OSR_OK;
	st = osr_osmconf_read(subjects->osmconf, &subjects->osm, diag);
	if (!st && !osr_osmconf_lists(subjects->osm.plugin_name, "osmroutes"))
		return osr_fail(diag, OSR_INVAL,
				"%.300s: event_plugin_name does not name osmroutes, so OpenSM does "
				"not use it",
				subjects->osmconf);
	return st;
}

static enum osr_status read_config(struct cli_subjects *subjects, struct osr_diag *diag)
{
	enum osr_status st = read_osmconf(subjects, diag);
	const struct osr_engine *engine;
	char word[64];

	if (st)
		return st;
	if (!osr_options_load(&subjects->options, subjects->config, subjects->osm.plugin_options))
		return osr_fail(diag, OSR_NOMEM, "out of memory for the options");
	if (subjects->options.broken)
		return osr_fail(diag, OSR_INVAL, "%s", subjects->options.error.text);
	subjects->req.multicast = subjects->osm.multicast && !subjects->no_multicast;
	subjects->req.chosen_sls = subjects->osmconf ? osr_osmconf_sls(&subjects->osm) : 0;
	/* The engine that routes is the first of OpenSM's list, if that is ours. */
	if (subjects->n)
		return OSR_OK;
	snprintf(word, sizeof(word), "%.*s", (int)strcspn(subjects->osm.routing_engine, ", \t"),
		 subjects->osm.routing_engine);
	engine = osr_options_engine(&subjects->options, word);
	if (!engine)
		return osr_fail(diag, OSR_INVAL,
				"%.200s: routing_engine %.60s: OpenSM is an engine of OpenSM "
				"itself; -e NAME chooses one of osmroutes",
				subjects->osmconf, *word ? word : "is not set");
	subjects->item[subjects->n++] = (struct cli_subject){ .engine = engine };
	return OSR_OK;
}

static bool knows_option(const struct osr_param *table, const char *name, size_t n)
{
	while (table->name && !(strlen(table->name) == n && !strncmp(table->name, name, n)))
		table++;
	return table->name;
}

/* What the engine does not know may be an option of the plugin itself. */
static enum osr_status subject_set(struct osr_values *values, const struct osr_engine *engine,
				   const char *word, struct osr_diag *diag)
{
	size_t n = strcspn(word, "=");

	if (word[n] && !knows_option(engine->params, word, n) &&
	    knows_option(osr_plugin_params, word, n))
		return osr_fail(
			diag, OSR_INVAL,
			"\"%.*s\" is no option of %s: it goes into osmroutes.conf, or the file "
			"of --config",
			(int)n, word, engine->name);
	return cli_set(values, engine->params, word, diag);
}

static enum osr_status set_values(struct cli_subjects *subjects, struct osr_diag *diag)
{
	enum osr_status st = OSR_OK;

	subjects->values = calloc(subjects->n, sizeof(*subjects->values));
	if (!subjects->values)
		return osr_fail(diag, OSR_NOMEM, "out of memory for the options of %u engines",
				subjects->n);
	for (uint32_t i = 0; i < subjects->n; i++) {
		const struct osr_engine *engine = subjects->item[i].engine;

		if (!engine)
			continue;
		subjects->values[i] = *osr_options_values(&subjects->options, engine);
		for (uint32_t k = 0; k < subjects->n_settings && !st; k++)
			st = subject_set(&subjects->values[i], engine, subjects->setting[k], diag);
	}
	return st;
}

static uint8_t fewest_vls(const struct osr_fabric *fabric)
{
	uint8_t vls = OSR_MAX_VLS;

	for (uint32_t c = 0; c < fabric->n_channels; c++)
		vls = fabric->chan_vls[c] < vls ? fabric->chan_vls[c] : vls;
	return vls;
}

/* As snapshot.c of the plugin finds the VLs of the links, and then by the same rules. */
static void subject_count_vls(struct cli_subjects *subjects, const struct cli_input *in)
{
	uint8_t most = osr_vls_of_code(subjects->osm.max_op_vls);
	struct osr_vl_limit *vl_limit = &subjects->limit;
	const char *why = "as --vls says";

	vl_limit->vls = subjects->link_vls;
	if (!vl_limit->vls) {
		vl_limit->vls = in->is_live ? fewest_vls(&in->fabric) : ASSUMED_VLS;
		why = in->is_live ? "the fewest of any link between switches"
				  : "assumed, because the file does not say what the links have";
	}
	if (vl_limit->vls > most) {
		vl_limit->vls = most;
		why = "limited by max_op_vls in OpenSM's options";
	}
	subjects->link_vls = vl_limit->vls;
	snprintf(vl_limit->why, sizeof(vl_limit->why), "%s", why);
	osr_options_vl_budget(&subjects->options, subjects->osm.qos, &in->fabric, vl_limit);
	subjects->req.max_vls = vl_limit->vls;
	subjects->req.vls_why = vl_limit->why;
}

void cli_subjects_say(const struct cli_subjects *subjects, struct out *out)
{
	out_head(out, "%s%s%s%s; %u virtual lane%s: %s; multicast %s",
		 osr_options_origin(&subjects->options), subjects->options.config,
		 subjects->osmconf ? " and " : "", subjects->osmconf ? subjects->osmconf : "",
		 subjects->limit.vls, subjects->limit.vls == 1 ? "" : "s", subjects->limit.why,
		 subjects->req.multicast ? "on" : "off");
}

void cli_subjects_fields(const struct cli_subjects *subjects, struct out *out)
{
	static const struct out_field fields[] = { CLI_SUBJECTS_FIELDS, { 0 } };

	out_text(out, "config", subjects->options.config);
	out_text(out, "vls_why", subjects->limit.why);
	out_members(out, fields, subjects, 0);
}

/* ---- the work ------------------------------------------------------------------------------- */

enum osr_status cli_subjects_load(struct cli_subjects *subjects, struct cli_input *in,
				  struct osr_diag *diag)
{
	enum osr_status st = read_config(subjects, diag);

	if (!st)
		st = set_values(subjects, diag);
	/* Tables called "live" are read with the fabric. */
	for (uint32_t i = 0; i < subjects->n && in->is_live; i++)
		if (subjects->item[i].file && !strcmp(subjects->item[i].file, "live")) {
			subjects->live = &in->live;
			in->live.ask = (struct osr_live_ask){ .lft = true,
							      .sl2vl = true,
							      .n_mlids = UINT32_MAX };
		}
	subjects->net = &in->net;
	if (!st)
		st = cli_input_load(in, diag);
	if (!st)
		subject_count_vls(subjects, in);
	return st;
}

void cli_subjects_drop_net(const struct cli_subjects *subjects, struct cli_input *in)
{
	for (uint32_t i = 0; i < subjects->n; i++)
		if (!subjects->item[i].engine)
			return;
	osr_net_free(&in->net);
}

void cli_subjects_free(struct cli_subjects *subjects)
{
	free(subjects->values);
	subjects->values = NULL;
	osr_options_free(&subjects->options);
}

const char *cli_subject_name(const struct cli_subject *subject)
{
	return subject->engine ? subject->engine->name : subject->file;
}

static struct osr_job subject_job(const struct cli_subjects *subjects, uint32_t i,
				  const struct osr_result *previous, struct osr_arena *scratch,
				  struct cli_tables *tables)
{
	return (struct osr_job){ .engine = subjects->item[i].engine,
				 .values = &subjects->values[i],
				 .request = subjects->req,
				 .previous = previous,
				 .scratch = scratch,
				 .arena = &tables->arena,
				 .diag = &tables->diag };
}

void cli_tables_again(const struct cli_subjects *subjects, uint32_t i,
		      const struct osr_result *previous, struct cli_tables *tables)
{
	struct osr_result *result = &tables->result;
	struct osr_sweep sweep = { .reused = true };
	struct osr_arena scratch = { 0 };
	struct osr_diag why = { "" };
	struct osr_job job = subject_job(subjects, i, previous, &scratch, tables);
	enum osr_status st;

	job.diag = &why;
	*result = (struct osr_result){ .fabric = result->fabric };
	st = osr_carry_again(previous, &result->fabric, &tables->arena, &scratch, &result->routing,
			     &why);
	if (!st)
		st = osr_sweep_check(&job, result, &sweep);
	if (!st) {
		tables->st = OSR_OK;
		tables->sweep = sweep;
		tables->routing = result->routing;
	}
	osr_arena_free(&scratch);
}

static enum osr_status subject_read_tables(const struct cli_subjects *subjects, const char *path,
					   const struct osr_fabric *fabric,
					   struct cli_tables *tables)
{
	struct cli_dumps *dumps = &tables->dumps;
	enum osr_status st;

	*dumps = (struct cli_dumps)CLI_DUMPS_INIT;
	dumps->is_live = subjects->live && !strcmp(path, "live");
	dumps->sa = CLI_SA_SWITCHES;
	dumps->sl_optional = true;
	dumps->dir = dumps->is_live ? NULL : path;
	cli_dumps_find(dumps, NULL);
	st = cli_dumps_read(dumps, fabric, subjects->net, subjects->live, &tables->diag);
	if (dumps->sl_warning.text[0])
		fprintf(stderr, "osmroutes: warning: %s\n", dumps->sl_warning.text);
	tables->routing = dumps->t.routing;
	tables->gen = dumps->gen;
	return st;
}

void cli_tables_make(const struct cli_subjects *subjects, uint32_t i,
		     const struct osr_fabric *fabric, const struct osr_result *previous,
		     struct cli_tables *tables)
{
	const char *path = subjects->item[i].file;
	double start = cli_thread_ms();

	*tables = (struct cli_tables){ .st = OSR_OK };
	if (subjects->item[i].engine) {
		struct osr_arena scratch = { .threads = subjects->threads };
		const struct osr_job job = subject_job(subjects, i, previous, &scratch, tables);

		/* Of an engine: one sweep. */
		tables->result.fabric = *fabric;
		tables->st = osr_sweep(&job, &tables->result, &tables->sweep);
		tables->routing = tables->result.routing;
		osr_arena_free(&scratch);
	} else
		tables->st = subject_read_tables(subjects, path, fabric, tables);
	tables->gen.routing = &tables->routing;
	tables->ms = subjects->item[i].engine ? tables->sweep.ms_route : cli_thread_ms() - start;
}

void cli_tables_free(struct cli_tables *tables)
{
	osr_arena_free(&tables->arena);
	cli_dumps_free(&tables->dumps);
}

bool cli_subjects_skip(const struct cli_subjects *subjects, uint32_t i,
		       const struct cli_tables *tables)
{
	return subjects->all && subjects->item[i].engine && tables->st == OSR_NOT_APPLICABLE;
}

bool cli_subjects_counts(const struct cli_subjects *subjects, uint32_t i, enum osr_status st)
{
	const struct osr_engine *engine = subjects->item[i].engine;

	return !subjects->all || !engine || st || (engine->capabilities & OSR_ENGINE_DEADLOCK_FREE);
}

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "cli/source.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <osmroutes/params.h>

#include "cli/cli.h"
#include "cli/keep.h"
#include "core/data/carry.h"
#include "store/store.h"

/* ---- the command line ----------------------------------------------------------------------- */

enum { OPT_TABLES = 256, OPT_MCAST };

#define ASSUMED_VLS 8 /* what most switches have, and ibsim's */

static const struct cli_option engine_options[] = {
	{ "engine", "NAME",
	  "routing engine (default dfsssp; check has none); several, or \"all\", for route, report "
	  "and whatif",
	  .key = 'e' },
	{ "option", "NAME=VALUE", "option of the engines (see `osmroutes conf --list`)",
	  CLI_LIST(struct cli_subjects, setting, n_settings), .key = 'o' },
	{ "vls", "N",
	  "data virtual lanes of the links, 1 to 15 (default: what the cables have, or 8)",
	  CLI_NUMBER(struct cli_subjects, link_vls, 1, OSR_MAX_VLS) },
	{ "config", "FILE",
	  "options of osmroutes.conf; \"none\": the defaults (default: " OSR_DEFAULT_CONFIG
	  ", if it exists)",
	  CLI_TEXT(struct cli_subjects, config) },
	{ "opensm-conf", "FILE",
	  "engine, plugin options, QoS, VLs and multicast as this opensm.conf says",
	  CLI_TEXT(struct cli_subjects, osmconf) },
	{ "multicast", "VL|no",
	  "multicast is on this VL in the deadlock proof (default 0), or not in it",
	  .key = OPT_MCAST, .arg_optional = true },
	{ 0 },
};

static const struct cli_option table_options[] = {
	{ "tables", "DIR|FILE",
	  "tables that are read instead of an engine's: of a directory of dumps (opensm-lfts.dump "
	  "or opensm.fdbs, opensm-sl2vl.dump, opensm-path-sl.dump, opensm.mcfdbs) or a file (route "
	  "--save, or forwarding tables); \"live\": those in the switches of --live",
	  .key = OPT_TABLES },
	{ .part = &engines_spec },
	{ 0 },
};

static const struct cli_option reading_options[] = {
	{ "sl", "N", "all senders use this SL (default: as the tables say)",
	  CLI_NUMBER(struct cli_subjects, how.sl, 0, 15) },
	{ "sa", "WORD",
	  "with --live, ask the subnet administrator for the SLs of all pairs, of one host for "
	  "each switch, or not at all: pairs, switches, none (default: pairs, or switches where "
	  "there are over 200000 pairs; check asks only where a verdict depends on SLs)",
	  CLI_WORD(struct cli_subjects, how.sls.sa, "|pairs|switches|none") },
	{ .part = &subjects_spec },
	{ 0 },
};

static const struct cli_spec reading_spec = { reading_options };

static const struct cli_option ask_options[] = {
	{ CLI_PART(input_spec, struct cli_run, in) },
	{ CLI_PART(reading_spec, struct cli_run, who) },
	{ 0 },
};

static enum osr_status subject_add(struct cli_subjects *subjects, const struct osr_engine *engine,
				   const char *file, const struct cli_line *line)
{
	if (subjects->n == CLI_MAX_SUBJECTS)
		return osr_fail(line->diag, OSR_INVAL, "at most %d engines and files at a time",
				CLI_MAX_SUBJECTS);
	subjects->item[subjects->n++] = (struct cli_subject){ .engine = engine, .file = file };
	return OSR_OK;
}

static const char *const stock_engines[] = { "none",       "minhop", "updn",        "dnup", "file",
					     "ftree",      "lash",   "dor",         "nue",  "sssp",
					     "torus-2QoS", "dfsssp", "no_fallback", NULL };

bool cli_is_stock(const char *word, struct osr_guess *guess)
{
	bool found = false;

	*guess = (struct osr_guess){ .word = word };
	for (uint32_t i = 0; stock_engines[i]; i++) {
		found |= !strcmp(stock_engines[i], word);
		osr_guess_offer(guess, stock_engines[i]);
	}
	for (uint32_t i = 0; osr_engines[i]; i++)
		osr_guess_offer(guess, osr_engines[i]->name);
	return found;
}

static enum osr_status add_engine(struct cli_subjects *subjects, const char *name,
				  const struct cli_line *line)
{
	const struct osr_engine *engine = osr_engine_find(name);
	struct osr_guess guess = { .word = name };
	enum osr_status st = OSR_OK;
	char said[160];

	if (!strcmp(name, "all")) {
		subjects->all = true;
		for (uint32_t i = 0; osr_engines[i] && !st; i++)
			st = subject_add(subjects, osr_engines[i], NULL, line);
		return st;
	}
	for (uint32_t i = 0; osr_engines[i]; i++)
		osr_guess_offer(&guess, osr_engines[i]->name);
	/* The first and the last are words of opensm.conf. */
	for (uint32_t i = 1; stock_engines[i + 1] && !engine; i++)
		if (!strcmp(stock_engines[i], name))
			return osr_fail(
				line->diag, OSR_INVAL,
				"%s is an engine of OpenSM itself: --tables=DIR takes its dumps "
				"(opensm -D 0x43), --live --tables=live what it has programmed",
				name);
	if (!engine)
		return osr_fail(line->diag, OSR_INVAL,
				"no engine \"%s\"%s (`osmroutes conf --list` lists them)", name,
				osr_guess_say(&guess, said, sizeof(said)));
	return subject_add(subjects, engine, NULL, line);
}

static enum osr_status parse_engine(int key, const char *arg, void *args,
				    const struct cli_line *line)
{
	struct cli_subjects *subjects = args;
	enum osr_status st = OSR_OK;
	long vl = 0;

	switch (key) {
	case 'e':
		return add_engine(subjects, arg, line);
	case OPT_MCAST:
		subjects->no_multicast = arg && !strcmp(arg, "no");
		if (arg && !subjects->no_multicast)
			st = cli_take_number(line, "multicast (\"no\", or a VL)", arg, 0, 14, &vl);
		subjects->req.mcast_vl = (uint8_t)vl;
		return st;
	case CLI_ALL_WORDS:
		if (!subjects->n && !subjects->osmconf) {
			st = add_engine(subjects, "dfsssp", line);
			subjects->by_default = true;
		}
		return st;
	default:
		return OSR_NOT_APPLICABLE;
	}
}

static enum osr_status parse_tables(int key, const char *arg, void *args,
				    const struct cli_line *line)
{
	return key == OPT_TABLES ? subject_add(args, NULL, arg, line) : OSR_NOT_APPLICABLE;
}

static enum osr_status parse_ask(int key, const char *arg, void *args, const struct cli_line *line)
{
	struct cli_run *run = args;

	switch (key) {
	case CLI_ONE_WORD:
		/* These words, then the FILE of input.h. */
		if (line->at >= run->n_words)
			return OSR_NOT_APPLICABLE;
		if (line->n_words < run->n_words + !run->in.is_live)
			return osr_fail(line->diag, OSR_INVAL, "%s", run->expected);
		run->word[line->at] = arg;
		return OSR_OK;
	case CLI_ALL_WORDS:
		if (run->n_words && !run->word[run->n_words - 1])
			return osr_fail(line->diag, OSR_INVAL, "%s", run->expected);
		return OSR_OK;
	default:
		return OSR_NOT_APPLICABLE;
	}
}

const struct cli_spec engines_spec = { engine_options, parse_engine };
const struct cli_spec subjects_spec = { table_options, parse_tables };
const struct cli_spec ask_spec = { ask_options, parse_ask };

/* ---- the configuration ---------------------------------------------------------------------- */

/* The plugin reads more files than we do. */
static void warn_unread(const struct osr_osmconf *osm, const char *osmconf)
{
	unsigned n_unread = 0;
	char unread[96] = "";

	for (unsigned i = 0; i < OSR_OSMCONF_N_UNREAD; i++) {
		if (!osm->unread[i])
			continue;
		snprintf(unread + strlen(unread), sizeof(unread) - strlen(unread), "%s%s",
			 *unread ? ", " : "", osr_osmconf_unread[i]);
		n_unread++;
	}
	if (n_unread)
		fprintf(stderr,
			"osmroutes: warning: %.300s: this command ignores the file%s of %s; the "
			"plugin reads %s and may route in another order\n",
			osmconf, n_unread == 1 ? "" : "s", unread, n_unread == 1 ? "it" : "them");
}

/* The first engine of opensm.conf is none of ours. */
static enum osr_status refuse_engine(const char *osmconf, const char *word, struct osr_diag *diag)
{
	struct osr_guess guess;
	char said[160];

	if (!*word)
		return osr_fail(diag, OSR_INVAL,
				"%.200s: routing_engine is not set, so OpenSM takes an engine of "
				"its own; -e NAME chooses one of osmroutes",
				osmconf);
	if (cli_is_stock(word, &guess))
		return osr_fail(diag, OSR_INVAL,
				"%.200s: routing_engine %.60s is an engine of OpenSM itself; -e "
				"NAME chooses one of osmroutes",
				osmconf, word);
	return osr_fail(diag, OSR_INVAL,
			"%.200s: routing_engine \"%.60s\" is no engine of OpenSM or osmroutes%s",
			osmconf, word, osr_guess_say(&guess, said, sizeof(said)));
}

/* opensm.conf and osmroutes.conf, which engine routes, and the values of all options. */
static enum osr_status read_config(struct cli_subjects *subjects, struct osr_diag *diag)
{
	struct osr_osmconf *osm = &subjects->osm;
	const char *osmconf = subjects->osmconf;
	enum osr_status st = OSR_OK;

	osr_osmconf_default(osm);
	osm->qos = true; /* without a word on it, lanes are the plugin's purpose */
	if (osmconf)
		st = osr_osmconf_read(osmconf, osm, diag);
	if (!st && osmconf && !osr_osmconf_lists(osm->plugin_name, "osmroutes"))
		st = osr_fail(diag, OSR_INVAL,
			      "%.300s: event_plugin_name does not name osmroutes, so OpenSM does "
			      "not use it",
			      osmconf);
	if (st)
		return st;
	warn_unread(osm, osmconf);
	if (subjects->config && !strcmp(subjects->config, "none"))
		subjects->config = "";
	if (!osr_options_load(&subjects->options, subjects->config, osm->plugin_options))
		return osr_fail(diag, OSR_NOMEM, "out of memory for the options");
	if (subjects->options.n_errors)
		return osr_fail(diag, OSR_INVAL, "%s", subjects->options.error[0].text);
	subjects->req.multicast = osm->multicast && !subjects->no_multicast;
	subjects->req.chosen_sls = osmconf ? osr_osmconf_sls(osm) : 0;
	if (osm->n_odd)
		fprintf(stderr, "osmroutes: warning: %s (%u such line%s)\n", osm->odd, osm->n_odd,
			osm->n_odd == 1 ? "" : "s");
	/* The engine that routes is the first of OpenSM's list, if that is ours. */
	if (!subjects->n) {
		int n = (int)strcspn(osm->routing_engine, ", \t");
		char word[64];

		snprintf(word, sizeof(word), "%.*s", n, osm->routing_engine);
		subjects->item[0].engine = osr_options_engine(&subjects->options, word);
		if (!subjects->item[0].engine)
			return refuse_engine(osmconf, word, diag);
		subjects->n = 1;
	}
	subjects->values = calloc(subjects->n, sizeof(*subjects->values));
	if (!subjects->values)
		return osr_fail(diag, OSR_NOMEM, "out of memory for the options of %u engines",
				subjects->n);
	for (uint32_t i = 0; i < subjects->n; i++) {
		const struct osr_engine *engine = subjects->item[i].engine;

		if (engine)
			subjects->values[i] = *osr_options_values(&subjects->options, engine);
		for (uint32_t k = 0; engine && k < subjects->n_settings && !st; k++) {
			const char *word = subjects->setting[k];
			size_t n = strcspn(word, "=");

			/*
			 * A word that the engine does not know may be an option of the plugin
			 * itself.
			 */
			if (word[n] && !osr_options_known(engine->params, word, n) &&
			    osr_options_known(osr_plugin_params, word, n))
				st = osr_fail(diag, OSR_INVAL,
					      "\"%.*s\" is no option of %s: it goes into "
					      "osmroutes.conf, or the file of --config",
					      (int)n, word, engine->name);
			else
				st = cli_set(&subjects->values[i], engine->params, word, diag);
		}
	}
	return st;
}

/* As snapshot.c of the plugin finds the VLs of the links, those that nobody says apart. */
static void count_link_vls(const struct cli_input *in, struct osr_vl_limit *limit)
{
	const struct osr_net_assumed *assumed = &in->assumed;
	uint32_t port = osr_net_fewest_vls(&in->net);
	bool open = assumed->vls || !assumed->switch_cables;

	limit->vls = port == OSR_NONE ? OSR_MAX_VLS : in->net.ports[port].vls;
	if (port != OSR_NONE)
		snprintf(limit->why, sizeof(limit->why), "limited by the %s of %s port %u",
			 in->is_live ? "operational VLs" : "VLCap",
			 osr_net_shown(&in->net, in->net.ports[port].node),
			 osr_net_port_num(&in->net, port));
	if (!open || limit->vls < ASSUMED_VLS)
		return;
	limit->vls = ASSUMED_VLS;
	if (assumed->vls < assumed->switch_cables)
		snprintf(
			limit->why, sizeof(limit->why),
			"assumed for %u of %u cables between switches, of which %s does not say it",
			assumed->vls, assumed->switch_cables, in->is_live ? "a port" : "the file");
	else
		snprintf(limit->why, sizeof(limit->why),
			 "assumed, because the file does not say what the links have");
}

/* And then by the same rules as the plugin. */
static void subject_count_vls(struct cli_subjects *subjects, const struct cli_input *in)
{
	uint8_t most = osr_vls_of_code(subjects->osm.max_op_vls);
	struct osr_vl_limit *vl_limit = &subjects->limit;
	bool is_code = false; /* links have as many as a code of VLCap says */

	for (uint8_t code = 1; code <= 5; code++)
		is_code |= osr_vls_of_code(code) == subjects->link_vls;
	*vl_limit = (struct osr_vl_limit){ .vls = subjects->link_vls };
	snprintf(vl_limit->why, sizeof(vl_limit->why), "as --vls says%s",
		 is_code ? "" : ", though links have 1, 2, 4, 8 or 15");
	if (!vl_limit->vls)
		count_link_vls(in, vl_limit);
	if (vl_limit->vls > most)
		*vl_limit =
			(struct osr_vl_limit){ most, "limited by max_op_vls in OpenSM's options" };
	subjects->link_vls = vl_limit->vls;
	osr_options_vl_budget(&subjects->options, subjects->osm.qos, &in->fabric, vl_limit);
	subjects->req.max_vls = vl_limit->vls;
	subjects->req.vls_why = vl_limit->why;
}

void cli_subjects_say(const struct cli_subjects *subjects, struct out *out)
{
	static const struct out_field fields[] = { CLI_SUBJECTS_FIELDS, { 0 } };

	out_head(out, "%s%s%s%s; %u virtual lane%s: %s; multicast %s",
		 osr_options_origin(&subjects->options), subjects->options.config,
		 subjects->osmconf ? " and " : "", subjects->osmconf ? subjects->osmconf : "",
		 subjects->limit.vls, subjects->limit.vls == 1 ? "" : "s", subjects->limit.why,
		 subjects->req.multicast ? "on" : "off");
	out_text(out, "config", subjects->options.config);
	out_text(out, "vls_why", subjects->limit.why);
	out_members(out, fields, subjects, 0);
}

/* ---- the work ------------------------------------------------------------------------------- */

enum osr_status cli_subjects_load(struct cli_subjects *subjects, struct cli_input *in,
				  struct osr_diag *diag)
{
	enum osr_status st = read_config(subjects, diag);

	subjects->in = in;
	for (uint32_t i = 0; i < subjects->n; i++)
		if (subjects->item[i].file)
			cli_tables_prepare(subjects->item[i].file, in);
	if (!st)
		st = cli_input_load(in, diag);
	if (st)
		return st;
	subject_count_vls(subjects, in);
	/* max_vls may be less, and leave a lane to multicast. */
	if (!subjects->no_multicast && subjects->req.mcast_vl >= subjects->link_vls)
		return osr_fail(diag, OSR_INVAL,
				"multicast=%u: the links have the virtual lanes 0 to %u",
				subjects->req.mcast_vl, subjects->link_vls - 1u);
	return OSR_OK;
}

const char *cli_subject_name(const struct cli_subject *subject)
{
	return subject->engine              ? subject->engine->name
	       : strcmp(subject->file, "-") ? subject->file
					    : "standard input";
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
	st = osr_carry_again(previous, &result->fabric, true, &tables->arena, &scratch,
			     &result->routing, &why);
	if (!st)
		st = osr_sweep_check(&job, result, &sweep);
	if (!st) {
		tables->st = OSR_OK;
		tables->sweep = sweep;
		tables->routing = result->routing;
	}
	osr_arena_free(&scratch);
}

void cli_tables_make(const struct cli_subjects *subjects, uint32_t i,
		     const struct osr_fabric *fabric, const struct osr_result *previous,
		     struct cli_tables *tables)
{
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
		tables->gen.routing = &tables->routing;
	} else
		tables->st = cli_tables_read(&subjects->how, subjects->item[i].file, subjects->in,
					     tables, &tables->diag);
	tables->ms = subjects->item[i].engine ? tables->sweep.ms_route : cli_thread_ms() - start;
}

void cli_tables_free(struct cli_tables *tables)
{
	osr_tables_free(&tables->tables);
	osr_arena_free(&tables->arena);
	for (unsigned i = 0; i < 4; i++)
		free(tables->file[i]);
}

bool cli_subjects_skip(const struct cli_subjects *subjects, uint32_t i,
		       const struct cli_tables *tables)
{
	return subjects->all && subjects->item[i].engine && tables->st == OSR_NOT_APPLICABLE;
}

/* ---- tables that are read: dumps, the switches of a live fabric, stored ones ----------------- */

enum { LFTS, SL2VL, PATHS, GROUPS };

/* The files that a directory of dumps may hold; the first of a kind counts. */
static const struct {
	unsigned kind;
	const char *name;
	osr_tables_parse_fn *parse;
} dumps[] = {
	{ LFTS, "opensm-lfts.dump", osr_tables_parse_lfts },
	{ LFTS, "opensm.fdbs", osr_tables_parse_lfts },
	{ SL2VL, "opensm-sl2vl.dump", osr_tables_parse_sl2vl },
	{ PATHS, "opensm-path-sl.dump", osr_tables_parse_paths },
	{ GROUPS, "opensm.mcfdbs", osr_tables_parse_groups },
};

/* The files of a directory; a file is one of forwarding tables. */
static void find_files(const char *path, char *file[4])
{
	bool is_directory = cli_is_directory(path);

	if (!is_directory)
		file[LFTS] = strdup(path);
	for (size_t i = 0; is_directory && i < sizeof(dumps) / sizeof(dumps[0]); i++) {
		char *found = NULL;

		if (!file[dumps[i].kind] && asprintf(&found, "%s/%s", path, dumps[i].name) < 0)
			found = NULL;
		if (found && !access(found, F_OK))
			file[dumps[i].kind] = found;
		else
			free(found);
	}
}

static bool says_live(const char *path, const struct cli_input *in)
{
	return in->is_live && !strcmp(path, "live");
}

void cli_tables_prepare(const char *path, struct cli_input *in)
{
	char *file[4] = { NULL };
	struct stat st;

	if (says_live(path, in)) {
		in->live.ask = (struct osr_live_ask){
			.tell = cli_progress, .lft = true, .sl2vl = true, .n_mlids = UINT32_MAX
		};
		return;
	}
	find_files(path, file);
	/* A pipe can be read but once. */
	if (!in->lfts && file[LFTS] && !stat(file[LFTS], &st) && S_ISREG(st.st_mode) &&
	    !cli_stored_probe(file[LFTS])) {
		in->lfts = file[LFTS];
		file[LFTS] = NULL;
	}
	for (unsigned i = 0; i < 4; i++)
		free(file[i]);
}

/* A verdict needs the SLs; a comparison goes on without them. */
static enum osr_status read_live(const struct cli_reading *how, struct cli_live *live,
				 struct osr_tables *tables, struct osr_diag *diag)
{
	const struct cli_sls none = { .sa = CLI_SA_NONE };
	enum osr_status st = cli_live_tables(live, how->sl >= 0 ? &none : &how->sls, tables, diag);
	struct osr_diag why = *diag;

	if (st != OSR_UNREACHABLE)
		return st;
	if (how->sls_needed)
		return osr_fail(diag, OSR_INVAL,
				"%.200s: give the SLs by --sl=N, or check for any SL by --sa=none",
				why.text);
	fprintf(stderr,
		"osmroutes: warning: %.200s: the SLs of the tables in its switches are unknown\n",
		why.text);
	*diag = (struct osr_diag){ 0 };
	return OSR_OK;
}

/* Of another day: its switches and LIDs have to be those of the fabric, its cables need not. */
static enum osr_status read_stored(const char *path, struct cli_tables *tables,
				   struct osr_diag *diag)
{
	struct osr_diag why = { "" };
	struct osr_arena scratch = { 0 };
	struct cli_stored stored;
	struct osr_routing routing;
	struct osr_lines lines;
	const char *groups;
	struct stat file;
	enum osr_status st = cli_stored_read(path, NULL, NULL, &stored, diag);

	if (!st && osr_carry_again(&stored.last, tables->tables.fabric, true, &tables->arena,
				   &scratch, &routing, &why))
		st = osr_fail(diag, OSR_INVAL, "%.200s: tables of another fabric: %.200s", path,
			      why.text);
	if (!st)
		st = osr_tables_take(&tables->tables, &routing, diag);
	groups = st ? NULL : cli_kept_groups(&stored.last.routing);
	tables->was_live = groups;
	if (groups)
		st = osr_tables_read(&tables->tables,
				     osr_lines_text(&lines, groups, strlen(groups), path, diag),
				     osr_tables_parse_groups);
	if (!stat(path, &file))
		tables->tables.bytes += (uint64_t)file.st_size;
	cli_stored_free(&stored);
	osr_arena_free(&scratch);
	return st;
}

static enum osr_status read_files(const struct cli_reading *how, struct cli_tables *tables,
				  struct osr_diag *diag)
{
	enum osr_status st = OSR_OK;

	for (unsigned kind = LFTS; kind <= GROUPS && !st; kind++) {
		const char *path = tables->file[kind];
		struct osr_lines in;
		size_t row = 0;

		while (dumps[row].kind != kind)
			row++;
		if (kind == LFTS && cli_stored_probe(path))
			st = read_stored(path, tables, diag);
		else if (path && !(kind == PATHS && how->sl >= 0))
			st = osr_tables_read(&tables->tables, osr_lines_open(&in, path, diag),
					     dumps[row].parse);
	}
	return st;
}

enum osr_status cli_tables_read(const struct cli_reading *how, const char *path,
				struct cli_input *in, struct cli_tables *tables,
				struct osr_diag *diag)
{
	struct cli_stamp start = cli_now();
	enum osr_status st;

	tables->is_live = says_live(path, in);
	if (!tables->is_live && !strcmp(path, "live") && access(path, F_OK))
		return osr_fail(diag, OSR_INVAL, "--tables=live needs --live, and a FILE is given");
	if (!tables->is_live)
		find_files(path, tables->file);
	if (!tables->is_live && !tables->file[LFTS])
		return osr_fail(
			diag, OSR_INVAL,
			"%s: no forwarding tables: expected opensm-lfts.dump or opensm.fdbs "
			"in there",
			path);
	st = osr_tables_init(&tables->tables, &in->fabric, &in->net, &tables->arena, diag);
	if (!st && tables->is_live)
		st = read_live(how, &in->live, &tables->tables, diag);
	else if (!st)
		st = read_files(how, tables, diag);
	if (!st && how->sl >= 0)
		st = osr_tables_one_sl(&tables->tables, (uint8_t)how->sl, diag);
	if (!st)
		st = osr_tables_finish(&tables->tables, &tables->same_ca, diag);
	tables->gen = osr_tables_generation(&tables->tables);
	tables->gen.sls_unknown = (!tables->tables.taken || tables->was_live) &&
				  !tables->gen.paths && !tables->gen.routing->sl;
	tables->routing = tables->tables.routing;
	tables->read = cli_since(start);
	return st;
}

const char *cli_tables_lft(const struct cli_tables *tables)
{
	return tables->is_live                   ? "the switches"
	       : strcmp(tables->file[LFTS], "-") ? tables->file[LFTS]
						 : "standard input";
}

/* Where something came from: a file, or else the switches or the stored file. */
static const char *origin(const struct cli_tables *tables, unsigned kind, bool there,
			  const char *none)
{
	return tables->file[kind] ? tables->file[kind] : there ? cli_tables_lft(tables) : none;
}

void cli_tables_say(const struct cli_reading *how, const struct cli_tables *tables, struct out *out)
{
	static const struct out_field fields[] = { CLI_TABLES_FIELDS, { 0 } };
	const struct osr_tables *t = &tables->tables;
	bool has_groups = t->groups.n || t->routing.mcast_parent;
	const char *lft = cli_tables_lft(tables), *sls;
	const char *groups = has_groups ? origin(tables, GROUPS, true, NULL) : NULL;
	char foreign[64] = "", foreign_sls[64] = "", read[64] = "";

	if (how->sl >= 0)
		sls = "all on one SL";
	else if (tables->is_live && t->paths.n_rows)
		sls = "the subnet administrator";
	else
		sls = origin(tables, PATHS, t->taken && t->routing.sl,
			     tables->gen.sls_unknown ? "not given" : "any SL");
	if (t->n_foreign)
		snprintf(foreign, sizeof(foreign), ", %llu for LIDs that no port has",
			 (unsigned long long)t->n_foreign);
	if (t->n_foreign_sls)
		snprintf(foreign_sls, sizeof(foreign_sls), " (%llu to LIDs that no port has)",
			 (unsigned long long)t->n_foreign_sls);
	if (t->bytes)
		snprintf(read, sizeof(read), "; read %.1f MB at %.0f MB/s", (double)t->bytes / 1e6,
			 tables->read.wall > 0 ? (double)t->bytes / 1e3 / tables->read.wall : 0);
	out_head(out, "%s: %llu entr%s%s; SL2VL: %s; SLs: %s%s; multicast: %s%s", lft,
		 (unsigned long long)t->n_entries, t->n_entries == 1 ? "y" : "ies", foreign,
		 origin(tables, SL2VL, t->routing.sl2vl, "VL = SL"), sls, foreign_sls,
		 groups ? groups : "none", read);
	out_text(out, "tables.lfts", lft);
	out_text(out, "tables.sl2vl", origin(tables, SL2VL, t->routing.sl2vl, NULL));
	if (how->sl < 0 && (t->paths.n_rows || t->routing.sl))
		out_text(out, "tables.path_sls", sls);
	out_text(out, "tables.groups", groups);
	if (how->sl >= 0)
		out_count(out, "tables.sl", (uint64_t)how->sl);
	out_members(out, fields, tables, 0);
}

/* ---- a sub-command -------------------------------------------------------------------------- */

/*
 * The words of the command line but for -o FILE, for the head of the file it makes; before argp,
 * which reorders argv.
 */
static char *command_line(int argc, char **argv)
{
	char *buf = NULL;
	size_t size;
	FILE *out = open_memstream(&buf, &size);

	if (!out)
		return NULL;
	fputs(argv[0], out);
	for (int i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "-o") || !strcmp(argv[i], "--output"))
			i++;
		else if (strncmp(argv[i], "-o", 2) && strncmp(argv[i], "--output=", 9))
			fprintf(out, " %s", argv[i]);
	}
	fclose(out);
	return buf;
}

int cli_run(const struct cli_command *command, int argc, char **argv)
{
	struct cli_run *run = malloc(command->size);
	struct osr_diag why = { "" };
	enum osr_status st;
	bool wrong_line;
	int code;

	if (!run)
		return cli_fail(OSR_NOMEM, &(struct osr_diag){ "" });
	memcpy(run, command->initial, command->size);
	run->out.command = command->name;
	run->out.sections = command->sections;
	run->line = command_line(argc, argv);
	st = cli_parse(command, argc, argv, run, &run->diag);
	wrong_line = st == OSR_INVAL;
	if (!st)
		st = command->work(run);
	code = st ? cli_fail(st, &run->diag) : out_end(&run->out, run->code);
	if (wrong_line)
		fprintf(stderr, "`osmroutes %s --help` lists the options\n", command->name);
	/* What cannot be written has been said already, if that was the failure. */
	if (st && command->failed && command->failed(run, run->diag.text, &why) &&
	    strcmp(why.text, run->diag.text) != 0)
		code = cli_fail(OSR_INVAL, &why);
	out_drop(&run->out);
	cli_tables_free(&run->tables);
	free(run->who.values);
	osr_options_free(&run->who.options);
	cli_input_free(&run->in);
	osr_arena_free(&run->scratch);
	osr_arena_free(&run->result);
	free(run->line);
	free(run);
	return code;
}

void cli_run_say(struct cli_run *run, bool with_subjects)
{
	out_row(&run->out, "summary");
	cli_input_say(&run->in, &run->out);
	if (with_subjects)
		cli_subjects_say(&run->who, &run->out);
}

enum osr_status cli_run_fabric(struct cli_run *run)
{
	struct cli_subjects *who = &run->who;
	bool has_tables = run->in.is_live || cli_is_directory(run->in.path) ||
			  (run->in.path && cli_stored_probe(run->in.path));
	struct osr_diag *diag = &run->diag;
	enum osr_status st;

	/*
	 * Without a word a live fabric has tables, and so has a directory of dumps, or a file of
	 * --save.
	 */
	if (who->by_default && run->needs_tables && !has_tables)
		return osr_fail(
			diag, OSR_INVAL,
			"say which tables to check: -e NAME: those of an engine; "
			"--tables=DIR, or DIR as the only argument: dumps; --tables=FILE: a "
			"file; --live: those in the switches");
	if (who->by_default && has_tables)
		who->item[0] = (struct cli_subject){
			.file = run->in.is_live ? "live" : run->in.path,
		};
	if (who->n > 1)
		return osr_fail(diag, OSR_INVAL, "expected one engine, or one set of tables");
	st = cli_subjects_load(who, &run->in, diag);
	run->is_engine = !st && who->item[0].engine;
	return st;
}

enum osr_status cli_run_tables(struct cli_run *run)
{
	struct cli_subjects *who = &run->who;
	struct osr_diag *diag = &run->diag;
	enum osr_status st = who->in ? OSR_OK : cli_run_fabric(run);

	if (st)
		return st;
	cli_tables_make(who, 0, &run->in.fabric, NULL, &run->tables);
	if (run->tables.st)
		return osr_fail(diag, run->tables.st, "%s%s%.400s",
				run->is_engine ? cli_run_name(run) : "", run->is_engine ? ": " : "",
				run->tables.diag.text);
	cli_run_say(run, false);
	return OSR_OK;
}

const char *cli_run_name(const struct cli_run *run)
{
	return run->is_engine ? cli_subject_name(&run->who.item[0]) : cli_tables_lft(&run->tables);
}

uint8_t cli_gen_sl(const struct osr_generation *gen, const struct osr_fabric *fabric, uint32_t term,
		   uint32_t dest)
{
	const struct osr_paths *paths = gen->paths;
	const uint8_t *sl = gen->routing->sl;

	if (paths)
		return paths->row[term] == OSR_NONE
			       ? OSR_NO_SL
			       : paths->sl[(size_t)paths->row[term] * fabric->n_dests + dest];
	return sl ? sl[(size_t)dest * fabric->n_switches + fabric->term_switch[term]] : OSR_NO_SL;
}

const uint8_t *cli_gen_sl2vl(const struct osr_routing *routing, const struct osr_fabric *fabric,
			     uint32_t sw, unsigned in, unsigned out)
{
	static const uint8_t same[16] = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15 };

	return routing->sl2vl ? routing->sl2vl[routing->sl2vl_row[sw] +
					       in * (fabric->sw_n_ports[sw] + 1u) + out]
			      : same;
}

void cli_say_cable(struct out *out, const char *from, unsigned from_port, const char *to,
		   unsigned to_port)
{
	out_text(out, "from", from);
	out_count(out, "from_port", from_port);
	out_text(out, "to", to);
	out_count(out, "to_port", to_port);
	out_textf(out, "cable", "%s:%u - %s:%u", from, from_port, to, to_port);
}

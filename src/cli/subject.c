/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "cli/subject.h"

#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"

/* ---- the command line ----------------------------------------------------------------------- */

enum {
	OPT_TABLES = 0x3000,
	OPT_LFT,
	OPT_VLS,
	OPT_CONFIG,
	OPT_OSMCONF,
	OPT_MCAST,
	OPT_NO_MCAST
};

#define ASSUMED_VLS 8 /* what most switches have, and ibsim's */

static const struct argp_option engine_options[] = {
	{ "engine", 'e', "NAME", 0, "routing engine, may be repeated; \"all\" (default dfsssp)",
	  0 },
	{ "option", 'o', "NAME=VALUE", 0, "option of the engines (see `osmroutes engines`)", 0 },
	{ "vls", OPT_VLS, "N", 0, "data virtual lanes of the links, 1 to 15 (default 8)", 0 },
	{ "config", OPT_CONFIG, "FILE", 0,
	  "options of osmroutes.conf; \"none\": the defaults (default: " OSR_DEFAULT_CONFIG
	  ", if it exists)",
	  0 },
	{ "opensm-conf", OPT_OSMCONF, "FILE", 0,
	  "engine, plugin options, QoS, VLs and multicast as this opensm.conf says", 0 },
	{ "multicast", OPT_MCAST, "VL", OPTION_ARG_OPTIONAL,
	  "multicast is on this VL in the deadlock proof (default 0)", 0 },
	{ "no-multicast", OPT_NO_MCAST, NULL, 0, "without multicast in the deadlock proof", 0 },
	{ NULL, 0, NULL, 0, NULL, 0 }
};

static const struct argp_option table_options[] = {
	{ "tables", OPT_TABLES, "FILE|DIR", 0,
	  "tables of a file (route --save, opensm-lfts.dump) or a directory of dumps instead of an "
	  "engine's, may be repeated; \"live\": those in the switches of --live",
	  0 },
	{ "lft", OPT_LFT, "DUMP", OPTION_ALIAS | OPTION_HIDDEN, NULL, 0 },
	{ NULL, 0, NULL, 0, NULL, 0 }
};

static void add(struct cli_subjects *s, const struct osr_engine *engine, const char *file,
		struct argp_state *state)
{
	if (s->n == CLI_MAX_SUBJECTS)
		argp_error(state, "at most %d engines and files at a time", CLI_MAX_SUBJECTS);
	s->item[s->n++] = (struct cli_subject){ .engine = engine, .file = file };
}

static void add_all(struct cli_subjects *s, struct argp_state *state)
{
	for (uint32_t i = 0; osr_engines[i]; i++)
		add(s, osr_engines[i], NULL, state);
}

static void add_engine(struct cli_subjects *s, const char *name, struct argp_state *state)
{
	const struct osr_engine *e = osr_engine_find(name);

	if (!strcmp(name, "all")) {
		s->all_named = true;
		add_all(s, state);
		return;
	}
	if (!e)
		argp_error(state, "no engine \"%s\"; `osmroutes engines` lists them", name);
	add(s, e, NULL, state);
}

static error_t parse_engine(int key, char *arg, struct argp_state *state)
{
	struct cli_subjects *s = state->input;

	switch (key) {
	case 'e':
		add_engine(s, arg, state);
		return 0;
	case 'o':
		if (s->n_settings == CLI_MAX_SETTINGS)
			argp_error(state, "at most %d options", CLI_MAX_SETTINGS);
		s->setting[s->n_settings++] = arg;
		return 0;
	case OPT_VLS:
		s->link_vls = (uint8_t)cli_take_number(arg, "vls", 1, OSR_MAX_VLS, state);
		return 0;
	case OPT_CONFIG:
		s->config = strcmp(arg, "none") ? arg : "";
		return 0;
	case OPT_OSMCONF:
		s->osmconf = arg;
		return 0;
	case OPT_MCAST:
		s->no_multicast = false;
		s->req.mcast_vl = arg ? (uint8_t)cli_take_number(arg, "VL", 0, 14, state) : 0;
		return 0;
	case OPT_NO_MCAST:
		s->no_multicast = true;
		return 0;
	case ARGP_KEY_END:
		if (!s->n && s->all)
			add_all(s, state);
		else
			s->all = s->all_named;
		if (!s->n && !s->osmconf) {
			add_engine(s, "dfsssp", state);
			s->by_default = true;
		}
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static error_t parse_tables(int key, char *arg, struct argp_state *state)
{
	switch (key) {
	case OPT_TABLES:
	case OPT_LFT:
		add(state->input, NULL, arg, state);
		return 0;
	case ARGP_KEY_INIT:
		state->child_inputs[0] = state->input;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp_child engines_child[] = { { &engines_argp, 0, NULL, 0 },
						   { NULL, 0, NULL, 0 } };

const struct argp engines_argp = { engine_options, parse_engine, NULL, NULL, NULL, NULL, NULL };
const struct argp subjects_argp = {
	table_options, parse_tables, NULL, NULL, engines_child, NULL, NULL
};

/* ---- the configuration ---------------------------------------------------------------------- */

/* The engine that routes is the first of OpenSM's list, if that is ours. */
static enum osr_status choose_engine(struct cli_subjects *s, struct osr_diag *diag)
{
	const struct osr_engine *e;
	char word[64];

	if (s->n)
		return OSR_OK;
	snprintf(word, sizeof(word), "%.*s", (int)strcspn(s->osm.routing_engine, ", \t"),
		 s->osm.routing_engine);
	e = osr_options_engine(&s->options, word);
	if (!e)
		return osr_fail(diag, OSR_INVAL,
				"%.200s: routing_engine %.60s: OpenSM routes by itself; -e NAME takes "
				"an engine all the same",
				s->osmconf, *word ? word : "is not set");
	s->item[s->n++] = (struct cli_subject){ .engine = e };
	return OSR_OK;
}

static enum osr_status read_osmconf(struct cli_subjects *s, struct osr_diag *diag)
{
	enum osr_status st;

	osr_osmconf_default(&s->osm);
	s->osm.qos = true; /* without a word on it, lanes are what the plugin is for */
	if (!s->osmconf)
		return OSR_OK;
	st = osr_osmconf_read(s->osmconf, &s->osm, diag);
	if (!st && !osr_osmconf_lists(s->osm.plugin_name, "osmroutes"))
		return osr_fail(diag, OSR_INVAL,
				"%.300s: event_plugin_name does not name osmroutes, so OpenSM routes "
				"without it",
				s->osmconf);
	return st;
}

static enum osr_status read_config(struct cli_subjects *s, struct osr_diag *diag)
{
	enum osr_status st = read_osmconf(s, diag);

	if (st)
		return st;
	if (!osr_options_load(&s->options, s->config, s->osm.plugin_options))
		return osr_fail(diag, OSR_NOMEM, "out of memory for the options");
	if (s->options.broken)
		return osr_fail(diag, OSR_INVAL, "%s", s->options.error.text);
	s->req.multicast = s->osm.multicast && !s->no_multicast;
	return choose_engine(s, diag);
}

static enum osr_status set_values(struct cli_subjects *s, struct osr_diag *diag)
{
	enum osr_status st = OSR_OK;

	s->values = calloc(s->n, sizeof(*s->values));
	if (!s->values)
		return osr_fail(diag, OSR_NOMEM, "out of memory for the options of %u engines",
				s->n);
	for (uint32_t i = 0; i < s->n; i++) {
		const struct osr_engine *e = s->item[i].engine;

		if (!e)
			continue;
		s->values[i] = *osr_options_values(&s->options, e);
		for (uint32_t k = 0; k < s->n_settings && !st; k++)
			st = cli_set(&s->values[i], e->params, s->setting[k], diag);
	}
	return st;
}

static uint8_t fewest_vls(const struct osr_fabric *f)
{
	uint8_t vls = OSR_MAX_VLS;

	for (uint32_t c = 0; c < f->n_channels; c++)
		vls = f->chan_vls[c] < vls ? f->chan_vls[c] : vls;
	return vls;
}

/* As snapshot.c of the plugin finds the VLs of the links, and then by the same rules. */
static void count_vls(struct cli_subjects *s, const struct cli_input *in)
{
	uint8_t most = osr_vls_of_code(s->osm.max_op_vls);
	struct osr_vl_limit *l = &s->limit;
	const char *why = "as --vls says";

	l->vls = s->link_vls;
	if (!l->vls) {
		l->vls = in->is_live ? fewest_vls(&in->fabric) : ASSUMED_VLS;
		why = in->is_live ? "the fewest that a link between switches has"
				  : "assumed, the file does not say what the links have";
	}
	if (l->vls > most) {
		l->vls = most;
		why = "limited by max_op_vls in OpenSM's options";
	}
	s->link_vls = l->vls;
	snprintf(l->why, sizeof(l->why), "%s", why);
	osr_options_vl_budget(&s->options, s->osm.qos, &in->fabric, l);
	s->req.max_vls = l->vls;
	s->req.vls_why = l->why;
}

static const char *config_name(const struct cli_subjects *s)
{
	return *s->options.config ? s->options.config : "no file";
}

void cli_subjects_say(const struct cli_subjects *s, struct out *out)
{
	out_head(out, "options from %s%s%s; %u virtual lane%s: %s; multicast %s", config_name(s),
		 s->osmconf ? " and " : "", s->osmconf ? s->osmconf : "", s->limit.vls,
		 s->limit.vls == 1 ? "" : "s", s->limit.why, s->req.multicast ? "on" : "off");
}

void cli_subjects_fields(const struct cli_subjects *s, struct out *out)
{
	out_text(out, "config", s->options.config);
	out_count(out, "vls_available", s->limit.vls);
	out_text(out, "vls_why", s->limit.why);
	out_bool(out, "multicast", s->req.multicast);
}

/* ---- the work ------------------------------------------------------------------------------- */

static void take_live(struct cli_subjects *s, struct cli_input *in)
{
	for (uint32_t i = 0; i < s->n && in->is_live; i++)
		if (s->item[i].file && !strcmp(s->item[i].file, "live")) {
			s->live = &in->live;
			in->live.ask = (struct osr_live_ask){ .lft = true,
							      .sl2vl = true,
							      .n_mlids = UINT32_MAX };
		}
}

enum osr_status cli_subjects_load(struct cli_subjects *s, struct cli_input *in,
				  struct osr_diag *diag)
{
	enum osr_status st = read_config(s, diag);

	if (!st)
		st = set_values(s, diag);
	take_live(s, in);
	s->net = &in->net;
	if (!st)
		st = cli_input_load(in, diag);
	if (!st)
		count_vls(s, in);
	return st;
}

void cli_subjects_drop_net(const struct cli_subjects *s, struct cli_input *in)
{
	for (uint32_t i = 0; i < s->n; i++)
		if (!s->item[i].engine)
			return;
	osr_net_free(&in->net);
}

void cli_subjects_free(struct cli_subjects *s)
{
	free(s->values);
	s->values = NULL;
	osr_options_free(&s->options);
}

const char *cli_subject_name(const struct cli_subject *s)
{
	return s->engine ? s->engine->name : s->file;
}

static void route(const struct cli_subjects *s, uint32_t i, const struct osr_fabric *f,
		  const struct osr_result *previous, struct cli_tables *t)
{
	struct osr_arena scratch = { 0 };
	const struct osr_job job = { .engine = s->item[i].engine,
				     .values = &s->values[i],
				     .request = s->req,
				     .previous = previous,
				     .scratch = &scratch,
				     .arena = &t->arena,
				     .diag = &t->diag };

	t->result.fabric = *f;
	t->st = osr_sweep_route(&job, &t->result, &t->sweep);
	t->memory = scratch.peak + t->arena.peak;
	if (!t->st)
		t->st = osr_sweep_check(&job, &t->result, &t->sweep);
	t->routing = t->result.routing;
	osr_arena_free(&scratch);
}

static enum osr_status read_tables(const struct cli_subjects *s, const char *path,
				   const struct osr_fabric *f, struct cli_tables *t)
{
	struct cli_dumps *c = &t->dumps;
	enum osr_status st;

	*c = (struct cli_dumps)CLI_DUMPS_INIT;
	c->is_live = s->live && !strcmp(path, "live");
	c->sa = CLI_SA_SWITCHES;
	c->dir = c->is_live ? NULL : path;
	cli_dumps_find(c, NULL);
	st = cli_dumps_read(c, f, s->net, s->live, &t->diag);
	t->routing = c->t.routing;
	t->gen = c->gen;
	return st;
}

void cli_tables_make(const struct cli_subjects *s, uint32_t i, const struct osr_fabric *f,
		     const struct osr_result *previous, struct cli_tables *t)
{
	const char *path = s->item[i].file;
	double start = cli_thread_ms();

	*t = (struct cli_tables){ .st = OSR_OK };
	if (s->item[i].engine)
		route(s, i, f, previous, t);
	else
		t->st = read_tables(s, path, f, t);
	t->gen.routing = &t->routing;
	t->ms = s->item[i].engine ? t->sweep.ms_route : cli_thread_ms() - start;
}

void cli_tables_free(struct cli_tables *t)
{
	osr_arena_free(&t->arena);
	cli_dumps_free(&t->dumps);
}

bool cli_subjects_skip(const struct cli_subjects *s, uint32_t i, const struct cli_tables *t)
{
	return s->all && s->item[i].engine && t->st == OSR_NOT_APPLICABLE;
}

bool cli_subjects_counts(const struct cli_subjects *s, uint32_t i, enum osr_status st)
{
	const struct osr_engine *e = s->item[i].engine;

	return !s->all || !e || st || (e->capabilities & OSR_ENGINE_DEADLOCK_FREE);
}

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Options come from osmroutes.conf and, overriding it, from OpenSM's event_plugin_options. Both
 * feed the same tables: one for the plugin, one per engine.
 *
 * Everything is parsed even after a mistake, so that `on_error = refuse` counts wherever it stands.
 * A mistake in on_error itself leaves its value unchanged: an unreadable wish was not expressed.
 */
#include "conf/options.h"
#include "conf/osmconf.h"

#include <ctype.h>
#include <errno.h>
#include <unistd.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <osmroutes/invariant.h>
#include <osmroutes/params.h>
#include <sys/stat.h>

#include <xxhash.h>

#define MAX_CONFIG_SIZE (1024 * 1024)
#define TOKEN_SIZE 1024
#define LONG_LINE 2048
#define PREFIX "osmroutes."
#define CONFIG PREFIX "config="

static const struct osr_param no_params[] = { { 0 } };

static const char *const builtins[] = { "dfsssp", "sssp" };

static void remember(struct osr_options *options, const char *where, const char *text)
{
	if (options->n_errors < OSR_OPTIONS_ERRORS)
		snprintf(options->error[options->n_errors].text, sizeof(options->error[0].text),
			 "%s: %s", where, text);
	options->n_errors++;
}

/* "dfsssp,sssp", "dfsssp sssp", "dfsssp+sssp" or "none". */
#define BETWEEN ",+ \t"

static enum osr_status check_takeover(const char *list, struct osr_diag *diag)
{
	unsigned n = 0, n_known = 0, n_none = 0;

	for (const char *p = list + strspn(list, BETWEEN); *p; p += strspn(p, BETWEEN), n++) {
		size_t len = strcspn(p, BETWEEN);

		n_none += len == 4 && !strncmp(p, "none", 4);
		for (size_t i = 0; i < sizeof(builtins) / sizeof(*builtins); i++)
			n_known += len == strlen(builtins[i]) && !strncmp(p, builtins[i], len);
		p += len;
	}
	if (n == 0 || n_known + n_none < n || (n > 1 && n_none))
		return osr_fail(diag, OSR_INVAL,
				"\"takeover = %s\": expected none, or dfsssp and sssp in a list",
				list);
	return OSR_OK;
}

bool osr_options_takes_over(const struct osr_options *options, const char *builtin)
{
	return osr_words_have(options->own.str[options->own.num[OPT_TAKEOVER]], BETWEEN, builtin);
}

bool osr_options_known(const struct osr_param *table, const char *name, size_t len)
{
	if (!table)
		return false;
	for (const struct osr_param *param = table; param->name; param++)
		if (strlen(param->name) == len && !strncmp(param->name, name, len))
			return true;
	return false;
}

/* The options of a section, and their values; "" is the plugin's own. */
static enum osr_status find_section(struct osr_options *options, const char *section,
				    const struct osr_param **table, struct osr_values **values,
				    struct osr_diag *diag)
{
	struct osr_guess guess = { .word = section };
	char said[160];

	*table = osr_plugin_params;
	*values = &options->own;
	if (!*section)
		return OSR_OK;
	for (uint32_t e = 0; osr_engines[e]; e++) {
		osr_guess_offer(&guess, osr_engines[e]->name);
		if (strcmp(osr_engines[e]->name, section))
			continue;
		*table = osr_engines[e]->params ? osr_engines[e]->params : no_params;
		*values = &options->engine[e];
	}
	if (*values != &options->own)
		return OSR_OK;
	return osr_fail(diag, OSR_INVAL, "there is no engine \"%s\"%s", section,
			osr_guess_say(&guess, said, sizeof(said)));
}

/* The last value counts, as in opensm.conf; the command says so. */
static void note_twice(struct osr_options *options, const struct osr_param *table,
		       const struct osr_values *values, const char *name, const char *where)
{
	size_t section = values == &options->own ? 0 : (size_t)(values - options->engine) + 1;
	uint64_t row = 0;

	while (table[row].name && strcmp(table[row].name, name))
		row++;
	osr_invariant(row < 64);
	osr_invariant(table[row].name);
	osr_invariant(section < OSR_OPTIONS_SECTIONS);
	if (options->given[section] >> row & 1 && !options->n_twice++)
		snprintf(options->twice.text, sizeof(options->twice.text),
			 "%s: %s is set a second time: this value counts", where, name);
	options->given[section] |= UINT64_C(1) << row;
}

/* Lists the sections of the engines with an option of this name: "[dmodk], [angara]". */
static void list_sections(const char *name, char *list, size_t size)
{
	size_t used = 0;

	for (uint32_t e = 0; osr_engines[e]; e++)
		if (osr_options_known(osr_engines[e]->params, name, strlen(name))) {
			snprintf(list + used, size - used, "%s[%s]", used ? ", " : "",
				 osr_engines[e]->name);
			used = strlen(list);
		}
}

static void set_option(struct osr_options *options, const char *section, const char *name,
		       const char *value, const char *where)
{
	const struct osr_param *table;
	struct osr_values *values;
	struct osr_diag diag = { "" };
	enum osr_status st = find_section(options, section, &table, &values, &diag);
	char said[160] = "";

	if (!st && !*section && !strcmp(name, "takeover"))
		st = check_takeover(value, &diag);
	if (!st)
		st = osr_values_set(values, table, name, value, &diag);
	if (st && !*section && !osr_options_known(table, name, strlen(name)))
		list_sections(name, said, sizeof(said));
	if (*said)
		osr_fail(&diag, st, "\"%.60s\" is an option of %s: write it below that heading",
			 name, said);
	if (st)
		remember(options, where, diag.text);
	else
		note_twice(options, table, values, name, where);
}

/* The configuration file ----------------------------------------------------------------------- */

#define NO_SECTION "]" /* the heading was a mistake, and the lines below it are skipped */

/* "[section]", "name = value" or nothing. False: none of this. */
static bool take_line(struct osr_options *options, char section[64], char *line, const char *where)
{
	const struct osr_param *table;
	struct osr_diag diag = { "" };
	struct osr_values *values;
	char *text, *end;

	/* A comment: '#' or ';' at the beginning or behind a blank. */
	for (char *c = strpbrk(line, "#;"); c; c = strpbrk(c + 1, "#;"))
		if (c == line || isspace((unsigned char)c[-1]))
			*c = '\0';
	text = osr_trim(line);
	end = strpbrk(text, *text == '[' ? "]" : "=:");
	if (!*text)
		return true;
	if (!end)
		return false;
	*end = '\0';
	if (*text == '[' && *osr_trim(end + 1))
		return false;
	if (*text == '[') {
		snprintf(section, 64, "%s", text + 1);
		if (find_section(options, section, &table, &values, &diag)) {
			remember(options, where, diag.text);
			snprintf(section, 64, NO_SECTION);
		}
		return true;
	}
	if (strcmp(section, NO_SECTION))
		set_option(options, section, osr_trim(text), osr_trim(end + 1), where);
	return true;
}

const char *osr_options_origin(const struct osr_options *options)
{
	return *options->config ? "options from " : "no osmroutes.conf: defaults";
}

bool osr_options_changed(struct osr_options *options)
{
	struct stat st;

	if (!*options->config || stat(options->config, &st) ||
	    (st.st_mtim.tv_sec == options->config_time.tv_sec &&
	     st.st_mtim.tv_nsec == options->config_time.tv_nsec))
		return false;
	options->config_time = st.st_mtim;
	return true;
}

/* Files of /proc have no size until they are read. */
static void options_read_file(struct osr_options *options, const char *path)
{
	/* A FIFO would keep us waiting for a writer, and opensm with us. */
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	FILE *file = fd < 0 ? NULL : fdopen(fd, "r");
	char line[LONG_LINE], section[64] = "", where[320];
	struct stat st;

	snprintf(options->config, sizeof(options->config), "%.255s", path);
	if (!file || fstat(fd, &st)) {
		snprintf(line, sizeof(line), "cannot open the file: %s", strerror(errno));
		remember(options, path, line);
		if (file)
			fclose(file);
		else if (fd >= 0)
			close(fd);
		return;
	}
	options->config_time = st.st_mtim;
	if (!S_ISREG(st.st_mode) || st.st_size > MAX_CONFIG_SIZE) {
		snprintf(line, sizeof(line), "not a regular file of at most %d bytes",
			 MAX_CONFIG_SIZE);
		remember(options, path, line);
		fclose(file);
		return;
	}
	for (unsigned number = 1; fgets(line, sizeof(line), file); number++) {
		static const char mark[] = "\xEF\xBB\xBF"; /* of UTF-8 */
		size_t skip = number == 1 && !strncmp(line, mark, 3) ? 3 : 0, n = strlen(line);

		snprintf(where, sizeof(where), "%.300s:%u", path, number);
		if (ftell(file) > MAX_CONFIG_SIZE) {
			remember(options, path, "too large for a configuration");
			break;
		}
		if (!n) {
			remember(options, where, "not a text file");
		} else if (line[n - 1] != '\n' && !feof(file)) {
			remember(options, where, "line too long, or not a text file");
			break;
		} else if (!take_line(options, section, line + skip, where)) {
			remember(options, where,
				 "expected a [section], a comment or \"name = value\"");
		}
	}
	if (ferror(file))
		remember(options, path, "cannot read the file");
	fclose(file);
}

/* event_plugin_options ------------------------------------------------------------------------- */

/*
 * One token from *p, into buf. Blanks separate, and so do commas; but the list of takeover may hold
 * commas too, so a comma before a word without '=' and '.' belongs to the value of our own token.
 * The path of the configuration file may hold commas and dots: there a '=' must follow. Returns the
 * token's length, which may exceed buf; 0 at the end.
 */
static size_t next_token(const char **p, char *buf, size_t size)
{
	const char *s = *p + strspn(*p, ", \t\n");
	bool ours = !strncmp(s, PREFIX, strlen(PREFIX));
	const char *begins = strncmp(s, CONFIG, strlen(CONFIG)) ? "=." : "=";
	size_t n = 0;

	if (!*s)
		return 0;
	for (;;) {
		size_t more;

		n += strcspn(s + n, ", \t\n");
		if (!ours || s[n] != ',')
			break;
		more = strcspn(s + n + 1, ", \t\n");
		if (more == 0 || strcspn(s + n + 1, begins) < more)
			break;
		n++;
	}
	snprintf(buf, size, "%.*s", (int)n, s);
	*p = s + n;
	return n;
}

static void apply_tokens(struct osr_options *options, const char *text)
{
	char token[TOKEN_SIZE], where[320];
	size_t n;

	while ((n = next_token(&text, token, sizeof(token)))) {
		char *name = token + strlen(PREFIX), *value = strchr(token, '='), *dot;

		snprintf(where, sizeof(where), "event_plugin_options, \"%.250s\"", token);
		/*
		 * The string is shared with other plugins, so words without the prefix are theirs.
		 * But a word that is exactly an option of ours was meant for us: say so rather than
		 * ignore it.
		 */
		if (strncmp(token, PREFIX, strlen(PREFIX))) {
			const struct osr_param *table = osr_plugin_params;
			const struct osr_engine *engine;

			name = token;
			dot = value ? memchr(token, '.', (size_t)(value - token)) : NULL;
			if (dot) {
				*dot = 0;
				engine = osr_engine_find(token);
				table = engine ? engine->params : NULL;
				name = dot + 1;
			}
			if (value && osr_options_known(table, name, (size_t)(value - name)))
				remember(options, where,
					 "the prefix is missing: write " PREFIX "NAME=VALUE");
			continue;
		}
		if (n >= sizeof(token)) {
			remember(options, "event_plugin_options",
				 "an " PREFIX " option is too long");
			continue;
		}
		if (!value) {
			remember(options, where, "expected " PREFIX "NAME=VALUE");
			continue;
		}
		/*
		 * osmroutes.NAME=VALUE or osmroutes.ENGINE.NAME=VALUE; the config= token was read
		 * before.
		 */
		*value++ = 0;
		dot = strchr(name, '.');
		if (dot) {
			*dot = 0;
			set_option(options, name, dot + 1, value, where);
		} else if (strcmp(name, "config")) {
			set_option(options, "", name, value, where);
		}
	}
}

bool osr_options_load(struct osr_options *options, const char *config, const char *plugin_options)
{
	char named[TOKEN_SIZE] = "", token[TOKEN_SIZE];
	struct stat st;
	const char *text;
	uint32_t n = 0;

	while (osr_engines[n])
		n++;
	*options = (struct osr_options){ .engine = calloc(n + 1, sizeof(*options->engine)) };
	if (!options->engine)
		return false;
	osr_values_default(&options->own, osr_plugin_params);
	for (uint32_t e = 0; e < n; e++)
		osr_values_default(&options->engine[e],
				   osr_engines[e]->params ? osr_engines[e]->params : no_params);
	if (!plugin_options)
		plugin_options = "";
	/* The last osmroutes.config=FILE; it has to be known before any other option counts. */
	text = plugin_options;
	while (next_token(&text, token, sizeof(token)))
		if (!strncmp(token, CONFIG, strlen(CONFIG)))
			snprintf(named, sizeof(named), "%s", token + strlen(CONFIG));
	if (!config && *named)
		config = named;
	if (config && *config)
		options_read_file(options, config);
	else if (!config && !stat(OSR_DEFAULT_CONFIG, &st))
		options_read_file(options, OSR_DEFAULT_CONFIG);
	/* They override the file, which does not count as setting an option twice. */
	memset(options->given, 0, sizeof(options->given));
	apply_tokens(options, plugin_options);
	return true;
}

const struct osr_engine *osr_options_engine(const struct osr_options *options, const char *word)
{
	if (!strncmp(word, "osmroutes-", 10))
		return osr_engine_find(word + 10);
	for (size_t i = 0; i < sizeof(builtins) / sizeof(*builtins); i++)
		if (!strcmp(word, builtins[i]) && !osr_options_takes_over(options, word))
			return NULL;
	return osr_engine_find(word);
}

const struct osr_values *osr_options_values(const struct osr_options *options,
					    const struct osr_engine *engine)
{
	uint32_t e = 0;

	while (osr_engines[e] != engine) {
		osr_invariant(osr_engines[e]);
		e++;
	}
	return &options->engine[e];
}

uint64_t osr_options_key(const struct osr_engine *engine, const struct osr_values *values)
{
	uint64_t h = 0;

	if (!engine->params)
		return h;
	for (const struct osr_param *param = engine->params; param->name; param++) {
		size_t i = (size_t)(param - engine->params);
		const char *text =
			param->type == OSR_PARAM_STRING ? values->str[values->num[i]] : "";

		h = XXH3_64bits_withSeed(param->name, strlen(param->name), h);
		h = XXH3_64bits_withSeed(text, strlen(text), h);
		if (param->type != OSR_PARAM_STRING)
			h = XXH3_64bits_withSeed(&values->num[i], sizeof(values->num[i]), h);
	}
	return h;
}

void osr_options_free(struct osr_options *options)
{
	free(options->engine);
	options->engine = NULL;
}

/* The VL budget: the share of the links' virtual lanes that a sweep may use. */
void osr_options_vl_budget(const struct osr_options *options, bool qos,
			   const struct osr_fabric *fabric, struct osr_vl_limit *limit)
{
	char buf[32];

	if (limit->vls > options->own.num[OPT_MAX_VLS]) {
		limit->vls = options->own.num[OPT_MAX_VLS];
		snprintf(limit->why, sizeof(limit->why),
			 "limited by max_vls in osmroutes' options");
	}
	osr_invariant(limit->vls);
	if (!qos) {
		limit->vls = 1;
		snprintf(limit->why, sizeof(limit->why),
			 "QoS is off (opensm -Q, or qos TRUE in its options, turns it on)");
		return;
	}
	if (!fabric->n_channels)
		return;
	for (uint32_t s = 0; s < fabric->n_switches; s++) {
		if (fabric->sw_flags[s] & OSR_SW_SL2VL)
			continue;
		limit->vls = 1;
		snprintf(limit->why, sizeof(limit->why), "switch %s cannot map SLs to VLs",
			 osr_switch_name(fabric, s, buf));
		return;
	}
}

/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "cli/cli.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <osmroutes/arena.h>
#include <osmroutes/clock.h>
#include <osmroutes/fabric.h>

#include "cli/output.h"
#include "conf/posix_threads.h"

/* Memory counts as bad input: a smaller fabric would have fitted. */
int cli_fail(enum osr_status st, const struct osr_diag *diag)
{
	struct osr_diag said = *diag;

	/* Names of nodes are what a node says. */
	osr_name_clean(said.text);
	fprintf(stderr, "osmroutes: %s\n", said.text[0] ? said.text : osr_status_str(st));
	return st == OSR_INVAL || st == OSR_NOMEM ? CLI_USAGE : CLI_BAD;
}

enum osr_status cli_set(struct osr_values *values, const struct osr_param *table, const char *word,
			struct osr_diag *diag)
{
	const char *eq = strchr(word, '=');
	char name[64];

	if (!eq || eq == word || (size_t)(eq - word) >= sizeof(name))
		return osr_fail(diag, OSR_INVAL, "\"%s\": expected NAME=VALUE", word);
	memcpy(name, word, (size_t)(eq - word));
	name[eq - word] = '\0';
	return osr_values_set(values, table, name, eq + 1, diag);
}

void cli_print_params(FILE *out, const struct osr_param *table)
{
	for (const struct osr_param *param = table; param && param->name; param++) {
		char text[64];

		snprintf(text, sizeof(text), "%s=%s", param->name, param->def);
		fprintf(out, "    %-22s %s", text, param->help);
		/* What values it takes. */
		if (param->type == OSR_PARAM_UINT && param->max == UINT64_MAX)
			fprintf(out, " (%" PRIu64 " or more)", param->min);
		else if (param->type == OSR_PARAM_UINT)
			fprintf(out, " (%" PRIu64 "..%" PRIu64 ")", param->min, param->max);
		else if (param->type == OSR_PARAM_ENUM)
			fprintf(out, " (%s)", param->words);
		fputc('\n', out);
	}
}

FILE *cli_create(const char *path)
{
	return path && strcmp(path, "-") ? fopen(path, "w") : stdout;
}

enum osr_status cli_written(FILE *out, const char *path, struct osr_diag *diag)
{
	bool bad = !out || ferror(out);

	if (out && out != stdout)
		bad |= fclose(out) != 0;
	return bad ? osr_fail(diag, OSR_INVAL, "%.300s: %s",
			      out == stdout ? "standard output" : path, strerror(errno))
		   : OSR_OK;
}

enum osr_status cli_write_net(const struct osr_net *net, const char *path, const char *comment,
			      struct osr_diag *diag)
{
	FILE *out = cli_create(path);
	enum osr_status st = out ? osr_netfile_write(net, comment, out, diag) : OSR_OK;
	enum osr_status written = cli_written(out, path, diag);

	return st ? st : written;
}

long cli_take_number(const char *text, const char *what, long lo, long hi, struct argp_state *state)
{
	char *end;
	long n;

	errno = 0;
	n = strtol(text, &end, 10);
	if (end == text || *end || errno || n < lo || n > hi)
		argp_error(state, "%s \"%s\": expected %ld to %ld", what, text, lo, hi);
	return n;
}

double cli_cpu_ms(void)
{
	return osr_clock_ms(CLOCK_PROCESS_CPUTIME_ID);
}

double cli_thread_ms(void)
{
	return osr_clock_ms(CLOCK_THREAD_CPUTIME_ID);
}

double cli_wall_ms(void)
{
	return osr_clock_ms(CLOCK_MONOTONIC);
}

struct cli_stamp cli_now(void)
{
	return (struct cli_stamp){ cli_cpu_ms(), cli_wall_ms() };
}

struct cli_stamp cli_since(struct cli_stamp start)
{
	struct cli_stamp end = cli_now();

	return (struct cli_stamp){ end.cpu - start.cpu, end.wall - start.wall };
}

/* ---- command lines -------------------------------------------------------------------------- */

#define FIRST_KEY 0x10000 /* of options that fill a member, by their place */

/* A spec as argp has it, and where its struct is. */
struct made {
	const struct cli_spec *spec;
	char *args;
	struct argp argp;
	struct argp_option *options;
	struct argp_child *children;
	struct made *parts;
};

static void put_number(void *member, size_t size, long n)
{
	if (size == sizeof(uint8_t))
		*(uint8_t *)member = (uint8_t)n;
	else if (size == sizeof(uint32_t))
		*(uint32_t *)member = (uint32_t)n;
	else
		*(long *)member = n;
}

/* The number of the word among "a|b|c". */
static long word_number(const struct cli_option *option, const char *arg, struct argp_state *state)
{
	char said[160] = "";
	long n = 0;

	for (const char *word = option->words;; n++) {
		size_t len = strcspn(word, "|");
		const char *next = word + len + (word[len] != '\0');
		size_t at = strlen(said);

		/* An empty word is what the option means if it is not given. */
		if (len && len == strlen(arg) && !strncmp(word, arg, len))
			return n;
		snprintf(said + at, len ? sizeof(said) - at : 0, "%s%.*s",
			 !at     ? ""
			 : *next ? ", "
				 : " or ",
			 (int)len, word);
		if (!*next)
			argp_error(state, "%s \"%s\": expected %s", option->name, arg, said);
		word = next;
	}
}

static void take_option(const struct cli_option *option, char *args, char *arg,
			struct argp_state *state)
{
	void *member = args + option->at;

	switch (option->take) {
	case CLI_TAKE_TEXT:
		if (*(const char **)member)
			argp_error(state, "--%s is given twice: \"%s\" and \"%s\"", option->name,
				   *(const char **)member, arg);
		*(const char **)member = arg;
		break;
	case CLI_TAKE_FLAG:
		*(bool *)member = true;
		break;
	case CLI_TAKE_WORD:
		put_number(member, option->size, word_number(option, arg, state));
		break;
	case CLI_TAKE_LIST: {
		uint32_t *n = (uint32_t *)(void *)(args + option->low);

		if (*n == (uint32_t)option->high)
			argp_error(state, "at most %ld of --%s", option->high, option->name);
		((const char **)member)[(*n)++] = arg;
		break;
	}
	default:
		put_number(member, option->size,
			   cli_take_number(arg, option->name, option->low, option->high, state));
	}
}

static error_t spec_parse(int key, char *arg, struct argp_state *state)
{
	struct made *made = state->input;
	const struct cli_option *option = made->spec->options;
	error_t error = ARGP_ERR_UNKNOWN;

	if (key == ARGP_KEY_INIT) {
		for (size_t i = 0; made->children[i].argp; i++)
			state->child_inputs[i] = &made->parts[i];
		return 0;
	}
	/* Options that fill a member are known by their place, or their letter. */
	if (key >= FIRST_KEY && key < ARGP_KEY_END)
		option += key - FIRST_KEY;
	else
		while (!cli_option_ends(option) &&
		       !(option->take && option->key && option->key == key))
			option++;
	if (!option->take) {
		state->input = made->args;
		error = made->spec->parse ? made->spec->parse(key, arg, state) : error;
		state->input = made;
		return error;
	}
	take_option(option, made->args, arg, state);
	return 0;
}

static void make(const struct cli_spec *spec, char *args, bool is_whole, struct osr_arena *arena,
		 struct made *made)
{
	const struct cli_option *option = spec->options;
	size_t n = 0, n_options = 0, n_parts = 0;

	while (!cli_option_ends(&option[n]))
		n++;
	*made = (struct made){ .spec = spec, .args = args };
	made->options = osr_calloc(arena, n + 1, sizeof(*made->options));
	made->children = osr_calloc(arena, n + 2, sizeof(*made->children));
	made->parts = osr_calloc(arena, n + 1, sizeof(*made->parts));
	if (osr_arena_failed(arena, NULL))
		exit(cli_fail(OSR_NOMEM, &(struct osr_diag){ "" }));
	for (size_t i = 0; i < n + is_whole; i++) {
		/* The options of all commands, for the struct out with which the arguments begin. */
		const struct cli_option own =
			i < n ? option[i] : (struct cli_option){ .part = &out_spec };

		if (!own.part) {
			made->options[n_options++] = (struct argp_option){
				own.name, own.take && !own.key ? FIRST_KEY + (int)i : own.key,
				own.arg,  own.flags,
				own.doc,  own.group
			};
			continue;
		}
		make(own.part, args + own.at, false, arena, &made->parts[n_parts]);
		made->children[n_parts].argp = &made->parts[n_parts].argp;
		n_parts++;
	}
	made->argp = (struct argp){ made->options, spec_parse,     spec->args_doc,
				    spec->doc,     made->children, spec->help_filter,
				    NULL };
}

void cli_parse(const struct cli_spec *spec, int argc, char **argv, void *args)
{
	struct osr_arena arena = { 0 };
	struct made made;

	make(spec, args, true, &arena, &made);
	argp_parse(&made.argp, argc, argv, ARGP_NO_HELP, NULL, &made);
	osr_arena_free(&arena);
}

/* ---- threads -------------------------------------------------------------------------------- */

static const struct cli_option pool_options[] = {
	{ "threads", "N",
	  "threads to measure with (default: one for each processor); the figures are the same",
	  CLI_NUMBER(struct cli_pool, n_threads, 1, OSR_MAX_THREADS) },
	{ 0 },
};

const struct cli_spec pool_spec = { pool_options };

uint32_t cli_n_threads(const struct cli_pool *pool, uint64_t n_jobs)
{
	uint32_t n = pool->n_threads ? pool->n_threads : osr_n_processors();

	return n > n_jobs ? (uint32_t)n_jobs : n;
}

/* ---- work by threads, with a progress bar -------------------------------------------------- */

#define BAR 30

struct each {
	pthread_mutex_t lock;
	cli_take_fn take;
	cli_work_fn work;
	void *ctx;
	uint32_t n, n_taken;
	const char *what; /* the progress bar says so */
	bool shown;
	double last;     /* ms on the wall */
	uint32_t failed; /* the lowest that did, n if none */
	enum osr_status st;
	struct osr_diag diag;
};

static void do_each(void *ctx, uint32_t part)
{
	struct each *e = ctx;
	struct osr_diag diag = { "" };
	enum osr_status st;

	pthread_mutex_lock(&e->lock);
	while (e->failed == e->n && e->n_taken < e->n) {
		uint32_t i = e->n_taken++;
		double now = cli_now().wall;

		if (e->take)
			e->take(e->ctx, part);
		/* A few times a second, and only if standard error is a terminal. */
		if (now - e->last >= 200 && isatty(STDERR_FILENO)) {
			uint32_t filled = (uint32_t)((uint64_t)i * BAR / e->n);

			e->last = now;
			e->shown = true;
			fprintf(stderr, "\r%.40s [%.*s%*s] %3u %%", e->what, (int)filled,
				"##############################", (int)(BAR - filled), "",
				(unsigned int)((uint64_t)i * 100 / e->n));
		}
		pthread_mutex_unlock(&e->lock);
		st = e->work(e->ctx, part, i, &diag);
		pthread_mutex_lock(&e->lock);
		if (st && i < e->failed) {
			e->failed = i;
			e->st = st;
			e->diag = diag;
		}
	}
	pthread_mutex_unlock(&e->lock);
}

enum osr_status cli_each(const struct cli_pool *pool, const char *what, uint32_t n,
			 cli_take_fn take, cli_work_fn work, void *ctx, struct osr_diag *diag)
{
	struct each e = { .lock = PTHREAD_MUTEX_INITIALIZER,
			  .take = take,
			  .work = work,
			  .ctx = ctx,
			  .n = n,
			  .failed = n,
			  .what = what,
			  .last = cli_now().wall };
	uint32_t n_parts = cli_n_threads(pool, n);

	osr_threads_of(n_parts).run(do_each, &e, n_parts);
	if (e.shown)
		fprintf(stderr, "\r%*s\r", 40 + BAR + 12, "");
	if (e.st)
		*diag = e.diag;
	return e.st;
}

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
		/* The values that it takes. */
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
#define BAR_MS 200
#define FIRST_LINE_MS 5000 /* then each is twice as late as the one before */

void cli_progress(const char *what, uint64_t done, uint64_t all)
{
	static const char *of; /* NULL: nothing is under way */
	static double next, wait;
	static bool bar;
	bool is_terminal = isatty(STDERR_FILENO);
	unsigned percent = all ? (unsigned)(done * 100 / all) : 100;
	int filled = (int)(percent * BAR / 100);
	double now = cli_wall_ms();

	if (of != what) {
		of = what;
		wait = is_terminal ? BAR_MS : FIRST_LINE_MS;
		next = now + wait;
	}
	if (done == all) {
		of = NULL;
		if (bar)
			fprintf(stderr, "\r%*s\r", 40 + BAR + 12, "");
		bar = false;
	} else if (now >= next) {
		bar = is_terminal;
		if (bar)
			fprintf(stderr, "\r%.40s [%.*s%*s] %3u %%", what, filled,
				"##############################", BAR - filled, "", percent);
		else
			fprintf(stderr, "osmroutes: %.40s: %u %%\n", what, percent);
		wait *= bar ? 1 : 2;
		next = now + wait;
	}
}

struct each {
	pthread_mutex_t lock;
	cli_take_fn take;
	cli_work_fn work;
	void *ctx;
	uint32_t n, n_taken;
	const char *what; /* the progress bar says so */
	uint32_t failed;  /* the lowest that did, n if none */
	enum osr_status st;
	struct osr_diag diag;
};

static void do_each(void *ctx, uint32_t part)
{
	struct each *each = ctx;
	struct osr_diag diag = { "" };
	enum osr_status st;

	pthread_mutex_lock(&each->lock);
	while (each->failed == each->n && each->n_taken < each->n) {
		uint32_t i = each->n_taken++;

		if (each->take)
			each->take(each->ctx, part);
		cli_progress(each->what, i, each->n);
		pthread_mutex_unlock(&each->lock);
		st = each->work(each->ctx, part, i, &diag);
		pthread_mutex_lock(&each->lock);
		if (st && i < each->failed) {
			each->failed = i;
			each->st = st;
			each->diag = diag;
		}
	}
	pthread_mutex_unlock(&each->lock);
}

enum osr_status cli_each(const struct cli_pool *pool, const char *what, uint32_t n,
			 cli_take_fn take, cli_work_fn work, void *ctx, struct osr_diag *diag)
{
	struct each each = { .lock = PTHREAD_MUTEX_INITIALIZER,
			     .take = take,
			     .work = work,
			     .ctx = ctx,
			     .n = n,
			     .failed = n,
			     .what = what };
	uint32_t n_parts = cli_n_threads(pool, n);

	osr_threads_of(n_parts).run(do_each, &each, n_parts);
	cli_progress(what, n, n);
	if (each.st)
		*diag = each.diag;
	return each.st;
}

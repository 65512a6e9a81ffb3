/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "cli/pool.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "cli/cli.h"
#include "conf/posix_threads.h"

/* ---- threads -------------------------------------------------------------------------------- */

static const struct cli_option options[] = {
	{ "threads", "N",
	  "threads to measure with (default: one for each processor); the figures are the same",
	  CLI_NUMBER(struct cli_pool, n_threads, 1, OSR_MAX_THREADS) },
	{ 0 },
};

const struct cli_spec pool_spec = { options };

static uint32_t n_threads(const struct cli_pool *pool, uint64_t n_jobs)
{
	uint32_t n = pool->n_threads ? pool->n_threads : osr_n_processors();

	return n > n_jobs ? (uint32_t)n_jobs : n;
}

/* ---- progress ------------------------------------------------------------------------------- */

struct progress {
	const char *what;
	bool shown;
	double last; /* ms on the wall */
};

#define BAR 30

/* A few times a second, and only if standard error is a terminal. */
static void pool_show(struct progress *p, uint64_t done, uint64_t all)
{
	double now = cli_now().wall;
	uint32_t filled = (uint32_t)(done * BAR / all);

	if (now - p->last < 200 || !isatty(STDERR_FILENO))
		return;
	p->last = now;
	p->shown = true;
	fprintf(stderr, "\r%.40s [%.*s%*s] %3u %%", p->what, (int)filled,
		"##############################", (int)(BAR - filled), "",
		(unsigned int)(done * 100 / all));
}

static void wipe(const struct progress *p)
{
	if (p->shown)
		fprintf(stderr, "\r%*s\r", 40 + BAR + 12, "");
}

void cli_busy(const char *what, const char *name)
{
	if (isatty(STDERR_FILENO) && name)
		fprintf(stderr, "\r%.40s %.40s ...", what, name);
	else if (isatty(STDERR_FILENO))
		fprintf(stderr, "\r%*s\r", 86, "");
}

/* ---- anything ------------------------------------------------------------------------------- */

struct each {
	pthread_mutex_t lock;
	cli_take_fn take;
	cli_work_fn work;
	void *ctx;
	uint32_t n, n_taken;
	struct progress progress;
	uint32_t failed; /* the lowest that did, n if none */
	enum osr_status st;
	struct osr_diag diag;
};

static bool take_next(struct each *e, uint32_t part, uint32_t *i)
{
	bool more;

	pthread_mutex_lock(&e->lock);
	more = e->failed == e->n && e->n_taken < e->n;
	if (more) {
		*i = e->n_taken++;
		if (e->take)
			e->take(e->ctx, part);
		pool_show(&e->progress, *i, e->n);
	}
	pthread_mutex_unlock(&e->lock);
	return more;
}

static void do_each(void *ctx, uint32_t part)
{
	struct each *e = ctx;
	struct osr_diag diag = { "" };
	enum osr_status st;
	uint32_t i;

	while (take_next(e, part, &i)) {
		st = e->work(e->ctx, part, i, &diag);
		if (!st)
			continue;
		pthread_mutex_lock(&e->lock);
		if (i < e->failed) {
			e->failed = i;
			e->st = st;
			e->diag = diag;
		}
		pthread_mutex_unlock(&e->lock);
	}
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
			  .progress = { .what = what, .last = cli_now().wall } };
	uint32_t n_parts = n_threads(pool, n);

	osr_threads_of(n_parts).run(do_each, &e, n_parts);
	wipe(&e.progress);
	if (e.st)
		*diag = e.diag;
	return e.st;
}

/* ---- surveys -------------------------------------------------------------------------------- */

struct surveying {
	struct osr_survey survey;
	struct osr_worker *worker; /* [n] of parts */
};

static void take_phase(void *ctx, uint32_t part)
{
	struct surveying *s = ctx;

	osr_survey_take(&s->survey, &s->worker[part]);
}

static enum osr_status run_phase(void *ctx, uint32_t part, uint32_t i, struct osr_diag *diag)
{
	struct surveying *s = ctx;

	(void)i;
	return osr_worker_run(&s->worker[part], diag);
}

enum osr_status cli_survey(const struct cli_pool *pool, const struct osr_survey_in *in,
			   const char *what, struct osr_survey_sum *sum, struct osr_diag *diag)
{
	struct surveying s;
	struct osr_arena arena = { 0 };
	enum osr_status st = osr_survey_init(&s.survey, in, &arena, diag);
	uint32_t n = st ? 0 : n_threads(pool, s.survey.n_all);

	s.worker = osr_alloc(&arena, n, sizeof(*s.worker));
	if (!st)
		st = osr_arena_failed(&arena, diag) ? OSR_NOMEM : OSR_OK;
	for (uint32_t i = 0; i < n && !st; i++)
		st = osr_worker_init(&s.worker[i], &s.survey, &arena, diag);
	if (!st)
		st = cli_each(pool, what, (uint32_t)s.survey.n_all, take_phase, run_phase, &s,
			      diag);
	if (!st)
		osr_survey_sum(&s.survey, sum);
	osr_arena_free(&arena);
	return st;
}

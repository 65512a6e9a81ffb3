/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "conf/posix_threads.h"

#include <sched.h>
#include <signal.h>

/* Entries of tables below which threads cost more CPU than the time they save is worth. */
#define STEPS 1000000

struct threads_part {
	void (*part)(void *ctx, uint32_t i);
	void *ctx;
	uint32_t i;
	pthread_t thread;
	bool runs;
};

bool osr_thread_start(pthread_t *thread, const char *name, void *(*run)(void *arg), void *arg)
{
	sigset_t all, before;
	char mine[16];
	bool runs;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	/*
	 * A new thread has the name of the one that starts it; the name of another thread would be
	 * a file to write.
	 */
	pthread_getname_np(pthread_self(), mine, sizeof(mine));
	pthread_setname_np(pthread_self(), name);
	runs = !pthread_create(thread, NULL, run, arg);
	pthread_setname_np(pthread_self(), mine);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return runs;
}

static void *threads_do(void *work)
{
	struct threads_part *part = work;

	part->part(part->ctx, part->i);
	return NULL;
}

static void threads_run(void (*part)(void *ctx, uint32_t i), void *ctx, uint32_t n)
{
	struct threads_part p[OSR_MAX_THREADS];

	for (uint32_t i = 0; i < n; i++)
		p[i] = (struct threads_part){ .part = part, .ctx = ctx, .i = i };
	for (uint32_t i = 1; i < n; i++)
		p[i].runs = osr_thread_start(&p[i].thread, "osr-part", threads_do, &p[i]);
	for (uint32_t i = 0; i < n; i++)
		if (!p[i].runs)
			threads_do(&p[i]);
	for (uint32_t i = 0; i < n; i++)
		if (p[i].runs)
			pthread_join(p[i].thread, NULL);
}

static uint32_t at_most(uint32_t n, uint32_t limit)
{
	return n < limit ? n : limit;
}

uint32_t osr_n_processors(void)
{
	cpu_set_t may;

	return sched_getaffinity(0, sizeof(may), &may)
		       ? 1
		       : at_most((uint32_t)CPU_COUNT(&may), OSR_MAX_THREADS);
}

struct osr_threads osr_threads_of(uint32_t n)
{
	return (struct osr_threads){ .n = n ? at_most(n, OSR_MAX_THREADS)
					    : at_most(osr_n_processors(), OSR_FEW_THREADS),
				     .n_steps = STEPS,
				     .run = threads_run };
}
